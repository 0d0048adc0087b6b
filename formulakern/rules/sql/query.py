"""A query of one table: all its columns, and expressions of them.

Expressions need no names of their own, so that none can be that of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from formulakern.errors import DataError, ParameterError
from formulakern.rules.column_types import ColumnType
from formulakern.rules.sql.conditions import SqlConditions
from formulakern.rules.sql.dialects import Dialect, DialectName, TableName, dialect_of
from formulakern.rules.sums import in_groups

__all__ = ["Lines", "Query", "cases", "wrapped"]

#: Lines of an expression.  The text of a constant may go over several lines inside one of these,
#: to which nothing may be added.
Lines = list[str]


class Query:
    """A query of one table, and the expressions in it."""

    dialect: Dialect
    writer: SqlConditions

    def __init__(
        self,
        table: TableName,
        dialect: DialectName,
        columns: Iterable[str],
        types: Mapping[str, ColumnType],
    ) -> None:
        self.dialect = dialect_of(dialect)
        parts = table.split(".") if isinstance(table, str) else list(table)
        if not parts or not all(isinstance(part, str) and part for part in parts):
            raise ParameterError(
                f"table={table!r}; expected a name such as 'data' or 'schema.data', or the parts "
                "of one: ('schema', 'data')."
            )
        names = [self.dialect.identifier(part) for part in parts]
        self._from, qualifier = ".".join(names), names[-1]
        read = list(dict.fromkeys(columns))
        if len(parts) > 1:
            self._from += f" AS {qualifier}"
        if self.dialect.hidden & {name.lower() for name in read}:
            # a table answers to these names, a query of it only where it has such a column
            qualifier = self.dialect.identifier("all rows")
            self._from = f"(SELECT * FROM {'.'.join(names)}) AS {qualifier}"
        self._check_case(read)
        self._known = {name.casefold() for name in (*read, *types)}
        self.writer = SqlConditions(self.dialect, qualifier, types)

    def _check_case(self, names: Sequence[str]) -> None:
        if self.dialect.folds:
            folded: dict[str, str] = {}
            for name in names:
                if (other := folded.setdefault(name.lower(), name)) != name:
                    raise DataError(
                        f'columns "{other}" and "{name}" differ in case only, and are one column '
                        f"in {self.dialect.name}. Rename one of them."
                    )

    def text(
        self, answer: Lines, name: str = "predicted_class", scores: Sequence[Lines] = ()
    ) -> str:
        """The query: all columns, scores, and what is predicted."""
        added = [(total, f"score_{k}") for k, total in enumerate(scores, 1)]
        lines = [f"SELECT {self.writer.table}.*,"]
        for expression, wanted in [*added, (answer, name)]:
            lines += _indented(expression)
            lines[-1] += f" AS {self._fresh(wanted)},"
        lines[-1] = lines[-1].removesuffix(",")
        return "\n".join([*lines, f"FROM {self._from}"])

    def rows(self, condition: str) -> str:
        """The query of the rows in which a condition is true."""
        return f"SELECT {self.writer.table}.*\nFROM {self._from}\nWHERE {condition}"

    def _fresh(self, wanted: str) -> str:
        try:
            self.dialect.identifier(wanted)
        except DataError:
            wanted = "predicted"
        name, number = wanted, 1
        while name.casefold() in self._known:
            number += 1
            name = f"{wanted}_{number}"
        self._known.add(name.casefold())
        return self.dialect.identifier(name)

    # -- expressions ------------------------------------------------------------------------------

    def labels(self, classes: Sequence[Any]) -> list[str]:
        """Classes as constants of one type."""
        plain = [label.item() if hasattr(label, "item") else label for label in classes]
        kinds = {type(label) for label in plain if label is not None}
        if kinds == {int, float}:
            plain = [None if label is None else float(label) for label in plain]
        elif len(kinds) > 1 and self.dialect.name != "sqlite":
            raise DataError(
                f"the classes {list(classes)!r} are of several types, which one column of "
                f"{self.dialect.name} SQL does not hold; use classes that are all text or all "
                "numbers."
            )
        return list(map(self._label, plain))

    def _label(self, label: Any) -> str:
        if label is None:
            return "NULL"
        if isinstance(label, bool):
            return str(label).upper() if self.dialect.boolean else str(int(label))
        if isinstance(label, (int, float)):
            return self.dialect.number(label)
        return self.dialect.string(str(label))

    def total(self, intercept: float, terms: Iterable[str]) -> Lines:
        """A sum, in the order of :func:`formulakern.rules.sums.weighted_sums`.

        That the first number is a double makes all of them doubles.
        """
        parts = [[self.dialect.number(float(intercept))], *([term] for term in terms)]
        return _chain(in_groups(parts, lambda group: wrapped("", _chain(group))))

    def maximum(self, parts: Sequence[Lines]) -> Lines:
        """The largest of some expressions."""
        name = self.dialect.greatest

        def largest(group: Sequence[Lines]) -> Lines:
            if len(group) == 1:
                return group[0]
            lines: Lines = []
            for part in group:
                lines += part
                lines[-1] += ","
            lines[-1] = lines[-1].removesuffix(",")
            return wrapped(name, lines)

        return largest(in_groups(parts, largest))

    def leading(
        self, sums: Sequence[Lines], labels: Sequence[str], first: Lines, opposite: bool = False
    ) -> Lines:
        """The label of the largest sum, of several that of the first, after other cases.

        ``opposite``: there are two sums, and the second is the first times −1.
        """
        if len(sums) == 2:
            ahead, (start, *others) = wrapped("WHEN ", sums[0]), wrapped(" >= ", sums[1])
            if opposite:
                start, others = " >= 0", []
            ahead[-1] += start
            ahead += others
            ahead[-1] += f" THEN {labels[0]}"
            return cases([*first, *ahead], labels[1])
        answer = self.largest(sums, labels)
        return cases(first, answer) if first else answer

    def largest(
        self, sums: Sequence[Lines], labels: Sequence[str], first: Sequence[str] = ()
    ) -> Lines:
        """The label of the largest sum, of several that of the first.

        ``first`` are lines about the largest sum, such as ``WHEN 0 THEN …``.
        """
        lines = [*first]
        for total, label in zip(sums[:-1], labels, strict=False):
            lines += wrapped("WHEN ", total)
            lines[-1] += f" THEN {label}"
        return cases(lines, labels[-1], self.maximum(sums))


def cases(lines: Lines, otherwise: str | Lines, of: Lines | None = None) -> Lines:
    """A ``CASE`` with these lines, and what it is where none of them applies."""
    last = [otherwise] if isinstance(otherwise, str) else otherwise
    head = ["CASE"] if of is None else [f"CASE {of[0]}", *of[1:]]
    last = [f"ELSE {last[0]}", *last[1:]]
    return [*head, *_indented([*lines, *last]), "END"]


def wrapped(before: str, lines: Lines) -> Lines:
    """Lines in parentheses, the first of which stands behind a word."""
    if len(lines) == 1:
        return [f"{before}({lines[0]})"]
    return [f"{before}(", *_indented(lines), ")"]


def _chain(parts: Sequence[Lines]) -> Lines:
    first, *others = parts
    return [*first, *(line for part in others for line in (f"+ {part[0]}", *part[1:]))]


def _indented(lines: Iterable[str]) -> Lines:
    return [f"  {line}" for line in lines]
