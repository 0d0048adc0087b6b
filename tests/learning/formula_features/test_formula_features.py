"""Features of formula kernels: their products against the definition, samples against chances."""

import itertools

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from strategies import choices, countable, tables

import formulakern as fk
from formulakern.encoding.strict import read_packed
from formulakern.gram import matrix as gram_matrix
from formulakern.learning import formula_features
from formulakern.learning.feature_spaces import spaces_of
from formulakern.learning.formula_features import (
    TrueSubstitutions,
    features_of,
    list_features,
    merged,
)

READINGS = ["bound", "free", "distinct"]
WHERE = {"g": [0, 2, 3], "h": [1, 4, 5]}


def data(rows: int, columns: int, seed: int = 0, share: float = 0.5) -> np.ndarray:
    return (np.random.default_rng([rows, columns, seed]).random((rows, columns)) < share).astype(
        int
    )


def chosen(k, X, n=None, seed=0):
    table = read_packed(X)
    generator = np.random.default_rng(seed)
    return formula_features.choose_features(spaces_of(k, table), table, n, generator)


def matrix(found, X):
    table = read_packed(X)
    return found.features.matrix(table, found.lengths.factors(table))


def products(found, X, Z=None):
    return (matrix(found, X) @ matrix(found, X if Z is None else Z).T).toarray()


# -- all features ------------------------------------------------------------------------------


@settings(max_examples=20)
@given(countable(4), tables(st.integers(1, 5), 4), st.sampled_from(READINGS))
def test_products_of_all_features_are_the_kernel(formula, X, reading):
    found = chosen(fk.kernel(formula, reading), X)
    expected = oracle.gram(formula, X, X, reading).astype(float)
    np.testing.assert_allclose(products(found, X), expected, rtol=1e-13)
    assert found.complete
    assert found.error_bound(0.05) == 0
    weights = found.features.weights
    assert weights.sum() <= fk.kernel(formula, reading).dimension(4)
    names = [
        (found.features.functions[f].table, *columns)
        for f, columns in zip(
            found.features.function.tolist(), found.features.columns.tolist(), strict=True
        )
    ]
    assert len(set(names)) == len(names)


@settings(max_examples=15)
@given(
    st.one_of(choices(countable(2, letters="ab"), 2), countable(2, letters="ab")),
    tables(st.integers(1, 4), 4),
    st.sampled_from(READINGS),
)
def test_products_of_choices_are_the_kernel(formula, X, reading):
    k = fk.kernel(formula, reading)
    try:
        expected = k(X)
    except (fk.ParameterError, fk.FormulaSizeError):
        with pytest.raises((fk.ParameterError, fk.FormulaSizeError)):
            chosen(k, X)
        return
    np.testing.assert_allclose(products(chosen(k, X), X), expected, rtol=1e-13)


CASES = [
    ("a & b", "bound", 28),
    ("a & b", "distinct", 21),
    ("a -> b", "bound", 43),
    ("a & (b | ~b)", "free", 238),
    ("a & (b | ~b)", "bound", 7),
    ("b | true", "free", 1),
    ("a ^ b ^ c", "distinct", 35),
    ("(a & b) | (b & c) | (c & a)", "distinct", 35),
    ("all[3](x)", "distinct", 35),
    ("any[2](all[2](x))", "distinct", 210),
    ("a & ~any[2](b)", "bound", 105),
    ("any[2](a:g & ~b:h)", "distinct", 36),
    ("a:g & b:h | ~c:g", "bound", 27),
    ("~(a:g & b:h) & ~c:g", "distinct", 18),
]


@pytest.mark.parametrize(("text", "reading", "number"), CASES)
def test_each_feature_is_listed_once(text, reading, number):
    X = data(70, 7)
    k = fk.kernel(text, reading, domains=WHERE)
    found = chosen(k, X)
    assert len(found.features) == number
    np.testing.assert_allclose(products(found, X), k(X), rtol=1e-13)


def test_algebra_of_kernels():
    X, Z = data(70, 6), data(9, 6, seed=1)
    a, ab = fk.kernel("a"), fk.kernel("a & b")
    either = fk.kernel("a | b", scale="probability")
    for k, number in [
        (ab + 0.5 * a, 21),  # the features of a are among those of a & b
        (ab * fk.kernel("~a:g", domains=WHERE), None),
        (either, 21),
        (ab.normalized() + either.normalized(), 42),
        ((ab + either).normalized(), 36),
        ((2 * fk.kernel("a | b", "distinct")).normalized(), 15),
    ]:
        found = chosen(k, X)
        np.testing.assert_allclose(products(found, X, Z), k(X, Z), rtol=1e-12, atol=1e-14)
        assert number in (None, len(found.features)), k


