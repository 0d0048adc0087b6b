"""Checks of parameters; errors state the given and the expected value in one sentence."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from formulakern.errors import ParameterError

#: The least similarity of a word to a keyword that counts as a misspelling.
MIN_SIMILARITY = 0.8


def is_integer(value: object) -> bool:
    """Return True for a Python or NumPy integer, but not for a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Return True for a real number, NaN included, but not for a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_choice(name: str, value: Any, accepted: Sequence[Any]) -> None:
    """Check that a parameter is one of a few values.

    >>> check_choice("margin", "soft", ("soft", "hard"))
    >>> check_choice("margin", "firm", ("soft", "hard"))
    Traceback (most recent call last):
        ...
    formulakern.errors.ParameterError: margin='firm'; expected one of 'soft', 'hard'.
    """
    right = any(isinstance(value, type(item)) and value == item for item in accepted)
    _check(right, name, value, f"one of {', '.join(map(repr, accepted))}")


def check_flag(name: str, value: Any) -> None:
    """Check that a parameter is True or False."""
    _check(isinstance(value, (bool, np.bool_)), name, value, "True or False")


def check_integer(name: str, value: Any, least: int = 1, otherwise: str = "") -> None:
    """Check that a parameter is an integer and at least ``least``.

    >>> check_integer("top", None, otherwise="None for all")
    >>> check_integer("top", 0, otherwise="None for all")
    Traceback (most recent call last):
        ...
    formulakern.errors.ParameterError: top=0; expected an integer, at least 1, or None for all.
    """
    right = is_integer(value) and value >= least
    _check(right, name, value, f"an integer, at least {least}", otherwise)


def check_number(
    name: str,
    value: Any,
    least: float,
    largest: float = math.inf,
    *,
    above: bool = False,
    expected: str = "",
    otherwise: str = "",
) -> None:
    """Check that a parameter is a finite number in a range.

    >>> check_number("C", 0.5, 0, above=True)
    >>> check_number("C", 0, 0, above=True)
    Traceback (most recent call last):
        ...
    formulakern.errors.ParameterError: C=0; expected a finite number above 0.
    """
    try:
        right = is_number(value) and math.isfinite(value) and least <= value <= largest
    except OverflowError:
        raise ParameterError(f"{name} is beyond 1.8e308, the end of float64.") from None
    if not expected:
        expected = f"a finite number {'above' if above else 'of at least'} {least:g}"
        expected += f" and at most {largest:g}" if math.isfinite(largest) else ""
    _check(right and not (above and value == least), name, value, expected, otherwise)


def check_no_keyword(name: str, text: object, keywords: Mapping[str, Sequence[str]]) -> None:
    """Check that a text meant as a formula is not a keyword or a misspelling of one.

    >>> check_no_keyword("formula", "a & b", {"variables": ("bound", "free", "distinct")})
    >>> words = {"variables": ("bound", "free", "distinct")}
    >>> check_no_keyword("formula", "distinct", words)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    formulakern.errors.ParameterError: formula='distinct' would be a formula of one variable; ...
    """
    if not isinstance(text, str) or not text.strip().isidentifier():
        return
    for parameter, words in keywords.items():
        near = difflib.get_close_matches(text.strip().lower(), words, 1, MIN_SIMILARITY)
        if near:
            raise ParameterError(
                f"{name}={text!r} would be a formula of one variable; expected a formula such as "
                f"'a & b'. If you mean the keyword, write {parameter}={near[0]!r}; otherwise "
                "rename the variable."
            )


def check_verbosity(value: Any) -> None:
    """Check that ``verbose`` is True, False, or a number."""
    if not isinstance(value, (bool, np.bool_)):
        check_integer("verbose", value, 0, "True or False")


def _check(right: bool, name: str, value: Any, expected: str, otherwise: str = "") -> None:
    if not right and not (value is None and otherwise.startswith("None")):
        rest = f", or {otherwise}" if otherwise else ""
        raise ParameterError(f"{name}={value!r}; expected {expected}{rest}.")
