"""Fewer rules of nearly the same scores: rules that differ in one condition on one column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer, check_number
from formulakern.rules.decision import conditions_of
from formulakern.rules.logic.merging import Group, Member, of_groups, simplified_votes
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules
from formulakern.syntax.comparison import Comparison
from formulakern.syntax.formula import Formula
from formulakern.tables.table import Table

__all__ = ["JoinedRules", "joined_votes"]

V = TypeVar("V", bound=VotingRules)

#: Relations whose values are near or far.
ORDERS = frozenset({"<", "<=", ">", ">="})
#: Scores may differ by so much more than the tolerance, by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class JoinedRules(Generic[V]):
    """What :meth:`formulakern.RuleEnsemble.joined` returns.

    Parameters
    ----------
    rules : RuleEnsemble
    change : float
        max_i max_k |s_k(x_i) − s'_k(x_i)|, the largest change of any score on the rows.
    n_changed : int
        Of how many rows the prediction is another one; 0 where numbers are predicted.
    n_rows : int
    replaced : tuple of (Rule, Rule)
        Every rule that is gone, and the one that stands for it, or whose negation does.
    """

    rules: V
    change: float
    n_changed: int
    n_rows: int
    replaced: tuple[tuple[Rule, Rule], ...]

    def __str__(self) -> str:
        return f"{self.rules}\n{self._claim()}"

    def __repr__(self) -> str:
        return f"<JoinedRules: {self._claim()}>"

    def _repr_html_(self) -> str:
        shown: Any = self.rules
        return f"{shown._repr_html_()}<p>{escape(self._claim())}</p>"

    def _claim(self) -> str:
        return (
            f"{len(self.replaced)} rules joined: scores change by at most {self.change:.3g}, "
            f"{self.n_changed} of {self.n_rows} predictions"
        )


def joined_votes(
    ensemble: V, X: Any, tolerance: float, max_changed: int, domains: Any, missing: bool
) -> JoinedRules[V]:
    """What :meth:`formulakern.RuleEnsemble.joined` documents."""
    check_number("tolerance", tolerance, 0)
    check_integer("max_changed", max_changed, 0)
    table = Table.of(X)
    start = ensemble.scores(table)
    shorter, _ = simplified_votes(ensemble, domains, missing)
    search = _Search(shorter, table, start, float(tolerance), int(max_changed))
    while search.join():
        pass
    rules, _ = of_groups(shorter, search.groups, search.intercept)
    scores = rules.scores(table)
    change = float(np.abs(scores - start).max(initial=0.0))
    changed = int((_predicted(ensemble, scores) != _predicted(ensemble, start)).sum())
    return JoinedRules(rules, change, changed, len(table), tuple(search.replaced))


class _Search:
    """The rules that are left, and by how much their scores differ from those at the start."""

    def __init__(
        self, ensemble: VotingRules, table: Table, start: FloatArray, tolerance: float, most: int
    ) -> None:
        self.start, self.tolerance, self.most = start, tolerance + ROUNDING, most
        self.ensemble, self.predicted = ensemble, _predicted(ensemble, start)
        self.difference = ensemble.scores(table) - start
        self.truths = ensemble.values(table).T != 0
        self.intercept = ensemble.intercept.copy()
        self.groups: list[Group] = []
        for row, term in enumerate(ensemble.rules):
            member = Member(row, term, False)
            self.groups.append(Group(ensemble.votes[row].copy(), member, [member]))
        self.replaced: list[tuple[Rule, Rule]] = []
        self.pairs: list[tuple[int, int, bool, NDArray[np.intp]]] = []
        for one, other in _near(ensemble):
            apart = self.truths[one] ^ self.truths[other]
            negated = 2 * int(apart.sum()) > len(apart)
            rows = np.flatnonzero(apart != negated)
            self.pairs += [(one, other, negated, rows), (other, one, negated, rows)]

    def join(self) -> bool:
        """Join the pair that changes scores least; whether there is one that may be joined."""
        options = []
        for place, (kept, gone, _, rows) in enumerate(self.pairs):
            votes = self.groups[gone].votes
            if not len(rows) or np.abs(votes).max() <= 2 * self.tolerance:
                cost = float((votes**2).sum()) * len(rows)
                options.append((cost, self.groups[kept].best.length, place))
        for *_, place in sorted(options):
            kept, gone, negated, rows = self.pairs[place]
            change = np.where(self.truths[gone][rows], -1.0, 1.0)[:, None] * self.groups[gone].votes
            if self._allowed(rows, change):
                self.difference[rows] += change
                self._replace(kept, gone, negated)
                return True
        return False

    def _allowed(self, rows: NDArray[np.intp], change: FloatArray) -> bool:
        found = self.difference[rows] + change
        if np.abs(found).max(initial=0.0) > self.tolerance:
            return False
        after = self.start + self.difference
        after[rows] += change
        return bool((_predicted(self.ensemble, after) != self.predicted).sum() <= self.most)

    def _replace(self, kept: int, gone: int, negated: bool) -> None:
        """One rule, or its negation, has the votes of another one too."""
        group, other = self.groups[kept], self.groups[gone]
        if negated:
            self.intercept += other.votes
        group.votes += -other.votes if negated else other.votes
        terms = [g.best.term for g in (other, group) if isinstance(g.best.term, Rule)]
        self.replaced.append((terms[0], terms[1]))
        other.votes = np.zeros_like(other.votes)
        self.pairs = [pair for pair in self.pairs if gone not in pair[:2]]


def _near(ensemble: VotingRules) -> Iterator[tuple[int, int]]:
    """Pairs of rules about the same classes that differ in one condition on one column."""
    places = defaultdict(list)
    for row, term in enumerate(ensemble.rules):
        if not isinstance(term, Rule):
            continue
        conditions: frozenset[Formula] = frozenset(conditions_of(term.formula))
        about = tuple(np.flatnonzero(ensemble.votes[row]).tolist())
        for condition in conditions:
            columns = Rule(condition).columns
            if len(columns) == 1:
                places[about, conditions - {condition}, columns].append((row, condition))
    found = set()
    for entries in places.values():
        for (one, left), (other, right) in combinations(entries, 2):
            if _comparable(left, right):
                found.add((one, other))
    return iter(sorted(found))


def _comparable(left: Formula, right: Formula) -> bool:
    """Whether two conditions on one column are near if their values are, or are opposite.

    >>> from formulakern.rules.rule import rule
    >>> pairs = ("n >= 1", "n = 0"), ("x = 3", "x != 3"), ("x = 3", "x = 4"), ("t", "~t")
    >>> [_comparable(*(rule(text).formula for text in pair)) for pair in pairs]
    [True, True, False, True]
    """
    if not (isinstance(left, Comparison) and isinstance(right, Comparison)):
        return True
    return bool({left.relation, right.relation} & ORDERS) or left.value == right.value


def _predicted(ensemble: VotingRules, scores: FloatArray) -> NDArray[np.intp]:
    """The class of every row, by number; 0 where numbers are predicted."""
    if ensemble.levels is not None:
        return np.asarray(np.searchsorted(ensemble.thresholds, scores[:, 0]))
    return np.asarray(scores.argmax(axis=1))
