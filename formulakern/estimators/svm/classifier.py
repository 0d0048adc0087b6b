"""Support vector classification with the kernel of a formula, on any table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from formulakern.backends.base import Scale
from formulakern.checks import check_choice
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.real import RealTable, read_real
from formulakern.encoding.selection import column_positions
from formulakern.encoding.sources import is_sparse
from formulakern.errors import ParameterError
from formulakern.estimators.base import TableEstimator
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.svm.extraction import RuleExtraction, TrainedModel
from formulakern.estimators.svm.prediction import grams_with_training
from formulakern.estimators.targets import several_classes
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Inputs, Reading, kernel
from formulakern.kernels.graded import GradedKernel, graded
from formulakern.progress import Progress, say
from formulakern.syntax.formula import Formula

__all__ = ["FormulaSVC"]

#: What is taken over from the solved model.
SOLVED = ("classes_", "support_", "n_support_", "dual_coef_", "intercept_", "n_iter_")


@dataclass(eq=False, repr=False)
class FormulaSVC(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """Support vector classification with the kernel of a formula.

    Maximises the margin of a linear function of the features that the formula's substitutions
    make, without building them: the dual problem needs only K (see :func:`formulakern.kernel`).
    Several classes are compared one against one, as in :class:`sklearn.svm.SVC`, which solves
    the quadratic program.

    Parameters
    ----------
    formula : str, Formula or Kernel, default="a & b"
        A kernel is taken as it is; ``variables``, ``domains``, ``scale`` and ``backend`` then
        do not apply.
    variables : {"bound", "free", "distinct"}, default="bound"
        What the names in the formula mean.
    C : float, default=10.0
        Penalty parameter of margin errors.
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
    scale, backend : str
        See :func:`formulakern.kernel`.
    inputs : {"binary", "graded"}, default="binary"
        ``"graded"`` reads degrees of truth from 0 to 1 (see :func:`formulakern.graded`): the
        automatic encoder is ``PropositionEncoder(graded=True)``, which needs no cut points, and
        other encoders, or the table itself, may give any such numbers.  A graded kernel as the
        formula does the same.
    tol : float, default=1e-3
        Stopping tolerance of the solver.
    max_iter : int, default=-1
        Limit on its iterations; −1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether ``decision_function`` has one column per class, or per pair of classes.
    break_ties : bool, default=False
        Break ties of the votes by the decision function, as in :class:`sklearn.svm.SVC`.
    cache_size : float, default=200
        Megabytes of the solver's cache.
    verbose : bool, default=False
        Show how much of the Gram matrix is done, on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : Kernel
        The kernel between encoded rows.
    encoder_ : transformer or None
    propositions_ : tuple of str
        The columns of the encoded table, each a rule that :func:`formulakern.rule` reads.
    svc_ : SVC
        The solved model, on the precomputed Gram matrix.
    support_, n_support_, dual_coef_, intercept_, n_iter_ : ndarray
        As in :class:`sklearn.svm.SVC`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.

    Notes
    -----
    Time and memory grow with the square of the number of rows: the Gram matrix is held in memory.

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

    formula: str | Formula | Kernel = "a & b"
    variables: Reading = "bound"
    C: float = 10.0
    _: KW_ONLY
    normalize: bool = True
    domains: Mapping[str, Any] | None = None
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    scale: Scale = "count"
    backend: str = "auto"
    inputs: Inputs = "binary"
    tol: float = 1e-3
    max_iter: int = -1
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False
    cache_size: float = 200
    verbose: bool = False
    classes_: npt.NDArray[Any] = field(init=False)
    support_: npt.NDArray[np.intp] = field(init=False)

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Encode the table, compute the Gram matrix, solve.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.  A sparse 0/1 table stays sparse.
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies C per row.

        Returns
        -------
        FormulaSVC
            Itself.

        Raises
        ------
        DataError
            If the table or the classes cannot be read.
        FormulaSyntaxError, ParameterError
            If the formula or a parameter is wrong.
        GramSizeError
            If the Gram matrix does not fit into memory.
        """
        if isinstance(self.formula, Kernel) and self.formula.reads != "tables":
            raise ParameterError(
                f"{self.formula!r} reads {self.formula.reads}, and FormulaSVC tables. Use "
                "fk.StringSVC(kernel)."
            )
        return self._fit_encoded(*self._read_training(X, y), X, sample_weight)

    def _fit_encoded(
        self, table: PackedTable, classes: npt.NDArray[Any], X: Any, sample_weight: Any = None
    ) -> Self:
        """Fit to rows that are encoded already; of X only the columns' names are looked at."""
        several_classes(classes)
        self.kernel_ = self._make_kernel(X)
        self.svc_ = SVC(kernel="precomputed", **self._shared_parameters(SVC()))
        with Progress(shown=self.verbose) as bar:
            gram = self.kernel_(table, progress=lambda share: bar.reach(share, "Gram matrix"))
        if self.verbose:
            say(f"Gram matrix: {len(gram):,} x {len(gram):,} values")
        self.svc_.fit(gram, classes, sample_weight)
        if self.verbose:
            say(f"{len(self.svc_.support_):,} support vectors")
        self._copy_from(self.svc_, SOLVED)
        self._trained = TrainedModel(self.svc_, self.kernel_, table, classes)
        self._support_rows = table.take(self.support_)
        return self

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
            Prints as a table with weight, classes, coverage and precision on the training rows.

        Raises
        ------
        ParameterError
            If the kernel's features cannot be listed (see :func:`formulakern.extract_rules`), or
            inputs are graded: degrees are no rules.

        Examples
        --------
        >>> from formulakern import datasets
        >>> X, y = datasets.tic_tac_toe()
        >>> model = FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X, y)
        >>> result = model.rules(top=8)  # three in a row
        >>> result.proven, {(item.winner, item.precision) for item in result}
        (True, {('positive', 1.0)})
        """
        check_is_fitted(self, "svc_")
        if isinstance(self._support_rows, RealTable):
            raise ParameterError(
                "a model of graded inputs votes by degrees, which are no rules: fit one with "
                'inputs="binary" to read its rules.'
            )
        return self._trained.rules(self._leaves, top, time_limit, progress)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Signed distances from the separating surfaces, in units of the margin.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes), or per pair
        """
        return np.concatenate([self.svc_.decision_function(gram) for gram in self._grams(X)])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.concatenate([self.svc_.predict(gram) for gram in self._grams(X)])

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

    def _grams(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """K between X and the training rows, so many rows at a time.

        Only columns of support vectors are computed; the others do not count.
        """
        check_is_fitted(self, "svc_")
        table = self._read_table(X)
        return grams_with_training(self.svc_, self.kernel_, table, self._support_rows)

    def _make_kernel(self, X: Any) -> Kernel:
        made = self.formula
        check_choice("inputs", self.inputs, ("binary", "graded"))
        if not isinstance(made, Kernel):
            domains = self._encoded_domains(X)
            made = kernel(
                made, self.variables, domains=domains, scale=self.scale, backend=self.backend
            )
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

    def _encoded_domains(self, X: Any) -> dict[str, Any] | None:
        """Domains over the columns of the encoded table."""
        if self.domains is None or not isinstance(self.encoder_, PropositionEncoder):
            return None if self.domains is None else dict(self.domains)
        widths = [len(plan.propositions) for plan in self.encoder_.plans_]
        parts = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])  # of each column
        return {
            name: [i for column in column_positions(X, columns) for i in parts[column].tolist()]
            for name, columns in self.domains.items()
        }
