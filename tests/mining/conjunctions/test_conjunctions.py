"""Mining conjunctions: all results against enumeration, and certificates against missing ones."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import tables

from formulakern.mining.conjunctions import search
from formulakern.mining.conjunctions.search import mine_conjunctions

WEIGHTS = st.sampled_from([-3.0, -1.0, 0.0, 0.0, 1.0, 2.0]) | st.floats(-5, 5, width=32)


@pytest.fixture(params=["listed", "searched"], autouse=True)
def how(request, monkeypatch):
    """Small tables are listed; all tests hold for the search too."""
    if request.param == "searched":
        monkeypatch.setattr(search, "MAX_ENTRIES", -1)
    return request.param


def score(sums, totals, objective, direction, complement):
    values = [t - s for s, t in zip(sums, totals, strict=True)] if complement else sums
    if objective == "spread":
        return max(values) - min(values)
    if objective == "norm":
        return math.hypot(*values)
    both = {"both": [*values, *(-v for v in values)], "positive": values}
    return max(both.get(direction, [-v for v in values]))


def naive(X, weights, options):
    """Every conjunction of the lengths asked for, with its score: the definition."""
    p = X.shape[1]
    columns = weights.T.tolist()
    totals = [math.fsum(c) for c in columns]
    longest = p if options["max_length"] is None else min(p, options["max_length"])
    groups = options.get("exclusive")
    factor = options.get("length_factor")
    scores = {}
    for length in range(options["min_length"], longest + 1):
        for w in itertools.combinations(range(p), length):
            if groups is not None:
                of = [groups[j] for j in w if groups[j] >= 0]
                if len(set(of)) < len(of):
                    continue
            covered = X[:, list(w)].all(axis=1).tolist()
            sums = [math.fsum(itertools.compress(c, covered)) for c in columns]
            value = score(
                sums, totals, options["objective"], options["direction"], options["complement"]
            )
            scores[w] = value / (factor[length] if factor is not None else 1.0)
    return scores


@st.composite
def cases(draw):
    X = draw(tables(st.integers(1, 20), st.integers(1, 7)))
    m, p = X.shape
    k = draw(st.integers(1, 3))
    weights = np.array(draw(st.lists(WEIGHTS, min_size=m * k, max_size=m * k))).reshape(m, k)
    objective = draw(st.sampled_from(["absolute", "spread", "norm"])) if k > 1 else "absolute"
    least = draw(st.integers(0, 2))
    options = {
        "objective": objective,
        "direction": draw(st.sampled_from(["both", "positive", "negative"]))
        if objective == "absolute"
        else "both",
        "complement": draw(st.booleans()),
        "min_length": least,
        "max_length": draw(st.none() | st.integers(least, 5)),
        "exclusive": draw(st.none() | st.lists(st.integers(-1, 2), min_size=p, max_size=p)),
        "length_factor": draw(
            st.none() | st.lists(st.sampled_from([0.25, 0.5, 1.0, 3.0]), min_size=8, max_size=8)
        ),
        "threshold": draw(st.sampled_from([0.0, 0.0, 1.5, -1.0, -math.inf])),
    }
    return X, weights, options


def check_against_enumeration(result, X, weights, options, top):
    """Every result is right, nothing better is missing, and the bound holds for all others."""
    every = naive(X, weights, options)
    assert result.proven
    assert len(set(result.conjunctions)) == len(result.conjunctions)
    close = 1e-9
    for w, s, sums in zip(result.conjunctions, result.scores, result.sums, strict=True):
        assert w == tuple(sorted(w))
        assert s == pytest.approx(every[w], abs=close)
        covered = X[:, list(w)].all(axis=1)
        assert sums == pytest.approx(weights[covered].sum(axis=0), abs=close)
    wanted = {w: s for w, s in every.items() if s > options["threshold"]}
    best = sorted(wanted.values(), reverse=True)[:top]
    certain = [s for s in best if s > options["threshold"] + close]
    assert result.scores[: len(certain)] == pytest.approx(certain, abs=close)
    missing = [s for w, s in every.items() if w not in set(result.conjunctions)]
    largest = max(missing, default=-math.inf)  # sums in another order differ in the last digit
    assert largest <= result.bound + 1e-15 or largest == pytest.approx(
        result.bound, rel=1e-14, abs=0
    )
    if top == 100_000:
        assert result.complete
        assert {w for w, s in wanted.items() if s > options["threshold"] + close} <= set(
            result.conjunctions
        )


@settings(max_examples=90)
@given(cases(), st.just(100_000) | st.integers(1, 40))
def test_equals_enumeration(case, top):
    X, weights, options = case
    result = mine_conjunctions(X, weights, top=top, **options)
    check_against_enumeration(result, X, weights, options, top)
    keys = [
        (-s, len(w), w) for s, w in zip(result.scores.tolist(), result.conjunctions, strict=True)
    ]
    assert keys == sorted(keys)


@settings(max_examples=30)
@given(cases(), st.integers(1, 5))
def test_integers_are_exact(case, top):
    X, weights, options = case
    weights = np.rint(weights)
    options["length_factor"] = None
    assume(options["objective"] != "norm")
    every = naive(X, weights, options)
    result = mine_conjunctions(X, weights, top=top, **options)
    best = sorted((s for s in every.values() if s > options["threshold"]), reverse=True)
    assert result.scores.tolist() == best[:top]
    full = len(result.scores) == top
    assert result.bound == (result.scores[-1] if full else options["threshold"])


def table(m, p, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (m, p))


def test_many_words_and_long_conjunctions():
    """Several words of examples, arrays that must grow, conjunctions of all lengths."""
    X = np.random.default_rng(1).random((200, 13)) < 0.9
    weights = np.random.default_rng(2).integers(-3, 4, 200).astype(float)
    options = {"objective": "absolute", "direction": "both", "complement": False}
    every = naive(X.astype(int), weights[:, None], {**options, "min_length": 0, "max_length": None})
    result = mine_conjunctions(X, weights, top=100_000, min_length=0, max_length=None)
    wanted = sorted((-s, len(w), w) for w, s in every.items() if s > 0)
    assert result.conjunctions == [w for _, _, w in wanted]
    assert result.complete


def test_equal_covers_are_different_conjunctions():
    X = [[1, 1, 1], [0, 0, 0]]
    result = mine_conjunctions(X, [1.0, -1.0], max_length=None)
    assert result.conjunctions == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


def test_what_is_barely_better_is_found():
    """The best conjunction comes late and beats an early one by half a per cent."""
    X = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    result = mine_conjunctions(X, [10.0, -9.0, -9.0, 14.95, -5.0], top=1)
    assert result.conjunctions == [(0, 1)]


def test_a_length_factor_that_falls():
    """Longer conjunctions are divided by less: a bound that ignored that would lose them."""
    X = [[1, 1], [1, 0], [0, 1]]
    result = mine_conjunctions(X, [1.0, 1.0, 1.0], top=1, length_factor=[1, 8, 0.125, 1])
    assert result.conjunctions == [(0, 1)]
    assert result.scores.tolist() == [8.0]


@pytest.mark.parametrize("limit", [{"time_limit": 0.0}, {"max_evaluated": 100}])
@pytest.mark.parametrize("objective", ["absolute", "spread", "norm"])
def test_a_limit_leaves_a_bound(objective, limit):
    X = table(3_000, 60)
    weights = np.random.default_rng(3).normal(size=(3_000, 2))
    result = mine_conjunctions(X, weights, top=3, max_length=None, objective=objective, **limit)
    assert not result.proven
    assert not result.complete
    longer = mine_conjunctions(X, weights, top=50, max_length=2, objective=objective)
    assert longer.proven
    missing = [
        s
        for w, s in zip(longer.conjunctions, longer.scores, strict=True)
        if w not in set(result.conjunctions)
    ]
    assert max(missing) <= result.bound
    for found, score in zip(result.conjunctions, result.scores, strict=True):
        sums = weights[X[:, list(found)].all(axis=1)].sum(axis=0)
        own = {"spread": np.ptp, "norm": np.linalg.norm}.get(objective, lambda s: np.abs(s).max())(
            sums
        )
        assert score == pytest.approx(own, rel=1e-12)


def test_progress_rises_to_one_and_may_interrupt():
    X = table(3_000, 60)
    weights = np.random.default_rng(3).normal(size=3_000)
    shares: list[float] = []
    mine_conjunctions(X, weights, top=10, max_length=3, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) > 1

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine_conjunctions(X, weights, max_length=None, progress=interrupt)


def test_too_many_results_are_reported():
    X = np.ones((3, 6), dtype=int)
    result = mine_conjunctions(X, [1.0, 1.0, 1.0], top=5)
    assert len(result.conjunctions) == 5
    assert result.proven
    assert not result.complete
    assert result.bound == 3.0


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
def test_any_scale_of_weights(scale):
    X = table(40, 6)
    weights = np.random.default_rng(5).normal(size=40)
    plain = mine_conjunctions(X, weights, top=4)
    scaled = mine_conjunctions(X, weights * scale, top=4)
    assert scaled.conjunctions == plain.conjunctions
    assert scaled.scores == pytest.approx(plain.scores * scale, rel=1e-9)


def test_weights_that_are_all_zero():
    result = mine_conjunctions([[1, 0], [1, 1]], [0.0, 0.0])
    assert (result.conjunctions, result.proven, result.bound) == ([], True, 0.0)
    result = mine_conjunctions([[1, 0], [1, 1]], [0.0, 0.0], threshold=-1)
    assert result.conjunctions == [(0,), (1,), (0, 1)]


def test_no_length_is_possible():
    result = mine_conjunctions([[1, 0]], [1.0], min_length=2, max_length=3, exclusive=[0, 0])
    assert result.conjunctions == []
    assert result.proven
