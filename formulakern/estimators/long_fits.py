"""Why a fit takes long, in the numbers of this fit, and a setting that would make it fast."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from formulakern.deadline import Deadline
from formulakern.estimators.encoder import PropositionEncoder

__all__ = [
    "Cause",
    "Pace",
    "comparing_pace",
    "long_rules",
    "many_fits",
    "many_propositions",
    "many_rows",
    "penalty_cause",
    "reason",
    "tolerance_cause",
]

#: Seconds after which a fit without a limit says why it takes long, and the share of a limit after
#: which one says so that will not be done.
LONG, EARLY = 10.0, 0.25
#: What is usual, of which causes are multiples: propositions and different rows.
PROPOSITIONS, ROWS = 100, 5_000
#: Fits of a comparison.
FITS = 40
#: Rules, of which the square root counts, as most are bounded together.
RULES = 5_000
#: What is less often the usual is no cause.
NOTABLE = 1.5


@dataclass(frozen=True)
class Cause:
    """What makes a fit long.

    Attributes
    ----------
    times : float
        How many times the usual it is.
    what : str
        What it is in this fit.
    instead : str
        What would make it fast.
    """

    times: float
    what: str
    instead: str


def reason(causes: Iterable[Cause | None]) -> str:
    """The sentence about the cause that is most unusual; "" where none is.

    >>> reason([Cause(12.0, "C=1000 is 12 times the automatic one", "C='auto'"), None])
    "It takes long as C=1000 is 12 times the automatic one. To make it fast: C='auto'."
    """
    notable = [cause for cause in causes if cause is not None and cause.times >= NOTABLE]
    if not notable:
        return ""
    cause = max(notable, key=lambda one: one.times)
    return f"It takes long as {cause.what}. To make it fast: {cause.instead}."


@dataclass(frozen=True)
class Pace:
    """What tells, while a fit goes on, whether and why it takes long.

    Attributes
    ----------
    deadline : Deadline
    causes : callable
        What may make it long; from the steps so far, where these are given as ``steps``.
    """

    deadline: Deadline
    causes: Callable[..., Iterable[Cause | None]]

    def reason(self, **known: Any) -> str:
        """Why it takes long; "" where nothing is unusual."""
        return reason(self.causes(**known))

    def foreseen(self, share: float) -> bool:
        """Whether it is clear by now that a fit takes long, of which a share is done."""
        return foreseen(self.deadline, share)


def foreseen(deadline: Deadline, share: float) -> bool:
    """Whether it can be said by now that a fit takes long, of which a share is done.

    Where there is a limit: a quarter of it is over, and at this pace the end is not reached by it.
    """
    taken = deadline.taken()
    if not deadline.limited:
        return taken > LONG and share < 1
    whole = deadline.end - deadline.begun
    return EARLY * whole < taken < whole and share * whole < taken


def penalty_cause(C: float, usual: float, automatic: bool = True) -> Cause | None:
    """A penalty parameter above the usual one, which is the automatic one or the default.

    >>> penalty_cause(1000.0, 1.0, automatic=False).what
    'C=1000 is 1,000 times the usual one, 1'
    """
    if not math.isfinite(C) or usual <= 0:
        return None
    times = C / usual
    factor = f"{times:,.0f}" if 10 <= times < 1e6 else f"{times:.2g}"
    what = f"C={C:.4g} is {factor} times the {'automatic' if automatic else 'usual'} one"
    return Cause(times, f"{what}, {usual:.3g}", "C='auto'" if automatic else f"C={usual:g}")


def tolerance_cause(
    tol: float, usual: float, gaps: Sequence[float], seconds: Sequence[float]
) -> Cause | None:
    """A tolerance below the usual one, which was reached after a part of the time."""
    reached = [s for gap, s in zip(gaps, seconds, strict=True) if gap <= usual]
    if not reached or tol >= usual:
        return None
    what = f"tol={tol:g}; a gap of {usual:g} was reached after {reached[0]:.1f} s"
    return Cause(usual / tol, what, f"tol={usual:g}")


def many_propositions(model: Any, n: int) -> Cause | None:
    """More propositions than usual, and the column that has most of them."""
    encoder = getattr(model, "encoder_", None)
    what, times = f"there are {n:,} propositions", n / PROPOSITIONS
    instead = "fewer columns"
    if isinstance(encoder, PropositionEncoder) and encoder.plans_:
        widest = max(encoder.plans_, key=lambda plan: len(plan.propositions))
        of_it = len(widest.propositions)
        what += f", {of_it:,} of them of column {widest.name!r}"
        if widest.values:
            instead = f"leave out {widest.name!r}, or join its rare values"
        elif isinstance(getattr(model, "encoder", None), str):
            usual, asked = type(model).cut_points, model.cut_points
            fewer = usual if asked > usual else max(1, asked // 2)
            strategy = "" if model.cut_strategy == "quantile" else ", cut_strategy='quantile'"
            instead = f"cut_points={fewer}{strategy}"
        else:
            instead = "a PropositionEncoder with fewer cut_points"
    return Cause(times, what, instead)


def long_rules(n: int, degree: int) -> Cause:
    """More possible rules than usual, for their length.

    >>> long_rules(100, 4).what
    'there are 4,087,975 rules of up to 4 of 100 propositions'
    """
    count = sum(math.comb(n, size) for size in range(1, degree + 1))
    what = f"there are {count:,} rules of up to {degree} of {n} propositions"
    return Cause(math.sqrt(count / RULES) if degree > 2 else 0.0, what, "degree=2")


def many_rows(n: int, n_classes: int = 2, different: bool = True) -> Cause | None:
    """More (different) rows than usual, times the classes that are learned together.

    >>> many_rows(32_561, different=False).instead
    'a sample, such as every 7th row'
    """
    of = f" of {n_classes} classes" if n_classes > 2 else ""
    times = n * max(1, n_classes - 1) / ROWS
    step = max(2, math.ceil(times))
    ending = "th" if 10 < step % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(step % 10, "th")
    fewer = f"a sample, such as every {step}{ending} row"
    return Cause(times, f"there are {n:,} {'different ' * different}rows{of}", fewer)


def many_fits(n_settings: int, n_folds: int, what: str, instead: str) -> Cause:
    """More fits than usual, of so many settings to so many folds.

    >>> reason([many_fits(100, 10, "values of C", "fewer Cs or folds")])
    'It takes long as 100 values of C with 10 folds are 1,000 fits. To make it fast: fewer Cs or \
folds.'
    """
    fits = n_settings * max(1, n_folds)
    folds = f"with {n_folds} folds " if n_folds > 1 else ""
    return Cause(fits / FITS, f"{n_settings:,} {what} {folds}are {fits:,} fits", instead)


def comparing_pace(
    model: Any,
    deadline: Deadline,
    shapes: Sequence[tuple[int, int]],
    n_settings: int,
    instead: str,
    what: str = "settings",
    searched: bool = True,
) -> Pace:
    """What tells whether and why a comparison of settings takes long.

    Parameters
    ----------
    model : TableEstimator
    deadline : Deadline
    shapes : sequence of (int, int)
        The training rows of every fold, and their columns; none where nothing is fitted.
    n_settings : int
    instead : str
        What would make fits fewer.
    what : str
        What settings are called.
    searched : bool
        Whether conjunctions are searched, which takes longer with more propositions.
    """
    causes: list[Cause | None] = [many_fits(n_settings, len(shapes), what, instead)]
    if shapes:
        rows, columns = shapes[0]
        causes.append(many_rows(rows, different=False))
        causes.append(many_propositions(model, columns) if searched else None)
    return Pace(deadline, lambda: causes)
