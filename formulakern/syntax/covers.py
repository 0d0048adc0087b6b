"""Unions of conjunctions that are a Boolean function, or lie between two: the smallest one.

A cube is a conjunction of literals, held as two sets of bits: the variables that are true, and
those that are false.  An implicant of a function is a cube in which it is true everywhere; it is
prime if no literal of it can be left out.  The smallest union has the fewest cubes, and then the
fewest literals.  All prime implicants are found, and the fewest that cover the function are chosen
(Quine, doi:10.1080/00029890.1952.11988183; McCluskey, doi:10.1002/j.1538-7305.1956.tb03835.x).  If
that is too large, the result is an irredundant cover by prime implicants with a proved lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.errors import FormulaSizeError
from formulakern.syntax.diagrams import Diagrams

__all__ = [
    "Choice",
    "Cover",
    "Cube",
    "Smallest",
    "cheapest_columns",
    "cube_function",
    "irredundant_cover",
    "ordered_cubes",
    "prime_implicants",
    "smallest_cover",
]

#: The variables that are true, and those that are false, as bits.
Cube: TypeAlias = tuple[int, int]
#: Two functions: what must be covered, and what may be.
Interval: TypeAlias = tuple[int, int]

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
#: A recursion that says ``value = yield argument`` where it calls itself.
Recursion: TypeAlias = Callable[[Key], Generator[Key, T, T]]

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
#: The search for the cheapest choice ends after so many nodes of branch and bound, times entries
#: of rows and columns; more entries than the second are not searched.
MAX_SEARCH = 2_000_000
MAX_SEARCHED_ENTRIES = 1_500_000


@dataclass(frozen=True)
class Smallest:
    """Cubes, in the order of their variables, whose union is between two functions."""

    cubes: tuple[Cube, ...]
    #: Whether it is proved that there are no fewer, and with as many not fewer literals.
    exact: bool
    #: No union that fits has fewer cubes.
    least: int

    @property
    def n_literals(self) -> int:
        """Literals in all cubes together."""
        return sum(map(_length, self.cubes))


def smallest_cover(diagrams: Diagrams, lower: int, upper: int) -> Smallest:
    """Return the fewest cubes inside ``upper`` that cover ``lower``, with the fewest literals.

    More than ``MAX_CUBES`` cubes are refused.

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
    """Return the fewest prime implicants; None if there are too many of them, or of points."""
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
    """Return primes that alone cover a point, primes for the rest, and the rest."""
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
    """Return primes that alone cover a certain point.

    Variables that a prime leaves open have there the value that fewer of the others ask for.  Of a
    function in which no variable stands with both signs this finds all of them.
    """
    votes: dict[int, int] = {}
    for true, false in primes:
        for level in _bits(true | false):
            votes[level] = votes.get(level, 0) + (1 if true >> level & 1 else -1)
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
    """Return the models of a function: bit k is the value of ``variables[k]``."""
    d = diagrams
    place = {level: k for k, level in enumerate(variables)}
    n = len(variables)
    found = {0: np.empty(0, np.int64), 1: np.zeros(1, np.int64)}

    def spread(node: int, start: int) -> npt.NDArray[np.int64]:
        """Return models from a place on: variables that are not tested take both values."""
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
    """Return the sets of primes that cover a point, as bits; None if there are too many."""
    if len(points) * len(primes) > MAX_ENTRIES:
        return None
    masks = np.array(
        [
            [sum((side >> v & 1) << k for k, v in enumerate(variables)) for side in prime]
            for prime in primes
        ],
        np.int64,
    ).reshape(-1, 2)
    rows: set[int] = set()
    for start in range(0, len(points), 1024):
        part = points[start : start + 1024, None]
        covers = (part & masks[:, 0] == masks[:, 0]) & (part & masks[:, 1] == 0)
        packed = np.packbits(covers, axis=1, bitorder="little")
        rows.update(int.from_bytes(row.tobytes(), "little") for row in np.unique(packed, axis=0))
    return rows


def _apart(diagrams: Diagrams, cubes: Sequence[Cube], lower: int, upper: int) -> int:
    """Return a lower bound: the number of points found of which no cube inside has two."""
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
    """Return a model of a function, as the bits of the variables that are true."""
    true = 0
    while function > 1:
        if diagrams.low[function]:
            function = diagrams.low[function]
        else:
            true |= 1 << diagrams.level[function]
            function = diagrams.high[function]
    return true


