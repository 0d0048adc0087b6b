"""Hierarchical kernel learning on given nodes: optimal, and the certificate proves it."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import formulakern as fk
from formulakern.deadline import Deadline
from formulakern.solvers.blas import one_thread
from formulakern.solvers.hierarchical import solve as hierarchical
from formulakern.solvers.hierarchical.losses import LOSSES, Loss
from formulakern.solvers.hierarchical.norm import Lattice
from tests.hierarchical import solved

RHOS = (1.1, 1.5, 2.0)


def all_nodes(p):
    return [v for size in range(p + 1) for v in combinations(range(p), size)]


def columns_of(X, nodes):
    return np.stack([X[:, list(v)].all(axis=1) for v in nodes], axis=1)


def problem(seed, p=4, m=30, loss="hinge"):
    """Noisy labels from a conjunction of two, over all nodes in random order."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, p))
    nodes = [all_nodes(p)[k] for k in rng.permutation(2**p)]
    y = np.where(X[:, 0] & X[:, -1], 1.0, -1.0) * np.where(rng.random(m) < 0.15, -1, 1)
    y[:2] = 1, -1
    if loss == "squared":
        y = 3 * y + rng.normal(size=m)
    return columns_of(X, nodes), nodes, y


# the slow definitions


def naive_norm(f, nodes, rho, a):
    total = 0.0
    for v in nodes:
        group = [f[k] for k, w in enumerate(nodes) if set(v) <= set(w)]
        total += a ** len(v) * np.sum(np.abs(group) ** rho) ** (1 / rho)
    return total


def naive_losses(name, y, u):
    z = y * u
    return {
        "hinge": lambda: np.maximum(0, 1 - z),
        "squared_hinge": lambda: np.maximum(0, 1 - z) ** 2,
        "logistic": lambda: np.logaddexp(0, -z),
        "squared": lambda: (y - u) ** 2,
    }[name]()


def naive_objective(f, b, columns, nodes, y, *, rho, C, a, loss, s=1.0, others=None, d=1.0):
    beyond = np.zeros((len(y), 0)) if others is None else others
    u = np.column_stack([columns, beyond]) @ f - b
    norm = naive_norm(f[: len(nodes)], nodes, rho, a) + d * np.abs(f[len(nodes) :]).sum()
    return 0.5 * norm**2 + C * np.sum(s * naive_losses(loss, y, u))


def naive_bound(solution, columns, nodes, y, *, rho, C, a, loss, others, d):
    """Return the dual objective at β, with g split over the groups as in the certificate."""
    beta, eta = solution.dual, np.maximum(solution.certificate, 1e-14)[: len(nodes)]
    alone = np.abs(beta @ others).max(initial=0.0) / d
    g = beta @ columns
    penalty = np.array([a ** len(v) for v in nodes])
    inside = np.array([[set(v) <= set(w) for w in nodes] for v in nodes])
    split = np.where(inside, (penalty**rho * eta ** (1 - rho))[:, None], 0.0)
    split *= g / split.sum(axis=0)
    dual = rho / (rho - 1)
    size = np.abs(split).max() or 1.0
    norms = size * np.sum((np.abs(split) / size) ** dual, axis=1) ** (1 / dual)
    alpha = y * beta
    if loss == "hinge":
        value = alpha.sum()
    elif loss == "logistic":
        q = np.clip(alpha / C, 1e-300, 1 - 1e-16)
        value = -C * np.sum(q * np.log(q) + (1 - q) * np.log1p(-q))
    else:
        value = np.sum(alpha - beta**2 / (4 * C))
    return value - 0.5 * max(np.max(norms / penalty), alone) ** 2


def general_solver(columns, nodes, y, *, rho, C, a, loss):
    """L-BFGS on a smoothed objective that ever closer follows the true one; its best value."""
    d = np.array([a ** len(v) for v in nodes])
    inside = np.array([[set(v) <= set(w) for w in nodes] for v in nodes], dtype=float)

    def smooth(x, width):
        f, b = x[:-1], x[-1]
        size = np.sqrt(f**2 + width**2)
        norms = (inside @ size**rho) ** (1 / rho)
        omega = d @ norms
        slope = omega * (inside.T @ (d * norms ** (1 - rho))) * size ** (rho - 2) * f
        u = columns @ f - b
        z = y * u
        if loss == "hinge":
            value = width * np.logaddexp(0, (1 - z) / width)
            beta = y * np.exp(-np.logaddexp(0, (z - 1) / width))
        elif loss == "squared_hinge":
            value, beta = np.maximum(0, 1 - z) ** 2, 2 * y * np.maximum(0, 1 - z)
        elif loss == "logistic":
            value, beta = np.logaddexp(0, -z), y * np.exp(-np.logaddexp(0, z))
        else:
            value, beta = (y - u) ** 2, 2 * (y - u)
        gradient = np.append(slope - C * beta @ columns, C * beta.sum())
        return 0.5 * omega**2 + C * value.sum(), gradient

    x = np.zeros(len(nodes) + 1)
    best = np.inf
    for width in 10.0 ** -np.arange(1, 5.5):
        options = {"maxiter": 500, "maxcor": 30, "ftol": 1e-10, "gtol": 1e-8}
        with one_thread():
            x = minimize(smooth, x, (width,), jac=True, method="L-BFGS-B", options=options).x
        value = naive_objective(x[:-1], x[-1], columns, nodes, y, rho=rho, C=C, a=a, loss=loss)
        best = min(best, value)
    return best


