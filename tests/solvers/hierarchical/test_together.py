"""Several classes at once: the optimum, and the bound that proves it."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import entr

from formulakern.solvers.blas import one_thread
from formulakern.solvers.hierarchical.losses import MultinomialLoss
from formulakern.solvers.hierarchical.norm import Lattice
from tests.hierarchical import solved, solved_together


def problem(seed, p, m, K):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, p))
    nodes = [v for size in range(p + 1) for v in combinations(range(p), size)]
    columns = np.stack([X[:, list(v)].all(axis=1) for v in nodes]).astype(float)
    codes = (X @ rng.normal(size=(p, K)) + rng.gumbel(size=(m, K))).argmax(axis=1)
    codes[:K] = np.arange(K)
    return nodes, columns, codes, rng.uniform(0.2, 3, m)


def norm(f, nodes, rho, a):
    """The slow definition."""
    groups = [[f[k] for k, w in enumerate(nodes) if set(v) <= set(w)] for v in nodes]
    sizes = [np.sum(np.abs(group) ** rho) ** (1 / rho) for group in groups]
    return sum(a ** len(v) * size for v, size in zip(nodes, sizes, strict=True))


def objective(weights, b, nodes, columns, codes, c, rho, a):
    scores = np.stack([f @ columns for f in weights], axis=1) + b
    loss = c @ (np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(codes)), codes])
    return 0.5 * sum(norm(f, nodes, rho, a) ** 2 for f in weights) + loss


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.integers(2, 4),
    st.sampled_from([1.1, 1.5, 2.0]),
    st.sampled_from([1.0, 3.0]),
    st.floats(-1, 2),
)
def test_nothing_is_below_the_bound(seed, p, K, rho, a, log_C):
    nodes, columns, codes, c = problem(seed, p, 25, K)
    c = c * 10**log_C
    lattices = [Lattice.of(nodes, rho, a)] * K
    start = [np.zeros(len(nodes))] * K
    found = solved_together([columns] * K, lattices, codes, c, tol=1e-3, start=start)
    value = objective(found.weights, found.intercepts, nodes, columns, codes, c, rho, a)
    assert found.objective == pytest.approx(value, rel=1e-9)
    assert found.lower_bound >= (1 - 1e-3) * found.objective
    assert np.abs(found.beta.sum(axis=0)).max() <= 1e-9 * c.sum()
    np.testing.assert_allclose(found.beta.sum(axis=1), 0, atol=1e-9 * c.max())
    scores = np.stack([f @ columns for f in found.weights], axis=1) + found.intercepts
    np.testing.assert_allclose(found.scores, scores, atol=1e-9)
    rng = np.random.default_rng(seed)
    for spread in (1e-4, 1e-2, 1.0):
        other = [f + spread * rng.normal(size=len(f)) for f in found.weights]
        b = found.intercepts + spread * rng.normal(size=K)
        assert objective(other, b, nodes, columns, codes, c, rho, a) >= found.lower_bound


def test_equals_a_general_solver():
    nodes, columns, codes, c = problem(3, 3, 40, 3)
    n, K, rho, a = len(nodes), 3, 1.5, 2.0
    d = np.array([a ** len(v) for v in nodes])
    inside = np.array([[set(v) <= set(w) for w in nodes] for v in nodes], dtype=float)
    right = codes[:, None] == np.arange(K)

    def smooth(x, width):
        f, b = x[: n * K].reshape(K, n), x[n * K :]
        scores = (f @ columns).T + b
        logs = np.logaddexp.reduce(scores, axis=1)
        value = c @ (logs - scores[right])
        beta = c[:, None] * (right - np.exp(scores - logs[:, None]))
        slopes = -(columns @ beta).T
        for k in range(K):
            size = np.sqrt(f[k] ** 2 + width**2)
            norms = (inside @ size**rho) ** (1 / rho)
            omega = d @ norms
            value += 0.5 * omega**2
            slopes[k] += omega * (inside.T @ (d * norms ** (1 - rho))) * size ** (rho - 2) * f[k]
        return value, np.append(slopes.ravel(), -beta.sum(axis=0))

    x, best = np.zeros(n * K + K), np.inf
    for width in 10.0 ** -np.arange(1, 5.5):
        with one_thread():
            options = {"maxiter": 1000, "ftol": 1e-12}
            x = minimize(smooth, x, (width,), jac=True, method="L-BFGS-B", options=options).x
        weights = x[: n * K].reshape(K, n)
        best = min(best, objective(weights, x[n * K :], nodes, columns, codes, c, rho, a))
    lattices = [Lattice.of(nodes, rho, a)] * K
    start = [np.zeros(n)] * K
    found = solved_together([columns] * K, lattices, codes, c, tol=1e-4, start=start)
    assert found.objective - found.lower_bound <= 1e-4 * found.objective
    assert found.lower_bound <= best * (1 + 1e-9)
    assert found.objective <= best * (1 + 1.1e-4)


def test_two_classes_are_the_logistic_loss():
    """f and −f have together half the penalty of 2f."""
    nodes, columns, codes, c = problem(5, 3, 60, 2)
    lattices = [Lattice.of(nodes, 1.3, 2.0)] * 2
    start = [np.zeros(len(nodes))] * 2
    both = solved_together([columns] * 2, lattices, codes, c, tol=1e-6, start=start)
    alone = solved(
        columns.T, nodes, 2.0 * codes - 1, rho=1.3, sample_weight=2 * c, loss="logistic", tol=1e-6
    )
    assert 2 * both.objective == pytest.approx(alone.objective, rel=1e-5)
    np.testing.assert_allclose(
        both.scores[:, 1] - both.scores[:, 0],
        columns.T @ alone.weights - alone.intercept,
        atol=1e-2,
    )


def test_a_warm_start_ends_at_the_same_optimum():
    nodes, columns, codes, c = problem(7, 4, 50, 3)
    lattices = [Lattice.of(nodes, 1.1, 2.0)] * 3
    start = [np.zeros(len(nodes))] * 3
    cold = solved_together([columns] * 3, lattices, codes, c, start=start, tol=1e-4)
    warm = solved_together([columns] * 3, lattices, codes, c, start=cold.weights, tol=1e-4)
    for one, other in ((cold, warm), (warm, cold)):
        assert one.objective - one.lower_bound <= 1e-4 * one.objective
        assert one.lower_bound <= other.objective * (1 + 1e-9)


def test_shares_of_the_classes():
    rng = np.random.default_rng(0)
    scores, codes, c = 5 * rng.normal(size=(30, 4)), np.resize(np.arange(4), 30), np.ones(30)
    loss = MultinomialLoss(codes.astype(float), c)
    b, at = loss.intercept(scores, 0 * loss.cold)
    beta, logs = loss.balanced(at.beta), scores - b
    chances = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chances.sum(axis=0), np.bincount(codes))
    np.testing.assert_allclose(beta, (codes[:, None] == np.arange(4)) - chances, atol=1e-9)


def test_saturated_probabilities_are_balanced_too():
    codes, c = np.resize(np.arange(3), 9), np.full(9, 1e4)
    scores = 200.0 * (codes[:, None] == np.arange(3))
    loss = MultinomialLoss(codes.astype(float), c)
    b, at = loss.intercept(scores, 0 * loss.cold)
    beta = loss.balanced(at.beta)
    assert np.isfinite(b).all()
    assert beta.any()
    assert np.abs(beta.sum(axis=0)).max() <= 1e-9
    chances = (codes[:, None] == np.arange(3)) - beta / c[:, None]
    assert chances.min() >= 0
    np.testing.assert_allclose(chances.sum(axis=1), 1)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.floats(-12, -7))
def test_balanced_changes_no_more_than_is_missing(seed, K, power):
    """Also where one class has a single row, and all others have almost none of it."""
    random = np.random.default_rng(seed)
    codes, c = random.integers(1, K, 50), random.uniform(1, 9, 50)
    codes[:K] = np.arange(K)
    chances = 0.9 * (codes[:, None] == np.arange(K)) + 0.1 * random.dirichlet(np.full(K, 0.1), 50)
    chances += 10**power * random.random((50, K)) * (chances > 0.1)
    chances /= chances.sum(axis=1, keepdims=True)
    goal = c @ (codes[:, None] == np.arange(K))
    loss = MultinomialLoss(codes.astype(float), c)
    scores = np.log(np.maximum(chances, 1e-300))
    at = loss.intercept(scores, np.zeros(K))[1]
    beta = loss.balanced(at.beta)
    missing = np.abs(at.beta.sum(axis=0)).sum()
    assert np.abs(beta - at.beta).max() <= missing + 1e-9
    assert np.abs(beta.sum(axis=0)).max() <= 1e-12 * goal.sum()
    assert ((codes[:, None] == np.arange(K)) - beta / c[:, None]).min() >= -1e-15


def test_separable_classes_and_large_penalties():
    nodes = [(), (0,), (1,), (0, 1)]
    X = np.resize([[0, 0], [1, 0], [1, 1]], (30, 2))
    columns = np.stack([X[:, list(v)].all(axis=1) for v in nodes]).astype(float)
    codes = np.resize(np.arange(3), 30)
    lattices = [Lattice.of(nodes, 1.1, 2.0)] * 3
    for C in (1e3, 1e6, 1e9):
        found = solved_together(
            [columns] * 3, lattices, codes, np.full(30, C), tol=1e-2, start=[np.zeros(4)] * 3
        )
        assert 0 < found.lower_bound <= found.objective
        assert found.objective - found.lower_bound <= 0.01 * found.objective
        assert (found.scores.argmax(axis=1) == codes).all()


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.floats(-9, 6))
def test_the_dual_bound_is_that_of_the_best_multiple(seed, K, power):
    random = np.random.default_rng(seed)
    codes, c = random.integers(0, K, 20), random.uniform(0.1, 9, 20)
    codes[:K] = np.arange(K)
    chances = random.dirichlet(np.ones(K) * 10.0 ** random.integers(-2, 2), 20)
    beta = c[:, None] * ((codes[:, None] == np.arange(K)) - chances)
    square = 10.0**power * c.sum()

    def slowly(t):
        mixed = (1 - t) * (codes[:, None] == np.arange(K)) + t * chances
        return c @ entr(mixed).sum(axis=1) - t**2 * square / 2

    grid = np.unique([*np.linspace(0, 1, 201), *np.geomspace(1e-12, 1, 400)])
    values = np.array([slowly(t) for t in grid])
    at = int(values.argmax())
    ends = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    between = minimize_scalar(lambda t: -slowly(t), bounds=ends, method="bounded")
    _, found = MultinomialLoss(codes.astype(float), c).bound(beta, square)
    allowed = 1e-9 * (np.abs(beta).sum() + square)
    assert found >= values[at] - allowed
    assert found <= max(values[at], -between.fun) + 1e-6 * (abs(values[at]) + allowed) + allowed
