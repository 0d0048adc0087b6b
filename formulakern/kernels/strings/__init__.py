"""Kernels of strings, as one-liners: ``fk.strings.weighted_degree(20)``.

A k-mer is a run of k letters; x and z are strings over any alphabet.

================================  ==========================================================
kernel                            K(x, z)
================================  ==========================================================
``weighted_degree(d)``            k-mers at the same position of both, k = 1 … d, weighted
``weighted_degree_shifts(d, S)``  the same, and those up to S positions apart
``spectrum(k)``                   pairs of equal k-mers, wherever they stand
``mismatch(k, m)``                pairs of k-mers, and how many others are near to both
================================  ==========================================================

The first two take strings of one length.  All are ordinary kernels: ``+``, ``*``,
``.normalized()``, ``inspect()``, ``SVC(kernel=...)``.  They join with each other, but not with
kernels of tables.
"""

from __future__ import annotations

from formulakern.kernels.strings.counting import mismatch, spectrum
from formulakern.kernels.strings.weighted import weighted_degree, weighted_degree_shifts

__all__ = ["mismatch", "spectrum", "weighted_degree", "weighted_degree_shifts"]
