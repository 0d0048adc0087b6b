"""Why a row was predicted as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.rules.ensemble import RuleEnsemble
from formulakern.rules.export.text import listed_levels, said, stance

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The rules that a row satisfies, and what they add up to.

    Parameters
    ----------
    prediction : object
        The class of the largest score, the level, or the predicted number.
    scores : dict
        Class → score; for a predicted number, what it is called → the number.
    rules : RuleEnsemble
        Those that the row satisfies, largest contribution first.
    contributions : tuple of float
        What each of them gives to its class and takes from the other one, where there is one, or
        adds to the number; negative where a monomial or the weight is.
    """

    prediction: Any
    scores: dict[Any, float]
    rules: RuleEnsemble
    contributions: tuple[float, ...]

    @classmethod
    def of(cls, ensemble: RuleEnsemble, values: NDArray[Any]) -> Explanation:
        """The explanation of a row on which the rules have these values, shape (1, rules)."""
        scores = ensemble.scores_of(values)
        given = values[0] * np.array([item.weight for item in ensemble])
        order = [r for r in np.argsort(-np.abs(given), kind="stable").tolist() if given[r] != 0]
        names = [ensemble.target] if ensemble.classes is None else ensemble.classes
        return cls(
            ensemble.decide(scores).tolist()[0],
            dict(zip(names, scores[0].tolist(), strict=True)),
            ensemble.take(order),
            tuple(given[order].tolist()),
        )

    def __str__(self) -> str:
        number = self.rules.classes is None
        if self.rules.levels is not None:
            [score] = self.scores.values()
            total = score - self.rules.intercept[0]
            ends = listed_levels(self.rules)
            lines = [f"{self.rules.target} {self.prediction} by {total:+.6g}; {ends}"]
        elif number:
            constant = self.rules.intercept[0]
            lines = [f"{self.rules.target} = {self.prediction:.6g}; {constant:.6g} for every row"]
        else:
            start = zip(self.scores, self.rules.intercept.tolist(), strict=True)
            known = ", ".join(f"{name}: {constant:+.4g}" for name, constant in start if constant)
            scores = ", ".join(f"{name}: {score:+.4g}" for name, score in self.scores.items())
            lines = [f"class {self.prediction} ({scores})" + f"; start: {known}" * bool(known)]
        for given, item in zip(self.contributions, self.rules, strict=True):
            if number:
                lines.append(f"{given:+10.4g}  {said(item.rule, item.weight)}")
            else:
                about = stance(item, given, len(self.scores))
                lines.append(f"{abs(given):10.4f}  {about}:  {said(item.rule, abs(item.weight))}")
        if not self.contributions:
            lines.append("no rule is satisfied")
        return "\n".join(lines)
