"""Pairs of tables for a kernel: read once, with counts and bit panels for each domain."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, aligned
from formulakern.encoding.packed import PackedTable, check_same_columns, paired_rows
from formulakern.encoding.strict import RealTable, read_packed, read_real
from formulakern.errors import DataError
from formulakern.tables.read import column_positions

#: Rows of x that are counted at a time, and rows of z in a panel (see :mod:`.loops`).
ROWS, PANEL = 4, 16

Counts = npt.NDArray[np.int64]
#: ``write(rows, columns, block)`` stores K for these rows of x and columns (rows of z) in a
#: float64 block with contiguous rows.  ``columns.start`` is a multiple of 16.  Several threads may
#: call a writer at once.
BlockWriter: TypeAlias = Callable[[slice, slice, FloatArray], object]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PairedTables:
    """The data of two tables x and z that a program reads."""

    #: Number of columns of every domain.
    sizes: tuple[int, ...]
    #: Number of ones of every row in every domain: (domains, rows).
    x_counts: Counts
    z_counts: Counts
    #: The bits: (rows of x, then ROWS − 1 rows of zeros, words).  ROWS can be read from any row on.
    x_words: Words
    #: The bits of z, PANEL rows next to each other: (panels, words, PANEL).
    z_panels: Words
    #: The words of domain g are ``spans[g] … spans[g + 1]``.
    spans: Counts
    #: True if z is x.
    symmetric: bool

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of x and of z."""
        return self.x_counts.shape[1], self.z_counts.shape[1]

    def rows_at(self, rows: npt.NDArray[np.intp]) -> PairedTables:
        """Return a pair with some rows of x, in any order, and the same layout of z."""
        words = _extended(self.x_words[rows], ROWS - 1)
        return replace(self, x_counts=self.x_counts[:, rows], x_words=words, symmetric=False)

    def joint_counts(self, rows: slice, columns: slice) -> Counts:
        """Return ⟨x,z⟩ of every domain for a block of pairs, int64 (domains, rows, columns)."""
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
        x_words=_extended(x_words, ROWS - 1),
        z_panels=_panels(z_words),
        spans=spans,
        symmetric=symmetric,
    )


def _stacked(tables: Sequence[PackedTable]) -> Counts:
    return np.ascontiguousarray([table.counts for table in tables], dtype=np.int64)


def _side_by_side(words: list[Words]) -> Words:
    return words[0] if len(words) == 1 else np.hstack(words)


def _extended(words: Words, n_rows: int) -> Words:
    """Return a copy with some rows of zeros at the end."""
    return np.vstack([words, np.zeros((n_rows, words.shape[1]), dtype=np.uint64)])


def _panels(words: Words) -> Words:
    padded = _extended(words, -len(words) % PANEL)
    shape = (len(padded) // PANEL, padded.shape[1], PANEL)
    panels = aligned(shape, np.uint64)
    panels[...] = padded.reshape(shape[0], PANEL, shape[1]).transpose(0, 2, 1)
    return panels


# -- the tables that a kernel receives

Value = TypeVar("Value")

Columns = tuple[int, ...] | None


class RowPair:
    """Rows x and z of any kind; ``z`` is None if it is x."""

    def __init__(self, x: Any, z: Any) -> None:
        self.x, self.z = x, z
        self._made: dict[Hashable, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of X and of Z."""
        return self.x.n_rows, self.x.n_rows if self.z is None else self.z.n_rows

    @property
    def symmetric(self) -> bool:
        """True if Z is X."""
        return self.z is None

    def rows_of_x(self) -> Self:
        """Pair X with itself."""
        return self if self.z is None else self._alone(self.x)

    def rows_of_z(self) -> Self:
        """Pair Z with itself."""
        return self if self.z is None else self._alone(self.z)

    def _alone(self, rows: Any) -> Self:
        pair = object.__new__(type(self))
        RowPair.__init__(pair, rows, None)
        return pair

    def remembered(self, owner: object, make: Callable[[Self], Value]) -> Value:
        """Return ``make(pair)``, computed once for each owner."""
        _, value = self._once(id(owner), lambda: (owner, make(self)))  # keeps the owner alive
        return value

    def _once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        if key not in self._made:
            self._made[key] = make()
        value: Value = self._made[key]
        return value


class TablePair(RowPair):
    """Tables X and Z of 0 and 1 with equal columns, read and checked.

    The Gram matrix is symmetric if ``Z`` is None or the same object as X.  With ``real``, other
    finite numbers are accepted; if one of the tables holds any, both are read as real tables.
    """

    def __init__(self, X: Any, Z: Any = None, *, real: bool = False) -> None:
        alone = Z is None or Z is X
        read: Callable[..., PackedTable | RealTable] = read_packed
        try:
            x, z = read(X, role="X"), None if alone else read(Z, role="Z")
        except DataError:
            if not real:
                raise
            read = read_real
            x, z = read(X, role="X"), None if alone else read(Z, role="Z")
        super().__init__(x, z)
        if z is not None:
            check_same_columns(x, z)

    @property
    def is_real(self) -> bool:
        """True if the tables hold real values, and therefore have no counts."""
        return isinstance(self.x, RealTable)

    @property
    def values(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The entries of X and of Z, both float64 (rows, n), for real tables only."""
        x, z = self.x, self.x if self.z is None else self.z
        if not (isinstance(x, RealTable) and isinstance(z, RealTable)):
            raise DataError("tables of 0 and 1 are packed; use their counts, by tables().")
        return x.values, z.values

    def columns_of(self, domain: str | None, domains: Mapping[str, Any]) -> Columns:
        """Return the columns of a domain by position in X, or None for all of them."""
        if domain is None:
            return None
        if domain not in domains:
            known = ", ".join(map(repr, domains)) or "none"
            raise DataError(
                f"the formula names the domain {domain!r}, but the kernel has the domains {known}. "
                f"Pass the columns of the domain: domains={{{domain!r}: [columns]}}."
            )
        return column_positions(self.x, domains[domain])

    def tables(self, columns: tuple[Columns, ...]) -> PairedTables:
        """Return the tables laid out for counting, one domain per entry of ``columns``."""

        def laid_out() -> PairedTables:
            x = [self._select(self.x, chosen) for chosen in columns]
            z = None if self.z is None else [self._select(self.z, chosen) for chosen in columns]
            return pair_tables(x, z)

        return self._once(columns, laid_out)

    def _select(self, table: PackedTable | RealTable, columns: Columns) -> PackedTable:
        if isinstance(table, RealTable):
            raise DataError("a table of real numbers has no counts; use its values.")
        if columns is None:
            return table
        return self._once((table is self.x, columns), lambda: table.select(columns))
