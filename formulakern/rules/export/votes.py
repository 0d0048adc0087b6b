"""What weighted votes of rules write: frames, text, HTML, LaTeX, SQL, JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from formulakern.optional import data_frame
from formulakern.rules.export.frames import ensemble_frames
from formulakern.rules.export.html import ensemble_html
from formulakern.rules.export.json import ensemble_json
from formulakern.rules.export.latex import ensemble_latex
from formulakern.rules.export.python import ensemble_python
from formulakern.rules.export.sql import ensemble_query
from formulakern.rules.export.text import columns_of, ensemble_text
from formulakern.rules.export.written import Written
from formulakern.rules.sql.conditions import TableName
from formulakern.rules.sql.dialects import DialectName
from formulakern.rules.voting import VotingRules

if TYPE_CHECKING:
    import pandas

__all__ = ["WrittenVotes"]


@dataclass(frozen=True, eq=False, repr=False)
class WrittenVotes(Written, VotingRules):
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

    def _repr_html_(self) -> str:
        return ensemble_html(self)

    def _query(self, table: TableName, dialect: DialectName, types: Any, scores: bool) -> str:
        return ensemble_query(self, table, dialect, types, scores)

    _python = ensemble_python

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
        0.5 & for $\\text{large}$ & $\\text{size} \\geq 3$ \\\\
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
