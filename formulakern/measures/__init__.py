"""Measures of Gram matrices, each to a stated duality gap."""

from formulakern.measures.alignment import alignment, spectral_ratio
from formulakern.measures.balls import EnclosingBall, enclosing_ball, radius
from formulakern.measures.margins import Margin, margin
from formulakern.measures.ratios import radius_margin_ratio

__all__ = [
    "EnclosingBall",
    "Margin",
    "alignment",
    "enclosing_ball",
    "margin",
    "radius",
    "radius_margin_ratio",
    "spectral_ratio",
]
