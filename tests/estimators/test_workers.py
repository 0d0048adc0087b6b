"""Candidates and folds in other processes: the same results as in this one, the table sent once."""

import pickle
import warnings
from typing import ClassVar

import cloudpickle
import joblib
import numpy as np
import pytest
from joblib.parallel import ThreadingBackend

import formulakern as fk
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.estimators.search import estimator as scoring
from formulakern.estimators.workers import _FILTERS, Workers


def _pickled(task):
    return pickle.loads(cloudpickle.dumps(pickle.loads(task)()))


class Elsewhere(ThreadingBackend):
    """Threads whose tasks share nothing with this one: tasks and results are pickled."""

    uses_threads = supports_sharedmem = False
    sent: ClassVar[list[int]] = []

    def submit(self, func, callback=None):
        task = cloudpickle.dumps(func)
        self.sent.append(len(task))
        return super().submit(
            lambda: pickle.loads(cloudpickle.dumps(pickle.loads(task)())), callback
        )

    def apply_async(self, func, callback=None):  # what older versions of joblib call
        return self.submit(func, callback)


@pytest.fixture
def elsewhere():
    joblib.register_parallel_backend("elsewhere", Elsewhere)
    Elsewhere.sent = []
    return lambda: joblib.parallel_config(backend="elsewhere", n_jobs=2)


def table(m=120):
    generator = np.random.default_rng(0)
    X = generator.random((m, 6)) < 0.5
    return X.astype(int), np.where(X[:, 0] & X[:, 1] | X[:, 4], "yes", "no")


def same(one, other):
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


CROSS_VALIDATED = [
    fk.PRLClassifierCV(cv=3, degrees=[1, 2]),
    fk.HKLClassifierCV([1.0, 100.0], cv=3),
    fk.FormulaSVCCV("a & b", Cs=[0.1, 1.0, 10.0], cv=3, random_state=0),
]


@pytest.mark.parametrize("model", CROSS_VALIDATED, ids=lambda model: type(model).__name__)
def test_cross_validations_are_those_of_one_process(model, elsewhere):
    X, y = table()
    here = model.fit(X, y)
    results, decided = here.cv_results_, here.decision_function(X)
    with elsewhere():
        there = model.fit(X, y)
    assert len(Elsewhere.sent) >= 3 * 2
    same(results, there.cv_results_)
    np.testing.assert_array_equal(decided, there.decision_function(X))


@pytest.mark.parametrize("limit", [None, 1000.0])
def test_a_search_is_that_of_one_process(elsewhere, limit, capsys):
    X, y = table(90)
    settings = {"variables": "distinct", "random_state": 0, "time_limit": limit}
    candidates = ["a", "a & b", "a & b & c & d & e & f & g", "a ^ b", "a | b"]
    here = fk.FormulaSearch(candidates, **settings).fit(X, y)
    with elsewhere():
        there = fk.FormulaSearch(candidates, verbose=1, **settings).fit(X, y)
    assert len(Elsewhere.sent) > len(candidates)
    assert "candidate 0: a" in capsys.readouterr().err
    one, other = (search.results_.to_frame().drop(columns="seconds") for search in (here, there))
    assert one.equals(other)
    assert (here.best_formula_, here.C_) == (there.best_formula_, there.C_)


def test_a_task_without_its_table_is_small(elsewhere):
    """After the table, a cluster receives little for each candidate."""
    X, y = table(4000)
    search = fk.FormulaSearch(["a & b", "a"], variables="distinct", C=1.0, random_state=0)
    sent = []

    class Spy(Workers):
        def send(self, value):
            sent.append(value)
            return "the table"

        def results(self, function, arguments):
            for each in arguments:
                assert len(pickle.dumps(each)) < 2000
                table, *own = each
                assert table == "the table"
                yield function(sent[-1], *own)

    with pytest.MonkeyPatch.context() as patched, elsewhere():
        patched.setattr(scoring, "Workers", Spy)
        search.fit(X[:400], y[:400])
    assert len(sent) == 1


def test_an_interrupted_search_keeps_what_is_there(elsewhere, monkeypatch):
    X, y = table(60)
    line, count = scoring._line, []

    def interrupting(*arguments):
        count.append(1)
        if len(count) == 2:
            raise KeyboardInterrupt
        return line(*arguments)

    monkeypatch.setattr(scoring, "_line", interrupting)
    candidates = ["a", "a & b", "a | b", "a ^ b", "a & ~b", "a & b & c"]
    with elsewhere(), warnings.catch_warnings(record=True) as caught:
        # joblib's own warning is switched off, which another thread may undo
        warnings.simplefilter("always")
        search = fk.FormulaSearch(candidates, C=1.0, random_state=0).fit(X, y)
    assert any("interrupted after 2 of 6 candidates" in str(one.message) for one in caught)
    statuses = list(search.results_["status"])
    assert statuses.count("interrupted") == 4
    assert search.best_index_ == np.nanargmax(search.results_["mean_score"])


def test_no_candidate_begins_when_time_is_over(elsewhere):
    X, y = table(60)
    search = fk.FormulaSearch(["a", "a & b", "a | b"], time_limit=0, random_state=0)
    with elsewhere(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    assert Elsewhere.sent
    assert list(search.results_["status"])[1:] == ["interrupted"] * 2


def test_threads_are_no_other_processes():
    assert Workers(4).jobs == 1
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert Workers().jobs == 1
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert (Workers().jobs, Workers(1).jobs) == (2, 1)


def test_filters_are_kept_by_tasks_that_overlap():
    before = list(warnings.filters)
    first, second = warnings.catch_warnings(), warnings.catch_warnings()
    with _FILTERS:
        first.__enter__()
        warnings.filterwarnings("ignore", message="of this test alone")
        with _FILTERS:
            second.__enter__()
            first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        assert warnings.filters != before
    assert warnings.filters == before


def test_a_deadline_is_seconds_where_it_is_read(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: now[0]))
    deadline = Deadline.of(8)
    now[0] = 1003.0
    sent = pickle.dumps(deadline), pickle.dumps(UNLIMITED)
    now[0] = 5.0  # the clock of another computer
    limited, unlimited = map(pickle.loads, sent)
    assert (limited.left(), limited.taken(), limited.end) == (5.0, 3.0, 10.0)
    assert not unlimited.limited
