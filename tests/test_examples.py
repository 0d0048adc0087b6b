"""Every example runs quickly, without a warning, and prints something to read."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from formulakern.compilation import NOTICE

EXAMPLES = Path(__file__).parent.parent / "examples"
#: what scripts share
SHARED = ("protocol.py", "radius_margin_report.py", "league_learners.py", "league_report.py")
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in SHARED)
#: What a script is called with, and a text that its output has, with numbers between bounds.
QUICK = {
    "00_a_model_to_read.py": ([], "PRL: {8..20} rules, {95..100} % right"),
    "01_first_kernel.py": ([], "K(dog, bat) = 4, counted one pair of columns at a time: 4"),
    "02_tic_tac_toe.py": (["--quick"], "distinct  s*(s - 2)*(s - 1)/6 {95..100} ± {0..5}"),
    "03_any_table.py": ([], "new patients: ill, ill"),
    "04_scikit_learn.py": ([], "GaussianProcessRegressor  R² = {0.7..1}, ± {0..1}"),
    "05_results_table.py": (["--quick"], "| 625 rows, 3 classes | AUC | {50..100} ± {0..20} | "),
    "06_large_formulas.py": ([], "both scales give the same cosines: True"),
    "07_target_formula.py": (["--quick"], "target about 1 (0.995) at 200; this run: {0.9..1} "),
    "08_radius_margin.py": (
        ["--quick", "--sets", "promoters"],
        "a smaller ratio goes with a larger AUC on {0..1} of 1, with a smaller one on {0..1}",
    ),
    "09_rules_of_an_svm.py": (["--quick"], "Three x in a row: 8 of the eight heaviest."),
    "10_prl_paper.py": (["--quick"], "level 3: {99..100} / {99..100} / {99..100} (published: "),
    "10_prl_large.py": (["--quick"], "| mushroom | 150 | 150 | 2 | {1..3} | {1..16} | {2..99} | "),
    "11_hkl_tables.py": (["--quick"], "| monks-3 | {0.9..1} ({1..20}) | "),
    "11_hkl_scale.py": (["--quick"], "| mushroom | 731 | 7,393 | 2 | {1..10} | 4 | {1..99} | "),
    "12_rule_lists.py": (["--quick"], "| tic-tac-toe | {90..100} | {70..100} | {60..80} | "),
    "13_choquet.py": (["--quick"], "| den-bosch-normalised (1) | {0..35} ± {0..25} | "),
    "14_sequences.py": (["--quick"], "GT           30"),
    "15_graded.py": (["--quick"], "| den-bosch-normalised | {70..100} ± {0..20} | "),
    "16_league.py": (["--quick"], "| tree | {0.5..1} | {0.5..1} | {0.5..1} | {0..5} | {1..5} | "),
    "17_ordered_classes.py": (["--quick"], "| balance-scale | {0.5..1} | {0.5..1} | {0.4..1} | "),
    "18_multiple_kernels.py": (["--quick"], "a1 = 1 & a2 = 1"),
    "19_formula_features.py": (["--quick"], "| a & b, all features, LinearSVC | 7,626 | "),
    "20_kernel_machines.py": (
        ["--quick"],
        "| flush | 2,000 | 85 | 1 | {0..999} | {0..999} | {0..0.001} | {2..2000} | ",  # gap <= tol
    ),
    "24_time_limits.py": (["--quick"], "| tic-tac-toe | HKLClassifierCV | 0.5 | "),
    "21_cache_attacks.py": (["--quick"], "planted code ran in 0 of "),
    "22_probabilities.py": (["--quick"], "| PRLClassifier, calibrated | {0.3..0.8} |"),
    "23_sql.py": (["--quick"], "| sqlite | 20 | {20..999} | 0 |"),
    "25_memory.py": (["--quick"], "| or | free | {0..4096} MB, {0..900} s |"),
    "26_report.py": (["report.html"], "their sums are the decisions: True"),
    "27_pictures.py": (["--quick"], "Draw the score of one row as a sum: "),
    "28_same_everywhere.py": (["--quick"], " predictions compared, 0 different."),
    "29_logic.py": ([], "= (a | b) & (c | d)"),
    "29_logic_times.py": (["--quick"], "| count models | carry of 2 bits | "),
    "30_dask_arrays.py": (["--quick"], "those of the kernel in memory: True"),
    "31_beyond_memory.py": (
        ["--quick"],
        "| prl | planted | 2,000 | 0.00 | 2 | {0..999} | {0..999} | {0..1} | ",  # gap <= tol, 1 %
    ),
    "32_search_on_a_cluster.py": (
        ["--quick"],
        "| FormulaSearch | {0..999} | {0..999} | {0..999} | yes |",
    ),
    "33_growth.py": (["--quick"], "| 1,000 | {0..60} ({80..95}) |"),
    "34_points.py": (
        [],
        "| bank-marketing | points up to 10 | {3..20} | {0.1..0.3} | {0.1..0.3} | {85..95} |",
    ),
    "picture.py": (["picture.png"], "100 % of unseen robots right"),
}
#: Bounds in such a text, and a number in the output.
BOUNDS, NUMBER = r"\{([\d.]+?)\.\.([\d.]+)\}", r" *(-?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?)"

#: scripts that draw
DRAWING = {
    "00_a_model_to_read.py", "04_scikit_learn.py", "07_target_formula.py", "08_radius_margin.py",
    "09_rules_of_an_svm.py", "10_prl_paper.py", "13_choquet.py", "14_sequences.py",
    "16_league.py", "27_pictures.py", "picture.py",
}  # fmt: skip


#: The end of a line of progress on a slow machine.
PROGRESS = re.compile(r", [\d:.]+ (s|min)$")

#: Importing what scripts use takes longer than many scripts: it is done once, in a process that
#: then forks for each script.  A fork ends without freeing what it shares with that process.
RUNNER = """
import atexit, gc, importlib, json, multiprocessing, os, pkgutil, runpy, sys
import dask.dataframe, distributed, joblib, matplotlib.pyplot, numba.typed, pandas
import scipy.stats, sympy.tensor
import sklearn.compose, sklearn.ensemble, sklearn.gaussian_process, sklearn.impute
import sklearn.isotonic, sklearn.manifold, sklearn.model_selection, sklearn.svm
import formulakern

