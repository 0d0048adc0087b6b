"""Support vector classification of several classes, one against one, by the dual solver."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.estimators.svm.extraction import pair_weights
from formulakern.kernels.algebra import Kernel
from formulakern.learning.kernel_machines.box_problem import classification
from formulakern.learning.kernel_machines.decomposition import (
    DualSolution,
    KernelExpansion,
    Limits,
    Prepared,
    prepare,
)
from formulakern.learning.kernel_machines.kernel_rows import KernelRows
from formulakern.solvers.solution import share_done

__all__ = ["PairwiseModel", "PairwiseProblem", "libsvm_gap"]


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
    history_ : tuple of (seconds, gap, dual, primal)
        How the first pair of classes was solved.
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
    history_: tuple[tuple[float, float, float, float], ...]
    shape_fit_: tuple[int, int]


@dataclass(frozen=True, eq=False)
class PairwiseProblem:
    """The problems of all pairs of classes, which may be solved several times.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
    classes : ndarray of shape (n,)
    shape : tuple of int
        Rows and columns of the table.
    pairs : tuple of (int, int, intp array, Prepared)
        The numbers of two classes, their rows, and the problem.
    """

    labels: npt.NDArray[Any]
    classes: npt.NDArray[Any]
    shape: tuple[int, int]
    pairs: tuple[tuple[int, int, npt.NDArray[np.intp], Prepared], ...]

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        rows: Any,
        classes: npt.NDArray[Any],
        boxes: FloatArray,
        memory: float,
    ) -> Self:
        """Prepare the problems.

        Parameters
        ----------
        kernel : Kernel
        rows : PackedTable, RealTable or KernelRows of n rows
        classes : ndarray of shape (n,)
        boxes : float64 (n,)
            C of every row; rows with 0 are left out.
        memory : float
            Megabytes for a matrix that is held.
        """
        used = np.flatnonzero(boxes > 0)
        labels, codes = np.unique(classes[used], return_inverse=True)
        table = rows.rows if isinstance(rows, KernelRows) else rows
        pairs = []
        for i, j in itertools.combinations(range(len(labels)), 2):
            chosen = used[(codes == i) | (codes == j)]
            positive = labels[1] if len(labels) == 2 else labels[i]  # as scikit-learn has it
            signs = np.where(classes[chosen] == positive, 1.0, -1.0)
            part = rows if len(chosen) == table.n_rows else rows.take(chosen)
            problem = classification(signs, boxes[chosen])
            pairs.append((i, j, chosen, prepare(problem, kernel, part, memory)))
        return cls(labels, classes, tuple(table.shape), tuple(pairs))

    def solve(
        self,
        limits: Limits,
        *,
        factor: float = 1.0,
        near: Sequence[DualSolution] | None = None,
        nearer: float = 1.0,
        progress: Callable[[float, float], None] | None = None,
    ) -> tuple[PairwiseModel, list[DualSolution]]:
        """Solve for every pair of classes, with boxes times a factor.

        Parameters
        ----------
        limits : Limits
            ``seconds`` of all pairs together.
        factor, nearer : float
        near : sequence of DualSolution, optional
            See :meth:`.Prepared.solve`.
        progress : callable, optional
            Called with the share that is done, and the gap of the pair at work.

        Returns
        -------
        PairwiseModel, list of DualSolution

        Raises
        ------
        KeyboardInterrupt
            Where some pairs have not been looked at.
        """
        began, number = time.monotonic(), len(self.pairs)
        coefficients = np.zeros((len(self.labels) - 1, len(self.classes)))
        found: list[KernelExpansion] = []
        for done, (i, j, rows, prepared) in enumerate(self.pairs):
            left = (limits.seconds - (time.monotonic() - began)) / (number - done)

            def step(_: float, gap: float, done: int = done) -> None:
                if progress is not None:
                    progress((done + share_done(1.0, gap, limits.tol)) / number, gap)

            expansion = prepared.solve(
                replace(limits, seconds=max(left, 0.0)),
                factor=factor,
                near=None if near is None else near[done],
                nearer=nearer,
                progress=step,
            )
            found.append(expansion)
            for own, row in ((i, j - 1), (j, i)):
                of_class = self.classes[rows] == self.labels[own]
                coefficients[row, rows[of_class]] = expansion.beta[of_class]
            if expansion.solution.stopped == "interrupted" and done + 1 < number:
                raise KeyboardInterrupt
        return self._model(coefficients, found), [expansion.solution for expansion in found]

    def _model(self, coefficients: FloatArray, found: list[KernelExpansion]) -> PairwiseModel:
        any_pair = np.flatnonzero((coefficients != 0).any(axis=0))
        of_class = np.searchsorted(self.labels, self.classes[any_pair])
        support = any_pair[np.argsort(of_class, kind="stable")]
        solutions = [expansion.solution for expansion in found]
        stops = [solution.stopped for solution in solutions]
        return PairwiseModel(
            self.labels,
            support,
            np.bincount(of_class, minlength=len(self.labels)).astype(np.int32),
            np.ascontiguousarray(coefficients[:, support]),
            np.array([expansion.intercept for expansion in found]),
            np.array([solution.iterations for solution in solutions], dtype=np.int32),
            np.array([solution.gap for solution in solutions]),
            next((stop for stop in stops if stop != "optimal"), "optimal"),
            solutions[0].history,
            self.shape,
        )


def libsvm_gap(svc: Any, gram: FloatArray, labels: npt.NDArray[Any], boxes: FloatArray) -> float:
    """The largest relative duality gap, of all pairs of classes, of what scikit-learn has solved.

    With w = Σ_i α_i y_i φ(x_i) it is 1 − (Σ α_i − ½‖w‖²) / (½‖w‖² + Σ C_i max(0, 1 − y_i f(x_i))).

    Parameters
    ----------
    svc : SVC
        Fitted to the Gram matrix.
    gram : float64 (m, m)
    labels : ndarray of shape (m,)
    boxes : float64 (m,)
        C of every row.
    """
    gaps = [0.0]
    for (winner, loser, beta), b in zip(pair_weights(svc), svc.intercept_.tolist(), strict=True):
        rows = np.flatnonzero((labels == winner) | (labels == loser))
        f = gram[np.ix_(rows, svc.support_)] @ beta + b
        half = 0.5 * float(beta @ gram[np.ix_(svc.support_, svc.support_)] @ beta)
        y = np.where(labels[rows] == winner, 1.0, -1.0)
        primal = half + float(boxes[rows] @ np.maximum(0.0, 1.0 - y * f))
        gaps.append(1.0 - (float(np.abs(beta).sum()) - half) / primal if primal > 0 else 0.0)
    return max(gaps)
