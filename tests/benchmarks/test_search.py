"""Many formulas on one table against NumPy, as ratios in one run: ``pytest tests/benchmarks -s``.

1,000 random formulas go from the formula to the Gram matrix; both sides of a ratio take turns, one
formula after another, and the ratio is the median over the formulas.  NumPy evaluates the same
lowered programs on float64 arrays of all pairs, which are made beforehand; as that takes minutes
for 1,000 formulas, it does so for every tenth.  Goals are for an otherwise idle machine with two
cores.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern.estimators.search.estimator import FormulaSearch
from formulakern.kernels.shared_grams import CandidateGrams
from formulakern.program import run

ROWS, FORMULAS, EVERY = 2_000, 1_000, 10


def one_hot(columns: int, values: int) -> np.ndarray:
    chosen = np.random.default_rng(0).integers(0, values, (ROWS, columns // values))
    return np.eye(values, dtype=np.uint8)[chosen].reshape(ROWS, columns)


def report(what: str, ratio: float, goal: float, unit: str = "x") -> None:
    print(f"\n    {what:<70} {ratio:7.2f} {unit:<3} goal {goal:g}", end="")


@pytest.mark.parametrize(("columns", "values"), [(27, 3), (100, 4)])
def test_formulas_against_vectorised_numpy(columns, values):
    X = one_hot(columns, values)
    s = X.astype(np.float64) @ X.T
    p = X.sum(axis=1, dtype=np.float64)[:, None]
    q = np.ascontiguousarray(p.T)
    begin = time.perf_counter()
    grams = CandidateGrams(X)
    out = grams.empty()
    grams.gram(fk.kernel("a"), out=out)
    first = time.perf_counter() - begin
    ours, theirs = [], []
    for seed in range(FORMULAS):
        formula = fk.random_formula(random_state=seed)
        begin = time.perf_counter()
        grams.gram(fk.kernel(formula), out=out)
        ours.append(time.perf_counter() - begin)
        if seed % EVERY == 0:
            program = fk.kernel(formula).program
            begin = time.perf_counter()
            value = run(program, ([s], [p], [q]), [columns], np.float64)[0] / program.divisor
            theirs.append(time.perf_counter() - begin)
            np.testing.assert_allclose(np.broadcast_to(value, out.shape), out, rtol=1e-12)
    ratio = statistics.median(
        numpy / mine for numpy, mine in zip(theirs, ours[::EVERY], strict=True)
    )
    name = f"{FORMULAS:,} formulas, {ROWS:,} rows, {columns} columns: "
    report(f"{name}vectorised NumPy / ours", ratio, 20)
    total = FORMULAS * statistics.mean(theirs) / (sum(ours) + first)
    report(f"{name}all of them, with the counts", total, 20)
    report(f"{name}formula to matrix, median", 1000 * statistics.median(ours), 4, "ms")
    assert ratio > 12
    assert total > 12


def test_lowering_is_a_small_part():
    times = []
    for seed in range(300):
        formula = fk.random_formula(random_state=seed)
        begin = time.perf_counter()
        _ = fk.kernel(formula).program
        times.append(1000 * (time.perf_counter() - begin))
    report("formula to program, median of 300", statistics.median(times), 1, "ms")
    assert statistics.median(times) < 3


MEMORY = """
import numpy as np
from formulakern.estimators.search.estimator import FormulaSearch
def memory(which):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(which))
chosen = np.random.default_rng(0).integers(0, 3, (4_000, 9))
X = np.eye(3, dtype=np.uint8)[chosen].reshape(4_000, 27)
y = (X[:, 0] & X[:, 3]) | (X[:, 9] & X[:, 13])
search = FormulaSearch(5, "roc_auc", C=10, cv=5, random_state=0, compare=True)
search.fit(X[:300], y[:300])  # what it imports and compiles is there before memory is measured
before = memory("VmRSS")  # not the peak so far: a peak of compiling would hide one of the search
search.fit(X, y)
print((memory("VmHWM") - before) / (8 * 4_000**2))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_peak_memory_of_a_search():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True
    )
    ratio = float(done.stdout)
    report("peak memory of a search with both criteria / one Gram matrix", ratio, 2.2)
    assert ratio < 2.4


def test_a_search_without_validation():
    X, y = fk.datasets.tic_tac_toe()
    FormulaSearch(2, random_state=0).fit(X, y)
    times = {}
    for criterion in ("radius-margin", "roc_auc"):
        begin = time.perf_counter()
        FormulaSearch(20, criterion, random_state=0, C=10, cv=5).fit(X, y)
        times[criterion] = time.perf_counter() - begin
    ratio = times["radius-margin"] / times["roc_auc"]
    report("tic-tac-toe, 20 formulas: radius-margin / 5-fold cross-validation", ratio, 0.6)
    assert ratio < 1.5
