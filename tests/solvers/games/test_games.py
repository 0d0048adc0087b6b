"""Matrix games against exact enumeration, slow twins of both ways to play, and their own bounds."""

import itertools
import math
import signal
import threading
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern.deadline import FIRST_WORK, Deadline
from formulakern.solvers.game_dynamics import BLOCK_ENTRIES, FictitiousPlay, Hedge
from formulakern.solvers.games import METHODS, Run

every_method = pytest.mark.parametrize("method", list(METHODS))
iterated = pytest.mark.parametrize("method", ["fictitious-play", "multiplicative-weights"])

TINY = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.integers(-3, 3)
)
REAL = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.floats(-5, 5)
)


def game(m: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(m, n))


def signs(m: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1, 2, (m, n))


def check(M, solution) -> None:
    """Two strategies, and the bounds that M itself gives them."""
    M = np.asarray(M, float)
    p, q = solution.row_strategy, solution.column_strategy
    assert p.shape == M.shape[:1]
    assert q.shape == M.shape[1:]
    for strategy in (p, q):
        assert strategy.min() >= 0
        assert math.fsum(strategy) == pytest.approx(1, abs=1e-12)
    rounding = 1e-12 * np.abs(M).max() + 1e-300
    assert solution.lower_bound == pytest.approx((M @ q).min(), abs=rounding)
    assert solution.upper_bound == pytest.approx((p @ M).max(), abs=rounding)
    assert solution.gap == max(0.0, solution.upper_bound - solution.lower_bound)
    assert solution.lower_bound <= solution.upper_bound + rounding
    middle = (solution.lower_bound + solution.upper_bound) / 2
    assert solution.value == pytest.approx(middle, abs=rounding)


# -- the slow definitions ---------------------------------------------------------------------


