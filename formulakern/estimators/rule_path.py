"""The path of models from one rule to many, with the accuracy and objective of each size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from formulakern.display.history import History
from formulakern.text import counted

if TYPE_CHECKING:
    from formulakern.learning.hkl.problem import HierarchicalModel


class SizedModel(NamedTuple):
    """The best model found with at most ``n_rules`` rules and linear terms.

    Parameters
    ----------
    n_rules : int
    objective : float
    gap : float
        (objective − lower bound) / objective.  The bound holds for models of any size.
    accuracy, error : float
        The accuracy on held-out rows and its standard error; NaN without cross-validation.
    score : float
        The mean score of the held-out rows, which decides the choice of a model.
    """

    n_rules: int
    objective: float
    gap: float
    accuracy: float = math.nan
    error: float = math.nan
    score: float = math.nan


class RulePath(History):
    """The best models of 1, 2, 3, 5, … rules, a sequence of :class:`SizedModel`."""

    STEP = "size"
    COLUMNS = (
        ("n_rules", "rules", "d"),
        ("accuracy", "right, held out", ".1%"),
        ("error", "± error", ".1%"),
        ("score", "score", ".4f"),
        ("objective", "objective", ".6g"),
        ("gap", "gap", ".2g"),
    )

    @classmethod
    def of(cls, models: Sequence[HierarchicalModel], limit: int | None) -> Self:
        """Return the path of separately learned models that share the rules equally."""
        from formulakern.solvers.hierarchical.solve import relative_gap

        if not all(model.path for model in models):
            return cls(())
        lower = float(sum(model.grown.lower_bound for model in models))
        largest = sum(max(own[0] for own in model.path) for model in models)
        steps = []
        for size in [largest] if limit is None else sizes_of(limit, largest):
            shares = [share_of(size, k, len(models)) or 0 for k in range(len(models))]
            if any(own < model.path[-1][0] for own, model in zip(shares, models, strict=True)):
                continue  # no model has this size
            parts = [model.limited(own) for own, model in zip(shares, models, strict=True)]
            objective = float(sum(part.objective for part in parts))
            steps.append(SizedModel(size, objective, relative_gap(objective, lower)))
        return cls(tuple(steps))

    def times(self, factor: float) -> Self:
        """Return the path with objectives multiplied by ``factor``."""
        steps = (step._replace(objective=factor * step.objective) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def line(self) -> str:
        """Return the accuracy on held-out rows by size in one line, empty without accuracies.

        >>> steps = (SizedModel(1, 9.0, 0.5, 0.712, 0.01), SizedModel(5, 5.0, 0.1, 0.75, 0.009))
        >>> RulePath(steps).line()
        '1 rule 71.2 %, 5 rules 75.0 %; ± 0.9 %'
        """
        known = [step for step in self.steps if not math.isnan(step.accuracy)]
        shares = (f"{counted(s.n_rules, 'rule')} {s.accuracy:.1%}" for s in known)
        listed = ", ".join(shares).replace("%", " %")
        return f"{listed}; ± {100 * known[-1].error:.1f} %" if known else ""

    def _cells(self) -> list[list[str]]:
        rows = [row[1:] for row in super()._cells()]
        known = not np.isnan(self.values("score")).all()
        return rows if known else [[row[0], *row[4:]] for row in rows]


def share_of(limit: int | None, k: int, number: int) -> int | None:
    """Return the number of rules of a limit that go to the k-th of ``number`` models.

    >>> [share_of(5, k, 3) for k in range(3)]
    [2, 2, 1]
    """
    return None if limit is None else limit // number + (k < limit % number)


def sizes_of(limit: int | None, most: int) -> list[int]:
    """Return the sizes of a path up to ``most``, ascending.

    >>> sizes_of(7, 12)
    [1, 2, 3, 5, 7, 8, 10, 12]
    """
    from formulakern.learning.selection import PATH_SIZES

    listed = {*PATH_SIZES, *([] if limit is None else [limit])}
    return sorted({size for size in listed if size < most} | {most})
