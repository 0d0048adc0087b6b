"""Rows in partitions, grouped by the propositions in use: the problem is that of all rows."""

from functools import partial

import numpy as np
import pytest

from formulakern.deadline import UNLIMITED, Deadline
from formulakern.encoding.ordered import OrderedColumn, OrderedTable
from formulakern.encoding.partitioned import WeightedRows
from formulakern.encoding.strict import read_packed
from formulakern.learning.hkl import lasso
from formulakern.learning.hkl.options import Options, Signs
from formulakern.learning.hkl.ordinal import Examples, cumulative_examples
from formulakern.learning.hkl.problem import learn
from formulakern.learning.hkl.rows import Groups, Rows
from formulakern.partitions.partitioned import Partitioned

#: Where 300 rows are cut: into 1, 2 and 7 partitions, of which one is empty and one has one class.
CUTS = ([], [40], [0, 3, 3, 50, 51, 200])
OPTIONS = {"C": 5.0, "tol": 0.02, "max_nodes": 500}


def rows_of(seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (300, 9))
    codes = (X[:, 2] & X[:, 5]) + (X[:, 1] & ~X[:, 7] & 1) * (n_classes > 2)
    codes = np.where(rng.random(300) < 0.1, rng.integers(0, n_classes, 300), codes)
    degrees = rng.integers(0, 4, (300, 1)) / 3
    table = read_packed(X).with_degrees(degrees)
    order = np.argsort(codes[:51], kind="stable")  # so that a short partition has one class
    rows = np.append(order, np.arange(51, 300))
    return table.take(rows), codes[rows].astype(np.intp), rng.integers(1, 4, 300).astype(float)


def partitions_of(table, codes, weights, cuts):
    parts = np.split(np.arange(len(codes)), cuts)
    return Partitioned(
        [WeightedRows.of(table.take(i), codes[i], weights[i]).merged() for i in parts]
    )


def same(examples):
    return examples


def groups_of(table, codes, weights, cuts, made=same):
    partitions = partitions_of(table, codes, weights, cuts)
    return Groups(partitions, table.n_columns, codes.max() + 1, made)


def signed(examples, k=1):
    return examples._replace(y=np.where(examples.y == k, 1.0, -1.0))


def learned(data, loss, made=None, groups=None, deadline=UNLIMITED, **more):
    if groups is None:
        table, kind = data[0].distinct()
        one = Examples(kind, data[1] + 0.0, data[2], data[0].degrees)
        groups = Rows.merged(table, made(one))
    options = Options(loss, **OPTIONS, **more)
    return learn(groups, options, deadline, None, lambda *_: None)


def test_groups_are_what_features_tell_apart():
    table, codes, weights = rows_of()
    for cuts in CUTS:
        groups = groups_of(table, codes, weights, cuts)
        assert groups.codes.tolist() == [0, 1]
        assert groups.tell_apart([(), (4,), (2, 4)], [])
        assert not groups.tell_apart([(2,), (4,)], [])
        assert groups.tell_apart([], [0])
        X = table.unpacked()
        keys = np.column_stack([codes, X[:, [2, 4]], table.degrees])
        every, kind = np.unique(keys, axis=0, return_inverse=True)
        found = np.column_stack(
            [groups.codes, groups.table.unpacked()[:, [2, 4]], groups.examples.others]
        )
        order = np.lexsort(found.T[::-1])
        np.testing.assert_array_equal(found[order], every)
        np.testing.assert_array_equal(groups.weights[order], np.bincount(kind.ravel(), weights))
        np.testing.assert_array_equal(groups.numbers[order], np.bincount(kind.ravel()))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_two_classes_as_in_memory(loss):
    data = rows_of()
    whole = learned(data, loss, signed)
    for cuts in CUTS:
        model = learned(data, loss, groups=groups_of(*data, cuts, signed))
        assert model.grown.status == "optimal"
        assert model.gap <= 0.02
        assert model.grown.lower_bound <= whole.objective * (1 + 1e-9)
        assert whole.grown.lower_bound <= model.objective * (1 + 1e-9)


