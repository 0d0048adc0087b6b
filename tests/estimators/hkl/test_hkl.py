"""HKLClassifier and HKLRegressor: their claims, scikit-learn's interface, and refusals."""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import HKLClassifier, HKLClassifierCV, HKLRegressor, datasets
from formulakern.learning.hkl import lasso
from formulakern.learning.hkl import problem as hkl_problem
from tests.hierarchical import solved as solved_on

WEIGHTS = "cut points are quantiles of the unweighted rows"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@parametrize_with_checks(
    [
        HKLClassifier(C=10, tol=0.1, encoder=fk.PropositionEncoder(cut_points=3)),
        HKLRegressor(tol=0.1, encoder=fk.PropositionEncoder(cut_points=2)),
    ],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def labelled(seed, m, p, noise=0.1):
    rng = np.random.default_rng(seed)
    X = (rng.random((m, p)) < 0.5).astype(int)
    y = (X[:, 0] & X[:, -1]) ^ (rng.random(m) < noise)
    y[:2] = 0, 1
    return X, y


# -- the slow definition: the objective written out over the rules that are shown -----------------


def penalty(f, rho, a):
    """½ (Σ_v a^|v| ‖f_{D(v)}‖_ρ)² for f: set → weight, over every v below some w with weight."""
    hull = {v for w in f for k in range(len(w) + 1) for v in combinations(sorted(w), k)}
    total = sum(
        a ** len(v) * sum(abs(x) ** rho for w, x in f.items() if set(v) <= set(w)) ** (1 / rho)
        for v in hull
    )
    return 0.5 * total**2


LOSS = {
    "hinge": lambda z: np.maximum(0, 1 - z),
    "squared_hinge": lambda z: np.maximum(0, 1 - z) ** 2,
    "logistic": lambda z: np.logaddexp(0, -z),
}


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.sampled_from([1.05, 1.1, 1.5, 2.0]),
    st.floats(-1, 3),
    st.sampled_from(sorted(LOSS)),
)
def test_the_objective_is_that_of_the_whole_lattice(seed, p, rho, log_C, loss):
    X, y = labelled(seed, 24, p)
    C = 10**log_C
    options = {"encoder": None, "loss": loss, "tol": 5e-3, "logit_adjustment": 0}
    model = HKLClassifier(rho, C, depth_penalty=2, **options).fit(X, y)
    kept = X[:, model._encoding.kept]
    p = kept.shape[1]
    nodes = [v for size in range(p + 1) for v in combinations(range(p), size)]
    columns = np.stack([kept[:, list(v)].all(axis=1) for v in nodes], axis=1)
    whole = solved_on(columns, nodes, 2.0 * y - 1, rho=rho, C=C, loss=loss, tol=1e-4)
    assert model.gap_ <= 5e-3
    assert model.lower_bound_ <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= model.objective_ * (1 + 1e-9)
    loss_value = C * LOSS[loss]((2 * y - 1) * model.decision_function(X)).sum()
    assert loss_value <= model.objective_ * (1 + 1e-9)
    # the shown rules, as weights, cost at least the optimum (joining equal covers can cost)
    weights = zip(model._features, model.rules_.votes[:, 1].tolist(), strict=True)
    shown = {frozenset(one.propositions): weight for one, weight in weights}
    assert loss_value + penalty(shown, rho, 2.0) >= model.lower_bound_ * (1 - 1e-9)


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(-1, 3))
def test_rules_are_what_predicts(seed, p, log_C):
    X, y = labelled(seed, 40, p)
    model = HKLClassifier(C=10**log_C, encoder=None, tol=0.01).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    scores = model.rules_.scores(frame)
    np.testing.assert_allclose(scores[:, 1], model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(scores[:, 0], -model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(model.rules_.predict(frame), model.predict(X))
    covers = model.rules_.covers(frame)
    assert len({cover.tobytes() for cover in covers.T}) == len(model.rules_)  # each cover once
    assert all(0 < item.support < 40 and item.weight > 0 for item in model.rules_)
    for item, cover in zip(model.rules_, covers.T, strict=True):
        assert item.support == cover.sum()
        assert item.precision == pytest.approx((y[cover] == item.winner).mean())


def test_equal_covers_take_the_shortest_form_and_opposites_join():
    bits = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=bool)
    forms = [(), (0,), (1,), (0, 2), (2,)]
    covers = np.array([bits[:, list(v)].all(axis=1) for v in forms])
    F = np.array([0.5, 1.0, 3.0, 0.25, 0.0])
    bias = hkl_problem._without_complements(forms, covers, F, -1.0)
    # 3·[x1] is 3 − 3·[x0], and the empty conjunction is a constant
    np.testing.assert_allclose(F, [0, -2, 0, 0.25, 0])
    assert bias == pytest.approx(2.5)
    for row in range(4):
        before = sum(w * c[row] for w, c in zip([0.5, 1, 3, 0.25, 0], covers, strict=True)) - 1
        assert sum(w * c[row] for w, c in zip(F, covers, strict=True)) + bias == before


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([("yes", "no"), (1, 2), (3, 2)]),
    st.booleans(),
    st.sampled_from([0, 10]),
)
def test_the_rarer_of_two_values_is_named(seed, values, numbers, n_missing):
    """A column with missing entries is the exception, because neither value may hold."""
    rng = np.random.default_rng(seed)
    often = rng.random(120) < 0.8
    x = np.where(often, *values).astype(object)
    x[rng.permutation(120)[:n_missing]] = None
    z = rng.integers(0, 40, 120)
    table = pd.DataFrame({"x": pd.Series(x).convert_dtypes(), "z": z if numbers else z % 2 + 1})
    y = np.where(often, "a", "b")
    model = HKLClassifier(max_rules=3).fit(table, y)
    alone = [item for item in model.rules_ if item.rule.columns == ("x",)]
    assert alone
    assert n_missing or all(item.coverage <= 0.5 and item.winner == "b" for item in alone)
    kept = ~pd.isna(x)
    assert (model.predict(table)[kept] == y[kept]).all()


