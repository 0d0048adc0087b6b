"""Printing: ASCII text that parses back, Unicode, LaTeX, always with the fewest parentheses.

An operand gets parentheses when its connective binds no tighter than the one around it.  Arrows
(``->`` and its relatives) keep theirs wherever they are operands, because Python's ``>>`` binds
differently and a reader of both should never have to remember which rule is in force; and so do
comparisons under ``~``, which nobody should take for the negation of their left side.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from formulakern.errors import FormulaSizeError
from formulakern.syntax.connectives import Connective

__all__ = ["ASCII", "LATEX", "MAX_PRINTED_LEAVES", "UNICODE", "Notation", "latex_name", "render"]

#: A formula with more leaves than this is not printed (shared subformulas can stand for 2^60).
MAX_PRINTED_LEAVES = 2_000_000

Style = Literal["ascii", "unicode", "latex"]


@dataclass(frozen=True)
class Notation:
    """How one printed form spells connectives, constants and parentheses."""

    style: Style
    sign: Callable[[Connective], str]
    true: str
    false: str
    opening: str = "("
    closing: str = ")"
    after_not: str = ""


ASCII = Notation("ascii", lambda row: row.sign, "true", "false")
UNICODE = Notation("unicode", lambda row: row.unicode, "⊤", "⊥")
LATEX = Notation("latex", lambda row: row.latex, r"\top", r"\bot", r"\left(", r"\right)", " ")


#: Signs of names in mathematics; the others follow a backslash.
SIGNS = {
    "\\": r"{\backslash}",
    "~": r"\text{\textasciitilde}",
    "^": r"\text{\textasciicircum}",
    "<": "{<}",
    ">": "{>}",
    "|": "{|}",
}


def latex_name(name: str) -> str:
    r"""Return a variable's or column's name for math mode: a letter, or text.

    Special characters are outside of ``\text``, because MathJax shows backslashes inside it.

    >>> print(latex_name("a"), latex_name("A14"), latex_name("top-left square"))
    a \text{A14} \text{top-left square}
    >>> print(latex_name("stalk_root"))
    \text{stalk}\_\text{root}
    """
    if len(name) == 1 and name.isalpha():
        return name
    parts = re.split(r"([#$%&_{}\\~^<>|])", name)
    parts[::2] = [rf"\text{{{text}}}" if text else "" for text in parts[::2]]
    parts[1::2] = [SIGNS.get(sign, "\\" + sign) for sign in parts[1::2]]
    return "".join(parts)


def render(root: Any, notation: Notation) -> str:
    """Print a formula (any object with ``connective``, ``arguments``, ``leaf_text``), iteratively.

    Raises
    ------
    FormulaSizeError
        If it has more than ``MAX_PRINTED_LEAVES`` leaves.
    """
    if root.n_leaves > MAX_PRINTED_LEAVES:
        raise FormulaSizeError(
            f"a formula with {root.n_leaves:,} leaves is not printed; "
            f"at most {MAX_PRINTED_LEAVES:,} are. Print its parts: formula.arguments."
        )
    pieces: list[str] = []
    pending: list[Any] = [root]  # formulas still to print, and text that goes between them
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        row = item.connective
        if row is None:
            pieces.append(item.leaf_text(notation))
            continue
        sign = notation.sign(row)
        parts: list[Any] = []
        if row.arity == 1:
            parts.append(sign + notation.after_not)
        for position, argument in enumerate(item.arguments):
            if position:
                parts.append(f" {sign} ")
            if _needs_parentheses(argument, row):
                parts += [notation.opening, argument, notation.closing]
            else:
                parts.append(argument)
        pending.extend(reversed(parts))
    return "".join(pieces)


def _needs_parentheses(operand: Any, outer: Connective) -> bool:
    inner: Connective | None = operand.connective
    if inner is None:
        return outer.arity == 1 and operand.spaced
    if inner.arity == 1:
        return False
    return inner.precedence <= outer.precedence or inner.chain == "right"
