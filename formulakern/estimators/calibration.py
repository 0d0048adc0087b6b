"""Probabilities of classes: a logistic function of decisions, fitted to rows that are held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import update_wrapper
from types import MethodType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from formulakern.arrays import FloatArray
from formulakern.checks import check_flag
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.sources import is_sparse
from formulakern.encoding.table import Table
from formulakern.errors import DataError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.targets import random_source, row_weights
from formulakern.estimators.trials import folds_of, selectable
from formulakern.estimators.workers import FoldFits
from formulakern.interrupts import interruptible
from formulakern.partitions.collections import in_memory
from formulakern.partitions.lazy_rows import lazily
from formulakern.progress import current

__all__ = ["Calibrated", "available_unless"]

#: So many folds, and the inverse of the ridge of the logistic function, of scores of unit size.
FOLDS, RIDGE = 5, 10.0
#: The share of a time limit for the fit to all rows, where further ones follow.
LEARNING = 0.4


class available_unless:
    """A method that an instance has, unless there is a reason why not.

    Like :func:`sklearn.utils.metaestimators.available_if`, but the AttributeError says the reason.

    Parameters
    ----------
    reason : callable
        From the instance to the sentence, or "".
    """

    def __init__(self, reason: Callable[[Any], str]) -> None:
        self.reason = reason

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Decorate a method."""
        self.method = method
        update_wrapper(self, method)
        return self

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.method
        if reason := self.reason(instance):
            raise AttributeError(reason)
        return MethodType(self.method, instance)


