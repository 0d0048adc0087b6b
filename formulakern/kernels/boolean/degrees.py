"""The parameters of Boolean kernels, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulakern.errors import ParameterError

__all__ = ["MAX_BITS", "MAX_DEGREE", "check_bits", "check_columns", "degree", "real"]

#: Numbers of columns and of clauses are far below this.
MAX_DEGREE = 2**31
#: Exact numbers with more binary digits than this are refused before they are computed.
MAX_BITS = 200_000


def degree(value: Any, letter: str) -> int:
    """An integer of at least 1, or ParameterError.

    >>> degree(3, "d")
    3
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ParameterError(
            f"{letter} is an integer of at least 1; got {value!r} of type {type(value).__name__}."
        )
    if not 1 <= value < MAX_DEGREE:
        raise ParameterError(
            f"{letter} is an integer of at least 1 and below {MAX_DEGREE:,}; got {value}. "
            f"Choose {letter} of at most the number of columns."
        )
    return int(value)


def real(value: Any, name: str) -> float:
    """A number as float64 (perhaps infinite or nan), or ParameterError.

    >>> real(1, "sigma")
    1.0
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise ParameterError(f"{name} is a number; got {value!r} of type {type(value).__name__}.")
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(f"{name} is beyond 1.8e308, the end of float64.") from None


def check_columns(length: int, n: int, letter: str = "d") -> None:
    """Refuse clauses of more different columns than there are."""
    if length > n:
        raise ParameterError(
            f"{letter}={length:,} different columns are asked for, and the table has {n:,}. "
            f"Choose {letter} of at most {n:,}."
        )


def check_bits(bits: int, d: int) -> None:
    """Refuse numbers too long to compute for every entry of a table."""
    if bits > MAX_BITS:
        raise ParameterError(
            f"d={d:,} asks for numbers of about {bits:,} binary digits; at most {MAX_BITS:,} are "
            "computed. Choose a smaller d."
        )
