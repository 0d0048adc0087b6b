"""Models of a function: how many there are, how many with each variable true, and one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formulakern.diagrams.manager import Diagrams

__all__ = ["count_models", "models", "models_with_each"]


def count_models(diagrams: Diagrams, top: int, n: int) -> int:
    """The number of assignments to the variables 0 … n−1 in which a function is true.

    >>> d = Diagrams()
    >>> count_models(d, d.apply("1110", d.variable(0), d.variable(2)), 3)
    6
    """
    below = _below(diagrams, diagrams.reachable(top), n)
    return below[top] << min(diagrams.level[top], n)


def _below(diagrams: Diagrams, nodes: Sequence[int], n: int) -> dict[int, int]:
    """For each node the number of assignments to the variables from its level on."""
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
    """For each of the variables 0 … n−1 the number of models of ``top`` in which it is true.

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
    """The assignments to the variables 0 … n−1 in which a function is true, true before false."""
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
