"""What a fitted encoder knows of one column: its propositions, and where they are true.

A plan is made from the training column and asked of every later table.  Its propositions are
what :func:`formulakern.encoding.propositions.evaluate_proposition` evaluates; a plan only answers
faster, for all of them at once, as coordinates of the true entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.bits import Words, n_words, pack_coordinates, pack_truths, row_blocks
from formulakern.encoding.cut_points import Strategy, counted, cut_gaps, cuts
from formulakern.encoding.degrees import Degrees, DegreeScale, learn_degrees
from formulakern.encoding.propositions import evaluate_proposition, numbers_of_part
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError
from formulakern.syntax.comparison import Comparison, Level
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.temporal import PARTS_OF
from formulakern.tables.column import Column, read_number
from formulakern.tables.table import Table
from formulakern.tables.temporal import counts_of, value_at

__all__ = [
    "ColumnPlan",
    "levels_of",
    "plan_boolean",
    "plan_graded",
    "plan_nominal",
    "plan_numeric",
    "refuse_missing",
]

#: Columns of at most so many values are compared with each of them, others are sorted.
FEW_VALUES = 64
#: A column may be cut between all of its values so often.
MOST_CUTS = 5000


@dataclass(frozen=True)
class ColumnPlan:
    """The propositions of one column.

    Parameters
    ----------
    name : str
        The column.
    kind : {"boolean", "nominal", "numeric", "temporal", "graded"}
    values : tuple of str, int, float or Temporal
        The values seen in training, for nominal columns.
    propositions : tuple of Comparison or Variable
        For a nominal column first ``x = v`` for every value; then the others.
    degrees : Degrees, optional
        Of a graded column: the proposition that is the column itself, and its negation, are true
        to a degree.
    pooled : tuple of str, int, float or Temporal
        Of a nominal column: further values of training, which have no proposition of their own.
    parts : tuple of str
        The parts of the calendar that have propositions, such as ``month(x) = June``.
    once : float
        Of a nominal column: the share of its training entries whose value is there once.
    """

    name: str
    kind: Literal["boolean", "nominal", "numeric", "temporal", "graded"]
    values: tuple[Any, ...]
    propositions: tuple[Formula, ...]
    degrees: Degrees | None = None
    pooled: tuple[Any, ...] = ()
    parts: tuple[str, ...] = ()
    once: float = 0.0

    def with_parts(self, table: Table, parts: Sequence[str], negations: bool) -> ColumnPlan:
        """The plan with ``month(x) = v``, … for every value that occurs, where there are two.

        Parts that the column does not have, as a time of day has no month, are left out.
        """
        has = PARTS_OF[table.kinds[self.name]]
        extra: list[Formula] = []
        used = []
        for part in dict.fromkeys(part for part in parts if part in has):
            numbers = numbers_of_part(table, self.name, part)
            values = np.unique(numbers[~np.isnan(numbers)]).astype(np.int64).tolist()
            if len(values) > 1:
                used.append(part)
                signs = ["=", "!="] if negations else ["="]
                extra += [Comparison(self.name, s, v, part=part) for s in signs for v in values]
        return replace(self, propositions=(*self.propositions, *extra), parts=tuple(used))

    def with_missing(self, negations: bool) -> ColumnPlan:
        """The plan with ``x is missing`` (and ``x is not missing``) as propositions of its own."""
        extra: list[Formula] = [Comparison(self.name, "is missing")]
        extra += [Comparison(self.name, "is not missing")] * negations
        return replace(self, propositions=(*self.propositions, *extra))

    def renamed(self, name: str) -> ColumnPlan:
        """The same plan for a column of another name."""
        renamed: list[Formula] = []
        for leaf in self.propositions:
            if isinstance(leaf, Comparison):
                renamed.append(leaf.replaced(column=name))
            else:
                renamed.append(Variable(name) if isinstance(leaf, Variable) else ~Variable(name))
        return replace(self, name=name, propositions=tuple(renamed))

    def graded(self, table: Table) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """The propositions that are true to a degree, each with its degrees on all rows."""
        if self.degrees is None:
            return
        column = table.typed(self.name)
        degrees, present = self.degrees.of(column.values.astype(np.float64)), ~column.missing
        for place, leaf in enumerate(self.propositions):
            if isinstance(leaf, Variable):
                yield place, degrees
            elif not isinstance(leaf, Comparison):
                yield place, np.where(present, 1.0 - degrees, 0.0)

    def packed(self, table: Table) -> Words:
        """The propositions on the rows of a table, packed by column.

        Returns
        -------
        ndarray of shape (number of propositions, ceil(n_rows / 64)), uint64
        """
        n_rows, first = len(table), len(self.values)
        words = np.zeros((len(self.propositions), n_words(n_rows)), dtype=np.uint64)
        if first > FEW_VALUES:
            codes = self.codes(table)
            rows = np.flatnonzero(codes >= 0)
            places = codes[rows]
            order = np.argsort(places, kind="stable")
            words[:first] = pack_coordinates(places[order], rows[order], (first, n_rows))
        elif first:
            codes = self.codes(table).astype(np.int8)
            for block in row_blocks(0, first, n_rows):
                values = np.arange(block.start, block.stop, dtype=np.int8)
                words[block] = pack_truths(codes == values[:, None])
        together = self._pack_orders(table, words)
        for place, truths in self._others(table, together):
            words[place] = pack_truths(truths[None])[0]
        return words

    def _pack_orders(self, table: Table, words: Words) -> frozenset[int]:
        """Pack the ``x <= c`` and ``x >= c`` of a column of numbers, and say which they are."""
        column = table.typed(self.name).values
        if self.kind != "numeric" or column.dtype not in (np.float64, np.int64):
            return frozenset()
        packed: list[int] = []
        for compare, places, values in self._orders:
            numbers = np.array(values, dtype=None if column.dtype == np.int64 else np.float64)
            exact = column.dtype == np.float64 or numbers.dtype == np.int64
            if not exact and any(type(value) is int for value in values):
                continue  # whole numbers beyond 2⁵³ are compared one by one
            with np.errstate(invalid="ignore"):  # an order with NaN is false
                for block in row_blocks(0, len(places), len(column)):
                    words[places[block]] = pack_truths(compare(column, numbers[block, None]))
            packed += places
        return frozenset(packed)

    def _others(
        self, table: Table, done: frozenset[int] = frozenset()
    ) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """The propositions behind ``x = v`` of a nominal column, each on all rows."""
        for place, leaf in enumerate(self.propositions[len(self.values) :], len(self.values)):
            if place in done:
                continue
            if self.degrees is not None and not isinstance(leaf, Comparison):
                continue
            if isinstance(leaf, Variable) and table.is_numeric(self.name):
                yield place, np.asarray(table.column(self.name) == 1, dtype=np.bool_)
            else:
                yield place, evaluate_proposition(leaf, table)

    def codes(self, table: Table) -> NDArray[np.intp]:
        """The number of every entry's value among the known ones; -1 for unknown and missing."""
        column = table.typed(self.name)
        if column.labels is not None and all(isinstance(value, str) for value in self.values[:1]):
            texts, numbers = column.numbered
            known = [self._index.get(text, -1) for text in texts]
            return np.asarray(np.array(known, dtype=np.intp)[numbers])
        codes = np.full(len(column), -1, dtype=np.intp)
        for code in range(len(self.values)):
            codes[evaluate_proposition(self.propositions[code], table)] = code
        return codes

    def first_unknown(self, table: Table) -> int | None:
        """The first row with a value that training did not show; None if there is none.

        Only nominal and Boolean columns have unknown values; a numeric cut takes any number.
        """
        unknown = self.unknown(table)
        return int(np.argmax(unknown)) if unknown.any() else None

    def unknown(self, table: Table) -> NDArray[np.bool_]:
        """Which rows have a value that training did not show, bool of shape (n_rows,)."""
        present = ~table.missing(self.name)
        if self.kind == "nominal":
            unknown = present & (self.codes(table) < 0)
            if self.pooled:
                unknown &= ~evaluate_proposition(Comparison(self.name, "in", self.pooled), table)
            return np.asarray(unknown)
        if self.kind == "boolean" and table.is_numeric(self.name):
            column = table.column(self.name)
            return np.asarray(present & (column != 0) & (column != 1))
        return np.zeros(len(table), dtype=np.bool_)

    @cached_property
    def _orders(self) -> list[tuple[np.ufunc, list[int], list[int | float]]]:
        """For ``<=`` and ``>=`` the places of the propositions, and the numbers on the right."""
        found: dict[str, tuple[np.ufunc, list[int], list[int | float]]] = {
            "<=": (np.less_equal, [], []),
            ">=": (np.greater_equal, [], []),
        }
        for place, leaf in enumerate(self.propositions):
            if not isinstance(leaf, Comparison) or leaf.relation not in found:
                continue
            if isinstance(leaf.value, (int, float)):
                _, places, values = found[leaf.relation]
                places.append(place)
                values.append(leaf.value)
        return [entry for entry in found.values() if entry[1]]

    @cached_property
    def _index(self) -> dict[str | None, int]:
        return {None: -1} | {value: code for code, value in enumerate(self.values)}


