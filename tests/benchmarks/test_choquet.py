"""The speed of the Choquet kernel, as ratios from one run: ``pytest tests/benchmarks -s``.

The other side is the quadratic algorithm, compiled and threaded the same way: the columns come in
the order of x, and for each of them all subsets of the earlier ones are summed by a walk through
the order of z, with the power of two that counts the subsets whose least entry this is.  (The
formula of Tehrani, Strickert & Hüllermeier 2014 sums over the same subsets; it was rebuilt here.)
CPU time per pair of rows is compared, in turns, so that a busy machine slows both sides.  Ours gets
1,000 rows, the others fewer for many columns: 50 for 512.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import formulakern as fk
from formulakern.gram.matrix import fill_matrix

REPETITIONS = 2


@njit(nogil=True)
def _quadratic(order, values, ranked, z, block, out, at):
    start, stop, first, last = block
    n = values.shape[1]
    taken = np.zeros(n, np.bool_)
    for i in range(start, stop):
        for j in range(first, last):
            taken[:] = False
            total = 0.0
            for place in range(n):
                column = order[i, place]
                subsets, found, passed = 1.0, 0.0, False
                for rank in range(n):
                    other = ranked[j, rank]
                    if other == column:
                        found += z[j, column] * subsets
                        passed = True
                    elif taken[other]:
                        if passed:
                            found += z[j, other] * subsets
                        subsets *= 2.0
                taken[column] = True
                total += values[i, place] * found
            out[at[0] + i - start, at[1] + j - first] = total


@njit(nogil=True)
def _suffixes(values, order, rank, steps, block, out, at):
    """The same in the order of magnitude, as vectors: no column is looked at that adds nothing."""
    start, stop, first, last = block
    n = values.shape[1]
    doubled = np.empty(n)
    for i in range(start, stop):
        for j in range(first, last):
            doubled[:] = steps[j]
            total = 0.0
            for place in range(n):
                found = 0.0
                for later in range(rank[j, order[i, place]], n):
                    found += doubled[later]
                    doubled[later] *= 2.0
                total += values[i, place] * found
            out[at[0] + i - start, at[1] + j - first] = total


def _filled(loop: Callable[..., None], *arrays: np.ndarray) -> np.ndarray:
    def fill(rows, columns, block):
        where = (rows.start, rows.stop, columns.start, columns.stop)
        loop(*arrays, where, block, (0, 0))

    m = len(arrays[0])
    return fill_matrix(np.empty((m, m)), True, fill)


def quadratic(X: np.ndarray) -> np.ndarray:
    order = np.argsort(-X, axis=1)
    return _filled(_quadratic, order, np.take_along_axis(X, order, axis=1), order, X)


def suffixes(X: np.ndarray) -> np.ndarray:
    order = np.argsort(-X, axis=1)
    values = np.take_along_axis(X, order, axis=1)
    steps = values - np.append(values[:, 1:], np.zeros((len(X), 1)), axis=1)
    return _filled(_suffixes, values, order, np.argsort(order, axis=1), steps)


def seconds(functions: dict[str, tuple[Callable[..., Any], np.ndarray]]) -> dict[str, float]:
    """Median CPU seconds per pair of rows, in turns after one run that does not count."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for repetition in range(REPETITIONS + 1):
        for name, (function, X) in functions.items():
            begin = time.process_time()
            function(X)
            if repetition:
                pairs = len(X) * (len(X) + 1) / 2
                times[name].append((time.process_time() - begin) / pairs)
    return {name: statistics.median(values) for name, values in times.items()}


def test_the_quadratic_algorithms_are_the_same_kernel():
    X = np.random.default_rng(0).random((20, 9)).round(1)
    np.testing.assert_allclose(quadratic(X), fk.choquet()(X), rtol=1e-13)
    np.testing.assert_allclose(suffixes(X), fk.choquet()(X), rtol=1e-13)


def test_growth_and_ratio():
    per_pair = {}
    for n in (8, 32, 128, 512):
        X = np.random.default_rng(0).random((1_000, n))
        few = X[: min(1_000, 25_600 // n)]
        time_of = seconds(
            {
                "ours": (fk.choquet(), X),
                "quadratic": (quadratic, few),
                "suffixes": (suffixes, few),
                "additive": (fk.choquet(2), few),
            }
        )
        per_pair[n] = time_of["ours"]
        print(
            f"\n    1,000 x 1,000, n = {n:3d}: {1e6 * time_of['ours']:6.2f} us a pair,"
            f" quadratic / ours {time_of['quadratic'] / time_of['ours']:6.1f},"
            f" as vectors / ours {time_of['suffixes'] / time_of['ours']:5.1f},"
            f" ours / (n log2 n) {1e9 * time_of['ours'] / (n * np.log2(n)):5.2f} ns,"
            f" 2-additive / n^2 {1e9 * time_of['additive'] / n**2:5.2f} ns",
            end="",
        )
    growth = per_pair[512] / per_pair[32]
    print(
        f"\n    n = 512 / n = 32: {growth:.1f}, n log n would be {512 * 9 / (32 * 5):.1f}", end=""
    )
    assert growth < 4 * 512 * 9 / (32 * 5)  # n^2 would be 256


@pytest.mark.parametrize("rows", [300])
def test_symmetric_half(rows):
    X = np.random.default_rng(0).random((rows, 64))
    time_of = seconds({"half": (fk.choquet(), X), "full": (lambda X: fk.choquet()(X, X.copy()), X)})
    print(
        f"\n    k(X) / k(X, X.copy()): {time_of['half'] / time_of['full']:.2f}, goal 0.55", end=""
    )
    assert time_of["half"] < 0.9 * time_of["full"]
