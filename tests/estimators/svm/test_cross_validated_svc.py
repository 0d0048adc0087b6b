"""FormulaSVCCV: the scores of cross-validation, on warm-started paths."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import datasets
from formulakern.estimators.svm import cross_validation

WEIGHTS = "cut points are quantiles of the unweighted rows"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@parametrize_with_checks(
    [fk.FormulaSVCCV(Cs=[0.1, 10.0], cv=2)], expected_failed_checks=lambda _: EXPECTED
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def boards():
    X, y = datasets.tic_tac_toe()
    chosen = np.random.default_rng(0).permutation(len(y))[:300]
    return X[chosen], y[chosen]


@pytest.mark.filterwarnings("ignore:the model gives all training rows one class")
@pytest.mark.parametrize("cache_size", [0, 200])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_fits_one_by_one(boards, cache_size, classes):
    X, y = boards
    if classes == 3:
        y = np.where(X["middle-middle-square"] == "x", "middle", y)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    Cs = [0.1, 1.0, 30.0]
    options = {"cache_size": cache_size, "tol": 1e-6}
    search = fk.FormulaSVCCV("a & b", "distinct", Cs=Cs, cv=folds, **options).fit(X, y)
    encoded = fk.PropositionEncoder().fit_transform(X)
    for place, C in enumerate(Cs):
        one = fk.FormulaSVC("a & b", "distinct", C=C, encoder=None, solver="libsvm", tol=1e-6)
        scores = cross_val_score(one, encoded, y, cv=folds, scoring="f1_macro")
        found = [search.cv_results_[f"split{k}_score"][place] for k in range(3)]
        np.testing.assert_allclose(found, scores, atol=0.025)  # rows at the boundary
    assert Cs[int(np.argmax(search.cv_results_["mean_score"]))] == search.C_
    whole = fk.FormulaSVC("a & b", "distinct", C=search.C_, **options).fit(X, y)
    np.testing.assert_allclose(search.decision_function(X), whole.decision_function(X))
    assert len(pd.DataFrame(search.cv_results_)) == 3
    assert (search.cv_results_["gap"] <= 0.01).all()


def test_a_path_ends_where_scores_fall_and_what_is_refused(boards, capsys):
    X, y = boards
    search = fk.FormulaSVCCV("a", cv=3, verbose=1).fit(X, y)
    assert capsys.readouterr().err.count("C = ") == (~np.isnan(search.cv_results_["gap"])).sum()
    for Cs in ([], [0.0], "many", [1, "2"]):
        with pytest.raises(fk.ParameterError, match="Cs="):
            fk.FormulaSVCCV(Cs=Cs).fit(X, y)


@pytest.mark.filterwarnings("ignore:the model gives all training rows one class")
def test_an_interrupted_path_keeps_the_best_so_far(boards, monkeypatch):
    X, y = boards
    search = fk.FormulaSVCCV(Cs=[0.1, 1.0, 10.0], cv=3)
    solved = cross_validation._Folds.solve
    count = []

    def interrupting(self, *arguments):
        count.append(1)
        if len(count) == 5:
            raise KeyboardInterrupt
        return solved(self, *arguments)

    monkeypatch.setattr(cross_validation._Folds, "solve", interrupting)
    with pytest.warns(UserWarning, match="interrupted after 1 of 3 values"):
        search.fit(X, y)
    assert search.C_ == 0.1
    assert np.isnan(search.cv_results_["mean_score"][1:]).all()
