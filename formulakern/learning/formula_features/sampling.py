r"""Features that stand for a kernel: all of them, or an unbiased sample.

Let a kernel be K = Σ_f w_f·φ_f φ_fᵀ, with φ_f the values of feature f in m training rows, and
s_f = w_f·‖φ_f‖², so that Σ_f s_f is the trace T of K.  A sample that holds feature f with
probability π_f, and divides w_f by it, is unbiased.

*Listed features* are drawn with π_f = min(1, c·s_f), Σ_f π_f = n, by ordered pivotal sampling: n
features, any two negatively correlated.  The entries of φ_f φ_fᵀ are not negative, so that

    E‖K̂ − K‖² ≤ Σ_f s_f²·(1/π_f − 1)                                  (Frobenius norm).

*Of too many to be listed*, n are drawn independently: a row x with probability in proportion to
K(x, x), then a substitution that is true in it, each with the same chance.  A substitution has the
probability p_f = s_f/T then, and each draw adds a matrix of norm T/n exactly.  So E‖K̂ − K‖² ≤ T²/n,
whatever the number of substitutions is, and by the bounded differences √2·T/n of the norm

    P(‖K̂ − K‖ ≥ (1 + √ln(1/δ))·T/√n) ≤ δ.

In both cases ‖K̂ − K‖ ≥ √(E/δ) has at most the probability δ, too (Markov).

A feature that is true in no training row is never drawn, and not missed in any K(x, z) of which one
row is a training row.

*How a true substitution is drawn.*  Which truth values the variables of a formula take decides
whether it is true.  So in a row with p ones and n − p zeros a true substitution is drawn in two
steps: its truth values, with chances in proportion to the number of substitutions that have them
(p^a·(n − p)^b for a true and b false variables, falling factorials where they hold different
columns), and then for each variable one of the columns that have its truth value.  A choice of d
different features of a formula is drawn in the same way: how many of them are true, and then each
of them.

References
----------
Deville & Tillé (1998), Unequal probability sampling without replacement through a splitting method,
Biometrika 85(1), doi:10.1093/biomet/85.1.89.
Srinivasan (2001), Distributions on level-sets with applications to approximation algorithms, FOCS,
doi:10.1109/SFCS.2001.959935 (any two features are negatively correlated).
McDiarmid (1989), On the method of bounded differences, doi:10.1017/CBO9781107359949.008.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray, IntArray
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.learning.feature_spaces import Space
from formulakern.learning.formula_features.columns import (
    FeatureColumns,
    RowLengths,
    count_ones,
    row_classes,
    rows_of_bits,
)
from formulakern.learning.formula_features.listing import (
    MAX_LISTED,
    FeatureList,
    features_of,
    list_features,
    merged,
    n_instances,
)
from formulakern.mining.templates.expansion import atoms_of, depends, truth_table
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.leaves import Choice

__all__ = ["TrueSubstitutions", "choose_features"]

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
        """Return how many substitutions are true in every row: K(x, x)."""
        counts = [count_ones(table, columns) for columns in self._part.ranges]
        first, kind = row_classes(counts, table.n_rows)
        ones = np.array([number[first] for number in counts], dtype=np.int64)
        true, false = self._part.counts(ones.reshape(len(counts), len(first)).T)
        share = np.divide(true, true + false, out=np.zeros_like(true), where=true > 0)
        return float(self.space.size) * share[kind]

    def draw(
        self, table: PackedTable, rows: NDArray[np.intp], generator: np.random.Generator
    ) -> IntArray:
        """One true substitution for each of some rows."""
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
        """Return the part of a space that a formula is."""
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
        """Return the number of substitutions with each of the 2^atoms patterns of truth values."""
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
        """Return a column of the right truth value for every variable."""
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
        """Return the same numbers for the same feature: the least of those that symmetries give."""
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
    """Return how many choices of d of so many true and false features are true, and are not."""
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
    """Return the permutations of variables of one range that leave a truth table as it is."""
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


#: Of so many instances at most it is looked up how often each is true.
MAX_WEIGHED = 1 << 20
#: Words of 64 rows that are read to see how often listed features are true, at most.
MAX_WORK = 1 << 34


@dataclass(frozen=True, eq=False)
class ChosenFeatures:
    """Features, and what is known about the error of their products.

    Parameters
    ----------
    features : FeatureList
        Weights are those that make the products unbiased.
    lengths : RowLengths
        What the features of a row are divided by.
    complete : bool
        Whether these are all features, so that products are the kernel on any rows.
    squared_error : float
        A bound on the expected mean of (K̂ − K)² over all pairs of training rows.
    n_draws : int
        Of independent draws; 0 where there were none.
    """

    features: FeatureList
    lengths: RowLengths
    complete: bool
    squared_error: float
    n_draws: int = 0

    def error_bound(self, delta: float) -> float:
        """What √ of the mean of (K̂ − K)² passes with a probability of at most ``delta``."""
        root = math.sqrt(self.squared_error)
        bound = root / math.sqrt(delta)
        if self.n_draws:
            bound = min(bound, root * (1.0 + math.sqrt(math.log(1.0 / delta))))
        return bound


def choose_features(
    spaces: Sequence[Space],
    table: PackedTable,
    n_components: int | None,
    generator: np.random.Generator,
) -> ChosenFeatures:
    """Return all features of some spaces, or a sample of at most so many."""
    lengths = RowLengths.of(spaces)
    places = [lengths.group_of(space) for space in spaces]
    size = sum(space.size for space in spaces)
    if n_components is None and size > MAX_LISTED:
        raise ParameterError(
            f"n_components=None asks for all features, and {size:,} substitutions are counted; at "
            f"most {MAX_LISTED:,} are listed. Give a number: a sample of so many is drawn."
        )
    listable = size <= MAX_LISTED
    if listable and n_components is not None:
        most = max(MAX_WEIGHED, n_components)
        listable = sum(n_instances(space) for space in spaces) <= most
    if listable:
        lists = [_grouped(list_features(s), g) for s, g in zip(spaces, places, strict=True)]
        listed = merged(lists)
        if n_components is None or len(listed) <= n_components:
            return ChosenFeatures(listed, lengths, True, 0.0)
        if len(listed) * table.columns.shape[1] <= MAX_WORK:
            return _sample_listed(listed, lengths, table, n_components, generator)
    assert n_components is not None
    return _sample_drawn(spaces, places, lengths, table, n_components, generator)


def _grouped(listed: FeatureList, group: int) -> FeatureList:
    return replace(listed, group=np.full(len(listed), group, dtype=np.int64))


def _sums(features: FeatureList, table: PackedTable, squares: FloatArray) -> FloatArray:
    """‖φ_f‖², the sum of s(x)² over the rows in which a feature is true."""
    sums = np.zeros(len(features))
    for group, measure in enumerate(squares):
        here = np.flatnonzero(features.group == group)
        sums[here] = FeatureColumns(features.take(here)).sums(table, measure)
    return sums


def _sample_listed(
    listed: FeatureList,
    lengths: RowLengths,
    table: PackedTable,
    n_components: int,
    generator: np.random.Generator,
) -> ChosenFeatures:
    squares = lengths.factors(table) ** 2
    shares = listed.weights * _sums(listed, table, squares)
    if not shares.any():
        raise DataError(
            f"none of {len(listed):,} features is true in any row of the table, so that none can "
            "be drawn by how often it is true. Use n_components=None, or other rows."
        )
    chances = inclusion_probabilities(shares, n_components)
    chosen = pivotal_sample(chances, generator)
    open_ = (chances > 0) & (chances < 1)
    squared = float((shares[open_] ** 2 * (1.0 / chances[open_] - 1.0)).sum())
    taken = listed.take(chosen)
    taken = replace(taken, weights=taken.weights / chances[chosen])
    return ChosenFeatures(merged([taken]), lengths, False, squared / table.n_rows**2)


def _sample_drawn(
    spaces: Sequence[Space],
    places: Sequence[int],
    lengths: RowLengths,
    table: PackedTable,
    n_components: int,
    generator: np.random.Generator,
) -> ChosenFeatures:
    squares = lengths.factors(table) ** 2
    samplers = [TrueSubstitutions(space) for space in spaces]
    measures = [
        space.weight * squares[place] * sampler.counts(table)
        for space, place, sampler in zip(spaces, places, samplers, strict=True)
    ]
    trace = float(sum(measure.sum() for measure in measures))
    if not trace > 0:
        raise DataError(
            "no substitution is true in any row of the table, so that none can be drawn. Pass rows "
            "in which the formula can be true."
        )
    if not math.isfinite(trace):
        raise MagnitudeError(
            "the values K(x, x) of the rows add up to more than 1.8e308, the end of float64. Use "
            "normalize=True."
        )
    ends = np.cumsum(np.concatenate(measures))
    drawn = np.searchsorted(ends, generator.random(n_components) * ends[-1], side="right")
    drawn = np.minimum(drawn, np.flatnonzero(np.concatenate(measures))[-1])
    lists = []
    for number, (space, sampler) in enumerate(zip(spaces, samplers, strict=True)):
        rows = drawn[drawn // table.n_rows == number] % table.n_rows
        if not len(rows):
            continue
        found = features_of(space.expansion, sampler.draw(table, rows, generator))
        found = _grouped(found, places[number])
        chances = space.weight * _sums(found, table, squares) / trace
        weights = found.weights * space.weight / (n_components * chances)
        lists.append(replace(found, weights=weights))
    squared = (trace / table.n_rows) ** 2 / n_components
    return ChosenFeatures(merged(lists), lengths, False, squared, n_components)


def inclusion_probabilities(shares: FloatArray, number: int) -> FloatArray:
    """min(1, c·share), with c such that they add up to a number, or 1 for all that are positive.

    Examples
    --------
    >>> inclusion_probabilities(np.array([6.0, 1.0, 0.0, 1.0]), 2)
    array([1. , 0.5, 0. , 0.5])
    """
    order = np.argsort(-shares, kind="stable")
    ordered = shares[order]
    if np.count_nonzero(shares) <= number:
        return (shares > 0).astype(np.float64)
    rest = np.cumsum(ordered[::-1])[::-1]
    left = number - np.arange(number)
    certain = int(np.argmax(ordered[:number] * left < rest[:number]))
    chances = np.ones_like(shares)
    chances[order[certain:]] = ordered[certain:] * ((number - certain) / rest[certain])
    return np.minimum(chances, 1.0)


def pivotal_sample(chances: FloatArray, generator: np.random.Generator) -> NDArray[np.intp]:
    """Positions, each with its chance, as many as the chances add up to; negatively dependent.

    Two at a time, in order: chances a and b become (a + b, 0) or (0, a + b), or where they pass 1
    together (1, a + b − 1) or (a + b − 1, 1), so that each stays what it was on average.

    Examples
    --------
    >>> pivotal_sample(np.array([1.0, 0.5, 0.0, 0.5]), np.random.default_rng(0)).tolist()
    [0, 1]
    """
    selected = np.flatnonzero(chances >= 1.0).tolist()
    unsure = np.flatnonzero((chances > 0.0) & (chances < 1.0))
    if not len(unsure):
        return np.array(selected, dtype=np.intp)
    values, luck = chances[unsure].tolist(), generator.random(len(unsure)).tolist()
    held, at = values[0], 0
    for place in range(1, len(values)):
        both = held + values[place]
        if both < 1.0:
            if luck[place] * both < values[place]:
                at = place
            held = both
        elif luck[place] * (2.0 - both) < 1.0 - values[place]:
            selected.append(int(unsure[at]))
            held, at = both - 1.0, place
        else:
            selected.append(int(unsure[place]))
            held = both - 1.0
    if luck[0] < held:
        selected.append(int(unsure[at]))
    return np.sort(np.array(selected, dtype=np.intp))
