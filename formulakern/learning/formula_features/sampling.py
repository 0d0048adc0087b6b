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

References
----------
Deville & Tillé (1998), Unequal probability sampling without replacement through a splitting method,
Biometrika 85(1), doi:10.1093/biomet/85.1.89.
Srinivasan (2001), Distributions on level-sets with applications to approximation algorithms, FOCS,
doi:10.1109/SFCS.2001.959935 (any two features are negatively correlated).
McDiarmid (1989), On the method of bounded differences, doi:10.1017/CBO9781107359949.008.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.encoding.packed import PackedTable
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.learning.formula_features.drawing import TrueSubstitutions
from formulakern.learning.formula_features.evaluation import FeatureColumns
from formulakern.learning.formula_features.lengths import RowLengths
from formulakern.learning.formula_features.listing import (
    MAX_LISTED,
    FeatureList,
    features_of,
    list_features,
    merged,
    n_instances,
)
from formulakern.learning.formula_features.spaces import Space

__all__ = ["ChosenFeatures", "choose_features", "inclusion_probabilities", "pivotal_sample"]

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
    """All features of some spaces, or a sample of at most so many.

    Parameters
    ----------
    spaces : sequence of Space
    table : PackedTable of m rows
        The training rows.
    n_components : int or None
        None for all.
    generator : numpy.random.Generator

    Raises
    ------
    DataError
        If no feature is true in any row, so that none can be drawn.
    MagnitudeError
        If the kernel's values pass float64.
    ParameterError
        If all are asked for and there are more than ``MAX_LISTED`` substitutions, or the features
        cannot be told apart.
    """
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
