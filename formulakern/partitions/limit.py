"""How much of a partitioned table is brought into this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from formulakern.checks import check_integer

__all__ = ["GATHERED", "gather_limit", "gathered_bytes"]

#: The default limit, 1 GiB: 64 million rows of 128 propositions.
GATHERED = 1 << 30

_limit: ContextVar[int] = ContextVar("gathered_bytes", default=GATHERED)


@contextmanager
def gather_limit(n_bytes: int) -> Iterator[None]:
    """Limit the bytes of packed rows that a fit on a dask collection may bring into this process.

    A table of n rows and p propositions has n·⌈p/64⌉·8 bytes of packed rows.  Up to the limit they
    are brought into this process, and learned from like any table.  Beyond it,
    :class:`PRLClassifier`, :class:`HKLClassifier` and :class:`FormulaFeatures` leave them in their
    partitions, which answer questions about their rows; other estimators raise DataError.

    Parameters
    ----------
    n_bytes : int
        At least 0; by default 1 GiB, such as 64 million rows of 128 propositions.  0 leaves every
        row in its partition.

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
    """Return the bytes that :func:`gather_limit` allows."""
    return _limit.get()
