"""Choices of features: equal to enumeration in every reading and backend, and stable."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.program import choices as choices_of
from formulakern.syntax.leaves import MAX_NESTING, columns_read
from tests import oracle
from tests.strategies import choices, choosing, countable, tables

N = 4
#: Enumerating more features than this takes too long.
MAX_FEATURES = 4_000


def value_or_refusal(kernel, X, Z):
    try:
        return kernel(X, Z)
    except fk.ParameterError:
        return None


def count(formula, reading, n=N):
    """Return the number of features, or None if it is too large or a choice takes too many."""
    try:
        total = fk.kernel(formula, variables=reading).dimension(n)
    except (fk.ParameterError, fk.FormulaError):
        return None
    return total if total <= MAX_FEATURES else None


@pytest.mark.parametrize("reading", ["bound", "free", "distinct"])
@given(formula=choices(countable(2, letters="ab")), X=tables(3, N), Z=tables(2, N))
@settings(max_examples=20, suppress_health_check=[HealthCheck.filter_too_much])
def test_a_choice_equals_enumeration(reading, formula, X, Z):
    kernel = fk.kernel(formula, variables=reading)
    if count(formula, reading) is None:
        return
    expected = oracle.gram(formula, X, Z, reading)
    for backend in ("interpreter", "lookup", "numba")[: 2 + (formula.degree == 2)]:
        got = fk.kernel(formula, variables=reading, backend=backend)(X, Z)
        np.testing.assert_array_equal(got, expected.astype(float))
    assert kernel.dimension(N) == oracle.dimension(formula, N, reading)


@pytest.mark.parametrize("reading", ["bound", "free"])
@given(formula=choosing(), X=tables(3, N), Z=tables(2, N))
@settings(max_examples=30)
def test_choices_among_variables_equal_enumeration(reading, formula, X, Z):
    if count(formula, reading) is None:
        return
    expected = oracle.gram(formula, X, Z, reading)
    kernel = fk.kernel(formula, variables=reading)
    np.testing.assert_array_equal(kernel(X, Z), expected.astype(float))
    assert kernel.dimension(N) == oracle.dimension(formula, N, reading)
    probability = fk.kernel(formula, variables=reading, scale="probability")
    np.testing.assert_allclose(
        probability(X, Z), expected.astype(float) / max(kernel.dimension(N), 1), rtol=1e-14
    )


@pytest.mark.parametrize("reading", ["bound", "free", "distinct"])
@given(
    outer=st.sampled_from(["all", "any", "atleast", "exactly"]),
    inner=choices(countable(1, letters="a"), max_degree=2),
    degree=st.integers(1, 2),
    least=st.integers(0, 1),
    X=tables(3, N),
)
@settings(max_examples=20)
def test_nested_choices_equal_enumeration(reading, outer, inner, degree, least, X):
    formula = fk.Choice(outer, inner, degree, least if outer in ("atleast", "exactly") else None)
    if count(formula, reading) is None:
        return
    expected = oracle.gram(formula, X, X, reading)
    np.testing.assert_array_equal(fk.kernel(formula, variables=reading)(X), expected.astype(float))
    negated = oracle.gram(~formula, X, X, reading)
    np.testing.assert_array_equal(fk.kernel(~formula, variables=reading)(X), negated.astype(float))


@pytest.mark.parametrize("text", ["all[3](a & ~b)", "atleast[2,4](x)", "any[3](all[2](x))"])
@pytest.mark.parametrize("backend", ["interpreter", "lookup", "numba"])
@pytest.mark.parametrize("scale", ["count", "probability"])
def test_every_backend_and_scale(text, backend, scale):
    X = np.random.default_rng(0).integers(0, 2, (40, 9))
    exact = np.array(fk.kernel(text, backend="interpreter")(X))
    dimension = fk.kernel(text).dimension(9)
    got = fk.kernel(text, backend=backend, scale=scale)(X)
    np.testing.assert_allclose(got, exact / (dimension if scale == "probability" else 1), 1e-14)
    np.testing.assert_allclose(fk.kernel(text, scale=scale).diagonal(X), np.diag(got), rtol=1e-14)


def test_published_closed_forms_on_many_columns():
    rng = np.random.default_rng(1)
    n = 60
    X = rng.integers(0, 2, (12, n))
    s = X @ X.T
    p = X.sum(axis=1)
    for d in (1, 2, 5, 9):
        expected = [[math.comb(int(v), d) for v in row] for row in s]
        np.testing.assert_array_equal(fk.kernel(f"all[{d}](x)")(X), np.array(expected, float))
        either = [
            [
                math.comb(n, d)
                - math.comb(int(n - p[i]), d)
                - math.comb(int(n - p[j]), d)
                + math.comb(int(n - p[i] - p[j] + s[i, j]), d)
                for j in range(len(X))
            ]
            for i in range(len(X))
        ]
        np.testing.assert_allclose(fk.kernel(f"any[{d}](x)")(X), np.array(either, float), 1e-13)
    total = math.comb(n, 2)
    none_x = [total - math.comb(int(v), 2) for v in p]
    nested = np.array(
        [
            [
                float(
                    math.comb(total, 3)
                    - math.comb(none_x[i], 3)
                    - math.comb(none_x[j], 3)
                    + math.comb(
                        total
                        - math.comb(int(p[i]), 2)
                        - math.comb(int(p[j]), 2)
                        + math.comb(int(s[i, j]), 2),
                        3,
                    )
                )
                for j in range(len(X))
            ]
            for i in range(len(X))
        ]
    )
    for backend in ("interpreter", "lookup", "numba"):
        got = fk.kernel("any[3](all[2](x))", variables="distinct", backend=backend)(X)
        np.testing.assert_allclose(got, nested, rtol=1e-13)


@pytest.mark.parametrize("text", ["any[5](all[4](x))", "all[6](x & ~y)", "atleast[3,7](x | y)"])
def test_floats_equal_exact_integers_where_textbook_forms_cancel(text):
    X = np.random.default_rng(2).integers(0, 2, (30, 200))
    exact = fk.kernel(text, backend="interpreter")(X)
    np.testing.assert_allclose(fk.kernel(text, backend="numba")(X), exact, rtol=1e-12)
    np.testing.assert_allclose(
        fk.kernel(text, scale="probability", backend="numba")(X),
        fk.kernel(text, scale="probability", backend="interpreter")(X),
        rtol=1e-12,
    )


def test_values_beyond_float64_name_the_way_out():
    X = np.random.default_rng(3).integers(0, 2, (6, 200))
    kernel = fk.kernel("any[20](all[20](x))")
    with pytest.raises(fk.MagnitudeError, match="probability"):
        kernel(X)
    cosine = kernel.normalized()(X)
    np.testing.assert_allclose(np.diag(cosine), 1)
    assert ((cosine >= 0) & (cosine <= 1 + 1e-12)).all()
    with pytest.raises(fk.MagnitudeError, match="too large"):
        fk.kernel("all[10000](all[1000](all[9](x)))").dimension(50_000)


def test_more_features_than_there_are_is_an_error():
    X = np.eye(4, dtype=int)
    for text, had in (("all[5](x)", 4), ("any[7](all[2](x))", 6), ("all[17](x & y)", 16)):
        reading = "bound" if "y" in text else "distinct"
        with pytest.raises(fk.ParameterError, match=f"only {had}"):
            fk.kernel(text, variables=reading)(X)
        with pytest.raises(fk.ParameterError, match=f"only {had}"):
            fk.kernel(text, variables=reading).dimension(4)
    assert fk.kernel("all[4](x)")(X).tolist() == np.zeros((4, 4)).tolist()
    assert choices_of(fk.kernel("all[4](x)").program, [4]) == [(4, 4)]


def test_equal_choices_are_one_and_different_names_two():
    X = np.random.default_rng(4).integers(0, 2, (5, 6))
    pairs = fk.kernel("all[2](x)")(X)
    np.testing.assert_array_equal(fk.kernel("all[2](x) & all[2](x)")(X), pairs)
    np.testing.assert_array_equal(fk.kernel("all[2](x) & all[2](y)")(X), pairs**2)
    np.testing.assert_array_equal(fk.kernel("all[2](x) & all[2](x)", variables="free")(X), pairs**2)
    np.testing.assert_array_equal(fk.kernel("all[2](x) -> all[2](x)")(X), np.ones((5, 5)))


def test_a_name_inside_and_outside_is_refused():
    for text in ("x & all[2](x)", "all[2](x) | all[3](x)", "any[2](x & all[2](x))"):
        with pytest.raises(fk.FormulaError, match="'x' occurs both inside"):
            fk.kernel(text)(np.eye(5))
        assert fk.kernel(text, variables="free")(np.eye(5)).shape == (5, 5)


def test_beside_a_choice_distinct_has_no_meaning():
    with pytest.raises(fk.FormulaError, match="whole formula, or negated"):
        fk.kernel("all[2](x) & y", variables="distinct")(np.eye(5))


def test_a_dropped_choice_is_not_checked():
    kernel = fk.kernel("all[9](x) | true")
    np.testing.assert_array_equal(kernel(np.eye(4)), np.ones((4, 4)))


def test_rules_and_data_sets_refuse_choices():
    with pytest.raises(fk.FormulaError, match="only kernels can do"):
        fk.rule(fk.parse("all[2](x)"))({"x": [True]})
    with pytest.raises(fk.FormulaError, match="only kernels support"):
        fk.datasets.make_formula_classification("all[2](x)", n=3)


def test_rewrites_reach_inside():
    kernel = fk.kernel("all[2](~(a -> b)) & ~~c")
    assert str(kernel.rewriting.formula) == "all[2](a & ~b) & c"
    assert kernel.rewriting.passes[-1].name == "inside the choices"


def test_different_choices_without_names_stay_two():
    kernel = fk.kernel("all[1](a ~& false) ^ all[1](b ~& false)")
    np.testing.assert_array_equal(kernel(np.eye(3)), np.zeros((3, 3)))
    with pytest.raises(fk.ParameterError, match="only 1"):
        fk.kernel("any[2](a ~& false) -> any[2](c ~& false)")(np.eye(3))


def test_inspection_of_a_choice():
    text = str(fk.kernel("atleast[2,3](a & b)").inspect())
    assert "at least 2 of 3 different features" in text
    assert "C(r" in text
    assert "binomial(s" in str(fk.kernel("all[3](x)").polynomial())


def test_domains_reach_into_choices():
    X = np.random.default_rng(5).integers(0, 2, (6, 7))
    domains = {"g": [0, 1, 2], "h": [3, 4, 5, 6]}
    kernel = fk.kernel("all[2](a:g) & b:h", domains=domains)
    s, t = X[:, :3] @ X[:, :3].T, X[:, 3:] @ X[:, 3:].T
    np.testing.assert_array_equal(kernel(X), s * (s - 1) // 2 * t)


def test_choices_are_values():
    one, other = fk.parse("all[2](a & b)"), fk.parse("all[2](a & b)")
    assert one == other
    assert hash(one) == hash(other)
    different = ["all[3](a & b)", "any[2](a & b)", "all[2](a & c)", "exactly[2,2](a & b)"]
    assert all(one != fk.parse(text) for text in different)
    assert one.latex() == r"\operatorname{all}_{2}\left(a \land b\right)"
    assert columns_read(fk.parse("any[3](all[2](x)) & y")) == 7
    with pytest.raises(AttributeError):
        one.degree = 3


def test_nesting_is_limited():
    formula = fk.Variable("x")
    for _ in range(MAX_NESTING):
        formula = fk.Choice("all", formula, 1)
    assert fk.kernel(formula)(np.eye(2)).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(fk.FormulaSizeError, match="nested"):
        fk.Choice("all", formula, 1)


@pytest.mark.parametrize(
    ("kind", "degree", "k"),
    [("all", 0, None), ("all", -1, None), ("any", 2.0, None), ("any", True, None),
     ("all", 2, 1), ("atleast", 2, None), ("atleast", 2, 3), ("exactly", 2, -1),
     ("exactly", 10**9, 2), ("none", 2, None)],
)  # fmt: skip
def test_bad_degrees_are_refused(kind, degree, k):
    with pytest.raises(fk.ParameterError):
        fk.Choice(kind, fk.Variable("x"), degree, k)


def test_numpy_integers_are_degrees():
    assert fk.Choice("all", fk.Variable("x"), np.int64(2)) == fk.parse("all[2](x)")


def test_all_of_many_equals_products():
    X = np.random.default_rng(6).integers(0, 2, (4, 30))
    for d, k in itertools.product((1, 3), (0, 1, 3)):
        if k <= d:
            left = fk.kernel(f"atleast[{k},{d}](x)")(X)
            right = sum(fk.kernel(f"exactly[{j},{d}](x)")(X) for j in range(k, d + 1))
            assert (left >= right).all()  # exactly j in both, for some j, implies at least k


@pytest.mark.parametrize("text", ["any[10000](x & y)", "~exactly[5000,10000](x)"])
def test_too_many_terms_are_refused_before_they_are_made(text):
    tracemalloc.start()
    try:
        with pytest.raises(fk.FormulaSizeError, match="more than 20,000 terms"):
            fk.kernel(text)(np.eye(3, dtype=int))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # 5,000 million terms are gigabytes


@pytest.mark.parametrize("reading", ["bound", "free", "distinct"])
def test_exactly_many_is_counted_with_few_terms(reading):
    X = np.array([[1] * 700 + [0] * 300, [1] * 500 + [0] * 500])
    K = fk.kernel("exactly[200,400](x)", variables=reading, scale="probability")(X)
    exact = math.comb(500, 200) * math.comb(500, 200) / math.comb(1000, 400)
    assert K[1, 1] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("reading", ["bound", "free", "distinct"])
def test_a_choice_that_is_always_true_is_one_number(reading):
    kernel = fk.kernel("atleast[0,300](x)", variables=reading)
    assert len(kernel.program.nodes) < 5
    X = np.eye(301, dtype=np.uint8)[:2]
    np.testing.assert_array_equal(kernel(X), np.full((2, 2), 301.0))
    denied = fk.kernel("~atleast[0,300](x)", variables=reading)
    np.testing.assert_array_equal(denied(X), np.zeros((2, 2)))
