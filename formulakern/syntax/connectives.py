"""The connectives of the language, each a row of one table.

A connective is defined by its truth table.  Parser, printer, messages, rewriting, the three
readings and rules over columns read the row, so a new connective needs only a new row.

Names and formulas are written as ASCII that parses back, in Unicode, or in LaTeX, with few
parentheses.  An operand has parentheses if its connective does not bind tighter than the outer one.
Arrows as operands always have them, because Python's ``>>`` binds differently, and so have
comparisons under ``~``, because ``~x > 3`` could be misread.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from formulakern.errors import FormulaSizeError, ParameterError

Chain = Literal["flat", "right", "refused"]

#: The arguments of the entries of a truth table, in their order.
ARGUMENTS = ((True, True), (True, False), (False, True), (False, False))


@dataclass(frozen=True)
class Connective:
    """A connective, defined by its truth table.

    Raise ParameterError for an invalid or constant truth table, and for ``"flat"`` with a
    connective that is not associative and commutative.
    """

    #: A unique English word.
    name: str
    #: The results for the arguments (1,1), (1,0), (0,1), (0,0), as "0" and "1": "1000" for "and";
    #: "01", the results for 1 and 0, is the only connective with one argument.
    truth: str
    #: The precedence; a larger one binds tighter.
    precedence: int
    #: The meaning of ``a ∘ b ∘ c``: one operation with three arguments, ``a ∘ (b ∘ c)``, or a
    #: syntax error, because tools disagree on the meaning.
    chain: Chain
    #: The accepted spellings, the Unicode sign included; ``str`` prints the first one.
    spellings: tuple[str, ...]
    unicode: str
    latex: str

    def __post_init__(self) -> None:
        if self.truth != "01" and not (len(self.truth) == 4 and set(self.truth) == {"0", "1"}):
            raise ParameterError(
                f"the truth table of {self.name!r} is {self.truth!r}; expected four digits 0 or 1 "
                "for the arguments 11, 10, 01, 00, not all equal. A constant is true or false."
            )
        triples = itertools.product((True, False), repeat=3)
        if self.chain == "flat" and any(
            self(self(a, b), c) != self(b, self(a, c)) for a, b, c in triples
        ):
            raise ParameterError(
                f"{self.name!r} is not associative and commutative, so the arguments of a chain "
                "cannot be merged. Use chain='right' or chain='refused'."
            )

    @property
    def arity(self) -> int:
        """The number of arguments: 1 for ``not``, 2 or (if associative) more for the others."""
        return 1 if len(self.truth) == 2 else 2

    @property
    def sign(self) -> str:
        """The spelling that ``str`` prints."""
        return self.spellings[0]

    @cached_property
    def commutative(self) -> bool:
        """True if the order of the arguments does not matter."""
        return self.arity == 2 and self.truth[1] == self.truth[2]

    def __call__(self, *arguments: bool) -> bool:
        """Return the truth value for some arguments, joined from the left."""
        if self.arity == 1:
            return self.truth[0 if arguments[0] else 1] == "1"
        value = arguments[0]
        for argument in arguments[1:]:
            value = self.truth[(0 if value else 2) + (0 if argument else 1)] == "1"
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return (connective, (self.name,))


def _row(
    name: str, truth: str, precedence: int, chain: Chain, spellings: str, latex: str, unicode: str
) -> Connective:
    return Connective(name, truth, precedence, chain, tuple(spellings.split()), unicode, latex)


CONNECTIVES: tuple[Connective, ...] = (
    _row("not", "01", 6, "right", "~ ! ¬ not", r"\lnot", "¬"),
    _row("and", "1000", 5, "flat", "& && ∧ and", r"\land", "∧"),
    _row("nand", "0111", 5, "refused", "~& ⊼ ↑ nand", r"\uparrow", "↑"),
    _row("xor", "0110", 4, "flat", "^ ⊕ xor", r"\oplus", "⊕"),
    _row("or", "1110", 3, "flat", "| || ∨ or", r"\lor", "∨"),
    _row("nor", "0001", 3, "refused", "~| ⊽ ↓ nor", r"\downarrow", "↓"),
    _row("implies", "1011", 2, "right", "-> => → ⇒ implies", r"\rightarrow", "→"),
    _row("converse", "1101", 2, "right", "<- ←", r"\leftarrow", "←"),
    _row("nonimplies", "0100", 2, "right", "-/> ↛", r"\nrightarrow", "↛"),
    _row("nonconverse", "0010", 2, "right", "</- ↚", r"\nleftarrow", "↚"),
    _row("iff", "1001", 1, "refused", "<-> <=> ↔ ⇔ ≡ iff xnor", r"\leftrightarrow", "↔"),
)

_BY_NAME = {row.name: row for row in CONNECTIVES}


def connective(name: str) -> Connective:
    """Return the connective of this name."""
    return _BY_NAME[name]


NOT = connective("not")
AND = connective("and")
XOR = connective("xor")
OR = connective("or")
IMPLIES = connective("implies")

# -- printing of names and formulas

#: The largest number of leaves of a printed formula (shared subformulas can have 2^60).
MAX_PRINTED_LEAVES = 2_000_000

Style = Literal["ascii", "unicode", "latex"]


@dataclass(frozen=True)
class Notation:
    """The spelling of connectives, constants and parentheses in one printed form."""

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

#: Combining marks (accents, vowel signs) that may follow the first letter of a bare name, in
#: addition to the letters, digits and underscores of Python's ``\w``.
MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963"
    r"\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0ece\u1dc0-\u1dff"
)

#: A bare name, from which the terminal NAME of the grammar is built.
BARE = re.compile(rf"[^\W\d][\w{MARKS}]*\Z")

#: Reserved words, in lower case; a name that equals one needs backquotes.
RESERVED_WORDS = frozenset(
    {"true", "false"}
    | {spelling for row in CONNECTIVES for spelling in row.spellings if spelling.isalpha()}
)
#: Reserved words in any case, by the rules of the grammar's ``/…/i`` (``ſ`` equals s).
_RESERVED = re.compile("|".join(sorted(RESERVED_WORDS)), re.IGNORECASE)

#: The LaTeX of special characters in names; the others are written with a backslash.
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
    """Return True if a name can be written without quotes."""
    return BARE.match(name) is not None and _RESERVED.fullmatch(name) is None


def backquote(name: str) -> str:
    """Return the name in backquotes, with inner backquotes doubled."""
    return "`" + name.replace("`", "``") + "`"


def quote(word: str) -> str:
    """Return the word in double quotes, with inner double quotes doubled."""
    return '"' + word.replace('"', '""') + '"'


def unquote(token: str) -> str:
    """Remove the quotes, which are the first character, and undouble inner ones."""
    mark = token[0]
    return token[1:-1].replace(mark * 2, mark)


def spell(name: str) -> str:
    """Return the name as written in a formula: bare if possible, else in backquotes."""
    return name if is_bare(name) else backquote(name)


def latex_name(name: str) -> str:
    r"""Return a variable's or column's name for math mode: a letter, or text.

    Special characters are outside ``\text``, because MathJax shows backslashes inside it.

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
    """Return the text of a formula of at most ``MAX_PRINTED_LEAVES`` leaves."""
    if root.n_leaves > MAX_PRINTED_LEAVES:
        raise FormulaSizeError(
            f"a formula with {root.n_leaves:,} leaves cannot be printed; the limit is "
            f"{MAX_PRINTED_LEAVES:,}. Print its parts: formula.arguments."
        )
    pieces: list[str] = []
    pending: list[Any] = [root]  # formulas to print, and the text between them
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
        for position, argument in enumerate(_joined(item, notation)):
            if position:
                parts.append(f" {sign} ")
            if not isinstance(argument, str) and _needs_parentheses(argument, row):
                parts += [notation.opening, argument, notation.closing]
            else:
                parts.append(argument)
        pending.extend(reversed(parts))
    return "".join(pieces)


def _joined(operation: Any, notation: Notation) -> list[Any]:
    """Return the arguments, with the texts of intervals in place of their two comparisons."""
    found: list[Any] = []
    for argument in operation.arguments:
        text = None
        if found and operation.connective is AND and not isinstance(found[-1], str):
            text = found[-1].interval_text(argument, notation)
        if text is None:
            found.append(argument)
        else:
            found[-1] = text
    return found


def _needs_parentheses(operand: Any, outer: Connective) -> bool:
    inner: Connective | None = operand.connective
    if inner is None:
        return outer.arity == 1 and operand.spaced
    if inner.arity == 1:
        return False
    return inner.precedence <= outer.precedence or inner.chain == "right"
