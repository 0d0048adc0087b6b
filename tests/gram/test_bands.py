"""Float32, memory maps, bands and products: the same matrix by other roads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern.gram import matrix

random = np.random.default_rng(0)
X = (random.random((150, 12)) < 0.5).astype(int)
X[3] = 0
Z = (random.random((67, 12)) < 0.5).astype(int)
WIDE = (random.random((70, 800)) < 0.5).astype(int)
A = fk.kernel("(a & ~b) | c")
KERNELS = [
    A,
    A.normalized(),
    (A + 0.3 * fk.boolean.dnf(2, 2)).normalized(),
    fk.kernel("a & b", scale="probability"),
    fk.boolean.tanimoto(),
    fk.graded(A),
]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Make bands small, so that a matrix has many."""
    monkeypatch.setattr(matrix, "TILE", (8, 48))
    monkeypatch.setattr(matrix, "MAX_BAND_BYTES", 1 << 15)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@pytest.mark.parametrize("others", [None, Z], ids=["alone", "two"])
def test_other_roads(k, others, tmp_path: Path):
    K = k(X, others)
    single = K.astype(np.float32)
    out = np.full(K.shape, -1.0)
    assert k(X, others, out=out) is out
    np.testing.assert_array_equal(out, K)
    np.testing.assert_array_equal(k(X, others, dtype="float32"), single)
    for dtype, expected in (("float64", K), ("float32", single)):
        place = tmp_path / f"{dtype}.npy"
        mapped = np.lib.format.open_memmap(place, mode="w+", dtype=dtype, shape=K.shape)
        seen: list[float] = []
        assert k(X, others, out=mapped, progress=seen.append) is mapped
        np.testing.assert_array_equal(mapped, expected)
        del mapped
        np.testing.assert_array_equal(np.load(place), expected)
        assert seen == sorted(seen)
        assert seen[-1] == 1.0
        for rows in (None, 1, 7, 16, 1000):
            found = list(k.blocks(X, others, rows=rows, dtype=dtype))
            assert [part.start for part, _ in found][1:] == [part.stop for part, _ in found][:-1]
            np.testing.assert_array_equal(np.vstack([block for _, block in found]), expected)
    v = random.standard_normal((K.shape[1], 3))
    np.testing.assert_allclose(k.matvec(X, v, others), K @ v, rtol=1e-12, atol=1e-12 * K.max())
    np.testing.assert_allclose(k.matvec(X, v[:, 0], others), k.matvec(X, v, others)[:, 0])


def test_many_columns():
    k = A.normalized()
    found = [block for _, block in k.blocks(WIDE, rows=13)]
    np.testing.assert_array_equal(np.vstack(found), k(WIDE))


def test_products_do_not_depend_on_threads(monkeypatch):
    v = random.standard_normal(len(X))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(matrix, "n_threads", lambda threads=threads: threads)
        monkeypatch.setattr(matrix, "THREAD_PAIRS", 1)
        found.append(A.normalized().matvec(X, v))
    np.testing.assert_array_equal(*found)


def test_empty_tables():
    none = np.empty((0, 12))
    assert A(none, dtype="float32").shape == (0, 0)
    assert list(A.blocks(none)) == []
    assert A.matvec(X, np.empty(0), none).tolist() == [0.0] * len(X)


def test_what_is_beyond_float32_is_refused():
    k = fk.boolean.monotone_conjunctive(60)
    table = np.ones((3, 180), dtype=int)
    assert np.isfinite(k(table)).all()
    with pytest.raises(fk.MagnitudeError, match="end of float32"):
        k(table, dtype="float32")


def test_wrong_arguments():
    with pytest.raises(fk.ParameterError, match="float16"):
        A(X, dtype="float16")
    with pytest.raises(fk.ParameterError, match="'no type'"):
        A(X, dtype="no type")
    with pytest.raises(fk.ParameterError, match="out holds int64"):
        A(X, out=np.empty((150, 150), dtype=np.int64))
    with pytest.raises(fk.ParameterError, match="expected a float32 array"):
        A(X, out=np.empty((150, 150)), dtype="float32")
    with pytest.raises(fk.ParameterError, match=r"float64 \(3, 150\)"):
        A(X, out=np.empty((3, 150)))
    with pytest.raises(fk.ParameterError, match="C-contiguous"):
        A(X, out=np.empty((150, 150)).T)
    with pytest.raises(fk.ParameterError, match="rows"):
        A.blocks(X, rows=0)
    with pytest.raises(fk.ParameterError, match="67 rows of Z"):
        A.matvec(X, np.ones(150), Z)
    with pytest.raises(fk.ParameterError, match="finite"):
        A.matvec(X, np.full(150, np.nan))


MAPPED = """
import sys, numpy as np, formulakern as fk
from formulakern.gram import matrix
matrix.MAX_BAND_BYTES = 1 << 20
def resident(what):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(what))
rows = int(sys.argv[2])
X = np.random.default_rng(0).integers(0, 2, (rows, 16), dtype=np.uint8)
k = fk.kernel("a & b", backend="numba").normalized()
k(X[:400], dtype="float32")  # compiled before memory is measured
before = resident("VmHWM")
out = np.lib.format.open_memmap(sys.argv[1], mode="w+", dtype=np.float32, shape=(rows, rows))
k(X, out=out)
print((resident("VmHWM") - before) / out.nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_memory_of_a_mapped_matrix(tmp_path: Path):
    """3,000 rows, 36 MB: in memory at a time a few of its bands of 1 MB."""
    done = subprocess.run(
        [sys.executable, "-c", MAPPED, str(tmp_path / "K.npy"), "3000"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 0.5
