"""What both searches take: propositions, and how many results, from which score on, how long."""

from __future__ import annotations

from formulakern.checks import check_integer, is_number
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.zero_one import read_packed
from formulakern.errors import DataError, ParameterError

__all__ = [
    "MAX_RESULTS",
    "check_threshold",
    "check_time_limit",
    "check_top",
    "read_propositions",
]

#: With ``top=None``, at most this many results unless ``max_results`` says otherwise.
MAX_RESULTS = 100_000


def read_propositions(values: object) -> PackedTable:
    """Propositions on examples that a search can work on: one row an example, at least one of each.

    Parameters
    ----------
    values : PackedTable, or what :func:`formulakern.encoding.zero_one.read_packed` reads

    Raises
    ------
    DataError
        If the table cannot be read, or there is no example or no proposition.
    """
    table = read_packed(values)
    if table.n_rows == 0 or table.n_columns == 0:
        raise DataError(
            f"{table.n_rows} examples of {table.n_columns} propositions; a search "
            "needs at least one of each."
        )
    return table


def check_top(top: int | None, max_results: int) -> int:
    """The largest number of results, from ``top`` and ``max_results``.

    Raises
    ------
    ParameterError
        If one is no positive integer.
    """
    check_integer("top", top, otherwise="None for all")
    check_integer("max_results", max_results)
    return int(max_results if top is None else top)


def check_threshold(threshold: float) -> float:
    """A threshold as a float.

    Raises
    ------
    ParameterError
        If it is no number.
    """
    if not is_number(threshold) or threshold != threshold:
        raise ParameterError(
            f"threshold={threshold!r}; expected a number. Give 0.0 for any positive score."
        )
    return float(threshold)


def check_time_limit(time_limit: float | None) -> None:
    """Check that a time limit is None or a number of seconds.

    Raises
    ------
    ParameterError
    """
    if time_limit is not None and not (is_number(time_limit) and time_limit >= 0):
        raise ParameterError(
            f"time_limit={time_limit!r}; expected seconds, at least 0, or None for no limit."
        )
