"""The source text of functions with all that they use, without this package."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

__all__ = ["sources_of"]

ROOT = __name__.partition(".")[0]
LINE = "\n"


def sources_of(functions: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """What has to stand in a file so that functions work in it.

    Parameters
    ----------
    functions : iterable of (module, name)
        What they use in turn, of this package or of Python, is taken too.

    Returns
    -------
    imports : list of str
        Lines, of Python's own modules only.
    definitions : list of str
        Constants first; of docstrings the first line.

    Examples
    --------
    >>> imports, definitions = sources_of([("formulakern.encoding.columns", "read_number")])
    >>> imports
    ['import math', 'import re']
    >>> print(definitions[0], definitions[-1].partition("\\n")[0], sep="\\n")
    MAX_DIGITS = 18
    def read_number(text: str) -> int | float | None:
    """
    imports: set[tuple[str, str]] = set()
    found: dict[str, tuple[str, ast.stmt]] = {}
    order: list[str] = []
    pending = [(module, name, False) for module, name in reversed([*functions])]
    while pending:
        module, name, done = pending.pop()
        here = _definitions(module)
        if done:
            order.append(name)
        elif name in here.imported:
            source, member = here.imported[name]
            if source.partition(".")[0] == ROOT:
                pending.append((source, name, False))
            else:
                imports.add((source, member))
        elif name in here.defined and name not in found:
            node = here.defined[name]
            found[name] = module, node
            pending.append((module, name, True))
            pending += [(module, other, False) for other in reversed(_used(node))]
        elif name in found and found[name][0] != module:
            raise ValueError(f"{name} stands in {module} and in {found[name][0]}")
    functions_too = sorted(order, key=lambda name: isinstance(found[name][1], ast.FunctionDef))
    return _lines(imports), [_definitions(found[n][0]).text(found[n][1]) for n in functions_too]


def _lines(imports: Iterable[tuple[str, str]]) -> list[str]:
    """Whole modules first, and then one line for each module of which names are taken."""
    members: dict[str, list[str]] = {}
    for source, member in sorted(imports):
        members.setdefault(source, []).append(member)
    whole = [f"import {source}" for source, names in members.items() if "" in names]
    some = {source: [name for name in names if name] for source, names in members.items()}
    return whole + [f"from {s} import {', '.join(names)}" for s, names in some.items() if names]


def _used(node: ast.stmt) -> list[str]:
    """The names that a definition uses and does not bind itself."""
    inside = [*ast.walk(node)]
    names = [item for item in inside if isinstance(item, ast.Name)]
    own = {item.arg for item in inside if isinstance(item, ast.arg)}
    own |= {item.id for item in names if isinstance(item.ctx, ast.Store)}
    return list(dict.fromkeys(item.id for item in names if item.id not in own))


@dataclass(frozen=True)
class _Definitions:
    """The functions and constants of a module, and what it imports: a module, and a name of it."""

    lines: list[str]
    imported: dict[str, tuple[str, str]]
    defined: dict[str, ast.stmt]

    def text(self, node: ast.stmt) -> str:
        """The source of a definition, with the first line of its docstring."""
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno or 0
            short = [f'    """{text.partition(LINE)[0]}"""']
            lines[first - node.lineno : last - node.lineno + 1] = short
        return LINE.join(lines)


@cache
def _definitions(module: str) -> _Definitions:
    source = inspect.getsource(import_module(module))
    imported: dict[str, tuple[str, str]] = {}
    defined: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            imported |= {alias.name: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.FunctionDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            defined[node.targets[0].id] = node
    return _Definitions(source.splitlines(), imported, defined)
