"""The quality of predictions as values of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score, roc_curve

from formulakern.arrays import FloatArray
from formulakern.display.report import Classified, Curve, Regressed

__all__ = ["classified", "one_column", "regressed", "wilson"]

#: Classes of a confusion matrix, lines of a picture, points of a picture, groups of probabilities.
MAX_CLASSES, MAX_LINES, MAX_POINTS, GROUPS = 12, 6, 500, 10
#: Standard errors of a 95% interval.
Z = 1.959964
Tiles = list[tuple[str, str, str]]


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a probability, given the share of n trials that came true.

    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22:209-212,
    doi:10.1080/01621459.1927.10502953.

    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    if n <= 0:
        return (0.0, 1.0)
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def one_column(scores: FloatArray, n_classes: int) -> FloatArray | None:
    """Return scores with a column for each class, or None for scores of another kind."""
    if scores.ndim == 2 and scores.shape[1] == n_classes:
        return scores
    if n_classes == 2 and scores.reshape(len(scores), -1).shape[1] == 1:
        return np.column_stack([-scores.ravel(), scores.ravel()])
    return None


def classified(
    classes: Sequence[Any],
    truth: npt.NDArray[Any],
    predicted: npt.NDArray[Any],
    scores: FloatArray | None,
    chances: FloatArray | None,
    rules: Curve | None,
    missing: Sequence[str],
) -> tuple[Classified, Tiles]:
    """Return measures of predicted classes, and the figures at the head of the report."""
    sentences = list(missing)
    known = list(map(str, classes))
    is_of, said = _texts(truth), _texts(predicted)
    names = known + sorted({*is_of, *said} - {*known})
    matrix = confusion_matrix(is_of, said, labels=names)
    rows = matrix.sum(axis=1)
    n, right = len(truth), float(np.mean(is_of == said))
    low, high = wilson(right, n)
    majority = float(rows.max() / n)
    largest = names[int(rows.argmax())]
    present = rows > 0
    recall = float(np.mean(np.diag(matrix)[present] / rows[present]))
    tiles: Tiles = [
        ("Accuracy", f"{right:.1%}", f"95% interval {100 * low:.1f} to {high:.1%}"),
        ("Majority", f"{majority:.1%}", f"always {largest}"),
        ("Balanced accuracy", f"{recall:.1%}", f"{1 / max(present.sum(), 1):.1%} by one class"),
    ]
    shown = np.arange(len(names))
    if len(names) > MAX_CLASSES:
        shown = np.sort(np.argsort(-rows, kind="stable")[:MAX_CLASSES])
        sentences.append(
            f"The confusion matrix has the {MAX_CLASSES} largest of {len(names)} classes."
        )
    areas, curves = _roc(known, is_of, scores if chances is None else chances, sentences)
    if areas:
        mean = float(np.mean(list(areas.values())))
        kind = f"of {known[1]}" if len(known) == 2 else "mean, each class against the rest"
        tiles.append(("Area under ROC", f"{mean:.3f}", kind))
    calibration = None
    if chances is not None:
        calibration = _calibration(known, is_of, chances)
        inside = np.isin(is_of, known)
        if inside.all() and len(known) > 1:
            order = np.argsort(known)  # as scikit-learn takes labels
            clipped = np.clip(chances[:, order], 1e-12, None)
            clipped = clipped / clipped.sum(axis=1, keepdims=True)
            loss = log_loss(is_of, clipped, labels=np.array(known)[order])
            shares = rows[rows > 0] / n
            base = float(-(shares * np.log(shares)).sum())
            tiles.append(("Log loss", f"{loss:.3f}", f"{base:.3f} by the shares of classes"))
    quality = Classified(
        [names[k] for k in shown],
        matrix[np.ix_(shown, shown)].tolist(),
        curves,
        calibration,
        None if rules is None else _thinned(rules),
        majority,
        sentences,
    )
    return quality, tiles


def regressed(
    truth: FloatArray,
    predicted: FloatArray,
    target: str,
    rules: Curve | None,
    missing: Sequence[str],
) -> tuple[Regressed, Tiles]:
    """Return measures of predicted numbers, and the figures at the head of the report."""
    errors = predicted - truth
    total = float(((truth - truth.mean()) ** 2).sum())
    share = 1 - float((errors**2).sum()) / total if total else math.nan
    typical, absolute = float(np.sqrt(np.mean(errors**2))), float(np.abs(errors).mean())
    deviation = float(np.abs(truth - np.median(truth)).mean())
    tiles = [
        ("R²", "" if math.isnan(share) else f"{share:.3f}", "1 is perfect, 0 the mean of these"),
        ("Mean absolute error", f"{absolute:.4g}", f"{deviation:.4g} by the median of these"),
        ("Root mean square error", f"{typical:.4g}", f"{truth.std():.4g} by the mean of these"),
    ]
    some = slice(MAX_POINTS)
    quality = Regressed(
        truth[some],
        predicted[some],
        errors,
        None if rules is None else _thinned(rules),
        target,
        missing,
    )
    return quality, tiles


def _roc(
    known: list[str], is_of: npt.NDArray[Any], scores: FloatArray | None, sentences: list[str]
) -> tuple[dict[str, float], list[Curve]]:
    """The area of each class, and the curves of the most frequent ones."""
    if scores is None:
        return {}, []
    areas: dict[str, float] = {}
    curves = {}
    for k in [1] if len(known) == 2 else range(len(known)):
        positive = is_of == known[k]
        if positive.all() or not positive.any():
            continue
        areas[known[k]] = float(roc_auc_score(positive, scores[:, k]))
        x, y, _ = roc_curve(positive, scores[:, k])
        curves[known[k]] = _thinned(Curve(known[k], x, y, f"{areas[known[k]]:.3f}"))
    if not areas:
        sentences.append("No ROC curve: these rows are all of one class.")
    largest = sorted(areas, key=lambda name: -int((is_of == name).sum()))[:MAX_LINES]
    if len(areas) > MAX_LINES:
        sentences.append(f"ROC curves of the {MAX_LINES} largest of {len(areas)} classes.")
    return areas, [curves[name] for name in largest]


def _calibration(known: list[str], is_of: npt.NDArray[Any], chances: FloatArray) -> Curve:
    """Groups of rows by the probability of the second class, or of the most probable one."""
    codes = {name: k for k, name in enumerate(known)}
    places = np.array([codes.get(name, -1) for name in is_of])
    every = np.where(places[:, None] == np.arange(len(known)), 1.0, 0.0)
    if len(known) == 2:
        name, probability, true = known[1], chances[:, 1], every[:, 1]
        score = float(np.mean((probability - true) ** 2))
    else:
        name, best = "the most probable class", chances.argmax(axis=1)
        probability, true = chances.max(axis=1), every[np.arange(len(best)), best]
        score = float(np.mean(((chances - every) ** 2).sum(axis=1)))
    order = np.argsort(probability, kind="stable")
    ends = np.searchsorted(probability[order], probability[order][_cuts(len(order))])
    groups = [g for g in np.split(order, np.unique(ends)) if len(g)]
    x = np.array([probability[g].mean() for g in groups])
    y = np.array([true[g].mean() for g in groups])
    bars = np.array([wilson(share, len(g)) for share, g in zip(y, groups, strict=True)]).T
    return Curve(name, x, y, f"{score:.3f}", bars)


def _cuts(n: int) -> npt.NDArray[np.intp]:
    """Return places that cut sorted rows into groups of similar size."""
    return (np.arange(1, GROUPS) * n // GROUPS).astype(np.intp)


def _thinned(curve: Curve) -> Curve:
    """At most so many points, the last one among them."""
    if len(curve.x) <= MAX_POINTS:
        return curve
    at = np.unique(np.linspace(0, len(curve.x) - 1, MAX_POINTS).round().astype(np.intp))
    return replace(curve, x=curve.x[at], y=curve.y[at])


def _texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([str(value) for value in values.tolist()], dtype=object)
