"""Results of models for dask collections equal those for the table in memory."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from dask_tables import CUTS, cut_frame

import formulakern as fk
from formulakern.errors import DataTypeError
from formulakern.partitions.collections import is_dask_array, kind_of

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask's arrays are not installed")
cloudpickle = pytest.importorskip("cloudpickle", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

GENERATOR = np.random.default_rng(11)
N = 240
FRAME = pd.DataFrame(
    {
        "odor": GENERATOR.choice(["foul", "none", "almond"], N, p=[0.3, 0.6, 0.1]),
        "size": np.where(GENERATOR.random(N) < 0.1, np.nan, GENERATOR.integers(0, 30, N) / 2),
        "ring": pd.Categorical(GENERATOR.choice(["one", "two"], N)),
        "bruised": GENERATOR.random(N) < 0.5,
    }
)
LABELS = np.where((FRAME.odor == "foul") & FRAME.bruised, "poisonous", "edible")
THREE = np.where(FRAME["size"] > 11, "unknown", LABELS)
NUMBERS = np.where(FRAME.odor == "foul", 2.0, 0.5) + FRAME.bruised
STRINGS = pd.Series(["".join(GENERATOR.choice([*"ACGT"], 8)) for _ in range(N)], name="sequence")
SCALES = pd.DataFrame(GENERATOR.random((N, 3)), columns=["a", "b", "c"])

METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_ranking",
    "score_samples",
    "transform",
)


MODELS = {
    "PRL": lambda: fk.PRLClassifier().fit(FRAME, THREE),
    "HKL": lambda: fk.HKLClassifier(loss="logistic").fit(FRAME, LABELS),
    "HKL of numbers": lambda: fk.HKLRegressor().fit(FRAME, NUMBERS),
    "SVM": lambda: fk.FormulaSVC("a & b").fit(FRAME, LABELS),
    "SVM of three": lambda: fk.FormulaSVC("a & b").fit(FRAME, THREE),
    "SVM of numbers": lambda: fk.FormulaSVR("a & b").fit(FRAME, NUMBERS),
    "one class": lambda: fk.FormulaOneClass("a & b").fit(FRAME),
    "MKL": lambda: fk.FormulaMKL(["a", "a & b"]).fit(FRAME, LABELS),
    "search": lambda: fk.FormulaSearch(["a", "a & b"]).fit(FRAME, LABELS),
    "rule list": lambda: fk.RuleListClassifier().fit(FRAME, THREE),
    "rule list of an encoder": lambda: fk.RuleListClassifier(encoder=fk.PropositionEncoder()).fit(
        FRAME, LABELS
    ),
    "Choquet": lambda: fk.ChoquetSVC().fit(SCALES, LABELS),
    "Choquet of numbers": lambda: fk.ChoquetRegressor().fit(SCALES, NUMBERS),
    "strings": lambda: fk.StringSVC(kernel="weighted_degree(3)").fit(STRINGS, THREE),
    "encoder": lambda: fk.PropositionEncoder(dtype=np.int8).fit(FRAME),
    "sparse encoder": lambda: fk.PropositionEncoder(sparse_output=True).fit(FRAME),
    "frames": lambda: fk.PropositionEncoder().set_output(transform="pandas").fit(FRAME),
    "features": lambda: fk.FormulaFeatures("a & b", n_components=20, sparse_output=False).fit(
        FRAME
    ),
}


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def values(answer):
    """Return the content of a result: its numbers or texts, dtype and columns."""
    if hasattr(answer, "columns"):
        return [*answer.columns], answer.to_numpy().tolist(), [str(d) for d in answer.dtypes]
    dense = answer.toarray() if hasattr(answer, "toarray") else answer
    return str(dense.dtype), dense.tolist()


def never(*_):
    raise AssertionError("a partition was read")


#: Sums of products, which BLAS adds up by the shape of the rows.
SUMMED = {("Choquet", "decision_function"), ("Choquet of numbers", "predict")}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model = MODELS[name]()
    rows = {"Choquet": SCALES, "Choquet of numbers": SCALES, "strings": STRINGS}.get(name, FRAME)
    unread = dd.from_delayed([dask.delayed(never)(1)], meta=rows.iloc[:0])
    asked = [method for method in METHODS if hasattr(model, method)]
    assert asked
    for method in asked:
        answer = getattr(model, method)
        here, empty = answer(rows), answer(unread)
        assert empty.dtype == here.dtype if hasattr(here, "dtype") else kind_of(empty) == "frame"
        assert len(empty.shape) == len(here.shape)
        assert empty.shape[1:] == here.shape[1:]
        for cuts in CUTS.values():
            there = answer(cut_frame(rows, cuts))
            assert there.npartitions == len(cuts) + 1
            if (name, method) in SUMMED:
                np.testing.assert_allclose(there.compute(), here, rtol=1e-12)
            else:
                assert values(there.compute()) == values(here)


def test_one_file(tmp_path):
    """One partition that is read, or one of several: dask joins reading and answering."""
    pytest.importorskip("pyarrow", reason="pyarrow, which reads Parquet for dask, is not there")
    model = fk.PRLClassifier().fit(FRAME, LABELS)
    expected = model.predict(FRAME).tolist()
    FRAME.to_parquet(tmp_path / "0.parquet")
    assert model.predict(dd.read_parquet(tmp_path)).compute().tolist() == expected
    FRAME.to_parquet(tmp_path / "1.parquet")
    several = model.predict(dd.read_parquet(tmp_path))
    assert several.blocks[1].compute().tolist() == expected
    assert several.compute().tolist() == 2 * expected


@pytest.mark.parametrize("unknown", [False, True])
def test_arrays(unknown):
    X = (GENERATOR.random((90, 6)) < 0.5).astype(np.int8)
    y = X[:, 0] * X[:, 3]
    there = da.from_array(X, chunks=((20, 0, 70), (4, 2)))
    if unknown:
        there = there[da.ones(90, chunks=30, dtype=bool)]
    for model in (fk.PRLClassifier(), fk.FormulaSVC("a & b", encoder=None)):
        answer = model.fit(X, y).predict(there)
        assert is_dask_array(answer)
        assert np.array_equal(answer.chunks[0], there.chunks[0], equal_nan=True)
        assert values(answer.compute()) == values(model.predict(X))
    frames = fk.PropositionEncoder().set_output(transform="pandas").fit(X)
    assert values(frames.transform(there).compute()) == values(frames.transform(X))
    with pytest.raises(fk.DataError, match="X has 5 features"):
        model.predict(there[:, :5])
    with pytest.raises(fk.DataError, match="3D array"):
        model.predict(there[:, :, None])


def test_rules():
    frame = cut_frame(FRAME, CUTS["seven"])
    rule = fk.rule("odor = foul & size >= 3")
    assert values(rule(frame).compute()) == values(rule(FRAME))
    kept = frame.assign(rule=rule(frame), predicted=da.ones_like(rule(frame))).compute()
    assert values(kept["rule"]) == values(rule(FRAME))
    rules = fk.PRLClassifier().fit(FRAME, THREE).rules_
    listed = fk.RuleListClassifier().fit(FRAME, THREE).rules_
    tree = listed.to_tree() if hasattr(listed, "to_tree") else listed
    for model in (rules, listed, tree):
        for method in ("covers", "values", "scores", "predict", "predict_proba", "first_match"):
            if hasattr(model, method):
                answer = getattr(model, method)
                assert values(answer(frame).compute()) == values(answer(FRAME))
    with pytest.raises(fk.DataError, match='no column "smell"'):
        fk.rule("smell = foul")(frame)


def test_other_columns_are_refused_before_work():
    frame = cut_frame(FRAME, CUTS["two"])
    model = fk.PRLClassifier().fit(FRAME, LABELS)
    with pytest.raises(fk.DataError, match="feature names"):
        model.predict(frame[["size", "odor", "ring", "bruised"]])


def test_frames_of_polars_are_refused():
    model = fk.PropositionEncoder().fit(FRAME).set_output(transform="polars")
    with pytest.raises(DataTypeError, match="set_output"):
        model.transform(cut_frame(FRAME, []))


def test_unseen_values_are_told_once():
    model = fk.PRLClassifier().fit(FRAME, LABELS)
    frame = cut_frame(FRAME.assign(odor="musty"), CUTS["seven"])
    for _ in range(2):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.predict(frame).compute()
        assert len(told) == 1
        assert 'are in "odor" (100%)' in str(told[0].message)


def test_the_model_is_in_the_graph_once():
    model = fk.PRLClassifier().fit(FRAME, LABELS)
    sizes = []
    for n in (2, 52):
        frame = dd.from_map(never, range(n), meta=FRAME.iloc[:0])
        sizes.append(len(cloudpickle.dumps(model.predict(frame).__dask_graph__())))
    assert sizes[0] > len(pickle.dumps(model)) > (sizes[1] - sizes[0]) / 10


def test_scores():
    weights = pd.Series(GENERATOR.random(N))
    cases = {"PRL": (FRAME, THREE), "SVM of numbers": (FRAME, NUMBERS), "strings": (STRINGS, THREE)}
    for name, (rows, truth) in cases.items():
        model, there = MODELS[name](), cut_frame(rows, CUTS["seven"])
        assert model.score(there, truth) == model.score(rows, truth)
        answers = [cut_frame(pd.Series(truth), CUTS["two"]), cut_frame(weights, [9])]
        assert model.score(there, *answers) == model.score(rows, truth, weights)
