"""The connectives of the language: one row of a table each.

A connective is its truth table.  Parser, printer, messages, rewriting, the three readings and rules
over columns read everything from the row, so a new row is all that a new connective needs.

Names and formulas are written as ASCII that parses back, in Unicode, or in LaTeX, with few
parentheses.  An operand gets parentheses when its connective binds no tighter than the one around
it.  Arrows (``->`` and its relatives) keep theirs wherever they are operands, because Python's
``>>`` binds differently and a reader of both should never have to remember which rule is in force;
and so do comparisons under ``~``, which nobody should take for the negation of their left side.
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
    """A connective, given by its truth table.

    A truth table that is constant or none, and ``"flat"`` for a connective that is not associative
    and commutative, are refused.
    """

    #: One English word; unique.
    name: str
    #: The results for the arguments (1,1), (1,0), (0,1), (0,0), as "0" and "1": "1000" for "and".
    #: Two results, for 1 and 0, make a connective with one argument; "01" is the only one.
    truth: str
    #: Strength of binding; the larger binds tighter.
    precedence: int
    #: ``a ∘ b ∘ c`` without parentheses: one operation with three arguments, ``a ∘ (b ∘ c)``, or a
    #: syntax error, because tools disagree on the meaning.
    chain: Chain
    #: The accepted spellings; ``str`` prints the first, the unicode sign is one of them.
    spellings: tuple[str, ...]
    unicode: str
    latex: str

    def __post_init__(self) -> None:
        if self.truth != "01" and not (len(self.truth) == 4 and set(self.truth) == {"0", "1"}):
            raise ParameterError(
                f"the truth table of {self.name!r} is {self.truth!r}; expected four of 0 and 1 for "
                "the arguments 11, 10, 01, 00, not all equal. Constants are written true and false."
            )
        triples = itertools.product((True, False), repeat=3)
        if self.chain == "flat" and any(
            self(self(a, b), c) != self(b, self(a, c)) for a, b, c in triples
        ):
            raise ParameterError(
                f"{self.name!r} is not associative and commutative, so the arguments of a chain "
                "cannot be taken together. Use chain='right' or chain='refused'."
            )

    @property
    def arity(self) -> int:
        """1 for ``not``, 2 for the others (associative ones also take more)."""
        return 1 if len(self.truth) == 2 else 2

    @property
    def sign(self) -> str:
        """The spelling that ``str`` prints."""
        return self.spellings[0]

    @cached_property
    def commutative(self) -> bool:
        """Whether the order of the arguments never matters, read from the truth table."""
        return self.arity == 2 and self.truth[1] == self.truth[2]

    def __call__(self, *arguments: bool) -> bool:
        """Return the truth value for two arguments (one for ``not``); more fold from the left."""
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

# -- how names and formulas are written

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
    """Return whether a name may be written without quotes."""
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
    """Return the name as it stands in a formula: bare where it can be, else in backquotes."""
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
    """Return the arguments, in a conjunction the texts of intervals in place of their two ends."""
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
