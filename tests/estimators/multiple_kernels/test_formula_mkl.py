"""FormulaMKL: the model is the support vector machine of its weighted sum; refusals."""

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import DataError, ParameterError, datasets

WEIGHTS = "cut points are quantiles of the unweighted rows, and libsvm stops at a tolerance"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@parametrize_with_checks(
    [fk.FormulaMKL(["a", "~a & b"], "lp")],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def boards():
    X, y = datasets.tic_tac_toe()
    chosen = np.random.default_rng(0).permutation(len(y))[:240]
    return X[chosen[:160]], y[chosen[:160]], X[chosen[160:]]


@pytest.fixture(scope="module")
def binary():
    """A 0/1 table, three classes, and rows to predict."""
    generator = np.random.default_rng(1)
    X = (generator.random((150, 12)) < 0.4).astype(np.uint8)
    y = X[:, 0] + (X[:, 1] & X[:, 2])
    return X[:100], y[:100], X[100:]


FORMULAS = ("a", "a & b", "a & b & c", "a | ~b")


@pytest.mark.parametrize("method", ["easy", "lp"])
@pytest.mark.parametrize(("classes", "unit"), [(2, True), (3, True), (2, False)])
def test_the_model_is_the_svm_of_the_weighted_sum(binary, method, classes, unit):
    X, y, later = binary
    y = np.minimum(y, classes - 1)
    options = {"unit_variance": unit, "encoder": None, "tol": 1e-8}
    model = fk.FormulaMKL(FORMULAS, method, "distinct", **options).fit(X, y)
    assert model.weights_.shape == (4,)
    assert model.gap_ <= 1e-8
    kernels = [fk.kernel(text, "distinct").normalized() for text in FORMULAS]
    if unit:
        grams = [k(X) for k in kernels]
        factors = [float(1 / (g.diagonal().mean() - g.mean())) for g in grams]
        kernels = [factor * k for factor, k in zip(factors, kernels, strict=True)]
        np.testing.assert_allclose([k(X).trace() - k(X).mean() * 100 for k in kernels], 100)
    assert [str(k).split(" * ")[-1] for k in model.kernels_] == [
        str(k).split(" * ")[-1] for k in kernels
    ]
    gram = sum(w * k(X) for w, k in zip(model.weights_, kernels, strict=True))
    np.testing.assert_allclose(model.kernel_(X), gram, rtol=1e-7, atol=1e-9)
    svc = SVC(kernel="precomputed", C=3, tol=1e-8).fit(gram, y)
    cross = sum(w * k(later, X) for w, k in zip(model.weights_, kernels, strict=True))
    decision = model.decision_function(later)
    np.testing.assert_allclose(decision, svc.decision_function(cross), atol=1e-3)
    clear = np.abs(decision if classes == 2 else np.diff(np.sort(decision))[:, -1]) > 2e-3
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(model.predict(later)[clear], svc.predict(cross)[clear])
    norm = 1.0 if method == "easy" else 1.5
    assert np.linalg.norm(model.weights_, norm) == pytest.approx(1)
    assert model.summary_.shares.sum() == pytest.approx(1)


def test_formulas_kernels_and_texts_are_the_same(boards):
    X, y, later = boards
    a, b = fk.variables("a b")
    texts = fk.FormulaMKL(["a", "a & b"]).fit(X, y)
    mixed = fk.FormulaMKL([a, fk.kernel(a & b)]).fit(X, y)
    np.testing.assert_array_equal(texts.decision_function(later), mixed.decision_function(later))


def test_the_formula_of_the_game_weighs_most(boards):
    X, y, _ = boards
    for method in ("easy", "lp"):
        model = fk.FormulaMKL(FORMULAS, method, "distinct").fit(X, y)
        assert model.summary_.order[0] == 2


def test_one_formula_is_formula_svc(boards):
    X, y, later = boards
    one = fk.FormulaMKL(["a & b"], C=5, unit_variance=False, tol=1e-8).fit(X, y)
    assert one.weights_.tolist() == [1.0]
    svc = fk.FormulaSVC("a & b", C=5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        one.decision_function(later), svc.decision_function(later), atol=1e-3
    )


def test_infinite_p_is_the_uniform_sum(boards):
    X, y, later = boards
    options = {"p": math.inf, "unit_variance": False, "tol": 1e-8}
    model = fk.FormulaMKL(["a", "a & b"], "lp", **options).fit(X, y)
    assert model.weights_.tolist() == [1.0, 1.0]
    both = fk.kernel("a").normalized() + fk.kernel("a & b").normalized()
    svc = fk.FormulaSVC(both, C=3, normalize=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(later), svc.decision_function(later), atol=1e-3
    )


def test_weights_of_rows_and_classes(binary):
    X, y, later = binary
    y = np.minimum(y, 1)
    options = {"encoder": None, "tol": 1e-6}
    repeats = np.arange(len(y)) % 3
    for method in ("easy", "lp"):
        weighted = fk.FormulaMKL(FORMULAS, method, **options).fit(X, y, sample_weight=repeats)
        repeated = fk.FormulaMKL(FORMULAS, method, **options)
        repeated.fit(X.repeat(repeats, axis=0), y.repeat(repeats))
        np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=5e-3)
        np.testing.assert_allclose(
            weighted.decision_function(later), repeated.decision_function(later), atol=0.05
        )
        by_class = fk.FormulaMKL(FORMULAS, method, class_weight={0: 1, 1: 4}, **options).fit(X, y)
        by_row = fk.FormulaMKL(FORMULAS, method, **options).fit(X, y, np.where(y == 1, 4, 1))
        np.testing.assert_allclose(by_class.weights_, by_row.weights_)
    gone = fk.FormulaMKL(encoder=None).fit(X, binary[1], sample_weight=binary[1] != 2)
    assert gone.classes_.tolist() == [0, 1]


