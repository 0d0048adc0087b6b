"""The groups of rows in partitions that the conjunctions in use tell apart, and their frontier.

A solution on a family W that is closed under subsets depends on a row through its class, the truth
of the propositions that W is made of, and the other features in use.  The problem on W is one over
groups of rows that are equal in these (:mod:`formulakern.learning.row_groups`): its objective is
the same, and in the best dual solution a row's β is its part of its group's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.bits import pack_rows
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.frontier import AHEAD, FIRST, SHARED, SharingFrontier
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.signs import Node, Signs
from formulakern.learning.row_groups import Division, GroupsOfRows
from formulakern.mining.conjunctions.answers import sizes, totals, weighed
from formulakern.mining.search import unit_exponent
from formulakern.partitions.partitioned import Partitioned

__all__ = ["Groups", "PiecedFrontier"]

#: How exact a product of two numbers is.
EPSILON = 2.0**-51


class Groups(GroupsOfRows):
    """The groups of all rows, as many as propositions in use tell apart.

    Parameters
    ----------
    rows : Partitioned
        Of :class:`~formulakern.encoding.partitioned.WeightedRows`.
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
        self.others = np.zeros((n_classes, n_others))
        self._truths = np.zeros((n_propositions, n_classes), dtype=np.bool_)
        self.propositions: set[int] = set()
        self.held: set[int] = set()
        self._describe(self._begin(rows, n_classes), [], [])

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
        features = [(j,) for j in propositions]
        self._describe(self._divided(features, fresh, deadline), propositions, fresh)
        return True

    def _describe(self, division: Division, propositions: list[int], others: list[int]) -> None:
        """Describe the groups by the features in use and the means of the others."""
        parents, n = division.parent, len(division.parent)
        truths = self._truths[:, parents]
        n_words = division.words.shape[1] - len(others)
        if propositions:
            words = np.ascontiguousarray(division.words[:, :n_words])
            bits = PackedTable.of_rows(words, len(propositions))
            truths[propositions] = bits.unpacked().T.astype(np.bool_)
        tiny = np.finfo(np.float64).tiny
        means = division.sums / np.maximum(division.weights, tiny)[:, None]
        held = sorted(self.held)
        means[:, held] = self.others[parents][:, held]  # exactly what all have
        means[:, others] = division.words[:, n_words:].view(np.float64)
        self._take(division)
        self.others, self._truths = means, truths
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
        vectors, rows = self.vectors(beta[:, None]), self.rows
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
