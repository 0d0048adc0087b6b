"""The different values of columns and how often each is there, for parts of a table and for all.

Numbers of which a part has very many different values are not listed: of these the least and the
largest are kept, and common divisors, which tell the unit.  What else a plan asks for is found in
further passes (:mod:`.order_statistics`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.cut_points import Grain, counted, grain_of, joined_grain, within
from formulakern.encoding.summaries.summary import Summary
from formulakern.errors import DataError
from formulakern.syntax.temporal import KINDS, TemporalKind
from formulakern.tables.column import Column, text_column
from formulakern.tables.table import Table
from formulakern.tables.temporal import is_temporal

__all__ = ["MANY", "MOST_TEXTS", "ColumnCounts", "count_columns", "joined", "listed_ends"]

#: Different numbers of one part that are listed, and different texts of all parts.
MANY, MOST_TEXTS = 5_000, 1_000_000
#: So many of the least and of the largest values are always kept.
ENDS = 3


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """The entries of one column, each once, and how often they are there.

    Attributes
    ----------
    name : str
    column : ndarray of shape (m,), in normal form
        Different entries, one of them missing where some are; with ``classes`` different pairs.
    repeats : ndarray of shape (m,), int64
    classes : ndarray of shape (m,), intp, or None
    order : tuple of str
        The labels of an ordered category.
    kind : str, optional
        Of dates and times.
    grain : Grain, optional
        Where not all values are listed.
    others : int
        Entries that are not listed.
    """

    name: str
    column: NDArray[Any]
    repeats: NDArray[np.int64]
    classes: NDArray[np.intp] | None = None
    order: tuple[str, ...] = ()
    kind: TemporalKind | None = None
    grain: Grain | None = None
    others: int = 0

    @property
    def table(self) -> Table:
        """The entries as a table of one column."""
        if self.column.dtype == object:
            return Table.of_columns({self.name: Column.of_texts(self.column.tolist(), self.order)})
        return Table.of_columns({self.name: Column(self.column, temporal=self.kind)})

    @property
    def n_rows(self) -> int:
        """Entries in all."""
        return int(self.repeats.sum()) + self.others

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Which entries are neither missing nor infinite."""
        if is_temporal(self.column):
            return np.asarray(~np.isnat(self.column))
        if self.column.dtype.kind == "f":
            return np.asarray(np.isfinite(self.column))
        return np.ones(len(self.column), dtype=np.bool_)

    @property
    def empty(self) -> bool:
        """Whether every entry is missing."""
        return not self.others and bool(self.table.missing(self.name).all())

    def summary(self) -> Summary:
        """What a plan is made from."""
        assert not self.others
        return Summary(self.table, self.name, self.classes, self.repeats, self.grain)


