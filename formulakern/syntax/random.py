"""Random formulas, for trying many kernels when nobody knows the rule."""

from __future__ import annotations

import math

import numpy as np

from formulakern.checks import check_number
from formulakern.errors import FormulaSizeError
from formulakern.syntax.connectives import CONNECTIVES, NOT
from formulakern.syntax.formula import Formula, Operation, Variable

__all__ = ["MAX_RANDOM_LEAVES", "random_formula"]

#: A random formula that grows beyond this many leaves is given up with an error.
MAX_RANDOM_LEAVES = 10_000

_OPERATIONS = (*(row for row in CONNECTIVES if row.arity == 2), NOT)


def random_formula(
    p: float = 0.4,
    eta: float = 0.7,
    random_state: int | np.random.Generator | None = None,
) -> Formula:
    """Draw a formula in which every leaf is a variable of its own.

    At depth t the growth stops with probability 1 − p^(η·t) in a literal, negated or not with equal
    chance; otherwise one of the binary connectives or "not" is drawn uniformly and its operands
    are drawn at depth t + 1.  The root (t = 0) always is a connective.

    Parameters
    ----------
    p : float in [0, 1), default=0.4
        How readily formulas grow.
    eta : float > 0, default=0.7
        How fast the growth fades with depth.
    random_state : int, numpy.random.Generator or None
        Equal integers give equal formulas.

    Returns
    -------
    Formula
        Its variables are x1, x2, … in the order of the text.

    Raises
    ------
    ParameterError
        If p or eta is out of range.
    FormulaSizeError
        If it grows beyond ``MAX_RANDOM_LEAVES`` leaves (p close to 1 with a small eta).

    References
    ----------
    Polato & Aiolli (2021), Propositional Kernels, Algorithm 2, doi:10.3390/e23081020.

    Examples
    --------
    >>> random_formula(random_state=4) == random_formula(random_state=4)
    True
    >>> random_formula(random_state=4).n_leaves >= 1
    True
    """
    check_number("p", p, 0, math.nextafter(1, 0), expected="a number from 0 to below 1")
    check_number("eta", eta, 0, above=True)
    generator = np.random.default_rng(random_state)
    # Depth-first from the left, so that leaves are numbered as they stand in the text: a connective
    # waits with its finished operands until all are there.
    waiting: list[tuple[int, list[Formula]]] = []
    n_leaves = 0
    while True:
        if generator.random() < p ** (eta * len(waiting)):
            waiting.append((int(generator.integers(len(_OPERATIONS))), []))
            continue
        n_leaves += 1
        if n_leaves > MAX_RANDOM_LEAVES:
            raise FormulaSizeError(
                f"a random formula with p={p} and eta={eta} passed {MAX_RANDOM_LEAVES:,} leaves. "
                "Use a smaller p or a larger eta."
            )
        done: Formula = Variable(f"x{n_leaves}")
        if generator.random() < 0.5:
            done = ~done
        while waiting:
            row = _OPERATIONS[waiting[-1][0]]
            operands = waiting[-1][1]
            operands.append(done)
            if len(operands) < row.arity:
                break
            done = Operation(row, operands)
            waiting.pop()
        if not waiting:
            return done
