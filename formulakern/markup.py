"""HTML that is made of values: what is no markup yet is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["Markup", "barred", "element", "joined", "small_table"]

#: Elements that hold nothing.
VOID = frozenset({"br", "circle", "col", "hr", "input", "line", "link", "meta", "path", "rect"})
#: Captions of so few characters are not broken.
SHORT = 100
#: How cells stand: numbers below one another, rules in a face of one width.
CELL = "padding:.2em .8em;vertical-align:top;"
SIDES = {
    "<": "text-align:left;white-space:nowrap;",
    ">": "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;",
    "r": "text-align:left;font-family:ui-monospace,monospace;",
}


class Markup(str):
    """Text that is HTML already.

    >>> Markup("<b>") + Markup("x")
    Markup('<b>x')
    """

    __slots__ = ()

    @classmethod
    def of(cls, value: object) -> Markup:
        """A value as HTML: markup as it is, other values as text.

        >>> Markup.of('<a href="x">')
        Markup('&lt;a href=&quot;x&quot;&gt;')
        """
        return value if isinstance(value, Markup) else cls(html.escape(str(value)))

    def __add__(self, other: str) -> Markup:
        return Markup(str(self) + str(Markup.of(other)))

    def __repr__(self) -> str:
        return f"Markup({str(self)!r})"


def joined(parts: Sequence[object], between: str = "") -> Markup:
    """Values one after another, as HTML.

    >>> joined([Markup("<b>"), "<"], " ")
    Markup('<b> &lt;')
    """
    return Markup(str(Markup.of(between)).join(map(Markup.of, parts)))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element; None and False among its attributes are left out, True stands without a value.

    ``class_`` stands for ``class``, and an underscore inside for a hyphen.

    >>> element("th", "a < b", class_="wide", aria_sort="none", hidden=False)
    Markup('<th class="wide" aria-sort="none">a &lt; b</th>')
    """
    said = []
    for key, value in attributes.items():
        if value is not None and value is not False:
            given = "" if value is True else f'="{Markup.of(value)}"'
            said.append(f" {key.rstrip('_').replace('_', '-')}{given}")
    start = f"<{name}{''.join(said)}"
    return Markup(f"{start}/>" if name in VOID else f"{start}>{joined(children)}</{name}>")


def barred(text: str, start: float, end: float) -> Markup:
    """Text over a bar between two shares of the width, orange where it goes to the left.

    Colours let through what is behind them, light or dark.

    >>> "50.0%" in barred("0.5", 0.0, 0.5)
    True
    """
    colour = "rgba(30,120,200,.75)" if end >= start else "rgba(215,95,25,.85)"
    low, high = 100 * min(start, end), 100 * max(start, end)
    bar = f"{colour} {low:.1f}%,{colour} {high:.1f}%"
    stops = f"transparent {low:.1f}%,{bar},transparent {high:.1f}%"
    style = f"display:block;height:3px;min-width:5em;background:linear-gradient(90deg,{stops});"
    return Markup.of(text) + element("span", style=style)


def small_table(
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    sides: str,
    caption: str = "",
    foot: str = "",
) -> Markup:
    """A table for notebooks, which needs no style sheet.

    Parameters
    ----------
    head : sequence of str
    rows : sequence of sequences
        Cells; what is no :class:`Markup` is escaped.
    sides : str
        Of each column: "<" text, ">" numbers, "r" rules.
    caption, foot : str
        Lines above and below.

    Examples
    --------
    >>> shown = small_table(["rule"], [["x < 3"]], "r", "one rule")
    >>> "x &lt; 3" in shown, "<caption" in shown
    (True, True)
    """
    styles = [CELL + SIDES[side] for side in sides]
    cells = zip(head, sides, strict=True)
    names = [
        element("th", name, scope="col", style=f"{CELL}{SIDES['<' if side == 'r' else side]}")
        for name, side in cells
    ]
    body = [
        element("tr", *(element("td", x, style=s) for x, s in zip(row, styles, strict=True)))
        for row in rows
    ]
    above = "caption-side:top;text-align:left;padding:.2em .8em;color:inherit;"
    above += "white-space:nowrap;" if len(caption) < SHORT else ""
    table = element(
        "table",
        element("caption", caption, style=above) if caption else "",
        element("thead", element("tr", *names)),
        element("tbody", *body),
        style="border-collapse:collapse;margin:.3em 0;",
    )
    return table + element("p", foot, style="margin:.3em .8em;") if foot else table
