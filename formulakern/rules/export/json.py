"""Learned rules as JSON, with a format and its version."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any, TypeVar

import numpy as np

from formulakern.errors import DataError
from formulakern.rules.features import Monomial
from formulakern.rules.rule import rule
from formulakern.rules.voting import NUMBERS, VotingRules

__all__ = ["ensemble_from_json", "ensemble_json"]

#: Format and version of rules with votes.
FORMAT = "formulakern/ensemble/1"

EnsembleType = TypeVar("EnsembleType", bound=VotingRules)


def ensemble_json(ensemble: VotingRules) -> str:
    """What :meth:`formulakern.RuleEnsemble.to_json` documents.

    A list per attribute; a rule is its text, a monomial the list of its columns, nan is null.
    """
    whole: dict[str, Any] = {
        "format": FORMAT,
        "classes": None if ensemble.classes is None else list(map(_plain, ensemble.classes)),
        "target": ensemble.target,
        "rules": [r.columns if isinstance(r, Monomial) else str(r) for r in ensemble.rules],
    }
    for name in NUMBERS:
        whole[name] = [None if x != x else x for x in getattr(ensemble, name).tolist()]
    dumped = partial(json.dumps, allow_nan=False, ensure_ascii=False)
    lines = (f"{dumped(name)}: {dumped(value)}" for name, value in whole.items())
    return "{" + ",\n ".join(lines) + "}"


def ensemble_from_json(kind: type[EnsembleType], text: str) -> EnsembleType:
    """What :meth:`formulakern.RuleEnsemble.from_json` documents."""
    try:
        whole = json.loads(text)
        if whole["format"] != FORMAT:
            raise ValueError(f"its format is {whole['format']!r}")
        numbers = {name: whole[name] for name in NUMBERS}
        numbers["votes"] = np.reshape(whole["votes"], (-1, len(whole["intercept"])))
        return kind(
            rules=tuple(
                Monomial(tuple(map(str, r))) if isinstance(r, list) else rule(r)
                for r in whole["rules"]
            ),
            classes=None if whole["classes"] is None else tuple(map(_plain, whole["classes"])),
            target=str(whole["target"]),
            **numbers,
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"this text is not an ensemble of rules ({type(error).__name__}: {error}). "
            f"Expected JSON of the format {FORMAT!r}, as RuleEnsemble.to_json() writes it."
        ) from None


def _plain(label: Any) -> Any:
    """A class as JSON holds it."""
    value = label.item() if isinstance(label, (np.bool_, np.number, np.str_)) else label
    infinite = isinstance(value, float) and not math.isfinite(value)
    if infinite or not (value is None or isinstance(value, (str, int, float))):
        raise DataError(
            f"class {label!r} is a {type(label).__name__} that JSON does not hold; use classes "
            "that are text or finite numbers."
        )
    return value
