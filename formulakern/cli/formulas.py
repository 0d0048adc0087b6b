"""What the command line does with a formula: ``formulakern inspect | fit | gram``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from formulakern.checks import check_integer
from formulakern.cli.output import add_command, add_output, check_output, unwritable
from formulakern.cli.tables import read_dataset
from formulakern.errors import ParameterError
from formulakern.progress import Progress

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.kernels.formula import FormulaKernel
    from formulakern.kernels.graded import GradedKernel

__all__ = ["add_formulas"]

#: ``fit`` cross-validates on a sample of at most this many rows unless told otherwise.
MAX_ROWS, MAX_GRAM_ROWS = 50_000, 10_000
#: What only the kernel of a formula takes, and its defaults.
FORMULA_OPTIONS = {
    "variables": "bound",
    "scale": "count",
    "backend": "auto",
    "inputs": "binary",
    "nominal": "auto",
    "rules": 0,
}
#: Bytes that ``gram`` writes without asking.
ASKED = 10**9
#: The search for the rules of a model stops after so many seconds, and says how far it came.
RULES_SECONDS = 60.0


def add_formulas(commands: Any, table: argparse.ArgumentParser) -> None:
    """Add the commands to those of a parser.

    Parameters
    ----------
    commands
        As ``add_subparsers`` returns them.
    table : ArgumentParser
        The arguments that say which table.
    """
    formula, kernel = (argparse.ArgumentParser(add_help=False) for _ in range(2))
    formula.add_argument("formula", metavar="FORMULA")
    kernel.add_argument(
        "--variables",
        default="bound",
        metavar="READING",
        help="what names mean: bound (default), free or distinct",
    )
    kernel.add_argument("--scale", default="count", help="count (default) or probability")
    kernel.add_argument(
        "--backend", default="auto", help="auto (default), interpreter, lookup or numba"
    )
    kernel.add_argument(
        "--inputs",
        default="binary",
        help="binary (default), or graded: numbers become degrees of truth, not cut points",
    )
    data = argparse.ArgumentParser(add_help=False, parents=[table])
    data.add_argument(
        "--nominal",
        default="auto",
        metavar="COLUMNS",
        help="numeric columns that are names: all, or a comma-separated list (default: auto)",
    )

    inspect = add_command(
        commands,
        "inspect",
        "show every stage of a formula's kernel",
        ['"(a & ~b) | c" --brief', '"a -> b" --variables free'],
        formula,
        kernel,
    )
    inspect.add_argument("--brief", action="store_true", help="its canonical form and K alone")
    inspect.set_defaults(run=_inspect)

    fit = add_command(
        commands,
        "fit",
        "cross-validate a formula's kernel on a table",
        [
            'tic-tac-toe --formula "a & b & c" --variables distinct',
            'bank.csv --class y --drop id --formula "a & b" --cv 5 --rules 5',
        ],
        data,
        kernel,
    )
    which = fit.add_mutually_exclusive_group(required=True)
    which.add_argument("--formula")
    which.add_argument(
        "--kernel",
        help='another kernel: choquet, "choquet(2)", "weighted_degree(20)", '
        '"weighted_degree_shifts(20, 5)", "spectrum(3)", "mismatch(5, 1)"',
    )
    fit.add_argument(
        "--column", metavar="COLUMN", help="of strings (default: the only column of text)"
    )
    fit.add_argument("--cv", type=int, default=10, metavar="FOLDS", help="folds (default: 10)")
    fit.add_argument("--C", type=float, default=10.0, help="penalty parameter (default: 10)")
    fit.add_argument("--seed", type=int, default=0, help="for folds and samples (default: 0)")
    fit.add_argument(
        "--max-rows",
        type=int,
        metavar="N",
        help=f"larger tables are sampled, class by class (default: {MAX_ROWS:,}, and "
        f"{MAX_GRAM_ROWS:,} with --kernel or degrees, which want a Gram matrix)",
    )
    fit.add_argument(
        "--rules",
        type=int,
        default=0,
        metavar="N",
        help="also train on all rows and show the N heaviest rules of the model",
    )
    length = fit.add_mutually_exclusive_group()
    length.add_argument("--inspect", action="store_true", help="show every stage first")
    length.add_argument("--brief", action="store_true", help="one screen, with the rules")
    fit.set_defaults(run=_fit)

    gram = add_command(
        commands,
        "gram",
        "write a Gram matrix",
        ['"a & b" tic-tac-toe --out K.npy --normalize'],
        formula,
        data,
        kernel,
    )
    add_output(gram, "--out", required=True, metavar="K.npy")
    gram.add_argument("--normalize", action="store_true", help="cosines")
    gram.add_argument(
        "--dtype", choices=["float64", "float32"], default="float64", help="of the entries"
    )
    gram.add_argument("--yes", action="store_true", help="write more than 1 GB without asking")
    gram.set_defaults(run=_gram)


def _kernel(options: argparse.Namespace) -> FormulaKernel | GradedKernel:
    from formulakern.kernels.formula import kernel

    made: FormulaKernel | GradedKernel = kernel(
        options.formula,
        options.variables,
        scale=options.scale,
        backend=options.backend,
        inputs=options.inputs,
    )
    return made


def _check_domains(kernel: FormulaKernel | GradedKernel) -> None:
    from formulakern.kernels.formula import inner_formula

    named = [name for name in inner_formula(kernel).program.domains if name is not None]
    if named:
        raise ParameterError(
            f'the formula names the domain "{named[0]}", and the command line has no way to say '
            "which columns it has. Leave the colon out, or use fk.kernel(..., domains=...)."
        )


def _encoder(options: argparse.Namespace) -> Any:
    from formulakern.estimators.encoder import PropositionEncoder

    nominal, names = options.nominal, [name.strip() for name in options.nominal.split(",")]
    return PropositionEncoder(
        nominal=nominal if nominal in ("auto", "all") else names,
        graded=options.inputs == "graded",
    )


def _inspect(options: argparse.Namespace) -> None:
    from formulakern.cli.brief import brief_inspection
    from formulakern.display.terminal import show_inspection

    inspection = _kernel(options).inspect()
    if options.brief:
        print(brief_inspection(options.formula, inspection))
    else:
        show_inspection(inspection)


def _fit(options: argparse.Namespace) -> None:
    if options.kernel is not None:
        _fit_named(options)
        return
    if options.column is not None:
        raise ParameterError("--column is for kernels of strings: give --kernel, not --formula.")
    from formulakern.cli.brief import brief_fit, brief_rules
    from formulakern.cli.report import fit_opening, fit_report, rules_report
    from formulakern.display.terminal import show_inspection
    from formulakern.estimators.svm import evaluation

    begin = perf_counter()
    kernel = _kernel(options)
    _check_domains(kernel)
    dataset = read_dataset(options)
    check_integer("--rules", options.rules, 0)
    if options.rules and options.inputs == "graded":
        raise ParameterError(
            "--rules needs propositions, and --inputs graded gives degrees. Leave one of them out."
        )
    table, classes = _sample(dataset, options)
    encoder = _encoder(options)
    encoder.fit(table)  # what cannot be encoded is refused before anything is printed
    opening = fit_opening(kernel, dataset, len(table), options)
    if options.inspect:
        show_inspection(kernel.inspect())
        print()
    if not options.brief:
        print(opening, flush=True)
    n_steps = (1 + len(evaluation.BASELINES)) * options.cv
    with warnings.catch_warnings(), Progress(total=n_steps) as progress:
        # classes with fewer rows than folds are scored in the folds that have them
        warnings.filterwarnings("ignore", message="The least populated class")
        comparison = evaluation.compare_kernels(
            kernel,
            table,
            classes,
            n_folds=options.cv,
            C=options.C,
            encoder=encoder,
            random_state=options.seed,
            step=progress.advance,
        )
    if options.brief:
        print(brief_fit(kernel, dataset, comparison, classes), flush=True)
    else:
        print(fit_report(kernel, comparison, perf_counter() - begin))
    if options.rules:
        from formulakern.estimators.svm.classifier import FormulaSVC

        model = FormulaSVC(kernel, C=options.C, encoder=encoder, inputs=options.inputs).fit(
            table, classes
        )
        found = model.rules(options.rules, time_limit=RULES_SECONDS)
        print(brief_rules(found) if options.brief else rules_report(found, len(table)))


def _sample(dataset: Dataset, options: argparse.Namespace) -> tuple[Any, Any]:
    """At most ``--max-rows`` rows and their classes, which can be cross-validated."""
    from formulakern.estimators.svm import evaluation

    table, classes = dataset.data, dataset.target
    if options.max_rows is None:
        whole = options.kernel or options.inputs == "graded"
        options.max_rows = MAX_GRAM_ROWS if whole else MAX_ROWS
    check_integer("--max-rows", options.max_rows, 2)
    rows = evaluation.subsample(classes, options.max_rows, options.seed)
    if len(rows) < len(table):
        table, classes = table[rows], classes[rows]
    evaluation.check_folds(classes, options.cv, options.C)
    return table, classes


def _fit_named(options: argparse.Namespace) -> None:
    """``fit`` with a kernel that is no formula's."""
    from formulakern.cli.named import compared, named_kernel
    from formulakern.cli.report import named_opening, named_report
    from formulakern.display.terminal import show_inspection
    from formulakern.estimators.svm.evaluation import compare_estimators

    begin = perf_counter()
    for name, usual in FORMULA_OPTIONS.items():
        if getattr(options, name) != usual:
            raise ParameterError(f"--{name} is for formulas: give --formula, not --kernel.")
    kernel = named_kernel(options.kernel)
    dataset = read_dataset(options)
    table, classes = _sample(dataset, options)
    models = compared(kernel, dataset, options.column, options.C)
    if options.inspect:
        show_inspection(kernel.inspect())
        print()
    print(named_opening(kernel, dataset, len(table), options), flush=True)
    with warnings.catch_warnings(), Progress(total=len(models) * options.cv) as progress:
        warnings.filterwarnings("ignore", message="The least populated class")
        scores = compare_estimators(
            models,
            table,
            classes,
            n_folds=options.cv,
            random_state=options.seed,
            step=progress.advance,
        )
    print(named_report(scores, perf_counter() - begin))


