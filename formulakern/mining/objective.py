"""What is maximised: weights on a common grid, and scores that are sums over covered examples.

A search compares millions of sums.  Floating point sums depend on the order of addition, and then
a bound could fall below what it bounds.  So the weights are first rounded to whole multiples of a
unit, 2⁻⁵⁰ of their total or finer, and all sums of them are exact in float64.  How far that can
move a score is computed (``Objective.rounding``); it is 0 for weights such as ±1, 0.25 or integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_choice
from formulakern.errors import DataError, ParameterError

__all__ = [
    "DIRECTIONS",
    "OBJECTIVES",
    "TOTAL_BITS",
    "Objective",
    "check_objective",
    "objective_of",
    "read_weights",
    "unit_exponent",
]

OBJECTIVES = ("absolute", "spread")
DIRECTIONS = ("both", "positive", "negative")
#: Totals are at most 2 to this power, counted in units.
TOTAL_BITS = 50


@dataclass(frozen=True, eq=False)
class Objective:
    """The score of a set of examples, and the weights on a grid that searches add up.

    With S_k the sum of weights of column k over the set, the score is max_k |S_k| ("absolute",
    "both"), max_k S_k ("positive"), max_k −S_k ("negative"), or max_k S_k − min_k S_k ("spread").
    The last is the first over all differences of two columns, which is how it is searched, and
    bounded more sharply than by bounds on S_k.

    Parameters
    ----------
    weights : ndarray of shape (m, K), float64
        As given.
    columns : ndarray of shape (K', m), float64
        Whole numbers of units: the K columns, or the K(K − 1)/2 differences.
    kind : {"absolute", "spread"}
    upwards, downwards : bool
        Whether large S_k score, and whether small ones do.
    exponent : int
        The unit is 2 to this power.
    rounding : float
        No score differs by more than this from that of the rounded weights.
    """

    weights: NDArray[np.float64]
    columns: NDArray[np.float64]
    kind: str
    upwards: bool
    downwards: bool
    exponent: int
    rounding: float

    def in_units(self, value: float) -> float:
        """A score in units (infinite where that is out of range)."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -self.exponent))

    def from_units(self, value: float) -> float:
        """A score from units."""
        return math.ldexp(value, self.exponent)

    def scores(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of sets with these sums, (r, K) → (r,)."""
        if self.kind == "spread":
            return np.asarray(np.ptp(sums, axis=1))
        return self.unit_scores(sums)

    def unit_scores(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores, in units, of sets with these sums of ``columns``, (r, K') → (r,)."""
        signed = [sums] * self.upwards + [-sums] * self.downwards
        return np.asarray(np.max(signed, axis=(0, 2)))


def read_weights(weights: object, n_examples: int) -> NDArray[np.float64]:
    """Weights as a matrix of one column per vector.

    Parameters
    ----------
    weights : array-like of shape (m,) or (m, K)
    n_examples : int
        m.

    Returns
    -------
    ndarray of shape (m, K), float64

    Raises
    ------
    DataError
        If the shape does not fit, a weight is no finite number, or their sum overflows.
    """
    try:
        read: NDArray[np.float64] = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights are real numbers, one per example; {error}.") from None
    given = read.shape
    if read.ndim == 1:
        read = read[:, None]
    if read.ndim != 2 or len(read) != n_examples or read.shape[1] == 0:
        raise DataError(
            f"weights of shape {given} for {n_examples} examples; expected "
            f"({n_examples},) or ({n_examples}, K). Give one weight, or one row, per example."
        )
    if not np.isfinite(read).all():
        row, column = np.argwhere(~np.isfinite(read))[0].tolist()
        raise DataError(
            f"the weight of example {row} (column {column}) is {read[row, column]}; weights are "
            "finite numbers. Leave such examples out or give them the weight 0."
        )
    with np.errstate(over="ignore"):
        if not math.isfinite(2.0 * float(np.abs(read).sum(axis=0).max(initial=0.0))):
            raise DataError(
                "the sum of the weights passes the range of float64. Divide them by a constant."
            )
    return read


def objective_of(
    weights: NDArray[np.float64], objective: str = "absolute", direction: str = "both"
) -> Objective:
    """Check options, and put weights on a grid.

    Parameters
    ----------
    weights : ndarray of shape (m, K), float64
        As :func:`read_weights` gives them.
    objective : {"absolute", "spread"}
    direction : {"both", "positive", "negative"}
        For the absolute objective only.

    Raises
    ------
    ParameterError
        If an option is unknown, or they do not go together.

    Examples
    --------
    >>> objective_of(np.array([[1.0], [-2.0], [0.5]])).rounding
    0.0
    >>> objective_of(np.array([[1.0], [2.0], [0.1]])).rounding < 1e-12
    True
    """
    check_objective(objective, direction, weights.shape[1])
    largest = float(np.abs(weights).sum(axis=0).max())
    exponent = unit_exponent(largest)
    units = np.rint(np.ldexp(weights, -exponent))
    columns = units.T
    # differences of neighbours: exact
    moved = np.abs(weights - np.ldexp(units, exponent)).sum(axis=0)
    rounding = float(moved.max())
    if objective == "spread":
        k, other = np.triu_indices(weights.shape[1], 1)
        columns = columns[k] - columns[other]
        rounding = float((moved[k] + moved[other]).max())
    return Objective(
        weights=weights,
        columns=np.ascontiguousarray(columns),
        kind=objective,
        upwards=direction != "negative",
        downwards=direction != "positive",
        exponent=exponent,
        # the second part is for pairwise summation, when scores are computed from the weights
        rounding=rounding * (1 + 1e-9) + (128 * 2.0**-52 * largest if rounding else 0.0),
    )


def check_objective(objective: str, direction: str, n_columns: int) -> None:
    """Check what is maximised, for so many columns of weights."""
    check_choice("objective", objective, OBJECTIVES)
    check_choice("direction", direction, DIRECTIONS)
    if objective != "spread":
        return
    if n_columns < 2:
        raise ParameterError(
            "the spread is the difference of two sums; weights of one column have none. "
            "Give weights of shape (m, K) with K >= 2, or objective='absolute'."
        )
    if direction != "both":
        raise ParameterError(
            f"direction={direction!r} is for objective='absolute'; a spread has no sign."
        )


def unit_exponent(largest: float) -> int:
    """The unit of weights whose absolute values sum to this, as an exponent of 2.

    >>> unit_exponent(1.0), unit_exponent(0.0)
    (-49, 0)
    """
    return math.frexp(largest)[1] - TOTAL_BITS if largest else 0
