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

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from formulakern.errors import FormulaSizeError
from formulakern.program.builder import Builder
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
        """The cells of the feature space that are needed."""
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

    @cached_property
    def terms(self) -> list[_Term]:
        """The products, each a list of (cells that are added up, how many are chosen of them).

        Raises
        ------
        FormulaSizeError
            If there are more than ``MAX_TERMS``.
        """
        x, z = self._wanted(self.cell[0]), self._wanted(self.cell[1])
        d = self.choice.degree
        if self.cell[0] == "*" or self.cell[1] == "*":
            free = "*1" if self.cell[0] == "*" else "1*"
            return _one_row(z if self.cell[0] == "*" else x, free, d)
        terms: list[_Term] = []
        true_x, true_z = _true(x), _true(z)
        free_x, free_z = _free_from(x), _free_from(z)
        for i in range(d + 1):
            rest = d - i
            both = ((("11",), i),)
            if i >= free_x and i >= free_z:
                terms.append((*both, (("10", "0*"), rest)))
            elif i >= free_x:
                terms += [(*both, (("01",), k), (("*0",), rest - k)) for k in _beyond(true_z, i)]
            elif i >= free_z:
                terms += [(*both, (("10",), j), (("0*",), rest - j)) for j in _beyond(true_x, i)]
            else:
                in_z = _beyond(true_z, i)
                pairs = (
                    (j, k) for j in _beyond(true_x, i) for k in in_z[: bisect_right(in_z, rest - j)]
                )
                terms += [
                    (*both, (("10",), j), (("01",), k), (("00",), rest - j - k))
                    for j, k in islice(pairs, MAX_TERMS + 1)
                ]
            if len(terms) > MAX_TERMS:
                raise FormulaSizeError(
                    f"counting {self.choice.kind!r} with degree {d:,} needs more than "
                    f"{MAX_TERMS:,} terms. Choose fewer features; all[d] has no such limit."
                )
        return terms

    def _wanted(self, bit: str) -> list[bool]:
        """For 0 … d chosen features true in a row, whether the choice's value is as wanted."""
        least, most = self.choice.least, self.choice.most
        holds = [least <= count <= most for count in range(self.choice.degree + 1)]
        return [bit == "*" or value == (bit == "1") for value in holds]


def _true(wanted: list[bool]) -> list[int]:
    return [count for count, value in enumerate(wanted) if value]


def _free_from(wanted: list[bool]) -> int:
    """From how many on every number is wanted."""
    return max((count + 1 for count, value in enumerate(wanted) if not value), default=0)


def _beyond(counts: list[int], start: int) -> list[int]:
    """How far the counts from ``start`` on are beyond it; counts ascend."""
    return [count - start for count in counts[bisect_left(counts, start) :]]


def _one_row(wanted: list[bool], true: str, degree: int) -> list[_Term]:
    """Terms that read one row alone: of the features true in it t are chosen, d − t others."""
    false = true.replace("1", "0")
    if all(wanted):
        return [((("**",), degree),)]
    return [(((true,), count), ((false,), degree - count)) for count in _true(wanted)]
