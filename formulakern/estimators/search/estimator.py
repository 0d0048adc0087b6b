"""Choosing a formula when nobody knows the rule: draw many, rank them, fit the best."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils.validation import check_is_fitted

from formulakern.checks import check_flag, check_integer, check_number, is_integer
from formulakern.deadline import Deadline, check_time_limit
from formulakern.display.plots import search_results
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.advice import warn_of_columns, warn_of_one_class, warn_of_zeros
from formulakern.estimators.base import TableEstimator, class_score
from formulakern.estimators.path_search import COMPARING, scorer_of
from formulakern.estimators.reporting.report import report
from formulakern.estimators.search.candidates import (
    draw_candidates,
    equal_kernels,
    read_candidates,
)
from formulakern.estimators.search.scoring import (
    CandidateScore,
    Race,
    Scorer,
    Scoring,
    SearchResults,
    area_score,
)
from formulakern.estimators.svm.evaluation import check_folds, subsample
from formulakern.estimators.svm.machines import FormulaSVC
from formulakern.estimators.targets import (
    Split,
    TrainingData,
    random_source,
    require_target,
    splits,
)
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Reading
from formulakern.kernels.shared_grams import CandidateGrams
from formulakern.syntax.formula import Formula
from formulakern.text import clip

__all__ = ["FormulaSearch"]

#: ``C="auto"``.
AUTO_CS = (1.0, 10.0, 100.0)
#: ``cv="auto"``: so many folds, once more for each of these numbers of rows that is not passed.
FOLDS, SMALL = 3, (60, 150)
#: Seconds that a fit to all rows needs to be worth beginning, and rows for one more.
LAST, ROWS = 2.0, 20_000
#: A model of all rows whose relative duality gap is larger is not better than one of a sample.
OPEN = 0.5


@dataclass(eq=False, repr=False)
class FormulaSearch(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """Draw formulas, rank their kernels, train a support vector machine with the best.

    Each candidate's kernel places the rows in a feature space.  A support vector machine is trained
    there on some of the rows, and of two candidates the one is better that gives the classes of the
    other rows the larger probability.  The best is fitted to all rows as a :class:`FormulaSVC`.
    Or candidates are ranked without validation rows and training: with R the radius of the smallest
    ball around all rows, and D the distance between the classes, the error is bounded by a multiple
    of R²/D².

    Parameters
    ----------
    candidates : int or list of str, Formula or Kernel, default=10
        How many formulas to take, or the candidates.  The first ones are ``x1 & x2`` and ``x1``,
        the others are drawn; they have different kernels, and no double negations.
    criterion : str or callable, default="log_loss"
        ``"log_loss"``: the largest mean logarithm of the probability of the right class, over the
        rows held out in cross-validation, where the decisions of the support vector machines are
        calibrated (see Notes).  ``"radius-margin"``: the smallest R²/D² of the training rows.  Or
        the largest cross-validated score: ``"roc_auc"`` (for several classes, the mean of one
        against the rest), ``"accuracy"``, another name of
        ``sklearn.metrics.get_scorer_names()``, or a scorer.
    variables : {"bound", "free", "distinct"}, default="bound"
        What the names in a formula mean.
    C : "auto", float or sequence of float, default="auto"
        Penalty parameter of margin errors.  Of a sequence the middle one scores all candidates;
        then the first candidate and the three best are scored with the others too, and the best
        pair is taken.  ``"auto"`` is (1, 10, 100), or 10 where no score is cross-validated.
    p, eta : float, default=0.4, 0.7
        How formulas are drawn: see :func:`formulakern.random_formula`.
    margin_C : float or None, default=1.0
        R and D are those of K + I/margin_C, for which the bound is proven: the soft margin of
        squared errors.  None is the hard margin; classes that it cannot separate have an infinite
        ratio.
    cv : "auto", int or splitter, default="auto"
        Folds: stratified and shuffled under ``random_state``, the same for every candidate.
        ``"auto"``: three, twice where there are at most 150 rows and three times where there are
        at most 60.
    compare : bool, default=False
        Compute ratio and score of every candidate, whichever ranks them, for :meth:`plot`. The
        score is then "roc_auc" where the criterion names none.
    normalize : bool, default=True
        Use cosines, so that C means the same for every formula.
    encoder : "auto", None or transformer, default="auto"
        How a table becomes 0 and 1; see :class:`FormulaSVC`.  It is fitted once, on all rows.
    domains : mapping of str to columns, optional
        For given formulas with domains; see :class:`FormulaSVC`.
    class_weight : mapping, "square-root", "balanced" or None, default="square-root"
        Multiplies C per class.  With n_k rows of class k, ``"balanced"`` is proportional to 1/n_k,
        so that decisions are for balanced accuracy; None is for accuracy; ``"square-root"``,
        proportional to 1/√n_k, is between them: better macro F1 at little cost of accuracy.
    n_jobs : int, optional
        How many candidates are scored at once, each with a Gram matrix, the result being the same:
        in threads, or in processes of ``joblib.parallel_config(backend="dask")`` (or "loky").
    time_limit : float, optional
        Seconds for everything from the table to the model.  At most half of it is for the
        candidates: all are scored on a stratified sample of 400 rows, the better half of them on
        twice as many, and so on, as long as the next step should be done in time.  The last fit has
        the rest; below two seconds and one for every 20,000 rows it is to the rows of the last
        sample alone.  A ConvergenceWarning tells how many rows it was, or by how much the duality
        gap is open, and ``status`` what was left out.
    random_state : int, RandomState or None
        For formulas and folds.
    verbose : int, default=0
        1: a progress bar on a terminal or in a notebook, else a line for every candidate, on
        standard error.  2: both.

    Attributes
    ----------
    best_estimator_ : FormulaSVC
        Fitted on all rows.
    best_formula_ : Formula or Kernel
    C_ : float
        Its penalty parameter.
    best_index_ : int
        Its position among the candidates.
    results_ : SearchResults
        A column per name: ``formula``, ``rank``, ``ratio``, ``radius``, ``margin``,
        ``mean_score``, ``std_score``, ``C``, ``behind``, ``error``, ``seconds``, ``status``.
        ``behind`` is the mean difference to the best, and ``error`` its standard error: candidates
        that are behind by less are no worse as far as these rows can tell.  Prints as a table.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.

    Notes
    -----
    Joint counts of the rows are found once; a candidate costs a look-up per pair of rows, then the
    support vector machines of all folds, or one ball and one distance (per class, for more than
    two).  Its solver cannot begin at a solution for another C.  Peak memory is about two Gram
    matrices per job: the one that all candidates are written to, and what is sliced from it, or
    what the last model is fitted on.

    *Calibration.*  For each class k, a_k ≥ 0 and b_k are fitted so that
    1/(1 + exp(−a_k d_k(x) − b_k)) is the probability that a row of decision d_k(x), held out, is of
    class k; these are divided by their sum.  So a model that decides for the largest class
    everywhere scores no better than the shares of the classes do.

    A candidate whose models decide for one class on all rows held out is behind all others.  Of
    those that score equally, that of the fewest variables is taken, then of the fewest
    connectives, then the first.  Given formulas with the kernel of a simpler one are not scored; a
    candidate that cannot be computed ranks last.  ``status`` tells.  Ctrl-C ends the search: the
    best candidate so far is fitted, with a warning.

    References
    ----------
    Polato & Aiolli (2021), Propositional Kernels, Entropy 23(8):1020, doi:10.3390/e23081020.
    Chapelle, Vapnik, Bousquet & Mukherjee (2002), Choosing Multiple Parameters for Support Vector
    Machines, Machine Learning 46:131-159, doi:10.1023/A:1012450327387.
    Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods, Advances in Large Margin Classifiers, MIT Press.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> texts = ["a", "a & b", "a & b & c"]
    >>> search = FormulaSearch(texts, variables="distinct", random_state=0).fit(X, y)
    >>> search.best_formula_
    Formula('a & b & c')
    >>> search = FormulaSearch(texts[::2], "radius-margin", variables="distinct").fit(X, y)
    >>> print(search.results_)
    2 candidates, 2 scored; the best by the radius-margin ratio:
    rank  formula    ratio  status
       1  a & b & c  10...  ok
       2  a          15...  ok
    """

    candidates: int | Iterable[str | Formula | Kernel] = 10
    criterion: str | Scorer = "log_loss"
    variables: Reading = "bound"
    C: float | Sequence[float] | Literal["auto"] = "auto"
    _: KW_ONLY
    p: float = 0.4
    eta: float = 0.7
    margin_C: float | None = 1.0
    cv: Any = "auto"
    compare: bool = False
    normalize: bool = True
    domains: Mapping[str, Any] | None = None
    class_weight: Mapping[Any, float] | Literal["square-root", "balanced"] | None = "square-root"
    n_jobs: int | None = None
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    report = report
    score = class_score

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
        scorer, Cs = self._check_parameters()
        with self._showing() as bar:
            deadline = Deadline.of(self.time_limit)
            generator = random_source(self.random_state)
            seeds = generator.randint(2**31 - 1, size=5)
            formulas = self._candidates(np.random.default_rng(seeds[:4]))
            data = self._read_training(X, y)
            weights = self._class_weight(classes := data.labels)
            data = TrainingData.of(table := data.table, classes, weights)
            # scikit-learn looks at numbers of text, so weights of named classes are given by row
            balanced = isinstance(weights, str)
            svc = {"C": Cs[0], "class_weight": weights if balanced else None}
            ratio = self.compare or self._by_ratio

            def scoring_of(rows: npt.NDArray[np.intp] | None) -> Scoring:
                some = data if rows is None else data.take(rows)
                by_row = np.ones(len(some.codes)) if balanced else some.weights
                validated = self.compare or not self._by_ratio
                folds = self._splits(some.labels, seeds[4]) if validated else ()
                grams = CandidateGrams(some.table)
                given = grams, some.labels, svc, by_row, folds, scorer, ratio, self.margin_C
                return Scoring(*given)

            simpler = equal_kernels(formulas, self.variables)
            places = [k for k, other in enumerate(simpler) if other is None]
            race = Race(
                scoring_of,
                classes,
                [formulas[k] for k in places],
                [partial(self._kernel, formulas[k], X) for k in places],
                "ratio" if self._by_ratio else "mean_score",
                self.n_jobs,
                bar,
                deadline.part(COMPARING),
            )
            found, n = race.run(Cs[1:])
            scores = [CandidateScore(status=f"the kernel of {formulas[k or 0]}") for k in simpler]
            for place, score in zip(places, found, strict=True):
                scores[place] = score
            self.results_ = SearchResults(formulas, scores, race.by)
            best = self.results_.best_index
            if best is None:
                raise _no_candidate(found)
            self.best_index_ = best
            self.best_formula_, self.C_ = formulas[best], scores[best].C
            model = self._model(self.best_formula_, self.C_, weights)
            model._share_encoding(self)
            bar.at(0.9, f"{clip(str(self.best_formula_), 20)}, all rows")
            self.best_estimator_ = _fit_in_time(model, data, X, n, deadline)
            self.classes_ = self.best_estimator_.classes_
            if not is_integer(self.candidates):
                warn_of_columns([self.best_formula_], self)
            if not warn_of_zeros(self.best_estimator_.kernel_, table) and not deadline.over():
                warn_of_one_class(self.best_estimator_, data)
            bar.end(f"{clip(str(self.best_formula_), 40)}, gap {self.best_estimator_.gap_:.2g}")
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

        Where only one of both was computed, that against the rank; ``compare=True`` computes both.

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
        """
        check_is_fitted(self, "best_estimator_")
        return search_results(self, ax=ax)

    # -- what is computed ---------------------------------------------------------------------

    @property
    def _by_ratio(self) -> bool:
        return isinstance(self.criterion, str) and self.criterion == "radius-margin"

    def _check_parameters(self) -> tuple[Scorer | None, list[float]]:
        """The scorer, and every C, the first to be tried first; errors come before work begins."""
        Cs: list[Any]
        if isinstance(self.C, str) and self.C == "auto":
            Cs = [AUTO_CS[1]] if self._by_ratio else [*AUTO_CS]
        elif isinstance(self.C, Iterable) and not isinstance(self.C, str):
            Cs = list(dict.fromkeys(self.C))
            if not Cs or (self._by_ratio and len(Cs) > 1):
                raise ParameterError(
                    f"C={self.C!r}; expected a positive number"
                    + (" for criterion='radius-margin'." if Cs else ", several of them, or 'auto'.")
                )
        else:
            Cs = [self.C]
        for C in Cs:
            check_number("C", C, 0, above=True, otherwise="several such numbers, or 'auto'")
        Cs.insert(0, Cs.pop(len(Cs) // 2))
        check_number("margin_C", self.margin_C, 0, above=True, otherwise="None for a hard margin")
        check_time_limit(self.time_limit)
        if self.n_jobs is not None and (not is_integer(self.n_jobs) or self.n_jobs == 0):
            raise ParameterError(
                f"n_jobs={self.n_jobs!r}; expected a number of threads, -1 for one per core, "
                "or None for one."
            )
        for name in ("normalize", "compare"):
            check_flag(name, getattr(self, name))
        criterion = "roc_auc" if self._by_ratio else self.criterion
        known: dict[Any, Scorer | None] = {"roc_auc": area_score, "log_loss": None}
        if isinstance(criterion, str) and criterion in known:
            return known[criterion], list(map(float, Cs))
        others = "'radius-margin', 'log_loss', 'roc_auc', "
        return scorer_of(criterion, "criterion", others), list(map(float, Cs))

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

    def _class_weight(self, classes: npt.NDArray[Any]) -> Any:
        """What multiplies C per class, as scikit-learn reads it."""
        if not isinstance(self.class_weight, str) or self.class_weight != "square-root":
            return self.class_weight
        names, counts = np.unique(classes, return_counts=True)
        weights = len(classes) / (np.sqrt(counts) * np.sqrt(counts).sum())  # 1 in the mean of rows
        return dict(zip(names.tolist(), weights.tolist(), strict=True))

    def _model(self, formula: Formula | Kernel, C: float, class_weight: Any = None) -> FormulaSVC:
        chosen = {"C": C, "class_weight": class_weight}
        return FormulaSVC(formula, **self._shared_parameters(FormulaSVC()) | chosen)

    def _kernel(self, formula: Formula | Kernel, X: Any) -> Kernel:
        """The kernel that the model of this formula uses."""
        model = self._model(formula, 1.0)
        model.encoder_ = self.encoder_
        return model._make_kernel(X)

    def _splits(self, classes: npt.NDArray[Any], seed: int) -> list[Split]:
        cv = self.cv
        if isinstance(cv, str) and cv == "auto":
            second = int(np.sort(np.unique(classes, return_counts=True)[1])[-2])
            n_folds = max(2, min(FOLDS, second))
            check_folds(classes, n_folds, 1.0)
            repeats = 1 + sum(len(classes) <= rows for rows in SMALL)
            cv = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
        elif is_integer(cv):
            check_folds(classes, int(cv), 1.0)
        return splits(cv, classes, seed)


def _no_candidate(scores: Sequence[CandidateScore]) -> DataError:
    """Return the error that none of the candidates is the best."""
    statuses = [score.status for score in scores]
    if all(np.isinf(score.ratio) for score in scores):
        return DataError(
            "no candidate separates the classes by a hard margin, so all ratios are infinite. "
            "Use a soft margin, margin_C=1, or criterion='log_loss'."
        )
    most = max(dict.fromkeys(statuses), key=statuses.count)
    return DataError(
        f"none of the {len(scores)} candidates could be scored. For "
        f"{statuses.count(most)} of them: {most}. Give other candidates, or another criterion."
    )


def _fit_in_time(
    model: FormulaSVC, data: TrainingData, X: Any, n_compared: int, deadline: Deadline
) -> FormulaSVC:
    """Return the model, fitted to all rows or to those that candidates were compared on.

    The latter if time is short, or is over when the solver has hardly begun.
    """
    n_rows = len(data.codes)
    if not deadline.limited:
        return model._fit_encoded(data, X)

    def of_sample() -> FormulaSVC:
        rows = subsample(data.codes, n_compared)
        fitted = copy(model)._fit_encoded(data.take(rows), X)
        fitted.support_ = rows[fitted.support_]
        return fitted

    sample = of_sample() if n_compared < n_rows else None
    short = deadline.over(LAST + n_rows / ROWS if sample is not None else 0.0)
    if not short:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model._fit_encoded(data, X, deadline)
        short = len(model.support_) == 0 or not model.gap_ < OPEN
        for one in [] if short else caught:
            warnings.warn(one.message, stacklevel=3)
    if sample is not None:
        warnings.warn(
            f"stopped by the time limit: of {n_rows:,} rows candidates were compared on "
            f"{n_compared:,}, and the best one is fitted to {n_compared if short else n_rows:,}. "
            "Allow more time.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if not short:
        return model
    return of_sample() if sample is None else sample
