"""The command line: its parser, and how it runs and ends."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

from formulakern import __version__
from formulakern.cli.kernels import cache, gram, inspect
from formulakern.cli.learning import compare, datasets, learn
from formulakern.cli.models import explain, export, predict, report, show
from formulakern.errors import FormulaKernError
from formulakern.text import within

#: In the order of the help.
COMMANDS = (learn, compare, show, predict, explain, export, report, inspect, gram, datasets, cache)
#: Exit code after Ctrl-C.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0, 1 after an error, or 130 after Ctrl-C.

    Wrong usage raises SystemExit with status 2, ``--help`` and ``--version`` with status 0.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a narrow encoding shows ? rather than fails
            stream.reconfigure(errors="replace")
    options = _parser().parse_args(arguments)
    try:
        with _prepared():
            options.run(options)
            sys.stdout.flush()
    except FormulaKernError as error:
        return _failed(str(error))
    except BrokenPipeError:  # whoever read the output has seen enough
        _end_output()
        return 1
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        what = f"cannot open {error.filename}: " if error.filename else ""
        return _failed(f"{what}{reason}.")
    except MemoryError:
        return _failed("out of memory; use fewer rows.")
    except KeyboardInterrupt as interrupt:
        print(f"\nformulakern: {': '.join(['interrupted', *interrupt.args])}", file=sys.stderr)
        return INTERRUPTED
    return 0


def run() -> NoReturn:
    """Run the command line as a process, which exits with the code of :func:`main`."""
    code = main()
    if code == INTERRUPTED:
        # If the interrupt passed through exec() of a text, as in the making of a dataclass on
        # import, Python would end itself by the signal although it was caught.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="formulakern",
        description="Write a logical formula, get a kernel; train on it; read what was learned "
        "back as rules.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="three commands, from a table to a page with its rules:\n"
        "  formulakern learn bank.csv -o model.json\n"
        "  formulakern explain model.json bank.csv --row 3\n"
        "  formulakern report model.json bank.csv -o report.html\n\n"
        "formulakern COMMAND --help has the options of a command, and examples.",
    )
    parser.add_argument("--version", action="version", version=f"formulakern {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return parser


@contextmanager
def _prepared() -> Iterator[None]:
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


def _end_output() -> None:
    """Discard the buffer of standard output, which Python would flush again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(message: str) -> int:
    """Print an error on standard error, and return the exit status."""
    try:
        sys.stdout.flush()
    except OSError:  # a full disk, and this may be what the message says
        _end_output()
    print(f"formulakern: {message}", file=sys.stderr)
    return 1
