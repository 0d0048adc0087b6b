"""Models of at most so many rules, chosen among the conjunctions that a solution holds.

Let P(S) be the least objective of functions that give weight to the features S alone.  Wanted is S
of at most k features with the smallest P(S); weights are those of the problem on S for every S
that is looked at.  The search is that of :mod:`formulakern.learning.selection`; features are
promising if their share of the dual norm is large.

The lower bound on the optimum over all conjunctions holds for every S, so P(S) and it say how much
the limit can cost at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.encoding.packed import PackedTable
from formulakern.learning.hkl.frontier import Node
from formulakern.learning.selection import Selection
from formulakern.solvers.hierarchical.norm import right_signed

__all__ = ["Answer", "Candidates", "FeatureSelection", "Restriction", "candidates", "positions"]

#: The most promising features, of which each is tried.
TRIED = 4


@dataclass(frozen=True, eq=False)
class Candidates:
    """Features that may get weight: conjunctions of different covers, then the others.

    Attributes
    ----------
    forms : list of tuple of int, or int
        The shortest conjunction of each cover; numbers of features that are none.
    values : float64 (number, m)
        On the examples.
    penalties : float64 (number,)
        What one unit of weight adds to the norm, where nothing else has weight.
    signs : int64 (number,), optional
        Of their weights.
    """

    forms: list[Node | int]
    values: FloatArray
    penalties: FloatArray
    signs: IntArray | None = None


def candidates(
    nodes: Sequence[Node],
    others: Sequence[int],
    table: PackedTable,
    kind: NDArray[np.intp],
    numbers: FloatArray,
    depth_penalty: float,
    other_penalty: float,
) -> Candidates:
    """The different features among conjunctions, and the others, that vary on the examples.

    Parameters
    ----------
    nodes : sequence of tuple of int
    others : sequence of int
        Columns of ``numbers``.
    table, kind, numbers
        The propositions, the row of each example, and float64 (m, e).
    depth_penalty, other_penalty : float
        a and d: a conjunction of l propositions adds (1 + a)^l to the norm.

    Examples
    --------
    >>> from formulakern.encoding.zero_one import read_packed
    >>> table = read_packed([[1, 1], [1, 0], [0, 0]])
    >>> rows = np.arange(3)
    >>> found = candidates([(), (0,), (1,), (0, 1)], [], table, rows, np.zeros((3, 0)), 2.0, 1.0)
    >>> found.forms, found.penalties  # (0, 1) has the cover of (1,)
    ([(0,), (1,)], array([3., 3.]))
    """
    ordered = sorted(set(nodes), key=lambda v: (len(v), v))
    covers = table.truths(table.covers(ordered))[:, kind]
    seen: set[bytes] = set()
    kept = []
    for k, cover in enumerate(covers):
        if cover.any() and not cover.all() and cover.tobytes() not in seen:
            seen.add(cover.tobytes())
            kept.append(k)
    lengths = np.array([len(ordered[k]) for k in kept], dtype=np.float64)
    penalties = np.append((1 + depth_penalty) ** lengths, np.full(len(others), other_penalty))
    values = np.concatenate([covers[kept].astype(np.float64), numbers[:, list(others)].T])
    return Candidates([*(ordered[k] for k in kept), *others], values, penalties)


@dataclass(frozen=True, eq=False)
class Restriction:
    """The problem on some features, in the words of the solvers.

    Attributes
    ----------
    nodes : list of tuple of int
        The conjunctions of the features, and all their subsets.
    others : list of int
    columns : float64 (len(nodes) + len(others), m)
        Zero for the subsets that get no weight.
    places : intp (number,)
        The row of each feature.
    """

    nodes: list[Node]
    others: list[int]
    columns: FloatArray
    places: NDArray[np.intp]

    @classmethod
    def of(cls, found: Candidates, kept: Sequence[int]) -> Restriction:
        """The problem on the features at these positions."""
        forms = [found.forms[j] for j in kept]
        conjunctions = [form for form in forms if isinstance(form, tuple)]
        others = [form for form in forms if isinstance(form, int)]
        subsets = (combinations(v, size) for v in conjunctions for size in range(len(v) + 1))
        closed = {(), *chain.from_iterable(subsets)}
        nodes = sorted(closed, key=lambda v: (len(v), v))
        place = {one: k for k, one in enumerate([*nodes, *others])}
        places = np.array([place[form] for form in forms], dtype=np.intp)
        columns = np.zeros((len(place), found.values.shape[1]))
        columns[places] = found.values[list(kept)]
        return cls(nodes, others, columns, places)


class Answer(NamedTuple):
    """The solution of a restriction.

    Parameters
    ----------
    weights : float64 (K, len(nodes) + len(others))
        Of each function.
    objective : float
    dual : float64 (m, K)
    solution : object
        As the solver gives it.
    """

    weights: FloatArray
    objective: float
    dual: FloatArray
    solution: Any


@dataclass(frozen=True, eq=False)
class Chosen:
    """Positions of candidates, largest weight first, and the best functions of them."""

    kept: tuple[int, ...]
    weights: FloatArray  # (K, len(kept))
    restriction: Restriction
    answer: Answer

    @property
    def objective(self) -> float:
        """P(S)."""
        return self.answer.objective


@dataclass(eq=False)
class FeatureSelection(Selection[Chosen]):
    """Choose at most ``most`` of the candidates.

    Parameters
    ----------
    support, most, deadline :
        Positions of candidates, k and the time limit; see :class:`.Selection`.
    found : Candidates
    solve : callable
        The solution of a restriction, begun from weights (K, len(nodes) + len(others)).
    n_functions : int
        K.
    tell : callable
        Called with the number of features and the objective of every better choice.
    """

    better = 1e-4

    found: Candidates
    solve: Callable[[Restriction, FloatArray], Answer]
    n_functions: int
    tell: Callable[[int, float], None]

    def solved(self, kept: Sequence[int], before: Chosen | None = None) -> Chosen:
        """Solve the problem on some features, begun from the weights of ``before``."""
        restriction = Restriction.of(self.found, kept)
        start = np.zeros((self.n_functions, len(restriction.columns)))
        known = {} if before is None else dict(zip(before.kept, before.weights.T, strict=True))
        for place, j in zip(restriction.places.tolist(), kept, strict=True):
            start[:, place] = known.get(j, 0.0)
        answer = self.solve(restriction, start)
        own = answer.weights[:, restriction.places]
        spread = self.found.values[list(kept)].std(axis=1)
        order = np.argsort(-np.square(own).sum(axis=0) * spread**2, kind="stable")
        return Chosen(tuple(kept[k] for k in order.tolist()), own[:, order], restriction, answer)

    def promising(self, chosen: Chosen) -> list[int]:
        """Return the features with the largest shares of the dual norm."""
        signs = None if self.found.signs is None else self.found.signs[:, np.newaxis]
        sums = right_signed(self.found.values @ chosen.answer.dual, signs)
        shares = np.sqrt(np.square(sums).sum(axis=1)) / self.found.penalties
        shares[list(chosen.kept)] = 0.0
        largest = np.argsort(-shares, kind="stable")[:TRIED]
        return [int(j) for j in largest if shares[j] > 0.0]

    def improves(self, chosen: Chosen, before: Chosen, share: float = 0.0) -> bool:
        """Whether the objective is smaller."""
        return chosen.objective < before.objective * (1 - share)

    def report(self, chosen: Chosen) -> None:
        """Report a better choice."""
        self.tell(len(chosen.kept), chosen.objective)


def positions(found: Candidates, table: PackedTable, kind: Any, forms: Sequence[Any]) -> list[int]:
    """The positions of features among the candidates of equal cover, each once, in this order."""
    place: dict[Any, int] = {}
    for j, form in enumerate(found.forms):
        key = form if isinstance(form, int) else (found.values[j] > 0).tobytes()
        place[key] = j
    nodes = [form for form in forms if isinstance(form, tuple)]
    covers = iter(table.truths(table.covers(nodes))[:, kind])
    keys = [form if isinstance(form, int) else next(covers).tobytes() for form in forms]
    return list(dict.fromkeys(place[key] for key in keys if key in place))
