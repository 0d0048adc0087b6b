"""The speed of Gram matrices, as ratios from one run: ``pytest tests/benchmarks -s``.

Both sides run in turns, repetition after repetition, and medians are divided, so that a busy
machine slows both sides.  ``goal`` is the largest ratio on an otherwise idle machine with two
cores; the tests fail only far beyond it.
"""

import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import formulakern as fk
from formulakern.backends import block_writers
from formulakern.backends.loops import fill_block, look_up_block
from formulakern.backends.tables import PANEL, ROWS, TablePair
from formulakern.compilation import compiled
from formulakern.gram.matrix import fill_matrix, n_threads
from tests import turns

FORMULA = "(a & ~b) | c"
REPETITIONS = 9


def table(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (rows, columns), dtype=np.uint8)


medians = partial(turns.medians, REPETITIONS, time.perf_counter)


def report(what: str, ratio: float, goal: float, unit: str = "x") -> None:
    print(f"\n    {what:<70} {ratio:7.2f} {unit:<3} goal {goal:g}", end="")


@njit(nogil=True)
def _store(out, row_start, row_stop):
    for i in range(row_start, row_stop):
        for j in range(out.shape[1]):
            out[i, j] = 1.5


def store(shape: tuple[int, int]) -> np.ndarray:
    """The same matrix, by the same threads, of a constant."""

    def fill(rows, columns, block):
        _store(block, 0, len(block))

    return fill_matrix(np.empty(shape), False, fill)


