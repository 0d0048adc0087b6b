"""The proposition encoder: its columns are propositions that rules read back and tables confirm."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from formulakern import DataError, ParameterError, PropositionEncoder, Table, Variable
from formulakern.datasets import monks, tic_tac_toe
from formulakern.encoding.propositions import evaluate_proposition
from formulakern.syntax.leaves import Comparison
from formulakern.syntax.parser import parse_rule

TABLE = Table(
    {
        "stalk root": ["?", "b", None, "b"],
        "size": [1.5, 2.25, 2.25, None],
        "ring": [0, 1, 1, 0],
        "legs": [2, 4, 2, 4],
        "count": [1, 3, 9, 20],
        "flag": [True, False, True, True],
    }
)


def names(table=TABLE, **parameters):
    return PropositionEncoder(**parameters).fit(table).get_feature_names_out().tolist()


@parametrize_with_checks(
    [
        PropositionEncoder(),
        PropositionEncoder(negations=True, nominal="all", sparse_output=True),
        PropositionEncoder(graded=True),
        PropositionEncoder(graded="rank", sparse_output=True),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_names_are_propositions():
    assert names() == [
        '`stalk root` = "?"', "`stalk root` = b", "`stalk root` is missing",
        "size <= 2", "size >= 2", "size is missing", "ring", "legs = 2", "legs = 4",
        "count <= 2", "count >= 3", "count <= 5", "count >= 6", "count <= 10", "count >= 11",
        "flag",
    ]  # fmt: skip


def test_parameters_choose_propositions():
    stalk = TABLE.select(["stalk root"])
    assert names(stalk, negations=True, missing="false") == [
        '`stalk root` = "?"', "`stalk root` = b", '`stalk root` != "?"', "`stalk root` != b",
    ]  # fmt: skip
    assert names(stalk, negations=True)[4:] == [
        "`stalk root` is missing", "`stalk root` is not missing",
    ]  # fmt: skip
    count = TABLE.select(["count"])
    assert names(count, numeric="<=", cut_points=1) == ["count <= 5"]
    assert names(count, numeric=">=", strategy="uniform", cut_points=2) == [
        "count >= 6", "count >= 11",
    ]  # fmt: skip
    assert names(count, nominal=["count"]) == [f"count = {v}" for v in (1, 3, 9, 20)]
    assert names(count, max_nominal=4) == [f"count = {v}" for v in (1, 3, 9, 20)]
    ring = TABLE.select(["ring"])
    assert names(ring, negations=True) == ["ring", "ring = 0"]
    assert names(ring, nominal=[0]) == ["ring = 0", "ring = 1"]
    assert names(ring, nominal="all") == ["ring"]
    assert names(TABLE.select(["legs"]), max_nominal=0) == [
        "legs <= 3", "legs >= 4",
    ]  # fmt: skip


cell = st.sampled_from(
    [None, 0, 1, 2, 3, 2.5, -1e-7, 1e20, "a", "b c", "3", "true", "not", '"', ""]
)
column = st.lists(cell, min_size=6, max_size=6)


@settings(deadline=None)
@given(
    st.lists(column, min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(["auto", "all"]),
    st.sampled_from(["value", "false"]),
    st.sampled_from(["quantile", "uniform"]),
)
def test_output_agrees_with_the_propositions_it_names(columns, negations, nominal, missing, way):
    table = Table({f"c {j}": values for j, values in enumerate(columns)})
    encoder = PropositionEncoder(
        negations=negations, nominal=nominal, missing=missing, strategy=way, max_nominal=3
    )
    try:
        encoder.fit(table[:4])
    except DataError as error:
        if "no proposition" not in str(error):
            raise
        return
    texts = encoder.get_feature_names_out().tolist()
    assert len(set(texts)) == len(texts)
    assert tuple(map(parse_rule, texts)) == encoder.propositions_
    for part in (table[:4], table):
        try:
            encoded = encoder.transform(part)
        except DataError as error:
            if "no order" not in str(error) and "without a comparison" not in str(error):
                raise
            continue
        for place, leaf in enumerate(encoder.propositions_):
            if isinstance(leaf, Variable):
                leaf = Comparison(leaf.name, "=", 1)
                if not part.is_numeric(leaf.column):
                    continue
            np.testing.assert_array_equal(encoded[:, place], evaluate_proposition(leaf, part))
        sparse = clone(encoder).set_params(sparse_output=True).fit(table[:4]).transform(part)
        np.testing.assert_array_equal(sparse.toarray(), encoded)


def test_binary_tables_go_through_unchanged():
    X = (np.random.default_rng(0).random((30, 70)) < 0.3).astype(float)
    X[:, 3] = 0
    X[:, 4] = 1
    for table in (X, X.astype(bool), pd.DataFrame(X).astype("Int64"), sp.csr_array(X)):
        encoder = PropositionEncoder().fit(table)
        np.testing.assert_array_equal(encoder.transform(table), X)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(70)])
    assert names(frame)[:2] == ["`gene 0`", "`gene 1`"]


def test_numeric_cuts_are_never_constant():
    X = np.random.default_rng(0).normal(size=(50, 3)).round(1)
    for strategy in ("quantile", "uniform"):
        encoded = PropositionEncoder(strategy=strategy, cut_points=7).fit_transform(X)
        assert set(encoded.mean(axis=0)).isdisjoint({0, 1})
        assert len(np.unique(encoded, axis=1).T) == encoded.shape[1]


def test_one_hot_rows_have_constant_sums():
    X, _ = tic_tac_toe()
    encoded = PropositionEncoder().fit_transform(X)
    assert encoded.shape == (958, 27)
    assert (encoded.sum(axis=1) == 9).all()
    X, _ = monks(1)
    assert PropositionEncoder(nominal="all").fit_transform(X).shape == (432, 17)


def test_missing_values():
    with pytest.raises(DataError, match=r'column "stalk root" has a missing value \(row 2\)'):
        PropositionEncoder(missing="error").fit(TABLE)
    encoder = PropositionEncoder(missing="error").fit(TABLE[:2])
    with pytest.raises(DataError, match="missing value"):
        encoder.transform(TABLE)
    encoder = PropositionEncoder(missing="false").fit(TABLE)
    assert not encoder.transform(TABLE)[2, :2].any()


def test_unknown_values():
    train = Table({"cap": ["red", "blue"], "ring": [0, 1]})
    later = Table({"cap": ["green", "red"], "ring": [1, 2]})
    encoder = PropositionEncoder(negations=True).fit(train)
    assert names(train, negations=True) == [
        "cap = blue", "cap = red", "cap != blue", "cap != red", "ring", "ring = 0",
    ]  # fmt: skip
    assert encoder.transform(later).tolist() == [[0, 0, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0]]
    strict = PropositionEncoder(unknown="error").fit(train)
    strict.transform(train)
    with pytest.raises(DataError, match=r"column \"cap\" holds 'green' \(row 0\).*'blue', 'red'"):
        strict.transform(later)
    with pytest.raises(DataError, match=r'column "ring" holds 2 \(row 0\)'):
        strict.transform(later[[1]])


def test_columns_must_be_those_of_training():
    encoder = PropositionEncoder().fit(TABLE)
    assert encoder.feature_names_in_.tolist() == list(TABLE.names)
    assert encoder.n_features_in_ == 6
    with pytest.raises(DataError, match="X has 2 features, but PropositionEncoder is expecting 6"):
        encoder.transform(TABLE.select(["size", "ring"]))
    with pytest.raises(DataError, match='column 0 is "flag" but was "stalk root" in training'):
        encoder.transform(TABLE.select(TABLE.names[::-1]))
    frame = TABLE.to_pandas()
    np.testing.assert_array_equal(encoder.transform(frame), encoder.transform(TABLE))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        encoder.transform(np.asarray(TABLE))


def test_frames_in_and_out():
    frame = TABLE.to_pandas()
    expected = PropositionEncoder().fit_transform(frame)
    for output in ("pandas", "polars"):
        encoder = PropositionEncoder().set_output(transform=output)
        result = encoder.fit_transform(frame)
        assert list(result.columns) == names()
        np.testing.assert_array_equal(result.to_numpy(), expected)
    data = {name: c.tolist() for name, c in TABLE.columns.items()}
    np.testing.assert_array_equal(
        PropositionEncoder().fit_transform(pl.DataFrame(data).fill_nan(None)), expected
    )


def test_categories_are_nominal():
    frame = pd.DataFrame({"grade": pd.Categorical([3, 1, 2, 3])})
    assert names(frame) == ['grade = "1"', 'grade = "2"', 'grade = "3"']


def test_names_for_nameless_training():
    encoder = PropositionEncoder().fit([["a", 1.5], ["b", 2.5]])
    assert encoder.get_feature_names_out().tolist() == [
        "x0 = a", "x0 = b", "x1 <= 2", "x1 >= 2",
    ]  # fmt: skip
    assert encoder.get_feature_names_out(["p", "q"])[[0, 2]].tolist() == ["p = a", "q <= 2"]
    with pytest.raises(DataError, match="should have length equal"):
        encoder.get_feature_names_out(["p"])
    with pytest.raises(DataError, match="not equal to feature_names_in_"):
        PropositionEncoder().fit(TABLE).get_feature_names_out(["p"] * 6)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"numeric": "<"}, "'both', '<=', '>='"),
        ({"strategy": "kmeans"}, "'quantile', 'uniform'"),
        ({"missing": "drop"}, "'value', 'false', 'error'"),
        ({"unknown": "ignore"}, "'false', 'error'"),
        ({"nominal": "size"}, r"nominal=\['size'\]"),
        ({"cut_points": 0}, "at least 1"),
        ({"cut_points": 2.5}, "expected an integer"),
        ({"max_nominal": -1}, "at least 0"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, sentence):
    with pytest.raises(ParameterError, match=sentence):
        PropositionEncoder(**parameters).fit(TABLE)


def test_refusals():
    with pytest.raises(NotFittedError):
        PropositionEncoder().transform(TABLE)
    with pytest.raises(DataError, match="no proposition in 3 rows"):
        PropositionEncoder().fit([[5.5], [5.5], [5.5]])
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        PropositionEncoder().fit(TABLE[:0])
    with pytest.raises(DataError, match=r"0 feature\(s\)"):
        PropositionEncoder().fit(np.zeros((3, 0)))
    with pytest.raises(DataError, match='no column "sizes" in the table; did you mean "size"'):
        PropositionEncoder(nominal=["sizes"]).fit(TABLE)
    assert PropositionEncoder().fit(TABLE).transform(TABLE[:0]).shape == (0, 16)


def test_a_value_like_others():
    encoder = PropositionEncoder(negations=True, dtype=bool).fit(TABLE)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(TABLE), encoder.transform(TABLE))
    assert again.propositions_ == encoder.propositions_
    assert encoder.transform(TABLE).dtype == np.bool_
    assert clone(encoder).get_params() == encoder.get_params()


def test_inside_scikit_learn():
    X, y = tic_tac_toe()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)  # the rows are sorted by squares
    scores = cross_val_score(make_pipeline(PropositionEncoder(), BernoulliNB()), X, y, cv=folds)
    assert scores.mean() > 0.6
    frame = X.to_pandas()
    columns = list(frame.columns[:2])
    mixed = make_column_transformer((PropositionEncoder(), columns)).fit(frame)
    first = mixed.get_feature_names_out()[0]
    assert first == "propositionencoder__`top-left-square` = b"


# -- degrees ---------------------------------------------------------------------------------------


def test_degrees_of_numeric_columns():
    """Linear from the smallest to the largest training value; all other columns as ever."""
    encoder = PropositionEncoder(graded=True).fit(TABLE)
    assert names(graded=True) == [
        '`stalk root` = "?"', "`stalk root` = b", "`stalk root` is missing",
        "~size", "size", "size is missing", "ring", "legs = 2", "legs = 4", "~count", "count",
        "flag",
    ]  # fmt: skip
    found = encoder.transform(TABLE)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[:, 3:5].T, [[1, 0, 0, 0], [0, 1, 1, 0]])
    assert found[:, 5].tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(found[:, 9:11].T, [[1, 17 / 19, 11 / 19, 0], [0, 2 / 19, 8 / 19, 1]])
    plain = PropositionEncoder().fit(TABLE)
    same = [list(plain.get_feature_names_out()).index(name) for name in names(graded=True)[:3]]
    assert (found[:, :3] == plain.transform(TABLE)[:, same]).all()
    later = TABLE.select(TABLE.names)
    later = Table({name: later.column(name) for name in later.names} | {"count": [-5, 2, 99, None]})
    np.testing.assert_allclose(encoder.transform(later)[:, 10], [0, 1 / 19, 1, 0])


def test_degrees_by_rank_and_by_column():
    table = Table({"a": [5.0, 1.0, 5.0, 9.0], "b": [1.0, 2.0, 3.0, 4.5], "c": [7.5, 7.5, 7.5, 7.5]})
    ranks = PropositionEncoder(graded="rank", numeric=">=").fit(table)
    assert ranks.get_feature_names_out().tolist() == ["a", "b"]
    expected = [[0.5, 0.125], [0.125, 0.375], [0.5, 0.625], [0.875, 0.875]]
    np.testing.assert_allclose(ranks.transform(table), expected)
    between = Table({"a": [0.0, 6.0, 99.0], "b": [1.0, 1.0, 1.0], "c": [0.0, 0.0, 0.0]})
    np.testing.assert_allclose(ranks.transform(between)[:, 0], [0, 0.75, 1])
    mixed = PropositionEncoder(graded={"a": "rank"}, cut_points=1).fit(table)
    assert mixed.get_feature_names_out().tolist() == ["~a", "a", "b <= 2.5", "b >= 2.5"]
    sparse = PropositionEncoder(graded={"a": "rank"}, cut_points=1, sparse_output=True)
    assert (sparse.fit_transform(table).toarray() == mixed.transform(table)).all()


def test_degrees_of_numbers_at_the_ends_of_float64():
    table = Table({"a": [-1e308, 1e308, np.inf, -np.inf, 0.0]})
    for scale, expected in (("linear", [0, 1, 1, 0, 0.5]), ("rank", [0.3, 0.7, 0.9, 0.1, 0.5])):
        found = PropositionEncoder(graded=scale).fit_transform(table)[:, 1]
        np.testing.assert_allclose(found, expected)


def test_degrees_of_an_array_are_named_after_it():
    X = np.random.default_rng(0).random((5, 2))
    encoder = PropositionEncoder(graded=True).fit(X)
    assert encoder.get_feature_names_out(["p", "q"]).tolist() == ["~p", "p", "~q", "q"]
    read = [str(parse_rule(name)) for name in encoder.get_feature_names_out()]
    assert read == ["~x0", "x0", "~x1", "x1"]


def test_degrees_that_are_refused():
    for wrong in ("quantile", {"count": "cubic"}, 2, None):
        with pytest.raises(ParameterError, match="graded="):
            PropositionEncoder(graded=wrong).fit(TABLE)
    with pytest.raises(DataError, match="nothing"):
        PropositionEncoder(graded={"nothing": "rank"}).fit(TABLE)
    with pytest.raises(ParameterError, match="gives degrees of truth; expected 0 and 1"):
        PropositionEncoder(graded=True).fit(TABLE).transform_packed(TABLE)
