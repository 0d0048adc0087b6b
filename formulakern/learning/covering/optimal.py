r"""Rule lists that are certified to be optimal, by branch and bound.

A list of R rules over conjunctions of at most d propositions costs

    (weight of the rows that it misclassifies) / (total weight) + λ·R.

The search adds rules to prefixes, depth first.  What a prefix has decided stays decided, so its
errors and penalties bound every list that begins with it from below, and so do

* rows that no antecedent tells apart and that are of different classes: all but one class is wrong;
* the largest weight that further rules can correct, see :mod:`.branch_and_bound.bounds`;
* a rule that captures no more than λ correctly, which is worth leaving out;
* another prefix that leaves the same rows: a table of states holds, for what is left, a lower
  bound on what the rest of the list costs.

Every prefix that is evaluated weighs all rules that may follow, which is the best list with one
rule more; for the last rule nothing is opened.  The bounds are those of E. Angelino, N.
Larus-Stone, D. Alabi, M. Seltzer and C. Rudin, *Learning certifiably optimal rule lists for
categorical data*, JMLR 18(234), 2018, https://jmlr.org/papers/v18/17-716.html, for weighted rows
and several classes; the second is ours.

The search is run with thresholds that rise from the lower bound to the best list's objective, each
of which proves that there is no list below it, or finds one.  So there is a bound at every moment,
and the memory is that of a search that goes depth first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer, check_number
from formulakern.deadline import Deadline, TimeIsOver, TimeLimit, check_time_limit
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError
from formulakern.interrupts import interruptible
from formulakern.learning.covering.branch_and_bound.antecedents import (
    Antecedents,
    Grid,
    mine_antecedents,
)
from formulakern.learning.covering.branch_and_bound.search import ListSearch
from formulakern.mining.conjunctions.search import read_groups
from formulakern.mining.objective import read_weights
from formulakern.slices import run_slices

__all__ = ["MAX_BYTES", "ListProgress", "OptimalList", "optimal_rule_list"]

#: The share of the time that is left for the antecedents; what is missed then has fewer conditions.
MINING = 0.4
#: Memory of the search, unless the caller says otherwise.
MAX_BYTES = 2**29
#: The last threshold is the objective itself, once the gap is this share of it.
LAST_GAP = 0.02
#: Another threshold is this part of the gap above the bound: a search takes several times as long
#: as one with the threshold before, so that all of these cost little beside the last one.
STEPS = 3


@dataclass(frozen=True)
class ListProgress:
    """What is known at one moment.

    Parameters
    ----------
    seconds : float
        Since the start.
    objective : float
        Of the best list so far.
    bound : float
        No list has a smaller objective.
    """

    seconds: float
    objective: float
    bound: float


@dataclass(frozen=True, eq=False)
class OptimalList:
    """A rule list, and how much better any other can be.

    Parameters
    ----------
    conjunctions : list of R tuples of int
        Positions of propositions.
    labels : list of R ints
        The class that each rule predicts, as a column of the weights.
    default : int
        The class of rows that no rule covers.
    counts : float64 (R + 1, K)
        Weight by class of the rows that each rule decides, and last the default.
    objective : float
        ``error + penalty * R``.
    error : float
        Share of the weight that is misclassified.
    bound : float
        No list has a smaller objective.
    gap : float
        ``objective - bound``.
    rounding : float
        How far rounding the weights and the penalties may have moved the bound, which allows for
        it already.  0 for weights such as whole numbers.
    n_antecedents, n_evaluated : int
        Conjunctions that lists are made of, and prefixes that were evaluated.
    seconds : float
    stopped : {"optimal", "time", "interrupted"}
        "optimal": the gap is at most ``tol``, apart from rounding.
    history : tuple of ListProgress
        Whenever the objective or the bound changed.
    """

    conjunctions: list[tuple[int, ...]]
    labels: list[int]
    default: int
    counts: FloatArray
    objective: float
    error: float
    bound: float
    gap: float
    rounding: float
    n_antecedents: int
    n_evaluated: int
    seconds: float
    stopped: str
    history: tuple[ListProgress, ...]


def optimal_rule_list(
    table: PackedTable,
    weights: object,
    *,
    max_rules: int = 5,
    max_conditions: int = 2,
    penalty: float = 0.01,
    exclusive: object = None,
    min_support: float = 0.0,
    tol: float = 0.0,
    time_limit: TimeLimit = None,
    max_bytes: int = MAX_BYTES,
    report: Callable[[ListProgress], None] | None = None,
) -> OptimalList:
    r"""The rule list that minimises error + penalty × number of rules, with a certificate.

    The rows that rule r decides are those that it covers and no earlier rule does.  Each rule, and
    the default for the rows that none covers, predicts the class of the largest weight among the
    rows that it decides.

    Parameters
    ----------
    table : PackedTable of m rows and p propositions
        Best without equal rows (:meth:`~formulakern.encoding.packed.PackedTable.distinct`).
    weights : float64 (m, K), not negative
        The weight of row i in class k: that of all training rows of class k equal to row i.
    max_rules : int
        The largest number of rules, 0 or more, the default not counted.
    max_conditions : int
        The largest number of propositions of a rule.
    penalty : float
        λ ≥ 0, the share of the weight that a rule must pay for.
    exclusive : sequence of int of length p, optional
        Groups of which a rule has at most one proposition (the values of one column); −1 for
        propositions that are in no group.
    min_support : float
        The least share of the weight that a rule's conjunction covers.
    tol : float
        Stop when the gap is at most this.
    time_limit : float, optional
        Seconds; then the best list so far is returned, with the bound so far.
    max_bytes : int
        Memory of the search: a third for the antecedents, the rest for the table of states.
    report : callable, optional
        Called with a :class:`ListProgress` whenever the objective or the bound has changed.

    Returns
    -------
    OptimalList
        Of lists that are equally good, which one is not specified, but it is always the same.

    Raises
    ------
    DataError
        If there are no rows or propositions, or weights do not fit, are negative or all 0.
    ParameterError
        If an option is out of its range, or the antecedents do not fit into memory.

    Notes
    -----
    Weights are rounded to 2⁻⁵⁰ of their total; where there are many different ones, to 2⁻²⁰ of the
    largest.  ``rounding`` says how much that is, and all sums are exact after it.  So the bound is
    valid to the accuracy of float64.

    A prefix costs some A·m/64 steps for A antecedents.  How many prefixes are looked at grows with
    the number of rules that are worth their penalty, and with the error of the best list.

    Where there is no time for all antecedents, those of fewer conditions are searched, and the
    bound is 0.  An interrupt (Ctrl-C) ends the search as the time limit does, with a warning.

    Examples
    --------
    >>> table = PackedTable.of_columns(np.array([[0b0011], [0b0101]], dtype=np.uint64), 4)
    >>> found = optimal_rule_list(table, [[9, 0], [0, 5], [0, 7], [8, 0]])
    >>> found.conjunctions, found.labels, found.default, found.stopped
    ([(0, 1), (1,), (0,)], [0, 1, 1], 0, 'optimal')
    >>> found.error, round(found.objective, 6), round(found.gap, 6)
    (0.0, 0.03, 0.0)
    """
    check_integer("max_rules", max_rules, 0)
    check_integer("max_conditions", max_conditions)
    check_integer("max_bytes", max_bytes)
    check_number("penalty", penalty, 0.0)
    check_number("min_support", min_support, 0.0, 1.0)
    check_number("tol", tol, 0.0)
    check_time_limit(time_limit)
    deadline = Deadline.of(time_limit)
    if table.n_rows == 0 or table.n_columns == 0:
        raise DataError(
            f"{table.n_rows} rows of {table.n_columns} propositions; a rule list needs at least "
            "one of each."
        )
    read = read_weights(weights, table.n_rows)
    total = float(read.sum())
    if read.min() < 0 or total <= 0:
        raise DataError(
            f"weights between {read.min():g} and {read.max():g}; expected none below 0 and one "
            "above it. Give the weight of each row in each class."
        )
    grid = Grid.of(read)
    longest = max_conditions if max_rules else 1
    mine = partial(
        mine_antecedents,
        table,
        grid,
        groups=read_groups(exclusive, table.n_columns),
        least_correct=grid.floor(penalty * total),
        least_support=-grid.floor(-min_support * total * (1 - 1e-12)),
        max_bytes=max_bytes // 3,
    )
    found, whole = _in_time(mine, longest, deadline)
    driver = _Driver(grid, total, found, penalty, tol, deadline, report)
    stopped = driver.run(max_rules, max_bytes - max_bytes // 3)
    chosen = [found.conjunctions[a] for a in driver.search.best]
    counts = _counts(table, read, chosen)
    # errors of the rounded weights and the given ones may rank lists otherwise; both are exact here
    error = float((counts.sum(axis=1) - counts.max(axis=1)).sum()) / total
    objective = error + penalty * len(chosen)
    moved = grid.moved / total
    bound = max(0.0, min(objective, driver.share(driver.bound)) - moved) if whole else 0.0
    # penalties are rounded down, which lowers the bound only
    rounding = moved + len(chosen) * max(0.0, penalty - driver.share(driver.penalty))
    labels = counts.argmax(axis=1).tolist()
    return OptimalList(
        conjunctions=chosen,
        labels=labels[:-1],
        default=labels[-1],
        counts=counts,
        objective=objective,
        error=error,
        bound=bound,
        gap=objective - bound,
        rounding=rounding,
        n_antecedents=len(found.conjunctions),
        n_evaluated=driver.search.n_evaluated,
        seconds=deadline.taken(),
        stopped=stopped if whole else "time",
        history=tuple(driver.history),
    )


def _in_time(
    mine: Callable[..., Antecedents], longest: int, deadline: Deadline
) -> tuple[Antecedents, bool]:
    """Antecedents of as many conditions as there is time for, and whether these are all."""
    if not deadline.limited:
        return mine(max_conditions=longest), True
    until, conditions = deadline.part(MINING), 1
    found = mine(max_conditions=1)
    with suppress(TimeIsOver):
        while conditions < longest:  # one more takes several times as long
            found = mine(max_conditions=conditions + 1, deadline=until)
            conditions += 1
    return found, conditions == longest


class _Driver:
    """Raises the threshold until it meets the best list's objective."""

    def __init__(
        self,
        grid: Grid,
        total: float,
        found: Antecedents,
        penalty: float,
        tol: float,
        deadline: Deadline,
        report: Callable[[ListProgress], None] | None,
    ) -> None:
        self.grid, self.total, self.found = grid, total, found
        self.penalty, self.tol = grid.floor(penalty * total), grid.floor(tol * total)
        self.deadline, self.report = deadline, report
        self.history: list[ListProgress] = []
        self.bound = found.base
        self.search: ListSearch

    def share(self, units: int) -> float:
        """An objective, of one in units."""
        return self.grid.value(units) / self.total

    def run(self, max_rules: int, max_bytes: int) -> str:
        """Search; why it stopped."""
        self.search = search = ListSearch(self.found, max_rules, self.penalty, self.tol, max_bytes)
        try:
            with interruptible():
                search.start(self.deadline.over)
                self._note()
                while search.objective - self.bound > self.tol:
                    if self.deadline.over():
                        return "time"
                    self.threshold = self._next_threshold()
                    search.restart(self.threshold)
                    if not run_slices(search, self.deadline, self._look).finished:
                        return "time"
                    self._raise_bound(search.threshold)
        except KeyboardInterrupt:
            warnings.warn("interrupted: the best rule list so far is kept.", stacklevel=4)
            return "interrupted"
        self._raise_bound(search.objective - self.tol)
        return "optimal"

    def _next_threshold(self) -> int:
        gap = self.search.objective - self.bound
        if gap <= max(LAST_GAP * self.search.objective, self.penalty, self.tol):
            return self.search.objective - self.tol
        return self.bound + -(-gap // STEPS)

    def _look(self, _: float) -> None:
        self._raise_bound(self.search.lower())

    def _raise_bound(self, bound: int) -> None:
        """Note a bound that holds now."""
        self.bound = max(self.bound, min(bound, self.search.objective))
        self._note()

    def _note(self) -> None:
        last = (self.history[-1].objective, self.history[-1].bound) if self.history else None
        now = self.share(self.search.objective), self.share(self.bound)
        if now != last:
            self.history.append(ListProgress(self.deadline.taken(), *now))
            if self.report is not None:
                self.report(self.history[-1])


def _counts(
    table: PackedTable, weights: FloatArray, conjunctions: list[tuple[int, ...]]
) -> FloatArray:
    """The weight by class of the rows that each rule decides, and last the default."""
    left = np.ones(table.n_rows, dtype=np.bool_)
    counts = np.empty((len(conjunctions) + 1, weights.shape[1]))
    for rule, conjunction in enumerate(conjunctions):
        decided = left & table.cover(conjunction)
        counts[rule] = weights[decided].sum(axis=0)
        left &= ~decided
    counts[-1] = weights[left].sum(axis=0)
    return counts
