"""Warnings of identifiers, and of values that training did not show."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import formulakern as fk
from formulakern.datasets import read_table
from formulakern.encoding.summary import MAX_COUNTED_NUMBERS

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
ROWS = 60
IDENTIFIERS = {
    "text": [f"row {k}" for k in range(ROWS)],
    "numbered": np.random.default_rng(0).permutation(ROWS) + 1000,
    "with missing": [*(f"row {k}" for k in range(ROWS - 1)), None],
}
OTHERS = {
    "measured": np.random.default_rng(0).permutation(ROWS**2)[:ROWS],
    "decimals": np.linspace(0, 1, ROWS),
    "repeated": [*(f"row {k}" for k in range(ROWS - 1)), "row 0"],
    "days": np.arange(ROWS).astype("M8[D]"),
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_an_identifier_is_told(name):
    frame = pd.DataFrame({"id": IDENTIFIERS[name], "other": ["a", "b"] * (ROWS // 2)})
    with pytest.warns(UserWarning, match='different value in every row, like identifiers: "id"'):
        fk.PropositionEncoder().fit(frame)
    with pytest.warns(UserWarning, match="drop these columns"):
        fk.PRLClassifier().fit(frame, frame["other"])


def test_many_numbers_that_are_categories_are_an_identifier():
    """The warning comes even if a summary of that many numbers would not be kept."""
    table = {
        "id": np.arange(MAX_COUNTED_NUMBERS + 1) / 2,
        "size": np.arange(MAX_COUNTED_NUMBERS + 1) % 3,
    }
    with pytest.warns(UserWarning, match='like identifiers: "id"'):
        fk.PropositionEncoder(nominal=["id"]).fit(table)


@pytest.mark.parametrize("name", OTHERS)
def test_other_columns_are_no_identifiers(name):
    fk.PropositionEncoder().fit({"x": OTHERS[name]})
    fk.PropositionEncoder().fit({"x": IDENTIFIERS["text"][:19]})
    pooled = {"x": IDENTIFIERS["text"], "y": [0, 1] * (ROWS // 2)}
    fk.PropositionEncoder(min_frequency=2).fit(pooled)


def test_values_that_training_did_not_show_are_told():
    encoder = fk.PropositionEncoder().fit({"city": ["Paris", "Lund"] * 20})
    later = {"city": ["Paris"] * 30 + ["paris"] * 10 + [None] * 3}
    assert encoder.unseen(later) == {"city": 0.25}
    with pytest.warns(UserWarning, match=r'are in "city" \(25%\), and match no known'):
        encoder.transform(later)
    encoder.transform({"city": ["Paris"] * 90 + ["Oslo"] * 9})
    encoder.transform({"city": ["Oslo"] * 9})
    encoder.transform({"city": ["Paris"] * 91 + ["Oslo"] * 10})
    once = fk.PropositionEncoder().fit({"city": [*IDENTIFIERS["text"][:30], *["Lund"] * 30]})
    once.transform({"city": [f"other {k}" for k in range(30)]})  # half of training was so, too


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data at {DATA}; set FORMULAKERN_DATA")
def test_halves_of_real_tables_do_not_surprise():
    for path in sorted(DATA.glob("*.csv"))[::3]:
        if "sequence" in path.name:
            continue
        X, _ = read_table(path)
        order = np.random.default_rng(0).permutation(len(X))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            encoder = fk.PropositionEncoder().fit(X[order[::2]])
            encoder.transform_packed(X[order[1::2]])
