"""Speed of rule lists, as ratios: ``pytest -s tests/benchmarks/test_rule_lists.py``."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern import datasets

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))


def report(what, value, goal, unit="x"):
    print(f"\n    {what:<70} {value:9.4f} {unit:<3} goal {goal:g}", end="")


def table(name):
    """Rows and classes of a data set, in random order."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs {path}")
    dataset = datasets.read_table(path)
    order = np.random.default_rng(0).permutation(len(dataset.target))
    return dataset.data[order], np.asarray(dataset.target)[order]


def seconds(fit, repetitions=3):
    """The median CPU time of a fit, after one that compiles."""
    fit()
    taken = []
    for _ in range(repetitions):
        begin = time.process_time()
        fit()
        taken.append(time.process_time() - begin)
    return float(np.median(taken))


@pytest.mark.filterwarnings("ignore")  # those of the other package
def test_ripper_on_adult_against_wittgenstein():
    """Two thirds of the rows train; both packages get the same frame."""
    wittgenstein = pytest.importorskip("wittgenstein")
    pd = pytest.importorskip("pandas")
    X, y = table("adult-train.csv.gz")
    n = 2 * len(y) // 3
    model = fk.RuleListClassifier(random_state=0)
    ours = seconds(lambda: model.fit(X[:n], y[:n]))
    frame = X.to_pandas()
    texts = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    frame[texts] = frame[texts].fillna("missing").astype(object)
    other = wittgenstein.RIPPER(random_state=0)
    begin = time.process_time()
    other.fit(frame[:n], y[:n] == ">50K")
    theirs = time.process_time() - begin
    error = 100 * np.mean(model.predict(X[n:]) != y[n:])
    their_error = 100 * np.mean(np.array(other.predict(frame[n:])) != (y[n:] == ">50K"))
    report(f"adult, {n:,} rows: wittgenstein {theirs:.1f} s / ours {ours:.2f} s", theirs / ours, 10)
    report(f"... their error {their_error:.2f} %, ours", error, their_error, "%")
    assert theirs / ours > 10
    assert error < their_error


def test_ripper_on_mushroom():
    X, y = table("mushroom.csv")
    model = fk.RuleListClassifier(random_state=0)
    ours = seconds(lambda: model.fit(X, y), 7)
    report("mushroom, 8,124 rows, reading included", ours, 0.1, "s")


@pytest.mark.parametrize("name", ["adult-train.csv.gz", "nursery.csv.gz"])
def test_time_grows_little_faster_than_rows(name):
    """×2, ×4, ×8 rows against n log² n."""
    X, y = table(name)
    sizes = [len(y) // 8, len(y) // 4, len(y) // 2, len(y)]
    taken = []
    for n in sizes:
        model = fk.RuleListClassifier(random_state=0)
        taken.append(seconds(lambda model=model, n=n: model.fit(X[:n], y[:n])))
        print(f"\n    {name}: {n:,} rows {taken[-1]:.3f} s, {len(model.rules_)} rules", end="")
    for n, t in zip(sizes[1:], taken[1:], strict=True):
        ratio, limit = t / taken[0], n / sizes[0] * (np.log(n) / np.log(sizes[0])) ** 2
        report(f"x{n / sizes[0]:.0f} rows", ratio, limit)


def numpy_gains(columns, covered, y):
    """FOIL's gain of all conditions of a table in vectorised NumPy: the plain alternative."""
    best = -np.inf
    p0, n0 = np.count_nonzero(y[covered]), np.count_nonzero(~y[covered])
    for column in columns:
        values, right = column[covered], y[covered]
        order = np.argsort(values, kind="stable")
        p = np.cumsum(right[order])
        t = np.arange(1, len(p) + 1)
        last = np.append(values[order][1:] != values[order][:-1], False)
        for right_ones, total in ((p, t), (p[-1] - p, len(p) - t)):
            usable = last & (right_ones > 0)
            gain = right_ones[usable] * np.log2(right_ones[usable] / total[usable] * (p0 + n0) / p0)
            best = max(best, gain.max(initial=-np.inf))
    return best


def test_all_cut_points_of_one_condition():
    """The best first condition of a rule: 20,000 rows, 20 numeric columns, every cut point."""
    from formulakern.learning.covering.sequential import grow, growth_state

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 20_000))
    y = (X[0] > 0.5) & (X[1] < 0.3) ^ (rng.random(20_000) < 0.1)
    uniques = [np.unique(column, return_inverse=True) for column in X]
    ranks = np.array([codes for _, codes in uniques], dtype=np.int32)
    n_values = np.array([len(values) for values, _ in uniques])
    weights = np.column_stack([~y, y]).astype(float)
    state = growth_state(ranks, n_values, np.full(20, 6), weights)
    none, rows = np.empty((0, 3), dtype=np.int64), np.arange(20_000)
    ours = seconds(lambda: grow(state, rows, 1, 1.0, none, 1), 9)
    rule = grow(state, rows, 1, 1.0, none, 1)
    theirs = seconds(lambda: numpy_gains(X, rows, y), 3)
    inside = state.ranks[rule[0, 0]] >= rule[0, 2]
    if rule[0, 1] == 1:
        inside = state.ranks[rule[0, 0]] <= rule[0, 2]
    p, t = np.count_nonzero(y & inside), np.count_nonzero(inside)
    gain = p * np.log2(p / t / y.mean())
    assert gain == pytest.approx(numpy_gains(X, rows, y))
    report("best of 800,000 conditions, NumPy / ours", theirs / ours, 3)
