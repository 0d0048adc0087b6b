"""Propositions about one row of a table, evaluated on all rows at once.

A proposition is a comparison, such as ``gill_size >= 3`` or ``cap in {red, blue}``, or a Boolean
column.  Comparisons with a missing entry are false, except ``is missing``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import DataError, FormulaError
from formulakern.syntax.formula import Formula, Variable, evaluate
from formulakern.syntax.leaves import ORDERS, Choice, ColumnName, Comparison, Level
from formulakern.syntax.temporal import KINDS, Temporal, read_temporal
from formulakern.tables.column import Column, did_you_mean, numbers_in, read_number, texts, to_float
from formulakern.tables.table import Table
from formulakern.tables.temporal import (
    RELATIONS,
    ordered_columns,
    ordered_truths,
    part_numbers,
    value_of_kind,
)

#: One truth value per row.
Truths = NDArray[np.bool_]

#: The largest size of the cached truth values of leaves, in bytes.
MAX_KNOWN_BYTES = 1 << 28

TRUTH_WORDS = {"true": 1, "false": 0}


def evaluate_formula(
    formula: Formula, table: Table, known: dict[Formula, Truths] | None = None
) -> Truths:
    """Return the truth value of a rule in every row of a table, bool of shape (n_rows,).

    Truth values of leaves are cached in ``known`` for other formulas, up to 256 MB.  Raise
    DataError if a column is missing or does not suit its comparison.

    >>> table = Table({"odor": ["foul", "none", None], "size": [3, 5, 1]})
    >>> rule = Comparison("odor", "=", "foul") | Comparison("size", ">", 4)
    >>> evaluate_formula(rule, table)
    array([ True,  True, False])
    """
    truths = {} if known is None else known

    def truths_of(leaf: Formula) -> Truths:
        found = truths.get(leaf)
        if found is None:
            found = evaluate_proposition(leaf, table)
            if len(truths) * len(table) < MAX_KNOWN_BYTES:
                truths[leaf] = found
        return found

    value = evaluate(formula, truths_of)
    return np.array(np.broadcast_to(value, len(table)), dtype=np.bool_)


def evaluate_proposition(leaf: Formula, table: Table) -> Truths:
    """Return the truth value of one comparison, or of one Boolean column, in every row.

    Numeric columns compare as numbers: a word on the right side is converted to a number if
    possible, and ``true`` and ``false`` are 1 and 0.  Text columns compare as text: a number equals
    any entry that spells this number, and an order needs numbers in all entries.  Dates, times and
    durations compare with values of their kind, to the nanosecond, and ordered categories by their
    order.  Two columns compare as numbers if both are numeric, as dates or times if both are of one
    kind, else as text.  Comparisons with a missing entry are false, ``!=`` and ``not in`` included.
    Raise DataError if a column is missing, if text without numbers is compared by an order, or if a
    bare column is not Boolean.
    """
    if isinstance(leaf, Choice):
        raise FormulaError(
            f"{str(leaf)!r} chooses different features, which only kernels can do; a rule uses "
            "named columns. Write the rule with &, | and ~."
        )
    if isinstance(leaf, Variable):
        return _boolean_column(leaf, table)
    if not isinstance(leaf, Comparison):
        raise DataError(
            f"{leaf} is neither a comparison nor the name of a column. "
            "Write for example odor = foul."
        )
    name, column = leaf.column, table.typed(leaf.column)
    if leaf.part is not None:
        column = Column(numbers_of_part(column, name, leaf.part))
    if leaf.relation in ORDERS:
        return _compared(table, name, column, leaf.relation, leaf.value)
    present = ~column.missing
    if leaf.relation == "is missing":
        return column.missing
    if leaf.relation == "is not missing":
        return present
    values = leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
    equal = reduce(np.logical_or, (_compared(table, name, column, "=", item) for item in values))
    if leaf.relation in ("=", "in"):
        return equal & present
    known = (~table.missing(item.name) for item in values if isinstance(item, ColumnName))
    return reduce(np.logical_and, known, ~equal & present)


def _boolean_column(leaf: Variable, table: Table) -> Truths:
    if leaf.domain is not None:
        raise DataError(
            f"{leaf} is a variable over the columns of a domain, not one column. "
            "Write the name of a column."
        )
    column = table.typed(leaf.name)
    numbers = column.values
    if column.labels is not None:
        texts, places = column.numbered
        known = [None if text is None else number_of(text) for text in texts]
        numbers = np.array(known, dtype=np.float64)[places]
    elif column.temporal is not None:
        numbers = np.full(len(column), np.nan)
    one = numbers == 1
    wrong = ~(one | (numbers == 0) | column.missing)
    if wrong.any():
        row = int(np.argmax(wrong))
        entry = table.entry(leaf.name, row)
        raise DataError(
            f'column "{leaf.name}" holds {repr(entry) if column.temporal is None else entry} '
            f"(row {row}); a column without a comparison must hold 0 and 1, or true and false. "
            "Compare it with a value: "
            f"{leaf} = …"
        )
    return np.asarray(one, dtype=np.bool_)


def number_of(text: str) -> int | float | None:
    """Return the number that a text spells, with 1 and 0 for "true" and "false", or None.

    >>> number_of("2.5"), number_of("True"), number_of("red")
    (2.5, 1, None)
    """
    return TRUTH_WORDS.get(text.strip().lower(), read_number(text))


def _compared(table: Table, name: str, column: Column, relation: str, value: object) -> Truths:
    """Compare a column with a value; orders are false for missing entries, "=" is undefined."""
    if isinstance(value, ColumnName):
        return _compared_columns(name, column, relation, value.name, table.typed(value.name))
    word = isinstance(value, str) and not isinstance(value, Level)
    if relation != "=" and word and column.order:
        if value not in column.order:
            hint = did_you_mean(str(value), column.order)
            raise DataError(f'column "{name}" has no category {value!r}; {hint}')
        value = Level(str(value), column.order)
    if relation != "=" and isinstance(value, Level):
        passed = set(value.passed(relation))
        if column.labels is not None:
            return column.where(passed.__contains__)
        return np.array([text in passed for text in texts(column.values)], dtype=np.bool_)
    if column.temporal is not None or isinstance(value, Temporal):
        return _temporal(name, column, relation, value)
    if relation == "=" and column.labels is not None:
        if isinstance(value, str):
            return column.where(lambda text: text == value)
        return column.where(lambda text: text is not None and _spells(text, value))
    number: Any = value
    if isinstance(value, str):
        number = number_of(value) if column.is_numeric else None
        if number is None and (relation == "=" or column.missing.all()):
            return np.zeros(len(column), dtype=np.bool_)
        if number is None:
            what = "numbers" if column.is_numeric else "text without an order"
            raise DataError(
                f'column "{name}" holds {what}, but {value!r} is a word. Compare it with = or in, '
                "or convert the column to ordered categories (pandas.Categorical(…, ordered=True),"
                " polars.Enum)."
            )
    if isinstance(number, int) and abs(number) >= 2**63:
        number = to_float(number)
    numbers = column.values if relation == "=" else _as_numbers(name, column)
    with np.errstate(invalid="ignore"):
        return np.asarray(RELATIONS[relation](numbers, number), dtype=np.bool_)


def _compared_columns(name: str, left: Column, relation: str, other: str, right: Column) -> Truths:
    """Compare two columns: as times, as numbers, or, for "=" if one is not numeric, as text."""
    if left.temporal is not None or right.temporal is not None:
        if left.missing.all() or right.missing.all():
            return np.zeros(len(left), dtype=np.bool_)
        if left.temporal != right.temporal:
            words = f'"{name}" holds {content_of(left)} and "{other}" holds {content_of(right)}'
            raise DataError(f"the compared columns differ in kind: {words}. Convert one of them.")
        return ordered_columns(left.values, relation, right.values)
    if relation != "=" or (left.is_numeric and right.is_numeric):
        with np.errstate(invalid="ignore"):
            truths = RELATIONS[relation](_as_numbers(name, left), _as_numbers(other, right))
        return np.asarray(truths, dtype=np.bool_)
    both = zip(texts(left.entries), texts(right.entries), strict=True)
    return np.array([a is not None and a == b for a, b in both], dtype=np.bool_)


def _as_numbers(name: str, column: Column) -> NDArray[Any]:
    """Return the column as numbers, or raise DataError if an entry is not a number."""
    if column.labels is None:
        values = column.values
        return values.astype(np.int64) if values.dtype == np.bool_ else values
    known, places = column.numbered
    numbers = numbers_in(known)
    if numbers is None:
        unread = column.where(lambda text: text is not None and read_number(text) is None)
        row = int(np.argmax(unread))
        raise DataError(
            f'column "{name}" holds {column.entry(row)!r} (row {row}), which is not a number, so '
            "it has no order. Compare it with = or in."
        )
    return np.asarray(numbers[places])


def _spells(text: str, value: Any) -> bool:
    return text == repr(value) or read_number(text) == value


def numbers_of_part(column: Column, name: str, part: str) -> NDArray[np.float64]:
    """Return the months, weekdays, … of a column, or NaN for missing entries."""
    present = ~column.missing
    if column.temporal is None and present.any():
        raise DataError(
            f'column "{name}" does not hold dates or times, so it has no {part}. Convert it, for '
            "example with pandas.to_datetime."
        )
    numbers = np.full(len(column), np.nan)
    if column.temporal is not None:
        numbers[present] = part_numbers(column.values[present], column.temporal, part, name)
    return numbers


def content_of(column: Column) -> str:
    """Return a description of the contents of a column."""
    if column.temporal is not None:
        return KINDS[column.temporal][0]
    return "numbers" if column.is_numeric else "text"


def _temporal(name: str, column: Column, relation: str, value: Any) -> Truths:
    """Compare a column with a value, if one of them is temporal.

    Text is converted to the kind of the other side.  An entry that cannot be converted equals
    nothing, and raises DataError for an order.
    """
    if column.temporal is not None:
        known = value_of_kind(value, column.temporal, name)
        return ordered_truths(column.values, relation, known)
    if column.missing.all():
        return np.zeros(len(column), dtype=np.bool_)
    if column.is_numeric:
        raise _unlike(name, "numbers", value)

    def compares(text: str | None) -> bool:
        found = None if text is None else read_temporal(text, value.kind)
        if found is None and text is not None and relation != "=":
            raise _unlike(name, repr(text), value)
        same = found is not None and RELATIONS[relation](found.nanoseconds, value.nanoseconds)
        return bool(same or (relation == "=" and text == str(value)))

    return column.where(compares)


def _unlike(name: str, content: str, value: Temporal) -> DataError:
    return DataError(
        f'column "{name}" holds {content}; it is compared with {value}, one of '
        f"{KINDS[value.kind][0]}. Convert the column, for example with pandas.to_datetime."
    )
