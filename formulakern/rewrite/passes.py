"""Walking a formula with rules, or with a sort: iterative, and once per shared subformula."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import is_

from formulakern.rewrite.rule import Rule
from formulakern.syntax.formula import (
    Constant,
    Formula,
    Operation,
    Variable,
)
from formulakern.syntax.traversal import fold, postorder

__all__ = ["RewriteStep", "bottom_up", "sort_arguments", "top_down"]


@dataclass(frozen=True)
class RewriteStep:
    """One application of a rule: which, to what, with what result."""

    rule: str
    before: Formula
    after: Formula


def _by_root(rules: Sequence[Rule]) -> dict[int, list[Rule]]:
    """The rules by the identity of the connective at the root of their left sides."""
    grouped: dict[int, list[Rule]] = {}
    for rule in rules:
        grouped.setdefault(id(rule.left.connective), []).append(rule)
    return grouped


def _step(
    formula: Formula, rules: dict[int, list[Rule]], trace: list[RewriteStep]
) -> Formula | None:
    """The formula after the first rule that fits at its root, or None."""
    for rule in rules.get(id(formula.connective), ()):
        after = rule.apply(formula)
        if after is not None:
            trace.append(RewriteStep(rule.name, formula, after))
            return after
    return None


def _rebuilt(node: Formula, arguments: Sequence[Formula]) -> Formula:
    if len(arguments) == len(node.arguments) and all(map(is_, arguments, node.arguments)):
        return node
    assert node.connective is not None
    return Operation(node.connective, arguments)


def top_down(formula: Formula, rules: Sequence[Rule], trace: list[RewriteStep]) -> Formula:
    """Rewrite at the root first, then inside what came out: for rules that push inwards."""
    by_root = _by_root(rules)
    heads: dict[int, tuple[Formula, Formula]] = {}  # by id: the node, kept alive, and its new root
    links: dict[int, list[Formula]] = {}

    def head(node: Formula) -> Formula:
        if id(node) not in heads:
            new, after = node, _step(node, by_root, trace)
            while after is not None:
                new, after = after, _step(after, by_root, trace)
            heads[id(node)] = node, new
        return heads[id(node)][1]

    def inside(node: Formula) -> Iterable[Formula]:
        """The arguments of the new root; in a chain also those of chains that came out in it."""
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
                yield argument

    return fold(formula, lambda node, arguments: _rebuilt(head(node), arguments), inside)


def bottom_up(formula: Formula, rules: Sequence[Rule], trace: list[RewriteStep]) -> Formula:
    """Rewrite the arguments first, and what a rule made again: for rules that simplify."""
    by_root = _by_root(rules)
    done: dict[int, Formula] = {}  # by id: formulas to which no rule applies anywhere

    def inside(node: Formula) -> Sequence[Formula]:
        return () if id(node) in done else node.arguments

    def simplified(node: Formula, arguments: list[Formula]) -> Formula:
        if id(node) in done:
            return node
        new = _rebuilt(node, arguments)
        after = _step(new, by_root, trace)
        if after is not None:
            return fold(after, simplified, inside)  # few deep: its parts are done
        done[id(new)] = new
        return new

    return fold(formula, simplified, inside)


def sort_arguments(formula: Formula, trace: list[RewriteStep]) -> Formula:
    """Arguments of commutative connectives in a canonical order: leaves by name, then by shape.

    Every different subformula gets a rank that depends on its value alone, so equal formulas
    come out equal whatever order they were written in.
    """
    rank: dict[int, int] = {}
    done: dict[int, Formula] = {}
    n_ranks = 0
    for layer in _by_height(formula):
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


def _by_height(formula: Formula) -> list[list[Formula]]:
    """The different nodes, leaves first, then what is made of them, and so on."""
    heights: dict[int, int] = {}
    layers: list[list[Formula]] = []
    for node in postorder(formula):
        height = 1 + max((heights[id(argument)] for argument in node.arguments), default=-1)
        heights[id(node)] = height
        if height == len(layers):
            layers.append([])
        layers[height].append(node)
    return layers
