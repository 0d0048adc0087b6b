"""Folds, samples and areas under curves."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import formulakern as fk
from formulakern.estimators.svm.evaluation import area_under_curve, check_folds, subsample


def test_area_under_curve():
    generator = np.random.default_rng(0)
    truth = generator.permutation(np.arange(60) % 3)
    decision = generator.random((60, 3))
    expected = np.mean([roc_auc_score(truth == c, decision[:, c]) for c in range(3)])
    assert area_under_curve(truth, decision, [0, 1, 2]) == pytest.approx(expected)
    absent = area_under_curve(truth, np.c_[decision, decision[:, 0]], [0, 1, 2, "absent"])
    assert absent == pytest.approx(expected)
    two = np.where(truth == 0, "no", "yes")
    expected = roc_auc_score(two == "yes", decision[:, 0])
    assert area_under_curve(two, decision[:, 0], ["no", "yes"]) == pytest.approx(expected)


def test_subsample_is_stratified_and_repeatable():
    classes = np.array(["a"] * 900 + ["b"] * 95 + ["c"] * 5)
    rows = subsample(classes, 100, random_state=3)
    np.testing.assert_array_equal(rows, subsample(classes, 100, random_state=3))
    assert (np.diff(rows) > 0).all()
    values, counts = np.unique(classes[rows], return_counts=True)
    assert dict(zip(values, counts, strict=True)) == {"a": 90, "b": 10, "c": 1}
    assert not np.array_equal(rows, subsample(classes, 100, random_state=4))
    np.testing.assert_array_equal(subsample(classes, 1000), np.arange(1000))


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((np.ones(9), 3), fk.DataError, "every row has the class 1.0"),
        ((np.arange(9), 3), fk.DataError, "9 classes, of which fewer than two have two rows"),
        ((np.array([0] * 9 + [1] * 4), 5), fk.DataError, "Use at most 4 folds"),
        (
            (np.array([0, 1] * 5), 1),
            fk.ParameterError,
            "n_folds=1; expected an integer, at least 2",
        ),
    ],
)
def test_refusals(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        check_folds(*arguments)
