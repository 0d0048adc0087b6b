"""Measures of Gram matrices, each to a stated duality gap."""

from formulakern.measures.alignment import alignment, spectral_ratio
from formulakern.measures.radius_margin import (
    EnclosingBall,
    Margin,
    enclosing_ball,
    margin,
    radius,
    radius_margin_ratio,
)

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
