"""Kernels as values and their algebra; one function that tests any kernel."""

import copy
import math
import pickle

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import countable

import formulakern as fk
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.kernels.algebra import NormalizedKernel, ProductKernel, ScaledKernel, SumKernel

X = (np.random.default_rng(0).random((12, 6)) < 0.5).astype(int)
Z = (np.random.default_rng(1).random((7, 6)) < 0.5).astype(int)
X[3] = 0

A = fk.kernel("a & ~b")
B = fk.kernel("a -> b", "free")
C = fk.kernel("a & b & c", "distinct", backend="interpreter")
D = fk.kernel("a:g | ~b:h", domains={"g": [0, 1], "h": [2, 3, 4, 5]}, scale="probability")

KERNELS = [
    A,
    B,
    C,
    D,
    A + B,
    A * B,
    2 * A,
    0.25 * (A + D),
    (A + B) * C,
    3 * A * B + C,
    A.normalized(),
    C.normalized(),
    (A + 2 * B).normalized(),
    (A * C).normalized(),
    (0.5 * A).normalized() + D * B.normalized(),
    fk.kernel("true"),
    fk.kernel("a & ~a"),
    fk.kernel("`import os` & `\n` -> `'\"`"),
]


def check_kernel(k: fk.Kernel, X: np.ndarray, Z: np.ndarray) -> None:
    """Properties of every kernel: shapes, symmetry, positive semidefinite, diagonal, value."""
    K, cross = k(X), k(X, Z)
    assert K.shape == (len(X), len(X))
    assert cross.shape == (len(X), len(Z))
    assert K.dtype == cross.dtype == np.float64
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, k(X, X.copy()), rtol=1e-13)
    np.testing.assert_allclose(cross, k(Z, X).T, rtol=1e-13)
    np.testing.assert_allclose(k.diagonal(X), np.diag(K), rtol=1e-13)
    np.testing.assert_array_equal(k.diag(X), k.diagonal(X))
    np.testing.assert_allclose(np.vstack([k(X[:5], Z), k(X[5:], Z)]), cross, rtol=1e-13)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues.min() >= -1e-12 * max(1.0, eigenvalues.max())
    assert (K >= 0).all()
    sizes = {None: 6, "g": 2, "h": 4}
    assert (k + k).dimension(sizes) == 2 * k.dimension(sizes)  # features side by side, and in pairs
    assert (k * k).dimension(sizes) == k.dimension(sizes) ** 2
    for again in (pickle.loads(pickle.dumps(k)), copy.copy(k), copy.deepcopy(k), clone(k)):
        assert again == k
        assert hash(again) == hash(k)
        np.testing.assert_array_equal(again(X, Z), cross)
    assert clone(k) is k
    assert eval(repr(k), {"fk": fk}) == k
    assert k.get_params() == {}
    with pytest.raises(AttributeError, match="immutable"):
        setattr(k, next(iter(vars(k))), A)
    text = str(k.inspect())
    assert repr(k) in text
    assert "<script" not in k.inspect()._repr_html_()


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_any_kernel(k):
    check_kernel(k, X, Z)


@settings(max_examples=12)
@given(countable(4), st.sampled_from(["bound", "free", "distinct"]), st.booleans())
def test_generated_kernels(formula, reading, normalized):
    k = fk.kernel(formula, reading)
    check_kernel(k.normalized() if normalized else k, X, Z)


def test_equality_is_by_value():
    different = [*KERNELS, fk.kernel("b & ~a"), fk.kernel("a & ~b", "free")]
    different += [fk.kernel("a & ~b", scale="probability"), fk.kernel("a & ~b", backend="numba")]
    different += [fk.kernel("a:g", domains={"g": g}) for g in ([0], [1], slice(1), "v")]
    assert len(set(different)) == len(different)
    assert all((one == two) == (one is two) for one in different for two in different)
    assert A != "a & ~b"
    assert fk.kernel("a and not b") == A


def test_domains_are_values():
    mask = np.zeros(3000, bool)
    mask[[0, 1500]] = True
    other = mask.copy()
    other[1501] = True
    one, two = (fk.kernel("a:g", domains={"g": m}) for m in (mask, other))
    assert one != two
    assert fk.kernel("a:g", domains={"g": np.array([0, 1])}) == fk.kernel(
        "a:g", domains={"g": (np.int64(0), 1)}
    )
    chosen = [0, 1]
    k = fk.kernel("a:g", domains={"g": chosen})
    before = k(X)
    chosen.append(2)
    assert k == fk.kernel("a:g", domains={"g": [0, 1]})
    np.testing.assert_array_equal(k(X), before)
    assert hash(fk.FormulaKernel(fk.parse("a:g"), domains={"g": [0, 1]})) == hash(k)
    assert fk.kernel("a:g | b:h", domains={"h": [0], "g": [1]}) == fk.kernel(
        "a:g | b:h", domains={"g": [1], "h": [0]}
    )


