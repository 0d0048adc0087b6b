"""Sums of weights over covers in one partition of the rows, for searches over conjunctions.

A row's weight is the vector of its group times its own share, so new weights for all rows are a
few numbers per group.  In units (see :mod:`formulakern.mining.search`) a weight is a whole number;
the sums are exact, and totals do not depend on the division of rows into partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_rows
from formulakern.compilation import compiled
from formulakern.encoding.bits import Words
from formulakern.mining.sums import bit, column_sums, even_sums

#: Words of 64 rows whose weights are expanded at a time.
BLOCK = 128
#: Rows whose weights are added up at a time; the same for small questions.
ROWS, FEW_ROWS = 1 << 16, 1 << 12
#: Rows without weight are left out if their share is larger than this.
IDLE = 0.25
#: Rows are sorted by group and share if each kind has this many on average; the most kinds.
LONG, MOST_KINDS = 128, 1 << 20


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows in groups; the weights of a row are its share of the weights of its group.

    Parameters
    ----------
    table : PackedTable or OrderedTable
        Propositions on the rows.
    group : ndarray of shape (m,), intp
        0 to G − 1; every partition has its own numbers.
    share : ndarray of shape (m,), float64
        Positive.
    """

    table: Any
    group: NDArray[np.intp]
    share: FloatArray


@dataclass(frozen=True, eq=False)
class WeighedRows:
    """Rows with weights: ``rint(vectors[group] * share)`` units.

    Parameters
    ----------
    words : ndarray of shape (p, ceil(m / 64)), uint64
        Propositions, 64 rows to a word.
    group, share :
        The group and share of each row, as in :class:`GroupedRows`.
    vectors : ndarray of shape (G, K), float64
        In units.
    lost : ndarray of shape (K,), float64, optional
        How many weights were rounded with the vectors, including rows left out; each loses
        at most half a unit.  Zero by default.
    """

    words: Words
    group: NDArray[np.intp]
    share: FloatArray
    vectors: FloatArray
    lost: FloatArray | None = None


class Question(NamedTuple):
    """Conjunctions, and propositions that may be added to each.

    Column k of weights is the first minus the second column of ``pairs[k]``; −1 as the second
    subtracts nothing.  A row of ``nodes`` has the propositions of a conjunction, padded with −1.
    Its candidates end in ``items`` at its ``item_ends``, its columns in ``columns`` at its
    ``column_ends``.
    """

    pairs: NDArray[np.int64]
    nodes: NDArray[np.int64]
    item_ends: NDArray[np.int64]
    items: NDArray[np.int64]
    column_ends: NDArray[np.int64]
    columns: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        pairs: NDArray[np.int64],
        among: NDArray[np.intp],
        conjunctions: Sequence[tuple[int, ...]],
        items: Sequence[NDArray[np.int64]],
        columns: Sequence[NDArray[np.int64]],
    ) -> Question:
        """Return the question about N nodes; ``among`` has the columns of propositions."""
        lengths = np.array([len(conjunction) for conjunction in conjunctions])
        table = np.full((len(lengths), max(1, lengths.max(initial=0))), -1, dtype=np.int64)
        each = np.fromiter(chain.from_iterable(conjunctions), np.intp, int(lengths.sum()))
        table[np.arange(table.shape[1]) < lengths[:, None]] = among[each]
        return cls(
            pairs,
            table,
            np.cumsum([len(each) for each in items], dtype=np.int64),
            among[np.concatenate(items)].astype(np.int64),
            np.cumsum([len(each) for each in columns], dtype=np.int64),
            np.concatenate(columns, dtype=np.int64),
        )

    @property
    def ends(self) -> NDArray[np.int64]:
        """The end of each node's results: a sum and a size for each column and candidate."""
        items, columns = (np.diff(e, prepend=0) for e in (self.item_ends, self.column_ends))
        return np.cumsum(items * columns)


def sizes(rows: GroupedRows, vectors: FloatArray) -> FloatArray:
    """Return the sums of absolute weights, shape (K,)."""
    mass = np.bincount(rows.group, rows.share, len(vectors))
    return np.asarray(mass @ np.abs(vectors), dtype=np.float64)


