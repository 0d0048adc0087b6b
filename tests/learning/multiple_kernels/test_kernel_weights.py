"""Learned weights of kernels against general solvers, published procedures, and their bounds."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

import formulakern as fk
from formulakern.gram.triple_index import TripleIndex
from formulakern.learning.multiple_kernels import (
    ClassPair,
    KernelFamily,
    easy_weights,
    lp_norm_weights,
    norm_weights,
    one_against_one,
)

FORMULAS = ("a", "a & b", "a & ~b", "a ^ b", "(a & b) | c")


class Given:
    """Gram matrices in place of kernels and rows."""

    def __init__(self, grams):
        self.grams = np.asarray(grams, dtype=float)
        self.n_kernels, self.n_rows = self.grams.shape[:2]
        self.largest = self.grams.diagonal(axis1=1, axis2=2).max(axis=1)

    def combined(self, weights, out=None):
        return np.tensordot(weights, self.grams, 1)

    def forms(self, u):
        return np.maximum(0.0, np.einsum("i,rij,j->r", u, self.grams, u))


def task_of(signs, weights=None):
    signs = np.asarray(signs, dtype=np.int8)
    weights = np.ones(len(signs)) if weights is None else np.asarray(weights, dtype=float)
    return ClassPair(np.arange(len(signs)), signs, weights)


@st.composite
def problems(draw, most=7):
    """Gram matrices of points with small integers, and signs of both kinds."""
    m, n_kernels = draw(st.integers(2, most)), draw(st.integers(1, 3))
    cells = st.integers(-2, 2)
    points = [
        np.array(draw(st.lists(st.lists(cells, min_size=2, max_size=2), min_size=m, max_size=m)))
        for _ in range(n_kernels)
    ]
    signs = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=m, max_size=m)))
    assume(len(set(signs.tolist())) == 2)
    return np.array([p @ p.T for p in points], dtype=float), signs


@pytest.fixture(scope="module")
def boards():
    """120 tic-tac-toe boards of 0 and 1, their signs, and the normalised kernels of FORMULAS."""
    X, y = fk.datasets.tic_tac_toe()
    rows = np.random.default_rng(0).permutation(len(y))[:120]
    table = fk.PropositionEncoder().fit_transform(X)[rows]
    return table, np.where(y[rows] == "positive", 1, -1), [
        fk.kernel(text, "distinct").normalized() for text in FORMULAS
    ]  # fmt: skip


# -- the slow definitions ---------------------------------------------------------------------


def slow_easy(grams, signs, lam, row_weights=None):
    """EasyMKL as its paper and MKLpy write it, the quadratic program by a general solver."""
    y, m = signs.astype(float), len(signs)
    ridge = lam * np.eye(m) if row_weights is None else lam * np.diag(1 / np.asarray(row_weights))
    H = (1 - lam) * np.outer(y, y) * grams.sum(axis=0) + ridge
    start = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    scale = float(start @ H @ start) or 1.0
    found = minimize(
        lambda g: float(g @ H @ g) / scale,
        start,
        jac=lambda g: 2 * H @ g / scale,
        bounds=[(0, None)] * m,
        constraints=[
            {"type": "eq", "fun": lambda g, s=s: g[y == s].sum() - 1, "jac": lambda g, s=s: y == s}
            for s in (1, -1)
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    u = found.x * y
    forms = np.einsum("i,rij,j->r", u, grams, u)
    return forms / forms.sum() if forms.sum() > 0 else forms, float(found.x @ H @ found.x)


def slow_dual(grams, signs, box, p):
    """max Σ α − ½ ‖d‖_q by a general solver; for p = 1 the largest d is a variable."""
    y, m = signs.astype(float), len(signs)
    signed = np.outer(y, y) * grams
    q = 1.0 if p == math.inf else p / (p - 1) if p > 1 else math.inf

    def forms(alpha):
        return np.maximum(0.0, np.einsum("i,rij,j->r", alpha, signed, alpha))

    balance = {"type": "eq", "fun": lambda v: v[:m] @ y}
    options = {"ftol": 1e-13, "maxiter": 2000}
    bounds = [(0, c) for c in box]
    if q == math.inf:
        below = {"type": "ineq", "fun": lambda v: v[m] - forms(v[:m])}
        found = minimize(
            lambda v: v[m] / 2 - v[:m].sum(),
            np.zeros(m + 1),
            bounds=[*bounds, (0, None)],
            constraints=[balance, below],
            method="SLSQP",
            options=options,
        )
        alpha = found.x[:m]
    else:
        found = minimize(
            lambda a: np.linalg.norm(forms(a), q) / 2 - a.sum(),
            np.zeros(m),
            bounds=bounds,
            constraints=[balance],
            method="SLSQP",
            options=options,
        )
        alpha = found.x
    return float(alpha.sum() - np.linalg.norm(forms(alpha), q) / 2)


# -- families of kernels ----------------------------------------------------------------------


def check_family(kernels, rows):
    family = KernelFamily(kernels, rows)
    generator = np.random.default_rng(0)
    weights, u = generator.random(len(kernels)), generator.normal(size=family.n_rows)
    u[generator.random(len(u)) < 0.3] = 0
    grams = np.array([k(rows) for k in kernels])
    expected = np.tensordot(weights, grams, 1)
    out = np.full_like(expected, np.nan)
    assert family.combined(weights, out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    exact = np.einsum("i,rij,j->r", u, grams, u)
    np.testing.assert_allclose(family.forms(u), np.maximum(exact, 0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(family.largest, grams.diagonal(0, 1, 2).max(axis=1))
    shares = generator.random(family.n_rows)
    variances = [np.average(g.diagonal(), weights=shares) for g in grams]
    variances -= np.einsum("i,rij,j->r", shares, grams, shares) / shares.sum() ** 2
    np.testing.assert_allclose(family.variances(shares), variances, rtol=1e-9, atol=1e-9)
    scaled = family.scaled(1 + weights)
    np.testing.assert_allclose(scaled.forms(u), (1 + weights) * family.forms(u))
    np.testing.assert_allclose(scaled.combined(weights / (1 + weights)), expected)
    np.testing.assert_allclose(scaled.largest, (1 + weights) * family.largest)
    return family


@pytest.mark.parametrize("density", [0.2, 0.5])
def test_sums_and_forms_are_those_of_the_matrices(density):
    rows = (np.random.default_rng(1).random((40, 9)) < density).astype(np.uint8)
    kernels = [fk.kernel(text).normalized() for text in FORMULAS]
    kernels += [fk.kernel("a | b", "free"), fk.kernel("a") + 0.5 * fk.kernel("a & b")]
    assert check_family(kernels, rows).n_shared == len(kernels)


def test_kernels_with_counts_of_their_own():
    rows = (np.random.default_rng(2).random((30, 8)) < 0.5).astype(np.uint8)
    domains = {"g": [0, 1, 2], "h": [3, 4, 5, 6, 7]}
    kernels = [
        fk.kernel("a"),
        fk.kernel("a:g & b:h", domains=domains),
        fk.kernel("a:g", domains=domains),
        fk.graded(fk.kernel("a & b")),
        fk.kernel("a & b"),
    ]
    family = check_family(kernels, rows)
    assert 2 <= family.n_shared <= 5
    check_family(kernels[3:4], rows)  # none shares anything


def test_many_kernels_cost_little_more_than_one(monkeypatch):
    """The joint counts of all pairs of rows are found once."""
    made = []

    class Counted(TripleIndex):
        def __init__(self, tables):
            made.append(tables.shape)
            super().__init__(tables)

    monkeypatch.setattr("formulakern.kernels.shared_grams.TripleIndex", Counted)
    rows = (np.random.default_rng(1).random((20, 9)) < 0.5).astype(np.uint8)
    KernelFamily([fk.kernel(text, "distinct") for text in FORMULAS * 4], rows)
    assert made == [(20, 20)]


def test_tasks_leave_out_rows_without_weight():
    codes = np.array([0, 1, 2, 2, 1])
    tasks = one_against_one(codes, np.array([1.0, 2.0, 0.0, 0.0, 0.5]))
    assert list(tasks) == [(1, 0)]
    (task,) = tasks.values()
    assert task.rows.tolist() == [0, 1, 4]
    assert task.row_weights.tolist() == [1.0, 2.0, 0.5]
    np.testing.assert_array_equal(task.expanded(np.array([1.0, 2.0, 3.0]), 5), [1, 2, 0, 0, 3])


# -- EasyMKL ----------------------------------------------------------------------------------


@given(problems(), st.sampled_from([0.05, 0.3, 0.9]))
@settings(max_examples=30)
def test_easy_weights_are_those_of_a_general_solver(data, lam):
    grams, signs = data
    expected, value = slow_easy(grams, signs, lam)
    found = easy_weights(Given(grams), [task_of(signs)], lam, tol=1e-9)
    assert found.converged
    assert found.lower_bound <= value * (1 + 1e-6) + 1e-9
    assert value <= found.upper_bound * (1 + 1e-6) + 1e-9
    assert found.weights.sum() == pytest.approx(1)
    if value > 1e-3 and expected.sum() > 0 and grams.any():
        np.testing.assert_allclose(found.weights, expected, atol=2e-3)


@pytest.mark.parametrize("lam", [0.01, 0.1, 0.5, 0.95])
def test_easy_weights_are_those_of_the_published_procedure(boards, lam):
    rows, signs, kernels = boards
    rows, signs = rows[:60], signs[:60]
    found = easy_weights(KernelFamily(kernels, rows), [task_of(signs)], lam)
    weights, value = slow_easy(np.array([k(rows) for k in kernels]), signs, lam)
    assert found.lower_bound <= value * (1 + 1e-6)
    assert value <= found.upper_bound * (1 + 1e-6)
    np.testing.assert_allclose(found.weights, weights, atol=1e-4)


def test_easy_weights_at_the_ends():
    generator = np.random.default_rng(3)
    points = generator.normal(size=(3, 12, 20))
    grams = points @ points.transpose(0, 2, 1)
    signs = np.where(np.arange(12) < 5, 1, -1)
    means = easy_weights(Given(grams), [task_of(signs)], 1.0)
    expected = [
        np.sum((p[signs > 0].mean(axis=0) - p[signs < 0].mean(axis=0)) ** 2) for p in points
    ]
    np.testing.assert_allclose(means.weights, expected / np.sum(expected))
    assert means.gap == 0
    assert means.value == pytest.approx(1 / 5 + 1 / 7)
    near = easy_weights(Given(grams), [task_of(signs)], 1 - 1e-9).weights
    np.testing.assert_allclose(means.weights, near, atol=1e-4)
    hulls = easy_weights(Given(grams), [task_of(signs)], 0.0)
    np.testing.assert_allclose(hulls.weights, slow_easy(grams, signs, 0.0)[0], atol=1e-3)


def test_a_row_of_weight_two_is_two_rows(boards):
    rows, signs, kernels = boards
    rows, signs, repeats = rows[:40], signs[:40], np.arange(40) % 3 + 1
    weighted = ClassPair(np.arange(40), signs.astype(np.int8), repeats.astype(float))
    family, longer = KernelFamily(kernels, rows), KernelFamily(kernels, rows.repeat(repeats, 0))
    plain = task_of(signs.repeat(repeats))
    for lam in (0.2, 1.0):
        one, other = easy_weights(family, [weighted], lam), easy_weights(longer, [plain], lam)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)
        assert one.value == pytest.approx(other.value, rel=1e-5)
    one = lp_norm_weights(family, [weighted], 1.5, tol=1e-6)
    other = lp_norm_weights(longer, [plain], 1.5, tol=1e-6)
    assert one.value == pytest.approx(other.value, rel=1e-5)


def test_hulls_that_meet_leave_equal_weights():
    grams = np.array([np.ones((4, 4)), np.zeros((4, 4))])
    found = easy_weights(Given(grams), [task_of([1, -1, 1, -1])], 0.0)
    assert found.weights.tolist() == [0.5, 0.5]
    assert (found.gap, found.lower_bound) == (0.0, 0.0)


def test_tasks_share_the_weights(boards):
    rows, _, kernels = boards
    family = KernelFamily(kernels, rows)
    codes = np.random.default_rng(1).integers(0, 3, len(rows)) + rows[:, 0]
    tasks = list(one_against_one(codes, np.ones(len(rows))).values())
    forms = np.zeros(len(kernels))
    for task in tasks:
        part = KernelFamily(kernels, rows[task.rows])
        forms += part.forms(easy_weights(part, [task_of(task.signs)]).coefficients[0])
    found = easy_weights(family, tasks)
    np.testing.assert_allclose(found.weights, forms / forms.sum(), atol=1e-5)
    twice = lp_norm_weights(family, [tasks[0]] * 2, 2.0, tol=1e-6)
    once = lp_norm_weights(family, [tasks[0]], 2.0, tol=1e-6)
    assert lp_norm_weights(family, tasks, 2.0).converged
    assert 2 * once.lower_bound >= twice.lower_bound - 1e-4 * twice.value
    np.testing.assert_allclose(once.weights, twice.weights, atol=1e-2)


# -- l_p norms --------------------------------------------------------------------------------


@given(
    problems(6), st.sampled_from([1.0, 1.2, 2.0, 5.0, math.inf]), st.sampled_from([0.1, 1.0, 20.0])
)
@settings(max_examples=30)
def test_the_certified_bounds_hold_the_optimum(data, p, C):
    grams, signs = data
    box = C * np.linspace(1, 2, len(signs))
    exact = slow_dual(grams, signs, box, p)
    found = lp_norm_weights(Given(grams), [task_of(signs, box / C)], p, C, tol=1e-5)
    assert exact <= found.upper_bound * (1 + 1e-6) + 1e-9
    assert found.lower_bound <= exact * (1 + 1e-4) + 1e-4 * C  # the general solver is less exact
    assert found.weights.min() >= 0
    assert np.linalg.norm(found.weights, p) == pytest.approx(1)
    assert found.converged
    for u in found.coefficients:
        assert u.sum() == pytest.approx(0, abs=1e-9 * C)
        assert (np.abs(u) <= box).all()


def test_a_weight_that_comes_to_zero_is_tried_again():
    first, second = np.zeros((5, 5)), np.zeros((5, 5))
    first[np.ix_([2, 4], [2, 4])] = 4
    second[np.ix_([0, 2, 4], [0, 2, 4])] = [[1, 0, 1], [0, 1, -1], [1, -1, 2]]
    signs, box = np.array([1, -1, -1, 1, -1]), np.linspace(1, 2, 5)
    found = lp_norm_weights(Given(np.array([first, second])), [task_of(signs, box)], 1.2, tol=1e-5)
    assert found.converged


@pytest.mark.parametrize("p", [1.0, 1.1, 2.0, 8.0, math.inf])
def test_a_support_vector_machine_with_the_weights_is_as_good_as_certified(boards, p):
    rows, signs, kernels = boards
    family, C = KernelFamily(kernels, rows), 3.0
    found = lp_norm_weights(family, [task_of(signs)], p, C, tol=1e-6)
    assert found.converged
    assert 0 <= found.gap <= 1e-6
    K = family.combined(found.weights)
    svc = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, signs)
    hinge = np.maximum(0, 1 - signs * svc.decision_function(K)).sum()
    u = svc.dual_coef_[0]
    primal = u @ K[np.ix_(svc.support_, svc.support_)] @ u / 2 + C * hinge
    assert found.lower_bound * (1 - 1e-7) <= primal <= found.upper_bound * (1 + 1e-5)
    if 1 < p < math.inf:  # where all is optimal: weights are the dual ones, d_r^{1/(p - 1)}
        forms = family.forms(found.coefficients[0])
        optimal = (forms / forms.max()) ** (1 / (p - 1))
        np.testing.assert_allclose(found.weights, optimal / np.linalg.norm(optimal, p), atol=5e-3)


def test_no_other_weights_are_better(boards):
    rows, signs, kernels = boards
    family, generator = KernelFamily(kernels, rows), np.random.default_rng(4)
    for p in (1.0, 2.0):
        best = lp_norm_weights(family, [task_of(signs)], p, tol=1e-4).lower_bound
        for _ in range(5):
            weights = generator.random(len(kernels)) ** 3
            K = family.combined(weights / np.linalg.norm(weights, p))
            svc = SVC(kernel="precomputed", tol=1e-8).fit(K, signs)
            u = svc.dual_coef_[0]
            dual = np.abs(u).sum() - u @ K[np.ix_(svc.support_, svc.support_)] @ u / 2
            assert best <= dual * (1 + 1e-9)


def test_best_weights_for_norms_minimise():
    norms = np.array([3.0, 1.0, 0.0, 0.5])
    for p in (1.0, 1.3, 2.0, 6.0):
        best = norm_weights(norms, p)
        assert np.linalg.norm(best, p) == pytest.approx(1)
        used = norms > 0
        least = np.sum(norms[used] ** 2 / best[used])
        assert least == pytest.approx(np.linalg.norm(norms, 2 * p / (p + 1)) ** 2)
        for other in np.random.default_rng(0).random((50, 4)):
            other /= np.linalg.norm(other, p)
            assert np.sum(norms[used] ** 2 / other[used]) >= least * (1 - 1e-12)


# -- hostile input ----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("C", [1e-12, 1.0, 1e12])
def test_extreme_penalties(boards, p, C):
    rows, signs, kernels = boards
    found = lp_norm_weights(KernelFamily(kernels, rows[:40]), [task_of(signs[:40])], p, C)
    assert found.converged
    assert 0 <= found.lower_bound <= found.upper_bound
    assert np.isfinite(found.weights).all()


@pytest.mark.parametrize("p", [1.0, 3.0, math.inf])
def test_zero_and_repeated_kernels(p):
    points = np.random.default_rng(5).normal(size=(10, 3))
    K = points @ points.T
    signs = np.where(np.arange(10) % 2, 1, -1)
    task = task_of(signs)
    found = lp_norm_weights(Given([K, K, np.zeros_like(K)]), [task], p)
    assert found.converged
    assert found.weights[0] == pytest.approx(found.weights[1])
    if p < math.inf:
        assert found.weights[2] == 0
    nothing = lp_norm_weights(Given(np.zeros((2, 10, 10))), [task], p)
    assert nothing.converged
    assert nothing.weights[0] == nothing.weights[1]
    easy = easy_weights(Given([K, K, np.zeros_like(K)]), [task])
    np.testing.assert_allclose(easy.weights, [0.5, 0.5, 0])
    assert easy_weights(Given(np.zeros((2, 10, 10))), [task]).weights.tolist() == [0.5, 0.5]


def test_two_rows_and_contradictions():
    two = Given([np.eye(2), np.ones((2, 2))])
    found = lp_norm_weights(two, [task_of([1, -1])], 1.0, 10.0, tol=1e-6)
    np.testing.assert_allclose(found.weights, [1, 0], atol=1e-3)
    assert found.value == pytest.approx(1.0, rel=1e-5)  # ½‖w‖² = 2/‖x − z‖² = 1
    np.testing.assert_allclose(easy_weights(two, [task_of([1, -1])]).weights, [1, 0])
    same = Given([np.ones((20, 20))])
    found = lp_norm_weights(same, [task_of(np.arange(20) % 2 * 2 - 1)], 2.0, 7.0)
    assert found.value == pytest.approx(7.0 * 20, rel=1e-3)  # a loss of 1 for every row


def test_stopping_early_keeps_the_bounds(boards):
    rows, signs, kernels = boards
    family, shares = KernelFamily(kernels, rows), []
    exact = lp_norm_weights(family, [task_of(signs)], 1.0, 10.0, tol=1e-5, progress=shares.append)
    assert shares[-1] == 1.0
    assert min(shares) >= 0
    early = lp_norm_weights(family, [task_of(signs)], 1.0, 10.0, tol=1e-5, max_iter=2)
    assert not early.converged
    assert early.iterations == 2
    assert early.lower_bound <= exact.upper_bound
    assert early.upper_bound >= exact.lower_bound
    easy = easy_weights(family, [task_of(signs)], tol=1e-12, max_iter=1)
    assert not easy.converged
    assert easy.gap > 1e-12
    assert easy_weights(family, [task_of(signs)], progress=shares.append).converged
