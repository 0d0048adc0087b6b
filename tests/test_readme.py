"""The README is the front door: its code runs, its commands are there, its links lead somewhere."""

import re
from pathlib import Path

import pytest

import formulakern as fk

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(tag: str) -> list[str]:
    return re.findall(rf"^```{tag}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_code_runs(capsys):
    """Block after block in one session; what is printed is what the text beside it says."""
    first, *others = fenced("python")
    assert len([line for line in first.splitlines() if line.strip()]) <= 7  # six and the import
    session = {}
    exec(compile(first, "README.md", "exec"), session)
    polynomial, score = capsys.readouterr().out.splitlines()
    assert "s" in polynomial
    assert float(score) > 0.98
    for code in others:
        exec(compile(code, "README.md", "exec"), session)
    printed = capsys.readouterr().out
    said = re.search(r"print\(model.value_, model.bound_\)  # ([\d.]+) and ([\d.]+)", README)
    value, bound = re.search(r"^(0\.\d+) (0\.\d+)$", printed, flags=re.MULTILINE).groups()
    assert (f"{float(value):.4f}", f"{float(bound):.4f}") == said.groups()


def test_features_are_counted():
    said = re.search(r"`(any.*)` on (\d+) columns has ([\d,]+) features", README)
    formula, columns, features = said.groups()
    assert f"{fk.kernel(formula).dimension(int(columns)):,}" == features


@pytest.mark.parametrize("job", ["main", "test"])
def test_commands_are_one_line_each(job):
    (command,) = fenced(f"bash {job}")
    assert command.count("\n") == 1
    assert command.startswith("python3 -m venv .venv && ")


def test_links_lead_to_files():
    prose = re.sub(r"`[^`\n]*`", "", README)  # all[2](x) is a formula
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", prose)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_no_placeholder_is_left():
    assert not re.search(r"^(RESULTS|SPEED|TODO|TBD)\b", README, flags=re.MULTILINE)
