"""Functions of exported files: entries of a row, read as in a table, and Choquet integrals.

These functions are copied into exported files, so they need only Python.  A missing entry is None.
Other entries are bools, numbers, texts, or moments: a kind of date or time with nanoseconds.  Text
is read as a number if a number is needed, because files contain text.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from numbers import Integral, Real
from typing import Any

from formulakern.encoding.propositions import number_of
from formulakern.syntax.temporal import DAY, EPOCH, SECOND, UNITS, date_of, read_moment
from formulakern.tables.column import read_number, spelled, to_float
from formulakern.tables.temporal import RELATIONS

Row = Mapping[str, Any]
Texts = Collection[str]


def entry(row: Row, name: str, missing: Texts = ()) -> Any:
    """Return the entry of a column; None if it is missing."""
    value = row[name]
    kind = type(value)
    if kind.__name__ in ("datetime64", "timedelta64"):
        return None if value != value else str(value)
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, str):
        text = value.strip() if missing else str(value)
        return None if text in missing else text
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if not isinstance(value, (Real, Decimal)):
        return str(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral) and -(2**63) <= int(value) < 2**64:
        return int(value)
    found = to_float(value)
    return found if found == found else None


def dated_entry(row: Row, name: str, missing: Texts = ()) -> Any:
    """Return the entry of a column, with dates, times and durations as moments."""
    value = row[name]
    if type(value).__name__ == "NaTType":  # also an instance of datetime
        return None
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return _moment_of(value)
    found = entry(row, name, missing)
    if found is not None and type(value).__name__ == "timedelta64":
        return ("duration", int(value.astype("m8[ns]").astype("int64")))
    if found is not None and type(value).__name__ == "datetime64":
        plain = value.item()  # an int if Python cannot represent the date
        return read_moment(found) if isinstance(plain, int) else _moment_of(plain)
    return found


def _moment_of(value: Any) -> tuple[str, int]:
    """Return an object of datetime or pandas as a moment."""
    kind, total = "time", datetime.timedelta()
    if isinstance(value, datetime.timedelta):
        kind, total = "duration", value
    elif isinstance(value, datetime.date):
        kind, total = "stamp", datetime.timedelta(value.toordinal() - EPOCH)
    if isinstance(value, (datetime.datetime, datetime.time)):
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        total += datetime.timedelta(0, seconds, value.microsecond)
    offset = value.utcoffset() if isinstance(value, datetime.datetime) else None
    if offset is not None:
        kind, total = "instant", total - offset
    whole = total.days * DAY + total.seconds * SECOND + total.microseconds * 1000
    return (kind, whole + int(getattr(value, "nanoseconds", getattr(value, "nanosecond", 0))))


def _unlike(name: str, found: Any, expected: str) -> ValueError:
    shown = f"a {found[0]}" if isinstance(found, tuple) else repr(found)
    return ValueError(f"column {name!r} holds {shown}; expected {expected}.")


def number(row: Row, name: str, missing: Texts = ()) -> Any:
    """Return an entry as a number; nan if it is missing."""
    found = number_or_word(row, name, missing)
    if isinstance(found, str):
        raise _unlike(name, found, "a number")
    return found


def number_or_word(row: Row, name: str, missing: Texts = ()) -> Any:
    """Return an entry as a number, or as text if it is not a number; nan if it is missing."""
    found = entry(row, name, missing)
    if isinstance(found, str):
        known = read_number(found)
        return found if known is None else known
    return math.nan if found is None else found


def factor(row: Row, name: str, missing: Texts = ()) -> float:
    """Return an entry as a float; raise ValueError if it is missing."""
    found = float(number(row, name, missing))
    if found != found:
        raise ValueError(f"column {name!r} has no value; expected a number.")
    return found


def share(row: Row, name: str, missing: Texts, least: float, largest: float) -> float:
    """Return the position of an entry between ``least`` (0) and ``largest`` (1); 0 if missing."""
    found = float(number(row, name, missing))
    return 0.0 if found != found else linear_degree(found, least, largest)


def truth(row: Row, name: str, missing: Texts = ()) -> bool:
    """Return True if an entry is true or 1; False if it is missing."""
    found = entry(row, name, missing)
    if isinstance(found, str):
        known = number_of(found)
        if known not in (0, 1):
            raise _unlike(name, found, "a truth value")
        found = known
    return bool(found == 1)


def word(row: Row, name: str, missing: Texts = ()) -> str | None:
    """Return an entry as text, with numbers as rules spell them; None if it is missing."""
    found = entry(row, name, missing)
    return None if found is None else spelled(found)


def moment(row: Row, name: str, missing: Texts, kind: Any) -> Any:
    """Return the nanoseconds of a date or time of this kind; nan if the entry is missing."""
    found = moment_or_word(row, name, missing, kind)
    if isinstance(found, str):
        raise _unlike(name, found, f"a {kind}")
    return found


def moment_or_word(row: Row, name: str, missing: Texts, kind: Any) -> Any:
    """Return the nanoseconds of a date or time of this kind; other text stays text."""
    found = dated_entry(row, name, missing)
    if found is None:
        return math.nan
    known = read_moment(found, kind) if isinstance(found, str) else found
    if known is None:
        return found
    if not isinstance(known, tuple) or known[0] != kind:
        raise _unlike(name, known, f"a {kind}")
    return known[1]


def part(row: Row, name: str, missing: Texts, of: str) -> Any:
    """Return the year, quarter, month, day, weekday, hour or minute; nan if missing."""
    found = dated_entry(row, name, missing)
    if found is None:
        return math.nan
    known = read_moment(found) if isinstance(found, str) else found
    if not isinstance(known, tuple) or known[0] not in ("stamp", "time"):
        raise _unlike(name, known or found, f"a value with a {of}")
    days, clock = divmod(known[1], DAY)
    if of in ("hour", "minute"):
        return clock // UNITS["h"] if of == "hour" else clock // UNITS["m"] % 60
    if known[0] == "time":
        raise _unlike(name, known, f"a value with a {of}")
    if of == "weekday":
        return (days + 3) % 7 + 1
    year, month, day = date_of(days)
    return {"year": year, "quarter": (month + 2) // 3, "month": month, "day": day}[of]


def compare(found: Any, relation: str, value: int | float) -> bool:
    """Compare a number with a number of at least 2⁵³, as columns of numbers do."""
    if isinstance(found, str):
        return False
    if isinstance(value, int) and abs(value) >= 2**63:
        value = float(value)
    if isinstance(value, float) or isinstance(found, float):
        found, value = float(found), float(value)
    return bool(RELATIONS[relation](found, value))


def compare_columns(row: Row, name: str, other: str, missing: Texts, relation: str) -> bool:
    """Compare two columns as numbers, as moments of one kind, or as text."""
    left, right = dated_entry(row, name, missing), dated_entry(row, other, missing)
    if left is None or right is None:
        return False
    if isinstance(left, tuple) or isinstance(right, tuple):
        if not isinstance(left, tuple) or not isinstance(right, tuple) or left[0] != right[0]:
            raise _unlike(name, left, f"the same kind as in column {other!r}")
        left, right = left[1], right[1]
    elif relation in ("<", "<=", ">", ">="):
        left, right = number(row, name, missing), number(row, other, missing)
    elif isinstance(left, str) or isinstance(right, str):
        left, right = spelled(left), spelled(right)
    if isinstance(left, float) != isinstance(right, float):
        left, right = float(left), float(right)
    return bool(RELATIONS[relation](left, right))


# -- Choquet integrals -----------------------------------------------------------------------------


def linear_degree(x: float, least: float, largest: float) -> float:
    """Return the position of x between ``least`` (0) and ``largest`` (1), from 0 to 1."""
    return min(max((x / 2 - least / 2) / (largest / 2 - least / 2), 0.0), 1.0)


def rank_degree(x: float, known: Sequence[float]) -> float:
    """Return the share of sorted numbers below x, plus half of the share equal to x."""
    return (bisect_left(known, x) + bisect_right(known, x)) / (2 * len(known))


def choquet_integral(degrees: Sequence[float], measure: Sequence[float]) -> float:
    """Return the integral of degrees by a set function; bit i of its index means column i."""
    order = sorted(range(len(degrees)), key=lambda column: -degrees[column])
    total, inside = 0.0, 0
    for place, column in enumerate(order):
        inside |= 1 << column
        below = degrees[order[place + 1]] if place + 1 < len(order) else 0.0
        total += (degrees[column] - below) * measure[inside]
    return total


def winner(scores: Sequence[float], n_classes: int) -> int:
    """Return the first class with the most votes of pairs; a score ≥ 0 votes for the second."""
    votes = [0] * n_classes
    for score, (first, second) in zip(scores, combinations(range(n_classes), 2), strict=True):
        votes[second if score >= 0 else first] += 1
    return votes.index(max(votes))
