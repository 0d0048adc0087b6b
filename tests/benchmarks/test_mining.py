"""The speed of mining, as ratios in one run: ``pytest tests/benchmarks/test_mining.py -s``.

Both sides run in turns and medians are divided, as in test_gram.py.
"""

import csv
import itertools
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formulakern.compilation import compiled
from formulakern.encoding.bits import n_words
from formulakern.encoding.strict import read_packed
from formulakern.mining.conjunctions.search import mine_conjunctions
from formulakern.mining.sums import column_sums
from formulakern.mining.templates.search import mine_templates
from formulakern.syntax.parser import parse
from tests import turns

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
REPETITIONS = 5


medians = partial(turns.medians, REPETITIONS, time.perf_counter)


def report(what: str, value: float, goal: float, unit: str = "x") -> None:
    print(f"\n    {what:<70} {value:9.4f} {unit:<3} goal {goal:g}", end="")


@compiled(fastmath={"reassoc", "contract", "nsz"})
def plain_sums(words, j0, j1, j2, j3, index, n_index, first, second, out):
    """The same as the sums in LLVM, in the form that numba vectorises best."""
    for c, item in enumerate((j0, j1, j2, j3)):
        row = words[item]
        one, other = 0.0, 0.0
        for i in range(n_index):
            bits = row[index[i]]
            for t in range(64):
                on = (bits >> np.uint64(t)) & np.uint64(1)
                one += first[64 * i + t] if on else 0.0
                other += second[64 * i + t] if on else 0.0
        out[2 * c], out[2 * c + 1] = one, other


@pytest.mark.parametrize(("p", "n"), [(100, 16), (500, 128)])
def test_sums_in_llvm(p, n):
    generator = np.random.default_rng(0)
    words = generator.integers(0, 1 << 63, (p, n), dtype=np.uint64)
    weights = generator.integers(-99, 99, 64 * n).astype(float)
    arguments = (np.arange(p), p, np.arange(n), n, weights, abs(weights), np.empty(8))
    out = {name: np.empty((p, 2)) for name in ("ours", "plain")}
    plain = column_sums.with_helpers(_sums_of_four=plain_sums)

    def numpy() -> Any:
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(float)
        return bits @ np.column_stack([weights, abs(weights)])

    time_of = medians(
        ours=lambda: column_sums(words, *arguments, out["ours"]),
        plain=lambda: plain(words, *arguments, out["plain"]),
        numpy=numpy,
    )
    assert np.array_equal(out["ours"], out["plain"])
    assert np.array_equal(out["ours"], numpy())
    name = f"sums over {p} x {64 * n:,} bits: "
    report(f"{name}in LLVM / in plain numba", time_of["ours"] / time_of["plain"], 0.7)
    report(f"{name}in LLVM / in NumPy", time_of["ours"] / time_of["numpy"], 0.2)
    assert time_of["ours"] < time_of["plain"]


def one_hot(rows: int, columns: int, values: int, seed: int = 0) -> np.ndarray:
    """Random nominal columns, one proposition for each value."""
    drawn = np.random.default_rng(seed).integers(0, values, (rows, columns))
    return (drawn[:, :, None] == np.arange(values)).reshape(rows, -1)


def breadth_first(X: np.ndarray, weights: np.ndarray, length: int) -> np.ndarray:
    """The scores of all conjunctions up to a length, length by length, in vectorised NumPy."""
    signed = X.astype(np.float64)
    masks = [((j,), X[:, j]) for j in range(X.shape[1])]
    scores = [np.abs(weights @ signed)]
    for _ in range(length - 1):
        following = []
        for w, cover in masks:
            sums = (weights * cover) @ signed[:, w[-1] + 1 :]
            scores.append(np.abs(sums))
            following += [((*w, j), cover & X[:, j]) for j in range(w[-1] + 1, X.shape[1])]
        masks = following
    return np.concatenate(scores)


