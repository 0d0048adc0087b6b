"""Features as columns: a sparse matrix, or sums over the rows, 64 rows at a time.

A feature is a few steps of AND and XOR. They are taken on *planes*: WIDTH words, 64 rows each, of
every column, of intermediate results and of CHUNK features. The words of 64 features for the same
rows are a square of 64 × 64 bits, which is transposed in place: its words then say which of the 64
features are true in one row, and their ones are read off in order.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from formulakern.arrays import FloatArray, IntArray
from formulakern.backends.tables import TablePair
from formulakern.compilation import compiled, intrinsic
from formulakern.encoding.bits import n_words, ones, pack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.kernels.algebra import Kernel, inverse_length
from formulakern.learning.feature_spaces import Space
from formulakern.learning.formula_features.listing import FeatureList, Function
from formulakern.mining.templates.expansion import BitProgram, bit_program
from formulakern.syntax.formula import Variable

__all__ = ["FeatureColumns", "RowLengths", "count_ones", "row_classes", "rows_of_bits"]

#: Words of every plane, and how far apart planes lie: a whole odd number of cache lines.
WIDTH, STRIDE = 32, 40
#: So many features are evaluated together; a multiple of 64.
CHUNK = 2048


class FeatureProgram(NamedTuple):
    """Features as steps on planes.

    Planes 0 … u − 1 are columns, plane u is all ones, those behind it are intermediate results, and
    from ``first`` on the features of a chunk.  A step (kind, left, right, to) writes plane ``to``:
    the AND (0), XOR (1) or NAND (2) of two references 2·plane + negated.
    """

    words: Annotated[Any, "uint64[:, ::1]"]  # (n, W): the packed columns
    used: Annotated[Any, "int64[::1]"]  # (u,): which of them are planes
    steps: Annotated[Any, "int64[:, ::1]"]  # (steps, 4)
    starts: Annotated[Any, "int64[::1]"]  # (chunks + 1,): the steps of each chunk
    first: Annotated[Any, "int64"]
    n_features: Annotated[Any, "int64"]


@intrinsic
def _lowest(_: Any, word: Any) -> Any:
    """Return the place of the lowest bit that is 1; 64 if none is."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        from llvmlite import ir

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return word(word), code


