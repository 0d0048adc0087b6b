"""Reduced ordered binary decision diagrams, and the smallest unions of conjunctions.

A diagram is the canonical form of a Boolean function.  Variables and nodes are integers.  The nodes
0 and 1 are the constants; every other node has a level (the variable that it tests) and two
successors.  Equal functions are equal integers (Bryant 1986, doi:10.1109/TC.1986.1676819).
Operations are iterative and count their steps, so a formula whose diagram is too large raises
FormulaSizeError in bounded time and memory.

A cube is a conjunction of literals, stored as two sets of bits: the true and the false variables.
An implicant of a function is a cube in which the function is true; it is prime if it needs all of
its literals.  The smallest union has the fewest cubes, and then the fewest literals.  It is chosen
from all prime implicants (Quine, doi:10.1080/00029890.1952.11988183; McCluskey,
doi:10.1002/j.1538-7305.1956.tb03835.x), for a growing set of points to cover.
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

#: The largest number of nodes in a manager.
MAX_DIAGRAM_NODES = 200_000
#: The largest number of pairs of nodes that a manager combines.
MAX_DIAGRAM_STEPS = 2_000_000

#: The last sentence of an error message about size.
ADVICE = "Repeat fewer names, or split the formula."
_END = 1 << 60  # the level of the constants: below every variable

T = TypeVar("T")


def join_balanced(parts: Iterable[T], join: Callable[[T, T], T]) -> T:
    """Join parts in pairs, as a balanced tree."""
    layer = list(parts)
    while len(layer) > 1:
        pairs = [join(*layer[i : i + 2]) for i in range(0, len(layer) - 1, 2)]
        layer = pairs + layer[len(pairs) * 2 :]
    return layer[0]


class Diagrams:
    """A manager of decision diagrams over the variables 0, 1, 2, … in this order.

    Connectives are truth tables for the arguments 11, 10, 01, 00.  Messages of FormulaSizeError end
    with ``advice``.
    """

    def __init__(self, advice: str = ADVICE) -> None:
        self.advice = advice
        self.level: list[int] = [_END, _END]
        self.low: list[int] = [0, 1]
        self.high: list[int] = [0, 1]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._memo: dict[tuple[str, int, int], int] = {}
        self._steps = 0
        #: A count of pairs of nodes, for callers.
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
        """Return the function of a single variable."""
        return self.node(level, 1, 0)

    def negation(self, function: int) -> int:
        """Return the negation of a function."""
        return self.apply("0110", function, 1)

    def both(self, functions: Sequence[int]) -> int:
        """Return the conjunction of functions."""
        return self.connect("1000", functions) if functions else 1

    def either(self, functions: Sequence[int]) -> int:
        """Return the disjunction of functions."""
        return self.connect("1110", functions) if functions else 0

    def connect(self, truth: str, functions: Sequence[int]) -> int:
        """Apply a connective to functions, joining chains as a balanced tree."""
        if len(truth) == 2:
            return self.negation(functions[0])
        return join_balanced(functions, lambda left, right: self.apply(truth, left, right))

    def apply(self, truth: str, left: int, right: int) -> int:
        """Return ``left ∘ right`` for a connective with two arguments."""
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
        """Return the function with variable ``level`` (at or above its own) set true, and false."""
        if self.level[function] == level:
            return self.high[function], self.low[function]
        return function, function

    def reachable(self, root: int) -> list[int]:
        """Return the inner nodes of a function, smaller levels first."""
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
        """Return the function rebuilt by ``make(level, high, low)``, from the leaves up."""
        made = {0: 0, 1: 1}
        for node in reversed(self.reachable(root)):
            made[node] = make(self.level[node], made[self.high[node]], made[self.low[node]])
        return made[root]

    def compact(self, root: int) -> tuple[int, list[int]]:
        """Return the function over its renumbered variables, and their old numbers."""
        support = sorted({self.level[node] for node in self.reachable(root)})
        new_level = {old: new for new, old in enumerate(support)}
        return self.rebuild(root, lambda level, *both: self.node(new_level[level], *both)), support

    def restrict(self, root: int, values: Mapping[int, bool]) -> int:
        """Return the function with some variables set to values."""
        return self._without(root, values, lambda level, *both: both[not values[level]])

    def quantified(self, root: int, levels: Collection[int], truth: str) -> int:
        """Return the function with variables quantified by "exists" ("1110") or "all" ("1000")."""
        return self._without(root, levels, lambda _, *both: self.apply(truth, *both))

    def _without(
        self, root: int, levels: Collection[int], make: Callable[[int, int, int], int]
    ) -> int:
        """Return the function with the tests of some variables replaced by ``make``."""
        self.spend(len(self.reachable(root)))
        return self.rebuild(root, lambda *node: (make if node[0] in levels else self.node)(*node))

    def spend(self, steps: int) -> None:
        """Count steps, and raise FormulaSizeError beyond ``MAX_DIAGRAM_STEPS`` in total."""
        self._steps += steps
        if self._steps > MAX_DIAGRAM_STEPS:
            self._refuse(f"needs more than {MAX_DIAGRAM_STEPS:,} steps")

    def _refuse(self, what: str) -> None:
        raise FormulaSizeError(f"the decision diagram of this formula {what}. {self.advice}")


def _settled(truth: str, f: int, g: int) -> int | None:
    """Return ``f ∘ g`` if it is a constant, f or g, else None."""
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
    """Return the number of assignments to the variables 0 … n−1 that make a function true."""
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

    One pass counts the paths to every node, another one the models below it.  A variable that a
    path skips is true in half of its models.
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

#: The true variables and the false variables, as bits.
Cube: TypeAlias = tuple[int, int]
#: Two functions: the one to cover, and the one to stay inside.
Interval: TypeAlias = tuple[int, int]

Key = TypeVar("Key", bound=Hashable)
#: A recursion as a generator: ``value = yield argument`` is a recursive call.
Recursion: TypeAlias = Callable[[Key], Generator[Key, T, T]]

#: The largest number of prime implicants for an exact choice.
MAX_PRIMES = 4_000
#: Up to the first number of missed points all are added, else about the second number of points.
MAX_POINTS, POINTS_PER_ROUND = 4_096, 256
#: The largest number of cubes in a cover.
MAX_CUBES = 10_000
#: The largest number of cubes for a lower bound without all prime implicants.
MAX_BOUND_CUBES = 200
#: The limit on nodes of branch and bound times entries of the matrix, and the limit on entries.
MAX_SEARCH = 2_000_000
MAX_SEARCHED_ENTRIES = 1_500_000


@dataclass(frozen=True)
class Smallest:
    """Cubes, in the order of their variables, whose union is between two functions."""

    cubes: tuple[Cube, ...]
    #: True if the numbers of cubes and, for this number, of literals are proved to be the least.
    exact: bool
    #: A proved lower bound on the number of cubes.
    least: int

    @property
    def n_literals(self) -> int:
        """The number of literals in all cubes."""
        return sum((true | false).bit_count() for true, false in self.cubes)


def smallest_cover(diagrams: Diagrams, lower: int, upper: int) -> Smallest:
    """Return the fewest cubes inside ``upper`` that cover ``lower``, with the fewest literals.

    Raise FormulaSizeError for more than ``MAX_CUBES`` cubes.
    """
    cover = irredundant_cover(diagrams, lower, upper)
    if cover.n_cubes > MAX_CUBES:
        raise FormulaSizeError(
            f"the form of this formula has {cover.n_cubes:,} terms; the limit is "
            f"{MAX_CUBES:,}. {diagrams.advice}"
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
        return Smallest(found.cubes, False, _points_apart(diagrams, found.cubes, lower, upper))
    except FormulaSizeError:
        return Smallest(found.cubes, False, 1)


def _chosen(
    d: Diagrams, lower: int, upper: int, primes: Sequence[Cube], cubes: Sequence[Cube]
) -> Smallest:
    """Return the fewest prime implicants that cover a function; ``cubes`` are a known cover."""
    costs = [(true | false).bit_count() for true, false in primes]
    votes: Counter[int] = Counter()
    for true, false in primes:
        votes.update(_bits(true))
        votes.subtract(_bits(false))
    # a point with the rarer value of each variable is in few prime implicants
    rare = sum(1 << level for level, vote in votes.items() if vote < 0)
    n = 1 + max([*votes, *(d.level[node] for node in d.reachable(lower))], default=0)
    integers = np.int64 if n < 63 else object
    masks = np.array(primes, dtype=integers)
    random = Random(0)
    rows: set[int] = set()
    wanted = [true | rare & ~false for true, false in cubes]
    chosen, left = ColumnSelection((), True, 0), lower
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
        flips = (random.getrandbits(n) & random.getrandbits(n) for _ in range(POINTS_PER_ROUND))
        wanted = [rare, *(rare ^ some for some in flips)]
    rest = irredundant_cover(d, left, upper)  # empty if the choice is exact
    union = ordered_cubes([*(primes[column] for column in chosen.columns), *rest])
    return Smallest(union, chosen.exact, max(chosen.least, 1))


def _model(d: Diagrams, function: int, wanted: int) -> int:
    """Return a model, as the bits of its true variables, with the wanted values if possible."""
    point = wanted
    while function > 1:
        true = bool(wanted >> d.level[function] & 1)
        branches = d.low[function], d.high[function]
        if not branches[true]:
            point ^= 1 << d.level[function]
        function = branches[true] or branches[not true]
    return point


def _points_apart(d: Diagrams, cubes: Sequence[Cube], lower: int, upper: int) -> int:
    """Return a lower bound: the number of points found such that no cube contains two of them."""
    if len(cubes) > MAX_BOUND_CUBES:
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
    """Return the value of a recursion by an explicit stack, computing each argument once."""
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
    """Cubes whose union is a function; their number is available before they are listed."""

    function: int
    n_cubes: int
    level: int = 0
    #: The cubes with the variable true, with it false, and without it.
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
    """Return an irredundant cover of ``lower`` by cubes inside ``upper``.

    The recursion of Minato & Morreale: cubes with the first variable true, cubes with it false, and
    cubes without it for the rest.  S. Minato (1996), Binary Decision Diagrams and Applications for
    VLSI CAD, doi:10.1007/978-1-4613-1303-8.
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
    """Return all prime implicants of a function, or None if there are more than ``limit``.

    Without the first variable they are the prime implicants of f₁ ∧ f₀; with it true they are the
    other prime implicants of f₁, and with it false of f₀.  O. Coudert & J. C. Madre (1992),
    doi:10.1109/DAC.1992.227866.
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
    """Return cubes sorted by their first variable, then their second, …, true before false."""
    return tuple(
        sorted(cubes, key=lambda cube: [(v, cube[1] >> v & 1) for v in _bits(cube[0] | cube[1])])
    )


# -- the cheapest choice of columns


@dataclass(frozen=True)
class ColumnSelection:
    """Columns that cover all rows."""

    columns: tuple[int, ...]
    #: True if the number of columns and, for this number, the cost are proved to be the least.
    exact: bool
    #: A proved lower bound on the number of columns.
    least: int


def cheapest_columns(
    rows: Iterable[int], costs: Sequence[int], most: int
) -> ColumnSelection | None:
    """Return the fewest columns that cover every row, and of such choices one of the least cost.

    A row is the set of columns that cover it, as bits, and not 0; ``most`` columns are enough.
    Return None if the problem is too large or the search of HiGHS finds nothing.
    """
    needed = set(rows)
    taken = reduce(or_, (row for row in needed if row & (row - 1) == 0), 0)
    left = sorted(row for row in needed if not row & taken)
    alone = tuple(_bits(taken))
    if not left:
        return ColumnSelection(alone, True, len(alone))
    columns = list(_bits(reduce(or_, left)))
    if len(left) * len(columns) > MAX_SEARCHED_ENTRIES:
        return None
    from scipy.optimize import Bounds, LinearConstraint, milp

    # one more column is worse than any difference in cost
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
        return ColumnSelection(found, True, len(found))
    bound = solved.mip_dual_bound if math.isfinite(solved.mip_dual_bound or math.nan) else 1.0
    return ColumnSelection(found, False, len(alone) + math.ceil((bound - step + 1) / step - 1e-6))
