"""A file of Python with functions of one row, and with all that they use."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from formulakern.rules.python.conditions import PythonConditions
from formulakern.syntax.formula import Formula

__all__ = ["PythonFile", "formula_python"]

FUNCTIONS = "formulakern.rules.python.functions"
ROOT = __name__.partition(".")[0]
HEAD = '''\
"""predict(row) and what it needs, exported by formulakern.

It takes Python 3.10 or later, and nothing else.  A row is a mapping from the names of columns to
values, such as a dict.  None and nan are missing, and so are the texts in ``missing``: where that
names some, as ("", "?") for the rows of csv.DictReader, blanks around texts are dropped.
"""

from __future__ import annotations
'''
LINE, BLANK = "\n", "\n\n\n"


@dataclass
class PythonFile:
    """Builds the file: conditions are written first, then functions, then the text is asked for."""

    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    conditions: PythonConditions = field(default_factory=PythonConditions)
    _functions: list[str] = field(default_factory=list)

    def define(
        self, name: str, about: str, answer: str, lines: Sequence[str], *, reads: bool = False
    ) -> None:
        """Add a function of a row; one that ``reads`` has the entries that conditions ask for."""
        whole = [f'"""{about}"""', *(self.conditions.lines if reads else ()), *lines]
        head = f"def {name}(row: Row, missing: Texts = ()) -> {answer}:"
        self._functions.append("\n    ".join([head, *whole]))

    def text(self) -> str:
        """The whole file."""
        names = ["Row", "Texts", *self.conditions.functions, *self.functions]
        imports, definitions = _sources_of(FUNCTIONS, names)
        moments = [f"{n} = {v.nanoseconds}  # {v}" for v, n in self.conditions.constants.items()]
        constants = [text for text in definitions if not text.startswith("def ")]
        others = [text for text in definitions if text.startswith("def ")]
        lines = "\n".join([*constants, *self.constants, *moments])
        head = HEAD + "\n" + "\n".join(imports)
        return BLANK.join([head + "\n\n" + lines, *self._functions, *others]) + "\n"


def formula_python(formula: Formula) -> str:
    """Return the file of one formula; see :meth:`formulakern.Rule.to_python`."""
    file = PythonFile()
    found = file.conditions.condition(formula).text
    about = "Whether a row satisfies the rule."
    file.define("predict", about, "bool", [f"return {found}"], reads=True)
    return file.text()


# -- sources ---------------------------------------------------------------------------------------


def _sources_of(module: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return what a file needs so that functions of a module work in it.

    Examples
    --------
    >>> imports, definitions = _sources_of("formulakern.tables.column", ["read_number"])
    >>> imports
    ['import math', 'import re']
    >>> print(definitions[0], definitions[-1].partition("\\n")[0], sep="\\n")
    MAX_DIGITS = 18
    def read_number(text: str) -> int | float | None:
    """
    imports: set[tuple[str, str]] = set()
    found: dict[str, tuple[str, ast.stmt]] = {}
    order: list[str] = []
    pending = [(module, name, False) for name in reversed([*names])]
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
