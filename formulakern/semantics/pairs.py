"""Recursions on pairs of functions, unrolled into a program.

Let g(F, G) be the number of substitutions under which F is true in x and G is true in z, so that
the kernel is g(F, F).  Splitting on a variable, with F₁ and F₀ the cofactors of F,

    g(F, G) = n11·g(F₁, G₁) + n10·g(F₁, G₀) + n01·g(F₀, G₁) + n00·g(F₀, G₀),

where n11 columns are 1 in both rows, n10 in x only, and so on.  Computed once for every pair of
nodes of a decision diagram, this is polynomial in the size of the diagram.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from formulakern.errors import FormulaSizeError
from formulakern.program.builder import Builder

__all__ = ["MEASURED", "Branches", "reach", "sum_up"]

#: When so many states are met, it is found out how many there will be.
MEASURED = 5_000

State = TypeVar("State", bound=Hashable)
Term = TypeVar("Term")
#: The states that a state is computed from, each with what it is multiplied by.
Branches = Sequence[tuple[Term, State]]


def reach(
    root: State,
    split: Callable[[State], Branches[Term, State]],
    limit: int,
    refusal: str,
    count: Callable[[int], int],
) -> dict[State, Branches[Term, State]]:
    """All states that are reached from one by splitting, each with its branches.

    Parameters
    ----------
    root
        The state to begin with.
    split : callable
        Gives the branches of a state.
    limit : int
        So many states are accepted.
    refusal : str
        The message where there are more.
    count : callable
        Given the limit, the number of states, at a fraction of the work: asked where there are
        many, so that too many are refused early.  It may be too small.

    Raises
    ------
    FormulaSizeError
        If there are more than ``limit`` states.
    """
    branches: dict[State, Branches[Term, State]] = {}
    pending = [root]
    while pending:
        state = pending.pop()
        if state not in branches:
            met = len(branches)
            if met >= limit or (met == MEASURED and count(limit) > limit):
                raise FormulaSizeError(refusal)
            branches[state] = split(state)
            pending.extend(after for _, after in branches[state])
    return branches


def sum_up(
    builder: Builder,
    branches: Mapping[State, Branches[Any, State]],
    level: Callable[[State], int],
    factors: Callable[[Any], Iterable[int]],
    end: Callable[[State], int | None],
) -> dict[State, int]:
    """Emit the value of every state: the sum over its branches of products.

    Parameters
    ----------
    builder : Builder
    branches : mapping
        What :func:`reach` found.
    level : callable
        Grows from a state to those that it is computed from.
    factors : callable
        The positions of what a term multiplies the branch's state by.
    end : callable
        The position of the value of a state at which the recursion ends; None for the others.
    """
    values: dict[State, int] = {}
    for state in sorted(branches, key=level, reverse=True):
        value = end(state)
        values[state] = (
            builder.sum(
                builder.product((*factors(term), values[after])) for term, after in branches[state]
            )
            if value is None
            else value
        )
    return values
