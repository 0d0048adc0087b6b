"""Candidates of a search: random formulas with different kernels, or given ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from formulakern.checks import check_no_keyword
from formulakern.errors import FormulaKernError, FormulaSizeError, ParameterError
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import KEYWORDS, FormulaKernel, Reading
from formulakern.program import run
from formulakern.syntax.formula import Formula, Variable, postorder, random_formula, substitute
from formulakern.syntax.parser import parse

#: Kernels of formulas with more leaves are not compared, because their exact values are long.
MAX_COMPARED_LEAVES = 50

#: The first two drawn candidates.
FIRST_CANDIDATES = parse("x1 & x2"), parse("x1")
#: The number of draws in a row without a new kernel that ends the drawing.
MAX_REPEATED_DRAWS = 500
#: The number of oversized formulas in a row that raises an error.
MAX_OVERSIZED_DRAWS = 20
#: Counts (s, p, q) of rows of N_COLUMNS columns.  Different kernels rarely agree at all of them.
N_COLUMNS = 1_000_003
TRIPLES = np.array([(101, 5_003, 70_001), (31_013, 40_009, 50_021), (17, 900_007, 6_007)])


def draw_candidates(
    n: int, variables: Reading, p: float, eta: float, generator: np.random.Generator
) -> list[Formula]:
    """Return ``x1 & x2``, ``x1`` and random formulas, with n different kernels.

    Random formulas are rewritten with and, or, xor and negated variables, without double negations.
    Formulas such as ``a & ~b`` and ``~b & a``, or ``a -> b`` and ``~a | b``, have one kernel.  To
    compare kernels, they are computed in exact integers for three pairs of rows of a million
    columns.  The simplest formula of each kernel is kept.

    Examples
    --------
    >>> for formula in draw_candidates(5, "bound", 0.4, 0.7, np.random.default_rng(0)):
    ...     print(formula)
    x1 & x2
    x1
    x1 & ~x2 | ~(x3 ^ (~x4 | ~x5))
    x1 & (x2 | x3 & x4)
    x1 & x2 & ~x3
    """
    first = [FormulaKernel(formula, variables) for formula in FIRST_CANDIDATES[:n]]
    drawn = {_values(kernel): kernel.formula for kernel in first}
    in_vain = oversized = 0
    while len(drawn) < n and in_vain < MAX_REPEATED_DRAWS:
        in_vain += 1
        try:
            kernel = FormulaKernel(random_formula(p, eta, generator), variables)
            values = _values(kernel)
        except FormulaSizeError:
            oversized += 1
            if oversized == MAX_OVERSIZED_DRAWS:
                raise ParameterError(
                    f"{MAX_OVERSIZED_DRAWS} random formulas in a row are too large with p={p} and "
                    f"eta={eta}. "
                    "Use a smaller p or a larger eta."
                ) from None
            continue
        oversized = 0
        formula = _reduced(kernel)
        if values not in drawn:
            in_vain = 0
        elif simplicity(drawn[values]) <= simplicity(formula):
            continue
        drawn[values] = formula
    return list(drawn.values())


def simplicity(formula: Formula | Kernel) -> tuple[int, int]:
    """Return the numbers of leaves and of connectives; the first is the largest for a kernel.

    >>> simplicity(parse("~a & ~b")) < simplicity(parse("~(~~a & ~b)"))
    True
    """
    if not isinstance(formula, Formula):
        return sys.maxsize, 0
    return formula.n_leaves, sum(node.connective is not None for node in postorder(formula))


def equal_kernels(candidates: Sequence[Formula | Kernel], variables: Reading) -> list[int | None]:
    """Return the position of the simplest candidate with the same kernel; None for the simplest.

    The first of equally simple candidates is the simplest.  Kernels are not compared, nor are
    formulas with domains, choices, or more than 50 leaves.

    >>> equal_kernels([parse("~~a"), parse("b & c"), parse("a")], "bound")
    [2, None, None]
    """
    simplest: dict[Any, int] = {}
    keys: list[Any] = [*range(len(candidates))]
    for place, candidate in enumerate(candidates):
        if isinstance(candidate, Formula) and candidate.n_leaves <= MAX_COMPARED_LEAVES:
            choices = any(leaf.inside for leaf in candidate.leaves)
            with suppress(FormulaKernError):
                if not choices and not any(leaf.domain for leaf in candidate.variables):
                    keys[place] = _values(FormulaKernel(candidate, variables))
        first = simplest.setdefault(keys[place], place)
        if simplicity(candidate) < simplicity(candidates[first]):
            simplest[keys[place]] = place
    found = [simplest[key] for key in keys]
    return [None if k == place else k for place, k in enumerate(found)]


def read_candidates(
    candidates: Any, name: str = "candidates", otherwise: str = "how many formulas to draw"
) -> list[Formula | Kernel]:
    """Return the candidates, with texts parsed, or raise ParameterError."""
    other = f", or {otherwise}" if otherwise else ""
    one, several = name.removesuffix("s"), isinstance(candidates, Iterable)
    listed = (
        list(candidates) if several and not isinstance(candidates, (str, Formula, Kernel)) else []
    )
    if not listed:
        raise ParameterError(
            f"{name}={candidates!r}; expected a list of formulas and kernels such as "
            f"['a & b', 'a | ~b']{other}."
        )
    read: list[Formula | Kernel] = []
    for candidate in listed:
        if not isinstance(candidate, (str, Formula, Kernel)):
            raise ParameterError(
                f"{one} {len(read)} is {candidate!r}; expected a str, Formula or Kernel."
            )
        check_no_keyword(one, candidate, KEYWORDS)
        read.append(parse(candidate) if isinstance(candidate, str) else candidate)
    return read


def _reduced(kernel: FormulaKernel) -> Formula:
    """Return the form that is compiled, with variables named in the order of the text."""
    reduced = kernel.rewriting.formula
    names = {v: Variable(f"x{k}") for k, v in enumerate(reduced.variables, start=1)}
    return substitute(reduced, dict(names))


def _values(kernel: FormulaKernel) -> tuple[int, ...]:
    """Return the kernel in exact integers at three triples of counts."""
    program = kernel.program
    s, p, q = TRIPLES.T.astype(object)
    values = run(program, ([s], [p], [q]), [N_COLUMNS], object)[0]
    return tuple(int(v) // program.divisor for v in np.broadcast_to(values, len(TRIPLES)))
