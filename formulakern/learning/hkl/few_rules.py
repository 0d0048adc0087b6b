"""Models of a limited number of rules, chosen among the conjunctions of a solution.

Let P(S) be the least objective of functions that give weight to the features S alone.  Wanted is S
of at most k features with the smallest P(S); weights are those of the problem on S for every S
that is looked at.  The search is that of :mod:`formulakern.learning.selection`; features are
promising if their share of the dual norm is large.

The lower bound on the optimum over all conjunctions holds for every S, so the difference to P(S)
bounds the cost of the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.learning.hkl.active_set import GrownSolution
from formulakern.learning.hkl.options import Node, Options
from formulakern.learning.hkl.rows import Rows
from formulakern.learning.selection import Selection
from formulakern.solvers.hierarchical.norm import right_signed
from formulakern.solvers.hierarchical.solve import HierarchicalSolution

__all__ = ["Candidates", "FeatureSelection", "Restriction"]

#: The most promising features, of which each is tried.
TRIED = 4


class Candidates(NamedTuple):
    """Features that may get weight: conjunctions of different covers, then the others.

    Parameters
    ----------
    forms : list of tuple of int, or int
        The shortest conjunction of each cover; numbers of other features.
    values : float64 (number, m)
        On the examples.
    penalties : float64 (number,)
        What one unit of weight alone adds to the norm: (1 + a)^l for l propositions.
    signs : int64 (number,), optional
        Of their weights.
    """

    forms: list[Node | int]
    values: FloatArray
    penalties: FloatArray
    signs: IntArray | None

    @classmethod
    def of(cls, rows: Rows, options: Options, grown: GrownSolution) -> Candidates:
        """Return the different features of a solution that vary on the examples."""
        nodes = sorted({v for own in grown.nodes for v in own}, key=lambda v: (len(v), v))
        others = sorted({j for own in grown.others for j in own})
        features = rows.features(options, nodes, others)
        first = {cover.tobytes(): k for k, cover in reversed([*enumerate(features.bits)])}
        kept = [k for k in sorted(first.values()) if 0 < features.bits[k].mean() < 1]
        lengths = np.array([len(nodes[k]) for k in kept], dtype=np.float64)
        every = [*kept, *range(len(nodes), len(nodes) + len(others))]
        return cls(
            [*(nodes[k] for k in kept), *others],
            np.concatenate([features.bits[kept].astype(np.float64), features.others]),
            np.append(
                (1 + options.depth_penalty) ** lengths, [options.other_penalty] * len(others)
            ),
            None if features.signs is None else features.signs[every],
        )

    def positions(self, rows: Rows, forms: Sequence[Node | int]) -> list[int]:
        """The positions of features of equal cover, each once, in the order of ``forms``."""
        place: dict[Any, int] = {}
        for j, form in enumerate(self.forms):
            place[form if isinstance(form, int) else (self.values[j] > 0).tobytes()] = j
        nodes = [form for form in forms if isinstance(form, tuple)]
        covers = iter(rows.table.truths(rows.table.covers(nodes))[:, rows.examples.kind])
        keys = [form if isinstance(form, int) else next(covers).tobytes() for form in forms]
        return list(dict.fromkeys(place[key] for key in keys if key in place))


class Restriction(NamedTuple):
    """The problem on some features.

    Parameters
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


@dataclass(frozen=True, eq=False)
class Chosen:
    """Positions of candidates, largest weight first, and the best functions of them."""

    kept: tuple[int, ...]
    weights: FloatArray  # (K, len(kept))
    restriction: Restriction
    solution: HierarchicalSolution

    @property
    def objective(self) -> float:
        """P(S)."""
        return self.solution.objective


@dataclass(eq=False)
class FeatureSelection(Selection):
    """Choose at most ``most`` of the candidates.

    ``support`` are positions of candidates; ``solve`` returns the solution of a restriction, begun
    from weights (K, len(nodes) + len(others)); ``shown`` is called with the number of features and
    the objective of every better choice.
    """

    better = 1e-4

    found: Candidates
    solve: Callable[[Restriction, FloatArray], HierarchicalSolution]
    n_functions: int
    shown: Callable[[int, float], None]

    def solved(self, kept: Sequence[int], before: Chosen | None = None) -> Chosen:
        """Solve the problem on some features, begun from the weights of ``before``."""
        restriction = Restriction.of(self.found, kept)
        start = np.zeros((self.n_functions, len(restriction.columns)))
        known = {} if before is None else dict(zip(before.kept, before.weights.T, strict=True))
        for place, j in zip(restriction.places.tolist(), kept, strict=True):
            start[:, place] = known.get(j, 0.0)
        solution = self.solve(restriction, start)
        own = np.array(solution.weights)[:, restriction.places]
        spread = self.found.values[list(kept)].std(axis=1)
        order = np.argsort(-np.square(own).sum(axis=0) * spread**2, kind="stable")
        return Chosen(tuple(kept[k] for k in order.tolist()), own[:, order], restriction, solution)

    def promising(self, chosen: Chosen) -> list[int]:
        """Return the features with the largest shares of the dual norm."""
        dual = np.atleast_2d(chosen.solution.dual.T)
        sums = right_signed(dual @ self.found.values.T, self.found.signs)
        shares = np.sqrt(np.square(sums).sum(axis=0)) / self.found.penalties
        shares[list(chosen.kept)] = 0.0
        largest = np.argsort(-shares, kind="stable")[:TRIED]
        return [int(j) for j in largest if shares[j] > 0.0]

    def improves(self, chosen: Chosen, before: Chosen, share: float = 0.0) -> bool:
        """Whether the objective is smaller."""
        return chosen.objective < before.objective * (1 - share)

    def report(self, chosen: Chosen) -> None:
        """Report a better choice."""
        self.shown(len(chosen.kept), chosen.objective)
