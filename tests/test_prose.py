"""Habits of style that make text hard to read stay out of the package; run it to print counts.

The texts are docstrings without their examples, comments, and strings with a blank.
"""

import ast
import functools
import re
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
    r"(so|as) (many|much) (?!as\b)": 12,
    r"(is|are|was|were) no(?! (longer|more|less|larger|smaller|greater|other|such))": 40,
    r"what (is|are|it|they|the|a|was)": 6,
    r"(that|those) of": 80,
    r"stands?(?! for)": 4,
    r"of (which|whom)": 16,
    r"(tells?|says?|said|told|asks?|knows?|hears?|speaks?|answers?|wants?)": 14,
    r"(beside|learnt|whoever|lest|lies)": 3,
    r"here": 12,
    r"where": 70,
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
def texts() -> list[tuple[Path, str, bool]]:
    """Return the texts of all modules."""
    return [(path, *text) for path in sorted(PACKAGE.rglob("*.py")) for text in texts_of(path)]


def test_no_docstring_begins_with_a_clause():
    wrong = [
        f"{path.relative_to(PACKAGE)}: {text.splitlines()[0]}"
        for path, text, is_docstring in texts()
        if is_docstring and OPENING.match(text)
    ]
    assert not wrong, "\n".join(wrong)


def counts() -> Counter[str]:
    """Count every habit in the package."""
    found: Counter[str] = Counter()
    for _, text, _ in texts():
        for habit in HABITS:
            found[habit] += len(re.findall(rf"\b{habit}\b", text, re.IGNORECASE))
    return found


def test_habits_are_rare():
    found = counts()
    assert not {habit: n for habit, n in found.items() if n > HABITS[habit]}


if __name__ == "__main__":
    for habit, n in counts().items():
        print(f"{n:5}  at most {HABITS[habit]:3}  {habit}")
