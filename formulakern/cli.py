"""The command line: ``formulakern inspect | fit | gram``."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from formulakern import __version__
from formulakern.errors import FormulaKernError, ParameterError

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.kernels.formula import FormulaKernel

__all__ = ["main"]

#: ``fit`` cross-validates on a sample of at most this many rows unless told otherwise.
MAX_ROWS = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        Exit status: 0, or 1 after an error (one message on standard error), 2 for wrong usage,
        130 after Ctrl-C.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except (FormulaKernError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        print(f"formulakern: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nformulakern: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="formulakern",
        description="Write a logical formula, get a kernel; train on it; look inside.",
    )
    parser.add_argument("--version", action="version", version=f"formulakern {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    inspect = commands.add_parser("inspect", help="show every stage of a formula's kernel")
    inspect.add_argument("formula", metavar="FORMULA")
    _add_kernel_options(inspect)
    inspect.set_defaults(run=_inspect)

    fit = commands.add_parser("fit", help="cross-validate a formula's kernel on a table")
    fit.add_argument("data", metavar="DATA", help="a CSV file, or the name of a built-in set")
    fit.add_argument("--formula", required=True)
    _add_kernel_options(fit)
    _add_data_options(fit)
    fit.add_argument("--cv", type=int, default=10, metavar="FOLDS", help="folds (default: 10)")
    fit.add_argument("--C", type=float, default=10.0, help="price of margin errors (default: 10)")
    fit.add_argument("--seed", type=int, default=0, help="for folds and samples (default: 0)")
    fit.add_argument(
        "--max-rows",
        type=int,
        default=MAX_ROWS,
        metavar="N",
        help=f"larger tables are sampled, class by class (default: {MAX_ROWS:,})",
    )
    fit.add_argument("--inspect", action="store_true", help="show every stage first")
    fit.set_defaults(run=_fit)

    gram = commands.add_parser("gram", help="write a Gram matrix")
    gram.add_argument("formula", metavar="FORMULA")
    gram.add_argument("data", metavar="DATA", help="a CSV file, or the name of a built-in set")
    gram.add_argument("--out", required=True, type=Path, metavar="K.npy")
    gram.add_argument("--normalize", action="store_true", help="cosines")
    _add_kernel_options(gram)
    _add_data_options(gram)
    gram.set_defaults(run=_gram)
    return parser


def _add_kernel_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--variables",
        default="bound",
        metavar="READING",
        help="what names mean: bound (default), free or distinct",
    )
    parser.add_argument("--scale", default="count", help="count (default) or probability")
    parser.add_argument(
        "--backend", default="auto", help="auto (default), interpreter, lookup or numba"
    )


def _add_data_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="COLUMN", help="the class column (default: the last)")
    parser.add_argument(
        "--nominal",
        default="auto",
        metavar="COLUMNS",
        help="numeric columns that are names: all, or a comma-separated list (default: auto)",
    )


def _kernel(options: argparse.Namespace) -> FormulaKernel:
    from formulakern.kernels.formula import kernel

    return kernel(options.formula, options.variables, scale=options.scale, backend=options.backend)


def _dataset(options: argparse.Namespace) -> Dataset:
    from formulakern import datasets

    if options.data in datasets.BUILT_IN:
        return datasets.load(options.data)
    if not Path(options.data).exists() and not Path(options.data).suffix:
        return datasets.load(options.data)  # raises, listing the built-in names
    return datasets.read_table(options.data, target=options.target)


def _encoder(options: argparse.Namespace) -> Any:
    from formulakern.estimators.transformers import PropositionEncoder

    nominal = options.nominal
    if nominal not in ("auto", "all"):
        nominal = nominal.split(",")
    return PropositionEncoder(nominal=nominal)


def _inspect(options: argparse.Namespace) -> None:
    print(_kernel(options).inspect())


def _fit(options: argparse.Namespace) -> None:
    from formulakern.display.terminal import Progress, fit_report
    from formulakern.estimators.evaluation import compare_kernels, subsample

    begin = perf_counter()
    kernel = _kernel(options)
    if options.inspect:
        print(f"{kernel.inspect()}\n")
    dataset = _dataset(options)
    if options.max_rows < 2:
        raise ParameterError(f"--max-rows is at least 2; got {options.max_rows}.")
    table, classes = dataset.data, dataset.target
    n_rows = len(table)
    rows = subsample(classes, options.max_rows, options.seed)
    if len(rows) < n_rows:
        table, classes = table[rows], classes[rows]
    print(_opening(dataset, n_rows, len(rows), options.seed))
    with warnings.catch_warnings(), Progress(total=3 * options.cv) as progress:
        # classes with fewer rows than folds are scored in the folds that have them
        warnings.filterwarnings("ignore", message="The least populated class")
        comparison = compare_kernels(
            kernel,
            table,
            classes,
            n_folds=options.cv,
            C=options.C,
            encoder=_encoder(options),
            random_state=options.seed,
            step=progress.advance,
        )
    print(fit_report(kernel, comparison, options.cv, options.C, perf_counter() - begin))


def _opening(dataset: Dataset, n_rows: int, used: int, seed: int) -> str:
    text = repr(dataset)
    if used < n_rows:
        text += (
            f"\nThe Gram matrix of all {n_rows:,} rows would take {8 * n_rows**2 / 2**30:.1f} GiB, "
            f"and the solver as much again; this uses a stratified sample of {used:,} rows "
            f"(seed {seed}; --max-rows changes it)."
        )
    return text


def _gram(options: argparse.Namespace) -> None:
    import numpy as np

    from formulakern.display.terminal import Progress

    kernel: Any = _kernel(options)
    dataset = _dataset(options)
    encoded = _encoder(options).fit_transform(dataset.data)
    if options.normalize:
        kernel = kernel.normalized()
    begin = perf_counter()
    with Progress(total=100) as progress:
        gram = kernel(encoded, progress=lambda share: progress.reach(share, "Gram matrix"))
    seconds = perf_counter() - begin
    try:
        with options.out.open("wb") as file:
            np.save(file, gram)
    except OSError as error:
        raise ParameterError(f"cannot write {options.out}: {error.strerror}.") from None
    print(
        f"{kernel!r} on {dataset.name}: {gram.shape[0]:,} rows, {encoded.shape[1]:,} propositions, "
        f"{seconds:.2f} s → {options.out}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