@dataclass(eq=False, repr=False)
class Calibrated:
    """A classifier that has probabilities where ``probability=True`` asks for them.

    With s(x) the scores of a row, a number for each class (for two, and for ordered classes, one),
    the probabilities are

        P(y = k | x) ∝ exp(u_k · s(x) + b_k).

    For two classes this is the function of Platt, 1 / (1 + exp(−u·s(x) − b)).  Coefficients are
    fitted to the scores of rows that are held out, in at most five stratified folds, with a small
    ridge; then the model of all rows gives the scores.  The class that is predicted stays that of
    the decisions, which need not be the most probable one.  The folds run at once in the processes
    of ``joblib.parallel_config(backend="dask")``, or of ``backend="loky", n_jobs=2``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods, Advances in Large Margin Classifiers, MIT Press.
    """

    _: KW_ONLY
    probability: bool = False
    classes_: npt.NDArray[Any] = field(init=False)
    _calibrator: tuple[float, LogisticRegression] | None = field(init=False)

    def _read_training(self, *given: Any, **named: Any) -> Any:
        check_flag("probability", self.probability)
        return super()._read_training(*given, **named)  # type: ignore[misc]

    def _no_probabilities(self) -> str:
        """Why there is no ``predict_proba``; "" where there is."""
        if self.probability:
            return ""
        return (
            f"{type(self).__name__} has predict_proba with probability=True only. Write "
            f"{type(self).__name__}(probability=True) and fit it, which takes at most five "
            "further fits."
        )

    @available_unless(lambda self: self._no_probabilities())
    @lazily
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every class, a logistic function of the scores.

        Only with ``probability=True``.  :meth:`predict` goes by the decisions: the class that it
        gives need not be the most probable one.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Raises
        ------
        NotFittedError
            If the model is not fitted with ``probability=True``, or that was interrupted.
        """
        scores = self._class_scores(X)  # refuses before the fit
        found = getattr(self, "_calibrator", None)
        if found is None:
            raise NotFittedError(
                f"this {type(self).__name__} has learnt no probabilities. Fit it again with "
                "probability=True, to the end."
            )
        unit, calibrator = found
        chances = np.zeros((len(scores), len(self.classes_)))
        if len(scores):
            chances[:, calibrator.classes_] = calibrator.predict_proba(scores / unit)
        return chances

    def _class_scores(self, X: Any) -> FloatArray:
        """What probabilities are a function of, float64 (n_rows, 1 or n_classes)."""
        model: Any = self
        found: FloatArray = model.decision_function(X)
        return found.reshape(len(found), -1)

    def _chosen_settings(self) -> BaseEstimator:
        """An estimator like this that is not fitted, with the settings that its fit has chosen."""
        return clone(self)

    def _rows_of(self, X: Any) -> Any:
        """The table, such that rows can be selected from it."""
        own = getattr(self, "encoder", None)
        known = isinstance(X, np.ndarray) or hasattr(X, "iloc") or is_sparse(X)
        if not known and (own is None or isinstance(own, (str, PropositionEncoder))):
            return Table.of(X)
        return selectable(X)

    def _learning(self, deadline: Deadline) -> Deadline:
        """What the fit to all rows has of a time limit."""
        return deadline.part(LEARNING) if self.probability else deadline

    def _calibrate(
        self,
        X: Any,
        labels: npt.NDArray[Any],
        sample_weight: Any = None,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        """Learn probabilities from rows that are held out, where they are asked for.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            As the user gave it.
        labels : ndarray of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
        deadline : Deadline, optional
            Of all further fits.

        Raises
        ------
        DataError
            If fewer than two classes have two rows of positive weight.
        """
        self._calibrator = None
        if not self.probability:
            return
        number_of = {name: k for k, name in enumerate(self.classes_.tolist())}
        codes = np.array([number_of.get(name, -1) for name in labels.tolist()])
        weights = row_weights(labels, None, sample_weight)
        used = (weights > 0) & (codes >= 0)
        counts = np.bincount(codes[used], minlength=len(number_of))
        if (counts > 1).sum() < 2:
            raise DataError(
                "probability=True holds out rows, and fewer than two classes with 2 rows or more "
                "are there. Pass more rows, or probability=False."
            )
        if getattr(self, "stopped_", "") == "interrupted":
            _warn_interrupted()
            return
        X = in_memory(X)  # folds take rows out of it
        model: Any = self._chosen_settings()
        model.set_params(**_quiet(model) | _by_number(model, number_of))
        folded = np.flatnonzero(used & (counts[codes] > 1))
        # a class of one row is in all trainings, as nothing could be learnt without it
        always = np.setdiff1d(np.flatnonzero(codes >= 0), folded)
        rows, given = self._rows_of(X), () if sample_weight is None else (weights,)
        single = np.flatnonzero(used & (counts[codes] == 1))
        found = [(single, self._class_scores(rows[single]))] if len(single) else []
        n_folds = min(FOLDS, int(counts[counts > 1].min()))
        seed = random_source(getattr(self, "random_state", None)).randint(2**31 - 1)
        held_out, asked = [], []
        for train, test in folds_of(n_folds, codes[folded], seed):
            held_out.append(folded[test])
            asked.append((np.concatenate([folded[train], always]), folded[test]))
        shared = _HeldOut(model, rows, codes, given, deadline.limited)

        def begins(number: int) -> None:
            current().tell(f"probabilities, fold {number + 1} of {n_folds}")

        fits = FoldFits([shared] * n_folds)
        answers = fits.answers(_HeldOut.scores, asked, deadline, begins)
        try:
            with interruptible(finds=False):
                for out, scores in zip(held_out, answers, strict=True):
                    if scores is None:
                        raise KeyboardInterrupt
                    found.append((out, scores))
        except KeyboardInterrupt:
            _warn_interrupted()
            return
        seen = np.concatenate([places for places, _ in found])
        scores = np.concatenate([part for _, part in found])
        unit = float(np.sqrt(np.mean(scores**2))) or 1.0
        calibrator = LogisticRegression(C=RIDGE, solver="newton-cholesky")
        self._calibrator = unit, calibrator.fit(scores / unit, codes[seen], weights[seen])


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """What fits to folds share: a model that is not fitted, and all rows.

    Attributes
    ----------
    model : estimator
    rows : table whose rows can be selected
    codes : intp (n_rows,)
    given : tuple of float64 (n_rows,)
        The weights of rows, if there are any.
    limited : bool
        Whether fits have a time limit.
    """

    model: Any
    rows: Any
    codes: npt.NDArray[np.intp]
    given: tuple[FloatArray, ...]
    limited: bool

    def scores(
        self, at: npt.NDArray[np.intp], out: npt.NDArray[np.intp], deadline: Deadline
    ) -> FloatArray | None:
        """What a model of some rows says of others; None where Ctrl-C ended its fit."""
        model = clone(self.model)
        if self.limited:
            model.set_params(time_limit=deadline.left())
        with warnings.catch_warnings():  # the fit to all rows has said what there is to say
            warnings.simplefilter("ignore")
            model.fit(self.rows[at], self.codes[at], *(w[at] for w in self.given))
        if getattr(model, "stopped_", "") == "interrupted":
            return None
        scores: FloatArray = model._class_scores(self.rows[out])
        return scores


def _warn_interrupted() -> None:
    said = "the fit was interrupted: the model is kept, without probabilities."
    warnings.warn(said, stacklevel=4)


def _quiet(model: Any) -> dict[str, Any]:
    """Parameters of a model that is fitted to the rows of a fold."""
    return {"probability": False} | ({"verbose": False} if hasattr(model, "verbose") else {})


def _by_number(model: Any, number_of: Mapping[Any, int]) -> dict[str, Any]:
    """Weights of classes, for classes that are called by their numbers."""
    given = model.get_params(deep=False).get("class_weight")
    if not isinstance(given, Mapping):
        return {}
    return {"class_weight": {number_of[name]: w for name, w in given.items() if name in number_of}}