@compiled()
def _planes(program: Any) -> Any:
    """Memory for the planes of one chunk."""
    planes = np.zeros(
        (program.first + min(CHUNK, (program.n_features + 63) // 64 * 64), STRIDE), np.uint64
    )
    planes[len(program.used)] = ~np.uint64(0)
    return planes


@compiled()
def _load(words: Any, used: Any, begin: Any, planes: Any) -> None:
    """Load the words of the columns from ``begin`` on; 0 behind the last."""
    n = min(WIDTH, words.shape[1] - begin)
    for u in range(len(used)):
        for w in range(n):
            planes[u, w] = words[used[u], begin + w]
        for w in range(n, WIDTH):
            planes[u, w] = np.uint64(0)


@compiled()
def _evaluate(steps: Any, start: Any, stop: Any, planes: Any) -> None:
    """Take the steps of one chunk."""
    for i in range(start, stop):
        kind, a, b, to = steps[i, 0], steps[i, 1], steps[i, 2], steps[i, 3]
        not_a, not_b = np.uint64(0) - np.uint64(a & 1), np.uint64(0) - np.uint64(b & 1)
        a, b = a >> 1, b >> 1
        if kind == 1:
            for w in range(WIDTH):
                planes[to, w] = planes[a, w] ^ not_a ^ planes[b, w] ^ not_b
        else:
            negated = np.uint64(0) - np.uint64(kind >> 1)
            for w in range(WIDTH):
                planes[to, w] = ((planes[a, w] ^ not_a) & (planes[b, w] ^ not_b)) ^ negated


@compiled()
def _swap(planes: Any, top: Any, j: Any, mask: Any) -> None:
    """One of the six steps of a transposition: exchange parts of j bits, for all words at once."""
    shift = np.uint64(j)
    for base in range(top, top + 64, 2 * j):
        for k in range(base, base + j):
            for w in range(WIDTH):
                moved = ((planes[k, w] >> shift) ^ planes[k + j, w]) & mask
                planes[k, w] ^= moved << shift
                planes[k + j, w] ^= moved


@compiled()
def _transpose(planes: Any, first: Any, stop: Any) -> None:
    """Transpose each square of 64 × 64 bits: 64 planes, one word of each."""
    for top in range(first, stop, 64):
        _swap(planes, top, 32, np.uint64(0x00000000FFFFFFFF))
        _swap(planes, top, 16, np.uint64(0x0000FFFF0000FFFF))
        _swap(planes, top, 8, np.uint64(0x00FF00FF00FF00FF))
        _swap(planes, top, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
        _swap(planes, top, 2, np.uint64(0x3333333333333333))
        _swap(planes, top, 1, np.uint64(0x5555555555555555))


@compiled()
def _squares(program: Any, chunk: Any, planes: Any) -> Any:
    """Find the features of a chunk that are true in each row; return the number of squares."""
    first = program.first
    number = min(CHUNK, program.n_features - chunk * CHUNK)
    squares = (number + 63) // 64
    for k in range(first + number, first + 64 * squares):
        for w in range(WIDTH):
            planes[k, w] = np.uint64(0)
    _evaluate(program.steps, program.starts[chunk], program.starts[chunk + 1], planes)
    _transpose(planes, first, first + 64 * squares)
    return squares


@compiled()
def _true_features(planes: Any, at: Any, w: Any, squares: Any, true: Any) -> Any:
    """List the features of a chunk that are true in a row; how many they are.

    Four at a time, whether there are so many or not: a guess that fails costs more.
    """
    n_true = np.uint64(0)
    for square in range(squares):
        word = planes[at + 64 * square, w]
        base, place = np.uint64(64 * square), n_true
        n_true += ones(word)
        while True:
            for j in range(4):
                true[place + np.uint64(j)] = base + _lowest(word)
                word &= word - np.uint64(1)
            place += np.uint64(4)
            if not word:
                break
    return np.int64(n_true)


@compiled("void(state, int64, int64, int64[::1])", state=FeatureProgram)
def count_true(program: Any, start: Any, stop: Any, counts: Any) -> None:
    """Write how many features are true in every row, in words from start to stop."""
    planes, first = _planes(program), program.first
    words, used = program.words, program.used
    sums = np.empty((64, WIDTH), np.uint64)
    for begin in range(start, stop, WIDTH):
        _load(words, used, begin, planes)
        sums[:] = np.uint64(0)
        for chunk in range(len(program.starts) - 1):
            squares = _squares(program, chunk, planes)
            for square in range(squares):
                for t in range(64):
                    at = first + 64 * square + t
                    for w in range(WIDTH):
                        sums[t, w] += ones(planes[at, w])
        for w in range(min(WIDTH, stop - begin)):
            for t in range(64):
                counts[64 * (begin + w) + t] = sums[t, w]


@compiled("void(state, float64[::1], float64[::1])", state=FeatureProgram)
def sum_true(program: Any, measure: Any, sums: Any) -> None:
    """Σ over the rows in which a feature is true of a measure, for each feature."""
    planes, first = _planes(program), program.first
    words, used, steps, starts = program.words, program.used, program.steps, program.starts
    sums[:] = 0.0
    for begin in range(0, words.shape[1], WIDTH):
        _load(words, used, begin, planes)
        n = min(WIDTH, words.shape[1] - begin)
        for chunk in range(len(starts) - 1):
            _evaluate(steps, starts[chunk], starts[chunk + 1], planes)
            for f in range(min(CHUNK, program.n_features - chunk * CHUNK)):
                total = 0.0
                for w in range(n):
                    word = planes[first + f, w]
                    while word:
                        total += measure[64 * (begin + w) + np.int64(_lowest(word))]
                        word &= word - np.uint64(1)
                sums[chunk * CHUNK + f] += total


@compiled(
    "void(float64[::1], int32[::1], state, int64, int64, int64[::1], float64[::1], int64[::1],"
    " float64[:, ::1])",
    "void(float32[::1], int32[::1], state, int64, int64, int64[::1], float64[::1], int64[::1],"
    " float64[:, ::1])",
    state=FeatureProgram,
)
def fill_rows(
    data: Any,
    indices: Any,
    program: Any,
    start: Any,
    stop: Any,
    indptr: Any,
    values: Any,
    group: Any,
    factors: Any,
) -> None:
    """Write rows of a sparse matrix, in words of 64 rows from start to stop.

    A feature that is true has its value times the factor of its group and row.
    """
    planes, first = _planes(program), program.first
    words, used, n_rows = program.words, program.used, len(indptr) - 1
    alone = len(factors) == 1
    places = np.empty(64 * WIDTH, np.int64)
    true = np.empty(CHUNK + 64, np.int64)
    for begin in range(start, stop, WIDTH):
        _load(words, used, begin, planes)
        top = 64 * begin
        number = min(64 * min(WIDTH, stop - begin), n_rows - top)
        for row in range(number):
            places[row] = indptr[top + row]
        for chunk in range(len(program.starts) - 1):
            squares = _squares(program, chunk, planes)
            beside = chunk * CHUNK
            for row in range(number):
                n_true = _true_features(planes, first + (row & 63), row >> 6, squares, true)
                place, factor = np.uint64(places[row]), factors[0, top + row]
                for i in range(n_true):
                    feature = np.uint64(true[i]) + np.uint64(beside)
                    indices[place + np.uint64(i)] = feature
                    data[place + np.uint64(i)] = values[feature] * factor
                if not alone:
                    for i in range(n_true):
                        feature = np.uint64(true[i]) + np.uint64(beside)
                        factor = factors[group[feature], top + row]
                        data[place + np.uint64(i)] = values[feature] * factor
                places[row] += n_true


#: From so many words of all features on, threads share the rows.
THREADED_WORDS = 1 << 16


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """The columns that features are.

    Parameters
    ----------
    features : FeatureList
    """

    features: FeatureList

    def sums(self, table: PackedTable, measure: FloatArray) -> FloatArray:
        """Σ_x μ(x) over the rows in which a feature is true."""
        whole = np.zeros(64 * n_words(table.n_rows))
        whole[: table.n_rows] = measure
        sums = np.zeros(len(self.features))

        def work(start: int, stop: int) -> None:
            part = FeatureColumns(self.features.take(np.arange(start, stop)))
            sum_true(part._program(table), whole, sums[start:stop])

        _in_threads(work, _shares(len(sums), len(sums) * n_words(table.n_rows)))
        return sums

    def counts(self, table: PackedTable) -> IntArray:
        """Return the number of features that are true in every row, int64 of shape (m,)."""
        words = n_words(table.n_rows)
        bounds = _shares(words, words * len(self.features))
        return _counts(self._program(table), bounds)[: table.n_rows]

    def matrix(
        self, table: PackedTable, factors: FloatArray, dtype: DTypeLike = np.float64
    ) -> csr_array:
        """Return √weight·s(x)·φ(x) for each row and feature; ``factors`` (groups, m) are s."""
        m, n_features = table.n_rows, len(self.features)
        program, words = self._program(table), n_words(m)
        bounds = _shares(words, words * n_features)
        indptr = np.zeros(m + 1, dtype=np.int64)
        np.cumsum(_counts(program, bounds)[:m], out=indptr[1:])
        data = np.empty(indptr[-1], dtype=dtype)
        indices = np.empty(indptr[-1], dtype=np.int32)
        values, group = np.sqrt(self.features.weights), _writeable(self.features.group)
        rest = (indptr, values, group, _writeable(factors))
        _in_threads(lambda a, b: fill_rows(data, indices, program, a, b, *rest), bounds)
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        indices, indptr = indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
        return csr_array((data, indices, indptr), shape=(m, n_features))

    def _program(self, table: PackedTable) -> Any:
        listed = self.features
        columns = listed.columns
        used, plane = np.unique(columns[columns >= 0], return_inverse=True)
        planes = np.zeros_like(columns)  # which plane holds an argument of a feature
        planes[columns >= 0] = plane.reshape(-1)
        programs = [bit_program(f.formula, f.arguments) for f in listed.functions]
        first = len(used) + 1 + max((len(program.steps) for program in programs), default=0)
        parts, owners = [np.zeros((0, 4), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for k, (function, program) in enumerate(zip(listed.functions, programs, strict=True)):
            chosen = np.flatnonzero(listed.function == k)
            to = first + chosen % CHUNK
            arity = len(function.arguments)
            steps = _plane_steps(program, planes[chosen, :arity], len(used), to)
            parts.append(steps.reshape(-1, 4))
            owners.append(np.repeat(chosen, steps.shape[1]))
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        chunks = np.arange(0, len(listed) + CHUNK, CHUNK)
        starts = np.searchsorted(owner[order], chunks).astype(np.int64)
        steps = np.ascontiguousarray(np.vstack(parts)[order])
        held = used.astype(np.int64)
        if table.sparse is not None:  # of many columns only those that are read are packed
            table, held = table.select(used), np.arange(len(used))
        words = _writeable(table.columns)
        return FeatureProgram(words, held, steps, starts, first, len(listed))


def count_ones(table: PackedTable, columns: Sequence[int]) -> IntArray:
    """Return the number of ones in some columns of every row."""
    if table.sparse is not None:
        return table.select(columns).counts
    places, none = np.array(columns, dtype=np.int64), np.zeros(len(columns), dtype=np.int64)
    itself = Variable("s0")
    identity = Function(itself, (itself,), b"\0\1")
    listed = FeatureList((identity,), none, places[:, None], none.astype(np.float64), none)
    return FeatureColumns(listed).counts(table)


def rows_of_bits(table: PackedTable, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Some rows of a table, read from its packed columns: bool of shape (rows, n)."""
    if table.sparse is not None:
        return np.asarray(table.sparse[rows].toarray() != 0)
    words = table.columns[:, rows >> 6] >> (rows & 63).astype(np.uint64)
    return np.asarray(words.T & np.uint64(1) != 0)


def _counts(program: Any, bounds: list[int]) -> IntArray:
    """Return how many features are true in every row, and 0 behind the last."""
    counts = np.zeros(64 * program.words.shape[1], dtype=np.int64)
    _in_threads(lambda a, b: count_true(program, a, b, counts), bounds)
    return counts


def _plane_steps(
    program: BitProgram, arguments: IntArray, ones: int, to: NDArray[np.intp]
) -> IntArray:
    """Return the steps of features of one function, of shape (features, steps, 4)."""
    number, arity = arguments.shape

    def plane(reference: int) -> NDArray[Any]:
        register, negated = reference >> 1, reference & 1
        if register < arity:
            return 2 * arguments[:, register] + negated
        return np.full(number, 2 * (ones + register - arity) + negated)

    last = arity + len(program.steps)
    made = [(kind, plane(a), plane(b)) for kind, a, b in program.steps.tolist()]
    if made and program.output >> 1 == last:
        kind, left, right = made[-1]
        negated = program.output & 1
        made[-1] = (kind, left ^ negated, right) if kind else (2 * negated, left, right)
    else:
        made.append((0, plane(program.output), np.full(number, 2 * ones)))
    steps = np.empty((number, len(made), 4), dtype=np.int64)
    for i, (kind, left, right) in enumerate(made):
        target = to if i == len(made) - 1 else np.full(number, ones + 1 + i)
        for column, value in enumerate((kind, left, right, target)):
            steps[:, i, column] = value
    return steps


def _writeable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, in C order: copied if it is read-only, as the loops take it."""
    return np.require(array, requirements=["C", "W"])


def _shares(number: int, work: int) -> list[int]:
    """Bounds of parts that threads do, one after the other where there is little to do."""
    threads = os.cpu_count() or 1
    parts = 4 * threads if work >= THREADED_WORDS and threads > 1 else 1
    return sorted({number * part // parts for part in range(parts + 1)})


def _in_threads(work: Callable[[int, int], Any], bounds: list[int]) -> None:
    if len(bounds) <= 2:
        for start, stop in itertools.pairwise(bounds):
            work(start, stop)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))


#: Classes of rows are looked up in a table of at most so many entries; more are sorted.
MAX_CLASSES = 1 << 22


@dataclass(frozen=True, eq=False)
class RowLengths:
    """What the features of a row are divided by.

    K(x, x) depends only on how many ones x has in each domain, so it is computed once for rows that
    agree in that.

    Parameters
    ----------
    groups : tuple of tuple of Kernel
        For each group of features the kernels by whose lengths √K(x, x) rows are divided.
    domains : tuple of tuple of int
        The columns of every domain that these kernels have.
    """

    groups: tuple[tuple[Kernel, ...], ...]
    domains: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, spaces: Sequence[Space]) -> Self:
        """Return the different divisors of some spaces."""
        groups = {tuple(map(id, space.divisors)): space.divisors for space in spaces}
        divided = [space for space in spaces if space.divisors]
        domains = {space.columns_of(v): None for space in divided for v in space.variables}
        return cls(tuple(groups.values()), tuple(domains))

    def group_of(self, space: Space) -> int:
        """Return the group of the features of a space."""
        groups = [tuple(map(id, group)) for group in self.groups]
        return groups.index(tuple(map(id, space.divisors)))

    def factors(self, table: PackedTable) -> FloatArray:
        """1 over the product of the lengths of a row, for every group and row."""
        factors = np.ones((len(self.groups), table.n_rows))
        if not any(self.groups):
            return factors
        counts = [count_ones(table, columns) for columns in self.domains]
        first, kind = row_classes(counts, table.n_rows)
        words = pack_rows(rows_of_bits(table, first))
        pair = TablePair(PackedTable.of_rows(words, table.n_columns, table.names))
        known: dict[int, FloatArray] = {}
        for factor, kernels in zip(factors, self.groups, strict=True):
            for kernel in kernels:
                if id(kernel) not in known:
                    known[id(kernel)] = inverse_length(kernel.diagonal_of(pair))
                factor *= known[id(kernel)][kind]
        return factors


def row_classes(
    counts: Sequence[IntArray], n_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One row of each class of rows with equal counts, and the class of every row."""
    kind = np.zeros(n_rows, dtype=np.intp)
    first = np.zeros(min(1, n_rows), dtype=np.intp)
    for count in counts:
        width = int(count.max(initial=0)) + 1
        key = kind * width + count
        if len(first) * width > MAX_CLASSES:
            _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
            kind = inverse.reshape(-1)
            continue
        some = np.full(len(first) * width, -1, dtype=np.intp)
        some[key] = np.arange(n_rows)
        present = np.flatnonzero(some >= 0)
        number = np.zeros(len(some), dtype=np.intp)
        number[present] = np.arange(len(present))
        first, kind = some[present], number[key]
    return first, kind
