"""The named families of Boolean kernels, as one-liners: ``fk.boolean.conjunctive(3)``.

Write s = ⟨x,z⟩ for the columns that are 1 in both rows, p and q for the ones of each row, n for the
number of columns, and m = n − p − q + 2s for the columns in which the rows agree; C(a, b) are
binomial coefficients.  *Monotone* families build features from columns, the others from literals,
which are columns and negated columns.

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
A sum of kernels reads real vectors where all its terms do.  :func:`formulakern.graded` makes any of
them read degrees of truth from 0 to 1.
"""

from __future__ import annotations

from formulakern.backends.evaluation import Scale
from formulakern.checks import check_flag, check_number
from formulakern.kernels.boolean.counted import (
    ClausesOfClauses,
    Conjunctions,
    CountedKernel,
    Powers,
    Subsets,
    degree,
    tanimoto,
)
from formulakern.kernels.formula import FormulaKernel, kernel

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


def conjunctive(d: int, *, scale: Scale = "count") -> CountedKernel:
    """The conjunctive kernel (C-kernel) of degree d: K(x, z) = C(m, d).

    Feature space: the conjunctions of d literals of different columns, 2^d·C(n, d) of them; of
    those on some d columns exactly one is true in a row, and it is the same in both rows where
    they agree on all d.  As K(x, x) = C(n, d) for every row, normalising only scales it.

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
        If d is no integer of at least 1; at use, if the table has fewer than d columns.

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
    """The disjunctive kernel (D-kernel) of degree d: K(x, z) = (2^d − 2)·C(n, d) + C(m, d).

    Feature space: the disjunctions of d literals of different columns, 2^d·C(n, d) of them; of
    those on some d columns a row makes one false, and both rows make the same one false where they
    agree on all d.

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
        If d is no integer of at least 1; at use, if the table has fewer than d columns.

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
    """The DNF kernel: disjunctions of d different conjunctions of c literals.

    K(x, z) = C(N, d) − 2·C(N − F, d) + C(N − 2F + C(m, c), d), with N = 2^c·C(n, c) conjunctions of
    c literals of different columns, of which F = C(n, c) are true in each row and C(m, c) in both.
    The dimension is C(N, d): every choice of d conjunctions is a feature, also where two choices
    make the same Boolean function.

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
        If d or c is no integer of at least 1; at use, if the table has fewer than c columns, there
        are fewer than d conjunctions, or a binomial coefficient has over 200,000 binary digits.

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
    """The CNF kernel: conjunctions of d different disjunctions of c literals.

    K(x, z) = C((2^c − 2)·C(n, c) + C(m, c), d): choices of d among the disjunctions of c literals
    of different columns that are true in both rows (see :func:`disjunctive`).  The dimension is
    C(2^c·C(n, c), d): every choice is a feature.

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
        As for :func:`dnf`.

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
    """Sadohara's d-DNF kernel: K(x, z) = Σ C(m, k) over k = 1 … d.

    Feature space: the conjunctions of at most d literals of different columns (at least one);
    Σ 2^k·C(n, k) of them.  With d ≥ n it is :func:`sadohara_dnf`.

    Parameters
    ----------
    d : int
        Largest number of literals in a conjunction, at least 1.
    scale : {"count", "probability"}
        ``"probability"`` divides by the dimension.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        If d is no integer of at least 1.

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
    """Sadohara's DNF kernel: K(x, z) = 2^m − 1, on real vectors Π (2xᵢzᵢ − xᵢ − zᵢ + 2) − 1.

    Feature space: the conjunctions of any number of literals of different columns, at least one;
    3^n − 1 of them.  Every Boolean function is a sum of such conjunctions.

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
    Π (1 + Kᵢ) − 1 is a sum of products of the positive semidefinite Kᵢ.  Where 0 ≤ xᵢ, zᵢ ≤ 1 the
    relative error on real vectors is a few units in the last place per column; entries outside can
    cancel.

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
    """Zhang's parametric DNF kernel: K(x, z) = (1 + σ)^m − 1, or (1 + σ)^s − 1 where monotone.

    Feature space: the conjunctions of any number of literals of different columns (where monotone:
    of columns), at least one; a conjunction of k literals has the weight σ^(k/2), so that σ < 1
    prefers short ones.  σ = 1 is :func:`sadohara_dnf`.

    On real vectors Π (1 + σ·aᵢ) − 1 with the agreement aᵢ = 1 − xᵢ − zᵢ + 2xᵢzᵢ; where monotone
    Π (1 + σ·xᵢzᵢ) − 1.

    Parameters
    ----------
    sigma : float
        Positive and finite.
    monotone : bool
        Whether conjunctions are of columns alone.
    scale : {"count", "probability"}
        ``"probability"`` divides by the sum of the squared weights, (1 + 2σ)^n − 1, or
        (1 + σ)^n − 1 where monotone.

    Returns
    -------
    CountedKernel

    Raises
    ------
    ParameterError
        If σ is not a positive finite number.

    Notes
    -----
    Positive semidefinite on all real vectors: aᵢ = xᵢzᵢ + (1 − xᵢ)(1 − zᵢ).  For the error there,
    see :func:`sadohara_dnf`.

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
        "a positive finite number, the squared weight of every literal: below 1 for short ones"
    )
    check_number("sigma", sigma, 0, above=True, expected=expected)
    check_flag("monotone", monotone)
    value = float(sigma)
    arguments = (repr(value), *(("monotone=True",) if monotone else ()))
    features = Subsets("conjunction", not monotone, 1, None, value)
    return CountedKernel(features, "parametric_dnf", arguments, scale)
