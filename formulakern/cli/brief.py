"""``--brief``: what a formula is, and what its kernel learns, on one screen."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from formulakern.cli.report import data_line, spread
from formulakern.errors import FormulaSizeError
from formulakern.kernels.formula import FormulaKernel, inner_formula
from formulakern.kernels.graded import GradedKernel
from formulakern.kernels.inspection import Inspection
from formulakern.text import blocks, clip

if TYPE_CHECKING:
    from formulakern.datasets.dataset import Dataset
    from formulakern.estimators.svm.evaluation import Comparison
    from formulakern.estimators.svm.extraction import RuleExtraction

__all__ = ["brief_fit", "brief_inspection", "brief_rules"]

#: Longer formulas and closed forms are described, not shown.
MAX_CHARACTERS = 80
#: Characters of a formula that is looked at.
BRIEF = 240


def brief_inspection(typed: str, inspection: Inspection) -> str:
    """A kernel in a few lines: what was typed, its canonical form, and how it is computed.

    >>> from formulakern.kernels.formula import kernel
    >>> print(brief_inspection("~(a | b)", kernel("~(a | b)").inspect()))
        typed │ ~(a | b)
    canonical │ ~a & ~b
              │ by De Morgan
        means │ bound: equal names are the same column; different names may coincide
       kernel │ K(x, z) = (n - p - q + s)**2
              │ of n columns p are true in x, q in z, s in both
    """
    canonical, rules = inspection["text"], dict[str, None]()
    for line in inspection["rewrites"].splitlines():
        if line.startswith(" "):
            rules.setdefault(line.rpartition("(")[2].rstrip(")"))
        elif ": " in line:
            canonical = line.partition(": ")[2]
    lines = [clip(canonical, BRIEF)]
    lines += [f"by {', '.join(rules)}" if rules else "as it was typed"]
    closed = " ".join(inspection["closed form"].split())
    about = ["of n columns p are true in x, q in z, s in both"]
    meaning = inspection["meaning"].partition("\n")[0]
    shown = [
        ("typed", clip(typed, BRIEF)),
        ("canonical", "\n".join(lines)),
        ("means", meaning.removeprefix("variables=").replace("'", "")),
        ("kernel", "\n".join([clip(closed, BRIEF), *about * closed.startswith("K(x, z)")])),
    ]
    return blocks(shown)


def brief_fit(
    given: FormulaKernel | GradedKernel,
    dataset: Dataset,
    comparison: Comparison,
    classes: npt.NDArray[np.object_],
) -> str:
    """What the formula became, and how well its kernel does.

    Parameters
    ----------
    given : FormulaKernel or GradedKernel
    dataset : Dataset
        All of it.
    comparison : Comparison
    classes : ndarray
        Of the rows that were used.
    """
    kernel = inner_formula(given)
    rewriting = kernel.rewriting
    text = _short(str(rewriting.original), f"{kernel.formula.n_leaves:,} leaves")
    steps = Counter(step.rule for result in rewriting.passes for step in result.steps)
    if steps:
        after = rewriting.passes[-1].formula
        rules = ", ".join(f"{name} {n} times" if n > 1 else name for name, n in steps.items())
        text += f"  =  {_short(str(after), f'{after.n_leaves:,} leaves')}   ({rules})"
    try:
        closed = f"K(x, z) = {kernel.polynomial()}"
    except FormulaSizeError:
        closed = "K(x, z)"
    formula, linear = (spread(score.accuracy) for score in comparison.scores[:2])
    largest = np.unique(classes, return_counts=True)[1].max() / len(classes)
    score = (
        f"{formula} % right; a linear kernel {linear}, always the largest class {100 * largest:.2f}"
    )
    parts = [
        ("formula", text),
        ("kernel", _short(closed, f"{len(kernel.program.kernel_nodes):,} operations for a pair")),
        ("table", data_line(dataset)),
        ("score", score),
    ]
    return blocks(parts)


def brief_rules(found: RuleExtraction) -> str:
    """The heaviest rules of the model, a line each, and that no others are heavier."""
    claim = "proven" if found.proven else "not proven: time is over"
    share = all(item.precision == 1 for item in found)
    lines = [
        f"{item.weight:.2f} for {item.winner}: {item.rule}"
        + ("" if share else f"  ({100 * item.precision:.1f} %)")
        for item in found
    ]
    right = ", each always right" if share and len(found) else ""
    head = f"the {len(found)} heaviest of the model ({claim}){right}"
    return "\n".join([blocks([("  rules", head)]), "", *lines])


def _short(text: str, otherwise: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else otherwise
