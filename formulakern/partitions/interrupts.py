"""Ctrl-C in a terminal ends a fit, not the workers of the cluster that the program has begun.

A terminal tells all processes of a program.  Workers that are told end, and no others take their
place, so that a fit that keeps its best so far has nobody left to ask.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from functools import partial
from typing import Any
from weakref import WeakSet

from formulakern.optional import needed

__all__ = ["keep_workers"]

_KEPT: WeakSet[Any] = WeakSet()


def keep_workers(client: Any) -> None:
    """Let workers that are processes of this program not hear Ctrl-C, as long as they live.

    Workers of other terminals and computers, where Ctrl-C is meant for them, stay as they are.

    Parameters
    ----------
    client : distributed.Client
    """
    if client in _KEPT:
        return
    plugin = needed("distributed", "A dask cluster", "dask").WorkerPlugin()
    plugin.name = "formulakern-interrupts"
    plugin.setup = partial(_ignored, _program(), os.getpid())  # also of workers that come later
    client.register_plugin(plugin)
    _KEPT.add(client)


def _program() -> tuple[str, int]:
    """What a terminal tells together: the processes of one group."""
    return socket.gethostname(), os.getpgrp() if hasattr(os, "getpgrp") else 0


def _ignored(program: tuple[str, int], process: int, worker: object) -> None:  # noqa: ARG001
    first = threading.current_thread() is threading.main_thread()  # others have no say in signals
    if first and os.getpid() != process and _program() == program:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
