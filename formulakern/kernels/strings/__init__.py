"""Kernels of strings, as one-liners: ``fk.strings.weighted_degree(20)``."""

from __future__ import annotations

from formulakern.kernels.strings.weighted import weighted_degree, weighted_degree_shifts

__all__ = ["weighted_degree", "weighted_degree_shifts"]
