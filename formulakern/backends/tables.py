"""Two 0/1 tables laid out for counting: per domain the numbers of ones, and all bits in panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, aligned
from formulakern.encoding.packed import PackedTable, paired_rows

__all__ = ["PANEL", "ROWS", "BlockWriter", "Counts", "PairedTables", "pair_tables"]

#: Rows of x that are counted together; rows of z in a panel (see :mod:`.loops`).
ROWS, PANEL = 4, 16

Counts = npt.NDArray[np.int64]
#: ``write(rows, columns, block)`` stores K for these rows of x and columns (rows of z) in a block,
#: float64, whose rows are contiguous.  ``columns.start`` is a multiple of 16.  A writer is safe to
#: call from several threads at once.
BlockWriter: TypeAlias = Callable[[slice, slice, FloatArray], object]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PairedTables:
    """What a program reads of two tables x and z."""

    #: Number of columns of every domain.
    sizes: tuple[int, ...]
    #: Number of ones of every row in every domain: (domains, rows).
    x_counts: Counts
    z_counts: Counts
    #: The bits: (rows of x padded to a multiple of ROWS by zeros, words).
    x_words: Words
    #: The bits of z, PANEL rows side by side: (panels, words, PANEL).
    z_panels: Words
    #: The words of domain g are ``spans[g] … spans[g + 1]``.
    spans: Counts
    #: Whether z is x.
    symmetric: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of x, rows of z."""
        return self.x_counts.shape[1], self.z_counts.shape[1]

    def rows_at(self, rows: npt.NDArray[np.intp]) -> PairedTables:
        """Some rows of x, in any order, against all rows of z, which are not laid out again."""
        padded = np.zeros((-(-len(rows) // ROWS) * ROWS, self.x_words.shape[1]), dtype=np.uint64)
        np.take(self.x_words, rows, axis=0, out=padded[: len(rows)])
        return replace(self, x_counts=self.x_counts[:, rows], x_words=padded, symmetric=False)

    def joint_counts(self, rows: slice, columns: slice) -> Counts:
        """⟨x,z⟩ of every domain for a block of pairs, in NumPy: int64 (domains, rows, columns).

        The memory for one word of the block is used beside the result.
        """
        x = self.x_words[rows]
        first, last = columns.start // PANEL, -(-columns.stop // PANEL)
        z = self.z_panels[first:last].transpose(1, 0, 2).reshape(self.z_panels.shape[1], -1)
        z = z[:, columns.start - first * PANEL : columns.stop - first * PANEL]
        counts = np.zeros((len(self.sizes), len(x), z.shape[1]), dtype=np.int64)
        for g in range(len(self.sizes)):
            for word in range(self.spans[g], self.spans[g + 1]):
                counts[g] += np.bitwise_count(x[:, word, None] & z[word])
        return counts


def pair_tables(
    x_domains: Sequence[PackedTable], z_domains: Sequence[PackedTable] | None
) -> PairedTables:
    """Lay out two tables, given as one :class:`PackedTable` per domain (None: z is x)."""
    symmetric = z_domains is None
    z_domains = x_domains if z_domains is None else z_domains
    words = [paired_rows(x, z) for x, z in zip(x_domains, z_domains, strict=True)]
    spans = np.cumsum([0, *(x.shape[1] for x, _ in words)], dtype=np.int64)
    x_words = _side_by_side([x for x, _ in words])
    z_words = x_words if symmetric else _side_by_side([z for _, z in words])
    return PairedTables(
        sizes=tuple(table.n_columns for table in x_domains),
        x_counts=_stacked(x_domains),
        z_counts=_stacked(z_domains),
        x_words=_padded(x_words, ROWS),
        z_panels=_panels(z_words),
        spans=spans,
        symmetric=symmetric,
    )


def _stacked(tables: Sequence[PackedTable]) -> Counts:
    return np.ascontiguousarray([table.counts for table in tables], dtype=np.int64)


def _side_by_side(words: list[Words]) -> Words:
    return words[0] if len(words) == 1 else np.hstack(words)


def _padded(words: Words, multiple: int) -> Words:
    missing = -len(words) % multiple
    if not missing:
        return np.ascontiguousarray(words)
    return np.vstack([words, np.zeros((missing, words.shape[1]), dtype=np.uint64)])


def _panels(words: Words) -> Words:
    padded = _padded(words, PANEL)
    shape = (len(padded) // PANEL, padded.shape[1], PANEL)
    panels = aligned(shape, np.uint64)
    panels[...] = padded.reshape(shape[0], PANEL, shape[1]).transpose(0, 2, 1)
    return panels
