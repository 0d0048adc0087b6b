"""StringSVC: strings in, the model of scikit-learn out, and its weights by position."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from certified import apart
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import formulakern as fk
from formulakern import DataError, ParameterError
from formulakern.estimators.strings import CANDIDATES

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


def generated(rows: int, n: int = 14, seed: int = 0):
    """Strings with TATA at position 4 in one half of them."""
    generator = np.random.default_rng(seed)
    X = generator.choice(list("ACGT"), (rows, n))
    y = np.where(np.arange(rows) % 2 == 0, "promoter", "other")
    X[::2, 4:8] = list("TATA")
    return ["".join(x) for x in X], y


X, Y = generated(60)
LATER, TRUTH = generated(30, seed=1)
KERNELS = ["weighted_degree(4)", "weighted_degree_shifts(4, 2)", "spectrum(3)", "mismatch(4, 1)"]


@pytest.mark.parametrize("text", KERNELS)
@pytest.mark.parametrize("normalize", [False, True])
def test_the_machine_is_that_of_scikit_learn(text, normalize):
    ours = fk.StringSVC(text, C=3, normalize=normalize, tol=1e-12).fit(X, Y)
    k = eval(f"fk.strings.{text}")
    k = k.normalized() if normalize else k
    theirs = SVC(kernel=k, C=3, tol=1e-9).fit(X, Y)
    assert ours.kernel_ == k
    signs = np.where(np.asarray(Y) == ours.classes_[1], 1.0, -1.0)
    bound = apart(k(X), signs, 3.0, (ours, theirs), k.diagonal(LATER))
    np.testing.assert_allclose(
        ours.decision_function(LATER),
        theirs.decision_function(LATER),
        rtol=0,
        atol=min(bound, 1e-5),
    )
    assert ours.gap_ <= 1e-12
    np.testing.assert_array_equal(ours.predict(LATER), theirs.predict(LATER))
    assert ours.score(LATER, TRUTH) > 0.8


def test_scikit_learn_estimator_checks():
    """The checks that hold for estimators that read no table of numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.filterwarnings("ignore", message="Can't test estimator")
        results = check_estimator(fk.StringSVC(), on_fail="raise")
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert "passed" in {result["status"] for result in results}


def test_manners_of_an_estimator():
    model = fk.StringSVC("spectrum(2)", C=2, column="sequence")
    assert clone(model).get_params() == model.get_params()
    assert "spectrum(2)" in repr(model)
    assert model.set_params(C=3).C == 3
    with pytest.raises(NotFittedError):
        model.predict(X)
    fitted = model.fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(LATER), fitted.decision_function(LATER))
    assert cross_val_score(fk.StringSVC("spectrum(2)"), X, Y, cv=3).shape == (3,)
    grid = {"kernel": ["spectrum(2)", fk.strings.weighted_degree(3)], "C": [1, "cv"]}
    assert GridSearchCV(fk.StringSVC(), grid, cv=2).fit(X, Y).best_score_ > 0.8


def test_columns_of_tables():
    expected = fk.StringSVC("spectrum(2)").fit(X, Y).decision_function(LATER)
    frame = pd.DataFrame({"name": [f"p{i}" for i in range(60)], "sequence": X})
    later = pd.DataFrame({"name": ["q"] * 30, "sequence": LATER})
    for column in ("sequence", 1, -1):
        model = fk.StringSVC("spectrum(2)", column=column).fit(frame, Y)
        np.testing.assert_array_equal(model.decision_function(later), expected)
    np.testing.assert_array_equal(model.decision_function(LATER), expected)
    model = fk.StringSVC("spectrum(2)").fit(frame[["sequence"]].assign(size=1.5), Y)
    np.testing.assert_array_equal(model.decision_function(later["sequence"]), expected)
    with pytest.raises(DataError, match=r'X has 2 columns of text \("name", "sequence"\)'):
        fk.StringSVC("spectrum(2)").fit(frame, Y)


def test_several_classes():
    classes = np.array([3, 1, 2])[np.arange(60) % 3]
    model = fk.StringSVC("weighted_degree(3)", C=10).fit(X, classes)
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.decision_function(LATER).shape == (30, 3)
    pairs = fk.StringSVC("weighted_degree(3)", C=10, decision_function_shape="ovo")
    assert pairs.fit(X, classes).decision_function(LATER).shape == (30, 3)
    weights = model.position_weights(top=4)
    assert set(weights.importance) == {(1, 2), (1, 3), (2, 3)}
    assert len(weights) == 12


def test_weights_of_classes_and_rows():
    noisy = np.random.default_rng(0).random(60) < 0.4
    counts = [
        fk.StringSVC("spectrum(2)", class_weight=w).fit(X, noisy).predict(X).sum()
        for w in ({True: 0.05}, None, {True: 20.0})
    ]
    assert counts[0] < counts[2]
    weighted = fk.StringSVC("spectrum(2)").fit(X, noisy, np.where(noisy, 20.0, 1.0))
    by_class = fk.StringSVC("spectrum(2)", class_weight={True: 20.0}).fit(X, noisy)
    np.testing.assert_allclose(
        weighted.decision_function(X), by_class.decision_function(X), atol=1e-2
    )


