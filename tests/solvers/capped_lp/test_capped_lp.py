"""The capped linear program against HiGHS, and what column generation needs of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from formulakern.solvers import capped_lp
from formulakern.solvers.capped_lp import solve_capped_lp


def optimum(A, u):
    found = linprog(
        -np.ones(len(A)),
        A_ub=A.T,
        b_ub=np.ones(A.shape[1]),
        bounds=[(0, None if np.isinf(cap) else cap) for cap in u],
    )
    assert found.status == 0
    return -found.fun


def check(A, u, solution, shift=0.0, tol=1e-6):
    """A certificate, not a number: both sides are feasible and their objectives meet."""
    alpha, multipliers = solution.alpha, solution.multipliers
    assert solution.converged
    assert solution.gap <= 1e-8
    whole = A + shift
    assert (alpha >= 0).all()
    assert (multipliers >= 0).all()
    assert (alpha <= u * (1 + tol)).all()
    assert (alpha @ whole <= 1 + tol).all()
    slack = np.maximum(0.0, 1.0 - whole @ multipliers)
    paid = slack[slack > tol] @ np.where(np.isinf(u), 0.0, u)[slack > tol]
    if np.isinf(u).any():
        assert (slack <= tol).all()
    assert multipliers.sum() + paid == pytest.approx(alpha.sum(), rel=1e-4)


seeds = st.integers(0, 10_000).map(np.random.default_rng)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 25), st.integers(1, 8), st.floats(0.01, 10.0))
def test_capped(generator, n, k, cap):
    A = generator.integers(-2, 3, (n, k)).astype(np.int8)
    u = cap * generator.uniform(0.2, 2.0, n)
    solution = solve_capped_lp(A, u)
    assert solution.alpha.sum() == pytest.approx(optimum(A.astype(float), u), rel=1e-6)
    check(A, u, solution)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 25), st.integers(1, 8))
def test_games(generator, n, k):
    A = generator.normal(size=(n, k))
    shift = 1.0 + np.abs(A).max()
    solution = solve_capped_lp(A, np.full(n, np.inf), shift)
    assert solution.alpha.sum() == pytest.approx(optimum(A + shift, np.full(n, np.inf)), rel=1e-6)
    check(A, np.full(n, np.inf), solution, shift)


def test_an_ill_conditioned_game():
    """Without a correction the constraints would be violated by 3e-8."""
    A = np.random.default_rng(9381).normal(size=(21, 6))
    shift = 1.0 + np.abs(A).max()
    check(A, np.full(21, np.inf), solve_capped_lp(A, np.full(21, np.inf), shift), shift)


def test_blocks_are_the_whole(monkeypatch):
    generator = np.random.default_rng(0)
    A = generator.integers(-2, 3, (100, 6)).astype(np.int8)
    u = np.ones(100)
    expected = solve_capped_lp(A, u)
    monkeypatch.setattr(capped_lp, "MAX_FLOAT_BYTES", 0)
    monkeypatch.setattr(capped_lp, "BLOCK_ROWS", 7)
    found = solve_capped_lp(A, u)
    check(A, u, found)
    assert found.alpha.sum() == pytest.approx(expected.alpha.sum(), rel=1e-7)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 40), st.integers(1, 8), st.sampled_from([0.0, 0.5, -3.0]))
def test_products_by_nonzero_entries(generator, n, k, shift):
    A = generator.integers(-2, 3, (n, k)) * (generator.random((n, k)) < 0.3)
    x, y, d = generator.normal(size=k), generator.normal(size=n), generator.uniform(0, 5, n)
    whole = A + shift
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capped_lp, "MIN_SPARSE_ENTRIES", 0)
        patch.setattr(capped_lp, "MAX_SPARSE_SHARE", 2.0)
        sparse = capped_lp.ConstraintMatrix(A, shift, rough=False)
    dense = capped_lp.ConstraintMatrix(A.astype(np.int8), shift, rough=False)
    assert (sparse.sparse, dense.sparse) == (True, False)
    for matrix in (sparse, dense):
        assert matrix.shape == (n, k)
        np.testing.assert_allclose(matrix.product(x), whole @ x, atol=1e-12)
        np.testing.assert_allclose(matrix.transposed(y), y @ whole, atol=1e-12)
        np.testing.assert_allclose(matrix.normal(d), (whole.T * d) @ whole, atol=1e-10)
        assert (matrix.sizes() >= np.abs(whole).sum(axis=0) - 1e-12).all()


@pytest.mark.parametrize("capped", [True, False])
def test_sparse_and_dense_programs_agree(monkeypatch, capped):
    generator = np.random.default_rng(1)
    A = (generator.integers(-2, 3, (200, 30)) * (generator.random((200, 30)) < 0.1)).astype(np.int8)
    u, shift = (np.ones(200), 0.0) if capped else (np.full(200, np.inf), 3.0)
    expected = solve_capped_lp(A, u, shift)
    monkeypatch.setattr(capped_lp, "MIN_SPARSE_ENTRIES", 0)
    assert capped_lp.ConstraintMatrix(A, 0.0, rough=False).sparse
    found = solve_capped_lp(A, u, shift)
    assert found.alpha.sum() == pytest.approx(expected.alpha.sum(), rel=1e-6)
    check(A, u, found, shift)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 60), st.integers(1, 12), st.floats(0.01, 10.0), st.booleans())
def test_rough_solutions_in_single_precision(generator, n, k, cap, capped):
    """A thousandth is reached; where single precision does not suffice, in double precision."""
    A = generator.integers(-2, 3, (n, k)).astype(np.int8)
    u = np.full(n, cap if capped else np.inf)
    shift = 0.0 if capped else 3.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capped_lp, "MIN_SPARSE_ENTRIES", 0)
        patch.setattr(capped_lp, "MAX_SPARSE_SHARE", 0)
        solution = solve_capped_lp(A, u, shift, tol=1e-3)
    assert solution.converged
    assert solution.gap <= 1e-3
    assert solution.alpha.sum() == pytest.approx(optimum(A + shift, u), rel=5e-3)


def test_in_the_middle_of_the_optimal_strategies():
    """Equal rows get equal shares, although a corner would choose one of them."""
    A = np.ones((4, 1))
    solution = solve_capped_lp(A, np.full(4, np.inf))
    np.testing.assert_allclose(solution.alpha, 0.25, rtol=1e-6)


def test_what_cannot_be_reached_ends_with_the_best(monkeypatch):
    """No tolerance is met: no number may vanish or overflow on the way."""
    monkeypatch.setattr(capped_lp, "MIN_SPARSE_ENTRIES", 0)
    monkeypatch.setattr(capped_lp, "MIN_FLOAT32_TOL", 0.0)
    generator = np.random.default_rng(3)
    A = generator.integers(-2, 3, (120, 70)).astype(np.int8)
    u = np.full(120, 0.05)
    solution = solve_capped_lp(A, u, tol=0.0)
    assert not solution.converged
    assert solution.iterations < capped_lp.MAX_STEPS
    assert solution.alpha.sum() == pytest.approx(optimum(A, u), rel=1e-3)
