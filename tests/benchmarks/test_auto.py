"""The choice of "auto" against the fastest backend, and the sizes of tasks: ``pytest -s``.

The grid has rows, columns, densities and formulas.  Everything is compiled before.  ``PRINT=1``
prints the measured milliseconds of every backend next to its ``size``.
"""

import os
import time

import numpy as np

import formulakern as fk
from formulakern.backends.evaluation import BACKENDS
from formulakern.backends.tables import TablePair

REPETITIONS = 5
TEXTS = ("a & b", "(a & ~b) | c", "(a & b) | (b & c) | (c & a)", "a & b & c & d | ~e")
GRID = [
    (rows, columns, density, text)
    for rows in (100, 300, 1_000, 2_000, 5_000)
    for columns, density in ((64, 0.5), (117, 0.5), (117, 0.1), (512, 0.3))
    for text in TEXTS
]


def table(rows: int, columns: int, density: float) -> np.ndarray:
    return (np.random.default_rng(0).random((rows, columns)) < density).astype(np.uint8)


def test_auto_against_the_fastest():
    for text in TEXTS:
        for backend in BACKENDS:
            few = 20 if backend == "interpreter" else 1_500
            fk.kernel(text, backend=backend)(table(few, 64, 0.5))
    worst, ratios = 1.0, []
    for rows, columns, density, text in GRID:
        X = table(rows, columns, density)
        task = fk.kernel(text).task(TablePair(X))
        names = [n for n, b in BACKENDS.items() if b.supports(task).ok]
        if task.n_pairs * len(task.program.kernel_nodes) > 5e7:
            names.remove("interpreter")
        kernels = {name: fk.kernel(text, backend=name) for name in (*names, "auto")}
        times: dict[str, list[float]] = {name: [] for name in kernels}
        for repetition in range(REPETITIONS + 1):
            for name, k in kernels.items():
                begin = time.perf_counter()
                k(X)
                if repetition:
                    times[name].append(time.perf_counter() - begin)
        least = {name: min(values) for name, values in times.items()}
        best = min(least[name] for name in names)
        ratios.append(least["auto"] / best)
        took = fk.kernel(text).choose(TablePair(X)).backend.name
        if os.environ.get("PRINT"):
            size = {name: 1e-6 * BACKENDS[name].size(task) for name in names}
            shown = "  ".join(f"{n} {1e3 * least[n]:.2f} ({size[n]:.2f})" for n in names)
            print(f"\n{rows} x {columns}, {density}, {text}: {took}, {ratios[-1]:.2f}; {shown}")
        elif ratios[-1] > 1.3:
            print(
                f"\n    {rows} x {columns}, {density}, {text}: {took}, {ratios[-1]:.2f} x the best"
            )
        worst = max(worst, ratios[-1])
    share = np.mean(np.array(ratios) <= 1.3)
    print(f"\n    within 1.3 x of the best in {share:.0%} of {len(GRID)} cases, worst {worst:.2f}")
    assert np.median(ratios) < 1.5
