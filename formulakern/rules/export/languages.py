"""Rules of all kinds as SQL, polars expressions and Python."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.errors import DataError, ParameterError
from formulakern.optional import data_frame, import_optional
from formulakern.rules.conditions import ColumnType, inferred_types, read_types
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.json import JsonRules, plain
from formulakern.rules.export.tables import (
    decision_columns,
    decision_html,
    decision_latex,
    decision_text,
)
from formulakern.rules.features import Monomial, Term
from formulakern.rules.python.files import PythonConditions, PythonFile
from formulakern.rules.rule import Rule
from formulakern.rules.sql import (
    Dialect,
    DialectName,
    Query,
    SqlConditions,
    TableName,
    cases,
    wrapped,
)
from formulakern.rules.sums import MAX_CHAIN_LENGTH, in_groups
from formulakern.syntax.temporal import UNITS, Temporal, TemporalKind
from formulakern.tables.temporal import RELATIONS
from formulakern.text import is_unicode

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class OrderedRules:
    """R rules; the first rule that covers a row decides its class.

    ``labels`` are the classes of the R rules and of rows that no rule covers.  ``name`` describes
    the rules in errors.  ``probabilities`` has the class probabilities of each label.
    """

    terms: Sequence[Rule]
    labels: Sequence[Any]
    name: str
    classes: Sequence[Any] = ()
    probabilities: Sequence[Sequence[float]] = ()


@dataclass(frozen=True)
class Votes:
    """R terms that add up to a number, to a score of levels, or to scores of K classes.

    ``votes`` has shape (R, K).  ``labels`` are classes or levels, None for a number.
    ``thresholds`` are the largest scores of all levels but the last.  ``target`` is the name of a
    number.  ``default`` has the class of rows whose scores are all 0; if it is empty, that is the
    first class.  ``is_opposite`` is True if the second of two scores is −1 times the first.
    """

    terms: Sequence[Term]
    votes: FloatArray
    intercept: Sequence[float]
    labels: Sequence[Any] | None
    thresholds: Sequence[float] | None = None
    target: str = "y"
    default: tuple[Any, ...] = ()
    is_opposite: bool = False

    @property
    def factors(self) -> list[str]:
        """The columns of monomials; a row in which one is missing has no class."""
        columns = (t.columns for t in self.terms if isinstance(t, Monomial))
        return list(dict.fromkeys(name for names in columns for name in names))


def term_types(terms: Sequence[Term], types: Any = None) -> dict[str, ColumnType]:
    """Return the types of the columns of terms: the given types, else those that terms imply.

    >>> from formulakern.rules.rule import rule
    >>> term_types([rule("odor = foul"), Monomial(("size", "age"))], {"age": [1, 2]})
    {'size': 'number', 'age': 'integer', 'odor': 'text'}
    """
    numeric = [name for term in terms if not isinstance(term, Rule) for name in term.columns]
    formulas = (term.formula for term in terms if isinstance(term, Rule))
    return inferred_types(formulas, numeric) | read_types(types)


def sql_query(
    rules: OrderedRules | Votes, table: TableName, dialect: DialectName, types: Any, scores: bool
) -> str:
    """Return the query of predictions; see :meth:`formulakern.RuleEnsemble.to_sql`."""
    if isinstance(rules, OrderedRules) and scores:
        raise ParameterError(f"{rules.name} has no scores. Use scores=False.")
    columns = (name for term in rules.terms for name in term.columns)
    query = Query(table, dialect, columns, term_types(rules.terms, types))
    lines: list[str] = []
    kind = f"{dialect} SQL"
    if isinstance(rules, OrderedRules):
        *labels, otherwise = map(query.label, _of_one_type(rules.labels, kind))
        for rule, label in zip(rules.terms, labels, strict=True):
            lines.append(f"WHEN {query.writer.expression(rule.formula)} THEN {label}")
        return query.text(cases(lines, otherwise) if lines else otherwise)
    sums = _sums(query, rules)
    if rules.labels is None:
        return query.text(sums[0], f"predicted {rules.target}")
    if rules.factors:
        present = " AND ".join(query.writer.present(name)[0] for name in rules.factors)
        lines.append(f"WHEN NOT ({present}) THEN NULL")
    labels = list(map(query.label, _of_one_type([*rules.labels, *rules.default], kind)))
    if rules.thresholds is not None:
        for label, end in zip(labels, rules.thresholds, strict=False):
            largest = query.writer.literal(end)
            lines.append(f"{wrapped('WHEN ', sums[0])} <= {largest} THEN {label}")
        answer = cases(lines, labels[-1])
    elif rules.default:
        answer = query.largest(sums, labels[:-1], [f"WHEN 0 THEN {labels[-1]}"])
    else:
        answer = query.leading(sums, labels, lines, rules.is_opposite)
    return query.text(answer, scores=sums if scores else ())


def _sums(query: Query, rules: Votes) -> list[str]:
    """Return the scores of all classes as SQL."""
    texts = [_value(query, term) for term in rules.terms]
    # inner sums then begin with weights, which must be doubles
    exact = len(texts) >= MAX_CHAIN_LENGTH
    sums = []
    for first, column in zip(rules.intercept, rules.votes.T.tolist(), strict=True):
        parts = []
        for term, text, weight in zip(rules.terms, texts, column, strict=True):
            number = query.dialect.number(weight, exact=exact)
            if weight and isinstance(term, Rule):
                parts.append(f"CASE WHEN {text} THEN {number} ELSE 0 END")
            elif weight:
                parts.append(f"{number} * {text}")
        sums.append(query.total(first, parts))
    return sums


def _value(query: Query, term: Term) -> str:
    """Return a rule as a condition, or another term as its value.

    >>> from formulakern.rules.features import LinearTerm
    >>> query = Query("t", "sqlite", ["age"], {"age": "number"})
    >>> print(_value(query, LinearTerm("age", 20, 70)).replace(" WHEN", "\\n WHEN"))
    (CASE
     WHEN "t"."age" <= 20.0 THEN 0.0
     WHEN "t"."age" < 70.0 THEN (CAST("t"."age" AS REAL) / 2.0 - 10.0) / 25.0
     WHEN "t"."age" IS NOT NULL THEN 1.0 ELSE 0.0 END)
    """
    writer, double, number = query.writer, query.dialect.double, query.writer.literal
    if isinstance(term, Rule):
        return writer.expression(term.formula)
    if isinstance(term, Monomial):
        factors = [f"CAST({writer.number(name)} AS {double})" for name in term.columns]
        return f"({' * '.join(factors)})" if factors else number(1.0)
    least, largest = term.least / 2, term.largest / 2 - term.least / 2
    column = writer.number(term.column)
    share = f"(CAST({column} AS {double}) / {number(2.0)} - {number(least)}) / {number(largest)}"
    return (
        f"(CASE WHEN {column} <= {number(term.least)} THEN {number(0.0)} "
        f"WHEN {column} < {number(term.largest)} THEN {share} "
        f"WHEN {writer.present(term.column)[0]} THEN {number(1.0)} ELSE {number(0.0)} END)"
    )


def python_file(rules: OrderedRules | Votes) -> str:
    """Return a file that predicts; see :meth:`formulakern.RuleEnsemble.to_python`."""
    file = PythonFile()
    return _first_rule(file, rules) if isinstance(rules, OrderedRules) else _votes(file, rules)


def _first_rule(file: PythonFile, rules: OrderedRules) -> str:
    lines = []
    for number, rule in enumerate(rules.terms):
        condition = file.conditions.condition(rule.formula)
        lines += [f"if {condition.text}:", f"    return {number}"]
    file.constants.append(f"LABELS = {_labels(rules.labels)}")
    file.define("predict", "Return the class.", "Any", ["return LABELS[place(row, missing)]"])
    if rules.probabilities:
        shares = "".join(f"    {list(row)!r},\n" for row in rules.probabilities)
        file.constants.append(f"CLASSES = {_labels(rules.classes)}")
        file.constants.append(f"PROBABILITIES = [\n{shares}]")
        shown = ["return PROBABILITIES[place(row, missing)]"]
        file.define("score", "Return the probability of each of CLASSES.", "list[float]", shown)
    about = "Return the number of the first rule that covers a row, from 0, or of the default."
    last = f"return {len(rules.terms)}"
    file.define("place", about, "int", [*lines, last], reads=True)
    return file.text()


def _votes(file: PythonFile, rules: Votes) -> str:
    lines = [
        f"r{k} = {_expression(file.conditions, term)}" for k, term in enumerate(rules.terms, 1)
    ]
    sums = _python_sums(rules)
    total = [*lines, f"return {sums[0]}"]
    if rules.labels is None:
        file.define("predict", "Return the predicted number.", "float", total, reads=True)
        file.define("score", "Return the number.", "float", ["return predict(row, missing)"])
        return file.text()
    if rules.thresholds is not None:
        name, found, about = "LEVELS", "total", "Return the level of a row, one of LEVELS."
        file.constants.append(f"ENDS = {list(rules.thresholds)!r}")
        chosen = "LEVELS[sum(end < total for end in ENDS)]"
        scored, kind = "Return the score that ENDS divide into levels.", "float"
    else:
        name, found, about = "CLASSES", "scores", "Return the class with the largest score."
        chosen = "CLASSES[scores.index(max(scores))]"
        scored, kind = "Return the score of each of CLASSES.", "list[float]"
        total = [*lines, "return [", *(f"    {text}," for text in sums), "]"]
    if rules.default:
        file.constants.append(f"DEFAULT = {plain(rules.default[0])!r}")
        about = "Return the class with the largest score, the first of several, or the default."
        chosen += " if any(scores) else DEFAULT"
    file.constants.insert(0, f"{name} = {_labels(rules.labels)}")
    file.define("predict", about, "Any", [f"{found} = score(row, missing)", f"return {chosen}"])
    file.define("score", scored, kind, total, reads=True)
    return file.text()


def _python_sums(rules: Votes) -> list[str]:
    """Return the scores as sums of r1, r2, …, in the order of :mod:`formulakern.rules.sums`."""

    def added(parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"

    sums = []
    for first, column in zip(rules.intercept, rules.votes.T.tolist(), strict=True):
        parts = [f"{weight!r} * r{r}" for r, weight in enumerate(column, 1) if weight]
        sums.append(" + ".join(in_groups([repr(first), *parts], added)).replace("+ -", "- "))
    return sums


def _expression(conditions: PythonConditions, term: Term) -> str:
    """Return a term as a truth value or a number."""
    if isinstance(term, Rule):
        return conditions.condition(term.formula).text
    if isinstance(term, Monomial):
        return " * ".join(["1.0", *(conditions.read("factor", name) for name in term.columns)])
    return conditions.read("share", term.column, term.least, term.largest)


def _labels(labels: Sequence[Any]) -> str:
    return repr([plain(label) for label in labels])


Expression = Any


def _of_one_type(labels: Sequence[Any], target: str) -> list[Any]:
    """Return the classes if all are text, all truth values or all numbers (or None)."""
    values = [label.item() if hasattr(label, "item") else label for label in labels]
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) > 1 and target != "sqlite SQL":
        raise DataError(
            f"the classes {values!r} are of several types, which a column of {target} cannot "
            "have. Use classes that are all text or all numbers."
        )
    return values


@dataclass(frozen=True)
class PolarsConditions(SqlConditions):
    """A writer of conditions and sums as polars expressions."""

    TARGET = "polars expressions"

    pl: Any

    # -- operations -------------------------------------------------------------------------------

    def column(self, name: str) -> Expression:
        """Return a column."""
        return self.pl.col(name)

    def present(self, name: str) -> Expression:
        """Return the condition that an entry is neither null nor NaN."""
        column, kind = self.pl.col(name), self.types.get(name)
        if kind not in (None, "number", "truth", "open"):
            return column.is_not_null()
        number = column if kind == "number" else column.cast(self.pl.Float64, strict=False)
        return column.is_not_null() & number.is_not_nan().fill_null(True)

    def _absent(self, name: str) -> Expression:
        return ~self.present(name)

    def _finite(self, name: str) -> Expression:
        return self.present(name) if self.types.get(name) in (None, "number") else None

    def _equals(self, name: str, value: bool) -> Expression:
        return self.pl.col(name) == int(value)

    def _one_or_zero(self, name: str) -> Expression:
        return self.pl.col(name).cast(self.pl.Float64)

    _text = column

    def _moment(self, name: str, kind: TemporalKind) -> Expression:
        """Return a column in microseconds: since 1970, since midnight, or of duration."""
        column = self.pl.col(name)
        if kind == "duration":
            return column.dt.total_microseconds()
        if kind != "time":
            return column.dt.timestamp("us")
        return column.cast(self.pl.Int64) // UNITS["us"]

    def _part(self, name: str, part: str, kind: TemporalKind | None) -> Expression:
        column = self.pl.col(name)
        if kind == "stamp":
            column = column.cast(self.pl.Datetime("us"))
        return getattr(column.dt, part)()

    def literal(self, value: Any) -> Any:
        """Return a constant; whole numbers beyond 64 bits are rounded, as in a table."""
        if isinstance(value, Temporal):
            return value.nanoseconds // UNITS["us"]
        return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value

    def _compared(self, column: Expression, relation: str, other: Any) -> Expression:
        return RELATIONS[relation](column, other)

    def _among(self, column: Expression, relation: str, constants: Sequence[Any]) -> Expression:
        parts = [self._compared(column, relation, constant) for constant in constants]
        return self.joined("and" if relation == "!=" else "or", parts)

    def constant(self, value: bool) -> Expression:
        """Return a condition that is always true or always false."""
        return self.pl.lit(value)

    def negated(self, part: Expression) -> Expression:
        """Return the negation of a condition, which is true if the condition is null."""
        return ~part.fill_null(False)

    def joined(self, word: str, parts: Sequence[Expression]) -> Expression:
        """Return conditions joined by "and" or "or"."""
        if not parts:
            return self.constant(word == "and")
        return reduce(operator.and_ if word == "and" else operator.or_, parts)

    def equal(self, left: Expression, right: Expression, same: bool) -> Expression:
        """Return the condition that two others are equal, or differ if ``same`` is False."""
        left, right = left.fill_null(False), right.fill_null(False)
        return left == right if same else left != right

    # -- numbers and predictions ------------------------------------------------------------------

    def value(self, term: Term) -> Expression:
        """Return a term as a number."""
        when, lit, double = self.pl.when, self.pl.lit, self.pl.Float64
        if isinstance(term, Rule):
            return when(self.condition(term.formula)).then(lit(1.0)).otherwise(lit(0.0))
        if isinstance(term, Monomial):
            factors = (self.pl.col(name).cast(double) for name in term.columns)
            return reduce(lambda left, right: left * right, factors, lit(1.0))
        column = self.pl.col(term.column).cast(double)
        least, half = term.least / 2, term.largest / 2 - term.least / 2
        # polars divides by a constant by multiplying with its rounded reciprocal
        share = (column * 0.5 - least) / (column * 0.0 + half)
        inside = when(column < term.largest).then(share).otherwise(lit(1.0))
        inside = when(column <= term.least).then(lit(0.0)).otherwise(inside)
        return when(self.present(term.column)).then(inside).otherwise(lit(0.0))

    def sums(self, rules: Votes) -> list[Expression]:
        """Return the scores of all classes, in the order of :mod:`formulakern.rules.sums`."""
        values = [self.value(term) for term in rules.terms]

        def added(parts: Sequence[Expression]) -> Expression:
            return reduce(lambda left, right: left + right, parts)

        def total(first: float, weights: Sequence[float]) -> Expression:
            weighted = (value * w for value, w in zip(values, weights, strict=True) if w)
            return added(in_groups([self.pl.lit(first), *weighted], added))

        columns = zip(rules.intercept, rules.votes.T.tolist(), strict=True)
        return [total(*column) for column in columns]


def _polars_classes(labels: Sequence[Any]) -> list[Any]:
    for label in labels:
        if isinstance(plain(label), str) and not is_unicode(label):
            raise DataError(
                f"the class {label!r} holds half of a surrogate pair, which polars columns cannot "
                "have. Rename the class."
            )
    return _of_one_type(labels, "polars")


def polars_expression(rules: OrderedRules | Votes, types: Any) -> Expression:
    """Return the predictions; see :meth:`formulakern.RuleEnsemble.to_polars`."""
    import polars

    types = term_types(rules.terms, types)
    frames = PolarsConditions(Dialect("polars", backslash="escape"), "", types, polars)
    found: list[tuple[Expression, Any]] = []
    if isinstance(rules, OrderedRules):
        labels = _polars_classes(rules.labels)
        conditions = (frames.condition(rule.formula) for rule in rules.terms)
        found += zip(conditions, labels, strict=False)
    else:
        sums = frames.sums(rules)
        if rules.labels is None:
            return sums[0].alias(f"predicted {rules.target}")
        labels = _polars_classes([*rules.labels, *rules.default])
        best = polars.max_horizontal(*sums)
        found += [(~frames.present(name), None) for name in rules.factors]
        if rules.default:
            found.append((best == 0, labels.pop()))
        if rules.thresholds is not None:
            ends = zip(rules.thresholds, labels, strict=False)
            found += [(sums[0] <= end, label) for end, label in ends]
        else:
            found += [(sums[k] >= best, label) for k, label in enumerate(labels[:-1])]
    answer = polars.lit(labels[-1])
    for condition, label in reversed(found):
        answer = polars.when(condition).then(polars.lit(label)).otherwise(answer)
    return answer.alias("predicted_class")


class ExportMixin(ABC):
    """Rules that export queries, data frame expressions, and functions of a row."""

    if TYPE_CHECKING:

        def predict(self, table: Any) -> npt.NDArray[Any]:
            """Predict the class or number of each row."""

    @abstractmethod
    def _exported(self) -> OrderedRules | Votes:
        """Return the rules in the form that the exports read."""

    def to_sql(
        self,
        table: TableName = "data",
        dialect: DialectName = "standard",
        *,
        types: Any = None,
        scores: bool = False,
    ) -> str:
        """Return an SQL query that predicts every row of a database table.

        Parameters
        ----------
        table : str, or sequence of str
            The name of the table that has the columns of the rules.  Dots separate a schema from
            its table, unless the parts are given: ``("schema", "my.table")``.
        dialect : {"standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark"}
            The dialect of SQL.
        types : mapping of column to type, or a table, optional
            The types of columns: "boolean", "truth" (truth values, or 1 and 0), "integer",
            "number", "text", "stamp" (dates, or time stamps without time zone), "instant" (with
            time zone), "time" (of day), "duration"; or a table with such columns, for example the
            training table.  By default they are inferred from the rules.  SQLite uses ISO 8601 text
            for dates, such as ``2020-02-01 10:30:15.25``.
        scores : bool, default=False
            True to add a column ``score_k`` for each class, if the rules have scores.

        Returns
        -------
        str
            ``SELECT`` with all columns, the scores, and ``predicted_class`` (NULL if unknown), or
            ``predicted`` with the name of a number.  A comparison with NULL or NaN is false.
            Scores are equal to those of :meth:`predict`, since doubles are added in the same order.

        Raises
        ------
        DataError
            If a rule cannot be written in SQL, a name or class cannot be written in this dialect,
            or the types of columns do not fit the rules.
        ParameterError
            If the dialect, a type or the table is not valid, or ``scores=True`` but there are none.

        Examples
        --------
        >>> import formulakern as fk
        >>> large = fk.rule("size >= 3")
        >>> weighed = fk.RuleEnsemble.of([fk.WeightedRule(large, 0.5, "L", "S")], ("L", "S"))
        >>> print(weighed.to_sql("shirts"))
        SELECT "shirts".*,
          CASE
            WHEN (
              0.0e0
              + CASE WHEN "shirts"."size" >= 3 THEN 0.5e0 ELSE 0 END
            ) >= 0 THEN 'L'
            ELSE 'S'
          END AS "predicted_class"
        FROM "shirts"
        >>> price = fk.RuleEnsemble.of([fk.WeightedRule(large, 0.5)], None, [4.0], target="price")
        >>> print(price.to_sql("shop.shirts", "mysql"))
        SELECT `shirts`.*,
          4.0e0
          + CASE WHEN `shirts`.`size` >= 3 THEN 0.5e0 ELSE 0 END AS `predicted price`
        FROM `shop`.`shirts` AS `shirts`
        """
        return sql_query(self._exported(), table, dialect, types, scores)

    def to_polars(self, types: Any = None) -> polars.Expr:
        """Return a polars expression that predicts every row of a frame.

        Parameters
        ----------
        types : mapping of column to type, or a table, optional
            The types of columns, as for :meth:`to_sql`; inferred from the rules by default.

        Returns
        -------
        polars.Expr
            An argument of ``frame.with_columns(…)``, also for lazy frames.  Null and NaN are
            missing; dates and times have a resolution of microseconds.

        Raises
        ------
        DataError
            If a rule has no polars expression, classes are of several types, or a column is
            compared with a value of another type.

        Examples
        --------
        >>> import polars
        >>> from formulakern import ClassRule, RuleList, rule
        >>> shirts = RuleList([ClassRule(rule("size >= 3"), "large")], ("small", "large"), "small")
        >>> frame = polars.LazyFrame({"size": [2, 4, None]})
        >>> frame.with_columns(shirts.to_polars()).collect()["predicted_class"].to_list()
        ['small', 'large', 'small']
        """
        expression: polars.Expr = polars_expression(self._exported(), types)
        return expression

    def to_pandas(self) -> Callable[[pandas.DataFrame], pandas.Series[Any]]:
        """Return a function that predicts the rows of a pandas data frame.

        Returns
        -------
        callable
            From a DataFrame to a Series with its index; NA and NaN are missing, and an unknown
            class is None.

        Examples
        --------
        >>> import pandas
        >>> from formulakern import RuleEnsemble, WeightedRule, rule
        >>> price = RuleEnsemble.of([WeightedRule(rule("size >= 3"), 0.5)], intercept=[4.0])
        >>> price.to_pandas()(pandas.DataFrame({"size": [2, 4, None]})).tolist()
        [4.0, 4.5, 4.0]
        """
        library = import_optional("pandas", "to_pandas()", "tables")

        def predicted(frame: pandas.DataFrame) -> pandas.Series[Any]:
            found: pandas.Series[Any] = library.Series(self.predict(frame), frame.index)
            return found.rename("predicted")

        return predicted

    def to_python(self) -> str:
        """Return a Python file with a function that predicts one row.

        Returns
        -------
        str
            The file needs Python 3.10 or later and no other package.  It defines

            * ``predict(row, missing=())``: the class, level or number of a row, a mapping of column
              names to numbers, text, truth values or dates, including NumPy and pandas scalars.
              None, nan and the texts in ``missing`` are missing, such as ``("", "?")`` for rows of
              ``csv.DictReader``.  Text is read as a number if the rules compare numbers.  Raises
              KeyError if a column is absent, and ValueError if it cannot be compared.
            * ``score(row, missing=())``, except for trees: the score of every class, or its
              probability for a list; or the predicted number.

        Raises
        ------
        DataError
            If a class is neither text, a finite number, a bool nor None.

        Examples
        --------
        >>> import formulakern as fk
        >>> items = [fk.ClassRule(fk.rule("size >= 3 & colour != red"), "L")]
        >>> made = {}
        >>> exec(fk.RuleList(items, ("S", "L"), "S").to_python(), made)
        >>> made["predict"]({"size": "3.5", "colour": "blue"})
        'L'
        >>> made["predict"]({"size": 4, "colour": ""}, missing=("", "?"))
        'S'
        """
        return python_file(self._exported())


@dataclass(frozen=True, repr=False)
class DecisionExports(ExportMixin, JsonRules, DecisionRules):
    """The exports that lists and sets of rules share."""

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per rule and one for the default: class, covered, accuracy, rule.

        ``covered`` is the sum of the counts, and ``accuracy`` the share of the rule's class in it;
        both are nan if counts are unknown.  The default has None as its rule.
        """
        return data_frame(decision_columns(self))

    __str__ = decision_text

    def _repr_html_(self) -> str:
        return decision_html(self)

    def to_latex(self, top: int | None = None) -> str:
        r"""Return a LaTeX ``tabular`` with one line per rule, and one for the default.

        Parameters
        ----------
        top : int, optional
            The number of rules shown; all by default.

        Examples
        --------
        >>> from formulakern import ClassRule, RuleList, rule
        >>> birds = ClassRule(rule("fly = yes"), "bird", (3.0, 1.0))
        >>> print(RuleList((birds,), ("bird", "fish"), "fish").to_latex())
        \begin{tabular}{rlrrl}
         & class & covered & accuracy & rule \\
        \hline
        1 & $\text{bird}$ & 4 & 75.0\% & $\text{fly} = \text{yes}$ \\
         & $\text{fish}$ &  &  & otherwise \\
        \end{tabular}
        """
        return decision_latex(self, top)
