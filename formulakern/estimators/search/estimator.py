"""Choosing a formula when nobody knows the rule: draw many, rank them, fit the best."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from formulakern.checks import check_integer, check_number, is_integer
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.base import TableEstimator
from formulakern.estimators.search.candidates import draw_candidates, read_candidates
from formulakern.estimators.search.results import CandidateScore, SearchResults
from formulakern.estimators.search.run import score_all
from formulakern.estimators.search.scores import Scorer, Scoring, scorer_of
from formulakern.estimators.svm.classifier import FormulaSVC
from formulakern.estimators.svm.evaluation import check_folds
from formulakern.estimators.targets import Split, require_target, several_classes, splits
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Reading
from formulakern.kernels.shared_grams import CandidateGrams
from formulakern.syntax.formula import Formula

__all__ = ["FormulaSearch"]


@dataclass(eq=False, repr=False)
class FormulaSearch(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """Draw formulas, rank their kernels, train a support vector machine with the best.

    Each candidate's kernel places the rows in a feature space.  There R is the radius of the
    smallest ball around all rows, D the distance between the classes; the error of a support vector
    machine is bounded by a multiple of R²/D², which needs no validation rows and no training.  Or
    candidates are ranked by a cross-validated score.  The best is fitted as a
    :class:`FormulaSVC`.

    Parameters
    ----------
    candidates : int or list of str, Formula or Kernel, default=30
        How many formulas to draw, or the candidates.  Drawn ones have different kernels.
    criterion : str or callable, default="radius-margin"
        ``"radius-margin"``: the smallest R²/D² of the training rows.  Or the largest
        cross-validated score: ``"roc_auc"`` (for several classes, the mean of one against the
        rest), ``"accuracy"``, another name of ``sklearn.metrics.get_scorer_names()``, or a scorer.
    variables : {"bound", "free", "distinct"}, default="bound"
        What the names in a formula mean.
    C : float, default=10.0
        Penalty parameter of margin errors.
    p, eta : float, default=0.4, 0.7
        How formulas are drawn: see :func:`formulakern.random_formula`.
    margin_C : float or None, default=1.0
        R and D are those of K + I/margin_C, for which the bound is proven: the soft margin of
        squared errors.  None is the hard margin; classes that it cannot separate have an infinite
        ratio.
    cv : int or splitter, default=5
        Folds: stratified and shuffled under ``random_state``, the same for every candidate.
    compare : bool, default=False
        Compute ratio and score of every candidate, whichever ranks them, for :meth:`plot`. The
        score is then "roc_auc" where the criterion names none.
    normalize : bool, default=True
        Use cosines, so that C means the same for every formula.
    encoder : "auto", None or transformer, default="auto"
        How a table becomes 0 and 1; see :class:`FormulaSVC`.  It is fitted once, on all rows.
    domains : mapping of str to columns, optional
        For given formulas with domains; see :class:`FormulaSVC`.
    class_weight : mapping or "balanced", optional
        Multiplies C per class.
    n_jobs : int, optional
        How many candidates are scored at once, in threads; each holds a Gram matrix.  The result is
        the same for every number.
    random_state : int, RandomState or None
        For formulas and folds.
    verbose : {0, 1, 2}, default=0
        1: a progress bar with the remaining time, on a terminal's standard error.  2: also a line
        for every candidate.

    Attributes
    ----------
    best_estimator_ : FormulaSVC
        Fitted on all rows.
    best_formula_ : Formula or Kernel
    best_index_ : int
        Its position among the candidates.
    results_ : SearchResults
        A column per name: ``formula``, ``rank``, ``ratio``, ``radius``, ``margin``,
        ``mean_score``, ``std_score``, ``seconds``, ``status``.  Prints as a table.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.

    Notes
    -----
    Joint counts of the rows are found once; a candidate costs a look-up per pair of rows, then one
    ball and one distance (per class, for more than two), or ``cv`` support vector machines.
    Peak memory is about two Gram matrices per job: the one that all candidates are written to, and
    what is sliced from it, or what the last model is fitted on.

    A candidate that cannot be computed is told in ``status`` and ranks last.  Ctrl-C ends the
    search: the best candidate so far is fitted, with a warning.

    References
    ----------
    Polato & Aiolli (2021), Propositional Kernels, Entropy 23(8):1020, doi:10.3390/e23081020.
    Chapelle, Vapnik, Bousquet & Mukherjee (2002), Choosing Multiple Parameters for Support Vector
    Machines, Machine Learning 46:131-159, doi:10.1023/A:1012450327387.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> search = FormulaSearch(["a", "a & b", "a & b & c"], variables="distinct").fit(X, y)
    >>> print(search.results_)
    3 candidates, 3 scored; the best by the radius-margin ratio:
    rank  formula    ratio  status
       1  a & b & c  109.1  ok
       2  a          154.7  ok
       3  a & b      154.8  ok
    >>> search.best_formula_
    Formula('a & b & c')
    """

    candidates: int | Iterable[str | Formula | Kernel] = 30
    criterion: str | Scorer = "radius-margin"
    variables: Reading = "bound"
    C: float = 10.0
    _: KW_ONLY
    p: float = 0.4
    eta: float = 0.7
    margin_C: float | None = 1.0
    cv: Any = 5
    compare: bool = False
    normalize: bool = True
    domains: Mapping[str, Any] | None = None
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(self, X: Any, y: npt.ArrayLike) -> Self:
        """Encode the table, score every candidate, fit the best.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.  A sparse 0/1 table stays sparse.
        y : array-like of shape (n_rows,)
            Classes, of any type.

        Returns
        -------
        FormulaSearch
            Itself.

        Raises
        ------
        DataError
            If the table or the classes cannot be read, or no candidate can be scored.
        FormulaSyntaxError, ParameterError
            If a candidate or a parameter is wrong.
        GramSizeError
            If a Gram matrix does not fit into memory.
        """
        require_target(self, y)
        scorer = self._check_parameters()
        generator = check_random_state(self.random_state)
        seeds = generator.randint(2**31 - 1, size=5)
        formulas = self._candidates(np.random.default_rng(seeds[:4]))
        table, classes = self._read_training(X, y)
        several_classes(classes)
        svc = {"C": self.C, "class_weight": self.class_weight}
        folds = self._splits(classes, seeds[4]) if self.compare or not self._by_ratio else ()
        ratio = self.compare or self._by_ratio
        scoring = Scoring(CandidateGrams(table), classes, svc, folds, scorer, ratio, self.margin_C)
        make = [partial(self._kernel, formula, X) for formula in formulas]
        by = "ratio" if self._by_ratio else "mean_score"
        scores = score_all(scoring, make, formulas, by, self.n_jobs, self.verbose)
        self.results_ = SearchResults(formulas, scores, by)
        best = self.results_.best_index
        if best is None:
            raise self._no_candidate(scores)
        self.best_index_ = best
        self.best_formula_ = formulas[best]
        del scoring  # the joint counts, before the last Gram matrix is made
        self.best_estimator_ = self._model(self.best_formula_)
        self.best_estimator_._share_encoding(self)
        self.best_estimator_._fit_encoded(table, classes, X)
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every row, by the best candidate.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Signed distances from the separating surfaces, by the best candidate.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def plot(self, ax: Any = None) -> Any:
        """Score against radius-margin ratio, a point per candidate, the chosen one marked.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        ParameterError
            If ratio and score were not both computed: ``compare=True`` does.
        """
        check_is_fitted(self, "best_estimator_")
        score = "roc_auc" if self._by_ratio else self.criterion
        return self.results_.scatter(ax, score if isinstance(score, str) else "score")

    # -- what is computed ---------------------------------------------------------------------

    @property
    def _by_ratio(self) -> bool:
        return isinstance(self.criterion, str) and self.criterion == "radius-margin"

    def _check_parameters(self) -> Scorer:
        """The scorer of the cross-validation; anything wrong is said before work begins."""
        check_number("C", self.C, 0, above=True)
        hard = "None for the hard margin"
        check_number("margin_C", self.margin_C, 0, above=True, otherwise=hard)
        if self.n_jobs is not None and (not is_integer(self.n_jobs) or self.n_jobs == 0):
            raise ParameterError(
                f"n_jobs={self.n_jobs!r}; expected a number of threads, -1 for one per core, "
                "or None for one."
            )
        if not isinstance(self.verbose, (int, np.integer)):
            raise ParameterError(f"verbose={self.verbose!r}; expected 0, 1 or 2.")
        return scorer_of("roc_auc" if self._by_ratio else self.criterion)

    def _candidates(self, generator: np.random.Generator) -> list[Formula | Kernel]:
        given: Any = self.candidates
        if not is_integer(given):
            return read_candidates(given)
        check_integer("candidates", given)
        drawn = draw_candidates(int(given), self.variables, self.p, self.eta, generator)
        if len(drawn) < given:
            warnings.warn(
                f"only {len(drawn)} formulas with different kernels were found, of {given}: larger "
                f"formulas come with a larger p (now {self.p}) or a smaller eta (now {self.eta}).",
                stacklevel=3,
            )
        return list(drawn)

    def _model(self, formula: Formula | Kernel) -> FormulaSVC:
        return FormulaSVC(formula, **self._shared_parameters(FormulaSVC()))

    def _kernel(self, formula: Formula | Kernel, X: Any) -> Kernel:
        """The kernel that the model of this formula uses."""
        model = self._model(formula)
        model.encoder_ = self.encoder_
        return model._make_kernel(X)

    def _splits(self, classes: npt.NDArray[Any], seed: int) -> list[Split]:
        if isinstance(self.cv, (int, np.integer)):
            check_folds(classes, int(self.cv), self.C)
        return splits(self.cv, classes, seed)

    def _no_candidate(self, scores: list[CandidateScore]) -> DataError:
        statuses = [score.status for score in scores]
        if all(np.isinf(score.ratio) for score in scores):
            return DataError(
                "no candidate separates the classes by a hard margin, so all ratios are infinite. "
                "Use a soft margin, margin_C=1, or criterion='roc_auc'."
            )
        most = max(dict.fromkeys(statuses), key=statuses.count)
        return DataError(
            f"none of the {len(scores)} candidates could be scored. For "
            f"{statuses.count(most)} of them: {most}. Give other candidates, or another criterion."
        )
