"""Hierarchical kernel learning over a given set of conjunctions, with a certificate.

For a family W of sets that is closed under subsets, a 0/1 column φ_w for each of its members,
penalties d_v = a^|v| and 1 < ρ ≤ 2,

    P = min over f, b of   ½ Ω(f)² + C Σ_i s_i ℓ(y_i, Σ_w f_w φ_w(x_i) − b),
    Ω(f) = Σ_v d_v ‖f_{D(v)}‖_ρ,    D(v) the members of W that contain v.

*The lower bound.*  For β with Σ_i β_i = 0 Fenchel's inequality gives, with g_w = Σ_i β_i φ_w(x_i),

    P  ≥  min_u [L(u) + ⟨β, u⟩] + min_f [½ Ω(f)² − ⟨f, g⟩]  =  L°(β) − ½ Ω*(g)²,

L° the conjugates listed in :mod:`formulakern.solvers.hierarchical.losses`.  Every f has such a β:
minus the derivative of the loss at its best intercept.  Ω* is bounded from above by any split of g
over the groups (:mod:`formulakern.solvers.hierarchical.norm`), and β is scaled by the best
multiple, so the bound that is reported holds whatever the iteration did.

*Groups and signs.*  Where each group of examples has an intercept of its own, the β of each sum to
zero.  Where weights must be at least, or at most, 0, g has 0 in place of what has the wrong sign.

*The iteration.*  Ω(f)² is the least value of Σ_w f_w²/κ_w over a convex set of κ, attained in
closed form.  For given κ the problem is a ridge problem, and κ follows from its f: majorisation and
minimisation, each round of which lowers the objective.  Three things make it quick.  A round starts
Newton's method (:mod:`formulakern.solvers.hierarchical.newton`) where the last one ended.  The
logarithms of κ are extrapolated.  A κ_w that vanished although the dual solution has g_w ≠ 0 there
is set to a share, which falls with the gap, of the κ_w that attains Ω*(g).  Equal columns are one
column of the ridge problem, equal rows one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.checks import check_choice, check_integer, check_number
from formulakern.deadline import Deadline, TimeLimit, check_time_limit
from formulakern.errors import DataError
from formulakern.interrupts import interruptible
from formulakern.slices import run_slices
from formulakern.solvers.blas import one_thread
from formulakern.solvers.hierarchical.losses import LOSSES, Intercept, loss_of
from formulakern.solvers.hierarchical.newton import Columns, Point, minimise_ridge, point
from formulakern.solvers.hierarchical.norm import DualNorm, Lattice, read_nodes, right_signed
from formulakern.solvers.input import LARGEST, read_array, read_vector
from formulakern.solvers.solution import Certified, share_done, warn_unless

__all__ = ["HierarchicalSolution", "solve_hierarchical"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The data with equal columns merged, and equal rows of equal labels merged with their weights.

    Columns of weights with different signs, and rows of different groups, are not merged.

    Attributes
    ----------
    bits : uint8 (k, r), C-contiguous
        The different columns, one a row, on the different rows.
    others : float64 (e, r), C-contiguous
        The features outside the lattice, one a row.
    column_of_node : int64 (n + e,)
    row_of_example : int64 (m,)
        −1 for examples without weight.
    y, c : float64 (r,)
        Labels, and C times the sum of the sample weights of the merged rows.
    part : float64 (m,)
        The share of each example in the weight of its row.
    loss : str
    group : int64 (r,), optional
        Of the intercepts.
    signs : int64 (k + e,), optional
        Of the weights of the columns.
    node_signs : int64 (n + e,), optional
    """

    bits: npt.NDArray[np.uint8]
    others: FloatArray
    column_of_node: IntArray
    row_of_example: IntArray
    y: FloatArray
    c: FloatArray
    part: FloatArray
    loss: str
    group: IntArray | None = None
    signs: IntArray | None = None
    node_signs: IntArray | None = None

    def spread(self, beta: FloatArray) -> FloatArray:
        """Dual variables of the examples from those of the merged rows."""
        return np.where(self.row_of_example >= 0, beta[self.row_of_example] * self.part, 0.0)


