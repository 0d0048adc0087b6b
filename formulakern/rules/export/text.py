"""Rules with their votes as columns: of values for a data frame, and as a printed table."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from formulakern.rules.voting import VotingRules
from formulakern.text import WIDTH, aligned, clip, significant

__all__ = ["columns_of", "ensemble_text"]

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
    rules = ["rule", *(clip(rule, MAX_RULE) for rule in columns.pop("rule"))]
    sides = "".join("<" if name in ("class", "against") else ">" for name in columns)
    cells = [[*columns], *zip(*columns.values(), strict=True)]
    for front, rule in zip(aligned(cells, sides), rules, strict=True):
        first, *others = _folded(rule, max(WIDTH - len(front) - 2, NARROWEST))
        lines += [f"{front}  {first}", *(" " * (len(front) + 2) + part for part in others)]
    if len(ensemble) > MAX_ROWS:
        lines.append(f"… and {len(ensemble) - MAX_ROWS:,} more rules")
    return "\n".join(lines)


def _folded(text: str, width: int) -> list[str]:
    glue = "\N{NO-BREAK SPACE}"
    glued = text.replace(" ", glue)
    for sign in BREAKS:
        glued = glued.replace(f"{glue}{sign}{glue}", f"{glue}{sign} ")
    lines = textwrap.wrap(glued, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(glue, " ") for line in lines]
