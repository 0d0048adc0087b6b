"""FormulaFeatures on frames of dask: blocks of the features of the table in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier

import formulakern as fk
from formulakern import datasets
from formulakern.estimators import features as module

dask = pytest.importorskip("dask", reason="dask is not installed")
frames = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")

X, Y = datasets.tic_tac_toe()
FRAME = pd.DataFrame({name: X[name] for name in X.names})
CLASSES = pd.Series((Y == "positive").astype(int))


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(rows):
    return frames.from_pandas(rows, npartitions=4)


@pytest.mark.parametrize("sparse_output", [True, False])
@pytest.mark.parametrize("n_components", [None, 300])
def test_blocks_are_those_of_the_table(n_components, sparse_output):
    features = fk.FormulaFeatures("a & b", n_components, sparse_output=sparse_output)
    inside = features.fit_transform(FRAME)
    lazy = fk.FormulaFeatures(**features.get_params()).fit_transform(cut(FRAME))
    assert lazy.numblocks == (4, 1)
    blocks = [block.compute() for block in lazy.blocks]
    assert {type(block) for block in blocks} == {type(inside)}
    dense = [block.toarray() if sparse_output else block for block in blocks]
    whole = inside.toarray() if sparse_output else inside
    np.testing.assert_array_equal(np.vstack(dense), whole)


def test_a_linear_model_learns_block_by_block():
    frame, classes = cut(FRAME), cut(CLASSES)
    features = fk.FormulaFeatures("a & b & c", None, "distinct").fit(frame)
    blocks, parts = features.transform(frame).blocks, classes.to_dask_array().blocks
    model = SGDClassifier(loss="log_loss", alpha=1e-6, random_state=0)
    for _ in range(8):
        for block in np.random.default_rng(0).permutation(frame.npartitions):
            rows, told = dask.compute(blocks[block], parts[block])
            model.partial_fit(rows, told, classes=[0, 1])
    assert model.score(features.transform(FRAME), CLASSES) > 0.97


@pytest.mark.filterwarnings("ignore")  # what dask-ml does not yet know of dask and scikit-learn
def test_linear_models_of_dask_ml():
    needed = "dask-ml is not installed"
    wrappers = pytest.importorskip("dask_ml.wrappers", reason=needed)
    linear = pytest.importorskip("dask_ml.linear_model", reason=needed)
    frame, classes = cut(FRAME), cut(CLASSES).to_dask_array(lengths=True)
    features = fk.FormulaFeatures("a & b & c", None, "distinct").fit(frame)
    rows, shown = features.transform(frame), features.transform(FRAME)
    alone = SGDClassifier(loss="log_loss", alpha=1e-6, random_state=0).fit(shown, CLASSES)
    model = wrappers.ParallelPostFit(alone)
    np.testing.assert_array_equal(model.predict(rows), alone.predict(shown))
    model = wrappers.Incremental(SGDClassifier(random_state=0), shuffle_blocks=False)
    model.fit(rows, classes, classes=[0, 1])
    single = SGDClassifier(random_state=0)
    for block, told in zip(rows.blocks, classes.blocks, strict=True):
        single.partial_fit(*dask.compute(block, told), classes=[0, 1])
    np.testing.assert_array_equal(model.predict(rows), single.predict(shown))
    dense = features.set_params(sparse_output=False).transform(frame)
    dense.compute_chunk_sizes()
    model = linear.LogisticRegression(
        solver="lbfgs", max_iter=20, solver_kwargs={"normalize": False}
    ).fit(dense, classes)
    assert (np.asarray(model.predict(dense)) == CLASSES).mean() > 0.95


def test_features_of_rows_that_stay_in_partitions_are_drawn_by_some(monkeypatch):
    every = fk.FormulaFeatures("a & b", None).fit(FRAME)
    with fk.gather_limit(0):
        whole = fk.FormulaFeatures("a & b", None).fit(cut(FRAME))
        assert whole.get_feature_names_out().tolist() == every.get_feature_names_out().tolist()
        same = fk.FormulaFeatures("a & b", 200).fit(cut(FRAME))  # all rows, drawn
        monkeypatch.setattr(module, "DRAWN_ROWS", 300)
        some = fk.FormulaFeatures("a & b", 200).fit(cut(FRAME))
    here = fk.FormulaFeatures("a & b", 200).fit(FRAME)
    assert same.get_feature_names_out().tolist() == here.get_feature_names_out().tolist()
    assert not some.exact_
    assert some.n_features_out_ <= 200
    K = some.transform(FRAME) @ some.transform(FRAME).T
    error = K.toarray() - some.kernel_(some.encoder_.transform(FRAME))
    assert np.sqrt((error**2).mean()) <= some.error_bound()
