"""The cases of entries that rules distinguish, and logic about these cases.

The comparisons on a column split its possible entries into finitely many cases.  For numbers these
are the constants and the gaps between them; for text, the named words and any other word.  A
missing entry is a case of its own.  A rule is a Boolean function of the bits of the cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from formulakern.encoding.propositions import evaluate_proposition, number_of
from formulakern.errors import DataError, FormulaError, FormulaSizeError, ParameterError
from formulakern.syntax.connectives import AND, OR, spell
from formulakern.syntax.diagrams import Cube, Diagrams
from formulakern.syntax.formula import (
    Constant,
    Form,
    Formula,
    MinimalForm,
    Variable,
    WantedForm,
    both,
    diagram_of,
    either,
    fold,
    literal,
    shortest_form,
)
from formulakern.syntax.leaves import ORDERS, ColumnName, Comparison, Level
from formulakern.syntax.temporal import DAY, PARTS, Temporal, read_temporal
from formulakern.tables.column import Column, text_column, to_float
from formulakern.tables.table import Table
from formulakern.tables.temporal import is_temporal, roundest_between

#: A column, or a comparison of two columns, which counts as a column of its own.
Key: TypeAlias = str | Formula
#: Allowed cases of some columns, as bits; all cases of the other columns are allowed.
Box: TypeAlias = dict[Key, int]

#: Maximum number of comparisons of two boxes when one set of rules is shortened.
MAX_STEPS = 500_000
#: Maximum number of boxes of one rule.
MAX_BOXES = 10_000
#: Advice if the diagram of a formula is too large.
ADVICE = "Use fewer conditions, split the rule, or compare on a table."
#: Below this bound, a column of floating point numbers represents whole numbers exactly.
MAX_EXACT_INTEGER = 2**53
#: Comparison → its negation, for columns without missing entries.
OPPOSITES = {"=": "!=", "<": ">=", ">": "<=", "in": "not in", "is missing": "is not missing"}
OPPOSITES |= {opposite: relation for relation, opposite in OPPOSITES.items()}


@dataclass(eq=False)
class Assignments:
    """The cases of every column that some formulas read.

    ``values`` maps a column to one entry per case (None for missing), in the order in which
    witnesses are searched.  ``cases`` maps a leaf to its column and to the cases in which it is
    true, as bits.  ``bases`` maps a derived column, such as ``month(x)``, to its source column.

    >>> from formulakern.rules.rule import rule
    >>> both = [rule("x <= 3").formula, rule("x <= 5 & y = red").formula]
    >>> Assignments.of(both).values
    {'x': (2, 4, 6), 'y': ('red', 'other')}
    """

    values: dict[Key, tuple[Any, ...]]
    cases: dict[Formula, tuple[Key, int]]
    bases: dict[Key, str]
    steps: int = MAX_STEPS
    _boxes: dict[Formula, list[Box] | FormulaSizeError] = field(default_factory=dict)

    @classmethod
    def of(
        cls, formulas: Iterable[Formula], domains: Any = None, missing: bool = True
    ) -> Assignments:
        """Return the cases that the leaves of the formulas distinguish."""
        allowed, whole = _allowed_entries(domains)
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
            asked = [_plain_leaf(leaf, key) for leaf in own]
            columns = [allowed[key]] if key in allowed else _entries_of(own, missing, key in whole)
            for column in columns:
                if key not in allowed:
                    column = _askable(column, key, asked)
                table = Table({key: column})
                truths = np.array([evaluate_proposition(leaf, table) for leaf in asked])
                for place, entry in enumerate(column.tolist()):
                    entries.setdefault(tuple(truths[:, place].tolist()), _shown(entry))
            ordered = sorted(entries.items(), key=lambda pair: pair[1] is None)
            values[key] = tuple(entry for _, entry in ordered)
            for place, leaf in enumerate(own):
                cases[leaf] = key, sum(true[place] << k for k, (true, _) in enumerate(ordered))
        bases: dict[Key, str] = {
            _key(leaf): leaf.column
            for leaf in cases
            if isinstance(leaf, Comparison) and leaf.part is not None
        }
        return cls(values, cases, bases)

    @cached_property
    def all(self) -> Box:
        """All rows: every case of every column."""
        return {key: (1 << len(values)) - 1 for key, values in self.values.items()}

    def boxes(self, formula: Formula) -> list[Box]:
        """Return at most 10,000 boxes of the rows in which a formula is true."""
        if formula not in self._boxes:
            try:
                self._boxes[formula] = self._boxes_of(formula)
            except FormulaSizeError as error:
                self._boxes[formula] = error
        known = self._boxes[formula]
        if isinstance(known, FormulaSizeError):
            raise known
        return known

    def _boxes_of(self, formula: Formula) -> list[Box]:
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

        return fold(formula.to_nnf(), build, lambda node: () if literal(node) else node.arguments)

    def _met(self, left: list[Box], right: list[Box]) -> list[Box]:
        """Return the intersections of boxes of one list with those of another."""
        pairs = itertools.product(left, right)
        return self._limited(itertools.starmap(self.meet, pairs))

    def _limited(self, boxes: Iterable[Box | None]) -> list[Box]:
        found: dict[tuple[tuple[Key, int], ...], Box] = {}
        for box in boxes:
            if box is not None:
                found.setdefault(tuple(sorted(box.items(), key=lambda p: hash(p[0]))), box)
            if len(found) > MAX_BOXES:
                raise FormulaSizeError(
                    f"a rule is the union of more than {MAX_BOXES:,} conjunctions. Pass a table as "
                    "the second argument: on a table, rules of any size can be compared."
                )
        return list(found.values())

    def meet(self, left: Box, right: Box) -> Box | None:
        """Return the rows that are in both boxes, or None if there are none."""
        self._count(1)
        if len(left) < len(right):
            left, right = right, left
        found = dict(left)
        for key, bits in right.items():
            found[key] = bits & found.get(key, bits)
            if not found[key]:
                return None
        return found

    def covered(self, spaces: Sequence[Box], boxes: Sequence[Box]) -> bool:
        """Return True if the boxes cover all rows of the spaces.

        A box is removed column by column: first the rows outside it in its first column, then those
        inside it there and outside it in the second column, and so on.
        """
        stack = [({**self.all, **space}, list(boxes)) for space in reversed(spaces)]
        while stack:
            space, boxes = stack.pop()
            self._count(len(boxes))
            live = [
                {key: bits for key, bits in box.items() if space[key] & ~bits}
                for box in boxes
                if all(space[key] & bits for key, bits in box.items())
            ]
            if not live:
                return False
            nearest = min(live, key=len)  # a box without columns holds the whole space
            others = [box for box in live if box is not nearest]
            for key, bits in nearest.items():
                stack.append(({**space, key: space[key] & ~bits}, others))
                space = {**space, key: space[key] & bits}
        return True

    def _count(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise FormulaSizeError(
                f"the rules need more than {MAX_STEPS:,} comparisons of conjunctions. Use fewer "
                "rules, or pass a table as the second argument."
            )


def _key(leaf: Formula) -> Key:
    """Return the column of a leaf, or the leaf itself if it reads no column or two."""
    if isinstance(leaf, Comparison):
        if any(isinstance(value, ColumnName) for value in leaf.values):
            return leaf
        return leaf.column if leaf.part is None else f"{leaf.part}({spell(leaf.column)})"
    return leaf.name if isinstance(leaf, Variable) and leaf.domain is None else leaf


# -- entries


def _plain_leaf(leaf: Formula, key: str) -> Formula:
    """Return a comparison of a part of a column as a comparison of the column ``key``."""
    if isinstance(leaf, Comparison) and leaf.part is not None:
        return leaf.replaced(column=key, part=None)
    return leaf


def _temporal_entries(constants: Sequence[Any], missing: bool) -> npt.NDArray[Any]:
    """Return dates or times below, at, between and above the constants of a column."""
    kind = next(value.kind for value in constants if isinstance(value, Temporal))
    found = [read_temporal(v, kind) if isinstance(v, str) else v for v in constants]
    known = sorted({v.nanoseconds for v in found if isinstance(v, Temporal) and v.kind == kind})
    between = [roundest_between(low, high, kind) for low, high in itertools.pairwise(known)]
    ends = [known[0] - DAY, known[-1] + DAY]
    if kind == "time":
        ends = [0, DAY - 1]
    counts = sorted({*known, *ends, *(count for count in between if count is not None)})
    entries: list[Any] = [Temporal(kind, count) for count in counts]
    return text_column([*entries, None] if missing else entries)


def _allowed_entries(domains: Any) -> tuple[dict[str, npt.NDArray[Any]], set[str]]:
    """Return the distinct allowed entries of columns, and the columns of whole numbers."""
    if domains is None:
        return {}, set()
    columns = domains if isinstance(domains, Mapping) else Table.of(domains).columns
    allowed: dict[str, npt.NDArray[Any]] = {}
    whole = {name for name, entries in columns.items() if entries is int}
    for name, entries in columns.items():
        if name in whole:
            continue
        entries = entries if hasattr(entries, "dtype") else list(entries)
        column = Column.read(entries, name).entries
        if is_temporal(column):
            read = Table({name: entries})
            column = text_column(read.entry(name, row) for row in range(len(read)))
        if not len(column):
            raise ParameterError(f'no values are allowed of column "{name}"; give at least one.')
        listed = [None if entry != entry else entry for entry in column.tolist()]
        allowed[name] = column[[listed.index(entry) for entry in dict.fromkeys(listed)]]
    return allowed, whole


def _shown(entry: Any) -> Any:
    """Return an entry as a witness shows it: None if missing, an int if it is a whole number."""
    if entry != entry:
        return None
    whole = isinstance(entry, float) and abs(entry) < MAX_EXACT_INTEGER and entry.is_integer()
    return int(entry) if whole else entry


def _entries_of(leaves: Sequence[Formula], missing: bool, whole: bool) -> list[npt.NDArray[Any]]:
    """Return possible entries of a column, at least one for each case of the leaves."""
    constants = [v for leaf in leaves if isinstance(leaf, Comparison) for v in leaf.values]
    if any(isinstance(value, Temporal) for value in constants):
        return [_temporal_entries(constants, missing)]
    levels = [value for value in constants if isinstance(value, Level)]
    if levels:
        known = [*levels[0].order, *(v for v in constants if isinstance(v, str))]
        known = list(dict.fromkeys(map(str, known)))
        return [text_column([*known, _other("other", known), *[None] * missing])]
    for leaf in leaves:
        if isinstance(leaf, Comparison) and leaf.part not in (None, "year"):
            least, largest = PARTS[leaf.part]
            return [np.array([*range(least, largest + 1), *[math.nan] * missing], dtype=np.float64)]
        if isinstance(leaf, Comparison) and leaf.relation in ORDERS:
            word = leaf.value
            if isinstance(word, str) and number_of(word) is None:
                raise FormulaError(
                    f"{str(leaf)!r} compares categories, whose order is not known. Pass a table "
                    "that has the order as the second argument."
                )
    words = list(dict.fromkeys(value for value in constants if isinstance(value, str)))
    numbers: set[Any] = {number for w in words if (number := number_of(w)) is not None}
    numbers |= {value for value in constants if not isinstance(value, str)}
    alone = any(isinstance(leaf, Variable) for leaf in leaves)
    numbers |= {0, 1} if alone else set()
    floats = [*_between(sorted(set(map(to_float, numbers))))]
    if whole:  # _between yields a whole number between two constants if there is one
        floats = [value for value in floats if value.is_integer()]
    columns = [np.array([*floats, math.nan] if missing else floats)]
    if any(abs(number) >= MAX_EXACT_INTEGER for number in numbers):
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
    """Yield numbers below, at, between and above the given ones, whole numbers if possible."""
    if not numbers:
        yield 0.0
        return
    below = math.floor(numbers[0]) - 1
    yield float(below) if below < numbers[0] and abs(below) < MAX_EXACT_INTEGER else -math.inf
    for low, high in itertools.pairwise([*numbers, math.inf]):
        yield low
        middle = low / 2 + high / 2 if math.isfinite(high) else math.inf
        whole = math.floor(low) + 1 if abs(low) < MAX_EXACT_INTEGER else middle
        for candidate in (whole, middle):
            if low < candidate < high or (high == math.inf and low < candidate):
                yield float(candidate)
                break


def _other(text: str, words: Sequence[str]) -> str:
    """Return the text, with leading blanks if it is one of the words."""
    while text in words:
        text = f" {text}"
    return text


def _askable(column: npt.NDArray[Any], name: str, leaves: Sequence[Formula]) -> npt.NDArray[Any]:
    """Return the entries to which every leaf applies (an order does not apply to words)."""

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


# -- conditions as Boolean functions


class RowFunctions:
    """Conditions as Boolean functions of the bits of the cases; equal functions are equal integers.

    The case of a column is a number whose bits are variables of decision diagrams.  Numbers beyond
    the last case count as the last case, so every assignment is a row.
    """

    def __init__(
        self, formulas: Iterable[Formula], domains: Any = None, missing: bool = True
    ) -> None:
        self.assignments = Assignments.of(formulas, domains, missing)
        self.diagrams = Diagrams(ADVICE)
        self.levels: dict[Key, range] = {}
        self._leaves: dict[Formula, int] = {}
        stop = 0
        for key, values in self.assignments.values.items():
            self.levels[key] = range(stop, stop + (len(values) - 1).bit_length())
            stop = self.levels[key].stop

    def of(self, formula: Formula) -> int:
        """Return the function of a condition."""
        return diagram_of(self.diagrams, formula, self._leaf)

    def up_to_sign(self, formula: Formula) -> tuple[int, bool]:
        """Return the function of a condition or of its negation, and True for the negation.

        The returned function is false in the row of the first cases; it is 0 for constants.
        """
        found = function = self.of(formula)
        while found > 1:
            found = self.diagrams.low[found]
        return (self.diagrams.negation(function) if found else function), bool(found)

    def _leaf(self, leaf: Formula) -> int:
        if leaf not in self._leaves:
            key, bits = self.assignments.cases[leaf]
            n_cases, levels = len(self.assignments.values[key]), self.levels[key]
            if bits >> (n_cases - 1):  # numbers beyond the last case count as the last case
                bits |= (1 << (1 << len(levels))) - (1 << n_cases)
            self._leaves[leaf] = self._of_bits(bits, levels)
        return self._leaves[leaf]

    def _of_bits(self, bits: int, levels: range) -> int:
        """Return the function that is true of the numbers whose bit is set."""
        size = 1 << len(levels)
        if bits in (0, (1 << size) - 1):
            return int(bits > 0)
        high, low = bits >> size // 2, bits & ((1 << size // 2) - 1)
        sides = (self._of_bits(side, levels[1:]) for side in (high, low))
        return self.diagrams.node(levels[0], *sides)

    def rows(self, function: int, property_name: str) -> int:
        """Return rows in which a function is true, 0 if there are none.

        A comparison of two columns, or a date next to its parts, depends on other conditions.  In
        the returned rows the function is true for all their values.  Raise FormulaError if only
        other rows are left.
        """
        values, bases = self.assignments.values, self.assignments.bases
        pairs = [key for key in values if not isinstance(key, str)]
        pending = [self._whatever(function, pairs)]
        for base in dict.fromkeys(bases.values()):  # only one of a date and its parts is free
            group = [key for key in values if key == base or bases.get(key) == base]
            others = [[key for key in group if key != kept] for kept in group]
            pending = [self._whatever(rows, some) for rows in pending if rows for some in others]
        if not function or any(pending):
            return max(pending, default=0)
        together = {*pairs, *bases}
        leaf = next(leaf for leaf, (key, _) in self.assignments.cases.items() if key in together)
        raise FormulaError(
            f"{property_name} depends on {str(leaf)!r} together with other conditions; logic alone "
            "cannot decide it. Compare the rules on a table: (rule(table) == other(table)).all()."
        )

    def first_row(self, function: int) -> tuple[dict[str, Any], dict[int, bool]]:
        """Return the first row in which a function is true, as entries and as values of bits."""
        true = set()
        while function > 1:
            level, low = self.diagrams.level[function], self.diagrams.low[function]
            function = low or self.diagrams.high[function]
            if not low:
                true.add(level)
        row: dict[str, Any] = {}
        bits: dict[int, bool] = {}
        for key, entries in self.assignments.values.items():
            if isinstance(key, str):
                levels = self.levels[key]
                bits |= {level: level in true for level in levels}
                case = sum(1 << k for k, level in enumerate(reversed(levels)) if level in true)
                row[key] = entries[min(case, len(entries) - 1)]
        return row, bits

    def _whatever(self, function: int, keys: Iterable[Key]) -> int:
        """Return the rows in which a function is true for any entries of some columns."""
        levels = {level for key in keys for level in self.levels[key]}
        return self.diagrams.quantified(function, levels, "1000") if levels else function


def simplified_condition(
    formula: Formula, form: WantedForm, domains: object, missing: bool
) -> MinimalForm:
    """Implement :meth:`formulakern.Rule.simplify`.

    Each comparison is a letter.  The cases of the columns determine which can be true together.
    """
    asked = Assignments.of([formula, *_tests_of_missing(formula)], domains, missing)
    columns = list(asked.values)
    letters = sorted(asked.cases, key=lambda letter: columns.index(asked.cases[letter][0]))
    level = {letter: k for k, letter in enumerate(letters)}

    def between() -> tuple[Diagrams, int, int]:
        d = Diagrams(ADVICE)
        top = diagram_of(d, formula, lambda letter: d.variable(level[letter]))
        possible = []
        for key, values in asked.values.items():
            own = [(level[x], asked.cases[x][1]) for x in letters if asked.cases[x][0] == key]
            cases = []
            for case in range(len(values)):
                node = 1
                for place, bits in reversed(own):
                    node = d.node(place, *((node, 0) if bits >> case & 1 else (0, node)))
                cases.append(node)
            possible.append(d.either(cases))
        rows = d.both(possible)
        return d, d.both([top, rows]), d.apply("1101", top, rows)

    opposites = [other for letter in letters if (other := _opposite(letter)) is not None]
    cases = Assignments.of([*letters, *opposites], domains, missing)

    def written(cubes: Sequence[Cube], one: Form) -> Formula:
        parts = []
        for cube in cubes:
            true = cube[one == "cnf"]
            chosen = [
                (letter, bool(true >> k & 1))
                for k, letter in enumerate(letters)
                if sum(cube) >> k & 1
            ]
            parts.append(_with_opposites(chosen, cases, one))
        if one == "dnf":
            return either(both(part) for part in parts)
        return both(either(part) for part in parts)

    return shortest_form(formula, form, between, written)


def _tests_of_missing(formula: Formula) -> Iterator[Formula]:
    """Yield ``x is not missing`` for each column; it can replace longer comparisons."""
    for leaf in formula.leaves:
        if isinstance(leaf, Comparison) and leaf.part is None:
            yield Comparison(leaf.column, "is not missing")
        elif isinstance(leaf, Variable) and leaf.domain is None:
            yield Comparison(leaf.name, "is not missing")


def _opposite(letter: Formula) -> Comparison | None:
    """Return the negation of a comparison, valid if no entry is missing; None if it has none."""
    if not isinstance(letter, Comparison) or letter.relation not in OPPOSITES:
        return None
    return letter.replaced(relation=OPPOSITES[letter.relation])


def _with_opposites(
    literals: Sequence[tuple[Formula, bool]], cases: Assignments, form: Form
) -> list[Formula]:
    """Return the literals of a term or clause, with negations as opposite comparisons.

    A negation is replaced only if the other literals of the term or clause make both equivalent.
    """
    said = []
    for letter, sign in literals:
        key, bits = cases.cases[letter]
        said.append((letter, letter, bits) if sign else (~letter, letter, cases.all[key] & ~bits))
    for k, (letter, sign) in enumerate(literals):
        key = cases.cases[letter][0]
        opposite = _opposite(letter)
        if sign or opposite is None or cases.cases[opposite][0] != key:
            continue
        bits = cases.cases[opposite][1]
        differ = bits ^ said[k][2]
        for j, (_, other, allowed) in enumerate(said):
            if j != k and cases.cases[other][0] == key:
                differ &= allowed if form == "dnf" else ~allowed
        if not differ:
            said[k] = opposite, letter, bits
    return [formula for formula, *_ in said]
