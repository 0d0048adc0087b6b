"""The group lasso: certificates, the general solver on the same problem, and enumeration."""

import numpy as np
import pytest

from formulakern.solvers import group_lasso
from formulakern.solvers.group_lasso import descend, dual_norms, polish, solve_group_lasso
from formulakern.solvers.hierarchical.losses import MultinomialLoss, loss_of
from formulakern.solvers.hierarchical.newton import Columns
from formulakern.solvers.hierarchical.norm import Lattice
from formulakern.solvers.hierarchical.solve import Features, solve_hierarchical

LOSSES = ["logistic", "squared_hinge", "hinge", "squared"]


def problem(name, seed, m=150, k=25, e=2):
    rng = np.random.default_rng(seed)
    bits = rng.random((k, m)) < 0.4
    others = rng.random((e, m))
    score = bits[:3].T @ [2.0, -2.0, 1.0] + others[0] + 0.5 * rng.normal(size=m)
    y = np.where(score > np.median(score), 1.0, -1.0)
    if name == "squared":
        y = score
    if name == "multinomial":
        y = np.digitize(score, np.quantile(score, [0.3, 0.6])).astype(np.float64)
    loss = loss_of(name, y, rng.uniform(1, 9, m))
    return bits, others, loss, Columns(bits.view(np.uint8), others)


def objective_of(solution, columns, penalties, loss):
    """The objective of the weights and intercepts, from its definition."""
    parts = [columns.predict(np.ascontiguousarray(w)) for w in solution.weights.T]
    u = parts[0] if loss.n_functions == 1 else np.stack(parts, axis=1)
    norm = float(penalties @ np.sqrt(np.square(solution.weights).sum(axis=1)))
    b = solution.intercept
    shift = b[loss.group] if loss.n_functions == 1 else b
    if loss.name == "hinge":
        value = float(loss.c @ np.maximum(0, 1 - loss.y * (u - shift)))
    else:
        value = loss.expand(u - shift).value
    return 0.5 * norm**2 + value


