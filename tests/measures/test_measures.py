"""Measures of Gram matrices: definitions, invariances, and refusals."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern import measures

POINTS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 6), st.integers(1, 3)),
    elements=st.integers(-3, 3),
)


def by_slsqp(K: np.ndarray, groups: np.ndarray, signs: np.ndarray, linear: np.ndarray) -> float:
    """min over products of simplices of u'Ku + p'u, u = signs times weights: a general solver."""
    m = len(K)
    sums = [{"type": "eq", "fun": lambda w, g=g: w[groups == g].sum() - 1} for g in set(groups)]
    start = np.array([1 / (groups == g).sum() for g in groups])
    found = minimize(
        lambda w: (signs * w) @ K @ (signs * w) + linear @ w,
        start,
        jac=lambda w: 2 * signs * (K @ (signs * w)) + linear,
        bounds=[(0, 1)] * m,
        constraints=sums,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return float(found.fun)


def random_gram(m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(m, 4))
    y = np.arange(m) % 2
    return (points + 2 * y[:, None]) @ (points + 2 * y[:, None]).T, y


@pytest.mark.parametrize("seed", range(10))
def test_against_a_general_solver(seed):
    m = 3 + seed % 6
    K, y = random_gram(m, seed)
    ones, zeros = np.ones(m), np.zeros(m)
    squared_radius = -by_slsqp(K, zeros, ones, -K.diagonal())
    squared_distance = by_slsqp(K, y, 2.0 * y - 1, zeros)
    assert measures.radius(K, tol=1e-6) ** 2 == pytest.approx(squared_radius, rel=1e-5)
    found = measures.margin(K, y, tol=1e-6)
    assert found.distance**2 == pytest.approx(squared_distance, rel=1e-5, abs=1e-7)
    assert found.margin == found.distance / 2
    ratio = measures.radius_margin_ratio(K, y, normalize=False, tol=1e-6)
    if squared_distance > 1e-7:
        assert ratio == pytest.approx(squared_radius / squared_distance, rel=1e-5)
    else:
        assert ratio == math.inf


def test_ratio_normalises():
    K, y = random_gram(8, 0)
    lengths = np.sqrt(K.diagonal())
    cosines = K / lengths / lengths[:, None]
    exact = (
        measures.radius(cosines, tol=1e-6) / measures.margin(cosines, y, tol=1e-6).distance
    ) ** 2
    assert measures.radius_margin_ratio(K, y, tol=1e-6) == pytest.approx(exact, rel=1e-5)
    uneven = np.outer(np.arange(1, 9), np.arange(1, 9)) * K
    assert measures.radius_margin_ratio(uneven, y, tol=1e-6) == pytest.approx(exact, rel=1e-5)
    wide = np.outer(10.0 ** np.arange(-80, 80, 20), 10.0 ** np.arange(-80, 80, 20)) * K
    assert measures.radius_margin_ratio(wide, y, tol=1e-6) == pytest.approx(exact, rel=1e-5)


def test_rows_without_features_stay_at_the_origin():
    K = np.array([[0.0, 0, 0], [0, 4, 0], [0, 0, 9]])
    # (0, 0), (1, 0), (0, 1): R² = 1/2, and the origin is √(1/2) from the segment of the others
    assert measures.radius_margin_ratio(K, [0, 1, 1], tol=1e-6) == pytest.approx(1, rel=1e-5)


def test_ratio_of_several_classes_is_the_mean_over_each_against_the_rest():
    rng = np.random.default_rng(0)
    y = np.array(list("aaabbbccc"))
    points = rng.normal(size=(9, 12))
    K = points @ points.T
    each = [measures.radius_margin_ratio(K, y == c, tol=1e-6) for c in "abc"]
    assert measures.radius_margin_ratio(K, y, tol=1e-6) == pytest.approx(np.mean(each), rel=1e-5)
    K = np.outer([0.0, 1, 2], [0.0, 1, 2]) + 1
    assert measures.radius_margin_ratio(K, [0, 1, 2], normalize=False) == math.inf


def test_soft_ratio_is_the_hard_one_of_k_plus_identity_over_c():
    K, y = random_gram(10, 1)
    y[0] = 1 - y[0]
    lengths = np.sqrt(K.diagonal())
    soft = K / lengths / lengths[:, None] + np.eye(10) / 3
    hard = measures.radius_margin_ratio(soft, y, normalize=False, tol=1e-6)
    assert measures.radius_margin_ratio(K, y, C=3, tol=1e-6) == pytest.approx(hard, rel=1e-5)
    found = measures.margin(K, y, 3, loss="squared_hinge", tol=1e-6)
    again = measures.margin(K + np.eye(10) / 3, y, tol=1e-6)
    assert found.distance == pytest.approx(again.distance, rel=1e-5)


def test_infinite_penalty_is_the_hard_margin():
    K, y = random_gram(8, 2)
    for loss in ("hinge", "squared_hinge"):
        assert measures.margin(K, y, math.inf, loss=loss).distance == measures.margin(K, y).distance


def test_rules_within_and_beyond_the_reach_of_a_kernel():
    X = (np.arange(64)[:, None] >> np.arange(6)) & 1
    column, parity = X[:, 0], X[:, 0] ^ X[:, 1]

    def ratio(text: str, y: np.ndarray) -> float:
        return measures.radius_margin_ratio(fk.kernel(text)(X), y)

    assert ratio("a", column) < math.inf
    assert ratio("a", parity) == math.inf  # no weighted sum of the columns tells it
    assert ratio("a ^ b", column) == math.inf  # no feature tells a row from its complement
    assert ratio("a ^ b", parity) < math.inf


# -- alignment and spectral ratio -----------------------------------------------------------------


def naive_alignment(K: np.ndarray, L: np.ndarray, centered: bool) -> float:
    m = len(K)
    H = np.eye(m) - np.ones((m, m)) / m if centered else np.eye(m)
    K, L = H @ K @ H, H @ L @ H
    return float(np.trace(K @ L) / math.sqrt(np.trace(K @ K) * np.trace(L @ L)))


@settings(max_examples=38)
@given(POINTS, st.data(), st.booleans())
def test_alignment_is_the_cosine(points, data, centered):
    K = points @ points.T
    m = len(K)
    assume(np.ptp(points, axis=0).any())
    codes = data.draw(hnp.arrays(np.int64, m, elements=st.integers(0, 2)))
    assume(len(set(codes.tolist())) > 1)
    if len(set(codes.tolist())) == 2:
        signs = np.where(codes == codes.max(), 1.0, -1.0)
        L = np.outer(signs, signs)
    else:
        L = (codes[:, None] == codes).astype(float)
    exact = naive_alignment(K, L, centered)
    labels = np.array(["x", "y", "z"])[codes]
    assert measures.alignment(K, labels, centered=centered) == pytest.approx(exact, abs=1e-9)
    assert measures.alignment(K, L, centered=centered) == pytest.approx(exact, abs=1e-9)
    assert measures.alignment(L, K, centered=centered) == pytest.approx(exact, abs=1e-9)
    assert measures.alignment(1e250 * K, L, centered=centered) == pytest.approx(exact, abs=1e-9)
    assert -1e-9 <= exact <= 1 + 1e-9


def test_alignment_with_the_target_is_one():
    y = np.array([1, -1, -1, 1, 1])
    for centered in (False, True):
        assert measures.alignment(np.outer(y, y), y, centered=centered) == pytest.approx(1)


@settings(max_examples=38)
@given(POINTS)
def test_spectral_ratio_is_that_of_the_norms_of_the_eigenvalues(points):
    assume(points.any())
    K = points @ points.T
    m = len(K)
    values = np.abs(np.linalg.eigvalsh(K))
    exact = values.sum() / math.sqrt((values**2).sum())
    assert measures.spectral_ratio(K, normalize=False) == pytest.approx(exact)
    scaled = measures.spectral_ratio(K)
    assert scaled == pytest.approx((exact - 1) / (math.sqrt(m) - 1), abs=1e-9)
    assert 0 <= scaled <= 1
    assert measures.spectral_ratio(1e-250 * K) == pytest.approx(scaled, abs=1e-9)


# -- refusals -------------------------------------------------------------------------------------

EYE = np.eye(3)
INDEFINITE = np.array([[1, -0.9, -0.9], [-0.9, 1, -0.9], [-0.9, -0.9, 1]])
Y = [0, 1, 1]


@pytest.mark.parametrize(
    "measure",
    [
        measures.enclosing_ball,
        measures.radius,
        lambda K: measures.margin(K, Y),
        lambda K: measures.margin(K, Y, 1.0),
        lambda K: measures.radius_margin_ratio(K, Y),
        lambda K: measures.alignment(K, Y),
        lambda K: measures.alignment(EYE, K),
        measures.spectral_ratio,
    ],
    ids=["ball", "radius", "hard", "soft", "ratio", "alignment", "alignment-2", "spectral"],
)
def test_what_is_no_gram_matrix_is_refused(measure):
    for K in (INDEFINITE, np.diag([1, -1, 1]), np.triu(np.ones((3, 3))), np.diag([1, np.nan, 1])):
        with pytest.raises(fk.DataError):
            measure(K)
    for K in (np.zeros((0, 0)), [[1, 0], [0]], np.ones((2, 3))):
        with pytest.raises(fk.DataError):
            measure(K)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: measures.margin(EYE, [0, 1]), fk.DataError, "K has 3 rows"),
        (lambda: measures.margin(EYE, [[0], [0, 1]]), fk.DataError, "cannot be read"),
        (lambda: measures.margin(EYE, [0, 0, 0]), fk.DataError, "one class only"),
        (lambda: measures.margin(EYE, [0, 1, 2]), fk.DataError, "3 classes"),
        (lambda: measures.radius_margin_ratio(EYE, [1, 1, 1]), fk.DataError, "one class only"),
        (lambda: measures.alignment(EYE, [1, 1, 1]), fk.DataError, "one class only"),
        (
            lambda: measures.alignment(EYE, np.eye(4)),
            fk.DataError,
            "3 rows and the second matrix 4",
        ),
        (lambda: measures.alignment(0 * EYE, Y), fk.DataError, "K is zero, so"),
        (lambda: measures.alignment(0 * EYE + 5, Y, centered=True), fk.DataError, "about its mean"),
        (lambda: measures.spectral_ratio(0 * EYE), fk.DataError, "K is zero"),
        (lambda: measures.spectral_ratio([[2.0]]), fk.DataError, "one row"),
        (lambda: measures.radius_margin_ratio(0 * EYE, Y), fk.DataError, "all feature vectors"),
        (lambda: measures.radius_margin_ratio(0 * EYE + 5, Y), fk.DataError, "all feature vectors"),
        (lambda: measures.margin(EYE, Y, 0), fk.ParameterError, "C=0"),
        (lambda: measures.margin(EYE, Y, -1.0), fk.ParameterError, "C=-1.0"),
        (lambda: measures.margin(EYE, Y, math.nan), fk.ParameterError, "C=nan"),
        (lambda: measures.margin(EYE, Y, "big"), fk.ParameterError, "C='big'"),
        (lambda: measures.margin(EYE, Y, 1e200), fk.ParameterError, "C=1e\\+200 is too large"),
        (lambda: measures.margin(EYE, Y, 1.0, loss="log"), fk.ParameterError, "loss='log'"),
        (lambda: measures.radius_margin_ratio(EYE, Y, C=0), fk.ParameterError, "C=0"),
        (lambda: measures.radius(EYE, tol=0), fk.ParameterError, "tol=0"),
        (lambda: measures.radius(EYE, tol=1.5), fk.ParameterError, "tol=1.5"),
        (lambda: measures.radius(EYE, tol="1"), fk.ParameterError, "tol='1'"),
        (lambda: measures.radius(EYE, max_iter=0), fk.ParameterError, "max_iter=0"),
        (lambda: measures.radius(EYE, max_iter=1e3), fk.ParameterError, "max_iter=1000.0"),
        (lambda: measures.radius(1e150 * EYE), fk.MagnitudeError, "1e\\+150"),
        (lambda: measures.margin(1e-150 * EYE, Y), fk.MagnitudeError, "1e-150"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_unchecked_matrices_are_still_read():
    assert measures.radius(EYE, check=False) == pytest.approx(math.sqrt(2 / 3), rel=1e-3)
    assert measures.margin(EYE, Y, check=False).distance > 0
    assert measures.radius_margin_ratio(EYE, Y, check=False) > 0
    with pytest.raises(fk.DataError, match="square"):
        measures.radius(np.ones((2, 3)), check=False)


def test_coinciding_rows_have_a_soft_ratio():
    assert measures.radius_margin_ratio(np.ones((4, 4)), [0, 0, 1, 1], C=1, tol=1e-6) == (
        pytest.approx(0.75, rel=1e-5)  # that of I / C
    )


def test_too_few_steps_warn():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 5))
    K = points @ points.T
    y = rng.integers(0, 2, 400)
    with pytest.warns(ConvergenceWarning, match="relative gap of the distance of the classes"):
        measures.margin(K, y, 10.0, tol=1e-5, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        measures.radius_margin_ratio(K, y, C=1e4, tol=1e-5, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measures.margin(K, y, 10.0).converged


def test_progress_of_the_ratio_rises_over_its_parts():
    K, _ = random_gram(40, 0)
    shares: list[float] = []
    measures.radius_margin_ratio(K, np.arange(40) % 3, C=10, progress=shares.append)
    assert shares[-1] == 1
    assert min(shares) >= 0
    assert {0.25, 0.5, 0.75, 1.0} <= set(shares)


def test_read_only_and_other_types():
    K = np.eye(4)
    K.flags.writeable = False
    assert measures.radius_margin_ratio(K, [0, 0, 1, 1]) == pytest.approx(0.75, rel=3e-3)
    for dtype in (bool, np.uint8, np.float32, np.int64):
        assert measures.radius(np.eye(4, dtype=dtype)) == pytest.approx(0.75**0.5, rel=1e-3)
    unaligned = np.frombuffer(b"\0" + np.eye(4).tobytes(), dtype=np.float64, offset=1).reshape(4, 4)
    assert measures.radius(unaligned) == pytest.approx(0.75**0.5, rel=1e-3)