def count_columns(
    table: Table, classes: NDArray[np.intp] | None = None, many: int = MANY
) -> tuple[ColumnCounts, ...]:
    """Count every column of a part of a table.

    Parameters
    ----------
    table : Table
    classes : ndarray of shape (n_rows,), intp, optional
        Then all pairs of an entry and a class are listed, however many there are.
    many : int
        Numbers with more different values are not listed.

    Examples
    --------
    >>> counts = count_columns(Table({"a": [2.0, None, 2.0], "b": ["x", "y", "x"]}))
    >>> [(one.column.tolist(), one.repeats.tolist()) for one in counts]
    [([2.0, nan], [2, 1]), (['x', 'y'], [2, 1])]
    """
    found = []
    for name in table.names:
        texts: tuple[str | None, ...] | None = None
        one = table.typed(name)
        codes = one.values
        if one.labels is not None:
            texts, codes = one.numbered
        groups: NDArray[np.intp] | None = None
        if classes is None:
            values, repeats = counted(codes, None)
        else:
            values, place = np.unique(codes, return_inverse=True)
            width = int(classes.max(initial=0)) + 1
            pairs, repeats = counted(place * width + classes, None)
            values, groups = values[pairs // width], np.asarray(pairs % width, dtype=np.intp)
        if texts is not None:
            values = text_column([texts[code] for code in values.tolist()])
        order, kind = table.orders.get(name, ()), table.kinds.get(name)
        counts = ColumnCounts(name, values, repeats, groups, order, kind)
        if texts is None and classes is None and len(values) > many:
            counts = listed_ends(counts)
        found.append(counts)
    return tuple(found)


def listed_ends(counts: ColumnCounts) -> ColumnCounts:
    """A column of numbers, dates or times with only its least and largest values.

    >>> few = listed_ends(count_columns(Table({"a": [5, 7, 9, 11, 13, 15, 17, 19]}))[0])
    >>> few.column.tolist(), few.others, few.grain
    ([5, 7, 9, 15, 17, 19], 2, (1,))
    """
    finite = np.flatnonzero(counts.finite)
    order = finite[np.argsort(counts.column[finite], kind="stable")]
    grain = grain_of(counts.column[finite]) if counts.grain is None else counts.grain
    kept = np.ones(len(counts.column), dtype=np.bool_)
    kept[order[ENDS : max(ENDS, len(order) - ENDS)]] = False
    others = counts.others + int(counts.repeats[~kept].sum())
    column, repeats = counts.column[kept], counts.repeats[kept]
    named = counts.name, column, repeats, None, counts.order, counts.kind
    return ColumnCounts(*named, grain, others)


def joined(parts: Sequence[ColumnCounts]) -> ColumnCounts:
    """The counts of a column from those of the parts of a table.

    Parameters
    ----------
    parts : sequence of ColumnCounts
        Of one column, at least one.

    Raises
    ------
    DataError
        If parts disagree in what the column holds, or it has too many different texts.

    Examples
    --------
    >>> parts = [count_columns(Table({"a": rows}))[0] for rows in ([2, 1], [2, 5], [])]
    >>> whole = joined(parts)
    >>> whole.column.tolist(), whole.repeats.tolist()
    ([1, 2, 5], [1, 2, 1])
    """
    told = [(number, part) for number, part in enumerate(parts) if not part.empty]
    first_at, first = told[0] if told else (0, parts[0])
    for number, part in told[1:]:
        _check_alike(first_at, first, number, part)
    dtype = _common_dtype([part for _, part in told] or [first])
    if any(part.empty and len(part.column) for part in parts) and dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    values, place = _different(np.concatenate([_as(part, dtype) for part in parts]))
    if dtype.kind == "O" and len(values) > MOST_TEXTS:
        raise DataError(
            f'column "{first.name}" has more than {MOST_TEXTS:,} different texts, as an identifier '
            "has. Leave it out, or shorten it to what rules may say."
        )
    repeats = np.concatenate([part.repeats for part in parts])
    named = first.name, values
    if first.classes is not None:
        of = np.concatenate([np.asarray(part.classes) for part in parts])
        width = int(of.max(initial=0)) + 1
        pairs, repeats = counted(place * width + of, repeats)
        groups = np.asarray(pairs % width, dtype=np.intp)
        named = first.name, values[pairs // width]
        return ColumnCounts(*named, repeats, groups, first.order, first.kind)
    _, repeats = counted(place, repeats)
    if all(part.grain is None for part in parts):
        return ColumnCounts(*named, repeats, None, first.order, first.kind)
    grains = [part.grain or grain_of(part.column[part.finite]) for _, part in told]
    others = sum(part.others for part in parts)
    grain = joined_grain(grains)
    if dtype.kind == "f":  # some parts may hold whole numbers, which have a divisor at any size
        grain = within(grain, float(np.abs(values[np.isfinite(values)]).max()))
    return listed_ends(ColumnCounts(*named, repeats, None, (), first.kind, grain, others))


def _check_alike(first_at: int, first: ColumnCounts, number: int, part: ColumnCounts) -> None:
    """Refuse a column that is not of one nature in two parts."""
    for what, one, other in (
        ("", _nature(first), _nature(part)),
        ("the order ", " < ".join(first.order), " < ".join(part.order)),
    ):
        if one != other:
            raise DataError(
                f'column "{first.name}" has {what}{one or "none"} in partition {first_at} and '
                f"{what}{other or 'none'} in partition {number}. Give it one dtype in all "
                "partitions, such as by astype."
            )


def _different(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different entries, and which of them each is."""
    if column.dtype != object:
        values, place = np.unique(column, return_inverse=True)
        return values, place
    index = {text: number for number, text in enumerate(dict.fromkeys(column.tolist()))}
    place = np.fromiter(map(index.__getitem__, column.tolist()), np.intp, len(column))
    return text_column(index), place


def _nature(part: ColumnCounts) -> str:
    """What a column holds, in words."""
    if part.kind is not None:
        return KINDS[part.kind][0]
    return "text" if part.column.dtype.kind == "O" else "numbers"


def _common_dtype(parts: Sequence[ColumnCounts]) -> np.dtype[Any]:
    """The dtype of a column of the whole table."""
    kinds = {part.column.dtype for part in parts}
    if {kind.kind for kind in kinds} == {"i", "u"}:  # whole numbers, some beyond int64
        below = any((part.column < 0).any() for part in parts if part.column.dtype.kind == "i")
        return np.dtype(np.float64 if below else np.uint64)
    return np.result_type(*kinds)


def _as(part: ColumnCounts, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The entries of a part as those of the whole table."""
    if not part.empty or part.column.dtype == dtype:
        return part.column.astype(dtype)
    if dtype.kind == "O":
        return text_column([None] * len(part.column))
    blank = "NaT" if dtype.kind in "mM" else np.nan
    return np.full(len(part.column), blank, dtype=dtype)
