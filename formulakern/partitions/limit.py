"""How much of a table in pieces is brought into this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from formulakern.checks import check_integer

__all__ = ["GATHERED", "gather_limit", "gathered_bytes"]

#: Packed rows of no more bytes are learned from in this process, where nothing else is said.
GATHERED = 1 << 30

_limit: ContextVar[int] = ContextVar("gathered_bytes", default=GATHERED)


@contextmanager
def gather_limit(n_bytes: int) -> Iterator[None]:
    """How many bytes of packed rows a fit on a collection of dask may bring into this process.

    A table of n rows and p propositions has n·⌈p/64⌉·8 bytes of packed rows.  Up to the limit they
    are brought here, and learned from as any table is.  Beyond, :class:`PRLClassifier`,
    :class:`HKLClassifier` and :class:`FormulaSVC` leave them where they are: pieces answer
    questions about their rows, and this process keeps the search and the proof.

    Parameters
    ----------
    n_bytes : int
        At least 0; 1 GiB where nothing is said.  0 leaves every row where it is.

    Yields
    ------
    None

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> with gather_limit(0):
    ...     print(gathered_bytes())
    0
    >>> gathered_bytes() == GATHERED
    True
    """
    check_integer("n_bytes", n_bytes, 0)
    token = _limit.set(int(n_bytes))
    try:
        yield
    finally:
        _limit.reset(token)


def gathered_bytes() -> int:
    """What :func:`gather_limit` says."""
    return _limit.get()
