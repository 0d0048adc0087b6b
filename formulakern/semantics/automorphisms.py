"""How many permutations of its variables leave a Boolean function unchanged.

|Aut| is the product of orbit lengths along a chain of stabilisers: how many variables can the first
one be moved to, then the second one with the first kept fixed, and so on.  Each question is
answered by a backtracking search that compares model counts of cofactors first and whole diagrams
last; exchanging two variables is tried before anything else, and settles most formulas.  All of it
is counted, and refused when it passes a stated size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from formulakern.errors import FormulaSizeError
from formulakern.syntax.logic.diagrams import Diagrams, models_with_each

__all__ = ["MAX_SEARCH_STEPS", "count_automorphisms"]

#: The search for symmetries is refused when it passes this many comparisons of variables.
MAX_SEARCH_STEPS = 10_000_000


def count_automorphisms(diagrams: Diagrams, top: int, classes: Sequence[int]) -> int:
    """Return the number of permutations of the variables 0 … k−1 that keep the function.

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
        self.single = models_with_each(diagrams, top, self.n)
        self._pairs: dict[int, list[int]] = {}
        self.exchangeable = self._exchangeable()

    def order(self) -> int:
        order = 1
        for first in range(self.n):
            fixed = {i: i for i in range(first)}
            goals = self.exchangeable[first + 1 :]  # exchangeable ones: all, or none
            order *= 1 + sum(
                times
                for kind, times in Counter(goals).items()
                if self._can_move(fixed, first, first + 1 + goals.index(kind))
            )
        return order

    def _exchangeable(self) -> list[int]:
        """Return for every variable the smallest one that it can be exchanged with."""
        smallest = list(range(self.n))
        for j in range(self.n):
            for i in range(j):
                if smallest[i] == i and self._compatible({}, i, j) and self._swaps(i, j):
                    smallest[j] = i
                    break
        return smallest

    def _swaps(self, i: int, j: int) -> bool:
        """Return whether the function stays the same when two variables are exchanged."""
        d = self.diagrams
        return d.restrict(self.top, {i: True, j: False}) == d.restrict(
            self.top, {i: False, j: True}
        )

    def _both(self, i: int) -> list[int]:
        """Return for every variable the number of models in which it and variable i are true."""
        if i not in self._pairs:
            cofactor = self.diagrams.restrict(self.top, {i: True})
            self._pairs[i] = models_with_each(self.diagrams, cofactor, self.n)
        return self._pairs[i]

    def _can_move(self, fixed: dict[int, int], first: int, to: int) -> bool:
        if self.exchangeable[first] == self.exchangeable[to]:
            return True
        return self._compatible(fixed, first, to) and self._extend({**fixed, first: to})

    def _extend(self, image: dict[int, int]) -> bool:
        """Return whether a partial permutation can be completed to a symmetry."""
        variables = [i for i in range(self.n) if i not in image]
        if not variables:
            return self._keeps(image)
        trail = dict(image)
        untried = [iter(self._candidates(trail, variables[0]))]  # one for every depth
        while untried:
            variable = variables[len(untried) - 1]
            trail.pop(variable, None)
            to = next(untried[-1], None)
            if to is None:
                untried.pop()
                continue
            trail[variable] = to
            if len(untried) < len(variables):
                untried.append(iter(self._candidates(trail, variables[len(untried)])))
            elif self._keeps(trail):
                return True
        return False

    def _candidates(self, trail: dict[int, int], variable: int) -> list[int]:
        """Return images to try: the variable itself, then one of every class of exchangeables."""
        taken, seen = set(trail.values()), set[int]()
        found = []
        for to in sorted(range(self.n), key=lambda j: (j != variable, j)):
            kind = self.exchangeable[to]
            if to not in taken and kind not in seen and self._compatible(trail, variable, to):
                seen.add(kind)
                found.append(to)
        return found

    def _compatible(self, trail: dict[int, int], variable: int, to: int) -> bool:
        self.steps += 1 + len(trail)
        if self.steps > MAX_SEARCH_STEPS:
            raise FormulaSizeError(
                f"counting the symmetries of this formula takes more than {MAX_SEARCH_STEPS:,} "
                "comparisons. Use fewer variables, or variables='bound'."
            )
        if self.classes[variable] != self.classes[to] or self.single[variable] != self.single[to]:
            return False
        if to in trail.values():
            return False
        if not trail:
            return True
        before, after = self._both(variable), self._both(to)
        return all(before[other] == after[image] for other, image in trail.items())

    def _keeps(self, image: dict[int, int]) -> bool:
        """Return whether renaming the variables gives the same function."""
        d = self.diagrams

        def make(level: int, high: int, low: int) -> int:
            test = d.variable(image.get(level, level))
            return d.apply(
                "1110", d.apply("1000", test, high), d.apply("1000", d.negation(test), low)
            )

        return d.rebuild(self.top, make) == self.top
