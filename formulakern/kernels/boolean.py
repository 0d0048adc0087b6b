"""The named families of Boolean kernels, such as ``fk.boolean.conjunctive(3)``.

s = ⟨x,z⟩ is the number of columns that are 1 in both rows, p and q are the numbers of ones of each
row, n is the number of columns, and m = n − p − q + 2s the number of columns in which the rows
agree; C(a, b) are binomial coefficients.  *Monotone* families build features from columns, the
others from literals, which are columns and negated columns.

==============================  ================================================  ============
kernel                          K(x, z) on rows of 0 and 1                        real vectors
==============================  ================================================  ============
``monotone_conjunctive(d)``     C(s, d)
``monotone_disjunctive(d)``     C(n,d) − C(n−p,d) − C(n−q,d) + C(n−p−q+s,d)
``monotone_dnf(d, c)``          ``any[d](all[c](x))``
``monotone_cnf(d, c)``          ``all[d](any[c](x))``
``conjunctive(d)``              C(m, d)
``disjunctive(d)``              (2^d − 2)·C(n, d) + C(m, d)
``dnf(d, c)``, ``cnf(d, c)``    disjunctions of conjunctions, and the reverse
``d_dnf(d)``                    Σ C(m, k) over k = 1 … d
``sadohara_dnf()``              2^m − 1                                           yes
``sadohara_monotone_dnf()``     2^s − 1                                           yes
``parametric_dnf(σ)``           (1 + σ)^m − 1, monotone (1 + σ)^s − 1             yes
``all_subsets()``               2^s                                               yes
``anova(d)``                    C(s, d)                                           yes
``polynomial(d, c)``            (s + c)^d                                         yes
``tanimoto()``                  s / (p + q − s)                                   yes
==============================  ================================================  ============

All are ordinary kernels: ``+``, ``*``, ``.normalized()``, ``inspect()``, ``SVC(kernel=...)``.
A sum of kernels reads real vectors if all its terms do.  :func:`formulakern.graded` extends each
family to degrees of truth from 0 to 1.

A family computes f(s), or f(m), exactly for every count that can occur, rounds each value to
float64 once and looks it up: a Gram matrix costs the same for every family and degree.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from formulakern.arrays import FloatArray, IntArray
from formulakern.backends.block_writers import cut, then, within
from formulakern.backends.evaluation import Scale
from formulakern.backends.lookup import look_up_sums
from formulakern.backends.tables import BlockWriter, PairedTables, TablePair
from formulakern.checks import check_choice, check_flag, check_integer, check_number
from formulakern.errors import MagnitudeError, ParameterError
from formulakern.gram.matrix import tiles
from formulakern.gram.triple_index import Counts
from formulakern.kernels.algebra import DerivedKernel, Kernel, Section, n_columns
from formulakern.kernels.formula import FormulaKernel, kernel

if TYPE_CHECKING:
    import sympy

__all__ = [
    "all_subsets",
    "anova",
    "cnf",
    "conjunctive",
    "d_dnf",
    "disjunctive",
    "dnf",
    "monotone_cnf",
    "monotone_conjunctive",
    "monotone_disjunctive",
    "monotone_dnf",
    "parametric_dnf",
    "polynomial",
    "sadohara_dnf",
    "sadohara_monotone_dnf",
    "tanimoto",
]


#: The numbers of rows of x and of z that are processed together; a few such tiles fit the cache.
TILE = 64, 512
#: A product of factors is split into fractions and exponents before it can exceed 2^±MAX_EXPONENT.
MAX_EXPONENT = 900


def monotone_conjunctive(d: int, *, scale: Scale = "count") -> FormulaKernel:
    """Return the monotone conjunctive kernel (mC-kernel) of degree d: K(x, z) = C(s, d).

    Feature space: the C(n, d) conjunctions of d different columns.  It is the kernel of the formula
    ``all[d](x)``.  For real vectors, see :func:`anova`.

    Parameters
    ----------
    d : int
        Number of columns in a conjunction, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    FormulaKernel

    References
    ----------
    Polato, Lauriola & Aiolli (2018), A Novel Boolean Kernels Family for Categorical Data,
    Entropy 20(6):444, doi:10.3390/e20060444.

    Examples
    --------
    >>> k = monotone_conjunctive(2)
    >>> k([[1, 1, 1, 0], [0, 1, 1, 1]])
    array([[3., 1.],
           [1., 3.]])
    >>> k.dimension(4)
    6
    """
    return kernel(f"all[{degree(d, 'd')}](x)", variables="distinct", scale=scale)


def monotone_disjunctive(d: int, *, scale: Scale = "count") -> FormulaKernel:
    """Return the monotone disjunctive kernel (mD-kernel) of degree d.

    K(x, z) = C(n, d) − C(n−p, d) − C(n−q, d) + C(n−p−q+s, d): the C(n, d) disjunctions of d
    different columns, less those that are false in x or in z.  It is the kernel of the formula
    ``any[d](x)``, evaluated without the subtractions.

    Parameters
    ----------
    d : int
        Number of columns in a disjunction, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    FormulaKernel

    Raises
    ------
    FormulaSizeError
        At use, if d is above 199: without subtractions, terms grow with d².

    References
    ----------
    Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444.

    Examples
    --------
    >>> monotone_disjunctive(2)([[1, 1, 0, 0], [0, 1, 1, 0]])
    array([[5., 4.],
           [4., 5.]])
    """
    return kernel(f"any[{degree(d, 'd')}](x)", variables="distinct", scale=scale)


def monotone_dnf(d: int, c: int, *, scale: Scale = "count") -> FormulaKernel:
    """Return the monotone DNF kernel (mDNF-kernel): disjunctions of d conjunctions of c columns.

    Feature space: the C(N, d) disjunctions of d different ones of the N = C(n, c) conjunctions of
    c different columns.  It is the kernel of the formula ``any[d](all[c](x))``,
    C(N, d) − C(N − C(p,c), d) − C(N − C(q,c), d) + C(N − C(p,c) − C(q,c) + C(s,c), d).

    Parameters
    ----------
    d : int
        Number of conjunctions, at least 1 and at most C(n, c).
    c : int
        Number of columns in each, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    FormulaKernel

    Raises
    ------
    FormulaSizeError
        At use, if d is above 199: without subtractions, terms grow with d².

    References
    ----------
    Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444.

    Examples
    --------
    >>> k = monotone_dnf(2, 2)
    >>> k.dimension(4)
    15
    >>> k([[1, 1, 1, 0], [0, 1, 1, 1]])
    array([[12.,  9.],
           [ 9., 12.]])
    """
    return kernel(
        f"any[{degree(d, 'd')}](all[{degree(c, 'c')}](x))", variables="distinct", scale=scale
    )


def monotone_cnf(d: int, c: int, *, scale: Scale = "count") -> FormulaKernel:
    """Return the monotone CNF kernel (mCNF-kernel): conjunctions of d disjunctions of c columns.

    Feature space: the C(C(n, c), d) conjunctions of d different ones of the C(n, c) disjunctions of
    c different columns.  It is the kernel of the formula ``all[d](any[c](x))``,
    K(x, z) = C(K_c(x, z), d), where K_c is the kernel of :func:`monotone_disjunctive`.

    Parameters
    ----------
    d : int
        Number of disjunctions, at least 1 and at most C(n, c).
    c : int
        Number of columns in each, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    FormulaKernel

    Raises
    ------
    FormulaSizeError
        At use, if c is above 199: without subtractions, terms grow with c².

    References
    ----------
    Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444.

    Examples
    --------
    >>> monotone_cnf(2, 2)([[1, 1, 0, 0], [0, 1, 1, 0]])
    array([[10.,  6.],
           [ 6., 10.]])
    """
    return kernel(
        f"all[{degree(d, 'd')}](any[{degree(c, 'c')}](x))", variables="distinct", scale=scale
    )


def sadohara_monotone_dnf(*, scale: Scale = "count") -> CountedKernel:
    """Return Sadohara's monotone DNF kernel: K(x, z) = 2^s − 1.

    On real vectors K(x, z) = Π (1 + xᵢzᵢ) − 1.  Feature space: the 2^n − 1 conjunctions of at
    least one column.

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
    real vectors is a few units in the last place per column, relative to ``Π (1 + |xᵢzᵢ|) − 1``.

    References
    ----------
    Sadohara (2001), doi:10.1007/3-540-45583-3_10.

    Examples
    --------
    >>> sadohara_monotone_dnf()([[1, 1, 0], [0, 1, 0]])
    array([[3., 1.],
           [1., 1.]])
    """
    return CountedKernel(Subsets("conjunction", False, 1, None), "sadohara_monotone_dnf", (), scale)


def all_subsets(*, scale: Scale = "count") -> CountedKernel:
    """Return the all-subsets kernel: K(x, z) = Π (1 + xᵢzᵢ), which is 2^s on rows of 0 and 1.

    Feature space: the products of all 2^n sets of columns, the empty set included; on rows of 0
    and 1 they are conjunctions.

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
    relative error on real vectors is a few units in the last place per column if xᵢzᵢ ≥ 0; a
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
    return CountedKernel(Subsets("conjunction", False, 0, None), "all_subsets", (), scale)


