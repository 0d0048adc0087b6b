"""Program → the values on two tables: exact, tabulated or compiled, and which of these pays.

Exact integers are the specification that every backend must equal, for whole tables or for chosen
counts: int64 if that suffices, else Python's own.  Every operation is a sum or product of
non-negative numbers, so a float64 result is accurate unless a number left its range on the way: a
count that overflowed, or a probability so small that a factor may have been flushed to zero.  The
guard computes those entries, and only those, again.

A kernel with few different values is tabulated: one-hot data has a single p, and any formula is
then one table of p + 1 numbers.  No code is compiled for it, and for few pairs of rows none at all:
NumPy counts and looks up.

Compiled formulas are Python source, the only code that is written as text.  It consists of
positions, integers and a few fixed words.  So nothing of the user's text reaches it, and equal
programs give equal source.  It imports nothing: beside Python's own functions it uses ``NAMES``.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import inf, log2, prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.block_writers import CountWriter
from formulakern.backends.lookup import Layout, count_entries, lay_out, row_classes
from formulakern.backends.loops import choose, evaluate, whole
from formulakern.backends.tables import BlockWriter, PairedTables
from formulakern.checks import check_choice
from formulakern.compilation import CompiledFunction, compiled_text
from formulakern.errors import FormulaSizeError, MagnitudeError, ParameterError
from formulakern.program import (
    BEYOND,
    CELLS,
    FLOAT64_MAX,
    Extended,
    Program,
    Triples,
    as_float,
    bits,
    dimension,
    run,
    run_extended,
    upper_bound,
)

Scale = Literal["count", "probability"]

#: Values are computed from exact integers where these have at most so many bits.
MAX_EXACT_BITS = 16_384
#: Above this a count may have overflowed on the way; its inverse for probabilities.
SAFE = 10**290
#: Exact re-evaluation of more (operations × words per number) than this is refused.
MAX_EXACT_WORK = 2_000_000_000
#: What an operation with exponents of any size costs, in operations on words.
EXTENDED_WORDS = 100
#: Tables with more entries in all are not built, nor those that take more operations; longer ones
#: than the last are built in float64 and not in Python integers.
MAX_ENTRIES, MAX_TABULATED, MAX_EXACT_OPERATIONS = 3 << 21, 200_000_000_000, 4_000_000
#: Programs with more operations per pair would take the compiler minutes.
MAX_COMPILED = 3_000
#: Nanoseconds to lay out tables however few entries they have, to look one up, to compile a formula
#: or to import numba, and to read a compiled formula from disk.
LAYING_OUT, LOOKING_UP, COMPILING, READING = 3e5, 0.3, 4e8, 1.2e7
#: The interpreter is out of reach if it takes more nanoseconds.
PATIENCE = 6e10


class Support(NamedTuple):
    """Yes, or no with the reason."""

    ok: bool
    reason: str


@dataclass(frozen=True, eq=False)
class Task:
    """A program to be evaluated on two tables, at a scale.

    ``scale="count"`` gives K itself, ``"probability"`` K divided by the dimension.
    """

    program: Program
    tables: PairedTables
    scale: Scale

    @property
    def n_pairs(self) -> int:
        """Number of kernel values."""
        rows, columns = self.tables.shape
        return rows * columns

    @property
    def counting(self) -> float:
        """Nanoseconds in which the compiled loop counts and stores, about."""
        return self.n_pairs * (0.5 + 0.1 * int(self.tables.spans[-1]))

    @cached_property
    def bound(self) -> int:
        """No number on the way to a kernel value exceeds this, unless it is ``BEYOND``."""
        tables = self.tables
        most_x, most_z = (
            [int(row.max(initial=0)) for row in counts]
            for counts in (tables.x_counts, tables.z_counts)
        )
        return upper_bound(self.program, tables.sizes, most_x, most_z)

    @property
    def exact_everywhere(self) -> bool:
        """Whether all backends give the same values to the last bit: integers below 2⁵³."""
        return self.scale == "count" and self.bound < 2**53

    @property
    def largest(self) -> float:
        """No kernel value exceeds this: infinite, if the bound is beyond float64."""
        if self.scale == "probability":
            return 2.0  # a share, and its roundings
        return float(self.bound) if self.bound <= FLOAT64_MAX else inf

    @property
    def weighted(self) -> bool:
        """Whether counts are divided by the numbers of columns, so that nothing can overflow.

        That needs a homogeneous program; a choice of features is none, and its probability is
        computed from whole numbers.
        """
        return self.scale == "probability" and self.program.degrees is not None

    def weights(self) -> list[float] | None:
        """What every count is multiplied by, per domain (None: by nothing)."""
        if not self.weighted:
            return None
        return [1.0 / max(size, 1) for size in self.tables.sizes]

    def factor(self) -> float:
        """Return what the program's value, on weighted counts if they are, is multiplied by.

        It is 0 or infinite if it is beyond float64: a finite multiple of the divisor is 0 then, and
        everything else becomes infinite or not a number, which the guard computes again.
        """
        if self.scale == "count":
            return 1 / self.program.divisor
        if not self.exact:
            return float((Extended.of(1.0) / self._dimension(shares=True)).to_float())
        sizes = self.tables.sizes
        degrees = self.program.degrees or [0] * len(sizes)
        weighted_away = prod(max(n, 1) ** d for n, d in zip(sizes, degrees, strict=True))
        return _quotient(weighted_away, self.divided_by())

    @cached_property
    def bits(self) -> float:
        """The exact integers on the way to a value have at most about so many bits."""
        if self.limit is not None:
            return float(2 * self.limit.bit_length())
        sizes, program = self.tables.sizes, self.program
        found = bits(program, sizes)
        return (
            found if self.scale == "count" else max(found, bits(program, sizes, program.dimension))
        )

    @property
    def exact(self) -> bool:
        """Whether exact integers are short enough to be computed for every value."""
        return self.bits <= MAX_EXACT_BITS

    @cached_property
    def limit(self) -> int | None:
        """What is larger may be taken as this: it makes every value that it is in infinite.

        That is so at scale="count": products and sums of non-negative integers do not get smaller
        again, but for the divisions by symmetries, and none of these divides by more than its part
        of the limit.  Probabilities divide what is beyond float64 too.
        """
        if self.scale == "probability" or self.bound <= FLOAT64_MAX:
            return None
        divisors = (node[1] for node in self.program.nodes if node.kind == "quotient")
        return int(2**1025 * self.program.divisor * prod(divisors))

    def divided_by(self) -> int:
        """Return what the program's value is divided by, at scale="probability"."""
        return max(dimension(self.program, self.tables.sizes), 1) * self.program.divisor

    def _dimension(self, shares: bool = False) -> Extended:
        """The dimension times the divisor; with shares, of what the weights leave of it."""
        zeros = [np.zeros((), dtype=np.int64) for _ in self.tables.sizes]
        program, sizes = self.program, self.tables.sizes
        return run_extended(program, (zeros,) * 3, sizes, program.dimension, shares)

    @property
    def dtype(self) -> type[Any]:
        """``int64`` if no number can pass it, else ``object`` for Python integers."""
        return np.int64 if self.bound < 2**63 else object

    def values(self, counts: Triples, refuse: bool = True) -> FloatArray:
        """Return the kernel for arrays of counts, computed in integers and rounded once.

        Integers of more than ``MAX_EXACT_BITS`` bits are computed to 53 of them.  Values outside
        the range of float64 at this scale are refused by MagnitudeError; with ``refuse=False`` they
        become infinite or not a number.
        """
        shape = np.broadcast_shapes(*(array.shape for arrays in counts for array in arrays))
        rounded, zero = self._rounded(counts)
        if refuse and np.isinf(rounded).any():
            raise self.too_large()
        if self.scale == "probability":
            lost = ~zero & (rounded < np.finfo(np.float64).tiny)
            if refuse and lost.any():
                raise MagnitudeError(
                    "a kernel value is below 2.2e-308 at scale='probability', where float64 ends: "
                    "too few of the substitutions are true in both rows. "
                    "Use scale='count', or a formula with fewer literals."
                )
            rounded[lost] = np.nan
        return np.broadcast_to(rounded, shape)

    def _rounded(self, counts: Triples) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the values, infinite beyond float64, and which of them are 0."""
        program, sizes, count = self.program, self.tables.sizes, self.scale == "count"
        dtype = self.dtype
        if dtype is object and not self.exact:
            divide = Extended.of_integer(program.divisor) if count else self._dimension()
            extended = run_extended(program, counts, sizes) / divide
            return extended.to_float(), extended.m == 0
        counts = tuple([array.astype(dtype) for array in arrays] for arrays in counts)
        limit = self.limit if dtype is object else None
        number_bytes = 8 if dtype is np.int64 else 40 + self.bits / 8
        found = run(program, counts, sizes, dtype, limit=limit, number_bytes=number_bytes)[0]
        divisor = program.divisor if count else self.divided_by()
        if divisor == 1 and dtype is np.int64:
            return found.astype(np.float64), found == 0
        flat = [_quotient(int(value), divisor) for value in found.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(found.shape), found == 0

    def too_large(self) -> MagnitudeError:
        """Return the error for values beyond float64."""
        return MagnitudeError(
            f"a kernel value of this formula on {max(self.tables.sizes, default=0):,} columns is "
            "beyond 1.8e308, the end of float64. Use scale='probability' (the share of "
            "substitutions that are true in both rows), or kernel.normalized()."
        )


def _quotient(value: int, divide: int) -> float:
    """Return the quotient, correctly rounded, for integers of any size."""
    try:
        return value / divide
    except OverflowError:
        return inf


def guarded(task: Task, fill: BlockWriter) -> BlockWriter:
    """The same function, its out-of-range entries replaced by exact ones."""
    if task.weighted:
        pairs = zip(task.tables.sizes, task.program.degrees or (), strict=False)
        weighted_bits = sum(min(degree, 1e300) * log2(max(n, 1)) for n, degree in pairs)
        if weighted_bits < log2(SAFE):
            return fill
        # what was flushed to zero, or lost digits, before the factor came is below this after it
        smallest = max(task.factor(), 1.0) / SAFE
    else:
        whole = task.scale == "count"
        divided_by = 1 if whole else task.divided_by() if task.exact else BEYOND
        if max(task.bound, divided_by) < SAFE:
            return fill
        smallest = 0.0 if divided_by < SAFE else inf  # beyond: all of it again, exactly

    def checked(rows: slice, columns: slice, block: FloatArray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            fill(rows, columns, block)
        doubtful = ~np.isfinite(block) | (block < smallest)
        if np.any(doubtful):
            block[doubtful] = _again(task, rows, columns, doubtful)

    return checked


def _again(task: Task, rows: slice, columns: slice, doubtful: npt.NDArray[np.bool_]) -> FloatArray:
    tables = task.tables
    i, j = np.nonzero(doubtful)
    triples = np.concatenate(
        [
            tables.joint_counts(rows, columns)[:, i, j],
            tables.x_counts[:, rows][:, i],
            tables.z_counts[:, columns][:, j],
        ]
    )
    keys, inverse = np.unique(triples, axis=1, return_inverse=True)
    words = task.bits / 64 if task.exact else EXTENDED_WORDS
    if keys.shape[1] * len(task.program.kernel_nodes) * (1 + words) > MAX_EXACT_WORK:
        if task.scale == "count":
            raise task.too_large()
        raise MagnitudeError(
            "some kernel values lie below 1e-290 at scale='probability' and the program is too "
            "long to compute them exactly. Use a formula with fewer literals."
        )
    return task.values(tuple(map(list, np.split(keys, 3))))[inverse.ravel()]


# -- the backends: whether they can serve a task, about how many nanoseconds they take once their
# -- code is compiled, and the writer of blocks; all work that is not per pair is done for it


class InterpreterBackend:
    """Exact integers for every pair, rounded once, in NumPy; needs no compiler.

    Where they would have more than ``MAX_EXACT_BITS`` bits, floating point with exponents of any
    size: see :class:`formulakern.program.Extended`.
    """

    name = "interpreter"

    def supports(self, task: Task) -> Support:
        """Always."""
        if task.exact:
            return Support(True, "exact integers for every pair")
        return Support(
            True,
            f"integers of {task.bits:.3g} bits are too long for every pair: "
            "53 bits, and exponents of any size",
        )

    def size(self, task: Task) -> float:
        """Counting takes 3 ns a word; an operation takes 1 ns, and more on long integers."""
        operation = 1.1 if task.dtype is np.int64 else 60.0 + min(task.bits / 64, 100.0)
        words = int(task.tables.spans[-1])
        return task.n_pairs * (3 + 3 * words + operation * len(task.program.kernel_nodes))

    def compile(self, task: Task) -> BlockWriter:
        """Nothing to compile."""

        def values(tables: PairedTables, _: object, rows: slice, columns: slice) -> FloatArray:
            s = tables.joint_counts(rows, columns)
            p = [counts[rows][:, None] for counts in tables.x_counts]
            q = [counts[columns][None, :] for counts in tables.z_counts]
            return task.values((list(s), p, q))

        return CountWriter(task.tables, (), (), values, task.largest)


class LookupBackend:
    """Tabulated kernels."""

    name = "lookup"

    def supports(self, task: Task) -> Support:
        """Yes, if the tables have at most ``MAX_ENTRIES`` entries."""
        tables = task.tables
        x, z = row_classes(tables.x_counts)[0], row_classes(tables.z_counts)[0]
        entries = count_entries(tables)
        if entries > MAX_ENTRIES:
            return Support(False, f"{entries:,} triples of counts are too many to tabulate")
        if entries * len(task.program.kernel_nodes) > MAX_TABULATED:
            return Support(False, "the program is too long to be tabulated")
        pairs = x.shape[1] * z.shape[1]
        what = "one table" if pairs == 1 else f"{pairs:,} tables"
        return Support(True, f"{what} of {entries:,} numbers in all hold every value of the kernel")

    def size(self, task: Task) -> float:
        """Laying out takes some 0.3 ms; an entry takes 45 ns and its operations."""
        entries = count_entries(task.tables)
        operation = 1.4 if task.dtype is np.int64 else 60.0 + min(task.bits / 64, 100.0)
        build = entries * (45 + operation * len(task.program.kernel_nodes))
        each = LOOKING_UP + 0.18 * log2(1 + entries / 4096)
        return LAYING_OUT + build + task.counting + each * task.n_pairs

    def compile(self, task: Task) -> BlockWriter:
        """Build the tables."""
        layout = lay_out(task.tables)
        return guarded(task, layout.look_up(task.tables, _tabulated(task, layout)))


def _tabulated(task: Task, layout: Layout) -> FloatArray:
    """Return the values of all entries, 0 where no pair of rows can have the counts."""
    table = np.zeros(len(layout.possible))
    here = np.flatnonzero(layout.possible)
    counts = tuple([ones[here] for ones in each] for each in (layout.s, layout.p, layout.q))
    if task.dtype is np.int64 or len(here) * len(task.program.kernel_nodes) <= MAX_EXACT_OPERATIONS:
        # what does not fit is refused only where it is looked up, by the guard
        table[here] = task.values(counts, refuse=False)
        return table
    with np.errstate(over="ignore", invalid="ignore"):
        sizes, weights = task.tables.sizes, task.weights()
        value = run(task.program, counts, sizes, np.float64, weights=weights)[0]
        table[here] = value * task.factor()
    return table


#: What emitted source may use.
NAMES = {"choose": choose, "whole": whole, "inf": inf}
#: Largest number of operands written into one expression; longer ones become several lines.
_WIDTH = 16


class NumbaBackend:
    """Emitted Python source, compiled by numba."""

    name = "numba"

    def supports(self, task: Task) -> Support:
        """Yes, up to ``MAX_COMPILED`` operations per pair."""
        operations = len(task.program.stages.pair)
        if operations > MAX_COMPILED:
            return Support(
                False, f"{operations:,} operations per pair would take the compiler minutes"
            )
        return Support(True, f"{operations:,} operations per pair, compiled into the counting loop")

    def size(self, task: Task) -> float:
        """An operation takes 0.02 ns, many pairs at a time."""
        return 1e5 + task.counting + 0.022 * task.n_pairs * len(task.program.stages.pair)

    def compile(self, task: Task) -> BlockWriter:
        """Emit, compile (or read from the cache), and compute what is known before the pairs."""
        program, tables = task.program, task.tables
        weights = task.weights()
        stage = program.stages

        def known(positions: tuple[int, ...], counts: Any) -> FloatArray:
            """Numbers that depend on one row only, for every row."""
            ones = list(counts)
            with np.errstate(over="ignore", invalid="ignore"):
                sizes = tables.sizes
                values = run(program, (ones,) * 3, sizes, np.float64, positions, weights)
            rows = [np.broadcast_to(value, counts.shape[1:]) for value in values]
            return np.array(rows, dtype=np.float64).reshape(len(positions), counts.shape[1])

        data = (
            np.vstack([tables.x_counts, known(stage.row_x, tables.x_counts)]),
            np.vstack([tables.z_counts, known(stage.row_z, tables.z_counts)]),
            np.array([*tables.sizes, *(weights or ())], dtype=np.float64),
            known(stage.table, np.zeros((len(tables.sizes), 1))).ravel(),
            # the emitted code divides by the divisor itself, unless the counts are weighted
            np.array([task.factor() if task.scale == "probability" else 1.0]),
        )
        return guarded(task, CountWriter(tables, data, (0,), loop_of_task(task), task.largest))


def loop_of_task(task: Task) -> CompiledFunction[..., Any]:
    """The compiled formula of a task; what was emitted before is not emitted again."""
    return _loop_of_program(task.program, task.weighted)


@lru_cache(maxsize=256)
def _loop_of_program(program: Program, weighted: bool) -> CompiledFunction[..., Any]:
    return loop_of(emit_pair(program, weighted))


@cache
def loop_of(source: str) -> CompiledFunction[..., Any]:
    """The loop over blocks for the source of a pair function; equal programs share it."""
    return evaluate.having(pair=compiled_text(source, "pair", **NAMES))


# -- emitting -------------------------------------------------------------------------------------


def emit_pair(program: Program, weighted: bool) -> str:
    """Return the source of ``pair``: the kernel of one pair of rows from their counts.

    With ``weighted`` counts are divided by the number of columns.  The function, like
    :func:`formulakern.backends.loops.pair`, begins by naming what it reads: for every domain g the
    counts ``s{g} p{g} q{g} n{g}`` (and the weight ``w{g}``), and the numbers known before, ``t{i}``
    per table, ``x{i}`` and ``z{i}`` per row, where i is the position in the program.
    """
    stage = program.stages

    def name(position: int) -> str:
        return f"{'txzr'[stage.of[position]]}{position}"

    algebra = _Expressions(weighted)
    lines = []
    for position in stage.pair:
        node = program.nodes[position]
        operands = [name(operand) for operand in node.operands]
        for part in getattr(algebra, node.kind)(*node.data, *operands):
            lines.append(f"r{position} = {part.replace('_', f'r{position}')}")
    result = name(program.output)
    if program.divisor != 1 and not weighted:
        result += f" / {_float(program.divisor)}"
    lines.append(f"return {result}")
    n = len(program.domains)
    where = {f"s{g}": f"float(tile[{g}, r, j])" for g in range(n)}
    where |= {f"p{g}": f"x[{g}, row]" for g in range(n)}
    where |= {f"q{g}": f"z[{g}, column]" for g in range(n)}
    where |= {f"n{g}": f"sizes[{g}]" for g in range(n)}
    where |= {f"w{g}": f"sizes[{n + g}]" for g in range(n * weighted)}
    where |= {f"x{i}": f"x[{n + k}, row]" for k, i in enumerate(stage.row_x)}
    where |= {f"z{i}": f"z[{n + k}, column]" for k, i in enumerate(stage.row_z)}
    where |= {f"t{i}": f"once[{k}]" for k, i in enumerate(stage.table)}
    used = set(re.findall(r"\w+", "\n".join(lines)))
    lines = [f"{given} = {place}" for given, place in where.items() if given in used] + lines
    head = ["def pair(tile, r, j, row, column, data):", "x, z, sizes, once, _ = data"]
    return "\n    ".join([*head, *lines]) + "\n"


@dataclass(frozen=True)
class _Expressions:
    """Expressions in the names of operands, to be assigned one after the other; _ is the last."""

    weighted: bool

    def count(self, domain: int, cell: str, used: int) -> list[str]:
        value = "".join(f"{c}{domain}" if c.isalpha() else c for c in CELLS[cell])
        if used:
            value = f"max({value} - {float(used)!r}, 0.0)"
        return [f"({value}) * w{domain}" if self.weighted else value]

    def constant(self, value: int) -> list[str]:
        return [_float(value)]

    def sum(self, *operands: str, sign: str = " + ") -> list[str]:
        parts = [sign.join(operands[:_WIDTH])]
        for start in range(_WIDTH, len(operands), _WIDTH - 1):
            parts.append(sign.join(["_", *operands[start : start + _WIDTH - 1]]))
        return parts

    def product(self, *operands: str) -> list[str]:
        return self.sum(*operands, sign=" * ")

    def binomial(self, lower: int, operand: str) -> list[str]:
        return [f"choose({operand}, {lower})"]

    def quotient(self, divisor: int, operand: str) -> list[str]:
        return [f"whole({operand} / {_float(divisor)})"]


def _float(value: int) -> str:
    """Return the literal of a float; infinite beyond float64 (a finite multiple is then 0)."""
    return repr(as_float(value))


# -- the choice of a backend

Backend: TypeAlias = InterpreterBackend | LookupBackend | NumbaBackend
#: name → backend, in the order of the house
BACKENDS: dict[str, Backend] = {
    backend.name: backend for backend in (InterpreterBackend(), LookupBackend(), NumbaBackend())
}


class Choice(NamedTuple):
    """The backend for a task, and why."""

    backend: Backend
    reason: str


def check_backend(name: str) -> str:
    """Return the name if there is such a backend, or if it is "auto"; else raise ParameterError."""
    check_choice("backend", name, ("auto", *BACKENDS))
    return name


def choose_backend(name: str, task: Task) -> Choice:
    """Return the backend of this name for a task; ``"auto"`` is the one of the smallest ``size``.

    If all backends give the same values to the last bit, the choice depends on whether the formula
    is compiled: it is tabulated or interpreted at first, and compiled when that has taken as long
    as compiling.  Otherwise it depends on the formula, the shapes of the tables and the numbers of
    ones alone.  A backend that cannot serve the task, or within reason, is refused.
    """
    if name != "auto":
        backend = BACKENDS[check_backend(name)]
        support = backend.supports(task)
        if not support.ok:
            raise ParameterError(
                f"backend={name!r} cannot serve this: {support.reason}. Use backend='auto'."
            )
        return Choice(backend, support.reason)
    sizes = {"interpreter": BACKENDS["interpreter"].size(task)}
    fused = BACKENDS["numba"].supports(task)
    compiling = _compiling(task) if fused.ok else 0.0
    if fused.ok and not compiling:
        sizes["numba"] = BACKENDS["numba"].size(task)
        tabulated_at_least = LAYING_OUT + task.counting + LOOKING_UP * task.n_pairs
        if sizes["numba"] <= min(sizes["interpreter"], tabulated_at_least):
            return Choice(BACKENDS["numba"], fused.reason)  # without a look at the numbers of ones
    tabulated = BACKENDS["lookup"].supports(task)
    if tabulated.ok:
        sizes["lookup"] = BACKENDS["lookup"].size(task)
    found = min(sizes, key=sizes.__getitem__)
    if compiling:
        lost = max(sizes[found] - BACKENDS["numba"].size(task), 0.0)
        if task.exact_everywhere:
            loop = loop_of_task(task)
            lost = loop.asked = loop.asked + lost
        if lost > compiling:
            found = "numba"
    if found == "interpreter" and sizes[found] > PATIENCE:
        raise FormulaSizeError(
            f"this formula on these tables is out of reach: {fused.reason}, and "
            f"{tabulated.reason}. Use a shorter formula, fewer rows, or one-hot coded columns."
        )
    reasons = {
        "interpreter": f"{1e-9 * sizes['interpreter']:.2g} s in all are less than compiling takes",
        "lookup": tabulated.reason,
        "numba": fused.reason,
    }
    return Choice(BACKENDS[found], reasons[found])


def _compiling(task: Task) -> float:
    """Return the nanoseconds until the formula is compiled.

    If values may differ between backends, it is the time as if nothing were compiled.
    """
    loop = loop_of_task(task)
    if task.exact_everywhere and loop.made:
        return 0.0
    stored = task.exact_everywhere and "numba" in sys.modules and loop.stored
    return READING if stored else COMPILING
