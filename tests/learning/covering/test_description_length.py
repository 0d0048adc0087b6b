"""Description lengths against their definitions, written out with Python's numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern.learning.covering.description_length import (
    exception_bits,
    subset_bits,
    theory_bits,
)


def slow_subset(n, k, p):
    bits = 0.0
    for count, share in ((k, p), (n - k, 1 - p)):
        if count > 0:
            bits += math.inf if share == 0 else -count * math.log2(share)
    return bits


def slow_exceptions(rate, covered, uncovered, fp, fn):
    def share(part, whole):
        return min(part / whole, 1.0) if whole else 0.0

    expected_fp, expected_fn = fp, fn
    if covered > uncovered:
        expected_fp = rate * (fp + fn)
    else:
        expected_fn = (1 - rate) * (fp + fn)
    return (
        math.log2(covered + uncovered + 1)
        + slow_subset(covered, fp, share(expected_fp, covered))
        + slow_subset(uncovered, fn, share(expected_fn, uncovered))
    )


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1))
def test_subsets(k, others, p):
    assert float(subset_bits(k + others, k, p)) == pytest.approx(slow_subset(k + others, k, p))
    if k + others:  # no other probability needs fewer bits than their share
        best = subset_bits(k + others, k, k / (k + others))
        assert best <= subset_bits(k + others, k, p) + 1e-9


@given(
    st.floats(0, 1), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40)
)
def test_exceptions(rate, tp, tn, fp, fn):
    given_ = (rate, tp + fp, tn + fn, fp, fn)
    assert float(exception_bits(*given_)) == pytest.approx(slow_exceptions(*given_))


def test_arrays_broadcast_without_warnings():
    bits = exception_bits(0.5, np.arange(4.0)[:, None], 3.0, [0.0, 0.5], [[0.0], [1], [1], [1]])
    assert bits.shape == (4, 2)
    assert subset_bits([0, 1], 0, 0).tolist() == [0.0, 0.0]


def test_theory():
    # k = 1: log2(1) = 0 bits for k, and S(4, 1, 1/4) = 2 + 3·log2(4/3)
    assert float(theory_bits(4, 1)) == pytest.approx(0.5 * (2 + 3 * math.log2(4 / 3)))
    # k = 4: log2(4) + 2·log2(log2(4)) = 4 bits, and S(4, 4, 1) = 0
    assert float(theory_bits(4, 4)) == pytest.approx(2.0)
    assert (np.diff(theory_bits(1000, np.arange(20))) > 0).all()
    with pytest.raises(fk.ParameterError, match="a rule has 5 conditions, but only 4 are possible"):
        theory_bits(4, [1, 5])
