r"""The features of a formula kernel, one column each: listed or sampled, and evaluated.

Substitutions that give the same function of the same columns are always true together, so that w of
them are one coordinate √w: under "bound" ``a & b`` with columns (i, j) and (j, i) is one column √2.

A feature is a few steps of AND and XOR. They are taken on *planes*: WIDTH words, 64 rows each, of
every column, of intermediate results and of CHUNK features. The words of 64 features for the same
rows are a square of 64 × 64 bits, which is transposed in place: its words then say which of the 64
features are true in one row, and their ones are read off in order.

Let a kernel be K = Σ_f w_f·φ_f φ_fᵀ, with φ_f the values of feature f in m training rows, and
s_f = w_f·‖φ_f‖², so that Σ_f s_f is the trace T of K.  A sample that holds feature f with
probability π_f, and divides w_f by it, is unbiased.

*Listed features* are drawn with π_f = min(1, c·s_f), Σ_f π_f = n, by ordered pivotal sampling: n
features, any two negatively correlated.  The entries of φ_f φ_fᵀ are not negative, so that

    E‖K̂ − K‖² ≤ Σ_f s_f²·(1/π_f − 1)                                  (Frobenius norm).

*Of too many to be listed*, n are drawn independently: a row x with probability in proportion to
K(x, x), then a substitution that is true in it, each with the same chance.  A substitution has the
probability p_f = s_f/T then, and each draw adds a matrix of norm T/n exactly.  So E‖K̂ − K‖² ≤ T²/n,
whatever the number of substitutions is, and by the bounded differences √2·T/n of the norm

    P(‖K̂ − K‖ ≥ (1 + √ln(1/δ))·T/√n) ≤ δ.

In both cases ‖K̂ − K‖ ≥ √(E/δ) has at most the probability δ, too (Markov).

A feature that is true in no training row is never drawn, and not missed in any K(x, z) of which one
row is a training row.

*How a true substitution is drawn.*  Which truth values the variables of a formula take decides
whether it is true.  So in a row with p ones and n − p zeros a true substitution is drawn in two
steps: its truth values, with chances in proportion to the number of substitutions that have them
(p^a·(n − p)^b for a true and b false variables, falling factorials where they hold different
columns), and then for each variable one of the columns that have its truth value.  A choice of d
different features of a formula is drawn in the same way: how many of them are true, and then each
of them.

References
----------
Deville & Tillé (1998), Unequal probability sampling without replacement through a splitting method,
Biometrika 85(1), doi:10.1093/biomet/85.1.89.
Srinivasan (2001), Distributions on level-sets with applications to approximation algorithms, FOCS,
doi:10.1109/SFCS.2001.959935 (any two features are negatively correlated).
McDiarmid (1989), On the method of bounded differences, doi:10.1017/CBO9781107359949.008.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.backends.tables import TablePair
from formulakern.compilation import compiled, intrinsic
from formulakern.encoding.bits import n_words, ones, pack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.kernels.algebra import Kernel, inverse_length
from formulakern.learning.feature_spaces import Space
from formulakern.mining.templates.expansion import (
    BitProgram,
    Expansion,
    Order,
    atoms_of,
    bit_program,
    depends,
    truth_table,
)
from formulakern.mining.templates.search import function_of
from formulakern.rewrite.pipeline import rewrite, without_repeats
from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable, substitute
from formulakern.syntax.leaves import Choice

__all__ = ["FeatureColumns", "choose_features"]

#: So many substitutions of a formula are listed; of more, a sample is drawn.
MAX_LISTED = 1 << 22
#: Instances that are extended together.
INSTANCES = 1 << 20


@dataclass(frozen=True)
class Function:
    """A Boolean function of its arguments, written as a formula over s0, s1, …

    Parameters
    ----------
    formula : Formula
    arguments : tuple of Variable
    table : bytes
        Its values for all truth values of the arguments; functions with one table are equal.
    """

    formula: Formula
    arguments: tuple[Variable, ...]
    table: bytes


@dataclass(frozen=True, eq=False)
class FeatureList:
    """Features, one column each: a function of columns of a table, times the root of a weight.

    Parameters
    ----------
    functions : tuple of Function
    function : ndarray of shape (F,), int64
        Which of them a feature is.
    columns : ndarray of shape (F, most arguments), int64
        What it is a function of, ascending; −1 behind the last.
    weights : ndarray of shape (F,), float64
        What a feature adds to the kernel, where it is true in both rows.
    group : ndarray of shape (F,), int64
        Of several spaces, which one it is from; its rows are divided by the same lengths.
    """

    functions: tuple[Function, ...]
    function: IntArray
    columns: IntArray
    weights: FloatArray
    group: IntArray

    def __len__(self) -> int:
        return len(self.function)

    def take(self, chosen: NDArray[np.intp]) -> FeatureList:
        """Some of the features, in this order."""
        parts = {
            name: getattr(self, name)[chosen]
            for name in ("function", "columns", "weights", "group")
        }
        return replace(self, **parts)


def list_features(space: Space) -> FeatureList:
    """Return all features of a space that can be true."""
    expansion = space.expansion
    together = _ascending(space, expansion)
    pairs = [pair for places in together for pair in itertools.pairwise(places)]
    orders = (*expansion.orders, *(Order((i,), (j,), strict=False) for i, j in pairs))
    instances = _instances(space, replace(expansion, orders=orders))
    listed = features_of(expansion, instances, _permutations(instances, together))
    weights = listed.weights
    if space.counts_functions:
        weights = np.ones_like(weights)
    listed, total = replace(listed, weights=weights), int(weights.sum())
    if total != space.size:
        raise ParameterError(
            f"{str(space.formula)!r} counts {space.size:,} substitutions, of which {total:,} can "
            "be told apart: with more than six variables inside a choice, or beside constants in "
            "a product, they are not listed. Use fewer variables, or variables='bound'."
        )
    kept = [k for k, f in enumerate(listed.functions) if f.formula != FALSE]
    chosen = np.flatnonzero(np.isin(listed.function, kept))
    listed = listed.take(chosen)
    return replace(listed, weights=listed.weights * space.weight)


def n_instances(space: Space) -> int:
    """About how many instances are looked at to list the features of a space."""
    orders = (math.factorial(len(places)) for places in _ascending(space, space.expansion))
    return space.size // math.prod(orders)


def _ascending(space: Space, expansion: Expansion) -> list[list[int]]:
    """Slots whose columns need to be listed in one order only, as they are exchangeable."""
    if expansion.orders or expansion.all_different:
        return []
    return [
        places
        for places in _exchangeable(expansion)
        if len({space.columns_of(expansion.slots[place].variable) for place in places}) == 1
    ]


def features_of(
    expansion: Expansion, instances: IntArray, numbers: FloatArray | None = None
) -> FeatureList:
    """Return the different functions among the instances of a template, and how many are each."""
    functions: dict[tuple[int, bytes], int] = {}
    written: list[Function] = []
    found: list[tuple[int, IntArray, FloatArray]] = []
    numbers = np.ones(len(instances)) if numbers is None else numbers
    instances = instances.copy()
    for places in _exchangeable(expansion):
        instances[:, places] = np.sort(instances[:, places], axis=1)
    order = np.sort(instances, axis=1)
    new = np.ones_like(order, dtype=np.bool_)
    new[:, 1:] = order[:, 1:] != order[:, :-1]
    # which of its different columns, in their order, an instance holds in each slot
    rank = np.zeros(instances.shape, dtype=np.uint8)
    for slot in range(instances.shape[1]):
        rank[:, slot] = (new & (order < instances[:, slot, None])).sum(axis=1)
    first, kind = _different(rank.astype(np.int64))
    patterns = rank[first]
    for k in np.argsort(patterns.max(axis=1, initial=0), kind="stable"):
        n_used = len(set(patterns[k].tolist()))
        needed, table = function_of(expansion, patterns[k].tolist(), n_used)
        number = functions.setdefault((len(needed), table), len(written))
        if number == len(written):
            written.append(_written(expansion, patterns[k].tolist(), needed, table))
        chosen = np.flatnonzero(kind == k)
        places = [int(np.flatnonzero(patterns[k] == i)[0]) for i in needed]
        found.append((number, instances[chosen][:, places], numbers[chosen]))
    return _collected(tuple(written), found)


def merged(lists: Sequence[FeatureList]) -> FeatureList:
    """Several lists as one: equal features of one group, where they are, add their weights.

    Ordered by the number of their columns, then by these.
    """
    functions: dict[bytes, Function] = {}
    for listed in lists:
        for function in listed.functions:
            functions.setdefault(function.table, function)
    places = {table: place for place, table in enumerate(functions)}
    wide = max((listed.columns.shape[1] for listed in lists), default=0)
    parts = []
    for listed in lists:
        place = np.array([places[f.table] for f in listed.functions], dtype=np.int64)
        padded = np.full((len(listed), wide), -1, dtype=np.int64)
        padded[:, : listed.columns.shape[1]] = listed.columns
        length = (padded >= 0).sum(axis=1)
        parts.append(np.column_stack([listed.group, length, padded, place[listed.function]]))
    if not parts:
        raise ParameterError("a kernel without terms has no features.")
    keys = np.vstack(parts)
    weights = np.concatenate([listed.weights for listed in lists])
    first, kind = _different(keys)
    keys = keys[first]
    weights = np.bincount(kind, weights, minlength=len(first)).astype(np.float64)
    used, number = np.unique(keys[:, -1], return_inverse=True)
    written = tuple(functions.values())
    return FeatureList(
        tuple(written[k] for k in used.tolist()),
        number.reshape(-1).astype(np.int64),
        np.ascontiguousarray(keys[:, 2:-1]),
        weights,
        np.ascontiguousarray(keys[:, 0]),
    )


def _different(rows: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of each set of equal rows, in lexicographic order, and the set of every row."""
    if not rows.shape[1] or not len(rows):
        return np.arange(min(1, len(rows))), np.zeros(len(rows), dtype=np.intp)
    least = rows.min(axis=0).astype(np.int64)
    widths = (rows.max(axis=0) - least + 1).tolist()
    if math.prod(widths) >= 2**62:
        return different_rows(np.ascontiguousarray((rows - least).astype(">u8")))
    codes = np.zeros(len(rows), dtype=np.int64)  # a row as one number is compared at once
    for column, (width, smallest) in enumerate(zip(widths, least.tolist(), strict=True)):
        codes *= width
        codes += rows[:, column] - smallest
    _, first, kind = np.unique(codes, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def _exchangeable(expansion: Expansion) -> list[list[int]]:
    """Slots that may be put in any order without another function."""
    n = len(expansion.slots)
    table = truth_table(expansion.formula, {leaf: i for i, leaf in enumerate(expansion.leaves)})
    classes: list[list[int]] = []
    for i in range(n):
        for together in classes:
            if np.array_equal(table, table.swapaxes(i, together[0])):
                together.append(i)
                break
        else:
            classes.append([i])
    return [together for together in classes if len(together) > 1]


def _written(
    expansion: Expansion, pattern: Sequence[int], needed: Sequence[int], table: bytes
) -> Function:
    """Return the function of the needed arguments, without the repetitions that are easily seen."""
    arguments = tuple(Variable(f"s{i}") for i in range(len(needed)))
    truths = np.frombuffer(table, dtype=np.bool_)
    if not needed:
        return Function(TRUE if truths[0] else FALSE, (), table)
    said: dict[int, Formula] = dict(zip(needed, arguments, strict=True))
    leaf = {v: said.get(i, TRUE) for v, i in zip(expansion.leaves, pattern, strict=True)}
    formula = substitute(expansion.formula, leaf)
    if formula.n_leaves == len(arguments):
        return Function(formula, arguments, table)
    for value, connective in ((True, AND), (False, OR)):
        (cells,) = np.nonzero(truths == value)
        if len(cells) == 1:  # a conjunction, or a disjunction, of literals
            bits = np.unravel_index(cells[0], (2,) * len(arguments))
            signed = [v if b == value else ~v for v, b in zip(arguments, bits, strict=True)]
            clause = signed[0] if len(signed) == 1 else Operation(connective, signed)
            return Function(clause, arguments, table)
    return Function(without_repeats(rewrite(formula).formula), arguments, table)


def _permutations(instances: IntArray, together: list[list[int]]) -> FloatArray:
    """In how many orders the columns in exchangeable slots, which ascend, can stand there."""
    numbers = np.ones(len(instances))
    for places in together:
        run = np.ones(len(instances))
        for k, (i, j) in enumerate(itertools.pairwise(places)):
            run = np.where(instances[:, i] == instances[:, j], run + 1, 1)
            numbers *= (k + 2) / run
    return np.rint(numbers)


def _collected(
    functions: tuple[Function, ...], found: list[tuple[int, IntArray, FloatArray]]
) -> FeatureList:
    """Features from (function, columns of some instances, how many these are)."""
    wide = max((len(f.arguments) for f in functions), default=0)
    numbers, columns, weights = [], [], []
    for number in range(len(functions)):
        rows = np.concatenate([columns for k, columns, _ in found if k == number])
        many = np.concatenate([times for k, _, times in found if k == number])
        first, kind = _different(rows)
        padded = np.full((len(first), wide), -1, dtype=np.int64)
        padded[:, : rows.shape[1]] = rows[first]
        columns.append(padded)
        numbers.append(np.full(len(first), number, dtype=np.int64))
        weights.append(np.bincount(kind, many, minlength=len(first)).astype(np.float64))
    if not functions:
        return FeatureList((), *_EMPTY)
    together = np.concatenate(numbers)
    none = np.zeros_like(together)
    return FeatureList(functions, together, np.vstack(columns), np.concatenate(weights), none)


_EMPTY = (np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros(0), np.zeros(0, np.int64))


# -- all instances ---------------------------------------------------------------------------------


def _instances(space: Space, expansion: Expansion) -> IntArray:
    """Every instance of a template, slot by slot: int64 of shape (N, slots)."""
    if expansion.empty:
        return np.zeros((0, len(expansion.slots)), dtype=np.int64)
    found = np.zeros((1, 0), dtype=np.int64)
    for slot, place in enumerate(expansion.slots):
        columns = np.array(space.columns_of(place.variable), dtype=np.int64)
        height = max(1, INSTANCES // max(1, len(columns)))
        parts = []
        n_kept = 0
        for start in range(0, len(found), height):
            part = found[start : start + height]
            grown = np.empty((len(part) * len(columns), slot + 1), dtype=np.int64)
            grown[:, :slot] = np.repeat(part, len(columns), axis=0)
            grown[:, slot] = np.tile(columns, len(part))
            parts.append(grown[_allowed(expansion, grown, slot)])
            n_kept += len(parts[-1])
            if n_kept > 4 * MAX_LISTED:
                raise ParameterError(
                    f"listing the substitutions of {str(space.formula)!r} passes "
                    f"{4 * MAX_LISTED:,} partial ones. Use fewer columns."
                )
        found = np.concatenate(parts) if parts else np.zeros((0, slot + 1), np.int64)
    return found


def _allowed(expansion: Expansion, grown: IntArray, slot: int) -> NDArray[np.bool_]:
    """Return which partial instances hold different columns where they must, in the right order."""
    fits = np.ones(len(grown), dtype=np.bool_)
    for together in expansion.all_different:
        if slot in together:
            for other in together:
                if other < slot:
                    fits &= grown[:, other] != grown[:, slot]
    for order in expansion.orders:
        if slot not in order.left + order.right:
            continue
        before = np.zeros(len(grown), dtype=np.bool_)
        equal = np.ones(len(grown), dtype=np.bool_)
        for left, right in zip(order.left, order.right, strict=True):
            if max(left, right) > slot:
                break
            before |= equal & (grown[:, left] < grown[:, right])
            equal &= grown[:, left] == grown[:, right]
        else:
            if order.strict:
                equal[:] = False
        fits &= before | equal
    return fits


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


#: Symmetries of a formula inside a choice are tried among all permutations of so many variables.
MAX_PERMUTED = 6
#: Entries of tables that are unpacked together.
ENTRIES = 1 << 22
#: So often is a feature drawn again that a choice holds already.
MAX_REDRAWN = 10_000

Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TrueSubstitutions:
    """Uniform draws from the substitutions of a formula that are true in a row.

    Parameters
    ----------
    space : Space

    Raises
    ------
    ParameterError
        If the draws cannot be told apart (see :meth:`_Part.names`).
    """

    space: Space
    _part: _Part = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_part", _Part.of(self.space.formula, self.space, inside=False))

    def counts(self, table: PackedTable) -> FloatArray:
        """Return how many substitutions are true in every row: K(x, x)."""
        counts = [count_ones(table, columns) for columns in self._part.ranges]
        first, kind = row_classes(counts, table.n_rows)
        ones = np.array([number[first] for number in counts], dtype=np.int64)
        true, false = self._part.counts(ones.reshape(len(counts), len(first)).T)
        share = np.divide(true, true + false, out=np.zeros_like(true), where=true > 0)
        return float(self.space.size) * share[kind]

    def draw(
        self, table: PackedTable, rows: NDArray[np.intp], generator: np.random.Generator
    ) -> IntArray:
        """One true substitution for each of some rows."""
        height = max(1, ENTRIES // max(1, table.n_columns))
        drawn = []
        for start in range(0, len(rows), height):
            bits = rows_of_bits(table, rows[start : start + height])
            domains = [(np.array(r), bits[:, list(r)]) for r in self._part.ranges]
            ones = np.array([part.sum(axis=1) for _, part in domains], dtype=np.int64)
            draws = _Draws(bits, domains, ones.reshape(len(domains), len(bits)).T, generator)
            every = np.arange(len(bits))
            drawn.append(self._part.draw(draws, every, np.ones(len(bits), dtype=np.bool_)))
        return np.concatenate(drawn)


@dataclass(frozen=True, eq=False)
class _Draws:
    """Rows that are drawn for: their bits, by range, and how many are ones."""

    bits: Truths
    domains: list[tuple[IntArray, Truths]]
    ones: IntArray
    generator: np.random.Generator


@dataclass(frozen=True, eq=False)
class _Part:
    """A formula, or one that a choice holds, over variables and choices.

    Parameters
    ----------
    variables : list of (place, range)
        Places among the atoms, and which of ``ranges`` each variable has.
    choices : list of (place, Choice, _Part)
    table : ndarray of shape (2, …, 2), bool
        The truth table over all atoms that are substituted.
    symmetries : list of tuple
        Permutations of the atoms that give the same feature.
    """

    n_atoms: int
    variables: list[tuple[int, int]]
    choices: list[tuple[int, Choice, _Part]]
    table: Truths
    distinct: bool
    ranges: list[tuple[int, ...]]
    symmetries: list[tuple[int, ...]]

    @classmethod
    def of(cls, formula: Formula, space: Space, inside: bool, ranges: Any = None) -> _Part:
        """Return the part of a space that a formula is."""
        ranges = [] if ranges is None else ranges
        atoms = atoms_of(formula)
        table = truth_table(formula, {atom: i for i, atom in enumerate(atoms)})
        needed = [i for i in range(len(atoms)) if space.every_variable or depends(table, i)]
        table = table[tuple(slice(None) if i in needed else 0 for i in range(len(atoms)))]
        variables, choices = [], []
        for place, atom in enumerate(atoms[i] for i in needed):
            if isinstance(atom, Choice):
                choices.append((place, atom, cls.of(atom.formula, space, True, ranges)))
            elif isinstance(atom, Variable):
                columns = space.columns_of(atom)
                if columns not in ranges:
                    ranges.append(columns)
                variables.append((place, ranges.index(columns)))
        symmetries = [tuple(range(len(needed)))]
        if space.distinct and inside and not choices:
            symmetries = _symmetries(table, dict(variables), formula)
        return cls(len(needed), variables, choices, table, space.distinct, ranges, symmetries)

    # -- counting ----------------------------------------------------------------------------------

    def counts(self, ones: IntArray) -> tuple[FloatArray, FloatArray]:
        """The numbers of true and of false features for rows of so many ones in each range."""
        weights = self._weights(ones)
        wanted = self.table.reshape(-1)
        order = len(self.symmetries)
        return weights[:, wanted].sum(axis=1) / order, weights[:, ~wanted].sum(axis=1) / order

    def _weights(self, ones: IntArray) -> FloatArray:
        """Return the number of substitutions with each of the 2^atoms patterns of truth values."""
        weights = np.ones((len(ones), 1))
        used: dict[tuple[int, int], IntArray] = {}
        inner = {place: (choice, part) for place, choice, part in self.choices}
        ranges = dict(self.variables)
        for place in range(self.n_atoms):
            n_patterns = weights.shape[1]
            if place in inner:
                choice, part = inner[place]
                both = _chosen(choice, *part.counts(ones))
                pair = [both[1][:, None], both[0][:, None]]
            else:
                domain = ranges[place]
                true = ones[:, domain, None].astype(np.float64)
                false = len(self.ranges[domain]) - true
                pair = []
                for value, number in ((0, false), (1, true)):
                    taken = used.get((domain, value), np.zeros(n_patterns, np.int64))
                    pair.append(np.maximum(number - taken * self.distinct, 0.0))
            grown = np.stack([weights * factor for factor in pair], axis=2)
            weights = grown.reshape(len(ones), 2 * n_patterns)
            for key, taken in used.items():
                used[key] = np.repeat(taken, 2)
            if place not in inner:
                for value in (0, 1):
                    taken = used.get((domain, value), np.zeros(2 * n_patterns, np.int64))
                    used[domain, value] = taken + np.tile([1 - value, value], n_patterns)
        return weights

    # -- drawing -----------------------------------------------------------------------------------

    def draw(self, draws: _Draws, rows: NDArray[np.intp], wanted: Truths) -> IntArray:
        """Uniform features, true or false as wanted, for some of the rows."""
        truths = self._draw_truths(draws, rows, wanted)
        parts: dict[int, IntArray] = self._draw_columns(draws, rows, truths)
        for place, choice, part in self.choices:
            parts[place] = _draw_choice(choice, part, draws, rows, truths[:, place])
        empty = np.zeros((len(rows), 0), dtype=np.int64)
        return np.hstack([empty, *(parts[place] for place in range(self.n_atoms))])

    def _draw_truths(self, draws: _Draws, rows: NDArray[np.intp], wanted: Truths) -> Truths:
        keys = np.column_stack([draws.ones[rows], wanted])
        different, kind = np.unique(keys, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        chosen = np.zeros(len(rows), dtype=np.int64)
        table = self.table.reshape(-1)
        for k, key in enumerate(different):
            weights = self._weights(key[None, :-1])[0] * (table == bool(key[-1]))
            here = np.flatnonzero(kind == k)
            chosen[here] = _draw_places(weights, len(here), draws.generator)
        places = np.arange(self.n_atoms)[::-1]
        return (chosen[:, None] >> places & 1).astype(np.bool_)

    def _draw_columns(
        self, draws: _Draws, rows: NDArray[np.intp], truths: Truths
    ) -> dict[int, IntArray]:
        """Return a column of the right truth value for every variable."""
        generator, parts = draws.generator, {}
        for domain in sorted({domain for _, domain in self.variables}):
            columns, bits = draws.domains[domain]
            bits, ones = bits[rows], draws.ones[rows, domain]
            ordered = np.argsort(~bits, axis=1, kind="stable")  # the ones, then the zeros
            taken = np.zeros((len(rows), 0), dtype=np.int64)
            for place in (place for place, d in self.variables if d == domain):
                value = truths[:, place]
                start, size = np.where(value, 0, ones), np.where(value, ones, len(columns) - ones)
                inside = (taken >= start[:, None]) & (taken < (start + size)[:, None])
                left = size - inside.sum(axis=1)
                rank = start + (generator.random(len(rows)) * left).astype(np.int64)
                if self.distinct:  # step over those that are taken, in order
                    for k in range(taken.shape[1]):
                        rank += inside[:, k] & (taken[:, k] <= rank)
                    taken = np.sort(np.column_stack([taken, rank]), axis=1)
                found = np.take_along_axis(ordered, rank[:, None], axis=1)
                parts[place] = columns[found].astype(np.int64)
        return parts

    def names(self, drawn: IntArray) -> IntArray:
        """Return the same numbers for the same feature: the least of those that symmetries give."""
        named, start = drawn, 0
        widths = {place: 1 for place, _ in self.variables}
        widths |= {place: c.degree * part.width for place, c, part in self.choices}
        if self.choices:
            named = drawn.copy()
        for place in range(self.n_atoms):
            for at, choice, part in self.choices:
                if at == place:
                    stop = start + widths[place]
                    flat = part.names(drawn[:, start:stop].reshape(-1, part.width))
                    copies = flat.reshape(len(drawn), choice.degree, part.width)
                    named[:, start:stop] = _sorted_copies(copies).reshape(len(drawn), -1)
            start += widths[place]
        if len(self.symmetries) > 1:
            images = np.stack([drawn[:, list(g)] for g in self.symmetries], axis=1)
            named = _sorted_copies(images)[:, 0, :]
        return named

    @property
    def width(self) -> int:
        """The number of slots."""
        return len(self.variables) + sum(c.degree * part.width for _, c, part in self.choices)


def _chosen(choice: Choice, true: FloatArray, false: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many choices of d of so many true and false features are true, and are not."""
    numbers = _by_number(choice.degree, true, false)
    within = slice(choice.least, choice.most + 1)
    holds = numbers[:, within].sum(axis=1)
    rest = [numbers[:, : choice.least], numbers[:, choice.most + 1 :]]
    return holds, sum(part.sum(axis=1) for part in rest)


def _by_number(degree: int, true: FloatArray, false: FloatArray) -> FloatArray:
    """C(true, i)·C(false, d − i) for i = 0 … d, of shape (rows, d + 1)."""
    up, down = _binomials(true, degree), _binomials(false, degree)
    return up * down[:, ::-1]


def _binomials(numbers: FloatArray, most: int) -> FloatArray:
    """C(number, 0) … C(number, most) in a row for each number."""
    steps = np.arange(most)
    factors = np.maximum(numbers[:, None] - steps, 0.0) / (steps + 1)
    return np.hstack([np.ones((len(numbers), 1)), np.cumprod(factors, axis=1)])


def _draw_choice(
    choice: Choice, part: _Part, draws: _Draws, rows: NDArray[np.intp], wanted: Truths
) -> IntArray:
    """d different features of a part, so many of them true that the choice is as wanted."""
    degree = choice.degree
    keys = np.column_stack([draws.ones[rows], wanted])
    different, kind = np.unique(keys, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    n_true = np.zeros(len(rows), dtype=np.int64)
    right = np.zeros(degree + 1, dtype=np.bool_)
    right[choice.least : choice.most + 1] = True
    for k, key in enumerate(different):
        numbers = _by_number(degree, *part.counts(key[None, :-1]))[0] * (right == bool(key[-1]))
        here = np.flatnonzero(kind == k)
        n_true[here] = _draw_places(numbers, len(here), draws.generator)
    copies = np.empty((len(rows), degree, part.width), dtype=np.int64)
    names = np.empty_like(copies)
    for c in range(degree):
        left = np.arange(len(rows))
        for _ in range(MAX_REDRAWN):
            copies[left, c] = part.draw(draws, rows[left], c < n_true[left])
            names[left, c] = part.names(copies[left, c])
            again = (names[left, :c] == names[left, c, None]).all(axis=2).any(axis=1)
            left = left[again]
            if not len(left):
                break
        else:
            raise ParameterError(
                f"{str(choice)!r} chooses nearly all features of a row: none that is new came up "
                f"in {MAX_REDRAWN:,} draws. Use a smaller degree."
            )
    return copies.reshape(len(rows), -1)


def _draw_places(weights: FloatArray, number: int, generator: np.random.Generator) -> IntArray:
    """So many places, with chances in proportion to the weights."""
    ends = np.cumsum(weights)
    drawn = np.searchsorted(ends, generator.random(number) * ends[-1], side="right")
    return np.asarray(np.minimum(drawn, np.flatnonzero(weights)[-1]), dtype=np.int64)


def _sorted_copies(copies: IntArray) -> IntArray:
    """The rows of every matrix of (matrices, rows, columns) in one order that their bytes have."""
    width = copies.shape[2]
    if not width:
        return copies
    whole = np.ascontiguousarray(copies.astype(">i8")).view(np.dtype((np.void, 8 * width)))
    order = np.argsort(whole[..., 0], axis=1, kind="stable")
    return np.asarray(np.take_along_axis(copies, order[..., None], axis=1))


def _symmetries(table: Truths, ranges: dict[int, int], formula: Formula) -> list[tuple[int, ...]]:
    """Return the permutations of variables of one range that leave a truth table as it is."""
    n = table.ndim
    if n > MAX_PERMUTED:
        raise ParameterError(
            f"{str(formula)!r} has {n} variables inside a choice, of which different features are "
            f"sampled for at most {MAX_PERMUTED}. Use fewer, or variables='bound'."
        )
    return [
        g
        for g in itertools.permutations(range(n))
        if all(ranges[i] == ranges[j] for i, j in enumerate(g))
        and np.array_equal(table, table.transpose(g))
    ]


#: Of so many instances at most it is looked up how often each is true.
MAX_WEIGHED = 1 << 20
#: Words of 64 rows that are read to see how often listed features are true, at most.
MAX_WORK = 1 << 34


@dataclass(frozen=True, eq=False)
class ChosenFeatures:
    """Features, and what is known about the error of their products.

    Parameters
    ----------
    features : FeatureList
        Weights are those that make the products unbiased.
    lengths : RowLengths
        What the features of a row are divided by.
    complete : bool
        Whether these are all features, so that products are the kernel on any rows.
    squared_error : float
        A bound on the expected mean of (K̂ − K)² over all pairs of training rows.
    n_draws : int
        Of independent draws; 0 where there were none.
    """

    features: FeatureList
    lengths: RowLengths
    complete: bool
    squared_error: float
    n_draws: int = 0

    def error_bound(self, delta: float) -> float:
        """What √ of the mean of (K̂ − K)² passes with a probability of at most ``delta``."""
        root = math.sqrt(self.squared_error)
        bound = root / math.sqrt(delta)
        if self.n_draws:
            bound = min(bound, root * (1.0 + math.sqrt(math.log(1.0 / delta))))
        return bound


def choose_features(
    spaces: Sequence[Space],
    table: PackedTable,
    n_components: int | None,
    generator: np.random.Generator,
) -> ChosenFeatures:
    """Return all features of some spaces, or a sample of at most so many."""
    lengths = RowLengths.of(spaces)
    places = [lengths.group_of(space) for space in spaces]
    size = sum(space.size for space in spaces)
    if n_components is None and size > MAX_LISTED:
        raise ParameterError(
            f"n_components=None asks for all features, and {size:,} substitutions are counted; at "
            f"most {MAX_LISTED:,} are listed. Give a number: a sample of so many is drawn."
        )
    listable = size <= MAX_LISTED
    if listable and n_components is not None:
        most = max(MAX_WEIGHED, n_components)
        listable = sum(n_instances(space) for space in spaces) <= most
    if listable:
        lists = [_grouped(list_features(s), g) for s, g in zip(spaces, places, strict=True)]
        listed = merged(lists)
        if n_components is None or len(listed) <= n_components:
            return ChosenFeatures(listed, lengths, True, 0.0)
        if len(listed) * table.columns.shape[1] <= MAX_WORK:
            return _sample_listed(listed, lengths, table, n_components, generator)
    assert n_components is not None
    return _sample_drawn(spaces, places, lengths, table, n_components, generator)


def _grouped(listed: FeatureList, group: int) -> FeatureList:
    return replace(listed, group=np.full(len(listed), group, dtype=np.int64))


def _sums(features: FeatureList, table: PackedTable, squares: FloatArray) -> FloatArray:
    """‖φ_f‖², the sum of s(x)² over the rows in which a feature is true."""
    sums = np.zeros(len(features))
    for group, measure in enumerate(squares):
        here = np.flatnonzero(features.group == group)
        sums[here] = FeatureColumns(features.take(here)).sums(table, measure)
    return sums


def _sample_listed(
    listed: FeatureList,
    lengths: RowLengths,
    table: PackedTable,
    n_components: int,
    generator: np.random.Generator,
) -> ChosenFeatures:
    squares = lengths.factors(table) ** 2
    shares = listed.weights * _sums(listed, table, squares)
    if not shares.any():
        raise DataError(
            f"none of {len(listed):,} features is true in any row of the table, so that none can "
            "be drawn by how often it is true. Use n_components=None, or other rows."
        )
    chances = inclusion_probabilities(shares, n_components)
    chosen = pivotal_sample(chances, generator)
    open_ = (chances > 0) & (chances < 1)
    squared = float((shares[open_] ** 2 * (1.0 / chances[open_] - 1.0)).sum())
    taken = listed.take(chosen)
    taken = replace(taken, weights=taken.weights / chances[chosen])
    return ChosenFeatures(merged([taken]), lengths, False, squared / table.n_rows**2)


def _sample_drawn(
    spaces: Sequence[Space],
    places: Sequence[int],
    lengths: RowLengths,
    table: PackedTable,
    n_components: int,
    generator: np.random.Generator,
) -> ChosenFeatures:
    squares = lengths.factors(table) ** 2
    samplers = [TrueSubstitutions(space) for space in spaces]
    measures = [
        space.weight * squares[place] * sampler.counts(table)
        for space, place, sampler in zip(spaces, places, samplers, strict=True)
    ]
    trace = float(sum(measure.sum() for measure in measures))
    if not trace > 0:
        raise DataError(
            "no substitution is true in any row of the table, so that none can be drawn. Pass rows "
            "in which the formula can be true."
        )
    if not math.isfinite(trace):
        raise MagnitudeError(
            "the values K(x, x) of the rows add up to more than 1.8e308, the end of float64. Use "
            "normalize=True."
        )
    ends = np.cumsum(np.concatenate(measures))
    drawn = np.searchsorted(ends, generator.random(n_components) * ends[-1], side="right")
    drawn = np.minimum(drawn, np.flatnonzero(np.concatenate(measures))[-1])
    lists = []
    for number, (space, sampler) in enumerate(zip(spaces, samplers, strict=True)):
        rows = drawn[drawn // table.n_rows == number] % table.n_rows
        if not len(rows):
            continue
        found = features_of(space.expansion, sampler.draw(table, rows, generator))
        found = _grouped(found, places[number])
        chances = space.weight * _sums(found, table, squares) / trace
        weights = found.weights * space.weight / (n_components * chances)
        lists.append(replace(found, weights=weights))
    squared = (trace / table.n_rows) ** 2 / n_components
    return ChosenFeatures(merged(lists), lengths, False, squared, n_components)


def inclusion_probabilities(shares: FloatArray, number: int) -> FloatArray:
    """min(1, c·share), with c such that they add up to a number, or 1 for all that are positive.

    Examples
    --------
    >>> inclusion_probabilities(np.array([6.0, 1.0, 0.0, 1.0]), 2)
    array([1. , 0.5, 0. , 0.5])
    """
    order = np.argsort(-shares, kind="stable")
    ordered = shares[order]
    if np.count_nonzero(shares) <= number:
        return (shares > 0).astype(np.float64)
    rest = np.cumsum(ordered[::-1])[::-1]
    left = number - np.arange(number)
    certain = int(np.argmax(ordered[:number] * left < rest[:number]))
    chances = np.ones_like(shares)
    chances[order[certain:]] = ordered[certain:] * ((number - certain) / rest[certain])
    return np.minimum(chances, 1.0)


def pivotal_sample(chances: FloatArray, generator: np.random.Generator) -> NDArray[np.intp]:
    """Positions, each with its chance, as many as the chances add up to; negatively dependent.

    Two at a time, in order: chances a and b become (a + b, 0) or (0, a + b), or where they pass 1
    together (1, a + b − 1) or (a + b − 1, 1), so that each stays what it was on average.

    Examples
    --------
    >>> pivotal_sample(np.array([1.0, 0.5, 0.0, 0.5]), np.random.default_rng(0)).tolist()
    [0, 1]
    """
    selected = np.flatnonzero(chances >= 1.0).tolist()
    unsure = np.flatnonzero((chances > 0.0) & (chances < 1.0))
    if not len(unsure):
        return np.array(selected, dtype=np.intp)
    values, luck = chances[unsure].tolist(), generator.random(len(unsure)).tolist()
    held, at = values[0], 0
    for place in range(1, len(values)):
        both = held + values[place]
        if both < 1.0:
            if luck[place] * both < values[place]:
                at = place
            held = both
        elif luck[place] * (2.0 - both) < 1.0 - values[place]:
            selected.append(int(unsure[at]))
            held, at = both - 1.0, place
        else:
            selected.append(int(unsure[place]))
            held = both - 1.0
    if luck[0] < held:
        selected.append(int(unsure[at]))
    return np.sort(np.array(selected, dtype=np.intp))
