"""Rules with votes or classes as tables for notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from formulakern.markup import Markup, barred, small_table
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.text import (
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


def ensemble_html(ensemble: VotingRules, decides: bool = True, foot: str = "") -> Markup:
    """The first rules as a table, with bars behind weights and shares.

    Parameters
    ----------
    ensemble : VotingRules
    decides : bool
        False of rules that are not all of a model: then it is not said what their weights decide.
    foot : str
        A line below.
    """
    shown = rules_together(ensemble.head(MAX_ROWS))
    cells = ensemble_cells(shown, lambda term, weight: clip(said(term, weight), MAX_RULE))
    weights = [abs(item.weight) if shown.classes else item.weight for item in shown]
    columns = {name: [Markup.of(text) for text in texts] for name, texts in cells.items()}
    columns["weight"] = _weights(cells["weight"], weights)
    for name, values in {"coverage": shown.coverage, "precision": shown.precision}.items():
        if name in cells:
            columns[name] = _shares(cells[name], values.tolist())
    if (more := ensemble.n_rules - shown.n_rules) > 0:
        foot = f"… and {more:,} more rules. {foot}".rstrip()
    sides = {"speaks": "<", "rule": "r"}
    return small_table(
        [*columns],
        [*zip(*columns.values(), strict=True)],
        "".join(sides.get(name, ">") for name in columns),
        how_it_decides(ensemble) if decides else "",
        foot,
    )


def decision_html(decision: DecisionRules) -> Markup:
    """The first rules and the default as a table."""
    cells = decision_cells(decision, MAX_ROWS)
    columns = {name: [Markup.of(text) for text in texts] for name, texts in cells.items()}
    columns["rule"] = [Markup.of(clip(text, MAX_RULE)) for text in cells["rule"]]
    accuracies = decision_columns(decision)["accuracy"]
    if "accuracy" in cells:
        kept = [*accuracies[:-1][:MAX_ROWS], accuracies[-1]]
        columns["accuracy"] = _shares(cells["accuracy"], kept)
    more = len(decision) - MAX_ROWS
    sides = {"class": "<", "rule": "r"}
    return small_table(
        [*columns],
        [*zip(*columns.values(), strict=True)],
        "".join(sides.get(name, ">") for name in columns),
        foot=f"… and {more:,} more rules, before the last line" if more > 0 else "",
    )


def _weights(texts: Sequence[str], weights: Sequence[float]) -> list[Markup]:
    """Bars from the left, or from the middle where there are both signs."""
    largest = max(map(abs, weights), default=0.0) or 1.0
    zero = 0.5 if min(weights, default=0.0) < 0 else 0.0
    return [
        barred(text, zero, zero + (1 - zero) * weight / largest)
        for text, weight in zip(texts, weights, strict=True)
    ]


def _shares(texts: Sequence[str], shares: Sequence[float]) -> list[Markup]:
    return [
        Markup.of(text) if math.isnan(share) or not text else barred(text, 0.0, min(share, 1.0))
        for text, share in zip(texts, shares, strict=True)
    ]
