"""What may stand in one column of a table, brought into one of three normal forms.

A column is *numeric* (a NumPy array of bool, int64, uint64 or float64, in which NaN is a missing
value), *temporal* (``datetime64`` or ``timedelta64``, in which NaT is missing) or *text* (an object
array of ``str``, in which None is a missing value).  Everything else that tables hold (pandas' NA,
nullable and categorical types, polars' nulls, Python objects) is read into one of these three.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.temporal import (
    normal_counts,
    of_objects,
    of_series,
    temporal_nature,
)
from formulakern.errors import DataError

__all__ = [
    "Column",
    "as_series",
    "did_you_mean",
    "has_plain_numbers",
    "normal_column",
    "numbers_in",
    "order_of",
    "read_number",
    "text_column",
    "to_float",
]

#: A column in normal form.
Column = NDArray[Any]

#: What reads as a number: a decimal, with an exponent if need be; no underscores, "nan", "inf".
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*\Z", re.ASCII)
WHOLE = re.compile(r"\s*[+-]?\d+\s*\Z", re.ASCII)

#: Classes of the missing values of pandas, by name, so that pandas need not be imported.
MISSING_CLASSES = frozenset({"NAType", "NaTType"})

#: Whole numbers beyond this many digits are kept as floating point numbers.
MAX_DIGITS = 18


def read_number(text: str) -> int | float | None:
    """The number that a text spells, or None; only plain decimals are numbers.

    Parameters
    ----------
    text : str
        Blanks around the number are allowed.

    Returns
    -------
    int, float or None
        An int for whole numbers of at most 18 digits; None if the text is not a finite number.

    Examples
    --------
    >>> read_number("3"), read_number("-2.50"), read_number("1e3"), read_number("1_000")
    (3, -2.5, 1000.0, None)
    >>> read_number("nan") is None and read_number("1e999") is None
    True
    """
    if NUMBER.match(text) is None:
        return None
    if len(text) <= MAX_DIGITS and WHOLE.match(text):
        return int(text)
    value = float(text)
    return value if math.isfinite(value) else None


def numbers_in(texts: Iterable[str | None]) -> Column | None:
    """A text column as numbers, when every entry that is not missing reads as one.

    Parameters
    ----------
    texts : iterable of str or None
        The entries; None is a missing value.

    Returns
    -------
    ndarray of shape (n_rows,), int64 or float64, or None
        float64 if a value has a fraction or is missing (NaN); None if some entry is no number.

    Notes
    -----
    Every different text is read once, so long columns with few values are cheap.

    Examples
    --------
    >>> numbers_in(["3", "-1"]), numbers_in(["3", None]), numbers_in(["3", "x"])
    (array([ 3, -1]), array([ 3., nan]), None)
    """
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


def text_column(values: Iterable[Any]) -> Column:
    """A text column: an object array, in normal form of str and None."""
    values = list(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def normal_column(values: object, name: str) -> Column:
    """Bring one column into normal form.

    Parameters
    ----------
    values : array, Series or sequence of shape (n_rows,)
        NumPy array of any dtype but complex, pandas or polars Series, or any sequence.
    name : str
        The column's name, for messages.

    Returns
    -------
    ndarray of shape (n_rows,)
        bool, int64, uint64 (where int64 is too narrow) or float64 with NaN for missing;
        datetime64 or timedelta64 in days, s, ms, us or ns, with NaT for missing; or object with
        str and None for missing.

    Raises
    ------
    DataError
        If the column holds complex numbers, containers, or is not one-dimensional.

    Examples
    --------
    >>> normal_column([1, None, True], "a")
    array([ 1., nan,  1.])
    >>> normal_column([1, None, "x"], "a")
    array(['1', None, 'x'], dtype=object)
    """
    if _is_pandas_series(values):
        return _from_pandas(values, name)
    series = as_series(values)
    if series is not None:
        return _from_series(series, name)
    if isinstance(values, np.ma.MaskedArray):
        return _from_objects(values.tolist(), name)  # None where it is masked
    if not isinstance(values, np.ndarray):
        if hasattr(values, "__array__"):
            values = np.asarray(values)
        elif isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
            return _from_objects(list(values), name)
        else:
            raise DataError(
                f'column "{name}" is {values!r} ({type(values).__name__}); expected one value '
                "per row: a list, an array or a Series."
            )
    if values.ndim != 1:
        raise DataError(
            f'column "{name}" has shape {values.shape}; expected one dimension, one value per row.'
        )
    return _from_numpy(values, name)


def as_series(values: object) -> Any:
    """A column of a data frame as a ``narwhals.Series``; None if it is none."""
    plain = isinstance(values, (np.ndarray, list, tuple))
    if plain or not hasattr(type(values), "dtype") or not hasattr(type(values), "to_numpy"):
        return None
    import narwhals

    if isinstance(values, narwhals.Series):
        return values
    series: Any = narwhals.from_native(values, series_only=True, pass_through=True)
    return series if isinstance(series, narwhals.Series) else None


def _is_pandas_series(values: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(values, pandas.Series)


def order_of(values: object) -> tuple[str, ...]:
    """The labels of an ordered categorical column, the least first; none for any other column.

    Those of pandas are ordered where they are declared to be; an ``Enum`` of polars always is.
    """
    dtype: Any
    if _is_pandas_series(values):
        dtype = getattr(values, "dtype", None)
    else:
        series = as_series(values)
        dtype = None if series is None else series.to_native().dtype
    if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
        return tuple(map(str, getattr(dtype, "categories", ())))
    return ()


def has_plain_numbers(series: Any) -> bool:
    """Whether a ``narwhals.Series`` holds numbers or truth values, and none is missing.

    A type that narwhals does not know is that of a sparse column of pandas.
    """
    dtype = series.dtype
    numbers = dtype.is_numeric() and not dtype.is_decimal()
    return bool((numbers or str(dtype) in ("Boolean", "Unknown")) and not series.null_count())


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A half sentence with the near names, or with the first few names there are.

    >>> did_you_mean("odour", ["cap", "odor"])
    'did you mean "odor"?'
    >>> did_you_mean("zzz", ["cap", "odor"])
    'there are "cap", "odor".'
    """
    near = difflib.get_close_matches(name, names, n=3)
    lower = {other.lower(): other for other in names}
    if not near and name.lower() in lower:
        near = [lower[name.lower()]]
    if near:
        return "did you mean " + " or ".join(f'"{other}"' for other in near) + "?"
    shown = ", ".join(f'"{other}"' for other in names[:8])
    return f"there are {shown}{', …' if len(names) > 8 else '.'}"