def anova(d: int, *, scale: Scale = "count") -> CountedKernel:
    """Return the ANOVA kernel of degree d: K(x, z) = e_d(x₁z₁, …, xₙzₙ).

    e_d is the elementary symmetric polynomial, the sum of the products of d different arguments.
    Feature space: the products of the C(n, d) sets of d columns.  On rows of 0 and 1 they are
    conjunctions, and the kernel is C(s, d), as for :func:`monotone_conjunctive`.

    Parameters
    ----------
    d : int
        Number of columns in a product, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        At use, if the table has fewer than d columns.

    Notes
    -----
    Positive semidefinite on all real vectors, as an inner product of the features.  On real vectors
    a pair costs n·d operations, and the error is a few units in the last place per column, relative
    to ``e_d(|x₁z₁|, …, |xₙzₙ|)``: only products of different signs can cancel.

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
    return CountedKernel(Conjunctions("conjunction", False, d, d), "anova", (str(d),), scale)


def polynomial(d: int, constant: float = 1.0, *, scale: Scale = "count") -> CountedKernel:
    """Return the polynomial kernel: K(x, z) = (⟨x,z⟩ + c)^d, (s + c)^d on rows of 0 and 1.

    Feature space on rows of 0 and 1: the conjunctions of at most d different columns, without the
    empty one if c = 0.  A monomial of degree j in k columns is their conjunction, so a conjunction
    of k columns has the weight √(Σⱼ C(d, j)·c^(d−j)·k!·S(j, k)), j = k … d, where S(j, k) are the
    Stirling numbers of the second kind.

    Parameters
    ----------
    d : int
        Degree, at least 1.
    constant : float
        The constant c, at least 0 and finite.
    scale : {"count", "probability"}
        ``"probability"`` divides by the sum of the squared weights, (n + c)^d.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        If d is not an integer of at least 1, or c is negative or not finite; at use, if exact
        values have more than 200,000 binary digits.

    Notes
    -----
    Positive semidefinite on all real vectors, as a sum of powers of ⟨x,z⟩ with non-negative
    weights.  The error on real vectors is a few units in the last place per column and degree,
    relative to ``(Σ |xᵢzᵢ| + c)^d``.

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
    expected = "a finite number of at least 0 (a negative one would make the kernel indefinite)"
    check_number("constant", constant, 0, expected=expected)
    value = abs(float(constant))  # turns -0.0 into 0.0
    arguments = (str(d), *((f"constant={value!r}",) if value != 1 else ()))
    features = Powers("conjunction", False, 0 if value else 1, d, value)
    return CountedKernel(features, "polynomial", arguments, scale)


def conjunctive(d: int, *, scale: Scale = "count") -> CountedKernel:
    """Return the conjunctive kernel (C-kernel) of degree d: K(x, z) = C(m, d).

    Feature space: the 2^d·C(n, d) conjunctions of d literals of different columns.  For each set of
    d columns, exactly one conjunction is true in a row; it is the same one in two rows that agree
    on these columns.  Since K(x, x) = C(n, d) for every row, normalising only scales the kernel.

    Parameters
    ----------
    d : int
        Number of literals in a conjunction, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        At use, if the table has fewer than d columns.

    References
    ----------
    Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444.

    Examples
    --------
    >>> k = conjunctive(2)
    >>> k([[1, 1, 0], [0, 1, 0]])
    array([[3., 1.],
           [1., 3.]])
    >>> k.dimension(3), k.polynomial()
    (12, binomial(n - p - q + 2*s, 2))
    """
    d = degree(d, "d")
    return CountedKernel(Conjunctions("conjunction", True, d, d), "conjunctive", (str(d),), scale)


