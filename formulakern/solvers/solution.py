"""What every solver returns: an optimal value between proven bounds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Certified"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Certified:
    """An approximate optimal value, with the proof of how good it is.

    Attributes
    ----------
    value : float
        What was found.
    lower_bound, upper_bound : float
        The optimal value lies between.
    gap : float
        The duality gap: the difference of the bounds, absolute or relative as the class says.
    iterations : int
    converged : bool
        Whether the gap is at most the tolerance that was asked for.
    """

    value: float
    lower_bound: float
    upper_bound: float
    gap: float
    iterations: int
    converged: bool
