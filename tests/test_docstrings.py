"""The form of every public docstring; run as a script, this prints which one has which part.

The checks are numpydoc's.  Left out are those of taste (where the first sentence stands, which mood
it is in), and those that ask for what is said elsewhere: types of parameters that are told as "as
in", a section that repeats what the type of a return value says, links to other pages.
"""

import inspect
import sys
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "site"))
from building import reference

#: Of everything: there is a text; its summary is one sentence, with a period, on a line; what it
#: says about parameters is about parameters that there are, in numpydoc's form.
METHODS = {"GL08", "SS01", "SS03", "SS04", "PR02", "PR05", "PR06", "PR10", "YD01"}
#: Of functions and classes, also: all parameters are there and described, what is returned is said,
#: and there is an example.
OBJECTS = METHODS | {"PR01", "PR07", "RT01", "EX01"}
#: What describes only what others return.
RESULTS = {"RuleQuality", "cache.CacheInfo"}

PARTS = ("Parameters", "Attributes", "Returns", "Raises", "Notes", "References", "Examples")


def objects() -> list[str]:
    """The public functions and classes, those of modules too."""
    names = [name for names in reference.public().values() for name in names]
    names += [member for name in names for member in reference.members(name)]
    return [name for name in names if callable(reference.find(name))]


def methods(name: str) -> list[str]:
    """The public methods and properties of a class that are the library's own."""
    value = reference.find(name)
    if not inspect.isclass(value) or issubclass(value, Exception):
        return []
    return [f"{name}.{method}" for method in reference.methods(value)[0]]


def parts(name: str) -> dict[str, bool]:
    """Which parts the docstring of an object has."""
    document = get_doc_object(reference.find(name), config={"show_class_members": False})
    return {part: bool(document[part]) for part in PARTS if part in document}


def expected(name: str) -> set[str]:
    """The checks that an object must pass."""
    value = reference.find(name)
    if inspect.isclass(value) and issubclass(value, (Exception, Warning)):
        return METHODS
    return OBJECTS - ({"EX01"} if name in RESULTS else set())


def mistakes(name: str, checks: set[str]) -> list[str]:
    """What is not as it should be, a line each."""
    found = [error for error in validate(f"formulakern.{name}")["errors"] if error[0] in checks]
    if found and parts(name).get("Attributes"):
        checks = checks - {"PR01"}  # the fields of what is returned
    return [f"{name}: {code} {message}" for code, message in found if code in checks]


def test_docstrings_have_their_parts():
    wrong = []
    for name in objects():
        wrong += mistakes(name, expected(name))
        for method in methods(name):
            wrong += mistakes(method, METHODS)
    assert not wrong, "\n".join(wrong)


def main() -> None:
    """Print a line for every public function and class, and how many methods it has."""
    print(f"{'':34}" + "".join(f"{part:>12}" for part in PARTS) + f"{'methods':>12}")
    for name in objects():
        has = parts(name)
        signs = "".join(f"{'yes' if has.get(part) else '':>12}" for part in PARTS)
        print(f"{name:34}{signs}{len(methods(name)) or '':>12}")


if __name__ == "__main__":
    main()
