"""Shorter rules of the same meaning: what other conditions, or earlier rules, imply is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from formulakern.errors import FormulaSizeError
from formulakern.rules.cases.assignments import Assignments
from formulakern.rules.decision import ClassRule, DecisionRules, conditions_of, conjunction
from formulakern.rules.rule import Rule
from formulakern.syntax.formula import FALSE, TRUE, Formula

__all__ = ["Simplifier", "exclusive_rules", "simplified_list", "simplified_set"]

#: So often are two boxes compared to shorten one list or set.
MAX_STEPS = 500_000

D = TypeVar("D", bound=DecisionRules)


class Simplifier:
    """Proofs about some conditions; what is too large to prove counts as not proved."""

    def __init__(
        self, formulas: Iterable[Formula], domains: Any = None, missing: bool = True
    ) -> None:
        self.assignments = Assignments.of(formulas, domains, missing)
        self.assignments.steps = MAX_STEPS

    def covered(self, formula: Formula, others: Iterable[Formula]) -> bool:
        """Whether each row in which a formula is true is one in which one of others is."""

        def proof() -> bool:
            boxes = [box for other in others for box in self.assignments.boxes(other)]
            spaces = self.assignments.boxes(formula)
            return not any(any(True for _ in self.assignments.uncovered(s, boxes)) for s in spaces)

        return self._proved(proof)

    def _proved(self, proof: Callable[[], bool]) -> bool:
        try:
            return self.assignments.steps > 0 and proof()
        except FormulaSizeError:
            return False

    def shortened(self, formula: Formula, earlier: Sequence[Formula] = ()) -> Formula:
        """A conjunction without the conditions that follow from the others.

        It may differ from the given one in rows in which an earlier formula is true.
        """
        parts = list(conditions_of(formula))
        if not self._proved(lambda: self.assignments.boxes(formula) is not None):
            return formula
        for k in range(len(parts) - 1, -1, -1):
            others = parts[:k] + parts[k + 1 :]
            if self.covered(conjunction(others), [parts[k], *earlier]):
                parts = others
        return conjunction(parts)


def _formulas(decision: DecisionRules) -> list[Formula]:
    return [item.rule.formula for item in decision]


def simplified_list(decision: D, domains: Any, missing: bool) -> D:
    """What :meth:`formulakern.RuleList.simplified` documents."""
    logic, current = Simplifier(_formulas(decision), domains, missing), decision
    while True:
        shorter = _without_idle(_forward(current, logic), logic)
        if shorter == current:
            return current
        current = shorter


def simplified_set(decision: D, domains: Any, missing: bool) -> D:
    """What :meth:`formulakern.RuleSet.simplified` documents."""
    logic = Simplifier(_formulas(decision), domains, missing)
    rules = [
        replace(item, rule=Rule(logic.shortened(item.rule.formula)))
        for item in decision
        if not logic.covered(item.rule.formula, ())
    ]
    return replace(decision, rules=tuple(rules))


def exclusive_rules(decision: DecisionRules) -> tuple[ClassRule, ...]:
    """The rules of a list, each joined with the negations of those before that it needs."""
    logic = Simplifier(_formulas(decision))
    rules: list[ClassRule] = []
    for k, item in enumerate(decision):
        formula, earlier = item.rule.formula, [other.rule.formula for other in decision.rules[:k]]
        apart = [e for e in earlier if not logic.covered(conjunction([formula, e]), ())]
        for e in list(reversed(apart)):  # those go whose rows others take away already
            rest = [other for other in apart if other is not e]
            if logic.covered(conjunction([formula, e]), rest):
                apart = rest
        formula = logic.shortened(formula, apart)
        conditions = [*conditions_of(formula)]
        for e in apart:
            needed = [c for c in conditions_of(e) if not logic.covered(formula, [c])]
            conditions.append(~conjunction(needed) if needed else FALSE)
        rules.append(replace(item, rule=Rule(conjunction(conditions))))
    return tuple(rules)


def _forward(decision: D, logic: Simplifier) -> D:
    """Without rules that earlier ones cover, and conditions that hold wherever a rule is asked."""
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


def _without_idle(decision: D, logic: Simplifier) -> D:
    """Without rules whose rows get the same class from what comes after them."""
    rules, default_counts = list(decision.rules), decision.default_counts
    for k in range(len(rules) - 1, -1, -1):
        heirs = _heirs(rules, k, decision.default, logic)
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


def _heirs(rules: Sequence[ClassRule], k: int, default: Any, logic: Simplifier) -> list[int] | None:
    """What decides the rows of rule k without it; None if that changes the class of one."""
    formula = rules[k].rule.formula
    before = [item.rule.formula for item in rules[:k]]
    heirs = []
    for j in range(k + 1, len(rules) + 1):
        its = rules[j].rule.formula if j < len(rules) else TRUE
        if not logic.covered(conjunction([formula, its]), before):
            if (rules[j].label if j < len(rules) else default) != rules[k].label:
                return None
            heirs.append(j)
        before.append(its)
    return heirs