def test_a_planted_rule_in_the_words_of_the_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "odor": rng.choice(["foul", "none", "anise"], 400),
            "size": rng.integers(1, 20, 400),
            "ring": rng.random(400) < 0.5,
        }
    )
    y = np.where((X["odor"] == "foul") & X["ring"], "bad", "good")
    model = HKLClassifier(C=10, depth_penalty=1.3, tol=0.01).fit(X, y)
    assert model.score(X, y) == 1.0  # two votes that win together, cheaper than their conjunction
    assert {str(item.rule) for item in model.rules_} == {"odor = foul", "ring"}
    assert {item.winner for item in model.rules_} == {"bad"}
    assert model.feature_names_in_.tolist() == ["odor", "size", "ring"]
    X.loc[:40, "size"] = np.nan
    X.loc[20:60, "odor"] = None
    with_gaps = HKLClassifier(C=10, depth_penalty=1.3, tol=0.01).fit(X, y)
    np.testing.assert_array_equal(with_gaps.rules_.predict(X), with_gaps.predict(X))
    kept = fk.RuleEnsemble.from_json(with_gaps.rules_.to_json())
    np.testing.assert_array_equal(kept.predict(X), with_gaps.predict(X))


def test_more_classes():
    X, y = datasets.tic_tac_toe()
    rng = np.random.default_rng(1)
    A = (rng.random((300, 6)) < 0.5).astype(int)
    three = np.where(A[:, 0] & A[:, 1], "c", np.where(A[:, 2], "b", "a"))
    model = HKLClassifier(C=10, encoder=None, tol=0.01).fit(A, three)
    assert model.score(A, three) == 1.0
    frame = pd.DataFrame(A, columns=[f"x{j}" for j in range(6)])
    np.testing.assert_allclose(model.rules_.scores(frame), model.decision_function(A), atol=1e-9)
    np.testing.assert_array_equal(model.rules_.predict(frame), model.predict(A))
    again = fk.RuleEnsemble.from_json(model.rules_.to_json())
    np.testing.assert_allclose(again.scores(frame), model.decision_function(A), atol=1e-9)
    plain = HKLClassifier(C=10, encoder=None, loss="hinge")
    model = clone(plain).fit(A, three)
    parts = [clone(plain).fit(A, three == name) for name in "abc"]
    assert model.objective_ == pytest.approx(sum(part.objective_ for part in parts))
    for k, part in enumerate(parts):
        np.testing.assert_allclose(model.decision_function(A)[:, k], part.decision_function(A))
    assert set(model.history_.problems) == {"a", "b", "c"}
    assert model.hull_size_ == sum(part.hull_size_ for part in parts)
    absent = HKLClassifier(C=10, encoder=None, tol=0.01).fit(A, three, (three != "a").astype(float))
    assert set(absent.predict(A)) == {"b", "c"}
    assert model.decision_function(A).shape == (300, 3)
    two = HKLClassifier(C=1, tol=0.1).fit(X, y)  # one problem for both classes
    assert two.decision_function(X).shape == (len(y),)


