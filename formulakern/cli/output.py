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

__all__ = ["add_command", "end_output", "failed", "opened_output", "prepared", "refuse_folder"]


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
def opened_output(path: Path | None) -> Iterator[TextIO]:
    """The terminal, or a file that replaces what was there when it is complete."""
    if path is None:
        yield sys.stdout
        return
    refuse_folder(path)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    print(blocks([("written", str(path))]))


def refuse_folder(path: Path) -> None:
    """Refuse to write what could not be written in the end.

    Raises
    ------
    ParameterError
        If the path is a folder, or there is no folder that it is in.
    """
    from formulakern.errors import ParameterError

    if path.is_dir():
        raise ParameterError(f"{path} is a folder; name a file in it.")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"there is no folder {path.parent} to write {path.name} to.")


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
