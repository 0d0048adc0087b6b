"""Compiling fixed loops ahead of their first call, kept on disk where some directory allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compiled"]


def compiled(signatures: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: numba's code for these signatures, which runs without the interpreter's lock.

    Parameters
    ----------
    signatures : numba signature, its text, or a list of these
    **options
        Of ``numba.njit``.

    Examples
    --------
    >>> @compiled("float64(float64)")
    ... def double(x):
    ...     return x + x
    >>> double(1)
    2.0
    """
    from numba import njit

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any]
        try:
            made = njit(signatures, nogil=True, cache=True, **options)(function)
        except RuntimeError:  # numba found no place for its cache
            made = njit(signatures, nogil=True, **options)(function)
        return made

    return decorate
