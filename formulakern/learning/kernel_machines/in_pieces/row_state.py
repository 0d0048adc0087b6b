"""What a piece holds of a dual problem, and what it answers.

All functions are pure: a piece that is lost is made again and gives the same answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.kernels.base import MatrixKernel
from formulakern.learning.kernel_machines.box_problem import BoxProblem
from formulakern.learning.kernel_machines.kernel_rows import expansion_values
from formulakern.learning.kernel_machines.merging import merge_equal
from formulakern.learning.kernel_machines.part import Rows
from formulakern.learning.kernel_machines.subproblem import slopes_of
from formulakern.learning.kernel_machines.table_part import suggestion, violations

__all__ = ["RowState", "Shown", "begun", "stacked"]


@dataclass(frozen=True, eq=False)
class RowState:
    """The rows of a piece, their problem, and how far it is solved.

    Attributes
    ----------
    kernel : Kernel
    table : PackedTable of m rows
    problem : BoxProblem of m rows
    beta, products : float64 (m,)
        Their coefficients, and Kβ with the coefficients of the rows of all pieces.
    origin : intp (m,)
        The rows of the piece that this one was taken from.
    before, around : float64 (m,)
        Their coefficients and Kβ then.
    """

    kernel: MatrixKernel
    table: PackedTable
    problem: BoxProblem
    beta: FloatArray
    products: FloatArray
    origin: Rows
    before: FloatArray
    around: FloatArray

    def __len__(self) -> int:
        return len(self.beta)

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """See :func:`.subproblem.slopes_of`."""
        problem, descent = self.problem, self.problem.linear - self.products
        return slopes_of(descent, self.beta, problem.lower, problem.upper, problem.epsilon)

    def take(self, rows: Rows) -> RowState:
        """The state of a part of these rows, which are its origin."""
        beta, products = self.beta[rows], self.products[rows]
        table, problem = self.table.take(rows), self.problem.take(rows)
        return RowState(self.kernel, table, problem, beta, products, rows, beta, products)


@dataclass(frozen=True, eq=False)
class Shown:
    """Some rows of a piece, on their way to where they are needed.

    Attributes
    ----------
    rows, origin : intp (k,)
        Their numbers in the piece, and their origin.
    table : PackedTable of k rows
        Without names.
    problem : BoxProblem of k rows
    beta, products, before : float64 (k,)
    """

    rows: Rows
    origin: Rows
    table: PackedTable
    problem: BoxProblem
    beta: FloatArray
    products: FloatArray
    before: FloatArray


def begun(rows: tuple[PackedTable, BoxProblem], kernel: MatrixKernel) -> RowState:
    """A piece with all coefficients 0; equal rows with equal p are one, with the sum of boxes."""
    table, problem = rows
    merged = merge_equal(problem, table)
    if len(merged.first) < len(problem):
        table, problem = table.take(merged.first), merged.problem
    zeros = np.zeros(len(problem))
    return RowState(kernel, table, problem, zeros, zeros, merged.first, zeros, zeros)


# -- sums ------------------------------------------------------------------------------------------


def described(state: RowState) -> FloatArray:
    """The number of rows and of breakpoints, the largest |p|, Σu, −Σl, and ε."""
    problem = state.problem
    jumps = np.count_nonzero(problem.upper > 0) + np.count_nonzero(problem.lower < 0)
    largest = np.abs(problem.linear).max(initial=0.0)
    rooms = [problem.upper.sum(), -problem.lower.sum()]
    return np.array([len(state), jumps, largest, *rooms, problem.epsilon])


def breakpoints(state: RowState) -> tuple[FloatArray, FloatArray]:
    """See :meth:`.BoxProblem.breakpoints`."""
    return state.problem.breakpoints(state.problem.linear - state.products)


def objective_parts(state: RowState, intercept: float) -> FloatArray:
    """Its parts of βᵀKβ, pᵀβ, Σ|β| and Σξ, and the largest error."""
    problem, beta = state.problem, state.beta
    losses = problem.losses(problem.linear - state.products - intercept)
    sums = [beta @ state.products, problem.linear @ beta, np.abs(beta).sum()]
    return np.array([*sums, *losses])


def scaled_losses(state: RowState, factor: float, intercept: float) -> float:
    """Its part of Σξ, of a multiple of f and b."""
    values = factor * (state.products + intercept)
    return state.problem.losses(state.problem.linear - values)[0]


def slope_ends(state: RowState) -> FloatArray:
    """The steepest slope up, the flattest down, the largest |Kβ|, and Σβ."""
    up, down = state.slopes()
    largest = np.abs(state.products).max(initial=0.0)
    ends = [up.max(initial=-np.inf), down.min(initial=np.inf)]
    return np.array([*ends, largest, state.beta.sum()])


def support_counts(state: RowState) -> FloatArray:
    """How many coefficients are not 0, how many of these are inside their boxes, how many moved."""
    moved = np.count_nonzero(state.beta != state.before)
    return np.array([np.count_nonzero(state.beta), np.count_nonzero(_inside(state)), moved])


def _inside(state: RowState) -> Any:
    beta, problem = state.beta, state.problem
    return (beta > problem.lower) & (beta < problem.upper) & (beta != 0.0)


# -- rows ------------------------------------------------------------------------------------------


def shown(state: RowState, rows: Rows) -> Shown:
    """Rows of these numbers."""
    table = state.table
    if table.sparse is None:
        some = PackedTable.of_rows(table.rows[rows], table.n_columns)
    else:
        some = PackedTable(len(rows), table.n_columns, sparse=table.sparse[rows])
    return Shown(
        rows,
        state.origin[rows],
        some,
        state.problem.take(rows),
        state.beta[rows],
        state.products[rows],
        state.before[rows],
    )


def everything(state: RowState) -> Shown:
    """All rows."""
    return shown(state, np.arange(len(state)))


def candidates(state: RowState, half: int, kept: Rows) -> tuple[FloatArray, Rows, FloatArray]:
    """The rows of this piece that might violate optimality most, besides those that are kept.

    Returns
    -------
    float64 (4,)
        As :func:`slope_ends`.
    intp (k,), float64 (2, k)
        Rows, and their slopes up and down.
    """
    up, down = state.slopes()
    ends = slope_ends(state)
    up[kept], down[kept] = -np.inf, np.inf
    rows = np.union1d(_largest(up, half), _largest(-down, half))
    return ends, rows, np.array([up[rows], down[rows]])


def _largest(values: FloatArray, k: int) -> Rows:
    if k >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, k - 1)[:k]


def near_rows(state: RowState, flattest: float, steepest: float) -> Rows:
    """Rows inside their boxes, and those at an end that a slope between these would move."""
    up, down = state.slopes()
    return np.flatnonzero((up >= flattest) | (down <= steepest))


def count_near(state: RowState, flattest: float, steepest: float) -> int:
    """How many these are."""
    return len(near_rows(state, flattest, steepest))


def show_near(state: RowState, flattest: float, steepest: float) -> Shown:
    """These rows."""
    return shown(state, near_rows(state, flattest, steepest))


def take_near(state: RowState, flattest: float, steepest: float) -> RowState:
    """The state of these rows alone."""
    return state.take(near_rows(state, flattest, steepest))


def sampled(state: RowState, own: tuple[int, int]) -> RowState:
    """The state of so many rows, drawn with a seed, with all coefficients 0."""
    seed, size = own
    chosen = np.sort(np.random.default_rng(seed).permutation(len(state))[:size])
    return emptied(replace(state, beta=np.zeros(len(state))).take(chosen))


def show_sample(state: RowState, own: tuple[int, int]) -> Shown:
    """These rows."""
    part = sampled(state, own)
    return everything(part)


def show_support(state: RowState, moved: bool, own: tuple[int, int]) -> Shown:
    """Some of the rows with coefficients that are not 0, or that have moved."""
    weights = state.beta - state.before if moved else state.beta
    return shown(state, np.flatnonzero(weights)[slice(*own)])


def show_inside(state: RowState) -> tuple[Rows, FloatArray]:
    """The origins of the rows inside their boxes, and their coefficients."""
    inside = _inside(state)
    return state.origin[inside], state.beta[inside]


def stacked(parts: Sequence[PackedTable]) -> PackedTable:
    """The rows of tables with the same columns, one table after the other."""
    if any(part.sparse is not None for part in parts):
        from scipy.sparse import csr_array, vstack  # sparse tables are rare

        sparse = csr_array(vstack([part.sparse for part in parts], format="csr"))
        return PackedTable(sparse.shape[0], sparse.shape[1], sparse=sparse)
    return PackedTable.of_rows(np.concatenate([part.rows for part in parts]), parts[0].n_columns)


# -- new states ------------------------------------------------------------------------------------


def moved(
    state: RowState, table: PackedTable, weights: FloatArray, own: tuple[Rows, FloatArray]
) -> RowState:
    """Kβ changed by a weighted sum of rows of K, and coefficients of rows of this piece."""
    products, beta = state.products, state.beta
    if len(state) and len(weights):
        change = expansion_values(state.kernel, table, state.table, weights[None])[:, 0]
        products = products + change
    rows, values = own
    if len(rows):
        beta = beta.copy()
        beta[rows] = values
    return replace(state, beta=beta, products=products)


def emptied(state: RowState) -> RowState:
    """Without the products."""
    return replace(state, products=np.zeros(len(state)))


def widened(state: RowState, scale: float) -> RowState:
    """With boxes so much larger."""
    problem = state.problem
    wide = replace(problem, lower=problem.lower * scale, upper=problem.upper * scale)
    return replace(state, problem=wide)


def begun_at(state: RowState, share: float) -> RowState:
    """With coefficients that add up to a share of the total."""
    beta = replace(state.problem, total=share).start()
    return replace(state, beta=beta)


def of_others(state: RowState) -> RowState:
    """A part of the rows while the coefficients of the others stay, which change p."""
    rest = state.around - state.products
    return replace(state, problem=replace(state.problem, linear=state.problem.linear - rest))


# -- from a sample ---------------------------------------------------------------------------------


def suggested(state: RowState, intercept: float, own: tuple[Rows, FloatArray]) -> RowState:
    """With coefficients that decisions f + b ask for, or those that are given."""
    beta = suggestion(state.problem, state.products + intercept)
    rows, values = own
    beta[rows] = values
    return replace(state, beta=beta)


@dataclass(frozen=True)
class GivingUp:
    """The coefficients on the side of an excess, those first whose decisions want them least.

    Attributes
    ----------
    intercept, excess : float
    """

    intercept: float
    excess: float

    def __call__(self, state: RowState) -> tuple[FloatArray, FloatArray]:
        """How far decisions are on the right side, and |β|."""
        side = state.beta * np.sign(self.excess) > 0
        order = violations(state.problem, state.products + self.intercept, state.beta)
        return order[side], np.abs(state.beta[side])


def sums_at(state: RowState, giving: GivingUp, point: float) -> FloatArray:
    """Σ|β| of what is given up before a point, and at it."""
    order, room = giving(state)
    return np.array([room[order < point].sum(), room[order == point].sum()])


def given_up(state: RowState, giving: GivingUp, point: float, share: float) -> RowState:
    """With coefficients that are 0 before a point, and smaller by a share in all at it."""
    order, room = giving(state)
    side = np.flatnonzero(state.beta * np.sign(giving.excess) > 0)
    room = np.where(order < point, 0.0, room)
    at = np.flatnonzero(order == point)
    given = np.clip(share - (np.cumsum(room[at]) - room[at]), 0.0, room[at])
    room[at] -= given
    beta = state.beta.copy()
    beta[side] = np.sign(giving.excess) * room
    return replace(state, beta=beta)
