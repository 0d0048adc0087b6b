"""Kernels on degrees of truth: the defining integral, 0/1 tables, and refusals."""

import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

import formulakern as fk
from formulakern.errors import DataError, GramSizeError, MagnitudeError, ParameterError
from formulakern.kernels import graded as module
from tests import oracle, strategies

FORMULAS = ("a", "~a", "a & b", "(a & ~b) | c", "a ^ b", "true", "a:g & ~b:h")
DOMAINS = {"g": [0, 1], "h": [1, 2, 3]}
FAMILIES = (
    fk.boolean.sadohara_dnf(),
    fk.boolean.anova(2),
    fk.boolean.dnf(2, 2),
    fk.boolean.parametric_dnf(0.5),
    fk.boolean.monotone_cnf(2, 2),
    fk.boolean.tanimoto(),
    2 * fk.kernel("a") + fk.boolean.conjunctive(2),
    fk.kernel("a | b").normalized(),
)


def degrees(rows, n, seed=0, steps=8):
    """Multiples of an eighth, so with ties, zeros and ones, and exact."""
    values = np.random.default_rng(seed).integers(0, steps + 1, (rows, n)) / steps
    values[0] = 0
    return values


def exactly(kernel):
    """K of two rows of 0 and 1, as the fraction that the float is."""

    @cache
    def value(x, z):
        return Fraction(float(kernel(np.array([x]), np.array([z]))[0, 0]))

    return value


def check(kernel, binary, X, Z):
    for left, right in ((X, Z), (X, None)):
        expected = oracle.graded_gram(binary, X, X if right is None else right)
        got = kernel(left, right)
        for row, exact in zip(got, expected, strict=True):
            for value, true in zip(row, exact, strict=True):
                assert abs(Fraction(value) - true) <= true / 10**13
    expected = [oracle.graded_gram(binary, x[None], x[None])[0][0] for x in X]
    np.testing.assert_allclose(kernel.diagonal(X), np.array(expected, float), rtol=1e-13)


@pytest.mark.parametrize("reading", ["bound", "free", "distinct"])
@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_equal_the_defining_integral(text, reading, road):
    domains = {"g": [0, 1], "h": [2, 3]} if reading == "distinct" else DOMAINS
    named = {name: columns for name, columns in domains.items() if f":{name}" in text}

    @cache
    def binary(x, z):
        x, z = np.array([x]), np.array([z])
        return int(oracle.gram(fk.parse(text), x, z, reading, named or None)[0, 0])

    kernel = fk.kernel(text, reading, domains=named, inputs="graded")
    check(kernel, binary, degrees(4, 4), degrees(3, 4, seed=1))


@pytest.mark.parametrize("kernel", FAMILIES, ids=repr)
def test_families_equal_the_defining_integral(kernel, road):
    check(fk.graded(kernel), exactly(kernel), degrees(4, 5), degrees(3, 5, seed=1))


@settings(max_examples=16)
@given(strategies.countable(max_leaves=5), st.sampled_from(("interpreter", "lookup")), st.data())
def test_generated_formulas(formula, backend, data):
    n = data.draw(st.integers(1, 4))
    eighths = st.lists(st.integers(0, 8).map(lambda i: i / 8), min_size=n, max_size=n)
    X, Z = (np.array(data.draw(st.lists(eighths, min_size=1, max_size=3))) for _ in range(2))
    kernel = fk.kernel(formula, "free", backend=backend)
    check(fk.graded(kernel), exactly(kernel), X, Z)


@pytest.mark.parametrize("backend", ["interpreter", "lookup", "numba"])
def test_many_columns_and_rows_in_any_blocks(backend, monkeypatch):
    """70 columns in two words; parts of one row and of many give the same."""
    X, Z = degrees(20, 70, steps=50), degrees(37, 70, seed=1, steps=50)
    k = fk.kernel("(a & ~b) | c", "distinct", inputs="graded", backend=backend)
    whole = k(X, Z)
    np.testing.assert_allclose(k(X), k(X, X.copy()), rtol=1e-13)
    np.testing.assert_allclose(k(Z, X), whole.T, rtol=1e-13)
    np.testing.assert_allclose([k(x[None], Z)[0] for x in X], whole, rtol=1e-13)
    monkeypatch.setattr(module, "BLOCK_VALUES", 1)
    monkeypatch.setattr(module, "MAX_LEVEL_SETS", 1)
    np.testing.assert_allclose(k(X, Z), whole, rtol=1e-13)
    monkeypatch.setattr(module, "BLOCK_VALUES", 1 << 30)
    monkeypatch.setattr(module, "MAX_LEVEL_SETS", 1 << 30)
    np.testing.assert_allclose(k(X, Z), whole, rtol=1e-13)


@pytest.mark.parametrize("kernel", [fk.kernel("a & ~b"), *FAMILIES], ids=repr)
def test_on_0_and_1_it_is_the_kernel_inside(kernel):
    X, Z = degrees(9, 6, steps=1), degrees(5, 6, seed=1, steps=1)
    graded = fk.graded(kernel)
    assert (graded(X, Z) == kernel(X, Z)).all()
    assert (graded.diagonal(X) == kernel.diagonal(X)).all()
    half = np.full((1, 6), 0.5)  # where one table is graded, rows of 0 and 1 are one level set
    np.testing.assert_allclose(graded(np.vstack([X, half]), Z)[:9], kernel(X, Z), rtol=1e-13)


