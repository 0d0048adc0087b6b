"""The parameters of hierarchical kernel learning, and the signs that weights may have.

*Signs.*  Each proposition requires a weight of at least 0, of at most 0, or nothing.  A conjunction
has the requirements of all its propositions; if two require different signs, its weight is 0.  If
the sum must not fall with age, ``age >= 30`` requires a weight of at least 0, and ``age <= 30`` a
weight of at most 0.  Then no term of the sum falls with age.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from formulakern.arrays import IntArray
from formulakern.syntax.formula import Formula

#: A conjunction: the sorted positions of its propositions.
Node: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Signs:
    """The required signs of propositions, int64 (p,), and of other features, int64 (e,).

    They are 1 for weights of at least 0, −1 for weights of at most 0, 0 for any.

    >>> signs = Signs(np.array([1, 0, -1, 1]), np.array([-1]))
    >>> [signs.of(node) for node in [(), (0,), (0, 1), (1,), (2,)]], signs.of(0)
    ([0, 1, 1, 0, -1], -1)
    >>> signs.allows((0, 1, 3)), signs.allows((1, 2, 3))
    (True, False)
    """

    propositions: IntArray
    others: IntArray

    def allows(self, node: Node) -> bool:
        """Return True if the weight of a conjunction may be nonzero."""
        return not {1, -1} <= {*self.propositions[list(node)].tolist()}

    def of(self, feature: Node | int) -> int:
        """Return the sign of an allowed conjunction, or of another feature by its number."""
        if isinstance(feature, int):
            return int(self.others[feature])
        return next(filter(None, self.propositions[list(feature)].tolist()), 0)

    def of_all(self, features: Iterable[Node | int]) -> IntArray:
        """Return the signs of some features."""
        return np.array([self.of(one) for one in features], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Options:
    """The parameters of a problem: C > 0, 1 ≤ ρ ≤ 2, a ≥ 1, and the relative duality gap to reach.

    The ``loss`` belongs to one function, or is "multinomial".  ``other_penalty`` is d of each
    feature that is not a conjunction.  The set of a function grows up to ``max_nodes``; the best
    ``max_rules`` rules replace a larger number.  For ρ = 1, ``proves`` requires a proven bound, and
    ``has_path`` choices of further sizes, without a proof all of them quick ones.  ``leaves`` are
    the propositions as formulas, if known.
    """

    loss: str = "hinge"
    C: float = 1.0
    rho: float = 1.1
    depth_penalty: float = 2.0
    other_penalty: float = 1.0
    tol: float = 1e-3
    max_nodes: int = 5000
    max_rules: int | None = None
    signs: Signs | None = None
    proves: bool = True
    has_path: bool = True
    leaves: Sequence[Formula] = ()


def closed(conjunctions: Iterable[Node]) -> list[Node]:
    """Return all subsets of some conjunctions, the shortest first.

    >>> closed([(1, 2)])
    [(), (1,), (2,), (1, 2)]
    """
    subsets = (combinations(v, size) for v in conjunctions for size in range(len(v) + 1))
    return sorted({(), *chain.from_iterable(subsets)}, key=lambda v: (len(v), v))


def sources_of(nodes: list[Node], p: int, signs: Signs | None = None) -> list[Node]:
    """Return the allowed sets outside the family whose proper subsets are all inside."""
    inside = set(nodes)
    found: list[Node] = []
    for v in nodes:
        for i in range(v[-1] + 1 if v else 0, p):
            t = (*v, i)
            if t not in inside and all(t[:k] + t[k + 1 :] in inside for k in range(len(v))):
                found.append(t)
    return found if signs is None else [t for t in found if signs.allows(t)]
