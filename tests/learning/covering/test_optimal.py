"""Optimal rule lists against the enumeration of all lists, and the guarantee after a stop."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tables

import formulakern as fk
from formulakern.deadline import Deadline
from formulakern.encoding.bits import n_words
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.strict import read_packed
from formulakern.learning.covering import optimal
from formulakern.learning.covering.optimal import optimal_rule_list

CLOSE = 1e-9


def covers_of(X, conjunctions):
    return [X[:, list(conjunction)].all(axis=1) for conjunction in conjunctions]


def decided(covers, m):
    """For each rule, and last the default, the rows of m that it decides."""
    left, parts = np.ones(m, dtype=bool), []
    for cover in covers:
        parts.append(left & cover)
        left = left & ~cover
    return [*parts, left]


def error(covers, weights):
    """The share of weight outside each rule's majority class."""
    sums = [rows @ weights for rows in decided(covers, len(weights))]
    return sum(s.sum() - s.max() for s in sums) / weights.sum()


def naive(X, weights, options):
    """The least objective of all lists: the definition."""
    p, groups = X.shape[1], options["exclusive"]
    allowed = {}
    for length in range(1, options["max_conditions"] + 1):
        for w in itertools.combinations(range(p), length):
            of = [] if groups is None else [groups[j] for j in w if groups[j] >= 0]
            cover = X[:, list(w)].all(axis=1)
            support = weights[cover].sum() / weights.sum()
            if len(set(of)) == len(of) and support >= options["min_support"]:
                allowed[w] = cover
    return min(
        error(covers, weights) + options["penalty"] * n
        for n in range(options["max_rules"] + 1)
        for covers in itertools.permutations(allowed.values(), n)
    )


@st.composite
def cases(draw):
    X = draw(tables(st.integers(1, 16), st.integers(1, 5)))
    m, p = X.shape
    k = draw(st.integers(1, 4))
    weight = draw(
        st.sampled_from(
            [
                st.integers(0, 1).map(float),
                st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0]),
                st.floats(0, 1, allow_subnormal=False),
            ]
        )
    )
    weights = np.array(draw(st.lists(weight, min_size=m * k, max_size=m * k))).reshape(m, k)
    if weights.sum() <= 0:
        weights[0, 0] = 1.0
    conditions = draw(st.integers(1, 3 if p <= 3 else 1 if p == 5 else 2))
    options = {
        "max_rules": draw(st.integers(0, 3 if p <= 3 else 2)),
        "max_conditions": conditions,
        "penalty": draw(st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.2])),
        "exclusive": draw(st.none() | st.lists(st.integers(-1, 1), min_size=p, max_size=p)),
        "min_support": draw(st.sampled_from([0.0, 0.0, 0.3])),
    }
    return X, weights, options


def sized(shape):
    """The size of a list with an entry for each cell."""
    return {"min_size": math.prod(shape), "max_size": math.prod(shape)}


def check(X, weights, options, found):
    """Check every stated property of the list."""
    covers = covers_of(X, found.conjunctions)
    parts = decided(covers, len(X))
    assert len(found.conjunctions) == len(found.labels) <= options["max_rules"]
    assert found.counts == pytest.approx(np.array([weights[rows].sum(axis=0) for rows in parts]))
    assert [*found.labels, found.default] == found.counts.argmax(axis=1).tolist()
    assert found.error == pytest.approx(error(covers, weights), abs=CLOSE)
    n = len(found.conjunctions)
    assert found.objective == pytest.approx(found.error + options["penalty"] * n, abs=CLOSE)
    assert found.gap == found.objective - found.bound >= 0
    for conjunction in found.conjunctions:
        assert 1 <= len(conjunction) <= options["max_conditions"]
        if options["exclusive"] is not None:
            groups = [options["exclusive"][j] for j in conjunction]
            assert all(groups.count(g) == 1 for g in groups if g >= 0)
        support = weights[X[:, list(conjunction)].all(axis=1)].sum() / weights.sum()
        assert support >= options["min_support"] - CLOSE
    bounds = [known.bound for known in found.history]
    objectives = [known.objective for known in found.history]
    assert bounds == sorted(bounds)
    assert objectives == sorted(objectives, reverse=True)