def _from_numpy(values: NDArray[Any], name: str) -> Column:
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(np.bool_)
    if kind in "iu":
        wide = kind == "u" and values.size and int(values.max()) > np.iinfo(np.int64).max
        return values.astype(np.uint64 if wide else np.int64)
    if kind == "f":
        return values.astype(np.float64)
    if kind == "U":
        return text_column(values.tolist())
    if kind in "Mm":
        return normal_counts(values, name)
    if kind == "c":
        _nature(complex, name)
    if kind in "OST":
        return _from_objects(values.tolist(), name)
    raise DataError(
        f'column "{name}" has dtype {values.dtype}; expected numbers, truth values or text.'
    )


def _from_pandas(series: Any, name: str) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return normal_column(series.to_numpy(), name)
    if hasattr(dtype, "categories"):
        labels = dtype.categories.tolist()
        if {*map(type, labels)} != {str}:
            labels = [None if _is_missing(value) else str(value) for value in labels]
        codes: NDArray[Any] = series.array.codes  # -1 where it is missing
        return np.asarray(text_column([*labels, None])[codes])
    if str(dtype).startswith("period["):  # read as its first moment
        return normal_column(series.dt.to_timestamp(), name)
    return _from_series(as_series(series), name)


def _from_series(series: Any, name: str) -> Column:
    native, dtype = series.to_native(), series.dtype
    if str(dtype).startswith(("Categorical", "Enum")):
        values = series.to_list()
        labels = {value: str(value) for value in set(values) if not _is_missing(value)}
        return text_column(labels.get(value) for value in values)
    if (counts := of_series(series, name)) is not None:
        return counts
    if has_plain_numbers(series):
        return _from_numpy(np.asarray(native), name)
    if dtype.is_numeric() and not dtype.is_decimal():
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return _from_objects(series.to_list(), name)


def _from_objects(values: list[Any], name: str) -> Column:
    classes = set(map(type, values))
    if classes and classes <= {str, type(None)} and str in classes:
        return text_column(values)
    cleaned = [None if _is_missing(value) else value for value in values]
    found = {kind: _nature(kind, name) for kind in set(map(type, cleaned)) - {type(None)}}
    natures = set(found.values())
    if len(natures) == 1 and natures <= {"stamp", "time", "duration", "temporal"}:
        return of_objects(cleaned, name)
    if natures == {"bool"} and None not in cleaned:
        return np.array([bool(value) for value in cleaned], dtype=np.bool_)
    if natures <= {"bool", "int"} and values and None not in cleaned:
        whole = [int(value) for value in cleaned if value is not None]
        if all(-(2**63) <= value < 2**63 for value in (min(whole), max(whole))):
            return np.array(whole, dtype=np.int64)
    if natures <= {"bool", "int", "float"}:
        return np.array([math.nan if v is None else to_float(v) for v in cleaned], np.float64)
    return text_column(None if value is None else _to_text(value) for value in cleaned)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in MISSING_CLASSES:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    undefined = isinstance(value, (float, np.floating, np.datetime64, np.timedelta64))
    return undefined and bool(value != value)


def _nature(kind: type, name: str) -> str:
    """What a class of Python objects is to a column: bool, int, stamp, text, …."""
    if issubclass(kind, (str, bytes)):
        return "text"
    if (temporal := temporal_nature(kind)) is not None:
        return temporal
    if issubclass(kind, (bool, np.bool_)):
        return "bool"
    if issubclass(kind, numbers.Integral):
        return "int"
    if issubclass(kind, (numbers.Real, Decimal)):
        return "float"
    if issubclass(kind, numbers.Complex):
        raise DataError(
            f'column "{name}" holds complex numbers. Complex data not supported: a proposition '
            "compares with a real number. Pass the real and the imaginary part as two columns."
        )
    if issubclass(kind, (dict, list, tuple, set, frozenset, np.ndarray)):
        raise DataError(
            f'column "{name}" holds a {kind.__name__}; expected one number, truth value or text '
            "per row. Spread it over several columns."
        )
    return "text"


def to_float(value: Any) -> float:
    """A number as float64, infinite where it is beyond that."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _to_text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
