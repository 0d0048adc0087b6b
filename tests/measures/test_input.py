"""The matrices that are Gram matrices, and the messages for all others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import formulakern as fk
from formulakern import measures as gram_input
from formulakern.measures import (
    check_semidefinite,
    read_labels,
    read_semidefinite,
)

POINTS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 3)),
    elements=st.floats(-1e3, 1e3, width=32),
)


@settings(max_examples=38)
@given(POINTS, st.sampled_from([np.float64, np.float32, np.float16]))
def test_gram_matrices_pass(points, dtype):
    K = points.astype(np.float64) @ points.T
    K /= np.abs(K).max() + 1e-6
    assert read_semidefinite(K.astype(dtype)).dtype == np.float64


def test_the_memory_of_a_ready_matrix_is_used():
    K = np.eye(3)
    assert read_semidefinite(K) is K
    assert read_semidefinite(np.asfortranarray(np.eye(3, dtype=bool))).flags.c_contiguous


@pytest.mark.parametrize(
    ("K", "message"),
    [
        ([], r"shape \(0,\); a Gram matrix is square"),
        (np.zeros((0, 0)), "no rows"),
        (np.zeros((2, 3)), r"shape \(2, 3\); a Gram matrix is square"),
        (np.zeros((2, 2, 2)), "square"),
        (3.0, r"shape \(\)"),
        ([[1, 2], [3]], "cannot be read"),
        ([["a"]], "cannot be read"),
        ([[1j]], "complex"),
        ([[None]], r"K\[0, 0\] = nan"),
        ([[1, np.nan], [np.nan, 1]], r"K\[0, 1\] = nan; .* finite"),
        ([[1, 0], [0, np.inf]], r"K\[1, 1\] = inf"),
        ([[1, 0], [0, -1]], r"K\[1, 1\] = -1.0 is negative"),
        ([[1, 2], [2, 1]], r"K\[0, 1\] = 2.0 is larger"),
        ([[0, 0.5], [0.5, 1]], r"K\[0, 1\] = 0.5 is larger"),
        ([[1, 0.5], [0.4, 1]], r"not symmetric: K\[0, 1\] = 0.5, but K\[1, 0\] = 0.4"),
        # each 2 x 2 part is fine; 1 - 2 * 0.9 < 0 is an eigenvalue
        ([[1, -0.9, -0.9], [-0.9, 1, -0.9], [-0.9, -0.9, 1]], "eigenvalue equal to -0.8"),
    ],
)
def test_refusals(K, message):
    with pytest.raises(fk.DataError, match=message):
        read_semidefinite(K)


def test_refusals_beyond_the_first_band():
    K = np.eye(gram_input.BLOCK_ROWS + 40)
    K[-1, -3] = 0.5
    with pytest.raises(fk.DataError, match=r"K\[293, 295\] = 0.0, but K\[295, 293\] = 0.5"):
        read_semidefinite(K)
    K[-3, -1] = 0.5
    assert read_semidefinite(K) is K
    K[0, 280] = K[280, 0] = -1.5
    with pytest.raises(fk.DataError, match=r"K\[0, 280\] = -1.5 is larger"):
        read_semidefinite(K)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("decided", [0, 2_000], ids=["Lanczos", "Cholesky"])
def test_negative_eigenvalues_are_found(monkeypatch, decided, scale):
    monkeypatch.setattr(gram_input, "MAX_CHOLESKY_ROWS", decided)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(100, 10))
    K = points @ points.T
    check_semidefinite(scale * K)
    with pytest.raises(fk.DataError, match=r"eigenvalue (at most|equal to) -"):
        check_semidefinite(scale * np.ascontiguousarray(np.tanh(K - 1)))
    vector = rng.normal(size=100)
    with pytest.raises(fk.DataError, match="eigenvalue"):
        check_semidefinite(scale * (K - np.outer(vector, vector)))


@pytest.mark.parametrize("decided", [0, 2_000], ids=["Lanczos", "Cholesky"])
def test_rounding_is_no_negative_eigenvalue(monkeypatch, decided):
    monkeypatch.setattr(gram_input, "MAX_CHOLESKY_ROWS", decided)
    points = np.random.default_rng(0).normal(size=(60, 3))
    K = (points @ points.T) ** 3
    K -= 1e-12 * np.trace(K) * np.eye(60)
    assert np.linalg.eigvalsh(K)[0] < 0
    check_semidefinite(K)
    check_semidefinite(np.zeros((4, 4)))
    check_semidefinite(np.ones((4, 4)))
    check_semidefinite(np.eye(5))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"shape \(2,\), but K has 3 rows"),
        ([[0], [1], [0]], "one dimension"),
        ("abc", r"shape \(\)"),
        ([0, 1, np.nan], r"y\[2\] = nan"),
        ([None, "a", "b"], "different types, or missing"),
        (np.array([1, "a", 2.0], dtype=object), "different types"),
        (["a", "a", "a"], r"one class only, \['a'\]"),
    ],
)
def test_labels_that_are_refused(y, message):
    with pytest.raises(fk.DataError, match=message):
        read_labels(y, 3)


def test_labels():
    classes, codes = read_labels(np.array([True, False, True]), 3)
    assert classes.tolist() == [False, True]
    assert codes.tolist() == [1, 0, 1]
    with pytest.raises(fk.DataError, match="3 classes; a margin separates two"):
        read_labels([3, 1, 2], 3, most=2)
