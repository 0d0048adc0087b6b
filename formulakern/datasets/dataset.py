"""A data set: a table, the class of every row, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.tables.table import Table

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with the class of every row; unpacks as ``X, y = dataset``.

    Parameters
    ----------
    data : Table of n_rows rows
        The attributes.
    target : ndarray of shape (n_rows,)
        The class of every row: numbers or text.
    name : str
        Short name of the data set.
    description : str
        What it is and where it comes from.
    target_name : str, default="class"
        What the class is called.

    Examples
    --------
    >>> dataset = Dataset(Table({"a": [1, 0]}), np.array(["yes", "no"]), "tiny", "Two rows.")
    >>> X, y = dataset
    >>> X.names, y.tolist(), dataset.target_names
    (('a',), ['yes', 'no'], ('no', 'yes'))
    >>> dataset
    Dataset "tiny": 2 rows, 1 column; class: no 1, yes 1
    """

    data: Table
    target: NDArray[Any]
    name: str
    description: str
    target_name: str = "class"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return self.data.names

    @property
    def target_names(self) -> tuple[Any, ...]:
        """The different classes, sorted."""
        return tuple(np.unique(self.target).tolist())

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.target))

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        size = f"{rows:,} row{'s'[: rows != 1]}, {columns:,} column{'s'[: columns != 1]}"
        classes, counts = np.unique(self.target, return_counts=True)
        shares = ", ".join(f"{c} {n:,}" for c, n in zip(classes, counts, strict=True))
        about = shares if len(classes) <= 24 else f"{len(classes)} values"
        return f'Dataset "{self.name}": {size}; {self.target_name}: {about}'
