"""Preference learning on partitioned rows: the result that there is in memory, in any division."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern import ParameterError
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.partitioned import WeightedRows
from formulakern.encoding.strict import read_packed
from formulakern.estimators.validation import TrainingData
from formulakern.learning.prl import row_groups
from formulakern.learning.prl.column_generation import ColumnGeneration
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.row_groups import RowGroups
from formulakern.partitions.partitioned import Partitioned

#: Into which of so many partitions rows come; "classes": each class into a partition of its own.
DIVISIONS = [(1, [0]), (2, [0, 1, 1]), (7, [0, 0, 5, 2, 2, 2, 6]), "classes"]


def divided(encoded, codes, weights, division, merged=True):
    n, of = (3, codes % 2) if division == "classes" else division
    place = np.resize(of, len(codes))
    parts = [np.flatnonzero(place == k) for k in range(n)]
    rows = [WeightedRows.of(encoded.take(r), codes[r], weights[r]) for r in parts]
    return Partitioned([part.merged() if merged and len(part) else part for part in rows])


def on_partitions(model, X, y, division, sample_weight=None, merged=True):
    """Do the work of fit on partitioned rows, in this process."""
    model._check_parameters()
    data = model._read_training(X, y, sample_weight, model.class_weight)
    model.classes_, encoded, factors = data.classes, data.table, data.factors
    model._levels = model.classes_.tolist() if model.ordinal else None
    read = Preferences.of_ordered if model.ordinal else Preferences.of_classes
    partitions = divided(encoded, data.codes, data.sample_weights, division, merged)
    groups = RowGroups(partitions, len(factors), factors, encoded.n_columns, read)
    with model._progress_bar():
        deadline = Deadline.of(model.time_limit)
        model._solve(groups, groups.preferences(), groups, deadline=deadline)
    return model


def table(seed=0, m=250, p=8, k=2):
    generator = np.random.default_rng(seed)
    X = (generator.random((m, p)) < 0.5).astype(int)
    y = (X[:, 0] & X[:, 1]) + (X[:, 2] & (k > 2))
    wrong = generator.random(m) < 0.1
    y[wrong] = generator.integers(0, k, m)[wrong]
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(p)]).astype(bool), y


def worth(model, X, y, weights):
    """The margin that weights of sum 1 secure: 1 / min_s s + C Σ w·max(0, 1 − s·margin)."""
    scores, codes = model.rules_.scores(X), np.searchsorted(model.classes_, y)
    if model.ordinal:
        ends = model.rules_.thresholds
        margins = np.where(codes[:, None] > np.arange(len(ends)), 2, -2) * (scores[:, -1:] - ends)
    else:
        own = np.take_along_axis(scores, codes[:, None], axis=1)
        rivals = np.arange(scores.shape[1]) != codes[:, None]
        margins = (own - scores)[rivals].reshape(len(y), -1)
    of_rows = TrainingData.of(np.empty((len(y), 0)), y, model.class_weight, weights).weights
    scales = np.append(1 / margins[margins > 1e-9], 0.0)
    losses = np.maximum(0, 1 - scales[:, None, None] * margins).sum(axis=2) @ of_rows
    return 1 / (scales + model.C_ * losses).min()


CASES = {
    "soft": {},
    "three classes": {"k": 3},
    "hard": {"margin": "hard", "degree": 3},
    "pairs": {"features": "conjunctions", "bias_rule": False},
    "weights": {"weighted": True, "class_weight": "balanced", "C": 0.3},
    "few": {"max_rules": 3},
    "ordered": {"k": 3, "ordinal": True},
    "monotone": {"monotone": {"c0": 1, "c2": -1}},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:the hard margin")
def test_equals_the_fit_in_memory(name):
    """The models solve one game, their rules secure its value, and all divisions agree exactly."""
    options = {"max_rules": None} | CASES[name]
    X, y = table(k=options.pop("k", 2))
    weights = np.arange(len(y)) % 3 * 0.7 if options.pop("weighted", False) else None
    whole = fk.PRLClassifier(**options).fit(X, y, weights)
    found = []
    for division in DIVISIONS:
        model = on_partitions(fk.PRLClassifier(**options), X, y, division, weights)
        found.append((model.value_, model.bound_, str(model.rules_), model.stopped_))
        assert model.stopped_ == whole.stopped_
        if name == "hard":  # it cannot be separated
            assert model.value_ == pytest.approx(0, abs=1e-9)
            assert model.bound_ == pytest.approx(0, abs=1e-6)
            assert model.nu_ == whole.nu_
            continue
        assert model.value_ <= whole.bound_ * (1 + 1e-6)
        assert whole.value_ <= model.bound_ * (1 + 1e-6)
        if name != "few":
            assert model.gap_ <= model.tol * model.bound_ + 1e-6
        assert model.value_ == pytest.approx(worth(model, X, y, weights), rel=1e-6)
        assert model.nu_ * model.value_ == pytest.approx(whole.nu_ * whole.value_, rel=1e-9)
    if weights is None:
        assert len(set(found)) == 1
    counts = np.ones(len(y)) if weights is None else weights
    for item, cover in zip(model.rules_, model.rules_.covers(X).T, strict=True):
        assert item.support == np.count_nonzero(counts[cover])
        assert item.coverage == pytest.approx(item.support / np.count_nonzero(counts))
        if not model.ordinal:
            right = y == item.winner
            assert item.precision == pytest.approx(np.average(right[cover], weights=counts[cover]))
            assert item.base_rate == pytest.approx(np.average(right, weights=counts))


def test_merging_equal_rows_is_of_no_effect():
    X, y = table(1, 300, 5)
    fits = [on_partitions(fk.PRLClassifier(), X, y, (2, [0, 1]), merged=m) for m in (True, False)]
    assert fits[0].value_ == fits[1].value_
    assert fits[0].bound_ == fits[1].bound_


@pytest.mark.parametrize(
    ("room", "number"), [("column_generation.MAX_IDLE_EPOCHS", 1), ("row_groups.MAX_GROUPS", 2)]
)
def test_columns_that_go_join_groups(room, number, monkeypatch):
    """Few columns at a time, so that unused or light ones are dropped often."""
    monkeypatch.setattr(f"formulakern.learning.prl.{room}", number)
    calls = []
    join = RowGroups.join
    monkeypatch.setattr(RowGroups, "join", lambda *a: calls.append(1) or join(*a))
    X, y = table(2, 500, 10)
    whole = fk.PRLClassifier(C=1.0).fit(X, y)
    model = on_partitions(fk.PRLClassifier(C=1.0, budget=10), X, y, (3, [0, 1, 2, 2]))
    assert calls
    assert model.value_ >= whole.value_ * 0.99
    assert model.bound_ >= whole.value_
    assert model.gap_ <= model.tol * model.bound_ + 1e-6


def test_too_many_groups_are_refused_and_said(monkeypatch):
    monkeypatch.setattr(RowGroups, "most", 500)
    X, y = table(3, 500, 10)
    with pytest.warns(ConvergenceWarning, match="too many groups"):
        model = on_partitions(fk.PRLClassifier(degree=3, C=5, epochs=12), X, y, (1, [0]))
    assert 0 < model.value_ <= model.bound_
    assert model.score(X, y) > 0.7


@settings(max_examples=30)
@given(st.data())
def test_groups_are_what_rows_say(data):
    """Divided by features and joined again: against the rows themselves."""
    m, p, k = data.draw(st.integers(1, 30)), 4, 3
    seed = data.draw(st.integers(0, 10**6))
    generator = np.random.default_rng(seed)
    X, codes = generator.integers(0, 2, (m, p)), generator.integers(0, k, m)
    weights = generator.integers(1, 4, m).astype(float)
    division = data.draw(st.sampled_from(DIVISIONS[:3]))
    merged = data.draw(st.booleans())
    partitions = divided(read_packed(X), codes, weights, division, merged)
    groups = RowGroups(partitions, k, np.ones(k), p)
    held = []
    conjunctions = st.lists(
        st.sampled_from([(0,), (1,), (0, 1), (2, 3), (1, 2, 3), ()]), max_size=3
    )
    for _ in range(3):
        before = groups.n_rows
        fresh = data.draw(conjunctions)
        division = groups.divide(fresh)
        held = list(dict.fromkeys([*held, *fresh]))
        if division is not None:
            assert len(division.parent) == groups.n_rows
            assert set(division.parent.tolist()) == set(range(before))
        if data.draw(st.booleans()):
            held = [w for w in held if data.draw(st.booleans())]
            kind = groups.join(held)
            assert sorted(set(kind.tolist())) == list(range(groups.n_rows))
        values = [tuple(groups.values(w)[g] for w in held) for g in range(groups.n_rows)]
        known = {
            (int(c), *v): (w, n)
            for c, v, w, n in zip(groups.codes, values, groups.weights, groups.numbers, strict=True)
        }
        wanted = {}
        for x, c, w in zip(X, codes, weights, strict=True):
            key = (int(c), *(bool(x[list(f)].all()) for f in held))
            weight, number = wanted.get(key, (0.0, 0))
            wanted[key] = weight + w, number + 1
        assert known == wanted
        assert len(known) == groups.n_rows
    none = read_packed(X[:0])
    family = row_groups.PartitionedConjunctions(none, True, np.full(p, -1), 1, 2, rows=groups)
    used = family.different_columns(np.arange(p))
    assert used.tolist() == read_packed(X).different_columns().tolist()


def test_a_time_limit_keeps_the_best_so_far(monkeypatch):
    """The clock jumps after a number of requests: after each of them there is a result."""
    X, y = table(4, 300, 8)
    clock, bound = Deadline.clock, fk.PRLClassifier(degree=3, C=1.0).fit(X, y).bound_
    asked = {}

    class Counted(Partitioned):
        def persist(self, function, *shared, each=None):
            return Counted(super().persist(function, *shared, each=each).values)

        def map(self, function, *shared, each=None, deadline=UNLIMITED):
            asked["number"] += 1
            return super().map(function, *shared, each=each, deadline=deadline)

    monkeypatch.setattr(
        Deadline, "clock", staticmethod(lambda: clock() + 1e9 * (asked["number"] > asked["most"]))
    )
    for most in (2, 5, 8, 12, 13, 14, 15):
        asked |= {"number": 0, "most": most}
        model = fk.PRLClassifier(degree=3, tol=1e-9, C=1.0, time_limit=1e6, budget=2)
        data = model._read_training(X, y)
        model._check_parameters()
        model.classes_, encoded, model._levels = data.classes, data.table, None
        rows = divided(encoded, data.codes, np.ones(len(y)), (2, [0, 1]))
        deadline = Deadline.of(1e6)
        groups = RowGroups(Counted(rows.values), 2, np.ones(2), encoded.n_columns)
        with model._progress_bar(), pytest.warns(ConvergenceWarning, match="time limit"):
            model._solve(groups, groups.preferences(), groups, deadline=deadline)
        assert model.stopped_ == "time_limit"
        assert model.value_ <= bound
        assert model.bound_ >= bound * 0.99
        assert len(model.predict(X)) == len(y)
    assert model.value_ > 0


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("kept", [0, 1])
def test_features_that_groups_no_longer_distinguish(monkeypatch, over, kept):
    """The game drops columns of its best hypothesis; with time left, they return."""
    X, y = table(4, 300, 8, 3)
    finish, clock, late = ColumnGeneration.finish, Deadline.clock, []

    def finished(self):
        outcome = finish(self)
        self.game.keep(np.arange(kept))
        self.game.family.settle(self.game)
        late.append(over)
        return outcome

    monkeypatch.setattr(ColumnGeneration, "finish", finished)
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: clock() + 1e9 * any(late)))
    model = fk.PRLClassifier(C=1.0, max_rules=2, time_limit=1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        on_partitions(model, X, y, DIVISIONS[1])
    assert late == [over]
    assert (not over) * 2 <= len(model.rules_) <= 2
    assert model.value_ <= model.bound_ + 1e-9


def test_fit_on_a_data_frame_of_dask_that_stays_in_partitions():
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    X, y = fk.datasets.tic_tac_toe()
    frame, target = pd.DataFrame(X).reset_index(drop=True), pd.Series(np.asarray(y))
    lazy, classes = (frames.from_pandas(part, npartitions=3) for part in (frame, target))
    whole = fk.PRLClassifier(C=0.2, max_rules=None).fit(frame, target)
    with dask.config.set(scheduler="synchronous"), fk.gather_limit(0):
        model = fk.PRLClassifier(C=0.2, max_rules=None).fit(lazy, classes)
        with pytest.raises(ParameterError, match="stay in partitions"):
            fk.PRLClassifier("a & b").fit(lazy, classes)
        with pytest.raises(ParameterError, match="stay in partitions"):
            fk.PRLClassifier().fit_preferences(lazy, [(0, "a", "b")])
    assert model.value_ <= whole.bound_ * (1 + 1e-6)
    assert whole.value_ <= model.bound_ * (1 + 1e-6)
    assert model.gap_ <= model.tol * model.bound_ + 1e-6
    assert model.value_ == pytest.approx(worth(model, frame, target, None), rel=1e-6)
