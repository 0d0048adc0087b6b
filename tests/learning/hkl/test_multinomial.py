"""Several classes learned together: the grown sets against all conjunctions."""

from itertools import combinations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.strict import read_packed
from formulakern.learning.hkl.options import Options
from formulakern.learning.hkl.ordinal import Examples
from formulakern.learning.hkl.problem import learn
from formulakern.learning.hkl.rows import Rows
from formulakern.solvers.hierarchical.norm import Lattice
from tests.hierarchical import solved_together


def problem(seed, p, m, K, e):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, p))
    others = rng.random((m, e))
    codes = (X @ rng.normal(size=(p, K)) + rng.gumbel(size=(m, K))).argmax(axis=1)
    codes[:K] = np.arange(K)
    if e:
        others[:, 0] += codes / K
    return X, codes, others


def learned(X, codes, others, options, *, deadline=UNLIMITED, start=None, report=None, **limits):
    table, kind = read_packed(X).distinct()
    steps = []
    rows = Rows.merged(table, Examples(kind, codes.astype(float), np.ones(len(codes)), others))
    options = Options("multinomial", **{"tol": 0.01, "max_nodes": 500} | options | limits)
    report = report or (lambda k, step: steps.append((k, step)))
    model = learn(rows, options, deadline, start, report)
    return model, model.objective, model.grown.lower_bound, steps


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(3, 4),
    st.sampled_from([1.1, 1.5, 2.0]),
    st.floats(-1, 2),
    st.sampled_from([1.5, 3.0]),
    st.integers(0, 2),
)
@example(1, 1, 4, 1.1, -1.0, 1.5, 1)  # conjunctions say nothing of a class, and a number does
def test_equals_the_problem_on_all_nodes(seed, p, K, rho, log_C, a, e):
    X, codes, others = problem(seed, p, 30, K, e)
    options = {"rho": rho, "C": 10**log_C, "depth_penalty": a, "other_penalty": 0.8}
    model, objective, bound, steps = learned(X, codes, others, options)
    nodes = [v for size in range(p + 1) for v in combinations(range(p), size)]
    columns = np.stack([X[:, list(v)].all(axis=1) for v in nodes]).astype(float)
    columns = np.vstack([columns, others.T])
    lattices = [Lattice.of(nodes, rho, a, e, 0.8)] * K
    c = np.full(len(codes), 10**log_C)
    whole = solved_together([columns] * K, lattices, codes, c, tol=1e-4, n_others=e)
    assert objective - bound <= 0.01 * objective * (1 + 1e-9)
    assert bound <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= objective * (1 + 1e-9)
    for _, step in steps:  # every bound on the way was valid
        assert step.objective * (1 - step.gap) <= whole.objective * (1 + 1e-9)
    # the objective is at least the loss of the rules that are shown
    scores = np.zeros((len(codes), K))
    for k, one in enumerate(model.functions):
        scores[:, k] = one.bias
        for rule, weight in zip(one.rules, one.weights, strict=True):
            column = others[:, rule] if isinstance(rule, int) else X[:, list(rule)].all(axis=1)
            scores[:, k] += weight * column
    loss = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(codes)), codes]
    assert c @ loss <= objective * (1 + 1e-9)


def test_limits_and_warm_starts():
    X, codes, others = problem(0, 10, 200, 3, 1)
    options = {"rho": 1.1, "C": 30.0, "depth_penalty": 2.0, "other_penalty": 1.0}
    model, objective, bound, _ = learned(X, codes, others, options)
    assert model.grown.status == "optimal"
    more = options | {"C": 33.0}
    _, again, least, warm = learned(X, codes, others, more, start=model.grown)
    _, cold, bound_of_cold, slower = learned(X, codes, others, more)
    assert least <= cold * (1 + 1e-9)
    assert bound_of_cold <= again * (1 + 1e-9)
    # a warm start begins on the nodes of the start, a cold one on the empty conjunction
    assert warm[0][1].objective < slower[0][1].objective
    assert again >= bound * (1 - 1e-9)  # the optimum grows with C
    for limits, status in (
        ({"max_nodes": 2}, "node_limit"),
        ({"deadline": Deadline.of(0)}, "time_limit"),
    ):
        stopped, value, least, _ = learned(X, codes, others, options, **limits)
        assert stopped.grown.status == status
        assert least <= objective * (1 + 1e-9)
        assert value >= bound


def test_an_interrupt_keeps_the_best_so_far():
    X, codes, others = problem(1, 10, 200, 3, 0)
    options = {"rho": 1.1, "C": 30.0, "depth_penalty": 2.0, "other_penalty": 1.0}
    seen = []

    def stop(k, step):
        seen.append(step)
        if len(seen) == 5:  # in the second round
            raise KeyboardInterrupt

    model, objective, bound, _ = learned(X, codes, others, options, report=stop)
    assert model.grown.status == "interrupted"
    assert bound < objective


def test_rare_classes_and_a_large_penalty_parameter():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (48, 8))
    codes = np.repeat(np.arange(7), [1, 4, 10, 12, 13, 6, 2])
    X[:, 0], X[:, 1] = codes > 2, codes > 4  # probabilities of 0 and 1
    for C in (1e4, 1e6):
        options = {"rho": 1.1, "C": C, "depth_penalty": 4.0, "other_penalty": 1.0}
        _, objective, bound, _ = learned(X, codes, np.zeros((48, 0)), options)
        assert 0 < bound <= objective <= bound / 0.99
