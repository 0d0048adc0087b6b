"""Machines with a Gram matrix: their limits, what is learned, and the estimators on formulas."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_flag, check_integer, check_number
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.real import RealTable, read_real
from formulakern.errors import ParameterError
from formulakern.estimators.advice import warn_of_columns, warn_of_zeros
from formulakern.estimators.base import TableEstimator, bar_of, showing
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.reporting.report import report
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Inputs, Reading, kernel
from formulakern.kernels.graded import GradedKernel, graded
from formulakern.learning.kernel_machines import (
    DualSolution,
    KernelRows,
    Limits,
    MachineProblem,
    expansion_values,
)
from formulakern.solvers.solution import share_done
from formulakern.syntax.formula import Formula
from formulakern.tables.read import is_sparse

__all__ = ["FormulaMachine", "KernelMachine", "number_C", "warn_stopped"]

#: The formula by default.
FORMULA = "a & b"
#: Why a solution is not optimal, and what to do.
REASONS = {
    "max_iter": "max_iter steps were done",
    "time_limit": "the time limit was reached",
    "interrupted": "it was interrupted",
    "stalled": "no step changes float64 numbers any more",
}
ADVICE = {
    "stalled": "Normalize the kernel, or choose a smaller C.",
    "interrupted": "The best coefficients so far are kept.",
}


class KernelMachine:
    """f(x) = Σ_i β_i K(x_i, x) + b over support vectors, learned to a duality gap.

    A kind of machine differs in how it reads rows (``_read_table``), in its kernel, and in the
    problem that is solved.
    """

    tol: float
    max_iter: int
    kernel_: Kernel
    support_: npt.NDArray[np.intp]
    dual_coef_: FloatArray
    intercept_: FloatArray
    n_iter_: Any
    gap_: float
    stopped_: str
    _support_rows: Any

    report = report
    _showing = showing
    _bar = property(bar_of)

    if TYPE_CHECKING:

        def _read_table(self, X: Any) -> Any:
            """Return later rows as the kernel reads them; rows that are read already stay."""

    def _limits(self, deadline: Deadline = UNLIMITED) -> Limits:
        """Return the limits of the solver, checked."""
        check_number("tol", self.tol, 0, above=True)
        check_integer("max_iter", self.max_iter, -1)
        check_number("cache_size", self._memory, 0)
        return Limits(float(self.tol), int(self.max_iter), deadline.left())

    @property
    def _memory(self) -> float:
        """The megabytes of a Gram matrix that is held."""
        return getattr(self, "cache_size", 0.0)

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        """Return the problem of training rows, which may be solved for several penalties."""
        raise NotImplementedError

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:
        """Set what was learned from rows: what ``solve`` of the problem returned."""
        beta, found = solved, solution
        assert isinstance(found, DualSolution)
        self.support_, self.intercept_ = np.flatnonzero(beta), np.array([found.values.intercept])
        self.dual_coef_ = beta[None, self.support_]
        self.n_iter_, self.gap_, self.stopped_ = found.iterations, found.gap, found.stopped
        self._support_rows = rows.take(self.support_)

    def _train(
        self,
        rows: Any,
        targets: npt.NDArray[Any],
        boxes: FloatArray,
        deadline: Deadline = UNLIMITED,
        stacklevel: int = 4,
    ) -> None:
        """Solve the problem of rows, or KernelRows, with ``kernel_``."""
        limits = self._limits(deadline)
        if not isinstance(rows, KernelRows):
            rows = KernelRows(self.kernel_, rows, self._memory)
        problem = self._problem(rows, targets, boxes)

        def step(share: float, gap: float) -> None:
            single = isinstance(problem, MachineProblem)  # whose progress is in seconds
            self._report(share_done(1.0, gap, limits.tol) if single else share, gap)

        solved, solution = problem.solve(limits, progress=step)
        self._take_over(solved, solution, rows.rows)
        warn_stopped(self.stopped_, self.gap_, limits.tol, stacklevel)
        if getattr(self, "verbose", 0):
            n = len(self.support_)
            self._bar.line(f"{n:,} support vectors, duality gap {self.gap_:.1e}")

    def _report(self, share: float, gap: float) -> None:
        """Show the share that is done, and the gap."""
        self._bar.at(share, "solving", f"gap {gap:.1e}")

    def _values(self, rows: Any, weights: FloatArray) -> FloatArray:
        """Return Σ_i w_i K(x_i, x) over the support vectors: float64 (rows, sets of weights)."""
        if not len(self.support_):
            return np.zeros((rows.n_rows, len(weights)))
        return expansion_values(self.kernel_, self._support_rows, rows, weights)


@dataclass(eq=False, repr=False)
class FormulaMachine(KernelMachine, TableEstimator):
    """A machine with the kernel of a formula between encoded rows."""

    formula: str | Formula | Kernel = FORMULA
    variables: Reading = "bound"
    _: KW_ONLY
    normalize: bool = True
    domains: Mapping[str, Any] | None = None
    inputs: Inputs = "binary"
    tol: float = 1e-3
    max_iter: int = -1
    time_limit: float | None = None
    cache_size: float = 200
    verbose: int = 0
    kernel_: Kernel = field(init=False)
    support_: npt.NDArray[np.intp] = field(init=False)
    dual_coef_: FloatArray = field(init=False)
    intercept_: FloatArray = field(init=False)
    n_iter_: Any = field(init=False)
    gap_: float = field(init=False)
    stopped_: str = field(init=False)
    _support_rows: Any = field(init=False)

    @property
    def support_vectors_(self) -> Any:
        """The encoded rows of the support vectors: (n_support, number of propositions).

        uint8, or a SciPy CSR array if the training table was a sparse one of 0 and 1; float64 if
        inputs are graded.
        """
        rows = self._support_rows
        if isinstance(rows, RealTable):
            return rows.values
        return rows.unpacked() if rows.sparse is None else rows.sparse

    def gram(self, X: Any, Z: Any = None) -> FloatArray:
        """Return the Gram matrix of rows, encoded as in training, with the fitted kernel.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        Z : table of shape (m_rows, n_columns), optional
            X by default.

        Returns
        -------
        ndarray of shape (n_rows, m_rows), float64
            k(x, z) for each x of X and z of Z.

        Raises
        ------
        NotFittedError
            If the estimator was not fitted.
        DataError
            If a table cannot be read as in training, or has no rows.
        """
        check_is_fitted(self, "kernel_")
        rows = self._read_table(X)
        return np.asarray(self.kernel_(rows, None if Z is None else self._read_table(Z)))

    def _warn_of_traps(self, table: Any) -> bool:
        """Warn of a formula whose names are columns; warn, and return, if the kernel is 0."""
        if self.formula != FORMULA:
            warn_of_columns([self.formula], self)
        return warn_of_zeros(self.kernel_, table)

    def _check_rows(self) -> None:
        """Raise ParameterError if the kernel reads other rows than those of tables."""
        if isinstance(self.formula, Kernel) and self.formula.reads != "tables":
            raise ParameterError(
                f"{self.formula!r} reads {self.formula.reads}, and {type(self).__name__} tables. "
                "Use fk.StringSVC(kernel)."
            )

    def _make_kernel(self, X: Any) -> Kernel:
        check_flag("normalize", self.normalize)
        check_choice("inputs", self.inputs, ("binary", "graded"))
        made = self.formula
        if not isinstance(made, Kernel):
            made = kernel(made, self.variables, domains=self._domains_of(X, self.domains))
        made = graded(made) if self._graded() else made
        return made.normalized() if self.normalize else made

    def _auto_encoder(self) -> PropositionEncoder:
        return PropositionEncoder(graded=self._graded())

    def _graded(self) -> bool:
        return self.inputs == "graded" or isinstance(self.formula, GradedKernel)

    def _read_plain(self, X: Any, *, reset: bool) -> Any:
        if not self._graded():
            return super()._read_plain(X, reset=reset)
        advice = "encoder='auto' encodes any table."
        return read_real(self._validated(X, advice, reset=reset, accept_sparse="csr"))

    def _encode(self, encoder: Any, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        if not self._graded():
            return super()._encode(encoder, X, y, reset=reset)
        encoded = (encoder.fit(X, y) if reset else encoder).transform(X)
        return read_real(encoded if is_sparse(encoded) else np.asarray(encoded))


def number_C(C: Any, automatic: float, otherwise: str = "'auto'") -> float:
    """Return a penalty parameter, the given one or the automatic one, or raise ParameterError."""
    if isinstance(C, str) and C == "auto":
        return automatic
    check_number("C", C, 0, above=True, otherwise=otherwise)
    return float(C)


def warn_stopped(stopped: str, gap: float, tol: float, stacklevel: int = 3) -> None:
    """Give scikit-learn's ConvergenceWarning unless a solution has reached its gap."""
    if stopped == "optimal":
        return
    share = f"{gap:.2g} of the objective" if np.isfinite(gap) else "not known"
    advice = ADVICE.get(stopped, "Allow more, choose a smaller C, or a larger tol.")
    warnings.warn(
        f"the duality gap is {share}, above tol={tol:.2g}: {REASONS[stopped]}. {advice}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
