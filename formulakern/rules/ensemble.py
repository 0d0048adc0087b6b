"""Weighted rules that vote for classes: what a learner learned, as a table and as a predictor."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulakern.encoding.table import Table
from formulakern.errors import DataError, ParameterError
from formulakern.optional import data_frame
from formulakern.rules.features import Monomial
from formulakern.rules.rule import Rule, rule
from formulakern.rules.sql import score_query, sql_of
from formulakern.syntax.notation import latex_name

if TYPE_CHECKING:
    import pandas

__all__ = ["RuleEnsemble", "WeightedRule"]

#: Rows of a printed table, its width, and where longer rules are cut.
MAX_ROWS, WIDTH, MAX_RULE = 60, 100, 400


@dataclass(frozen=True)
class WeightedRule:
    """A rule with the class that it votes for, and what it is worth on the training rows.

    Parameters
    ----------
    rule : Rule or Monomial
        A monomial is satisfied to the degree that its value is, and at all where it is not 0.
    weight : float
        How much a row that satisfies the rule gains for ``winner``.  Positive, but for rules
        against all others and for regression: there a negative one speaks against ``winner``.
    winner : object
        The class that it votes for.
    loser : object
        The class that it votes against; the same as ``winner`` where it is against all others.
    support : int
        Number of training rows that satisfy the rule.
    coverage : float
        ``support`` as a share of the training rows.
    precision : float
        Share of the supporting rows (of the two classes, where it is about two) that are of class
        ``winner``; nan where there are none.

    Examples
    --------
    >>> WeightedRule(rule("odor = foul"), 2.0, "p", "e", 2160, 0.27, 1.0).support
    2160
    """

    rule: Rule | Monomial
    weight: float
    winner: Any
    loser: Any
    support: int
    coverage: float
    precision: float


@dataclass(frozen=True, eq=False)
class RuleEnsemble:
    """Rules, largest weight first, that vote for classes.

    A row x gives class c the score

        intercept_c + Σ_r w_r · [x satisfies rule r] · ([c = winner_r] − [c = loser_r]),

    (with the value of a monomial in place of the first bracket) and the class with the largest
    score is predicted; ties go to the class that stands first.

    Parameters
    ----------
    rules : tuple of WeightedRule
    classes : tuple
        All classes, in the learner's order.
    intercept : tuple of float, optional
        One number per class; 0 by default.

    Raises
    ------
    ParameterError
        If a rule votes for a class that is not among ``classes``, or an intercept is missing.

    Examples
    --------
    >>> poisonous = WeightedRule(rule("odor = foul"), 2.0, "p", "e", 2160, 0.27, 1.0)
    >>> ensemble = RuleEnsemble((poisonous,), ("e", "p"), (1.0, 0.0))
    >>> ensemble.predict({"odor": ["foul", "none"]})
    array(['p', 'e'], dtype='<U1')
    >>> print(ensemble)
    weight  class  against  coverage  precision  rule
       2.0  p      e           27.0%     100.0%  odor = foul
    """

    rules: tuple[WeightedRule, ...]
    classes: tuple[Any, ...]
    intercept: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.intercept:
            object.__setattr__(self, "intercept", (0.0,) * len(self.classes))
        if len(self.intercept) != len(self.classes):
            raise ParameterError(
                f"{len(self.intercept)} intercepts for {len(self.classes)} classes; "
                "give one number per class."
            )
        for item in self.rules:
            for name in (item.winner, item.loser):
                if name not in self.classes:
                    raise ParameterError(
                        f"the rule {str(item.rule)!r} is about class {name!r}, which is not among "
                        f"{list(self.classes)!r}."
                    )

    # -- as a sequence ------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[WeightedRule]:
        return iter(self.rules)

    def __getitem__(self, position: int) -> WeightedRule:
        return self.rules[position]

    def head(self, n: int) -> RuleEnsemble:
        """The n rules of largest weight, with the same classes and intercepts."""
        return replace(self, rules=self.rules[:n])

    # -- as a predictor -----------------------------------------------------------------------

    def covers(self, table: Any) -> npt.NDArray[np.bool_]:
        """Which rows satisfy which rule.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows
            With the columns that the rules name.

        Returns
        -------
        ndarray of shape (n, number of rules), bool
        """
        return np.asarray(self.values(table) != 0)

    def values(self, table: Any) -> npt.NDArray[np.float64]:
        """1 where a row satisfies a rule, else 0; of monomials their values.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n, number of rules), float64
        """
        rows = Table.of(table)
        columns = [item.rule(rows) for item in self.rules]
        return np.array(columns, dtype=np.float64).reshape(len(columns), len(rows)).T

    def scores(self, table: Any) -> npt.NDArray[np.float64]:
        """The score of every class.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n, number of classes), float64
        """
        return np.asarray(self.values(table) @ self.votes() + np.array(self.intercept))

    def votes(self) -> npt.NDArray[np.float64]:
        """What each rule adds to the score of each class, shape (rules, classes)."""
        position = {name: i for i, name in enumerate(self.classes)}
        votes = np.zeros((len(self.rules), len(self.classes)))
        for row, item in enumerate(self.rules):
            votes[row, position[item.winner]] += item.weight
            if item.loser != item.winner:
                votes[row, position[item.loser]] -= item.weight
        return votes

    def predict(self, table: Any) -> npt.NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n,)
        """
        winners: npt.NDArray[Any] = np.asarray(self.classes)[self.scores(table).argmax(axis=1)]
        return winners

    # -- as a table ---------------------------------------------------------------------------

    def to_frame(self) -> pandas.DataFrame:
        """One row per rule: weight, class, against, support, coverage, precision, rule.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return data_frame(
            {
                "weight": [item.weight for item in self.rules],
                "class": [item.winner for item in self.rules],
                "against": [item.loser for item in self.rules],
                "support": [item.support for item in self.rules],
                "coverage": [item.coverage for item in self.rules],
                "precision": [item.precision for item in self.rules],
                "rule": [str(item.rule) for item in self.rules],
            }
        )

    def __str__(self) -> str:
        shown = self.rules[:MAX_ROWS]
        weights = _significant([item.weight for item in shown])
        rows = [("weight", "class", "against", "coverage", "precision", "rule")]
        for weight, item in zip(weights, shown, strict=True):
            precision = "" if np.isnan(item.precision) else f"{item.precision:.1%}"
            loser = "the rest" if item.loser == item.winner else str(item.loser)
            text = str(item.rule)
            text = text if len(text) <= MAX_RULE else f"{text[: MAX_RULE - 1]}…"
            rows.append((weight, str(item.winner), loser, f"{item.coverage:.1%}", precision, text))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        align = (str.rjust, str.ljust, str.ljust, str.rjust, str.rjust)
        lines = []
        for row in rows:
            cells = [fit(cell, width) for fit, cell, width in zip(align, row, widths, strict=False)]
            head = "".join(f"{cell}  " for cell in cells)
            parts = _folded(row[5], max(WIDTH - len(head), 20))
            lines += [head + parts[0], *[" " * len(head) + part for part in parts[1:]]]
        if len(self.rules) > MAX_ROWS:
            lines.append(f"… and {len(self.rules) - MAX_ROWS:,} more rules")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    # -- as text that can be kept -------------------------------------------------------------

    def to_sql(self, table: str = "data") -> str:
        """A query that gives every row of a database table its predicted class.

        Parameters
        ----------
        table : str
            Name of the table, with a column for each that the rules read.

        Returns
        -------
        str
            ``SELECT``: all columns, one score per class, and ``predicted_class``.  Standard SQL;
            a comparison with NULL counts as false, as it does here.  Ties go to the class that
            stands first, as in :meth:`predict`, up to the rounding of the database.

        Raises
        ------
        DataError
            If a rule compares a column in a way that SQL does not share.

        Examples
        --------
        >>> item = WeightedRule(rule("size >= 3"), 0.5, "large", "small", 7, 0.25, 6 / 7)
        >>> print(RuleEnsemble((item,), ("large", "small")).to_sql("shirts"))
        SELECT scored.*,
          CASE
            WHEN "score large" >= "score small" THEN 'large'
            ELSE 'small'
          END AS predicted_class
        FROM (
          SELECT "shirts".*,
            0.0
              + 0.5 * CASE WHEN "size" >= 3 THEN 1 ELSE 0 END
              AS "score large",
            0.0
              - 0.5 * CASE WHEN "size" >= 3 THEN 1 ELSE 0 END
              AS "score small"
          FROM "shirts"
        ) AS scored
        """
        terms = [sql_of(item.rule) for item in self.rules]
        return score_query(table, self.classes, self.intercept, self.votes().tolist(), terms)

    def to_latex(self, top: int | None = None) -> str:
        """A LaTeX ``tabular`` with one line per rule: weight, class, against, rule.

        Parameters
        ----------
        top : int, optional
            Only the rules of largest weight.

        Examples
        --------
        >>> item = WeightedRule(rule("size >= 3"), 0.5, "large", "small", 7, 0.25, 6 / 7)
        >>> print(RuleEnsemble((item,), ("large", "small")).to_latex())
        \\begin{tabular}{rlll}
        weight & class & against & rule \\\\
        \\hline
        0.5 & $\\mathrm{large}$ & $\\mathrm{small}$ & $\\mathrm{size} \\geq 3$ \\\\
        \\end{tabular}
        """
        shown = self.rules[:top]
        lines = [r"\begin{tabular}{rlll}", r"weight & class & against & rule \\", r"\hline"]
        for weight, item in zip(_significant([i.weight for i in shown]), shown, strict=True):
            winner = f"${latex_name(str(item.winner) or ' ')}$"
            loser = f"${latex_name(str(item.loser) or ' ')}$"
            loser = "the rest" if item.loser == item.winner else loser
            lines.append(rf"{weight} & {winner} & {loser} & ${item.rule.latex()}$ \\")
        return "\n".join([*lines, r"\end{tabular}"])

    def to_json(self) -> str:
        """The ensemble as JSON; :meth:`from_json` reads it back.

        Raises
        ------
        DataError
            If a class is neither text, a number, a bool nor None.
        """
        items = [
            {
                **_named(item.rule),
                "weight": item.weight,
                "class": _plain(item.winner),
                "against": _plain(item.loser),
                "support": item.support,
                "coverage": item.coverage,
                "precision": None if np.isnan(item.precision) else item.precision,
            }
            for item in self.rules
        ]
        classes = [_plain(name) for name in self.classes]
        whole = {"classes": classes, "intercept": list(self.intercept), "rules": items}
        return json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> RuleEnsemble:
        """The ensemble that :meth:`to_json` wrote.

        Raises
        ------
        DataError
            If the text is not such JSON.

        Examples
        --------
        >>> item = WeightedRule(rule("size >= 3"), 0.5, 1, 0, 7, 0.25, 6 / 7)
        >>> ensemble = RuleEnsemble((item,), (0, 1))
        >>> RuleEnsemble.from_json(ensemble.to_json()).rules == ensemble.rules
        True
        """
        try:
            whole = json.loads(text)
            rules = tuple(
                WeightedRule(
                    _read_rule(item),
                    float(item["weight"]),
                    item["class"],
                    item["against"],
                    int(item["support"]),
                    float(item["coverage"]),
                    float("nan") if item["precision"] is None else float(item["precision"]),
                )
                for item in whole["rules"]
            )
            return cls(rules, tuple(whole["classes"]), tuple(map(float, whole["intercept"])))
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise DataError(
                f"this text is not an ensemble of rules ({type(error).__name__}: {error}). "
                "Expected what RuleEnsemble.to_json() writes."
            ) from None


def _named(item: Rule | Monomial) -> dict[str, Any]:
    """A rule as JSON holds it."""
    return {"product": list(item.columns)} if isinstance(item, Monomial) else {"rule": str(item)}


def _read_rule(item: dict[str, Any]) -> Rule | Monomial:
    if "product" in item:
        return Monomial(tuple(map(str, item["product"])))
    return rule(item["rule"])


def _plain(name: Any) -> Any:
    """A class as JSON holds it."""
    value = name.item() if isinstance(name, np.generic) else name
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise DataError(
        f"class {name!r} is a {type(name).__name__}, which JSON does not hold; "
        "use classes that are text or numbers."
    )


def _folded(text: str, width: int) -> list[str]:
    """A rule in lines, broken after connectives only."""
    glue = "\N{NO-BREAK SPACE}"
    glued = text.replace(" ", glue)
    for sign in ("&", "|", "^", "->"):
        glued = glued.replace(f"{glue}{sign}{glue}", f"{glue}{sign} ")
    lines = textwrap.wrap(glued, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(glue, " ") for line in lines]


def _significant(values: Sequence[float]) -> list[str]:
    """Numbers with four significant digits of the largest, one format for all."""
    largest = max(map(abs, values), default=0.0)
    if largest and not 1e-3 <= largest < 1e6:
        return [f"{value:.3e}" for value in values]
    digits = 3
    while digits > 1 and all(round(value, digits) == round(value, digits - 1) for value in values):
        digits -= 1
    return [f"{value:.{digits}f}" for value in values]
