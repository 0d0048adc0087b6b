"""The weighted degree kernels: k-mers that two strings of one length share at the same position.

Agreement of k positions in a row is a conjunction of k propositions "the letters at position i are
equal", so these are kernels of conjunctions over neighbouring positions.

The compiled loop finds matches of 64 positions in one word.  The letters of a string are numbers
below 2^P; bit p of the letter at position i is bit i of *plane* p, a row of 64-bit words.  The
positions at which x and z agree are then P exclusive ors of words, and the positions at which their
k-mers agree are a *mask* M_k:

    M_1 = the positions that agree,    M_{k+1} = M_k & (M_k shifted down by one).

With P_k the number of ones of M_k, the sum over k ≤ d of (d − k + 1)·P_k is the running sum, over
k, of the running sums of P_k.  TILE strings of z are worked on side by side, so that every loop is
one over neighbours in memory, which the compiler turns into vectors.  They are done when all masks
are zero, as they are past the longest run of agreeing positions.  After ROUNDS letters the rest is
summed position by position, so that the work for a pair is linear in the length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, aligned
from formulakern.backends.loops import vectorized
from formulakern.backends.tables import BlockWriter
from formulakern.checks import check_integer
from formulakern.compilation import compiled
from formulakern.encoding.bits import ones
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.kernels.algebra import n_columns
from formulakern.kernels.inspection import Section
from formulakern.kernels.strings.strings import Codes, StringKernel, StringPair, alphabet_size

if TYPE_CHECKING:
    import sympy

__all__ = ["WeightedDegreeKernel", "weighted_degree", "weighted_degree_shifts"]

#: Strings of z that are worked on side by side, and the longest k-mer that is.
TILE, ROUNDS = 64, 64
#: Unsigned, so that no index is taken for one from the end.
LANES, ONE, LAST = np.uint64(TILE), np.uint64(1), np.uint64(63)


@compiled()
def _of_runs(masks: Any, j: Any, degree: Any) -> Any:
    """Σ (degree − k + 1)·P_k over k ≤ degree, for one mask, position by position."""
    total, run, ending = 0, 0, 0  # ending: the weights of all k-mers that end here
    for bit in range(64 * len(masks)):  # the last word is one of zeros
        if masks[bit >> 6, j] >> np.uint64(bit & 63) & ONE:
            ending += max(degree - run, 0)
            run += 1
            total += ending
        else:
            run, ending = 0, 0
    return total


@compiled()
def _sum_matches(
    x: Any, valid: Any, z: Any, place: Any, degree: Any, masks: Any, sums: Any
) -> None:
    """Add Σ (degree − k + 1)·P_k to ``sums[1]``, for one string of x and TILE strings of z.

    ``place`` is the row of x, the move, and the first of the strings of z; ``sums[0]``, which holds
    P_1 + … + P_k, is 0 before and after.
    """
    vectorized()
    row, move, start = place
    words = np.uint64(valid.shape[1])
    for w in range(words):
        for j in range(LANES):
            masks[w, j] = valid[move, w]
        for p in range(np.uint64(x.shape[2])):
            letters = x[row, move, p, w]
            for j in range(LANES):
                masks[w, j] &= ~(letters ^ z[p, w, start + j])
    k, left = 0, ONE
    while k < min(degree, ROUNDS) and left:
        left = np.uint64(0)
        for w in range(words):
            for j in range(LANES):
                word = masks[w, j]
                sums[0, j] += ones(word)
                word &= (word >> ONE) | (masks[w + ONE, j] << LAST)
                masks[w, j] = word
                left |= word
        for j in range(LANES):
            sums[1, j] += sums[0, j]
        k += 1
    rest = np.uint64(degree - k)
    for j in range(LANES):
        sums[1, j] += sums[0, j] * rest
        sums[0, j] = 0
    if left and rest:
        for j in range(LANES):
            sums[1, j] += np.uint64(_of_runs(masks, j, degree - k))


@compiled(
    "void(uint64[:, :, :, ::1], uint64[:, ::1], float64[::1], uint64[:, :, ::1], int64,"
    "Tuple((uint64[:, ::1], uint64[:, ::1], float64[::1])), UniTuple(int64, 2), float64[:, :])"
)
def weighted_degree_block(
    x: Any, valid: Any, weights: Any, z: Any, degree: Any, work: Any, columns: Any, out: Any
) -> None:
    """Fill a block with weighted degree kernels, with or without shifts.

    Parameters
    ----------
    x : uint64 (rows, 2·S + 1, planes, words)
        Every string of x as it is, then moved by 1, −1, 2, −2, …, S, −S positions.
    valid : uint64 (2·S + 1, words)
        The positions that have a letter in both strings.
    weights : float64 (S + 1,)
        Of the matches at each shift.
    z : uint64 (planes, words, strings of z padded to a multiple of TILE)
    degree : int
    work : (uint64 (words + 1, TILE), uint64 (2, TILE), float64 (TILE,))
        Zeros; all are 0 again afterwards, but the masks before the last word.
    columns : (int, int)
        The first string of z, and that behind the last.
    out : float64 (rows, columns)
    """
    masks, sums, values = work
    divisor = degree * (degree + 1) / 2
    for start in range(columns[0], columns[1], TILE):
        first = np.uint64(start - columns[0])
        width = np.uint64(min(TILE, columns[1] - start))
        for row in range(np.uint64(len(x))):
            for s in range(len(weights)):
                for move in range(max(2 * s - 1, 0), 2 * s + 1):
                    place = row, np.uint64(move), np.uint64(start)
                    _sum_matches(x, valid, z, place, degree, masks, sums)
                for j in range(LANES):
                    values[j] += np.float64(np.int64(sums[1, j])) * weights[s]
                    sums[1, j] = 0
            to = out[row]
            for j in range(width):
                to[first + j] = values[j] / divisor
                values[j] = 0


def weighted_degree(d: int) -> WeightedDegreeKernel:
    """The weighted degree kernel of degree d, on strings of one length n.

    K(x, z) = Σ_{k=1..d} β_k · #{i : the k-mers of x and z at position i are equal}, with
    β_k = 2(d − k + 1) / (d(d + 1)), so that the β_k sum to 1.

    Parameters
    ----------
    d : int
        Length of the longest k-mers, at least 1 and at most n.

    Returns
    -------
    WeightedDegreeKernel

    Raises
    ------
    ParameterError
        If d is no integer of at least 1, and at use if d is above n.

    Notes
    -----
    Values are exact integers, divided once.  A pair of strings costs O(n), whatever d is; in
    practice about as much as reading both once (see ``tests/benchmarks/test_strings.py``).

    References
    ----------
    Rätsch & Sonnenburg (2004), Accurate splice site detection for Caenorhabditis elegans, in:
    Kernel Methods in Computational Biology, MIT Press, 277–298.

    Examples
    --------
    >>> k = weighted_degree(2)  # β = 2/3, 1/3
    >>> k(["ACGT", "ACCT"])  # agree at 3 of 4 letters, and at 1 of 3 pairs of neighbours
    array([[3.66666667, 2.33333333],
           [2.33333333, 3.66666667]])
    """
    return WeightedDegreeKernel(d)


def weighted_degree_shifts(d: int, S: int) -> WeightedDegreeKernel:
    """The weighted degree kernel that also finds k-mers up to S positions apart.

    K(x, z) = Σ_{k=1..d} β_k · (m_{k,0} + Σ_{s=1..S} δ_s · m_{k,s}), where m_{k,0} counts the
    positions at which the k-mers of x and z are equal, m_{k,s} those i at which the k-mer of x at
    i + s equals that of z at i, and those at which the k-mer of x at i equals that of z at i + s;
    β_k = 2(d − k + 1) / (d(d + 1)) and δ_s = 1 / (2(s + 1)).

    Parameters
    ----------
    d : int
        Length of the longest k-mers, at least 1 and at most n.
    S : int
        The largest shift, at least 0; 0 gives ``weighted_degree(d)``.  Shifts of n and more match
        nothing.

    Returns
    -------
    WeightedDegreeKernel

    Raises
    ------
    ParameterError
        If d or S is no such integer.

    Notes
    -----
    Positive semidefinite: for one k-mer, K is a quadratic form in the positions where it stands,
    with the Toeplitz matrix T of entries 1 on the diagonal and δ_s beside it.  Its symbol is
    1 + Σ_{s=1..S} cos(sθ) / (s + 1), which is at least 1/2 for all θ and S (Rogosinski & Szegö
    1928, Math. Z. 28:73–94), so T is positive definite.

    Relative error below (S + 3)·1.2e-16: no term is negative.  A pair costs O(n·(2S + 1)).

    References
    ----------
    Rätsch, Sonnenburg & Schölkopf (2005), RASE: recognition of alternatively spliced exons in
    C. elegans, Bioinformatics 21(Suppl. 1):i369–i377, doi:10.1093/bioinformatics/bti1053.

    Examples
    --------
    >>> k = weighted_degree_shifts(1, 1)
    >>> k(["AACC", "AAAC"])  # in place A, A, C; one apart A twice, A, C
    array([[5., 4.],
           [4., 5.]])
    """
    return WeightedDegreeKernel(d, S)


@dataclass(eq=False, repr=False)
class WeightedDegreeKernel(StringKernel):
    """Built by ``fk.strings.weighted_degree(d)`` and ``weighted_degree_shifts(d, S)``."""

    degree: int
    shifts: int = 0

    def __post_init__(self) -> None:
        check_integer("d", self.degree)
        check_integer("S", self.shifts, 0)
        self.__dict__.update(degree=int(self.degree), shifts=int(self.shifts))

    def __repr__(self) -> str:
        if self.shifts:
            return f"fk.strings.weighted_degree_shifts({self.degree}, {self.shifts})"
        return f"fk.strings.weighted_degree({self.degree})"

    @property
    def betas(self) -> FloatArray:
        """β_k for k = 1 … d."""
        d = self.degree
        return np.arange(d, 0, -1) / (d * (d + 1) / 2)

    def deltas(self, n: int) -> FloatArray:
        """δ_s for s = 0 … S, as far as strings of n letters have such shifts."""
        s = np.arange(min(self.shifts, max(n - 1, 0)) + 1)
        return np.where(s == 0, 1.0, 1 / (2.0 * (s + 1)))

    def codes(self, pair: StringPair) -> tuple[Codes, Codes]:
        """The letters of X and Z as numbers, (rows, n), checked."""
        x, z = pair.aligned_codes(self)
        n, d = x.shape[1], self.degree
        if len(x) + len(z) and d > n:
            raise ParameterError(
                f"{self!r} on strings of {n:,} letters; expected d of at most {n:,}. Choose a "
                "smaller d."
            )
        if 2 * n * d**2 >= 2**63:
            raise MagnitudeError(
                f"{self!r} on strings of {n:,} letters counts beyond 9.2e18, the end of 64-bit "
                "integers. Choose a smaller d, or cut the strings."
            )
        return x, z

    def prepare(self, pair: Any) -> BlockWriter:
        """Bit planes and one compiled loop; runs in NumPy where that is little work."""
        x, z = self.codes(pair)
        n, deltas = x.shape[1], self.deltas(x.shape[1])
        if not weighted_degree_block.pays(len(x) * len(z) * n * (2 * len(deltas) - 1)):
            return self._in_numpy(x, z, deltas)
        planes = max(1, (len(pair.symbols) - 1).bit_length())
        moves = _moves(len(deltas) - 1)
        valid = bit_planes(_moved(np.ones((1, n), np.uint8), moves), 1)[0, :, 0]
        words = valid.shape[1]
        z_planes = aligned((planes, words, len(z) + TILE), np.uint64)
        z_planes[:, :, : len(z)] = bit_planes(z[:, None], planes)[:, 0].transpose(1, 2, 0)

        def fill(rows: slice, columns: slice, block: FloatArray) -> None:
            moved = bit_planes(_moved(x[rows], moves), planes)
            work = (
                aligned((words + 1, TILE), np.uint64),
                aligned((2, TILE), np.uint64),
                np.zeros(TILE),
            )
            span = (columns.start, columns.stop)
            weighted_degree_block(moved, valid, deltas, z_planes, self.degree, work, span, block)

        return fill

    def _in_numpy(self, x: Codes, z: Codes, deltas: FloatArray) -> BlockWriter:
        def fill(rows: slice, columns: slice, block: FloatArray) -> None:
            block[...] = self._values(x[rows, None], z[None, columns], deltas)

        return fill

    def _values(self, x: Codes, z: Codes, deltas: FloatArray) -> FloatArray:
        """K for strings of x and z that are given side by side, by the runs of equal letters."""
        n, d = x.shape[-1], self.degree
        values = deltas[0] * run_sums(x == z, d).astype(np.float64)
        for s in range(1, len(deltas)):
            ahead = run_sums(x[..., s:] == z[..., : n - s], d)
            behind = run_sums(x[..., : n - s] == z[..., s:], d)
            values += (ahead + behind) * deltas[s]
        return np.asarray(values / (d * (d + 1) / 2))

    def diagonal_of(self, pair: Any) -> FloatArray:
        """From the runs of letters that return after s positions."""
        x, _ = self.codes(pair)
        step = max(1, (1 << 22) // x.shape[1])
        parts = [x[start : start + step] for start in range(0, len(x), step)]
        deltas = self.deltas(x.shape[1])
        return np.concatenate([np.empty(0), *(self._values(part, part, deltas) for part in parts)])

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """Return Σ_k (n − k + 1)·A^k: the k-mers up to d of A letters, at every position."""
        letters, length = alphabet_size(n, self), n_columns(n)
        return sum((length - k + 1) * letters**k for k in range(1, min(self.degree, length) + 1))

    def polynomial(self) -> sympy.Expr:
        """In s[k], or s[k, t]: at how many positions k-mers agree (t apart, on either side)."""
        import sympy

        k, t = sympy.symbols("k t", integer=True, positive=True)
        d, shared = (
            self.degree,
            sympy.IndexedBase(sympy.Symbol("s", integer=True, nonnegative=True)),
        )
        beta = sympy.Integer(2) * (d - k + 1) / (d * (d + 1))
        if not self.shifts:
            return sympy.Sum(beta * shared[k], (k, 1, d))
        apart = sympy.Sum(shared[k, t] / (2 * (t + 1)), (t, 1, self.shifts))
        return sympy.Sum(beta * (shared[k, 0] + apart), (k, 1, d))

    def stages(self, closed_form: str) -> list[Section]:
        """The feature space in words, the closed form, how it is computed."""
        apart = f" or up to {self.shifts:,} positions away" if self.shifts else ""
        return [
            Section(
                "feature space",
                f'"the letters from position i on are u", for every k-mer u with k ≤ '
                f"{self.degree:,}\nand every position i{apart}; strings of one length",
            ),
            Section("counts", "s[k]: positions at which the k-mers of both strings are equal"),
            Section("closed form", closed_form),
            Section(
                "backend", "bit planes of the letters, 64 positions in a word (NumPy if small)"
            ),
        ]


def _moves(S: int) -> list[int]:
    """0, 1, −1, 2, −2, …, S, −S."""
    return [0, *(side * s for s in range(1, S + 1) for side in (1, -1))]


def _moved(codes: Codes, moves: list[int]) -> Codes:
    """Every row moved: ``moved[i, m, j] = codes[i, j + moves[m]]``, 0 beyond the ends."""
    rows, n = codes.shape
    most = max(moves)
    wide = np.pad(codes, ((0, 0), (most, most)))
    moved = np.empty((rows, len(moves), n), codes.dtype)
    for place, move in enumerate(moves):
        moved[:, place] = wide[:, most + move : most + move + n]
    return moved


def bit_planes(codes: Codes, planes: int) -> npt.NDArray[np.uint64]:
    """The bits of numbers below 2^planes, 64 numbers in a word.

    Parameters
    ----------
    codes : integers of shape (rows, moves, n)
    planes : int

    Returns
    -------
    uint64 of shape (rows, moves, planes, ceil(n / 64))
        Bit i of word w of plane p is bit p of number 64·w + i.

    >>> bit_planes(np.array([[[3, 1, 2]]]), 2)
    array([[[[3],
             [5]]]], dtype=uint64)
    """
    *shape, n = codes.shape
    octets = np.zeros((*shape, planes, -(-n // 64) * 8), np.uint8)
    for p in range(planes):
        bits = (codes >> codes.dtype.type(p)) & codes.dtype.type(1)
        octets[..., p, : -(-n // 8)] = np.packbits(
            bits.astype(np.uint8), axis=-1, bitorder="little"
        )
    return octets.view("<u8").astype(np.uint64, copy=False)


def run_sums(equal: npt.NDArray[np.bool_], d: int) -> IntArray:
    """Σ_{k ≤ d} (d − k + 1) · (the k positions in a row that are all true), for every row.

    A run of r true ones has r − k + 1 of them, so it adds, with m = min(d, r),
    m·d·r − (d + r)·m(m − 1)/2 + (m − 1)m(2m − 1)/6.

    Parameters
    ----------
    equal : bool of shape (…, n)
    d : int

    Returns
    -------
    int64 of shape (…,)

    >>> run_sums(np.array([[True, True, False, True]]), 2)  # 2 · 3 ones + 1 · 1 pair
    array([7])
    """
    *shape, n = equal.shape
    framed = np.zeros((int(np.prod(shape)), n + 1), np.int8)
    framed[:, :n] = equal.reshape(-1, n)
    change = np.diff(framed.reshape(-1), prepend=0)
    begin, end = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    run = end - begin
    m = np.minimum(d, run)
    worth: Any = m * d * run - (d + run) * (m * (m - 1) // 2) + (m - 1) * m * (2 * m - 1) // 6
    sums = np.zeros(len(framed), np.int64)
    np.add.at(sums, begin // (n + 1), worth)
    return sums.reshape(shape)
