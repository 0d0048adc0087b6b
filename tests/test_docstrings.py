"""The form of every public docstring; run as a script, this prints the parts of each.

The checks are numpydoc's, without those of taste (the place and the mood of the first sentence), of
a text next to the type of a return value, and of links to other pages.
"""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString, get_doc_object
from numpydoc.validate import validate

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "site"))
from building import reference

from formulakern.docstrings import parameters_from

#: Of everything: there is a text; its summary is one sentence, with a period, on a line; what it
#: says about parameters is about parameters that there are, in numpydoc's form.
METHODS = {"GL08", "SS01", "SS03", "SS04", "PR02", "PR05", "PR06", "PR10", "YD01"}
#: Of functions and classes, also: all parameters are there, with type and text, in the order of the
#: signature; what is returned is said; and there is an example.
OBJECTS = METHODS | {"PR01", "PR03", "PR04", "PR07", "RT01", "EX01"}
#: What describes only what others return.
RESULTS = {"RuleQuality", "cache.CacheInfo"}

PARTS = ("Parameters", "Attributes", "Returns", "Raises", "Notes", "References", "Examples")


def objects() -> list[str]:
    """Return the names of public functions and classes, those of modules too."""
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
    """Return the parts of the docstring of an object."""
    document = get_doc_object(reference.find(name), config={"show_class_members": False})
    return {part: bool(document[part]) for part in PARTS if part in document}


def expected(name: str) -> set[str]:
    """The checks that an object must pass."""
    value = reference.find(name)
    if inspect.isclass(value) and issubclass(value, (Exception, Warning)):
        return METHODS
    return OBJECTS - ({"EX01"} if name in RESULTS else set())


def mistakes(name: str, checks: set[str]) -> list[str]:
    """Return the violations, a line each."""
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


def documented(value: object) -> dict[str, tuple[str, str]]:
    """Return the type and the text of each parameter in an object's own docstring."""
    document = NumpyDocString(inspect.cleandoc(vars(value).get("__doc__") or value.__doc__ or ""))
    return {
        name.strip().lstrip("*"): (entry.type, " ".join(entry.desc))
        for section in ("Parameters", "Attributes")
        for entry in document[section]
        for name in entry.name.split(",")
    }


def test_every_parameter_has_its_own_text():
    """No docstring refers to another one, or has a default other than that of the signature."""
    wrong = []
    for name in objects():
        value = reference.find(name)
        if inspect.isclass(value) and issubclass(value, Exception):
            continue
        texts = documented(value)
        for parameter in inspect.signature(value).parameters.values():
            kind, text = texts.get(parameter.name, ("", ""))
            if not text or re.match(r"As (there|(in|for|of) :\w+:)", text):
                wrong.append(f"{name}: {parameter.name} has the text {text!r}")
            default = re.search(r"default=([^,]+)$", kind)
            try:
                differs = default and ast.literal_eval(default[1]) != parameter.default
            except ValueError:  # a name
                continue
            if differs:
                wrong.append(f"{name}: {parameter.name} is {kind}, not {parameter.default!r}")
    assert not wrong, "\n".join(wrong)


class Source:
    """Some parameters.

    Parameters
    ----------
    first, second : int
        Two numbers.

    third : str
        A text,

        of two paragraphs.

    Returns
    -------
    int
    """

    def __init__(self, third, first, second): ...


def test_parameters_come_from_sources_in_the_order_of_the_signature():
    @parameters_from(Source)
    def function(second, own, third):
        """Do something.

        Parameters
        ----------
        own : float
            The text of its own.
        third : bytes
            Another text.

        Returns
        -------
        int
        """

    lines = function.__doc__.splitlines()
    assert lines[2:12] == [
        "Parameters",
        "----------",
        "second : int",
        "    Two numbers.",
        "own : float",
        "    The text of its own.",
        "third : bytes",
        "    Another text.",
        "",
        "Returns",
    ]


def test_parameters_come_from_base_classes():
    @parameters_from()
    class Derived(Source):
        """Another class.

        Returns
        -------
        int
        """

    own, texts = inspect.cleandoc(Source.__doc__), documented(Derived)
    assert list(texts) == ["third", "first", "second"]
    assert texts == documented(Source)
    assert Derived.__doc__.endswith(own[own.index("\n\nReturns") :])


@pytest.mark.parametrize("level", ["-O", "-OO"])
def test_docstrings_may_be_stripped(level):
    code = "import formulakern as fk; print((fk.FormulaKernel.__doc__ or '').count('scale :'))"
    done = subprocess.run(
        [sys.executable, level, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ("1" if level == "-O" else "0")


def main() -> None:
    """Print a line for every public function and class, and how many methods it has."""
    print(f"{'':34}" + "".join(f"{part:>12}" for part in PARTS) + f"{'methods':>12}")
    for name in objects():
        has = parts(name)
        signs = "".join(f"{'yes' if has.get(part) else '':>12}" for part in PARTS)
        print(f"{name:34}{signs}{len(methods(name)) or '':>12}")


if __name__ == "__main__":
    main()
