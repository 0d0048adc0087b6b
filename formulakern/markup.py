"""HTML from the package's templates, with escaped values, and tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Barred:
    """A cell with a bar from ``start`` to ``end`` (shares of the width), orange if reversed."""

    text: str
    start: float
    end: float


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("formulakern")
    return Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def rendered(template: str, **values: Any) -> str:
    """Return a template of ``formulakern/templates`` filled with these values.

    >>> "a &lt; b" in rendered("notebook_table.html", head=["a < b"], rows=[], sides="<",
    ...                        caption="", foot="")
    True
    """
    return _environment().get_template(template).render(values)


def small_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str | Barred]],
    sides: str,
    caption: str = "",
    foot: str = "",
) -> str:
    """Return an HTML table for notebooks that needs no style sheet.

    >>> shown = small_table(["rule"], [["x < 3"]], "r", "one rule")
    >>> "x &lt; 3" in shown, "<caption" in shown
    (True, True)
    >>> "50.0%" in small_table(["share"], [[Barred("0.5", 0.0, 0.5)]], ">")
    True
    """
    values = {"head": head, "rows": rows, "sides": sides, "caption": caption, "foot": foot}
    return rendered("notebook_table.html", **values)
