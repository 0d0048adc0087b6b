r"""The features of a formula kernel, one column each: listed or sampled, and evaluated.

Substitutions that give the same function of the same columns are always true together, so w of them
are one coordinate √w: under "bound" ``a & b`` with columns (i, j) and (j, i) is one column √2.

A feature is a few steps of AND and XOR on *planes*: PLANE_WORDS words, 64 rows each, of every
column, of intermediate results and of BLOCK_FEATURES features. The words of 64 features for the
same rows are a square of 64 × 64 bits, which is transposed in place. Each of its words then marks
which of the 64 features are true in one row, and its ones are read in order.

Let a kernel be K = Σ_f w_f·φ_f φ_fᵀ, with φ_f the values of feature f in m training rows, and
s_f = w_f·‖φ_f‖², so that Σ_f s_f is the trace T of K.  A sample that holds feature f with
probability π_f, and divides w_f by it, is unbiased.

*Listed features* are drawn with π_f = min(1, c·s_f), Σ_f π_f = n, by ordered pivotal sampling: n
features, any two negatively correlated.  The entries of φ_f φ_fᵀ are not negative, so that

    E‖K̂ − K‖² ≤ Σ_f s_f²·(1/π_f − 1)                                  (Frobenius norm).

*If features are too many to list*, n are drawn independently: a row x with probability proportional
to K(x, x), then uniformly a substitution that is true in it.  A substitution then has the
probability p_f = s_f/T, and each draw adds a matrix of norm T/n exactly.  So E‖K̂ − K‖² ≤ T²/n for
any number of substitutions, and since each draw changes the norm by at most √2·T/n (McDiarmid),

    P(‖K̂ − K‖ ≥ (1 + √ln(1/δ))·T/√n) ≤ δ.

In both cases ‖K̂ − K‖ ≥ √(E/δ) has at most the probability δ, too (Markov).

A feature that is true in no training row is never drawn.  It contributes to no K(x, z) in which
one row is a training row.

*Drawing a true substitution.*  The truth values of the variables determine whether a formula is
true.  So in a row with p ones and n − p zeros a true substitution is drawn in two steps.  First its
truth values are drawn, with probabilities proportional to the number of their substitutions:
p^a·(n − p)^b for a true and b false variables (falling factorials if they hold different columns).
Then each variable gets one of the columns with its truth value.  A choice of d different features
of a formula is drawn in the same way: first how many of them are true, then each of them.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array
from scipy.special import comb

from formulakern.arrays import FloatArray, IntArray, different_groups
from formulakern.backends.tables import TablePair
from formulakern.compilation import compiled
from formulakern.encoding.bits import n_words, ones, pack_rows, transpose_squares
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.gram.matrix import row_blocks, work_off
from formulakern.kernels.algebra import Kernel, inverse_length
from formulakern.learning.feature_spaces import Space
from formulakern.mining.templates.expansion import (
    MAX_PERMUTED,
    Expansion,
    Order,
    atoms_of,
    bit_program,
    depends,
    symmetries,
    truth_table,
)
from formulakern.mining.templates.search import function_of
from formulakern.rewrite import rewrite, without_repeats
from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable, substitute
from formulakern.syntax.leaves import Choice

#: The largest number of substitutions of a formula that are listed; beyond it, a sample is drawn.
MAX_LISTED_SUBSTITUTIONS = 1 << 22
#: Instances that are extended together.
BLOCK_INSTANCES = 1 << 20


@dataclass(frozen=True)
class Function:
    """A Boolean function as a formula over s0, s1, …; functions of one table are equal."""

    formula: Formula
    arguments: tuple[Variable, ...]
    table: bytes


@dataclass(frozen=True, eq=False)
class FeatureList:
    """Features, one column each: a function of columns of a table, times the root of a weight.

    Feature f is ``functions[function[f]]`` of ``columns[f]``, which are ascending and padded with
    −1, int64 (F, most arguments).  ``weights[f]`` is its contribution to the kernel if it is true
    in both rows.  The rows of one ``group`` are divided by the same lengths.
    """

    functions: tuple[Function, ...]
    function: IntArray
    columns: IntArray
    weights: FloatArray
    group: IntArray

    def __len__(self) -> int:
        return len(self.function)

    def take(self, chosen: NDArray[np.intp]) -> FeatureList:
        """Return some of the features, in this order."""
        function, columns = self.function[chosen], self.columns[chosen]
        weights, group = self.weights[chosen], self.group[chosen]
        return FeatureList(self.functions, function, columns, weights, group)

    def sums(self, table: PackedTable, measures: FloatArray) -> FloatArray:
        """Return Σ_x μ(x) over the rows x in which a feature is true; μ (groups, m) by group."""
        whole = np.zeros((len(measures), 64 * n_words(table.n_rows)))
        whole[:, : table.n_rows] = measures
        sums = np.zeros(len(self))

        def one(features: slice, _: slice) -> None:
            part = self.take(np.arange(features.start, features.stop))
            sum_true(_program(part, table), whole, _writeable(part.group), sums[features])

        shape = len(self), n_words(table.n_rows)
        work_off(row_blocks(shape, max(BLOCK_FEATURES, len(self) // N_PARTS)), one)
        return sums

    def matrix(
        self, table: PackedTable, factors: FloatArray, dtype: DTypeLike = np.float64
    ) -> csr_array:
        """Return √weight·s(x)·φ(x) for each row and feature; ``factors`` (groups, m) are s."""
        m, words, program = table.n_rows, n_words(table.n_rows), _program(self, table)
        begins = np.zeros(64 * words + 1, dtype=np.int64)
        np.cumsum(_counts(program), out=begins[1:])
        indptr, ends = begins[: m + 1], begins[:-1].reshape(words, 64).T.copy()
        data, indices = np.empty(indptr[-1], dtype=dtype), np.empty(indptr[-1], dtype=np.int32)
        values, group = np.sqrt(self.weights), _writeable(self.group)
        _fill(program, data, indices, ends, values, group, _writeable(factors))
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        indices, indptr = indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
        return csr_array((data, indices, indptr), shape=(m, len(self)))


def list_features(space: Space) -> FeatureList:
    """Return all features of a space that can be true."""
    expansion = space.expansion
    together = _ascending(space, expansion)
    pairs = [pair for places in together for pair in itertools.pairwise(places)]
    orders = (*expansion.orders, *(Order((i,), (j,), strict=False) for i, j in pairs))
    instances = _instances(space, replace(expansion, orders=orders))
    listed = features_of(expansion, instances, _permutations(instances, together))
    leaves = space.formula.leaves
    if space.distinct and not any(isinstance(leaf, Choice) for leaf in leaves):
        listed = replace(listed, weights=np.ones(len(listed)))  # each function counts once
    total = int(listed.weights.sum())
    if total != space.size:
        raise ParameterError(
            f"{str(space.formula)!r} has {space.size:,} substitutions, but only {total:,} can be "
            "distinguished: features are not listed with more than six variables inside a choice, "
            "or with constants in a product. Use fewer variables, or variables='bound'."
        )
    kept = [k for k, f in enumerate(listed.functions) if f.formula != FALSE]
    chosen = np.flatnonzero(np.isin(listed.function, kept))
    listed = listed.take(chosen)
    return replace(listed, weights=listed.weights * space.weight)


def n_instances(space: Space) -> int:
    """Estimate the number of instances that listing the features of a space examines."""
    orders = (math.factorial(len(places)) for places in _ascending(space, space.expansion))
    return space.size // math.prod(orders)


def _ascending(space: Space, expansion: Expansion) -> list[list[int]]:
    """Return groups of exchangeable slots, whose columns are listed in one order only."""
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
    """Return the different functions among the instances of a template, with their counts."""
    numbers = np.ones(len(instances)) if numbers is None else numbers
    instances = instances.copy()
    for places in _exchangeable(expansion):
        instances[:, places] = np.sort(instances[:, places], axis=1)
    order = np.sort(instances, axis=1)
    new = np.diff(order, axis=1, prepend=-1) > 0
    # the rank of each slot's column among the different columns of an instance
    rank = np.zeros(instances.shape, dtype=np.int64)
    for slot in range(instances.shape[1]):
        rank[:, slot] = (new & (order < instances[:, slot, None])).sum(axis=1)
    first, kind = _different(rank)
    patterns = rank[first].tolist()
    functions: dict[bytes, Function] = {}
    lists = []
    for k in sorted(range(len(patterns)), key=lambda k: max(patterns[k], default=0)):
        pattern, chosen = patterns[k], np.flatnonzero(kind == k)
        needed, table = function_of(expansion, pattern, len(set(pattern)))
        if table not in functions:
            functions[table] = _written(expansion, pattern, needed, table)
        columns = instances[chosen][:, [pattern.index(i) for i in needed]]
        none = np.zeros(len(chosen), dtype=np.int64)
        lists.append(FeatureList((functions[table],), none, columns, numbers[chosen], none))
    return merged(lists)


def merged(lists: Sequence[FeatureList]) -> FeatureList:
    """Merge lists, adding the weights of equal features of a group; sort by group and columns."""
    functions: dict[bytes, Function] = {}
    for function in itertools.chain.from_iterable(listed.functions for listed in lists):
        functions.setdefault(function.table, function)
    places = {table: place for place, table in enumerate(functions)}
    wide = max((listed.columns.shape[1] for listed in lists), default=0)
    parts = [np.zeros((0, wide + 3), dtype=np.int64)]
    for listed in lists:
        place = np.array([places[f.table] for f in listed.functions], dtype=np.int64)
        padded = np.full((len(listed), wide), -1, dtype=np.int64)
        padded[:, : listed.columns.shape[1]] = listed.columns
        length = (padded >= 0).sum(axis=1)
        parts.append(np.column_stack([listed.group, length, padded, place[listed.function]]))
    keys = np.concatenate(parts)
    first, kind = _different(keys)
    keys = keys[first]
    weights = np.concatenate([np.zeros(0), *(listed.weights for listed in lists)])
    used, number = np.unique(keys[:, -1], return_inverse=True)
    written = tuple(functions.values())
    return FeatureList(
        tuple(written[k] for k in used.tolist()),
        number.reshape(-1).astype(np.int64),
        np.ascontiguousarray(keys[:, 2:-1]),
        np.bincount(kind, weights, minlength=len(first)).astype(np.float64),
        np.ascontiguousarray(keys[:, 0]),
    )


def _different(rows: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first of each set of equal rows, in lexicographic order, and each row's set."""
    if not rows.shape[1] or not len(rows):
        return np.arange(min(1, len(rows))), np.zeros(len(rows), dtype=np.intp)
    codes = (rows - rows.min(axis=0)).astype(np.uint64)
    return different_groups(codes[:, 0].astype(np.intp), codes[:, 1:])


