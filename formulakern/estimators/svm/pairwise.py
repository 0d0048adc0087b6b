"""Support vector classification of several classes, one against one: problems and decisions."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice
from formulakern.encoding.real import RealTable
from formulakern.errors import ParameterError
from formulakern.estimators.svm.extraction import RuleExtraction, TrainedModel, pair_weights
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
from formulakern.partitions.lazy_rows import lazily
from formulakern.solvers.solution import share_done

__all__ = [
    "SOLVED",
    "PairwiseDecisions",
    "PairwiseModel",
    "PairwiseProblem",
    "pairwise_decisions",
    "pairwise_votes",
]

#: Attributes that are copied from the solved model.
SOLVED = ("classes_", "support_", "n_support_", "dual_coef_", "intercept_", "n_iter_")


class PairwiseDecisions:
    """Predictions and rules of a classifier that decides for every pair of classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    intercept_ : float64 (pairs,)
    """

    classes_: npt.NDArray[Any]
    intercept_: FloatArray
    decision_function_shape: str
    svc_: Any
    support_: npt.NDArray[np.intp]
    _support_rows: Any
    _trained: TrainedModel
    _leaves: tuple[Any, ...]
    _pair_weights: FloatArray  # coefficients of the support vectors, a row for each pair

    if TYPE_CHECKING:  # of the classes that have these decisions

        def _read_table(self, X: Any) -> Any: ...

        def _values(self, rows: Any, weights: FloatArray) -> FloatArray: ...

    def _check_decisions(self) -> None:
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))

    def _take_over_pairs(self, solved: Any, table: Any) -> None:
        """Copy what a solved model of all pairs has learned from a table."""
        self.svc_ = solved
        for name in SOLVED:
            setattr(self, name, getattr(solved, name))
        self._pair_weights = np.array([w for _, _, w in pair_weights(solved)])
        self._support_rows = table.take(self.support_)

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """Signed distances from the separating surfaces, in units of the margin.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes), or per pair
        """
        return self._decisions(self._pair_values(self._later(X)))

    @lazily
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        values, n_classes = self._pair_values(self._later(X)), len(self.classes_)
        if n_classes == 2:
            return np.asarray(self.classes_[(values[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes_[pairwise_votes(values, n_classes)])

    def rules(
        self,
        top: int = 10,
        *,
        time_limit: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> RuleExtraction:
        """The heaviest features of the hypothesis, as rules in the table's own words.

        The model is a weighted vote of all features of its kernel; these are the ones with the
        largest absolute weights Σ_i α_i y_i φ(x_i), found by branch and bound and proven to be so.

        Parameters
        ----------
        top : int, default=10
            How many rules, per pair of classes.
        time_limit : float, optional
            Seconds; the best rules found so far come with a proven bound on all others.
        progress : callable, optional
            Called with the share that is done.

        Returns
        -------
        RuleExtraction
            Prints as a table with weight, classes, coverage and precision on the training rows.  A
            rule that several terms of a sum of kernels have is listed for each.

        Raises
        ------
        ParameterError
            If the kernel's features cannot be listed (see :func:`formulakern.extract_rules`), or
            inputs are graded: degrees are not rules.

        Examples
        --------
        >>> from formulakern import FormulaSVC, datasets
        >>> X, y = datasets.tic_tac_toe()
        >>> model = FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X, y)
        >>> result = model.rules(top=8)  # three in a row
        >>> result.proven, {(item.winner, item.precision) for item in result}
        (True, {('positive', 1.0)})
        """
        check_is_fitted(self, "svc_")
        if isinstance(self._support_rows, RealTable):
            raise ParameterError(
                "a model of graded inputs votes by degrees, which are not rules: fit one with "
                'inputs="binary" to read its rules.'
            )
        return self._trained.rules(self._leaves, top, time_limit, progress)

    def _later(self, X: Any) -> Any:
        check_is_fitted(self, "svc_")
        return self._read_table(X)

    def _pair_values(self, table: Any) -> FloatArray:
        """The decision of every pair of classes: float64 (rows, pairs)."""
        return np.asarray(self._values(table, self._pair_weights) + self.intercept_)

    def _decisions(self, values: FloatArray) -> FloatArray:
        """Decisions as they are asked for, from those of the pairs."""
        if len(self.classes_) == 2:
            return np.ascontiguousarray(values[:, 0])
        if self.decision_function_shape == "ovo":
            return values
        return pairwise_decisions(values, len(self.classes_))


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
