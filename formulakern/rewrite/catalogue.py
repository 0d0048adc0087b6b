"""The rules, one line each, in the passes that use them."""

from __future__ import annotations

from functools import cache

from formulakern.rewrite.rule import Rule

__all__ = ["constants", "de_morgan", "definitions"]


@cache
def definitions() -> tuple[Rule, ...]:
    """Derived connectives by and, or, xor and not."""
    return (
        Rule("definition of implies", "p -> q ==> ~p | q"),
        Rule("definition of converse", "p <- q ==> p | ~q"),
        Rule("definition of non-implication", "p -/> q ==> p & ~q"),
        Rule("definition of converse non-implication", "p </- q ==> ~p & q"),
        Rule("definition of iff", "p <-> q ==> ~(p ^ q)"),
        Rule("definition of nand", "p ~& q ==> ~(p & q)"),
        Rule("definition of nor", "p ~| q ==> ~(p | q)"),
    )


@cache
def de_morgan() -> tuple[Rule, ...]:
    """Negations move to the leaves."""
    return (
        Rule("double negation", "~~p ==> p"),
        Rule("De Morgan", "~(p & q) ==> ~p | ~q"),
        Rule("De Morgan", "~(p | q) ==> ~p & ~q"),
    )


@cache
def constants() -> tuple[Rule, ...]:
    """Constants disappear, or take over."""
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
