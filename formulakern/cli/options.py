"""Commands and the options that they share: the table, its columns, the formula, the file."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from formulakern.cli.output import about_lines
from formulakern.errors import DataError, ParameterError

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.datasets.reader import TableFile
    from formulakern.kernels.formula import FormulaKernel
    from formulakern.kernels.graded import GradedKernel
    from formulakern.registry import Learner
    from formulakern.tables.table import Table

__all__ = [
    "FOLDS",
    "FORMULA",
    "MODEL",
    "NOMINAL",
    "ROWS",
    "TABLE",
    "Command",
    "check_at_least_one",
    "check_domains",
    "described",
    "fold_values",
    "kernel_of",
    "listed",
    "nominal_columns",
    "open_file",
    "option",
    "output",
    "read_dataset",
    "select_columns",
    "training_columns",
]

#: The endings of files that hold tables.
ENDINGS = (".csv", ".tsv", ".parquet", ".pq")
#: Larger tables are sampled for the scores.
MAX_ROWS = 50_000


class Option(NamedTuple):
    """The arguments of ``ArgumentParser.add_argument``."""

    names: tuple[str, ...]
    settings: dict[str, Any]


class Command(NamedTuple):
    """A command: its options, of which one in each list is required, and what it runs.

    ``examples`` are the words after the command's name; ``more`` returns text before them.
    """

    name: str
    about: str
    examples: Sequence[str]
    options: Sequence[Option | list[Option]]
    run: Callable[[argparse.Namespace], None]
    more: Callable[[], str] = str

    def add(self, commands: Any) -> None:
        """Add the parser of the command, whose help ends with the examples."""
        shown = "".join(f"\n  formulakern {self.name} {line}".rstrip() for line in self.examples)
        parser: argparse.ArgumentParser = commands.add_parser(
            self.name,
            help=self.about,
            description=f"{self.about[:1].upper()}{self.about[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=(f"{self.more()}\n\n" + f"examples:{shown}").lstrip(),
        )
        parser.set_defaults(run=self.run)
        for item in self.options:
            alone = isinstance(item, Option)
            group: Any = parser if alone else parser.add_mutually_exclusive_group(required=True)
            for names, settings in [item] if isinstance(item, Option) else item:
                group.add_argument(*names, **settings)


def option(spec: str, help: str | None = None, default: Any = None, **settings: Any) -> Option:
    """Declare an option by its names and the name of its value, such as ``"-o --out FILE"``.

    A default of False makes a flag, and an integer reads integers.
    """
    words = spec.split()
    names = [word for word in words if word.startswith("-")] or words[:1]
    if default is False:
        settings["action"] = "store_true"
    elif isinstance(default, int):
        settings["type"] = int
    if words[len(names) :]:
        settings["metavar"] = words[-1]
    return Option(tuple(names), {"help": help, "default": default, **settings})


def output(spec: str, help: str | None = None, **settings: Any) -> tuple[Option, Option]:
    """Declare the option that names the file to write, and ``--force``."""
    force = option("--force", "replace the file if it exists", default=False)
    return option(spec, help, type=Path, **settings), force


MODEL = option("model model.json", "the file that learn -o wrote")

# -- formulas --------------------------------------------------------------------------------------

#: A formula and its kernel.
FORMULA = (
    option("formula FORMULA"),
    option(
        "--variables READING",
        "the meaning of names: bound (default), free or distinct",
        default="bound",
    ),
    option("--scale", "count (default) or probability", default="count"),
    option("--backend", "auto (default), interpreter, lookup or numba", default="auto"),
    option(
        "--inputs",
        "binary (default), or graded: numbers become degrees of truth, not cut points",
        default="binary",
    ),
)


def kernel_of(options: argparse.Namespace) -> FormulaKernel | GradedKernel:
    """Return the kernel that ``FORMULA`` describes."""
    from formulakern.kernels.formula import kernel

    names = ("formula", "variables", "scale", "backend", "inputs")
    made: FormulaKernel | GradedKernel = kernel(**{name: vars(options)[name] for name in names})
    return made


def check_domains(kernel: FormulaKernel | GradedKernel) -> None:
    """Raise ParameterError if the formula of a kernel names domains."""
    from formulakern.kernels.formula import inner_formula

    named = [name for name in inner_formula(kernel).program.domains if name is not None]
    if named:
        raise ParameterError(
            f'the formula names the domain "{named[0]}", and the command line has no way to say '
            "which columns it has. Leave the colon out, or use fk.kernel(..., domains=...)."
        )


#: Numeric columns whose numbers are names.
NOMINAL = option(
    "--nominal COLUMNS",
    "numeric columns whose numbers are names: all, or a list with commas (default: auto)",
    default="auto",
)


def nominal_columns(options: argparse.Namespace) -> Any:
    """Return the value of ``--nominal``: "auto", "all" or a list of names."""
    given: str = options.nominal
    return given if given in ("auto", "all") else [name.strip() for name in given.split(",")]


def listed(names: str | None) -> list[str]:
    """Return the names of a list with commas."""
    return [name.strip() for name in (names or "").split(",") if name.strip()]


def check_at_least_one(name: str, value: int | None) -> None:
    """Raise ParameterError if a number of things is given and is not positive."""
    if value is not None and value < 1:
        raise ParameterError(f"{name} is a number of at least 1; got {value}.")


#: A cross-validation.
FOLDS = (
    NOMINAL,
    option("--cv FOLDS", "folds; 0 for no scores (default: 5)", default=5),
    option("--seed", "for folds and learners (default: 0)", default=0),
    option(
        "--max-rows N",
        f"scores are from a sample of at most this number of rows (default: {MAX_ROWS:,})",
        default=MAX_ROWS,
    ),
    option("--time-limit SECONDS", "for each fit of a rule learner", type=float),
)


def fold_values(options: argparse.Namespace) -> dict[str, int]:
    """Return the number of folds, the seed and the size of the sample."""
    return {"n_folds": options.cv, "seed": options.seed, "max_rows": options.max_rows}


# -- tables ----------------------------------------------------------------------------------------

_FILES = "a file of CSV (also .tsv, .csv.gz) or Parquet"
_TEXT = (
    option("--encoding NAME", "of a text file (default: utf-8)"),
    option("--delimiter CHARACTER", "of a text file (default: as its header has it)"),
)
#: The rows of a file.
ROWS = (option("data DATA", _FILES), *_TEXT)
#: A table with a column that is predicted.
TABLE = (
    option("data DATA", f"{_FILES}, or the name of a built-in set"),
    option(
        "--target --class COLUMN",
        "the column of the class, or of the number that is predicted (default: the last)",
    ),
    option("--drop COLUMNS", "columns to leave out, with commas"),
    *_TEXT,
)


def read_dataset(options: argparse.Namespace, data: str | None = None) -> Dataset:
    """Read the table that options name, or another file like it, without the dropped columns."""
    from formulakern import datasets

    name = options.data if data is None else data
    built_in = list(datasets.BUILT_IN)
    if name in built_in:
        dataset = datasets.load(name)
        if options.target not in (None, dataset.target_name):
            raise ParameterError(
                f'the class of the built-in set {name} is "{dataset.target_name}"; '
                f'--target "{options.target}" is for files.'
            )
    else:
        dataset = datasets.read_table(
            name, target=options.target, **_format(name, options, built_in)
        )
    names = listed(options.drop)
    for dropped in names:
        if dropped == dataset.target_name:
            raise ParameterError(
                f'--drop names "{dropped}", which is predicted. Name another column by --target.'
            )
        _check_column(dropped, dataset.data.names, f'no column "{dropped}" to drop')
    kept = [column for column in dataset.data.names if column not in names]
    if not kept:
        raise ParameterError("--drop leaves no column to learn from.")
    return replace(dataset, data=dataset.data.select(kept)) if names else dataset


def open_file(options: argparse.Namespace) -> TableFile:
    """Open the file that options name, to read its rows in partitions."""
    from formulakern.datasets.reader import open_table

    return open_table(options.data, **_format(options.data, options, []))


def _format(name: str, options: argparse.Namespace, built_in: list[str]) -> dict[str, Any]:
    """Return the encoding and the delimiter of a file that exists; the word tab is a tab."""
    _check_exists(name, built_in)
    given: str | None = options.delimiter
    tab = given in ("\\t", "tab")
    return {"encoding": options.encoding, "delimiter": "\t" if tab else given}


def _check_exists(name: str, built_in: list[str]) -> None:
    path = Path(name)
    if path.exists():
        return
    what, sought, known = f'file and no built-in data set "{name}"', name.lower(), built_in
    if not built_in or path.suffix or path.name != name:
        if not path.parent.is_dir():
            raise ParameterError(f"there is no folder {path.parent} (to read {name} from).")
        what, sought = f"file {name}", path.name
        try:
            entries = sorted(os.listdir(path.parent))
        except OSError:
            entries = []
        known = [entry for entry in entries if any(end in entry.lower() for end in ENDINGS)]
    close = [entry for entry in known if difflib.get_close_matches(_stem(sought), [_stem(entry)])]
    near = difflib.get_close_matches(sought, close, n=1, cutoff=0)
    hint = f"built in are {', '.join(built_in)}." if built_in else "give the path of one."
    if near:
        hint = f"did you mean {path.parent / near[0]}?"
    raise ParameterError(f"there is no {what}; {hint}")


def _stem(name: str) -> str:
    """Return the lower-case name without its endings, which most tables share."""
    return name.lower().partition(".")[0]


def _check_column(name: str, names: Sequence[str], problem: str) -> None:
    from formulakern.tables.column import did_you_mean

    if name not in names:
        raise DataError(f"{problem}; {did_you_mean(name, names)}")


def select_columns(table: Table, names: Iterable[str]) -> Table:
    """Return these columns of a table, which may have others."""
    names = list(names)
    for name in names:
        _check_column(name, table.names, f'the file has no column "{name}"')
    return table.select(names)


def training_columns(model: Any, table: Table) -> Table:
    """Return the columns of a table that a model learned from."""
    return select_columns(table, map(str, getattr(model, "feature_names_in_", table.names)))


def described(dataset: Dataset, learner: Learner, options: argparse.Namespace) -> list[str]:
    """Return the size of a table, what is predicted, and which columns may be identifiers."""
    from formulakern.encoding.plan import identifiers

    about = about_lines(dataset, learner.predicts)
    found = identifiers(dataset.data) if learner.reads != "strings" else []
    if not found:
        return about
    dropped = shlex.quote(",".join([*filter(None, [options.drop]), *found]))
    names = ", ".join(f'"{name}"' for name in found)
    have = "has" if len(found) == 1 else "have"
    advice = f"--drop {dropped} leaves out an identifier"
    return [*about, f"{names} {have} another value in every row: {advice}"]
