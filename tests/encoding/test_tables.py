"""Tables: every kind of table becomes the same two kinds of columns."""

import datetime
import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import cross_val_score

import formulakern as fk
from formulakern.errors import MissingDependencyError
from formulakern.tables import read as sources
from formulakern.tables.column import read_number

COLUMNS = {"odor": ["foul", None, "none"], "size": [3, 1, 4], "weight": [1.5, None, 2.0]}
TABLE = fk.Table(COLUMNS)


def test_frames_dicts_and_rows_agree():
    frame = pd.DataFrame(COLUMNS)
    rows = [list(row) for row in zip(*COLUMNS.values(), strict=True)]
    assert fk.Table.of(frame) == TABLE
    assert fk.Table.of(pl.DataFrame(COLUMNS)) == TABLE
    assert fk.Table.of(COLUMNS) == TABLE
    assert fk.Table.of(TABLE) == TABLE
    assert fk.Table.of(rows, names=list(COLUMNS)) == TABLE
    assert fk.Table.of(np.array(rows, dtype=object), names=list(COLUMNS)) == TABLE
    assert fk.Table.of(frame.convert_dtypes()) == TABLE
    assert fk.Table.of(TABLE.to_pandas()) == TABLE


def test_numpy_columns_are_numbered_as_in_scikit_learn():
    table = fk.Table.of(np.array([[1.0, 0.0], [np.nan, 2.0]], dtype=np.float32))
    assert table.names == ("x0", "x1")
    assert table["x0"].dtype == np.float64
    assert table.missing("x0").tolist() == [False, True]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dok", "lil", "bsr", "dia"])
@pytest.mark.parametrize("flavour", ["matrix", "array"])
def test_sparse(kind, flavour):
    dense = np.array([[0, 2, 0], [1, 0, 0]])
    assert fk.Table.of(getattr(sp, f"{kind}_{flavour}")(dense)) == fk.Table.of(dense)