@pytest.mark.parametrize("kernel", [fk.kernel(text) for text in FORMULAS[:5]] + list(FAMILIES))
def test_positive_semidefinite(kernel):
    gram = fk.graded(kernel)(degrees(30, 6))
    assert (gram == gram.T).all()
    assert np.linalg.eigvalsh(gram).min() > -1e-9 * np.trace(gram)


def test_what_a_feature_becomes():
    """A column, its negation, a conjunction and a disjunction: x, 1 − x, minimum, maximum."""
    x, z = np.array([[0.25, 0.75]]), np.array([[0.5, 0.125]])
    for text, feature in (
        ("a:l", lambda r: r[0]),
        ("~a:l", lambda r: 1 - r[0]),
        ("a:l & b:r", min),
        ("a:l | b:r", max),
    ):
        domains = {name: [j] for j, name in enumerate("lr") if f":{name}" in text}
        k = fk.kernel(text, domains=domains, inputs="graded")
        assert k(x, z)[0, 0] == feature(x[0]) * feature(z[0])


def test_beyond_float64():
    """Counts that float64 does not hold: the share of substitutions, and all cosines."""
    X = degrees(4, 100, steps=9)[1:]
    text = " & ".join(f"x{i}" for i in range(200))
    X[:, :90] = 1
    for big in (fk.kernel(text), fk.boolean.dnf(40, 40)):
        with pytest.raises(MagnitudeError, match="scale='probability'"):
            fk.graded(big)(X)
        cosines = fk.graded(big).normalized()(X)
        assert (np.diagonal(cosines) == 1).all()
        assert ((cosines >= 0) & (cosines <= 1 + 1e-12)).all()
    share = fk.kernel(text, scale="probability", inputs="graded")
    np.testing.assert_allclose(share.normalized()(X), fk.graded(fk.kernel(text)).normalized()(X))


def test_it_is_an_ordinary_kernel():
    k = fk.kernel("a & ~b", inputs="graded")
    assert k == fk.graded(fk.kernel("a & ~b"))
    assert fk.graded(k) is k
    assert k != fk.kernel("a & ~b")
    assert eval(repr(k), {"fk": fk}) == k == pickle.loads(pickle.dumps(k))
    assert k.dimension(3) == 9
    X, y = degrees(40, 4, seed=3), np.arange(40) % 2
    gram = (k + k.normalized())(degrees(300, 4, seed=3))  # in bands of a block
    assert (gram == gram.T).all()
    summed = k + 2 * fk.boolean.all_subsets()
    assert summed.accepts_real
    np.testing.assert_allclose(summed(X), k(X) + 2 * fk.boolean.all_subsets()(X))
    assert SVC(kernel=k.normalized()).fit(X, y).predict(X).shape == (40,)
    assert "s(α, β)" in str(k.inspect())
    assert str(k.polynomial()) == (
        "Integral((n - p(alpha) - q(beta) + s(alpha, beta))*s(alpha, beta), "
        "(alpha, 0, 1), (beta, 0, 1))"
    )
    assert "p(Max(alpha, beta))" in str(k.normalized().polynomial())


def test_what_is_refused(monkeypatch):
    k = fk.kernel("a", inputs="graded")
    for entry in (1.5, -0.25):
        with pytest.raises(DataError, match=rf"column 1 holds {entry} \(row 1\).*from 0 to 1"):
            k([[0, 0.5], [0.5, entry]])
        with pytest.raises(DataError, match=rf"column 1 of Z holds {entry} \(row 0\)"):
            k([[0, 0.5]], [[0.5, entry]])
    with pytest.raises(DataError, match="holds nan"):
        k([[0, np.nan]])
    with pytest.raises(DataError, match="3 columns and Z has 2"):
        k([[0.5, 0, 0]], [[0.5, 0]])
    with pytest.raises(ParameterError, match="inputs='fuzzy'; expected one of 'binary', 'graded'"):
        fk.kernel("a", inputs="fuzzy")
    with pytest.raises(ParameterError, match="expected a kernel of tables"):
        fk.graded("a & b")
    monkeypatch.setattr(module, "MAX_PACKED_BYTES", 100)
    with pytest.raises(GramSizeError, match="fewer rows at a time"):
        k(degrees(9, 5))


def test_no_rows():
    k = fk.kernel("a", inputs="graded")
    assert k(np.empty((0, 3)) + 0.5, np.full((2, 3), 0.5)).shape == (0, 2)
    assert k.diagonal(np.empty((0, 3))).shape == (0,)


def test_the_choquet_kernel_is_a_graded_one():
    """Σ min_T x · min_T z is the integral of 2^s − 1, or of Σ C(s, r), over the levels."""
    X, Z = degrees(9, 7), degrees(6, 7, seed=1)
    families = (fk.boolean.monotone_conjunctive(1), fk.boolean.monotone_conjunctive(2))
    two = fk.graded(families[0] + families[1])
    whole = fk.graded(fk.boolean.sadohara_monotone_dnf())
    np.testing.assert_allclose(fk.choquet()(X, Z), whole(X, Z), rtol=1e-13)
    np.testing.assert_allclose(fk.choquet(2)(X, Z), two(X, Z), rtol=1e-13)
    np.testing.assert_allclose(fk.graded(fk.choquet())(X, Z), whole(X, Z), rtol=1e-13)
