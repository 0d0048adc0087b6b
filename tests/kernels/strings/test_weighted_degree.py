"""Weighted degree kernels against their definition, at the borders of words and of runs."""

import math

import numpy as np
import oracle
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.kernels.strings import run_sums, weighted_degree, weighted_degree_shifts


def generated(rows: int, n: int, letters: str = "ab", seed: int = 0) -> list[str]:
    generator = np.random.default_rng([rows, n, seed])
    return ["".join(row) for row in generator.choice(list(letters), (rows, n))]


def by_definition(X, Z, d, S=0):
    return np.array([[float(oracle.weighted_degree(x, z, d, S)) for z in Z] for x in X])


def agreeing(X, Z):
    return np.array([[[a == b for a, b in zip(x, z, strict=True)] for z in Z] for x in X])


@st.composite
def strings_of_one_length(draw):
    n = draw(st.integers(1, 9))
    letters = draw(st.sampled_from(["a", "ab", "ACGT", "aßñ", "\U0001f600\ud800\x00"]))
    several = st.lists(st.text(letters, min_size=n, max_size=n), min_size=1, max_size=4)
    return draw(several), draw(several), draw(st.integers(1, n)), draw(st.integers(0, n + 1))


@settings(max_examples=25)
@given(strings_of_one_length())
@pytest.mark.usefixtures("road")
def test_generated_strings_equal_the_definition(case):
    X, Z, d, S = case
    expected = by_definition(X, Z, d)
    np.testing.assert_array_equal(weighted_degree(d)(X, Z), expected)
    k = weighted_degree_shifts(d, S)
    np.testing.assert_allclose(k(X, Z), by_definition(X, Z, d, S), rtol=1e-14)
    np.testing.assert_allclose(k(X), by_definition(X, X, d, S), rtol=1e-14)
    np.testing.assert_allclose(k.diagonal(X), np.diag(k(X)), rtol=1e-14)


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("n", [63, 64, 65, 128, 130])
@pytest.mark.parametrize("d", [1, 3, 63])
def test_runs_across_words(n, d):
    """One letter differs, or none, or few agree."""
    one = "a" * n
    X = [one, one[:62] + "b" + one[63:], "b" + one[1:], *generated(2, n), *generated(2, n, "aaab")]
    expected = run_sums(agreeing(X, X), d) / (d * (d + 1) / 2)
    np.testing.assert_array_equal(weighted_degree(d)(X), expected)
    np.testing.assert_array_equal(weighted_degree(d)(X, X[1:]), expected[:, 1:])


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("d", [64, 65, 100, 300])
def test_runs_longer_than_the_loop_looks(d):
    n = 300
    one = generated(1, n, "acgt")[0]
    X = [one, one[:70] + "x" + one[71:], one[:149] + "x" * 51 + one[200:], one[::-1]]
    expected = run_sums(agreeing(X, X), d) / (d * (d + 1) / 2)
    np.testing.assert_array_equal(weighted_degree(d)(X), expected)
    moved = [string[1:] + "x" for string in X]
    apart = weighted_degree_shifts(d, 1)(X, moved) - weighted_degree(d)(X, moved)
    # one position apart, δ = 1/4, on the side on which they agree and on the other
    expected = run_sums(agreeing([x[1:] for x in X], [m[:-1] for m in moved]), d)
    expected += run_sums(agreeing([x[:-1] for x in X], [m[1:] for m in moved]), d)
    np.testing.assert_allclose(apart, expected / (d * (d + 1) / 2) / 4, rtol=1e-9, atol=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(1, 14))
def test_run_sums_equal_the_definition(equal, d):
    expected = sum(
        (d - k + 1) * sum(all(equal[i : i + k]) for i in range(len(equal) - k + 1))
        for k in range(1, min(d, len(equal)) + 1)
    )
    assert run_sums(np.array([equal]), d).tolist() == [expected]


@pytest.mark.parametrize("shape", [(1, 1), (3, 70), (70, 3), (150, 600), (300, 130)])
def test_blocks_of_every_size(shape, monkeypatch):
    X, Z = generated(shape[0], 20, "ACGT"), generated(shape[1], 20, "ACGTN", seed=1)
    for k in (weighted_degree(4), weighted_degree_shifts(4, 3)):
        results = []
        for compiled in (False, True):
            monkeypatch.setattr(
                "formulakern.compilation.CompiledFunction.pays", lambda *_, yes=compiled: yes
            )
            results.append((k(X, Z), k(X), k.normalized()(X)))
        for slow, fast in zip(*results, strict=True):
            np.testing.assert_array_equal(slow, fast)