def disjunctive(d: int, *, scale: Scale = "count") -> CountedKernel:
    """Return the disjunctive kernel (D-kernel) of degree d: K(x, z) = (2^d − 2)·C(n, d) + C(m, d).

    Feature space: the 2^d·C(n, d) disjunctions of d literals of different columns.  For each set of
    d columns, exactly one disjunction is false in a row; it is the same one in two rows that agree
    on these columns.

    Parameters
    ----------
    d : int
        Number of literals in a disjunction, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        At use, if the table has fewer than d columns.

    References
    ----------
    Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444.

    Examples
    --------
    >>> disjunctive(2)([[1, 1, 0], [0, 1, 0]])
    array([[9., 7.],
           [7., 9.]])
    """
    d = degree(d, "d")
    return CountedKernel(
        ClausesOfClauses("disjunction", True, d, d), "disjunctive", (str(d),), scale
    )


def dnf(d: int, c: int, *, scale: Scale = "count") -> CountedKernel:
    """Return the DNF kernel: disjunctions of d different conjunctions of c literals.

    K(x, z) = C(N, d) − 2·C(N − F, d) + C(N − 2F + C(m, c), d).  There are N = 2^c·C(n, c)
    conjunctions of c literals of different columns; F = C(n, c) of them are true in each row, and
    C(m, c) in both.  The dimension is C(N, d): every choice of d conjunctions is a feature, even if
    two choices give the same Boolean function.

    Parameters
    ----------
    d : int
        Number of conjunctions, at least 1 and at most N.
    c : int
        Number of literals in each, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        At use, if the table has fewer than c columns, there are fewer than d conjunctions, or a
        binomial coefficient has over 200,000 binary digits.

    References
    ----------
    Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444.

    Examples
    --------
    >>> k = dnf(2, 1)
    >>> k([[1, 1, 0], [0, 1, 0]])
    array([[12., 10.],
           [10., 12.]])
    >>> k.dimension(3)
    15
    """
    d, c = degree(d, "d"), degree(c, "c")
    return CountedKernel(
        ClausesOfClauses("conjunction", True, c, c, d), "dnf", (str(d), str(c)), scale
    )


def cnf(d: int, c: int, *, scale: Scale = "count") -> CountedKernel:
    """Return the CNF kernel: conjunctions of d different disjunctions of c literals.

    K(x, z) = C((2^c − 2)·C(n, c) + C(m, c), d): the choices of d among the disjunctions of c
    literals of different columns that are true in both rows (see :func:`disjunctive`).  The
    dimension is C(2^c·C(n, c), d): every choice of d disjunctions is a feature.

    Parameters
    ----------
    d : int
        Number of disjunctions, at least 1 and at most 2^c·C(n, c).
    c : int
        Number of literals in each, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        At use, if the table has fewer than c columns, there are fewer than d disjunctions, or a
        binomial coefficient has over 200,000 binary digits.

    References
    ----------
    Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444.

    Examples
    --------
    >>> cnf(2, 2)([[1, 1, 0], [0, 1, 0]])
    array([[36., 21.],
           [21., 36.]])
    """
    d, c = degree(d, "d"), degree(c, "c")
    return CountedKernel(
        ClausesOfClauses("disjunction", True, c, c, d), "cnf", (str(d), str(c)), scale
    )


def d_dnf(d: int, *, scale: Scale = "count") -> CountedKernel:
    """Return Sadohara's d-DNF kernel: K(x, z) = Σ C(m, k) over k = 1 … d.

    Feature space: the Σ 2^k·C(n, k) conjunctions of 1 to d literals of different columns.  If
    d ≥ n, the kernel is :func:`sadohara_dnf`.

    Parameters
    ----------
    d : int
        Largest number of literals in a conjunction, at least 1.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    References
    ----------
    Sadohara (2002), On a capacity control using Boolean kernels for the learning of Boolean
    functions, IEEE International Conference on Data Mining, 410–417.

    Examples
    --------
    >>> k = d_dnf(2)
    >>> k([[1, 1, 0], [0, 1, 0]])
    array([[6., 3.],
           [3., 6.]])
    >>> k.dimension(3)
    18
    """
    d = degree(d, "d")
    return CountedKernel(Conjunctions("conjunction", True, 1, d), "d_dnf", (str(d),), scale)


def sadohara_dnf(*, scale: Scale = "count") -> CountedKernel:
    """Return Sadohara's DNF kernel: K(x, z) = 2^m − 1.

    On real vectors K(x, z) = Π (2xᵢzᵢ − xᵢ − zᵢ + 2) − 1.  Feature space: the 3^n − 1 conjunctions
    of at least one literal of different columns.  Every Boolean function is a sum of such
    conjunctions.

    Parameters
    ----------
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Notes
    -----
    Positive semidefinite on all real vectors: a factor is 1 + xᵢzᵢ + (1 − xᵢ)(1 − zᵢ), and
    Π (1 + Kᵢ) − 1 is a sum of products of the positive semidefinite Kᵢ.  For entries from 0 to 1,
    the relative error on real vectors is a few units in the last place per column; other entries
    can cancel.

    References
    ----------
    Sadohara (2001), Learning of Boolean Functions Using Support Vector Machines, ALT 2001,
    doi:10.1007/3-540-45583-3_10.

    Examples
    --------
    >>> sadohara_dnf()([[1, 1, 0], [0, 1, 0]])
    array([[7., 3.],
           [3., 7.]])
    >>> sadohara_dnf()([[0.5, 0.5]])
    array([[1.25]])
    """
    return CountedKernel(Subsets("conjunction", True, 1, None), "sadohara_dnf", (), scale)


def parametric_dnf(
    sigma: float, monotone: bool = False, *, scale: Scale = "count"
) -> CountedKernel:
    """Return Zhang's parametric DNF kernel: K(x, z) = (1 + σ)^m − 1, monotone (1 + σ)^s − 1.

    Feature space: the conjunctions of at least one literal of different columns, or, if
    ``monotone``, of at least one column.  A conjunction of k literals has the weight σ^(k/2), so
    σ < 1 favours short conjunctions; σ = 1 gives :func:`sadohara_dnf`.

    On real vectors K(x, z) = Π (1 + σ·aᵢ) − 1 with the agreement aᵢ = 1 − xᵢ − zᵢ + 2xᵢzᵢ, or
    Π (1 + σ·xᵢzᵢ) − 1 if ``monotone``.

    Parameters
    ----------
    sigma : float
        The squared weight σ of a literal, positive and finite.
    monotone : bool
        If True, conjunctions contain columns but no negated columns.
    scale : {"count", "probability"}
        ``"probability"`` divides by the sum of the squared weights, (1 + 2σ)^n − 1, or
        (1 + σ)^n − 1 if ``monotone``.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        If σ is not a positive finite number.

    Notes
    -----
    Positive semidefinite on all real vectors: aᵢ = xᵢzᵢ + (1 − xᵢ)(1 − zᵢ).  The error on real
    vectors is as for :func:`sadohara_dnf`.

    References
    ----------
    Zhang, Li, Kang & Yan (2003), Improving the classification performance of Boolean kernels by
    applying Occam's razor, CIRAS 2003.
    Zhang, Li & Cui (2005), DRC-BK: Mining classification rules by using Boolean kernels,
    ICCSA 2005, doi:10.1007/11424758_23.

    Examples
    --------
    >>> k = parametric_dnf(0.5)
    >>> k([[1, 1, 0], [0, 1, 0]])
    array([[2.375, 1.25 ],
           [1.25 , 2.375]])
    >>> k.features.weight(2)
    0.5
    """
    expected = (
        "a positive finite number, the squared weight of a literal (below 1 favours short clauses)"
    )
    check_number("sigma", sigma, 0, above=True, expected=expected)
    check_flag("monotone", monotone)
    value = float(sigma)
    arguments = (repr(value), *(("monotone=True",) if monotone else ()))
    features = Subsets("conjunction", not monotone, 1, None, value)
    return CountedKernel(features, "parametric_dnf", arguments, scale)


