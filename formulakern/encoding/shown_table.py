"""The first rows of a table, as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from formulakern.text import aligned, clip

__all__ = ["cell", "table_html", "table_text"]

#: Characters of a line and of a cell, and columns of HTML.
SHOWN_WIDTH = 100
SHOWN_CELL = 24
SHOWN_COLUMNS = 20


def cell(value: object) -> str:
    """An entry in few characters; a point where it is missing.

    >>> cell(2 / 3), cell(None), cell("a\\tb")
    ('0.666667', '·', 'a�b')
    """
    if value is None or value != value:
        return "·"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return clip(text, SHOWN_CELL)


def table_text(head: Sequence[Sequence[str]], rows: int, columns: int) -> str:
    """A table as text.

    Parameters
    ----------
    head : sequence of columns, each its name and the cells of the first rows
    rows, columns : int
        How many the table has.
    """
    title = f"Table: {rows:,} row{'s'[: rows != 1]}, {columns:,} column{'s'[: columns != 1]}"
    n_shown = len(head[0]) - 1 if head else 0
    index = ["", *map(str, range(n_shown))]
    room = SHOWN_WIDTH - len(index[-1])
    widths = np.cumsum([2 + max(map(len, cells)) for cells in head])
    fitting = max(int((widths <= room).sum()), min(1, columns))
    cells = zip(index, *head[:fitting], strict=True)
    lines = aligned([*map(list, cells)], ">" * (fitting + 1)) if columns else []
    if fitting < columns:
        lines[0] += f"  … {columns - fitting} more"
    if rows > n_shown and columns:
        lines.append("…")
    return "\n".join([title, *lines])


def table_html(head: Sequence[Sequence[str]], rows: int, columns: int) -> str:
    """A table as HTML; parameters as of :func:`table_text`."""
    shown = head[:SHOWN_COLUMNS]
    more = "<th>…</th>" if columns > len(shown) else ""
    names = "".join(f"<th>{html.escape(cells[0])}</th>" for cells in shown)
    body = "".join(
        f"<tr><th>{row}</th>"
        + "".join(f"<td>{html.escape(cells[row + 1])}</td>" for cells in shown)
        + "</tr>"
        for row in range(len(head[0]) - 1 if head else 0)
    )
    return (
        f"<table><caption>{rows:,} rows, {columns:,} columns</caption>"
        f"<thead><tr><th></th>{names}{more}</tr></thead><tbody>{body}</tbody></table>"
    )
