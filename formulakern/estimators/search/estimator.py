"""The search for a formula: candidates are drawn and scored, and the best one is fitted."""

from __future__ import annotations

import math
import time
import warnings
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
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
    COMPARISON_SHARE,
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
from formulakern.estimators.validation import (
    Split,
    TrainingData,
    random_source,
    splits,
)
from formulakern.estimators.workers import Workers
from formulakern.gram.triple_index import Positions
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

#: ``scorer(model, Gram rows of the test rows, their classes)``; larger scores are better.
Scorer = Callable[[Any, FloatArray, npt.NDArray[Any]], float]
#: A part of a Gram matrix, by positions of rows and of columns.
Blocks = Callable[[Positions], FloatArray]
#: The splits of the quick comparison, a part of the folds, or all folds.
Stage = Literal["quick", "part", "all"]
#: The most rows of the printed table, and the most characters of a formula.
SHOWN_ROWS, MAX_FORMULA_CHARACTERS = 10, 48
#: Smaller logarithms of probabilities are raised to this one.
MIN_LOG_PROBABILITY = math.log(1e-6)
#: The penalty of the squared weight of standardised decisions, in units of the log loss of a row.
RIDGE = 1e-3
#: Decisions are equal if their standard deviation is at most this share of the largest one.
MIN_DEVIATION_SHARE = 1e-9
#: The status of a candidate that ranks behind all others, whatever its score.
ONE_CLASS = "one class for all rows held out"
#: The largest number in a Gram matrix that the solver can square.
MAX_GRAM_ENTRY = 1e100
#: Scores that differ by less are equal.
MIN_SCORE_DIFFERENCE = 1e-12
#: With ``cv="auto"`` a quick comparison chooses ``N_KEPT`` candidates for all folds, and one of
#: ``FOLD_PARTS`` parts of the folds the values of C.  A score on all folds takes at most
#: ``FULL_TIME`` times as long as a quick one.
N_KEPT, FOLD_PARTS, FULL_TIME = 2, 3, 12
#: The number of rows in the first round; the growth of that number per round; and the power of the
#: growth that bounds the time: a Gram matrix has n² entries, and its solver takes up to n³ steps.
FIRST_ROWS, ROW_GROWTH, TIME_POWER = 400, 2, 3
#: The least number of rows of the second largest class in the first round.
MIN_SECOND_CLASS_ROWS = 10
#: The values of ``C="auto"``.
AUTO_CS = (1.0, 10.0, 100.0)
#: ``cv="auto"``: the number of folds, repeated once more for each of these sizes not exceeded.
FOLDS, REPEATED_ROWS = 3, (60, 150)
#: A fit to all rows starts only if ``FIT_SECONDS`` seconds plus one per ``ROWS_PER_SECOND`` rows
#: remain.
FIT_SECONDS, ROWS_PER_SECOND = 2.0, 20_000
#: With a larger relative duality gap, a model of all rows is not better than one of a sample.
MAX_FINAL_GAP = 0.5


