"""Reduced ordered binary decision diagrams, and the smallest unions of conjunctions.

A diagram is the canonical form of a Boolean function.  Variables are integers, and so are nodes: 0
and 1 are the constants, the others have a level (the variable that they test) and two successors.
Equal functions are equal integers (Bryant 1986, doi:10.1109/TC.1986.1676819).  Every operation is
iterative and counts its steps, so that a formula whose diagram explodes is refused in bounded time
and memory.

A cube is a conjunction of literals, held as two sets of bits: the variables that are true, and
those that are false.  An implicant of a function is a cube in which it is true everywhere; it is
prime if no literal of it can be left out.  The smallest union has the fewest cubes, and then the
fewest literals.  All prime implicants are found, and the fewest that cover the function are chosen
(Quine, doi:10.1080/00029890.1952.11988183; McCluskey, doi:10.1002/j.1538-7305.1956.tb03835.x): the
fewest that cover some points of it, then some points that these miss, until they miss none.  If
that is too large, the result is an irredundant cover by prime implicants with a proved lower bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from random import Random
from typing import Any, TypeAlias, TypeVar

import numpy as np

from formulakern.errors import FormulaSizeError

#: A manager that has built more nodes than this refuses to go on.
MAX_DIAGRAM_NODES = 200_000
#: … and so does one that has combined more pairs of nodes than this.
MAX_DIAGRAM_STEPS = 2_000_000

#: The last sentence of the message of a refusal.
ADVICE = "Repeat fewer names, or split the formula."
_END = 1 << 60  # the level of the constants: below every variable

T = TypeVar("T")


def joined(parts: Iterable[T], join: Callable[[T, T], T]) -> T:
    """Join parts in pairs, as a balanced tree: what grows with its depth stays small."""
    layer = list(parts)
    while len(layer) > 1:
        pairs = [join(*layer[i : i + 2]) for i in range(0, len(layer) - 1, 2)]
        layer = pairs + layer[len(pairs) * 2 :]
    return layer[0]


class Diagrams:
    """A manager of decision diagrams over the variables 0, 1, 2, … in this order.

    Connectives are given by their truth tables, for the arguments 11, 10, 01, 00; the message of a
    refusal ends with ``advice``.
    """

    def __init__(self, advice: str = ADVICE) -> None:
        self.advice = advice
        self.level: list[int] = [_END, _END]
        self.low: list[int] = [0, 1]
        self.high: list[int] = [0, 1]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._memo: dict[tuple[str, int, int], int] = {}
        self._steps = 0
        #: Pairs of nodes that were counted on, kept for whoever counts.
        self.pairs = 0

    def node(self, level: int, high: int, low: int) -> int:
        """Return the function "if variable ``level`` then ``high`` else ``low``"."""
        if high == low:
            return high
        key = (level, high, low)
        found = self._unique.get(key)
        if found is None:
            if len(self.level) >= MAX_DIAGRAM_NODES:
                self._refuse(f"has more than {MAX_DIAGRAM_NODES:,} nodes")
            found = self._unique[key] = len(self.level)
            self.level.append(level)
            self.high.append(high)
            self.low.append(low)
        return found

    def variable(self, level: int) -> int:
        """Return the function that is the variable itself."""
        return self.node(level, 1, 0)

    def negation(self, function: int) -> int:
        """Return the function that is true where ``function`` is false."""
        return self.apply("0110", function, 1)

    def both(self, functions: Sequence[int]) -> int:
        """Return the function that is true where all of some are."""
        return self.connect("1000", functions) if functions else 1

    def either(self, functions: Sequence[int]) -> int:
        """Return the function that is true where one of some is."""
        return self.connect("1110", functions) if functions else 0

    def connect(self, truth: str, functions: Sequence[int]) -> int:
        """Apply a connective to functions; chains of many are joined as a balanced tree."""
        if len(truth) == 2:
            return self.negation(functions[0])
        return joined(functions, lambda left, right: self.apply(truth, left, right))

    def apply(self, truth: str, left: int, right: int) -> int:
        """Return ``left ∘ right`` for any connective with two arguments."""
        memo, level, high, low = self._memo, self.level, self.high, self.low
        root = (truth, left, right)
        found = memo.get(root)
        if found is not None:
            return found
        pending = [root]
        while pending:
            key = pending[-1]
            if key in memo:
                pending.pop()
                continue
            _, f, g = key
            known = _settled(truth, f, g)
            if known is not None:
                memo[key] = known
                pending.pop()
                continue
            top = min(level[f], level[g])
            f1, f0 = (high[f], low[f]) if level[f] == top else (f, f)
            g1, g0 = (high[g], low[g]) if level[g] == top else (g, g)
            one, zero = (truth, f1, g1), (truth, f0, g0)
            if one not in memo:
                pending.append(one)
            if zero not in memo:
                pending.append(zero)
            if pending[-1] is key:
                self.spend(1)
                memo[key] = self.node(top, memo[one], memo[zero])
                pending.pop()
        return memo[root]

    def cofactors(self, function: int, level: int) -> tuple[int, int]:
        """Return the function with variable ``level`` (not below its own) set true and false."""
        if self.level[function] == level:
            return self.high[function], self.low[function]
        return function, function

    def reachable(self, root: int) -> list[int]:
        """Return the inner nodes of one function, smaller levels first."""
        seen = {root}
        pending = [root]
        while pending:
            node = pending.pop()
            for successor in (self.high[node], self.low[node]):
                if successor > 1 and successor not in seen:
                    seen.add(successor)
                    pending.append(successor)
        return sorted((n for n in seen if n > 1), key=self.level.__getitem__)

    def rebuild(self, root: int, make: Callable[[int, int, int], int]) -> int:
        """Return the function made anew by ``make(level, high, low)``, from the leaves up."""
        made = {0: 0, 1: 1}
        for node in reversed(self.reachable(root)):
            made[node] = make(self.level[node], made[self.high[node]], made[self.low[node]])
        return made[root]

    def compact(self, root: int) -> tuple[int, list[int]]:
        """Return the function over the variables it depends on, renumbered, and the old ones."""
        support = sorted({self.level[node] for node in self.reachable(root)})
        new_level = {old: new for new, old in enumerate(support)}
        return self.rebuild(root, lambda level, *both: self.node(new_level[level], *both)), support

    def restrict(self, root: int, values: Mapping[int, bool]) -> int:
        """Return the function with some variables set."""
        return self._without(root, values, lambda level, *both: both[not values[level]])

    def quantified(self, root: int, levels: Collection[int], truth: str) -> int:
        """Return the function for some ("1110") or all ("1000") values of some variables."""
        return self._without(root, levels, lambda _, *both: self.apply(truth, *both))

    def _without(
        self, root: int, levels: Collection[int], make: Callable[[int, int, int], int]
    ) -> int:
        """Return the function with other ones in place of the tests of some variables."""
        self.spend(len(self.reachable(root)))
        return self.rebuild(root, lambda *node: (make if node[0] in levels else self.node)(*node))

    def spend(self, steps: int) -> None:
        """Count work; refuse to go on if it passes ``MAX_DIAGRAM_STEPS`` in all."""
        self._steps += steps
        if self._steps > MAX_DIAGRAM_STEPS:
            self._refuse(f"needs more than {MAX_DIAGRAM_STEPS:,} steps")

    def _refuse(self, what: str) -> None:
        raise FormulaSizeError(f"the decision diagram of this formula {what}. {self.advice}")


def _settled(truth: str, f: int, g: int) -> int | None:
    """Return ``f ∘ g`` if it is a constant, f or g; otherwise None."""
    if f == g and f > 1:
        when_true, when_false, other = truth[0], truth[3], f
    elif g < 2:
        when_true, when_false, other = truth[1 - g], truth[3 - g], f
    elif f < 2:
        when_true, when_false, other = truth[2 - 2 * f], truth[3 - 2 * f], g
    else:
        return None
    if when_true == when_false:
        return int(when_true)
    if when_true == "1":
        return other
    return 1 - other if other < 2 else None


def count_models(diagrams: Diagrams, top: int, n: int) -> int:
    """Return the number of assignments to the variables 0 … n−1 in which a function is true."""
    below = _below(diagrams, diagrams.reachable(top), n)
    return below[top] << min(diagrams.level[top], n)


def _below(diagrams: Diagrams, nodes: Sequence[int], n: int) -> dict[int, int]:
    """Return the number of models of each node over the variables from its level on."""
    d = diagrams
    d.spend(len(nodes) + 1)
    below = {0: 0, 1: 1}
    for node in reversed(nodes):
        below[node] = sum(
            below[branch] << (min(d.level[branch], n) - d.level[node] - 1)
            for branch in (d.high[node], d.low[node])
        )
    return below


def models_with_each(diagrams: Diagrams, top: int, n: int) -> list[int]:
    """Return for each of the variables 0 … n−1 the number of models of ``top`` with it true.

    One pass down counts the ways to every node, one pass up the models below it; a variable that
    is skipped on the way is true in half of the models that skip it.
    """
    d = diagrams
    nodes = d.reachable(top)
    below = _below(d, nodes, n)
    ways = dict.fromkeys(nodes, 0)
    ways[top] = 1 << min(d.level[top], n)
    models = below[top] << min(d.level[top], n)
    through, true = [0] * n, [0] * n
    for node in nodes:
        for branch, holds in ((d.high[node], True), (d.low[node], False)):
            paths = ways[node] << (min(d.level[branch], n) - d.level[node] - 1)
            if branch > 1:
                ways[branch] += paths
            through[d.level[node]] += paths * below[branch]
            if holds:
                true[d.level[node]] += paths * below[branch]
    return [true[i] + (models - through[i]) // 2 for i in range(n)]


def models(diagrams: Diagrams, top: int, n: int) -> Iterator[tuple[bool, ...]]:
    """Yield the assignments to the variables 0 … n−1 that make a function true, true first."""
    d = diagrams
    trail: list[bool] = []
    pending = [(top, 0, True)] if top else []
    while pending:
        node, depth, value = pending.pop()
        if depth:
            trail[depth - 1 :] = [value]
        if depth == n:
            yield tuple(trail)
            continue
        when_true, when_false = d.cofactors(node, depth)
        if when_false:
            pending.append((when_false, depth + 1, False))
        if when_true:
            pending.append((when_true, depth + 1, True))


# -- unions of cubes

#: The variables that are true, and those that are false, as bits.
Cube: TypeAlias = tuple[int, int]
#: Two functions: what must be covered, and what may be.
Interval: TypeAlias = tuple[int, int]

Key = TypeVar("Key", bound=Hashable)
#: A recursion that says ``value = yield argument`` where it calls itself.
Recursion: TypeAlias = Callable[[Key], Generator[Key, T, T]]

#: The choice is exact for at most so many prime implicants.
MAX_PRIMES = 4_000
#: All points that are missed are added if they are at most so many; else about so many of them.
MAX_POINTS, FEW_POINTS = 4_096, 256
#: A cover by more cubes than this is refused.
MAX_CUBES = 10_000
#: A lower bound is sought for at most so many cubes if there are more prime implicants.
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
        return sum((true | false).bit_count() for true, false in self.cubes)


def smallest_cover(diagrams: Diagrams, lower: int, upper: int) -> Smallest:
    """Return the fewest cubes inside ``upper`` that cover ``lower``, with the fewest literals.

    More than ``MAX_CUBES`` cubes are refused.
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
        primes = prime_implicants(diagrams, upper, MAX_PRIMES)
        if primes is not None:
            exact = _chosen(diagrams, lower, upper, ordered_cubes(primes), found.cubes)
            best = min(exact, found, key=lambda some: (len(some.cubes), some.n_literals))
            return Smallest(best.cubes, exact.exact, exact.least)
        return Smallest(found.cubes, False, _apart(diagrams, found.cubes, lower, upper))
    except FormulaSizeError:
        return Smallest(found.cubes, False, 1)


