"""What long work says while it goes on: lines, and a bar on a terminal; all on standard error."""

from __future__ import annotations

import sys
from typing import Any, Self

__all__ = ["Progress", "say"]


def say(text: str) -> None:
    """Write one line to standard error, at once."""
    print(text, file=sys.stderr, flush=True)


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
        self._total, self._begun = total, 0
        if not shown:
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
            disable=not (console.is_terminal or console.is_jupyter),
        )
        self._task = self._bar.add_task("starting", total=total)

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

    def line(self, text: str) -> None:
        """Write a line, above the bar."""
        if self._bar is None:
            say(text)
        else:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
