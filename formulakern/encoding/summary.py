"""The different entries of each training column and their counts, from which plans are made.

Counts of partitions add up, so plans do not depend on the partitions.  Columns with very many
different numbers come to this process a few at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.cut_points import counted
from formulakern.encoding.propositions import content_of
from formulakern.errors import DataError
from formulakern.partitions.partitioned import Partitioned
from formulakern.tables.column import Column
from formulakern.tables.table import Table

#: The largest numbers of different numbers of a column in the first pass over a partition, and of
#: different texts of a column.
MAX_COUNTED_NUMBERS, MAX_TEXTS = 5_000, 1_000_000
#: The number of bytes of columns with more numbers that come to this process at a time.
MAX_GATHERED_BYTES = 1 << 28
#: The quantiles at the ends of the extent of a linear term.
OUTER = (0.025, 0.975)


def nearest_rank(share: float, n: int) -> int:
    """Return the rank, from 1, of the value that ``np.quantile(method="nearest")`` returns for n.

    >>> [nearest_rank(0.5, n) for n in (1, 2, 3, 4)]
    [1, 1, 2, 3]
    """
    return int(np.rint(share * (n - 1))) + 1


@dataclass(frozen=True, eq=False)
class Summary:
    """The different entries of one training column and the number of training rows with each.

    All missing entries are one entry.  With ``classes``, from 0, the pairs of entry and class are
    different.  If ``ends`` is given, it is the extent, and the entries and counts are incomplete.
    """

    name: str
    column: Column
    repeats: NDArray[np.int64]
    classes: NDArray[np.intp] | None = None
    ends: tuple[float, float] | tuple[()] | None = None

    def without_many(self) -> Summary:
        """Return the summary; beyond ``MAX_COUNTED_NUMBERS``, only its extent and first entries."""
        if self.column.values.dtype.kind != "f" or len(self.column) <= MAX_COUNTED_NUMBERS:
            return self
        column = replace(self.column, values=self.column.values[:MAX_COUNTED_NUMBERS].copy())
        classes = None if self.classes is None else self.classes[:MAX_COUNTED_NUMBERS].copy()
        # a view would keep the whole array in memory
        repeats = self.repeats[:MAX_COUNTED_NUMBERS].copy()
        return Summary(self.name, column, repeats, classes, self.extent() or ())

    @classmethod
    def of(cls, table: Table, name: str, classes: NDArray[np.intp] | None = None) -> Summary:
        """Return the counts of the entries of a column, or of its pairs with classes."""
        column = table.typed(name)
        if column.labels is not None:
            texts, codes = column.numbered
            labels = tuple(text for text in texts if text is not None)
            column = Column(codes, labels, column.order)
        return cls.counted(name, column, None, classes)

    @classmethod
    def counted(cls, name: str, column: Column, repeats: Any, classes: Any) -> Summary:
        """Return the summary of entries, each counted ``repeats`` times, by default once."""
        values = column.values + 0.0 if column.values.dtype.kind == "f" else column.values
        if classes is None:
            distinct, times = counted(values, repeats)
            return cls(name, replace(column, values=distinct), times)
        distinct, place = np.unique(values, return_inverse=True)
        width = int(classes.max(initial=0)) + 1
        pairs, times = counted(place * width + classes, repeats)
        groups = np.asarray(pairs % width, dtype=np.intp)
        return cls(name, replace(column, values=distinct[pairs // width]), times, groups)

    @property
    def n_rows(self) -> int:
        """The number of training rows."""
        return int(self.repeats.sum())

    @property
    def n_present(self) -> int:
        """The number of training rows whose entry is not missing."""
        return int(self.repeats[~self.column.missing].sum())

    @property
    def is_boolean(self) -> bool:
        """True if all entries that are not missing are 0 and 1 or truth values."""
        if not self.column.is_numeric or (self.classes is None and len(self.column) > 3):
            return False
        present = self.column.values[~self.column.missing]
        return bool(len(present) and ((present == 0) | (present == 1)).all())

    def extent(self) -> tuple[float, float] | None:
        """Return the outer quantiles of the finite numbers, as ``np.quantile(method="nearest")``.

        Return the extremes if the quantiles are equal, or None if the column is constant.
        """
        if self.ends is not None:
            return self.ends or None
        numbers = self.column.values.astype(np.float64)
        known = np.flatnonzero(np.isfinite(numbers))
        known = known[np.argsort(numbers[known], kind="stable")]
        if not len(known):
            return None
        totals, numbers = np.cumsum(self.repeats[known]), numbers[known]
        ranks = [nearest_rank(share, int(totals[-1])) for share in OUTER]
        least, largest = numbers[np.searchsorted(totals, ranks)].tolist()
        if least == largest:
            least, largest = float(numbers[0]), float(numbers[-1])
        return (least, largest) if least < largest else None


def summaries_of(
    read: Callable[..., Partitioned],
    classes: Sequence[NDArray[Any]] | None = None,
    many: int = MAX_COUNTED_NUMBERS,
    use: Callable[[Summary], Summary] = lambda one: one,
) -> tuple[list[Summary], list[int]]:
    """Return the summaries of all columns of a partitioned table, and the lengths of partitions.

    Each summary is replaced by the result of ``use``.  ``read`` returns partitions of tables with
    the columns of given names, by default all.  Columns with more than ``many`` numbers in a
    partition are read in further passes of up to 256 MiB.  Raise DataError if partitions have
    different columns, or different kinds of entries in a column.
    """
    found = read().map(_summaries, many if classes is None else None, each=classes)
    names, lengths = tuple(found[0][1]), [length for length, _ in found]
    number = max(1, MAX_GATHERED_BYTES // (16 * max(1, sum(lengths))))
    summaries, open_ones = {}, []
    for name in names:
        parts = [part for _, one in found if (part := one[name]) is not None]
        if len(parts) == len(found):
            summaries[name] = use(merged(parts))
        else:
            open_ones.append(name)
    for start in range(0, len(open_ones), number):
        some = open_ones[start : start + number]
        listed = [one for _, one in read(some).map(_summaries, None)]
        summaries |= {name: use(merged([one.pop(name) for one in listed])) for name in some}
    return [summaries[name] for name in names], lengths


def _summaries(
    table: Table, many: int | None, classes: NDArray[Any] | None = None
) -> tuple[int, dict[str, Summary | None]]:
    """Return the number of rows and all summaries, with None for columns of too many numbers."""
    found: dict[str, Summary | None] = {}
    classes = None if classes is None else classes.astype(np.intp)
    for name in table.names:
        one = Summary.of(table, name, classes)
        listed = many is None or one.column.labels is not None or len(one.column) <= many
        found[name] = one if listed else None
    return len(table), found


def merged(parts: Sequence[Summary]) -> Summary:
    """Return the summary of a column from the summaries of partitions.

    Raise DataError if the kinds of entries differ, or there are too many different texts.
    """
    known = [(k, part) for k, part in enumerate(parts) if not part.column.missing.all()]
    first_at, first = known[0] if known else (0, parts[0])
    for number, part in known[1:]:
        _check_alike(first_at, first, number, part)
    labels: tuple[str, ...] | None = None
    if first.column.labels is not None:
        labels = tuple(dict.fromkeys(t for part in parts for t in part.column.labels or ()))
        if len(labels) > MAX_TEXTS:
            raise DataError(
                f'column "{first.name}" has more than {MAX_TEXTS:,} different texts, like an '
                "identifier. Drop it, or replace its texts by fewer categories."
            )
        place = {text: code for code, text in enumerate(labels)}
        kind = np.min_scalar_type(len(labels))
        columns = []
        for part in parts:
            if part.column.labels is None:  # every entry is missing
                columns.append(np.full(len(part.column), len(labels), kind))
            else:
                codes = [*map(place.__getitem__, part.column.labels), len(labels)]
                columns.append(np.array(codes, kind)[part.column.values])
    else:
        dtype = _common_dtype([part for _, part in known] or [first])
        empty = [bool(len(part.column) and part.column.missing.all()) for part in parts]
        if any(empty) and dtype.kind in "biu":
            dtype = np.dtype(np.float64)
        blank = "NaT" if dtype.kind in "mM" else np.nan
        columns = [
            np.full(len(part.column), blank, dtype) if none else part.column.values.astype(dtype)
            for part, none in zip(parts, empty, strict=True)
        ]
    repeats = np.concatenate([part.repeats for part in parts])
    classes = [part.classes for part in parts if part.classes is not None]
    column = Column(np.concatenate(columns), labels, first.column.order, first.column.temporal)
    return Summary.counted(
        first.name, column, repeats, np.concatenate(classes) if classes else None
    )


def _check_alike(first_at: int, first: Summary, number: int, part: Summary) -> None:
    """Raise DataError if a column has different kinds of entries in two partitions."""
    one, other = (
        content_of(column) + f" in the order {' < '.join(column.order)}" * bool(column.order)
        for column in (first.column, part.column)
    )
    if one != other:
        raise DataError(
            f'column "{first.name}" has {one} in partition {first_at} and {other} in partition '
            f"{number}. Convert it to one dtype in all partitions, for example with astype."
        )


def _common_dtype(parts: Sequence[Summary]) -> np.dtype[Any]:
    """Return the dtype of the values of all parts."""
    columns = [part.column.values for part in parts]
    if {column.dtype.kind for column in columns} == {"i", "u"}:  # uint64 has numbers beyond int64
        below = any((column < 0).any() for column in columns if column.dtype.kind == "i")
        return np.dtype(np.float64 if below else np.uint64)
    return np.result_type(*{column.dtype for column in columns})
