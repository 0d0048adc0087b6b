"""The streams of the command: how it ends when something fails."""

from __future__ import annotations

import os
import sys

__all__ = ["end_output", "failed"]


def end_output() -> None:
    """Let what is still in the buffer go nowhere: Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def failed(message: str) -> int:
    """Say what went wrong on standard error; the exit status."""
    try:
        sys.stdout.flush()
    except OSError:  # a full disk, and this may be what the message says
        end_output()
    print(f"formulakern: {message}", file=sys.stderr)
    return 1