def _gram(options: argparse.Namespace) -> None:
    import numpy as np

    from formulakern.cli.report import data_line
    from formulakern.files.replacing import replacing
    from formulakern.text import blocks

    plain = _kernel(options)
    _check_domains(plain)
    check_output(options.out, options.force, options.data)
    dataset = read_dataset(options)
    encoded = _encoder(options).fit_transform(dataset.data)
    kernel = plain.normalized() if options.normalize else plain
    size = np.dtype(options.dtype).itemsize * encoded.shape[0] ** 2
    if size > ASKED:
        _confirm(size, options)
    begin = perf_counter()
    shape = (encoded.shape[0],) * 2
    try:
        with replacing(options.out) as new:
            gram = _opened(new, shape, options.dtype) if size > ASKED else None
            with Progress(total=100) as progress:
                gram = kernel(
                    encoded,
                    out=gram,
                    dtype=options.dtype,
                    progress=lambda share: progress.reach(share, "Gram matrix"),
                )
            seconds = perf_counter() - begin
            if size <= ASKED:
                with new.open("wb") as file:
                    np.save(file, gram)
    except OSError as error:
        raise unwritable(options.out, error.strerror or "the disk refuses") from None
    done = [
        ("data", f"{data_line(dataset)} → {encoded.shape[1]:,} propositions"),
        ("kernel", repr(kernel)),
        ("matrix", f"{shape[0]:,} x {shape[1]:,}, {options.dtype}, {seconds:.2f} s"),
        ("written", str(options.out)),
    ]
    print(blocks(done))


def _confirm(size: int, options: argparse.Namespace) -> None:
    """Ask before so much is written; where nobody can answer, refuse."""
    if options.yes:
        return
    what = f"the matrix takes {size / 1e9:,.1f} GB of {options.dtype}"
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{what}. Write {options.out}? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise ParameterError("nothing was written.")
    raise ParameterError(
        f"{what}, more than {ASKED / 1e9:g} GB. Pass --yes to write it, or fewer rows."
    )


def _opened(path: Path, shape: tuple[int, int], dtype: str) -> Any:
    """A new file for a matrix, as a memory map; its room on the disk is taken at once."""
    import numpy as np

    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):  # a full disk would end the process later
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return matrix
