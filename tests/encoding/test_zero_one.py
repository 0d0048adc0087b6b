"""The strict reader: 0 and 1 from every kind of table, a sentence for everything else."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding.bits import pack_rows
from formulakern.encoding.packed import check_same_columns, paired_rows
from formulakern.encoding.strict import read_packed
from formulakern.tables.read import column_positions

U = (np.random.default_rng(1).random((20, 130)) < 0.3).astype(np.uint8)
NAMES = [f"c{j}" for j in range(130)]
SPARSE = pd.SparseDtype(float, fill_value=0.0)
FRAME = pd.DataFrame(U, columns=NAMES)
MIXED = {"c0": bool, "c1": "Int64", "c2": "boolean", "c3": float, "c4": "category", "c5": object}
READ_ONLY = U.astype(float)
READ_ONLY.flags.writeable = False
with warnings.catch_warnings():  # NumPy advises against them; users have them
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.asmatrix(U)

SOURCES = {
    "bool": U.astype(bool),
    "float16": U.astype(np.float16),
    "big-endian": U.astype(">f8"),
    "objects": U.astype(object),
    "bool objects": U.astype(bool).astype(object),
    "fortran": np.asfortranarray(U.astype(float)),
    "read-only": READ_ONLY,
    "strided": np.repeat(np.repeat(U, 2, axis=0), 3, axis=1)[::2, ::3],
    "matrix": MATRIX,
    "masked": np.ma.array(U),
    "lists": U.tolist(),
    "list of arrays": list(U),
    "pandas": FRAME,
    "pandas bool": FRAME.astype(bool),
    "pandas mixed": FRAME.astype(MIXED | {"c6": "Sparse[int]"}),
    "pandas sparse": pd.DataFrame.sparse.from_spmatrix(sp.csr_array(U), columns=NAMES),
    "polars": pl.DataFrame(U, schema=NAMES),
    "polars bool": pl.DataFrame(U.astype(bool), schema=NAMES),
    "Table": fk.Table.of(U),
    "dict": {name: U[:, j] for j, name in enumerate(NAMES)},
} | {
    f"{kind}_{flavour}": getattr(sp, f"{kind}_{flavour}")(sp.coo_array(U), dtype=dtype)
    for kind in ("csr", "csc", "coo", "bsr", "lil", "dok")
    for flavour, dtype in (("matrix", np.float64), ("array", np.bool_))
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_table_reads_the_same(kind):
    table = read_packed(SOURCES[kind])
    assert (table.n_rows, table.n_columns) == U.shape
    assert table.counts.dtype == np.int64
    np.testing.assert_array_equal(table.counts, U.sum(axis=1))
    np.testing.assert_array_equal(table.rows, pack_rows(U))
    chosen = table.select([129, 0, 64])
    np.testing.assert_array_equal(chosen.rows, pack_rows(U[:, [129, 0, 64]]))
    np.testing.assert_array_equal(chosen.counts, U[:, [129, 0, 64]].sum(axis=1))


def test_names():
    assert read_packed(U).names is None
    assert read_packed(FRAME).names == tuple(NAMES)
    assert read_packed(FRAME).select([7, 3]).names == ("c7", "c3")
    assert read_packed(SOURCES["pandas sparse"]).names == tuple(NAMES)


def test_one_row_and_no_rows():
    assert read_packed(np.ones((1, 5))).counts.tolist() == [5]
    for empty in (
        np.zeros((0, 5)),
        np.empty((0, 2), dtype=object),
        pd.DataFrame(columns=["a"]),
        np.empty((0, 2), dtype=str),
        sp.csr_array((0, 4)),
        pl.DataFrame({"a": []}),
    ):
        assert read_packed(empty).n_rows == 0
        assert len(read_packed(empty).rows) == 0


def with_entry(value, dtype=float):
    table = U.astype(dtype)
    table[17, 5] = value
    return table


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0, -1.0, 0.5])
@pytest.mark.parametrize(
    ("make", "label"),
    [
        (np.asarray, "column 5"),
        (np.asfortranarray, "column 5"),
        (sp.csr_array, "column 5"),
        (sp.csc_matrix, "column 5"),
        (lambda a: pd.DataFrame(a, columns=NAMES), 'column "c5"'),
        (lambda a: pd.DataFrame(a, columns=NAMES).astype(SPARSE), 'column "c5"'),
        (lambda a: pl.DataFrame(a, schema=NAMES), 'column "c5"'),
        (lambda a: fk.Table.of(a, names=NAMES), 'column "c5"'),
    ],
    ids=["C", "F", "csr", "csc", "pandas", "pandas-sparse", "polars", "Table"],
)
def test_the_column_and_the_row_are_named(make, label, value):
    with pytest.raises(fk.DataError) as caught:
        read_packed(make(with_entry(value)))
    assert str(caught.value) == (
        f"{label} holds {value!r} (row 17); a formula kernel reads 0 and 1.\n"
        "Encode the table first: fk.PropositionEncoder().fit_transform(X), "
        "or use an estimator, which does it for you."
    )


@pytest.mark.parametrize("value", [None, "1", pd.NA, np.nan, 2, [1], datetime.date(2020, 1, 1)])
def test_objects(value):
    table = U.astype(object)
    table[17, 5] = value
    with pytest.raises(fk.DataError, match=r"column 5 of Z holds .* \(row 17\)"):
        read_packed(table, role="Z")


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (U.astype(str), r"column 0 holds '.' \(row 0\)"),
        (U.astype("S1"), "column 0 holds b'"),
        (U.astype(complex), "Complex data not supported"),
        (U.astype("M8[D]"), "column 0 holds datetime"),
        (sp.csr_array(U).astype(complex), "dtype complex128"),
        (
            sp.coo_array((np.array([1, 1]), ([2, 2], [1, 1])), shape=(3, 3)),
            r"column 1 holds 2 \(row 2\)",
        ),
        (np.ma.array(U, mask=np.eye(20, 130, 3)), r"column 3 holds None \(row 0\)"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), r'"a" holds <NA> \(row 1\)'),
        (pd.DataFrame({"a": ["x", "y"]}), r'"a" holds .x. \(row 0\)'),
        (pd.DataFrame({"a": pd.Categorical([0, None])}), r'"a" holds nan \(row 1\)'),
        (pl.DataFrame({"a": [1, None]}), r'"a" holds None \(row 1\)'),
        (pl.DataFrame({"a": ["1"]}), r'"a" holds .1. \(row 0\)'),
        (U[0], r"shape \(130,\).*Reshape your data"),
        (U[None], "3D array"),
        (sp.coo_array(U[0]), "1D array"),
        ([[1, 0], [1]], "row 1 has 1 values"),
        ([1, 0], "1D array"),
        ([[1, "a"]], "column 1 holds 'a'"),
        ([[1, [0]]], "equal length"),
        (np.zeros((3, 0)), "no columns"),
        (pd.DataFrame(index=[1, 2]), "no columns"),
        (sp.csr_array((3, 0)), "no columns"),
        (3, "0D array"),
        (None, "X is None"),
        ("text", "of type str"),
        (pl.DataFrame({"a": [1]}).lazy(), r"\.collect\(\)"),
    ],
)
def test_refusals(X, sentence):
    with pytest.raises(fk.DataError, match=sentence):
        read_packed(X)


def test_explicit_zeros_and_the_callers_matrix():
    data, rows, columns = np.array([1, 0, 1, 0]), [0, 0, 2, 1], [3, 1, 0, 1]
    matrix = sp.csr_matrix((data, (rows, columns)), shape=(3, 4))
    before = matrix.copy()
    table = read_packed(matrix)
    np.testing.assert_array_equal(table.rows, [[8], [0], [1]])
    assert matrix.nnz == before.nnz == 4
    unsorted = sp.csr_array((np.ones(3), [3, 0, 1], [0, 2, 3]), shape=(2, 4))
    np.testing.assert_array_equal(read_packed(unsorted).rows, [[9], [2]])
    assert unsorted.indices.tolist() == [3, 0, 1]
    twice = sp.csr_array((np.array([2, -1]), [1, 1], [0, 2]), shape=(1, 2))
    assert read_packed(twice).counts.tolist() == [1]


def inner_products(x, z):
    a, b = paired_rows(x, z)
    return np.bitwise_count(a[:, None] & b[None]).sum(axis=2)


@pytest.mark.parametrize("few", [0, 4096])
@given(data=st.data())
def test_paired_words_give_inner_products(few, data):
    width = data.draw(st.integers(1, 150))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    tables = [(rng.random((data.draw(st.integers(0, 4)), width)) < 0.1) * 1 for _ in range(2)]
    read = [read_packed(sp.csr_array(t) if data.draw(st.booleans()) else t) for t in tables]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("formulakern.encoding.packed.MAX_PACKED_COLUMNS", few)
        np.testing.assert_array_equal(inner_products(*read), tables[0] @ tables[1].T)
        np.testing.assert_array_equal(inner_products(read[0], read[0]), tables[0] @ tables[0].T)


def test_huge_sparse_tables():
    x = sp.random_array((300, 10_000_000), density=1e-6, format="csr", rng=1)
    x.data[:] = 1
    table = read_packed(x)
    assert inner_products(table, table).trace() == x.nnz
    identity = read_packed(sp.eye_array(1_000_000, format="csr"))
    with pytest.raises(fk.DataError, match=r"1,000,000 sparse rows .* 116\.4 GiB"):
        paired_rows(identity, identity)
    with pytest.raises(fk.DataError, match="4 GiB"):
        _ = identity.rows


def test_same_columns():
    check_same_columns(read_packed(FRAME), read_packed(U))
    with pytest.raises(fk.DataError, match="X has 130 columns and Z has 5"):
        check_same_columns(read_packed(U), read_packed(U[:, :5]))
    with pytest.raises(fk.DataError, match="different order"):
        check_same_columns(read_packed(FRAME), read_packed(FRAME[NAMES[::-1]]))
    with pytest.raises(fk.DataError, match='column 3 is "c3" in X and "d" in Z'):
        paired_rows(read_packed(FRAME), read_packed(FRAME.rename(columns={"c3": "d"})))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (["c2", "c0"], (2, 0)),
        ("c2", (2,)),
        (1, (1,)),
        ([1, -1], (1, 3)),
        (np.array([2, 0]), (2, 0)),
        ([True, False, False, True], (0, 3)),
        (np.array([False, True, False, False]), (1,)),
        (slice(1, None, 2), (1, 3)),
        (range(2), (0, 1)),
        (pd.Index(["c1", "c3"]), (1, 3)),
        (["c1", 3], (1, 3)),
        ({"c3": 0, "c1": 0}, (3, 1)),
    ],
    ids=repr,
)
def test_column_positions(spec, expected):
    frame = pd.DataFrame(U[:, :4], columns=NAMES[:4])
    for table in (frame, pl.from_dict(dict(frame)), fk.Table.of(frame), read_packed(frame)):
        assert column_positions(table, spec) == expected


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (["c1", "d1"], 'no column "d1"'),
        ("c_1", 'did you mean "c1"'),
        ([4], "column 4 is out of range: the table has 4 columns, numbered 0 to 3"),
        ([-5], "out of range"),
        (["c1", 1], "chosen twice"),
        ([], "no column is chosen"),
        (slice(9, None), "no column is chosen"),
        ([False] * 4, "no column is chosen"),
        ([True] * 3, "mask has length 3"),
        (1.5, "got 1.5"),
        ([1.5], "got 1.5"),
        (None, "got None"),
    ],
    ids=repr,
)
def test_bad_column_positions(spec, sentence):
    with pytest.raises(fk.DataError, match=sentence):
        column_positions(pd.DataFrame(U[:, :4], columns=NAMES[:4]), spec)


def test_names_need_a_named_table():
    assert column_positions(U, [1, 0]) == (1, 0)
    assert column_positions([[1, 0]], 1) == (1,)
    assert column_positions(sp.csr_array(U), slice(0, 2)) == (0, 1)
    with pytest.raises(fk.DataError, match="the table has no names"):
        column_positions(U, ["x0"])


def test_tables_of_arrow():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = read_packed(pa.table({"a": [1, 0], "b": [True, True]}))
    assert (table.names, table.unpacked().tolist()) == (("a", "b"), [[1, 1], [0, 1]])
    with pytest.raises(fk.DataError, match=r'column "a" holds None \(row 1\)'):
        read_packed(pa.table({"a": [1, None]}))
