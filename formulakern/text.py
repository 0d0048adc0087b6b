"""Text laid out in columns: blocks with a title on the left, and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

__all__ = ["WIDTH", "blocks", "clip", "markdown", "table"]

#: Reports keep to so many columns.
WIDTH = 100


def blocks(pairs: Sequence[tuple[str, str]], width: int = WIDTH) -> str:
    """Titles on the left of a rule, texts on its right; long lines are continued below.

    >>> print(blocks([("data", "two rows"), ("kernel", "K = s\\nread as bound")]))
      data │ two rows
    kernel │ K = s
           │ read as bound
    """
    left = max(len(title) for title, _ in pairs)
    lines = []
    for title, text in pairs:
        pieces = [
            piece
            for line in text.splitlines()
            for piece in textwrap.wrap(line, width - left - 3, break_on_hyphens=False) or [""]
        ]
        for number, piece in enumerate(pieces or [""]):
            lines.append(f"{title if number == 0 else '':>{left}} │ {piece}".rstrip())
    return "\n".join(lines)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right.

    >>> print(table(["kernel", "accuracy"], [["a & b", "99.1"], ["linear", "98"]]))
    kernel  accuracy
    ────────────────
    a & b       99.1
    linear        98
    """
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *others = cells
        padded = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        return "  ".join([f"{first:<{widths[0]}}", *padded])

    return "\n".join([line(head), "─" * len(line(head)), *map(line, rows)])


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same table in Markdown.

    >>> print(markdown(["kernel", "accuracy"], [["`a | b`", "99.1"]]))
    | kernel | accuracy |
    |---|---:|
    | `a \\| b` | 99.1 |
    """
    lines = [[cell.replace("|", "\\|") for cell in row] for row in [head, *rows]]
    text = ["| " + " | ".join(row) + " |" for row in lines]
    return "\n".join([text[0], "|---" + "|---:" * (len(head) - 1) + "|", *text[1:]])


def clip(text: str, limit: int) -> str:
    """At most so many characters, the last of them "…" if some are left out.

    >>> clip("a & b & c", 6), clip("a & b", 6)
    ('a & b…', 'a & b')
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