def solved(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Return the solution of a square linear system, last column on the right; None if singular."""
    rows = [row[:] for row in rows]
    size = len(rows)
    for k in range(size):
        pivot = next((r for r in range(k, size) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for r in range(size):
            if r != k:
                factor = rows[r][k]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def equaliser(M: list[list[Fraction]], rows, columns) -> dict[int, Fraction] | None:
    """Return weights of the rows, of sum 1, with equal payoffs of all these columns, or None.

    The unknowns are the weights and the payoff.
    """
    system = [[M[i][j] for i in rows] + [Fraction(-1), Fraction(0)] for j in columns]
    system.append([Fraction(1)] * len(rows) + [Fraction(0), Fraction(1)])
    found = solved(system)
    if found is None or min(found[:-1]) < 0:
        return None
    return dict(zip(rows, found[:-1], strict=True))


def naive_value(M: np.ndarray) -> Fraction:
    """The value in exact fractions: some square part of M equalises both (Shapley and Snow)."""
    m, n = M.shape
    exact = [[Fraction(float(x)) for x in row] for row in M]
    transposed = [list(column) for column in zip(*exact, strict=True)]
    for size in range(1, min(m, n) + 1):
        for rows in itertools.combinations(range(m), size):
            for columns in itertools.combinations(range(n), size):
                p = equaliser(exact, rows, columns)
                q = equaliser(transposed, columns, rows)
                if p is None or q is None:
                    continue
                upper = max(sum(w * exact[i][j] for i, w in p.items()) for j in range(n))
                lower = min(sum(w * exact[i][j] for j, w in q.items()) for i in range(m))
                if lower == upper:
                    return lower
    raise AssertionError("every game has a value")


def naive_fictitious_play(M: np.ndarray, rounds: int, tol: float = -1.0, start=None):
    """One round after the other, as written in the definition; counts of rows and columns."""
    m, n = M.shape
    row_counts, column_counts = (np.zeros(m), np.zeros(n)) if start is None else start
    row_counts, column_counts = row_counts.copy(), column_counts.copy()
    for _ in range(rounds):
        row_counts[np.argmin(M @ column_counts)] += 1
        column_counts[np.argmax(row_counts @ M)] += 1
        upper = (row_counts @ M).max() / row_counts.sum()
        if upper - (M @ column_counts).min() / column_counts.sum() <= tol:
            break
    return row_counts, column_counts


def naive_hedge(M: np.ndarray, rounds: int, priors=None):
    """Optimistic AdaHedge of both players in NumPy; the mean strategies."""
    priors = [np.full(size, 1 / size) for size in M.shape] if priors is None else priors
    losses, last, sums = ([np.zeros(size) for size in M.shape] for _ in range(3))
    gaps = [max(float(np.ptp(M)) / 4, 1e-200)] * 2

    def mixed(k, eta):
        least = losses[k].min()
        if eta == 0:
            return priors[k] @ losses[k]
        return least - math.log(priors[k] @ np.exp(-eta * (losses[k] - least))) / eta

    for _ in range(rounds):
        etas = [math.log(M.shape[k]) / gaps[k] for k in (0, 1)]
        strategies = []
        for k in (0, 1):
            above = losses[k] + last[k]
            factor = np.exp(-etas[k] * (above - above.min()))
            strategies.append(priors[k] * factor / (priors[k] @ factor))
        last = [M @ strategies[1], -(strategies[0] @ M)]
        for k in (0, 1):
            before = mixed(k, etas[k])
            losses[k] += last[k]
            gain = strategies[k] @ last[k] - (mixed(k, etas[k]) - before)
            gaps[k] += max(0.0, float(gain))
            sums[k] += strategies[k]
    return sums[0] / rounds, sums[1] / rounds


# -- against them -----------------------------------------------------------------------------


@settings(max_examples=38)
@given(TINY)
def test_every_method_encloses_the_exact_value(M):
    exact = float(naive_value(M))
    for method in METHODS:
        solution = fk.solve_game(M, method, tol=1e-7 if method == "linprog" else 0.05)
        check(M, solution)
        assert solution.converged
        assert solution.lower_bound <= exact + 1e-9
        assert exact <= solution.upper_bound + 1e-9
        if method == "linprog":
            assert solution.value == pytest.approx(exact, abs=1e-7)


@given(REAL)
@settings(max_examples=30)
def test_methods_agree_within_their_gaps(M):
    exact = fk.solve_game(M)
    check(M, exact)
    assert exact.converged
    for method in ("fictitious-play", "multiplicative-weights"):
        solution = fk.solve_game(M, method, tol=0, max_iter=2_000)
        check(M, solution)
        assert solution.lower_bound <= exact.upper_bound + 1e-9
        assert exact.lower_bound <= solution.upper_bound + 1e-9
        # both rates hold with room to spare at these sizes
        assert solution.gap <= 0.2 * float(np.ptp(M)) + 1e-9


@settings(max_examples=38)
@given(hnp.arrays(np.float64, (2, 2), elements=st.integers(-9, 9)))
def test_closed_form_of_two_by_two(M):
    (a, b), (c, d) = M
    lower, upper = M.min(axis=0).max(), M.max(axis=1).min()
    value = lower if lower == upper else (a * d - b * c) / (a + d - b - c)
    assert fk.solve_game(M).value == pytest.approx(value, abs=1e-7)
    if lower < upper:
        p = (d - c) / (a + d - b - c)
        assert fk.solve_game(M).row_strategy == pytest.approx([p, 1 - p], abs=1e-6)


@given(
    hnp.arrays(
        np.int64,
        st.tuples(st.integers(1, 2 * BLOCK_ENTRIES + 3), st.integers(1, 2 * BLOCK_ENTRIES + 3)),
        elements=st.integers(-4, 4),
    ),
    st.integers(1, 300),
    st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=30)
def test_fictitious_play_is_the_naive_one_round_by_round(M, rounds, tol):
    """In bytes, in float64 (whole numbers, too large for a byte; fractions): the same rounds."""
    for factor in (1, 1024, 1 / 64):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = fk.solve_game(
                M * factor, "fictitious-play", tol=tol * factor, max_iter=rounds
            )
        assert solution.iterations == rounds or solution.gap <= tol * factor
        counts = naive_fictitious_play(M, solution.iterations)
        assert solution.row_counts.tolist() == counts[0].tolist()
        assert solution.column_counts.tolist() == counts[1].tolist()
        # it did not stop late: one round before, the gap was larger, or rounding made it so
        before = naive_fictitious_play(M, rounds, tol * (1 - 1e-12) - 1e-12)
        assert solution.iterations <= before[0].sum()


@given(REAL, st.integers(1, 40))
@settings(max_examples=30)
def test_multiplicative_weights_are_the_naive_ones(M, rounds):
    solution = fk.solve_game(M, "multiplicative-weights", tol=0, max_iter=rounds)
    if solution.iterations == rounds:  # else the gap was 0 before
        p, q = naive_hedge(M - (M.min() + M.max()) / 2, rounds)
        assert solution.upper_bound == pytest.approx((p @ M).max(), abs=1e-6)
        assert solution.lower_bound == pytest.approx((M @ q).min(), abs=1e-6)
    assert solution.iterations == rounds or solution.gap == 0


def test_multiplicative_weights_are_the_naive_ones_on_a_larger_game():
    M = game(90, 70)
    priors = [np.linspace(1, 2, size) / np.linspace(1, 2, size).sum() for size in M.shape]
    start = tuple(2 * prior - 1 / len(prior) for prior in priors)
    for given_start, given_priors in ((None, None), (start, priors)):
        solution = fk.solve_game(
            M, "multiplicative-weights", tol=0, max_iter=200, start=given_start
        )
        p, q = naive_hedge(M, 200, given_priors)
        assert solution.row_strategy == pytest.approx(p, abs=1e-9)
        assert solution.column_strategy == pytest.approx(q, abs=1e-9)


# -- games whose answer is known ----------------------------------------------------------------


@every_method
def test_rock_paper_scissors(method):
    M = [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]
    solution = fk.solve_game(M, method, tol=1e-2)
    check(M, solution)
    assert solution.converged
    assert solution.row_strategy == pytest.approx([1 / 3] * 3, abs=2e-2)
    assert solution.column_strategy == pytest.approx([1 / 3] * 3, abs=2e-2)


@every_method
def test_saddle_point(method):
    M = np.array([[4, 5, 6], [1, 2, 0], [3, 9, 7]])  # row 1 and column 1 hold each other
    solution = fk.solve_game(M, method, tol=1e-3)
    check(M, solution)
    assert solution.value == pytest.approx(2, abs=1e-3)
    assert solution.row_strategy == pytest.approx([0, 1, 0], abs=1e-2)
    assert solution.column_strategy == pytest.approx([0, 1, 0], abs=1e-2)


@every_method
def test_a_diagonal_is_played_in_inverse_proportion(method):
    sizes = np.array([1.0, 2, 4, 8])
    solution = fk.solve_game(np.diag(sizes), method, tol=1e-3)
    assert solution.value == pytest.approx(1 / (1 / sizes).sum(), abs=1e-3)
    expected = (1 / sizes) / (1 / sizes).sum()
    assert solution.row_strategy == pytest.approx(expected, abs=1e-2)


@every_method
@pytest.mark.parametrize("constant", [0.0, 0.1, -7.3, 1e9, 1e-290])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (3, 70)])
def test_one_payoff_everywhere(method, constant, shape):
    M = np.full(shape, constant)
    solution = fk.solve_game(M, method)
    check(M, solution)
    assert solution.converged
    assert solution.value == pytest.approx(constant, rel=1e-12)


@every_method
def test_payoffs_too_small_to_tell_apart(method):
    for M in ([[5e-324, 0.0]], [[1e-313, -1e-313], [-1e-313, 1e-313]], [[1e-201], [0.0]]):
        solution = fk.solve_game(M, method)
        check(M, solution)
        assert solution.converged


@every_method
def test_one_row_or_one_column(method):
    line = np.array([3.0, -1.0, 4.0, 1.0, -5.0])
    assert fk.solve_game(line[None, :], method, tol=1e-3).value == pytest.approx(4, abs=1e-3)
    assert fk.solve_game(line[:, None], method, tol=1e-3).value == pytest.approx(-5, abs=1e-3)


# -- what must not change, and what must change along -------------------------------------------


@every_method
def test_shift_scale_and_exchange_of_the_players(method):
    M = game(12, 9)
    reference = fk.solve_game(M, method)
    for a, b in ((1e-60, 0.0), (1e60, 0.0), (1.0, 1e6), (0.37, -5.0)):
        moved = fk.solve_game(a * M + b, method)
        assert moved.converged
        allowed = a * (reference.gap + 1e-9) + moved.gap + 1e-9 * abs(b) * 1e-3
        assert abs(moved.value - (a * reference.value + b)) <= allowed
    for exchanged in (fk.solve_game(-M.T, method), fk.solve_game(np.asfortranarray(-M.T), method)):
        assert abs(exchanged.value + reference.value) <= exchanged.gap + reference.gap + 1e-9


def test_multiplicative_weights_do_not_see_shift_and_scale():
    M = game(12, 9)
    options = {"tol": 0, "max_iter": 300}
    reference = fk.solve_game(M, "multiplicative-weights", **options)
    for a, b in ((2.0**-100, 0.0), (2.0**100, 0.0), (1.0, 1e6), (0.37, -5.0)):
        moved = fk.solve_game(a * M + b, "multiplicative-weights", **options)
        assert moved.row_strategy == pytest.approx(reference.row_strategy, abs=1e-6)
        assert moved.column_strategy == pytest.approx(reference.column_strategy, abs=1e-6)


@every_method
def test_doubled_rows_and_columns_and_another_order(method):
    M = game(10, 8)
    reference = fk.solve_game(M)
    rng = np.random.default_rng(1)
    rows = rng.permutation(np.r_[np.arange(10), rng.integers(0, 10, 7)])
    columns = rng.permutation(np.r_[np.arange(8), rng.integers(0, 8, 9)])
    solution = fk.solve_game(M[np.ix_(rows, columns)], method)
    assert solution.converged
    assert abs(solution.value - reference.value) <= solution.gap + reference.gap + 1e-9
    if method == "linprog":
        joined = np.bincount(rows, solution.row_strategy, 10)
        assert joined == pytest.approx(reference.row_strategy, abs=1e-6)


def test_dominated_choices_are_not_played():
    M = game(6, 6)
    worse_row, worse_column = M[2] + 0.5, None
    larger = np.vstack([M, worse_row])
    worse_column = larger[:, 3] - 0.5
    larger = np.column_stack([larger, worse_column])
    solution = fk.solve_game(larger)
    assert solution.value == pytest.approx(fk.solve_game(M).value, abs=1e-8)
    assert solution.row_strategy[6] == pytest.approx(0, abs=1e-9)
    assert solution.column_strategy[6] == pytest.approx(0, abs=1e-9)
    played = fk.solve_game(larger, "fictitious-play", tol=0, max_iter=5_000)
    assert played.row_counts[6] == 0
    assert played.column_counts[6] == 0


@every_method
def test_margins_of_examples_is_a_game(method):
    """M = ZZ', as preferences play: its value is the squared distance of their hull from 0."""
    Z = signs(60, 200, seed=3)
    M = Z @ Z.T
    solution = fk.solve_game(M, method, tol=0.5)
    check(M, solution)
    assert solution.converged
    assert solution.lower_bound > 0


# -- larger games --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (150, 150)])
def test_methods_agree_on_larger_games(shape):
    for M in (game(*shape), signs(*shape)):
        exact = fk.solve_game(M)
        check(M, exact)
        assert exact.converged
        for method in ("fictitious-play", "multiplicative-weights"):
            solution = fk.solve_game(M, method, tol=0.02)
            check(M, solution)
            assert solution.converged
            assert solution.lower_bound - 1e-9 <= exact.value <= solution.upper_bound + 1e-9


def test_bytes_give_way_before_their_sums_overflow():
    M = np.array([[127, -127], [-127, 126]])
    rounds = 1_000
    start = (np.array([2.0**24, 0.0]), np.array([0.0, 2.0**24]))
    dynamics = FictitiousPlay(M.astype(float), *start, rounds)
    rows, columns = naive_fictitious_play(M, rounds, start=start)
    assert dynamics.advance(rounds, -1.0) == rounds
    assert dynamics.weights()[0].tolist() == rows.tolist()
    assert dynamics.weights()[1].tolist() == columns.tolist()
    solution = fk.solve_game(M, "fictitious-play", tol=0, max_iter=rounds, start=start)
    assert solution.row_counts.tolist() == rows.tolist()


def test_errors_that_pile_up_do_not_reach_the_bounds():
    """Payoffs of 1e9 with differences of 1: sums over rounds lose digits, the bounds do not."""
    M = game(20, 20) + 1e9
    exact = fk.solve_game(M - 1e9)
    solution = fk.solve_game(M, "fictitious-play", tol=0.02)
    check(M, solution)
    assert solution.converged
    assert solution.gap <= 0.02
    assert abs(solution.value - 1e9 - exact.value) <= 0.02


def test_a_gap_that_rounding_made_up_is_looked_at_again():
    class Optimist:
        speed = 1.0
        refreshed = 0

        def advance(self, rounds, tol):
            return -1

        def weights(self):
            return np.ones(1), np.ones(1)

        def refresh(self):
            self.refreshed += 1

        def round_cost(self):
            return 1

    optimist = Optimist()
    gaps = iter([0.3, 0.2, 0.1])
    run = Run(optimist, lambda p, q: next(gaps), tol=0.1, max_iter=100)
    assert run.advance(50)
    assert run.rounds == 3
    assert optimist.refreshed == 2


def test_refreshing_changes_nothing_but_rounding():
    M = game(30, 20)
    refreshed, straight = (FictitiousPlay(M, np.zeros(30), np.zeros(20), 900) for _ in range(2))
    for _ in range(3):
        refreshed.advance(300, -1.0)
        refreshed.refresh()
    straight.advance(900, -1.0)
    assert refreshed.weights()[0].tolist() == straight.weights()[0].tolist()


# -- start ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 0.3])
def test_fictitious_play_goes_on_where_it_ended(factor):
    M = signs(30, 25) * factor
    whole = fk.solve_game(M, "fictitious-play", tol=0, max_iter=1_000)
    first = fk.solve_game(M, "fictitious-play", tol=0, max_iter=300)
    second = fk.solve_game(
        M,
        "fictitious-play",
        tol=0,
        max_iter=700,
        start=(first.row_counts, first.column_counts),
    )
    assert second.iterations == 700
    assert second.row_counts.sum() == 1_000
    if factor == 1:  # else ties are decided by rounding
        assert second.row_counts.tolist() == whole.row_counts.tolist()
        assert second.column_counts.tolist() == whole.column_counts.tolist()


@iterated
def test_a_start_at_the_solution_leaves_a_smaller_gap(method):
    M = game(60, 60)
    exact = fk.solve_game(M)
    scale = 1e5 if method == "fictitious-play" else 1
    start = (exact.row_strategy * scale, exact.column_strategy * scale)
    options = {"tol": 0, "max_iter": 500}
    cold, warm = (fk.solve_game(M, method, start=one, **options) for one in (None, start))
    check(M, warm)
    assert warm.gap < 0.7 * cold.gap
    if method == "fictitious-play":  # 500 rounds are 1/200 of what was played before
        assert warm.gap <= exact.gap + 2 * np.ptp(M) / 200


def test_one_sided_start():
    M = np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1], [2, 0, 1, 0]])
    start = (np.zeros(5), np.array([0, 3, 0, 1.0]))
    solution = fk.solve_game(M, "fictitious-play", tol=0, max_iter=50, start=start)
    rows, columns = naive_fictitious_play(M, 50, start=start)
    assert solution.row_counts.tolist() == rows.tolist()
    assert solution.column_counts.tolist() == columns.tolist()
    assert columns.sum() == 54
    check(M, solution)