@pytest.mark.parametrize("prune", [True, False], ids=["top 10", "all, nothing pruned"])
def test_against_breadth_first(prune):
    X = one_hot(1_000, 12, 5)
    weights = np.random.default_rng(1).normal(size=len(X))
    packed = read_packed(X)
    options: dict[str, Any] = {"top": 10} if prune else {"top": 100_000, "threshold": -1.0}
    time_of = medians(
        ours=lambda: mine_conjunctions(packed, weights, max_length=2, **options),
        numpy=lambda: breadth_first(X, weights, 2),
    )
    every = np.sort(breadth_first(X, weights, 2))[::-1]
    result = mine_conjunctions(packed, weights, max_length=2, **options)
    assert np.allclose(result.scores, every[: len(result.scores)])
    ratio = time_of["ours"] / time_of["numpy"]
    what = "top 10" if prune else "all, as a sorted list"
    report(f"60 propositions, pairs, {what} / NumPy's scores alone", ratio, 0.2 if prune else 4)
    assert ratio < (1 if prune else 10)


def test_triples_against_breadth_first():
    X = one_hot(1_000, 8, 4)
    weights = np.random.default_rng(1).normal(size=len(X))
    packed = read_packed(X)
    time_of = medians(
        ours=lambda: mine_conjunctions(packed, weights),
        numpy=lambda: breadth_first(X, weights, 3),
    )
    every = np.sort(breadth_first(X, weights, 3))[::-1]
    assert np.allclose(mine_conjunctions(packed, weights).scores, every[:10])
    ratio = time_of["ours"] / time_of["numpy"]
    report("32 propositions, triples, top 10 / NumPy", ratio, 0.15)
    assert ratio < 0.3


def test_the_inner_loop():
    """Sums of two weights over 64 examples of one proposition."""
    packed = read_packed(one_hot(8_124, 22, 5))
    width = n_words(packed.n_rows)
    index, items = np.arange(width), np.arange(packed.n_columns)
    first = np.random.default_rng(0).normal(size=64 * width)
    second, eight, out = np.abs(first), np.zeros(8), np.zeros((len(items), 2))

    def ours() -> None:
        for _ in range(50):
            column_sums(packed.columns, items, len(items), index, width, first, second, eight, out)

    seconds = medians(ours=ours)["ours"] / (50 * len(items) * width)
    report("two sums over 64 examples", 1e9 * seconds, 10, "ns")
    assert seconds < 60e-9


def mushroom() -> np.ndarray:
    path = DATA / "mushroom.csv"
    if not path.exists():
        pytest.skip(f"needs {path}; set FORMULAKERN_DATA")
    with open(path, encoding="utf-8", newline="") as file:
        head, *rows = list(csv.reader(file))
    columns = [c for c, name in enumerate(head) if name != "class"]
    table = np.array(rows)[:, columns]
    return np.hstack([table[:, [c]] == np.unique(table[:, c]) for c in range(table.shape[1])])


@pytest.mark.parametrize("n", [500, 8_124])
@pytest.mark.parametrize("kind", ["sign", "normal"])
def test_mushroom(n, kind):
    X = mushroom()
    rng = np.random.default_rng(n)
    weights = np.zeros(len(X))
    drawn = rng.choice([-1.0, 1.0], n) if kind == "sign" else rng.normal(size=n)
    weights[rng.choice(len(X), n, replace=False)] = drawn
    packed = read_packed(X)
    begin = time.perf_counter()
    result = mine_conjunctions(packed, weights, max_length=3)
    seconds = time.perf_counter() - begin
    report(f"mushroom, {n} rows with {kind} weights: top 10 of degree <= 3", seconds, 10, "s")
    pairs = [
        abs(weights[X[:, list(w)].all(axis=1)].sum())
        for w in itertools.combinations(range(X.shape[1]), 2)
    ]
    assert result.proven
    assert max(pairs) <= result.scores[0] + 1e-9


def test_mushroom_templates():
    X = mushroom()
    rng = np.random.default_rng(0)
    weights = np.zeros(len(X))
    weights[rng.choice(len(X), 500, replace=False)] = rng.normal(size=500)
    packed = read_packed(X)
    for text in ("a & ~b", "(a & ~b) | c"):
        begin = time.perf_counter()
        result = mine_templates(parse(text), packed, weights, distinct=True, time_limit=60)
        seconds = time.perf_counter() - begin
        report(f"mushroom, 500 rows: top 10 of {text}", seconds, 10, "s")
        assert result.proven
