"""Formula → Formula: rewrite rules, the passes that apply them, and their trace.

A rule is a pair of formulas, ``~(p & q) ==> ~p | ~q``, whose form decides when it is sound.  If
both sides hold the same letters, and *each leaf exactly once*, the rule keeps every leaf and is
sound for every reading.  Any other equivalence keeps only the Boolean function, and is sound if the
kernel depends on nothing else: for ``bound`` and ``distinct``.  A rule that is not an equivalence
raises FormulaError.  Walks are iterative, and visit a shared subformula once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import is_

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.syntax.connectives import AND, CONNECTIVES, NOT, OR, XOR, Connective
from formulakern.syntax.formula import (
    FALSE,
    MAX_ARGUMENTS,
    TRUE,
    Constant,
    Formula,
    Operation,
    Variable,
    fold,
    postorder,
    substitute,
)
from formulakern.syntax.leaves import Choice
from formulakern.syntax.parser import parse

ALL_READINGS = frozenset({"bound", "free", "distinct"})
#: Readings in which the kernel depends on the Boolean function alone.
FUNCTION_READINGS = frozenset({"bound", "distinct"})

_P, _Q = Variable("p"), Variable("q")
#: A whole chain of links.
_CHAIN = Variable("…")

#: Makes an operation from a connective and its arguments.
Make = Callable[[Connective, Sequence[Formula]], Formula]


@dataclass(frozen=True)
class Rule:
    """A rewrite rule ``left ==> right`` of two equivalent formulas, with its name in logic.

    The letters p, q, r match any formulas.  A chain ``p & q`` matches a chain of any length if the
    right side treats all links alike; ``p`` next to a constant matches the rest of the chain.

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
    #: The connectives and constants on the left side; without them the rule cannot match.
    signs: frozenset[object] = field(init=False, repr=False)
    #: The template for every link of a longer chain, or None if the rule is for two links only.
    link: Formula | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        left, right = map(parse, self.text.split("==>"))
        if not left.equivalent(right):
            raise FormulaError(
                f"rule {self.name!r}: {self.text} is not an equivalence; "
                "both sides must have the same truth table."
            )
        linear = all(side.n_leaves == len(side.leaves) for side in (left, right))
        linear = linear and set(left.variables) == set(right.variables)
        sound_for = ALL_READINGS if linear else FUNCTION_READINGS
        found = {"left": left, "right": right, "sound_for": sound_for}
        self.__dict__.update(found, signs=_signs(left), link=_link(left, right))

    def apply(self, formula: Formula, make: Make = Operation) -> Formula | None:
        """Return the formula rewritten at its root, or None if the rule does not match.

        ``make`` makes the operations of the right side, except a chain that replaces another.
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
    """Return a shallow side of a rule with formulas in place of its letters."""
    if template.connective is None:
        return letters.get(template, template)
    parts = [_filled(part, letters, make) for part in template.arguments]
    return make(template.connective, parts)


def _signs(formula: Formula) -> frozenset[object]:
    """Return the connectives in a formula, and the truth values of its constants."""
    nodes = postorder(formula)
    return frozenset(sign for node in nodes if (sign := node.connective or node.truth) is not None)


def _link(left: Formula, right: Formula) -> Formula | None:
    """Return T of a rule g(p ∘ q) ==> T(p) • T(q) if it holds for chains of any length, else None.

    It holds if T and g are the same function of one variable: then T(p ∘ q) is T(p) • T(q).
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
    """Return the formulas that the letters match, or None; a chain of links has its own letter."""
    if isinstance(pattern, Variable):
        return {pattern: formula}
    if pattern.connective is None:
        return {} if pattern == formula else None
    if formula.connective is not pattern.connective:
        return None
    wanted, given = pattern.arguments, formula.arguments
    if pattern.connective.chain == "flat":
        if any(isinstance(part, Constant) for part in wanted):
            return _match_without_constants(pattern, formula)
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


