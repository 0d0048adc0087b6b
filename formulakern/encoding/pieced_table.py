"""A table that lies in pieces, such as the partitions of a data frame of dask.

Its rows are never here.  What is known of it is what its pieces answer: what the columns hold
(:mod:`.summaries`), and what a function says of the rows of every piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from formulakern.encoding.summary import Summary, summaries_of
from formulakern.errors import DataError
from formulakern.optional import needed
from formulakern.partitions.collections import is_dask_array
from formulakern.partitions.partitioned import Partitioned, partitions_of
from formulakern.progress import stage
from formulakern.tables.table import Table

__all__ = ["PiecedTable", "summary_of"]


class PiecedTable:
    """A table in pieces, read from its source whenever a question is asked.

    Parameters
    ----------
    source : dask DataFrame, dask Array of two dimensions, or Partitioned
        The values of partitions are tables that :meth:`.Table.of` reads.
    names : sequence of str, optional
        Of the columns; those of the source by default.

    Attributes
    ----------
    names : tuple of str
    header : Table
        No rows of these columns, of the dtypes that the source tells.
    """

    ndim = 2

    def __init__(self, source: Any, names: Sequence[str] | None = None) -> None:
        self._source = source
        if isinstance(source, Partitioned):
            heads = source.map(_header)
            self.header = heads[0] if heads else Table({})
        elif is_dask_array(source):
            self.header = Table.of(np.empty((0, source.shape[1]), dtype=source.dtype))
        else:
            self.header = Table.of(source._meta)
        if names is not None:
            self.header = Table.of(self.header, names)
        self.names = self.header.names
        if len(self.names) == 0:
            raise DataError(
                "0 feature(s) while a minimum of 1 is required: the table has no columns."
            )

    def pieces(self, names: Sequence[str] | None = None) -> Partitioned:
        """Return tables with the columns of these names, or all, in partitions."""
        source = self._source
        if isinstance(source, Partitioned):
            return source.persist(_named, self.names, names)
        labels: Any = None
        own: tuple[str, ...] | None = None
        if names is not None:
            labels = [self.names.index(name) for name in names]
        if not is_dask_array(source):
            labels = list(source.columns) if labels is None else [source.columns[j] for j in labels]
            own = tuple(map(str, labels))
        kept = self.names if names is None else tuple(names)
        read = needed("dask", "A dask collection", "dask").delayed(_read_partition)
        parts = partitions_of(source, labels)
        values = [read(part, number, own, kept) for number, part in enumerate(parts)]
        return Partitioned(values, lazy=True)

    @cached_property
    def lengths(self) -> list[int]:
        """The number of rows of every piece."""
        return [int(n) for n in self.pieces().map(len)]

    def __len__(self) -> int:
        return sum(self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self), len(self.names)

    def summaries(self, classes: Partitioned | None = None) -> list[Summary]:
        """Return the summary of every column; see :func:`.summaries_of`."""
        with stage("finding propositions"):
            found, lengths = summaries_of(self.pieces, classes)
        self.__dict__["lengths"] = lengths  # so they need no pass of their own
        self._summaries = {one.name: one for one in found}
        return found

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers or truth values, once :meth:`summaries` was asked."""
        return self.summary(name).column.is_numeric

    def summary(self, name: str) -> Summary:
        """What one column holds, once :meth:`summaries` was asked."""
        return self._summaries[name]


def summary_of(table: Table | PiecedTable, name: str) -> Summary:
    """What one column of a training table holds."""
    return Summary.of(table, name) if isinstance(table, Table) else table.summary(name)


def _read_partition(
    part: Any, number: int, own: tuple[str, ...] | None, names: tuple[str, ...]
) -> Table:
    """A partition as a table of these names; its own are to be ``own``, where it has any."""
    table = Table.of(part)
    if own is not None and table.names != own:
        raise DataError(
            f"partition {number} has the columns {_listed(table.names)}; expected {_listed(own)}, "
            "as the frame says. Write the same columns in the same order in all of them."
        )
    return table if table.names == names else Table.of(table, names)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:8])
    return shown + ", …" * (len(names) > 8)


def _header(table: Any) -> Table:
    return Table.of(table)[:0]


def _named(table: Any, names: Sequence[str], some: Sequence[str] | None) -> Table:
    whole = Table.of(table, names)
    return whole if some is None else whole.select(some)
