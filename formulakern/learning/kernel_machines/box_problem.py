"""The dual problem of support vector machines: a quadratic over a box and one equation.

One problem covers classification, regression and the one-class machine:

    min  ½ βᵀKβ − pᵀβ + ε‖β‖₁   over   l ≤ β ≤ u,  Σ_i β_i = r.

Its dual, with f(x) = Σ_i β_i K(x_i, x) and an intercept b, minimises ½‖f‖² + Σ_i ξ_i + r·b, where
ξ_i = max_{l_i ≤ t ≤ u_i} t·(p_i − f(x_i) − b) − ε|t| is the loss of row i.  Any b gives an upper
bound on the negative of the first; the best one is a breakpoint of a piecewise linear function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError

__all__ = [
    "BoxProblem",
    "Merged",
    "Values",
    "classification",
    "merge_equal",
    "novelty",
    "regression",
]


@dataclass(frozen=True)
class Values:
    """Both objectives at a point.

    Attributes
    ----------
    dual, primal : float
        pᵀβ − ½βᵀKβ − ε‖β‖₁, and ½‖f‖² + Σ ξ_i + r·b, of f or of a multiple of it: the optimum of
        both lies between.
    intercept : float
        The b of the least primal value; in the middle where an interval has it.
    """

    dual: float
    primal: float
    intercept: float

    @property
    def gap(self) -> float:
        """(primal − dual) / max(|primal|, |dual|), the relative duality gap; at least 0."""
        scale = max(abs(self.primal), abs(self.dual))
        return max(self.primal - self.dual, 0.0) / scale if scale > 0 else 0.0


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """min ½βᵀKβ − pᵀβ + ε‖β‖₁ over l ≤ β ≤ u with Σβ = r.

    Parameters
    ----------
    linear : float64 (n,)
        p.
    lower, upper : float64 (n,)
        l ≤ 0 ≤ u, finite.
    total : float
        r.
    epsilon : float
        ε ≥ 0.
    """

    linear: FloatArray
    lower: FloatArray
    upper: FloatArray
    total: float = 0.0
    epsilon: float = 0.0

    def __len__(self) -> int:
        return len(self.linear)

    def values(self, beta: FloatArray, products: FloatArray) -> Values:
        """Return the objectives at β, given Kβ.

        Parameters
        ----------
        beta, products : float64 (n,)

        Notes
        -----
        One sort of at most 2n breakpoints.

        Examples
        --------
        Two rows of different classes with K the identity: β = (1, −1) is optimal.

        >>> problem = classification(np.array([1.0, -1.0]), np.array([5.0, 5.0]))
        >>> beta = np.array([1.0, -1.0])
        >>> problem.values(beta, beta)
        Values(dual=1.0, primal=1.0, intercept=0.0)
        """
        square = float(beta @ products)
        dual = float(self.linear @ beta) - square / 2 - self.epsilon * float(np.abs(beta).sum())
        residual = self.linear - products
        intercept = self._best_intercept(residual)
        losses, largest = self._losses(residual - intercept)
        primal = square / 2 + losses + self.total * intercept
        most = float(np.abs(self.linear).max(initial=0.0))
        if 0 < largest < most / 10:  # a multiple of f and b may have no losses: with a large C
            scale = 1 / (1 - largest / most)  # errors of rounding weigh much
            losses, _ = self._losses(self.linear - scale * (products + intercept))
            scaled = scale**2 * square / 2 + losses + scale * self.total * intercept
            primal = min(primal, scaled)
        return Values(dual, primal, intercept)

    def _losses(self, errors: FloatArray) -> tuple[float, float]:
        """Σ ξ_i for the errors p − f − b, and the largest error of a row with a loss."""
        above = np.where(self.upper > 0, errors - self.epsilon, 0.0)
        below = np.where(self.lower < 0, -errors - self.epsilon, 0.0)
        losses = np.maximum(self.upper * above, -self.lower * below)
        losses = np.maximum(losses, 0.0)
        return float(losses.sum()), float(np.maximum(above, below).max(initial=0.0))

    def _best_intercept(self, residual: FloatArray) -> float:
        """argmin_b Σ ξ_i + r·b, whose slope rises by u at residual − ε, by −l at residual + ε."""
        rising, falling = self.upper > 0, self.lower < 0
        points = np.concatenate([residual[rising] - self.epsilon, residual[falling] + self.epsilon])
        jumps = np.concatenate([self.upper[rising], -self.lower[falling]])
        if not len(points):
            return 0.0
        order = np.argsort(points, kind="stable")
        points, jumps = points[order], jumps[order]
        scale = float(jumps.sum())
        slopes = np.cumsum(jumps) - float(self.upper.sum()) + self.total
        rounding = 1e-14 * scale * len(points) ** 0.5
        place = min(int(np.searchsorted(slopes, -rounding)), len(points) - 1)
        flat = abs(slopes[place]) <= rounding and place + 1 < len(points)
        return float((points[place] + points[place + 1]) / 2 if flat else points[place])

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Return the problem of these rows alone."""
        parts = (self.linear[rows], self.lower[rows], self.upper[rows])
        return replace(self, linear=parts[0], lower=parts[1], upper=parts[2])

    def start(self) -> FloatArray:
        """A point of the box with Σβ = r: 0, or the upper bounds one after the other until r.

        Raises
        ------
        DataError
            If no point has that sum.
        """
        room = self.upper if self.total > 0 else self.lower
        reached = np.cumsum(np.abs(room))
        want, most = abs(self.total), float(np.abs(room).sum())
        if want > most * (1 + 1e-12):
            raise DataError(
                f"the coefficients of {len(self):,} rows add up to at most {most:.4g}, and "
                f"{want:.4g} is asked for. Pass more rows."
            )
        left = want - np.concatenate([[0.0], reached[:-1]])
        return np.asarray(np.sign(room) * np.clip(left, 0.0, np.abs(room)))

    def balanced(self, beta: FloatArray, order: npt.NDArray[np.intp]) -> FloatArray:
        """β with Σβ = r: in this order, coefficients that make the sum too large or small go to 0.

        Parameters
        ----------
        beta : float64 (n,)
            In the box.
        order : intp (n,)
            Those to give up first.
        """
        beta = beta.copy()
        excess = float(beta.sum()) - self.total
        side = order[beta[order] * np.sign(excess) > 0]
        given = np.cumsum(np.abs(beta[side]))
        last = int(np.searchsorted(given, abs(excess)))
        beta[side[:last]] = 0.0
        if last < len(side):
            rest = abs(excess) - (given[last - 1] if last else 0.0)
            beta[side[last]] -= np.sign(excess) * rest
        return beta


