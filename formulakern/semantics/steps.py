"""Formulas as straight-line steps, and the joint counts of steps that share no variable.

A step is a leaf, a negation, a binary operation on two earlier steps without a common variable,
or a decision diagram over earlier steps.  Counting goes twice over the list: backwards to find
which of the nine cells of each step are wanted, forwards to emit them.  Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from formulakern.program.builder import Builder
from formulakern.semantics.choices import ChoicePlan
from formulakern.syntax.choice import Choice
from formulakern.syntax.connectives import Connective

__all__ = [
    "Binary",
    "ChoiceStep",
    "ConstantStep",
    "Leaf",
    "Negation",
    "Plan",
    "Planned",
    "Step",
    "emit",
    "fuse",
]


@dataclass(frozen=True)
class Leaf:
    """A variable, ranging over the columns of one domain."""

    domain: int


@dataclass(frozen=True)
class ConstantStep:
    """True or false, with one (empty) substitution."""

    value: bool


@dataclass(frozen=True)
class Negation:
    """Swaps true and false: no arithmetic at all."""

    argument: int


@dataclass(frozen=True)
class Binary:
    """A connective applied to two steps that share no variable."""

    connective: Connective
    left: int
    right: int


class Plan(Protocol):
    """The counting of one cell of a step: what it reads, and how to emit it."""

    def reads(self) -> Iterator[tuple[int, str]]:
        """The (step, cell) pairs that the counting reads."""

    def emit(self, builder: Builder, values: dict[tuple[int, str], int]) -> int:
        """Emit the arithmetic; ``values`` holds the positions of what it reads."""


class Planned(Protocol):
    """A step that counts its cells by plans."""

    def plan(self, cell: str) -> Plan:
        """The plan for one cell."""


@dataclass(frozen=True)
class ChoiceStep:
    """d different features of an earlier step's feature space."""

    choice: Choice
    argument: int

    def plan(self, cell: str) -> Plan:
        """The sums of products of binomials of :mod:`formulakern.semantics.choices`."""
        return _ArgumentPlan(ChoicePlan(self.choice, cell), self.argument)


@dataclass(frozen=True)
class _ArgumentPlan:
    """The plan of a choice, its cells read from a step."""

    plan: ChoicePlan
    argument: int

    def reads(self) -> Iterator[tuple[int, str]]:
        for cell in self.plan.reads():
            yield self.argument, cell

    def emit(self, builder: Builder, values: dict[tuple[int, str], int]) -> int:
        return self.plan.emit(builder, {cell: values[step, cell] for step, cell in self.reads()})


Step = Leaf | ConstantStep | Negation | Binary | Planned

_SWAP = {"1": "0", "0": "1", "*": "*"}


def fuse(steps: list[Step], row: Connective, left: int, right: int) -> int:
    """Append ``left ∘ right``; a constant operand is evaluated away, as every reading allows
    where the kernel depends on the Boolean function alone.

    Returns the position of the result.
    """
    for position, other, first in ((left, right, True), (right, left, False)):
        operand = steps[position]
        if isinstance(operand, ConstantStep):
            when_true, when_false = (
                row(operand.value, bit) if first else row(bit, operand.value)
                for bit in (True, False)
            )
            if when_true == when_false:
                steps.append(ConstantStep(when_true))
            elif when_true:
                return other
            else:
                return negate(steps, other)
            return len(steps) - 1
    steps.append(Binary(row, left, right))
    return len(steps) - 1


def negate(steps: list[Step], argument: int) -> int:
    """Append the negation of a step, or of a constant its value; returns the position."""
    step = steps[argument]
    if isinstance(step, Negation):
        return step.argument
    steps.append(
        ConstantStep(not step.value) if isinstance(step, ConstantStep) else Negation(argument)
    )
    return len(steps) - 1


@cache
def _products(row: Connective, cell: str) -> tuple[tuple[str, str], ...]:
    """The cells (of left, of right) whose products sum to ``cell`` of ``left ∘ right``."""
    x, z = _sides(row, cell[0]), _sides(row, cell[1])
    return tuple((i + j, k + m) for i, k in x for j, m in z)


@cache
def _sides(row: Connective, wanted: str) -> tuple[tuple[str, str], ...]:
    """For one row: pairs (left value, right value or star) that give the wanted truth value."""
    if wanted == "*":
        return (("*", "*"),)
    found: dict[str, str] = {}
    for left in "10":
        rights = [right for right in "10" if row(left == "1", right == "1") == (wanted == "1")]
        if rights:
            found[left] = "*" if len(rights) == 2 else rights[0]
    if len(found) == 2 and len(set(found.values())) == 1:
        return (("*", found["1"]),)
    return tuple(found.items())


def emit(builder: Builder, steps: Sequence[Step], root: int, cells: Sequence[str]) -> list[int]:
    """Emit the wanted cells of a step; returns their positions in the program.

    Notes
    -----
    Linear in the number of steps: at most nine cells are wanted of each.
    """
    wanted: list[dict[str, None]] = [{} for _ in steps]
    wanted[root] = dict.fromkeys(cells)
    plans: dict[tuple[int, str], Plan] = {}
    for position in range(root, -1, -1):
        step = steps[position]
        for cell in wanted[position]:
            if isinstance(step, Negation):
                wanted[step.argument][_SWAP[cell[0]] + _SWAP[cell[1]]] = None
            elif isinstance(step, Binary):
                for left, right in _products(step.connective, cell):
                    wanted[step.left][left] = None
                    wanted[step.right][right] = None
            elif not isinstance(step, Leaf | ConstantStep):
                plan = plans[position, cell] = step.plan(cell)
                for other, other_cell in plan.reads():
                    wanted[other][other_cell] = None
    values: dict[tuple[int, str], int] = {}
    for position, step in enumerate(steps[: root + 1]):
        for cell in wanted[position]:
            if isinstance(step, Leaf):
                value = builder.count(step.domain, cell)
            elif isinstance(step, ConstantStep):
                holds = all(bit in ("*", "1" if step.value else "0") for bit in cell)
                value = builder.constant(int(holds))
            elif isinstance(step, Negation):
                value = values[step.argument, _SWAP[cell[0]] + _SWAP[cell[1]]]
            elif isinstance(step, Binary):
                value = builder.sum(
                    builder.product((values[step.left, left], values[step.right, right]))
                    for left, right in _products(step.connective, cell)
                )
            else:
                value = plans[position, cell].emit(builder, values)
            values[position, cell] = value
    return [values[root, cell] for cell in cells]
