"""Shorter lists, sets and ensembles of rules with equal predictions or nearly equal scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.checks import check_integer, check_number
from formulakern.errors import FormulaSizeError
from formulakern.rules.cases import RowFunctions
from formulakern.rules.decision import ClassRule, DecisionRules, conditions_of
from formulakern.rules.features import Monomial, Term
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules, leading
from formulakern.syntax.formula import FALSE, TRUE, Formula, both
from formulakern.syntax.leaves import ORDERS, Comparison
from formulakern.tables.table import Table

D = TypeVar("D", bound=DecisionRules)
V = TypeVar("V", bound=VotingRules)

#: Relations that count as negations when one of two opposite rules is shown.
NEGATIVE = ("!=", "not in", "is not missing")
#: Rounding error of scores that is allowed in addition to the tolerance.
ROUNDING = 1e-12


class Simplifier(RowFunctions):
    """Proofs about conditions; a statement that is too large to prove counts as not proved."""

    def covered(self, formula: Formula, others: Iterable[Formula]) -> bool:
        """Return True if every row that satisfies the formula satisfies one of the others."""
        try:
            boxes = [box for other in others for box in self.assignments.boxes(other)]
            return self.assignments.covered(self.assignments.boxes(formula), boxes)
        except FormulaSizeError:
            return False

    def shortened(self, formula: Formula, earlier: Sequence[Formula] = ()) -> Formula:
        """Return a conjunction without the conditions that follow from its other conditions.

        The result may differ in rows that satisfy an earlier formula.
        """
        parts = list(conditions_of(formula))
        for k in range(len(parts) - 1, -1, -1):
            others = parts[:k] + parts[k + 1 :]
            if self.covered(both(others), [parts[k], *earlier]):
                parts = others
        return both(parts)


def _formulas(decision: DecisionRules) -> list[Formula]:
    return [item.rule.formula for item in decision]


def simplified_list(decision: D, domains: Any, missing: bool) -> D:
    """Implement :meth:`formulakern.RuleList.simplified`."""
    logic, current = Simplifier(_formulas(decision), domains, missing), decision
    while True:
        shorter = _without_redundant(_forward(current, logic), logic)
        if shorter == current:
            return current
        current = shorter


def simplified_set(decision: D, domains: Any, missing: bool) -> D:
    """Implement :meth:`formulakern.RuleSet.simplified`."""
    logic = Simplifier(_formulas(decision), domains, missing)
    rules = [
        replace(item, rule=Rule(logic.shortened(item.rule.formula)))
        for item in decision
        if not logic.covered(item.rule.formula, ())
    ]
    return replace(decision, rules=tuple(rules))


def exclusive_rules(decision: DecisionRules) -> tuple[ClassRule, ...]:
    """Return the rules of a list, each with the negations of earlier rules that it needs."""
    logic = Simplifier(_formulas(decision))
    rules: list[ClassRule] = []
    for k, item in enumerate(decision):
        formula, earlier = item.rule.formula, [other.rule.formula for other in decision.rules[:k]]
        apart = [e for e in earlier if not logic.covered(both([formula, e]), ())]
        for e in list(reversed(apart)):  # drop a rule if the others exclude its rows
            rest = [other for other in apart if other is not e]
            if logic.covered(both([formula, e]), rest):
                apart = rest
        formula = logic.shortened(formula, apart)
        conditions = [*conditions_of(formula)]
        for e in apart:
            needed = [c for c in conditions_of(e) if not logic.covered(formula, [c])]
            conditions.append(~both(needed) if needed else FALSE)
        rules.append(replace(item, rule=Rule(both(conditions))))
    return tuple(rules)


def _forward(decision: D, logic: Simplifier) -> D:
    """Remove rules that earlier rules cover, and conditions that earlier rules imply."""
    kept: list[ClassRule] = []
    earlier: list[Formula] = []
    for item in decision:
        if logic.covered(item.rule.formula, earlier):
            continue
        formula = logic.shortened(item.rule.formula, earlier)
        if formula == TRUE:
            counts = item.counts
            return replace(decision, rules=tuple(kept), default=item.label, default_counts=counts)
        kept.append(replace(item, rule=Rule(formula)))
        earlier.append(formula)
    return replace(decision, rules=tuple(kept))


def _without_redundant(decision: D, logic: Simplifier) -> D:
    """Remove rules whose rows get the same class from later rules."""
    rules, default_counts = list(decision.rules), decision.default_counts
    for k in range(len(rules) - 1, -1, -1):
        heirs = _deciding_rules(rules, k, decision.default, logic)
        if heirs is None:
            continue
        left = rules.pop(k)
        for heir in heirs:
            place = heir - 1
            its = rules[place].counts if place < len(rules) else default_counts
            known = len(heirs) == 1 and left.counts and its
            total = tuple(map(sum, zip(left.counts, its, strict=True))) if known else ()
            if place < len(rules):
                rules[place] = replace(rules[place], counts=total)
            else:
                default_counts = total
    return replace(decision, rules=tuple(rules), default_counts=default_counts)


def _deciding_rules(
    rules: Sequence[ClassRule], k: int, default: Any, logic: Simplifier
) -> list[int] | None:
    """Return the rules that decide the rows of rule k without it; None if a class changes."""
    formula = rules[k].rule.formula
    before = [item.rule.formula for item in rules[:k]]
    heirs = []
    for j in range(k + 1, len(rules) + 1):
        its = rules[j].rule.formula if j < len(rules) else TRUE
        if not logic.covered(both([formula, its]), before):
            if (rules[j].label if j < len(rules) else default) != rules[k].label:
                return None
            heirs.append(j)
        before.append(its)
    return heirs


# -- ensembles with equal scores: equal and opposite rules are added up, constants are moved


@dataclass(frozen=True)
class _Member:
    """A rule of an ensemble: its row, and True if it negates the key of its group."""

    row: int
    term: Term
    negated: bool

    @property
    def length(self) -> tuple[int, ...]:
        """The sort key: the first of equal and opposite rules is shown."""
        if not isinstance(self.term, Rule):
            return (1, self.row)
        leaves = self.term.formula.leaves
        turned = sum(isinstance(leaf, Comparison) and leaf.relation in NEGATIVE for leaf in leaves)
        return (len(leaves), turned, len(str(self.term)), self.row)


@dataclass
class _Group:
    """Equal and opposite rules: the sum of their votes, the shown rule, and all rules."""

    votes: FloatArray
    best: _Member
    members: list[_Member]


def simplified_votes(ensemble: V, domains: Any, missing: bool) -> V:
    """Implement :meth:`formulakern.RuleEnsemble.simplified`."""
    formulas = [term.formula for term in ensemble.rules if isinstance(term, Rule)]
    logic = Simplifier(formulas, domains, missing)
    start = ensemble.intercept.copy()
    groups: dict[Hashable, list[_Member]] = {}
    for row, term in enumerate(ensemble.rules):
        key, negated, shown = _meaning(logic, term)
        if key is TRUE:
            start += 0.0 if negated else ensemble.votes[row]
        else:
            groups.setdefault(key, []).append(_Member(row, shown, negated))
    found = []
    for members in groups.values():
        best = min(members, key=lambda member: member.length)
        total = np.zeros_like(start)
        for member in members:
            votes = ensemble.votes[member.row]
            if member.negated == best.negated:
                total = total + votes
            else:  # opposite: v·(1 - r)
                start, total = start + votes, total - votes
        found.append(_Group(total, best, members))
    return _of_groups(ensemble, found, start)


def _of_groups(ensemble: V, groups: Iterable[_Group], intercept: FloatArray) -> V:
    """Return the ensemble of the groups whose votes are not all 0."""
    kept = [group for group in groups if group.votes.any()]
    kept.sort(key=lambda group: -np.abs(group.votes).max())
    rows = [group.best.row for group in kept]
    shares = np.reshape([_shares(ensemble, group) for group in kept], (-1, 2))
    return replace(
        ensemble,
        rules=tuple(group.best.term for group in kept),
        votes=np.reshape([group.votes for group in kept], (-1, len(intercept))),
        intercept=intercept,
        support=ensemble.support[rows],
        coverage=ensemble.coverage[rows],
        precision=shares[:, 0],
        base_rate=shares[:, 1],
        expected=np.full(len(kept), np.nan),
    )


def _shares(ensemble: VotingRules, group: _Group) -> tuple[float, float]:
    """Return the precision and base rate for the class of a group; nan if unknown."""
    winner, best = leading(group.votes.tolist()), group.best
    same = [m.row for m in [best, *group.members] if m.negated == best.negated]
    for row in same:
        if leading(ensemble.votes[row].tolist()) == winner:
            return float(ensemble.precision[row]), float(ensemble.base_rate[row])
    if len(group.votes) > 2:
        return np.nan, np.nan
    return 1 - float(ensemble.precision[same[0]]), 1 - float(ensemble.base_rate[same[0]])


def _meaning(logic: Simplifier, term: Term) -> tuple[Hashable, bool, Term]:
    """Return a key, True if the term is the negation of that key, and the shortened term.

    Equal and opposite rules have the same key; the key of constants is TRUE.
    """
    if isinstance(term, Monomial):
        return (Monomial(tuple(sorted(term.columns))) if term.columns else TRUE), False, term
    if not isinstance(term, Rule):
        return term, False, term
    formula = logic.shortened(term.formula)
    try:
        key, negated = logic.up_to_sign(formula)
    except FormulaSizeError:
        return formula, False, Rule(formula)
    if key == 0:
        return TRUE, not negated, Rule(formula)
    return key, negated, Rule(formula)


# -- ensembles with nearly equal scores: rules that differ in one condition on one column


@dataclass(frozen=True, repr=False)
class JoinedRules(Generic[V]):
    """The result of :meth:`formulakern.RuleEnsemble.joined`.

    Parameters
    ----------
    rules : RuleEnsemble
    change : float
        max_i max_k |s_k(x_i) − s'_k(x_i)|, the largest change of any score on the rows.
    n_changed : int
        The number of rows whose prediction changes; 0 if numbers are predicted.
    n_rows : int
    replaced : tuple of (Rule, Rule)
        Each removed rule, and the rule that replaces it (or whose negation does).
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
            f"{len(self.replaced)} rules joined: scores change by at most {self.change:.3g}; "
            f"{self.n_changed} of {self.n_rows} predictions change"
        )


