"""Collections of dask are recognised without an import of dask."""

import subprocess
import sys

import numpy as np
import pytest

from formulakern.partitions.collections import (
    in_memory,
    is_dask,
    is_dask_array,
    kind_of,
)

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
pd = pytest.importorskip("pandas")


def test_kinds():
    frame = dd.from_pandas(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), npartitions=2)
    array = da.ones((4, 2), chunks=2)
    assert [kind_of(X) for X in (frame, frame.a, array)] == ["frame", "series", "array"]
    others = (frame.a.sum(), dask.delayed(array), frame.to_bag())
    assert [kind_of(X) for X in others] == [None] * 3
    assert in_memory(frame.a).tolist() == [1, 2]
    assert in_memory(others) is others
    assert is_dask_array(array)
    for X in (frame.compute(), array.compute(), [1], None, "DataFrame", dd.DataFrame, np.ndarray):
        assert not is_dask(X)


def test_dask_is_not_imported():
    code = (
        "import sys, numpy as np; from formulakern.partitions.collections import is_dask; "
        "assert not is_dask(np.eye(2)) and 'dask' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
