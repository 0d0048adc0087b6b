"""PRLClassifierCV: its choices and their scores, against the same computed by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score, get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import PRLClassifier, PRLClassifierCV
from formulakern.estimators.path_search import Trial
from formulakern.estimators.prl.cross_validation import Setting

WEIGHTS = "cut points are quantiles of the unweighted rows, and folds do not see weights"


@parametrize_with_checks(
    [PRLClassifierCV([1.0], [1], tol=0.1, cv=2, encoder=fk.PropositionEncoder(cut_points=3))],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    },
)
def test_scikit_learn_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="no rule has weight")
        check(estimator)


def table(seed=0, m=120):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"v{j}": rng.choice(["a", "b", "c"], m) for j in range(5)})
    clean = (X["v0"] == "a") & (X["v1"] != "b") | (X["v2"] == "c")
    return X, np.where(clean ^ (rng.random(m) < 0.1), "yes", "no")


def test_scores_are_those_of_the_folds():
    X, y = table()
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    models = {}

    def scoring(model, rows, classes):
        setting = model.C, model.degree, model.depth_penalty
        models.setdefault(setting, []).append(model)
        return get_scorer("f1_macro")(model, rows, classes)

    options = {"scoring": scoring, "cv": folds, "tol": 1e-4, "max_rules": None}
    search = PRLClassifierCV([0.5, 0.1], (2, 1), (1, 3), **options).fit(X, y)
    results = search.cv_results_
    assert results["C"].tolist() == [0.1, 0.5] * 3
    assert results["degree"].tolist() == [1, 1, 2, 2, 2, 2]
    assert results["depth_penalty"].tolist() == [1, 1, 1, 1, 3, 3]
    for k, (train, test) in enumerate(folds.split(X, y)):
        for place in range(6):
            C, degree, a = (results[name][place] for name in ("C", "degree", "depth_penalty"))
            model = models[C, degree, a][k]
            score = f1_score(y[test], model.predict(X.iloc[test]), average="macro")
            assert results[f"split{k}_score"][place] == pytest.approx(score, abs=1e-12)
            alone = PRLClassifier(degree=int(degree), C=C, depth_penalty=a, tol=0.03)
            alone.set_params(max_rules=None)
            alone.fit(X.iloc[train], y[train])
            assert model.gap_ <= 0.03 * model.bound_
            assert model.value_ <= alone.bound_ * (1 + 1e-6)
            assert alone.value_ <= model.bound_ * (1 + 1e-6)
    means = np.mean([results[f"split{k}_score"] for k in range(3)], axis=0)
    np.testing.assert_allclose(results["mean_score"], means)
    assert search.best_score_ == means.max()
    assert (results["certified"] == 1).all()
    chosen = {"C": search.C_, "degree": search.degree_, "depth_penalty": search.depth_penalty_}
    assert chosen == {name: results[name][search.best_index_] for name in chosen}
    again = PRLClassifier(**chosen, tol=1e-4).fit(X, y)
    assert search.value_ == again.value_
    np.testing.assert_array_equal(search.decision_function(X), again.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_default_score_is_the_calibrated_log_likelihood(n_classes):
    X, y = table(1)
    if n_classes == 3:
        y = np.where(X["v4"] == "a", "perhaps", y)
    folds = StratifiedKFold(3, shuffle=True, random_state=2)
    options = {"tol": 0.05, "max_rules": None}
    search = PRLClassifierCV([0.3], [2], cv=folds, **options).fit(X, y)
    classes, codes = np.unique(y, return_inverse=True)
    votes = np.zeros((len(y), n_classes))
    for train, test in folds.split(X, y):
        model = PRLClassifier(C=0.3, **options).fit(X.iloc[train], y[train])
        scores = model.rules_.scores(X.iloc[test])
        votes[test] = (scores if n_classes == 3 else scores / 2) / margin_of(model, X, y, train)
    weights = np.bincount(codes)[codes] ** -0.5
    grid = np.geomspace(0.05, 20, 2000)
    logs = grid[:, None, None] * votes
    logs -= np.logaddexp.reduce(logs, axis=2)[:, :, None]
    values = logs[:, np.arange(len(y)), codes] @ weights / weights.sum()
    assert search.best_score_ == pytest.approx(values.max(), abs=2e-4)
    assert search.temperature_ == pytest.approx(grid[values.argmax()], rel=0.02)
    probabilities = search.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (classes[probabilities.argmax(axis=1)] == search.predict(X)).all()


def margin_of(model, X, y, train):
    """The scale s of the votes u for which Σ s·u + C Σ ξ, margins of s·u at least 1 − ξ, is least.

    ``value_`` is 1 over this, for votes whose sum is 1.
    """
    scores = model.rules_.scores(X.iloc[train])
    right = np.searchsorted(model.classes_, y[train])
    own = scores[np.arange(len(train)), right]
    rivals = np.delete(np.arange(len(model.classes_)), 0)
    margins = np.array([own - scores[np.arange(len(train)), (right + k) % len(model.classes_)]
                        for k in rivals]).ravel()  # fmt: skip
    total = sum(
        item.weight * 2.0 ** max(len(getattr(item.rule.formula, "leaves", ())) - 1, 0)
        for item in model.rules_
    )
    grid = np.geomspace(0.1, 1e4, 200_000)
    losses = [s * total + model.C_ * np.maximum(0, 1 - s * margins).sum() for s in grid[::100]]
    near = grid[max(0, 100 * int(np.argmin(losses)) - 200) :][:400]
    losses = [s * total + model.C_ * np.maximum(0, 1 - s * margins).sum() for s in near]
    return 1 / near[int(np.argmin(losses))]


def test_calibration_of_votes():
    rng = np.random.default_rng(0)
    votes = rng.normal(size=(4000, 3))
    probabilities = np.exp(1.7 * votes)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    codes = (probabilities.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
    t, values = PRLClassifierCV()._calibrated(votes, codes)
    weights = np.bincount(codes)[codes] ** -0.5
    assert t == pytest.approx(1.7, rel=0.06)
    assert values.mean() == pytest.approx(
        np.average(np.log(probabilities[np.arange(4000), codes]), weights=weights), abs=1e-3
    )


def trial(scores, rules, several=True):
    shapes = np.array([[rules, 1.0, 1.0, 1.0]] * 3)
    return Trial(np.array(scores), np.array(scores[:3]), shapes, 1.0, several)


def test_the_rule_of_one_standard_error():
    search = PRLClassifierCV(selection="1se", max_rules=None)
    rows = np.random.default_rng(0).normal(size=99)
    rows -= rows.mean()
    noise = np.resize([0.3, -0.3, 0.0], 99)  # of the differences: a standard error of 0.0248
    trials = [
        trial(rows - 0.5, 1.0),
        trial(rows, 9.0),
        trial(rows + noise - 0.02, 5.0),
        trial(rows + noise - 0.01, 5.0),
        trial(rows + noise - 0.03, 4.0),
        None,
    ]
    settings = [Setting(float(k), 2, 2.0) for k in range(6)]
    left = [0, 1, 2, 3, 4]
    search._choose(settings, trials, left)
    assert search.best_index_ == 3  # 0.01 and 0.02 behind are near; of five rules each the better
    results = search.cv_results_
    np.testing.assert_allclose(results["behind"][:5], [0.5, 0, 0.02, 0.01, 0.03])
    assert results["error"][2] == pytest.approx(noise.std(ddof=1) / 99**0.5)
    assert np.isnan(results["mean_score"][5])
    assert np.isnan(results["certified"][5])
    search.selection = "best"
    search._choose(settings, trials, left)
    assert search.best_index_ == 1
    trials[1] = trial(rows, 9.0, False)  # of one class
    search._choose(settings, trials, left)
    assert search.best_index_ == 3
    search._choose(settings[:2], [trials[1], None], [0])
    assert search.best_index_ == 0
    trials[1] = trial(rows, 9.0)
    trials[3] = trial(rows, 5.0)  # of equal scores the fewest rules
    search._choose(settings, trials, left)
    assert search.best_index_ == 3


def test_one_class_for_all_rows_is_passed_over(monkeypatch):
    X, y = table(0, 60)
    solve = PRLClassifier._solve

    def constant(self, encoded, *arguments, **options):
        columns = solve(self, encoded, *arguments, **options)
        if encoded.n_rows == 60 and self.degree == 1:
            self._set_rules([], self.classes_.tolist())
        return columns

    options = {"Cs": [0.1, 1.0], "degrees": [1, 2], "cv": 2}
    before = PRLClassifierCV(**options, scoring=lambda model, *_: 1 / model.degree).fit(X, y)
    assert before.degree_ == 1
    monkeypatch.setattr(PRLClassifier, "_solve", constant)
    search = PRLClassifierCV(**options, scoring=lambda model, *_: 1 / model.degree).fit(X, y)
    assert search.degree_ == 2
    assert search.best_score_ == 0.5
    assert len({*search.predict(X)}) == 2
    search = PRLClassifierCV(**{**options, "degrees": [1]}).fit(X, y)
    assert len({*search.predict(X)}) == 1


def test_paths_start_from_columns_of_before(monkeypatch):
    """Their first game has the columns of the game before; with and without them, V* is one."""
    X, y = table(2)
    fitted, starts = PRLClassifierCV.fit_fold, []

    def compared(fold, model, known, deadline):
        [cold], _ = fitted(fold, clone(model), (), deadline)
        [warm], columns = fitted(fold, model, known, deadline)
        starts.append(len(known or ()))
        assert not known or warm.history_[0].columns == len(known)
        assert warm.value_ <= cold.bound_ * (1 + 1e-6)
        assert cold.value_ <= warm.bound_ * (1 + 1e-6)
        return [warm], columns

    monkeypatch.setattr(PRLClassifierCV, "fit_fold", staticmethod(compared))
    PRLClassifierCV([0.05, 0.2], degrees=[1, 2], cv=3, max_rules=None).fit(X, y)
    assert starts[:3] == starts[6:9] == [0, 0, 0]
    assert all(starts[3:6] + starts[9:])


def test_interrupt_keeps_the_best_setting(monkeypatch):
    X, y = table(0, 60)
    fitted, calls = PRLClassifierCV.fit_fold, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return fitted(*arguments)

    monkeypatch.setattr(PRLClassifierCV, "fit_fold", staticmethod(interrupted))
    with pytest.warns(UserWarning, match="interrupted after 1 of 2 settings"):
        search = PRLClassifierCV(cv=3).fit(X, y)
    assert search.degree_ == 1
    assert search.score(X, y) > 0.5
    calls[:] = [1] * 4
    with pytest.raises(KeyboardInterrupt):
        PRLClassifierCV(cv=3).fit(X, y)


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_other_scores_tables_and_weights(capsys):
    X, y = table(1, 60)
    options = {"Cs": [0.1, 0.5], "degrees": [1], "cv": 3, "tol": 0.05}
    search = PRLClassifierCV(scoring="roc_auc", verbose=1, **options).fit(X, y)
    assert capsys.readouterr().err.count("score") == 2
    assert (search.cv_results_["mean_score"] > 0.5).all()
    ones = (X == "a").astype(int)
    frame = PRLClassifierCV(encoder=None, **options).fit(ones, y)
    array = PRLClassifierCV(encoder=None, **options).fit(ones.to_numpy(), y)
    np.testing.assert_allclose(frame.predict_proba(ones), array.predict_proba(ones.to_numpy()))
    per_fold = PRLClassifierCV(encoder=OneHotEncoder(handle_unknown="ignore"), **options).fit(X, y)
    assert per_fold.score(X, y) > 0.7
    heavy = np.where(y == "yes", 50.0, 1.0)
    options = {"Cs": [0.01], "degrees": [1], "cv": 3, "max_rules": None}
    weighted = PRLClassifierCV(**options).fit(X, y, sample_weight=heavy)
    assert np.mean(weighted.predict(X) == "yes") > 0.8
    few = PRLClassifierCV([0.5], [1], cv=2, max_rules=2).fit(X, y)
    assert len(few.rules_) <= 2
    np.testing.assert_array_equal(few.rules_.predict(X), few.predict(X))


def test_the_number_of_rules_is_chosen():
    """The largest models of the folds are those of fits with this limit; smaller ones are near."""
    X, y = table(2)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    search = PRLClassifierCV([0.3], [2], cv=folds, max_rules=5, scoring="f1_macro").fit(X, y)
    results = search.cv_results_
    assert results["max_rules"].tolist() == [1, 2, 3, 5]
    assert (results["mean_rules"] <= results["max_rules"]).all()
    for place, most in enumerate([1, 2, 3, 5]):
        right = []
        for train, test in folds.split(X, y):
            model = PRLClassifier(C=0.3, max_rules=most, tol=0.03)
            model._valued = False  # as in folds
            model.fit(X.iloc[train], y[train])
            assert len(model.rules_) <= most
            right.append(np.mean(model.predict(X.iloc[test]) == y[test]))
        within = 1e-12 if most == 5 else 0.1
        assert results["accuracy"][place] == pytest.approx(np.mean(right), abs=within)
    path = search.path_
    assert [step.n_rules for step in path][-1] == len(search.rules_)
    assert [step.accuracy for step in path] == results["accuracy"][: len(path)].tolist()
    chosen = search.best_estimator_.max_rules
    assert chosen == results["max_rules"][search.best_index_]
    again = PRLClassifier(C=0.3, max_rules=int(chosen)).fit(X, y)
    assert str(search.rules_) == str(again.rules_)
    assert search.value_ == again.value_ == path[-1].objective
    assert "right, held out" in str(path)
    assert fk.plot.accuracy_by_rules(search).get_xlabel() == "number of rules"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": []}, r"Cs=\[\]"),
        ({"Cs": [0.0]}, r"Cs=\[0.0\]"),
        ({"Cs": ["1"]}, "Cs="),
        ({"Cs": "automatic"}, "Cs='automatic'"),
        ({"degrees": [0]}, r"degrees=\[0\]"),
        ({"degrees": [1.5]}, "degree=1.5"),
        ({"depth_penalties": [0.5]}, r"depth_penalties=\[0.5\]"),
        ({"selection": "worst"}, "selection='worst'"),
        ({"tol": -1}, "tol=-1"),
        ({"cv": 1}, "cv=1"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y = table(0, 30)
    with pytest.raises(fk.ParameterError, match=message):
        PRLClassifierCV(**parameters).fit(X, y)


def test_wrong_data():
    X, _ = table(0, 30)
    with pytest.raises(fk.DataError, match=r"2 classes of \[1, 29\] rows for 3 folds"):
        PRLClassifierCV().fit(X, np.where(np.arange(30) < 1, "rare", "often"))
    with pytest.raises(fk.DataError, match="of one class"):
        PRLClassifierCV().fit(X, np.zeros(30))
    with pytest.raises(NotFittedError):
        PRLClassifierCV().predict(X)
