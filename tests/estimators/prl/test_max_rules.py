"""Preference learners of few rules, of rules that pay for their length, and of no separation."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern import PRLClassifier, PRLClassifierCV, datasets
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.learning.prl import column_generation, restricted_game
from formulakern.learning.selection import FeatureSelection

TIGHT = {"tol": 1e-4, "epochs": 400, "encoder": None}
generators = st.integers(0, 10_000).map(np.random.default_rng)


# -- the slow definition ---------------------------------------------------------------------------


def least_loss(columns, C):
    """min Σλ + C Σξ with Mλ ≥ 1 − ξ, a linear program written out; 1/V of these columns."""
    n, k = columns.shape
    found = linprog(
        np.append(np.ones(k), np.full(n, C)),
        A_ub=-np.hstack([columns, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=(0, None),
    )
    assert found.status == 0
    return found.fun


def game_of(X, y, a=1.0, longest=2):
    """{propositions: the columns of the rule with all pairs of classes}, columns of the bias.

    The rows of a column are the preferences, every row with every other class.
    """
    classes = np.unique(y)
    one = np.eye(len(classes))
    wishes = [(i, c, d) for i, c in enumerate(np.searchsorted(classes, y))
              for d in range(len(classes)) if d != c]  # fmt: skip
    direction = np.array([one[c] - one[d] for _, c, d in wishes])
    rows = [i for i, _, _ in wishes]
    rules = {}
    for length in range(longest + 1):
        for w in itertools.combinations(range(X.shape[1]), length):
            values = X[:, list(w)].all(axis=1)[rows] / a ** max(length - 1, 0)
            pairs = itertools.permutations(range(len(classes)), 2)
            rules[w] = np.stack(
                [values * (direction @ (one[c] - one[d])) for c, d in pairs], axis=1
            )
    bias = rules.pop(())
    return rules, bias


def rules_said(model):
    """The rules of a model as :func:`game_of` has them; each of them once."""
    every = [rule.formula.leaves for rule in model.rules_.rules]
    said = {tuple(sorted(int(str(leaf)[1:]) for leaf in leaves)) for leaves in every}
    assert len(said) == len(every)
    return said


def table(generator, n_classes, m=14, p=5):
    X = (generator.random((m, p)) < 0.5).astype(int)
    y = np.concatenate([np.arange(n_classes), generator.integers(0, n_classes, m - n_classes)])
    return X, y


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the hard margin's value is 0")
        warnings.filterwarnings("ignore", message="no rule has weight")
        return model.fit(*data)


@settings(deadline=None, max_examples=15)
@given(generators, st.sampled_from([0.1, 0.5, 5.0]), st.sampled_from([1.5, 4.0]), st.integers(2, 3))
def test_long_rules_pay_less(generator, C, a, n_classes):
    X, y = table(generator, n_classes)
    model = quiet(PRLClassifier(C=C, depth_penalty=a, **TIGHT), X, y)
    rules, bias = game_of(X, y, a)
    value = 1 / least_loss(np.hstack([bias, *rules.values()]), C)
    assert model.value_ == pytest.approx(value, rel=2e-4)
    assert model.value_ - 1e-9 <= value <= model.bound_ + 1e-6


def test_a_large_depth_penalty_leaves_single_conditions():
    X, y = table(np.random.default_rng(0), 2, m=60)
    lengths = [
        max(len(item.rule.formula.leaves) for item in model.rules_)
        for a in (1.0, 1e30)
        for model in [PRLClassifier(C=0.5, depth_penalty=a, tol=0.1).fit(X, y)]
    ]
    assert lengths == [2, 1]
    options = {"solver": "linprog", "budget": 20, "epochs": 3}
    drawn = fk.PublishedPRL(depth_penalty=2.0, **options).fit(X, y)
    assert drawn.value_ <= PRLClassifier(depth_penalty=2.0).fit(X, y).bound_


def best_of(rules, bias, k, C):
    """The least loss of k rules with the bias: all subsets."""
    subsets = itertools.combinations(rules.values(), k)
    return min(least_loss(np.hstack([bias, *some]), C) for some in subsets)


CASES = [
    (seed, 2 + seed % 2, 2 if seed % 2 == 0 else 1, C) for seed, C in enumerate([0.2, 0.5, 2.0] * 2)
]


@pytest.mark.parametrize("large", [False, True])
def test_few_rules_against_all_subsets(large, monkeypatch):
    """The rules are feasible, reach the stated value, and are nearly always the best subset."""
    if large:
        monkeypatch.setattr(column_generation, "MANY_PREFERENCES", 0)
    shares, within = [], 1e-3 if large else 1e-6
    for seed, n_classes, k, C in CASES[1::4] if large else CASES:
        X, y = table(np.random.default_rng(seed), n_classes, p=4)
        model = quiet(PRLClassifier(C=C, max_rules=k, depth_penalty=1.5, **TIGHT), X, y)
        rules, bias = game_of(X, y, 1.5)
        said = rules_said(model)
        assert len(said) <= k
        own = least_loss(np.hstack([bias, *(rules[key] for key in said)]), C)
        assert model.value_ == pytest.approx(1 / own, rel=within)
        assert model.value_ <= 1 / own * (1 + 1e-6)
        best = best_of(rules, bias, k, C)
        assert model.value_ <= 1 / best * (1 + 1e-6)
        everything = least_loss(np.hstack([bias, *rules.values()]), C)
        assert model.bound_ >= 1 / everything * (1 - 1e-6)
        assert model.gap_ == pytest.approx(model.bound_ - model.value_)
        shares.append(best / own)
        every = np.arange(len(y))
        options = {"cv": [(every, every)], "max_rules": k, **TIGHT}
        search = quiet(PRLClassifierCV([C], [2], [1.5], **options), X, y)
        for step in search.path_:
            losses = [
                least_loss(np.hstack([bias, *some]), C)
                for some in itertools.combinations(rules.values(), step.n_rules)
            ]
            assert any(0.99 / one <= step.objective <= (1 + 1e-6) / one for one in losses)
            assert step.gap == pytest.approx(1 - step.objective / search.bound_)
        assert search.path_[-1].objective == search.value_
    assert min(shares) >= 0.8
    assert np.mean(np.array(shares) > 1 - 1e-6) >= 0.9


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_the_limit_of_rules():
    X, y = datasets.tic_tac_toe()
    X, y = X[::3], y[::3]
    free = PRLClassifier("conjunctions", 3, C=0.1, max_rules=None).fit(X, y)
    enough = PRLClassifier("conjunctions", 3, C=0.1, max_rules=len(free.rules_)).fit(X, y)
    assert str(enough.rules_) == str(free.rules_)
    values = []
    for k in (2, 8):
        model = PRLClassifier("conjunctions", 3, C=0.1, max_rules=k).fit(X, y)
        assert len(model.rules_) <= k
        assert model.bound_ == free.bound_
        values.append(model.value_)
    assert values == sorted(values)
    assert model.score(X, y) >= 0.99  # the eight lines
    assert values[-1] <= free.bound_


def test_the_limit_for_products_and_random_columns():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 > 0.3
    model = PRLClassifier("polynomial", degree=2, C=0.5, max_rules=2).fit(X, y)
    assert {str(item.rule) for item in model.rules_} == {"x0 * x1", "x2 * x2"}
    options = {"solver": "linprog", "epochs": 2, "budget": 50}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = fk.PublishedPRL(C=0.5, max_rules=3, **options).fit(X, y)
    assert len(drawn.rules_) <= 3
    assert drawn.score(X, y) > 0.6


def test_without_a_bias_rule_every_rule_counts():
    X, y = datasets.tic_tac_toe()
    model = PRLClassifier(degree=1, C=0.1, bias_rule=False, max_rules=3).fit(X, y)
    assert 1 <= len(model.rules_) <= 3


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_interrupt_keeps_the_heaviest(monkeypatch):
    X, y = datasets.tic_tac_toe()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FeatureSelection, "exchanged", interrupted)
    with pytest.warns(UserWarning, match="interrupted: the best rules so far"):
        model = PRLClassifier(degree=1, C=0.1, max_rules=4).fit(X, y)
    assert model.stopped_ == "interrupted"
    assert 1 <= len(model.rules_) <= 4


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "all", True])
def test_refused_limits(wrong):
    with pytest.raises(fk.ParameterError, match="max_rules"):
        PRLClassifier(max_rules=wrong).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("wrong", [0.5, -1, np.inf, "deep", None])
def test_refused_depth_penalties(wrong):
    with pytest.raises(fk.ParameterError, match="depth_penalty"):
        PRLClassifier(depth_penalty=wrong).fit([[0], [1]], [0, 1])


# -- hard margins of value 0 -----------------------------------------------------------------------


@pytest.mark.parametrize("selection", ["exact", "random"])
def test_a_hard_margin_of_value_0_is_softened(selection):
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (200, 6))
    y = np.where((X[:, 0] & X[:, 1]) ^ (generator.random(200) < 0.1), "in", "out")
    made, options = PRLClassifier, {"encoder": None}
    if selection == "random":
        made = fk.PublishedPRL
        options |= {"epochs": 3, "budget": 50, "solver": "linprog"}
    with pytest.warns(UserWarning, match=r"value is 0.*rules of the soft margin at C=0\.05"):
        hard = made(margin="hard", C=0.05, **options).fit(X, y)
    assert hard.stopped_ == "inseparable"
    assert hard.C_ == 0.05
    assert hard.nu_ == 0
    assert hard.value_ == pytest.approx(0, abs=1e-6)
    assert hard.score(X, y) > 0.85
    if selection == "exact":
        soft = PRLClassifier(C=0.05, **options).fit(X, y)
        np.testing.assert_array_equal(hard.predict(X), soft.predict(X))


def test_few_rules_of_a_hard_margin():
    X, y = datasets.tic_tac_toe()
    X, y = X[::3], y[::3]
    model = PRLClassifier("conjunctions", 3, margin="hard", max_rules=8).fit(X, y)
    margins = np.where(y == "positive", 1, -1) * model.decision_function(X)
    assert margins.min() == pytest.approx(model.value_, rel=1e-6)
    assert model.value_ > 0
    assert np.isinf(model.C_)
    with pytest.warns(UserWarning, match="no vote of the selected rules separates"):
        few = PRLClassifier("conjunctions", 3, margin="hard", max_rules=4).fit(X, y)
    assert model.value_ <= few.bound_ * (1 + 1e-6)
    assert few.bound_ * (1 - 5 * few.tol) <= model.bound_
    assert few.value_ <= 1e-9
    assert few.score(X, y) > 0.7
    assert np.isfinite(few.C_)


def test_the_limit_of_rules_ends_a_large_game():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(300, 5)), generator.random(300) < 0.5
    few = PRLClassifier(C=10, max_rules=2, budget=250, tol=1e-3).fit(X, y)
    assert few.stopped_ == "max_rules"
    assert len(few.rules_) <= 2
    assert few.value_ <= few.bound_ < np.inf
    assert f"{100 * few.gap_ / few.bound_:.2g} %" in few.certificate_
    with pytest.warns(ConvergenceWarning, match="epochs"):
        free = PRLClassifier(C=10, max_rules=None, budget=250, epochs=6).fit(X, y)
    assert few.value_ < free.value_ <= few.bound_


def test_an_automatic_penalty_parameter_falls_with_the_limit_of_rules():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 30))
    y = X[:, 0] * X[:, 1] + generator.normal(size=200) > 0
    few = PRLClassifier(max_rules=2, budget=150).fit(X, y)
    assert few.C_ in [4 / np.sqrt(200) / 4**k for k in range(1, 6)]
    assert len(few.rules_) <= 2
    free = PRLClassifier(C=few.C_, max_rules=None).fit(X, y)
    assert few.value_ <= free.value_ * (1 + 1e-6) <= few.bound_ * (1 + 1e-5)


@pytest.mark.parametrize("rounds", [0, 1])
def test_an_interrupt_keeps_the_rules_of_the_larger_penalty_parameter(monkeypatch, rounds):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 30))
    y = X[:, 0] * X[:, 1] + generator.normal(size=200) > 0
    solve, calls = restricted_game.RestrictedGame.solve, []

    def interrupted(self, *given, **named):
        calls.append(self.C)
        if calls.count(self.C) == rounds + 1 and calls[0] > self.C:
            raise KeyboardInterrupt
        return solve(self, *given, **named)

    monkeypatch.setattr(restricted_game.RestrictedGame, "solve", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = PRLClassifier(max_rules=2, budget=150).fit(X, y)
    assert model.stopped_ == "interrupted"
    assert 1 <= len(model.rules_) <= 2
    assert model.C_ in (calls[0], calls[0] / 4)
    assert model.value_ <= model.bound_ < np.inf


def test_a_limit_of_epochs_is_told_beside_a_limit_of_rules():
    X, y = table(np.random.default_rng(0), 2, m=60)
    with pytest.warns(ConvergenceWarning, match="of the bound after 1 epoch, above") as limited:
        PRLClassifier(C=0.5, epochs=1, budget=4, max_rules=3).fit(X, y)
    with pytest.warns(ConvergenceWarning) as free:
        PRLClassifier(C=0.5, epochs=1, budget=4).fit(X, y)
    assert str(limited[0].message) == str(free[0].message)


def test_no_time_is_left_for_a_choice():
    X, y = table(np.random.default_rng(0), 3, m=80, p=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for limit in (0.0, 0.05, 0.2):
            model = PRLClassifier(C=0.5, max_rules=2, time_limit=limit).fit(X, y)
            assert len(model.rules_) <= 2
            assert model.value_ <= model.bound_ + 1e-9


@pytest.mark.parametrize("seconds", [0.05, 0.3])
def test_few_rules_of_many_classes_in_little_time(monkeypatch, seconds):
    """After the limit hardly anything is solved, and the value is at least that of slack."""
    generator, solve, late = np.random.default_rng(0), restricted_game.RestrictedGame.solve, []

    def counted(self, tol=1e-8, secured=-np.inf, deadline=UNLIMITED):
        late.append(deadline.over())
        return solve(self, tol, secured, deadline)

    monkeypatch.setattr(restricted_game.RestrictedGame, "solve", counted)
    X = generator.normal(size=(600, 6))
    y = (X[:, 0] > 0) * 1 + (X[:, 1] > 0) * 2 + (X[:, 2] > 0) * 4 + (X[:, 3] > 0) * 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PRLClassifier(time_limit=seconds).fit(X, y)
    assert len(model.rules_) <= 15
    assert sum(late) <= 3
    assert 0 <= model.value_ <= model.bound_


@pytest.mark.parametrize("over", [False, True])
def test_the_best_hypothesis_may_have_columns_that_its_game_dropped(monkeypatch, over):
    """Whether the time is over or not, the chosen rules are of the same game."""
    finish, clock, late = column_generation.ColumnGeneration.finish, Deadline.clock, []

    def finished(self):
        outcome = finish(self)
        self.game.keep(np.arange(1))
        late.append(over)
        return outcome

    monkeypatch.setattr(column_generation.ColumnGeneration, "finish", finished)
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: clock() + 1e9 * any(late)))
    X, y = table(np.random.default_rng(0), 4, m=80, p=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PRLClassifier(C=0.5, max_rules=3, time_limit=1e6).fit(X, y)
    assert late == [over]
    assert 0 < len(model.rules_) <= 3
    assert 0 < model.value_ <= model.bound_ + 1e-9
