"""Chosen rows against all rows: the rows of the matrix, whatever the kernel."""

import threading

import numpy as np
import pytest

import formulakern as fk
from formulakern.encoding.zero_one import read_packed
from formulakern.errors import ParameterError
from formulakern.kernels.row_blocks import RowBlocks

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


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("k", KERNELS, ids=repr)
@pytest.mark.parametrize("rows", [[], [5], [7, 3, 40, 69, 7, 8, 9]])
def test_rows_of_the_matrix(k, rows):
    blocks = RowBlocks(k, read_packed(X))
    K = k(X)
    for columns in (slice(0, 70), slice(32, 70), slice(16, 17), slice(0, 0)):
        out = np.full((len(rows), columns.stop - columns.start), -1.0)
        blocks.fill(np.array(rows, dtype=np.intp), columns, out)
        expected = K[rows, columns]
        if k.exactly_symmetric(k.read(X)):
            np.testing.assert_array_equal(out, expected)
        np.testing.assert_allclose(out, expected, rtol=1e-14)
    np.testing.assert_array_equal(blocks.diagonal, k.diagonal(X))


def test_rows_against_another_table():
    Z = (random.random((33, 9)) < 0.5).astype(int)
    for k in (A, A.normalized(), A + B):
        out = np.empty((2, 33))
        RowBlocks(k, X, Z).fill(np.array([5, 1]), slice(0, 33), out)
        np.testing.assert_array_equal(out, k(X, Z)[[5, 1]])


def test_several_threads():
    blocks, K = RowBlocks(KERNELS[3].normalized(), X), KERNELS[3].normalized()(X)
    found: list[bool] = []

    def ask(seed: int) -> None:
        choice = np.random.default_rng(seed)
        for _ in range(50):
            rows, out = choice.integers(0, 70, 21), np.empty((21, 70))
            blocks.fill(rows, slice(0, 70), out)
            found.append(np.array_equal(out, K[rows]))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 150


def test_wrong_places_are_refused():
    blocks, out = RowBlocks(A, X), np.empty((1, 70))
    with pytest.raises(ParameterError, match="multiple of 16"):
        blocks.fill(np.array([0]), slice(8, 70), out)
    with pytest.raises(ParameterError, match="0 to 69"):
        blocks.fill(np.array([70]), slice(0, 70), out)
    with pytest.raises(ParameterError, match="C-contiguous float64"):
        blocks.fill(np.array([0]), slice(0, 64), out)
