"""Joint counts of formulas whose parts share no variable.

For two rows x and z, F11 is the number of substitutions under which the formula F is true in both,
F10 in x only, F01 in z only, F00 in neither; a star sums over both values: F1* = F11 + F10, and F**
is the number of all substitutions.  These nine are the *cells* of F.

* ``not F`` has the cells of F with 1 and 0 exchanged: no arithmetic at all.
* ``F ∘ G``, where F and G share no variable, has (F ∘ G)uv = Σ Fij · Gkl over i ∘ k = u, j ∘ l = v.

No term is negative, so nothing cancels (Polato & Aiolli 2021, doi:10.3390/e23081020, write the same
kernels with subtractions).  A formula becomes a list of *steps*, each on earlier ones; going
backwards finds the cells that are needed of each, going forwards emits them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from formulakern.errors import FormulaSizeError
from formulakern.program.program import Builder, Program, check_nodes
from formulakern.semantics.choices import ChoiceTerms
from formulakern.semantics.names import domain_positions
from formulakern.syntax.choice import Choice
from formulakern.syntax.connectives import Connective
from formulakern.syntax.formula import Constant, Formula, Variable

__all__ = [
    "MAX_STEPS",
    "Binary",
    "ConstantStep",
    "Negation",
    "Step",
    "Steps",
    "Values",
    "opposite",
]

#: A formula that becomes more steps is refused.
MAX_STEPS = 400_000

#: Stands for what a choice chooses from, which is a step of its own.
_ANY = Variable("x")

#: For every step the positions in the program of those of its cells that are needed.
Values = Sequence[Mapping[str, int]]
#: What appends ``left ∘ right`` for a connective and two steps, and returns its position.
Join = Callable[[Connective, int, int], int]


class Step(ABC):
    """A formula made of earlier steps, which share no variable."""

    __slots__ = ()

    #: The positions of these steps.
    arguments: tuple[int, ...] = ()

    def reads(self, cell: str) -> Iterable[tuple[int, str]]:  # noqa: ARG002
        """Return the (step, cell) pairs that one cell is computed from."""
        return ()

    @abstractmethod
    def emit(self, cell: str, builder: Builder, values: Values) -> int:
        """Emit the arithmetic of one cell; ``values`` holds what it reads."""


@dataclass(frozen=True, slots=True)
class Leaf(Step):
    """A variable, ranging over the columns of one domain."""

    domain: int

    def emit(self, cell: str, builder: Builder, values: Values) -> int:  # noqa: ARG002
        """Return the count of columns."""
        return builder.count(self.domain, cell)


@dataclass(frozen=True, slots=True)
class ConstantStep(Step):
    """True or false, with one (empty) substitution."""

    value: bool

    def emit(self, cell: str, builder: Builder, values: Values) -> int:  # noqa: ARG002
        """Emit 1 or 0."""
        return builder.constant(int("01"[not self.value] not in cell))


@dataclass(frozen=True, slots=True)
class Negation(Step):
    """Exchanges true and false."""

    arguments: tuple[int]

    def reads(self, cell: str) -> tuple[tuple[int, str]]:
        """Return the opposite cell."""
        return ((self.arguments[0], opposite(cell)),)

    def emit(self, cell: str, builder: Builder, values: Values) -> int:  # noqa: ARG002
        """Return the opposite cell, as it is."""
        return values[self.arguments[0]][opposite(cell)]


@dataclass(frozen=True, slots=True)
class Binary(Step):
    """A connective with two arguments."""

    connective: Connective
    arguments: tuple[int, int]

    def reads(self, cell: str) -> Iterator[tuple[int, str]]:
        """Yield the cells in the products."""
        for product in _products(self.connective, cell):
            yield from zip(self.arguments, product, strict=True)

    def emit(self, cell: str, builder: Builder, values: Values) -> int:
        """Return the sum of the products."""
        left, right = (values[argument] for argument in self.arguments)
        return builder.sum(
            builder.product((left[i], right[k])) for i, k in _products(self.connective, cell)
        )


@dataclass(frozen=True)
class ChoiceStep(Step):
    """d different features of an earlier step's feature space; no matter what the choice holds."""

    choice: Choice
    arguments: tuple[int]
    terms: dict[str, ChoiceTerms] = field(default_factory=dict, compare=False)

    def reads(self, cell: str) -> Iterator[tuple[int, str]]:
        """Return the cells in the binomials of :mod:`formulakern.semantics.choices`."""
        self.terms[cell] = ChoiceTerms(self.choice, cell)
        return ((self.arguments[0], read) for read in self.terms[cell].reads())

    def emit(self, cell: str, builder: Builder, values: Values) -> int:
        """Emit sums of products of binomials."""
        terms = self.terms[cell]
        return terms.emit(builder, values[self.arguments[0]])


def opposite(cell: str) -> str:
    """Return the cell with 1 and 0 exchanged."""
    return cell.translate(_EXCHANGED)


_EXCHANGED = str.maketrans("10", "01")


