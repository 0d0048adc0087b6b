"""Which rows there can be, as far as some rules can tell them apart; and boxes of such rows.

The comparisons on a column split its possible entries into finitely many cases: for numbers the
constants and what lies between them, for text the words that are named and any other word, and the
missing entry.  A box allows each column some of its cases; a rule is a union of boxes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.encoding.columns import normal_column, text_column, to_float
from formulakern.encoding.propositions import evaluate_proposition, number_of
from formulakern.encoding.table import Table
from formulakern.errors import DataError, FormulaSizeError, ParameterError
from formulakern.syntax.comparison import ColumnName, Comparison
from formulakern.syntax.connectives import ARGUMENTS
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.traversal import fold

__all__ = ["MAX_STEPS", "Assignments", "Box"]

#: A column, or a comparison of two columns, which counts as a column of its own.
Key: TypeAlias = str | Formula
#: Allowed cases of some columns, as bits; those of other columns are all allowed.
Box: TypeAlias = dict[Key, int]

#: So often may two boxes be compared to answer questions about one set of rules.
MAX_STEPS = 2_000_000
#: Most boxes of one rule.
MAX_BOXES = 10_000
#: Whole numbers up to here are the same in a column of floating point numbers.
EXACT = 2**53


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
        allowed, whole = _domains(domains)
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
            if key in allowed:
                columns = [allowed[key]]
            else:
                columns = [_askable(c, key, own) for c in _entries(own, missing, key in whole)]
            for column in columns:
                table = Table({key: column})
                truths = np.array([evaluate_proposition(leaf, table) for leaf in own])
                for place, entry in enumerate(column.tolist()):
                    entries.setdefault(tuple(truths[:, place].tolist()), _shown(entry))
            ordered = sorted(entries.items(), key=lambda pair: pair[1] is None)
            values[key] = tuple(entry for _, entry in ordered)
            for place, leaf in enumerate(own):
                cases[leaf] = key, sum(true[place] << k for k, (true, _) in enumerate(ordered))
        return cls(values, cases)

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
        signed: dict[tuple[int, bool], _Signed] = {}

        def inside(node: _Signed) -> Sequence[_Signed]:
            return [
                signed.setdefault((id(argument), sign), _Signed(argument, sign))
                for argument, sign in node.parts
            ]

        def build(node: _Signed, parts: list[list[Box]]) -> list[Box]:
            if isinstance(node.formula, Constant):
                return [{}] if node.formula.value == node.true else []
            if node.formula.connective is None:
                key, bits = self.cases[node.formula]
                bits = bits if node.true else self.all[key] & ~bits
                return [{key: bits}] if bits else []
            return self._limited(node.joined(parts, self._met))

        return fold(_Signed(formula, true), build, inside)

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
        """Whether a comparison of two columns is fixed in a box."""
        return any(bits != self.all[key] for key, bits in box.items() if not isinstance(key, str))

    def _count(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise FormulaSizeError(
                f"more than {MAX_STEPS:,} comparisons of conjunctions. Ask about fewer rules, or "
                "about a table: give it as the second argument."
            )


@dataclass(frozen=True, eq=False)
class _Signed:
    """A formula, or its negation."""

    formula: Formula
    true: bool

    @property
    def arguments(self) -> tuple[_Signed, ...]:
        return ()  # fold is told what is inside

    @property
    def parts(self) -> list[tuple[Formula, bool]]:
        """The formulas, with signs, of which this is made."""
        node = self.formula
        if node.connective is None:
            return []
        if node.connective.arity == 1:
            return [(node.arguments[0], not self.true)]
        if node.connective.name in ("and", "or"):
            return [(argument, self.true) for argument in node.arguments]
        return [(argument, sign) for argument in node.arguments for sign in (True, False)]

    def joined(
        self, parts: list[list[Box]], met: Callable[[list[Box], list[Box]], list[Box]]
    ) -> Iterable[Box]:
        """Its boxes, from those of its parts."""
        connective = self.formula.connective
        assert connective is not None
        if connective.arity == 1:
            return parts[0]
        if connective.name in ("and", "or"):
            if self.true != (connective.name == "and"):
                return itertools.chain.from_iterable(parts)
            result = parts[0]
            for part in sorted(parts[1:], key=len):
                result = met(result, part)
            return result
        value = {True: parts[0], False: parts[1]}
        for k in range(2, len(parts), 2):
            other = {True: parts[k], False: parts[k + 1]}
            value = {
                sign: [
                    box
                    for (a, b), bit in zip(ARGUMENTS, connective.truth, strict=True)
                    if (bit == "1") == sign
                    for box in met(value[a], other[b])
                ]
                for sign in (True, False)
            }
        return value[self.true]


def _key(leaf: Formula) -> Key:
    """The column of a leaf; of a comparison of two columns, and what has no column, itself."""
    if isinstance(leaf, Comparison):
        values = leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
        return leaf if any(isinstance(value, ColumnName) for value in values) else leaf.column
    return leaf.name if isinstance(leaf, Variable) and leaf.domain is None else leaf


def _domains(domains: Any) -> tuple[dict[str, npt.NDArray[Any]], set[str]]:
    """Allowed entries of columns, each once, and the columns of whole numbers."""
    if domains is None:
        return {}, set()
    columns = domains if isinstance(domains, Mapping) else Table.of(domains).columns
    allowed: dict[str, npt.NDArray[Any]] = {}
    whole = {name for name, entries in columns.items() if entries is int}
    for name, entries in columns.items():
        if name in whole:
            continue
        entries = entries if hasattr(entries, "dtype") else list(entries)
        column = normal_column(entries, name)
        if not len(column):
            raise ParameterError(f'no values are allowed of column "{name}"; give one at least.')
        listed = [None if entry != entry else entry for entry in column.tolist()]
        allowed[name] = column[[listed.index(entry) for entry in dict.fromkeys(listed)]]
    return allowed, whole


def _shown(entry: Any) -> Any:
    """An entry of a column: None if it is missing, whole numbers as such."""
    if entry != entry:
        return None
    whole = isinstance(entry, float) and abs(entry) < EXACT and entry.is_integer()
    return int(entry) if whole else entry


def _entries(leaves: Sequence[Formula], missing: bool, whole: bool) -> list[npt.NDArray[Any]]:
    """Entries that a column may hold, one at least of each kind that the leaves tell apart."""
    constants: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, Comparison) and leaf.value is not None:
            constants += leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
    words = list(dict.fromkeys(value for value in constants if isinstance(value, str)))
    numbers = {number for word in words if (number := number_of(word)) is not None}
    numbers |= {value for value in constants if not isinstance(value, str)}
    alone = any(isinstance(leaf, Variable) for leaf in leaves)
    numbers |= {0, 1} if alone else set()
    floats = [*_between(sorted(set(map(to_float, numbers))))]
    if whole:  # between two constants _between names a whole number if there is one
        floats = [value for value in floats if value.is_integer()]
    columns = [np.array([*floats, math.nan] if missing else floats)]
    if any(abs(number) >= EXACT for number in numbers):
        near = {int(n) + step for n in numbers for step in (-1, 0, 1)}
        near |= {int(value) for value in floats if math.isfinite(value)}
        columns.append(np.array([n for n in sorted(near) if -(2**63) <= n < 2**63], np.int64))
    if (words or alone) and not whole:
        spelled = [str(_shown(value)) for value in floats if math.isfinite(value)]
        texts = [_other(text, words) for text in [*spelled, "true", "false"]]
        text = text_column([*words, _other("other", words), *texts])
        columns.insert(len(columns) if numbers else 0, text)
    return columns


def _between(numbers: list[float]) -> Iterator[float]:
    """Numbers below, at, between and above; whole ones where there are."""
    if not numbers:
        yield 0.0
        return
    below = math.floor(numbers[0]) - 1
    yield float(below) if below < numbers[0] and abs(below) < EXACT else -math.inf
    for low, high in itertools.pairwise([*numbers, math.inf]):
        yield low
        middle = low / 2 + high / 2 if math.isfinite(high) else math.inf
        whole = math.floor(low) + 1 if abs(low) < EXACT else middle
        for candidate in (whole, middle):
            if low < candidate < high or (high == math.inf and low < candidate):
                yield float(candidate)
                break


def _other(text: str, words: Sequence[str]) -> str:
    """The text, with blanks in front if it is one of the words."""
    while text in words:
        text = f" {text}"
    return text


def _askable(column: npt.NDArray[Any], name: str, leaves: Sequence[Formula]) -> npt.NDArray[Any]:
    """The entries of which every leaf can be asked: an order is not of words."""

    def fits(entries: npt.NDArray[Any]) -> bool:
        table = Table({name: entries})
        try:
            for leaf in leaves:
                evaluate_proposition(leaf, table)
        except DataError:
            return False
        return True

    if fits(column):
        return column
    return column[[fits(column[k : k + 1]) for k in range(len(column))]]