def _match_without_constants(pattern: Formula, formula: Formula) -> dict[Formula, Formula] | None:
    """Return the letter's match: the rest of the chain, with equal constants combined.

    The pattern needs one constant.  The others become one, or none if that is the neutral element,
    so that a chain of many constants is copied once.
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

#: Functions of two arguments by and, or, xor and not, by truth tables in the order 11, 10, 01, 00.
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


#: The rules of each pass.
_CATALOGUE = {
    "definitions": [
        (f"definition of {row.name}", f"p {row.sign} q ==> {_BY_TRUTH[row.truth]}")
        for row in CONNECTIVES
        if row not in (NOT, AND, OR, XOR)
    ],
    "negations to the leaves": [
        ("double negation", "~~p ==> p"),
        ("De Morgan", "~(p & q) ==> ~p | ~q"),
        ("De Morgan", "~(p | q) ==> ~p & ~q"),
    ],
    "constants": [
        ("negation of a constant", "~true ==> false"),
        ("negation of a constant", "~false ==> true"),
        ("identity of and", "p & true ==> p"),
        ("identity of or", "p | false ==> p"),
        ("identity of xor", "p ^ false ==> p"),
        ("xor with true", "p ^ true ==> ~p"),
        ("annihilation of and", "p & false ==> false"),
        ("annihilation of or", "p | true ==> true"),
    ],
}


@cache
def rules(name: str) -> tuple[Rule, ...]:
    """Return the rules of a pass."""
    return tuple(Rule(*row) for row in _CATALOGUE[name])


# -- walks with rules

#: The largest number of different subformulas, without leaves and negations; each takes up to 7
#: kilobytes and most of a millisecond.
MAX_OPERATIONS = 100_000
#: The largest number of arguments of all different subformulas.
MAX_PLACES = 5_000_000


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """One application of a rule, with the formulas before and after it."""

    rule: str
    before: Formula
    after: Formula


def _steps(rules: Sequence[Rule], trace: list[RewriteStep]) -> Callable[[Formula], Formula | None]:
    """Return a function that applies the first rule that matches at the root, or returns None.

    Operations that rules make of the same objects are one object: a subformula that is shared stays
    shared when each of its places is negated.
    """
    # by the connective at the root: the connective of the first argument, and the rule
    by_root: dict[int, list[tuple[Connective | None, Rule]]] = {}
    for rule in rules:
        first = rule.left.arguments[0].connective
        by_root.setdefault(id(rule.left.connective), []).append((first, rule))
    # by the connective and the ids of the arguments, which the values keep alive
    made: dict[tuple[int, ...], tuple[Sequence[Formula], Formula]] = {}

    def make(row: Connective, arguments: Sequence[Formula]) -> Formula:
        key = (id(row), *map(id, arguments))
        if key not in made:
            made[key] = arguments, Operation(row, arguments)
        return made[key][1]

    def step(formula: Formula) -> Formula | None:
        for first, rule in by_root.get(id(formula.connective), ()):
            if first is None or first is formula.arguments[0].connective:
                after = rule.apply(formula, make)
                if after is not None:
                    trace.append(RewriteStep(rule.name, formula, after))
                    return after
        return None

    return step


def _rebuilt(node: Formula, arguments: Sequence[Formula]) -> Formula:
    if len(arguments) == len(node.arguments) and all(map(is_, arguments, node.arguments)):
        return node
    assert node.connective is not None
    return Operation(node.connective, arguments)


def top_down(formula: Formula, rules: Sequence[Rule], trace: list[RewriteStep]) -> Formula:
    """Rewrite at the root first, then inside the result; for rules that push inwards."""
    step = _steps(rules, trace)
    heads: dict[int, tuple[Formula, Formula]] = {}  # by id: the node, kept alive, and its new root
    links: dict[int, list[Formula]] = {}
    places = [0]  # the number of all links

    def head(node: Formula) -> Formula:
        if node.connective is None:
            return node
        found = heads.get(id(node))
        if found is None:
            new, after = node, step(node)
            while after is not None:
                new, after = after, step(after)
            found = heads[id(node)] = node, new
        return found[1]

    def inside(node: Formula) -> Iterable[Formula]:
        """Return the arguments of the new root; new chains are merged into its chain."""
        new = head(node)
        if new.connective is None or new.connective.chain != "flat":
            return new.arguments
        return links[id(node)] if id(node) in links else chain(node, new)

    def chain(node: Formula, new: Formula) -> Iterator[Formula]:
        found = links[id(node)] = []
        pending = list(new.arguments[::-1])
        while pending:
            argument = pending.pop()
            part = head(argument)
            if part.connective is new.connective:
                pending.extend(part.arguments[::-1])
            else:
                found.append(argument)
                places[0] += 1
                _check_places(places[0])
                yield argument

    return fold(formula, lambda node, arguments: _rebuilt(head(node), arguments), inside)


def bottom_up(formula: Formula, rules: Sequence[Rule], trace: list[RewriteStep]) -> Formula:
    """Rewrite the arguments first, then the results of rules; for rules that simplify."""
    step = _steps(rules, trace)
    done: dict[int, Formula] = {}  # by id: formulas to which no rule applies anywhere

    def inside(node: Formula) -> Sequence[Formula]:
        return () if id(node) in done else node.arguments

    def simplified(node: Formula, arguments: list[Formula]) -> Formula:
        if id(node) in done:
            return node
        new = _rebuilt(node, arguments)
        after = step(new)
        if after is not None:
            return fold(after, simplified, inside)  # shallow, because its parts are done
        done[id(new)] = new
        return new

    return fold(formula, simplified, inside)


def sort_arguments(formula: Formula, trace: list[RewriteStep]) -> Formula:
    """Sort the arguments of commutative connectives: leaves by name, then formulas by shape."""
    heights: dict[int, int] = {}
    layers: list[list[Formula]] = []  # the leaves, then the formulas of each height
    for node in postorder(formula):
        height = 1 + max((heights[id(argument)] for argument in node.arguments), default=-1)
        heights[id(node)] = height
        if height == len(layers):
            layers.append([])
        layers[height].append(node)
    rank: dict[int, int] = {}
    done: dict[int, Formula] = {}
    n_ranks = 0
    for layer in layers:
        keys: dict[int, tuple[object, ...]] = {}
        for node in layer:
            row = node.connective
            if row is None:
                done[id(node)], keys[id(node)] = node, _leaf_key(node)
                continue
            order = list(node.arguments)
            if row.commutative:
                order.sort(key=lambda argument: rank[id(argument)])
            new = [done[id(argument)] for argument in order]
            if all(map(is_, order, node.arguments)):
                done[id(node)] = _rebuilt(node, new)
            else:
                before = _rebuilt(node, [done[id(argument)] for argument in node.arguments])
                done[id(node)] = Operation(row, new)
                trace.append(RewriteStep("canonical order", before, done[id(node)]))
            keys[id(node)] = (row.name, *[rank[id(argument)] for argument in order])
        ranks = {key: n_ranks + i for i, key in enumerate(sorted(set(keys.values())))}
        rank |= {node: ranks[key] for node, key in keys.items()}
        n_ranks += len(ranks)
    return done[id(formula)]


def _leaf_key(leaf: Formula) -> tuple[object, ...]:
    if isinstance(leaf, Constant):
        return ("", str(leaf.value))
    if isinstance(leaf, Variable):
        return ("", "", leaf.name, leaf.domain or "")
    return ("", "", str(leaf), "")


def without_repeats(formula: Formula) -> Formula:
    """Return the formula without repeated arguments of "and" and "or": ``a & a`` becomes ``a``."""

    def build(node: Formula, parts: list[Formula]) -> Formula:
        connective = node.connective
        if connective is None:
            return node
        if connective in (AND, OR):
            parts = list(dict.fromkeys(Operation(connective, parts).arguments))
            if len(parts) == 1:
                return parts[0]
        return Operation(connective, parts)

    return fold(formula, build)


# -- the size of a formula in memory, with shared subformulas counted once


def check_size(formula: Formula) -> None:
    """Raise FormulaSizeError above ``MAX_OPERATIONS`` subformulas or ``MAX_PLACES`` arguments.

    A chain of one connective is one subformula.  Shared objects count once, but every chain into
    which they are merged holds all of its arguments.  The check itself merges nothing.
    """
    if formula.n_leaves <= min(MAX_OPERATIONS, MAX_ARGUMENTS):  # too few leaves to exceed a limit
        return
    total = operations = 0
    whole, inside = {id(formula)}, set[int]()  # seen as arguments, and as parts of longer chains
    pending = [(formula, False)]
    while pending:
        node, part = pending.pop()
        if not isinstance(node, Operation):
            continue
        if not part:
            total += node.length
            _check_places(total)
            operations += node.connective.arity > 1
            if operations > MAX_OPERATIONS:
                raise FormulaSizeError(
                    f"the formula has more than {MAX_OPERATIONS:,} different subformulas (a chain "
                    "of one connective counts as one). Make kernels of its parts, and combine "
                    "them."
                )
        for below in node.parts:
            merged = below.connective is node.connective and node.connective.chain == "flat"
            seen = inside if merged else whole
            if id(below) not in seen:
                seen.add(id(below))
                pending.append((below, merged))


def _check_places(n: int) -> None:
    """Raise FormulaSizeError for more than ``MAX_PLACES`` arguments."""
    if n > MAX_PLACES:
        raise FormulaSizeError(
            f"the different subformulas of this formula have more than {MAX_PLACES:,} arguments "
            "in all, after chains of one connective are merged. Make kernels of its parts, and "
            "combine them."
        )


# -- the passes

#: Transforms a formula in a reading, and appends the steps to a list.
Pass = Callable[[Formula, str, list[RewriteStep]], Formula]
Walk = Callable[[Formula, Sequence[Rule], list[RewriteStep]], Formula]


def _with_rules(name: str, walk: Walk) -> tuple[str, Pass]:
    """Return a pass and its name: a walk with the rules that are sound in the reading."""

    def run(formula: Formula, reading: str, steps: list[RewriteStep]) -> Formula:
        signs = _signs(formula)
        sound = [rule for rule in rules(name) if reading in rule.sound_for]
        fits = any(rule.signs <= signs for rule in sound)  # otherwise none can match
        return walk(formula, sound, steps) if fits else formula

    return name, run


@dataclass(frozen=True)
class PassResult:
    """One pass: its name, its steps, and the whole formula after it."""

    name: str
    steps: tuple[RewriteStep, ...]
    formula: Formula


@dataclass(frozen=True)
class Rewriting:
    """The trace of a formula through the passes, without passes that changed nothing."""

    original: Formula
    passes: tuple[PassResult, ...]

    @property
    def formula(self) -> Formula:
        """The formula after the last pass."""
        return self.passes[-1].formula if self.passes else self.original


def rewrite(formula: Formula, variables: str = "bound") -> Rewriting:
    """Rewrite a formula for lowering: only and, or and xor, with negations at the leaves.

    Only rules that are sound in the reading ``variables`` are used, so the kernel stays the same.
    Formulas of more than ``MAX_OPERATIONS`` different subformulas, or with more than ``MAX_PLACES``
    arguments, raise FormulaSizeError.
    """
    check_size(formula)
    passes: list[PassResult] = []
    current = formula
    settled: dict[str, Formula] = {}  # the result of each pass, which it would not change again
    for name, run in _PASSES:
        if settled.get(name) is current:
            continue
        steps: list[RewriteStep] = []
        current = settled[name] = run(current, variables, steps)
        if steps:
            passes.append(PassResult(name, tuple(steps), current))
    return Rewriting(formula, tuple(passes))


def _inside_choices(formula: Formula, variables: str, steps: list[RewriteStep]) -> Formula:
    """Rewrite the formulas inside choices, except those that would lose all of their names.

    Equal choices stay equal, and different ones different: if names matter, these share none.
    """
    became: dict[Formula, Formula] = {}
    for leaf in formula.leaves:
        if isinstance(leaf, Choice):
            inner = rewrite(leaf.formula, variables)
            if inner.passes and inner.formula.variables:
                became[leaf] = leaf.over(inner.formula)
                steps.extend(step for result in inner.passes for step in result.steps)
    return substitute(formula, became) if became else formula


_NEGATIONS = _with_rules("negations to the leaves", top_down)
_CONSTANTS = _with_rules("constants", bottom_up)
#: The passes, in the order in which they run.
_PASSES: tuple[tuple[str, Pass], ...] = (
    _with_rules("definitions", top_down),
    *(_NEGATIONS, _CONSTANTS) * 2,
    ("canonical order", lambda formula, _, steps: sort_arguments(formula, steps)),
    ("inside the choices", _inside_choices),
)
