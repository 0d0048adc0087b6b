"""``formulakern explain``: why rows are predicted as they are."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from formulakern.cli.learners import saved_model
from formulakern.cli.options import MODEL, ROWS, Command, open_file, option, training_columns
from formulakern.errors import DataError, ParameterError

__all__ = ["COMMAND"]

#: Rows that are explained at once.
MOST_EXPLAINED = 1000


def _explain(options: argparse.Namespace) -> None:
    wanted = _row_numbers(options.row)
    model = saved_model(options)
    if not hasattr(model, "explain"):
        raise ParameterError(
            f"{type(model).__name__} does not explain rows. Use a model of rules: --model hkl, "
            "prl or rules."
        )
    before, left = 0, sorted(wanted)
    reasons: dict[int, str] = {}
    for table, _ in open_file(options):
        while left and left[0] <= before + len(table):
            number = left.pop(0)
            row = training_columns(model, table[[number - 1 - before]])
            reasons[number] = str(model.explain(row))
        before += len(table)
        if not left:
            break
    if left:
        raise DataError(
            f"{Path(options.data).name} has {before:,} rows; there is no row {left[0]:,}."
        )
    if len(wanted) == 1:
        print(reasons[wanted[0]])
        return
    print("\n\n".join(f"row {number}: {reasons[number]}" for number in wanted))


def _row_numbers(text: str) -> list[int]:
    """Return the numbers that a text lists, as ``1,4-6``.

    >>> _row_numbers("7, 1-3")
    [7, 1, 2, 3]
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,12})(?:\s*-\s*(\d{1,12}))?\s*", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if first < 1 or last < first:
            raise ParameterError(
                f"--row {text!r} names no rows; they count from 1. Write --row 3, or --row 1,4-6."
            )
        if last - first >= MOST_EXPLAINED or len(found) >= MOST_EXPLAINED:
            raise ParameterError(
                f"--row {text!r} names more than {MOST_EXPLAINED:,} rows. Name fewer."
            )
        found |= dict.fromkeys(range(first, last + 1))
    return list(found)


COMMAND = Command(
    "explain",
    "explain why rows are predicted as they are",
    ["model.json new.csv --row 3", "model.json new.csv --row 1,4-6"],
    [
        MODEL,
        *ROWS,
        option(
            "--row N",
            "the number of the row, from 1; also several, as 1,4-6 (default: 1)",
            default="1",
        ),
    ],
    _explain,
)
