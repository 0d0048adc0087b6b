"""Commands and their shared options: the table, its columns, the formula, the output file."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from formulakern.errors import DataError, ParameterError
from formulakern.files.replacing import replacing
from formulakern.text import blocks, counted

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.datasets.reader import TableFile
    from formulakern.kernels.formula import FormulaKernel
    from formulakern.kernels.graded import GradedKernel
    from formulakern.tables.table import Table

#: The endings of table files.
ENDINGS = (".csv", ".tsv", ".parquet", ".pq")
#: Maximum number of rows for scores; larger tables are sampled.
MAX_ROWS = 50_000
#: Maximum number of classes that are listed with their row counts.
MAX_CLASSES = 6

#: The arguments of ``ArgumentParser.add_argument``.
Option = tuple[Sequence[str], dict[str, Any]]


#: A function that adds the options of a command to its parser.
Command = Callable[[argparse.ArgumentParser], None]


def command(
    examples: Sequence[str], *options: Option | list[Option], more: Callable[[], str] = str
) -> Callable[[Callable[[argparse.Namespace], None]], Command]:
    """Make a function the command of its name; one option of each list is required.

    ``examples`` are command lines without program and command name, for the end of the help.
    ``more`` returns text to put before them.
    """

    def decorate(
        run: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser
    ) -> None:
        shown = "".join(f"\n  formulakern {run.__name__} {line}".rstrip() for line in examples)
        parser.epilog = (f"{more()}\n\n" + f"examples:{shown}").lstrip()
        parser.set_defaults(run=run)
        for item in options:
            several = isinstance(item, list)
            group: Any = parser.add_mutually_exclusive_group(required=True) if several else parser
            for names, settings in item if isinstance(item, list) else [item]:
                group.add_argument(*names, **settings)

    return lambda run: partial(decorate, run)


def option(spec: str, help: str | None = None, default: Any = None, **settings: Any) -> Option:
    """Declare an option by its names and the name of its value, such as ``"-o --out FILE"``.

    A default of False makes a flag; an integer default makes an integer option.
    """
    words = spec.split()
    names = [word for word in words if word.startswith("-")] or words[:1]
    if default is False:
        settings["action"] = "store_true"
    elif isinstance(default, int):
        settings["type"] = int
    if words[len(names) :]:
        settings["metavar"] = words[-1]
    return names, {"help": help, "default": default, **settings}


def output(spec: str, help: str | None = None, **settings: Any) -> tuple[Option, Option]:
    """Declare the option of an output file, and ``--force``."""
    force = option("--force", "replace the file if it exists", default=False)
    return option(spec, help, type=Path, **settings), force


MODEL = option("model model.json", "a model file, written by learn -o")
#: A formula and its kernel.
FORMULA = (
    option("formula FORMULA"),
    option(
        "--variables READING",
        "how to read names: bound (default), free or distinct",
        default="bound",
    ),
    option("--scale", "count (default) or probability", default="count"),
    option("--backend", "auto (default), interpreter, lookup or numba", default="auto"),
    option(
        "--inputs",
        "binary (default), or graded: numbers become degrees of truth instead of cut points",
        default="binary",
    ),
)
#: Numeric columns that hold names.
NOMINAL = option(
    "--nominal COLUMNS",
    "numeric columns to read as categories: all, or names (default: auto)",
    default="auto",
)
#: The options of a cross-validation.
FOLDS = (
    NOMINAL,
    option("--cv FOLDS", "number of folds; 0 for no scores (default: 5)", default=5),
    option("--seed", "random seed of folds and learners (default: 0)", default=0),
    option(
        "--max-rows N",
        f"score on a sample of at most this number of rows (default: {MAX_ROWS:,})",
        default=MAX_ROWS,
    ),
    option("--time-limit SECONDS", "time limit for each fit of a rule learner", type=float),
)
_FILES = "a CSV file (also .tsv, .csv.gz) or a Parquet file"
_TEXT = (
    option("--encoding NAME", "encoding of a text file (default: utf-8)"),
    option("--delimiter CHARACTER", "delimiter of a text file (default: read from its header)"),
)
#: The rows of a file.
ROWS = (option("data DATA", _FILES), *_TEXT)
#: A table with a column to predict.
TABLE = (
    option("data DATA", f"{_FILES}, or the name of a built-in table"),
    option(
        "--target --class COLUMN",
        "the column to predict: a class or a number (default: the last)",
    ),
    option("--drop COLUMNS", "columns to leave out, comma-separated"),
    *_TEXT,
)


def kernel_of(
    options: argparse.Namespace, *, domains: bool = False
) -> FormulaKernel | GradedKernel:
    """Return the kernel of the ``FORMULA`` options; formulas with domains need ``domains``."""
    from formulakern.kernels.formula import inner_formula, kernel

    names = ("variables", "scale", "backend", "inputs")
    given = {name: value for name in names if (value := vars(options).get(name)) is not None}
    made: FormulaKernel | GradedKernel = kernel(options.formula, **given)
    named = [] if domains else [*filter(None, inner_formula(made).program.domains)]
    if named:
        raise ParameterError(
            f'the formula has the domain "{named[0]}", but the command line cannot define the '
            "columns of a domain. Leave the colon out, or use fk.kernel(..., domains=...)."
        )
    return made


def listed(names: str | None) -> list[str]:
    """Split a comma-separated list of names."""
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def nominal_columns(options: argparse.Namespace) -> str | list[str]:
    """Return the value of ``--nominal``: "auto", "all" or a list of names."""
    given: str = options.nominal
    return given if given in ("auto", "all") else [name.strip() for name in given.split(",")]


# -- tables ----------------------------------------------------------------------------------------


def read_dataset(options: argparse.Namespace, data: str | None = None) -> Dataset:
    """Read the table of the options, or another file like it, without the dropped columns."""
    from formulakern import datasets

    name = options.data if data is None else data
    built_in = list(datasets.BUILT_IN)
    if name in built_in:
        dataset = datasets.load(name)
        if options.target not in (None, dataset.target_name):
            raise ParameterError(
                f'the class of the built-in table {name} is "{dataset.target_name}"; '
                f'--target "{options.target}" is for files only.'
            )
    else:
        form = _format(name, options, built_in)
        dataset = datasets.read_table(name, target=options.target, **form)
    names = listed(options.drop)
    if dataset.target_name in names:
        raise ParameterError(
            f'--drop names "{dataset.target_name}", which is the column to predict. Name another '
            "target with --target."
        )
    for dropped in names:
        _check_column(dropped, dataset.data.names, f'no column "{dropped}" to drop')
    kept = [column for column in dataset.data.names if column not in names]
    if not kept:
        raise ParameterError("--drop leaves no columns to learn from.")
    return replace(dataset, data=dataset.data.select(kept)) if names else dataset


def open_file(options: argparse.Namespace) -> TableFile:
    """Open the file of the options, to read its rows in partitions."""
    from formulakern.datasets.reader import open_table

    return open_table(options.data, **_format(options.data, options, []))


def _format(name: str, options: argparse.Namespace, built_in: list[str]) -> dict[str, Any]:
    """Return the encoding and delimiter of an existing file; the word tab is a tab."""
    if not Path(name).exists():
        raise ParameterError(_not_found(name, built_in))
    given: str | None = options.delimiter
    tab = given in ("\\t", "tab")
    return {"encoding": options.encoding, "delimiter": "\t" if tab else given}


def _not_found(name: str, built_in: list[str]) -> str:
    """Return the message about a name that is neither a file nor a built-in table."""
    path = Path(name)
    what, known = f'file and no built-in table "{name}"', built_in
    if not built_in or path.suffix or path.name != name:
        if not path.parent.is_dir():
            return f"there is no folder {path.parent} (to read {name} from)."
        what, known = f"file {name}", []
        with suppress(OSError):
            entries = sorted(os.listdir(path.parent))
            known = [entry for entry in entries if any(end in entry.lower() for end in ENDINGS)]
    sought = path.name.lower()  # names are compared without endings, which most tables share
    stem = sought.partition(".")[0]
    close = [k for k in known if difflib.get_close_matches(stem, [k.lower().partition(".")[0]])]
    hint = f"built-in tables are {', '.join(built_in)}." if built_in else "give the path of a file."
    if near := difflib.get_close_matches(sought, close, n=1, cutoff=0):
        hint = f"did you mean {path.parent / near[0]}?"
    return f"there is no {what}; {hint}"


def _check_column(name: str, names: Sequence[str], problem: str) -> None:
    from formulakern.tables.column import did_you_mean

    if name not in names:
        raise DataError(f"{problem}; {did_you_mean(name, names)}")


def select_columns(table: Table, names: Iterable[str]) -> Table:
    """Return these columns of a table."""
    names = list(names)
    for name in names:
        _check_column(name, table.names, f'the file has no column "{name}"')
    return table.select(names)


def training_columns(model: Any, table: Table) -> Table:
    """Return the columns of a table that a model was trained on."""
    return select_columns(table, map(str, getattr(model, "feature_names_in_", table.names)))


def data_line(dataset: Dataset, predicts: str = "classes") -> str:
    """Return the name, rows, columns and classes of a data set in one sentence.

    >>> from formulakern import datasets
    >>> data_line(datasets.tic_tac_toe())
    'tic-tac-toe: 958 rows, 9 columns; 2 classes: negative (332 rows), positive (626)'
    """
    import numpy as np

    rows, columns = dataset.data.shape
    size = f"{dataset.name}: {counted(rows, 'row')}, {counted(columns, 'column')}"
    if predicts != "classes":
        return size
    classes, counts = np.unique(dataset.target, return_counts=True)
    if len(classes) <= MAX_CLASSES:
        shares = [f"{c} ({n:,})" for c, n in zip(classes, counts, strict=True)]
        shares[0] = shares[0].replace(")", " rows)")
        return f"{size}; {len(classes)} class{'es' * (len(classes) != 1)}: {', '.join(shares)}"
    low, high = int(counts.min()), int(counts.max())
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{size}; {len(classes):,} classes of {each} rows"


def described(
    dataset: Dataset, predicts: str, options: argparse.Namespace, strings: bool = False
) -> list[str]:
    """Return the size of a table, its target, and columns that should be left out."""
    from formulakern.encoding.plan import identifiers
    from formulakern.estimators.fit_warnings import leaking_columns
    from formulakern.estimators.svm.evaluation import subsample

    column = f'the column "{dataset.target_name}"'
    target = {"numbers": f"the number is {column}", "novelty": f"{column} is left out"}
    other = "; choose another with --target" if options.target is None else ""
    about = [data_line(dataset, predicts), target.get(predicts, f"the class is {column}") + other]
    found = [] if strings else identifiers(dataset.data)
    if found:
        names = ", ".join(f'"{name}"' for name in found)
        have, them = ("has", "it") if len(found) == 1 else ("have", "them")
        about.append(
            f"{names} {have} a different value in every row, like an identifier; leave {them} "
            f"out with --drop {_dropped(options, found)}"
        )
    if predicts == "classes" and not strings:
        some = subsample(dataset.target, options.max_rows)
        for name, share in leaking_columns(dataset.data[some], dataset.target[some]).items():
            about.append(
                f'warning: "{name}" alone predicts {100 * share:.4g} % of the held-out rows '
                "correctly, like a copy of the class; leave it out with "
                f"--drop {_dropped(options, [*found, name])} unless it is known before the class"
            )
    return about


def _dropped(options: argparse.Namespace, names: Iterable[str]) -> str:
    """Return the value of ``--drop`` that also leaves out these columns."""
    return shlex.quote(",".join(dict.fromkeys([*filter(None, [options.drop]), *names])))


# -- output files ----------------------------------------------------------------------------------


@contextmanager
def opened_output(path: Path | None, force: bool, *inputs: str | None) -> Iterator[TextIO]:
    """Open the terminal, or a file accepted by :func:`check_output`, for text."""
    if path is None:
        yield sys.stdout
        return
    check_output(path, force, *inputs)
    with replacing(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        yield file
    print(blocks([("written", str(path))]))


def check_output(path: Path, force: bool, *inputs: str | None) -> None:
    """Raise ParameterError if a file cannot or must not be written.

    ``inputs`` are files that the command reads.  With ``force``, any other file may be replaced.
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
    """Return the error for a file that cannot be written."""
    return ParameterError(f"cannot write {path}: {reason[:1].lower()}{reason[1:]}.")
