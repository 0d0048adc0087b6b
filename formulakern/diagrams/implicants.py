"""Implicants of a function: an irredundant cover by some of them, and all that are prime.

A cube is a conjunction of literals, held as two sets of bits: the variables that are true, and
those that are false.  An implicant of a function is a cube in which it is true everywhere; it is
prime if no literal of it can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from formulakern.diagrams.manager import Diagrams

__all__ = [
    "Cover",
    "Cube",
    "cube_function",
    "irredundant_cover",
    "ordered_cubes",
    "prime_implicants",
]

#: The variables that are true, and those that are false, as bits.
Cube: TypeAlias = tuple[int, int]
#: Two functions: what must be covered, and what may be.
Interval: TypeAlias = tuple[int, int]

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
#: A recursion that says ``value = yield argument`` where it calls itself.
Recursion: TypeAlias = Callable[[Key], Generator[Key, T, T]]


def _called(recursion: Recursion[Key, T], root: Key, known: dict[Key, T]) -> T:
    """The value of a recursion, each argument once, on a stack of our own."""
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
class _Branch:
    """A cover: cubes with a variable true, with it false, and without it."""

    function: int
    n_cubes: int
    level: int = 0
    parts: tuple[_Branch, ...] = ()


@dataclass(frozen=True)
class Cover:
    """Cubes whose union is a function; how many there are is known before they are listed.

    Parameters
    ----------
    n_cubes : int
    function : int
        The diagram of their union.
    """

    n_cubes: int
    function: int
    _root: _Branch

    def __iter__(self) -> Iterator[Cube]:
        pending = [(self._root, 0, 0)]
        while pending:
            branch, true, false = pending.pop()
            if branch.parts:
                with_it, without_it, either = branch.parts
                bit = 1 << branch.level
                pending.append((either, true, false))
                pending.append((without_it, true, false | bit))
                pending.append((with_it, true | bit, false))
            elif branch.function:
                yield true, false


def irredundant_cover(diagrams: Diagrams, lower: int, upper: int) -> Cover:
    """Cubes inside ``upper`` that cover ``lower``, of which none can be left out.

    Parameters
    ----------
    diagrams : Diagrams
    lower, upper : int
        ``lower`` implies ``upper``; between them the function is free.

    Raises
    ------
    FormulaSizeError
        If a diagram passes the limits of the manager.

    Notes
    -----
    The recursion of Minato & Morreale: cubes with the first variable true, cubes with it false, and
    then cubes without it for what those leave.  S. Minato (1996), Binary Decision Diagrams and
    Applications for VLSI CAD, doi:10.1007/978-1-4613-1303-8.

    Examples
    --------
    >>> d = Diagrams()
    >>> xor = d.apply("0110", d.variable(0), d.variable(1))
    >>> list(irredundant_cover(d, xor, xor))
    [(1, 2), (2, 1)]
    """
    d = diagrams

    def without(f: int, g: int) -> int:
        return d.apply("0100", f, g)

    def cover(interval: Interval) -> Generator[Interval, _Branch, _Branch]:
        least, most = interval
        if not least:
            return _Branch(0, 0)
        if most == 1:
            return _Branch(1, 1)
        level = min(d.level[least], d.level[most])
        least_1, least_0 = d.cofactors(least, level)
        most_1, most_0 = d.cofactors(most, level)
        with_it = yield without(least_1, most_0), most_1
        without_it = yield without(least_0, most_1), most_0
        left = d.either([without(least_1, with_it.function), without(least_0, without_it.function)])
        either = yield left, d.both([most_1, most_0])
        branches = with_it, without_it, either
        function = d.either([either.function, d.node(level, with_it.function, without_it.function)])
        return _Branch(function, sum(branch.n_cubes for branch in branches), level, branches)

    root = _called(cover, (lower, upper), {})
    return Cover(root.n_cubes, root.function, root)


def prime_implicants(diagrams: Diagrams, function: int, limit: int) -> frozenset[Cube] | None:
    """All prime implicants of a function; None if there are more than ``limit``.

    Raises
    ------
    FormulaSizeError
        If a diagram passes the limits of the manager.

    Notes
    -----
    Those without the first variable are the prime implicants of f₁ ∧ f₀; those with it true are
    the ones of f₁ that are not among them, and likewise for false.  O. Coudert & J. C. Madre
    (1992), doi:10.1109/DAC.1992.227866.

    Examples
    --------
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
    """The diagram of a cube, built from its last literal to its first."""
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
    """By their first variable, then their second, …, a true one before a false one."""
    return tuple(
        sorted(cubes, key=lambda cube: [(v, cube[1] >> v & 1) for v in _bits(cube[0] | cube[1])])
    )
