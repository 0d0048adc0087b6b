"""What only a terminal shows: a progress bar while it works, and colours."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.syntax import Syntax
from rich.text import Text

from formulakern.kernels.inspection import Inspection, Section

__all__ = ["Progress", "show_inspection"]


class Progress:
    """A progress bar on standard error; not a byte is written where that is no terminal.

    Parameters
    ----------
    total : int
        Number of steps.
    console : Console, optional
        Where to draw it; standard error by default.
    """

    def __init__(self, total: int, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            transient=True,
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=total)
        self._total = total
        self._begun = 0

    def advance(self, what: str) -> None:
        """Say what begins; whatever was begun before is done."""
        self._bar.update(self._task, description=what, completed=self._begun)
        self._begun += 1

    def reach(self, share: float, what: str) -> None:
        """Say which share of the whole is done."""
        self._bar.update(self._task, description=what, completed=share * self._total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()


def show_inspection(inspection: Inspection, console: Console | None = None) -> None:
    """Print an inspection: as it is, or with colours where it goes to a terminal.

    On a terminal long lines are continued to the right of the rule.

    Parameters
    ----------
    inspection : Inspection
    console : Console, optional
        Standard output by default.
    """
    console = console or Console(highlight=False)
    if not console.is_terminal:
        print(inspection, file=console.file or sys.stdout)
        return
    console.print(Text(inspection.title, style="bold"), soft_wrap=True)
    console.print()
    left = max(len(section.title) for section in inspection.sections)
    for number, section in enumerate(inspection.sections):
        if number:
            console.print(Text(f"{'':>{left}} │", style="dim"))
        title = section.title
        for line in _coloured(section).split():
            for piece in line.wrap(console, max(20, console.width - left - 3), overflow="fold"):
                gutter = Text.assemble((f"{title:>{left}}", "cyan"), (" │ ", "dim"))
                console.print(gutter + piece, soft_wrap=True)
                title = ""


def _coloured(section: Section) -> Text:
    if section.title.endswith("source"):
        text = Syntax("", "python", theme="ansi_dark").highlight(section.text)
        text.rstrip()
        return text
    return Text(section.text)
