"""Scoring one candidate: its Gram matrix, and the ratio or the cross-validated score of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
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

__all__ = ["Scorer", "Scoring", "ratio_of", "scorer_of"]

#: Larger numbers in a Gram matrix are not given to the solver.
LARGEST = 1e100
#: ``scorer(model, Gram rows of the test rows, their classes)``, larger is better.
Scorer = Callable[[Any, FloatArray, npt.NDArray[Any]], float]


def scorer_of(criterion: str | Scorer) -> Scorer:
    """The function behind the name of a score.

    Parameters
    ----------
    criterion : str or callable
        ``"roc_auc"``, for several classes the mean of one against the rest; or another name that
        ``sklearn.metrics.get_scorer_names()`` lists; or a scorer.

    Raises
    ------
    ParameterError
        If the name is unknown.
    """
    if callable(criterion):
        return criterion
    if criterion == "roc_auc":
        return _area
    try:
        if not isinstance(criterion, str):
            raise TypeError
        scorer: Scorer = get_scorer(criterion)
    except (ValueError, TypeError):
        raise ParameterError(
            f"criterion={criterion!r} is unknown; expected 'radius-margin', or the name of a score "
            "for classes such as 'roc_auc', 'accuracy' or 'balanced_accuracy', or a scorer."
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
    """Radius, margin and radius-margin ratio of a Gram matrix.

    Parameters
    ----------
    gram : float64 (m, m)
        Changed on its diagonal while this works.
    y : ndarray of shape (m,)
        Two classes at least.
    C : float or None
        Soft margin: those of K + I/C.  None: the hard margin.

    Returns
    -------
    (float, float, float)
        R; half the distance between the classes; R² / distance².  For several classes the ratio is
        the mean over one against the rest, and the margin the one of two classes with this ratio.

    Raises
    ------
    DataError
        If all feature vectors are equal.
    MagnitudeError
        If the squares of the values leave the range of float64.
    """
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
    splits : sequence of (ndarray, ndarray)
        Training and test rows of every fold; empty to leave cross-validation out.
    scorer : callable
    ratio : bool
        Whether to compute the radius-margin ratio.
    margin_C : float or None
    """

    grams: CandidateGrams
    y: npt.NDArray[Any]
    svc: dict[str, Any]
    splits: Sequence[Split]
    scorer: Scorer
    ratio: bool
    margin_C: float | None

    def score(self, make: Callable[[], Kernel], out: FloatArray) -> CandidateScore:
        """Everything about one candidate; what cannot be computed is told in its status.

        Parameters
        ----------
        make : callable
            Builds the kernel.
        out : float64 (m, m)
            For its Gram matrix.
        """
        begun = perf_counter()
        found: dict[str, Any] = {}
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
                scores = [self._fold(gram, *split) for split in self.splits]
                found["mean_score"], found["std_score"] = np.mean(scores), np.std(scores)
                if not np.isfinite(found["mean_score"]):
                    found["status"] = "the score is not a finite number"
        except MemoryError:
            raise
        except FormulaKernError as error:
            first = str(error).partition("\n")[0].split(". ")[0].rstrip(".")
            found["status"] = f"{type(error).__name__}: {first}"
        return CandidateScore(seconds=perf_counter() - begun, **found)

    def _fold(
        self, gram: FloatArray, train: npt.NDArray[np.intp], test: npt.NDArray[np.intp]
    ) -> float:
        model = SVC(kernel="precomputed", **self.svc)
        model.fit(gram[np.ix_(train, train)], self.y[train])
        return float(self.scorer(model, gram[np.ix_(test, train)], self.y[test]))


def _area(model: Any, gram: FloatArray, y: npt.NDArray[Any]) -> float:
    return area_under_curve(y, model.decision_function(gram), model.classes_)


def _check_magnitude(gram: FloatArray) -> None:
    largest = float(gram.diagonal().max())  # of the whole matrix, as it is semidefinite
    if largest > LARGEST:
        raise MagnitudeError(
            f"the largest K[i, i] is {largest:.3g}, beyond what the support vector machine can "
            "square. Use normalize=True."
        )
