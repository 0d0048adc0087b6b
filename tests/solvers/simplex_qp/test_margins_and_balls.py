"""Ball and margins against enumeration of supports, libsvm, closed forms, and their own bounds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.svm import SVC

from formulakern.solvers.simplex_qp import (
    CHECKED_STEPS,
    MIN_DISTANCE_SHARE,
    Certificate,
    QuadraticProgram,
    Weighted,
    enclosing_ball,
    hinge_margin,
    hull_margin,
    minimise,
)

POINTS = hnp.arrays(
    np.int64,
    st.tuples(st.integers(2, 6), st.integers(1, 3)),
    elements=st.integers(-3, 3),
)


@st.composite
def classed_points(draw):
    points = draw(POINTS).astype(float)
    signs = draw(hnp.arrays(np.int8, len(points), elements=st.sampled_from([-1, 1])))
    assume(len(set(signs.tolist())) == 2)
    return points, signs


def gram_of(points: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(points @ points.T)


# -- the slow definitions ---------------------------------------------------------------------


def subsets(m: int):
    for size in range(1, m + 1):
        yield from (list(chosen) for chosen in itertools.combinations(range(m), size))


def stationary(H: np.ndarray, p: np.ndarray, A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """A minimiser of ½ u'Hu + p'u under Au = b, from its linear system; None if there is none."""
    m, k = len(H), len(A)
    system = np.block([[H, A.T], [A, np.zeros((k, k))]])
    right = np.concatenate([-p, b])
    solution = np.linalg.lstsq(system, right, rcond=1e-12)[0]
    return solution[:m] if np.allclose(system @ solution, right, atol=1e-9) else None


def naive_squared_radius(K: np.ndarray) -> float:
    """The largest dual value among the stationary points of all faces of the simplex."""
    best = 0.0
    for chosen in subsets(len(K)):
        H, d = K[np.ix_(chosen, chosen)], K.diagonal()[chosen]
        beta = stationary(2 * H, -d, np.ones((1, len(chosen))), np.ones(1))
        if beta is not None and beta.min() > -1e-9:
            best = max(best, float(beta @ d - beta @ H @ beta))
    return best


def naive_distance(K: np.ndarray, signs: np.ndarray) -> float:
    """The smallest ‖Σ a_i φ(x_i) − Σ b_j φ(x_j)‖ among the stationary points of all faces."""
    best = math.inf
    for chosen in subsets(len(K)):
        y = signs[chosen].astype(float)
        if len(set(y)) < 2:
            continue
        H = K[np.ix_(chosen, chosen)] * np.outer(y, y)
        weights = stationary(H, np.zeros(len(y)), np.array([y > 0, y < 0], float), np.ones(2))
        if weights is not None and weights.min() > -1e-9:
            best = min(best, math.sqrt(max(0.0, float(weights @ H @ weights))))
    return best


# -- against them -----------------------------------------------------------------------------


@settings(max_examples=38)
@given(POINTS)
def test_ball_is_the_enumerated_one(points):
    K = gram_of(points.astype(float))
    exact = naive_squared_radius(K)
    ball = enclosing_ball(K, tol=1e-6)
    assert ball.converged
    assert ball.gap <= 1e-6
    assert ball.lower_bound <= exact * (1 + 1e-9) + 1e-9
    assert exact <= ball.upper_bound * (1 + 1e-9) + 1e-9
    assert ball.squared_radius == pytest.approx(exact, rel=1e-6, abs=1e-9)
    assert ball.coefficients.min() >= 0
    assert ball.coefficients.sum() == pytest.approx(1)
    centre = ball.coefficients @ points
    assert ((points - centre) ** 2).sum(axis=1).max() <= ball.upper_bound * (1 + 1e-9) + 1e-9


@settings(max_examples=38)
@given(classed_points())
def test_hard_margin_is_the_enumerated_distance_of_hulls(data):
    points, signs = data
    K = gram_of(points)
    exact = naive_distance(K, signs)
    found = hull_margin(K, signs, tol=1e-6)
    assert found.converged
    assert found.lower_bound <= exact + 1e-6
    assert exact <= found.upper_bound * (1 + 1e-9) + 1e-6
    spread = math.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).max())
    assert found.distance == pytest.approx(exact, rel=1e-6, abs=MIN_DISTANCE_SHARE * spread + 1e-6)
    if exact < 1e-7:  # hulls of such small integers meet, or are clearly apart
        assert found.distance == 0
    u = found.coefficients
    assert (u * signs).min() >= 0
    assert u[signs > 0].sum() == pytest.approx(1)
    assert u[signs < 0].sum() == pytest.approx(-1)
    assert np.linalg.norm(u @ points) == pytest.approx(
        found.distance, abs=MIN_DISTANCE_SHARE * spread + 1e-7
    )


@given(classed_points(), st.sampled_from([0.01, 1.0, 30.0]))
@settings(max_examples=38)
def test_soft_margins_are_those_of_libsvm(data, C):
    points, signs = data
    K = gram_of(points)
    svc = SVC(kernel="linear", C=C, tol=1e-10).fit(points, signs)
    exact = float(np.linalg.norm(svc.coef_))
    found = hinge_margin(K, signs, C, tol=1e-4)
    if exact > 1e-6:
        assert found.converged
        assert found.lower_bound <= 2 / exact * (1 + 1e-6)
        assert 2 / exact <= found.upper_bound * (1 + 1e-6)
        assert found.distance == pytest.approx(2 / exact, rel=1e-4)
    else:  # w = 0 is optimal, up to rounding
        assert found.distance > 1e5
        assert found.upper_bound == math.inf
    assert (found.coefficients * signs).min() >= 0
    assert np.abs(found.coefficients).max() <= C
    assert found.coefficients.sum() == pytest.approx(0, abs=1e-9 * C)


@given(classed_points(), st.sampled_from([0.1, 10.0]))
@settings(max_examples=30)
def test_a_ridge_is_that_matrix(data, C):
    points, signs = data
    K = gram_of(points)
    ridged = K + np.eye(len(K)) / C
    assert hull_margin(K, signs, ridge=1 / C, tol=1e-6).distance == pytest.approx(
        hull_margin(ridged, signs, tol=1e-6).distance, rel=1e-5
    )
    assert enclosing_ball(K, ridge=1 / C, tol=1e-6).squared_radius == pytest.approx(
        enclosing_ball(ridged, tol=1e-6).squared_radius, rel=1e-5
    )


# -- larger data ------------------------------------------------------------------------------


def mixed(m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(m, 6))
    K = (points @ points.T + 1) ** 2
    scale = np.sqrt(K.diagonal())
    signs = np.where(points[:, 0] * points[:, 1] > 0.1, 1, -1).astype(np.int8)
    return np.ascontiguousarray(K / scale / scale[:, None]), signs


def weight_norm(svc: SVC, K: np.ndarray) -> float:
    alpha, support = svc.dual_coef_[0], svc.support_
    return math.sqrt(alpha @ K[np.ix_(support, support)] @ alpha)


def test_hard_margin_is_that_of_libsvm_with_a_large_penalty():
    K, signs = mixed(200)
    found = hull_margin(K, signs, tol=1e-4)
    svc = SVC(kernel="precomputed", C=1e10, tol=1e-6).fit(K, signs)
    assert svc.score(K, signs) == 1
    assert found.distance == pytest.approx(2 / weight_norm(svc, K), rel=2e-4)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_hinge_margin_of_overlapping_classes(C):
    K, signs = mixed(300)
    signs[:30] = -signs[:30]
    found = hinge_margin(K, signs, C)
    svc = SVC(kernel="precomputed", C=C, tol=1e-8).fit(K, signs)
    exact = 2 / weight_norm(svc, K)
    assert found.converged
    assert found.lower_bound <= exact * (1 + 1e-6)
    assert exact <= found.upper_bound * (1 + 1e-6)
    assert found.gap <= 1e-3


def test_squared_hinge_minimises_its_objective():
    """The normal read off the hulls of K + I/C is stationary for the squared hinge."""
    K, signs = mixed(150)
    signs[:15] = -signs[:15]
    C = 2.0
    found = hull_margin(K, signs, ridge=1 / C, tol=1e-7)
    u = found.coefficients * 2 / found.distance**2  # so that ‖w̃‖ = 2 / distance
    support = u != 0
    b = float((signs - (K @ u + u / C))[support].mean())
    xi = np.maximum(0, 1 - signs * (K @ u + b))
    assert u == pytest.approx(C * signs * xi, abs=1e-3 * np.abs(u).max())
    assert 2 / math.sqrt(u @ K @ u + C * (xi**2).sum()) == pytest.approx(found.distance, rel=1e-3)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4])
def test_bounds_hold_at_every_tolerance(tol):
    K, signs = mixed(120)
    ball, hulls = enclosing_ball(K, tol=1e-9), hull_margin(K, signs, tol=1e-8)
    rough = enclosing_ball(K, tol=tol)
    assert rough.lower_bound <= ball.upper_bound
    assert ball.lower_bound <= rough.upper_bound
    assert rough.gap == pytest.approx(1 - rough.lower_bound / rough.upper_bound)
    rough = hull_margin(K, signs, tol=tol)
    assert rough.lower_bound <= hulls.upper_bound
    assert hulls.lower_bound <= rough.upper_bound
    fine = hinge_margin(K, signs, 1.0, tol=1e-5)
    rough = hinge_margin(K, signs, 1.0, tol=tol)
    assert rough.lower_bound <= fine.upper_bound
    assert fine.lower_bound <= rough.upper_bound


# -- closed forms -----------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 3, 50])
def test_corners_of_a_simplex(m):
    ball = enclosing_ball(np.eye(m), tol=1e-6)
    assert ball.squared_radius == pytest.approx(1 - 1 / m, abs=1e-6)
    for p in range(1, m):
        signs = np.where(np.arange(m) < p, 1, -1).astype(np.int8)
        exact = math.sqrt(1 / p + 1 / (m - p))
        assert hull_margin(np.eye(m), signs, tol=1e-6).distance == pytest.approx(exact)


def test_zero_matrix_and_equal_points():
    for K in (np.zeros((3, 3)), np.full((3, 3), 7.3)):
        ball = enclosing_ball(K)
        assert ball.converged
        assert ball.squared_radius == ball.gap == 0
        found = hull_margin(K, np.array([1, -1, 1], np.int8))
        assert found.converged
        assert found.distance == found.gap == 0
        assert found.upper_bound < 1e-6
        soft = hinge_margin(K, np.array([1, -1, 1], np.int8), 1.0)
        assert soft.distance > 1e5


def test_one_row_of_two_classes_means_distance_zero():
    points = np.array([[0, 0], [1, 5], [1, 5], [4, -2]], float)
    found = hull_margin(gram_of(points), np.array([1, 1, -1, -1], np.int8))
    assert found.distance == 0


# -- what must not change, and what must change along -------------------------------------------


def test_permutation_scale_duplicates_and_translation():
    K, signs = mixed(80)
    order = np.random.default_rng(1).permutation(80)
    doubled = np.concatenate([np.arange(80), order[:30]])
    reference = [enclosing_ball(K, tol=1e-6).radius, hull_margin(K, signs, tol=1e-6).distance]
    reference.append(hinge_margin(K, signs, 5.0, tol=1e-5).distance)

    def measured(K, signs, C=5.0, squared=1.0):
        K = np.ascontiguousarray(K)
        ball, hulls = enclosing_ball(K, tol=1e-6), hull_margin(K, signs, tol=1e-6)
        soft = hinge_margin(K, signs, C, tol=1e-5)
        return np.array([ball.radius, hulls.distance, soft.distance]) / math.sqrt(squared)

    permuted = measured(K[np.ix_(order, order)], signs[order])
    assert permuted == pytest.approx(reference, rel=1e-5)
    for factor in (1e-60, 0.37, 1e60):
        scaled = measured(factor * K, signs, C=5.0 / factor, squared=factor)
        assert scaled == pytest.approx(reference, rel=1e-5)
    again = measured(K[np.ix_(doubled, doubled)], signs[doubled])
    assert again[:2] == pytest.approx(reference[:2], rel=1e-5)
    moved = measured(K + 3.0, signs)  # a feature that is √3 for every row
    assert moved == pytest.approx(reference, rel=1e-5)


# -- how it stops -----------------------------------------------------------------------------


def test_too_few_steps_are_reported_with_true_bounds():
    K, signs = mixed(400)
    signs = -signs * np.where(np.arange(400) % 3, 1, -1).astype(np.int8)
    exact = hull_margin(K, signs, ridge=0.01, tol=1e-6)
    found = hull_margin(K, signs, ridge=0.01, tol=1e-6, max_iter=1)
    assert not found.converged
    assert found.iterations == CHECKED_STEPS
    assert found.gap > 1e-6
    assert found.lower_bound <= exact.lower_bound <= exact.upper_bound <= found.upper_bound


def test_a_gap_below_rounding_is_not_claimed():
    K, signs = mixed(60)
    for found in (
        enclosing_ball(K, tol=1e-17),
        hull_margin(K, signs, tol=1e-17),
        hinge_margin(K, signs, 1.0, tol=1e-12),
        hinge_margin(K, signs, 1e-30),  # w is so small that rounding hides which rows count
        enclosing_ball(K + 1e12, tol=1e-3),
    ):
        assert not found.converged
        assert found.iterations < 1_000_000
        assert found.lower_bound < found.upper_bound


def test_progress_ends_at_one_and_stays_in_range():
    K, signs = mixed(300)
    shares: list[float] = []
    hull_margin(K, signs, tol=1e-6, progress=shares.append)
    assert len(shares) > 2
    assert shares[-1] == 1
    assert all(0 <= share <= 1 for share in shares)


def test_interruption_comes_through():
    K, signs = mixed(300)

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hull_margin(K, signs, tol=1e-6, progress=stop)


def test_the_start_and_the_matrix_are_left_alone():
    K, _ = mixed(20)
    K.flags.writeable = False
    start = np.full(20, 1 / 20)
    start.flags.writeable = False
    program = QuadraticProgram(np.zeros(20), np.zeros(20, np.int8), np.zeros(20), np.ones(20))

    def squared_length(u, product):
        squared = float(u @ product)
        return Certificate(squared, 2 * float(product.min()) - squared, squared)

    solution = minimise(K, program, start, squared_length, Weighted, tol=1e-6, max_iter=10_000)
    assert solution.converged
    assert solution.upper_bound <= start @ K @ start
