"""Columns of dates, time stamps, times of day and durations: counts of a unit, never rounded.

In normal form such a column is ``datetime64`` (of instants in UTC) or ``timedelta64`` (of times
since midnight), in days, s, ms, us or ns, and NaT is a missing value.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import DataError
from formulakern.syntax.moments import DAY, UNITS, TemporalKind
from formulakern.syntax.temporal import KINDS, PARTS, Temporal, read_temporal

__all__ = [
    "PARTS_OF",
    "counts_of",
    "is_temporal",
    "kind_of",
    "normal_counts",
    "of_objects",
    "of_pandas",
    "of_series",
    "ordered_columns",
    "ordered_truths",
    "part_numbers",
    "temporal_nature",
    "value_at",
    "value_of_kind",
]

Truths = NDArray[np.bool_]

#: Units of columns in normal form, in nanoseconds.
LENGTHS = {"D": DAY, "s": UNITS["s"], "ms": UNITS["ms"], "us": UNITS["us"], "ns": 1}
#: Units of NumPy that are read into these, as those times a number; of stamps also months.
COARSE = {"W": "D", "h": "s", "m": "s"}
MONTHS = {"Y": "D", "M": "D"}

#: Kind → the parts of the calendar that its values have, if only in a time zone.
PARTS_OF: dict[TemporalKind, frozenset[str]] = {
    "stamp": frozenset(PARTS),
    "instant": frozenset(PARTS),
    "time": frozenset({"hour", "minute"}),
    "duration": frozenset(),
}

#: The count that is NaT.
MISSING = np.iinfo(np.int64).min

DATES = (datetime.date, np.datetime64)  # a datetime is a date
LONG = (datetime.timedelta, np.timedelta64)
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


def is_temporal(column: NDArray[Any]) -> bool:
    """Whether a column in normal form holds dates, times or durations."""
    return column.dtype.kind in "mM"


def unit_of_column(column: NDArray[Any]) -> str:
    """The unit of a column: D, s, ms, us or ns."""
    return str(np.datetime_data(column.dtype)[0])


def counts_of(column: NDArray[Any]) -> NDArray[np.int64]:
    """The counts of the unit, a view; those of missing entries mean nothing."""
    return column.view(np.int64)


def value_at(column: NDArray[Any], kind: TemporalKind, count: int) -> Temporal:
    """The value of a count of a column's unit.

    >>> value_at(np.array(["2020-02-01"], "M8[D]"), "stamp", 31)
    Temporal(kind='stamp', nanoseconds=2678400000000000)
    """
    return Temporal(kind, count * LENGTHS[unit_of_column(column)])


# -- reading ---------------------------------------------------------------------------------------


def normal_counts(values: NDArray[Any], name: str) -> NDArray[Any]:
    """A ``datetime64`` or ``timedelta64`` array in one of the units of the normal form.

    Raises
    ------
    DataError
        If it counts months, or what is shorter than a nanosecond, or does not fit in 64 bits.
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
        raise DataError(f'column "{name}" has dtype {values.dtype}, beyond 64 bits in [{to}].')
    return found


def of_pandas(series: Any, name: str) -> NDArray[Any] | None:
    """A column of pandas with a time zone or of periods, which are their first moments."""
    dtype = series.dtype
    if getattr(dtype, "tz", None) is not None and hasattr(dtype, "unit"):
        return normal_counts(series.to_numpy(dtype=f"M8[{dtype.unit}]"), name)
    if str(dtype).startswith("period["):
        return normal_counts(series.dt.to_timestamp().to_numpy(), name)
    return None


def of_series(series: Any, name: str) -> NDArray[Any] | None:
    """A ``narwhals.Series`` of dates, times or durations; None if it is another one."""
    import narwhals

    dtype = series.dtype
    if not isinstance(dtype, (narwhals.Date, narwhals.Datetime, narwhals.Duration, narwhals.Time)):
        return None
    unit, letter = "D", "M" if isinstance(dtype, (narwhals.Date, narwhals.Datetime)) else "m"
    if isinstance(getattr(series.to_native(), "dtype", None), np.dtype):
        return normal_counts(series.to_numpy(), name)
    if isinstance(dtype, narwhals.Time):
        unit = "ns"
        if not series.implementation.is_polars():  # narwhals does not tell the unit of Arrow's
            times = series.to_arrow()
            unit = str(times.type.unit)
            series = narwhals.new_series(name, times, backend="pyarrow")
            if unit in ("s", "ms"):
                series = series.cast(narwhals.Int32)
    elif isinstance(dtype, narwhals.Date):
        series = series.cast(narwhals.Int32)
    else:
        unit = dtype.time_unit
    counts = series.cast(narwhals.Int64).fill_null(MISSING).to_numpy()
    return np.array(counts, dtype=np.int64).view(f"{letter}8[{unit}]")