def test_c_is_chosen_on_training_rows():
    model = fk.StringSVC("weighted_degree(3)", C="cv", cv=3).fit(X, Y)
    assert set(model.cv_accuracy_) == set(CANDIDATES)
    best = max(model.cv_accuracy_.values())
    assert next(c for c in CANDIDATES if model.cv_accuracy_[c] == best) == model.C_
    fixed = fk.StringSVC("weighted_degree(3)", C=model.C_).fit(X, Y)
    np.testing.assert_allclose(fixed.decision_function(LATER), model.decision_function(LATER))
    assert not hasattr(fixed, "cv_accuracy_")
    weighted = fk.StringSVC("weighted_degree(3)", C="cv", cv=3).fit(X, Y, np.ones(60))
    assert weighted.C_ == model.C_


# -- weights by position ---------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("text", ["weighted_degree(4)", "weighted_degree_shifts(4, 2)"])
def test_weights_of_all_k_mers_make_the_decision(text, normalize):
    model = fk.StringSVC(text, C=1, normalize=normalize).fit(X, Y)
    every = model.position_weights(top=10**6)
    signed = {
        (item.k_mer, item.position): item.weight * (1 if item.winner == "promoter" else -1)
        for item in every
    }
    assert len(signed) == len(every)
    inner = model.kernel_.kernel if normalize else model.kernel_
    lengths = np.sqrt(inner.diagonal(LATER)) if normalize else np.ones(30)
    sums = [
        sum(signed.get((z[i : i + k], i), 0.0) for k in range(1, 5) for i in range(len(z) - k + 1))
        for z in LATER
    ]
    np.testing.assert_allclose(
        sums / lengths + model.intercept_, model.decision_function(LATER), atol=1e-9
    )
    (importance,) = every.importance.values()
    for (k_mer, position), weight in signed.items():
        assert importance[len(k_mer) - 1, position] >= abs(weight)
    assert importance.max() == every[0].weight == max(item.weight for item in every)
    some = model.position_weights(top=7, max_length=2)
    assert [*some] == [item for item in every if len(item.k_mer) <= 2][:7]


def test_what_was_planted_is_found():
    model = fk.StringSVC("weighted_degree(4)").fit(X, Y)
    found = model.position_weights(top=4)
    assert {(item.k_mer, item.position) for item in found} & {("TA", 4), ("T", 4), ("A", 5)}
    assert all(item.winner == "promoter" for item in found)
    lines = str(found).splitlines()
    assert lines[0].split() == ["k-mer", "position", "weight", "for", "against"]
    assert len(lines) == 6
    frame = found.to_frame()
    assert frame.shape == (4, 5)
    assert frame["k-mer"].tolist() == [item.k_mer for item in found]
    ax = model.plot_positions(max_length=3)
    assert ax.images[0].get_array().shape == (3, 14)
    assert ax.get_title() == "promoter against other"
    assert model.plot_positions(ax) is ax
    with pytest.raises(ParameterError, match="expected one of"):
        model.plot_positions(pair=("other", "promoter"))
    matplotlib.pyplot.close("all")


# -- what is refused -------------------------------------------------------------------------------


def test_what_is_refused():
    with pytest.raises(DataError, match="requires y to be passed"):
        fk.StringSVC("spectrum(2)").fit(X, None)
    with pytest.raises(DataError, match="at least two classes"):
        fk.StringSVC("spectrum(2)").fit(X, ["a"] * 60)
    with pytest.raises(DataError, match=r"inconsistent numbers of samples"):
        fk.StringSVC("spectrum(2)").fit(X, Y[1:])
    for kernel in (fk.kernel("a & b"), "spectral", None, SVC()):
        with pytest.raises(ParameterError, match=r"kernel=.*expected a kernel of fk.strings|is no"):
            fk.StringSVC(kernel).fit(X, Y)
    for C in (0, -1, "best", None):
        with pytest.raises(ParameterError, match=r'expected a finite number .* or "auto", "cv"'):
            fk.StringSVC("spectrum(2)", C=C).fit(X, Y)
    model = fk.StringSVC("weighted_degree(3)").fit(X, Y)
    with pytest.raises(DataError, match=r"row 0 of X has 4 .* row 0 of the training set has 14"):
        model.predict(["ACGT"])
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        model.predict([])
    for top in (0, 1.5, None):
        with pytest.raises(ParameterError, match="top="):
            model.position_weights(top=top)
    with pytest.raises(ParameterError, match="expected a weighted degree kernel"):
        fk.StringSVC("spectrum(2)").fit(X, Y).position_weights()