class Steps(list[Step]):
    """The steps that a formula becomes, each on earlier ones; a step is named by its position.

    Equal steps are one: their numbers are equal, wherever they stand.

    Parameters
    ----------
    formula : Formula
        Its variables tell the domains.
    """

    def __init__(self, formula: Formula) -> None:
        super().__init__()
        self.domains = domain_positions(formula)
        self._position: dict[Step, int] = {}

    def add(self, step: Step) -> int:
        """Append a step, unless there is an equal one; returns its position."""
        position = self._position.setdefault(step, len(self))
        if position == len(self):
            if position >= MAX_STEPS:
                raise FormulaSizeError(
                    f"the formula has more than {MAX_STEPS:,} different subformulas, by the shape "
                    "of what is below them. Split it into smaller formulas, or write chains of "
                    "one connective, whose length does not matter."
                )
            self.append(step)
        return position

    def chain(self, row: Connective, parts: Iterable[int], join: Join) -> int:
        """Join steps by a connective; returns the position of the result.

        A chain of an associative and commutative connective is joined in any order: n equal parts
        by repeated squaring, in some 2·log₂(n) steps, and different ones in pairs, so that exact
        numbers on the way stay short.

        Parameters
        ----------
        row : Connective
        parts : iterable of int
            Two, in their order, for a connective that is no chain.
        join : callable
            Appends ``left ∘ right``.
        """
        if row.chain != "flat":
            left, right = parts
            return join(row, left, right)
        layer = [
            self._power(row, part, times, join) for part, times in sorted(Counter(parts).items())
        ]
        while len(layer) > 1:
            pairs = [join(row, *layer[i : i + 2]) for i in range(0, len(layer) - 1, 2)]
            layer = pairs + layer[len(pairs) * 2 :]
        return layer[0]

    def _power(self, row: Connective, part: int, times: int, join: Join) -> int:
        """Join a step with itself, ``times`` occurrences of it in all."""
        result: int | None = None
        while True:
            if times % 2:
                result = part if result is None else join(row, part, result)
            times //= 2
            if not times:
                assert result is not None
                return result
            part = join(row, part, part)

    def binary(self, row: Connective, left: int, right: int) -> int:
        """Append ``left ∘ right`` as it is; returns the position of the result."""
        return self.add(Binary(row, (left, right)))

    def leaf(self, leaf: Formula, read: Callable[[Formula], int]) -> int:
        """Append a leaf; ``read`` appends the steps of what a choice chooses from."""
        if isinstance(leaf, Constant):
            return self.add(ConstantStep(leaf.value))
        if isinstance(leaf, Choice):
            return self.add(ChoiceStep(leaf.over(_ANY), (read(leaf.formula),)))
        assert isinstance(leaf, Variable)
        return self.add(Leaf(self.domains[leaf.domain]))

    def fuse(self, row: Connective, left: int, right: int) -> int:
        """Append ``left ∘ right``; returns the position of the result.

        A constant operand is evaluated away, which is right where the kernel depends on the Boolean
        function alone.
        """
        for position, other, first in ((left, right, True), (right, left, False)):
            operand = self[position]
            if isinstance(operand, ConstantStep):
                when_true, when_false = (
                    row(operand.value, bit) if first else row(bit, operand.value)
                    for bit in (True, False)
                )
                if when_true != when_false:
                    return other if when_true else self.negate(other)
                return self.add(ConstantStep(when_true))
        return self.binary(row, left, right)

    def negate(self, argument: int) -> int:
        """Append the negation of a step, or of a constant its value; returns the position."""
        step = self[argument]
        if isinstance(step, Negation):
            return step.arguments[0]
        if isinstance(step, ConstantStep):
            return self.add(ConstantStep(not step.value))
        return self.add(Negation((argument,)))

    def program(self, root: int) -> Program:
        """Return the program of a step: its cell 11 is the kernel, its cell ** the dimension.

        Notes
        -----
        Linear in the number of steps: at most nine cells are needed of each.  A program that would
        be too long is refused before any of it is emitted.
        """
        # of each step the cells that are needed; once they are emitted, their positions
        cells: list[dict[str, int]] = [{} for _ in self]
        chosen = any(isinstance(step, ChoiceStep) for step in self)
        cells[root] = dict.fromkeys(("11", "**") if chosen else ("11",), -1)
        times = [0] * len(self)  # how often each step stands in the formula
        times[root] = 1
        last_use = [0] * len(self)
        degrees = [0] * len(self.domains)
        operations = 0
        for position in range(root, -1, -1):
            step = self[position]
            if isinstance(step, Binary):
                operations += sum(
                    1 + len(_products(step.connective, cell)) for cell in cells[position]
                )
                check_nodes(operations)
            for cell in cells[position]:
                for other, other_cell in step.reads(cell):
                    cells[other][other_cell] = -1
                if isinstance(step, ChoiceStep):
                    operations += len(step.terms[cell].terms)
                    check_nodes(operations)
            for argument in step.arguments:
                times[argument] += times[position]
                last_use[argument] = last_use[argument] or position
            if isinstance(step, Leaf):
                degrees[step.domain] += times[position]
        builder = Builder(self.domains)
        for position, step in enumerate(self[: root + 1]):
            found = cells[position]
            for cell in found:
                found[cell] = step.emit(cell, builder, cells)
            for argument in step.arguments:
                if last_use[argument] == position:
                    cells[argument] = {}
        values = cells[root]
        if chosen:
            return builder.finish(values["11"], values["**"], degrees)
        # every literal takes any of its columns
        dimension = builder.product(
            builder.power(builder.count(domain, "**"), degree)
            for domain, degree in enumerate(degrees)
        )
        return builder.finish(values["11"], dimension, degrees)


@cache
def _products(row: Connective, cell: str) -> tuple[tuple[str, str], ...]:
    """Return the cells (of left, of right) whose products sum to ``cell`` of ``left ∘ right``."""
    x, z = _sides(row, cell[0]), _sides(row, cell[1])
    return tuple((i + j, k + m) for i, k in x for j, m in z)


@cache
def _sides(row: Connective, wanted: str) -> tuple[tuple[str, str], ...]:
    """Return pairs (left value, right value or star) that give a truth value in one row."""
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
