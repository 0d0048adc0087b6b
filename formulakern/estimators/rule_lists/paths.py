"""The paths of decision trees as conjunctions of conditions on ranked columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.arrays import IntArray
from formulakern.encoding.bits import Words, n_words, pack_coordinates, pack_rows
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, RankedColumn, RankedTable
from formulakern.encoding.table import Table
from formulakern.estimators.rule_lists.nodes import Nodes
from formulakern.syntax.comparison import Comparison
from formulakern.syntax.formula import FALSE, Formula, Variable

__all__ = ["Conditions", "conditions_of", "negation"]

#: Kinds of conditions: a rank below a bound, at least a bound, any rank, a set of ranks.
BELOW, FROM, PRESENT, MEMBER = range(4)
OPPOSITE = {"=": "!=", "<=": ">", ">=": "<", "in": "not in", "is missing": "is not missing"}
OPPOSITE |= {other: relation for relation, other in OPPOSITE.items()}

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Conditions:
    """Different conditions on the columns of a table.

    Parameters
    ----------
    ranked : RankedTable
    table : Table
    encoded : bool
        Whether the columns of ``ranked`` are propositions about the table, not its own.
    keys : ndarray of shape (C, 4), int64
        Column; kind; bound, or row of ``sets``; whether a missing value fulfils the condition.
    sets : ndarray of shape (S, most values), bool
        Sets of ranks.
    """

    ranked: RankedTable
    table: Table
    encoded: bool
    keys: IntArray
    sets: Truths

    def words(self, conditions: IntArray) -> Words:
        """On which rows some of them are true, uint64 of shape (number of them, words)."""
        words = np.empty((len(conditions), n_words(len(self.table))), dtype=np.uint64)
        keys = self.keys[conditions]
        for column in np.unique(keys[:, 0]).tolist():
            own = np.flatnonzero(keys[:, 0] == column)
            words[own] = self._words_of_column(column, *keys[own, 1:].T)
        return words

    def _words_of_column(
        self, column: int, kind: IntArray, bound: IntArray, missing: IntArray
    ) -> Words:
        ranks = self.ranked.ranks[column][self.ranked.row]
        there = ranks < self.ranked.n_values[column]
        present, absent = pack_rows(np.array([there, ~there]))
        words = np.repeat(present[None], len(kind), axis=0)
        # a row is below a bound if it is below the one before, or lies between these two
        bounded = np.flatnonzero(kind <= FROM)
        bounds, place = np.unique(bound[bounded], return_inverse=True)
        first = np.searchsorted(bounds, ranks, side="right")
        order = np.argsort(first, kind="stable")[: int((first < len(bounds)).sum())]
        between = pack_coordinates(first[order], order, (len(bounds), len(ranks)))
        below = np.bitwise_or.accumulate(between, axis=0)[place]
        words[bounded] &= np.where((kind[bounded] == BELOW)[:, None], below, ~below)
        for k in np.flatnonzero(kind == MEMBER).tolist():
            inside = np.append(
                self.sets[bound[k], : len(self.ranked.columns[column].values)], False
            )
            words[k] = pack_rows(inside[ranks][None])[0]
        words[missing > 0] |= absent
        return words

    def said(self, condition: int) -> Formula:
        """One of them in the words of the table."""
        place, kind, bound, missing = self.keys[condition].tolist()
        column = self.ranked.columns[place]
        formula = self._said(column, kind, bound)
        if not missing:
            return formula
        absent = Comparison(column.name, "is missing")
        return absent if formula == FALSE else formula | absent

    def _said(self, column: RankedColumn, kind: int, bound: int) -> Formula:
        n = len(column.values)
        if kind == PRESENT:
            return Comparison(column.name, "is not missing")
        if kind == MEMBER:
            return _in_set(column, self.sets[bound, :n])
        if not 0 < bound < n:  # beyond all values: what no row of this table fulfils
            return FALSE
        if column.proposition is not None:
            if kind == FROM:
                return column.proposition
            if self.encoded:
                return negation(column.proposition, self.table)
            return Comparison(column.name, "=", 0)
        if column.order and kind == FROM:
            return column.said(AT_LEAST, bound)
        said = column.said(AT_MOST, bound - 1)
        assert isinstance(said, Comparison)
        return said.replaced(relation=">") if kind == FROM else said


def _in_set(column: RankedColumn, inside: Truths) -> Formula:
    """That the value is one of some, or none of the others, whichever is shorter."""
    if not inside.any():
        return FALSE
    if inside.all():
        return Comparison(column.name, "is not missing")
    few = inside.sum() <= len(inside) - inside.sum()
    listed = tuple(map(column.value, np.flatnonzero(inside == few).tolist()))
    one, many = ("=", "in") if few else ("!=", "not in")
    if len(listed) == 1:
        return Comparison(column.name, one, listed[0])
    return Comparison(column.name, many, listed)


def negation(leaf: Formula, table: Table) -> Formula:
    """What is true where a proposition is not, missing values included.

    Examples
    --------
    >>> table = Table({"odor": ["foul", None], "size": [1, 2]})
    >>> negation(Comparison("size", "<=", 1), table), negation(Variable("size"), table)
    (Formula('size > 1'), Formula('size = 0'))
    >>> negation(Comparison("odor", "=", "foul"), table)
    Formula('~(odor = foul)')
    """
    if isinstance(leaf, Comparison):
        asks = leaf.relation.endswith("missing")
        if asks or not table.missing(leaf.column).any():
            return leaf.replaced(relation=OPPOSITE[leaf.relation])
    elif isinstance(leaf, Variable) and not table.missing(leaf.name).any():
        return Comparison(leaf.name, "=", 0)
    return ~leaf


def conditions_of(
    nodes: Nodes,
    leaves: npt.NDArray[np.intp],
    ranked: RankedTable,
    table: Table,
    encoded: bool,
    cast: type[np.floating[Any]],
    codes: dict[int, IntArray],
) -> tuple[Conditions, IntArray, IntArray]:
    """The conditions on the way to some leaves; of each column only the tightest bounds.

    Parameters
    ----------
    nodes : Nodes
    leaves : ndarray of shape (R,), intp
    ranked, table, encoded
        The training rows, and whether ``ranked`` has propositions about them.
    cast : dtype
        What the model's trees turn values into before they compare them with thresholds.
    codes : dict
        Nominal column → the model's number of the category of each rank, −1 for unknown.

    Returns
    -------
    conditions : Conditions
    members : ndarray of shape (R, k), int64
        The conditions of each leaf, ascending.
    sizes : ndarray of shape (R,), int64
        How many there are.

    Notes
    -----
    O(R·depth·log(R·depth)), and a binary search for every node.
    """
    paths, splits, is_left = nodes.climbed(leaves)
    n_columns = len(ranked.columns)
    column = nodes.column[splits]
    passes = nodes.missing_left[splits] == is_left
    groups, group = np.unique(paths * n_columns + column, return_inverse=True)
    group_path, group_column = np.divmod(groups, n_columns)
    n_values = ranked.n_values[group_column]
    # the bounds of every column on every path, and whether missing values come through
    below, begin = n_values.copy(), np.zeros(len(groups), dtype=np.int64)
    has_missing = np.array([c.missing for c in ranked.columns], dtype=np.bool_)[group_column]
    through = has_missing.copy()
    np.logical_and.at(through, group, passes)
    gaps = _gaps(nodes, ranked, cast)[splits]
    numeric = nodes.categories[splits] < 0
    lefts, rights = numeric & is_left, numeric & ~is_left
    np.minimum.at(below, group[lefts], gaps[lefts])
    np.maximum.at(begin, group[rights], gaps[rights])
    # and the sets of categories
    sets, place = np.zeros((0, 1), dtype=np.bool_), np.zeros(len(groups), dtype=np.int64)
    full = np.ones(len(groups), dtype=np.bool_)
    if codes:
        nominal = np.flatnonzero(np.isin(group_column, list(codes)))
        place[nominal] = np.arange(len(nominal))
        sets = np.ones((len(nominal), max(map(len, codes.values()))), dtype=np.bool_)
        for j, known in codes.items():
            steps = np.flatnonzero(column == j)
            chosen = nodes.sets[nodes.categories[splits[steps]]][:, known] == is_left[steps, None]
            chosen[:, known < 0] = passes[steps, None]
            np.logical_and.at(sets[:, : len(known)], place[group[steps]], chosen)
        full[nominal] = sets.all(axis=1)
        sets, number = np.unique(sets, axis=0, return_inverse=True)
        place[nominal] = number.reshape(-1)
    stopped = has_missing & ~through
    found = [
        (BELOW, below < n_values, below),
        (FROM, begin > 0, begin),
        (PRESENT, stopped & (below == n_values) & (begin == 0) & full, np.zeros_like(below)),
        (MEMBER, ~full, place),
    ]
    keys = np.concatenate(
        [
            np.column_stack(
                [group_column[chosen], np.full(chosen.sum(), kind), bound[chosen], through[chosen]]
            )
            for kind, chosen, bound in found
        ]
    )
    owner = np.concatenate([group_path[chosen] for _, chosen, _ in found])
    keys, condition = np.unique(keys, axis=0, return_inverse=True)
    order = np.lexsort((condition.reshape(-1), owner))
    sizes = np.bincount(owner, minlength=len(leaves)).astype(np.int64)
    members = np.full((len(leaves), max(1, int(sizes.max(initial=0)))), -1, dtype=np.int64)
    members[np.arange(members.shape[1]) < sizes[:, None]] = condition.reshape(-1)[order]
    return Conditions(ranked, table, encoded, keys, sets), members, sizes


def _gaps(nodes: Nodes, ranked: RankedTable, cast: type[np.floating[Any]]) -> IntArray:
    """How many values of its column each node sends to the left."""
    gaps = np.zeros(len(nodes.left), dtype=np.int64)
    numeric = (nodes.left >= 0) & (nodes.categories < 0)
    for j, column in enumerate(ranked.columns):
        own = np.flatnonzero(numeric & (nodes.column == j))
        if len(own):
            with np.errstate(over="ignore"):
                values = column.values.astype(cast).astype(np.float64)
            gaps[own] = np.searchsorted(values, nodes.threshold[own], side="right")
    return gaps