def test_several_classes_together():
    rng = np.random.default_rng(1)
    A = (rng.random((300, 6)) < 0.5).astype(int)
    three = np.where(A[:, 0] & A[:, 1], "c", np.where(A[:, 2], "b", "a"))
    model = HKLClassifier(C=100, encoder=None, logit_adjustment=0).fit(A, three)
    assert model.score(A, three) == 1.0
    assert model.gap_ <= 0.01
    p = model.predict_proba(A)
    scores = model.decision_function(A)
    np.testing.assert_allclose(p, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    loss = -100 * np.log(p[np.arange(300), np.searchsorted(model.classes_, three)]).sum()
    assert loss < model.objective_
    np.testing.assert_allclose(p.sum(axis=0), [np.sum(three == k) for k in "abc"], rtol=0.05)
    adjusted = HKLClassifier(C=100, encoder=None, logit_adjustment=0.5).fit(A, three)
    shares = np.array([np.mean(three == k) for k in "abc"])
    np.testing.assert_allclose(adjusted.decision_function(A), scores - 0.5 * np.log(shares))
    np.testing.assert_allclose(adjusted.predict_proba(A), p)


def test_probabilities_of_the_logistic_loss():
    X, y = labelled(0, 400, 3, noise=0.2)
    model = HKLClassifier(C=1e4, encoder=None, tol=1e-3).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    # the decision is adjusted by half of the logarithm of the classes' odds, probabilities are not
    odds = model.decision_function(X) + 0.5 * np.log(y.mean() / (1 - y.mean()))
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-odds)))
    np.testing.assert_allclose(model.adjustment_[1] * 2, np.log(y.mean() / (1 - y.mean())))
    for tau, exponents in ((0, p), (1, p / [1 - y.mean(), y.mean()])):
        other = HKLClassifier(C=1e4, encoder=None, tol=1e-3, logit_adjustment=tau).fit(X, y)
        np.testing.assert_array_equal(other.predict(X), exponents.argmax(axis=1))
    cell = (X[:, 0] == 1) & (X[:, -1] == 1)
    assert p[cell, 1].mean() == pytest.approx(y[cell].mean(), abs=0.02)
    for loss in ("hinge", "squared_hinge"):
        assert not hasattr(HKLClassifier(loss=loss), "predict_proba")
    three = np.where(X[:, 1] == 1, 2, y)
    p = HKLClassifier(C=10, loss="logistic", encoder=None, tol=0.01).fit(X, three).predict_proba(X)
    assert p.shape == (400, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)


# -- weights, starts, limits ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
@pytest.mark.parametrize("loss", sorted(LOSS))
def test_a_weight_of_two_is_two_rows_and_zero_is_none(loss):
    X, y = labelled(3, 60, 4)
    weight = np.random.default_rng(3).integers(0, 3, 60)
    weight[:2] = 1
    options = {"C": 2.0, "encoder": None, "loss": loss, "tol": 1e-4}
    weighted = HKLClassifier(**options).fit(X, y, sample_weight=weight)
    repeated = HKLClassifier(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.gap_ <= 1e-4
    assert repeated.gap_ <= 1e-4
    assert weighted.lower_bound_ <= repeated.objective_ * (1 + 1e-9)
    assert repeated.lower_bound_ <= weighted.objective_ * (1 + 1e-9)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=0.1
    )


