"""Warnings after a successful fit whose model is probably not what the user intended."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.encoding.ordered import OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.validation import TrainingData
from formulakern.syntax.formula import Formula
from formulakern.syntax.parser import parse
from formulakern.tables.table import Table
from formulakern.text import clip

#: The number of propositions to test for each ordered column and side.
TESTED_CUTS = 8
#: The largest number of rows to test, shared equally among the classes.
TESTED_ROWS = 1000
#: A column leaks the class if its errors are at most the share ``MAX_ERROR_SHARE`` of the rows
#: outside the largest class, of at least ``MIN_OTHER_ROWS``.  Classes below ``MIN_CLASS_ROWS`` rows
#: do not count.
MAX_ERROR_SHARE, MIN_OTHER_ROWS, MIN_CLASS_ROWS = 0.02, 30, 10
#: The least length of a name that may be meant as a column.
MIN_NAME_LENGTH = 3
#: A proposition distinguishes classes if its p-value is below ``MAX_P_VALUE``; at most
#: ``MAX_TESTED_PROPOSITIONS`` propositions are tested.
MAX_P_VALUE, MAX_TESTED_PROPOSITIONS = 1e-3, 20_000


def warn_of_columns(formulas: Iterable[object], model: Any) -> None:
    """Warn if a variable of a formula has the name of a column of the model's table.

    Variables range over all columns.  Names of one or two letters do not count.
    """
    columns = {*map(str, getattr(model, "feature_names_in_", ()))}
    for given in formulas if columns else ():
        if not isinstance(given, (str, Formula)):
            continue
        formula = parse(given) if isinstance(given, str) else given
        names = [variable.name for variable in formula.variables]
        same = [name for name in names if name in columns and len(name) >= MIN_NAME_LENGTH]
        if same:
            _warn(
                f'the variable "{same[0]}" of {clip(str(formula), 40)!r} has the name of a column, '
                "but variables range over all columns. To use only this column write a rule, "
                f"fk.rule({clip(str(formula), 40)!r}); otherwise rename the variable."
            )
            return


def warn_of_zeros(kernel: Any, table: Any) -> bool:
    """Warn and return True if a kernel is 0 for every pair of rows.

    A zero diagonal is enough, since |K(x, z)|² ≤ K(x, x)·K(z, z).
    """
    for start in range(0, table.n_rows, TESTED_ROWS):
        rows = np.arange(start, min(start + TESTED_ROWS, table.n_rows))
        diagonal: FloatArray = kernel.diagonal(table.take(rows))
        if diagonal.any():
            return False
    _warn(
        f"{clip(repr(kernel), 80)} is 0 for every pair of rows of this table, because no "
        "substitution makes the formula true in any row; so the model is constant. Choose another "
        "formula."
    )
    return True


def warn_of_one_class(model: Any, data: TrainingData) -> None:
    """Warn if a model predicts only one class although a proposition distinguishes the classes.

    The proposition is more frequent in one class than chance allows (see
    :func:`informative_column`).  A sample of each class is tested, without rows of weight 0.
    """
    some, truth = _some_of_each(data.table, data.labels, np.flatnonzero(data.weights))
    found = np.unique(model.predict(some)).tolist()
    if len(found) == 1 < len(np.unique(truth)):
        names = getattr(model, "propositions_", ())
        if isinstance(some, OrderedTable):
            places, leaves = some.some(TESTED_CUTS), some.leaves
            some, names = some.packed(places), [str(leaves[place]) for place in places]
        warn_of_largest_class(found[0], some, truth, names, stacklevel=5)


def warn_of_largest_class(
    found: Any,
    table: Any,
    labels: NDArray[Any],
    names: Sequence[str] = (),
    instead: str = "a larger C, class_weight='balanced', or weaker limits",
    stacklevel: int = 4,
) -> None:
    """Warn that all rows are predicted as ``found``, if one of ``names`` distinguishes classes."""
    some, truth = _some_of_each(table, labels, np.arange(len(labels)))
    if isinstance(some, PackedTable):
        truths: NDArray[Any] = some.unpacked()
    else:
        values = np.asarray(getattr(some, "values", some), dtype=np.float64)
        truths = values > values.mean(axis=0)
    place = informative_column(
        truths[:, :MAX_TESTED_PROPOSITIONS], np.unique(truth, return_inverse=True)[1]
    )
    if place is not None:
        column = clip(names[place], 40) if place < len(names) else f"column {place}"
        _warn(
            f"the model predicts {found!r} for all training rows, although {column} alone "
            f"distinguishes the classes. Use {instead}.",
            stacklevel,
        )


def leaking_columns(table: Table, labels: NDArray[Any]) -> dict[str, float]:
    """Return the columns that leak the class, with the accuracy of each alone.

    Each random half of the rows is predicted from the other half: an entry has the most frequent
    class of the rows with the same entry.  Without such rows, a number or time uses the next lower
    entry, and a text the largest class.  This finds copies and codes of the class, identifiers
    sorted by the class, and numbers computed from it.  The errors of a leaking column are at most
    2 % of the rows outside the largest class, at least 30 rows.  Classes of fewer than 10 rows do
    not count.  If more than half of all columns leak, the classes are easy: the result is empty.

    >>> size, code = [k * k % 97 for k in range(80)], ["n", "y"] * 40
    >>> leaking_columns(Table({"size": size, "code": code}), np.array([0, 1] * 40))
    {'code': 1.0}
    """
    classes, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes)
    counted = sizes >= MIN_CLASS_ROWS
    n, largest = int(sizes[counted].sum()), int(sizes.max(initial=0))
    half = np.random.default_rng(0).permutation(len(codes)) % 2
    found = {}
    for name in table.names if n - largest >= MIN_OTHER_ROWS else ():
        column = table.typed(name)
        values, places = np.unique(column.values, return_inverse=True)
        counts = np.zeros((2, len(values), len(classes)), dtype=np.int64)
        np.add.at(counts, (half, places, codes), counted[codes])
        right = 0
        for held, known in zip(counts, counts[::-1], strict=True):
            there = known.any(axis=1)
            lower = np.where(there, np.arange(len(values)), there.argmax())
            guess = known.argmax(axis=1)[np.maximum.accumulate(lower)]
            if column.labels is not None:
                guess[~there] = known.sum(axis=0).argmax()
            right += int(held[np.arange(len(values)), guess].sum())
        if n - right <= MAX_ERROR_SHARE * (n - largest):
            found[name] = right / n
    return found if 2 * len(found) <= len(table.names) else {}


def _some_of_each(
    table: Any, labels: NDArray[Any], rows: NDArray[np.intp]
) -> tuple[Any, NDArray[Any]]:
    """Return a sample of the rows with about equally many of each class, and their classes."""
    if len(rows) > TESTED_ROWS:
        classes, codes = np.unique(labels[rows], return_inverse=True)
        most = max(1, TESTED_ROWS // len(classes))
        parts = [np.flatnonzero(codes == k) for k in range(len(classes))]
        rows = rows[np.concatenate([part[:: -(-len(part) // most)] for part in parts])]
    return table[rows] if isinstance(table, np.ndarray) else table.take(rows), labels[rows]


def informative_column(truths: NDArray[Any], codes: NDArray[np.intp]) -> int | None:
    """Return the column that is most significantly true more often in one class, or None.

    Every column and class has a one-sided p-value by Fisher's exact test.  The smallest p-value,
    times the number of tests, must be below 1/1000.  (R. A. Fisher, Journal of the Royal
    Statistical Society 85:87-94, 1922, doi:10.2307/2340521.)

    >>> column = np.repeat([[1, 0], [0, 1]], 10, axis=0)
    >>> informative_column(np.hstack([np.ones((20, 1), dtype=int), column]), column[:, 0])
    1
    """
    from scipy.stats import hypergeom

    of_class = np.eye(int(codes.max()) + 1)[codes]
    inside = np.asarray(truths, dtype=np.float64)
    both, true = inside.T @ of_class, inside.sum(axis=0)[:, None]
    chances = hypergeom.sf(both - 1, len(codes), of_class.sum(axis=0)[None], true)
    if not chances.size or chances.min() * chances.size >= MAX_P_VALUE:
        return None
    return int(chances.min(axis=1).argmin())


def _warn(said: str, stacklevel: int = 4) -> None:
    warnings.warn(said, UserWarning, stacklevel=stacklevel)
