"""Compared functions run in turns, so that another load on the machine affects all alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any


def medians(
    repetitions: int, clock: Callable[[], float], **functions: Callable[[], Any]
) -> dict[str, float]:
    """Median seconds of each, run in turns after one run that does not count.

    Parameters
    ----------
    repetitions : int
    clock : callable
        ``time.perf_counter``, or ``time.process_time``.
    **functions : callable
        By name.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for repetition in range(repetitions + 1):
        for name, function in functions.items():
            begin = clock()
            result = function()
            if repetition:
                times[name].append(clock() - begin)
            del result  # not before the clock was read
    return {name: statistics.median(values) for name, values in times.items()}
