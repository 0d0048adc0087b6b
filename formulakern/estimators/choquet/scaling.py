"""Attributes of any range and direction → degrees between 0 and 1 that grow with the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from formulakern.arrays import FloatArray
from formulakern.checks import is_integer, is_number
from formulakern.encoding.degrees import Degrees, DegreeScale, learn_degrees
from formulakern.errors import ParameterError
from formulakern.tables.column import did_you_mean

__all__ = ["SCALINGS", "AttributeScaling", "column_position", "learn_scaling"]

SCALINGS = ("minmax", "rank")


@dataclass(frozen=True, eq=False)
class AttributeScaling:
    """How the values of each attribute become degrees.

    Parameters
    ----------
    columns : tuple of n Degrees, or None for a constant column
    directions : ndarray of shape (n,), int64
        +1 where degrees grow with the values, −1 where they fall.
    """

    columns: tuple[Degrees | None, ...]
    directions: npt.NDArray[np.int64]

    def degrees(self, values: FloatArray) -> FloatArray:
        """Degrees in [0, 1]; what is outside the training range is clipped, constant columns are 0.

        Examples
        --------
        >>> linear = (Degrees("linear", (0.0, 10.0)), Degrees("linear", (1.0, 3.0)))
        >>> scaling = AttributeScaling(linear, np.array([1, -1]))
        >>> scaling.degrees(np.array([[2.0, 1.5], [20.0, 3.0]]))
        array([[0.2 , 0.75],
               [1.  , 0.  ]])
        """
        found = np.zeros(values.shape)
        for j, column in enumerate(self.columns):
            if column is not None:
                degrees = column.of(values[:, j])
                found[:, j] = degrees if self.directions[j] > 0 else 1.0 - degrees
        return found


def learn_scaling(
    values: FloatArray, target: FloatArray, directions: Any, scaling: str, names: Any
) -> AttributeScaling:
    """The scaling of training rows.

    Parameters
    ----------
    values : ndarray of shape (rows, n)
    target : ndarray of shape (rows,)
        What degrees shall grow with, for directions that are to be learnt: by the sign of
        Spearman's rank correlation, +1 where that is zero.
    directions : "auto", mapping of columns to +1 or −1, or sequence of n of them
    scaling : {"minmax", "rank"}
    names : sequence of str or None

    Raises
    ------
    ParameterError
        If the directions are wrong.
    """
    ranks, wanted = rankdata(values, axis=0), rankdata(target)
    covariance = (wanted - wanted.mean()) @ (ranks - ranks.mean(axis=0))
    found = np.where(covariance < -1e-9 * len(ranks), -1, 1)
    for column, sign in _given(directions, values.shape[1]):
        if not is_number(sign) or sign not in (1, -1):
            raise ParameterError(
                f"the direction of column {column!r} is {sign!r}; expected +1 where larger values "
                "speak for the larger class or number, -1 where smaller ones do."
            )
        found[column_position(column, values.shape[1], names)] = int(sign)
    kind: DegreeScale = "rank" if scaling == "rank" else "linear"
    columns = tuple(learn_degrees(column, kind) for column in values.T)
    return AttributeScaling(columns, found.astype(np.int64))


def _given(directions: Any, n: int) -> Iterable[tuple[Any, Any]]:
    """The columns whose directions are given, and these."""
    if isinstance(directions, str) and directions == "auto":
        return ()
    if isinstance(directions, Mapping):
        return directions.items()
    wrong = isinstance(directions, (str, bytes)) or not isinstance(directions, Iterable)
    signs = [] if wrong else np.asarray(directions, dtype=object).ravel().tolist()
    if len(signs) != n:
        raise ParameterError(
            f"directions={directions!r}; expected 'auto', one of +1 and -1 for each of the {n} "
            "columns, or a mapping from some columns, by name or position, to these."
        )
    return enumerate(signs)


def column_position(column: Any, n: int, names: Any) -> int:
    """The position of a column that is given by name or position.

    Raises
    ------
    ParameterError
        If there is none.

    Examples
    --------
    >>> column_position("age", 2, ["sex", "age"]), column_position(-1, 2, None)
    (1, 1)
    """
    known = [] if names is None else list(names)
    if isinstance(column, str) and column in known:
        return known.index(column)
    if is_integer(column) and -n <= column < n:
        return int(column) % n
    hint = f"; {did_you_mean(column, known)}" if isinstance(column, str) and known else "."
    raise ParameterError(
        f"there is no column {column!r} among the {n} of training{hint} Give a name or a position."
    )
