"""Kernels from text: a function by name, with numbers and texts; nothing of the text is run."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from formulakern.errors import ParameterError
from formulakern.text import clip

__all__ = ["called", "usage"]

#: Longer texts are not read.
MAX_TEXT = 1000

Made = TypeVar("Made")


def called(text: str, builders: Mapping[str, Callable[..., Made]], what: str) -> Made:
    """What a text such as ``weighted_degree(20)`` calls.

    Parameters
    ----------
    text : str
        ``name(value, …, parameter=value, …)``, or the name alone; what a kernel's ``repr`` writes
        is read too.
    builders : mapping of str to callable
        The functions that may be called, by name.
    what : str
        What they make, for messages.

    Raises
    ------
    ParameterError
        If the text is no such call, or a parameter is wrong.

    Examples
    --------
    >>> called("complex(1, imag=2)", {"complex": complex}, "number")
    (1+2j)
    """
    try:
        name, arguments, named = _read(text)
        builder = builders[name.removeprefix("fk.").removeprefix("strings.")]
    except (KeyError, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        listed = ", ".join(map(usage, builders.values()))
        raise ParameterError(
            f"{clip(repr(text), 80)} is no {what}; expected one of {listed}, with integers in "
            "place of the letters."
        ) from None
    try:
        inspect.signature(builder).bind(*arguments, **named)
    except TypeError as error:
        raise ParameterError(f"{text!r}: {error}. Write {usage(builder)}.") from None
    return builder(*arguments, **named)


def usage(builder: Callable[..., Any]) -> str:
    """How a function is called.

    >>> usage(called)
    'called(text, builders, what)'
    """
    parameters = inspect.signature(builder).parameters.values()
    listed = (
        p.name if p.default is inspect.Parameter.empty else f"{p.name}={p.default!r}"
        for p in parameters
    )
    return f"{builder.__name__}({', '.join(listed)})"


def _read(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, the arguments and the named arguments."""
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
