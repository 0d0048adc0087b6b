"""Sums over pairs of examples, by how many propositions are true in both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.loops import overlap_sums, subset_forms

__all__ = ["BATCH", "PairSums"]

FloatArray = NDArray[np.float64]

#: Sets, or examples, that are done in one compiled call, between which Ctrl-C is felt.
BATCH = 256


class PairSums:
    """Quadratic forms in β, with weights that depend on s_ij, the overlap of examples i and j.

    Parameters
    ----------
    table : PackedTable of r rows
        The overlap is the number of columns that are 1 in both rows.
    beta : float64 (r,)
    """

    def __init__(self, table: PackedTable, beta: FloatArray) -> None:
        self.table, self.beta = table, beta

    def forms(self, covers: list[NDArray[np.intp]], powers: FloatArray) -> FloatArray:
        """Σ β_i β_j powers[s_ij] over the pairs of each cover, from above."""
        starts = np.zeros(len(covers) + 1, dtype=np.int64)
        np.cumsum([len(cover) for cover in covers], out=starts[1:])
        rows = np.concatenate(covers).astype(np.int64)
        if subset_forms.pays(sum(len(cover) ** 2 for cover in covers)):
            forms = np.empty(len(covers))
            subset_forms(self.table.rows, self.beta, powers, rows, starts, forms)
        else:
            parts = [(self.beta[cover], self._overlaps(cover)) for cover in covers]
            forms = np.array([beta @ powers[overlaps] @ beta for beta, overlaps in parts])
        sizes = np.add.reduceat(np.append(np.abs(self.beta)[rows], 0.0), starts[:-1])
        sizes[starts[:-1] == starts[1:]] = 0.0
        # rounding of a sum of terms of both signs, as a share of their sizes
        forms += 1e-13 * sizes**2 * powers[-1]
        return np.asarray(np.maximum(forms, 0.0))

    def by_overlap(self) -> FloatArray:
        """For s = 0, 1, …: Σ β_i β_j over the pairs with s_ij = s."""
        n = len(self.beta)
        sums = np.zeros(int(self.table.counts.max(initial=0)) + 1)
        if overlap_sums.pays(n**2):
            packed = np.ascontiguousarray(self.table.rows.T)
            common = np.empty(n, dtype=np.uint64)
            for start in range(0, n, BATCH):
                overlap_sums(packed, self.beta, start, min(start + BATCH, n), common, sums)
        else:
            np.add.at(sums, self._overlaps(np.arange(n)), np.outer(self.beta, self.beta))
        return sums

    def _overlaps(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        words = self.table.rows[rows]
        return np.asarray(np.bitwise_count(words[:, None] & words[None]).sum(2, dtype=np.intp))
