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
    "long_rules",
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


def penalty_cause(C: float, automatic: float) -> Cause | None:
    """A penalty parameter above the automatic one."""
    if not math.isfinite(C) or automatic <= 0:
        return None
    times = C / automatic
    factor = f"{times:,.0f}" if 10 <= times < 1e6 else f"{times:.2g}"
    what = f"C={C:.4g} is {factor} times the automatic one, {automatic:.3g}"
    return Cause(times, what, "C='auto'")


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


def many_rows(n: int, n_classes: int = 2) -> Cause | None:
    """More different rows than usual, times the classes that are learned together."""
    of = f" of {n_classes} classes" if n_classes > 2 else ""
    times = n * max(1, n_classes - 1) / ROWS
    fewer = f"a sample, such as every {max(2, math.ceil(times))}th row"
    return Cause(times, f"there are {n:,} different rows{of}", fewer)
