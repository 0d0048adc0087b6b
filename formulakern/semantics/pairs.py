"""Recursions on pairs of functions, unrolled into a program.

Let g(F, G) be the number of substitutions under which F is true in x and G is true in z, so that
the kernel is g(F, F).  Splitting on a variable, with F₁ and F₀ the cofactors of F,

    g(F, G) = n11·g(F₁, G₁) + n10·g(F₁, G₀) + n01·g(F₀, G₁) + n00·g(F₀, G₀),

where n11 columns are 1 in both rows, n10 in x only, and so on.  Computed once for every pair of
nodes of a decision diagram, this is polynomial in the size of the diagram.

How many states there will be is counted before they are unrolled: level by level, as arrays of the
functions of x and of z, and a number that stands for the columns in use.  It is a sum of random odd
numbers of 64 bits, one for every column that is used in a cell.  States are missed if different
columns in use have the same number; no state is counted twice.  So the count is a lower bound, and
it is short of the truth with a probability of less than one in a million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.errors import FormulaSizeError
from formulakern.program.program import Builder
from formulakern.syntax.diagrams import Diagrams

__all__ = ["HARD", "Branches", "count_states", "reach", "sum_up"]

#: After so many states, the number of all states is counted.
MEASURED = 5_000
#: The advice if a diagram passes its limits.
HARD = (
    "Counting with repeated names is hard in general: repeat fewer names, split the formula, or "
    "use variables='free'."
)

#: A function of x, a function of z, and perhaps more.
State = TypeVar("State", bound=tuple[Any, ...])
Term = TypeVar("Term")
#: The states that a state is computed from, each with what it is multiplied by.
Branches = Sequence[tuple[Term, State]]


def reach(
    root: State,
    split: Callable[[State], Branches[Term, State]],
    limit: int,
    refusal: str,
    diagrams: Diagrams,
    domains: Sequence[int] | None = None,
) -> dict[State, Branches[Term, State]]:
    """Return all states that are reached from one by splitting, each with its branches.

    More than ``limit`` states are refused with the message ``refusal``, early by counting them on
    ``diagrams``: see :func:`count_states`.
    """
    branches: dict[State, Branches[Term, State]] = {}
    pending = [root]
    while pending:
        state = pending.pop()
        if state not in branches:
            too_many = len(branches) >= limit
            if len(branches) == MEASURED and not too_many:
                too_many = count_states(diagrams, root[0], root[1], limit, domains) > limit
            if too_many:
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

    ``level`` grows from a state to those that it is computed from, ``factors`` are the positions of
    what a term multiplies by, ``end`` the position of the value of a state that has no branches.
    """
    values: dict[State, int] = {}
    for state in sorted(branches, key=level, reverse=True):
        value = end(state)
        if value is None:
            value = builder.sum(
                builder.product((*factors(term), values[after])) for term, after in branches[state]
            )
        values[state] = value
    return values


Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]
#: Functions of x and of z (1 where that row is not read), and what stands for the columns in use:
#: by their cells in both rows, by their values in x, by their values in z.
_States = tuple[Integers, Integers, Numbers, Numbers, Numbers]


def count_states(
    diagrams: Diagrams, f: int, g: int, limit: int, domains: Sequence[int] | None = None
) -> int:
    """Return the number of states that are reached from a pair of functions, up to a limit.

    ``f`` and ``g`` are the functions of x and of z, not the constant 0; ``domains`` has for every
    level the domain whose columns it uses up, None if none are.  A state costs about a thirtieth of
    the time that it takes to unroll it.
    """
    kept = [0, 1, *sorted({*diagrams.reachable(f), *diagrams.reachable(g)})]
    place = {node: i for i, node in enumerate(kept)}
    after = {
        bit: np.array([place[successors[node]] for node in kept])
        for bit, successors in ((1, diagrams.high), (0, diagrams.low))
    }
    levels = sorted({diagrams.level[node] for node in kept})
    order = {level: i for i, level in enumerate(levels)}  # the constants come last
    level = np.array([order[diagrams.level[node]] for node in kept])
    # the first row is of the functions themselves
    random = _random_numbers(2 if domains is None else 2 + max(domains, default=0))
    zero = np.zeros(1, dtype=np.uint64)
    root: _States = (np.array([place[f]]), np.array([place[g]]), zero, zero, zero)
    pending: list[list[_States]] = [[] for _ in levels]
    pending[min(level[place[f]], level[place[g]])].append(root)
    total = 0
    for here, found in enumerate(pending):
        if not found:
            continue
        states = _different(found, random[0])
        total += len(states[0])
        if total > limit or here == len(levels) - 1:
            break
        found.clear()
        numbers = random[0] * 0 if domains is None else random[1 + domains[levels[here]]]
        for bits in ((1, 1), (1, 0), (0, 1), (0, 0)):
            new = _split(states, bits, level == here, after, numbers)
            at = np.minimum(level[new[0]], level[new[1]])
            for next_level in np.unique(at).tolist():
                some = at == next_level
                pending[next_level].append(
                    (new[0][some], new[1][some], new[2][some], new[3][some], new[4][some])
                )
    return total


def _random_numbers(n_rows: int) -> Numbers:
    """Return odd numbers: per row for the cells 11, 10, 01, 00 and the values 1, 0 of a row."""
    numbers = np.random.default_rng(0).integers(2**63, size=(n_rows, 6), dtype=np.uint64)
    return 2 * numbers + 1


def _different(found: list[_States], numbers: Numbers) -> _States:
    """Return each state once."""
    f, g, both, of_x, of_z = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    key = f.astype(np.uint64) * numbers[0] + g.astype(np.uint64) * numbers[1] + both
    once = np.unique(key, return_index=True)[1]
    return f[once], g[once], both[once], of_x[once], of_z[once]


def _split(
    states: _States,
    bits: tuple[int, int],
    tested: npt.NDArray[np.bool_],
    after: dict[int, Integers],
    numbers: Numbers,
) -> _States:
    """Return the states that follow where a column has these values in x and z.

    ``tested`` says of every function whether it tests the column, ``after`` what becomes of it.
    """
    f, g, both, of_x, of_z = states
    bit_x, bit_z = bits
    new_f, new_g = (
        np.where(tested[function], after[bit][function], function)
        for function, bit in ((f, bit_x), (g, bit_z))
    )
    reads_x, reads_z = f != 1, g != 1
    # a row that is not read has no values: one of the two branches stands for both
    some = (new_f != 0) & (new_g != 0) & (reads_x | (bit_x == 1)) & (reads_z | (bit_z == 1))
    value_x, value_z, cell = numbers[5 - bit_x], numbers[5 - bit_z], numbers[3 - 2 * bit_x - bit_z]
    both = both + np.where(reads_x, np.where(reads_z, cell, value_x), value_z)
    of_x, of_z = of_x + value_x, of_z + value_z
    # once a single row is read, only the values in that row count
    turns = reads_x & reads_z & ((new_f == 1) != (new_g == 1))
    both = np.where(turns, np.where(new_g == 1, of_x, of_z), both)
    return new_f[some], new_g[some], both[some], of_x[some], of_z[some]
