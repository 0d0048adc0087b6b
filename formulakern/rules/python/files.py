"""A file of Python with functions of one row, and with all that they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from formulakern.rules.python.conditions import Conditions
from formulakern.rules.python.sources import sources_of
from formulakern.syntax.formula import Formula

__all__ = ["PythonFile", "formula_python"]

ENTRIES = "formulakern.rules.python.entries"
HEAD = '''\
"""predict(row) and what it needs, exported by formulakern.

It takes Python 3.10 or later, and nothing else.  A row is a mapping from the names of columns to
values, such as a dict.  None and nan are missing, and so are the texts in ``missing``: where that
names some, as ("", "?") for the rows of csv.DictReader, blanks around texts are dropped.
"""

from __future__ import annotations
'''
BLANK = "\n\n\n"


@dataclass
class PythonFile:
    """Builds the file: conditions are written first, then functions, then the text is asked for.

    Parameters
    ----------
    constants : list of str
        Lines of the user's own values.
    functions : list of (module, name)
        What is copied besides what conditions use.
    """

    constants: list[str] = field(default_factory=list)
    functions: list[tuple[str, str]] = field(default_factory=list)
    conditions: Conditions = field(default_factory=Conditions)
    _functions: list[str] = field(default_factory=list)

    def define(
        self, name: str, about: str, answer: str, lines: Sequence[str], *, reads: bool = False
    ) -> None:
        """Add a function of a row; one that ``reads`` has the entries that conditions ask for.

        Parameters
        ----------
        name : str
        about : str
            Its docstring.
        answer : str
            The type of what it returns.
        lines : sequence of str
        reads : bool
        """
        whole = [f'"""{about}"""', *(self.conditions.lines if reads else ()), *lines]
        head = f"def {name}(row: Row, missing: Texts = ()) -> {answer}:"
        self._functions.append("\n    ".join([head, *whole]))

    def text(self) -> str:
        """The whole file."""
        names = ["Row", "Texts", *self.conditions.functions]
        used = [(ENTRIES, name) for name in names]
        imports, definitions = sources_of([*used, *self.functions])
        moments = [f"{n} = {v.nanoseconds}  # {v}" for v, n in self.conditions.constants.items()]
        constants = [text for text in definitions if not text.startswith("def ")]
        others = [text for text in definitions if text.startswith("def ")]
        lines = "\n".join([*constants, *self.constants, *moments])
        head = HEAD + "\n" + "\n".join(imports)
        return BLANK.join([head + "\n\n" + lines, *self._functions, *others]) + "\n"


def formula_python(formula: Formula) -> str:
    """What :meth:`formulakern.Rule.to_python` documents."""
    file = PythonFile()
    found = file.conditions.condition(formula).text
    about = "Whether a row satisfies the rule."
    file.define("predict", about, "bool", [f"return {found}"], reads=True)
    return file.text()
