"""Rules with votes or classes as tables for notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from formulakern.markup import Barred, small_table
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.text import (
    LEFT,
    MAX_ROWS,
    MAX_RULE,
    decision_cells,
    decision_columns,
    ensemble_cells,
    how_it_decides,
    rules_together,
    said,
)
from formulakern.rules.voting import VotingRules
from formulakern.text import clip

__all__ = ["decision_html", "ensemble_html"]


def ensemble_html(ensemble: VotingRules, decides: bool = True, foot: str = "") -> str:
    """Return the first rules as a table, with bars for weights and shares."""
    shown = rules_together(ensemble.head(MAX_ROWS))
    cells = ensemble_cells(shown, lambda term, weight: clip(said(term, weight), MAX_RULE))
    weights = [abs(item.weight) if shown.classes else item.weight for item in shown]
    largest = max(map(abs, weights), default=0.0) or 1.0
    zero = 0.5 if min(weights, default=0.0) < 0 else 0.0
    bars = {
        "weight": [zero + (1 - zero) * weight / largest for weight in weights],
        "coverage": shown.coverage.tolist(),
        "precision": shown.precision.tolist(),
    }
    if (more := ensemble.n_rules - shown.n_rules) > 0:
        foot = f"… and {more:,} more rules. {foot}".rstrip()
    caption = how_it_decides(ensemble) if decides else ""
    return _table(cells, bars, {"weight": zero}, caption, foot)


def decision_html(decision: DecisionRules) -> str:
    """Return the first rules and the default as a table."""
    cells = decision_cells(decision, MAX_ROWS)
    cells["rule"] = [clip(text, MAX_RULE) for text in cells["rule"]]
    accuracies = decision_columns(decision)["accuracy"]
    bars = {"accuracy": [*accuracies[:-1][:MAX_ROWS], accuracies[-1]]}
    more = len(decision) - MAX_ROWS
    foot = f"… and {more:,} more rules, before the last line" if more > 0 else ""
    return _table(cells, bars, {}, "", foot)


def _table(
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
