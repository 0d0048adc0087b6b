"""Propositions about one row of a table, evaluated on all rows at once.

A comparison such as ``gill_size >= 3`` or ``cap in {red, blue}`` is true or false in every row; so
is a bare Boolean column.  A comparison with a missing entry is false, whatever its relation;
``is missing`` asks for it.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import DataError, FormulaError
from formulakern.syntax.formula import Formula, Variable, evaluate
from formulakern.syntax.leaves import ORDERS, Choice, ColumnName, Comparison, Level
from formulakern.syntax.temporal import KINDS, Temporal, read_temporal
from formulakern.tables.column import did_you_mean, numbers_in, read_number, to_float
from formulakern.tables.table import Table
from formulakern.tables.temporal import (
    RELATIONS,
    ordered_columns,
    ordered_truths,
    part_numbers,
    value_of_kind,
)

__all__ = ["content_of", "evaluate_formula", "evaluate_proposition", "number_of", "numbers_of_part"]

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
    if leaf.part is not None:
        numbers = Table({leaf.column: numbers_of_part(table, leaf.column, leaf.part)})
        return evaluate_proposition(leaf.replaced(part=None), numbers)
    missing = table.missing(leaf.column)
    present = ~missing
    if leaf.relation == "is missing":
        return missing
    if leaf.relation == "is not missing":
        return present
    value = leaf.value
    if leaf.relation in ORDERS:
        return _ordered(table, leaf.column, leaf.relation, value)
    values = value if isinstance(value, tuple) else (value,)
    equal = reduce(np.logical_or, (_equal(table, leaf.column, item) for item in values))
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
    if column.labels is not None:
        read = {text: None if text is None else number_of(text) for text in column.numbered[0]}
        one = column.where(lambda text: read[text] == 1)
        wrong = column.where(lambda text: text is not None and read[text] not in (0, 1))
    elif column.temporal is not None:
        one, wrong = column.missing, ~column.missing
    else:
        one = column.values == 1
        wrong = ~(one | (column.values == 0) | column.missing)
    if wrong.any():
        row = int(np.argmax(wrong))
        entry = table.entry(leaf.name, row)
        raise DataError(
            f'column "{leaf.name}" holds {entry if leaf.name in table.kinds else repr(entry)} '
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


def _ordered(table: Table, name: str, relation: str, value: object) -> Truths:
    """Compare by an order, which is false of a missing entry."""
    if isinstance(value, str) and not isinstance(value, Level) and name in table.orders:
        value = _level(table, name, value)
    if isinstance(value, Level):
        return _ranked(table, name, relation, value)
    other: Any = value
    if isinstance(value, ColumnName):
        if name in table.kinds or value.name in table.kinds:
            return _temporal_columns(table, name, relation, value.name)
        other = _as_numbers(table, value.name)
    elif name in table.kinds or isinstance(value, Temporal):
        return _temporal(table, name, relation, value)
    elif isinstance(value, str):
        other = number_of(value) if table.is_numeric(name) else None
        if table.missing(name).all():
            return np.zeros(len(table), dtype=np.bool_)
        if other is None:
            _refuse_word(table, name, value)
    if not isinstance(value, ColumnName):
        other = _finite_or_infinite(other)
    with np.errstate(invalid="ignore"):
        truths = RELATIONS[relation](_as_numbers(table, name), other)
    return np.asarray(truths, dtype=np.bool_)  # an order with NaN is false already


def _level(table: Table, name: str, value: str) -> Level:
    """Return a word as one of the categories of an ordered column."""
    order = table.orders[name]
    if value not in order:
        raise DataError(f'column "{name}" has no category {value!r}; {did_you_mean(value, order)}')
    return Level(value, order)


def _refuse_word(table: Table, name: str, value: str) -> NoReturn:
    what = "numbers" if table.is_numeric(name) else "text without an order"
    raise DataError(
        f'column "{name}" holds {what}, and {value!r} is a word. Compare it with = or in, or make '
        "the column one of ordered categories (pandas.Categorical(…, ordered=True), polars.Enum)."
    )


def _ranked(table: Table, name: str, relation: str, value: Level) -> Truths:
    """Compare categories by their order; other entries are false."""
    column, passed = table.typed(name), set(value.passed(relation))
    if column.labels is not None:
        return column.where(passed.__contains__)
    return np.array([text in passed for text in _texts(column.values)], dtype=np.bool_)


def _as_numbers(table: Table, name: str) -> NDArray[Any]:
    """Return the column as numbers, for an order."""
    column = table.typed(name)
    if column.labels is None:
        values = column.values
        return values.astype(np.int64) if values.dtype == np.bool_ else values
    texts, places = column.numbered
    numbers = numbers_in(texts)
    if numbers is None:
        unread = column.where(lambda text: text is not None and read_number(text) is None)
        row = int(np.argmax(unread))
        raise DataError(
            f'column "{name}" holds {column.entry(row)!r} (row {row}), which is not a number, so '
            "it has no order. Compare it with = or in."
        )
    return np.asarray(numbers[places])


def _finite_or_infinite(value: Any) -> Any:
    """Return a number that NumPy can compare with; infinite beyond float64."""
    number: Any = value
    return to_float(number) if isinstance(number, int) and abs(number) >= 2**63 else number


def _equal(table: Table, name: str, value: object) -> Truths:
    """Return where a column equals a value; rows with a missing entry are meaningless."""
    column = table.typed(name)
    if isinstance(value, ColumnName):
        return _equal_columns(table, name, value.name)
    if name in table.kinds or isinstance(value, Temporal):
        return _temporal(table, name, "=", value)
    if column.labels is None:
        number: Any = number_of(value) if isinstance(value, str) else value
        if number is None:
            return np.zeros(len(column), dtype=np.bool_)
        return np.asarray(column.values == _finite_or_infinite(number), dtype=np.bool_)
    if isinstance(value, str):
        return column.where(lambda text: text == value)
    return column.where(lambda text: text is not None and _spells(text, value))


def _spells(text: str, value: Any) -> bool:
    return text == repr(value) or read_number(text) == value


def _equal_columns(table: Table, name: str, other: str) -> Truths:
    if name in table.kinds or other in table.kinds:
        return _temporal_columns(table, name, "=", other)
    left, right = table.column(name), table.column(other)
    if left.dtype != object and right.dtype != object:
        return np.asarray(left == right, dtype=np.bool_)
    both = zip(_texts(left), _texts(right), strict=True)
    return np.array([a is not None and a == b for a, b in both], dtype=np.bool_)


def numbers_of_part(table: Table, name: str, part: str) -> NDArray[np.float64]:
    """Return the months, weekdays, … of a column; NaN for missing entries."""
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


def content_of(table: Table, name: str) -> str:
    """Return what a column holds, in words."""
    kind = table.kinds.get(name)
    return ("numbers" if table.is_numeric(name) else "text") if kind is None else KINDS[kind][0]


def _temporal(table: Table, name: str, relation: str, value: Any) -> Truths:
    """Compare a column with a value, if one of them is temporal.

    A column of dates, times or durations reads text as its kind.  A column of text is read as the
    kind of the value: for an order every entry; an entry that cannot be read equals nothing.
    """
    if name in table.kinds:
        known = value_of_kind(value, table.kinds[name], name)
        return ordered_truths(table.column(name), relation, known)
    if table.missing(name).all():
        return np.zeros(len(table), dtype=np.bool_)
    if table.is_numeric(name):
        raise _unlike(name, "numbers", value)

    def compares(text: str | None) -> bool:
        found = None if text is None else read_temporal(text, value.kind)
        if found is None and text is not None and relation != "=":
            raise _unlike(name, repr(text), value)
        same = found is not None and RELATIONS[relation](found.nanoseconds, value.nanoseconds)
        return bool(same or (relation == "=" and text == str(value)))

    return table.typed(name).where(compares)


def _unlike(name: str, content: str, value: Temporal) -> DataError:
    return DataError(
        f'column "{name}" holds {content}; it is compared with {value}, one of '
        f"{KINDS[value.kind][0]}. Convert the column, for example with pandas.to_datetime."
    )


def _temporal_columns(table: Table, name: str, relation: str, other: str) -> Truths:
    """Compare two columns, one of them temporal; false if an entry is missing."""
    names = (name, other)
    if any(table.missing(column).all() for column in names):
        return np.zeros(len(table), dtype=np.bool_)
    if table.kinds.get(name) != table.kinds.get(other):
        words = [f'"{column}" holds {content_of(table, column)}' for column in names]
        raise DataError(
            f"two columns are compared that differ in kind: {' and '.join(words)}. "
            "Convert one of them."
        )
    return ordered_columns(table.column(name), relation, table.column(other))


def _texts(column: NDArray[Any]) -> list[str | None]:
    """The entries as text; whole numbers without a decimal point, as a rule spells them."""
    return [None if value != value or value is None else _text(value) for value in column.tolist()]


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)
