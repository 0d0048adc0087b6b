"""The propositions of every column of a table, and the rows on which they are true.

Plans are made from the different entries of the training columns and their counts.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulakern.checks import check_choice, check_flag, check_integer, check_number, is_integer
from formulakern.encoding.bits import Words, n_words, pack_coordinates, unpack_rows
from formulakern.encoding.cut_points import Cut, Strategy, cut_gaps, cuts, cutter
from formulakern.encoding.ordered import OrderedColumn
from formulakern.encoding.propositions import evaluate_proposition, numbers_of_part
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError, ParameterError
from formulakern.partitions.lazy_rows import is_first_warning
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.leaves import Comparison, Level
from formulakern.syntax.temporal import KINDS, PARTS, PARTS_OF, TemporalKind
from formulakern.tables.column import Column, read_number
from formulakern.tables.read import column_positions
from formulakern.tables.table import Table
from formulakern.text import quoted

DegreeScale = Literal["linear", "rank"]
Scales = bool | DegreeScale | Mapping[str, DegreeScale]

#: The largest number of values of a column that is compared with each value; others are sorted.
MAX_COMPARED_VALUES = 64
#: The number of cut points for ``cut_points="auto"``, if no search chooses them.
AUTOMATIC_CUTS = 4
#: The largest number of cut points for ``strategy="all"``.
MAX_CUTS = 5000
#: The smallest number of rows of an identifier: fewer may all differ by chance.
MIN_IDENTIFIER_ROWS = 20
#: A warning of unseen values needs this number of entries, and a share that exceeds twice the share
#: of unique training entries by this value.
MIN_UNSEEN_ENTRIES, MIN_UNSEEN_SHARE = 10, 0.1
#: The values of the encoder's parameters.
CHOICES: dict[str, tuple[str, ...]] = {
    "numeric": ("both", "<=", ">="),
    "strategy": ("quantile", "uniform", "mdlp", "all"),
    "missing": ("value", "false", "error"),
    "unknown": ("false", "error"),
}


@dataclass(frozen=True)
class Degrees:
    """The scale of a numeric column: its extremes, or for "rank" all sorted training values."""

    scale: DegreeScale
    values: tuple[float, ...]

    def of(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the degrees of numbers, with 0 for missing numbers.

        "linear": (x − least) / (largest − least), clipped to [0, 1].  "rank": the share of training
        values below x, plus half the share of those equal to x.
        """
        if self.scale == "rank":
            known = np.array(self.values)
            sides: tuple[Literal["left"], Literal["right"]] = ("left", "right")
            below = [np.searchsorted(known, column, side=side) for side in sides]
            found = (below[0] + below[1]) / (2 * len(known))
        else:
            least, largest = self.values
            with np.errstate(invalid="ignore", over="ignore"):
                # halves, because the range of finite numbers may be beyond float64
                found = (column / 2 - least / 2) / (largest / 2 - least / 2)
        return np.where(np.isnan(column), 0.0, np.clip(found, 0.0, 1.0))


def learn_degrees(column: NDArray[np.float64], scale: DegreeScale) -> Degrees | None:
    """Return the scale of numbers, or None if there are not two different finite numbers.

    >>> column = np.array([1.0, 2.0, 5.0, np.nan])
    >>> for scale in ("linear", "rank"):
    ...     learn_degrees(column, scale).of(column)
    array([0.  , 0.25, 1.  , 0.  ])
    array([0.16666667, 0.5       , 0.83333333, 0.        ])
    """
    present = column[~np.isnan(column)]
    finite = present[np.isfinite(present)]
    if not len(finite) or finite.min() == finite.max():
        return None
    if scale == "rank":
        return Degrees(scale, tuple(np.sort(present).tolist()))
    return Degrees(scale, (float(finite.min()), float(finite.max())))


