r"""The antecedents that an optimal rule list may use, over rows laid out for counting.

Let row i weigh w_ik in class k.  A rule that predicts l for it is wrong by Σ_{k≠l} w_ik, and this
is (K − 1)·min_k w_ik + Σ_{k≠l} v_ik with v_ik = w_ik − min_k w_ik: the first part is the same for
every list, so all work is on v, of which most entries are 0.  An entry is an *atom*: a row, a class
and a weight.  Atoms of one class and weight are packed 64 to a word, so a class's weight within a
cover is one population count for each word, times the word's weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray, IntArray, different_rows
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.encoding.bits import Words, n_words, select_bits, transposed
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError

__all__ = ["Antecedents", "Grid", "Layout", "mine_antecedents"]

#: The total weight is at most 2 to this power, counted in units.
TOTAL_BITS = 50
#: Weights that are too different to be grouped are whole numbers of so many bits,
PLANES = 20
#: which holds where groups of equal weights take this many times the words of equal weights.
SPARSE = 8
#: Words that are counted together.
VECTOR = 8
#: Words of covers that are worked on at once.
CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Grid:
    """Weights as whole numbers of a common unit, so that sums are exact in any order.

    Parameters
    ----------
    units : int64 (m, K)
    exponent : int
        The unit is 2 to this power.
    planes : bool
        Whether a weight is laid out as a sum of powers of 2.
    moved : float
        Σ |w_ik − its rounded value|: no list's error moves by more.
    """

    units: IntArray
    exponent: int
    planes: bool
    moved: float

    @classmethod
    def of(cls, weights: FloatArray) -> Grid:
        """Return the finest grid on which sums fit; a coarser one if weights differ much."""
        fine = cls._at(weights, int(np.frexp(weights.sum())[1]) - TOTAL_BITS, planes=False)
        if len(Layout.of(fine.units, False).kinds) <= SPARSE * (n_words(len(weights)) + 8):
            return fine
        return cls._at(weights, int(np.frexp(weights.max())[1]) - PLANES, planes=True)

    @classmethod
    def _at(cls, weights: FloatArray, exponent: int, planes: bool) -> Grid:
        units = np.rint(np.ldexp(weights, -exponent))
        moved = float(np.abs(weights - np.ldexp(units, exponent)).sum())
        return cls(units.astype(np.int64), exponent, planes, moved)

    def floor(self, value: float) -> int:
        """Convert a weight to units, rounded down."""
        return int(np.floor(np.ldexp(value, -self.exponent)))

    def value(self, units: int) -> float:
        """Convert a weight from units."""
        return float(np.ldexp(float(units), self.exponent))


@dataclass(frozen=True, eq=False)
class Layout:
    """Atoms, packed 64 to a word; all in a word are of one kind and one weight.

    Parameters
    ----------
    rows : int64 (64 W,)
        The row of each bit, −1 for none.
    kinds, units : int64 (W,)
        The column of the weights that a word's atoms belong to, and what each weighs.
    """

    rows: IntArray
    kinds: IntArray
    units: IntArray

    @classmethod
    def of(cls, units: IntArray, planes: bool) -> Layout:
        """Return the atoms of a matrix of weights."""
        parts: list[tuple[IntArray, int, int]] = []
        for kind, column in enumerate(units.T):
            if planes:
                for power in range(int(column.max(initial=0)).bit_length()):
                    rows = np.flatnonzero(column >> power & 1)
                    parts.append((rows, kind, 1 << power))
            else:
                order = np.argsort(column, kind="stable")
                values, first = np.unique(column[order], return_index=True)
                of_value = np.split(order, first[1:])[: len(values)]
                for value, rows in zip(values.tolist(), of_value, strict=True):
                    parts.append((rows, kind, value))
        parts = [part for part in parts if len(part[0]) and part[2]]
        counts = np.array([n_words(len(rows)) for rows, _, _ in parts], dtype=np.int64)
        for kind in {kind for _, kind, _ in parts}:
            of = [i for i, part in enumerate(parts) if part[1] == kind]
            if counts[of].sum() > VECTOR // 2:  # words without atoms, to a whole vector
                counts[of[-1]] += -counts[of].sum() % VECTOR
        bits = np.full(64 * int(counts.sum()), -1, dtype=np.int64)
        start = 0
        for (rows, _, _), count in zip(parts, counts.tolist(), strict=True):
            bits[start : start + len(rows)] = rows
            start += 64 * count
        kinds = np.repeat(np.array([kind for _, kind, _ in parts], dtype=np.int64), counts)
        return cls(bits, kinds, np.repeat(np.array([u for *_, u in parts], dtype=np.int64), counts))

    def laid_out(self, columns: Words, n_rows: int) -> Words:
        """Packed truths over rows, (r, ceil(m / 64)), as packed truths over atoms, (r, W)."""
        step = max(1, CHUNK // max(1, len(self.rows) // 8))
        covers = np.empty((len(columns), len(self.kinds)), dtype=np.uint64)
        positions = np.maximum(self.rows, 0)
        for start in range(0, len(columns), step):
            part = columns[start : start + step]
            covers[start : start + step] = select_bits(part, n_rows, positions)
        return covers & self.everything

    @property
    def everything(self) -> Words:
        """All atoms, uint64 of shape (W,)."""
        bits = np.packbits(self.rows >= 0, bitorder="little")
        return bits.view("<u8").astype(np.uint64, copy=False)

    def sums(self, covers: Words, kinds: int) -> IntArray:
        """Return the weight of each kind within packed covers, (r, W) → (r, kinds)."""
        sums = np.zeros((len(covers), kinds), dtype=np.int64)
        step = max(1, CHUNK // max(1, covers.shape[1]))
        for start in range(0, len(covers), step):
            counts = np.bitwise_count(covers[start : start + step]).astype(np.int64) * self.units
            for kind in range(kinds):
                sums[start : start + step, kind] = counts[:, self.kinds == kind].sum(axis=1)
        return sums


@dataclass(frozen=True, eq=False)
class Antecedents:
    """Conjunctions with different covers, and the rows that they tell apart.

    Parameters
    ----------
    conjunctions : list of A tuples of int
        Shorter ones first.
    covers : uint64 (A, W)
        Over the atoms of ``layout``.
    layout : Layout
        Its kinds are the K classes, and after them the weight that is misclassified in every case
        because rows that no antecedent tells apart are of different classes.
    n_classes : int
    base : int
        Units of weight that every list gets wrong and that ``layout`` leaves out.
    """

    conjunctions: list[tuple[int, ...]]
    covers: Words
    layout: Layout
    n_classes: int
    base: int


def mine_antecedents(
    table: PackedTable,
    grid: Grid,
    *,
    max_conditions: int,
    groups: IntArray,
    least_correct: int,
    least_support: int,
    max_bytes: int,
    deadline: Deadline = UNLIMITED,
) -> Antecedents:
    """Return all conjunctions that can stand in an optimal list, one for each cover.

    A rule whose correctly captured weight is at most the penalty is worth leaving out: what it
    captured is at worst misclassified by the rules behind it.  So an antecedent needs more of v in
    one class than the penalty.  This bound, and that on support, only fall as conditions are added.
    """
    began = Deadline.clock()
    smallest = grid.units.min(axis=1, keepdims=True)
    n_classes = grid.units.shape[1]
    whole = grid.units.sum(axis=1, keepdims=True) if least_support > 0 else smallest * 0
    layout = Layout.of(np.hstack([grid.units - smallest, whole]), grid.planes)
    columns = layout.laid_out(table.columns, table.n_rows)

    def enough(covers: Words) -> npt.NDArray[np.bool_]:
        sums = layout.sums(covers, n_classes + 1)
        correct = sums[:, :n_classes].max(axis=1, initial=0)
        return np.asarray((correct > least_correct) & (sums[:, n_classes] >= least_support))

    kept = enough(columns)
    items = np.flatnonzero(kept)
    found: list[tuple[int, ...]] = [(j,) for j in items.tolist()]
    level, covers = found, columns[kept]
    levels, taken = [covers], covers.nbytes
    for _ in range(1, max_conditions):
        conjunctions: list[tuple[int, ...]] = []
        parts: list[Words] = []
        for parents, children in _extensions(level, items, groups, layout.kinds.size):
            deadline.check()
            both = covers[parents] & columns[children]
            new = (both != covers[parents]).any(axis=1) & (both != columns[children]).any(axis=1)
            new[new] = enough(both[new])
            parts.append(both[new])
            taken += parts[-1].nbytes
            if taken > max_bytes:
                raise ParameterError(
                    f"the covers of the conjunctions of {len(level[0]) + 1} propositions take more "
                    f"than max_bytes={max_bytes:,}. Give a larger penalty or min_support, fewer "
                    "propositions or max_conditions, or more memory."
                )
            pairs = zip(parents[new].tolist(), children[new].tolist(), strict=True)
            conjunctions += [(*level[parent], child) for parent, child in pairs]
        if not conjunctions:
            break
        level, covers = conjunctions, np.concatenate(parts)
        found, levels = found + level, [*levels, covers]
    if deadline.over(Deadline.clock() - began):  # to merge rows takes about as long
        raise TimeIsOver
    covers = np.concatenate(levels)
    if len(covers) and covers.shape[1]:
        first = np.sort(different_rows(covers)[0])
        first = first[(covers[first] != layout.everything).any(axis=1)]
        found, covers = [found[i] for i in first.tolist()], covers[first]
    base = (n_classes - 1) * int(smallest.sum())
    return _merged(found, covers, layout, n_classes, base, grid.planes)


def _extensions(
    level: list[tuple[int, ...]], items: IntArray, groups: IntArray, width: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Parents and the propositions behind their last that go with them, some at a time."""
    if not level:
        return
    sets = np.array(level)
    start = np.searchsorted(items, sets[:, -1], side="right")
    after = len(items) - start
    step = max(1, CHUNK // max(1, width * len(items)))
    for begin in range(0, len(sets), step):
        count = after[begin : begin + step]
        parents = np.repeat(np.arange(begin, begin + len(count)), count)
        place = np.arange(len(parents)) - np.repeat(np.cumsum(count) - count, count)
        children = items[start[parents] + place]
        clash = (groups[sets[parents]] == groups[children][:, None]).any(axis=1)
        free = ~(clash & (groups[children] >= 0))
        yield parents[free], children[free]


def _merged(
    found: list[tuple[int, ...]],
    covers: Words,
    layout: Layout,
    n_classes: int,
    base: int,
    planes: bool,
) -> Antecedents:
    """Rows that lie in the same covers become one row, and what it must get wrong is counted."""
    bits = np.flatnonzero((layout.rows >= 0) & np.repeat(layout.kinds < n_classes, 64))
    if len(found) and len(bits):
        first, kind = different_rows(transposed(covers, 64 * covers.shape[1])[bits])
    else:  # no antecedent tells any rows apart
        first, kind = np.zeros(min(1, len(bits)), np.intp), np.zeros(len(bits), np.intp)
    merged = np.zeros((len(first), n_classes), dtype=np.int64)
    np.add.at(merged, (kind, layout.kinds[bits >> 6]), layout.units[bits >> 6])
    smallest = merged.min(axis=1, keepdims=True, initial=np.iinfo(np.int64).max)
    if len(merged):
        base += (n_classes - 1) * int(smallest.sum())
        merged -= smallest
    sure = merged.sum(axis=1) - merged.max(axis=1, initial=0)
    after = Layout.of(np.hstack([merged, sure[:, None]]), planes)
    whole = select_bits(covers, 64 * covers.shape[1], bits[first])
    return Antecedents(found, after.laid_out(whole, len(first)), after, n_classes, base)
