"""HKLClassifier on partitioned rows gives the model in memory, for any partitions."""

import warnings

import numpy as np
import pandas
import pytest

from formulakern import HKLClassifier, gather_limit
from formulakern.datasets import load

dask_frames = pytest.importorskip("dask.dataframe")


def table_of(n_classes=2):
    X, y = load("tic-tac-toe")
    frame = pandas.DataFrame({name: X[name] for name in X.names})[::2].reset_index(drop=True)
    rng = np.random.default_rng(0)
    frame["noise"] = rng.integers(0, 4, len(frame)) / 4
    y = np.asarray(y)[::2].astype(object)
    if n_classes == 3:
        y[(frame.iloc[:, 4] == "b").to_numpy()] = "third"
    return frame, y.astype(str)


def parted(frame, y, n):
    """Uneven partitions; of seven one is empty and one has a single class."""
    ends = {1: [], 2: [30], 7: [0, 3, 3, 40, 41, 300]}[n]
    parts = np.split(np.arange(len(frame)), ends)
    delayed = pytest.importorskip("dask").delayed
    X = dask_frames.from_delayed([delayed(frame.iloc[i]) for i in parts], meta=frame[:0])
    return X, y


def fitted(frame, y, n, **options):
    X, labels = parted(frame, y, n)
    with gather_limit(0):
        return HKLClassifier(**options).fit(X, labels)


def same(model, whole, frame, y):
    assert model.stopped_ == whole.stopped_ == "optimal"
    assert model.gap_ <= model.tol
    assert model.lower_bound_ <= whole.objective_ * (1 + 1e-9)
    assert whole.lower_bound_ <= model.objective_ * (1 + 1e-9)
    assert len(model.history_) == model.n_iter_
    # scores are as close as the gaps let them be
    close = np.mean(model.predict(frame) == whole.predict(frame))
    assert close > 0.97
    for rule in model.rules_:
        cover = rule.rule(frame)
        if cover.dtype == bool:
            assert rule.support == cover.sum()
            assert rule.coverage == pytest.approx(cover.mean())
            assert rule.precision == pytest.approx((y[cover] == rule.winner).mean())


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_in_memory(loss, n_classes):
    frame, y = table_of(n_classes)
    options = {"loss": loss, "C": 20.0, "tol": 0.005, "max_rules": None}
    whole = HKLClassifier(**options).fit(frame, y)
    models = [fitted(frame, y, n, **options) for n in (1, 7)]
    for model in models:
        same(model, whole, frame, y)
    one, seven = models
    assert [str(rule) for rule in one.rules_] == [str(rule) for rule in seven.rules_]
    np.testing.assert_allclose(
        one.decision_function(frame), seven.decision_function(frame), rtol=1e-6, atol=1e-8
    )


def test_weights_order_and_signs():
    frame, y = table_of(3)
    weights = np.arange(len(y)) % 3.0  # some of them 0
    options = {"C": 10.0, "tol": 0.02, "ordinal": True}
    whole = HKLClassifier(**options).fit(frame, y, weights)
    X, labels = parted(frame, y, 2)
    with gather_limit(0):
        model = HKLClassifier(**options).fit(X, labels, weights)
    assert model.gap_ <= 0.02
    assert model.lower_bound_ <= whole.objective_ * (1 + 1e-9)
    assert whole.lower_bound_ <= model.objective_ * (1 + 1e-9)
    assert model.thresholds_ == pytest.approx(whole.thresholds_, abs=0.3)
    asked = {"C": 10.0, "tol": 0.02, "monotone": {"noise": 1}, "class_weight": "balanced"}
    frame, y = table_of()
    whole = HKLClassifier(**asked).fit(frame, y)
    model = fitted(frame, y, 7, **asked)
    assert model.gap_ <= 0.02
    assert model.lower_bound_ <= whole.objective_ * (1 + 1e-9)
    assert whole.lower_bound_ <= model.objective_ * (1 + 1e-9)


def test_no_time_and_what_cannot_be():
    frame, y = table_of()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(frame, y, 7, time_limit=0.0)
    assert model.stopped_ == "time_limit"
    assert np.isin(model.predict(frame), model.classes_).all()
