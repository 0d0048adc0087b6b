"""Boolean kernels over columns without negation.

The first four are formulas of the language; the others are conjunctions on rows of 0 and 1, and
functions of the products of entries, so that they have a meaning on real rows too.
"""

from __future__ import annotations

from formulakern.backends.base import Scale
from formulakern.checks import check_number
from formulakern.kernels.boolean.counted import CountedKernel
from formulakern.kernels.boolean.families import Conjunctions, Powers, Subsets
from formulakern.kernels.boolean.family import degree
from formulakern.kernels.formula import FormulaKernel, kernel

__all__ = [
    "all_subsets",
    "anova",
    "monotone_cnf",
    "monotone_conjunctive",
    "monotone_disjunctive",
    "monotone_dnf",
    "polynomial",
    "sadohara_monotone_dnf",
]


def monotone_conjunctive(d: int, *, scale: Scale = "count") -> FormulaKernel:
    """The monotone conjunctive kernel (mC-kernel) of degree d: K(x, z) = C(s, d).

    Feature space: the conjunctions of d different columns, C(n, d) of them; a formula of the
    language, ``all[d](x)``.  On real vectors, see ``anova``.

    Parameters
    ----------
    d : int
        Number of columns in a conjunction, at least 1 and at most n.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    FormulaKernel

    Raises
    ------
    ParameterError
        If d is no integer of at least 1.

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
    """The monotone disjunctive kernel (mD-kernel) of degree d.

    K(x, z) = C(n, d) − C(n−p, d) − C(n−q, d) + C(n−p−q+s, d): the disjunctions of d different
    columns, C(n, d) of them, less those that are false in x or in z.  A formula of the language,
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
    ParameterError
        If d is no integer of at least 1.
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
    """The monotone DNF kernel (mDNF-kernel): disjunctions of d conjunctions of c columns.

    Feature space: choices of d different ones among the C(n, c) conjunctions of c different
    columns, joined by "or"; C(C(n, c), d) in all.  A formula of the language,
    ``any[d](all[c](x))``; with N = C(n, c) the kernel is
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
    ParameterError
        If d or c is no integer of at least 1.
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
    """The monotone CNF kernel (mCNF-kernel): conjunctions of d disjunctions of c columns.

    Feature space: choices of d different ones among the C(n, c) disjunctions of c different
    columns, joined by "and"; C(C(n, c), d) in all.  A formula of the language,
    ``all[d](any[c](x))``: K(x, z) = C(K_c(x, z), d) with K_c the kernel of
    :func:`monotone_disjunctive`.

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
    ParameterError
        If d or c is no integer of at least 1.
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
    return CountedKernel(Subsets("conjunction", False, 0, None), "all_subsets", (), scale)


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
    relative to ``e_d(|x₁z₁|, …, |xₙzₙ|)``: nothing cancels but what has different signs.

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
    to ``(Σ |xᵢzᵢ| + c)^d``.

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
    value = abs(float(constant))  # of the two zeros, the positive one
    arguments = (str(d), *((f"constant={value!r}",) if value != 1 else ()))
    features = Powers("conjunction", False, 0 if value else 1, d, value)
    return CountedKernel(features, "polynomial", arguments, scale)
