import numpy as np
import pytest

import formulakern as fk
from formulakern.datasets import make_formula_classification


def test_labels_are_the_formula_on_every_assignment():
    X, y = make_formula_classification("(a & ~b) | c", n=5)
    assert X.shape == (32, 5)
    rows = np.asarray(X)
    assert len({tuple(row) for row in rows}) == 32
    assert np.array_equal(y, fk.rule("(a & ~b) | c")(X).astype(int))


def test_names_of_other_columns_avoid_those_of_the_formula():
    X, _ = make_formula_classification("x3 | x2", n=4)
    assert X.names == ("x3", "x2", "_x3", "x4")


def test_constant_formula_labels_every_row_alike():
    assert make_formula_classification("true", n=2).target.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("n", [1, 21, 2.5, True])
def test_number_of_columns_out_of_range_is_refused(n):
    with pytest.raises(fk.ParameterError, match=f"n={n!r}; expected an integer"):
        make_formula_classification("a & b", n=n)
