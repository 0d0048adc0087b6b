"""Rules as a LaTeX ``tabular``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.text import LEFT, decision_cells, ensemble_cells
from formulakern.rules.features import LinearTerm, Term
from formulakern.rules.voting import VotingRules
from formulakern.syntax.notation import latex_name

__all__ = ["decision_latex", "ensemble_latex"]


def ensemble_latex(ensemble: VotingRules) -> str:
    """Return all rules with their weights; see :meth:`formulakern.RuleEnsemble.to_latex`."""
    cells = ensemble_cells(ensemble, _said, _name)
    for title in {"coverage", "precision", "base"} & cells.keys():
        cells[title] = [text.replace("%", r"\%") for text in cells[title]]
    return _columns(cells)


def decision_latex(decision: DecisionRules, top: int | None = None) -> str:
    """Return the first rules with their classes; see :meth:`formulakern.RuleList.to_latex`."""
    cells = decision_cells(decision, top)
    known = [label in decision.classes for label in (item.label for item in decision)][:top]
    known.append(decision.default in decision.classes)
    cells["class"] = [
        _name(text) if sure else text for text, sure in zip(cells["class"], known, strict=True)
    ]
    cells["rule"] = [*(f"${item.rule.latex()}$" for item in decision.rules[:top]), "otherwise"]
    for name in {"covered", "accuracy"} & cells.keys():
        cells[name] = [text.replace("%", r"\%") for text in cells[name]]
    return _columns(cells)


def _columns(cells: Mapping[str, Sequence[str]]) -> str:
    """Columns of cells under their names."""
    sides = "".join("l" if name in LEFT else "r" for name in cells)
    rows = [[*cells], *zip(*cells.values(), strict=True)]
    head, *lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([rf"\begin{{tabular}}{{{sides}}}", head, r"\hline", *lines, r"\end{tabular}"])


def _said(term: Term, weight: float) -> str:
    effect = f", {term.effect(weight)}" if isinstance(term, LinearTerm) else ""
    return f"${term.latex()}${effect}"


def _name(label: Any) -> str:
    return f"${latex_name(str(label) or ' ')}$"
