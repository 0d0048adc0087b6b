"""Kernels made of kernels: sums, products, positive multiples, and cosines.

Sums concatenate feature spaces, products pair their features by "and", a factor weights, and
normalisation divides by the lengths.  Sums and products flatten when they are built.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.backends.base import BlockWriter
from formulakern.backends.block_writers import Factors, check_finite, joined, multiplied
from formulakern.backends.tables import PairedTables
from formulakern.checks import check_number
from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.gram.pair import TablePair
from formulakern.gram.triple_index import Counts, with_themselves
from formulakern.kernels.base import MatrixKernel
from formulakern.kernels.inspection import Section

if TYPE_CHECKING:
    import sympy

__all__ = [
    "DerivedKernel",
    "Kernel",
    "NormalizedKernel",
    "ProductKernel",
    "ScaledKernel",
    "SumKernel",
    "inverse_length",
]

#: Kernels made of more kernels than this, or more deeply nested ones, are refused.
MAX_PARTS, MAX_DEPTH = 10_000, 50


class Kernel(MatrixKernel):
    """A kernel that adds, multiplies, takes positive weights, and normalises.

    ``k1 + k2`` puts feature spaces side by side, ``k1 * k2`` pairs their features by "and",
    ``c * k`` with c > 0 weights them, ``k.normalized()`` is the cosine of the angle.

    Examples
    --------
    >>> from formulakern import kernel
    >>> both = kernel("a") + 2 * kernel("a & b", "distinct")
    >>> both([[1, 1, 1]])
    array([[9.]])
    >>> both.normalized()([[1, 1, 1]])
    array([[1.]])
    """

    #: How many kernels it is made of, as often as each is used, and how deep they are nested.
    extent: tuple[int, int] = (1, 1)
    #: How tightly the repr of the kernel binds: 1 as a sum, 2 as a product, 3 as a call.
    binding: ClassVar[int] = 3

    def within(self, binding: int) -> str:
        """The repr, in brackets where it binds less tightly than its surroundings."""
        return repr(self) if self.binding >= binding else f"({self!r})"

    def normalized(self) -> Kernel:
        """K(x, z) / √(K(x, x)·K(z, z)), the cosine; 0 where a row has no true feature at all."""
        return NormalizedKernel(self)

    def scaled_into_range(self, pair: TablePair) -> Kernel:  # noqa: ARG002
        """This kernel, or a multiple of it whose values on these tables fit into float64."""
        return self

    def within_range(self, pair: TablePair) -> Kernel:
        """A kernel with the same cosines, whose values on these tables fit into float64."""
        return self.scaled_into_range(pair)

    def __add__(self, other: object) -> Kernel:
        return SumKernel.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return ProductKernel.of(self, other)
        if isinstance(other, (int, float, np.integer, np.floating)):
            return ScaledKernel.of(float(other), self)
        return NotImplemented

    def __rmul__(self, other: object) -> Kernel:
        return NotImplemented if isinstance(other, Kernel) else self * other


class CombinedKernel(Kernel):
    """A kernel made of others, its parts.

    Raises
    ------
    FormulaSizeError
        If it is made of more than ``MAX_PARTS`` kernels, counted as often as each is used, or they
        are nested more than ``MAX_DEPTH`` deep.
    """

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        size, depth = self.extent
        if size > MAX_PARTS or depth > MAX_DEPTH:
            raise FormulaSizeError(
                f"a kernel is made of at most {MAX_PARTS:,} others, nested at most {MAX_DEPTH} "
                f"deep; got {size:,}, {depth} deep. Collect equal parts as multiples, or compute "
                "Gram matrices and combine those."
            )

    @cached_property
    def extent(self) -> tuple[int, int]:  # type: ignore[override]
        """The parts and the kernel itself, and one level more than the deepest part."""
        sizes, depths = zip(*(part.extent for part in self.parts), strict=True)
        return 1 + sum(sizes), 1 + max(depths)

    @property
    def accepts_real(self) -> bool:
        """Where all parts do."""
        return all(part.accepts_real for part in self.parts)

    @property
    def reads(self) -> str:
        """The same for all parts."""
        return self.parts[0].reads

    def read(self, X: Any, Z: Any = None) -> TablePair:
        """As the parts read them."""
        return super().read(X, Z) if self.reads == "tables" else self.parts[0].read(X, Z)

    def counts_of(self, pair: TablePair) -> PairedTables | None:
        """Those of the parts, if all of them read the same."""
        first, *others = [part.counts_of(pair) for part in self.parts]
        return first if all(other is first for other in others) else None

    def exactly_symmetric(self, pair: TablePair) -> bool:
        """Yes, where all parts are."""
        return all(part.exactly_symmetric(pair) for part in self.parts)

    def stages(self, closed_form: str) -> list[Section]:
        """Those of the parts, and the closed form of the whole."""
        found: list[Section] = []
        for number, part in enumerate(self.parts, 1):
            inside, prefix = part.inspect(), f"{number}. " if len(self.parts) > 1 else ""
            found.append(Section(f"{prefix}part", inside.title))
            found += [Section(f"{prefix}{title}", text) for title, text in inside.sections]
        return [*found, Section("closed form of the whole", closed_form)]


@dataclass(eq=False, repr=False)
class JoinedKernel(CombinedKernel):
    """Several kernels joined by an operation on their values."""

    parts: tuple[Kernel, ...]
    #: How the operation is written.
    sign: ClassVar[str]
    #: The operation on blocks of values, and its name for the loops that fill them.
    blockwise: ClassVar[np.ufunc]
    join: ClassVar[Literal["add", "multiply"]]
    #: The same on dimensions and closed forms.
    operation: ClassVar[Callable[[Any, Any], Any]]

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        """The kernels joined, those of the same kind merged.

        Raises
        ------
        ParameterError
            If some are kernels of tables and some of strings.
        """
        if len({k.reads for k in kernels}) > 1:
            listed = ", ".join(f"{k!r} reads {k.reads}" for k in kernels)
            raise ParameterError(
                f"{listed}: there is no row that both read. Join kernels of the same rows."
            )
        parts = [k.parts if isinstance(k, cls) else (k,) for k in kernels]
        return cls(tuple(chain.from_iterable(parts)))

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Fill with the first part, join the others while its values are in a cache."""
        return joined([part.prepare(pair) for part in self.parts], self.join)

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """The values of the parts, joined."""
        return reduce(self.blockwise, (part.on_counts(pair, counts) for part in self.parts))

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """The diagonals, joined."""
        with np.errstate(over="ignore"):
            diagonals = [part.diagonal_of(pair) for part in self.parts]
            return check_finite(np.asarray(self.blockwise.reduce(diagonals, axis=0)))

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """The dimensions, joined."""
        return int(reduce(type(self).operation, (part.dimension(n) for part in self.parts)))

    def polynomial(self) -> sympy.Expr:
        """The closed forms, joined."""
        return reduce(type(self).operation, (part.polynomial() for part in self.parts))

    def __repr__(self) -> str:
        return f" {self.sign} ".join(part.within(self.binding) for part in self.parts)


