"""Rules with votes or classes as columns of values, and as printed, HTML and LaTeX tables."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from formulakern.markup import Barred, small_table
from formulakern.rules.decision import DecisionRules
from formulakern.rules.features import LinearTerm, Term
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules, WeightedRule
from formulakern.syntax.connectives import latex_name
from formulakern.text import aligned, clip, significant, width

V = TypeVar("V", bound=VotingRules)

#: Rows of a printed table, where longer rules are cut, and the fewest characters of their lines.
MAX_ROWS, MAX_RULE, NARROWEST = 60, 400, 20
#: Columns of text, which begin on the left.
LEFT = ("class", "speaks", "rule")
#: Signs after which a rule may be broken.
BREAKS = ("&", "|", "^", "->")


def columns_of(ensemble: VotingRules) -> dict[str, list[Any]]:
    """Weight, class, against, support, coverage, precision, base rate and text of the rules.

    Of rules that predict a number only weight, support, coverage and text.
    """
    names = ["weight", "class", "against", "support", "coverage", "precision", "base_rate"]
    if ensemble.classes is None:
        names = ["weight", "support", "coverage"]
    fields = {"class": "winner", "against": "loser"}
    columns = {name: [getattr(item, fields.get(name, name)) for item in ensemble] for name in names}
    return columns | {"rule": [str(rule) for rule in ensemble.rules]}


def stance(
    item: WeightedRule, amount: float, n_classes: int, name: Callable[[Any], str] = str
) -> str:
    """Return the class that a vote is for, and the one that it is against.

    >>> from formulakern.rules.rule import rule
    >>> stance(WeightedRule(rule("odor = foul"), 2.0, "p", "e"), 2.0, 2)
    'for p'
    >>> stance(WeightedRule(rule("odor = foul"), -2.0, "p"), -2.0, 3)
    'against p'
    """
    if item.loser is None:
        return f"{'for' if amount >= 0 else 'against'} {name(item.winner)}"
    winner, loser = (item.winner, item.loser)[:: 1 if amount >= 0 else -1]
    return f"for {name(winner)}" + (f" against {name(loser)}" if n_classes > 2 else "")


def ensemble_cells(
    ensemble: VotingRules,
    said: Callable[[Term, float], str],
    name: Callable[[Any], str] = str,
) -> dict[str, list[str]]:
    """Columns of text: weight, class, coverage, precision, base rate, rule.

    Unknown columns are left out.  The votes of a rule about several classes are in adjacent rows,
    the rule in the first.  Weights are negative only if a number is predicted.
    """
    ensemble = rules_together(ensemble)
    pairs = itertools.pairwise((None, *ensemble.rules))
    again = [a == b and isinstance(b, Rule) for a, b in pairs]  # effects of linear terms differ
    weights = [item.weight for item in ensemble]
    cells: dict[str, list[str]] = {}
    if ensemble.classes is not None:
        number = len(ensemble.classes)
        cells["speaks"] = [stance(item, item.weight, number, name) for item in ensemble]
        weights = [abs(weight) for weight in weights]
    shares = {"coverage": ensemble.coverage}
    if ensemble.classes is not None:
        shares |= {"precision": ensemble.precision, "base": ensemble.base_rate}
    for title, values in shares.items():
        if not np.isnan(values).all():
            cells[title] = ["" if math.isnan(x) else f"{x:.1%}" for x in values.tolist()]
    points = ensemble.AMOUNT == "points"
    amounts = [f"{weight:+.0f}" for weight in weights] if points else significant(weights)
    cells = {ensemble.AMOUNT: amounts} | cells
    cells["rule"] = list(map(said, ensemble.rules, weights))
    for title in {"coverage", "rule"} & cells.keys():
        texts = zip(cells[title], again, strict=True)
        cells[title] = ["" if repeated else text for text, repeated in texts]
    return cells


def rules_together(ensemble: V) -> V:
    """Return the same votes, with those of one rule in adjacent rows."""
    first: dict[Term, int] = {}
    for row, term in enumerate(ensemble.rules):
        first.setdefault(term, row)
    return ensemble.take(sorted(range(len(ensemble)), key=lambda r: first[ensemble.rules[r]]))


def ensemble_text(ensemble: VotingRules, decides: bool = True) -> str:
    """Return the first rules as a table; rules are broken after connectives only.

    ``decides``: whether a first line has the meaning of the weights, which holds for whole models.
    """
    lines = [how_it_decides(ensemble)] if decides else []
    if not len(ensemble) and ensemble.classes is not None:
        return lines[0] if decides else "no rules"
    shown = ensemble.head(MAX_ROWS)
    lines += _listed(ensemble_cells(shown, said))
    if (more := ensemble.n_rules - shown.n_rules) > 0:
        lines.append(f"… and {more:,} more rules")
    elif len(ensemble) > MAX_ROWS:
        lines.append(f"… and {len(ensemble) - MAX_ROWS:,} more votes of these rules")
    return "\n".join(lines)


def said(term: Term, weight: float) -> str:
    """Return a rule; a linear term with the contribution of a step of its column."""
    return f"{term}, {term.effect(weight)}" if isinstance(term, LinearTerm) else str(term)


def how_it_decides(ensemble: VotingRules) -> str:
    """Return the meaning of the weights of the rules, in one line."""
    if ensemble.levels is not None:
        if not len(ensemble):
            return f"{ensemble.decide(ensemble.intercept[None]).tolist()[0]} for every row"
        if ensemble.AMOUNT == "points":
            (no, yes), least = (
                ensemble.levels,
                int(ensemble.thresholds[0] - ensemble.intercept[0]) + 1,
            )
            return f"{yes} if the points add up to {least} or more, else {no}"
        return f"{ensemble.target} by Σ weight · rule: {listed_levels(ensemble)}"
    if ensemble.classes is None:
        return f"{ensemble.target} = {ensemble.intercept[0]:.6g} + Σ weight · rule"
    start = ensemble.intercept.tolist()
    names = list(map(str, ensemble.classes))
    if not len(ensemble):
        return f"{names[int(ensemble.intercept.argmax())]} for every row"
    if len(names) > 2 or ensemble.votes.sum(axis=1).any():
        known = ", ".join(f"{name} {x:+.4g}" for name, x in zip(names, start, strict=True) if x)
        how = "the class whose weights, for it less against it, have the largest sum"
        whole = how + f"; start: {known}" * bool(known)
        return textwrap.fill(whole, width(), break_long_words=False, break_on_hyphens=False)
    more = (start[0] - start[1]) / 2
    default, other = names if more >= 0 else reversed(names)
    margin = f" by more than {more:.4g}" if more > 0 else f" by {-more:.4g} or more" if more else ""
    return f"{other} where the weights for it exceed those for {default}{margin}, else {default}"


def listed_levels(ensemble: VotingRules, scores: bool = False) -> str:
    """Up to which sum of the weights each level is predicted; not those that never are.

    ``scores``: up to which score, with the intercept.
    """
    ends = ensemble.thresholds - (0.0 if scores else ensemble.intercept[0])
    parts, before = [], -math.inf
    for level, end in zip(ensemble.levels or (), [*ends.tolist(), math.inf], strict=True):
        if end > before:
            parts.append(f"{level} up to {end:.4g}" if end < math.inf else f"{level} above")
        before = end
    return ", ".join(parts)


def decision_columns(decision: DecisionRules) -> dict[str, list[Any]]:
    """Class, weight covered, accuracy and text of the rules, and last of the default.

    Weight and accuracy are nan where they are not known; the rule of the default is None.
    """
    rules = [(item.label, item.counts, str(item.rule)) for item in decision]
    columns: dict[str, list[Any]] = {"class": [], "covered": [], "accuracy": [], "rule": []}
    for label, counts, rule in [*rules, (decision.default, decision.default_counts, None)]:
        covered = sum(counts) if counts else math.nan
        known = covered > 0 and label in decision.classes
        right = counts[decision.classes.index(label)] / covered if known else math.nan
        for name, value in zip(columns, (label, covered, right, rule), strict=True):
            columns[name].append(value)
    return columns


def decision_cells(
    decision: DecisionRules,
    top: int | None = None,
    rule: Callable[[Rule], str] = str,
    name: Callable[[Any], str] = str,
) -> dict[str, list[str]]:
    """The first rules and the default as text: number, class, covered, accuracy, rule."""
    columns = decision_columns(decision)
    shown = [*range(len(decision))[:top], -1]
    numbers = [columns["covered"][k] for k in shown]
    whole = all(number != number or number == int(number) for number in numbers)
    cells = {
        "": [*(str(k + 1) for k in shown[:-1]), ""],
        "class": [
            name(label) if label in decision.classes else "unknown"
            for label in (columns["class"][k] for k in shown)
        ],
        "covered": ["" if x != x else f"{x:,.{0 if whole else 2}f}" for x in numbers],
        "accuracy": ["" if x != x else f"{x:.1%}" for x in (columns["accuracy"][k] for k in shown)],
        "rule": [*(rule(item.rule) for item in decision.rules[:top]), "otherwise"],
    }
    return {name: cells[name] for name in cells if name in ("class", "rule") or any(cells[name])}


def decision_text(decision: DecisionRules) -> str:
    """The first rules and the default as a table; rules are broken after connectives only."""
    lines = _listed(decision_cells(decision, MAX_ROWS))
    if len(decision) > MAX_ROWS:
        lines.insert(-1, f"… and {len(decision) - MAX_ROWS:,} more rules")
    return "\n".join(lines)


def _listed(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Columns of cells under their names; the last holds the rules, broken after connectives."""
    *names, last = columns
    sides = "".join("<" if name in LEFT else ">" for name in names)
    cells = [names, *zip(*(columns[name] for name in names), strict=True)]
    lines = []
    for front, rule in zip(aligned(cells, sides), [last, *columns[last]], strict=True):
        first, *others = _folded(clip(rule, MAX_RULE), max(width() - len(front) - 2, NARROWEST))
        lines += [f"{front}  {first}".rstrip(), *(" " * (len(front) + 2) + part for part in others)]
    return lines


