"""Programs: arithmetic on joint counts, a small graph with every number computed once.

A count is the number of columns of a domain (a group of columns) in a *cell*.  A cell is written by
the truth values of its columns in the rows x and z: ``11`` true in both, ``10`` only in x, ``01``
only in z, ``00`` in neither.  A star stands for both values: ``1*`` counts the ones of x, ``**``
all columns.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, reduce
from itertools import compress
from math import comb, prod
from operator import or_
from typing import Any, NamedTuple

from formulakern.errors import FormulaSizeError

__all__ = [
    "CELLS",
    "Builder",
    "Node",
    "Program",
    "Stage",
    "Stages",
    "cell_count",
    "check_nodes",
    "fold",
    "listing",
    "needed",
    "values_of",
]

#: A program with more nodes is refused while it is being built.
MAX_NODES = 2_000_000

#: The nine cells, joint counts first, and how many of n columns are in each, where s of them are
#: true in both rows, p in x and q in z: the one definition, printed, emitted and evaluated.
CELLS = {
    "11": "s",
    "10": "p - s",
    "01": "q - s",
    "00": "(n - p) - (q - s)",
    "1*": "p",
    "0*": "n - p",
    "*1": "q",
    "*0": "n - q",
    "**": "n",
}
_CELL_COUNTS = {cell: eval(f"lambda s, p, q, n: {text}") for cell, text in CELLS.items()}


def cell_count(cell: str, s: Any, p: Any, q: Any, n: Any) -> Any:
    """Return how many of n columns are in a cell: numbers, arrays or symbols, by ``CELLS``.

    >>> [cell_count(cell, 2, 3, 4, 10) for cell in CELLS]
    [2, 1, 2, 5, 3, 7, 4, 6, 10]
    """
    return _CELL_COUNTS[cell](s, p, q, n)


#: How many data of a node precede its operands, by kind.
_N_DATA = {"count": 3, "constant": 1, "sum": 0, "product": 0, "binomial": 1, "quotient": 1}


class Node(tuple[Any, ...]):
    """One number of a program: its kind, data, and the positions of its operands.

    * ``count, domain, cell, used``: max(count − used, 0), columns that are not used up yet
    * ``constant, value``: a non-negative integer
    * ``sum, *operands`` and ``product, *operands``
    * ``binomial, lower, operand``: C(operand, lower)
    * ``quotient, divisor, operand``: the operand divided by an integer that divides it
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """The kind: the name of the method that an algebra has for it."""
        return str(self[0])

    @property
    def data(self) -> tuple[Any, ...]:
        """The numbers and words that are not operands."""
        return self[1 : 1 + _N_DATA[self[0]]]

    @property
    def operands(self) -> tuple[int, ...]:
        """Positions of earlier nodes."""
        return self[1 + _N_DATA[self[0]] :]


class Stage(IntEnum):
    """When a number is known; a bit for each row that it depends on."""

    TABLE = 0  # depends on the numbers of columns alone
    ROW_X = 1
    ROW_Z = 2
    PAIR = 3