def _exchangeable(expansion: Expansion) -> list[list[int]]:
    """Return groups of slots whose order does not change the function."""
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
    """Return the function of the needed arguments, without obvious repetitions."""
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
    """Return the number of orders of the ascending columns in exchangeable slots."""
    numbers = np.ones(len(instances))
    for places in together:
        run = np.ones(len(instances))
        for k, (i, j) in enumerate(itertools.pairwise(places)):
            run = np.where(instances[:, i] == instances[:, j], run + 1, 1)
            numbers *= (k + 2) / run
    return np.rint(numbers)


def _instances(space: Space, expansion: Expansion) -> IntArray:
    """Return every instance of a template, slot by slot: int64 of shape (N, slots)."""
    found = np.zeros((0 if expansion.empty else 1, 0), dtype=np.int64)
    for slot, place in enumerate(expansion.slots):
        columns = np.array(space.columns_of(place.variable), dtype=np.int64)
        height = max(1, BLOCK_INSTANCES // max(1, len(columns)))
        parts, n_kept = [np.zeros((0, slot + 1), dtype=np.int64)], 0
        for start in range(0, len(found), height):
            part = found[start : start + height]
            grown = np.empty((len(part) * len(columns), slot + 1), dtype=np.int64)
            grown[:, :slot] = np.repeat(part, len(columns), axis=0)
            grown[:, slot] = np.tile(columns, len(part))
            parts.append(grown[_allowed(expansion, grown)])
            n_kept += len(parts[-1])
            if n_kept > 4 * MAX_LISTED_SUBSTITUTIONS:
                raise ParameterError(
                    f"listing the substitutions of {str(space.formula)!r} needs more than "
                    f"{4 * MAX_LISTED_SUBSTITUTIONS:,} partial substitutions. Use fewer columns."
                )
        found = np.concatenate(parts)
    return found


def _allowed(expansion: Expansion, grown: IntArray) -> NDArray[np.bool_]:
    """Return True for partial instances that satisfy the conditions on their last slot."""
    last = grown.shape[1] - 1
    fits = np.ones(len(grown), dtype=np.bool_)
    for together in expansion.all_different:
        for other in together if last in together else ():
            if other < last:
                fits &= grown[:, other] != grown[:, last]
    for order in expansion.orders:
        if last == max(order.left + order.right):
            before, equal = np.zeros_like(fits), np.ones_like(fits)
            for left, right in zip(order.left, order.right, strict=True):
                before |= equal & (grown[:, left] < grown[:, right])
                equal &= grown[:, left] == grown[:, right]
            fits &= before if order.strict else before | equal
    return fits


#: Words of every plane: a whole, odd number of cache lines.
PLANE_WORDS = 40
#: Features that are evaluated together; a multiple of 64.
BLOCK_FEATURES = 2048
#: The approximate number of parts into which threads divide large work.
N_PARTS = 16


class FeatureProgram(NamedTuple):
    """Features as steps on planes.

    Planes 0 … u − 1 are columns, plane u is all ones, the planes after it are intermediate results,
    and from ``first`` on the features of a chunk.  The arguments of feature f are the first planes
    in ``arguments[f]``; the ``arities`` of its function gives their number.  A step (kind, left,
    right) is the AND (0) or XOR (1) of two references 2·register + negated: registers are the
    arguments, then plane u and the planes after it.  The last step of a function writes the plane
    of the feature.
    """

    words: Annotated[Any, "uint64[:, ::1]"]  # (n, W): the packed columns
    used: Annotated[Any, "int64[::1]"]  # (u,): the columns that are planes
    function: Annotated[Any, "int64[::1]"]  # (F,)
    arguments: Annotated[Any, "int64[:, ::1]"]  # (F, most arguments)
    arities: Annotated[Any, "int64[::1]"]  # (functions,)
    starts: Annotated[Any, "int64[::1]"]  # (functions + 1,): the steps of each function
    steps: Annotated[Any, "int64[:, ::1]"]  # (steps, 3)
    first: Annotated[Any, "int64"]


@compiled()
def _planes(program: Any) -> Any:
    """Return memory for the planes of one chunk."""
    n_features = min(BLOCK_FEATURES, (len(program.function) + 63) // 64 * 64)
    planes = np.zeros((program.first + n_features, PLANE_WORDS), np.uint64)
    planes[len(program.used)] = ~np.uint64(0)
    return planes


@compiled()
def _load(program: Any, begin: Any, planes: Any) -> None:
    """Load the words of the columns from ``begin`` on, padded with 0."""
    words = program.words
    n = min(PLANE_WORDS, words.shape[1] - begin)
    for u in range(len(program.used)):
        for w in range(n):
            planes[u, w] = words[program.used[u], begin + w]
        for w in range(n, PLANE_WORDS):
            planes[u, w] = np.uint64(0)


@compiled()
def _plane(program: Any, feature: Any, register: Any) -> Any:
    """Return the plane of a register of a feature."""
    arity = program.arities[program.function[feature]]
    if register < arity:
        return program.arguments[feature, register]
    return len(program.used) + register - arity


@compiled()
def _evaluate(program: Any, chunk: Any, planes: Any) -> Any:
    """Evaluate the features from ``chunk`` on; return their number."""
    number = min(BLOCK_FEATURES, len(program.function) - chunk)
    for f in range(number):
        k = program.function[chunk + f]
        begin, stop = program.starts[k], program.starts[k + 1]
        for i in range(begin, stop):
            kind, a, b = program.steps[i]
            not_a, not_b = np.uint64(0) - np.uint64(a & 1), np.uint64(0) - np.uint64(b & 1)
            a, b = _plane(program, chunk + f, a >> 1), _plane(program, chunk + f, b >> 1)
            to = program.first + f if i + 1 == stop else len(program.used) + 1 + i - begin
            if kind == 1:
                for w in range(PLANE_WORDS):
                    planes[to, w] = planes[a, w] ^ not_a ^ planes[b, w] ^ not_b
            else:
                for w in range(PLANE_WORDS):
                    planes[to, w] = (planes[a, w] ^ not_a) & (planes[b, w] ^ not_b)
    return number


@compiled()
def _lowest(word: Any) -> Any:
    """Return the place of the lowest bit that is 1; 64 if none is."""
    return ones(~word & (word - np.uint64(1)))


@compiled()
def _true_features(planes: Any, at: Any, w: Any, squares: Any, true: Any) -> Any:
    """List the features of a chunk that are true in a row, four at a time; return their number."""
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


@compiled("void(state, float64[:, ::1], int64[::1], float64[::1])", state=FeatureProgram)
def sum_true(program: Any, measures: Any, group: Any, sums: Any) -> None:
    """Sum over the rows in which a feature is true the measure of its group."""
    planes = _planes(program)
    sums[:] = 0.0
    for begin in range(0, program.words.shape[1], PLANE_WORDS):
        _load(program, begin, planes)
        n = min(PLANE_WORDS, program.words.shape[1] - begin)
        for chunk in range(0, len(program.function), BLOCK_FEATURES):
            for f in range(_evaluate(program, chunk, planes)):
                total, measure = 0.0, measures[group[chunk + f]]
                for w in range(n):
                    word = planes[program.first + f, w]
                    while word:
                        total += measure[64 * (begin + w) + np.int64(_lowest(word))]
                        word &= word - np.uint64(1)
                sums[chunk + f] += total


@compiled(
    "void(float64[::1], int32[::1], state, int64, int64, int64[:, ::1], float64[::1], int64[::1],"
    " float64[:, ::1])",
    "void(float32[::1], int32[::1], state, int64, int64, int64[:, ::1], float64[::1], int64[::1],"
    " float64[:, ::1])",
    state=FeatureProgram,
)
def fill_rows(
    data: Any,
    indices: Any,
    program: Any,
    start: Any,
    stop: Any,
    ends: Any,
    values: Any,
    group: Any,
    factors: Any,
) -> None:
    """Write rows of a sparse matrix, in words of 64 rows from start to stop.

    A true feature has its value times the factor of its group and row.  ``ends[t, w]`` is the start
    of row 64·w + t, and is set to its end; only this is computed if ``data`` is empty.
    """
    planes, first = _planes(program), program.first
    counted, several, n_rows = len(data) == 0, len(factors) > 1, factors.shape[1]
    places = np.empty((64, PLANE_WORDS), np.int64)
    true = np.empty(BLOCK_FEATURES + 64, np.int64)
    for begin in range(start, stop, PLANE_WORDS):
        _load(program, begin, planes)
        n = min(PLANE_WORDS, stop - begin)
        for t in range(64):
            for w in range(n):
                places[t, w] = ends[t, begin + w]
        for chunk in range(0, len(program.function), BLOCK_FEATURES):
            number = _evaluate(program, chunk, planes)
            squares = (number + 63) // 64
            planes[first + number : first + 64 * squares] = np.uint64(0)
            for square in range(squares):
                top = first + 64 * square
                transpose_squares(planes[top : top + 64])
                for t in range(64 * counted):
                    for w in range(n):
                        places[t, w] += ones(planes[top + t, w])
            if counted:
                continue
            for row in range(min(64 * n, n_rows - 64 * begin)):
                t, w = row & 63, row >> 6
                n_true = _true_features(planes, first + t, w, squares, true)
                place, factor = np.uint64(places[t, w]), factors[0, 64 * begin + row]
                for i in range(n_true):
                    feature = np.uint64(true[i]) + np.uint64(chunk)
                    if several:
                        factor = factors[group[feature], 64 * begin + row]
                    indices[place + np.uint64(i)] = feature
                    data[place + np.uint64(i)] = values[feature] * factor
                places[t, w] += n_true
        for t in range(64):
            for w in range(n):
                ends[t, begin + w] = places[t, w]


def _fill(program: Any, data: Any, indices: Any, *rest: Any) -> None:
    """Call :func:`fill_rows` for all words of rows, in threads if they are many."""
    words = program.words.shape[1]
    blocks = row_blocks((words, len(program.function)), max(PLANE_WORDS, words // N_PARTS))
    work_off(blocks, lambda w, _: fill_rows(data, indices, program, w.start, w.stop, *rest))


def _counts(program: Any) -> IntArray:
    """Return the number of true features in every row, of whole words."""
    ends = np.zeros((64, program.words.shape[1]), dtype=np.int64)
    none = np.zeros(0)
    _fill(program, none, none.astype(np.int32), ends, none, none.astype(np.int64), none[None])
    return ends.T.reshape(-1)


def _program(listed: FeatureList, table: PackedTable) -> Any:
    """Compile features to steps on the columns of a table."""
    columns = listed.columns
    used, plane = np.unique(columns[columns >= 0], return_inverse=True)
    planes = np.zeros_like(columns)  # the plane of each argument of a feature
    planes[columns >= 0] = plane.reshape(-1)
    steps = [np.zeros((0, 3), dtype=np.int64)]
    for function in listed.functions:
        program, arity = bit_program(function.formula, function.arguments), len(function.arguments)
        copy = [(0, program.output, 2 * arity)]
        last = len(program.steps) and program.output == 2 * (arity + len(program.steps))
        steps.append(program.steps if last else np.append(program.steps, copy, axis=0))
    held, lengths = used.astype(np.int64), [len(part) for part in steps]
    if table.sparse is not None:  # pack only the columns in use
        table, held = table.select(used), np.arange(len(used))
    return FeatureProgram(
        words=_writeable(table.columns),
        used=held,
        function=_writeable(listed.function),
        arguments=planes,
        arities=np.array([len(f.arguments) for f in listed.functions], dtype=np.int64),
        starts=np.cumsum(lengths, dtype=np.int64),
        steps=np.concatenate(steps),
        first=len(used) + 1 + max(lengths),
    )


def rows_of_bits(table: PackedTable, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return some rows of a table, read from its packed columns: bool of shape (rows, n)."""
    if table.sparse is not None:
        return np.asarray(table.sparse[rows].toarray() != 0)
    words = table.columns[:, rows >> 6] >> (rows & 63).astype(np.uint64)
    return np.asarray(words.T & np.uint64(1) != 0)


def _writeable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in C order, copied if it is read-only, as required by the loops."""
    return np.require(array, requirements=["C", "W"])


@dataclass(frozen=True, eq=False)
class RowLengths:
    """The lengths √K(x, x) that divide the features of a row, by group of features.

    ``domains`` are the columns of every domain of their kernels.
    """

    groups: tuple[tuple[Kernel, ...], ...]
    domains: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, spaces: Sequence[Space]) -> Self:
        """Return the different divisors of some spaces."""
        divided = [space for space in spaces if space.divisors]
        domains = {space.columns_of(v): None for space in divided for v in space.formula.variables}
        return cls(tuple(dict.fromkeys(space.divisors for space in spaces)), tuple(domains))

    def factors(self, table: PackedTable) -> FloatArray:
        """Return 1 over the product of the lengths of a row, for every group and row."""
        factors = np.ones((len(self.groups), table.n_rows))
        if any(self.groups):
            first, kind = _different(ones_by_range(table, self.domains))
            words = pack_rows(rows_of_bits(table, first))
            pair = TablePair(PackedTable.of_rows(words, table.n_columns, table.names))
            every = {kernel for group in self.groups for kernel in group}
            known = {k: inverse_length(k.diagonal_of(pair))[kind] for k in every}
            for factor, kernels in zip(factors, self.groups, strict=True):
                for kernel in kernels:
                    factor *= known[kernel]
        return factors


def ones_by_range(table: PackedTable, ranges: Sequence[Sequence[int]]) -> IntArray:
    """Return the numbers of ones of every row in some ranges of columns, int64 (m, ranges)."""
    counts = np.empty((table.n_rows, len(ranges)), dtype=np.int64)
    itself = Variable("s0")
    functions = (Function(itself, (itself,), b"\0\1"),)
    for place, columns in enumerate(ranges):
        none = np.zeros(len(columns), dtype=np.int64)
        listed = FeatureList(functions, none, np.array(columns)[:, None], np.ones(len(none)), none)
        if table.sparse is not None:
            counts[:, place] = table.select(columns).counts
        else:
            counts[:, place] = _counts(_program(listed, table))[: table.n_rows]
    return counts


#: Entries of tables that are unpacked together.
BLOCK_ENTRIES = 1 << 22
#: Attempts to draw a feature that a choice does not have yet.
MAX_REDRAWN = 10_000

Truths = NDArray[np.bool_]


class TrueSubstitutions:
    """Uniform draws from the substitutions of a formula that are true in a row."""

    def __init__(self, space: Space) -> None:
        self.size, self.ranges = float(space.size), list[tuple[int, ...]]()
        self.part = _SubFormula.of(space.formula, space, False, self.ranges)

    def counts(self, table: PackedTable) -> FloatArray:
        """Return the number of true substitutions in every row: K(x, x)."""
        ones = ones_by_range(table, self.ranges)
        first, kind = _different(ones)
        true, false = self.part.counts(ones[first])
        share = np.divide(true, true + false, out=np.zeros_like(true), where=true > 0)
        return self.size * share[kind]

    def draw(
        self, table: PackedTable, rows: NDArray[np.intp], generator: np.random.Generator
    ) -> IntArray:
        """Return one true substitution for each of some rows."""
        height = max(1, BLOCK_ENTRIES // max(1, table.n_columns))
        drawn = []
        for start in range(0, len(rows), height):
            bits = rows_of_bits(table, rows[start : start + height])
            parts = [bits[:, list(columns)] for columns in self.ranges]
            ordered = [
                np.array(columns)[np.argsort(~part, axis=1, kind="stable")]
                for columns, part in zip(self.ranges, parts, strict=True)
            ]
            ones = np.array([part.sum(axis=1) for part in parts], dtype=np.int64)
            draws = _Draws(ordered, ones.reshape(len(parts), len(bits)).T, generator)
            every = np.arange(len(bits))
            drawn.append(self.part.draw(draws, every, np.ones(len(bits), dtype=np.bool_)))
        return np.concatenate(drawn)


@dataclass(frozen=True, eq=False)
class _Draws:
    """The columns of each row by range, the ones first; and the numbers of ones."""

    ordered: list[IntArray]
    ones: IntArray
    generator: np.random.Generator

    def places(
        self,
        rows: NDArray[np.intp],
        wanted: Truths,
        weights_of: Callable[[IntArray, bool], FloatArray],
    ) -> IntArray:
        """Draw a place for each row, weighted by its numbers of ones and the wanted truth."""
        keys = np.column_stack([self.ones[rows], wanted])
        first, kind = _different(keys)
        drawn = np.zeros(len(rows), dtype=np.int64)
        for k, (*number, truth) in enumerate(keys[first].tolist()):
            here = np.flatnonzero(kind == k)
            weights = weights_of(np.array([number], dtype=np.int64), bool(truth))
            drawn[here] = self.generator.choice(len(weights), len(here), p=weights / weights.sum())
        return drawn


@dataclass(frozen=True, eq=False)
class _SubFormula:
    """A formula, or the formula inside a choice, over variables and choices.

    ``atoms`` are substituted: variables, given as the number of their range, and choices with their
    parts; ``table`` is the truth table over these. Ranges have ``sizes`` columns, and ``distinct``
    variables hold different ones. ``symmetries`` are the permutations of the atoms that give the
    same feature.
    """

    atoms: list[Any]
    table: Truths
    sizes: list[int]
    distinct: bool
    symmetries: list[tuple[int, ...]]

    @classmethod
    def of(
        cls, formula: Formula, space: Space, inside: bool, ranges: list[tuple[int, ...]]
    ) -> _SubFormula:
        """Return the part for a formula of a space, and append new ranges."""
        every = atoms_of(formula)
        table = truth_table(formula, {atom: i for i, atom in enumerate(every)})
        needed = [i for i in range(len(every)) if space.every_variable or depends(table, i)]
        table = table[tuple(slice(None) if i in needed else 0 for i in range(len(every)))]
        atoms: list[Any] = []
        for atom in (every[i] for i in needed):
            if isinstance(atom, Choice):
                atoms.append((atom, cls.of(atom.formula, space, True, ranges)))
            elif isinstance(atom, Variable):
                columns = space.columns_of(atom)
                if columns not in ranges:
                    ranges.append(columns)
                atoms.append(ranges.index(columns))
        symmetries = [tuple(range(len(atoms)))]
        if space.distinct and inside and all(isinstance(atom, int) for atom in atoms):
            symmetries = _symmetries(table, atoms, formula)
        return cls(atoms, table, [len(r) for r in ranges], space.distinct, symmetries)

    @property
    def widths(self) -> list[int]:
        """The numbers of slots of the atoms."""
        return [1 if isinstance(a, int) else a[0].degree * sum(a[1].widths) for a in self.atoms]

    # -- counting ----------------------------------------------------------------------------------

    def counts(self, ones: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of true and of false features for rows with these ones by range."""
        weights = self._weights(ones) / len(self.symmetries)
        wanted = self.table.reshape(-1)
        return weights[:, wanted].sum(axis=1), weights[:, ~wanted].sum(axis=1)

    def _weights(self, ones: IntArray) -> FloatArray:
        """Return the number of substitutions with each of the 2^atoms patterns of truth values."""
        weights = np.ones((len(ones), 1))
        for place, atom in enumerate(self.atoms):
            if isinstance(atom, int):
                # the ones among earlier variables of this range
                before = [q for q in range(place) if self.distinct and self.atoms[q] == atom]
                patterns = np.arange(1 << place)
                taken = sum((patterns >> (place - 1 - q) & 1 for q in before), 0 * patterns)
                number = ones[:, atom, None]
                true = np.maximum(number - taken, 0)
                false = np.maximum(self.sizes[atom] - number - len(before) + taken, 0)
            else:
                true, false = (n[:, None] for n in _chosen(atom[0], *atom[1].counts(ones)))
            weights = np.stack([weights * false, weights * true], axis=2).reshape(len(ones), -1)
        return weights

    # -- drawing -----------------------------------------------------------------------------------

    def draw(self, draws: _Draws, rows: NDArray[np.intp], wanted: Truths) -> IntArray:
        """Draw uniform features, true or false as wanted, for some of the rows."""
        table = self.table.reshape(-1)
        chosen = draws.places(rows, wanted, lambda n, true: self._weights(n)[0] * (table == true))
        drawn = [np.zeros((len(rows), 0), dtype=np.int64)]
        held = [drawn[0]] * len(self.sizes)  # the sorted ranks of the variables of each range
        for place, atom in enumerate(self.atoms):
            truths = (chosen >> (len(self.atoms) - 1 - place) & 1).astype(np.bool_)
            if not isinstance(atom, int):
                choice, part = atom
                drawn.append(_draw_choice(choice, part, draws, rows, truths))
                continue
            number, taken = draws.ones[rows, atom], held[atom]
            start = np.where(truths, 0, number)
            stop = np.where(truths, number, self.sizes[atom])
            inside = (taken >= start[:, None]) & (taken < stop[:, None])
            left = stop - start - inside.sum(axis=1)
            rank = start + (draws.generator.random(len(rows)) * left).astype(np.int64)
            if self.distinct:  # skip taken ranks, in order
                for k in range(taken.shape[1]):
                    rank += inside[:, k] & (taken[:, k] <= rank)
                held[atom] = np.sort(np.column_stack([taken, rank]), axis=1)
            drawn.append(draws.ordered[atom][rows, rank][:, None])
        return np.hstack(drawn)

    def names(self, drawn: IntArray) -> IntArray:
        """Return a name for each feature: the least of its images under the symmetries."""
        named, start = drawn.copy(), 0
        for atom, width in zip(self.atoms, self.widths, strict=True):
            if not isinstance(atom, int):
                choice, part = atom
                copies = drawn[:, start : start + width].reshape(len(drawn) * choice.degree, -1)
                flat = part.names(copies).reshape(len(drawn), choice.degree, -1)
                named[:, start : start + width] = _sorted_copies(flat).reshape(len(drawn), -1)
            start += width
        if len(self.symmetries) > 1:
            images = np.stack([drawn[:, list(g)] for g in self.symmetries], axis=1)
            named = _sorted_copies(images)[:, 0, :]
        return named


def _chosen(choice: Choice, true: FloatArray, false: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of true and of false choices of d of these features."""
    numbers = _by_number(choice.degree, true, false)
    holds = numbers[:, choice.least : choice.most + 1].sum(axis=1)
    rest = numbers[:, : choice.least].sum(axis=1) + numbers[:, choice.most + 1 :].sum(axis=1)
    return holds, rest


def _by_number(degree: int, true: FloatArray, false: FloatArray) -> FloatArray:
    """Return C(true, i)·C(false, d − i) for i = 0 … d, of shape (rows, d + 1)."""
    i = np.arange(degree + 1)
    return np.asarray(comb(true[:, None], i) * comb(false[:, None], degree - i))


def _draw_choice(
    choice: Choice, part: _SubFormula, draws: _Draws, rows: NDArray[np.intp], wanted: Truths
) -> IntArray:
    """Draw d different features of a part that give the choice the wanted truth value."""
    degree = choice.degree
    right = (np.arange(degree + 1) >= choice.least) & (np.arange(degree + 1) <= choice.most)

    def weights_of(ones: IntArray, true: bool) -> FloatArray:
        return np.asarray(_by_number(degree, *part.counts(ones))[0] * (right == true))

    n_true = draws.places(rows, wanted, weights_of)
    copies = np.empty((len(rows), degree, sum(part.widths)), dtype=np.int64)
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
                f"{str(choice)!r} chooses nearly all features of a row: {MAX_REDRAWN:,} draws gave "
                "no new feature. Use a smaller degree."
            )
    return copies.reshape(len(rows), -1)


def _sorted_copies(copies: IntArray) -> IntArray:
    """Sort the rows of every matrix of (matrices, rows, columns) by their bytes."""
    width = copies.shape[2]
    if not width:
        return copies
    whole = np.ascontiguousarray(copies.astype(">i8")).view(np.dtype((np.void, 8 * width)))
    order = np.argsort(whole[..., 0], axis=1, kind="stable")
    return np.asarray(np.take_along_axis(copies, order[..., None], axis=1))


def _symmetries(table: Truths, ranges: list[int], formula: Formula) -> list[tuple[int, ...]]:
    """Return the permutations of variables of one range that leave a truth table unchanged."""
    n = table.ndim
    if n > MAX_PERMUTED:
        raise ParameterError(
            f"{str(formula)!r} has {n} variables inside a choice; different features are sampled "
            f"for at most {MAX_PERMUTED}. Use fewer variables, or variables='bound'."
        )
    return symmetries(table, range(n), ranges)


#: The largest number of instances whose frequencies are counted.
MAX_COUNTED_INSTANCES = 1 << 20
#: The largest number of words of 64 rows that are read to count the listed features.
MAX_WORK = 1 << 34


@dataclass(frozen=True, eq=False)
class ChosenFeatures:
    """Features, and a bound on the error of their products.

    If ``complete``, these are all features, and products are the kernel on any rows.  Otherwise
    ``squared_error`` bounds the expected mean of (K̂ − K)² over all pairs of training rows;
    ``n_draws`` is the number of independent draws, or 0.
    """

    features: FeatureList
    lengths: RowLengths
    complete: bool
    squared_error: float
    n_draws: int = 0

    def error_bound(self, delta: float) -> float:
        """Return a bound on √ of the mean of (K̂ − K)² that fails with probability ≤ ``delta``."""
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
    """Return all features of some spaces, or a sample of at most ``n_components``."""
    lengths = RowLengths.of(spaces)
    groups = [lengths.groups.index(space.divisors) for space in spaces]
    size = sum(space.size for space in spaces)
    if n_components is None and size > MAX_LISTED_SUBSTITUTIONS:
        raise ParameterError(
            f"n_components=None requires all features, but there are {size:,} substitutions and at "
            f"most {MAX_LISTED_SUBSTITUTIONS:,} can be listed. Set n_components to the size "
            "of a sample."
        )
    most = (
        MAX_LISTED_SUBSTITUTIONS
        if n_components is None
        else max(MAX_COUNTED_INSTANCES, n_components)
    )
    if size <= MAX_LISTED_SUBSTITUTIONS and sum(map(n_instances, spaces)) <= most:
        parts = [_with_group(list_features(s), g) for s, g in zip(spaces, groups, strict=True)]
        listed = parts[0] if len(parts) == 1 else merged(parts)
        if n_components is None or len(listed) <= n_components:
            return ChosenFeatures(listed, lengths, True, 0.0)
        if len(listed) * table.columns.shape[1] <= MAX_WORK:
            return _sample_listed(listed, lengths, table, n_components, generator)
    assert n_components is not None
    return _sample_drawn(spaces, groups, lengths, table, n_components, generator)


def _with_group(listed: FeatureList, group: int) -> FeatureList:
    return replace(listed, group=np.full(len(listed), group, dtype=np.int64))


def _sample_listed(
    listed: FeatureList,
    lengths: RowLengths,
    table: PackedTable,
    n_components: int,
    generator: np.random.Generator,
) -> ChosenFeatures:
    shares = listed.weights * listed.sums(table, lengths.factors(table) ** 2)
    if not shares.any():
        raise DataError(
            f"none of {len(listed):,} features is true in any row of the table, so a sample by "
            "frequency is impossible. Use n_components=None, or other rows."
        )
    chances = inclusion_probabilities(shares, n_components)
    open_ = (chances > 0) & (chances < 1)
    squared = float((shares[open_] ** 2 * (1.0 / chances[open_] - 1.0)).sum())
    chosen = pivotal_sample(chances, generator)
    taken = replace(listed.take(chosen), weights=listed.weights[chosen] / chances[chosen])
    return ChosenFeatures(merged([taken]), lengths, False, squared / table.n_rows**2)


def _sample_drawn(
    spaces: Sequence[Space],
    groups: Sequence[int],
    lengths: RowLengths,
    table: PackedTable,
    n_components: int,
    generator: np.random.Generator,
) -> ChosenFeatures:
    squares = lengths.factors(table) ** 2
    samplers = [TrueSubstitutions(space) for space in spaces]
    measures = np.concatenate(
        [
            space.weight * squares[group] * sampler.counts(table)
            for space, group, sampler in zip(spaces, groups, samplers, strict=True)
        ]
    )
    trace = float(measures.sum())
    if not trace > 0:
        raise DataError(
            "no substitution is true in any row of the table, so none can be drawn. Pass rows in "
            "which the formula can be true."
        )
    if not math.isfinite(trace):
        raise MagnitudeError(
            "the sum of the values K(x, x) of the rows exceeds 1.8e308, the limit of float64. Use "
            "normalize=True."
        )
    places = generator.choice(len(measures), n_components, p=measures / trace)
    owner, drawn = np.divmod(places, table.n_rows)
    lists = []
    for number in np.unique(owner).tolist():
        space, rows = spaces[number], drawn[owner == number]
        found = features_of(space.expansion, samplers[number].draw(table, rows, generator))
        found = _with_group(found, groups[number])
        shares = found.sums(table, squares) / trace
        lists.append(replace(found, weights=found.weights / (n_components * shares)))
    squared = (trace / table.n_rows) ** 2 / n_components
    return ChosenFeatures(merged(lists), lengths, False, squared, n_components)


def inclusion_probabilities(shares: FloatArray, number: int) -> FloatArray:
    """Return min(1, c·share) with the sum ``number``, or 1 for every positive share."""
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
    """Return positions drawn with these chances, as many as their sum; negatively dependent.

    The chances are treated two at a time, in order: a and b become (a + b, 0) or (0, a + b), or if
    a + b > 1, (1, a + b − 1) or (a + b − 1, 1), so that each keeps its mean.
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
