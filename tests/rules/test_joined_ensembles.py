"""Rules are joined if scores on given rows change by at most the tolerance."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern import ParameterError, RuleEnsemble, Table, WeightedRule
from formulakern.rules.decision import conditions_of
from formulakern.rules.features import LinearTerm

CONDITIONS = [
    "age >= 30",
    "age >= 31",
    "age <= 30",
    "odor = a",
    "odor != a",
    "odor = b",
    "ring",
    "size >= 2",
]
TERMS = [fk.rule(c) for c in CONDITIONS]
TERMS += [fk.rule(f"{a} & {b}") for a, b in itertools.combinations(CONDITIONS, 2)]
TERMS += [LinearTerm("age", 20, 60), fk.rule("age >= 30 | ring")]


@st.composite
def cases(draw):
    n = draw(st.integers(1, 12))
    columns = {
        "age": st.integers(28, 33),
        "odor": st.sampled_from(["a", "b", None]),
        "ring": st.booleans(),
        "size": st.sampled_from([1.5, 2.5]),
    }
    X = {k: draw(st.lists(v, min_size=n, max_size=n)) for k, v in columns.items()}
    classes = draw(st.sampled_from([None, "xy", "xyz", "levels"]))
    items = []
    for term in draw(st.lists(st.sampled_from(TERMS), max_size=6, unique_by=str)):
        named = None if classes == "levels" else classes
        votes = [draw(st.integers(-8, 8)) / 8 for _ in named or "y"]
        items.append(WeightedRule.of_votes(term, votes, named))
    if classes == "levels":
        # no score is on a threshold up to rounding
        levels = {"levels": ("low", "mid", "high"), "thresholds": np.array([0.303, 0.803])}
        return replace(RuleEnsemble.of(items), **levels), Table(X)
    return RuleEnsemble.of(items, classes), Table(X)


def differ_in_one(one, other):
    """Return True if rules differ in one condition: bounds of one column, or opposites."""
    left, right = (set(conditions_of(term.formula)) for term in (one, other))
    if not len(left - right) == len(right - left) == 1:
        return False
    texts = [str(fk.rule(*extra)) for extra in (left - right, right - left)]
    apart = {"odor = b", "odor = a"}, {"odor = b", "odor != a"}
    if any("|" in text for text in texts):
        return False
    return texts[0].split()[0] == texts[1].split()[0] and {*texts} not in apart


@settings(deadline=None)
@given(cases(), st.sampled_from([0.0, 0.125, 0.25, 1.0]), st.integers(0, 2))
def test_generated_ensembles(case, tolerance, most):
    ensemble, X = case
    found = ensemble.joined(X, tolerance, max_changed=most)
    before, after = ensemble.scores(X), found.rules.scores(X)
    assert found.change == np.abs(after - before).max() <= tolerance + 1e-12
    classify = ensemble.classes or ensemble.levels
    changed = ensemble.decide(before) != ensemble.decide(after) if classify else np.zeros(1)
    assert found.n_changed == changed.sum() <= most
    assert found.n_rows == len(X)
    assert len(found.rules) <= len(ensemble.simplified()) - len(found.replaced)
    for gone, kept in found.replaced:
        assert differ_in_one(gone, kept)
    # nothing is left to join: replacing one rule by another, or its negation, breaks a limit
    votes, values = found.rules.votes, found.rules.values(X).T
    pairs = [(j, k) for j, k in itertools.permutations(range(len(votes)), 2)]
    for kept, gone in pairs:
        terms = [found.rules.rules[place] for place in (kept, gone)]
        if any(isinstance(term, LinearTerm) for term in terms) or not differ_in_one(*terms):
            continue
        instead = values[kept]
        if (instead != values[gone]).sum() > len(X) / 2:
            instead = 1 - instead
        joined = after + np.outer(instead - values[gone], votes[gone])
        far = np.abs(joined - before).max() > tolerance + 1e-12
        assert far or (
            classify and (ensemble.decide(before) != ensemble.decide(joined)).sum() > most
        )


def test_scores_on_a_threshold_keep_their_level():
    """A sum in another order is above 0.3, and the sum before is not."""
    terms = [fk.rule(f"age >= 31 & {text}") for text in ("odor = b", "odor = a", "odor != a")]
    votes = [[0.0], [0.25], [0.25], [1.0]]
    ensemble = RuleEnsemble.of(
        [
            WeightedRule.of_votes(term, own, None)
            for term, own in zip([*terms, LinearTerm("age", 20, 60)], votes, strict=True)
        ]
    )
    ensemble = replace(ensemble, levels=("low", "mid", "high"), thresholds=np.array([0.3, 0.8]))
    X = Table({"age": [28, 28, 32, 28, 28, 28, 28, 28, 28], "odor": ["a", "a", "b"] + ["a"] * 6})
    found = ensemble.joined(X, 0.25)
    assert found.n_changed == 0
    assert (found.rules.predict(X) == ensemble.predict(X)).all()


def test_near_thresholds_and_opposites():
    listed = {"n >= 1 & b": 1.0, "n <= 0 & b": 0.25, "x = 3": 0.5, "x != 3": 0.125, "y >= 1": 0.3}
    items = [
        WeightedRule(fk.rule(text), w, "p", "q", 3, 0.5, 0.75, 0.5) for text, w in listed.items()
    ]
    ensemble = RuleEnsemble.of(items, "pq")
    X = {"n": [0, 1, 2, 3], "b": [True] * 4, "x": [3, 3, 4, 5], "y": [0, 1, 2, 3]}
    found = ensemble.joined(X)
    assert {str(item.rule): item.weight for item in found.rules} == {
        "n >= 1 & b": 0.75, "x = 3": 0.375, "y >= 1": 0.3,
    }  # fmt: skip
    assert found.rules.intercept.tolist() == [0.375, -0.375]
    assert (found.change, found.n_changed, len(found.replaced)) == (0, 0, 2)
    assert str(found).endswith(
        "2 rules joined: scores change by at most 0; 0 of 4 predictions change"
    )
    # where an entry is missing x = 3 and x != 3 are no opposites
    gap = dict(X, x=[3, None, 4, 5])
    assert len(ensemble.joined(gap).rules) == 4
    assert len(ensemble.joined(gap, 0.2).rules) == 3
    # a rule that comes to speak for the other class has the shares of that
    items = [WeightedRule(fk.rule("x >= 3"), 1.0, "p", "q", 3, 0.5, 0.75, 0.5)]
    items += [WeightedRule(fk.rule("x >= 4"), 1.5, "q", "p", 2, 0.5, 0.7, 0.5)]
    turned = RuleEnsemble.of(items, "pq", [0.6, -0.6]).joined(
        {"x": [2, 3, 4, 5]}, 1.0, max_changed=1
    )
    assert [(str(i.rule), i.weight, i.winner, i.precision) for i in turned.rules] == [
        ("x >= 4", 0.5, "q", 0.7)
    ]


def test_tolerances_are_checked():
    ensemble = RuleEnsemble.of([WeightedRule(fk.rule("x >= 3"), 1.0)])
    for options in ({"tolerance": -1}, {"tolerance": np.inf}, {"max_changed": -1}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            ensemble.joined({"x": [1]}, **options)
    assert ensemble.joined({"x": []}).rules == ensemble
