"""Options that both searches take: how many results, from which score on, for how long."""

from __future__ import annotations

from numbers import Real

import numpy as np

from formulakern.errors import ParameterError

__all__ = ["MAX_RESULTS", "check_threshold", "check_time_limit", "check_top", "is_integer"]

#: With ``top=None``, at most this many results unless ``max_results`` says otherwise.
MAX_RESULTS = 100_000


def check_top(top: int | None, max_results: int) -> int:
    """The largest number of results, from ``top`` and ``max_results``.

    Raises
    ------
    ParameterError
        If one is no positive integer.
    """
    for name, value in (("top", top), ("max_results", max_results)):
        if value is None and name == "top":
            continue
        if not is_integer(value) or value < 1:  # type: ignore[operator]
            raise ParameterError(
                f"{name}={value!r}; expected an integer, at least 1"
                + (", or None for all." if name == "top" else ".")
            )
    return int(max_results if top is None else top)


def check_threshold(threshold: float) -> float:
    """A threshold as a float.

    Raises
    ------
    ParameterError
        If it is no number.
    """
    if not isinstance(threshold, Real) or isinstance(threshold, bool) or threshold != threshold:
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
    if time_limit is None:
        return
    if not isinstance(time_limit, Real) or isinstance(time_limit, bool) or not time_limit >= 0:
        raise ParameterError(
            f"time_limit={time_limit!r}; expected seconds, at least 0, or None for no limit."
        )


def is_integer(value: object) -> bool:
    """Whether a value is an integer, Python's or NumPy's, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
