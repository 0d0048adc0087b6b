"""Rules as expressions of polars."""

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
from formulakern.syntax.formula import Variable
from formulakern.syntax.leaves import ORDERS, ColumnName, Comparison, Level
from formulakern.syntax.temporal import KINDS, PARTS_OF, UNITS, Temporal, TemporalKind
from formulakern.tables.temporal import RELATIONS, value_of_kind
from formulakern.text import is_unicode

__all__ = ["polars_expression"]

Expression = Any


@dataclass(frozen=True)
class PolarsConditions(ConditionWriter[Expression]):
    """Expressions of conditions and sums."""

    TARGET = "expression of polars"

    pl: Any
    types: Mapping[str, ColumnType]

    def constant(self, value: bool | float) -> Expression:
        """Return a constant."""
        return self.pl.lit(value)

    def present(self, name: str) -> Expression:
        """Return the condition that an entry is neither null nor NaN."""
        column, kind = self.pl.col(name), self.types.get(name)
        if kind not in (None, "number", "truth", "open"):
            return column.is_not_null()
        number = column if kind == "number" else column.cast(self.pl.Float64, strict=False)
        return column.is_not_null() & number.is_not_nan().fill_null(True)

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
            return self.pl.col(name).is_in(list(value.passed(relation)))
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
        return compare(self.pl.col(name), _held(number))

    def _equal(self, name: str, value: Any) -> Expression:
        column, kind = self.pl.col(name), self.types.get(name)
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
        return compare(self.pl.col(name), self.pl.col(other))

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
        column = self.pl.col(name)
        if kind == "duration":
            return column.dt.total_microseconds()
        if kind != "time":
            return column.dt.timestamp("us")
        return column.cast(self.pl.Int64) // UNITS["us"]

    def _part(self, name: str, part: str, kind: TemporalKind | None) -> Expression:
        column = self.pl.col(name)
        if kind == "instant" or (kind is not None and part not in PARTS_OF[kind]):
            raise DataError(
                f'column "{name}" holds {KINDS[kind][0]}, which have no {part} of their own.'
            )
        if kind == "stamp":
            column = column.cast(self.pl.Datetime("us"))
        if part == "quarter":
            return (column.dt.month() + 2) // 3
        return getattr(column.dt, part)()

    # -- numbers and answers ----------------------------------------------------------------------

    def value(self, term: Term) -> Expression:
        """A term as a number."""
        when, lit, double = self.pl.when, self.pl.lit, self.pl.Float64
        if isinstance(term, Rule):
            return self.condition(term.formula).cast(double)
        if isinstance(term, Monomial):
            factors = (self.pl.col(name).cast(double) for name in term.columns)
            return reduce(lambda left, right: left * right, factors, lit(1.0))
        column = self.pl.col(term.column).cast(double)
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
        return [total(*column) for column in columns]

    def cases(self, cases: Sequence[tuple[Expression, Any]], otherwise: Any) -> Expression:
        """The label of the first condition that is true."""
        answer = self.pl.lit(otherwise)
        for condition, label in reversed(cases):
            answer = self.pl.when(condition).then(self.pl.lit(label)).otherwise(answer)
        return answer

    def leading(self, sums: Sequence[Expression], labels: Sequence[Any]) -> Expression:
        """The label of the largest sum, of several that of the first."""
        best = self.pl.max_horizontal(*sums)
        cases = [(total >= best, label) for total, label in zip(sums, labels, strict=True)]
        return self.cases(cases[:-1], labels[-1])


def _held(value: Any) -> Any:
    """A number that fits in 64 bits; whole numbers beyond them are rounded, as in a table."""
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def plain_classes(labels: Sequence[Any]) -> list[Any]:
    """Classes as plain values: all text, all truth values or all numbers, and None."""
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


def polars_expression(rules: FirstRule | Votes, types: Any) -> Expression:
    """Return what rules predict; see :meth:`formulakern.RuleEnsemble.to_polars`."""
    import polars

    frames = PolarsConditions(polars, term_types(rules.terms, types))
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
        unknown = polars.max_horizontal(*sums) == 0
        answer = polars.when(unknown).then(polars.lit(labels[-1])).otherwise(answer)
    for name in rules.factors:
        answer = polars.when(frames.present(name)).then(answer).otherwise(polars.lit(None))
    return answer.alias("predicted_class")
