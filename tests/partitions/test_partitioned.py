"""Functions go to the partitions, and results come back in their order."""

import numpy as np
import pytest

from formulakern.deadline import Deadline, TimeIsOver
from formulakern.partitions.partitioned import Partitioned


def scaled(values, factor, shift=0):
    return factor * values + shift


def test_answers_are_in_the_order_of_the_partitions():
    partitions = Partitioned([np.arange(3), np.zeros(0), np.ones(1)])
    made = partitions.persist(scaled, 2, each=[0, 0, 5])
    assert [value.tolist() for value in made.map(scaled, 1)] == [[0, 2, 4], [], [7]]


def test_a_question_of_another_length_is_refused():
    with pytest.raises(ValueError, match="zip"):
        Partitioned([1, 2]).map(scaled, 1, each=[1])


def test_a_question_ends_with_its_time():
    with pytest.raises(TimeIsOver):
        Partitioned([1]).map(scaled, 1, deadline=Deadline.of(0.0))


@pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 70])
def test_answers_are_combined_a_few_at_a_time(number):
    partitions = Partitioned([np.arange(k) for k in range(number)])
    assert partitions.sum(np.sum) == sum(k * (k - 1) // 2 for k in range(number))
    joined = partitions.coalesce(3, np.concatenate)
    assert len(joined) == -(-number // 3)
    assert sum(len(value) for value in joined.values) == number * (number - 1) // 2
