"""Ctrl-C at every place of a fit: a model that is found is kept, and the display ends in order."""

import io
import signal
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import formulakern as fk
from formulakern import interrupts, progress
from formulakern.learning.hkl import lasso

LEARNERS = {
    "PRL": lambda: fk.PRLClassifier(verbose=2),
    "HKL": lambda: fk.HKLClassifier(verbose=2),
    "SVM": lambda: fk.FormulaSVC("a & b", verbose=2),
}
PARTITIONED = ["PRL", "HKL", "SVM"]


def table(partitioned):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.integers(0, 2, (60, 4)), columns=list("abcd"))
    y = pd.Series((X.a & X.b) ^ (random.random(60) < 0.1))
    if partitioned == "numbers":  # whose cut points the partitions agree on
        X = X.assign(a=X.a + random.random(60))
    if not partitioned:
        return X, y
    dask = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")
    return dask.from_pandas(X, npartitions=2), dask.from_pandas(y, npartitions=2)


class Terminal(io.StringIO):
    """A terminal in which Ctrl-C is pressed while some writes of the main thread are at work."""

    def __init__(self, *presses):
        super().__init__()
        self.presses, self.writes = presses, 0

    def write(self, text):
        if threading.current_thread() is threading.main_thread():
            self.writes += 1
            if self.writes in self.presses:
                signal.raise_signal(signal.SIGINT)
        return super().write(text)


class Run:
    """A fit in a terminal, and Ctrl-C when some lines of the package or of rich begin.

    ``presses`` are numbers of lines, those ``after`` are counted from the end of the search.

    Attributes
    ----------
    lines : int
        Number of lines until now.
    known : int or None
        Number of the line after which the display shows a gap: a model is known.
    """

    def __init__(self, monkeypatch, model, *presses, after=(), terminal=None, partitioned=False):
        self.model, self.presses, self.lines, self.known = model, presses, 0, None
        self.after = after
        self.terminal = terminal or Terminal()
        console = Console(file=self.terminal, force_terminal=True, width=80)
        usual, at, streams = sys.gettrace(), progress.Progress.at, (sys.stdout, sys.stderr)

        def noted(bar, share, what, known="", line=""):
            if self.known is None and "gap" in known:
                self.known = self.lines
            at(bar, share, what, known, line)

        X, y = table(partitioned)
        with monkeypatch.context() as patched, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            patched.setattr("rich.console.Console", lambda **_: console)
            patched.setattr(progress.Progress, "at", noted)
            with fk.gather_limit(1 << 30 if isinstance(model, fk.FormulaSVC) else 0):
                sys.settrace(self.call)
                try:
                    model.fit(X, y)
                    self.interrupted = False
                except KeyboardInterrupt:
                    self.interrupted = True
                finally:
                    sys.settrace(usual)
        self.warned = [str(one.message) for one in caught if "interrupted" in str(one.message)]
        assert progress._displayed.get() is None
        assert (sys.stdout, sys.stderr) == streams
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self.interrupted and after:  # the second one may end the display's last lines
            return
        shown = self.terminal.getvalue()
        assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h")  # the cursor is there again

    def call(self, frame, *_):
        file = frame.f_code.co_filename
        inside = "formulakern" in file or "rich" in file
        return self.line if inside and not file.endswith("interrupts.py") else None

    def line(self, _, event, __):
        if event == "line":
            self.lines += 1
            handler = interrupts._HANDLER
            handler = interrupts._HANDLER
            if self.after and handler.found and not handler.searching:
                self.presses = tuple(self.lines + number for number in self.after)
                self.after = ()
            if self.lines in self.presses:
                signal.raise_signal(signal.SIGINT)
        return self.line


@pytest.mark.parametrize(
    ("name", "partitioned"),
    [(name, False) for name in LEARNERS]
    + [(name, True) for name in PARTITIONED]
    + [("HKL", "numbers")],
)
def test_a_model_that_is_known_is_kept(monkeypatch, name, partitioned):
    """At lines from the first to the last; before a model is known, Ctrl-C may end the fit."""
    if partitioned == "numbers":
        monkeypatch.setattr(lasso, "MAX_TRIPLE_ENTRIES", 0)
    whole = [Run(monkeypatch, LEARNERS[name](), partitioned=partitioned) for _ in range(2)][1]
    places = [*np.linspace(1, whole.known, 3, dtype=int)[:-1].tolist()]
    places += np.linspace(whole.known + 1, whole.lines, 4, dtype=int).tolist()
    for press in [*places, *range(whole.lines - 3, whole.lines)]:
        run = Run(monkeypatch, LEARNERS[name](), press, partitioned=partitioned)
        if run.interrupted:
            assert run.known is None
            continue
        assert bool(run.warned) == (run.lines >= press)
        assert len(np.asarray(run.model.predict(table(partitioned)[0]))) == 60
        assert run.model.stopped_ == "interrupted" or run.model.gap_ <= run.model.tol


@pytest.mark.parametrize("name", PARTITIONED)
def test_a_second_ctrl_c_ends_a_fit(monkeypatch, name):
    """Both after the search; how many lines there are before depends on the machine's speed."""
    assert Run(monkeypatch, LEARNERS[name](), after=(1, 10)).interrupted


@pytest.mark.parametrize("name", PARTITIONED)
def test_ctrl_c_while_the_display_is_written(monkeypatch, name):
    """Its start, every line, and its end; the display of the next fit is drawn again."""
    writes = [Run(monkeypatch, LEARNERS[name]()).terminal.writes for _ in range(2)][1]
    assert writes >= 3
    for number in range(1, writes + 1):
        run = Run(monkeypatch, LEARNERS[name](), terminal=Terminal(number))
        assert run.interrupted == (run.known is None)
        if not run.interrupted:
            assert len(run.warned) == 1
            assert hasattr(run.model, "stopped_")
    assert Run(monkeypatch, LEARNERS[name]()).terminal.writes >= 3
