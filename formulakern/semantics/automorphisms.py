"""How many permutations of its variables leave a Boolean function unchanged.

|Aut| is the product of orbit lengths along a chain of stabilisers: how many variables can the first
one be moved to, then the second one with the first kept fixed, and so on.  Each question is
answered by a backtracking search that compares model counts of cofactors first and whole diagrams
last; exchanging two variables is tried before anything else, and settles most formulas.
"""

from __future__ import annotations

from collections.abc import Sequence

from formulakern.errors import FormulaSizeError
from formulakern.semantics.diagram import Diagrams
from formulakern.syntax.connectives import AND, OR

__all__ = ["MAX_SEARCH_STEPS", "count_automorphisms"]

#: The search for symmetries is refused when it passes this many candidate assignments.
MAX_SEARCH_STEPS = 20_000


def count_automorphisms(diagrams: Diagrams, top: int, classes: Sequence[int]) -> int:
    """Order of the group of permutations of the variables 0 … k−1 that keep the function.

    Parameters
    ----------
    diagrams : Diagrams
    top : int
        A function that depends on all of the variables 0 … k−1.
    classes : sequence of int
        The domain of each variable; only variables of one domain are exchanged.

    Raises
    ------
    FormulaSizeError
        If the search passes ``MAX_SEARCH_STEPS`` (highly regular functions of many variables).
    """
    return _Symmetries(diagrams, top, classes).order()


class _Symmetries:
    def __init__(self, diagrams: Diagrams, top: int, classes: Sequence[int]) -> None:
        self.diagrams = diagrams
        self.top = top
        self.classes = classes
        self.n = len(classes)
        self.steps = 0
        models = _ModelCounts(diagrams, self.n)
        self.single = [models.fixing(top, {i: True}) for i in range(self.n)]
        self.pairs = {
            (i, j): (
                models.fixing(top, {i: True, j: True}),
                models.fixing(top, {i: True, j: False}),
            )
            for i in range(self.n)
            for j in range(self.n)
            if i != j
        }
        self.exchangeable = self._exchangeable()

    def order(self) -> int:
        order = 1
        for first in range(self.n):
            fixed = {i: i for i in range(first)}
            order *= 1 + sum(self._can_move(fixed, first, to) for to in range(first + 1, self.n))
        return order

    def _exchangeable(self) -> list[int]:
        """For every variable the smallest one that it can be exchanged with (a partition)."""
        smallest = list(range(self.n))
        for j in range(self.n):
            for i in range(j):
                if smallest[i] == i and self._compatible({}, i, j) and self._keeps({i: j, j: i}):
                    smallest[j] = i
                    break
        return smallest

    def _can_move(self, fixed: dict[int, int], first: int, to: int) -> bool:
        if self.exchangeable[first] == self.exchangeable[to]:
            return True
        return self._compatible(fixed, first, to) and self._extend({**fixed, first: to})

    def _extend(self, image: dict[int, int]) -> bool:
        """Whether a partial permutation can be completed to a symmetry (iterative search)."""
        variables = [i for i in range(self.n) if i not in image]
        choices: list[list[int]] = []
        trail = dict(image)
        depth = 0
        while True:
            if depth == len(choices):
                if depth == len(variables):
                    if self._keeps(trail):
                        return True
                    depth -= 1
                else:
                    taken = set(trail.values())
                    choices.append(self._candidates(trail, variables[depth], taken))
            if depth < 0:
                return False
            trail.pop(variables[depth], None)
            if choices[depth]:
                self.steps += 1
                if self.steps > MAX_SEARCH_STEPS:
                    raise FormulaSizeError(
                        "counting the symmetries of this formula passes "
                        f"{MAX_SEARCH_STEPS:,} steps. Use fewer variables, or variables='bound'."
                    )
                trail[variables[depth]] = choices[depth].pop()
                depth += 1
            else:
                choices.pop()
                depth -= 1
                if depth < 0:
                    return False

    def _candidates(self, trail: dict[int, int], variable: int, taken: set[int]) -> list[int]:
        """Images to try, best last: the variable itself, then those exchangeable with it.

        Of several free variables that are exchangeable with each other one is enough.
        """
        seen: set[int] = set()
        found = []
        for to in sorted(range(self.n), key=lambda j: (j != variable, j)):
            kind = self.exchangeable[to]
            if to not in taken and kind not in seen and self._compatible(trail, variable, to):
                seen.add(kind)
                found.append(to)
        return found[::-1]

    def _compatible(self, trail: dict[int, int], variable: int, to: int) -> bool:
        if self.classes[variable] != self.classes[to] or self.single[variable] != self.single[to]:
            return False
        if to in trail.values():
            return False
        return all(
            self.pairs[variable, other] == self.pairs[to, image]
            and self.pairs[other, variable] == self.pairs[image, to]
            for other, image in trail.items()
        )

    def _keeps(self, image: dict[int, int]) -> bool:
        """Whether renaming the variables gives the same function."""
        d = self.diagrams
        renamed = {0: 0, 1: 1}
        for node in reversed(d.reachable(self.top)):
            test = d.variable(image.get(d.level[node], d.level[node]))
            high = d.apply(AND, test, renamed[d.high[node]])
            low = d.apply(AND, d.negation(test), renamed[d.low[node]])
            renamed[node] = d.apply(OR, high, low)
        return renamed[self.top] == self.top


class _ModelCounts:
    """Numbers of satisfying assignments of the variables 0 … n−1, some of them fixed."""

    def __init__(self, diagrams: Diagrams, n: int) -> None:
        self.diagrams = diagrams
        self.n = n

    def fixing(self, top: int, fixed: dict[int, bool]) -> int:
        """Models of ``top`` with these values (the fixed variables are not counted)."""
        d = self.diagrams

        def free(begin: int, end: int) -> int:
            return 1 << (end - begin - sum(begin <= v < end for v in fixed))

        def level(node: int) -> int:
            return min(d.level[node], self.n)

        counts = {0: 0, 1: 1}
        for node in reversed(d.reachable(top)):
            here = d.level[node]
            branches = [d.high[node], d.low[node]]
            if here in fixed:
                branches = [branches[0 if fixed[here] else 1]]
            counts[node] = sum(counts[b] * free(here + 1, level(b)) for b in branches)
        return counts[top] * free(0, level(top))