def read_problem(
    columns: Any,
    n: int,
    others: Any,
    y: Any,
    sample_weight: Any,
    C: float,
    loss: str,
    group: Any = None,
    signs: Any = None,
) -> Problem:
    """Check the data, and merge equal rows and equal columns.

    Raises
    ------
    DataError
        If the shapes do not fit, columns are not 0/1, labels are not −1 and 1 (both, in every
        group), numbers are not finite, groups or signs are none, or sample weights are negative or
        all zero.
    """
    table = _read_columns(columns, n)
    m = len(table)
    numbers = _read_others(others, m)
    labels = read_vector(y, m, "y")
    wrong = np.flatnonzero(np.abs(labels) != 1)
    if loss != "squared" and len(wrong):
        raise DataError(
            f"y[{wrong[0]}] = {labels[wrong[0]]:g}; expected −1 and 1 for loss={loss!r}. Use "
            "np.where(y == a_class, 1, -1), or loss='squared' for regression."
        )
    weights = np.ones(m)
    if sample_weight is not None:
        weights = read_vector(sample_weight, m, "sample_weight", low=0)
    if not weights.any():
        raise DataError("all sample weights are zero; expected some positive weight.")
    used = np.flatnonzero(weights > 0)
    labels_used = labels[used]
    if loss != "squared" and len(np.unique(labels_used)) < 2:
        side = "" if sample_weight is None else " among the examples of positive weight"
        raise DataError(
            f"y holds one class only, {labels_used[0]:g}{side}; expected −1 and 1. Pass rows of "
            "both."
        )
    groups = None if group is None else _read_groups(group, m)[used]
    if groups is not None:
        _check_groups(groups, labels_used, loss)
    node_signs = None if signs is None else _read_signs(signs, n + numbers.shape[1])
    exact = np.column_stack([labels_used, numbers[used]])
    if groups is not None:
        exact = np.column_stack([exact, groups])
    exact = np.ascontiguousarray(exact).view(np.uint8)
    keys = np.concatenate([np.packbits(table[used], axis=1), exact], axis=1)
    rows, row_of_used = _different(keys)
    share = weights[used]
    total = np.bincount(row_of_used, share)
    kept = np.ascontiguousarray(table[used[rows]].T)
    packed = np.packbits(kept, axis=1)
    if node_signs is not None:
        packed = np.column_stack([packed, (node_signs[:n] + 1).astype(np.uint8)])
    kinds, column_of_node = _different(packed)
    row_of_example = np.full(m, -1, dtype=np.int64)
    row_of_example[used] = row_of_used
    part = np.zeros(m)
    part[used] = share / total[row_of_used]
    return Problem(
        np.ascontiguousarray(kept[kinds]),
        np.ascontiguousarray(numbers[used[rows]].T),
        np.append(column_of_node, len(kinds) + np.arange(numbers.shape[1])),
        row_of_example,
        labels_used[rows],
        np.asarray(C * total, dtype=np.float64),
        part,
        loss,
        None if groups is None else groups[rows],
        None if node_signs is None else np.append(node_signs[:n][kinds], node_signs[n:]),
        node_signs,
    )


def _different(keys: npt.NDArray[np.uint8]) -> tuple[IntArray, IntArray]:
    """The first of each kind of row, in order, and the kind of each row."""
    first, kind = different_rows(np.ascontiguousarray(keys))
    order = np.argsort(first)
    return first[order].astype(np.int64), np.argsort(order)[kind]


