"""A rule is an equivalence; its sound readings are computed, and hold for brute-force kernels."""

import itertools

import numpy as np
import oracle
import pytest

import formulakern as fk
from formulakern.rewrite import ALL_READINGS, FUNCTION_READINGS, Rule, rules
from formulakern.syntax.formula import evaluate

NAMES = ("definitions", "negations to the leaves", "constants")
CATALOGUE = [rule for name in NAMES for rule in rules(name)]
X = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0]])


def truth_table(formula: fk.Formula, letters: str = "pqrst") -> list[bool]:
    return [
        bool(evaluate(formula, dict(zip(map(fk.Variable, letters), values, strict=True)).get))
        for values in itertools.product([False, True], repeat=len(letters))
    ]


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.text)
def test_catalogue_is_sound_where_it_says(rule):
    assert truth_table(rule.left) == truth_table(rule.right)
    assert rule.apply(rule.left) == rule.right
    for reading in rule.sound_for:
        before = oracle.gram(rule.left, X, X, reading)
        assert (oracle.gram(rule.right, X, X, reading) == before).all()
        assert oracle.dimension(rule.right, 3, reading) == oracle.dimension(rule.left, 3, reading)
    if "free" not in rule.sound_for:
        assert oracle.dimension(rule.right, 3, "free") != oracle.dimension(rule.left, 3, "free")


def test_every_connective_but_and_or_xor_not_is_defined_away():
    defined = {rule.left.connective.name for rule in rules("definitions")}
    assert defined == {"implies", "converse", "nonimplies", "nonconverse", "iff", "nand", "nor"}


SOUND = {
    "~(p & q) ==> ~p | ~q": ALL_READINGS,
    "p & true ==> p": ALL_READINGS,
    "p & q ==> q & p": ALL_READINGS,
    "p & p ==> p": FUNCTION_READINGS,
    "p & ~p ==> false": FUNCTION_READINGS,
    "p & (p | q) ==> p": FUNCTION_READINGS,
    "p & (q | r) ==> (p & q) | (p & r)": FUNCTION_READINGS,
    "p | false & q ==> p": FUNCTION_READINGS,
}


@pytest.mark.parametrize("text", SOUND)
def test_soundness_is_read_from_the_letters(text):
    assert Rule("", text).sound_for == SOUND[text]


@pytest.mark.parametrize("text", ["p & q ==> p | q", "p ==> ~p", "p -> q ==> q -> p"])
def test_what_is_no_equivalence_is_no_rule(text):
    with pytest.raises(fk.FormulaError, match="not an equivalence"):
        Rule("wrong", text)


APPLIED = {
    ("~(p & q) ==> ~p | ~q", "~(a & b)"): "~a | ~b",
    ("~(p & q) ==> ~p | ~q", "~(a & ~b & (c | d))"): "~a | ~~b | ~(c | d)",
    ("~(p & q) ==> ~p | ~q", "~(a | b)"): None,
    ("~(p & q) ==> ~p | ~q", "a & b"): None,
    ("p & q ==> ~(~p | ~q)", "a & b"): "~(~a | ~b)",
    ("p & q ==> ~(~p | ~q)", "a & b & c"): None,  # not of the form T(p) • T(q)
    ("p ^ q ==> ~p ^ ~q", "a ^ b"): "~a ^ ~b",
    ("p ^ q ==> ~p ^ ~q", "a ^ b ^ c"): None,  # true for two links, false for three
    ("p & q ==> q & p", "a & b"): "b & a",
    ("p & p ==> p", "a & a"): "a",
    ("p & p ==> p", "a & b"): None,
    ("p & p ==> p", "a & a & a"): None,
    ("p & (p | q) ==> p", "a & (a | b)"): "a",
    ("p & (p | q) ==> p", "a & (b | c)"): None,
    ("p & (q | r) ==> (p & q) | (p & r)", "a & (b | c)"): "a & b | a & c",
    ("p & (q | r) ==> (p & q) | (p & r)", "a & b & (c | d)"): None,
    ("p & true ==> p", "a & b & 1 & c"): "a & b & c",
    ("p & true ==> p", "1 & a & 1"): "a",
    ("p & true ==> p", "1 & 1"): "true",
    ("p & true ==> p", "a & 0"): None,
    ("p & false ==> false", "a & 0 & b & 0"): "false",
    ("p ^ false ==> p", "0 ^ a ^ 0 ^ b"): "a ^ b",
    ("p ^ true ==> ~p", "1 ^ a ^ 1 ^ b"): "~(a ^ b ^ true)",
    ("p ^ true ==> ~p", "1 ^ a ^ 1 ^ b ^ 1"): "~(a ^ b)",
    ("p ^ true ==> ~p", "1 ^ 1"): "~true",
    ("p ^ true ==> ~p", "1 ^ 1 ^ 1"): "~false",
    ("p ^ true ==> ~p", "1 ^ 1 ^ 1 ^ 1"): "~true",
    ("p ^ false ==> p", "0 ^ 0 ^ 0"): "false",
    ("p | false ==> p", "0 | 0"): "false",
}


@pytest.mark.parametrize(("rule", "before"), APPLIED)
def test_application(rule, before):
    after = Rule("", rule).apply(fk.parse(before))
    expected = APPLIED[rule, before]
    assert (None if after is None else str(after)) == expected
    if after is not None:
        assert truth_table(after, "abcd") == truth_table(fk.parse(before), "abcd")
