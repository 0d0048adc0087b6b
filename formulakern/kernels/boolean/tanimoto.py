"""The Tanimoto kernel: shared ones over ones in either row, also on real vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from formulakern.backends.base import Fill, FloatArray
from formulakern.backends.lookup import fill_by_count
from formulakern.gram.pair import TablePair
from formulakern.kernels.algebra import Kernel, then
from formulakern.kernels.base import n_columns
from formulakern.kernels.boolean.real import RowPairs, real_diagonal, real_fill
from formulakern.kernels.inspection import Section

if TYPE_CHECKING:
    import sympy

__all__ = ["TanimotoKernel", "tanimoto"]


def tanimoto() -> TanimotoKernel:
    """The Tanimoto (Jaccard) kernel: K(x, z) = s / (p + q − s).

    The ones that the rows share over the ones in either; on real vectors
    ⟨x,z⟩ / (⟨x,x⟩ + ⟨z,z⟩ − ⟨x,z⟩).  Two rows of zeros are identical: K = 1.

    Returns
    -------
    TanimotoKernel

    Notes
    -----
    Positive semidefinite on all real vectors: it is Σ ⟨x,z⟩^k / (⟨x,x⟩ + ⟨z,z⟩)^k over k ≥ 1, a
    sum of products of positive semidefinite kernels (1/(a + b)^k is a mixture of e^(−ta)·e^(−tb)).
    It equals 1 on the diagonal.  Its features are no list of formulas (``features`` is None); on
    rows of 0 and 1 they span 2^n dimensions.

    References
    ----------
    Ralaivola, Swamidass, Saigo & Baldi (2005), Graph kernels for chemical informatics,
    Neural Networks 18(8):1093–1110, doi:10.1016/j.neunet.2005.07.009.

    Examples
    --------
    >>> tanimoto()([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]])
    array([[1.  , 0.25, 0.  ],
           [0.25, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    return TanimotoKernel()


@dataclass(eq=False, repr=False)
class TanimotoKernel(Kernel):
    """s / (p + q − s), and 1 for two rows of zeros; built by ``fk.boolean.tanimoto()``."""

    #: Its features are no conjunctions or disjunctions.
    features: ClassVar[None] = None
    #: It is defined, and positive semidefinite, on all real vectors.
    accepts_real: ClassVar[bool] = True

    def prepare(self, pair: TablePair) -> Fill:
        """Count the shared ones, then divide block by block."""
        if pair.is_real:
            return real_fill(pair, _real, repr(self))
        tables = pair.tables((None,))
        p, q = (counts[0].astype(np.float64) for counts in (tables.x_counts, tables.z_counts))
        shared = fill_by_count(tables, np.arange(pair.x.n_columns + 1.0))

        def divide(rows: slice, columns: slice, block: FloatArray) -> None:
            block[...] = _ratio(block, p[rows, None] + q[None, columns])

        return then(shared, divide)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """1 for every row."""
        if pair.is_real:
            return real_diagonal(pair, _real, repr(self))
        return np.ones(pair.x.n_rows)

    def exactly_symmetric(self, pair: TablePair) -> bool:
        """Yes, on 0/1 tables: integers, divided once."""
        return not pair.is_real

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """2^n: the Gram matrix of all rows of n columns of 0 and 1 has full rank.

        (The functions x ↦ ⟨x,z⟩^k·e^(−t⟨x,x⟩) of which the kernel is a mixture span all functions
        of the rows other than zero, and the row of zeros has a dimension of its own.)
        """
        return int(2 ** n_columns(n))

    def polynomial(self) -> sympy.Expr:
        """s / (p + q − s), on rows of 0 and 1 that are not both zero."""
        import sympy

        from formulakern.kernels.polynomial import symbols

        s, p, q = (symbols(None)[letter] for letter in "spq")
        return sympy.Piecewise((1, sympy.Eq(p + q, 0)), (s / (p + q - s), True))

    def stages(self, closed_form: str) -> list[Section]:
        """The closed form, and how it is computed."""
        return [
            Section("feature space", "no list of formulas: a mixture of weighted monomials"),
            Section("closed form", closed_form),
            Section("backend", "shared ones, counted and divided in blocks"),
        ]

    def __repr__(self) -> str:
        return "fk.boolean.tanimoto()"


def _real(pairs: RowPairs) -> FloatArray:
    x, z = pairs.squares()
    return _ratio(pairs.inner(), x + z)


def _ratio(shared: FloatArray, both: FloatArray) -> FloatArray:
    """shared / (both − shared), 1 where both rows are zero; nothing cancels: shared ≤ both / 2."""
    both = np.broadcast_to(both, shared.shape)
    ratio = np.divide(shared, both - shared, out=np.ones(shared.shape), where=both > 0)
    return np.asarray(ratio)
