"""Inspections in colour, for terminals."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from formulakern.kernels.algebra import Inspection, Section


def show_inspection(inspection: Inspection, console: Console | None = None) -> None:
    """Print an inspection, with colours if the output is a terminal.

    On a terminal, long lines are wrapped at the right of the title column.
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
