"""The pages of the site: their code runs, and says what stands below it."""

import doctest
import re
from pathlib import Path

import pytest

SITE = Path(__file__).parent.parent / "examples" / "site"
PAGES = sorted(SITE.glob("*.md"))
FENCED = re.compile(r"^```pycon\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_a_page_runs(page):
    """Block after block, in one session a page."""
    text = page.read_text(encoding="utf-8")
    examples = "\n".join(FENCED.findall(text))
    assert (">>> " in text) == bool(examples)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    report: list[str] = []
    runner.run(test, out=report.append)
    assert not runner.summarize(verbose=False).failed, "".join(report)
