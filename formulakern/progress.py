"""Progress of long work on standard error: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from importlib.util import find_spec
from typing import Any, Self

from formulakern.checks import is_number
from formulakern.deadline import Deadline
from formulakern.interrupts import held

#: Draws of a bar per second.
DRAWN = 4
#: The largest width of a title with its activity, and the smallest width of a bar.
MAX_TITLE, MIN_BAR = 30, 8
#: Seconds between lines about one activity, and before the line about another one.
BETWEEN, BEFORE = 10.0, 1.0

#: The bar that is drawn, and the innermost work in progress.
_drawn: ContextVar[Progress | None] = ContextVar("formulakern.drawn", default=None)
_working: ContextVar[Progress | None] = ContextVar("formulakern.working", default=None)


class Progress:
    """A bar with the activity, the results so far, and the time with its limit; or lines.

    Parameters
    ----------
    title : str
        The name of the work.  Without a title, it is a command, which writes lines about the work
        inside it, too, unless standard error is a terminal.
    verbose : int
        0: neither bar nor lines.  1: a bar on a terminal or in a notebook, otherwise lines.  2:
        both.
    limit : float, optional
        The time limit in seconds; the bar is at least as long as the share of it that has passed.

    Examples
    --------
    >>> with Progress("PRLClassifier", 0, 5.0) as progress:
    ...     progress.at(0.5, "growing", "gap 0.1, 12 rules", "a line")
    """

    def __init__(self, title: str = "", verbose: int = 1, limit: Any = None) -> None:
        self.verbose, self._title = int(verbose), title
        self._limit = float(limit) if is_number(limit) and limit else None
        self._share, self._what, self._known = 0.0, "", ""
        self._stage, self._done, self._passes, self._line_at = "", 0, 0, 0.0
        self._bar: Any = None
        self._written, self._written_about = False, ""
        self._tokens: list[tuple[ContextVar[Progress | None], Token[Progress | None]]] = []
        self._since = Deadline.clock()

    def __enter__(self) -> Self:
        try:
            with held():
                self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with held():
            while self._tokens:
                variable, token = self._tokens.pop()
                variable.reset(token)
            if self._bar is not None:
                self._bar.stop()

    def _start(self) -> None:
        self._tokens.append((_working, _working.set(self)))
        if self.verbose < 1 or _drawn.get() is not None:
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        if find_spec("ipywidgets") is None if console.is_jupyter else not console.is_terminal:
            if not self._title:
                self._tokens.append((_drawn, _drawn.set(self)))
            return
        self._bar = Live(
            console=console, transient=True, refresh_per_second=DRAWN, get_renderable=self._rendered
        )
        self._tokens.append((_drawn, _drawn.set(self)))
        self._bar.start()

    def at(self, share: float, what: str, known: str = "", line: str = "") -> None:
        """Set a lower bound of the share that is done, the activity, and the results so far.

        ``line`` is written if no bar is drawn, and above the bar if ``verbose`` is 2.
        """
        new = what != self._what
        if new and not self._title:
            self._known = ""
        self._share, self._what, self._known = max(self._share, share), what, known or self._known
        self._show(known, new)
        if line and self._writes():
            self._written = True
            self.line(line)

    def line(self, text: str) -> None:
        """Write a line above the bar."""
        drawn = self._bar or getattr(_drawn.get(), "_bar", None)
        if drawn is None:
            print(text, file=sys.stderr, flush=True)
            return
        with held():
            drawn.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def end(self, known: str) -> None:
        """Write the final line, in place of the bar or if no line has been written."""
        if self._bar is not None or (self.verbose and not self._written):
            self.line(f"{self._title}: {known}; {_seconds(Deadline.clock() - self._since)}")

    def _writes(self) -> bool:
        return self.verbose > int(_drawn.get() is not None)

    def _show(self, known: str, now: bool) -> None:
        """Draw the bar now, or show the results in the outer bar."""
        outer = _drawn.get()
        if self._bar is None and outer is not None and known:
            outer._known = known
        if outer is not None and outer._bar is None:
            outer._write()
        elif self._bar is not None and now:  # shows every activity, however short
            with held():
                self._bar.refresh()

    def _write(self) -> None:
        """Write a line about the activity of a command, unless the last one is too recent."""
        now = Deadline.clock()
        pause = BETWEEN if self._what == self._written_about else BEFORE
        if now - (self._line_at or self._since) >= pause:
            self._line_at, self._written_about = now, self._what
            self.line(
                ", ".join(filter(None, (self._what, self._known, _seconds(now - self._since))))
            )

    def _rendered(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        taken = Deadline.clock() - self._since
        share, time = self._share, _seconds(taken)
        if self._limit is not None:
            share, time = max(share, taken / self._limit), f"{time} of {_seconds(self._limit)}"
        title = ": ".join(filter(None, (self._title, self._what)))
        grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(ratio=1, min_width=MIN_BAR)
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, justify="right")
        title = title if len(title) <= MAX_TITLE else self._what
        known = self._known or f"{100 * min(1.0, share):.0f} %"
        grid.add_row(title, ProgressBar(1.0, min(1.0, share)), known, time)
        return grid

    # -- stages before the learning, each with its own share -----------------------------------

    def _begin(self, what: str) -> None:
        """Begin a stage, or end it with ""."""
        if self._stage:
            self._share, self._known = 0.0, ""
        self._stage, self._done, self._passes = what, 0, 0
        self._what, self._line_at = what or self._what, Deadline.clock()

    def _answered(self, done: int, total: int) -> None:
        """Show how many partitions are done, with at most one line in ten seconds."""
        if not self._stage or not total:
            return
        if done < self._done or not self._passes:
            self._passes += 1
        self._done, self._share = done, done / total
        known = [f"pass {self._passes}"] if self._passes > 1 else []
        self._known = ", ".join(known + [f"{done:,} of {total:,} partitions"] * (total > 1))
        self._show(self._known, False)
        if self._writes() and Deadline.clock() - self._line_at >= BETWEEN:
            self._line_at = Deadline.clock()
            self.line(f"{self._what}: {self._known}")


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Name the work before a fit begins to learn; :func:`answered` counts its partitions."""
    fit = _working.get()
    if fit is None:
        yield
        return
    fit._begin(what)
    try:
        yield
    finally:
        fit._begin("")


def answered(done: int, total: int) -> None:
    """Show how many partitions of a table are done, within a stage of a fit."""
    if (fit := _working.get()) is not None:
        fit._answered(done, total)


def _seconds(seconds: float) -> str:
    """Return seconds, or minutes and seconds.

    >>> _seconds(4.25), _seconds(20), _seconds(75)
    ('4.2 s', '20.0 s', '1:15 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02} min"
