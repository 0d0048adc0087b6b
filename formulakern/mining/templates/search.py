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

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.mining.objective import Objective, read_objective
from formulakern.mining.options import (
    MAX_RESULTS,
    check_threshold,
    check_time_limit,
    check_top,
    read_propositions,
)
from formulakern.mining.search import CompiledSearch
from formulakern.mining.templates.expansion import Expansion, Slot, bit_program, expand
from formulakern.slices import DONE, run_slices
from formulakern.syntax.formula import Formula, Variable, evaluate
from formulakern.syntax.substitution import substitute

__all__ = ["TemplateResult", "mine_templates"]


@dataclass(frozen=True, eq=False)
class TemplateResult:
    """Instances of a template, best first, and what is known about all the others.

    Parameters
    ----------
    slots : tuple of Slot
        The places that were filled: variables, in each copy of the choices around them.
    assignments : list of tuple of int
        For each instance the proposition in every slot; sorted by score (largest first), then by
        the number of different propositions, then as tuples.
    scores, sums, proven, complete, bound, n_evaluated, seconds :
        As in :class:`~formulakern.mining.conjunctions.search.MiningResult`; ``n_evaluated``
        counts bounds of partial instances too.
    expansion : Expansion
        The template with its choices written out.
    """

    slots: tuple[Slot, ...]
    assignments: list[tuple[int, ...]]
    scores: NDArray[np.float64]
    sums: NDArray[np.float64]
    proven: bool
    complete: bool
    bound: float
    n_evaluated: int
    seconds: float
    expansion: Expansion

    def formula(self, rank: int, leaf: Callable[[int], Formula]) -> Formula:
        """One instance as a formula.

        Parameters
        ----------
        rank : int
            Position in ``assignments``.
        leaf : callable
            Gives the formula that says what a proposition is.
        """
        filled = zip(self.expansion.leaves, self.assignments[rank], strict=True)
        return substitute(self.expansion.formula, {slot: leaf(j) for slot, j in filled})


