"""Programs: arithmetic on joint counts, as a small graph that computes every number once.

A count is the number of columns of a domain (a group of columns) in a *cell*.  A cell is given by
the truth values of its columns in the rows x and z: ``11`` true in both, ``10`` only in x, ``01``
only in z, ``00`` in neither.  A star matches both values: ``1*`` counts the ones of x, ``**`` all
columns.

Values in exact integers (``int64`` if nothing can overflow, otherwise Python integers) are the
specification that all compiled code must match.  Counts of one row broadcast as rows and columns,
so that numbers that depend on one row are computed once per row.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, reduce
from itertools import compress
from math import comb, inf, lgamma, log, log2, prod
from operator import add, mul, or_
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.errors import FormulaSizeError, MagnitudeError
from formulakern.text import aligned

T = TypeVar("T")

#: The builder refuses larger programs.
MAX_NODES = 2_000_000

#: The nine cells, and the number of columns in each: of n columns, s are true in both rows, p in x
#: and q in z.  Listings, emitted code and evaluation all use these formulas.
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
    """Return the number of columns in a cell, by ``CELLS``, for numbers, arrays or symbols.

    >>> [cell_count(cell, 2, 3, 4, 10) for cell in CELLS]
    [2, 1, 2, 5, 3, 7, 4, 6, 10]
    """
    return _CELL_COUNTS[cell](s, p, q, n)


#: The number of data before the operands of a node, by kind.
_N_DATA = {"count": 3, "constant": 1, "sum": 0, "product": 0, "binomial": 1, "quotient": 1}


class Node(tuple[Any, ...]):
    """One number of a program: its kind, data, and the positions of its operands.

    * ``count, domain, cell, used``: max(count − used, 0), the columns that are not used yet
    * ``constant, value``: a non-negative integer
    * ``sum, *operands`` and ``product, *operands``
    * ``binomial, lower, operand``: C(operand, lower)
    * ``quotient, divisor, operand``: the exact quotient of the operand and an integer
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """The kind, which is also the name of an algebra's method."""
        return str(self[0])

    @property
    def data(self) -> tuple[Any, ...]:
        """The numbers and words before the operands."""
        return self[1 : 1 + _N_DATA[self[0]]]

    @property
    def operands(self) -> tuple[int, ...]:
        """Positions of earlier nodes."""
        return self[1 + _N_DATA[self[0]] :]


class Stage(IntEnum):
    """The rows that a number depends on, with one bit for each row."""

    TABLE = 0  # depends only on the numbers of columns
    ROW_X = 1
    ROW_Z = 2
    PAIR = 3


class Stages(NamedTuple):
    """The stage of every node, the nodes of pairs, and the earlier nodes that these read."""

    of: tuple[Stage, ...]
    table: tuple[int, ...]
    row_x: tuple[int, ...]
    row_z: tuple[int, ...]
    pair: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A kernel as arithmetic: K(x, z) = value of ``output`` divided by ``divisor``.

    Operands come before the nodes that use them, and equal nodes occur once.

    * ``dimension``: the node whose value is ``divisor`` times the dimension of the feature space,
      which depends only on the numbers of columns
    * ``domains``: the groups of columns; None is "all columns"
    * ``degrees``: for each domain, the number of its counts in every product; None as a whole if
      the kernel is not homogeneous (choices of features)
    * ``divisor``: the number of symmetries, 1 unless the reading is ``distinct``; division is exact
    * ``choices``: pairs of the position of the number of features, and how many are chosen
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
        """The largest number of values that the kernel's evaluation holds at a time."""
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
        """Return, for every node, the last node of ``order`` that uses it."""
        last_use = array("q", bytes(8 * len(self.nodes)))
        for user in order:
            for operand in self.nodes[user].operands:
                last_use[operand] = user
        return last_use

    @cached_property
    def stages(self) -> Stages:
        """The stages of all nodes; only nodes of pairs are computed for every pair of rows."""
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
    """Return the positions of all nodes that the outputs need, in order."""
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
    """Yield the position and the value of every node that the outputs need, in order.

    An ``algebra`` has a method for each kind of node, which receives the node's data and the values
    of its operands.  A value is dropped when no later node needs it.
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
    """Return the values of the outputs, by default of the kernel's output."""
    wanted = [program.output] if outputs is None else outputs
    found = dict.fromkeys(wanted)
    for position, value in fold(program, algebra, outputs):
        if position in found:
            found[position] = value
    return [found[position] for position in wanted]


