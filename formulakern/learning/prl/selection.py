"""The best few of many features: two starts that are improved by exchanges.

To find the best set of at most k features is NP-hard (sparse approximation: B. K. Natarajan,
"Sparse approximate solutions to linear systems", SIAM Journal on Computing 24, 1995,
doi:10.1137/S0097539792240406).  So two starts are improved:

* *backward*: from the optimal support on, the features of least weight go, a tenth at a time;
* *forward*: from no feature on, the best of the most promising ones comes in;
* *exchange*: one feature goes, the best of those that are promising without it comes in, as long as
  the choice becomes better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from formulakern.deadline import Deadline
from formulakern.interrupts import held, interruptible

#: Share of the features that leave at a time on the way back from the optimal support.
LEAVING = 0.1


@dataclass(eq=False)
class Selection(ABC):
    """Choose at most ``most`` features, so that the choice has the largest ``worth``.

    A choice has its features as ``kept``, largest weight first.

    ``support`` are the features of an optimal solution, largest weight first.  ``best`` is the best
    choice so far, after the ``deadline`` nothing new is tried, and ``interrupted`` is whether
    Ctrl-C ended the selection.
    """

    #: Shares by which an exchange, and a candidate after an earlier one, must be better.
    better: ClassVar[float]
    apart: ClassVar[float] = 0.0

    support: Sequence[Any]
    most: int
    deadline: Deadline
    best: Any = field(init=False)
    interrupted: bool = field(init=False, default=False)

    @abstractmethod
    def solved(self, kept: Sequence[Any], before: Any = None) -> Any:
        """Return the optimal weights of some features; ``before`` is a similar choice."""

    @abstractmethod
    def promising(self, chosen: Any) -> Iterable[Any]:
        """Return other features that may improve a choice, the most promising first."""

    def report(self, chosen: Any) -> None:  # noqa: B027 - not all searches report
        """Report a better choice."""

    def run(self) -> Any:
        """Return the better of two starts, each improved by exchanges; Ctrl-C ends the search."""
        try:
            with held():
                self.best = self.solved(self.support[: self.most])
            with interruptible():
                self._exchange(self._backward())
                self._exchange(self._forward(self.solved(())))
        except KeyboardInterrupt:
            self.interrupted = True
        return self.best

    def _backward(self) -> Any:
        chosen = self.solved(self.support)
        while (surplus := len(chosen.kept) - self.most) > 0:
            leaving = surplus if self.deadline.over() else max(1, int(LEAVING * len(chosen.kept)))
            chosen = self.solved(chosen.kept[: -min(leaving, surplus)], chosen)
        return self._forward(chosen)

    def _forward(self, chosen: Any) -> Any:
        while len(chosen.kept) < self.most and not self.deadline.over():
            larger = self._with_one_more(chosen)
            if larger is None:
                break
            chosen = larger  # also if only two together are worth something
        if len(chosen.kept) <= self.most and chosen.worth > self.best.worth:
            self.best = chosen
            self.report(chosen)
        return chosen

    def _exchange(self, chosen: Any) -> None:
        improved = True
        while improved and not self.deadline.over():
            improved = False
            for leaving in reversed(chosen.kept):
                if self.deadline.over():
                    break
                rest = [one for one in chosen.kept if one != leaving]
                larger = self._with_one_more(self.solved(rest, chosen))
                if larger is not None and _improves(larger, chosen, self.better):
                    chosen, improved = self._forward(larger), True
                    break

    def _with_one_more(self, chosen: Any) -> Any:
        """The best choice with one of the promising features; None if there is none."""
        best = None
        for one in self.promising(chosen):
            tried = self.solved([*chosen.kept, one], chosen)
            if best is None or _improves(tried, best, self.apart):
                best = tried
        return best


def _improves(chosen: Any, before: Any, share: float) -> bool:
    return bool(chosen.worth > before.worth + share * abs(before.worth))
