"""The reading ``free``: every occurrence of a variable is substituted independently.

No two leaves share anything.  For two rows x and z, F11 is the number of substitutions under which
the formula F is true in both, F10 in x only, F01 in z only, F00 in neither; a star sums over both
values: F1* = F11 + F10, and F** is the number of all substitutions.  These nine are the *cells*.

* ``not F`` has the cells of F with 1 and 0 exchanged: no arithmetic at all.
* ``F ∘ G``, if F and G share no variable, has (F ∘ G)uv = Σ Fij · Gkl over i ∘ k = u, j ∘ l = v.
* A choice takes i, j, l, m of the F11, F10, F01, F00 features of its feature space, so that i + j
  are true in x and i + l in z: C(F11, i)·C(F10, j)·C(F01, l)·C(F00, m).  Wherever one row's number
  is free the sums fold, by Vandermonde's identity, into a binomial of a marginal such as F0*.

No term is negative, so nothing cancels.  Polato & Aiolli (2021), doi:10.3390/e23081020, and Polato,
Lauriola & Aiolli (2018), doi:10.3390/e20060444, write the same kernels with subtractions.

A formula becomes a list of *steps*, each on earlier ones; going backwards finds the cells that are
needed of each, going forwards emits them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Any

from formulakern.errors import FormulaSizeError
from formulakern.program.program import Builder, Program, check_nodes
from formulakern.syntax.connectives import Connective
from formulakern.syntax.formula import Constant, Formula, Variable, fold
from formulakern.syntax.leaves import Choice

__all__ = ["ChoiceTerms", "ConstantStep", "Reference", "Step", "Steps", "lower", "opposite"]

#: A formula that becomes more steps is refused.
MAX_STEPS = 400_000
#: A choice that needs more terms than this for one count is refused.
MAX_TERMS = 20_000

#: Stands for what a choice chooses from, which is a step of its own.
_ANY = Variable("x")

#: The position of a step; of its negation, the complement ``~position``.
Reference = int
#: Returns the position in the program of a cell of an earlier step.
Value = Callable[[Reference, str], int]
#: Appends ``left ∘ right``.
Join = Callable[[Connective, Reference, Reference], Reference]
#: A product of binomials: (cells of the feature space, summed; how many features of them).
_Term = tuple[tuple[tuple[str, ...], int], ...]


def lower(formula: Formula, domains: dict[str | None, int]) -> Program:
    """Return the program of a formula in the reading ``free``; linear in its nodes."""
    steps = Steps(domains)

    def read(part: Formula) -> Reference:
        return fold(part, step)

    def step(node: Formula, arguments: list[Reference]) -> Reference:
        row = node.connective
        if row is None:
            return steps.leaf(node, read)
        return ~arguments[0] if row.arity == 1 else steps.chain(row, arguments, steps.binary)

    return steps.program(read(formula))


def opposite(cell: str) -> str:
    """Return the cell with 1 and 0 exchanged."""
    return cell.translate(_EXCHANGED)


_EXCHANGED = str.maketrans("10", "01")


class Step:
    """A formula made of earlier steps, its arguments, which share no variable."""

    __slots__ = ()

    arguments: tuple[Reference, ...] = ()

    def reads(self, cell: str) -> Iterable[tuple[Reference, str]]:  # noqa: ARG002
        """Return the arguments and their cells that one cell is computed from."""
        return ()

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Emit the arithmetic of one cell from the values of what it reads."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Leaf(Step):
    """A variable, ranging over the columns of one domain."""

    domain: int

    def emit(self, cell: str, builder: Builder, value: Value) -> int:  # noqa: ARG002
        """Return the count of columns."""
        return builder.count(self.domain, cell)


@dataclass(frozen=True, slots=True)
class ConstantStep(Step):
    """True or false, with one (empty) substitution."""

    value: bool

    def emit(self, cell: str, builder: Builder, value: Value) -> int:  # noqa: ARG002
        """Emit 1 or 0."""
        return builder.constant(int("01"[not self.value] not in cell))


@dataclass(frozen=True, slots=True)
class Binary(Step):
    """A connective with two arguments."""

    connective: Connective
    arguments: tuple[Reference, Reference]

    def reads(self, cell: str) -> Iterator[tuple[Reference, str]]:
        """Yield the cells in the products."""
        for product in _products(self.connective, cell):
            yield from zip(self.arguments, product, strict=True)

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Return the sum of the products."""
        left, right = self.arguments
        return builder.sum(
            builder.product((value(left, i), value(right, k)))
            for i, k in _products(self.connective, cell)
        )


