"""Columns of dates, time stamps, times of day and durations, as exact counts of a unit.

In normal form such a column is ``datetime64`` (UTC for instants) or ``timedelta64`` (since midnight
for times), in days, s, ms, us or ns; NaT is a missing value.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import DataError
from formulakern.syntax.temporal import (
    DAY,
    KINDS,
    PARTS_OF,
    UNITS,
    Temporal,
    TemporalKind,
    date_of,
    days_of,
    read_temporal,
)

Truths = NDArray[np.bool_]

RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}

#: The units of columns in normal form, in nanoseconds.
LENGTHS = {"D": DAY, "s": UNITS["s"], "ms": UNITS["ms"], "us": UNITS["us"], "ns": 1}
#: NumPy's other units, and the units to which they are converted; months for stamps only.
COARSE = {"W": "D", "h": "s", "m": "s"}
MONTHS = {"Y": "D", "M": "D"}

#: The count of NaT.
MISSING = np.iinfo(np.int64).min

DURATION_TYPES = (datetime.timedelta, np.timedelta64)
#: The natures of Python objects by their classes.
TEMPORAL: dict[str, tuple[type, ...]] = {
    "temporal": (Temporal,),
    "stamp": (datetime.date, np.datetime64),  # a datetime is a date
    "time": (datetime.time,),
    "duration": DURATION_TYPES,
}
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


def is_temporal(column: NDArray[Any]) -> bool:
    """Return whether a column in normal form holds dates, times or durations."""
    return column.dtype.kind in "mM"


def unit_of_column(column: NDArray[Any]) -> str:
    """Return the unit of a column: D, s, ms, us or ns."""
    return str(np.datetime_data(column.dtype)[0])


def counts_of(column: NDArray[Any]) -> NDArray[np.int64]:
    """Return the counts of the unit as a view; counts of missing entries are meaningless."""
    return column.view(np.int64)


def value_at(column: NDArray[Any], kind: TemporalKind, count: int) -> Temporal:
    """Return the value of a count of a column's unit."""
    return Temporal(kind, count * LENGTHS[unit_of_column(column)])


# -- reading ---------------------------------------------------------------------------------------


