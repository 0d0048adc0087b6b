"""Classification by machines for all pairs of classes, and FormulaSVC."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice
from formulakern.deadline import UNLIMITED, Deadline, check_time_limit
from formulakern.estimators.advice import warn_of_one_class
from formulakern.estimators.base import class_score
from formulakern.estimators.svm.base import FormulaMachine, KernelMachine, number_C
from formulakern.estimators.svm.extraction import TrainedModel, rules
from formulakern.estimators.targets import row_weights, several_classes
from formulakern.learning.kernel_machines import (
    KernelRows,
    PairwiseModel,
    PairwiseProblem,
    pair_weights,
    pairwise_votes,
)
from formulakern.partitions.lazy_rows import lazily

__all__ = ["FormulaSVC", "PairwiseMachine", "SupportVectorClassifier"]

#: Attributes that are copied from the solved model.
SOLVED = ("classes_", "support_", "n_support_", "dual_coef_", "intercept_", "n_iter_", "stopped_")
#: Why a fit stopped whose solution is only the best so far.
EARLY = ("time_limit", "interrupted")
#: ``C="auto"``, for kernels that are normalized.
AUTOMATIC_C = 10.0


class PairwiseMachine(KernelMachine):
    """A classifier that decides for every pair of classes.

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

    def _check_decisions(self) -> None:
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        several_classes(targets, boxes)
        return PairwiseProblem.of(rows, targets, boxes, self._memory)

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:  # noqa: ARG002
        self.svc_ = solved
        for name in SOLVED:
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
            What ``fit`` reads.

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes), or per pair
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
            What ``fit`` reads.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        values, n_classes = self._decided(X), len(self.classes_)
        if n_classes == 2:
            return np.asarray(self.classes_[(values[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes_[pairwise_votes(values, n_classes)[0].argmax(axis=1)])

    def _decided(self, X: Any) -> FloatArray:
        """Return the decision of every pair of classes: float64 (rows, pairs)."""
        check_is_fitted(self, "intercept_")
        return np.asarray(self._values(self._read_table(X), self._pair_weights) + self.intercept_)


@dataclass(eq=False, repr=False)
class SupportVectorClassifier(PairwiseMachine, ClassifierMixin, FormulaMachine):  # type: ignore[misc]
    """The base of :class:`FormulaSVC` and :class:`FormulaSVCCV`."""

    _: KW_ONLY
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    classes_: npt.NDArray[Any] = field(init=False)
    svc_: PairwiseModel = field(init=False)
    C_: float = field(init=False)
    _pair_weights: FloatArray = field(init=False)
    _trained: TrainedModel = field(init=False)

    rules = rules

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Encode the table, and solve.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads, or a collection of dask.  A sparse 0/1
            table stays sparse.
        y : array-like of shape (n_rows,)
            Classes, of any type; a series or an array of dask, too.
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
        self._check_rows()
        check_time_limit(self.time_limit)
        with self._showing():
            deadline = Deadline.of(self.time_limit)
            table, classes = self._read_training(X, y)
            self._fit_encoded(table, classes, X, sample_weight, deadline)
            if not self._warn_of_traps(table) and self.stopped_ not in EARLY:
                warn_of_one_class(self, table, classes, sample_weight)
            return self

    @abstractmethod
    def _chosen_C(
        self, table: Any, classes: npt.NDArray[Any], weights: FloatArray, deadline: Deadline
    ) -> float:
        """Return the penalty parameter for all rows; ``kernel_`` is known."""

    def _fit_encoded(
        self,
        table: Any,
        classes: npt.NDArray[Any],
        X: Any,
        sample_weight: Any = None,
        deadline: Deadline = UNLIMITED,
    ) -> Self:
        """Fit to rows that are encoded already; of X only the columns' names are read."""
        several_classes(classes)
        self._check_decisions()
        weights = row_weights(classes, self.class_weight, sample_weight)
        several_classes(classes, weights)
        self.kernel_ = self._make_kernel(X)
        self.C_ = self._chosen_C(table, classes, weights, deadline)
        self._train(table, classes, self.C_ * weights, deadline, stacklevel=5)
        self._trained = TrainedModel(self.svc_, self.kernel_, table, classes)
        return self


@dataclass(eq=False, repr=False)
class FormulaSVC(SupportVectorClassifier):
    """Support vector classification with the kernel of a formula.

    Maximises the margin of a linear function of the features that the formula's substitutions
    make, without building them: the dual problem needs only K (see :func:`formulakern.kernel`).
    Several classes are compared one against one, as in :class:`sklearn.svm.SVC`.

    Parameters
    ----------
    formula : str, Formula or Kernel, default="a & b"
        A kernel is taken as it is; ``variables`` and ``domains`` then do not apply.  Scales and
        backends are those of :func:`formulakern.kernel`.
    variables : {"bound", "free", "distinct"}, default="bound"
        What the names in the formula mean.
    C : "auto" or float, default="auto"
        Penalty parameter of margin errors; ``"auto"`` is 10.
    normalize : bool, default=True
        Use the cosine K(x, z) / √(K(x, x)·K(z, z)), so that C means the same for every formula.
    encoder : "auto", None or transformer, default="auto"
        How a table becomes 0 and 1.  ``"auto"``: a :class:`PropositionEncoder` is fitted; Boolean
        columns stay as they are.  None: the table must be 0/1.  A transformer is cloned and fitted;
        integer-coded categories want ``PropositionEncoder(nominal="all")``.
    domains : mapping of str to columns, optional
        For formulas with domains: columns of the *input* table, by name or position; a domain
        then holds all propositions about them.
    class_weight : mapping or "balanced", optional
        Multiplies C per class.
    inputs : {"binary", "graded"}, default="binary"
        ``"graded"`` reads degrees of truth from 0 to 1 (see :func:`formulakern.graded`): the
        automatic encoder is ``PropositionEncoder(graded=True)``, which needs no cut points, and
        other encoders, or the table itself, may give any such numbers.  A graded kernel as the
        formula does the same.
    tol : float, default=1e-3
        Where the solver stops: (primal − dual) / primal objective.  LIBSVM's own criterion is the
        largest violation of optimality by a pair of rows.
    max_iter : int, default=-1
        Limit on the steps with two coefficients, for each pair of classes; −1: 10 million, or 100
        for each row where that is more.
    time_limit : float, optional
        Seconds from the table to the end of the dual solver; the best so far is kept, and its gap
        is said.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether ``decision_function`` has one column per class, or per pair of classes.
    cache_size : float, default=200
        Megabytes.  The dual solver holds a Gram matrix that takes no more.
    verbose : int, default=0
        Show how far the solver has come, on standard error.

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
        As in :class:`sklearn.svm.SVC`.
    gap_ : float
        The largest relative duality gap of all pairs of classes.
    stopped_ : str
        "optimal", or what ended the solver: "max_iter", "time_limit", "interrupted", "stalled".
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.

    Notes
    -----
    Equal rows of one class are solved for as one, with the sum of their C.  The dual solver takes
    memory linear in the rows, and time about proportional to rows times support vectors.

    After Ctrl-C the best coefficients so far are kept, and a warning says their gap.

    The packed rows of a dask collection are brought into this process, up to
    :func:`formulakern.gather_limit`.

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
        return number_C(self.C, AUTOMATIC_C)
