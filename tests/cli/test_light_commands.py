"""Commands on saved rules load no learner, and give the learner's results."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from command_line import FRUIT, explained, run

import formulakern as fk
from formulakern.datasets import read_table

HEAVY = {"dask", "numba", "pandas", "scipy", "sklearn", "sympy"}
PROGRAM = """
import contextlib, io, json, sys
from formulakern.cli import main
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(words) == 0, words
    heavy = sorted(set(json.loads(sys.argv[2])) & set(sys.modules))
    print(json.dumps([words[0], heavy, out.getvalue()]))
"""

MODELS = {
    "HKL": lambda X, y: fk.HKLClassifier().fit(X, y),
    "HKL, regression": lambda X, y: fk.HKLRegressor().fit(X, X["size"]),
    "PRL": lambda X, y: fk.PRLClassifier(degree=2).fit(X, y),
    "rule list": lambda X, y: fk.RuleListClassifier(random_state=0).fit(X, y),
    "score card": lambda X, y: fk.HKLClassifier().fit(X, y).to_points(X, y, 5),
}


@pytest.fixture
def fruit(tmp_path):
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT)
    return path


def saved(fruit, make):
    """The path of a model of the fruit, and the model as it is read again."""
    path = fruit.with_name("model.json")
    make(*read_table(fruit)).save(path)
    return path, fk.load(path)


def printed(program, *arguments):
    """Return the output of a program in a process of its own."""
    words = [sys.executable, "-c", program, *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=900).stdout


@pytest.mark.parametrize("name", MODELS)
def test_commands_load_no_learner(name, fruit):
    path, model = saved(fruit, MODELS[name])
    X = read_table(fruit).data
    expected = {
        ("show", path): None,
        ("explain", path, fruit, "--row", 2): explained(model, X[[1]]) + "\n",
        ("predict", path, fruit): None,
        ("export", path, "--sql", "duckdb"): model.to_sql(dialect="duckdb").rstrip("\n") + "\n",
        ("export", path, "--python"): model.to_python().rstrip("\n") + "\n",
        ("export", path, "--json"): model.rules_.to_json().rstrip("\n") + "\n",
    }
    if name != "HKL, regression":  # its report needs scikit-learn
        expected["report", path, fruit, "-o", fruit.with_name("light.html")] = None
    commands = [list(map(str, words)) for words in expected]
    arguments = [json.dumps(commands), json.dumps(sorted(HEAVY))]
    lines = map(json.loads, printed(PROGRAM, *arguments).splitlines())
    for (command, heavy, out), text in zip(lines, expected.values(), strict=True):
        assert not heavy, command
        if command == "show":
            assert f"│ {' '.join(repr(model).split())}\n" in out
            assert f"\n{model.rules_}\n" in out
            assert "formulakern report" in out
        elif command == "predict":
            found = [line.rpartition(",")[2] for line in out.splitlines()[1:]]
            assert found == list(map(str, model.predict(X).tolist()))
        elif command == "report":
            model.report(fruit.with_name("whole.html"), *read_table(fruit))
            pages = [fruit.with_name(f"{which}.html").read_text() for which in ("light", "whole")]
            light, whole = (re.split(r'aria-label="Parameters">[^<]*<', page) for page in pages)
            assert light == whole
        else:
            assert out == text


@pytest.mark.parametrize("words", [["--help"], ["show", "--help"]])
def test_help_loads_no_numbers(words):
    program = "import sys\nfrom formulakern.cli import main\ntry: main(sys.argv[1:])\nexcept "
    program += "SystemExit: print(*sys.modules)"
    loaded = set(printed(program, *words).split())
    assert "argparse" in loaded
    assert not loaded & (HEAVY | {"polars"} | ({"numpy"} if len(words) == 1 else set()))


@pytest.mark.parametrize("name", ["rule list", "score card", "HKL"])
def test_probabilities_are_those_of_the_model(name, fruit, capsys):
    path, model = saved(fruit, MODELS[name])
    _, out, _ = run(capsys, "predict", path, fruit, "--probabilities")
    found = [line.split(",")[-2:] for line in out.splitlines()[1:]]
    expected = model.predict_proba(read_table(fruit).data).tolist()
    assert found == [list(map(str, row)) for row in expected]
    if name == "HKL":
        arguments = [json.dumps([["predict", str(path), str(fruit), "--probabilities"]])]
        [line] = printed(PROGRAM, *arguments, json.dumps(sorted(HEAVY))).splitlines()
        assert not json.loads(line)[1]


REFUSED = {
    "an unknown value": ("unknown", "blue,3,1\n", "not one of the values"),
    "a missing value": ("missing", ",3,1\n", "missing"),
    "text for a number": (None, "red,small,1\n", "needs numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_encoder_refuses(name, fruit, capsys):
    parameter, row, problem = REFUSED[name]
    encoder = fk.PropositionEncoder(**({parameter: "error"} if parameter else {}))
    X, y = read_table(fruit)
    known = [not absent for absent in X.missing("colour")]
    path = fruit.with_name("model.json")
    fk.HKLClassifier(encoder=encoder).fit(X[known], y[known]).save(path)
    rows = fruit.with_name("rows.csv")
    rows.write_text("colour,size,ripe\n" + row)
    for command in ("predict", "explain"):
        status, _, err = run(capsys, command, path, rows)
        assert status == 1
        assert problem in err


@pytest.mark.filterwarnings("default:Values not seen")
def test_new_values_are_noted(fruit, capsys):
    path, _ = saved(fruit, MODELS["HKL"])
    rows = fruit.with_name("rows.csv")
    rows.write_text("colour,size,ripe\n" + "blue,3,1\n" * 20)
    _, _, err = run(capsys, "predict", path, rows)
    assert 'note: Values not seen in training are in "colour"' in err


def test_earlier_files_are_read_by_their_learner(fruit, capsys):
    path, model = saved(fruit, MODELS["HKL"])
    _, expected, _ = run(capsys, "show", path)
    whole = json.loads(path.read_text())
    del whole["text"]
    path.write_text(json.dumps(whole))
    assert run(capsys, "show", path) == (0, expected, "")
    text = explained(model, read_table(fruit).data[:1])
    assert run(capsys, "explain", path, fruit) == (0, f"{text}\n", "")


def test_rules_without_an_encoder_are_read_by_their_learner(fruit, capsys):
    X, y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 5), list("xyxy") * 5
    model = fk.HKLClassifier(encoder=None).fit(X, y)
    path = fruit.with_name("model.json")
    model.save(path)
    fruit.write_text("x0,x1\n1,0\n0,1\n")
    assert str(model.rules_) in run(capsys, "show", path)[1]
    expected = "x0,x1,prediction\n1,0,x\n0,1,y\n"
    assert run(capsys, "predict", path, fruit) == (0, expected, "")
