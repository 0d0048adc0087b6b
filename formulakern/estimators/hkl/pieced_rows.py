"""Rows that stay in pieces, as estimators of hierarchical kernel learning ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.packed_pieces import PackedPieces
from formulakern.learning.hkl.frontier import Node
from formulakern.learning.hkl.ordinal import Examples, cumulative_examples
from formulakern.learning.hkl.pieces.groups import Groups
from formulakern.partitions.pieces import Pieces

__all__ = ["PiecedRows", "SeenRows"]


class SeenRows(NamedTuple):
    """Rows, or groups of rows that no rule tells apart.

    Parameters
    ----------
    table : PackedTable of m rows
    labels : ndarray of shape (m,)
        Classes.
    weights, counts, numbers : float64 (m,)
        What each weighs in learning, what the user said that it weighs, and how many it is.
    """

    table: PackedTable
    labels: npt.NDArray[Any]
    weights: FloatArray
    counts: FloatArray
    numbers: FloatArray


@dataclass(eq=False)
class PiecedRows:
    """Encoded rows in pieces, with the class and the weight of each.

    Parameters
    ----------
    pieces : Pieces of WeightedRows
    n_columns, n_others : int
        Propositions and degrees.
    codes : intp (n_rows,)
        The number of the class of every row.
    weights : float64 (n_rows,)
    ordered : bool
        Whether classes are.
    """

    pieces: Pieces
    n_columns: int
    n_others: int
    codes: npt.NDArray[np.intp]
    weights: FloatArray
    ordered: bool
    _last: Groups | None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        table: PackedPieces,
        problems: Sequence[FloatArray],
        weights: FloatArray,
        ordered: bool,
    ) -> PiecedRows:
        """The rows of some problems: one of −1 and 1, several of these, or one of ordered classes.

        Rows of weight 0 are left out.
        """
        if ordered:
            codes = np.maximum(problems[0], 0).astype(np.intp)
        elif len(problems) == 1:
            codes = (problems[0] > 0).astype(np.intp)
        else:
            codes = np.array(problems).argmax(axis=0)
        pieces = table.weighted(codes, weights)
        return cls(pieces, table.n_columns, len(table.terms), codes, weights, ordered)

    def groups(self, problem: int | None = None, n_problems: int = 0) -> Groups:
        """Groups of the rows by class, to learn from.

        Parameters
        ----------
        problem, n_problems : int, optional
            The place of the problem: of one of two classes, or of several, one for each class.
        """
        made: Any = cumulative_examples if self.ordered else None
        if problem is not None:
            made = partial(_against, 1 if n_problems == 1 else problem)
        n_classes = int(self.codes.max()) + 1
        self._last = Groups(self.pieces, self.n_columns, self.n_others, n_classes, made)
        return self._last

    def seen(
        self, rules: Sequence[Sequence[Node | int]], labels: npt.NDArray[Any], counts: FloatArray
    ) -> SeenRows:
        """Groups of the rows that the rules of all problems tell apart.

        Parameters
        ----------
        rules : sequence of sequence of tuple of int, or int
        labels : ndarray of shape (n_rows,)
            The class of every row.
        counts : float64 (n_rows,)
        """
        groups = self._last
        assert groups is not None
        listed = [rule for some in rules for rule in some]
        nodes = [rule for rule in listed if isinstance(rule, tuple)]
        groups.tell_apart(nodes, [rule for rule in listed if isinstance(rule, int)])
        used = self.weights > 0
        first = {int(k): labels[used][i] for k, i in zip(*_firsts(self.codes[used]), strict=True)}
        of_class = np.array([first[k] for k in groups.codes.tolist()], dtype=labels.dtype)
        # all rows of a class have the same factor
        own, learned = (np.bincount(self.codes[used], w[used]) for w in (counts, self.weights))
        shares = groups.weights * (own / np.maximum(learned, 1e-300))[groups.codes]
        return SeenRows(groups.table, of_class, groups.weights, shares, groups.numbers)


def _firsts(codes: npt.NDArray[np.intp]) -> tuple[list[int], list[int]]:
    found, first = np.unique(codes, return_index=True)
    return found.tolist(), first.tolist()


def _against(k: int, examples: Examples) -> Examples:
    """One class against the rest."""
    return examples._replace(y=np.where(examples.y == k, 1.0, -1.0))
