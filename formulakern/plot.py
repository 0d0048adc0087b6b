"""``fk.plot``: pictures of rules, kernels, fits and settings, each drawn by one line.

A function takes a fitted model, or the values that it would read from it; draws on ``ax``, or on a
new figure; and returns the axes, so that titles, limits and colours can be changed by matplotlib's
own methods.  A display holds what is drawn, is made by ``from_estimator`` and drawn by
``plot(ax=None)``, and keeps ``ax_`` and ``figure_``, as those of scikit-learn do.

Colours are told apart by eyes that lack cones for red or green, and have a contrast of 3:1 with a
white and with a dark ground; text follows matplotlib's style, so that
``matplotlib.style.use("dark_background")`` is enough for dark pages.  Pictures need matplotlib, the
extra ``plot``.  Confusion matrices, ROC curves and calibration are drawn by scikit-learn's own
displays, for any of these models.
"""

from __future__ import annotations

from formulakern.display.plots.histories import history
from formulakern.display.plots.kernel_matrices import (
    GramDisplay,
    KernelPCADisplay,
    gram,
    kernel_pca,
)
from formulakern.display.plots.rule_bars import (
    RuleCountsDisplay,
    RuleWeightsDisplay,
    rule_counts,
    rule_weights,
)
from formulakern.display.plots.rule_curves import rule_curves
from formulakern.display.plots.rule_rows import (
    CoverageDisplay,
    RuleOverlapDisplay,
    coverage_precision,
    rule_overlap,
)
from formulakern.display.plots.settings import (
    CVResultsDisplay,
    SearchResultsDisplay,
    cv_results,
    search_results,
)
from formulakern.display.plots.waterfall import WaterfallDisplay, waterfall

__all__ = [
    "CVResultsDisplay",
    "CoverageDisplay",
    "GramDisplay",
    "KernelPCADisplay",
    "RuleCountsDisplay",
    "RuleOverlapDisplay",
    "RuleWeightsDisplay",
    "SearchResultsDisplay",
    "WaterfallDisplay",
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
