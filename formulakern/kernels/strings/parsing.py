"""Kernels of strings from text, such as a parameter of an estimator or of the command line."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from formulakern.errors import ParameterError
from formulakern.kernels.strings.base import StringKernel
from formulakern.kernels.strings.counting import mismatch, spectrum
from formulakern.kernels.strings.weighted import weighted_degree, weighted_degree_shifts

__all__ = ["string_kernel"]

#: Longer texts are not read.
MAX_TEXT = 1000

_BUILDERS: dict[str, Callable[..., StringKernel]] = {
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
    name, arguments, named = _call(text)
    builder = _BUILDERS.get(name.removeprefix("fk.strings."))
    if builder is None:
        raise _no_kernel(text)
    try:
        inspect.signature(builder).bind(*arguments, **named)
    except TypeError as error:
        raise ParameterError(f"{text!r}: {error}. Write {_usage(builder)}.") from None
    return builder(*arguments, **named)


def _call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, the arguments and the named arguments."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise _no_kernel(text)
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
            raise _no_kernel(text)
        arguments = [ast.literal_eval(value) for value in call.args]
        named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        if isinstance(error, ParameterError):
            raise
        raise _no_kernel(text) from None
    return ast.unparse(call.func), arguments, named


def _usage(builder: Callable[..., Any]) -> str:
    parameters = inspect.signature(builder).parameters.values()
    listed = (
        p.name if p.default is inspect.Parameter.empty else f"{p.name}={p.default!r}"
        for p in parameters
    )
    return f"{builder.__name__}({', '.join(listed)})"


def _no_kernel(text: object) -> ParameterError:
    shown = repr(text)
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
    return ParameterError(
        f"{shown} is no kernel of strings; expected one of "
        f"{', '.join(map(_usage, _BUILDERS.values()))}, with integers in place of the letters."
    )