def normal_counts(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert a ``datetime64`` or ``timedelta64`` array to a unit of the normal form.

    Raise DataError if it counts months or fractions of a nanosecond, or does not fit in 64 bits.
    """
    unit, number = np.datetime_data(values.dtype)
    to = unit if unit in LENGTHS else COARSE.get(unit)
    if values.dtype.kind == "M":
        to = to or MONTHS.get(unit)
    if unit == "generic" and np.isnat(values).all():
        to = "ns"
    if to is None:
        raise DataError(
            f'column "{name}" has dtype {values.dtype}; expected days, hours, minutes, seconds, '
            "milli-, micro- or nanoseconds. Convert it, for example with astype."
        )
    if (unit, number) == (to, 1):
        return np.array(values)
    found = values.astype(f"{values.dtype.kind}8[{to}]")
    if not np.array_equal(found.astype(values.dtype), values, equal_nan=True):
        raise DataError(
            f'column "{name}" has dtype {values.dtype}; expected values that fit into 64 bits in '
            f"[{to}]. Leave out or correct the extreme values."
        )
    return found


def of_series(series: Any, name: str) -> tuple[NDArray[Any], TemporalKind] | None:
    """Read a ``narwhals.Series`` of dates, times or durations, or return None for others."""
    import narwhals

    dtype = series.dtype
    if isinstance(dtype, narwhals.Time):  # Python's times would lose nanoseconds
        counts = series.to_polars().to_physical().fill_null(MISSING).to_numpy()
        return np.array(counts).view("m8[ns]"), "time"
    if isinstance(dtype, narwhals.Date):
        return np.array(series.to_polars().to_numpy()), "stamp"
    if not isinstance(dtype, (narwhals.Datetime, narwhals.Duration)):
        return None
    kind: TemporalKind = "duration"
    if isinstance(dtype, narwhals.Datetime):
        kind = "stamp" if dtype.time_zone is None else "instant"
    return normal_counts(series.to_numpy(), name), kind


def of_objects(values: Sequence[Any], name: str) -> tuple[NDArray[Any], TemporalKind]:
    """Read Python dates, times or durations, all of one kind; None is missing.

    Raise DataError if some stamps have a time zone and others do not.
    """
    kinds = {_kind_of_object(value) for value in values if value is not None}
    if kinds == {"stamp", "instant"}:
        raise DataError(
            f'column "{name}" holds time stamps with a time zone and others without one; expected '
            "one kind. Give all of them a time zone, or none."
        )
    if len(kinds) > 1:
        raise DataError(
            f'column "{name}" holds {" and ".join(KINDS[k][0] for k in sorted(kinds))}; expected '
            "one kind. Split it into several columns."
        )
    present = [_nanoseconds(value) for value in values if value is not None]
    for unit in ("ns", "us", "ms", "s", "D"):
        length = LENGTHS[unit]
        if all(c % length == 0 and abs(c // length) < -MISSING for c in present):
            break
    else:
        raise DataError(f'column "{name}" spans more than 64 bits of its unit. Round its values.')
    counts = [MISSING if v is None else _nanoseconds(v) // length for v in values]
    letter = "M" if kinds & {"stamp", "instant"} else "m"
    return np.array(counts, dtype=np.int64).view(f"{letter}8[{unit}]"), kinds.pop()


def _kind_of_object(value: Any) -> TemporalKind:
    if isinstance(value, Temporal):
        return value.kind
    if isinstance(value, datetime.time):
        return "time"
    if isinstance(value, DURATION_TYPES):
        return "duration"
    return "stamp" if getattr(value, "tzinfo", None) is None else "instant"


def _nanoseconds(value: Any) -> int:
    """Return the nanoseconds since 1970 (UTC for instants), since midnight, or of a duration."""
    if isinstance(value, Temporal):
        return value.nanoseconds
    for method in ("to_datetime64", "to_timedelta64"):  # pandas objects, exact to the nanosecond
        if hasattr(value, method):
            value = getattr(value, method)()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        counts = normal_counts(np.array([value]), "")
        return int(counts_of(counts)[0]) * LENGTHS[unit_of_column(counts)]
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(EPOCH, value.replace(tzinfo=None))
    elif isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        value -= EPOCH
    return int(value // MICROSECOND) * UNITS["us"]


# -- comparing -------------------------------------------------------------------------------------


def value_of_kind(value: Any, kind: TemporalKind, name: str) -> Temporal:
    """Return the value to compare with a column of this kind; raise DataError for other kinds."""
    found = read_temporal(value, kind) if isinstance(value, str) else value
    if isinstance(found, Temporal) and found.kind == kind:
        return found
    what, example = KINDS[kind]
    shown = repr(value)
    if isinstance(found, Temporal):
        shown = f"{found}, one of {KINDS[found.kind][0]}"
    raise DataError(
        f'column "{name}" holds {what}; it is compared with {shown}. Write for example {example}.'
    )


def ordered_truths(column: NDArray[Any], relation: str, value: Temporal) -> Truths:
    """Compare a column with a value of its kind exactly, in any unit of the column.

    A value between the counts c and c + 1 of the unit is above c and below c + 1.
    """
    count, between = divmod(value.nanoseconds, LENGTHS[unit_of_column(column)])
    if between and relation == "=":
        return np.zeros(len(column), dtype=np.bool_)
    bound = count + 1 if between and relation in ("<", ">=") else count
    truths = RELATIONS[relation](counts_of(column), bound)  # the bound may exceed 64 bits
    return np.asarray(truths & ~np.isnat(column), dtype=np.bool_)


def ordered_columns(left: NDArray[Any], relation: str, right: NDArray[Any]) -> Truths:
    """Compare two columns of one kind, which may have different units."""
    lengths = [LENGTHS[unit_of_column(column)] for column in (left, right)]
    (a, rest_a), (b, rest_b) = (
        np.divmod(counts_of(column), max(lengths) // length)
        for column, length in zip((left, right), lengths, strict=True)
    )
    compare = RELATIONS[relation]
    rests = compare(rest_a * lengths[0], rest_b * lengths[1])
    truths = np.where(a == b, rests, compare(a, b))
    return np.asarray(truths & ~(np.isnat(left) | np.isnat(right)), dtype=np.bool_)


def part_numbers(
    column: NDArray[Any], kind: TemporalKind, part: str, name: str
) -> NDArray[np.int64]:
    """Return a part of the calendar of every entry; it is meaningless for missing entries.

    Raise DataError if the kind has no such part, or if the part depends on a time zone.
    """
    if kind == "instant":
        raise DataError(
            f'the {part} of column "{name}" depends on a time zone. Pass local times without one: '
            "frame[name].dt.tz_localize(None) in pandas, "
            "pl.col(name).dt.replace_time_zone(None) in polars."
        )
    if part not in PARTS_OF[kind]:
        raise DataError(f'column "{name}" holds {KINDS[kind][0]}, which have no {part}.')
    length = LENGTHS[unit_of_column(column)]
    days, clock = np.divmod(counts_of(column), DAY // length)
    if part == "hour":
        return np.asarray(clock * length // UNITS["h"])
    if part == "minute":
        return np.asarray(clock * length // UNITS["m"] % 60)
    if part == "weekday":
        return np.asarray((days + 3) % 7 + 1)  # 1970-01-01 was a Thursday
    dates = days.view("M8[D]")
    months = dates.astype("M8[M]")
    if part == "day":
        return np.asarray((dates - months.astype("M8[D]")).astype(np.int64) + 1)
    years, month = np.divmod(months.astype(np.int64), 12)
    found = {"year": years + 1970, "quarter": month // 3 + 1, "month": month + 1}[part]
    return np.asarray(found)


# -- cutting ---------------------------------------------------------------------------------------

#: Steps of clocks in nanoseconds, coarsest first, and the multiple of each that is rounder still.
CLOCK = [(UNITS["h"], 6), (UNITS["m"], 15), (UNITS["s"], 15)]
CLOCK += [(10**k, 5) for k in range(8, -1, -1)]
#: The same for durations, and for dates in months.
AMOUNTS = [(DAY * 10**k, 5) for k in range(9, -1, -1)] + CLOCK
YEARS_AND_MONTHS = [(12, 10), (1, 3)]
#: Units in which columns may be measured.
MEASURES = [DAY, UNITS["h"], UNITS["m"], *(10**k for k in range(9, -1, -1))]


def roundest_between(low: int, high: int, kind: TemporalKind, closed: bool = False) -> int | None:
    """Return the roundest value between two others, in nanoseconds, or None if there is none.

    Dates are round at the first of a year, then of a month, then at midnight; times at a whole
    hour, minute, second, tenth of a second, ….  Of equally round values, the one nearest to the
    middle is returned.  Multiples of 10 years, 3 months, 6 hours, 15 minutes or 15 seconds come
    first if they are in the middle half.  ``closed`` allows ``high`` itself.

    >>> for pair in ("2020-01-15 2020-02-20", "2019-11-30 2021-02-01", "10:12:58 10:58", "3h 2d"):
    ...     low, high = map(read_temporal, pair.split())
    ...     print(Temporal(low.kind, roundest_between(low.nanoseconds, high.nanoseconds, low.kind)))
    2020-02-01
    2020-01-01
    10:30
    1d
    """
    for quarter, candidates in _levels(low + high, kind):
        for candidate in sorted(candidates, key=lambda c: (abs(2 * c - low - high), c)):
            inside = low < candidate < high or (closed and candidate == high)
            if inside and (not quarter or 2 * abs(2 * candidate - low - high) <= high - low):
                return candidate
    return None


def _levels(twice: int, kind: TemporalKind) -> Iterator[tuple[bool, tuple[int, int]]]:
    """Yield round values around half of a number, with True if only the middle half counts."""
    steps = AMOUNTS if kind == "duration" else CLOCK
    if kind in ("stamp", "instant"):
        year, month, _ = date_of(twice // (2 * DAY))
        for step, more in YEARS_AND_MONTHS:
            for size in (step * more, step):
                first = (year * 12 + month - 1) // size * size
                yield size != step, (_first_of(first), _first_of(first + size))
        steps = [(DAY, 1), *CLOCK]
    for step, more in steps:
        for size in (step * more, step):
            below = twice // (2 * size) * size
            yield size != step, (below, below + size)


def _first_of(months: int) -> int:
    """Return the first moment of a month, counted from January of the year 0."""
    days = days_of(months // 12, months % 12 + 1, 1)
    assert days is not None
    return days * DAY


def measure_of(counts: NDArray[np.int64], length: int) -> int:
    """Return the largest unit (day, hour, …) of which all counts of a length are multiples."""
    coarser = (m for m in MEASURES if m > length and not (counts % (m // length)).any())
    return next(coarser, length)


def temporal_bounds(
    low: int, high: int, kind: TemporalKind, measure: int
) -> tuple[Temporal, Temporal]:
    """Return the bounds for ``<=`` and ``>=`` that separate two neighbouring values of a column.

    Values one measure apart are the bounds themselves.  Otherwise both bounds are the roundest
    value between; for whole days, the bound for ``<=`` is the day before.

    >>> print(*temporal_bounds(0, 5 * DAY, "stamp", DAY), *temporal_bounds(0, DAY, "stamp", DAY))
    1970-01-02 1970-01-03 1970-01-01 1970-01-02
    """
    if high - low > measure:
        days = measure >= DAY
        found = roundest_between(low, high, kind, closed=days)
        if found is not None:
            low, high = (found - DAY if days else found), found
    return Temporal(kind, low), Temporal(kind, high)