@pytest.mark.parametrize(
    ("k", "number"),
    [
        (fk.boolean.conjunctive(2), 60),
        (fk.boolean.disjunctive(3), 160),
        (fk.boolean.monotone_conjunctive(7), 0),
        (fk.boolean.anova(4), 15),
        (fk.boolean.monotone_disjunctive(3), 20),
        (fk.boolean.d_dnf(2), 72),
        (fk.boolean.parametric_dnf(0.25), 3**6 - 1),
        (fk.boolean.all_subsets(scale="probability"), 64),
        (fk.boolean.anova(1) + fk.boolean.anova(2), 21),
    ],
    ids=str,
)
def test_families_of_clauses(k, number, monkeypatch):
    X = data(20, 6)
    if not number:
        with pytest.raises(fk.ParameterError, match="7"):
            chosen(k, X)
        return
    found = chosen(k, X)
    assert len(found.features) == number
    np.testing.assert_allclose(products(found, X), k(X), rtol=1e-12)
    monkeypatch.setattr(formula_features, "MAX_LISTED_SUBSTITUTIONS", 1)
    drawn = chosen(k, X, 400)
    error = np.sqrt(((products(drawn, X) - k(X)) ** 2).mean())
    assert error < drawn.error_bound(0.01)


def test_what_is_said_of_a_feature_is_short():
    found = chosen(fk.kernel("(a & ~b) | c"), data(5, 4))
    texts = {str(f.formula) for f in found.features.functions}
    assert {"s0", "s0 | s1", "s0 | s1 & ~s2"} <= texts


@settings(max_examples=10)
@given(countable(5), st.integers(1, 200), st.integers(1, 40))
def test_columns_are_the_features_one_by_one(formula, rows, n):
    """Against features evaluated by themselves, for every number of rows behind a word."""
    X = data(rows, 5, seed=n, share=n / 40)
    try:
        found = chosen(fk.kernel(formula), X, n)
    except fk.DataError:
        return
    listed, table = found.features, read_packed(X)
    got = matrix(found, X)
    assert got.has_canonical_format
    dense = got.toarray()
    assert dense.shape == (rows, len(listed))
    truths = X.astype(bool)
    for f in range(len(listed)):
        function = listed.functions[listed.function[f]]
        at = dict(zip(function.arguments, listed.columns[f].tolist(), strict=False))
        value = oracle.evaluate(function.formula, lambda leaf: truths[:, at[leaf]])  # noqa: B023
        expected = np.broadcast_to(value, rows) * np.sqrt(listed.weights[f])
        np.testing.assert_allclose(dense[:, f], expected)
    measure = np.random.default_rng(n).random(rows)
    sums = listed.sums(table, measure[None])
    np.testing.assert_allclose(sums, measure @ (dense != 0), atol=1e-12)


def test_threads_write_what_one_writes(monkeypatch):
    X = data(5000, 20, share=0.3)
    found = chosen(fk.kernel("a & ~b").normalized() + fk.kernel("a"), X)
    alone = matrix(found, X)
    monkeypatch.setattr(gram_matrix, "THREAD_PAIRS", 1)
    together = matrix(found, X)
    assert (alone != together).nnz == 0
    table = read_packed(X)
    factors = found.lengths.factors(table)
    small = found.features.matrix(table, factors, np.float32)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small.toarray(), alone.toarray(), rtol=1e-6)


# -- samples -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "reading"), [case[:2] for case in CASES])
def test_true_substitutions_are_drawn_with_equal_chances(text, reading):
    X = data(6, 7)
    k, table = fk.kernel(text, reading, domains=WHERE), read_packed(X)
    (space,) = spaces_of(k, table)
    sampler = TrueSubstitutions(space)
    np.testing.assert_allclose(sampler.counts(table), k.diagonal(X), rtol=1e-12)
    row = int(np.argmax(k.diagonal(X)))
    number = 3000
    drawn = sampler.draw(table, np.full(number, row), np.random.default_rng(3))
    got = dict(_keys(merged([features_of(space.expansion, drawn)])))
    listed = list_features(space)
    true = listed.matrix(table, np.ones((1, 6)))[[row]].toarray()[0] > 0
    expected = {
        key: weight for (key, weight), holds in zip(_keys(listed), true, strict=True) if holds
    }
    assert set(got) <= set(expected)
    weights = np.array(list(expected.values()))
    counts = [got.get(key, 0.0) for key in expected]
    if len(counts) > 1:
        assert chisquare(counts, number * weights / weights.sum()).pvalue > 1e-4


def _keys(listed):
    for f, columns, weight in zip(listed.function, listed.columns, listed.weights, strict=True):
        used = columns[columns >= 0]
        yield (listed.functions[f].table, *used.tolist()), weight


