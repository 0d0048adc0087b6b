"""The Choquet kernel against its definition, exact rationals, and the kernels of 0/1 rows."""

import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.svm import SVC

import formulakern as fk
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.kernels import boolean
from formulakern.kernels.choquet import ChoquetKernel

RNG = np.random.default_rng(0)
KERNELS = [fk.choquet(), *(fk.choquet(k) for k in (1, 2, 3, 5))]
#: Zeros, ties, and numbers of very different size.
entries = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0, 1e-9]) | st.floats(1e-6, 1e6)


def rows(shape, share=0.8, digits=1, seed=0):
    """Return random rows in [0, 1] with zeros, and with ties if they are rounded."""
    generator = np.random.default_rng(seed)
    return generator.random(shape).round(digits) * (generator.random(shape) < share)


def exact(X, Z, additivity, of=oracle.choquet):
    return np.array([[float(of(x, z, additivity)) for z in Z] for x in X])


@pytest.mark.usefixtures("road")
@settings(max_examples=14, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.integers(1, 5), st.sampled_from([None, 1, 2, 3, 5]))
def test_equals_the_definition(data, n, additivity):
    additivity = additivity and min(additivity, n)
    X = data.draw(hnp.arrays(float, (3, n), elements=entries))
    Z = data.draw(hnp.arrays(float, (2, n), elements=entries))
    k = fk.choquet(additivity)
    expected = exact(X, Z, additivity)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-14)
    np.testing.assert_allclose(k(X), exact(X, X, additivity), rtol=1e-14)
    np.testing.assert_allclose(k.diagonal(X), np.diag(exact(X, X, additivity)), rtol=1e-14)
    share = fk.choquet(additivity, scale="probability")
    np.testing.assert_allclose(share(X, Z), expected / k.dimension(n), rtol=1e-14)
    own = np.diag(exact(np.vstack([X, Z]), np.vstack([X, Z]), additivity)) ** 0.5
    lengths = own[:3, None] * own[None, 3:]
    cosines = np.divide(expected, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    np.testing.assert_allclose(k.normalized()(X, Z), cosines, rtol=1e-13)


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("additivity", [None, 4, 10])
def test_ten_columns(additivity):
    X, Z = rows((2, 10)), rows((2, 10), seed=1)
    expected = exact(X, Z, additivity)
    np.testing.assert_allclose(fk.choquet(additivity)(X, Z), expected, rtol=1e-14)
    np.testing.assert_allclose(exact(X, Z, additivity, oracle.choquet_integral), expected)


@pytest.mark.parametrize("additivity", [None, 2, 7, 150, 300])
def test_three_hundred_columns_to_the_last_digits(additivity, monkeypatch):
    from formulakern import compilation

    monkeypatch.setattr(compilation.CompiledFunction, "pays", lambda *_: True)
    for digits in (2, 12):  # with ties, and without
        X, Z = rows((1, 300), digits=digits), rows((2, 300), digits=digits, seed=1)
        expected = exact(X, Z, additivity, oracle.choquet_integral)
        np.testing.assert_allclose(fk.choquet(additivity)(X, Z), expected, rtol=1e-13)
    own = float(oracle.choquet_integral(X[0], X[0], additivity))
    np.testing.assert_allclose(fk.choquet(additivity).diagonal(X), own, rtol=1e-13)


@pytest.mark.parametrize("additivity", [None, 700])
def test_thousands_of_columns(additivity):
    """Values far beyond float64, divided by the number of sets, and cosines."""
    n = 1_500
    X = rows((3, n), share=0.97, digits=2)
    X[2, n // 2 :] = 0
    k = fk.choquet(additivity)
    values = [[oracle.choquet_integral(x, z, additivity) for z in X[1:]] for x in X[:1]]
    own = [oracle.choquet_integral(x, x, additivity) for x in X]
    share = [[float(value / k.dimension(n)) for value in values[0][:1]]]
    scaled = fk.choquet(additivity, scale="probability")
    np.testing.assert_allclose(scaled(X[:1], X[1:2]), share, rtol=1e-12)
    squares = [float(values[0][j] ** 2 / (own[0] * own[j + 1])) for j in range(2)]
    np.testing.assert_allclose(k.normalized()(X)[0, 1:], np.sqrt(squares), rtol=1e-12)
    np.testing.assert_allclose(k.normalized()(X[:1], X[1:])[0], np.sqrt(squares), rtol=1e-12)
    for wrong in (lambda: k(X), lambda: k.diagonal(X)):
        with pytest.raises(MagnitudeError, match=r"beyond 1\.8e308.*scale='probability' or k"):
            wrong()
    with pytest.raises(MagnitudeError, match=r"below 2\.2e-308.*kernel\.normalized"):
        scaled(X[2:], np.eye(1, n) / 2)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_rows_of_zero_and_one_are_counted(k):
    X = (RNG.random((20, 12)) < 0.5).astype(int)
    counted = boolean.sadohara_monotone_dnf()
    if k.additivity:
        parts = [boolean.monotone_conjunctive(r) for r in range(1, k.additivity + 1)]
        counted = sum(parts[1:], start=parts[0])
    np.testing.assert_array_equal(k(X), counted(X))
    np.testing.assert_array_equal(k.diagonal(X), counted.diagonal(X))
    real = np.vstack([X, np.full((1, 12), 0.5)])  # one row, and all are read as real
    np.testing.assert_allclose(k(real)[:20, :20], k(X), rtol=1e-14)
    np.testing.assert_allclose(k(X, real)[:, :20], k(X), rtol=1e-14)
    np.testing.assert_allclose(k.normalized()(real)[:20, :20], k.normalized()(X), rtol=1e-14)
    assert k.dimension(12) == counted.dimension(12)
    with pytest.raises(MagnitudeError, match=r"fk\.choquet\(\) on 2,000"):
        fk.choquet()(np.ones((2, 2000)))
    assert fk.choquet().normalized()(np.ones((2, 2000)))[0, 1] == 1


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_what_holds_of_every_kernel(k):
    X, Z = rows((40, 6)), rows((9, 6), digits=3, seed=1)
    X[3] = 0
    for one in (k, 2 * k + k.normalized(), k * k, (k + boolean.anova(2)).normalized()):
        K = one(X)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(one(X, X.copy()), K, rtol=1e-13)
        np.testing.assert_allclose(one(X, Z), one(Z, X).T, rtol=1e-13)
        np.testing.assert_allclose(one.diagonal(X), np.diag(K), rtol=1e-13)
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues.min() >= -1e-12 * eigenvalues.max()
        assert (K[3] == 0).all()
    for again in (pickle.loads(pickle.dumps(k)), copy.deepcopy(k), clone(k), eval(repr(k))):
        assert again == k
        assert hash(again) == hash(k)
    assert isinstance(k, ChoquetKernel)
    assert k != fk.choquet(4, scale="probability")
    assert "the least entry of every non-empty set" in str(k.inspect())
    assert k.normalized().inspect()


def test_features_are_the_minima():
    """On all features written out, the kernel is the inner product."""
    X = rows((5, 5), digits=3)
    for additivity in (None, 1, 2, 4):
        sets = [
            list(columns)
            for size in range(1, (additivity or 5) + 1)
            for columns in itertools.combinations(range(5), size)
        ]
        features = np.array([X[:, columns].min(axis=1) for columns in sets])
        np.testing.assert_allclose(fk.choquet(additivity)(X), features.T @ features, rtol=1e-14)
        assert fk.choquet(additivity).dimension(5) == len(sets)
    np.testing.assert_allclose(fk.choquet(1)(X), X @ X.T, rtol=1e-14)


@settings(max_examples=30)
@given(hnp.arrays(float, 4, elements=entries), st.floats(1e-3, 1e3), st.permutations(range(4)))
@example(np.array([0.0, 0.0, 0.0, 0.5]), 2.0, [3, 1, 2, 0])
def test_units_and_order_of_columns(x, factor, order):
    """K is homogeneous in each row, and the order of the columns does not count."""
    z = np.array([0.5, 0.25, 0.25, 3.0])
    k = fk.choquet()
    (value,) = k([x], [z])[0]
    np.testing.assert_allclose(k([x * factor], [z]), [[value * factor]], rtol=1e-13)
    np.testing.assert_allclose(k([x[order]], [z[order]]), [[value]], rtol=1e-13)


def test_threads_and_blocks_change_nothing():
    X = rows((300, 20), digits=3)
    K = fk.choquet()(X)
    for i, j in ((0, 299), (127, 128), (130, 140), (299, 0)):
        expected = float(oracle.choquet_integral(X[i], X[j]))
        assert K[i, j] == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(fk.choquet()(X[:40], X[:30]), K[:40, :30], rtol=1e-13)


def test_every_kind_of_table():
    X, Z = rows((6, 4)), rows((5, 4), seed=1)
    k = fk.choquet(2)
    expected = k(X, Z)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for x in (X.tolist(), csr_array(X), frame, fk.Table.of(frame), np.asfortranarray(X)):
        np.testing.assert_allclose(k(x, Z), expected, rtol=1e-14)
    integers = np.arange(12).reshape(3, 4)
    np.testing.assert_allclose(k(integers), exact(integers, integers, 2), rtol=1e-14)
    assert k(X[:0], Z).shape == (0, 5)
    assert k.diagonal(np.empty((0, 4))).shape == (0,)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            [[0.5, -0.25]],
            r"column 1 holds -0\.25 \(row 0\); the Choquet kernel reads numbers of at",
        ),
        ([[0.5, 1], [np.nan, 1]], r"column 0 holds nan \(row 1\)"),
        ([[0.5, np.inf]], r"column 1 holds inf \(row 0\)"),
        (pd.DataFrame({"age": [0.5, -1]}), r'column "age" holds -1\.0 \(row 1\)'),
        ([[0.5, "text"]], "holds 'text'"),
        ([[]], "no columns"),
    ],
)
def test_bad_tables(table, message):
    for k in (fk.choquet(), fk.choquet(1).normalized(), 2 * fk.choquet() + boolean.anova(1)):
        with pytest.raises(DataError, match=message):
            k(table)
        with pytest.raises(DataError, match=message):
            k.diagonal(table)
    with pytest.raises(DataError, match=r"column 0 of Z holds -1\.0 \(row 0\)"):
        fk.choquet()([[0.5, 1]], [[-1, 0.5]])


