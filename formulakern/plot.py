"""``fk.plot``: pictures of rules, kernels, fits and settings, each drawn by one line.

A function takes a fitted model, or the values that it would read from it; draws on ``ax``, or on a
new figure; and returns the axes, so that titles, limits and colours can be changed by matplotlib's
own methods.

Colours are distinct to eyes that lack cones for red or green, and have a contrast of 3:1 with a
white and with a dark ground; text follows matplotlib's style, so that
``matplotlib.style.use("dark_background")`` is enough for dark pages.  Pictures need matplotlib, the
extra ``plot``.  Scikit-learn's own displays draw confusion matrices, ROC curves and calibration of
any of these models.
"""

from __future__ import annotations

from formulakern.display.plots import (
    accuracy_by_rules,
    coverage_precision,
    cv_results,
    gram,
    history,
    kernel_pca,
    rule_counts,
    rule_curves,
    rule_overlap,
    rule_weights,
    search_results,
    waterfall,
)

__all__ = [
    "accuracy_by_rules",
    "coverage_precision",
    "cv_results",
    "gram",
    "history",
    "kernel_pca",
    "rule_counts",
    "rule_curves",
    "rule_overlap",
    "rule_weights",
    "search_results",
    "waterfall",
]
