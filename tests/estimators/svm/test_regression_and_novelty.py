"""FormulaSVR, FormulaOneClass, and FormulaSVC's solvers."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVR, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import datasets

WEIGHTS = "cut points are quantiles of the unweighted rows"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@parametrize_with_checks(
    [fk.FormulaSVR(), fk.FormulaOneClass()], expected_failed_checks=lambda _: EXPECTED
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = (rng.random((160, 9)) < 0.5).astype(np.uint8)
    y = X[:, 0] + 2.0 * X[:, 1] * X[:, 2] - X[:, 3] + rng.normal(size=160) / 5
    return X[:120], y[:120], X[120:], y[120:]


@pytest.mark.parametrize("normalize", [True, False])
def test_regression_is_that_of_scikit_learn(rows, normalize):
    X, y, later, truth = rows
    k = fk.kernel("a & b")
    k = k.normalized() if normalize else k
    theirs = SVR(kernel=k, C=5, epsilon=0.2, tol=1e-6).fit(X, y)
    options = {"C": 5, "epsilon": 0.2, "encoder": None, "normalize": normalize}
    model = fk.FormulaSVR(**options, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict(later), theirs.predict(later), atol=2e-3)
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert model.score(later, truth) > 0.8
    assert model.support_vectors_.shape == (len(model.support_), 9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_weights_of_rows_in_regression(rows):
    X, y, *_ = rows
    weights = np.arange(120) % 3
    model = fk.FormulaSVR(encoder=None, tol=1e-8).fit(X, y, weights)
    chosen = np.repeat(np.arange(120), weights)
    repeated = fk.FormulaSVR(encoder=None, tol=1e-8).fit(X[chosen], y[chosen])
    np.testing.assert_allclose(model.predict(X), repeated.predict(X), atol=1e-3)


def test_novelty_is_that_of_scikit_learn(rows):
    X, _, later, _ = rows
    k = fk.kernel("a & b").normalized()
    theirs = OneClassSVM(kernel=k, nu=0.2, tol=1e-8).fit(X)
    model = fk.FormulaOneClass(nu=0.2, encoder=None, tol=1e-8).fit(X)
    np.testing.assert_allclose(
        model.decision_function(later), theirs.decision_function(later), atol=5e-3
    )
    assert model.dual_coef_.sum() == pytest.approx(0.2 * 120)
    assert (model.decision_function(X) < -1e-3).mean() <= 0.2
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
    assert set(model.predict(X)) == {-1, 1}


def test_any_table_and_what_is_refused(rows):
    X, y, *_ = rows
    table, _ = datasets.tic_tac_toe()
    assert fk.FormulaOneClass().fit(table).predict(table).mean() > 0.5
    numbers = np.arange(len(table)) % 7
    assert fk.FormulaSVR("a & b & c").fit(table, numbers).predict(table).shape == numbers.shape
    with pytest.raises(NotFittedError):
        fk.FormulaSVR().predict(X)
    for parameters, said in (
        ({"C": 0}, "C=0"),
        ({"epsilon": -1}, "epsilon=-1"),
        ({"formula": fk.strings.spectrum(2)}, "FormulaSVR needs a kernel of tables"),
    ):
        with pytest.raises(fk.ParameterError, match=said):
            fk.FormulaSVR(**parameters).fit(X, y)
    with pytest.raises(fk.ParameterError, match="nu=2"):
        fk.FormulaOneClass(nu=2).fit(X)
    with pytest.raises(fk.DataError, match="at least one non-zero"):
        fk.FormulaSVR().fit(X, y, np.zeros(120))


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_the_gap_is_that_of_the_kernel_and_limits_warn():
    X, y = datasets.tic_tac_toe()
    model = fk.FormulaSVC("a & b & c", "distinct", tol=1e-6).fit(X, y)
    assert model.gap_ <= 1e-6
    assert model.stopped_ == "optimal"
    with pytest.warns(ConvergenceWarning, match="the solver took max_iter steps"):
        short = fk.FormulaSVC("a & b & c", "distinct", max_iter=5).fit(X, y)
    assert short.gap_ > 1e-3
    assert short.predict(X).shape == y.shape
    with pytest.warns(ConvergenceWarning, match="the time limit was reached"):
        fk.FormulaSVC("a & b & c", "distinct", time_limit=1e-9).fit(X, y)