def repeated(part: T, times: int, join: Callable[[T, T], T]) -> T:
    """Return ``times`` equal parts joined, in about 2·log₂(times) steps.

    >>> repeated(3, 5, lambda one, two: one * two)
    243
    """
    found: T | None = None
    while times:
        if times % 2:
            found = part if found is None else join(part, found)
        times //= 2
        part = join(part, part) if times else part
    assert found is not None
    return found


class Builder:
    """Collects the nodes of one program, sharing equal nodes and simplifying trivial arithmetic.

    ``0·x`` becomes 0, ``1·x`` and ``0 + x`` become x, constants fold, and a repeated operand of a
    sum becomes a product with a constant.  Every reading permits sharing a number, but not merging
    two occurrences of a variable.
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
        constants, factors = self._split_constants(operands)
        constant = prod(constants)
        if constant == 0:
            return self.constant(0)
        if constant != 1 or not factors:
            factors.append(self.constant(constant))
        return factors[0] if len(factors) == 1 else self._add("product", *sorted(factors))

    def sum(self, operands: Iterable[int]) -> int:
        """Return the position of the sum of nodes."""
        constants, others = self._split_constants(operands)
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
        if not exponent:
            return self.constant(1)
        return repeated(operand, exponent, lambda *two: self.product(two))

    def binomial(self, operand: int, lower: int) -> int:
        """Return the position of C(node, lower)."""
        node = self.nodes[operand]
        if lower == 0:
            return self.constant(1)
        if node.kind == "constant":
            return self.constant(comb(node[1], lower))
        return operand if lower == 1 else self._add("binomial", lower, operand)

    def quotient(self, operand: int, divisor: int) -> int:
        """Return the position of the exact quotient of a node and an integer."""
        node = self.nodes[operand]
        if node.kind == "constant":
            return self.constant(node[1] // divisor)
        return operand if divisor == 1 else self._add("quotient", divisor, operand)

    def choose(self, total: int, degree: int) -> None:
        """Record a choice of ``degree`` features from a node's value, which must be as large."""
        self._choices.setdefault((total, degree))

    def finish(
        self, output: int, dimension: int, degrees: Iterable[int] | None, divisor: int = 1
    ) -> Program:
        """Return the program with these outputs and the nodes that they need."""
        self._position.clear()  # no more nodes are added
        nodes = self.nodes
        kept = needed(nodes, [output, dimension, *(total for total, _ in self._choices)])
        moved = array("q", bytes(8 * len(nodes)))
        for new, old in enumerate(kept):  # in place, to save the memory of a second list
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

    def _split_constants(self, operands: Iterable[int]) -> tuple[list[int], list[int]]:
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
    """Raise FormulaSizeError for more than ``MAX_NODES`` operations."""
    if n >= MAX_NODES:
        raise FormulaSizeError(
            f"the formula needs a program of more than {MAX_NODES:,} operations. Split it into "
            "smaller formulas, or use fewer changes of connective; the length of a chain of one "
            "connective does not matter."
        )


# -- a program as text