@dataclass(frozen=True, eq=False)
class Gaps(Sequence[Comparison]):
    """The gaps of a column that a search may cut: x ≤ c at each gap, then x ≥ c at each gap.

    ``distinct`` are the ascending different values, and ``places`` the positions of the values
    before the gaps.  If ``counts``, ``x <= 0`` is written ``x = 0``.
    """

    name: str
    distinct: NDArray[Any]
    places: NDArray[np.intp]
    kind: TemporalKind | None
    relations: tuple[str, ...]
    counts: bool

    @cached_property
    def _cut_at(self) -> Callable[[int], Cut]:
        return cutter(self.distinct, self.kind)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_cut_at"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gaps) and (
            (self.name, self.relations, self.counts) == (other.name, other.relations, other.counts)
            and np.array_equal(self.distinct[self.places], other.distinct[other.places])
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return 2 * len(self.places)

    def __getitem__(self, number: Any) -> Any:
        side, gap = divmod(int(number), len(self.places))
        cut = self._cut_at(int(self.places[gap]))
        value = cut.at_least if side else cut.at_most
        sign = "=" if self.counts and not side and value == 0 else ("<=", ">=")[side]
        return Comparison(self.name, sign, value)

    def coded(self, column: Column) -> OrderedColumn:
        """Return the column of codes: the number of gaps below each entry."""
        ends = self.distinct[self.places]
        codes = np.searchsorted(ends, column.values, side="left").astype(np.int32)
        codes[column.missing] = len(ends) + 1
        sides = "<=" in self.relations, ">=" in self.relations
        every = len(ends) == len(self.distinct) - 1
        return OrderedColumn(codes, len(ends) + 1, True, self, sides, every)


