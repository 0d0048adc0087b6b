"""The speed of radius and margin, as ratios from one run: ``pytest tests/benchmarks -s``.

Both sides run in turns, and medians are divided.  ``goal`` is the largest ratio on an otherwise
idle machine with two cores; the tests fail only far beyond it.
"""

import time
from functools import partial

import numpy as np
from sklearn.svm import SVC

import formulakern as fk
from formulakern import measures
from tests import turns

ROWS = 3_000
REPETITIONS = 5


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Rows of 40 random bits, a rule of three literals, and the kernel of another rule."""
    X = np.random.default_rng(0).integers(0, 2, (ROWS, 40), dtype=np.uint8)
    y = (X[:, 0] & X[:, 1]) | (1 - X[:, 2])
    return fk.kernel("(a & ~b) | c").normalized()(X), y


medians = partial(turns.medians, REPETITIONS, time.perf_counter)


def report(what: str, ratio: float, goal: float) -> None:
    print(f"\n    {what:<70} {ratio:7.2f} x   goal {goal:g}", end="")


def test_against_a_pass_over_the_matrix_and_one_svm():
    K, y = problem()
    vector = np.ones(ROWS)
    trusted = {"check": False}
    time_of = medians(
        matrix_pass=lambda: K @ vector,
        svc=lambda: SVC(kernel="precomputed", C=1).fit(K, y),
        ball=lambda: measures.enclosing_ball(K, **trusted),
        hard=lambda: measures.margin(K, y, **trusted),
        hinge=lambda: measures.margin(K, y, 1.0, **trusted),
        ratio=lambda: measures.radius_margin_ratio(K, y, **trusted),
        checked=lambda: measures.radius_margin_ratio(K, y),
    )
    name = f"{ROWS:,} rows: "
    for what, unit, goal in (
        ("ball", "matrix_pass", 15),
        ("ratio", "matrix_pass", 60),
        ("ball", "svc", 0.5),
        ("hard", "svc", 2.5),
        ("hinge", "svc", 2.5),
        ("ratio", "svc", 3),
        ("checked", "svc", 5),
    ):
        ratio = time_of[what] / time_of[unit]
        report(f"{name}{what} / {unit}", ratio, goal)
        assert ratio < 4 * goal


def test_the_checks_cost_less_than_what_they_guard():
    K, y = problem()
    time_of = medians(
        checked=lambda: measures.radius_margin_ratio(K, y, C=1.0),
        trusted=lambda: measures.radius_margin_ratio(K, y, C=1.0, check=False),
    )
    ratio = time_of["checked"] / time_of["trusted"]
    report(f"{ROWS:,} rows: soft ratio, checked / trusted", ratio, 3)
    assert ratio < 9