def joined_votes(
    ensemble: V, X: Any, tolerance: float, max_changed: int, domains: Any, missing: bool
) -> JoinedRules[V]:
    """Implement :meth:`formulakern.RuleEnsemble.joined`."""
    check_number("tolerance", tolerance, 0)
    check_integer("max_changed", max_changed, 0)
    table = Table.of(X)
    start = ensemble.scores(table)
    shorter = simplified_votes(ensemble, domains, missing)
    most = len(shorter)
    while True:
        search = _Search(shorter, table, start, float(tolerance), int(max_changed))
        while len(search.replaced) < most and search.join():
            pass
        rules = _of_groups(shorter, search.groups, search.intercept)
        scores = rules.scores(table)
        change = float(np.abs(scores - start).max(initial=0.0))
        changed = int((ensemble.places(scores) != ensemble.places(start)).sum())
        if changed <= max_changed:
            return JoinedRules(rules, change, changed, len(table), tuple(search.replaced))
        # a sum in another order moved a score that is on a threshold
        if not search.replaced:
            return JoinedRules(ensemble, 0.0, 0, len(table), ())
        most = len(search.replaced) - 1


class _Search:
    """The remaining rules, and the changes of the scores since the start."""

    def __init__(
        self, ensemble: VotingRules, table: Table, start: FloatArray, tolerance: float, most: int
    ) -> None:
        self.start, self.tolerance, self.most = start, tolerance + ROUNDING, most
        self.ensemble, self.predicted = ensemble, ensemble.places(start)
        self.difference = ensemble.scores(table) - start
        self.truths = ensemble.values(table).T != 0
        self.intercept = ensemble.intercept.copy()
        self.groups: list[_Group] = []
        for row, term in enumerate(ensemble.rules):
            member = _Member(row, term, False)
            self.groups.append(_Group(ensemble.votes[row].copy(), member, [member]))
        self.replaced: list[tuple[Rule, Rule]] = []
        self.pairs: list[tuple[int, int, bool, NDArray[np.intp]]] = []
        for one, other in _near(ensemble):
            apart = self.truths[one] ^ self.truths[other]
            negated = 2 * int(apart.sum()) > len(apart)
            rows = np.flatnonzero(apart != negated)
            self.pairs += [(one, other, negated, rows), (other, one, negated, rows)]

    def join(self) -> bool:
        """Join the allowed pair that changes scores least; return False if there is none."""
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
        return bool((self.ensemble.places(after) != self.predicted).sum() <= self.most)

    def _replace(self, kept: int, gone: int, negated: bool) -> None:
        """Add the votes of one rule to another rule or to its negation."""
        group, other = self.groups[kept], self.groups[gone]
        if negated:
            self.intercept += other.votes
        group.votes += -other.votes if negated else other.votes
        terms = [g.best.term for g in (other, group) if isinstance(g.best.term, Rule)]
        self.replaced.append((terms[0], terms[1]))
        other.votes = np.zeros_like(other.votes)
        self.pairs = [pair for pair in self.pairs if gone not in pair[:2]]