@dataclass(frozen=True)
class CandidateScore:
    """The measures of a candidate (NaN if not computed), the seconds they took, and the status.

    ``margin`` is half the distance between the classes, and ``ratio`` is R² / distance².
    ``one_class`` is true if the models of all folds predict one class for all held-out rows.
    ``scores``, one for each row or fold, are compared with those of other candidates.  ``folds``
    has the results of single folds, and ``first`` the scores of the quick comparison; they are the
    only ones of a candidate that it left out.
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
    first: FloatArray = field(default_factory=partial(np.empty, 0), compare=False)
    folds: Sequence[Any] = field(default=(), compare=False)

    def __bool__(self) -> bool:
        """Return True if a ratio or a score is known."""
        return math.isfinite(self.ratio) or math.isfinite(self.mean_score)

    @property
    def left_out(self) -> bool:
        """True if only the quick comparison gave a score."""
        return len(self.first) > len(self.scores)


class SearchResults(UserDict[str, Any]):
    """The results of a search: a mapping from names of columns to arrays.

    It prints as a table of the best candidates; ``pandas.DataFrame(results)`` has all.

    Parameters
    ----------
    formulas : list of Formula or Kernel
    scores : list of CandidateScore
    by : {"ratio", "mean_score"}
        The ranking criterion: the smallest ratio, or the largest score, is the best.

    Attributes
    ----------
    formula, status : list
    rank : ndarray of int64
        1 for the best; candidates without a finite criterion share the last rank.  A candidate
        that a quick comparison left out ranks behind those that were scored on all folds, and
        behind these one whose models predict one class for all held-out rows.  Ties (to twelve
        digits) are broken by the fewest variables, then by the fewest connectives, then by the
        order of the candidates.
    radius, margin, ratio, mean_score, std_score, C, seconds : ndarray of float64
        See :class:`CandidateScore`.
    behind, error : ndarray of float64
        The mean difference to the score of the best candidate, over rows (over folds, if the
        criterion is not "log_loss"), and its standard error; NaN if the ratio ranks, and the error
        of a single fold too.  The quick comparison gives them for candidates that it left out.

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
        left_out = np.array([score.left_out for score in scores])
        # a stable sort keeps the first of equal candidates
        self._order = np.lexsort((connectives, variables, losses, left_out, one_class, ~known))
        rank = np.argsort(self._order) + 1
        self["rank"] = np.minimum(rank, self.n_scored + 1)
        best, none = scores[self._order[0]], np.empty(0)
        rivals = [
            (best.first, one.first) if one.left_out else (best.scores, one.scores) for one in scores
        ]
        same = [(a, b) if len(a) == len(b) else (none, none) for a, b in rivals]
        self["behind"], error = np.array([compared(*both) for both in same]).T
        self["error"] = np.where([len(both[0]) == 1 for both in same], np.nan, error)

    def leading(self, n: int) -> list[int]:
        """Return the positions of the n best candidates with a finite criterion."""
        return [int(place) for place in self._order[: min(n, self.n_scored)]]

    @property
    def best_index(self) -> int | None:
        """The position of the best candidate; None if no candidate has a finite criterion."""
        return next(iter(self.leading(1)), None)

    @property
    def n_scored(self) -> int:
        """The number of candidates with a finite criterion."""
        return int(np.isfinite(self[self.by]).sum())

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a pandas DataFrame, the best candidate first."""
        formulas = list(map(str, self["formula"]))
        return data_frame({**self, "formula": formulas}).iloc[self._order]

    def pictured(self, score_name: str) -> tuple[Any, Any, str, str]:
        """Return x, y and their names for :func:`formulakern.plot.search_results`."""
        ratio, score = self["ratio"], self["mean_score"]
        names = "radius-margin ratio (less is better)", f"cross-validated {score_name}"
        if (np.isfinite(ratio) & np.isfinite(score)).any():
            return ratio, score, *names
        y, name = (ratio, names[0]) if self.by == "ratio" else (score, names[1])
        return self["rank"].astype(float), y, "rank", name

    def plot(self, ax: Any = None) -> Any:
        """Draw the candidates; see :meth:`FormulaSearch.plot`."""
        return search_results(self, ax=ax)

    def __repr__(self) -> str:
        return f"<SearchResults: {len(self._order)} candidates, {self.n_scored} scored>"

    def __str__(self) -> str:
        head, rows, sides = self._cells(MAX_FORMULA_CHARACTERS)
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
        """Return the headings, the lines of the best candidates, and the alignment of columns."""
        measures = ("ratio", "mean_score", "behind", "error")
        names = [name for name in measures if np.isfinite(self[name]).any()]
        if len(np.unique(self["C"][np.isfinite(self["C"])])) > 1:
            names.append("C")
        rows = []
        for i in self._order[:SHOWN_ROWS].tolist():
            numbers = ["-" if np.isnan(self[name][i]) else f"{self[name][i]:.4g}" for name in names]
            formula = clip(str(self["formula"][i]), width)
            rows.append([str(self["rank"][i]), formula, *numbers, self["status"][i]])
        return ["rank", "formula", *names, "status"], rows, "><" + ">" * len(names) + "<"


def ratio_of(gram: FloatArray, y: npt.NDArray[Any], C: float | None) -> tuple[float, float, float]:
    """Return the radius, the margin and the radius-margin ratio of a Gram matrix."""
    diagonal = gram.diagonal()
    distances_from_first = diagonal + diagonal[0] - 2 * gram[0]  # squared
    if (distances_from_first <= 1e-14 * diagonal.max(initial=0.0)).all():
        raise DataError("all rows have equal feature vectors: the kernel cannot separate classes.")
    ball, ratio = ball_and_ratio(gram, y, C=C, normalize=False, check=False)
    return ball.radius, ball.radius / math.sqrt(ratio) / 2, ratio


@dataclass(frozen=True, eq=False)
class Scoring:
    """The measures of every candidate, on the Gram matrices of the training rows.

    Without ``splits`` there is no cross-validation; ``first`` are the splits of a quick comparison,
    if there is one.  If ``scorer`` is None, the score is the log loss of the held-out rows (see
    :func:`log_scores`).  With ``ratio``, the radius-margin ratio is computed.  ``running`` has an
    entry for each candidate that a thread is scoring.
    """

    grams: CandidateGrams
    data: TrainingData
    splits: Sequence[Split]
    first: Sequence[Split]
    scorer: Scorer | None
    ratio: bool
    margin_C: float | None
    running: list[Any]

    def splits_of(self, stage: Stage) -> Sequence[Split]:
        """Return the splits of the quick comparison, of a part of the folds, or all folds."""
        if stage == "quick":
            return self.first
        return part_of(self.splits) if stage == "part" else self.splits

    def score(
        self,
        kernel: Kernel | FormulaKernError,
        C: float,
        stage: Stage,
        folds: Sequence[Any],
        _: Deadline = UNLIMITED,
    ) -> tuple[CandidateScore, None]:
        """Return the measures of one candidate; an error of its kernel becomes its status.

        ``folds`` are the known results of the first folds.
        """
        begun = time.perf_counter()
        found: dict[str, Any] = {"C": C}
        self.running.append(kernel)
        try:
            if isinstance(kernel, FormulaKernError):
                raise kernel
            block = self.grams.blocks(kernel)
            if self.ratio:
                rows = np.arange(len(self.data.codes))
                ratios = ratio_of(block((rows, rows)), self.data.labels, self.margin_C)
                found |= zip(("radius", "margin", "ratio"), ratios, strict=True)
                if math.isinf(found["ratio"]):
                    found["status"] = "the classes are not separable: the ratio is infinite"
            if self.splits:
                found |= self._validated(block, C, self.splits_of(stage), folds)
        except MemoryError:
            raise
        except FormulaKernError as error:
            first = str(error).partition("\n")[0].split(". ")[0].rstrip(".")
            found["status"] = f"{type(error).__name__}: {first}"
        finally:
            self.running.pop()
        return CandidateScore(seconds=time.perf_counter() - begun, **found), None

    def _validated(
        self, block: Blocks, C: float, splits: Sequence[Split], known: Sequence[Any]
    ) -> dict[str, Any]:
        """Return the scores of the held-out rows or folds, with their mean and deviation."""
        folds = [*known, *(self._fold(block, C, *split) for split in splits[len(known) :])]
        found: dict[str, Any] = {"folds": folds}
        if self.scorer is not None:
            of_folds = scores = np.array(folds)
        else:
            rows, codes = np.concatenate([test for _, test in splits]), self.data.codes
            decisions = np.concatenate(folds)
            values = log_scores(decisions, codes[rows])
            ends = np.cumsum(list(map(len, folds)))[:-1]
            of_folds = np.array([part.mean() for part in np.split(values, ends) if len(part)])
            with np.errstate(invalid="ignore"):  # 0/0 for rows that are never held out
                scores = np.bincount(rows, values, len(codes)) / np.bincount(rows, None, len(codes))
            if len(np.unique(decisions.argmax(axis=1))) == 1:
                found |= {"one_class": True, "status": ONE_CLASS}
        mean = np.nan if np.isnan(scores).all() else np.nanmean(scores)
        if not np.isfinite(mean):
            found["status"] = "the score is not a finite number"
        return {**found, "mean_score": mean, "std_score": np.std(of_folds), "scores": scores}

    def _fold(
        self, block: Blocks, C: float, train: npt.NDArray[np.intp], test: npt.NDArray[np.intp]
    ) -> Any:
        """Return the score of a fold; for the log loss, the decisions for all classes."""
        data, gram = self.data, block((train, train))
        labels = data.codes if self.scorer is None else data.labels
        largest = float(gram.diagonal().max())  # the largest entry of a semidefinite matrix
        if largest > MAX_GRAM_ENTRY:
            raise MagnitudeError(
                f"the largest K[i, i] is {largest:.3g}, which the support vector machine cannot "
                "square. Use normalize=True."
            )
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model = SVC(kernel="precomputed", C=C)
            model.fit(gram, labels[train], data.weights[train])
            if self.scorer is not None:
                return float(self.scorer(model, block((test, train)), labels[test]))
            if len(model.classes_) > 2:
                decision = model.decision_function(block((test, train)))
            else:
                rows = block((test, train[model.support_]))
                decision = rows @ model.dual_coef_[0] + model.intercept_
                decision = np.stack([-decision, decision], axis=1)
        least = decision.min(axis=1, keepdims=True) - 1  # for classes absent from the fold
        whole = np.repeat(least, len(data.classes), axis=1)
        whole[:, model.classes_] = decision
        return whole


def area_score(model: Any, gram: FloatArray, y: npt.NDArray[Any]) -> float:
    """Return the area under the ROC curve of the rows of a Gram matrix."""
    return area_under_curve(y, model.decision_function(gram), model.classes_)


def log_scores(decisions: FloatArray, codes: npt.NDArray[np.intp]) -> FloatArray:
    """Return the log probability of the right class of each row, from calibrated decisions.

    For each class k, a_k ≥ 0 and b_k maximise the likelihood of 1/(1 + exp(−a_k d_k − b_k)) as the
    probability of class k.  The probabilities of a row are these values divided by their sum.

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
        useful = spread > MIN_DEVIATION_SHARE * float(np.abs(values).max())
        useful &= values @ (of_class - of_class.mean()) > 0  # otherwise a_k would be negative
        values = values / spread if useful else np.zeros(n)
        weights, bias = logistic_weights(values[:, None], up, of_class, RIDGE)
        score = weights[0] * values + bias[1] - bias[0]
        logs[:, k] = -np.logaddexp(0.0, -score)
        if n_classes == 2:
            logs[:, 0] = -np.logaddexp(0.0, score)
    right = logs[np.arange(n), codes]
    if n_classes > 2:
        right = right - np.logaddexp.reduce(logs, axis=1)
    return np.asarray(np.maximum(right, MIN_LOG_PROBABILITY))


