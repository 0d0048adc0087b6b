"""Kernels of strings, such as ``fk.strings.weighted_degree(20)``.

A k-mer is a sequence of k consecutive letters; x and z are strings over any alphabet.

================================  ==========================================================
kernel                            K(x, z)
================================  ==========================================================
``weighted_degree(d)``            weighted k-mers at the same position of both, k = 1 … d
``weighted_degree_shifts(d, S)``  weighted k-mers at positions up to S apart
``spectrum(k)``                   pairs of equal k-mers at any positions
``mismatch(k, m)``                pairs of k-mers, times the number of k-mers near both
================================  ==========================================================

The first two take strings of one length.  All are ordinary kernels: ``+``, ``*``,
``.normalized()``, ``inspect()``, ``SVC(kernel=...)``.  They join with each other, but not with
kernels of tables.

*Weighted degree kernels* compare 64 positions at once.  The letters of a string are numbers below
2^P; bit p of the letter at position i is bit i of *plane* p, a row of 64-bit words.  The positions
at which the k-mers of x and z agree are a *mask* M_k, with P_k ones:

    M_1 = P exclusive ors of planes, negated,    M_{k+1} = M_k & (M_k shifted down by one).

The sum over k ≤ d of (d − k + 1)·P_k is the running sum, over k, of the running sums of P_k.  After
ROUNDS letters the rest is summed position by position, which is linear in the length.

*Spectrum and mismatch kernels* number the k-mers, so that a string becomes a sparse row of counts.
If rows share few k-mers, a pair costs one addition for every shared k-mer; otherwise the counts of
z are stored densely and added as vectors, for every k-mer of x.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, product
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, aligned
from formulakern.backends.loops import vectorized
from formulakern.backends.tables import BlockWriter, RowPair
from formulakern.checks import check_integer
from formulakern.compilation import CompiledFunction, compiled
from formulakern.encoding.bits import ones
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.kernels.algebra import Kernel, Section, n_columns
from formulakern.tables.column import as_series, is_missing
from formulakern.tables.read import column_positions, default_names, opened
from formulakern.tables.table import Table
from formulakern.text import clip

if TYPE_CHECKING:
    import sympy

__all__ = ["mismatch", "spectrum", "weighted_degree", "weighted_degree_shifts"]

Points = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.integer[Any]]
Words = npt.NDArray[np.uint64]

#: The number of strings of z that are processed together, and the longest k-mer of these loops.
TILE, ROUNDS = 64, 64
#: Unsigned integers, so that compiled loops need no case for negative indices.
LANES, ONE, LAST_BIT = np.uint64(TILE), np.uint64(1), np.uint64(63)
#: Products of numbers below this fit into 64-bit integers.
ROOT = 1 << 31
#: The number of vector additions that take as long as the addition of one shared feature.
ADDITIONS_PER_FEATURE = 8
#: The number of rows of z whose sums are added together.
SUMMED_ROWS = 256
#: The largest number of pairs of different k-mers in memory.
MAX_NEAR_PAIRS = 1 << 24
#: The largest number of near k-mers that are listed for all k-mers of all strings.
MAX_LISTED_K_MERS = 1 << 25
#: The number of pairs of k-mers that are compared at a time.
BLOCK_PAIRS = 1 << 18


# -- the functions of fk.strings -------------------------------------------------------------------


def weighted_degree(d: int) -> WeightedDegreeKernel:
    """Return the weighted degree kernel of degree d, on strings of one length n.

    K(x, z) = Σ_{k=1..d} β_k · #{i : the k-mers of x and z at position i are equal}, with the
    weights β_k = 2(d − k + 1) / (d(d + 1)), which sum to 1.

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
        If d is not an integer of at least 1; at use, if d is above n.

    Notes
    -----
    Values are exact integers, divided once.  A pair of strings costs O(n), for every d.

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
    """Return the weighted degree kernel that also counts equal k-mers up to S positions apart.

    K(x, z) = Σ_{k=1..d} β_k · (m_{k,0} + Σ_{s=1..S} δ_s · m_{k,s}), with
    β_k = 2(d − k + 1) / (d(d + 1)) and δ_s = 1 / (2(s + 1)).  Write x_k[i] for the k-mer of x at
    position i.  Then m_{k,0} is the number of i with x_k[i] = z_k[i], and m_{k,s} is the number of
    i with x_k[i + s] = z_k[i] plus the number of i with x_k[i] = z_k[i + s].

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
        If d or S is not such an integer.

    Notes
    -----
    Positive semidefinite: for one k-mer, K is a quadratic form in its positions, with the Toeplitz
    matrix T of entries 1 on the diagonal and δ_s at distance s from it.  The symbol of T is
    1 + Σ_{s=1..S} cos(sθ) / (s + 1), which is at least 1/2 for all θ and S (Rogosinski & Szegö
    1928, Math. Z. 28:73–94), so T is positive definite.

    The relative error is below (S + 3)·1.2e-16, since no term is negative.  A pair costs
    O(n·(2S + 1)).

    References
    ----------
    Rätsch, Sonnenburg & Schölkopf (2005), RASE: recognition of alternatively spliced exons in
    C. elegans, Bioinformatics 21(Suppl. 1):i369–i377, doi:10.1093/bioinformatics/bti1053.

    Examples
    --------
    >>> k = weighted_degree_shifts(1, 1)
    >>> k(["AACC", "AAAC"])  # at the same position A, A, C; one apart A twice, A, C
    array([[5., 4.],
           [4., 5.]])
    """
    return WeightedDegreeKernel(d, S)


