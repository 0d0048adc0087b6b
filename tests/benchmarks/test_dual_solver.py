"""The dual solver and LIBSVM, and the parts of its time: ``pytest tests/benchmarks -s``.

Both run in turns, and medians of processor time are divided.  ``goal`` is the target of a ratio;
the tests fail only far beyond it.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import formulakern as fk
from formulakern.encoding.strict import read_packed
from formulakern.learning import kernel_machines
from formulakern.learning.kernel_machines import KernelRows
from tests import turns

ROWS, ATTRIBUTES = 6_000, 24
REPETITIONS = 3


def problem() -> tuple[np.ndarray, np.ndarray]:
    """One-hot rows of attributes with four values; pairs of them decide, a tenth is noise."""
    generator = np.random.default_rng(0)
    values = generator.integers(0, 4, (ROWS, ATTRIBUTES))
    X = np.eye(4, dtype=np.uint8)[values].reshape(ROWS, 4 * ATTRIBUTES)
    y = ((values[:, 0] == values[:, 1]) | (values[:, 2] == 3)) ^ (generator.random(ROWS) < 0.1)
    return X, y


medians = partial(turns.medians, REPETITIONS, time.process_time)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_fit_beside_libsvm(C: float) -> None:
    X, y = problem()
    ours = fk.FormulaSVC("a & b", C=C, encoder=None, cache_size=0)
    theirs = SVC(kernel="poly", degree=2, gamma=1 / ATTRIBUTES, C=C)
    real = X.astype(np.float64)
    seconds = medians(ours=lambda: ours.fit(X, y), theirs=lambda: theirs.fit(real, y))
    ratio = seconds["theirs"] / seconds["ours"]
    what = f"C = {C:g}: LIBSVM / dual solver ({seconds['ours']:.2f} s)"
    print(f"\n    {what:<60} {ratio:6.1f} x   goal 20 at 32,561 rows", end="")
    assert ratio > 0.5


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_where_the_time_goes(C: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the times of rows of K, matrices of small problems, steps, and a value of K."""
    X, y = problem()
    spent = {"products": 0.0, "blocks": 0.0, "pairs": 0.0}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            begin = time.process_time()
            found = function(*arguments)
            spent[name] += time.process_time() - begin
            return found

        return call

    monkeypatch.setattr(KernelRows, "product", timed("products", KernelRows.product))
    monkeypatch.setattr(KernelRows, "block", timed("blocks", KernelRows.block))
    steps = timed("pairs", kernel_machines.descend_pairs)
    monkeypatch.setattr(kernel_machines, "descend_pairs", steps)
    model = fk.FormulaSVC("a & b", C=C, encoder=None, cache_size=0).fit(X, y)
    spent.update(dict.fromkeys(spent, 0.0))
    begin = time.process_time()
    model.fit(X, y)
    whole = time.process_time() - begin
    shares = ", ".join(f"{name} {100 * seconds / whole:.0f} %" for name, seconds in spent.items())
    print(f"\n    C = {C:g}: {whole:.2f} s, of which {shares}", end="")
    table = read_packed(X)
    rows = KernelRows(model.kernel_, table)
    some, weights = np.arange(0, ROWS, 6), np.ones(ROWS // 6)
    seconds = medians(product=lambda: rows.product(some, weights))
    values = len(some) * ROWS
    print(f"\n    a value of K and its use: {1e9 * seconds['product'] / values:.2f} ns", end="")
    assert sum(spent.values()) <= 1.01 * whole
