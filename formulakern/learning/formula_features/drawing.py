"""Substitutions that are true in a row, drawn uniformly.

Which truth values the variables of a formula take decides whether it is true.  So in a row with p
ones and n − p zeros a true substitution is drawn in two steps: its truth values, with chances in
proportion to the number of substitutions that have them (p^a·(n − p)^b for a true and b false
variables, falling factorials where they hold different columns), and then for each variable one
of the columns that have its truth value.  A choice of d different features of a formula is drawn
in the same way: how many of them are true, and then each of them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.learning.formula_features.evaluation import count_ones, rows_of_bits
from formulakern.learning.formula_features.lengths import row_classes
from formulakern.learning.formula_features.spaces import Space
from formulakern.mining.templates.expansion import atoms_of, depends, truth_table
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Formula, Variable

__all__ = ["TrueSubstitutions"]

#: Symmetries of a formula inside a choice are tried among all permutations of so many variables.
MAX_PERMUTED = 6
#: Entries of tables that are unpacked together.
CHUNK = 1 << 22
#: So often is a feature drawn again that a choice holds already.
MAX_REDRAWN = 10_000

Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TrueSubstitutions:
    """Uniform draws from the substitutions of a formula that are true in a row.

    Parameters
    ----------
    space : Space

    Raises
    ------
    ParameterError
        If the draws cannot be told apart (see :meth:`_Part.names`).
    """

    space: Space
    _part: _Part = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_part", _Part.of(self.space.formula, self.space, inside=False))

    def counts(self, table: PackedTable) -> FloatArray:
        """How many substitutions are true in every row: K(x, x).

        Parameters
        ----------
        table : PackedTable of m rows

        Returns
        -------
        ndarray of shape (m,), float64
        """
        counts = [count_ones(table, columns) for columns in self._part.ranges]
        first, kind = row_classes(counts, table.n_rows)
        ones = np.array([number[first] for number in counts], dtype=np.int64)
        true, false = self._part.counts(ones.reshape(len(counts), len(first)).T)
        share = np.divide(true, true + false, out=np.zeros_like(true), where=true > 0)
        return float(self.space.size) * share[kind]

    def draw(
        self, table: PackedTable, rows: NDArray[np.intp], generator: np.random.Generator
    ) -> IntArray:
        """One true substitution for each of some rows.

        Parameters
        ----------
        table : PackedTable of m rows of n columns
        rows : ndarray of shape (r,), intp
            Positions, with repetition, of rows in which one is true.
        generator : numpy.random.Generator

        Returns
        -------
        ndarray of shape (r, slots), int64
            The column in every slot of ``space.expansion``.

        Notes
        -----
        O(r·n) memory in parts, and O(2^v) time for v variables.
        """
        height = max(1, CHUNK // max(1, table.n_columns))
        drawn = []
        for start in range(0, len(rows), height):
            bits = rows_of_bits(table, rows[start : start + height])
            domains = [(np.array(r), bits[:, list(r)]) for r in self._part.ranges]
            ones = np.array([part.sum(axis=1) for _, part in domains], dtype=np.int64)
            draws = _Draws(bits, domains, ones.reshape(len(domains), len(bits)).T, generator)
            every = np.arange(len(bits))
            drawn.append(self._part.draw(draws, every, np.ones(len(bits), dtype=np.bool_)))
        return np.concatenate(drawn)


@dataclass(frozen=True, eq=False)
class _Draws:
    """Rows that are drawn for: their bits, by range, and how many are ones."""

    bits: Truths
    domains: list[tuple[IntArray, Truths]]
    ones: IntArray
    generator: np.random.Generator


@dataclass(frozen=True, eq=False)
class _Part:
    """A formula, or one that a choice holds, over variables and choices.

    Parameters
    ----------
    variables : list of (place, range)
        Places among the atoms, and which of ``ranges`` each variable has.
    choices : list of (place, Choice, _Part)
    table : ndarray of shape (2, …, 2), bool
        The truth table over all atoms that are substituted.
    symmetries : list of tuple
        Permutations of the atoms that give the same feature.
    """

    n_atoms: int
    variables: list[tuple[int, int]]
    choices: list[tuple[int, Choice, _Part]]
    table: Truths
    distinct: bool
    ranges: list[tuple[int, ...]]
    symmetries: list[tuple[int, ...]]

    @classmethod
    def of(cls, formula: Formula, space: Space, inside: bool, ranges: Any = None) -> _Part:
        """The part of a space that a formula is."""
        ranges = [] if ranges is None else ranges
        atoms = atoms_of(formula)
        table = truth_table(formula, {atom: i for i, atom in enumerate(atoms)})
        needed = [i for i in range(len(atoms)) if space.every_variable or depends(table, i)]
        table = table[tuple(slice(None) if i in needed else 0 for i in range(len(atoms)))]
        variables, choices = [], []
        for place, atom in enumerate(atoms[i] for i in needed):
            if isinstance(atom, Choice):
                choices.append((place, atom, cls.of(atom.formula, space, True, ranges)))
            elif isinstance(atom, Variable):
                columns = space.columns_of(atom)
                if columns not in ranges:
                    ranges.append(columns)
                variables.append((place, ranges.index(columns)))
        symmetries = [tuple(range(len(needed)))]
        if space.distinct and inside and not choices:
            symmetries = _symmetries(table, dict(variables), formula)
        return cls(len(needed), variables, choices, table, space.distinct, ranges, symmetries)

    # -- counting ----------------------------------------------------------------------------------

    def counts(self, ones: IntArray) -> tuple[FloatArray, FloatArray]:
        """The numbers of true and of false features for rows of so many ones in each range."""
        weights = self._weights(ones)
        wanted = self.table.reshape(-1)
        order = len(self.symmetries)
        return weights[:, wanted].sum(axis=1) / order, weights[:, ~wanted].sum(axis=1) / order

    def _weights(self, ones: IntArray) -> FloatArray:
        """The number of substitutions with each of the 2^atoms patterns of truth values."""
        weights = np.ones((len(ones), 1))
        used: dict[tuple[int, int], IntArray] = {}
        inner = {place: (choice, part) for place, choice, part in self.choices}
        ranges = dict(self.variables)
        for place in range(self.n_atoms):
            n_patterns = weights.shape[1]
            if place in inner:
                choice, part = inner[place]
                both = _chosen(choice, *part.counts(ones))
                pair = [both[1][:, None], both[0][:, None]]
            else:
                domain = ranges[place]
                true = ones[:, domain, None].astype(np.float64)
                false = len(self.ranges[domain]) - true
                pair = []
                for value, number in ((0, false), (1, true)):
                    taken = used.get((domain, value), np.zeros(n_patterns, np.int64))
                    pair.append(np.maximum(number - taken * self.distinct, 0.0))
            grown = np.stack([weights * factor for factor in pair], axis=2)
            weights = grown.reshape(len(ones), 2 * n_patterns)
            for key, taken in used.items():
                used[key] = np.repeat(taken, 2)
            if place not in inner:
                for value in (0, 1):
                    taken = used.get((domain, value), np.zeros(2 * n_patterns, np.int64))
                    used[domain, value] = taken + np.tile([1 - value, value], n_patterns)
        return weights

    # -- drawing -----------------------------------------------------------------------------------

    def draw(self, draws: _Draws, rows: NDArray[np.intp], wanted: Truths) -> IntArray:
        """Uniform features, true or false as wanted, for some of the rows."""
        truths = self._draw_truths(draws, rows, wanted)
        parts: dict[int, IntArray] = self._draw_columns(draws, rows, truths)
        for place, choice, part in self.choices:
            parts[place] = _draw_choice(choice, part, draws, rows, truths[:, place])
        empty = np.zeros((len(rows), 0), dtype=np.int64)
        return np.hstack([empty, *(parts[place] for place in range(self.n_atoms))])

    def _draw_truths(self, draws: _Draws, rows: NDArray[np.intp], wanted: Truths) -> Truths:
        keys = np.column_stack([draws.ones[rows], wanted])
        different, kind = np.unique(keys, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        chosen = np.zeros(len(rows), dtype=np.int64)
        table = self.table.reshape(-1)
        for k, key in enumerate(different):
            weights = self._weights(key[None, :-1])[0] * (table == bool(key[-1]))
            here = np.flatnonzero(kind == k)
            chosen[here] = _draw_places(weights, len(here), draws.generator)
        places = np.arange(self.n_atoms)[::-1]
        return (chosen[:, None] >> places & 1).astype(np.bool_)

    def _draw_columns(
        self, draws: _Draws, rows: NDArray[np.intp], truths: Truths
    ) -> dict[int, IntArray]:
        """A column of the right truth value for every variable."""
        generator, parts = draws.generator, {}
        for domain in sorted({domain for _, domain in self.variables}):
            columns, bits = draws.domains[domain]
            bits, ones = bits[rows], draws.ones[rows, domain]
            ordered = np.argsort(~bits, axis=1, kind="stable")  # the ones, then the zeros
            taken = np.zeros((len(rows), 0), dtype=np.int64)
            for place in (place for place, d in self.variables if d == domain):
                value = truths[:, place]
                start, size = np.where(value, 0, ones), np.where(value, ones, len(columns) - ones)
                inside = (taken >= start[:, None]) & (taken < (start + size)[:, None])
                left = size - inside.sum(axis=1)
                rank = start + (generator.random(len(rows)) * left).astype(np.int64)
                if self.distinct:  # step over those that are taken, in order
                    for k in range(taken.shape[1]):
                        rank += inside[:, k] & (taken[:, k] <= rank)
                    taken = np.sort(np.column_stack([taken, rank]), axis=1)
                found = np.take_along_axis(ordered, rank[:, None], axis=1)
                parts[place] = columns[found].astype(np.int64)
        return parts

    def names(self, drawn: IntArray) -> IntArray:
        """The same numbers for the same feature: the least of those that symmetries give."""
        named, start = drawn, 0
        widths = {place: 1 for place, _ in self.variables}
        widths |= {place: c.degree * part.width for place, c, part in self.choices}
        if self.choices:
            named = drawn.copy()
        for place in range(self.n_atoms):
            for at, choice, part in self.choices:
                if at == place:
                    stop = start + widths[place]
                    flat = part.names(drawn[:, start:stop].reshape(-1, part.width))
                    copies = flat.reshape(len(drawn), choice.degree, part.width)
                    named[:, start:stop] = _sorted_copies(copies).reshape(len(drawn), -1)
            start += widths[place]
        if len(self.symmetries) > 1:
            images = np.stack([drawn[:, list(g)] for g in self.symmetries], axis=1)
            named = _sorted_copies(images)[:, 0, :]
        return named

    @property
    def width(self) -> int:
        """The number of slots."""
        return len(self.variables) + sum(c.degree * part.width for _, c, part in self.choices)


def _chosen(choice: Choice, true: FloatArray, false: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many choices of d of so many true and false features are true, and are not."""
    numbers = _by_number(choice.degree, true, false)
    within = slice(choice.least, choice.most + 1)
    holds = numbers[:, within].sum(axis=1)
    rest = [numbers[:, : choice.least], numbers[:, choice.most + 1 :]]
    return holds, sum(part.sum(axis=1) for part in rest)