def in_numpy(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The kernel of (a & ~b) | c in vectorised NumPy.

    With E, R, L, N the numbers of columns that are 1 in both rows, in x alone, in z alone and in
    neither, there are p(n - p) ways to make a & ~b true in x; and so on.
    """
    n = X.shape[1]
    s = (X.astype(np.float32) @ Z.T.astype(np.float32)).astype(np.float64)
    p, q = X.sum(1, dtype=np.float64)[:, None], Z.sum(1, dtype=np.float64)[None, :]
    both = s * (n - p - q + s)
    only_x, only_z = p * (n - p) - both, q * (n - q) - both
    neither = n * n - both - only_x - only_z
    return both * n + only_x * q + only_z * p + neither * s


def test_the_plain_alternative_is_the_same_kernel():
    X, Z = table(40, 70), table(50, 70)
    assert np.array_equal(fk.kernel(FORMULA)(X, Z), in_numpy(X, Z))


def test_few_columns_against_storing_the_result():
    """The loop in tiles that stay in a cache shows the least ratio if nothing overlaps."""
    X = table(10_000, 64)
    Z = X.copy()
    k = fk.kernel(FORMULA)
    fill, tile = k.prepare(k.read(X, Z)), np.empty((32, 4_096))

    def alone():
        for row in range(0, 9_984, 32):
            for column in (0, 4_096):
                fill(slice(row, row + 32), slice(column, column + 4_096), tile)

    time_of = medians(ours=lambda: k(X, Z), store=lambda: store((10_000, 10_000)), alone=alone)
    ratio = time_of["ours"] / time_of["store"]
    report("10,000 x 10,000, 64 columns / storing the matrix", ratio, 1.5)
    seconds = time_of["alone"] * 10_000**2 / (9_984 * 8_192) / n_threads()
    report("the loop in a cache, all threads / storing the matrix", seconds / time_of["store"], 0.4)
    assert ratio < 3


@pytest.mark.parametrize("dtype", [np.uint8, np.float64], ids=["uint8", "float64"])
def test_many_columns(dtype):
    X = table(4_000, 1_024).astype(dtype)
    Z = X.copy()
    left, right = X.astype(np.float32), Z.astype(np.float32)
    k = fk.kernel(FORMULA)
    time_of = medians(
        full=lambda: k(X, Z),
        symmetric=lambda: k(X),
        product=lambda: left @ right.T,
        store=lambda: store((4_000, 4_000)),
        numpy=lambda: in_numpy(X, Z),
    )
    name = f"4,000 x 4,000, 1,024 columns, {np.dtype(dtype)}: "
    ratio = time_of["full"] / time_of["product"]
    report(f"{name}k(X, Z) / float32 X @ Z.T", ratio, 0.35)
    report(f"{name}k(X, Z) / vectorised NumPy", time_of["full"] / time_of["numpy"], 0.2)
    symmetric = time_of["symmetric"] / time_of["full"]
    report(f"{name}k(X) / k(X, X.copy())", symmetric, 0.65)
    bound = time_of["store"] / time_of["full"]
    report(f"{name}storing the matrix / k(X, X.copy())", bound, 0.65)
    assert ratio < 0.7
    assert symmetric < 1.2


# -- what is written in LLVM, against plain numba and NumPy ----------------------------------------

_PAIRS, _NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


@compiled()
def ones(word):
    """Return the number of bits that are set; LLVM has a pattern for this loop."""
    word = word - ((word >> np.uint64(1)) & _PAIRS)
    word = (word & _NIBBLES) + ((word >> np.uint64(2)) & _NIBBLES)
    word = (word + (word >> np.uint64(4))) & _BYTES
    return (word * _SUM) >> np.uint64(56)


@compiled()
def plain_panel(x, z, start, stop, tile, column):
    for r in range(ROWS):
        for c in range(PANEL):
            tile[r, column + c] = 0
        for word in range(start, stop):
            for c in range(PANEL):
                tile[r, column + c] += ones(x[r, word] & z[word, c])


@compiled()
def nothing():
    pass


def fill_times(text: str, X: np.ndarray, plain: dict[str, Any], loop: Any) -> dict[str, float]:
    """One block of the kernel: ours, with plain parts instead, and the counting alone in NumPy."""
    pair = TablePair(X, X.copy())
    k = fk.kernel(text, backend="numba")
    rows, out = slice(0, len(X)), np.empty(pair.shape)
    ours = k.prepare(pair)
    slower = replace(ours, values=ours.values.with_helpers(**plain))

    def plainly():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(block_writers, "fill_block", loop)
            slower(rows, rows, out)

    tables = pair.tables((None,))
    return medians(
        ours=lambda: ours(rows, rows, out),
        plain=plainly,
        numpy=lambda: tables.joint_counts(rows, rows),
    )


@pytest.mark.parametrize("columns", [64, 1_024])
def test_counting_in_llvm(columns):
    loop = fill_block.with_helpers(count_panel=plain_panel)
    time_of = fill_times(FORMULA, table(2_000, columns), {}, loop)
    name = f"2,000 x 2,000, {columns} columns: "
    report(f"{name}counting in LLVM / in plain numba", time_of["ours"] / time_of["plain"], 0.6)
    report(f"{name}kernel / counting in NumPy", time_of["ours"] / time_of["numpy"], 0.3)
    assert time_of["ours"] < time_of["plain"]


@pytest.mark.parametrize("text", ["(a & b) | (b & c) | (c & a)", "all[3](a & ~b)"])
def test_wide_vectors(text):
    time_of = fill_times(text, table(2_000, 64), {"vectorized": nothing}, fill_block)
    ratio = time_of["ours"] / time_of["plain"]
    report(f"{text}, 64 columns: wide vectors / as numba has them", ratio, 0.8)
    assert ratio < 1.2


@pytest.mark.parametrize("rows", [2_000, 4_000, 10_000])
def test_normalised(rows):
    X = table(rows, 64)
    for text in ("a & b", FORMULA):
        for backend in ("numba", "lookup"):
            k = fk.kernel(text, backend=backend)
            n = k.normalized()
            time_of = medians(plain=lambda k=k: k(X), cosines=lambda n=n: n(X))
            ratio = time_of["cosines"] / time_of["plain"]
            report(f"{text}, {rows:,} rows, {backend}: normalised / plain", ratio, 1.1)
            assert ratio < 2.5


def test_sums_and_products():
    X = table(4_000, 64)
    k, other = (fk.kernel(text, backend="numba") for text in ("a & b", FORMULA))
    time_of = medians(
        parts=lambda: (k(X), other(X)),
        total=lambda: (k + 2 * other)(X),
        product=lambda: (k * other)(X),
        cosine=lambda: (k + 2 * other).normalized()(X),
    )
    for name in ("total", "product", "cosine"):
        ratio = time_of[name] / time_of["parts"]
        report(f"4,000 rows: {name} of two kernels / both", ratio, 1)
        assert ratio < 2


def test_looking_up():
    index = np.random.default_rng(0).integers(0, 200, (2_000, 2_000)).astype(np.uint8)
    values, out = np.random.default_rng(0).random(200), np.empty((2_000, 2_000))
    rows = np.arange(2_000)
    time_of = medians(
        ours=lambda: look_up_block(index, values, rows, rows, out),
        numpy=lambda: np.take(values, index, out=out, mode="clip"),
    )
    ratio = time_of["ours"] / time_of["numpy"]
    report("2,000 x 2,000 numbers looked up: ours / NumPy", ratio, 0.4)
    assert ratio < 0.8


MEMORY = """
import numpy as np, formulakern as fk
def peak():  # not getrusage: a child starts with the peak of the process that it was forked from
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
k = fk.kernel("(a & ~b) | c", backend="numba")  # compiled before memory is measured
X = np.random.default_rng(0).integers(0, 2, (6_000, 256), dtype=np.uint8)
k(X[:600])
before = peak()
K = k(X)
print((peak() - before) / K.nbytes)
"""


def python(code: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_peak_memory():
    ratio = float(python(MEMORY))
    report("peak memory of k(X), 6,000 rows / size of the result", ratio, 1.1)
    assert 0.9 < ratio < 1.1


def test_a_new_formula_after_another():
    X = fk.PropositionEncoder().fit_transform(fk.datasets.tic_tac_toe().data)
    X = np.vstack([X, X[:42]])
    fk.kernel("a & b")(X)
    times = []
    for text in (FORMULA, "a & b & c", "(a ^ b) -> c", "a & b & c & d | ~e", "a <-> b | c"):
        begin = time.perf_counter()
        fk.kernel(text)(X)
        times.append(1000 * (time.perf_counter() - begin))
    report("new formula, 1,000 one-hot rows of tic-tac-toe: text to Gram", max(times), 20, "ms")
    assert max(times) < 60


LIBRARIES = "import numpy, numba"
FIRST_GRAM = """
import numpy as np, formulakern as fk
fk.kernel("(a & ~b) | c", backend="numba")(np.eye(600)[:, :64])
"""


def test_a_cold_process_with_a_warm_cache(tmp_path: Path):
    place = {"FORMULAKERN_CACHE_DIR": str(tmp_path)}
    time_of = medians(ours=lambda: python(FIRST_GRAM, **place), libraries=lambda: python(LIBRARIES))
    beyond = time_of["ours"] - time_of["libraries"]
    report("cold process, warm cache: first Gram beyond numpy and numba", beyond, 1, "s")
    assert beyond < 3
