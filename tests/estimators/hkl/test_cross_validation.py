"""HKLClassifierCV: its choices and their scores, against the same computed by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score, get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import HKLClassifier, HKLClassifierCV
from formulakern.estimators.hkl.cross_validation import Pair, calibrated
from formulakern.estimators.path_search import Trial

WEIGHTS = "cut points are quantiles of the unweighted rows, and folds do not see weights"


@parametrize_with_checks(
    [HKLClassifierCV([30.0], [2.0], tol=0.1, encoder=fk.PropositionEncoder(cut_points=2), cv=2)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    },
)
def test_scikit_learn_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def table(seed=0, m=150):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"v{j}": rng.choice(["a", "b", "c"], m) for j in range(5)})
    clean = (X["v0"] == "a") & (X["v1"] != "b") | (X["v2"] == "c")
    return X, np.where(clean ^ (rng.random(m) < 0.1), "yes", "no")


def test_scores_are_those_of_the_folds():
    X, y = table()
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    models = {}

    def scoring(model, rows, classes):
        models.setdefault((model.C, model.depth_penalty), []).append(model)
        return get_scorer("f1_macro")(model, rows, classes)

    options = {"scoring": scoring, "cv": folds, "tol": 1e-3, "max_rules": None}
    search = HKLClassifierCV([30, 3], (4, 2), **options).fit(X, y)
    results = search.cv_results_
    assert results["C"].tolist() == [3, 30, 3, 30]
    assert results["depth_penalty"].tolist() == [2, 2, 4, 4]
    for k, (train, test) in enumerate(folds.split(X, y)):
        for place in range(4):
            C, a = results["C"][place], results["depth_penalty"][place]
            model = models[C, a][k]
            score = f1_score(y[test], model.predict(X.iloc[test]), average="macro")
            assert results[f"split{k}_score"][place] == pytest.approx(score, abs=1e-12)
            alone = HKLClassifier(C=C, depth_penalty=a, tol=0.02, max_rules=None)
            alone.fit(X.iloc[train], y[train])
            assert model.gap_ == 1  # nothing is proven in a fold
            assert alone.gap_ <= 0.02
            assert model.objective_ <= alone.objective_ * 1.05
            assert alone.lower_bound_ <= model.objective_ * (1 + 1e-9)
    means = np.mean([results[f"split{k}_score"] for k in range(3)], axis=0)
    np.testing.assert_allclose(results["mean_score"], means)
    assert search.best_score_ == means.max()
    assert (search.C_, search.depth_penalty_) == (
        results["C"][search.best_index_],
        results["depth_penalty"][search.best_index_],
    )
    options = {"C": search.C_, "depth_penalty": search.depth_penalty_, "tol": 1e-3}
    again = HKLClassifier(**options, max_rules=None).fit(X, y)
    assert search.best_estimator_.objective_ == again.objective_
    np.testing.assert_array_equal(search.best_estimator_.predict(X), again.predict(X))


def test_the_default_score_is_the_calibrated_log_likelihood():
    X, y = table(1)
    folds = StratifiedKFold(3, shuffle=True, random_state=2)
    search = HKLClassifierCV([30.0], [4.0], cv=folds, tol=0.05).fit(X, y)
    models = [
        (HKLClassifier(C=30.0, depth_penalty=4.0, tol=0.05).fit(X.iloc[train], y[train]), test)
        for train, test in folds.split(X, y)
    ]
    scores = np.zeros(len(y))
    for model, test in models:
        scores[test] = model.decision_function(X.iloc[test]) + model.adjustment_[1]
    share = np.mean(y == "yes")
    base = np.log(share / (1 - share))
    grid = np.linspace(0.05, 20, 4000)
    stretched = base + grid[:, None] * (scores - base)
    signs, weights = np.where(y == "yes", 1, -1), np.where(y == "yes", share, 1 - share) ** -0.5
    values = -np.logaddexp(0, -signs * (stretched - 0.5 * base)) @ weights / weights.sum()
    assert search.best_score_ == pytest.approx(values.max(), abs=1e-4)
    t = search.temperature_
    assert t == pytest.approx(grid[values.argmax()], abs=0.02)
    # decisions are those of the best estimator, probabilities are stretched
    decision = search.best_estimator_.decision_function(X)
    np.testing.assert_allclose(search.decision_function(X), t * decision)
    whole = base + t * (decision + search.best_estimator_.adjustment_[1] - base)
    np.testing.assert_allclose(search.predict_proba(X)[:, 1], 1 / (1 + np.exp(-whole)))


def trial(scores, rules):
    shapes = np.array([[rules, 1.0, 0.0, 1.0]] * 3)
    return Trial(np.array(scores), np.array(scores[:3]), shapes, 1.0)


def test_the_rule_of_one_standard_error():
    search = HKLClassifierCV(selection="1se", max_rules=None)
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
    pairs = [Pair(float(k), 2.0) for k in range(6)]
    search._choose(pairs, trials)
    assert search.best_index_ == 3  # 0.01 and 0.02 behind are near; of five rules each the better
    results = search.cv_results_
    np.testing.assert_allclose(results["behind"][:5], [0.5, 0, 0.02, 0.01, 0.03])
    assert results["error"][2] == pytest.approx(noise.std(ddof=1) / 99**0.5)
    assert np.isnan(results["mean_score"][5])
    assert np.isnan(results["mean_rules"][5])
    search.selection = "best"
    search._choose(pairs, trials)
    assert search.best_index_ == 1
    trials[2] = trial(rows + noise - 0.003, 5.0)  # more than a tenth of the standard error
    search._choose(pairs, trials)
    assert search.best_index_ == 1
    trials[3] = trial(rows + noise - 0.002, 5.0)  # less: the further rules have no effect
    search._choose(pairs, trials)
    assert search.best_index_ == 3


@pytest.mark.parametrize("limit", [50.0, 5.0])
def test_unfinished_fits_are_not_compared(monkeypatch, limit):
    """A time limit that ends the fits of some C; without any finished fit C is the default."""
    usual = HKLClassifier._fit_functions

    def ended(self, *given):
        rows = usual(self, *given)
        if not self._proves and limit < self.C:
            self.stopped_ = "time_limit"
        return rows

    monkeypatch.setattr(HKLClassifier, "_fit_functions", ended)
    X, y = table(3)
    with pytest.warns(ConvergenceWarning, match=f"after {int(limit > 30)} of 2 settings"):
        search = HKLClassifierCV([30.0, 100.0], [2.0], cv=3).fit(X, y)
    assert search.C_ == 30.0
    scores = search.cv_results_["mean_score"]
    assert np.isnan(scores).tolist() == (search.cv_results_["C"] > limit).tolist()
    assert len(search.rules_) > 1


def test_fewer_rules_within_one_standard_error():
    X, y = table(3)
    options = {"Cs": [1, 10, 100], "depth_penalties": [2, 4], "cv": 3}
    best = HKLClassifierCV(**options).fit(X, y)
    small = HKLClassifierCV(selection="1se", **options).fit(X, y)
    np.testing.assert_allclose(best.cv_results_["mean_score"], small.cv_results_["mean_score"])
    rules = best.cv_results_["mean_rules"]
    near = small.cv_results_["behind"] <= small.cv_results_["error"]
    assert rules[small.best_index_] == rules[near].min() <= rules[best.best_index_]
    assert small.best_score_ <= best.best_score_
    splits = [best.cv_results_[f"split{k}_score"] for k in range(3)]
    np.testing.assert_allclose(best.cv_results_["std_score"], np.std(splits, axis=0))
    assert small.score(X, y) > 0.75


def test_the_automatic_settings():
    X, y = table(1, 90)
    plain = HKLClassifier().fit(X, y)
    results = HKLClassifierCV().fit(X, y).cv_results_
    pairs = {*zip(np.round(results["C"] / plain.C_, 6), results["depth_penalty"], strict=True)}
    assert pairs == {(0.3, 1), (3, 1), (0.3, 2)}
    results = HKLClassifierCV(depth_penalties=[3.0]).fit(X, y).cv_results_
    np.testing.assert_allclose(np.unique(results["C"]), [0.3 * plain.C_, 3 * plain.C_])
    results = HKLClassifierCV([5.0]).fit(X, y).cv_results_
    assert set(results["depth_penalty"]) == {1, 2}
    numbers = X.assign(number=np.arange(90.0))
    plain = HKLClassifier().fit(numbers, y)
    results = HKLClassifierCV().fit(numbers, y).cv_results_
    np.testing.assert_allclose(results["C"], plain.C_)
    assert set(results["depth_penalty"]) == {2, 4}


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_other_scores_losses_tables_and_weights(capsys):
    X, y = table(1, 90)
    options = {"Cs": [1, 10], "depth_penalties": [2], "cv": 3, "tol": 0.02}
    search = HKLClassifierCV(scoring="neg_log_loss", verbose=1, **options).fit(X, y)
    assert search.predict_proba(X).shape == (90, 2)
    assert (search.cv_results_["mean_score"] < 0).all()
    assert capsys.readouterr().err.count("score") == 2
    assert not hasattr(HKLClassifierCV(loss="hinge"), "predict_proba")
    ones = (X == "a").astype(int)
    frame = HKLClassifierCV(encoder=None, loss="hinge", **options).fit(ones, y)
    array = HKLClassifierCV(encoder=None, loss="hinge", **options).fit(ones.to_numpy(), y)
    np.testing.assert_allclose(frame.decision_function(ones), array.decision_function(ones.values))
    assert frame.feature_names_in_.tolist() == list(ones.columns)
    assert not hasattr(array, "feature_names_in_")
    per_fold = HKLClassifierCV(encoder=OneHotEncoder(handle_unknown="ignore"), **options).fit(X, y)
    assert per_fold.score(X, y) > 0.7
    heavy = np.where(y == "yes", 50.0, 1.0)
    weighted = HKLClassifierCV([0.1], tol=0.02, logit_adjustment=0).fit(X, y, sample_weight=heavy)
    assert (weighted.predict(X) == "yes").all()
    three = np.where(X["v4"] == "a", "perhaps", y)
    search = HKLClassifierCV([30], tol=0.02).fit(X, three)
    assert set(search.predict(X)) == {"yes", "no", "perhaps"}
    np.testing.assert_array_equal(search.rules_.predict(X), search.predict(X))
    assert search.explain(X[:1]).prediction == search.predict(X[:1])[0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": []}, r"Cs=\[\]"),
        ({"Cs": [0.0]}, r"Cs=\[0.0\]"),
        ({"Cs": ["1"]}, "Cs="),
        ({"Cs": "automatic"}, "Cs='automatic'"),
        ({"depth_penalties": [0.5]}, "depth_penalties="),
        ({"selection": "worst"}, "selection='worst'"),
        ({"rho": 3}, "rho=3"),
        ({"cv": 1}, "cv=1"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y = table(0, 30)
    with pytest.raises(fk.ParameterError, match=message):
        HKLClassifierCV(**parameters).fit(X, y)


def test_wrong_data():
    X, y = table(0, 30)
    with pytest.raises(fk.DataError, match=r"2 classes of \[1, 29\] rows for 3 folds"):
        HKLClassifierCV().fit(X, np.where(np.arange(30) < 1, "rare", "often"))
    with pytest.raises(fk.DataError, match="of one class"):
        HKLClassifierCV().fit(X, np.zeros(30))
    with pytest.raises(fk.DataError, match=r"expected \(30,\).* Pass one weight per row"):
        HKLClassifierCV().fit(X, y, sample_weight=[1.0])
    with pytest.raises(NotFittedError):
        HKLClassifierCV().predict(X)


def test_rows_of_a_class_that_a_fold_lacks_do_not_count():
    X, y = table(m=61)
    y = np.append(
        np.unique(y, return_inverse=True)[1][:60], 2
    )  # of the third class there is one row
    rows = np.arange(61)
    folds = [(rows[:40], rows[40:]), (rows[20:], rows[:20])]
    options = {"tol": 0.05, "linear": False, "max_rules": None}
    search = HKLClassifierCV([1.0], [4.0], cv=folds, **options).fit(X, y)
    scores, rights = [], []
    for train, test in folds:
        model = HKLClassifier(C=1.0, depth_penalty=4.0, **options)
        model.fit(X.iloc[train], y[train])
        test = test[np.isin(y[test], y[train])]
        scores.append(np.full((len(test), 3), -np.inf))
        scores[-1][:, model.classes_] = np.log(model.predict_proba(X.iloc[test]))
        rights.append(y[test])
    shares = np.bincount(y) / 61
    _, values = calibrated(np.concatenate(scores), np.concatenate(rights), shares, 0.5)
    assert len(values) == 40
    assert search.best_score_ == pytest.approx(values.mean(), rel=1e-6)


def test_the_number_of_rules_is_chosen(monkeypatch):
    X, y = table(2)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    options = {"C": 100.0, "depth_penalty": 3.0, "tol": 0.05}
    search = HKLClassifierCV([100.0], [3.0], cv=folds, tol=0.05, max_rules=5).fit(X, y)
    results = search.cv_results_
    assert results["max_rules"].tolist() == [1, 2, 3, 5]
    assert (results["mean_rules"] <= results["max_rules"]).all()
    for place, most in enumerate([1, 2, 3, 5]):
        right = []
        for train, test in folds.split(X, y):
            alone = HKLClassifier(**options, max_rules=most)
            with monkeypatch.context() as patch:
                patch.setattr(alone, "_proves", False, raising=False)  # as in folds
                alone.fit(X.iloc[train], y[train])
            right.append(np.mean(alone.predict(X.iloc[test]) == y[test]))
        assert results["accuracy"][place] == pytest.approx(np.mean(right), abs=1e-12)
    first = search.path_.steps[:3]
    assert [step.n_rules for step in first] == [1, 2, 3]
    assert [step.accuracy for step in first] == results["accuracy"][:3].tolist()
    chosen = search.best_estimator_.max_rules
    assert chosen == results["max_rules"][search.best_index_]
    assert len(search.rules_) <= chosen
    again = HKLClassifier(**options, max_rules=int(chosen)).fit(X, y)
    assert search.objective_ == pytest.approx(again.objective_)
    assert "right, held out" in str(search.path_)


def test_folds_of_tables_of_words_have_conjunctions():
    X, y = fk.datasets.tic_tac_toe()
    search = HKLClassifierCV([1000.0], [1.0], cv=2, max_rules=10).fit(X[::3], y[::3])
    assert search.cv_results_["mean_length"].max() > 1.5
    assert search.score(X, y) > 0.8


def test_few_rules_in_the_folds_and_a_certificate():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    search = HKLClassifierCV([1, 100], [3.0], cv=3, max_rules=3).fit(X, y)
    assert 1 <= len(search.rules_) <= 3
    assert (search.cv_results_["mean_rules"] <= 3).all()
    best = search.best_estimator_
    assert best.max_rules == 3
    assert search.certificate_ == best.certificate_
    assert search.objective_ == best.objective_ >= search.lower_bound_ > 0
    assert search.gap_ == pytest.approx(1 - search.lower_bound_ / search.objective_)
    assert search.score(X, y) > 0.88
    with pytest.raises(ValueError, match="max_rules"):
        HKLClassifierCV(max_rules=0).fit(X, y)
