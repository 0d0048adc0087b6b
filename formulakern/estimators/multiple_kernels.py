"""Classification with a learned weighted sum of the kernels of several formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_flag, check_integer, check_number
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.display.plots import bar_chart, colour_of
from formulakern.docstrings import parameters_from
from formulakern.errors import ParameterError
from formulakern.estimators.base import TableEstimator
from formulakern.estimators.fit_warnings import warn_of_columns, warn_of_one_class, warn_of_zeros
from formulakern.estimators.search.candidates import read_candidates
from formulakern.estimators.svm.extraction import TrainedModel, rules
from formulakern.estimators.svm.machines import FormulaSVC, PairwiseMachine
from formulakern.kernels.algebra import Kernel, ScaledKernel, SumKernel
from formulakern.kernels.formula import Reading
from formulakern.kernels.shared_grams import CandidateGrams
from formulakern.learning.kernel_machines import KernelRows, Limits
from formulakern.learning.multiple_kernels import (
    KernelFamily,
    KernelWeights,
    easy_weights,
    lp_norm_weights,
    one_against_one,
)
from formulakern.markup import Barred, small_table
from formulakern.optional import data_frame
from formulakern.solvers.solution import warn_unless
from formulakern.syntax.formula import Formula
from formulakern.text import clip, significant, table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


HEAD = ("formula", "weight", "share of the model")
#: The most characters of a formula in the table.
MAX_FORMULA_CHARACTERS = 60


@dataclass(frozen=True, eq=False, repr=False)
class FormulaWeights:
    """The weight of each formula in a sum of kernels, and its share of the model.

    Parameters
    ----------
    formulas : sequence of str
    weights : float64 (number of formulas,)
        η_r of K = Σ_r η_r K_r.
    shares : float64 (number of formulas,)
        ‖w_r‖²/η_r as a share of their sum, which is the squared length of the model's normal
        vector: the contribution of the features of this formula.
    method : str
        The method by which the weights were learned, and the proven gap.

    Examples
    --------
    >>> print(FormulaWeights(["a", "a & b"], np.array([0.2, 0.8]), np.array([0.1, 0.9]), "easy"))
    formula  weight  share of the model
    ───────────────────────────────────
    a & b       0.8               90.0%
    a           0.2               10.0%
    <BLANKLINE>
    easy
    """

    formulas: Sequence[str]
    weights: FloatArray
    shares: FloatArray
    method: str

    def __len__(self) -> int:
        return len(self.formulas)

    @property
    def order(self) -> list[int]:
        """The positions of the formulas, largest weight first."""
        return [int(r) for r in np.argsort(-self.weights, kind="stable")]

    def __repr__(self) -> str:
        return f"<FormulaWeights of {len(self)} formulas: {self.method}>"

    def __str__(self) -> str:
        written = significant(self.weights.tolist())
        rows = [
            [clip(self.formulas[r], MAX_FORMULA_CHARACTERS), written[r], f"{self.shares[r]:.1%}"]
            for r in self.order
        ]
        return f"{table(HEAD, rows)}\n\n{self.method}"

    def _repr_html_(self) -> str:
        written = significant(self.weights.tolist())
        shares = self.shares.tolist()
        rows: list[list[str | Barred]] = [
            [self.formulas[r], written[r], Barred(f"{shares[r]:.1%}", 0.0, shares[r])]
            for r in self.order
        ]
        return small_table(HEAD, rows, "r>>", foot=self.method)

    def to_frame(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each formula, in the given order."""
        columns = {"formula": [*self.formulas], "weight": self.weights, "share": self.shares}
        return data_frame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar for each formula, the largest weight on top."""
        order = self.order
        weights, texts = self.weights[order], [self.formulas[r] for r in order]
        ax = bar_chart(ax, texts, weights, colour_of(0), significant(weights.tolist()))
        ax.set_xlabel("weight in the sum of kernels")
        return ax


#: The default formulas.
FORMULAS = ("a", "a & b", "a | b", "a & ~b", "a ^ b", "(a & b) | c")
#: Kernels with at most this share of the largest weight are left out of the sum.
MIN_WEIGHT_SHARE = 1e-9
#: The most kernel values that are held at a time in prediction.
PREDICTION_BLOCK = 1 << 24
#: A kernel is constant, and not scaled, if its variance is at most this share of its largest value.
MIN_VARIANCE_SHARE = 1e-9


@parameters_from(TableEstimator, FormulaSVC)
@dataclass(eq=False, repr=False)
class FormulaMKL(PairwiseMachine, ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """Support vector classification with a weighted sum of the kernels of several formulas.

    The kernel is K = Σ_r η_r K_r, with K_r the kernel of the r-th formula.  Its features are those
    of all formulas, multiplied by √η_r.  The weights η_r ≥ 0 are learned in one of two ways:

    * ``method="easy"`` (EasyMKL, Aiolli & Donini) finds the closest two points in the convex hulls
      of the classes, under the plain sum of all kernels; λ draws them to the means of the classes.
      η_r is the share of the r-th kernel in their squared distance; the weights sum to 1.
    * ``method="lp"`` (Kloft et al.) minimises ½ Σ_r ‖w_r‖²/η_r + C Σ_i max(0, 1 − y_i f(x_i)) over
      weights with ‖η‖_p ≤ 1 and the support vector machine together.  p = 1 selects few formulas,
      p = ∞ is the plain sum.

    More than two classes are compared in pairs, as in :class:`FormulaSVC`.  All pairs share one
    kernel: the squared distances, or the objectives, are summed over the pairs.

    Parameters
    ----------
    formulas : sequence of str, Formula or Kernel
        By default ``a``, ``a & b``, ``a | b``, ``a & ~b``, ``a ^ b`` and ``(a & b) | c``.  For a
        kernel, ``variables`` and ``domains`` have no effect.
    method : {"easy", "lp"}, default="easy"
        The method by which weights are learned.
    C : float, default=3.0
        Penalty parameter of margin errors.
    lam : float, default=0.1
        λ of ``method="easy"``, from 0 (the hulls of the classes) to 1 (their means).
    p : float, default=1.5
        p of ``method="lp"``, at least 1; ``float("inf")`` for equal weights.
    normalize : bool, default=True
        Use cosines K_r(x, z) / √(K_r(x, x)·K_r(z, z)).
    unit_variance : bool, default=True
        Then divide every kernel by the variance of its feature vectors, their mean squared distance
        from the mean of the training rows, so that weights are comparable (Kloft et al., section
        3.3.2).  Otherwise formulas of more variables have larger weights in most tables, because
        their cosines of different rows are smaller.
    class_weight : mapping or "balanced", optional
        The weights of the rows of a class.  They multiply C, and a row of weight 2 counts as two
        rows when the weights of kernels are learned.
    tol : float, default=1e-3
        The relative duality gap to reach, of the distance of the hulls or the objective of "lp".
    max_iter : int, default=200
        The most rounds of "lp".

    Attributes
    ----------
    weights_ : ndarray of shape (n_formulas,)
        η_r.
    kernels_ : tuple of Kernel
        K_r between encoded rows.
    kernel_ : Kernel
        Σ_r η_r K_r, without kernels of weight 0.
    gap_ : float
        The relative duality gap.  "easy": of the distances of the hulls, the largest of all pairs
        of classes.  "lp": the objective of the support vector machine exceeds the smallest one of
        any weights by at most this share.
    n_iter_ : int
        Rounds of "lp", or steps of "easy".
    summary_ : FormulaWeights
        The weights, which print as a table; with ``to_frame()`` and ``plot()``.
    classes_ : ndarray of shape (n_classes,)
    encoder_ : transformer or None
    propositions_ : tuple of str
        The columns of the encoded table, each a rule that :func:`formulakern.rule` reads.
    svc_ : PairwiseModel
        The solved model, on the weighted sum of Gram matrices.
    support_, n_support_, dual_coef_, intercept_ : ndarray
        See :class:`sklearn.svm.SVC`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.

    Notes
    -----
    The joint counts of all pairs of rows are computed once, and each kernel is evaluated at the few
    different ones, so that twenty formulas take little longer than one.  Memory is one Gram matrix,
    one or two bytes more per pair of rows, and the copies of the solver.

    References
    ----------
    Aiolli & Donini (2015), EasyMKL: a scalable multiple kernel learning algorithm, Neurocomputing
    169:215-224, doi:10.1016/j.neucom.2014.11.078.
    Kloft, Brefeld, Sonnenburg & Zien (2011), lp-Norm Multiple Kernel Learning, Journal of Machine
    Learning Research 12:953-997, https://www.jmlr.org/papers/v12/kloft11a.html.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = FormulaMKL(("a", "a & b", "a & b & c"), variables="distinct").fit(X, y)
    >>> print(model.summary_)  # doctest: +ELLIPSIS
    formula    weight  share of the model
    ─────────────────────────────────────
    a & b & c   0.6...              7...%
    a           0.2...              1...%
    a & b       0.1...              ...%
    <BLANKLINE>
    EasyMKL, lam = 0.1; relative gap ...
    """

    formulas: Sequence[str | Formula | Kernel] = FORMULAS
    method: Literal["easy", "lp"] = "easy"
    variables: Reading = "bound"
    C: float = 3.0
    _: KW_ONLY
    lam: float = 0.1
    p: float = 1.5
    normalize: bool = True
    unit_variance: bool = True
    domains: Mapping[str, Any] | None = None
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    tol: float = 1e-3
    max_iter: int = 200
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    verbose: int = 0

    rules = rules

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Encode the table, learn the weights, and train.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.  A sparse 0/1 table stays sparse.
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies C per row.  A row of weight 2 counts as two rows; rows of weight 0 are left
            out.

        Returns
        -------
        FormulaMKL
            Itself.

        Raises
        ------
        DataError
            If the table, the classes or their weights cannot be read, or there is only one class.
        FormulaSyntaxError, ParameterError
            If a formula or a parameter is wrong.
        GramSizeError
            If the Gram matrix does not fit into memory.

        Warns
        -----
        ConvergenceWarning
            If the gap is above ``tol``.
        """
        self._check_parameters()
        formulas = read_candidates(self.formulas, "formulas", "")
        data = self._read_training(X, y, sample_weight, self.class_weight).used()
        table, labels, given = data.table, data.labels, data.weights
        self.kernels_ = tuple(self._kernel(formula, X) for formula in formulas)
        family = KernelFamily(self.kernels_, table)
        if self.unit_variance:
            variances = family.variances(given)
            constant = variances <= MIN_VARIANCE_SHARE * family.largest
            factors = 1 / np.where(constant, 1.0, variances)
            family = family.scaled(factors)
            pairs = zip(factors.tolist(), self.kernels_, strict=True)
            self.kernels_ = tuple(ScaledKernel.of(factor, kernel) for factor, kernel in pairs)
        tasks = one_against_one(np.unique(labels, return_inverse=True)[1], given)
        with self._progress_bar() as bar:
            learnt = self._learn(family, list(tasks.values()), lambda x: bar.at(x, "weights"))
            bar.end(f"weights, gap {learnt.gap:.1e}")
        self.weights_ = learnt.weights
        shares = np.where(
            learnt.weights > MIN_WEIGHT_SHARE * learnt.weights.max(), learnt.weights, 0.0
        )
        self.kernel_ = SumKernel.of(
            *(ScaledKernel.of(float(w), k) for w, k in zip(shares, self.kernels_, strict=True) if w)
        )
        rows = KernelRows(self.kernel_, table, gram=family.combined(shares))
        self._train(rows, labels, self.C * given)
        self._trained = TrainedModel(self.svc_, self.kernel_, table, labels)
        self.n_iter_, self.gap_ = learnt.iterations, learnt.gap
        self.summary_ = self._summary(formulas, family)
        if self.formulas is not FORMULAS:
            warn_of_columns(self.formulas, self)
        if not warn_of_zeros(self.kernel_, table):
            warn_of_one_class(self, data)
        return self

    def _limits(self, deadline: Deadline = UNLIMITED) -> Limits:
        return Limits(min(1e-3, self.tol), seconds=deadline.left())

    # -- the weights --------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choice("method", self.method, ("easy", "lp"))
        check_number("C", self.C, 0, above=True)
        check_number("lam", self.lam, 0, 1)
        if self.p != math.inf:
            check_number("p", self.p, 1, otherwise="float('inf')")
        check_flag("normalize", self.normalize)
        check_flag("unit_variance", self.unit_variance)
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_number("tol", self.tol, 0, 1, above=True)
        check_integer("max_iter", self.max_iter)

    def _kernel(self, formula: Formula | Kernel, X: Any) -> Kernel:
        """Return the kernel of one formula, by :class:`FormulaSVC`."""
        if isinstance(formula, Kernel) and formula.reads != "tables":
            raise ParameterError(
                f"{formula!r} reads {formula.reads}, but FormulaMKL needs kernels of tables. Add "
                "kernels of strings with + and use fk.StringSVC(kernel)."
            )
        model = FormulaSVC(formula, **self._shared_parameters(FormulaSVC()))
        model.encoder_ = self.encoder_
        return model._make_kernel(X)

    def _learn(
        self, family: KernelFamily, tasks: Any, progress: Callable[[float], None]
    ) -> KernelWeights:
        options: dict[str, Any] = {"tol": self.tol, "progress": progress}
        if self.method == "easy":
            found = easy_weights(family, tasks, self.lam, **options)
            what, advice = "the gap of the distance of the classes", "Use a larger lam."
        else:
            p, C, most = float(self.p), float(self.C), int(self.max_iter)
            found = lp_norm_weights(family, tasks, p, C, max_iter=most, **options)
            what = "the gap of the objective"
            advice = "Increase max_iter, tol or p."
        warn_unless(found.converged, what, found.gap, self.tol, advice)
        return found

    def _summary(self, formulas: Sequence[Any], family: KernelFamily) -> FormulaWeights:
        shares = np.zeros(len(formulas))
        for coefficients in self._pair_weights:
            u = np.zeros(family.n_rows)
            u[self.support_] = coefficients
            shares += self.weights_ * family.forms(u)
        total = shares.sum()
        how = f"EasyMKL, lam = {self.lam:g}" if self.method == "easy" else f"p = {self.p:g}"
        return FormulaWeights(
            [str(formula) for formula in formulas],
            self.weights_,
            shares / total if total > 0 else shares,
            f"{how}; relative gap {self.gap_:.1e}.",
        )

    def _values(self, rows: Any, weights: FloatArray) -> FloatArray:
        """Return Σ_i w_i K(x_i, x) over the support vectors; all kernels share the joint counts."""
        found = np.empty((rows.n_rows, len(weights)))
        height = max(1, PREDICTION_BLOCK // max(len(self.support_), 1))
        for start in range(0, rows.n_rows, height):
            part = rows.take(np.arange(start, min(start + height, rows.n_rows)))
            gram = CandidateGrams(part, self._support_rows).gram(self.kernel_)
            for pair, own in enumerate(weights):
                found[start : start + part.n_rows, pair] = (gram * own).sum(axis=1)
        return found
