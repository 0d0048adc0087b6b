"""The arrays of the search over rule lists, and the list that it begins with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from formulakern.arrays import IntArray
from formulakern.encoding.bits import Words
from formulakern.errors import ParameterError
from formulakern.learning.covering.branch_and_bound.antecedents import Antecedents
from formulakern.slices import DONE

__all__ = ["ListSearch"]

#: Prefixes that a beam keeps of each length.
BEAM = 20
#: How much an error of the prefix counts beside one that a later rule may correct, in each beam.
EAGERNESS = (1, 3, 10)
#: Classes that a beam takes for the default's.
DEFAULTS = 3
#: Bytes of a state in the table of states, and its largest number of states.
STATE_BYTES, MAX_STATES = 25, 2**24


class ListSearch:
    """A search that can stop and go on (:class:`formulakern.slices.Search`).

    All costs are in units, without what every list gets wrong in ``found.base`` inside the arrays,
    and with it outside.

    Parameters
    ----------
    found : Antecedents
    max_rules : int
    penalty, tol : int
        In units.
    max_bytes : int
        For the levels and the table of states.
    """

    def __init__(
        self, found: Antecedents, max_rules: int, penalty: int, tol: int, max_bytes: int
    ) -> None:
        from formulakern.learning.covering.branch_and_bound import loop  # loads numba

        self.found, self.penalty, self.loop = found, penalty, loop
        n, n_words = found.covers.shape
        n_classes, everything = found.n_classes, found.layout.everything
        self.starts = np.searchsorted(found.layout.kinds, np.arange(n_classes + 2))
        self.totals = found.layout.sums(everything[None], n_classes + 1)[0]
        self.most = min(max_rules, n)
        wrong = int(self.totals[:n_classes].sum() - self.totals[:n_classes].max())
        if penalty:  # more rules cost more than they can correct
            self.most = min(self.most, (wrong - int(self.totals[n_classes])) // penalty)
        depth = max(1, self.most - 1)
        level_bytes = depth * n * 8 * (5 * n_classes + 4)
        if level_bytes > max_bytes:
            raise ParameterError(
                f"prefixes of up to {depth} rules over {n:,} conjunctions take "
                f"{level_bytes:,} bytes, more than max_bytes leaves ({max_bytes:,}). Give fewer "
                "max_rules or max_conditions, a larger penalty or min_support, or more memory."
            )
        states = max(64, min(MAX_STATES, (max_bytes - level_bytes) // STATE_BYTES))
        states = 1 << (int(states).bit_length() - 1)
        per_class = (depth, n_classes, n)
        self.state = loop.ListState(
            covers=found.covers,
            units=found.layout.units,
            starts=self.starts,
            limits=np.array([n_classes, self.most, penalty, tol], dtype=np.int64),
            counters=np.array([-1, 0, 0, 0], dtype=np.int64),
            values=np.zeros(2, dtype=np.int64),
            left=np.zeros((depth, n_words), dtype=np.uint64),
            totals=np.zeros((depth, n_classes + 1), dtype=np.int64),
            costs=np.zeros(depth, dtype=np.int64),
            active=np.zeros((depth, n), dtype=np.int64),
            sums=np.zeros((depth, n, n_classes + 1), dtype=np.int64),
            children=np.zeros((depth, n), dtype=np.int64),
            bounds=np.zeros((depth, n), dtype=np.int64),
            ranges=np.zeros((depth, 4), dtype=np.int64),
            path=np.zeros(max(1, self.most), dtype=np.int64),
            best=np.zeros(max(1, self.most), dtype=np.int64),
            gains=np.zeros(per_class, dtype=np.int64),
            losses=np.zeros(per_class, dtype=np.int64),
            ranked=np.zeros((depth, 2 * n_classes, n), dtype=np.int64),
            keys=np.zeros((states, 2), dtype=np.uint64),
            proven=np.zeros(states, dtype=np.int64),
            rules=np.zeros(states, dtype=np.int8),
        )
        self.state.values[1] = wrong

    # -- what is known ---------------------------------------------------------------------------

    @property
    def best(self) -> list[int]:
        """The antecedents of the best list."""
        found: list[int] = self.state.best[: self.state.counters[3]].tolist()
        return found

    @property
    def objective(self) -> int:
        """Of the best list."""
        return int(self.state.values[1]) + self.found.base

    @property
    def threshold(self) -> int:
        """Below this, lists are looked for."""
        return int(self.state.values[0]) + self.found.base

    @property
    def n_evaluated(self) -> int:
        """Prefixes behind which all rules were tried."""
        return int(self.state.counters[2])

    def lower(self) -> int:
        """No list is below this: what is open, and the threshold for all that was left out."""
        state, bound = self.state, int(self.state.values[0])
        pending = int(state.counters[1])  # the children of the last level are not listed yet
        for level in range(state.counters[0] + 1 - pending):
            count, following = state.ranges[level, 1:3].tolist()
            if pending and level == state.counters[0] - 1:
                following -= 1  # the one whose children are not listed
            if following < count:
                bound = min(bound, int(state.bounds[level, following]))
        if pending and state.counters[0] == 0:
            bound = 0
        return bound + self.found.base

    # -- searching -------------------------------------------------------------------------------

    def restart(self, threshold: int) -> None:
        """Begin anew with the empty prefix, for lists below a threshold."""
        state, n = self.state, len(self.found.covers)
        state.values[0] = threshold - self.found.base
        if self.most == 0 or n == 0:
            return
        state.counters[:2] = 0, 1
        state.left[0] = self.found.layout.everything
        state.totals[0] = self.totals
        state.costs[0] = 0
        state.active[0] = np.arange(n)
        state.ranges[0] = n, 0, 0, 0

    def advance(self, work: int) -> bool:
        """Do about so much work; whether the search has ended."""
        return bool(self.loop.search_lists(self.state, work) == DONE)

    def share(self) -> float:
        """Not known."""
        return 0.0

    def start(self, late: Callable[[], bool]) -> None:
        """Begin with the best of some beam searches, until it is late."""
        largest = np.argsort(-self.totals[: self.found.n_classes], kind="stable")
        for default in [None, *largest[:DEFAULTS].tolist()]:
            for eagerness in EAGERNESS:
                if late() or not self.most:
                    return
                self._beam(eagerness, default)

    def _beam(self, eagerness: int, default: int | None) -> None:
        """Add rules to some prefixes, judged with one class as the default, or the best one."""
        n_classes = self.found.n_classes
        beam: list[tuple[Words, int, list[int]]] = [(self.found.layout.everything, 0, [])]
        for _ in range(self.most):
            ranked: dict[bytes, tuple[int, Words, int, list[int]]] = {}
            for left, errors, path in beam:
                sums = self._sums(left)
                totals = self.found.layout.sums(left[None], n_classes + 1)[0, :n_classes]
                covered, rest = sums.sum(axis=1), totals - sums
                wrong = errors + covered - sums.max(axis=1)
                open_errors = rest.sum(axis=1) - rest.max(axis=1)
                self._offer(path, wrong + open_errors)
                if default is not None:
                    open_errors = rest.sum(axis=1) - rest[:, default]
                score = eagerness * wrong + open_errors
                score[covered == 0] = np.iinfo(np.int64).max
                for a in np.argsort(score, kind="stable")[:BEAM].tolist():
                    after = left & ~self.found.covers[a]
                    key = after.tobytes()
                    if covered[a] and (key not in ranked or score[a] < ranked[key][0]):
                        ranked[key] = int(score[a]), after, int(wrong[a]), [*path, a]
            best = sorted(ranked.values(), key=lambda item: (item[0], item[3]))[:BEAM]
            beam = [item[1:] for item in best]

    def _sums(self, left: Words) -> IntArray:
        out = np.zeros((len(self.found.covers), self.found.n_classes + 1), dtype=np.int64)
        self.loop.class_sums(self.found.covers, left, self.found.layout.units, self.starts, out)
        return out[:, : self.found.n_classes]

    def _offer(self, path: list[int], errors: npt.NDArray[np.int64]) -> None:
        """Keep the best list of a path and a last rule, if it is better than all so far."""
        state, last = self.state, int(errors.argmin())
        value = int(errors[last]) + self.penalty * (len(path) + 1)
        if value < state.values[1]:
            state.values[1], state.counters[3] = value, len(path) + 1
            state.best[: len(path) + 1] = [*path, last]