@every_method
def test_the_start_is_left_alone(method):
    M = game(5, 4)
    M.flags.writeable = False
    start = (np.ones(5), np.ones(4))
    for counts in start:
        counts.flags.writeable = False
    check(M, fk.solve_game(M, method, start=start))
    assert (start[0] == 1).all()


# -- how it stops ---------------------------------------------------------------------------------


@iterated
def test_too_few_rounds_warn_and_the_bounds_hold(method):
    M = game(40, 40)
    exact = fk.solve_game(M)
    with pytest.warns(ConvergenceWarning, match="bounds hold"):
        solution = fk.solve_game(M, method, tol=1e-6, max_iter=20)
    check(M, solution)
    assert not solution.converged
    assert solution.iterations == 20
    assert solution.lower_bound <= exact.value <= solution.upper_bound


@iterated
def test_rounds_that_are_limited_on_purpose_do_not_warn(method):
    solution = fk.solve_game(game(40, 40), method, tol=0, max_iter=77)
    assert solution.iterations == 77
    assert not solution.converged


@iterated
@pytest.mark.parametrize("tol", [1.0, 0.3, 0.05])
def test_the_tolerance_is_the_gap_in_payoffs(method, tol):
    solution = fk.solve_game(10 * game(30, 30), method, tol=tol)
    assert solution.converged
    assert solution.gap <= tol
    closer = fk.solve_game(10 * game(30, 30), method, tol=tol / 4)
    assert closer.gap <= tol / 4
    assert solution.iterations <= closer.iterations  # of the same rounds


