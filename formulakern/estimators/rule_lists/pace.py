"""Why the search for an optimal rule list takes long, and what its certificate leaves open."""

from __future__ import annotations

import math
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from formulakern.estimators.long_fits import Cause, Pace, many_propositions
from formulakern.estimators.rule_lists.learners import SHORT
from formulakern.learning.covering.sequential import TrainingTable
from formulakern.text import counted

__all__ = ["list_pace", "warn_late"]


def list_pace(model: Any, training: TrainingTable) -> Pace:
    """What tells whether and why the search for a list takes long.

    There are about (2 s^k)^r lists of r rules that are conjunctions of k of s propositions, and a
    rule that decides less than a share ``penalty`` of the rows is in none that is optimal.

    Parameters
    ----------
    model : RuleListClassifier
    training : TrainingTable
    """
    packed = training.table.packed
    assert packed is not None  # this learner is given an encoded table
    causes: list[Cause | None] = [many_propositions(model, packed.n_columns)]
    for name, usual in SHORT.items():
        asked = getattr(model, name)
        more = 0 if asked is None else int(asked) - usual
        # one more is as much as twice the propositions, or more
        causes.append(Cause(2.0**more, f"{name}={asked}", f"{name}={usual}"))
    penalty, usual_penalty = float(model.penalty), float(type(model).penalty)
    times = usual_penalty / penalty if penalty > 0 else math.inf
    what = f"penalty={penalty:g}, and a penalty leaves rules out that decide fewer rows"
    causes.append(Cause(times, what, f"penalty={usual_penalty:g}"))
    return Pace(training.deadline, lambda: causes)


def warn_late(model: Any, n_rules: int, why: str) -> None:
    """Say that the time was over, what is known of the list, and why it takes long.

    Parameters
    ----------
    model : RuleListClassifier
    n_rules : int
    why : str
        From :func:`list_pace`, or "".
    """
    if hasattr(model, "gap_"):
        what = f"another list may have an objective that is smaller by {model.gap_:.2g}"
        advice = "Allow more time, or a larger tol."
    else:
        what = f"the list has {counted(n_rules, 'rule')} so far"
        advice = "Allow more time."
    warnings.warn(
        f"stopped by the time limit: {what}. {why or advice}", ConvergenceWarning, stacklevel=3
    )