def test_class_weights_move_the_balance():
    X, y = labelled(0, 200, 6, noise=0.25)
    counts = [
        HKLClassifier(C=0.05, encoder=None, class_weight=w, tol=0.01).fit(X, y).predict(X).sum()
        for w in ({0: 5.0}, None, {1: 5.0})
    ]
    assert counts[0] <= counts[1] <= counts[2]
    assert counts[0] < counts[2]
    balanced = HKLClassifier(encoder=None, C=0.5, class_weight="balanced").fit(X, y)
    by_hand = {c: 200 / (2 * np.sum(y == c)) for c in (0, 1)}
    same = HKLClassifier(encoder=None, C=0.5, class_weight=by_hand).fit(X, y)
    assert balanced.objective_ == pytest.approx(same.objective_)


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_limits_are_told():
    X, y = labelled(0, 150, 30, noise=0.2)
    for options, message in (
        ({"max_active": 20}, "node limit at 20 conjunctions; the relative duality gap is"),
        ({"time_limit": 0}, "time limit.*above tol=0.001. Allow more time"),
    ):
        limited = HKLClassifier(C=100, depth_penalty=2, tol=1e-3, encoder=None, **options)
        with pytest.warns(ConvergenceWarning, match=message) as told:
            model = limited.fit(X, y)
        assert told[0].filename == __file__
        assert model.gap_ > 1e-3
        assert 0 <= model.lower_bound_ < model.objective_
        assert model.stopped_.replace("_", " ") in message
    with pytest.warns(ConvergenceWarning, match="time limit.*above tol") as told:
        fk.HKLRegressor(C=100, tol=1e-3, encoder=None, time_limit=0).fit(X, y + 0.0)
    assert told[0].filename == __file__


def test_an_interrupted_fit_keeps_the_best_so_far(monkeypatch, capsys):
    X, y = labelled(0, 150, 20, noise=0.2)

    steps = []

    def stop_at_the_third(estimator, names, k, step):
        steps.append(step)
        if len(steps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(HKLClassifier, "_report", stop_at_the_third)
    with pytest.warns(ConvergenceWarning, match=r"fit keeps the best model so far\. Its relative"):
        model = HKLClassifier(C=100, encoder=None).fit(X, y)
    assert model.stopped_ == "interrupted"
    assert len(model.history_) == 3
    assert model.predict(X).shape == (150,)
    monkeypatch.undo()
    HKLClassifier(C=1, encoder=None, verbose=1).fit(X, y)
    assert "conjunctions, objective" in capsys.readouterr().err


# -- edges ----------------------------------------------------------------------------------------


def test_one_class_constant_duplicated_and_contradictory():
    with pytest.raises(fk.DataError, match="of one class, 1"):
        HKLClassifier().fit([[0, 1], [1, 0]], [1, 1])
    with pytest.raises(fk.DataError, match="of one class"):
        HKLClassifier().fit([[0, 1], [1, 0]], [0, 1], sample_weight=[0.0, 1.0])
    X = np.array([[1, 0, 0, 0], [1, 1, 0, 1], [1, 0, 0, 0], [1, 1, 0, 1]])
    model = HKLClassifier(encoder=None, C=10).fit(X, [0, 1, 0, 1])
    assert model.score(X, [0, 1, 0, 1]) == 1
    assert [str(item.rule) for item in model.rules_] == ["x1"]
    only = HKLClassifier(encoder=None).fit(X[:, [0, 2]], [0, 1, 1, 1])
    assert only.predict(X[:, [0, 2]]).tolist() == [1, 1, 1, 1]
    assert len(only.rules_) == 0
    same = np.array([[0, 1], [0, 1], [1, 0], [1, 1]])
    both = HKLClassifier(C=100, encoder=None).fit(same, [0, 1, 1, 0])
    assert both.score(same, [0, 1, 1, 0]) == 0.75
    wide = np.eye(5, 80, dtype=int)
    assert HKLClassifier(C=100, encoder=None).fit(wide, [0, 1, 1, 0, 1]).score(
        wide, [0, 1, 1, 0, 1]
    ) == 1  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rho": 0.9}, r"rho=0\.9; expected 1 <= rho <= 2"),
        ({"rho": 2.5}, r"rho=2\.5"),
        ({"rho": float("nan")}, "rho=nan"),
        ({"C": 0}, "C=0"),
        ({"C": -1.0}, "C=-1"),
        ({"C": float("inf")}, "C=inf"),
        ({"C": "automatic"}, "C='automatic'; expected 'auto', or a number above 0"),
        ({"depth_penalty": 0.5}, "depth_penalty=0.5"),
        ({"tol": 0}, "tol=0"),
        ({"tol": 1.0}, "tol=1.0"),
        ({"max_active": 0}, "max_active=0"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"time_limit": True}, "time_limit=True"),
        ({"encoder": "none"}, "encoder='none'"),
        ({"encoder": fk.PropositionEncoder}, "is not a transformer"),
        ({"C": 1e60}, "C=1e"),
    ],
)
def test_wrong_parameters(parameters, message):
    for kind in (HKLClassifier, HKLRegressor):
        with pytest.raises(fk.ParameterError, match=message):
            kind(**parameters).fit([[0, 1], [1, 0]], [0, 1])


