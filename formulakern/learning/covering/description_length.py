"""Description lengths in bits: of a rule, of a subset of rows, of the exceptions to a rule set.

The cost of a rule set is the number of bits that send the classes of the training rows to a
receiver who has their other columns: first the rules (the theory), then the rows on which they err
(the exceptions).  All functions work on arrays that broadcast together; rows may have weights, so
counts need not be whole.

Quinlan (1995), MDL and categorical theories (continued), ICML, 464-470; as in RIPPER: Cohen (1995),
Fast effective rule induction, ICML, doi:10.1016/B978-1-55860-377-6.50023-2, and in Weka's
``RuleStats`` (``dataDL``, ``theoryDL``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from formulakern.errors import ParameterError

#: Sizes, counts and bits.
Floats = npt.NDArray[np.float64]

#: The attributes of rules depend on each other, so a rule's code is shorter than its parts.
REDUNDANCY = 0.5


def subset_bits(n: npt.ArrayLike, k: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
    r"""Return the bits that identify k elements among n, each selected with probability p.

    .. math:: S(n, k, p) = k \log_2 \frac{1}{p} + (n - k) \log_2 \frac{1}{1 - p}

    with 0·log 0 = 0.  The value is smallest at p = k/n, and infinite if p excludes the subset.

    Examples
    --------
    >>> subset_bits(8, [0, 4, 8], 0.5)
    array([8., 8., 8.])
    >>> subset_bits(8, [0, 4], 0.0)
    array([ 0., inf])
    """
    n, k, p = (np.asarray(value, dtype=np.float64) for value in (n, k, p))
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(k > 0, -k * np.log2(p), 0.0)
        outside = np.where(n > k, (k - n) * np.log1p(-p) / np.log(2.0), 0.0)
    return np.asarray(inside + outside)


def exception_bits(
    expected_fp_rate: npt.ArrayLike,
    covered: npt.ArrayLike,
    uncovered: npt.ArrayLike,
    fp: npt.ArrayLike,
    fn: npt.ArrayLike,
) -> Floats:
    r"""Return the bits that identify the errors of a rule set for one class.

    The code gives the number of errors e = fp + fn, then the false positives among the c covered
    rows and the false negatives among the u uncovered rows.  In the larger part, the probability
    of an error is the expected one, :math:`p = r e / c`; in the smaller part it is exact, because
    the number of its errors then follows:

    .. math::
        \log_2(c + u + 1) + \begin{cases}
        S(c, fp, r e / c) + S(u, fn, fn / u) & c > u \\
        S(c, fp, fp / c) + S(u, fn, (1 - r) e / u) & \text{otherwise}
        \end{cases}

    Examples
    --------
    >>> exception_bits(0.5, covered=4, uncovered=3, fp=[0, 1], fn=0).round(3)
    array([3.   , 6.578])
    """
    rate, covered, uncovered, fp, fn = (
        np.asarray(value, dtype=np.float64)
        for value in (expected_fp_rate, covered, uncovered, fp, fn)
    )
    larger = covered > uncovered
    errors = fp + fn
    fp_expected = np.where(larger, rate * errors, fp)
    fn_expected = np.where(larger, fn, (1.0 - rate) * errors)
    return np.asarray(
        np.log2(covered + uncovered + 1.0)
        + subset_bits(covered, fp, _share(fp_expected, covered))
        + subset_bits(uncovered, fn, _share(fn_expected, uncovered))
    )


def theory_bits(n_conditions_possible: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    r"""Return the bits of one rule of k conditions, of n possible ones.

    .. math:: \tfrac12 \bigl( \lVert k \rVert + S(n, k, k / n) \bigr),
              \qquad \lVert k \rVert = \log_2 k + 2 \log_2 \log_2 k

    ‖k‖ is the number of bits of an integer; its second term counts from k = 2 on.  The factor ½
    allows for conditions that depend on each other.  A rule set has the sum over its rules.

    Examples
    --------
    >>> theory_bits(16, [0, 1, 2, 8]).round(3)
    array([ 0.   ,  2.698,  4.849, 11.085])
    """
    n = np.asarray(n_conditions_possible, dtype=np.float64)
    k = np.asarray(k, dtype=np.float64)
    if (k > n).any():
        raise ParameterError(
            f"a rule has {k.max():g} conditions, but only {n.min():g} are possible; pass the "
            "number of conditions that rules may have, not the number that they do have."
        )
    some = np.maximum(k, 1.0)
    length = np.log2(some) + 2.0 * np.log2(np.maximum(np.log2(some), 1.0))
    bits = length + subset_bits(n, k, _share(k, n))
    return np.asarray(np.where(k > 0, REDUNDANCY * bits, 0.0))


def _share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, within [0, 1], and 0 if the whole is 0."""
    ratio = np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)
    return np.asarray(ratio.clip(0.0, 1.0))
