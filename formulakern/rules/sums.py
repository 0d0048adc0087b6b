"""Sums of weighted rules, in an order of additions that is part of the model.

If two classes have equal scores, rounding decides between them, and it depends on the order of
additions.  Exported models add in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray

#: Longer sums are split into sums of sums, because databases limit the depth of expressions.
MAX_CHAIN_LENGTH = 100
T = TypeVar("T")


def in_groups(parts: Sequence[T], joined: Callable[[Sequence[T]], T]) -> Sequence[T]:
    """Return at most ``MAX_CHAIN_LENGTH`` parts; if there are more, join them in groups.

    >>> in_groups("a" * 201, "+".join) == ["+".join("a" * 100)] * 2 + ["a"]
    True
    """
    while len(parts) > MAX_CHAIN_LENGTH:
        parts = [
            joined(parts[k : k + MAX_CHAIN_LENGTH]) for k in range(0, len(parts), MAX_CHAIN_LENGTH)
        ]
    return parts


def weighted_sums(
    values: npt.NDArray[Any], votes: FloatArray, intercept: FloatArray | None = None
) -> FloatArray:
    """Return b_k + Σ_r V_rk x_ir, added from the left in groups of at most 100 terms.

    >>> weighted_sums(np.array([[1, 0], [1, 1]]), np.array([[0.5], [2.0]]), np.array([1.0]))
    array([[1.5],
           [3.5]])
    """
    n, n_classes = len(values), votes.shape[1]
    sums = np.empty((n_classes, n))

    def added(terms: Sequence[Any]) -> Any:
        return reduce(np.add, terms)

    for k, column in enumerate(votes.T):
        first = 0.0 if intercept is None else float(intercept[k])
        terms: list[Any] = [np.full(n, first)]
        totals: list[Any] = []
        for r in np.flatnonzero(column).tolist():
            if len(terms) == MAX_CHAIN_LENGTH:
                totals.append(added(terms))
                terms = []
            terms.append(column[r] * np.asarray(values[:, r], dtype=np.float64))
        sums[k] = added(in_groups([*totals, added(terms)], added))
    return sums.T