def _read_columns(columns: Any, n: int) -> npt.NDArray[np.uint8]:
    table = read_array(columns, "columns", "a table of 0 and 1")
    if table.ndim != 2 or table.shape[1] != n:
        raise DataError(
            f"columns has shape {table.shape} for {n} nodes; expected (examples, {n}): one column "
            "for each node."
        )
    if table.shape[0] == 0:
        raise DataError("columns has no rows; expected at least one example of each class.")
    if table.dtype.kind not in "biuf":
        raise DataError(f"columns is of type {table.dtype}; expected 0 and 1.")
    if table.dtype.kind != "b":
        wrong = np.argwhere((table != 0) & (table != 1))
        if len(wrong):
            i, k = wrong[0].tolist()
            raise DataError(
                f"columns[{i}, {k}] = {table[i, k]}; expected 0 and 1: whether the conjunction "
                "covers the example."
            )
    return np.asarray(table, dtype=np.uint8)


def _read_others(others: Any, m: int) -> FloatArray:
    if others is None:
        return np.zeros((m, 0))
    numbers = read_array(others, "others", "a table of numbers")
    if numbers.ndim != 2 or len(numbers) != m or numbers.dtype.kind not in "biuf":
        raise DataError(
            f"others has shape {numbers.shape} and type {numbers.dtype}; expected numbers of shape "
            f"({m}, any): a row for each example."
        )
    if not np.isfinite(numbers).all():
        raise DataError("others holds a number that is not finite; expected finite numbers.")
    return np.asarray(numbers, dtype=np.float64) + 0.0  # no negative zeros


def _read_groups(group: Any, m: int) -> IntArray:
    numbers = read_vector(group, m, "group", low=0)
    wrong = np.flatnonzero(numbers != np.floor(numbers))
    if len(wrong):
        raise DataError(f"group[{wrong[0]}] = {numbers[wrong[0]]:g}; expected 0, 1, 2, ….")
    return numbers.astype(np.int64)


def _check_groups(groups: IntArray, labels: FloatArray, loss: str) -> None:
    """Whether every group has an intercept that is best."""
    number = int(groups.max()) + 1
    for sign in (0.0,) if loss == "squared" else (-1.0, 1.0):
        some = groups if sign == 0 else groups[labels == sign]
        lacking = np.flatnonzero(np.bincount(some, minlength=number) == 0)
        if len(lacking):
            what = "example" if sign == 0 else f"example of y = {sign:g}"
            raise DataError(
                f"group {lacking[0]} has no {what}, so it has no intercept. Number the groups "
                "from 0, and pass rows of both classes for each."
            )


def _read_signs(signs: Any, n: int) -> IntArray:
    numbers = read_vector(signs, n, "signs")
    wrong = np.flatnonzero(~np.isin(numbers, (-1, 0, 1)))
    if len(wrong):
        raise DataError(
            f"signs[{wrong[0]}] = {numbers[wrong[0]]:g}; expected 1 for a weight of at least 0, −1 "
            "for one of at most 0, 0 for any."
        )
    return numbers.astype(np.int64)


def read_start(start: Any, n: int, groups: int | None = None) -> tuple[FloatArray, Intercept]:
    """Check a starting point: weights (n,), and an intercept, or one for each group.

    Raises
    ------
    DataError
    """
    try:
        weights, intercept = start
        b: Intercept = float(intercept) if groups is None else np.array(intercept, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "start cannot be read; expected (weights, intercept) or a HierarchicalSolution."
        ) from None
    f = read_vector(weights, n, "the weights of start")
    if np.shape(b) not in ((), (groups,)) or not np.all(np.abs(b) <= LARGEST):
        raise DataError(f"the intercept of start is {b}; expected a finite number.")
    return f, b


