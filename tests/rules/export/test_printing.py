"""Ensembles as text, HTML, LaTeX and data frames."""

import math

import pytest

import formulakern as fk
from formulakern import RuleEnsemble, WeightedRule
from formulakern.rules.features import LinearTerm


def weighted(text, weight, winner=None, loser=None, precision=1.0, base=math.nan):
    return WeightedRule(fk.rule(text), weight, winner, loser, 3, 0.3, precision, base)


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
    assert str(ENSEMBLE).splitlines() == [
        "the class whose weights, for it less against it, have the largest sum; start: b +0.1",
        "weight  speaks           coverage  precision  rule",
        "  2.00  for a against b     30.0%     100.0%  color = red",
        "  1.50  for b against c     30.0%     100.0%  size >= 3",
        "  0.25  for c               30.0%     100.0%  color = blue & size < 2",
    ]
    assert "&lt;" in ENSEMBLE._repr_html_()
    many = RuleEnsemble.of((weighted(f"x = {k}", 1.0, 0, 1) for k in range(70)), (0, 1))
    assert str(many).splitlines()[-1] == "… and 10 more rules"
    votes = RuleEnsemble.of((weighted(f"x = {k % 60}", 1.0, 0, 1) for k in range(70)), (0, 1))
    assert str(votes).splitlines()[-1] == "… and 10 more votes of these rules"
    tiny = RuleEnsemble.of([weighted("x = 1", 1e-9, 0, 1, math.nan)], (0, 1))
    assert "1.000e-09" in str(tiny)
    assert str(RuleEnsemble.of((), ("a", "b"), (0, 1))) == "b for every row"


def test_all_intercepts_are_shown():
    names = [f"a-class-{k}" for k in range(40)]
    items = [weighted("x = 1", 2.0, names[0])]
    text = str(RuleEnsemble.of(items, names, [k + 1.5 for k in range(40)]))
    start = " ".join(text.partition("start: ")[2].partition("\nweight")[0].split())
    assert start == ", ".join(f"{name} +{k + 1.5:.4g}" for k, name in enumerate(names))
    assert max(map(len, text.splitlines())) <= 100


def test_what_a_rule_speaks_for():
    items = [weighted("x = 1", 2.0, "b", precision=0.7, base=0.4), weighted("y = 1", -0.5, "b")]
    assert str(RuleEnsemble.of(items, ("a", "b", "c"))).splitlines() == [
        "the class whose weights, for it less against it, have the largest sum",
        "weight  speaks     coverage  precision   base  rule",
        "   2.0  for b         30.0%      70.0%  40.0%  x = 1",
        "   0.5  against b     30.0%     100.0%         y = 1",
    ]


def test_votes_about_several_classes_stand_together():
    """The rule beside the first of them."""
    items = [
        weighted("x = 1", 3.0, "b", precision=0.7, base=0.4),
        weighted("y = 1", 2.0, "b", precision=0.6, base=0.4),
        weighted("x = 1", -1.0, "c", precision=0.1, base=0.2),
    ]
    ensemble = RuleEnsemble.of(items, ("a", "b", "c"))
    assert str(ensemble).splitlines()[1:] == [
        "weight  speaks     coverage  precision   base  rule",
        "   3.0  for b         30.0%      70.0%  40.0%  x = 1",
        "   1.0  against c                10.0%  20.0%",
        "   2.0  for b         30.0%      60.0%  40.0%  y = 1",
    ]
    assert (len(ensemble), ensemble.n_rules, ensemble.n_conditions) == (3, 2, 2)
    assert repr(ensemble) == "<RuleEnsemble: 2 rules with 3 votes for ['a', 'b', 'c']>"
    assert ensemble.to_latex().splitlines()[4] == r"1.0 & against $c$ &  & 10.0\% & 20.0\% &  \\"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ((1.0, 0.0), "b where the weights for it exceed those for a by more than 0.5, else a"),
        ((0.0, 0.0), "b where the weights for it exceed those for a, else a"),
        ((0.0, 1.0), "a where the weights for it exceed those for b by 0.5 or more, else b"),
    ],
)
def test_what_two_classes_are_decided_by(start, expected):
    """Said of the sums, it is what is predicted; the sums of the rows are 0.5, 0 and -0.5."""
    items = [weighted("x = 1", 0.5, "b", "a"), weighted("x = 3", 0.5, "a", "b")]
    ensemble = RuleEnsemble.of(items, ("a", "b"), start)
    assert str(ensemble).splitlines()[0] == expected
    said, more = expected[0], (start[0] - start[1]) / 2
    for x, total in ((1, 0.5), (2, 0.0), (3, -0.5)):
        ahead = total > more if said == "b" else total <= more
        assert ensemble.predict({"x": [x]}).tolist() == [said if ahead else expected[-1]]


def test_linear_terms_say_what_a_step_counts_for():
    age = WeightedRule(LinearTerm("age in years", 20, 75), 1.32, "b", None, 9, 0.9)
    lines = str(RuleEnsemble.of([age], ("a", "b"))).splitlines()
    assert lines[-1] == "  1.32  for b      90.0%  `age in years` from 20 to 75, 0.024 per unit"
    against = RuleEnsemble.of([WeightedRule(LinearTerm("size", 0.25, 0.75), -2.0, "b")], "ab")
    assert str(against).splitlines()[-1] == "   2.0  against b  size from 0.25 to 0.75, 0.4 per 0.1"
    number = RuleEnsemble.of([WeightedRule(LinearTerm("income", -5e4, 5e4), -2.0)])
    assert str(number).splitlines()[-1] == "  -2.0  income from -50000 to 50000, -0.2 per 10000"
    assert number.to_latex().splitlines()[3] == (
        r"-2.0 & $\text{income}\text{ from }-50000\text{ to }50000$, -0.2 per 10000 \\"
    )


def test_text_of_numbers():
    assert str(PRICE).splitlines() == [
        "price = 10 + Σ weight · rule",
        "weight  coverage  rule",
        "   2.0     30.0%  color = red",
        "  -0.5     30.0%  size < 3",
    ]
    assert "price = 10" in PRICE._repr_html_()
    latex = PRICE.to_latex().splitlines()
    assert latex[:2] == [r"\begin{tabular}{rrl}", r"weight & coverage & rule \\"]
    assert latex[4] == r"-0.5 & 30.0\% & $\text{size} < 3$ \\"


def test_long_rules_are_broken_after_connectives():
    long = " & ".join(f"`column number {k}` = value" for k in range(8))
    lines = str(RuleEnsemble.of([weighted(long, 1.0, "a", "b")], "ab")).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 100
    assert all(line.endswith(" &") for line in lines[2:-1])
    assert " ".join(line.strip() for line in lines[2:]).endswith(long)


def test_frame():
    pytest.importorskip("pandas")
    frame = ENSEMBLE.to_frame()
    assert frame.shape == (3, 8)
    assert [*frame][-3:] == ["precision", "base_rate", "rule"]
    assert frame["rule"][0] == "color = red"
    assert frame["against"].isna().tolist() == [False, False, True]
    assert [*PRICE.to_frame()] == ["weight", "support", "coverage", "rule"]


def test_latex():
    text = ENSEMBLE.to_latex(2)
    assert text.count(r"\\") == 3
    assert r"\text{color}" in text
    assert r"30.0\% & 100.0\% &" in text
    assert "for $c$ &" in ENSEMBLE.to_latex()
