"""The training columns of a table that lies in pieces, as plans are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.encoding.cut_points import Strategy
from formulakern.encoding.summaries.counts import MANY, count_columns, joined
from formulakern.encoding.summaries.order_statistics import completed
from formulakern.encoding.summaries.summary import Summary
from formulakern.errors import DataError
from formulakern.partitions.partitioned import Partitioned

__all__ = ["OUTER", "gathered_summaries"]

#: Shares at which the extent of a linear term ends: they are always known.
OUTER = (0.025, 0.975)


def gathered_summaries(
    read: Callable[[list[str] | None], Partitioned],
    cut_points: int,
    strategy: Strategy,
    classes: Partitioned | None = None,
    many: int = MANY,
) -> tuple[list[Summary], list[int]]:
    """The summaries of all columns of a table in pieces, and how many rows each piece has.

    Parameters
    ----------
    read : callable
        Returns partitions of tables with the columns of these names, or all, read anew.
    cut_points : int
        For columns of very many values: how many cuts there will be.
    strategy : {"quantile", "uniform", "mdlp", "all"}
    classes : Partitioned, optional
        Beside the table: the classes of the rows of every piece, whole numbers.
    many : int
        Numbers with more different values in one piece are not listed; ``cut_points + 4`` are
        always: so many leave ``cut_points + 1`` beside missing and infinite ones.

    Returns
    -------
    summaries : list of Summary
        Plans made from them are those of the whole table.
    lengths : list of int

    Raises
    ------
    DataError
        If pieces have different columns, or hold different things in one.

    Notes
    -----
    One pass over the table, and two to five over all columns of very many numbers.
    """
    many = max(many, cut_points + 4)
    pieces = read(None)
    if classes is None:
        found = pieces.map(count_columns, None, many)
    else:
        found = pieces.zip(classes).map(_count_by_class, many)
    names = [tuple(one.name for one in part) for part in found]
    for number, own in enumerate(names):
        if own != names[0]:
            raise DataError(
                f"partition {number} has the columns {_listed(own)} and partition 0 has "
                f"{_listed(names[0])}. Write the same columns in the same order in all of them."
            )
    columns = [joined(parts) for parts in zip(*found, strict=True)]
    open_ones = [one for one in columns if one.others]
    shares = [k / (cut_points + 1) for k in range(1, cut_points + 1)]
    quantiles, levels = strategy == "quantile", cut_points if strategy == "uniform" else None
    known = completed(open_ones, read, shares if quantiles else (), OUTER, levels)
    by_name = {one.name: one for one in [*columns, *known]}
    summaries = [by_name[name].summary() for name in names[0]]
    return summaries, [part[0].n_rows for part in found]


def _count_by_class(beside: tuple[Any, NDArray[Any]], many: int) -> Any:
    table, classes = beside
    return count_columns(table, classes.astype(np.intp), many)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:8])
    return shown + ", …" * (len(names) > 8)