#: The power of the last change of κ that is added to it; 0 is plain majorisation.
MOMENTUM = 0.6
#: The least κ, as a share of the κ at which the dual norm is attained; or the gap, if that is less,
#: since weights that should be smaller than their κ allows keep a gap of about that share.
LIFT = 0.03
#: The smoothing of the hinge may cost this share of the gap.
SMOOTHING = 0.2
#: Newton steps of one round, and steps for the dual norm, at first and at most.
NEWTON, DUAL_STEPS, MOST_DUAL_STEPS = 30, 60, 5000
#: Allowance for the rounding of sums, as a share of the sum of their sizes.
ROUNDING = 256 * float(np.finfo(np.float64).eps)
#: Keeps divisions by κ finite.
FLOOR = 1e-200


@dataclass(frozen=True, eq=False, kw_only=True)
class HierarchicalSolution(Certified):
    """The best f and b that were found, and proof of how good they are.

    Attributes
    ----------
    value, upper_bound : float
        The objective at f and b.
    lower_bound : float
        No f and b have a smaller objective.
    gap : float
        (objective − lower_bound) / objective.
    iterations, newton_steps : int
        Rounds, and the steps of Newton's method in them.
    converged : bool
        Whether the gap is at most the tolerance: the status is "optimal".
    weights : float64 (n,)
        f, in the order of the nodes; behind them of the features outside the lattice.
    intercept : float, or float64 (groups,)
        b; the decision function is Σ_w f_w φ_w(x) − b.
    norm : float
        Ω(f).
    dual : float64 (m,)
        β, with α_i = y_i β_i for the classification losses; Σ_i β_i = 0, over each group.
    certificate : float64 (n,)
        The point η of the simplex at which Ω*(g) is bounded.
    gamma : float64 (n,)
        γ_v = d_v ‖f_{D(v)}‖_ρ / Ω(f).
    ancestors, descendants, mixing : int64, int64, float64 (pairs,)
        λ_vw = (|f_w| / ‖f_{D(v)}‖_ρ)^{2−ρ} for v = ``ancestors[k]`` ⊆ w = ``descendants[k]``.
    seconds : float
    status : {"optimal", "time limit", "iteration limit", "interrupted"}
    """

    weights: FloatArray
    intercept: Intercept
    norm: float
    dual: FloatArray
    certificate: FloatArray
    gamma: FloatArray
    ancestors: IntArray
    descendants: IntArray
    mixing: FloatArray
    newton_steps: int
    seconds: float
    status: str

    @property
    def objective(self) -> float:
        """The value."""
        return self.value


