"""FormulaSVCCV: the scores of cross-validation, on warm-started paths."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import datasets
from formulakern.estimators.svm import machines as cross_validation

WEIGHTS = "cut points are quantiles of the unweighted rows"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@parametrize_with_checks(
    [fk.FormulaSVCCV(Cs=[10.0], cv=2)], expected_failed_checks=lambda _: EXPECTED
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def boards():
    X, y = datasets.tic_tac_toe()
    chosen = np.random.default_rng(0).permutation(len(y))[:300]
    return X[chosen], y[chosen]


def objectives(model, kernel, X, signs, C):
    """Primal and dual objective of a machine of two classes, from its coefficients."""
    coefficients = model.dual_coef_[0]
    squared = coefficients @ kernel(model.support_vectors_) @ coefficients / 2
    losses = np.maximum(0, 1 - signs * model.decision_function(X)).sum()
    return squared + C * losses, np.abs(coefficients).sum() - squared


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
@pytest.mark.parametrize("cache_size", [0, 200])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_fits_to_the_folds(boards, cache_size, classes):
    X, y = boards
    if classes == 3:
        y = np.where(X["middle-middle-square"] == "x", "middle", y)
    folds = [*StratifiedKFold(3, shuffle=True, random_state=1).split(X, y)]
    Cs, models = [0.1, 1.0, 30.0], []

    def scoring(model, rows, truth):
        models.append(model)
        return get_scorer("f1_macro")(model, rows, truth)

    options = {"cache_size": cache_size, "tol": 1e-6}
    search = fk.FormulaSVCCV("a & b", "distinct", Cs=Cs, cv=folds, scoring=scoring, **options).fit(
        X, y
    )
    encoded = fk.PropositionEncoder().fit_transform(X)
    for place, C in enumerate(Cs):
        for k, (train, test) in enumerate(folds):
            model = models[3 * place + k]
            score = f1_score(y[test], model.predict(X[test]), average="macro")
            assert search.cv_results_[f"split{k}_score"][place] == pytest.approx(score, abs=1e-12)
            if classes == 3:
                continue
            signs = np.where(y[train] == model.classes_[1], 1, -1)
            one = fk.FormulaSVC("a & b", "distinct", C=C, encoder=None, tol=1e-6)
            one.fit(encoded[train], y[train])
            known = objectives(one, search.kernel_, encoded[train], signs, C)
            found = objectives(model, search.kernel_, X[train], signs, C)
            assert max(known[1], found[1]) <= min(known[0], found[0]) * (1 + 1e-9)
            assert found[0] - found[1] <= 0.01 * found[0]
    means = search.cv_results_["mean_score"]
    assert means[search.best_index_] == pytest.approx(means.max(), abs=1e-12)
    assert Cs[search.best_index_] == search.C_
    whole = fk.FormulaSVC("a & b", "distinct", C=search.C_, **options).fit(X, y)
    np.testing.assert_allclose(search.decision_function(X), whole.decision_function(X))
    assert len(pd.DataFrame(search.cv_results_)) == 3
    assert (search.cv_results_["gap"] <= 0.01).all()


def test_a_path_ends_where_scores_fall_and_what_is_refused(boards, capsys):
    X, y = boards
    search = fk.FormulaSVCCV("a", cv=3, verbose=1).fit(X, y)
    assert capsys.readouterr().err.count("C=") == (~np.isnan(search.cv_results_["gap"])).sum()
    for Cs in (None, [], [0.0], "many", [1, "2"]):
        with pytest.raises(fk.ParameterError, match="Cs="):
            fk.FormulaSVCCV(Cs=Cs).fit(X, y)


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
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
