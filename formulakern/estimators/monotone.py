"""Monotone constraints of columns as signs of weights.

If the score must not fall with a column, the weight of x ≥ c must be at least 0, and the weight of
x ≤ c at most 0.  If the score must not rise, the signs are opposite.  x = v and x ≠ v are not steps
in one direction, so they get no weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from formulakern.arrays import IntArray
from formulakern.checks import is_integer
from formulakern.encoding.ordered import Leaves
from formulakern.encoding.partitioned import PartitionedTable
from formulakern.encoding.plan import Gaps
from formulakern.encoding.summary import Summary
from formulakern.errors import ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.mining.ordered import NEVER
from formulakern.syntax.formula import Formula, Variable
from formulakern.syntax.leaves import ORDERS, Comparison
from formulakern.tables.read import column_positions
from formulakern.tables.table import Table

#: The sign of weights for each relation, if the score must not fall with the column.
SIGNS = {">=": 1, ">": 1, "<=": -1, "<": -1, "is missing": 0, "is not missing": 0}


def check_one_score(model: Any, n_classes: int) -> None:
    """Raise ParameterError if ``monotone`` is given and the classes have several scores."""
    if model.monotone and n_classes > 2 and not model.ordinal:
        raise ParameterError(
            f"monotone={model.monotone!r} with {n_classes} classes; expected two classes, or "
            "ordinal=True for ordered ones, which have one score."
        )


def read_directions(
    monotone: Any,
    encoder: PropositionEncoder,
    table: Table | PartitionedTable,
    summaries: Mapping[str, Summary],
    automatic: bool,
) -> dict[str, int]:
    """Return the direction of each column by name: 1 for not falling, −1 for not rising.

    An ``automatic`` encoder is refitted to cut numeric columns of two values.

    Raise DataError if a column is unknown, and ParameterError if ``monotone`` is not a mapping, a
    direction is not 1 or −1, or a column holds no numbers.
    """
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping):
        raise ParameterError(
            f"monotone={monotone!r}; expected a mapping from columns to 1 (the score does not fall "
            'with the column) or -1 (it does not rise), such as {"age": 1}.'
        )
    wrong = [name for name, d in monotone.items() if not is_integer(d) or d not in (-1, 1)]
    if wrong:
        raise ParameterError(
            f"monotone has {monotone[wrong[0]]!r} for the column {wrong[0]!r}; expected 1 (the "
            "score does not fall with the column) or -1 (it does not rise). Leave out columns "
            "without a constraint."
        )
    places = column_positions(table, list(monotone)) if monotone else ()
    names = [table.names[place] for place in places]
    nominal = [
        plan.name
        for plan in encoder.plans_
        if plan.kind == "nominal"  # but not ordered categories, which have order relations
        and not any(getattr(leaf, "relation", None) in ORDERS for leaf in plan.propositions)
    ]
    some = [name for name in names if name in nominal]
    texts = [name for name in some if not summaries[name].column.is_numeric]
    if texts:
        raise ParameterError(
            f'the column "{texts[0]}" of monotone holds text; expected a column of numbers, dates, '
            "times, or at least three ordered categories."
        )
    if some and not (automatic and encoder.nominal == "auto"):
        raise ParameterError(
            f'the column "{some[0]}" of monotone is encoded by its values. Use '
            "PropositionEncoder(max_nominal=0), which cuts numbers of two values too."
        )
    if some:
        encoder.nominal = [name for name in nominal if name not in names]
        encoder.learn(table, None, any(plan.gaps is not None for plan in encoder.plans_))
    return {name: int(d) for name, d in zip(names, monotone.values(), strict=True)}


def required_sign(leaf: Formula, directions: Mapping[str, int]) -> int | None:
    """Return the required sign of a proposition's weight: 0 for any, None for no weight.

    >>> directions = {"age": 1, "bmi": -1}
    >>> [required_sign(Comparison(name, "<=", 3), directions) for name in ("age", "bmi", "sex")]
    [-1, 1, 0]
    >>> required_sign(Comparison("age", "=", 3), directions) is None
    True
    """
    if isinstance(leaf, Variable):
        return directions.get(leaf.name, 0)
    if not isinstance(leaf, Comparison) or leaf.column not in directions:
        return 0
    asked = SIGNS.get(leaf.relation) if leaf.part is None else None
    return None if asked is None else asked * directions[leaf.column]


def required_signs(leaves: Sequence[Any], directions: Mapping[str, int]) -> IntArray:
    """Return the required signs of the weights of propositions, ``NEVER`` for no weight."""
    if isinstance(leaves, Leaves):
        return np.concatenate([required_signs(part, directions) for part in leaves.parts])
    if isinstance(leaves, Gaps):
        asked, n = directions.get(leaves.name, 0), len(leaves) // 2
        return np.repeat(np.array([-asked, asked], dtype=np.int64), n)
    found = [required_sign(leaf, directions) for leaf in leaves]
    return np.array([NEVER if one is None else one for one in found], dtype=np.int64)
