"""The README is the front door: its code runs, its commands are there, its links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest

import formulakern as fk
from formulakern.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "examples" / "site" / "tour.md").read_text(encoding="utf-8")


def fenced(tag: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{tag}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_it_is_short():
    assert len(README) <= 9_000


def test_the_code_runs(capsys):
    (first,) = fenced("python")
    assert len([line for line in first.splitlines() if line.strip()]) <= 7  # six and the import
    exec(compile(first, "README.md", "exec"), {})
    polynomial, score = capsys.readouterr().out.splitlines()
    assert "s" in polynomial
    assert float(score) > 0.98


def test_the_code_of_the_tour_runs(capsys):
    """The blocks run in one session, and print the values of their comments."""
    session = {}
    for code in fenced("python", TOUR):
        exec(compile(code, "tour.md", "exec"), session)
    printed = capsys.readouterr().out
    said = re.search(r"print\(model.value_, model.bound_\)  # ([\d.]+) and ([\d.]+)", TOUR)
    value, bound = re.search(r"^(0\.\d+) (0\.\d+)$", printed, flags=re.MULTILINE).groups()
    assert (f"{float(value):.4f}", f"{float(bound):.4f}") == said.groups()


def test_features_are_counted():
    said = re.search(r"`(any.*)` on (\d+) columns has ([\d,]+) features", TOUR)
    formula, columns, features = said.groups()
    assert f"{fk.kernel(formula).dimension(int(columns)):,}" == features


def test_three_animals():
    """The table, its kernel of a formula, and the three readings of another, as in the README."""
    (columns,) = re.findall(r"^\|  \| (\w+ \| \w+ \| \w+) \|$", README, flags=re.MULTILINE)
    assert columns == "fur | eggs | wings"
    rows = re.findall(r"^\| (\w+) \| ([01]) \| ([01]) \| ([01]) \|$", README, flags=re.MULTILINE)
    animals = {name: [int(value) for value in values] for name, *values in rows}
    pair = [animals["dog"], animals["bat"]]
    assert fk.kernel("a & ~b")(pair).tolist() == [[2, 1], [1, 2]]  # two each, one of them shared
    (formula,) = re.findall(r'"exactly one of two is true", `(.+?)`', README)
    told = re.findall(r'^\| `"(\w+)"`.*\| (\d+) \| (\d+) \|$', README, flags=re.MULTILINE)
    assert [name for name, *_ in told] == ["bound", "free", "distinct"]
    for reading, ways, value in told:
        kernel = fk.kernel(formula, reading)
        assert (kernel.dimension(3), kernel(pair)[0, 1]) == (int(ways), int(value))


def test_the_main_command_prints_what_is_shown(capsys):
    """Formula, rewriting, kernel, score and rules, in fewer than fifteen lines."""
    (command,) = fenced("bash main")
    assert main(shlex.split(command.partition("/formulakern ")[2])) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) < 15
    assert max(map(len, printed)) <= 100
    shown, _, _ = fenced("text")[0].partition("…")
    assert printed[:6] == shown.splitlines()[:6]
    assert set(shown.splitlines()) <= set(printed)
    ways = {frozenset(re.findall("`([a-z-]+)-square` = x", line)) for line in printed[6:]}
    assert len(ways) == 8
    assert frozenset({"top-left", "middle-middle", "bottom-right"}) in ways


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
