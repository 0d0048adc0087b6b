"""Compiled steps of sequential minimal optimisation: two coefficients move at a time."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from formulakern.compilation import compiled

__all__ = ["QuadraticProgram", "smo_steps"]

#: Curvature below this share of K_ii + K_jj counts as this share: two rows that coincide.
FLAT = 1e-12
#: Keeps a division by the curvature finite on a zero matrix.
TINY = 1e-300


class QuadraticProgram(NamedTuple):
    """min ½ u'(K + ridge·I)u + p'u over a box with fixed sums: all but K.

    Parameters
    ----------
    linear : float64 (m,)
        p.
    group : int8 (m,)
        0 or 1: the group whose sum is kept.
    lower, upper : float64 (m,)
    ridge : float
    """

    linear: Annotated[Any, "float64[::1]"]
    group: Annotated[Any, "int8[::1]"]
    lower: Annotated[Any, "float64[::1]"]
    upper: Annotated[Any, "float64[::1]"]
    ridge: Annotated[float, "float64"] = 0.0


@compiled(
    "int64(Array(float64, 2, 'C', readonly=True), state, float64[::1], float64[::1], float64[::1],"
    " float64, int64)",
    state=QuadraticProgram,
)
def smo_steps(
    K: Any,
    program: QuadraticProgram,
    diagonal: Any,
    u: Any,
    gradient: Any,
    floor: float,
    steps: int,
) -> int:
    """Sequential minimal optimisation: at most so many steps, each within one group.

    A step takes the coefficient i of smallest gradient g_i that may grow, and the coefficient j of
    the same group that may shrink and promises the largest decrease
    (g_j − g_i)² / 2(K_ii + K_jj − 2K_ij).  It moves from j to i what minimises the objective, or as
    much as the bounds allow.  The sum of a group never changes.

    Parameters
    ----------
    K : float64 (m, m), C-contiguous, symmetric, positive semidefinite
        Other processes may share it: it is only read.
    program : QuadraticProgram
    diagonal : float64 (m,)
        K_ii + ridge.
    u, gradient : float64 (m,)
        The point and (K + ridge·I)u + p there; both change in place.
    floor : float64
        Differences of gradients up to this are rounding.
    steps : int64

    Returns
    -------
    int64
        Steps taken; fewer than allowed where no pair promises a decrease.
    """
    _, group, lower, upper, ridge = program
    m = u.size
    i, j, move = 0, 0, 0.0
    for step in range(steps + 1):
        grow0, grow1 = -1, -1
        least0, least1 = np.inf, np.inf
        for k in range(m):
            gradient[k] += move * (K[i, k] - K[j, k])
            if group[k] == 0:
                if gradient[k] < least0 and u[k] < upper[k]:
                    least0, grow0 = gradient[k], k
            elif gradient[k] < least1 and u[k] < upper[k]:
                least1, grow1 = gradient[k], k
        j = -1
        best = 0.0
        for k in range(m):
            i = grow0 if group[k] == 0 else grow1
            if i >= 0 and u[k] > lower[k]:
                descent = gradient[k] - gradient[i]
                if descent > floor:
                    pair = diagonal[i] + diagonal[k]
                    curvature = max(pair - 2.0 * K[i, k], FLAT * pair + TINY)
                    gain = descent * (descent / curvature)
                    if gain > best:
                        best, j, move = gain, k, descent / curvature
        if j < 0 or step == steps:
            return step
        i = grow0 if group[j] == 0 else grow1
        room_i, room_j = upper[i] - u[i], u[j] - lower[j]
        # a coefficient that reaches its bound is set to it, to the last bit
        if move >= room_i and room_i <= room_j:
            move = room_i
            u[i], u[j] = upper[i], u[j] - move
        elif move >= room_j:
            move = room_j
            u[i], u[j] = u[i] + move, lower[j]
        else:
            u[i], u[j] = u[i] + move, u[j] - move
        gradient[i] += ridge * move
        gradient[j] -= ridge * move
    return steps