def spectrum(k: int) -> KMerKernel:
    """Return the spectrum kernel: the pairs of equal k-mers of two strings, at any positions.

    K(x, z) = Σ_u c_u(x)·c_u(z) over all strings u of k letters, where c_u(x) is the number of
    occurrences of u in x.

    Parameters
    ----------
    k : int
        Length of the k-mers, at least 1.

    Returns
    -------
    KMerKernel

    Raises
    ------
    ParameterError
        If k is not an integer of at least 1.
    DataError
        At use, if a string is shorter than k, since it has no k-mer.

    Notes
    -----
    Strings may have any lengths of at least k.  Values are exact integers (below 2^53).  A pair
    costs one addition for every different k-mer that both strings have, at most O(length).

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
    return KMerKernel(k)


def mismatch(k: int, m: int, alphabet: str = "ACGT") -> KMerKernel:
    """Return the mismatch kernel, which counts k-mers with up to m differing letters.

    K(x, z) = Σ_u φ_u(x)·φ_u(z) over all strings u of k letters of the alphabet, where φ_u(x) is
    the number of k-mers of x that differ from u in at most m positions.

    Parameters
    ----------
    k : int
        Length of the k-mers, at least 1.
    m : int
        The largest number of differing positions, from 0 (the kernel ``spectrum(k)``) to k.
    alphabet : str, default="ACGT"
        The letters of u, X and Z.  "a" and "A" are different letters.

    Returns
    -------
    KMerKernel

    Raises
    ------
    ParameterError
        If k, m or the alphabet does not meet these conditions.
    DataError
        At use, if a letter is not in the alphabet, or a string is shorter than k.
    MagnitudeError
        At use, if a value could be beyond float64.

    Notes
    -----
    Strings may have any lengths of at least k.  Values below 2^53 are exact integers; larger ones
    have a relative error below length · 1.2e-16, since no term is negative.

    K(x, z) = Σ N(h(a, b)) over the k-mers a of x and b of z, which differ in h(a, b) positions.
    N(h), the number of u near both a and b, has a closed form.  A pair costs O(length of x), or,
    with thousands of different k-mers, one addition for every u near k-mers of both strings.

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
    return KMerKernel(k, m, alphabet or "")


BUILDERS: dict[str, Callable[..., StringKernel]] = {
    function.__name__: function
    for function in (weighted_degree, weighted_degree_shifts, spectrum, mismatch)
}
#: The largest number of characters of a text that is parsed as a kernel.
MAX_TEXT = 1000


