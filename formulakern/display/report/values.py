"""What a report shows, as values: tables, figures of how good a model is, reasons, columns."""

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
    """A column of a table that can be sorted.

    Parameters
    ----------
    title : str
    values : sequence
        Numbers, nan where there is none; texts for the kinds "text" and "rule".
    kind : {"text", "rule", "number", "share", "signed"}
        A share has a bar from 0 to 1, a signed number one to either side of 0.
    texts : sequence of str, optional
        How numbers are written; by default in one format for all.
    marks : sequence of float, optional
        Of a share: where a mark stands in its bar.
    help : str
        What the column means, in one sentence.
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
    """A table that can be sorted.

    Parameters
    ----------
    caption : str
    columns : sequence of ListedColumn
        All of one length.
    total : int, optional
        How many rows there would be, where some are left out.
    filtered : bool
        Whether there is a field to search in it.
    note : str
        A sentence below.
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
    """What was learned: sentences, tables, and texts that stand as they are."""

    sentences: Sequence[str] = ()
    tables: Sequence[ListedTable] = ()
    texts: Sequence[tuple[str, str]] = ()  # title, text


@dataclass(frozen=True)
class Curve:
    """A line: x and y of its points, and what it is called.

    ``bars`` are intervals of y, shape (2, points), where they are known; ``value`` is said beside
    the name, and ``about`` is a sentence below.
    """

    name: str
    x: FloatArray
    y: FloatArray
    value: str = ""
    bars: FloatArray | None = None
    about: str = ""


@dataclass(frozen=True)
class Classified:
    """How good predictions of classes are.

    Parameters
    ----------
    classes : sequence of str
        The classes of the confusion matrix.
    confusion : sequence of sequences of int
        Rows that are of a class, in columns the predicted one.
    roc : sequence of Curve
        False positives and true positives, as shares.
    calibration : Curve, optional
        Predicted probability, and the share of rows for which it came true.
    rules : Curve, optional
        Number of rules, and accuracy.
    majority : float
        The share of the largest class.
    missing : sequence of str
        Sentences: what is not shown, and why.
    """

    classes: Sequence[str]
    confusion: Sequence[Sequence[int]]
    roc: Sequence[Curve] = ()
    calibration: Curve | None = None
    rules: Curve | None = None
    majority: float = math.nan
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Regressed:
    """How good predictions of numbers are.

    Parameters
    ----------
    truth, predicted : sequences of float
        Of some rows.
    errors : ndarray of float64
        Predicted less true, of all rows.
    rules : Curve, optional
        Number of rules, and R².
    target : str
    missing : sequence of str
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

    Parameters
    ----------
    title : str
        What the score is of.
    start : float
        The intercept.
    terms : sequence of (int, float)
        Number of a text of :class:`Reasons`, and what it adds; the largest first.
    total : float
    others : (int, float)
        How many further terms there are, and what they add together.
    """

    title: str
    start: float
    terms: Sequence[tuple[int, float]]
    total: float
    others: tuple[int, float] = (0, 0.0)


@dataclass(frozen=True)
class Step:
    """A rule that was asked about a row: number of its text, what came of it, and why."""

    term: int
    state: Literal["decides", "false"]
    why: str = ""


@dataclass(frozen=True)
class Reason:
    """Why one row was predicted as it was.

    Parameters
    ----------
    row : int
        Its number in the table, from 1.
    predicted, truth : str
        ``truth`` is "" where it is not known.
    right : bool or None
        None where that has no meaning.
    sentence : str
        What decided.
    entries : sequence of str
        The entries of the row.
    sums : sequence of ScoreSum
    steps : sequence of Step
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
    """Why rows were predicted as they were.

    Parameters
    ----------
    columns : sequence of str
        Of the table.
    terms : sequence of str
        The texts of rules, or of what else adds up.
    rows : sequence of Reason
    total : int
        How many rows were given.
    what : str
        What a term is called: "rule".
    sentence : str
        How to read it.
    """

    columns: Sequence[str]
    terms: Sequence[str]
    rows: Sequence[Reason]
    total: int
    what: str = "rule"
    sentence: str = ""


@dataclass(frozen=True)
class ColumnSummary:
    """A column of the rows that were given, and what is asked of it.

    Parameters
    ----------
    name, kind : str
    n_propositions, n_rules : int, or None where not known
        How many propositions, and rules of the model, are about it.
    cuts : sequence of (float, str)
        Cut points, where numbers are compared with them.
    missing, unseen : float
        Shares of the entries; ``unseen`` is nan where it has no meaning.
    counts : sequence of int
        Rows in bins of equal width, or rows of the most frequent values.
    ends : (float, float)
        Of the bins; not a number for values.
    values : sequence of str
        What is counted, of a column of values.
    known : str
        Values of training, or what else is known of them.
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
    """What the rows looked like: sentences, the target, the columns."""

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

    Parameters
    ----------
    title : str
    subtitle : str
    tiles : sequence of (str, str, str)
        What, its value, and what to compare it with.
    learned : Learned
    quality : Classified, Regressed or str
        A text says why there is none.
    reasons : Reasons
    data : DataSummary or str
    parameters : str
        How the model was made.
    made_by : str
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
