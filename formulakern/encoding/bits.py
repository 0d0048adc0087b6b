"""Rows of 0 and 1, packed 64 to a word.

Bit j of word w is column 64·w + j; the bits after the last column are 0.  The number of columns
that are 1 in two rows is the population count of the AND of their words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.compilation import compiled, intrinsic
from formulakern.errors import DataError

#: Packed rows: uint64, shape (n_rows, n_words).
Words = NDArray[np.uint64]

#: The number of bytes of a block of rows, so that intermediate results stay in the cache.
BLOCK_BYTES = 1 << 20

#: The smallest number of entries for which two threads share the rows.
THREADED_ENTRIES = 1 << 20

#: The number of rows that NumPy transposes at once, a multiple of 64, and the smallest number of
#: bits for which compiled code is faster.
TRANSPOSED_ROWS, MIN_COMPILED_BITS = 4096, 1 << 26
#: The number of squares of 64 × 64 bits that are transposed together.
SQUARES = 8


def n_words(n_columns: int) -> int:
    """Return the number of 64-bit words of one row: ceil(n_columns / 64)."""
    return -(-n_columns // 64)


def pack_rows(values: NDArray[Any]) -> Words:
    """Pack a table of 0 and 1, 64 columns to a word.

    The table is bool, of any integer or floating point dtype, or of objects, in any memory layout.
    Words are C-contiguous, of shape (n_rows, ceil(n_columns / 64)), padded with 0.  Raise DataError
    if an entry is neither 0 nor 1.

    >>> pack_rows(np.array([[1, 0, 1], [0, 1, 0]])).ravel()
    array([5, 2], dtype=uint64)
    """
    if values.ndim != 2:
        raise DataError(f"pack_rows() expects a table of two dimensions; got shape {values.shape}.")
    n_rows, n_columns = values.shape
    packed = np.zeros((n_rows, 8 * n_words(n_columns)), dtype=np.uint8)

    def work(start: int, stop: int) -> bool:
        for block in row_blocks(start, stop, n_columns * values.itemsize):
            bits = _zeros_and_ones(values[block])
            if bits is None:
                return False
            packed[block, : -(-n_columns // 8)] = np.packbits(bits, axis=1, bitorder="little")
        return True

    if not all(_share_rows(work, n_rows, values.size)):
        row, column = first_offence(values) or (0, 0)
        raise DataError(
            f"row {row}, column {column} holds {values[row, column]!r}; expected 0 or 1."
        )
    return packed.view("<u8").astype(np.uint64, copy=False)


def pack_coordinates(
    rows: NDArray[np.integer[Any]], columns: NDArray[np.integer[Any]], shape: tuple[int, int]
) -> Words:
    """Pack a table given by the coordinates of its ones, sorted by row and then by column."""
    width = n_words(shape[1])
    words = np.zeros((shape[0], width), dtype=np.uint64)
    if len(columns):
        places = rows * width + (columns >> 6)
        bits = np.uint64(1) << (columns & 63).astype(np.uint64)
        first = np.flatnonzero(np.diff(places, prepend=-1))
        words.reshape(-1)[places[first]] = np.bitwise_or.reduceat(bits, first)
    return words


def all_ones(n: int) -> Words:
    """Return n packed ones, uint64 of shape (ceil(n / 64),)."""
    words = np.full(n_words(n), ~np.uint64(0))
    if n % 64:
        words[-1] >>= np.uint64(64 - n % 64)
    return words


def transposed(words: Words, n_columns: int) -> Words:
    """Return the transpose of a packed table."""
    if len(words) * n_columns >= MIN_COMPILED_BITS:
        turned = np.empty((n_columns, n_words(len(words))), dtype=np.uint64)
        transpose_words(np.ascontiguousarray(words), turned)
        return turned
    columns = np.zeros((n_columns, n_words(len(words)) * 8), dtype=np.uint8)
    for start in range(0, len(words), TRANSPOSED_ROWS):
        bits = unpack_rows(words[start : start + TRANSPOSED_ROWS], n_columns)
        packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
        columns[:, start // 8 : start // 8 + packed.shape[1]] = packed
    return columns.view("<u8").astype(np.uint64, copy=False)


def unpack_rows(words: Words, n_columns: int) -> NDArray[np.uint8]:
    """Return the unpacked table, uint8 of shape (n_rows, n_columns)."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_columns, bitorder="little")


def row_counts(words: Words) -> NDArray[np.int64]:
    """Return the number of ones in every row, int64 of shape (n_rows,)."""
    counts: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return counts


def select_bits(words: Words, n_columns: int, columns: NDArray[np.intp]) -> Words:
    """Return packed rows of the given columns, in this order."""
    if len(words) * len(columns) >= MIN_COMPILED_BITS:
        return transposed(transposed(words, n_columns)[columns], len(words))
    selected = np.empty((len(words), n_words(len(columns))), dtype=np.uint64)

    def work(start: int, stop: int) -> None:
        for block in row_blocks(start, stop, n_columns):
            bits = unpack_rows(words[block], n_columns)
            selected[block] = pack_rows(bits[:, columns])

    _share_rows(work, len(words), len(words) * n_columns)
    return selected