def test_large_sparse_is_refused():
    wide = sp.csr_array((1000, sources.MAX_DENSE_ENTRIES))
    with pytest.raises(fk.DataError, match="too large to spread out"):
        fk.Table.of(wide)


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([True, False], "bool", [True, False]),
        ([True, None], "float64", [1.0, None]),
        ([1, 2.5, True], "float64", [1.0, 2.5, 1.0]),
        ([1, True], "int64", [1, 1]),
        ([2**70, 1], "float64", [2.0**70, 1.0]),
        ([Decimal("1.5"), 2], "float64", [1.5, 2.0]),
        ([1, "a", None], "object", ["1", "a", None]),
        (["a", np.nan], "object", ["a", None]),
        (["a", pd.NA], "object", ["a", None]),
        ([None, None], "float64", [None, None]),
        ([b"a", "b"], "object", ["a", "b"]),
        ([datetime.date(2020, 1, 2), None], "M8[ns]", ["2020-01-02", None]),
        (np.array(["a", "bc"]), "object", ["a", "bc"]),
        (np.array([b"a", b"bc"]), "object", ["a", "bc"]),
        (np.array([1, 2], dtype=np.uint64), "int64", [1, 2]),
        (np.array([1, 2**63], dtype=np.uint64), "uint64", [1, 2**63]),
        (np.array(["2020-01-02", "NaT"], "M8[D]"), "M8[D]", ["2020-01-02", None]),
        (np.ma.array([1, 2], mask=[False, True]), "float64", [1.0, None]),
        (pd.Series(["b", None, "a"], dtype="category"), "object", ["b", None, "a"]),
        (pd.Series([2, 1], dtype="category"), "object", ["2", "1"]),
        (pd.Series([1, None], dtype="Int64"), "float64", [1.0, None]),
        (pd.Series([1, 2], dtype="Int8"), "int64", [1, 2]),
        (pd.Series([True, None], dtype="boolean"), "float64", [1.0, None]),
        (pd.Series([True, False], dtype="boolean"), "bool", [True, False]),
        (pd.Series(["a", None], dtype="string"), "object", ["a", None]),
        (pd.Series(["2020-01-02", None], dtype="M8[us]"), "M8[us]", ["2020-01-02", None]),
        (pd.Series(pd.arrays.SparseArray([0, 3])), "int64", [0, 3]),
        (pl.Series(["b", None]).cast(pl.Categorical), "object", ["b", None]),
        (pl.Series(["b", None], dtype=pl.Enum(["b"])), "object", ["b", None]),
        (pl.Series([1, None]), "float64", [1.0, None]),
        (pl.Series([1, 2], dtype=pl.Int8), "int64", [1, 2]),
        (pl.Series([True, None]), "float64", [1.0, None]),
        (pl.Series([True, False]), "bool", [True, False]),
        (pl.Series([datetime.date(2020, 1, 2), None]), "M8[D]", ["2020-01-02", None]),
    ],
    ids=repr,
)
def test_columns_have_three_normal_forms(values, dtype, expected):
    table = fk.Table({"c": values})
    assert table["c"].dtype == dtype
    found = [table.entry("c", row) for row in range(len(table))]
    if dtype.startswith("M8"):
        found = [None if value is None else str(value) for value in found]
    assert found == expected
    assert table.is_numeric("c") == (dtype != "object" and not dtype.startswith("M8"))


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.zeros(3), "Reshape your data"),
        (np.zeros((1, 2, 3)), "3D array"),
        ([1, 2], "Reshape your data"),
        ([[1, 2], [1]], "row 1 has 1 values, but row 0 has 2"),
        (pd.Series([1, 2]), "Reshape your data"),
        (np.zeros((2, 2), dtype=complex), "Complex data not supported"),
        ([[1j]], "Complex data not supported"),
        ([[{"a": 1}]], "holds a dict"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), 'two columns are named "a"'),
        ({"a": [1, 2], "b": [1]}, 'column "b" has 1 rows, but column "a" has 2'),
        ({"a": 3}, "one value per row"),
        ({"a": np.zeros((2, 2))}, "expected one dimension"),
        ("abc", "X is of type str; expected a table"),
        (None, "X is None; expected a table"),
        (pl.DataFrame({"a": [1]}).lazy(), r"\.collect\(\)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_what_is_no_table_is_refused(X, sentence):
    with pytest.raises(fk.DataError, match=sentence):
        fk.Table.of(X)


def test_names():
    with pytest.raises(fk.DataError, match="2 names for a table with 1 columns"):
        fk.Table.of(np.zeros((2, 1)), names=["a", "b"])
    with pytest.raises(fk.DataError, match="non-empty str"):
        fk.Table({"": [1]})
    with pytest.raises(fk.DataError, match='no column "odour" in the table; did you mean "odor"'):
        TABLE.column("odour")
    with pytest.raises(fk.DataError, match='did you mean "odor"'):
        TABLE["ODOR"]
    assert fk.Table.of(pd.DataFrame([[1, 2]])).names == ("0", "1")
    assert "odor" in TABLE
    assert "x" not in TABLE
    assert list(TABLE) == list(TABLE.columns) == list(COLUMNS)


def test_rows():
    assert TABLE[[2, 0]]["odor"].tolist() == ["none", "foul"]
    assert TABLE[np.array([True, False, True])]["size"].tolist() == [3, 4]
    assert TABLE[1:].shape == (2, 3)
    assert TABLE[[]].shape == (0, 3)
    assert TABLE[[-1], ...]["size"].tolist() == [4]
    for key in ([3], [True], [[0]], 1.5, ["odor"], (0, 1)):
        with pytest.raises(fk.DataError):
            TABLE[key]


def test_immutable():
    with pytest.raises(AttributeError, match="immutable"):
        TABLE.names = ()
    with pytest.raises(AttributeError, match="immutable"):
        del TABLE._columns
    with pytest.raises(ValueError, match="read-only"):
        TABLE["size"][0] = 5
    with pytest.raises(TypeError):
        TABLE.columns["size"] = 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(TABLE)
    source = np.array([[1.0], [2.0]])
    table = fk.Table.of(source)
    source[0, 0] = 9
    assert table["x0"].tolist() == [1.0, 2.0]


def test_equality_and_pickle():
    again = pickle.loads(pickle.dumps(TABLE))
    assert again == TABLE
    assert not again["size"].flags.writeable
    assert TABLE.select(["size", "odor", "weight"]) != TABLE
    assert TABLE[:2] != TABLE
    assert fk.Table({"a": [1]}) == fk.Table({"a": [1.0]})
    assert fk.Table({"a": [1]}) != fk.Table({"a": ["1"]})
    assert TABLE != "table"


def test_arrays():
    array = np.asarray(TABLE)
    assert array.dtype == object
    assert array.shape == TABLE.shape
    assert np.asarray(TABLE.select(["size", "weight"])).dtype == np.float64
    assert np.asarray(TABLE.select(["size"]), dtype=np.uint8).dtype == np.uint8


def test_scikit_learn_can_index_it():
    table = fk.Table({"a": list("xyxyxyxyxy"), "b": range(10)})
    y = [0, 1] * 5
    scores = cross_val_score(DummyClassifier(strategy="prior"), table, y, cv=5)
    assert scores.tolist() == [0.5] * 5


def test_repr_is_compact_and_html_is_escaped():
    wide = fk.Table({f"column {j} <b>": ["a\nb" * 30] * 100 for j in range(60)})
    text = repr(wide)
    assert len(text.splitlines()) == 9
    assert max(map(len, text.splitlines())) <= 115
    assert "more" in text
    assert "<b>" not in wide._repr_html_()
    assert "column 0 &lt;b&gt;" in wide._repr_html_()
    assert repr(fk.Table({})) == "Table: 0 rows, 0 columns"


def test_pandas_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"formulakern\[tables\]"):
        TABLE.to_pandas()


def test_importing_needs_neither_pandas_nor_polars_nor_scipy():
    code = (
        "import sys, formulakern.encoding, formulakern.datasets;"
        "print([m for m in ('pandas', 'polars', 'scipy', 'sklearn', 'numba') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_only_plain_decimals_are_numbers():
    for text in ("", " ", "nan", "inf", "1_0", "0x1", "1e", "٣", "1e999", "--1", "1 2", "True"):
        assert read_number(text) is None
    assert read_number(" +7 ") == 7
    assert read_number("-.5e-1") == -0.05
    assert isinstance(read_number("12345678901234567890"), float)