def solve_hierarchical(
    columns: Any,
    nodes: Iterable[Iterable[int]],
    y: Any,
    *,
    rho: float = 1.1,
    C: float = 1.0,
    depth_penalty: float = 2.0,
    loss: str = "hinge",
    sample_weight: Any = None,
    others: Any = None,
    other_penalty: float = 1.0,
    group: Any = None,
    signs: Any = None,
    tol: float = 1e-3,
    max_iter: int = 2000,
    time_limit: TimeLimit = None,
    start: tuple[Any, Any] | HierarchicalSolution | None = None,
    progress: Callable[[float], None] | None = None,
) -> HierarchicalSolution:
    """Hierarchical kernel learning: few of many 0/1 features that form a lattice.

        min over f, b of  ½ (Σ_v d_v ‖f_{D(v)}‖_ρ)² + C Σ_i s_i ℓ(y_i, Σ_w f_w φ_w(x_i) − b)

    Each feature φ_w belongs to a finite set w, its node.  D(v) are the nodes that contain v, and
    d_v = a^|v|.  The norm favours few and small sets: where the group D(v) is zero, all features of
    sets that contain v are.

    Parameters
    ----------
    columns : array-like of shape (m, n), 0/1
        φ_w(x_i); one column for each node.
    nodes : n sets of integers
        Closed under subsets, the empty set included, in any order.
    y : array-like of shape (m,)
        −1 and 1, both of them; for the squared loss, real numbers.
    rho : float in (1, 2]
        ρ.  With 2, a set with weight brings in its subsets; near 1, few features get weight.
    C : float > 0
        The penalty parameter of the losses.
    depth_penalty : float ≥ 1
        a; d_v = a^|v|.
    loss : {"hinge", "squared_hinge", "logistic", "squared"}
        max(0, 1 − yu), its square, ln(1 + e^{−yu}), (y − u)².
    sample_weight : array-like of shape (m,), optional
        s ≥ 0, 1 by default.
    others : array-like of shape (m, e), optional
        Features outside the lattice, any real numbers; their weights come behind those of the
        nodes, and each adds ``other_penalty`` · |f_j| to the norm.
    other_penalty : float > 0
    group : array-like of shape (m,), 0, 1, 2, …, optional
        Example i has the intercept b of its group.
    signs : array-like of shape (n + e,), optional
        1 where a weight must be at least 0, −1 where it must be at most 0, 0 where it is free.
    tol : float
        The relative duality gap to reach.
    max_iter : int
        At most so many rounds.
    time_limit : float, optional
        Seconds; felt between two rounds.
    start : HierarchicalSolution, or (weights, intercept), optional
        Where to begin: weights (n + e,) in the order of ``nodes`` and ``others``.
    progress : callable, optional
        Called once a round with the share that is done, measured by the logarithm of the gap.

    Returns
    -------
    HierarchicalSolution
        After a time limit or Ctrl-C (once the first round is done) the best that was found, with
        its gap; ``status`` tells.

    Raises
    ------
    DataError
        If columns, nodes, labels or weights cannot be used.
    ParameterError
        If a parameter is out of its range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol`` after ``max_iter`` rounds.

    Notes
    -----
    O(mn) and O(pairs) a round, pairs = Σ_w 2^|w|, and one linear system a Newton step, of the size
    of the columns that still matter or, if fewer, of the rows where the loss is curved.  The
    memory is two copies of the columns, a byte an entry, and blocks of 32 MiB.

    References
    ----------
    F. Bach, "High-dimensional non-linear variable selection through hierarchical kernel learning",
    2009, arXiv:0909.0844 (ρ = 2).  P. Jawanpuria, J. S. Nath, G. Ramakrishnan, "Generalized
    hierarchical kernel learning", JMLR 16, 2015 (1 < ρ ≤ 2).

    Examples
    --------
    The label is a conjunction of two of three propositions:

    >>> import numpy as np
    >>> from itertools import combinations, product
    >>> X = np.array(list(product([0, 1], repeat=3)))
    >>> nodes = [v for size in range(4) for v in combinations(range(3), size)]
    >>> columns = np.stack([X[:, list(v)].all(axis=1) for v in nodes], axis=1)
    >>> y = np.where(X[:, 0] & X[:, 2], 1, -1)
    >>> solution = solve_hierarchical(columns, nodes, y, C=10.0, depth_penalty=1.2)
    >>> [v for v, weight in zip(nodes, solution.weights) if abs(weight) > 1e-3]
    [(0,), (2,), (0, 2)]
    >>> solution.gap <= 1e-3
    True
    """
    check_number("rho", rho, 1, 2, above=True, expected="1 < rho <= 2; near 1 few rules get weight")
    check_number("C", C, 0, LARGEST, above=True)
    check_number("depth_penalty", depth_penalty, 1, LARGEST)
    check_choice("loss", loss, LOSSES)
    check_number("tol", tol, 0, 1, above=True)
    check_integer("max_iter", max_iter)
    check_time_limit(time_limit)
    deadline = Deadline.of(time_limit)
    check_number("other_penalty", other_penalty, 0, LARGEST, above=True)
    lattice = read_nodes(nodes, rho=float(rho), depth_penalty=float(depth_penalty))
    started = Deadline.clock()
    data = (others, y, sample_weight, float(C), loss, group, signs)
    problem = read_problem(columns, len(lattice), *data)
    lattice = lattice.with_others(len(problem.others), float(other_penalty))
    if isinstance(start, HierarchicalSolution):
        start = (start.weights, start.intercept)
    groups = None if problem.group is None else int(problem.group.max()) + 1
    first = None if start is None else read_start(start, len(lattice), groups)
    search = _Search(lattice, problem, first, float(tol), max_iter, deadline)
    try:
        with interruptible(), one_thread():
            finished = run_slices(search, deadline, progress).finished
        status = "iteration limit" if finished else "time limit"
        status = "optimal" if search.gap <= tol else status
    except KeyboardInterrupt:
        if not math.isfinite(search.objective):
            raise
        status = "interrupted"
    warn_unless(
        status != "iteration limit",
        f"after {search.iterations} rounds the relative duality gap",
        search.gap,
        tol,
        "Raise max_iter or tol, or choose a smaller C.",
    )
    if progress is not None:
        progress(1.0)
    return search.solution(status, Deadline.clock() - started)


