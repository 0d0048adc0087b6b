"""Ctrl-C during a fit: it ends the search for a model and keeps the best model found.

A fit has three phases.  Before its solver begins, Ctrl-C ends the fit.  The solver handles
KeyboardInterrupt and keeps its best so far.  After the solver, the first Ctrl-C waits until the fit
is complete; a second one does not wait.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class _Handler:
    """The handler of SIGINT during a fit or an indivisible step."""

    def __init__(self) -> None:
        self.usual: Any = None
        self.held = self.searching = self.presses = 0
        self.found = self.waiting = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.presses += 1
        if self._postpones() and not self.waiting:
            self.waiting = True
        else:
            self.waiting = False
            self.usual(number, frame)

    def begin(self) -> bool:
        """Replace the usual handler, with interrupts held; return True if this call replaced it."""
        usual = signal.getsignal(signal.SIGINT)
        if usual is self or not callable(usual):
            return False
        self.usual, self.held, self.searching = usual, 1, 0
        self.found = self.waiting = False
        signal.signal(signal.SIGINT, self)
        return True

    def deliver(self) -> None:
        """Pass a waiting interrupt to the usual handler, unless it must wait longer."""
        if self.waiting and not self._postpones():
            self.waiting = False
            self.usual(signal.SIGINT, None)

    def _postpones(self) -> bool:
        return bool(self.held or (self.found and not self.searching))


_HANDLER = _Handler()


def presses() -> int:
    """Return the number of presses of Ctrl-C during the fits of this process, ended or not.

    >>> presses() >= 0
    True
    """
    return _HANDLER.presses


def _in_main_thread() -> bool:
    """Return True if signals are delivered to this thread."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def held() -> Iterator[None]:
    """Delay the first Ctrl-C until an indivisible step is done.

    >>> with held():
    ...     pair = 1, 2
    """
    if not _in_main_thread():
        yield
        return
    first = _HANDLER.begin()
    _HANDLER.held += not first
    try:
        yield
    finally:
        if first:
            signal.signal(signal.SIGINT, _HANDLER.usual)
        _HANDLER.held -= 1
        _HANDLER.deliver()


@contextmanager
def interruptible(*, finds: bool = True) -> Iterator[None]:
    """Raise KeyboardInterrupt at once on Ctrl-C; the caller catches it and keeps its best."""
    if not _in_main_thread():
        yield
        return
    before = _HANDLER.found
    _HANDLER.searching += 1
    try:
        _HANDLER.deliver()
        yield
    finally:
        _HANDLER.found = finds or before
        _HANDLER.searching -= 1


@contextmanager
def completed() -> Iterator[None]:
    """Complete a fit that has a model before Ctrl-C ends it; the block is the whole fit."""
    if not _in_main_thread():
        yield
        return
    before, first = _HANDLER.found, _HANDLER.begin()
    try:
        _HANDLER.found = False
        _HANDLER.held -= first
        _HANDLER.deliver()
        yield
    finally:
        if first:
            signal.signal(signal.SIGINT, _HANDLER.usual)
        late = first and _HANDLER.waiting
        _HANDLER.found = before
        if not first:
            _HANDLER.deliver()
    if late and _HANDLER.usual is not signal.default_int_handler:
        _HANDLER.usual(signal.SIGINT, None)
    elif late:
        warnings.warn("interrupted after the search: the model is complete.", stacklevel=6)