@pytest.mark.parametrize(
    ("k", "listed"),
    [
        (fk.kernel("a & ~b").normalized(), True),
        (fk.kernel("a & ~b").normalized(), False),
        (fk.kernel("(a & b) | c", "distinct"), True),
        (fk.kernel("a & b").normalized() + 3 * fk.kernel("all[2](x)", "free"), False),
    ],
    ids=str,
)
def test_samples_are_unbiased_and_within_the_bound(k, listed, monkeypatch):
    if not listed:
        monkeypatch.setattr(formula_features, "MAX_LISTED_SUBSTITUTIONS", 1)
    X, Z, times = data(12, 7, share=0.4), data(8, 7, seed=1), 25
    K, cross = k(X), k(X, Z)
    errors, passed, mean, mean_cross = [], 0, 0.0, 0.0
    for seed in range(times):
        found = chosen(k, X, 20, seed)
        assert 0 < len(found.features) <= 20
        assert not found.complete
        assert (found.n_draws == 0) == listed
        got = products(found, X)
        error = float(np.sqrt(((got - K) ** 2).mean()))
        passed += error > found.error_bound(0.1)
        errors.append(error)
        mean = mean + got / times
        mean_cross = mean_cross + products(found, X, Z) / times
    typical = np.sqrt(np.mean(np.square(errors)))
    assert typical <= np.sqrt(found.squared_error) * 1.2
    assert passed <= 0.1 * times
    # the mean of so many is √times as near; and unseen rows against training rows, too
    assert np.sqrt(((mean - K) ** 2).mean()) < 2 * typical / np.sqrt(times)
    scale = np.abs(cross).max() / np.abs(K).max() + 1
    assert np.sqrt(((mean_cross - cross) ** 2).mean()) < 3 * scale * typical / np.sqrt(times)


def test_equal_seeds_give_equal_samples(monkeypatch):
    X, k = data(40, 9), fk.kernel("a & b | ~c")
    for most in (formula_features.MAX_LISTED_SUBSTITUTIONS, 1):
        monkeypatch.setattr(formula_features, "MAX_LISTED_SUBSTITUTIONS", most)
        first, again, other = (chosen(k, X, 30, seed) for seed in (5, 5, 6))
        np.testing.assert_array_equal(first.features.columns, again.features.columns)
        assert not np.array_equal(first.features.columns, other.features.columns)


def test_as_many_as_can_be_seen_are_exact_on_rows_that_were_seen():
    X = data(20, 8, share=0.15)
    k = fk.kernel("a & b", "distinct")
    seen = int((matrix(chosen(k, X), X).sum(axis=0) > 0).sum())
    found = chosen(k, X, seen)
    assert (len(found.features), found.complete, found.error_bound(0.01)) == (seen, False, 0.0)
    Z = data(20, 8, seed=2)
    np.testing.assert_allclose(products(found, X, Z), k(X, Z))


def test_chances_and_pivotal_samples():
    generator = np.random.default_rng(0)
    shares = generator.exponential(size=12) ** 3
    for number in (1, 4, 11):
        chances = formula_features.inclusion_probabilities(shares, number)
        assert chances.sum() == pytest.approx(number)
        assert chances.max() <= 1
        free = chances < 1
        assert np.ptp(chances[free] / shares[free]) < 1e-9
        assert (chances[~free] == 1).all()
        assert shares[~free].min(initial=np.inf) >= shares[free].max()
        taken = np.zeros((1000, 12))
        for row in taken:
            positions = formula_features.pivotal_sample(chances, generator)
            assert len(positions) == number
            row[positions] = 1
        np.testing.assert_allclose(taken.mean(axis=0), chances, atol=0.06)
        together = taken.T @ taken / len(taken)
        for i, j in itertools.combinations(range(12), 2):
            assert together[i, j] <= chances[i] * chances[j] + 0.06


# -- what is refused ---------------------------------------------------------------------------


def test_what_cannot_be_listed_says_so():
    X = data(30, 40)
    with pytest.raises(fk.ParameterError, match=r"102,400,000 substitutions .* at most 4,194,304"):
        chosen(fk.kernel("a & b & c & d & e"), X)
    with pytest.raises(fk.ParameterError, match="cannot be listed as columns or rules"):
        chosen(fk.boolean.dnf(2, 2), X)
    with pytest.raises(fk.ParameterError, match="clauses of up to 40 columns"):
        chosen(fk.boolean.all_subsets(), X)
    with pytest.raises(fk.ParameterError, match="factors of a product must be formula kernels"):
        chosen(fk.kernel("a", "distinct") * fk.kernel("b"), X)
    with pytest.raises(fk.FormulaSizeError, match="more than 20 variables"):
        chosen(fk.kernel("all[21](x)", "distinct"), X, 10)
    with pytest.raises(fk.FormulaError, match="must be the whole formula, or negated"):
        chosen(fk.kernel("a & all[2](x)", "distinct"), X)
    with pytest.raises(fk.DataError, match="none of 780 features is true in any row"):
        chosen(fk.kernel("a & b", "distinct"), X * 0, 10)
    with pytest.raises(fk.DataError, match="no substitution is true in any row"):
        chosen(fk.kernel("all[7](x)", "distinct"), X * 0, 10)


def test_wide_formulas_are_sampled():
    X = data(50, 60, share=0.3)
    k = fk.kernel(" & ".join(f"x{i}" for i in range(12)), "distinct")
    X[:, :15] = 1
    found = chosen(k.normalized(), X, 200)
    K = products(found, X)
    assert np.sqrt(((K - k.normalized()(X)) ** 2).mean()) <= found.error_bound(0.01)
