"""Boolean kernels over products of entries: conjunctions on 0 and 1, and a meaning on real rows."""

from __future__ import annotations

import math

from formulakern.backends.base import Scale
from formulakern.errors import ParameterError
from formulakern.kernels.boolean.counted import CountedKernel
from formulakern.kernels.boolean.degrees import degree, real
from formulakern.kernels.boolean.families import Conjunctions, Powers, Subsets
from formulakern.kernels.boolean.tanimoto import TanimotoKernel

__all__ = ["all_subsets", "anova", "polynomial", "sadohara_monotone_dnf", "tanimoto"]


def sadohara_monotone_dnf(*, scale: Scale = "count") -> CountedKernel:
    """Sadohara's monotone DNF kernel: K(x, z) = 2^s − 1, on real vectors Π (1 + xᵢzᵢ) − 1.

    Feature space: the conjunctions of any number of different columns, at least one; 2^n − 1 of
    them.

    Parameters
    ----------
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Notes
    -----
    Positive semidefinite on all real vectors: a sum of products of the kernels xᵢzᵢ.  The error on
    real vectors is a few units in the last place per column, relative to Π (1 + |xᵢzᵢ|) − 1.

    References
    ----------
    Sadohara (2001), doi:10.1007/3-540-45583-3_10.

    Examples
    --------
    >>> sadohara_monotone_dnf()([[1, 1, 0], [0, 1, 0]])
    array([[3., 1.],
           [1., 1.]])
    """
    return CountedKernel(Subsets(1.0, signed=False), "sadohara_monotone_dnf", (), scale)


def all_subsets(*, scale: Scale = "count") -> CountedKernel:
    """The all-subsets kernel: K(x, z) = Π (1 + xᵢzᵢ), which is 2^s on rows of 0 and 1.

    Feature space: for every set of columns, the empty one too, their product; on rows of 0 and 1
    their conjunction.  Its dimension is 2^n.

    Parameters
    ----------
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Notes
    -----
    Positive semidefinite on all real vectors, as a sum of products of the kernels xᵢzᵢ.  The
    relative error on real vectors is a few units in the last place per column where xᵢzᵢ ≥ 0; a
    factor near 0 (xᵢzᵢ near −1) has the absolute error of xᵢzᵢ.

    References
    ----------
    Shawe-Taylor & Cristianini (2004), Kernel Methods for Pattern Analysis, chapter 9,
    doi:10.1017/CBO9780511809682.

    Examples
    --------
    >>> all_subsets()([[1, 1, 0], [0, 1, 0]])
    array([[4., 2.],
           [2., 2.]])
    >>> all_subsets()([[1.5, -2.0]], [[2.0, 1.0]])
    array([[-4.]])
    """
    return CountedKernel(Subsets(1.0, signed=False, empty=True), "all_subsets", (), scale)


def anova(d: int, *, scale: Scale = "count") -> CountedKernel:
    """The ANOVA kernel of degree d: K(x, z) = e_d(x₁z₁, …, xₙzₙ), C(s, d) on rows of 0 and 1.

    e_d is the elementary symmetric polynomial, the sum of all products of d different ones.
    Feature space: for every set of d columns their product; on rows of 0 and 1 their conjunction,
    so that the kernel is :func:`monotone_conjunctive`.  Its dimension is C(n, d).

    Parameters
    ----------
    d : int
        At least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        If d is no integer of at least 1; at use, if the table has fewer than d columns.

    Notes
    -----
    Positive semidefinite on all real vectors, as an inner product of the features.  On real vectors
    it costs n·d operations a pair, and the error is a few units in the last place per column,
    relative to e_d(|x₁z₁|, …, |xₙzₙ|): nothing cancels but what has different signs.

    References
    ----------
    Shawe-Taylor & Cristianini (2004), Kernel Methods for Pattern Analysis, chapter 9,
    doi:10.1017/CBO9780511809682.

    Examples
    --------
    >>> anova(2)([[1, 1, 1], [0, 1, 1]])
    array([[3., 1.],
           [1., 1.]])
    >>> anova(2)([[0.5, 2.0, -1.0]])
    array([[5.25]])
    """
    d = degree(d, "d")
    return CountedKernel(Conjunctions(d, d, signed=False), "anova", (str(d),), scale)


