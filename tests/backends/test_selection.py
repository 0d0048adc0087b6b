"""The choice of "auto": the cheapest backend, given the compiled functions, and equal values."""

import importlib
import sys

import numpy as np
import pytest

import formulakern as fk
from formulakern import compilation
from formulakern.backends import evaluation
from formulakern.backends.evaluation import BACKENDS, loop_of_task
from formulakern.backends.tables import TablePair
from formulakern.deadline import Deadline

DENSE = (np.random.default_rng(0).random((2_000, 117)) < 0.5).astype(np.uint8)
NAMES = ["interpreter", "lookup", "numba"]


@pytest.fixture(params=[False, True], ids=["new", "stored"])
def stored(request, monkeypatch):
    """Return True if a formula that is not compiled in this process is on disk."""
    importlib.import_module("numba")
    monkeypatch.setattr(compilation.CompiledFunction, "is_compiled", False)
    monkeypatch.setattr(compilation.CompiledFunction, "stored", request.param)
    return request.param


def chosen(text: str, X: np.ndarray, **options: str) -> str:
    return fk.kernel(text, **options).choose(TablePair(X)).backend.name


def test_what_is_stored_is_read_soon(stored):
    text = "a & (b | c & d)"
    loop = loop_of_task(fk.kernel(text).task(TablePair(DENSE)))
    loop.numbers_requested = 0.0  # whatever was chosen, or looked up, before
    vars(loop).pop("stored", None)
    assert [chosen(text, DENSE) for _ in range(9)][-1] == ("numba" if stored else "lookup")
    loop.numbers_requested = 0.0
    assert chosen(text, DENSE[:60]) == "interpreter"
    assert chosen("a", DENSE[:20]) == "interpreter"


def test_a_time_limit_waits_for_machine_code(monkeypatch):
    loop = compilation.compiled("float64(float64)")(lambda x: x)
    monkeypatch.setattr(
        compilation.CompiledFunction, "_compile", lambda self, _: self._code.update(a=1)
    )
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert not loop.ready(Deadline.of(compilation.IMPORT_SECONDS * 0.9))
    assert loop.ready(Deadline.of(compilation.IMPORT_SECONDS + 0.5))


def test_what_is_compiled_is_used():
    k = fk.kernel("(a & b) | (c & ~a)", backend="numba")
    k(DENSE[:50])
    assert loop_of_task(k.task(TablePair(DENSE))).is_compiled
    for rows in (200, 1_000, 2_000):
        assert chosen("(a & b) | (c & ~a)", DENSE[:rows]) == "numba"


def test_losses_are_paid_once(stored, monkeypatch):
    """Not longer than compiling takes is lost by not compiling."""
    text, pair = "a & (b | c & ~d)", TablePair(DENSE)
    k = fk.kernel(text)
    loop = loop_of_task(k.task(pair))
    loop.numbers_requested = 0.0
    monkeypatch.setattr(evaluation, "READ_NS", evaluation.COMPILE_NS)
    names = [k.choose(pair).backend.name for _ in range(300)]
    first = names.index("numba")
    assert set(names[:first]) == {"lookup"}
    assert first > 10
    assert set(names[first:]) == {"numba"}
    task = k.task(pair)
    once = BACKENDS["lookup"].size(task) - BACKENDS["numba"].size(task)
    assert (first + 1) * once == pytest.approx(evaluation.COMPILE_NS, abs=once)


def test_values_that_may_differ_are_computed_in_one_way():
    """Whatever is compiled, the backend of rounded numbers is the same."""
    k = fk.kernel("a & ~b & c", scale="probability")
    before = k.choose(TablePair(DENSE)).backend.name
    fk.kernel("a & ~b & c", scale="probability", backend="numba")(DENSE[:50])
    assert k.choose(TablePair(DENSE)).backend.name == before


@pytest.mark.parametrize("text", ["a & b", "(a & ~b) | c", "all[3](a & ~b)"])
def test_exact_values_do_not_depend_on_the_choice(text):
    X = DENSE[:150]
    exact = [fk.kernel(text, backend=name)(X) for name in NAMES]
    assert fk.kernel(text).task(TablePair(X)).exact_everywhere
    np.testing.assert_array_equal(exact[0], exact[1])
    np.testing.assert_array_equal(exact[0], exact[2])
    cosines = [fk.kernel(text, backend=name).normalized()(X) for name in NAMES]
    np.testing.assert_array_equal(cosines[0], cosines[1])
    np.testing.assert_array_equal(cosines[0], cosines[2])