def tanimoto() -> TanimotoKernel:
    """Return the Tanimoto (Jaccard) kernel: K(x, z) = s / (p + q − s).

    On real vectors K(x, z) = ⟨x,z⟩ / (⟨x,x⟩ + ⟨z,z⟩ − ⟨x,z⟩).  For two rows of zeros, K = 1.

    Returns
    -------
    TanimotoKernel

    Notes
    -----
    Positive semidefinite on all real vectors: it is Σ ⟨x,z⟩^k / (⟨x,x⟩ + ⟨z,z⟩)^k over k ≥ 1, a
    sum of products of positive semidefinite kernels (1/(a + b)^k is a mixture of e^(−ta)·e^(−tb)).
    The diagonal is 1.  The features are not formulas (``features`` is None); on rows of 0 and 1
    they span 2^n dimensions.

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


# -- pairs of real rows ----------------------------------------------------------------------------


Columns = tuple[FloatArray, FloatArray]
#: A kernel of the rows of two real tables given as columns; see ``by_columns``.
OnColumns = Callable[[FloatArray, FloatArray], FloatArray]


def by_columns(x: FloatArray, z: FloatArray) -> Columns:
    """Return the columns of x and of z, in shapes that broadcast to all pairs of rows."""
    return np.ascontiguousarray(x.T)[:, :, None], np.ascontiguousarray(z.T)[:, None]


def terms(x: FloatArray, z: FloatArray, signed: bool = False) -> Iterator[FloatArray]:
    """Yield the products xᵢzᵢ, or the agreements xᵢzᵢ + (1 − xᵢ)(1 − zᵢ), column by column."""
    for a, b in zip(x, z, strict=True):
        yield a * b + (1.0 - a) * (1.0 - b) if signed else a * b


def inner(x: FloatArray, z: FloatArray) -> FloatArray:
    """Return ⟨x, z⟩."""
    return np.asarray(x[..., 0].T @ z[:, 0] if x.ndim == 3 else (x * z).sum(axis=0))


def shape_of(x: FloatArray, z: FloatArray) -> tuple[int, ...]:
    """Return the shape of the values, one per pair of rows."""
    return np.broadcast_shapes(x.shape[1:], z.shape[1:])


def product_of_one_plus(x: FloatArray, z: FloatArray) -> FloatArray:
    """Return Π (1 + xᵢzᵢ) for factors of any size, with a separate sum of exponents of two.

    The relative error is at most about 2·10⁻¹⁶ per column if all products are non-negative; a
    product near −1 loses the digits that 1 + xᵢzᵢ loses.

    >>> product_of_one_plus(*by_columns(np.array([[1.0, 0.5]]), np.array([[1.0, -2.0]])))
    array([[0.]])
    """
    fraction = np.ones(shape_of(x, z))
    exponent = np.zeros(fraction.shape, dtype=np.int64)
    room = 0.0  # the number of binary digits by which the fractions may have grown or shrunk
    for a, b, term in zip(x, z, terms(x, z), strict=True):
        largest = 1.0 + np.abs(a).max(initial=0.0) * np.abs(b).max(initial=0.0)
        # a factor that is not 0 is at least 2^-53, the distance from 1 to its neighbour
        digits = max(53.0, math.log2(largest) if largest < math.inf else MAX_EXPONENT)
        if room + digits > MAX_EXPONENT:
            fraction, moved = np.frexp(fraction)
            exponent += moved
            room = 0.0
        term += 1.0
        fraction *= term
        room += digits
    fraction, moved = np.frexp(fraction)
    return np.asarray(np.ldexp(fraction, np.clip(exponent + moved, -5000, 5000)))


def product_less_one(
    x: FloatArray, z: FloatArray, weight: float, signed: bool = False
) -> FloatArray:
    """Return Π (1 + weight·tᵢ) − 1, without cancellation if the terms are non-negative.

    The relative error is at most about 4·10⁻¹⁶ per column; with terms of both signs it is relative
    to Π (1 + |w·tᵢ|).

    >>> product_less_one(np.full((2, 1), 1e-10), np.full((2, 1), 1e-10), 1.0)
    array([2.e-20])
    """
    value = np.zeros(shape_of(x, z))
    for term in terms(x, z, signed):
        if weight != 1.0:
            term *= weight
        more = value * term
        value += term
        value += more
    return value


def elementary_symmetric(x: FloatArray, z: FloatArray, d: int) -> FloatArray:
    """Return e_d(t): the sum over all sets of d columns of the product of their terms tᵢ = xᵢzᵢ.

    e_k ← e_k + t·e_{k−1}, column by column.  The error is about 4·10⁻¹⁶·e_d(|t|) per column.

    >>> elementary_symmetric(np.array([[1.0], [2.0], [3.0]]), np.ones((3, 1)), 2)
    array([11.])
    """
    sums = np.zeros((d + 1, *shape_of(x, z)))
    sums[0] = 1.0
    for seen, term in enumerate(terms(x, z)):
        for k in range(min(d, seen + 1), 0, -1):
            sums[k] += term * sums[k - 1]
    return np.asarray(sums[d])


def real_fill(pair: TablePair, value: OnColumns, name: str) -> BlockWriter:
    """Return a function that fills blocks with a kernel of real rows, tile by tile."""
    x, z = pair.values

    def fill(rows: slice, columns: slice, block: FloatArray) -> None:
        for some, part in tiles(rows, columns, TILE):
            tile = block[within(some, rows), within(part, columns)]
            tile[...] = _finite(value, by_columns(x[some], z[part]), name)

    return fill


def real_diagonal(pair: TablePair, value: OnColumns, name: str) -> FloatArray:
    """Return K(x, x) of the rows of a real table, with the parameters of :func:`real_fill`."""
    x = np.ascontiguousarray(pair.values[0].T)
    found = np.empty(x.shape[1])
    for some in cut(slice(0, len(found)), math.prod(TILE)):
        found[some] = _finite(value, (x[:, some], x[:, some]), name)
    return found


def _finite(value: OnColumns, columns: Columns, name: str) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        values = value(*columns)
    if not np.isfinite(values).all():
        raise MagnitudeError(
            f"a value of {name} on these real vectors, or an intermediate result, is beyond "
            "1.8e308, the end of float64. Scale the columns to smaller numbers, for example to "
            "0 … 1 by sklearn.preprocessing.MinMaxScaler."
        )
    return values


# -- families of features --------------------------------------------------------------------------

#: A non-negative number m·2^e, as the integers (m, e).
Dyadic = tuple[int, int]

#: The number of binary digits in working precision, about ten times the digits of float64.
WORKING_BITS = 512
#: The smallest positive number that float64 holds with full precision.
MIN_NORMAL_FLOAT = 2.0**-1022


def of_float(number: float) -> tuple[int, int]:
    """Return (a, b) with number = a / 2^b exactly and b ≥ 0.

    >>> of_float(0.75), of_float(3.0)
    ((3, 2), (3, 0))
    """
    numerator, denominator = float(number).as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def leading(value: int, exponent: int) -> Dyadic:
    """Return the number, truncated after its first ``WORKING_BITS`` binary digits."""
    drop = max(0, value.bit_length() - WORKING_BITS)
    return value >> drop, exponent + drop


def shifted(value: int, digits: int) -> int:
    """Return ⌊value·2^digits⌋."""
    return value << digits if digits >= 0 else value >> -digits


def rounded(value: Dyadic, total: Dyadic = (1, 0)) -> float:
    """Return the float64 nearest to value / total: inf beyond its range, nan if positive and tiny.

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
    return share if share >= MIN_NORMAL_FLOAT else math.nan