# optimality


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize(("seed", "p", "C"), [(0, 3, 0.3), (1, 4, 3.0)])
def test_equals_a_general_solver(loss, rho, seed, p, C):
    columns, nodes, y = problem(seed, p, 25 + 5 * seed, loss)
    options = {"rho": rho, "C": C, "loss": loss}
    solution = solved(columns, nodes, y, depth_penalty=2.0, tol=1e-5, **options)
    other = general_solver(columns, nodes, y, a=2.0, **options)
    assert solution.status == "optimal"
    assert solution.gap <= 1e-5
    assert solution.lower_bound <= other * (1 + 1e-9)
    assert solution.objective <= other * (1 + 1.1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rho", RHOS)
def test_all_64_nodes(rho, loss):
    columns, nodes, y = problem(5, 6, 30, loss)
    options = {"rho": rho, "C": 1.0, "loss": loss}
    solution = solved(columns, nodes, y, tol=1e-4, **options)
    other = general_solver(columns, nodes, y, a=2.0, **options)
    assert solution.gap <= 1e-4
    assert solution.lower_bound <= other * (1 + 1e-9)
    assert solution.objective <= other * (1 + 1.1e-4)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(3, 30),
    st.floats(1.02, 2.0),
    st.floats(-3, 3),
    st.sampled_from([1.0, 1.5, 4.0]),
    st.sampled_from(LOSSES),
    st.integers(0, 3),
)
@example(3, 3, 28, 1.5, 1.25, 1.0, "hinge", 2)  # the dual norm needs many steps
@example(3, 3, 28, 1.125, 1.125, 1.0, "hinge", 2)  # no smaller gap than 9e-4 is reached
def test_the_certificate_holds(seed, p, m, rho, log_C, a, loss, n_others):
    columns, nodes, y = problem(seed, p, m, loss)
    others = np.random.default_rng(seed).random((m, n_others))
    others[:, :1] = (others[:, :1] + y[:, None] + 1) / 4  # one that is worth its weight
    options = {"rho": rho, "C": 10**log_C, "loss": loss}
    beyond = {"others": others, "other_penalty": 0.7}
    tol = 1e-3 if n_others else 1e-4
    solution = solved(columns, nodes, y, depth_penalty=a, tol=tol, **beyond, **options)
    assert solution.status == "optimal"
    assert solution.gap <= tol
    naive = {**options, "a": a, "others": others, "d": 0.7}
    # the objective is the objective of f and b
    value = naive_objective(solution.weights, solution.intercept, columns, nodes, y, **naive)
    assert solution.objective == pytest.approx(value, rel=1e-9)
    # the dual variables are feasible, and give the bound
    scale = np.abs(solution.dual).sum()
    assert abs(solution.dual.sum()) <= 1e-9 * scale
    alpha = y * solution.dual
    if loss in ("hinge", "logistic"):
        assert alpha.max() <= options["C"] * (1 + 1e-12)
    if loss != "squared":
        assert alpha.min() >= 0
    bound = naive_bound(solution, columns, nodes, y, **naive)
    assert solution.lower_bound == pytest.approx(bound, rel=1e-9)
    assert solution.lower_bound <= bound * (1 + 1e-13)
    # nothing near the solution, or far from it, is below the bound
    rng = np.random.default_rng(seed)
    for spread in (1e-4, 1e-2, 1.0):
        f = solution.weights + spread * rng.normal(size=len(nodes) + n_others)
        other = naive_objective(f, solution.intercept, columns, nodes, y, **naive)
        assert other >= solution.lower_bound


def test_a_feature_outside_the_lattice_alone():
    # minimise ½d²f² + C Σ (y − fz − b)²: ridge regression on z
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=40), rng.normal(size=40)
    y = y + 2 * z
    beyond = {"others": z[:, None], "other_penalty": 3.0}
    solution = solved(np.ones((40, 1)), [()], y, C=0.4, loss="squared", tol=1e-8, **beyond)
    centred = z - z.mean()
    assert solution.weights[1] == pytest.approx(centred @ y / (centred @ centred + 9 / 0.8))


