"""The cost of commands on saved models: ``pytest -s tests/benchmarks/test_commands.py``.

Prints for every command the CPU seconds of its process (a median of five), these seconds as a
multiple of those of ``import numpy``, and how many modules the process imported.
"""

import subprocess
import sys

import numpy as np
import pytest

import formulakern as fk
from tests.command_line import FRUIT

REPETITIONS = 5
#: The most that a command on rules should cost, in units of ``import numpy``.
GOAL = 7
PROGRAM = """
import sys, time
try:
    {code}
finally:
    print(time.process_time(), len(sys.modules), file=sys.stderr)
"""

MODELS = {
    "HKL": lambda X, y: fk.HKLClassifier().fit(X, y),
    "PRL": lambda X, y: fk.PRLClassifier().fit(X, y),
    "rule list": lambda X, y: fk.RuleListClassifier(random_state=0).fit(X, y),
    "score card": lambda X, y: fk.HKLClassifier().fit(X, y).to_points(X, y, 5),
    "SVM": lambda X, y: fk.FormulaSVC().fit(X, y),
}


def cost(*words, code="from formulakern.cli import main; main(sys.argv[1:])"):
    """The median CPU seconds of a process, and the number of modules that it imports."""
    command = [sys.executable, "-c", PROGRAM.format(code=code), *map(str, words)]
    found = []
    for _ in range(REPETITIONS):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
        found.append([float(number) for number in done.stderr.splitlines()[-1].split()])
    seconds, modules = np.median(found, axis=0)
    return float(seconds), int(modules)


@pytest.fixture(scope="module")
def numpy_seconds():
    seconds, modules = cost(code="import numpy")
    print(f"\n    {'command':<30} {'CPU s':>6}  {'x numpy':>7}  {'modules':>7}")
    report("import numpy", seconds, seconds, modules)
    return seconds


def report(what, seconds, unit, modules):
    print(f"    {what:<30} {seconds:6.2f}  {seconds / unit:7.1f}  {modules:7}")


@pytest.mark.parametrize("name", MODELS)
def test_commands_on_a_model(name, numpy_seconds, tmp_path):
    table, model = tmp_path / "fruit.csv", tmp_path / "model.json"
    table.write_text(FRUIT)
    MODELS[name](*fk.datasets.read_table(table)).save(model)
    for command, *more in (
        ("show",),
        ("explain", table),
        ("predict", table),
        ("export", "--sql", "duckdb"),
        ("export", "--python"),
        ("export", "--json"),
        ("report", table, "--force", "-o", tmp_path / "report.html"),
    ):
        if name == "SVM" and command in ("explain", "export"):
            continue
        seconds, modules = cost(command, model, *more)
        option = "".join(f" {word}" for word in more[:1] if command == "export")
        report(f"{name}: {command}{option}", seconds, numpy_seconds, modules)
        assert name == "SVM" or seconds < 4 * GOAL * numpy_seconds


def test_other_commands(numpy_seconds):
    for words in (("--help",), ("show", "--help"), ("inspect", "a & b"), ("datasets",)):
        seconds, modules = cost(*words)
        report(" ".join(words), seconds, numpy_seconds, modules)
