"""Generated data sets have the published contents, row by row."""

import os
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern.datasets import Dataset, balance_scale, load, monks, poker_hands, tic_tac_toe
from formulakern.datasets.dataset import BUILT_IN, DISTINCT_HANDS, _cards_of, poker_labels
from formulakern.datasets.reader import read_table

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FORMULAKERN_DATA", ROOT / ".." / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the benchmark data are not at {DATA}; set FORMULAKERN_DATA"
)

FILES = {
    "tic-tac-toe": "tic-tac-toe.csv",
    "monks-1": "monks-1-test.csv",
    "monks-2": "monks-2-test.csv",
    "monks-3": "monks-3-test.csv",
    "balance-scale": "balance-scale.csv",
}


def rows(dataset: Dataset) -> Counter:
    cells = np.asarray(dataset.data).tolist()
    return Counter((*row, label) for row, label in zip(cells, dataset.target.tolist(), strict=True))


@needs_data
@pytest.mark.parametrize("name", BUILT_IN)
def test_published_rows(name):
    made, published = load(name), read_table(DATA / FILES[name])
    assert made.feature_names == published.feature_names
    assert rows(made) == rows(published)
    assert made.target.dtype == published.target.dtype
    assert made.target_names == published.target_names


@needs_data
@pytest.mark.parametrize(("problem", "noise"), [(1, 0), (2, 0), (3, 6)])
def test_monks_training_files_are_samples(problem, noise):
    everything = rows(monks(problem))
    published = rows(read_table(DATA / f"monks-{problem}-train.csv"))
    assert sum(count for row, count in published.items() if row not in everything) == noise


def test_sizes():
    assert Counter(tic_tac_toe().target.tolist()) == {"positive": 626, "negative": 332}
    assert [int(monks(p).target.sum()) for p in (1, 2, 3)] == [216, 142, 228]
    assert Counter(balance_scale().target.tolist()) == {"L": 288, "R": 288, "B": 49}
    assert [len(load(name)) for name in BUILT_IN] == [958, 432, 432, 432, 625]


def test_datasets_unpack():
    for dataset in (tic_tac_toe(), poker_hands(5, 0)):
        X, y = dataset
        assert X is dataset.data
        assert y is dataset.target
        assert dataset.description.endswith(".")
    X, y = monks(2, return_X_y=True)
    assert isinstance(X, fk.Table)
    assert y.sum() == 142
    for pair in (tic_tac_toe(return_X_y=True), balance_scale(return_X_y=True)):
        assert len(pair) == 2


def test_errors_list_what_there_is():
    with pytest.raises(fk.ParameterError, match=r"tic-tac-toe, monks-1, .*, balance-scale"):
        load("iris")
    with pytest.raises(fk.ParameterError, match="problem=4; expected one of 1, 2, 3"):
        monks(4)
    for n in (0, 2.5, True):
        with pytest.raises(fk.ParameterError, match=f"n={n}; expected an integer, at least 1"):
            poker_hands(n)


@needs_data
def test_poker_labels_are_the_published_ones():
    published = read_table(DATA / "poker-hand-train.csv.gz")
    cards = np.asarray(published.data)
    np.testing.assert_array_equal(poker_labels(cards[:, ::2], cards[:, 1::2]), published.target)
    assert poker_hands(3, 0).feature_names == published.feature_names


def test_poker_hands_are_different_and_reproducible():
    drawn = poker_hands(4000, random_state=3)
    assert drawn.data == poker_hands(4000, random_state=3).data
    cards = np.asarray(drawn.data).reshape(4000, 5, 2)
    hands = {frozenset(map(tuple, hand.tolist())) for hand in cards}
    assert len(hands) == 4000
    assert all(len(hand) == 5 for hand in hands)
    assert cards[:, :, 0].min() == cards[:, :, 1].min() == 1
    assert (cards[:, :, 0].max(), cards[:, :, 1].max()) == (4, 13)


def test_hand_numbers_count_all_hands():
    numbers = np.arange(2000)
    expected = sorted(sorted(hand, reverse=True) for hand in combinations(range(16), 5))[:2000]
    assert _cards_of(numbers).tolist() == expected
    assert _cards_of(np.array([DISTINCT_HANDS - 1])).tolist() == [[51, 50, 49, 48, 47]]


@pytest.mark.parametrize(
    ("suits", "ranks", "label"),
    [
        ("11213", (1, 5, 9, 11, 13), 0),
        ("12131", (4, 4, 9, 11, 13), 1),
        ("12131", (4, 4, 9, 9, 13), 2),
        ("12313", (4, 4, 4, 9, 13), 3),
        ("12131", (5, 4, 3, 2, 1), 4),
        ("12131", (1, 13, 12, 11, 10), 4),
        ("12131", (2, 1, 13, 12, 11), 0),
        ("22222", (2, 1, 13, 12, 11), 5),
        ("12312", (4, 4, 4, 9, 9), 6),
        ("12341", (4, 4, 4, 4, 9), 7),
        ("33333", (1, 2, 3, 4, 5), 8),
        ("33333", (9, 10, 11, 12, 13), 8),
        ("44444", (1, 10, 11, 12, 13), 9),
    ],
)
def test_poker_rules(suits, ranks, label):
    assert poker_labels(np.array([list(map(int, suits))]), np.array([ranks])).tolist() == [label]
