"""Comparisons with dates, times and durations: of columns of them, and of text that spells them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.table import Table
from formulakern.encoding.temporal_columns import (
    ordered_columns,
    ordered_truths,
    part_numbers,
    value_of_kind,
)
from formulakern.errors import DataError
from formulakern.syntax.temporal import KINDS, Temporal, read_temporal

__all__ = ["compare_columns", "compare_temporal", "holds", "numbers_of_part"]

RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


def compare_temporal(table: Table, name: str, relation: str, value: Any) -> NDArray[np.bool_]:
    """Where a column compares so with a value, one of which is temporal.

    Parameters
    ----------
    table : Table of n_rows rows
    name : str
    relation : {"<", "<=", ">", ">=", "="}
    value : Temporal, or a word or number for a column of dates, times or durations
        A word is read as the column's kind.  Text is read as the value's kind: all of it for an
        order; what cannot be read equals nothing.

    Returns
    -------
    ndarray of shape (n_rows,), bool
        False where the entry is missing.

    Raises
    ------
    DataError
        If the kinds differ, such as a stamp with a time zone and a column without one.
    """
    if name in table.kinds:
        return ordered_truths(
            table.column(name), relation, value_of_kind(value, table.kinds[name], name)
        )
    if table.missing(name).all():
        return np.zeros(len(table), dtype=np.bool_)
    if table.is_numeric(name):
        raise _unlike(name, "numbers", value)
    texts, numbers = table.numbered(name)
    compare = RELATIONS[relation]
    truths = []
    for text in texts:
        found = None if text is None else read_temporal(text, value.kind)
        if found is None and text is not None and relation != "=":
            raise _unlike(name, repr(text), value)
        same = found is not None and bool(compare(found.nanoseconds, value.nanoseconds))
        truths.append(same or (relation == "=" and text == str(value)))
    return np.asarray(np.array(truths, dtype=np.bool_)[numbers])


def _unlike(name: str, holds: str, value: Temporal) -> DataError:
    return DataError(
        f'column "{name}" holds {holds}; it is compared with {value}, one of '
        f"{KINDS[value.kind][0]}. Convert the column, for example with pandas.to_datetime."
    )


def holds(table: Table, name: str) -> str:
    """What a column holds, in words.

    >>> holds(Table({"x": ["a"]}), "x"), holds(Table({"x": np.array([1], "m8[s]")}), "x")
    ('text', 'durations')
    """
    kind = table.kinds.get(name)
    return ("numbers" if table.is_numeric(name) else "text") if kind is None else KINDS[kind][0]


def compare_columns(table: Table, name: str, relation: str, other: str) -> NDArray[np.bool_]:
    """Where two columns, one of them temporal, compare so; false where one is missing.

    Raises
    ------
    DataError
        If they are of different kinds.
    """
    names = (name, other)
    if any(table.missing(column).all() for column in names):
        return np.zeros(len(table), dtype=np.bool_)
    kinds = [table.kinds.get(column) for column in names]
    if kinds[0] != kinds[1]:
        words = [f'"{column}" holds {holds(table, column)}' for column in names]
        raise DataError(
            f"two columns are compared that differ in kind: {' and '.join(words)}. "
            "Convert one of them."
        )
    return ordered_columns(table.column(name), relation, table.column(other))


def numbers_of_part(table: Table, name: str, part: str) -> NDArray[np.float64]:
    """The months, weekdays, … of a column; NaN where an entry is missing.

    Raises
    ------
    DataError
        If the column has no such part.
    """
    kind, missing = table.kinds.get(name), table.missing(name)
    if kind is None and not missing.all():
        raise DataError(
            f'column "{name}" holds no dates or times, so it has no {part}. Convert it, for '
            "example with pandas.to_datetime."
        )
    numbers = np.full(len(table), np.nan)
    if kind is not None:
        numbers[~missing] = part_numbers(table.column(name)[~missing], kind, part, name)
    return numbers
