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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_integer, is_integer
from formulakern.encoding.bits import all_ones, n_words
from formulakern.errors import ParameterError
from formulakern.mining.conjunctions.enumeration import Lattice, Listed, enumerated
from formulakern.mining.options import SearchOptions, Task, read_task
from formulakern.mining.search import CompiledSearch, MiningResult
from formulakern.slices import enlarged

__all__ = ["MinedConjunctions", "mine_conjunctions", "read_groups", "read_lattice"]


@dataclass(frozen=True, eq=False)
class MinedConjunctions(MiningResult):
    """Conjunctions, best first, and what is known about all the others.

    Parameters
    ----------
    scores, sums, proven, complete, bound, n_evaluated, seconds :
        As in :class:`~formulakern.mining.search.MiningResult`.
    conjunctions : list of tuple of int
        Sorted positions of propositions; sorted by score (largest first), then length, then
        positions.
    """

    conjunctions: list[tuple[int, ...]]


def mine_conjunctions(
    propositions: object,
    weights: object,
    *,
    min_length: int = 1,
    max_length: int | None = 3,
    length_factor: Sequence[float] | NDArray[Any] | None = None,
    complement: bool = False,
    exclusive: Sequence[int] | NDArray[Any] | None = None,
    **options: Unpack[SearchOptions],
) -> MinedConjunctions:
    """The conjunctions w of different propositions with the largest scores.

    With S_k(w) = Σ_i c_ik over the examples that w covers, the score is max_k |S_k| ("absolute"),
    or max_k S_k − min_k S_k ("spread"), divided by ``length_factor[|w|]``.

    Parameters
    ----------
    propositions : PackedTable, or a table of 0 and 1 of shape (m, p)
    weights : array-like of shape (m,) or (m, K)
        c, finite; one column per vector.
    min_length, max_length : int
        Numbers of propositions; ``min_length=0`` admits the empty conjunction, which is true
        everywhere, ``max_length=None`` any length.
    length_factor : sequence of float, optional
        Positive divisors of the scores of lengths 0, 1, …, up to the greatest length that can
        occur; in any order, growing or not.
    complement : bool
        Use T_k − S_k, T_k the sum over all examples, in place of S_k: the sum over the examples
        that w does *not* cover, that is, of the disjunction of the negated propositions.
    exclusive : sequence of int of length p, optional
        Groups of which a conjunction has at most one proposition (the values of one column, or a
        literal and its negation); −1 for propositions that are in no group.
    top, objective, direction, threshold, max_results, time_limit, progress :
        As in :func:`formulakern.mining.options.read_task`.

    Returns
    -------
    MinedConjunctions
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
    task = read_task(propositions, weights, **options)
    goal = task.goal
    p = task.table.n_columns
    lattice = read_lattice(p, min_length, max_length, length_factor, complement, exclusive)
    listed, finished = enumerated(task, lattice), True
    if listed is None:
        search = _ConjunctionSearch(task, lattice)
        finished = task.run(search)
        listed = search.listed()
    elif task.progress is not None:
        task.progress(1.0)
    found, factor, smallest = listed.conjunctions, lattice.factors[0], lattice.smallest
    sums = task.sums(found, lambda table, some: table.truths(table.covers(some)))
    values = goal.weights.sum(axis=0) - sums if complement else sums
    scores = goal.scores(values) / factor[[len(w) for w in found]]
    order = task.ranked(found, scores)
    return MinedConjunctions(
        conjunctions=[found[r] for r in order],
        scores=scores[order],
        sums=sums[order],
        proven=finished,
        complete=finished and len(found) < task.limit,
        bound=goal.from_units(listed.bound) + goal.rounding * (1 + complement) / smallest,
        n_evaluated=listed.n_evaluated,
        seconds=task.seconds(),
    )


class _ConjunctionSearch(CompiledSearch):
    """The arrays of the compiled loop ``search_conjunctions``, and how they grow."""

    def __init__(self, task: Task, lattice: Lattice) -> None:
        from formulakern.mining.conjunctions import loop  # loads numba

        self.loop = loop.search_conjunctions
        p, m, goal = *task.table.shape[::-1], task.goal
        least, greatest, complement = lattice.least, lattice.greatest, lattice.complement
        depth = max(1, min(greatest, 8))
        super().__init__(task, p + 1, depth)
        items = np.zeros(4 * p, dtype=np.int64)
        items[:p] = np.arange(p)
        covers = np.zeros((depth, n_words(m)), dtype=np.uint64)
        covers[0] = all_ones(m)
        levels = np.zeros((depth, 4), dtype=np.int64)
        levels[0, 1] = p if greatest >= max(least, 1) else 0
        self.state = loop.ConjunctionState(
            **self.common,
            groups=lattice.groups,
            totals=self.totals,
            flags=np.array([complement, goal.upwards, goal.downwards]),
            lengths=np.array([least, greatest, task.limit]),
            factors=lattice.factors,
            levels=levels,
            items=items,
            bounds=np.zeros(4 * p),
            covers=covers,
            found_lengths=np.zeros(min(task.limit, p + 1), dtype=np.int64),
        )
        if least == 0:  # the empty conjunction
            values = np.zeros_like(self.totals) if complement else self.totals
            score = float(goal.unit_scores(values[None])[0])
            self.offer_first(score / float(lattice.factors[0, 0]))

    def _open_levels(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        state = self.state
        for start, count, following, _ in state.levels[: state.counters[0]].tolist():
            yield count, following, state.bounds[start:]

    def listed(self) -> Listed:
        """The results, in no order, and what bounds the others."""
        rows = self.state.found[: self.n_found].tolist()
        lengths = self.state.found_lengths[: self.n_found].tolist()
        found = [tuple(sorted(row[:n])) for row, n in zip(rows, lengths, strict=True)]
        return Listed(found, self.bound(), self.n_evaluated)

    def _grow(self) -> None:
        state = self.state
        top = state.counters[0] - 1
        start, count, following, _ = state.levels[top].tolist()
        if top + 1 >= len(state.levels):
            depth = min(2 * len(state.levels), int(state.lengths[1]))
            self.state = self.state._replace(
                levels=enlarged(state.levels, depth),
                covers=enlarged(state.covers, depth),
                found=np.ascontiguousarray(enlarged(state.found.T, depth).T),
            )
        if start + count + following > len(state.items):
            self._enlarge(("items", "bounds"), 2 * len(state.items))
        self._make_room(self.n_found + following)


def read_lattice(
    p: int,
    min_length: int,
    max_length: int | None,
    length_factor: Sequence[float] | NDArray[Any] | None,
    complement: bool,
    exclusive: Sequence[int] | NDArray[Any] | None,
) -> Lattice:
    """Which conjunctions of p propositions are meant; parameters of :func:`mine_conjunctions`.

    Raises
    ------
    ParameterError
        If an option is out of its range.
    """
    groups = read_groups(exclusive, p)
    least, greatest = _lengths(min_length, max_length, groups)
    factor = _factors(length_factor, greatest, max_length)
    return Lattice(least, greatest, _reachable(factor, least, greatest), groups, complement)


def read_groups(exclusive: Any, p: int) -> NDArray[np.int64]:
    """The group of each of p propositions, −1 for none, checked; all −1 where none are given.

    Raises
    ------
    ParameterError
        If there is not one integer of at least −1 for each proposition.
    """
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
