"""The cost of commands and first calls: ``pytest -s tests/benchmarks/test_commands.py``.

Every command runs in a process of its own.  Prints the CPU seconds of the process (a median of
five), these seconds as a multiple of those of ``import numpy``, and the number of modules that the
process imported.  With ``FORMULAKERN_BEFORE=FOLDER``, another checkout of the repository, each
command runs in both in turns, and its figures there are printed beside them.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import FRUIT

HERE = Path(__file__).parents[2]
BEFORE = os.environ.get("FORMULAKERN_BEFORE")
CHECKOUTS = [HERE] if BEFORE is None else [HERE, Path(BEFORE)]
DATA = Path(os.environ.get("FORMULAKERN_DATA", HERE.parent / "shared" / "data"))
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
COMMAND = "from formulakern.cli import main; sys.exit(main(sys.argv[1:]))"
FITTED = "import formulakern as fk; X, y = fk.datasets.read_table(sys.argv[1]); model = fk.{}"
MODELS = {
    "HKL": "HKLClassifier().fit(X, y)",
    "PRL": "PRLClassifier().fit(X, y)",
    "rule list": "RuleListClassifier(random_state=0).fit(X, y)",
    "score card": "HKLClassifier().fit(X, y).to_points(X, y, 5)",
    "SVM": "FormulaSVC().fit(X, y)",
}


def once(checkout, code, *words, program=PROGRAM):
    """The numbers that a process prints at last, the first its CPU seconds; NaN if it fails."""
    command = [sys.executable, "-c", program.format(code=code), *map(str, words)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=900, cwd=checkout
    )
    if done.returncode and checkout == HERE:
        raise RuntimeError(done.stderr)
    if done.returncode:
        return [float("nan")] * 4
    return [float(number) for number in done.stderr.splitlines()[-1].split()]


def costs(code, *words, repetitions=REPETITIONS):
    """The medians of every checkout, in turns; a word may be a mapping from checkouts."""
    found = [
        [
            once(place, code, *(w[place] if isinstance(w, dict) else w for w in words))[:2]
            for place in CHECKOUTS
        ]
        for _ in range(repetitions)
    ]
    return np.median(found, axis=0)


@pytest.fixture(scope="module")
def numpy_seconds():
    numbers = costs("import numpy")
    head = f"\n    {'command':<36} {'CPU s':>6}  {'x numpy':>7}  {'modules':>7}"
    print(head + f"  {'CPU s before':>12}  {'modules before':>14}" * (BEFORE is not None))
    report("import numpy", numbers, numbers[0, 0])
    return numbers[0, 0]


def report(what, numbers, unit):
    (seconds, modules), *before = numbers
    line = f"    {what:<36} {seconds:6.2f}  {seconds / unit:7.1f}  {modules:7.0f}"
    print(line + "".join(f"  {then:12.2f}  {others:14.0f}" for then, others in before))


@pytest.mark.parametrize("name", MODELS)
def test_commands_on_a_model(name, numpy_seconds, tmp_path):
    table = tmp_path / "fruit.csv"
    table.write_text(FRUIT)
    models = {checkout: tmp_path / f"model{k}.json" for k, checkout in enumerate(CHECKOUTS)}
    for checkout, model in models.items():
        once(checkout, f"{FITTED.format(MODELS[name])}; model.save(sys.argv[2])", table, model)
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
        numbers = costs(COMMAND, command, models, *more)
        option = "".join(f" {word}" for word in more[:1] if command == "export")
        report(f"{name}: {command}{option}", numbers, numpy_seconds)
        assert name == "SVM" or numbers[0, 0] < 4 * GOAL * numpy_seconds


def test_other_commands(numpy_seconds):
    for words in (("--help",), ("show", "--help"), ("inspect", "a & b"), ("datasets",)):
        report(" ".join(words), costs(COMMAND, *words), numpy_seconds)
    report("import formulakern", costs("import formulakern"), numpy_seconds)


@pytest.mark.parametrize("file", ["bank-marketing-4521.csv", "tic-tac-toe.csv"])
def test_learning_in_a_fresh_process(file, numpy_seconds, tmp_path):
    if not (DATA / file).exists():
        pytest.skip("needs the data sets of FORMULAKERN_DATA")
    fit, saved = FITTED.format(MODELS["HKL"]), tmp_path / "model.json"
    for what, code, words in (
        ("HKLClassifier().fit", fit, (DATA / file,)),
        ("learn", COMMAND, ("learn", DATA / file, "-o", saved, "--force")),
    ):
        costs(code, *words, repetitions=1)  # compiles
        report(f"{what}: {file}", costs(code, *words), numpy_seconds)
    imports = costs("import numpy, sklearn.linear_model, sklearn.utils.validation")
    report("import of scikit-learn's linear models", imports, numpy_seconds)


#: Prints the CPU seconds of a fit to every second row, its gap, its accuracy on the others, and its
#: number of rules.
SIZED = """
import resource, sys, time
import numpy as np
import formulakern as fk
resource.setrlimit(resource.RLIMIT_CPU, (900, 900))
X, y = fk.datasets.read_table(sys.argv[1])
train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
fk.{code}.fit(X[train[:400]], y[train[:400]])  # compiles
begin = time.process_time()
model = fk.{code}.fit(X[train], y[train])
seconds = time.process_time() - begin
gap, rules = getattr(model, "gap_", float("nan")), len(getattr(model, "rules_", ()))
print(seconds, gap, np.mean(model.predict(X[test]) == y[test]), rules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("learner", "file"),
    [
        ("PRLClassifier()", "nursery.csv.gz"),
        ("PRLClassifier()", "adult-train.csv.gz"),
        ("HKLClassifier()", "nursery.csv.gz"),
        ("HKLClassifier()", "adult-train.csv.gz"),
        ("HKLClassifierCV()", "tic-tac-toe.csv"),
        ("HKLClassifierCV()", "bank-marketing-4521.csv"),
        ("HKLClassifierCV()", "adult-train.csv.gz"),
        ("FormulaSearch(random_state=0)", "tic-tac-toe.csv"),
    ],
)
def test_learners_at_size(learner, file):
    if not (DATA / file).exists():
        pytest.skip("needs the data sets of FORMULAKERN_DATA")
    now, *before = (once(place, learner, DATA / file, program=SIZED) for place in CHECKOUTS)
    figures = "CPU s {:.1f}, gap {:.1e}, accuracy {:.4f}, {:.0f} rules"
    texts = [figures.format(*now), *("before: " + figures.format(*then) for then in before)]
    print(f"\n    {learner}, {file}: {'; '.join(texts)}", end="")
    assert now[0] < 300