def test_a_linear_program_that_is_cut_short_falls_back_on_the_start():
    M = game(150, 150)
    start = (np.arange(150.0), np.ones(150))
    with pytest.warns(ConvergenceWarning):
        solution = fk.solve_game(M, max_iter=1, start=start)
    check(M, solution)
    assert not solution.converged
    assert solution.row_strategy == pytest.approx(start[0] / start[0].sum())
    with pytest.warns(ConvergenceWarning):
        without = fk.solve_game(M, max_iter=1)
    assert without.column_strategy == pytest.approx(np.full(150, 1 / 150))
    assert not without.converged


def test_the_time_limit_of_a_linear_program_is_that_of_the_solver(monkeypatch):
    """HiGHS looks at its clock when it likes, so that no small limit is sure to stop it."""
    asked = []

    def stopped(*_, options, method, **program):
        asked.append((options["time_limit"], method))
        return OptimizeResult(status=1)

    monkeypatch.setattr("scipy.optimize.linprog", stopped)
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: 0.0))
    with pytest.warns(ConvergenceWarning, match="the gap of linprog"):
        solution = fk.solve_game(game(20, 30), time_limit=1e-9)
    assert asked == [(1e-9, "highs-ipm")]
    assert solution.column_strategy == pytest.approx(np.full(30, 1 / 30))
    assert not solution.converged