def binomials(k: int) -> Iterator[int]:
    """Yield C(0, k), C(1, k), … without end, or zeros for k = −1.

    >>> from itertools import islice
    >>> list(islice(binomials(2), 6))
    [0, 0, 1, 3, 6, 10]
    """
    value, t = int(k == 0), 0
    while True:
        yield value
        t += 1
        value = int(t == k) if t <= k else value * t // (t - k)


Form = Literal["conjunction", "disjunction"]

#: A bound far above the numbers of columns and of clauses.
MAX_DEGREE = 2**31


def degree(value: Any, letter: str) -> int:
    """Return a degree as an int, or raise ParameterError if it is not an integer of at least 1.

    >>> degree(3, "d")
    3
    """
    check_integer(letter, value)
    expected = f"an integer below {MAX_DEGREE:,}, at most the number of columns"
    check_number(letter, value, 1, MAX_DEGREE - 1, expected=expected)
    return int(value)


@dataclass(frozen=True)
class FeatureSpace:
    """A feature space whose features are conjunctions, or disjunctions, of columns.

    The features are the clauses of ``min_length`` … ``max_length`` literals of different columns,
    each ``weight(length)`` if it is true in the row and 0 if it is false.  So K(x, z) = Σ weight²
    over the clauses that are true in both rows.

    >>> from formulakern.kernels import boolean
    >>> space = boolean.parametric_dnf(0.25).features
    >>> space.form, space.signed, space.min_length, space.max_length, space.weight(2)
    ('conjunction', True, 1, None, 0.25)
    """

    form: Form
    signed: bool
    min_length: int
    max_length: int | None

    def squared_weight(self, length: int) -> float:  # noqa: ARG002
        """Return the squared weight of every clause of this length: 1 unless a family weights."""
        return 1.0

    def weight(self, length: int) -> float:
        """Return the weight of every clause of this length, or 0 if the space has none."""
        longest = length if self.max_length is None else self.max_length
        if not self.min_length <= length <= longest:
            return 0.0
        try:
            return math.sqrt(self.squared_weight(length))
        except OverflowError:
            raise MagnitudeError(
                f"the squared weight of a clause of {length:,} literals is beyond 1.8e308, the end "
                "of float64. Use shorter clauses."
            ) from None


