"""Zero-sum matrix games: mixed strategies for both players, and proven bounds on the value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_integer, check_number
from formulakern.deadline import UNLIMITED, Deadline, TimeLimit, check_time_limit, run_slices
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.solvers.game_dynamics import MIN_DIFFERENCE, FictitiousPlay, Hedge, scaled
from formulakern.solvers.input import MAX_INPUT, read_matrix, read_vector
from formulakern.solvers.solution import Certified, warn_unless

Found = tuple[FloatArray, FloatArray, int] | None

#: Seconds between two checks of the solver, which runs in its own thread.
CHECK_SECONDS = 0.05
#: The tolerance of the solver for violated constraints, with payoffs between −1 and 1.
FEASIBILITY = 1e-9
#: SciPy's status for a limit of steps or seconds.
LIMIT_REACHED = 1


def optimal_strategies(
    M: FloatArray,
    *,
    max_iter: int | None = None,
    deadline: Deadline = UNLIMITED,
    progress: Callable[[float], None] | None = None,
) -> Found:
    """Solve min v over p ≥ 0, Σ p_i = 1 with M'p ≤ v, and the dual for q, by HiGHS.

    Returns p, q and the steps, or None if a limit ended the solver before it had a solution.

    The interior point method with crossover to a basic solution took 3 to 5 seconds on dense games
    of 1,000 × 1,000 random payoffs, the simplex method 16 to 60.  The simplex method is used if it
    fails.  Payoffs are first shifted and scaled to between −1 and 1, so that the solver's absolute
    tolerances have the same meaning for every game.
    """
    low, high = float(M.min()), float(M.max())
    options = {
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
        "maxiter": max_iter,
    }
    scaled = (M - (low + high) / 2) / ((high - low) / 2 or 1.0)
    methods = "highs-ipm", "highs-ds"
    found = basic_strategies(scaled, None, options, methods, deadline=deadline, progress=progress)
    if progress is not None:
        progress(1.0)
    return found


def basic_strategies(
    M: FloatArray,
    caps: FloatArray | None,
    options: Mapping[str, Any] | None = None,
    methods: Sequence[str] = ("highs",),
    *,
    deadline: Deadline = UNLIMITED,
    progress: Callable[[float], None] | None = None,
) -> Found:
    """Return optimal strategies of a game, with optional caps of the row player's weights.

    Without caps: min t over p ≥ 0, Σ p_i = 1 with M'p ≤ t.  With caps: max Σ α_i over
    0 ≤ α ≤ caps with M'α ≤ 1; then p = α / Σ α_i.  Returns a basic solution, p or α, the dual
    solution q, of sum 1 without caps and of sum 1 / Σ α_i or less with them, and the steps; or None
    if there is none within the limits.

    ``methods`` are SciPy's; if one fails, the next is used, but not at a limit.  HiGHS checks its
    own clock only occasionally, and cannot be interrupted: an exception in the waiting thread, such
    as Ctrl-C, is raised at once, and HiGHS finishes in the background.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    solve: Any = linprog  # its type is narrower than its arguments
    # presolving gains nothing on a dense matrix, and if it exceeds the time limit, the interior
    # point method ignores the limit
    options = {"presolve": False, **(options or {})}
    m, n = M.shape
    if caps is None:
        program: dict[str, Any] = {
            "c": np.append(np.zeros(m), 1.0),
            "A_ub": csr_array(np.column_stack([M.T, np.full(n, -1.0)])),
            "b_ub": np.zeros(n),
            "A_eq": csr_array(np.append(np.ones(m), 0.0)[None]),
            "b_eq": np.ones(1),
            "bounds": [(0.0, None)] * m + [(None, None)],
        }
    else:
        bounds = np.stack([np.zeros(m), caps], axis=1)
        program = {"c": -np.ones(m), "A_ub": csr_array(M.T), "b_ub": np.ones(n), "bounds": bounds}

    def solved() -> Any:
        for method in methods:
            limit = deadline.left() if deadline.limited else None
            result = solve(**program, method=method, options={**options, "time_limit": limit})
            if result.status in (0, LIMIT_REACHED):  # other statuses are numerical trouble
                break
        return result

    result = _watched(solved, progress, deadline)
    if result is None or result.status != 0:
        return None
    p = np.clip(result.x[:m], 0.0, caps)
    q = np.maximum(-result.ineqlin.marginals, 0.0)
    if caps is not None:
        return p, q / p.sum(), int(result.nit)
    return p / p.sum(), q / q.sum(), int(result.nit)