class Stages(NamedTuple):
    """The stage of every node, the nodes of pairs, and what these read of the earlier stages."""

    of: tuple[Stage, ...]
    table: tuple[int, ...]
    row_x: tuple[int, ...]
    row_z: tuple[int, ...]
    pair: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A kernel as arithmetic: K(x, z) = value of ``output`` divided by ``divisor``.

    Parameters
    ----------
    nodes : tuple of Node
        Operands come before what uses them; equal nodes occur once.
    output, dimension : int
        Positions of the nodes whose values are ``divisor`` times the kernel, and ``divisor`` times
        the dimension of the feature space, which depends on the numbers of columns alone.
    domains : tuple of str or None
        Names of the groups of columns; None is "all columns".
    degrees : tuple of int or None
        For each domain the number of its counts in every product, if the kernel is homogeneous;
        None if it is not (choices of features).
    divisor : int
        Number of symmetries counted (1 unless the reading is ``distinct``); divides exactly.
    choices : tuple of (int, int)
        Choices of features: the position of the number of features to choose from, and how many
        are chosen.
    """

    nodes: tuple[Node, ...]
    output: int
    dimension: int
    domains: tuple[str | None, ...]
    degrees: tuple[int, ...] | None
    divisor: int = 1
    choices: tuple[tuple[int, int], ...] = ()

    @cached_property
    def kernel_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that the kernel needs, in order."""
        return needed(self.nodes, [self.output])

    @cached_property
    def width(self) -> int:
        """The largest number of values that are held at a time on the way to the kernel."""
        held = most = 0
        for _, _, dead in self.steps():
            held += 1
            most = max(most, held)
            held -= len(dead)
        return most

    def steps(
        self, outputs: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Node, Collection[int]]]:
        """Yield the nodes that outputs need, in order: position, node, operands not used later."""
        order = self.kernel_nodes if outputs is None else needed(self.nodes, outputs)
        last_use = self._last_uses if outputs is None else self._uses(order)
        for position in order:
            node = self.nodes[position]
            yield position, node, {i for i in node.operands if last_use[i] == position}

    @cached_property
    def _last_uses(self) -> array[int]:
        return self._uses(self.kernel_nodes)

    def _uses(self, order: Sequence[int]) -> array[int]:
        """Return for every node the last one of ``order`` that uses it."""
        last_use = array("q", bytes(8 * len(self.nodes)))
        for user in order:
            for operand in self.nodes[user].operands:
                last_use[operand] = user
        return last_use

    @cached_property
    def stages(self) -> Stages:
        """When each number is known; only those of pairs are computed for every pair of rows."""
        of = bytearray()
        for node in self.nodes:
            if node.kind == "count":
                of.append((node[2][0] != "*") * Stage.ROW_X + (node[2][1] != "*") * Stage.ROW_Z)
            else:
                of.append(reduce(or_, map(of.__getitem__, node.operands), 0))
        pair = tuple(position for position in self.kernel_nodes if of[position] == Stage.PAIR)
        read = bytearray(len(of))
        read[self.output] = True
        for position in pair:
            for operand in self.nodes[position].operands:
                read[operand] = True
        table, row_x, row_z = (
            tuple(i for i in compress(range(len(of)), read) if of[i] == stage)
            for stage in (Stage.TABLE, Stage.ROW_X, Stage.ROW_Z)
        )
        every = tuple(Stage)
        return Stages(tuple(every[stage] for stage in of), table, row_x, row_z, pair)


