"""What the columns hold that rules read: as a user says, as a table shows, as the rules suggest.

Rules do not say it: ``x = 0`` may be about a column of numbers or of truth values, and databases
and data frames compare these in different ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from formulakern.encoding.propositions import number_of
from formulakern.errors import ParameterError
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.leaves import ORDERS, ColumnName, Comparison, Level
from formulakern.syntax.temporal import PARTS_OF, Temporal
from formulakern.tables.column import Column
from formulakern.tables.table import Table

__all__ = ["ColumnType", "inferred_types", "read_types", "type_of", "types_of"]

#: "truth": truth values, or the numbers 1 and 0.  "number": floating point, or any number.
#: "open": compared with 1 and 0 only, so that it may hold truth values or any numbers.
#: "stamp", "instant", "time", "duration": as :class:`formulakern.syntax.temporal.Temporal` has it.
ColumnType = Literal[
    "boolean", "truth", "integer", "number", "text", "open", "stamp", "instant", "time", "duration"
]


def types_of(table: Table) -> dict[str, ColumnType]:
    """What the columns of a table hold; nothing is said of one that is missing throughout.

    >>> types_of(Table({"a": [True], "b": [1], "c": [0.5], "d": ["x"], "e": [None]}))
    {'a': 'boolean', 'b': 'integer', 'c': 'number', 'd': 'text'}
    >>> types_of(Table({"a": [True, None], "b": [1, None, 2][:2]}))
    {'a': 'truth', 'b': 'truth'}
    """
    found = {name: type_of(table.typed(name)) for name in table.names}
    return {name: kind for name, kind in found.items() if kind is not None}


def type_of(column: Column) -> ColumnType | None:
    """Return the type of a column, or None if every entry is missing."""
    if column.temporal is not None:
        return column.temporal
    present = ~column.missing
    if not present.any():
        return None
    if column.labels is not None:
        return "text"
    if column.values.dtype.kind != "f":
        return "boolean" if column.values.dtype.kind == "b" else "integer"
    known = column.values[present]
    return "truth" if ((known == 0) | (known == 1)).all() else "number"


def read_types(given: Any) -> dict[str, ColumnType]:
    """What a user says about columns: a mapping from names to types, or a table with them.

    Examples
    --------
    >>> read_types({"odor": "text"}), read_types({"odor": ["foul"]})
    ({'odor': 'text'}, {'odor': 'text'})
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(v, str) for v in given.values()):
        return types_of(Table.of(given))
    for name, kind in given.items():
        if kind not in get_args(ColumnType):
            expected = ", ".join(map(repr, get_args(ColumnType)))
            raise ParameterError(
                f"column {name!r} is of type {kind!r}; expected one of {expected}."
            )
    return {str(name): kind for name, kind in given.items()}


def inferred_types(
    formulas: Iterable[Formula], numeric: Iterable[str] = ()
) -> dict[str, ColumnType]:
    """What rules suggest that columns hold; nothing of columns of which they leave it open.

    Examples
    --------
    >>> from formulakern.syntax.parser import parse_rule
    >>> inferred_types([parse_rule('odor = foul & size >= 3 & (ring | age != 0) & zip = "007"')])
    {'odor': 'text', 'size': 'number', 'ring': 'open', 'age': 'open', 'zip': 'text'}
    >>> inferred_types([parse_rule("seen >= 2020-02-01 & weekday(met) = Monday & hour(at) < 6")])
    {'seen': 'stamp', 'met': 'stamp'}
    """
    said: dict[str, set[ColumnType]] = {name: {"number"} for name in numeric}
    for leaf in (leaf for formula in formulas for leaf in formula.leaves):
        if isinstance(leaf, Variable):
            said.setdefault(leaf.name, set()).add("open")
        elif isinstance(leaf, Comparison):
            for value in leaf.values:
                if leaf.part is not None:
                    if leaf.part not in PARTS_OF["time"]:
                        said.setdefault(leaf.column, set()).add("stamp")
                elif not isinstance(value, ColumnName):
                    if (kind := _suggested(leaf.relation, value)) is not None:
                        said.setdefault(leaf.column, set()).add(kind)
                elif leaf.relation in ORDERS:
                    said.setdefault(leaf.column, set()).add("number")
                    said.setdefault(value.name, set()).add("number")
    found: dict[str, ColumnType] = {}
    for name, types in said.items():
        known = types - {"open"} or types
        if len(known) == 1:
            found[name] = next(iter(known))
    return found


def _suggested(relation: str, value: Any) -> ColumnType | None:
    if isinstance(value, Temporal):
        return value.kind
    if isinstance(value, Level):
        return "text"
    if relation in ORDERS:
        return "number" if not isinstance(value, str) or number_of(value) is not None else None
    number = number_of(value) if isinstance(value, str) else value
    if number in (0, 1) and str(value).lower() in ("0", "1", "true", "false", "0.0", "1.0"):
        return "open"
    return "text" if isinstance(value, str) else "number"
