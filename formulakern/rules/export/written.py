"""Rules in other forms: text, frames, HTML, LaTeX, JSON, SQL, expressions, Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy.typing as npt

from formulakern.optional import data_frame, needed
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.exported import FirstRule, Votes
from formulakern.rules.export.json import decision_from_json, decision_json
from formulakern.rules.export.polars import polars_expression
from formulakern.rules.export.python import python_file
from formulakern.rules.export.sql import sql_query
from formulakern.rules.export.tables import (
    decision_columns,
    decision_html,
    decision_latex,
    decision_text,
)
from formulakern.rules.sql.dialects import DialectName, TableName

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Written", "WrittenRules"]


class Written(ABC):
    """Rules that give queries, expressions of data frames, and functions of a row."""

    if TYPE_CHECKING:

        def predict(self, table: Any) -> npt.NDArray[Any]:
            """Return the prediction for every row."""

    @abstractmethod
    def _exported(self) -> FirstRule | Votes:
        """Return the rules as other programs get them."""

    def to_sql(
        self,
        table: TableName = "data",
        dialect: DialectName = "standard",
        *,
        types: Any = None,
        scores: bool = False,
    ) -> str:
        """A query that gives every row of a database table what :meth:`predict` says.

        Parameters
        ----------
        table : str, or sequence of str
            Name of the table, with a column for each that the rules read; dots stand between a
            schema and its table, unless the parts are given: ``("schema", "my.table")``.
        dialect : {"standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark"}
            Whose SQL.
        types : mapping of column to type, or a table, optional
            What columns hold: "boolean", "truth" (truth values, or 1 and 0), "integer", "number",
            "text", "stamp" (dates, or time stamps without time zone), "instant" (with one), "time"
            (of day), "duration"; or a table that shows it, such as that of training.  By default
            what the rules suggest.  A model knows: its own ``to_sql`` says it.
            SQLite has text for dates: ISO 8601, as in ``2020-02-01 10:30:15.25``.
        scores : bool, default=False
            Whether a column ``score_k`` for each class is added too, where rules have scores.

        Returns
        -------
        str
            ``SELECT``: all columns, the scores if asked for, and ``predicted_class``, which is
            NULL where it is unknown, or ``predicted`` with the name of a number.  A comparison
            with NULL or NaN counts as false, as it does here.  Scores are added up in double
            precision and in the order of :meth:`predict`, so that they are the same numbers, and
            ties are ties.

        Raises
        ------
        DataError
            If a rule holds something that has no SQL, a name or a class cannot be written in this
            dialect, or the types of columns do not fit the rules.
        ParameterError
            If there is no such dialect or type, ``table`` is no name, or there are no scores.

        Examples
        --------
        >>> import formulakern as fk
        >>> large = fk.rule("size >= 3")
        >>> listed = fk.RuleList([fk.ClassRule(large, "L")], ("S", "L"), "S")
        >>> print(listed.to_sql("shirts"))
        SELECT "shirts".*,
          CASE
            WHEN "shirts"."size" >= 3 THEN 'L'
            ELSE 'S'
          END AS "predicted_class"
        FROM "shirts"
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
        """An expression of polars that gives every row what :meth:`predict` says.

        Parameters
        ----------
        types : mapping of column to type, or a table, optional
            What columns hold, as for ``to_sql``.  By default what the rules suggest; a model knows.

        Returns
        -------
        polars.Expr
            For ``frame.with_columns(…)``, of a lazy frame too.  Null and NaN are missing.  Sums are
            added in the order of :meth:`predict`.  Dates and times count in microseconds.

        Raises
        ------
        DataError
            If something has no expression: classes of several types, a column that is compared
            with what it does not hold.

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
        """Return a function that gives the rows of a pandas data frame what :meth:`predict` gives.

        Returns
        -------
        callable
            From a DataFrame to a Series with its index, for ``frame.assign(answer=…)`` too.  NA and
            NaN are missing; an unknown class is None.

        Examples
        --------
        >>> import pandas
        >>> from formulakern import RuleEnsemble, WeightedRule, rule
        >>> price = RuleEnsemble.of([WeightedRule(rule("size >= 3"), 0.5)], intercept=[4.0])
        >>> price.to_pandas()(pandas.DataFrame({"size": [2, 4, None]})).tolist()
        [4.0, 4.5, 4.0]
        """
        library = needed("pandas", "to_pandas()", "tables")

        def answer(frame: pandas.DataFrame) -> pandas.Series[Any]:
            found: pandas.Series[Any] = library.Series(self.predict(frame), frame.index)
            return found.rename("predicted")

        return answer

    def to_python(self) -> str:
        """A file of Python with a function that gives one row what :meth:`predict` says.

        Returns
        -------
        str
            It needs Python 3.10 or later and nothing else, and defines

            * ``predict(row, missing=())``: the class, level or number of a row, which is a mapping
              from the names of columns to values: numbers, text, truth values, dates; scalars of
              NumPy and pandas too.  None and nan are missing, and so are the texts in ``missing``,
              as ``("", "?")`` for rows of ``csv.DictReader``.  Text counts as a number where the
              rules compare numbers, as in a file.  A KeyError names a column that is absent, a
              ValueError one that cannot be compared.
            * ``score(row, missing=())``, not of trees: the score of every class, of a list its
              probability; or the predicted number.

            They answer what this does for a table of that one row.  Sums are added in the order of
            :meth:`predict`.  Names and values of the rules are literals in it.

        Raises
        ------
        DataError
            If a class is neither text, a finite number, a bool nor None.

        Examples
        --------
        >>> import formulakern as fk
        >>> items = [fk.ClassRule(fk.rule("size >= 3 & colour != red"), "L")]
        >>> text = fk.RuleList(items, ("S", "L"), "S").to_python()
        >>> made = {}
        >>> exec(text, made)
        >>> made["predict"]({"size": "3.5", "colour": "blue"})
        'L'
        >>> made["predict"]({"size": 4, "colour": ""}, missing=("", "?"))
        'S'
        """
        return python_file(self._exported())


@dataclass(frozen=True, repr=False)
class WrittenRules(Written, DecisionRules):
    """Rules that conclude a class, with what is written alike of lists and of sets."""

    #: The name in JSON, and the fields that only these rules have.
    NAME: ClassVar[str]
    SETTINGS: ClassVar[tuple[str, ...]] = ()

    def to_frame(self) -> pandas.DataFrame:
        """One row per rule, and a last one for the default: class, covered, accuracy, rule.

        ``covered`` is the weight of the counts, ``accuracy`` the share of the rule's class in it;
        both are nan where counts are not known.  The default has no rule.
        """
        return data_frame(decision_columns(self))

    __str__ = decision_text

    def _repr_html_(self) -> str:
        return decision_html(self)

    def to_latex(self, top: int | None = None) -> str:
        r"""A LaTeX ``tabular`` with one line per rule, and one for the default.

        Parameters
        ----------
        top : int, optional
            Only the first rules; all by default.

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

    def to_json(self) -> str:
        """Return the rules as JSON; :meth:`from_json` reads equal ones back.

        Raises
        ------
        DataError
            If a class is neither text, a finite number, a bool nor None.
        """
        return decision_json(self, self.NAME, *self.SETTINGS)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the rules that :meth:`to_json` wrote.

        Raises
        ------
        DataError
            If the text is not such JSON, or of another version.

        Examples
        --------
        >>> from formulakern import ClassRule, RuleSet, rule
        >>> voting = RuleSet([ClassRule(rule("size >= 3"), 1)], (0, 1), 0, vote="rules")
        >>> RuleSet.from_json(voting.to_json()) == voting
        True
        """
        return decision_from_json(cls, text, cls.NAME, *cls.SETTINGS)
