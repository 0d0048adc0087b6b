"""Propositions about one row of a table, evaluated on all rows at once.

A comparison such as ``gill_size >= 3`` or ``cap in {red, blue}`` is true or false in every row; so
is a bare Boolean column.  A comparison with a missing entry is false, whatever its relation;
``is missing`` asks for it.
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

#: The truth values of leaves are remembered up to so many bytes; others are found again.
MAX_KNOWN_BYTES = 1 << 28

TRUTH_WORDS = {"true": 1, "false": 0}


def evaluate_formula(
    formula: Formula, table: Table, known: dict[Formula, Truths] | None = None
) -> Truths:
    """Return the truth value of a concrete rule in every row of a table, bool of shape (n_rows,).

    Truth values of leaves are kept in ``known`` for further formulas, up to 256 MB.  Raises
    DataError if a column is not in the table or does not suit its comparison.

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

    Numeric columns compare as numbers: a word on the right is read as a number if it is one, and
    ``true`` and ``false`` are 1 and 0.  Text columns compare as text: a number on the right equals
    its own digits and any entry that reads as the same number; an order needs every entry to read
    as a number.  Dates, times and durations compare with values of their kind, to the nanosecond,
    and an ordered category with its categories in their order.  Two columns compare as numbers if
    both are numeric, as dates or times if both are of one kind, else as text.  A comparison with a
    missing entry is false, also for ``!=`` and ``not in``.  Raises DataError if a column is absent,
    an order is asked of text, or a bare column is not Boolean.
    """
    if isinstance(leaf, Choice):
        raise FormulaError(
            f"{str(leaf)!r} chooses different features, which is for kernels; a rule is about "
            "named columns. Write the rule out with &, | and ~."
        )
    if isinstance(leaf, Variable):
        return _boolean_column(leaf, table)
    if not isinstance(leaf, Comparison):
        raise DataError(
            f"{leaf} is neither a comparison nor the name of a column; "
            "write for example odor = foul."
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
            f"{leaf} is a variable over the columns of a domain, not one column; "
            "name the column itself."
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
            f"(row {row}); a column that stands alone in a rule holds 0 and 1, true and false. "
            "Compare it with a value: "
            f"{leaf} = …"
        )
    return np.asarray(one, dtype=np.bool_)


def number_of(text: str) -> int | float | None:
    """Return the number that a text is, 1 and 0 for "true" and "false"; None if it is none.

    >>> number_of("2.5"), number_of("True"), number_of("red")
    (2.5, 1, None)
    """
    return TRUTH_WORDS.get(text.strip().lower(), read_number(text))


def _compared(table: Table, name: str, column: Column, relation: str, value: object) -> Truths:
    """Compare a column with a value; an order is false of a missing entry, "=" is meaningless."""
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
                f'column "{name}" holds {what}, and {value!r} is a word. Compare it with = or in, '
                "or make the column one of ordered categories (pandas.Categorical(…, ordered=True),"
                " polars.Enum)."
            )
    if isinstance(number, int) and abs(number) >= 2**63:
        number = to_float(number)
    numbers = column.values if relation == "=" else _as_numbers(name, column)
    with np.errstate(invalid="ignore"):
        return np.asarray(RELATIONS[relation](numbers, number), dtype=np.bool_)


def _compared_columns(name: str, left: Column, relation: str, other: str, right: Column) -> Truths:
    """Compare two columns: as times, as numbers, or if "=" asks and one has no numbers, as text."""
    if left.temporal is not None or right.temporal is not None:
        if left.missing.all() or right.missing.all():
            return np.zeros(len(left), dtype=np.bool_)
        if left.temporal != right.temporal:
            words = f'"{name}" holds {content_of(left)} and "{other}" holds {content_of(right)}'
            raise DataError(
                f"two columns are compared that differ in kind: {words}. Convert one of them."
            )
        return ordered_columns(left.values, relation, right.values)
    if relation != "=" or (left.is_numeric and right.is_numeric):
        with np.errstate(invalid="ignore"):
            truths = RELATIONS[relation](_as_numbers(name, left), _as_numbers(other, right))
        return np.asarray(truths, dtype=np.bool_)
    both = zip(texts(left.entries), texts(right.entries), strict=True)
    return np.array([a is not None and a == b for a, b in both], dtype=np.bool_)


def _as_numbers(name: str, column: Column) -> NDArray[Any]:
    """Return the column as numbers, for an order."""
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
    """Return the months, weekdays, … of a column; NaN for missing entries."""
    present = ~column.missing
    if column.temporal is None and present.any():
        raise DataError(
            f'column "{name}" holds no dates or times, so it has no {part}. Convert it, for '
            "example with pandas.to_datetime."
        )
    numbers = np.full(len(column), np.nan)
    if column.temporal is not None:
        numbers[present] = part_numbers(column.values[present], column.temporal, part, name)
    return numbers


def content_of(column: Column) -> str:
    """Return what a column holds, in words."""
    if column.temporal is not None:
        return KINDS[column.temporal][0]
    return "numbers" if column.is_numeric else "text"


def _temporal(name: str, column: Column, relation: str, value: Any) -> Truths:
    """Compare a column with a value, if one of them is temporal.

    A column of dates, times or durations reads text as its kind.  A column of text is read as the
    kind of the value: for an order every entry; an entry that cannot be read equals nothing.
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
