"""Kernels of the k-mers of two strings, at any position: spectrum and mismatch.

A k-mer, a run of k letters, becomes a number, and a string becomes a row of few counts.  For inner
products of such rows there are two ways.  If rows share few features, the rows of z that have a
feature are listed for each: one addition for every feature that two rows share.  If they share
many, the counts of z are spread out, and those of neighbouring rows are added as vectors, for every
feature of x.  (A matrix product by BLAS starts threads of its own, which compete with those that
fill the matrix.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, aligned
from formulakern.backends.loops import vectorized
from formulakern.backends.tables import BlockWriter
from formulakern.checks import check_integer
from formulakern.compilation import compiled
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.kernels.inspection import Section
from formulakern.kernels.strings.strings import Codes, StringKernel, StringPair, alphabet_size
from formulakern.kernels.strings.weighted_degrees import bit_planes
from formulakern.text import clip

if TYPE_CHECKING:
    import sympy

__all__ = ["k_mers", "mismatch", "n_near", "near", "near_both", "spectrum"]

#: Products of numbers below this are 64-bit integers.
ROOT = 1 << 31


def k_mers(codes: Codes, lengths: IntArray, k: int) -> tuple[IntArray, IntArray, IntArray]:
    """The k-mers of strings that follow each other.

    Parameters
    ----------
    codes : integers of shape (letters,)
    lengths : int64 of shape (strings,)
        Of every string, at least k.
    k : int

    Returns
    -------
    rows, places, numbers : int64 of shape (k-mers,)
        The string of each, where it begins in ``codes``, and a number; two k-mers have one number
        if and only if they are equal.

    A k-mer is known by the numbers of the two halves of it, which may overlap: O(log k) passes.

    >>> k_mers(np.array([0, 1, 0, 1, 1]), np.array([3, 2]), 2)[0]
    array([0, 0, 1])
    """
    numbers, length = codes.astype(np.int64), 1
    while length < k and len(numbers):
        step = min(length, k - length)
        if int(numbers.max()) >= ROOT:
            numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        pairs = numbers[: len(numbers) - step] * (int(numbers.max()) + 1)
        numbers, length = pairs + numbers[step:], length + step
    inside = lengths - k + 1
    rows = np.repeat(np.arange(len(lengths)), inside)
    gaps = np.repeat(np.cumsum(lengths - inside) - (lengths - inside), inside)
    places = np.arange(len(rows)) + gaps
    return rows, places, numbers[places]


def n_near(k: int, m: int, letters: int) -> int:
    """The number of k-mers that differ from one at m positions at most."""
    return sum(comb(k, j) * (letters - 1) ** j for j in range(m + 1))


def near(k_mers: Codes, m: int, letters: int) -> IntArray:
    """All k-mers that differ from some at m positions at most, as numbers to the base ``letters``.

    Parameters
    ----------
    k_mers : integers of shape (n, k)
        ``letters``^k is below 2^63.
    m, letters : int

    Returns
    -------
    int64 of shape (n, number of near ones)

    >>> near(np.array([[1, 0]]), 1, 2)
    array([[2, 0, 3]])
    """
    k = k_mers.shape[1]
    values = letters ** np.arange(k - 1, -1, -1, dtype=np.int64)
    digits = k_mers.astype(np.int64)
    found = [digits @ values]
    for n_changed in range(1, m + 1):
        for places in combinations(range(k), n_changed):
            chosen = digits[:, places]
            for change in product(range(1, letters), repeat=n_changed):
                difference = (chosen + change) % letters - chosen
                found.append(found[0] + difference @ values[[*places]])
    return np.stack(found, axis=1)


def near_both(h: int, k: int, m: int, letters: int) -> int:
    """How many k-mers differ from a at m positions at most and from b at m at most.

    a and b differ at h positions.  At t of the k − h others, u differs from both; at i of the h it
    equals a, at j it equals b, and at the rest neither:

        Σ C(k − h, t)·(A − 1)^t · h!/(i!·j!·(h − i − j)!)·(A − 2)^(h − i − j)

    over all t, i, j with t + h − i ≤ m and t + h − j ≤ m.

    >>> [near_both(h, 3, 1, 4) for h in range(4)]
    [10, 4, 2, 0]
    """
    others = [comb(k - h, t) * (letters - 1) ** t for t in range(min(m, k - h) + 1)]
    up_to = list(accumulate(others))  # for all t up to one
    total = 0
    for i in range(max(0, h - m), min(m, h) + 1):
        for j in range(max(0, h - m), h - i + 1):
            most = min(m - h + min(i, j), len(up_to) - 1)
            neither = max(letters - 2, 0) ** (h - i - j)
            total += up_to[most] * comb(h, i) * comb(h - i, j) * neither
    return total


#: So many features are added as vectors in the time in which one shared feature is added.
DENSE = 8
#: Rows of z that are worked on side by side.
TILE = 256


@compiled(
    "void(Tuple((int32[::1], int32[::1], float64[::1])),"
    "Tuple((int32[::1], int32[::1], float64[::1])), UniTuple(int64, 4), float64[:, :])"
)
def _add_shared(x: Any, z: Any, block: Any, out: Any) -> None:
    """Fill a block with Σ_u x[i, u]·z[j, u].

    Parameters
    ----------
    x, z : (int32, int32, float64)
        The rows of x, and the columns of z, as SciPy's compressed matrices have them: ``indptr``,
        ``indices`` (ascending) and ``data``.
    block : tuple of int
        First and last row of x, first and last row of z; the last ones are left out.
    out : float64 (rows, columns)
    """
    x_starts, x_features, x_counts = x
    z_starts, z_rows, z_counts = z
    row_start, row_stop, column_start, column_stop = block
    for row in range(row_start, row_stop):
        to = out[row - row_start]
        to[:] = 0.0
        for place in range(x_starts[row], x_starts[row + 1]):
            feature, count = x_features[place], x_counts[place]
            first, stop = z_starts[feature], z_starts[feature + 1]
            last = stop
            while first < last:  # the first that is not before the block
                middle = (first + last) // 2
                if z_rows[middle] < column_start:
                    first = middle + 1
                else:
                    last = middle
            while first < stop and z_rows[first] < column_stop:
                to[z_rows[first] - column_start] += count * z_counts[first]
                first += 1


@compiled(
    "void(Tuple((int32[::1], int32[::1], float64[::1])), float64[:, ::1], UniTuple(int64, 4),"
    "float64[::1], float64[:, :])"
)
def _add_all(x: Any, z: Any, block: Any, sums: Any, out: Any) -> None:
    """The same, with z as (features, rows of z and TILE more); ``sums`` holds TILE zeros."""
    row_start, row_stop, column_start, column_stop = block
    for start in range(column_start, column_stop, TILE):
        width = min(TILE, column_stop - start)
        for row in range(row_start, row_stop):
            _sum_row(x, z, row, start, sums)
            to = out[row - row_start]
            for j in range(width):
                to[start - column_start + j] = sums[j]
                sums[j] = 0.0
            for j in range(width, TILE):
                sums[j] = 0.0


@compiled()
def _sum_row(x: Any, z: Any, row: Any, start: Any, sums: Any) -> None:
    vectorized()
    starts, features, counts = x
    first = np.uint64(start)
    for place in range(starts[row], starts[row + 1]):
        feature, count = np.uint64(features[place]), counts[place]
        for j in range(np.uint64(TILE)):
            sums[j] += count * z[feature, first + j]


def counted(rows: npt.NDArray[np.int64], features: npt.NDArray[np.int64], shape: Any) -> Any:
    """How often each feature was named for each row: a SciPy CSR array of float64.

    >>> counted(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3)).toarray()
    array([[0., 0., 2.],
           [1., 0., 0.]])
    """
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(rows)), (rows, features)), shape).tocsr()


def inner_products(x: Any, z: Any) -> BlockWriter:
    """The inner products of all rows of x and z.

    Parameters
    ----------
    x, z : CSR array of shape (rows, features), (other rows, features)
        Non-negative counts.
    """
    z_columns = z.tocsc()
    n_shared = np.diff(x.tocsc().indptr).astype(np.float64) @ np.diff(z_columns.indptr)
    if DENSE * n_shared >= x.nnz * z.shape[0]:
        return weighted_sums(x, z_columns.T.toarray())
    if not _add_shared.pays(int(n_shared)):
        return _in_scipy(x, z_columns.T)
    x.sort_indices()
    z_columns.sort_indices()
    of_x, of_z = _parts(x), _parts(z_columns)

    def fill(rows: slice, columns: slice, block: FloatArray) -> None:
        where = (rows.start, rows.stop, columns.start, columns.stop)
        _add_shared(of_x, of_z, where, block)

    return fill


def weighted_sums(x: Any, values: FloatArray) -> BlockWriter:
    """The product of a CSR array, of shape (rows, features), with one of (features, columns)."""
    if not _add_all.pays(x.nnz * values.shape[1]):
        return _in_scipy(x, values)
    spread = aligned((len(values), values.shape[1] + TILE), np.float64)
    spread[:, : values.shape[1]] = values
    of_x = _parts(x)

    def fill(rows: slice, columns: slice, block: FloatArray) -> None:
        where = (rows.start, rows.stop, columns.start, columns.stop)
        _add_all(of_x, spread, where, np.zeros(TILE), block)

    return fill


def _in_scipy(x: Any, values: Any) -> BlockWriter:
    def fill(rows: slice, columns: slice, block: FloatArray) -> None:
        product = x[rows] @ values[:, columns]
        block[...] = product if isinstance(product, np.ndarray) else product.toarray()

    return fill


def _parts(matrix: Any) -> tuple[Any, Any, FloatArray]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def squared_lengths(x: Any) -> FloatArray:
    """The inner product of every row of a CSR array with itself."""
    lengths: FloatArray = np.asarray(x.power(2).sum(axis=1), dtype=np.float64).reshape(-1)
    return lengths


#: Up to so many pairs of different k-mers, and sums of these, are held in memory.
MAX_COMPARED = 1 << 24
#: Up to so many near k-mers of all k-mers of all strings are listed.
MAX_LISTED = 1 << 25
#: Pairs of k-mers that are compared at a time.
COMPARED = 1 << 18


def spectrum(k: int) -> SpectrumKernel:
    """The spectrum kernel: the k-mers that two strings have in common, wherever they stand.

    K(x, z) = Σ_u c_u(x)·c_u(z) over all strings u of k letters, where c_u(x) is how often u stands
    in x.

    Parameters
    ----------
    k : int
        Length of the k-mers, at least 1.

    Returns
    -------
    SpectrumKernel

    Raises
    ------
    ParameterError
        If k is no integer of at least 1.
    DataError
        At use, if a string is shorter than k: it has no k-mer to be compared by.

    Notes
    -----
    Strings may have any lengths of at least k.  Values are exact integers (below 2^53).  A pair
    costs one addition for every different k-mer that both strings have, so at most O(length).

    References
    ----------
    Leslie, Eskin & Noble (2002), The spectrum kernel: a string kernel for SVM protein
    classification, Pacific Symposium on Biocomputing 7:566–575, doi:10.1142/9789812799623_0053.

    Examples
    --------
    >>> k = spectrum(2)
    >>> k(["ABAB", "BABBA"])  # AB, BA, AB and BA, AB, BB, BA
    array([[5., 4.],
           [4., 6.]])
    """
    return SpectrumKernel(k)


def mismatch(k: int, m: int, alphabet: str = "ACGT") -> MismatchKernel:
    """The mismatch kernel: k-mers count where they nearly stand, too.

    K(x, z) = Σ_u φ_u(x)·φ_u(z) over all strings u of k letters of the alphabet, where φ_u(x) is
    the number of k-mers of x that differ from u at m positions at most.

    Parameters
    ----------
    k : int
        Length of the k-mers, at least 1.
    m : int
        The largest number of positions that differ, from 0 (then it is ``spectrum(k)``) to k.
    alphabet : str, default="ACGT"
        The letters that u is made of; X and Z have no others.  "a" and "A" are two letters.

    Returns
    -------
    MismatchKernel

    Raises
    ------
    ParameterError
        If k, m or the alphabet is none such.
    DataError
        At use, if a letter is not in the alphabet, or a string is shorter than k.
    MagnitudeError
        At use, if a value can be beyond float64.

    Notes
    -----
    Strings may have any lengths of at least k.  Values are exact integers below 2^53, and have a
    relative error below length · 1.2e-16 above: no term is negative.

    K(x, z) = Σ N(h(a, b)) over the k-mers a of x and b of z, which differ at h(a, b) positions;
    N(h), the number of u that are near to both, has a closed form.  Σ_b N(h(a, b)) is computed once
    for each z and all different k-mers a of X, and a pair costs O(length of x).  Where there are
    thousands of different k-mers, each with its Σ_{j≤m} C(k, j)·(A − 1)^j near ones listed (A the
    size of the alphabet), a pair costs one addition for every u that is near to both strings.

    References
    ----------
    Leslie, Eskin, Cohen, Weston & Noble (2004), Mismatch string kernels for discriminative protein
    classification, Bioinformatics 20(4):467–476, doi:10.1093/bioinformatics/btg431.

    Examples
    --------
    >>> k = mismatch(3, 1)
    >>> k(["ACG", "ACT", "GTA"])
    array([[10.,  4.,  0.],
           [ 4., 10.,  0.],
           [ 0.,  0., 10.]])
    """
    return MismatchKernel(k, m, alphabet)


@dataclass(eq=False, repr=False)
class SpectrumKernel(StringKernel):
    """Built by ``fk.strings.spectrum(k)``."""

    length: int

    def __post_init__(self) -> None:
        check_integer("k", self.length)
        self.__dict__["length"] = int(self.length)

    def __repr__(self) -> str:
        return f"fk.strings.spectrum({self.length})"

    def k_mer_counts(self, pair: StringPair) -> tuple[Any, Any]:
        """How often every k-mer is in the rows of X and of Z: two CSR arrays."""
        codes = pair.codes[: len(pair.sides)]
        lengths = np.concatenate([checked_lengths(side, self) for side in pair.sides])
        rows, _, numbers = k_mers(np.concatenate(codes), lengths, self.length)
        return _of_sides(pair, rows, numbers)

    def prepare(self, pair: Any) -> BlockWriter:
        """Count the k-mers; add up, or multiply."""
        return inner_products(*pair.remembered(self, self.k_mer_counts))

    def diagonal_of(self, pair: Any) -> FloatArray:
        """Sums of squared counts."""
        return squared_lengths(pair.remembered(self, self.k_mer_counts)[0])

    def exactly_symmetric(self, pair: Any) -> bool:
        """Where sums are integers below 2^53."""
        return bool(pair.x.n_columns < 2**26)

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """A^k, for an alphabet of A letters."""
        return int(alphabet_size(n, self) ** self.length)

    def polynomial(self) -> sympy.Expr:
        """s, the inner product of the counts (p and q those of the rows with themselves)."""
        from formulakern.kernels.polynomial import symbols  # it loads SymPy

        return symbols(None)["s"]

    def stages(self, closed_form: str) -> list[Section]:
        """The feature space in words, the closed form, how it is computed."""
        return [
            Section("feature space", f"how often u is in a string, for every u of {self.length:,}"),
            Section("counts", "s: inner product of the counts of two strings"),
            Section("closed form", closed_form),
            Section("backend", "shared k-mers, listed for each; a matrix product where many are"),
        ]


@dataclass(eq=False, repr=False)
class MismatchKernel(StringKernel):
    """Built by ``fk.strings.mismatch(k, m, alphabet)``."""

    length: int
    mismatches: int
    alphabet: str = "ACGT"

    def __post_init__(self) -> None:
        check_integer("k", self.length)
        check_integer("m", self.mismatches, 0)
        if self.mismatches > self.length:
            raise ParameterError(
                f"m={self.mismatches}; expected at most k={self.length}: so many letters differ."
            )
        letters = self.alphabet
        if not isinstance(letters, str) or not letters or len(set(letters)) < len(letters):
            raise ParameterError(
                f"alphabet={letters!r}; expected a str of different letters, such as 'ACGT'."
            )
        self.__dict__.update(length=int(self.length), mismatches=int(self.mismatches))

    def __repr__(self) -> str:
        of = "" if self.alphabet == "ACGT" else f", alphabet={self.alphabet!r}"
        return f"fk.strings.mismatch({self.length}, {self.mismatches}{of})"

    def _key(self) -> tuple[Any, ...]:
        return (self.length, self.mismatches, "".join(sorted(self.alphabet)))

    def prepare(self, pair: Any) -> BlockWriter:
        """From what the k-mers of X and Z have in common."""
        fill: BlockWriter = pair.remembered(self, self._prepared)
        return fill

    def _prepared(self, pair: StringPair) -> BlockWriter:
        """Compare all k-mers; or list the near ones, where k-mers are too many for that."""
        found, N = _KMers(pair, self), self.near_both()
        if len(found.letters) * max(len(found.letters), *pair.shape) <= MAX_COMPARED:
            x, z = found.counts()
            return weighted_sums(x, found.smoothed(z, slice(None), N))
        if found.n_near * len(found.rows) <= MAX_LISTED and self.size**self.length < 2**63:
            return inner_products(*found.features())
        return _by_distance(found, N)

    def exactly_symmetric(self, pair: Any) -> bool:
        """Where sums are integers below 2^53."""
        return bool(pair.x.n_columns**2 * float(self.near_both()[0]) < 2**53)

    @property
    def size(self) -> int:
        """A, the number of letters."""
        return len(self.alphabet)

    def near_both(self) -> FloatArray:
        """N(h), for h = 0 … k."""
        k, m, letters = self.length, self.mismatches, self.size
        if n_near(k, m, letters) > 2**900:
            raise MagnitudeError(
                f"a value of {self!r} can be beyond 1.8e308, the end of float64. Choose a smaller "
                "m."
            )
        return np.array([float(near_both(h, k, m, letters)) for h in range(k + 1)])

    def dimension(self, n: int | Mapping[str | None, int]) -> int:  # noqa: ARG002
        """A^k, for any length."""
        return int(self.size**self.length)

    def polynomial(self) -> sympy.Expr:
        """Σ_h N(h)·s[h]: of so many pairs of k-mers one differs from the other at h positions."""
        import sympy

        shared = sympy.IndexedBase(sympy.Symbol("s", integer=True, nonnegative=True))
        last = min(2 * self.mismatches, self.length)
        k, m, A = self.length, self.mismatches, self.size
        return sympy.Add(*(near_both(h, k, m, A) * shared[h] for h in range(last + 1)))

    def stages(self, closed_form: str) -> list[Section]:
        """The feature space in words, the closed form, how it is computed."""
        return [
            Section(
                "feature space",
                f"how many {self.length:,}-mers of a string differ at {self.mismatches:,} "
                f"positions at most from u,\nfor every u of {self.length:,} letters of "
                f"{self.alphabet!r}",
            ),
            Section("counts", "s[h]: pairs of k-mers of two strings that differ at h positions"),
            Section("closed form", closed_form),
            Section("backend", "near k-mers, listed for each; or popcounts of differences"),
        ]


class _KMers:
    """The different k-mers of two lists of strings over an alphabet, and where each occurs."""

    def __init__(self, pair: StringPair, kernel: MismatchKernel) -> None:
        self.pair, self.kernel = pair, kernel
        codes = np.concatenate([_in_alphabet(side, kernel) for side in pair.sides])
        lengths = np.concatenate([checked_lengths(side, kernel) for side in pair.sides])
        self.rows, places, numbers = k_mers(codes, lengths, kernel.length)
        _, first, self.kinds = np.unique(numbers, return_index=True, return_inverse=True)
        self.letters: Codes = codes[places[first][:, None] + np.arange(kernel.length)]
        self.n_near = n_near(kernel.length, kernel.mismatches, kernel.size)

    def counts(self) -> tuple[Any, Any]:
        """How often each is in the rows of X and of Z."""
        return _of_sides(self.pair, self.rows, self.kinds.reshape(-1))

    def smoothed(self, z: Any, kinds: Any, N: FloatArray) -> FloatArray:
        """Σ_b N(h(a, b)) over the k-mers b of a row of z: (some of the different k-mers a, rows).

        h is found by bit planes, for so many a at a time.
        """
        of_z = np.unique(z.indices)
        few, a, b = z[:, of_z], self.words[:, :, kinds], self.words[:, :, of_z]
        sums = np.empty((a.shape[2], z.shape[0]))
        step = max(1, COMPARED // max(len(of_z), 1))
        for start in range(0, len(sums), step):
            some = slice(start, start + step)
            differ = np.bitwise_or.reduce(a[:, :, None, some] ^ b[:, :, :, None], axis=0)
            h = np.bitwise_count(differ).sum(axis=0, dtype=np.intp)
            sums[some] = (few @ N[h]).T
        return sums

    @cached_property
    def words(self) -> npt.NDArray[np.uint64]:
        """The bit planes of the different k-mers: (planes, words, k-mers)."""
        planes = max(1, (self.kernel.size - 1).bit_length())
        return np.ascontiguousarray(bit_planes(self.letters, planes).transpose(1, 2, 0))

    def features(self) -> tuple[Any, Any]:
        """How many of the k-mers of a row are near to each u: two CSR arrays."""
        u = near(self.letters, self.kernel.mismatches, self.kernel.size)[self.kinds.reshape(-1)]
        return _of_sides(self.pair, np.repeat(self.rows, u.shape[1]), u.reshape(-1))


def _by_distance(found: _KMers, N: FloatArray) -> BlockWriter:
    """Compare k-mers block by block."""
    x, z = found.counts()

    def fill(rows: slice, columns: slice, block: FloatArray) -> None:
        some = x[rows]
        kinds = np.unique(some.indices)
        values = found.smoothed(z[columns], kinds, N)
        block[...] = some[:, kinds] @ values

    return fill


def _of_sides(pair: StringPair, rows: IntArray, features: IntArray) -> tuple[Any, Any]:
    """Counts of the features of X and of Z, whose rows follow each other."""
    _, numbers = np.unique(features, return_inverse=True)
    n_rows = sum(side.n_rows for side in pair.sides)
    whole = counted(rows, numbers.reshape(-1), (n_rows, int(numbers.max(initial=-1)) + 1))
    x = whole[: pair.x.n_rows]
    return x, x if pair.symmetric else whole[pair.x.n_rows :]


def checked_lengths(side: Any, kernel: SpectrumKernel | MismatchKernel) -> IntArray:
    """The lengths of strings, at least k."""
    lengths: IntArray = side.lengths
    short = np.flatnonzero(lengths < kernel.length)
    if len(short):
        row = int(short[0])
        raise DataError(
            f"row {row} of {side.role} has {lengths[row]:,} letters, so it has no k-mer of "
            f"{kernel!r}; expected at least {kernel.length:,}. Choose a smaller k, or leave it out."
        )
    return lengths


def _in_alphabet(side: Any, kernel: MismatchKernel) -> Codes:
    """The places of letters in the alphabet."""
    known = np.array([ord(letter) for letter in sorted(kernel.alphabet)], dtype=np.uint32)
    codes: Codes = np.minimum(np.searchsorted(known, side.points), len(known) - 1)
    wrong = np.flatnonzero(known[codes] != side.points)
    if len(wrong):
        row = int(np.searchsorted(side.starts, wrong[0], side="right")) - 1
        there = "".join(map(chr, np.unique(side.points)))
        raise DataError(
            f"row {row} of {side.role} has the letter {chr(side.points[wrong[0]])!r} (position "
            f"{wrong[0] - side.starts[row]}), which is not in alphabet="
            f"{clip(repr(kernel.alphabet), 40)}. The letters of {side.role} are: "
            f"alphabet={clip(repr(there), 120)}."
        )
    return codes
