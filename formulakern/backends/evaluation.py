"""Program → the kernel values on two tables: exact, tabulated or compiled, and the choice of one.

Exact integers, int64 or Python's own, are the specification that every backend must match.  Every
operation is a sum or product of non-negative numbers.  Therefore a float64 result is accurate
unless a number left the range of float64: a count that overflowed, or a probability so small that
a factor may have become zero.  The guard computes only those entries again.

A kernel with few different values is tabulated.  One-hot data, for example, have a single p, and
any formula on them is one table of p + 1 numbers.  Tabulated formulas need no compiled code of
their own, and for few pairs of rows NumPy counts and looks up.

Compiled formulas are generated Python source, the only code that is written as text.  The source
consists of positions, integers and fixed words.  It therefore contains no text from the user, and
equal programs have equal source.  It imports nothing, and uses only builtins and ``NAMES``.
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
from formulakern.backends.lookup import CountLayout, count_entries, lay_out, row_classes
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

#: Values are computed from exact integers of at most this many bits.
MAX_EXACT_BITS = 16_384
#: Above this a count may have overflowed; below its inverse a probability may be inaccurate.
MAX_SAFE_COUNT = 10**290
#: The largest exact re-evaluation, in operations × words per number.
MAX_EXACT_WORK = 2_000_000_000
#: The cost of an operation on extended floats, in operations on words.
EXTENDED_WORDS = 100
#: The largest number of entries of a table and of operations to build it; above the last number of
#: operations, a table is built in float64 instead of Python integers.
MAX_TABLE_ENTRIES, MAX_TABLE_OPERATIONS, MAX_EXACT_OPERATIONS = 3 << 21, 200_000_000_000, 4_000_000
#: The largest number of operations per pair to compile; more take the compiler minutes.
MAX_COMPILED_OPERATIONS = 3_000
#: Nanoseconds to lay out tables of any size, to look up one value, to compile a formula or import
#: numba, and to read a compiled formula from disk.
LAYOUT_NS, LOOKUP_NS, COMPILE_NS, READ_NS = 3e5, 0.3, 4e8, 1.2e7
#: The longest time of the interpreter, in nanoseconds.
MAX_INTERPRETER_NS = 6e10


class Support(NamedTuple):
    """True or False with a reason, for the support of a task."""

    ok: bool
    reason: str


@dataclass(frozen=True, eq=False)
class KernelTask:
    """A program to be evaluated on two tables.

    ``scale="count"`` gives K itself, ``"probability"`` K divided by the dimension.
    """

    program: Program
    tables: PairedTables
    scale: Scale

    @property
    def n_pairs(self) -> int:
        """The number of kernel values."""
        rows, columns = self.tables.shape
        return rows * columns

    @property
    def counting(self) -> float:
        """The approximate nanoseconds in which the compiled loop counts and stores."""
        return self.n_pairs * (0.5 + 0.1 * int(self.tables.spans[-1]))

    @cached_property
    def bound(self) -> int:
        """An upper bound on all numbers on the way to a kernel value, or ``BEYOND``."""
        tables = self.tables
        most_x, most_z = (
            [int(row.max(initial=0)) for row in counts]
            for counts in (tables.x_counts, tables.z_counts)
        )
        return upper_bound(self.program, tables.sizes, most_x, most_z)

    @property
    def exact_everywhere(self) -> bool:
        """True if all backends give the same values to the last bit: integers below 2⁵³."""
        return self.scale == "count" and self.bound < 2**53

    @property
    def largest(self) -> float:
        """An upper bound on the kernel values, infinite if it is beyond float64."""
        if self.scale == "probability":
            return 2.0  # above a share with its rounding errors
        return float(self.bound) if self.bound <= FLOAT64_MAX else inf

    @property
    def weighted(self) -> bool:
        """True if counts are divided by the numbers of columns, if the program is homogeneous."""
        return self.scale == "probability" and self.program.degrees is not None

    def weights(self) -> list[float] | None:
        """Return the factor of each domain's counts, or None if there are none."""
        if not self.weighted:
            return None
        return [1.0 / max(size, 1) for size in self.tables.sizes]

    def factor(self) -> float:
        """Return the factor of the program's value, which is on weighted counts if ``weighted``.

        It is 0 or infinite if it is beyond float64.  Then values that are not a finite multiple of
        the divisor become infinite or not a number, and the guard computes them again.
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
        """The approximate largest number of bits of exact integers on the way to a value."""
        if self.limit is not None:
            return float(2 * self.limit.bit_length())
        sizes, program = self.tables.sizes, self.program
        found = bits(program, sizes)
        return (
            found if self.scale == "count" else max(found, bits(program, sizes, program.dimension))
        )

    @property
    def exact(self) -> bool:
        """True if exact integers are short enough to be computed for every value."""
        return self.bits <= MAX_EXACT_BITS

    @cached_property
    def limit(self) -> int | None:
        """An integer that may replace all larger ones, because every value with one is infinite.

        At scale="count", sums and products of non-negative integers do not decrease.  Divisions by
        symmetries do, but each divides by at most its part of the limit.  Probabilities have no
        limit, because they divide numbers beyond float64.
        """
        if self.scale == "probability" or self.bound <= FLOAT64_MAX:
            return None
        divisors = (node[1] for node in self.program.nodes if node.kind == "quotient")
        return int(2**1025 * self.program.divisor * prod(divisors))

    def divided_by(self) -> int:
        """Return the divisor of the program's value at scale="probability"."""
        return max(dimension(self.program, self.tables.sizes), 1) * self.program.divisor

    def _dimension(self, shares: bool = False) -> Extended:
        """Return the dimension times the divisor; with ``shares``, from counts as shares."""
        zeros = [np.zeros((), dtype=np.int64) for _ in self.tables.sizes]
        program, sizes = self.program, self.tables.sizes
        return run_extended(program, (zeros,) * 3, sizes, program.dimension, shares)

    @property
    def dtype(self) -> type[Any]:
        """``int64`` if no number can exceed it, otherwise ``object`` for Python integers."""
        return np.int64 if self.bound < 2**63 else object

    def values(self, counts: Triples, refuse: bool = True) -> FloatArray:
        """Return the kernel for arrays of counts, computed in integers and rounded once.

        Integers of more than ``MAX_EXACT_BITS`` bits are computed to 53 bits.  Values outside the
        range of float64 raise MagnitudeError; with ``refuse=False`` they become infinite or NaN.
        """
        shape = np.broadcast_shapes(*(array.shape for arrays in counts for array in arrays))
        rounded, zero = self._rounded(counts)
        if refuse and np.isinf(rounded).any():
            raise self.too_large()
        if self.scale == "probability":
            lost = ~zero & (rounded < np.finfo(np.float64).tiny)
            if refuse and lost.any():
                raise MagnitudeError(
                    "a kernel value at scale='probability' is below 2.2e-308, the end of float64: "
                    "too few of the substitutions are true in both rows. "
                    "Use scale='count', or a formula with fewer literals."
                )
            rounded[lost] = np.nan
        return np.broadcast_to(rounded, shape)

    def _rounded(self, counts: Triples) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the values, infinite beyond float64, and a mask of the values that are 0."""
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


def guarded(task: KernelTask, fill: BlockWriter) -> BlockWriter:
    """Return the writer with its out-of-range entries replaced by exact ones."""
    if task.weighted:
        pairs = zip(task.tables.sizes, task.program.degrees or (), strict=False)
        weighted_bits = sum(min(degree, 1e300) * log2(max(n, 1)) for n, degree in pairs)
        if weighted_bits < log2(MAX_SAFE_COUNT):
            return fill
        # values that underflowed or lost digits before the factor are below this after it
        smallest = max(task.factor(), 1.0) / MAX_SAFE_COUNT
    else:
        whole = task.scale == "count"
        divided_by = 1 if whole else task.divided_by() if task.exact else BEYOND
        if max(task.bound, divided_by) < MAX_SAFE_COUNT:
            return fill
        smallest = 0.0 if divided_by < MAX_SAFE_COUNT else inf  # inf: all values are computed again

    def checked(rows: slice, columns: slice, block: FloatArray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            fill(rows, columns, block)
        doubtful = ~np.isfinite(block) | (block < smallest)
        if np.any(doubtful):
            block[doubtful] = _again(task, rows, columns, doubtful)

    return checked


def _again(
    task: KernelTask, rows: slice, columns: slice, doubtful: npt.NDArray[np.bool_]
) -> FloatArray:
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
            "some kernel values at scale='probability' are below 1e-290, and the program is too "
            "long to compute them exactly. Use a formula with fewer literals."
        )
    return task.values(tuple(map(list, np.split(keys, 3))))[inverse.ravel()]


# -- the backends: support for a task, approximate nanoseconds without compiling, and the writer of
# -- blocks with all work that is not per pair done in advance


class InterpreterBackend:
    """Exact integers in NumPy, or extended floats above ``MAX_EXACT_BITS`` bits."""

    name = "interpreter"

    def supports(self, task: KernelTask) -> Support:
        """Return True, with the type of the numbers."""
        if task.exact:
            return Support(True, "exact integers for every pair")
        return Support(
            True,
            f"integers of {task.bits:.3g} bits are too long for every pair, so values have "
            "53 bits and exponents of any size",
        )

    def size(self, task: KernelTask) -> float:
        """Return the time: 3 ns to count a word, 1 ns an operation, and more on long integers."""
        operation = 1.1 if task.dtype is np.int64 else 60.0 + min(task.bits / 64, 100.0)
        words = int(task.tables.spans[-1])
        return task.n_pairs * (3 + 3 * words + operation * len(task.program.kernel_nodes))

    def compile(self, task: KernelTask) -> BlockWriter:
        """Return the writer of blocks; nothing is compiled."""

        def values(tables: PairedTables, _: object, rows: slice, columns: slice) -> FloatArray:
            s = tables.joint_counts(rows, columns)
            p = [counts[rows][:, None] for counts in tables.x_counts]
            q = [counts[columns][None, :] for counts in tables.z_counts]
            return task.values((list(s), p, q))

        return CountWriter(task.tables, (), (), values, task.largest)


class LookupBackend:
    """Tabulated kernels."""

    name = "lookup"

    def supports(self, task: KernelTask) -> Support:
        """Return True if the tables have at most ``MAX_TABLE_ENTRIES`` entries."""
        tables = task.tables
        x, z = row_classes(tables.x_counts)[0], row_classes(tables.z_counts)[0]
        entries = count_entries(tables)
        if entries > MAX_TABLE_ENTRIES:
            return Support(False, f"{entries:,} triples of counts are too many to tabulate")
        if entries * len(task.program.kernel_nodes) > MAX_TABLE_OPERATIONS:
            return Support(False, "the program is too long to tabulate")
        pairs = x.shape[1] * z.shape[1]
        what = "one table" if pairs == 1 else f"{pairs:,} tables"
        return Support(True, f"{what} of {entries:,} numbers in all hold every value of the kernel")

    def size(self, task: KernelTask) -> float:
        """Return the time: 0.3 ms for the layout, and 45 ns with its operations for an entry."""
        entries = count_entries(task.tables)
        operation = 1.4 if task.dtype is np.int64 else 60.0 + min(task.bits / 64, 100.0)
        build = entries * (45 + operation * len(task.program.kernel_nodes))
        each = LOOKUP_NS + 0.18 * log2(1 + entries / 4096)
        return LAYOUT_NS + build + task.counting + each * task.n_pairs

    def compile(self, task: KernelTask) -> BlockWriter:
        """Build the tables and return the writer of blocks."""
        layout = lay_out(task.tables)
        return guarded(task, layout.look_up(task.tables, _tabulated(task, layout)))


def _tabulated(task: KernelTask, layout: CountLayout) -> FloatArray:
    """Return the values of all entries, 0 for counts that no pair of rows can have."""
    table = np.zeros(len(layout.possible))
    here = np.flatnonzero(layout.possible)
    counts = tuple([ones[here] for ones in each] for each in (layout.s, layout.p, layout.q))
    if task.dtype is np.int64 or len(here) * len(task.program.kernel_nodes) <= MAX_EXACT_OPERATIONS:
        # the guard raises an error for a value beyond float64 when it is looked up
        table[here] = task.values(counts, refuse=False)
        return table
    with np.errstate(over="ignore", invalid="ignore"):
        sizes, weights = task.tables.sizes, task.weights()
        value = run(task.program, counts, sizes, np.float64, weights=weights)[0]
        table[here] = value * task.factor()
    return table


#: The names that emitted source may use.
NAMES = {"choose": choose, "whole": whole, "inf": inf}
#: The largest number of operands in one expression; longer ones become several lines.
_WIDTH = 16


class NumbaBackend:
    """Emitted Python source, compiled by numba."""

    name = "numba"

    def supports(self, task: KernelTask) -> Support:
        """Return True for up to ``MAX_COMPILED_OPERATIONS`` operations per pair."""
        operations = len(task.program.stages.pair)
        if operations > MAX_COMPILED_OPERATIONS:
            return Support(
                False, f"{operations:,} operations per pair would take the compiler minutes"
            )
        return Support(True, f"{operations:,} operations per pair, compiled into the counting loop")

    def size(self, task: KernelTask) -> float:
        """Return the time: 0.02 ns for an operation, because many pairs are computed at a time."""
        return 1e5 + task.counting + 0.022 * task.n_pairs * len(task.program.stages.pair)

    def compile(self, task: KernelTask) -> BlockWriter:
        """Emit and compile (or load) the loop, and compute all numbers that precede the pairs."""
        program, tables = task.program, task.tables
        weights = task.weights()
        stage = program.stages

        def known(positions: tuple[int, ...], counts: Any) -> FloatArray:
            """Return the numbers that depend on one row only, for every row."""
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


def loop_of_task(task: KernelTask) -> CompiledFunction[..., Any]:
    """Return the compiled formula of a task, emitted once per program."""
    return _loop_of_program(task.program, task.weighted)


@lru_cache(maxsize=256)
def _loop_of_program(program: Program, weighted: bool) -> CompiledFunction[..., Any]:
    return loop_of(emit_pair(program, weighted))


@cache
def loop_of(source: str) -> CompiledFunction[..., Any]:
    """Return the loop over blocks for the source of a pair function; equal programs share it."""
    return evaluate.with_helpers(pair=compiled_text(source, "pair", **NAMES))


# -- emitting -------------------------------------------------------------------------------------


def emit_pair(program: Program, weighted: bool) -> str:
    """Return the source of ``pair``: the kernel of one pair of rows from their counts.

    With ``weighted``, counts are divided by the number of columns.  The function first names its
    inputs, see :func:`formulakern.backends.loops.pair`: for every domain g the counts ``s{g} p{g}
    q{g} n{g}`` (and the weight ``w{g}``), and the numbers computed before, ``t{i}`` per table,
    ``x{i}`` and ``z{i}`` per row, where i is the position in the program.
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
    """Expressions to be assigned one after the other; ``_`` is the result of the previous one."""

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
#: The backends by name.
BACKENDS: dict[str, Backend] = {
    backend.name: backend for backend in (InterpreterBackend(), LookupBackend(), NumbaBackend())
}


