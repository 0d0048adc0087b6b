"""Rows in pieces: functions go to the pieces, and what they return comes back.

A learner that asks its rows only for sums works on pieces as on one table: it sends a function,
which every piece answers for its own rows, and adds up the answers.  Such functions are pure, and
found by their names in a module, so that a piece that is lost is made again and gives the same
answer.

Answers come in the order of the pieces, whatever the order in which they are computed.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.progress import answered

__all__ = [
    "TOGETHER",
    "LocalPieces",
    "Pieces",
    "Traffic",
    "as_it_is",
    "in_groups",
    "make_one",
    "side_by_side",
]

#: Answers that are combined at a time.
TOGETHER = 8


@dataclass(eq=False)
class Traffic:
    """What was sent to pieces and came back from them.

    Attributes
    ----------
    rounds : int
        Questions to all pieces; what stays with these counts as well.
    sent, received : int
        Bytes.
    """

    rounds: int = 0
    sent: int = 0
    received: int = 0

    def count(self, questions: Iterable[Any], answers: Iterable[Any]) -> None:
        """Count one round."""
        self.rounds += 1
        self.sent += sum(map(size_of, questions))
        self.received += sum(map(size_of, answers))


@dataclass(eq=False)
class Pieces(ABC):
    """Values that lie in pieces, such as the rows of a table.

    Attributes
    ----------
    traffic : Traffic
        Shared by all pieces that are made of these.
    """

    traffic: Traffic = field(default_factory=Traffic, kw_only=True)

    @abstractmethod
    def __len__(self) -> int:
        """How many pieces there are."""

    @abstractmethod
    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> Pieces:
        """``function(value, *shared)`` of every piece, or ``function(value, *shared, own)``.

        The results stay where the pieces are.

        Parameters
        ----------
        function : callable
            Pure, and defined at the top of a module.
        shared : any values
            Sent to every piece.
        each : sequence of one value per piece, optional
            Each is sent to its own piece.
        """

    @abstractmethod
    def gather(
        self,
        function: Callable[..., Any],
        *shared: Any,
        each: Sequence[Any] | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> list[Any]:
        """The results of :meth:`map`, here, in the order of the pieces.

        Parameters
        ----------
        function, shared, each :
            As of :meth:`map`.
        deadline : Deadline, optional

        Raises
        ------
        TimeIsOver
            If the answers are not there in time.
        """

    @abstractmethod
    def combined(
        self,
        function: Callable[..., Any],
        combine: Callable[[list[Any]], Any],
        *shared: Any,
        deadline: Deadline = UNLIMITED,
    ) -> Any:
        """One answer made of those of all pieces, a few at a time, where the pieces are.

        Parameters
        ----------
        function, shared, deadline :
            As of :meth:`gather`.
        combine : callable
            Pure, and defined at the top of a module: takes a list of answers, of neighbouring
            pieces or of what it made of those, and returns one.
        """

    def made(self) -> Self:
        """These pieces, once all values are there; who watches is told how many are."""
        return self

    @abstractmethod
    def beside(self, *others: Pieces) -> Pieces:
        """Tuples of the values of these and of other pieces, of which there are as many.

        They are where these pieces are.
        """

    @abstractmethod
    def together(self, number: int, combine: Callable[[list[Any]], Any]) -> Pieces:
        """Fewer pieces: ``combine`` makes one of ``number`` neighbouring values.

        They stay where the pieces are.
        """


def in_groups(values: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Neighbours, so many at a time.

    >>> in_groups("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [values[start : start + size] for start in range(0, len(values), size)]


def make_one(combine: Callable[[list[Any]], Any], *values: Any) -> Any:
    """What ``combine`` makes of some values."""
    return combine(list(values))


def side_by_side(*values: Any) -> tuple[Any, ...]:
    """Some values as a tuple."""
    return values


def as_it_is(value: Any) -> Any:
    """The value."""
    return value


@dataclass(eq=False)
class LocalPieces(Pieces):
    """Pieces in the memory of this process.

    Parameters
    ----------
    values : sequence

    Examples
    --------
    >>> pieces = LocalPieces([[1, 2], [3]])
    >>> pieces.map(sorted).gather(sum)
    [3, 3]
    """

    values: Sequence[Any] = ()

    def __len__(self) -> int:
        return len(self.values)

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> LocalPieces:
        """As :meth:`Pieces.map`."""
        made = []
        for value, own in zip(self.values, self._own(each), strict=True):
            made.append(function(value, *shared, *own))
            answered(len(made), len(self))
        self.traffic.count([shared] * len(self) + list(each or ()), ())
        return LocalPieces(made, traffic=self.traffic)

    def gather(
        self,
        function: Callable[..., Any],
        *shared: Any,
        each: Sequence[Any] | None = None,
        deadline: Deadline = UNLIMITED,
    ) -> list[Any]:
        """As :meth:`Pieces.gather`."""
        answers = []
        for value, own in zip(self.values, self._own(each), strict=True):
            deadline.check()
            answers.append(function(value, *shared, *own))
            answered(len(answers), len(self))
        self.traffic.count([shared] * len(self) + list(each or ()), answers)
        return answers

    def combined(
        self,
        function: Callable[..., Any],
        combine: Callable[[list[Any]], Any],
        *shared: Any,
        deadline: Deadline = UNLIMITED,
    ) -> Any:
        """As :meth:`Pieces.combined`."""
        held: list[Any] = []
        for value in self.values:
            deadline.check()
            held.append(function(value, *shared))
            if len(held) == TOGETHER:
                held = [combine(held)]
        whole = combine(held)
        self.traffic.count([shared] * len(self), [whole])
        return whole

    def beside(self, *others: Pieces) -> LocalPieces:
        """As :meth:`Pieces.beside`."""
        held = [
            other.values if isinstance(other, LocalPieces) else other.gather(as_it_is)
            for other in others
        ]
        made = list(zip(self.values, *held, strict=True))
        return LocalPieces(made, traffic=self.traffic)

    def together(self, number: int, combine: Callable[[list[Any]], Any]) -> LocalPieces:
        """As :meth:`Pieces.together`."""
        made = [combine(list(some)) for some in in_groups(self.values, number)]
        return LocalPieces(made, traffic=self.traffic)

    def _own(self, each: Sequence[Any] | None) -> list[tuple[Any, ...]]:
        return [()] * len(self) if each is None else [(own,) for own in each]


def size_of(value: Any) -> int:
    """Bytes of a value on its way between processes, about.

    >>> size_of(np.zeros(1000)), size_of((np.zeros(10), [np.zeros(5)]))
    (8000, 120)
    """
    if isinstance(value, np.ndarray) and value.dtype != object:
        return int(value.nbytes)
    if isinstance(value, (tuple, list)) and any(isinstance(v, (np.ndarray, tuple)) for v in value):
        return sum(map(size_of, value))
    try:
        return len(pickle.dumps(value, protocol=5))
    except (pickle.PicklingError, TypeError, AttributeError):
        return 0
