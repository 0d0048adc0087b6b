"""Rules as a LaTeX ``tabular``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.text import decision_cells
from formulakern.rules.voting import VotingRules
from formulakern.syntax.notation import latex_name
from formulakern.text import significant

__all__ = ["decision_latex", "ensemble_latex"]


def ensemble_latex(ensemble: VotingRules) -> str:
    """What :meth:`formulakern.RuleEnsemble.to_latex` documents, of all rules."""
    names = [] if ensemble.classes is None else ["class", "against"]
    rows = [["weight", *names, "rule"]]
    weights = significant([item.weight for item in ensemble])
    for weight, item in zip(weights, ensemble, strict=True):
        loser = item.against if item.loser is None else _name(item.loser)
        votes = [_name(item.winner), loser] if names else []
        rows.append([weight, *votes, f"${item.rule.latex()}$"])
    return _tabular("r" + "l" * (len(names) + 1), rows)


def decision_latex(decision: DecisionRules, top: int | None = None) -> str:
    """What ``to_latex`` of lists and sets documents."""
    cells = decision_cells(decision, top)
    known = [label in decision.classes for label in (item.label for item in decision)][:top]
    known.append(decision.default in decision.classes)
    cells["class"] = [
        _name(text) if sure else text for text, sure in zip(cells["class"], known, strict=True)
    ]
    cells["rule"] = [*(f"${item.rule.latex()}$" for item in decision.rules[:top]), "otherwise"]
    for name in {"covered", "accuracy"} & cells.keys():
        cells[name] = [text.replace("%", r"\%") for text in cells[name]]
    sides = "".join("l" if name in ("class", "rule") else "r" for name in cells)
    return _tabular(sides, [[*cells], *zip(*cells.values(), strict=True)])


def _tabular(sides: str, rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, the head first."""
    head, *lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([rf"\begin{{tabular}}{{{sides}}}", head, r"\hline", *lines, r"\end{tabular}"])


def _name(label: Any) -> str:
    return f"${latex_name(str(label) or ' ')}$"