def is_zero_or_one(value: object) -> bool:
    """Return True if a Python object is a bool or a number equal to 0 or 1."""
    return isinstance(value, (bool, int, float, np.bool_, np.number)) and bool(
        value == 0 or value == 1
    )


#: The same for an array of objects.
_are_zero_or_one = np.frompyfunc(is_zero_or_one, 1, 1)


def first_offence(values: NDArray[Any]) -> tuple[int, int] | None:
    """Return the row and column of the first entry that is neither 0 nor 1, or None."""
    for block in row_blocks(0, values.shape[0], values.shape[1] * values.itemsize):
        part = values[block]
        if _zeros_and_ones(part) is None:
            if part.dtype.kind in "biufc":
                right = (part == 0) | (part == 1)
            else:
                right = _are_zero_or_one(part.astype(object)).astype(np.bool_)
            row, column = divmod(int(np.argmin(right)), values.shape[1])
            return block.start + row, column
    return None


def row_blocks(start: int, stop: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices of rows from start to stop, of about ``BLOCK_BYTES`` each."""
    step = max(1, BLOCK_BYTES // max(1, row_bytes))
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def _zeros_and_ones(block: NDArray[Any]) -> NDArray[Any] | None:
    """Return a block as bool or uint8 in C order, or None if it has values other than 0 and 1."""
    if block.dtype == object and _are_zero_or_one(block).all():
        block = (block == 1).astype(np.bool_)
    if block.dtype.kind not in "biuf":
        return None
    if block.dtype.itemsize == 1:
        octets = np.ascontiguousarray(block).view(np.uint8)
        return octets if block.dtype == np.bool_ or octets.max(initial=0) <= 1 else None
    if block.dtype == np.float16:  # comparing bits is ten times as fast
        pattern = block.view(np.uint16)
        ones, others = pattern == 0x3C00, (pattern & 0x7FFF) != 0
    else:
        ones, others = block == 1, block != 0  # NaN is not equal to 0
    return np.ascontiguousarray(ones) if np.array_equal(ones, others) else None


def _share_rows(work: Callable[[int, int], Any], n_rows: int, n_entries: int) -> list[Any]:
    """Call ``work`` on all rows, in two threads if the table is large."""
    if n_entries < THREADED_ENTRIES or n_rows < 2 or (os.cpu_count() or 1) < 2:
        return [work(0, n_rows)]
    middle = n_rows // 2
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(work, middle, n_rows)
        return [work(0, middle), second.result()]


@intrinsic
def ones(_: Any, word: Any) -> Any:
    """Return the number of ones in a word, in compiled functions."""

    def code(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), code


@compiled("void(Array(uint64, 2, 'C', readonly=True), uint64[:, ::1])")
def transpose_words(words: Any, columns: Any) -> None:
    """Write the transpose of a packed table, several squares of 64 × 64 bits at once."""
    squares = np.empty((64, SQUARES), np.uint64)
    for block in range(0, columns.shape[1], SQUARES):
        number = min(SQUARES, columns.shape[1] - block)
        for word in range(words.shape[1]):
            for k in range(number):
                first = 64 * (block + k)
                n_rows = min(64, words.shape[0] - first)
                for i in range(n_rows):
                    squares[i, k] = words[first + i, word]
                for i in range(n_rows, 64):
                    squares[i, k] = np.uint64(0)
            transpose_squares(squares)
            for j in range(min(64, columns.shape[0] - 64 * word)):
                for k in range(number):
                    columns[64 * word + j, block + k] = squares[j, k]


@compiled()
def transpose_squares(squares: Any) -> None:
    """Transpose squares of 64 × 64 bits, (64, number), by exchanging halves down to single bits."""
    exchange(squares, 32, np.uint64(0x00000000FFFFFFFF))
    exchange(squares, 16, np.uint64(0x0000FFFF0000FFFF))
    exchange(squares, 8, np.uint64(0x00FF00FF00FF00FF))
    exchange(squares, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
    exchange(squares, 2, np.uint64(0x3333333333333333))
    exchange(squares, 1, np.uint64(0x5555555555555555))


@compiled()
def exchange(squares: Any, half: Any, mask: Any) -> None:
    """Exchange the upper right and the lower left quarter of each square of 2·half rows."""
    shift = np.uint64(half)
    for top in range(0, 64, 2 * half):
        for i in range(half):
            upper = np.uint64(top + i)
            lower = upper + shift
            for k in range(squares.shape[1]):
                moved = ((squares[upper, k] >> shift) ^ squares[lower, k]) & mask
                squares[upper, k] ^= moved << shift
                squares[lower, k] ^= moved