def classification(signs: FloatArray, boxes: FloatArray) -> BoxProblem:
    """Return the C-SVM: β_i = y_i α_i with 0 ≤ α_i ≤ C_i, and hinge losses of weight C_i.

    Parameters
    ----------
    signs : float64 (n,)
        The classes, 1 and −1.
    boxes : float64 (n,)
        C of every row.
    """
    positive = signs > 0
    return BoxProblem(
        np.asarray(signs, dtype=np.float64),
        np.where(positive, 0.0, -boxes),
        np.where(positive, boxes, 0.0),
    )


def regression(targets: FloatArray, boxes: FloatArray, epsilon: float) -> BoxProblem:
    """Return the ε-SVM: |β_i| ≤ C_i, and losses C_i·max(0, |y_i − f − b| − ε).

    Parameters
    ----------
    targets, boxes : float64 (n,)
    epsilon : float
    """
    return BoxProblem(np.asarray(targets, dtype=np.float64), -boxes, boxes, 0.0, epsilon)


def novelty(boxes: FloatArray, total: float) -> BoxProblem:
    """Return the one-class SVM: 0 ≤ β_i ≤ u_i with Σβ = r; b is minus the offset ρ.

    Parameters
    ----------
    boxes : float64 (n,)
    total : float
    """
    return BoxProblem(np.zeros(len(boxes)), np.zeros(len(boxes)), boxes, total)


@dataclass(frozen=True, eq=False)
class Merged:
    """A problem without equal rows.

    Attributes
    ----------
    problem : BoxProblem of m rows
    first : intp (m,)
        A row of the whole problem for each.
    kind : intp (n,)
        Which of the m every row is.
    whole : BoxProblem of n rows
    """

    problem: BoxProblem
    first: npt.NDArray[np.intp]
    kind: npt.NDArray[np.intp]
    whole: BoxProblem

    def spread(self, beta: FloatArray) -> FloatArray:
        """The coefficients of all rows: each has the same share of its box as the merged row."""
        room = np.where(beta > 0, self.problem.upper, self.problem.lower)
        share = np.divide(beta, room, out=np.zeros_like(beta), where=room != 0)[self.kind]
        own = np.where(share * room[self.kind] > 0, self.whole.upper, self.whole.lower)
        return np.asarray(share * own)

    def gathered(self, beta: FloatArray) -> FloatArray:
        """Return the coefficients of the merged rows, the sums of those of all."""
        return np.asarray(np.bincount(self.kind, beta, len(self.first)), dtype=np.float64)


def merge_equal(problem: BoxProblem, rows: Any) -> Merged:
    """Rows with equal entries and equal p as one row with the sum of their boxes.

    The optimum is the same: equal rows have equal K and f, so only the sum of their coefficients
    counts.  Rows of tables that are not packed stay as they are.

    Parameters
    ----------
    problem : BoxProblem of n rows
    rows : PackedTable, RealTable or Strings of n rows

    Notes
    -----
    One sort of the rows.

    Examples
    --------
    >>> table = PackedTable.of_rows(np.array([[1], [2], [1]], dtype=np.uint64), 2)
    >>> merged = merge_equal(classification(np.array([1.0, -1.0, 1.0]), np.ones(3)), table)
    >>> merged.problem.upper, merged.spread(np.array([1.0, -1.0]))
    (array([2., 0.]), array([ 0.5, -1. ,  0.5]))
    """
    n = len(problem)
    everything = np.arange(n)
    if not isinstance(rows, PackedTable):
        return Merged(problem, everything, everything, problem)
    _, entries = rows.distinct()
    _, target = np.unique(problem.linear, return_inverse=True)
    _, first, kind = np.unique(
        entries * (int(target.max(initial=0)) + 1) + target, return_index=True, return_inverse=True
    )
    if len(first) == n:
        return Merged(problem, everything, everything, problem)
    kind = kind.astype(np.intp)
    boxes = np.array([np.bincount(kind, box) for box in (problem.lower, problem.upper)])
    merged = replace(problem, linear=problem.linear[first], lower=boxes[0], upper=boxes[1])
    return Merged(merged, first.astype(np.intp), kind, problem)
