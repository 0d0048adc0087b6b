"""The packed table: both views have the same entries, and parts equal those of the plain table."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

import formulakern as fk
from formulakern.encoding import bits
from formulakern.encoding.bits import pack_rows, select_bits, transposed
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.strict import read_packed

HOW = ["rows", "columns", "sparse"]
X2 = np.array([[1, 0], [1, 1], [0, 1]])


def made(X, how):
    """The same table, from rows, from columns, or sparse."""
    if how == "sparse":
        return read_packed(sp.csr_array(X))
    words = pack_rows(X)
    if how == "rows":
        return PackedTable.of_rows(words, X.shape[1])
    return PackedTable.of_columns(transposed(words, X.shape[1]), len(X))


def same(table, X):
    assert table.shape == X.shape
    assert np.array_equal(table.unpacked(), X)
    assert np.array_equal(table.rows, pack_rows(X))
    assert np.array_equal(table.columns, pack_rows(np.ascontiguousarray(X.T)))
    assert np.array_equal(table.counts, X.sum(axis=1))


@settings(max_examples=38)
@given(
    tables(st.integers(1, 200), st.integers(1, 70)), st.sampled_from(["rows", "columns", "sparse"])
)
def test_views_hold_the_same_entries(X, how):
    same(made(X, how), X)


@settings(max_examples=21)
@given(st.integers(0, 700), st.integers(1, 200), st.integers(0, 99))
def test_large_tables_are_turned_by_compiled_code(m, p, seed):
    X = (np.random.default_rng(seed).random((m, p)) < 0.5).astype(np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "MIN_COMPILED_BITS", 0)
        words = pack_rows(X)
        words.flags.writeable = False
        assert np.array_equal(transposed(words, p), pack_rows(np.ascontiguousarray(X.T)))
        some = np.random.default_rng(seed).integers(0, p, 70)
        assert np.array_equal(select_bits(pack_rows(X), p, some), pack_rows(X[:, some]))


@settings(max_examples=38)
@given(
    tables(st.integers(1, 200), st.integers(1, 70)),
    st.sampled_from(HOW),
    st.data(),
)
def test_parts(X, how, data):
    table, (m, p) = made(X, how), X.shape
    columns = data.draw(st.lists(st.integers(0, p - 1), max_size=5, unique=True))
    rows = np.array(data.draw(st.lists(st.integers(0, m - 1), max_size=9)), dtype=int)
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=m, max_size=m)))
    if columns:
        same(table.select(columns), X[:, columns])
    same(table.take(rows), X[rows])
    same(table.take(keep), X[keep])
    some = data.draw(st.integers(0, p - 1))
    assert np.array_equal(table.entries(rows, np.array(some)), X[rows, some] != 0)


@settings(max_examples=38)
@given(tables(st.integers(1, 200), st.integers(1, 70)), st.data())
def test_covers(X, data):
    table, p = read_packed(X), X.shape[1]
    chosen = data.draw(st.lists(st.lists(st.integers(0, p - 1), max_size=4), max_size=5))
    expected = [X[:, w].all(axis=1) for w in chosen]
    assert np.array_equal(
        table.truths(table.covers(chosen)), np.array(expected).reshape(-1, len(X))
    )
    for w, covered in zip(chosen, expected, strict=True):
        assert np.array_equal(table.cover(w), covered)


@settings(max_examples=38)
@given(tables(st.integers(1, 60), st.integers(1, 70)))
def test_equal_rows_and_columns(X):
    table = read_packed(X)
    different, kind = table.distinct()
    assert np.array_equal(different.unpacked()[kind], X)
    assert different.n_rows == len(np.unique(X, axis=0))
    for j, first in enumerate(table.first_equal):
        assert first <= j
        assert np.array_equal(X[:, j], X[:, first])
        assert not any(np.array_equal(X[:, j], X[:, i]) for i in range(first))


@pytest.mark.parametrize("rows", [np.array([True]), np.array([5]), np.array([-1])])
def test_bad_rows_are_refused(rows):
    with pytest.raises(fk.DataError):
        read_packed(X2).take(rows)


def test_bad_positions_are_refused():
    with pytest.raises(fk.DataError, match="0 to 1"):
        read_packed(X2).cover([2])


def test_words_of_another_size_are_refused():
    words = read_packed(X2).columns
    with pytest.raises(fk.DataError, match="do not fit"):
        PackedTable.of_columns(words, 100)
