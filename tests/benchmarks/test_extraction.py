"""The speed of rule extraction: ``pytest tests/benchmarks/test_extraction.py -s``.

One test compares an exact search with an enumeration of the same features in vectorised NumPy, on
all 8,124 rows of mushroom, for conjunctions of at most three of its 117 propositions.  The other
searches the propositions at every cut point of numbers, with and without their order.
"""

import itertools
import os
import statistics
import time
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets

import formulakern as fk
from formulakern.encoding.packed import PackedTable

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
MUSHROOM = DATA / "mushroom.csv"


@pytest.mark.skipif(not MUSHROOM.exists(), reason=f"{MUSHROOM} is not there")
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_top_ten_rules_of_mushroom(C):
    data = fk.datasets.read_table(MUSHROOM)
    kernel = fk.boolean.anova(1) + fk.boolean.anova(2) + fk.boolean.anova(3)
    model = fk.FormulaSVC(kernel, C=C).fit(data.data, data.target)
    model.rules(top=10)  # compiled, or read from the cache
    exact, listed, weights = [], [], []
    for _ in range(3):
        begin = time.perf_counter()
        result = model.rules(top=10)
        exact.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        weights = enumerated(model)
        listed.append(time.perf_counter() - begin)
    seconds, ratio = statistics.median(exact), statistics.median(exact) / statistics.median(listed)
    print(f"\n    C = {C:g}: {len(model.support_)} support vectors of {len(data.target):,} rows, "
          f"{len(weights):,} features: {seconds:.3f} s (goal 10), {ratio:.4f} of the time of "
          f"listing all; proven: {result.proven}", end="")  # fmt: skip
    assert result.proven
    np.testing.assert_allclose([item.weight for item in result], weights[:10], rtol=1e-9)


def enumerated(model):
    """|weight| of every conjunction, largest first: one product of matrices per first column."""
    columns = model.support_vectors_.astype(np.float64)
    weights = model.dual_coef_[0] / np.sqrt(model.kernel_.kernel.diagonal(model.support_vectors_))
    n = columns.shape[1]
    found = [np.abs(weights @ columns)]
    pairs = list(itertools.combinations(range(n), 2))
    for i in range(n):
        later = columns[:, i + 1 :]
        some = later * (weights * columns[:, i])[:, None]
        found.append(np.abs(some.sum(axis=0)))
        triples = some.T @ later
        found.append(np.abs(triples[np.triu_indices(n - i - 1, 1)]))
    assert sum(map(len, found)) == n + len(pairs) + n * (n - 1) * (n - 2) // 6
    return np.sort(np.concatenate(found))[::-1]


def singles(table):
    """Return chains of one column each."""
    return [[j] for j in range(table.n_columns)]


@pytest.mark.parametrize("text", ["a & b & c", "(a & ~b) | c"])
@pytest.mark.parametrize("name", ["iris", "wine", "transfusion.csv", "vehicle.csv.gz"])
def test_every_cut_point(name, text, monkeypatch):
    """The ten heaviest rules of each pair of classes, at most 60 s."""
    if (path := DATA / name).exists():
        data = fk.datasets.read_table(path)
    elif "." in name:
        pytest.skip(f"needs {path}; set FORMULAKERN_DATA")
    else:
        data = getattr(sklearn.datasets, f"load_{name}")()
    model = fk.FormulaSVC(text, encoder=fk.PropositionEncoder(strategy="all"))
    model.fit(data.data, data.target).rules(top=1, time_limit=1)  # compiled, or read from the cache
    for ordered in (True, False):
        if not ordered:
            monkeypatch.setattr(PackedTable, "chains", property(singles))
        begin = time.process_time()
        result = model.rules(top=10, time_limit=60)
        seconds = time.process_time() - begin
        what = f"{name}, {text}, {len(model.propositions_):,} propositions"
        print(f"\n    {what:<52} {'ordered' if ordered else 'single':<8} {seconds:6.2f} s, "
              f"proven: {result.proven}, {result.n_evaluated:,} bounds", end="")  # fmt: skip
        assert max(result.bounds.values()) > 0