class _Search:
    """The state of the iteration, and the best f and β so far."""

    def __init__(
        self,
        lattice: Lattice,
        problem: Problem,
        start: tuple[FloatArray, Intercept] | None,
        tol: float,
        max_iter: int,
        deadline: Deadline,
    ) -> None:
        self.lattice, self.problem, self.tol, self.max_iter = lattice, problem, tol, max_iter
        self.deadline = deadline
        self.columns = Columns(problem.bits, problem.others, deadline)
        self.loss = loss_of(problem.loss, problem.y, problem.c, group=problem.group)
        self.kind = problem.column_of_node
        n = len(lattice)
        cold = 1 / lattice.penalties**2
        cold /= cold.sum()
        f: FloatArray = np.zeros(n)
        b: Intercept = 0.0
        self.scales = cold
        if start is not None and np.any(right_signed(start[0], problem.node_signs)):
            f, b = right_signed(start[0], problem.node_signs), start[1]
            self.scales = 0.9 * lattice.scales(f) + 0.1 * cold
            self.loss.width /= 8 if problem.loss == "hinge" else 1
        self.scales = np.maximum(self.scales, FLOOR)
        joined = self._joined(f)
        self.at: Point = point(self.columns, self.loss, joined, self.columns.predict(joined), b)
        self.last_scales: FloatArray | None = None
        self.eta = lattice.penalties**-1
        self.weights, self.intercept = f, b
        self.objective, self.lower = math.inf, 0.0
        self.dual = np.zeros(len(problem.y))
        self.certificate = self.eta / self.eta.sum()
        self.first_gap, self.last_value = 1.0, math.inf
        self.dual_steps = DUAL_STEPS
        self.iterations = self.newton_steps = 0

    @property
    def gap(self) -> float:
        if not math.isfinite(self.objective):
            return 1.0
        if self.objective <= self.lower:  # both can be zero
            return 0.0
        return (self.objective - self.lower) / self.objective

    def _joined(self, values: FloatArray) -> FloatArray:
        """Sums over the nodes of equal columns."""
        return np.bincount(self.kind, values, len(self.columns)).astype(np.float64)

    def share(self) -> float:
        """How much of the way from the first gap to the tolerance is done."""
        return share_done(self.first_gap, self.gap, self.tol)

    def advance(self, work: int) -> bool:  # noqa: ARG002  (a round cannot be divided)
        """A round: solve the ridge problem, bound the optimum and choose the next κ."""
        joined = self._joined(self.scales)
        # the bound feels errors of g to first order, which are the square root of this
        accuracy = min(1e-3, max(0.01 * self.gap**2, 0.01 * self.tol**2, 1e-13))
        self.at, steps = minimise_ridge(
            self.columns,
            joined,
            self.loss,
            self.at,
            tol=accuracy,
            max_steps=NEWTON,
            deadline=self.deadline,
            signs=self.problem.signs,
        )
        self.iterations += 1
        self.newton_steps += steps
        if steps == 0:  # what is left of the gap may be that of the dual norm
            self.dual_steps = min(2 * self.dual_steps, MOST_DUAL_STEPS)
        f = self.scales * (self.at.weights / joined)[self.kind]
        value, excess = self._upper(f)
        dual = self._lower(f)
        if self.iterations == 1:
            self.first_gap = self.gap
        if self.problem.loss == "hinge" and excess > 0:
            wanted = SMOOTHING * max(self.gap, self.tol) * self.objective / excess
            if steps == 0:  # what is left of the gap may be that of the smoothing
                wanted = min(0.5, wanted)
            if wanted < 1:  # smooth it less
                self.loss.width *= max(0.25, wanted)
                at = self.at
                self.at = point(self.columns, self.loss, at.weights, at.predictions, at.intercept)
        self._rescale(f, dual, value)
        return self.gap <= self.tol or self.iterations == self.max_iter

    def _upper(self, f: FloatArray) -> tuple[float, float]:
        """The objective at f, and what the smoothing of the loss costs."""
        u = self.at.predictions
        b, loss = self.loss.true_intercept(u, self.at.intercept)
        norm = self.lattice.norm(f)
        value = 0.5 * norm**2 + loss
        if value < self.objective:
            self.objective, self.weights, self.intercept = value, f, b
        beta = self.at.expansion.beta
        return value, loss - self.loss.conjugate(beta) + float(beta @ u)

    def _lower(self, f: FloatArray) -> DualNorm:
        """A lower bound on the objective from β at f."""
        beta = self.loss.balanced(self.at.expansion.beta)
        g = right_signed(self.columns.sums(beta)[self.kind], self.problem.node_signs)
        eta = 0.5 * self.eta / self.eta.sum() + 0.5 * self.lattice.shares(f)
        dual = self.lattice.dual_norm(g, eta, tol=0.02 * self.tol, steps=self.dual_steps)
        self.eta = dual.eta
        square = dual.upper**2
        multiple = self.loss.best_multiple(beta, square)
        linear = self.loss.conjugate(multiple * beta)
        quadratic = 0.5 * multiple**2 * square
        reach = 1 + np.abs(self.problem.y)
        sizes = multiple * float(np.abs(beta) @ reach)
        bound = linear - quadratic - ROUNDING * (sizes + quadratic)
        if bound > self.lower:
            self.lower, self.dual, self.certificate = bound, multiple * beta, dual.eta
        return dual

    def _rescale(self, f: FloatArray, dual: DualNorm, value: float) -> None:
        """κ from f, extrapolated; at least a share of the κ at which the dual norm is attained."""
        if not np.any(f):
            self.scales = np.maximum(dual.scales, FLOOR)
            return
        scales = np.maximum(self.lattice.scales(f), FLOOR)
        following = scales
        if self.last_scales is not None and value <= self.last_value * (1 + self.tol):
            following = scales * np.clip(scales / self.last_scales, 0.01, 100.0) ** MOMENTUM
        self.last_scales, self.last_value = scales, value
        lift = min(LIFT, self.gap)
        self.scales = np.maximum(np.maximum(following, lift * dual.scales), FLOOR)

    def solution(self, status: str, seconds: float) -> HierarchicalSolution:
        """The best that was found."""
        lattice, f = self.lattice, self.weights
        return HierarchicalSolution(
            value=self.objective,
            lower_bound=self.lower,
            upper_bound=self.objective,
            gap=self.gap,
            iterations=self.iterations,
            converged=status == "optimal",
            weights=f,
            intercept=self.intercept,
            norm=lattice.norm(f),
            dual=self.problem.spread(self.dual),
            certificate=self.certificate,
            gamma=lattice.shares(f),
            ancestors=lattice.ancestors,
            descendants=lattice.descendants,
            mixing=lattice.mixing(f),
            newton_steps=self.newton_steps,
            seconds=seconds,
            status=status,
        )
