"""Entries that a column may hold: one at least of each kind that comparisons with it tell apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.encoding.propositions import evaluate_proposition, number_of
from formulakern.errors import DataError, FormulaError, ParameterError
from formulakern.syntax.comparison import ORDERS, Comparison, Level
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.temporal import DAY, PARTS, Temporal, read_temporal
from formulakern.tables.column import Column, text_column, to_float
from formulakern.tables.table import Table
from formulakern.tables.temporal import is_temporal, roundest_between

__all__ = ["allowed_entries", "askable", "entries_of", "part_entries", "plain_leaf", "shown"]

#: Whole numbers up to here are the same in a column of floating point numbers.
EXACT = 2**53


def plain_leaf(leaf: Formula, key: str) -> Formula:
    """A comparison of a part of a column as one of a column of numbers."""
    if isinstance(leaf, Comparison) and leaf.part is not None:
        return leaf.replaced(column=key, part=None)
    return leaf


def part_entries(part: str, leaves: Sequence[Formula], missing: bool) -> npt.NDArray[Any]:
    """The numbers that a part of the calendar can be."""
    least, largest = PARTS[part]
    if part == "year":
        constants = [v for leaf in leaves if isinstance(leaf, Comparison) for v in leaf.values]
        numbers = list(_between(sorted(set(map(to_float, constants)))))
    else:
        numbers = [float(number) for number in range(least, largest + 1)]
    return np.array([*numbers, math.nan] if missing else numbers)


def _temporal_entries(constants: Sequence[Any], missing: bool) -> npt.NDArray[Any]:
    """Dates or times below, at, between and above those that a column is compared with."""
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


def _level_entries(level: Level, words: Sequence[str], missing: bool) -> npt.NDArray[Any]:
    """The categories of an ordered column, and another word."""
    known = list(dict.fromkeys(map(str, [*level.order, *words])))
    return text_column([*known, _other("other", known), *[None] * missing])


def allowed_entries(domains: Any) -> tuple[dict[str, npt.NDArray[Any]], set[str]]:
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
        column = Column.read(entries, name).entries
        if is_temporal(column):
            read = Table({name: entries})
            column = text_column(read.entry(name, row) for row in range(len(read)))
        if not len(column):
            raise ParameterError(f'no values are allowed of column "{name}"; give one at least.')
        listed = [None if entry != entry else entry for entry in column.tolist()]
        allowed[name] = column[[listed.index(entry) for entry in dict.fromkeys(listed)]]
    return allowed, whole


def shown(entry: Any) -> Any:
    """An entry of a column: None if it is missing, whole numbers as such."""
    if entry != entry:
        return None
    whole = isinstance(entry, float) and abs(entry) < EXACT and entry.is_integer()
    return int(entry) if whole else entry


def entries_of(leaves: Sequence[Formula], missing: bool, whole: bool) -> list[npt.NDArray[Any]]:
    """Entries that a column may hold, one at least of each kind that the leaves tell apart."""
    constants: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, Comparison) and leaf.value is not None:
            constants += leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
    if any(isinstance(value, Temporal) for value in constants):
        return [_temporal_entries(constants, missing)]
    levels = [value for value in constants if isinstance(value, Level)]
    if levels:
        return [_level_entries(levels[0], [v for v in constants if isinstance(v, str)], missing)]
    for leaf in leaves:
        if isinstance(leaf, Comparison) and leaf.relation in ORDERS:
            word = leaf.value
            if isinstance(word, str) and number_of(word) is None:
                raise FormulaError(
                    f"{str(leaf)!r} compares categories whose order is not known here. Ask about a "
                    "table that has the order: give it as the second argument."
                )
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
        spelled = [str(shown(value)) for value in floats if math.isfinite(value)]
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


def askable(column: npt.NDArray[Any], name: str, leaves: Sequence[Formula]) -> npt.NDArray[Any]:
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
