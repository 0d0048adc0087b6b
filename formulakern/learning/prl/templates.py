"""The instances of formula templates as features of a preference learner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.learning.prl.features import Drawn, RuleFeatures
from formulakern.mining.search import MiningResult
from formulakern.mining.templates.expansion import expand
from formulakern.mining.templates.search import mine_templates
from formulakern.rules.features import BIAS, Feature, Instance
from formulakern.syntax.formula import Formula
from formulakern.syntax.traversal import evaluate

__all__ = ["TemplateFeatures"]


@dataclass(eq=False)
class TemplateFeatures(RuleFeatures):
    """The instances of formula templates; different variables are different propositions.

    Parameters
    ----------
    table : PackedTable
        The different training rows.
    bias : bool
        Whether the feature that is always true belongs to the family.
    templates : tuple of Formula
    """

    templates: tuple[Formula, ...]

    def mined(
        self, weights: FloatArray, threshold: float, **options: Any
    ) -> Iterator[tuple[MiningResult, list[Feature], FloatArray]]:
        """The instances of each template."""
        options |= {"objective": "spread", "threshold": threshold, "distinct": True}
        for template in self.templates:
            result = mine_templates(template, self.table, weights, **options)
            formula, leaves = result.expansion.formula, result.expansion.leaves
            found = [Instance(formula, leaves, chosen) for chosen in result.assignments]
            yield result, [*found], result.sums

    def drawn(self, generator: np.random.Generator, size: int) -> Drawn:
        """Random propositions for the variables of a random template."""
        p = self.table.n_columns
        expansions = [expand(template, True) for template in self.templates]
        which = generator.integers(len(expansions), size=size)
        if self.bias:
            which[generator.random(size) < 1 / (p + 1)] = -1
        drawn = [_different(generator, size, len(e.leaves), p) for e in expansions]

        def feature(i: int) -> Feature:
            if which[i] < 0:
                return BIAS
            expansion, chosen = expansions[which[i]], tuple(drawn[which[i]][i].tolist())
            return Instance(expansion.formula, expansion.leaves, chosen)

        def values(rows: NDArray[Any]) -> NDArray[Any]:
            true = which < 0
            for number, expansion in enumerate(expansions):
                mine = np.flatnonzero(which == number)
                chosen = drawn[number][mine]
                columns: dict[Formula, NDArray[np.bool_]] = {
                    leaf: self.table.entries(rows[mine], chosen[:, k])
                    for k, leaf in enumerate(expansion.leaves)
                }
                right = np.ones(len(mine), dtype=np.bool_)
                for group in expansion.all_different:  # these are different propositions
                    right &= (np.diff(np.sort(chosen[:, list(group)], axis=1)) != 0).all(axis=1)
                true[mine] = right & evaluate(expansion.formula, columns.__getitem__)
            return true

        return feature, values


def _different(generator: np.random.Generator, size: int, n: int, p: int) -> NDArray[np.int64]:
    """n of the numbers below p, different ones where there are as many; shape (size, n)."""
    if n > p:
        return generator.integers(p, size=(size, n))
    chosen = generator.integers(0, p - np.arange(n), (size, n))
    for k in range(1, n):  # counted among those that are left, so skip those before
        for earlier in np.sort(chosen[:, :k], axis=1).T:
            chosen[:, k] += chosen[:, k] >= earlier
    return chosen