@iterated
def test_time_limit(method):
    M = game(400, 400)
    solution = fk.solve_game(M, method, tol=1e-9, max_iter=10**12, time_limit=0)
    check(M, solution)
    assert not solution.converged
    cost = 800 if method == "fictitious-play" else M.size + 30 * 800
    assert solution.iterations == FIRST_WORK // cost  # one slice


@every_method
@pytest.mark.parametrize("tol", [0, 0.01])
def test_progress_never_falls_and_ends_at_one(method, tol):
    shares: list[float] = []
    options = {} if method == "linprog" else {"max_iter": 300_000 if method[0] == "f" else 1_500}
    fk.solve_game(game(120, 120), method, tol=tol, progress=shares.append, **options)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert min(shares) >= 0
    if method != "linprog":
        assert len(shares) > 1


@every_method
def test_what_progress_raises_comes_through(method):
    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fk.solve_game(game(200, 200), method, tol=0, progress=stop)


@iterated
def test_interrupt(method):
    main = threading.main_thread().ident
    threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):  # all rounds would take years
        fk.solve_game(game(600, 600), method, tol=0, max_iter=10**14)


def test_an_interrupt_does_not_wait_for_the_linear_program(monkeypatch):
    ended, main = threading.Event(), threading.main_thread().ident

    def endless(*arguments, **options):
        signal.pthread_kill(main, signal.SIGINT)
        ended.wait()

    monkeypatch.setattr("scipy.optimize.linprog", endless)
    with pytest.raises(KeyboardInterrupt):
        fk.solve_game(game(3, 3))
    ended.set()


