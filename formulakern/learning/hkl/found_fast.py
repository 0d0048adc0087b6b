"""Conjunctions that are known at once to be of use, for a first solution before the long searches.

A source t outside W stands in the way of the solution on W if a single q_w of a w ⊇ t does
(:mod:`.frontier`).  So short conjunctions alone show some sources that have to come in, long before
a bound on everything is proven.
"""

from __future__ import annotations

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.learning.hkl.frontier import Frontier, Node
from formulakern.mining.conjunctions.search import search_conjunctions
from formulakern.solvers.hierarchical.norm import right_signed

__all__ = ["standing_out"]

#: Truth values that are held at once.
ENTRIES = 1 << 22
#: Conjunctions have at most so many propositions; so many are listed for each source.
SHORT, LISTED = 2, 8


def standing_out(frontier: Frontier, allowed: float, most: int) -> list[Node]:
    """Sources t of which a short conjunction alone shows that ‖r_t‖_ρ'² > ``allowed``.

    Parameters
    ----------
    frontier : Frontier
    allowed : float
    most : int
        How many at most; the worst first.

    Raises
    ------
    TimeIsOver
    """
    if not frontier.sources or not len(frontier.beta):
        return []
    unit = float(np.sqrt(allowed))
    alone = len(frontier.inside) == 1  # propositions come in at first, which they show best
    if not alone and search_conjunctions.ready(frontier.deadline, wait=False):
        short, q, *_ = frontier.list_heavy(unit, LISTED * most, SHORT)
    else:
        short, q = _singles(frontier, unit)
    sources, above, _ = frontier.below(short)
    scores = np.zeros(len(frontier.sources))
    np.maximum.at(scores, sources, q[above])
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
    return [frontier.sources[k] for k in order[:most].tolist()]


def _singles(frontier: Frontier, threshold: float) -> tuple[list[Node], FloatArray]:
    """The propositions with q_w above a threshold, found without a compiled loop."""
    table = frontier.table
    places = np.array([t[0] for t in frontier.sources if len(t) == 1], dtype=np.intp)
    sums = np.zeros(len(places))
    step = max(1, ENTRIES // max(1, table.n_rows))
    for start in range(0, len(places), step):
        some = slice(start, start + step)
        sums[some] = table.truths(table.columns[places[some]]) @ frontier.beta
    nodes: list[Node] = [(j,) for j in places.tolist()]
    signs = None if frontier.signs is None else frontier.signs.of_all(nodes)
    q = np.abs(right_signed(sums, signs)) / (1 + frontier.a)
    heavy = np.flatnonzero(q > threshold)
    return [nodes[k] for k in heavy.tolist()], q[heavy]
