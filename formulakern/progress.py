"""What long work says while it goes on: lines, and a bar on a terminal; all on standard error.

A bar that opens while another one shows, as in the fits of a cross-validation, draws nothing: what
it knows stands in the other one.
"""

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

__all__ = ["FitProgress", "Progress", "answered", "current", "say", "seconds_text", "stage"]

#: How often the bar of a fit is drawn, per second.
DRAWN = 4
#: Characters of what is being done, with its title, at most; and of the bar, at least.
SAID, LEAST = 30, 8

#: Seconds between the lines about one stage, where there is no bar.
BETWEEN = 10.0

_shown: ContextVar[Progress | None] = ContextVar("formulakern.progress", default=None)
_fitting: ContextVar[FitProgress | None] = ContextVar("formulakern.fit", default=None)


def say(text: str) -> None:
    """Write one line to standard error, at once."""
    print(text, file=sys.stderr, flush=True)


def current() -> Progress:
    """The bar that shows; one that never does where there is none."""
    return _shown.get() or _NONE


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Say what is done before a fit begins to learn; :func:`answered` says how far that is.

    Parameters
    ----------
    what : str
    """
    fit = _fitting.get()
    if fit is None:
        yield
        return
    fit.begin(what)
    try:
        yield
    finally:
        fit.begin("")


def answered(done: int, total: int) -> None:
    """Say of how many parts of a table the answer is there, in a stage of a fit."""
    fit = _fitting.get()
    if fit is not None:
        fit.parts(done, total)


class Progress:
    """A progress bar on standard error; not a byte is written where that is no terminal.

    Parameters
    ----------
    total : int
        Number of steps.
    shown : bool
        False for a bar that never shows.
    console : rich.console.Console, optional
        Where to draw it; standard error by default.

    Examples
    --------
    >>> with Progress(2, shown=False) as bar:
    ...     bar.advance("first half")
    ...     bar.reach(0.75, "second half")
    """

    def __init__(self, total: int = 1, *, shown: bool = True, console: Any = None) -> None:
        self._bar: Any = None
        self._token: Token[Progress | None] | None = None
        self._total, self._begun = total, 0
        if not shown or _shown.get() is not None:
            return
        from rich import progress
        from rich.console import Console

        console = console or Console(stderr=True)
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TextColumn("{task.percentage:>3.0f} %"),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            transient=True,
            console=console,
            disable=not _draws(console),
        )
        self._task = self._bar.add_task("starting", total=total)

    @property
    def drawn(self) -> bool:
        """Whether there is a bar, and not just lines."""
        return self._bar is not None and not self._bar.disable

    def advance(self, what: str) -> None:
        """Say what begins; whatever was begun before is done."""
        self.reach(self._begun / self._total, what)
        self._begun += 1
        if self._bar is not None:
            self._bar.refresh()  # each step is seen, however short it is

    def reach(self, share: float, what: str) -> None:
        """Say which share of the whole is done."""
        if self._bar is not None:
            self._bar.update(self._task, description=what, completed=share * self._total)
        elif self is not current():
            current().tell(what)

    def tell(self, known: str) -> None:
        """Say what is known so far, where there is a place for that."""

    def line(self, text: str) -> None:
        """Write a line, above the bar."""
        if self._bar is not None:
            with held():
                self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self is not current():
            current().line(text)
        else:
            say(text)

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
            self._stop()

    def _start(self) -> None:
        if self._bar is not None:
            self._token = _shown.set(self)
            self._bar.start()

    def _stop(self) -> None:
        if self._token is not None:
            _shown.reset(self._token)
            self._token = None
            self._bar.stop()


class FitProgress(Progress):
    """How far a fit is that ends where a gap is closed or time is over: a bar, or lines.

    The bar has what is being done, what is known so far, and the time with its limit.

    Parameters
    ----------
    verbose : int
        0: neither bar nor lines.  1: a bar on a terminal or in a notebook, else lines.  2: both.
    title : str
        What is fitted.
    limit : float, optional
        Seconds.
    drawn : bool
        False for lines alone.
    console : rich.console.Console, optional
        Where to draw it; standard error by default.

    Examples
    --------
    >>> with FitProgress(0, "PRLClassifier", 5.0) as bar:
    ...     bar.at(0.5, "growing", "gap 0.1, 12 rules", "a line")
    """

    def __init__(
        self,
        verbose: int,
        title: str,
        limit: float | None = None,
        *,
        drawn: bool = True,
        console: Any = None,
    ) -> None:
        super().__init__(shown=False)
        self.verbose, self._title = int(verbose), title
        self._limit = float(limit) if is_number(limit) and limit else None
        self._share, self._what, self._known = 0.0, "reading", ""
        self._stage, self._done, self._passes, self._said = "", 0, 0, 0.0
        self._fit: Token[FitProgress | None] | None = None
        self._since = Deadline.clock()
        if self.verbose < 1 or not drawn or _shown.get() is not None:
            return
        from rich.console import Console
        from rich.live import Live

        console = console or Console(stderr=True)
        if _draws(console):
            self._bar = Live(
                console=console,
                transient=True,
                refresh_per_second=DRAWN,
                get_renderable=self._rendered,
            )

    @property
    def drawn(self) -> bool:  # noqa: D102
        return self._bar is not None

    def _start(self) -> None:
        self._fit = _fitting.set(self)
        super()._start()

    def _stop(self) -> None:
        if self._fit is not None:
            _fitting.reset(self._fit)
            self._fit = None
        super()._stop()

    def begin(self, what: str) -> None:
        """Begin a stage before the learning, whose share is its own; "" ends it."""
        if self._stage:
            self._share, self._known = 0.0, ""
        self._stage, self._done, self._passes = what, 0, 0
        self._what, self._said = what or self._what, Deadline.clock()

    def parts(self, done: int, total: int) -> None:
        """Say of how many parts of a table the answer is there, within a stage.

        Where there is no bar a line is written, as long as a stage lasts, every ten seconds.
        """
        if not self._stage or not total:
            return
        if done < self._done or not self._passes:
            self._passes += 1
        self._done, self._share = done, done / total
        known = [f"pass {self._passes}"] if self._passes > 1 else []
        self._known = ", ".join(known + [f"{done:,} of {total:,} parts"] * (total > 1))
        if self._bar is None:
            current().tell(self._known)
        if self.verbose > int(current().drawn) and Deadline.clock() - self._said >= BETWEEN:
            self._said = Deadline.clock()
            current().line(f"{self._what}: {self._known}")

    def at(self, share: float, what: str, known: str = "", line: str = "") -> None:
        """Say which share is done at least, what is being done, what is known, and a line of it.

        The line is written where there is no bar, and above it where ``verbose`` is 2.
        """
        self._share, self._what, self._known = max(self._share, share), what, known or self._known
        if self._bar is None and known:
            current().tell(known)
        if line and self.verbose > int(current().drawn):
            current().line(line)

    def fold_at(self, share: float, what: str, n_folds: int, number: int) -> None:
        """Say which share is done at least, and of which of so many folds something is done."""
        self.at(share, f"{what}, fold {number + 1} of {n_folds}")

    def reach(self, share: float, what: str) -> None:
        """Say which share of the whole is done."""
        self.at(share, what)

    def tell(self, known: str) -> None:
        """Say what is known so far."""
        self._known = known

    def end(self, known: str, told: bool = True) -> None:
        """Write the line that stays when the bar goes.

        Where there is no bar it is written too, unless lines have ``told`` as much.
        """
        if self._bar is not None or (self.verbose and not told):
            taken = seconds_text(Deadline.clock() - self._since)
            self.line(f"{self._title}: {known}; {taken}")

    def _rendered(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        taken = Deadline.clock() - self._since
        share = self._share if self._limit is None else max(self._share, taken / self._limit)
        time = seconds_text(taken)
        if self._limit is not None:
            time += f" of {seconds_text(self._limit)}"
        grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(ratio=1, min_width=LEAST)
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, justify="right")
        said = f"{self._title}: {self._what}"
        said = said if len(said) <= SAID else self._what
        grid.add_row(said, ProgressBar(1.0, min(1.0, share)), self._known, time)
        return grid


def seconds_text(seconds: float) -> str:
    """Seconds, or minutes and seconds.

    >>> seconds_text(4.25), seconds_text(20), seconds_text(75)
    ('4.2 s', '20.0 s', '1:15 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02} min"


def _draws(console: Any) -> bool:
    """Whether a bar can be drawn there: on a terminal, or by the widgets of a notebook."""
    if console.is_jupyter:
        return find_spec("ipywidgets") is not None
    return bool(console.is_terminal)


_NONE = Progress(shown=False)
