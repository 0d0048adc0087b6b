"""The command line: its parser, and how it runs and ends."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from formulakern import __version__
from formulakern.cli.kernels import cache, gram, inspect
from formulakern.cli.learning import compare, datasets, learn
from formulakern.cli.models import explain, export, predict, report, show
from formulakern.cli.output import end_output, failed, prepared
from formulakern.errors import FormulaKernError

__all__ = ["main", "run"]

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
        with prepared():
            options.run(options)
            sys.stdout.flush()
    except FormulaKernError as error:
        return failed(str(error))
    except BrokenPipeError:  # whoever read the output has seen enough
        end_output()
        return 1
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        what = f"cannot open {error.filename}: " if error.filename else ""
        return failed(f"{what}{reason}.")
    except MemoryError:
        return failed("out of memory; use fewer rows.")
    except KeyboardInterrupt:
        print("\nformulakern: interrupted", file=sys.stderr)
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
    for command in COMMANDS:
        command.add(commands)
    return parser
