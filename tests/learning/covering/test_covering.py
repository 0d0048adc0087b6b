"""Sequential covering: RIPPER, IREP, CN2 and 1R against their definitions on small tables."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import formulakern as fk
from formulakern.deadline import Deadline
from formulakern.encoding.ranks import RankedTable
from formulakern.learning.covering.description_length import exception_bits, theory_bits
from formulakern.learning.covering.sequential import (
    CoveringOptions,
    TrainingTable,
    _grown_units,
    _OneClass,
    cn2,
    of_conditions,
    one_rule,
    ripper,
)


def training(columns, y, weights=None, **options):
    """A training table of named columns, and its classes."""
    table = fk.Table(columns)
    encoder = fk.PropositionEncoder(max_nominal=0).fit(table)
    ranked = RankedTable.of(table, encoder.plans_)
    classes, codes = np.unique(y, return_inverse=True)
    weights = np.ones(len(codes)) if weights is None else weights
    by_class = ranked.weights_by_class(codes, len(classes), weights)
    relations = np.array([6 if c.numeric else 1 for c in ranked.columns]) + np.array(
        [32 * c.missing for c in ranked.columns]
    )
    return TrainingTable(ranked, by_class, relations, **options), classes


def random_training(seed, m=60, n_classes=2):
    rng = np.random.default_rng(seed)
    columns = {f"n{j}": rng.choice(list("abc"), m) for j in range(2)}
    columns |= {f"x{j}": rng.normal(size=m).round(1) for j in range(2)}
    y = rng.integers(0, n_classes, m)
    y[: m // 2] = ((columns["n0"] == "a") & (columns["x0"] > 0))[: m // 2]
    y[:n_classes] = range(n_classes)
    return training(columns, y)


def said(table, rule):
    return str(table.table.conjunction(rule.conditions.tolist()))


# -- RIPPER ----------------------------------------------------------------------------------------


def planted(m=600, noise=0.0):
    rng = np.random.default_rng(0)
    columns = {
        "odor": rng.choice(["foul", "none", "almond"], m),
        "size": rng.integers(0, 10, m),
        "ring": rng.choice(["one", "two"], m),
    }
    bad = (columns["odor"] == "foul") & (columns["size"] >= 4) | (
        (columns["odor"] == "none") & (columns["ring"] == "two") & (columns["size"] <= 1)
    )
    y = np.where(bad ^ (rng.random(m) < noise), "bad", "good")
    return columns, y


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_planted_rules_are_found(noise):
    table, classes = training(*planted(noise=noise))
    learned = ripper(table, CoveringOptions(min_weight=2.0), np.random.default_rng(0))
    assert classes[learned.default] == "good"
    rules = {frozenset(said(table, rule).split(" & ")) for rule in learned.rules}
    assert {"odor = foul", "odor = none"} <= set().union(*rules)
    if not noise:
        assert {frozenset(["odor = foul", "size >= 4"])} <= rules
        assert len(rules) == 2


def test_irep_finds_them_without_noise():
    table, _ = training(*planted())
    learned = ripper(
        table, CoveringOptions(min_weight=2.0, description_length=False), np.random.default_rng(0)
    )
    assert "odor = foul & size >= 4" in [said(table, rule) for rule in learned.rules]


def one_class(seed):
    table, _ = random_training(seed)
    rows = np.flatnonzero(table.weights.any(axis=1))
    return _OneClass(table, 1, rows, CoveringOptions(min_weight=2.0), np.random.default_rng(seed))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_kept_in_mind_while_learning_is_so_in_the_end(seed):
    """The number of rules per row is kept up to date; no rule can go without more bits."""
    learner = one_class(seed)
    learner.learn()
    times = np.zeros(len(learner.rows), dtype=int)
    for rule, cover in zip(learner.rules, learner.covers, strict=True):
        assert np.array_equal(cover, learner.training.covered(rule, learner.rows))
        times += cover
    assert np.array_equal(times, learner.times)
    bits = description(learner, learner.rules)
    assert bits == pytest.approx(learner._bits(learner.times))
    for k in range(len(learner.rules)):
        assert bits <= description(learner, learner.rules[:k] + learner.rules[k + 1 :]) + 1e-9


def description(learner, rules):
    """The description length, from its definition."""
    union = np.zeros(len(learner.rows), dtype=bool)
    for rule in rules:
        union |= learner.training.covered(rule, learner.rows)
    other, own = learner.weights.sum(axis=0)
    fp, right = learner.weights[union].sum(axis=0)
    theory = sum(theory_bits(learner.n_conditions, len(rule)) for rule in rules)
    covered = fp + right
    share = own / (own + other)
    return theory + exception_bits(share, covered, own + other - covered, fp, own - right)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_two_thirds_grow_and_one_prunes(seed, fractions):
    learner = one_class(seed)
    if fractions:
        learner.weights *= np.random.default_rng(seed).uniform(0.5, 3.0, (len(learner.rows), 1))
        least = float(learner.weights[learner.weights > 0].min())
        learner.training = replace(learner.training, unit=least)
    rows = np.flatnonzero(np.random.default_rng(seed).random(len(learner.rows)) < 0.7)
    grown, rest = learner._split(rows)
    whole = np.zeros_like(learner.weights)
    whole[rows] = learner.weights[rows]
    assert np.allclose(grown + rest, whole)
    assert (grown >= 0).all()
    assert (rest >= 0).all()
    unit = learner.training.unit
    for k in range(2):
        assert abs(grown[:, k].sum() - 2 / 3 * whole[:, k].sum()) <= unit * 2 / 3 + 1e-9
    if not fractions:  # a row is a row
        assert set(np.unique(grown).tolist()) <= set(range(10))


def test_units_grow_two_of_three():
    ends = np.array([0.0, 0.5, 1, 2, 2.5, 3, 4, 5, 6, 7.5])
    assert _grown_units(ends).tolist() == [0, 0.5, 1, 2, 2, 2, 3, 4, 4, 5.5]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_pruning_keeps_the_best_first_conditions(seed, whole, described):
    learner = one_class(seed)
    learner.options = CoveringOptions(described, min_weight=2.0)
    rows = np.arange(len(learner.rows))
    grown, kept = learner._split(rows)
    rule = learner._grow(grown, rows, of_conditions([]))
    pruned, right, wrong = learner._prune(rule, kept, rows, whole)

    def worth(n):
        inside = learner.training.covered(rule[:n], learner.rows)
        n_wrong, p = kept[inside].sum(axis=0)
        N, P = kept.sum(axis=0)
        if whole:
            return (p + N - n_wrong) / (P + N)
        if not described:
            return (p + N - n_wrong) / (P + N)
        return (p - n_wrong) / (p + n_wrong) if p + n_wrong else 0.0

    values = [worth(n) for n in range(len(rule) + 1)]
    assert values[len(pruned)] == pytest.approx(max(values))
    assert len(pruned) == min(n for n, v in enumerate(values) if v > max(values) - 1e-9)
    inside = learner.training.covered(pruned, learner.rows)
    assert [wrong, right] == pytest.approx(kept[inside].sum(axis=0).tolist())


def test_limits():
    table, _ = random_training(3)
    rng = np.random.default_rng(0)
    learned = ripper(table, CoveringOptions(min_weight=2.0, max_conditions=1, max_rules=1), rng)
    assert [len(rule.conditions) for rule in learned.rules] == [1]
    table.deadline = Deadline.of(0.0)
    learned = ripper(table, CoveringOptions(min_weight=2.0), rng)
    assert (learned.rules, learned.stopped) == ([], "time_limit")


# -- CN2 -------------------------------------------------------------------------------------------


def conjunctions(table, longest):
    """All conjunctions of single conditions of different kinds."""
    single = []
    for j, column in enumerate(table.table.columns):
        top = len(column.values)
        if column.numeric:
            single += [(j, 1, v) for v in range(top - 1)] + [(j, 2, v) for v in range(1, top)]
        else:
            single += [(j, 0, v) for v in range(top)]
    for n in range(1, longest + 1):
        yield from itertools.combinations(single, n)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_significant_conjunction(seed, ordered):
    rng = np.random.default_rng(seed)
    m = 40
    columns = {name: rng.choice(list("abc"), m) for name in "uvw"}
    y = ((columns["u"] == "a") & (columns["v"] == "b")).astype(int) ^ (rng.random(m) < 0.1)
    table, _ = training(columns, y)
    options = CoveringOptions(beam_width=1000, significance=0.95, max_conditions=2, max_rules=1)
    learned = cn2(table, options, ordered)
    totals = table.weights.sum(axis=0)
    rows = np.arange(table.table.n_rows)

    def score(counts, label):
        if not ordered:
            return (counts[label] + 1) / (counts.sum() + 2)
        shares = counts[counts > 0] / counts.sum()
        return (shares * np.log2(shares)).sum()

    def best(label):
        values = [score(totals, label)]
        for conditions in conjunctions(table, 2):
            counts = table.weights[table.covered(of_conditions(conditions), rows)].sum(axis=0)
            if not counts.any():
                continue
            expected = totals * counts.sum() / totals.sum()
            some = counts > 0
            ratio = 2 * (counts[some] * np.log(counts[some] / expected[some])).sum()
            if ratio > chi2.ppf(0.95, 1):
                values.append(score(counts, label))
        return max(values)

    assert ordered or learned.rules
    if not learned.rules:
        assert best(0) == score(totals, 0)
    for rule in learned.rules:
        counts = table.weights[table.covered(rule.conditions, rows)].sum(axis=0)
        label = 0 if ordered else rule.label
        assert score(counts, label) == pytest.approx(best(label))
        assert not ordered or rule.label == counts.argmax()


def test_rules_that_say_nothing_are_left_out():
    rng = np.random.default_rng(0)
    table, _ = training({"a": rng.choice(list("abcd"), 80)}, rng.integers(0, 2, 80))
    for ordered in (True, False):
        assert cn2(table, CoveringOptions(significance=0.9999), ordered).rules == []
        assert cn2(table, CoveringOptions(significance=0.0), ordered).rules


def test_a_rule_covers_rows_of_its_class():
    """However rare the class is among the rows that are left: a rule without them has 1/K."""
    weights = np.array([20.0, 1.0, 1.0, 1.0])
    table, _ = training({"a": ["x", "y", "z", "z"]}, ["n", "n", "p", "n"], weights)
    learned = cn2(table, CoveringOptions(significance=0.0), ordered=False)
    for rule in learned.rules:
        inside = table.covered(rule.conditions, np.arange(table.table.n_rows))
        assert table.weights[inside, rule.label].sum() > 0


def test_a_beam_of_one_row_and_of_no_time():
    table, _ = training({"a": ["x", "y"]}, ["p", "n"])
    learned = cn2(table, CoveringOptions(significance=0.0), ordered=True)
    assert [(rule.label, learned.default) for rule in learned.rules] == [(1, 0)]
    table.deadline = Deadline.of(0.0)
    for ordered in (True, False):
        assert cn2(table, CoveringOptions(), ordered).stopped == "time_limit"


# -- 1R --------------------------------------------------------------------------------------------


def test_the_golf_table():
    """The weather table of Quinlan (1986): outlook and humidity err on 4 of 14 days each."""
    outlook = ["sunny"] * 2 + ["overcast"] + ["rainy"] * 3 + ["overcast"] + ["sunny"] * 2
    outlook += ["rainy", "sunny", "overcast", "overcast", "rainy"]
    windy = [0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1]
    play = ["no", "no", *["yes"] * 3, "no", "yes", "no", *["yes"] * 5, "no"]
    columns = {"windy": ["yes" if w else "no" for w in windy], "outlook": outlook}
    table, classes = training(columns, play)
    learned = one_rule(table, 6)
    rules = {said(table, rule): classes[rule.label] for rule in learned.rules}
    assert rules == {"outlook = overcast": "yes", "outlook = rainy": "yes", "outlook = sunny": "no"}


def test_the_temperatures_of_the_golf_table():
    """Buckets of three, from Witten, Frank & Hall (2011), section 4.1: one cut, from 75 to 80."""
    degrees = np.array([64, 65, 68, 69, 70, 71, 72, 72, 75, 75, 80, 81, 83, 85], dtype=float)
    play = ["yes", "no", *["yes"] * 3, "no", "no", *["yes"] * 3, "no", "yes", "yes", "no"]
    table, classes = training({"t": degrees}, play)
    learned = one_rule(table, 3)
    rules = [(said(table, rule), str(classes[rule.label])) for rule in learned.rules]
    assert rules == [("t <= 78", "yes"), ("t >= 79", "no")]


def test_missing_values_have_a_rule_of_their_own():
    table, classes = training({"a": [None] * 5 + ["x"] * 5}, ["p"] * 5 + ["n"] * 5)
    learned = one_rule(table, 1)
    rules = {said(table, rule): str(classes[rule.label]) for rule in learned.rules}
    assert rules == {"a is missing": "p", "a = x": "n"}


def test_the_first_of_equally_good_columns_is_taken():
    columns = {"a": ["x", "y"] * 5, "b": ["x", "y"] * 5, "c": ["z"] * 10}
    table, _ = training(columns, ["p", "p", "n", "n", "p"] * 2)
    assert [said(table, rule) for rule in one_rule(table, 1).rules] == ["a = x", "a = y"]
