"""A real cluster of two processes: the same results, also if a worker is lost during a fit."""

import multiprocessing
import os
import signal
import time
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib.parallel import get_active_backend
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern.encoding.partitioned import PartitionedTable
from formulakern.estimators import workers
from formulakern.partitions.partitioned import Partitioned

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
dask = pytest.importorskip("dask", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")

from distributed.utils import get_mp_context  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # what a cluster says of ports and processes


#: A worker that was lost is awaited, however long its process takes to start: after 15 seconds,
#: where nothing is said, its place is given up.
SLOW = {"distributed.deploy.lost-worker-timeout": "1 hour"}


#: Workers are forked from one process that has imported these modules, if the system can fork.
IMPORTED = ["distributed", "dask.dataframe", "sklearn.svm", "numba"] + [
    f"formulakern.estimators.{name}"
    for name in (
        "prl.cross_validation",
        "hkl.classifier",
        "svm.machines",
        "search.estimator",
    )
]
FORKED = "forkserver" in multiprocessing.get_all_start_methods()
METHOD = {"distributed.worker.multiprocessing-method": "forkserver" if FORKED else "spawn"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("workers"))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    if FORKED:
        with dask.config.set(METHOD):
            get_mp_context().set_forkserver_preload(IMPORTED)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10, **SLOW, **METHOD}),
        distributed.LocalCluster(processes=True, local_directory=folder, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows_of(seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    X = generator.random((150, 8)) < 0.5
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    return frame.assign(size=generator.integers(0, 9, 150), y=X[:, 0] & X[:, 3] | X[:, 5])


def table(seeds):
    """A frame of dask whose partitions are made on the workers."""
    return dd.from_map(rows_of, seeds, meta=rows_of(0)[:0])


def process_of(_):
    return os.getpid()


def weights_of(rows):
    return rows.weights


def doubled(value):
    return value * 2


def ends_its_process(value, folder):
    """End the worker's process in the first call; return a value in later ones."""
    mark = os.path.join(folder, "done")
    if not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return value + 1


def always_ends(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_fits_are_those_of_one_process(client):
    seeds = list(range(5))
    here = pd.concat(map(rows_of, seeds), ignore_index=True)
    frame = table(seeds)
    model = fk.PRLClassifier().fit(frame.drop(columns="y"), frame.y)
    alone = fk.PRLClassifier().fit(here.drop(columns="y"), here.y)
    assert str(model.rules_) == str(alone.rules_)
    assert (model.value_, model.bound_) == (alone.value_, alone.bound_)
    X = frame.drop(columns="y")
    assert model.predict(X).compute().tolist() == alone.predict(here.drop(columns="y")).tolist()
    gram = fk.kernel("a & b")(X[list("abcdefgh")].to_dask_array(lengths=True))
    assert (gram.compute() == fk.kernel("a & b")(here[list("abcdefgh")].to_numpy())).all()


@pytest.mark.parametrize("name", ["PRL", "HKL"])
def test_a_worker_that_is_lost_in_the_middle_of_a_fit(client, monkeypatch, name):
    """Rows stay on the workers; one of these is killed at the second question, and replaced."""
    learners = {
        "PRL": fk.PRLClassifier(tol=1e-4),
        "HKL": fk.HKLClassifier(linear=False),
    }
    ask, asked, killed = Partitioned.map, [], []

    def counted(partitions, *arguments, **options):
        asked.append(len(partitions))
        if len(asked) == 4:
            killed.append(client.run(process_of, None).popitem()[1])
            os.kill(killed[0], signal.SIGKILL)
        return ask(partitions, *arguments, **options)

    monkeypatch.setattr(Partitioned, "map", counted)
    frame = table(range(5))
    with fk.gather_limit(0):
        model = learners[name].fit(frame.drop(columns="y"), frame.y)
    assert killed
    assert len(asked) > 2
    here = pd.concat(map(rows_of, range(5)), ignore_index=True)
    X, y = here.drop(columns="y"), here.y
    alone = type(model)(**model.get_params()).fit(X, y)
    if name == "PRL":
        for one, other in ((model, alone), (alone, model)):
            assert one.value_ <= other.bound_ * (1 + 1e-9)
            assert one.gap_ <= one.tol
    else:
        for one, other in ((model, alone), (alone, model)):
            assert one.lower_bound_ <= other.objective_ * (1 + 1e-9)
            assert one.gap_ <= one.tol
    answers = model.predict(frame.drop(columns="y")).compute()  # the model knows its partitions
    assert (answers == alone.predict(X)).all()
    while len(client.scheduler_info()["workers"]) < 2:
        time.sleep(0.05)


def test_candidates_and_folds_run_on_workers_and_the_table_is_sent_once(client):
    here = rows_of(0)
    X, y = here.drop(columns="y"), here.y
    search = fk.FormulaSearch(["a & b", "a", "a | b"], C=[1.0, 10.0], random_state=0)
    settings = fk.FormulaSVCCV("a & b", Cs=[0.1, 1.0], cv=2, random_state=0)
    alone = search.fit(X, y).results_["mean_score"], settings.fit(X, y).cv_results_["mean_score"]
    sent, submit = [], client.submit

    def submitted(function, *arguments, **options):
        if function is workers._itself:
            sent.append(arguments)
        return submit(function, *arguments, **options)

    with pytest.MonkeyPatch.context() as patched, joblib.parallel_config(backend="dask"):
        patched.setattr(client, "submit", submitted)
        np.testing.assert_array_equal(search.fit(X, y).results_["mean_score"], alone[0])
        assert len(sent) == 1
        np.testing.assert_array_equal(settings.fit(X, y).cv_results_["mean_score"], alone[1])
        assert len(sent) == 2


def test_a_worker_that_is_lost_in_the_middle_of_a_search(client, tmp_path):
    """Another worker finishes the lost work; the table is still there."""
    here = rows_of(0)
    X, y = here.drop(columns="y"), here.y
    search = fk.FormulaSearch(["a & b", "a", "a | b"], C=1.0, random_state=0)
    settings = fk.PRLClassifierCV(degrees=[1, 2], Cs=[1.0], cv=2)
    alone = [model.fit(X, y).predict(X) for model in (search, settings)]
    scores = search.results_["mean_score"], settings.cv_results_["mean_score"]
    for number, model in enumerate((search, settings)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patched, joblib.parallel_config(backend="dask"):
            patched.setattr(workers, "_result", partial(answer_once_killed, str(folder)))
            model.fit(X, y)
        assert (folder / "done").exists()
        while len(client.scheduler_info()["workers"]) < 2:
            time.sleep(0.05)
        np.testing.assert_array_equal(model.predict(X), alone[number])
    np.testing.assert_array_equal(search.results_["mean_score"], scores[0])
    np.testing.assert_array_equal(settings.cv_results_["mean_score"], scores[1])


ANSWER = workers._result


def answer_once_killed(folder, function, *arguments):
    ends_its_process(0, folder)
    return ANSWER(function, *arguments)


def test_tasks_run_in_this_process_if_one_worker_is_left(client, monkeypatch):
    """The value was sent while there were two."""
    with joblib.parallel_config(backend="dask"):
        spread, value = workers.Workers(), Partitioned(list("abc"))
        sent = spread.send(value)
        backend = type(get_active_backend()[0])
        monkeypatch.setattr(backend, "effective_n_jobs", lambda *_: 1)
        assert list(spread.results(len, [(sent,), (value,)])) == [3, 3]


@pytest.mark.parametrize("learner", [fk.PRLClassifier, fk.HKLClassifier, fk.FormulaSVC])
def test_a_limit_shorter_than_the_encoding(client, learner):
    frame = table(range(3))
    X = frame.drop(columns="y")
    model = learner("a & b") if learner is fk.FormulaSVC else learner()
    limit = fk.gather_limit(1 << 30 if learner is fk.FormulaSVC else 0)
    with limit, pytest.warns(ConvergenceWarning, match="time limit"):
        model.set_params(time_limit=0.01).fit(X, frame.y)
    assert model.stopped_ == "time_limit"
    assert len(model.predict(X).compute()) == 450
    assert model.gap_ > model.tol


def test_joined_partitions_are_held(client):
    """One node of a graph each: no question joins the rows anew."""
    tables = Partitioned([dask.delayed(fk.Table)({"x": [0, 1, 1]}) for _ in range(20)], lazy=True)
    table = PartitionedTable(("x",), lambda: tables)
    packed = fk.PropositionEncoder().fit({"x": [0, 1]}).pack(table)
    codes = np.tile([0, 1, 1], 20)
    rows = packed.weighted(codes, None, np.arange(2), np.ones(2))
    assert rows.lazy
    assert len(rows) == 10
    assert {len(dict(value.__dask_graph__())) for value in rows.values} == {1}
    assert sum(float(part.sum()) for part in rows.map(weights_of)) == 60


def test_what_partitions_hold_is_made_again_where_a_worker_is_lost(client, tmp_path):
    parts = Partitioned([dask.delayed(np.arange)(n) for n in range(6)], lazy=True)
    held = parts.persist(doubled)
    assert held.lazy
    assert len({*held.map(process_of)}) == 2
    for partitions in (parts, held):
        factor = 1 if partitions is parts else 2
        assert partitions.sum(np.sum) == factor * 20
        assert [len(v) for v in partitions.coalesce(4, np.concatenate).map(doubled)] == [6, 9]
    listed = held.map(np.add, each=list(range(6)))
    assert [answer.tolist() for answer in listed] == [
        [2 * k + n for k in range(n)] for n in range(6)
    ]
    answers = held.map(ends_its_process, str(tmp_path))
    assert [answer.tolist() for answer in answers] == [
        [2 * k + 1 for k in range(n)] for n in range(6)
    ]
    while len(client.scheduler_info()["workers"]) < 2:  # it is started again
        time.sleep(0.05)
    assert [len(answer) for answer in held.map(doubled)] == list(range(6))


def test_errors_come_back_from_workers(client):
    with pytest.raises(fk.FormulaSyntaxError, match="two connectives in a row"):
        client.submit(fk.parse, "a & | b").result()


def test_a_partition_that_ends_every_worker_is_told(client):
    held = Partitioned([dask.delayed(np.arange)(3)], lazy=True).persist(doubled)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        client.run_on_scheduler(_no_more_failures)
        with pytest.raises(fk.ClusterError, match="ended several workers one after another"):
            held.map(always_ends)
    client.run_on_scheduler(_more_failures)


def _no_more_failures(dask_scheduler):
    dask_scheduler.allowed_failures = 0


def _more_failures(dask_scheduler):
    dask_scheduler.allowed_failures = 10
