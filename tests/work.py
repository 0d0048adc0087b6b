"""Work as a number that no other load on the machine changes: lines of Python that are executed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines(function: Callable[..., object], *arguments: object) -> int:
    """Return the number of lines that a call executes in Python, counting repetitions.

    Code in C counts as nothing, and so does a call that raises: its exception passes.
    """
    count = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count


def assert_linear(function: Callable[[Any], object], make: Callable[[int], Any], n: int) -> None:
    """Twice the size costs at most a little more than twice the work."""
    function(make(n))  # whatever is done once only is done
    small, large = lines(function, make(n)), lines(function, make(2 * n))
    assert large <= 2.2 * small + 1000, (
        f"{small:,} lines of work for {n:,}, {large:,} for {2 * n:,}"
    )
