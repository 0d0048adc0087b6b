"""Kernels of strings from text: the accepted texts, and the refusal of all others."""

import pytest

import formulakern as fk
from formulakern.errors import ParameterError
from formulakern.kernels.strings import string_kernel

READ = {
    "weighted_degree(20)": fk.strings.weighted_degree(20),
    " weighted_degree( d = 20 ) ": fk.strings.weighted_degree(20),
    "weighted_degree_shifts(20, 5)": fk.strings.weighted_degree_shifts(20, 5),
    "weighted_degree_shifts(20, S=5)": fk.strings.weighted_degree_shifts(20, 5),
    "spectrum(3)": fk.strings.spectrum(3),
    "mismatch(5, 1)": fk.strings.mismatch(5, 1),
    'mismatch(5, m=1, alphabet="acgt")': fk.strings.mismatch(5, 1, "acgt"),
    "mismatch(5, 1, 'ACGU')": fk.strings.mismatch(5, 1, "ACGU"),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text):
    assert string_kernel(text) == READ[text]
    assert string_kernel(repr(READ[text])) == READ[text]


@pytest.mark.parametrize(
    "text",
    [
        "", "spectrum[3]", "spec", "spectral(3)", "3", "spectrum(3) + spectrum(4)",
        "spectrum(3", "spectrum(x)", "spectrum(1 + 1)", "spectrum(*[3])", "spectrum(3)(4)",
        "spectrum(**{'k': 3})",
        "__import__('os').system('x')", "spectrum(__import__('os'))", "a.spectrum(3)", "\x00",
        "spectrum(" * 900, "(" * 5000, None, 3,
    ],
    ids=lambda text: repr(text)[:30],
)  # fmt: skip
def test_what_is_no_kernel(text):
    with pytest.raises(
        ParameterError, match=r"is not a kernel of strings; expected one of weighted_"
    ):
        string_kernel(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spectrum", r"missing a required argument: 'k'. Write spectrum\(k\)"),
        ("spectrum()", r"missing a required argument: 'k'. Write spectrum\(k\)"),
        ("spectrum(3, 4)", r"too many positional arguments"),
        ("spectrum(k=3, l=4)", r"unexpected keyword argument 'l'"),
        ("mismatch(3)", r"Write mismatch\(k, m, alphabet='ACGT'\)"),
        ("spectrum(0)", "k=0; expected an integer, at least 1"),
        ("spectrum('3')", "k='3'; expected an integer"),
        ("weighted_degree_shifts(3, -1)", "S=-1; expected an integer, at least 0"),
    ],
)
def test_wrong_parameters(text, said):
    with pytest.raises(ParameterError, match=said):
        string_kernel(text)