def needed(nodes: Sequence[Node], outputs: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the nodes that the nodes at these positions need, in order."""
    last = max(outputs, default=-1)
    found = bytearray(last + 1)
    for position in outputs:
        found[position] = True
    for position in range(last, -1, -1):
        if found[position]:
            node = nodes[position]
            for operand in node[1 + _N_DATA[node[0]] :]:
                found[operand] = True
    return tuple(compress(range(last + 1), found))


def fold(
    program: Program, algebra: Any, outputs: Sequence[int] | None = None
) -> Iterator[tuple[int, Any]]:
    """Yield the position and the value of every node that outputs need, in order.

    Numbers, arrays and symbols are computed by this walk.  An algebra has a method for each kind of
    node, called with the data of the node and the values of its operands.  A value is dropped as
    soon as no later node needs it.

    >>> builder = Builder([None])
    >>> both = builder.count(0, "11")
    >>> square = builder.product([both, both])
    >>> class Text:
    ...     def count(self, domain, cell, used):
    ...         return "s"
    ...     def product(self, *operands):
    ...         return "·".join(operands)
    >>> dict(fold(builder.finish(square, square, [2]), Text()))
    {0: 's', 1: 's·s'}
    """
    values: dict[int, Any] = {}
    value_of = values.__getitem__
    method: dict[str, Any] = {kind: getattr(algebra, kind, None) for kind in _N_DATA}
    for position, node, dead in program.steps(outputs):
        kind = node[0]
        first = 1 + _N_DATA[kind]
        values[position] = method[kind](*node[1:first], *map(value_of, node[first:]))
        for operand in dead:
            del values[operand]
        yield position, values[position]


def values_of(program: Program, algebra: Any, outputs: Sequence[int] | None = None) -> list[Any]:
    """Return the values of outputs, by default of the kernel's own."""
    wanted = [program.output] if outputs is None else outputs
    found = dict.fromkeys(wanted)
    for position, value in fold(program, algebra, outputs):
        if position in found:
            found[position] = value
    return [found[position] for position in wanted]


class Builder:
    """Collects the nodes of one program; equal nodes are shared, trivial arithmetic never enters.

    ``0·x`` is 0, ``1·x`` and ``0 + x`` are x, constants fold, a repeated operand of a sum becomes a
    product with a constant.  Sharing a number is sound in every reading; merging two occurrences of
    a variable is not.

    Parameters
    ----------
    domains : iterable of str or None
        The groups of columns that counts may refer to, by position.
    """

    def __init__(self, domains: Iterable[str | None]) -> None:
        self.domains = tuple(domains)
        self.nodes: list[Node] = []
        self._position: dict[Node, int] = {}
        self._choices: dict[tuple[int, int], None] = {}

    def count(self, domain: int, cell: str, used: int = 0) -> int:
        """Return the position of ``max(count − used, 0)``."""
        return self._add("count", domain, cell, used)

    def constant(self, value: int) -> int:
        """Return the position of an integer."""
        return self._add("constant", value)

    def product(self, operands: Iterable[int]) -> int:
        """Return the position of the product of nodes."""
        constants, factors = self._parted(operands)
        constant = prod(constants)
        if constant == 0:
            return self.constant(0)
        if constant != 1 or not factors:
            factors.append(self.constant(constant))
        return factors[0] if len(factors) == 1 else self._add("product", *sorted(factors))

    def sum(self, operands: Iterable[int]) -> int:
        """Return the position of the sum of nodes."""
        constants, others = self._parted(operands)
        terms = [
            operand if repeats == 1 else self.product((operand, self.constant(repeats)))
            for operand, repeats in Counter(others).items()
        ]
        total = sum(constants)
        if total or not terms:
            terms.append(self.constant(total))
        return terms[0] if len(terms) == 1 else self._add("sum", *sorted(terms))

    def power(self, operand: int, exponent: int) -> int:
        """Return the position of node^exponent, by repeated squaring."""
        factors = []
        while exponent:
            if exponent % 2:
                factors.append(operand)
            exponent //= 2
            if exponent:
                operand = self.product((operand, operand))
        return self.product(factors)

    def binomial(self, operand: int, lower: int) -> int:
        """Return the position of C(node, lower)."""
        node = self.nodes[operand]
        if lower == 0:
            return self.constant(1)
        if node.kind == "constant":
            return self.constant(comb(node[1], lower))
        return operand if lower == 1 else self._add("binomial", lower, operand)

    def quotient(self, operand: int, divisor: int) -> int:
        """Return the position of a node divided by an integer that divides it."""
        node = self.nodes[operand]
        if node.kind == "constant":
            return self.constant(node[1] // divisor)
        return operand if divisor == 1 else self._add("quotient", divisor, operand)

    def choose(self, total: int, degree: int) -> None:
        """Note that ``degree`` of the node's value are chosen, so that it must be as large."""
        self._choices.setdefault((total, degree))

    def finish(
        self, output: int, dimension: int, degrees: Iterable[int] | None, divisor: int = 1
    ) -> Program:
        """Return the program with these outputs; nodes that neither needs are dropped.

        If features were chosen there are no degrees.
        """
        self._position.clear()  # nothing is added any more
        nodes = self.nodes
        kept = needed(nodes, [output, dimension, *(total for total, _ in self._choices)])
        moved = array("q", bytes(8 * len(nodes)))
        for new, old in enumerate(kept):  # in place: a second list would take as much again
            moved[old] = new
            node = nodes[old]
            first = 1 + _N_DATA[node[0]]
            operands = tuple(map(moved.__getitem__, node[first:]))
            nodes[new] = node if operands == node[first:] else Node((*node[:first], *operands))
        del nodes[len(kept) :]
        return Program(
            tuple(nodes),
            moved[output],
            moved[dimension],
            self.domains,
            None if degrees is None or self._choices else tuple(degrees),
            divisor,
            tuple((moved[total], degree) for total, degree in self._choices),
        )

    def _parted(self, operands: Iterable[int]) -> tuple[list[int], list[int]]:
        """Return the values of the constants, and the positions of the other operands."""
        constants: list[int] = []
        others: list[int] = []
        for operand in operands:
            node = self.nodes[operand]
            if node[0] == "constant":
                constants.append(node[1])
            else:
                others.append(operand)
        return constants, others

    def _add(self, *node: Any) -> int:
        made = Node(node)
        position = self._position.setdefault(made, len(self.nodes))
        if position == len(self.nodes):
            check_nodes(position)
            self.nodes.append(made)
        return position


def check_nodes(n: int) -> None:
    """Refuse programs of more than ``MAX_NODES`` operations."""
    if n >= MAX_NODES:
        raise FormulaSizeError(
            f"the formula needs a program of more than {MAX_NODES:,} operations. Split it into "
            "smaller formulas, or write it with fewer changes of connective: the length of a "
            "chain of one connective does not matter."
        )


# -- a program as text


def listing(program: Program, limit: int = 60) -> str:
    """Return the program as text: a numbered line for each number, with its stage.

    ``s`` is the number of columns true in both rows, ``p`` and ``q`` those true in x and in z,
    ``n`` all columns.  With several domains the counts carry the domain's name.  Programs of more
    than ``limit`` lines show their first and last ones.
    """
    lines, stage = _Lines(program.domains), program.stages.of
    known = ("once", "per row x", "per row z", "per pair")
    rows = []
    for i in program.kernel_nodes:
        node = program.nodes[i]
        operands = [f"r{operand}" for operand in node.operands]
        what, meaning = getattr(lines, node.kind)(*node.data, *operands)
        rows.append((f"r{i}", what, meaning, known[stage[i]]))
    if len(rows) > limit:
        left_out = len(rows) - limit
        rows = [*rows[: limit // 2], ("…", f"({left_out:,} more)", "", ""), *rows[-limit // 2 :]]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    text = [
        f"{name:<{widths[0]}} = {what:<{widths[1]}}  {meaning:<{widths[2]}}  {when}".rstrip()
        for name, what, meaning, when in rows
    ]
    divided = f" / {program.divisor}" if program.divisor != 1 else ""
    return "\n".join([*text, f"K = r{program.output}{divided}"])


@dataclass(frozen=True)
class _Lines:
    """The arithmetic and the meaning of each node; operands are named by their positions."""

    domains: tuple[str | None, ...]

    def count(self, domain: int, cell: str, used: int) -> tuple[str, str]:
        name = f"n{cell}"
        if len(self.domains) > 1:
            name += f"[{self.domains[domain] or 'all columns'}]"
        text = CELLS[cell]
        if used:
            return f"{name} - {used}", f"({text} - {used}, not below 0)"
        return name, f"({text})" if text != "s" else "(s, true in both)"

    def constant(self, value: int) -> tuple[str, str]:
        return str(value), ""

    def sum(self, *operands: str, sign: str = " + ") -> tuple[str, str]:
        shown = [*operands[:6], "…", *operands[-5:]] if len(operands) > 12 else operands
        return sign.join(shown), ""

    def product(self, *operands: str) -> tuple[str, str]:
        return self.sum(*operands, sign=" * ")

    def binomial(self, lower: int, operand: str) -> tuple[str, str]:
        return f"C({operand}, {lower})", f"(choices of {lower:,})"

    def quotient(self, divisor: int, operand: str) -> tuple[str, str]:
        return f"{operand} / {divisor}", "(symmetries)"
