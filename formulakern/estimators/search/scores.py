"""Scoring one candidate: its Gram matrix, and the ratio or the cross-validated score of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.metrics import get_scorer
from sklearn.svm import SVC

from formulakern.arrays import FloatArray
from formulakern.errors import DataError, FormulaKernError, MagnitudeError, ParameterError
from formulakern.estimators.search.results import CandidateScore
from formulakern.estimators.svm.evaluation import area_under_curve
from formulakern.estimators.targets import Split
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.shared_grams import CandidateGrams
from formulakern.measures import enclosing_ball, margin
from formulakern.rules.refitting import logistic_weights

__all__ = ["Scorer", "Scoring", "log_scores", "ratio_of", "scorer_of"]

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
#: ``scorer(model, Gram rows of the test rows, their classes)``, larger is better.
Scorer = Callable[[Any, FloatArray, npt.NDArray[Any]], float]


def scorer_of(criterion: str | Scorer) -> Scorer | None:
    """The function behind the name of a score."""
    if callable(criterion):
        return criterion
    if criterion == "roc_auc":
        return _area
    if criterion == "log_loss":
        return None
    try:
        if not isinstance(criterion, str):
            raise TypeError
        scorer: Scorer = get_scorer(criterion)
    except (ValueError, TypeError):
        raise ParameterError(
            f"criterion={criterion!r} is unknown; expected 'radius-margin', or the name of a score "
            "for classes such as 'log_loss', 'roc_auc' or 'balanced_accuracy', or a scorer."
        ) from None

    def score(model: Any, gram: FloatArray, y: npt.NDArray[Any]) -> float:
        try:
            return scorer(model, gram, y)
        except (AttributeError, TypeError, ValueError) as error:
            raise ParameterError(
                f"criterion={criterion!r} cannot score the classes that a support vector machine "
                f"predicts ({str(error).splitlines()[0].rstrip('.')}). Use a score such as "
                "'roc_auc', 'accuracy' or 'balanced_accuracy'."
            ) from error

    return score


def ratio_of(gram: FloatArray, y: npt.NDArray[Any], C: float | None) -> tuple[float, float, float]:
    """Radius, margin and radius-margin ratio of a Gram matrix."""
    diagonal = gram.diagonal().copy()
    distances_from_first = diagonal + diagonal[0] - 2 * gram[0]  # squared
    if (distances_from_first <= 1e-14 * diagonal.max(initial=0.0)).all():
        raise DataError("all rows have equal feature vectors: the kernel tells none apart.")
    if C is not None:
        np.fill_diagonal(gram, diagonal + 1 / C)
    try:
        radius = enclosing_ball(gram, check=False).radius
        classes = np.unique(y)
        parts = classes[1:] if len(classes) == 2 else classes
        distances = [margin(gram, y == part, check=False).distance for part in parts]
    finally:
        np.fill_diagonal(gram, diagonal)
    ratios = [radius**2 / distance**2 if distance else math.inf for distance in distances]
    ratio = math.fsum(ratios) / len(ratios)
    return radius, radius / math.sqrt(ratio) / 2, ratio


@dataclass(frozen=True, eq=False)
class Scoring:
    """What is computed for every candidate.

    Parameters
    ----------
    grams : CandidateGrams
        Of the training rows.
    y : ndarray of shape (m,)
    svc : dict
        Parameters of the support vector machine of a fold.
    weights : float64 (m,)
        What multiplies C for every row.
    splits : sequence of (ndarray, ndarray)
        Training and test rows of every fold; empty to leave cross-validation out.
    scorer : callable or None
        None for the log loss of what is held out; see :func:`log_scores`.
    ratio : bool
        Whether to compute the radius-margin ratio.
    margin_C : float or None
    """

    grams: CandidateGrams
    y: npt.NDArray[Any]
    svc: dict[str, Any]
    weights: FloatArray
    splits: Sequence[Split]
    scorer: Scorer | None
    ratio: bool
    margin_C: float | None

    def score(
        self, make: Callable[[], Kernel], out: FloatArray | None = None, C: float | None = None
    ) -> CandidateScore:
        """Everything about one candidate; what cannot be computed is told in its status."""
        begun = perf_counter()
        svc = self.svc if C is None else self.svc | {"C": C}
        found: dict[str, Any] = {"C": svc["C"]}
        try:
            gram = self.grams.gram(make(), out)
            if self.ratio:
                found["radius"], found["margin"], found["ratio"] = ratio_of(
                    gram, self.y, self.margin_C
                )
                if math.isinf(found["ratio"]):
                    found["status"] = "the classes are not separable: the ratio is infinite"
            if self.splits:
                _check_magnitude(gram)
                folds = [self._fold(svc, gram, *split) for split in self.splits]
                if self.scorer is None:
                    of_folds, scores = self._log_loss(folds)
                    decided = np.unique(np.concatenate(folds).argmax(axis=1))
                    if len(decided) == 1:
                        found |= {"one_class": True, "status": ONE_CLASS}
                else:
                    of_folds = scores = np.array(folds)
                found["mean_score"], found["std_score"] = np.nanmean(scores), np.std(of_folds)
                found["scores"] = scores
                if not np.isfinite(found["mean_score"]):
                    found["status"] = "the score is not a finite number"
        except MemoryError:
            raise
        except FormulaKernError as error:
            first = str(error).partition("\n")[0].split(". ")[0].rstrip(".")
            found["status"] = f"{type(error).__name__}: {first}"
        return CandidateScore(seconds=perf_counter() - begun, **found)

    def _fold(
        self,
        svc: dict[str, Any],
        gram: FloatArray,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
    ) -> Any:
        """The score of a fold; for the log loss, the decisions for all classes."""
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model = SVC(kernel="precomputed", **svc)
            model.fit(gram[np.ix_(train, train)], self.y[train], self.weights[train])
            rows = gram[np.ix_(test, train)]
            if self.scorer is not None:
                return float(self.scorer(model, rows, self.y[test]))
            decision = model.decision_function(rows)
        if decision.ndim == 1:
            decision = np.stack([-decision, decision], axis=1)
        classes = np.unique(self.y)
        least = decision.min(axis=1, keepdims=True) - 1  # for classes that the fold does not have
        whole = np.repeat(least, len(classes), axis=1)
        whole[:, np.searchsorted(classes, model.classes_)] = decision
        return whole

    def _log_loss(self, decisions: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """The mean score of every fold, and the mean score of every row (nan if never held out)."""
        rows = np.concatenate([test for _, test in self.splits])
        codes = np.unique(self.y, return_inverse=True)[1]
        values = log_scores(np.concatenate(decisions), codes[rows])
        ends = np.cumsum([len(test) for _, test in self.splits])
        folds = np.array([part.mean() for part in np.split(values, ends[:-1]) if len(part)])
        with np.errstate(invalid="ignore"):
            return folds, np.bincount(rows, values, len(codes)) / np.bincount(
                rows, None, len(codes)
            )


def log_scores(decisions: FloatArray, codes: npt.NDArray[np.intp]) -> FloatArray:
    """The logarithm of the probability of the right class, for decisions that are calibrated.

    For each class k a_k ≥ 0 and b_k are such that 1/(1 + exp(−a_k d_k − b_k)) is most likely to
    say which rows are of class k; the probabilities of a row are these, divided by their sum.

    Notes
    -----
    A model that decides for the class of most rows everywhere has no better score than the shares
    of the classes give; one that orders the rows well has, whatever its threshold.

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
    parts = range(n_classes) if n_classes > 2 else (1,)
    logs = np.empty((n, n_classes))
    for k in parts:
        values, of_class = decisions[:, k], (codes == k).astype(np.intp)
        spread = float(values.std())
        apart = spread > FLAT * float(np.abs(values).max())
        values = values / spread if apart else np.zeros(n)
        up = np.array([[0.0, 1.0]])
        weights, bias = logistic_weights(values[:, None], up, of_class, RIDGE)
        if weights[0] < 0:  # worse than none
            weights, bias = logistic_weights(np.zeros((n, 1)), up, of_class, RIDGE)
        score = weights[0] * values + bias[1] - bias[0]
        logs[:, k] = -np.logaddexp(0.0, -score)
        if n_classes == 2:
            logs[:, 0] = -np.logaddexp(0.0, score)
    right = logs[np.arange(n), codes]
    if n_classes > 2:
        right = right - np.logaddexp.reduce(logs, axis=1)
    return np.asarray(np.maximum(right, LEAST))


def _area(model: Any, gram: FloatArray, y: npt.NDArray[Any]) -> float:
    return area_under_curve(y, model.decision_function(gram), model.classes_)


def _check_magnitude(gram: FloatArray) -> None:
    largest = float(gram.diagonal().max())  # of the whole matrix, as it is semidefinite
    if largest > LARGEST:
        raise MagnitudeError(
            f"the largest K[i, i] is {largest:.3g}, beyond what the support vector machine can "
            "square. Use normalize=True."
        )
