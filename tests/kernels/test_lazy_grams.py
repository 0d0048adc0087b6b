"""Kernels of dask collections are those of the tables in memory, to the last bit."""

import numpy as np
import pandas as pd
import pytest
from dask_tables import cut_frame
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.partitions import lazy_rows

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask's arrays are not installed")
pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")

COLUMNS = [*"abcdef"]
KERNELS = [
    fk.kernel("(a & ~b) | c"),
    fk.kernel("a & b & c", variables="distinct"),
    fk.kernel("a:p & b:q", domains={"p": [0, 1, 2], "q": [3, 4, 5]}),
    fk.kernel("a | b").normalized(),
    fk.kernel("a & b") + 0.3 * fk.kernel("a -> b").normalized(),
    fk.kernel("a") * fk.kernel("a ^ b"),
    fk.boolean.monotone_conjunctive(2),
    fk.boolean.disjunctive(2),
    fk.boolean.dnf(2, 2).normalized(),
    fk.graded(fk.kernel("a & b")),
]


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def table(seed, rows):
    return (np.random.default_rng(seed).random((rows, len(COLUMNS))) < 0.5).astype(np.int8)


def as_dask(X, cuts, kind):
    """A table as a frame, or as an array of known or of unknown lengths, cut at these rows."""
    if kind == "memory":
        return pd.DataFrame(X, columns=COLUMNS)
    ends = sorted(min(cut, len(X)) for cut in cuts)
    if kind == "array":
        return da.from_array(X, chunks=(tuple(np.diff([0, *ends, len(X)]).tolist()), (4, 2)))
    frame = cut_frame(pd.DataFrame(X, columns=COLUMNS), ends)
    return frame if kind == "frame" else frame.to_dask_array()


KINDS = st.sampled_from(["frame", "array", "lost"])
CUTS = st.lists(st.integers(0, 12), max_size=4)


@settings(max_examples=14, deadline=None)
@given(
    st.sampled_from(KERNELS),
    st.tuples(st.integers(0, 12), CUTS, KINDS),
    st.one_of(st.none(), st.tuples(st.integers(1, 12), CUTS, KINDS | st.just("memory"))),
    st.booleans(),
    st.integers(0, 99),
)
def test_equal_to_the_last_bit(kernel, first, second, swapped, seed):
    X, Z = table(seed, first[0]), None if second is None else table(seed + 1, second[0])
    there = [as_dask(X, *first[1:]), None if Z is None else as_dask(Z, *second[1:])]
    if swapped and Z is not None:
        X, Z, there = Z, X, there[::-1]
    dtype = "float32" if swapped else "float64"
    here, lazy = kernel(frame_of(X), Z, dtype=dtype), kernel(*there, dtype=dtype)
    assert lazy.dtype == dtype
    np.testing.assert_array_equal(lazy.compute(), here)
    v = np.random.default_rng(seed).normal(size=(here.shape[1], 2))
    known = da.from_array(v, chunks=(3, 1)) if seed % 2 else v
    for vector, column in ((known, v), (known[:, 0], v[:, 0])):
        product = kernel.matvec(there[0], vector, there[1]).compute()
        expected = kernel.matvec(frame_of(X), column, Z)
        np.testing.assert_allclose(product, expected, rtol=1e-12, atol=1e-9)
    if first[2] != "memory" and not swapped:
        own = kernel.diagonal(there[0]).compute()
        np.testing.assert_array_equal(own, kernel.diagonal(frame_of(X)))


def frame_of(X):
    return pd.DataFrame(X, columns=COLUMNS)


@pytest.mark.parametrize(
    "kernel", [fk.choquet(), fk.graded(fk.kernel("a & b")), fk.boolean.all_subsets()], ids=repr
)
def test_real_tables(kernel):
    X = np.random.default_rng(0).random((20, 5))
    X[:4] = X[:4] > 0.5  # these rows could be packed
    lazy = kernel(da.from_array(X, chunks=(4, 5)), X[3:9])
    np.testing.assert_allclose(lazy.compute(), kernel(X, X[3:9]), rtol=1e-14)
    whole = kernel(da.from_array(X, chunks=(4, 5)))
    np.testing.assert_allclose(whole.compute(), kernel(X), rtol=1e-14)


@pytest.mark.parametrize(
    "kernel", [fk.strings.weighted_degree(3), fk.strings.spectrum(2)], ids=repr
)
def test_strings(kernel):
    letters = np.random.default_rng(0).choice([*"ACGT"], (9, 6))
    strings = pd.Series(["".join(row) for row in letters])
    there = cut_frame(strings, [2, 2, 5])
    for k in (kernel, kernel.normalized()):
        np.testing.assert_array_equal(k(there).compute(), k(strings))
        np.testing.assert_array_equal(k(strings[:4], there).compute(), k(strings[:4], strings))
        np.testing.assert_array_equal(k.diagonal(there).compute(), k.diagonal(strings))


def test_blocks(monkeypatch):
    """Chunks of known length are split; blocks below the diagonal are computed above it."""
    kernel, X = fk.kernel("a & b"), da.from_array(table(0, 10), chunks=(10, 6))
    monkeypatch.setattr(lazy_rows, "BLOCK_SIDE", 4)
    monkeypatch.setattr(lazy_rows, "MAX_BLOCK_BYTES", 8 * 4 * 4)
    lazy = kernel(X)
    assert lazy.chunks == ((4, 4, 2), (4, 4, 2))
    assert kernel(X, X.rechunk((5, 6))).chunks == ((4, 4, 2), (3, 3, 3, 1))
    tasks = [str(task) for key, task in lazy.dask.items() if key[0] == lazy.name]
    assert len(tasks) == 9
    assert sum("transpose" in task for task in tasks) == 3
    monkeypatch.setattr(lazy_rows, "MAX_BLOCK_BYTES", 64)
    assert kernel(X, table(1, 2)).chunks == ((4, 4, 2), (2,))
    assert kernel(table(1, 9), X).chunks[0] == (4, 4, 1)


def test_bad_input():
    kernel, X = fk.kernel("a & b"), table(0, 10)
    frame = as_dask(X, [5], "frame")
    wrong = np.where(np.arange(60).reshape(10, 6) == 36, 3, X)
    with pytest.raises(fk.DataError, match="X has 6 columns and Z has 5"):
        kernel(frame, X[:, :5])
    with pytest.raises(fk.DataError, match='column 0 is "a" in X and "q" in Z'):
        kernel(frame, frame_of(X).rename(columns={"a": "q"}))
    with pytest.raises(fk.DataError, match=r"(?s)holds 3 \(row 1\).*partition 1 of X"):
        kernel(da.from_array(wrong, chunks=(5, 6))).compute()
    with pytest.raises(fk.ParameterError, match="v has shape"):
        kernel.matvec(da.from_array(X, chunks=(5, 6)), np.ones(9))
    with pytest.raises(fk.ParameterError, match="v has shape"):
        kernel.matvec(frame, np.ones(9)).compute()
    with pytest.raises(fk.ParameterError, match="to_zarr"):
        kernel(frame, out=np.empty((10, 10)))
    with pytest.raises(fk.ParameterError, match="a dask array in chunks"):
        kernel.blocks(frame)
    with pytest.raises(fk.DataError, match="3D array"):
        kernel(da.ones((2, 2, 2)))


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    kernel, X = fk.kernel("a & b"), table(0, 10)
    kernel(da.from_array(X, chunks=(4, 6))).to_zarr(str(tmp_path / "gram.zarr"))
    np.testing.assert_array_equal(zarr.open(str(tmp_path / "gram.zarr"), mode="r")[:], kernel(X))