def _variables(diagrams: Diagrams, function: int, cubes: Collection[Cube]) -> list[int]:
    """Return the variables of a function and of cubes, in order."""
    found = {diagrams.level[node] for node in diagrams.reachable(function)}
    return sorted(found.union(_bits(reduce(or_, (true | false for true, false in cubes), 0))))


def _length(cube: Cube) -> int:
    return (cube[0] | cube[1]).bit_count()


# -- implicants


def _called(recursion: Recursion[Key, T], root: Key, known: dict[Key, T]) -> T:
    """Return the value of a recursion, each argument once, on a stack of our own."""
    calls = [(root, recursion(root))]
    answer: Any = None
    while calls:
        key, running = calls[-1]
        try:
            wanted = running.send(answer)
        except StopIteration as done:
            answer = known[key] = done.value
            calls.pop()
            continue
        answer = known.get(wanted)
        if answer is None:
            calls.append((wanted, recursion(wanted)))
    return known[root]


@dataclass(frozen=True)
class Cover:
    """Cubes whose union is a function; how many there are is known before they are listed."""

    function: int
    n_cubes: int
    level: int = 0
    #: The cubes with a variable true, with it false, and without it.
    parts: tuple[Cover, ...] = ()

    def __iter__(self) -> Iterator[Cube]:
        pending = [(self, 0, 0)]
        while pending:
            cover, true, false = pending.pop()
            if cover.parts:
                with_it, without_it, either = cover.parts
                bit = 1 << cover.level
                pending.append((either, true, false))
                pending.append((without_it, true, false | bit))
                pending.append((with_it, true | bit, false))
            elif cover.function:
                yield true, false


def irredundant_cover(diagrams: Diagrams, lower: int, upper: int) -> Cover:
    """Return cubes inside ``upper`` that cover ``lower``, none of which can be left out.

    The recursion of Minato & Morreale: cubes with the first variable true, cubes with it false, and
    then cubes without it for what those leave.  S. Minato (1996), Binary Decision Diagrams and
    Applications for VLSI CAD, doi:10.1007/978-1-4613-1303-8.

    >>> d = Diagrams()
    >>> xor = d.apply("0110", d.variable(0), d.variable(1))
    >>> list(irredundant_cover(d, xor, xor))
    [(1, 2), (2, 1)]
    """
    d = diagrams

    def without(f: int, g: int) -> int:
        return d.apply("0100", f, g)

    def cover(interval: Interval) -> Generator[Interval, Cover, Cover]:
        least, most = interval
        if not least:
            return Cover(0, 0)
        if most == 1:
            return Cover(1, 1)
        level = min(d.level[least], d.level[most])
        least_1, least_0 = d.cofactors(least, level)
        most_1, most_0 = d.cofactors(most, level)
        with_it = yield without(least_1, most_0), most_1
        without_it = yield without(least_0, most_1), most_0
        left = d.either([without(least_1, with_it.function), without(least_0, without_it.function)])
        either = yield left, d.both([most_1, most_0])
        branches = with_it, without_it, either
        function = d.either([either.function, d.node(level, with_it.function, without_it.function)])
        return Cover(function, sum(branch.n_cubes for branch in branches), level, branches)

    return _called(cover, (lower, upper), {})


def prime_implicants(diagrams: Diagrams, function: int, limit: int) -> frozenset[Cube] | None:
    """Return all prime implicants of a function; None if there are more than ``limit``.

    Those without the first variable are the prime implicants of f₁ ∧ f₀; those with it true are
    the ones of f₁ that are not among them, and likewise for false.  O. Coudert & J. C. Madre
    (1992), doi:10.1109/DAC.1992.227866.

    >>> d = Diagrams()
    >>> x, y, z = map(d.variable, range(3))
    >>> chosen = d.either([d.both([x, y]), d.both([d.negation(x), z])])
    >>> sorted(prime_implicants(d, chosen, 10))
    [(3, 0), (4, 1), (6, 0)]
    """
    d = diagrams
    many: frozenset[Cube] = frozenset({(-1, -1)})

    def primes(f: int) -> Generator[int, frozenset[Cube], frozenset[Cube]]:
        if f < 2:
            return frozenset({(0, 0)}) if f else frozenset()
        bit = 1 << d.level[f]
        either = yield d.both([d.high[f], d.low[f]])
        with_it = yield d.high[f]
        without_it = yield d.low[f]
        if many in (either, with_it, without_it):
            return many
        found = either.union(
            ((true | bit, false) for true, false in with_it - either),
            ((true, false | bit) for true, false in without_it - either),
        )
        d.spend(len(found))
        return found if len(found) <= limit else many

    found = _called(primes, function, {})
    return None if found == many else found


