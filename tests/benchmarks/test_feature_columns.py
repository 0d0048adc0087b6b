"""Features of many rows against the memory that they fill:
``pytest tests/benchmarks/test_feature_columns.py -s``.

The table has 138 packed columns, an eighth of them ones; the features are conjunctions of two.  The
limit is the time to read the packed table and to fill as many entries of new arrays.
"""

import statistics
import time

import numpy as np
import pytest

import formulakern as fk
from formulakern.encoding.packed import PackedTable

COLUMNS = 138


@pytest.mark.parametrize(("number", "rows"), [(1000, 1 << 20), (9453, 1 << 17)])
def test_rows_per_second(number, rows):
    generator = np.random.default_rng(0)
    words = generator.integers(0, 2**64, (3, COLUMNS, rows // 64), dtype=np.uint64)
    words = np.bitwise_and.reduce(words, axis=0)
    some = PackedTable.of_columns(np.ascontiguousarray(words[:, :64]), 4096).unpacked()
    model = fk.FormulaFeatures("a & b", number, "distinct", encoder=None, dtype=np.float32)
    model.fit(some).transform(some)  # compiled, or read from the cache
    ours, limit, ones = [], [], 0
    for _ in range(5):
        begin = time.process_time()
        found = model.transform(PackedTable.of_columns(words, rows))
        ours.append(time.process_time() - begin)
        ones = found.nnz
        del found
        begin = time.process_time()
        words.sum()
        data, indices = np.full(ones, 2, np.float32), np.full(ones, 3, np.int32)
        limit.append(time.process_time() - begin)
        del data, indices
    seconds, ratio = statistics.median(ours), statistics.median(ours) / statistics.median(limit)
    print(f"\n    {number:,} features of {rows:,} rows, {ones / rows:.1f} true in a row: "
          f"{rows / seconds:,.0f} rows a CPU second, {ratio:.1f} times reading and writing; "
          f"ten million rows: {1e7 * seconds / rows:.0f} CPU s", end="")  # fmt: skip
    assert ones > 0
