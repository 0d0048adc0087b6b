"""The connectives of the language: one row of a table each.

A connective is its truth table.  Parser, printer, messages, rewriting, the three readings and rules
over columns read everything from the row, so a new row is all that a new connective needs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from formulakern.errors import ParameterError

__all__ = [
    "AND",
    "ARGUMENTS",
    "CONNECTIVES",
    "IMPLIES",
    "NOT",
    "OR",
    "XOR",
    "Chain",
    "Connective",
    "connective",
]

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
    """Return the connective of this name.

    >>> connective("implies").truth
    '1011'
    """
    return _BY_NAME[name]


NOT = connective("not")
AND = connective("and")
XOR = connective("xor")
OR = connective("or")
IMPLIES = connective("implies")
