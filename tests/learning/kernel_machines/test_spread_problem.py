"""The dual solver on rows in pieces: the solution of the table in memory, however it is divided."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.zero_one import read_packed
from formulakern.learning.kernel_machines import decomposition
from formulakern.learning.kernel_machines.box_problem import classification, novelty, regression
from formulakern.learning.kernel_machines.decomposition import Limits
from formulakern.learning.kernel_machines.in_pieces import crossing as crossings
from formulakern.learning.kernel_machines.in_pieces import row_state, spread_part
from formulakern.learning.kernel_machines.in_pieces.crossing import crossing
from formulakern.learning.kernel_machines.in_pieces.training import train_pieces
from formulakern.learning.kernel_machines.solve import train
from formulakern.partitions.partitioned import Partitioned

ROWS = st.tuples(st.integers(-20, 20), st.integers(0, 9))
KERNEL = fk.kernel("a & b").normalized()


def divided(table, problem, cuts):
    parts = np.split(np.arange(len(problem)), cuts)
    whole = replace(problem, total=0.0)
    return Partitioned([(table.take(rows), whole.take(rows)) for rows in parts])


@pytest.fixture
def small_problems(monkeypatch):
    """Sizes at which a few hundred rows take the roads of a billion."""
    sizes = {"SMALL": 24, "LARGE": 48, "DIRECT": 20, "SAMPLED": 60, "SHARE": 4}
    for name, value in sizes.items():
        monkeypatch.setattr(decomposition, name, value)
    monkeypatch.setattr(spread_part, "SENT", 30)
    monkeypatch.setattr(crossings, "MOST", 4)


@settings(max_examples=50)
@given(st.data())
def test_the_point_where_sums_of_weights_cross_a_level(data):
    parts = [
        np.array(rows, dtype=float).reshape(-1, 2).T
        for rows in data.draw(st.lists(st.lists(ROWS, max_size=12), min_size=1, max_size=4))
    ]
    pieces = Partitioned(parts)
    points, weights = np.concatenate(parts, axis=1)
    level = data.draw(st.integers(-3, int(weights.sum()) + 3))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(crossings, "MOST", data.draw(st.sampled_from([2, 3, 1024])))
        found = crossing(pieces, tuple, level)
    if not len(points):
        assert found is None
        return
    every = np.unique(points)
    reached = [weights[points <= b].sum() for b in every]
    place = next((k for k, sum_ in enumerate(reached) if sum_ >= level), len(every) - 1)
    assert found.point == every[place]
    assert found.reached == reached[place]
    assert found.following == every[min(place + 1, len(every) - 1)]


def task(kind, rng, n):
    """Rows, some of them equal, and a problem."""
    table = read_packed((rng.random((n, 9)) < 0.5).astype(np.uint8))
    x = table.unpacked().astype(float)
    score = x[:, 0] + x[:, 1] * x[:, 2] - x[:, 3] + rng.normal(size=n) / 2
    boxes = rng.choice([0.1, 0.2], n)
    if kind == "classes":
        return table, classification(np.where(np.sort(score) > 0.3, 1.0, -1.0), boxes)
    if kind == "numbers":
        return table, regression(np.round(score, 1), boxes, 0.2)
    return table, novelty(boxes, 0.3 * boxes.sum())


@pytest.mark.parametrize("cuts", [[], [100], [0, 3, 60, 60, 200, 259]])
@pytest.mark.parametrize("kind", ["classes", "numbers", "novelty"])
@pytest.mark.parametrize("here", [0, 50, 10**6])
def test_the_optimum_is_that_of_the_table_in_memory(kind, here, cuts, small_problems):
    """With the classes sorted, most pieces have one class alone."""
    table, problem = task(kind, np.random.default_rng(len(cuts)), 260)
    inside = train(problem, KERNEL, table, Limits(1e-6))
    pieces = divided(table, problem, cuts)
    heard = []
    found = train_pieces(
        pieces,
        KERNEL,
        Limits(1e-6),
        total=problem.total,
        here=here,
        progress=lambda seconds, gap: heard.append(gap),
    )
    assert found.stopped == "optimal"
    assert heard[-1] == found.gap <= 1e-6
    assert found.values.dual == pytest.approx(inside.solution.values.dual, rel=2e-6)
    assert found.values.primal == pytest.approx(inside.solution.values.primal, rel=2e-6)
    # the certificate, from the definition: coefficients of all rows, and their objectives
    first = np.concatenate([[0], cuts]).astype(int)[found.pieces] + found.rows
    assert (problem.linear[first] == found.linear).all()
    np.testing.assert_array_equal(table.take(first).unpacked(), found.table.unpacked())
    values = KERNEL(table, found.table) @ found.beta
    square = float(found.beta @ KERNEL(found.table) @ found.beta)
    dual = found.linear @ found.beta - square / 2 - problem.epsilon * np.abs(found.beta).sum()
    losses, _ = problem.losses(problem.linear - values - found.values.intercept)
    primal = square / 2 + losses + problem.total * found.values.intercept
    assert found.beta.sum() == pytest.approx(problem.total, abs=1e-9)
    assert found.values.dual == pytest.approx(dual, rel=1e-9)
    assert found.values.primal == pytest.approx(primal, rel=1e-9)
    np.testing.assert_allclose(
        values + found.values.intercept,
        KERNEL(table) @ inside.beta + inside.intercept,
        atol=5e-3,
    )


def test_sparse_rows_and_words_give_the_same(small_problems):
    table, problem = task("classes", np.random.default_rng(4), 200)
    from scipy.sparse import csr_array

    thin = PackedTable(200, table.n_columns, sparse=csr_array(table.unpacked().astype(np.uint8)))
    one, other = (
        train_pieces(divided(rows, problem, [80]), KERNEL, Limits(1e-6), here=0)
        for rows in (table, thin)
    )
    assert other.values.dual == pytest.approx(one.values.dual, rel=2e-6)


def test_limits_keep_the_best_so_far_and_say_its_gap(small_problems):
    rng = np.random.default_rng(6)
    table = read_packed((rng.random((300, 9)) < 0.5).astype(np.uint8))
    problem = classification(np.where(rng.random(300) < 0.5, 1.0, -1.0), np.full(300, 10.0))
    few = train_pieces(divided(table, problem, [90]), KERNEL, Limits(1e-6, max_iter=400), here=0)
    assert few.stopped == "max_iter"
    assert few.iterations <= 400
    assert few.gap > 1e-6

    def stop(seconds, gap):
        if gap < 0.5:
            raise KeyboardInterrupt

    pieces = divided(table, problem, [90])
    cut = train_pieces(pieces, KERNEL, Limits(1e-6), here=0, progress=stop)
    assert cut.stopped == "interrupted"
    assert 1e-6 < cut.gap < 0.6
    late = train_pieces(pieces, KERNEL, Limits(1e-6, seconds=0.0), here=0)
    assert late.stopped == "time_limit"


def test_what_cannot_be():
    table = read_packed([[1, 0], [0, 1]])
    one_class = divided(table, classification(np.ones(2), np.ones(2)), [1])
    found = train_pieces(one_class, KERNEL, here=0)
    assert (len(found.beta), found.gap, found.table.n_columns) == (0, 0.0, 2)
    with pytest.raises(fk.DataError, match="add up to at most 2"):
        train_pieces(divided(table, novelty(np.ones(2), 3.0), [1]), KERNEL, total=3.0, here=0)


@pytest.mark.parametrize("kind", ["classes", "novelty"])
def test_states_that_are_made_anew_from_the_first_ones_are_the_same(
    kind, small_problems, monkeypatch
):
    table, problem = task(kind, np.random.default_rng(3), 200)
    found = []
    for remembered, renewed in ((10, 0), (10**6, 8)):
        monkeypatch.setattr(spread_part, "REMEMBERED", remembered)
        monkeypatch.setattr(spread_part, "RENEWED", renewed)
        pieces = divided(table, problem, [80])
        found.append(train_pieces(pieces, KERNEL, Limits(1e-6), total=problem.total, here=0))
    assert found[0].computed > found[1].computed
    assert found[0].gap <= 1e-6
    assert found[0].values.dual == pytest.approx(found[1].values.dual, rel=2e-6)


def test_what_is_interrupted_is_not_done_by_half(small_problems, monkeypatch):
    """Wherever Ctrl-C comes, the coefficients add up, and the objectives are theirs."""
    table, problem = task("classes", np.random.default_rng(5), 200)
    asked, ask = [0, 0], Partitioned.map

    def interrupted(self, function, *shared, each=None):
        asked[0] += function is row_state.moved
        if asked[0] == asked[1]:
            asked[0] += 1
            raise KeyboardInterrupt
        return ask(self, function, *shared, each=each)

    monkeypatch.setattr(Partitioned, "map", interrupted)
    monkeypatch.setattr(spread_part, "REMEMBERED", 60)
    stops = []
    for moment in range(6, 26, 2):
        asked[:] = [0, moment]
        try:
            found = train_pieces(divided(table, problem, [80]), KERNEL, Limits(1e-5), here=0)
        except KeyboardInterrupt:  # before the first coefficients are known
            continue
        stops.append(found.stopped)
        assert found.beta.sum() == pytest.approx(0.0, abs=1e-9)
        values = KERNEL(table, found.table) @ found.beta
        losses, _ = problem.losses(problem.linear - values - found.values.intercept)
        square = float(found.beta @ KERNEL(found.table) @ found.beta)
        assert found.values.primal == pytest.approx(square / 2 + losses, rel=1e-9)
        assert found.values.dual == pytest.approx(found.linear @ found.beta - square / 2, rel=1e-9)
    assert stops.count("interrupted") > 3
