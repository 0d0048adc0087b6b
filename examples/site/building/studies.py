"""The page of figures: the second half of ``examples/README.md``."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
HEADING = "## What the papers' figures give here\n"
INTRODUCTION = """\
# What the studies found

Each paragraph names the script that made its figures, from the folder
[`examples/`](gallery/index). Where a paper's figure was not reached, that is said, too.

"""


def text() -> str:
    """What stands below the heading, a section a study; links in the repository become words."""
    _, found, figures = README.read_text(encoding="utf-8").partition(HEADING)
    assert found, f"{README} has no heading {HEADING!r}"
    words = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", figures)
    paragraphs = re.sub(r"^  ", "", words, flags=re.MULTILINE)
    return INTRODUCTION + re.sub(
        r"^\* \*\*(.+?)\*\* \(", r"\n## \1\n\n(", paragraphs, flags=re.MULTILINE
    )