def mine_templates(
    formula: Formula,
    propositions: object,
    weights: object,
    *,
    distinct: bool = False,
    top: int | None = 10,
    columns: Mapping[Any, Sequence[int]] | None = None,
    objective: str = "absolute",
    direction: str = "both",
    threshold: float = 0.0,
    max_results: int = MAX_RESULTS,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> TemplateResult:
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
    top : int or None
        How many; None for all that score more than ``threshold``.
    columns : mapping, optional
        Variable (or its name) → positions of the propositions that it ranges over; all by
        default.
    objective, direction, threshold, max_results, time_limit, progress :
        As in :func:`formulakern.mining.conjunctions.search.mine_conjunctions`.

    Returns
    -------
    TemplateResult
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
    >>> result.formula(0, lambda j: Variable(f"x{j}"))
    Formula('x0 & ~x2')
    """
    started = time.perf_counter()
    packed = read_propositions(propositions)
    limit = check_top(top, max_results)
    goal = read_objective(weights, packed.n_rows, objective, direction)
    threshold = check_threshold(threshold)
    check_time_limit(time_limit)
    if not isinstance(formula, Formula):
        raise ParameterError(
            f"the template is a Formula; got {type(formula).__name__}. "
            "Parse text first: fk.parse('a & ~b')."
        )
    ranges = _Ranges(formula, columns, packed.n_columns)
    expansion = expand(formula, bool(distinct), ranges.of)
    capacity = limit
    while True:
        search = _InstanceSearch(packed, goal, capacity, expansion, ranges, threshold)
        outcome = run_slices(search, time_limit, progress, started)
        assignments = _different(expansion, search.assignments())
        if len(assignments) >= limit or search.n_found < capacity or not outcome.finished:
            break
        capacity *= 4  # the results hold too many instances of equal functions
    sums = np.array([_sums(goal, packed, expansion, a) for a in assignments]).reshape(
        len(assignments), goal.weights.shape[1]
    )
    scores = goal.scores(sums)
    order = [r for r in range(len(scores)) if scores[r] > threshold]
    order.sort(key=lambda r: (-scores[r], len(set(assignments[r])), assignments[r]))
    bound = goal.from_units(search.bound()) + goal.rounding
    if len(order) > limit:
        bound = max(bound, float(scores[order[limit]]))
    order = order[:limit]
    return TemplateResult(
        slots=expansion.slots,
        assignments=[assignments[r] for r in order],
        scores=scores[order],
        sums=sums[order],
        proven=outcome.finished,
        complete=outcome.finished and search.n_found < capacity and len(order) < limit,
        bound=bound,
        n_evaluated=search.n_evaluated,
        seconds=time.perf_counter() - started,
        expansion=expansion,
    )


class _Ranges:
    """Which propositions each variable of a template ranges over."""

    def __init__(
        self, formula: Formula, columns: Mapping[Any, Sequence[int]] | None, p: int
    ) -> None:
        self.p = p
        self.given: dict[Variable, tuple[int, ...]] = {}
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
            self.given.update(dict.fromkeys(named, tuple(chosen.tolist())))

    def of(self, variable: Variable) -> tuple[int, ...] | None:
        """The positions, or None for all."""
        return self.given.get(variable)

    def mask(self, variable: Variable) -> NDArray[np.bool_]:
        """The positions as a mask of length p."""
        positions = self.of(variable)
        mask = np.full(self.p, positions is None)
        if positions is not None:
            mask[list(positions)] = True
        return mask


class _InstanceSearch(CompiledSearch):
    """The arrays of :func:`formulakern.mining.templates.loop.search_instances`."""

    def __init__(
        self,
        packed: PackedTable,
        goal: Objective,
        limit: int,
        expansion: Expansion,
        ranges: _Ranges,
        threshold: float,
    ) -> None:
        from formulakern.mining.templates.loop import (  # loads numba
            InstanceState,
            search_instances,
        )

        self.loop = search_instances
        p, n = packed.n_columns, len(expansion.slots)
        super().__init__(packed, goal, limit, threshold, p, n)
        program = bit_program(expansion.formula, expansion.leaves)
        masks = [ranges.mask(slot.variable) for slot in expansion.slots]
        unknown = np.zeros((2 * n, n_words(self.n_examples)), dtype=np.uint64)
        for i, mask in enumerate(masks):
            words = self.common["words"][mask]
            unknown[2 * i] = np.bitwise_and.reduce(words, axis=0)
            unknown[2 * i + 1] = ~np.bitwise_or.reduce(words, axis=0)
        planes = np.zeros((2 * program.n_registers, unknown.shape[1]), dtype=np.uint64)
        planes[: 2 * n] = unknown
        planes[2 * n] = ~np.uint64(0)
        different = np.zeros((n, n), dtype=np.bool_)
        for group in expansion.all_different:
            different[np.ix_(group, group)] = True
        longest = max((len(order.left) for order in expansion.orders), default=1)
        orders = np.full((len(expansion.orders), longest, 2), -1, dtype=np.int64)
        for i, order in enumerate(expansion.orders):
            orders[i, : len(order.left)] = np.array([order.left, order.right]).T
        self.state = InstanceState(
            **self.common,
            flags=np.array([goal.upwards, goal.downwards]),
            steps=program.steps,
            output=program.output,
            planes=planes,
            unknown=unknown,
            allowed=np.array(masks, dtype=np.bool_).reshape(n, p),
            different=different,
            orders=orders,
            strict=np.array([order.strict for order in expansion.orders], dtype=np.bool_),
            limit=limit,
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
        if empty:  # there is nothing to search
            self.loop = lambda *_: DONE

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
            tables[pattern] = _function(expansion, pattern, len(used))
        needed, table = tables[pattern]
        first.setdefault((tuple(used[i] for i in needed), table), assignment)
    return list(first.values())


def _function(
    expansion: Expansion, pattern: tuple[int, ...], n: int
) -> tuple[tuple[int, ...], bytes]:
    """Which of n arguments a template with these arguments depends on, and its truth table."""
    axes = [
        np.array([False, True]).reshape([2 if i == j else 1 for j in range(n)]) for i in range(n)
    ]
    value_of: dict[Formula, Any] = {
        leaf: axes[i] for leaf, i in zip(expansion.leaves, pattern, strict=True)
    }
    table = np.broadcast_to(evaluate(expansion.formula, value_of.__getitem__), (2,) * n)
    needed = [
        i for i in range(n) if not np.array_equal(table.take(0, axis=i), table.take(1, axis=i))
    ]
    index = tuple(slice(None) if i in needed else 0 for i in range(n))
    return tuple(needed), np.ascontiguousarray(table[index]).tobytes()


def _sums(
    goal: Objective, packed: PackedTable, expansion: Expansion, assignment: tuple[int, ...]
) -> NDArray[np.float64]:
    """S_k from the weights as given."""
    cover_of: dict[Formula, Any] = {
        leaf: packed.cover((j,)) for leaf, j in zip(expansion.leaves, assignment, strict=True)
    }
    covered = np.broadcast_to(evaluate(expansion.formula, cover_of.__getitem__), packed.n_rows)
    return goal.sums(covered)
