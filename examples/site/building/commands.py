"""The page of the command line: a walk through what it prints, and the help of every command."""

import os
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from unittest.mock import patch

from formulakern.cli import main

#: What is said, and the command that comes then.
WALK = (
    (
        "A table to begin with: the end positions of tic-tac-toe, as a file. The class, whether x "
        "has won, is its last column.",
        "formulakern datasets tic-tac-toe -o games.csv",
    ),
    (
        "**Learn.** The first lines say what was read. The table of scores comes from three folds: "
        "the model is learned from two thirds of the rows, and scored on the others, beside three "
        "plain learners. Then come the rules, learned from all rows.",
        "formulakern learn games.csv --model rules --cv 3 -o model.json",
    ),
    (
        "**Ask why** a row is predicted as it is.",
        "formulakern explain model.json games.csv --row 700",
    ),
    (
        "**Predict** the rows of a file of any size.",
        "formulakern predict model.json games.csv -o predicted.csv",
    ),
    (
        "**One page** for people: the rules, how good they are, and why. Give it rows that the "
        "model has not seen, if you have some.",
        "formulakern report model.json games.csv -o report.html",
    ),
    (
        "**Hand on**: a query for a database; with `--python` a file of Python that needs nothing "
        "else.",
        "formulakern export model.json --sql duckdb",
    ),
)
INTRODUCTION = """\
# The command line

Everything from a table to a model that you can read, without a line of Python. What stands here was
printed while this page was made.

"""


def printed(command: str) -> str:
    """What a command prints, in a terminal of 88 columns."""
    output = StringIO()
    with (
        redirect_stdout(output),
        redirect_stderr(output),
        patch.dict(os.environ, {"COLUMNS": "88", "NO_COLOR": "1"}),
    ):
        try:
            status = main(command.split()[1:])
        except SystemExit as end:
            status = end.code
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}:\n{output.getvalue()}")
    return output.getvalue().rstrip()


def shown(command: str) -> str:
    """A command and what it prints, as a block of a page."""
    return f"```text\n$ {command}\n{printed(command)}\n```\n\n"


def names() -> list[str]:
    """The commands, as ``--help`` lists them."""
    listed = printed("formulakern --help").partition("COMMAND\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if line[:5].strip()]


def text() -> str:
    """The page."""
    page = INTRODUCTION
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for sentence, command in WALK:
            page += f"{sentence}\n\n{shown(command)}"
    page += f"## All commands\n\n{shown('formulakern --help')}"
    for name in names():
        page += f"### {name}\n\n{shown(f'formulakern {name} --help')}"
    return page
