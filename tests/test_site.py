"""The pages of the site: their code runs, and prints the output below it."""

import doctest
import re
import sys
from pathlib import Path

import pytest

import formulakern

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "site"))
from building import commands, links, reference, studies

ROOT = Path(__file__).parent.parent
SITE = ROOT / "examples" / "site"
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


@pytest.mark.parametrize("name", ["CITATION.cff", "CONTRIBUTING.md"])
def test_notes_for_others_are_up_to_date(name):
    text = (ROOT / ".github" / name).read_text(encoding="utf-8")
    if name.endswith(".cff"):
        assert f"\nversion: {formulakern.__version__}\n" in text
        changes = (SITE / "changes.md").read_text(encoding="utf-8")
        assert f"\n## {formulakern.__version__}" in changes
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / ".github" / link).exists(), link


def test_every_public_object_has_a_page():
    assert {name for names in reference.public().values() for name in names} == set(
        formulakern.__all__
    ) - {"__version__"}
    pages = reference.pages()
    for name in formulakern.__all__:
        if name != "__version__":
            assert f"formulakern.{name}.rst" in pages
            assert reference.summary(name).endswith(".")


def test_studies_are_told_without_links_into_the_repository():
    text = studies.text()
    assert "Figure 4" in text
    assert not re.search(r"\]\((?!https?:|gallery/index)", text)


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "there.html").write_text('<p id="place"><a href="https://example.org/x">')
    wrong = ["no.html", "there.html#other", "#nothing"]
    targets = ["there.html", "there.html#place", "there.html?a=1#place", "#", *wrong]
    (tmp_path / "from.html").write_text("".join(f'<a href="{target}">' for target in targets))
    assert [line.split(": ")[1] for line in links.broken(tmp_path)] == sorted(wrong)


def test_commands_print_what_the_page_shows():
    assert "learn" in commands.names()
    shown = commands.shown("formulakern learn --help")
    assert shown.startswith("```text\n$ formulakern learn --help\nusage: formulakern learn ")
    with pytest.raises(RuntimeError, match="ended with 2"):
        commands.shown("formulakern learn")


def test_figures_of_the_readme_are_those_of_the_page():
    """No result is in the README alone: when one is measured again, both must follow."""
    number = re.compile(r"\d[\d,.e-]*\d|\d")
    results = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Results")[2]
    page = (SITE / "performance.md").read_text(encoding="utf-8")
    assert set(number.findall(results.partition("\n## ")[0])) <= set(number.findall(page))
