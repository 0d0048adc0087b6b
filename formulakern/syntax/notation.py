"""Printing: ASCII text that parses back, Unicode, LaTeX, always with the fewest parentheses.

An operand gets parentheses when its connective binds no tighter than the one around it.  Arrows
(``->`` and its relatives) keep theirs wherever they are operands, because Python's ``>>`` binds
differently and a reader of both should never have to remember which rule is in force; and so do
comparisons under ``~``, which nobody should take for the negation of their left side.
"""

from __future__ import annotations

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


def latex_name(name: str) -> str:
    """A variable's or column's name in LaTeX; ``x12`` becomes a subscript.

    >>> latex_name("x12"), latex_name("stalk_root")
    ('x_{12}', '\\\\mathrm{stalk\\\\_root}')
    """
    if len(name) == 1 and name.isalpha():
        return name
    if name[0].isalpha() and name[1:].isascii() and name[1:].isdigit():
        return f"{name[0]}_{{{name[1:]}}}"
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {character: "\\" + character for character in "#$%&_{} "}
    escaped = "".join(special.get(character, character) for character in name)
    return rf"\mathrm{{{escaped}}}"


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
