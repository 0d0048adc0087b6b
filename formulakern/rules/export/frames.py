"""Rules as expressions of data frames: of polars, or through narwhals of pandas.

Both libraries build expressions by ``col``, ``lit`` and ``when``, so one builder serves both.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from formulakern.encoding.propositions import number_of
from formulakern.errors import DataError
from formulakern.rules.column_types import ColumnType
from formulakern.rules.conditions import ConditionWriter
from formulakern.rules.export.exported import FirstRule, Votes, term_types
from formulakern.rules.export.json import plain
from formulakern.rules.features import Monomial, Term
from formulakern.rules.rule import Rule
from formulakern.rules.sums import in_groups
from formulakern.syntax.comparison import ORDERS, ColumnName, Comparison, Level
from formulakern.syntax.formula import Variable
from formulakern.syntax.temporal import KINDS, PARTS_OF, UNITS, Temporal, TemporalKind
from formulakern.tables.temporal import RELATIONS, value_of_kind
from formulakern.text import is_unicode

__all__ = ["EVERY_ROW", "frame_expression"]

#: A column of true entries that a frame gets before narwhals evaluates an expression.
EVERY_ROW = "formulakern: every row"

#: An expression of polars or of narwhals.
Expression = Any


@dataclass(frozen=True)
class FrameConditions(ConditionWriter[Expression]):
    """Expressions of conditions and sums, in one library.

    Parameters
    ----------
    library : module
        ``polars``, or ``narwhals.stable.v1``.
    types : mapping of column to type
    """

    TARGET = "expression of data frames"

    library: Any
    types: Mapping[str, ColumnType]

    def constant(self, value: bool | float) -> Expression:
        """A constant for every row; narwhals treats a literal as a single value in some places."""
        if self.library.__name__ == "polars":
            return self.library.lit(value)
        every = self.library.col(EVERY_ROW)
        if isinstance(value, bool):
            return every if value else ~every
        return every.cast(self.library.Float64) * value

    def present(self, name: str) -> Expression:
        """Whether an entry is not missing: neither null nor NaN."""
        column, kind = self.library.col(name), self.types.get(name)
        known = ~column.is_null()
        if kind == "number" or (kind == "truth" and self.library.__name__ != "polars"):
            return known & (~column.is_nan()).fill_null(True)
        if kind in (None, "truth", "open") and self.library.__name__ == "polars":
            number = column.cast(self.library.Float64, strict=False)
            return known & (~number.is_nan()).fill_null(True)
        return known

    def truth(self, name: str) -> Expression:
        """Return the condition that a column is true, or 1."""
        return self._equal(name, 1).fill_null(False)

    def negated(self, part: Expression) -> Expression:
        """Return the condition that another one is not true."""
        return ~part

    def joined(self, word: str, parts: Sequence[Expression]) -> Expression:
        """Return conditions joined by "and" or "or"."""
        return reduce(operator.and_ if word == "and" else operator.or_, parts)

    def equal(self, left: Expression, right: Expression, same: bool) -> Expression:
        """Return the condition that two others are both true or both not, or else differ."""
        return left == right if same else left != right

    def comparison(self, leaf: Comparison) -> Expression:
        """Return the condition of a comparison; it is never null."""
        return self._comparison(leaf).fill_null(False)

    def _comparison(self, leaf: Comparison) -> Expression:
        name, relation = leaf.column, leaf.relation
        if leaf.value is None:
            present = self.present(name)
            return present if relation == "is not missing" else ~present
        named = [value.name for value in leaf.values if isinstance(value, ColumnName)]
        known = reduce(operator.and_, map(self.present, [name, *named]))
        if relation in ORDERS:
            return self._ordered(leaf, relation, leaf.value) & known
        equal = [self._ordered(leaf, "=", value).fill_null(False) for value in leaf.values]
        if relation in ("!=", "not in"):
            return ~reduce(operator.or_, equal) & known
        present = [
            self.present(value.name) if isinstance(value, ColumnName) else self.constant(True)
            for value in leaf.values
        ]
        true = reduce(operator.or_, map(operator.and_, equal, present))
        return true & self.present(name)

    def _ordered(self, leaf: Comparison, relation: str, value: Any) -> Expression:
        """A column, or a part of it, beside one value."""
        name, compare = leaf.column, RELATIONS[relation]
        kind = self._temporal(name, value)
        if leaf.part is not None:
            return compare(self._part(name, leaf.part, kind), value)
        if isinstance(value, Level) and relation in ORDERS:
            return self.library.col(name).is_in(list(value.passed(relation)))
        if isinstance(value, ColumnName):
            return self._pair(name, compare, value.name)
        if kind is not None:
            found = value_of_kind(value, kind, name)
            count, rest = divmod(found.nanoseconds, UNITS["us"])
            if rest:  # columns are of microseconds: y < x is y <= c with c the next below x
                if relation == "=":
                    return self.constant(False)
                compare = RELATIONS[{"<": "<=", ">=": ">"}.get(relation, relation)]
            return compare(self._counts(name, kind), count)
        if relation == "=":
            return self._equal(name, value)
        number = number_of(value) if isinstance(value, str) else value
        if number is None or self.types.get(name) == "text":
            raise DataError(
                f'column "{name}" and {value!r} have no order here; expected a column of numbers '
                "and a number, or ordered categories."
            )
        return compare(self.library.col(name), _held(number))

    def _equal(self, name: str, value: Any) -> Expression:
        column, kind = self.library.col(name), self.types.get(name)
        if kind == "text" and not isinstance(value, str):
            raise DataError(
                f'column "{name}" holds text, and is compared with {value!r}. '
                f'Write {Variable(name)} = "{value}".'
            )
        if isinstance(value, str) and kind not in ("text", None):
            value = number_of(value)
        if value is None or (isinstance(value, str) and not is_unicode(value)):
            return self.constant(False)  # no column of a data frame holds it
        return column == _held(value)

    def _pair(self, name: str, compare: Any, other: str) -> Expression:
        kinds = [self._temporal(column) for column in (name, other)]
        if (kind := kinds[0] or kinds[1]) is not None:
            if not {*kinds} <= {kind, None}:
                raise DataError(f'columns "{name}" and "{other}" differ in kind; convert one.')
            return compare(self._counts(name, kind), self._counts(other, kind))
        return compare(self.library.col(name), self.library.col(other))

    # -- dates and times --------------------------------------------------------------------------

    def _temporal(self, name: str, value: Any = None) -> TemporalKind | None:
        kind = self.types.get(name)
        if kind in KINDS:
            return kind
        if isinstance(value, Temporal):
            raise DataError(
                f'column "{name}" holds no {KINDS[value.kind][0]}, and is compared with {value}. '
                "Say by types what it holds."
            )
        return None

    def _counts(self, name: str, kind: TemporalKind) -> Expression:
        """Microseconds since 1970, since midnight, or long."""
        column = self.library.col(name)
        if kind == "duration":
            return column.dt.total_microseconds()
        if kind != "time":
            return column.dt.timestamp("us")
        self._check_time(name)
        return column.cast(self.library.Int64) // UNITS["us"]

    def _check_time(self, name: str) -> None:
        if self.library.__name__ != "polars":
            raise DataError(f'column "{name}": pandas has no type of times of day. Use polars.')

    def _part(self, name: str, part: str, kind: TemporalKind | None) -> Expression:
        column = self.library.col(name)
        if kind == "instant" or (kind is not None and part not in PARTS_OF[kind]):
            raise DataError(
                f'column "{name}" holds {KINDS[kind][0]}, which have no {part} of their own.'
            )
        if kind == "time":
            self._check_time(name)
        if self.library.__name__ == "polars" and kind == "stamp":
            column = column.cast(self.library.Datetime("us"))
        if part == "quarter":
            return (column.dt.month() + 2) // 3
        return getattr(column.dt, part)()

    # -- numbers and answers ----------------------------------------------------------------------

    def value(self, term: Term) -> Expression:
        """A term as a number."""
        when, lit, double = self.library.when, self.library.lit, self.library.Float64
        if isinstance(term, Rule):
            return self.condition(term.formula).cast(double)
        if isinstance(term, Monomial):
            factors = (self.library.col(name).cast(double) for name in term.columns)
            return reduce(lambda left, right: left * right, factors, lit(1.0))
        column = self.library.col(term.column).cast(double)
        least, half = term.least / 2, term.largest / 2 - term.least / 2
        # polars divides by a constant by a product with its rounded reciprocal
        share = (column * 0.5 - least) / (column * 0.0 + half)
        inside = when(column < term.largest).then(share).otherwise(lit(1.0))
        inside = when(column <= term.least).then(lit(0.0)).otherwise(inside)
        return when(self.present(term.column)).then(inside).otherwise(lit(0.0))

    def sums(self, rules: Votes) -> list[Expression]:
        """The scores of all classes, added as :func:`formulakern.rules.sums.weighted_sums` does."""
        values = [self.value(term) for term in rules.terms]

        def added(parts: Sequence[Expression]) -> Expression:
            return reduce(lambda left, right: left + right, parts)

        def total(first: float, weights: Sequence[float]) -> Expression:
            weighted = (value * w for value, w in zip(values, weights, strict=True) if w)
            return added(in_groups([self.constant(first), *weighted], added))

        columns = zip(rules.intercept, rules.votes.T.tolist(), strict=True)
        # narwhals refuses two columns of the same name
        return [total(*column).alias(f"sum {k}") for k, column in enumerate(columns)]

    def cases(self, cases: Sequence[tuple[Expression, Any]], otherwise: Any) -> Expression:
        """The label of the first condition that is true."""
        answer = self.library.lit(otherwise)
        for condition, label in reversed(cases):
            answer = self.library.when(condition).then(self.library.lit(label)).otherwise(answer)
        return answer

    def leading(self, sums: Sequence[Expression], labels: Sequence[Any]) -> Expression:
        """The label of the largest sum, of several that of the first."""
        best = self.library.max_horizontal(*sums)
        cases = [(total >= best, label) for total, label in zip(sums, labels, strict=True)]
        return self.cases(cases[:-1], labels[-1])


def _held(value: Any) -> Any:
    """A number that fits in 64 bits; whole numbers beyond them are rounded, as in a table."""
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def plain_classes(labels: Sequence[Any]) -> list[Any]:
    """Classes as plain values: all text, all truth values or all numbers, and None.

    Raises
    ------
    DataError
        If they are of several types, or of others; if a text among them has no encoding.
    """
    values = [plain(label) for label in labels]
    kinds = {"number" if type(v) in (int, float) else type(v) for v in values if v is not None}
    if len(kinds) > 1:
        raise DataError(
            f"the classes {values!r} are of several types, which a column of polars does not hold; "
            "use classes that are all text or all numbers."
        )
    for value in values:
        if isinstance(value, str) and not is_unicode(value):
            raise DataError(
                f"the class {value!r} holds half of a surrogate pair, which a column of polars "
                "does not hold; rename it."
            )
    return values


def frame_expression(rules: FirstRule | Votes, library: Any, types: Any) -> Expression:
    """Return what rules predict; see :meth:`formulakern.RuleEnsemble.to_polars`."""
    frames = FrameConditions(library, term_types(rules.terms, types))
    if isinstance(rules, FirstRule):
        *labels, otherwise = plain_classes(rules.labels)
        conditions = [frames.condition(rule.formula) for rule in rules.terms]
        answer = frames.cases(list(zip(conditions, labels, strict=True)), otherwise)
        return answer.alias("predicted_class")
    sums = frames.sums(rules)
    if rules.labels is None:
        return sums[0].alias(f"predicted {rules.target}")
    labels = plain_classes([*rules.labels, *rules.default])
    if rules.thresholds is not None:
        *below, last = labels
        ends = zip(rules.thresholds, below, strict=False)
        answer = frames.cases([(sums[0] <= end, label) for end, label in ends], last)
    else:
        answer = frames.leading(sums, labels[: len(sums)])
    if rules.default:
        unknown = library.max_horizontal(*sums) == 0
        answer = library.when(unknown).then(library.lit(labels[-1])).otherwise(answer)
    for name in rules.factors:
        answer = library.when(frames.present(name)).then(answer).otherwise(library.lit(None))
    return answer.alias("predicted_class")
