"""The output of the command: its streams, the files that it writes, how it ends."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

from formulakern.errors import ParameterError
from formulakern.files.replacing import replacing
from formulakern.text import blocks, within

__all__ = [
    "check_output",
    "end_output",
    "failed",
    "opened_output",
    "prepared",
    "unwritable",
]


@contextmanager
def prepared() -> Iterator[None]:
    """Keep reports to the width of a terminal, and print every warning once, as a note."""
    shown: set[str] = set()

    def note(message: Warning | str, *_: Any) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            shown.add(text)
            print(f"formulakern: note: {text}", file=sys.stderr, flush=True)

    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        stack.callback(setattr, warnings, "showwarning", warnings.showwarning)
        vars(warnings)["showwarning"] = note
        if sys.stdout is not None and sys.stdout.isatty():
            stack.enter_context(within(shutil.get_terminal_size((100, 24)).columns))
        yield


@contextmanager
def opened_output(path: Path | None, force: bool, *inputs: str | None) -> Iterator[TextIO]:
    """Open the terminal, or a file that :func:`check_output` accepts, for text."""
    if path is None:
        yield sys.stdout
        return
    check_output(path, force, *inputs)
    with replacing(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        yield file
    print(blocks([("written", str(path))]))


def check_output(path: Path, force: bool, *inputs: str | None) -> None:
    """Raise ParameterError, before any work, for a file that cannot or must not be written.

    ``inputs`` are files that the command reads, under any name; with ``force`` another file may
    exist.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise unwritable(path, "it is a folder; name a file in it")
    if not folder.is_dir():
        raise unwritable(path, f"there is no folder {path.parent}")
    if not os.access(path if path.exists() and not path.is_file() else folder, os.W_OK):
        raise unwritable(path, "no permission")
    if not path.is_file():
        return
    if any(name is not None and os.path.exists(name) and path.samefile(name) for name in inputs):
        raise unwritable(path, "this command reads the same file; name another file")
    if not force:
        raise unwritable(path, "the file exists; pass --force to replace it")


def unwritable(path: Path, reason: str) -> Exception:
    """Return the error for a file that is not written."""
    return ParameterError(f"cannot write {path}: {reason[:1].lower()}{reason[1:]}.")


def end_output() -> None:
    """Discard the buffer of standard output, which Python would flush again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def failed(message: str) -> int:
    """Print an error on standard error, and return the exit status."""
    try:
        sys.stdout.flush()
    except OSError:  # a full disk, and this may be what the message says
        end_output()
    print(f"formulakern: {message}", file=sys.stderr)
    return 1
