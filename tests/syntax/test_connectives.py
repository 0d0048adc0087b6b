"""The table of connectives: the requirements on a row, and that a connective needs only a row."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from formulakern import ParameterError
from formulakern.syntax.connectives import CONNECTIVES, Connective

TESTS = Path(__file__).parents[1]

ROWS = (
    '_row("unless", "0100", 5, "refused", "&~ ∖ unless", r"\\setminus", "∖")',
    '_row("same", "1001", 4, "flat", "<~> ↭ same", r"\\leftrightsquigarrow", "↭")',
    '_row("first", "1100", 2, "right", "|> ⊲ first", r"\\lhd", "⊲")',
)


def test_one_more_row_is_one_more_connective():
    done = subprocess.run(
        [sys.executable, "-W", "error", TESTS / "syntax" / "one_more_connective.py", *ROWS],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_reference_lists_the_rows():
    reference = (TESTS.parent / "grammar" / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| \d.*", reference, flags=re.MULTILINE)
    listed = [re.split(r"(?<!\\)\|", line)[1:5] for line in lines]
    for row, (level, name, spellings, truth) in zip(CONNECTIVES, listed, strict=True):
        assert (int(level), name.split()[0], truth.strip()) == (row.precedence, row.name, row.truth)
        assert tuple(re.findall(r"`([^`]+)`", spellings.replace(r"\|", "|"))) == row.spellings


@pytest.mark.parametrize("truth", ["1111", "0000", "11", "10", "101", "1020", ""])
def test_what_is_no_truth_table_is_refused(truth):
    with pytest.raises(ParameterError, match="expected four digits 0 or 1"):
        Connective("odd", truth, 3, "refused", ("?",), "?", "?")


@pytest.mark.parametrize("truth", ["1011", "0111", "1100", "0100"])
def test_only_associative_and_commutative_connectives_are_flat(truth):
    with pytest.raises(ParameterError, match="not associative and commutative"):
        Connective("odd", truth, 3, "flat", ("?",), "?", "?")


def test_names_and_spellings_are_unique():
    names = [row.name for row in CONNECTIVES]
    spellings = [spelling for row in CONNECTIVES for spelling in row.spellings]
    assert len(set(names)) == len(names)
    assert len(set(spellings)) == len(spellings)
    assert all(row.unicode in row.spellings for row in CONNECTIVES)
