"""The connectives: one row each, and everything else about them follows from the row.

Truth tables list the results for the argument pairs 11, 10, 01, 00, in this order (for ``not``:
1, 0).  ``precedence`` is the binding strength, tightest highest.  ``chain`` says what a repeated
sign without parentheses means: ``"flat"`` one operation with many arguments (associative
connectives), ``"right"`` grouping from the right, ``"refused"`` an error with a hint, because
tools disagree on what a chain of these means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

__all__ = [
    "AND",
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


@dataclass(frozen=True)
class Connective:
    """One connective of the language.

    Parameters
    ----------
    name : str
        Its word in English, unique.
    truth : str
        Results for the arguments 11, 10, 01, 00, or for 1, 0 when it takes one argument.
    precedence : int
        Binding strength, tightest highest.
    chain : {"flat", "right", "refused"}
        The meaning of ``a ∘ b ∘ c`` without parentheses.
    spellings : tuple of str
        All accepted spellings; the first is the one that ``str`` prints.
    unicode, latex : str
        The signs that ``Formula.unicode`` and ``Formula.latex`` print.
    """

    name: str
    truth: str
    precedence: int
    chain: Chain
    spellings: tuple[str, ...]
    unicode: str
    latex: str

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
        """The truth value for two arguments (one for ``not``); longer lists fold from the left."""
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
    """The connective of this name.

    >>> connective("implies").truth
    '1011'
    """
    return _BY_NAME[name]


NOT = connective("not")
AND = connective("and")
XOR = connective("xor")
OR = connective("or")
IMPLIES = connective("implies")