def weighed(rows: GroupedRows, exponent: int, whole: bool, vectors: FloatArray) -> WeighedRows:
    """Return the rows with weights, without the rows of weight zero if these are many.

    If rows of one group and share are many, they are sorted together, so that most words have rows
    of equal weight.

    Parameters
    ----------
    rows : GroupedRows
    exponent : int
        The unit is 2 to this power.
    whole : bool
        Whether all shares, of all partitions, are whole numbers.  Then vectors are rounded instead
        of the weights of rows, and merging equal rows does not change the results.
    vectors : ndarray of shape (G, K)
        Weights of the groups.
    """
    exact = np.ldexp(vectors, -exponent)
    table, group, share = rows.table, rows.group, rows.share
    if LONG * len(exact) <= len(group):  # merge groups of equal weights
        first, kind = different_rows(np.ascontiguousarray(exact + 0.0).view(np.uint64))
        exact, group = exact[first], kind[group]
    units = np.rint(exact) if whole else exact
    lost = np.bincount(group, share, len(exact)) @ (units != exact)
    kept = (units != 0).any(axis=1)[group]
    some = np.flatnonzero(kept) if np.count_nonzero(kept) < (1 - IDLE) * len(kept) else None
    order = together(group, share, some)
    if order is not None:
        table, group, share = table.take(order), group[order], share[order]
    return WeighedRows(table.columns, group, share, units, lost)


