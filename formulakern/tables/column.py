"""One column of a table: numbers, truth values, times or categories, read from any container.

Text and categories become codes of their labels, whatever the container is (pandas, polars, Arrow,
NumPy, Python objects).  Numbers become bool, int64, uint64 or float64, and times ``datetime64`` or
``timedelta64``.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import is_masked
from formulakern.errors import DataError
from formulakern.syntax.temporal import TemporalKind
from formulakern.tables.temporal import (
    TEMPORAL,
    counts_of,
    normal_counts,
    of_objects,
    of_series,
    value_at,
)

#: Text that is read as a number: a decimal, perhaps with an exponent; no underscores, nan or inf.
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*\Z", re.ASCII)
WHOLE = re.compile(r"\s*[+-]?\d+\s*\Z", re.ASCII)

#: Classes of the missing values of pandas, by name, so that pandas need not be imported.
MISSING_CLASSES = frozenset({"NAType", "NaTType"})

#: The natures of Python objects by their classes; the first match counts.
NATURES: dict[str, tuple[type, ...]] = {
    "text": (str, bytes),
    **TEMPORAL,
    "bool": (bool, np.bool_),
    "int": (numbers.Integral,),
    "float": (numbers.Real, Decimal),
}

#: Whole numbers of more characters are stored as floating-point numbers.
MAX_DIGITS = 18


@dataclass(frozen=True, eq=False)
class Column:
    """The entries of one column of a table; immutable.

    ``values`` are numbers (NaN = missing), times (NaT = missing), or the codes of a categorical
    column: places in ``labels``, and ``len(labels)`` for a missing entry.  Some labels may not
    occur.  ``order`` has all categories of an ordered column, the lowest first; ``temporal`` is the
    kind of times.

    >>> odor = Column.read(["foul", None, "none", "foul"], "odor")
    >>> odor.kind, odor.values, odor.labels, odor.missing.tolist()
    ('categorical', array([0, 2, 1, 0], dtype=uint8), ('foul', 'none'), [False, True, False, False])
    """

    values: NDArray[Any]
    labels: tuple[str, ...] | None = None
    order: tuple[str, ...] = ()
    temporal: TemporalKind | None = None

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    def __len__(self) -> int:
        return len(self.values)

    def __reduce__(self) -> tuple[object, ...]:
        return Column, (self.values, self.labels, self.order, self.temporal)

    @classmethod
    def read(cls, values: object, name: str) -> Column:
        """Read a column of any table: an array of any dtype but complex, a Series, or a sequence.

        ``name`` is for messages.  Raise DataError if the column holds complex numbers or
        containers, or is not one-dimensional.

        >>> Column.read([1, None, True], "a").values, Column.read([1, None, "x"], "a").entries
        (array([ 1., nan,  1.]), array(['1', None, 'x'], dtype=object))
        """
        if isinstance(values, Column):
            return values
        if is_pandas_series(values):
            found = _from_pandas(values, name)
        elif (series := as_series(values)) is not None:
            found = _from_series(series, name)
        elif is_masked(values):
            found = _from_objects(np.ma.asarray(values).tolist(), name)  # None for masked entries
        elif isinstance(values, np.ndarray) or hasattr(values, "__array__"):
            found = _from_numpy(np.asarray(values), name)
        elif isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
            found = _from_objects(list(values), name)
        else:
            raise DataError(
                f'column "{name}" is {values!r} ({type(values).__name__}); expected one value '
                "per row: a list, an array or a Series."
            )
        return found if isinstance(found, Column) else cls(found)

    @classmethod
    def of_texts(cls, texts: Iterable[str | None], order: tuple[str, ...] = ()) -> Column:
        """Return a categorical column of text, with None for missing entries."""
        entries = list(texts)
        labels = tuple(text for text in dict.fromkeys(entries) if text is not None)
        place: dict[str | None, int] = {text: code for code, text in enumerate((*labels, None))}
        kind = np.min_scalar_type(len(labels))
        codes = np.fromiter(map(place.__getitem__, entries), kind, len(entries))
        return cls(codes, labels, order)

    @property
    def kind(self) -> Literal["Boolean", "categorical", "ordered", "number", "time"]:
        """The kind of the entries."""
        if self.labels is not None:
            return "ordered" if self.order else "categorical"
        if self.temporal is not None:
            return "time"
        return "Boolean" if self.values.dtype == np.bool_ else "number"

    @property
    def is_numeric(self) -> bool:
        """True if the entries are numbers or truth values."""
        return self.labels is None and self.temporal is None

    @property
    def entries(self) -> NDArray[Any]:
        """The entries: numbers, times, or objects that are str or None; read-only."""
        if self.labels is None:
            return self.values
        entries: NDArray[Any] = text_column((*self.labels, None))[self.values]
        entries.flags.writeable = False
        return entries

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """A read-only mask of the missing entries."""
        if self.labels is not None:
            missing = self.values == len(self.labels)
        elif self.values.dtype.kind in "fmM":
            missing = np.isnan(self.values)
        else:
            missing = np.zeros(len(self), dtype=np.bool_)
        missing.flags.writeable = False
        return np.asarray(missing)

    @cached_property
    def numbered(self) -> tuple[tuple[str | None, ...], NDArray[Any]]:
        """The different texts that occur (None last, if missing), and the place of every entry."""
        assert self.labels is not None
        texts: tuple[str | None, ...] = (*self.labels, None)
        if len(self) < len(texts):
            used = np.unique(self.values).astype(np.intp)
        else:
            used = np.flatnonzero(np.bincount(self.values, minlength=len(texts)))
        if len(used) == used.max(initial=-1) + 1:
            return texts[: len(used)], self.values
        place = np.zeros(len(texts), dtype=np.min_scalar_type(len(used)))
        place[used] = np.arange(len(used))
        return tuple(texts[code] for code in used.tolist()), place[self.values]

    def take(self, rows: Any) -> Column:
        """Return some rows by their positions."""
        return Column(self.values[rows], self.labels, self.order, self.temporal)

    def where(self, test: Any) -> NDArray[np.bool_]:
        """Return a mask of the entries whose text, or None if missing, passes a test."""
        texts, places = self.numbered
        passed = np.fromiter((bool(test(text)) for text in texts), np.bool_, len(texts))
        return np.asarray(passed[places])

    def entry(self, row: int) -> Any:
        """Return one entry as a Python value or a Temporal, or None if it is missing."""
        if self.missing[row]:
            return None
        if self.labels is not None:
            return self.labels[self.values[row]]
        if self.temporal is not None:
            return value_at(self.values, self.temporal, int(counts_of(self.values)[row]))
        return self.values[row].item()

    def same_as(self, other: Column) -> bool:
        """Return True if two columns have the same entries, order and kind of times."""
        if (self.order, self.temporal) != (other.order, other.temporal):
            return False
        if (self.labels is None) != (other.labels is None):
            return False
        left, right = self.entries, other.entries
        same = left.dtype.kind == right.dtype.kind
        return np.array_equal(left, right, equal_nan=same and left.dtype.kind in "fmM")


def read_number(text: str) -> int | float | None:
    """Return the number that a text spells, or None; only finite plain decimals are numbers.

    Whole numbers of at most 18 characters are int.  Blanks around the number are allowed.

    >>> read_number("3"), read_number("-2.50"), read_number("1e3"), read_number("1_000")
    (3, -2.5, 1000.0, None)
    """
    if NUMBER.match(text) is None:
        return None
    if len(text) <= MAX_DIGITS and WHOLE.match(text):
        return int(text)
    value = float(text)
    return value if math.isfinite(value) else None


def numbers_in(texts: Iterable[str | None]) -> NDArray[Any] | None:
    """Return text as int64 or float64 (NaN = missing), or None if an entry is not a number."""
    texts = list(texts)
    known: dict[str | None, int | float] = {}
    for text in set(texts):
        value = math.nan if text is None else read_number(text)
        if value is None:
            return None
        known[text] = value
    whole = all(type(value) is int for value in known.values()) and bool(texts)
    values = [known[text] for text in texts]
    return np.array(values, dtype=np.int64 if whole else np.float64)


def text_column(values: Iterable[Any]) -> NDArray[Any]:
    """Return an object array of str and None."""
    values = list(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def as_series(values: object) -> Any:
    """Return a column of a data frame as a ``narwhals.Series``, or None for other objects."""
    plain = isinstance(values, (np.ndarray, list, tuple))
    if plain or not hasattr(type(values), "dtype") or not hasattr(type(values), "to_numpy"):
        return None
    import narwhals

    if isinstance(values, narwhals.Series):
        return values
    series: Any = narwhals.from_native(values, series_only=True, pass_through=True)
    return series if isinstance(series, narwhals.Series) else None


def is_pandas_series(values: object) -> bool:
    """Return whether values are a pandas Series, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(values, pandas.Series)