def test_domains_and_any_table():
    table = {
        "odor": ["foul", "none", "musty", "foul", "none", "foul"] * 5,
        "size": [1.5, 2.5, 3.5, None, 5.5, 6.5] * 5,
        "ring": [True, False, True, False, False, True] * 5,
    }
    y = np.array(["p", "e", "e", "p", "e", "p"] * 5)
    model = fk.FormulaMKL(
        ["a", "a:smell & b:look", "a & b"],
        domains={"smell": ["odor"], "look": ["size", "ring"]},
    ).fit(table, y)
    assert model.score(table, y) == 1
    assert set(model.predict(table)) == {"p", "e"}


def test_rules_over_the_sum(boards):
    X, y, _ = boards
    model = fk.FormulaMKL(["a", "a & b & c"], "lp", "distinct", C=100).fit(X, y)
    found = model.rules(top=6)
    assert found.proven
    w = {str(item.rule): item.weight * (1 if item.winner == "positive" else -1) for item in found}
    table = model.encoder_.transform(X)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    for item, feature in zip(found, found.features, strict=True):
        place = 0 if len(feature.propositions) == 1 else 1
        factor, inner = model.kernels_[place].weight, model.kernels_[place].kernel.kernel
        lengths = np.sqrt(inner.diagonal(table))
        cover = table[:, list(feature.propositions)].all(axis=1)
        exact = math.sqrt(model.weights_[place] * factor) * (alpha * cover / lengths).sum()
        assert w[str(item.rule)] == pytest.approx(exact, rel=1e-6)


def test_summary_prints_and_converts(boards):
    X, y, _ = boards
    summary = fk.FormulaMKL(FORMULAS, "lp", "distinct", p=1).fit(X, y).summary_
    lines = str(summary).splitlines()
    assert lines[0].split() == ["formula", "weight", "share", "of", "the", "model"]
    assert lines[2].startswith("a & b & c")
    assert lines[-1].startswith("p = 1; relative gap")
    assert summary._repr_html_().count("<td") == 3 * len(summary)
    assert summary.to_frame()["formula"].tolist() == list(FORMULAS)
    pytest.importorskip("matplotlib")
    assert len(summary.plot().patches) == len(summary) == 4


