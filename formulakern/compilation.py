"""Compiling fixed loops ahead of their first call, kept on disk where some directory allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

__all__ = ["compiled", "state_type"]


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


def state_type(state: type) -> Any:
    """The numba type of a ``NamedTuple`` whose fields are annotated by theirs.

    A loop with many arrays takes them as one such tuple.

    Parameters
    ----------
    state : type
        Fields are annotated ``Annotated[Any, "float64[:, ::1]"]``.

    Examples
    --------
    >>> from formulakern.mining.templates.loop import InstanceState
    >>> str(state_type(InstanceState).types[0])
    'array(uint64, 2d, C)'
    """
    from numba import types
    from numba.core.sigutils import normalize_signature

    hints = get_type_hints(state, include_extras=True)
    texts = [hint.__metadata__[0] for hint in hints.values()]
    members, _ = normalize_signature(f"void({', '.join(texts)})")
    return types.NamedTuple(members, state)
