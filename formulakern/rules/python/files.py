"""Rules as Python: conditions on the entries of one row, in a file with all their functions."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from formulakern.encoding.propositions import number_of
from formulakern.rules.conditions import ConditionWriter
from formulakern.syntax.leaves import ORDERS, ColumnName, Comparison, Level
from formulakern.syntax.temporal import KINDS, Temporal, TemporalKind, read_moment

#: The precedence of expressions: ``or``, ``and``, ``not``, comparisons, and names.
OR, AND, NOT, COMPARISON, NAME = range(5)
#: Maximum depth of an expression; deeper parts are assigned to a name.
MAX_DEPTH = 20
#: Below this bound, floating point numbers represent whole numbers exactly.
MAX_EXACT_INTEGER = 2**53


@dataclass(frozen=True)
class PythonExpression:
    """A Python expression, its precedence and its depth."""

    text: str
    binds: int = NAME
    depth: int = 0

    def inside(self, least: int) -> str:
        """Return the expression, in parentheses if its precedence is below ``least``."""
        return self.text if self.binds >= least else f"({self.text})"


@dataclass
class PythonConditions(ConditionWriter[PythonExpression]):
    r"""A writer of conditions, and of the lines that read their entries; values are literals.

    >>> from formulakern.syntax.parser import parse_rule
    >>> conditions = PythonConditions()
    >>> print(conditions.condition(parse_rule("odor = foul & ~(size >= 3) ^ wet")).text)
    (x1 == 'foul' and not x2 >= 3) != x3
    >>> print(*conditions.lines, sep="\n")
    x1 = entry(row, 'odor', missing)
    x2 = number(row, 'size', missing)
    x3 = truth(row, 'wet', missing)
    """

    TARGET = "Python code"

    lines: list[str] = field(default_factory=list)
    functions: dict[str, None] = field(default_factory=dict)
    constants: dict[Temporal, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _parts: int = 0

    def read(self, function: str, name: str, *more: Any) -> str:
        """Return the variable of an entry that a function of ``functions`` reads."""
        arguments = ", ".join(["row", repr(name), "missing", *map(repr, more)])
        return self._assigned(function, f"{function}({arguments})")

    def _assigned(self, function: str, call: str) -> str:
        self.functions.setdefault(function)
        if call not in self._names:
            self._names[call] = f"x{len(self._names) + 1}"
            self.lines.append(f"{self._names[call]} = {call}")
        return self._names[call]

    def _shallow(self, part: PythonExpression) -> PythonExpression:
        """Return the expression, or its name if it is too deep."""
        if part.depth < MAX_DEPTH:
            return part
        self._parts += 1
        self.lines.append(f"c{self._parts} = {part.text}")
        return PythonExpression(f"c{self._parts}")

    def negated(self, part: PythonExpression) -> PythonExpression:
        """Return the negation of a condition."""
        part = self._shallow(part)
        return PythonExpression(f"not {part.inside(NOT)}", NOT, part.depth + 1)

    def joined(self, word: str, parts: Sequence[PythonExpression]) -> PythonExpression:
        """Return conditions joined by "and" or "or"."""
        return _chain(word, [self._shallow(part) for part in parts])

    def equal(
        self, left: PythonExpression, right: PythonExpression, same: bool
    ) -> PythonExpression:
        """Return the condition that two others are equal, or differ if ``same`` is False."""
        sides = [self._shallow(part) for part in (left, right)]
        text = f" {'==' if same else '!='} ".join(part.inside(NAME) for part in sides)
        return PythonExpression(text, COMPARISON, max(part.depth for part in sides) + 1)

    # -- leaves -----------------------------------------------------------------------------------

    def constant(self, value: bool) -> PythonExpression:
        """Return a condition that is always true or always false."""
        return PythonExpression(str(value))

    def truth(self, name: str) -> PythonExpression:
        """Return the condition that a column is true, or 1."""
        return PythonExpression(self.read("truth", name))

    def comparison(self, leaf: Comparison) -> PythonExpression:
        """Return the condition of a comparison."""
        name, relation, values = leaf.column, leaf.relation, leaf.values
        if leaf.value is None:
            negated = "" if relation == "is missing" else "not "
            return PythonExpression(f"{self.read('entry', name)} is {negated}None", COMPARISON)
        if relation in ORDERS and leaf.part is None:
            return self._order(name, relation, values[0])
        if relation in ORDERS:
            return self._compared(self.read("part", name, str(leaf.part)), relation, values[0])
        sign = {"in": "=", "not in": "!="}.get(relation, relation)
        parts = []
        if numbers := [value for value in values if isinstance(value, (int, float))]:
            read = ("number_or_word", name) if leaf.part is None else ("part", name, leaf.part)
            parts += self._among(sign, self.read(*read), numbers)
        if words := [value for value in values if isinstance(value, str)]:
            meant = [item for word in words for item in _meanings(word)]
            dated = any(isinstance(item, tuple) for item in meant)
            found = self.read("dated_entry" if dated else "entry", name)
            parts += self._among(sign, found, meant, f"{found} is not None")
        moments = [value for value in values if isinstance(value, Temporal)]
        for kind in dict.fromkeys(value.kind for value in moments):
            alike = [value for value in moments if value.kind == kind]
            parts += self._among(sign, self.read("moment_or_word", name, kind), alike)
        parts += [self._pair(name, sign, v.name) for v in values if isinstance(v, ColumnName)]
        return _chain("or" if sign == "=" else "and", parts)

    def _among(
        self, sign: str, found: str, values: Sequence[Any], present: str = ""
    ) -> list[PythonExpression]:
        """Return conditions that an entry equals a value, or that it is present and equals none."""
        parts = (
            [] if sign == "=" else [PythonExpression(present or f"{found} == {found}", COMPARISON)]
        )
        alone = [value for value in values if _is_large(value)]
        listed = [value for value in values if value not in alone]
        if len(listed) > 1:
            texts = ", ".join(map(self._literal, listed))
            text = f"{found} {'in' if sign == '=' else 'not in'} ({texts})"
            parts.append(PythonExpression(text, COMPARISON))
        else:
            alone = listed + alone
        return parts + [self._compared(found, sign, value) for value in alone]

    def _compared(self, found: str, relation: str, value: Any) -> PythonExpression:
        """Return a comparison with a value; large numbers are compared as in columns."""
        if _is_large(value):
            self.functions.setdefault("compare")
            return PythonExpression(f"compare({found}, {relation!r}, {value!r})")
        sign = "==" if relation == "=" else relation
        return PythonExpression(f"{found} {sign} {self._literal(value)}", COMPARISON)

    def _literal(self, value: Any) -> str:
        """Return a literal; a date or time becomes a named constant."""
        if isinstance(value, Temporal):
            return self.constants.setdefault(value, f"T{len(self.constants) + 1}")
        return repr(value)

    def _order(self, name: str, relation: str, value: Any) -> PythonExpression:
        if isinstance(value, ColumnName):
            return self._pair(name, relation, value.name)
        if isinstance(value, Level):
            passed = [repr(str(word)) for word in value.passed(relation)]
            found = self.read("word", name)
            return PythonExpression(
                f"{found} in ({', '.join(passed)}{',' * (len(passed) == 1)})", COMPARISON
            )
        if isinstance(value, str):
            number = number_of(value)
            moment = read_moment(value) if number is None else None
            if number is None and moment is None:
                raise self._unordered(name, value)
            value = number if moment is None else Temporal(*moment)
        if isinstance(value, Temporal):
            return self._compared(self.read("moment", name, value.kind), relation, value)
        return self._compared(self.read("number", name), relation, value)

    def _pair(self, name: str, relation: str, other: str) -> PythonExpression:
        self.functions.setdefault("compare_columns")
        arguments = ", ".join(["row", repr(name), repr(other), "missing", repr(relation)])
        return PythonExpression(self._assigned("compare_columns", f"compare_columns({arguments})"))


def _is_large(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) >= MAX_EXACT_INTEGER


def _meanings(word: str) -> list[Any]:
    """Return the entries that equal a word: the word itself, a number, a date or time."""
    found: list[Any] = [word]
    number = number_of(word)
    if number is not None:
        found.append(float(number) if abs(number) >= 2**63 else number)
    kinds: tuple[TemporalKind, ...] = tuple(KINDS)
    return found + [moment for kind in kinds if (moment := read_moment(word, kind)) is not None]


def _chain(word: str, parts: Sequence[PythonExpression]) -> PythonExpression:
    if len(parts) == 1:
        return parts[0]
    binds = AND if word == "and" else OR
    text = f" {word} ".join(part.inside(binds + 1) for part in parts)
    return PythonExpression(text, binds, max(part.depth for part in parts) + 1)


#: The modules whose functions and constants are copied; the last of equal names counts.
MODULES = (
    "tables.column", "tables.temporal", "encoding.propositions", "syntax.temporal",
    "rules.python.functions",
)  # fmt: skip
ROOT = __name__.partition(".")[0]
HEAD = '''\
"""The function predict(row), exported by formulakern.

