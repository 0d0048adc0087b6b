"""What a search found about its candidates: columns, one entry a candidate, and how they print."""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulakern.errors import ParameterError
from formulakern.kernels.algebra import Kernel
from formulakern.optional import data_frame, new_axes
from formulakern.syntax.formula import Formula
from formulakern.text import aligned, clip

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CandidateScore", "SearchResults"]

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
    seconds : float
    status : str
        ``"ok"``, or why there is no score.
    """

    radius: float = np.nan
    margin: float = np.nan
    ratio: float = np.nan
    mean_score: float = np.nan
    std_score: float = np.nan
    seconds: float = 0.0
    status: str = "ok"


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
        1 for the best; candidates without a finite criterion share the last rank, and of equal ones
        the first one drawn is the best.
    radius, margin, ratio, mean_score, std_score, seconds : ndarray of float64
        See :class:`CandidateScore`.
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
        for name in ("radius", "margin", "ratio", "mean_score", "std_score", "seconds"):
            self[name] = np.array([getattr(score, name) for score in scores], dtype=float)
        self["status"] = [score.status for score in scores]
        self._order = np.argsort(self._losses(), kind="stable")
        rank = np.empty(len(scores), dtype=np.int64)
        rank[self._order] = np.arange(1, len(scores) + 1)
        self["rank"] = np.minimum(rank, self.n_scored + 1)

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

    def scatter(self, ax: Any, score_name: str) -> Any:
        """Draw the score against the ratio, one point a candidate, the best one marked.

        Raises
        ------
        ParameterError
            If no candidate has both numbers.
        """
        ratio, score = self["ratio"], self["mean_score"]
        both = np.isfinite(ratio) & np.isfinite(score)
        if not both.any():
            raise ParameterError(
                "no candidate has both a finite radius-margin ratio and a cross-validated score to "
                "draw. Fit with compare=True (and, where all ratios are infinite, margin_C=1)."
            )
        ax = new_axes() if ax is None else ax
        ax.scatter(ratio[both], score[both], color="tab:blue", alpha=0.7, label="candidates")
        best = self.best_index
        if best is not None and both[best]:
            ax.scatter(
                ratio[best],
                score[best],
                s=160,
                facecolors="none",
                edgecolors="tab:red",
                linewidths=2,
                label=f"chosen: {self._shown(best)}".replace("$", r"\$"),
            )
        if ratio[both].max() > 20 * ratio[both].min():
            ax.set_xscale("log")
        ax.set_xlabel("radius-margin ratio (less is better)")
        ax.set_ylabel(f"cross-validated {score_name}")
        ax.legend()
        return ax

    def __repr__(self) -> str:
        return f"<SearchResults: {len(self._order)} candidates, {self.n_scored} scored>"

    def __str__(self) -> str:
        what = "the radius-margin ratio" if self.by == "ratio" else "cross-validation"
        measures = ("ratio", "mean_score", "std_score")
        names = [name for name in measures if np.isfinite(self[name]).any()]
        rows = [["rank", "formula", *names, "status"]]
        for i in self._order[:SHOWN].tolist():
            numbers = ["-" if np.isnan(self[name][i]) else f"{self[name][i]:.4g}" for name in names]
            rows.append([str(self["rank"][i]), self._shown(i), *numbers, self["status"][i]])
        lines = aligned(rows, "><" + ">" * len(names) + "<")
        title = f"{len(self._order):,} candidates, {self.n_scored:,} scored; the best by {what}:"
        return "\n".join([title, *(line.rstrip() for line in lines)])

    def _shown(self, position: int) -> str:
        return clip(str(self["formula"][position]), WIDTH)

    def _losses(self) -> npt.NDArray[np.float64]:
        """What is smallest for the best candidate; infinite for those that cannot be ranked."""
        column = self[self.by]
        losses = column if self.by == "ratio" else -column
        return np.where(np.isfinite(losses), losses, np.inf)