def _watched(
    solve: Callable[[], Any], progress: Callable[[float], None] | None, deadline: Deadline
) -> Any:
    """Return or raise the result of ``solve`` in its own thread; None once the time is over."""
    executor = ThreadPoolExecutor(1)
    running = executor.submit(solve)
    executor.shutdown(wait=False)  # the thread ends with its work; Python waits for it at exit
    while not wait([running], min(CHECK_SECONDS, deadline.left())).done:
        if deadline.over():
            return None
        if progress is not None:
            progress(0.0)
    return running.result()


Method = Literal["linprog", "fictitious-play", "multiplicative-weights"]

#: The default tolerance of each method, as a share of the payoffs' range, and its most rounds.
METHODS: dict[str, tuple[float, int | None]] = {
    "linprog": (1e-6, None),
    "fictitious-play": (1e-3, 1_000_000),
    "multiplicative-weights": (1e-3, 20_000),
}
#: Sums of payoffs over this many rounds are far from overflow.
MAX_ROUNDS = 10**15
#: Rounding of a mean of payoffs, as a share of their largest size: the least default tolerance.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, kw_only=True)
class GameSolution(Certified):
    """A mixed strategy for each player, with a guarantee against every strategy of the other.

    Attributes
    ----------
    row_strategy : float64 (m,)
        p ≥ 0 of sum 1, the minimising player's probabilities.
    column_strategy : float64 (n,)
        q ≥ 0 of sum 1, the maximising player's.
    value : float
        (lower_bound + upper_bound) / 2; the value of the game is within gap / 2 of it.
    lower_bound : float
        min_i (Mq)_i, the least that the column player receives with q.
    upper_bound : float
        max_j (p'M)_j, the most that the row player pays with p.
    gap : float
        upper_bound − lower_bound, in units of payoff; 0 if both strategies are optimal.
    iterations : int
        Rounds played, or steps of the interior point method.
    converged : bool
        Whether the gap is at most the tolerance.
    row_counts, column_counts : float64 (m,), (n,)
        Counts proportional to the strategies.  After fictitious play: the number of rounds in which
        each pure strategy was played, including the start, so that ``start=(row_counts,
        column_counts)`` continues the run.  After another method: the strategies.

    Examples
    --------
    >>> game = solve_game([[1, -1], [-1, 1]])
    >>> game.value, game.row_strategy
    (0.0, array([0.5, 0.5]))
    """

    row_strategy: FloatArray
    column_strategy: FloatArray
    row_counts: FloatArray
    column_counts: FloatArray


