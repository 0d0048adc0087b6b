"""Joint counts of choices of d different features, from those of the feature space.

Let F11, F10, F01, F00 be the numbers of features that are true in both rows, in x alone, in z
alone, in neither.  A choice of d features takes i, j, l, m of these, so that i + j of them are
true in x and i + l in z; there are C(F11, i)·C(F10, j)·C(F01, l)·C(F00, m) such choices.  Wherever
one row's number is free the inner sums fold, by Vandermonde's identity, into a binomial of a
marginal such as F0* = F01 + F00.  Every term is non-negative, so nothing cancels.

The closed forms with subtractions are those of Polato, Lauriola & Aiolli (2018),
doi:10.3390/e20060444.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice

from formulakern.errors import FormulaSizeError
from formulakern.program.program import Builder
from formulakern.syntax.choice import Choice

__all__ = ["MAX_TERMS", "ChoiceTerms"]

#: A choice that needs more terms than this for one count is refused.
MAX_TERMS = 20_000

#: A product of binomials: (cells of the feature space, summed; how many features of them).
_Term = tuple[tuple[tuple[str, ...], int], ...]


@dataclass(frozen=True)
class ChoiceTerms:
    """One cell of a choice as a sum of products of binomials of cells of the feature space.

    Parameters
    ----------
    choice : Choice
    cell : str
        One of the nine cells.
    """

    choice: Choice
    cell: str

    def reads(self) -> Iterator[str]:
        """Yield the cells of the feature space that are needed."""
        seen = {"**": None}  # the check of the degree reads it
        for term in self.terms:
            for cells, _ in term:
                seen.update(dict.fromkeys(cells))
        yield from seen

    def emit(self, builder: Builder, counts: Mapping[str, int]) -> int:
        """Emit the arithmetic; ``counts`` holds the position of every cell that is read."""
        builder.choose(counts["**"], self.choice.degree)
        return builder.sum(
            builder.product(
                builder.binomial(builder.sum(counts[cell] for cell in cells), lower)
                for cells, lower in term
            )
            for term in self.terms
        )

    @property
    def terms(self) -> tuple[_Term, ...]:
        """The products, each a list of (cells that are added up, how many are chosen of them).

        Raises
        ------
        FormulaSizeError
            If there are more than ``MAX_TERMS``.
        """
        choice = self.choice
        terms = _terms(choice.degree, choice.least, choice.most, self.cell)
        if len(terms) > MAX_TERMS:
            raise FormulaSizeError(
                f"counting {choice.kind!r} with degree {choice.degree:,} needs more than "
                f"{MAX_TERMS:,} terms. Choose fewer features; all[d] that stands alone has no such "
                "limit."
            )
        return terms


@lru_cache(maxsize=32)
def _terms(degree: int, least: int, most: int, cell: str) -> tuple[_Term, ...]:
    """Return the terms of a cell, for ``least`` to ``most`` of ``degree``; at most one too many."""
    return tuple(islice(_each(degree, least, most, cell), MAX_TERMS + 1))


def _each(d: int, least: int, most: int, cell: str) -> Iterator[_Term]:
    wanted = {
        "1": [range(least, most + 1)],
        "0": [part for part in (range(least), range(most + 1, d + 1)) if part],
        "*": [range(d + 1)],
    }
    if (least, most) == (0, d):  # always true
        cell = cell.replace("1", "*")
    x, z = wanted[cell[0]], wanted[cell[1]]
    if not x or not z:
        return
    if "*" in cell:
        yield from _one_row(z if cell[0] == "*" else x, "*1" if cell[0] == "*" else "1*", d)
        return
    free_x, free_z = _free_from(x, d), _free_from(z, d)
    for i in range(max(x[0][0] + z[0][0] - d, 0), d + 1):
        rest = d - i
        both = ((("11",), i),)
        if i >= free_x and i >= free_z:
            yield (*both, (("10", "0*"), rest))
        elif i >= free_x:
            for k in chain(*_beyond(z, i)):
                yield (*both, (("01",), k), (("*0",), rest - k))
        elif i >= free_z:
            for j in chain(*_beyond(x, i)):
                yield (*both, (("10",), j), (("0*",), rest - j))
        else:
            in_z = _beyond(z, i)
            for j in chain(*_beyond(x, i)):
                if not in_z or j + in_z[0][0] > rest:
                    break
                for k in chain(*in_z):
                    if j + k > rest:
                        break
                    yield (*both, (("10",), j), (("01",), k), (("00",), rest - j - k))


def _free_from(wanted: list[range], degree: int) -> int:
    """Return the least number from which on every number up to the degree is wanted."""
    return wanted[-1][0] if wanted[-1][-1] == degree else degree + 1


def _beyond(wanted: list[range], start: int) -> list[range]:
    """Return the numbers from ``start`` on, less ``start``."""
    beyond = (range(max(part[0] - start, 0), part[-1] + 1 - start) for part in wanted)
    return [part for part in beyond if part]


def _one_row(wanted: list[range], true: str, degree: int) -> Iterator[_Term]:
    """Yield terms for one row: t of the features that are true in it, and d − t others."""
    if wanted == [range(degree + 1)]:
        yield ((("**",), degree),)
        return
    false = true.replace("1", "0")
    for count in chain(*wanted):
        yield (((true,), count), ((false,), degree - count))
