"""What ``formulakern fit`` and ``gram`` say: the data, what was compiled, and the scores."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulakern.errors import FormulaSizeError
from formulakern.kernels.formula import FormulaKernel, inner_formula
from formulakern.kernels.graded import GradedKernel
from formulakern.program.staging import Stage, stages
from formulakern.text import blocks, clip, table, width

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.estimators.svm.evaluation import Comparison, KernelScores
    from formulakern.estimators.svm.extraction import RuleExtraction
    from formulakern.kernels.algebra import Kernel

__all__ = [
    "data_line",
    "fit_opening",
    "fit_report",
    "named_opening",
    "named_report",
    "rules_report",
    "spread",
]

#: Formulas with more leaves are described by their size.
MAX_LEAVES = 40
#: Classes that are listed with their numbers of rows.
MAX_CLASSES = 6


def data_line(dataset: Dataset) -> str:
    """Name, rows, columns and classes of a data set, in one sentence.

    Parameters
    ----------
    dataset : Dataset

    Examples
    --------
    >>> from formulakern import datasets
    >>> data_line(datasets.tic_tac_toe())
    'tic-tac-toe: 958 rows, 9 columns; 2 classes: negative 332, positive 626'
    """
    rows, columns = dataset.data.shape
    return f"{dataset.name}: {_many(rows, 'row')}, {_many(columns, 'column')}; " + _classes(
        dataset.target
    )


def fit_opening(
    kernel: FormulaKernel | GradedKernel, dataset: Dataset, n_used: int, options: Namespace
) -> str:
    """What ``formulakern fit`` is about to do.

    Parameters
    ----------
    kernel : FormulaKernel or GradedKernel
    dataset : Dataset
        All of it.
    n_used : int
        Rows that are used.
    options : Namespace
        Of the command line: ``cv``, ``C`` and ``seed``.

    Returns
    -------
    str
    """
    seen = "degrees" if isinstance(kernel, GradedKernel) else "propositions"
    trial = (
        f"{options.cv}-fold stratified cross-validation of a support vector machine with "
        f"C = {options.C:g}; all kernels see the same {seen} and are normalised"
    )
    parts = _data_parts(dataset, n_used, options, isinstance(kernel, GradedKernel))
    return blocks([*parts, ("kernel", _compiled(kernel)), ("trial", trial)])


def named_opening(kernel: Kernel, dataset: Dataset, n_used: int, options: Namespace) -> str:
    """What ``formulakern fit --kernel`` is about to do; the parameters of :func:`fit_opening`."""
    trial = (
        f"{options.cv}-fold stratified cross-validation of support vector machines with "
        f"C = {options.C:g}"
    )
    parts = _data_parts(dataset, n_used, options, gram=True)
    return blocks([*parts, ("kernel", repr(kernel)), ("trial", trial)])


def named_report(scores: Sequence[KernelScores], seconds: float) -> str:
    """The result of ``formulakern fit --kernel``.

    Parameters
    ----------
    scores : sequence of KernelScores
    seconds : float
        Time of the whole command.
    """
    rows = [
        [clip(s.name, 40), spread(s.accuracy), spread(s.auc), f"{s.fit_seconds:.2f}"]
        for s in scores
    ]
    foot = [
        ("scores", "mean ± standard deviation over the folds, in percent"),
        ("time", f"{seconds:.1f} s in all"),
    ]
    return f"\n{table(['kernel', 'accuracy', 'AUC', 'seconds'], rows)}\n\n{blocks(foot)}"


def _data_parts(
    dataset: Dataset, n_used: int, options: Namespace, gram: bool
) -> list[tuple[str, str]]:
    """The data, and the sample where it is one; ``gram``: because a Gram matrix is held."""
    n_rows = len(dataset)
    parts = [("data", data_line(dataset))]
    if n_used < n_rows:
        needed = 8 * n_rows**2 / 2**30
        why = (
            f"The Gram matrix of all {n_rows:,} rows would take {needed:.1f} GiB, and the solver "
            "as much again: this uses "
        )
        sample = (
            f"a stratified sample of {n_used:,} rows (seed {options.seed}; --max-rows changes it)"
        )
        parts.append(("sample", f"{why}{sample}." if gram and needed >= 1 else sample))
    return parts


def fit_report(kernel: FormulaKernel | GradedKernel, comparison: Comparison, seconds: float) -> str:
    """The result of ``formulakern fit``.

    Parameters
    ----------
    kernel : FormulaKernel or GradedKernel
    comparison : Comparison
    seconds : float
        Time of the whole command.

    Returns
    -------
    str
    """
    rows = [
        [
            clip(str(inner_formula(kernel).formula) if score.name == "formula" else score.name, 40),
            spread(score.accuracy),
            spread(score.auc),
            f"{score.fit_seconds:.2f}",
            f"{score.predict_seconds:.2f}",
        ]
        for score in comparison.scores
    ]
    foot = [
        ("scores", "mean ± standard deviation over the folds, in percent"),
        ("encoded", f"{_many(comparison.n_propositions, 'proposition')} in the first fold"),
        ("backend", f"{comparison.backend}: {comparison.reason}"),
        ("time", f"{seconds:.1f} s in all"),
    ]
    head = ["kernel", "accuracy", "AUC", "fit s", "predict s"]
    return f"\n{table(head, rows)}\n\n{blocks(foot)}"


def rules_report(found: RuleExtraction, n_rows: int) -> str:
    """The rules that ``--rules`` asks for, of a model of ``n_rows`` rows."""
    return f"\nthe heaviest rules of the model, trained on {n_rows:,} rows\n\n{found}"


def spread(values: npt.ArrayLike) -> str:
    """Mean and standard deviation of shares, in percent.

    >>> spread([0.9, 1.0])
    '95.00 ± 5.00'
    """
    shares = 100 * np.asarray(values, dtype=np.float64)
    return f"{shares.mean():.2f} ± {shares.std():.2f}"


def _compiled(given: FormulaKernel | GradedKernel) -> str:
    kernel = inner_formula(given)
    program = kernel.program
    many = kernel.formula.n_leaves > MAX_LEAVES
    lines = [f"a formula of {kernel.formula.n_leaves:,} leaves" if many else str(kernel.formula)]
    lines[0] += f", variables={kernel.variables!r}"
    if kernel.scale != "count":
        lines[0] += f", scale={kernel.scale!r}"
    if given is not kernel:
        lines[0] += ", inputs='graded': degrees of truth, integrated over their levels"
    if not many:
        try:
            closed = f"K(x, z) = {kernel.polynomial()}"
        except FormulaSizeError:
            closed = ""
        if 0 < len(closed) <= width() - 10:
            lines.append(closed)
    stage = stages(program).of
    numbers = len(program.kernel_nodes)
    per_pair = sum(stage[node] is Stage.PAIR for node in program.kernel_nodes)
    steps = sum(len(result.steps) for result in kernel.rewriting.passes)
    lines.append(
        f"compiled: {_many(steps, 'rewrite') if steps else 'nothing to rewrite'}, a program of "
        f"{_many(numbers, 'line')}, {per_pair:,} of them for every pair of rows"
    )
    return "\n".join(lines)


def _classes(target: npt.NDArray[Any]) -> str:
    classes, counts = np.unique(target, return_counts=True)
    if len(classes) <= MAX_CLASSES:
        shares = [f"{c} {n:,}" for c, n in zip(classes, counts, strict=True)]
        return f"{_many(len(classes), 'class')}: {', '.join(shares)}"
    low, high = int(counts.min()), int(counts.max())
    size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{len(classes):,} classes of {size} rows"


def _many(number: int, what: str) -> str:
    """A number and a noun.

    >>> _many(1, "class"), _many(2000, "class"), _many(2, "row")
    ('1 class', '2,000 classes', '2 rows')
    """
    if number != 1:
        what += "es" if what.endswith("s") else "s"
    return f"{number:,} {what}"
