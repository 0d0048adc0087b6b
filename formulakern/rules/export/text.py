"""Rules with votes or classes as columns: of values for a data frame, and as a printed table."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from formulakern.rules.decision import DecisionRules
from formulakern.rules.voting import VotingRules
from formulakern.text import WIDTH, aligned, clip, significant

__all__ = ["columns_of", "decision_cells", "decision_columns", "decision_text", "ensemble_text"]

#: Rows of a printed table, where longer rules are cut, and the fewest characters of their lines.
MAX_ROWS, MAX_RULE, NARROWEST = 60, 400, 20
#: Signs after which a rule may be broken.
BREAKS = ("&", "|", "^", "->")


def columns_of(ensemble: VotingRules) -> dict[str, list[Any]]:
    """Weight, class, against, support, coverage, precision and text of the rules.

    Of rules that predict a number only weight, support, coverage and text.
    """
    columns = {
        "weight": [item.weight for item in ensemble],
        "class": [item.winner for item in ensemble],
        "against": [item.loser for item in ensemble],
        "support": ensemble.support.tolist(),
        "coverage": ensemble.coverage.tolist(),
        "precision": ensemble.precision.tolist(),
        "rule": [str(rule) for rule in ensemble.rules],
    }
    if ensemble.classes is None:
        del columns["class"], columns["against"], columns["precision"]
    return columns


def ensemble_text(ensemble: VotingRules) -> str:
    """The first rules as a table; rules are broken after connectives only."""
    shown = ensemble.head(MAX_ROWS)
    columns = columns_of(shown)
    del columns["support"]
    columns["weight"] = significant(columns["weight"])
    for name in {"coverage", "precision"} & columns.keys():
        columns[name] = ["" if math.isnan(share) else f"{share:.1%}" for share in columns[name]]
    lines = [f"{ensemble.target} = {ensemble.intercept[0]:.6g} + Σ weight · rule"]
    if ensemble.classes is not None:
        lines = []
        columns["class"] = [str(item.winner) for item in shown]
        columns["against"] = [item.against for item in shown]
    lines += _listed(columns)
    if len(ensemble) > MAX_ROWS:
        lines.append(f"… and {len(ensemble) - MAX_ROWS:,} more rules")
    return "\n".join(lines)


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


def decision_cells(decision: DecisionRules, top: int | None = None) -> dict[str, list[str]]:
    """The first rules and the default as text: number, class, covered, accuracy, rule."""
    columns = decision_columns(decision)
    shown = [*range(len(decision))[:top], -1]
    numbers = [columns["covered"][k] for k in shown]
    whole = all(number != number or number == int(number) for number in numbers)
    cells = {
        "": [*(str(k + 1) for k in shown[:-1]), ""],
        "class": [_class_text(columns["class"][k], decision) for k in shown],
        "covered": ["" if x != x else f"{x:,.{0 if whole else 2}f}" for x in numbers],
        "accuracy": ["" if x != x else f"{x:.1%}" for x in (columns["accuracy"][k] for k in shown)],
        "rule": [*(columns["rule"][k] for k in shown[:-1]), "otherwise"],
    }
    return {name: cells[name] for name in cells if name in ("class", "rule") or any(cells[name])}


def decision_text(decision: DecisionRules) -> str:
    """The first rules and the default as a table; rules are broken after connectives only."""
    lines = _listed(decision_cells(decision, MAX_ROWS))
    if len(decision) > MAX_ROWS:
        lines.insert(-1, f"… and {len(decision) - MAX_ROWS:,} more rules")
    return "\n".join(lines)


def _class_text(label: Any, decision: DecisionRules) -> str:
    return "unknown" if label is None and None not in decision.classes else str(label)


def _listed(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Columns of cells under their names; the last holds the rules, broken after connectives."""
    *names, last = columns
    sides = "".join("<" if name in ("class", "against") else ">" for name in names)
    cells = [names, *zip(*(columns[name] for name in names), strict=True)]
    lines = []
    for front, rule in zip(aligned(cells, sides), [last, *columns[last]], strict=True):
        first, *others = _folded(clip(rule, MAX_RULE), max(WIDTH - len(front) - 2, NARROWEST))
        lines += [f"{front}  {first}", *(" " * (len(front) + 2) + part for part in others)]
    return lines


def _folded(text: str, width: int) -> list[str]:
    glue = "\N{NO-BREAK SPACE}"
    glued = text.replace(" ", glue)
    for sign in BREAKS:
        glued = glued.replace(f"{glue}{sign}{glue}", f"{glue}{sign} ")
    lines = textwrap.wrap(glued, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(glue, " ") for line in lines]
