"""What fits say while they go on: a bar on a terminal, lines elsewhere, nothing unless asked."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern import progress
from formulakern.deadline import Deadline
from formulakern.estimators import long_fits
from formulakern.estimators.long_fits import Cause, foreseen, reason
from formulakern.progress import FitProgress, Progress

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
    usual = FitProgress.at

    def at(bar, *args, **named):
        usual(bar, *args, **named)
        if bar.drawn:
            with paper.capture() as capture:
                paper.print(bar._rendered())
            drawn.append(capture.get())

    monkeypatch.setattr(FitProgress, "at", at)
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
    assert progress.current().drawn is False
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
    with FitProgress(1, "outer") as outer:
        outer.at(0.0, "first fold")
        with FitProgress(1, "inner") as inner, Progress(2) as counted:
            inner.at(0.5, "growing", "gap 0.1, 3 rules")
            assert outer._known == "gap 0.1, 3 rules"
            counted.advance("half")
        assert not inner.drawn
        assert not counted.drawn
        outer.at(0.2, "second fold")
        assert "second fold" in drawn[-1]
        assert "half" in drawn[-1]
        assert progress.current() is outer
    assert progress.current() is not outer


def test_an_error_ends_the_bar(terminal):
    with pytest.raises(fk.DataError):
        fk.HKLClassifier(verbose=1).fit([[0, 1], [1, 0]], ["a", "a"])
    assert not progress.current().drawn
    with pytest.raises(fk.ParameterError, match="verbose='yes'"):
        fk.PRLClassifier(verbose="yes").fit(*table())


def test_when_a_long_fit_is_foreseen(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: now[0]))
    limited, free = Deadline.of(8), Deadline.of(None)
    for seconds, share, of_limited, of_free in (
        (1.0, 0.0, False, False),  # nobody knows
        (4.0, 0.6, False, False),  # it will be done in time
        (4.0, 0.4, True, False),
        (11.0, 0.9, False, True),  # the limit is over: the warning says it
        (11.0, 1.0, False, False),
    ):
        now[0] = seconds
        assert foreseen(limited, share) is of_limited
        assert foreseen(free, share) is of_free
    assert reason([None, Cause(1.1, "all is usual", "nothing")]) == ""


def numeric(m=60, p=6):
    random = np.random.default_rng(1)
    X = random.normal(size=(m, p)).round(6)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + random.normal(0, 0.3, m) > 0


LIMITED = {
    "fk.HKLClassifier(C=1e6)": r"C=1e\+06 is 1,291 times the automatic one, 775",
    "fk.PRLClassifier(C=100)": r"C=100 is 97 times the automatic one, 1\.03",
    "fk.PRLClassifier(degree=5)": r"there are [\d,]+ rules of up to 5 of \d+ propositions",
    'fk.HKLClassifier(cut_strategy="all", cut_points=9999)': (
        r"there are \d{3} propositions, 118 of them of column 'x0'\. To make it fast: "
        r"cut_points=4, cut_strategy='quantile'"
    ),
}


LIMITED |= {
    "fk.FormulaSVC(C=1e5)": r"C=1e\+05 is 10,000 times the usual one, 10\. .* C=10\.",
    "fk.FormulaSVR(C=1e5)": r"C=1e\+05 is 10,000 times the usual one, 10\. .* C=10\.",
    "fk.RuleListClassifier('optimal', max_conditions=4)": r"max_conditions=4\. .* max_conditions=2",
    "fk.RuleListClassifier('optimal', penalty=1e-3)": r"penalty=0\.001, .* penalty=0\.01\.",
}


@pytest.mark.parametrize("text", LIMITED)
def test_a_fit_at_its_limit_says_why(text):
    X, y = numeric()
    model = eval(text, {"fk": fk}).set_params(time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match=rf"It takes long as {LIMITED[text]}"):
        model.fit(X, y)


def test_a_fit_without_a_limit_says_why_as_soon_as_it_is_long(monkeypatch, capsys):
    monkeypatch.setattr(long_fits, "LONG", 0.0)
    X, y = numeric()
    fk.HKLClassifier(C=1e5, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if line.startswith("It takes long as C=1e+05 is ")]
    assert len(told) == 1
    assert lines.index(told[0]) < len(lines) - 1  # before the end
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fk.HKLClassifier(C=1e5).fit(X, y)
    assert capsys.readouterr().err == ""


COMPARED = {
    "fk.HKLClassifierCV": (
        "Cs",
        "60 settings with 3 folds are 180 fits. To make it fast: fewer Cs",
    ),
    "fk.PRLClassifierCV": (
        "Cs",
        "60 settings with 3 folds are 180 fits. To make it fast: fewer Cs",
    ),
    "fk.FormulaSVCCV": ("Cs", "30 values of C with 5 folds are 150 fits. To make it fast: fewer"),
    "fk.FormulaSearch": ("candidates", "30 candidates are compared. To make it fast: fewer"),
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_comparison_says_why_it_takes_long(name, monkeypatch, capsys):
    """At its limit, and while it goes on, if it was asked to."""
    X, y = numeric(m=450, p=3)
    parameter, cause = COMPARED[name]
    many = 30 if parameter == "candidates" else np.logspace(-3, 3, 30)
    model = eval(name, {"fk": fk})(**{parameter: many})
    now = [0.0]

    def clock():
        now[0] += 0.01
        return now[0]

    with monkeypatch.context() as patched:
        patched.setattr(Deadline, "clock", staticmethod(clock))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.set_params(time_limit=4.0 if parameter == "Cs" else 0.3).fit(X, y)
    assert any(f"It takes long as {cause}" in str(one.message) for one in told)
    if name == "fk.FormulaSVCCV":  # the others take seconds for all of these
        monkeypatch.setattr(long_fits, "LONG", 0.0)
        model.set_params(time_limit=None, verbose=1, cv=2, Cs=many[:25]).fit(X[:40], y[:40])
        err = capsys.readouterr().err
        assert err.count("It takes long as 25 values of C with 2 folds are 50 fits") == 0
        model.set_params(cv=3).fit(X[:40], y[:40])
        assert capsys.readouterr().err.count("It takes long as 25 values of C with 3 folds") == 1


def test_nothing_unusual_is_no_reason(capsys):
    with FitProgress(1, "a fit") as bar:
        bar.foresee(long_fits.Pace(Deadline(-100.0), lambda: [Cause(1.0, "usual", "nothing")]), 0.1)
    assert capsys.readouterr().err == ""


def test_the_time_of_a_regression_begins_with_its_table(monkeypatch):
    """Encoding counts."""
    now, usual = [0.0], fk.PropositionEncoder.fit_table

    def slowly(*args):
        now[0] += 5.0
        return usual(*args)

    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: now[0]))
    monkeypatch.setattr(fk.PropositionEncoder, "fit_table", slowly)
    monkeypatch.setattr(fk.PropositionEncoder, "fit_packed", slowly)
    X, _ = numeric()
    for model in (fk.FormulaSVR(time_limit=5), fk.FormulaOneClass(time_limit=5)):
        with pytest.warns(ConvergenceWarning, match="the time limit was reached"):
            model.fit(X, X[:, 0])
        assert model.stopped_ == "time_limit"


def test_stages_before_learning_say_how_many_parts_are_done(terminal, monkeypatch, capsys):
    """A bar of its own for each stage; elsewhere a line every ten seconds."""
    dask = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    stages, usual = [], FitProgress.parts

    def parts(bar, done, total):
        usual(bar, done, total)
        stages.append((bar._what, bar._share, bar._known))

    monkeypatch.setattr(FitProgress, "parts", parts)
    parted, classes, weights = (
        dask.from_pandas(one, npartitions=3)
        for one in (frame, pd.Series(y), pd.Series(np.ones(len(y))))
    )
    for model in (fk.PRLClassifier(verbose=1), fk.HKLClassifier(tol=0.1, verbose=1)):
        stages.clear()
        with fk.gather_limit(0):
            model.fit(parted, classes, sample_weight=weights)
        passes = ["finding propositions", "comparing propositions"]
        passes += ["reading classes", "reading weights", "packing rows"]
        for what in passes if isinstance(model, fk.HKLClassifier) else passes[:1] + passes[2:]:
            told = [(share, known) for one, share, known in stages if one == what]
            assert told[:3] == [(k / 3, f"{k} of 3 parts") for k in (1, 2, 3)], what
        assert "parts" not in terminal[1][-1]  # learning has a share of its own
    now = [0.0]

    def clock():
        now[0] += 3.0
        return now[0]

    monkeypatch.setattr(Deadline, "clock", staticmethod(clock))
    capsys.readouterr()
    with FitProgress(1, "PRLClassifier", drawn=False), progress.stage("packing rows"):
        for done in range(1, 9):
            progress.answered(done, 8)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("packing rows: ")
