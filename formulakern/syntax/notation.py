"""How names and formulas are written: ASCII that parses back, Unicode, LaTeX; few parentheses.

An operand gets parentheses when its connective binds no tighter than the one around it.  Arrows
(``->`` and its relatives) keep theirs wherever they are operands, because Python's ``>>`` binds
differently and a reader of both should never have to remember which rule is in force; and so do
comparisons under ``~``, which nobody should take for the negation of their left side.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from formulakern.errors import FormulaSizeError
from formulakern.syntax.connectives import CONNECTIVES, Connective

__all__ = [
    "ASCII",
    "BARE",
    "LATEX",
    "MAX_PRINTED_LEAVES",
    "RESERVED_WORDS",
    "UNICODE",
    "Notation",
    "backquote",
    "is_bare",
    "latex_name",
    "quote",
    "render",
    "spell",
    "unquote",
]

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

#: Combining marks that may follow the first letter of a bare name (accents, vowel signs);
#: Python's ``\w`` covers letters, digits and the underscore of every script, but not these.
MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963"
    r"\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0ece\u1dc0-\u1dff"
)

#: A bare name; the terminal NAME of the grammar is made of it.
BARE = re.compile(rf"[^\W\d][\w{MARKS}]*\Z")

#: Words with a meaning of their own, in lower case; a name that equals one needs backquotes.
RESERVED_WORDS = frozenset(
    {"true", "false"}
    | {spelling for row in CONNECTIVES for spelling in row.spellings if spelling.isalpha()}
)
#: The same, in any case as the grammar's ``/…/i`` understands case (``ſ`` counts as an s).
_RESERVED = re.compile("|".join(sorted(RESERVED_WORDS)), re.IGNORECASE)

#: Signs of names in mathematics; the others follow a backslash.
SIGNS = {
    "\\": r"{\backslash}",
    "~": r"\text{\textasciitilde}",
    "^": r"\text{\textasciicircum}",
    "<": "{<}",
    ">": "{>}",
    "|": "{|}",
}


@lru_cache(maxsize=4096)
def is_bare(name: str) -> bool:
    """Return whether a name may be written without quotes.

    >>> is_bare("stalk_root"), is_bare("stalk root"), is_bare("AND"), is_bare("größe")
    (True, False, False, True)
    """
    return BARE.match(name) is not None and _RESERVED.fullmatch(name) is None


def backquote(name: str) -> str:
    """Return the name in backquotes, a backquote inside doubled."""
    return "`" + name.replace("`", "``") + "`"


def quote(word: str) -> str:
    """Return the word in double quotes, a double quote inside doubled."""
    return '"' + word.replace('"', '""') + '"'


def unquote(token: str) -> str:
    """Take the quotes off: the first character is the quote, and inside it stands doubled."""
    mark = token[0]
    return token[1:-1].replace(mark * 2, mark)


def spell(name: str) -> str:
    """Return the name as it stands in a formula: bare where it can be, else in backquotes.

    >>> spell("odor"), spell("stalk root"), spell("not")
    ('odor', '`stalk root`', '`not`')
    """
    return name if is_bare(name) else backquote(name)


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
    """Print a formula of at most ``MAX_PRINTED_LEAVES`` leaves, iteratively."""
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
