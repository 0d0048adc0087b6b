"""Small integer points for the rules of two classes, with a proven lower bound of the loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.checks import check_integer
from formulakern.encoding.cut_points import cuts, shortest_between
from formulakern.errors import DataError, ParameterError
from formulakern.rules.decision import class_positions, row_weights
from formulakern.rules.features import Monomial
from formulakern.rules.refitting import logistic_weights
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules, WeightedRule
from formulakern.syntax.leaves import Comparison
from formulakern.tables.table import Table

#: Maximum number of steps that replace a linear term.
MAX_STEPS = 3
#: The penalty on the squares of real weights, for a loss that is summed over rows.
RIDGE = 0.5
#: Roundings that are improved; moves that are tried before points are a local optimum.
MAX_STARTS, MAX_MOVES = 6, 48
#: The share of the summed losses by which a move must improve them.
MIN_PROGRESS_SHARE = 1e-9


@dataclass(frozen=True)
class Points:
    """Points of R rules, with P(second class) = 1/(1 + exp(−(total − start)/unit)).

    ``loss`` is the mean logistic loss of the training rows, with a penalty on the squares of the
    weights points/unit.  ``bound`` is a lower bound of the loss of all such points.  Both are None
    without rows.
    """

    points: IntArray
    start: float
    unit: float
    loss: float | None = None
    bound: float | None = None


def rules_with_points(
    ensemble: VotingRules, largest: int, table: Any, y: Any, sample_weight: Any = None
) -> tuple[list[WeightedRule], Points]:
    """Return the rules whose points are not 0, in decreasing order, and the points of all rules."""
    check_integer("largest", largest)
    if (table is None) != (y is None) or (y is None and sample_weight is not None):
        raise ParameterError("to_points() needs both a table and y, or neither. Pass both.")
    classes = ensemble.classes
    if classes is None or len(classes) != 2:
        kind = "predicts a number" if ensemble.levels is None else "has ordered classes"
        raise ParameterError(
            f"a score card needs two classes; this ensemble "
            f"{kind if classes is None else f'has {len(classes)}'}. Learn one class against the "
            "rest: fit on y == k, and make a card of these rules."
        )
    rows = None if table is None else Table.of(table)
    codes = None if rows is None else class_positions(y, classes, len(rows))
    row_weight = np.ones(0)
    if rows is not None and codes is not None:
        row_weight = row_weights(sample_weight, len(rows))
        kept = np.flatnonzero(row_weight)
        if len(kept) < len(rows):
            rows, codes, row_weight = rows[kept], codes[kept], row_weight[kept]
    if codes is not None and len(np.unique(codes)) < 2:
        raise DataError(f"y needs rows of both classes, {classes[0]!r} and {classes[1]!r}.")
    weights: dict[Rule, float] = {}
    known: dict[Rule, tuple[int, float]] = {}
    votes = ensemble.votes[:, 1] - ensemble.votes[:, 0]
    for item, weight in zip(ensemble, votes.tolist(), strict=True):
        steps = _steps(item.rule, rows, codes)
        for step in steps:
            weights[step] = weights.get(step, 0.0) + weight / len(steps)
            known[step] = (item.support, item.coverage) if step == item.rule else (0, math.nan)
    given, score = np.array([*weights.values()]), float(np.diff(ensemble.intercept)[0])
    if rows is None or codes is None:
        found = rounded_points(given, score, largest)
    else:
        alone = VotingRules.of(WeightedRule(rule, 1.0) for rule in weights)
        covers = alone.covers(rows)
        found = fitted_points(covers, codes, row_weight, given, largest)
        counts = covers.sum(axis=0).tolist()
        known = {rule: (k, k / len(rows)) for rule, k in zip(weights, counts, strict=True)}
    items = [
        WeightedRule(rule, float(points), support=known[rule][0], coverage=known[rule][1])
        for rule, points in zip(weights, found.points.tolist(), strict=True)
        if points
    ]
    return sorted(items, key=lambda item: -abs(item.weight)), found


def _steps(term: Any, rows: Table | None, codes: npt.NDArray[np.intp] | None) -> Sequence[Rule]:
    """Return a rule, or the steps ``column >= c`` that replace a linear term.

    The cut points separate the classes; without rows, they divide the range into equal parts.
    """
    if isinstance(term, Rule):
        return [term]
    if isinstance(term, Monomial):
        raise ParameterError(
            f"{term} is a product of numbers, which cannot have points. Learn rules instead, for "
            "example with HKLClassifier."
        )
    ends: list[Any]
    if rows is None:
        part = term.largest / MAX_STEPS - term.least / MAX_STEPS
        middles = [term.least + part * (k + 0.5) for k in range(MAX_STEPS)]
        ends = [shortest_between(at - part / 4, at + part / 4) or at for at in middles]
    else:
        found = cuts(term.numbers(rows), MAX_STEPS, "mdlp", codes)
        ends = [cut.at_least for cut in found]
    return [Rule(Comparison(term.column, ">=", end)) for end in ends]


# -- without rows ----------------------------------------------------------------------------------


def rounded_points(weights: FloatArray, score: float, largest: int) -> Points:
    """Return the points p that minimise the largest error of a score over all rows.

    A row satisfies some set S of rules and has the score ``score`` + Σ_S β_r.  With unit 1/m and
    the best start, the largest error of m·(Σ_S p_r − start) over all S is ½ Σ_r |β_r − m p_r|.  For
    given m it is least for β_r/m, rounded; for given p it is linear in m between the numbers
    β_r/p_r.  So the optimum is among the R·``largest`` numbers m = |β_r|/k.

    >>> rounded_points(np.array([2.0, -1.25, 0.25]), 0.5, 2)
    Points(points=array([ 2, -1,  0]), start=-0.5, unit=1.0, loss=None, bound=None)
    """
    if not weights.any():
        return Points(np.zeros(len(weights), dtype=np.int64), -score, 1.0)
    scales = np.abs(weights[weights != 0])[:, None] / np.arange(1, largest + 1)
    best, least = scales[0, 0], math.inf
    for m in np.unique(scales).tolist():
        error = float(np.abs(weights - m * _rounded(weights / m, largest)).sum())
        if error < least:
            best, least = m, error
    points = _rounded(weights / best, largest)
    start = -(score + float((weights - best * points).sum()) / 2) / best
    return _reduced(points, start, 1 / best)


def _rounded(points: FloatArray, largest: int) -> IntArray:
    return np.rint(np.clip(points, -largest, largest)).astype(np.int64)


def _reduced(
    points: IntArray, start: float, unit: float, loss: float | None = None, bound: Any = None
) -> Points:
    """Return the points divided by their greatest common divisor."""
    divisor = max(1, int(np.gcd.reduce(points, initial=0)))
    return Points(points // divisor, start / divisor, unit / divisor, loss, bound)


# -- with rows -------------------------------------------------------------------------------------


def fitted_points(
    covers: npt.NDArray[np.bool_],
    codes: npt.NDArray[np.intp],
    row_weight: FloatArray,
    given: FloatArray,
    largest: int,
) -> Points:
    """Return points of small penalised loss, found by a search, and a lower bound of the loss.

    The shapes of ``covers``, ``codes`` (0 or 1), ``row_weight`` and the initial weights ``given``
    are (n, R), (n,), (n,) and (R,).
    """
    problem = _Problem(covers, codes, row_weight, largest)
    directions = np.tile([0.0, 1.0], (covers.shape[1], 1))
    both = np.tile(problem.patterns, (2, 1)), directions, np.repeat([0, 1], len(problem.patterns))
    known = {"sample_weight": np.concatenate([problem.zeros, problem.ones])}
    exact, intercept = logistic_weights(*both, RIDGE, **known)
    n = problem.n
    starts = {found.tobytes(): found for found in _roundings([exact, given], largest)}
    fits = sorted((problem.fitted(points) for points in starts.values()), key=lambda fit: fit.loss)
    best = min((problem.improved(fit) for fit in fits[:MAX_STARTS]), key=lambda fit: fit.loss)
    for r in np.flatnonzero(best.points).tolist():
        fewer = best.points.copy()
        fewer[r] = 0
        without = problem.fitted(fewer, best)
        if without.loss <= best.loss + MIN_PROGRESS_SHARE * n:
            best = without
    bound = problem.bound(exact, float(intercept[1]))
    if not best.points.any():
        return Points(best.points, -best.shift, 1.0, best.loss / n, bound)
    return _reduced(
        best.points,
        -best.shift / best.slope,
        1 / best.slope,
        best.loss / n,
        min(bound, best.loss / n),
    )


def _roundings(weights: Sequence[FloatArray], largest: int) -> Iterator[IntArray]:
    """Yield roundings in which the largest weight has 1, …, ``largest`` points; then zeros."""
    for some in weights:
        top = float(np.abs(some).max(initial=0.0))
        if top > 0:
            for most in np.unique(np.linspace(1, largest, 24).round()):
                yield _rounded(some * (most / top), largest)
    yield np.zeros(len(weights[0]), dtype=np.int64)


@dataclass(frozen=True)
class _Fit:
    """Points with their best slope and shift: the logit of a row is slope · total + shift."""

    points: IntArray
    loss: float
    slope: float
    shift: float


class _Problem:
    """The rows of a card; rows that satisfy the same rules are merged.

    ``patterns`` has shape (P, R); ``ones`` and ``zeros`` are the weights of each class, and ``n``
    is the weight of all rows.
    """

    def __init__(
        self,
        covers: npt.NDArray[np.bool_],
        codes: npt.NDArray[np.intp],
        row_weight: FloatArray,
        largest: int,
    ) -> None:
        n, R = covers.shape
        packed = np.packbits(np.column_stack([covers, np.ones(n, dtype=np.bool_)]), axis=1)
        first, kind = different_rows(np.ascontiguousarray(packed))
        self.patterns = covers[first].astype(np.float64)
        counts = np.bincount(2 * kind + codes, row_weight, 2 * len(first)).reshape(-1, 2)
        self.zeros, self.ones = counts.T.copy()
        self.n, self.R, self.largest = float(counts.sum()), int(R), largest
        self._known: dict[bytes, _Fit] = {}

    def fitted(self, points: IntArray, near: _Fit | None = None) -> _Fit:
        """Return the points, negated if that makes the slope ≥ 0, with the best slope and shift."""
        key = points.tobytes()
        if key not in self._known:
            self._known[key] = self._fit(points, near)
        return self._known[key]

    def _fit(self, points: IntArray, near: _Fit | None) -> _Fit:
        totals = (self.patterns @ points).astype(np.int64)
        low = int(totals.min())
        counts = [np.bincount(totals - low, some) for some in (self.ones, self.zeros)]
        there = np.flatnonzero(counts[0] + counts[1])
        ones, zeros = (np.asarray(some[there], dtype=np.float64) for some in counts)
        t = (there + low).astype(np.float64)
        slope, shift = (near.slope, near.shift) if near else (0.0, 0.0)
        ridge = RIDGE * max(1.0, float(points @ points))  # the slope of zeros becomes 0
        value, chances = _loss(ones, zeros, t, slope, shift, ridge)
        for _ in range(100):
            wrong = (ones + zeros) * chances - ones
            weight = (ones + zeros) * chances * (1 - chances)
            whole = weight.sum() + 1e-12
            middle = float((weight @ t) / whole)
            down = float(wrong.sum())
            along = float(wrong @ (t - middle)) + ridge * slope
            by = -along / (float(weight @ (t - middle) ** 2) + ridge)
            to = -down / whole
            promised = -(along * by + down * to) / 2
            if promised <= 1e-11 * max(1.0, value):
                break
            size = 1.0
            while True:
                changed = slope + size * by, shift + size * (to - middle * by)
                new = _loss(ones, zeros, t, *changed, ridge)
                if new[0] <= value - 0.2 * size * promised or size < 1e-6:
                    break
                size /= 2
            if new[0] >= value:
                break
            (slope, shift), (value, chances) = changed, new
        if slope < 0:  # the opposite points
            points, slope = -points, -slope
        return _Fit(points, value, slope, shift)

    def improved(self, fit: _Fit) -> _Fit:
        """Return points that no tried move improves; a move changes one rule or two."""
        while True:
            for changed in self._moves(fit):
                new = self.fitted(changed, fit)
                if new.loss < fit.loss - MIN_PROGRESS_SHARE * self.n:
                    fit = new
                    break
            else:
                return fit

    def _moves(self, fit: _Fit) -> Iterator[IntArray]:
        """Yield changed points, in the order of a quadratic model of the loss.

        The slope and shift are optimal in the model, by a Schur complement of the Hessian.
        """
        points, m, A = fit.points, fit.slope or 1.0, self.patterns
        if not self.R:
            return
        totals = A @ points
        chances = _chances(fit.slope * totals + fit.shift)
        weight = (self.ones + self.zeros) * chances * (1 - chances)
        sides = np.column_stack([totals, np.ones(len(A))])
        across = A.T @ (weight[:, None] * sides)
        core = sides.T @ (weight[:, None] * sides) + 1e-9 * np.eye(2)
        hessian = A.T @ (weight[:, None] * A) - across @ np.linalg.solve(core, across.T)
        hessian = m * m * (hessian + RIDGE * np.eye(self.R))
        slopes = A.T @ ((self.ones + self.zeros) * chances - self.ones)
        slopes = m * (slopes + RIDGE * m * points)
        curve = np.maximum(hessian.diagonal(), 1e-9)
        every = np.arange(-self.largest, self.largest + 1)
        steps = every - points[:, None]
        costs = slopes[:, None] * steps + curve[:, None] * steps**2 / 2
        costs[steps == 0] = np.inf
        r, k = np.unravel_index(_smallest(costs), costs.shape)
        found = [(costs[r, k], r, steps[r, k], r, np.zeros_like(r))]
        for change in (-1, 1, -points):  # of rule r, with the best reply of rule s
            one = np.broadcast_to(change, points.shape)
            fits = np.abs(points + one) <= self.largest
            own = slopes * one + curve * one**2 / 2
            pull = slopes[None] + hessian * one[:, None]
            low, high = -self.largest - points, self.largest - points
            other = np.clip(np.rint(-pull / curve), low, high)
            costs = own[:, None] + pull * other + curve * other**2 / 2
            costs[(other == 0) | (~fits | (one == 0))[:, None] | np.eye(self.R, dtype=np.bool_)] = (
                np.inf
            )
            r, s = np.unravel_index(_smallest(costs), costs.shape)
            found.append((costs[r, s], r, one[r], s, other[r, s]))
        cost, first, by, second, answer = (
            np.concatenate(parts) for parts in zip(*found, strict=True)
        )
        for k in np.argsort(cost, kind="stable")[:MAX_MOVES].tolist():
            if np.isfinite(cost[k]):
                changed = points.copy()
                changed[first[k]] += int(by[k])
                changed[second[k]] += int(answer[k])
                yield changed

    def bound(self, weights: FloatArray, shift: float) -> float:
        """Return a lower bound of the mean penalised loss of all points.

        For all numbers a_i in [0, 1], with the entropy H(a) = −a ln a − (1 − a) ln(1 − a),

            ln(1 + exp(−z)) ≥ H(a) − a·z,

        with z_i = ±(Σ_r β_r x_ir + b).  The sum over the rows is linear in β and b.  With the
        penalty, its least value is −v²/(2·RIDGE) for the coefficients v of β.  For
        a_i = 1/(1 + exp(z_i)) at the optimum the coefficient of b is 0 up to rounding, after a
        correction of b.  The remainder is multiplied by the largest b of weights that are no worse
        than zeros.
        """
        counts = self.ones + self.zeros
        logits = self.patterns @ weights + shift
        for _ in range(3):
            chances = _chances(logits)
            left = self.ones - counts * chances
            logits += left.sum() / (counts @ (chances * (1 - chances)) + 1e-300)
        inner = np.clip(chances, 1e-300, 1 - 1e-16)  # H(0) = H(1) = 0
        entropy = -inner * np.log(inner) - (1 - inner) * np.log1p(-inner)
        v = self.patterns.T @ left
        logit = abs(math.log(self.ones.sum() / self.zeros.sum()))
        largest = logit + math.sqrt(2 * self.R * math.log(2) * self.n / RIDGE)
        below = float(v @ v) / (2 * RIDGE) + abs(float(left.sum())) * largest
        return max(0.0, (float(counts @ entropy) - below) / self.n - 1e-12)


def _smallest(costs: FloatArray) -> npt.NDArray[np.intp]:
    """Return the positions of the smallest numbers."""
    order = np.argpartition(costs, min(MAX_MOVES, costs.size - 1), axis=None)
    return np.asarray(order[:MAX_MOVES])


def _chances(logits: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))


def _loss(
    ones: FloatArray, zeros: FloatArray, t: FloatArray, slope: float, shift: float, ridge: float
) -> tuple[float, FloatArray]:
    """Return the sum of the losses with the penalty, and the probabilities."""
    logits = slope * t + shift
    losses = np.logaddexp(0.0, -logits)
    value = ones @ losses + zeros @ (losses + logits) + ridge / 2 * slope**2
    return float(value), np.exp(-losses)
