"""Several kernels on the same rows: weighted sums of their Gram matrices, and quadratic forms.

Learning weights η of kernels K_1, …, K_R asks for two things, again and again: the matrix
Σ_r η_r K_r, and for a vector u the numbers u'K_r u.  On 0/1 tables a formula's kernel is a function
of the joint counts of two rows, and few different triples of counts occur
(:mod:`formulakern.gram.triple_index`).  With t(i, j) the triple of a pair of rows and v_r the
values of a kernel on the triples,

    Σ_r η_r K_r(x_i, x_j) = (Σ_r η_r v_r)[t(i, j)],    u'K_r u = Σ_t h_t v_r[t],
    h_t = Σ over pairs with t(i, j) = t of u_i u_j,

so both cost one pass over the pairs of rows, whatever the number of kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.backends.tables import PairedTables
from formulakern.encoding.packed import PackedTable
from formulakern.errors import MagnitudeError
from formulakern.gram.matrix import output
from formulakern.gram.pair import TablePair
from formulakern.gram.triple_index import TripleIndex
from formulakern.kernels.base import MatrixKernel

__all__ = ["KernelFamily"]

#: Pairs of rows whose products are summed together.
BAND = 1 << 18


class KernelFamily:
    """Kernels on one table: weighted sums of their Gram matrices, and quadratic forms.

    Parameters
    ----------
    kernels : sequence of R kernels
    rows : PackedTable of m rows
        Or what the kernels read.

    Attributes
    ----------
    n_shared : int
        How many of the kernels share their joint counts with others or stand for themselves on
        them; the other ones (of tables with very many different counts, for example) have a Gram
        matrix of their own.

    Raises
    ------
    DataError, FormulaSizeError, MagnitudeError
        As the kernels do.
    GramSizeError
        If matrices do not fit into memory.

    Notes
    -----
    One or two bytes a pair of rows for all kernels with the same counts, eight for each of the
    others.

    Examples
    --------
    >>> from formulakern.kernels.formula import kernel
    >>> family = KernelFamily([kernel("a"), kernel("a & b")], [[1, 1, 0], [0, 1, 1]])
    >>> family.combined(np.array([1.0, 0.5]))
    array([[4. , 1.5],
           [1.5, 4. ]])
    >>> family.forms(np.array([1.0, -1.0]))
    array([2., 6.])
    """

    def __init__(self, kernels: Sequence[MatrixKernel], rows: PackedTable) -> None:
        pair = kernels[0].read(rows)
        self.n_rows, self.n_kernels = pair.shape[0], len(kernels)
        self._diagonals = np.array([k.diagonal_of(pair) for k in kernels])
        indices: dict[PairedTables, TripleIndex] = {}
        values: dict[PairedTables, dict[int, FloatArray]] = {}
        alone: dict[int, FloatArray] = {}
        for place, kernel in enumerate(kernels):
            tables = None if pair.is_real else kernel.counts_of(pair)
            if tables is not None and tables not in indices and TripleIndex.serves(tables):
                indices[tables] = TripleIndex(tables)
            on_triples = None
            if tables is not None and tables in indices:
                on_triples = _on_triples(kernel, pair, indices[tables])
            if tables is None or on_triples is None:
                alone[place] = kernel(rows)
            else:
                values.setdefault(tables, {})[place] = on_triples
        self._shared = [
            _Shared(indices[tables], np.array([*found]), np.stack([*found.values()]))
            for tables, found in values.items()
        ]
        self._alone = alone
        self.n_shared = self.n_kernels - len(alone)

    @property
    def largest(self) -> FloatArray:
        """The largest K_r(x, x) of the rows, float64 (R,)."""
        return np.asarray(self._diagonals.max(axis=1, initial=0.0))

    def scaled(self, factors: FloatArray) -> KernelFamily:
        """The family of c_r K_r.

        Parameters
        ----------
        factors : float64 (R,)
            c_r, at least 0.
        """
        family = copy(self)
        family._diagonals = factors[:, None] * self._diagonals
        family._shared = [
            replace(one, values=factors[one.places, None] * one.values) for one in self._shared
        ]
        family._alone = {place: factors[place] * gram for place, gram in self._alone.items()}
        return family

    def variances(self, row_weights: FloatArray) -> FloatArray:
        """The mean squared distance of the feature vectors from their mean, for every kernel.

        Σ_i c_i K_r(x_i, x_i) − Σ_ij c_i c_j K_r(x_i, x_j), with c the weights divided by their sum.

        Parameters
        ----------
        row_weights : float64 (m,)
            Not all 0.

        Returns
        -------
        ndarray of shape (R,), float64
            At least 0.
        """
        shares = row_weights / row_weights.sum()
        found: FloatArray = np.maximum(self._diagonals @ shares - self.forms(shares), 0.0)
        return found

    def combined(self, weights: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Σ_r η_r K_r.

        Parameters
        ----------
        weights : float64 (R,)
        out : float64 (m, m), C-contiguous, optional
            Receives the matrix.

        Returns
        -------
        ndarray of shape (m, m), float64
            ``out``, where it is given.

        Raises
        ------
        GramSizeError
            If the matrix does not fit into memory.
        """
        out = output((self.n_rows, self.n_rows), out)
        if not self._shared:
            out[...] = 0.0
        for number, one in enumerate(self._shared):
            values = weights[one.places] @ one.values
            if number == 0:
                one.index.look_up(values, out)
            else:
                out += one.index.look_up(values)
        for place, gram in self._alone.items():
            if weights[place]:
                out += weights[place] * gram
        return out

    def forms(self, u: FloatArray) -> FloatArray:
        """u'K_r u for every kernel.

        Parameters
        ----------
        u : float64 (m,)
            Entries of 0 cost nothing.

        Returns
        -------
        ndarray of shape (R,), float64
            At least 0.
        """
        found = np.zeros(self.n_kernels)
        support = np.flatnonzero(u)
        own = u[support]
        for one in self._shared:
            found[one.places] = one.values @ _products(one.index, support, own)
        for place, gram in self._alone.items():
            found[place] = own @ gram[np.ix_(support, support)] @ own
        return np.maximum(found, 0.0)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Kernels that are functions of the same counts: their places, and values on the triples."""

    index: TripleIndex
    places: np.typing.NDArray[np.intp]
    values: FloatArray


def _on_triples(kernel: MatrixKernel, pair: TablePair, index: TripleIndex) -> FloatArray | None:
    """The values of a kernel on the triples; None where it is computed for every pair instead."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            values = kernel.on_counts(pair, index.counts)
    except (MagnitudeError, NotImplementedError):
        return None
    return values if np.isfinite(values).all() else None


def _products(index: TripleIndex, support: np.typing.NDArray[np.intp], u: FloatArray) -> FloatArray:
    """h_t, the sum of u_i u_j over the pairs of these rows that have triple t."""
    sums = np.zeros(index.counts.same.size)
    height = max(1, BAND // max(1, len(support)))
    for start in range(0, len(support), height):
        band = slice(start, start + height)
        triples = index.index[support[band, None], support]
        products = np.outer(u[band], u)
        sums += np.bincount(triples.ravel(), products.ravel(), len(sums))
    return sums
