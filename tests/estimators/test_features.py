"""FormulaFeatures in scikit-learn: tables in, names and columns out, refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import DataError, ParameterError


@parametrize_with_checks(
    [
        fk.FormulaFeatures(),
        fk.FormulaFeatures("a -> b", 5, "free", normalize=False, sparse_output=False),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "odor": generator.choice(["foul", "none", "a b"], 90),
            "gill size": generator.normal(size=90).round(2),
            "ring": generator.random(90) < 0.4,
        }
    )


@pytest.mark.parametrize(
    ("formula", "reading", "n"),
    [
        ("a & ~b", "bound", None),
        ("a & ~b | c", "distinct", 40),
        ("a -> b", "bound", 10),
        ("any[2](a)", "distinct", None),
        ("a:scent & ~b:rest", "distinct", None),
        ("a & b & c & d & e & f & g & h", "bound", 50),
    ],
)
def test_names_are_rules_that_give_the_columns(frame, formula, reading, n):
    domains = {"scent": ["odor"], "rest": ["gill size", "ring"]}
    model = fk.FormulaFeatures(formula, n, reading, domains=domains, normalize=False)
    got = model.fit_transform(frame)
    assert got.shape == (90, model.n_features_out_)
    for name, column, weight in zip(
        model.get_feature_names_out(), got.toarray().T, model.weights_, strict=True
    ):
        np.testing.assert_allclose(column, fk.rule(name)(frame) * np.sqrt(weight), err_msg=name)
    np.testing.assert_array_equal(model.transform(frame[:7]).toarray(), got[:7].toarray())


def test_rows_have_length_one_and_products_are_cosines(frame):
    model = fk.FormulaFeatures("(a & b) | c").fit(frame[:60])
    assert model.exact_
    assert model.error_bound() == 0
    assert model.dimension_ == len(model.propositions_) ** 3
    features = model.transform(frame)
    np.testing.assert_allclose((features**2).sum(axis=1), 1)
    expected = model.kernel_(model.encoder_.transform(frame))
    np.testing.assert_allclose((features @ features.T).toarray(), expected, rtol=1e-12)


def test_kinds_of_tables_and_outputs(frame):
    X = (np.random.default_rng(1).random((70, 9)) < 0.4).astype(np.uint8)
    plain = fk.FormulaFeatures("a & b", 20, encoder=None)
    expected = plain.fit_transform(X).toarray()
    for table in (X.tolist(), sp.csr_array(X), sp.csr_matrix(X), X.astype(float), X > 0):
        model = clone(plain).fit(table)
        np.testing.assert_array_equal(model.transform(table).toarray(), expected)
    assert isinstance(plain.transform(X), sp.csr_array)
    single = clone(plain).set_params(dtype="float32", sparse_output=False)
    assert single.fit(X).transform(X).dtype == np.float32
    framed = single.set_output(transform="pandas").transform(X)
    assert list(framed.columns) == plain.get_feature_names_out().tolist()
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(again.transform(X).toarray(), expected)
    renamed = plain.get_feature_names_out([f"c{j}" for j in range(9)])
    np.testing.assert_array_equal(
        [name.replace("c", "x") for name in renamed], plain.get_feature_names_out()
    )
    other = clone(plain).set_params(random_state=1).fit(X)
    assert (other.get_feature_names_out() != plain.get_feature_names_out()).any()
    kernel = fk.kernel("a & b") + fk.kernel("a -> b", "distinct")
    both = fk.FormulaFeatures(kernel, None, normalize=False).fit(frame)
    table = both.encoder_.transform(frame)
    product = both.transform(frame) @ both.transform(frame).T
    np.testing.assert_allclose(product.toarray(), kernel(table), rtol=1e-12)


def test_a_linear_model_learns_with_them():
    X, y = fk.datasets.tic_tac_toe()
    model = make_pipeline(
        fk.FormulaFeatures("a & b & c", None, "distinct"), SGDClassifier(alpha=1e-6, random_state=0)
    )
    assert model.fit(X, y).score(X, y) > 0.99


def test_rows_without_true_features(frame):
    X = np.eye(6, dtype=int)
    model = fk.FormulaFeatures("a & b", None, "distinct", encoder=None).fit(X)
    assert model.transform(X).nnz == 0
    assert model.n_features_out_ == 15
    with pytest.raises(DataError, match="none of 15 features is true in any row"):
        clone(model).set_params(n_components=5).fit(X)
    always = fk.FormulaFeatures("a | ~a").fit(frame)
    assert always.get_feature_names_out().tolist() == ["true"]
    assert (always.transform(frame).toarray() == 1).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components=0; expected an integer, at least 1, or None for all"),
        ({"n_components": 2.5}, "n_components=2.5"),
        ({"normalize": 1}, "normalize=1; expected True or False"),
        ({"sparse_output": "no"}, "sparse_output='no'"),
        ({"dtype": int}, "expected numpy.float64 or numpy.float32"),
        ({"formula": "a & ~a"}, "false in every row under every substitution"),
        ({"formula": fk.boolean.dnf(2, 2)}, "cannot be listed as columns or rules"),
        ({"formula": fk.strings.spectrum(2)}, "reads strings; expected a kernel of tables"),
        ({"formula": "a & b & c & d & e & f & g & h", "n_components": None}, "requires all"),
        ({"variables": "bounded"}, "variables='bounded'"),
    ],
)
def test_wrong_parameters(frame, parameters, message):
    with pytest.raises(ParameterError, match=message):
        fk.FormulaFeatures(**parameters).fit(frame)


def test_wrong_tables_and_deltas(frame):
    model = fk.FormulaFeatures().fit(frame)
    with pytest.raises(ValueError, match="gill size"):
        model.transform(frame[["odor", "ring"]])
    with pytest.raises(ParameterError, match="delta"):
        model.error_bound(0)
    with pytest.raises(ParameterError, match="delta"):
        model.error_bound(1.5)
    with pytest.raises(DataError):
        model.get_feature_names_out(["a", "b", "c"])
    with pytest.raises(DataError, match="0 sample"):
        model.transform(frame[:0])