def _folded(text: str, width: int) -> list[str]:
    glue = "\N{NO-BREAK SPACE}"
    glued = text.replace(" ", glue)
    for sign in BREAKS:
        glued = glued.replace(f"{glue}{sign}{glue}", f"{glue}{sign} ")
    glued = glued.replace(f",{glue}each{glue}", f", each{glue}")  # a step of a linear term
    lines = textwrap.wrap(glued, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(glue, " ") for line in lines or [""]]


# -- HTML


def ensemble_html(ensemble: VotingRules, decides: bool = True, foot: str = "") -> str:
    """Return the first rules as a table, with bars for weights and shares."""
    shown = rules_together(ensemble.head(MAX_ROWS))
    cells = ensemble_cells(shown, lambda term, weight: clip(said(term, weight), MAX_RULE))
    weights = [abs(item.weight) if shown.classes else item.weight for item in shown]
    largest = max(map(abs, weights), default=0.0) or 1.0
    zero = 0.5 if min(weights, default=0.0) < 0 else 0.0
    bars = {
        shown.AMOUNT: [zero + (1 - zero) * weight / largest for weight in weights],
        "coverage": shown.coverage.tolist(),
        "precision": shown.precision.tolist(),
    }
    if (more := ensemble.n_rules - shown.n_rules) > 0:
        foot = f"… and {more:,} more rules. {foot}".rstrip()
    caption = how_it_decides(ensemble) if decides else ""
    return _html_table(cells, bars, {shown.AMOUNT: zero}, caption, foot)


