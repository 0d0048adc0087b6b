"""Which rows there can be, as far as some rules can tell them apart; and boxes of such rows.

The comparisons on a column split its possible entries into finitely many cases: for numbers the
constants and what lies between them, for text the words that are named and any other word, and the
missing entry.  A box allows each column some of its cases; a rule is a union of boxes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np

from formulakern.encoding.propositions import evaluate_proposition
from formulakern.errors import FormulaSizeError
from formulakern.rules.cases.entries import (
    allowed_entries,
    askable,
    entries_of,
    part_entries,
    plain_leaf,
    shown,
)
from formulakern.syntax.comparison import ColumnName, Comparison
from formulakern.syntax.connectives import AND, OR
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.logic.forms import literal
from formulakern.syntax.names import spell
from formulakern.syntax.traversal import fold
from formulakern.tables.table import Table

__all__ = ["MAX_STEPS", "Assignments", "Box"]

#: A column, or a comparison of two columns, which counts as a column of its own.
Key: TypeAlias = str | Formula
#: Allowed cases of some columns, as bits; those of other columns are all allowed.
Box: TypeAlias = dict[Key, int]

#: So often may two boxes be compared to answer questions about one set of rules.
MAX_STEPS = 2_000_000
#: Most boxes of one rule.
MAX_BOXES = 10_000


@dataclass(eq=False)
class Assignments:
    """The cases of every column that some formulas read.

    Parameters
    ----------
    values : dict
        Column → an entry of each of its cases, None for a missing one; those before others that
        are shown first.
    cases : dict
        Leaf → its column, and the cases in which it is true, as bits.
    steps : int
        Comparisons of boxes that are left; a question that needs more raises FormulaSizeError.
    bases : dict
        Part of a column, such as ``month(x)``, which counts as a column of its own → the column.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> both = [rule("x <= 3").formula, rule("x <= 5 & y = red").formula]
    >>> Assignments.of(both).values
    {'x': (2, 4, 6), 'y': ('red', 'other')}
    """

    values: dict[Key, tuple[Any, ...]]
    cases: dict[Formula, tuple[Key, int]]
    steps: int = MAX_STEPS
    bases: dict[Key, str] = field(default_factory=dict)
    _boxes: dict[tuple[Formula, bool], list[Box] | FormulaSizeError] = field(default_factory=dict)

    @classmethod
    def of(
        cls, formulas: Iterable[Formula], domains: Any = None, missing: bool = True
    ) -> Assignments:
        """The cases that the leaves of formulas tell apart.

        Parameters
        ----------
        formulas : iterable of Formula
        domains : mapping of column to allowed values or ``int``, or table, optional
            Columns that are not in it may hold anything that the formulas can be asked of; ``int``
            stands for all whole numbers.
        missing : bool
            Whether entries of columns without allowed values may be missing.

        Raises
        ------
        ParameterError
            If a domain is empty.
        DataError
            If a domain holds what cannot be compared.
        """
        allowed, whole = allowed_entries(domains)
        leaves: dict[Key, list[Formula]] = {}
        for leaf in dict.fromkeys(leaf for formula in formulas for leaf in formula.leaves):
            if not isinstance(leaf, Constant):
                leaves.setdefault(_key(leaf), []).append(leaf)
        values: dict[Key, tuple[Any, ...]] = {}
        cases: dict[Formula, tuple[Key, int]] = {}
        for key, own in leaves.items():
            if not isinstance(key, str):
                values[key], cases[key] = (True, False), (key, 1)
                continue
            entries: dict[tuple[bool, ...], Any] = {}  # one for each set of true leaves
            asked = [plain_leaf(leaf, key) for leaf in own]
            if key in allowed:
                columns = [allowed[key]]
            elif isinstance(own[0], Comparison) and own[0].part is not None:
                columns = [part_entries(own[0].part, asked, missing)]
            else:
                columns = [askable(c, key, asked) for c in entries_of(asked, missing, key in whole)]
            for column in columns:
                table = Table({key: column})
                truths = np.array([evaluate_proposition(leaf, table) for leaf in asked])
                for place, entry in enumerate(column.tolist()):
                    entries.setdefault(tuple(truths[:, place].tolist()), shown(entry))
            ordered = sorted(entries.items(), key=lambda pair: pair[1] is None)
            values[key] = tuple(entry for _, entry in ordered)
            for place, leaf in enumerate(own):
                cases[leaf] = key, sum(true[place] << k for k, (true, _) in enumerate(ordered))
        bases: dict[Key, str] = {
            _key(leaf): leaf.column
            for leaf in cases
            if isinstance(leaf, Comparison) and leaf.part is not None
        }
        return cls(values, cases, bases=bases)

    @cached_property
    def all(self) -> Box:
        """All rows: every case of every column."""
        return {key: (1 << len(values)) - 1 for key, values in self.values.items()}

    def boxes(self, formula: Formula, true: bool = True) -> list[Box]:
        """Boxes whose union are the rows in which a formula is true, or those in which it is false.

        Raises
        ------
        FormulaSizeError
            If there are more than 10,000.
        """
        known = self._boxes.get((formula, true), ())
        if isinstance(known, FormulaSizeError):
            raise known
        if isinstance(known, tuple):
            try:
                known = self._made(formula, true)
            except FormulaSizeError as error:
                self._boxes[formula, true] = error
                raise
            self._boxes[formula, true] = known
        return known

    def _made(self, formula: Formula, true: bool) -> list[Box]:
        def build(node: Formula, parts: list[list[Box]]) -> list[Box]:
            if node.truth is not None:
                return [{}] if node.truth else []
            if node.connective is OR:
                return self._limited(itertools.chain.from_iterable(parts))
            if node.connective is AND:
                return reduce(self._met, sorted(parts[1:], key=len), parts[0])
            leaf = node.arguments[0] if node.connective else node
            key, bits = self.cases[leaf]
            bits = self.all[key] & ~bits if node.connective else bits
            return [{key: bits}] if bits else []

        wanted = formula if true else ~formula
        return fold(wanted.to_nnf(), build, lambda node: () if literal(node) else node.arguments)

    def _met(self, left: list[Box], right: list[Box]) -> list[Box]:
        """The intersections of boxes of one list with those of another."""
        pairs = itertools.product(left, right)
        return self._limited(itertools.starmap(self.meet, pairs))

    def _limited(self, boxes: Iterable[Box | None]) -> list[Box]:
        found: dict[tuple[tuple[Key, int], ...], Box] = {}
        for box in boxes:
            if box is not None:
                found.setdefault(tuple(sorted(box.items(), key=lambda p: hash(p[0]))), box)
            if len(found) > MAX_BOXES:
                raise FormulaSizeError(
                    f"a rule is the union of more than {MAX_BOXES:,} conjunctions. Ask about a "
                    "table, which takes rules of any size: give it as the second argument."
                )
        return list(found.values())

    def meet(self, left: Box, right: Box) -> Box | None:
        """The rows in both boxes; None if there are none."""
        self._count(1)
        if len(left) < len(right):
            left, right = right, left
        found = dict(left)
        for key, bits in right.items():
            found[key] = bits & found.get(key, bits)
            if not found[key]:
                return None
        return found

    def uncovered(self, space: Box, boxes: Sequence[Box]) -> Iterator[Box]:
        """Disjoint boxes of the rows of a box that are in none of others.

        A box is taken off along its own columns: of the rows that are not in it, first those that
        differ in its first column, then those that agree there and differ in the second.

        Raises
        ------
        FormulaSizeError
            If ``steps`` do not suffice.
        """
        stack = [({**self.all, **space}, list(boxes))]
        while stack:
            space, boxes = stack.pop()
            self._count(len(boxes))
            live = [
                {key: bits for key, bits in box.items() if space[key] & ~bits}
                for box in boxes
                if all(space[key] & bits for key, bits in box.items())
            ]
            if not live:
                yield space
                continue
            nearest = min(live, key=len)  # without columns it holds the whole space
            others = [box for box in live if box is not nearest]
            for key, bits in nearest.items():
                stack.append(({**space, key: space[key] & ~bits}, others))
                space = {**space, key: space[key] & bits}

    def point(self, box: Box) -> Box:
        """One case of every column of a box; of comparisons of two columns all that are allowed."""
        bits = {**self.all, **box}
        return {key: now & -now if isinstance(key, str) else now for key, now in bits.items()}

    def row(self, point: Box) -> dict[str, Any]:
        """A row of a point: column → entry."""
        return {
            key: values[point[key].bit_length() - 1]
            for key, values in self.values.items()
            if isinstance(key, str)
        }

    def depends_on_pairs(self, box: Box) -> bool:
        """Whether a box fixes what other columns fix too.

        That is a comparison of two columns, or two of a date and the parts of it.
        """
        fixed = [key for key, bits in box.items() if bits != self.all[key]]
        columns = [self.bases.get(key, key) for key in fixed]
        return len({*columns}) < len(columns) or not all(isinstance(key, str) for key in fixed)

    def _count(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise FormulaSizeError(
                f"more than {MAX_STEPS:,} comparisons of conjunctions. Ask about fewer rules, or "
                "about a table: give it as the second argument."
            )


def _key(leaf: Formula) -> Key:
    """The column of a leaf; of a comparison of two columns, and what has no column, itself."""
    if isinstance(leaf, Comparison):
        values = leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
        if any(isinstance(value, ColumnName) for value in values):
            return leaf
        return leaf.column if leaf.part is None else f"{leaf.part}({spell(leaf.column)})"
    return leaf.name if isinstance(leaf, Variable) and leaf.domain is None else leaf