class SumKernel(JoinedKernel):
    """K₁ + K₂ + …: the feature spaces side by side."""

    sign: ClassVar[str] = "+"
    blockwise: ClassVar[np.ufunc] = np.add
    join: ClassVar[Literal["add", "multiply"]] = "add"
    operation: ClassVar[Callable[[Any, Any], Any]] = operator.add
    binding: ClassVar[int] = 1


class ProductKernel(JoinedKernel):
    """K₁ · K₂ · …: all pairs of features, joined by "and"."""

    sign: ClassVar[str] = "*"
    blockwise: ClassVar[np.ufunc] = np.multiply
    join: ClassVar[Literal["add", "multiply"]] = "multiply"
    operation: ClassVar[Callable[[Any, Any], Any]] = operator.mul
    binding: ClassVar[int] = 2

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        """The product, nested products merged, weights collected in front."""
        weight = math.prod(k.weight for k in kernels if isinstance(k, ScaledKernel))
        bare = (k.kernel if isinstance(k, ScaledKernel) else k for k in kernels)
        product = super().of(*bare)
        return product if weight == 1.0 else ScaledKernel.of(weight, product)

    def within_range(self, pair: TablePair) -> Kernel:  # noqa: ARG002
        """The product of the cosines: normalised, it is the same."""
        return ProductKernel(tuple(NormalizedKernel(part) for part in self.parts))


