"""Kernel machines, and the support vector machines with the kernel of a formula."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from threading import Lock
from types import SimpleNamespace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_flag, check_integer, check_number
from formulakern.deadline import UNLIMITED, Deadline, check_time_limit
from formulakern.docstrings import parameters_from
from formulakern.encoding.strict import RealTable
from formulakern.errors import ParameterError
from formulakern.estimators.base import (
    TableEstimator,
    bar_of,
    class_score,
    number_score,
    progress_bar,
)
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.fit_warnings import warn_of_columns, warn_of_one_class, warn_of_zeros
from formulakern.estimators.path_search import (
    COMPARISON_SHARE,
    Path,
    PathSearch,
    Scores,
    Trial,
    folds_of,
    numbers_of,
    scorer_of,
)
from formulakern.estimators.reporting.report import report
from formulakern.estimators.svm.extraction import TrainedModel, rules
from formulakern.estimators.validation import (
    Split,
    TrainingData,
    random_source,
    read_numbers,
    read_weights,
    require_target,
    several_classes,
)
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Inputs, Reading, kernel
from formulakern.kernels.graded import GradedKernel, graded
from formulakern.learning.kernel_machines import (
    BoxProblem,
    KernelRows,
    Limits,
    MachineProblem,
    PairwiseModel,
    PairwiseProblem,
    expansion_values,
    memory_for,
    novelty,
    pair_weights,
    pairwise_votes,
    regression,
)
from formulakern.partitions.lazy_rows import lazily
from formulakern.syntax.formula import Formula

#: The default formula, and ``C="auto"``, which suits normalized kernels.
FORMULA, AUTOMATIC_C = "a & b", 10.0
#: Cut points of a numeric column, for classification.
CUT_POINTS = 32
#: The reason that a solution is not optimal, and the advice.
REASONS = {
    "max_iter": "the solver took max_iter steps",
    "time_limit": "the time limit was reached",
    "interrupted": "it was interrupted",
    "stalled": "no step changes the float64 coefficients any more",
}
ADVICE = {
    "stalled": "Normalize the kernel, or choose a smaller C.",
    "interrupted": "The best coefficients so far are kept.",
}
#: Values of ``stopped_`` of a fit that ended early.
STOPPED_EARLY = ("time_limit", "interrupted")
#: Attributes that are copied from the solved model.
SOLVED_ATTRIBUTES = (
    "classes_",
    "support_",
    "n_support_",
    "dual_coef_",
    "intercept_",
    "n_iter_",
    "stopped_",
)


class KernelMachine:
    """A machine f(x) = Σ_i β_i K(x_i, x) + b over support vectors, learned to a duality gap.

    A subclass defines ``_read_table``, the kernel, and the problem to solve.
    """

    tol: float
    max_iter: int
    #: The most megabytes of a Gram matrix that is held.
    cache_size: float = 0.0
    verbose: int = 0
    kernel_: Kernel
    support_: npt.NDArray[np.intp]
    dual_coef_: FloatArray
    intercept_: FloatArray
    n_iter_: Any
    gap_: float
    stopped_: str
    _support_rows: Any
    #: Method that reads rows for the kernel; rows that were read already stay as they are.
    _read_table: Any
    #: Method that returns the dual problem of targets and boxes, for a machine of one function.
    _box_problem: Any

    report = report
    _progress_bar = progress_bar
    _bar = property(bar_of)

    def _splits(self, targets: npt.NDArray[Any], seed: int) -> list[Split]:
        """Return the folds for the choice of a penalty."""
        cv: Any = vars(self)["cv"]
        return folds_of(FOLDS if isinstance(cv, str) and cv == "auto" else cv, targets, seed)

    def _limits(self, deadline: Deadline = UNLIMITED) -> Limits:
        """Check the limits of the solver, and return them."""
        check_number("tol", self.tol, 0, above=True)
        check_integer("max_iter", self.max_iter, -1)
        check_number("cache_size", self.cache_size, 0)
        return Limits(float(self.tol), int(self.max_iter), deadline.left())

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        """Return the problem of training rows, which may be solved for several penalties."""
        return MachineProblem.of(self._box_problem(targets, boxes), rows, self.cache_size)

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:
        """Set the attributes of a solution, which ``solve`` of the problem returned."""
        self.support_ = np.flatnonzero(solved)
        self.intercept_ = np.array([solution.values.intercept])
        self.dual_coef_ = solved[None, self.support_]
        self.n_iter_, self.gap_ = solution.iterations, solution.gap
        self.stopped_, self._support_rows = solution.stopped, rows.take(self.support_)

    def _train(
        self,
        rows: Any,
        targets: npt.NDArray[Any],
        boxes: FloatArray,
        deadline: Deadline = UNLIMITED,
        stacklevel: int = 3,
    ) -> None:
        """Solve the problem of training rows; warn if the solution is not optimal."""
        limits = self._limits(deadline)
        if not isinstance(rows, KernelRows):
            rows = KernelRows(self.kernel_, rows, self.cache_size)

        solved, solution = self._problem(rows, targets, boxes).solve(
            limits, progress=lambda share, gap: self._bar.at(share, "solving", f"gap {gap:.1e}")
        )
        self._take_over(solved, solution, rows.rows)
        if self.stopped_ != "optimal":
            share = f"{self.gap_:.2g} of the objective" if np.isfinite(self.gap_) else "not known"
            advice = ADVICE.get(self.stopped_, "Allow more, or choose a smaller C or a larger tol.")
            warnings.warn(
                f"the duality gap is {share}, above tol={limits.tol:.2g}: "
                f"{REASONS[self.stopped_]}. {advice}",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        if self.verbose:
            found = f"{len(self.support_):,} support vectors"
            self._bar.line(f"{found}, duality gap {self.gap_:.1e}")

    def _values(self, rows: Any, weights: FloatArray) -> FloatArray:
        """Return Σ_i w_i K(x_i, x) over the support vectors: float64 (rows, sets of weights)."""
        if not len(self.support_):
            return np.zeros((rows.n_rows, len(weights)))
        return expansion_values(self.kernel_, self._support_rows, rows, weights)


class PairwiseMachine(KernelMachine):
    """A classifier with one decision function for each pair of classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    intercept_ : float64 (pairs,)
    """

    classes_: npt.NDArray[Any]
    decision_function_shape: Literal["ovr", "ovo"]
    svc_: PairwiseModel
    _pair_weights: FloatArray  # coefficients of the support vectors, a row for each pair

    score = class_score

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        several_classes(targets, boxes)
        return PairwiseProblem.of(rows, targets, boxes, self.cache_size)

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:  # noqa: ARG002
        self.svc_ = solved
        for name in SOLVED_ATTRIBUTES:
            setattr(self, name, getattr(solved, name))
        self.gap_ = float(solved.gaps_.max())
        self._pair_weights = np.array([weights for *_, weights in pair_weights(solved)])
        self._support_rows = rows.take(self.support_)

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """Return signed distances from the separating surfaces, in units of the margin.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that ``fit`` reads.

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes), or one column per pair
        """
        values = self._decided(X)
        if len(self.classes_) == 2:
            return np.ascontiguousarray(values[:, 0])
        if self.decision_function_shape == "ovo":
            return values
        return pairwise_votes(values, len(self.classes_))[1]

    @lazily
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that ``fit`` reads.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        values, n_classes = self._decided(X), len(self.classes_)
        if n_classes == 2:
            return np.asarray(self.classes_[(values[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes_[pairwise_votes(values, n_classes)[0].argmax(axis=1)])

    def _decided(self, X: Any) -> FloatArray:
        """Return the decision values of all pairs of classes: float64 (rows, pairs)."""
        check_is_fitted(self, "intercept_")
        return np.asarray(self._values(self._read_table(X), self._pair_weights) + self.intercept_)


class RegressionMachine(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A machine that predicts numbers; errors up to ``epsilon`` cost nothing."""

    epsilon: float

    score = number_score

    def _box_problem(self, targets: npt.NDArray[Any], boxes: FloatArray) -> BoxProblem:
        return regression(targets, boxes, float(self.epsilon))

    @lazily
    def predict(self, X: Any) -> FloatArray:
        """Return f(x) + b of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        check_is_fitted(self, "intercept_")
        rows = self._read_table(X)
        return np.asarray(self._values(rows, self.dual_coef_)[:, 0] + self.intercept_)


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

    @property
    def support_vectors_(self) -> Any:
        """The encoded rows of the support vectors: (n_support, number of propositions).

        uint8; a SciPy CSR array if the training table was sparse; float64 if inputs are graded.
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

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Encode the table and train."""
        if isinstance(self.formula, Kernel) and self.formula.reads != "tables":
            raise ParameterError(
                f"{self.formula!r} reads {self.formula.reads}, but {type(self).__name__} needs a "
                "kernel of tables. Use fk.StringSVC(kernel)."
            )
        check_time_limit(self.time_limit)
        with self._progress_bar():
            deadline = Deadline.of(self.time_limit)
            data = self._read_rows(X, y, sample_weight)
            self._fit_encoded(data, X, deadline)
            self._warn_of_traps(data)
            return self

    def _warn_of_traps(self, data: Any) -> None:
        """Warn if the formula names columns, or all training rows get the same prediction."""
        if self.formula != FORMULA:
            warn_of_columns([self.formula], self)
        classes = isinstance(data, TrainingData)
        if classes and self.svc_.varies_:
            return
        constant = warn_of_zeros(self.kernel_, data.table)
        if classes and not constant and self.stopped_ not in STOPPED_EARLY:
            warn_of_one_class(self, data)

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the encoded table, with a target and a weight for each row."""
        table = self._fit_table(X, y)
        numbers = np.zeros(table.n_rows) if y is None else read_numbers(y, table.n_rows)
        weights = read_weights(sample_weight, table.n_rows)
        return SimpleNamespace(table=table, labels=numbers, weights=weights)

    def _fit_encoded(self, data: Any, X: Any, deadline: Deadline = UNLIMITED) -> Self:
        """Fit to encoded rows; only the column names of X are read."""
        self.kernel_ = self._make_kernel(X)
        C = self._chosen_C(data, deadline)
        self._train(data.table, data.labels, C * data.weights, deadline, stacklevel=5)
        if isinstance(data, TrainingData):
            self._trained = TrainedModel(self.svc_, self.kernel_, data.table, data.labels)
        return self

    def _chosen_C(self, data: Any, deadline: Deadline) -> float:  # noqa: ARG002
        """Return the penalty parameter for all rows; ``kernel_`` is set."""
        return 1.0