def temporal_nature(kind: type) -> str | None:
    """What a class of Python objects is to a column: stamp, time or duration, or none of them."""
    if issubclass(kind, Temporal):
        return "temporal"
    if issubclass(kind, DATES):
        return "stamp"
    if issubclass(kind, datetime.time):
        return "time"
    return "duration" if issubclass(kind, LONG) else None


def of_objects(values: Sequence[Any], name: str) -> NDArray[Any]:
    """A column of Python's dates, times or durations, all of one nature; None where missing.

    Raises
    ------
    DataError
        If some stamps have a time zone and others have none.
    """
    kinds = {_kind_of_object(value) for value in values if value is not None}
    if kinds == {"stamp", "instant"}:
        raise DataError(
            f'column "{name}" holds time stamps with a time zone and others without one; expected '
            "one kind. Give them all a time zone, or none."
        )
    if len(kinds) > 1:
        raise DataError(
            f'column "{name}" holds {" and ".join(KINDS[k][0] for k in sorted(kinds))}.'
        )
    present = [_nanoseconds(value) for value in values if value is not None]
    for unit in ("ns", "us", "ms", "s", "D"):
        length = LENGTHS[unit]
        if all(c % length == 0 and abs(c // length) < -MISSING for c in present):
            break
    else:
        raise DataError(f'column "{name}" spans more than 64 bits of its unit; round it.')
    counts = [MISSING if v is None else _nanoseconds(v) // length for v in values]
    letter = "M" if kinds & {"stamp", "instant"} else "m"
    return np.array(counts, dtype=np.int64).view(f"{letter}8[{unit}]")


def _kind_of_object(value: Any) -> TemporalKind:
    if isinstance(value, Temporal):
        return value.kind
    if isinstance(value, datetime.time):
        return "time"
    if isinstance(value, LONG):
        return "duration"
    return "stamp" if getattr(value, "tzinfo", None) is None else "instant"


def _nanoseconds(value: Any) -> int:
    """Since 1970 (in UTC where there is a time zone), since midnight, or long."""
    if isinstance(value, Temporal):
        return value.nanoseconds
    for method in ("to_datetime64", "to_timedelta64"):  # of pandas, exact to the nanosecond
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


def kind_of(values: Any, column: NDArray[Any]) -> TemporalKind | None:
    """What a column, read into normal form, holds; None if it is not temporal.

    Parameters
    ----------
    values : array, Series or sequence
        The column as it was given.
    column : ndarray of shape (n_rows,)
        In normal form.
    """
    if not is_temporal(column):
        return None
    dtype: Any = getattr(values, "dtype", None)
    if dtype is None or dtype is np.dtype(object):
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        present = zip(listed, ~np.isnat(column), strict=True)
        first = next((value for value, there in present if there), datetime.timedelta())
        return _kind_of_object(first)
    zone = getattr(dtype, "tz", getattr(dtype, "time_zone", None))
    if zone is None and dtype is not None:  # Arrow's types know theirs
        zone = getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)
    if column.dtype.kind == "M":
        return "instant" if zone is not None else "stamp"
    is_time = str(dtype).lower().startswith("time") and not str(dtype).startswith("timedelta")
    return "time" if is_time else "duration"


# -- comparing -------------------------------------------------------------------------------------


def value_of_kind(value: Any, kind: TemporalKind, name: str, advice: str | None = None) -> Temporal:
    """What a value is to a column of this kind; words are read.

    Raises
    ------
    DataError
        If it is of another kind, such as a stamp without time zone for a column with one.
    """
    found = read_temporal(value, kind) if isinstance(value, str) else value
    if isinstance(found, Temporal) and found.kind == kind:
        return found
    what, example = KINDS[kind]
    shown = f"{found}" if isinstance(found, Temporal) else repr(value)
    if isinstance(found, Temporal):
        shown += f", one of {KINDS[found.kind][0]}"
    raise DataError(
        f'column "{name}" holds {what}; it is compared with {shown}. '
        + (advice or f"Write for example {example}.")
    )


def ordered_truths(column: NDArray[Any], relation: str, value: Temporal) -> Truths:
    """Where a column compares so with a value of its kind; exact, whatever its unit.

    With c the count of the unit that is next below the value, x <= value is x <= c; and x >= value
    is x >= c, or x > c where the value lies between two counts.

    >>> days = np.array(["2020-02-01", "2020-02-02", "NaT"], "M8[D]")
    >>> noon = read_temporal("2020-02-01T12:00")
    >>> ordered_truths(days, ">=", noon), ordered_truths(days, "<", noon)
    (array([False,  True, False]), array([ True, False, False]))
    """
    count, rest = divmod(value.nanoseconds, LENGTHS[unit_of_column(column)])
    present, counts = ~np.isnat(column), counts_of(column)
    if not MISSING < count <= np.iinfo(np.int64).max:
        everywhere = (count < 0) == (relation in (">", ">=", "!="))
        return present if everywhere or relation == "!=" else np.zeros(len(column), dtype=np.bool_)
    compared = {
        "<": counts <= count if rest else counts < count,
        "<=": counts <= count,
        ">": counts > count,
        ">=": counts > count if rest else counts >= count,
        "=": np.zeros(len(counts), dtype=np.bool_) if rest else counts == count,
    }
    return np.asarray(compared[relation] & present, dtype=np.bool_)


def ordered_columns(left: NDArray[Any], relation: str, right: NDArray[Any]) -> Truths:
    """Where two columns of one kind compare so, whatever their units."""
    lengths = [LENGTHS[unit_of_column(column)] for column in (left, right)]
    present = ~(np.isnat(left) | np.isnat(right))
    coarse = max(lengths)
    parts = [
        np.divmod(counts_of(column), coarse // length)
        for column, length in zip((left, right), lengths, strict=True)
    ]
    (a, rest_a), (b, rest_b) = parts
    below = (a < b) | ((a == b) & (rest_a * lengths[0] < rest_b * lengths[1]))
    equal = (a == b) & (rest_a * lengths[0] == rest_b * lengths[1])
    truths = {
        "<": below, "<=": below | equal, "=": equal, ">": ~(below | equal), ">=": ~below,
    }[relation]  # fmt: skip
    return np.asarray(truths & present, dtype=np.bool_)


def part_numbers(
    column: NDArray[Any], kind: TemporalKind, part: str, name: str
) -> NDArray[np.int64]:
    """The number of a part of the calendar in every entry; of missing ones it means nothing.

    Raises
    ------
    DataError
        If the column has no such part, or has a time zone, on which it depends.
    """
    if kind == "instant":
        raise DataError(
            f'the {part} of column "{name}" depends on a time zone. Pass its local time without '
            "one: of pandas frame[name].dt.tz_localize(None), of polars "
            "pl.col(name).dt.replace_time_zone(None)."
        )
    if part not in PARTS_OF[kind]:
        raise DataError(f'column "{name}" holds {KINDS[kind][0]}, which have no {part}.')
    length = LENGTHS[unit_of_column(column)]
    days, rest = np.divmod(counts_of(column), DAY // length)
    if part in ("hour", "minute"):
        divisor = UNITS["h" if part == "hour" else "m"]
        found = rest // (divisor // length) if length < DAY else np.zeros_like(days)
        return np.asarray(found % (24 if part == "hour" else 60))
    if part == "weekday":
        return np.asarray((days + 3) % 7 + 1)  # 1970-01-01 was a Thursday
    dates = days.view("M8[D]")
    months = dates.astype("M8[M]")
    if part == "day":
        return np.asarray((dates - months.astype("M8[D]")).astype(np.int64) + 1)
    years, month = np.divmod(months.astype(np.int64), 12)
    found = {"year": years + 1970, "quarter": month // 3 + 1, "month": month + 1}[part]
    return np.asarray(found)
