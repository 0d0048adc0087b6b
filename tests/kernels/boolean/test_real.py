"""Families on real vectors: their formulas written out, their agreement with 0/1 tables, limits."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.svm import SVC

import formulakern as fk
from formulakern.encoding.strict import read_packed
from formulakern.errors import DataError, MagnitudeError
from formulakern.kernels import boolean

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 6))
Z = RNG.normal(size=(5, 6))


def inner(x, z):
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


def product(factors):
    return math.prod(factors)


#: Every family of real vectors, and its formula for one pair of rows.
REAL = {
    boolean.all_subsets(): lambda x, z: product(1 + x * z),
    boolean.sadohara_monotone_dnf(): lambda x, z: product(1 + x * z) - 1,
    boolean.sadohara_dnf(): lambda x, z: product(2 * x * z - x - z + 2) - 1,
    boolean.parametric_dnf(0.3): lambda x, z: product(1 + 0.3 * (1 - x - z + 2 * x * z)) - 1,
    boolean.parametric_dnf(2.0, monotone=True): lambda x, z: product(1 + 2 * x * z) - 1,
    boolean.anova(1): inner,
    boolean.anova(3): lambda x, z: sum(
        product((x * z)[list(columns)]) for columns in itertools.combinations(range(len(x)), 3)
    ),
    boolean.polynomial(3, 0.5): lambda x, z: (inner(x, z) + 0.5) ** 3,
    boolean.polynomial(2, 0): lambda x, z: inner(x, z) ** 2,
    boolean.tanimoto(): lambda x, z: (
        inner(x, z) / d if (d := inner(x, x) + inner(z, z) - inner(x, z)) else 1.0
    ),
}
entries = st.floats(-3, 3, allow_subnormal=False).map(lambda v: round(v, 3))


@pytest.mark.parametrize("k", REAL, ids=repr)
@settings(max_examples=8)
@given(hnp.arrays(float, (3, 5), elements=entries), hnp.arrays(float, (2, 5), elements=entries))
def test_equals_its_formula(k, x, z):
    expected = np.array([[REAL[k](a, b) for b in z] for a in x])
    np.testing.assert_allclose(k(x, z), expected, rtol=1e-10, atol=1e-10)
    own = np.array([REAL[k](a, a) for a in x])
    np.testing.assert_allclose(k.diagonal(x), own, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.diag(k(x)), own, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("k", REAL, ids=repr)
def test_positive_semidefinite_and_symmetric(k):
    for scale in (0.1, 1.0, 10.0):
        for rows in (scale * X, scale * np.abs(X), np.vstack([scale * X, np.zeros((2, 6))])):
            K = k(rows)
            np.testing.assert_array_equal(K, K.T)
            np.testing.assert_allclose(K, k(rows, rows.copy()), rtol=1e-12, atol=1e-12)
            eigenvalues = np.linalg.eigvalsh(K)
            assert eigenvalues.min() >= -1e-12 * eigenvalues.max()
            cosines = k.normalized()(rows)
            assert np.abs(cosines).max() <= 1 + 1e-12


@pytest.mark.parametrize("k", REAL, ids=repr)
def test_the_real_road_meets_the_exact_one(k):
    rows = (RNG.random((20, 12)) < RNG.random((20, 1))).astype(float)
    real = np.vstack([rows, np.full((1, 12), 0.5)])  # one row, and all are read as real
    np.testing.assert_allclose(k(real)[:20, :20], k(rows), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(k(rows, real)[:, :20], k(rows), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(k(real, rows)[:20], k(rows), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(k.diagonal(real)[:20], k.diagonal(rows), rtol=1e-13, atol=1e-13)


def test_probability_divides_real_values_too():
    for k, total in (
        (boolean.anova(2, scale="probability"), 15),
        (boolean.sadohara_dnf(scale="probability"), 3**6 - 1),
        (boolean.polynomial(2, 1, scale="probability"), 49),
    ):
        plain = type(k)(k.family, k.name, k.arguments)
        np.testing.assert_allclose(k(X, Z), plain(X, Z) / total, rtol=1e-14)
        np.testing.assert_allclose(k.diagonal(X), plain.diagonal(X) / total, rtol=1e-14)
    with pytest.raises(MagnitudeError, match="Use scale='count' for real vectors"):
        boolean.all_subsets(scale="probability")(np.full((2, 2000), 0.1))


def test_which_kernels_read_real_tables():
    real = boolean.anova(2)
    for k in (real + boolean.tanimoto(), 2 * real, real * real, (real + real).normalized()):
        assert k.accepts_real
    np.testing.assert_allclose(
        (real + 2 * boolean.tanimoto())(X, Z), real(X, Z) + 2 * boolean.tanimoto()(X, Z)
    )
    with pytest.raises(TypeError):
        real + 1  # a constant is no kernel
    for k in (
        boolean.conjunctive(2),
        boolean.d_dnf(2),
        boolean.dnf(2, 2),
        boolean.monotone_conjunctive(2),
        real + boolean.conjunctive(2),
        real * fk.kernel("a"),
    ):
        assert not k.accepts_real
        with pytest.raises(DataError, match="reads 0 and 1"):
            k(X)
        with pytest.raises(DataError, match="reads 0 and 1"):
            k.diagonal(X)


def test_every_kind_of_real_table():
    k = boolean.anova(2) + boolean.tanimoto()
    expected = k(X, Z)
    names = list("abcdef")
    frame, other = pd.DataFrame(X, columns=names), pd.DataFrame(Z, columns=names)
    for x, z in (
        (X.tolist(), Z.tolist()),
        (csr_array(X), csr_array(Z)),
        (frame, other),
        (fk.Table.of(frame), other),
        (X.astype(object), np.asfortranarray(Z)),
        ({name: frame[name].to_numpy() for name in names}, Z),
    ):
        np.testing.assert_allclose(k(x, z), expected, rtol=1e-13)
    integers = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(boolean.polynomial(1, 0)(integers), integers @ integers.T)
    with pytest.raises(DataError, match="different order"):
        k(frame, other[names[::-1]])
    assert k(X[:0], Z).shape == (0, 5)
    assert k.diagonal(np.empty((0, 6))).shape == (0,)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.5, np.nan]], r"column 1 holds nan \(row 0\); this kernel reads finite numbers"),
        ([[0.5, 1], [np.inf, 0]], r"column 0 holds inf \(row 1\)"),
        ([[0.5, "text"]], r"column 1 holds 'text' \(row 0\)"),
        (pd.DataFrame({"age": [0.5, 2], "name": ["x", "y"]}), r'column "name" holds \'x\''),
        (pd.DataFrame({"age": [0.5, None]}), r'column "age" holds nan \(row 1\)'),
        (np.array([[0.5 + 1j]]), "complex"),
        (np.zeros((3, 0)), "no columns"),
        (np.array([0.5, 1]), "Expected 2D array"),
        (np.zeros((2, 2, 2)) + 0.5, "Expected 2D array"),
        ("text", "a table"),
        (None, "a table"),
    ],
)
def test_bad_real_tables(table, message):
    with pytest.raises(DataError, match=message):
        boolean.anova(1)(table)
    with pytest.raises(DataError, match="columns"):
        boolean.anova(1)(X, X[:, :3])


def test_a_pair_of_real_tables_has_no_counts():
    from formulakern.backends.tables import TablePair

    pair = TablePair(X, Z, real=True)
    assert pair.is_real
    assert not TablePair([[1, 0]], real=True).is_real
    with pytest.raises(DataError, match="no counts"):
        pair.tables((None,))
    with pytest.raises(DataError, match="packed"):
        _ = TablePair([[1, 0]], real=True).values
    assert read_packed([[1, 0]]).n_columns == 2


def test_nothing_overflows_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (boolean.all_subsets(), boolean.sadohara_dnf(), boolean.polynomial(3)):
            with pytest.raises(MagnitudeError, match=r"beyond 1\.8e308.*Scale the columns"):
                k(np.full((3, 40), 1e60))
            with pytest.raises(MagnitudeError, match="beyond"):
                k.diagonal(np.full((3, 40), 1e60))
        with pytest.raises(MagnitudeError, match="beyond"):
            boolean.anova(3)(np.full((3, 40), 1e70))
        for k in (boolean.tanimoto(), boolean.anova(1), boolean.all_subsets()):
            with pytest.raises(MagnitudeError, match="beyond"):
                k(np.array([[1e200, 1.0], [-1e200, 1.0]]))


def test_products_pass_through_numbers_beyond_float64():
    """Π (1 + xz) whose first half is 3^900 and whose second half is its inverse."""
    big, small = np.full(900, 2.0), np.full(900, 1 / 3 - 1)
    row, ones = np.concatenate([big, small])[None], np.ones((1, 1800))
    np.testing.assert_allclose(boolean.all_subsets()(row, ones), [[1.0]], rtol=1e-12)
    np.testing.assert_allclose(boolean.all_subsets()(row[:, ::-1], ones), [[1.0]], rtol=1e-12)
    assert boolean.all_subsets()(np.array([[1e200, -1.0, 1e200]]), np.ones((1, 3)))[0, 0] == 0


def test_small_values_keep_their_digits():
    x = np.full((1, 3), 1e-12)
    for k in (boolean.sadohara_monotone_dnf(), boolean.parametric_dnf(1.0, monotone=True)):
        np.testing.assert_allclose(k(x), [[3e-24]], rtol=1e-15)
    n = 60
    x = RNG.random((1, n))
    exact = sum(x[0, i] ** 2 * x[0, j] ** 2 for i in range(n) for j in range(i))
    np.testing.assert_allclose(boolean.anova(2)(x), [[exact]], rtol=1e-13)
    np.testing.assert_allclose(boolean.anova(n)(x), [[np.prod(x**2)]], rtol=1e-12)


def test_large_blocks():
    rows = RNG.normal(size=(300, 3))
    others = RNG.normal(size=(700, 3))
    for k in (boolean.anova(2), boolean.tanimoto()):
        whole = k(rows, others)
        for i, j in ((0, 0), (299, 699), (63, 511), (64, 512), (150, 600)):
            assert whole[i, j] == pytest.approx(REAL.get(k, _pairs)(rows[i], others[j]), rel=1e-10)
        np.testing.assert_allclose(k(others)[:5], k(others[:5], others), rtol=1e-10, atol=1e-12)


def _pairs(x, z):
    t = x * z
    return t[0] * t[1] + t[0] * t[2] + t[1] * t[2]


def test_in_scikit_learn():
    rows = RNG.normal(size=(60, 4))
    y = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    model = SVC(kernel=boolean.anova(2), C=100).fit(rows, y)
    assert model.score(rows, y) > 0.9
    np.testing.assert_allclose(
        model.decision_function(rows),
        SVC(kernel="precomputed", C=100)
        .fit(boolean.anova(2)(rows), y)
        .decision_function(boolean.anova(2)(rows)),
    )
    summed = boolean.anova(1) + boolean.anova(2)
    regression = GaussianProcessRegressor(kernel=summed, alpha=1e-6, optimizer=None)
    target = rows[:, 0] * rows[:, 1] + rows[:, 2]
    assert regression.fit(rows, target).score(rows, target) > 0.999
