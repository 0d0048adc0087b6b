"""Models of at most so many rules, chosen among the conjunctions that a solution holds.

Let P(S) be the least objective of functions that give weight to the features S alone.  Wanted is S
of at most k features with the smallest P(S); weights are those of the problem on S for every S
that is looked at.  To find the best S is NP-hard (sparse approximation: B. K. Natarajan, "Sparse
approximate solutions to linear systems", SIAM Journal on Computing 24, 1995,
doi:10.1137/S0097539792240406).  So two starts are improved by exchanges:

* *backward*: from the optimal support on, the features of least weight go, a tenth at a time;
* *forward*: from no feature on, the best of those whose share of the dual norm is largest comes in;
* *exchange*: one feature goes, the best of those that stand out without it comes in, as long as
  P(S) falls.

The lower bound on the optimum over all conjunctions holds for every S, so P(S) and it say how much
the limit can cost at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.deadline import Deadline
from formulakern.encoding.packed import PackedTable
from formulakern.interrupts import held, interruptible
from formulakern.learning.hkl.frontier import Node
from formulakern.solvers.hierarchical.norm import right_signed

__all__ = ["Answer", "Candidates", "FeatureSelection", "Restriction", "candidates", "positions"]

#: Features that stand out most, of which each is tried,
TRIED = 4
#: and what the objective has to fall by, as a share.
BETTER = 1e-4
#: Share of the features that leave at a time on the way back from the optimal support.
LEAVING = 0.1

Solution = TypeVar("Solution")


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


@dataclass(frozen=True, eq=False)
class Answer(Generic[Solution]):
    """The solution of a restriction.

    Attributes
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
    solution: Solution


@dataclass(frozen=True, eq=False)
class _Chosen(Generic[Solution]):
    """Some features, largest weight first, and the best functions of them."""

    kept: tuple[int, ...]
    weights: FloatArray  # (K, len(kept))
    restriction: Restriction
    answer: Answer[Solution]

    @property
    def objective(self) -> float:
        return self.answer.objective


@dataclass(eq=False)
class FeatureSelection(Generic[Solution]):
    """Chooses at most so many of the candidates.

    Parameters
    ----------
    found : Candidates
    solve : callable
        The solution of a restriction, begun from weights (K, len(nodes) + len(others)).
    n_functions : int
        K.
    support : sequence of int
        Positions of candidates that an optimal solution has, largest weight first.
    most : int
        k.
    deadline : Deadline
        Then it is content with what is found.
    report : callable
        Called with the number of features and the objective of every better choice.

    Attributes
    ----------
    best : object
        ``best.restriction`` and ``best.answer`` are the best until now.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    found: Candidates
    solve: Callable[[Restriction, FloatArray], Answer[Solution]]
    n_functions: int
    support: Sequence[int]
    most: int
    deadline: Deadline
    report: Callable[[int, float], None]
    best: _Chosen[Solution] = field(init=False)
    interrupted: bool = field(init=False, default=False)

    def run(self) -> _Chosen[Solution]:
        """The better of two starts, each improved by exchanges; Ctrl-C keeps the best so far."""
        nothing = np.zeros((self.n_functions, 0))
        try:
            with held():
                self.best = self._solved(self.support[: self.most], (), nothing)
            with interruptible():
                self._exchanged(self._backward())
                self._exchanged(self._forward(self._solved((), (), nothing)))
        except KeyboardInterrupt:
            self.interrupted = True
        return self.best

    def _solved(
        self, kept: Sequence[int], before: Sequence[int], weights: FloatArray
    ) -> _Chosen[Solution]:
        """The problem on some features, begun from the weights that features had before."""
        restriction = Restriction.of(self.found, kept)
        known = dict(zip(before, weights.T, strict=True))
        start = np.zeros((self.n_functions, len(restriction.columns)))
        for place, j in zip(restriction.places.tolist(), kept, strict=True):
            start[:, place] = known.get(j, 0.0)
        answer = self.solve(restriction, start)
        own = answer.weights[:, restriction.places]
        spread = self.found.values[list(kept)].std(axis=1)
        order = np.argsort(-np.square(own).sum(axis=0) * spread**2, kind="stable")
        listed = tuple(kept[k] for k in order.tolist())
        return _Chosen(listed, own[:, order], restriction, answer)

    def _without(self, chosen: _Chosen[Solution], number: int) -> _Chosen[Solution]:
        """Without that many features of least weight."""
        return self._solved(chosen.kept[:-number], chosen.kept, chosen.weights)

    def _backward(self) -> _Chosen[Solution]:
        """The features of least weight go until there are few enough."""
        chosen = self._solved(self.support, (), np.zeros((self.n_functions, 0)))
        while (surplus := len(chosen.kept) - self.most) > 0:
            leaving = surplus if self.deadline.over() else max(1, int(LEAVING * len(chosen.kept)))
            chosen = self._without(chosen, min(leaving, surplus))
        return self._remember(chosen)

    def _forward(self, chosen: _Chosen[Solution]) -> _Chosen[Solution]:
        """Features come in until there are enough."""
        while len(chosen.kept) < self.most and not self.deadline.over():
            larger = self._with_one_more(chosen)
            if larger is None:
                break
            chosen = larger
        return self._remember(chosen)

    def _exchanged(self, chosen: _Chosen[Solution]) -> None:
        """One goes and another comes, while the objective falls."""
        improved = True
        while improved and not self.deadline.over():
            improved = False
            for j in reversed(chosen.kept):  # the one of least weight first
                if self.deadline.over():
                    break
                rest = [other for other in chosen.kept if other != j]
                fewer = self._solved(rest, chosen.kept, chosen.weights)
                better = self._with_one_more(fewer)
                if better is not None and better.objective < chosen.objective * (1 - BETTER):
                    chosen, improved = self._remember(better), True
                    break

    def _with_one_more(self, chosen: _Chosen[Solution]) -> _Chosen[Solution] | None:
        """The best with one of the features that stand out most; None where none does."""
        signs = None if self.found.signs is None else self.found.signs[:, np.newaxis]
        sums = right_signed(self.found.values @ chosen.answer.dual, signs)
        shares = np.sqrt(np.square(sums).sum(axis=1)) / self.found.penalties
        shares[list(chosen.kept)] = 0.0
        best = None
        for j in np.argsort(-shares, kind="stable")[:TRIED].tolist():
            if shares[j] <= 0.0:
                break
            tried = self._solved([*chosen.kept, j], chosen.kept, chosen.weights)
            if best is None or tried.objective < best.objective:
                best = tried
        return best

    def _remember(self, chosen: _Chosen[Solution]) -> _Chosen[Solution]:
        if len(chosen.kept) <= self.most and chosen.objective < self.best.objective:
            self.best = chosen
            self.report(len(chosen.kept), chosen.objective)
        return chosen


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
