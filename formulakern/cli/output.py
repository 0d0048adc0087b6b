"""The streams of the command: how wide they are, what is noted beside, how it ends."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

from formulakern.text import blocks, within

__all__ = [
    "add_command",
    "add_output",
    "check_output",
    "end_output",
    "failed",
    "opened_output",
    "prepared",
    "unwritable",
]


def add_command(
    commands: Any,
    name: str,
    about: str,
    examples: Sequence[str],
    *parents: argparse.ArgumentParser,
    more: str = "",
) -> argparse.ArgumentParser:
    """A parser of a command, whose help ends with examples.

    Parameters
    ----------
    commands
        As ``add_subparsers`` returns them.
    name, about : str
    examples : sequence of str
        What stands behind ``formulakern`` and the name.
    *parents : ArgumentParser
    more : str
        What stands before the examples.
    """
    shown = "".join(f"\n  formulakern {name} {example}".rstrip() for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        parents=list(parents),
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"{more}\n\n" * bool(more) + f"examples:{shown}",
    )
    return parser


def add_output(parser: argparse.ArgumentParser, *names: str, **options: Any) -> None:
    """Add the argument that names the file to write, and ``--force``."""
    parser.add_argument(*names, type=Path, **options)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


@contextmanager
def prepared() -> Iterator[None]:
    """On a terminal reports keep to its width; warnings become notes, each told once."""
    told: set[str] = set()

    def note(message: Warning | str, *_: Any) -> None:
        text = " ".join(str(message).split())
        if text not in told:
            told.add(text)
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
    from formulakern.files.replacing import replacing

    if path is None:
        yield sys.stdout
        return
    check_output(path, force, *inputs)
    with replacing(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        yield file
    print(blocks([("written", str(path))]))


def check_output(path: Path, force: bool, *inputs: str | None) -> None:
    """Refuse, before any work, a file that cannot or must not be written.

    Parameters
    ----------
    path : Path
    force : bool
        Accept a file that exists.
    *inputs : str or None
        Files that the command reads, under any name; None is ignored.

    Raises
    ------
    ParameterError
        If ``path`` is a folder, its folder does not exist or is read-only, the file is an input,
        or it exists and ``force`` is False.
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
    from formulakern.errors import ParameterError

    return ParameterError(f"cannot write {path}: {reason[:1].lower()}{reason[1:]}.")


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
