"""Cross-validation on the command line measures the same as scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

import formulakern as fk
from formulakern import boolean, datasets
from formulakern.cli.scores import fold_scores
from formulakern.datasets import Dataset


@pytest.fixture(scope="module")
def robots():
    X, y = datasets.monks(2)
    return Dataset(X[:160], y[:160], "robots", "")


def scored(models, dataset, n_folds, **more):
    return fold_scores(models, {}, dataset, n_folds=n_folds, max_rows=10**6, **more)


def test_scores_are_those_of_scikit_learn(robots):
    """The scores of a formula's kernel, and of the linear and the polynomial kernel."""
    kernels = (fk.kernel("a & ~b"), boolean.polynomial(1, 0.0), boolean.polynomial(2, 1.0))
    encoder = fk.PropositionEncoder(nominal="all")
    models = {str(kernel): fk.FormulaSVC(kernel, C=3, encoder=encoder) for kernel in kernels}
    folds = StratifiedKFold(4, shuffle=True, random_state=2)
    for score in scored(models, robots, 4, seed=2):
        for name, scoring in (("accuracy",) * 2, ("macro F1", "f1_macro"), ("AUC", "roc_auc")):
            model = models[score.name]
            expected = cross_val_score(model, *robots, cv=folds, scoring=scoring)
            np.testing.assert_allclose(score.values[name], expected, atol=1e-12)
        assert score.seconds > 0
    rows = encoder.fit_transform(robots.data).astype(int)
    np.testing.assert_array_equal(kernels[1](rows), rows @ rows.T)
    np.testing.assert_array_equal(kernels[2](rows), (rows @ rows.T + 1) ** 2)


def test_several_classes_are_ranked_by_probabilities():
    X, y = load_iris(return_X_y=True)
    X, fitted = fk.Table.of(X), []

    class Model(fk.HKLClassifier):
        def fit(self, X, y):
            fitted.append(super().fit(X, y))
            return self

    model, folds = Model(max_rules=2), StratifiedKFold(3, shuffle=True, random_state=0)
    (score,) = scored({"hkl": model}, Dataset(X, y, "iris", ""), 3)
    for own, (_, test), area in zip(fitted, folds.split(y, y), score.values["AUC"], strict=True):
        expected = roc_auc_score(y[test], own.predict_proba(X[test]), multi_class="ovr")
        assert area == pytest.approx(expected, abs=1e-12)


def test_same_seed_same_scores(robots):
    models = {"a formula": fk.FormulaSVC("a | b")}
    (first,), (again,) = (scored(models, robots, 2) for _ in range(2))
    assert again.values == first.values
    (other,) = scored(models, robots, 2, seed=1)
    assert other.values["AUC"] != first.values["AUC"]


def test_the_encoder_sees_training_rows_only():
    table = fk.Table({"name": [f"row {i}" for i in range(20)], "x": [0, 1] * 10})
    seen = []

    class Model(fk.FormulaSVC):
        def fit(self, X, y):
            seen.append(len(super().fit(X, y).propositions_))
            return self

    (score,) = scored({"a": Model("a")}, Dataset(table, np.array([0, 1] * 10), "names", ""), 2)
    assert {*seen} == {10 + 1}
    assert score.values["accuracy"] == [1.0, 1.0]


def test_rows_without_true_propositions_have_cosine_zero():
    X = fk.Table.of(np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 6))
    y = np.array([0, 1, 0, 1] * 6)
    (score,) = scored({"a & b": fk.FormulaSVC("a & b")}, Dataset(X, y, "zeros", ""), 3)
    assert np.isfinite([*score.values.values()]).all()


def test_small_classes_are_scored_where_they_are():
    X = fk.Table.of(np.eye(3, dtype=int)[[0] * 10 + [1] * 10 + [2] * 2])
    y = np.array(["a"] * 10 + ["b"] * 10 + ["rare"] * 2)
    with pytest.warns(UserWarning, match="least populated class"):
        (score,) = scored({"a": fk.FormulaSVC("a")}, Dataset(X, y, "rare", ""), 5)
    assert score.values["AUC"] == [1.0] * 5


def test_a_learner_that_fails_has_the_reason(robots):
    models = {"wrong": fk.FormulaSVC("a", C=-1), "right": fk.FormulaSVC("a")}
    wrong, right = scored(models, robots, 2)
    assert "C=-1" in wrong.failed
    assert not right.failed
    with pytest.raises(fk.DataError, match="C=-1"):
        scored({"wrong": models["wrong"]}, robots, 2)
