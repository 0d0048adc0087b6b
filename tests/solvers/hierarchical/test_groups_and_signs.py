"""Intercepts for groups of examples, and weights with signs, on given nodes."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from formulakern.solvers.blas import one_thread
from formulakern.solvers.hierarchical.losses import LOSSES, loss_of
from formulakern.solvers.hierarchical.newton import Columns, minimise_ridge, point
from tests.hierarchical import solved


def problem(seed, loss, p=3, m=30):
    """Nodes in random order, labels, random signs, groups that each have both labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, p))
    every = [v for size in range(p + 1) for v in combinations(range(p), size)]
    nodes = [every[k] for k in rng.permutation(len(every))]
    y = np.where(X[:, 0] & X[:, -1], 1.0, -1.0) * np.where(rng.random(m) < 0.2, -1, 1)
    group = np.sort(rng.integers(0, 3, m))
    group[:6], y[:6] = [0, 0, 1, 1, 2, 2], [1, -1] * 3
    if loss == "squared":
        y = 3 * y + rng.normal(size=m)
    columns = np.stack([X[:, list(v)].all(axis=1) for v in nodes], axis=1)
    return columns, nodes, y, rng.integers(-1, 2, len(nodes)), group


def slow_value(columns, nodes, y, signs, group, *, rho, C, a, loss):
    """L-BFGS-B with bounds on an objective that ever closer follows the true one; its best."""
    d = np.array([a ** len(v) for v in nodes])
    inside = np.array([[set(v) <= set(w) for w in nodes] for v in nodes], dtype=float)
    n, member = len(nodes), np.eye(group.max() + 1)[group]

    def value(x, width):
        f, b = x[:n], member @ x[n:]
        size = np.sqrt(f**2 + width**2)
        omega = float(d @ (inside @ size**rho) ** (1 / rho))
        z = y * (columns @ f - b)
        if loss == "hinge":
            losses = width * np.logaddexp(0, (1 - z) / width) if width else np.maximum(0, 1 - z)
            beta = y / (1 + np.exp(np.clip((z - 1) / (width or 1), -500, 500)))
        elif loss == "squared_hinge":
            losses, beta = np.maximum(0, 1 - z) ** 2, 2 * y * np.maximum(0, 1 - z)
        elif loss == "logistic":
            losses, beta = np.logaddexp(0, -z), y / (1 + np.exp(z))
        else:
            u = columns @ f - b
            losses, beta = (y - u) ** 2, 2 * (y - u)
        if not width:
            return 0.5 * omega**2 + C * losses.sum()
        norms = (inside @ size**rho) ** (1 / rho)
        slope = omega * (inside.T @ (d * norms ** (1 - rho))) * size ** (rho - 2) * f
        gradient = np.append(slope - C * beta @ columns, C * beta @ member)
        return 0.5 * omega**2 + C * losses.sum(), gradient

    bounds = [(0 if s > 0 else None, 0 if s < 0 else None) for s in signs]
    bounds += [(None, None)] * member.shape[1]
    x, best = np.zeros(n + member.shape[1]), np.inf
    for width in 10.0 ** -np.arange(1, 5.5):
        options = {"maxiter": 500, "maxcor": 30, "ftol": 1e-11, "gtol": 1e-8}
        with one_thread():
            x = minimize(
                value, x, (width,), jac=True, method="L-BFGS-B", bounds=bounds, options=options
            ).x
        best = min(best, value(x, 0.0))
    return best


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rho", [1.1, 1.5, 2.0])
@pytest.mark.parametrize(("signed", "grouped"), [(True, False), (False, True), (True, True)])
def test_equals_a_general_solver(loss, rho, signed, grouped):
    columns, nodes, y, signs, group = problem(7, loss)
    asked = signs if signed else np.zeros_like(signs)
    groups = group if grouped else np.zeros_like(group)
    options = {"rho": rho, "C": 2.0, "loss": loss}
    solution = solved(
        columns,
        nodes,
        y,
        depth_penalty=1.5,
        tol=1e-5,
        signs=signs if signed else None,
        group=group if grouped else None,
        **options,
    )
    other = slow_value(columns, nodes, y, asked, groups, a=1.5, **options)
    assert solution.status == "optimal"
    assert np.shape(solution.intercept) == ((3,) if grouped else (1,))
    assert (solution.weights * asked >= 0).all()
    assert solution.lower_bound <= other * (1 + 1e-9)
    assert solution.gap <= 1e-5
    assert solution.objective <= other * (1 + 1.1e-5)
    sums = np.bincount(groups, solution.dual)
    np.testing.assert_allclose(sums, 0, atol=1e-9 * np.abs(solution.dual).sum())


def test_one_group_and_free_signs_are_the_plain_problem():
    columns, nodes, y, signs, group = problem(3, "logistic", p=4)
    options = {"C": 3.0, "loss": "logistic", "tol": 1e-6}
    plain = solved(columns, nodes, y, **options)
    same = {"group": np.zeros_like(group), "signs": np.zeros_like(signs)}
    other = solved(columns, nodes, y, **options, **same)
    np.testing.assert_allclose(other.intercept, plain.intercept, atol=0.02)
    again = solved(columns, nodes, y, start=other.start, **options, **same)
    for one in (other, again):
        assert one.gap <= 1e-6
        assert one.lower_bound <= plain.objective * (1 + 1e-9)
        assert plain.lower_bound <= one.objective * (1 + 1e-9)


def test_signs_that_leave_nothing_give_the_best_constant():
    """Every feature pulls the wrong way."""
    columns, nodes, y, _, _ = problem(1, "logistic")
    free = solved(columns, nodes, y, C=5.0, loss="logistic", rho=2.0, tol=1e-6)
    pull = columns.T @ (y - y.mean())
    signs = np.where(pull > 0, -1, 1)
    solution = solved(columns, nodes, y, C=5.0, loss="logistic", signs=signs, tol=1e-6)
    share = np.mean(y > 0)
    entropy = -30 * (share * np.log(share) + (1 - share) * np.log(1 - share))
    assert not solution.weights.any()
    assert solution.objective == pytest.approx(5 * entropy, rel=1e-6)
    assert free.objective < solution.objective


def test_a_ridge_problem_where_steps_cross_zero():
    """The projected steps end at the minimum, whatever the correlations of the features."""
    rng = np.random.default_rng(0)
    n, m = 8, 12
    for _ in range(12):
        others = rng.normal(size=(n, m)) + 3 * rng.normal(size=m)  # nearly the same features
        y = rng.choice([-1.0, 1.0], m)
        loss = loss_of("logistic", y, np.full(m, 20.0))
        signs = rng.choice([-1, 1], n)
        columns = Columns(np.zeros((0, m), dtype=np.uint8), others)
        start = point(columns, loss, np.zeros(n), np.zeros(m), 0.0)
        found, steps = minimise_ridge(
            columns, np.ones(n), loss, start, tol=1e-9, max_steps=1000, signs=signs
        )
        assert steps < 1000

        def value(x, others=others, y=y):
            return 0.5 * x[:n] @ x[:n] + 20 * np.logaddexp(0, -y * (x[:n] @ others - x[n])).sum()

        bounds = [(0, None) if s > 0 else (None, 0) for s in signs] + [(None, None)]
        other = minimize(value, np.zeros(n + 1), method="L-BFGS-B", bounds=bounds).fun
        ours = value(np.append(found.weights, found.intercept))
        assert ours <= other * (1 + 1e-7)
