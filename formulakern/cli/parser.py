"""The command line: its parser, its errors and its exit codes."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, NoReturn

from formulakern import __version__
from formulakern.errors import FormulaKernError
from formulakern.text import within

#: The commands in the order of the help, each with its module and description.
COMMANDS = {
    "learn": ("learning", "learn a model of a table, score it, show its rules, and save it"),
    "compare": ("learning", "score several learners and baselines on the same folds of a table"),
    "show": ("models", "show the rules of a model"),
    "predict": ("models", "predict the rows of a file of any size"),
    "explain": ("models", "explain the predictions of some rows"),
    "export": ("models", "write a model as a query, as code, or as a table"),
    "report": (
        "models",
        "write a page with the rules, their scores on a table, and the reasons for each prediction",
    ),
    "inspect": ("kernels", "show every stage of a formula's kernel"),
    "gram": ("kernels", "write the Gram matrix of a table"),
    "datasets": ("learning", "list the built-in tables, or write one as CSV"),
    "cache": (
        "kernels",
        "show the location and size of the cache of compiled functions, or clear it",
    ),
}
#: Exit code after Ctrl-C.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 1 after an error, or 130 after Ctrl-C.

    Wrong usage raises SystemExit with status 2; ``--help`` and ``--version`` with status 0.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters without an encoding become ?
            stream.reconfigure(errors="replace")
    words = sys.argv[1:] if arguments is None else arguments
    options = _parser(words).parse_args(words)
    try:
        with _prepared():
            options.run(options)
            sys.stdout.flush()
    except FormulaKernError as error:
        return _failed(str(error))
    except BrokenPipeError:  # the reader of the output has closed it
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
    """Run the command line as a process, and exit with the code of :func:`main`."""
    code = main()
    if code == INTERRUPTED:
        # Python would end with the signal, although it was caught, if the interrupt passed through
        # exec() of a text, for example while a dataclass is created on import.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _parser(words: Sequence[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Build the parser; only the commands in ``words`` load their modules and options."""
    parser = argparse.ArgumentParser(
        prog="formulakern",
        description="Write a logical formula, get a kernel; train on it; read what was learned "
        "back as rules.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="three commands, from a table to a page with its rules:\n"
        "  formulakern learn bank.csv -o model.json\n"
        "  formulakern explain model.json bank.csv --row 3\n"
        "  formulakern report model.json bank.csv -o report.html\n\n"
        "formulakern COMMAND --help lists the options of a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"formulakern {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (module, about) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=about,
            description=f"{about[:1].upper()}{about[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in words:
            getattr(import_module(f"formulakern.cli.{module}"), name)(command)
    return parser


@contextmanager
def _prepared() -> Iterator[None]:
    """Fit output to the width of the terminal, and print each warning once, as a note."""
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
    """Discard the buffer of standard output, which Python would otherwise flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(message: str) -> int:
    """Print an error to standard error, and return the exit status."""
    try:
        sys.stdout.flush()
    except OSError:  # a full disk, which may also be the error to print
        _end_output()
    print(f"formulakern: {message}", file=sys.stderr)
    return 1
