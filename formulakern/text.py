"""Text in columns: blocks with a title on the left, tables, and numbers in one format."""

from __future__ import annotations

import html
import math
import statistics
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

#: Scores that are shares, shown in percent.
SHARES = ("accuracy", "macro F1", "AUC")
#: The largest number of columns of a report, unless the terminal has fewer.
_WIDTH = ContextVar("width", default=100)


def width() -> int:
    """Return the number of columns that reports use at most.

    >>> width()
    100
    """
    return _WIDTH.get()


@contextmanager
def within(columns: int) -> Iterator[None]:
    """Limit reports to ``columns`` columns, but at least 60, within the block.

    >>> with within(80):
    ...     width()
    80
    """
    token = _WIDTH.set(max(60, min(columns, _WIDTH.get())))
    try:
        yield
    finally:
        _WIDTH.reset(token)


def blocks(pairs: Sequence[tuple[str, str]]) -> str:
    """Return titles and texts as two columns with a rule between them; long lines wrap.

    >>> print(blocks([("data", "two rows"), ("kernel", "K = s\\nread as bound")]))
      data │ two rows
    kernel │ K = s
           │ read as bound
    """
    left = max(len(title) for title, _ in pairs)
    lines = []
    for title, text in pairs:
        pieces = [
            piece
            for line in text.splitlines()
            for piece in textwrap.wrap(line, width() - left - 3, break_on_hyphens=False) or [""]
        ]
        for number, piece in enumerate(pieces or [""]):
            lines.append(f"{title if number == 0 else '':>{left}} │ {piece}".rstrip())
    return "\n".join(lines)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with the first column on the left and the others on the right.

    >>> print(table(["kernel", "accuracy"], [["a & b", "99.1"], ["linear", "98"]]))
    kernel  accuracy
    ────────────────
    a & b       99.1
    linear        98
    """
    first, *lines = aligned([head, *rows], "<" + ">" * (len(head) - 1))
    return "\n".join([first, "─" * len(first), *lines])


def aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Return rows of cells as lines; in ``sides``, "<" aligns a column left and ">" right.

    >>> aligned([["weight", "class"], ["2", "poisonous"]], "><")
    ['weight  class    ', '     2  poisonous']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)
        )
        for row in rows
    ]


def clip(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of a text, the last of them "…" if it is cut.

    >>> clip("a & b & c", 6), clip("a & b", 6)
    ('a & b…', 'a & b')
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, in the singular for 1.

    >>> counted(1, "epoch"), counted(1200, "rule")
    ('1 epoch', '1,200 rules')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def quoted(names: Sequence[str], most: int = 8) -> str:
    """Return the first names in quotation marks.

    >>> quoted(["a", "b", "c"], 2)
    '"a", "b", …'
    """
    return ", ".join(f'"{name}"' for name in names[:most]) + ", …" * (len(names) > most)


def score_text(name: str, values: Sequence[float]) -> str:
    """Return the mean of a score and its standard error over folds, or "" if a value is NaN.

    >>> score_text("accuracy", [0.9, 1.0]), score_text("R2", [0.5]), score_text("AUC", [math.nan])
    ('95.00 ± 5.00', '0.5', '')
    >>> score_text("R2", [0.81, 0.84]), score_text("mean error", [1200, 900])
    ('0.825 ± 0.015', '1,050 ± 150')
    """
    if any(map(math.isnan, values)):
        return ""
    share = name in SHARES
    numbers = [100 * value if share else value for value in values]
    mean = statistics.fmean(numbers)
    error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else 0.0
    if not share and not error:
        return f"{mean:.4g}"
    digits = 2 if share else max(0, 1 - math.floor(math.log10(error)))
    both = [mean, error] if len(numbers) > 1 else [mean]
    return " ± ".join(f"{number:,.{digits}f}" for number in both)


def significant(values: Sequence[float]) -> list[str]:
    """Return numbers in one format, with four significant digits of the largest.

    >>> significant([2.0, 0.25]), significant([1e-9])
    (['2.00', '0.25'], ['1.000e-09'])
    """
    largest = max(map(abs, values), default=0.0)
    if largest and not 1e-3 <= largest < 1e6:
        return [f"{value:.3e}" for value in values]
    digits = 3
    while digits > 1 and all(round(value, digits) == round(value, digits - 1) for value in values):
        digits -= 1
    return [f"{value:.{digits}f}" for value in values]


def signed(values: Sequence[float]) -> list[str]:
    """Return numbers in one format with their signs, and "" for 0.

    >>> signed([2.0, 0.0, -0.25])
    ['+2.00', '', '-0.25']
    """
    texts = zip(values, significant(values), strict=True)
    return ["" if not value else text if value < 0 else f"+{text}" for value, text in texts]


def preformatted(shown: object) -> str:
    """Return the printed form of a value as HTML for notebooks.

    >>> preformatted("a < b")
    '<pre>a &lt; b</pre>'
    """
    return f"<pre>{html.escape(str(shown))}</pre>"


def is_unicode(text: str) -> bool:
    r"""Return True if a text can be encoded: no character is half of a surrogate pair.

    >>> is_unicode("naïve"), is_unicode("\ud800")
    (True, False)
    """
    return not any("\ud800" <= character <= "\udfff" for character in text)
