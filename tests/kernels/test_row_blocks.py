"""Chosen rows against all rows: the rows of the matrix, whatever the kernel."""

import threading

import numpy as np
import pytest

import formulakern as fk
from formulakern.backends.block_writers import rows_of
from formulakern.encoding.strict import read_packed

random = np.random.default_rng(0)
X = (random.random((70, 9)) < 0.5).astype(int)
X[3] = 0
X[40] = X[7]
A, B = fk.kernel("a & ~b"), fk.kernel("a -> b", "free", backend="interpreter")
KERNELS = [
    A,
    B,
    fk.kernel("(a | b) & ~c", backend="lookup"),
    fk.kernel("(a & ~b) | c", backend="numba"),
    A.normalized(),
    (A + 2 * B) * fk.boolean.monotone_conjunctive(2).normalized(),
    (A + 2 * B).normalized(),
    (A + A.normalized() * B).normalized(),
    fk.boolean.dnf(2, 2),
    fk.boolean.tanimoto(),
    fk.kernel("a and b", scale="probability"),
    fk.graded(A),
]


def filled(fill, rows, columns):
    """K between these rows of X, in this order, and a stretch of Z."""
    out = np.full((len(rows), columns.stop - columns.start), -1.0)
    rows_of(fill, np.array(rows, dtype=np.intp))(slice(0, len(rows)), columns, out)
    return out


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("k", KERNELS, ids=repr)
@pytest.mark.parametrize("rows", [[], [5], [7, 3, 40, 69, 7, 8, 9]])
def test_rows_of_the_matrix(k, rows):
    pair = k.read(read_packed(X))
    fill, K = k.prepare(pair), k(X)
    for columns in (slice(0, 70), slice(32, 70), slice(16, 17), slice(0, 0)):
        out, expected = filled(fill, rows, columns), K[rows, columns]
        if k.exactly_symmetric(pair):
            np.testing.assert_array_equal(out, expected)
        np.testing.assert_allclose(out, expected, rtol=1e-14)
    np.testing.assert_array_equal(k.diagonal_of(pair), k.diagonal(X))


def test_rows_against_another_table():
    Z = (random.random((33, 9)) < 0.5).astype(int)
    for k in (A, A.normalized(), A + B):
        out = filled(k.prepare(k.read(X, Z)), [5, 1], slice(0, 33))
        np.testing.assert_array_equal(out, k(X, Z)[[5, 1]])


def test_several_threads():
    k = KERNELS[3].normalized()
    fill, K = k.prepare(k.read(X)), k(X)
    found: list[bool] = []

    def ask(seed: int) -> None:
        choice = np.random.default_rng(seed)
        for _ in range(50):
            rows = choice.integers(0, 70, 21)
            found.append(np.array_equal(filled(fill, rows, slice(0, 70)), K[rows]))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 150
