"""Kernels of strings, as one-liners: ``fk.strings.weighted_degree(20)``.

A k-mer is a run of k letters; x and z are strings over any alphabet.

================================  ==========================================================
kernel                            K(x, z)
================================  ==========================================================
``weighted_degree(d)``            k-mers at the same position of both, k = 1 … d, weighted
``weighted_degree_shifts(d, S)``  the same, and those up to S positions apart
``spectrum(k)``                   pairs of equal k-mers, wherever they stand
``mismatch(k, m)``                pairs of k-mers, and how many others are near to both
================================  ==========================================================

The first two take strings of one length.  All are ordinary kernels: ``+``, ``*``,
``.normalized()``, ``inspect()``, ``SVC(kernel=...)``.  They join with each other, but not with
kernels of tables.
"""

from __future__ import annotations

from collections.abc import Callable

from formulakern.kernels.calls import called
from formulakern.kernels.strings.k_mers import mismatch, spectrum
from formulakern.kernels.strings.strings import StringKernel
from formulakern.kernels.strings.weighted_degrees import weighted_degree, weighted_degree_shifts

__all__ = ["mismatch", "spectrum", "weighted_degree", "weighted_degree_shifts"]

#: name → function, for kernels that are given as text
BUILDERS: dict[str, Callable[..., StringKernel]] = {
    function.__name__: function
    for function in (weighted_degree, weighted_degree_shifts, spectrum, mismatch)
}


def string_kernel(text: str) -> StringKernel:
    """The kernel that a text calls by name, with numbers and texts as arguments.

    Parameters
    ----------
    text : str
        ``name(value, …, parameter=value, …)``, where the name is a function of ``fk.strings`` and
        a value an integer or a text in quotes.  What the kernel's ``repr`` writes is read too.
        Nothing in the text is run.

    Returns
    -------
    StringKernel

    Raises
    ------
    ParameterError
        If the text is no such call, or a parameter is wrong.

    Examples
    --------
    >>> string_kernel("weighted_degree(20)")
    fk.strings.weighted_degree(20)
    >>> string_kernel("mismatch(5, m=1, alphabet='acgt')")
    fk.strings.mismatch(5, 1, alphabet='acgt')
    >>> string_kernel("weighted(20)")
    Traceback (most recent call last):
        ...
    formulakern.errors.ParameterError: 'weighted(20)' is no kernel of strings; expected one of \
weighted_degree(d), weighted_degree_shifts(d, S), spectrum(k), mismatch(k, m, alphabet='ACGT'), \
with integers in place of the letters.
    """
    return called(text, BUILDERS, "kernel of strings")
