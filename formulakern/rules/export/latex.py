"""Rules as a LaTeX ``tabular``."""

from __future__ import annotations

from typing import Any

from formulakern.rules.voting import VotingRules
from formulakern.syntax.notation import latex_name
from formulakern.text import significant

__all__ = ["ensemble_latex"]


def ensemble_latex(ensemble: VotingRules) -> str:
    """What :meth:`formulakern.RuleEnsemble.to_latex` documents, of all rules."""
    names = [] if ensemble.classes is None else ["class", "against"]
    rows = [["weight", *names, "rule"]]
    weights = significant([item.weight for item in ensemble])
    for weight, item in zip(weights, ensemble, strict=True):
        loser = item.against if item.loser is None else _name(item.loser)
        votes = [_name(item.winner), loser] if names else []
        rows.append([weight, *votes, f"${item.rule.latex()}$"])
    head, *lines = [" & ".join(row) + r" \\" for row in rows]
    opening = rf"\begin{{tabular}}{{r{'l' * (len(names) + 1)}}}"
    return "\n".join([opening, head, r"\hline", *lines, r"\end{tabular}"])


def _name(label: Any) -> str:
    return f"${latex_name(str(label) or ' ')}$"
