"""Which signs the weights of conjunctions may have, so that their sum is monotone.

Let every proposition ask for a weight of at least 0, of at most 0, or for nothing.  A conjunction
has what all its propositions ask for; where two ask for different signs, its weight is 0.  So
``age >= 30`` asks for a weight of at least 0 if the sum must not fall with age, and ``age <= 30``
for one of at most 0: a conjunction of either then only adds to what does not fall.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from formulakern.arrays import IntArray

__all__ = ["Node", "Signs", "sources_of"]

Node: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Signs:
    """What propositions, and features that are no conjunctions, ask for.

    Parameters
    ----------
    propositions : int64 (p,)
        1 for weights of at least 0, −1 for weights of at most 0, 0 for any.
    others : int64 (e,)

    Examples
    --------
    >>> signs = Signs(np.array([1, 0, -1, 1]), np.array([-1]))
    >>> [signs.of(node) for node in [(), (0,), (0, 1), (1,), (2,)]], signs.of(0)
    ([0, 1, 1, 0, -1], -1)
    >>> signs.allows((0, 1, 3)), signs.allows((1, 2, 3))
    (True, False)
    """

    propositions: IntArray
    others: IntArray

    @cached_property
    def _listed(self) -> list[int]:
        return [int(sign) for sign in self.propositions]

    def allows(self, node: Node) -> bool:
        """Whether the weight of a conjunction may be other than 0."""
        asked = {self._listed[j] for j in node}
        return not {1, -1} <= asked

    def of(self, feature: Node | int) -> int:
        """The sign of a conjunction that is allowed, or of another feature by its number."""
        if isinstance(feature, int):
            return int(self.others[feature])
        return next((self._listed[j] for j in feature if self._listed[j]), 0)

    def of_all(self, features: Iterable[Node | int]) -> IntArray:
        """The signs of some features."""
        return np.array([self.of(one) for one in features], dtype=np.int64)


def sources_of(nodes: list[Node], p: int, signs: Signs | None = None) -> list[Node]:
    """The sets outside the family, of those allowed, whose proper subsets are all inside."""
    inside = set(nodes)
    found: list[Node] = []
    for v in nodes:
        for i in range(v[-1] + 1 if v else 0, p):
            t = (*v, i)
            if t not in inside and all(t[:k] + t[k + 1 :] in inside for k in range(len(v))):
                found.append(t)
    if signs is not None:
        found = [t for t in found if signs.allows(t)]
    return found
