"""Habits of style that make text hard to read stay out of the package.

    python tests/test_prose.py [PACKAGE]    print the counts by room, of another package too

The texts are docstrings without their examples, comments, and strings with a blank.
"""

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import formulakern

PACKAGE = Path(formulakern.__file__).parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
EXAMPLE = re.compile(r"^ *(>>>|\.\.\.) .*$", re.MULTILINE)
COMMENT = re.compile(r"(?:^|  )#:? .*$", re.MULTILINE)
#: Clauses with which no docstring begins.
OPENING = re.compile(r"(What|That|How|Those|Where|As|Of|Which|Whether|Whose|If|These|So)\b")
#: Habits and the number of each that is allowed, for uses that are right.
HABITS = {
    r"(so|as) (many|much) (?!as\b)": 10,
    r"(is|are|was|were) no(?! (longer|more|less|larger|smaller|greater|other|such))": 32,
    r"what (is|are|it|they|the|a|was)": 6,
    r"(that|those) of": 60,
    r"stands?(?! for)": 2,
    r"of (which|whom)": 12,
    r"(tells?|says?|said|told|asks?|knows?|hears?|speaks?|answers?|wants?)": 6,
    r"(beside|learnt|whoever|lest|lies)": 1,
    r"here": 9,
    r"where": 60,
}


def texts_of(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a module, and whether each is a docstring."""
    source = path.read_text(encoding="utf-8")
    documented = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)) is not None:
            documented.add(node.body[0].lineno)
            yield EXAMPLE.sub("", text), True
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value.strip()
            and node.lineno not in documented
        ):
            yield node.value, False
    yield from ((text, False) for text in COMMENT.findall(source))


@functools.cache
def texts(package: Path = PACKAGE) -> list[tuple[Path, str, bool]]:
    """Return the texts of all modules, with their paths."""
    return [
        (path.relative_to(package), *text)
        for path in sorted(package.rglob("*.py"))
        for text in texts_of(path)
    ]


def test_no_docstring_begins_with_a_clause():
    wrong = [
        f"{path}: {text.splitlines()[0]}"
        for path, text, is_docstring in texts()
        if is_docstring and OPENING.match(text)
    ]
    assert not wrong, "\n".join(wrong)


def counts(text: str) -> Counter[str]:
    """Count every habit in a text."""
    return Counter(
        {habit: len(re.findall(rf"\b{habit}\b", text, re.IGNORECASE)) for habit in HABITS}
    )


def test_habits_are_rare():
    found = sum((counts(text) for _, text, _ in texts()), Counter())
    assert not {habit: n for habit, n in found.items() if n > HABITS[habit]}


def main(package: Path) -> None:
    """Print the counts of a package by room, with the docstrings that begin with a clause."""
    rooms: dict[str, Counter[str]] = {}
    for path, text, is_docstring in texts(package):
        found = counts(text)
        found["a clause"] = bool(is_docstring and OPENING.match(text))
        room = path.parts[0] if len(path.parts) > 1 else "(ground floor)"
        for name in (room, "all"):
            rooms.setdefault(name, Counter()).update(found)
    for habit in ("a clause", *HABITS):
        listed = [f"{room} {found[habit]}" for room, found in rooms.items() if found[habit]]
        print(f"{habit}: {', '.join(listed) or 0}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