@settings(max_examples=45)
@given(cases())
def test_equals_enumeration(case):
    X, weights, options = case
    best = naive(X, weights, options)
    found = optimal_rule_list(read_packed(X), weights, **options)
    check(X, weights, options, found)
    assert found.stopped == "optimal"
    assert found.objective == pytest.approx(best, abs=CLOSE + 2 * found.rounding)
    assert found.bound <= best + CLOSE
    assert found.gap <= 2 * found.rounding + CLOSE


@settings(max_examples=30)
@given(cases(), st.data())
def test_every_cut_point_of_ordered_columns(case, data):
    """Ends that can move lose no list: the optimum is that of all conjunctions."""
    _, weights, options = case
    m, wide = len(weights), data.draw(st.booleans())
    shape = (m, 1 if wide else 2)
    numbers = np.array(data.draw(st.lists(st.integers(0, 5 if wide else 2), **sized(shape))))
    columns = []
    for column in numbers.reshape(shape).T:
        for cut in np.unique(column)[:-1]:
            columns += [column <= cut, column > cut]
    if not columns:
        return
    X, options["exclusive"] = np.array(columns).T, None
    options["max_rules"] = min(options["max_rules"], 2)
    options["max_conditions"] = min(options["max_conditions"], 2)
    if data.draw(st.booleans()):  # chains of other lengths
        X = X[:, data.draw(st.permutations(range(X.shape[1])))]
    best = naive(X, weights, options)
    found = optimal_rule_list(read_packed(X), weights, **options)
    check(X, weights, options, found)
    assert found.stopped == "optimal"
    assert found.objective == pytest.approx(best, abs=CLOSE + 2 * found.rounding)
    assert found.bound <= best + CLOSE


def test_moved_ends_leave_few_antecedents():
    """Only the ends at a change of class remain of a column with 100 values."""
    column = np.arange(100)
    X = np.stack([column <= cut for cut in range(99)] + [column > cut for cut in range(99)], axis=1)
    weights = np.eye(2)[(column >= 40).astype(int)]
    found = optimal_rule_list(read_packed(X), weights, max_rules=1)
    assert found.error == 0
    assert found.n_antecedents <= 2


@settings(max_examples=45)
@given(cases(), st.randoms())
def test_weights_that_differ_much(case, random):
    """Too many different weights to group: laid out by their bits, with a stated rounding."""
    X, weights, options = case
    weights = weights * [[random.random() for _ in row] for row in weights] + weights.max() / 99
    best = naive(X, weights, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal, "MAX_WORDS_RATIO", -1)
        found = optimal_rule_list(read_packed(X), weights, **options)
    check(X, weights, options, found)
    assert 0 <= found.rounding <= weights.size * 2.0**-20
    assert best - CLOSE <= found.objective <= best + 2 * found.rounding + CLOSE
    assert found.objective - 2 * found.rounding - CLOSE <= found.bound <= best + CLOSE


@settings(max_examples=45)
@given(cases(), st.integers(0, 40))
def test_bound_holds_wherever_it_stops(case, slices):
    X, weights, options = case
    left = iter(range(slices))

    def few_slices(search, time_limit, progress):
        for _ in left:
            finished = search.advance(1)
            progress(0.0)
            if finished:
                return True
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal, "run_slices", few_slices)
        found = optimal_rule_list(read_packed(X), weights, **options)
    check(X, weights, options, found)
    best = naive(X, weights, options)
    assert found.bound - CLOSE <= best <= found.objective + CLOSE
    assert found.stopped in ("optimal", "time_limit")
    if found.stopped == "optimal":
        assert found.objective == pytest.approx(best, abs=CLOSE)


