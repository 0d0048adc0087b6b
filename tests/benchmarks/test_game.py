"""The speed of game solvers, as ratios in one run: ``pytest tests/benchmarks/test_game.py -s``.

Solvers run in turns, and medians are divided.  ``goal`` is for an otherwise idle machine with two
cores; the tests fail only far from it.
"""

import time
from functools import partial

import numpy as np
import pytest

from formulakern.compilation import compiled
from formulakern.solvers.game_dynamics import BLOCK_ENTRIES, _add_row
from formulakern.solvers.games import solve_game
from tests import turns

SIZE = 1_000
ROUNDS = 1_000_000
#: NumPy plays so many rounds, and its time is multiplied: each of its rounds costs the same.
NUMPY_ROUNDS = 50_000
REPETITIONS = 5


medians = partial(turns.medians, REPETITIONS, time.perf_counter)


def report(what: str, ratio: float, goal: str) -> None:
    print(f"\n    {what:<72} {ratio:7.2f} x   goal {goal}", end="")


def numpy_rounds(M: np.ndarray, columns: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The same rounds with one NumPy call for each operation on a vector."""
    row_totals, column_totals = np.zeros(len(M)), np.zeros(M.shape[1])
    row_counts, column_counts = np.zeros(len(M), int), np.zeros(M.shape[1], int)
    for _ in range(rounds):
        i = row_totals.argmin()
        row_counts[i] += 1
        column_totals += M[i]
        j = column_totals.argmax()
        column_counts[j] += 1
        row_totals += columns[j]
    return row_counts, column_counts


def payoffs(kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "reals":
        return rng.normal(size=(SIZE, SIZE))
    return rng.integers(-2, 3, (SIZE, SIZE)).astype(np.float64)


@pytest.mark.parametrize("kind", ["reals", "whole numbers"])
def test_a_million_rounds_of_fictitious_play(kind):
    M = payoffs(kind)
    columns = np.ascontiguousarray(M.T)
    time_of = medians(
        ours=lambda: solve_game(M, "fictitious-play", tol=0, max_iter=ROUNDS),
        numpy=lambda: numpy_rounds(M, columns, NUMPY_ROUNDS),
        strided=lambda: numpy_rounds(M, M.T, NUMPY_ROUNDS),
        one_pass=M.sum,
    )
    same = solve_game(M, "fictitious-play", tol=0, max_iter=2_000)
    counts = numpy_rounds(M, columns, 2_000)
    assert same.row_counts.tolist() == counts[0].tolist()
    assert same.column_counts.tolist() == counts[1].tolist()
    many = ROUNDS / NUMPY_ROUNDS
    name = f"{ROUNDS:,} rounds, {SIZE:,} x {SIZE:,} {kind}: "
    ratio = many * time_of["numpy"] / time_of["ours"]
    report(f"{name}NumPy / ours", ratio, "8 or more")
    assert ratio > 4
    ratio = many * time_of["strided"] / time_of["ours"]
    report(f"{name}NumPy, columns of M / ours", ratio, "10 or more")
    assert ratio > 5
    # A round reads a row and a column.  NumPy's sum reads the matrix as memory delivers it; ours
    # may be faster, because rows and columns come again while they are in the cache.
    limit = ROUNDS * 2 * SIZE / M.size * time_of["one_pass"]
    report(f"{name}ours / summing as much", time_of["ours"] / limit, "1 or less")
    assert time_of["ours"] / limit < 4


@compiled()
def plain_add_row(totals, rows, index, tops):
    """The same as :func:`_add_row`, as a loop for Numba to compile."""
    best = tops[0]
    for b in range(tops.size):
        top = totals[BLOCK_ENTRIES * b] + rows[index, BLOCK_ENTRIES * b]
        for k in range(BLOCK_ENTRIES * b, BLOCK_ENTRIES * (b + 1)):
            totals[k] += rows[index, k]
            if totals[k] > top:
                top = totals[k]
        tops[b] = top
        if b == 0 or top > best:
            best = top
    return best


@compiled(
    "void(float64[:, ::1], float64[::1], float64[::1], int64)",
    "void(int8[:, ::1], int32[::1], int32[::1], int64)",
)
def add_rows(rows, totals, tops, rounds):
    for r in range(rounds):
        _add_row(totals, rows, r % rows.shape[0], tops)


@pytest.mark.parametrize(
    ("stored", "summed"), [(np.float64, np.float64), (np.int8, np.int32)], ids=["reals", "whole"]
)
def test_what_vectors_written_out_buy(stored, summed):
    """Numba does not take a maximum in vectors; see :func:`_add_block`."""
    rows = payoffs("whole numbers")[:, : SIZE // BLOCK_ENTRIES * BLOCK_ENTRIES].astype(stored)
    totals, tops = np.zeros(rows.shape[1], summed), np.zeros(rows.shape[1] // BLOCK_ENTRIES, summed)
    plain_rows = add_rows.with_helpers(_add_row=plain_add_row)
    results = []
    for added in (add_rows, plain_rows):
        totals[:] = 0
        added(rows, totals, tops, 1_500)
        results.append((totals.tolist(), tops.tolist()))
    assert results[0] == results[1]
    time_of = medians(
        vectors=lambda: add_rows(rows, totals, tops, NUMPY_ROUNDS),
        plain=lambda: plain_rows(rows, totals, tops, NUMPY_ROUNDS),
    )
    ratio = time_of["plain"] / time_of["vectors"]
    name = f"adding a row of {rows.shape[1]} {np.dtype(stored)}: "
    report(f"{name}Numba's loop / ours", ratio, "2 or more")
    assert ratio > 1.5


def test_multiplicative_weights_against_two_products():
    M = payoffs("reals")
    p, q = np.full(SIZE, 1 / SIZE), np.full(SIZE, 1 / SIZE)
    time_of = medians(
        ours=lambda: solve_game(M, "multiplicative-weights", tol=0, max_iter=100),
        products=lambda: [(M @ q, p @ M) for _ in range(100)],
        one_pass=lambda: [M.sum() for _ in range(100)],
    )
    name = f"a round of multiplicative weights, {SIZE:,} x {SIZE:,}: "
    ratio = time_of["ours"] / time_of["products"]
    report(f"{name}ours / Mq and p'M by BLAS", ratio, "1.5 or less")
    assert ratio < 6
    ratio = time_of["ours"] / time_of["one_pass"]
    report(f"{name}ours / one pass over M", ratio, "2 or less")
    assert ratio < 8


def test_to_a_gap_of_a_thousandth():
    M = payoffs("reals")[:400, :400]
    tol = 1e-3 * float(np.ptp(M))
    time_of = medians(
        linprog=lambda: solve_game(M),
        play=lambda: solve_game(M, "fictitious-play", tol=tol),
        weights=lambda: solve_game(M, "multiplicative-weights", tol=tol),
    )
    for other in ("play", "weights"):
        ratio = time_of["linprog"] / time_of[other]
        report(f"gap of R/1,000, 400 x 400: linear program / {other}", ratio, "5 or more")
        assert ratio > 1
