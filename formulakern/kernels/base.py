"""The base of every kernel: Gram matrices, value semantics, and scikit-learn's protocol."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.backends.base import BlockWriter
from formulakern.backends.tables import PairedTables
from formulakern.checks import check_integer
from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.gram.matrix import (
    bands,
    fill_file,
    fill_matrix,
    fill_rows,
    float_type,
    narrowed,
    output,
    product,
    transposing,
)
from formulakern.gram.pair import TablePair
from formulakern.gram.triple_index import Counts
from formulakern.kernels.inspection import Inspection, Section, equation
from formulakern.partitions.collections import is_dask
from formulakern.partitions.lazy_grams import lazy_gram, lazy_product
from formulakern.partitions.lazy_rows import lazily
from formulakern.solvers.blas import one_thread

if TYPE_CHECKING:
    import sympy

__all__ = ["MatrixKernel", "n_columns"]


class ScikitLearnKernel:
    """A kernel that scikit-learn calls on whole tables.

    It does so when a kernel is a ``gaussian_process.kernels.Kernel``, and calls any other callable
    on every pair of rows, from Python.  Kernels here register as such, once, when scikit-learn asks
    for their class: importing it earlier would cost everybody a second.
    """

    @property
    def __class__(self) -> type[Self]:
        _register(type(self))
        return type(self)

    @__class__.setter
    def __class__(self, new: type) -> None:
        raise TypeError("the class of a kernel cannot be changed")

    def __sklearn_clone__(self) -> Self:
        return self

    #: Rows are vectors; there are no hyperparameters that an optimiser could turn.
    requires_vector_input: ClassVar[bool] = True
    hyperparameters: ClassVar[list[Any]] = []
    n_dims: ClassVar[int] = 0
    bounds: ClassVar[FloatArray] = np.empty((0, 2))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """No parameters to tune: a kernel is a value (scikit-learn's protocol)."""
        return {}

    def set_params(self, **parameters: Any) -> Self:
        """Refused: build another kernel instead (scikit-learn's protocol)."""
        if parameters:
            raise ParameterError(
                f"a kernel is an immutable value: cannot set {', '.join(sorted(parameters))}. "
                "Build another one with fk.kernel(...)."
            )
        return self

    def is_stationary(self) -> bool:
        """False: the value depends on more than the difference of two rows."""
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
        """The kernel itself: there is nothing to replace."""
        self.theta = theta
        return self


_registered: set[type] = set()


def _register(kernel_class: type) -> None:
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    if module is not None and kernel_class not in _registered and hasattr(module, "Kernel"):
        _registered.add(kernel_class)
        module.Kernel.register(kernel_class)


#: Up to so many columns, counting twice is faster than copying what was counted once.
NARROW = 768


class MatrixKernel(ScikitLearnKernel, ABC):
    """A positive semidefinite function of two rows of a table, mostly 0/1; an immutable value.

    Scikit-learn takes a kernel object wherever it takes a kernel, and always at matrix level:
    ``SVC(kernel=k)``, ``KernelRidge``, ``KernelPCA``, ``Nystroem``, ``SpectralClustering``,
    ``GaussianProcessRegressor``.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # every kernel is a dataclass

    # -- to be provided by each kernel --------------------------------------------------------

    @abstractmethod
    def prepare(self, pair: TablePair) -> BlockWriter:
        """The function that fills blocks of the Gram matrix between two tables.

        All work that is not done once for every pair of rows is done here.
        """

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """Return K(x, x) for the rows of a table that is paired with itself.

        Here, row by row, if :meth:`prepare` returns a writer that may begin at any column.
        """
        write, values = self.prepare(pair), np.empty((pair.shape[0], 1))
        for row in range(len(values)):
            write(slice(row, row + 1), slice(row, row + 1), values[row : row + 1])
        return values.reshape(-1)

    def counts_of(self, pair: TablePair) -> PairedTables | None:  # noqa: ARG002
        """The joint counts (s, p, q) that determine K(x, z) for rows of two tables.

        None where there are several kinds of them, or where they do not determine it.
        """
        return None

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        """K for triples of the counts that :meth:`counts_of` names.

        The values are those of rows with these counts, to the last bit.

        Raises
        ------
        NotImplementedError
            Where K is better computed for every pair of rows.
        """
        raise NotImplementedError

    def exactly_symmetric(self, pair: TablePair) -> bool:  # noqa: ARG002
        """Whether the computed K(x, z) and K(z, x) are equal to the last bit."""
        return False

    @property
    def accepts_real(self) -> bool:
        """Whether tables of any finite numbers are read, not only of 0 and 1."""
        return False

    @property
    def reads(self) -> str:
        """What its rows are: "tables", or "strings"."""
        return "tables"

    def read(self, X: Any, Z: Any = None) -> TablePair:
        """The rows of X and Z as :meth:`prepare` takes them, read and checked.

        Parameters
        ----------
        X, Z : as in :meth:`__call__`

        Raises
        ------
        DataError
        """
        return TablePair(X, Z, real=self.accepts_real)

    @abstractmethod
    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """The exact dimension of the feature space for n columns.

        Parameters
        ----------
        n : int or mapping
            The number of columns; with domains, the number of each by name.
        """

    @abstractmethod
    def polynomial(self) -> sympy.Expr:
        """The closed form in s = ⟨x,z⟩, p = ⟨x,x⟩, q = ⟨z,z⟩ and n, as a SymPy expression."""

    @abstractmethod
    def stages(self, closed_form: str) -> list[Section]:
        """What :meth:`inspect` shows, given the text of the closed form."""

    @property
    def letter(self) -> str:
        """The kernel's letter, for LaTeX."""
        return "K"

    def inspect(self) -> Inspection:
        """The stages from the formula to the code.

        Returns
        -------
        Inspection
            Prints as text, shows as HTML in a notebook; its attributes are the stages.
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
        """The Gram matrix between the rows of two 0/1 tables, or real ones where ``accepts_real``.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            NumPy array of any numeric or bool dtype, SciPy sparse, pandas or polars frame,
            :class:`formulakern.Table`, or a frame or array of dask; every entry 0 or 1, or finite
            where ``accepts_real``.
        Z : array-like of shape (other rows, n), optional
            X itself by default, at half the work.
        eval_gradient : bool
            For Gaussian processes: also return the gradient by the (absent) parameters, an array
            of shape (rows, rows, 0).
        out : float64 or float32 of shape (rows, other rows), C-contiguous, optional
            Receives the matrix: memory that is there costs less than new memory.  A memory map
            (``numpy.lib.format.open_memmap``) takes a matrix that is larger than memory.
        dtype : {"float64", "float32"}, optional
            The type of the entries, by default that of ``out``, or float64.  In float32 they are
            those of float64, rounded once: with a relative error of at most 2⁻²⁴ = 6·10⁻⁸ more, for
            entries of at least 1.2·10⁻³⁸.
        progress : callable, optional
            Called with the share that is done.

        Returns
        -------
        ndarray of shape (rows, other rows)
            ``out``, where it is given.  Where X or Z is a collection of dask, a dask array, each
            block of which is computed where the rows are.  Arrays come into chunks of fewer rows
            where a block would take more than 128 MiB; repartition such frames.

        Raises
        ------
        DataError
            If a table holds anything but 0 and 1 (but finite numbers where ``accepts_real``); the
            message names the column and the row.
        MagnitudeError
            If a value is beyond float64, or float32; the message names the way out.
        GramSizeError
            If the matrix does not fit into memory.
        ParameterError
            If ``out`` is not what can be written to, or dtype neither of the two.

        Examples
        --------
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
                    "out, progress and eval_gradient are for tables in memory; the matrix of dask "
                    "collections is a dask array: its methods to_zarr and store write it."
                )
            return lazy_gram(self, X, Z, kind)
        pair = self.read(X, Z)
        matrix = output(pair.shape, out, kind)
        fill = self._fill(pair, kind)
        counted_twice = pair.x.n_columns <= NARROW and self.exactly_symmetric(pair)
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
        """The Gram matrix in bands of rows, one after the other.

        Parameters
        ----------
        X, Z, dtype : as in :meth:`__call__`
        rows : int, optional
            How many rows a band has; by default as many as take 64 megabytes, at least 16.

        Yields
        ------
        rows : slice
        block : ndarray of shape (rows, other rows)
            ``kernel(X, Z)[rows]``, in memory of its own.

        Raises
        ------
        As :meth:`__call__` does, when it is called.

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
                "blocks() goes through tables in memory; kernel(X, Z) of dask collections is an "
                "array with blocks of its own."
            )
        pair = self.read(X, Z)
        fill = self._fill(pair, kind)
        if pair.symmetric and not self.exactly_symmetric(pair):
            fill = transposing(fill)

        def filled() -> Iterator[tuple[slice, npt.NDArray[Any]]]:
            for band in bands(pair.shape, np.dtype(kind).itemsize, rows):
                block = output((band.stop - band.start, pair.shape[1]), None, kind)
                fill_rows(fill, band, block)
                yield band, block

        return filled()

    def matvec(self, X: Any, v: npt.ArrayLike, Z: Any = None) -> FloatArray:
        """K(X, Z)·v without the matrix.

        Parameters
        ----------
        X, Z : as in :meth:`__call__`
        v : array-like of shape (other rows,) or (other rows, m)

        Returns
        -------
        ndarray of shape (rows,) or (rows, m), float64
            The same however many threads there are.  Where X, v or Z is a collection of dask, a
            dask array, of sums over the partitions of Z: the same up to rounding.

        Raises
        ------
        ParameterError
            If v has another shape, or an entry that is not finite.
        DataError, MagnitudeError
            As :meth:`__call__` does.

        Notes
        -----
        Every value is computed, in tiles of two megabytes for each thread, used and forgotten: time
        grows with the pairs of rows, memory only with the rows.

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
            raise ParameterError("v holds an entry that is not finite; expected finite numbers.")
        columns = np.ascontiguousarray(vectors if vectors.ndim == 2 else vectors[:, None])
        with one_thread():
            found = product(self.prepare(pair), pair.shape, columns)
        return found.reshape(-1) if vectors.ndim == 1 else found

    def _fill(self, pair: TablePair, kind: str) -> BlockWriter:
        fill = self.prepare(pair)
        return fill if kind == "float64" else narrowed(fill)

    @lazily
    def diagonal(self, X: Any) -> FloatArray:
        """K(x, x) for every row of a table, without the matrix.

        Parameters
        ----------
        X : array-like of shape (rows, n)

        Returns
        -------
        ndarray of shape (rows,), float64
        """
        return self.diagonal_of(self.read(X))

    def diag(self, X: Any) -> FloatArray:
        """:meth:`diagonal`, by the name that Gaussian processes use."""
        return self.diagonal(X)

    # -- value semantics ----------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        """What equality compares: the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def __setattr__(self, name: str, value: object) -> None:
        known = name in self.__dataclass_fields__ or hasattr(type(self), name)
        if name in self.__dict__ or not known:
            raise AttributeError(f"a kernel is immutable: cannot set {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a kernel is immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MatrixKernel):
            return NotImplemented
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def _repr_latex_(self) -> str:
        import sympy

        return f"$\\displaystyle {sympy.latex(self.polynomial())}$"


def n_columns(n: int | Mapping[str | None, int], domain: str | None = None) -> int:
    """The number of columns of a domain, checked; None is the domain of all columns.

    Parameters
    ----------
    n : int or mapping
        The number of columns, or that of each domain.

    Raises
    ------
    ParameterError
        If it is no integer of at least 0.
    """
    size = n.get(domain) if isinstance(n, Mapping) else n
    of = f" of domain {domain!r}" if domain else ""
    check_integer(f"the number of columns{of}", size, 0, "a mapping from domains to such integers")
    return int(size)  # type: ignore[arg-type]
