"""The page of figures: the second half of ``examples/README.md``."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
HEADING = "## Results of the studies\n"
INTRODUCTION = """\
# Results of the studies

Each paragraph names the script that made its figures, from the folder
[`examples/`](gallery/index), and states if a paper's figure was not reached.

"""


def text() -> str:
    """Return the text below the heading, a section per study; local links become words."""
    _, found, figures = README.read_text(encoding="utf-8").partition(HEADING)
    assert found, f"{README} has no heading {HEADING!r}"
    words = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", figures)
    paragraphs = re.sub(r"^  ", "", words, flags=re.MULTILINE)
    return INTRODUCTION + re.sub(
        r"^\* \*\*(.+?)\*\* \(", r"\n## \1\n\n(", paragraphs, flags=re.MULTILINE
    )
