"""Binary propositions packed by proposition: which examples each of them is true on.

Kernels read a table row by row; a search over conjunctions reads it column by column, because the
cover of a conjunction (the examples on which all of its propositions are true) is the AND of
columns.  Bit j of word w of a column is example 64·w + j; the bits behind the last example are 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.binary import BinaryTable, read_binary
from formulakern.encoding.bits import Words, n_words, pack_rows, select_bits, unpack_rows
from formulakern.errors import DataError, ParameterError

__all__ = ["PackedPropositions", "read_propositions"]

#: Examples that are transposed at once; a multiple of 64.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class PackedPropositions:
    """p propositions on m examples, 64 examples to a word.

    Parameters
    ----------
    words : ndarray of shape (p, ceil(m / 64)), uint64, C-contiguous
        Bit j of word w of row i: whether proposition i is true on example 64·w + j.
    n_examples : int
        m; the bits behind it are 0.

    Examples
    --------
    >>> propositions = PackedPropositions.of([[1, 0, 1], [0, 1, 1]])
    >>> propositions.words.tolist(), propositions.n_examples
    ([[1], [2], [3]], 2)
    >>> propositions.cover((0, 2)), propositions.count((2,))
    (array([ True, False]), 2)
    """

    words: Words
    n_examples: int

    @classmethod
    def of(cls, values: object) -> PackedPropositions:
        """Read a table of 0 and 1, one row an example, one column a proposition.

        Parameters
        ----------
        values : array, sparse matrix, DataFrame, Table or BinaryTable of shape (m, p)
            As :func:`formulakern.encoding.binary.read_binary` reads it.

        Raises
        ------
        DataError
            If an entry is neither 0 nor 1, or values is no table.

        Notes
        -----
        O(m·p) bit operations, in blocks of examples.
        """
        table = values if isinstance(values, BinaryTable) else read_binary(values)
        return cls(_transposed(table.words, table.n_columns), table.n_rows)

    @property
    def n_propositions(self) -> int:
        """p, the number of propositions."""
        return len(self.words)

    def restrict(self, rows: NDArray[Any]) -> PackedPropositions:
        """The propositions on some of the examples only.

        Parameters
        ----------
        rows : ndarray of shape (n,), int, or of shape (m,), bool
            The examples that are kept, in this order, or a mask.

        Raises
        ------
        ParameterError
            If a mask has another length than m, or a position is out of range.
        """
        rows = np.asarray(rows)
        if rows.dtype == np.bool_:
            if rows.shape != (self.n_examples,):
                raise ParameterError(
                    f"a mask of shape {rows.shape} for {self.n_examples} examples; "
                    "a mask has one entry per example."
                )
            rows = np.flatnonzero(rows)
        rows = rows.astype(np.intp, copy=False)
        if rows.size and not (rows.min() >= 0 and rows.max() < self.n_examples):
            raise ParameterError(
                f"rows are numbered 0 to {self.n_examples - 1}; got {rows.min()} to {rows.max()}."
            )
        return PackedPropositions(select_bits(self.words, self.n_examples, rows), len(rows))

    def cover(self, conjunction: Iterable[int]) -> NDArray[np.bool_]:
        """On which examples all of these propositions are true.

        Parameters
        ----------
        conjunction : iterable of int
            Positions of propositions; none is the conjunction that is true everywhere.

        Returns
        -------
        ndarray of shape (m,), bool
        """
        packed = self.covers([tuple(conjunction)])
        covered: NDArray[np.bool_] = unpack_rows(packed, self.n_examples)[0] != 0
        return covered

    def covers(self, conjunctions: Sequence[Sequence[int]]) -> Words:
        """The covers of many conjunctions, packed.

        Parameters
        ----------
        conjunctions : sequence of sequence of int

        Returns
        -------
        ndarray of shape (len(conjunctions), ceil(m / 64)), uint64

        Raises
        ------
        ParameterError
            If a position is out of range.
        """
        covers = np.repeat(pack_rows(np.ones((1, self.n_examples), np.bool_)), len(conjunctions), 0)
        for place in range(max(map(len, conjunctions), default=0)):
            rows = [r for r, conjunction in enumerate(conjunctions) if len(conjunction) > place]
            positions = np.array([conjunctions[r][place] for r in rows], dtype=np.intp)
            if positions.min() < 0 or positions.max() >= len(self.words):
                raise ParameterError(
                    f"propositions are numbered 0 to {len(self.words) - 1}; "
                    f"got {positions.min()} to {positions.max()}."
                )
            covers[rows] &= self.words[positions]
        return covers

    def count(self, conjunction: Iterable[int]) -> int:
        """The number of examples on which all of these propositions are true."""
        return int(np.count_nonzero(self.cover(conjunction)))

    @cached_property
    def first_equal(self) -> NDArray[np.intp]:
        """For every proposition the first one that is true on the same examples; shape (p,).

        >>> PackedPropositions.of([[1, 0, 1], [0, 1, 0]]).first_equal
        array([0, 1, 0])
        """
        first: dict[bytes, int] = {}
        return np.array(
            [first.setdefault(row.tobytes(), i) for i, row in enumerate(self.words)], dtype=np.intp
        )


def read_propositions(values: object) -> PackedPropositions:
    """Propositions that a search can work on: packed, or a table that is packed first.

    Parameters
    ----------
    values : PackedPropositions, or what :meth:`PackedPropositions.of` takes

    Raises
    ------
    DataError
        If there is no example or no proposition.
    """
    packed = values if isinstance(values, PackedPropositions) else PackedPropositions.of(values)
    if packed.words.shape != (packed.n_propositions, n_words(packed.n_examples)):
        raise DataError(
            f"packed propositions of shape {packed.words.shape} do not hold "
            f"{packed.n_examples} examples. Build them by PackedPropositions.of(table)."
        )
    if packed.n_examples == 0 or packed.n_propositions == 0:
        raise DataError(
            f"{packed.n_examples} examples of {packed.n_propositions} propositions; a search "
            "needs at least one of each."
        )
    return packed


def _transposed(rows: Words, n_columns: int) -> Words:
    """Bits (example, proposition), packed along propositions → packed along examples."""
    columns = np.zeros((n_columns, n_words(len(rows)) * 8), dtype=np.uint8)
    for start in range(0, len(rows), BLOCK):
        bits = unpack_rows(rows[start : start + BLOCK], n_columns)
        packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
        columns[:, start // 8 : start // 8 + packed.shape[1]] = packed
    return columns.view("<u8").astype(np.uint64, copy=False)
