"""The rows of a problem: all in this process, or groups of rows in partitions.

A solution on a family W that is closed under subsets depends on a row through its class, the truth
of the propositions in W, and the other features in use.  The problem on W can use groups of rows
that are equal in these (:mod:`formulakern.learning.row_groups`).  Its objective is the same, and in
the best dual solution a row has its part of its group's β.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray, different_rows
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.bits import pack_rows
from formulakern.encoding.ordered import GroupTable, OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import WeightedRows
from formulakern.learning.hkl.frontier import Frontier
from formulakern.learning.hkl.options import Node, Options
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.row_groups import Division, GroupsOfRows
from formulakern.partitions.partitioned import Partitioned
from formulakern.solvers.hierarchical.losses import Loss, loss_of
from formulakern.solvers.hierarchical.norm import Lattice
from formulakern.solvers.hierarchical.solve import Features


@dataclass(eq=False)
class Rows:
    """Examples with the different rows of a table in this process."""

    table: Any
    examples: Examples

    @classmethod
    def merged(cls, table: PackedTable, examples: Examples) -> Rows:
        """Merge examples of equal propositions, y, groups and other features, and add weights."""
        kind, y, weights, others, group = examples
        groups = [] if group is None else [group]
        keys = np.column_stack([kind, y, *groups, others]) + 0.0  # no negative zeros
        first, same = different_rows(np.ascontiguousarray(keys).view(np.uint64))
        total = np.bincount(same, weights).astype(np.float64)
        group = None if group is None else group[first]
        return cls(table, Examples(kind[first], y[first], total, others[first], group))

    def loss(self, options: Options) -> Loss:
        """Return the loss of the examples."""
        one = self.examples
        return loss_of(options.loss, one.y, options.C * one.weights, one.group)

    def features(self, options: Options, nodes: Sequence[Node], others: Sequence[int]) -> Features:
        """Return features on the examples, with their norm and signs."""
        penalties = options.rho, options.depth_penalty, len(others), options.other_penalty
        signs = None if options.signs is None else options.signs.of_all([*nodes, *others])
        bits = self.table.truths(self.table.covers(nodes))[:, self.examples.kind]
        return Features(
            Lattice.of(nodes, *penalties), bits, self.examples.others[:, list(others)].T, signs
        )

    def tell_apart(
        self, nodes: Sequence[Node], others: Sequence[int], deadline: Deadline = UNLIMITED
    ) -> bool:
        """Do nothing and return False: all rows are already separate."""
        del nodes, others, deadline
        return False

    def frontier(
        self, beta: FloatArray, nodes: list[Node], options: Options, deadline: Deadline
    ) -> Frontier:
        """Return the bounds on conjunctions outside W, with β of each example."""
        net = np.bincount(self.examples.kind, beta, self.table.n_rows).astype(np.float64)
        used = np.flatnonzero(net)
        return Frontier(self.table.take(used), net[used], nodes, options, deadline)


class Groups(GroupsOfRows, Rows):
    """One example for each group of rows in partitions with equal features in use.

    ``examples_of`` returns the training examples, given one for every group whose y is its class
    and whose other features are means, exact for those in use.  The ``table`` has a row for each
    group, with 0 for propositions that are not in use; it is a GroupTable if the partitions have
    ``ordered`` columns.
    """

    def __init__(
        self,
        rows: Partitioned,
        n_propositions: int,
        n_classes: int,
        examples_of: Callable[[Examples], Examples] = lambda examples: examples,
        ordered: OrderedTable | None = None,
    ) -> None:
        self._n_propositions, self._examples_of = n_propositions, examples_of
        self._columns = []
        if ordered is not None:
            largest = np.max(rows.map(_largest), axis=0)[:, None]
            pairs = zip(ordered.columns, largest, strict=True)
            self._columns = [replace(one, codes=own) for one, own in pairs]
        self._exact: dict[int, FloatArray] = {}  # other features in use, on every group
        self._describe(self._begin(rows, n_classes), [])

    def tell_apart(
        self, nodes: Sequence[Node], others: Sequence[int], deadline: Deadline = UNLIMITED
    ) -> bool:
        """Divide groups until these features are equal within each; return True if any was new.

        TimeIsOver leaves the groups unchanged.
        """
        fresh = sorted(set(others) - set(self._exact))
        propositions = sorted({(j,) for node in nodes for j in node})
        division = self.divide(propositions, fresh, deadline)
        if division is not None:
            self._describe(division, fresh)
        return division is not None

    def _describe(self, division: Division, fresh: list[int]) -> None:
        """Describe the groups by the features in use and the means of the others."""
        n = len(division.parent)
        means = division.sums / np.maximum(self.weights, np.finfo(np.float64).tiny)[:, None]
        values = division.words[:, division.words.shape[1] - len(fresh) :].view(np.float64)
        self._exact = {j: value[division.parent] for j, value in self._exact.items()}
        self._exact |= dict(zip(fresh, values.T, strict=True))
        for j, value in self._exact.items():
            means[:, j] = value
        truths = np.array([self.values(one) for one in self.in_use], dtype=np.bool_)
        words, used = pack_rows(truths.reshape(-1, n)), [one[0] for one in self.in_use]
        if self._columns:
            known = dict(zip(used, words, strict=True))
            self.table = GroupTable(self._columns, n, means, known)
        else:
            every = np.zeros((self._n_propositions, words.shape[1]), dtype=np.uint64)
            every[used] = words
            self.table = PackedTable.of_columns(every, n).with_degrees(means)
        codes = self.codes.astype(np.float64)
        self.examples = self._examples_of(Examples(np.arange(n), codes, self.weights, means))

    def frontier(
        self, beta: FloatArray, nodes: list[Node], options: Options, deadline: Deadline
    ) -> Frontier:
        """Return the bounds on conjunctions outside W; rows share the β of their groups."""
        net = np.bincount(self.examples.kind, beta, self.table.n_rows).astype(np.float64)
        parts = self.parts(net[:, None])
        return Frontier(self.table, net, nodes, options, deadline, parts)


def _largest(rows: WeightedRows) -> list[int]:
    """Return the largest code of each column of a partition."""
    table: Any = rows.table
    return [int(one.codes.max(initial=0)) for one in table.columns]
