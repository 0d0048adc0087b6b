"""The hierarchy of exceptions; every message states the problem, the expectation and a remedy.

Every class derives from :class:`FormulaKernError` and from the built-in exception that a Python
user would catch, so ``except ValueError`` keeps working.
"""

from __future__ import annotations


class FormulaKernError(Exception):
    """The base class of all errors that formulakern raises on purpose."""


class FormulaSyntaxError(FormulaKernError, ValueError):
    """A text that is not a formula; the message shows the line with a caret and gives advice.

    Parameters
    ----------
    problem : str
        The problem, as one sentence without a full stop.
    text : str
        The whole text.
    position : int
        Index of the first wrong character; ``len(text)`` if the text ends too early.
    advice : str
        The remedy, as one sentence.
    width : int
        Number of characters that the caret underlines.
    """

    #: The largest number of characters of the line that are shown around the caret.
    WINDOW = 72

    def __init__(
        self, problem: str, text: str, position: int, advice: str = "", width: int = 1
    ) -> None:
        self.problem = problem
        self.text = text
        self.position = position
        self.advice = advice
        self.width = max(1, width)
        super().__init__(problem, text, position, advice, width)

    def __str__(self) -> str:
        start = self.text.rfind("\n", 0, self.position) + 1
        end = self.text.find("\n", self.position)
        end = len(self.text) if end < 0 else end
        left = max(start, self.position - self.WINDOW // 2)
        right = min(end, left + self.WINDOW)
        shown = "".join(
            c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in self.text[left:right]
        )
        before, after = "…" * (left > start), "…" * (right < end)
        underline = "^" * max(1, min(self.width, right - self.position))
        caret = " " * (len(before) + self.position - left) + underline
        advice = f"\n{self.advice}" if self.advice else ""
        return f"{self.problem}\n\n    {before}{shown}{after}\n    {caret}{advice}"


class FormulaError(FormulaKernError, ValueError):
    """A well-formed formula that cannot have the requested meaning."""


class FormulaSizeError(FormulaError):
    """A formula, diagram or program above the size limit, which is refused in bounded time."""


class FormulaTypeError(FormulaKernError, TypeError):
    """A formula used as something it is not, such as a truth value."""


class DataError(FormulaKernError, ValueError):
    """A table that cannot be read; the message names the column and the row."""


class DataTypeError(DataError, TypeError):
    """A table with an entry that is not a number in a column of numbers."""


class GramSizeError(FormulaKernError, MemoryError):
    """A Gram matrix that does not fit into memory; the message gives its size and a remedy."""


class ParameterError(FormulaKernError, ValueError):
    """A parameter outside its range; the message lists the accepted values."""


class MagnitudeError(FormulaKernError, OverflowError):
    """A kernel value outside the range of float64; the message gives a remedy."""


class ClusterError(FormulaKernError, RuntimeError):
    """A cluster that lost its scheduler or its workers; the message names what to check."""


class MissingDependencyError(FormulaKernError, ImportError):
    """An optional library that is needed but not installed; the message names the extra."""
