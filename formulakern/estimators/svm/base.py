"""What estimators on the kernel of a formula share: parameters, encoding, the kernel, limits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_flag, check_integer, check_number
from formulakern.deadline import Deadline, check_time_limit
from formulakern.encoding.real import RealTable, read_real
from formulakern.errors import ParameterError
from formulakern.estimators.advice import warn_of_columns, warn_of_zeros
from formulakern.estimators.base import TableEstimator
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.reporting.report import report
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Inputs, Reading, kernel
from formulakern.kernels.graded import GradedKernel, graded
from formulakern.learning.kernel_machines.box_problem import BoxProblem
from formulakern.learning.kernel_machines.decomposition import Limits, train
from formulakern.learning.kernel_machines.kernel_rows import expansion_values
from formulakern.solvers.solution import share_done
from formulakern.syntax.formula import Formula
from formulakern.tables.read import is_sparse

__all__ = ["KernelEstimator", "number_C", "warn_stopped"]

#: The formula by default.
FORMULA = "a & b"


@dataclass(eq=False, repr=False)
class KernelEstimator(TableEstimator):
    """An estimator with the kernel of a formula between encoded rows.

    Attributes
    ----------
    kernel_ : Kernel
    support_ : ndarray of shape (n_support,), intp
    gap_ : float
    """

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

    report = report

    @property
    def support_vectors_(self) -> Any:
        """The encoded rows of the support vectors: (n_support, number of propositions).

        uint8, or a SciPy CSR array where the training table was a sparse one of 0 and 1; float64
        where inputs are graded.
        """
        rows = self._support_rows
        if isinstance(rows, RealTable):
            return rows.values
        return rows.unpacked() if rows.sparse is None else rows.sparse

    def gram(self, X: Any, Z: Any = None) -> FloatArray:
        """The Gram matrix of rows of a table, encoded as in training, with the fitted kernel.

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

    def _check_rows(self) -> None:
        """Refuse a kernel of other rows than those of tables.

        Raises
        ------
        ParameterError
        """
        if isinstance(self.formula, Kernel) and self.formula.reads != "tables":
            raise ParameterError(
                f"{self.formula!r} reads {self.formula.reads}, and {type(self).__name__} tables. "
                "Use fk.StringSVC(kernel)."
            )

    def _limits(self, deadline: Deadline | None = None) -> Limits:
        """When the solver stops, checked; at a deadline, or ``time_limit`` after its beginning.

        Raises
        ------
        ParameterError
        """
        check_number("tol", self.tol, 0, above=True)
        check_integer("max_iter", self.max_iter, -1)
        check_time_limit(self.time_limit)
        check_number("cache_size", self.cache_size, 0)
        seconds = Deadline.of(self.time_limit if deadline is None else deadline).left()
        return Limits(float(self.tol), int(self.max_iter), seconds)

    def _values(self, rows: Any, weights: FloatArray) -> FloatArray:
        """Σ_i w_i K(x_i, x) over the support vectors: float64 (rows, sets of weights)."""
        if not len(self.support_):
            return np.zeros((rows.n_rows, len(weights)))
        return expansion_values(self.kernel_, self._support_rows, rows, weights)

    def _report(self, share: float, gap: float) -> None:
        """Show the share that is done, and the gap."""
        self._bar.at(share, "solving", f"gap {gap:.1e}")

    def _train(self, problem: BoxProblem, table: Any, deadline: Deadline) -> None:
        """Solve one problem, and set what is learnt."""
        limits = self._limits(deadline)

        def step(_: float, gap: float) -> None:
            self._report(share_done(1.0, gap, limits.tol), gap)

        found = train(
            problem, self.kernel_, table, limits, memory=float(self.cache_size), progress=step
        )
        self.support_, self.intercept_ = found.support, np.array([found.intercept])
        self.dual_coef_ = found.beta[None, found.support]
        self.n_iter_, self.gap_ = found.solution.iterations, found.solution.gap
        self.stopped_ = found.solution.stopped
        self._support_rows = table.take(self.support_)
        warn_stopped(self.stopped_, self.gap_, limits.tol, stacklevel=4)
        known = f"gap {self.gap_:.1e}, {len(self.support_):,} support vectors"
        self._bar.end(known)

    # -- the kernel and the table ------------------------------------------------------------------

    def _warn_of_traps(self, table: Any) -> bool:
        """Warn of a formula that is hardly what was meant, or says nothing; whether that is so."""
        self._warn_of_columns()
        return warn_of_zeros(self.kernel_, table)

    def _warn_of_columns(self) -> None:
        """Warn of a formula whose names are columns, which is hardly what was meant."""
        if self.formula != FORMULA:
            warn_of_columns([self.formula], self)

    def _make_kernel(self, X: Any) -> Kernel:
        check_flag("normalize", self.normalize)
        made = self.formula
        check_choice("inputs", self.inputs, ("binary", "graded"))
        if not isinstance(made, Kernel):
            domains = self._domains_of(X, self.domains)
            made = kernel(made, self.variables, domains=domains)
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
    """Return a penalty parameter, which is the given one or the automatic one.

    Raises
    ------
    ParameterError
        If it is neither ``"auto"`` nor a positive number.
    """
    if isinstance(C, str) and C == "auto":
        return automatic
    check_number("C", C, 0, above=True, otherwise=otherwise)
    return float(C)


def warn_stopped(stopped: str, gap: float, tol: float, stacklevel: int = 3) -> None:
    """Give scikit-learn's ConvergenceWarning unless a solution is as near as ``tol`` asks for."""
    if stopped == "optimal":
        return
    reasons = {
        "max_iter": "max_iter steps were done",
        "time_limit": "the time limit was reached",
        "interrupted": "it was interrupted",
        "stalled": "no step changes float64 numbers any more",
    }
    advice = {
        "stalled": "Normalize the kernel, or choose a smaller C.",
        "interrupted": "The best coefficients so far are kept.",
    }.get(stopped, "Allow more, choose a smaller C, or a larger tol.")
    share = f"{gap:.2g} of the objective" if np.isfinite(gap) else "not known"
    warnings.warn(
        f"the duality gap is {share}, above tol={tol:.2g}: {reasons[stopped]}. {advice}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