def test_few_rounds_give_a_valid_bound_too():
    columns, nodes, y = problem(3, 4, 30)
    best = solved(columns, nodes, y, C=10.0, tol=1e-6).objective
    for rounds in (1, 2, 3):
        early = solved(columns, nodes, y, C=10.0, tol=1e-9, max_iter=rounds)
        assert early.status == "iteration_limit"
        assert early.lower_bound <= best
        assert early.objective >= best * (1 - 1e-6)
        assert early.gap == (early.objective - early.lower_bound) / early.objective


# the norm


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 4), st.floats(1.01, 2.0), st.floats(1.0, 5.0))
def test_norm_and_dual_norm(seed, p, rho, a):
    rng = np.random.default_rng(seed)
    nodes = all_nodes(p)
    lattice = Lattice.of(nodes, rho, a)
    f, g, h = rng.normal(size=(3, len(nodes))) * (rng.random((3, len(nodes))) < 0.8)
    assert lattice.norm(f) == pytest.approx(naive_norm(f, nodes, rho, a))
    if np.any(f):
        scales = lattice.scales(f)
        used = f != 0
        assert np.sum(f[used] ** 2 / scales[used]) == pytest.approx(lattice.norm(f) ** 2)
    dual = lattice.dual_norm(g, np.ones(len(nodes)), tol=1e-6, steps=3000)
    assert dual.lower <= dual.upper * (1 + 1e-12)
    assert dual.upper <= dual.lower * 1.01 + 1e-12
    for other in (f, h, dual.scales * g):
        assert abs(other @ g) <= dual.upper * lattice.norm(other) * (1 + 1e-9)
    if np.any(g):  # and a direction nearly attains it
        best = dual.scales * g
        assert best @ g >= 0.95 * dual.upper * lattice.norm(best)


@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_of_the_losses(loss):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    u, c = 2 * rng.normal(size=50), rng.uniform(0.5, 2, 50)
    read = Loss(loss, y, c)
    at, step = read.expand(u), 1e-6
    for i in range(50):
        up, down = u.copy(), u.copy()
        up[i] += step
        down[i] -= step
        slope = (read.expand(up).value - read.expand(down).value) / (2 * step)
        assert -at.beta[i] == pytest.approx(slope, abs=1e-6)
        bend = (read.expand(down).beta[i] - read.expand(up).beta[i]) / (2 * step)
        assert at.curvature[i] == pytest.approx(bend, abs=1e-4)
    # Fenchel: equality at β, a bound at other predictions
    smoothing = (read.width - read.true_width) / 2 * np.sum(at.beta**2 / c)
    smoothed = read.conjugate(at.beta) - smoothing
    assert at.value == pytest.approx(smoothed - at.beta @ u)
    other = rng.normal(size=50)
    assert read.expand(other).value >= smoothed - at.beta @ other
    b, balanced = read.intercept(u, 0.0)
    assert abs(balanced.beta.sum()) < 1e-9
    _, lowest = read.true_intercept(u, b)
    true = [np.sum(c * naive_losses(loss, y, u - t)) for t in np.linspace(-4, 4, 2001)]
    assert lowest <= min(true) + 1e-9
    assert lowest >= min(true) - 0.1


# properties of the solution