def test_laws():
    np.testing.assert_allclose((A + B)(X, Z), A(X, Z) + B(X, Z))
    np.testing.assert_allclose((A * B)(X, Z), A(X, Z) * B(X, Z))
    np.testing.assert_allclose((2.5 * A)(X, Z), 2.5 * A(X, Z))
    np.testing.assert_allclose((A * 2)(X, Z), 2 * A(X, Z))
    length = np.sqrt(np.outer(A.diagonal(X), A.diagonal(Z)))
    cosine = np.divide(A(X, Z), length, out=np.zeros_like(length), where=length > 0)
    np.testing.assert_allclose(A.normalized()(X, Z), cosine, rtol=1e-14)
    for k in (A, A + B, A * B, 2 * A):
        np.testing.assert_allclose((3 * k).normalized()(X), k.normalized()(X), rtol=1e-13)
        diagonal = k.normalized().diagonal(X)
        np.testing.assert_array_equal(diagonal, (k.diagonal(X) > 0).astype(float))
    assert A.normalized().normalized() == A.normalized()


def test_sums_and_products_are_flat_and_weights_merge():
    assert (A + B) + C == A + (B + C) == SumKernel((A, B, C))
    assert (A * B) * C == A * (B * C) == ProductKernel((A, B, C))
    assert 2 * (3 * A) == 6 * A == A * 6 == ScaledKernel(6.0, A)
    assert (2 * A) * (3 * B) == 6 * (A * B)
    assert (2 * A) * (0.5 * B) == A * B
    assert np.float64(0.5) * A == A * np.float32(0.5) == 0.5 * A
    assert A.normalized() == NormalizedKernel(A)
    assert (A + B).dimension({None: 6}) == A.dimension(6) + B.dimension(6)
    assert (A * B).dimension(6) == 36 * 36
    assert (2 * A).normalized().dimension(6) == 36


@pytest.mark.parametrize("weight", [0, -1, math.inf, math.nan])
def test_weights_are_positive(weight):
    with pytest.raises(ParameterError, match="positive"):
        weight * A


@pytest.mark.parametrize("other", ["a", None, [1], 1j])
def test_only_kernels_and_numbers_combine(other):
    with pytest.raises(TypeError):
        A + other
    with pytest.raises(TypeError):
        other * A


def test_dimension_takes_whole_numbers():
    assert A.dimension(np.int64(3)) == 9
    assert D.dimension({"g": 2, "h": 4}) == 8
    for n in ("abc", -1, 2.5, None, True, {"g": 2}, math.inf):
        with pytest.raises(ParameterError, match="number of columns"):
            D.dimension(n)


@pytest.mark.parametrize("k", [k for k in KERNELS if "`" not in repr(k)], ids=repr)
def test_polynomial_is_the_gram(k):
    expression = k.polynomial()
    K = k(X, Z)
    columns = {"": range(6), "_g": [0, 1], "_h": [2, 3, 4, 5]}
    for i, j in ((0, 0), (3, 2), (5, 6), (11, 4)):
        known = {}
        for suffix, chosen in columns.items():
            x, z = X[i][list(chosen)], Z[j][list(chosen)]
            counts = {"s": int(x @ z), "p": int(x.sum()), "q": int(z.sum()), "n": len(x)}
            known |= {letter + suffix: value for letter, value in counts.items()}
        assert {str(symbol) for symbol in expression.free_symbols} <= set(known)
        value = expression.subs({symbol: known[str(symbol)] for symbol in expression.free_symbols})
        if value.has(sympy.nan, sympy.zoo):  # a cosine without a length
            assert X[i].sum() == 0 or K[i, j] == 0
        else:
            assert float(value) == pytest.approx(K[i, j], rel=1e-12, abs=0)


def test_sums_beyond_float64_are_refused():
    big = fk.kernel(" & ".join(f"x{i}" for i in range(150)))
    ones = np.ones((3, 100), int)
    for k in (1e9 * big, (1e8 * big) + (1e8 * big), big * big):
        for call in (k, k.diagonal):
            with pytest.raises(MagnitudeError, match="scale='probability'"):
                call(ones)
    assert ((big * big).normalized()(ones) == 1).all()
    assert ((1e8 * big).normalized()(ones) == 1).all()


@pytest.mark.parametrize("value", [3, None, ["a"], b"a"])
def test_what_is_no_formula(value):
    with pytest.raises(ParameterError, match="str or a Formula"):
        fk.kernel(value)


def test_unknown_parameters():
    with pytest.raises(ParameterError, match="'bound', 'free', 'distinct'"):
        fk.kernel("a", "loose")
    with pytest.raises(ParameterError, match="one of 'count', 'probability'"):
        fk.kernel("a", scale="log")
    with pytest.raises(ParameterError, match="immutable"):
        A.set_params(scale="count")


def test_inspection_of_what_is_too_long_to_write_out():
    long = fk.kernel(" ^ ".join(f"x{i}" for i in range(1500)))
    for k in (long, long + A, long.normalized()):
        text = str(k.inspect())
        assert len(text) < 60_000
        assert k.inspect()._repr_latex_()