def _chosen(
    d: Diagrams, lower: int, upper: int, primes: Sequence[Cube], cubes: Sequence[Cube]
) -> Smallest:
    """Return the fewest prime implicants that cover a function, as some cubes do."""
    costs = [(true | false).bit_count() for true, false in primes]
    votes: Counter[int] = Counter()
    for true, false in primes:
        votes.update(_bits(true))
        votes.subtract(_bits(false))
    # with the values that fewer primes ask for, a point is in few of them
    rare = sum(1 << level for level, vote in votes.items() if vote < 0)
    n = 1 + max([*votes, *(d.level[node] for node in d.reachable(lower))], default=0)
    integers = np.int64 if n < 63 else object
    masks = np.array(primes, dtype=integers)
    random = Random(0)
    rows: set[int] = set()
    wanted = [true | rare & ~false for true, false in cubes]
    chosen, left = Choice((), True, 0), lower
    while left and chosen.exact:
        if count_models(d, left, n) <= MAX_POINTS:
            found = [sum(value << k for k, value in enumerate(m)) for m in models(d, left, n)]
        else:
            found = [_model(d, left, point) for point in wanted]
        points = np.array(found, dtype=integers)[:, None]
        covers = (points & masks[:, 0] == masks[:, 0]) & (points & masks[:, 1] == 0)
        packed = np.packbits(covers.astype(bool), axis=1, bitorder="little")
        rows.update(int.from_bytes(row.tobytes(), "little") for row in packed)
        chosen = cheapest_columns(rows, costs, len(cubes)) or replace(chosen, exact=False)
        functions = [cube_function(d, primes[column]) for column in chosen.columns]
        left = d.apply("0100", lower, d.either(functions))
        flips = (random.getrandbits(n) & random.getrandbits(n) for _ in range(FEW_POINTS))
        wanted = [rare, *(rare ^ some for some in flips)]
    rest = irredundant_cover(d, left, upper)  # nothing is left if the choice is exact
    union = ordered_cubes([*(primes[column] for column in chosen.columns), *rest])
    return Smallest(union, chosen.exact, max(chosen.least, 1))


