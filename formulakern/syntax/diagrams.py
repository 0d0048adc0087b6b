"""Reduced ordered binary decision diagrams: the canonical form of a Boolean function.

Variables are integers, and so are nodes: 0 and 1 are the constants, the others have a level (the
variable that they test) and two successors.  Equal functions are equal integers (Bryant 1986,
doi:10.1109/TC.1986.1676819).  Every operation is iterative and counts its steps, so that a formula
whose diagram explodes is refused in bounded time and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from formulakern.errors import FormulaSizeError

__all__ = [
    "ADVICE",
    "MAX_DIAGRAM_NODES",
    "MAX_DIAGRAM_STEPS",
    "Diagrams",
    "count_models",
    "models",
    "models_with_each",
]

#: A manager that has built more nodes than this refuses to go on.
MAX_DIAGRAM_NODES = 200_000
#: … and so does one that has combined more pairs of nodes than this.
MAX_DIAGRAM_STEPS = 2_000_000

#: The last sentence of the message of a refusal.
ADVICE = "Repeat fewer names, or split the formula."
_END = 1 << 60  # the level of the constants: below every variable


class Diagrams:
    """A manager of decision diagrams over the variables 0, 1, 2, … in this order.

    Connectives are given by their truth tables, for the arguments 11, 10, 01, 00; the message of a
    refusal ends with ``advice``.

    >>> diagrams = Diagrams()
    >>> x, y = diagrams.variable(0), diagrams.variable(1)
    >>> diagrams.connect("1110", [x, y]) == diagrams.negation(diagrams.apply("0001", x, y))
    True
    """

    def __init__(self, advice: str = ADVICE) -> None:
        self.advice = advice
        self.level: list[int] = [_END, _END]
        self.low: list[int] = [0, 1]
        self.high: list[int] = [0, 1]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._memo: dict[tuple[str, int, int], int] = {}
        self._steps = 0
        #: Pairs of nodes that were counted on, kept for whoever counts.
        self.pairs = 0

    def node(self, level: int, high: int, low: int) -> int:
        """Return the function "if variable ``level`` then ``high`` else ``low``"."""
        if high == low:
            return high
        key = (level, high, low)
        found = self._unique.get(key)
        if found is None:
            if len(self.level) >= MAX_DIAGRAM_NODES:
                self._refuse(f"has more than {MAX_DIAGRAM_NODES:,} nodes")
            found = self._unique[key] = len(self.level)
            self.level.append(level)
            self.high.append(high)
            self.low.append(low)
        return found

    def variable(self, level: int) -> int:
        """Return the function that is the variable itself."""
        return self.node(level, 1, 0)

    def negation(self, function: int) -> int:
        """Return the function that is true where ``function`` is false."""
        return self.apply("0110", function, 1)

    def both(self, functions: Sequence[int]) -> int:
        """Return the function that is true where all of some are."""
        return self.connect("1000", functions) if functions else 1

    def either(self, functions: Sequence[int]) -> int:
        """Return the function that is true where one of some is."""
        return self.connect("1110", functions) if functions else 0

    def connect(self, truth: str, functions: Sequence[int]) -> int:
        """Apply a connective to functions; chains of many are joined as a balanced tree."""
        if len(truth) == 2:
            return self.negation(functions[0])
        layer = list(functions)
        while len(layer) > 1:
            pairs = [self.apply(truth, *layer[i : i + 2]) for i in range(0, len(layer) - 1, 2)]
            layer = pairs + layer[len(pairs) * 2 :]
        return layer[0]

    def apply(self, truth: str, left: int, right: int) -> int:
        """Return ``left ∘ right`` for any connective with two arguments."""
        memo, level, high, low = self._memo, self.level, self.high, self.low
        root = (truth, left, right)
        found = memo.get(root)
        if found is not None:
            return found
        pending = [root]
        while pending:
            key = pending[-1]
            if key in memo:
                pending.pop()
                continue
            _, f, g = key
            known = _settled(truth, f, g)
            if known is not None:
                memo[key] = known
                pending.pop()
                continue
            top = min(level[f], level[g])
            f1, f0 = (high[f], low[f]) if level[f] == top else (f, f)
            g1, g0 = (high[g], low[g]) if level[g] == top else (g, g)
            one, zero = (truth, f1, g1), (truth, f0, g0)
            if one not in memo:
                pending.append(one)
            if zero not in memo:
                pending.append(zero)
            if pending[-1] is key:
                self.spend(1)
                memo[key] = self.node(top, memo[one], memo[zero])
                pending.pop()
        return memo[root]

    def cofactors(self, function: int, level: int) -> tuple[int, int]:
        """Return the function with variable ``level`` (not below its own) set true and false."""
        if self.level[function] == level:
            return self.high[function], self.low[function]
        return function, function

    def reachable(self, root: int) -> list[int]:
        """Return the inner nodes of one function, smaller levels first."""
        seen = {root}
        pending = [root]
        while pending:
            node = pending.pop()
            for successor in (self.high[node], self.low[node]):
                if successor > 1 and successor not in seen:
                    seen.add(successor)
                    pending.append(successor)
        return sorted((n for n in seen if n > 1), key=self.level.__getitem__)

    def rebuild(
        self, root: int, make: Callable[[int, int, int], int], *, counted: bool = False
    ) -> int:
        """Return the function put together anew by ``make(level, high, low)``, from the leaves up.

        With ``counted`` every node is a step.
        """
        nodes = self.reachable(root)
        if counted:
            self.spend(len(nodes))
        made = {0: 0, 1: 1}
        for node in reversed(nodes):
            made[node] = make(self.level[node], made[self.high[node]], made[self.low[node]])
        return made[root]

    def compact(self, root: int) -> tuple[int, list[int]]:
        """Return the function over the variables it depends on, renumbered, and the old ones."""
        support = sorted({self.level[node] for node in self.reachable(root)})
        new_level = {old: new for new, old in enumerate(support)}
        return self.rebuild(root, lambda level, *both: self.node(new_level[level], *both)), support

    def restrict(self, root: int, values: Mapping[int, bool]) -> int:
        """Return the function with some variables set."""

        def make(level: int, high: int, low: int) -> int:
            if level in values:
                return high if values[level] else low
            return self.node(level, high, low)

        return self.rebuild(root, make, counted=True)

    def quantified(self, root: int, levels: Collection[int], truth: str) -> int:
        """Return the function for some ("1110") or all ("1000") values of some variables."""

        def make(level: int, high: int, low: int) -> int:
            if level in levels:
                return self.apply(truth, high, low)
            return self.node(level, high, low)

        return self.rebuild(root, make, counted=True)

    def spend(self, steps: int) -> None:
        """Count work; refuse to go on if it passes ``MAX_DIAGRAM_STEPS`` in all."""
        self._steps += steps
        if self._steps > MAX_DIAGRAM_STEPS:
            self._refuse(f"needs more than {MAX_DIAGRAM_STEPS:,} steps")

    def _refuse(self, what: str) -> None:
        raise FormulaSizeError(f"the decision diagram of this formula {what}. {self.advice}")


def _settled(truth: str, f: int, g: int) -> int | None:
    """Return ``f ∘ g`` if it is a constant, f or g; otherwise None."""
    if f == g and f > 1:
        when_true, when_false, other = truth[0], truth[3], f
    elif g < 2:
        when_true, when_false, other = truth[1 - g], truth[3 - g], f
    elif f < 2:
        when_true, when_false, other = truth[2 - 2 * f], truth[3 - 2 * f], g
    else:
        return None
    if when_true == when_false:
        return int(when_true)
    if when_true == "1":
        return other
    return 1 - other if other < 2 else None


def count_models(diagrams: Diagrams, top: int, n: int) -> int:
    """Return the number of assignments to the variables 0 … n−1 in which a function is true.

    >>> d = Diagrams()
    >>> count_models(d, d.apply("1110", d.variable(0), d.variable(2)), 3)
    6
    """
    below = _below(diagrams, diagrams.reachable(top), n)
    return below[top] << min(diagrams.level[top], n)


def _below(diagrams: Diagrams, nodes: Sequence[int], n: int) -> dict[int, int]:
    """Return the number of models of each node over the variables from its level on."""
    d = diagrams
    d.spend(len(nodes) + 1)
    below = {0: 0, 1: 1}
    for node in reversed(nodes):
        below[node] = sum(
            below[branch] << (min(d.level[branch], n) - d.level[node] - 1)
            for branch in (d.high[node], d.low[node])
        )
    return below


def models_with_each(diagrams: Diagrams, top: int, n: int) -> list[int]:
    """Return for each of the variables 0 … n−1 the number of models of ``top`` with it true.

    One pass down counts the ways to every node, one pass up the models below it; a variable that
    is skipped on the way is true in half of the models that skip it.
    """
    d = diagrams
    nodes = d.reachable(top)
    below = _below(d, nodes, n)
    ways = dict.fromkeys(nodes, 0)
    ways[top] = 1 << min(d.level[top], n)
    models = below[top] << min(d.level[top], n)
    through, true = [0] * n, [0] * n
    for node in nodes:
        for branch, holds in ((d.high[node], True), (d.low[node], False)):
            paths = ways[node] << (min(d.level[branch], n) - d.level[node] - 1)
            if branch > 1:
                ways[branch] += paths
            through[d.level[node]] += paths * below[branch]
            if holds:
                true[d.level[node]] += paths * below[branch]
    return [true[i] + (models - through[i]) // 2 for i in range(n)]


def models(diagrams: Diagrams, top: int, n: int) -> Iterator[tuple[bool, ...]]:
    """Yield the assignments to the variables 0 … n−1 that make a function true, true first."""
    d = diagrams
    trail: list[bool] = []
    pending = [(top, 0, True)] if top else []
    while pending:
        node, depth, value = pending.pop()
        if depth:
            trail[depth - 1 :] = [value]
        if depth == n:
            yield tuple(trail)
            continue
        when_true, when_false = d.cofactors(node, depth)
        if when_false:
            pending.append((when_false, depth + 1, False))
        if when_true:
            pending.append((when_true, depth + 1, True))
