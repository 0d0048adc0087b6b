"""The base class of kernels, and sums, products, positive multiples and cosines of kernels.

A kernel provides a block writer (``prepare``), a diagonal, a dimension, a closed form and the
stages of its computation.  The base class adds matrices, value semantics and scikit-learn's
protocol.  Sums and products are flattened when they are built.
"""

from __future__ import annotations

import math
import operator
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, fields
from functools import cached_property, reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.block_writers import UFUNCS, Factors, check_finite, combined, multiplied
from formulakern.backends.tables import BlockWriter, PairedTables, TablePair
from formulakern.checks import check_integer, check_number
from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.gram.matrix import (
    bands,
    fill_file,
    fill_matrix,
    float_type,
    narrowed,
    output,
    product,
    transposing,
)
from formulakern.gram.triple_index import Counts, with_themselves
from formulakern.markup import rendered
from formulakern.partitions.collections import is_dask
from formulakern.partitions.lazy_rows import lazily, lazy_gram, lazy_product
from formulakern.solvers.blas import one_thread
from formulakern.text import clip

if TYPE_CHECKING:
    import sympy

#: The largest number of kernels in one kernel, and the greatest nesting depth.
MAX_PARTS, MAX_DEPTH = 10_000, 50
#: Up to this number of columns, computing both halves of a matrix is faster than copying one.
MAX_UNMIRRORED_COLUMNS = 1024

#: The largest number of characters of a closed form that are shown, and the line width.
MAX_TEXT, WIDTH = 400, 84

Sizes = int | Mapping[str | None, int]


class Section(NamedTuple):
    """One stage of a computation: a title and a text in a monospaced layout."""

    title: str
    text: str


@dataclass(frozen=True)
class Inspection:
    """The stages of a kernel's computation, shown as text or, in a notebook, as HTML."""

    title: str
    sections: tuple[Section, ...]
    latex: str

    def __getitem__(self, title: str) -> str:
        """Return the text of the stage with this title."""
        for section in self.sections:
            if section.title == title:
                return section.text
        raise KeyError(f"no stage {title!r}; stages: {', '.join(s.title for s in self.sections)}")

    def __str__(self) -> str:
        width = max(len(section.title) for section in self.sections)
        blocks = [self.title, ""]
        for section in self.sections:
            first, *rest = section.text.splitlines() or [""]
            blocks.append(f"{section.title:>{width}} │ {first}")
            blocks += [f"{'':>{width}} │ {line}".rstrip() for line in rest]
            blocks.append(f"{'':>{width}} │")
        return "\n".join(blocks[:-1])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendered("inspection.html", **vars(self))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"


