"""The named families against the feature spaces that their docstrings describe, one by one."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

from formulakern.errors import MagnitudeError
from formulakern.kernels import boolean
from formulakern.kernels.boolean import CountedKernel

# -- the slow definitions: features as Python functions of a row, with squared weights ------------


def clauses(n, length, signed):
    """Return sets of (column, value) over ``length`` different columns; value 1 if not signed."""
    for columns in itertools.combinations(range(n), length):
        for values in itertools.product((0, 1) if signed else (1,), repeat=length):
            yield tuple(zip(columns, values, strict=True))


def all_true(clause):
    return lambda row: all(row[column] == value for column, value in clause)


def any_true(clause):
    return lambda row: any(row[column] == value for column, value in clause)


def conjunctions(n, shortest, longest, signed, squared_weight=lambda length: 1):
    return [
        (squared_weight(length), all_true(clause))
        for length in range(shortest, longest + 1)
        for clause in clauses(n, length, signed)
    ]


def disjunctions(n, length, signed):
    return [(1, any_true(clause)) for clause in clauses(n, length, signed)]


def chosen(d, features, join):
    """Choices of d features, joined by ``any`` or ``all``."""
    return [
        (1, lambda row, some=some: join(feature(row) for _, feature in some))
        for some in itertools.combinations(features, d)
    ]


def monomials(n, degree, constant):
    """The products of degree factors, each of them a column or √constant."""
    return [
        (
            Fraction(constant) ** factors.count(n),
            lambda row, factors=factors: all(row[i] for i in factors if i < n),
        )
        for factors in itertools.product(range(n + 1), repeat=degree)
    ]


#: Kernel, smallest number of columns it takes, its features on n columns.
FAMILIES = {
    "mC": (lambda: boolean.monotone_conjunctive(2), 2, lambda n: conjunctions(n, 2, 2, False)),
    "mD": (lambda: boolean.monotone_disjunctive(3), 3, lambda n: disjunctions(n, 3, False)),
    "mDNF": (
        lambda: boolean.monotone_dnf(3, 2),
        3,
        lambda n: chosen(3, conjunctions(n, 2, 2, False), any),
    ),
    "mCNF": (
        lambda: boolean.monotone_cnf(2, 2),
        3,
        lambda n: chosen(2, disjunctions(n, 2, False), all),
    ),
    "C1": (lambda: boolean.conjunctive(1), 1, lambda n: conjunctions(n, 1, 1, True)),
    "C3": (lambda: boolean.conjunctive(3), 3, lambda n: conjunctions(n, 3, 3, True)),
    "D1": (lambda: boolean.disjunctive(1), 1, lambda n: disjunctions(n, 1, True)),
    "D3": (lambda: boolean.disjunctive(3), 3, lambda n: disjunctions(n, 3, True)),
    "DNF": (lambda: boolean.dnf(2, 2), 2, lambda n: chosen(2, conjunctions(n, 2, 2, True), any)),
    "DNF31": (lambda: boolean.dnf(3, 1), 2, lambda n: chosen(3, conjunctions(n, 1, 1, True), any)),
    "CNF": (lambda: boolean.cnf(2, 2), 2, lambda n: chosen(2, disjunctions(n, 2, True), all)),
    "CNF31": (lambda: boolean.cnf(3, 1), 2, lambda n: chosen(3, disjunctions(n, 1, True), all)),
    "Sadohara": (boolean.sadohara_dnf, 1, lambda n: conjunctions(n, 1, n, True)),
    "monotone Sadohara": (boolean.sadohara_monotone_dnf, 1, lambda n: conjunctions(n, 1, n, False)),
    "d-DNF": (lambda: boolean.d_dnf(2), 1, lambda n: conjunctions(n, 1, min(2, n), True)),
    "long d-DNF": (lambda: boolean.d_dnf(9), 1, lambda n: conjunctions(n, 1, n, True)),
    "parametric": (
        lambda: boolean.parametric_dnf(0.3),
        1,
        lambda n: conjunctions(n, 1, n, True, lambda k: Fraction(0.3) ** k),
    ),
    "monotone parametric": (
        lambda: boolean.parametric_dnf(2.5, monotone=True),
        1,
        lambda n: conjunctions(n, 1, n, False, lambda k: Fraction(2.5) ** k),
    ),
    "all subsets": (boolean.all_subsets, 1, lambda n: conjunctions(n, 0, n, False)),
    "anova": (lambda: boolean.anova(3), 3, lambda n: conjunctions(n, 3, 3, False)),
    "polynomial": (lambda: boolean.polynomial(3, 0.7), 1, lambda n: monomials(n, 3, 0.7)),
    "homogeneous": (lambda: boolean.polynomial(2, 0), 1, lambda n: monomials(n, 2, 0)),
}
#: The others are formulas of the language.
COUNTED = [name for name in FAMILIES if not name.startswith("m") or name.startswith("monotone ")]
#: Their features repeat: the same conjunction as several monomials.
REPEATED = {"polynomial", "homogeneous"}


def at_scale(k, scale):
    return CountedKernel(k.family, k.name, k.arguments, scale)


def by_definition(features, X, Z):
    left, right = ([[bool(f(row)) for _, f in features] for row in T] for T in (X, Z))
    weights = [weight for weight, _ in features]
    return [
        [
            sum((w for w, a, b in zip(weights, x, z, strict=True) if a and b), Fraction(0))
            for z in right
        ]
        for x in left
    ]


def as_floats(exact):
    return np.array([[float(value) for value in row] for row in exact])


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=8)
@given(data=st.data())
def test_equals_the_enumeration_of_its_features(name, data):
    make, least, features_on = FAMILIES[name]
    n = data.draw(st.integers(least, 4), label="columns")
    X = data.draw(tables(3, n), label="X")
    Z = data.draw(tables(4, n), label="Z")
    k, features = make(), features_on(n)
    expected = as_floats(by_definition(features, X, Z))
    np.testing.assert_array_equal(k(X, Z), expected)
    own = as_floats(by_definition(features, X, X))
    np.testing.assert_array_equal(k(X), own)
    np.testing.assert_array_equal(k.diagonal(X), np.diag(own))
    if name not in REPEATED:
        assert k.dimension(n) == len(features)


@pytest.mark.parametrize("name", COUNTED)
def test_probability_divides_by_the_weight_of_all_features(name):
    make, least, features_on = FAMILIES[name]
    n = max(least, 3)
    X = np.array(list(itertools.product((0, 1), repeat=n)))
    k, features = make(), features_on(n)
    share = at_scale(k, "probability")
    exact = by_definition(features, X, X)
    total = sum(weight for weight, _ in features)
    np.testing.assert_array_equal(share(X), as_floats([[v / total for v in row] for row in exact]))
    if name not in REPEATED and name not in ("parametric", "monotone parametric"):
        assert total == k.dimension(n)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("scale", ["count", "probability"])
def test_closed_forms(name, scale):
    make = FAMILIES[name][0]
    k = at_scale(make(), scale)
    rng = np.random.default_rng(0)
    X = (rng.random((5, 7)) < rng.random((5, 1))).astype(int)
    n, K, form = 7, k(X), k.polynomial()
    symbols = list(form.free_symbols)
    value_at = sympy.lambdify(symbols, form, "sympy")  # exact, and faster than substitution
    for i, j in itertools.product(range(5), repeat=2):
        counts = {"s": X[i] @ X[j], "p": X[i].sum(), "q": X[j].sum(), "n": n}
        value = value_at(*(sympy.Integer(int(counts[symbol.name])) for symbol in symbols))
        assert float(sympy.sympify(value).doit()) == pytest.approx(K[i, j], rel=1e-14)


def weighted(space, n, x, z):
    """Σ weight² over the clauses of a feature space that are true in both rows."""
    longest = n if space.max_length is None else min(n, space.max_length)
    form = all_true if space.form == "conjunction" else any_true
    return sum(
        space.weight(length) ** 2
        for length in range(space.min_length, longest + 1)
        for clause in clauses(n, length, space.signed)
        if form(clause)(x) and form(clause)(z)
    )


@pytest.mark.parametrize("name", COUNTED)
def test_feature_spaces_describe_the_kernels(name):
    make, least, _ = FAMILIES[name]
    k = make()
    space = k.features
    if name in ("DNF", "DNF31", "CNF", "CNF31"):
        assert space is None
        return
    n = max(4, least)
    X = np.array(list(itertools.product((0, 1), repeat=n)))
    expected = [[weighted(space, n, x, z) for z in X] for x in X]
    np.testing.assert_allclose(k(X), expected, rtol=1e-13)
    assert space.weight(space.min_length) > 0
    assert space.weight(space.min_length - 1) == 0
    if space.max_length is not None:
        assert space.weight(space.max_length) > 0
        assert space.weight(space.max_length + 1) == 0
    longest = n if space.max_length is None else min(n, space.max_length)
    lengths = range(space.min_length, longest + 1)
    assert k.dimension(n) == sum(len(list(clauses(n, c, space.signed))) for c in lengths)


@pytest.mark.parametrize(("d", "c"), [(1, 1.0), (2, 0.5), (4, 2.0), (3, 0.0), (5, 0.125)])
def test_weights_of_the_polynomial_kernel_are_sums_of_stirling_numbers(d, c):
    from sympy.functions.combinatorial.numbers import stirling

    space = boolean.polynomial(d, c).features
    for k in range(d + 1):
        square = sum(
            math.comb(d, j) * c ** (d - j) * math.factorial(k) * int(stirling(j, k))
            for j in range(k, d + 1)
        )
        assert space.weight(k) ** 2 == pytest.approx(square, rel=1e-14)


# -- large tables: exact integers by the closed form ----------------------------------------------

N = 130
LARGE = np.random.default_rng(3).random((23, N)) < np.linspace(0.05, 0.95, 23)[:, None]
LARGE = np.vstack([LARGE, np.zeros((1, N)), np.ones((1, N))]).astype(int)
S = LARGE @ LARGE.T
P, Q = LARGE.sum(axis=1)[:, None], LARGE.sum(axis=1)[None, :]
M = N - P - Q + 2 * S
CLOSED = {
    boolean.conjunctive(5): lambda s, m: math.comb(m, 5),
    boolean.disjunctive(40): lambda s, m: (2**40 - 2) * math.comb(N, 40) + math.comb(m, 40),
    boolean.dnf(7, 3): lambda s, m: (
        math.comb(8 * math.comb(N, 3), 7)
        - 2 * math.comb(7 * math.comb(N, 3), 7)
        + math.comb(6 * math.comb(N, 3) + math.comb(m, 3), 7)
    ),
    boolean.cnf(7, 3): lambda s, m: math.comb(6 * math.comb(N, 3) + math.comb(m, 3), 7),
    boolean.sadohara_dnf(): lambda s, m: 2**m - 1,
    boolean.sadohara_monotone_dnf(): lambda s, m: 2**s - 1,
    boolean.d_dnf(60): lambda s, m: sum(math.comb(m, k) for k in range(1, 61)),
    boolean.parametric_dnf(1e-3): lambda s, m: (1 + Fraction(1e-3)) ** m - 1,
    boolean.parametric_dnf(1e-30, monotone=True): lambda s, m: (1 + Fraction(1e-30)) ** s - 1,
    boolean.parametric_dnf(200.0): lambda s, m: 201**m - 1,
    boolean.all_subsets(): lambda s, m: 2**s,
    boolean.anova(60): lambda s, m: math.comb(s, 60),
    boolean.polynomial(90, 0.1): lambda s, m: (s + Fraction(0.1)) ** 90,
}


@pytest.mark.parametrize("k", CLOSED, ids=repr)
def test_large_tables_are_rounded_once(k):
    exact = [
        [float(CLOSED[k](int(s), int(m))) for s, m in zip(row_s, row_m, strict=True)]
        for row_s, row_m in zip(S, M, strict=True)
    ]
    np.testing.assert_array_equal(k(LARGE), exact)
    np.testing.assert_array_equal(k(LARGE[:9], LARGE[5:]), np.array(exact)[:9, 5:])
    np.testing.assert_array_equal(k.diagonal(LARGE), np.diag(exact))


@pytest.mark.parametrize("k", CLOSED, ids=repr)
def test_large_shares_are_rounded_once(k):
    share = at_scale(k, "probability")
    value, power = k.family.total(N)
    total = Fraction(value) * Fraction(2) ** power
    for i, j in ((0, 1), (5, 20), (24, 24), (22, 24), (12, 12)):
        exact = Fraction(CLOSED[k](int(S[i, j]), int(M[i, j]))) / total
        if exact == 0 or exact > 1e-300:
            expected = float(exact)
            assert share(LARGE[[i]], LARGE[[j]])[0, 0] == pytest.approx(expected, rel=1e-15)
        else:
            with pytest.raises(MagnitudeError, match=r"below 2.2e-308.*scale='count' or"):
                share(LARGE[[i]], LARGE[[j]])


def cosine(f, a, b, c):
    """Return f(a) / √(f(b)·f(c)) with 60 digits; 0 if a row has no feature."""
    values = [Fraction(f(v)) for v in (a, b, c)]
    if not values[1] * values[2]:
        return 0.0
    square = values[0] ** 2 / (values[1] * values[2])
    return float(sympy.sqrt(sympy.Rational(square.numerator, square.denominator)).evalf(40))


@pytest.mark.parametrize(
    ("k", "f", "signed"),
    [
        (boolean.all_subsets(), lambda t: 2**t, False),
        (boolean.sadohara_dnf(), lambda t: 2**t - 1, True),
        (boolean.parametric_dnf(0.5), lambda t: Fraction(1.5) ** t - 1, True),
        (boolean.parametric_dnf(1e-320, monotone=True), lambda t: Fraction(1e-320) * t, False),
        (boolean.anova(700), lambda t: math.comb(t, 700), False),
        (boolean.polynomial(200, 1.5), lambda t: (t + Fraction(1.5)) ** 200, False),
        (boolean.cnf(80, 2), None, True),
    ],
    ids=lambda value: "f" if callable(value) and not hasattr(value, "dimension") else repr(value),
)
def test_cosines_exist_where_values_do_not(k, f, signed):
    n = 2500
    rng = np.random.default_rng(5)
    X = (rng.random((6, n)) < np.array([0.01, 0.2, 0.5, 0.8, 0.97, 0.5])[:, None]).astype(int)
    X[5] = X[4]
    X[5, :3] ^= 1
    if f is None:
        each = math.comb(n, 2)
        f = lambda t: math.comb(2 * each + math.comb(t, 2), 80)  # noqa: E731
    with pytest.raises(MagnitudeError, match=r"Use (scale='probability' or )?kernel.normalized"):
        k(X)
    with pytest.raises(MagnitudeError, match=r"on 2,500 columns"):
        k.diagonal(X)
    K = k.normalized()(X)
    for i, j in itertools.combinations_with_replacement(range(6), 2):
        s = int(X[i] @ X[j])
        ones = int(X[i].sum()), int(X[j].sum())
        counts = (n - sum(ones) + 2 * s, n, n) if signed else (s, *ones)
        assert K[i, j] == pytest.approx(cosine(f, *counts), rel=1e-14, abs=1e-300), (i, j)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K[:2, 3:], k.normalized()(X[:2], X[3:]), rtol=1e-14)
    share = at_scale(k, "probability")
    np.testing.assert_allclose(share.normalized()(X), K, rtol=1e-14)


def test_values_beyond_float64_matter_only_where_they_are_looked_up():
    X = np.zeros((4, 3000), int)
    X[0, :] = 1
    X[1:, 7] = 1
    k = boolean.all_subsets()
    np.testing.assert_array_equal(k(X[:1], X[1:]), [[2, 2, 2]])
    with pytest.raises(MagnitudeError, match=r"fk\.boolean\.all_subsets\(\) on 3,000 columns"):
        k(X)


def test_wide_sparse_tables():
    from scipy.sparse import random_array

    X = random_array((30, 60_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    X.data[:] = 1
    dense = X.toarray()
    S = (dense @ dense.T).astype(int)
    p = np.diag(S)
    M = 60_000 - p[:, None] - p[None, :] + 2 * S
    np.testing.assert_array_equal(boolean.anova(2)(X), S * (S - 1) / 2)
    np.testing.assert_array_equal(boolean.conjunctive(2)(X), M * (M - 1) / 2)
    assert np.isfinite(boolean.sadohara_dnf().normalized()(X)).all()