def test_wrong_data():
    with pytest.raises(fk.ParameterError, match="loss='squared'"):
        HKLClassifier(loss="squared").fit([[0, 1], [1, 0]], [0, 1])
    for kind in (HKLClassifier, HKLRegressor):
        with pytest.raises(fk.DataError, match="inconsistent numbers"):
            kind().fit([[0, 1], [1, 0]], [0, 1, 1])
        with pytest.raises(fk.DataError, match="the target y is None"):
            kind().fit([[0, 1], [1, 0]], None)
        with pytest.raises(NotFittedError):
            kind().predict([[0, 1]])
    with pytest.raises(fk.DataError, match="negative"):
        HKLClassifier().fit([[0, 1], [1, 0]], [0, 1], sample_weight=[1, -1])
    with pytest.raises(fk.DataError, match="use HKLClassifier"):
        HKLRegressor().fit([[0, 1], [1, 0]], ["a", "b"])
    with pytest.raises(fk.DataError, match="at least one non-zero number"):
        HKLRegressor().fit([[0, 1], [1, 0]], [1, 2], sample_weight=[0, 0])


@pytest.mark.parametrize("kind", [HKLClassifier, HKLClassifierCV, fk.PRLClassifier])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["a", None, "b", "b"], dtype=object), "row 1 is missing"),
        (np.array([1, "a", "a", 1], dtype=object), "one class per row"),
        (np.array([b"a", b"b", b"a", b"b"]), "bytes is not supported"),
        (np.array([0.0, np.nan, 1.0, 1.0]), "NaN"),
        (np.array([0.1, 0.2, 0.3, 0.4]), "Unknown label type"),
        (np.zeros((4, 2)), "1d array"),
    ],
)
def test_what_is_no_class(kind, y, message):
    with pytest.raises(fk.DataError, match=message):
        kind().fit([[0, 1], [1, 0], [1, 1], [0, 0]], y)


@pytest.mark.parametrize("kind", [HKLClassifier, fk.PRLClassifier])
@pytest.mark.parametrize(
    "given", [{5: 1.0}, "all", [1, 2], {0: np.nan, 1: 1.0}, {0: np.inf, 1: 1.0}, {0: -1, 1: 1}]
)
def test_wrong_class_weights(kind, given):
    with pytest.raises(fk.DataError, match="class_weight"):
        kind(class_weight=given).fit([[0, 1], [1, 0]], [0, 1])


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_extremes_do_not_overflow():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (60, 250))
    y = X[:, 0] & X[:, 1]
    deep = HKLClassifier(encoder=None, C=1e3, depth_penalty=100).fit(X, y)
    assert deep.stopped_ == "optimal"
    for rho in (1.0001, 1.001):
        assert HKLClassifier(rho=rho, C=10).fit(X[:, :6], y).stopped_ == "optimal"
    with pytest.warns(ConvergenceWarning, match="gap is .* larger tol, or a smaller C"):
        huge = HKLClassifier(C=1e50, time_limit=0.1).fit(X[:, :6], y)
    assert huge.lower_bound_ <= huge.objective_
    with pytest.raises(fk.DataError, match="another unit"):
        HKLRegressor().fit(X[:, :6], np.where(y, 1e308, -1e308))