class BackendChoice(NamedTuple):
    """The backend for a task, with the reason."""

    backend: Backend
    reason: str


def check_backend(name: str) -> str:
    """Return the name if it is a backend or "auto"; otherwise raise ParameterError."""
    check_choice("backend", name, ("auto", *BACKENDS))
    return name


def choose_backend(name: str, task: KernelTask) -> BackendChoice:
    """Return the named backend for a task; ``"auto"`` is the one with the smallest ``size``.

    If all backends give the same values to the last bit, the choice depends on previous calls: a
    formula is tabulated or interpreted at first, and compiled when this has taken as long as
    compiling.  Otherwise it depends only on the formula, the shapes of the tables and the numbers
    of ones.  Raise ParameterError for a backend that does not support the task, and
    FormulaSizeError if every backend would take too long.
    """
    if name != "auto":
        backend = BACKENDS[check_backend(name)]
        support = backend.supports(task)
        if not support.ok:
            raise ParameterError(
                f"backend={name!r} cannot compute this: {support.reason}. Use backend='auto'."
            )
        return BackendChoice(backend, support.reason)
    sizes = {"interpreter": BACKENDS["interpreter"].size(task)}
    fused = BACKENDS["numba"].supports(task)
    compiling = _compiling(task) if fused.ok else 0.0
    if fused.ok and not compiling:
        sizes["numba"] = BACKENDS["numba"].size(task)
        tabulated_at_least = LAYOUT_NS + task.counting + LOOKUP_NS * task.n_pairs
        if sizes["numba"] <= min(sizes["interpreter"], tabulated_at_least):
            # whatever the numbers of ones are
            return BackendChoice(BACKENDS["numba"], fused.reason)
    tabulated = BACKENDS["lookup"].supports(task)
    if tabulated.ok:
        sizes["lookup"] = BACKENDS["lookup"].size(task)
    found = min(sizes, key=sizes.__getitem__)
    if compiling:
        lost = max(sizes[found] - BACKENDS["numba"].size(task), 0.0)
        if task.exact_everywhere:
            loop = loop_of_task(task)
            lost = loop.numbers_requested = loop.numbers_requested + lost
        if lost > compiling:
            found = "numba"
    if found == "interpreter" and sizes[found] > MAX_INTERPRETER_NS:
        raise FormulaSizeError(
            f"this formula on these tables is out of reach: {fused.reason}, and "
            f"{tabulated.reason}. Use a shorter formula, fewer rows, or one-hot coded columns."
        )
    reasons = {
        "interpreter": f"{1e-9 * sizes['interpreter']:.2g} s in all, less than compiling takes",
        "lookup": tabulated.reason,
        "numba": fused.reason,
    }
    return BackendChoice(BACKENDS[found], reasons[found])


def _compiling(task: KernelTask) -> float:
    """Return the nanoseconds to compile, ignoring earlier compilation if values may differ."""
    loop = loop_of_task(task)
    if task.exact_everywhere and loop.is_compiled:
        return 0.0
    stored = task.exact_everywhere and "numba" in sys.modules and loop.stored
    return READ_NS if stored else COMPILE_NS
