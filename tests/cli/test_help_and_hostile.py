"""Every example of the help texts runs; wrong files, columns and values get a complete message."""

import argparse
import csv
import json
import re
import shlex
from typing import get_args

import numpy as np
import polars
import pytest
from command_line import run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.cli import main
from formulakern.cli.parser import _parser
from formulakern.rules.sql import DialectName

JOBS = ("nurse", "clerk", "cook")


def written(folder):
    """The files that the examples name."""
    rng = np.random.default_rng(0)
    rows = [[k + 100, int(rng.integers(18, 70)), JOBS[rng.integers(3)]] for k in range(60)]
    rows = [[*row, "yes" if row[1] > 40 and row[2] != "cook" else "no"] for row in rows]
    for name, part in (("bank", rows), ("train", rows[:40]), ("test", rows[40:]), ("new", rows)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["id", "age", "job", "y"], *part])
    polars.read_csv(folder / "new.csv").write_parquet(folder / "new.parquet")


def commands():
    """The parsers of all commands, by name."""
    (action,) = [a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return action.choices


def examples(text):
    return re.findall(r"^  (formulakern .*)$", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("examples")
    written(path)
    model = fk.RuleListClassifier(random_state=0)
    data = fk.datasets.read_table(path / "bank.csv")
    model.fit(data.data.select(["age", "job"]), data.target).save(path / "model.json")
    return path


def test_every_command_has_examples():
    for name, parser in commands().items():
        shown = examples(parser.format_help())
        assert shown, name
        assert all(line.split()[1] == name for line in shown)
        assert parser.description.endswith(".")
    assert len(examples(_parser().format_help())) >= 3


HELPS = [parser.format_help() for parser in (_parser(), *commands().values())]


@pytest.mark.parametrize("line", [line for text in HELPS for line in examples(text)])
def test_examples_run(line, folder, capsys, monkeypatch):
    """Run the examples in the order of the help; the models are small and quick."""
    monkeypatch.chdir(folder)
    words = shlex.split(line)[1:]
    if words[0] == "learn" and not {"--model", "--formula"} & {*words}:
        words += ["--model", "rules"]
    if words[0] == "compare" and not {"--models", "--formula"} & {*words}:
        words += ["--models", "rules"]
    if words[0] in ("learn", "compare") and "-o" not in words and "--picture" not in words:
        words += ["--cv", "0"] if words[0] == "learn" else []
    if words[0] == "report" or {"-o", "--out", "--picture", "--html"} & {*words}:
        words.append("--force")
    status, out, err = run(capsys, *words)
    assert (status, err) == (0, "")
    assert out.strip()


def test_what_the_examples_made(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    model = fk.load("model.json")
    done = run(capsys, "predict", "model.json", "new.parquet", "-o", "p.parquet", "--force")
    assert done[0] == 0
    frame = polars.read_parquet("p.parquet")
    names = list(model.feature_names_in_)
    assert frame["prediction"].to_list() == model.predict(frame.select(names)).tolist()
    run(capsys, "predict", "model.json", "new.parquet", "-o", "p.csv")
    run(capsys, "predict", "model.json", "new.csv", "-o", "q.csv")
    assert (folder / "p.csv").read_text() == (folder / "q.csv").read_text()
    run(capsys, "export", "model.json", "--python", "-o", "made.py")
    found = {}
    exec((folder / "made.py").read_text(encoding="utf-8"), found)
    with (folder / "new.csv").open() as file:
        rows = [found["predict"](row, missing=("", "?")) for row in csv.DictReader(file)]
    assert rows == frame["prediction"].to_list()
    _, several, _ = run(capsys, "explain", "model.json", "new.csv", "--row", "5,1-2")
    alone = [run(capsys, "explain", "model.json", "new.csv", "--row", k)[1] for k in (5, 1, 2)]
    assert several == "\n".join(f"row {k}: {t}" for k, t in zip((5, 1, 2), alone, strict=True))


def test_datasets(capsys, tmp_path):
    out = run(capsys, "datasets")[1]
    assert all(name in out for name in fk.datasets.BUILT_IN)
    path = tmp_path / "m.csv"
    run(capsys, "datasets", "monks-1", "-o", path)
    made, whole = fk.datasets.read_table(path), fk.datasets.monks(1)
    assert made.data == whole.data
    assert made.target.tolist() == whole.target.tolist()


def test_identifiers_are_told(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    _, out, err = run(capsys, "learn", "bank.csv", "--model", "rules", "--cv", "0")
    assert (
        '"id" has a different value in every row, like an identifier; leave it out with --drop id'
        in " ".join(out.split())
    )
    assert "identifier" not in err
    out = run(capsys, "learn", "bank.csv", "--drop", "id", "--model", "rules", "--cv", "0")[1]
    assert "identifier" not in out


def test_novelty(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = ("--model", "novelty", "--drop", "id", "--test", "test.csv", "-o", "new.json")
    status, out, _ = run(capsys, "learn", "train.csv", *words)
    assert status == 0
    assert 'the column "y" is left out' in out
    assert "of 20 rows" in out
    rows = fk.datasets.read_table("bank.csv").data.select(["age", "job"])
    assert {*fk.load("new.json").predict(rows).tolist()} <= {-1, 1}


# -- what is wrong ---------------------------------------------------------------------------------

WRONG = {
    "a folder for a file": ("predict model.json .", "is a folder"),
    "no such file": ("predict model.json knew.csv", "did you mean new.csv?"),
    "a folder to write to": ("predict model.json new.csv -o .", "is a folder; name a file"),
    "no folder": ("learn bank.csv -o there/model.json", "there is no folder there"),
    "text as Parquet": ("predict model.json new.csv -o q.parquet", "whose columns have no types"),
    "no such row": ("explain model.json new.csv --row 1,99", "there is no row 99"),
    "row 0": ("explain model.json new.csv --row 0", "names no rows"),
    "too many rows": ("explain model.json new.csv --row 1-999999999", "more than 1,000 rows"),
    "no such dialect": (
        "export model.json --sql oracle",
        f"dialect='oracle'; expected one of {', '.join(map(repr, get_args(DialectName)))}.",
    ),
    "no such class": ("learn bank.csv --class z", 'no column "z" in bank.csv'),
    "the class is dropped": ("learn bank.csv --drop y", "which is the column to predict"),
    "no such set": ("datasets monks-9", "no built-in data set"),
    "all sets in a file": ("datasets -o all.csv", "needs the name of a table"),
    "no such encoding": ("learn bank.csv --encoding utf-99", "expected an encoding of Python"),
    "a long delimiter": ("learn bank.csv --delimiter ;;", "expected one character"),
    "no picture": ("compare bank.csv --picture scores.doc", "a picture is a file of"),
    "nothing to score": ("compare bank.csv --models novelty", "has no score"),
    "a table as a model": ("show bank.csv", "is not JSON, or damaged"),
    "a kernel of numbers on text": (
        "learn tic-tac-toe --model choquet",
        "this kernel reads finite numbers",
    ),
    "a kernel of strings without strings": ("learn monks-1 --model strings", "columns of text"),
    "nominal columns of another learner": (
        "learn monks-1 --model choquet --nominal all",
        'no parameter "encoder"',
    ),
    "a negative number of folds": ("learn bank.csv --cv -3", "cv"),
}  # fmt: skip


#: What is seen only when the work has begun.
AT_WORK = {"a negative number of folds"}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_words(case, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    line, said = WRONG[case]
    status, out, err = run(capsys, *shlex.split(line))
    assert status == 1
    assert out == "" or case in AT_WORK
    assert said in err
    assert err.startswith("formulakern: ")
    assert "Traceback" not in err


word = st.sampled_from(
    ["", " ", "0", "-1", "1e9", "nan", "model.json", "bank.csv", "new.parquet", "empty.csv", ".",
     "/dev/null", "none", "id", "y", "age,job", "--", "größe", "\x1b[31m", "'; DROP", "a\nb",
     "a & b", "a &", "all", "hkl", "rules", "C=1", "damaged.json", "\ud800"]
)  # fmt: skip
option = st.sampled_from(
    ["--target", "--drop", "--encoding", "--delimiter", "--set", "--model", "--models", "--row",
     "--top", "--sql", "--table", "--cv", "--seed", "--max-rows", "--time-limit", "--variables"]
)  # fmt: skip


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    command=st.sampled_from(
        ["learn", "show", "predict", "explain", "export", "inspect", "datasets"]
    ),
    words=st.lists(word, max_size=2),
    options=st.lists(st.tuples(option, word), max_size=2),
)
def test_any_words_end_in_a_sentence(command, words, options, folder, capsys, monkeypatch):
    """Return the exit status, and check that standard error has our message or argparse's."""
    monkeypatch.chdir(folder)
    (folder / "empty.csv").write_text("")
    whole = json.loads((folder / "model.json").read_text())
    whole["model"] = []
    (folder / "damaged.json").write_text(json.dumps(whole))
    if command == "learn":
        words = [*words[:1], "--model", "rules", "--cv", "0"]
    try:
        status = main([command, *words, *(part for pair in options for part in pair)])
    except SystemExit as error:
        status = error.code
    err = capsys.readouterr().err
    assert status in (0, 1, 2)
    assert "Traceback" not in err
    if status == 1:
        assert err.startswith("formulakern: ")
        assert re.search(r"[.?)\"]$", err.strip()), err
