"""Truth tables as data sets: every assignment of n columns, labelled by a formula."""

from __future__ import annotations

import numpy as np

from formulakern.datasets.dataset import Dataset
from formulakern.encoding.table import Table
from formulakern.errors import FormulaError, ParameterError
from formulakern.syntax.choice import Choice
from formulakern.syntax.evaluation import evaluate
from formulakern.syntax.formula import Formula
from formulakern.syntax.parser import parse

__all__ = ["MAX_COLUMNS", "make_formula_classification"]

#: 2^n rows are made for n columns; more columns than this are refused.
MAX_COLUMNS = 20


def make_formula_classification(formula: str | Formula, n: int = 10) -> Dataset:
    """All 2ⁿ assignments of n Boolean columns, labelled by a formula.

    Parameters
    ----------
    formula : str or Formula
        Its variables name the first columns, in the order of the text; the other columns are
        irrelevant.
    n : int, default=10
        Number of columns, from the number of variables to ``MAX_COLUMNS``.

    Returns
    -------
    Dataset
        2ⁿ rows; ``target`` is 1 where the formula is true, else 0.  The first column changes
        slowest.

    Raises
    ------
    ParameterError
        If n is out of range.

    Examples
    --------
    >>> X, y = make_formula_classification("a & ~b", n=3)
    >>> X.names, X.shape, y.tolist()
    (('a', 'b', 'x3'), (8, 3), [0, 0, 0, 0, 1, 1, 0, 0])
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    if any(isinstance(leaf, Choice) for leaf in parsed.leaves):
        raise FormulaError(
            f"{str(parsed)!r} chooses different features, which is for kernels; rows are labelled "
            "by a formula over named columns. Write it out with &, | and ~."
        )
    names = [variable.name for variable in parsed.variables]
    if isinstance(n, bool) or n != int(n) or not max(len(names), 1) <= n <= MAX_COLUMNS:
        raise ParameterError(
            f"n is an integer from the number of variables ({len(names)}) to {MAX_COLUMNS}; "
            f"got {n!r}. 2^n rows are made."
        )
    for position in range(len(names) + 1, n + 1):
        name = f"x{position}"
        while name in names:
            name = f"_{name}"
        names.append(name)
    assignments = (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1)) & 1
    columns = dict(zip(names, assignments.T.astype(bool), strict=True))
    truth = evaluate(parsed, lambda leaf: columns[leaf.name])  # type: ignore[attr-defined]
    return Dataset(
        Table({name: column.astype(np.int64) for name, column in columns.items()}),
        np.broadcast_to(np.asarray(truth), 2**n).astype(np.int64),
        name="formula",
        description=f"All assignments of {n} Boolean columns; the class is {parsed}.",
    )
