"""Compiled: features of packed columns, 64 rows at a time, as sums and as rows of a sparse matrix.

A feature is a program of AND and XOR over the words of its columns.  The words of 64 features for
the same rows are a square of 64 × 64 bits, which is transposed in place: its words then say which
of the 64 features are true in one row, and their ones are read off in order.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.compilation import compiled, intrinsic

__all__ = ["Programs", "count_true", "fill_rows", "sum_true"]


class Programs(NamedTuple):
    """Features as arrays: F features, of K different functions of at most A columns.

    ``columns`` are those of a feature, ``function`` which it is.  Function k has ``arity[k]``
    arguments, the steps from ``starts[k]`` to ``starts[k + 1]``, and the ``output``; see
    :class:`formulakern.mining.templates.expansion.BitProgram`.
    """

    words: Annotated[Any, "uint64[:, ::1]"]  # (n, W)
    columns: Annotated[Any, "int64[:, ::1]"]  # (F, A)
    function: Annotated[Any, "int64[::1]"]  # (F,)
    steps: Annotated[Any, "int64[:, ::1]"]  # (steps, 3)
    starts: Annotated[Any, "int64[::1]"]  # (K + 1,)
    output: Annotated[Any, "int64[::1]"]  # (K,)
    arity: Annotated[Any, "int64[::1]"]  # (K,)


@intrinsic
def _lowest(_: Any, word: Any) -> Any:
    """The place of the lowest bit that is 1."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        from llvmlite import ir

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return word(word), code


@compiled()
def _operand(programs: Any, f: Any, register: Any, start: Any, stop: Any, registers: Any) -> Any:
    """The words of a register of a feature."""
    arity = programs.arity[programs.function[f]]
    if register < arity:
        return programs.words[programs.columns[f, register], start:stop]
    return registers[register - arity, : stop - start]


@compiled()
def _combine(kind: Any, left: Any, not_left: Any, right: Any, not_right: Any, to: Any) -> None:
    """AND or XOR of two registers, negated or not."""
    if kind == 0:
        for w in range(len(to)):
            to[w] = (left[w] ^ not_left) & (right[w] ^ not_right)
    else:
        for w in range(len(to)):
            to[w] = left[w] ^ not_left ^ right[w] ^ not_right


@compiled()
def _sign(reference: Any) -> Any:
    """All ones for a negated register."""
    return np.uint64(0) - np.uint64(reference & 1)


@compiled()
def _evaluate(programs: Any, f: Any, start: Any, stop: Any, registers: Any, to: Any) -> None:
    """Where a feature is true, in words from start to stop; register 0 is all ones."""
    k = programs.function[f]
    first, last = programs.starts[k], programs.starts[k + 1]
    output = programs.output[k]
    in_place = last > first and output >> 1 == programs.arity[k] + last - first
    for i in range(first, last):
        a, b = programs.steps[i, 1], programs.steps[i, 2]
        left = _operand(programs, f, a >> 1, start, stop, registers)
        right = _operand(programs, f, b >> 1, start, stop, registers)
        if in_place and i == last - 1:
            _combine(programs.steps[i, 0], left, _sign(a), right, _sign(b), to)
        else:
            here = registers[i - first + 1, : stop - start]
            _combine(programs.steps[i, 0], left, _sign(a), right, _sign(b), here)
    sign = _sign(output)
    if in_place:
        if output & 1:
            for w in range(len(to)):
                to[w] = ~to[w]
    else:
        source = _operand(programs, f, output >> 1, start, stop, registers)
        for w in range(len(to)):
            to[w] = source[w] ^ sign


@compiled()
def _swap(block: Any, top: Any, j: Any, mask: Any) -> None:
    """One of the six steps of a transposition: exchange parts of j bits, for all words at once."""
    shift = np.uint64(j)
    for base in range(0, 64, 2 * j):
        for k in range(base, base + j):
            upper, lower = block[top + k], block[top + k + j]
            for w in range(block.shape[1]):
                moved = ((upper[w] >> shift) ^ lower[w]) & mask
                upper[w] ^= moved << shift
                lower[w] ^= moved


