"""PRLClassifier: its value is that of the whole game; scikit-learn's interface; refusals."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import PRLClassifier, datasets
from formulakern.encoding.strict import read_packed
from formulakern.estimators.prl import classifier
from formulakern.learning.prl import column_generation as prl_play
from formulakern.learning.prl import published, restricted_game
from formulakern.learning.prl.features import TemplateFeatures
from formulakern.learning.prl.preferences import Preferences
from formulakern.solvers.capped_lp import solve_capped_lp

TIGHT = {"tol": 1e-4, "epochs": 400, "depth_penalty": 1.0}
WEIGHTS = "cut points are quantiles of the unweighted rows"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@parametrize_with_checks(
    [
        PRLClassifier(),
        PRLClassifier("polynomial", degree=1, tol=1e-6),
    ],
    expected_failed_checks=lambda estimator: (
        {} if estimator.features == "polynomial" else EXPECTED_FAILURES
    ),
)
def test_scikit_learn_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(1, 3))
def test_numbers_are_cut_at_every_gap(seed, n_classes, degree):
    """The game has all propositions as columns; with ties, missing entries, and words."""
    generator = np.random.default_rng(seed)
    X = pd.DataFrame({"u": generator.integers(0, 9, 40) / 2, "v": generator.normal(size=40)})
    X["word"] = generator.choice(["red", "blue", "green"], 40)
    X = X.mask(generator.random((40, 3)) < 0.1)
    y = np.append(np.arange(n_classes), generator.integers(0, n_classes, 40 - n_classes))
    encoder = fk.PropositionEncoder(strategy="all").fit(X)
    options = {"degree": degree, "C": 0.5, "tol": 1e-3, "max_rules": None}
    listed = PRLClassifier(encoder=None, **options).fit(encoder.transform(X), y)
    model = PRLClassifier(**options).fit(X, y)
    assert model.stopped_ == listed.stopped_ == "optimal"
    assert model.gap_ <= 1e-3 * model.bound_ + 1e-6
    assert max(model.value_, listed.value_) <= min(model.bound_, listed.bound_) + 1e-9
    assert "every gap between two values" in model.certificate_
    few = encoder.set_params(strategy="quantile", cut_points=2)
    some = PRLClassifier(encoder=few, **options).fit(X, y)
    assert some.value_ <= model.bound_ + 1e-9
    assert "cut points of the encoder" in some.certificate_


def test_a_bound_is_there_when_epochs_run_out():
    X, y = make_moons(400, noise=0.3, random_state=0)
    whole = PRLClassifier().fit(X, y)
    for epochs in (2, 3):
        with pytest.warns(ConvergenceWarning):
            model = PRLClassifier(epochs=epochs).fit(X, y)
        assert model.value_ <= whole.bound_ + 1e-9
        assert whole.value_ - 1e-9 <= model.bound_ < 2


def test_many_preferences(monkeypatch):
    """Rows far from the margin are left out of the linear program, and change no value."""
    X, y = load_iris(return_X_y=True)
    whole = PRLClassifier(tol=1e-3).fit(X, y)
    sizes = []

    def solve(A, *options):
        sizes.append(len(A))
        return solve_capped_lp(A, *options)

    monkeypatch.setattr(restricted_game, "MAX_FULL_ROWS", 10)
    monkeypatch.setattr(restricted_game, "solve_capped_lp", solve)
    some = PRLClassifier(tol=1e-3).fit(X, y)
    assert min(sizes) < max(sizes)
    assert some.stopped_ == whole.stopped_ == "optimal"
    assert max(some.value_, whole.value_) <= min(some.bound_, whole.bound_) + 1e-9


# -- the slow definition: the whole game, column by column -----------------------------------------


def preferences_of(y):
    """(row, winner, loser) for every row and every other class."""
    classes = sorted(set(y))
    return [(i, c, d) for i, c in enumerate(y) for d in classes if d != c]


def whole_game(features, preferences):
    """M, a row per preference i and a column per (preference j, feature f): z_i[f]·z_j[f].

    features : (f, m) values; preferences : (row, winner, loser)
    """
    labels = sorted({label for _, a, b in preferences for label in (a, b)})
    unit = {label: np.eye(len(labels))[n] for n, label in enumerate(labels)}
    direction = np.array([unit[a] - unit[b] for _, a, b in preferences])
    rows = [row for row, _, _ in preferences]
    columns = [
        values[rows] * (direction @ direction[j]) * values[rows[j]]
        for values in features
        for j in range(len(rows))
    ]
    return np.array(columns).T


def value_of(M, C=None, weights=None):
    """max v with Mq + s/(C w) ≥ v, q and s on one simplex, by a linear program written out."""
    n = len(M)
    w = np.ones(n) if weights is None else weights
    slack = np.zeros((n, 0)) if C is None else np.diag(1 / (C * w))
    whole = np.hstack([M, slack])
    found = linprog(
        np.append(np.zeros(whole.shape[1]), -1.0),
        A_ub=np.hstack([-whole, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=np.append(np.ones(whole.shape[1]), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * whole.shape[1] + [(None, None)],
    )
    assert found.status == 0
    return -found.fun


def conjunctions(X, lengths, bias=True):
    features = [
        X[:, list(w)].prod(axis=1)
        for d in lengths
        for w in itertools.combinations(range(X.shape[1]), d)
    ]
    return np.array(features + [np.ones(len(X))] * bias, dtype=float)


binary_tables = st.integers(0, 10_000).map(np.random.default_rng)
PRICES = st.sampled_from([None, 0.07, 0.5, 5.0])


def fit(X, y, **parameters):
    price = parameters.pop("C")
    if price is None:
        parameters["margin"] = "hard"
    else:
        parameters["C"] = price
    model = PRLClassifier(**parameters, **TIGHT)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the hard margin's value is 0")
        warnings.filterwarnings("ignore", message="no rule has weight")
        return model.fit(X, y)


@settings(max_examples=25)
@given(binary_tables, PRICES, st.integers(2, 3), st.sampled_from(["rules", "conjunctions"]))
def test_the_value_is_that_of_the_whole_game(generator, C, n_classes, features):
    X = (generator.random((14, 5)) < 0.5).astype(int)
    y = np.concatenate([np.arange(n_classes), generator.integers(0, n_classes, 14 - n_classes)])
    model = fit(X, y, features=features, encoder=None, C=C)
    lengths = (1, 2) if features == "rules" else (2,)
    M = whole_game(conjunctions(X, lengths), preferences_of(y))
    value = value_of(M, C)
    assert model.value_ == pytest.approx(value, rel=2e-4, abs=1e-5)
    assert model.value_ - 1e-9 <= value <= model.bound_ + 1e-6
    values = [epoch.value for epoch in model.history_]
    bounds = [epoch.bound for epoch in model.history_]
    assert (np.diff(values) >= -1e-4 * abs(value) - 1e-9).all()
    assert (np.diff(bounds) <= 0).all()


@settings(max_examples=15)
@given(binary_tables, PRICES, st.integers(1, 3), st.integers(2, 3))
def test_the_value_over_polynomial_features(generator, C, degree, n_classes):
    X = generator.normal(size=(12, 3)).round(2)
    y = np.concatenate([np.arange(n_classes), generator.integers(0, n_classes, 12 - n_classes)])
    model = fit(X, y, features="polynomial", degree=degree, C=C)
    products = [
        X[:, list(w)].prod(axis=1)
        for w in itertools.combinations_with_replacement(range(3), degree)
    ]
    M = whole_game(np.array([*products, np.ones(12)]), preferences_of(y))
    value = value_of(M, C)
    unit = np.abs(M).max()
    assert model.value_ == pytest.approx(value, rel=2e-4, abs=1e-5 * unit)
    assert value <= model.bound_ + 1e-6 * unit


@settings(max_examples=15)
@given(binary_tables, PRICES)
def test_the_value_over_templates(generator, C):
    X = (generator.random((12, 4)) < 0.5).astype(int)
    y = np.append([0, 1], generator.integers(0, 2, 10))
    model = fit(X, y, features=["a & ~b", "a ^ b"], encoder=None, C=C, bias_rule=False)
    B = X.astype(bool)
    pairs = list(itertools.permutations(range(4), 2))
    features = [B[:, i] & ~B[:, j] for i, j in pairs] + [B[:, i] ^ B[:, j] for i, j in pairs]
    value = value_of(whole_game(np.array(features, dtype=float), preferences_of(y)), C)
    assert model.value_ == pytest.approx(value, rel=2e-4, abs=1e-5)


@settings(max_examples=15)
@given(binary_tables, PRICES, st.sampled_from(["rules", "conjunctions"]))
def test_the_bound_without_a_bias_rule(generator, C, features):
    """A proposition that is true on all rows is then a rule like any other."""
    X = (generator.random((8, 4)) < 0.8).astype(int)
    X[:, generator.integers(4)] = 1
    y = np.append([0, 1], generator.integers(0, 2, 6))
    model = fit(X, y, features=features, degree=1, encoder=None, C=C, bias_rule=False)
    value = value_of(whole_game(conjunctions(X, (1,), bias=False), preferences_of(y)), C)
    assert model.value_ == pytest.approx(value, rel=2e-4, abs=1e-5)
    assert value <= model.bound_ + 1e-6


@settings(max_examples=2)
@given(binary_tables)
def test_solvers_agree_within_their_gaps(generator):
    X = (generator.random((20, 5)) < 0.5).astype(int)
    y = np.append([0, 1], generator.integers(0, 2, 18))
    exact = fit(X, y, C=0.3, encoder=None)
    for solver, rounds in (("fictitious-play", 5_000), ("multiplicative-weights", 500)):
        options = {"solver": solver, "solver_iterations": rounds, "epochs": 4, "budget": 100}
        model = fk.PublishedPRL(C=0.3, depth_penalty=1, encoder=None, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        assert model.value_ <= exact.bound_ + 1e-9
        assert exact.value_ <= model.bound_ + 1e-9


def test_what_is_claimed_is_what_the_rules_do():
    """The value, from the printed rules alone; ν bounds the share of margin errors."""
    X, y = datasets.tic_tac_toe()
    hard = PRLClassifier("conjunctions", 3, margin="hard").fit(X, y)
    margins = np.where(y == "positive", 1, -1) * hard.decision_function(X)
    assert margins.min() == pytest.approx(hard.value_, rel=1e-6)
    generator = np.random.default_rng(0)
    noisy = np.where(generator.random(len(y)) < 0.1, "positive", y)
    soft = PRLClassifier("conjunctions", 3, C=0.05, tol=1e-4).fit(X, noisy)
    scores = soft.rules_.scores(X)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], soft.decision_function(X))
    assert 0 < soft.nu_ < 1
    margins = np.where(noisy == "positive", 1, -1) * soft.decision_function(X)
    # margins of λ below 1 are paid for; rounding decides on those that are 1
    by_weight = np.sort(margins)[int(soft.nu_ * len(y)) + 5]
    assert (margins < by_weight * (1 - 1e-6)).mean() <= soft.nu_ + 0.01


def test_the_eight_lines_of_tic_tac_toe():
    X, y = datasets.tic_tac_toe()
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=y)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    expected = {frozenset((X.names[i], "x") for i in line) for line in lines}
    for margin in ("hard", "soft"):
        model = PRLClassifier("conjunctions", 3, margin=margin).fit(X[train], y[train])
        found = {
            frozenset((leaf.column, leaf.value) for leaf in item.rule.formula.leaves)
            for item in model.rules_.head(8)
        }
        assert found == expected
        assert model.score(X[test], y[test]) >= 0.99
        assert model.stopped_ == "optimal"


def fictitious_play(M, rounds):
    """Let both players respond to the other's past choices; return the columns' mean strategy."""
    rows, columns = np.zeros(len(M)), np.zeros(M.shape[1])
    for _ in range(rounds):
        rows[np.argmin(M @ columns)] += 1
        columns[np.argmax(rows @ M)] += 1
    return columns / rounds


def published_algorithm(bits, y, draws, budget, epochs, rounds):
    """The steps of the paper, one after the other, on columns as they were drawn.

    Column (feature f, winner, loser), preference i (row x, its class, the other class):
    the payoff is φ_f(x)·⟨e_winner − e_loser, e_own − e_other⟩.  Returns the value of every epoch
    and the decisions of the best hypothesis.
    """
    columns, values, best = [], [], None
    for _ in range(epochs):
        while len(columns) < budget:  # 1. random columns, until the budget is reached
            columns += [column for column in next(draws) if column not in columns]
        features = np.array([bits[:, list(c.feature.propositions)].all(axis=1) for c in columns]).T
        votes = np.array([1 if c.winner == 1 else -1 for c in columns])
        M = 2 * features * votes * np.where(y == 1, 1, -1)[:, None]
        # 2. the game of these columns; preferences that are alike are one, in the order of bytes
        alike = np.unique(M.astype(np.int8).view(np.uint8), axis=0).view(np.int8).astype(float)
        q = fictitious_play(alike, rounds)
        values.append((M @ q).min())
        if best is None or values[-1] >= best[0]:  # 3. the best hypothesis until now is kept
            best = values[-1], 2 * (features * votes) @ q
        columns = [c for c, weight in zip(columns, q, strict=True) if weight > 0]  # 4. others go
    return np.maximum.accumulate(values), best[1]


def test_the_published_algorithm_step_by_step(monkeypatch):
    X, y = datasets.tic_tac_toe()
    budget, epochs, rounds = 150, 8, 1500
    options = {
        "margin": "hard", "solver_iterations": rounds, "budget": budget, "epochs": epochs,
    }  # fmt: skip
    draws = []
    draw = published.random_columns

    def recorded(family, preferences, count, generator):
        draws.append(draw(family, preferences, count, generator))
        assert len(draws[-1]) == count
        return draws[-1]

    monkeypatch.setattr(published, "random_columns", recorded)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the hard margin's value is 0")
        model = fk.PublishedPRL("conjunctions", 3, random_state=1, **options).fit(X, y)
    monkeypatch.undo()
    bits = fk.PropositionEncoder().fit_transform(X).astype(bool)
    for column in itertools.chain(*draws):  # true on a row of the class that it votes for
        chosen = column.feature.propositions
        assert len(set(chosen)) in (3, 0)
        covered = bits[:, list(chosen)].all(axis=1)
        assert (y[covered] == ["negative", "positive"][column.winner]).any()
    left = iter(draws)
    code = (y == "positive").astype(int)
    values, decisions = published_algorithm(bits, code, left, budget, epochs, rounds)
    assert next(left, None) is None
    assert len(set(values.round(9))) == epochs  # every epoch is an improvement here
    assert [epoch.value for epoch in model.history_] == pytest.approx(values, abs=1e-12)
    np.testing.assert_allclose(model.decision_function(X), decisions, atol=1e-12)
    assert [epoch.columns for epoch in model.history_] == [budget] * epochs
    assert model.bound_ >= 2 / 17 - 1e-6
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the hard margin's value is 0")
        again = fk.PublishedPRL("conjunctions", 3, random_state=1, **options).fit(X, y)
    assert str(again.rules_) == str(model.rules_)


# -- preferences, weights -----------------------------------------------------------------------


def test_preferences_of_classes_by_hand():
    preferences = Preferences.of_classes(np.array([2, 0]), 3, np.array([1.0, 0.5]))
    listed = zip(
        preferences.rows, preferences.winners, preferences.losers, preferences.weights,
        strict=True,
    )  # fmt: skip
    assert list(listed) == [(0, 2, 0, 1), (0, 2, 1, 1), (1, 0, 1, 0.5), (1, 0, 2, 0.5)]
    assert preferences.signs(0, 2).tolist() == [-2, -1, 1, 2]


@pytest.mark.parametrize("C", [None, 0.2])
def test_a_weight_of_two_is_two_rows_and_zero_is_none(C):
    generator = np.random.default_rng(3)
    X = (generator.random((40, 5)) < 0.5).astype(int)
    y = X[:, 0] | (generator.random(40) < 0.2)
    weight = generator.integers(0, 3, 40)
    weighted = PRLClassifier(encoder=None, **TIGHT)
    weighted.set_params(**({"margin": "hard"} if C is None else {"C": C}))
    repeated = clone(weighted)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the hard margin's value is 0")
        weighted.fit(X, y, sample_weight=weight)
        repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.value_ == pytest.approx(repeated.value_, rel=2e-4, abs=1e-6)


def test_class_weights_move_the_balance():
    generator = np.random.default_rng(0)
    X = (generator.random((200, 6)) < 0.5).astype(int)
    y = (X[:, 0] & X[:, 1]) ^ (generator.random(200) < 0.25)
    counts = [
        PRLClassifier(encoder=None, C=0.05, depth_penalty=1, class_weight=w)
        .fit(X, y)
        .predict(X)
        .sum()
        for w in ({0: 5.0}, None, {1: 5.0})
    ]
    assert counts[0] < counts[1] < counts[2]
    balanced = PRLClassifier(encoder=None, C=0.05, class_weight="balanced", **TIGHT).fit(X, y)
    by_hand = {c: 200 / (2 * np.sum(y == c)) for c in (0, 1)}
    same = PRLClassifier(encoder=None, C=0.05, class_weight=by_hand, **TIGHT).fit(X, y)
    assert balanced.value_ == pytest.approx(same.value_)


def test_label_ranking():
    generator = np.random.default_rng(0)
    X = (generator.random((60, 4)) < 0.5).astype(int)
    labels = np.array(["a", "b", "c", "d"])
    utility = X @ generator.normal(size=(4, 4)) + generator.normal(size=4)
    order = np.argsort(-utility, axis=1)
    wishes = [
        (i, labels[order[i, s]], labels[order[i, s + 1]]) for i in range(60) for s in range(3)
    ]
    model = PRLClassifier(C=10.0, encoder=None, **TIGHT).fit_preferences(X, wishes)
    ranking = model.predict_ranking(X)
    np.testing.assert_array_equal(ranking[:, 0], model.predict(X))
    place = {(i, name): s for i in range(60) for s, name in enumerate(ranking[i])}
    right = np.mean([place[i, a] < place[i, b] for i, a, b in wishes])
    assert right > 0.95
    with pytest.raises(fk.DataError, match="row 60; rows are numbered 0 to 59"):
        PRLClassifier().fit_preferences(X, [(60, "a", "b")])
    for wrong, message in (
        ([], "no preferences"),
        ([(0, "a", "a")], "to itself"),
        ([(0, "a")], "expected .row, preferred"),
        (None, "type NoneType cannot be read"),
        ([1, 2, 3], "expected a sequence of .row"),
        ([(0, None, "a")], "about label None"),
        ([(0, np.nan, "a")], "about label nan"),
        ([(0, ("a", 1), "b")], "about label"),
        ([(0, 1, "b")], "some labels are text"),
    ):
        with pytest.raises(fk.DataError, match=message):
            PRLClassifier().fit_preferences(X, wrong)
    for wrong in ([1.0], ["a"] * len(wishes), [-1.0] * len(wishes)):
        with pytest.raises(fk.DataError, match="one per preference"):
            PRLClassifier().fit_preferences(X, wishes, sample_weight=wrong)
    frame = PRLClassifier(C=10.0, encoder=None, **TIGHT).fit_preferences(X, pd.DataFrame(wishes))
    np.testing.assert_array_equal(frame.predict_ranking(X), ranking)


# -- what is said -------------------------------------------------------------------------------


def test_contradictory_rows_have_no_hard_margin():
    X = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])
    y = [0, 1, 1, 0]
    with pytest.warns(UserWarning, match=r"value is 0: .*; 2 preferences contradict others.*soft"):
        model = PRLClassifier(margin="hard").fit(X, y)
    assert model.bound_ < 1e-5
    assert PRLClassifier(C=10).fit(X, y).score(X, y) == 0.75
    with pytest.warns(UserWarning, match="no rule has weight at C=1e-05"):
        PRLClassifier(C=1e-5).fit(X, y)


def test_what_the_corner_closes_is_optimal():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (60, 6))
    y = X[:, 0] & X[:, 1]
    for epochs in range(1, 5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = PRLClassifier(epochs=epochs).fit(X, y)
        closed = model.gap_ <= model.tol * model.bound_
        assert (model.stopped_ == "optimal") == closed
        assert (not caught) == closed


def test_random_templates_draw_every_instance():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (20, 4))
    packed = read_packed(X)
    family = TemplateFeatures(packed, True, (fk.parse("a & ~b"), fk.parse("c")))
    preferences = Preferences.of_classes(generator.integers(0, 2, 20), 2, np.ones(20))
    columns = published.random_columns(family, preferences, 10_000, generator)
    for column in columns:
        assert column.scale == 1
        voting = (preferences.winners == column.winner) & (preferences.losers == column.loser)
        assert family.values(column.feature)[preferences.rows[voting]].any()
    bits = X.astype(bool)
    true = [bits[:, i] & ~bits[:, j] for i, j in itertools.permutations(range(4), 2)]
    covers = {cover.tobytes() for cover in [*true, *bits.T, np.ones(20, bool)]}
    found = {np.asarray(family.values(c.feature), dtype=bool).tobytes() for c in columns}
    assert found == {cover for cover in covers if any(cover)}


def test_one_class_and_constant_columns():
    with pytest.raises(fk.DataError, match="of one class, 1"):
        PRLClassifier().fit([[0, 1], [1, 0]], [1, 1])
    with pytest.raises(fk.DataError, match="of one class"):
        PRLClassifier().fit([[0, 1], [1, 0]], [0, 1], sample_weight=[0.0, 1.0])
    X = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0]])
    model = PRLClassifier(encoder=None, C=10).fit(X, [0, 1, 0, 1])
    assert model.score(X, [0, 1, 0, 1]) == 1
    only = PRLClassifier(encoder=None, C=1).fit(X[:, [0, 2]], [0, 1, 1, 1])
    assert only.predict(X[:, [0, 2]]).tolist() == [1, 1, 1, 1]


def test_more_than_there_is():
    X, y = np.eye(3, dtype=int), [0, 1, 1]
    model = PRLClassifier(encoder=None, degree=50, C=10, budget=10**6).fit(X, y)
    assert model.score(X, y) == 1
    with pytest.raises(
        fk.ParameterError, match="degree=4 exceeds the number of propositions in the table, 3"
    ):
        PRLClassifier("conjunctions", 4, encoder=None).fit(X, y)
    with pytest.raises(fk.ParameterError, match="monomials of degree 9"):
        PRLClassifier("polynomial", 9).fit(np.zeros((4, 50)) + np.arange(4)[:, None], [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"features": 3}, "features=3"),
        ({"features": []}, "features="),
        ({"degree": 0}, "degree=0"),
        ({"degree": 1.5}, "degree=1.5"),
        ({"margin": "big"}, "margin='big'"),
        ({"C": 0}, "C=0"),
        ({"C": float("nan")}, "C=nan"),
        ({"budget": 0}, "budget=0"),
        ({"epochs": -1}, "epochs=-1"),
        ({"tol": -1}, "tol=-1"),
        ({"bias_rule": "no"}, "bias_rule='no'"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"encoder": "none"}, "encoder='none'"),
        ({"encoder": fk.PropositionEncoder}, "is not a transformer"),
        ({"encoder": object()}, "is not a transformer"),
        ({"C": np.array([1.0, 2.0])}, "C=array"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(fk.ParameterError, match=message):
        PRLClassifier(**parameters).fit([[0, 1], [1, 0]], [0, 1])
    for more, said in ({"solver": "magic"}, "solver='magic'"), ({"ordinal": True}, "ordinal=True"):
        with pytest.raises(fk.ParameterError, match=said):
            fk.PublishedPRL(**more).fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(fk.FormulaSyntaxError):
        PRLClassifier("a & | b").fit([[0, 1], [1, 0]], [0, 1])


# -- tables -------------------------------------------------------------------------------------


@pytest.fixture
def frame():
    generator = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "odor": generator.choice(["foul", "none", "anise", None], 120),
            "size": np.where(generator.random(120) < 0.1, np.nan, generator.normal(5, 2, 120)),
            "ring": generator.random(120) < 0.5,
        }
    )
    y = np.where((X["odor"] == "foul") | (X["size"] > 6), "bad", "good")
    return X, y


def test_frames_gaps_and_texts(frame):
    X, y = frame
    model = PRLClassifier(C=5).fit(X, y)
    assert model.score(X, y) > 0.95
    np.testing.assert_array_equal(model.rules_.predict(X), model.predict(X))
    again = fk.RuleEnsemble.from_json(model.rules_.to_json())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.feature_names_in_.tolist() == ["odor", "size", "ring"]
    below = PRLClassifier(encoder=fk.PropositionEncoder(numeric="<="), C=5).fit(X, y)
    assert any("size <=" in str(item.rule) for item in below.rules_)
    assert not any(">=" in str(item.rule) for item in below.rules_)
    equal = PRLClassifier(encoder=fk.PropositionEncoder(nominal="all"), C=5)
    equal.fit(X[["odor", "ring"]], y)
    assert any("odor = foul" in str(item.rule) for item in equal.rules_)
    assert not any("<=" in str(item.rule) for item in equal.rules_)


def test_explanations_add_up(frame):
    X, y = frame
    model = PRLClassifier(C=5).fit(X, y)
    for row in range(10):
        explanation = model.explain(X.iloc[row : row + 1])
        assert explanation.prediction == model.predict(X.iloc[row : row + 1])[0]
        total = sum(
            given * ((item.winner == "good") - (item.loser == "good"))
            for given, item in zip(explanation.contributions, explanation.rules, strict=True)
        )
        assert total == pytest.approx(explanation.scores["good"])
        assert all(item.rule(X.iloc[row : row + 1])[0] for item in explanation.rules)
        assert f"class {explanation.prediction}" in str(explanation)
    every = model.explain(X)
    for name in model.classes_:
        assert (every.intercept == 0).all()
        place = model.classes_.tolist().index(name)
        np.testing.assert_allclose(every.added(name).sum(axis=1), every.totals[:, place])
    np.testing.assert_allclose(
        every.totals[:, 1] - every.totals[:, 0], model.decision_function(X), atol=1e-12
    )


def test_curve_and_history(frame):
    X, y = frame
    model = PRLClassifier(C=5).fit(X, y)
    curve = model.accuracy_curve(X, y)
    assert len(curve) == len(model.rules_) + 1
    assert curve[-1] == model.score(X, y)
    for k in (0, 1, 3):
        assert curve[k] == np.mean(model.rules_.head(k).predict(X) == y)
    assert len(model.accuracy_curve(X, y, 2)) == 3
    assert len(model.history_) == model.n_iter_
    assert len(model.history_.to_frame()) == model.n_iter_
    assert "bound" in str(model.history_)
    assert model.gap_ == pytest.approx(model.bound_ - model.value_)


def test_history_is_drawn(frame):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = PRLClassifier().fit(*frame).history_.plot()
    assert [line.get_label() for line in axes.lines] == [
        "margin secured (value)", "best possible (bound)",
    ]  # fmt: skip
    pyplot.close("all")


def test_polynomial_rules_are_products():
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(100, 4)), columns=["u", "v", "w", "t"])
    y = np.where(X["u"] * X["v"] > 0, "same", "other")
    model = PRLClassifier("polynomial", degree=2, C=1.0).fit(X, y)
    assert str(model.rules_[0].rule) == "u * v"
    assert model.score(X, y) > 0.95
    np.testing.assert_allclose(
        model.rules_.scores(X)[:, 1] - model.rules_.scores(X)[:, 0], model.decision_function(X)
    )
    with pytest.raises(fk.DataError, match="encode or impute"):
        PRLClassifier("polynomial").fit([[1.0, np.nan], [0.0, 1.0]], [0, 1])


@pytest.mark.parametrize("C", [1e5, 1e12, 1e300])
def test_a_price_that_is_nearly_infinite(C):
    """Separable rows have the hard margin's value; contradictory ones next to none."""
    X, y = [["x"], ["y"], ["x"], ["z"]], ["p", "q", "p", "q"]
    hard = PRLClassifier(margin="hard").fit(X, y)
    soft = PRLClassifier(C=C).fit(X, y)
    assert soft.value_ <= hard.bound_ * (1 + 1e-9) + 1 / C  # slack secures at most 1/C more
    assert hard.value_ <= soft.bound_ * (1 + 1e-9)
    assert max(hard.gap_ / hard.bound_, soft.gap_ / soft.bound_) <= 0.01
    with pytest.warns(UserWarning, match="2 preferences contradict others"):
        clash = PRLClassifier(C=C, bias_rule=False).fit([["x"], ["x"]], ["p", "q"])
    assert 0 <= clash.value_ <= 1 / C
    assert clash.bound_ <= 1 / C + 1e-6