class DerivedKernel(CombinedKernel):
    """A kernel made of one other, with features that correspond one to one."""

    kernel: Kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:  # type: ignore[override]
        """The kernel inside."""
        return (self.kernel,)

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """That of the kernel inside."""
        return self.kernel.dimension(n)


@dataclass(eq=False, repr=False)
class ScaledKernel(DerivedKernel):
    """c · K with c > 0: every feature weighted by √c."""

    binding: ClassVar[int] = 2
    weight: float
    kernel: Kernel

    @classmethod
    def of(cls, weight: float, kernel: Kernel) -> Kernel:
        """The multiple, weights merged."""
        if isinstance(kernel, ScaledKernel):
            weight, kernel = weight * kernel.weight, kernel.kernel
        expected = "a positive finite number (a negative weight would make the kernel indefinite)"
        check_number("the weight of a kernel", weight, 0, above=True, expected=expected)
        return cls(weight, kernel)

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Fill, and multiply at once."""
        return multiplied(self.kernel.prepare(pair), Factors(weight=self.weight))

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """The values of the kernel inside, weighted."""
        return self.kernel.on_counts(pair, counts) * self.weight

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """The diagonal, weighted."""
        with np.errstate(over="ignore"):
            return check_finite(self.weight * self.kernel.diagonal_of(pair))

    def within_range(self, pair: TablePair) -> Kernel:
        """That of the kernel inside."""
        return self.kernel.within_range(pair)

    def polynomial(self) -> sympy.Expr:
        """The closed form, weighted."""
        import sympy

        return sympy.nsimplify(self.weight, rational=True) * self.kernel.polynomial()

    def __repr__(self) -> str:
        return f"{self.weight!r} * {self.kernel.within(3)}"


@dataclass(eq=False, repr=False)
class NormalizedKernel(DerivedKernel):
    """K(x, z) / √(K(x, x)·K(z, z)): the cosine of the angle between the feature vectors.

    A row without any true feature has no direction: its cosines are 0, and so is its diagonal.
    """

    kernel: Kernel

    def normalized(self) -> Kernel:
        """Itself: it is normalised."""
        return self

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Fill, and divide at once."""
        kernel = self.kernel.within_range(pair)
        x = inverse_length(kernel.diagonal_of(pair.rows_of_x()))
        z = x if pair.symmetric else inverse_length(kernel.diagonal_of(pair.rows_of_z()))
        same = np.arange(len(x) if pair.symmetric else 0, dtype=np.int64)
        return multiplied(kernel.prepare(pair), Factors(x, z, same))

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """The cosines of the kernel inside."""
        inner = self.kernel.within_range(pair)
        (x_counts, x), (z_counts, z) = with_themselves(counts.p), with_themselves(counts.q)
        by_x = inverse_length(inner.on_counts(pair, x_counts))[x]
        by_z = inverse_length(inner.on_counts(pair, z_counts))[z]
        cosines = inner.on_counts(pair, counts) * np.maximum(by_x, by_z) * np.minimum(by_x, by_z)
        cosines[counts.same] = by_x[counts.same] > 0
        return cosines

    def exactly_symmetric(self, pair: TablePair) -> bool:
        """That of the kernel inside."""
        return self.kernel.within_range(pair).exactly_symmetric(pair)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """1 for every row with a true feature, 0 for the others."""
        diagonal = self.kernel.within_range(pair).diagonal_of(pair)
        return (diagonal > 0).astype(np.float64)

    def polynomial(self) -> sympy.Expr:
        """K / √(K(p, p, p)·K(q, q, q))."""
        import sympy

        from formulakern.kernels.polynomial import on_diagonal

        whole = self.kernel.polynomial()
        return whole / sympy.sqrt(on_diagonal(whole, "p") * on_diagonal(whole, "q"))

    def __repr__(self) -> str:
        return f"{self.kernel.within(3)}.normalized()"


def inverse_length(squares: FloatArray) -> FloatArray:
    """1/√ of squared lengths; 0 for rows without any true feature."""
    length = np.sqrt(squares)
    return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