def equation(form: sympy.Expr) -> str:
    """Return the closed form, folded at spaces."""
    return textwrap.fill(
        f"K(x, z) = {clip(str(form), MAX_TEXT)}",
        WIDTH,
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


class ScikitLearnKernel:
    """The protocol by which scikit-learn calls a kernel on whole tables, not on pairs of rows.

    Kernels register as ``gaussian_process.kernels.Kernel`` when scikit-learn reads their class,
    since importing scikit-learn takes about a second.
    """

    @property
    def __class__(self) -> type[Self]:
        module = sys.modules.get("sklearn.gaussian_process.kernels")
        if module is not None and hasattr(module, "Kernel"):
            module.Kernel.register(ScikitLearnKernel)
        return type(self)

    @__class__.setter
    def __class__(self, new: type) -> None:
        raise TypeError("the class of a kernel cannot be changed")

    def __sklearn_clone__(self) -> Self:
        return self

    #: Rows are vectors; there are no hyperparameters to optimise.
    requires_vector_input: ClassVar[bool] = True
    hyperparameters: ClassVar[list[Any]] = []
    n_dims: ClassVar[int] = 0
    bounds: ClassVar[FloatArray] = np.empty((0, 2))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return no parameters: a kernel is a value."""
        return {}

    def set_params(self, **parameters: Any) -> Self:
        """Raise ParameterError: build another kernel instead."""
        if parameters:
            raise ParameterError(
                f"a kernel is an immutable value: cannot set {', '.join(sorted(parameters))}. "
                "Build another one with fk.kernel(...)."
            )
        return self

    def is_stationary(self) -> bool:
        """Return False: the value depends on more than the difference of two rows."""
        return False

    @property
    def theta(self) -> FloatArray:
        """The empty vector of hyperparameters."""
        return np.empty(0)

    @theta.setter
    def theta(self, value: npt.ArrayLike) -> None:
        if np.size(value):
            raise ParameterError("this kernel has no hyperparameters to set")

    def clone_with_theta(self, theta: npt.ArrayLike) -> Self:
        """Return the kernel itself: there is nothing to replace."""
        self.theta = theta
        return self


class Kernel(ScikitLearnKernel, ABC):
    """A positive semidefinite function of two rows of a table, usually of 0 and 1.

    ``k1 + k2`` concatenates the feature spaces, ``k1 * k2`` pairs their features by "and",
    ``c * k`` with c > 0 weights every feature by √c, and ``k.normalized()`` is the cosine of the
    angle between the feature vectors.  Kernels are immutable.  Scikit-learn accepts a kernel as a
    callable and calls it on whole tables: ``SVC(kernel=k)``, ``KernelRidge``, ``KernelPCA``,
    ``Nystroem``, ``GaussianProcessRegressor``.

    Examples
    --------
    >>> from formulakern import kernel
    >>> both = kernel("a") + 2 * kernel("a & b", "distinct")
    >>> both([[1, 1, 1]])
    array([[9.]])
    >>> both.normalized()([[1, 1, 1]])
    array([[1.]])
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # every kernel is a dataclass
    #: The number of kernels in this one, itself and repetitions included, and the nesting depth.
    extent: tuple[int, int] = (1, 1)
    #: The precedence of the kernel's repr: 1 for a sum, 2 for a product, 3 for a call.
    binding: ClassVar[int] = 3

    # -- provided by each kernel --------------------------------------------------------------

    @abstractmethod
    def prepare(self, pair: TablePair) -> BlockWriter:
        """Return the function that fills blocks of the Gram matrix between two tables.

        Work that does not depend on the pair of rows is done once, before this method returns.
        """

    @abstractmethod
    def dimension(self, n: Sizes) -> int:
        """Return the exact dimension of the feature space for n columns.

        Parameters
        ----------
        n : int or mapping
            The number of columns; with domains, a mapping from their names to such numbers.
        """

    @abstractmethod
    def polynomial(self) -> sympy.Expr:
        """Return K in s = ⟨x,z⟩, p = ⟨x,x⟩, q = ⟨z,z⟩ and n, as a SymPy expression."""

    @abstractmethod
    def stages(self, closed_form: str) -> list[Section]:
        """Return the stages that :meth:`inspect` shows, given the text of the closed form."""

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """Return K(x, x) for the rows of a table that is paired with itself."""
        write, values = self.prepare(pair), np.empty((pair.shape[0], 1))
        for row in range(len(values)):
            write(slice(row, row + 1), slice(row, row + 1), values[row : row + 1])
        return values.reshape(-1)

    def counts_of(self, pair: TablePair) -> PairedTables | None:  # noqa: ARG002
        """Return the joint counts that determine K(x, z), or None."""
        return None

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """Return K for triples of the counts of :meth:`counts_of`, equal to the last bit.

        Raise NotImplementedError if K should be computed for every pair of rows.
        """
        raise NotImplementedError

    def exactly_symmetric(self, pair: TablePair) -> bool:  # noqa: ARG002
        """Return True if the computed K(x, z) and K(z, x) are equal to the last bit."""
        return False

    def scaled_into_range(self, pair: TablePair) -> Kernel:  # noqa: ARG002
        """Return this kernel, or a multiple whose values on these tables fit into float64."""
        return self

    def within_range(self, pair: TablePair) -> Kernel:
        """Return a kernel with the same cosines, whose values on these tables fit into float64."""
        return self.scaled_into_range(pair)

    @property
    def accepts_real(self) -> bool:
        """True if the kernel reads tables of any finite numbers, not only of 0 and 1."""
        return False

    @property
    def reads(self) -> str:
        """The kind of its rows: "tables" or "strings"."""
        return "tables"

    def read(self, X: Any, Z: Any = None) -> TablePair:
        """Check X and Z, and return them as the argument of :meth:`prepare`."""
        return TablePair(X, Z, real=self.accepts_real)

    @property
    def letter(self) -> str:
        """The kernel's letter, for LaTeX."""
        return "K"

    def inspect(self) -> Inspection:
        """Return the stages from the formula to the code.

        Returns
        -------
        Inspection
            Prints as text, shows as HTML in a notebook; indexed by a title, it gives one stage.
        """
        import sympy

        try:
            form = self.polynomial()
            text, latex = equation(form), sympy.latex(form)
        except FormulaSizeError as error:
            text, latex = str(error), r"\text{(too long)}"
        whole = f"{self.letter}(x, z) = {latex}"
        return Inspection(repr(self), tuple(self.stages(text)), whole)

    # -- matrices -----------------------------------------------------------------------------

    def __call__(
        self,
        X: Any,
        Z: Any = None,
        eval_gradient: bool = False,
        *,
        out: npt.NDArray[Any] | None = None,
        dtype: npt.DTypeLike | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Any:
        """Return the Gram matrix between the rows of two tables.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            NumPy array of any numeric or bool dtype, SciPy sparse, pandas or polars frame,
            :class:`formulakern.Table`, or a frame or array of dask; every entry 0 or 1, or finite
            if ``accepts_real``.
        Z : array-like of shape (other rows, n), optional
            By default X, at half the cost.
        eval_gradient : bool
            For Gaussian processes: also return the gradient with respect to the hyperparameters.
            A kernel has none, so the gradient is an array of shape (rows, rows, 0).
        out : float64 or float32 of shape (rows, other rows), C-contiguous, optional
            Receives the matrix.  A memory map (``numpy.lib.format.open_memmap``) holds a matrix
            that is larger than memory.
        dtype : {"float64", "float32"}, optional
            The type of the entries, by default the type of ``out``, or float64.  For float32 the
            float64 entries are rounded once, which adds a relative error of at most
            2⁻²⁴ = 6·10⁻⁸ to entries of at least 1.2·10⁻³⁸.
        progress : callable, optional
            Called with the completed share of the work.

        Returns
        -------
        ndarray of shape (rows, other rows)
            ``out`` if given.  If X or Z is a dask collection, a dask array in chunks of at most
            128 MiB, each computed where its rows are.

        >>> from formulakern import kernel
        >>> out = np.empty((2, 2), dtype=np.float32)
        >>> kernel("a | b")([[1, 0, 1], [0, 1, 1]], out=out) is out
        True
        >>> out
        array([[8., 7.],
               [7., 8.]], dtype=float32)
        """
        kind = float_type(dtype, out)
        if is_dask(X) or is_dask(Z):
            if eval_gradient or out is not None or progress is not None:
                raise ParameterError(
                    "out, progress and eval_gradient need tables in memory; the matrix of dask "
                    "collections is a dask array. Write it with its methods to_zarr or store."
                )
            return lazy_gram(self, X, Z, kind)
        pair = self.read(X, Z)
        matrix = output(pair.shape, out, kind)
        fill = self._fill(pair, kind)
        counted_twice = pair.x.n_columns <= MAX_UNMIRRORED_COLUMNS and self.exactly_symmetric(pair)
        if isinstance(matrix, np.memmap):
            mirrored = pair.symmetric and not self.exactly_symmetric(pair)
            fill_file(matrix, transposing(fill) if mirrored else fill, progress)
        else:
            fill_matrix(matrix, pair.symmetric and not counted_twice, fill, progress)
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def blocks(
        self,
        X: Any,
        Z: Any = None,
        *,
        rows: int | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield the Gram matrix in successive bands of rows.

        Parameters
        ----------
        X, Z, dtype
            The tables and the type of the entries, as in a call of the kernel.
        rows : int, optional
            The number of rows of a band, by default those of 64 megabytes, at least 16.

        Yields
        ------
        rows : slice
        block : ndarray of shape (rows, other rows)
            ``kernel(X, Z)[rows]``, in a new array.

        Examples
        --------
        >>> from formulakern import kernel
        >>> for rows, block in kernel("a | b").blocks([[1, 0], [0, 1], [1, 1]], rows=2):
        ...     print(rows.start, rows.stop, block.tolist())
        0 2 [[3.0, 2.0, 3.0], [2.0, 3.0, 3.0]]
        2 3 [[3.0, 3.0, 4.0]]
        """
        kind = float_type(dtype, None)
        if rows is not None:
            check_integer("rows", rows, 1)
        if is_dask(X) or is_dask(Z):
            raise ParameterError(
                "blocks() needs tables in memory; got a dask collection. Use kernel(X, Z), a dask "
                "array in chunks."
            )
        pair = self.read(X, Z)
        fill = self._fill(pair, kind)
        if pair.symmetric and not self.exactly_symmetric(pair):
            fill = transposing(fill)

        def filled() -> Iterator[tuple[slice, npt.NDArray[Any]]]:
            for band in bands(pair.shape, np.dtype(kind).itemsize, rows):
                block = output((band.stop - band.start, pair.shape[1]), None, kind)
                fill_matrix(block, False, fill, first=band.start)
                yield band, block

        return filled()

    def matvec(self, X: Any, v: npt.ArrayLike, Z: Any = None) -> FloatArray:
        """Return K(X, Z)·v without the matrix.

        Parameters
        ----------
        X, Z
            The tables, as in a call of the kernel.
        v : array-like of shape (other rows,) or (other rows, m)
            The vector, or m vectors as columns.

        Returns
        -------
        ndarray of shape (rows,) or (rows, m), float64
            The same for any number of threads.  If X, v or Z is a dask collection, a dask array
            of sums over the partitions of Z, which is the same up to rounding.

        Raises
        ------
        ParameterError
            If v has another shape, or an entry that is not finite.
        DataError, MagnitudeError
            If a call of the kernel on these tables would raise it.

        Notes
        -----
        All values are computed, in tiles of two megabytes for each thread: time grows with the
        number of pairs of rows, memory with the number of rows.

        Examples
        --------
        >>> from formulakern import kernel
        >>> kernel("a | b").matvec([[1, 0], [0, 1]], [10, 1])
        array([32., 23.])
        """
        if is_dask(X) or is_dask(Z) or is_dask(v):
            lazy: FloatArray = lazy_product(self, X, v, Z)
            return lazy
        pair = self.read(X, Z)
        vectors = np.asarray(v, dtype=np.float64)
        if vectors.ndim not in (1, 2) or len(vectors) != pair.shape[1]:
            of = f"{pair.shape[1]} rows of {'X' if Z is None else 'Z'}"
            raise ParameterError(f"v has shape {vectors.shape}; expected an entry for all {of}.")
        if not np.isfinite(vectors).all():
            raise ParameterError("v has an entry that is not finite; expected finite numbers.")
        columns = np.ascontiguousarray(vectors if vectors.ndim == 2 else vectors[:, None])
        with one_thread():
            found = product(self.prepare(pair), pair.shape, columns)
        return found.reshape(-1) if vectors.ndim == 1 else found

    def _fill(self, pair: TablePair, kind: str) -> BlockWriter:
        fill = self.prepare(pair)
        return fill if kind == "float64" else narrowed(fill)

    @lazily
    def diagonal(self, X: Any) -> FloatArray:
        """Return K(x, x) for every row of a table, without the matrix.

        Parameters
        ----------
        X : array-like of shape (rows, n)

        Returns
        -------
        ndarray of shape (rows,), float64
        """
        return self.diagonal_of(self.read(X))

    def diag(self, X: Any) -> FloatArray:
        """Return :meth:`diagonal`, under the name that Gaussian processes use."""
        return self.diagonal(X)

    # -- values and their algebra -------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def __setattr__(self, name: str, value: object) -> None:
        known = name in self.__dataclass_fields__ or hasattr(type(self), name)
        if name in self.__dict__ or not known:
            raise AttributeError(f"a kernel is immutable: cannot set {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a kernel is immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel):
            return NotImplemented
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def _repr_latex_(self) -> str:
        import sympy

        return f"$\\displaystyle {sympy.latex(self.polynomial())}$"

    def within(self, binding: int) -> str:
        """Return the repr, in brackets if its precedence is below ``binding``."""
        return repr(self) if self.binding >= binding else f"({self!r})"

    def normalized(self) -> Kernel:
        """Return K(x, z) / √(K(x, x)·K(z, z)), which is 0 for a row without true features."""
        return NormalizedKernel(self)

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
    """A kernel made of at most ``MAX_PARTS`` others, nested at most ``MAX_DEPTH`` deep."""

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        size, depth = self.extent
        if size > MAX_PARTS or depth > MAX_DEPTH:
            raise FormulaSizeError(
                f"a kernel contains at most {MAX_PARTS:,} kernels, nested at most {MAX_DEPTH} "
                f"deep; got {size:,}, nested {depth} deep. Collect equal parts as multiples, or "
                "compute Gram matrices and combine those."
            )

    @cached_property
    def extent(self) -> tuple[int, int]:  # type: ignore[override]
        """The number of kernels in this one, itself included, and the nesting depth."""
        sizes, depths = zip(*(part.extent for part in self.parts), strict=True)
        return 1 + sum(sizes), 1 + max(depths)

    @property
    def accepts_real(self) -> bool:
        """True if all parts read real numbers."""
        return all(part.accepts_real for part in self.parts)

    @property
    def reads(self) -> str:
        """The kind of rows that all parts read."""
        return self.parts[0].reads

    def read(self, X: Any, Z: Any = None) -> TablePair:
        """Check X and Z as the parts do, and return them."""
        return super().read(X, Z) if self.reads == "tables" else self.parts[0].read(X, Z)

    def counts_of(self, pair: TablePair) -> PairedTables | None:
        """Return the joint counts of the parts if they are the same for all parts, else None."""
        first, *others = [part.counts_of(pair) for part in self.parts]
        return first if all(other is first for other in others) else None

    def exactly_symmetric(self, pair: TablePair) -> bool:
        return all(part.exactly_symmetric(pair) for part in self.parts)

    def stages(self, closed_form: str) -> list[Section]:
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
    #: The operation: its sign, its name in loops, and the function for dimensions and closed forms.
    sign: ClassVar[str]
    join: ClassVar[Literal["add", "multiply"]]
    operation: ClassVar[Callable[[Any, Any], Any]]

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        """Join kernels that read the same kind of rows; flatten nested sums or products."""
        if len({k.reads for k in kernels}) > 1:
            listed = ", ".join(f"{k!r} reads {k.reads}" for k in kernels)
            raise ParameterError(
                f"{listed}; expected kernels that read the same kind of rows. Join only kernels "
                "of tables, or only kernels of strings."
            )
        parts = [k.parts if isinstance(k, cls) else (k,) for k in kernels]
        return cls(tuple(chain.from_iterable(parts)))

    def prepare(self, pair: TablePair) -> BlockWriter:
        return combined([part.prepare(pair) for part in self.parts], self.join)

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        return reduce(UFUNCS[self.join], (part.on_counts(pair, counts) for part in self.parts))

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        with np.errstate(over="ignore"):
            diagonals = [part.diagonal_of(pair) for part in self.parts]
            return check_finite(np.asarray(UFUNCS[self.join].reduce(diagonals, axis=0)))

    def dimension(self, n: Sizes) -> int:
        return int(reduce(type(self).operation, (part.dimension(n) for part in self.parts)))

    def polynomial(self) -> sympy.Expr:
        return reduce(type(self).operation, (part.polynomial() for part in self.parts))

    def __repr__(self) -> str:
        return f" {self.sign} ".join(part.within(self.binding) for part in self.parts)


class SumKernel(JoinedKernel):
    """K₁ + K₂ + …: the concatenated feature spaces."""

    sign: ClassVar[str] = "+"
    join: ClassVar[Literal["add", "multiply"]] = "add"
    operation: ClassVar[Callable[[Any, Any], Any]] = operator.add
    binding: ClassVar[int] = 1


class ProductKernel(JoinedKernel):
    """K₁ · K₂ · …: all pairs of features, joined by "and"."""

    sign: ClassVar[str] = "*"
    join: ClassVar[Literal["add", "multiply"]] = "multiply"
    operation: ClassVar[Callable[[Any, Any], Any]] = operator.mul
    binding: ClassVar[int] = 2

    @classmethod
    def of(cls, *kernels: Kernel) -> Kernel:
        """Join kernels, and collect their weights in front."""
        weight = math.prod(k.weight for k in kernels if isinstance(k, ScaledKernel))
        bare = (k.kernel if isinstance(k, ScaledKernel) else k for k in kernels)
        product = super().of(*bare)
        return product if weight == 1.0 else ScaledKernel.of(weight, product)

    def within_range(self, pair: TablePair) -> Kernel:  # noqa: ARG002
        return ProductKernel(tuple(NormalizedKernel(part) for part in self.parts))


class DerivedKernel(CombinedKernel):
    """A kernel derived from another one, whose features correspond one to one."""

    kernel: Kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:  # type: ignore[override]
        """The inner kernel."""
        return (self.kernel,)

    def dimension(self, n: Sizes) -> int:
        """Return the dimension of the inner kernel."""
        return self.kernel.dimension(n)


@dataclass(eq=False, repr=False)
class ScaledKernel(DerivedKernel):
    """c · K with c > 0: every feature weighted by √c."""

    binding: ClassVar[int] = 2
    weight: float
    kernel: Kernel

    @classmethod
    def of(cls, weight: float, kernel: Kernel) -> Kernel:
        """Return the multiple of a kernel, and merge its weights."""
        if isinstance(kernel, ScaledKernel):
            weight, kernel = weight * kernel.weight, kernel.kernel
        expected = "a positive finite number (a negative weight would make the kernel indefinite)"
        check_number("the weight of a kernel", weight, 0, above=True, expected=expected)
        return cls(weight, kernel)

    def prepare(self, pair: TablePair) -> BlockWriter:
        return multiplied(self.kernel.prepare(pair), Factors(weight=self.weight))

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        return self.kernel.on_counts(pair, counts) * self.weight

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        with np.errstate(over="ignore"):
            return check_finite(self.weight * self.kernel.diagonal_of(pair))

    def within_range(self, pair: TablePair) -> Kernel:
        return self.kernel.within_range(pair)

    def polynomial(self) -> sympy.Expr:
        import sympy

        return sympy.nsimplify(self.weight, rational=True) * self.kernel.polynomial()

    def __repr__(self) -> str:
        return f"{self.weight!r} * {self.kernel.within(3)}"


@dataclass(eq=False, repr=False)
class NormalizedKernel(DerivedKernel):
    """K(x, z) / √(K(x, x)·K(z, z)): the cosine of the angle between the feature vectors.

    All cosines of a row without true features are 0, its diagonal entry included.
    """

    kernel: Kernel

    def normalized(self) -> Kernel:
        return self

    def prepare(self, pair: TablePair) -> BlockWriter:
        kernel = self.kernel.within_range(pair)
        x = inverse_length(kernel.diagonal_of(pair.rows_of_x()))
        z = x if pair.symmetric else inverse_length(kernel.diagonal_of(pair.rows_of_z()))
        same = np.arange(len(x) if pair.symmetric else 0, dtype=np.int64)
        return multiplied(kernel.prepare(pair), Factors(x, z, same))

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        inner = self.kernel.within_range(pair)
        (x_counts, x), (z_counts, z) = with_themselves(counts.p), with_themselves(counts.q)
        by_x = inverse_length(inner.on_counts(pair, x_counts))[x]
        by_z = inverse_length(inner.on_counts(pair, z_counts))[z]
        cosines = inner.on_counts(pair, counts) * np.maximum(by_x, by_z) * np.minimum(by_x, by_z)
        cosines[counts.same] = by_x[counts.same] > 0
        return cosines

    def exactly_symmetric(self, pair: TablePair) -> bool:
        return self.kernel.within_range(pair).exactly_symmetric(pair)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        diagonal = self.kernel.within_range(pair).diagonal_of(pair)
        return (diagonal > 0).astype(np.float64)

    def polynomial(self) -> sympy.Expr:
        import sympy

        from formulakern.kernels.polynomial import on_diagonal

        whole = self.kernel.polynomial()
        return whole / sympy.sqrt(on_diagonal(whole, "p") * on_diagonal(whole, "q"))

    def __repr__(self) -> str:
        return f"{self.kernel.within(3)}.normalized()"


def inverse_length(squares: FloatArray) -> FloatArray:
    """Return 1/√ of squared lengths, or 0 for rows without true features."""
    length = np.sqrt(squares)
    return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)


def n_columns(n: Sizes, domain: str | None = None) -> int:
    """Check and return the number of columns of a domain, or of the table for None."""
    size = n.get(domain) if isinstance(n, Mapping) else n
    of = f" of domain {domain!r}" if domain else ""
    check_integer(f"the number of columns{of}", size, 0, "a mapping from domains to such integers")
    return int(size)  # type: ignore[arg-type]
