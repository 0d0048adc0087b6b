"""A matrix game as a linear program, solved by HiGHS through SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline

__all__ = ["basic_strategies", "optimal_strategies"]

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

    p is an optimal mixed strategy of the row player, who pays p'Mq, and q of the column player.

    Parameters
    ----------
    M : float64 (m, n)
        Finite.
    max_iter : int, optional
        At most so many steps of the interior point method.
    deadline : Deadline, optional
    progress : callable, optional
        Called with 0 while the solver runs, which does not say how far it is, and at last with 1.

    Returns
    -------
    (p, q, iterations) or None
        None if a limit ended the solver before it had a solution.

    Notes
    -----
    The interior point method with crossover to a basic solution: on dense games of 1,000 × 1,000
    random payoffs it took 3 to 5 seconds, the simplex method 16 to 60.  The simplex method follows
    where it fails.  Payoffs are first moved and scaled to lie between −1 and 1, so that the
    solver's absolute tolerances mean the same for every game.

    HiGHS cannot be interrupted.  An exception in the waiting thread, such as Ctrl-C, comes through
    at once and leaves HiGHS to finish in the background; a program that ends then waits for it.

    Examples
    --------
    >>> import numpy as np
    >>> p, q, _ = optimal_strategies(np.array([[3.0, 0.0], [1.0, 2.0]]))
    >>> p, q
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    low, high = float(M.min()), float(M.max())
    scaled = (M - (low + high) / 2) / ((high - low) / 2 or 1.0)
    options = {
        # it gains nothing on a dense matrix, and one that outlasts the time limit hides it
        # from the interior point method
        "presolve": False,
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
        "maxiter": max_iter,
    }
    found = basic_strategies(
        scaled, None, options, ("highs-ipm", "highs-ds"), deadline=deadline, progress=progress
    )
    if progress is not None:
        progress(1.0)
    return found


def basic_strategies(
    M: FloatArray,
    caps: FloatArray | None,
    options: Mapping[str, Any],
    methods: Sequence[str] = ("highs",),
    *,
    deadline: Deadline = UNLIMITED,
    progress: Callable[[float], None] | None = None,
) -> Found:
    """Optimal strategies of a game, of which each of the row player's weights may be capped.

    Without caps: min t over p ≥ 0, Σ p_i = 1 with M'p ≤ t.  With caps: max Σ α_i over
    0 ≤ α ≤ caps with M'α ≤ 1; then p = α / Σ α_i.

    Parameters
    ----------
    M : float64 (m, n)
    caps : float64 (m,), optional
    options : mapping
        Of HiGHS.
    methods : sequence of str
        Of SciPy's linprog; the next one follows where one fails, but not at a limit.
    deadline : Deadline, optional
        Waited for no longer: HiGHS looks at its own clock now and then.
    progress : callable, optional
        Called with 0 now and then.

    Returns
    -------
    (p, q, iterations) or None
        A basic solution: p, or α, and the dual solution q, of sum 1 without caps and of sum
        1 / Σ α_i or less with them.  None if there is none within the limits.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    solve: Any = linprog  # its type says less than what it takes
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
    """What ``solve`` returns or raises, run in a thread while this one stays responsive.

    None once the time is over.
    """
    executor = ThreadPoolExecutor(1)
    running = executor.submit(solve)
    executor.shutdown(wait=False)  # the thread ends with its work; Python waits for it at exit
    while not wait([running], min(LOOK_SECONDS, deadline.left())).done:
        if deadline.over():
            return None
        if progress is not None:
            progress(0.0)
    return running.result()
