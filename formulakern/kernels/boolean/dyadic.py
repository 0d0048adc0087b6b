"""Exact numbers m·2^e as pairs of integers, and their one rounding to float64.

All values of Boolean kernels are of this kind: counts, and counts weighted by numbers that came in
as float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

__all__ = [
    "TINY",
    "WORKING_BITS",
    "Dyadic",
    "binomials",
    "leading",
    "of_float",
    "rounded",
    "shifted",
]

#: A non-negative number m·2^e, as the integers (m, e).
Dyadic = tuple[int, int]

#: Digits that are kept where a number has more than float64 could ever show: ten times as many.
WORKING_BITS = 512
#: The smallest positive number that float64 holds with all its digits.
TINY = 2.0**-1022


def of_float(number: float) -> tuple[int, int]:
    """(a, b) with number = a / 2^b and b ≥ 0, exactly.

    >>> of_float(0.75), of_float(3.0)
    ((3, 2), (3, 0))
    """
    numerator, denominator = float(number).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def leading(value: int, exponent: int) -> Dyadic:
    """The number, cut after its first ``WORKING_BITS`` binary digits."""
    drop = max(0, value.bit_length() - WORKING_BITS)
    return value >> drop, exponent + drop


def shifted(value: int, digits: int) -> int:
    """⌊value·2^digits⌋."""
    return value << digits if digits >= 0 else value >> -digits


def rounded(value: Dyadic, total: Dyadic = (1, 0)) -> float:
    """The float64 nearest to value / total: inf beyond its range, nan where positive and tiny.

    >>> rounded((3, -1)), rounded((0, 5)), rounded((1, 1024)), rounded((1, -1023))
    (1.5, 0.0, inf, nan)
    >>> rounded((1, 3), (1, 5)), rounded((1, 0), (1, 1022)), rounded((1, 0), (1, 1023))
    (0.25, 2.2250738585072014e-308, nan)
    """
    shift = value[1] - total[1]
    size = value[0].bit_length() - total[0].bit_length() + shift  # of the quotient's digits, ± 1
    if not value[0]:
        return 0.0
    if size > 1030:
        return math.inf
    if size < -1030:
        return math.nan
    try:
        share = (value[0] << max(shift, 0)) / (total[0] << max(-shift, 0))
    except OverflowError:
        return math.inf
    return share if share >= TINY else math.nan


def binomials(k: int) -> Iterator[int]:
    """C(0, k), C(1, k), … without end; zeros for k = −1.

    >>> from itertools import islice
    >>> list(islice(binomials(2), 6))
    [0, 0, 1, 3, 6, 10]
    """
    value, t = int(k == 0), 0
    while True:
        yield value
        t += 1
        value = int(t == k) if t <= k else value * t // (t - k)