def test_what_the_linear_program_raises_comes_through(monkeypatch):
    def fails(*arguments, **options):
        raise MemoryError("no room")

    monkeypatch.setattr("scipy.optimize.linprog", fails)
    with pytest.raises(MemoryError, match="no room"):
        fk.solve_game(game(3, 3))


# -- input ----------------------------------------------------------------------------------------


@every_method
def test_every_kind_of_matrix_is_read(method, tmp_path):
    M = signs(20, 15)
    reference = fk.solve_game(M, method, tol=0.05)
    on_disk = np.memmap(tmp_path / "M", dtype=np.float64, mode="w+", shape=M.shape)
    on_disk[:] = M
    on_disk.flush()
    read_only = np.memmap(tmp_path / "M", dtype=np.float64, mode="r", shape=M.shape)
    wide = np.zeros((40, 30))
    wide[::2, ::2] = M
    for other in (
        M.astype(np.int8),
        M.astype(np.float32),
        M.astype(">f8"),
        M.astype(object),
        np.asfortranarray(M, dtype=float),
        wide[::2, ::2],
        M.tolist(),
        pd.DataFrame(M),
        read_only,
    ):
        solution = fk.solve_game(other, method, tol=0.05)
        assert type(solution.row_strategy) is np.ndarray
        assert solution.row_strategy.tolist() == reference.row_strategy.tolist()
        assert solution.value == reference.value
    assert M.tolist() == signs(20, 15).tolist()