def _near(ensemble: VotingRules) -> Iterator[tuple[int, int]]:
    """Return pairs of rules that differ in one condition on one column."""
    places = defaultdict(list)
    for row, term in enumerate(ensemble.rules):
        if not isinstance(term, Rule):
            continue
        conditions: frozenset[Formula] = frozenset(conditions_of(term.formula))
        for condition in conditions:
            columns = Rule(condition).columns
            if len(columns) == 1:
                places[conditions - {condition}, columns].append((row, condition))
    found = set()
    for entries in places.values():
        for (one, left), (other, right) in combinations(entries, 2):
            if _comparable(left, right):
                found.add((one, other))
    return iter(sorted(found))


def _comparable(left: Formula, right: Formula) -> bool:
    """Return True if conditions on one column are opposite, or near if their values are near.

    >>> from formulakern.rules.rule import rule
    >>> pairs = ("n >= 1", "n = 0"), ("x = 3", "x != 3"), ("x = 3", "x = 4"), ("t", "~t")
    >>> [_comparable(*(rule(text).formula for text in pair)) for pair in pairs]
    [True, True, False, True]
    """
    if not (isinstance(left, Comparison) and isinstance(right, Comparison)):
        return True
    return bool({left.relation, right.relation} & ORDERS) or left.value == right.value
