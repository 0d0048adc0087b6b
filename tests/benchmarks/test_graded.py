"""Graded kernels against walking the levels pair by pair: ``pytest -s tests/benchmarks``.

Between the level sets of rows the joint counts can be kept up to date as columns enter, one after
the other, in place of counting the bits that two level sets share.  Both are compiled, both take
the kernel's values from a table; the counting serves every kernel, and is as fast.
"""

import statistics
import time

import numpy as np
import pytest
import sympy
from numba import njit

import formulakern as fk


@njit(nogil=True)
def walk(order, ranks, widths, table, out):
    """Columns enter from the largest entry of x down; counts of z's levels grow by one."""
    rows, levels = widths.shape
    counts = np.empty(levels, np.int64)
    for a in range(rows):
        for b in range(a, rows):
            counts[:] = 0
            total = 0.0
            for i in range(levels):
                if i > 0:
                    for j in range(ranks[b, order[a, i - 1]] + 1, levels):
                        counts[j] += 1
                across = 0.0
                for j in range(levels):
                    across += widths[b, j] * table[i, j, counts[j]]
                total += widths[a, i] * across
            out[a, b] = out[b, a] = total


def medians(*functions, repetitions=3):
    """Median CPU seconds of each, in turns, after one run that does not count."""
    taken = [[] for _ in functions]
    for repetition in range(repetitions + 1):
        for times, function in zip(taken, functions, strict=True):
            begin = time.process_time()
            function()
            if repetition:
                times.append(time.process_time() - begin)
    return [statistics.median(times) for times in taken]


@pytest.mark.parametrize(("n", "rows"), [(16, 400), (64, 120), (200, 40)])
def test_level_sets_against_walking(n, rows):
    X = np.random.default_rng(0).random((rows, n))
    kernel = fk.kernel("(a & ~b) | c", inputs="graded")
    order = np.argsort(-X, axis=1)
    ranks = np.argsort(order, axis=1)
    edges = np.hstack([np.ones((rows, 1)), np.take_along_axis(X, order, axis=1)])
    widths = edges - np.hstack([edges[:, 1:], np.zeros((rows, 1))])
    s, p, q = np.meshgrid(*[np.arange(n + 1)] * 3, indexing="ij")
    form = kernel.kernel.polynomial()
    table = np.asarray(
        sympy.lambdify(sympy.symbols("s p q n", integer=True, nonnegative=True), form)(s, p, q, n)
    )
    table = np.ascontiguousarray(np.moveaxis(table.astype(float), 0, 2))
    out = np.empty((rows, rows))
    ours, walked = medians(lambda: kernel(X), lambda: walk(order, ranks, widths, table, out))
    np.testing.assert_allclose(out, kernel(X), rtol=1e-10)
    cells = rows * (rows + 1) / 2 * (n + 1) ** 2
    print(
        f"\n    {n} columns: {1e9 * ours / cells:.1f} ns for each pair of level sets, "
        f"{ours / walked:.2f} x walking  goal 2",
        end="",
    )
    assert ours < 20 * walked