def test_truth_values_are_payoffs():
    assert fk.solve_game(np.eye(4, dtype=bool)).value == pytest.approx(0.25)


@iterated
def test_the_same_again(method):
    M = game(70, 90)
    first, second = (fk.solve_game(M, method, tol=0, max_iter=500) for _ in range(2))
    assert first.row_strategy.tolist() == second.row_strategy.tolist()


@pytest.mark.parametrize(
    ("M", "message"),
    [
        ([], r"shape \(0,\)"),
        ([[]], r"shape \(1, 0\)"),
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
        ([1.0, 2.0], r"shape \(2,\)"),
        (3.0, r"shape \(\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([[1.0, np.nan]], r"M\[0, 1\] = nan"),
        ([[1.0], [-np.inf]], r"M\[1, 0\] = -inf"),
        ([[1j, 2]], "real numbers"),
        ([["1", "2"]], "real numbers"),
        ([[None, 2]], "M"),
        ([[1, 2], [3]], "equal length"),
        (sparse.csr_array(np.eye(3)), "toarray"),
    ],
)
def test_what_is_no_matrix_is_refused(M, message):
    with pytest.raises(fk.DataError, match=message):
        fk.solve_game(M)


def test_payoffs_beyond_range_are_refused():
    with pytest.raises(fk.MagnitudeError, match="Divide M"):
        fk.solve_game([[1e101, 0.0]])
    for method in METHODS:
        assert fk.solve_game([[1e100, -1e100], [-1e100, 1e100]], method).converged


@pytest.mark.parametrize(
    "options",
    [
        {"method": "simplex"},
        {"method": None},
        {"method": ["linprog"]},
        {"tol": -1e-9},
        {"tol": float("nan")},
        {"tol": "small"},
        {"tol": True},
        {"max_iter": 0},
        {"max_iter": 1.5},
        {"max_iter": True},
        {"max_iter": 10**16},
        {"time_limit": -1},
        {"time_limit": float("nan")},
        {"start": np.ones(3)},
        {"start": ([1, 2], [1, 2, 3])},
        {"start": ([1], [1, 2])},
        {"start": ([1, -1], [1, 2])},
        {"start": ([1, np.nan], [1, 2])},
        {"start": ([1, 1e300], [1, 2])},
        {"start": (["a", 1], [1, 2])},
    ],
)
def test_other_arguments_out_of_range_are_refused(options):
    with pytest.raises(fk.ParameterError, match=r"expected|has 2"):
        fk.solve_game([[1, 0], [0, 1]], **options)


def test_hedge_needs_no_whole_prior():
    dynamics = Hedge(game(3, 2), np.array([1.0, 0, 0]), np.zeros(2))
    dynamics.advance(1, -1.0)
    # the first round is played with the prior: half the start, half uniform
    assert dynamics.weights()[0] == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    assert dynamics.weights()[1] == pytest.approx([0.5, 0.5])