def has_plain_numbers(series: Any) -> bool:
    """Return True for a ``narwhals.Series`` or sparse column of numbers or truth values only."""
    dtype = series.dtype
    numbers = dtype.is_numeric() and not dtype.is_decimal()
    return bool((numbers or str(dtype) in ("Boolean", "Unknown")) and not series.null_count())


def did_you_mean(name: str, names: Sequence[str], most: int = 8) -> str:
    """Return a half sentence with similar names, or with the first of all names.

    >>> did_you_mean("odour", ["cap", "odor"]), did_you_mean("zzz", ["cap"])
    ('did you mean "odor"?', 'there are "cap".')
    """
    near = difflib.get_close_matches(name, names, n=3)
    lower = {other.lower(): other for other in names}
    if not near and name.lower() in lower:
        near = [lower[name.lower()]]
    if near:
        return "did you mean " + " or ".join(f'"{other}"' for other in near) + "?"
    shown = ", ".join(f'"{other}"' for other in names[:most])
    return f"there are {shown}{', …' if len(names) > most else '.'}"


def _from_numpy(values: NDArray[Any], name: str) -> NDArray[Any] | Column:
    if values.ndim != 1:
        raise DataError(
            f'column "{name}" has shape {values.shape}; expected one dimension, one value per row.'
        )
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(np.bool_)
    if kind in "iu":
        wide = kind == "u" and values.size and int(values.max()) > np.iinfo(np.int64).max
        return values.astype(np.uint64 if wide else np.int64)
    if kind == "f":
        return values.astype(np.float64)
    if kind == "U":
        return Column.of_texts(values.tolist())
    if kind in "Mm":
        return Column(normal_counts(values, name), temporal="stamp" if kind == "M" else "duration")
    if kind == "c":
        _nature(complex, name)
    if kind in "OST":
        return _from_objects(values.tolist(), name)
    raise DataError(
        f'column "{name}" has dtype {values.dtype}; expected numbers, truth values or text.'
    )