def together(
    group: NDArray[np.intp], share: FloatArray, some: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return rows sorted by group and share if these fill words; otherwise return ``some``.

    Parameters
    ----------
    group, share : ndarray of shape (m,)
    some : ndarray of intp, optional
        The rows to sort; all by default.

    >>> group = np.resize([1, 0], 256)
    >>> together(group, np.ones(256), None)[:3]
    array([1, 3, 5])
    """
    rows = np.arange(len(group)) if some is None else some
    own, size = group[rows], share[rows]
    kinds = own.astype(np.int64)
    if len(rows) and size.min() < size.max():
        _, step = np.unique(size, return_inverse=True)
        kinds = kinds * (int(step.max()) + 1) + step
    n_kinds = np.count_nonzero(np.bincount(kinds)) if kinds.max(initial=0) < MOST_KINDS else 0
    if not 0 < n_kinds <= len(rows) / LONG:
        return some
    narrow = kinds.astype(np.min_scalar_type(int(kinds.max())))  # short numbers sort faster
    return rows[np.argsort(narrow, kind="stable")]


def totals(rows: WeighedRows) -> tuple[int, FloatArray, FloatArray]:
    """Return the number of rows, the sums of weights in units, (K,), and how many were rounded."""
    width = rows.vectors.shape[1]
    sums, lost = np.zeros(width), np.zeros(width)
    if rows.lost is not None:
        lost += rows.lost
    for start in range(0, len(rows.group), ROWS):
        some = slice(start, start + ROWS)
        exact = rows.vectors[rows.group[some]] * rows.share[some, None]
        units = np.rint(exact)
        sums += units.sum(axis=0)
        lost += (units != exact).sum(axis=0)
    return len(rows.group), sums, lost


def answer(rows: WeighedRows, question: Question) -> FloatArray:
    """Compute sums of weights and of absolute weights over covers, in units.

    Returns
    -------
    ndarray of shape (number of sums, 2), float64
        For each node, each of its columns, each of its candidates.

    The cost is about 10 ns per sum and 64 rows if the node is true on one of these; less than 1 ns
    if these rows have one group and one share.
    """
    ends = question.ends
    out = np.zeros((int(ends[-1]) if len(ends) else 0, 2))
    if len(out) and len(rows.group):
        add_up(rows.words, rows.group, rows.share, rows.vectors, *question, out)
    return out


def small_answer(rows: WeighedRows, question: Question) -> FloatArray:
    """Compute :func:`answer` for one column of weights by matrix products, without machine code."""
    node = np.repeat(np.arange(len(question.nodes)), np.diff(question.item_ends, prepend=0))
    out = np.zeros((len(node), 2))
    for start in range(0, len(rows.group), FEW_ROWS):
        some = slice(start, start + FEW_ROWS)
        units = np.rint(rows.vectors[rows.group[some], 0] * rows.share[some])
        words = np.ascontiguousarray(rows.words[:, start // 64 : (start + FEW_ROWS) // 64])
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : len(units)]
        truths = np.vstack([bits, np.ones_like(units)])  # position −1: the empty conjunction
        covers = np.ones((len(question.nodes), len(units)))
        for place in question.nodes.T:
            covers *= truths[place]
        for k, weights in enumerate((units, np.abs(units))):
            out[:, k] += ((covers * weights) @ truths.T)[node, question.items]
    return out


@compiled(
    "void(uint64[:, ::1], int64[::1], float64[::1], float64[:, ::1], int64[:, ::1], int64[:, ::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], float64[:, ::1])",
)
def add_up(
    words: Any,
    group: Any,
    share: Any,
    vectors: Any,
    pairs: Any,
    nodes: Any,
    item_ends: Any,
    items: Any,
    column_ends: Any,
    columns: Any,
    out: Any,
) -> None:
    """Add the sums to ``out`` block by block; in *even* words, of equal weights, count bits."""
    n_rows, n_words, n_columns = group.shape[0], words.shape[1], pairs.shape[0]
    units = np.empty(vectors.shape[1])
    weights, even_weights = np.empty((n_columns, 64 * BLOCK)), np.empty((n_columns, BLOCK))
    live, even_live = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    index, covers = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    even_index, even_covers = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    signed, absolute, each = np.empty(64 * BLOCK), np.empty(64 * BLOCK), np.empty(BLOCK)
    most, begin = 0, 0
    for n in range(nodes.shape[0]):
        most = max(most, item_ends[n] - begin)
        begin = item_ends[n]
    eight, sums = np.empty(8), np.empty((most, 2))
    for block in range(0, n_words, BLOCK):
        n_live, n_even = 0, 0
        for w in range(min(BLOCK, n_words - block)):
            first_row, some = 64 * (block + w), False
            if is_even(group, share, first_row):
                units_of(vectors, group[first_row], share[first_row], units)
                for k in range(n_columns):
                    even_weights[k, w] = difference(units, pairs, k)
                    some = some or even_weights[k, w] != 0.0
                if some:
                    even_live[n_even] = w
                    n_even += 1
                continue
            for t in range(64):
                if first_row + t < n_rows:
                    i = first_row + t
                    units_of(vectors, group[i], share[i], units)
                else:
                    units[:] = 0.0
                for k in range(n_columns):
                    weights[k, 64 * w + t] = difference(units, pairs, k)
                    some = some or weights[k, 64 * w + t] != 0.0
            if some:
                live[n_live] = w
                n_live += 1
        first_item, first_column, first = 0, 0, 0
        for n in range(nodes.shape[0]):
            n_items, last_column = item_ends[n] - first_item, column_ends[n]
            n_index = covered(words, nodes[n], block, live, n_live, index, covers)
            n_even_index = covered(
                words, nodes[n], block, even_live, n_even, even_index, even_covers
            )
            if n_index + n_even_index == 0:
                first += n_items * (last_column - first_column)
                first_column = last_column
            for c in range(first_column, last_column):
                if n_even_index:
                    for a in range(n_even_index):
                        each[a] = even_weights[columns[c], even_index[a] - block]
                    even_sums(
                        words, items[first_item:], n_items, even_index, even_covers,
                        n_even_index, each, sums,
                    )  # fmt: skip
                    add(sums, n_items, out, first)
                if n_index:
                    for a in range(n_index):
                        start, cover = 64 * (index[a] - block), covers[a]
                        for t in range(64):
                            weight = weights[columns[c], start + t] * bit(cover, t)
                            signed[64 * a + t] = weight
                            absolute[64 * a + t] = abs(weight)
                    column_sums(
                        words, items[first_item:], n_items, index, n_index,
                        signed, absolute, eight, sums,
                    )  # fmt: skip
                    add(sums, n_items, out, first)
                first += n_items
            first_item, first_column = item_ends[n], last_column


@compiled()
def is_even(group: Any, share: Any, first: Any) -> Any:
    """Return True if the 64 rows from the first on have one group and one share."""
    if first + 64 > group.shape[0]:
        return False
    for i in range(first + 1, first + 64):
        if group[i] != group[first] or share[i] != share[first]:
            return False
    return True


@compiled()
def units_of(vectors: Any, group: Any, share: Any, units: Any) -> None:
    """Compute the weights of a row in units."""
    for k in range(units.shape[0]):
        units[k] = np.rint(vectors[group, k] * share)


@compiled()
def difference(units: Any, pairs: Any, k: Any) -> Any:
    """Return column k of the weights of a row."""
    return units[pairs[k, 0]] - units[pairs[k, 1]] if pairs[k, 1] >= 0 else units[pairs[k, 0]]


@compiled()
def covered(
    words: Any, node: Any, block: Any, live: Any, n_live: Any, index: Any, covers: Any
) -> Any:
    """List the words of a block in which a conjunction is true of some row; return their number."""
    n_index = 0
    for a in range(n_live):
        cover = ~np.uint64(0)
        for d in range(node.shape[0]):
            if node[d] < 0:
                break
            cover &= words[node[d], block + live[a]]
        if cover != 0:
            covers[n_index], index[n_index] = cover, block + live[a]
            n_index += 1
    return n_index


@compiled()
def add(sums: Any, n_items: Any, out: Any, first: Any) -> None:
    """Add the sums of candidates to ``out``."""
    for j in range(n_items):
        out[first + j, 0] += sums[j, 0]
        out[first + j, 1] += sums[j, 1]
