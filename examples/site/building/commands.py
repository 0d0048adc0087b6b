"""The page of the command line: a walk through its output, and the help of every command."""

import os
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from unittest.mock import patch

from formulakern.cli import main

#: Texts, each with the command that follows it.
WALK = (
    (
        "Start with a table: the end positions of tic-tac-toe, as a file. The last column is the "
        "class: whether x has won.",
        "formulakern datasets tic-tac-toe -o games.csv",
    ),
    (
        "**Learn.** The first lines describe the table. Then come the rules, learned from all "
        "rows. The scores come from three folds: each model is learned from two thirds of the "
        "rows and scored on the others, and so are three plain learners.",
        "formulakern learn games.csv --model rules --cv 3 -o model.json",
    ),
    (
        "**Explain** the prediction of a row.",
        "formulakern explain model.json games.csv --row 700",
    ),
    (
        "**Predict** the rows of a file of any size.",
        "formulakern predict model.json games.csv -o predicted.csv",
    ),
    (
        "**Report** on one page: the rules, their quality, and the reasons of each "
        "prediction. Use rows that the model has not seen, if you have some.",
        "formulakern report model.json games.csv -o report.html",
    ),
    (
        "**Export** a query for a database. `--python` exports a Python file without dependencies.",
        "formulakern export model.json --sql duckdb",
    ),
)
INTRODUCTION = """\
# The command line

Everything from a table to a readable model, without Python. The commands ran while this page was
built.

"""


def printed(command: str) -> str:
    """Return the output of a command, in a terminal of 88 columns."""
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
    """Return a command and its output, as a block of a page."""
    return f"```text\n$ {command}\n{printed(command)}\n```\n\n"


def names() -> list[str]:
    """Return the commands that ``--help`` lists."""
    listed = printed("formulakern --help").partition("COMMAND\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if line[:5].strip()]


def text() -> str:
    """Return the text of the page."""
    page = INTRODUCTION
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for sentence, command in WALK:
            page += f"{sentence}\n\n{shown(command)}"
    page += f"## All commands\n\n{shown('formulakern --help')}"
    for name in names():
        page += f"### {name}\n\n{shown(f'formulakern {name} --help')}"
    return page