def cube_function(diagrams: Diagrams, cube: Cube) -> int:
    """Return the diagram of a cube, built from its last literal to its first."""
    true, false = cube
    function = 1
    for level in reversed(list(_bits(true | false))):
        sides = (function, 0) if true >> level & 1 else (0, function)
        function = diagrams.node(level, *sides)
    return function


def _bits(number: int) -> Iterable[int]:
    while number:
        last = number & -number
        yield last.bit_length() - 1
        number ^= last


def ordered_cubes(cubes: Iterable[Cube]) -> tuple[Cube, ...]:
    """Sort cubes by their first variable, then their second, …, true before false."""
    return tuple(
        sorted(cubes, key=lambda cube: [(v, cube[1] >> v & 1) for v in _bits(cube[0] | cube[1])])
    )


# -- the cheapest choice of columns


@dataclass(frozen=True)
class Choice:
    """Columns that cover all rows."""

    columns: tuple[int, ...]
    #: Whether it is proved that no choice has fewer columns, and none as many at a smaller cost.
    exact: bool
    #: No choice has fewer columns than this.
    least: int


def cheapest_columns(rows: Iterable[int], costs: Sequence[int]) -> Choice:
    """Return the fewest columns that cover every row; among those choices one of the least cost.

    A row is the columns that cover it, as bits, and not 0.  Columns that alone cover a row are
    taken; the rest is an integer program, which HiGHS solves by branch and bound.  If the search
    ends before a proof, the better of what it found and of a greedy choice is given.

    >>> cheapest_columns([0b011, 0b110, 0b101], [2, 1, 1])
    Choice(columns=(1, 2), exact=True, least=2)
    """
    needed = set(rows)
    taken = reduce(or_, (row for row in needed if row & (row - 1) == 0), 0)
    left = sorted(row for row in needed if not row & taken)
    chosen = list(_bits(taken))
    if not left:
        return Choice(tuple(chosen), True, len(chosen))
    rest = _searched(left, costs)
    columns = tuple(sorted([*chosen, *rest.columns]))
    return Choice(columns, rest.exact, len(chosen) + rest.least)


def _searched(rows: list[int], costs: Sequence[int]) -> Choice:
    columns = list(_bits(reduce(or_, rows)))
    greedy = _greedy(rows, columns, costs)
    least = _disjoint(rows)
    if len(rows) * len(columns) > MAX_SEARCHED_ENTRIES:
        return Choice(tuple(greedy), False, least)
    from scipy.optimize import Bounds, LinearConstraint, milp

    # one column more is worse than any cost of a choice that is as good as the greedy one
    step = 1 + len(greedy) * max(costs[column] for column in columns)
    matrix = np.array([[row >> column & 1 for column in columns] for row in rows], dtype=float)
    solved = milp(
        np.array([step + costs[column] for column in columns], dtype=float),
        integrality=np.ones(len(columns), dtype=np.int8),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=1),
        options={"node_limit": MAX_SEARCH // matrix.size, "mip_rel_gap": 0},
    )
    best = greedy
    if solved.x is not None:
        found = [column for column, x in zip(columns, solved.x, strict=True) if x > 0.5]
        chosen = sum(1 << column for column in found)
        if all(row & chosen for row in rows):
            best = min(greedy, found, key=lambda some: (len(some), sum(costs[c] for c in some)))
    if solved.status == 0:
        return Choice(tuple(best), True, len(best))
    if solved.mip_dual_bound is not None and math.isfinite(solved.mip_dual_bound):
        least = max(least, math.ceil((solved.mip_dual_bound - step + 1) / step - 1e-6))
    return Choice(tuple(best), False, least)


def _greedy(rows: list[int], columns: list[int], costs: Sequence[int]) -> list[int]:
    """Return columns that cover all rows: always the one that covers most; without idle ones."""
    covers = {c: {k for k, row in enumerate(rows) if row >> c & 1} for c in columns}
    left = set(range(len(rows)))
    chosen: list[int] = []
    while left:
        best = max(columns, key=lambda c: (len(covers[c] & left), -costs[c], -c))
        chosen.append(best)
        left -= covers[best]
    for column in list(chosen):
        others = [c for c in chosen if c != column]
        if set(range(len(rows))) <= set().union(*(covers[c] for c in others)):
            chosen = others
    return chosen


def _disjoint(rows: list[int]) -> int:
    """Return how many rows of which no two have a column in common were found: each needs one."""
    seen = found = 0
    for row in sorted(rows, key=int.bit_count):
        if not row & seen:
            seen |= row
            found += 1
    return found
