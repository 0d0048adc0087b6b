"""Gram matrices of many kernels on the same rows, with shared computation.

The values of a formula's kernel, of its cosine, and of sums, products and multiples of such kernels
are computed once for each triple of counts that occurs (:mod:`formulakern.gram.triple_index`) and
looked up for every pair of rows.  The arithmetic and its order are the same as for a pair, so the
matrices equal ``kernel(X, Z)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.backends.tables import PairedTables, TablePair
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.gram.matrix import fill_matrix, output
from formulakern.gram.triple_index import MAX_TRIPLES, Positions, TripleIndex
from formulakern.kernels.algebra import Kernel


class CandidateGrams:
    """Gram matrices of successive kernels on one table or between two tables.

    Parameters
    ----------
    X : array-like of shape (rows, n)
        A table of 0 and 1, of any type that kernels read.  With other finite numbers, only kernels
        of real vectors have Gram matrices.
    Z : array-like of shape (other rows, n), optional
        By default X.

    Raises
    ------
    DataError
        If the tables cannot be read.

    Notes
    -----
    Joint counts are computed once for each choice of columns and usually take one or two bytes a
    pair.  A kernel then costs its values on the few triples of counts that occur, and a look-up for
    each pair.  At most 50 MB of values are kept for further calls.  Parts over different domains,
    far more possible triples than pairs of rows, and exact values that are too long to tabulate are
    computed like ``kernel(X, Z)``.

    Several threads may use one object, each with its own ``out``.

    Examples
    --------
    >>> import numpy as np
    >>> from formulakern.kernels.formula import kernel
    >>> X = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]])
    >>> grams = CandidateGrams(X)
    >>> out = grams.empty()
    >>> for text in ("a & ~b", "a | b"):
    ...     print(grams.gram(kernel(text), out=out))
    [[2. 1. 0.]
     [1. 2. 1.]
     [0. 1. 2.]]
    [[8. 5. 7.]
     [5. 5. 5.]
     [7. 5. 8.]]
    """

    def __init__(self, X: Any, Z: Any = None) -> None:
        self._given = X, Z
        self._pair = TablePair(X, Z, real=True)
        self._indices: dict[PairedTables, TripleIndex | None] = {}
        self._values: dict[Kernel, FloatArray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return CandidateGrams, self._given  # without the counts: they are recomputed

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of X and of Z."""
        return self._pair.shape

    def empty(self) -> FloatArray:
        """Return an uninitialised matrix for ``out``, or raise GramSizeError if it is too large."""
        return output(self.shape, None)

    def gram(self, kernel: Kernel, out: FloatArray | None = None) -> FloatArray:
        """Return the Gram matrix ``kernel(X, Z)`` in float64; errors are those of this call.

        Parameters
        ----------
        kernel : Kernel
        out : float64 of shape ``shape``, C-contiguous, optional
            Receives the matrix, so that successive kernels share one array.
        """
        found = self.tabulated(kernel)
        if found is None:
            return fill_matrix(
                output(self.shape, out), self._pair.symmetric, kernel.prepare(self._pair)
            )
        index, values = found
        return index.look_up(values, out)

    def blocks(self, kernel: Kernel) -> Callable[[Positions], FloatArray]:
        """Return a function that computes parts of the Gram matrix.

        Parameters
        ----------
        kernel : Kernel

        Returns
        -------
        callable
            ``block((rows, columns))``, for positions of rows of X and of Z, is
            ``gram(kernel)[np.ix_(rows, columns)]``, float64 of shape (len(rows), len(columns)).  A
            position outside the table raises IndexError.

        Raises
        ------
        DataError, MagnitudeError, ParameterError
            As from :meth:`gram`.

        Notes
        -----
        An entry costs a look-up.  For a kernel that is not tabulated, the whole matrix is computed
        here, once.

        Examples
        --------
        >>> import numpy as np
        >>> from formulakern.kernels.formula import kernel
        >>> grams = CandidateGrams(np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]]))
        >>> grams.blocks(kernel("a | b"))((np.array([0, 2]), np.array([1])))
        array([[5.],
               [5.]])
        """
        found = self.tabulated(kernel)
        if found is None:
            gram = self.gram(kernel)
            return lambda block: gram[np.ix_(*block)]
        index, values = found
        return lambda block: index.look_up(values, block=block)

    def diagonal(self, kernel: Kernel) -> FloatArray:
        """Return K(x, x) for every row of X, float64: ``kernel.diagonal(X)``."""
        return kernel.diagonal_of(self._pair.rows_of_x())

    def tabulated(self, kernel: Kernel) -> tuple[TripleIndex, FloatArray] | None:
        """Return the triples of counts of all pairs of rows, and the values of a kernel on them.

        Return None if the kernel is not a function of few triples, or not finite on them.
        """
        if not isinstance(kernel, Kernel):
            raise ParameterError(
                f"expected a kernel; got {type(kernel).__name__}. Write fk.kernel('a & b')."
            )
        if self._pair.is_real and not kernel.accepts_real:
            TablePair(*self._given)  # raises DataError for the entry that is not 0 or 1
        tables = None if self._pair.is_real else kernel.counts_of(self._pair)
        if tables is None:
            return None
        if tables not in self._indices:
            self._indices[tables] = TripleIndex(tables) if TripleIndex.serves(tables) else None
        if (index := self._indices[tables]) is None:
            return None
        if (known := self._values.get(kernel)) is not None:
            return index, known
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                values = kernel.on_counts(self._pair, index.counts)
        except (MagnitudeError, NotImplementedError):
            return None
        if not np.isfinite(values).all():
            return None
        if values.size + sum(kept.size for kept in [*self._values.values()]) > MAX_TRIPLES:
            self._values.clear()
        self._values[kernel] = values
        return index, values
