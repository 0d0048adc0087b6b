"""A report of a model as an HTML page: the values of its templates."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from formulakern.markup import rendered
from formulakern.text import significant

Range = tuple[float, float]


@dataclass(frozen=True)
class ListedColumn:
    """A column of a sorted table.

    Unknown numbers are nan.  A share has a bar from 0 to 1 with ``marks``; a signed number has a
    bar on either side of 0.  ``words`` replace the numbers.
    """

    title: str
    values: Sequence[Any]
    kind: Literal["text", "rule", "number", "share", "signed"] = "text"
    marks: Sequence[float] | None = None
    help: str = ""
    words: Sequence[str] | None = None

    @property
    def is_number(self) -> bool:
        """True if the column is sorted by numbers."""
        return self.kind in ("number", "share", "signed")

    @cached_property
    def texts(self) -> list[str]:
        """The values as text; "" for an unknown number."""
        if not self.is_number:
            return list(map(str, self.values))
        numbers = self._known
        if self.words is not None:
            texts = list(self.words)
        elif self.kind == "share":
            texts = [f"{x:.1%}" for x in numbers]
        elif self.kind in ("number", "signed") and all(x == int(x) for x in numbers):
            texts = [f"{int(x):,}" for x in numbers]
        else:
            texts = significant(numbers)
        known = iter([re.sub("^-", "\N{MINUS SIGN}", text) for text in texts])
        return [next(known) if math.isfinite(x) else "" for x in self.values]

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The start of the bars of signed numbers, and the largest absolute number."""
        zero = 0.5 if min(self._known, default=0.0) < 0 else 0.0
        return zero, max(map(abs, self._known), default=0.0) or 1.0

    @property
    def _known(self) -> list[float]:
        return [float(x) for x in self.values if math.isfinite(x)]


@dataclass(frozen=True)
class ListedTable:
    """A sorted table of columns of equal length.

    ``total`` is the number of rows before some were left out.  A ``filtered`` table has a search
    field.  ``note`` is a sentence below the table.
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
    """Sentences, tables, and titled preformatted texts about a learned model.

    The tables of a score ``card`` are arranged in a row at the top of the page.
    """

    sentences: Sequence[str] = ()
    tables: Sequence[ListedTable] = ()
    texts: Sequence[tuple[str, str]] = ()
    card: bool = False


def page(**values: Any) -> str:
    """Return a report as a self-contained HTML page.

    All text is escaped, and the page's policy forbids it to load anything.  The template
    ``report/page.html`` lists the values.
    """
    return rendered("report/page.html", rule_parts=rule_parts, ticks=ticks, **values)


def ticks(low: float, high: float, number: int = 5) -> list[float]:
    """Return about ``number`` round numbers from ``low`` to ``high``.

    >>> ticks(0, 1), ticks(0, 43), ticks(2, 2)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 10.0, 20.0, 30.0, 40.0], [2.0])
    """
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [float(low)]
    rough = span / number
    unit = 10.0 ** math.floor(math.log10(rough))
    step = min((m * unit for m in (1, 2, 5, 10)), key=lambda m: abs(m - rough))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return list(dict.fromkeys(float(f"{k * step:.12g}") for k in range(first, last + 1)))


def around(values: npt.ArrayLike, room: float = 0.0) -> Range:
    """Return the range of the values, extended on both sides by a share of it.

    >>> around([1, 2], 0.5), around([3])
    ((0.5, 2.5), (2.5, 3.5))
    """
    low, high = float(np.min(values)), float(np.max(values))
    more = room * (high - low) if high > low else 0.5
    return low - more, high + more


#: Connectives and relations of a rule, which are less prominent than its conditions.
SIGNS = re.compile(r"(?<= )(&|\||\^|->|<->|<=|>=|!=|<|>|=|is not missing|is missing)(?= |$)|~")
CONNECTIVES = ("&", "|", "^", "->", "<->", "~")
#: Maximum number of characters of a rule; longer rules are shown as plain text.
MAX_RULE_CHARACTERS = 2000


def rule_parts(text: str) -> list[tuple[str, str]]:
    """Split a rule into parts with tags: "b" for connectives, "i" for relations, "" otherwise.

    >>> rule_parts("odor = foul & `a & b`")
    [('', 'odor '), ('i', '='), ('', ' foul '), ('b', '&'), ('', ' '), ('', '`a & b`')]
    """
    if len(text) > MAX_RULE_CHARACTERS:
        return [("", text)]
    parts: list[tuple[str, str]] = []
    for number, piece in enumerate(re.split(r"(`[^`]*`?)", text)):
        end = 0
        for sign in () if number % 2 else SIGNS.finditer(piece):  # odd pieces are quoted names
            parts.append(("", piece[end : sign.start()]))
            parts.append(("b" if sign[0] in CONNECTIVES else "i", sign[0]))
            end = sign.end()
        parts.append(("", piece[end:]))
    return [part for part in parts if part[1]]
