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
from formulakern.solvers.game_dynamics import TINY, FictitiousPlay, Hedge, scaled
from formulakern.solvers.input import LARGEST, read_matrix, read_vector
from formulakern.solvers.solution import Certified, warn_unless

Found = tuple[FloatArray, FloatArray, int] | None

#: Seconds between two looks at the solver, which runs in a thread of its own.
LOOK_SECONDS = 0.05
#: Violations of constraints that the solver may leave, of payoffs between −1 and 1.
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
    """min v over p ≥ 0, Σ p_i = 1 with M'p ≤ v, and the dual solution q, by HiGHS.

    Returns p, q and the steps, or None if a limit ended the solver before it had a solution.

    The interior point method with crossover to a basic solution: on dense games of 1,000 × 1,000
    random payoffs it took 3 to 5 seconds, the simplex method 16 to 60.  The simplex method follows
    where it fails.  Payoffs are first moved and scaled to lie between −1 and 1, so that the
    solver's absolute tolerances mean the same for every game.
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
    """Optimal strategies of a game, of which each of the row player's weights may be capped.

    Without caps: min t over p ≥ 0, Σ p_i = 1 with M'p ≤ t.  With caps: max Σ α_i over
    0 ≤ α ≤ caps with M'α ≤ 1; then p = α / Σ α_i.  Returns a basic solution, p or α, the dual
    solution q, of sum 1 without caps and of sum 1 / Σ α_i or less with them, and the steps; or None
    if there is none within the limits.

    ``methods`` are SciPy's; the next one follows where one fails, but not at a limit.  HiGHS looks
    at its own clock now and then, and cannot be interrupted: an exception in the waiting thread,
    such as Ctrl-C, comes through at once and leaves HiGHS to finish in the background.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    solve: Any = linprog  # its type says less than what it takes
    # it gains nothing on a dense matrix, and one that outlasts the time limit hides it from the
    # interior point method
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
            if result.status in (0, LIMIT_REACHED):  # else numerical trouble, by SciPy's numbering
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
    """What ``solve`` returns or raises in a thread of its own; None once the time is over."""
    executor = ThreadPoolExecutor(1)
    running = executor.submit(solve)
    executor.shutdown(wait=False)  # the thread ends with its work; Python waits for it at exit
    while not wait([running], min(LOOK_SECONDS, deadline.left())).done:
        if deadline.over():
            return None
        if progress is not None:
            progress(0.0)
    return running.result()


Method = Literal["linprog", "fictitious-play", "multiplicative-weights"]