def test_shifts_find_what_has_moved():
    X = ["xxTATAAxxxx", "xxxxTATAAxx"]
    K, L = weighted_degree(5)(X), weighted_degree_shifts(5, 2)(X)
    unmoved = weighted_degree_shifts(5, 2)([X[0]])[0, 0]
    assert K[0, 1] / K[0, 0] < 0.5 < 3 * L[0, 1] / unmoved
    np.testing.assert_array_equal(weighted_degree_shifts(5, 0)(X), K)
    assert weighted_degree_shifts(5, 0) == weighted_degree(5)
    # beyond the length nothing can match
    np.testing.assert_array_equal(
        weighted_degree_shifts(5, 10)(X), weighted_degree_shifts(5, 10**9)(X)
    )


@pytest.mark.parametrize("S", [0, 1, 2, 10, 300])
def test_shifts_are_positive_definite(S):
    """The matrix of one k-mer's positions has no eigenvalue below 1/2, as its symbol has none."""
    angles = np.linspace(0, math.pi, 4001)
    symbol = 1 + sum(np.cos(s * angles) / (s + 1) for s in range(1, S + 1))
    assert np.min(symbol) >= 0.5 - 1e-12
    apart = np.abs(np.subtract.outer(np.arange(200), np.arange(200)))
    T = np.where(apart == 0, 1.0, np.where(apart <= S, 0.5 / (apart + 1), 0))
    assert np.linalg.eigvalsh(T)[0] >= 0.5 - 1e-12


@pytest.mark.parametrize("S", [0, 3, 30])
def test_gram_matrices_are_positive_semidefinite(S):
    for letters, n in (("a", 20), ("ab", 30), ("ACGT", 12)):
        K = weighted_degree_shifts(4, S)(generated(60, n, letters))
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


def test_dimension_counts_positioned_k_mers():
    assert weighted_degree(2).dimension({None: 3, "alphabet": 4}) == 3 * 4 + 2 * 16
    assert weighted_degree_shifts(9, 2).dimension({None: 2, "alphabet": 3}) == 2 * 3 + 9
    with pytest.raises(ParameterError, match=r"write dimension\(\{None: 60"):
        weighted_degree(2).dimension(60)


def test_closed_forms():
    s, k = sympy.IndexedBase(sympy.Symbol("s", integer=True, nonnegative=True)), sympy.Symbol("k")
    form = weighted_degree(3).polynomial().doit()
    expected = sum(sympy.Rational(2 * (3 - j + 1), 12) * s[j] for j in (1, 2, 3))
    assert sympy.simplify(form - expected) == 0
    assert k.name in str(weighted_degree_shifts(3, 2).polynomial())
    whole = str(weighted_degree(3).normalized().inspect())
    assert "p[k]" in whole
    assert "q[k]" in whole


# -- what is refused -------------------------------------------------------------------------------


def test_lengths_that_differ():
    k = weighted_degree(2)
    with pytest.raises(DataError, match="row 2 of X has 3 letters and row 0 has 4; "):
        k(["ACGT", "ACGT", "ACG"])
    with pytest.raises(DataError, match="row 1 of Z has 5 letters and row 0 of X has 4"):
        k(["ACGT", "ACGT"], ["ACGT", "ACGTA"])
    with pytest.raises(DataError, match="row 1 of X has 1 letters"):
        k.diagonal(["AC", "A"])


@pytest.mark.parametrize("kind", [weighted_degree, lambda d: weighted_degree_shifts(d, 2)])
def test_parameters_that_are_refused(kind):
    for d in (0, -1, 1.5, "2", True, None):
        with pytest.raises(ParameterError, match=r"d=.*; expected an integer, at least 1"):
            kind(d)
    with pytest.raises(ParameterError, match="on strings of 3 letters; expected d of at most 3"):
        kind(4)(["abc", "abd"])
    for S in (-1, 1.5, None):
        with pytest.raises(ParameterError, match=r"S=.*; expected an integer, at least 0"):
            weighted_degree_shifts(2, S)


def test_counts_beyond_integers(monkeypatch):
    pair = weighted_degree(1).read(["ab"])
    k = weighted_degree(2_000_000)
    monkeypatch.setattr(
        type(pair), "aligned_codes", lambda *_: (np.zeros((1, 10**7), np.uint8),) * 2
    )
    with pytest.raises(MagnitudeError, match="Choose a smaller d, or shorter strings"):
        k.prepare(pair)


def test_exactness_of_values():
    """There is one rounding, in the division."""
    X = generated(40, 80, "ab", seed=3)
    for d in (2, 7, 64):
        sums = run_sums(agreeing(X, X), d).tolist()
        expected = [[w / (d * (d + 1) // 2) for w in row] for row in sums]
        np.testing.assert_array_equal(weighted_degree(d)(X), expected)
