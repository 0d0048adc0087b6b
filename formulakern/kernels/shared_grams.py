"""Gram matrices of many kernels on the same rows: what they share is computed once.

The values of a formula's kernel, of its cosine, and of sums, products and multiples of such kernels
are computed once for each triple of counts that occurs (:mod:`formulakern.gram.triple_index`) and
looked up for every pair of rows.  The arithmetic on a triple is the one on a pair, in the same
order, so the matrices are those of ``kernel(X, Z)``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from formulakern.backends.base import FloatArray
from formulakern.backends.interpreter import exact_dtype, exact_values
from formulakern.backends.lookup import MAX_EXACT_OPERATIONS
from formulakern.backends.tables import PairedTables
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.gram.dense import assemble, output
from formulakern.gram.pair import TablePair
from formulakern.gram.triple_index import Counts, TripleIndex
from formulakern.kernels.algebra import (
    NormalizedKernel,
    ProductKernel,
    ScaledKernel,
    SumKernel,
    inverse_length,
)
from formulakern.kernels.base import MatrixKernel
from formulakern.kernels.boolean.counted import CountedKernel
from formulakern.kernels.formula import FormulaKernel

__all__ = ["CandidateGrams"]


class CandidateGrams:
    """Gram matrices of one kernel after another, on one table or between two.

    Parameters
    ----------
    X : array-like of shape (rows, n)
        As a kernel takes it; every entry 0 or 1.  Other finite numbers are read too; only kernels
        that are defined on them then have Gram matrices.
    Z : array-like of shape (other rows, n), optional
        X itself by default.

    Raises
    ------
    DataError
        If the tables cannot be read.

    Notes
    -----
    Joint counts are found once per choice of columns and kept in one or two bytes a pair in most
    cases.  A kernel then costs its values on the few triples of counts that occur, and one look-up
    a pair.  Kernels with parts over different domains, tables with far more possible triples than
    pairs of rows, and formulas whose exact values are too long to tabulate are computed as
    ``kernel(X, Z)`` computes them, which may compile code for each.

    May be used from several threads at once, each with its own ``out``.

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

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of X, rows of Z."""
        return self._pair.shape

    def empty(self) -> FloatArray:
        """An uninitialised matrix to pass as ``out``.

        Raises
        ------
        GramSizeError
            If it does not fit into memory.
        """
        return output(self.shape, None)

    def gram(self, kernel: MatrixKernel, out: FloatArray | None = None) -> FloatArray:
        """The Gram matrix of a kernel: ``kernel(X, Z)``.

        Parameters
        ----------
        kernel : Kernel
        out : float64 of shape ``shape``, C-contiguous, optional
            Receives the matrix, so that many kernels need the memory of one.

        Returns
        -------
        ndarray of shape ``shape``, float64
            ``out``, where it is given.

        Raises
        ------
        DataError
            If the kernel cannot read these tables.
        FormulaSizeError, MagnitudeError, ParameterError
            As ``kernel(X, Z)`` does.
        GramSizeError
            If the matrix does not fit into memory.
        """
        if not isinstance(kernel, MatrixKernel):
            raise ParameterError(
                f"a kernel is expected; got {type(kernel).__name__}. Write fk.kernel('a & b')."
            )
        if self._pair.is_real and not kernel.accepts_real:
            TablePair(*self._given)  # raises: it names the entry that is not 0 or 1
        tables = None if self._pair.is_real else _tables(kernel, self._pair)
        index = None if tables is None else self._index(tables)
        values = None if index is None else _finite_values(kernel, self._pair, index.counts)
        if index is None or values is None:
            return self._filled(kernel, out)
        return index.look_up(values, out)

    def diagonal(self, kernel: MatrixKernel) -> FloatArray:
        """K(x, x) for every row of X: ``kernel.diagonal(X)``.

        Parameters
        ----------
        kernel : Kernel

        Returns
        -------
        ndarray of shape (rows of X,), float64
        """
        return kernel.diagonal_of(self._pair.rows_of_x())

    def _index(self, tables: PairedTables) -> TripleIndex | None:
        if tables not in self._indices:
            self._indices[tables] = TripleIndex(tables) if TripleIndex.serves(tables) else None
        return self._indices[tables]

    def _filled(self, kernel: MatrixKernel, out: FloatArray | None) -> FloatArray:
        """``kernel(X, Z)``, written to ``out``."""
        return assemble(self.shape, self._pair.symmetric, kernel.prepare(self._pair), out=out)


# -- which counts a kernel reads; None where it reads more than one kind, or none -----------------


@singledispatch
def _tables(kernel: MatrixKernel, pair: TablePair) -> PairedTables | None:  # noqa: ARG001
    return None


@_tables.register
def _(kernel: FormulaKernel, pair: TablePair) -> PairedTables | None:
    return kernel.task(pair).tables if kernel.backend in ("auto", "lookup") else None


@_tables.register
def _(kernel: CountedKernel, pair: TablePair) -> PairedTables | None:  # noqa: ARG001
    return pair.tables((None,))


@_tables.register(ScaledKernel)
@_tables.register(NormalizedKernel)
def _(kernel: ScaledKernel | NormalizedKernel, pair: TablePair) -> PairedTables | None:
    return _tables(kernel.kernel, pair)


@_tables.register(SumKernel)
@_tables.register(ProductKernel)
def _(kernel: SumKernel | ProductKernel, pair: TablePair) -> PairedTables | None:
    first, *others = [_tables(part, pair) for part in _parts(kernel)]
    return first if all(other is first for other in others) else None


# -- values on triples of counts; None where they are better computed pair by pair ----------------


def _finite_values(kernel: MatrixKernel, pair: TablePair, counts: Counts) -> FloatArray | None:
    """The values of a kernel, or None, also where they are not finite: it says what is wrong."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            values = _values(kernel, pair, counts)
    except MagnitudeError:
        return None
    return values if values is not None and np.isfinite(values).all() else None


