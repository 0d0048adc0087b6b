"""Classes and weights that stay in partitions are those that are read in memory, errors too."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern import DataError, Table
from formulakern.encoding.partitioned import PartitionedTable
from formulakern.estimators.validation import (
    TrainingData,
    class_order,
    read_classes,
    read_codes,
)
from formulakern.partitions.partitioned import Partitioned

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask's arrays are not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")


@pytest.fixture(autouse=True, scope="module")
def _synchronous():
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        yield


def table_of(lengths):
    """Return encoded rows in partitions of these numbers of rows."""
    parts = Partitioned([Table({"x": np.arange(n)}) for n in lengths])
    return fk.PropositionEncoder().fit({"x": [0, 1]}).pack(PartitionedTable(("x",), lambda: parts))


def series_of(parts):
    """Partitions that are these."""
    return dd.from_delayed([dask.delayed(p) for p in parts], meta=parts[0][:0], verify_meta=False)


def blocks_of(parts):
    """An array of dask of these blocks, of lengths that are not known."""
    blocks = [
        da.from_delayed(dask.delayed(part), (np.nan,), dtype=parts[0].dtype) for part in parts
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def cut(values, ends):
    return [values[a:b] for a, b in itertools.pairwise([0, *sorted(ends), len(values)])]


def lengths_of(n, ends):
    return [len(part) for part in cut(range(n), ends)]


KINDS = {
    "text": lambda v: pd.Series([f"class {k}" for k in v], dtype=object),
    "str": lambda v: pd.Series([f"class {k}" for k in v], dtype="str"),
    "numbers": lambda v: pd.Series(np.array(v, dtype=np.int64) - 1),
    "whole": lambda v: pd.Series(np.array(v, dtype=np.float64)),
    "bools": lambda v: pd.Series(np.array(v) > 1),
    "categories": lambda v: pd.Series(pd.Categorical([f"c{k}" for k in v])),
    "dates": lambda v: pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.array(v), "D")),
    "array": lambda v: np.array(v, dtype=np.int16),
    "letters": lambda v: np.array(list("abcdef"))[np.array(v, dtype=np.intp)],
}


@settings(max_examples=30)
@given(st.data())
def test_as_in_memory(data):
    """Classes are read as in memory from any partitions: empty, without a class, or unlike others.

    Categories are those of each partition; every third example has a y in memory.
    """
    values = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30))
    n, kind = len(values), data.draw(st.sampled_from(sorted(KINDS)))
    ends = st.lists(st.integers(0, n), max_size=5)
    y = KINDS[kind](values)
    lengths = lengths_of(n, data.draw(ends))
    parts = cut(y, data.draw(st.sampled_from([np.cumsum(lengths)[:-1].tolist(), data.draw(ends)])))
    if kind == "categories":
        parts = [part.cat.remove_unused_categories() for part in parts]
    where = data.draw(st.sampled_from(["dask", "dask", "here"]))
    given_y = y
    if where == "dask":
        given_y = (blocks_of if isinstance(y, np.ndarray) else series_of)(parts)
    labels = read_classes(y, n)
    classes, codes = np.unique(labels, return_inverse=True)
    names, places = read_codes(given_y, n)
    assert names.tolist() == classes.tolist()
    assert kind == "categories" or names.dtype == classes.dtype
    assert places.tolist() == codes.tolist()
    assert places.dtype == np.uint8
    weights = data.draw(st.none() | st.lists(st.sampled_from([0, 1, 2.5]), min_size=n, max_size=n))
    named = {name: k % 3 / 2 for k, name in enumerate(classes.tolist())}
    class_weight = data.draw(st.sampled_from([None, "balanced", named]))
    _check_weights(data, (table_of(lengths), given_y), labels, class_weight, weights)


def test_a_partition_without_rows_does_not_change_the_dtype():
    """pandas 2 warns if such a partition with other categories is joined."""
    y = pd.Series(pd.Categorical(["a", "b"]))
    parts = [part.cat.remove_unused_categories() for part in cut(y, [0])]
    classes, codes = read_codes(series_of(parts), 2)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [0, 1]


def _check_weights(data, rows, labels, class_weight, weights):
    own = weights
    if weights is not None and data.draw(st.booleans()):
        parts = cut(pd.Series(np.array(weights, dtype=np.float64)), data.draw(_ends(len(weights))))
        own = series_of(parts)
    try:
        whole = TrainingData.of(np.empty((len(labels), 0)), labels, class_weight, weights)
    except DataError as error:
        with pytest.raises(DataError) as found:
            TrainingData.of(*rows, class_weight, own)
        same = str(found.value).partition(", '")[0], str(error).partition(", '")[0]
        assert "of one class" in same[0] or same[0] == same[1]
        assert ("of one class" in same[0]) == ("of one class" in same[1])
        return
    weighted = TrainingData.of(*rows, class_weight, own)
    assert weighted.codes.dtype == np.uint8
    expected, names = whole.weights, dict(zip(whole.classes, whole.present, strict=True))
    assert dict(zip(weighted.classes, weighted.present, strict=True)) == names
    assert {*np.unique(labels[expected > 0])} == {name for name in names if names[name]}
    user = np.ones(len(labels)) if weights is None else np.array(weights, dtype=np.float64)
    for place, name in enumerate(weighted.classes.tolist()):
        of = (labels == weighted.classes[place]) & (expected > 0)
        assert weighted.sums[place] == user[of].sum(), name
        assert (user * weighted.factors[place])[of].tolist() == expected[of].tolist()
    assert (weighted.given is None) == (weights is None)


def _ends(n):
    return st.lists(st.integers(0, n), max_size=4)


HOSTILE = {
    "missing": pd.Series(["a", "b", "a", None, "b", "a"], dtype=object),
    "nan": pd.Series([0.0, 1.0, 0.0, 1.0, np.nan, 1.0]),
    "missing date": pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"] * 2 + [None] * 2)),
    "mixed": pd.Series(["a", "b", "a", "b", 1, "a"], dtype=object),
    "numbers": pd.Series([0.5, 1.0, 0.25, 1.5, 2.5, 3.5]),
    "dictionaries": pd.Series([{"a": 1}] * 6),
    "lists": pd.Series([["a"], ["b"]] * 3),
    "masked": np.ma.masked_array([0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 1, 0]),
    "not a number": np.array([0.0, 1.0, 0.0, 1.0, np.nan, 1.0]),
    "infinite": np.array([0.0, 1.0, 0.0, 1.0, np.inf, 1.0]),
    "short": pd.Series([0, 1, 0, 1, 0]),
    "long": pd.Series([0, 1] * 4),
    "two columns": pd.DataFrame({"a": [0, 1] * 3, "b": [1, 0] * 3}),
    "three axes": np.zeros((6, 1, 2)),
    "one number": np.array(1.0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_refused_in_memory_is_refused_with_the_same_sentence(name):
    y = HOSTILE[name]
    with pytest.raises(DataError) as expected:
        read_classes(y, 6)
    if isinstance(y, np.ndarray) and y.ndim != 1:
        lazy = da.from_array(y, chunks=(2, 1, 2)[: y.ndim])
    else:
        lazy = (blocks_of if isinstance(y, np.ndarray) else series_of)(cut(y, [1, 1, 3]))
    with pytest.raises(DataError) as found:
        TrainingData.of(table_of([2, 4]), lazy)
    assert str(found.value) == str(expected.value)


def test_numbers_are_told_of_as_in_memory():
    """The warning counts all rows, not the few distinct values that reach the local process."""
    y = np.arange(40)
    for rows, may_warn in ((y, True), (np.concatenate([y, y[:-2]]), True), (np.tile(y, 3), False)):
        warned = []
        for read in (
            lambda rows: read_classes(rows, len(rows)),
            lambda rows: read_codes(blocks_of(cut(rows, [30, 70])), len(rows)),
        ):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                read(rows)
            warned.append(any("greater than 50%" in str(one.message) for one in found))
        assert warned[0] == warned[1]  # scikit-learn 1.6.0 does not warn
        assert may_warn or not warned[0]


def test_a_table_of_one_column_is_a_column():
    frame = pd.DataFrame({"class": ["a", "b", "a", "a"]})
    for lazy in (dd.from_pandas(frame, npartitions=2), da.from_array(frame.to_numpy(), chunks=1)):
        with pytest.warns(Warning, match="column-vector"):
            _, codes = read_codes(lazy, 4)
        assert np.bincount(codes).tolist() == [3, 1]


@pytest.mark.parametrize("known", [True, False])
def test_the_order_of_categories(known):
    y = pd.Series(pd.Categorical(["mid", "low"] * 4, ["low", "mid", "high"], ordered=True))
    lazy = dd.from_pandas(y, npartitions=3)
    lazy = lazy if known else lazy.cat.as_unknown()
    data = TrainingData.of(table_of([8]), lazy, ordered=True)
    assert data.classes.tolist() == ["low", "mid"]
    assert data.labels.tolist() == y.tolist()
    assert class_order(lazy, np.asarray(y)).tolist() == ["low", "mid"]
    if not known:
        parts = [part.cat.remove_unused_categories() for part in cut(y, [1, 2])]
        with pytest.raises(DataError, match="differ between partitions"):
            TrainingData.of(table_of([8]), series_of(parts).cat.as_unknown(), ordered=True)


BAD_WEIGHTS = {
    "negative": [1, -1, 1, 1, 1, 1],
    "missing": [1, np.nan, 1, 1, 1, 1],
    "infinite": [1, 1, 1, np.inf, 1, 1],
    "zeros": [0] * 6,
    "short": [1] * 5,
    "spread": [1, 1e-30, 1, 1, 1, 1],
    "large": [1e60] * 6,
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_weights_that_are_refused(name):
    weights = pd.Series(np.array(BAD_WEIGHTS[name], dtype=np.float64))
    labels = np.array([0, 1] * 3)
    with pytest.raises(DataError) as expected:
        TrainingData.of(np.empty((6, 0)), labels, None, weights)
    with pytest.raises(DataError) as found:
        TrainingData.of(table_of([2, 4]), labels, None, series_of(cut(weights, [0, 3])))
    assert str(found.value) == str(expected.value)


def test_classes_are_read_once():
    calls = []

    def part(rows):
        calls.append(rows)
        return np.array(["a", "b"])

    lazy = da.from_delayed(dask.delayed(part, pure=False)(0), (2,), dtype="U1")
    assert len(TrainingData.of(table_of([2]), lazy, "balanced").sums) == 2
    assert calls == [0]


FRAME = pd.DataFrame({f"c{j}": (np.arange(60) * (j + 3)) % 7 < 3 for j in range(5)})
LABELS = pd.Series(np.where(FRAME.c0 & FRAME.c1, "x", np.where(FRAME.c3, "y", "z")))


@pytest.mark.parametrize(
    "model",
    [
        fk.PRLClassifier(C=1.0),
        fk.PRLClassifier(
            ordinal=True, encoder=fk.PropositionEncoder(strategy="mdlp"), class_weight="balanced"
        ),
        fk.HKLClassifier(tol=0.05),
        fk.HKLClassifier(tol=0.05, ordinal=True, class_weight={"y": 2.0, "z": 1.0, "x": 1.0}),
        fk.FormulaSVC("a & b", class_weight={"x": 0, "y": 1, "z": 2}),
    ],
    ids=["PRL", "PRL ordered", "HKL", "HKL ordered", "SVM"],
)
def test_fits_do_not_depend_on_where_classes_are(model):
    """Classes and weights in memory, in the table's partitions, or in others: equal to a bit."""
    weights = pd.Series(np.arange(60) % 3 + 0.0)
    table = dd.from_pandas(FRAME, npartitions=4)
    found = []
    for y, own in (
        (LABELS, weights),
        (series_of(cut(LABELS, [15, 30, 45])), series_of(cut(weights, [15, 30, 45]))),
        (series_of(cut(LABELS, [0, 7, 50])), series_of(cut(weights, [31]))),
        (blocks_of(cut(LABELS.to_numpy().astype("U1"), [20])), weights.to_numpy()),
    ):
        with fk.gather_limit(1 << 30 if isinstance(model, fk.FormulaSVC) else 0):
            model.fit(table, y, sample_weight=own)
        scores = model.decision_function(FRAME)
        found.append((scores.tolist(), model.gap_, model.classes_.tolist()))
    assert all(one == found[0] for one in found)
    assert model.classes_.tolist() == ["x", "y", "z"][-len(model.classes_) :]
