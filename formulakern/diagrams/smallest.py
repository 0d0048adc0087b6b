"""The smallest union of cubes that is a function, or lies between two: exact up to a stated size.

First come the fewest cubes, then the fewest literals.  All prime implicants are found, and the
fewest of them that cover the function are chosen (Quine, doi:10.1080/00029890.1952.11988183;
McCluskey, doi:10.1002/j.1538-7305.1956.tb03835.x).  Where that is too large, an irredundant cover
by prime implicants is given, with a proved lower bound.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulakern.diagrams.covering import cheapest_columns
from formulakern.diagrams.implicants import (
    Cube,
    cube_function,
    irredundant_cover,
    ordered_cubes,
    prime_implicants,
)
from formulakern.diagrams.manager import Diagrams
from formulakern.errors import FormulaSizeError

__all__ = ["MAX_CUBES", "MAX_PRIMES", "MAX_TABULATED", "Smallest", "smallest_cover"]

#: The choice is exact for at most so many prime implicants …
MAX_PRIMES = 4_000
#: … and at most so many variables in those that are not needed anyway.
MAX_TABULATED = 16
#: A cover by more cubes than this is refused.
MAX_CUBES = 10_000
#: More entries of points and prime implicants are not compared.
MAX_ENTRIES = 30_000_000
#: A lower bound is sought for at most so many cubes.
MAX_APART = 200


@dataclass(frozen=True)
class Smallest:
    """Cubes whose union lies between two functions.

    Parameters
    ----------
    cubes : tuple of Cube
        In the order of their variables.
    exact : bool
        Whether it is proved that there are no fewer, and with as many not fewer literals.
    least : int
        No union that fits has fewer cubes.
    """

    cubes: tuple[Cube, ...]
    exact: bool
    least: int

    @property
    def n_literals(self) -> int:
        """Literals in all cubes together."""
        return sum(map(_length, self.cubes))


def smallest_cover(diagrams: Diagrams, lower: int, upper: int) -> Smallest:
    """The fewest cubes inside ``upper`` that cover ``lower``, with the fewest literals.

    Raises
    ------
    FormulaSizeError
        If a diagram passes the limits of the manager, or more than ``MAX_CUBES`` cubes are found.

    Examples
    --------
    >>> d = Diagrams()
    >>> x, y = d.variable(0), d.variable(1)
    >>> smallest_cover(d, d.both([x, y]), d.negation(d.both([x, d.negation(y)])))
    Smallest(cubes=((2, 0),), exact=True, least=1)
    """
    cover = irredundant_cover(diagrams, lower, upper)
    if cover.n_cubes > MAX_CUBES:
        raise FormulaSizeError(
            f"a union of {cover.n_cubes:,} conjunctions was found for this formula; at most "
            f"{MAX_CUBES:,} are listed. {diagrams.advice}"
        )
    found = Smallest(ordered_cubes(cover), cover.n_cubes < 2, min(cover.n_cubes, 1))
    if found.exact and found.n_literals < 2:
        return found
    try:
        exact = _chosen(diagrams, lower, upper)
    except FormulaSizeError:
        exact = None
    best = found if exact is None else min(exact, found, key=lambda s: (len(s.cubes), s.n_literals))
    if exact is not None and (exact.exact or exact.least > 1):
        return Smallest(best.cubes, exact.exact, exact.least)
    try:
        least = _apart(diagrams, found.cubes, lower, upper)
    except FormulaSizeError:
        least = 1
    return Smallest(best.cubes, False, least)


def _chosen(diagrams: Diagrams, lower: int, upper: int) -> Smallest | None:
    """The fewest prime implicants; None if there are too many of them, or of points."""
    found = prime_implicants(diagrams, upper, MAX_PRIMES)
    if found is None:
        return None
    primes = ordered_cubes(found)
    variables = _variables(diagrams, lower, primes)
    needed: list[Cube] = []
    if len(variables) > MAX_TABULATED:
        needed, primes, lower = _needed(diagrams, primes, lower)
        variables = _variables(diagrams, lower, primes)
        if len(variables) > MAX_TABULATED:
            return None
    rows = _rows(_points(diagrams, lower, variables), primes, variables)
    if rows is None:
        return None
    choice = cheapest_columns(rows, [_length(prime) for prime in primes])
    cubes = ordered_cubes([*needed, *(primes[column] for column in choice.columns)])
    return Smallest(cubes, choice.exact, len(needed) + choice.least)


def _needed(
    diagrams: Diagrams, primes: Sequence[Cube], lower: int
) -> tuple[list[Cube], tuple[Cube, ...], int]:
    """Primes that alone cover a point, those that help with what is left, and what is left."""
    d = diagrams
    needed = _alone_somewhere(d, primes, lower)
    left = d.apply("0100", lower, d.either([cube_function(d, prime) for prime in needed]))
    found = set(needed)
    helping: list[tuple[Cube, int]] = []
    for prime in primes:
        if prime not in found and (part := d.both([cube_function(d, prime), left])):
            helping.append((prime, part))
    after = [0]
    for _, part in reversed(helping):
        after.append(d.either([part, after[-1]]))
    others: list[tuple[Cube, int]] = []
    before = 0
    for (prime, part), later in zip(helping, reversed(after[:-1]), strict=True):
        if d.apply("0100", part, d.either([before, later])):
            needed.append(prime)
            left = d.apply("0100", left, part)
        else:
            others.append((prime, part))
        before = d.either([before, part])
    return needed, tuple(prime for prime, part in others if d.both([part, left])), left


def _alone_somewhere(diagrams: Diagrams, primes: Sequence[Cube], lower: int) -> list[Cube]:
    """Primes of which one point shows that they alone cover it.

    Variables that a prime leaves open have there the value that fewer of the others ask for.  Of a
    function in which no variable stands with both signs this finds all of them.
    """
    votes: dict[int, int] = {}
    for true, false in primes:
        for level in range((true | false).bit_length()):
            votes[level] = votes.get(level, 0) + (true >> level & 1) - (false >> level & 1)
    rare = sum(1 << level for level, vote in votes.items() if vote < 0)
    found = []
    for prime in primes:
        point = prime[0] | rare & ~prime[1]
        around = sum(point & true == true and not point & false for true, false in primes)
        if around == 1 and _holds(diagrams, lower, point):
            found.append(prime)
    return found


def _holds(diagrams: Diagrams, function: int, point: int) -> bool:
    while function > 1:
        true = point >> diagrams.level[function] & 1
        function = diagrams.high[function] if true else diagrams.low[function]
    return bool(function)


def _points(diagrams: Diagrams, function: int, variables: Sequence[int]) -> npt.NDArray[np.int64]:
    """The models of a function: bit k is the value of ``variables[k]``."""
    d = diagrams
    place = {level: k for k, level in enumerate(variables)}
    n = len(variables)
    found = {0: np.empty(0, np.int64), 1: np.zeros(1, np.int64)}

    def spread(node: int, start: int) -> npt.NDArray[np.int64]:
        """Models from a place on: variables that are not tested take both values."""
        listed = found[node]
        for k in range(start, place[d.level[node]] if node > 1 else n):
            listed = np.concatenate([listed | 1 << k, listed])
        return listed

    for node in reversed(d.reachable(function)):
        k = place[d.level[node]]
        true, false = (spread(branch, k + 1) for branch in (d.high[node], d.low[node]))
        found[node] = np.concatenate([true | 1 << k, false])
    return spread(function, 0)


def _rows(
    points: npt.NDArray[np.int64], primes: Sequence[Cube], variables: Sequence[int]
) -> set[int] | None:
    """For all points which primes cover them, as bits, each answer once."""
    if len(points) * len(primes) > MAX_ENTRIES:
        return None
    masks = np.array(
        [[_gathered(side, variables) for side in prime] for prime in primes], np.int64
    ).reshape(-1, 2)
    rows: set[int] = set()
    for start in range(0, len(points), 1024):
        part = points[start : start + 1024, None]
        covers = (part & masks[:, 0] == masks[:, 0]) & (part & masks[:, 1] == 0)
        packed = np.packbits(covers, axis=1, bitorder="little")
        rows.update(int.from_bytes(row.tobytes(), "little") for row in np.unique(packed, axis=0))
    return rows


def _apart(diagrams: Diagrams, cubes: Sequence[Cube], lower: int, upper: int) -> int:
    """How many points were found of which no cube inside ``upper`` has two: a lower bound."""
    if len(cubes) > MAX_APART:
        return 1
    d = diagrams
    functions = [cube_function(d, cube) for cube in cubes]
    levels = sorted(_variables(d, upper, cubes))
    points: list[Cube] = []
    for k, function in enumerate(functions):
        others = d.either([other for j, other in enumerate(functions) if j != k])
        alone = d.apply("0100", d.both([function, lower]), others)
        if not alone:
            continue
        true = _model(d, alone)
        point = true, sum(1 << level for level in levels if not true >> level & 1)
        for other in points:
            shared = {v: bool(true >> v & 1) for v in levels if not (true ^ other[0]) >> v & 1}
            if d.restrict(upper, shared) == 1:
                break
        else:
            points.append(point)
    return max(1, len(points))


def _model(diagrams: Diagrams, function: int) -> int:
    """A model of a function, as the bits of the variables that are true."""
    true = 0
    while function > 1:
        if diagrams.low[function]:
            function = diagrams.low[function]
        else:
            true |= 1 << diagrams.level[function]
            function = diagrams.high[function]
    return true


def _variables(diagrams: Diagrams, function: int, cubes: Collection[Cube]) -> list[int]:
    """The variables of a function and of cubes, in order."""
    used = 0
    for true, false in cubes:
        used |= true | false
    found = {diagrams.level[node] for node in diagrams.reachable(function)}
    found.update(level for level in range(used.bit_length()) if used >> level & 1)
    return sorted(found)


def _gathered(bits: int, variables: Sequence[int]) -> int:
    return sum(1 << k for k, level in enumerate(variables) if bits >> level & 1)


def _length(cube: Cube) -> int:
    return (cube[0] | cube[1]).bit_count()
