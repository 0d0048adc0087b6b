"""Functions go to the pieces and come back in their order."""

import numpy as np
import pytest

from formulakern.deadline import Deadline, TimeIsOver
from formulakern.partitions.pieces import LocalPieces


def scaled(values, factor, shift=0):
    return factor * values + shift


def test_answers_are_in_the_order_of_the_pieces():
    pieces = LocalPieces([np.arange(3), np.zeros(0), np.ones(1)])
    made = pieces.map(scaled, 2, each=[0, 0, 5])
    assert [value.tolist() for value in made.gather(scaled, 1)] == [[0, 2, 4], [], [7]]


def test_traffic_is_counted_once_for_all_that_is_made_of_the_pieces():
    pieces = LocalPieces([np.zeros(4), np.zeros(2)])
    pieces.map(scaled, 1.0).gather(scaled, np.float64(3.0))
    pieces.gather(np.sum)
    assert pieces.traffic.rounds == 3
    assert pieces.traffic.received > 48


def test_a_question_of_another_length_is_refused():
    with pytest.raises(ValueError, match="zip"):
        LocalPieces([1, 2]).gather(scaled, 1, each=[1])


def test_a_question_ends_with_its_time():
    with pytest.raises(TimeIsOver):
        LocalPieces([1]).gather(scaled, 1, deadline=Deadline.of(0.0))


@pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 70])
def test_answers_are_combined_a_few_at_a_time(number):
    pieces = LocalPieces([np.arange(k) for k in range(number)])
    assert pieces.combined(np.sum, sum) == sum(k * (k - 1) // 2 for k in range(number))
    joined = pieces.together(3, np.concatenate)
    assert len(joined) == -(-number // 3)
    assert sum(len(value) for value in joined.values) == number * (number - 1) // 2


def test_values_of_other_pieces_lie_beside():
    pieces = LocalPieces([np.arange(2), np.zeros(0)])
    both = pieces.beside(pieces.map(scaled, 2), LocalPieces(["a", "b"]))
    assert [(x.tolist(), y.tolist(), z) for x, y, z in both.values] == [
        ([0, 1], [0, 2], "a"),
        ([], [], "b"),
    ]
    assert both.traffic is pieces.traffic
    with pytest.raises(ValueError, match="zip"):
        pieces.beside(LocalPieces([1]))
