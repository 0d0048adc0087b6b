"""A problem whose rows lie in pieces: what stays there, and the little that comes here.

Partitions keep their rows, coefficients and Kβ.  What comes here are sums, rows of small problems,
and the rows near the margin once they are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.kernels.base import MatrixKernel
from formulakern.learning.kernel_machines.box_problem import (
    BoxProblem,
    Values,
    check_total,
    multiple,
)
from formulakern.learning.kernel_machines.in_pieces import row_state
from formulakern.learning.kernel_machines.in_pieces.crossing import crossing
from formulakern.learning.kernel_machines.in_pieces.row_state import GivingUp, Shown, stacked
from formulakern.learning.kernel_machines.kernel_rows import KernelRows
from formulakern.learning.kernel_machines.part import Part, Rows, SmallProblem, Violators
from formulakern.learning.kernel_machines.table_part import TablePart, part_of_others
from formulakern.partitions.partitioned import Partitioned

__all__ = ["HERE", "SpreadPart"]

#: So many rows come here: what is near the margin, a sample, or all.
HERE = 1 << 17
#: Support vectors that are sent to the pieces at a time.
SENT = 1 << 15

#: States are made anew from the first ones after so many rows of K, and so many for each row whose
#: coefficient has moved: what dask remembers, to make a lost piece again, stays that short.
REMEMBERED, RENEWED = 1 << 16, 8

NONE = np.empty(0, dtype=np.intp)
Own = list[tuple[Rows, FloatArray]]


@dataclass(eq=False)
class _Few:
    """The rows of the last small problem."""

    rows: Rows
    table: PackedTable
    beta: FloatArray


@dataclass(eq=False)
class SpreadPart(Part):
    """A problem of rows in pieces.

    Parameters
    ----------
    pieces : Partitioned of RowState
    kernel : Kernel
    total : float
        Of the whole problem.
    here : int
        So many rows are solved for in this process.
    """

    pieces: Partitioned
    kernel: MatrixKernel
    total: float = 0.0
    here: int = HERE
    computed: float = 0.0
    values: Values | None = None
    ends: Rows = field(init=False)
    _few: _Few = field(init=False)
    _first: Partitioned = field(init=False)  # the states that others are made from
    _since: int = field(init=False)  # rows of K that have made them
    _allowed: int = field(init=False)

    def __post_init__(self) -> None:
        told = np.array(self.pieces.map(row_state.described)).reshape(-1, 6)
        self.ends = np.cumsum([0, *told[:, 0]]).astype(np.intp)
        self.jumps, self.largest = int(told[:, 1].sum()), float(told[:, 2].max(initial=0.0))
        self.rooms, self.epsilon = told[:, 3:5], float(told[:, 5].max(initial=0.0))
        self.sampled = not self.total
        self._first, self._since, self._allowed = self.pieces, 0, REMEMBERED

    def __len__(self) -> int:
        return int(self.ends[-1])

    # -- where to begin ----------------------------------------------------------------------------

    def begin(self) -> None:
        """As :meth:`.Part.begin`."""
        if self.total:
            room = self.rooms[:, 0 if self.total > 0 else 1]
            check_total(abs(self.total), float(room.sum()), len(self))
            shares = np.clip(abs(self.total) - (np.cumsum(room) - room), 0.0, room)
            signed = (np.sign(self.total) * shares).tolist()
            self.pieces = self.pieces.persist(row_state.begun_at, each=signed)
            self.multiply()

    def sample(self, share: int) -> Part:
        """As :meth:`.Part.sample`."""
        random = np.random.default_rng(0)
        sizes = (np.diff(self.ends) + random.integers(share, size=len(self.pieces))) // share
        own = list(enumerate(sizes.tolist()))
        scale = len(self) / max(sizes.sum(), 1)
        if sizes.sum() > self.here:
            drawn = self.pieces.persist(row_state.sampled, each=own).persist(
                row_state.widened, scale
            )
            return replace(self, pieces=drawn, computed=0.0, values=None)
        found = self.pieces.map(row_state.show_sample, each=own)
        part, table = self._joined(found), self._table(found)
        part = replace(part, lower=part.lower * scale, upper=part.upper * scale)
        origin = self._numbered([shown.origin for shown in found])
        return TablePart(part, KernelRows(self.kernel, table), origin=origin)

    def support_counts(self) -> tuple[int, int]:
        """As :meth:`.Part.support_counts`."""
        counts = sum(self.pieces.map(row_state.support_counts))
        return int(counts[0]), int(counts[1])

    def begin_as(self, sample: Part) -> None:
        """As :meth:`.Part.begin_as`."""
        assert sample.values is not None
        intercept, share = sample.values.intercept, len(sample) / len(self)
        if isinstance(sample, TablePart):
            support, inside = np.flatnonzero(sample.beta), np.flatnonzero(sample.is_inside())
            self._add(sample.rows.rows.take(support), sample.beta[support])
            own = self._own(sample.origin[inside], sample.beta[inside] * share)
        else:
            assert isinstance(sample, SpreadPart)
            for found in sample.support():
                self._add(self._table(found), np.concatenate([part.beta for part in found]))
            told = sample.pieces.map(row_state.show_inside)
            own = [(rows, beta * share) for rows, beta in told]
        self.pieces = self.pieces.persist(row_state.suggested, intercept, each=own)
        self._balance(intercept)
        self.pieces = self.pieces.persist(row_state.emptied)
        self.multiply()

    def _balance(self, intercept: float) -> None:
        """Give up the coefficients that their decisions want least, until Σβ is right."""
        reached = sum(ends[3] for ends in self.pieces.map(row_state.slope_ends))
        giving = GivingUp(intercept, float(reached - self.total))
        found = crossing(self.pieces, giving, abs(giving.excess)) if giving.excess else None
        if found is None:
            return
        sums = np.array(self.pieces.map(row_state.sums_at, giving, found.point))
        at = sums[:, 1]
        rest = abs(giving.excess) - sums[:, 0].sum()
        shares = np.clip(rest - (np.cumsum(at) - at), 0.0, at).tolist()
        self.pieces = self.pieces.persist(row_state.given_up, giving, found.point, each=shares)

    def multiply(self) -> None:
        """Compute Kβ; the products are those of no coefficients before."""
        for found in self.support():
            self._add(self._table(found), np.concatenate([part.beta for part in found]))

    # -- descent -----------------------------------------------------------------------------------

    def look(self) -> Values:
        """As :meth:`.Part.look`."""
        slope = float(self.rooms[:, 0].sum()) - self.total
        rounding = 1e-14 * float(self.rooms.sum()) * self.jumps**0.5
        found = crossing(self.pieces, row_state.breakpoints, slope - rounding)
        intercept = 0.0
        if found is not None:
            flat = abs(found.reached - slope) <= rounding
            intercept = (found.point + found.following) / 2 if flat else found.point
        told = self.pieces.map(row_state.objective_parts, intercept)
        square, line, absolute, losses, _ = sum(told).tolist()
        dual = line - square / 2 - self.epsilon * absolute
        primal = square / 2 + losses + self.total * intercept
        scale = multiple(max(part[4] for part in told), self.largest)
        if scale > 1:
            losses = sum(self.pieces.map(row_state.scaled_losses, scale, intercept))
            scaled = scale**2 * square / 2 + losses + scale * self.total * intercept
            primal = min(primal, scaled)
        self.values = Values(dual, primal, intercept)
        return self.values

    def _slope_ends(self) -> tuple[float, float, float]:
        """The flattest slope down, the steepest up, and Σβ."""
        ends = np.array(self.pieces.map(row_state.slope_ends))
        return float(ends[:, 1].min()), float(ends[:, 0].max()), float(ends[:, 3].sum())

    def violation(self) -> float:
        """As :meth:`.Part.violation`."""
        flattest, steepest, _ = self._slope_ends()
        return max(steepest - flattest, 0.0)

    def violators(self, kept: Rows, size: int) -> Violators:
        """As :meth:`.Part.violators`."""
        half = max((size - len(kept)) // 2, 1)
        told = self.pieces.map(row_state.candidates, half, each=self._split(kept))
        ends = np.array([part[0] for part in told])
        steepest, flattest = float(ends[:, 0].max()), float(ends[:, 1].min())
        differ, largest = steepest - flattest, float(ends[:, 2].max())
        if size >= len(self):
            return Violators(np.arange(len(self)), differ, largest)
        rows = self._numbered([part[1] for part in told])
        up, down = np.concatenate([part[2] for part in told], axis=1)
        grow = np.argsort(-up, kind="stable")[:half]
        grow = grow[up[grow] > flattest]
        down[grow] = np.inf
        shrink = np.argsort(down, kind="stable")[:half]
        shrink = shrink[down[shrink] < steepest]
        chosen = np.concatenate([rows[grow], rows[shrink], kept])
        return Violators(np.sort(chosen), differ, largest)

    def small(self, rows: Rows) -> SmallProblem:
        """As :meth:`.Part.small`."""
        found = self.pieces.map(row_state.shown, each=self._split(rows))
        table, problem = self._table(found), self._joined(found)
        beta = np.concatenate([part.beta for part in found])
        products = np.concatenate([part.products for part in found])
        self._few = _Few(rows, table, beta)
        gram = np.ascontiguousarray(self.kernel(table))
        return SmallProblem(gram, products - problem.linear, beta, problem.lower, problem.upper)

    def move(self, rows: Rows, beta: FloatArray) -> None:
        """As :meth:`.Part.move`."""
        few = self._few
        places = np.searchsorted(few.rows, rows)
        self._add(few.table.take(places), beta - few.beta[places], self._own(rows, beta))
        self._renew()

    def _renew(self) -> None:
        """Make the states anew from the first ones, where that is a small part of the work."""
        if self._since <= self._allowed:
            return
        changed = int(sum(self.pieces.map(row_state.support_counts))[2])
        self._allowed = max(REMEMBERED, RENEWED * changed)
        if self._since <= self._allowed:
            return
        with self._at_once():
            found = self.support(moved=True)
            self.pieces, self._since = self._first, 0
            for chunk in found:
                self._add_moved(chunk, [(part.rows, part.beta) for part in chunk])

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Change the states as a whole, or, where that is interrupted, not at all."""
        before = self.pieces
        try:
            yield
        except BaseException:
            self.pieces = before
            raise

    def _add_moved(self, chunk: list[Shown], own: Own) -> None:
        """Add what the changes of these coefficients change, and set coefficients."""
        change = np.concatenate([part.beta - part.before for part in chunk])
        self._add(self._table(chunk), change, own)

    def near(self, most: float) -> Part | None:
        """As :meth:`.Part.near`."""
        flattest, steepest, reached = self._slope_ends()
        number = sum(self.pieces.map(row_state.count_near, flattest, steepest))
        if number > most * len(self) or number < 2:
            return None
        if number <= self.here:
            found = self.pieces.map(row_state.show_near, flattest, steepest)
            beta, products = (
                np.concatenate([getattr(part, name) for part in found])
                for name in ("beta", "products")
            )
            rows = KernelRows(self.kernel, self._table(found))
            rest = reached - float(beta.sum())
            few, _ = part_of_others(self._joined(found), rows, beta, products, rest)
            few.origin = self._numbered([part.rows for part in found])
            return few
        taken = self.pieces.persist(row_state.take_near, flattest, steepest)
        own = sum(ends[3] for ends in taken.map(row_state.slope_ends))
        part = replace(
            self, pieces=taken.persist(row_state.emptied), total=self.total - float(reached - own),
            computed=0.0, values=None,
        )  # fmt: skip
        part.multiply()
        return replace(part, pieces=part.pieces.persist(row_state.of_others))

    def absorb(self, few: Part) -> None:
        """As :meth:`.Part.absorb`."""
        self.computed += few.computed * len(few) / len(self)
        if isinstance(few, TablePart):
            rows = np.flatnonzero(few.beta != few.before)
            change = few.beta[rows] - few.before[rows]
            own = self._own(few.origin[rows], few.beta[rows])
            self._add(few.rows.rows.take(rows), change, own)
            return
        assert isinstance(few, SpreadPart)
        with self._at_once():
            for found in few.support(moved=True):
                self._add_moved(found, [(part.origin, part.beta) for part in found])

    # -- rows --------------------------------------------------------------------------------------

    def support(self, *, moved: bool = False) -> Iterator[list[Shown]]:
        """The rows with coefficients that are not 0, or have moved, so many at a time.

        They are those of now, whatever becomes of the coefficients between the chunks.
        """
        pieces = self.pieces
        counts = np.array(pieces.map(row_state.support_counts)).reshape(-1, 3)
        ends = np.cumsum([0, *counts[:, 2 if moved else 0]]).astype(np.intp)
        return self._chunks(pieces, ends, moved)

    @staticmethod
    def _chunks(pieces: Partitioned, ends: Rows, moved: bool) -> Iterator[list[Shown]]:
        for start in range(0, int(ends[-1]), SENT):
            own = np.clip([[start], [start + SENT]] - ends[:-1], 0, None).T
            yield pieces.map(row_state.show_support, moved, each=list(map(tuple, own.tolist())))

    def none(self) -> list[Shown]:
        """No row of each piece."""
        return self.pieces.map(row_state.shown, NONE)

    def all_rows(self) -> tuple[TablePart, list[Shown]]:
        """The same problem here, with all coefficients 0, and its rows by piece."""
        found = self.pieces.map(row_state.everything)
        problem = replace(self._joined(found), total=self.total)
        return TablePart(problem, KernelRows(self.kernel, self._table(found))), found

    def _add(self, table: PackedTable, weights: FloatArray, own: Own | None = None) -> None:
        """Add a weighted sum of rows of K to the products, and set coefficients."""
        if not len(weights):
            return
        self.computed += len(weights)
        self._since += len(weights)
        own = own or [(NONE, np.empty(0))] * len(self.pieces)
        kinds, kind = table.distinct()
        sums = np.bincount(kind, weights, kinds.n_rows)
        pieces = self.pieces
        for start in range(0, kinds.n_rows, SENT):
            rows = np.arange(start, min(start + SENT, kinds.n_rows))
            rows = rows[sums[rows] != 0.0]
            pieces = pieces.persist(row_state.moved, kinds.take(rows), sums[rows], each=own)
            own = [(NONE, np.empty(0))] * len(pieces)
        self.pieces = pieces

    def _joined(self, found: list[Shown]) -> BoxProblem:
        linear, lower, upper = (
            np.concatenate([getattr(part.problem, name) for part in found])
            for name in ("linear", "lower", "upper")
        )
        return BoxProblem(linear, lower, upper, 0.0, self.epsilon)

    @staticmethod
    def _table(found: list[Shown]) -> PackedTable:
        return stacked([part.table for part in found])

    def _numbered(self, rows: list[Rows]) -> Rows:
        """Numbers among all rows."""
        return np.concatenate([start + part for start, part in zip(self.ends, rows, strict=False)])

    def _split(self, rows: Rows) -> list[Rows]:
        """Numbers among the rows of each piece."""
        parts = np.split(rows, np.searchsorted(rows, self.ends[1:-1]))
        return [part - start for start, part in zip(self.ends, parts, strict=False)]

    def _own(self, rows: Rows, beta: FloatArray) -> Own:
        """Coefficients, for each piece its own."""
        parts = self._split(rows)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        return list(zip(parts, np.split(beta, ends), strict=True))
