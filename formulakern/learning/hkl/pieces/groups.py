"""Rows in pieces, in groups that the propositions in use tell apart.

A solution on a family W that is closed under subsets sees of a row its class, the truth of the
propositions that W is made of, and the other features in use.  Rows that are equal in these are a
group.  The problem on W is one over groups, with the sum of their rows' weights: its objective is
the same, and in the best dual solution a row's β is its group's, in proportion to its weight.  So
the solver works here on groups, and rows stay where they are: every piece knows the group of each
of its rows, and answers for sums of β over covers.

When a proposition comes into use, each piece divides its groups by it and tells what they weigh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, different_groups
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.bits import Words, pack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.weighted_rows import WeightedRows
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.sharing import AHEAD, FIRST, SHARED, SharingFrontier
from formulakern.learning.hkl.signs import Node, Signs
from formulakern.mining.conjunctions.answers import GroupedRows, sizes, totals, weighed
from formulakern.mining.objective import unit_exponent
from formulakern.partitions.partitioned import Partitioned

__all__ = ["Groups", "PiecedFrontier"]

#: How exact a product of two numbers is.
EPSILON = 2.0**-51


@dataclass(frozen=True, eq=False)
class _Divided:
    """The rows of a piece and their groups, which have numbers of the piece's own."""

    rows: WeightedRows
    group: NDArray[np.intp]


class _Described(NamedTuple):
    """What a piece tells of its groups after they were divided."""

    earlier: NDArray[np.intp]  # the group that each was part of
    keys: Words  # truth values of propositions, then numbers, by which it was divided
    weights: FloatArray
    numbers: FloatArray  # of rows
    sums: FloatArray  # of degrees times weights


def _begun(rows: WeightedRows) -> _Divided:
    """Groups by class; also of classes that the piece has not."""
    return _Divided(rows, rows.codes)


def _keys(rows: WeightedRows, propositions: NDArray[np.intp], others: Sequence[int]) -> Words:
    truths = rows.table.truths(rows.table.columns[propositions])
    values = np.ascontiguousarray(rows.table.degrees[:, list(others)] + 0.0).view(np.uint64)
    return np.column_stack([pack_rows(np.ascontiguousarray(truths.T)), values])


def _divided(
    piece: _Divided, propositions: NDArray[np.intp], others: Sequence[int]
) -> tuple[_Divided, _Described]:
    """The groups divided by propositions and by numbers, and what is told of them."""
    rows = piece.rows
    keys = _keys(rows, propositions, others)
    first, group = different_groups(piece.group, keys)
    n, e = len(first), rows.table.degrees.shape[1]
    sums = np.zeros((n, e))
    for j in range(e):
        sums[:, j] = np.bincount(group, rows.weights * rows.table.degrees[:, j], n)
    told = _Described(
        piece.group[first],
        keys[first],
        np.bincount(group, rows.weights, n).astype(np.float64),
        np.bincount(group, rows.numbers, n).astype(np.float64),
        sums,
    )
    return _Divided(rows, group), told


def _kept(both: tuple[_Divided, _Described]) -> _Divided:
    return both[0]


def _told(both: tuple[_Divided, _Described]) -> _Described:
    return both[1]


def _sharing(piece: _Divided) -> GroupedRows:
    return GroupedRows(piece.rows.table, piece.group, piece.rows.weights)


