"""JSON of rules is read back equal, and any other JSON is refused."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import Rule, RuleEnsemble, WeightedRule
from formulakern.rules.features import LinearTerm, Monomial
from tests.strategies import names, rules

finite = st.floats(allow_nan=False, allow_infinity=False)
share = st.floats(0, 1) | st.just(math.nan)
scalars = st.one_of(
    names(), st.integers(), finite, st.booleans(), st.none(),
    st.integers(-100, 100).map(np.int32), st.booleans().map(np.bool_), st.just(np.str_("é")),
    st.floats(-1, 1, width=32).map(np.float32),
)  # fmt: skip
linear = st.builds(LinearTerm, names(), st.integers(-5, 0) | st.floats(-1e308, 0), st.floats(1, 9))
products = st.lists(names(), max_size=3).map(lambda c: Monomial(tuple(c)))
learned = rules().map(Rule) | products | linear


@st.composite
def ensembles(draw):
    """Votes of the three shapes, of any weights, for classes of any kind."""
    classes = draw(st.none() | st.lists(scalars, min_size=2, max_size=4, unique=True))
    k = 1 if classes is None else len(classes)
    listed = draw(st.lists(learned, max_size=4))
    votes = np.zeros((len(listed), k))
    for row in votes:
        one, other = draw(st.integers(0, k - 1)), draw(st.integers(0, k - 1))
        row[one] = draw(finite)
        if one != other and draw(st.booleans()):
            row[other] = -row[one]
    column = [draw(st.lists(kind, min_size=len(listed), max_size=len(listed)))
              for kind in (st.integers(0, 10**9), share, share, share)]  # fmt: skip
    intercept = draw(st.lists(finite, min_size=k, max_size=k))
    kinds = None if classes is None else tuple(classes)
    *others, base = column
    return RuleEnsemble(tuple(listed), votes, kinds, intercept, *others, draw(names()), base)


@given(ensembles())
def test_round_trip(ensemble):
    again = RuleEnsemble.from_json(ensemble.to_json())
    assert again == ensemble
    assert hash(again) == hash(ensemble)
    for mine, its in zip(again.classes or (), ensemble.classes or (), strict=True):
        assert isinstance(mine, bool) == isinstance(its, (bool, np.bool_))
    np.testing.assert_array_equal(again.votes, ensemble.votes)


TEXT = RuleEnsemble.of(
    [WeightedRule(fk.rule("x = 1"), 1.0, "a", "b"), WeightedRule(Monomial(("u", "v")), 1.0, "a")],
    ("a", "b"),
).to_json()


def changed(**change):
    return json.dumps(json.loads(TEXT) | change)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"rules": [{}]}', "nonsense", None, 3, "[" * 100_000,
        changed(rules=["x = 1"]), changed(rules=[3, 4]), changed(rules=["x = ", "y"]),
        changed(votes=[[1], [1]]), changed(votes=None),
        changed(support=None), changed(support=[None, None]), changed(coverage=["a", "b"]),
        changed(base_rate=[1, 1, 1]), changed(rules=["x = 1", {"column": "x", "least": 1}]),
        changed(rules=["x = 1", {"column": "x", "least": 1, "largest": 1}]),
        changed(classes=["a"]), changed(classes=[["a"], ["b"]]), changed(classes=3),
        changed(intercept=[None, 0]), changed(intercept=0), changed(intercept=[float("inf"), 0]),
    ],
)  # fmt: skip
def test_what_is_no_ensemble_is_refused(text):
    with pytest.raises(fk.DataError, match="not an ensemble"):
        RuleEnsemble.from_json(text)


def test_other_versions_are_refused():
    assert json.loads(TEXT)["format"] == "formulakern/ensemble/3"
    with pytest.raises(fk.DataError, match=r"ensemble/4'.*'formulakern/ensemble/3'"):
        RuleEnsemble.from_json(TEXT.replace("ensemble/3", "ensemble/4"))


def test_classes_that_json_does_not_hold():
    for classes in (((1,), (2,)), (0.0, math.inf), (np.datetime64("2020-01-01", "ns"), 1)):
        with pytest.raises(fk.DataError, match="JSON"):
            RuleEnsemble.of((), classes).to_json()
