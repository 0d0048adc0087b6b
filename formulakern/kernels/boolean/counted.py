"""Kernels of the counts of two rows: families of features, tabulated exactly, and Tanimoto's.

The value f(t) of a family is computed in exact integers for every t that can occur, rounded to
float64 once, and looked up at t = s or t = m (see :mod:`.families`), so a Gram matrix costs the
same for every family and degree.  Families with a real form read real tables too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.backends.base import Scale
from formulakern.backends.block_writers import then
from formulakern.backends.lookup import fill_by_count
from formulakern.backends.tables import BlockWriter, PairedTables, TablePair
from formulakern.checks import check_choice
from formulakern.errors import MagnitudeError
from formulakern.gram.triple_index import Counts
from formulakern.kernels.algebra import DerivedKernel, Kernel, n_columns
from formulakern.kernels.boolean.families import Family, FeatureSpace, leading, rounded
from formulakern.kernels.boolean.real import RowPairs, real_diagonal, real_fill
from formulakern.kernels.inspection import Section

if TYPE_CHECKING:
    import sympy

__all__ = ["CountedKernel", "TanimotoKernel", "fractions", "tanimoto"]


@dataclass(eq=False, repr=False)
class CountedKernel(Kernel):
    """A family's kernel; build it with the functions of :mod:`formulakern.kernels.boolean`."""

    family: Family
    name: str
    arguments: tuple[str, ...] = ()
    scale: Scale = "count"

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, ("count", "probability"))

    @property
    def accepts_real(self) -> bool:
        """Whether the family is defined on real vectors too."""
        return self.family.accepts_real

    @property
    def features(self) -> FeatureSpace | None:
        """The feature space, where its features are single conjunctions or disjunctions, else None.

        Weights are those of scale="count"; "probability" divides all of them by one number.
        """
        return self.family.features

    def table(self, pair: TablePair) -> FloatArray:
        """K for every t that pairs of these rows ask for, each rounded once from an exact one.

        Infinite where it is beyond float64, not a number where it is positive and below 2.2e-308.
        """
        last = _largest(self.family, pair)
        return _tabulated(self.family, pair.x.n_columns, last, self.scale)

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Tabulate, and look up; on real tables the real form, block by block."""
        if pair.is_real:
            return real_fill(pair, self._real(pair.x.n_columns), repr(self))
        table = self.table(pair)
        fill = _looked_up(self.family, pair, table)
        fits = np.isfinite(table).all()
        return fill if fits else then(fill, lambda _, __, block: self._check(block, pair))

    def counts_of(self, pair: TablePair) -> PairedTables:
        """The counts of all columns."""
        return pair.tables((None,))

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """Looked up in the table of exact values."""
        s, p, q = counts.s[0], counts.p[0], counts.q[0]
        return np.asarray(self.table(pair)[self.family.argument(s, p, q, pair.x.n_columns)])

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """One value for all rows (t = n), or one for every number of ones (t = p)."""
        if pair.is_real:
            return real_diagonal(pair, self._real(pair.x.n_columns), repr(self))
        return self._check(self.table(pair)[_own(self.family, pair)], pair)

    def exactly_symmetric(self, pair: TablePair) -> bool:
        """Yes, on 0/1 tables: t is the same integer for (x, z) and (z, x)."""
        return not pair.is_real

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """The number of features on n columns, an exact integer."""
        return self.family.dimension(n_columns(n))

    def scaled_into_range(self, pair: TablePair) -> CountedKernel:
        """This kernel, or at scale="probability" where it leaves float64."""
        return self if self._fits(pair) else replace(self, scale="probability")

    def within_range(self, pair: TablePair) -> Kernel:
        """This kernel, or where it leaves float64 one with the same cosines that does not."""
        return self if self._fits(pair) else BalancedKernel(self)

    def polynomial(self) -> sympy.Expr:
        """The closed form in s, p, q and n on rows of 0 and 1."""
        from formulakern.kernels.polynomial import symbols  # it loads SymPy

        s, p, q, n = (symbols(None)[letter] for letter in "spqn")
        form = self.family.closed_form(self.family.argument(s, p, q, n), n)
        return form if self.scale == "count" else form / self.family.closed_total(n)

    def stages(self, closed_form: str) -> list[Section]:
        """The feature space in words, the closed form, how it is computed."""
        from formulakern.kernels.polynomial import symbols

        argument = "agreeing columns m = n - p - q + 2*s" if self.family.signed else "shared ones s"
        size = "sum of squared weights" if self.family.weighted else "dimension"
        real = [Section("real vectors", "the real form, column by column, in blocks")]
        return [
            Section("feature space", self.family.description),
            Section(size, str(self.family.closed_total(symbols(None)["n"]))),
            Section("closed form", closed_form),
            Section("backend", f"one table of exact values, looked up at the {argument}"),
            *(real if self.accepts_real else []),
        ]

    def _real(self, n: int) -> Callable[[RowPairs], FloatArray]:
        self.family.check(n)
        divide = 1.0 if self.scale == "count" else rounded(self.family.total(n))
        if not math.isfinite(divide):
            raise MagnitudeError(
                f"the weight of all features of {self!r} on {n:,} columns is beyond 1.8e308, the "
                "end of float64. Use scale='count' for real vectors."
            )
        real = self.family.real
        return real if divide == 1.0 else lambda pairs: real(pairs) / divide

    def _fits(self, pair: TablePair) -> bool:
        return pair.is_real or bool(np.isfinite(self.table(pair)).all())

    def _check(self, values: FloatArray, pair: TablePair) -> FloatArray:
        if np.isfinite(values).all():
            return values
        if np.isinf(values).any():
            problem = "beyond 1.8e308, the end of float64"
            way_out = "scale='probability' or kernel.normalized()"
        else:
            problem = "positive and below 2.2e-308, where float64 loses digits"
            count = "scale='count' or " if self.scale == "probability" else ""
            way_out = f"{count}kernel.normalized()"
        where = f"a value of {self!r} on {pair.x.n_columns:,} columns"
        raise MagnitudeError(f"{where} is {problem}. Use {way_out}.")

    def __repr__(self) -> str:
        scale = () if self.scale == "count" else (f"scale={self.scale!r}",)
        return f"fk.boolean.{self.name}({', '.join((*self.arguments, *scale))})"


@dataclass(eq=False)
class BalancedKernel(DerivedKernel):
    """K(x, z) / (g(x)·g(z)), g(x) the power of two next to √K(x, x): the cosines of K, in range.

    Numbers of any size are held as a fraction and an exponent, so all cosines of a counted kernel
    exist in float64, although its values do not.
    """

    kernel: CountedKernel

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Look t up, then the fraction and the exponent of f(t)."""
        family = self.kernel.family
        fraction, exponent = fractions(family, pair.x.n_columns, _largest(family, pair))
        x, z = (exponent[_own(family, rows)] // 2 for rows in (pair.rows_of_x(), pair.rows_of_z()))
        fill = _looked_up(family, pair, np.arange(len(fraction), dtype=np.float64))

        def balance(rows: slice, columns: slice, block: FloatArray) -> None:
            t = block.astype(np.intp)
            block[...] = np.ldexp(fraction[t], exponent[t] - x[rows, None] - z[None, columns])

        return then(fill, balance)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """Between 1/4 and 2, or 0."""
        family = self.kernel.family
        fraction, exponent = fractions(family, pair.x.n_columns, _largest(family, pair))
        own = _own(family, pair)
        return np.asarray(np.ldexp(fraction[own], exponent[own] % 2))

    def exactly_symmetric(self, pair: TablePair) -> bool:  # noqa: ARG002
        """Yes: exponents are integers."""
        return True

    def polynomial(self) -> sympy.Expr:
        """That of the kernel inside, up to a factor for every row."""
        return self.kernel.polynomial()


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

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Count the shared ones, then divide block by block."""
        if pair.is_real:
            return real_fill(pair, _tanimoto, repr(self))
        tables = pair.tables((None,))
        p, q = (counts[0].astype(np.float64) for counts in (tables.x_counts, tables.z_counts))
        shared = fill_by_count(tables, np.arange(pair.x.n_columns + 1.0))

        def divide(rows: slice, columns: slice, block: FloatArray) -> None:
            block[...] = _ratio(block, p[rows, None] + q[None, columns])

        return then(shared, divide)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """1 for every row."""
        if pair.is_real:
            return real_diagonal(pair, _tanimoto, repr(self))
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


def _largest(family: Family, pair: TablePair) -> int:
    """The largest t that a value between these tables, or on their diagonals, asks for."""
    tables = pair.tables((None,))
    ones = np.concatenate([tables.x_counts[0], tables.z_counts[0]])
    return int(family.argument(ones, ones, ones, tables.sizes[0]).max(initial=0))


def _own(family: Family, pair: TablePair) -> IntArray:
    """t of every row of x with itself."""
    ones = pair.tables((None,)).x_counts[0]
    return np.asarray(family.argument(ones, ones, ones, pair.x.n_columns))


def _looked_up(family: Family, pair: TablePair, table: FloatArray) -> BlockWriter:
    """``table[t]`` for every pair of rows."""
    tables = pair.tables((None,))
    if not family.signed:
        return fill_by_count(tables, table)
    zeros = tables.sizes[0] - tables.x_counts[0]
    return fill_by_count(tables, table, zeros, -tables.z_counts[0], stride=2)


@lru_cache(maxsize=32)
def _tabulated(family: Family, n: int, last: int, scale: Scale) -> FloatArray:
    family.check(n)
    table = np.full(last + 1, np.inf)
    share = scale == "probability"
    total = leading(*family.total(n)) if share else (1, 0)
    for t, value in enumerate(islice(family.values(n), last + 1)):
        table[t] = rounded(leading(*value) if share else value, total)
        if table[t] == math.inf:
            break  # and so are all that follow: families never decrease
    table.flags.writeable = False
    return table


@lru_cache(maxsize=32)
def fractions(family: Family, n: int, last: int) -> tuple[FloatArray, IntArray]:
    """f(0) … f(last) on n columns, each as fraction·2^exponent with a fraction in [1/2, 1), or 0.

    >>> from formulakern.kernels.boolean.families import Conjunctions
    >>> fractions(Conjunctions("conjunction", False, 2, 2), 4, 4)[1].tolist()  # 0, 0, 1, 3, 6
    [0, 0, 1, 2, 3]
    """
    family.check(n)
    fraction = np.zeros(last + 1)
    exponent = np.zeros(last + 1, dtype=np.int64)
    for t, value in enumerate(islice(family.values(n), last + 1)):
        digits, power = leading(*value)
        length = digits.bit_length()
        fraction[t], carry = math.frexp(digits / (1 << length))
        exponent[t] = power + length + carry if digits else 0
    return fraction, exponent


def _tanimoto(pairs: RowPairs) -> FloatArray:
    x, z = pairs.squares()
    return _ratio(pairs.inner(), x + z)


def _ratio(shared: FloatArray, both: FloatArray) -> FloatArray:
    """shared / (both − shared), 1 where both rows are zero; nothing cancels: shared ≤ both / 2."""
    both = np.broadcast_to(both, shared.shape)
    ratio = np.divide(shared, both - shared, out=np.ones(shared.shape), where=both > 0)
    return np.asarray(ratio)