def _from_pandas(series: Any, name: str) -> NDArray[Any] | Column:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        codes, labels = series.array.codes, dtype.categories.tolist()  # -1 for a missing entry
        order = tuple(map(str, labels)) if dtype.ordered else ()
        return _of_codes(codes, labels, order)
    if str(dtype) in ("object", "str", "string"):
        try:
            codes, known = series.array.factorize()
        except TypeError:  # entries that cannot be hashed
            codes, known = None, ()
        if len(known) and all(type(text) is str for text in known):
            return _of_codes(codes, list(known), ())
    if isinstance(dtype, np.dtype):
        return _from_numpy(series.to_numpy(), name)
    if str(dtype).startswith("period["):  # read as its first moment
        return _from_pandas(series.dt.to_timestamp(), name)
    return _from_series(as_series(series), name)


def _of_codes(codes: NDArray[Any], categories: list[Any], order: tuple[str, ...]) -> Column:
    """Return a column of categories; categories with equal text share a code."""
    texts = [None if is_missing(value) else str(value) for value in categories]
    return Column.of_texts([*texts, None], order).take(codes)  # a code of -1 takes the last


def _from_series(series: Any, name: str) -> NDArray[Any] | Column:
    import narwhals

    dtype = series.dtype
    if isinstance(dtype, (narwhals.Categorical, narwhals.Enum)):
        texts = (None if is_missing(value) else str(value) for value in series.to_list())
        return Column.of_texts(texts, dtype.categories if isinstance(dtype, narwhals.Enum) else ())
    if (found := of_series(series, name)) is not None:
        return Column(found[0], temporal=found[1])
    if has_plain_numbers(series):
        return _from_numpy(np.asarray(series.to_native()), name)
    if dtype.is_numeric() and not dtype.is_decimal():
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return _from_objects(series.to_list(), name)


def _from_objects(values: list[Any], name: str) -> NDArray[Any] | Column:
    classes = set(map(type, values))
    if classes and classes <= {str, type(None)} and str in classes:
        return Column.of_texts(values)
    cleaned = [None if is_missing(value) else value for value in values]
    found = {kind: _nature(kind, name) for kind in set(map(type, cleaned)) - {type(None)}}
    natures = set(found.values())
    if len(natures) == 1 and natures <= {*TEMPORAL}:
        counts, kind = of_objects(cleaned, name)
        return Column(counts, temporal=kind)
    if natures == {"bool"} and None not in cleaned:
        return np.array([bool(value) for value in cleaned], dtype=np.bool_)
    if natures <= {"bool", "int"} and values and None not in cleaned:
        whole = [int(value) for value in cleaned if value is not None]
        if all(-(2**63) <= value < 2**63 for value in (min(whole), max(whole))):
            return np.array(whole, dtype=np.int64)
    if natures <= {"bool", "int", "float"}:
        return np.array([math.nan if v is None else to_float(v) for v in cleaned], np.float64)
    return Column.of_texts(None if value is None else _to_text(value) for value in cleaned)


def is_missing(value: Any) -> bool:
    """Return whether a Python object is missing: None, NA, NaT or NaN."""
    if value is None or type(value).__name__ in MISSING_CLASSES:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    undefined = isinstance(value, (float, np.floating, np.datetime64, np.timedelta64))
    return undefined and bool(value != value)


def _nature(kind: type, name: str) -> str:
    """Return the nature of a class of Python objects: bool, int, stamp, text, …."""
    for nature, classes in NATURES.items():
        if issubclass(kind, classes):
            return nature
    if issubclass(kind, numbers.Complex):
        raise DataError(
            f'column "{name}" holds complex numbers. Complex data not supported: a proposition '
            "compares with a real number. Pass the real and the imaginary part as two columns."
        )
    if issubclass(kind, (dict, list, tuple, set, frozenset, np.ndarray)):
        raise DataError(
            f'column "{name}" holds a {kind.__name__}; expected one number, truth value or text '
            "per row. Split it into several columns."
        )
    return "text"


def to_float(value: Any) -> float:
    """Return a number as float64, infinite beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def texts(column: NDArray[Any]) -> list[str | None]:
    """Return the entries as text, and None for missing entries."""
    entries = column.tolist()
    return [None if value != value or value is None else spelled(value) for value in entries]


def spelled(value: Any) -> str:
    """Return an entry as rules print it: whole numbers without a decimal point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _to_text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
