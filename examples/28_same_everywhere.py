"""The same predictions everywhere: command line, JSON in another process, SQL, Python, the model
==============================================================================================

Every learner of the library runs through ``learn``, ``show``, ``predict`` and ``export`` on five
tables: words, whole numbers, missing entries, three classes, mixed columns.  Regression learners
predict one of the numeric columns.  Every row is predicted by the fitted model, by ``formulakern
predict`` from the file, by ``fk.load`` in another process, by the exported query in SQLite and in
DuckDB, and by the exported Python, which reads the texts of the file.  Models without rules have no
query.  At most 400 rows of each table are used.  All but two of the tables are read from
FORMULAKERN_DATA; --quick takes 60 rows of these two, and only fast learners.

In a shell::

    python examples/28_same_everywhere.py [--quick]
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from protocol import markdown, path_of

import formulakern as fk
from formulakern.cli import main
from formulakern.cli.learning import learner as made_learner
from formulakern.registry import LEARNERS

QUICK = "--quick" in sys.argv[1:]
ROWS = 60 if QUICK else 400
#: Table → the numeric column to predict, or None.
TABLES = {
    "tic-tac-toe": None,
    "balance-scale": "left-weight",
    "breast-cancer-ljubljana": None,
    "cmc": "children",
    "bank-marketing-4521": "age",
}
#: Learners with their own table: this one has strings.
STRINGS = "promoters-sequences"
SLOW = ("hkl-cv", "prl-cv", "svm-cv", "search", "mkl", "hkl-regression")
#: Parameters for short searches.
SETTINGS = {
    "hkl": ["C=10"],
    "hkl-cv": ["cv=2", "Cs=[1, 10]", "depth_penalties=[2]"],
    "prl-published": ["epochs=5", "solver_iterations=2000", "budget=100"],
    "prl-cv": ["cv=2", "Cs=[1, 10]", "degrees=[1]", "depth_penalties=[1]"],
    "search": ["candidates=3", "cv=2"],
    "strings": ["column=sequence"],
}
WAYS = ("file", "JSON", "SQLite", "DuckDB", "Python")
LOADING = """
import json, sys
import formulakern as fk
answers = []
for table, number, path in json.load(sys.stdin):
    X, model = fk.datasets.read_table(table, target=number).data, fk.load(path)
    answers.append(model.predict(X.select(list(getattr(model, "feature_names_in_", X)))).tolist())
json.dump(answers, sys.stdout)
"""


def run(*words):
    """Return the standard output of a command of the library that succeeds."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = main([str(word) for word in words])
    return status, output.getvalue(), errors.getvalue()