def test_rules_against_all_others_say_so():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (60, 4))
    y = np.where(X[:, 0] == 1, generator.integers(1, 3, 60), 0)
    model = HKLClassifier(C=10).fit(X, y)
    text = str(model.explain(X[:1]))
    assert text.startswith("class ")
    assert "  x0" in text
    assert any(item.weight < 0 for item in model.rules_)


def test_sparse_pickle_clone_and_history():
    X, y = labelled(0, 80, 8)
    dense = HKLClassifier(C=3, tol=1e-3, encoder=None).fit(X, y)
    sparse = HKLClassifier(C=3, tol=1e-3).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), dense.decision_function(X)
    )
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.decision_function(X), dense.decision_function(X))
    assert clone(dense).get_params() == dense.get_params()
    assert dense.history_[-1].gap <= 1e-3
    frame = dense.history_.to_frame()
    assert frame["n_nodes"].tolist() == [step.n_nodes for step in dense.history_]
    assert str(dense.history_).count("\n") == len(dense.history_) == dense.n_iter_
    pytest.importorskip("matplotlib")
    assert dense.history_.plot().get_yscale() == "log"


def test_explanations_add_up():
    X, y = labelled(0, 120, 6)
    model = HKLClassifier(C=10, encoder=None).fit(X, y)
    for row in range(8):
        found = model.explain(X[row : row + 1])
        assert found.prediction == model.predict(X[row : row + 1])[0]
        assert found.scores[1] == pytest.approx(model.decision_function(X[row : row + 1])[0])
        signs = [1 if item.winner == 1 else -1 for item in found.rules]
        total = sum(s * c for s, c in zip(signs, found.contributions, strict=True))
        assert total + model.intercept_[0] == pytest.approx(found.scores[1])
    every = model.explain(X)
    sums = every.added(1).sum(axis=1) + every.intercept[1]
    np.testing.assert_allclose(sums, model.decision_function(X))
    numbers = HKLRegressor(C=10, encoder=None).fit(X, 5.0 + 3 * y)
    found = numbers.explain(X[:1])
    assert found.prediction == pytest.approx(numbers.predict(X[:1])[0])
    assert "every row (the intercept)" in str(found)
    every = numbers.explain(X)
    sums = every.added().sum(axis=1) + every.intercept[0]
    np.testing.assert_allclose(sums, numbers.predict(X))


def test_linear_terms():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 71, 300), "kind": rng.choice(["a", "b"], 300)})
    z = (X["age"] - 45) / 10 + 1.5 * (X["kind"] == "a") + rng.logistic(size=300)
    y = np.where(z > 0.7, "yes", "no")
    model = HKLClassifier(C=3).fit(X, y)
    lines = {str(item.rule): item for item in model.rules_}
    assert lines["age from 21 to 69"].winner == "yes"
    assert 0.07 < lines["age from 21 to 69"].weight / 48 < 0.13  # the truth is 0.1 for each year
    np.testing.assert_array_equal(model.rules_.predict(X), model.predict(X))
    np.testing.assert_allclose(model.rules_.scores(X)[:, 1], model.decision_function(X))
    kept = fk.RuleEnsemble.from_json(model.rules_.to_json())
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    far = pd.DataFrame({"age": [0, 21, 69, 200, np.nan], "kind": list("aaaaa")})
    scores = model.decision_function(far)
    assert scores[0] == scores[1] < scores[2] == scores[3]
    assert model.predict(far)[4] == model.predict(far)[0]  # a missing number counts as the least
    explained = model.explain(far[1:2])
    assert explained.scores["yes"] == pytest.approx(scores[1])
    steps = HKLClassifier(linear=False).fit(X, y)
    assert all(isinstance(item.rule, fk.Rule) for item in steps.rules_)
    number = HKLRegressor(C=1).fit(X, z)
    assert "age from 21 to 69" in {str(item.rule) for item in number.rules_}
    np.testing.assert_allclose(number.rules_.predict(X), number.predict(X))
    three = HKLClassifier().fit(X, np.digitize(z, [-1, 2]))
    np.testing.assert_array_equal(three.rules_.predict(X), three.predict(X))


