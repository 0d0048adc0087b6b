"""Boolean kernels over literals: columns and negated columns."""

from __future__ import annotations

from formulakern.backends.base import Scale
from formulakern.checks import check_flag, check_number
from formulakern.kernels.boolean.counted import CountedKernel
from formulakern.kernels.boolean.families import ClausesOfClauses, Conjunctions, Subsets
from formulakern.kernels.boolean.family import degree

__all__ = ["cnf", "conjunctive", "d_dnf", "disjunctive", "dnf", "parametric_dnf", "sadohara_dnf"]


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
    return CountedKernel(ClausesOfClauses(1, d, False), "disjunctive", (str(d),), scale)


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
    return CountedKernel(ClausesOfClauses(d, c, True), "dnf", (str(d), str(c)), scale)


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
    return CountedKernel(ClausesOfClauses(d, c, False), "cnf", (str(d), str(c)), scale)


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
