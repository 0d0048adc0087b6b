"""Candidates of a search: drawn until their kernels differ, or read from what was given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import FormulaKernel, Reading
from formulakern.program.interpreter import run
from formulakern.syntax.formula import Formula
from formulakern.syntax.parser import parse
from formulakern.syntax.random import random_formula

__all__ = ["draw_candidates", "read_candidates"]

#: So many draws in a row without a new kernel end the drawing.
PATIENCE = 500
#: So many formulas in a row that are too large end it with an error.
OVERSIZED = 20
#: Counts (s, p, q) of rows of N columns, at which two polynomials that differ hardly ever agree.
N = 1_000_003
TRIPLES = np.array([(101, 5_003, 70_001), (31_013, 40_009, 50_021), (17, 900_007, 6_007)])


def draw_candidates(
    n: int, variables: Reading, p: float, eta: float, generator: np.random.Generator
) -> list[Formula]:
    """Random formulas whose kernels differ from each other.

    ``a & ~b`` and ``~b & a``, or ``a -> b`` and ``~a | b`` under other names, are one kernel: it is
    computed in exact integers for three pairs of rows of a million columns, and formulas that agree
    there count as one.

    Parameters
    ----------
    n : int
    variables : {"bound", "free", "distinct"}
    p, eta : float
        See :func:`formulakern.random_formula`.
    generator : numpy.random.Generator

    Returns
    -------
    list of Formula
        At most n: fewer where 500 draws in a row gave no new kernel.

    Raises
    ------
    ParameterError
        If p or eta is out of range, or their formulas are too large, one after the other.

    Examples
    --------
    >>> drawn = draw_candidates(3, "bound", 0.4, 0.7, np.random.default_rng(0))
    >>> len(drawn)
    3
    """
    drawn: dict[tuple[int, ...], Formula] = {}
    in_vain = oversized = 0
    while len(drawn) < n and in_vain < PATIENCE:
        in_vain += 1
        try:
            formula = random_formula(p, eta, generator)
            values = _values(formula, variables)
        except FormulaSizeError:
            oversized += 1
            if oversized == OVERSIZED:
                raise ParameterError(
                    f"{OVERSIZED} formulas drawn in a row are too large, with p={p} and eta={eta}. "
                    "Use a smaller p or a larger eta."
                ) from None
            continue
        oversized = 0
        if values not in drawn:
            drawn[values] = formula
            in_vain = 0
    return list(drawn.values())


def read_candidates(candidates: Any) -> list[Formula | Kernel]:
    """Formulas and kernels, texts parsed.

    Parameters
    ----------
    candidates : iterable of str, Formula or Kernel

    Returns
    -------
    list of Formula or Kernel

    Raises
    ------
    FormulaSyntaxError
        If a text is not a formula.
    ParameterError
        If there is none, or something else among them.
    """
    if isinstance(candidates, (str, Formula, Kernel)) or not isinstance(candidates, Iterable):
        raise ParameterError(
            f"candidates={candidates!r}; expected how many formulas to draw, or a list of formulas "
            "and kernels such as ['a & b', 'a | ~b']."
        )
    read: list[Formula | Kernel] = []
    for candidate in candidates:
        if not isinstance(candidate, (str, Formula, Kernel)):
            raise ParameterError(
                f"candidate {len(read)} is {candidate!r}; expected a str, Formula or Kernel."
            )
        read.append(parse(candidate) if isinstance(candidate, str) else candidate)
    if not read:
        raise ParameterError(
            "candidates is empty; expected at least one formula or kernel, or how many to draw."
        )
    return read


def _values(formula: Formula, variables: Reading) -> tuple[int, ...]:
    """The kernel in exact integers at three triples of counts."""
    program = FormulaKernel(formula, variables).program
    s, p, q = TRIPLES.T.astype(object)
    values = run(program, [s], [p], [q], [N], object)[0]
    return tuple(int(v) // program.divisor for v in np.broadcast_to(values, len(TRIPLES)))