def test_the_automatic_penalty_falls_with_the_root_of_the_number_of_rows():
    X, y = labelled(0, 100, 3)
    assert pytest.approx(600) == HKLClassifier(encoder=None).fit(X, y).C_
    heavy = HKLClassifier(encoder=None).fit(X, y, sample_weight=np.full(100, 4.0))
    assert pytest.approx(300) == heavy.C_
    assert HKLClassifier(C=3, encoder=None).fit(X, y).C_ == 3


# -- numbers --------------------------------------------------------------------------------------


def test_regression_in_any_units():
    rng = np.random.default_rng(0)
    X = (rng.random((120, 6)) < 0.5).astype(int)
    y = 3.0 * (X[:, 1] & X[:, 4]) - 2.0 * X[:, 0] + 0.1 * rng.normal(size=120)
    model = HKLRegressor(rho=1.1, C=100, depth_penalty=1.5, tol=1e-3, encoder=None).fit(X, y)
    assert model.gap_ <= 1e-3
    assert model.score(X, y) > 0.98
    other = HKLRegressor(rho=1.1, C=100, depth_penalty=1.5, tol=1e-3, encoder=None).fit(
        X, 1e6 - 1e3 * y
    )
    assert other.gap_ <= 1e-3
    assert 1e6 * model.lower_bound_ <= other.objective_ * (1 + 1e-9)
    assert other.lower_bound_ <= 1e6 * model.objective_ * (1 + 1e-9)
    # the squared loss is strongly convex: 100 ‖f − f*‖² is at most the gap
    gaps = [model.objective_ - model.lower_bound_, (other.objective_ - other.lower_bound_) / 1e6]
    apart = np.linalg.norm(1e3 - other.predict(X) / 1e3 - model.predict(X))
    assert apart <= np.sqrt(np.array(gaps) / 100).sum() + 1e-6
    loss = 100 * np.sum((y - model.predict(X)) ** 2)
    assert loss < model.objective_
    kept = X[:, model._encoding.kept]
    p = kept.shape[1]
    nodes = [v for size in range(p + 1) for v in combinations(range(p), size)]
    columns = np.stack([kept[:, list(v)].all(axis=1) for v in nodes], axis=1)
    whole = solved_on(
        columns, nodes, y, rho=1.1, C=100, depth_penalty=1.5, loss="squared", tol=1e-4
    )
    assert whole.lower_bound <= model.objective_ * (1 + 1e-9)
    assert model.lower_bound_ <= whole.objective * (1 + 1e-9)
    np.testing.assert_allclose(
        model.rules_.scores(pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]))[:, 0],
        model.predict(X),
    )


def test_numbers_that_do_not_vary():
    X = np.array([[0, 1], [1, 0], [1, 1]])
    for constant in (0.0, 7.5, 1e9):
        model = HKLRegressor(encoder=None).fit(X, np.full(3, constant))
        assert model.predict(X).tolist() == [constant] * 3
        assert (len(model.rules_), model.gap_, model.stopped_) == (0, 0.0, "optimal")


HINGE = {"loss": "hinge", "encoder": None}


def planted(seed, lengths, m=1000, p=50, noise=0.05):
    """The label is an OR of conjunctions of these lengths, flipped for a share of the rows."""
    rng = np.random.default_rng(seed)
    X = (rng.random((m, p)) < 0.5).astype(np.uint8)
    sizes = rng.integers(1, 4, 3) if lengths == "up to three" else [lengths] * 3
    truth = [tuple(sorted(rng.choice(p, size, replace=False).tolist())) for size in sizes]
    clean = np.any([X[:, list(w)].all(axis=1) for w in truth], axis=0)
    return X, clean ^ (rng.random(m) < noise), truth


@pytest.mark.filterwarnings("ignore:stopped by the node limit")  # the bound is loose for a = 1
def test_planted_conjunctions_are_recovered():
    """They are the three heaviest rules, and classify rows without noise."""
    for seed, lengths in enumerate([3, "up to three"]):
        X, y, truth = planted(seed, lengths)
        model = HKLClassifier(rho=1.1, C=6.0, depth_penalty=1.0, tol=0.05, max_active=30, **HINGE)
        model.fit(X, y)
        Z = planted(seed + 1000, lengths)[0]
        wanted = np.any([Z[:, list(w)].all(axis=1) for w in truth], axis=0)
        heaviest = {item.rule.columns for item in model.rules_.head(3)}
        assert heaviest == {tuple(f"x{j}" for j in w) for w in truth}
        assert np.mean(model.predict(Z) == wanted) > 0.98


