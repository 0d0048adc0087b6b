"""The command line: its output, files, refusals and exit status."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import FRUIT, run
from rich.console import Console
from scipy.stats import sem
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_validate

import formulakern as fk
from formulakern.cli import kernels, main
from formulakern.datasets import load, read_table
from formulakern.display.terminal import show_inspection
from formulakern.estimators.svm.evaluation import subsample
from formulakern.progress import Progress


@pytest.fixture
def fruit(tmp_path):
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT)
    return path


def scores_of(output):
    """Learner → accuracy, macro F1 and AUC with their spreads, from the printed table."""
    row = re.compile(rf"^(.+?)  +{'  +'.join(['([0-9.]+) ± ([0-9.]+)'] * 3)} ", re.MULTILINE)
    return {name: tuple(map(float, numbers)) for name, *numbers in row.findall(output)}


# -- inspect -----------------------------------------------------------------------------------


def test_inspect_prints_every_stage(capsys):
    status, out, err = run(capsys, "inspect", "~(a -> b)")
    assert (status, err) == (0, "")
    assert out == f"{fk.kernel('~(a -> b)').inspect()}\n"
    for stage in ("text", "tree", "rewrites", "meaning", "program", "closed form", "source"):
        assert re.search(rf"^ *{stage} │ ", out, flags=re.MULTILINE)


def test_inspect_takes_the_options_of_a_kernel(capsys):
    options = ("--variables", "distinct", "--scale", "probability", "--backend", "numba")
    status, out, _ = run(capsys, "inspect", "a & b", *options)
    assert status == 0
    title = "fk.kernel('a & b', variables='distinct', scale='probability', backend='numba')"
    assert out.startswith(title)
    assert "numba, as requested" in out


def test_inspection_is_coloured_on_a_terminal_only(capsys):
    inspection = fk.kernel("(a & ~b) | c").inspect()
    show_inspection(inspection)
    assert capsys.readouterr().out == f"{inspection}\n"
    terminal = Console(force_terminal=True, color_system="standard", width=70, _environ={})
    show_inspection(inspection, terminal)
    coloured = capsys.readouterr().out
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    body = plain.splitlines()[2:]
    assert max(map(len, body)) <= 70
    assert all(line[12:13] == "│" for line in body)
    joined = "".join("".join(line[13:] for line in body).split())
    expected = "".join("".join(section.text for section in inspection.sections).split())
    assert joined == expected


# -- learn with a formula, compare formulas ----------------------------------------------------


def test_learn_a_formula(capsys):
    options = ("--formula", "a & (b & c)", "--variables", "distinct", "--cv", "10", "--top", "8")
    status, out, err = run(capsys, "learn", "tic-tac-toe", *options)
    assert (status, err) == (0, "")
    assert "formula │ a & b & c" in out
    assert "K(x, z) = s*(s - 2)*(s - 1)/6" in out
    assert (
        "table │ tic-tac-toe: 958 rows, 9 columns; 2 classes: negative (332 rows), positive (626)"
        in out
    )
    number = r"([\d.]+) ± [\d.]+"
    score = rf"accuracy {number} in 10 folds; a linear kernel {number}; largest class {number}"
    own, linear, majority = map(
        float, re.search(score, " ".join(out.replace("│", "").split())).groups()
    )
    assert own > 99.5 > linear > 95 > majority
    assert out.count(" for positive: `") == 8
    assert "the 8 heaviest of the model (proven), each always right" in out
    assert max(map(len, out.splitlines())) <= 100


def test_printed_scores_are_those_of_scikit_learn(capsys, fruit):
    """Scores of every formula, on the same folds."""
    formulas = ("a -> b", "a")
    options = [word for formula in formulas for word in ("--formula", formula)]
    status, out, err = run(capsys, "compare", fruit, *options, "--cv", "3", "--seed", "5")
    assert (status, err) == (0, "")
    assert "fruit: 36 rows, 3 columns; 2 classes: apple (12 rows), pear (24)" in out
    assert "the best" not in out
    X, y = read_table(fruit)
    printed = scores_of(out)
    assert {"largest class", "a tree", "logistic regression", *formulas} == {*printed}
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    for formula in formulas:
        found = cross_validate(
            fk.FormulaSVC(formula), X, y, cv=folds, scoring=("accuracy", "f1_macro", "roc_auc")
        )
        measures = (found[f"test_{name}"] for name in ("accuracy", "f1_macro", "roc_auc"))
        expected = [f(values) for values in measures for f in (np.mean, sem)]
        np.testing.assert_allclose(printed[formula], 100 * np.array(expected), atol=0.0051)


def test_several_classes_have_areas_under_curves(capsys, tmp_path):
    """The mean over one-against-rest curves of the difference to the largest other score."""
    path = tmp_path / "three.csv"
    path.write_text("x,z,class\n" + "".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(90)))
    status, out, _ = run(capsys, "compare", path, "--formula", "a & b", "--cv", "3")
    assert status == 0
    X, y = read_table(path)
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    areas = []
    for train, test in folds:
        values = fk.FormulaSVC("a & b").fit(X[train], y[train]).decision_function(X[test])
        for k in range(3):
            margins = values[:, k] - np.delete(values, k, axis=1).max(axis=1)
            areas.append(roc_auc_score(y[test] == k, margins))
    assert scores_of(out)["a & b"][4] == pytest.approx(100 * np.mean(areas), abs=0.0051)


def test_graded_inputs(capsys, fruit, tmp_path):
    """Numbers become degrees in a model, and in a Gram matrix."""
    options = ("--formula", "a & b", "--cv", "3", "--set", "inputs=graded")
    status, out, err = run(capsys, "learn", fruit, *options, "-o", tmp_path / "model.json")
    assert (status, err) == (0, "")
    why = "rules │ none: a model of graded inputs votes by degrees"
    assert why in out
    assert fk.load(tmp_path / "model.json").inputs == "graded"
    path = tmp_path / "K.npy"
    assert run(capsys, "gram", "a & b", fruit, "--out", path, "--inputs", "graded")[0] == 0
    X, _ = read_table(fruit)
    encoded = fk.PropositionEncoder(graded=True).fit_transform(X)
    expected = fk.kernel("a & b", inputs="graded")(encoded)
    np.testing.assert_array_equal(np.load(path), expected)


def test_other_kernels(capsys, tmp_path):
    """The Choquet kernel on numbers, and kernels of strings, have learners of their own."""
    rng = np.random.default_rng(0)
    size = rng.random((40, 2))
    numbers = tmp_path / "numbers.csv"
    lines = [f"{a},{b},{'big' if min(a, b) > 0.4 else 'small'}" for a, b in size.tolist()]
    numbers.write_text("\n".join(["width,height,class", *lines]))
    options = ("--model", "choquet", "--set", "additivity=2", "--set", "C=10", "--cv", "4")
    status, out, err = run(capsys, "learn", numbers, *options)
    assert (status, err) == (0, "")
    X, y = read_table(numbers)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = fk.ChoquetSVC(C=10, additivity=2, random_state=0)
    expected = 100 * cross_validate(model, X, y, cv=folds)["test_score"].mean()
    assert scores_of(out)["choquet"][0] == pytest.approx(expected, abs=0.0051)
    strings = tmp_path / "strings.csv"
    words = ["".join(rng.choice(list("ACGT"), 9)) for _ in range(40)]
    lines = [f"{i},{word},{'AC' in word}" for i, word in enumerate(words)]
    strings.write_text("\n".join(["name,sequence,class", *lines]))
    options = ("--set", "kernel=weighted_degree(3)", "--set", "column=sequence", "--cv", "3")
    status, out, err = run(capsys, "learn", strings, "--model", "strings", *options)
    assert (status, err) == (0, "")
    assert "kernel='weighted_degree(3)'" in out
    X, y = read_table(strings)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = fk.StringSVC("weighted_degree(3)", column="sequence", random_state=0)
    expected = 100 * cross_validate(model, X, y, cv=folds)["test_score"].mean()
    assert scores_of(out)["strings"][0] == pytest.approx(expected, abs=0.0051)


def test_target_by_name(capsys, fruit):
    options = ("--formula", "a", "--cv", "2", "--target", "colour")
    status, out, err = run(capsys, "learn", fruit, *options)
    assert status == 1  # a third of the colours are missing
    assert 'row 2 of fruit.csv (after the header) has no class: "colour" is missing' in err
    assert out == ""
    status, out, _ = run(capsys, "learn", fruit, *options[:-1], "ripe")
    assert status == 0
    assert "2 classes: 0 (18 rows), 1 (18)" in out


def test_nominal(capsys, fruit, tmp_path):
    options = ("gram", "a", fruit, "--out", tmp_path / "K.npy", "--force")
    widths = []
    for nominal in ("auto", "all", "size", "size, ripe"):
        status, out, _ = run(capsys, *options, "--nominal", nominal)
        assert status == 0
        widths.append(int(re.search(r"(\d+) propositions", out)[1]))
    # colour is green, red or missing; size has 4 cuts or 12 values; ripe is Boolean
    assert widths[0] == 3 + 8 + 1
    assert widths[1] == widths[2] == 3 + 12 + 1
    assert widths[3] == 3 + 12 + 2


def test_folds_of_learn_do_not_warn_of_their_gap(capsys, fruit, tmp_path):
    model = tmp_path / "model.json"
    assert run(capsys, "learn", fruit, "--cv", "2", "-o", model)[::2] == (0, "")


@pytest.mark.parametrize("model", ["svm", "hkl", "prl", "rules"])
def test_learners_read_nominal_columns(capsys, fruit, tmp_path, model):
    options = ("--nominal", "size", "--cv", "0", "-o", tmp_path / "model.json")
    assert run(capsys, "learn", fruit, "--model", model, *options)[0] == 0
    found = fk.load(tmp_path / "model.json")
    assert found.encoder.nominal == ["size"]
    assert found.encoder.cut_points == (32 if model == "svm" else "auto")
    assert "size = 3" in found.encoder_.get_feature_names_out()


def test_rules_that_are_not_always_right_have_their_precision(capsys, fruit):
    status, out, err = run(capsys, "learn", fruit, "--formula", "a & b", "--cv", "2", "--top", "3")
    assert (status, err) == (0, "")
    rules = out.partition("the 3 heaviest of the model (proven)")[2].splitlines()[2:]
    assert len(rules) == 3
    model = fk.FormulaSVC("a & b").fit(*read_table(fruit))
    for line, item in zip(rules, model.rules(3), strict=True):
        assert line.startswith(f"{item.weight:.2f} for {item.winner}: {item.rule}")
        assert line.endswith(f"({100 * item.precision:.1f} %)") != ("always right" in out)
    status, _, err = run(capsys, "learn", fruit, "--formula", "a", "--top", "-1")
    assert (status, err.count("--top=-1; expected an integer, at least 1.")) == (1, 1)


def test_samples_are_scored(capsys):
    """A large table is cross-validated on a stratified sample; the model learns from all rows."""
    options = ("--formula", "a", "--cv", "2", "--max-rows", "100", "--seed", "3")
    status, out, _ = run(capsys, "compare", "tic-tac-toe", *options)
    assert status == 0
    X, y = load("tic-tac-toe")
    rows = subsample(y, 100, 3)
    folds = StratifiedKFold(2, shuffle=True, random_state=3)
    found = cross_validate(fk.FormulaSVC("a"), X[rows], y[rows], cv=folds)["test_score"]
    assert scores_of(out)["a"][0] == pytest.approx(100 * found.mean(), abs=0.0051)


def test_many_classes_in_one_short_line(capsys, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("x,kind\n" + "".join(f"v{i % 9},k{i % 9}\n" for i in range(60)))
    status, out, _ = run(capsys, "learn", path, "--formula", "a", "--cv", "6")
    assert status == 0
    assert "many: 60 rows, 1 column; 9 classes of 6 to 7 rows" in out


def test_long_formulas_keep_the_width(capsys):
    formula = " & ".join(f"(left{i} | ~right{i})" for i in range(30))
    status, out, err = run(capsys, "learn", "monks-2", "--formula", formula, "--cv", "2")
    assert (status, err) == (0, "")
    assert "formula │ 60 leaves" in out
    assert max(map(len, out.splitlines())) <= 100


# -- gram --------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [False, True])
def test_gram_file_holds_the_kernel(capsys, tmp_path, fruit, normalize):
    path = tmp_path / "K.npy"
    flags = ["--normalize"] if normalize else []
    status, out, err = run(capsys, "gram", "(a & ~b) | c", fruit, "--out", path, *flags)
    assert (status, err) == (0, "")
    k = fk.kernel("(a & ~b) | c")
    k = k.normalized() if normalize else k
    X, _ = read_table(fruit)
    np.testing.assert_array_equal(np.load(path), k(fk.PropositionEncoder().fit_transform(X)))
    assert "fruit: 36 rows" in out
    assert "12 propositions" in out
    assert repr(k) in out
    assert "36 x 36, float64" in out
    assert str(path) in out


def test_gram_of_a_built_in_set(capsys, tmp_path):
    path = tmp_path / "K.npy"
    status, _, _ = run(capsys, "gram", "a", "monks-3", "--nominal", "all", "--out", path)
    assert status == 0
    B = fk.PropositionEncoder(nominal="all").fit_transform(load("monks-3").data)
    np.testing.assert_array_equal(np.load(path), B.astype(float) @ B.T.astype(float))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_large_matrix_is_written_when_told_so(capsys, tmp_path, monkeypatch, dtype):

    path, options = tmp_path / "K.npy", ("gram", "a & b", "monks-1", "--dtype", dtype)
    status, _, err = run(capsys, *options, "--out", tmp_path / "small.npy")
    assert (status, err) == (0, "")
    expected = np.load(tmp_path / "small.npy")
    assert expected.dtype == dtype
    monkeypatch.setattr(kernels, "MAX_UNCONFIRMED_BYTES", 1000)
    path.write_text("older")
    status, out, err = run(capsys, *options, "--out", path, "--force")
    assert (status, out) == (1, "")
    assert "--yes" in err
    assert path.read_text() == "older"
    status, _, err = run(capsys, *options, "--out", path, "--yes", "--force")
    assert (status, err) == (0, "")
    np.testing.assert_array_equal(np.load(path), expected)
    for answer, written in (("n\n", False), ("", False), ("yes\n", True)):
        path.unlink(missing_ok=True)
        keyboard = io.StringIO(answer)
        keyboard.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr("sys.stdin", keyboard)
        status, _, err = run(capsys, *options, "--out", path)
        assert (status == 0) == path.exists() == written
        assert "Write" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["K.npy", "small.npy"]


# -- errors ------------------------------------------------------------------------------------

LEARN = ("--formula", "a", "--cv", "2")
ERRORS = {
    "bad formula": (
        ("inspect", "a & | b"),
        "two connectives in a row\n\n    a & | b\n        ^\n",
    ),
    "bad formula in learn": (("learn", "monks-1", "--formula", "a &"), "a &\n       ^"),
    "unknown set": (
        ("learn", "tictactoe", *LEARN),
        'there is no file and no built-in table "tictactoe"; did you mean tic-tac-toe?',
    ),
    "unknown set, nothing near": (
        ("learn", "zzz", *LEARN),
        "built-in tables are tic-tac-toe, monks-1",
    ),
    "missing file": (("learn", "{tmp}/nowhere.txt", *LEARN), "there is no file {tmp}/nowhere.txt"),
    "misspelt file": (("learn", "{tmp}/friut.csv", *LEARN), "did you mean {tmp}/fruit.csv?"),
    "nothing near": (("learn", "{tmp}/nosuch.csv", *LEARN), "no file {tmp}/nosuch.csv; built-in"),
    "missing folder": (("learn", "{tmp}/no/fruit.csv", *LEARN), "there is no folder {tmp}/no"),
    "folder": (("learn", "{tmp}", *LEARN), "{tmp} is a folder; expected a CSV or Parquet file."),
    "one class": (
        ("learn", "{tmp}/one.csv", *LEARN),
        "every row has the class yes; a classifier needs at least two classes",
    ),
    "class too small": (
        ("learn", "{tmp}/two.csv", *LEARN),
        "of which fewer than two have two rows",
    ),
    "too many folds": (
        ("learn", "{tmp}/fruit.csv", "--formula", "a", "--cv", "20"),
        "the second largest class has 12. Use at most 12 folds.",
    ),
    "one fold": (
        ("learn", "monks-1", "--formula", "a", "--cv", "1"),
        "--cv=1; expected an integer, at least 2.",
    ),
    "C": (("learn", "monks-1", *LEARN, "--set", "C=-1"), "C=-1; expected a finite number above"),
    "rows": (
        ("learn", "monks-1", *LEARN, "--max-rows", "1"),
        "--max-rows=1; expected an integer, at least 2.",
    ),
    "reading": (
        ("learn", "monks-1", *LEARN, "--variables", "loose"),
        "variables='loose'; expected one of 'bound', 'free'",
    ),
    "scale": (("inspect", "a", "--scale", "log"), "expected one of 'count', 'probability'"),
    "backend": (("inspect", "a", "--backend", "gpu"), "backend='gpu'; expected one of 'auto'"),
    "target": (
        ("learn", "{tmp}/fruit.csv", *LEARN, "--target", "color"),
        'no column "color" in fruit.csv; did you mean "colour"?',
    ),
    "target of a built-in set": (
        ("learn", "monks-1", *LEARN, "--target", "a1"),
        'the class of the built-in table monks-1 is "class"; --target "a1" is for files only.',
    ),
    "nominal": (
        ("learn", "{tmp}/fruit.csv", *LEARN, "--nominal", "sice"),
        'no column "sice" in the table; did you mean "size"?',
    ),
    "ragged": (("learn", "{tmp}/ragged.csv", *LEARN), "line 3 of ragged.csv has 1 values"),
    "empty": (("learn", "{tmp}/empty.csv", *LEARN), "empty.csv is empty"),
    "no text": (("gram", "a", "{tmp}/noise.csv", "--out", "{tmp}/K.npy"), "is not UTF-8 text"),
    "domains": (
        ("learn", "monks-1", "--formula", "a:gene & b"),
        'the formula has the domain "gene", but the command line cannot define',
    ),
    "inputs": (("inspect", "a", "--inputs", "fuzzy"), "expected one of 'binary', 'graded'"),
    "a formula for another learner": (
        ("learn", "monks-1", *LEARN, "--model", "hkl"),
        'HKLClassifier has no parameter "formula"',
    ),
    "a reading without a formula": (
        ("learn", "monks-1", "--variables", "free"),
        'HKLClassifier has no parameter "variables"',
    ),
    "domains in gram": (("gram", "a:x", "monks-1", "--out", "{tmp}/K.npy"), 'the domain "x"'),
    "out in no folder": (
        ("gram", "a", "monks-1", "--out", "{tmp}/no/K.npy"),
        "cannot write {tmp}/no/K.npy: there is no folder {tmp}/no.",
    ),
    "out is a folder": (("gram", "a", "monks-1", "--out", "{tmp}"), "cannot write {tmp}: it is"),
    "too large a kernel": (
        ("gram", "&".join(f"(a{i} | ~b{i})" for i in range(300)), "monks-1", "--out", "{tmp}/K"),
        "Use scale='probability'",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_message_and_status_1(case, capsys, tmp_path, fruit):
    (tmp_path / "one.csv").write_text("x,class\na,yes\nb,yes\n")
    (tmp_path / "two.csv").write_text("x,class\na,yes\nb,yes\na,no\n")
    (tmp_path / "ragged.csv").write_text("x,class\na,yes\nb\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "noise.csv").write_bytes(b"x,class\n\xff\xfe,1\n")
    arguments, expected = ERRORS[case]
    status, out, err = run(capsys, *(text.replace("{tmp}", str(tmp_path)) for text in arguments))
    assert status == 1
    assert out == ""
    assert err.startswith("formulakern: ")
    assert err.count("formulakern: ") == 1
    assert expected.replace("{tmp}", str(tmp_path)) in err
    assert "Traceback" not in err
    assert "Errno" not in err
    assert err.endswith("\n")
    assert err.strip()[-1] in ".?)^"
    assert not list(tmp_path.glob("K*"))


def test_unreadable_and_unwritable_files(capsys, fruit, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(fruit))

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.open", refuse)
        status, out, err = run(capsys, "learn", fruit, *LEARN)
    assert (status, out) == (1, "")
    assert err == f"formulakern: cannot open {fruit}: permission denied.\n"

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "open_memmap", full)
    path = tmp_path / "K.npy"
    status, out, err = run(capsys, "gram", "a", "monks-1", "--out", path)
    assert (status, out) == (1, "")
    assert err == f"formulakern: cannot write {path}: no space left on device.\n"
    assert not path.exists()


def test_no_permission_to_write_is_seen_before_the_work(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    status, out, err = run(capsys, "gram", "a", "monks-1", "--out", tmp_path / "K.npy")
    assert (status, out) == (1, "")
    assert "K.npy: no permission." in err


@pytest.mark.parametrize("arguments", [[], ["learn"], ["gram", "a", "monks-1"], ["sing"]])
def test_wrong_usage_is_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    assert "usage: formulakern" in capsys.readouterr().err


def test_help_and_version(capsys):
    for arguments in (["--version"], ["--help"], ["learn", "--help"]):
        with pytest.raises(SystemExit) as exit_info:
            main(arguments)
        assert exit_info.value.code == 0
    assert fk.__version__ in capsys.readouterr().out


# -- interruption, terminals -------------------------------------------------------------------


def test_interrupted_is_status_130(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "kernel_of", interrupted)
    status, out, err = run(capsys, "inspect", "a")
    assert (status, out, err) == (130, "", "\nformulakern: interrupted\n")


def test_out_of_memory_is_a_sentence(capsys, monkeypatch):
    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr(kernels, "kernel_of", exhausted)
    assert run(capsys, "inspect", "a") == (1, "", "formulakern: out of memory; use fewer rows.\n")


def start(*arguments, **streams):
    command = [sys.executable, "-m", "formulakern", *arguments]
    return subprocess.Popen(command, env=os.environ | {"TERM": "xterm"}, **streams)


def on_a_terminal(*arguments, stdout=subprocess.DEVNULL, **options):
    """Start a process with a terminal as standard error; return it, and yield its progress."""
    primary, secondary = pty.openpty()
    process = start(*arguments, stdout=stdout, stderr=secondary, **options)
    os.close(secondary)

    def pieces():
        with os.fdopen(primary, "rb", buffering=0) as drawn:
            try:
                while piece := drawn.read(4096):
                    yield piece
            except OSError:  # Linux: the other end is closed
                pass

    return process, pieces()


def test_ctrl_c_ends_a_running_fit():
    process = start(
        "learn", "tic-tac-toe", "--model", "svm", "--cv", "300",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline().startswith(" data │ tic-tac-toe")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=900)
    assert process.returncode == 130, err
    assert err.endswith("\nformulakern: interrupted\n")  # after lines of progress, if it was slow


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (b"fold 2 of 300", ("noise.csv", "--model", "rules", "--cv", "300")),
        (b"gap", ("noise.csv", "--set", "tol=1e-9", "--cv", "2")),
    ],
    ids=["scores", "fit"],
)
def test_an_interrupted_learn_saves_its_model(seen, words, tmp_path):
    """Ctrl-C is pressed when the progress bar shows some text."""
    numbers = np.random.default_rng(0).normal(size=(800, 12))
    lines = [",".join(f"{x:.3f}" for x in row) + f",{row @ row > 12}" for row in numbers]
    head = ",".join([*"abcdefghijkl", "class"])
    (tmp_path / "noise.csv").write_text("\n".join([head, *lines]))
    process, pieces = on_a_terminal("learn", *words, "-o", "m.json", cwd=tmp_path)
    drawn, pressed = b"", False
    for piece in pieces:
        drawn += piece
        if seen in drawn and not pressed:
            pressed = True
            process.send_signal(signal.SIGINT)
    assert process.wait(timeout=900) == 130
    sentence = (
        "formulakern: interrupted: m.json has the best model so far, without held-out scores."
    )
    assert sentence in drawn.decode()
    model = fk.load(tmp_path / "m.json")
    assert model.training_["scores"] == {}
    assert len(model.predict(read_table(tmp_path / "noise.csv").data)) == 800


def test_an_interrupt_inside_generated_code():
    """Python itself would turn it into death by the signal, although it is caught."""
    code = """