def polynomial(d: int, constant: float = 1.0, *, scale: Scale = "count") -> CountedKernel:
    """The polynomial kernel: K(x, z) = (⟨x,z⟩ + c)^d, which is (s + c)^d on rows of 0 and 1.

    Feature space on rows of 0 and 1: the conjunctions of at most d different columns; one of k
    columns has the weight √(Σⱼ C(d, j)·c^(d−j)·k!·S(j, k)), j = k … d, where S(j, k) are the
    Stirling numbers of the second kind: a monomial of degree j in which k columns occur is their
    conjunction.  With c = 0 the empty conjunction is not there.

    Parameters
    ----------
    d : int
        Degree, at least 1.
    constant : float
        c, at least 0 and finite.
    scale : {"count", "probability"}
        ``"probability"`` divides by the sum of the squared weights, (n + c)^d.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        If d is no integer of at least 1, or c is negative or not finite; at use, if the numbers in
        it have more than 200,000 binary digits.

    Notes
    -----
    Positive semidefinite on all real vectors, as a sum of powers of ⟨x,z⟩ with weights of at least
    0.  The error on real vectors is a few units in the last place per column and degree, relative
    to (Σ |xᵢzᵢ| + c)^d.

    References
    ----------
    Shawe-Taylor & Cristianini (2004), Kernel Methods for Pattern Analysis, chapter 9,
    doi:10.1017/CBO9780511809682.

    Examples
    --------
    >>> k = polynomial(2)
    >>> k([[1, 1, 0], [0, 1, 0]])
    array([[9., 4.],
           [4., 4.]])
    >>> k.features.weight(2) ** 2  # of 2·x₁x₂ in (1 + x₁ + x₂)²
    2.0000000000000004
    """
    d = degree(d, "d")
    value = real(constant, "constant")
    if not 0 <= value < math.inf:
        raise ParameterError(
            f"constant is a finite number of at least 0; got {constant!r}. "
            "(A negative one would make the kernel indefinite.)"
        )
    value = abs(value)  # of the two zeros, the positive one
    arguments = (str(d), *((f"constant={value!r}",) if value != 1 else ()))
    return CountedKernel(Powers(d, value), "polynomial", arguments, scale)


def tanimoto() -> TanimotoKernel:
    """The Tanimoto (Jaccard) kernel: K(x, z) = s / (p + q − s).

    The ones that the rows share over the ones in either; on real vectors
    ⟨x,z⟩ / (⟨x,x⟩ + ⟨z,z⟩ − ⟨x,z⟩).  Two rows of zeros are identical: K = 1.

    Returns
    -------
    TanimotoKernel

    Notes
    -----
    Positive semidefinite on all real vectors: it is Σ ⟨x,z⟩^k / (⟨x,x⟩ + ⟨z,z⟩)^k over k ≥ 1, a
    sum of products of positive semidefinite kernels (1/(a + b)^k is a mixture of e^(−ta)·e^(−tb)).
    It equals 1 on the diagonal.  Its features are no list of formulas (``features`` is None); on
    rows of 0 and 1 they span 2^n dimensions.

    References
    ----------
    Ralaivola, Swamidass, Saigo & Baldi (2005), Graph kernels for chemical informatics,
    Neural Networks 18(8):1093–1110, doi:10.1016/j.neunet.2005.07.009.

    Examples
    --------
    >>> tanimoto()([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]])
    array([[1.  , 0.25, 0.  ],
           [0.25, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    return TanimotoKernel()
