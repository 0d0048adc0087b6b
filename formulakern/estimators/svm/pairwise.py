"""Support vector classification of several classes, one against one, by the dual solver."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.kernels.algebra import Kernel
from formulakern.learning.kernel_machines.box_problem import classification
from formulakern.learning.kernel_machines.decomposition import Limits
from formulakern.learning.kernel_machines.solve import KernelExpansion, train
from formulakern.solvers.solution import share_done

__all__ = ["PairwiseModel", "pairwise_decisions", "pairwise_votes", "solve_pairs"]


@dataclass(eq=False)
class PairwiseModel:
    """What is learnt, in the layout of :class:`sklearn.svm.SVC`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : intp (n_support,)
        Rows of the training table, class by class.
    n_support_ : int32 (n_classes,)
    dual_coef_ : float64 (n_classes − 1, n_support)
        β of the support vectors; row j − 1 of a vector of class i against class j if i < j, else j.
    intercept_ : float64 (pairs,)
    n_iter_ : int32 (pairs,)
        Pair steps.
    gaps_ : float64 (pairs,)
        The relative duality gaps.
    stopped_ : str
        "optimal", or what ended one of the solutions.
    shape_fit_ : tuple of int
        Rows and columns of the training table.
    """

    classes_: npt.NDArray[Any]
    support_: npt.NDArray[np.intp]
    n_support_: npt.NDArray[np.int32]
    dual_coef_: FloatArray
    intercept_: FloatArray
    n_iter_: npt.NDArray[np.int32]
    gaps_: FloatArray
    stopped_: str
    shape_fit_: tuple[int, int]

    def weights(self) -> FloatArray:
        """β of every pair on all support vectors: float64 (pairs, n_support)."""
        if len(self.classes_) == 2:
            return self.dual_coef_
        ends = np.cumsum([0, *self.n_support_])
        pairs = list(itertools.combinations(range(len(self.classes_)), 2))
        weights = np.zeros((len(pairs), len(self.support_)))
        for pair, (i, j) in enumerate(pairs):
            weights[pair, ends[i] : ends[i + 1]] = self.dual_coef_[j - 1, ends[i] : ends[i + 1]]
            weights[pair, ends[j] : ends[j + 1]] = self.dual_coef_[i, ends[j] : ends[j + 1]]
        return weights


def solve_pairs(
    kernel: Kernel,
    table: Any,
    classes: npt.NDArray[Any],
    boxes: FloatArray,
    limits: Limits,
    memory: float,
    *,
    starts: Sequence[FloatArray | None] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> tuple[PairwiseModel, list[KernelExpansion]]:
    """Solve for every pair of classes.

    Parameters
    ----------
    kernel : Kernel
    table : PackedTable or RealTable of n rows
    classes : ndarray of shape (n,)
    boxes : float64 (n,)
        C of every row; rows with 0 are left out.
    limits : Limits
        ``seconds`` of all pairs together.
    memory : float
        Megabytes for a matrix that is held.
    starts : sequence of float64 (rows of the pair,), optional
        Coefficients to begin with.
    progress : callable, optional
        Called with the share that is done, and the gap of the pair at work.

    Returns
    -------
    PairwiseModel, list of KernelExpansion
    """
    labels, codes = np.unique(classes[boxes > 0], return_inverse=True)
    used = np.flatnonzero(boxes > 0)
    pairs = list(itertools.combinations(range(len(labels)), 2))
    began = time.monotonic()
    coefficients = np.zeros((len(labels) - 1, len(classes)))
    expansions: list[KernelExpansion] = []
    for number, (i, j) in enumerate(pairs):
        rows = used[(codes == i) | (codes == j)]
        positive = labels[1] if len(pairs) == 1 else labels[i]  # as scikit-learn has it
        signs = np.where(classes[rows] == positive, 1.0, -1.0)
        left = limits.seconds - (time.monotonic() - began)
        share = left / (len(pairs) - number) if math.isfinite(left) else left
        part = table if len(rows) == table.n_rows else table.take(rows)

        def step(_: float, gap: float, done: int = number) -> None:
            if progress is not None:
                progress((done + share_done(1.0, gap, limits.tol)) / len(pairs), gap)

        found = train(
            classification(signs, boxes[rows]),
            kernel,
            part,
            Limits(limits.tol, limits.max_iter, max(share, 0.0)),
            memory=memory,
            start=None if starts is None else starts[number],
            progress=step,
        )
        expansions.append(found)
        of_first = rows[classes[rows] == labels[i]]
        of_second = rows[classes[rows] == labels[j]]
        whole = np.zeros(len(classes))
        whole[rows] = found.beta
        coefficients[j - 1, of_first] = whole[of_first]
        coefficients[i, of_second] = whole[of_second]
        if found.solution.stopped == "interrupted" and number + 1 < len(pairs):
            raise KeyboardInterrupt
    any_pair = np.flatnonzero((coefficients != 0).any(axis=0))
    of_class = np.searchsorted(labels, classes[any_pair])
    support = any_pair[np.argsort(of_class, kind="stable")]
    stops = [found.solution.stopped for found in expansions]
    model = PairwiseModel(
        labels,
        support,
        np.bincount(of_class, minlength=len(labels)).astype(np.int32),
        np.ascontiguousarray(coefficients[:, support]),
        np.array([found.intercept for found in expansions]),
        np.array([found.solution.iterations for found in expansions], dtype=np.int32),
        np.array([found.solution.gap for found in expansions]),
        next((stop for stop in stops if stop != "optimal"), "optimal"),
        tuple(table.shape),
    )
    return model, expansions


def pairwise_decisions(ovo: FloatArray, n_classes: int) -> FloatArray:
    """One column for each class: its votes, and between −⅓ and ⅓ for the sum of its decisions.

    Parameters
    ----------
    ovo : float64 (rows, pairs)
        Positive for the first class of the pair.
    n_classes : int

    Examples
    --------
    >>> pairwise_decisions(np.array([[1.0, 1.0, -1.0]]), 3).round(2)
    array([[ 2.22, -0.22,  1.  ]])
    """
    votes = np.zeros((len(ovo), n_classes))
    sums = np.zeros((len(ovo), n_classes))
    for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        first = ovo[:, pair] > 0
        votes[first, i] += 1
        votes[~first, j] += 1
        sums[:, i] += ovo[:, pair]
        sums[:, j] -= ovo[:, pair]
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


def pairwise_votes(ovo: FloatArray, n_classes: int) -> npt.NDArray[np.intp]:
    """The class with the most votes of all pairs, the first of several.

    >>> pairwise_votes(np.array([[1.0, 1.0, -1.0]]), 3)
    array([0])
    """
    votes = np.zeros((len(ovo), n_classes), dtype=np.intp)
    for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        first = ovo[:, pair] > 0
        votes[first, i] += 1
        votes[~first, j] += 1
    return np.asarray(votes.argmax(axis=1))
