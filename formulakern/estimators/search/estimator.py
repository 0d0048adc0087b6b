"""Choosing a formula when nobody knows the rule: draw many, score them in a race, fit the best."""

from __future__ import annotations

import math
import time
import warnings
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_flag, check_integer, check_number, is_integer
from formulakern.deadline import UNLIMITED, Deadline, check_time_limit
from formulakern.display.plots import search_results
from formulakern.docstrings import parameters_from
from formulakern.errors import DataError, FormulaKernError, MagnitudeError, ParameterError
from formulakern.estimators.base import TableEstimator, class_score
from formulakern.estimators.path_search import (
    COMPARING,
    Path,
    PathSearch,
    compared,
    numbers_of,
    scorer_of,
)
from formulakern.estimators.reporting.report import report
from formulakern.estimators.search.candidates import (
    draw_candidates,
    equal_kernels,
    read_candidates,
    simplicity,
)
from formulakern.estimators.svm.evaluation import area_under_curve, check_folds, subsample
from formulakern.estimators.svm.machines import FormulaSVC
from formulakern.estimators.targets import (
    Split,
    TrainingData,
    random_source,
    splits,
)
from formulakern.estimators.workers import Workers
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Reading
from formulakern.kernels.shared_grams import CandidateGrams
from formulakern.markup import small_table
from formulakern.measures import ball_and_ratio
from formulakern.optional import data_frame
from formulakern.progress import Progress
from formulakern.rules.refitting import logistic_weights
from formulakern.syntax.formula import Formula
from formulakern.text import aligned, clip

if TYPE_CHECKING:
    import pandas as pd

#: ``scorer(model, Gram rows of the test rows, their classes)``, larger is better.
Scorer = Callable[[Any, FloatArray, npt.NDArray[Any]], float]
#: Rows of the printed table, and characters of a formula in it.
SHOWN, WIDTH = 10, 48
#: The least logarithm of a probability that counts.
LEAST = math.log(1e-6)
#: Of the squared weight of decisions of standard deviation 1, in units of a row's log loss.
RIDGE = 1e-3
#: Decisions with a smaller standard deviation than this, relative to the largest, are equal.
FLAT = 1e-9
#: The status of a candidate that ranks behind others, whatever its score.
ONE_CLASS = "one class for all rows held out"
#: Larger numbers in a Gram matrix are not given to the solver.
LARGEST = 1e100
#: Scores that differ less are equal.
SAME = 1e-12
#: So many of the best candidates, and the first one, are scored with every C.
AGAIN = 3
#: Rows that all candidates are scored on at first, by how much they grow, and by what power of that
#: a candidate takes longer, at most: a Gram matrix has n² entries, its solver takes up to n³ steps.
FIRST, GROWTH, POWER = 400, 2, 3
#: Rows that the second largest class has in the first sample, at least.
ENOUGH = 10
#: ``C="auto"``.
AUTO_CS = (1.0, 10.0, 100.0)
#: ``cv="auto"``: so many folds, once more for each of these numbers of rows that is not passed.
FOLDS, SMALL = 3, (60, 150)
#: Seconds that a fit to all rows needs to be worth beginning, and rows for one more.
LAST, ROWS = 2.0, 20_000
#: A model of all rows whose relative duality gap is larger is not better than one of a sample.
OPEN = 0.5


@dataclass(frozen=True)
class CandidateScore:
    """One candidate: what was computed (NaN elsewhere), how long it took, what went wrong.

    ``margin`` is half the distance between the classes, ``ratio`` R² / distance².  ``one_class`` is
    whether the models of all folds decide for one class on all rows held out.  ``scores``, of every
    row or fold, are compared with those of others.
    """

    radius: float = np.nan
    margin: float = np.nan
    ratio: float = np.nan
    mean_score: float = np.nan
    std_score: float = np.nan
    C: float = np.nan
    seconds: float = 0.0
    status: str = "ok"
    one_class: bool = False
    scores: FloatArray = field(default_factory=partial(np.empty, 0), compare=False)

    def __bool__(self) -> bool:
        """Whether a ratio or a score is known."""
        return math.isfinite(self.ratio) or math.isfinite(self.mean_score)


