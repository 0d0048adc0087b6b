"""The cost of twenty formulas against one: ``pytest tests/benchmarks -s``.

Both run in turns, and medians of processor time are divided.  ``goal`` is the largest ratio; the
tests fail only far beyond it.
"""

import time
from functools import partial

import numpy as np
import pytest

import formulakern as fk
from tests import turns

FORMULAS = (
    "a & b", "a", "a & b & c", "a & b & c & d", "a | b", "a | b | c", "a ^ b", "a & ~b", "a -> b",
    "(a & b) | c", "(a & ~b) | c", "(a & b) | (c & d)", "~a", "~a & ~b", "a <-> b", "a & (b | c)",
    "a & b & ~c", "(a ^ b) & c", "(a | b) & (c | d)", "~a & b & c",
)  # fmt: skip
ROWS = 2_000
REPETITIONS = 5


def problem(one_hot: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 60 bits, each with a tenth of the classes changed."""
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (ROWS, 60), dtype=np.uint8)
    if one_hot:
        X = np.eye(4, dtype=np.uint8)[generator.integers(0, 4, (ROWS, 15))].reshape(ROWS, 60)
    y = ((X[:, 0] & X[:, 1]) | X[:, 2]) ^ (generator.random(ROWS) < 0.1)
    return X, y


medians = partial(turns.medians, REPETITIONS, time.process_time)


@pytest.mark.parametrize("method", ["easy", "lp"])
@pytest.mark.parametrize("one_hot", [False, True])
def test_twenty_formulas_beside_one(method: str, one_hot: bool) -> None:
    X, y = problem(one_hot)
    model = {
        n: fk.FormulaMKL(FORMULAS[:n], method, "distinct", encoder=None) for n in (1, len(FORMULAS))
    }
    seconds = medians(one=lambda: model[1].fit(X, y), twenty=lambda: model[20].fit(X, y))
    ratio = seconds["twenty"] / seconds["one"]
    what = (
        f"{method}, {'one-hot' if one_hot else 'dense'}: 20 formulas / 1 ({seconds['one']:.2f} s)"
    )
    print(f"\n    {what:<60} {ratio:6.2f} x   goal 2", end="")
    assert ratio < 6
