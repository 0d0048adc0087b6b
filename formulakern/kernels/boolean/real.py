"""Kernels of real vectors, block by block: products over columns, elementary symmetric polynomials.

All are sums or products over the columns of a term tᵢ of the two entries: the product xᵢzᵢ, or the
agreement 1 − xᵢ − zᵢ + 2xᵢzᵢ = xᵢzᵢ + (1 − xᵢ)(1 − zᵢ), which is 1 where two bits are equal and 0
where they differ.  Memory beside the result is a few numbers per pair of a small tile of pairs, for
any number of columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.backends.tables import BlockWriter, TablePair
from formulakern.errors import MagnitudeError

__all__ = [
    "RowPairs",
    "elementary_symmetric",
    "product_less_one",
    "product_of_one_plus",
    "real_diagonal",
    "real_fill",
]

#: Pairs of rows that pass over the columns together: a few such tiles stay in the cache.
TILE_ROWS, TILE_COLUMNS = 64, 512
#: A product of factors is split into fractions and exponents before it may pass 2^±BINARY.
BINARY = 900


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows of two real tables, column by column."""

    x: FloatArray
    z: FloatArray

    @classmethod
    def of(cls, x: FloatArray, z: FloatArray, aligned: bool = False) -> RowPairs:
        """All rows of x against all rows of z; aligned, row i of x against row i of z."""
        x, z = np.ascontiguousarray(x.T), np.ascontiguousarray(z.T)
        return cls(x, z) if aligned else cls(x[:, :, None], z[:, None, :])

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the values: one per pair."""
        return np.broadcast_shapes(self.x.shape[1:], self.z.shape[1:])

    def terms(self, signed: bool = False) -> Iterator[FloatArray]:
        """The products xᵢzᵢ, or the agreements xᵢzᵢ + (1 − xᵢ)(1 − zᵢ), column after column."""
        for x, z in zip(self.x, self.z, strict=True):
            yield x * z + (1.0 - x) * (1.0 - z) if signed else x * z

    def inner(self) -> FloatArray:
        """⟨x, z⟩."""
        if self.x.ndim == 3:
            return np.asarray(self.x[:, :, 0].T @ self.z[:, 0, :])
        return np.asarray((self.x * self.z).sum(axis=0))

    def squares(self) -> tuple[FloatArray, FloatArray]:
        """⟨x, x⟩ and ⟨z, z⟩, which broadcast against each other."""
        return (self.x**2).sum(axis=0), (self.z**2).sum(axis=0)


def product_of_one_plus(pairs: RowPairs) -> FloatArray:
    """Π (1 + xᵢzᵢ), for factors of any size: exponents of two are added up separately.

    Returns
    -------
    ndarray of shape ``pairs.shape``, float64

    The relative error is at most about 2·10⁻¹⁶ per column where all products are at least 0; a
    product near −1 loses the digits that 1 + xᵢzᵢ loses.

    >>> product_of_one_plus(RowPairs.of(np.array([[1.0, 0.5]]), np.array([[1.0, -2.0]])))
    array([[0.]])
    """
    fraction = np.ones(pairs.shape)
    exponent = np.zeros(pairs.shape, dtype=np.int64)
    room = 0.0  # how many binary digits the fractions may have grown or shrunk by
    for x, z, term in zip(pairs.x, pairs.z, pairs.terms(), strict=True):
        largest = 1.0 + np.abs(x).max(initial=0.0) * np.abs(z).max(initial=0.0)
        # a factor that is not 0 is at least 2^-53, the distance from 1 to its neighbour
        digits = max(53.0, math.log2(largest) if largest < math.inf else BINARY)
        if room + digits > BINARY:
            fraction, moved = np.frexp(fraction)
            exponent += moved
            room = 0.0
        term += 1.0
        fraction *= term
        room += digits
    fraction, moved = np.frexp(fraction)
    return np.asarray(np.ldexp(fraction, np.clip(exponent + moved, -5000, 5000)))


def product_less_one(pairs: RowPairs, weight: float, signed: bool = False) -> FloatArray:
    """Π (1 + weight·tᵢ) − 1 without cancellation where the terms are at least 0.

    Returns
    -------
    ndarray of shape ``pairs.shape``, float64

    P ← P + w·t + P·w·t, column after column: for terms of at least 0 nothing is subtracted, and the
    relative error is at most about 4·10⁻¹⁶ per column; with terms of both signs the same holds
    relative to Π (1 + |w·tᵢ|).

    >>> product_less_one(RowPairs(np.full((2, 1), 1e-10), np.full((2, 1), 1e-10)), 1.0)
    array([2.e-20])
    """
    value = np.zeros(pairs.shape)
    for term in pairs.terms(signed):
        if weight != 1.0:
            term *= weight
        more = value * term
        value += term
        value += more
    return value


def elementary_symmetric(pairs: RowPairs, d: int) -> FloatArray:
    """e_d(t): the sum over all sets of d columns of the product of their terms tᵢ = xᵢzᵢ.

    Returns
    -------
    ndarray of shape ``pairs.shape``, float64

    e_k ← e_k + t·e_{k−1}, column after column, in d + 1 arrays: the sums of all sets among the
    columns so far.  The relative error is at most about 4·10⁻¹⁶ per column for terms of at least 0,
    and the absolute one that times e_d(|t|) for others (Newton's identities, from power sums, would
    cancel).

    >>> elementary_symmetric(RowPairs(np.array([[1.0], [2.0], [3.0]]), np.ones((3, 1))), 2)
    array([11.])
    """
    sums = np.zeros((d + 1, *pairs.shape))
    sums[0] = 1.0
    for seen, term in enumerate(pairs.terms()):
        for k in range(min(d, seen + 1), 0, -1):
            sums[k] += term * sums[k - 1]
    return np.asarray(sums[d])


def real_fill(pair: TablePair, value: Callable[[RowPairs], FloatArray], name: str) -> BlockWriter:
    """Fill blocks with a kernel of real rows, tile by tile."""
    x, z = pair.values

    def fill(rows: slice, columns: slice, block: FloatArray) -> None:
        for top in range(0, len(block), TILE_ROWS):
            tile_rows = x[rows][top : top + TILE_ROWS]
            for left in range(0, block.shape[1], TILE_COLUMNS):
                tile_columns = z[columns][left : left + TILE_COLUMNS]
                tile = block[top : top + TILE_ROWS, left : left + TILE_COLUMNS]
                tile[...] = _finite(RowPairs.of(tile_rows, tile_columns), value, name)

    return fill


def real_diagonal(
    pair: TablePair, value: Callable[[RowPairs], FloatArray], name: str
) -> FloatArray:
    """K(x, x) of the rows of a real table; the parameters are those of :func:`real_fill`."""
    x, _ = pair.values
    step = TILE_ROWS * TILE_COLUMNS
    parts = [x[start : start + step] for start in range(0, len(x), step)]
    values = [_finite(RowPairs.of(part, part, aligned=True), value, name) for part in parts]
    return np.concatenate([np.empty(0), *values])


def _finite(pairs: RowPairs, value: Callable[[RowPairs], FloatArray], name: str) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        values = value(pairs)
    if not np.isfinite(values).all():
        raise MagnitudeError(
            f"a value of {name} on these real vectors, or a number on the way to it, is beyond "
            "1.8e308, the end of float64. Scale the columns to smaller numbers, for example to "
            "0 … 1 by sklearn.preprocessing.MinMaxScaler."
        )
    return values
