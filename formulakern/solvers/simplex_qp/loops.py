"""The compiled loop of sequential minimal optimisation: weight moves between two coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.compilation import compiled

__all__ = ["smo_steps"]

#: Curvature below this share of K_ii + K_jj counts as this share: two rows that coincide.
FLAT = 1e-12
#: Keeps a division by the curvature finite on a zero matrix.
TINY = 1e-300


_REALS = "float64[::1]"
#: Read-only, so that matrices which several processes share can be passed; others can be as well.
_MATRIX = "Array(float64, 2, 'C', readonly=True)"


@compiled(
    f"int64({_MATRIX}, float64, {_REALS}, int8[::1], {_REALS}, {_REALS}, {_REALS}, {_REALS},"
    " float64, int64)"
)
def smo_steps(
    K: Any,
    ridge: Any,
    diagonal: Any,
    group: Any,
    lower: Any,
    upper: Any,
    u: Any,
    gradient: Any,
    floor: Any,
    steps: Any,
) -> Any:
    """Minimise ½ u'(K + ridge·I)u + p'u by at most so many steps, each within one group.

    A step takes the coefficient i of smallest gradient that may grow, and the coefficient j of the
    same group that may shrink and promises the largest decrease
    (g_j − g_i)² / 2(K_ii + K_jj − 2K_ij); it moves from j to i what minimises the objective, or as
    much as the bounds allow.  The sum of a group never changes.

    Parameters
    ----------
    K : float64 (m, m), C-contiguous, symmetric
    ridge : float64
    diagonal : float64 (m,)
        K_ii + ridge.
    group : int8 (m,)
        0 or 1.
    lower, upper : float64 (m,)
    u, gradient : float64 (m,)
        The point and (K + ridge·I)u + p there; both change in place.
    floor : float64
        Differences of gradients up to this are rounding.
    steps : int

    Returns
    -------
    int
        Steps taken; fewer than allowed where no pair promises a decrease.
    """
    m = u.size
    grow0, grow1 = -1, -1
    least0, least1 = np.inf, np.inf
    for k in range(m):
        if u[k] < upper[k]:
            if group[k] == 0:
                if gradient[k] < least0:
                    least0, grow0 = gradient[k], k
            elif gradient[k] < least1:
                least1, grow1 = gradient[k], k
    for step in range(steps):
        shrink = -1
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
                        best, shrink = gain, k
        if shrink < 0:
            return step
        j = shrink
        i = grow0 if group[j] == 0 else grow1
        pair = diagonal[i] + diagonal[j]
        curvature = max(pair - 2.0 * K[i, j], FLAT * pair + TINY)
        move = (gradient[j] - gradient[i]) / curvature
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
        grow0, grow1 = -1, -1
        least0, least1 = np.inf, np.inf
        for k in range(m):
            gradient[k] += move * (K[i, k] - K[j, k])
            if group[k] == 0:
                if gradient[k] < least0 and u[k] < upper[k]:
                    least0, grow0 = gradient[k], k
            elif gradient[k] < least1 and u[k] < upper[k]:
                least1, grow1 = gradient[k], k
    return steps
