"""What a preference learner says while it works: how far each epoch came, why it takes long."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from formulakern.deadline import Deadline
from formulakern.estimators.long_fits import (
    Cause,
    Pace,
    long_rules,
    many_propositions,
    many_rows,
    penalty_cause,
    tolerance_cause,
)
from formulakern.estimators.prl.history import epoch_line
from formulakern.learning.prl.column_generation import Epoch
from formulakern.learning.prl.features import ConjunctionFeatures, FeatureFamily
from formulakern.learning.prl.preferences import Preferences
from formulakern.solvers.solution import share_done

__all__ = ["USUAL_TOL", "open_share", "pace_of", "reporter"]

#: ``tol`` by default.
USUAL_TOL = 1e-2


def open_share(value: float, bound: float) -> float:
    """The gap as a share of the bound.

    >>> import numpy as np
    >>> open_share(0.9, 1.0), open_share(-1.0, np.inf), open_share(0.0, 0.0)
    (0.09999999999999998, 1.0, 0.0)
    """
    return 1 - max(value, 0.0) / bound if bound > 0 else 0.0


def pace_of(
    estimator: Any, family: FeatureFamily, preferences: Preferences, C: float, deadline: Deadline
) -> Pace:
    """What tells whether and why a fit takes long.

    Parameters
    ----------
    estimator : PRLClassifier
    family : FeatureFamily
    preferences : Preferences
        Of different rows.
    C : float
        The automatic one.
    deadline : Deadline
    """
    return Pace(deadline, partial(_causes, estimator, family, preferences, C))


def reporter(estimator: Any, pace: Pace) -> Callable[[Epoch], None]:
    """What is called with every epoch."""
    numbers, bar = itertools.count(1), estimator._bar

    def report(epoch: Epoch) -> None:
        gap = open_share(epoch.value, epoch.bound)
        share, known = share_done(1.0, gap, estimator.tol), f"gap {gap:.2g}, {epoch.support} rules"
        bar.at(share, "growing", known, epoch_line(next(numbers), epoch))
        bar.foresee(pace, share)

    return report


def _causes(
    estimator: Any,
    family: FeatureFamily,
    preferences: Preferences,
    automatic: float,
    steps: Sequence[Epoch] = (),
) -> list[Cause | None]:
    gaps = [open_share(step.value, step.bound) for step in steps]
    seconds, n = [step.seconds for step in steps], len(estimator._leaves)
    rules = isinstance(family, ConjunctionFeatures)
    return [
        penalty_cause(estimator.C_, automatic),
        tolerance_cause(estimator.tol, USUAL_TOL, gaps, seconds),
        long_rules(n, estimator.degree) if rules else None,
        many_propositions(estimator, n) if rules else None,
        many_rows(preferences.n_rows, len(estimator.classes_)),
    ]