from formulakern.cli import run
from formulakern.cli import kernels
def interrupted(options, **_):
    exec("raise KeyboardInterrupt")
kernels.kernel_of = interrupted
import sys
sys.argv = ["formulakern", "inspect", "a"]
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "\nformulakern: interrupted\n"


def test_a_closed_pipe_is_no_error():
    process = start("inspect", "a & b", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=900) == 1


def test_narrow_encodings_do_not_fail(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    code = """
import sys
from formulakern.cli import main
main(["inspect", "a | b"])
assert not {"matplotlib", "numba", "pandas", "sklearn"} & {*sys.modules}  # nor are they waited for
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"text ? a | b" in done.stdout


def test_progress_is_drawn_on_a_terminal():
    process, pieces = on_a_terminal(
        "learn", "monks-1", "--formula", "a", "--cv", "2", stdout=subprocess.PIPE
    )
    drawn = b"".join(pieces)
    out, _ = process.communicate(timeout=900)
    assert process.returncode == 0
    assert b"fold 1 of 2, svm" in drawn
    assert b"in 2 folds" in out
    assert b"\x1b[" not in out


def test_progress_writes_nothing_elsewhere(capsys):
    with Progress() as progress:
        progress.at(0.0, "first")
        progress.at(0.5, "second")
    assert capsys.readouterr() == ("", "")


def test_progress_counts_what_is_done(monkeypatch):
    file = io.StringIO()
    console = Console(force_terminal=True, width=80, file=file, color_system=None)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with Progress() as progress:
        progress.at(0.0, "first")
        assert re.search(r"first +[━╸╺ ]+ +0 % ", file.getvalue())
        progress.at(0.75, "most")
        assert re.search(r"most +[━╸╺ ]+ +75 % ", file.getvalue())
