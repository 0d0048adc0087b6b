"""The bound of optimal lists against time: ``pytest tests/benchmarks/test_optimal_list.py -s``.

Each line prints the distance of the bound from the best list's objective, and the processor time.
"""

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from sklearn.exceptions import ConvergenceWarning

from formulakern import RuleListClassifier
from formulakern.datasets.reader import read_table
from formulakern.encoding.packed import PackedTable
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.learning.covering.optimal import OptimalList, optimal_rule_list

DATA = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
#: Seconds of each search.
LIMIT = 60.0


def task(name: str, cut_points: int = 4) -> tuple[PackedTable, np.ndarray, np.ndarray]:
    """Different rows, weights by class, and the groups of propositions that exclude each other."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs {path}; set FORMULAKERN_DATA")
    X, y = read_table(path)
    encoder = PropositionEncoder(cut_points=cut_points)
    table, kind = encoder.fit(X).transform_packed(X).distinct()
    classes, labels = np.unique(y, return_inverse=True)
    weights = np.zeros((table.n_rows, len(classes)))
    np.add.at(weights, (kind, labels), 1)
    groups = [group for plan in encoder.plans_ for group in _groups(plan, encoder)]
    return table, weights, np.array(groups)


def _groups(plan: object, encoder: PropositionEncoder) -> Iterator[int]:
    place = next(i for i, other in enumerate(encoder.plans_) if other is plan)
    texts = [str(proposition) for proposition in plan.propositions]
    nominal = all(" = " in text or text.endswith("is missing") for text in texts)
    yield from [place if nominal else -1] * len(texts)


def measured(name: str, rules: int, conditions: int, penalty: float, **options) -> OptimalList:
    table, weights, groups = task(name, options.pop("cut_points", 4))
    begin = time.process_time()
    found = optimal_rule_list(
        table,
        weights,
        max_rules=rules,
        max_conditions=conditions,
        penalty=penalty,
        exclusive=groups,
        time_limit=options.pop("time_limit", LIMIT),
        **options,
    )
    seconds = time.process_time() - begin
    what = f"{name}, {rules} rules of {conditions} conditions, penalty {penalty:g}"
    print(
        f"\n    {what:<66} {found.stopped:<8} objective {found.objective:.4f}  "
        f"gap {found.gap:7.1e}  {found.n_antecedents:6,} antecedents  {seconds:7.2f} s",
        end="",
    )
    assert found.bound <= found.objective
    return found


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    table = PackedTable.of_columns(np.array([[0b0011], [0b0101]], dtype=np.uint64), 4)
    optimal_rule_list(table, [[9, 0], [0, 5], [0, 7], [8, 0]])


def singles(table):
    """Return chains of one column each."""
    return [[j] for j in range(table.n_columns)]


@pytest.mark.parametrize(
    ("name", "rules", "conditions", "penalty"),
    [
        ("monks-1-train.csv", 5, 2, 0.01),
        ("monks-2-train.csv", 3, 2, 0.01),
        ("monks-3-train.csv", 4, 2, 0.01),
        ("tic-tac-toe.csv", 3, 2, 0.01),
        ("breast-cancer-wisconsin.csv", 3, 2, 0.01),
        ("house-votes-84.csv", 3, 2, 0.01),
        ("car.csv", 3, 2, 0.01),
        ("mushroom.csv", 3, 2, 0.01),
        ("nursery.csv.gz", 3, 2, 0.01),
    ],
)
def test_certified(name, rules, conditions, penalty):
    assert measured(name, rules, conditions, penalty).stopped == "optimal"


@pytest.mark.parametrize(
    ("name", "rules", "conditions", "penalty"),
    [
        ("tic-tac-toe.csv", 8, 3, 0.005),
        ("tic-tac-toe.csv", 8, 3, 0.01),
        ("monks-2-train.csv", 5, 2, 0.01),
        ("nursery.csv.gz", 5, 2, 0.01),
        ("mushroom.csv", 5, 2, 0.01),
    ],
)
def test_gap_falls(name, rules, conditions, penalty):
    """Not certified in this time: the bound rises, and the list is as good as known."""
    found = measured(name, rules, conditions, penalty, time_limit=20.0)
    assert found.bound > found.history[0].bound


def test_tic_tac_toe_finds_the_eight_lines():
    """The rules of the game are found at once, whether they are certified or not."""
    found = measured("tic-tac-toe.csv", 8, 3, 0.005, time_limit=5.0)
    assert found.error == 0.0
    assert len(found.conjunctions) == 8


@pytest.mark.parametrize("name", ["iris", "wine", "moons", "haberman", "transfusion"])
def test_every_cut_point(name, monkeypatch):
    """Lists over all cut points of numbers, with and without the ends that can move."""
    if name in ("iris", "wine"):
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    elif name == "moons":
        X, y = sklearn.datasets.make_moons(500, noise=0.2, random_state=0)
    else:
        if not (path := DATA / f"{name}.csv").exists():
            pytest.skip(f"needs {path}; set FORMULAKERN_DATA")
        X, y = read_table(path)
    encoder = PropositionEncoder(strategy="all")
    for moved in (True, False):
        model = RuleListClassifier("optimal", encoder=encoder, time_limit=20)
        if not moved:
            monkeypatch.setattr(PackedTable, "chains", property(singles))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            begin = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - begin
        what = f"{name}, {len(model.propositions_):,} propositions{'' if moved else ', fixed ends'}"
        print(f"\n    {what:<50} gap {model.gap_:.4f}  {seconds:6.2f} s", end="")
        assert model.bound_ <= model.objective_
