"""FormulaSVC on rows that stay in pieces: the model of the table in memory."""

import itertools
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern import ParameterError, datasets
from formulakern.datasets import read_table
from formulakern.encoding.weighted_rows import WeightedRows
from formulakern.estimators.svm import pieced
from formulakern.learning.kernel_machines.in_pieces import spread_part, training
from formulakern.partitions.partitioned import Partitioned

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[4] / "shared" / "data"))

#: Two classes, two classes of which some rows are in both, and four classes.
FILES = {"mushroom": "mushroom.csv", "adult": "adult-train.csv.gz", "cars": "car.csv"}


@pytest.fixture(autouse=True)
def _nothing_here(monkeypatch):
    """Even few rows stay in their pieces."""
    solve = training.train_pieces
    monkeypatch.setattr(spread_part, "SENT", 50)
    monkeypatch.setattr(
        pieced, "train_pieces", lambda *given, **named: solve(*given, **named, here=0)
    )


def fitted_to_pieces(model, X, y, cuts, weights=None):
    """As fit does it, the rows divided in order."""
    table, classes = model._read_training(X, y)
    model.kernel_ = model._make_kernel(X)
    labels, codes = np.unique(classes, return_inverse=True)
    weights = np.ones(len(codes)) if weights is None else weights
    ends = [0, *cuts, len(codes)]
    pieces = Partitioned(
        [
            WeightedRows.of(table.take(np.arange(a, b)), codes[a:b], weights[a:b]).merged()
            for a, b in itertools.pairwise(ends)
        ]
    )
    model._fit_pieces(pieces, labels, table)
    return model


def table_of(name):
    """Some rows, class by class, so that pieces lack classes."""
    if name == "tic-tac-toe":
        data = datasets.tic_tac_toe(return_X_y=False)
    elif DATA.is_dir():
        data = read_table(DATA / FILES[name])
    else:
        pytest.skip(f"the benchmark data are not at {DATA}; set FORMULAKERN_DATA")
    y = np.asarray(data.target)
    rows = np.random.default_rng(0).permutation(len(y))[:600]
    rows = rows[np.argsort(y[rows], kind="stable")]
    return data.data[rows], y[rows]


@pytest.mark.parametrize("name", ["tic-tac-toe", *FILES])
@pytest.mark.parametrize("cuts", [[], [100], [0, 3, 60, 60, 200, 450]])
def test_the_model_is_that_of_the_table_in_memory(name, cuts):
    X, y = table_of(name)
    inside = fk.FormulaSVC(C=1.0, tol=1e-10).fit(X, y)
    model = fitted_to_pieces(fk.FormulaSVC(C=1.0, tol=1e-10), X, y, cuts)
    assert model.stopped_ == "optimal"
    assert max(model.gap_, inside.gap_) <= 1e-10
    assert model.classes_.tolist() == inside.classes_.tolist()
    assert model.n_support_.sum() == len(model.support_) == model.dual_coef_.shape[1]
    ours, theirs = model.decision_function(X), inside.decision_function(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    ranked = np.sort(np.column_stack([theirs, -theirs]) if theirs.ndim == 1 else theirs)
    clear = ranked[:, -1] - ranked[:, -2] > 2e-3
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(model.predict(X)[clear], inside.predict(X)[clear])


def test_classes_and_rows_may_weigh():
    X, y = table_of("tic-tac-toe")
    weights = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    inside = fk.FormulaSVC(C=0.5, tol=1e-10).fit(X, y, sample_weight=weights)
    model = fitted_to_pieces(fk.FormulaSVC(C=0.5, tol=1e-10), X, y, [7, 300], weights)
    np.testing.assert_allclose(model.decision_function(X), inside.decision_function(X), atol=1e-3)


def test_equal_support_vectors_of_pieces_are_one():
    X, y = table_of("tic-tac-toe")
    twice = np.concatenate([np.arange(len(y))] * 2)
    model = fitted_to_pieces(fk.FormulaSVC(C=1.0, tol=1e-10), X[twice], y[twice], [len(y)])
    rows = np.column_stack([model.support_vectors_, np.repeat([0, 1], model.n_support_)])
    assert len(np.unique(rows, axis=0)) == len(rows) == len(model.support_)
    inside = fk.FormulaSVC(C=2.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), inside.decision_function(X), atol=1e-3)


def test_rules_know_the_rows_of_all_pieces():
    X, y = table_of("tic-tac-toe")
    parameters = {"formula": "all[3](x)", "variables": "distinct", "C": 100, "tol": 1e-6}
    inside = fk.FormulaSVC(**parameters).fit(X, y).rules(top=8)
    model = fitted_to_pieces(fk.FormulaSVC(**parameters), X, y, [100, 100])
    found = model.rules(top=8)
    assert found.proven
    assert {str(item.rule) for item in found} == {str(item.rule) for item in inside}
    told = {str(item.rule): (item.support, item.coverage, item.precision) for item in inside}
    assert {str(item.rule): told[str(item.rule)] for item in found} == told
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    with pytest.raises(ParameterError, match="pieces are not kept in files"):
        restored.rules()


def test_a_kernel_without_values_is_told_of():
    X = np.array([[1, 0], [0, 1], [1, 0]])
    with pytest.warns(UserWarning, match="is 0 for every pair"):
        fitted_to_pieces(fk.FormulaSVC("a & ~a", encoder=None), X, np.array([0, 1, 0]), [1])


def test_what_needs_all_rows_here():
    """It is refused before weights are read."""
    frames = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")
    pandas = pytest.importorskip("pandas")
    frame = frames.from_pandas(pandas.DataFrame({"a": [0, 1, 1], "b": [1, 0, 1]}), npartitions=2)
    with fk.gather_limit(0), pytest.raises(ParameterError, match="these stay in pieces"):
        fk.FormulaSVC(solver="libsvm").fit(frame, [0, 1, 1], sample_weight=[-1, 1, 1])


@pytest.mark.filterwarnings("ignore:Dask")
def test_fit_on_a_frame_of_dask():
    dask = pytest.importorskip("dask", reason="dask is not installed")
    frames = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")
    X, y = table_of("tic-tac-toe")
    pandas = pytest.importorskip("pandas")
    frame, classes = pandas.DataFrame({name: X[name] for name in X.names}), pandas.Series(y)
    inside = fk.FormulaSVC(tol=1e-10).fit(frame, classes)
    with dask.config.set(scheduler="synchronous"), fk.gather_limit(0):
        model = fk.FormulaSVC(tol=1e-10).fit(
            frames.from_pandas(frame, npartitions=3), frames.from_pandas(classes, npartitions=3)
        )
    np.testing.assert_allclose(
        model.decision_function(frame), inside.decision_function(frame), atol=1e-3
    )
    assert model.svc_.shape_fit_ == inside.svc_.shape_fit_