@pytest.mark.parametrize("solver", ["fictitious-play", "multiplicative-weights"])
def test_few_rounds_are_no_worse_than_no_rule(solver):
    X, y = [["x"], ["y"], ["x"], ["z"], ["y"]], ["p", "q", "q", "q", "p"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fk.PublishedPRL(C=2, solver=solver, solver_iterations=3, epochs=2).fit(X, y)
    assert model.value_ >= 1 / (2 * 5) - 1e-12
    assert 0 < model.nu_ <= 1 + 1e-12
    assert model.value_ <= model.bound_


@pytest.mark.parametrize("weights", [[1e-200, 1, 1, 1], [1e300, 1e300, 1e300, 1e300]])
def test_weights_beyond_measure(weights):
    for learner in (PRLClassifier(), fk.HKLClassifier()):
        with pytest.raises(fk.DataError, match="the weights of rows are from"):
            learner.fit([[0], [1], [0], [1]], [0, 1, 0, 1], sample_weight=weights)


def test_numbers_whose_products_overflow():
    X = np.random.default_rng(0).random((10, 3))
    with pytest.raises(fk.DataError, match="Scale the columns"):
        PRLClassifier("polynomial").fit(X * 1e60, [0, 1] * 5)
    with pytest.raises(fk.DataError, match="Scale the columns"):
        PRLClassifier("polynomial").fit(X * 1e200, [0, 1] * 5)


def test_prices_at_which_little_is_error():
    """The linear program takes many steps before its gap begins to close."""
    generator = np.random.default_rng(2)
    X = generator.integers(0, 3, (400, 6)).astype(str)
    y = (X[:, 0] == X[:, 1]).astype(int) + (X[:, 2] == "0")
    model = PRLClassifier(degree=3, C=1.0, tol=0.05).fit(X, y)
    assert model.stopped_ == "optimal"
    assert model.score(X, y) == 1.0


def test_sparse_tables_and_pickles():
    generator = np.random.default_rng(1)
    X = (generator.random((80, 12)) < 0.3).astype(float)
    y = X[:, 0] + X[:, 1] > 0
    dense = PRLClassifier(C=2).fit(X, y)
    sparse = PRLClassifier(C=2).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_array(X)))
    loaded = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(loaded.decision_function(X), dense.decision_function(X))
    assert len(pickle.dumps(dense)) < 100_000
    with pytest.raises(NotFittedError):
        PRLClassifier().predict(X)