def run(folder, arguments, environment):
    os.chdir(folder)
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), descriptor)
    os.environ.update(environment)
    sys.argv = arguments
    sys.path[0] = os.path.dirname(arguments[0])
    runpy.run_path(arguments[0], run_name="__main__")
    gc.collect()  # a file that is still open is a warning
    atexit._run_exitfuncs()

for module in pkgutil.walk_packages(formulakern.__path__, "formulakern."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
numba.njit(lambda x: x)(1)  # the compiler imports more
gc.freeze()
for line in sys.stdin:
    process = multiprocessing.get_context("fork").Process(target=run, args=json.loads(line))
    process.start()
    process.join()
    print(process.exitcode, flush=True)
"""


#: Libraries for tables have threads of their own, which do nothing while this process forks.
THREADS = "ignore::DeprecationWarning:multiprocessing.popen_fork"


@pytest.fixture(scope="module")
def runner():
    """A function that runs a script in a process of its own."""
    if not hasattr(os, "fork"):
        yield run
        return
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-W", THREADS, "-c", RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def forked(script: str, arguments: list[str], folder: Path, **environment: str) -> str:
            task = [str(folder), [str(EXAMPLES / script), *arguments], environment]
            print(json.dumps(task), file=process.stdin, flush=True)
            code = process.stdout.readline()
            texts = [(folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr")]
            return checked(int(code), *texts)

        yield forked


def run(script: str, arguments: list[str], folder: Path, **environment: str) -> str:
    """Return the output of a script; it may take as long as it likes."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / script), *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return checked(done.returncode, done.stdout, done.stderr)


def checked(code: int, stdout: str, stderr: str) -> str:
    """Return the output of a script that ended well and without a warning."""
    assert code == 0, stderr
    lines = stderr.replace(f"{NOTICE}\n", "", 1).splitlines()  # slow, with an empty cache
    assert not [line for line in lines if not PROGRESS.search(line)]
    return stdout


def assert_promised(text: str, output: str) -> None:
    """The text is in the output, and its numbers are between their bounds."""
    parts = re.split(BOUNDS, text)
    found = re.search(NUMBER.join(map(re.escape, parts[::3])), output)
    assert found, output
    for number, least, most in zip(found.groups(), parts[1::3], parts[2::3], strict=True):
        assert float(least) <= float(number.replace(",", "")) <= float(most), found[0]


def skip_without(output: str, sentence: str) -> None:
    """Skip the test if the script prints that something is missing."""
    for line in output.splitlines():
        if sentence in line:
            pytest.skip(line)


@pytest.mark.parametrize("script", SCRIPTS)
def test_example_runs(script, tmp_path, runner):
    arguments, expected = QUICK[script]
    output = runner(script, arguments, tmp_path)
    skip_without(output, "This example reads")
    if script == "picture.py":
        skip_without(output, "matplotlib is not installed")
    assert_promised(expected, output)
    if "|---" not in output:  # tables in Markdown are not for terminals
        lines = [line for line in output.splitlines() if not line.startswith("Saved ")]
        assert max(map(len, lines)) <= 100
    pictures = re.findall(r"^Saved (.*\.png)", output, flags=re.MULTILINE)
    for picture in pictures:
        assert 10_000 < (tmp_path / picture).stat().st_size < 500_000
    skip_without(output, "matplotlib is not installed")  # the rest has been tested
    assert bool(pictures) == (script in DRAWING)


def test_missing_data_is_said_in_a_sentence(tmp_path, runner):
    output = runner("05_results_table.py", ["--quick"], tmp_path, FORMULAKERN_DATA=str(tmp_path))
    assert "Set FORMULAKERN_DATA to a folder" in output


def test_missing_matplotlib_is_said_in_a_sentence(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')\n")
    output = run("picture.py", [], tmp_path, PYTHONPATH=str(tmp_path))
    assert "No picture: matplotlib is not installed" in output


def test_every_example_says_what_it_shows():
    for script in (*SCRIPTS, *SHARED):
        source = (EXAMPLES / script).read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(source)), script


def test_every_example_is_listed():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert set(SCRIPTS) == set(QUICK)
    assert all(f"[{script}]({script})" in readme for script in SCRIPTS)


@pytest.fixture
def league(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    yield importlib.import_module("league_report")
    for name in ("league_report", "protocol"):
        sys.modules.pop(name)


def test_critical_difference_is_the_published_one(league):
    # Demsar (2006), Table 5a; and its example of four learners on fourteen tables
    for learners, q in ((2, 1.960), (4, 2.569), (7, 2.949), (10, 3.164)):
        ours = league.critical_difference(learners, learners * (learners + 1))
        assert ours * 6**0.5 == pytest.approx(q, abs=1e-3)
    assert round(league.critical_difference(4, 14), 2) == 1.25


def test_ranks_share_places_and_groups_are_the_longest(league):
    assert league.mean_ranks([[0.9, 0.9, 0.1], [0.2, 0.3, 0.4]]).tolist() == [2.25, 1.75, 2.0]
    assert league.groups([1.0, 1.5, 2.0, 3.5, 3.9], 1.0) == [(0, 2), (3, 4)]
    assert league.groups([1.0, 2.0, 3.0], 1.5) == [(0, 1), (1, 2)]
    assert league.groups([1.0, 3.0], 1.5) == []


def test_league_resumes(league, tmp_path):
    task = ("car", 30, 0, "tree")
    line = dict(zip(league.KEYS, task, strict=True)) | {"settings": "a"}
    path = tmp_path / "results"
    assert league.saved(path) == {}
    lines = [line | {"accuracy": 0.5}, line | {"accuracy": 0.7}]
    texts = [*map(json.dumps, lines), json.dumps(lines[0])[:-4], ""]
    path.write_text("\n".join(texts), encoding="utf-8")
    assert league.saved(path) == {task: lines[1]}
    assert league.valid(league.saved(path), {"tree": "a"}, 120) == {task: lines[1]}
    assert league.valid(league.saved(path), {"tree": "b"}, 120) == {}
    late = {task: line | {"too_long": 60}}
    assert league.valid(late, {"tree": "a"}, 60) == late
    assert league.valid(late, {"tree": "a"}, 120) == {}
    assert league.hopeless(("car", 70, 3, "tree"), late)
    assert not league.hopeless(("car", 10, 3, "tree"), late)
    assert not league.hopeless(("car", 70, 3, "forest"), late)
    assert not league.hopeless(("cmc", 70, 3, "tree"), late)
