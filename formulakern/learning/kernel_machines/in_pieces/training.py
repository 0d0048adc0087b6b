"""A support vector machine of a kernel on rows in pieces, to a duality gap over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.kernels.base import MatrixKernel
from formulakern.learning.kernel_machines.box_problem import Values
from formulakern.learning.kernel_machines.decomposition import Descent, Limits
from formulakern.learning.kernel_machines.in_pieces.row_state import begun, stacked
from formulakern.learning.kernel_machines.in_pieces.spread_part import HERE, SpreadPart
from formulakern.learning.kernel_machines.part import Rows
from formulakern.learning.kernel_machines.table_part import TablePart
from formulakern.partitions.partitioned import Partitioned

__all__ = ["SpreadExpansion", "train_pieces"]

#: A relative gap of 0.001, and no other limit.
DEFAULT = Limits()


@dataclass(frozen=True, eq=False)
class SpreadExpansion:
    """f(x) = Σ_i β_i K(x_i, x) + b, and how near to the optimum it is.

    Attributes
    ----------
    table : PackedTable of m rows
        The support vectors, piece by piece.  Equal rows of a piece with equal p are one; those of
        different pieces are not.
    pieces, rows : intp (m,)
        The piece of each, and its number there: that of the first of equal rows.
    linear, beta : float64 (m,)
        Their p, for two classes 1 and −1, and their coefficients.
    values : Values
        Both objectives, over the rows of all pieces, and the intercept.
    size : int
        Rows of all pieces without equal ones.
    iterations, blocks : int
        Pair steps, and small problems.
    computed : int
        Rows of K that were computed, in all.
    stopped : str
        As of :class:`.DualSolution`.
    history : tuple of (seconds, gap, dual, primal)
    """

    table: PackedTable
    pieces: Rows
    rows: Rows
    linear: FloatArray
    beta: FloatArray
    values: Values
    size: int
    iterations: int
    blocks: int
    computed: int
    stopped: str
    history: tuple[tuple[float, float, float, float], ...]

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return self.values.gap


def train_pieces(
    pieces: Partitioned,
    kernel: MatrixKernel,
    limits: Limits = DEFAULT,
    *,
    total: float = 0.0,
    here: int = HERE,
    progress: Callable[[float, float], None] | None = None,
) -> SpreadExpansion:
    """Solve the dual problem of a kernel on rows in pieces.

    Kernel values of the rows of a small problem against all rows are computed where the rows are,
    where Kβ is kept, too.  What comes here are sums, the rows of small problems, and the rows near
    the margin once they are few.

    Parameters
    ----------
    pieces : Partitioned of (PackedTable, BoxProblem)
        The rows of each piece, and their part of the problem.
    kernel : Kernel
    limits : Limits
    total : float
        Σβ.
    here : int
        So many rows may be solved for in this process: the rows near the margin, a sample, or all.
    progress : callable, optional
        Called with the seconds and the relative gap.

    Returns
    -------
    SpreadExpansion

    Raises
    ------
    DataError
        If K has values that are no finite numbers, or no coefficients add up to the total.

    Notes
    -----
    A small problem takes two rounds; a look at both objectives takes three or four.  With n
    rows, of which m are support vectors, some m·n kernel values are computed by all pieces
    together.

    Examples
    --------
    >>> import formulakern as fk
    >>> from formulakern.encoding.zero_one import read_packed
    >>> from formulakern.learning.kernel_machines.box_problem import classification
    >>> from formulakern.partitions.partitioned import Partitioned
    >>> table, signs = read_packed([[1, 0], [0, 1], [1, 0]]), np.array([1.0, -1.0, 1.0])
    >>> problem = classification(signs, np.full(3, 5.0))
    >>> rows = [np.array([0, 2]), np.array([1])]
    >>> pieces = Partitioned([(table.take(part), problem.take(part)) for part in rows])
    >>> found = train_pieces(pieces, fk.kernel("a"), here=0)
    >>> found.beta, found.gap, found.pieces
    (array([ 1., -1.]), 0.0, array([0, 1]))
    """
    spread = SpreadPart(pieces.persist(begun, kernel), kernel, total, here)
    run = Descent(len(spread), limits, progress)
    whole: SpreadPart | TablePart = spread
    if len(spread) <= here:
        whole, parts = spread.all_rows()
        run.solve(whole)
        ends = np.cumsum([len(part.rows) for part in parts])[:-1]
        found = list(enumerate(zip(parts, np.split(whole.beta, ends), strict=True)))
    else:
        run.solve(spread)
        chunks = [spread.none(), *spread.support()]
        found = [
            (number, (part, part.beta)) for chunk in chunks for number, part in enumerate(chunk)
        ]
    beta = np.concatenate([beta for _, (_, beta) in found])
    used = np.flatnonzero(beta)
    table = stacked([part.table for _, (part, _) in found])
    assert whole.values is not None
    return SpreadExpansion(
        table.take(used),
        np.concatenate([np.full(len(beta), number) for number, (_, beta) in found])[used],
        np.concatenate([part.origin for _, (part, _) in found])[used],
        np.concatenate([part.problem.linear for _, (part, _) in found])[used],
        beta[used],
        whole.values,
        len(spread),
        run.iterations,
        run.blocks,
        int(whole.computed),
        run.stopped or "optimal",
        tuple(run.history),
    )
