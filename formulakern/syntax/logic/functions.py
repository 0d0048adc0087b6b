"""The Boolean functions of formulas over common letters, as diagrams in one manager."""

from __future__ import annotations

from typing import Any, Generic

from formulakern.diagrams.manager import Diagrams
from formulakern.syntax.logic.node import N, letters_of
from formulakern.syntax.traversal import fold

__all__ = ["Functions"]


class Functions(Generic[N]):
    """Diagrams of some formulas; equal functions are equal integers.

    Parameters
    ----------
    question : str
        What is asked, as the first words of a sentence.
    *formulas : Formula

    Attributes
    ----------
    letters : list of Formula
        The letters in order of appearance; letter k is the variable k of the diagrams.
    tops : list of int
        The function of every formula.

    Raises
    ------
    FormulaError
        If a leaf is a comparison or a choice.
    FormulaSizeError
        If a diagram passes its limits.
    """

    def __init__(self, question: str, *formulas: N) -> None:
        self.diagrams = Diagrams()
        self.letters = letters_of(formulas, question)
        self.level: dict[Any, int] = {letter: k for k, letter in enumerate(self.letters)}
        self.tops = [fold(formula, self._function) for formula in formulas]

    def _function(self, node: N, values: list[int]) -> int:
        if node.connective is not None:
            return self.diagrams.connect(node.connective.truth, values)
        if node.truth is not None:
            return int(node.truth)
        return self.diagrams.variable(self.level[node])

    def differs(self, truth: str) -> int:
        """The function ``f ∘ g`` of the two formulas."""
        return self.diagrams.apply(truth, *self.tops)
