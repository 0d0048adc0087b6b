"""The options that commands share: the table, its columns, the formula, the file to write."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulakern.errors import DataError, ParameterError

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.datasets.reader import TableFile
    from formulakern.kernels.formula import FormulaKernel
    from formulakern.kernels.graded import GradedKernel
    from formulakern.tables.table import Table

__all__ = [
    "add_command",
    "add_output",
    "check_domains",
    "fold_options",
    "fold_values",
    "formula_options",
    "identifier_advice",
    "kernel_of",
    "model_options",
    "nominal_columns",
    "nominal_options",
    "open_file",
    "read_dataset",
    "select_columns",
    "table_options",
    "training_columns",
]

#: The endings of files that hold tables.
ENDINGS = (".csv", ".tsv", ".parquet", ".pq")
#: Larger tables are sampled for the scores.
MAX_ROWS = 50_000


def add_command(
    commands: Any,
    name: str,
    about: str,
    examples: Sequence[str],
    *parents: argparse.ArgumentParser,
    more: str = "",
) -> argparse.ArgumentParser:
    """Add the parser of a command, whose help ends with examples."""
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


def model_options() -> argparse.ArgumentParser:
    """Return a parser of the argument that names a saved model."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("model", metavar="model.json", help="the file that learn -o wrote")
    return parser


# -- formulas --------------------------------------------------------------------------------------


def formula_options() -> argparse.ArgumentParser:
    """Return a parser of a formula and of the options of its kernel."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("formula", metavar="FORMULA")
    parser.add_argument(
        "--variables",
        default="bound",
        metavar="READING",
        help="the meaning of names: bound (default), free or distinct",
    )
    parser.add_argument("--scale", default="count", help="count (default) or probability")
    parser.add_argument(
        "--backend", default="auto", help="auto (default), interpreter, lookup or numba"
    )
    parser.add_argument(
        "--inputs",
        default="binary",
        help="binary (default), or graded: numbers become degrees of truth, not cut points",
    )
    return parser


def kernel_of(options: argparse.Namespace) -> FormulaKernel | GradedKernel:
    """Return the kernel that :func:`formula_options` describe."""
    from formulakern.kernels.formula import kernel

    made: FormulaKernel | GradedKernel = kernel(
        options.formula,
        options.variables,
        scale=options.scale,
        backend=options.backend,
        inputs=options.inputs,
    )
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


def nominal_options() -> argparse.ArgumentParser:
    """Return a parser of the option that lists numeric columns whose numbers are names."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--nominal",
        default="auto",
        metavar="COLUMNS",
        help="numeric columns whose numbers are names: all, or a list with commas (default: auto)",
    )
    return parser


def nominal_columns(options: argparse.Namespace) -> Any:
    """Return the value of ``--nominal``: "auto", "all" or a list of names."""
    given: str = options.nominal
    return given if given in ("auto", "all") else [name.strip() for name in given.split(",")]


def fold_options() -> argparse.ArgumentParser:
    """Return a parser of the options of a cross-validation."""
    parser = nominal_options()
    parser.add_argument(
        "--cv", type=int, default=5, metavar="FOLDS", help="folds; 0 for no scores (default: 5)"
    )
    parser.add_argument("--seed", type=int, default=0, help="for folds and learners (default: 0)")
    parser.add_argument(
        "--max-rows",
        type=int,
        default=MAX_ROWS,
        metavar="N",
        help=f"scores are from a sample of at most this number of rows (default: {MAX_ROWS:,})",
    )
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="for each fit of a rule learner"
    )
    return parser


def fold_values(options: argparse.Namespace) -> dict[str, int]:
    """Return the number of folds, the seed and the size of the sample."""
    return {"n_folds": options.cv, "seed": options.seed, "max_rows": options.max_rows}


# -- tables ----------------------------------------------------------------------------------------


def table_options(*, classes: bool = True) -> argparse.ArgumentParser:
    """Return a parser of the arguments that name a table; of its rows alone without ``classes``."""
    parser = argparse.ArgumentParser(add_help=False)
    kinds = "a file of CSV (also .tsv, .csv.gz) or Parquet"
    if classes:
        kinds += ", or the name of a built-in set"
    parser.add_argument("data", metavar="DATA", help=kinds)
    if classes:
        parser.add_argument(
            "--target",
            "--class",
            metavar="COLUMN",
            help="the column of the class, or of the number that is predicted (default: the last)",
        )
        parser.add_argument("--drop", metavar="COLUMNS", help="columns to leave out, with commas")
    parser.add_argument("--encoding", metavar="NAME", help="of a text file (default: utf-8)")
    parser.add_argument(
        "--delimiter", metavar="CHARACTER", help="of a text file (default: as its header has it)"
    )
    return parser


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
        _check_exists(name, built_in)
        dataset = datasets.read_table(
            name,
            target=options.target,
            encoding=options.encoding,
            delimiter=_delimiter(options),
        )
    return _dropped(dataset, options)


def open_file(options: argparse.Namespace) -> TableFile:
    """Open the file that options name, to read its rows in partitions."""
    from formulakern.datasets.reader import open_table

    _check_exists(options.data, [])
    return open_table(options.data, encoding=options.encoding, delimiter=_delimiter(options))


def _delimiter(options: argparse.Namespace) -> str | None:
    r"""Return the delimiter; ``\t`` and the word tab are a tab."""
    given: str | None = options.delimiter
    return "\t" if given in ("\\t", "tab") else given


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


def _dropped(dataset: Dataset, options: argparse.Namespace) -> Dataset:
    from formulakern.tables.column import did_you_mean

    names = [name.strip() for name in (options.drop or "").split(",") if name.strip()]
    for name in names:
        if name == dataset.target_name:
            raise ParameterError(
                f'--drop names "{name}", which is predicted. Name another column by --target.'
            )
        if name not in dataset.data.names:
            raise DataError(f'no column "{name}" to drop; {did_you_mean(name, dataset.data.names)}')
    if not names:
        return dataset
    kept = [name for name in dataset.data.names if name not in names]
    if not kept:
        raise ParameterError("--drop leaves no column to learn from.")
    return replace(dataset, data=dataset.data.select(kept))


def select_columns(table: Table, names: Iterable[str]) -> Table:
    """Return these columns of a table, which may have others."""
    from formulakern.tables.column import did_you_mean

    names = list(names)
    for name in names:
        if name not in table.names:
            raise DataError(f'the file has no column "{name}"; {did_you_mean(name, table.names)}')
    return table.select(names)


def training_columns(model: Any, table: Table) -> Table:
    """Return the columns of a table that a model learned from."""
    return select_columns(table, map(str, getattr(model, "feature_names_in_", table.names)))


def identifier_advice(table: Table, options: argparse.Namespace) -> list[str]:
    """Return a sentence about columns that have another value in every row, if there are any."""
    from formulakern.encoding.surprises import identifiers

    found = identifiers(table)
    if not found:
        return []
    dropped = ",".join([*filter(None, [options.drop]), *found])
    listed = ", ".join(f'"{name}"' for name in found)
    have = "has" if len(found) == 1 else "have"
    advice = f"--drop {shlex.quote(dropped)}"
    return [f"{listed} {have} another value in every row: {advice} leaves out an identifier"]
