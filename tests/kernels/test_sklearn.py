"""Wherever scikit-learn takes a kernel: at matrix level, never pair by pair."""

import subprocess
import sys
import warnings

import joblib
import numpy as np
import pandas
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, OneClassSVM

import formulakern as fk
from formulakern.kernels.algebra import Kernel

X = (np.random.default_rng(0).random((60, 20)) < 0.4).astype(int)
Y = X[:, 0] & ~X[:, 1]
K = fk.kernel("a & ~b")
ALL = [K, 0.5 * K.normalized() + fk.kernel("a & b", "distinct")]

ESTIMATORS = {
    "SVC": lambda k: SVC(kernel=k),
    "SVR": lambda k: SVR(kernel=k),
    "OneClassSVM": lambda k: OneClassSVM(kernel=k),
    "KernelRidge": lambda k: KernelRidge(kernel=k),
    "KernelPCA": lambda k: KernelPCA(2, kernel=k),
    "Nystroem": lambda k: Nystroem(kernel=k, n_components=10, random_state=0),
    "SpectralClustering": lambda k: SpectralClustering(2, affinity=k, random_state=0),
    "GaussianProcessRegressor": lambda k: GaussianProcessRegressor(kernel=k, alpha=1e-3),
    "GaussianProcessClassifier": lambda k: GaussianProcessClassifier(kernel=k),
    "composed": lambda k: GaussianProcessRegressor(
        kernel=ConstantKernel() * k + WhiteKernel(), alpha=1e-3
    ),
    "composed the other way": lambda k: GaussianProcessRegressor(
        kernel=k * ConstantKernel() + 0.1 * k + WhiteKernel(), alpha=1e-3, optimizer=None
    ),
}


@pytest.mark.parametrize("k", ALL, ids=repr)
@pytest.mark.parametrize("which", ESTIMATORS)
def test_estimators_call_the_kernel_on_whole_tables(which, k, monkeypatch):
    calls = []
    original = Kernel.__call__

    def counting(self, X, Z=None, *arguments, **named):
        calls.append(np.shape(X))
        return original(self, X, Z, *arguments, **named)

    monkeypatch.setattr(Kernel, "__call__", counting)
    estimator = ESTIMATORS[which](k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the noise is zero here
        estimator.fit(X, Y)
        if hasattr(estimator, "predict"):
            estimator.predict(X)
        elif hasattr(estimator, "transform"):
            estimator.transform(X)
    assert 1 <= len(calls) <= (200 if which == "composed" else 20)  # O(1), not O(60 · 60)
    assert min(rows for rows, _ in calls) >= 10
    compact = "".join(repr(estimator).split())
    assert compact.startswith(type(estimator).__name__)
    assert "".join(repr(k).split()) in compact


@pytest.mark.parametrize("column", [[30, 41, 52], [0.5, 1.0, 0.0]])
@pytest.mark.parametrize("model", [KernelRidge, SVC])
def test_frames_that_are_not_encoded_are_refused_in_our_words(model, column):
    """Frames of text reach no kernel, because KernelRidge requires numbers."""
    frame = pandas.DataFrame({"a": [0, 1, 1], "b": column})
    with pytest.raises(fk.FormulaKernError, match="Encode the table first: fk"):
        model(kernel=fk.kernel("a & b")).fit(frame, [0, 1, 0])


def test_same_as_a_precomputed_matrix():
    for k in ALL:
        own = SVC(kernel=k).fit(X, Y)
        given = SVC(kernel="precomputed").fit(k(X), Y)
        np.testing.assert_allclose(
            own.decision_function(X), given.decision_function(k(X)), rtol=1e-9
        )
        np.testing.assert_array_equal(pairwise_kernels(X, metric=k), k(X))
        np.testing.assert_array_equal(pairwise_kernels(X, X[:5], metric=k), k(X, X[:5]))


def test_gaussian_process_protocol():
    for k in ALL:
        gram, gradient = k(X, eval_gradient=True)
        np.testing.assert_array_equal(gram, k(X))
        assert gradient.shape == (60, 60, 0)
        assert k.theta.shape == (0,)
        assert k.bounds.shape == (0, 2)
        assert k.n_dims == 0
        assert k.hyperparameters == []
        assert k.clone_with_theta(np.empty(0)) is k
        assert not k.is_stationary()
        assert k.requires_vector_input
        summed = k + WhiteKernel(0.5)
        np.testing.assert_allclose(summed(X), k(X) + 0.5 * np.eye(60))
        assert summed.theta.shape == (1,)


def test_in_searches_pipelines_and_workers():
    search = GridSearchCV(SVC(), {"kernel": [*ALL, "linear"], "C": [1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.8
    scores = cross_val_score(make_pipeline(SVC(kernel=K)), X, Y, cv=3, n_jobs=2)
    np.testing.assert_allclose(scores, cross_val_score(SVC(kernel=K), X, Y, cv=3))
    for backend in ("numba", "lookup"):
        k = fk.kernel("a & ~b | c", backend=backend)
        grams = joblib.Parallel(2)(joblib.delayed(k)(X) for _ in range(4))
        for gram in grams:
            np.testing.assert_array_equal(gram, k(X))


def test_a_kernel_made_before_scikit_learn_is_imported():
    code = """
import sys
import formulakern as fk
k = fk.kernel("a & ~b")
whole = 0.5 * k.normalized() + k
assert isinstance(k, fk.Kernel) and "sklearn" not in sys.modules
import numpy as np
X = (np.random.default_rng(0).random((40, 9)) < 0.5).astype(int)
k(X)
from sklearn.svm import SVC
from sklearn.kernel_ridge import KernelRidge
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel
for kernel in (k, whole):
    SVC(kernel=kernel).fit(X, X[:, 0])
    KernelRidge(kernel=kernel).fit(X, X[:, 0])
    assert isinstance(kernel, Kernel)
    assert (ConstantKernel(2.0) * kernel)(X).shape == (40, 40)
print("fine")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.stdout == "fine\n", done.stderr