def listing(program: Program, limit: int = 60) -> str:
    """Return the program as text: one numbered line for each number, with its stage.

    ``s`` is the number of columns true in both rows, ``p`` and ``q`` those true in x and in z,
    ``n`` all columns.  With several domains, the counts carry the domain's name.  Of more than
    ``limit`` lines, only the first and last are shown.
    """
    lines, stage = _Lines(program.domains), program.stages.of
    known = ("once", "per row x", "per row z", "per pair")
    rows = []
    for i in program.kernel_nodes:
        node = program.nodes[i]
        operands = [f"r{operand}" for operand in node.operands]
        what, meaning = getattr(lines, node.kind)(*node.data, *operands)
        rows.append([f"r{i}", f"= {what}", meaning, known[stage[i]]])
    if len(rows) > limit:
        left_out = len(rows) - limit
        rows[limit // 2 : -limit // 2] = [["…", f"= ({left_out:,} more)", "", ""]]
    text = [line.replace("  = ", " = ", 1).rstrip() for line in aligned(rows, "<<<<")]
    divided = f" / {program.divisor}" if program.divisor != 1 else ""
    return "\n".join([*text, f"K = r{program.output}{divided}"])


@dataclass(frozen=True)
class _Lines:
    """The texts of each node's arithmetic and meaning; operands are named by position."""

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


# -- values: exact integers, float64, extended floats, and bounds

Array = npt.NDArray[Any]
#: Arrays of counts ⟨x,z⟩, ⟨x,x⟩ and ⟨z,z⟩ for every domain.
Triples = Sequence[Sequence[Array]]

#: Exact integers with more bits are not computed.
MAX_BITS = 8_000_000
#: The largest finite float64, as an integer.
FLOAT64_MAX = (2**53 - 1) * 2 ** (1023 - 52)
#: The value of all larger bounds, which are only compared with the range of a data type.
BEYOND = 1 << 4096
#: Arrays are evaluated in parts if all values held at a time need more bytes.
MAX_BYTES = 1 << 28


def as_float(value: int) -> float:
    """Return a non-negative integer as float64, infinite above its range."""
    return float(value) if value <= FLOAT64_MAX else inf


def n_choices(n: int, lower: int, limit: int | None = None) -> int:
    """Return min(C(n, lower), limit); without a limit, raise MagnitudeError above MAX_BITS bits."""
    smaller = min(lower, n - lower)
    if limit is not None:  # C(n, k) is at least (n / k)^k
        least = smaller * (n.bit_length() - 1 - smaller.bit_length())
        return limit if smaller > 0 and least > limit.bit_length() else min(comb(n, lower), limit)
    if smaller > 0 and smaller * (n.bit_length() - smaller.bit_length() + 1) > MAX_BITS:
        raise MagnitudeError(
            f"the number of choices of {lower:,} out of a number of {n.bit_length():,} bits is too "
            "large to compute. Choose fewer features, or nest fewer choices."
        )
    return comb(n, lower)


# -- arrays of counts


def run(
    program: Program,
    counts: Triples,
    sizes: Sequence[Any],
    dtype: npt.DTypeLike,
    outputs: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    limit: int | None = None,
    number_bytes: float = 8.0,
) -> list[Array]:
    """Evaluate a program on arrays of counts, which broadcast.

    Return the outputs (by default the kernel, not divided) in broadcast shape or smaller.  Every
    count is multiplied by its domain's weight.  Python integers (``object``) above ``limit`` become
    ``limit``; one number takes about ``number_bytes``.
    """
    shape = np.broadcast_shapes(*(array.shape for arrays in counts for array in arrays))
    together = max(1, int(MAX_BYTES / (number_bytes * program.width)))
    if prod(shape) <= together:
        values = values_of(program, _Arrays(counts, sizes, dtype, weights, limit), outputs)
        return [np.asarray(value, dtype=dtype) for value in values]
    flat = [[np.broadcast_to(a, shape).reshape(-1) for a in arrays] for arrays in counts]
    parts = []
    for start in range(0, prod(shape), together):
        some = slice(start, min(start + together, prod(shape)))
        here = tuple([array[some] for array in arrays] for arrays in flat)
        found = run(program, here, sizes, dtype, outputs, weights, limit, number_bytes)
        parts.append([np.broadcast_to(value, some.stop - some.start) for value in found])
    return [np.concatenate(values).reshape(shape) for values in zip(*parts, strict=True)]


@dataclass(frozen=True)
class _Counts:
    """Values that Python's operators add and multiply, at these counts."""

    counts: Triples
    sizes: Sequence[Any]

    def cell(self, domain: int, cell: str, used: int) -> Any:
        s, p, q = (arrays[domain] for arrays in self.counts)
        value = cell_count(cell, s, p, q, self.sizes[domain])
        return np.maximum(value - used, 0) if used else value

    def sum(self, *operands: Any) -> Any:
        return reduce(add, operands)

    def product(self, *operands: Any) -> Any:
        return reduce(mul, operands)


@dataclass(frozen=True)
class _Arrays(_Counts):
    """Arrays of one dtype.

    Operations on zero-dimensional object arrays return bare integers, for which NumPy would choose
    a machine type.  Therefore every conversion to an array names the dtype.
    """

    dtype: npt.DTypeLike
    weights: Sequence[float] | None
    limit: int | None

    def count(self, domain: int, cell: str, used: int) -> Array:
        value = np.asarray(self.cell(domain, cell, used)).astype(self.dtype)
        return value if self.weights is None else value * self.weights[domain]

    def constant(self, value: int) -> Array:
        return np.array(as_float(value) if self._floating else value, dtype=self.dtype)

    def sum(self, *operands: Array) -> Array:
        return self._limited(super().sum(*operands))

    def product(self, *operands: Array) -> Array:
        if self.limit is None:
            return reduce(mul, operands)
        return reduce(lambda one, two: self._limited(one * two), operands)

    def binomial(self, lower: int, operand: Array) -> Array:
        """Return C(operand, lower), exact in integers, and in float64 up to 2⁵³."""
        if np.dtype(self.dtype) == object:
            exact = np.frompyfunc(lambda n: n_choices(n, lower, self.limit), 1, 1)
            return np.asarray(exact(operand), dtype=object)
        result = operand
        for i in range(1, lower):  # if operand < lower, one factor is 0, and the result 0
            result = result * (operand - i)
            result = result / (i + 1) if self._floating else result // (i + 1)
        return result

    def quotient(self, divisor: int, operand: Array) -> Array:
        """Return the quotient, rounded to an integer if float64 holds that integer."""
        if not self._floating:
            return np.asarray(operand // divisor, dtype=self.dtype)
        value = operand / as_float(divisor)  # a finite operand over an infinite divisor gives 0
        return np.where(np.abs(value) < 2.0**50, np.rint(value), value)

    def _limited(self, values: Array) -> Array:
        if self.limit is None:
            return values
        limit = np.array(self.limit, dtype=object)
        return np.asarray(np.minimum(values, limit), dtype=object)

    @property
    def _floating(self) -> bool:
        return np.dtype(self.dtype).kind == "f"


# -- floating-point numbers with exponents of any size

#: If exponents differ by more, the smaller number is negligible.
MAX_EXPONENT_DIFFERENCE = 2_000.0
#: The exponent of 0 when a finite one is needed.
ZERO_EXPONENT = -np.finfo(np.float64).max
#: Factors of a binomial that are multiplied in float64: 16 numbers below 2⁶⁰ do not overflow.
BLOCK_FACTORS = 16
#: The product is kept after every STRIDE factors, for binomials of the same number with more
#: factors.  All are dropped above MAX_OPERANDS operands or MAX_NUMBERS numbers.
STRIDE, MAX_OPERANDS, MAX_NUMBERS = 64, 64, 1 << 22


@dataclass(frozen=True, eq=False)
class Extended:
    """The numbers m · 2ᵉ: m is float64, 0 or from 0.5 to 1, e a whole float64 (−inf for 0).

    Counts of long formulas exceed float64 and their probabilities underflow it, although their
    quotients may be in range.  Non-negative numbers do not cancel: the relative error is at most
    about 2⁻⁵² for every literal and every operation.
    """

    m: FloatArray
    e: FloatArray

    @classmethod
    def of(cls, values: npt.ArrayLike, shift: FloatArray | float = 0.0) -> Extended:
        """Return values · 2^shift for finite, non-negative values."""
        m, e = np.frexp(np.asarray(values, dtype=np.float64))
        return cls(m, np.where(m == 0, -np.inf, e + shift))

    @classmethod
    def of_integer(cls, value: int) -> Extended:
        """Return an integer of any size, rounded to 53 bits."""
        shift = max(value.bit_length() - 64, 0)
        return cls.of(float(value >> shift), float(shift))

    def __mul__(self, other: Extended) -> Extended:
        return Extended.of(self.m * other.m, self.e + other.e)

    def __truediv__(self, other: Extended) -> Extended:
        """Divide by nonzero numbers."""
        return Extended.of(self.m / other.m, self.e - other.e)

    def __add__(self, other: Extended) -> Extended:
        top = np.maximum(np.maximum(self.e, other.e), ZERO_EXPONENT)
        return Extended.of(self._below(top) + other._below(top), top)

    def to_float(self) -> FloatArray:
        """Return float64 numbers: infinite above its range, and 0 below it."""
        with np.errstate(over="ignore", under="ignore"):
            return Extended(self.m, np.minimum(self.e, MAX_EXPONENT_DIFFERENCE))._below(0.0)

    def _below(self, top: FloatArray | float) -> FloatArray:
        """Return the numbers divided by 2^top, a power that is not much below any of them."""
        shift = np.maximum(self.e - top, -MAX_EXPONENT_DIFFERENCE)
        return np.asarray(np.ldexp(self.m, shift.astype(np.int32)))


def run_extended(
    program: Program,
    counts: Triples,
    sizes: Sequence[int],
    output: int | None = None,
    shares: bool = False,
) -> Extended:
    """Evaluate one output, by default the kernel, on counts or on shares of the columns."""
    outputs = None if output is None else [output]
    found: Extended = values_of(program, _Numbers(counts, sizes, shares), outputs)[0]
    return found


@dataclass(frozen=True)
class _Numbers(_Counts):
    """Extended floats."""

    shares: bool
    #: n and some of its binomials, by the id of n.
    binomials: dict[int, tuple[Extended, list[Extended]]] = field(default_factory=dict)

    def count(self, domain: int, cell: str, used: int) -> Extended:
        value = self.cell(domain, cell, used)
        return Extended.of(value / max(self.sizes[domain], 1) if self.shares else value)

    def constant(self, value: int) -> Extended:
        return Extended.of_integer(value)

    def binomial(self, lower: int, operand: Extended) -> Extended:
        """Return the product of the factors (n − i) / (i + 1), continued from a stored product."""
        kept = sum(n.m.size * len(begun) for n, begun in self.binomials.values())
        if len(self.binomials) > MAX_OPERANDS or kept > MAX_NUMBERS:
            self.binomials.clear()
        # C(n, i) for i = 0, STRIDE, 2·STRIDE, …, as far as computed
        one = Extended.of(np.ones(()))
        begun = self.binomials.setdefault(id(operand), (operand, [one]))[1]
        start = min(lower // STRIDE, len(begun) - 1)
        result = begun[start]
        for i in range(start * STRIDE, lower, BLOCK_FACTORS):
            after = min(i + BLOCK_FACTORS, lower)
            result = result * _factors(operand, i, after)
            if after % STRIDE == 0:
                begun.append(result)
        return result

    def quotient(self, divisor: int, operand: Extended) -> Extended:
        return operand / Extended.of_integer(divisor)


def _factors(n: Extended, start: int, stop: int) -> Extended:
    """Return the product of (n − i) / (i + 1); i is negligible if n is above 2⁶⁰."""
    i = np.arange(start, stop, dtype=np.float64)
    whole = np.minimum(n.to_float(), 2.0**1000)
    small = whole < 2.0**60
    ratios = np.maximum(np.where(small, whole, 0.0)[..., None] - i, 0.0) / (i + 1)
    here = Extended.of(np.prod(ratios, axis=-1))
    if small.all():
        return here
    there = Extended.of(n.m ** len(i) / np.prod(i + 1), n.e * len(i))
    return Extended(np.where(small, here.m, there.m), np.where(small, here.e, there.e))


# -- sizes of the numbers


def dimension(program: Program, sizes: Sequence[int]) -> int:
    """Return the dimension of the feature space; raise MagnitudeError above ``MAX_BITS`` bits."""
    length = bits(program, sizes, program.dimension)
    if length > MAX_BITS:
        raise MagnitudeError(
            f"the feature space of this formula has about 2^{length:.4g} dimensions, too large to "
            f"compute exactly; expected at most 2^{MAX_BITS:,}. Use a formula with fewer literals; "
            "values at scale='probability' and cosines do not need this number."
        )
    found: int = values_of(program, _Largest(sizes, sizes, sizes), [program.dimension])[0]
    return found // program.divisor


def choices(program: Program, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return, for each choice, the number of features (at most ``BEYOND``) and of those chosen."""
    largest = _Largest(sizes, sizes, sizes, BEYOND)
    totals = values_of(program, largest, [position for position, _ in program.choices])
    return [(total, degree) for total, (_, degree) in zip(totals, program.choices, strict=True)]


def bits(program: Program, sizes: Sequence[int], output: int | None = None) -> float:
    """Return the approximate largest bit length on the way to an output, by default the kernel."""
    wanted = [program.output if output is None else output]
    return float(max(length for _, length in fold(program, _Bits(sizes), wanted)))


def upper_bound(
    program: Program, sizes: Sequence[int], most_x: Sequence[int], most_z: Sequence[int]
) -> int:
    """Return a bound on all numbers on the way to the kernel of any pair of rows.

    ``most_x`` and ``most_z`` are the largest numbers of ones in a row, for every domain.  On
    non-negative numbers arithmetic is monotone: the bound is the value at the largest counts.
    A factor of 0 counts as 1, because the factors before it may have been multiplied already.
    Bounds above ``BEYOND`` are returned as ``BEYOND``.
    """
    algebra = _OnTheWay(sizes, most_x, most_z, BEYOND)
    return int(max(value for _, value in fold(program, algebra)))


@dataclass(frozen=True)
class _Largest:
    """Integers at the largest possible counts, capped at a limit."""

    sizes: Sequence[int]
    most_x: Sequence[int]
    most_z: Sequence[int]
    limit: int | None = None

    def count(self, domain: int, cell: str, used: int) -> int:
        x, z = (
            most[domain] if bit == "1" else self.sizes[domain]
            for bit, most in zip(cell, (self.most_x, self.most_z), strict=True)
        )
        return max(min(x, z) - used, 0)

    def constant(self, value: int) -> int:
        return value

    def sum(self, *operands: int) -> int:
        return sum(operands) if self.limit is None else min(sum(operands), self.limit)

    def product(self, *operands: int) -> int:
        if self.limit is None:
            return prod(operands)
        limit = self.limit
        return reduce(lambda one, two: min(one * two, limit), operands)

    def binomial(self, lower: int, operand: int) -> int:
        return n_choices(operand, lower, self.limit)

    def quotient(self, divisor: int, operand: int) -> int:
        return operand if operand == self.limit else -(-operand // divisor)


class _OnTheWay(_Largest):
    """The largest partial result of every node."""

    def product(self, *operands: int) -> int:
        return super().product(*(max(factor, 1) for factor in operands))

    def binomial(self, lower: int, operand: int) -> int:
        lower = min(lower, operand // 2)  # the largest number, before its last division
        return max(lower, 1) * super().binomial(lower, operand)


@dataclass(frozen=True)
class _Bits:
    """The bit lengths of integers as floats, at least 1 and at most ``MAX_LENGTH``."""

    sizes: Sequence[int]
    MAX_LENGTH = 1e100

    def count(self, domain: int, cell: str, used: int) -> float:  # noqa: ARG002
        return log2(max(self.sizes[domain], 2))

    def constant(self, value: int) -> float:
        return float(max(value.bit_length(), 1))

    def sum(self, *operands: float) -> float:
        return max(operands) + log2(len(operands))

    def product(self, *operands: float) -> float:
        return min(sum(operands), self.MAX_LENGTH)

    def binomial(self, lower: int, operand: float) -> float:
        whole = 2.0**operand if operand < 60 else self.MAX_LENGTH  # C(n, k) ≤ 2ⁿ
        return min(lower * operand - lgamma(lower + 1) / log(2), whole, self.MAX_LENGTH)

    def quotient(self, divisor: int, operand: float) -> float:  # noqa: ARG002
        return operand
