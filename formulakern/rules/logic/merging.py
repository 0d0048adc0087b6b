"""Fewer rules of the same scores: equal ones added up, opposite ones joined, constants moved."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.errors import FormulaSizeError
from formulakern.rules.features import Monomial, Term
from formulakern.rules.logic.simplification import Simplifier
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules
from formulakern.syntax.comparison import Comparison
from formulakern.syntax.formula import TRUE, Formula
from formulakern.syntax.traversal import evaluate

__all__ = ["Group", "Member", "of_groups", "simplified_votes"]

V = TypeVar("V", bound=VotingRules)

#: Relations that a reader turns round first.
NEGATIVE = ("!=", "not in", "is not missing")
#: Rows on which rules are compared before it is proved that they are equal.
SAMPLED = 512


@dataclass(frozen=True)
class Member:
    """A rule of an ensemble: its row there, and whether it is the negation of its group's key."""

    row: int
    term: Term
    negated: bool

    @property
    def length(self) -> tuple[int, ...]:
        """What is shown of equal and of opposite rules is the first by this."""
        if not isinstance(self.term, Rule):
            return (1, self.row)
        leaves = self.term.formula.leaves
        turned = sum(isinstance(leaf, Comparison) and leaf.relation in NEGATIVE for leaf in leaves)
        return (len(leaves), turned, len(str(self.term)), self.row)


@dataclass
class Group:
    """Rules that are one: their votes, the one that is shown, and all of them."""

    votes: FloatArray
    best: Member
    members: list[Member]


def simplified_votes(ensemble: V, domains: Any, missing: bool) -> tuple[V, list[int]]:
    """What :meth:`formulakern.RuleEnsemble.simplified` documents, and where each rule came from."""
    meanings = _Meanings(ensemble, domains, missing)
    start = ensemble.intercept.copy()
    groups: dict[Hashable, list[Member]] = {}
    for row, term in enumerate(ensemble.rules):
        votes = ensemble.votes[row]
        key, negated, shown = meanings.of(term)
        if key is TRUE:
            start += 0.0 if negated else votes
        else:
            about = tuple(np.flatnonzero(votes).tolist())
            groups.setdefault((key, about), []).append(Member(row, shown, negated))
    found = []
    for members in groups.values():
        best = min(members, key=lambda member: member.length)
        total = np.zeros_like(start)
        for member in members:
            votes = ensemble.votes[member.row]
            if member.negated == best.negated:
                total = total + votes
            else:  # 1 - r has the votes
                start, total = start + votes, total - votes
        found.append(Group(total, best, members))
    return of_groups(ensemble, found, start)


def of_groups(ensemble: V, groups: Iterable[Group], intercept: FloatArray) -> tuple[V, list[int]]:
    """The ensemble of those groups that have votes, and the row of what is shown of each."""
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
    ), rows


def _shares(ensemble: VotingRules, group: Group) -> tuple[float, float]:
    """Precision and base rate for the class that a rule now speaks for; nan if not known."""
    winner, best = _winner(group.votes), group.best
    same = [m.row for m in [best, *group.members] if m.negated == best.negated]
    for row in same:
        if _winner(ensemble.votes[row]) == winner:
            return float(ensemble.precision[row]), float(ensemble.base_rate[row])
    if len(group.votes) > 2:
        return np.nan, np.nan
    return 1 - float(ensemble.precision[same[0]]), 1 - float(ensemble.base_rate[same[0]])


def _winner(votes: FloatArray) -> int:
    """The class of a positive vote, or of the only one."""
    return int(np.argmax(votes if votes.max() > 0 else -votes))


class _Meanings:
    """Equal rules have one key, opposite ones too."""

    def __init__(self, ensemble: VotingRules, domains: Any, missing: bool) -> None:
        formulas = [term.formula for term in ensemble.rules if isinstance(term, Rule)]
        self.logic = Simplifier(formulas, domains, missing)
        self.others: dict[bytes, list[tuple[Formula, Hashable, bool]]] = {}  # by some rows
        self.boxes: dict[Hashable, tuple[Hashable, bool]] = {}
        generator = np.random.default_rng(0)
        self.cases = {
            key: generator.integers(len(values), size=SAMPLED)
            for key, values in self.logic.assignments.values.items()
        }

    def of(self, term: Term) -> tuple[Hashable, bool, Term]:
        """The key, whether the term is its negation, and the term in short."""
        if isinstance(term, Monomial):
            return (Monomial(tuple(sorted(term.columns))) if term.columns else TRUE), False, term
        if not isinstance(term, Rule):
            return term, False, term
        formula = self.logic.shortened(term.formula)
        key, negated = self._key(formula)
        return key, negated, Rule(formula)

    def _key(self, formula: Formula) -> tuple[Hashable, bool]:
        """TRUE for a constant; for a rule that is one box, or whose negation is one, that box.

        Other rules have the key of an earlier one that is proved to be equal or opposite.
        """
        try:
            box, negated = self._box(formula)
        except FormulaSizeError:
            return formula, False
        if box is None:
            return self._proved_key(formula, formula, False)
        if box is TRUE:
            return TRUE, negated
        if box not in self.boxes:
            key, turned = self._proved_key(formula, box, negated)
            self.boxes[box] = key, turned != negated
        key, turned = self.boxes[box]
        return key, turned != negated

    def _box(self, formula: Formula) -> tuple[Hashable | None, bool]:
        """The box that a rule is, or that its negation is (True); None if there is none."""
        logic = self.logic.assignments
        for negated in (False, True):
            boxes = logic.boxes(formula, not negated)
            if not boxes:
                return TRUE, not negated
            if len(boxes) == 1:
                box = {k: bits for k, bits in boxes[0].items() if bits != logic.all[k]}
                if len(box) == 1:  # the negation is a box too: the key has the first case
                    [(column, bits)] = box.items()
                    if not bits & 1:
                        bits, negated = logic.all[column] & ~bits, not negated
                    box = {column: bits}
                return (frozenset(box.items()) if box else TRUE), negated
        return None, False

    def _proved_key(self, formula: Formula, key: Hashable, negated: bool) -> tuple[Hashable, bool]:
        """An earlier rule's that is proved to be equal or opposite, else this key."""
        prove = self.logic.covered
        if prove(TRUE, [formula]):
            return TRUE, False
        if prove(formula, []):
            return TRUE, True
        truths = self._sampled(formula)
        for other, known, turned in self.others.get(truths.tobytes(), ()):
            if prove(formula, [other]) and prove(other, [formula]):
                return known, turned
        for other, known, turned in self.others.get((~truths).tobytes(), ()):
            if prove(TRUE, [formula, other]) and prove(formula & other, []):
                return known, not turned
        self.others.setdefault(truths.tobytes(), []).append((formula, key, negated))
        return key, negated

    def _sampled(self, formula: Formula) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The truth of a rule in some rows, whose cases are drawn."""
        logic = self.logic.assignments

        def drawn(leaf: Formula) -> np.ndarray[Any, np.dtype[np.bool_]]:
            column, bits = logic.cases[leaf]
            true = [bool(bits >> case & 1) for case in range(len(logic.values[column]))]
            return np.array(true)[self.cases[column]]

        return np.array(np.broadcast_to(evaluate(formula, drawn), SAMPLED), dtype=np.bool_)