#: For each method its default tolerance as a share of the payoffs' range, and its most rounds.
METHODS: dict[str, tuple[float, int | None]] = {
    "linprog": (1e-6, None),
    "fictitious-play": (1e-3, 1_000_000),
    "multiplicative-weights": (1e-3, 20_000),
}
#: Sums of payoffs over so many rounds stay far from overflow.
MOST_ROUNDS = 10**15
#: Rounding of a mean of payoffs, as a share of their largest size: no gap below is asked for.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, kw_only=True)
class GameSolution(Certified):
    """A mixed strategy for each player, and what each guarantees whatever the other does.

    Attributes
    ----------
    row_strategy : float64 (m,)
        p ≥ 0 of sum 1, the minimising player's probabilities.
    column_strategy : float64 (n,)
        q ≥ 0 of sum 1, the maximising player's.
    value : float
        (lower_bound + upper_bound) / 2; the value of the game is within gap / 2 of it.
    lower_bound : float
        min_i (Mq)_i: with q the column player receives at least this.
    upper_bound : float
        max_j (p'M)_j: with p the row player pays at most this.
    gap : float
        upper_bound − lower_bound, in units of payoff; 0 where both strategies are optimal.
    iterations : int
        Rounds played, or steps of the interior point method.
    converged : bool
        Whether the gap is at most the tolerance.
    row_counts, column_counts : float64 (m,), (n,)
        What the strategies are proportional to.  After fictitious play: in how many rounds each
        pure strategy was played, the start included, so that ``start=(row_counts, column_counts)``
        goes on where this ended.  After another method: the strategies.

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
    """min_p max_q p'Mq over the mixed strategies of two players: the value of a matrix game.

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
          a pure best response to the frequencies of the other's strategies so far, the lowest index
          where several are equally good.  The strategies returned are the frequencies.
        * "multiplicative-weights" (optimistic Hedge): both players weigh each pure strategy by
          exp(−η · its loss so far), with the last loss as a forecast of the next (Rakhlin and
          Sridharan).  The learning rate is AdaHedge's, η = ln(strategies) / (R/4 + sum of
          mixability gaps) for each player, R = max M − min M.  So neither a step size nor a number
          of rounds is chosen beforehand, and M → aM + b with a > 0 leaves the strategies as they
          are.  The strategies returned are the means over the rounds.
    tol : float, optional
        The gap to reach, in units of payoff.  By default R·10⁻⁶ for the linear program and R·10⁻³
        for the others (and never less than rounding hides).  ``tol=0`` asks for as much as
        ``max_iter`` rounds give, and never warns.
    max_iter : int, optional
        At most so many rounds, by default 1,000,000 of fictitious play and 20,000 of multiplicative
        weights.  For the linear program, steps of the interior point method, by default HiGHS's own
        limit.
    start : (row counts, column counts), optional
        Arrays (m,) and (n,), not negative.  Fictitious play counts them as rounds that were played
        before the first one, so their sums say how much they weigh.  Multiplicative weights begins
        half with these proportions and half uniformly.  The linear program needs no start, and
        returns it where a limit ends it before it has a solution.  Without a start, nothing was
        played.
    time_limit : float, optional
        Seconds.  When they are over, the result says how far it came, without a warning.
    progress : callable, optional
        Called with an estimate of the share that is done, never falling, at last 1.  The linear
        program reports 0 until it is done, because HiGHS does not say how far it is.

    Returns
    -------
    GameSolution

    Raises
    ------
    DataError
        If M is no matrix of finite real numbers with at least one row and one column.
    MagnitudeError
        If a payoff is larger than 1e100 in size.
    ParameterError
        If another argument is out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol`` for another reason than ``time_limit``.

    Notes
    -----
    Every method is deterministic.

    A round of fictitious play costs O(m + n); the gap falls about as 1/√rounds in practice
    (Robinson proves that it falls to 0).  It works on two copies of M, of a byte a payoff where all
    payoffs are whole numbers up to 127 in size, else of eight.  A round of multiplicative weights
    costs O(mn), one pass over M, and the gap falls about as 1/rounds.  The linear program takes a
    few seconds at 1,000 × 1,000, and several copies of M.

    Ctrl-C is felt within some 0.05 s, or one round.  A linear program that is interrupted so goes
    on in the background until HiGHS ends, and a program that exits waits for that: give a
    ``time_limit`` where it matters.

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
    Matching pennies, where the column player wins more with heads:

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
    check_number("max_iter", max_iter, 1, MOST_ROUNDS, otherwise="None")
    counts = _read_start(start, matrix.shape)
    share, rounds = METHODS[method]
    if tol is None:
        tol = share * (high - low) + ROUNDING * max(-low, high) + TINY
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
        "The bounds hold, but more rounds (max_iter) or another method is needed to bring them "
        "together. tol=0 says that the rounds are limited on purpose.",
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

    Both players choose again and again, and the averages of their strategies converge.  The gap
    falls as the number of rounds to the power −1/speed.  The gap that the dynamics sum up round by
    round only decides when it is worth looking at ``gap_of``, which computes it from the matrix.
    """

    dynamics: FictitiousPlay | Hedge
    gap_of: Callable[[FloatArray, FloatArray], float]
    tol: float
    max_iter: int
    rounds: int = 0
    _share: float = 0.0

    def advance(self, work: int) -> bool:
        """Play rounds that go through about so many entries; whether the run has ended."""
        left = min(max(1, work // self.dynamics.round_cost()), self.max_iter - self.rounds)
        while left:
            done = self.dynamics.advance(left, self.tol)
            self.rounds += abs(done)
            left -= abs(done)
            if done < 0:
                if self.gap_of(*self.dynamics.weights()) <= self.tol:
                    return True
                self.dynamics.refresh()  # rounding had hidden the rest of the gap
        return self.rounds == self.max_iter

    def share(self) -> float:
        """An estimate of the share that is done, which never falls."""
        gap = self.gap_of(*self.dynamics.weights()) if self.tol else np.inf
        reached = (self.tol / gap) ** self.dynamics.speed if gap > self.tol else 1.0
        self._share = max(self._share, self.rounds / self.max_iter, reached)
        return self._share


def _bounds(M: FloatArray, p: FloatArray, q: FloatArray) -> tuple[float, float, float]:
    """min_i (Mq)_i, max_j (p'M)_j and their difference; rounding may put it just below 0."""
    lower, upper = float((M @ q).min()), float((p @ M).max())
    return lower, upper, max(0.0, upper - lower)


def _read_payoffs(M: Any) -> FloatArray:
    """M as float64, C-contiguous: the same memory where it is such an array."""
    matrix = read_matrix(
        M,
        "M",
        unread="Pass the payoffs as rows of numbers of equal length; a sparse matrix as "
        "M.toarray().",
        infinite="payoffs are finite numbers. Leave out strategies that must not be played, and "
        "replace what is missing.",
    )
    if matrix.ndim != 2 or not matrix.size:
        raise DataError(
            f"M has shape {matrix.shape}; expected a row for each pure strategy of the minimising "
            "player and a column for each of the maximising one, at least one of both."
        )
    largest = float(max(-matrix.min(), matrix.max()))
    if largest > LARGEST:
        raise MagnitudeError(
            f"the largest payoff is {largest:.3g} in size; expected at most {LARGEST:g}. Divide M "
            "by a number: the strategies stay as they are, and the value is divided too."
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
    # a larger count would no longer grow when a round is added
    rows, columns = (
        read_vector(counts, size, f"{side} counts", low=0, high=2**52, error=ParameterError)
        for counts, size, side in zip(start, shape, ("row", "column"), strict=True)
    )
    return rows, columns
