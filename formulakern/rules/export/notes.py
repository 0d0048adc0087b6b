"""Notes below a table of rules: marked rules, linear terms, and sums of rules by column."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from formulakern.rules.features import LinearTerm, Term
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules
from formulakern.syntax.connectives import spell
from formulakern.syntax.leaves import Comparison
from formulakern.text import signed

BELOW_BASE_RATE = (
    "* The precision is below the base rate: the rule corrects other rules that hold for the same "
    "rows."
)
EXPECTED = " The scores of the others suggest a precision of {shares}."
LINEAR = (
    "A linear term from a to b rises from 0 at a to its {amount} at b, and is constant outside."
)

#: The space between words that stay on one line.
GLUE = "\N{NO-BREAK SPACE}"


def below_base_rate(ensemble: VotingRules) -> list[bool]:
    """Return True for each rule whose printed precision is below its printed base rate.

    The rules for a number or for several classes are printed without precision.
    """
    if ensemble.classes is None or not ensemble.is_pairwise:
        return [False] * len(ensemble)
    below: list[bool] = (ensemble.precision.round(3) < ensemble.base_rate.round(3)).tolist()
    return below


def table_notes(ensemble: VotingRules) -> list[str]:
    """Return the notes below a table of these rules."""
    several = ensemble.classes is not None and not ensemble.is_pairwise
    marks = below_base_rate(ensemble)
    lines = [BELOW_BASE_RATE] if any(marks) else []
    expected = ensemble.expected[marks]
    if lines and not np.isnan(expected).any():
        shares = ", ".join(f"{share:.1%}" for share in expected.tolist())
        lines[0] += EXPECTED.format(shares=shares)
    if any(isinstance(rule, LinearTerm) for rule in ensemble.rules):
        lines.append(LINEAR.format(amount="votes" if several else ensemble.AMOUNT))
    return lines + sums_by_column(ensemble)


def sums_by_column(ensemble: VotingRules) -> list[str]:
    """Return the sums of rules about one numeric column, if some hold for the same numbers.

    GLUE joins each range and its sum.

    >>> from formulakern import RuleEnsemble, WeightedRule, rule
    >>> listed = {"x <= 3": 1.2, "x <= 5": 0.4, "y >= 1": 2.0}
    >>> items = [WeightedRule(rule(text), weight) for text, weight in listed.items()]
    >>> print("\\n".join(sums_by_column(RuleEnsemble.of(items))).replace(GLUE, " "))
    Sums of the rules about a single column:
      x: up to 3: +1.6; above 3 to 5: +0.4; above 5: 0

    Several classes have a sum each.

    >>> votes = [[1.5, -0.5, 0.0], [0.0, 0.0, 1.0]]
    >>> items = [WeightedRule.of_votes(rule(text), v, "abc") for text, v in zip(listed, votes)]
    >>> print("\\n".join(sums_by_column(RuleEnsemble.of(items, "abc"))).replace(GLUE, " "))
    Sums of the rules about a single column, for a, b, c:
      x: up to 3: +1.5, -0.5, +1.0; above 3 to 5: 0, 0, +1.0; above 5: 0
    """
    several = ensemble.classes is not None and not ensemble.is_pairwise
    places: dict[str, list[int]] = defaultdict(list)
    for place, rule in enumerate(ensemble.rules):
        if _numbers_in(rule):
            places[rule.columns[0]].append(place)
    linear = {rule.column for rule in ensemble.rules if isinstance(rule, LinearTerm)}
    lines = []
    for column, own in places.items():
        rules = ensemble.take(own)
        ranges = _ranges(sorted({x for rule in rules.rules for x in _numbers_in(rule)}))
        values = rules.values({column: [number for _, _, number in ranges]})
        if values.sum(axis=1).max() <= 1:
            continue
        first = np.flatnonzero([True, *(values[1:] != values[:-1]).any(axis=1)])
        sums = values[first] @ (rules.votes if several else rules.votes[:, -1:])
        points, numbers = ensemble.AMOUNT == "points", sums.ravel().tolist()
        texts = [f"{x:+.0f}" if x else "" for x in numbers] if points else signed(numbers)
        cells = np.array([text or "0" for text in texts]).reshape(sums.shape).tolist()
        joined = [", ".join(row) if any(own) else "0" for row, own in zip(cells, sums, strict=True)]
        ends = zip(first.tolist(), [*(first[1:] - 1).tolist(), -1], joined, strict=True)
        parts = [
            f"{_range(ranges[low][0], ranges[high][1])}: {text}".replace(" ", GLUE)
            for low, high, text in ends
        ]
        more = " (without its linear term)" if column in linear else ""
        lines.append(f"  {spell(column)}{more}: {'; '.join(parts)}")
    if not lines:
        return []
    which = ""
    if ensemble.classes is not None:
        each = ", ".join(map(str, ensemble.classes))
        which = f", for {each}" if several else ", (for {1}) - (for {0})".format(*ensemble.classes)
    return [f"Sums of the rules about a single column{which}:", *lines]


def _numbers_in(rule: Term) -> list[float]:
    """Return the numbers of a rule that only compares one column with numbers."""
    if not isinstance(rule, Rule) or len(rule.columns) != 1:
        return []
    known: list[float] = []
    for leaf in rule.formula.leaves:
        values = leaf.values if isinstance(leaf, Comparison) and leaf.part is None else ("",)
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(numbers) < len(values):
            return []
        known += numbers
    return known


def _ranges(numbers: list[float]) -> list[tuple[str, str, float]]:
    """Return the given numbers and the ranges between them: two ends, and a number inside.

    >>> _ranges([3, 5])[1:4]
    [('3', '3', 3.0), ('above 3', 'below 5', 4.0), ('5', '5', 5.0)]
    """
    least = math.nextafter(numbers[0], -math.inf)
    found: list[tuple[str, str, float]] = [("", f"below {numbers[0]!r}", least)]
    for x, after in zip(numbers, [*numbers[1:], None], strict=True):
        found.append((repr(x), repr(x), float(x)))
        if after is None:
            found.append((f"above {x!r}", "", math.nextafter(x, math.inf)))
        else:
            found.append((f"above {x!r}", f"below {after!r}", x / 2 + after / 2))
    return found


def _range(low: str, high: str) -> str:
    """Return a range in words.

    >>> _range("", "3"), _range("", "below 3"), _range("3", "3"), _range("3", "below 5")
    ('up to 3', 'below 3', '3', '3 to below 5')
    """
    if low == high:
        return low
    if not low:
        return high if high.startswith("below") else f"up to {high}"
    return f"{low} to {high}" if high else low if low.startswith("above") else f"from {low}"