def test_one_class_against_the_rest_and_signs():
    data = rows_of(1, 3)
    signs = Signs(np.array([1, 0, 1, 0, -1, 1, 0, 0, 0]), np.array([0]))
    for more in ({}, {"signs": signs}, {"max_rules": 2}):
        made = partial(signed, k=2)
        whole = learned(data, "hinge", made, **more)
        for cuts in CUTS:
            model = learned(data, "hinge", groups=groups_of(*data, cuts, made), **more)
            assert model.grown.gap <= 0.01
            assert model.grown.lower_bound <= whole.objective * (1 + 1e-9)
            assert whole.grown.lower_bound <= model.objective * (1 + 1e-9)
            assert model.objective == pytest.approx(whole.objective, rel=0.02)
            [one] = model.functions
            assert len(one.rules) <= more.get("max_rules", 100)
            if "signs" in more:
                assert (signs.of_all(one.rules) * one.weights >= 0).all()


def test_ordered_classes():
    data = rows_of(2, 3)
    whole = learned(data, "logistic", cumulative_examples)
    for cuts in CUTS[1:]:
        model = learned(data, "logistic", groups=groups_of(*data, cuts, cumulative_examples))
        assert model.gap <= 0.02
        assert model.grown.lower_bound <= whole.objective * (1 + 1e-9)
        assert whole.grown.lower_bound <= model.objective * (1 + 1e-9)
        assert model.functions[0].bias.shape == (2,)


def test_classes_together():
    data = rows_of(3, 3)
    whole = learned(data, "multinomial", same)
    for cuts in CUTS[1:]:
        model = learned(data, "multinomial", groups=groups_of(*data, cuts))
        assert model.gap <= 0.02
        assert model.grown.lower_bound <= whole.objective * (1 + 1e-9)
        assert whole.grown.lower_bound <= model.objective * (1 + 1e-9)
        assert len(model.functions) == 3


class Slow(Partitioned):
    """Partitions that take a second for every question."""

    now = 0.0

    def map(self, *args, **more):
        Slow.now += 1
        return super().map(*args, **more)

    def sum(self, *args, **more):
        Slow.now += 1
        return super().sum(*args, **more)

    def persist(self, *args, **more):
        return Slow(super().persist(*args, **more).values)


def coded_rows_of():
    """Rows of three ordered columns, of which the first has no missing entries."""
    rng = np.random.default_rng(5)
    codes = np.minimum(rng.integers(0, 9, (3, 300)), np.array([[7], [8], [8]]))
    columns = [OrderedColumn(own, 8, True, ()) for own in codes]
    y = ((codes[0] > 3) & (codes[1] < 6) | (codes[2] < 2)) ^ (rng.random(300) < 0.1)
    table = OrderedTable(columns, 300, np.zeros((300, 0))).narrow()
    return table, y.astype(np.intp), rng.integers(1, 4, 300).astype(float)


@pytest.mark.parametrize("rows", [rows_of, coded_rows_of])
def test_the_time_is_over_at_any_question(monkeypatch, rows):
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: Slow.now))
    monkeypatch.setattr(lasso, "LARGE", 0)
    data, Slow.now = rows(), 0.0
    table, ordered, more = data[0], None, {}
    if isinstance(table, OrderedTable):
        ordered, more = table.take(np.arange(0)), {"rho": 1.0}
    best = learned(data, "hinge", signed, **more).objective
    gaps = []
    for seconds in (0.0, 1.5, 4.5, 8.5, 12.5, 20.5, 60.0):
        Slow.now = 0.0
        parts = Slow(partitions_of(*data, [40]).values)
        groups = Groups(parts, table.n_columns, 2, signed, ordered)
        model = learned(data, "hinge", groups=groups, deadline=Deadline.of(seconds), **more)
        assert model.grown.lower_bound <= best * (1 + 1e-9)
        assert model.objective >= best * (1 - 0.02)
        assert Slow.now <= seconds + 5
        gaps.append(model.gap)
    assert gaps[0] > 0.5 > gaps[-1]