def plan_boolean(name: str, negations: bool) -> ColumnPlan:
    """One proposition: the column itself (and ``x = 0``)."""
    leaves: list[Formula] = [Variable(name)]
    leaves += [Comparison(name, "=", 0)] * negations
    return ColumnPlan(name, "boolean", (), tuple(leaves))


def plan_nominal(
    one: Summary, negations: bool, least: int = 1, levels: Sequence[Comparison] = ()
) -> ColumnPlan:
    """One proposition ``x = v`` for every value (and ``x != v``), in order of the values.

    Values of fewer than ``least`` rows have one together, which says that x is none of the others
    (with negations also that it is one of them).  A column with an order has no such values, and
    ``levels`` in addition.
    """
    name, whole, repeats = one.name, one.column, one.repeats
    column, kind, ordered = whole.values, whole.temporal, whole.order
    values: Sequence[Any]
    if whole.labels is not None:
        texts, numbers = whole.numbered
        number_of = dict(zip(texts, counted(numbers, repeats)[1].tolist(), strict=True))
        values = sorted((text for text in texts if text is not None), key=_text_order)
        counts = [number_of[value] for value in values]
    else:
        present = np.isfinite(column) if kind is None else ~whole.missing
        known, times = counted(column[present], repeats[present])
        counts = times.tolist()
        if kind is None:
            values = [_plain(value) for value in known.tolist()]
        else:
            values = [value_at(column, kind, count) for count in counts_of(known).tolist()]
    frequent, pooled, others = values, [], list[Formula]()
    if ordered:
        others = list(levels)
    elif any(count < least for count in counts):
        pairs = list(zip(values, counts, strict=True))
        frequent = [value for value, count in pairs if count >= least]
        pooled = [value for value, count in pairs if count < least]
        signs = ["not in", "in"] if negations else ["not in"]
        others = [Comparison(name, sign, tuple(frequent)) for sign in signs] if frequent else []
    equal: list[Formula] = [Comparison(name, "=", value) for value in frequent]
    unequal = [Comparison(name, "!=", value) for value in frequent] if negations else []
    leaves = (*equal, *unequal, *others)
    once = sum(count == 1 for count in counts) / max(1, sum(counts))
    return ColumnPlan(name, "nominal", tuple(frequent), leaves, pooled=tuple(pooled), once=once)


