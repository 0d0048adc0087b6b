"""A Choquet model as a file of Python: degrees of the columns, and integrals of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from formulakern.encoding.degrees import Degrees
from formulakern.errors import FormulaSizeError
from formulakern.estimators.choquet.scaling import AttributeScaling
from formulakern.estimators.choquet.set_function import SetFunction
from formulakern.rules.export.json import plain
from formulakern.rules.python.files import PythonFile

__all__ = ["choquet_python"]

#: A set function of more columns has too many values to be written down.
MOST_COLUMNS = 14


def choquet_python(
    names: Sequence[str],
    scaling: AttributeScaling,
    functions: Sequence[SetFunction],
    intercepts: Sequence[float],
    classes: Sequence[Any] | None,
    surest: bool,
) -> str:
    """What ``to_python`` of the estimators documents.

    Parameters
    ----------
    names : sequence of n str
    scaling : AttributeScaling
    functions, intercepts : sequences
        One for each pair of classes, or one for a number.
    classes : sequence or None
    surest : bool
        Whether ties of votes are broken by the scores.

    Raises
    ------
    FormulaSizeError
        If there are more than 14 columns.
    """
    n = len(names)
    if n > MOST_COLUMNS:
        raise FormulaSizeError(
            f"a set function of {n} columns has {2**n:,} values; at most {MOST_COLUMNS} columns "
            "are written as Python. Use save() and formulakern.load."
        )
    file = PythonFile()
    sets = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
    measures = [function.measures(sets).tolist() for function in functions]
    shown = "".join(f"    {measure!r},\n" for measure in measures)
    file.constants += [f"MEASURES = [\n{shown}]", f"INTERCEPTS = {list(map(float, intercepts))!r}"]
    reads = list(zip(names, scaling.columns, scaling.directions.tolist(), strict=True))
    degrees = [_degree(file, j, *parts) for j, parts in enumerate(reads)]
    lines = ["degrees = [", *(f"    {degree}," for degree in degrees), "]"]
    total = "[choquet_integral(degrees, m) + b for m, b in zip(MEASURES, INTERCEPTS, strict=True)]"
    file.functions.append("choquet_integral")
    if classes is None:
        lines.append(f"return {total}[0]")
        file.define("predict", "The number that is predicted.", "float", lines, reads=True)
        file.define("score", "The same.", "float", ["return predict(row, missing)"])
        return file.text()
    chosen = "surest_winner" if surest else "winner"
    file.functions.append(chosen)
    file.constants.append(f"CLASSES = {[plain(label) for label in classes]!r}")
    best = f"return CLASSES[{chosen}(score(row, missing), len(CLASSES))]"
    file.define("predict", "The class of a row.", "Any", [best])
    about = "Of every pair of CLASSES the score, which is positive for the second."
    file.define("score", about, "list[float]", [*lines, f"return {total}"], reads=True)
    return file.text()


def _degree(file: PythonFile, j: int, name: str, column: Degrees | None, direction: int) -> str:
    """An entry as a degree."""
    found = file.conditions.read("factor", name)
    if column is None:  # of a column that was constant
        return "0.0"
    if column.scale == "rank":
        file.constants.append(f"KNOWN_{j} = {list(column.values)!r}")
        file.functions.append("rank_degree")
        text = f"rank_degree({found}, KNOWN_{j})"
    else:
        file.functions.append("linear_degree")
        text = f"linear_degree({found}, {column.values[0]!r}, {column.values[1]!r})"
    return text if direction > 0 else f"1.0 - {text}"
