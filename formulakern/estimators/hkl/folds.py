"""The folds of a cross-validation of hierarchical kernel learning, and what they say of a model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from formulakern.arrays import FloatArray
from formulakern.deadline import Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.hkl.class_scores import HierarchicalClassifier, log_probabilities
from formulakern.estimators.hkl.classifier import HKLClassifier
from formulakern.estimators.trials import Trial, countable, means_of
from formulakern.learning.hkl.ordinal import log_chances
from formulakern.rules.rule import Rule

__all__ = [
    "SHAPE",
    "Part",
    "base_scores",
    "calibrated",
    "setting_line",
    "trial_of",
]

#: The least logarithm of a probability that counts.
LEAST = float(np.log(1e-6))
#: Thresholds below and above all scores.
FAR = 1e6
#: The logarithm of the factor of the scores is at most so large, and at least less that.
WIDEST = float(np.log(20))
#: What is known of every fit beside its score.
SHAPE = ("rules", "length", "gap")


@dataclass(frozen=True, eq=False)
class Part:
    """Training rows of one fold, encoded, and the rows that are held out.

    Attributes
    ----------
    train, unseen : PackedTable
    labels, weights : ndarray of shape (train.n_rows,)
    right : ndarray of shape (unseen.n_rows,)
        The classes of the rows that are held out.
    test : ndarray of shape (unseen.n_rows,), intp
        Their numbers.
    reader : HierarchicalClassifier
        What encoded them.
    """

    train: PackedTable
    unseen: PackedTable
    labels: npt.NDArray[Any]
    weights: FloatArray
    right: npt.NDArray[Any]
    test: npt.NDArray[np.intp]
    reader: HierarchicalClassifier

    def fitted(
        self, model: HKLClassifier, start: HKLClassifier | None, deadline: Deadline
    ) -> HKLClassifier:
        """A model fitted to the training rows."""
        model._share_encoding(self.reader)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model._fit_encoded(self.train, self.labels, self.weights, start, deadline)

    def scores(self, model: HKLClassifier, classes: npt.NDArray[Any]) -> FloatArray:
        """The scores of all classes on the rows that are held out, before they are adjusted.

        Those of a class that the fold does not know are −∞.  Of ordered classes what the score is
        above each threshold, (rows, classes − 1); thresholds of a class that the fold does not know
        are equal.
        """
        levels = model.rules_.levels
        if levels is not None:
            ends = np.concatenate([[-FAR], model.thresholds_, [FAR]])
            above = np.searchsorted(np.asarray(levels), classes[1:])
            return np.asarray(model._scores(self.unseen) - ends[above])
        scores = np.full((len(self.right), len(classes)), -np.inf)
        known = np.searchsorted(classes, model.classes_)
        found = model._scores(self.unseen) + model.adjustment_
        scores[:, known] = found / 2 if len(known) == 2 < len(classes) else found
        return scores


def trial_of(
    parts: Sequence[Part],
    models: Sequence[Any],
    labels: npt.NDArray[Any],
    shares: FloatArray,
    tau: float,
    scorer: Any,
) -> Trial:
    """What the models of all folds are worth on the rows that each does not know.

    Parameters
    ----------
    parts : sequence of Part
    models : sequence of HKLClassifier, one for each
    labels : ndarray of shape (n_rows,)
        Of all rows.
    shares, tau :
        As for :func:`calibrated`.
    scorer : callable or None
    """
    shapes = np.array([_shape(model) for model in models])
    rows = np.concatenate([part.test for part in parts])
    classes = np.unique(labels)
    held_out = [part.scores(m, classes) for part, m in zip(parts, models, strict=True)]
    codes = np.searchsorted(classes, labels[rows])
    known = countable([(part.labels, part.right) for part in parts])
    values = np.full(len(rows), np.nan)
    scores = np.concatenate(held_out)[known]
    t, values[known] = calibrated(scores, codes[known], shares, tau)
    if scorer is not None:
        split_scores = np.array(
            [float(scorer(m, p.unseen, p.right)) for p, m in zip(parts, models, strict=True)]
        )
        return Trial(split_scores, split_scores, shapes, t)
    return Trial(*means_of([part.test for part in parts], values, len(labels)), shapes, t)


def calibrated(
    scores: FloatArray, codes: npt.NDArray[np.intp], shares: FloatArray, tau: float
) -> tuple[float, FloatArray]:
    """The factor by which scores are best stretched, and how good they are then.

    With π_k the share of class k, a score s_k becomes b_k + t·(s_k − b_k), where b_k = ln π_k, and
    for two classes ±ln π_1/π_0; for the thresholds of ordered classes b_k has the odds of the
    classes above (and order is kept).  Scores give probabilities p_k.  Decisions are for the
    largest p_k/π_k^τ, so what counts is the mean logarithm of that, divided by its sum over the
    classes, for the right class, where a row of class k weighs π_k^{−τ}.

    Parameters
    ----------
    scores : float64 (m, K), or (m, K − 1) of ordered classes
    codes : intp (m,)
        The number of the right class.
    shares : float64 (K,)
        π.
    tau : float

    Returns
    -------
    t : float
        From 1/20 to 20.
    values : float64 (m,)
        The logarithms, times the weights, which are 1 on average.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks",
    ICML 2017, arXiv:1706.04599 (temperature scaling).
    """
    from scipy.optimize import minimize_scalar

    ordered = scores.shape[1] < len(shares)
    base = base_scores(shares, ordered)
    weights = shares[codes] ** -tau
    weights /= weights.mean()

    def values(log_t: float) -> FloatArray:
        stretched = base + np.exp(log_t) * (scores - base)
        logs = log_margins(stretched) if ordered else log_probabilities(stretched)
        logs = logs - tau * np.log(shares)
        right = logs[np.arange(len(codes)), codes] - np.logaddexp.reduce(logs, axis=1)
        return np.asarray(weights * np.maximum(right, LEAST))

    found = minimize_scalar(
        lambda log_t: -float(values(log_t).mean()), bounds=(-WIDEST, WIDEST), method="bounded"
    )
    return float(np.exp(found.x)), values(found.x)


def log_margins(margins: FloatArray) -> FloatArray:
    """ln P(y = k) from what the scores are above the thresholds, (m, K − 1), in order."""
    kept = np.minimum.accumulate(margins, axis=1)
    return np.maximum(log_chances(np.zeros(len(kept)), -kept), LEAST)


def base_scores(shares: FloatArray, ordered: bool = False) -> FloatArray:
    """The scores that give every class its share as probability.

    Of ordered classes what a score is above each threshold.

    >>> base_scores(np.array([0.5, 0.25, 0.25]), ordered=True).round(6)  # odds 1 and 1/3
    array([ 0.      , -1.098612])
    """
    if ordered:
        above = np.cumsum(shares[::-1])[::-1][1:]
        return np.asarray(np.log(above / (1 - above)))
    logs = np.log(shares)
    return np.asarray(logs - logs[::-1] if len(logs) == 2 else logs)


def _shape(model: HKLClassifier) -> tuple[float, float, float]:
    """Number of rules, their mean length, and the gap."""
    rules = model.rules_.rules
    lengths = [len(r.formula.leaves) if isinstance(r, Rule) else 1 for r in rules]
    return float(len(lengths)), float(np.mean(lengths)) if lengths else 0.0, model.gap_


def setting_line(pair: tuple[float, float], trial: Trial) -> str:
    """One pair, as ``verbose`` shows it."""
    rules, _, gap = trial.shapes.mean(axis=0)
    return (
        f"C = {pair[0]:.4g}, depth penalty {pair[1]:g}: score {np.nanmean(trial.scores):.4f}, "
        f"{rules:.1f} rules, gap {gap:.2g}"
    )
