"""Speed of hierarchical kernel learning, as ratios: ``pytest -s tests/benchmarks/test_hkl.py``."""

import time

import numpy as np

from formulakern.encoding.strict import read_packed
from formulakern.learning.hkl.frontier import pair_forms


def report(what, value, goal, unit="x"):
    print(f"\n    {what:<70} {value:9.4f} {unit:<3} goal {goal:g}", end="")


def numpy_forms(bits, beta, base, covers):
    """The same by matrices over the covered rows."""
    forms = []
    for cover in covers:
        part = bits[cover].astype(np.float64)
        forms.append(beta[cover] @ base ** (part @ part.T) @ beta[cover])
    return np.array(forms)


def test_sums_behind_sources():
    """3,000 rows, 200 propositions, sources of length two."""
    rng = np.random.default_rng(0)
    bits, beta, base = rng.random((3000, 200)) < 0.5, rng.normal(size=3000), 1 + 1 / 9
    covers = [np.flatnonzero(bits[:, k] & bits[:, k + 1]) for k in range(20)]
    table = read_packed(bits)
    powers = base ** np.arange(table.counts.max() + 1.0)

    def timed(work):
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    ours = min(timed(lambda: pair_forms(table, beta, covers, powers)) for _ in "123")
    theirs = min(timed(lambda: numpy_forms(bits, beta, base, covers)) for _ in "12")
    np.testing.assert_allclose(
        pair_forms(table, beta, covers, powers), numpy_forms(bits, beta, base, covers), rtol=1e-8
    )
    report("sums of 20 sources, NumPy's matrices / ours", theirs / ours, 3)
    assert theirs / ours > 3