def part_of(folds: Sequence[Any]) -> Sequence[Any]:
    """Return the first of ``FOLD_PARTS`` parts of the folds."""
    return folds[: -(-len(folds) // FOLD_PARTS)]


def quick_splits(splits: Sequence[Split]) -> Sequence[Split]:
    """Return splits for a quick comparison of many candidates.

    They are a third of repeated folds.  Otherwise the first fold is turned: its held-out rows
    train, in a quarter of the time, and the others, twice as many, are scored.
    """
    if len(splits) > FOLDS:
        return part_of(splits)
    train, test = splits[0]
    return [(test, train)]


# -- the race --------------------------------------------------------------------------------------


@dataclass(eq=False)
class Race:
    """The candidates of a search, scored in one round, or within a time limit in several.

    The first of several rounds has few rows; each further round has the better half of the
    candidates and twice as many rows.  This is successive halving: K. Jamieson, A. Talwalkar,
    "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016,
    arXiv:1502.07943.  If these rounds are quick comparisons, the best candidates of the last one
    are then scored on all folds.

    ``scoring_of`` takes positions of rows; ``kernels`` has the kernel of each formula, or its
    error; ``by`` is the column of :class:`SearchResults` that ranks.  All candidates are scored
    with the first of ``Cs``, and the best one also with the others.  The run sets ``scores``, and
    ``n_rows``, the number of rows that they come from.
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
        """Score the candidates until all are done, the time is over, or Ctrl-C is pressed."""
        search = PathSearch(
            [],
            [],
            Scoring.score,
            lambda setting, *_: (self.kernels[setting[0]], *setting[1:]),
            itemgetter(0),
            lambda setting: clip(str(self.formulas[setting[0]]), 20),
            lambda setting, score: _line(setting[0], self.formulas[setting[0]], score),
            words=("candidates", "the first"),
            workers=Workers(n_jobs, threads=True),
        )
        try:
            search.run(self._rounds(search, deadline), bar, deadline)
        finally:
            while self.running:  # threads finish the candidates that they began
                time.sleep(0.01)
        if not any(self.scores.values()):  # the first round is not complete
            self.scores |= {search.settings[i][0]: search.trials[i] for i in search.known}
        for i in filter(search.known.get, self._others):
            (k, *_), score = search.settings[i], search.trials[i]
            least = self.scores[k].mean_score + MIN_SCORE_DIFFERENCE
            better = (not score.one_class, score.mean_score) > (not self.scores[k].one_class, least)
            if better and np.isfinite(score.mean_score):
                self.scores[k] = replace(score, first=self.scores[k].first)

    def _rounds(self, search: PathSearch, deadline: Deadline) -> Iterator[Path]:
        """Yield rounds, each with the better half of the candidates on twice as many rows."""
        n, places = len(self.classes), [*self.scores]
        size, C = n, self.Cs[0]
        if deadline.limited:
            second = int(np.sort(np.unique(self.classes, return_counts=True)[1])[-2])
            size = max(FIRST_ROWS, -(-MIN_SECOND_CLASS_ROWS * n // second))
        while True:
            rows = subsample(self.classes, size)
            self.n_rows, scoring = self.n_rows or len(rows), self.scoring_of(rows)
            quick = bool(scoring.first) and len(places) > N_KEPT
            added = search.add([(k, C, "quick" if quick else "all", ()) for k in places])
            yield Path(added, folds=[scoring])
            new = {k: search.trials[i] for k, i in zip(places, added, strict=True)}
            self.scores, self.n_rows = self.scores | new, len(rows)
            best = self._leading(new, -(-len(places) // 2))
            seconds = float(np.mean([new[k].seconds for k in best] or [0.0]))
            longer = min(ROW_GROWTH, n / self.n_rows) ** TIME_POWER * seconds * len(best)
            if not best or self.n_rows == n or deadline.over(longer):
                break
            left_out = new.keys() - set(best)
            self.scores |= {k: _left_out(new[k], self.n_rows) for k in left_out}
            places, size = sorted(best), ROW_GROWTH * self.n_rows
        best = best[:N_KEPT]
        if quick:
            seconds *= FULL_TIME
            if not best or deadline.over(seconds * len(best)):
                return
            added = search.add([(k, C, "all", ()) for k in best])
            yield Path(added, folds=[scoring])
            done = {k: search.trials[i] for k, i in zip(best, added, strict=True)}
            self.scores |= {k: _left_out_first(score) for k, score in new.items()}
            new = {k: replace(score, first=new[k].scores) for k, score in done.items()}
            self.scores |= new
        leading, others = self._leading(new, 1), [(C, ()) for C in self.Cs[1:]]
        if not (others and leading) or deadline.over(seconds * len(self.Cs)):
            return
        (k,) = leading
        if scoring.first:  # those that are better on a part of the folds
            known = C, part_of(new[k].folds)
            added = search.add([(k, c, "part", own) for c, own in (known, *others)])
            yield Path(added, folds=[scoring])
            middle, *found = [search.trials[i] for i in added]
            least = not middle.one_class, middle.mean_score
            better = [one for one in found if (not one.one_class, one.mean_score) > least]
            others = [(one.C, one.folds) for one in better]
        self._others = search.add([(k, c, "all", own) for c, own in others])
        yield Path(self._others, folds=[scoring])

    def _leading(self, scores: Mapping[int, CandidateScore], n: int) -> list[int]:
        """Return the n best candidates."""
        formulas, places = [self.formulas[k] for k in scores], [*scores]
        results = SearchResults(formulas, [*scores.values()], self.by)
        return [places[k] for k in results.leading(n)]


def _line(place: int, formula: Formula | Kernel, score: CandidateScore) -> str:
    known = {"C": score.C, "ratio": score.ratio, "score": score.mean_score}
    parts = [f"{name} {value:.4g}" for name, value in known.items() if not np.isnan(value)]
    parts += [score.status] * (score.status != "ok")
    return ", ".join([f"candidate {place}: {formula}", *parts, f"{score.seconds:.2f} s"])


def _left_out_first(score: CandidateScore) -> CandidateScore:
    """Return the score of a candidate that was not among the best of the quick comparison."""
    if not score:
        return score
    return replace(score, first=score.scores, scores=np.empty(0), status="left out at first")


def _left_out(score: CandidateScore, n_rows: int) -> CandidateScore:
    """Return the score of a candidate in the worse half of a round on ``n_rows`` rows."""
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
    """A search for the formula of a support vector machine, among random or given candidates.

    Candidates are ranked by cross-validation: the best one has the largest mean log probability of
    the classes of held-out rows.  It is fitted to all rows as a :class:`FormulaSVC`.

    The alternative needs neither training nor validation rows.  With R the radius of the smallest
    ball around all rows in the feature space of a candidate, and D the distance between the
    classes, the error is bounded by a multiple of R²/D².

    Parameters
    ----------
    candidates : int or list of str, Formula or Kernel, default=10
        The candidates, or their number: ``x1 & x2``, ``x1`` and random formulas with different
        kernels and no double negations.
    criterion : str or callable, default="log_loss"
        ``"log_loss"``: the largest mean log probability of the right class, over the held-out rows
        of cross-validation, by calibrated decisions (see Notes).  ``"radius-margin"``: the smallest
        R²/D² of the training rows.  Otherwise the largest cross-validated score: ``"roc_auc"`` (for
        several classes, the mean of one against the rest), ``"accuracy"``, another name in
        ``sklearn.metrics.get_scorer_names()``, or a scorer.
    C : "auto", float or sequence of float, default="auto"
        Penalty parameter of margin errors.  All candidates are scored with the middle value of a
        sequence, and the best one also with the other values.  ``"auto"`` is (1, 10, 100), or 10 if
        the criterion is "radius-margin".
    p, eta : float, default=0.4, 0.7
        The parameters of random formulas; see :func:`formulakern.random_formula`.
    margin_C : float or None, default=1.0
        R and D are computed for K + I/margin_C, the soft margin of squared errors, for which the
        bound is proven.  None is the hard margin; the ratio is infinite if it cannot separate the
        classes.
    cv : "auto", int or splitter, default="auto"
        The folds, stratified and shuffled, and the same for every candidate.  ``"auto"``: three
        folds, in two repetitions for at most 150 rows, and in three for at most 60.  A quick
        comparison of all candidates, by a third of these fits or with a third of the rows for
        training, finds two that are scored on all folds.  The other values of C are tried on a
        third of the folds first.  With other values of ``cv``, or with ``compare``, all candidates
        are scored on all folds.
    compare : bool, default=False
        Compute both ratio and score of every candidate, for :meth:`plot`.  With the criterion
        "radius-margin", the score is "roc_auc".
    encoder : "auto", None or transformer, default="auto"
        The encoder of tables as 0 and 1, fitted once, to all rows.  ``"auto"`` is
        ``PropositionEncoder()``.  None: the table must be 0/1.  A transformer is cloned; its cut
        points must not depend on the classes, as those of ``strategy="mdlp"`` do.
    class_weight : mapping, "square-root", "balanced" or None, default="square-root"
        Multiplies C per class.  With n_k rows of class k, ``"balanced"`` is proportional to 1/n_k,
        which favours balanced accuracy; None favours accuracy.  ``"square-root"``, proportional to
        1/√n_k, is between both: better macro F1 at little cost of accuracy.
    n_jobs : int, optional
        The number of candidates that are scored at once, each with a Gram matrix: in threads, or in
        processes of ``joblib.parallel_config(backend="dask")`` (or "loky").  It does not change the
        result.
    time_limit : float, optional
        The most seconds for the whole fit.  At most half of them are for the candidates: all are
        scored on a stratified sample of 400 rows, the better half on twice as many rows, and so on,
        until the next round would not end in time.  The rest is for the last fit.  If less than two
        seconds plus one per 20,000 rows remain, the model is fitted to the last sample alone.  A
        ConvergenceWarning reports the number of rows or the duality gap, and ``status`` has the
        candidates that were left out.
    random_state : int, RandomState or None
        Draws formulas and folds.

    Attributes
    ----------
    best_estimator_ : FormulaSVC
        The best candidate, fitted to all rows.
    best_formula_ : Formula or Kernel
    C_ : float
        Its penalty parameter.
    best_index_ : int
        Its position among the candidates.
    results_ : SearchResults
        The columns ``formula``, ``rank``, ``ratio``, ``radius``, ``margin``, ``mean_score``,
        ``std_score``, ``C``, ``behind``, ``error``, ``seconds``, ``status``.  ``behind`` is the
        mean difference to the best score, and ``error`` its standard error: a smaller difference
        than that is not evidence that a candidate is worse.  It prints as a table.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.

    Notes
    -----
    The joint counts of the rows are computed once.  A candidate costs a look-up per pair of rows
    of each fold, then the support vector machines of all folds, or one ball and one distance (per
    class, for more than two).  Peak memory is about two Gram matrices per job.

    *Calibration.*  For each class k, a_k ≥ 0 and b_k are fitted to the held-out rows so that
    1/(1 + exp(−a_k d_k(x) − b_k)) is the probability that a row with the decision d_k(x) is of
    class k.  These probabilities are divided by their sum.

    A candidate whose models predict one class for all held-out rows ranks behind all others.  Ties
    are broken by the fewest variables, then by the fewest connectives, then by the order of the
    candidates.  A formula with the kernel of a simpler one is not scored, and a candidate that
    cannot be computed ranks last; ``status`` has the reason.  Ctrl-C ends the search: the best
    candidate so far is fitted, with a warning.

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
        """Encode the table, score every candidate, and fit the best one.

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
        with self._progress_bar() as bar:
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
                quick = not ratio and isinstance(self.cv, str)
                first = quick_splits(folds) if quick else ()
                grams = CandidateGrams(some.table)
                margin_C, running = self.margin_C, race.running
                return Scoring(grams, some, folds, first, scorer, ratio, margin_C, running)

            simpler: list[int | None] = [None] * len(formulas)  # drawn formulas are different
            if not is_integer(self.candidates):
                simpler = equal_kernels(formulas, self.variables)
            different = [k for k, other in enumerate(simpler) if other is None]
            race = Race(
                scoring_of,
                data.labels,
                formulas,
                [*self._kernels(formulas, X)],
                "ratio" if self._by_ratio else "mean_score",
                Cs,
                dict.fromkeys(different, CandidateScore(status="interrupted")),
            )
            race.run(self.n_jobs, bar, deadline.part(COMPARISON_SHARE))
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
        """Return the class of every row, by the best candidate.

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
        """Return signed distances from the separating surfaces, by the best candidate.

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
        """Draw score against radius-margin ratio, a point per candidate; the chosen one is marked.

        If only one of both was computed, it is drawn against the rank; ``compare=True`` computes
        both.

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

    # -- parameters ---------------------------------------------------------------------------

    @property
    def _by_ratio(self) -> bool:
        return isinstance(self.criterion, str) and self.criterion == "radius-margin"

    def _check_parameters(self) -> tuple[Scorer | None, list[float]]:
        """Check the parameters; return the scorer and all C, beginning with the middle one."""
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
                f"only {len(drawn)} formulas with different kernels were found, not {given}. Use a "
                f"larger p (now {self.p}) or a smaller eta (now {self.eta}) for larger formulas.",
                stacklevel=3,
            )
        return list(drawn)

    def _class_weight(self, classes: npt.NDArray[Any]) -> Any:
        """Return the factors of C per class in a form that scikit-learn reads."""
        if not isinstance(self.class_weight, str) or self.class_weight != "square-root":
            return self.class_weight
        names, counts = np.unique(classes, return_counts=True)
        weights = len(classes) / (np.sqrt(counts) * np.sqrt(counts).sum())  # 1 in the mean of rows
        return dict(zip(names.tolist(), weights.tolist(), strict=True))

    def _model(self, formula: Formula | Kernel, C: float, class_weight: Any = None) -> FormulaSVC:
        chosen = {"C": C, "class_weight": class_weight}
        return FormulaSVC(formula, **self._shared_parameters(FormulaSVC()) | chosen)

    def _kernels(
        self, formulas: Sequence[Formula | Kernel], X: Any
    ) -> Iterator[Kernel | FormulaKernError]:
        """Yield the kernel that the model of each formula uses, or its error."""
        model = self._model(formulas[0], 1.0)
        model.encoder_ = self.encoder_
        for formula in formulas:
            model.formula = formula
            try:
                yield model._make_kernel(X)
            except FormulaKernError as error:
                yield error

    def _splits(self, classes: npt.NDArray[Any], seed: int) -> list[Split]:
        cv = self.cv
        if isinstance(cv, str) and cv == "auto":
            second = int(np.sort(np.unique(classes, return_counts=True)[1])[-2])
            n_folds = max(2, min(FOLDS, second))
            check_folds(classes, n_folds)
            repeats = 1 + sum(len(classes) <= rows for rows in REPEATED_ROWS)
            cv = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
        elif is_integer(cv):
            check_folds(classes, int(cv))
        return splits(cv, classes, seed)


def _no_candidate(scores: Sequence[CandidateScore]) -> DataError:
    """Return the error for a search without a best candidate."""
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
    """Return the model, fitted to all rows, or to the last sample.

    The sample is used if time is short, or if the solver of all rows ends with a large gap.
    """
    if not deadline.limited:
        return model._fit_encoded(data, X)
    n_rows, rows, sample = len(data.codes), subsample(data.codes, n_compared), copy(model)
    if part := len(rows) < n_rows:
        sample._fit_encoded(data.take(rows), X)
    short = deadline.over((FIT_SECONDS + n_rows / ROWS_PER_SECOND) * part)
    if not short:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model._fit_encoded(data, X, deadline)
        short = len(model.support_) == 0 or not model.gap_ < MAX_FINAL_GAP
        for one in [] if short else caught:
            warnings.warn(one.message, stacklevel=3)
    if part:
        warnings.warn(
            f"stopped by the time limit: candidates were compared on {n_compared:,} of "
            f"{n_rows:,} rows, and the best one is fitted to {n_compared if short else n_rows:,}. "
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
