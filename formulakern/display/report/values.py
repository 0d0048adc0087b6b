"""The values that a report shows: tables, measures of quality, reasons, columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from formulakern.arrays import FloatArray

__all__ = [
    "Classified",
    "ColumnSummary",
    "Curve",
    "DataSummary",
    "Learned",
    "ListedColumn",
    "ListedTable",
    "Reason",
    "Reasons",
    "Regressed",
    "Report",
    "ScoreSum",
    "Step",
]


@dataclass(frozen=True)
class ListedColumn:
    """A column of a sorted table.

    Numbers that are not known are nan; a share has a bar from 0 to 1 with ``marks`` in it, a signed
    number has a bar on either side of 0.
    """

    title: str
    values: Sequence[Any]
    kind: Literal["text", "rule", "number", "share", "signed"] = "text"
    texts: Sequence[str] | None = None
    marks: Sequence[float] | None = None
    help: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the column is sorted by numbers."""
        return self.kind in ("number", "share", "signed")


@dataclass(frozen=True)
class ListedTable:
    """A sorted table of columns of one length.

    ``total`` is the number of rows before some were left out; a ``filtered`` table has a field to
    search in it; ``note`` is a sentence below.
    """

    caption: str
    columns: Sequence[ListedColumn]
    total: int | None = None
    filtered: bool = False
    note: str = ""

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0


@dataclass(frozen=True)
class Learned:
    """Sentences, tables, and preformatted texts with their titles, of what was learned."""

    sentences: Sequence[str] = ()
    tables: Sequence[ListedTable] = ()
    texts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Curve:
    """A line through points x, y.

    ``value`` is a figure next to the name, ``bars`` are intervals of y of shape (2, points), and
    ``about`` is a sentence below.
    """

    name: str
    x: FloatArray
    y: FloatArray
    value: str = ""
    bars: FloatArray | None = None
    about: str = ""


@dataclass(frozen=True)
class Classified:
    """The quality of predicted classes."""

    classes: Sequence[str]
    confusion: Sequence[Sequence[int]]
    roc: Sequence[Curve] = ()
    calibration: Curve | None = None
    rules: Curve | None = None
    majority: float = math.nan
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Regressed:
    """The quality of predicted numbers.

    ``truth`` and ``predicted`` are of some rows, ``errors`` (predicted − true) of all; ``rules`` is
    R² against the number of rules.
    """

    truth: FloatArray
    predicted: FloatArray
    errors: FloatArray
    rules: Curve | None = None
    target: str = "y"
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class ScoreSum:
    """A score as a sum: ``start + Σ amounts = total``.

    ``terms`` are numbers of texts of :class:`Reasons` with their amounts, the largest first;
    ``others`` is the number of further terms, and their sum.
    """

    title: str
    start: float
    terms: Sequence[tuple[int, float]]
    total: float
    others: tuple[int, float] = (0, 0.0)


@dataclass(frozen=True)
class Step:
    """A rule that was asked about a row: the number of its text, its answer, and why."""

    term: int
    state: Literal["decides", "false"]
    why: str = ""


@dataclass(frozen=True)
class Reason:
    """The reasons of one prediction, for a row that is counted from 1.

    ``right`` is None for numbers, and if the truth is not known.
    """

    row: int
    predicted: str
    truth: str
    right: bool | None
    sentence: str
    entries: Sequence[str]
    sums: Sequence[ScoreSum] = ()
    steps: Sequence[Step] = ()


@dataclass(frozen=True)
class Reasons:
    """The reasons of the first of ``total`` predictions.

    ``columns`` are those of the table, ``terms`` the texts of rules or other terms, ``what`` is the
    name of a term, and ``sentence`` explains how to read sums or steps.
    """

    columns: Sequence[str]
    terms: Sequence[str]
    rows: Sequence[Reason]
    total: int
    what: str = "rule"
    sentence: str = ""


@dataclass(frozen=True)
class ColumnSummary:
    """A column of the rows that were given.

    ``cuts`` are cut points and their texts; ``missing`` and ``unseen`` are shares of the entries;
    ``counts`` are rows in bins of equal width between ``ends``, or with each of ``values``.
    """

    name: str
    kind: str
    n_propositions: int | None
    n_rules: int | None
    cuts: Sequence[tuple[float, str]] = ()
    missing: float = 0.0
    unseen: float = math.nan
    counts: Sequence[int] = ()
    ends: tuple[float, float] = (math.nan, math.nan)
    values: Sequence[str] = ()
    known: str = ""


@dataclass(frozen=True)
class DataSummary:
    """The first of ``total`` columns, with sentences and a table of the target."""

    sentences: Sequence[str]
    columns: Sequence[ColumnSummary]
    total: int
    target: ListedTable | None = None

    @property
    def knows_unseen(self) -> bool:
        """Whether a column has a share of unseen values."""
        return any(not math.isnan(column.unseen) for column in self.columns)


@dataclass(frozen=True)
class Report:
    """All that a report shows.

    ``tiles`` are figures (name, value, note); a str for ``quality`` or ``data`` is the reason why
    the part is absent.
    """

    title: str
    subtitle: str
    tiles: Sequence[tuple[str, str, str]]
    learned: Learned
    quality: Classified | Regressed | str
    reasons: Reasons
    data: DataSummary | str
    parameters: str
    made_by: str
