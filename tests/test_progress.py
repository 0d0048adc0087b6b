"""The progress of fits: a bar on a terminal, lines elsewhere, nothing unless requested."""

import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern import progress
from formulakern.deadline import Deadline
from formulakern.progress import Progress

FITS = {
    "PRLClassifier": {"time_limit": 60},
    "PRLClassifierCV": {"degrees": [1], "Cs": [0.5, 1.0], "cv": 2},
    "HKLClassifier": {},
    "HKLClassifierCV": {"Cs": [10.0], "depth_penalties": [3.0], "cv": 2},
    "FormulaSearch": {"candidates": ["a", "a & b"], "cv": 2, "C": 1.0},
    "FormulaSVC": {},
    "FormulaSVCCV": {"Cs": [1.0, 10.0], "cv": 2},
    "RuleListClassifier": {"learner": "optimal", "max_conditions": 1, "max_rules": 2},
    "HKLRegressor": {"C": 1000.0},
    "FormulaSVR": {},
    "FormulaOneClass": {},
    "FormulaMKL": {"formulas": ["a", "a & b"], "tol": 0.1},
    "ChoquetSVC": {"C": [1.0, 10.0], "cv": 2},
    "ChoquetRegressor": {"C": 1.0, "additivity": 1},
}


def table():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (80, 6))
    return X, (X[:, 0] & X[:, 1]) | (random.random(80) < 0.1)


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 80 columns, and every content that a bar was drawn with."""
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    paper = Console(file=io.StringIO(), width=80, color_system=None)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    drawn = []
    usual = Progress.at

    def at(bar, *args, **named):
        usual(bar, *args, **named)
        if bar is progress._displayed.get():
            with paper.capture() as capture:
                paper.print(bar._rendered())
            drawn.append(capture.get())

    monkeypatch.setattr(Progress, "at", at)
    return console.file, drawn


@pytest.mark.parametrize("name", FITS)
def test_a_bar_on_a_terminal_and_lines_elsewhere(terminal, monkeypatch, name, capsys):
    X, y = table()
    file, drawn = terminal
    make = getattr(fk, name)
    y = y.astype(float) if name.endswith(("Regressor", "SVR")) else y
    silent = make(**FITS[name]).fit(X, y)
    assert not drawn
    assert not file.getvalue()
    shown = make(verbose=1, **FITS[name]).fit(X, y)
    assert (shown.predict(X) == silent.predict(X)).all()
    assert drawn[0].startswith(f"{name}: reading")
    assert len({one.split("  ")[0].strip() for one in drawn}) > 1  # what is being done
    for one in drawn:  # one line of 80 characters, and the time stands at the end
        assert one.count("\n") == 1
        assert len(one.rstrip("\n")) <= 80
        assert one.rstrip().endswith(("s", "min"))
        assert ("of 1:00 min" in one) == ("time_limit" in FITS[name])
    if name.startswith(("HKL", "PRL")):
        assert any("gap" in one and "rules" in one for one in drawn)
    assert not any(hasattr(shown, own) for own in ("_progress",))
    assert progress._displayed.get() is None
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=io.StringIO()))
    drawn.clear()
    capsys.readouterr()
    make(verbose=1, **FITS[name]).fit(X, y)
    out, err = capsys.readouterr()
    assert (out, drawn) == ("", [])
    assert err.count("\n") >= 1
    assert "\x1b" not in err
    assert "\r" not in err


def test_a_fit_within_another_draws_no_bar_of_its_own(terminal):
    _, drawn = terminal
    with Progress("outer") as outer:
        outer.at(0.0, "first fold")
        with Progress("inner") as inner, Progress() as innermost:
            inner.at(0.5, "growing", "gap 0.1, 3 rules")
            innermost.at(0.5, "half")
            assert progress._displayed.get() is outer
        outer.at(0.2, "second fold")
        assert "second fold" in drawn[-1]
        assert "gap 0.1, 3 rules" in drawn[-1]
    assert progress._displayed.get() is None
    assert len(drawn) == 2


def test_an_error_ends_the_bar(terminal):
    with pytest.raises(fk.DataError):
        fk.HKLClassifier(verbose=1).fit([[0, 1], [1, 0]], ["a", "a"])
    assert progress._displayed.get() is None
    with pytest.raises(fk.ParameterError, match="verbose='yes'"):
        fk.PRLClassifier(verbose="yes").fit(*table())


def numeric(m=60, p=6):
    random = np.random.default_rng(1)
    X = random.normal(size=(m, p)).round(6)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + random.normal(0, 0.3, m) > 0


LIMITED = {
    "HKLClassifier": "stopped by the time limit at .* the relative duality gap is .* more time",
    "PRLClassifier": "stopped by the time limit after [01] epochs?; the gap is .* more time",
    "FormulaSVC": "the duality gap is .* above tol=0.001: the time limit was reached. Allow more",
    "FormulaSVR": "the duality gap is .* above tol=0.001: the time limit was reached. Allow more",
    "HKLClassifierCV": "stopped by the time limit after 0 of 2 settings: .* Allow more time, or",
    "PRLClassifierCV": "stopped by the time limit after 0 of 2 settings: .* Allow more time, or",
    "FormulaSVCCV": "stopped by the time limit after 0 of 10 values of C: .* pass fewer values",
    "FormulaSearch": "time limit: candidates were compared on .* of 450 rows, .* Allow more time",
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_fit_at_its_limit_says_what_it_reached_and_what_to_raise(name):
    X, y = numeric(m=450, p=3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        getattr(fk, name)(time_limit=1e-9).fit(X, y)
    assert any(re.search(LIMITED[name], str(one.message)) for one in told)


def test_the_time_of_a_regression_begins_with_its_table(monkeypatch):
    """Encoding counts."""
    now, usual = [0.0], fk.PropositionEncoder.fit_table

    def slowly(*args):
        now[0] += 5.0
        return usual(*args)

    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: now[0]))
    monkeypatch.setattr(fk.PropositionEncoder, "fit_table", slowly)
    X, _ = numeric()
    for model in (fk.FormulaSVR(time_limit=5), fk.FormulaOneClass(time_limit=5)):
        with pytest.warns(ConvergenceWarning, match="the time limit was reached"):
            model.fit(X, X[:, 0])
        assert model.stopped_ == "time_limit"


def test_stages_before_learning_show_how_many_partitions_are_done(terminal, monkeypatch, capsys):
    """A bar of its own for each stage; elsewhere a line every ten seconds."""
    dask = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    stages, usual = [], Progress._report_done

    def parts(bar, done, total):
        usual(bar, done, total)
        stages.append((bar._what, bar._share, bar._known))

    monkeypatch.setattr(Progress, "_report_done", parts)
    parted, classes, weights = (
        dask.from_pandas(one, npartitions=3)
        for one in (frame, pd.Series(y), pd.Series(np.ones(len(y))))
    )
    for model in (fk.PRLClassifier(verbose=1), fk.HKLClassifier(tol=0.1, verbose=1)):
        stages.clear()
        with fk.gather_limit(0):
            model.fit(parted, classes, sample_weight=weights)
        passes = ["finding propositions", "comparing propositions"]
        passes += ["reading classes", "packing rows"]
        for what in passes if isinstance(model, fk.HKLClassifier) else passes[:1] + passes[2:]:
            told = [(share, known) for one, share, known in stages if one == what]
            assert told[:3] == [(k / 3, f"{k} of 3 partitions") for k in (1, 2, 3)], what
        assert "partitions" not in terminal[1][-1]  # learning has a share of its own
    now = [0.0]

    def clock():
        now[0] += 3.0
        return now[0]

    monkeypatch.setattr(Deadline, "clock", staticmethod(clock))
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=io.StringIO()))
    capsys.readouterr()
    with Progress("PRLClassifier"), progress.stage("packing rows"):
        for done in range(1, 9):
            progress.report_done(done, 8)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("packing rows: ")


def test_a_command_writes_lines_without_a_terminal(monkeypatch, capsys):
    """From the second second on: about every activity, and about a long one now and then."""
    now = [0.0]
    monkeypatch.setattr(progress, "CHANGE_SECONDS", 1.0)
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: now[0]))
    with Progress() as command:
        command.at(0.0, "fold 1 of 2")
        now[0] = 1.5
        with Progress("HKLClassifier", 0) as fit:  # a quiet fit inside
            fit.at(0.1, "growing", "gap 0.5")
            now[0] = 3.0
            fit.at(0.2, "growing", "gap 0.4")
            now[0] = 12.0
            fit.at(0.3, "growing", "gap 0.3")
        now[0] = 13.5
        command.at(0.5, "fold 2 of 2")
    assert capsys.readouterr().err.splitlines() == [
        "fold 1 of 2, gap 0.5, 1.5 s",
        "fold 1 of 2, gap 0.3, 12.0 s",
        "fold 2 of 2, 13.5 s",
    ]
    with Progress("HKLClassifier", 0) as fit:
        fit.at(0.1, "growing", "gap 0.5")
        now[0] = 30.0
        fit.at(0.2, "growing", "gap 0.4")
    assert not capsys.readouterr().err
