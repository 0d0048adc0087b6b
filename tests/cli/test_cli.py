"""The command line: what it prints, writes and refuses, and its exit status."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace

import numpy as np
import pytest
from command_line import FRUIT, run
from rich.console import Console

import formulakern as fk
from formulakern.cli import formulas, main
from formulakern.cli.report import fit_opening
from formulakern.datasets import load, read_table
from formulakern.datasets.dataset import Dataset
from formulakern.display.terminal import show_inspection
from formulakern.estimators.svm.evaluation import compare_estimators, compare_kernels
from formulakern.progress import Progress


@pytest.fixture
def fruit(tmp_path):
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT)
    return path


def scores_of(output):
    """kernel → (accuracy, its spread, AUC, its spread), from the printed table."""
    row = re.compile(r"^(.+?)  +([\d.]+) ± ([\d.]+)  +([\d.]+) ± ([\d.]+) ", flags=re.MULTILINE)
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
    assert "numba, as asked" in out


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


# -- fit ---------------------------------------------------------------------------------------


def test_fit_a_built_in_set(capsys):
    status, out, err = run(
        capsys, "fit", "tic-tac-toe", "--formula", "a & b & c", "--variables", "distinct"
    )
    assert (status, err) == (0, "")
    assert "data │ tic-tac-toe: 958 rows, 9 columns; 2 classes: negative 332, positive 626" in out
    assert "a & b & c, variables='distinct'" in out
    assert "K(x, z) = s*(s - 2)*(s - 1)/6" in out
    assert "10-fold stratified cross-validation" in out
    assert "27 propositions" in out
    assert re.search(r"backend │ \w+: ", out)  # which one depends on what is compiled already
    assert re.search(r"time │ \d+\.\d s in all", out)
    assert max(map(len, out.splitlines())) <= 100
    scores = scores_of(out)
    assert list(scores) == ["a & b & c", "linear", "polynomial, degree 3"]
    assert scores["a & b & c"][0] > 99.5
    assert scores["linear"][0] > 95


def test_fit_prints_what_evaluation_measures(capsys, fruit):
    status, out, err = run(
        capsys, "fit", fruit, "--formula", "a -> b", "--cv", "3", "--C", "2", "--seed", "5"
    )
    assert (status, err) == (0, "")
    assert "fruit: 36 rows, 3 columns; 2 classes: apple 12, pear 24" in out
    X, y = read_table(fruit)
    measured = compare_kernels(fk.kernel("a -> b"), X, y, n_folds=3, C=2, random_state=5).scores
    printed = scores_of(out)
    for score, numbers in zip(measured, printed.values(), strict=True):
        expected = [f(v) for v in (score.accuracy, score.auc) for f in (np.mean, np.std)]
        np.testing.assert_allclose(numbers, 100 * np.array(expected), atol=0.0051)


def test_graded_inputs(capsys, fruit, tmp_path):
    """Numbers become degrees for all kernels of the comparison, and for a Gram matrix."""
    options = ("--inputs", "graded")
    status, out, err = run(capsys, "fit", fruit, "--formula", "a & b", "--cv", "3", *options)
    assert (status, err) == (0, "")
    assert "inputs='graded'" in out
    assert "see the same degrees" in " ".join(out.replace("│", " ").split())
    assert "6 propositions" in out  # two colours, none, ~size, size, ripe
    X, y = read_table(fruit)
    kernel = fk.kernel("a & b", inputs="graded")
    measured = compare_kernels(kernel, X, y, n_folds=3, C=10).scores
    printed = scores_of(out)
    assert list(printed) == ["a & b", "linear", "polynomial, degree 2"]
    for score, numbers in zip(measured, printed.values(), strict=True):
        assert numbers[0] == pytest.approx(100 * np.mean(score.accuracy), abs=0.0051)
    path = tmp_path / "K.npy"
    assert run(capsys, "gram", "a & b", fruit, "--out", path, *options)[0] == 0
    encoded = fk.PropositionEncoder(graded=True).fit_transform(X)
    np.testing.assert_array_equal(np.load(path), kernel(encoded))


def test_named_kernels(capsys, fruit, tmp_path):
    """The Choquet kernel on numbers, and kernels of strings, beside simpler ones."""
    rng = np.random.default_rng(0)
    size = rng.random((40, 2))
    numbers = tmp_path / "numbers.csv"
    lines = [f"{a},{b},{'big' if min(a, b) > 0.4 else 'small'}" for a, b in size.tolist()]
    numbers.write_text("\n".join(["width,height,class", *lines]))
    status, out, err = run(capsys, "fit", numbers, "--kernel", "choquet(2)", "--cv", "4")
    assert (status, err) == (0, "")
    assert list(scores_of(out)) == ["fk.choquet(additivity=2)", "linear", "Gaussian"]
    X, y = read_table(numbers)
    models = {"ours": fk.ChoquetSVC(C=10, additivity=2)}
    measured = compare_estimators(models, X, y, n_folds=4)[0]
    assert scores_of(out)["fk.choquet(additivity=2)"][0] == pytest.approx(
        100 * np.mean(measured.accuracy), abs=0.0051
    )
    strings = tmp_path / "strings.csv"
    words = ["".join(rng.choice(list("ACGT"), 9)) for _ in range(40)]
    lines = [f"{i},{word},{'AC' in word}" for i, word in enumerate(words)]
    strings.write_text("\n".join(["name,sequence,class", *lines]))
    options = ("--kernel", "weighted_degree(3)", "--column", "sequence", "--cv", "3")
    status, out, err = run(capsys, "fit", strings, *options)
    assert (status, err) == (0, "")
    assert "kernel │ fk.strings.weighted_degree(3)" in out
    assert list(scores_of(out))[1:] == [
        f"fk.strings.{name}" for name in ("weighted_degree(1)", "spectrum(1)", "spectrum(3)")
    ]
    status, out, _ = run(
        capsys, "fit", strings, "--kernel", "spectrum(2)", "--cv", "2", "--inspect"
    )
    assert status == 0
    assert "feature space │" in out


def test_fit_target_by_name(capsys, fruit):
    options = ("--formula", "a", "--cv", "2", "--target", "colour")
    status, out, err = run(capsys, "fit", fruit, *options)
    assert status == 1  # a third of the colours are missing
    assert 'row 2 of fruit.csv (after the header) has no class: "colour" is missing' in err
    assert out == ""
    status, out, _ = run(capsys, "fit", fruit, *options[:-1], "ripe")
    assert status == 0
    assert "2 classes: 0 18, 1 18" in out


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


def test_fit_inspects_first(capsys):
    status, out, _ = run(capsys, "fit", "monks-1", "--formula", "a | b", "--cv", "2", "--inspect")
    assert status == 0
    assert out.startswith(f"{fk.kernel('a | b').inspect()}\n\n")
    assert "data │ monks-1: 432 rows" in out


def test_fit_shows_the_heaviest_rules(capsys):
    options = ("--variables", "distinct", "--cv", "2", "--rules", "8")
    status, out, err = run(capsys, "fit", "tic-tac-toe", "--formula", "all[3](x)", *options)
    assert (status, err) == (0, "")
    rules = out.partition("the heaviest rules of the model, trained on 958 rows")[2]
    assert rules.count("  for positive  ") == 8
    assert "Proven: no other feature weighs more" in rules
    assert max(map(len, rules.splitlines())) <= 100
    status, _, err = run(capsys, "fit", "tic-tac-toe", "--formula", "a", "--rules", "-1")
    assert (status, err.count("--rules=-1; expected an integer, at least 0.")) == (1, 1)


def test_fit_says_that_it_samples(capsys):
    status, out, _ = run(
        capsys, "fit", "tic-tac-toe", "--formula", "a", "--cv", "2", "--max-rows", "100"
    )
    assert status == 0
    text = " ".join(out.replace("│", " ").split())
    assert "a stratified sample of 100 rows (seed 0; --max-rows changes it)" in text
    assert "GiB" not in text


def test_fit_says_why_it_samples():
    n = 32_561
    large = Dataset(fk.Table({"x": np.arange(n) % 7}), np.arange(n) % 2, "large", "")
    for kernel in (fk.kernel("a"), fk.graded(fk.kernel("a"))):
        text = fit_opening(kernel, large, 10_000, Namespace(cv=10, C=1.0, seed=3))
        said = " ".join(text.replace("│", " ").split())
        why = "The Gram matrix of all 32,561 rows would take 7.9 GiB, and the solver as much"
        assert (why in said) == isinstance(kernel, fk.GradedKernel)
        assert "a stratified sample of 10,000 rows (seed 3; --max-rows changes it)" in said


def test_fit_many_classes_in_one_short_line(capsys, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("x,kind\n" + "".join(f"v{i % 9},k{i % 9}\n" for i in range(60)))
    status, out, _ = run(capsys, "fit", path, "--formula", "a", "--cv", "6")
    assert status == 0
    assert "many: 60 rows, 1 column; 9 classes of 6 to 7 rows" in out


def test_fit_long_formulas_keep_the_width(capsys):
    formula = " & ".join(f"(left{i} | ~right{i})" for i in range(30))
    status, out, err = run(capsys, "fit", "monks-2", "--formula", formula, "--cv", "2")
    assert (status, err) == (0, "")
    assert "a formula of 60 leaves" in out
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
    monkeypatch.setattr(formulas, "ASKED", 1000)
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

FIT = ("--formula", "a", "--cv", "2")
ERRORS = {
    "bad formula": (
        ("inspect", "a & | b"),
        "two connectives in a row\n\n    a & | b\n        ^\n",
    ),
    "bad formula in fit": (("fit", "monks-1", "--formula", "a &"), "a &\n       ^"),
    "unknown set": (
        ("fit", "tictactoe", *FIT),
        'there is no file and no built-in data set "tictactoe"; did you mean tic-tac-toe?',
    ),
    "unknown set, nothing near": (("fit", "zzz", *FIT), "built in are tic-tac-toe, monks-1"),
    "missing file": (("fit", "{tmp}/nowhere.txt", *FIT), "there is no file {tmp}/nowhere.txt"),
    "misspelt file": (("fit", "{tmp}/friut.csv", *FIT), "did you mean {tmp}/fruit.csv?"),
    "nothing near": (("fit", "{tmp}/nosuch.csv", *FIT), "no file {tmp}/nosuch.csv; built in"),
    "missing folder": (("fit", "{tmp}/no/fruit.csv", *FIT), "there is no folder {tmp}/no"),
    "folder": (("fit", "{tmp}", *FIT), "{tmp} is a folder; expected a CSV or Parquet file."),
    "one class": (
        ("fit", "{tmp}/one.csv", *FIT),
        "every row has the class yes; a classifier needs at least two classes",
    ),
    "class too small": (("fit", "{tmp}/two.csv", *FIT), "of which fewer than two have two rows"),
    "too many folds": (
        ("fit", "{tmp}/fruit.csv", "--formula", "a", "--cv", "20"),
        "the second largest class has 12. Use at most 12 folds.",
    ),
    "one fold": (
        ("fit", "monks-1", "--formula", "a", "--cv", "1"),
        "n_folds=1; expected an integer, at least 2.",
    ),
    "C": (("fit", "monks-1", *FIT, "--C", "-1"), "C=-1.0; expected a finite number above 0."),
    "rows": (
        ("fit", "monks-1", *FIT, "--max-rows", "1"),
        "--max-rows=1; expected an integer, at least 2.",
    ),
    "reading": (
        ("fit", "monks-1", *FIT, "--variables", "loose"),
        "variables='loose'; expected one of 'bound', 'free'",
    ),
    "scale": (("inspect", "a", "--scale", "log"), "expected one of 'count', 'probability'"),
    "backend": (("inspect", "a", "--backend", "gpu"), "backend='gpu'; expected one of 'auto'"),
    "target": (
        ("fit", "{tmp}/fruit.csv", *FIT, "--target", "color"),
        'no column "color" in fruit.csv; did you mean "colour"?',
    ),
    "target of a built-in set": (
        ("fit", "monks-1", *FIT, "--target", "a1"),
        'the class of the built-in set monks-1 is "class"; --target "a1" is for files.',
    ),
    "nominal": (
        ("fit", "{tmp}/fruit.csv", *FIT, "--nominal", "sice"),
        'no column "sice" in the table; did you mean "size"?',
    ),
    "ragged": (("fit", "{tmp}/ragged.csv", *FIT), "line 3 of ragged.csv has 1 values"),
    "empty": (("fit", "{tmp}/empty.csv", *FIT), "empty.csv is empty"),
    "no text": (("gram", "a", "{tmp}/noise.csv", "--out", "{tmp}/K.npy"), "is not UTF-8 text"),
    "domains": (
        ("fit", "monks-1", "--formula", "a:gene & b"),
        'the formula names the domain "gene", and the command line has no way to say',
    ),
    "inputs": (("inspect", "a", "--inputs", "fuzzy"), "expected one of 'binary', 'graded'"),
    "rules of degrees": (
        ("fit", "monks-1", *FIT, "--inputs", "graded", "--rules", "3"),
        "--rules needs propositions, and --inputs graded gives degrees.",
    ),
    "no such kernel": (
        ("fit", "monks-1", "--kernel", "cubic(3)"),
        "'cubic(3)' is no kernel that has a name; expected one of choquet(additivity=None",
    ),
    "a kernel of numbers on text": (
        ("fit", "tic-tac-toe", "--kernel", "choquet"),
        "this kernel reads finite numbers",
    ),
    "a kernel of strings without strings": (
        ("fit", "monks-1", "--kernel", "spectrum(3)"),
        "columns of text",
    ),
    "formula's options": (
        ("fit", "monks-1", "--kernel", "choquet", "--rules", "3"),
        "--rules is for formulas: give --formula, not --kernel.",
    ),
    "column without strings": (("fit", "monks-1", *FIT, "--column", "a1"), "--column is for"),
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
        status, out, err = run(capsys, "fit", fruit, *FIT)
    assert (status, out) == (1, "")
    assert err == f"formulakern: cannot open {fruit}: permission denied.\n"

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
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


@pytest.mark.parametrize("arguments", [[], ["fit", "monks-1"], ["gram", "a", "monks-1"], ["sing"]])
def test_wrong_usage_is_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    assert "usage: formulakern" in capsys.readouterr().err


def test_help_and_version(capsys):
    for arguments in (["--version"], ["--help"], ["fit", "--help"]):
        with pytest.raises(SystemExit) as exit_info:
            main(arguments)
        assert exit_info.value.code == 0
    assert fk.__version__ in capsys.readouterr().out


# -- interruption, terminals -------------------------------------------------------------------


def test_interrupted_is_status_130(capsys, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(formulas, "_kernel", interrupted)
    status, out, err = run(capsys, "inspect", "a")
    assert (status, out, err) == (130, "", "\nformulakern: interrupted\n")


def test_out_of_memory_is_a_sentence(capsys, monkeypatch):
    def exhausted(_):
        raise MemoryError

    monkeypatch.setattr(formulas, "_kernel", exhausted)
    assert run(capsys, "inspect", "a") == (1, "", "formulakern: out of memory; use fewer rows.\n")


def start(*arguments, **streams):
    command = [sys.executable, "-m", "formulakern", *arguments]
    return subprocess.Popen(command, env=os.environ | {"TERM": "xterm"}, **streams)


def test_ctrl_c_ends_a_running_fit():
    process = start(
        "fit", "tic-tac-toe", "--formula", "a & b", "--cv", "300",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline().startswith("  data │ tic-tac-toe")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=900)
    assert process.returncode == 130, err
    assert err == "\nformulakern: interrupted\n"


def test_an_interrupt_inside_generated_code():
    """Python itself would turn it into death by the signal, although it is caught."""
    code = """