It needs Python 3.10 or later and no other package.  A row is a mapping of column names to values,
such as a dict.  None, nan and the texts in ``missing`` are missing values.  If ``missing`` is not
empty, as ("", "?") for the rows of csv.DictReader, blanks around texts are removed.
"""

from __future__ import annotations
'''
LINE, BLANK = "\n", "\n\n\n"


@dataclass
class PythonFile:
    """A builder of the file: write conditions first, then define functions, then get the text."""

    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    conditions: PythonConditions = field(default_factory=PythonConditions)
    _functions: list[str] = field(default_factory=list)

    def define(
        self, name: str, about: str, answer: str, lines: Sequence[str], *, reads: bool = False
    ) -> None:
        """Add a function of a row; with ``reads``, it reads the entries of the conditions."""
        whole = [f'"""{about}"""', *(self.conditions.lines if reads else ()), *lines]
        head = f"def {name}(row: Row, missing: Texts = ()) -> {answer}:"
        self._functions.append("\n    ".join([head, *whole]))

    def text(self) -> str:
        """Return the whole file."""
        names = ["Row", "Texts", *self.conditions.functions, *self.functions]
        imports, definitions = _sources_of(names)
        moments = [f"{n} = {v.nanoseconds}  # {v}" for v, n in self.conditions.constants.items()]
        constants = [text for text in definitions if not text.startswith("def ")]
        others = [text for text in definitions if text.startswith("def ")]
        lines = "\n".join([*constants, *self.constants, *moments])
        head = HEAD + "\n" + "\n".join(imports)
        return BLANK.join([head + "\n\n" + lines, *self._functions, *others]) + "\n"


# -- sources ---------------------------------------------------------------------------------------


def _sources_of(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the imports and definitions that a file with these functions needs."""
    imported, defined = _definitions()
    members: dict[str, set[str]] = {}
    found: set[str] = set()
    pending = [*names]
    while pending:
        name = pending.pop()
        if name in defined and name not in found:
            found.add(name)
            pending += defined[name][1]
        elif name in imported:
            module, member = imported[name]
            members.setdefault(module, set()).add(member)
    imports = [
        f"import {module}" if some == {""} else f"from {module} import {', '.join(sorted(some))}"
        for module, some in sorted(members.items(), key=lambda item: (item[1] != {""}, item[0]))
    ]
    return imports, [text for name, (text, _) in defined.items() if name in found]


