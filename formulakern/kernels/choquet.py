"""The Choquet kernel of two sorted rows, for blocks of pairs.

Columns are taken in the order of descending x, and S is the set of the columns taken so far.  Let
z₍₁₎ ≥ z₍₂₎ ≥ … be the sorted entries of z, with the differences wⱼ = z₍ⱼ₎ − z₍ⱼ₊₁₎.  The minimum
of z over a set of columns is the sum of the differences from its last column on, so

    D(S) = Σ min_T z over non-empty T ⊆ S = Σⱼ wⱼ·f(number of columns of S up to j),
    K(x, z) = Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·D(the first i columns),

where f(s) is the number of admissible subsets of s columns.  For all subsets, f(s) = 2^s − 1, and
a tree updates D in O(log n) steps per column.  For subsets of at most k columns, the next column
adds Σⱼ wⱼ·g(number up to j) over the j from its own on, where g(s) = f(s + 1) − f(s).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.backends.block_writers import then
from formulakern.backends.evaluation import Scale
from formulakern.backends.tables import BlockWriter, TablePair
from formulakern.checks import check_integer
from formulakern.compilation import CompiledFunction, compiled
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.kernels.algebra import Kernel, Section
from formulakern.kernels.boolean import (
    MIN_NORMAL_FLOAT,
    BalancedKernel,
    Conjunctions,
    CountedKernel,
    Family,
    Subsets,
    fractions,
)
from formulakern.tables.read import unfit_entry

#: A sum below this may have lost digits, if the largest entry of each row is about 1.
MIN_EXACT_SUM = 2.0**-960
#: Numbers as fraction·2^exponent.
Growth = tuple[FloatArray, IntArray]
#: Exponents up to this one need no common scale.
MAX_UNSCALED_EXPONENT = 900


class SortedRows(NamedTuple):
    """Rows of non-negative numbers, each divided by 2^exponent and sorted, largest first.

    ``order`` holds the columns of the sorted entries, ``rank`` the position of every column in this
    order, ``values`` the sorted entries (below 1), ``steps`` each entry less the next one, and
    ``positive`` the number of positive entries.
    """

    order: Annotated[Any, "int32[:, ::1]"]
    rank: Annotated[Any, "int32[:, ::1]"]
    values: Annotated[Any, "float64[:, ::1]"]
    steps: Annotated[Any, "float64[:, ::1]"]
    positive: Annotated[Any, "int64[::1]"]
    exponent: Annotated[Any, "int64[::1]"]


#: The divisor of the values, True to return nan for lost digits, True to fill j ≥ i only.
FillOptions = tuple[float, bool, bool]
_FILL_ARGUMENTS = "Tuple((float64, boolean, boolean)), UniTuple(int64, 4), float64[:, :]"


@compiled()
def _value(total: float, exponent: int, common: int, divisor: float, strict: bool) -> float:
    """Return total·2^exponent / divisor, for two rows with ``common`` shared positive columns."""
    value: float = math.ldexp(total / divisor, exponent)
    if strict and common > 0 and (total < MIN_EXACT_SUM or value < MIN_NORMAL_FLOAT):
        return math.nan
    return value


@compiled(f"void(state, state, {_FILL_ARGUMENTS})", state=SortedRows)
def full_rows(x: SortedRows, z: SortedRows, how: FillOptions, block: Any, out: FloatArray) -> None:
    """Fill a block of the kernel of all subsets, O(n log n) a pair.

    The leaves of a tree are the sorted entries of z.  A node with c columns in S stores 2^−c and
    D·2^−c, where D = Σⱼ wⱼ·(2^(number of its columns up to j) − 1).  Two nodes join by

        D·2^−c = D_left·2^−c_left·2^−c_right + D_right·2^−c_right + (1 − 2^−c_left)·2^−c_right·W,

    where W is the sum of the differences on the right.  No term is negative, and no number exceeds
    the largest entry, for any number of columns.
    """
    start, stop, first, last = block
    divisor, strict, half = how
    size = 1
    while size < x.order.shape[1]:
        size *= 2
    weight = np.zeros(2 * size)
    scaled = np.empty(2 * size)
    share = np.empty(2 * size)
    for j in range(first, last):
        for place in range(x.order.shape[1]):
            weight[size + place] = z.steps[j, place]
        for node in range(size - 1, 0, -1):
            weight[node] = weight[2 * node] + weight[2 * node + 1]
        for i in range(start, min(stop, j + 1) if half else stop):
            scaled[:] = 0.0
            share[:] = 1.0
            common = 0
            total = 0.0
            for place in range(x.positive[i]):
                node = z.rank[j, x.order[i, place]]
                if node < z.positive[j]:
                    common += 1
                    total *= 0.5
                    node += size
                    scaled[node] = 0.5 * weight[node]
                    share[node] = 0.5
                    node >>= 1
                    while node > 0:
                        left, right = 2 * node, 2 * node + 1
                        more = scaled[right] + (1.0 - share[left]) * share[right] * weight[right]
                        scaled[node] = scaled[left] * share[right] + more
                        share[node] *= 0.5
                        node >>= 1
                total += x.steps[i, place] * scaled[1]
            exponent = x.exponent[i] + z.exponent[j] + common
            value = _value(total, exponent, common, divisor, strict)
            out[i - start, j - first] = value


@compiled(
    f"void(state, state, Tuple((float64[::1], int64[::1])), {_FILL_ARGUMENTS})",
    state=SortedRows,
    fastmath={"reassoc", "contract", "nsz"},
)
def additive_rows(
    x: SortedRows, z: SortedRows, growth: Growth, how: FillOptions, block: Any, out: FloatArray
) -> None:
    """Fill a block of a k-additive kernel, O(n²) a pair."""
    start, stop, first, last = block
    divisor, strict, half = how
    fraction, exponents = growth
    n = x.order.shape[1]
    table = np.empty(n)
    counts = np.empty(n, np.int32)
    scale = -1
    for j in range(first, last):
        end = z.positive[j]
        for i in range(start, min(stop, j + 1) if half else stop):
            common = 0
            for place in range(x.positive[i]):
                common += z.rank[j, x.order[i, place]] < end
            largest = exponents[max(common - 1, 0)]
            wanted = largest if largest > MAX_UNSCALED_EXPONENT else 0
            if wanted != scale:
                scale = wanted
                for t in range(n):
                    table[t] = math.ldexp(fraction[t], exponents[t] - scale)
            counts[:] = 0
            total = 0.0
            for place in range(x.positive[i]):
                added = 0.0
                for t in range(z.rank[j, x.order[i, place]], end):
                    added += z.steps[j, t] * table[counts[t]]
                    counts[t] += 1
                total += x.values[i, place] * added
            exponent = x.exponent[i] + z.exponent[j] + scale
            value = _value(total, exponent, common, divisor, strict)
            out[i - start, j - first] = value


def in_numpy(
    x: SortedRows, z: SortedRows, growth: Growth, how: FillOptions, block: Any
) -> FloatArray:
    """Return the values of a block of either kernel, in NumPy, for few rows and columns."""
    start, stop, first, last = block
    table = np.ldexp(*growth)
    places = np.arange(x.order.shape[1])
    counts = np.zeros((stop - start, last - first, len(places)), np.int64)
    total = np.zeros(counts.shape[:2])
    steps, end = z.steps[first:last], z.positive[first:last, None]
    for order, values in zip(x.order[start:stop].T, x.values[start:stop].T, strict=True):
        rank = z.rank[first:last, order].T
        above = (places >= rank[:, :, None]) & (places < end) & (values > 0)[:, None, None]
        total += values[:, None] * (above * steps * table[counts]).sum(axis=2)
        counts += above
    exponent = x.exponent[start:stop, None] + z.exponent[None, first:last]
    found = np.ldexp(total / how[0], np.clip(exponent, -5000, 5000))
    lost = (counts.max(axis=2) > 0) & ((total < MIN_EXACT_SUM) | (found < MIN_NORMAL_FLOAT))
    return np.where(lost, np.nan, found) if how[1] else found


#: The largest number of numbers in NumPy's temporary arrays.
MAX_TEMPORARY_NUMBERS = 1 << 21
#: A diagonal entry below this may have lost digits, if the largest entry of its row is about 1.
MIN_EXACT_DIAGONAL = 2.0**-400


def choquet(additivity: int | None = None, *, scale: Scale = "count") -> ChoquetKernel:
    """Return the Choquet kernel: K(x, z) = Σ min_T x · min_T z over non-empty sets T of columns.

    The features are the least entries of every set of columns, so a linear function of the features
    is a Choquet integral of the row.  With the weights m(T), the Möbius transform of a set function
    μ(A) = Σ m(T) over T ⊆ A, it is Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·μ(the columns of the i largest entries).
    Rows consist of non-negative numbers.  On rows of 0 and 1, K(x, z) = 2^s − 1 with s = ⟨x,z⟩
    (k-additive: Σ C(s, r) over r = 1 … k), computed by table look-up as in ``fk.boolean``.

    Parameters
    ----------
    additivity : int, optional
        The largest number k of columns in a set, at least 1 and at most n; by default no limit.
        k = 1 is the linear kernel.
    scale : {"count", "probability"}
        ``"probability"`` divides by the number of sets, 2^n − 1 or Σ C(n, r).

    Returns
    -------
    ChoquetKernel

    Raises
    ------
    ParameterError
        If a parameter is wrong; at use, if ``additivity`` exceeds n.
    DataError
        At use, if an entry is negative or not finite; the message names its column and row.
    MagnitudeError
        At use, if a value is beyond float64 (about n > 1000 with scale="count").

    Notes
    -----
    A pair of rows costs O(n log n), k-additive O(n²) for every k (Tehrani, Strickert & Hüllermeier
    give O(n²) for k = n).  All terms are non-negative: the relative error is at most about
    (n + 3·log₂ n)·1.2·10⁻¹⁶, k-additive 3n·1.2·10⁻¹⁶, and usually near 10⁻¹⁵.  Sums are stored as
    fractions and exponents, so cosines (``.normalized()``) exist for any number of columns.

    The minima depend on the scales of the columns.  Scale all columns to one range, such as [0, 1],
    as :class:`formulakern.ChoquetSVC` does.

    References
    ----------
    Tehrani, Strickert & Hüllermeier (2014), The Choquet kernel for monotone data, ESANN 2014,
    337–342.  Tehrani, Strickert & Ahrens (2020), A class of monotone kernelized classifiers on the
    basis of the Choquet integral, Expert Systems 37(3):e12506, doi:10.1111/exsy.12506.

    Examples
    --------
    >>> k = choquet()
    >>> k([[0.5, 1.0], [1.0, 0.25]])  # 0.5² + 1² + 0.5², 0.5·1 + 1·0.25 + 0.5·0.25, …
    array([[1.5  , 0.875],
           [0.875, 1.125]])
    >>> choquet(1)([[0.5, 1.0], [1.0, 0.25]])
    array([[1.25  , 0.75  ],
           [0.75  , 1.0625]])
    >>> choquet(2).dimension(8)
    36
    """
    if additivity is None:
        return ChoquetKernel(Subsets("conjunction", False, 1, None), "choquet", (), scale)
    check_integer("additivity", additivity, 1, "None for all sets of columns")
    family = SubsetsUpTo("conjunction", False, 1, int(additivity))
    return ChoquetKernel(family, "choquet", (f"additivity={int(additivity)}",), scale)


@dataclass(frozen=True)
class SubsetsUpTo(Conjunctions):
    """The sets of ``min_length`` to k columns, where k is at most the number of columns."""

    def check(self, n: int) -> None:
        if self.max_length > n:
            raise ParameterError(
                f"additivity={self.max_length:,}; expected at most the number of columns, {n:,}, "
                "or None for all sets of columns."
            )


@dataclass(eq=False, repr=False)
class ChoquetKernel(CountedKernel):
    """The kernel Σ min_T x · min_T z over sets T of columns, built by :func:`choquet`."""

    #: Rows consist of non-negative numbers.
    accepts_real: ClassVar[bool] = True

    @property
    def additivity(self) -> int | None:
        """The largest number of columns in a set, or None for no limit."""
        return self.family.max_length if isinstance(self.family, SubsetsUpTo) else None

    def prepare(self, pair: TablePair) -> BlockWriter:
        if not pair.is_real:
            return super().prepare(pair)
        divisor, exponent = self._divisor(pair.x.n_columns)
        fill = self._scaled_fill(pair, exponent, 0, divisor, strict=True)
        return then(fill, lambda _, __, block: self._check(block, pair))

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """Return K(x, x) = Σᵢ x₍ᵢ₎²·g(i − 1), since g(i − 1) sets have the minimum x₍ᵢ₎."""
        if not pair.is_real:
            return super().diagonal_of(pair)
        divisor, exponent = self._divisor(pair.x.n_columns)
        total, power = self.squares(pair)
        with np.errstate(over="ignore"):
            found = np.ldexp(total / divisor, np.clip(power - exponent, -5000, 5000))
        return self._check(np.where((total > 0) & (found < MIN_NORMAL_FLOAT), np.nan, found), pair)

    def within_range(self, pair: TablePair) -> Kernel:
        return BalancedKernel(self) if pair.is_real else super().within_range(pair)

    def balanced(self, pair: TablePair, x: IntArray, z: IntArray) -> BlockWriter:
        if not pair.is_real:
            return super().balanced(pair, x, z)
        return self._scaled_fill(pair, x, z, 1.0, strict=False)

    def _scaled_fill(
        self, pair: TablePair, less_x: Any, less_z: Any, divisor: float, *, strict: bool
    ) -> BlockWriter:
        """Return a function that fills blocks of K(x, z)·2^(−less_x − less_z) / divisor."""
        x, symmetric = sorted_rows(pair.rows_of_x()), pair.symmetric
        z = x if symmetric else sorted_rows(pair.rows_of_z(), "Z")
        x = x._replace(exponent=x.exponent - less_x)
        z = z._replace(exponent=z.exponent - less_z)
        n = pair.x.n_columns
        growth = self._growth(n)
        loop: CompiledFunction[..., None] = additive_rows
        table: tuple[Any, ...] = (growth,)
        if self.additivity is None:
            loop, table = full_rows, ()

        def write(rows: slice, columns: slice, block: FloatArray) -> None:
            where = (rows.start, rows.stop, columns.start, columns.stop)
            half = symmetric and columns.start >= rows.start
            small = (
                growth[1][-1] <= MAX_UNSCALED_EXPONENT and block.size * n <= MAX_TEMPORARY_NUMBERS
            )
            if small and not loop.pays(block.size * n * n):
                with np.errstate(over="ignore"):  # infinite values raise an error later
                    block[...] = in_numpy(x, z, growth, (divisor, strict, half), where)
            else:
                loop(x, z, *table, (divisor, strict, half), where, block)
            if half:
                same = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
                square = np.ix_(same - rows.start, same - columns.start)
                block[square] = np.triu(block[square]) + np.triu(block[square], 1).T

        return write

    def squares(self, pair: TablePair) -> tuple[FloatArray, IntArray]:
        if not pair.is_real:
            return super().squares(pair)
        x = sorted_rows(pair)
        n = pair.x.n_columns
        fraction, exponent = self._growth(n)
        top = exponent[np.maximum(x.positive - 1, 0)]
        steps = np.clip(exponent - top[:, None], -3000, 0)  # exponents above top: entries of 0
        total = (x.values**2 * np.ldexp(fraction, steps)).sum(axis=1)
        if ((total < MIN_EXACT_DIAGONAL) & (x.positive > 0)).any():
            raise MagnitudeError(
                f"a row of {n:,} columns has numbers 1e60 times smaller than its largest one, too "
                f"far apart for {self!r} in float64. Scale the columns to [0, 1]."
            )
        return total, top + 2 * x.exponent

    def _growth(self, n: int) -> Growth:
        """Return g(0) … g(n − 1) as fraction·2^exponent.

        g(t) is the number of admissible sets of one given column and any of t others.
        """
        self.family.check(n)
        growth: Family = Subsets("conjunction", False, 0, None)
        if self.additivity is not None:
            growth = Conjunctions("conjunction", False, 0, self.additivity - 1)
        return fractions(growth, n, n - 1)

    def _divisor(self, n: int) -> tuple[float, int]:
        if self.scale == "count":
            return 1.0, 0
        fraction, exponent = fractions(self.family, n, n)
        return float(fraction[n]), int(exponent[n])

    def stages(self, closed_form: str) -> list[Section]:
        most = "" if self.additivity is None else f" of at most {self.additivity} columns"
        number, _, backend, *_ = super().stages(closed_form)[1:]
        full = "sorted rows and a tree of sums, O(n log n) a pair"
        additive = "sorted rows and counts of columns, O(n²) a pair"
        return [
            Section("feature space", f"the least entry of every non-empty set{most}"),
            number,
            Section("closed form on 0 and 1", closed_form),
            Section("backend on 0 and 1", backend.text),
            Section("backend", full if self.additivity is None else additive),
        ]

    def __repr__(self) -> str:
        return super().__repr__().replace("fk.boolean.", "fk.", 1)


def sorted_rows(pair: TablePair, role: str = "X") -> SortedRows:
    """Return the scaled and sorted rows of a table that is paired with itself."""
    values, _ = pair.values
    if values.size and values.min() < 0:
        row, column = np.unravel_index(int((values < 0).argmax()), values.shape)
        advice = (
            "the Choquet kernel reads numbers of at least 0. Scale the columns to [0, 1], for "
            "example by sklearn.preprocessing.MinMaxScaler."
        )
        found, names = str(values[row, column]), getattr(pair.x, "names", None)
        raise unfit_entry(int(column), int(row), found, names, role, advice)
    exponent = np.frexp(values.max(axis=1, initial=0.0))[1].astype(np.int64)
    scaled = np.ldexp(values, -exponent[:, None])
    order = np.argsort(-scaled, axis=1, kind="stable").astype(np.int32)
    ordered = np.take_along_axis(scaled, order, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1], dtype=np.int32)[None], axis=1)
    steps = ordered.copy()
    steps[:, :-1] -= ordered[:, 1:]
    return SortedRows(order, rank, ordered, steps, (ordered > 0).sum(axis=1), exponent)