def test_three_classes():
    table = datasets.monks(1)
    X, y = table
    named = np.where(y == 1, "one", np.where(X["a2"] == 1, "two", "three"))
    model = PRLClassifier(C=5, encoder=fk.PropositionEncoder(nominal="all")).fit(X, named)
    assert model.decision_function(X).shape == (len(named), 3)
    assert model.score(X, named) > 0.95
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    assert (
        cross_val_score(
            PRLClassifier(C=5, encoder=fk.PropositionEncoder(nominal="all")), X, named, cv=folds
        ).mean()
        > 0.9
    )


# -- stopping -----------------------------------------------------------------------------------


def test_interrupt_keeps_the_best_so_far(monkeypatch):
    X, y = datasets.tic_tac_toe()
    solve = prl_play.RestrictedGame.solve
    calls = []

    def interrupted(self, tol, *more, **named):
        calls.append(tol)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(self, tol, *more, **named)

    monkeypatch.setattr(prl_play.RestrictedGame, "solve", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 2 epochs"):
        model = PRLClassifier(degree=2, C=1, max_rules=None).fit(X, y)
    assert model.stopped_ == "interrupted"
    assert model.score(X, y) > 0.6
    calls[:] = [0]
    with pytest.warns(UserWarning, match="interrupted after 1 epoch: "):
        PRLClassifier().fit(X, y)
    calls[:] = [0, 0]
    with pytest.raises(KeyboardInterrupt):
        PRLClassifier().fit(X, y)


def test_an_interrupt_of_the_bound_of_a_crowded_game_ends_the_search(monkeypatch):
    """With a time limit the bound follows at once; Ctrl-C then leads to no smaller game."""
    generation = prl_play.ColumnGeneration
    generator, lowered, games = np.random.default_rng(0), generation._lowered, []
    X = generator.normal(size=(300, 6))
    y = (X[:, 0] * X[:, 1] > 0) * 1 + (X[:, 2] > 0) * 2
    y[:60] = generator.integers(0, 4, 60)

    def interrupted(self, *options):
        if self._crowded:
            games.append(self.game)
            raise KeyboardInterrupt
        return lowered(self, *options)

    monkeypatch.setattr(prl_play, "MAX_COLUMNS", 1)
    monkeypatch.setattr(generation, "_lowered", interrupted)
    with pytest.warns(UserWarning, match="interrupted after"):
        model = PRLClassifier(max_rules=2, time_limit=60).fit(X, y)
    assert model.stopped_ == "interrupted"
    assert len(model.rules_) <= 2
    assert len(games) == 1


def test_limits_leave_a_valid_bound():
    X, y = datasets.tic_tac_toe()
    best = PRLClassifier(degree=2, C=0.2, tol=1e-3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="of the bound after 2 epochs, above"):
        short = PRLClassifier(degree=2, C=0.2, epochs=2).fit(X, y)
    assert short.value_ <= best.bound_
    assert short.bound_ >= best.value_
    with pytest.warns(ConvergenceWarning, match="stopped by the time limit.*of the bound"):
        hasty = PRLClassifier(degree=2, C=0.2, time_limit=0).fit(X, y)
    assert hasty.stopped_ == "time_limit"
    assert hasty.bound_ >= best.value_


def test_progress_is_told(capsys):
    X, y = datasets.tic_tac_toe()
    model = PRLClassifier(degree=2, verbose=True).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("epoch 1: margin")


@settings(max_examples=8)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([("yes", "no"), (1, 2), (3, 2)]),
    st.booleans(),
    st.sampled_from([2, "auto"]),
)
def test_the_rarer_of_two_opposites_is_named(seed, values, ordinal, most):
    """The scores are the same, with fewer rules."""
    rng = np.random.default_rng(seed)
    often, z = rng.random(80) < 0.8, rng.integers(0, 4, 80)
    y = np.where(often ^ (rng.random(80) < 0.1), 2 * (z >= 1), 1)
    table = pd.DataFrame({"x": np.where(often, *values), "z": z})
    model = PRLClassifier(ordinal=ordinal, max_rules=most)
    rules = model.fit(table, y).rules_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classifier, "opposite", lambda *_: None)
        plain = model.fit(table, y).rules_
    assert all(item.rule.n_conditions > 1 or item.coverage <= 0.5 for item in rules)
    assert len(rules) <= len(plain)
    scores, others = (
        one.scores(table) - one.thresholds if ordinal else one.scores(table)
        for one in (rules, plain)
    )
    np.testing.assert_allclose(scores, others, atol=1e-9)