def string_kernel(text: str) -> StringKernel:
    """Return the kernel of a text such as ``weighted_degree(20)``, without evaluating the text.

    >>> string_kernel("mismatch(5, m=1, alphabet='acgt')")
    fk.strings.mismatch(5, 1, alphabet='acgt')
    """
    try:
        name, arguments, named = _read(text)
        builder = BUILDERS[name.removeprefix("fk.").removeprefix("strings.")]
    except (KeyError, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        listed = ", ".join(map(_usage, BUILDERS.values()))
        raise ParameterError(
            f"{clip(repr(text), 80)} is not a kernel of strings; expected one of {listed}, with "
            "integers in place of the letters."
        ) from None
    try:
        inspect.signature(builder).bind(*arguments, **named)
    except TypeError as error:
        raise ParameterError(f"{text!r}: {error}. Write {_usage(builder)}.") from None
    return builder(*arguments, **named)


def _usage(builder: Callable[..., Any]) -> str:
    """Return the call of a function with its parameters.

    >>> _usage(mismatch)
    "mismatch(k, m, alphabet='ACGT')"
    """
    listed = (
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in inspect.signature(builder).parameters.values()
    )
    return f"{builder.__name__}({', '.join(listed)})"


def _read(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the function, the arguments and the keyword arguments of a call."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ValueError
    call = ast.parse(text.strip(), mode="eval").body
    if isinstance(call, ast.Name):
        return call.id, [], {}
    if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
        raise ValueError
    arguments = [ast.literal_eval(value) for value in call.args]
    named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    return ast.unparse(call.func), arguments, named


# -- strings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Strings:
    """Concatenated strings: string i is ``points[starts[i] : starts[i + 1]]``.

    A letter is a Unicode code point; ``role`` is the argument's name in messages.

    >>> strings = Strings.of(["ab", "c"])
    >>> strings.n_rows, strings.lengths, strings.take(np.array([1]))[0]
    (2, array([2, 1]), 'c')
    """

    points: Points
    starts: IntArray
    role: str = "X"

    @classmethod
    def of(cls, texts: Sequence[str], role: str = "X") -> Strings:
        """Return the strings of a sequence of texts."""
        letters = "".join(texts).encode("utf-32-le", "surrogatepass")
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return cls(np.frombuffer(letters, dtype="<u4").astype(np.uint32), starts, role)

    def __getitem__(self, row: int) -> str:
        points = self.points[self.starts[row] : self.starts[row + 1]]
        return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_rows(self) -> int:
        """The number of strings."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """The number of letters of every string."""
        return np.diff(self.starts)

    @property
    def n_columns(self) -> int:
        """The length of the longest string."""
        return int(self.lengths.max(initial=0))

    def take(self, rows: npt.NDArray[np.intp]) -> Strings:
        """Return the strings of some rows."""
        lengths = self.lengths[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        letters = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Strings(self.points[letters], starts, self.role)


class StringPair(RowPair):
    """Two collections of checked strings X and Z, where Z may be X."""

    def __init__(self, X: Any, Z: Any = None) -> None:
        z = None if Z is None or Z is X else read_strings(Z, role="Z")
        super().__init__(read_strings(X, role="X"), z)

    @property
    def sides(self) -> tuple[Strings, ...]:
        """X, and Z if it is not X."""
        return (self.x,) if self.z is None else (self.x, self.z)

    @cached_property
    def symbols(self) -> Points:
        """The different letters of X and Z, in Unicode order."""
        present = np.zeros(max(int(side.points.max(initial=0)) for side in self.sides) + 1, bool)
        for side in self.sides:
            present[side.points] = True
        return np.flatnonzero(present).astype(np.uint32)

    @cached_property
    def codes(self) -> tuple[Codes, Codes]:
        """The letters of X and of Z, as positions in ``symbols``."""
        symbols = self.symbols
        kind = np.min_scalar_type(max(len(symbols) - 1, 0))
        place = np.zeros(int(symbols.max(initial=0)) + 1, kind)
        place[symbols] = np.arange(len(symbols))
        x, *z = [place[side.points] for side in self.sides]
        return x, z[0] if z else x

    def aligned_codes(self, kernel: object) -> tuple[Codes, Codes]:
        """Return the codes of X and Z in shape (rows, n), or raise DataError for two lengths."""
        first = next((int(side.lengths[0]) for side in self.sides if side.n_rows), 0)
        for side in self.sides:
            other = np.flatnonzero(side.lengths != first)
            if len(other):
                row = int(other[0])
                against = "row 0" if side.role == self.x.role else f"row 0 of {self.x.role}"
                raise DataError(
                    f"row {row} of {side.role} has {side.lengths[row]:,} letters and {against} has "
                    f"{first:,}; {kernel!r} compares strings position by position. Pass strings of "
                    "one length, or use fk.strings.spectrum(k), which takes any lengths."
                )
        x, z = (codes.reshape(-1, max(first, 1)) for codes in self.codes)
        return x, z


def read_strings(X: Any, column: str | int | None = None, role: str = "X") -> Strings:
    """Return the strings of a list, an array, a Series, or one column of a table.

    >>> read_strings(["ACGT", "AC"]).lengths
    array([4, 2])
    >>> read_strings({"name": [1, 2], "sequence": ["ACGT", "ACCT"]})[1]
    'ACCT'
    >>> read_strings(["ACGT", None])
    Traceback (most recent call last):
        ...
    formulakern.errors.DataError: row 1 of X is missing (None). Leave such rows out.
    """
    if isinstance(X, Strings):
        return X
    if isinstance(X, (str, bytes)):
        raise DataError(
            f"{role} is one {type(X).__name__}; expected a collection. Write [{role}] for one row."
        )
    series = as_series(X)
    several = isinstance(X, (list, tuple)) and not any(
        isinstance(row, (list, tuple, np.ndarray)) for row in X[:1]
    )
    if isinstance(X, np.ndarray):
        several = X.ndim == 1 and X.dtype.names is None
    values = _listed(X) if series is not None or several else _column_of(X, column, role)
    for row, value in enumerate(values):
        if not isinstance(value, str) or not value:
            raise _unfit(value, row, role)
    return Strings.of(values, role)


def _column_of(X: Any, column: str | int | None, role: str) -> list[Any]:
    """Return the entries of the given column, or else of the only column (of text)."""
    found = opened(X.columns if isinstance(X, Table) else X)
    columns = found.columns
    names = default_names(len(columns)) if found.names is None else found.names
    if column is not None:
        chosen = column_positions(X, [column])
    elif len(columns) == 1:
        chosen = (0,)
    else:
        chosen = tuple(i for i, values in enumerate(columns) if _holds_text(values))
    if len(chosen) != 1:
        listed = ", ".join(f'"{names[i]}"' for i in chosen[:8])
        raise DataError(
            f"{role} has {len(chosen)} columns of text{f' ({listed})' if listed else ''}; expected "
            "one. Pass only that column, or its name to StringSVC(column=...)."
        )
    return _listed(columns[chosen[0]])


def _listed(values: Any) -> list[Any]:
    series = as_series(values)
    if series is not None:
        return list(series.to_list())
    if not isinstance(values, Iterable):
        raise DataError(
            f"a column of X is {clip(repr(values), 40)}; expected one string per row. Write [...]."
        )
    return list(values.tolist() if isinstance(values, np.ndarray) else values)


def _holds_text(values: Any) -> bool:
    """Return True if the first entry that is not missing is a string."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        return False
    return isinstance(next((v for v in _listed(values) if not is_missing(v)), None), str)


def _unfit(value: Any, row: int, role: str) -> DataError:
    where = f"row {row} of {role}"
    if isinstance(value, str):
        return DataError(f"{where} is an empty string. Leave such rows out.")
    if isinstance(value, bytes):
        return DataError(f"{where} holds bytes; expected a str. Write value.decode().")
    if isinstance(value, (list, tuple, dict, Mapping, np.ndarray)) or not is_missing(value):
        return DataError(
            f"{where} holds {clip(repr(value), 40)} ({type(value).__name__}); expected a str."
        )
    return DataError(f"{where} is missing ({value}). Leave such rows out.")


class StringKernel(Kernel):
    """A kernel of strings.

    X and Z are lists, NumPy arrays or Series (pandas, polars) of strings, or tables with one column
    of text.  A letter is a Unicode code point.
    """

    #: The kind of its rows.
    reads: ClassVar[str] = "strings"
    #: For Gaussian processes: rows are not vectors.
    requires_vector_input: ClassVar[bool] = False

    def read(self, X: Any, Z: Any = None) -> Any:
        return StringPair(X, Z)

    def alphabet_size(self, n: int | Mapping[str | None, int]) -> int:
        """Return the size of the alphabet from the argument of :meth:`dimension`."""
        if not isinstance(n, Mapping) or "alphabet" not in n:
            raise ParameterError(
                f"the dimension of {self!r} depends on the size of the alphabet. For strings of 60 "
                'letters over an alphabet of 4, write dimension({None: 60, "alphabet": 4}).'
            )
        check_integer("the size of the alphabet", n["alphabet"], 1)
        return int(n["alphabet"])


# -- k-mers at the same position -------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class WeightedDegreeKernel(StringKernel):
    """The kernel of ``fk.strings.weighted_degree(d)`` and ``weighted_degree_shifts(d, S)``."""

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
        """The weights β_k for k = 1 … d."""
        d = self.degree
        return np.arange(d, 0, -1) / (d * (d + 1) / 2)

    def deltas(self, n: int) -> FloatArray:
        """Return the weights δ_s of the shifts s = 0 … S that strings of n letters have."""
        s = np.arange(min(self.shifts, max(n - 1, 0)) + 1)
        return np.where(s == 0, 1.0, 1 / (2.0 * (s + 1)))

    def codes(self, pair: StringPair) -> tuple[Codes, Codes]:
        """Check X and Z, and return their letters as numbers in shape (rows, n)."""
        x, z = pair.aligned_codes(self)
        n, d = x.shape[1], self.degree
        if len(x) + len(z) and d > n:
            raise ParameterError(
                f"{self!r} on strings of {n:,} letters; expected d of at most {n:,}. Choose a "
                "smaller d."
            )
        if 2 * n * d**2 >= 2**63:
            raise MagnitudeError(
                f"counts of {self!r} on strings of {n:,} letters can exceed 9.2e18, the end of "
                "64-bit integers. Choose a smaller d, or shorter strings."
            )
        return x, z

    def prepare(self, pair: Any) -> BlockWriter:
        x, z = self.codes(pair)
        n, deltas = x.shape[1], self.deltas(x.shape[1])
        if not weighted_degree_block.pays(len(x) * len(z) * n * (2 * len(deltas) - 1)):

            def fill_few(rows: slice, columns: slice, block: FloatArray) -> None:
                block[...] = self._values(x[rows, None], z[None, columns], deltas)

            return fill_few
        planes, most = max(1, (len(pair.symbols) - 1).bit_length()), len(deltas) - 1
        valid = bit_planes(_moved(np.ones((1, n), np.uint8), most), 1)[0, :, 0]
        words = valid.shape[1]
        z_planes = aligned((planes, words, len(z) + TILE), np.uint64)
        z_planes[:, :, : len(z)] = bit_planes(z[:, None], planes)[:, 0].transpose(1, 2, 0)

        def fill(rows: slice, columns: slice, block: FloatArray) -> None:
            moved = bit_planes(_moved(x[rows], most), planes)
            work = (
                aligned((words + 1, TILE), np.uint64),
                aligned((2, TILE), np.uint64),
                np.zeros(TILE),
            )
            span = (columns.start, columns.stop)
            weighted_degree_block(moved, valid, deltas, z_planes, self.degree, work, span, block)

        return fill

    def _values(self, x: Codes, z: Codes, deltas: FloatArray) -> FloatArray:
        """Return K for broadcast strings of x and z, from the runs of equal letters."""
        n, d = x.shape[-1], self.degree
        values = deltas[0] * run_sums(x == z, d).astype(np.float64)
        for s in range(1, len(deltas)):
            ahead = run_sums(x[..., s:] == z[..., : n - s], d)
            behind = run_sums(x[..., : n - s] == z[..., s:], d)
            values += (ahead + behind) * deltas[s]
        return np.asarray(values / (d * (d + 1) / 2))

    def diagonal_of(self, pair: Any) -> FloatArray:
        x, _ = self.codes(pair)
        step = max(1, (1 << 22) // x.shape[1])
        parts = [x[start : start + step] for start in range(0, len(x), step)]
        deltas = self.deltas(x.shape[1])
        return np.concatenate([np.empty(0), *(self._values(part, part, deltas) for part in parts)])

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """Return Σ_k (n − k + 1)·A^k, the number of k-mers of A letters at all positions, k ≤ d."""
        letters, length = self.alphabet_size(n), n_columns(n)
        return sum((length - k + 1) * letters**k for k in range(1, min(self.degree, length) + 1))

    def polynomial(self) -> sympy.Expr:
        """Return the closed form in s[k] or s[k, t], the numbers of equal k-mers (t apart)."""
        import sympy

        k, t = sympy.symbols("k t", integer=True, positive=True)
        d = self.degree
        shared = sympy.IndexedBase(sympy.Symbol("s", integer=True, nonnegative=True))
        beta = sympy.Integer(2) * (d - k + 1) / (d * (d + 1))
        if not self.shifts:
            return sympy.Sum(beta * shared[k], (k, 1, d))
        apart = sympy.Sum(shared[k, t] / (2 * (t + 1)), (t, 1, self.shifts))
        return sympy.Sum(beta * (shared[k, 0] + apart), (k, 1, d))

    def stages(self, closed_form: str) -> list[Section]:
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


def _moved(codes: Codes, most: int) -> Codes:
    """Return every row moved by 0, 1, −1, 2, −2, …, most, −most, in shape (rows, moves, n).

    Entry j of a row moved by s is entry j + s, or 0 beyond the ends.
    """
    starts = [most, *(most + side * s for s in range(1, most + 1) for side in (1, -1))]
    wide = np.pad(codes, ((0, 0), (most, most)))
    return np.stack([wide[:, start : start + codes.shape[1]] for start in starts], axis=1)


def bit_planes(codes: Codes, planes: int) -> npt.NDArray[np.uint64]:
    """Return bit planes of shape (rows, moves, planes, ceil(n / 64)) of numbers (rows, moves, n).

    The numbers are below 2^planes; bit i of word w of plane p is bit p of number 64·w + i.

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
    """Return Σ_{k ≤ d} (d − k + 1) · (number of windows of k true positions), for every row.

    A run of r true positions has r − k + 1 such windows, so it adds, with m = min(d, r),
    m·d·r − (d + r)·m(m − 1)/2 + (m − 1)m(2m − 1)/6.

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


@compiled()
def _of_runs(masks: Any, j: Any, degree: Any) -> Any:
    """Return Σ (degree − k + 1)·P_k over k ≤ degree for one mask, position by position."""
    total, run, ending = 0, 0, 0  # ending: the weights of all k-mers that end at this bit
    for bit in range(64 * len(masks)):  # the last word is zero
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

    ``place`` is the row of x, the move, and the first string of z.  ``sums[0]``, which accumulates
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
                word &= (word >> ONE) | (masks[w + ONE, j] << LAST_BIT)
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

    ``x`` holds the bit planes of every string moved by 0, 1, −1, …, S, −S positions, ``valid`` the
    positions that have a letter in both strings, ``weights`` the weight of each shift, and ``z``
    the planes (planes, words, padded strings).  ``work`` holds zeros before and after, except for
    the masks before the last word.
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


# -- k-mers anywhere -------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class KMerKernel(StringKernel):
    """The kernel of ``fk.strings.mismatch(k, m, alphabet)``, or ``spectrum(k)`` if no alphabet."""

    length: int
    mismatches: int = 0
    alphabet: str | None = None

    def __post_init__(self) -> None:
        check_integer("k", self.length)
        check_integer("m", self.mismatches, 0)
        if self.mismatches > self.length:
            raise ParameterError(
                f"m={self.mismatches}; expected at most k={self.length}, the length of a k-mer."
            )
        letters = self.alphabet
        if letters is not None and (
            not isinstance(letters, str) or not letters or len(set(letters)) < len(letters)
        ):
            raise ParameterError(
                f"alphabet={letters!r}; expected a str of different letters, such as 'ACGT'."
            )
        self.__dict__.update(length=int(self.length), mismatches=int(self.mismatches))

    def __repr__(self) -> str:
        if self.alphabet is None:
            return f"fk.strings.spectrum({self.length})"
        of = "" if self.alphabet == "ACGT" else f", alphabet={self.alphabet!r}"
        return f"fk.strings.mismatch({self.length}, {self.mismatches}{of})"

    def _key(self) -> tuple[Any, ...]:
        letters = None if self.alphabet is None else "".join(sorted(self.alphabet))
        return (self.length, self.mismatches, letters)

    def prepare(self, pair: Any) -> BlockWriter:
        fill: BlockWriter = pair.remembered(self, self._prepared)[0]
        return fill

    def diagonal_of(self, pair: Any) -> FloatArray:
        if self.mismatches:
            return super().diagonal_of(pair)
        counts = pair.remembered(self, self._prepared)[1]
        return np.asarray(counts.power(2).sum(axis=1), dtype=np.float64).reshape(-1)

    def _prepared(self, pair: StringPair) -> tuple[BlockWriter, Any]:
        """Return the block writer, and the number of occurrences of every k-mer in the rows of X.

        With mismatches, few different k-mers are all compared with each other.  Otherwise the near
        k-mers of each are listed if they are few, or k-mers are compared block by block.
        """
        k, m = self.length, self.mismatches
        if self.alphabet is None:
            codes = np.concatenate(pair.codes[: len(pair.sides)])
        else:
            codes = np.concatenate([_in_alphabet(side, self.alphabet) for side in pair.sides])
        lengths = np.concatenate([_checked_lengths(side, self) for side in pair.sides])
        rows, places, numbers = k_mers(codes, lengths, k)
        kinds = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        x, z = _counts(pair, rows, kinds)
        if not m:
            return inner_products(x, z), x
        place = np.zeros(x.shape[1], np.int64)
        place[kinds] = places  # one of the places of each k-mer
        letters = codes[place[:, None] + np.arange(k)]
        N, size = self.near_both(), len(str(self.alphabet))
        few_kinds = len(letters) * max(len(letters), *pair.shape) <= MAX_NEAR_PAIRS
        if (
            not few_kinds
            and n_near(k, m, size) * len(rows) <= MAX_LISTED_K_MERS
            and size**k < 2**63
        ):
            listed = near(letters, m, size)[kinds]
            u = np.unique(listed, return_inverse=True)[1].reshape(-1)
            return inner_products(*_counts(pair, np.repeat(rows, listed.shape[1]), u)), x
        words = bit_planes(letters, max(1, (size - 1).bit_length()))
        words = np.ascontiguousarray(words.transpose(1, 2, 0))
        if few_kinds:
            return weighted_sums(x, smoothed(words, words, z, N)), x

        def fill(rows: slice, columns: slice, block: FloatArray) -> None:
            few = np.unique(x[rows].indices)
            block[...] = x[rows][:, few] @ smoothed(words[:, :, few], words, z[columns], N)

        return fill, x

    def exactly_symmetric(self, pair: Any) -> bool:
        return bool(pair.x.n_columns**2 * float(self.near_both()[0]) < 2**53)

    def near_both(self) -> FloatArray:
        """Return N(h) for h = 0 … k."""
        if not self.mismatches:
            return np.ones(1)
        k, m, letters = self.length, self.mismatches, len(str(self.alphabet))
        if n_near(k, m, letters) > 2**900:
            raise MagnitudeError(
                f"values of {self!r} can exceed 1.8e308, the end of float64. Choose a smaller m."
            )
        return np.array([float(near_both(h, k, m, letters)) for h in range(k + 1)])

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        letters = self.alphabet_size(n) if self.alphabet is None else len(self.alphabet)
        return int(letters**self.length)

    def polynomial(self) -> sympy.Expr:
        """Return s, or Σ_h N(h)·s[h], where s[h] is the number of pairs with h differences."""
        import sympy

        if self.alphabet is None:
            return sympy.Symbol("s", integer=True, nonnegative=True)
        shared = sympy.IndexedBase(sympy.Symbol("s", integer=True, nonnegative=True))
        k, m, A = self.length, self.mismatches, len(self.alphabet)
        return sympy.Add(*(near_both(h, k, m, A) * shared[h] for h in range(min(2 * m, k) + 1)))

    def stages(self, closed_form: str) -> list[Section]:
        k, m = self.length, self.mismatches
        if self.alphabet is None:
            space = f"the number of occurrences of u, for every u of {k:,}"
            counts = "s: inner product of the counts of two strings"
            backend = "lists of shared k-mers, or a matrix product if many are shared"
        else:
            space = (
                f"the number of {k:,}-mers that differ from u in at most {m:,} positions,\n"
                f"for every u of {k:,} letters of {self.alphabet!r}"
            )
            counts = "s[h]: pairs of k-mers of two strings that differ in h positions"
            backend = "lists of near k-mers, or popcounts of differences"
        return [
            Section("feature space", space),
            Section("counts", counts),
            Section("closed form", closed_form),
            Section("backend", backend),
        ]


def k_mers(codes: Codes, lengths: IntArray, k: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the string, the place in ``codes`` and the number of each k-mer of some strings.

    Two k-mers have the same number if and only if they are equal.  It is computed from the numbers
    of two halves, which may overlap, in O(log k) passes.

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
    """Return the number of k-mers that differ from a given one in at most m positions."""
    return sum(comb(k, j) * (letters - 1) ** j for j in range(m + 1))


def near(k_mers: Codes, m: int, letters: int) -> IntArray:
    """Return all k-mers that differ from each given one in at most m positions.

    The result has the shape (k-mers, number of near ones); the near k-mers are numbers to the base
    ``letters``, so ``letters``^k must be below 2^63.

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
    """Return the number of k-mers u that differ from a and from b in at most m positions each.

    a and b differ in h positions.  In t of the k − h others, u differs from both; in i of the h it
    equals a, in j it equals b, and in the rest neither:

        Σ C(k − h, t)·(A − 1)^t · h!/(i!·j!·(h − i − j)!)·(A − 2)^(h − i − j)

    over all t, i, j with t + h − i ≤ m and t + h − j ≤ m.

    >>> [near_both(h, 3, 1, 4) for h in range(4)]
    [10, 4, 2, 0]
    """
    others = [comb(k - h, t) * (letters - 1) ** t for t in range(min(m, k - h) + 1)]
    up_to = list(accumulate(others))  # the sums over t = 0 … each index
    total = 0
    for i in range(max(0, h - m), min(m, h) + 1):
        for j in range(max(0, h - m), h - i + 1):
            most = min(m - h + min(i, j), len(up_to) - 1)
            neither = max(letters - 2, 0) ** (h - i - j)
            total += up_to[most] * comb(h, i) * comb(h - i, j) * neither
    return total


def smoothed(a: Words, b: Words, z: Any, N: FloatArray) -> FloatArray:
    """Return Σ_b N(h(a, b)) over the k-mers b of every row of z, in shape (k-mers a, rows).

    ``a`` and ``b`` are the bit planes of k-mers, in shape (planes, words, k-mers).
    """
    of_z = np.unique(z.indices)
    few, b = z[:, of_z], b[:, :, of_z]
    sums = np.empty((a.shape[2], z.shape[0]))
    step = max(1, BLOCK_PAIRS // max(len(of_z), 1))
    for start in range(0, len(sums), step):
        some = slice(start, start + step)
        differ = np.bitwise_or.reduce(a[:, :, None, some] ^ b[:, :, :, None], axis=0)
        h = np.bitwise_count(differ).sum(axis=0, dtype=np.intp)
        sums[some] = (few @ N[h]).T
    return sums


def _counts(pair: StringPair, rows: IntArray, features: IntArray) -> tuple[Any, Any]:
    """Return the counts of each feature in the rows of X, then of Z, as two CSR arrays."""
    from scipy.sparse import coo_array

    shape = sum(side.n_rows for side in pair.sides), int(features.max(initial=-1)) + 1
    whole = coo_array((np.ones(len(rows)), (rows, features)), shape).tocsr()
    x = whole[: pair.x.n_rows]
    return x, x if pair.symmetric else whole[pair.x.n_rows :]


def _checked_lengths(side: Any, kernel: KMerKernel) -> IntArray:
    """Return the lengths of strings, or raise DataError if one is below k."""
    lengths: IntArray = side.lengths
    short = np.flatnonzero(lengths < kernel.length)
    if len(short):
        row = int(short[0])
        raise DataError(
            f"row {row} of {side.role} has {lengths[row]:,} letters, so it has no k-mer of "
            f"{kernel!r}; expected at least {kernel.length:,}. Choose a smaller k, or drop the row."
        )
    return lengths


def _in_alphabet(side: Any, alphabet: str) -> Codes:
    """Return the positions of letters in the sorted alphabet, or raise DataError for others."""
    known = np.array([ord(letter) for letter in sorted(alphabet)], dtype=np.uint32)
    codes: Codes = np.minimum(np.searchsorted(known, side.points), len(known) - 1)
    wrong = np.flatnonzero(known[codes] != side.points)
    if len(wrong):
        row = int(np.searchsorted(side.starts, wrong[0], side="right")) - 1
        there = "".join(map(chr, np.unique(side.points)))
        raise DataError(
            f"row {row} of {side.role} has the letter {chr(side.points[wrong[0]])!r} (position "
            f"{wrong[0] - side.starts[row]}), which is not in alphabet="
            f"{clip(repr(alphabet), 40)}. The letters of {side.role} are: "
            f"alphabet={clip(repr(there), 120)}."
        )
    return codes


# -- inner products of counts ----------------------------------------------------------------------


def inner_products(x: Any, z: Any) -> BlockWriter:
    """Return a block writer of the inner products of all rows of two CSR arrays of counts."""
    z_columns = z.tocsc()
    n_shared = np.diff(x.tocsc().indptr).astype(np.float64) @ np.diff(z_columns.indptr)
    if ADDITIONS_PER_FEATURE * n_shared >= x.nnz * z.shape[0]:
        return weighted_sums(x, z_columns.T.toarray())
    x.sort_indices()
    z_columns.sort_indices()
    return _filled(_add_shared, int(n_shared), x, z_columns.T, _parts(z_columns))


def weighted_sums(x: Any, values: FloatArray) -> BlockWriter:
    """Return a block writer of the product of a CSR array (rows, features) with ``values``."""
    spread = aligned((len(values), values.shape[1] + SUMMED_ROWS), np.float64)
    spread[:, : values.shape[1]] = values
    return _filled(_add_all, x.nnz * values.shape[1], x, values, spread)


def _filled(
    loop: CompiledFunction[..., None], n_sums: int, x: Any, values: Any, of_z: Any
) -> BlockWriter:
    """Return a block writer of the product of x and values, by the loop or, if small, by SciPy."""
    pays, of_x = loop.pays(n_sums), _parts(x)

    def fill(rows: slice, columns: slice, block: FloatArray) -> None:
        if pays:
            loop(of_x, of_z, (rows.start, rows.stop, columns.start, columns.stop), block)
            return
        product = x[rows] @ values[:, columns]
        block[...] = product if isinstance(product, np.ndarray) else product.toarray()

    return fill


def _parts(matrix: Any) -> tuple[Any, Any, FloatArray]:
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


@compiled(
    "void(Tuple((int32[::1], int32[::1], float64[::1])),"
    "Tuple((int32[::1], int32[::1], float64[::1])), UniTuple(int64, 4), float64[:, :])"
)
def _add_shared(x: Any, z: Any, block: Any, out: Any) -> None:
    """Fill a block with Σ_u x[i, u]·z[j, u].

    ``x`` holds the rows of x, ``z`` the columns of z, each as ``indptr``, ``indices`` (ascending)
    and ``data`` of SciPy's compressed matrices; ``block`` is the range of rows of x, then of z.
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
            first += np.searchsorted(z_rows[first:stop], column_start)
            while first < stop and z_rows[first] < column_stop:
                to[z_rows[first] - column_start] += count * z_counts[first]
                first += 1


@compiled(
    "void(Tuple((int32[::1], int32[::1], float64[::1])), float64[:, ::1], UniTuple(int64, 4),"
    "float64[:, :])"
)
def _add_all(x: Any, z: Any, block: Any, out: Any) -> None:
    """Fill a block with Σ_u x[i, u]·z[j, u], for z of (features, rows + SUMMED_ROWS)."""
    row_start, row_stop, column_start, column_stop = block
    sums = np.zeros(SUMMED_ROWS)
    for start in range(column_start, column_stop, SUMMED_ROWS):
        width = min(SUMMED_ROWS, column_stop - start)
        for row in range(row_start, row_stop):
            _sum_row(x, z, row, start, sums)
            to = out[row - row_start]
            for j in range(width):
                to[start - column_start + j] = sums[j]
            sums[:] = 0.0


@compiled()
def _sum_row(x: Any, z: Any, row: Any, start: Any, sums: Any) -> None:
    vectorized()
    starts, features, counts = x
    first = np.uint64(start)
    for place in range(starts[row], starts[row + 1]):
        feature, count = np.uint64(features[place]), counts[place]
        for j in range(np.uint64(SUMMED_ROWS)):
            sums[j] += count * z[feature, first + j]
