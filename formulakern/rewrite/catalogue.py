"""The rules, one line each, in the passes that use them."""

from __future__ import annotations

from functools import cache

from formulakern.rewrite.rule import Rule
from formulakern.syntax.connectives import AND, CONNECTIVES, NOT, OR, XOR

__all__ = ["constants", "de_morgan", "definitions"]


#: The functions of two arguments by and, or, xor and not; truth tables in the order 11, 10, 01, 00.
_BY_TRUTH = {
    "1000": "p & q",
    "0100": "p & ~q",
    "0010": "~p & q",
    "0001": "~(p | q)",
    "0111": "~(p & q)",
    "1011": "~p | q",
    "1101": "p | ~q",
    "1110": "p | q",
    "0110": "p ^ q",
    "1001": "~(p ^ q)",
    "1100": "p",
    "1010": "q",
    "0011": "~p",
    "0101": "~q",
}


@cache
def definitions() -> tuple[Rule, ...]:
    """Return every other connective by and, or, xor and not, read from its truth table."""
    return tuple(
        Rule(f"definition of {row.name}", f"p {row.sign} q ==> {_BY_TRUTH[row.truth]}")
        for row in CONNECTIVES
        if row not in (NOT, AND, OR, XOR)
    )


@cache
def de_morgan() -> tuple[Rule, ...]:
    """Return the rules that move negations to the leaves."""
    return (
        Rule("double negation", "~~p ==> p"),
        Rule("De Morgan", "~(p & q) ==> ~p | ~q"),
        Rule("De Morgan", "~(p | q) ==> ~p & ~q"),
    )


@cache
def constants() -> tuple[Rule, ...]:
    """Return the rules that remove constants."""
    return (
        Rule("negation of a constant", "~true ==> false"),
        Rule("negation of a constant", "~false ==> true"),
        Rule("identity of and", "p & true ==> p"),
        Rule("identity of or", "p | false ==> p"),
        Rule("identity of xor", "p ^ false ==> p"),
        Rule("xor with true", "p ^ true ==> ~p"),
        Rule("annihilation of and", "p & false ==> false"),
        Rule("annihilation of or", "p | true ==> true"),
    )