@cache
def _definitions() -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, list[str]]]]:
    """Return the imports of the modules from elsewhere, and their functions and constants.

    A definition has its source, with the first line of its docstring, and the names that it uses.
    """
    imported: dict[str, tuple[str, str]] = {}
    defined: dict[str, tuple[str, list[str]]] = {}
    for module in MODULES:
        source = inspect.getsource(import_module(f"{ROOT}.{module}"))
        lines = source.split(LINE)
        for node in ast.parse(source).body:
            *whole, last = lines[node.lineno - 1 : node.end_lineno]
            text = LINE.join([*whole, last.encode()[: node.end_col_offset].decode()])
            if isinstance(node, ast.Import):
                imported |= {alias.name: (alias.name, "") for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                known = {alias.name: (str(node.module), alias.name) for alias in node.names}
                imported |= {} if str(node.module).startswith(ROOT) else known
            elif isinstance(node, ast.FunctionDef):
                if (about := ast.get_docstring(node, clean=False)) is not None:
                    text = text.replace(about, about.partition(LINE)[0], 1)
                defined[node.name] = text, _used(node)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                defined[node.targets[0].id] = text, _used(node)
    return imported, defined


def _used(node: ast.stmt) -> list[str]:
    """Return the names that a definition uses but does not bind."""
    inside = [*ast.walk(node)]
    names = [item for item in inside if isinstance(item, ast.Name)]
    own = {item.arg for item in inside if isinstance(item, ast.arg)}
    own |= {item.id for item in names if isinstance(item.ctx, ast.Store)}
    return [item.id for item in names if item.id not in own]
