"""What ordered lists and unordered sets of rules write: frames, text, HTML, LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from formulakern.optional import data_frame
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.html import decision_html
from formulakern.rules.export.latex import decision_latex
from formulakern.rules.export.text import decision_columns, decision_text
from formulakern.rules.export.written import Written

if TYPE_CHECKING:
    import pandas

__all__ = ["WrittenRules"]


@dataclass(frozen=True, repr=False)
class WrittenRules(Written, DecisionRules):
    """Rules that conclude a class, with what is written alike of lists and of sets."""

    def to_frame(self) -> pandas.DataFrame:
        """One row per rule, and a last one for the default: class, covered, accuracy, rule.

        ``covered`` is the weight of the counts, ``accuracy`` the share of the rule's class in it;
        both are nan where counts are not known.  The default has no rule.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
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