def levels_of(
    one: Summary, number: int, strategy: Strategy, relations: Sequence[str]
) -> list[Comparison]:
    """``x <= v`` and ``x >= v`` at the cut points of an ordered category.

    Cuts are those of the ranks of the values that occur.  Behind the least value and before the
    largest ``x = v`` says it.
    """
    texts, numbers = one.column.numbered
    name, order = one.name, one.column.order
    listed = [label for label in order if label in set(texts)]
    place = {label: float(rank) for rank, label in enumerate(listed)}
    ranks = np.array([place.get(str(text), np.nan) for text in texts])[numbers]
    _, gaps = cut_gaps(ranks, number, strategy, one.classes, one.repeats)
    found = []
    for relation in relations:
        for gap in gaps.tolist():
            if relation == "<=" and gap > 0:
                found.append(Comparison(name, "<=", Level(listed[gap], order)))
            if relation == ">=" and gap + 2 < len(listed):
                found.append(Comparison(name, ">=", Level(listed[gap + 1], order)))
    return found


def plan_numeric(
    one: Summary, number: int, strategy: Strategy, relations: Sequence[str]
) -> ColumnPlan:
    """``x <= c`` and ``x >= c`` at the cut points of a column of numbers, dates or times.

    ``x <= 0`` is written ``x = 0`` where all training values are whole and none is negative.

    Raises
    ------
    DataError
        If all of more than 5,000 cuts are asked for.
    """
    name, column, kind = one.name, one.column.values, one.column.temporal
    present = column[~one.column.missing]
    count = kind is None and bool((present >= 0).all() and (present == np.floor(present)).all())
    if (
        strategy == "all"
        and (different := len(present) if one.classes is None else len(np.unique(present)))
        > MOST_CUTS + 1
    ):
        raise DataError(
            f'column "{name}" has {different:,} different values, and strategy="all" cuts between '
            f"all of them, at most {MOST_CUTS:,} times. Write another strategy, such as "
            '"quantile" with cut_points=64.'
        )
    leaves = []
    for cut in cuts(column, number, strategy, one.classes, kind, one.repeats):
        for relation in relations:
            value = cut.at_most if relation == "<=" else cut.at_least
            sign = "=" if count and relation == "<=" and value == 0 else relation
            leaves.append(Comparison(name, sign, value))
    return ColumnPlan(name, "numeric" if kind is None else "temporal", (), tuple(leaves))


def plan_graded(one: Summary, scale: DegreeScale, relations: Sequence[str]) -> ColumnPlan:
    """The column itself for ``>=``, its negation for ``<=``; nothing where it is constant."""
    name, numbers = one.name, one.numbers
    if scale == "rank":
        numbers = np.repeat(numbers, one.repeats)
    degrees = learn_degrees(numbers, scale)
    leaves: dict[str, Formula] = {"<=": ~Variable(name), ">=": Variable(name)}
    propositions = tuple(leaves[relation] for relation in relations) if degrees else ()
    return ColumnPlan(name, "graded", (), propositions, degrees)


def refuse_missing(column: Column, name: str, rows: bool = True) -> None:
    """Raise if a column has a missing entry; ``rows`` tells whether its entries are the rows."""
    missing = column.missing
    if missing.any():
        row = f" (row {int(np.argmax(missing))})" * rows
        raise DataError(
            f'column "{name}" has a missing value{row}. Fill it, or '
            'write PropositionEncoder(missing="value") to make "is missing" a proposition.'
        )


def _text_order(text: str) -> tuple[float, str]:
    """Texts that spell numbers in the order of these, before all others."""
    number = read_number(text)
    return (float("inf") if number is None else float(number), text)


def _plain(value: Any) -> Any:
    """A value as a rule spells it: truth values as 1 and 0, whole numbers without a point."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