from formulakern.cli import commands, formulas
def interrupted(options):
    exec("raise KeyboardInterrupt")
formulas._inspect = interrupted
import sys
sys.argv = ["formulakern", "inspect", "a"]
commands.run()
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
    primary, secondary = pty.openpty()
    process = start(
        "fit", "monks-1", "--formula", "a", "--cv", "2", stdout=subprocess.PIPE, stderr=secondary
    )
    os.close(secondary)
    drawn = b""
    while True:
        try:
            piece = os.read(primary, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(primary)
    out, _ = process.communicate(timeout=900)
    assert process.returncode == 0
    assert b"fold 1 of 2, formula kernel" in drawn
    assert b"scores" in out
    assert b"\x1b[" not in out


def test_progress_writes_nothing_elsewhere(capsys):
    with Progress(total=3) as progress:
        progress.advance("first")
        progress.reach(0.5, "second")
    assert capsys.readouterr() == ("", "")


def test_progress_counts_what_is_done():
    console = Console(force_terminal=True, width=80, file=open(os.devnull, "w"))  # noqa: SIM115
    with console.file, Progress(total=4, console=console) as progress:
        bar = progress._bar
        progress.advance("first")
        assert (bar.tasks[0].completed, bar.tasks[0].description) == (0, "first")
        progress.advance("second")
        assert bar.tasks[0].completed == 1
        progress.reach(0.75, "most")
        assert bar.tasks[0].completed == 3
