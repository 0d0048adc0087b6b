"""Learned rules as JSON with a versioned format."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from formulakern.errors import DataError
from formulakern.rules.decision import ClassRule
from formulakern.rules.features import LinearTerm, Monomial, Term
from formulakern.rules.rule import Rule, rule
from formulakern.syntax.formula import Formula, substitute
from formulakern.syntax.leaves import ORDERS, Comparison, Level


class JsonRules:
    """A dataclass of rules that converts to JSON, with a line for each field."""

    #: The name of the format, and its version.
    FORMAT: ClassVar[str]

    def to_json(self) -> str:
        """Return the rules as JSON, which :meth:`from_json` reads back.

        A rule is its text, a monomial the list of its columns, and a linear term the mapping of its
        fields; nan is null.  The orders of compared categories are listed by column.

        Raises
        ------
        DataError
            If a class is neither text, a finite number, a bool nor None.
        """
        held: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        rules = [item.rule if isinstance(item, ClassRule) else item for item in held["rules"]]
        orders = {
            leaf.column: leaf.value.order
            for term in rules
            for leaf in (term.formula.leaves if isinstance(term, Rule) else ())
            if isinstance(leaf, Comparison) and isinstance(leaf.value, Level)
        }
        whole = {"format": self.FORMAT, "orders": orders}
        whole |= {name: _written(value) for name, value in held.items()}
        dumped = partial(json.dumps, allow_nan=False, ensure_ascii=False)
        lines = (f"{dumped(name)}: {dumped(value)}" for name, value in whole.items())
        return "{" + ",\n ".join(lines) + "}"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read rules from the JSON that :meth:`to_json` returns.

        Raises
        ------
        DataError
            If the text is not such JSON, or has another version.

        Examples
        --------
        >>> from formulakern import RuleEnsemble, WeightedRule, rule
        >>> ensemble = RuleEnsemble.of([WeightedRule(rule("size >= 3"), 0.5, 1, 0)], (0, 1))
        >>> RuleEnsemble.from_json(ensemble.to_json()) == ensemble
        True
        """
        try:
            whole = json.loads(text)
            if (version := whole.pop("format")) != cls.FORMAT:
                raise ValueError(f"its format is {version!r}")
            orders = whole.pop("orders")
            whole["rules"] = tuple(_read_term(written, orders) for written in whole["rules"])
            for name in {"classes", "levels"} & whole.keys():
                whole[name] = None if whole[name] is None else tuple(map(plain, whole[name]))
            if "votes" in whole:
                whole["votes"] = np.reshape(whole["votes"], (-1, len(whole["intercept"])))
            return cls(**whole)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            name = cls.FORMAT.split("/")[1].replace("-", " ")
            raise DataError(
                f"this text is not {'an' if name[0] == 'e' else 'a'} {name} "
                f"({type(error).__name__}: {error}). Expected JSON of the format {cls.FORMAT!r}, "
                f"as {cls.__name__}.to_json() writes it."
            ) from None


def _written(value: Any) -> Any:
    """Return a field as JSON: an array, a tuple of rules or classes, or one class or setting."""
    if isinstance(value, np.ndarray):
        return [None if number != number else number for number in value.tolist()]
    return list(map(_item, value)) if isinstance(value, tuple) else plain(value)


def _item(value: Any) -> Any:
    match value:
        case ClassRule():
            return {"rule": str(value.rule), "label": plain(value.label), "counts": value.counts}
        case LinearTerm():
            return {name: getattr(value, name) for name in ("column", "least", "largest")}
        case Monomial():
            return value.columns
        case Rule():
            return str(value)
    return plain(value)


def _read_term(written: Any, orders: Mapping[str, Any]) -> Term | ClassRule:
    match written:
        case {"rule": text, "label": label, "counts": counts}:
            return ClassRule(_read_rule(text, orders), plain(label), tuple(counts))
        case {"column": column, "least": least, "largest": largest}:
            return LinearTerm(str(column), least, largest)
        case list():
            return Monomial(tuple(map(str, written)))
    return _read_rule(written, orders)


def _read_rule(text: Any, orders: Mapping[str, Any]) -> Rule:
    """Return a rule from its text and the orders of categories."""
    read = rule(text)
    known: dict[Formula, Formula] = {}
    for leaf in read.formula.leaves if orders else ():
        if isinstance(leaf, Comparison) and leaf.relation in ORDERS and isinstance(leaf.value, str):
            order = tuple(map(str, orders.get(leaf.column, ())))
            if leaf.value in order:
                known[leaf] = leaf.replaced(value=Level(leaf.value, order))
    return Rule(substitute(read.formula, known)) if known else read


def plain(label: Any) -> Any:
    """Return a class as a JSON value."""
    value = label.item() if isinstance(label, (np.bool_, np.number, np.str_)) else label
    infinite = isinstance(value, float) and not math.isfinite(value)
    if infinite or not (value is None or isinstance(value, (str, int, float))):
        raise DataError(
            f"class {label!r} is a {type(label).__name__}, which JSON cannot represent. Use "
            "classes that are text or finite numbers."
        )
    return value
