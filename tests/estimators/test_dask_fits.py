"""Fits on collections of dask are those of the table in memory, whatever its partitions are."""

import numpy as np
import pandas as pd
import pytest
from dask_tables import CUTS, cut_frame

import formulakern as fk
from formulakern.learning.hkl import lasso
from formulakern.partitions.collections import in_memory

dask = pytest.importorskip("dask", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

GENERATOR = np.random.default_rng(7)
N = 240
FRAME = pd.DataFrame(
    {
        "odor": GENERATOR.choice(["foul", "none", "almond"], N, p=[0.3, 0.6, 0.1]),
        "size": np.where(GENERATOR.random(N) < 0.1, np.nan, GENERATOR.integers(0, 30, N) / 2),
        "rings": GENERATOR.integers(0, 4, N),
        "bruised": GENERATOR.random(N) < 0.5,
        "found": pd.Timestamp("2024-01-01") + pd.to_timedelta(GENERATOR.integers(0, 300, N), "D"),
    }
)
LABELS = pd.Series(
    np.where((FRAME.odor == "foul") | (FRAME["size"] > 11), "poisonous", "edible"), name="class"
)
NUMBERS = pd.Series(FRAME.rings + (FRAME.odor == "foul") * 2.0, name="height")

LEARNERS = {
    "PRL": fk.PRLClassifier(time_limit=None),
    "PRL monotone": fk.PRLClassifier(monotone={"size": 1}),
    "HKL": fk.HKLClassifier(),
    "HKL ordinal": fk.HKLClassifier(ordinal=True),
    "SVM": fk.FormulaSVC("a & b"),
    "rule list": fk.RuleListClassifier(random_state=0),
    "rule list of an encoder": fk.RuleListClassifier(
        encoder=fk.PropositionEncoder(), random_state=0
    ),
    "by classes": fk.PRLClassifier(encoder=fk.PropositionEncoder(strategy="mdlp")),
    "folds": fk.PRLClassifierCV(cv=2, random_state=0),
}


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("negations", [False, True])
def test_the_encoder(cuts, negations):
    encoder = fk.PropositionEncoder(negations=negations, calendar=["month"])
    here, there = encoder.fit(FRAME), fk.PropositionEncoder(**encoder.get_params())
    packed = there.pack(there.fit_table(cut_frame(FRAME, CUTS[cuts]))[0]).gathered()
    assert there.plans_ == here.plans_
    assert there.column_types_ == here.column_types_
    assert there.feature_names_in_.tolist() == here.feature_names_in_.tolist()
    assert np.array_equal(packed.columns, here.transform_packed(FRAME).columns)


@pytest.mark.parametrize("name", LEARNERS)
def test_learners(name):
    model = LEARNERS[name]
    here = fk_clone(model).fit(FRAME, LABELS)
    for cuts in ("two", "seven"):
        there = fk_clone(model).fit(cut_frame(FRAME, CUTS[cuts]), cut_frame(LABELS, CUTS[cuts]))
        assert there.predict(FRAME).tolist() == here.predict(FRAME).tolist()
        if name != "SVM":
            assert str(there.rules_) == str(here.rules_)
        assert there.n_features_in_ == here.n_features_in_


@pytest.mark.parametrize("cuts", ["two", "seven"])
def test_rows_that_stay_where_they_are(cuts):
    """Values and objectives agree to the tolerance; nearly all predictions are the same."""
    table, labels = cut_frame(FRAME, CUTS[cuts]), cut_frame(LABELS, CUTS[cuts])
    with fk.gather_limit(0):
        game = fk.PRLClassifier(C=0.2).fit(table, labels)
        lattice = fk.HKLClassifier(linear=False).fit(table, labels)
    # rows in partitions have the cut points of the encoder
    encoder = fk.PropositionEncoder(cut_points=4)
    here = fk.PRLClassifier(C=0.2, encoder=encoder).fit(FRAME, LABELS)
    assert game.gap_ <= game.tol * game.bound_ + 1e-6
    assert here.value_ <= game.bound_ + 1e-9
    assert game.value_ <= here.bound_ + 1e-9
    known = fk.HKLClassifier(linear=False, encoder=encoder).fit(FRAME, LABELS)
    assert lattice.lower_bound_ <= known.objective_ * (1 + 1e-9)
    assert known.lower_bound_ <= lattice.objective_ * (1 + 1e-9)
    assert lattice.gap_ <= lattice.tol
    for model, other in ((game, here), (lattice, known)):
        assert (model.predict(FRAME) == other.predict(FRAME)).mean() > 0.97


@pytest.mark.parametrize("seed", range(8))
def test_cut_points_that_partitions_agree_on(monkeypatch, seed):
    """Of large tables; in memory these are searched for pairs of propositions, too."""
    monkeypatch.setattr(lasso, "LARGE", 0)
    generator, n = np.random.default_rng(seed), 150
    size = generator.normal(size=n).round(generator.integers(0, 4))
    X = pd.DataFrame(
        {
            "size": np.where(generator.random(n) < 0.1 * (seed % 2), np.nan, size),
            "rings": generator.integers(0, 5, n),
            "odor": generator.choice(["foul", "none", "almond"], n),
            "constant": 1.5,
            "bruised": generator.random(n) < 0.5,
            "spot": generator.exponential(size=n),
        }
    )
    y = np.where((X["size"] > 0.2) & (X.rings < 3), "c", np.where(X.odor == "foul", "b", "a"))
    y = np.where(generator.random(n) < 0.1, "a", y)
    if seed % 3 < 2:
        y = np.where(y == "c", "a", y)
    weights = generator.integers(0, 3, n) / 2 if seed % 4 > 1 else None
    options = {"C": 30.0, "tol": 1e-3, "linear": seed < 4, "loss": ["logistic", "hinge"][seed // 7]}
    if seed == 3:
        options |= {"monotone": {"size": 1}}
    if seed == 5:
        options |= {"ordinal": True}
    if seed < 6:
        options |= {"max_rules": None}
    encoder = fk.PropositionEncoder(cut_points=31)
    here = fk.HKLClassifier(encoder=encoder, **options).fit(X, y, weights)
    cuts = [[], [40], [0, 70, 110], [30, 30, 31]][seed % 4]
    with fk.gather_limit(0):
        there = fk.HKLClassifier(**options).fit(cut_frame(X, cuts), y, weights)
    scope = "of at most 2 conditions of its propositions, cut at the cut points"
    assert f"{scope} of the encoder." in here.certificate_
    assert f"{scope} agreed over all partitions, at most 31 per column." in there.certificate_
    assert there.stopped_ == here.stopped_ == "optimal"
    assert there.lower_bound_ <= here.objective_ * (1 + 1e-9)
    assert here.lower_bound_ <= there.objective_ * (1 + 1e-9)
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-3)
    assert set(map(str, there.encoder_.propositions_)) >= {"odor = foul", "bruised"}
    scores, others = here.decision_function(X), there.decision_function(X)
    sure = np.sort(scores, axis=1) if scores.ndim > 1 else np.abs(scores)
    sure = sure[:, -1] - sure[:, -2] if scores.ndim > 1 else sure
    assert np.abs(scores - others).mean() < 0.2
    assert (there.predict(X) == here.predict(X))[sure > 0.5].all()


def test_all_values_are_cut_points_where_they_are_few(monkeypatch):
    monkeypatch.setattr(lasso, "LARGE", 0)
    X = FRAME[["rings", "bruised"]]
    with fk.gather_limit(0):
        model = fk.HKLClassifier().fit(cut_frame(X, CUTS["seven"]), LABELS)
        few = fk.HKLClassifier(encoder=fk.PropositionEncoder(cut_points=2)).fit(
            cut_frame(FRAME, CUTS["two"]), LABELS
        )
        listed = fk.HKLClassifier(encoder=fk.PropositionEncoder(strategy="all")).fit(
            cut_frame(X, CUTS["two"]), LABELS
        )
    assert "cut at every gap between two values" in model.certificate_
    assert "agreed over all partitions, at most 2 per column" in few.certificate_
    assert "conditions" not in listed.certificate_


def test_numbers_and_weights():
    weights = pd.Series(GENERATOR.integers(0, 3, N).astype(float))
    here = fk.HKLRegressor().fit(FRAME, NUMBERS, sample_weight=weights)
    cut = [cut_frame(rows, CUTS["seven"]) for rows in (FRAME, NUMBERS, weights)]
    there = fk.HKLRegressor().fit(cut[0], cut[1], sample_weight=cut[2])
    assert there.predict(FRAME).tolist() == here.predict(FRAME).tolist()


def test_numbers_as_they_are():
    numbers = FRAME[["size", "rings"]].fillna(0)
    for model in (fk.ChoquetSVC(), fk.PRLClassifier("polynomial")):
        here, there = fk_clone(model).fit(numbers, LABELS), fk_clone(model)
        there.fit(cut_frame(numbers, CUTS["two"]), LABELS)
        assert there.feature_names_in_.tolist() == ["size", "rings"]
        assert there.predict(numbers).tolist() == here.predict(numbers).tolist()


def test_arrays():
    array = pytest.importorskip("dask.array", reason="dask's arrays are not installed")
    X = (GENERATOR.random((N, 6)) < 0.5).astype(float)
    y = (X[:, 0] * X[:, 3]).astype(int)
    here = fk.PRLClassifier().fit(X, y)
    cut = array.from_array(X, chunks=(50, 3)), array.from_array(y, chunks=70)
    there = fk.PRLClassifier().fit(*cut)
    assert str(there.rules_) == str(here.rules_)
    assert not hasattr(there, "feature_names_in_")


@pytest.mark.parametrize("unknown_divisions", [False, True])
def test_divisions_are_not_asked_for(unknown_divisions):
    frame = dd.from_pandas(FRAME, npartitions=3)
    if unknown_divisions:
        frame = frame.clear_divisions()
    model = fk.PRLClassifier().fit(frame, LABELS)
    assert str(model.rules_) == str(fk.PRLClassifier().fit(FRAME, LABELS).rules_)


@pytest.mark.parametrize("kind", ["text", "str", "missing", "numbers", "categories", "frame"])
def test_collections_come_here_partition_by_partition(kind):
    rows = {
        "text": LABELS.astype(object),
        "str": LABELS,
        "missing": LABELS.where(FRAME.bruised, None).astype(object),
        "numbers": NUMBERS,
        "categories": LABELS.astype("category"),
        "frame": FRAME,
    }[kind]
    found = in_memory(cut_frame(rows, CUTS["seven"]))
    there = rows.notna().to_numpy()
    assert (found.notna().to_numpy() == there).all()
    assert found.to_numpy()[there].tolist() == rows.to_numpy()[there].tolist()


def test_tables_are_read_whole():
    table = fk.Table.of(cut_frame(FRAME, CUTS["seven"]))
    assert table == fk.Table.of(FRAME)


def test_partitions_that_disagree():
    ends = dask.delayed(FRAME[:99]), dask.delayed(FRAME[99:].rename(columns={"odor": "smell"}))
    frame = dd.from_delayed(ends, meta=FRAME[:0], verify_meta=False)
    with pytest.raises(fk.DataError, match='partition 1 has the columns "smell"'):
        fk.PropositionEncoder().fit(frame)
    other = FRAME.assign(size=FRAME["size"].astype(str))
    ends = dask.delayed(FRAME[:99]), dask.delayed(other[99:])
    frame = dd.from_delayed(ends, meta=FRAME[:0], verify_meta=False)
    with pytest.raises(fk.DataError, match=r'"size" has numbers in partition 0 and text in part'):
        fk.PropositionEncoder().fit(frame)


def test_rows_and_classes_differ_in_number():
    with pytest.raises(fk.DataError, match="inconsistent numbers of samples"):
        fk.PRLClassifier().fit(cut_frame(FRAME, [10]), dd.from_pandas(LABELS[:99], npartitions=2))


def test_no_rows():
    with pytest.raises(fk.DataError, match="0 sample"):
        fk.PRLClassifier().fit(dd.from_pandas(FRAME[:0], npartitions=1), LABELS[:0])


def fk_clone(model):
    """An unfitted copy."""
    return type(model)(**model.get_params(deep=False))
