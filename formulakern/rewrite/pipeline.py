"""The passes in order, each admitted only where it is sound, with a trace of every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from formulakern.rewrite import catalogue
from formulakern.rewrite.passes import (
    RewriteStep,
    bottom_up,
    check_size,
    sort_arguments,
    top_down,
)
from formulakern.rewrite.rule import Rule, kinds
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Formula
from formulakern.syntax.logic.forms import substitute

__all__ = ["PassResult", "Rewriting", "rewrite"]

#: What a pass does to a formula in a reading; it appends its steps to a list.
Pass = Callable[[Formula, str, list[RewriteStep]], Formula]


def _with(
    walk: Callable[[Formula, Sequence[Rule], list[RewriteStep]], Formula],
    rules: Callable[[], tuple[Rule, ...]],
) -> Pass:
    """Return a pass: a walk with the rules that are sound in the reading and can fit."""

    def run(formula: Formula, reading: str, steps: list[RewriteStep]) -> Formula:
        sound = [rule for rule in rules() if reading in rule.sound_for]
        fitting = _fitting(formula, sound)
        return walk(formula, fitting, steps) if fitting else formula

    return run


def _fitting(formula: Formula, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules whose signs the formula has, or gets from others of them."""
    there = kinds(formula)
    while True:
        fitting = [rule for rule in rules if rule.signs <= there]
        grown = there.union(*(kinds(rule.right) for rule in fitting))
        if grown == there:
            return fitting
        there = grown


@dataclass(frozen=True)
class PassResult:
    """One pass: its name, its steps, and the whole formula after it."""

    name: str
    steps: tuple[RewriteStep, ...]
    formula: Formula


@dataclass(frozen=True)
class Rewriting:
    """The trace of a formula through the passes; passes that changed nothing are left out."""

    original: Formula
    passes: tuple[PassResult, ...]

    @property
    def formula(self) -> Formula:
        """The formula after the last pass."""
        return self.passes[-1].formula if self.passes else self.original


def rewrite(formula: Formula, variables: str = "bound") -> Rewriting:
    """Bring a formula into the form that lowering reads: and, or, xor, negations at the leaves.

    Parameters
    ----------
    formula : Formula
    variables : {"bound", "free", "distinct"}
        Only rules that are sound in this reading are used.

    Returns
    -------
    Rewriting
        The kernel of the result equals the kernel of the original in this reading.

    Raises
    ------
    FormulaSizeError
        If there are more than ``MAX_OPERATIONS`` different subformulas, or these have more than
        ``MAX_PLACES`` arguments in all.

    Examples
    --------
    >>> from formulakern.syntax.parser import parse
    >>> trace = rewrite(parse("~(b -> a) | false"))
    >>> for result in trace.passes:
    ...     print(f"{result.name}: {result.formula}")
    definitions: ~(~b | a) | false
    negations to the leaves: b & ~a | false
    constants: b & ~a
    """
    check_size(formula)
    passes: list[PassResult] = []
    current = formula
    settled: dict[str, Formula] = {}  # what a pass left, which it would leave again
    for name, run in _PASSES:
        if settled.get(name) is current:
            continue
        steps: list[RewriteStep] = []
        current = settled[name] = run(current, variables, steps)
        if steps:
            passes.append(PassResult(name, tuple(steps), current))
    return Rewriting(formula, tuple(passes))


def _inside_choices(formula: Formula, variables: str, steps: list[RewriteStep]) -> Formula:
    """Rewrite the formulas that choices hold, at most MAX_NESTING deep.

    Equal choices stay equal. Different ones must stay different: where names matter they have none
    in common, so only what loses all of its names is left as it is.
    """
    became: dict[Formula, Formula] = {}
    for leaf in formula.leaves:
        if isinstance(leaf, Choice):
            inner = rewrite(leaf.formula, variables)
            if inner.passes and inner.formula.variables:
                became[leaf] = leaf.over(inner.formula)
                steps.extend(step for result in inner.passes for step in result.steps)
    return substitute(formula, became) if became else formula


_NEGATIONS = ("negations to the leaves", _with(top_down, catalogue.de_morgan))
_CONSTANTS = ("constants", _with(bottom_up, catalogue.constants))
#: The passes, in the order in which they run.
_PASSES: tuple[tuple[str, Pass], ...] = (
    ("definitions", _with(top_down, catalogue.definitions)),
    *(_NEGATIONS, _CONSTANTS),
    *(_NEGATIONS, _CONSTANTS),
    ("canonical order", lambda formula, _, steps: sort_arguments(formula, steps)),
    ("inside the choices", _inside_choices),
)
