"""Parameter texts that several classes and functions share."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

TITLE = "Parameters\n----------\n"
SECTION = re.compile(r"^\w[\w ]*\n---+$", re.MULTILINE)


def parameters_from(*sources: Any) -> Callable[[T], T]:
    """Return a decorator that adds the missing parameters to a docstring.

    A parameter of the signature that the docstring omits gets the text of the first source that
    documents it; the base classes of a class are its last sources.  The texts are then in the order
    of the signature.  Without docstrings (``python -OO``) the decorator changes nothing.

    Examples
    --------
    >>> def add(x, y):
    ...     '''Add.
    ...
    ...     Parameters
    ...     ----------
    ...     x, y : float
    ...         A number.
    ...     '''
    >>> @parameters_from(add)
    ... def double(x):
    ...     '''Double.'''
    >>> print(double.__doc__)
    Double.
    <BLANKLINE>
    Parameters
    ----------
    x : float
        A number.
    """

    def complete(target: T) -> T:
        if sys.flags.optimize < 2:
            target.__doc__ = _completed(target, sources)
        return target

    return complete


def _completed(target: Any, sources: tuple[Any, ...]) -> str:
    """Return the docstring of a class or function with the texts of all its parameters."""
    doc = inspect.cleandoc(target.__doc__ or "")
    order = list(inspect.signature(target).parameters)
    before, own, after = _sections(doc)
    entries = _entries(own)
    missing = set(order).difference(*(names for names, _ in entries))
    for source in sources + getattr(target, "__mro__", ())[1:]:
        if not missing:
            break
        for names, text in _entries(_sections(inspect.cleandoc(source.__doc__ or ""))[1]):
            new = [name for name in names if name in missing]
            if new:
                entries.append((new, text))
                missing.difference_update(new)
    entries.sort(key=lambda entry: order.index(entry[0][0]))
    texts = "\n".join(", ".join(names) + text for names, text in entries)
    return f"{before.rstrip()}\n\n{TITLE}{texts}\n\n{after}".rstrip()


def _sections(doc: str) -> tuple[str, str, str]:
    """Return a docstring in three parts: before its parameters, their texts, and after them."""
    start = doc.find(TITLE)
    later = SECTION.search(doc, start + len(TITLE) if start >= 0 else 0)
    end = later.start() if later else len(doc)
    if start < 0:
        return doc[:end], "", doc[end:]
    return doc[:start], doc[start + len(TITLE) : end], doc[end:]


def _entries(texts: str) -> list[tuple[list[str], str]]:
    """Return the names of each entry of the parameters, and the text after them."""
    entries = []
    for entry in re.split(r"^(?=\S)", texts, flags=re.MULTILINE)[1:]:
        head, end, body = entry.rstrip().partition("\n")
        names, colon, kind = head.partition(" : ")
        entries.append(([name.strip() for name in names.split(",")], colon + kind + end + body))
    return entries
