r"""The conjunctions of largest weighted sum, found by branch and bound and proven to be so.

For a conjunction w of propositions let S_k(w) = Σ_{i covered by w} c_ik.  A larger conjunction
covers fewer examples, so with P_k and N_k the sums of the positive and of the negative weights
(in absolute value) over the cover of w, every w' ⊇ w has

    −N_k(w) ≤ S_k(w') ≤ P_k(w),    T_k − P_k(w) ≤ T_k − S_k(w') ≤ T_k + N_k(w),

T_k the sum over all examples.  The search goes depth first through sets of propositions and leaves
out what cannot pass the results already found.  Children of a node are evaluated together and
opened in the order of their bounds, the best first; a child is extended by the children before it
alone, so that every set is met once and the most promising children have the smallest subtrees
(the order of G. I. Webb, *OPUS: an efficient admissible algorithm for unordered search*, JAIR 3,
1995, https://doi.org/10.1613/jair.227).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_integer, is_integer
from formulakern.encoding.bits import all_ones, n_words
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.mining.conjunctions.enumeration import enumerated
from formulakern.mining.objective import Objective, read_objective
from formulakern.mining.options import (
    MAX_RESULTS,
    check_threshold,
    check_time_limit,
    check_top,
    read_propositions,
)
from formulakern.mining.search import CompiledSearch
from formulakern.slices import enlarged, run_slices

__all__ = ["MiningResult", "mine_conjunctions"]

#: Results times examples whose sums are computed at once.
BATCH = 1 << 20


@dataclass(frozen=True, eq=False)
class MiningResult:
    """Conjunctions, best first, and what is known about all the others.

    Parameters
    ----------
    conjunctions : list of tuple of int
        Sorted positions of propositions; sorted by score (largest first), then length, then
        positions.
    scores : ndarray of shape (r,), float64
    sums : ndarray of shape (r, K), float64
        S_k of each, summed pairwise from the weights as given (not T_k − S_k, for complements).
    proven : bool
        Whether the search ran to the end.
    complete : bool
        Whether every conjunction that scores more than the threshold is here; false after a time
        limit, and when there may be more of them than ``top`` or ``max_results``.
    bound : float
        No conjunction that is not here scores more.  Where the search ran to the end, the score
        that it took to be among the results: the last one's, or the threshold; plus rounding (see
        :mod:`formulakern.mining.objective`), which is 0 for integer weights.
    n_evaluated : int
        Conjunctions whose sums were computed.
    seconds : float
    """

    conjunctions: list[tuple[int, ...]]
    scores: NDArray[np.float64]
    sums: NDArray[np.float64]
    proven: bool
    complete: bool
    bound: float
    n_evaluated: int
    seconds: float


def mine_conjunctions(
    propositions: object,
    weights: object,
    *,
    top: int | None = 10,
    min_length: int = 1,
    max_length: int | None = 3,
    length_factor: Sequence[float] | NDArray[Any] | None = None,
    objective: str = "absolute",
    direction: str = "both",
    complement: bool = False,
    exclusive: Sequence[int] | NDArray[Any] | None = None,
    threshold: float = 0.0,
    max_results: int = MAX_RESULTS,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> MiningResult:
    """The conjunctions w of different propositions with the largest scores.

    With S_k(w) = Σ_i c_ik over the examples that w covers, the score is max_k |S_k| ("absolute"),
    or max_k S_k − min_k S_k ("spread"), divided by ``length_factor[|w|]``.

    Parameters
    ----------
    propositions : PackedTable, or a table of 0 and 1 of shape (m, p)
    weights : array-like of shape (m,) or (m, K)
        c, finite; one column per vector.
    top : int or None
        How many; None for all that score more than ``threshold``.
    min_length, max_length : int
        Numbers of propositions; ``min_length=0`` admits the empty conjunction, which is true
        everywhere, ``max_length=None`` any length.
    length_factor : sequence of float, optional
        Positive divisors of the scores of lengths 0, 1, …, up to the greatest length that can
        occur; in any order, growing or not.
    objective : {"absolute", "spread"}
    direction : {"both", "positive", "negative"}
        For "absolute": the score is max_k |S_k|, max_k S_k or max_k −S_k.
    complement : bool
        Use T_k − S_k, T_k the sum over all examples, in place of S_k: the sum over the examples
        that w does *not* cover, that is, of the disjunction of the negated propositions.
    exclusive : sequence of int of length p, optional
        Groups of which a conjunction has at most one proposition (the values of one column, or a
        literal and its negation); −1 for propositions that are in no group.
    threshold : float
        Only conjunctions with higher scores are returned.
    max_results : int
        The most results with ``top=None``; where it is reached, ``complete`` is false and the
        best ones are returned.
    time_limit : float, optional
        Seconds; then the best so far is returned, with a bound on all the rest.
    progress : callable, optional
        Called every 0.05 s or so with an estimate of the share that is done.

    Returns
    -------
    MiningResult
        Conjunctions of equal covers are different conjunctions, and all are candidates.  Those
        that tie with the last one returned may be left out.

    Raises
    ------
    DataError
        If there are no examples or propositions, or weights do not fit or are not finite.
    ParameterError
        If an option is out of its range.

    Notes
    -----
    Where few conjunctions are looked at (at most 2¹⁹, times examples), nothing is compiled.  Else
    examples without weight are dropped first.  A conjunction then costs some 10 ns per 64 examples
    and column of weights; how many are looked at depends on how well the bound prunes.

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 1, 1]]
    >>> result = mine_conjunctions(X, [2.0, 1.0, -1.0, -1.0], top=1, max_length=2)
    >>> result.conjunctions, result.scores, result.proven
    ([(0, 1)], array([3.]), True)
    """
    started = time.perf_counter()
    packed = read_propositions(propositions)
    limit = check_top(top, max_results)
    goal = read_objective(weights, packed.n_rows, objective, direction)
    groups = _groups(exclusive, packed.n_columns)
    least, greatest = _lengths(min_length, max_length, groups)
    factor = _factors(length_factor, greatest, max_length)
    check_time_limit(time_limit)
    threshold = check_threshold(threshold)
    factors = _reachable(factor, least, greatest)
    problem = (packed, goal, limit, (least, greatest), factors, groups, bool(complement))
    search = enumerated(*problem, goal.in_units(threshold)) or _ConjunctionSearch(
        *problem, threshold
    )
    outcome = run_slices(search, time_limit, progress, started)
    smallest = float(factor[least : greatest + 1].min()) if least <= greatest else 1.0
    conjunctions = search.conjunctions()
    sums = _sums(packed, goal, conjunctions)
    values = goal.weights.sum(axis=0) - sums if complement else sums
    scores = goal.scores(values) / factor[[len(w) for w in conjunctions]]
    order = [r for r in range(len(scores)) if scores[r] > threshold]
    order.sort(key=lambda r: (-scores[r], len(conjunctions[r]), conjunctions[r]))
    return MiningResult(
        conjunctions=[conjunctions[r] for r in order],
        scores=scores[order],
        sums=sums[order],
        proven=outcome.finished,
        complete=outcome.finished and search.n_found < limit,
        bound=goal.from_units(search.bound()) + goal.rounding * (1 + complement) / smallest,
        n_evaluated=search.n_evaluated,
        seconds=time.perf_counter() - started,
    )


class _ConjunctionSearch(CompiledSearch):
    """The arrays of the compiled loop ``search_conjunctions``, and how they grow."""

    def __init__(
        self,
        packed: PackedTable,
        goal: Objective,
        limit: int,
        lengths: tuple[int, int],
        factors: NDArray[np.float64],
        groups: NDArray[np.int64],
        complement: bool,
        threshold: float,
    ) -> None:
        from formulakern.mining.conjunctions.loop import (  # loads numba
            ConjunctionState,
            search_conjunctions,
        )

        self.loop = search_conjunctions
        p, (least, greatest) = packed.n_columns, lengths
        depth = max(1, min(greatest, 8))
        super().__init__(packed, goal, limit, threshold, p + 1, depth)
        items = np.zeros(4 * p, dtype=np.int64)
        items[:p] = np.arange(p)
        covers = np.zeros((depth, n_words(self.n_examples)), dtype=np.uint64)
        covers[0] = all_ones(self.n_examples)
        levels = np.zeros((depth, 4), dtype=np.int64)
        levels[0, 1] = p if greatest >= max(least, 1) else 0
        self.state = ConjunctionState(
            **self.common,
            groups=groups,
            totals=self.totals,
            flags=np.array([complement, goal.upwards, goal.downwards]),
            lengths=np.array([least, greatest, limit]),
            factors=factors,
            levels=levels,
            items=items,
            bounds=np.zeros(4 * p),
            covers=covers,
            found_lengths=np.zeros(min(limit, p + 1), dtype=np.int64),
        )
        if least == 0:  # the empty conjunction
            values = np.zeros_like(self.totals) if complement else self.totals
            score = float(goal.unit_scores(values[None])[0])
            self.offer_first(score / float(self.state.factors[0, 0]))

    def _open_levels(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        state = self.state
        for start, count, following, _ in state.levels[: state.counters[0]].tolist():
            yield count, following, state.bounds[start:]

    def conjunctions(self) -> list[tuple[int, ...]]:
        """The results, in no order."""
        rows = self.state.found[: self.n_found].tolist()
        lengths = self.state.found_lengths[: self.n_found].tolist()
        return [tuple(sorted(row[:n])) for row, n in zip(rows, lengths, strict=True)]

    def _grow(self) -> None:
        state = self.state
        top = state.counters[0] - 1
        start, count, following, _ = state.levels[top].tolist()
        if top + 1 >= len(state.levels):
            depth = min(2 * len(state.levels), int(state.lengths[1]))
            self._replace(
                {
                    "levels": enlarged(state.levels, depth),
                    "covers": enlarged(state.covers, depth),
                    "found": np.ascontiguousarray(enlarged(state.found.T, depth).T),
                }
            )
        if start + count + following > len(state.items):
            size = 2 * len(state.items)
            names = ("items", "bounds")
            self._replace({name: enlarged(getattr(state, name), size) for name in names})
        self._make_room(self.n_found + following)


def _sums(
    packed: PackedTable, goal: Objective, conjunctions: list[tuple[int, ...]]
) -> NDArray[np.float64]:
    """S_k of each conjunction, summed pairwise from the weights as given."""
    rows = np.flatnonzero((goal.weights != 0).any(axis=1))
    packed, weights = packed.take(rows), goal.weights[rows]
    sums = np.zeros((len(conjunctions), weights.shape[1]))
    step = max(1, BATCH // max(1, len(rows)))
    for start in range(0, len(conjunctions), step):
        batch = conjunctions[start : start + step]
        covers = packed.truths(packed.covers(batch))
        for k, column in enumerate(weights.T):
            sums[start : start + len(batch), k] = np.where(covers, column, 0.0).sum(axis=1)
    return sums


def _groups(exclusive: Any, p: int) -> NDArray[np.int64]:
    if exclusive is None:
        return np.full(p, -1, dtype=np.int64)
    groups = np.asarray(exclusive)
    if groups.shape != (p,) or groups.dtype.kind not in "iu" or groups.min() < -1:
        raise ParameterError(
            f"exclusive of shape {groups.shape} and dtype {groups.dtype}; expected one integer "
            f"for each of the {p} propositions: its group, 0 or more, or -1 for none."
        )
    return np.ascontiguousarray(groups, dtype=np.int64)


def _lengths(min_length: int, max_length: int | None, groups: NDArray[np.int64]) -> tuple[int, int]:
    """Least and greatest length; the greatest one not above what groups and p allow."""
    check_integer("min_length", min_length, 0)
    if max_length is not None and (not is_integer(max_length) or max_length < min_length):
        raise ParameterError(
            f"max_length={max_length!r}; expected an integer, at least min_length={min_length}, "
            "or None for no limit."
        )
    possible = int(np.count_nonzero(groups < 0)) + len(np.unique(groups[groups >= 0]))
    return int(min_length), possible if max_length is None else min(int(max_length), possible)


def _factors(length_factor: Any, greatest: int, max_length: int | None) -> NDArray[np.float64]:
    if length_factor is None:
        return np.ones(greatest + 1)
    try:
        factor = np.asarray(length_factor, dtype=np.float64)
    except (TypeError, ValueError):
        factor = np.empty((0, 0))
    if factor.ndim != 1 or len(factor) <= greatest:
        raise ParameterError(
            f"length_factor of shape {np.shape(length_factor)}; expected a positive number for "
            f"each length from 0 to {greatest if max_length is None else max_length}."
        )
    factor = factor[: greatest + 1]
    if not (np.isfinite(factor).all() and (factor > 0).all()):
        raise ParameterError(
            f"length_factor holds {factor[~(np.isfinite(factor) & (factor > 0))][0]}; scores are "
            "divided by it, so it is positive and finite."
        )
    return factor


def _reachable(factor: NDArray[np.float64], least: int, greatest: int) -> NDArray[np.float64]:
    """The factors, and their smallest and largest among reported lengths from each one on."""
    table = np.ones((3, max(greatest, 0) + 1))
    table[0, : len(factor)] = factor
    for length in range(greatest + 1):
        ahead = factor[max(length, least) : greatest + 1]
        if len(ahead):
            table[1:, length] = ahead.min(), ahead.max()
    return table