def number_C(C: Any, automatic: float, otherwise: str = "'auto'") -> float:
    """Return C, or ``automatic`` if it is "auto"; raise ParameterError for other values."""
    if isinstance(C, str) and C == "auto":
        return automatic
    check_number("C", C, 0, above=True, otherwise=otherwise)
    return float(C)


@dataclass(eq=False, repr=False)
class SupportVectorClassifier(PairwiseMachine, ClassifierMixin, FormulaMachine):  # type: ignore[misc]
    """The base of :class:`FormulaSVC` and :class:`FormulaSVCCV`."""

    def _auto_encoder(self) -> PropositionEncoder:
        return PropositionEncoder(cut_points=CUT_POINTS, graded=self._graded())

    _: KW_ONLY
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    C_: float = field(init=False)
    _trained: TrainedModel = field(init=False)

    rules = rules

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Encode the table and train.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads, or a dask collection.  A sparse 0/1
            table stays sparse.
        y : array-like of shape (n_rows,)
            Classes, of any type; also a dask series or array.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies C per row.

        Returns
        -------
        FormulaSVC, FormulaSVCCV
            Itself.

        Raises
        ------
        DataError
            If the table or the classes cannot be read, or the packed rows of a dask collection
            exceed :func:`formulakern.gather_limit`.
        FormulaSyntaxError, ParameterError
            If the formula or a parameter is wrong.
        """
        return self._fit(X, y, sample_weight)

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        return self._read_training(X, y, sample_weight, self.class_weight)


@parameters_from()
@dataclass(eq=False, repr=False)
class FormulaSVC(SupportVectorClassifier):
    """Support vector classification with the kernel of a formula.

    The model is the linear function of the formula's features with the largest margin.  The
    features are never built: the dual problem needs only their inner products, the kernel K (see
    :func:`formulakern.kernel`).  More than two classes are compared in pairs (one against one), as
    in :class:`sklearn.svm.SVC`.

    Parameters
    ----------
    formula : str, Formula or Kernel, default="a & b"
        A formula, or a kernel, for example with another scale or backend (see
        :func:`formulakern.kernel`).  With a kernel, ``variables`` and ``domains`` have no effect.
    variables : {"bound", "free", "distinct"}, default="bound"
        The reading of the names in the formula; see :func:`formulakern.kernel`.
    C : "auto" or float, default="auto"
        Penalty parameter of margin errors; ``"auto"`` is 10.
    normalize : bool, default=True
        Use the cosine K(x, z) / √(K(x, x)·K(z, z)), so that the scale is the same for every
        formula.
    encoder : "auto", None or transformer, default="auto"
        The encoder of tables as 0 and 1.  ``"auto"`` fits ``PropositionEncoder(cut_points=32)``,
        which keeps Boolean columns as they are.  None: the table must be 0/1.  A transformer is
        cloned and fitted; for integer-coded categories use ``PropositionEncoder(nominal="all")``.
    domains : mapping of str to columns, optional
        The columns of each domain of the formula: columns of the *input* table, by name or
        position.  A domain has all propositions about its columns.
    inputs : {"binary", "graded"}, default="binary"
        ``"graded"`` reads degrees of truth from 0 to 1 (see :func:`formulakern.graded`), and the
        automatic encoder is ``PropositionEncoder(graded=True)``, which has no cut points.  Other
        encoders may return any degrees; so may the table itself, with ``encoder=None``.  A graded
        kernel has the same effect.
    tol : float, default=1e-3
        The relative duality gap at which the solver stops: (primal − dual) / the larger of both.
    max_iter : int, default=-1
        The most steps of the solver, each of which changes two coefficients; for several classes, a
        limit for each pair.  −1: 10 million, or 100 per row if that is more.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        The columns of ``decision_function``: one per class, or one per pair of classes.
    cache_size : float, default=200
        Megabytes.  The solver holds the Gram matrix if it takes no more.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : Kernel
        The kernel between encoded rows.
    encoder_ : transformer or None
    propositions_ : tuple of str
        The columns of the encoded table, each a rule that :func:`formulakern.rule` reads.
    C_ : float
        The penalty parameter that was used.
    svc_ : PairwiseModel
        The solved model.
    support_, n_support_, dual_coef_, intercept_, n_iter_ : ndarray
        See :class:`sklearn.svm.SVC`.
    gap_ : float
        The largest relative duality gap of all pairs of classes.
    stopped_ : str
        "optimal", or the reason that the solver ended: "max_iter", "time_limit", "interrupted",
        "stalled".
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.

    Notes
    -----
    Equal rows of one class are merged into one row with the sum of their C.  The solver takes
    memory linear in the rows, and time about proportional to rows times support vectors.  After
    Ctrl-C the best coefficients so far are kept, with a warning.  The packed rows of a dask
    collection are gathered in this process, up to :func:`formulakern.gather_limit`.

    References
    ----------
    Polato & Aiolli (2021), Propositional Kernels, Entropy 23(8):1020, doi:10.3390/e23081020.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = FormulaSVC("a & b & c", variables="distinct", C=100).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.propositions_[:2]
    ('`top-left-square` = b', '`top-left-square` = o')
    """

    C: float | Literal["auto"] = "auto"

    def _chosen_C(self, *_: Any) -> float:
        self.C_ = number_C(self.C, AUTOMATIC_C)
        return self.C_


@parameters_from(TableEstimator, FormulaSVC)
@dataclass(eq=False, repr=False)
class FormulaSVR(RegressionMachine, FormulaMachine):
    """Support vector regression with the kernel of a formula.

    Over the linear functions f of the formula's features and an intercept b, ::

        minimise  ½‖f‖² + Σ_i C_i·max(0, |y_i − f(x_i) − b| − ε),

    so that errors up to ε cost nothing.  The dual problem needs only the kernel (see
    :func:`formulakern.kernel`).

    Parameters
    ----------
    C : "auto" or float, default="auto"
        Weight of the errors; ``"auto"`` is 10.
    epsilon : float, default=0.1
        ε, in units of y.

    Attributes
    ----------
    kernel_, encoder_, propositions_, n_features_in_, feature_names_in_, gap_, stopped_
        See :class:`FormulaSVC`.
    support_ : ndarray of shape (n_support,), intp
        Positions of the rows with coefficients other than 0.
    dual_coef_ : ndarray of shape (1, n_support)
    intercept_ : ndarray of shape (1,)
    n_iter_ : int
        Steps of the solver.

    References
    ----------
    A. J. Smola, B. Schölkopf, "A tutorial on support vector regression", Statistics and Computing
    14:199–222, 2004, doi:10.1023/B:STCO.0000035301.49549.88.

    Examples
    --------
    The number of pairs of ones is a linear function of the features of ``a & b``.

    >>> X = np.random.default_rng(0).integers(0, 2, (60, 8))
    >>> y = X.sum(axis=1) ** 2
    >>> model = FormulaSVR(encoder=None, normalize=False, C=100, epsilon=0.01).fit(X[:40], y[:40])
    >>> bool(np.abs(model.predict(X[40:]) - y[40:]).max() < 0.5)
    True
    """

    C: float | Literal["auto"] = "auto"
    epsilon: float = 0.1

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Encode the table and train.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
            Numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies C per row.

        Returns
        -------
        FormulaSVR
            Itself.

        Raises
        ------
        DataError, FormulaSyntaxError, ParameterError
            If the table, the numbers, the formula or a parameter cannot be used.
        """
        require_target(self, y, "the number of every row")
        check_number("epsilon", self.epsilon, 0)
        return self._fit(X, y, sample_weight)

    def _chosen_C(self, *_: Any) -> float:
        return number_C(self.C, AUTOMATIC_C)


