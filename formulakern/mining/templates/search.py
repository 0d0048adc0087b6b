"""The instances of a formula template of largest weighted sum, found by branch and bound.

The variables of the template are replaced by propositions.  While some are still open, every
example is surely covered, surely not covered, or unknown (three-valued evaluation, in which an
open variable is true where all of its propositions are, and false where none is).  With T the
examples surely covered and U the unknown ones, all instances that can still come have

    Σ_T c − Σ_U c⁻  ≤  S  ≤  Σ_T c + Σ_U c⁺,

and what cannot pass the results already found is left out.  See :mod:`.instance_loop` for how all
propositions for a variable are bounded at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.mining.options import SearchOptions, Task, read_task
from formulakern.mining.search import CompiledSearch, MiningResult
from formulakern.mining.templates.expansion import (
    Expansion,
    bit_program,
    depends,
    expand,
    truth_table,
)
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.traversal import evaluate

__all__ = ["MinedInstances", "function_of", "mine_templates"]


@dataclass(frozen=True, eq=False)
class MinedInstances(MiningResult):
    """Instances of a template, best first, and what is known about all the others.

    Parameters
    ----------
    scores, sums, proven, complete, bound, n_evaluated, seconds :
        As in :class:`~formulakern.mining.search.MiningResult`.
    assignments : list of tuple of int
        For each instance the proposition in every slot of the expansion; sorted by score (largest
        first), then by the number of different propositions, then as tuples.
    expansion : Expansion
        The template with its choices written out.
    """

    assignments: list[tuple[int, ...]]
    expansion: Expansion


def mine_templates(
    formula: Formula,
    propositions: object,
    weights: object,
    *,
    distinct: bool = False,
    columns: Mapping[Any, Sequence[int]] | None = None,
    **options: Unpack[SearchOptions],
) -> MinedInstances:
    """The instances of a template with the largest scores.

    An instance φ replaces every variable by a proposition, equal names by the same one.  With
    S_k(φ) = Σ_i c_ik over the examples on which φ is true, the score is max_k |S_k| ("absolute")
    or max_k S_k − min_k S_k ("spread").

    Parameters
    ----------
    formula : Formula
        Variables, constants, connectives, and choices, in which d copies of the inner formula
        stand for d different features of its space.
    propositions : PackedTable, or a table of 0 and 1 of shape (m, p)
    weights : array-like of shape (m,) or (m, K)
    distinct : bool
        Different variables of one formula are different propositions.
    columns : mapping, optional
        Variable (or its name) → positions of the propositions that it ranges over; all by
        default.
    top, objective, direction, threshold, max_results, time_limit, progress :
        As in :func:`formulakern.mining.options.read_task`.

    Returns
    -------
    MinedInstances
        Instances that are the same Boolean function of the propositions are returned once, under
        the first of their assignments that was met; instances that are different functions and
        have equal covers are all candidates.  Those that tie with the last one may be left out.

    Raises
    ------
    DataError
        If there are no examples or propositions, or weights do not fit or are not finite.
    FormulaError, FormulaSizeError
        If the template holds comparisons, or more than ``expansion.MAX_SLOTS`` variables with
        the copies in choices counted; or ``distinct`` and something stands beside a choice.
    ParameterError
        If an option is out of its range.

    Notes
    -----
    For a conjunction of plain variables
    :func:`~formulakern.mining.conjunctions.search.mine_conjunctions` has sharper bounds.

    Examples
    --------
    >>> from formulakern.syntax.parser import parse
    >>> X = [[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 1, 1]]
    >>> result = mine_templates(parse("a & ~b"), X, [2.0, 1.0, -1.0, -1.5], top=1)
    >>> result.assignments, result.scores
    ([(0, 2)], array([2.]))
    >>> result.expansion.formula
    Formula('s0 & ~s1')
    """
    task = read_task(propositions, weights, **options)
    if not isinstance(formula, Formula):
        raise ParameterError(
            f"the template is a Formula; got {type(formula).__name__}. "
            "Parse text first: fk.parse('a & ~b')."
        )
    ranges = _read_ranges(formula, columns, task.table.n_columns)
    expansion = expand(formula, bool(distinct), ranges.get)
    capacity = task.limit
    while True:
        search = _InstanceSearch(replace(task, limit=capacity), expansion, ranges)
        finished = task.run(search)
        assignments = _different(expansion, search.assignments())
        if len(assignments) >= task.limit or search.n_found < capacity or not finished:
            break
        capacity *= 4  # the results hold too many instances of equal functions

    def covers(table: PackedTable, some: Sequence[tuple[int, ...]]) -> NDArray[np.bool_]:
        positions = np.array(some, dtype=np.intp).T
        value_of: dict[Formula, NDArray[np.bool_]] = {
            leaf: table.truths(table.columns[chosen])
            for leaf, chosen in zip(expansion.leaves, positions, strict=True)
        }
        truths = evaluate(expansion.formula, value_of.__getitem__)
        return np.broadcast_to(truths, (len(some), table.n_rows))

    sums = task.sums(assignments, covers)
    scores = task.goal.scores(sums)
    order = task.ranked(assignments, scores)
    bound = task.goal.from_units(search.bound()) + task.goal.rounding
    if len(order) > task.limit:
        bound = max(bound, float(scores[order[task.limit]]))
    order = order[: task.limit]
    return MinedInstances(
        assignments=[assignments[r] for r in order],
        scores=scores[order],
        sums=sums[order],
        proven=finished,
        complete=finished and search.n_found < capacity and len(order) < task.limit,
        bound=bound,
        n_evaluated=search.n_evaluated,
        seconds=task.seconds(),
        expansion=expansion,
    )


def _read_ranges(
    formula: Formula, columns: Mapping[Any, Sequence[int]] | None, p: int
) -> dict[Variable, tuple[int, ...]]:
    """Which propositions the variables range over that are not over all."""
    ranges: dict[Variable, tuple[int, ...]] = {}
    variables = formula.variables
    for key, positions in (columns or {}).items():
        named = [v for v in variables if key in (v, v.name)]
        if not named:
            known = ", ".join(repr(v.name) for v in variables) or "no variable"
            raise ParameterError(
                f"columns names {str(key)!r}, which is not in the template; it has {known}."
            )
        chosen = np.unique(np.asarray(positions))
        right = chosen.ndim == 1 and chosen.size > 0 and chosen.dtype.kind in "iu"
        if not right or chosen[0] < 0 or chosen[-1] >= p:
            raise ParameterError(
                f"columns[{str(key)!r}] is {positions!r}; expected positions of propositions, "
                f"integers from 0 to {p - 1}, at least one."
            )
        ranges.update(dict.fromkeys(named, tuple(chosen.tolist())))
    return ranges


class _InstanceSearch(CompiledSearch):
    """The arrays of :func:`formulakern.mining.templates.loop.search_instances`."""

    def __init__(
        self, task: Task, expansion: Expansion, ranges: Mapping[Variable, Sequence[int]]
    ) -> None:
        from formulakern.mining.templates import loop  # loads numba

        self.loop = loop.search_instances
        (m, p), n, goal = task.table.shape, len(expansion.slots), task.goal
        super().__init__(task, p, n)
        program = bit_program(expansion.formula, expansion.leaves)
        allowed = np.zeros((n, p), dtype=np.bool_)
        unknown = np.zeros((2 * n, n_words(m)), dtype=np.uint64)
        for i, slot in enumerate(expansion.slots):
            allowed[i, list(ranges.get(slot.variable, range(p)))] = True
            words = task.table.columns[allowed[i]]
            unknown[2 * i] = np.bitwise_and.reduce(words, axis=0)
            unknown[2 * i + 1] = ~np.bitwise_or.reduce(words, axis=0)
        n_registers = n + 1 + len(program.steps)
        planes = np.zeros((2 * n_registers, unknown.shape[1]), dtype=np.uint64)
        planes[: 2 * n] = unknown
        planes[2 * n] = ~np.uint64(0)
        different = np.zeros((n, n), dtype=np.bool_)
        for group in expansion.all_different:
            different[np.ix_(group, group)] = True
        longest = max((len(order.left) for order in expansion.orders), default=1)
        orders = np.full((len(expansion.orders), longest, 2), -1, dtype=np.int64)
        for i, order in enumerate(expansion.orders):
            orders[i, : len(order.left)] = np.array([order.left, order.right]).T
        self.state = loop.InstanceState(
            **self.common,
            flags=np.array([goal.upwards, goal.downwards]),
            steps=program.steps,
            output=program.output,
            planes=planes,
            unknown=unknown,
            allowed=allowed,
            different=different,
            orders=orders,
            strict=np.array([order.strict for order in expansion.orders], dtype=np.bool_),
            limit=task.limit,
            assigned=np.zeros(n, dtype=np.int64),
            levels=np.zeros((n, 2), dtype=np.int64),
            items=np.zeros((n, p), dtype=np.int64),
            bounds=np.zeros((n, p)),
        )
        empty = expansion.empty
        if n == 0 and not empty:  # a template without variables has one instance
            value = bool(evaluate(expansion.formula, lambda _: False))
            self.offer_first(float(goal.unit_scores(self.totals[None] * value)[0]))
            self.state.counters[2] = 1
            empty = True
        self.nothing = empty

    def _grow(self) -> None:
        self._make_room(self.n_found + len(self.state.words))

    def _open_levels(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        state = self.state
        for level, (count, following) in enumerate(state.levels[: state.counters[0]].tolist()):
            yield count, following, state.bounds[level]

    def assignments(self) -> list[tuple[int, ...]]:
        """The results, best first."""
        rows = self.state.found[: self.n_found].tolist()
        order = sorted(range(self.n_found), key=lambda r: (-self.state.scores[r], rows[r]))
        return [tuple(rows[r]) for r in order]


def _different(
    expansion: Expansion, assignments: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """The first of the assignments that give the same Boolean function, for each function.

    A function's name is the propositions that it depends on, sorted, and its truth table.
    """
    first: dict[object, tuple[int, ...]] = {}
    tables: dict[tuple[int, ...], tuple[tuple[int, ...], bytes]] = {}
    for assignment in assignments:
        used = sorted(set(assignment))
        pattern = tuple(used.index(j) for j in assignment)
        if pattern not in tables:
            tables[pattern] = function_of(expansion, pattern, len(used))
        needed, table = tables[pattern]
        first.setdefault((tuple(used[i] for i in needed), table), assignment)
    return list(first.values())


def function_of(
    expansion: Expansion, pattern: Sequence[int], n: int
) -> tuple[tuple[int, ...], bytes]:
    """Which of n arguments a template with these arguments depends on, and its truth table.

    Parameters
    ----------
    expansion : Expansion
    pattern : sequence of int
        For every slot which of the arguments 0 … n − 1 it holds.
    n : int

    Returns
    -------
    needed : tuple of int
        The arguments that the Boolean function depends on.
    table : bytes
        Its values for all truth values of these.
    """
    table = truth_table(expansion.formula, dict(zip(expansion.leaves, pattern, strict=True)))
    needed = tuple(i for i in range(n) if depends(table, i))
    index = tuple(slice(None) if i in needed else 0 for i in range(n))
    return needed, np.ascontiguousarray(table[index]).tobytes()
