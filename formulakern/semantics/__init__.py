"""Formula → Program: what the variables of a formula mean, and how substitutions are counted.

One module per reading: :mod:`free`, :mod:`bound`, :mod:`distinct`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from formulakern.checks import check_choice
from formulakern.program.program import Program
from formulakern.semantics import bound, distinct, free
from formulakern.syntax.formula import Formula

__all__ = ["READINGS", "Reading", "check_reading", "lower"]


class Reading(NamedTuple):
    """A reading: the function that lowers a formula to a program, and what names mean."""

    lower: Callable[[Formula], Program]
    meaning: str


READINGS = {
    "bound": Reading(bound.lower, "equal names are the same column; different names may coincide"),
    "free": Reading(free.lower, "every occurrence of a variable ranges over the columns by itself"),
    "distinct": Reading(
        distinct.lower, "different names are different columns; equal features count once"
    ),
}


def check_reading(variables: str) -> str:
    """Return the reading, if there is one of this name.

    Raises
    ------
    ParameterError
    """
    check_choice("variables", variables, tuple(READINGS))
    return variables


def lower(formula: Formula, variables: str = "bound") -> Program:
    """Return the program that counts a formula's substitutions in a reading of its variables.

    Parameters
    ----------
    formula : Formula
    variables : {"bound", "free", "distinct"}
        Which substitutions are counted; see :func:`formulakern.kernel`.

    Returns
    -------
    Program
    """
    return READINGS[check_reading(variables)].lower(formula)
