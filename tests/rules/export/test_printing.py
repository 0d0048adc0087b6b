"""Ensembles as text, HTML, LaTeX and data frames."""

import math

import pytest

import formulakern as fk
from formulakern import RuleEnsemble, WeightedRule


def weighted(text, weight, winner=None, loser=None, precision=1.0):
    return WeightedRule(fk.rule(text), weight, winner, loser, 3, 0.3, precision)


ENSEMBLE = RuleEnsemble.of(
    (
        weighted("color = red", 2.0, "a", "b"),
        weighted("size >= 3", 1.5, "b", "c"),
        weighted("color = blue & size < 2", 0.25, "c"),
    ),
    ("a", "b", "c"),
    (0.0, 0.1, 0.0),
)
PRICE = RuleEnsemble.of(
    (weighted("color = red", 2.0, precision=math.nan), weighted("size < 3", -0.5)),
    intercept=[10.0],
    target="price",
)


def test_text():
    lines = str(ENSEMBLE).splitlines()
    assert lines[0].split() == ["weight", "class", "against", "coverage", "precision", "rule"]
    assert lines[1].split(None, 5) == ["2.00", "a", "b", "30.0%", "100.0%", "color = red"]
    assert "the rest" in lines[3]
    assert "&lt;" in ENSEMBLE._repr_html_()
    many = RuleEnsemble.of((weighted("x = 1", 1.0, 0, 1) for _ in range(70)), (0, 1))
    assert str(many).splitlines()[-1] == "… and 10 more rules"
    tiny = RuleEnsemble.of([weighted("x = 1", 1e-9, 0, 1, math.nan)], (0, 1))
    assert "1.000e-09" in str(tiny)
    assert len(str(RuleEnsemble.of((), (0, 1))).splitlines()) == 1


def test_text_of_numbers():
    assert str(PRICE).splitlines() == [
        "price = 10 + Σ weight · rule",
        "weight  coverage  rule",
        "   2.0     30.0%  color = red",
        "  -0.5     30.0%  size < 3",
    ]
    assert PRICE._repr_html_().startswith("<pre>price = 10")
    latex = PRICE.to_latex().splitlines()
    assert latex[:2] == [r"\begin{tabular}{rl}", r"weight & rule \\"]
    assert latex[4] == r"-0.5 & $\mathrm{size} < 3$ \\"


def test_long_rules_are_broken_after_connectives():
    long = " & ".join(f"`column number {k}` = value" for k in range(8))
    lines = str(RuleEnsemble.of([weighted(long, 1.0, "a", "b")], "ab")).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 100
    assert all(line.endswith(" &") for line in lines[1:-1])
    assert " ".join(line.strip() for line in lines[1:]).endswith(long)


def test_frame():
    pytest.importorskip("pandas")
    frame = ENSEMBLE.to_frame()
    assert frame.shape == (3, 7)
    assert frame["rule"][0] == "color = red"
    assert frame["against"].isna().tolist() == [False, False, True]
    assert [*PRICE.to_frame()] == ["weight", "support", "coverage", "rule"]


def test_latex():
    text = ENSEMBLE.to_latex(2)
    assert text.count(r"\\") == 3
    assert r"\mathrm{color}" in text
    assert "the rest" in ENSEMBLE.to_latex()
