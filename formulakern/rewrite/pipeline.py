"""The passes in order, each admitted only where it is sound, with a trace of every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from formulakern.rewrite import catalogue
from formulakern.rewrite.passes import RewriteStep, bottom_up, sort_arguments, top_down
from formulakern.rewrite.rule import Rule
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Formula, Operation
from formulakern.syntax.traversal import fold

__all__ = ["PassResult", "Rewriting", "rewrite"]

Walk = Callable[[Formula, Sequence[Rule], list[RewriteStep]], Formula]

#: (name, rules, walk), in the order in which they run; the canonical order comes last.
_PASSES: tuple[tuple[str, Callable[[], tuple[Rule, ...]], Walk], ...] = (
    ("definitions", catalogue.definitions, top_down),
    ("negations to the leaves", catalogue.de_morgan, top_down),
    ("constants", catalogue.constants, bottom_up),
    ("negations to the leaves", catalogue.de_morgan, top_down),
    ("constants", catalogue.constants, bottom_up),
)


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
    passes: list[PassResult] = []

    def record(name: str, steps: list[RewriteStep], result: Formula) -> Formula:
        if steps:
            passes.append(PassResult(name, tuple(steps), result))
        return result

    current = formula
    for name, rules, walk in _PASSES:
        steps: list[RewriteStep] = []
        sound = [rule for rule in rules() if variables in rule.sound_for]
        current = record(name, steps, walk(current, sound, steps))
    steps = []
    current = record("canonical order", steps, sort_arguments(current, steps))
    steps = []
    record("inside the choices", steps, _inside_choices(current, variables, steps))
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
    if not became:
        return formula

    def build(node: Formula, parts: list[Formula]) -> Formula:
        if node.connective is None:
            return became.get(node, node)
        return Operation(node.connective, parts)

    return fold(formula, build)