def test_planted_pairs_are_recovered_and_certified():
    for seed in range(4):
        X, y, truth = planted(seed, 2, p=100)
        model = HKLClassifier(C=2.0, depth_penalty=1.5, tol=0.02, **HINGE).fit(X, y)
        heaviest = {item.rule.columns for item in model.rules_.head(3)}
        assert heaviest == {tuple(f"x{j}" for j in w) for w in truth}
        assert model.gap_ <= 0.02


@pytest.mark.parametrize(
    ("columns", "large", "words"),
    [
        (3, 120, "all conjunctions of its propositions, cut at every gap between two values."),
        (3, 119, "all conjunctions of at most 2 conditions of its propositions, cut at every gap"),
        (100, 10**6, "all conjunctions of at most 2 conditions of its propositions, cut at every"),
    ],
)
def test_the_certificate_names_what_the_proof_is_over(monkeypatch, columns, large, words):
    monkeypatch.setattr(lasso, "MAX_TRIPLE_ENTRIES", large)
    X = np.random.default_rng(0).random((40, columns))
    model = HKLClassifier(C=3.0).fit(X, X[:, 0] + X[:, 1] > 1)
    assert words in model.certificate_
    assert model.gap_ <= model.tol


def test_a_long_proof_ends_with_pairs(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 6)), rng.random(200) < 0.5
    options = {"C": 100.0, "depth_penalty": 1.5, "max_rules": None}
    whole = HKLClassifier(**options).fit(X, y)
    assert "at most 2" not in whole.certificate_
    monkeypatch.setattr(lasso, "MAX_PROOF_WORK", 0.0)
    model = HKLClassifier(**options).fit(X, y)
    assert model.gap_ <= model.tol
    assert model.stopped_ == "optimal"
    assert model.certificate_.endswith(
        "all conjunctions of at most 2 conditions of its propositions, cut at every gap between "
        "two values, and the longer ones that were found."
    )
    assert model.objective_ >= whole.lower_bound_


def test_tables_with_rules_of_two_conditions_have_a_smaller_depth_penalty(monkeypatch):
    X = np.random.default_rng(0).random((60, 3))
    y = (X[:, 0] > 0.5) & (X[:, 1] > 0.5)
    small = HKLClassifier(linear=False).fit(X, y)
    np.testing.assert_allclose(small.C_, 6000 / 60**0.5)
    monkeypatch.setattr(lasso, "MAX_TRIPLE_ENTRIES", 0)
    large = HKLClassifier(linear=False).fit(X, y)
    np.testing.assert_allclose(large.C_, 0.75 * small.C_)
    again = HKLClassifier(linear=False, C=large.C_, depth_penalty=2).fit(X, y)
    assert again.rules_ == large.rules_
    assert HKLClassifier(C=5.0).fit(X, y).C_ == 5.0


def test_the_certificate_of_words_has_no_cuts():
    model = HKLClassifier().fit({"kind": ["a", "b", "c"] * 6}, ["yes", "no", "no"] * 6)
    assert model.certificate_.endswith(
        "above the minimum over all conjunctions of its propositions."
    )


def test_cut_points_lie_at_the_very_gap():
    """Two thousand numbers; those between two of them have a class of their own."""
    x = np.random.default_rng(0).permutation(2000.0 + np.arange(2000))
    y = (x >= 2617) & (x < 3211)
    model = HKLClassifier(linear=False).fit({"x": x}, y)
    assert {str(item.rule) for item in model.rules_} == {"x >= 3211", "x <= 2616"}
    assert (model.predict({"x": x}) == y).all()


def test_the_largest_depth_penalties():
    X, y = labelled(0, 60, 4)
    for a in (1e6, 1e30):
        model = HKLClassifier(depth_penalty=a, tol=0.05).fit(np.column_stack([X, X[:, 0] * 3]), y)
        assert model.gap_ <= 0.05
