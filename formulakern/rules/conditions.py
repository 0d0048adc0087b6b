"""Formulas as conditions of another language, and the types of the columns that they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from formulakern.encoding.propositions import number_of
from formulakern.errors import DataError, ParameterError
from formulakern.syntax.connectives import ARGUMENTS
from formulakern.syntax.formula import Constant, Formula, Variable, fold
from formulakern.syntax.leaves import ORDERS, ColumnName, Comparison, Level
from formulakern.syntax.temporal import PARTS_OF, Temporal
from formulakern.tables.column import Column
from formulakern.tables.table import Table

T = TypeVar("T")


class ConditionWriter(ABC, Generic[T]):
    """A writer of formulas as conditions, from leaves, NOT, AND, OR and equality."""

    #: Name of the target form, for the error about a formula without columns.
    TARGET: ClassVar[str]

    def condition(self, formula: Formula) -> T:
        """Return the condition of a formula."""

        def build(node: Formula, parts: list[T]) -> T:
            if isinstance(node, Constant):
                return self.constant(bool(node.value))
            if isinstance(node, Variable):
                return self.truth(node.name)
            if isinstance(node, Comparison):
                return self.comparison(node)
            if node.connective is None:
                raise DataError(f"{node} has no {self.TARGET}; write the rule with comparisons.")
            if node.connective.arity == 1:
                return self.negated(parts[0])
            if node.connective.name in ("and", "or"):
                return self.joined(node.connective.name, parts)
            return reduce(partial(self._connected, node.connective.truth), parts)

        return fold(formula, build)

    def _connected(self, truth: str, left: T, right: T) -> T:
        """Return two conditions joined by the truth table of a connective."""

        if truth in ("1001", "0110"):
            return self.equal(left, right, truth == "1001")
        if truth.count("1") == 2:  # depends on one argument only
            part = left if truth[0] == truth[1] else right
            return part if truth[0] == "1" else self.negated(part)
        alone = "1" if truth.count("1") == 1 else "0"  # the value of exactly one case
        case = zip((left, right), ARGUMENTS[truth.index(alone)], strict=True)
        parts = [part if value == (alone == "1") else self.negated(part) for part, value in case]
        return self.joined("and" if alone == "1" else "or", parts)

    def _unordered(self, name: str, value: str) -> DataError:
        return DataError(
            f'the order of {value!r} among the entries of column "{name}" is not known in '
            f"{self.TARGET}. List the categories with `in`, or learn from a column of ordered "
            "categories."
        )

    @abstractmethod
    def constant(self, value: bool) -> T:
        """Return a condition that is always true or always false."""

    @abstractmethod
    def truth(self, name: str) -> T:
        """Return the condition that a column is true, or 1."""

    @abstractmethod
    def comparison(self, leaf: Comparison) -> T:
        """Return the condition of a comparison."""

    @abstractmethod
    def negated(self, part: T) -> T:
        """Return the negation of a condition."""

    @abstractmethod
    def joined(self, word: str, parts: Sequence[T]) -> T:
        """Return conditions joined by "and" or "or"."""

    @abstractmethod
    def equal(self, left: T, right: T, same: bool) -> T:
        """Return the condition that two others are equal, or differ if ``same`` is False."""


#: "truth": truth values, or the numbers 1 and 0.  "number": floating point, or any number.  "open":
#: compared with 1 and 0 only, so truth values or any numbers.  "stamp", "instant", "time",
#: "duration": the kinds of :class:`formulakern.syntax.temporal.Temporal`.
ColumnType = Literal[
    "boolean", "truth", "integer", "number", "text", "open", "stamp", "instant", "time", "duration"
]


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
    """Return the types of columns from a mapping of names to types, or from a table.

    Columns of a table without entries are left out.

    >>> read_types({"odor": "text"}), read_types({"odor": ["foul"]})
    ({'odor': 'text'}, {'odor': 'text'})
    >>> read_types({"a": [True], "b": [1], "c": [0.5], "d": ["x"], "e": [None]})
    {'a': 'boolean', 'b': 'integer', 'c': 'number', 'd': 'text'}
    >>> read_types({"a": [True, None], "b": [1, None]})
    {'a': 'truth', 'b': 'truth'}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(v, str) for v in given.values()):
        table = Table.of(given)
        found = {name: type_of(table.typed(name)) for name in table.names}
        return {name: kind for name, kind in found.items() if kind is not None}
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
    """Return the types of columns that rules imply.

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
