"""One hierarchy of exceptions: every message says what was given, what was expected, what to do.

Every class derives from :class:`FormulaKernError` and from the built-in exception that a Python
user would catch, so ``except ValueError`` keeps working.
"""

from __future__ import annotations


class FormulaKernError(Exception):
    """Root of all errors that formulakern raises on purpose."""


class FormulaSyntaxError(FormulaKernError, ValueError):
    """A text that is not a formula: one sentence, the line with a caret, and what to write instead.

    Parameters
    ----------
    problem : str
        What is wrong, one sentence without a full stop.
    text : str
        The whole text that was being read.
    position : int
        Index of the first offending character (``len(text)`` for "the text ended too early").
    advice : str
        What to do, one sentence.
    width : int
        Number of characters that the caret underlines.
    """

    #: At most this many characters of the offending line are shown around the caret.
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
    """A well-formed formula that cannot be given the meaning that was asked for."""


class FormulaSizeError(FormulaError):
    """A formula, diagram or program that passes a stated size; refused in bounded time."""


class FormulaTypeError(FormulaKernError, TypeError):
    """A formula used as something it is not, such as a truth value."""


class DataError(FormulaKernError, ValueError):
    """A table that cannot be read; the message names the column and the row."""


class DataTypeError(DataError, TypeError):
    """A table with an entry that is no number, where numbers are expected."""


class GramSizeError(FormulaKernError, MemoryError):
    """A Gram matrix that does not fit into memory; the message names its size and the way out."""


class ParameterError(FormulaKernError, ValueError):
    """A parameter outside its range; the message lists what is accepted."""


class MagnitudeError(FormulaKernError, OverflowError):
    """A kernel value outside the range of float64; the message names the way out."""


class ClusterError(FormulaKernError, RuntimeError):
    """A cluster lost its scheduler, or its workers; the message says what to look at."""


class MissingDependencyError(FormulaKernError, ImportError):
    """An optional library is needed and not installed; the message names the extra."""
