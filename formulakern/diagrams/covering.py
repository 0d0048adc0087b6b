"""The cheapest choice of columns that covers every row: exact, by integer programming."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["MAX_SEARCH", "Choice", "cheapest_columns"]

#: The search for the cheapest choice ends after so many nodes of branch and bound, times entries
#: of rows and columns.
MAX_SEARCH = 2_000_000
#: More entries than this are not searched.
MAX_ENTRIES = 1_500_000


@dataclass(frozen=True)
class Choice:
    """Columns that cover all rows.

    Parameters
    ----------
    columns : tuple of int
    exact : bool
        Whether it is proved that no choice has fewer columns, and none as many at a smaller cost.
    least : int
        No choice has fewer columns than this.
    """

    columns: tuple[int, ...]
    exact: bool
    least: int


def cheapest_columns(rows: Iterable[int], costs: Sequence[int]) -> Choice:
    """The fewest columns that cover every row; among those choices one of the least cost.

    Parameters
    ----------
    rows : iterable of int
        The columns that cover a row, as bits; none is 0.
    costs : sequence of int
        Of each column, 0 or more.

    Notes
    -----
    Columns that alone cover a row are taken; the rest is an integer program, which HiGHS solves by
    branch and bound.  If the search ends before a proof, the better of what it found and of
    a greedy choice is given.

    Examples
    --------
    >>> cheapest_columns([0b011, 0b110, 0b101], [2, 1, 1])
    Choice(columns=(1, 2), exact=True, least=2)
    """
    taken = 0
    needed = set(rows)
    for row in needed:
        if row & (row - 1) == 0:
            taken |= row
    left = sorted(row for row in needed if not row & taken)
    chosen = [column for column in range(len(costs)) if taken >> column & 1]
    if not left:
        return Choice(tuple(chosen), True, len(chosen))
    rest = _searched(left, costs)
    columns = tuple(sorted([*chosen, *rest.columns]))
    return Choice(columns, rest.exact, len(chosen) + rest.least)


def _searched(rows: list[int], costs: Sequence[int]) -> Choice:
    used = 0
    for row in rows:
        used |= row
    columns = [column for column in range(len(costs)) if used >> column & 1]
    greedy = _greedy(rows, columns, costs)
    least = _disjoint(rows)
    if len(rows) * len(columns) > MAX_ENTRIES:
        return Choice(tuple(greedy), False, least)
    from scipy.optimize import Bounds, LinearConstraint, milp

    # one column more is worse than any cost of a choice that is as good as the greedy one
    step = 1 + len(greedy) * max(costs[column] for column in columns)
    matrix = np.array([[row >> column & 1 for column in columns] for row in rows], dtype=float)
    solved = milp(
        np.array([step + costs[column] for column in columns], dtype=float),
        integrality=np.ones(len(columns), dtype=np.int8),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=1),
        options={"node_limit": MAX_SEARCH // matrix.size, "mip_rel_gap": 0},
    )
    best = greedy
    if solved.x is not None:
        found = [column for column, x in zip(columns, solved.x, strict=True) if x > 0.5]
        if all(any(row >> column & 1 for column in found) for row in rows):
            best = min(greedy, found, key=lambda choice: _cost(choice, costs))
    if solved.status == 0:
        return Choice(tuple(best), True, len(best))
    if solved.mip_dual_bound is not None and math.isfinite(solved.mip_dual_bound):
        least = max(least, math.ceil((solved.mip_dual_bound - step + 1) / step - 1e-6))
    return Choice(tuple(best), False, least)


def _cost(choice: Sequence[int], costs: Sequence[int]) -> tuple[int, int]:
    return len(choice), sum(costs[column] for column in choice)


def _greedy(rows: list[int], columns: list[int], costs: Sequence[int]) -> list[int]:
    """The column that covers most rows, again and again; then without those that are not needed."""
    covers = {c: {k for k, row in enumerate(rows) if row >> c & 1} for c in columns}
    left = set(range(len(rows)))
    chosen: list[int] = []
    while left:
        best = max(columns, key=lambda c: (len(covers[c] & left), -costs[c], -c))
        chosen.append(best)
        left -= covers[best]
    for column in list(chosen):
        others = [c for c in chosen if c != column]
        if set(range(len(rows))) <= set().union(*(covers[c] for c in others)):
            chosen = others
    return chosen


def _disjoint(rows: list[int]) -> int:
    """How many rows of which no two have a column in common were found: each needs one."""
    seen = found = 0
    for row in sorted(rows, key=int.bit_count):
        if not row & seen:
            seen |= row
            found += 1
    return found
