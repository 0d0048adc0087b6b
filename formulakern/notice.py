"""That compiling takes long is said, once."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["NOTICE", "PATIENCE", "noticed"]

#: Said once per process, on standard error, when compiling has taken ``PATIENCE`` seconds in all.
NOTICE = "formulakern: compiling once, a few seconds …"
PATIENCE = 2.0


class _Patience:
    """How long this process has been compiling, and whether that was said."""

    seconds = 0.0
    told = False


@contextlib.contextmanager
def noticed(dispatcher: Any) -> Iterator[None]:
    """Say once that machine code is being compiled, if that takes long; reading it says nothing."""
    begin, done = time.monotonic(), threading.Event()

    def tell() -> bool:
        if dispatcher.stats.cache_misses and not _Patience.told:
            _Patience.told = True
            print(NOTICE, file=sys.stderr, flush=True)
        return _Patience.told

    def watch() -> None:
        wait = PATIENCE - _Patience.seconds
        while not done.wait(max(wait, 0.0)) and not tell():
            wait = 0.2

    watching = threading.Thread(target=watch, daemon=True)
    if not _Patience.told:
        watching.start()
    try:
        yield
    finally:
        done.set()
        if watching.ident is not None:
            watching.join()
        if dispatcher.stats.cache_misses:
            _Patience.seconds += time.monotonic() - begin
        if _Patience.seconds > PATIENCE:
            tell()
