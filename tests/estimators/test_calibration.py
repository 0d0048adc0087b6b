"""Probabilities of every classifier that has them on request."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import estimator_checks_generator

import formulakern as fk

#: Those of scikit-learn's checks that look at probabilities, or at what a fit leaves behind.
CHECKS = {
    "check_classifiers_train",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_dict_unchanged",
    "check_dont_overwrite_attributes",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_fit2d_1sample",
    "check_methods_subset_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
}
CHECKED = [
    check
    for model in (
        fk.FormulaSVC("a", C=0.1, probability=True),
        fk.HKLClassifier(loss="hinge", C=1, tol=0.3, linear=False, cut_points=1, probability=True),
    )
    for check in estimator_checks_generator(model)
    if check[1].func.__name__ in CHECKS
]
MODELS = [
    fk.FormulaSVC("a", solver="libsvm", decision_function_shape="ovo", probability=True),
    fk.FormulaSVCCV(Cs=[1, 10], probability=True),
    fk.FormulaMKL(("a", "a & b"), probability=True),
    fk.FormulaSearch(("a", "a & b"), cv=2, random_state=0, probability=True),
    fk.PRLClassifier(degree=1, probability=True, random_state=0),
    fk.PRLClassifier(degree=1, ordinal=True, probability=True, random_state=0),
    fk.HKLClassifier(loss="hinge", C=10, tol=0.1, probability=True),
    fk.HKLClassifier(ordinal=True, C=10, tol=0.1, probability=True),
    fk.HKLClassifierCV([10], [2], cv=2, loss="squared_hinge", tol=0.1, probability=True),
]


@pytest.mark.parametrize(("estimator", "check"), CHECKED)
def test_scikit_learn_estimator_checks(estimator, check):
    check(clone(estimator))


def table(n=120, seed=0, classes=3):
    """Rows whose class is uncertain, and the probabilities of classes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"kind": rng.choice(list("xyz"), n), "size": rng.normal(size=n), "old": rng.random(n) < 0.5}
    )
    score = 2.0 * (frame["kind"] == "x") + (frame["size"] > 0) - 1.0
    above = expit(3 * score.to_numpy()[:, None] - np.array([0.0, 2.0])[: classes - 1])
    chances = -np.diff(above, prepend=1, append=0, axis=1)
    drawn = (rng.random((n, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    return frame, np.array(["high", "low", "mid"])[[1, 2, 0]][drawn], drawn


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_new_rows(model, classes):
    X, y, _ = table(classes=classes)
    Z, truth, _ = table(600, 1, classes)
    model = clone(model).fit(X, y)
    found = model.predict_proba(Z)
    assert found.shape == (600, classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    names, counts = np.unique(truth, return_counts=True)
    shares = np.tile(counts / 600, (600, 1))
    ignorant = log_loss(truth, shares, labels=names)
    assert log_loss(truth, found, labels=names) < 0.85 * ignorant
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(Z), found)
    assert "probability=True" in model._repr_html_()
    plain = clone(model).set_params(probability=False).fit(X, y)
    np.testing.assert_array_equal(plain.predict(Z), model.predict(Z))  # by the decisions


def test_any_table_can_hold_rows_out():
    import polars
    import scipy.sparse

    X, y, _ = table()
    columns = {name: X[name].tolist() for name in X}
    frames = [polars.DataFrame(columns), columns, fk.Table.of(X), X.to_numpy().tolist()]
    bits = (X["old"].to_numpy()[:, None] ^ (X[["kind"]].to_numpy() == list("xyz"))).astype(int)
    for plain, others in ((X, frames), (bits, [scipy.sparse.csc_array(bits)])):
        expected = fk.FormulaSVC(probability=True).fit(plain, y).predict_proba(plain)
        for given in others:
            model = fk.FormulaSVC(probability=True).fit(given, y)
            np.testing.assert_allclose(model.predict_proba(given), expected, atol=1e-6)


def test_an_ordered_categorical_keeps_its_order():
    X, y, drawn = table()
    size = pd.Categorical(y, categories=["low", "mid", "high"], ordered=True)
    weight = {"low": 1.0, "mid": 2.0, "high": 1.0}
    options = {"degree": 1, "ordinal": True, "probability": True, "random_state": 0}
    model = fk.PRLClassifier(class_weight=weight, **options).fit(X, size)
    numbers = fk.PRLClassifier(class_weight={0: 1.0, 1: 2.0, 2: 1.0}, **options).fit(X, drawn)
    assert model.classes_.tolist() == ["low", "mid", "high"]
    np.testing.assert_allclose(model.predict_proba(X), numbers.predict_proba(X))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_without_it_the_error_says_how(model):
    model = clone(model).set_params(probability=False)
    if isinstance(model, fk.HKLClassifier) and model.loss == "logistic":
        assert hasattr(model, "predict_proba")
        return
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="probability=True"):
        _ = model.predict_proba
    assert "logistic function" in type(model).predict_proba.__doc__
    X, y, _ = table(40)
    with pytest.raises(NotFittedError):
        model.set_params(probability=True).predict_proba(X)
    model.set_params(probability=False).fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError, match="Fit it again with probability=True"):
        model.predict_proba(X)
    with pytest.raises(fk.ParameterError, match="probability='yes'; expected True or False"):
        model.set_params(probability="yes").fit(X, y)


def test_preferences_have_no_probabilities():
    with pytest.raises(fk.ParameterError, match="probability=True is for fit"):
        fk.PRLClassifier(probability=True).fit_preferences({"a": [1]}, [(0, "x", "y")])


def test_tiny_classes_and_rows_without_weight():
    """A class of one row is in all trainings; one without weight has no probability."""
    X, _, drawn = table(60)
    few = np.where(np.arange(60) == 7, 9, drawn)
    found = fk.FormulaSVC(probability=True).fit(X, few).predict_proba(X)
    assert found.shape == (60, len(np.unique(few)))
    weights = (drawn != 1).astype(float)
    for model in (fk.HKLClassifier(loss="hinge", C=10), fk.PRLClassifier(degree=1, random_state=0)):
        model.set_params(probability=True).fit(X, drawn, weights)
        chances = model.predict_proba(X)
        assert chances.shape == (60, 3)
        assert (chances[:, 1] == 0).all()
    with pytest.raises(fk.DataError, match="fewer than two classes with 2 rows"):
        fk.PRLClassifier(probability=True).fit(X, [0] + [1] * 59)


def test_weights_of_rows_count():
    """A row of weight 3 counts as three: classes with three times the weight are more probable."""
    X, _, drawn = table(classes=2)
    heavy = np.where(drawn == 1, 3.0, 1.0)
    for weights in (np.ones(len(drawn)), heavy):
        model = fk.FormulaSVC("a", C=1, probability=True).fit(X, drawn, weights)
        mean = np.average(model.predict_proba(X)[:, 1], weights=weights)
        assert mean == pytest.approx(np.average(drawn, weights=weights), abs=0.04)


@pytest.mark.parametrize("of_all", [True, False], ids=["all rows", "a fold"])
def test_an_interrupted_fit_keeps_the_model(of_all):
    X, y, _ = table()

    class Interrupted(fk.FormulaSVC):
        def _solve(self, *given):
            super()._solve(*given)
            if self.probability == of_all:
                self.stopped_ = "interrupted"

    model = Interrupted(probability=True)
    with pytest.warns(UserWarning, match="without probabilities") as told:
        model.fit(X, y)
    assert [one.filename for one in told] == [__file__]
    assert set(model.predict(X)) <= {*y}
    with pytest.raises(NotFittedError, match="to the end"):
        model.predict_proba(X)


@pytest.mark.parametrize("options", [{}, {"C": [1, 100], "additivity": [1, 2], "cv": 2}])
def test_a_choquet_integral_has_probabilities(options):
    """Near those that the classes were drawn by, with the settings that were chosen."""
    rng = np.random.default_rng(0)
    X = rng.random((500, 3))
    chances = expit(12 * (X[:, :2].min(axis=1) - 0.35))
    y = np.where(rng.random(500) < chances, "yes", "no")
    model = fk.ChoquetSVC(probability=True, **options).fit(X[:200], y[:200])
    found = model.predict_proba(X[200:])
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.abs(found[:, 1] - chances[200:]).mean() < 0.1
    order = np.argsort(model.decision_function(X[200:]))
    assert (np.diff(found[order, 1]) >= 0).all()
    if options:
        chosen = model._chosen_settings()
        assert (chosen.C, chosen.additivity) == (model.C_, model.additivity_)
    with pytest.raises(AttributeError, match=r"Write ChoquetSVC\(probability=True\)"):
        fk.ChoquetSVC().fit(X[:200], y[:200]).predict_proba(X)
