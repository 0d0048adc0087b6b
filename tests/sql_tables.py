"""Tables and rules made at random, with names, entries and classes that are hard on SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from itertools import zip_longest
from typing import Any

import numpy as np

from formulakern import ClassRule, Rule, RuleEnsemble, RuleList, RuleSet, WeightedRule
from formulakern.rules.features import LinearTerm, Monomial
from formulakern.syntax.connectives import CONNECTIVES
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable
from formulakern.syntax.leaves import ColumnName, Comparison, Level
from formulakern.syntax.temporal import PARTS, Temporal
from formulakern.tables.table import Table
from tests.engines import DATES, filled, quoted

NAMES = (
    "a", "size in mm", 'say "x"', "it's", "a\nb", "tab\there", "select", "GROUP", "order", "Null",
    '"; DROP TABLE data; --', "' OR '1'='1", "x) FROM data; --", "/* c */", "-- c", "a.b", "`c`",
    "[c]", "{0}", "%s", ":name", "?", "$1", "back\\slash", "größe", "日本", "😀", "data", "score_1",
    "predicted_class", "PREDICTED_CLASS_2", "score 0", "rowid", "ctid", "oid", "count", "TRUE",
    " blank", "0", "1e5", "true", "e\u0301", "x" * 63, "predicted y", "all rows",
)  # fmt: skip
WORDS = (
    "foul", "Foul", "FOUL", "foul ", "", " ", "it's", "''", 'say "x"', "back\\slash", "\\", "\\'",
    "a\nb", "a\r\nb", "\t", "%", "_", "%s", "NULL", "NaN", "'; DROP TABLE data; --", "größe",
    "GRÖSSE", "日本", "😀", "e\u0301", "é", "1", "1.0", "0", "true", "True", "-", "2020-02-01",
    "\u2028", "{}", "?", ":x", "$1", "E'x'", "X'41'", "\\x41", "x" * 100,
)  # fmt: skip
PLAIN = tuple(word for word in WORDS if word.strip("-.0123456789 ").lower() not in ("", "true"))
NUMBERS = (
    0.1, 0.2, 0.30000000000000004, 1 / 3, 2.5, -2.5, 1e-5, 1e22, 1e300, -1e300, 5e-17, 1e-200,
    123456789.12345679, 4.35, 3.0, 0.0, 1.0, 2.0**53,
)  # fmt: skip
CLASSES = (
    ("a", "A", "á"), ("yes", "Yes", "YES"), ("it's", 'a "b"', "a\nb"), (1, 2, 3), (0, 1, -7),
    ("1", "2", "\\"), (0.1, 2.5, -1e300), ("'; DROP TABLE data; --", "", " "), ("NULL", "x", "y"),
)  # fmt: skip
STAMPS = (
    datetime(2020, 2, 1), datetime(2020, 2, 1, 10, 30), datetime(2020, 2, 1, 10, 30, 15, 250_000),
    datetime(2019, 12, 31, 23, 59, 59, 999_999), datetime(1969, 12, 31, 23), datetime(1970, 1, 1),
    datetime(2020, 2, 29, 18, 0, 0, 1), datetime(2020, 2, 2), datetime(1850, 7, 4, 6, 5),
)  # fmt: skip
INSTANTS = (
    datetime(2020, 2, 1, tzinfo=UTC), datetime(2020, 2, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    datetime(2020, 1, 31, 19, 30, tzinfo=timezone(timedelta(hours=-4, minutes=-30))),
    datetime(2020, 2, 1, 10, 30, 15, 250_000, UTC), datetime(1969, 12, 31, 23, 59, tzinfo=UTC),
)  # fmt: skip
ORDERS = ("<", "<=", ">", ">=")
#: Dates compare with time stamps.
SAME = {"date", "stamp"}
#: SQLite has no durations.
WITHOUT = ("sqlite", "duration")
ENTRIES = {
    "date": tuple(sorted({stamp.date() for stamp in STAMPS})),
    "stamp": STAMPS,
    "instant": INSTANTS,
    "time": (time(0), time(10, 30), time(10, 30, 15, 250_000), time(23, 59, 59, 999_999)),
    "duration": tuple(
        timedelta(days, seconds, microseconds)
        for days, seconds, microseconds in ((0, 0, 0), (3, 16200, 0), (-2, 5, 1), (0, 86399, 10**6))
    ),
}


@dataclass(frozen=True)
class Case:
    """A table, the types of its columns, and rules of some kind."""

    columns: dict[str, list[Any]]
    types: dict[str, str]
    model: Any
    natural: bool  # whether values of rules are of the types of their columns

    def expected(self) -> list[Any]:
        """Return the predictions; for a single rule the numbers of the rows that satisfy it."""
        if isinstance(self.model, Rule):
            return np.flatnonzero(self.model(self.columns)).tolist()
        return self.model.predict(self.columns).tolist()


def random_case(rng: np.random.Generator, engine: str, dates: bool = False) -> Case:
    """A table of up to twelve rows that an engine can hold, and rules about it; some with dates."""
    kinds: tuple[str, ...] = ("boolean", "integer", "number", "text")
    if dates:
        kinds = ("number", "text", *(kind for kind in DATES if (engine, kind) != WITHOUT))
    different = {NAMES[k].lower(): NAMES[k] for k in rng.permutation(len(NAMES))}
    chosen = list(different.values())[: rng.integers(1, 6)]
    if engine == "postgres":
        chosen = [name for name in chosen if name != "ctid"] or ["a"]
    if engine == "sqlite" and {"rowid", "oid"} & {
        *chosen
    }:  # true has no name in a query of a query
        chosen = [name for name in chosen if name.lower() != "true"]
    types = {name: str(rng.choice(kinds)) for name in chosen}
    n = int(rng.integers(0, 13))
    missing = float(rng.choice([0.0, 0.2]))
    columns = {
        name: [None if rng.random() < missing else _entry(rng, kind, engine) for _ in range(n)]
        for name, kind in types.items()
    }
    natural = bool(rng.random() < 0.4)
    return Case(columns, types, _model(rng, columns, types, natural), natural)


def _pick(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _entry(rng: np.random.Generator, kind: str, engine: str) -> Any:
    if kind in ENTRIES:
        return _pick(rng, ENTRIES[kind])
    if kind == "boolean":
        return bool(rng.random() < 0.5)
    if kind == "integer":
        return int(_pick(rng, (0, 1, 2, 3, -1, 10, 2**40, -(2**53), 16_777_217)))
    if kind == "text":
        return _pick(rng, WORDS)
    special = (float("inf"), float("-inf")) + (float("nan"),) * (engine != "sqlite")
    return float(_pick(rng, special if rng.random() < 0.1 else NUMBERS))


def _constant(rng: np.random.Generator, kind: str, natural: bool, entries: Sequence[Any]) -> Any:
    present = [v for v in entries if v is not None and np.isfinite(v if kind != "text" else 0)]
    if not natural and rng.random() < 0.2 and kind != "text":
        return _pick(rng, ("foul", "true", "False", "1", "2.5", "", "it's", "NaN", "a\0b"))
    if kind == "text":
        return str(_pick(rng, PLAIN if natural else (*WORDS, "a\0b", "\ud800")))
    if kind == "boolean" and natural:
        return int(rng.integers(2))
    value = _pick(rng, present) if present and rng.random() < 0.7 else _pick(rng, NUMBERS)
    return int(value) if kind != "number" and float(value).is_integer() else float(value)


def _leaf(
    rng: np.random.Generator,
    columns: Mapping[str, Sequence[Any]],
    types: Mapping[str, str],
    natural: bool,
) -> Formula:
    name = _pick(rng, list(columns))
    kind, draw = types[name], rng.random()
    if draw < 0.05:
        return _pick(rng, (TRUE, FALSE))
    if draw < 0.15:
        return Comparison(name, _pick(rng, ("is missing", "is not missing")))
    if kind == "boolean" and draw < 0.5:
        return Variable(name)
    if kind in ENTRIES:
        return _temporal_leaf(rng, name, types, natural)
    if kind == "text" and draw < 0.3:
        order = tuple(dict.fromkeys(_pick(rng, WORDS) for _ in range(4)))
        return Comparison(name, _pick(rng, ORDERS), Level(_pick(rng, order), order))
    others = [other for other in columns if types[other] not in ENTRIES]
    alike = [other for other in others if (types[other] == "text") == (kind == "text")]
    signs = ("=", "!=") if kind == "text" else ("=", "!=", *ORDERS)
    if draw < 0.25 and not natural:
        return Comparison(name, _pick(rng, signs), ColumnName(_pick(rng, alike)))
    if draw < 0.6:
        values = [_constant(rng, kind, natural, columns[name]) for _ in range(rng.integers(1, 4))]
        return Comparison(name, _pick(rng, ("in", "not in")), tuple(values))
    value = _constant(rng, kind, natural, columns[name])
    order = not isinstance(value, str) and not (natural and kind == "boolean")
    return Comparison(name, _pick(rng, signs if order else ("=", "!=")), value)


def _temporal_leaf(
    rng: np.random.Generator, name: str, types: Mapping[str, str], natural: bool
) -> Formula:
    """A comparison of dates or times with a value near an entry, of parts, or of two columns."""
    kind = types[name]
    said = "stamp" if kind == "date" else kind
    sign = _pick(rng, ("=", "!=", *ORDERS))
    parts = {"date": [*PARTS], "stamp": [*PARTS], "time": ["hour", "minute"]}.get(kind, [])
    if natural and kind == "date":
        parts = parts[:5]
    if parts and rng.random() < 0.4:
        part, stamp = _pick(rng, parts), _pick(rng, STAMPS)
        numbers = (stamp.year, stamp.month % 4 + 1, stamp.month, stamp.day, stamp.isoweekday())
        number = dict(zip(PARTS, (*numbers, stamp.hour, stamp.minute), strict=True))[part]
        if rng.random() < 0.3:
            return Comparison(name, _pick(rng, ("in", "not in")), (number, number % 4 + 1), part)
        return Comparison(name, sign, number, part)
    alike = [c for c, k in types.items() if k in ENTRIES and (k == kind or {k, kind} == SAME)]
    if not natural and rng.random() < 0.2:
        return Comparison(name, sign, ColumnName(_pick(rng, alike)))
    entry = Table({"x": [_pick(rng, ENTRIES[kind])]}).entry("x", 0)
    step = _pick(rng, (0, 0, 0, 1, 1500, 10**6, 10**9))
    day = 24 * 3600 * 10**9
    count = (entry.nanoseconds + step) % day if kind == "time" else entry.nanoseconds + step
    value = Temporal(said, count)
    if not natural and rng.random() < 0.2:
        return Comparison(name, _pick(rng, ("=", "!=")), str(value))
    if rng.random() < 0.3:
        return Comparison(name, _pick(rng, ("in", "not in")), (value, entry))
    return Comparison(name, sign, value)


def _formula(rng: np.random.Generator, depth: int, *about: Any) -> Formula:
    if depth == 0 or rng.random() < 0.3:
        return _leaf(rng, *about)
    row = _pick(rng, CONNECTIVES)
    n = row.arity + (row.chain == "flat") * int(rng.integers(3))
    return Operation(row, tuple(_formula(rng, depth - 1, *about) for _ in range(n)))


def _model(
    rng: np.random.Generator,
    columns: Mapping[str, Sequence[Any]],
    types: Mapping[str, str],
    natural: bool,
) -> Any:
    about = (columns, types, natural)
    rules = [Rule(_formula(rng, int(rng.integers(3)), *about)) for _ in range(rng.integers(5))]
    names = _pick(rng, CLASSES)[: rng.integers(2, 4)]
    classes = (True, False) if rng.random() < 0.1 else tuple(names)
    default = None if rng.random() < 0.3 else _pick(rng, classes)
    alone = [] if set(types.values()) & {*ENTRIES} else ["rule"]  # rows come back as others there
    kind = _pick(rng, (*alone, "list", "set", "counts", "pairs", "rest", "number", "levels"))
    if kind == "rule":
        return Rule(_formula(rng, 3, *about))
    if kind in ("list", "set", "counts"):
        counted = [tuple(rng.choice([0.0, 1.0, 0.1, 0.7], len(classes))) for _ in rules]
        items = tuple(
            ClassRule(rule, _pick(rng, classes), counts if kind == "counts" else ())
            for rule, counts in zip(rules, counted, strict=True)
        )
        if kind == "list":
            return RuleList(items, classes, default)
        return RuleSet(items, classes, default, vote="counts" if kind == "counts" else "rules")
    whole = [
        name
        for name in columns
        if types[name] in ("integer", "number", "" if natural else "boolean")
    ]
    terms: list[Any] = list(rules)
    if whole and rng.random() < 0.5:
        terms.append(LinearTerm(_pick(rng, whole), *_pick(rng, ((0, 3), (-1.1, 1.7), (0.1, 7.3)))))
    full = [name for name in whole if all(v is not None and v == v for v in columns[name])]
    small = [name for name in full if all(v == 0 or 1e-20 < abs(v) < 1e20 for v in columns[name])]
    if small and rng.random() < 0.3:
        terms.append(Monomial(tuple(_pick(rng, small) for _ in range(rng.integers(3)))))
    items = []
    for term in terms:
        weight = float(_pick(rng, (0.1, 0.2, 0.3, 0.30000000000000004, 1 / 3, 2.5, 1e-17)))
        winner, loser = rng.permutation(len(classes))[:2]
        sign = 1 if kind == "pairs" else float(_pick(rng, (-1, 1)))
        ends = {"pairs": (classes[winner], classes[loser]), "rest": (classes[winner], None)}
        items.append(WeightedRule(term, sign * weight, *ends.get(kind, (None, None))))
    bias = [float(_pick(rng, (0.0, 0.1, 0.3))) for _ in classes]
    if kind in ("pairs", "rest"):
        return RuleEnsemble.of(items, classes, bias)
    levels: dict[str, Any] = {}
    if kind == "levels":
        levels = {"levels": classes, "thresholds": sorted(bias[1:])}
    return RuleEnsemble.of(items, None, bias[:1], target=_pick(rng, NAMES), **levels)


def differing(case: Case, engine: str, execute: Any) -> list[Any]:
    """Return rows for which an engine and the rules differ; empty if none does.

    The types of columns are given, read from the table, or inferred, if possible.
    """
    filled(execute, engine, "data", case.columns, case.types)
    said: list[Any] = [{c: "stamp" if k == "date" else k for c, k in case.types.items()}]
    if all(any(v is not None and v == v for v in column) for column in case.columns.values()):
        said.append(case.columns)
    said += [None] * case.natural
    expected, wrong = case.expected(), []
    for types in said:
        query = case.model.to_sql(dialect=engine, types=types)
        instants = [quoted(name) for name, kind in case.types.items() if kind == "instant"]
        if engine == "duckdb" and instants:  # which it does not give to Python without pytz
            found = execute(f"SELECT * EXCLUDE ({', '.join(instants)}) FROM ({query})")
        else:
            found = execute(query)
        if isinstance(case.model, Rule):
            rows = list(zip(*case.columns.values(), strict=True))
            pairs = zip_longest([rows[k] for k in expected], found)
        else:
            pairs = zip_longest([(answer,) for answer in expected], [row[-1:] for row in found])
        wrong += [(query, *pair) for pair in pairs if not _alike(*pair)]
    return wrong


def _alike(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return True if rows are equal; NaN equals itself."""
    if left is None or right is None or len(left) != len(right):
        return False
    return all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))
