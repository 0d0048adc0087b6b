"""Backends below the kernel: counts, tables, exact values, and entries that the guard repeats."""

import itertools

import numpy as np
import pytest

import formulakern as fk
from formulakern.backends import evaluation
from formulakern.backends.evaluation import BACKENDS, MAX_TABLE_ENTRIES, KernelTask
from formulakern.backends.lookup import count_entries, lay_out
from formulakern.backends.tables import pair_tables
from formulakern.encoding.strict import read_packed
from formulakern.program import Stage

rng = np.random.default_rng(0)


def paired(X, Z=None, splits=None):
    """Tables for one domain, or for the columns between the splits."""
    parts = np.split(np.arange(X.shape[1]), splits or [])
    x = [read_packed(X[:, part]) for part in parts]
    return pair_tables(x, None if Z is None else [read_packed(Z[:, part]) for part in parts])


@pytest.mark.parametrize("splits", [[], [3], [64, 70]])
def test_joint_counts_of_any_block(splits):
    X, Z = (rng.random((21, 150)) < 0.5).astype(int), (rng.random((37, 150)) < 0.5).astype(int)
    tables = paired(X, Z, splits)
    bounds = [0, *splits, 150]
    for rows, columns in ((slice(0, 21), slice(0, 37)), (slice(4, 9), slice(16, 33))):
        counts = tables.joint_counts(rows, columns)
        for g, (start, stop) in enumerate(itertools.pairwise(bounds)):
            expected = X[rows, start:stop] @ Z[columns, start:stop].T
            np.testing.assert_array_equal(counts[g], expected)


@pytest.mark.parametrize("splits", [[], [3], [2, 5]])
def test_lookup_layout_finds_every_triple(splits):
    X, Z = (rng.random((9, 8)) < 0.5).astype(int), (rng.random((6, 8)) < 0.3).astype(int)
    tables = paired(X, Z, splits)
    layout = lay_out(tables)
    assert len(layout.s[0]) == count_entries(tables)
    s = tables.joint_counts(slice(0, 9), slice(0, 6))
    for i in range(9):
        for j in range(6):
            strides = enumerate(layout.strides[:, j])
            place = layout.x_start[i] + layout.z_start[j]
            place += sum(stride * s[g, i, j] for g, stride in strides)
            for g in range(len(s)):
                assert layout.s[g][place] == s[g, i, j]
                assert layout.p[g][place] == tables.x_counts[g, i]
                assert layout.q[g][place] == tables.z_counts[g, j]


def test_impossible_entries_of_tables_are_harmless():
    """p + q > n: tables begin at s = 0, where n00 would be negative."""
    X = np.ones((4, 6), int)
    X[1, 0] = 0
    for text in ("~a & ~b", "~a | b", "a ^ b"):
        expected = fk.kernel(text, backend="interpreter")(X)
        np.testing.assert_array_equal(fk.kernel(text, backend="lookup")(X), expected)


def test_entries_are_counted_without_building_them():
    assert count_entries(paired(np.ones((3, 10), int))) == 11
    many = paired(np.ones((2, 400), int), splits=list(range(1, 400)))
    assert count_entries(many) == 10**18
    rows = (rng.random((2100, 60)) < 0.5).astype(int)
    assert count_entries(paired(rows, rows[::-1].copy(), [20, 40])) > MAX_TABLE_ENTRIES


@pytest.mark.parametrize("backend", [*BACKENDS, "auto"])
@pytest.mark.parametrize("scale", ["count", "probability"])
def test_only_values_that_occur_must_fit(backend, scale):
    """60^200 does not fit into float64 and 30^200 does; 0.01^200 does not and 0.35^200 does."""
    n, degree = 100, 200
    X, Z = np.zeros((2, n), int), np.zeros((2, n), int)
    if scale == "count":
        X[:, :60], Z[:, 30:90] = 1, 1
    else:
        X[:, :40], Z[:, 5:] = 1, 1
    k = fk.kernel(" & ".join(f"x{i}" for i in range(degree)), scale=scale, backend=backend)
    s = X @ Z.T
    expected = (s / n) ** degree if scale == "probability" else s.astype(float) ** degree
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-12)


def test_guard_leaves_safe_tasks_alone():
    tables = paired((rng.random((5, 20)) < 0.5).astype(int))

    def fill(*arguments):
        raise AssertionError

    safe = KernelTask(fk.kernel("a & b").program, tables, "count")
    assert evaluation.guarded(safe, fill) is fill
    long = fk.kernel(" & ".join(f"x{i}" for i in range(300))).program
    assert evaluation.guarded(KernelTask(long, tables, "count"), fill) is not fill
    assert evaluation.guarded(KernelTask(long, tables, "probability"), fill) is not fill


def test_guard_refuses_endless_exact_work(monkeypatch):
    monkeypatch.setattr(evaluation, "MAX_EXACT_WORK", 0)
    X = np.ones((2, 100), int)
    for scale, match in (("count", "1.8e308"), ("probability", "1e-290")):
        if scale == "probability":
            X = np.eye(100, dtype=int)[:2]
        k = fk.kernel(" & ".join(f"x{i}" for i in range(200)), scale=scale, backend="numba")
        with pytest.raises(fk.MagnitudeError, match=match):
            k(X)


def test_exact_dtype_is_int64_only_where_nothing_overflows():
    tables = paired(np.ones((2, 64), int))
    for degree, dtype in ((10, np.int64), (11, object)):  # 64^10 = 2^60, 64^11 = 2^66
        task = KernelTask(fk.kernel(" & ".join("abcdefghijk"[:degree])).program, tables, "count")
        assert task.dtype is dtype
        counts = [np.array([64])]
        assert task.values((counts,) * 3) == 64.0**degree


def test_early_numbers_stay_out_of_the_pair_loop():
    program = fk.kernel("(a & b) | c", "free").program
    stage = program.stages
    assert {stage.of[i] for i in stage.row_x} <= {Stage.ROW_X}
    assert {stage.of[i] for i in stage.pair} == {Stage.PAIR}
    assert stage.row_x
    assert stage.row_z
    assert fk.kernel("true").program.nodes  # known once per table


def test_equal_programs_have_equal_source():
    assert fk.kernel("a & ~b").source == fk.kernel("~y & x").source
    assert fk.kernel("a & ~b").source != fk.kernel("a & ~b", scale="probability").source
