"""The heaviest conjunctions of rows that lie in pieces, by questions that every piece answers.

Weights are whole numbers of one unit, in which sums are exact: the search goes the same way, and
results are the same to the last bit, however the rows are divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver, check_time_limit
from formulakern.errors import DataError
from formulakern.mining.conjunctions.answers import answer, sizes, totals, weighed
from formulakern.mining.conjunctions.best_first import FIRST_BATCH, BestFirst, question_of
from formulakern.mining.conjunctions.search import MinedConjunctions, read_lattice
from formulakern.mining.objective import Objective, check_objective, unit_exponent
from formulakern.mining.options import MAX_RESULTS, SearchOptions, check_threshold, read_limit
from formulakern.partitions.partitioned import Partitioned

__all__ = ["mine_on_pieces"]

#: The most answers of one batch, and the most answers times rows of the largest piece.
LARGEST_BATCH, BATCH_WORK = 1 << 16, 1 << 33


def mine_on_pieces(
    pieces: Partitioned,
    vectors: Sequence[FloatArray],
    n_propositions: int,
    *,
    size: FloatArray | None = None,
    among: NDArray[np.intp] | None = None,
    whole: bool = False,
    min_length: int = 1,
    max_length: int | None = 3,
    length_factor: Sequence[float] | NDArray[Any] | None = None,
    complement: bool = False,
    exclusive: Sequence[int] | NDArray[Any] | None = None,
    **options: Unpack[SearchOptions],
) -> MinedConjunctions:
    """As :func:`.search.mine_conjunctions`, for rows in pieces.

    The weights of a row are the vector of its group times its share.

    Parameters
    ----------
    pieces : Partitioned
        Of :class:`~formulakern.mining.conjunctions.answers.GroupedRows`.
    vectors : sequence of one float64 (G, K) per piece
        The weights of the piece's groups.
    n_propositions : int
    size : ndarray of shape (K,), optional
        The sums of the absolute weights over all rows, where they are known: the unit depends on
        them, and with it the last bits of results.
    among : ndarray of shape (n_propositions,), intp, optional
        Where the propositions stand in the tables of the pieces; conjunctions are of positions in
        this array.
    whole : bool
        Whether all shares are whole numbers.  Results are then the same to the last bit whether
        equal rows are merged or not.
    min_length, max_length, length_factor, complement, exclusive :
        As there.
    top, objective, direction, threshold, max_results, time_limit, progress :
        As in :func:`formulakern.mining.options.read_task`.

    Returns
    -------
    MinedConjunctions
        With sums and scores of the rounded weights, which do not depend on the division into
        pieces; ``bound`` allows for the rounding.

    Raises
    ------
    DataError
        If there are no pieces or no propositions.
    ParameterError
        If an option is out of its range.

    Notes
    -----
    Two rounds of questions, one for every batch, and one for the results.  A batch sends some 20
    bytes for every child, and brings 16 for every child and column of weights from every piece.

    Examples
    --------
    >>> from formulakern.encoding.zero_one import read_packed
    >>> from formulakern.mining.conjunctions.answers import GroupedRows
    >>> from formulakern.partitions.partitioned import Partitioned
    >>> tables = [[[1, 1, 0], [1, 1, 1]], [[1, 0, 1], [0, 1, 1]]]
    >>> each, ones = np.arange(2), np.ones(2)
    >>> pieces = Partitioned([GroupedRows(read_packed(table), each, ones) for table in tables])
    >>> weights = [np.array([[2.0], [1.0]]), np.array([[-1.0], [-1.0]])]
    >>> result = mine_on_pieces(pieces, weights, 3, top=1, max_length=2)
    >>> result.conjunctions, result.scores, result.proven
    ([(0, 1)], array([3.]), True)
    """
    started = Deadline.clock()
    limit = read_limit(options.get("top", 10), options.get("max_results", MAX_RESULTS))
    threshold, time_limit = options.get("threshold", 0.0), options.get("time_limit")
    objective, direction = options.get("objective", "absolute"), options.get("direction", "both")
    check_threshold(threshold)
    check_time_limit(time_limit)
    if not len(pieces) or n_propositions == 0:
        raise DataError(
            f"{len(pieces)} pieces of rows with {n_propositions} propositions; a search needs at "
            "least one of each."
        )
    width = vectors[0].shape[1]
    check_objective(objective, direction, width)
    lattice = read_lattice(
        n_propositions, min_length, max_length, length_factor, complement, exclusive
    )
    deadline = Deadline.of(time_limit)
    try:
        if size is None:
            size = np.sum(pieces.map(sizes, each=vectors, deadline=deadline), axis=0)
        exponent = unit_exponent(float(np.max(size)))
        rows = pieces.persist(weighed, exponent, whole, each=vectors)
        counted = rows.map(totals, deadline=deadline)
    except TimeIsOver:
        nothing = np.zeros(0)
        empty, seconds = np.zeros((0, width)), Deadline.clock() - started
        return MinedConjunctions(nothing, empty, False, False, math.inf, 0, seconds, [])
    everywhere = np.sum([sums for _, sums, _ in counted], axis=0)
    moved = np.ldexp(0.5 * np.sum([number for _, _, number in counted], axis=0), exponent)
    singles = np.stack([np.arange(width), np.full(width, -1)], axis=1)
    pairs, rounding = singles, float(moved.max())
    if objective == "spread":
        pairs = np.stack(np.triu_indices(width, 1), axis=1)
        rounding = float(moved[pairs].sum(axis=1).max())
    goal = Objective(
        np.zeros((0, width)),
        np.zeros((len(pairs), 0)),
        objective,
        direction != "negative",
        direction != "positive",
        exponent,
        rounding,
    )
    among = np.arange(n_propositions) if among is None else among
    largest = max(1, *(number for number, _, _ in counted))
    search = BestFirst(
        rows,
        goal,
        lattice,
        pairs.astype(np.int64),
        among,
        everywhere[pairs[:, 0]] - np.where(pairs[:, 1] >= 0, everywhere[pairs[:, 1]], 0.0),
        limit,
        goal.in_units(threshold),
        min(LARGEST_BATCH, max(FIRST_BATCH, BATCH_WORK // largest)),
    )
    progress = options.get("progress")
    while not (finished := search.done) and not deadline.over():
        try:
            search.advance(deadline)
        except TimeIsOver:
            break
        if progress is not None:
            progress(1.0 if search.done else min(search.share, 1.0))
    found = [w for _, _, w in search.results]
    units = _sums(rows, found, singles.astype(np.int64), among, everywhere)
    values = everywhere - units if complement else units
    factors = lattice.factors[0, [len(w) for w in found]]
    scores = np.ldexp(goal.scores(values), exponent) / factors
    kept = np.flatnonzero(scores > threshold).tolist()
    order = sorted(kept, key=lambda r: (-scores[r], len(found[r]), found[r]))
    return MinedConjunctions(
        conjunctions=[found[r] for r in order],
        scores=scores[order],
        sums=np.ldexp(units[order], exponent),
        proven=finished,
        complete=finished and len(found) < limit,
        bound=goal.from_units(search.bound) + rounding * (1 + complement) / lattice.smallest,
        n_evaluated=search.n_evaluated,
        seconds=Deadline.clock() - started,
    )


def _sums(
    rows: Partitioned,
    found: Sequence[tuple[int, ...]],
    singles: NDArray[np.int64],
    among: NDArray[np.intp],
    everywhere: FloatArray,
) -> FloatArray:
    """Sums of each column of weights over covers, in units, shape (r, K)."""
    sums = np.tile(everywhere, (len(found), 1))
    some = [r for r, w in enumerate(found) if w]
    step = max(1, LARGEST_BATCH // len(singles))
    for start in range(0, len(some), step):
        part = some[start : start + step]
        last, columns = [np.array(found[r][-1:]) for r in part], np.arange(len(singles))
        asked = [found[r][:-1] for r in part]
        question = question_of(singles, among, asked, last, [columns] * len(part))
        answers = rows.sum(answer, question, deadline=UNLIMITED)
        sums[part] = answers[:, 0].reshape(len(part), len(singles))
    return sums