@dataclass(frozen=True)
class ChoiceStep(Step):
    """d different features of an earlier step's feature space; no matter what the choice holds."""

    choice: Choice
    arguments: tuple[Reference]
    terms: dict[str, ChoiceTerms] = field(default_factory=dict, compare=False)

    def reads(self, cell: str) -> Iterator[tuple[Reference, str]]:
        """Return the cells in the binomials."""
        self.terms[cell] = ChoiceTerms(self.choice, cell)
        return ((self.arguments[0], read) for read in self.terms[cell].reads())

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Emit sums of products of binomials."""
        return self.terms[cell].emit(builder, lambda read: value(self.arguments[0], read))


class Steps(list[Step]):
    """The steps that a formula becomes, each on earlier ones; equal steps are one.

    Their numbers are equal, wherever they are in the formula.
    """

    def __init__(self, domains: dict[str | None, int]) -> None:
        super().__init__()
        self.domains = domains
        self._position: dict[Step, int] = {}

    def add(self, step: Step) -> Reference:
        """Append a step, unless there is an equal one; return its position."""
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

    def constant(self, reference: Reference) -> bool | None:
        """Return the value of a constant, or None for other steps."""
        step = self[max(reference, ~reference)]
        return step.value ^ (reference < 0) if isinstance(step, ConstantStep) else None

    def leaf(self, leaf: Formula, read: Callable[[Formula], Reference]) -> Reference:
        """Append a leaf; ``read`` appends the steps of what a choice chooses from."""
        if isinstance(leaf, Constant):
            return self.add(ConstantStep(leaf.value))
        if isinstance(leaf, Choice):
            return self.add(ChoiceStep(leaf.over(_ANY), (read(leaf.formula),)))
        assert isinstance(leaf, Variable)
        return self.add(Leaf(self.domains[leaf.domain]))

    def chain(self, row: Connective, parts: Iterable[Reference], join: Join) -> Reference:
        """Join steps by a connective, two in their order if it is not associative.

        Otherwise in any order: n equal parts by repeated squaring, in some 2·log₂(n) steps, and
        different ones in pairs, so that exact numbers on the way stay short.
        """
        if row.chain != "flat":
            left, right = parts
            return join(row, left, right)
        layer = []
        for part, times in sorted(Counter(parts).items()):
            power: Reference | None = None
            while times:
                if times % 2:
                    power = part if power is None else join(row, part, power)
                times //= 2
                part = join(row, part, part) if times else part
            assert power is not None
            layer.append(power)
        while len(layer) > 1:
            pairs = [join(row, *layer[i : i + 2]) for i in range(0, len(layer) - 1, 2)]
            layer = pairs + layer[len(pairs) * 2 :]
        return layer[0]

    def binary(self, row: Connective, left: Reference, right: Reference) -> Reference:
        """Append ``left ∘ right`` as it is."""
        return self.add(Binary(row, (left, right)))

    def fuse(self, row: Connective, left: Reference, right: Reference) -> Reference:
        """Append ``left ∘ right``, constants evaluated away.

        That is right if the kernel depends on the Boolean function alone.
        """
        for one, other, first in ((left, right, True), (right, left, False)):
            value = self.constant(one)
            if value is not None:
                when_true, when_false = (
                    row(value, bit) if first else row(bit, value) for bit in (True, False)
                )
                if when_true != when_false:
                    return other if when_true else ~other
                return self.add(ConstantStep(when_true))
        return self.binary(row, left, right)

    def program(self, root: Reference) -> Program:
        """Return the program of a step: its cell 11 is the kernel, its cell ** the dimension.

        Linear in the number of steps: at most nine cells are needed of each.  A program that would
        be too long is refused before any of it is emitted.
        """
        # of each step the cells that are needed; once they are emitted, their positions
        cells: list[dict[str, int]] = [{} for _ in self]
        last = max(root, ~root)
        kernel = "11" if root >= 0 else "00"
        chosen = any(isinstance(step, ChoiceStep) for step in self)
        cells[last] = dict.fromkeys((kernel, "**") if chosen else (kernel,), -1)
        times = [0] * len(self)  # how often each step is in the formula
        times[last] = 1
        last_use = [0] * len(self)
        degrees = [0] * len(self.domains)
        operations = 0
        for position in range(last, -1, -1):
            step = self[position]
            for cell in cells[position]:
                for other, read in step.reads(cell):
                    if other >= 0:
                        cells[other][read] = -1
                    else:
                        cells[~other][opposite(read)] = -1
                if isinstance(step, Binary):
                    operations += 1 + len(_products(step.connective, cell))
                elif isinstance(step, ChoiceStep):
                    operations += len(step.terms[cell].terms)
                check_nodes(operations)
            for argument in step.arguments:
                argument = max(argument, ~argument)
                times[argument] += times[position]
                last_use[argument] = last_use[argument] or position
            if isinstance(step, Leaf):
                degrees[step.domain] += times[position]
        builder = Builder(self.domains)

        def value(reference: Reference, cell: str) -> int:
            if reference >= 0:
                return cells[reference][cell]
            return cells[~reference][opposite(cell)]

        for position, step in enumerate(self[: last + 1]):
            found = cells[position]
            for cell in found:
                found[cell] = step.emit(cell, builder, value)
            for argument in step.arguments:
                argument = max(argument, ~argument)
                if last_use[argument] == position:
                    cells[argument] = {}
        # unless features are chosen, every literal takes any of its columns
        dimension = (
            cells[last].get("**")
            if chosen
            else builder.product(
                builder.power(builder.count(domain, "**"), degree)
                for domain, degree in enumerate(degrees)
            )
        )
        assert dimension is not None
        return builder.finish(cells[last][kernel], dimension, degrees)


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


# -- choices of d different features


@dataclass(frozen=True)
class ChoiceTerms:
    """One cell of a choice as a sum of products of binomials of cells of the feature space."""

    choice: Choice
    cell: str

    def reads(self) -> Iterable[str]:
        """Return the cells of the feature space that are needed, ** for the check of the degree."""
        read = chain.from_iterable(cells for term in self.terms for cells, _ in term)
        return dict.fromkeys(chain(["**"], read))

    def emit(self, builder: Builder, count: Callable[[str], int]) -> int:
        """Emit the arithmetic from the positions of the cells that are read."""
        builder.choose(count("**"), self.choice.degree)
        return builder.sum(
            builder.product(
                builder.binomial(builder.sum(map(count, cells)), lower) for cells, lower in term
            )
            for term in self.terms
        )

    @property
    def terms(self) -> tuple[_Term, ...]:
        """The products; more than ``MAX_TERMS`` of them are refused."""
        choice = self.choice
        terms = _terms(choice.degree, choice.least, choice.most, self.cell)
        if len(terms) > MAX_TERMS:
            raise FormulaSizeError(
                f"counting {choice.kind!r} with degree {choice.degree:,} needs more than "
                f"{MAX_TERMS:,} terms. Choose fewer features; all[d] that stands alone has no such "
                "limit."
            )
        return terms


@lru_cache(maxsize=32)
def _terms(degree: int, least: int, most: int, cell: str) -> tuple[_Term, ...]:
    """Return the terms of a cell, for ``least`` to ``most`` of ``degree``; at most one too many."""
    return tuple(islice(_each(degree, least, most, cell), MAX_TERMS + 1))


def _each(d: int, least: int, most: int, cell: str) -> Iterator[Any]:
    wanted = {
        "1": [range(least, most + 1)],
        "0": [part for part in (range(least), range(most + 1, d + 1)) if part],
        "*": [range(d + 1)],
    }
    if (least, most) == (0, d):  # always true
        cell = cell.replace("1", "*")
    x, z = wanted[cell[0]], wanted[cell[1]]
    if cell == "**":
        yield ((("**",), d),)
        return
    if "*" in cell:  # t of the features that are true in one row, and d − t others
        true = cell.replace("0", "1")
        for count in chain(*(z if cell[0] == "*" else x)):
            yield (((true,), count), ((opposite(true),), d - count))
        return
    if not x or not z:
        return
    free_x, free_z = _free_from(x, d), _free_from(z, d)
    for i in range(max(x[0][0] + z[0][0] - d, 0), d + 1):
        rest = d - i
        both = (("11",), i)
        if i >= free_x and i >= free_z:
            yield both, (("10", "0*"), rest)
        elif i >= free_x:
            for k in chain(*_beyond(z, i)):
                yield both, (("01",), k), (("*0",), rest - k)
        elif i >= free_z:
            for j in chain(*_beyond(x, i)):
                yield both, (("10",), j), (("0*",), rest - j)
        else:
            in_z = _beyond(z, i)
            for j in chain(*_beyond(x, i)):
                if not in_z or j + in_z[0][0] > rest:
                    break
                for k in chain(*in_z):
                    if j + k > rest:
                        break
                    yield both, (("10",), j), (("01",), k), (("00",), rest - j - k)


def _free_from(wanted: list[range], degree: int) -> int:
    """Return the least number from which on every number up to the degree is wanted."""
    return wanted[-1][0] if wanted[-1][-1] == degree else degree + 1


def _beyond(wanted: list[range], start: int) -> list[range]:
    """Return the numbers from ``start`` on, less ``start``."""
    beyond = (range(max(part[0] - start, 0), part[-1] + 1 - start) for part in wanted)
    return [part for part in beyond if part]
