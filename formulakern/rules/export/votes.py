"""What weighted votes of rules write: frames, text, HTML, LaTeX, SQL, JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from formulakern.optional import data_frame
from formulakern.rules.export.frames import WrittenFrames, ensemble_frames
from formulakern.rules.export.json import ensemble_json
from formulakern.rules.export.latex import ensemble_latex
from formulakern.rules.export.sql import ensemble_query
from formulakern.rules.export.text import columns_of, ensemble_text
from formulakern.rules.sql.conditions import TableName
from formulakern.rules.sql.dialects import DialectName
from formulakern.rules.voting import VotingRules
from formulakern.text import preformatted

if TYPE_CHECKING:
    import pandas

__all__ = ["WrittenVotes"]


@dataclass(frozen=True, eq=False, repr=False)
class WrittenVotes(WrittenFrames, VotingRules):
    """A weighted vote of rules, with what is written of it."""

    def to_frame(self) -> pandas.DataFrame:
        """One row per rule: weight, class, against, support, coverage, precision, base_rate, rule.

        Class, against, precision and base rate are left out where a number is predicted.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return data_frame(columns_of(self))

    __str__ = ensemble_text

    _repr_html_ = preformatted

    def to_sql(
        self,
        table: TableName = "data",
        dialect: DialectName = "standard",
        *,
        types: Any = None,
        scores: bool = False,
    ) -> str:
        """A query that gives every row of a database table its prediction.

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
            Whether a column ``score_k`` for each class is added too.

        Returns
        -------
        str
            ``SELECT``: all columns, the scores if asked for, and ``predicted_class``, or
            ``predicted`` with the name of the target.  A comparison with NULL or NaN counts as
            false, as it does here.  Scores are added up in double precision and in the order in
            which :meth:`scores` does it, so that they are the same numbers, and ties are ties.

        Raises
        ------
        DataError
            If a rule holds something that has no SQL, a name or a class cannot be written in this
            dialect, or the types of columns do not fit the rules.
        ParameterError
            If there is no such dialect or type, or ``table`` is no name.

        Examples
        --------
        >>> from formulakern import RuleEnsemble, WeightedRule, rule
        >>> large = WeightedRule(rule("size >= 3"), 0.5, "large", "small")
        >>> print(RuleEnsemble.of([large], ("large", "small")).to_sql("shirts"))
        SELECT "shirts".*,
          CASE
            WHEN (
              0.0e0
              + CASE WHEN "shirts"."size" >= 3 THEN 0.5e0 ELSE 0 END
            ) >= (
              0.0e0
              + CASE WHEN "shirts"."size" >= 3 THEN -0.5e0 ELSE 0 END
            ) THEN 'large'
            ELSE 'small'
          END AS "predicted_class"
        FROM "shirts"
        >>> cost = WeightedRule(rule("size >= 3"), 0.5)
        >>> ensemble = RuleEnsemble.of([cost], None, [4.0], target="price")
        >>> print(ensemble.to_sql("shop.shirts", "mysql"))
        SELECT `shirts`.*,
          4.0e0
          + CASE WHEN `shirts`.`size` >= 3 THEN 0.5e0 ELSE 0 END AS `predicted price`
        FROM `shop`.`shirts` AS `shirts`
        """
        return ensemble_query(self, table, dialect, types, scores)

    _expression = ensemble_frames

    def to_latex(self, top: int | None = None) -> str:
        """A LaTeX ``tabular`` with one line per rule: weight, what it speaks for, and the rule.

        Between them coverage, precision and base rate, where they are known.

        Parameters
        ----------
        top : int, optional
            Only the first rules; all by default.

        Examples
        --------
        >>> from formulakern import RuleEnsemble, WeightedRule, rule
        >>> large = WeightedRule(rule("size >= 3"), 0.5, "large", "small")
        >>> print(RuleEnsemble.of([large], ("large", "small")).to_latex())
        \\begin{tabular}{rll}
        weight & speaks & rule \\\\
        \\hline
        0.5 & for $\\mathrm{large}$ & $\\mathrm{size} \\geq 3$ \\\\
        \\end{tabular}
        """
        return ensemble_latex(self if top is None else self.head(top))

    def to_json(self) -> str:
        """The ensemble as JSON; :meth:`from_json` reads an equal one back.

        Raises
        ------
        DataError
            If a class is neither text, a finite number, a bool nor None.
        """
        return ensemble_json(self)
