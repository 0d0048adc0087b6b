"""The passes: same kernel, same function, replayable trace, one normal form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import on_all_counts
from strategies import countable, formulas
from work import assert_linear

import formulakern as fk
from formulakern.rewrite import RewriteStep, rewrite, rules
from formulakern.semantics import READINGS, lower
from formulakern.syntax.formula import Operation, postorder
from formulakern.syntax.parser import parse_rule

NAMES = ("definitions", "negations to the leaves", "constants")
RULES = [rule for name in NAMES for rule in rules(name)]
readings = st.sampled_from(sorted(READINGS))


@settings(max_examples=38)
@given(countable(max_leaves=10), readings)
def test_programs_count_the_same(formula, reading):
    before, after = lower(formula, reading), lower(rewrite(formula, reading).formula, reading)
    assert before.degrees == after.degrees
    assert before.divisor == after.divisor
    assert on_all_counts(before) == on_all_counts(after)


@settings(max_examples=38)
@given(formulas(), readings)
def test_result_is_and_or_xor_with_negated_leaves(formula, reading):
    for node in postorder(rewrite(formula, reading).formula):
        assert node.connective is None or node.connective.name in ("not", "and", "or", "xor")
        if node.connective is not None and node.connective.name == "not":
            inner = node.arguments[0].connective
            assert inner is None or inner.name == "xor"


@settings(max_examples=38)
@given(formulas(), readings)
def test_trace_replays(formula, reading):
    trace = rewrite(formula, reading)
    for result in trace.passes:
        assert result.steps
        for step in result.steps:
            _replays(step, reading)
    assert trace.original == formula
    assert trace.formula == (trace.passes[-1].formula if trace.passes else formula)


def _replays(step: RewriteStep, reading: str) -> None:
    if step.rule == "canonical order":
        assert step.before.connective is step.after.connective
        assert step.before.connective.commutative
        assert sorted(map(str, step.before.arguments)) == sorted(map(str, step.after.arguments))
        return
    candidates = [rule for rule in RULES if rule.name == step.rule]
    assert any(rule.apply(step.before) == step.after for rule in candidates)
    assert all(reading in rule.sound_for for rule in candidates)


@settings(max_examples=38)
@given(formulas(), readings)
def test_rewriting_twice_changes_nothing(formula, reading):
    once = rewrite(formula, reading).formula
    assert rewrite(once, reading).passes == ()


@settings(max_examples=38)
@given(formulas(max_leaves=8), readings, st.randoms(use_true_random=False))
def test_commuted_formulas_become_equal(formula, reading, random):
    def shuffled(node: fk.Formula) -> fk.Formula:
        if node.connective is None:
            return node
        arguments = [shuffled(argument) for argument in node.arguments]
        if node.connective.commutative:
            random.shuffle(arguments)
        return Operation(node.connective, arguments)

    assert rewrite(shuffled(formula), reading).formula == rewrite(formula, reading).formula


def test_a_constant_is_not_a_variable_of_its_name():
    variable = fk.Variable("constant", "True")
    one, other = fk.parse("false") & variable, variable & fk.parse("false")
    assert rewrite(one, "free").formula == rewrite(other, "free").formula


FREE = {
    "a & a": "a & a",
    "a | a": "a | a",
    "a & ~a": "a & ~a",
    "a | ~a": "a | ~a",
    "a & (a | b)": "a & (a | b)",
    "a & false": "a & false",
    "a | true": "a | true",
    "a & true": "a",
    "a | b & c": "a | b & c",
    "(a | b) & (a | c)": "(a | b) & (a | c)",
    "a ^ a": "a ^ a",
}


@pytest.mark.parametrize("text", FREE)
def test_repeated_names_stay_two_occurrences_under_free(text):
    """The contrary of simplification: merging two occurrences would change the kernel."""
    after = rewrite(fk.parse(text), "free").formula
    assert str(after) == FREE[text]


@settings(max_examples=38)
@given(formulas())
def test_free_keeps_every_variable_occurrence(formula):
    def occurrences(node: fk.Formula) -> list[fk.Formula]:
        if node.connective is None:
            return [node] if isinstance(node, fk.Variable) else []
        return [leaf for argument in node.arguments for leaf in occurrences(argument)]

    before, after = occurrences(formula), occurrences(rewrite(formula, "free").formula)
    assert sorted(map(str, before)) == sorted(map(str, after))


def test_rules_of_columns_rewrite_too():
    assert str(rewrite(parse_rule("~(y = 3 | x)")).formula) == "~x & ~(y = 3)"


#: Size in full (Python recurses a thousand times), and the text of a size.
LONG = {
    "negations": (5_000, lambda n: "~" * n + "a"),
    "arrows": (5_000, lambda n: "a->" * n + "a"),
    "alternating": (1_500, lambda n: "~(" * n + "a & b" + " | c & d)" * n),
    "conjunction": (5_000, lambda n: " & ".join(f"x{i}" for i in range(n))),
    "trues": (5_000, lambda n: "1 & " * n + "a"),
    "odd trues": (5_001, lambda n: "1 ^ " * n + "a"),
    "falses": (5_000, lambda n: "a | " + " | ".join(["0"] * n)),
}


@pytest.mark.parametrize("which", LONG)
def test_long_formulas_are_rewritten_with_work_in_proportion(which):
    n, text_of = LONG[which]
    rewrite(fk.parse(text_of(n)))
    for reading in READINGS:
        assert_linear(
            lambda small, r=reading: rewrite(small, r), lambda n: fk.parse(text_of(n)), 150
        )