def decision_html(decision: DecisionRules) -> str:
    """Return the first rules and the default as a table."""
    cells = decision_cells(decision, MAX_ROWS)
    cells["rule"] = [clip(text, MAX_RULE) for text in cells["rule"]]
    accuracies = decision_columns(decision)["accuracy"]
    bars = {"accuracy": [*accuracies[:-1][:MAX_ROWS], accuracies[-1]]}
    more = len(decision) - MAX_ROWS
    foot = f"… and {more:,} more rules, before the last line" if more > 0 else ""
    return _html_table(cells, bars, {}, "", foot)


def _html_table(
    cells: Mapping[str, Sequence[str]],
    bars: Mapping[str, Sequence[float]],
    starts: Mapping[str, float],
    caption: str,
    foot: str,
) -> str:
    """Return columns of cells under their names, some with bars from a start to these ends."""
    columns: dict[str, Sequence[str | Barred]] = dict(cells)
    for name in bars.keys() & cells.keys():
        start = starts.get(name, 0.0)
        columns[name] = [
            Barred(text, start, min(end, 1.0)) if text and not math.isnan(end) else text
            for text, end in zip(cells[name], bars[name], strict=True)
        ]
    sides = "".join("r" if name == "rule" else "<" if name in LEFT else ">" for name in columns)
    return small_table([*columns], [*zip(*columns.values(), strict=True)], sides, caption, foot)


# -- LaTeX


def ensemble_latex(ensemble: VotingRules) -> str:
    """Return all rules with their weights; see :meth:`formulakern.RuleEnsemble.to_latex`."""
    return tabular(ensemble_cells(ensemble, _latex_term, _latex_class))


def decision_latex(decision: DecisionRules, top: int | None = None) -> str:
    """Return the first rules with their classes; see :meth:`formulakern.RuleList.to_latex`."""
    return tabular(decision_cells(decision, top, lambda rule: f"${rule.latex()}$", _latex_class))


def tabular(cells: Mapping[str, Sequence[str]]) -> str:
    """Columns of cells under their names."""
    sides = "".join("l" if name in LEFT else "r" for name in cells)
    columns = (
        texts if name in LEFT else [text.replace("%", r"\%") for text in texts]
        for name, texts in cells.items()
    )
    rows = [[*cells], *zip(*columns, strict=True)]
    head, *lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([rf"\begin{{tabular}}{{{sides}}}", head, r"\hline", *lines, r"\end{tabular}"])


def _latex_term(term: Term, weight: float) -> str:
    effect = f", {term.effect(weight)}" if isinstance(term, LinearTerm) else ""
    return f"${term.latex()}${effect}"


def _latex_class(label: Any) -> str:
    return f"${latex_name(str(label) or ' ')}$"