def prepared(name, folder):
    """Write the first rows of a table to a file."""
    source = folder / f"{name}-whole.csv"
    if name in fk.datasets.BUILT_IN:
        run("datasets", name, "-o", source)
    else:
        source = path_of(f"{name}.csv")
    lines = Path(source).read_text(encoding="utf-8").splitlines(keepends=True)
    step = max(1, (len(lines) - 1) // ROWS)
    target = folder / f"{name}.csv"
    target.write_text("".join([lines[0], *lines[1::step][:ROWS]]), encoding="utf-8")
    return target


def filled(execute, X):
    """Create a table of a database with these columns."""
    kinds = {"O": "TEXT", "f": "DOUBLE PRECISION", "i": "BIGINT"}
    names = ['"' + name.replace('"', '""') + '"' for name in X.names]
    columns = [f"{q} {kinds[X[name].dtype.kind]}" for q, name in zip(names, X.names, strict=True)]
    execute(f"CREATE TABLE rows ({', '.join(columns)})")
    marks = ", ".join(["?"] * len(columns))
    entries = (
        [None if gone else value for value, gone in zip(X[n].tolist(), X.missing(n), strict=True)]
        for n in X.names
    )
    for row in zip(*entries, strict=True):
        execute(f"INSERT INTO rows VALUES ({marks})", row)


def answers(name, learner, path, folder):
    """Return the predictions of the model itself and of each possible way."""
    model_path = folder / f"{name}-{learner}.json"
    number = TABLES[name] if LEARNERS[learner].predicts_numbers else None
    target = ["--target", number] if number else []
    settings = SETTINGS.get(learner, [])
    words = ["learn", path, "--model", learner, "--cv", 0, "-o", model_path, *target]
    words += [part for text in settings for part in ("--set", text)]
    status, _, error = run(*words)
    if status:  # Choquet models need numbers without missing values
        assert "choquet" in learner, error
        return {}, None
    assert run("show", model_path)[0] == 0
    X, y = fk.datasets.read_table(path, target=number)
    model = made_learner(learner, settings, random_state=0).fit(X, y)
    found = {"model": model.predict(X).tolist()}
    predicted = list(csv.reader(io.StringIO(run("predict", model_path, path)[1])))
    texts = [row[predicted[0].index("prediction")] for row in predicted[1:]]
    found["file"] = [type(a)(t) for a, t in zip(found["model"], texts, strict=True)]
    if hasattr(model, "to_python"):
        made = {}
        exec(run("export", model_path, "--python")[1], made)
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            found["Python"] = [made["predict"](row, missing=("", "?")) for row in rows]
    if not hasattr(model, "to_sql"):
        return found, [str(path), number, str(model_path)]
    with sqlite3.connect(":memory:") as base:
        filled(base.execute, X)
        query = run("export", model_path, "--sql", "sqlite", "--table", "rows")[1]
        found["SQLite"] = [row[-1] for row in base.execute(query)]
    base.close()
    try:
        import duckdb
    except ImportError:
        pass
    else:
        with duckdb.connect(":memory:", config={"threads": 1}) as base:
            filled(base.execute, X)
            query = run("export", model_path, "--sql", "duckdb", "--table", "rows")[1]
            found["DuckDB"] = [row[-1] for row in base.execute(query).fetchall()]
    return found, [str(path), number, str(model_path)]


def different(learner, one, other):
    """Return True if predictions differ; sums of Choquet integrals agree up to rounding."""
    if learner == "choquet-regression":
        return not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one != other


names = list(TABLES)[:2] if QUICK else list(TABLES)
chosen = [name for name in LEARNERS if not (QUICK and name in SLOW) and name != "strings"]
rows = {learner: dict.fromkeys(WAYS, 0) for learner in [*chosen, "strings"]}
tables = dict.fromkeys(rows, 0)
wrong = dict.fromkeys(rows, 0)
with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    tasks = [(name, prepared(name, folder), chosen) for name in names]
    if not QUICK:
        tasks.append((STRINGS, prepared(STRINGS, folder), ["strings"]))
    saved = []
    for name, path, learners in tasks:
        for learner in learners:
            if TABLES.get(name) or not LEARNERS[learner].predicts_numbers:
                found, where = answers(name, learner, path, folder)
                saved += [(learner, found, where)] * bool(found)
    done = subprocess.run(
        [sys.executable, "-c", LOADING],
        input=json.dumps([where for *_, where in saved]),
        capture_output=True,
        text=True,
        check=True,
    )
    for (learner, found, _), loaded in zip(saved, json.loads(done.stdout), strict=True):
        found["JSON"] = loaded
        tables[learner] += 1
        for way in found.keys() & {*WAYS}:
            pairs = zip(found["model"], found[way], strict=True)
            rows[learner][way] += len(found["model"])
            wrong[learner] += sum(different(learner, one, other) for one, other in pairs)

shown = []
for learner, counts in rows.items():
    if tables[learner]:
        cells = [f"{n:,}" if n else "" for n in counts.values()]
        shown.append([f"`{learner}`", str(tables[learner]), *cells, f"{wrong[learner]:,}"])
total = sum(n for counts in rows.values() for n in counts.values())
sums = [f"{sum(counts[way] for counts in rows.values()):,}" for way in WAYS]
shown.append(["all", "", *sums, f"{sum(wrong.values()):,}"])
print("Rows predicted in each way, and the number that differ from the model's predictions.\n")
print(markdown(["learner", "tables", *WAYS, "different"], shown))
print(f"\n{total:,} predictions compared, {sum(wrong.values()):,} different.")
