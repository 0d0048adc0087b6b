"""The dual solver against a general convex solver, LIBSVM, and what must hold at every point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import SVC, SVR, OneClassSVM

import formulakern as fk
from formulakern.encoding.strict import read_packed
from formulakern.learning import kernel_machines
from formulakern.learning.kernel_machines import (
    BoxProblem,
    KernelRows,
    Limits,
    MachineProblem,
    classification,
    novelty,
    regression,
    solve_dual,
)

KERNELS = [
    fk.kernel("a & b").normalized(),
    fk.kernel("(a & ~b) | c", "distinct").normalized(),
    fk.kernel("a") + fk.kernel("a & b", "distinct"),
    fk.boolean.monotone_conjunctive(2).normalized(),
    fk.boolean.tanimoto(),
]


def table_of(rng, n, columns=7):
    return read_packed((rng.random((n, columns)) < 0.5).astype(np.uint8))


def train(problem, kernel, table, limits=None):
    """The coefficients of all rows, and the solution without equal rows."""
    return MachineProblem.of(problem, KernelRows(kernel, table, 200.0), 200.0).solve(
        limits or Limits()
    )


def objective(problem, gram, beta):
    return beta @ gram @ beta / 2 - problem.linear @ beta + problem.epsilon * np.abs(beta).sum()


def general_optimum(problem, gram):
    """By a general solver, on β = s − t with s, t ≥ 0: −dual at the optimum."""
    n = len(problem)

    def value(x):
        beta = x[:n] - x[n:]
        return beta @ gram @ beta / 2 - problem.linear @ beta + problem.epsilon * x.sum()

    def slope(x):
        g = gram @ (x[:n] - x[n:]) - problem.linear
        return np.concatenate([g, -g]) + problem.epsilon

    start = problem.start()
    found = minimize(
        value,
        np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)]),
        jac=slope,
        bounds=[(0, u) for u in problem.upper] + [(0, -low) for low in problem.lower],
        constraints=LinearConstraint(
            np.concatenate([np.ones(n), -np.ones(n)]), problem.total, problem.total
        ),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return found.fun


def problem_of(kind, rng, n):
    boxes = rng.choice([0.5, 2.0, 30.0], n)
    if kind == "classes":
        signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        return classification(rng.permutation(signs), boxes)
    if kind == "numbers":
        return regression(rng.normal(size=n), boxes, float(rng.choice([0.0, 0.1, 0.5])))
    return novelty(boxes, float(rng.uniform(0.1, 0.9) * boxes.sum()))


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 12),
    st.sampled_from(["classes", "numbers", "novelty"]),
    st.sampled_from(KERNELS),
)
def test_the_optimum_is_that_of_a_general_solver(seed, n, kind, kernel):
    rng = np.random.default_rng(seed)
    table, problem = table_of(rng, n), problem_of(kind, rng, n)
    gram = kernel(table)
    beta, solution = train(problem, kernel, table, Limits(1e-9))
    assert (beta >= problem.lower).all()
    assert (beta <= problem.upper).all()
    assert beta.sum() == pytest.approx(problem.total, abs=1e-9 * problem.upper.sum())
    ours, general = objective(problem, gram, beta), general_optimum(problem, gram)
    scale = max(abs(general), 1e-6)
    assert ours <= general + 1e-6 * scale
    values = problem.values(beta, gram @ beta)
    assert values.dual == pytest.approx(-ours, abs=1e-9 * scale)
    assert values.primal >= -general - 1e-6 * scale  # so the gap is at least the true one
    assert solution.gap <= 1e-9 or solution.stopped == "stalled"


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["classes", "numbers", "novelty"]))
def test_no_other_intercept_has_a_smaller_primal_value(seed, kind):
    rng = np.random.default_rng(seed)
    problem = problem_of(kind, rng, 9)
    beta = np.clip(rng.normal(size=9), problem.lower, problem.upper)
    table = table_of(rng, 9)
    products_ = KERNELS[0](table) @ beta
    values = problem.values(beta, products_)

    def primal(b):
        residual = problem.linear - products_ - b
        options = [
            problem.upper * residual - problem.epsilon * problem.upper,
            problem.lower * residual + problem.epsilon * problem.lower,
            np.zeros(9),
        ]
        return beta @ products_ / 2 + np.max(options, axis=0).sum() + problem.total * b

    assert values.primal == pytest.approx(primal(values.intercept))
    others = values.intercept + np.concatenate([rng.normal(size=20), [1e-3, -1e-3]])
    assert all(values.primal <= primal(b) + 1e-9 for b in others)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["classes", "numbers", "novelty"]))
def test_equal_rows_as_one_have_the_same_optimum(seed, kind):
    rng = np.random.default_rng(seed)
    table = table_of(rng, 30, 3)
    problem = problem_of(kind, rng, 30)
    if kind == "numbers":
        problem = regression(np.round(problem.linear), problem.upper, problem.epsilon)
    merged = MachineProblem.of(problem, KernelRows(KERNELS[0], table))
    few = np.unique(np.column_stack([table.unpacked(), problem.linear]), axis=0)
    assert len(merged.merged) == len(merged.rows) == len(few)
    kernel = KERNELS[0]
    apart = solve_dual(problem, KernelRows(kernel, table, 10), Limits(1e-10))
    beta, one = train(problem, kernel, table, Limits(1e-10))
    assert one.values.dual == pytest.approx(apart.values.dual, rel=1e-7, abs=1e-9)
    assert (beta >= problem.lower - 1e-12).all()
    assert (beta <= problem.upper + 1e-12).all()
    assert beta.sum() == pytest.approx(problem.total, abs=1e-9 * problem.upper.sum())
    sums = np.bincount(merged.kind, beta, len(few))
    np.testing.assert_allclose(sums, one.beta, atol=1e-12)


@pytest.fixture
def small_problems(monkeypatch):
    """Sizes at which a few hundred rows take the roads of a million."""
    for name, value in {
        "MAX_SMALL_ROWS": 16,
        "MAX_INSIDE_ROWS": 32,
        "MAX_DIRECT_ROWS": 20,
        "MIN_SAMPLED_ROWS": 100,
        "SAMPLE_DIVISOR": 4,
    }.items():
        monkeypatch.setattr(kernel_machines, name, value)


@pytest.mark.parametrize("kind", ["classes", "numbers", "novelty"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("held", [False, True])
def test_decomposition_finds_the_optimum(kind, C, held, small_problems):
    rng = np.random.default_rng(3)
    table = table_of(rng, 300, 9)
    x = table.unpacked().astype(float)
    kernel = fk.kernel("a & b").normalized()
    score = x[:, 0] + x[:, 1] * x[:, 2] - x[:, 3] + rng.normal(size=300) / 2
    boxes = np.full(300, C)
    gram = kernel(table)
    if kind == "classes":
        problem = classification(np.where(score > 0.3, 1.0, -1.0), boxes)
        theirs = SVC(kernel="precomputed", C=C, tol=1e-8).fit(gram, problem.linear)
        beta = np.zeros(300)
        beta[theirs.support_] = theirs.dual_coef_[0]
    elif kind == "numbers":
        problem = regression(score, boxes, 0.2)
        theirs = SVR(kernel="precomputed", C=C, epsilon=0.2, tol=1e-8).fit(gram, score)
        beta = np.zeros(300)
        beta[theirs.support_] = theirs.dual_coef_[0]
    else:
        problem = novelty(np.ones(300), 60.0)
        theirs = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-9).fit(gram)
        beta = np.zeros(300)
        beta[theirs.support_] = theirs.dual_coef_[0]
    heard = []
    found = solve_dual(
        problem,
        KernelRows(kernel, table, 10.0 if held else 0.0),
        Limits(1e-7),
        progress=lambda share, gap: heard.append(gap),
    )
    assert found.stopped == "optimal"
    assert found.gap <= 1e-7
    assert heard[-1] == found.gap
    assert len(heard) > 2  # gaps, of several small problems each
    ours, optimum = objective(problem, gram, found.beta), objective(problem, gram, beta)
    assert ours <= optimum + 1e-6 * abs(optimum)
    np.testing.assert_allclose(found.products, gram @ found.beta, atol=1e-9 * C * 300)
    # half the squared distance of a normal to the optimal one is at most its excess
    excess = [max(0.0, value + found.values.primal) for value in (ours, optimum)]
    apart = np.sqrt(2 * np.array(excess) * gram.diagonal().max()).sum()
    np.testing.assert_allclose(found.products, gram @ beta, atol=apart + 1e-9 * C * 300)


def test_a_start_is_moved_into_the_box_and_saves_steps(small_problems):
    rng = np.random.default_rng(5)
    table = table_of(rng, 400, 9)
    signs = np.where(rng.random(400) < 0.2 + 0.6 * table.unpacked()[:, 0], 1.0, -1.0)
    rows = KernelRows(fk.kernel("a & b").normalized(), table, 0.0)
    cold = solve_dual(classification(signs, np.full(400, 1.0)), rows, Limits(1e-4))
    known = (cold.beta, cold.products)
    warm = solve_dual(classification(signs, np.full(400, 1.0)), rows, Limits(1e-4), known)
    assert warm.iterations == 0
    assert warm.gap <= 1e-4
    for C in (0.5, 1.5):
        problem = classification(signs, np.full(400, C))
        again = solve_dual(problem, rows, Limits(1e-4), known)
        assert again.gap <= 1e-4
        assert (again.beta <= problem.upper).all()
        assert again.beta.sum() == pytest.approx(0.0, abs=1e-9)


def test_limits_keep_the_best_so_far_and_say_its_gap(small_problems):
    rng = np.random.default_rng(6)
    table = table_of(rng, 300, 9)
    problem = classification(np.where(rng.random(300) < 0.5, 1.0, -1.0), np.full(300, 10.0))
    kernel = fk.kernel("a & b").normalized()
    rows = KernelRows(kernel, table, 0.0)
    few = solve_dual(problem, rows, Limits(1e-6, max_iter=40))
    assert few.stopped == "max_iter"
    assert few.iterations <= 40
    assert few.gap > 1e-6
    assert solve_dual(problem, rows, Limits(1e-6, seconds=0.0)).stopped == "time_limit"

    def stop(share, gap):
        if gap < 0.5:
            raise KeyboardInterrupt

    cut = solve_dual(problem, rows, Limits(1e-6), progress=stop)
    assert cut.stopped == "interrupted"
    np.testing.assert_allclose(cut.products, kernel(table) @ cut.beta, atol=1e-8)
    assert 1e-6 < cut.gap < 0.6

    def at_once(share, gap):
        raise KeyboardInterrupt

    first = solve_dual(problem, rows, Limits(1e-6), progress=at_once)
    assert first.stopped == "interrupted"


def test_products_do_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(7)
    table, weights = table_of(rng, 9000, 70), rng.normal(size=130)
    kernel, rows = fk.kernel("a & ~b").normalized(), rng.permutation(9000)[:130]
    found = KernelRows(kernel, table).product(rows, weights)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    np.testing.assert_array_equal(KernelRows(kernel, table).product(rows, weights), found)
    expected = weights @ kernel(table.take(rows), table)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


def test_what_cannot_be():
    with pytest.raises(fk.DataError, match="add up to at most 3"):
        novelty(np.ones(3), 4.0).start()
    problem = BoxProblem(np.array([1.0, 1.0]), np.zeros(2), np.full(2, 5.0))
    table = read_packed([[1, 0], [0, 1]])
    found = solve_dual(problem, KernelRows(fk.kernel("a"), table), Limits())
    np.testing.assert_array_equal(found.beta, 0.0)  # one class: Σβ = 0 leaves nothing
    assert found.gap == 0.0


@pytest.mark.parametrize("C", [1e-12, 1e12])
def test_boxes_of_any_size(C):
    rng = np.random.default_rng(8)
    table = table_of(rng, 60, 12)
    signs = np.where(table.unpacked()[:, 0] == 1, 1.0, -1.0)
    beta, found = train(classification(signs, np.full(60, C)), KERNELS[0], table)
    assert found.gap <= 1e-3
    if C > 1:
        values = KERNELS[0](table) @ beta + found.values.intercept
        assert (np.sign(values) == signs).all()


@pytest.mark.parametrize("n", [60, 300])
def test_what_no_number_of_steps_solves_ends_with_its_gap(n, monkeypatch):
    """Contradictions with an enormous C need as many steps as C is large."""
    monkeypatch.setattr(kernel_machines, "MAX_STEPS", 20_000)
    monkeypatch.setattr(kernel_machines, "MAX_DIRECT_ROWS", 100)
    rng = np.random.default_rng(9)
    table, signs = table_of(rng, n, 6), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    problem = classification(signs, np.full(n, 1e12))
    found = solve_dual(problem, KernelRows(KERNELS[0], table), Limits())
    assert found.stopped == "max_iter"
    assert found.iterations <= max(20_000, 100 * n)
    assert 1e-3 < found.gap <= 2


def test_contradictions_by_the_thousand_and_rows_of_zeros():
    table = read_packed(np.repeat([[1, 0], [1, 0], [0, 0], [0, 1]], 1000, axis=0))
    signs = np.repeat([1.0, -1.0, 1.0, -1.0], 1000)
    _, found = train(classification(signs, np.full(4000, 10.0)), KERNELS[0], table)
    assert found.gap <= 1e-3
    assert found.beta.shape == (4,)