def solve_game(
    M: Any,
    method: Method = "linprog",
    *,
    tol: float | None = None,
    max_iter: int | None = None,
    start: tuple[Any, Any] | None = None,
    time_limit: TimeLimit = None,
    progress: Callable[[float], None] | None = None,
) -> GameSolution:
    """Compute the value min_p max_q p'Mq of a matrix game over the mixed strategies of two players.

    The row player chooses row i with probability p_i, the column player column j with probability
    q_j, independently, and the row player pays M_ij to the column player.  For all p and q

        min_i (Mq)_i  ≤  V  ≤  max_j (p'M)_j,

    and some p and q make all three equal (von Neumann).  Every method returns both bounds, computed
    from M at the end.

    Parameters
    ----------
    M : array-like of shape (m, n)
        Real payoffs, finite, at most 1e100 in size; read only.
    method : {"linprog", "fictitious-play", "multiplicative-weights"}
        * "linprog": the linear program, exact up to rounding, by HiGHS through SciPy.
        * "fictitious-play" (Brown): in each round the row player, and then the column player, plays
          a pure best response to the frequencies of the other's past strategies; in a tie, the one
          of lowest index.  The returned strategies are the frequencies.
        * "multiplicative-weights" (optimistic Hedge): both players weigh each pure strategy by
          exp(−η · its loss so far), with the last loss as a forecast of the next (Rakhlin and
          Sridharan).  The learning rate is AdaHedge's, η = ln(strategies) / (R/4 + sum of
          mixability gaps) for each player, R = max M − min M.  So neither a step size nor a number
          of rounds is chosen beforehand, and M → aM + b with a > 0 leaves the strategies unchanged.
          The returned strategies are the means over the rounds.
    tol : float, optional
        The gap to reach, in units of payoff.  By default R·10⁻⁶ for the linear program and R·10⁻³
        for the others, and never less than the rounding error.  ``tol=0`` plays all ``max_iter``
        rounds, and never warns.
    max_iter : int, optional
        The largest number of rounds, by default 1,000,000 of fictitious play and 20,000 of
        multiplicative weights.  For the linear program, steps of the interior point method, by
        default HiGHS's own limit.
    start : (row counts, column counts), optional
        Arrays (m,) and (n,), not negative.  Fictitious play counts them as rounds played before the
        first one, so their sums are their weight.  Multiplicative weights begins half with these
        proportions and half uniformly.  The linear program needs no start, and returns it if a
        limit ends it before it has a solution.  The default is zero counts.
    time_limit : float, optional
        Seconds, after which the best result so far is returned without a warning.
    progress : callable, optional
        Called with an estimate of the completed share, never falling, at last 1.  The linear
        program reports 0 until it is done, because HiGHS does not report its progress.

    Returns
    -------
    GameSolution

    Raises
    ------
    DataError
        If M is not a matrix of finite real numbers with at least one row and one column.
    MagnitudeError
        If a payoff is larger than 1e100 in size.
    ParameterError
        If another argument is out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol`` for a reason other than ``time_limit``.

    Notes
    -----
    Every method is deterministic.

    A round of fictitious play costs O(m + n); the gap falls about as 1/√rounds in practice
    (Robinson proves that it falls to 0).  It uses two copies of M, of one byte per payoff if all
    payoffs are whole numbers up to 127 in size, otherwise of eight.  A round of multiplicative
    weights costs O(mn), one pass over M, and the gap falls about as 1/rounds.  The linear program
    takes a few seconds at 1,000 × 1,000, and several copies of M.

    Ctrl-C takes effect within about 0.05 s, or one round.  An interrupted linear program continues
    in the background until HiGHS ends, and the Python process waits for it at exit; set a
    ``time_limit`` to avoid this.

    References
    ----------
    J. von Neumann, "Zur Theorie der Gesellschaftsspiele", Mathematische Annalen 100, 1928,
    doi:10.1007/BF01448847.  G. W. Brown, "Iterative solution of games by fictitious play", in
    Activity Analysis of Production and Allocation, Wiley, 1951.  J. Robinson, "An iterative method
    of solving a game", Annals of Mathematics 54, 1951, doi:10.2307/1969530.  Y. Freund,
    R. E. Schapire, "Adaptive game playing using multiplicative weights", Games and Economic
    Behavior 29, 1999, doi:10.1006/game.1999.0738.  S. de Rooij, T. van Erven, P. D. Grünwald,
    W. M. Koolen, "Follow the leader if you can, hedge if you must", JMLR 15, 2014, arXiv:1301.0534.
    A. Rakhlin, K. Sridharan, "Optimization, learning, and games with predictable sequences", NIPS
    2013, arXiv:1311.1869.

    Examples
    --------
    Matching pennies, with a larger prize for the column player's heads:

    >>> from formulakern.solvers.games import solve_game
    >>> game = solve_game([[3, -1], [-1, 1]])
    >>> game.row_strategy.round(3), game.column_strategy.round(3), round(game.value, 3)
    (array([0.333, 0.667]), array([0.333, 0.667]), 0.333)

    Rock, paper, scissors:

    >>> rock_paper_scissors = [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]
    >>> game = solve_game(rock_paper_scissors, "fictitious-play", tol=0.01)
    >>> game.converged, game.lower_bound <= 0 <= game.upper_bound, game.gap <= 0.01
    (True, True, True)
    >>> solve_game(rock_paper_scissors, "multiplicative-weights").column_strategy.round(3)
    array([0.333, 0.333, 0.333])
    """
    check_choice("method", method, list(METHODS))
    matrix = _read_payoffs(M)
    low, high = float(matrix.min()), float(matrix.max())
    check_number("tol", tol, 0, otherwise="None")
    check_time_limit(time_limit)
    deadline = Deadline.of(time_limit)
    check_integer("max_iter", max_iter, otherwise="None")
    check_number("max_iter", max_iter, 1, MAX_ROUNDS, otherwise="None")
    counts = _read_start(start, matrix.shape)
    share, rounds = METHODS[method]
    if tol is None:
        tol = share * (high - low) + ROUNDING * max(-low, high) + MIN_DIFFERENCE
    iterations, timed_out = 0, False
    if rounds is None:
        found = optimal_strategies(matrix, max_iter=max_iter, deadline=deadline, progress=progress)
        if found is not None:
            counts, iterations = found[:2], found[2]
        else:  # HiGHS reads another clock
            timed_out = deadline.over(0.1 * (deadline.end - deadline.begun))
    else:
        max_iter = rounds if max_iter is None else max_iter
        dynamics: FictitiousPlay | Hedge = Hedge(matrix, *counts)
        if method == "fictitious-play":
            dynamics = FictitiousPlay(matrix, *counts, max_iter)
        run = Run(dynamics, lambda p, q: _bounds(matrix, scaled(p), scaled(q))[2], tol, max_iter)
        timed_out = not run_slices(run, deadline, progress)
        counts, iterations = dynamics.weights(), run.rounds
    p, q = (scaled(count) for count in counts)
    lower, upper, gap = _bounds(matrix, p, q)
    warn_unless(
        gap <= tol or tol == 0 or timed_out,
        f"after {iterations:,} iterations the gap of {method}",
        gap,
        tol,
        "The bounds hold, but are not close enough: increase max_iter or use another method. "
        "tol=0 plays all rounds without a warning.",
    )
    row_counts, column_counts = counts if method == "fictitious-play" else (p, q)
    return GameSolution(
        row_strategy=p,
        column_strategy=q,
        value=lower + (upper - lower) / 2,
        lower_bound=lower,
        upper_bound=upper,
        gap=gap,
        iterations=iterations,
        converged=gap <= tol,
        row_counts=row_counts,
        column_counts=column_counts,
    )


