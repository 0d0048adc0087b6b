"""Kernels of strings from text, such as a parameter of an estimator or of the command line."""

from __future__ import annotations

from collections.abc import Callable

from formulakern.kernels.calls import called
from formulakern.kernels.strings.base import StringKernel
from formulakern.kernels.strings.counting import mismatch, spectrum
from formulakern.kernels.strings.weighted import weighted_degree, weighted_degree_shifts

__all__ = ["BUILDERS", "string_kernel"]

#: name → the function of ``fk.strings``
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
