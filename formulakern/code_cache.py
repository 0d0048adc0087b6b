"""Where machine code is kept on disk: one directory per content, named by a digest."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

__all__ = ["cache_directory", "is_stored", "reserved"]


def cache_directory() -> Path:
    """Where machine code is kept: ``$FORMULAKERN_CACHE_DIR``, or the user's cache directory."""
    chosen = os.environ.get("FORMULAKERN_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "formulakern"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "formulakern" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "formulakern"


def reserved(digest: str, name: str) -> str | None:
    """An empty file beside which numba keeps machine code; None where nothing can be written.

    Numba takes code for stale when the time stamp of this file changes: it is made only once.
    """
    try:
        path = cache_directory() / digest / f"formulakern_{name.strip('_')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.open("x").close()
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return None
    return str(path)


def is_stored(digest: str) -> bool:
    """Whether there is machine code for this digest."""
    try:
        return any((cache_directory() / digest).rglob("*.nbi"))  # numba makes a folder in it
    except (OSError, RuntimeError):
        return False
