"""What a search found about its candidates: columns, one entry a candidate, and how they print."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.display.plots import search_results
from formulakern.errors import DataError
from formulakern.estimators.path_search import compared
from formulakern.estimators.search.candidates import simplicity
from formulakern.kernels.algebra import Kernel
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.syntax.formula import Formula
from formulakern.text import aligned, clip

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SAME_KERNEL", "CandidateScore", "SearchResults", "no_candidate"]

#: How the status begins of a candidate that is not scored, as a simpler one has its kernel.
SAME_KERNEL = "the kernel of"

#: Rows of the printed table, and characters of a formula in it.
SHOWN, WIDTH = 10, 48


@dataclass(frozen=True)
class CandidateScore:
    """One candidate: what was computed (not a number elsewhere), how long it took, what went wrong.

    Attributes
    ----------
    radius, margin, ratio : float
        R, half the distance between the classes, and R² / distance².
    mean_score, std_score : float
        Over the folds of the cross-validation.
    C : float
        Penalty parameter of the score.
    seconds : float
    status : str
        ``"ok"``, or why there is no score, or why the score does not count for much.
    one_class : bool
        Whether the models of all folds decide for one class on all rows held out.
    scores : ndarray of shape (units,)
        Of every row, or of every fold; their mean is compared with that of others.
    """

    radius: float = np.nan
    margin: float = np.nan
    ratio: float = np.nan
    mean_score: float = np.nan
    std_score: float = np.nan
    C: float = np.nan
    seconds: float = 0.0
    status: str = "ok"
    one_class: bool = False
    scores: FloatArray = field(default_factory=partial(np.empty, 0), compare=False)


class SearchResults(UserDict[str, Any]):
    """The columns of a search; a mapping from names to arrays, for ``pandas.DataFrame(results)``.

    Prints as a table of the best candidates.

    Parameters
    ----------
    formulas : list of Formula or Kernel
    scores : list of CandidateScore
    by : {"ratio", "mean_score"}
        What ranks: the smallest ratio, or the largest score, is the best.

    Attributes
    ----------
    formula : list
        The candidates.
    rank : ndarray of int64
        1 for the best; candidates without a finite criterion share the last rank.  Those whose
        models decide for one class on all rows held out are behind all that do not.  Of equal ones
        (to twelve digits) that of the fewest variables is the best, then of the fewest connectives,
        then the first.
    radius, margin, ratio, mean_score, std_score, C, seconds : ndarray of float64
        See :class:`CandidateScore`.
    behind, error : ndarray of float64
        How much the score is behind that of the best, in the mean over rows (or folds, for other
        criteria than "log_loss"), and the standard error of this mean difference; nan where a ratio
        ranks.
    status : list of str

    Examples
    --------
    >>> from formulakern.syntax.parser import parse
    >>> scores = [CandidateScore(ratio=3.0), CandidateScore(status="stopped")]
    >>> results = SearchResults([parse("a & b"), parse("a | b")], scores, "ratio")
    >>> results["rank"], results["ratio"]
    (array([1, 2]), array([ 3., nan]))
    >>> print(results)
    2 candidates, 1 scored; the best by the radius-margin ratio:
    rank  formula  ratio  status
       1  a & b        3  ok
       2  a | b        -  stopped
    """

    def __init__(
        self, formulas: list[Formula | Kernel], scores: list[CandidateScore], by: str
    ) -> None:
        self.by = by
        super().__init__(formula=list(formulas))
        for name in ("radius", "margin", "ratio", "mean_score", "std_score", "C", "seconds"):
            self[name] = np.array([getattr(score, name) for score in scores], dtype=float)
        self["status"] = [score.status for score in scores]
        losses = np.array([float(f"{loss:.12g}") for loss in self._losses()])
        variables, connectives = np.array([simplicity(formula) for formula in formulas]).T
        unscored = np.isinf(losses)
        one_class = np.array([score.one_class for score in scores])
        self._order = np.lexsort((connectives, variables, losses, one_class, unscored))  # stable
        best = scores[self._order[0]].scores
        known = [len(score.scores) == len(best) > 0 for score in scores]
        pairs = [
            compared(best, score.scores) if some else (np.nan, np.nan)
            for score, some in zip(scores, known, strict=True)
        ]
        self["behind"], self["error"] = np.array(pairs).T
        rank = np.empty(len(scores), dtype=np.int64)
        rank[self._order] = np.arange(1, len(scores) + 1)
        self["rank"] = np.minimum(rank, self.n_scored + 1)

    def leading(self, n: int) -> list[int]:
        """The positions of the n best candidates of those with a finite criterion."""
        return [int(place) for place in self._order[: min(n, self.n_scored)]]

    @property
    def best_index(self) -> int | None:
        """The position of the best candidate; None if there is no finite criterion."""
        best = int(self._order[0])
        return best if np.isfinite(self._losses()[best]) else None

    @property
    def n_scored(self) -> int:
        """How many candidates have a finite criterion."""
        return int(np.isfinite(self._losses()).sum())

    def to_frame(self) -> pd.DataFrame:
        """The columns as a pandas DataFrame, the best candidate first.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        formulas = list(map(str, self["formula"]))
        return data_frame({**self, "formula": formulas}).iloc[self._order]

    def pictured(self, score_name: str = "score") -> dict[str, Any]:
        """Return what :func:`formulakern.plot.search_results` draws: score against ratio.

        Where only one of both was computed, that against the rank.

        Parameters
        ----------
        score_name : str
            What the cross-validated score is.
        """
        ratio, score = self["ratio"], self["mean_score"]
        names = "radius-margin ratio (less is better)", f"cross-validated {score_name}"
        x, y, titles = ratio, score, names
        if not (np.isfinite(ratio) & np.isfinite(score)).any():
            y, name = (ratio, names[0]) if self.by == "ratio" else (score, names[1])
            x, titles = self["rank"].astype(float), ("rank", name)
        texts = [str(formula) for formula in self["formula"]]
        return {
            "formulas": texts,
            "x": x,
            "y": y,
            "xlabel": titles[0],
            "ylabel": titles[1],
            "best": self.best_index,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw score against ratio, or one of them against the rank.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        return search_results(self, ax=ax)

    def __repr__(self) -> str:
        return f"<SearchResults: {len(self._order)} candidates, {self.n_scored} scored>"

    def __str__(self) -> str:
        head, rows, sides = self._cells(WIDTH)
        lines = aligned([head, *rows], sides)
        return "\n".join([f"{self._title()}:", *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        head, rows, sides = self._cells(400)
        more = len(self._order) - len(rows)
        foot = f"… and {more:,} more candidates" if more > 0 else ""
        return small_table(head, rows, sides.replace("<", "r", 1), self._title(), foot)

    def _title(self) -> str:
        what = "the radius-margin ratio" if self.by == "ratio" else "cross-validation"
        return f"{len(self._order):,} candidates, {self.n_scored:,} scored; the best by {what}"

    def _cells(self, width: int) -> tuple[list[str], list[list[str]], str]:
        """Headings, the lines of the best candidates, and how columns stand."""
        measures = ("ratio", "mean_score", "behind", "error")
        names = [name for name in measures if np.isfinite(self[name]).any()]
        if len(np.unique(self["C"][np.isfinite(self["C"])])) > 1:
            names.append("C")
        rows = []
        for i in self._order[:SHOWN].tolist():
            numbers = ["-" if np.isnan(self[name][i]) else f"{self[name][i]:.4g}" for name in names]
            formula = clip(str(self["formula"][i]), width)
            rows.append([str(self["rank"][i]), formula, *numbers, self["status"][i]])
        return ["rank", "formula", *names, "status"], rows, "><" + ">" * len(names) + "<"

    def _shown(self, position: int) -> str:
        return clip(str(self["formula"][position]), WIDTH)

    def _losses(self) -> npt.NDArray[np.float64]:
        """What is smallest for the best candidate; infinite for those that cannot be ranked."""
        column = self[self.by]
        losses = column if self.by == "ratio" else -column
        return np.where(np.isfinite(losses), losses, np.inf)


def no_candidate(scores: Sequence[CandidateScore]) -> DataError:
    """Why none of the candidates is the best."""
    scores = [score for score in scores if not score.status.startswith(SAME_KERNEL)]
    statuses = [score.status for score in scores]
    if all(np.isinf(score.ratio) for score in scores):
        return DataError(
            "no candidate separates the classes by a hard margin, so all ratios are infinite. "
            "Use a soft margin, margin_C=1, or criterion='log_loss'."
        )
    most = max(dict.fromkeys(statuses), key=statuses.count)
    return DataError(
        f"none of the {len(scores)} candidates could be scored. For "
        f"{statuses.count(most)} of them: {most}. Give other candidates, or another criterion."
    )
