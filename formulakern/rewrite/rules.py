"""The rules: a rewrite is two formulas, ``~(p & q) ==> ~p | ~q``, which show where it is sound.

*Each letter exactly once on both sides* keeps every leaf: sound for every reading.  Any other
equivalence keeps the Boolean function only: sound where the kernel depends on nothing else, which
is ``bound`` and ``distinct``.  A pair that is not an equivalence is refused when it is written.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from formulakern.errors import FormulaError
from formulakern.syntax.connectives import AND, CONNECTIVES, NOT, OR, XOR, Connective
from formulakern.syntax.formula import (
    FALSE,
    TRUE,
    Constant,
    Formula,
    Operation,
    Variable,
    fold,
    postorder,
    substitute,
)
from formulakern.syntax.parser import parse

__all__ = [
    "ALL_READINGS",
    "FUNCTION_READINGS",
    "Rule",
    "constants",
    "de_morgan",
    "definitions",
    "kinds",
]

ALL_READINGS = frozenset({"bound", "free", "distinct"})
#: Readings in which the kernel depends on the Boolean function alone.
FUNCTION_READINGS = frozenset({"bound", "distinct"})

_P, _Q = Variable("p"), Variable("q")
#: Stands for a whole chain of links.
_CHAIN = Variable("…")

#: What makes an operation of a connective and its arguments.
Make = Callable[[Connective, Sequence[Formula]], Formula]


@dataclass(frozen=True)
class Rule:
    """A rewrite rule ``left ==> right`` of two equivalent formulas, with its name in logic.

    The letters p, q, r stand for any formulas.  A chain ``p & q`` stands for a chain of any length
    if the right side treats all links alike, and ``p`` next to a constant for the rest of the
    chain.

    >>> rule = Rule("De Morgan", "~(p & q) ==> ~p | ~q")
    >>> rule.apply(parse("~(a & b & c)"))
    Formula('~a | ~b | ~c')
    >>> sorted(rule.sound_for), sorted(Rule("annihilation", "p & false ==> false").sound_for)
    (['bound', 'distinct', 'free'], ['bound', 'distinct'])
    """

    name: str
    text: str
    left: Formula = field(init=False, repr=False)
    right: Formula = field(init=False, repr=False)
    sound_for: frozenset[str] = field(init=False, repr=False)
    #: The connectives and constants on the left side: without them the rule fits nowhere.
    signs: frozenset[str] = field(init=False, repr=False)
    #: What happens to every link of a longer chain, or None where the rule is for two only.
    link: Formula | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        before, _, after = self.text.partition("==>")
        object.__setattr__(self, "left", parse(before))
        object.__setattr__(self, "right", parse(after))
        if not self.left.equivalent(self.right):
            raise FormulaError(
                f"rule {self.name!r}: {self.text} is not an equivalence; "
                "both sides must have the same truth table."
            )
        left, right = _letters(self.left), _letters(self.right)
        linear = sorted(left) == sorted(right) == sorted(set(left))
        object.__setattr__(self, "sound_for", ALL_READINGS if linear else FUNCTION_READINGS)
        object.__setattr__(self, "signs", kinds(self.left))
        object.__setattr__(self, "link", _link(self.left, self.right))

    def apply(self, formula: Formula, make: Make = Operation) -> Formula | None:
        """Return the formula rewritten at its root, or None if the rule does not fit.

        ``make`` makes the operations of the right side, but for a chain that takes another's place.
        """
        letters = _match(self.left, formula)
        if letters is None:
            return None
        chain = letters.get(_CHAIN)
        if chain is None:
            return _filled(self.right, letters, make)
        if self.link is None or self.right.connective is None:
            return None
        links = [_filled(self.link, {_P: link}, make) for link in chain.arguments]
        return Operation(self.right.connective, links)


def _filled(template: Formula, letters: Mapping[Formula, Formula], make: Make) -> Formula:
    """Return the side of a rule, few deep, with formulas for its letters."""
    if template.connective is None:
        return letters.get(template, template)
    parts = [_filled(part, letters, make) for part in template.arguments]
    return make(template.connective, parts)


def kinds(formula: Formula) -> frozenset[str]:
    """Return the names of the connectives in a formula, and the constants."""
    found = set()
    for node in postorder(formula):
        if node.connective is not None:
            found.add(node.connective.name)
        elif isinstance(node, Constant):
            found.add(str(node))
    return frozenset(found)


def _letters(formula: Formula) -> list[str]:
    """Return the names of the letters, as often as they occur."""

    def names(node: Formula, parts: list[list[str]]) -> list[str]:
        return [node.name] if isinstance(node, Variable) else list(itertools.chain(*parts))

    return fold(formula, names)


def _link(left: Formula, right: Formula) -> Formula | None:
    """Return T of a rule g(p ∘ q) ==> T(p) • T(q) for chains of any length, else None.

    It does when T and g are the same function of one variable: T(p ∘ q) is then T(p) • T(q).
    """
    row = right.connective
    if row is None or row.chain != "flat" or len(right.arguments) != 2:
        return None
    template = right.arguments[0]
    inner = left
    while inner.connective is not None and inner.connective.arity == 1:
        inner = inner.arguments[0]
    if inner.connective is None or inner.connective.chain != "flat" or inner.arguments != (_P, _Q):
        return None
    if template.variables != (_P,) or substitute(template, {_P: _Q}) != right.arguments[1]:
        return None
    outer: Formula = _P
    while left is not inner:
        left, outer = left.arguments[0], ~outer
    return template if outer.equivalent(template) else None


def _match(pattern: Formula, formula: Formula) -> dict[Formula, Formula] | None:
    """Return what the letters stand for, or None; a whole chain of links has its own letter."""
    if isinstance(pattern, Variable):
        return {pattern: formula}
    if pattern.connective is None:
        return {} if pattern == formula else None
    if formula.connective is not pattern.connective:
        return None
    wanted, given = pattern.arguments, formula.arguments
    if pattern.connective.chain == "flat":
        if any(isinstance(part, Constant) for part in wanted):
            return _match_beside_constant(pattern, formula)
        if len(given) != len(wanted):
            return {_CHAIN: formula}
    letters: dict[Formula, Formula] = {}
    for part, argument in zip(wanted, given, strict=True):
        found = _match(part, argument)
        if found is None:
            return None
        for name, value in found.items():
            known = letters.setdefault(name, value)
            if known is not value and known != value:
                return None
    return letters


def _match_beside_constant(pattern: Formula, formula: Formula) -> dict[Formula, Formula] | None:
    """Return the letter stands for the rest of the chain, its equal constants taken together.

    One constant is what the pattern asks for; the others become one, or nothing where that is the
    neutral element, so that a chain full of constants is copied once and not for each.
    """
    row = pattern.connective
    assert row is not None
    letter, constant = pattern.arguments
    if isinstance(letter, Constant):
        letter, constant = constant, letter
    assert isinstance(constant, Constant)
    found = formula.arguments.count(constant)
    if not found:
        return None
    rest = [argument for argument in formula.arguments if argument != constant]
    if found > 1:
        others = row(*[constant.value] * (found - 1))
        neutral = all(row(others, bit) == bit for bit in (True, False))
        if not (rest and neutral):
            rest.append(TRUE if others else FALSE)
    return {letter: rest[0] if len(rest) == 1 else Operation(row, rest)}


# -- the catalogue, one line each

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
