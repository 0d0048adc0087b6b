"""``fk.plot``: pictures of rules, kernels, fits and settings, each from one line of code.

Each function takes a fitted model, or the values that it would read from one.  It draws on ``ax``,
or on a new figure, and returns the axes; change titles, limits and colours by matplotlib's methods.

Colours are distinct for red-green colour blindness, and have a contrast of 3:1 with white and with
dark grounds.  Text follows matplotlib's style: ``matplotlib.style.use("dark_background")`` is
enough for dark pages.  Pictures need matplotlib, the extra ``plot``.  Scikit-learn's own displays
draw confusion matrices, ROC curves and calibration curves of any of these models.
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
