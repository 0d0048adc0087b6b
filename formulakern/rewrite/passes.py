"""Walking a formula with rules, or with a sort: iterative, and once per shared subformula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formulakern.rewrite.rule import Rule
from formulakern.syntax.connectives import Connective
from formulakern.syntax.formula import (
    Constant,
    Formula,
    Operation,
    Variable,
)
from formulakern.syntax.traversal import postorder

__all__ = ["RewriteStep", "bottom_up", "sort_arguments", "top_down"]


@dataclass(frozen=True)
class RewriteStep:
    """One application of a rule: which, to what, with what result."""

    rule: str
    before: Formula
    after: Formula


def _rewrite_root(formula: Formula, rules: Sequence[Rule], trace: list[RewriteStep]) -> Formula:
    """Apply rules at the root until none fits."""
    fits = True
    while fits:
        fits = False
        for rule in rules:
            after = rule.apply(formula)
            if after is not None:
                trace.append(RewriteStep(rule.name, formula, after))
                formula, fits = after, True
                break
    return formula


def _rebuilt(node: Formula, arguments: Sequence[Formula]) -> Formula:
    if all(new is old for new, old in zip(arguments, node.arguments, strict=True)):
        return node
    assert node.connective is not None
    return Operation(node.connective, arguments)


class _Chain:
    """A chain of one associative connective whose links are not merged yet.

    Merging a nest of chains link by link would copy it once per level; this waits for the
    outermost and copies once.
    """

    def __init__(self, row: Connective, parts: Sequence[Formula | _Chain]) -> None:
        self.row = row
        self.parts = parts
        self.merged: Formula | None = None

    def merge(self) -> Formula:
        if self.merged is None:
            links: list[Formula] = []
            pending: list[Formula | _Chain] = [self]
            while pending:
                part = pending.pop()
                if isinstance(part, _Chain) and part.row is self.row and part.merged is None:
                    pending.extend(reversed(part.parts))
                else:
                    links.append(part.merge() if isinstance(part, _Chain) else part)
            self.merged = Operation(self.row, links)
        return self.merged


def top_down(formula: Formula, rules: Sequence[Rule], trace: list[RewriteStep]) -> Formula:
    """Rewrite at the root first, then inside what came out: for rules that push inwards."""
    done: dict[int, Formula | _Chain] = {}
    heads: dict[int, Formula] = {}
    alive: list[Formula] = []  # keeps ids unique while they are keys
    pending = [formula]
    while pending:
        node = pending[-1]
        if id(node) in done:
            pending.pop()
            continue
        if id(node) not in heads:
            heads[id(node)] = _rewrite_root(node, rules, trace)
            alive += (node, heads[id(node)])
        head = heads[id(node)]
        waiting = [argument for argument in head.arguments if id(argument) not in done]
        if waiting:
            pending.extend(reversed(waiting))
            continue
        arguments = [done[id(argument)] for argument in head.arguments]
        unchanged = all(new is old for new, old in zip(arguments, head.arguments, strict=True))
        if unchanged:
            done[id(node)] = head
        elif head.connective is not None and head.connective.chain == "flat":
            parts = [
                part.merge()
                if isinstance(part, _Chain) and part.row is not head.connective
                else part
                for part in arguments
            ]
            done[id(node)] = _Chain(head.connective, parts)
        else:
            done[id(node)] = _rebuilt(head, [_merged(argument) for argument in arguments])
        pending.pop()
    return _merged(done[id(formula)])


def _merged(part: Formula | _Chain) -> Formula:
    return part.merge() if isinstance(part, _Chain) else part


def bottom_up(formula: Formula, rules: Sequence[Rule], trace: list[RewriteStep]) -> Formula:
    """Rewrite the arguments first, and what a rule made again: for rules that simplify."""
    done: dict[int, Formula] = {}
    became: dict[int, Formula] = {}
    alive: list[Formula] = []  # keeps ids unique while they are keys
    pending = [formula]
    while pending:
        node = pending[-1]
        if id(node) in done:
            pending.pop()
        elif id(node) in became:
            done[id(node)] = done[id(became[id(node)])]
            pending.pop()
        elif waiting := [argument for argument in node.arguments if id(argument) not in done]:
            pending.extend(reversed(waiting))
        else:
            new = _rebuilt(node, [done[id(argument)] for argument in node.arguments])
            alive += (node, new)
            for rule in rules:
                after = rule.apply(new)
                if after is not None:
                    trace.append(RewriteStep(rule.name, new, after))
                    became[id(node)] = after
                    alive.append(after)
                    pending.append(after)
                    break
            else:
                done[id(node)] = done[id(new)] = new
                pending.pop()
    return done[id(formula)]


def sort_arguments(formula: Formula, trace: list[RewriteStep]) -> Formula:
    """Arguments of commutative connectives in a canonical order: leaves by name, then by shape.

    Every different subformula gets a rank that depends on its value alone, so equal formulas
    come out equal whatever order they were written in.
    """
    ranks: dict[tuple[object, ...], int] = {}
    rank_of: dict[int, int] = {}
    done: dict[int, Formula] = {}
    leaves = sorted({_leaf_key(leaf) for leaf in formula.leaves})
    for position, key in enumerate(leaves):
        ranks[key] = position
    for height in _by_height(formula):
        keys: dict[int, tuple[object, ...]] = {}
        for node in height:
            if node.connective is None:
                keys[id(node)] = _leaf_key(node)
                continue
            order = list(node.arguments)
            if node.connective.commutative:
                order.sort(key=lambda argument: rank_of[id(argument)])
            new_arguments = [done[id(argument)] for argument in order]
            if any(new is not old for new, old in zip(order, node.arguments, strict=True)):
                before = _rebuilt(node, [done[id(argument)] for argument in node.arguments])
                done[id(node)] = Operation(node.connective, new_arguments)
                trace.append(RewriteStep("canonical order", before, done[id(node)]))
            else:
                done[id(node)] = _rebuilt(node, new_arguments)
            keys[id(node)] = (
                node.connective.name,
                *[rank_of[id(argument)] for argument in order],
            )
        for key in sorted(set(keys.values()) - set(ranks)):
            ranks[key] = len(ranks)
        for node in height:
            rank_of[id(node)] = ranks[keys[id(node)]]
            done.setdefault(id(node), node)
    return done[id(formula)]


def _leaf_key(leaf: Formula) -> tuple[object, ...]:
    if isinstance(leaf, Constant):
        return ("", str(leaf.value))
    if isinstance(leaf, Variable):
        return ("", "", leaf.name, leaf.domain or "")
    return ("", "", str(leaf), "")


def _by_height(formula: Formula) -> list[list[Formula]]:
    heights: dict[int, int] = {}
    layers: list[list[Formula]] = []
    for node in postorder(formula):
        height = 1 + max((heights[id(argument)] for argument in node.arguments), default=-1)
        heights[id(node)] = height
        if height == len(layers):
            layers.append([])
        layers[height].append(node)
    return layers
