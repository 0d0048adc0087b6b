"""Weights for conjunctions at every gap: the problem over all of them, listed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from formulakern.deadline import UNLIMITED
from formulakern.encoding.ordered import OrderedColumn, OrderedTable
from formulakern.encoding.strict import read_packed
from formulakern.learning.hkl import lasso
from formulakern.learning.hkl.lasso import grow_lasso
from formulakern.learning.hkl.options import Options
from formulakern.learning.hkl.ordinal import Examples, cumulative_examples
from formulakern.learning.hkl.rows import Rows
from formulakern.learning.hkl.rule_selection import select_features
from formulakern.mining.conjunctions.search import mine_conjunctions
from formulakern.solvers.group_lasso import solve_group_lasso
from formulakern.solvers.hierarchical.newton import Columns


def every_conjunction(table, longest=4):
    """All conjunctions with at most one proposition of each side of a column."""
    parts = []
    for start, column in zip(table.starts.tolist(), table.columns, strict=False):
        n = column.n_propositions
        sides = [range(start, start + n // 2), range(start + n // 2, start + n)]
        for side in sides if column.ordered else [range(start, start + n)]:
            parts.append([(), *((p,) for p in side)])
    nodes = (tuple(itertools.chain.from_iterable(one)) for one in itertools.product(*parts))
    return [node for node in nodes if 0 < len(node) <= longest]


@settings(max_examples=25)
@example(284, "hinge")  # what the proof allows is the gap to the last digit
@example(545637, "squared_hinge")  # a pair came in before the proposition of the same cover
@given(
    st.integers(0, 10**6),
    st.sampled_from(["logistic", "multinomial", "ordinal", "squared", "squared_hinge", "hinge"]),
)
def test_is_the_problem_over_all_conjunctions(seed, name):
    rng = np.random.default_rng(seed)
    m = 40
    columns = []
    for _ in range(2):
        n, ordered = int(rng.integers(2, 6)), bool(rng.random() < 0.7)
        codes = rng.integers(0, n + (rng.random() < 0.3), m).astype(np.int32)
        columns.append(OrderedColumn(codes, n, ordered, ()))
    others = rng.random((m, 1))
    table = OrderedTable(columns, m, others)
    score = columns[0].codes - columns[1].codes + rng.normal(size=m)
    y = np.where(score > 0, 1.0, -1.0)
    if name in ("multinomial", "ordinal"):
        y = np.digitize(score, np.quantile(score, [0.3, 0.7])).astype(np.float64)
    if name == "squared":
        y = score
    different, kind = table.distinct()
    examples = Examples(kind, y, np.ones(m), others)
    if name == "ordinal":
        examples = cumulative_examples(examples)
    rows = Rows.merged(different, examples)
    loss = "logistic" if name == "ordinal" else name
    options = Options(loss, C=5.0, rho=1.0, depth_penalty=1.5, tol=1e-3)
    grown = grow_lasso(rows, options, 1e-3, 1e-3, UNLIMITED, None, lambda *_: None)
    assert grown.status == "optimal"
    assert grown.gap <= 1e-3
    nodes = every_conjunction(table)
    bits = rows.table.truths(rows.table.covers(nodes))[:, rows.examples.kind]
    whole = solve_group_lasso(
        Columns(np.ascontiguousarray(bits).view(np.uint8), rows.examples.others.T.copy()),
        np.array([2.5 ** len(node) for node in nodes] + [1.0]),
        rows.loss(options),
        tol=1e-4,
    )
    assert whole.status == "optimal"
    assert grown.lower_bound <= whole.objective * (1 + 1e-9)
    assert whole.lower_bound <= grown.solution.objective * (1 + 1e-9)
    [few], _ = select_features(rows, options, grown, UNLIMITED, lambda *_: None)
    assert few.objective <= grown.lower_bound / (1 - 1e-3) * (1 + 1e-9)
    assert len(few.features) <= len({one for own in grown.weights for one in own})


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["logistic", "multinomial", "squared"]))
def test_listed_propositions_have_the_same_optimum(seed, name):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (60, 6), dtype=np.uint8)
    score = 2.0 * (bits[:, 0] & bits[:, 1]) - bits[:, 2] + 0.3 * rng.normal(size=60)
    y = np.digitize(score, [0.0, 1.0]).astype(np.float64) if name == "multinomial" else score
    y = np.where(score > 0, 1.0, -1.0) if name == "logistic" else y
    options = Options(name, C=20.0, rho=1.0, depth_penalty=1.0, tol=1e-3)
    packed = read_packed(bits)
    columns = [OrderedColumn((1 - own).astype(np.int32), 1, False, ()) for own in bits.T]
    found = []
    for table in (packed, OrderedTable(columns, 60, np.zeros((60, 0)))):
        different, kind = table.distinct()
        rows = Rows.merged(different, Examples(kind, y, np.ones(60), np.zeros((60, 0))))
        found.append(grow_lasso(rows, options, 1e-3, 1e-3, UNLIMITED, None, lambda *_: None))
    for one, other in itertools.permutations(found):
        assert one.status == "optimal"
        assert one.lower_bound <= other.solution.objective * (1 + 1e-9)


@pytest.mark.parametrize("longest", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_long_proof_is_about_short_conjunctions(monkeypatch, seed, longest):
    def costly(table, net, **options):
        result = mine_conjunctions(table, net, **options)
        return result if options["max_length"] <= longest else replace(result, n_evaluated=10**12)

    monkeypatch.setattr(lasso, "mine_conjunctions", costly)
    rng = np.random.default_rng(seed)
    bits = (rng.random((60, 8)) < 0.9).astype(np.uint8)
    y = np.where(bits[:, :5].all(axis=1) ^ (rng.random(60) < 0.1), 1.0, -1.0)
    options = Options("logistic", C=50.0, rho=1.0, depth_penalty=1.0, tol=1e-3)
    different, kind = read_packed(bits).distinct()
    rows = Rows.merged(different, Examples(kind, y, np.ones(60), np.zeros((60, 0))))
    grown = grow_lasso(rows, options, 1e-3, 1e-3, UNLIMITED, None, lambda *_: None)
    assert grown.status == "optimal"
    assert grown.proven_length == longest
    assert f"at most {longest} conditions" in lasso.scope_of(rows.table, 1, grown.proven_length)
    nodes = [v for size in range(1, longest + 1) for v in itertools.combinations(range(8), size)]
    covers = rows.table.truths(rows.table.covers(nodes))[:, rows.examples.kind]
    whole = solve_group_lasso(
        Columns(np.ascontiguousarray(covers).view(np.uint8), rows.examples.others.T.copy()),
        np.array([2.0 ** len(node) for node in nodes]),
        rows.loss(options),
        tol=1e-4,
    )
    assert grown.gap <= 1e-3
    assert grown.lower_bound <= whole.objective * (1 + 1e-9)


@pytest.mark.parametrize("most", [1, 3])
def test_at_most_so_many(most):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 50, (3, 200)).astype(np.int32)
    table = OrderedTable(
        [OrderedColumn(own, 50, True, ()) for own in codes], 200, np.zeros((200, 0))
    )
    y = np.where((codes[0] > 20) & (codes[1] <= 30), 1.0, -1.0)
    different, kind = table.distinct()
    rows = Rows.merged(different, Examples(kind, y, np.ones(200), table.linear_columns))
    options = Options("logistic", C=50.0, rho=1.0, depth_penalty=1.0, tol=1e-2, max_rules=most)
    grown = grow_lasso(rows, options, 3e-3, 3e-3, UNLIMITED, None, lambda *_: None)
    few = select_features(rows, options, grown, UNLIMITED, lambda *_: None)[0][-1]
    assert 1 <= len(few.features) <= most
    assert few.objective >= grown.lower_bound
