"""Tables and rules made at random, with names, entries and classes that are hard on SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from formulakern import ClassRule, Rule, RuleEnsemble, RuleList, RuleSet, WeightedRule
from formulakern.rules.features import LinearTerm, Monomial
from formulakern.syntax.comparison import ColumnName, Comparison
from formulakern.syntax.connectives import CONNECTIVES
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable
from tests.engines import filled

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


@dataclass(frozen=True)
class Case:
    """A table, the types of its columns, and rules of some kind."""

    columns: dict[str, list[Any]]
    types: dict[str, str]
    model: Any
    natural: bool  # whether values of rules are of the types of their columns

    def expected(self) -> list[Any]:
        """What is predicted; of a single rule the numbers of the rows that satisfy it."""
        if isinstance(self.model, Rule):
            return np.flatnonzero(self.model(self.columns)).tolist()
        return self.model.predict(self.columns).tolist()


def random_case(rng: np.random.Generator, engine: str) -> Case:
    """A table of up to twelve rows that an engine can hold, and rules about it."""
    kinds = ("boolean", "integer", "number", "text")
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
    alike = [other for other in columns if (types[other] == "text") == (kind == "text")]
    signs = ("=", "!=") if kind == "text" else ("=", "!=", "<", "<=", ">", ">=")
    if draw < 0.25 and not natural:
        return Comparison(name, _pick(rng, signs), ColumnName(_pick(rng, alike)))
    if draw < 0.6:
        values = [_constant(rng, kind, natural, columns[name]) for _ in range(rng.integers(1, 4))]
        return Comparison(name, _pick(rng, ("in", "not in")), tuple(values))
    value = _constant(rng, kind, natural, columns[name])
    order = not isinstance(value, str) and not (natural and kind == "boolean")
    return Comparison(name, _pick(rng, signs if order else ("=", "!=")), value)


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
    kind = _pick(rng, ("rule", "list", "set", "counts", "pairs", "rest", "number", "levels"))
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
    """Rows in which an engine answers something else than the rules predict; empty if none does.

    The types of columns are said, read from the table, or inferred, where that can be done.
    """
    filled(execute, engine, "data", case.columns, case.types)
    said: list[Any] = [case.types]
    if all(any(v is not None and v == v for v in column) for column in case.columns.values()):
        said.append(case.columns)
    said += [None] * case.natural
    expected, wrong = case.expected(), []
    for types in said:
        query = case.model.to_sql(dialect=engine, types=types)
        found = execute(query)
        if isinstance(case.model, Rule):
            rows = list(zip(*case.columns.values(), strict=True))
            pairs = zip_longest([rows[k] for k in expected], found)
        else:
            pairs = zip_longest([(answer,) for answer in expected], [row[-1:] for row in found])
        wrong += [(query, *pair) for pair in pairs if not _alike(*pair)]
    return wrong


def _alike(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether rows are equal; NaN is equal to itself."""
    if left is None or right is None or len(left) != len(right):
        return False
    return all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))
