"""Print the weight of the package: lines by room, and classes and parameters of the estimators.

    python .ci/weight.py            the rooms of this checkout
    python .ci/weight.py OTHER      next to those of another checkout

A code line holds code; docstrings, comments and blank lines are not code.
"""

from __future__ import annotations

import ast
import inspect
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
KINDS = ("code", "docstrings", "lines", "modules")


def weight_of(path: Path) -> Counter[str]:
    """Count the code lines, the docstring lines and all lines of a module."""
    source = path.read_text()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            text = node.body[0]
            docstrings.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    return Counter(
        code=len(code - docstrings),
        docstrings=len(docstrings),
        lines=source.count("\n"),
        modules=1,
    )


def rooms_of(checkout: Path) -> dict[str, Counter[str]]:
    """Sum the weights of the modules of each folder of the package."""
    package = checkout / "formulakern"
    rooms: dict[str, Counter[str]] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        rooms.setdefault(parts[0] if len(parts) > 1 else "(ground floor)", Counter()).update(
            weight_of(path)
        )
    rooms["all"] = sum(rooms.values(), Counter())
    return rooms


def estimators() -> list[tuple[str, int, int]]:
    """Return each public estimator, its own classes above it, and its parameters."""
    from sklearn.base import BaseEstimator

    import formulakern

    listed = []
    for name in dir(formulakern):
        found = getattr(formulakern, name)
        if inspect.isclass(found) and issubclass(found, BaseEstimator):
            above = [
                base for base in found.__mro__[1:] if base.__module__.startswith("formulakern")
            ]
            listed.append((name, len(above), len(inspect.signature(found).parameters)))
    return listed


def estimators_of(checkout: Path) -> dict[str, list[int]]:
    """Return the estimators of a checkout, read in a process of their own."""
    command = [sys.executable, __file__, "--estimators"]
    printed = subprocess.run(
        command, cwd=checkout, capture_output=True, text=True, check=True
    ).stdout
    return {name: [int(a), int(b)] for name, a, b in map(str.split, printed.splitlines())}


def main(checkouts: list[Path]) -> None:
    """Print both tables, with a column for each checkout."""
    tables = [rooms_of(checkout) for checkout in checkouts]
    for kind in KINDS:
        print(f"\n{kind}")
        for room in [*sorted({room for table in tables for room in table} - {"all"}), "all"]:
            counts = (table.get(room, Counter())[kind] for table in tables)
            print(f"  {room:<16}" + "".join(f"{count:>9,}" for count in counts))
    found = [estimators_of(checkout) for checkout in checkouts]
    print("\nown classes above each estimator, and its parameters")
    for name in sorted({name for one in found for name in one}):
        cells = (one.get(name) for one in found)
        print(
            f"  {name:<28}"
            + "".join("   -   -" if c is None else f"{c[0]:4}{c[1]:4}" for c in cells)
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--estimators"]:
        sys.path.insert(0, str(Path.cwd()))
        for row in estimators():
            print(*row)
    else:
        main([*map(Path, sys.argv[1:]), Path(__file__).resolve().parent.parent])
