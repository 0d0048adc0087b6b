r"""The restricted game of a preference learner: its current columns and its solution.

Row player: a distribution p over the preferences.  Column player: a distribution over columns,
that is, a feature φ, two classes (a, b) and a scale s, with the payoffs

    M_{i,(φ,a,b,s)} = s·φ(x_i)·⟨e_{y⁺ᵢ} − e_{y⁻ᵢ}, e_a − e_b⟩ .

Hard margin: the value is max_q min_i (Mq)_i, the largest possible smallest margin.

Soft margin: each preference i has one more column, which pays 1/(C·w_i) in row i and 0 elsewhere.
Let v be the value and write q = v·λ, slack columns s_i = v·C·w_i·ξ_i.  Dividing by v,

    1/v = min Σ_k λ_k + C Σ_i w_i ξ_i   with (Mλ)_i ≥ 1 − ξ_i,  λ, ξ ≥ 0 :

the 1-norm support vector machine with penalty parameter C.  Its dual, with α = p/v, is

    1/v = max Σ_i α_i   with Mᵀα ≤ 1,  0 ≤ α_i ≤ C·w_i,

so the row player gives each preference at most the weight v·C·w_i.  It is the game of the
ν-machine, which has the cap w_i/(ν Σw), for

    ν = 1/(v·C·Σ w) :

at most the share ν of the preferences (by weight) has a margin below v, and at least this share
has a margin of at most v.  v is the mean margin of the worst share ν.  C → ∞ is the hard margin.

Preferences whose rows of M are equal are one row in the linear program, with the sum of their
weights; splitting its α in proportion to the weights is optimal again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.learning.prl.features import Column, FeatureFamily, Priced
from formulakern.learning.prl.preferences import ABOVE, BELOW, Preferences, ThresholdStep
from formulakern.solvers.capped_lp import solve_capped_lp
from formulakern.solvers.games import basic_strategies

#: Values above this share of the largest payoff are surely positive.
MIN_POSITIVE_SHARE = 1e-6
#: With more rows than MAX_FULL_ROWS, the linear program has only rows with a margin below
#: ``MAX_NEAR_MARGIN``.
MAX_FULL_ROWS, MAX_NEAR_MARGIN = 2_000, 1.5
#: Payoffs that are converted to floats at once.
BLOCK_PAYOFFS = 1 << 19
#: The initial share of the cap of a row.
INITIAL_CAP_SHARE = 0.01
#: A cap of the linear program that only values that count as 0 would reach.
FREE_CAP = 1e9
#: Weights below this share of the largest one are within the tolerance of the linear program.
MIN_WEIGHT_SHARE = 1e-8
#: A bound on the rounding error of a free column's payoff, a sum of preferences' weights.
ROUNDING = 2e-12


@dataclass(frozen=True, eq=False)
class Solution:
    """Strategies in a restricted game, and their guarantees.

    ``q`` are weights of the columns, with sum 1, or less with slack columns; ``p`` are weights of
    the preferences, with sum 1.  q secures ``value``, with the best use of its slack; p concedes at
    most ``bound``, of which ``slack_bound`` is due to slack columns (−inf for the hard margin).
    ``paid`` are the payoffs of the columns against p.
    """

    q: FloatArray
    p: FloatArray
    value: float
    bound: float
    slack_bound: float
    paid: FloatArray


@dataclass(eq=False)
class RestrictedGame:
    """A matrix game over the columns generated so far; C is None for the hard margin.

    The matrix without scales is held in bytes if the features of the family are 0 or 1.
    """

    preferences: Preferences
    family: FeatureFamily
    C: float | None
    #: True if :meth:`solve` finds optimal strategies.
    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.columns: list[Column] = []
        self._last: tuple[FloatArray, dict[Column, float]] | None = None
        kind = np.int8 if self.family.binary else np.float64
        # M transposed, without scales
        self._payoffs: NDArray[Any] = np.zeros((0, len(self.preferences)), dtype=kind)
        # functions that carry strategies over to the divided or joined groups of rows
        self._moves: list[tuple[int, Callable[[FloatArray], FloatArray]]] = []

    @property
    def unscaled(self) -> NDArray[Any]:
        """M without the scales of the columns, shape (n, k)."""
        return self._payoffs.T

    @property
    def scales(self) -> FloatArray:
        """The scales of the columns, shape (k,)."""
        return np.array([column.scale for column in self.columns], dtype=np.float64)

    # -- columns ------------------------------------------------------------------------------

    def enter(self, columns: Iterable[Column], deadline: Deadline = UNLIMITED) -> list[Column]:
        """Add columns; return the new ones.  Partitions may raise TimeIsOver."""
        columns, known = list(columns), set(self.columns)
        features = [c.feature for c in columns if not isinstance(c.feature, ThresholdStep)]
        self.family.prepare(self, features, deadline)
        fresh = {c: self._pays(c) for c in columns if c not in known}
        fresh = {column: pays for column, pays in fresh.items() if pays is not None}
        if fresh:
            self._payoffs = np.vstack([self._payoffs, *fresh.values()])
            self.columns += fresh
        return [*fresh]

    def _pays(self, column: Column) -> Any:
        """Return the payoffs of a column without its scale, or None if its feature does not fit."""
        own: Any = None
        if isinstance(column.feature, ThresholdStep):
            own = self.preferences.thresholds >= column.feature.first
        elif (values := self.family.values(column.feature)) is not None:
            own = values[self.preferences.rows]
        if own is None:
            return None
        signs = self.preferences.signs(column.winner, column.loser)
        return signs * own.astype(self._payoffs.dtype)

    def free(self, column: Column) -> bool:
        """Return True if the column, the bias or a threshold step, does not count as a rule."""
        return isinstance(column.feature, ThresholdStep) or column.feature == self.family.always

    def free_columns(self, p: FloatArray) -> dict[Column, float]:
        """Return the columns that do not count as rules, with their payoffs against p."""
        pays = enumerate(self.preferences.steps(p)) if self.preferences.n_thresholds > 1 else ()
        found = {Column(ThresholdStep(j), BELOW, ABOVE): float(step) for j, step in pays if j}
        if self.family.bias:
            total = self.preferences.row_weights(p).sum(axis=0)
            bias = Column(self.family.always, int(total.argmax()), int(total.argmin()))
            found[bias] = float(np.ptp(total))
        return found

    def pairs_of(self, features: Iterable[Any], p: FloatArray) -> dict[Column, float]:
        """Return pairs of classes for each 0/1 feature, with their payoffs against p.

        The class that gains most is paired with the one that loses most, and so on.
        """
        if self.preferences.n_classes == 2 or not self.family.binary:
            return {}
        weights, found = self.preferences.row_weights(p), {}
        for feature in features:
            scale, sums = self.family.scale(feature), self.family.values(feature) @ weights
            order = sums.argsort()
            for low, high in zip(order[: len(order) // 2], order[::-1], strict=False):
                column = Column(feature, int(high), int(low), scale)
                found[column] = scale * float(sums[high] - sums[low])
        return found

    def price(
        self,
        p: FloatArray,
        threshold: float,
        top: int,
        deadline: Deadline = UNLIMITED,
        quick: bool = False,
    ) -> Priced:
        """Return the columns of the whole game that pay most against p, above the threshold."""
        weights = self.preferences.row_weights(p)
        priced = self.family.price(weights, threshold, top, deadline, quick)
        free = {c: pays for c, pays in self.free_columns(p).items() if pays > threshold}
        bounds = [pays + ROUNDING for pays in free.values()]
        bound, likely = (max([own, *bounds]) for own in (priced.bound, priced.likely))
        return Priced([*free, *priced.columns], bound, likely, priced.proven)

    def of(self, columns: Sequence[Column], C: float | None) -> RestrictedGame:
        """Return the game of some of the columns, for another C; solved by linear programming.

        Its first solution starts from the last one of this game.
        """
        place = {column: j for j, column in enumerate(self.columns)}
        game = RestrictedGame(self.preferences, self.family, C)
        game._payoffs = self._payoffs[[place[column] for column in columns]]
        game.columns, game._last = list(columns), self._last
        return game

    def keep(self, selection: NDArray[Any]) -> None:
        """Keep only these columns: positions, or a mask of shape (k,)."""
        self._payoffs = self._payoffs[selection]
        kept = np.arange(len(self.columns))[selection]
        self.columns = [self.columns[j] for j in kept.tolist()]

    # -- rows in partitions -------------------------------------------------------------------

    def regroup(
        self, preferences: Preferences, before: NDArray[np.intp], after: NDArray[np.intp]
    ) -> None:
        """Replace the preferences after groups ``before[i]`` became groups ``after[i]``."""
        each = np.arange(len(preferences) // preferences.n_rows)
        old, new = (np.add.outer(len(each) * rows, each).ravel() for rows in (before, after))
        shares = np.minimum(1.0, preferences.weights[new] / self.preferences.weights[old])

        def moved(p: FloatArray) -> FloatArray:
            return np.bincount(new, p[old] * shares).astype(np.float64)

        self._moves.append((len(self.preferences), moved))
        if self._last is not None:
            self._last = moved(self._last[0]), self._last[1]
        self.preferences = preferences
        payoffs = [self._pays(column) for column in self.columns]
        self._payoffs = np.reshape(payoffs, (-1, len(preferences))).astype(self._payoffs.dtype)

    def moved(self, p: FloatArray) -> FloatArray:
        """Return a strategy from before groups changed, on the current preferences."""
        for number, move in self._moves:
            if len(p) == number:
                p = move(p)
        return p

    # -- solutions ----------------------------------------------------------------------------

    def start(self) -> Solution:
        """Return the initial strategy of the row player: in proportion to the weights."""
        weights = self.preferences.weights
        total = float(weights.sum())
        slack = -np.inf if self.C is None else 1.0 / (self.C * total)
        worth = max(slack, 0.0)
        return Solution(np.zeros(0), weights / total, worth, worth, slack, np.zeros(0))

    def solve(
        self, tol: float = 1e-8, secured: float = -np.inf, deadline: Deadline = UNLIMITED
    ) -> Solution:
        """Return nearly optimal strategies with their guarantees, or the best at the deadline.

        An interior-point method solves the linear program to the relative gap ``tol``.  If optimal
        strategies are not unique, p is in the middle of them, so its best responses are the most
        informative.  If the ``secured`` value is positive, the hard margin's program needs no added
        constant, and is more accurate.
        """
        self._moves.clear()
        A, caps, unit, weights, inverse = self._program()
        shift, start = 0.0, None
        if self.C is None:
            largest = float(np.abs(A).max(initial=0))
            # a constant makes the value positive
            if secured <= MIN_POSITIVE_SHARE * unit * largest:
                shift = 1.0 + largest
        if self._last is not None and not shift:  # α and λ of the last linear program
            alpha, weight = self._last
            lam = np.array([weight.get(column, 0.0) for column in self.columns])
            start = np.bincount(inverse, alpha * unit, len(A)).astype(np.float64), lam * unit
        alpha, multipliers = _solved(A, caps, shift, tol, start, deadline)
        total = float(alpha.sum())
        q = multipliers / total
        solution = self._split(alpha, q, weights, inverse)
        weight = dict(zip(self.columns, (q * total / unit).tolist(), strict=True))
        self._last = solution.p * total / unit, weight
        return solution

    def slack_bound(self, p: FloatArray) -> float:
        """Return the largest payoff of a slack column against p; −inf for the hard margin."""
        return -np.inf if self.C is None else float((p / self.preferences.weights).max()) / self.C

    def basic_solution(
        self, columns: NDArray[np.intp], deadline: Deadline = UNLIMITED
    ) -> Solution | None:
        """Return optimal strategies over some columns that are a basic solution (by HiGHS).

        At most as many columns as constraints have positive weight.  None if HiGHS finds none in
        time.
        """
        A, caps, _, weights, inverse = self._program(columns)
        largest = float(np.abs(A).max(initial=0)) or 1.0
        soft = None if self.C is None else caps * largest
        found = basic_strategies(A / largest, soft, deadline=deadline)
        if found is None:
            return None
        strategy, chosen, _ = found
        q = np.zeros(len(self.columns))
        q[columns] = np.where(chosen > MIN_WEIGHT_SHARE * chosen.max(initial=0.0), chosen, 0.0)
        return self._split(strategy, q, weights, inverse)

    def _program(
        self, columns: NDArray[np.intp] | slice = slice(None)
    ) -> tuple[NDArray[Any], FloatArray, float, FloatArray, NDArray[np.intp]]:
        """Return the different rows of M and the caps of α (inf for the hard margin), in a unit.

        The other results are the unit, the weights of the rows, and the row of each preference.
        """
        matrix, scales = np.ascontiguousarray(self.unscaled[:, columns]), self.scales[columns]
        first = inverse = np.arange(len(matrix))
        if self.family.binary and matrix.size:
            first, inverse = different_rows(matrix)
        weights = np.bincount(inverse, self.preferences.weights, len(first)).astype(np.float64)
        rows = matrix[first] if (scales == 1.0).all() else matrix[first] * scales
        unit = 1.0 if self.family.binary else float(np.abs(rows).max(initial=0)) or 1.0
        caps = np.full(len(rows), np.inf)
        if self.C is not None:
            caps = np.minimum(self.C * unit * weights, FREE_CAP)
        return rows if unit == 1.0 else rows / unit, caps, unit, weights, inverse

    def _split(
        self, strategy: FloatArray, q: FloatArray, weights: FloatArray, inverse: NDArray[np.intp]
    ) -> Solution:
        """Distribute strategies over different rows among the preferences, with guarantees."""
        given, scales = self.preferences.weights, self.scales
        p = strategy[inverse] * given / weights[inverse]
        p, q = p / p.sum(), q / max(float(q.sum()), 1.0)
        margins, paid = products(self._payoffs, scales * q, p)
        paid *= scales
        payoff = float(paid.max(initial=-np.inf))
        if self.C is None:
            total = float(q.sum()) or 1.0
            return Solution(q / total, p, float(margins.min()) / total, payoff, -np.inf, paid)
        slack = self.slack_bound(p)
        value = slack_value(margins, self.C * given, max(0.0, 1.0 - float(q.sum())))
        return Solution(q, p, value, max(payoff, slack), slack, paid)


def products(payoffs: NDArray[Any], x: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x @ payoffs, shape (n,), and payoffs @ p, shape (k,); bytes become floats in parts.

    >>> products(np.eye(2, 3, dtype=np.int8), np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]))
    (array([1., 2., 0.]), array([3., 4.]))
    """
    step = max(1, BLOCK_PAYOFFS // max(1, payoffs.shape[1]))
    left, right = np.zeros(payoffs.shape[1]), np.zeros(len(payoffs))
    for first in range(0, len(payoffs), step):
        some = payoffs[first : first + step].astype(np.float64, copy=False)
        left += x[first : first + step] @ some
        right[first : first + step] = some @ p
    return left, right


def _solved(
    A: NDArray[Any],
    caps: FloatArray,
    shift: float,
    tol: float,
    start: tuple[FloatArray, FloatArray] | None,
    deadline: Deadline,
) -> tuple[FloatArray, FloatArray]:
    """Return α and λ of the linear program; add rows of large margin only if violated."""
    near = np.ones(len(A), dtype=np.bool_)
    if start is not None and len(A) > MAX_FULL_ROWS and np.isfinite(caps).all():
        near = _margins(A, start[1]) < MAX_NEAR_MARGIN
    while True:
        every = bool(near.all())
        own = start if start is None or every else (start[0][near], start[1])
        rows = (A, caps) if every else (A[near], caps[near])
        found = solve_capped_lp(*rows, shift, tol, own, deadline)
        alpha = np.zeros(len(A))
        alpha[near] = found.alpha
        margins = _margins(A, found.multipliers)
        missing = ~near & (margins < 1 - tol)
        if every or deadline.over() or not missing.any():
            return alpha, found.multipliers
        if caps[missing] @ (1 - margins[missing]) <= tol * found.alpha.sum():
            return alpha, found.multipliers
        near |= margins < MAX_NEAR_MARGIN
        start = alpha + INITIAL_CAP_SHARE * missing * caps, found.multipliers


def _margins(A: NDArray[Any], x: FloatArray) -> FloatArray:
    """Return A @ x, shape (n,); bytes become floats in parts."""
    step = max(1, BLOCK_PAYOFFS // A.shape[1])
    return np.concatenate([A[row : row + step] @ x for row in range(0, len(A), step)])


def slack_value(margins: FloatArray, prices: FloatArray, share: float) -> float:
    """Return the largest v with Σ_i prices_i·max(0, v − margins_i) = share.

    The margins guarantee v if a share of the column player's weight remains for slack columns,
    which pay 1/prices_i.

    >>> [slack_value(np.array([1.0, 0.0]), np.ones(2), share) for share in (0.5, 3.0)]
    [0.5, 2.0]
    """
    order = np.argsort(margins, kind="stable")
    m, c = margins[order], np.cumsum(prices[order])
    spent = c * m - np.cumsum(prices[order] * m)  # the cost of lifting all earlier margins to m
    last = max(int(np.searchsorted(spent, share, side="right")) - 1, 0)
    return float(m[last] + (share - spent[last]) / c[last])
