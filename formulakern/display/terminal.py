"""Terminal output: a progress line while it works, and the report of a fit."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

import numpy as np
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from formulakern.estimators.evaluation import Comparison
from formulakern.kernels.formula import FormulaKernel

__all__ = ["Progress", "fit_report"]


class Progress:
    """A progress bar on standard error, shown only where that is a terminal.

    Parameters
    ----------
    total : int
        Number of steps.
    """

    def __init__(self, total: int) -> None:
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            transient=True,
            console=_console(),
        )
        self._task = self._bar.add_task("starting", total=total)
        self._total = total
        self._begun = 0

    def advance(self, what: str) -> None:
        """Say what begins; whatever was begun before is done."""
        self._bar.update(self._task, description=what, completed=self._begun)
        self._begun += 1

    def reach(self, share: float, what: str) -> None:
        """Say which share of the whole is done."""
        self._bar.update(self._task, description=what, completed=share * self._total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()


def _console() -> object:
    from rich.console import Console

    return Console(file=sys.stderr)


def fit_report(
    kernel: FormulaKernel, comparison: Comparison, n_folds: int, C: float, seconds: float
) -> str:
    """The result of ``formulakern fit`` as text.

    Parameters
    ----------
    kernel : FormulaKernel
    comparison : Comparison
    n_folds : int
    C : float
    seconds : float
        Time of the whole command.

    Returns
    -------
    str
    """
    head = ["kernel", "accuracy %", "AUC %", "Gram s", "SVM s"]
    rows = []
    for score in comparison.scores:
        name = str(kernel.formula) if score.name == "formula" else score.name
        rows.append(
            [
                name if len(name) <= 40 else f"{name[:39]}…",
                _spread(score.accuracy),
                _spread(score.auc),
                f"{score.gram_seconds:.2f}",
                f"{score.fit_seconds:.2f}",
            ]
        )
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: list[str]) -> str:
        first, *others = cells
        padded = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        return "  ".join([f"{first:<{widths[0]}}", *padded])

    return "\n".join(
        [
            "",
            line(head),
            "─" * len(line(head)),
            *map(line, rows),
            "",
            f"{n_folds}-fold stratified cross-validation (mean ± standard deviation over folds), all "
            f"kernels normalised, C = {C:g}",
            f"{comparison.n_propositions:,} propositions; variables={kernel.variables!r}",
            f"backend: {comparison.backend} ({comparison.reason})",
            f"{seconds:.1f} s in all",
        ]
    )


def _spread(values: list[float]) -> str:
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values):.2f}"