@parameters_from(TableEstimator, FormulaSVC)
@dataclass(eq=False, repr=False)
class FormulaOneClass(OutlierMixin, FormulaMachine):  # type: ignore[misc]
    """The one-class support vector machine with the kernel of a formula.

    The model separates the rows from the origin of the formula's feature space: it minimises
    ½‖f‖² + Σ_i w_i·max(0, ρ − f(x_i)) − ν·Σ_i w_i·ρ.  At most a share ν of the rows has f(x) < ρ,
    and at least a share ν are support vectors.

    Parameters
    ----------
    nu : float, default=0.1
        ν, above 0 and at most 1.

    Attributes
    ----------
    kernel_, encoder_, propositions_, n_features_in_, feature_names_in_, gap_, stopped_
        See :class:`FormulaSVC`.
    support_ : ndarray of shape (n_support,), intp
    dual_coef_ : ndarray of shape (1, n_support)
        From 0 to 1, with the sum ν·n_rows if all rows weigh the same.
    intercept_ : ndarray of shape (1,)
        −ρ.
    offset_ : float
        ρ.
    n_iter_ : int
        Steps of the solver.

    References
    ----------
    B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson, "Estimating the support of a
    high-dimensional distribution", Neural Computation 13:1443–1471, 2001,
    doi:10.1162/089976601750264965.

    Examples
    --------
    Most training rows have ones in the first four of eight columns only.

    >>> X = np.zeros((50, 8), dtype=int)
    >>> X[:, :4] = np.random.default_rng(0).random((50, 4)) < 0.8
    >>> model = FormulaOneClass(encoder=None, nu=0.05).fit(X)
    >>> model.predict([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]])
    array([ 1, -1])
    """

    nu: float = 0.1

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Encode the table and train.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        FormulaOneClass
            Itself.

        Raises
        ------
        DataError, FormulaSyntaxError, ParameterError
            If the table, the formula or a parameter cannot be used.
        """
        check_number("nu", self.nu, 0, 1, above=True)
        return self._fit(X, None, sample_weight)

    def _box_problem(self, targets: npt.NDArray[Any], boxes: FloatArray) -> BoxProblem:  # noqa: ARG002
        return novelty(boxes, float(self.nu) * float(boxes.sum()))

    @property
    def offset_(self) -> float:
        """ρ."""
        return -float(self.intercept_[0])

    @lazily
    def score_samples(self, X: Any) -> FloatArray:
        """Return f(x), which is large for rows like those of training.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        check_is_fitted(self, "dual_coef_")
        return np.asarray(self._values(self._read_table(X), self.dual_coef_)[:, 0])

    @lazily
    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x) − ρ, which is negative for rows unlike those of training.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        return np.asarray(self.score_samples(X) - self.offset_)

    @lazily
    def predict(self, X: Any) -> npt.NDArray[np.intp]:
        """Return 1 for rows like those of training, −1 for others.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), intp
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)


# -- penalties chosen by cross-validation ---------------------------------------------------------

#: The values of ``Cs="auto"``.
GRID = tuple(float(C) for C in np.logspace(-2, 2.5, 10).round(4))
#: The relative gap of fits within folds of FormulaSVCCV, unless ``tol`` is larger.
FOLD_GAP = 0.01
#: The number of folds of ``cv="auto"``.
FOLDS = 5
#: A path ends after ``MAX_VALUES_BEHIND`` values in a row whose mean score over folds is
#: ``BEHIND_STANDARD_ERRORS`` standard errors below the best.
MAX_VALUES_BEHIND, BEHIND_STANDARD_ERRORS = 2, 1.0


def search_penalties(
    machine: KernelMachine,
    kernels: Sequence[Kernel],
    settings: Mapping[str, Sequence[Any]],
    training: tuple[Any, npt.NDArray[Any], FloatArray],
    seed: int,
    scoring: Any,
    deadline: Deadline = UNLIMITED,
    behind: float = np.inf,
    tol: float = 0.0,
    stacklevel: int = 6,
) -> tuple[int, dict[str, npt.NDArray[Any]]]:
    """Fit a machine to folds for every kernel and penalty; return the best setting and results.

    In every fold the problems of C₁ < C₂ < … are solved in turn.  Each starts from the last
    coefficients times C₂/C₁, which are feasible.  ``settings`` are columns of ``cv_results_``; the
    last one is "C", the same ascending penalties for each kernel.  Fits have a tolerance of at
    least ``tol``, and share the ``deadline``.  A path ends after two penalties whose scores are
    ``behind`` standard errors below the best.  The first of equally good settings is returned.
    """
    splits, bar = machine._splits(training[1], seed), machine._bar
    machine = copy(machine)
    machine.__dict__.pop("_progress", None)
    machine.tol = max(machine._limits().tol, tol)
    folds = _Folds(machine, scorer_of(scoring), kernels, *training, splits)
    number, n = len(settings["C"]), len(settings["C"]) // len(kernels)
    comparing = deadline.part(COMPARISON_SHARE)

    def name(place: int) -> str:
        return ", ".join(f"{column}={values[place]}" for column, values in settings.items())

    def judge(found: list[tuple[float, float]]) -> Trial:
        scores, gaps = np.array(found).T
        return Trial(scores, scores, gaps[:, None])

    def line(place: int, trial: Trial) -> str:
        score, gap = trial.scores.mean(), trial.shapes.max()
        return f"{name(place)}: {scoring} {score:.4f}, gap {gap:.1e}"

    search = PathSearch(
        range(number),
        [] if comparing.over() else [folds] * len(splits),
        _Folds.solve,
        lambda place, k, last: (place // n, k, settings["C"][place], last),
        judge,
        name,
        line,
        behind,
        words=("values of C", "the one nearest to 1"),
    )
    paths = [
        Path(range(start, start + n), patience=MAX_VALUES_BEHIND) for start in range(0, number, n)
    ]
    trials = search.run(paths, bar, comparing, stacklevel=stacklevel)
    listed = {name: np.array(values) for name, values in settings.items()}
    if not any(trials):
        best = int(np.argmin(np.abs(np.log(listed["C"]))))  # the one nearest to 1
        return best, {**listed, "mean_score": np.full(number, np.nan)}
    found = Scores(trials)
    results = found.results(listed, {"gap": found.shapes[:, :, 0].max(axis=1)})
    return found.best(np.arange(number, dtype=np.float64)), results


@dataclass(frozen=True, eq=False)
class _Folds:
    """The data that the fits to all folds share.

    Each process builds its own problems from the rows and a kernel, because Gram matrices are too
    large to send.
    """

    machine: KernelMachine
    scorer: Any
    kernels: Sequence[Kernel]
    rows: Any
    targets: npt.NDArray[Any]
    weights: FloatArray
    splits: list[Split]
    made: dict[Any, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"made": {}}

    def problem(self, number: int, k: int) -> Any:
        """Return the problem of fold k with C = 1; all folds share one Gram matrix."""
        with _MAKING:
            if number not in self.made:
                self.made.clear()  # the problems of the last kernel
                matrices = 1 + len(self.splits)
                memory = memory_for(self.rows, self.machine.cache_size, matrices)
                rows = KernelRows(self.kernels[number], self.rows, memory)
                if rows.held:
                    _ = rows.gram
                self.made[number] = rows
            if (number, k) not in self.made:
                train, _ = self.splits[k]
                part = self.made[number].take(train, self.machine.cache_size)
                boxes = self.weights[train]
                self.made[number, k] = self.machine._problem(part, self.targets[train], boxes)
            return self.made[number, k]

    def solve(
        self, number: int, k: int, C: float, last: tuple[float, Any] | None, deadline: Deadline
    ) -> tuple[tuple[float, float], tuple[float, Any]]:
        """Return score and gap of a fold, and C with its solution; start from the last one."""
        machine, (train, test) = copy(self.machine), self.splits[k]
        machine.kernel_ = self.kernels[number]
        limits = machine._limits(deadline)
        nearer, near = (1.0, None) if last is None else (C / last[0], last[1])
        solved, solution = self.problem(number, k).solve(limits, factor=C, near=near, nearer=nearer)
        machine._take_over(solved, solution, self.rows.take(train))
        if machine.stopped_ == "interrupted":
            raise KeyboardInterrupt
        score = self.scorer(machine, self.rows.take(test), self.targets[test])
        return (score, machine.gap_), (C, solution)


#: Lets one thread compute the Gram matrix that several threads need.
_MAKING = Lock()


@parameters_from(FormulaSVC)
@dataclass(eq=False, repr=False)
class FormulaSVCCV(SupportVectorClassifier):
    """:class:`FormulaSVC` with C chosen by cross-validation.

    In every fold the problems of C₁ < C₂ < … are solved in turn, each from the last coefficients
    times C₂/C₁, so that the path costs little more than its last problem.

    Parameters
    ----------
    Cs : "auto" or sequence of float, default="auto"
        ``"auto"``: ten values from 0.01 to 316.
    cv : "auto", int or splitter, default="auto"
        The folds; an integer is their number, stratified and shuffled.  ``"auto"`` is 5.
    scoring : str, callable or None, default=None
        A name in ``sklearn.metrics.get_scorer_names()``, or a scorer; None is "f1_macro".
    encoder : "auto", None or transformer, default="auto"
        The encoder of tables as 0 and 1.  ``"auto"`` fits ``PropositionEncoder(cut_points=32)``.
        None: the table must be 0/1.  A transformer is cloned and fitted; its cut points must not
        depend on the classes, as those of ``strategy="mdlp"`` do.
    random_state : int, RandomState or None, default=0
        Draws the folds.

    Attributes
    ----------
    C_ : float
        The C with the largest mean score; the smallest of equals.
    best_score_ : float
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of str to ndarray of shape (values,)
        ``C``, ``mean_score``, ``std_score``, ``gap`` (the largest of all folds), ``split0_score``,
        ….  NaN for values that were not tried: with ``Cs="auto"`` the path ends after two values
        whose scores are more than one standard error below the best.
    classes_, kernel_, support_, …
        The attributes of :class:`FormulaSVC`, fitted with ``C_`` to all rows.

    Notes
    -----
    Fits to folds have a ``tol`` of at least 0.01.  The encoder is fitted to all rows.  The Gram
    matrices of all rows and of the folds are held if each takes at most ``cache_size``.  After
    Ctrl-C the best C so far is fitted to all rows.  Under
    ``joblib.parallel_config(backend="dask")``, or ``"loky"``, the fits to the folds run in other
    processes, each with its own Gram matrix.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> search = FormulaSVCCV("a & b", "distinct").fit(X[::2], y[::2])
    >>> search.C_ > 1, bool(search.score(X, y) > 0.95)
    (True, True)
    """

    _: KW_ONLY
    Cs: Sequence[float] | Literal["auto"] = "auto"
    cv: Any = "auto"
    scoring: Any = None
    random_state: int | np.random.RandomState | None = 0
    best_score_: float = field(init=False)
    best_index_: int = field(init=False)
    cv_results_: dict[str, npt.NDArray[Any]] = field(init=False)

    def _chosen_C(self, data: Any, deadline: Deadline) -> float:
        automatic = isinstance(self.Cs, str) and self.Cs == "auto"
        values = [*GRID] if automatic else numbers_of("Cs", self.Cs, 0.0, strict=True)
        self.best_index_, self.cv_results_ = search_penalties(
            self,
            [self.kernel_],
            {"C": values},
            (data.table, data.labels, data.weights),
            random_source(self.random_state).randint(2**31 - 1),
            "f1_macro" if self.scoring is None else self.scoring,
            deadline,
            BEHIND_STANDARD_ERRORS if automatic else np.inf,
            FOLD_GAP,
            stacklevel=7,
        )
        self.best_score_ = float(self.cv_results_["mean_score"][self.best_index_])
        self.C_ = values[self.best_index_]
        self._bar.at(0.9, f"C {self.C_:.3g}, all rows")
        return self.C_