def _by_number(degree: int, true: FloatArray, false: FloatArray) -> FloatArray:
    """C(true, i)·C(false, d − i) for i = 0 … d, of shape (rows, d + 1)."""
    up, down = _binomials(true, degree), _binomials(false, degree)
    return up * down[:, ::-1]


def _binomials(numbers: FloatArray, most: int) -> FloatArray:
    """C(number, 0) … C(number, most) in a row for each number."""
    steps = np.arange(most)
    factors = np.maximum(numbers[:, None] - steps, 0.0) / (steps + 1)
    return np.hstack([np.ones((len(numbers), 1)), np.cumprod(factors, axis=1)])


def _draw_choice(
    choice: Choice, part: _Part, draws: _Draws, rows: NDArray[np.intp], wanted: Truths
) -> IntArray:
    """d different features of a part, so many of them true that the choice is as wanted."""
    degree = choice.degree
    keys = np.column_stack([draws.ones[rows], wanted])
    different, kind = np.unique(keys, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    n_true = np.zeros(len(rows), dtype=np.int64)
    right = np.zeros(degree + 1, dtype=np.bool_)
    right[choice.least : choice.most + 1] = True
    for k, key in enumerate(different):
        numbers = _by_number(degree, *part.counts(key[None, :-1]))[0] * (right == bool(key[-1]))
        here = np.flatnonzero(kind == k)
        n_true[here] = _draw_places(numbers, len(here), draws.generator)
    copies = np.empty((len(rows), degree, part.width), dtype=np.int64)
    names = np.empty_like(copies)
    for c in range(degree):
        left = np.arange(len(rows))
        for _ in range(MAX_REDRAWN):
            copies[left, c] = part.draw(draws, rows[left], c < n_true[left])
            names[left, c] = part.names(copies[left, c])
            again = (names[left, :c] == names[left, c, None]).all(axis=2).any(axis=1)
            left = left[again]
            if not len(left):
                break
        else:
            raise ParameterError(
                f"{str(choice)!r} chooses nearly all features of a row: none that is new came up "
                f"in {MAX_REDRAWN:,} draws. Use a smaller degree."
            )
    return copies.reshape(len(rows), -1)


def _draw_places(weights: FloatArray, number: int, generator: np.random.Generator) -> IntArray:
    """So many places, with chances in proportion to the weights."""
    ends = np.cumsum(weights)
    drawn = np.searchsorted(ends, generator.random(number) * ends[-1], side="right")
    return np.asarray(np.minimum(drawn, np.flatnonzero(weights)[-1]), dtype=np.int64)


def _sorted_copies(copies: IntArray) -> IntArray:
    """The rows of every matrix of (matrices, rows, columns) in one order that their bytes have."""
    width = copies.shape[2]
    if not width:
        return copies
    whole = np.ascontiguousarray(copies.astype(">i8")).view(np.dtype((np.void, 8 * width)))
    order = np.argsort(whole[..., 0], axis=1, kind="stable")
    return np.asarray(np.take_along_axis(copies, order[..., None], axis=1))


def _symmetries(table: Truths, ranges: dict[int, int], formula: Formula) -> list[tuple[int, ...]]:
    """The permutations of variables of one range that leave a truth table as it is."""
    n = table.ndim
    if n > MAX_PERMUTED:
        raise ParameterError(
            f"{str(formula)!r} has {n} variables inside a choice, of which different features are "
            f"sampled for at most {MAX_PERMUTED}. Use fewer, or variables='bound'."
        )
    return [
        g
        for g in itertools.permutations(range(n))
        if all(ranges[i] == ranges[j] for i, j in enumerate(g))
        and np.array_equal(table, table.transpose(g))
    ]