def test_bad_parameters():
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(ParameterError, match="an integer, at least 1, or None for all sets"):
            fk.choquet(wrong)
    with pytest.raises(ParameterError, match="'count', 'probability'"):
        fk.choquet(scale="log")
    for X in (np.full((2, 3), 0.5), np.ones((2, 3))):
        for call in (fk.choquet(4), fk.choquet(4).normalized(), fk.choquet(4).diagonal):
            with pytest.raises(ParameterError, match="additivity=4; expected at most the number"):
                call(X)
    with pytest.raises(ParameterError, match="additivity=4"):
        fk.choquet(4).dimension(3)


def test_small_and_large_numbers(road):
    """The largest entry of a row may be any number; lost precision is reported."""
    X = rows((4, 5), digits=3)
    k = fk.choquet()
    for factor in (2.0**400, 2.0**-400):
        np.testing.assert_array_equal(k(X * factor), k(X) * factor**2)
        np.testing.assert_allclose(k.normalized()(X * factor), k.normalized()(X), rtol=1e-14)
    x, z = [[1e-140, 1.0, 0.0]], [[1e-140, 0.0, 1.0]]
    assert k(x, z)[0, 0] == pytest.approx(float(Fraction(1e-140) ** 2), rel=1e-14)
    with pytest.raises(MagnitudeError, match="far smaller than its largest one"):
        k([[1e-170, 1.0, 0.0]], [[1e-170, 0.0, 1.0]])
    with pytest.raises(MagnitudeError, match="beyond"):
        k(X * 1e200)
    with pytest.raises(MagnitudeError, match=r"below 2\.2e-308"):
        k.diagonal(X * 1e-200)
    far = np.full((1, 900), 1e-100)
    far[0, 0] = 1
    with pytest.raises(MagnitudeError, match="too far apart"):
        k.normalized()(far)


def test_in_scikit_learn():
    X = rows((60, 4), share=1, digits=6)
    y = (X.min(axis=1) + X[:, 0] > 0.8).astype(int)
    model = SVC(kernel=fk.choquet(2), C=100).fit(X, y)
    assert model.score(X, y) > 0.9
    assert KernelPCA(2, kernel=fk.choquet()).fit_transform(X).shape == (60, 2)


def test_rules_of_a_machine_on_zero_and_one():
    """There, the features are conjunctions, and the heaviest can be read."""
    X = (RNG.random((120, 6)) < 0.5).astype(int)
    model = fk.FormulaSVC(fk.choquet(2), C=100, encoder=None).fit(X, X[:, 0] & X[:, 3])
    assert "x0 & x3" in str(model.rules(top=1))
