"""Cross-validation beside baselines: what is measured is what scikit-learn would measure."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

import formulakern as fk
from formulakern import boolean, datasets
from formulakern.estimators.svm.evaluation import (
    area_under_curve,
    check_folds,
    compare_kernels,
    subsample,
)


@pytest.fixture(scope="module")
def robots():
    X, y = datasets.monks(2)
    return X[:160], y[:160]


def test_scores_are_those_of_formula_svc(robots):
    X, y = robots
    k = fk.kernel("a & ~b")
    encoder = fk.PropositionEncoder(nominal="all")
    comparison = compare_kernels(k, X, y, n_folds=4, C=3, encoder=encoder, random_state=2)
    formula, linear, polynomial = comparison.scores
    folds = StratifiedKFold(4, shuffle=True, random_state=2)
    kernels = (k, boolean.polynomial(1, 0.0), boolean.polynomial(2, 1.0))
    for score, kernel in zip((formula, linear, polynomial), kernels, strict=True):
        model = fk.FormulaSVC(kernel, C=3, encoder=encoder)
        for measured, name in ((score.accuracy, "accuracy"), (score.auc, "roc_auc")):
            expected = cross_val_score(model, X, y, cv=folds, scoring=name)
            np.testing.assert_allclose(measured, expected, atol=1e-12)
    rows = encoder.fit_transform(X).astype(int)
    np.testing.assert_array_equal(kernels[1](rows), rows @ rows.T)
    np.testing.assert_array_equal(kernels[2](rows), (rows @ rows.T + 1) ** 2)
    assert [score.name for score in comparison.scores] == [
        "formula", "linear", "polynomial, degree 2",
    ]  # fmt: skip
    assert comparison.n_propositions == len(encoder.fit(X).propositions_)
    assert comparison.backend in ("interpreter", "lookup", "numba")
    assert comparison.reason
    assert all(score.fit_seconds > 0 and score.predict_seconds > 0 for score in comparison.scores)


def test_same_seed_same_scores_and_steps_are_announced(robots):
    steps = []
    first = compare_kernels(fk.kernel("a | b"), *robots, n_folds=2, step=steps.append)
    again = compare_kernels(fk.kernel("a | b"), *robots, n_folds=2, baselines=())
    assert again.scores[0].accuracy == first.scores[0].accuracy
    assert len(again.scores) == 1
    assert steps[0] == "fold 1 of 2, formula kernel"
    assert len(steps) == 6
    other = compare_kernels(fk.kernel("a | b"), *robots, n_folds=2, random_state=1)
    assert other.scores[0].auc != first.scores[0].auc


def test_degree_is_that_of_the_formula(robots):
    for formula, degree in (("a", 1), ("(a & ~b) | c", 3), ("true", 1), ("a & (a | b)", 1)):
        comparison = compare_kernels(fk.kernel(formula), *robots, n_folds=2)
        assert comparison.scores[-1].name == f"polynomial, degree {degree}"


def test_the_encoder_sees_training_rows_only():
    table = fk.Table({"name": [f"row {i}" for i in range(20)], "x": [0, 1] * 10})
    y = np.array([0, 1] * 10)
    comparison = compare_kernels(fk.kernel("a"), table, y, n_folds=2)
    assert comparison.n_propositions == 10 + 1
    assert comparison.scores[0].accuracy == [1.0, 1.0]


def test_rows_without_true_propositions_have_cosine_zero():
    X = fk.Table.of(np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 6))
    y = np.array([0, 1, 0, 1] * 6)
    for score in compare_kernels(fk.kernel("a & b"), X, y, n_folds=3).scores:
        assert np.isfinite(score.accuracy + score.auc).all()


def test_small_classes_are_scored_where_they_are():
    X = fk.Table.of(np.eye(3, dtype=int)[[0] * 10 + [1] * 10 + [2] * 2])
    y = np.array(["a"] * 10 + ["b"] * 10 + ["rare"] * 2)
    with pytest.warns(UserWarning, match="least populated class"):
        comparison = compare_kernels(fk.kernel("a"), X, y, n_folds=5)
    assert comparison.scores[0].auc == [1.0] * 5


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
        ((np.ones(9), 3, 1.0), fk.DataError, "every row has the class 1.0"),
        ((np.arange(9), 3, 1.0), fk.DataError, "9 values, of which fewer than two have two rows"),
        ((np.array([0] * 9 + [1] * 4), 5, 1.0), fk.DataError, "Use at most 4 folds"),
        (
            (np.array([0, 1] * 5), 1, 1.0),
            fk.ParameterError,
            "n_folds=1; expected an integer, at least 2",
        ),
        (
            (np.array([0, 1] * 5), 2, 0.0),
            fk.ParameterError,
            "C=0.0; expected a finite number above 0",
        ),
        ((np.array([0, 1] * 5), 2, np.inf), fk.ParameterError, "C=inf"),
        ((np.array([0, 1] * 5), 2, np.nan), fk.ParameterError, "C=nan"),
    ],
)
def test_refusals(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        check_folds(*arguments)


def test_unknown_baseline(robots):
    with pytest.raises(fk.ParameterError, match="baseline='rbf'; expected one of 'linear', "):
        compare_kernels(fk.kernel("a"), *robots, n_folds=2, baselines=["rbf"])
