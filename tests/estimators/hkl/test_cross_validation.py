"""HKLClassifierCV: what it chooses and why, against the same computed by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern.estimators.hkl.classifier import HKLClassifier
from formulakern.estimators.hkl.cross_validation import HKLClassifierCV

WEIGHTS = "cut points are quantiles of the unweighted rows, and folds do not see weights"


@parametrize_with_checks(
    [HKLClassifierCV([0.1, 1.0], tol=0.1, cv=2)],
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
    search = HKLClassifierCV([10, 0.3], (4, 2), cv=folds, selection="best", tol=1e-3).fit(X, y)
    results = search.cv_results_
    assert results["C"].tolist() == [0.3, 10, 0.3, 10]
    assert results["depth_penalty"].tolist() == [2, 2, 4, 4]
    for k, (train, test) in enumerate(folds.split(X, y)):
        for place in range(4):
            C, a = results["C"][place], results["depth_penalty"][place]
            alone = HKLClassifier(C=C, depth_penalty=a).fit(X.iloc[train], y[train])
            score = f1_score(y[test], alone.predict(X.iloc[test]), average="macro")
            # paths start elsewhere: within the tolerance a row can change sides
            assert results[f"split{k}_score"][place] == pytest.approx(score, abs=0.05)
    means = np.mean([results[f"split{k}_score"] for k in range(3)], axis=0)
    np.testing.assert_allclose(results["mean_score"], means)
    assert search.best_score_ == means.max()
    assert (search.C_, search.depth_penalty_) == (
        results["C"][search.best_index_],
        results["depth_penalty"][search.best_index_],
    )
    again = HKLClassifier(C=search.C_, depth_penalty=search.depth_penalty_).fit(X, y)
    assert search.best_estimator_.objective_ == pytest.approx(again.objective_, rel=2e-3)
    assert np.mean(search.predict(X) == again.predict(X)) > 0.97


def test_the_rule_of_one_standard_error():
    search = HKLClassifierCV()
    scores = np.array([[0.5, 0.5, 0.5], [0.8, 0.9, 0.7], [0.85, 0.8, 0.65], [0.75, 0.75, 0.75]])
    rules = np.array([1.0, 9.0, 4.0, 4.0])
    found = np.zeros((4, 3, 4))
    found[:, :, 0] = scores
    found[:, :, 1] = rules[:, None]
    # best mean 0.8, standard error 0.1/√3: 0.767 and 0.75 are near; of 4 rules each, the better
    assert search._choice(found) == 2
    search.selection = "best"
    assert search._choice(found) == 1
    found[2, :, 0] = scores[1]  # of equal scores the fewest rules
    assert search._choice(found) == 2


def test_fewer_rules_within_one_standard_error():
    X, y = table(3)
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    options = {"Cs": [0.1, 1, 10], "depth_penalties": [2, 4], "cv": folds, "tol": 0.02}
    best = HKLClassifierCV(selection="best", **options).fit(X, y)
    small = HKLClassifierCV(**options).fit(X, y)
    np.testing.assert_array_equal(best.cv_results_["C"], small.cv_results_["C"])
    np.testing.assert_allclose(best.cv_results_["mean_score"], small.cv_results_["mean_score"])
    rules = best.cv_results_["mean_rules"]
    assert rules[small.best_index_] < rules[best.best_index_]
    assert small.best_score_ <= best.best_score_
    assert small.score(X, y) > 0.75
    np.testing.assert_array_equal(small.rules_.predict(X), small.predict(X))
    assert small.explain(X[:1]).prediction == small.predict(X[:1])[0]


def test_other_scores_losses_tables_and_weights(capsys):
    X, y = table(1, 90)
    options = {"Cs": [1, 10], "tol": 0.02}
    search = HKLClassifierCV(
        scoring="neg_log_loss", loss="logistic", selection="best", verbose=1, **options
    ).fit(X, y)
    assert search.predict_proba(X).shape == (90, 2)
    assert (search.cv_results_["mean_score"] < 0).all()
    assert capsys.readouterr().err.count("score") == 6
    assert not hasattr(HKLClassifierCV(), "predict_proba")
    ones = (X == "a").astype(int)
    frame = HKLClassifierCV(encoder=None, **options).fit(ones, y)
    array = HKLClassifierCV(encoder=None, **options).fit(ones.to_numpy(), y)
    np.testing.assert_allclose(frame.decision_function(ones), array.decision_function(ones.values))
    assert frame.feature_names_in_.tolist() == list(ones.columns)
    assert not hasattr(array, "feature_names_in_")
    heavy = np.where(y == "yes", 50.0, 1.0)
    weighted = HKLClassifierCV([0.1], tol=0.02).fit(X, y, sample_weight=heavy)
    assert (weighted.predict(X) == "yes").all()
    three = np.where(X["v4"] == "a", "perhaps", y)
    assert set(HKLClassifierCV([30], tol=0.02).fit(X, three).predict(X)) == {"yes", "no", "perhaps"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": []}, r"Cs=\[\]"),
        ({"Cs": [0.0]}, r"Cs=\[0.0\]"),
        ({"Cs": ["1"]}, "Cs="),
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
    with pytest.raises(fk.DataError, match=r"2 classes of \[1, 29\] rows for cv=3"):
        HKLClassifierCV().fit(X, np.where(np.arange(30) < 1, "rare", "often"))
    with pytest.raises(fk.DataError, match="of one class"):
        HKLClassifierCV().fit(X, np.zeros(30))
    with pytest.raises(fk.DataError, match=r"expected \(30,\).* Pass one weight per row"):
        HKLClassifierCV().fit(X, y, sample_weight=[1.0])
    with pytest.raises(NotFittedError):
        HKLClassifierCV().predict(X)
