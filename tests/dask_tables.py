"""Frames of dask with chosen partitions."""

import itertools

#: Where the rows are cut: one partition, several, uneven and empty ones.
CUTS = {
    "one": [],
    "two": [100],
    "seven": [10, 10, 60, 61, 180, 239],
    "first empty": [0, 50],
    "last empty": [50, 240],
}


def cut_frame(rows, cuts):
    """A frame or series of dask of unknown divisions, cut before these rows."""
    import dask
    import dask.dataframe

    ends = [0, *cuts, len(rows)]
    parts = [dask.delayed(rows.iloc[a:b]) for a, b in itertools.pairwise(ends)]
    return dask.dataframe.from_delayed(parts, meta=rows.iloc[:0])
