"""Rules from scikit-learn's trees: paths predict as the trees do, and pruning shortens the list."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import formulakern as fk
from formulakern import DataError, ParameterError

SINGLE = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_depth=2, random_state=0, class_weight="balanced"),
    ExtraTreeClassifier(random_state=0),
]
SEVERAL = [
    RandomForestClassifier(4, random_state=0),
    ExtraTreesClassifier(4, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2, early_stopping=False),
]
slow = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def tables(rng, missing):
    """Few rows of columns of all kinds: reals, close reals, whole, 0 and 1, huge."""
    n = int(rng.integers(2, 50))
    pools = [
        rng.normal(size=7),
        1 + np.arange(5) * 2e-8,  # equal as float32
        np.arange(-3, 4),
        np.arange(2),
        np.array([16777216, 16777217, 16777219, 2.0**60]),  # beyond float32's whole numbers
        np.array([-1e30, 0.1, 0.2, 1e-30]),
    ]
    X = np.column_stack([pool[rng.integers(0, len(pool), n)] for pool in pools])
    X[1:][rng.random(X[1:].shape) < missing] = np.nan  # boosting refuses columns without a value
    y = rng.integers(0, 3, n)
    y[: min(n, 2)] = range(min(n, 2))
    return X[:, rng.random(6) < 0.7] if rng.random() < 0.5 else X, np.array(list("cab"))[y]


def shuffled(rng, X):
    """Unseen rows of values that were seen."""
    return np.column_stack([rng.permutation(column) for column in X.T]) if X.shape[1] else X


@slow
@example(196865, 0.2, SINGLE[0])  # scikit-learn before 1.9 splits it at NaN
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]), st.sampled_from(SINGLE))
def test_the_paths_of_a_tree_predict_what_it_predicts(seed, missing, model):
    rng = np.random.default_rng(seed)
    X, y = tables(rng, missing)
    if not X.shape[1]:
        return
    model.fit(X, y)
    rules = fk.rules_from_tree(model, X, y, prune=False)
    assert len(rules) == model.get_n_leaves()
    assert rules.predict(X).tolist() == model.predict(X).tolist()
    if not missing:
        Z = shuffled(rng, X)
        assert rules.predict(Z).tolist() == model.predict(Z).tolist()
        assert (rules.covers(Z).sum(axis=1) == 1).all()
    assert sum(map(np.array, [item.counts for item in rules])).sum() == len(y)


@slow
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]), st.sampled_from(SEVERAL))
def test_every_tree_of_a_model_covers_every_row_once(seed, missing, model):
    rng = np.random.default_rng(seed)
    X, y = tables(rng, missing)
    if not X.shape[1]:
        return
    unread = (AdaBoostClassifier, GradientBoostingClassifier)  # these do not take missing values
    if missing and isinstance(model, unread):
        X = np.nan_to_num(X)
    model.fit(X, y)
    rules = fk.rules_from_tree(model, X, y, prune=False)
    covers = rules.covers(X)
    parts = getattr(model, "estimators_", None)
    if parts is None:
        trees = [p for stage in model._predictors for p in stage]
        values = [
            p.predict(X.astype(float), *model._bin_mapper.make_known_categories_bitsets(), 1)
            for p in trees
        ]
        sizes = [p.get_n_leaf_nodes() for p in trees]
    else:
        trees = np.ravel(parts)
        values = [tree.apply(X) for tree in trees]
        sizes = [tree.get_n_leaves() for tree in trees]
    assert len(rules) == sum(sizes)
    start = 0
    for size, leaf in zip(sizes, values, strict=True):
        own = covers[:, start : start + size]
        assert (own.sum(axis=1) == 1).all()
        for rule in own.T:  # the rows of one leaf have one value
            assert len(np.unique(np.asarray(leaf)[rule])) <= 1
        start += size


@slow
@given(st.integers(0, 10**6), st.sampled_from(SINGLE + SEVERAL))
def test_pruned_lists(seed, model):
    rng = np.random.default_rng(seed)
    X, y = tables(rng, 0.0)
    if not X.shape[1]:
        return
    model.fit(X, y)
    weights = rng.integers(0, 3, len(y)) * 1.0
    weights[0] = 2.0
    rules = fk.rules_from_tree(model, X, y, weights)
    assert len(set(map(str, rules))) == len(rules)
    # the counts are those of the rows that each rule decides
    first = rules.first_match(X)
    for place, item in enumerate([*rules, None]):
        own = (first == place)[:, None] & (y[:, None] == np.array(rules.classes))
        counts = rules.default_counts if item is None else item.counts
        assert counts == pytest.approx(weights @ own)
    # weights are repetitions
    again = np.repeat(np.arange(len(y)), weights.astype(int))
    assert fk.rules_from_tree(model, X, y, weights).rules == rules.rules
    kept = np.unique(again)
    if len(kept) == len(y):
        repeated = fk.rules_from_tree(model, X[again], y[again])
        assert [str(r) for r in repeated] == [str(r) for r in rules]


def test_histogram_boosting_with_categories():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "odor": pd.Categorical(rng.choice(["foul", "none", "musty", "a b"], n)),
            "ring": pd.Categorical(rng.integers(0, 5, n)),
            "bruised": rng.random(n) < 0.5,
        }
    )
    frame.loc[rng.random(n) < 0.2, "odor"] = None
    y = np.where(frame["odor"].isin(["foul", "musty"]) ^ (frame["ring"].astype(int) > 2), "p", "e")
    model = HistGradientBoostingClassifier(
        max_iter=4, min_samples_leaf=3, categorical_features="from_dtype", early_stopping=False
    ).fit(frame, y)
    rules = fk.rules_from_tree(model, frame, y, prune=False)
    covers, encoded, start = rules.covers(frame), model._preprocessor.transform(frame), 0
    bitsets = model._bin_mapper.make_known_categories_bitsets()
    for (tree,) in model._predictors:
        own = covers[:, start : start + tree.get_n_leaf_nodes()]
        assert (own.sum(axis=1) == 1).all()
        values = tree.predict(encoded, *bitsets, 1)
        assert all(len(np.unique(values[rule])) <= 1 for rule in own.T)
        start += own.shape[1]
    short = fk.rules_from_tree(model, frame, y)
    assert (short.predict(frame) == y).mean() > 0.99
    assert {"odor", "ring"} <= {name for item in short for name in item.rule.columns}
    assert len(short) < 12


@pytest.mark.parametrize("negations", [False, True])
def test_a_pipeline_speaks_of_the_table_before_the_encoder(negations):
    rng = np.random.default_rng(1)
    n = 300
    frame = pd.DataFrame(
        {
            "odor": rng.choice(["foul", "none", None], n),
            "size": rng.normal(size=n).round(1),
            "ring": rng.choice([0, 1, None], n).astype(float),
        }
    )
    y = (frame["odor"] == "foul") & (frame["size"] < 0.3) | (frame["ring"] == 1)
    encoder = fk.PropositionEncoder(negations=negations)
    model = make_pipeline(encoder, "passthrough", DecisionTreeClassifier(random_state=0)).fit(
        frame, y
    )
    rules = fk.rules_from_tree(model, frame, y, prune=False)
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()
    short = fk.rules_from_tree(model, frame, y)
    assert (short.predict(frame) == y).mean() > 0.9
    assert {name for item in short for name in item.rule.columns} <= {*frame.columns}
    # on an array, columns are x0, x1, …, as in training
    plain = make_pipeline(fk.PropositionEncoder(), DecisionTreeClassifier()).fit(
        frame.to_numpy(), y
    )
    short = fk.rules_from_tree(plain, frame, y)
    assert {name for item in short for name in item.rule.columns} <= {"x0", "x1", "x2"}


def test_names_and_numbers_are_those_of_the_table():
    frame = pd.DataFrame({"gill size": [1.0, 2.0, 10.0, 30.0], "b": [0, 1, 0, 1]})
    model = DecisionTreeClassifier(random_state=0).fit(frame[["gill size"]], [0, 0, 1, 1])
    for X in (frame, frame[["gill size"]], frame[["gill size"]].to_numpy()):
        rules = fk.rules_from_tree(model, X, [0, 0, 1, 1], prune=False)
        assert [str(item.rule) for item in rules] == ["`gill size` <= 5", "`gill size` > 5"]
    anonymous = DecisionTreeClassifier().fit(frame.to_numpy(), [0, 1, 0, 1])
    assert [
        str(r) for r in fk.rules_from_tree(anonymous, frame.to_numpy(), [0, 1, 0, 1], prune=False)
    ] == [
        "if x1 = 0 then 0",
        "if x1 then 1",
    ]


def test_only_the_tightest_bounds_stay():
    X = np.arange(64.0)[:, None]
    y = np.arange(64) // 2 % 2
    rules = fk.rules_from_tree(DecisionTreeClassifier().fit(X, y), X, y, prune=False)
    assert max(len(item.rule.formula.leaves) for item in rules) == 2


def test_contradictory_rows_one_class_and_one_row():
    X, y = np.zeros((5, 2)), ["a", "b", "b", "a", "b"]
    contradiction = fk.rules_from_tree(DecisionTreeClassifier().fit(X, y), X, y)
    assert (len(contradiction), contradiction.default, contradiction.default_counts) == (
        0,
        "b",
        (2, 3),
    )
    X = np.arange(4.0)[:, None]
    one = DecisionTreeClassifier().fit(X, [7] * 4)
    assert fk.rules_from_tree(one, X, [7] * 4).predict(X).tolist() == [7] * 4
    whole = fk.rules_from_tree(one, X, [7] * 4, prune=False)
    assert [str(item) for item in whole] == ["if true then 7"]
    assert fk.rules_from_tree(one, X[:1], [7]).default == 7


def test_so_many_leaves_are_looked_at():
    X, y = fk.datasets.balance_scale()
    table = np.array(X)
    model = RandomForestClassifier(20, random_state=0).fit(table, y)
    assert len(fk.rules_from_tree(model, table, y, prune=False, max_rules=50)) == 50
    few = fk.rules_from_tree(model, table, y, max_rules=50)
    many = fk.rules_from_tree(model, table, y)
    assert (few.predict(table) == y).mean() < (many.predict(table) == y).mean()


def test_a_smaller_confidence_generalises_more():
    X, y = fk.datasets.balance_scale()
    model = DecisionTreeClassifier(random_state=0).fit(np.array(X), y)
    found = [
        sum(
            len(item.rule.formula.leaves)
            for item in fk.rules_from_tree(model, np.array(X), y, confidence=c)
        )
        for c in (0.001, 0.9)
    ]
    assert found[0] < found[1]


def test_what_is_refused():
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    tree = DecisionTreeClassifier().fit(X, y)
    named = DecisionTreeClassifier().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, y)
    boosted = AdaBoostClassifier(GaussianNB()).fit(X, [0, 0, 1, 1])
    for model, message in (
        (LogisticRegression(), "got LogisticRegression. Expected a DecisionTreeClassifier"),
        (scaled, "step 'standardscaler' of the pipeline, StandardScaler, changes the columns"),
        (
            boosted,
            "AdaBoostClassifier of GaussianNB; expected estimators of type DecisionTreeClassifier",
        ),
        (DecisionTreeClassifier().fit(X, np.c_[y, y]), "predicts 2 outputs at once"),
    ):
        with pytest.raises(ParameterError, match=message):
            fk.rules_from_tree(model, X, y)
    for given_, labels, message in (
        (X[:, :1], y, "the table has 1 columns, but the model was trained on 2"),
        (X[:0], [], "the table has no rows"),
        (X, [0, 1, 2, 0], r"y holds 2 \(row 2\); the classes are \[0, 1\]"),
        (X, [0, 1], "inconsistent numbers of samples"),
        (X, None, "requires y to be passed"),
        (np.array([["u", 1]] * 4, dtype=object), y, 'column "x0" holds text'),
    ):
        with pytest.raises(DataError, match=message):
            fk.rules_from_tree(tree, given_, labels)
    with pytest.raises(
        DataError, match='a column "b", which is not in the table; there are "a", "c"'
    ):
        fk.rules_from_tree(named, pd.DataFrame(X, columns=["a", "c"]), y)
    with pytest.raises(DataError, match=r"all rows have weight 0|non-zero number"):
        fk.rules_from_tree(tree, X, y, [0, 0, 0, 0])
    with pytest.raises(NotFittedError):
        fk.rules_from_tree(DecisionTreeClassifier(), X, y)
    for options in ({"confidence": 0}, {"confidence": 1.0}, {"max_rules": 0}, {"prune": "no"}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            fk.rules_from_tree(tree, X, y, **options)