def test_equal_features_make_singular_systems():
    """Two equal features without a ridge: a step is finite, and does not lead upwards."""
    gram, weights, penalties = np.ones((2, 2)), np.ones((2, 1)), np.full(2, 2.0)

    def value(w):
        norm = penalties @ np.linalg.norm(w, axis=1)
        return 0.5 * norm**2 + 0.5 * float(((w.sum(axis=0) - 3.0) ** 2).sum())

    before = value(weights)
    slopes = np.tile(weights.sum(axis=0) - 3.0, (1, 2))
    polish(gram, weights, slopes, penalties)
    assert np.isfinite(weights).all()
    assert value(weights) <= before + 1e-12
    assert slopes == pytest.approx(np.tile(weights.sum(axis=0) - 3.0, (1, 2)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("separate", [False, True])
def test_blocks_end_at_a_minimum(seed, separate):
    """The curvatures of the classes differ by factors of up to a thousand."""
    rng = np.random.default_rng(seed)
    n, width = rng.integers(1, 6, 2).tolist()
    scale = 10.0 ** rng.uniform(-3, 0, width)
    gram = np.zeros((n, width, 1 if separate else width, n))
    if separate:
        for k in range(width):
            z = rng.normal(size=(2 * n, n))
            gram[:, k, 0] = scale[k] * z.T @ z
    else:
        z = rng.normal(size=(2 * n * width, n, width)) * np.sqrt(scale)
        gram = np.ascontiguousarray(np.einsum("mjk,mil->jkli", z, z))
    bends = np.abs(gram.diagonal(0, 0, 3)).sum(axis=1).T
    if separate:
        bends = gram.diagonal(0, 0, 3)[:, 0].T
    penalties = rng.uniform(0.5, 2, n)
    weights, norms = np.zeros((n, width)), np.zeros(n)
    slopes = rng.normal(size=(width, n)) * scale[:, None] * 10
    free = np.zeros(n, np.int64)
    bends = np.ascontiguousarray(bends)
    descend(gram, bends, weights, slopes, penalties, norms, free, 1_000_000, 1e-15)
    sizes = np.linalg.norm(weights, axis=1)
    assert norms == pytest.approx(sizes, abs=1e-9)
    norm, shares = penalties @ sizes, np.linalg.norm(slopes, axis=0) / penalties
    assert shares.max() <= norm + 1e-4
    for j in np.flatnonzero(sizes):
        rest = slopes[:, j] + penalties[j] * norm * weights[j] / sizes[j]
        assert np.abs(rest).max() <= 1e-4


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_classes_that_features_separate(C):
    """Probabilities are near 0 and 1, and the curvature of most rows near 0."""
    rng = np.random.default_rng(0)
    bits = (rng.random((12, 200)) < 0.5).astype(np.uint8)
    y = (bits[0] + bits[1] + (bits[2] & bits[3])).astype(np.float64)
    loss = MultinomialLoss(y, np.full(200, C / 200))
    solution = solve_group_lasso(Columns(bits, np.empty((0, 200))), np.ones(12), loss, tol=1e-5)
    assert solution.status == "optimal"
    assert solution.lower_bound >= (1 - 1e-5) * solution.objective


@pytest.mark.parametrize(("n", "seed"), [(20, 1), (60, 0)])
@pytest.mark.parametrize("C", [1e6, 5e7])
def test_a_rare_class_beside_separated_ones(n, seed, C):
    """Two of 4,000 rows have a class of their own; the features determine the other classes."""
    rng = np.random.default_rng(seed)
    bits = (rng.random((n, 4_000)) < 0.3).astype(np.uint8)
    y = (bits[0] + 2 * (bits[1] & bits[2])).astype(np.float64)
    y[rng.permutation(len(y))[:2]] = 4.0
    columns = Columns(np.vstack([bits, bits[1:2] & bits[2]]), np.empty((0, len(y))))
    loss, penalties = MultinomialLoss(y, np.full(len(y), C / len(y))), np.full(n + 1, 2.0)
    solution = solve_group_lasso(columns, penalties, loss, tol=1e-3)
    assert solution.status == "optimal"
    assert solution.lower_bound >= (1 - 1e-3) * solution.objective
    objective = objective_of(solution, columns, penalties, loss)
    assert solution.objective == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("name", [*LOSSES, "multinomial"])
@pytest.mark.parametrize("seed", [0, 1])
def test_certificate(name, seed):
    """The objective is that of the weights, and the dual solution bounds every other."""
    bits, others, loss, columns = problem(name, seed)
    penalties = np.random.default_rng(seed).uniform(1, 5, len(columns))
    solution = solve_group_lasso(columns, penalties, loss, tol=1e-4)
    assert solution.status == "optimal"
    assert solution.lower_bound >= (1 - 1e-4) * solution.objective
    found = objective_of(solution, columns, penalties, loss)
    assert found == pytest.approx(solution.objective, rel=1e-9)
    beta = solution.dual.reshape(len(loss.y), -1)
    assert np.abs(beta.sum(axis=0)).max() <= 1e-9 * np.abs(beta).sum()
    shares = dual_norms(np.vstack([bits, others]) @ beta, penalties)
    assert shares.max() ** 2 <= solution.square * (1 + 1e-9)
    bound = loss.conjugate(solution.dual) - 0.5 * solution.square
    assert bound == pytest.approx(solution.lower_bound, rel=1e-6)
    used = np.abs(solution.weights).sum(axis=1) > 0
    assert 0 < used.sum() < len(columns)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("signed", [False, True])
def test_is_the_hierarchical_problem_of_features_that_stand_alone(name, signed):
    bits, others, loss, columns = problem(name, 3)
    every = np.vstack([bits, others])
    signs = np.resize([1, 0, -1], len(every)) if signed else None
    solution = solve_group_lasso(columns, np.full(len(every), 2.0), loss, tol=1e-5, signs=signs)
    lattice = Lattice.of([()], 1.1, 1.0, len(every), 2.0)
    none = np.zeros((1, len(loss.y)), dtype=np.bool_)
    own = None if signs is None else np.append(0, signs)
    features = Features(lattice, none, every, own)
    again = loss_of(name, loss.y, loss.c)
    whole = solve_hierarchical([features], again, tol=1e-5)
    assert solution.lower_bound <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= solution.objective * (1 + 1e-9)
    if signed:
        assert (solution.weights[:, 0] * signs >= 0).all()


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_a_goal_ends_the_iteration(name):
    """The bounds show on which side of the goal the optimum is."""
    _, _, loss, columns = problem(name, 4)
    penalties = np.full(len(columns), 3.0)
    whole = solve_group_lasso(columns, penalties, loss, tol=1e-4)
    for share in (0.5, 0.9, 1.1, 1.5):
        goal = share * whole.objective
        found = solve_group_lasso(columns, penalties, loss, tol=1e-4, goal=goal)
        assert found.objective <= goal if share > 1 else found.lower_bound > goal


def test_several_intercepts():
    """One for each group of examples, as ordered classes have them."""
    _bits, _others, loss, columns = problem("logistic", 5)
    group = np.arange(len(loss.y)) % 3
    grouped = loss_of("logistic", loss.y, loss.c, group)
    solution = solve_group_lasso(columns, np.full(len(columns), 3.0), grouped, tol=1e-4)
    assert solution.status == "optimal"
    assert solution.intercept.shape == (3,)
    assert np.abs(np.bincount(group, solution.dual)).max() <= 1e-9 * np.abs(solution.dual).sum()
    found = objective_of(solution, columns, np.full(len(columns), 3.0), grouped)
    assert found == pytest.approx(solution.objective, rel=1e-9)


@pytest.mark.parametrize("name", [*LOSSES, "multinomial"])
def test_curvatures_of_other_weights_and_features(monkeypatch, name):
    monkeypatch.setattr(group_lasso, "MAX_JOINT_WEIGHTS", 0)
    monkeypatch.setattr(group_lasso, "MIN_KEPT_ENTRIES", 0)
    _, _, loss, columns = problem(name, 8)
    penalties, few = np.random.default_rng(8).uniform(1, 5, len(columns)), np.arange(1, 27, 2)
    before = solve_group_lasso(columns.take(few), penalties[few], loss, tol=0.1).curvature
    known = before.at(few[before.features])
    np.testing.assert_array_equal(known.at(known.features[::-1] - 1).features % 2, 0)
    solution = solve_group_lasso(columns, penalties, loss, tol=1e-5, curvature=known)
    assert solution.status == "optimal"
    cold = solve_group_lasso(columns, penalties, problem(name, 8)[2], tol=1e-5)
    assert solution.objective == pytest.approx(cold.objective, rel=2e-5)
    assert set(solution.curvature.features) >= set(np.flatnonzero(solution.weights.any(axis=1)))


def test_a_start_is_gone_on_with():
    _, _, loss, columns = problem("multinomial", 6)
    penalties = np.full(len(columns), 2.0)
    cold = solve_group_lasso(columns, penalties, loss, tol=1e-3)
    warm = solve_group_lasso(
        columns, penalties, loss, tol=1e-3, start=(cold.weights, cold.intercept)
    )
    assert warm.iterations == 0
    assert warm.objective == pytest.approx(cold.objective)


def test_no_features():
    _, _, loss, _ = problem("logistic", 7)
    none = Columns(np.zeros((0, len(loss.y)), np.uint8), np.zeros((0, len(loss.y))))
    solution = solve_group_lasso(none, np.zeros(0), loss, tol=1e-6)
    assert solution.status == "optimal"
    assert solution.weights.shape == (0, 1)
