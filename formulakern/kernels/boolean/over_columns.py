"""Boolean kernels over columns without negation: formulas of the language."""

from __future__ import annotations

from formulakern.backends.base import Scale
from formulakern.kernels.boolean.degrees import degree
from formulakern.kernels.formula import FormulaKernel, kernel

__all__ = ["monotone_cnf", "monotone_conjunctive", "monotone_disjunctive", "monotone_dnf"]


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