class Family(FeatureSpace, ABC):
    """A feature space on n columns and its kernel f(t), where t is s or m; f never decreases."""

    @property
    def accepts_real(self) -> bool:
        """True if the family is defined on real vectors too."""
        return False

    @property
    def weighted(self) -> bool:
        """True if features have different weights; else the total weight is the dimension."""
        return False

    @property
    def features(self) -> FeatureSpace | None:
        """The feature space for a search of features, or None for clauses of clauses."""
        return self

    @property
    @abstractmethod
    def description(self) -> str:
        """The features, in words."""

    def argument(self, s: Any, p: Any, q: Any, n: Any) -> Any:
        """Return t of rows with these counts: m for literals, s for columns."""
        return n - p - q + 2 * s if self.signed else s

    def check(self, n: int) -> None:
        """Raise ParameterError if n columns do not have enough features."""

    @abstractmethod
    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:
        """Yield f(0), f(1), … on n columns, without end.

        Weighted families take the number of true literals in a column as ``kinds``.
        """

    def total(self, n: int) -> Dyadic:
        """Return the sum of all squared weights, which is the dimension if all weights are 1."""
        if self.weighted:
            return next(islice(self.values(n, 1 + self.signed), n, None))
        return self.dimension(n), 0

    def dimension(self, n: int) -> int:
        """Return the number of clauses over n columns."""
        kinds = 1 + self.signed
        if self.max_length is None:
            return int((1 + kinds) ** n) - self.min_length
        lengths = range(self.min_length, min(self.max_length, n) + 1)
        return sum(math.comb(n, k) * kinds**k for k in lengths)

    @abstractmethod
    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:
        """Return f(t) as a SymPy expression, for ``kinds`` true literals in each column."""

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        """Return the sum of all squared weights as a SymPy expression."""
        return self.closed_form(n, n, 1 + self.signed)

    def real(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return the kernel of pairs of real rows, if ``accepts_real``."""
        raise NotImplementedError(f"{type(self).__name__} is defined on 0 and 1 only")


def literal_words(signed: bool) -> str:
    """Return the parts of a clause, in words."""
    return "literals of different columns" if signed else "different columns"


#: The largest number of binary digits of an exact number that is computed.
MAX_BITS = 200_000


def _check_columns(length: int, n: int, letter: str = "d") -> None:
    """Raise ParameterError if a clause has more than n different columns."""
    if length > n:
        raise ParameterError(
            f"a clause needs {letter}={length:,} different columns, but the table has {n:,}. "
            f"Choose {letter} of at most {n:,}."
        )


def _check_bits(bits: int, d: int) -> None:
    """Raise ParameterError if exact values have too many binary digits."""
    if bits > MAX_BITS:
        raise ParameterError(
            f"d={d:,} leads to numbers of about {bits:,} binary digits; the limit is "
            f"{MAX_BITS:,}. Choose a smaller d."
        )


@dataclass(frozen=True)
class Conjunctions(Family):
    """The conjunctions of ``min_length`` … ``max_length`` different columns: f(t) = Σ C(t, k)."""

    max_length: int

    @property
    def accepts_real(self) -> bool:
        return not self.signed and self.min_length == self.max_length

    @property
    def description(self) -> str:
        exactly = self.min_length == self.max_length
        number = f"{self.max_length}" if exactly else f"{self.min_length} to {self.max_length}"
        return f"conjunctions of {number} {literal_words(self.signed)}"

    def check(self, n: int) -> None:
        _check_columns(self.min_length, n)

    def dimension(self, n: int) -> int:
        self.check(n)
        return super().dimension(n)

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        value = int(self.min_length == 0)
        lengths = (self.max_length, self.min_length - 1)
        for last, before in zip(*map(binomials, lengths), strict=True):
            yield value, 0
            value += value - last + before

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        import sympy

        if self.min_length == self.max_length:
            return kinds**self.max_length * sympy.binomial(t, self.max_length)
        k = sympy.Symbol("k", integer=True, nonnegative=True)
        return sympy.Sum(kinds**k * sympy.binomial(t, k), (k, self.min_length, self.max_length))

    def real(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return elementary_symmetric(x, z, self.max_length)


@dataclass(frozen=True)
class Subsets(Family):
    """Conjunctions of any number k of columns, of weight σ^(k/2): f(t) = (1 + σ)^t, or less 1."""

    sigma: float = 1.0

    #: The kernel is a function of products of entries.
    accepts_real: ClassVar[bool] = True

    @property
    def description(self) -> str:
        weight = f", those of k weighted by {self.sigma!r}^(k/2)" if self.weighted else ""
        least = "at least one" if self.min_length else "the empty one included"
        return f"conjunctions of any number of {literal_words(self.signed)}, {least}{weight}"

    @property
    def weighted(self) -> bool:
        return self.sigma != 1

    def squared_weight(self, length: int) -> float:
        return self.sigma**length

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        """Yield (1 + kinds·σ)^t, less 1 if ``min_length`` is 1, to ``WORKING_BITS`` digits."""
        rate, digits = of_float(self.sigma)
        rate *= kinds
        value, exponent = 0, 0  # value·2^exponent = (1 + kinds·σ)^t − 1
        while True:
            yield value + (1 - self.min_length) * shifted(1, -exponent), exponent
            value = (value << digits) + value * rate + shifted(rate, -exponent)
            exponent -= digits
            value, exponent = leading(value, exponent)

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        return (1 + kinds * _rational(self.sigma)) ** t - self.min_length

    def real(self, x: FloatArray, z: FloatArray) -> FloatArray:
        if not self.min_length:
            return product_of_one_plus(x, z)
        return product_less_one(x, z, self.sigma, self.signed)


@dataclass(frozen=True)
class Powers(Family):
    """The polynomial kernel f(t) = (t + c)^d: weighted conjunctions of at most d columns."""

    max_length: int
    constant: float = 1.0

    #: The kernel is a function of products of entries.
    accepts_real: ClassVar[bool] = True
    #: Weights depend on the length.
    weighted: ClassVar[bool] = True

    @property
    def description(self) -> str:
        least, d = "at least one and " * self.min_length, self.max_length
        return (
            f"conjunctions of {least}at most {d} different columns, those of k weighted "
            f"by √Σⱼ C({d}, j)·c^({d} − j)·k!·S(j, k), c = {self.constant!r}"
        )

    def squared_weight(self, length: int) -> float:
        """Return the length-th difference of f at 0, because f(t) = Σ w_k²·C(t, k)."""
        self.check(length)
        value = 0
        for t, (power, _) in enumerate(islice(self.values(length), length + 1)):
            value += (-1) ** (length - t) * math.comb(length, t) * power
        _, digits = of_float(self.constant)
        return value / (1 << digits * self.max_length)

    def check(self, n: int) -> None:
        numerator, digits = of_float(self.constant)
        bits = (max(numerator, 1) + (n << digits)).bit_length()
        _check_bits(self.max_length * bits, self.max_length)

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        """Yield (t·2^b + a)^d / 2^(b·d), for c = a / 2^b."""
        self.check(n)
        value, digits = of_float(self.constant)
        while True:
            yield value**self.max_length, -digits * self.max_length
            value += 1 << digits

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        return (t + _rational(self.constant)) ** self.max_length

    def real(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return np.asarray((inner(x, z) + self.constant) ** self.max_length)


@dataclass(frozen=True)
class ClausesOfClauses(Family):
    """Choices of d different clauses of c literals: disjunctions of conjunctions, or the reverse.

    f(t) is the kernel of :func:`dnf` or of :func:`cnf`, with t for m.
    """

    min_length: int
    outer: int = 1

    @property
    def description(self) -> str:
        part, whole = f"{self.form}s", "disjunctions" if self.disjunctive else "conjunctions"
        clauses = f"{part} of {self.min_length} {literal_words(True)}"
        return clauses if self.outer == 1 else f"{whole} of {self.outer} different {clauses} each"

    @property
    def features(self) -> FeatureSpace | None:
        """The clauses themselves, if only one is chosen."""
        return self if self.outer == 1 else None

    @property
    def disjunctive(self) -> bool:
        """True for disjunctions of conjunctions."""
        return self.form == "conjunction"

    def check(self, n: int) -> None:
        _check_columns(self.min_length, n, "d" if self.outer == 1 else "c")
        clauses = self._clauses(n)
        if self.outer > clauses:
            c = self.min_length
            raise ParameterError(
                f"a choice needs d={self.outer:,} different clauses, but {n:,} columns have "
                f"2^{c}·C({n:,}, {c}) = {clauses:,} clauses of {c} literals. Choose d of at "
                f"most {clauses:,}."
            )
        choices = min(self.outer, clauses - self.outer)
        _check_bits(choices * (clauses.bit_length() - choices.bit_length() + 3), self.outer)

    def _clauses(self, n: int) -> int:
        return math.comb(n, self.min_length) << self.min_length

    def _same(self, n: Any, binomial: Callable[[Any, int], Any]) -> Any:
        """Return the constant term of f: C(N, d) − 2·C(N − F, d) for disjunctions, else 0."""
        if not self.disjunctive:
            return 0
        each = binomial(n, self.min_length)
        whole = binomial(2**self.min_length * each, self.outer)
        return whole - 2 * binomial((2**self.min_length - 1) * each, self.outer)

    def values(self, n: int, kinds: int = 1) -> Iterator[Dyadic]:  # noqa: ARG002
        self.check(n)
        same = self._same(n, math.comb)
        neither = self._clauses(n) - 2 * math.comb(n, self.min_length)
        for agreeing in binomials(self.min_length):
            yield same + math.comb(neither + agreeing, self.outer), 0

    def dimension(self, n: int) -> int:
        self.check(n)
        return math.comb(self._clauses(n), self.outer)

    def closed_form(self, t: sympy.Expr, n: sympy.Expr, kinds: int = 1) -> sympy.Expr:  # noqa: ARG002
        from sympy import binomial

        c = self.min_length
        last = binomial((2**c - 2) * binomial(n, c) + binomial(t, c), self.outer)
        return self._same(n, binomial) + last

    def closed_total(self, n: sympy.Expr) -> sympy.Expr:
        from sympy import binomial

        return binomial(2**self.min_length * binomial(n, self.min_length), self.outer)


def _rational(number: float) -> Any:
    import sympy

    return sympy.nsimplify(number, rational=True)


# -- kernels of families ---------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class CountedKernel(Kernel):
    """The kernel of a family, built by the functions of :mod:`formulakern.kernels.boolean`."""

    family: Family
    name: str
    arguments: tuple[str, ...] = ()
    scale: Scale = "count"

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, ("count", "probability"))

    @property
    def accepts_real(self) -> bool:
        return self.family.accepts_real

    @property
    def features(self) -> FeatureSpace | None:
        """The feature space if its features are single conjunctions or disjunctions, else None.

        The weights are those for scale="count"; "probability" divides all of them by one number.
        """
        return self.family.features

    def table(self, pair: TablePair) -> FloatArray:
        """Return K for every t that these rows need, each rounded once from its exact value.

        A value is infinite if it is beyond float64, and nan if it is positive and below 2.2e-308.
        """
        last = _largest(self.family, pair)
        return _tabulated(self.family, pair.x.n_columns, last, self.scale)

    def prepare(self, pair: TablePair) -> BlockWriter:
        if pair.is_real:
            return real_fill(pair, self._real(pair.x.n_columns), repr(self))
        table = self.table(pair)
        fill = _looked_up(self.family, pair, table)
        fits = np.isfinite(table).all()
        return fill if fits else then(fill, lambda _, __, block: self._check(block, pair))

    def counts_of(self, pair: TablePair) -> PairedTables:
        return pair.tables((None,))

    def on_counts(self, pair: TablePair, counts: Counts) -> FloatArray:
        s, p, q = counts.s[0], counts.p[0], counts.q[0]
        return np.asarray(self.table(pair)[self.family.argument(s, p, q, pair.x.n_columns)])

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        if pair.is_real:
            return real_diagonal(pair, self._real(pair.x.n_columns), repr(self))
        return self._check(self.table(pair)[_diagonal_arguments(self.family, pair)], pair)

    def exactly_symmetric(self, pair: TablePair) -> bool:
        return not pair.is_real

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        return self.family.dimension(n_columns(n))

    def scaled_into_range(self, pair: TablePair) -> CountedKernel:
        return self if self._fits(pair) else replace(self, scale="probability")

    def within_range(self, pair: TablePair) -> Kernel:
        return self if self._fits(pair) else BalancedKernel(self)

    def squares(self, pair: TablePair) -> tuple[FloatArray, IntArray]:
        """Return K(x, x) at scale="count", as (number, exponent of two)."""
        fraction, exponent = fractions(self.family, pair.x.n_columns, _largest(self.family, pair))
        own = _diagonal_arguments(self.family, pair)
        return fraction[own], exponent[own]

    def balanced(self, pair: TablePair, x: IntArray, z: IntArray) -> BlockWriter:
        """Return a function that fills blocks of K(x, z)·2^(−x − z) at scale="count"."""
        fraction, exponent = fractions(self.family, pair.x.n_columns, _largest(self.family, pair))
        fill = _looked_up(self.family, pair, np.arange(len(fraction), dtype=np.float64))

        def balance(rows: slice, columns: slice, block: FloatArray) -> None:
            t = block.astype(np.intp)
            block[...] = np.ldexp(fraction[t], exponent[t] - x[rows, None] - z[None, columns])

        return then(fill, balance)

    def polynomial(self) -> sympy.Expr:
        from formulakern.kernels.polynomial import symbols  # loads SymPy

        s, p, q, n = (symbols(None)[letter] for letter in "spqn")
        form = self.family.closed_form(self.family.argument(s, p, q, n), n)
        return form if self.scale == "count" else form / self.family.closed_total(n)

    def stages(self, closed_form: str) -> list[Section]:
        from formulakern.kernels.polynomial import symbols

        argument = "agreeing columns m = n - p - q + 2*s" if self.family.signed else "shared ones s"
        size = "sum of squared weights" if self.family.weighted else "dimension"
        real = [Section("real vectors", "the real form, column by column, in blocks")]
        return [
            Section("feature space", self.family.description),
            Section(size, str(self.family.closed_total(symbols(None)["n"]))),
            Section("closed form", closed_form),
            Section("backend", f"one table of exact values, looked up at the {argument}"),
            *(real if self.accepts_real else []),
        ]

    def _real(self, n: int) -> OnColumns:
        self.family.check(n)
        divide = 1.0 if self.scale == "count" else rounded(self.family.total(n))
        if not math.isfinite(divide):
            raise MagnitudeError(
                f"the weight of all features of {self!r} on {n:,} columns is beyond 1.8e308, the "
                "end of float64. Use scale='count' for real vectors."
            )
        real = self.family.real
        return real if divide == 1.0 else lambda x, z: real(x, z) / divide

    def _fits(self, pair: TablePair) -> bool:
        return pair.is_real or bool(np.isfinite(self.table(pair)).all())

    def _check(self, values: FloatArray, pair: TablePair) -> FloatArray:
        if np.isfinite(values).all():
            return values
        where = f"a value of {self!r} on {pair.x.n_columns:,} columns"
        if np.isinf(values).any():
            problem, other = "beyond 1.8e308, the end of float64.", "probability"
        else:
            problem, other = "positive and below 2.2e-308, where float64 loses digits.", "count"
            if pair.is_real:
                problem += (
                    " The reason may be a row with numbers far smaller than its largest one: scale "
                    "the columns to [0, 1]."
                )
        scale = "" if self.scale == other else f"scale={other!r} or "
        raise MagnitudeError(f"{where} is {problem} Use {scale}kernel.normalized().")

    def __repr__(self) -> str:
        scale = () if self.scale == "count" else (f"scale={self.scale!r}",)
        return f"fk.boolean.{self.name}({', '.join((*self.arguments, *scale))})"


@dataclass(eq=False)
class BalancedKernel(DerivedKernel):
    """K(x, z) / (g(x)·g(z)), where g(x) is a power of two near √K(x, x).

    It has the cosines of K.  Numbers are stored as a fraction and an exponent, so cosines exist in
    float64 even if the values of K do not.
    """

    kernel: CountedKernel

    def prepare(self, pair: TablePair) -> BlockWriter:
        x, z = (self._squares(rows)[2] for rows in (pair.rows_of_x(), pair.rows_of_z()))
        return self.kernel.balanced(pair, x, z)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        square, exponent, half = self._squares(pair)
        return np.asarray(np.ldexp(square, exponent - 2 * half))

    def _squares(self, pair: TablePair) -> tuple[FloatArray, IntArray, IntArray]:
        """Return K(x, x) as (number, exponent of two), and the exponent of g(x)."""
        square, exponent = self.kernel.squares(pair)
        return square, exponent, (np.frexp(square)[1] + exponent) // 2

    def polynomial(self) -> sympy.Expr:
        return self.kernel.polynomial()


@dataclass(eq=False, repr=False)
class TanimotoKernel(Kernel):
    """The kernel s / (p + q − s), 1 for two rows of zeros; built by ``fk.boolean.tanimoto()``."""

    #: The features are not conjunctions or disjunctions.
    features: ClassVar[None] = None
    #: The kernel is positive semidefinite on all real vectors.
    accepts_real: ClassVar[bool] = True

    def prepare(self, pair: TablePair) -> BlockWriter:
        if pair.is_real:
            return real_fill(pair, _tanimoto, repr(self))
        tables = pair.tables((None,))
        p, q = (counts[0].astype(np.float64) for counts in (tables.x_counts, tables.z_counts))
        shared = look_up_sums(tables, np.arange(pair.x.n_columns + 1.0))

        def divide(rows: slice, columns: slice, block: FloatArray) -> None:
            block[...] = _ratio(block, p[rows, None] + q[None, columns])

        return then(shared, divide)

    def diagonal_of(self, pair: TablePair) -> FloatArray:
        if pair.is_real:
            return real_diagonal(pair, _tanimoto, repr(self))
        return np.ones(pair.x.n_rows)

    def exactly_symmetric(self, pair: TablePair) -> bool:
        return not pair.is_real

    def dimension(self, n: int | Mapping[str | None, int]) -> int:
        """Return 2^n, because the Gram matrix of all rows of n columns of 0 and 1 has full rank."""
        return int(2 ** n_columns(n))

    def polynomial(self) -> sympy.Expr:
        import sympy

        from formulakern.kernels.polynomial import symbols

        s, p, q = (symbols(None)[letter] for letter in "spq")
        return sympy.Piecewise((1, sympy.Eq(p + q, 0)), (s / (p + q - s), True))

    def stages(self, closed_form: str) -> list[Section]:
        return [
            Section("feature space", "a mixture of weighted monomials, not a list of formulas"),
            Section("closed form", closed_form),
            Section("backend", "shared ones, counted and divided in blocks"),
        ]

    def __repr__(self) -> str:
        return "fk.boolean.tanimoto()"


def _diagonal_arguments(family: Family, pair: TablePair) -> IntArray:
    """Return t of every row of x with itself."""
    ones = pair.tables((None,)).x_counts[0]
    return np.asarray(family.argument(ones, ones, ones, pair.x.n_columns))


def _largest(family: Family, pair: TablePair) -> int:
    """Return the largest t of a pair of rows of these tables, or of a row with itself."""
    tables = pair.tables((None,))
    ones = np.concatenate([tables.x_counts[0], tables.z_counts[0]])
    return int(family.argument(ones, ones, ones, tables.sizes[0]).max(initial=0))


def _looked_up(family: Family, pair: TablePair, table: FloatArray) -> BlockWriter:
    """Return a function that fills blocks with ``table[t]`` for every pair of rows."""
    tables = pair.tables((None,))
    if not family.signed:
        return look_up_sums(tables, table)
    zeros = tables.sizes[0] - tables.x_counts[0]
    return look_up_sums(tables, table, zeros, -tables.z_counts[0], strides=2)


@lru_cache(maxsize=32)
def _tabulated(family: Family, n: int, last: int, scale: Scale) -> FloatArray:
    family.check(n)
    table = np.full(last + 1, np.inf)
    share = scale == "probability"
    total = leading(*family.total(n)) if share else (1, 0)
    for t, value in enumerate(islice(family.values(n), last + 1)):
        table[t] = rounded(leading(*value) if share else value, total)
        if table[t] == math.inf:
            break  # the values that follow are infinite too, because f never decreases
    table.flags.writeable = False
    return table


@lru_cache(maxsize=32)
def fractions(family: Family, n: int, last: int) -> tuple[FloatArray, IntArray]:
    """Return f(0) … f(last) on n columns as fraction·2^exponent, with fractions 0 or in [1/2, 1).

    >>> fractions(Conjunctions("conjunction", False, 2, 2), 4, 4)[1].tolist()  # 0, 0, 1, 3, 6
    [0, 0, 1, 2, 3]
    """
    family.check(n)
    fraction = np.zeros(last + 1)
    exponent = np.zeros(last + 1, dtype=np.int64)
    for t, value in enumerate(islice(family.values(n), last + 1)):
        digits, power = leading(*value)
        length = digits.bit_length()
        fraction[t], carry = math.frexp(digits / (1 << length))
        exponent[t] = power + length + carry if digits else 0
    return fraction, exponent


def _tanimoto(x: FloatArray, z: FloatArray) -> FloatArray:
    return _ratio(inner(x, z), (x**2).sum(axis=0) + (z**2).sum(axis=0))


def _ratio(shared: FloatArray, both: FloatArray) -> FloatArray:
    """Return shared / (both − shared), where shared ≤ both / 2, or 1 if both rows are zero."""
    both = np.broadcast_to(both, shared.shape)
    ratio = np.divide(shared, both - shared, out=np.ones(shared.shape), where=both > 0)
    return np.asarray(ratio)