class SearchResults(UserDict[str, Any]):
    """The columns of a search; a mapping from names to arrays, for ``pandas.DataFrame(results)``.

    Prints as a table of the best candidates.

    Parameters
    ----------
    formulas : list of Formula or Kernel
    scores : list of CandidateScore
    by : {"ratio", "mean_score"}
        What ranks: the smallest ratio, or the largest score, is the best.

    Attributes
    ----------
    formula, status : list
    rank : ndarray of int64
        1 for the best; candidates without a finite criterion share the last rank.  Those whose
        models decide for one class on all rows held out are behind all that do not.  Of equal ones
        (to twelve digits) that of the fewest variables is the best, then of the fewest connectives,
        then the first.
    radius, margin, ratio, mean_score, std_score, C, seconds : ndarray of float64
        See :class:`CandidateScore`.
    behind, error : ndarray of float64
        The mean difference to the score of the best, over rows (or folds, for other criteria than
        "log_loss"), and its standard error; NaN if a ratio ranks.

    Examples
    --------
    >>> from formulakern.syntax.parser import parse
    >>> scores = [CandidateScore(ratio=3.0), CandidateScore(status="stopped")]
    >>> results = SearchResults([parse("a & b"), parse("a | b")], scores, "ratio")
    >>> results["rank"], results["ratio"]
    (array([1, 2]), array([ 3., nan]))
    >>> print(results)
    2 candidates, 1 scored; the best by the radius-margin ratio:
    rank  formula  ratio  status
       1  a & b        3  ok
       2  a | b        -  stopped
    """

    def __init__(
        self, formulas: list[Formula | Kernel], scores: list[CandidateScore], by: str
    ) -> None:
        self.by = by
        super().__init__(formula=list(formulas))
        for name in ("radius", "margin", "ratio", "mean_score", "std_score", "C", "seconds"):
            self[name] = np.array([getattr(score, name) for score in scores], dtype=float)
        self["status"] = [score.status for score in scores]
        known = np.isfinite(self[by])
        losses = np.where(known, self[by] if by == "ratio" else -self[by], np.inf)
        losses = np.array([float(f"{loss:.12g}") for loss in losses])
        variables, connectives = np.array([simplicity(formula) for formula in formulas]).T
        one_class = np.array([score.one_class for score in scores])
        # stable: of equal candidates the first
        self._order = np.lexsort((connectives, variables, losses, one_class, ~known))
        rank = np.argsort(self._order) + 1
        self["rank"] = np.minimum(rank, self.n_scored + 1)
        best, none = scores[self._order[0]].scores, np.empty(0)
        others = [one.scores if len(one.scores) == len(best) else none for one in scores]
        pairs = [compared(best[: len(other)], other) for other in others]
        self["behind"], self["error"] = np.array(pairs).T

    def leading(self, n: int) -> list[int]:
        """The positions of the n best candidates of those with a finite criterion."""
        return [int(place) for place in self._order[: min(n, self.n_scored)]]

    @property
    def best_index(self) -> int | None:
        """The position of the best candidate; None if there is no finite criterion."""
        return next(iter(self.leading(1)), None)

    @property
    def n_scored(self) -> int:
        """How many candidates have a finite criterion."""
        return int(np.isfinite(self[self.by]).sum())

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a pandas DataFrame, the best candidate first."""
        formulas = list(map(str, self["formula"]))
        return data_frame({**self, "formula": formulas}).iloc[self._order]

    def pictured(self, score_name: str) -> tuple[Any, Any, str, str]:
        """Return x, y and their names, which :func:`formulakern.plot.search_results` draws."""
        ratio, score = self["ratio"], self["mean_score"]
        names = "radius-margin ratio (less is better)", f"cross-validated {score_name}"
        if (np.isfinite(ratio) & np.isfinite(score)).any():
            return ratio, score, *names
        y, name = (ratio, names[0]) if self.by == "ratio" else (score, names[1])
        return self["rank"].astype(float), y, "rank", name

    def plot(self, ax: Any = None) -> Any:
        """Draw what :meth:`FormulaSearch.plot` draws."""
        return search_results(self, ax=ax)

    def __repr__(self) -> str:
        return f"<SearchResults: {len(self._order)} candidates, {self.n_scored} scored>"

    def __str__(self) -> str:
        head, rows, sides = self._cells(WIDTH)
        lines = aligned([head, *rows], sides)
        return "\n".join([f"{self._title()}:", *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        head, rows, sides = self._cells(400)
        more = len(self._order) - len(rows)
        foot = f"… and {more:,} more candidates" if more > 0 else ""
        return small_table(head, rows, sides.replace("<", "r", 1), self._title(), foot)

    def _title(self) -> str:
        what = "the radius-margin ratio" if self.by == "ratio" else "cross-validation"
        return f"{len(self._order):,} candidates, {self.n_scored:,} scored; the best by {what}"

    def _cells(self, width: int) -> tuple[list[str], list[list[str]], str]:
        """Headings, the lines of the best candidates, and how columns stand."""
        measures = ("ratio", "mean_score", "behind", "error")
        names = [name for name in measures if np.isfinite(self[name]).any()]
        if len(np.unique(self["C"][np.isfinite(self["C"])])) > 1:
            names.append("C")
        rows = []
        for i in self._order[:SHOWN].tolist():
            numbers = ["-" if np.isnan(self[name][i]) else f"{self[name][i]:.4g}" for name in names]
            formula = clip(str(self["formula"][i]), width)
            rows.append([str(self["rank"][i]), formula, *numbers, self["status"][i]])
        return ["rank", "formula", *names, "status"], rows, "><" + ">" * len(names) + "<"


def ratio_of(gram: FloatArray, y: npt.NDArray[Any], C: float | None) -> tuple[float, float, float]:
    """Radius, margin and radius-margin ratio of a Gram matrix."""
    diagonal = gram.diagonal()
    distances_from_first = diagonal + diagonal[0] - 2 * gram[0]  # squared
    if (distances_from_first <= 1e-14 * diagonal.max(initial=0.0)).all():
        raise DataError("all rows have equal feature vectors: the kernel tells none apart.")
    ball, ratio = ball_and_ratio(gram, y, C=C, normalize=False, check=False)
    return ball.radius, ball.radius / math.sqrt(ratio) / 2, ratio


@dataclass(frozen=True, eq=False)
class Scoring:
    """What is computed for every candidate, on the Gram matrices of the training rows.

    ``splits`` is empty to leave cross-validation out, and ``scorer`` is None for the log loss of
    what is held out (see :func:`log_scores`).  ``ratio`` is whether to compute the radius-margin
    ratio.  ``running`` has an entry for each candidate that a thread is scoring.
    """

    grams: CandidateGrams
    data: TrainingData
    splits: Sequence[Split]
    scorer: Scorer | None
    ratio: bool
    margin_C: float | None
    running: list[Any]

    def score(
        self, kernel: Kernel | FormulaKernError, C: float, _: Deadline = UNLIMITED
    ) -> tuple[CandidateScore, None]:
        """Return everything about one candidate, with the error of its kernel as its status."""
        begun = time.perf_counter()
        found: dict[str, Any] = {"C": C}
        self.running.append(kernel)
        try:
            if isinstance(kernel, FormulaKernError):
                raise kernel
            gram = self.grams.gram(kernel)
            if self.ratio:
                ratios = ratio_of(gram, self.data.labels, self.margin_C)
                found |= zip(("radius", "margin", "ratio"), ratios, strict=True)
                if math.isinf(found["ratio"]):
                    found["status"] = "the classes are not separable: the ratio is infinite"
            if self.splits:
                found |= self._validated(gram, C)
        except MemoryError:
            raise
        except FormulaKernError as error:
            first = str(error).partition("\n")[0].split(". ")[0].rstrip(".")
            found["status"] = f"{type(error).__name__}: {first}"
        finally:
            self.running.pop()
        return CandidateScore(seconds=time.perf_counter() - begun, **found), None

    def _validated(self, gram: FloatArray, C: float) -> dict[str, Any]:
        """Return the scores of the rows or folds that are held out, and what they mean."""
        largest = float(gram.diagonal().max())  # of the matrix, as it is semidefinite
        if largest > LARGEST:
            raise MagnitudeError(
                f"the largest K[i, i] is {largest:.3g}, beyond what the support vector machine can "
                "square. Use normalize=True."
            )
        folds = [self._fold(gram, C, *split) for split in self.splits]
        found: dict[str, Any] = {}
        if self.scorer is not None:
            of_folds = scores = np.array(folds)
        else:
            rows, codes = np.concatenate([test for _, test in self.splits]), self.data.codes
            decisions = np.concatenate(folds)
            values = log_scores(decisions, codes[rows])
            ends = np.cumsum(list(map(len, folds)))[:-1]
            of_folds = np.array([part.mean() for part in np.split(values, ends) if len(part)])
            with np.errstate(invalid="ignore"):  # of rows that are never held out
                scores = np.bincount(rows, values, len(codes)) / np.bincount(rows, None, len(codes))
            if len(np.unique(decisions.argmax(axis=1))) == 1:
                found = {"one_class": True, "status": ONE_CLASS}
        mean = np.nanmean(scores)
        if not np.isfinite(mean):
            found["status"] = "the score is not a finite number"
        return {**found, "mean_score": mean, "std_score": np.std(of_folds), "scores": scores}

    def _fold(
        self, gram: FloatArray, C: float, train: npt.NDArray[np.intp], test: npt.NDArray[np.intp]
    ) -> Any:
        """The score of a fold; for the log loss, the decisions for all classes."""
        data, rows = self.data, gram[np.ix_(test, train)]
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model = SVC(kernel="precomputed", C=C)
            model.fit(gram[np.ix_(train, train)], data.labels[train], data.weights[train])
            if self.scorer is not None:
                return float(self.scorer(model, rows, data.labels[test]))
            decision = model.decision_function(rows)
        if decision.ndim == 1:
            decision = np.stack([-decision, decision], axis=1)
        least = decision.min(axis=1, keepdims=True) - 1  # for classes that the fold does not have
        whole = np.repeat(least, len(data.classes), axis=1)
        whole[:, np.searchsorted(data.classes, model.classes_)] = decision
        return whole


def area_score(model: Any, gram: FloatArray, y: npt.NDArray[Any]) -> float:
    """Return the area under the ROC curve of the rows of a Gram matrix."""
    return area_under_curve(y, model.decision_function(gram), model.classes_)


def log_scores(decisions: FloatArray, codes: npt.NDArray[np.intp]) -> FloatArray:
    """The logarithm of the probability of the right class, for decisions that are calibrated.

    For each class k a_k ≥ 0 and b_k are such that 1/(1 + exp(−a_k d_k − b_k)) is most likely to
    say which rows are of class k; the probabilities of a row are these, divided by their sum.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines", 1999; B. Zadrozny & C. Elkan,
    "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002,
    doi:10.1145/775047.775151.

    Examples
    --------
    >>> useless, good = np.zeros((4, 2)), np.array([[2, -2], [2, -2], [-1, 1], [1, -1]], float)
    >>> codes = np.array([0, 0, 1, 0])
    >>> log_scores(useless, codes).round(2)
    array([-0.29, -0.29, -1.39, -0.29])
    >>> bool(log_scores(good, codes).mean() > -0.1)
    True
    """
    n, n_classes = decisions.shape
    logs, up = np.empty((n, n_classes)), np.array([[0.0, 1.0]])
    for k in range(n_classes) if n_classes > 2 else (1,):
        values, of_class = decisions[:, k], (codes == k).astype(np.intp)
        spread = float(values.std())
        useful = spread > FLAT * float(np.abs(values).max())
        useful &= values @ (of_class - of_class.mean()) > 0  # else a_k would be negative
        values = values / spread if useful else np.zeros(n)
        weights, bias = logistic_weights(values[:, None], up, of_class, RIDGE)
        score = weights[0] * values + bias[1] - bias[0]
        logs[:, k] = -np.logaddexp(0.0, -score)
        if n_classes == 2:
            logs[:, 0] = -np.logaddexp(0.0, score)
    right = logs[np.arange(n), codes]
    if n_classes > 2:
        right = right - np.logaddexp.reduce(logs, axis=1)
    return np.asarray(np.maximum(right, LEAST))


# -- the race --------------------------------------------------------------------------------------


@dataclass(eq=False)
class Race:
    """The candidates of a search, scored in one round, or within a time limit in several.

    The first of several rounds has few rows, and the next one half of the candidates and twice as
    many rows.  This is successive halving: K. Jamieson, A. Talwalkar, "Non-stochastic best arm
    identification and hyperparameter optimization", AISTATS 2016, arXiv:1502.07943.  ``scoring_of``
    takes positions of rows; ``kernels`` are those of the formulas, or errors; ``by`` is the column
    of :class:`SearchResults` that ranks.  The first of ``Cs`` scores all candidates; the first
    candidate and the best ones are also scored with each of the others.

    ``scores`` are those of all candidates, and ``n_rows`` is the number of rows that they are from.
    """

    scoring_of: Callable[[npt.NDArray[np.intp]], Scoring]
    classes: npt.NDArray[Any]
    formulas: Sequence[Formula | Kernel]
    kernels: Sequence[Kernel | FormulaKernError]
    by: str
    Cs: Sequence[float]
    scores: dict[int, CandidateScore]
    running: list[Any] = field(default_factory=list)
    n_rows: int = field(default=0, init=False)
    _others: Sequence[int] = field(default=(), init=False)

    def run(self, n_jobs: int | None, bar: Progress, deadline: Deadline) -> None:
        """Score the candidates until the time is over, or Ctrl-C ends it."""
        search = PathSearch(
            [],
            [],
            Scoring.score,
            lambda setting, *_: (self.kernels[setting[0]], setting[1]),
            itemgetter(0),
            lambda setting: clip(str(self.formulas[setting[0]]), 20),
            lambda setting, score: _line(setting[0], self.formulas[setting[0]], score),
            words=("candidates", "the first"),
            workers=Workers(n_jobs, threads=True),
        )
        try:
            search.run(self._rounds(search, deadline), bar, deadline)
        finally:
            while self.running:  # in threads, which end what they have begun
                time.sleep(0.01)
        if not any(self.scores.values()):  # not even the first round is complete
            self.scores |= {search.settings[i][0]: search.trials[i] for i in search.known}
        for i in filter(search.known.get, self._others):
            (k, _), score = search.settings[i], search.trials[i]
            least = self.scores[k].mean_score + SAME
            better = (not score.one_class, score.mean_score) > (not self.scores[k].one_class, least)
            if better and np.isfinite(score.mean_score):
                self.scores[k] = score

    def _rounds(self, search: PathSearch, deadline: Deadline) -> Iterator[Path]:
        """Yield rounds, each with the better half of the candidates on twice as many rows."""
        n, places = len(self.classes), [*self.scores]
        size = n
        if deadline.limited:
            second = int(np.sort(np.unique(self.classes, return_counts=True)[1])[-2])
            size = max(FIRST, -(-ENOUGH * n // second))
        while True:
            rows = subsample(self.classes, size)
            self.n_rows, scoring = self.n_rows or len(rows), self.scoring_of(rows)
            added = search.add([(k, self.Cs[0]) for k in places])
            yield Path(added, folds=[scoring])
            new = {k: search.trials[i] for k, i in zip(places, added, strict=True)}
            self.scores, self.n_rows = self.scores | new, len(rows)
            best = self._leading(new, -(-len(places) // 2))
            seconds = float(np.mean([new[k].seconds for k in best] or [0.0]))
            longer = min(GROWTH, n / self.n_rows) ** POWER * seconds * len(best)
            if not best or self.n_rows == n or deadline.over(longer):
                break
            left_out = new.keys() - set(best)
            self.scores |= {k: _left_out(new[k], self.n_rows) for k in left_out}
            places, size = sorted(best), GROWTH * self.n_rows
        if self.Cs[1:] and not deadline.over(seconds * len(self.Cs)):
            listed = dict.fromkeys([places[0], *self._leading(new, AGAIN)])
            again = [k for k in listed if np.isfinite(new[k].mean_score)]
            self._others = search.add([(k, C) for C in self.Cs[1:] for k in again])
            yield Path(self._others, folds=[scoring])

    def _leading(self, scores: Mapping[int, CandidateScore], n: int) -> list[int]:
        """Return the n best candidates."""
        formulas, places = [self.formulas[k] for k in scores], [*scores]
        results = SearchResults(formulas, [*scores.values()], self.by)
        return [places[k] for k in results.leading(n)]


def _line(place: int, formula: Formula | Kernel, score: CandidateScore) -> str:
    known = {"ratio": score.ratio, "score": score.mean_score}
    parts = [f"{name} {value:.4g}" for name, value in known.items() if not np.isnan(value)]
    parts += [score.status] * (score.status != "ok")
    return ", ".join([f"candidate {place}: {formula}", *parts, f"{score.seconds:.2f} s"])


def _left_out(score: CandidateScore, n_rows: int) -> CandidateScore:
    """Return the score of a candidate that is worse than half of the others on fewer rows."""
    value = score.mean_score if np.isfinite(score.mean_score) else score.ratio
    if not np.isfinite(value):
        return score
    status = f"left out: {value:.4g} on {n_rows:,} rows"
    return CandidateScore(
        C=score.C, seconds=score.seconds, status=status, one_class=score.one_class
    )


# -- the estimator --------------------------------------------------------------------------------


@parameters_from(FormulaSVC)
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
    C : "auto", float or sequence of float, default="auto"
        Penalty parameter of margin errors.  Of a sequence the middle value scores all candidates;
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
    encoder : "auto", None or transformer, default="auto"
        How a table becomes 0 and 1.  ``"auto"`` fits a :class:`PropositionEncoder`.  None: the
        table must be 0/1.  A transformer is cloned, and fitted once, to all rows; it must not cut
        columns by the classes, as ``strategy="mdlp"`` does.
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
    class k; these are divided by their sum.

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
        scorer, Cs = self._check_parameters()
        with self._showing() as bar:
            deadline = Deadline.of(self.time_limit)
            seeds = random_source(self.random_state).randint(2**31 - 1, size=5)
            formulas = self._candidates(np.random.default_rng(seeds[:4]))
            data = self._read_training(X, y)
            weights = self._class_weight(data.labels)
            data = TrainingData.of(data.table, data.labels, weights)

            def scoring_of(rows: npt.NDArray[np.intp]) -> Scoring:
                some = data.take(rows)
                validated = self.compare or not self._by_ratio
                folds = self._splits(some.labels, seeds[4]) if validated else ()
                ratio = self.compare or self._by_ratio
                grams = CandidateGrams(some.table)
                return Scoring(grams, some, folds, scorer, ratio, self.margin_C, race.running)

            simpler = equal_kernels(formulas, self.variables)
            different = [k for k, other in enumerate(simpler) if other is None]
            race = Race(
                scoring_of,
                data.labels,
                formulas,
                [self._kernel(formula, X) for formula in formulas],
                "ratio" if self._by_ratio else "mean_score",
                Cs,
                dict.fromkeys(different, CandidateScore(status="interrupted")),
            )
            race.run(self.n_jobs, bar, deadline.part(COMPARING))
            scores = race.scores | {
                k: CandidateScore(status=f"the kernel of {formulas[other]}")
                for k, other in enumerate(simpler)
                if other is not None
            }
            listed = [scores[k] for k in range(len(formulas))]
            self.results_ = SearchResults(formulas, listed, race.by)
            best = self.results_.best_index
            if best is None:
                raise _no_candidate([*race.scores.values()])
            self.best_index_ = best
            self.best_formula_, self.C_ = formulas[best], scores[best].C
            model = self._model(self.best_formula_, self.C_, weights)
            model._take_encoding(self._encoding)
            bar.at(0.9, f"{clip(str(self.best_formula_), 20)}, all rows")
            self.best_estimator_ = _fit_in_time(model, data, X, race.n_rows, deadline)
            self.classes_ = self.best_estimator_.classes_
            self.best_estimator_._warn_of_traps(data)
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
        Cs = [AUTO_CS[1]] if self._by_ratio else [*AUTO_CS]
        if not isinstance(self.C, str) or self.C != "auto":
            Cs = numbers_of("C", self.C, 0.0, strict=True, otherwise="'auto'")
        if self._by_ratio and len(Cs) > 1:
            raise ParameterError(
                f"C={self.C!r}; expected a positive number for criterion='radius-margin'."
            )
        Cs.insert(0, Cs.pop(len(Cs) // 2))
        check_number("margin_C", self.margin_C, 0, above=True, otherwise="None for a hard margin")
        check_time_limit(self.time_limit)
        jobs: Any = self.n_jobs
        jobs = abs(jobs) if is_integer(jobs) else jobs
        check_integer("n_jobs", jobs, otherwise="None for one, or -1 for one per core")
        for name in ("normalize", "compare"):
            check_flag(name, getattr(self, name))
        criterion = "roc_auc" if self._by_ratio else self.criterion
        known: dict[Any, Scorer | None] = {"roc_auc": area_score, "log_loss": None}
        if isinstance(criterion, str) and criterion in known:
            return known[criterion], Cs
        return scorer_of(criterion, "criterion", "'radius-margin', 'log_loss', 'roc_auc', "), Cs

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

    def _kernel(self, formula: Formula | Kernel, X: Any) -> Kernel | FormulaKernError:
        """The kernel that the model of this formula uses, or what is wrong with it."""
        model = self._model(formula, 1.0)
        model.encoder_ = self.encoder_
        try:
            return model._make_kernel(X)
        except FormulaKernError as error:
            return error

    def _splits(self, classes: npt.NDArray[Any], seed: int) -> list[Split]:
        cv = self.cv
        if isinstance(cv, str) and cv == "auto":
            second = int(np.sort(np.unique(classes, return_counts=True)[1])[-2])
            n_folds = max(2, min(FOLDS, second))
            check_folds(classes, n_folds)
            repeats = 1 + sum(len(classes) <= rows for rows in SMALL)
            cv = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
        elif is_integer(cv):
            check_folds(classes, int(cv))
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
    if not deadline.limited:
        return model._fit_encoded(data, X)
    n_rows, rows, sample = len(data.codes), subsample(data.codes, n_compared), copy(model)
    if part := len(rows) < n_rows:
        sample._fit_encoded(data.take(rows), X)
    short = deadline.over((LAST + n_rows / ROWS) * part)
    if not short:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model._fit_encoded(data, X, deadline)
        short = len(model.support_) == 0 or not model.gap_ < OPEN
        for one in [] if short else caught:
            warnings.warn(one.message, stacklevel=3)
    if part:
        warnings.warn(
            f"stopped by the time limit: of {n_rows:,} rows candidates were compared on "
            f"{n_compared:,}, and the best one is fitted to {n_compared if short else n_rows:,}. "
            "Allow more time.",
            ConvergenceWarning,
            stacklevel=3,
        )
    elif short:
        sample._fit_encoded(data, X)
    if not short:
        return model
    sample.support_ = rows[sample.support_]
    return sample
