"""Formula → Program: what the variables of a formula mean, and how substitutions are counted.

One module per reading: :mod:`free`, :mod:`bound`, :mod:`distinct`.
"""

from __future__ import annotations

from collections.abc import Callable

from formulakern.errors import ParameterError
from formulakern.program.node import Program
from formulakern.semantics import bound, distinct, free
from formulakern.syntax.formula import Formula

__all__ = ["READINGS", "check_reading", "lower"]

#: reading → the function that lowers a formula to a program
READINGS: dict[str, Callable[[Formula], Program]] = {
    "bound": bound.lower,
    "free": free.lower,
    "distinct": distinct.lower,
}


def check_reading(variables: str) -> str:
    """The reading, if there is one of this name.

    Raises
    ------
    ParameterError
    """
    if variables not in READINGS:
        raise ParameterError(
            f"variables={variables!r} is not a reading of the variables; "
            f"expected one of {', '.join(map(repr, READINGS))}."
        )
    return variables


def lower(formula: Formula, variables: str = "bound") -> Program:
    """The program that counts a formula's substitutions in a reading of its variables.

    Parameters
    ----------
    formula : Formula
    variables : {"bound", "free", "distinct"}
        See THE THREE READINGS in :func:`formulakern.kernel`.

    Returns
    -------
    Program
    """
    return READINGS[check_reading(variables)](formula)
