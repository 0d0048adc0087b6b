"""Cuts of numeric columns: round numbers, units, and gaps that separate the classes best."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding.cut_points import cuts, informative_gaps, shortest_between, unit_of
from tests.oracle import informative_cuts

UNITS = [Fraction(10) ** k * five for k in range(4, -7, -1) for five in (1, Fraction(1, 2))]

#: Multiples of a unit, each as the nearest float.
columns = st.tuples(
    st.lists(st.integers(-400, 400), min_size=1, max_size=30),
    st.sampled_from([-6, -3, -2, -1, 0, 1, 3]),
    st.sampled_from([1, 2, 5]),
).map(lambda drawn: np.array([float(f"{n * drawn[2]}e{drawn[1]}") for n in drawn[0]]))


@given(columns)
def test_units(column):
    distinct = np.unique(column)
    exact = [Fraction(repr(value)) for value in distinct.tolist()]
    shared = [unit for unit in UNITS if all((value / unit).denominator == 1 for value in exact)]
    if len(distinct) < 5:
        shared = [Fraction(1)] * (Fraction(1) in shared)
    assert unit_of(distinct) == (max(shared) if shared else None)


@given(columns, st.integers(1, 40), st.sampled_from(["quantile", "uniform", "all"]))
def test_cuts_are_multiples_of_the_unit_and_separate(column, number, strategy):
    distinct = np.unique(column)
    found, unit = cuts(column, number, strategy), unit_of(distinct)
    if strategy == "all":
        assert len(found) == len(distinct) - 1
    for cut in found:
        below = column <= cut.at_most
        assert 0 < below.sum() < len(column)
        np.testing.assert_array_equal(column >= cut.at_least, ~below)
        if unit is not None:
            low, high = float(column[below].max()), float(column[~below].min())
            steps = [Decimal(repr(v)) / unit for v in (cut.at_most, cut.at_least)]
            neighbours = Decimal(repr(high)) - Decimal(repr(low)) == unit
            assert all(s == s.to_integral_value() for s in steps) or not neighbours
            assert not neighbours or (cut.at_most, cut.at_least) == (low, high)


@given(st.integers(-3000, 3000), st.integers(2, 3000), st.sampled_from([1, 10, 1000]))
def test_no_number_in_the_gap_is_rounder(low, width, scale):
    low, high = low / scale, (low + width) / scale
    least, largest = Fraction(repr(low)), Fraction(repr(high))
    middle, quarter = (least + largest) / 2, (largest - least) / 4
    number = Fraction(repr(shortest_between(low, high)))
    for place, unit in enumerate(UNITS):  # …, 100, 50, 10, 5, …
        away = abs(round(middle / unit) * unit - middle)
        if (away <= quarter) if place % 2 else (away < 2 * quarter):
            break
    assert (number / unit).denominator == 1
    assert abs(number - middle) == away


def test_round_numbers():
    cases = {(4.9, 5.15): 5, (23, 28): 25, (99, 140): 100, (20.3, 29.7): 25, (61, 88): 70}
    cases |= {(0.121, 0.128): 0.125, (4.6, 9.9): 7, (-3, 20): 0, (1.61, 1.69): 1.65}
    assert {pair: shortest_between(*pair) for pair in cases} == cases
    tens = np.array([70, 80, 90, 110, 140, 140])
    assert [(c.at_most, c.at_least) for c in cuts(tens, 9)] == [
        (70, 80), (80, 90), (100, 110), (120, 130),
    ]  # fmt: skip
    halves = np.array([0.5, 1.0, 1.5, 3.0, 5.5])
    assert [(c.at_most, c.at_least) for c in cuts(halves, 9)] == [
        (0.5, 1.0), (1.0, 1.5), (2, 2), (4, 4),
    ]  # fmt: skip


labelled = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=2, max_size=60)


@given(labelled, st.integers(1, 6), st.booleans())
def test_informative_cuts(rows, number, planted):
    values = np.array([value for value, _ in rows], dtype=np.float64)
    classes = np.array([min(value // 4, 2) if planted else label for value, label in rows])
    found = [cut.at_most for cut in cuts(values, number, "mdlp", classes)]
    expected = informative_cuts(values.tolist(), classes.tolist(), number)
    assert len(found) == len(expected)
    for least, cut in zip(expected, found, strict=True):
        np.testing.assert_array_equal(values <= cut, values <= least)


def test_published_criterion_accepts_and_refuses():
    apart = np.repeat(np.eye(2), 8, axis=0)
    assert informative_gaps(apart, 4).tolist() == [7]
    generator = np.random.default_rng(0)
    noise = np.eye(2)[generator.integers(2, size=200)]
    assert len(informative_gaps(noise, 50)) == 1  # the best one, which is not accepted
    assert informative_gaps(np.repeat(np.eye(4), 20, axis=0), 2).tolist() != []
    assert len(informative_gaps(np.repeat(np.eye(4), 20, axis=0), 2)) == 2


X = {"age": np.arange(60) % 30, "size": np.linspace(0, 1, 60) ** 2, "odor": ["a", "b"] * 30}
Y = np.array(["low", "high"])[(X["age"] >= 12).astype(int)]


def test_cuts_by_class_in_the_encoder():
    encoder = fk.PropositionEncoder(strategy="mdlp").fit(X, Y)
    assert encoder.get_feature_names_out()[:2].tolist() == ["age <= 11", "age >= 12"]
    with pytest.raises(fk.DataError, match="requires y to be passed"):
        fk.PropositionEncoder(strategy="mdlp").fit(X)
    with pytest.raises(fk.DataError, match="continuous"):
        fk.PropositionEncoder(strategy="mdlp").fit(X, np.linspace(0, 1, 60))
    gaps = fk.PropositionEncoder(strategy="all", numeric="<=").fit(X).get_feature_names_out()
    assert len(gaps) == 29 + 59 + 2
    many = fk.Table({"time": 2 * np.arange(5002)})
    with pytest.raises(fk.DataError, match='column "time" has 5,002 different values'):
        fk.PropositionEncoder(strategy="all").fit(many)
    assert len(fk.PropositionEncoder(strategy="all").fit(many[:-1]).propositions_) == 10_000


def test_cut_strategy_of_rule_models():
    model = fk.HKLClassifier(encoder=fk.PropositionEncoder(strategy="mdlp"), linear=False).fit(X, Y)
    assert [str(item.rule) for item in model.rules_] == ["age <= 11"]
    assert model.encoder_.strategy == "mdlp"
    with pytest.raises(fk.ParameterError, match="HKLRegressor learns numbers"):
        fk.HKLRegressor(encoder=fk.PropositionEncoder(strategy="mdlp")).fit(X, X["age"])
    by_class = fk.PropositionEncoder(strategy="mdlp")
    for search in (fk.PRLClassifierCV(encoder=by_class), fk.FormulaSearch(encoder=by_class)):
        with pytest.raises(fk.ParameterError, match="encodes held-out rows together"):
            search.fit(X, Y)
    with pytest.raises(fk.ParameterError, match="'quantile', 'uniform', 'mdlp', 'all'"):
        fk.HKLClassifier(encoder=fk.PropositionEncoder(strategy="median")).fit(X, Y)


def test_cross_validation_cuts_by_the_classes_of_each_fold():
    """Classes of held-out rows do not move the cuts with which these rows are scored."""
    read = []

    class Reader(fk.PropositionEncoder):
        def learn(self, table, *more):
            read.append(len(table))
            return super().learn(table, *more)

    for strategy, times in (("mdlp", 4), ("quantile", 1)):
        read.clear()
        search = fk.HKLClassifierCV([1.0], (4.0,), cv=3, encoder=Reader(strategy=strategy))
        search.fit({"age": X["age"]}, Y)
        assert read == [60, 40, 40, 40][:times]