class Groups:
    """The groups of all rows, as many as propositions in use tell apart.

    Parameters
    ----------
    rows : Partitioned
        Of :class:`~formulakern.encoding.weighted_rows.WeightedRows`.
    n_propositions, n_others, n_classes : int
        Propositions, degrees, and classes.
    examples_of : callable, optional
        Makes what is learned from of one example for every group, whose y is its class; by default
        these examples are it.

    Attributes
    ----------
    table : PackedTable of G rows
        One for each group; propositions that are not in use are 0.
    codes : intp (G,)
        The class of each.
    weights, numbers : float64 (G,)
        Sums of the rows' weights, and of the numbers of rows that they stand for.
    others : float64 (G, e)
        Means of the degrees; where one is in use, what all rows of the group have.
    """

    def __init__(
        self,
        rows: Partitioned,
        n_propositions: int,
        n_others: int,
        n_classes: int,
        examples_of: Callable[[Examples], Examples] | None = None,
    ) -> None:
        self._examples_of = examples_of
        self._pieces = rows.persist(_begun)
        self._places = [np.arange(n_classes)] * len(rows)  # of each piece's groups, among all
        self.codes = np.arange(n_classes)
        self.weights, self.numbers = np.zeros(n_classes), np.zeros(n_classes)
        self.others = np.zeros((n_classes, n_others))
        self._truths = np.zeros((n_propositions, n_classes), dtype=np.bool_)
        self.propositions: set[int] = set()
        self.held: set[int] = set()
        self._divide([], [], UNLIMITED)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def examples(self) -> Examples:
        """What is learned from: ``kind`` says the group of each."""
        y = self.codes.astype(np.float64)
        one = Examples(np.arange(len(self)), y, self.weights, self.others)
        return one if self._examples_of is None else self._examples_of(one)

    def tell_apart(
        self, nodes: Sequence[Node], others: Sequence[int], deadline: Deadline = UNLIMITED
    ) -> bool:
        """Divide groups until all rows of one agree in these features; whether any was new.

        Raises
        ------
        TimeIsOver
            If the answers are not there in time; groups are then as before.
        """
        propositions = sorted({j for node in nodes for j in node} - self.propositions)
        fresh = sorted(set(others) - self.held)
        if not propositions and not fresh:
            return False
        self._divide(propositions, fresh, deadline)
        return True

    def _divide(self, propositions: list[int], others: list[int], deadline: Deadline) -> None:
        both = self._pieces.persist(_divided, np.array(propositions, dtype=np.intp), others)
        told: list[_Described] = both.map(_told, deadline=deadline)
        earlier = [place[one.earlier] for place, one in zip(self._places, told, strict=True)]
        before = np.concatenate(earlier)
        keys = np.concatenate([one.keys for one in told])
        first, group = different_groups(before, keys)
        parents, n = before[first], len(first)
        truths = self._truths[:, parents]
        n_words = keys.shape[1] - len(others)
        bits = PackedTable.of_rows(np.ascontiguousarray(keys[first, :n_words]), len(propositions))
        if propositions:
            truths[propositions] = bits.unpacked().T.astype(np.bool_)
        sums = np.zeros((n, self.others.shape[1]))
        np.add.at(sums, group, np.concatenate([one.sums for one in told]))
        weights = np.bincount(group, np.concatenate([one.weights for one in told]), n)
        means = sums / np.maximum(weights, np.finfo(np.float64).tiny)[:, None]
        held = sorted(self.held)
        means[:, held] = self.others[parents][:, held]  # exactly what all have
        means[:, others] = keys[first, n_words:].view(np.float64)
        numbers = np.bincount(group, np.concatenate([one.numbers for one in told]), n)
        ends = np.cumsum([len(one.earlier) for one in told])[:-1]
        self._pieces, self._places = both.persist(_kept), np.split(group, ends)
        self.codes, self.weights = self.codes[parents], weights.astype(np.float64)
        self.numbers, self.others, self._truths = numbers.astype(np.float64), means, truths
        self.propositions |= set(propositions)
        self.held |= set(others)
        self.table = PackedTable.of_columns(pack_rows(truths), n).with_degrees(means)

    def frontier(
        self,
        beta: FloatArray,
        nodes: list[Node],
        rho: float,
        depth_penalty: float,
        deadline: Deadline,
        signs: Signs | None = None,
    ) -> PiecedFrontier:
        """What lies outside W, β one for each group."""
        return PiecedFrontier(self.table, beta, nodes, rho, depth_penalty, deadline, signs, self)

    def weighed(self, beta: FloatArray, deadline: Deadline) -> tuple[Partitioned, int, float]:
        """Rows with their parts of their groups' β, as :meth:`.SharingFrontier.weighed` has it."""
        rates = (beta / self.weights)[:, None]
        vectors = [rates[places] for places in self._places]
        rows = self._pieces.persist(_sharing)
        size = float(np.sum(rows.map(sizes, each=vectors, deadline=deadline)))
        exponent = unit_exponent(size)
        units = rows.persist(weighed, exponent, False, each=vectors)
        rounded = float(np.sum([n.sum() for *_, n in units.map(totals, deadline=deadline)]))
        return units, exponent, 0.5 * rounded + EPSILON * float(np.ldexp(size, -exponent))


@dataclass(eq=False)
class PiecedFrontier(SharingFrontier):
    """What lies outside W where rows are in pieces; ``table`` and ``beta`` are of groups.

    Parameters
    ----------
    groups : Groups
    """

    groups: Groups | None = None

    def weighed(self) -> tuple[Partitioned, int, float]:
        """As :meth:`.SharingFrontier.weighed`."""
        assert self.groups is not None
        return self.groups.weighed(self.beta, self.deadline)

    def examine(
        self,
        allowed: float,
        enough: int,  # noqa: ARG002
        inside: float | None = None,
        loose: bool = False,
    ) -> tuple[float, list[Node]]:
        """As :meth:`.Frontier.examine`; whatever is ``enough``, the violators are all returned."""
        assert inside is not None  # no search of sums alone fails, so that sharing is always tried
        if not self.sources or not self.beta.any():
            return 0.0, []
        if loose or inside >= allowed:  # else nothing is left for what lies outside
            allowed = max(allowed, AHEAD * inside)
        given = (inside / allowed) ** (self.dual / 2)
        return self.share_sums(allowed, given, FIRST * min(len(self.inside), SHARED))
