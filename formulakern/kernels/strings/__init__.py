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

import ast
import inspect
from collections.abc import Callable
from typing import Any

from formulakern.errors import ParameterError
from formulakern.kernels.strings.k_mers import (
    mismatch,
    spectrum,
    weighted_degree,
    weighted_degree_shifts,
)
from formulakern.kernels.strings.strings import StringKernel
from formulakern.text import clip

__all__ = ["mismatch", "spectrum", "weighted_degree", "weighted_degree_shifts"]

BUILDERS: dict[str, Callable[..., StringKernel]] = {
    function.__name__: function
    for function in (weighted_degree, weighted_degree_shifts, spectrum, mismatch)
}
#: Longer texts are not read.
MAX_TEXT = 1000


def string_kernel(text: str) -> StringKernel:
    """Return the kernel that a text such as ``weighted_degree(20)`` calls; nothing of it is run.

    >>> string_kernel("mismatch(5, m=1, alphabet='acgt')")
    fk.strings.mismatch(5, 1, alphabet='acgt')
    """
    try:
        name, arguments, named = _read(text)
        builder = BUILDERS[name.removeprefix("fk.").removeprefix("strings.")]
    except (KeyError, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        listed = ", ".join(map(_usage, BUILDERS.values()))
        raise ParameterError(
            f"{clip(repr(text), 80)} is no kernel of strings; expected one of {listed}, with "
            "integers in place of the letters."
        ) from None
    try:
        inspect.signature(builder).bind(*arguments, **named)
    except TypeError as error:
        raise ParameterError(f"{text!r}: {error}. Write {_usage(builder)}.") from None
    return builder(*arguments, **named)


def _usage(builder: Callable[..., Any]) -> str:
    """Return how a function is called.

    >>> _usage(mismatch)
    "mismatch(k, m, alphabet='ACGT')"
    """
    listed = (
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in inspect.signature(builder).parameters.values()
    )
    return f"{builder.__name__}({', '.join(listed)})"


def _read(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name, the arguments and the named arguments of a call."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ValueError
    call = ast.parse(text.strip(), mode="eval").body
    if isinstance(call, ast.Name):
        return call.id, [], {}
    if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
        raise ValueError
    arguments = [ast.literal_eval(value) for value in call.args]
    named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    return ast.unparse(call.func), arguments, named
