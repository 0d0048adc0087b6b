"""Kernels of degrees of truth: a kernel of 0/1 rows, integrated over the level sets of two rows.

For x in [0, 1]ⁿ and a level α, let x≥α be the 0/1 row of the columns with xᵢ ≥ α.  It changes only
at the values of x, so x is a mixture of at most n + 1 rows of 0 and 1, its *level sets*, each
weighted by the length of its interval of levels.  The graded kernel of two rows is the weighted sum
of the kernel's values on their level sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.backends.block_writers import within
from formulakern.backends.tables import PANEL, ROWS, BlockWriter, TablePair
from formulakern.compilation import compiled
from formulakern.encoding.bits import n_words, pack_rows, row_blocks
from formulakern.encoding.packed import MAX_PACKED_BYTES, PackedTable
from formulakern.encoding.strict import RealTable
from formulakern.errors import GramSizeError, ParameterError
from formulakern.gram.matrix import transposing
from formulakern.kernels.algebra import DerivedKernel, Kernel, Section
from formulakern.tables.read import unfit_entry

if TYPE_CHECKING:
    import sympy

ADVICE = (
    "a graded kernel expects degrees of truth, from 0 to 1.\n"
    "Scale the columns first, by fk.PropositionEncoder(graded=True) or sklearn's MinMaxScaler."
)
#: The largest number of kernel values in memory (one megabyte), and of level sets of one part.
BLOCK_VALUES, MAX_LEVEL_SETS = 1 << 17, 1 << 12


def graded(kernel: Kernel) -> GradedKernel:
    """Return a kernel of degrees of truth: ∫∫ K(x≥α, z≥β) dα dβ over (0, 1]².

    x≥α is the 0/1 row of the columns with xᵢ ≥ α.  A feature φ of K becomes ∫ φ(x≥α) dα, the share
    of the levels α at which φ is true.  For a column it is the degree, for a conjunction of columns
    the least degree, for a disjunction the largest, and for a negated column 1 less the degree; for
    ``a & ~b`` it is the excess of a over b, at least 0.  On rows of 0 and 1 the kernel equals K.

    Parameters
    ----------
    kernel : Kernel
        The kernel K of a formula, of a family of :mod:`formulakern.boolean`, or of a sum, product,
        multiple or cosine of these.

    Returns
    -------
    GradedKernel
        A kernel of tables of numbers from 0 to 1.

    Raises
    ------
    ParameterError
        If ``kernel`` is not a kernel of tables.

    Notes
    -----
    For rows with L and M different values other than 0, a pair costs at most (L + 1)·(M + 1) values
    of K, computed as for 0/1 tables, and the same number of multiplications.  If K is non-negative,
    the relative error exceeds that of K by at most about n + 4 units in the last place.

    Examples
    --------
    >>> from formulakern import boolean
    >>> k = graded(boolean.monotone_conjunctive(2))
    >>> k([[0.5, 1.0, 0.2]], [[1.0, 0.25, 0.0], [1, 1, 1]])
    array([[0.125, 0.9  ]])

    The conjunction of columns 0 and 1 has the degree 0.5 in the first row of X and 0.25 in the
    first row of Z, which gives 0.5 · 0.25.  The other pairs have the degree 0 in that row of Z.

    >>> from formulakern import kernel
    >>> kernel("a & ~b", "distinct", inputs="graded")([[0.5, 0.5], [0.75, 0.5]])
    array([[0.    , 0.    ],
           [0.    , 0.0625]])
    """
    if not isinstance(kernel, Kernel) or kernel.reads != "tables":
        raise ParameterError(
            f"graded({kernel!r}): expected a kernel of tables, such as fk.kernel('a & b')."
        )
    return kernel if isinstance(kernel, GradedKernel) else GradedKernel(kernel)


@dataclass(eq=False, repr=False)
class GradedKernel(DerivedKernel):
    """The kernel ∫∫ K(x≥α, z≥β) dα dβ, built and defined by :func:`graded`.

    Parameters
    ----------
    kernel : Kernel
        The kernel K of 0/1 rows, and an attribute of the same name.

    Examples
    --------
    >>> from formulakern.kernels.formula import kernel
    >>> GradedKernel(kernel("a & b"))([[0.5, 1.0]], [[0.25, 0.5]])
    array([[0.875]])
    """

    kernel: Kernel
    #: Entries are degrees, checked when the level sets are computed.
    accepts_real: ClassVar[bool] = True

    def prepare(self, pair: TablePair) -> BlockWriter:
        """Return a function that fills blocks by weighted sums of K between level sets."""
        if not pair.is_real:
            return self.kernel.prepare(pair)
        x, z, levels = _level_sets(pair)
        inner = self.kernel.prepare(levels)

        def fill(rows: slice, columns: slice, block: FloatArray) -> None:
            for right in z.parts(columns, MAX_LEVEL_SETS):
                # blocks of the inner kernel begin at multiples of PANEL
                first = z.starts[right.start] // PANEL * PANEL
                width = int(z.starts[right.stop] - first)
                for below in x.parts(rows, max(1, BLOCK_VALUES // width)):
                    top = x.starts[below.start] // ROWS * ROWS
                    last = x.starts[below.stop]
                    values = np.empty((int(last - top), width))
                    inner(slice(top, last), slice(first, first + width), values)
                    part = block[within(below, rows), within(right, columns)]
                    _add_up(values, x.from_set(below, top), z.from_set(right, first), part)

        return transposing(fill) if pair.symmetric else fill

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        """Return K(x, x), computed row by row."""
        if not pair.is_real:
            return self.kernel.diagonal_of(pair)
        return Kernel.diagonal_of(self, pair)

    def exactly_symmetric(self, pair: TablePair) -> bool:
        """Return True on 0/1 tables if K is exactly symmetric."""
        return not pair.is_real and self.kernel.exactly_symmetric(pair)

    def scaled_into_range(self, pair: TablePair) -> Kernel:
        """Return the graded kernel of a multiple of K that fits into float64."""
        levels = _level_sets(pair)[2] if pair.is_real else pair
        inside = self.kernel.scaled_into_range(levels)
        return self if inside is self.kernel else GradedKernel(inside)

    def polynomial(self) -> sympy.Expr:
        """Return the integral of the closed form of K, with counts as functions of the levels."""
        import sympy

        form = self.kernel.polynomial()
        alpha, beta = sympy.symbols("alpha beta", positive=True)
        levels = {"s": (alpha, beta), "p": (alpha,), "q": (beta,)}
        counts = {
            symbol: sympy.Function(symbol.name)(*levels[symbol.name[0]])
            for symbol in form.free_symbols
            if symbol.name[0] in levels and symbol.name[1:2] in ("", "_")
        }
        return sympy.Integral(form.subs(counts), (alpha, 0, 1), (beta, 0, 1))

    def stages(self, closed_form: str) -> list[Section]:
        """Return the stages of K, followed by its integration."""
        *inside, _ = super().stages(closed_form)
        levels = "s(α, β), p(α), q(β): counts of the columns with x ≥ α, with z ≥ β, and with both"
        return [
            *inside,
            Section("level sets", levels),
            Section("closed form of the whole", closed_form),
        ]

    def __repr__(self) -> str:
        return f"fk.graded({self.kernel!r})"


@dataclass(frozen=True, eq=False)
class LevelSets:
    """The level sets of the rows of a table, and the widths of their intervals of levels.

    ``sets`` are the level sets of all rows in order, the smallest of each row first.  Row i has the
    level sets ``starts[i] … starts[i + 1]``, whose widths sum to 1.
    """

    sets: PackedTable
    starts: IntArray
    widths: FloatArray

    @classmethod
    def of(cls, table: RealTable, role: str = "X") -> LevelSets:
        """Return the level sets of rows of degrees, or raise DataError for other numbers.

        >>> found = LevelSets.of(RealTable(None, np.array([[0.5, 0.25, 0.5]])))
        >>> found.sets.unpacked(), found.widths
        (array([[0, 0, 0],
               [1, 0, 1],
               [1, 1, 1]], dtype=uint8), array([0.5 , 0.25, 0.25]))
        """
        values = table.values
        outside = (values < 0) | (values > 1)
        if outside.any():
            row, column = divmod(int(np.argmax(outside)), values.shape[1])
            found = str(values[row, column])
            raise unfit_entry(column, row, found, table.names, role, ADVICE)
        n_rows, n = values.shape
        words, widths, counts = [], [], []
        n_levels = 0
        for block in row_blocks(0, n_rows, (n + 1) * (n + 16)):
            order = np.argsort(-values[block], axis=1, kind="stable")
            ranks = np.argsort(order, axis=1, kind="stable")
            edges = np.zeros((len(order), n + 2))
            edges[:, 0] = 1.0
            edges[:, 1:-1] = np.take_along_axis(values[block], order, axis=1)
            lengths = edges[:, :-1] - edges[:, 1:]
            row, size = np.nonzero(lengths)  # a level set has the `size` largest entries
            n_levels += len(row)
            if n_levels * n_words(n) * 8 > MAX_PACKED_BYTES:
                raise GramSizeError(
                    f"the level sets of {n_rows:,} rows of {n:,} degrees take more than "
                    f"{MAX_PACKED_BYTES / 2**30:g} GiB. Pass fewer rows at a time, or round the "
                    "degrees, since equal degrees share a level set."
                )
            words.append(pack_rows(ranks[row] < size[:, None]))
            widths.append(lengths[row, size])
            counts.append((lengths > 0).sum(axis=1))
        starts = np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, np.int64), *counts]))])
        packed = np.concatenate([np.empty((0, n_words(n)), np.uint64), *words])
        sets = PackedTable.of_rows(packed, n, table.names)
        return cls(sets, starts.astype(np.int64), np.concatenate([np.empty(0), *widths]))

    def parts(self, rows: slice, most: int) -> Iterator[slice]:
        """Yield parts of the rows, each with at most ``most`` level sets or of one row."""
        start = rows.start
        while start < rows.stop:
            stop = int(np.searchsorted(self.starts, self.starts[start] + most, side="right")) - 1
            stop = min(max(stop, start + 1), rows.stop)
            yield slice(start, stop)
            start = stop

    def from_set(self, rows: slice, first: int) -> tuple[IntArray, FloatArray]:
        """Return the starts of some rows, relative to level set ``first``, and the widths."""
        starts = self.starts[rows.start : rows.stop + 1]
        return starts - first, self.widths[first : starts[-1]]


def _level_sets(pair: TablePair) -> tuple[LevelSets, LevelSets, TablePair]:
    """Return the level sets of both tables, and the pair of these."""
    x = LevelSets.of(_real(pair.x))
    if pair.z is None:
        return x, x, TablePair(x.sets)
    z = LevelSets.of(_real(pair.z), role="Z")
    return x, z, TablePair(x.sets, z.sets)


def _real(table: Any) -> RealTable:
    return table if isinstance(table, RealTable) else RealTable(table.names, table.unpacked())


def _add_up(
    values: FloatArray,
    x: tuple[IntArray, FloatArray],
    z: tuple[IntArray, FloatArray],
    out: FloatArray,
) -> None:
    """Write to ``out`` the weighted sums over the level sets of all pairs of rows."""
    if sum_levels.pays(values.size * 8):
        sum_levels(values, *x, *z, out)
        return
    (x_starts, x_widths), (z_starts, z_widths) = x, z
    inside = values[x_starts[0] :, z_starts[0] :]
    inside = inside * x_widths[x_starts[0] :, None] * z_widths[z_starts[0] :]
    across = np.add.reduceat(inside, z_starts[:-1] - z_starts[0], axis=1)
    out[...] = np.add.reduceat(across, x_starts[:-1] - x_starts[0], axis=0)


@compiled(
    "void(float64[:, ::1], int64[::1], float64[::1], int64[::1], float64[::1], float64[:, :])",
    fastmath={"reassoc"},
)
def sum_levels(
    values: Any, x_starts: Any, x_widths: Any, z_starts: Any, z_widths: Any, out: Any
) -> None:
    """Set ``out[r, c]`` to Σ x_widths[i]·z_widths[j]·values[i, j] over level sets of r and c."""
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            total = 0.0
            for i in range(x_starts[r], x_starts[r + 1]):
                across = 0.0
                for j in range(z_starts[c], z_starts[c + 1]):
                    across += z_widths[j] * values[i, j]
                total += x_widths[i] * across
            out[r, c] = total
