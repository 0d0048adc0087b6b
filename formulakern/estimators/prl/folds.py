"""The folds of a cross-validation of preference learners, and what they say of a setting."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.hkl.class_scores import log_probabilities
from formulakern.estimators.prl.classifier import PRLClassifier
from formulakern.estimators.prl.parameters import automatic_C
from formulakern.estimators.trials import Trial, countable, means_of
from formulakern.learning.prl.restricted_game import Column
from formulakern.rules.rule import Rule

__all__ = ["SHAPE", "Fold", "calibrated_votes", "trial_of"]

#: The least logarithm of a probability that counts.
LEAST = float(np.log(1e-6))
#: The logarithm of the factor of the scores is at most so large, and at least less that.
WIDEST = float(np.log(20))
#: What is known of every fit beside its score.
SHAPE = ("rules", "length", "certified", "several")


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows of one fold, encoded, and the rows that are held out.

    Attributes
    ----------
    train, unseen : PackedTable
    labels : ndarray of shape (train.n_rows,)
    weights : ndarray of shape (train.n_rows,), or None
    right : ndarray of shape (unseen.n_rows,)
        The classes of the rows that are held out.
    test : ndarray of shape (unseen.n_rows,), intp
        Their numbers.
    reader : PRLClassifier
        With the encoding of these rows.
    """

    train: PackedTable
    unseen: PackedTable
    labels: npt.NDArray[Any]
    weights: FloatArray | None
    right: npt.NDArray[Any]
    test: npt.NDArray[np.intp]
    reader: PRLClassifier

    def fitted(
        self, model: PRLClassifier, automatic: bool, known: Sequence[Column], deadline: Deadline
    ) -> tuple[PRLClassifier, Sequence[Column]]:
        """A model fitted to the training rows, and the columns of its game.

        Parameters
        ----------
        model : PRLClassifier
        automatic : bool
            Whether its C counts automatic ones.
        known : sequence of Column
            Those of the game before.
        deadline : Deadline

        Raises
        ------
        KeyboardInterrupt
            Also where the learner would keep its best so far.
        """
        model._share_encoding(self.reader)
        model.classes_ = np.unique(self.labels)
        preferences, rows = model._of_classes(self.labels, self.weights)
        if automatic:
            model.C = float(model.C) * automatic_C(preferences)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it ended early, or has no rules
            columns = model._solve(self.train, preferences, rows, known=known, deadline=deadline)
        if model.stopped_ == "interrupted":
            raise KeyboardInterrupt
        return model, columns

    def scores(self, model: PRLClassifier, classes: npt.NDArray[Any]) -> FloatArray:
        """The votes for all classes on the rows that are held out, with a margin of 1; −∞ for
        classes that the training rows lack.
        """
        scores = np.full((len(self.right), len(classes)), -np.inf)
        known = np.searchsorted(classes, model.classes_)
        scores[:, known] = model._scores(self.unseen) / model._margin
        return scores


def trial_of(
    folds: Sequence[Fold], models: Sequence[PRLClassifier], labels: npt.NDArray[Any], scorer: Any
) -> Trial:
    """What the models of all folds are worth on the rows that each does not know.

    Rows of a class that the training rows of their fold lack do not count.

    Parameters
    ----------
    folds : sequence of Fold
    models : sequence of PRLClassifier, one for each
    labels : ndarray of shape (n_rows,)
        Of all rows.
    scorer : callable or None
    """
    rows = np.concatenate([fold.test for fold in folds])
    classes, codes = np.unique(labels, return_inverse=True)
    held_out = [fold.scores(model, classes) for fold, model in zip(folds, models, strict=True)]
    several = len(np.unique(np.concatenate(held_out).argmax(axis=1))) > 1  # classes are predicted
    shapes = np.array([[*_shape(model), several] for model in models])
    known = countable([(fold.labels, fold.right) for fold in folds])
    weights = (np.bincount(codes)[codes] / len(codes))[rows][known] ** -0.5
    values = np.full(len(rows), np.nan)
    t, values[known] = calibrated_votes(
        np.concatenate(held_out)[known], codes[rows][known], weights / weights.mean()
    )
    if scorer is not None:
        pairs = zip(folds, models, strict=True)
        by_fold = np.array([float(scorer(model, f.unseen, f.right)) for f, model in pairs])
        return Trial(by_fold, by_fold, shapes, t)
    return Trial(*means_of([fold.test for fold in folds], values, len(labels)), shapes, t)


def calibrated_votes(
    votes: FloatArray, codes: npt.NDArray[np.intp], weights: FloatArray
) -> tuple[float, FloatArray]:
    """The factor t by which votes are best stretched to logarithms of odds, and ln p_y of each row.

    p_k ∝ e^{t·s_k}, and t makes the weighted mean of ln p_y the largest.

    Parameters
    ----------
    votes : float64 (m, K)
        s, for two classes both signs of half the logarithm.
    codes : intp (m,)
        y, the number of the right class.
    weights : float64 (m,)

    Returns
    -------
    t : float
        From 1/20 to 20.
    values : float64 (m,)
        The logarithms, times the weights.

    Examples
    --------
    Right in three of four rows: the odds are 3.

    >>> votes = np.array([[1.0, -1.0]] * 4)
    >>> t, values = calibrated_votes(votes, np.array([0, 0, 0, 1]), np.ones(4))
    >>> round(float(np.exp(t)), 2), np.exp(values).round(2)
    (3.0, array([0.75, 0.75, 0.75, 0.25]))
    """
    from scipy.optimize import minimize_scalar

    def values(log_t: float) -> FloatArray:
        logs = log_probabilities(np.exp(log_t) * votes)
        return np.asarray(weights * np.maximum(logs[np.arange(len(codes)), codes], LEAST))

    found = minimize_scalar(
        lambda log_t: -float(values(log_t).mean()), bounds=(-WIDEST, WIDEST), method="bounded"
    )
    return float(np.exp(found.x)), values(found.x)


def _shape(model: PRLClassifier) -> tuple[float, float, float]:
    """Number of rules, their mean length, and whether the game was solved."""
    rules = model.rules_.rules
    lengths = [len(rule.formula.leaves) if isinstance(rule, Rule) else 1 for rule in rules]
    solved = float(model.stopped_ == "optimal")
    return float(len(lengths)), float(np.mean(lengths)) if lengths else 0.0, solved