@singledispatch
def _values(
    kernel: MatrixKernel,  # noqa: ARG001
    pair: TablePair,  # noqa: ARG001
    counts: Counts,  # noqa: ARG001
) -> FloatArray | None:
    return None


@_values.register
def _(kernel: FormulaKernel, pair: TablePair, counts: Counts) -> FloatArray | None:
    task = kernel.task(pair)
    dtype = exact_dtype(task)
    operations = counts.same.size * len(task.program.kernel_nodes)
    if dtype is not np.int64 and operations > MAX_EXACT_OPERATIONS:
        return None
    triples = (list(counts.s), list(counts.p), list(counts.q))
    return np.broadcast_to(exact_values(task, *triples, dtype), counts.same.shape)


@_values.register
def _(kernel: CountedKernel, pair: TablePair, counts: Counts) -> FloatArray | None:
    n = pair.x.n_columns
    s, p, q = counts.s[0], counts.p[0], counts.q[0]
    t = n - p - q + 2 * s if kernel.family.signed else s
    return np.asarray(kernel.table(n, int(t.max(initial=0)))[t])


@_values.register
def _(kernel: SumKernel, pair: TablePair, counts: Counts) -> FloatArray | None:
    first, *others = [_values(term, pair, counts) for term in kernel.terms]
    for other in others:
        first = None if first is None or other is None else first + other
    return first


@_values.register
def _(kernel: ProductKernel, pair: TablePair, counts: Counts) -> FloatArray | None:
    first, *others = [_values(factor, pair, counts) for factor in kernel.factors]
    for other in others:
        first = None if first is None or other is None else first * other
    return first


@_values.register
def _(kernel: ScaledKernel, pair: TablePair, counts: Counts) -> FloatArray | None:
    values = _values(kernel.kernel, pair, counts)
    return None if values is None else values * kernel.weight


@_values.register
def _(kernel: NormalizedKernel, pair: TablePair, counts: Counts) -> FloatArray | None:
    inner = kernel.kernel.within_range(pair)
    (x_counts, x), (z_counts, z) = counts.of_x(), counts.of_z()
    parts = [_values(inner, pair, c) for c in (counts, x_counts, z_counts)]
    values, x_squares, z_squares = parts
    if values is None or x_squares is None or z_squares is None:
        return None
    by_x, by_z = inverse_length(x_squares)[x], inverse_length(z_squares)[z]
    cosines = values * np.maximum(by_x, by_z) * np.minimum(by_x, by_z)
    cosines[counts.same] = by_x[counts.same] > 0
    return cosines


def _parts(kernel: SumKernel | ProductKernel) -> tuple[MatrixKernel, ...]:
    return kernel.terms if isinstance(kernel, SumKernel) else kernel.factors