def planted(m=700, p=7, classes=3, noise=0.1, seed=0):
    """Rows that follow a list of two rules, but for noise, over several words."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (m, p))
    y = np.where(X[:, 0] & X[:, 1], 0, np.where(X[:, 2], 1, 2)) % classes
    flipped = random.random(m) < noise
    y[flipped] = random.integers(0, classes, flipped.sum())
    return X, np.eye(classes)[y] * random.choice([1.0, 1.0, 1.0, 2.5], (m, 1))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("rules", "conditions", "p"), [(2, 2, 7), (3, 1, 9), (5, 1, 5)])
def test_many_words(rules, conditions, p, classes):
    X, weights = planted(p=p, classes=classes)
    options = {"max_rules": rules, "max_conditions": conditions, "penalty": 0.01}
    options |= {"exclusive": None, "min_support": 0.0}
    found = optimal_rule_list(read_packed(X), weights, **options)
    check(X, weights, options, found)
    assert found.objective == pytest.approx(naive(X, weights, options), abs=CLOSE)
    assert found.stopped == "optimal"


def test_equal_rows_may_be_merged_or_not():
    X, weights = planted()
    distinct, kind = read_packed(X).distinct()
    merged = np.zeros((distinct.n_rows, weights.shape[1]))
    np.add.at(merged, kind, weights)
    one = optimal_rule_list(read_packed(X), weights, max_rules=3)
    other = optimal_rule_list(distinct, merged, max_rules=3)
    assert one.objective == pytest.approx(other.objective)
    assert one.conjunctions == other.conjunctions == [(0, 1), (2,)]
    assert one.counts == pytest.approx(other.counts)


def test_same_result_again_and_with_a_small_table_of_states(monkeypatch):
    X, weights = planted(m=200, p=8, noise=1.0)
    packed, options = read_packed(X), {"max_rules": 4, "penalty": 0.005}
    runs = [optimal_rule_list(packed, weights, **options) for _ in range(2)]
    monkeypatch.setattr(optimal, "MAX_STATES", 64)
    small = optimal_rule_list(packed, weights, **options)
    assert runs[0].conjunctions == runs[1].conjunctions
    assert runs[0].n_evaluated == runs[1].n_evaluated < small.n_evaluated
    assert runs[0].objective == small.objective
    assert small.stopped == "optimal"


def test_time_limit_of_nothing():
    X, weights = planted(noise=0.3)
    found = optimal_rule_list(read_packed(X), weights, max_rules=4, penalty=0.001, time_limit=0)
    assert found.stopped == "time_limit"
    assert 0 <= found.bound < found.objective
    assert found.objective <= 1 - weights.sum(axis=0).max() / weights.sum()


@pytest.mark.parametrize("longest", [1, 2])
def test_without_time_for_all_antecedents_shorter_ones_are_searched(monkeypatch, longest):
    X, weights = planted(noise=0.3)
    usual, over = optimal._extensions, Deadline.over

    def extensions(level, *options):
        if len(level[0]) == longest:
            monkeypatch.setattr(Deadline, "over", lambda *_: True)
        yield from usual(level, *options)

    def merged(*found):
        monkeypatch.setattr(Deadline, "over", over)
        return usual_merged(*found)

    usual_merged = optimal._merged
    monkeypatch.setattr(optimal, "_extensions", extensions)
    monkeypatch.setattr(optimal, "_merged", merged)
    options = {"max_rules": 2, "penalty": 0.01}
    found = optimal_rule_list(read_packed(X), weights, max_conditions=3, time_limit=999, **options)
    assert (found.stopped, found.bound) == ("time_limit", 0.0)
    monkeypatch.undo()
    short = optimal_rule_list(read_packed(X), weights, max_conditions=longest, **options)
    assert short.stopped == "optimal"
    assert found.objective == pytest.approx(short.objective)


@pytest.fixture(scope="module")
def noisy():
    """A table with noise, and its best list of four rules."""
    X, weights = planted(noise=0.3)
    best = optimal_rule_list(read_packed(X), weights, max_rules=4, penalty=0.001)
    return X, weights, best


@pytest.mark.parametrize("at", [1, 2, 3])
def test_interrupt_keeps_the_best_list(at, noisy):
    X, weights, best = noisy
    seen = []

    def report(known):
        seen.append(known)
        if len(seen) == at:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="best rule list so far is kept"):
        found = optimal_rule_list(
            read_packed(X), weights, max_rules=4, penalty=0.001, report=report
        )
    assert found.stopped == "interrupted"
    assert found.history == tuple(seen)
    assert found.bound <= best.objective <= found.objective


def test_tolerance(noisy):
    X, weights, exact = noisy
    close = optimal_rule_list(read_packed(X), weights, max_rules=4, penalty=0.001, tol=0.02)
    assert close.stopped == "optimal"
    assert close.gap <= 0.02 + CLOSE
    assert close.bound <= exact.objective <= close.objective + CLOSE
    assert close.n_evaluated < exact.n_evaluated


def test_more_rules_than_can_pay():
    """Their number is limited by the penalty, and by the antecedents: no memory is taken for it."""
    X, weights = planted()
    found = optimal_rule_list(read_packed(X), weights, max_rules=10**9, penalty=0.05)
    assert found.conjunctions == [(0, 1), (2,)]
    free = optimal_rule_list(read_packed(X[:20]), weights[:20], max_rules=10**9, max_conditions=1)
    assert free.stopped == "optimal"


@pytest.mark.parametrize(
    ("X", "weights"),
    [
        ([[1]], [[2.0]]),
        ([[1, 0]], [[0.0, 3.0]]),
        ([[1, 0], [0, 1]], [[1.0], [1.0]]),
        ([[1, 0], [1, 0]], [[1.0, 0.0], [0.0, 1.0]]),
        ([[1, 0], [1, 0]], [[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]]),
        ([[0, 0], [0, 0]], [[0.0, 5.0], [7.0, 0.0]]),
        ([[0], [1]], [[0.0, 0.0], [1.0, 0.0]]),
    ],
    ids=["one row", "two classes", "one class", "contradictory", "three", "false", "no weight"],
)
@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_nothing_to_tell_apart(X, weights, penalty):
    found = optimal_rule_list(read_packed(np.array(X)), weights, penalty=penalty)
    sums = np.sum(weights, axis=0)
    assert found.conjunctions == found.labels == []
    assert found.default == sums.argmax()
    assert found.counts.tolist() == [sums.tolist()]
    assert found.objective == found.error == pytest.approx(1 - sums.max() / sums.sum())
    assert found.gap == pytest.approx(0, abs=1e-12)
    assert found.stopped == "optimal"


@pytest.mark.parametrize(
    ("shape", "weights", "options", "message"),
    [
        ((0, 2), np.zeros((0, 2)), {}, "0 rows of 2 propositions"),
        ((2, 0), np.ones((2, 2)), {}, "2 rows of 0 propositions"),
        ((2, 2), np.zeros((2, 2)), {}, "expected none below 0 and one above"),
        ((2, 2), [[1, -1], [1, 1]], {}, "weights between -1 and 1"),
        ((2, 2), np.ones((2, 2)), {"max_rules": -1}, "max_rules=-1"),
        ((2, 2), np.ones((2, 2)), {"max_conditions": 0}, "max_conditions=0"),
        ((2, 2), np.ones((2, 2)), {"penalty": -0.1}, "penalty=-0.1"),
        ((2, 2), np.ones((2, 2)), {"min_support": 1.5}, "min_support=1.5"),
        ((2, 2), np.ones((2, 2)), {"tol": math.inf}, "tol=inf"),
        ((2, 2), np.ones((2, 2)), {"time_limit": -1}, "time_limit=-1"),
        ((2, 2), np.ones((2, 2)), {"max_bytes": 0}, "max_bytes=0"),
    ],
)
def test_errors(shape, weights, options, message):
    table = PackedTable.of_rows(np.zeros((shape[0], n_words(shape[1])), dtype=np.uint64), shape[1])
    with pytest.raises((fk.DataError, fk.ParameterError), match=message):
        optimal_rule_list(table, weights, **options)


@pytest.mark.parametrize(("size", "message"), [(9_000, "the covers of the"), (200_000, "prefixes")])
def test_what_does_not_fit_into_memory_is_refused(size, message):
    X, weights = planted(p=20, noise=0.3)
    with pytest.raises(fk.ParameterError, match=message):
        optimal_rule_list(read_packed(X), weights, penalty=0.0, max_rules=9, max_bytes=size)
