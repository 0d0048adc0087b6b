"""The speed of string kernels, as ratios from one run: ``pytest tests/benchmarks -s``.

Both sides run in turns, in one thread, repetition after repetition, and medians of CPU time are
divided, so that a busy machine slows both sides.
"""

import time
from functools import partial

import numpy as np
import pytest
from numba import njit

import formulakern as fk
from formulakern.kernels.strings import weighted_degree_shifts
from tests import turns

#: As many strings of as many letters as the splice-junction sequences of UCI.
ROWS, LENGTH, DEGREE = 3190, 60, 20
REPETITIONS = 5


@pytest.fixture(scope="module")
def strings() -> list[str]:
    generator = np.random.default_rng(0)
    return ["".join(row) for row in generator.choice(list("ACGT"), (ROWS, LENGTH))]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")


def codes(strings: list[str]) -> np.ndarray:
    return np.array([list(string.encode()) for string in strings], dtype=np.uint8)


medians = partial(turns.medians, REPETITIONS, time.process_time)


def report(what: str, ratio: float, goal: float) -> None:
    print(f"\n    {what:<70} {ratio:7.2f} x   goal {goal:g}", end="")


@njit(nogil=True)
def read_once(x, z, out):
    """Read both strings of every pair once, byte by byte: count the letters that are equal."""
    for i in range(len(x)):
        for j in range(len(z)):
            equal = np.int32(0)
            for letter in range(x.shape[1]):
                equal += x[i, letter] == z[j, letter]
            out[i, j] = equal


@njit(nogil=True)
def run_lengths(x, z, worth, out):
    """The weighted degree kernel by the lengths of runs, byte by byte."""
    for i in range(len(x)):
        for j in range(len(z)):
            run, total = 0, 0
            for letter in range(x.shape[1]):
                run = (run + 1) * (x[i, letter] == z[j, letter])
                total += worth[run]
            out[i, j] = total


def in_numpy(x: np.ndarray, z: np.ndarray, d: int) -> np.ndarray:
    """The same in vectorised NumPy: all pairs at once, letter by letter."""
    worth = np.concatenate([[0], np.cumsum(np.arange(d, 0, -1))])
    run = np.zeros((len(x), len(z)), dtype=np.int64)
    total = np.zeros((len(x), len(z)), dtype=np.int64)
    for letter in range(x.shape[1]):
        run = (run + 1) * (x[:, letter, None] == z[None, :, letter])
        total += worth[np.minimum(run, d)]
    return total / (d * (d + 1) / 2)


def test_the_alternatives_are_the_same_kernel(strings):
    some, others = codes(strings[:40]), codes(strings[40:90])
    expected = in_numpy(some, others, DEGREE)
    found = fk.strings.weighted_degree(DEGREE)(strings[:40], strings[40:90])
    np.testing.assert_array_equal(found, expected)
    out = np.empty((40, 50))
    worth = np.concatenate([[0], np.cumsum(np.arange(DEGREE, 0, -1)), np.full(LENGTH, 210)])
    run_lengths(some, others, worth, out)
    np.testing.assert_array_equal(out / 210, expected)


def test_weighted_degree(strings):
    x, k, others = codes(strings), fk.strings.weighted_degree(DEGREE), strings[:]
    worth = np.concatenate([[0], np.cumsum(np.arange(DEGREE, 0, -1)), np.full(LENGTH, 210)])
    out = np.empty((ROWS, ROWS))
    time_of = medians(
        symmetric=lambda: k(strings),
        full=lambda: k(strings, others),
        read=lambda: read_once(x, x, out),
        runs=lambda: run_lengths(x, x, worth, out),
    )
    begin = time.process_time()
    in_numpy(x[:500], x, DEGREE)
    python = (time.process_time() - begin) * ROWS / 500
    name = f"{ROWS:,} x {ROWS:,}, {LENGTH} letters, d = {DEGREE}: "
    report(f"{name}NumPy / k(X)", python / time_of["symmetric"], 50)
    report(f"{name}NumPy / k(X, Z)", python / time_of["full"], 50)
    report(f"{name}run lengths by bytes / k(X, Z)", time_of["runs"] / time_of["full"], 1)
    report(f"{name}k(X, Z) / reading both once", time_of["full"] / time_of["read"], 2)
    report(f"{name}k(X) / reading both once", time_of["symmetric"] / time_of["read"], 2)
    assert python > 10 * time_of["symmetric"]
    assert time_of["full"] < 4 * time_of["read"]


@pytest.mark.parametrize("shifts", [0, 10])
def test_growth_with_the_length(shifts):
    """Linear: ten times as long costs about ten times as much, whatever d is."""
    generator = np.random.default_rng(0)
    texts = {
        n: ["".join(row) for row in generator.choice(list("ACGT"), (400, n))] for n in (600, 6000)
    }
    k = weighted_degree_shifts(DEGREE, shifts)
    time_of = medians(short=lambda: k(texts[600]), long=lambda: k(texts[6000]))
    ratio = time_of["long"] / time_of["short"]
    report(f"400 strings, {shifts} shifts: 6,000 letters / 600 letters", ratio, 12)
    assert ratio < 30


@pytest.mark.parametrize(
    "k",
    [fk.strings.spectrum(3), fk.strings.spectrum(6), fk.strings.mismatch(5, 1)],
    ids=repr,
)
def test_k_mers_wherever_they_stand(strings, k):
    x, others = codes(strings), strings[:]
    out = np.empty((ROWS, ROWS))
    time_of = medians(full=lambda: k(strings, others), read=lambda: read_once(x, x, out))
    report(f"{k!r}: k(X, Z) / reading both once", time_of["full"] / time_of["read"], 2)
    assert time_of["full"] < 30 * time_of["read"]
