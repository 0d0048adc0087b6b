"""The grammars of both languages: ladder and signs from the table of connectives, and files."""

from __future__ import annotations

import pkgutil
import re

from formulakern.syntax.comparison import RELATIONS
from formulakern.syntax.connectives import CONNECTIVES, Connective
from formulakern.syntax.names import BARE, RESERVED_WORDS

__all__ = ["grammar", "terminal"]


def grammar(language: str) -> str:
    r"""A whole grammar, as Lark reads it.

    Parameters
    ----------
    language : {"formula", "rule"}
        Which of ``grammar/formula.lark`` and ``grammar/rule.lark`` says what an atom is.

    Examples
    --------
    >>> [line.strip() for line in grammar("formula").splitlines() if "SIGN_XOR" in line]
    ['| level_5 (SIGN_XOR level_5)+ -> operation', 'SIGN_XOR.1: /xor(?!\\w)|\\^|⊕/i']
    """
    files = [
        pkgutil.get_data("formulakern.grammar", f"{name}.lark") for name in ("shared", language)
    ]
    return "\n".join([*[(text or b"").decode() for text in files], *_ladder(), *_tokens()])


def terminal(row: Connective) -> str:
    """The name of the terminal that reads a connective's spellings."""
    return f"SIGN_{row.name.upper()}"


def _ladder() -> list[str]:
    """A rule for every precedence, loosest first, each built from the next tighter one."""
    levels = sorted({row.precedence for row in CONNECTIVES})
    rules = ["formula", *[f"level_{level}" for level in levels[1:]], "atom"]
    lines = []
    for level, rule, tighter in zip(levels, rules, rules[1:], strict=False):
        lines.append(f"?{rule}: {tighter}")
        for row in CONNECTIVES:
            sign = terminal(row)
            operation = {
                "prefix": f"{sign} {rule}",
                "flat": f"{tighter} ({sign} {tighter})+",
                "right": f"{tighter} {sign} {rule}",
                "refused": f"{tighter} {sign} {tighter}",
            }["prefix" if row.arity == 1 else row.chain]
            if row.precedence == level:
                lines.append(f"    | {operation} -> operation")
    return lines


def _tokens() -> list[str]:
    """The signs of the connectives and bare names."""
    reserved, bare = "|".join(sorted(RESERVED_WORDS)), BARE.pattern.removesuffix(r"\Z")
    return [
        *[f"{terminal(row)}.{_priority(row)}: /{_spellings(row)}/i" for row in CONNECTIVES],
        rf"NAME: /(?!(?:{reserved})(?!\w)){bare}/i",
        f"WORD: /{bare}/",
    ]


def _spellings(row: Connective) -> str:
    """A pattern for the spellings, longest first; words count whole: ``android`` is a name."""
    patterns = []
    for sign in sorted(row.spellings, key=len, reverse=True):
        pattern = re.escape(sign).replace("/", r"\/") + (r"(?!\w)" if sign.isalpha() else "")
        if sign.endswith("-") and sign[:-1] in RELATIONS:  # "x <-1" compares x with -1
            pattern += "(?![0-9.])"
        patterns.append(pattern)
    return "|".join(patterns)


def _priority(row: Connective) -> int:
    """Above that of connectives with a sign that begins one of this row's: ``~&`` before ``~``."""
    begun = [
        other
        for other in CONNECTIVES
        if any(a != b and b.startswith(a) for a in other.spellings for b in row.spellings)
    ]
    return 1 + max((_priority(other) for other in begun if other is not row), default=0)