def test_models_are_cloned_and_pickled(boards):
    X, y, later = boards
    model = fk.FormulaMKL(["a", fk.kernel("a & b")], "lp", p=math.inf).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.decision_function(later), again.decision_function(later))
    np.testing.assert_array_equal(clone(model).fit(X, y).weights_, model.weights_)
    with pytest.raises(NotFittedError):
        clone(model).predict(later)
    with pytest.raises(NotFittedError):
        clone(model).rules()


# -- hostile input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"formulas": []}, r"formulas=\[\]; expected a list of formulas and kernels"),
        ({"formulas": "a & b"}, r"formulas='a & b'; expected a list"),
        ({"formulas": ["a", 3]}, "formula 1 is 3"),
        ({"formulas": [fk.strings.spectrum(2)]}, "reads strings"),
        ({"method": "simple"}, "method='simple'; expected one of 'easy', 'lp'"),
        ({"C": 0}, "C=0; expected a finite number above 0"),
        ({"lam": 1.5}, "lam=1.5; expected"),
        ({"p": 0.5}, r"p=0.5; expected a finite number of at least 1, or float\('inf'\)"),
        ({"p": math.nan}, "p=nan"),
        ({"tol": 0}, "tol=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"normalize": "yes"}, "normalize='yes'"),
        ({"unit_variance": 1}, "unit_variance=1"),
    ],
)
def test_wrong_parameters_are_said(parameters, message):
    with pytest.raises(ParameterError, match=message):
        fk.FormulaMKL(**parameters).fit([[0, 1], [1, 0]], [0, 1])


def test_one_class_is_refused():
    X = np.eye(3, dtype=int)
    with pytest.raises(DataError, match="all rows are of one class, 7"):
        fk.FormulaMKL().fit(X, [7, 7, 7])
    with pytest.raises(DataError, match="one class"):
        fk.FormulaMKL().fit(X, [0, 1, 1], sample_weight=[0, 1, 1])


@pytest.mark.filterwarnings("ignore:.* is 0 for every pair of rows")
@pytest.mark.filterwarnings("ignore:the gap of the objective")  # C = 1e12: rounding hides it
@pytest.mark.parametrize("method", ["easy", "lp"])
@pytest.mark.parametrize("extreme", [{}, {"C": 1e-12}, {"C": 1e12}, {"lam": 0, "p": 1}])
def test_hostile_tables(method, extreme):
    make = lambda: fk.FormulaMKL(("a", "a", "a & ~a", "a & b"), method, encoder=None, **extreme)  # noqa: E731
    two = make().fit([[1, 0], [0, 1]], ["x", "y"])
    assert two.predict([[1, 0], [0, 1]]).tolist() == ["x", "y"] or extreme.get("C") == 1e-12
    same = make().fit(np.ones((20, 3), int), np.arange(20) % 2)  # contradicting copies
    empty = make().fit(np.zeros((20, 3), int), np.arange(20) % 2)  # no row has a true feature
    mixed = make().fit(np.vstack([np.zeros((5, 3), int), np.eye(3, dtype=int)]), np.arange(8) % 2)
    for model in (two, same, empty, mixed):
        assert np.isfinite(model.weights_).all()
        assert model.weights_.min() >= 0
        assert model.weights_[0] == pytest.approx(model.weights_[1])
        assert 0 <= model.gap_ <= (1 if extreme.get("C") == 1e12 else model.tol)
        str(model.summary_)


def test_too_few_rounds_warn(boards):
    X, y, _ = boards
    with pytest.warns(ConvergenceWarning, match="gap of the objective is .* above tol"):
        model = fk.FormulaMKL(FORMULAS, "lp", p=1, max_iter=1).fit(X, y)
    assert model.gap_ > model.tol
    assert model.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fk.FormulaMKL(FORMULAS, "lp", p=1, verbose=True).fit(X, y).gap_ <= 1e-3