@compiled()
def _transpose(block: Any) -> None:
    """Transpose each square of 64 × 64 bits: 64 rows of a block, one word of each."""
    for top in range(0, block.shape[0], 64):
        _swap(block, top, 32, np.uint64(0x00000000FFFFFFFF))
        _swap(block, top, 16, np.uint64(0x0000FFFF0000FFFF))
        _swap(block, top, 8, np.uint64(0x00FF00FF00FF00FF))
        _swap(block, top, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
        _swap(block, top, 2, np.uint64(0x3333333333333333))
        _swap(block, top, 1, np.uint64(0x5555555555555555))


@compiled()
def _most_steps(programs: Any) -> Any:
    most = 0
    for k in range(len(programs.arity)):
        most = max(most, programs.starts[k + 1] - programs.starts[k])
    return most


@compiled("void(state, int64, int64, int64[::1], int64)", state=Programs)
def count_true(programs: Any, start: Any, stop: Any, counts: Any, width: Any) -> None:
    """Add to ``counts``, by row, how many features are true, in words from start to stop.

    Parameters
    ----------
    programs : Programs
    start, stop : int
        Words of 64 rows.
    counts : ndarray of shape (64 W,), int64
    width : int
        So many words are evaluated together.
    """
    n_features = len(programs.function)
    registers = np.empty((1 + _most_steps(programs), width), np.uint64)
    registers[0] = ~np.uint64(0)
    # columns are added up bit by bit: digit d of the count of every row, 64 rows to a word
    digits = np.zeros((64, width), np.uint64)
    here = np.empty(width, np.uint64)
    for begin in range(start, stop, width):
        end = min(begin + width, stop)
        n = end - begin
        digits[:] = np.uint64(0)
        n_digits = 0
        while n_features >> n_digits:
            n_digits += 1
        for f in range(n_features):
            _evaluate(programs, f, begin, end, registers, here[:n])
            for w in range(n):
                carry = here[w]
                d = 0
                while carry:
                    carried = digits[d, w] & carry
                    digits[d, w] ^= carry
                    carry = carried
                    d += 1
        for w in range(n):
            for d in range(n_digits):
                word = digits[d, w]
                while word:
                    bit = _lowest(word)
                    counts[64 * (begin + w) + np.int64(bit)] += 1 << d
                    word &= word - np.uint64(1)


@compiled("void(state, float64[::1], float64[::1])", state=Programs)
def sum_true(programs: Any, measure: Any, sums: Any) -> None:
    """Σ over the rows in which a feature is true of a measure, for each feature.

    Parameters
    ----------
    programs : Programs
    measure : ndarray of shape (64 W,), float64
        0 behind the last row.
    sums : ndarray of shape (F,), float64
        Is written.
    """
    n_words = programs.words.shape[1]
    width = 512
    registers = np.empty((1 + _most_steps(programs), width), np.uint64)
    registers[0] = ~np.uint64(0)
    here = np.empty(width, np.uint64)
    sums[:] = 0.0
    for begin in range(0, n_words, width):
        end = min(begin + width, n_words)
        for f in range(len(programs.function)):
            _evaluate(programs, f, begin, end, registers, here[: end - begin])
            total = 0.0
            for w in range(end - begin):
                word = here[w]
                while word:
                    total += measure[64 * (begin + w) + np.int64(_lowest(word))]
                    word &= word - np.uint64(1)
            sums[f] += total


@compiled(
    "void(float64[::1], int32[::1], state, int64, int64, int64[::1], float64[::1], int64[::1],"
    " float64[:, ::1], int64)",
    "void(float32[::1], int32[::1], state, int64, int64, int64[::1], float64[::1], int64[::1],"
    " float64[:, ::1], int64)",
    state=Programs,
)
def fill_rows(
    data: Any,
    indices: Any,
    programs: Any,
    start: Any,
    stop: Any,
    indptr: Any,
    values: Any,
    group: Any,
    factors: Any,
    width: Any,
) -> None:
    """Write rows of a sparse matrix, in words of 64 rows from start to stop.

    Parameters
    ----------
    data, indices : ndarray of shape (ones,)
        Are written, from ``indptr[64·start]`` on.
    programs : Programs
    start, stop : int
    indptr : ndarray of shape (rows + 1,), int64
    values : ndarray of shape (F,), float64
        Of a feature where it is true.
    group : ndarray of shape (F,), int64
    factors : ndarray of shape (groups, rows), float64
        What the values of the features of a group are multiplied by, for every row.
    width : int
        So many words are evaluated together.
    """
    n_features, n_rows = len(programs.function), len(indptr) - 1
    n_squares = (n_features + 63) // 64
    alone = len(factors) == 1
    registers = np.empty((1 + _most_steps(programs), width), np.uint64)
    registers[0] = ~np.uint64(0)
    block = np.zeros((64 * n_squares, width), np.uint64)
    for begin in range(start, stop, width):
        end = min(begin + width, stop)
        block[n_features:] = np.uint64(0)
        for f in range(n_features):
            _evaluate(programs, f, begin, end, registers, block[f, : end - begin])
        _transpose(block)
        for w in range(end - begin):
            for t in range(min(64, n_rows - 64 * (begin + w))):
                row = 64 * (begin + w) + t
                place = indptr[row]
                factor = factors[0, row]
                for square in range(n_squares):
                    word = block[64 * square + t, w]
                    while word:
                        feature = 64 * square + np.int64(_lowest(word))
                        word &= word - np.uint64(1)
                        if not alone:
                            factor = factors[group[feature], row]
                        indices[place] = feature
                        data[place] = values[feature] * factor
                        place += 1
