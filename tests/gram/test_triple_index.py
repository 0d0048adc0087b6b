"""Many kernels on one table: the matrices are those that each kernel computes by itself."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import gram as oracle_gram
from strategies import countable, tables

import formulakern as fk
from formulakern.backends.tables import TablePair
from formulakern.gram.triple_index import TripleIndex
from formulakern.kernels import shared_grams
from formulakern.kernels.boolean import CountedKernel, Subsets


def one_hot(rows: int, columns: int, values: int = 3, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, values, (rows, columns // values))
    return np.eye(values, dtype=np.uint8)[chosen].reshape(rows, -1)


def naive(tables, values_of) -> np.ndarray:
    """Every pair by itself, counted from the bits."""
    rows, columns = tables.shape
    s = tables.joint_counts(slice(0, rows), slice(0, columns))
    p, q = tables.x_counts, tables.z_counts
    return np.array(
        [
            [
                values_of(s[:, i, j], p[:, i], q[:, j], tables.symmetric and i == j)
                for j in range(columns)
            ]
            for i in range(rows)
        ]
    ).reshape(rows, columns)


def code(s, p, q, same) -> float:
    """A number for each triple, the same for (s, p, q) and (s, q, p)."""
    return (
        float(
            sum(
                (1 + a) * (1 + b + c) * (b * c + 1) * 7.0**g
                for g, (a, b, c) in enumerate(zip(s, p, q, strict=True))
            )
        )
        + 0.5 * same
    )


@settings(max_examples=30)
@given(st.data())
def test_every_pair_has_its_triple(data):
    n = data.draw(st.integers(1, 9))
    X = data.draw(tables(st.integers(1, 7), n))
    Z = data.draw(st.none() | tables(st.integers(1, 7), n))
    columns = data.draw(st.sampled_from([(None,), ((0,), None), (tuple(range(n)), (n - 1,))]))
    paired = TablePair(X, Z).tables(columns)
    index = TripleIndex(paired)
    counts = index.counts
    values = np.array(
        [
            code(counts.s[:, t], counts.p[:, t], counts.q[:, t], counts.same[t])
            for t in range(counts.same.size)
        ]
    )
    assert np.array_equal(index.look_up(values), naive(paired, code))
    assert set(np.unique(index.index)) == set(range(counts.same.size))  # only what occurs
    if Z is None:
        assert np.array_equal(index.index, index.index.T)


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize(
    ("rows", "columns", "dtype"), [(90, 8, "uint8"), (400, 40, "uint16"), (2600, 200, "uint32")]
)
def test_numbers_are_as_small_as_they_can_be(rows, columns, dtype):
    generator = np.random.default_rng(0)
    X = (generator.random((rows, columns)) < generator.random((rows, 1))).astype(np.uint8)
    paired = TablePair(X).tables((None,))
    index = TripleIndex(paired)
    assert index.index.dtype == dtype
    s, p = index.counts.s[0], index.counts.p[0]
    assert np.array_equal(index.look_up(s.astype(float)), X.astype(float) @ X.T)
    assert np.array_equal(np.diagonal(index.look_up(p.astype(float))), X.sum(axis=1))


def test_too_many_triples_are_refused():
    X = np.random.default_rng(0).integers(0, 2, (80, 600))
    paired = TablePair(X).tables((None,))
    assert not TripleIndex.serves(paired)
    with pytest.raises(fk.ParameterError, match="too many to number"):
        TripleIndex(paired)


# -- kernels -----------------------------------------------------------------------------------


@settings(max_examples=16)
@given(st.data())
def test_values_are_those_of_the_definition(data):
    reading = data.draw(st.sampled_from(["bound", "free", "distinct"]))
    formula = data.draw(countable(max_leaves=3, letters="abc"))
    X = data.draw(tables(st.integers(1, 5), 4))
    Z = data.draw(st.none() | tables(st.integers(1, 5), 4))
    expected = oracle_gram(formula, X, X if Z is None else Z, reading)
    assert np.array_equal(
        fk.CandidateGrams(X, Z).gram(fk.kernel(formula, reading)), expected.astype(float)
    )


def _combinations(k: fk.Kernel, other: fk.Kernel) -> list[fk.Kernel]:
    counted = CountedKernel(Subsets("conjunction", True, 1, None), "all_subsets")
    return [
        k,
        k.normalized(),
        0.3 * k,
        k + other,
        k * other,
        (k + 0.1 * other).normalized(),
        k.normalized() + other.normalized() * 0.7,
        counted,
        counted.normalized() * k.normalized(),
        (0.3 * (k + counted)).normalized(),
    ]


@settings(max_examples=11)
@given(st.data())
def test_equal_to_the_last_bit_on_any_table(data):
    reading = data.draw(st.sampled_from(["bound", "free", "distinct"]))
    n = data.draw(st.integers(4, 12))
    X = data.draw(tables(st.integers(1, 12), n))
    Z = data.draw(st.none() | tables(st.integers(1, 12), n))
    pair = [
        fk.kernel(
            data.draw(countable(max_leaves=4)),
            reading,
            scale=data.draw(st.sampled_from(["count", "probability"])),
            backend="lookup",
        )
        for _ in range(2)
    ]
    grams = fk.CandidateGrams(X, Z)
    for k in _combinations(*pair):
        assert np.array_equal(grams.gram(k), k(X, Z)), k
        assert np.array_equal(grams.diagonal(k), k.diagonal(X)), k


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("density", [None, 0.3])
@pytest.mark.parametrize("between_two", [False, True])
def test_equal_on_larger_tables(density, between_two):
    generator = np.random.default_rng(1)
    if density is None:
        X, Z = one_hot(201, 27), one_hot(130, 27, seed=1)
    else:
        X, Z = ((generator.random((rows, 70)) < density).astype(np.uint8) for rows in (201, 130))
    Z = Z if between_two else None
    grams = fk.CandidateGrams(X, Z)
    out = grams.empty()
    for seed in range(6):
        k = fk.kernel(fk.random_formula(p=0.7, random_state=seed), backend="lookup")
        for each in (k, k.normalized(), fk.kernel("a & b") + 0.1 * k):
            assert grams.gram(each, out=out) is out
            np.testing.assert_array_equal(out, each(X, Z))
            auto = fk.kernel(k.formula)(X, Z)  # may be computed in floating point
        np.testing.assert_allclose(grams.gram(fk.kernel(k.formula)), auto, rtol=1e-14)


def test_choices_and_domains():
    X, Z = one_hot(60, 12), one_hot(50, 12, seed=1)
    domains = {"left": range(6), "right": range(6, 12)}
    grams = fk.CandidateGrams(X, Z)
    two = fk.kernel("a:left & ~b:right", domains=domains)
    for k in (
        fk.kernel("any[2](all[2](x))", backend="lookup"),
        fk.kernel("atleast[2,3](a & b)").normalized(),
        two,
        two.normalized(),
        two + fk.kernel("a"),  # parts with different counts
        fk.kernel("true") + fk.kernel("false"),
    ):
        np.testing.assert_allclose(grams.gram(k), k(X, Z), rtol=1e-14)


def test_what_is_not_tabulated_is_computed():
    X = np.random.default_rng(0).integers(0, 2, (50, 600))
    grams = fk.CandidateGrams(X)
    for k in (fk.kernel("a & ~b", backend="interpreter"), fk.kernel("a -> b").normalized()):
        np.testing.assert_array_equal(grams.gram(k), k(X))
    real = np.random.default_rng(0).normal(size=(9, 3))
    from formulakern.kernels.boolean import TanimotoKernel

    tanimoto = TanimotoKernel()
    np.testing.assert_array_equal(fk.CandidateGrams(real).gram(tanimoto), tanimoto(real))
    with pytest.raises(fk.DataError, match=r"row 0|\(row 0\)|column"):
        fk.CandidateGrams(real).gram(fk.kernel("a"))


@pytest.mark.usefixtures("road")
def test_blocks_are_parts_of_the_matrix():
    generator = np.random.default_rng(0)
    rows, columns = generator.permutation(50)[:30], generator.permutation(50)[:20]
    for X in (one_hot(50, 24), generator.integers(0, 2, (50, 600))):
        grams = fk.CandidateGrams(X)
        for k in (fk.kernel("a & ~b"), fk.kernel("a -> b").normalized()):
            block = grams.blocks(k)
            for chosen in ((rows, columns), (rows, rows), (rows[:2], columns[:0])):
                np.testing.assert_array_equal(block(chosen), k(X)[np.ix_(*chosen)])
            with pytest.raises(IndexError):
                block((rows, np.array([50])))


@pytest.mark.parametrize("most", [1, 400, shared_grams.MAX_TRIPLES])
def test_values_that_are_kept(most, monkeypatch):
    monkeypatch.setattr(shared_grams, "MAX_TRIPLES", most)
    X = one_hot(40, 60)
    grams = fk.CandidateGrams(X)
    kernels = [fk.kernel("a & ~b"), fk.kernel("a & ~b", "distinct"), fk.kernel("a"), fk.kernel("b")]
    for k in kernels * 3:
        np.testing.assert_array_equal(grams.gram(k), k(X))


def test_magnitudes_end_as_with_the_kernel():
    X = one_hot(40, 300)
    long = " & ".join(f"(a{i} | ~b{i})" for i in range(80))
    grams = fk.CandidateGrams(X)
    with pytest.raises(fk.MagnitudeError, match=r"scale='probability'"):
        grams.gram(fk.kernel(long))
    for k in (fk.kernel(long).normalized(), fk.kernel(long, scale="probability")):
        np.testing.assert_allclose(grams.gram(k), k(X), rtol=1e-12)
    with pytest.raises(fk.MagnitudeError, match="beyond"):
        grams.gram(fk.kernel(" & ".join(f"(a{i} | ~b{i})" for i in range(45))) * fk.kernel(long))
    with pytest.raises(fk.ParameterError, match="chooses 301"):
        grams.gram(fk.kernel("all[301](x)"))


def test_outputs_are_checked():
    grams = fk.CandidateGrams(one_hot(5, 6))
    k = fk.kernel("a")
    for wrong in (
        np.empty((5, 4)),
        np.empty((5, 5), np.float32),
        [[0.0]],
        np.empty((5, 5)).T[::1].T[:, ::-1],
    ):
        with pytest.raises(fk.ParameterError, match="out is"):
            grams.gram(k, out=wrong)
    with pytest.raises(fk.ParameterError, match="expected a kernel; got"):
        grams.gram("a & b")
    with pytest.raises(fk.DataError):
        fk.CandidateGrams([[0, 1], [1, 0]], [[0, 1, 1]])


@pytest.mark.parametrize("shape", [(0, 3)])
def test_empty_tables(shape):
    X = np.zeros(shape, dtype=np.uint8)
    k = fk.kernel("a | b")
    np.testing.assert_array_equal(fk.CandidateGrams(X).gram(k), k(X))
    np.testing.assert_array_equal(fk.CandidateGrams(X, X.copy()).gram(k), k(X, X.copy()))


def test_from_several_threads_at_once():
    X = one_hot(700, 27)
    grams = fk.CandidateGrams(X)
    kernels = [fk.kernel(fk.random_formula(random_state=seed)) for seed in range(12)]
    found: dict[int, np.ndarray] = {}

    def work(start: int) -> None:
        for i in range(start, len(kernels), 3):
            found[i] = grams.gram(kernels[i])

    threads = [threading.Thread(target=work, args=(start,)) for start in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, k in enumerate(kernels):
        assert np.array_equal(found[i], k(X))
