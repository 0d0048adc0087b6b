"""FormulaSVC on dask collections: the model of the table in memory, as far as the rows fit."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import formulakern as fk
from formulakern import DataError, datasets
from formulakern.datasets import read_table

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[4] / "shared" / "data"))

#: Two classes, two classes of which some rows are in both, and four classes.
FILES = {"mushroom": "mushroom.csv", "adult": "adult-train.csv.gz", "cars": "car.csv"}

pd = pytest.importorskip("pandas", reason="pandas is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask's data frames are not installed")

pytestmark = pytest.mark.filterwarnings("ignore:Dask")


def table_of(name):
    """A frame of some rows, class by class, so that partitions lack classes; and their classes."""
    if name == "tic-tac-toe":
        data = datasets.tic_tac_toe(return_X_y=False)
    elif DATA.is_dir():
        data = read_table(DATA / FILES[name])
    else:
        pytest.skip(f"the benchmark data are not at {DATA}; set FORMULAKERN_DATA")
    y = np.asarray(data.target)
    rows = np.random.default_rng(0).permutation(len(y))[:600]
    rows = rows[np.argsort(y[rows], kind="stable")]
    X = data.data[rows]
    return pd.DataFrame({name: X[name] for name in X.names}), pd.Series(y[rows])


def partitioned(values, n=3):
    return dd.from_pandas(values, npartitions=n)


@pytest.mark.parametrize("name", ["tic-tac-toe", *FILES])
@pytest.mark.parametrize("n", [1, 5])
def test_the_model_is_that_of_the_table_in_memory(name, n):
    X, y = table_of(name)
    inside = fk.FormulaSVC(C=1.0).fit(X, y)
    model = fk.FormulaSVC(C=1.0).fit(partitioned(X, n), partitioned(y, n))
    assert model.stopped_ == "optimal"
    assert model.gap_ == inside.gap_
    assert model.classes_.tolist() == inside.classes_.tolist()
    np.testing.assert_array_equal(model.support_, inside.support_)
    np.testing.assert_array_equal(model.dual_coef_, inside.dual_coef_)
    np.testing.assert_array_equal(model.decision_function(X), inside.decision_function(X))
    assert model.svc_.shape_fit_ == inside.svc_.shape_fit_


def test_weights_and_rules():
    X, y = table_of("tic-tac-toe")
    weights = pd.Series(np.random.default_rng(2).integers(1, 4, len(y)).astype(float))
    parameters = {"formula": "all[3](x)", "variables": "distinct", "C": 0.5}
    inside = fk.FormulaSVC(**parameters).fit(X, y, sample_weight=weights)
    model = fk.FormulaSVC(**parameters)
    model.fit(partitioned(X), partitioned(y), sample_weight=partitioned(weights))
    np.testing.assert_array_equal(model.decision_function(X), inside.decision_function(X))
    found = model.rules(top=8)
    assert found.proven
    assert str(found.ensemble) == str(inside.rules(top=8).ensemble)


@pytest.mark.parametrize(
    "model",
    [fk.FormulaSVC("a & b"), fk.FormulaSVCCV("a & b"), fk.FormulaMKL(["a & b", "a | b"])],
    ids=lambda model: type(model).__name__,
)
def test_rows_beyond_the_limit_are_refused_with_the_number_that_fits(model):
    X, y = table_of("tic-tac-toe")
    n = len(X)
    with fk.gather_limit(8 * n):  # 27 propositions are a word of 8 bytes
        model.fit(partitioned(X), partitioned(y))
    bytes_ = f"{n} rows of 27 propositions take {8 * n:,} bytes.*{8 * n - 1:,}"
    message = f"{bytes_}, which allows {n - 1} rows"
    with (
        fk.gather_limit(8 * n - 1),
        pytest.raises(DataError, match=message) as caught,
    ):
        model.fit(partitioned(X), partitioned(y))
    assert re.search(r"formulakern\.gather_limit", str(caught.value))