@dataclass
class Run:
    """Learning dynamics that are played in slices until the gap is at most ``tol``.

    The gap falls as the number of rounds to the power −1/speed.  The running gap of the dynamics
    only decides when to call ``gap_of``, which computes it from the matrix.
    """

    dynamics: FictitiousPlay | Hedge
    gap_of: Callable[[FloatArray, FloatArray], float]
    tol: float
    max_iter: int
    rounds: int = 0
    _share: float = 0.0

    def advance(self, work: int) -> bool:
        """Play rounds that read about ``work`` entries; return True if the run has ended."""
        left = min(max(1, work // self.dynamics.round_cost()), self.max_iter - self.rounds)
        while left:
            done = self.dynamics.advance(left, self.tol)
            self.rounds += abs(done)
            left -= abs(done)
            if done < 0:
                if self.gap_of(*self.dynamics.weights()) <= self.tol:
                    return True
                self.dynamics.refresh()  # rounding hid the rest of the gap
        return self.rounds == self.max_iter

    def share(self) -> float:
        """Estimate the completed share, which never falls."""
        gap = self.gap_of(*self.dynamics.weights()) if self.tol else np.inf
        reached = (self.tol / gap) ** self.dynamics.speed if gap > self.tol else 1.0
        self._share = max(self._share, self.rounds / self.max_iter, reached)
        return self._share


def _bounds(M: FloatArray, p: FloatArray, q: FloatArray) -> tuple[float, float, float]:
    """Return min_i (Mq)_i, max_j (p'M)_j and their difference, at least 0."""
    lower, upper = float((M @ q).min()), float((p @ M).max())
    return lower, upper, max(0.0, upper - lower)


def _read_payoffs(M: Any) -> FloatArray:
    """Return M as float64, C-contiguous, without a copy if possible."""
    matrix = read_matrix(
        M,
        "M",
        unread="Pass the payoffs as rows of numbers of equal length; a sparse matrix as "
        "M.toarray().",
        infinite="payoffs must be finite. Leave out strategies that must not be played, and "
        "replace missing values.",
    )
    if matrix.ndim != 2 or not matrix.size:
        raise DataError(
            f"M has shape {matrix.shape}; expected at least one row (a pure strategy of the "
            "minimising player) and one column (a pure strategy of the maximising player)."
        )
    largest = float(max(-matrix.min(), matrix.max()))
    if largest > MAX_INPUT:
        raise MagnitudeError(
            f"the largest payoff is {largest:.3g} in size; expected at most {MAX_INPUT:g}. Divide "
            "M by a number: this divides the value too, and leaves the strategies unchanged."
        )
    return matrix


def _read_start(
    start: tuple[Any, Any] | None, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    if start is None:
        return np.zeros(shape[0]), np.zeros(shape[1])
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise ParameterError(
            f"start={start!r}; expected two arrays: row counts and column counts, as in "
            "start=(game.row_counts, game.column_counts)."
        )
    # adding a round would not change a larger count
    rows, columns = (
        read_vector(counts, size, f"{side} counts", low=0, high=2**52, error=ParameterError)
        for counts, size, side in zip(start, shape, ("row", "column"), strict=True)
    )
    return rows, columns