@dataclass(frozen=True)
class ColumnPlan:
    """The propositions of one column.

    For nominal columns, ``values`` are the training values with propositions ``x = v``, which come
    first; ``pooled`` are the values without such a proposition, and ``once`` is the share of
    training entries with a unique value.  The proposition of a graded column is the column or its
    negation, true to a degree.  ``parts`` are the parts of dates that have propositions, such as
    ``month(x) = June``.  If a search chooses the cut points, ``gaps`` are its candidates, and
    ``propositions`` the other propositions.
    """

    name: str
    kind: Literal["boolean", "nominal", "numeric", "temporal", "graded"]
    values: tuple[Any, ...]
    propositions: tuple[Formula, ...]
    degrees: Degrees | None = None
    pooled: tuple[Any, ...] = ()
    parts: tuple[str, ...] = ()
    once: float = 0.0
    gaps: Gaps | None = None

    def coded(self, table: Table) -> list[OrderedColumn]:
        """Return the propositions as columns of codes, the gaps first."""
        columns = []
        if self.gaps is not None:
            columns.append(self.gaps.coded(table.typed(self.name)))
        first = len(self.values)
        if first:
            codes = self.codes(table)
            known: NDArray[Any] = np.where(codes < 0, first, codes).astype(np.int32)
            columns.append(OrderedColumn(known, first, False, self.propositions[:first]))
        if len(self.propositions) > first:
            bits = unpack_rows(self.packed(table)[first:], len(table)).view(np.bool_)
            for place, own in enumerate(bits, first):
                leaf = self.propositions[place : place + 1]
                columns.append(OrderedColumn((~own).astype(np.int32), 1, False, leaf))
        return columns

    def renamed(self, name: str) -> list[Formula]:
        """Return the propositions for a column of another name."""
        column = {Variable(self.name): Variable(name)}
        return [
            leaf.replaced(column=name) if isinstance(leaf, Comparison) else leaf.substitute(column)
            for leaf in self.propositions
        ]

    def packed(self, table: Table) -> Words:
        """Return the propositions on the rows of a table, one row of packed words for each."""
        n_rows, first = len(table), len(self.values)
        words = np.zeros((len(self.propositions), n_words(n_rows)), dtype="<u8")
        octets = words.view(np.uint8)[:, : -(-n_rows // 8)]
        if first > MAX_COMPARED_VALUES:
            codes = self.codes(table)
            rows = np.flatnonzero(codes >= 0)
            places = codes[rows]
            order = np.argsort(places, kind="stable")
            words[:first] = pack_coordinates(places[order], rows[order], (first, n_rows))
        elif first:
            codes = self.codes(table).astype(np.int8)
            for code in range(first):
                octets[code] = np.packbits(codes == code, bitorder="little")
        column = table.typed(self.name)
        for place, leaf in enumerate(self.propositions[first:], first):
            if self.degrees is not None and not isinstance(leaf, Comparison):
                continue
            if isinstance(leaf, Variable) and column.is_numeric:
                truths = np.asarray(column.values == 1)  # numbers other than 0 and 1 are unknown
            else:
                truths = evaluate_proposition(leaf, table)
            octets[place] = np.packbits(truths, bitorder="little")
        return words.astype(np.uint64, copy=False)

    def graded(self, table: Table) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the position and the degrees of each proposition that is true to a degree."""
        if self.degrees is None:
            return
        column = table.typed(self.name)
        degrees = self.degrees.of(column.values.astype(np.float64))
        for place, leaf in enumerate(self.propositions):
            if isinstance(leaf, Variable):
                yield place, degrees
            elif not isinstance(leaf, Comparison):
                yield place, np.where(column.missing, 0.0, 1.0 - degrees)

    def codes(self, table: Table) -> NDArray[np.intp]:
        """Return the position of every entry in ``values``, or −1 if it is unknown or missing."""
        column = table.typed(self.name)
        if column.labels is not None and all(isinstance(value, str) for value in self.values[:1]):
            texts, numbers = column.numbered
            known = [self._index.get(text, -1) for text in texts]
            return np.asarray(np.array(known, dtype=np.intp)[numbers])
        codes = np.full(len(column), -1, dtype=np.intp)
        for code in range(len(self.values)):
            codes[evaluate_proposition(self.propositions[code], table)] = code
        return codes

    def unknown(self, table: Table) -> NDArray[np.bool_]:
        """Return True for each entry of a nominal or Boolean column with an unseen value."""
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
    def _index(self) -> dict[str | None, int]:
        return {None: -1} | {value: code for code, value in enumerate(self.values)}


def check_options(encoder: Any) -> None:
    """Raise ParameterError if a parameter of an encoder is outside its range."""
    check_flag("negations", encoder.negations)
    for parameter, choices in CHOICES.items():
        check_choice(parameter, getattr(encoder, parameter), choices)
    nominal, calendar, graded = encoder.nominal, encoder.calendar, encoder.graded
    if isinstance(nominal, str) and nominal not in ("auto", "all"):
        raise ParameterError(
            f'nominal={nominal!r}; expected "auto", "all" or a list of columns. '
            f"Write nominal=[{nominal!r}] for one column."
        )
    for scale in graded.values() if isinstance(graded, Mapping) else ():
        check_choice("graded", scale, ("linear", "rank"))
    if not isinstance(graded, Mapping):
        check_choice("graded", graded, ("linear", "rank", False, True))
    if isinstance(calendar, str) or not {*calendar} <= {*PARTS}:
        raise ParameterError(
            f"calendar={calendar!r}; expected a list of parts of a date or time: "
            f'{", ".join(PARTS)}. Write for example calendar=["month", "weekday"].'
        )
    if encoder.cut_points != "auto" or not isinstance(encoder.cut_points, str):
        check_integer("cut_points", encoder.cut_points, otherwise='"auto"')
    check_integer("max_nominal", encoder.max_nominal, 0)
    if is_integer(encoder.min_frequency):
        check_integer("min_frequency", encoder.min_frequency)
    else:
        expected = "a number of rows, or a share of the rows between 0 and 1"
        check_number("min_frequency", encoder.min_frequency, 0, 1, above=True, expected=expected)


def planner(
    encoder: Any, names: tuple[str, ...], searched: bool = False
) -> Callable[[Summary], ColumnPlan]:
    """Return the function that plans one of these columns, by the parameters of an encoder.

    If ``searched``, plans of numbers and times have gaps instead of cut points.
    """
    header = Table(dict.fromkeys(names, ()))
    forced: set[str] = set()
    if not isinstance(encoder.nominal, str) and len(encoder.nominal):
        forced = {header.names[j] for j in column_positions(header, encoder.nominal)}
    graded = encoder.graded if isinstance(encoder.graded, Mapping) else {}
    if graded:
        column_positions(header, list(graded))  # raises DataError for missing columns

    def plan(one: Summary) -> ColumnPlan:
        if one.name in graded and one.column.temporal is not None:
            raise DataError(
                f'column "{one.name}" of graded holds {KINDS[one.column.temporal][0]}; degrees '
                "need numbers. Remove it from graded, or convert it to numbers, such as days."
            )
        return _plan(encoder, one, one.name in forced, searched)

    return plan


def _plan(encoder: Any, one: Summary, forced: bool, searched: bool) -> ColumnPlan:
    column, name, negations = one.column, one.name, encoder.negations
    if encoder.missing == "error":
        refuse_missing(column, name, rows=False)
    relations = ("<=", ">=") if encoder.numeric == "both" else (encoder.numeric,)
    cutting = encoder.cut_points, encoder.strategy, relations
    graded = encoder.graded
    scale: Any = graded.get(name) if isinstance(graded, Mapping) else graded
    if not forced and one.is_boolean:
        plan = plan_boolean(name, negations)
    elif forced or column.order or _is_nominal(encoder, column):
        levels: Sequence[Comparison] = ()
        if encoder.nominal == "auto" and column.order:
            levels = _levels(one, *cutting)
        least = encoder.min_frequency
        if not is_integer(least):
            least = math.ceil(least * one.n_rows)
        plan = plan_nominal(one, negations, int(least), levels)
    elif column.temporal is None and scale:
        plan = _plan_graded(one, "linear" if scale is True else scale, relations)
    else:
        plan = _plan_numeric(one, *cutting, searched)
    extra: list[Formula] = []
    if column.temporal is not None and encoder.calendar:
        calendar = _calendar(one, encoder.calendar, negations)
        plan = replace(plan, parts=tuple(calendar))
        extra = [leaf for leaves in calendar.values() for leaf in leaves]
    if encoder.missing == "value" and column.missing.any():
        extra.append(Comparison(name, "is missing"))
        extra += [Comparison(name, "is not missing")] * negations
    return replace(plan, propositions=(*plan.propositions, *extra))


def _is_nominal(encoder: Any, column: Column) -> bool:
    """Return True if a column has categories."""
    if column.labels is not None:
        return True
    if encoder.nominal != "auto" or column.temporal is not None:
        return bool(encoder.nominal == "all")
    present = column.values[~column.missing]
    if len(np.unique(present[: 10 * encoder.max_nominal + 1])) > encoder.max_nominal:
        return False
    distinct: NDArray[Any] = np.unique(present)
    whole = np.isfinite(distinct) & (np.floor(distinct) == distinct)
    return 2 <= len(distinct) <= encoder.max_nominal and bool(whole.all())


def plan_boolean(name: str, negations: bool) -> ColumnPlan:
    """Return the plan of a Boolean column: the column and, with negations, ``x = 0``."""
    leaves: list[Formula] = [Variable(name)]
    leaves += [Comparison(name, "=", 0)] * negations
    return ColumnPlan(name, "boolean", (), tuple(leaves))


def plan_nominal(
    one: Summary, negations: bool, least: int = 1, levels: Sequence[Comparison] = ()
) -> ColumnPlan:
    """Return the plan with ``x = v`` for every value and, with negations, ``x != v``.

    Values of fewer than ``least`` rows share one proposition, that x is not one of the others.
    Ordered columns have ``levels`` instead.
    """
    name, one = one.name, Summary.counted(one.name, one.column, one.repeats, None)
    column = one.column
    present = np.isfinite(column.values) if column.is_numeric else ~column.missing
    rows = np.flatnonzero(present).tolist()
    pairs = [(_plain(column.entry(row)), int(one.repeats[row])) for row in rows]
    if column.labels is not None:
        pairs.sort(key=lambda pair: _text_order(pair[0]))
    values, counts = [value for value, _ in pairs], [count for _, count in pairs]
    frequent, pooled, others = values, [], list[Formula](levels)
    if not column.order and any(count < least for count in counts):
        frequent = [value for value, count in pairs if count >= least]
        pooled = [value for value, count in pairs if count < least]
        signs = ["not in", "in"] if negations else ["not in"]
        others = [Comparison(name, sign, tuple(frequent)) for sign in signs if frequent]
    equal: list[Formula] = [Comparison(name, "=", value) for value in frequent]
    unequal = [Comparison(name, "!=", value) for value in frequent if negations]
    leaves = (*equal, *unequal, *others)
    once = sum(count == 1 for count in counts) / max(1, sum(counts))
    return ColumnPlan(name, "nominal", tuple(frequent), leaves, pooled=tuple(pooled), once=once)


def _levels(
    one: Summary, number: int | str, strategy: Strategy, relations: Sequence[str]
) -> list[Comparison]:
    """Return ``x <= v`` and ``x >= v`` at cut points of the ranks of an ordered category.

    At the least and the largest value they would equal ``x = v``, and are omitted.
    """
    texts, numbers = one.column.numbered
    name, order = one.name, one.column.order
    listed = [label for label in order if label in set(texts)]
    place = {label: float(rank) for rank, label in enumerate(listed)}
    ranks = np.array([place.get(str(text), np.nan) for text in texts])[numbers]
    number = len(listed) if isinstance(number, str) else number
    _, gaps = cut_gaps(ranks, number, strategy, one.classes, one.repeats)
    found = []
    for relation in relations:
        for gap in gaps.tolist():
            if relation == "<=" and gap > 0:
                found.append(Comparison(name, "<=", Level(listed[gap], order)))
            if relation == ">=" and gap + 2 < len(listed):
                found.append(Comparison(name, ">=", Level(listed[gap + 1], order)))
    return found


def _plan_numeric(
    one: Summary,
    number: int | str,
    strategy: Strategy,
    relations: tuple[str, ...],
    searched: bool,
) -> ColumnPlan:
    """Return the plan with ``x <= c`` and ``x >= c`` at the cut points of numbers, dates or times.

    If ``searched``, the plan has gaps: all if the number is "auto", else those of the strategy.
    ``x <= 0`` is written ``x = 0`` if all training values are non-negative whole numbers.
    """
    name, column, kind = one.name, one.column.values, one.column.temporal
    present = column[~one.column.missing]
    count = kind is None and bool((present >= 0).all() and (present == np.floor(present)).all())
    different = 0 if searched or strategy != "all" else len(np.unique(present))
    if different > MAX_CUTS + 1:
        raise DataError(
            f'column "{name}" has {different:,} different values; strategy="all" makes at most '
            f"{MAX_CUTS:,} cut points between them. Use another strategy, such as "
            '"quantile" with cut_points=64.'
        )
    if searched:
        strategy = "all" if isinstance(number, str) else strategy
        most = 0 if isinstance(number, str) else number
        distinct, places = cut_gaps(column, most, strategy, one.classes, one.repeats)
        gaps = Gaps(one.name, distinct, places, kind, relations, count) if len(places) else None
        return ColumnPlan(one.name, "numeric" if kind is None else "temporal", (), (), gaps=gaps)
    number = AUTOMATIC_CUTS if isinstance(number, str) else number
    leaves = []
    for cut in cuts(column, number, strategy, one.classes, kind, one.repeats):
        for relation in relations:
            value = cut.at_most if relation == "<=" else cut.at_least
            sign = "=" if count and relation == "<=" and value == 0 else relation
            leaves.append(Comparison(name, sign, value))
    return ColumnPlan(name, "numeric" if kind is None else "temporal", (), tuple(leaves))


def _plan_graded(one: Summary, scale: DegreeScale, relations: Sequence[str]) -> ColumnPlan:
    """Return the plan of the column for ``>=`` and its negation for ``<=``, empty if constant."""
    numbers = one.column.values.astype(np.float64)
    if scale == "rank":
        numbers = np.repeat(numbers, one.repeats)
    degrees = learn_degrees(numbers, scale)
    leaves: dict[str, Formula] = {"<=": ~Variable(one.name), ">=": Variable(one.name)}
    propositions = tuple(leaves[relation] for relation in relations) if degrees else ()
    return ColumnPlan(one.name, "graded", (), propositions, degrees)


def _calendar(one: Summary, parts: Sequence[str], negations: bool) -> dict[str, list[Formula]]:
    """Return ``month(x) = v``, … for the values of every part that has at least two."""
    found: dict[str, list[Formula]] = {}
    kind = one.column.temporal
    for part in dict.fromkeys(part for part in parts if kind and part in PARTS_OF[kind]):
        numbers = numbers_of_part(one.column, one.name, part)
        values = np.unique(numbers[~np.isnan(numbers)]).astype(np.int64).tolist()
        signs = ["=", "!="] if negations else ["="]
        if len(values) > 1:
            found[part] = [Comparison(one.name, s, v, part=part) for s in signs for v in values]
    return found


def refuse_missing(column: Column, name: str, rows: bool = True) -> None:
    """Raise DataError if a column has a missing entry; if ``rows``, the message names its row."""
    missing = column.missing
    if missing.any():
        row = f" (row {int(np.argmax(missing))})" * rows
        raise DataError(
            f'column "{name}" has a missing value{row}. Fill it, or '
            'write PropositionEncoder(missing="value") to make "is missing" a proposition.'
        )


def _text_order(text: str) -> tuple[float, str]:
    """Return the sort key of a text: numbers in their order, before other texts."""
    number = read_number(text)
    return (float("inf") if number is None else float(number), text)


def _plain(value: Any) -> Any:
    """Return a value as written in rules: truth values as 1 and 0, whole numbers as int."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


# -- identifiers and unseen values -----------------------------------------------------------------


def identifiers(table: Table) -> tuple[str, ...]:
    """Return the columns that are identifiers: a different text in every row, or row numbers.

    >>> identifiers(Table({"name": [f"n{k}" for k in range(30)], "size": [1, 2] * 15}))
    ('name',)
    """
    return tuple(name for name in table.names if _is_identifier(Summary.of(table, name)))


def warn_of_identifiers(summaries: Sequence[Summary], plans: Sequence[ColumnPlan]) -> None:
    """Warn about columns that are identifiers under their plans."""
    both = zip(summaries, plans, strict=True)
    names = [plan.name for one, plan in both if _is_identifier(one, plan)]
    if names:
        warnings.warn(
            f"Columns have a different value in every row, like identifiers: {quoted(names, 5)}. "
            "Rules about them do not apply to other rows; drop these columns.",
            stacklevel=4,
        )


def _is_identifier(one: Summary, plan: ColumnPlan | None = None) -> bool:
    column = one.column
    if plan is not None and plan.kind == "nominal":
        number = len(plan.values)
    elif column.labels is not None:
        number = len(column.labels)
    elif column.values.dtype.kind not in "iu" or not (plan is None or plan.kind == "numeric"):
        return False
    else:  # n different whole numbers from some a to a + n - 1
        number = one.n_rows
        if not number or int(column.values.max()) - int(column.values.min()) + 1 != number:
            return False
        number = len(np.unique(column.values))
    return number == one.n_present >= MIN_IDENTIFIER_ROWS


def unseen_shares(table: Table, plans: Sequence[ColumnPlan]) -> dict[str, float]:
    """Return for every nominal column the share of unseen values among non-missing entries."""
    return {plan.name: _unseen(table, plan)[1] for plan in plans if plan.kind == "nominal"}


def _unseen(table: Table, plan: ColumnPlan) -> tuple[int, float]:
    """Return the number and the share of entries with values not seen in training."""
    present = len(table) - int(table.missing(plan.name).sum())
    number = int(plan.unknown(table).sum())
    return number, number / present if present else 0.0


def warn_of_unseen(table: Table, plans: Sequence[ColumnPlan]) -> None:
    """Warn about columns with more unseen values than the training rows lead to expect.

    The share of training entries with a unique value estimates the share of unseen values in other
    rows (Good and Turing).  A dask collection warns once.

    References
    ----------
    I. J. Good, "The population frequencies of species and the estimation of population
    parameters", Biometrika 40, 1953.  doi:10.1093/biomet/40.3-4.237
    """
    found = []
    for plan in plans:
        if plan.kind == "nominal":
            number, share = _unseen(table, plan)
            many = number >= MIN_UNSEEN_ENTRIES and share > MIN_UNSEEN_SHARE + 2 * plan.once
            if many and is_first_warning(plan.name):
                found.append(f'"{plan.name}" ({share:.0%})')
    if found:
        warnings.warn(
            f"Values not seen in training are in {', '.join(found[:5])}{', …' * (len(found) > 5)}, "
            "and match no known category. Check their spelling.",
            stacklevel=4,
        )


def refuse_unknown(table: Table, plan: ColumnPlan) -> None:
    """Raise DataError if a column has a value not seen in training."""
    unknown = plan.unknown(table)
    if not unknown.any():
        return
    row = int(np.argmax(unknown))
    value = table.entry(plan.name, row)
    known = (*plan.values, *plan.pooled) if plan.kind == "nominal" else (0, 1)
    shown = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
    raise DataError(
        f'column "{plan.name}" holds {value!r} (row {row}), which is not one of the values of '
        f'training: {shown}. Write PropositionEncoder(unknown="false") to match it with none of '
        "them."
    )
