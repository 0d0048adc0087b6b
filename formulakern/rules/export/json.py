"""Learned rules as JSON, with a format and its version."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from formulakern.errors import DataError
from formulakern.rules.decision import ClassRule, DecisionRules
from formulakern.rules.features import LinearTerm, Monomial, Term
from formulakern.rules.rule import Rule, rule
from formulakern.rules.voting import NUMBERS, VotingRules
from formulakern.syntax.formula import Formula, substitute
from formulakern.syntax.leaves import ORDERS, Comparison, Level

__all__ = ["decision_from_json", "decision_json", "ensemble_from_json", "ensemble_json", "plain"]

#: Formats of rules with votes: the one that is written, and older ones that are read.
FORMAT = "formulakern/ensemble/2"
LEVELS_FORMAT = "formulakern/ordinal/1"  # of ordered classes
OLDER = ("formulakern/ensemble/1",)  # without base rates and linear terms

#: Format and version of rules that conclude a class.
DECISION_FORMAT = "formulakern/{}/1"

EnsembleType = TypeVar("EnsembleType", bound=VotingRules)
DecisionType = TypeVar("DecisionType", bound=DecisionRules)
T = TypeVar("T")


def ensemble_json(ensemble: VotingRules) -> str:
    """Return an ensemble as JSON; see :meth:`formulakern.RuleEnsemble.to_json`.

    A list per attribute; a rule is its text, a monomial the list of its columns, a linear term has
    its fields; nan is null.  Levels and thresholds are there only where there are some.
    """
    whole: dict[str, Any] = {
        "format": FORMAT if ensemble.levels is None else LEVELS_FORMAT,
        "classes": None if ensemble.classes is None else list(map(plain, ensemble.classes)),
        "target": ensemble.target,
        "rules": list(map(_written_term, ensemble.rules)),
    }
    whole |= _orders([item for item in ensemble.rules if isinstance(item, Rule)])
    for name in NUMBERS:
        whole[name] = [None if x != x else x for x in getattr(ensemble, name).tolist()]
    if ensemble.levels is not None:
        whole["levels"] = list(map(plain, ensemble.levels))
        whole["thresholds"] = ensemble.thresholds.tolist()
    return _written(whole)


def ensemble_from_json(kind: type[EnsembleType], text: str) -> EnsembleType:
    """Read an ensemble; see :meth:`formulakern.RuleEnsemble.from_json`."""

    def made(whole: dict[str, Any]) -> EnsembleType:
        if whole["format"] in OLDER:
            whole["base_rate"] = [None] * len(whole["rules"])
        numbers = {name: whole[name] for name in NUMBERS}
        numbers["votes"] = np.reshape(whole["votes"], (-1, len(whole["intercept"])))
        if whole["format"] == LEVELS_FORMAT:
            numbers["levels"] = tuple(map(plain, whole["levels"]))
            numbers["thresholds"] = whole["thresholds"]
        return kind(
            rules=tuple(_read_term(written, whole) for written in whole["rules"]),
            classes=None if whole["classes"] is None else tuple(map(plain, whole["classes"])),
            target=str(whole["target"]),
            **numbers,
        )

    return _read(
        text, (FORMAT, LEVELS_FORMAT, *OLDER), made, "an ensemble of rules", "RuleEnsemble"
    )


def _written_term(term: Term) -> Any:
    if isinstance(term, LinearTerm):
        return {"column": term.column, "least": term.least, "largest": term.largest}
    return term.columns if isinstance(term, Monomial) else str(term)


def _read_term(written: Any, whole: dict[str, Any]) -> Term:
    if isinstance(written, dict):
        return LinearTerm(str(written["column"]), written["least"], written["largest"])
    return (
        Monomial(tuple(map(str, written)))
        if isinstance(written, list)
        else _read_rule(written, whole)
    )


def _orders(rules: Sequence[Rule]) -> dict[str, Any]:
    """The orders of the categories that the rules compare with, column by column, if there are."""
    orders = {
        leaf.column: leaf.value.order
        for rule in rules
        for leaf in rule.formula.leaves
        if isinstance(leaf, Comparison) and isinstance(leaf.value, Level)
    }
    return {"orders": orders} if orders else {}


def _read_rule(text: str, whole: dict[str, Any]) -> Rule:
    """A rule from its text, and the orders of categories that stand beside."""
    read = rule(text)
    known: dict[Formula, Formula] = {}
    for leaf in read.formula.leaves if "orders" in whole else ():
        if isinstance(leaf, Comparison) and leaf.relation in ORDERS and isinstance(leaf.value, str):
            order = tuple(map(str, whole["orders"].get(leaf.column, ())))
            if leaf.value in order:
                known[leaf] = leaf.replaced(value=Level(leaf.value, order))
    return Rule(substitute(read.formula, known)) if known else read


def decision_json(decision: DecisionRules, kind: str, *settings: str) -> str:
    """Return a list or set as JSON; the kind is part of the format."""
    return _written(
        {
            "format": DECISION_FORMAT.format(kind),
            "classes": list(map(plain, decision.classes)),
            **{setting: getattr(decision, setting) for setting in settings},
            "rules": [str(item.rule) for item in decision],
            **_orders([item.rule for item in decision]),
            "labels": [plain(item.label) for item in decision],
            "counts": [item.counts for item in decision],
            "default": plain(decision.default),
            "default_counts": decision.default_counts,
        }
    )


def decision_from_json(
    kind: type[DecisionType], text: str, name: str, *settings: str
) -> DecisionType:
    """Read a list or set of rules."""

    def made(whole: dict[str, Any]) -> DecisionType:
        items = zip(whole["rules"], whole["labels"], whole["counts"], strict=True)
        return kind(
            rules=tuple(
                ClassRule(_read_rule(r, whole), plain(label), tuple(c)) for r, label, c in items
            ),
            classes=tuple(map(plain, whole["classes"])),
            default=plain(whole["default"]),
            default_counts=tuple(whole["default_counts"]),
            **{setting: whole[setting] for setting in settings},
        )

    what = f"a {name.replace('-', ' ')}"
    return _read(text, [DECISION_FORMAT.format(name)], made, what, kind.__name__)


def _written(whole: dict[str, Any]) -> str:
    dumped = partial(json.dumps, allow_nan=False, ensure_ascii=False)
    lines = (f"{dumped(name)}: {dumped(value)}" for name, value in whole.items())
    return "{" + ",\n ".join(lines) + "}"


def _read(
    text: str, formats: Sequence[str], made: Callable[[dict[str, Any]], T], what: str, by: str
) -> T:
    """Read JSON of one of these formats, the one that is written first."""
    try:
        whole = json.loads(text)
        if whole["format"] not in formats:
            raise ValueError(f"its format is {whole['format']!r}")
        return made(whole)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"this text is not {what} ({type(error).__name__}: {error}). "
            f"Expected JSON of the format {formats[0]!r}, as {by}.to_json() writes it."
        ) from None


def plain(label: Any) -> Any:
    """Return a class as JSON holds it."""
    value = label.item() if isinstance(label, (np.bool_, np.number, np.str_)) else label
    infinite = isinstance(value, float) and not math.isfinite(value)
    if infinite or not (value is None or isinstance(value, (str, int, float))):
        raise DataError(
            f"class {label!r} is a {type(label).__name__} that JSON does not hold; use classes "
            "that are text or finite numbers."
        )
    return value
