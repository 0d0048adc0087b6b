"""A conjunction of clauses that grows with the formula alone: a new name for every connective.

G. S. Tseitin (1968), On the complexity of derivation in propositional calculus, reprinted in
doi:10.1007/978-3-642-81955-1_28.
"""

from __future__ import annotations

import itertools
from typing import Any, Generic

from formulakern.syntax.connectives import ARGUMENTS, Connective
from formulakern.syntax.logic.node import N, both, either, letters_of, negated
from formulakern.syntax.logic.normal_forms import clauses_of, halves
from formulakern.syntax.traversal import postorder

__all__ = ["with_definitions"]


def with_definitions(root: N) -> N:
    """Clauses over the names of a formula and new ones, one for each operation in it.

    Every model of the formula extends to exactly one of the clauses, and each of these is a model
    of the formula: over all names both have equally many.

    Raises
    ------
    FormulaError
        If a leaf is a comparison or a choice.
    """
    letters = letters_of([root], "to_cnf()")
    if clauses_of(root, "cnf") is not None:
        return root
    return _Definitions(root, {str(getattr(x, "name", x)) for x in letters}).formula()


class _Definitions(Generic[N]):
    def __init__(self, root: N, taken: set[str]) -> None:
        self.root = root
        self.clauses: dict[N, None] = {}
        #: What stands for each node: a leaf, a new name, or the negation of one.
        self.of: dict[int, N] = {}
        self.kept: list[Any] = []  # the halves of chains
        self.names = (name for k in itertools.count(1) if (name := f"_{k}") not in taken)

    def formula(self) -> N:
        for node in postorder(self.root):
            row = node.connective
            if row is None:
                self.of[id(node)] = node
            elif row.arity == 1:
                self.of[id(node)] = negated(self.of[id(node.arguments[0])])
            elif row.chain == "flat" and row.truth in ("1000", "1110"):
                parts = [self.of[id(argument)] for argument in node.arguments]
                self.of[id(node)] = self._chain(parts, row.truth == "1000")
            else:
                tree: Any = halves(row, node.arguments) if len(node.arguments) > 2 else node
                self.kept.append(tree)
                self.of[id(node)] = self._tree(tree, row)
        self._add(self.of[id(self.root)])
        false = self.root._constant(False)
        return false if false in self.clauses else both(self.root, self.clauses)

    def _chain(self, parts: list[N], conjunction: bool) -> N:
        """A name for a conjunction, or for a disjunction: the negation of one of negations."""
        name = self._name()
        whole = name if conjunction else negated(name)
        parts = parts if conjunction else [negated(part) for part in parts]
        for part in parts:
            self._add(negated(whole), part)
        self._add(whole, *map(negated, parts))
        return name

    def _tree(self, tree: Any, row: Connective) -> N:
        """A name for an operation with two arguments, those inside a tree of halves first."""
        found = tree
        for half in postorder(tree, lambda node: () if id(node) in self.of else node.arguments):
            if id(half) not in self.of:
                left, right = (self.of[id(argument)] for argument in half.arguments)
                self.of[id(half)] = self._operation(left, right, row.truth)
            found = self.of[id(half)]
        return found  # type: ignore[no-any-return]

    def _operation(self, left: N, right: N, truth: str) -> N:
        """A name that is ``left ∘ right``; a clause for each prime implicant of both sides."""
        name = self._name()
        for value in ("1", "0"):
            implied = name if value == "1" else negated(name)
            cells = [cell for cell, bit in zip(ARGUMENTS, truth, strict=True) if bit == value]
            for p in (True, False):
                if (p, True) in cells and (p, False) in cells:
                    self._add(implied, negated(left) if p else left)
                if (True, p) in cells and (False, p) in cells:
                    self._add(implied, negated(right) if p else right)
            for p, q in cells:
                if (not p, q) not in cells and (p, not q) not in cells:
                    self._add(implied, negated(left) if p else left, negated(right) if q else right)
        return name

    def _name(self) -> N:
        name: N = self.root._variable(next(self.names))
        return name

    def _add(self, *literals: N) -> None:
        """A clause, unless it is always true; false parts of it are left out."""
        found = dict.fromkeys(part for part in literals if part.truth is not False)
        if not any(part.truth or negated(part) in found for part in found):
            self.clauses.setdefault(either(self.root, found))