def _model(d: Diagrams, function: int, wanted: int) -> int:
    """Return a model, as the bits of its true variables, with the wanted values where it can."""
    point = wanted
    while function > 1:
        true = bool(wanted >> d.level[function] & 1)
        branches = d.low[function], d.high[function]
        if not branches[true]:
            point ^= 1 << d.level[function]
        function = branches[true] or branches[not true]
    return point


def _apart(d: Diagrams, cubes: Sequence[Cube], lower: int, upper: int) -> int:
    """Return a lower bound: the number of points found of which no cube inside has two."""
    if len(cubes) > MAX_APART:
        return 1
    functions = [cube_function(d, cube) for cube in cubes]
    levels = {d.level[node] for node in d.reachable(upper)}
    points: list[int] = []
    for k, function in enumerate(functions):
        others = d.either(functions[:k] + functions[k + 1 :])
        alone = d.apply("0100", d.both([function, lower]), others)
        if alone:
            point = _model(d, alone, 0)
            shared = (
                {v: bool(point >> v & 1) for v in levels if not (point ^ other) >> v & 1}
                for other in points
            )
            if all(d.restrict(upper, values) != 1 for values in shared):
                points.append(point)
    return max(1, len(points))


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


def cheapest_columns(rows: Iterable[int], costs: Sequence[int], most: int) -> Choice | None:
    """Return the fewest columns that cover every row; among those choices one of the least cost.

    A row is the columns that cover it, as bits, and not 0; ``most`` columns are known to suffice.
    Columns that alone cover a row are taken; the rest is an integer program, which HiGHS solves by
    branch and bound.  The result is None if it is too large, or the search ends with nothing.
    """
    needed = set(rows)
    taken = reduce(or_, (row for row in needed if row & (row - 1) == 0), 0)
    left = sorted(row for row in needed if not row & taken)
    alone = tuple(_bits(taken))
    if not left:
        return Choice(alone, True, len(alone))
    columns = list(_bits(reduce(or_, left)))
    if len(left) * len(columns) > MAX_SEARCHED_ENTRIES:
        return None
    from scipy.optimize import Bounds, LinearConstraint, milp

    # one column more is worse than any cost of a choice of as many
    step = 1 + most * max(costs[column] for column in columns)
    matrix = np.array([[row >> column & 1 for column in columns] for row in left], dtype=float)
    solved = milp(
        np.array([step + costs[column] for column in columns], dtype=float),
        integrality=np.ones(len(columns), dtype=np.int8),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=1),
        options={"node_limit": MAX_SEARCH // matrix.size, "mip_rel_gap": 0},
    )
    if solved.x is None or (matrix @ np.rint(solved.x) < 1).any():
        return None
    found = tuple(sorted([*alone, *(columns[k] for k in np.flatnonzero(solved.x > 0.5))]))
    if solved.status == 0:
        return Choice(found, True, len(found))
    bound = solved.mip_dual_bound if math.isfinite(solved.mip_dual_bound or math.nan) else 1.0
    return Choice(found, False, len(alone) + math.ceil((bound - step + 1) / step - 1e-6))