def test_two_norm_selects_sets_closed_under_subsets_and_others_need_not():
    """Exclusive or, with the literals as propositions 0, 1 (x, not x) and 2, 3 (z, not z)."""
    rng = np.random.default_rng(1)
    x, z = rng.integers(0, 2, (2, 60))
    nodes = [v for v in all_nodes(4) if not {0, 1} <= set(v) and not {2, 3} <= set(v)]
    columns = columns_of(np.stack([x, 1 - x, z, 1 - z], axis=1), nodes)
    y = np.where(x ^ z, 1, -1)

    def shares(rho):
        solution = solved(
            columns, nodes, y, rho=rho, C=1.0, depth_penalty=1.2, loss="logistic", tol=1e-6
        )
        size = np.abs(solution.weights)
        return dict(zip(nodes, size / size.max(), strict=True))

    smooth, sparse = shares(2.0), shares(1.1)
    pairs = [v for v in nodes if len(v) == 2]
    assert min(smooth[v] for v in pairs) > 0.1
    assert min(smooth[v] for v in nodes if v) > 1e-3
    assert sum(sparse[v] > 0.1 for v in pairs) >= 2
    assert max(sparse[v] for v in nodes if len(v) < 2) < 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_starts_end_at_the_same_optimum(loss):
    columns, nodes, y = problem(7, 4, 40, loss)
    cold = solved(columns, nodes, y, C=10.0, loss=loss, tol=1e-5)
    near = solved(columns, nodes, y, C=9.0, loss=loss, tol=1e-5)
    warm = solved(columns, nodes, y, C=10.0, loss=loss, tol=1e-5, start=near.start)
    wild = solved(
        columns, nodes, y, C=10.0, loss=loss, tol=1e-5, start=(1e3 * np.arange(16.0), -50.0)
    )
    for other in (warm, wild):
        assert other.status == "optimal"
        assert other.objective == pytest.approx(cold.objective, rel=2e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetitions_and_scale_with_C(loss):
    columns, nodes, y = problem(8, 3, 20, loss)
    times = np.arange(20) % 3
    times[:2] = 1
    options = {"loss": loss, "tol": 1e-6, "rho": 1.5}
    weighted = solved(columns, nodes, y, C=2.0, sample_weight=times, **options)
    repeated = solved(
        np.repeat(columns, times, axis=0), nodes, np.repeat(y, times), C=2.0, **options
    )
    halved = solved(columns, nodes, y, C=4.0, sample_weight=times / 2, **options)
    for other in (repeated, halved):
        assert other.objective == pytest.approx(weighted.objective, rel=3e-6)
    assert np.all(weighted.dual[times == 0] == 0)
    value = naive_objective(
        weighted.weights, weighted.intercept, columns, nodes, y,
        rho=1.5, C=2.0, a=2.0, loss=loss, s=times,
    )  # fmt: skip
    assert weighted.objective == pytest.approx(value, rel=1e-9)


def test_the_optimum_is_concave_and_grows_with_C():
    columns, nodes, y = problem(9, 4, 40)
    runs = [solved(columns, nodes, y, C=C, tol=1e-5) for C in (1.0, 2.0, 3.0)]
    low, middle, high = (run.objective for run in runs)
    assert low < middle < high < 3 * low
    assert middle >= (low + high) / 2 * (1 - 1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_constant_and_empty_columns(loss):
    """Propositions 1 and 2 are equal, 3 is always true, 4 never."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (25, 5))
    X[:, 2], X[:, 3], X[:, 4] = X[:, 1], 1, 0
    nodes = all_nodes(5)
    y = np.where(X[:, 0] | X[:, 1], 1.0, -1.0)
    solution = solved(columns_of(X, nodes), nodes, y, loss=loss, C=10.0, tol=1e-4)
    assert solution.status == "optimal"
    other = [nodes.index((1,)), nodes.index((2,))]
    assert solution.weights[other[0]] == pytest.approx(solution.weights[other[1]], rel=1e-2)
    assert np.all(np.abs(solution.weights[[4 in v for v in nodes]]) < 1e-12)


def test_contradictory_rows_and_more_nodes_than_rows():
    nodes = all_nodes(5)
    columns = np.ones((2, 32), dtype=bool)
    solution = solved(columns, nodes, [1, -1], C=3.0)
    assert solution.objective == pytest.approx(6.0)
    columns[1, 1:] = False
    separable = solved(columns, nodes, [1, -1], C=1e3)
    assert separable.status == "optimal"
    u = columns @ separable.weights - separable.intercept
    assert u[0] > 0.99
    assert u[1] < -0.99


def test_nodes_in_any_form_and_order():
    columns, nodes, y = problem(4, 3, 20)
    solution = solved(columns, nodes, y, tol=1e-6)
    order = np.random.default_rng(0).permutation(8)
    other = solved(
        columns[:, order].astype(float), [frozenset(nodes[k]) for k in order], y, tol=1e-6
    )
    assert other.objective == pytest.approx(solution.objective, rel=2e-6)


def test_a_large_problem():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 30)) < 0.4
    nodes = [v for size in range(3) for v in combinations(range(30), size)]
    y = np.where((X[:, 0] & X[:, 1]) | (X[:, 2] & ~X[:, 3]), 1, -1)
    solution = solved(columns_of(X, nodes), nodes, y, C=1.0)
    assert solution.status == "optimal"


# limits and refusals


def test_interruption_is_passed_on(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    columns, nodes, y = problem(6)
    monkeypatch.setattr(hierarchical, "minimise_ridge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solved(columns, nodes, y)


def test_a_time_limit_is_no_failure():
    columns, nodes, y = problem(6, 4, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solved(columns, nodes, y, C=10.0, tol=1e-9, deadline=Deadline.of(0))
    assert solution.status == "time_limit"
    assert solution.iterations == 1
    assert 0 < solution.gap < 1


def test_penalties_out_of_range():
    with pytest.raises(fk.ParameterError, match="to the power 2 exceeds"):
        Lattice.of([(), (0,), (1,), (0, 1)], 1.1, 1e40)
