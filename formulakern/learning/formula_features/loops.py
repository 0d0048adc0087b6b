"""Compiled: features of packed columns, 64 rows at a time, as sums and as rows of a sparse matrix.

A feature is a few steps of AND and XOR.  They are taken on *planes*: WIDTH words, 64 rows each, of
every column, of intermediate results and of CHUNK features.  The words of 64 features for the same
rows are a square of 64 × 64 bits, which is transposed in place: its words then say which of the 64
features are true in one row, and their ones are read off in order.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.compilation import compiled, intrinsic
from formulakern.encoding.bits import ones

__all__ = ["CHUNK", "FeatureProgram", "count_true", "fill_rows", "sum_true"]

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
    """The place of the lowest bit that is 1; 64 if none is."""

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
    """The words of the columns from ``begin`` on; 0 behind the last."""
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
    """Which of the features of a chunk are true in each row; the number of squares."""
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
    """Write how many features are true in every row, in words from start to stop.

    Parameters
    ----------
    program : FeatureProgram
    start, stop : int
        Words of 64 rows.
    counts : ndarray of shape (64 W,), int64
    """
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
    """Σ over the rows in which a feature is true of a measure, for each feature.

    Parameters
    ----------
    program : FeatureProgram
    measure : ndarray of shape (64 W,), float64
        0 behind the last row.
    sums : ndarray of shape (F,), float64
        Is written.
    """
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

    Parameters
    ----------
    data, indices : ndarray of shape (ones,)
        Are written, from ``indptr[64·start]`` on.
    program : FeatureProgram
    start, stop : int
    indptr : ndarray of shape (rows + 1,), int64
    values : ndarray of shape (F,), float64
        Of a feature where it is true.
    group : ndarray of shape (F,), int64
    factors : ndarray of shape (groups, rows), float64
        What the values of the features of a group are multiplied by, for every row.
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
