"""Ensembles as text, HTML, LaTeX and data frames."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import RuleEnsemble, WeightedRule
from formulakern.rules.features import LinearTerm
from formulakern.text import within


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


MIXED = RuleEnsemble.of(
    (
        WeightedRule(fk.rule("x = 1"), -3.0, "b", None, 3, 0.3, 0.1, 0.4, (1.25, -3.0, 2.0)),
        weighted("y = 1", 2.0, "b", precision=0.6, base=0.4),
    ),
    ("a", "b", "c"),
)


def test_text():
    assert str(ENSEMBLE).splitlines() == [
        "Add the votes of the rules that hold to the intercept of each class. "
        "Predict the class with the",
        "largest sum. Intercepts: a +0, b +0.1, c +0",
        "    a      b      c  coverage  rule",
        "+2.00  -2.00            30.0%  color = red",
        "       +1.50  -1.50     30.0%  size >= 3",
        "              +0.25     30.0%  color = blue & size < 2",
    ]
    assert str(MIXED).splitlines() == [
        "Add the votes of the rules that hold. Predict the class with the largest sum.",
        "    a      b      c  coverage  rule",
        "+1.25  -3.00  +2.00     30.0%  x = 1",
        "       +2.00            30.0%  y = 1",
    ]
    assert "&lt;" in ENSEMBLE._repr_html_()
    assert MIXED._repr_html_().count("<tr>") == 3
    many = RuleEnsemble.of((weighted(f"x = {k}", 1.0, 0, 1) for k in range(70)), (0, 1))
    assert str(many).splitlines()[-1] == "… and 10 more rules"
    tiny = RuleEnsemble.of([weighted("x = 1", 1e-9, 0, 1, math.nan)], (0, 1))
    assert "1.000e-09" in str(tiny)
    assert str(RuleEnsemble.of((), ("a", "b"), (0, 1))) == "Predict b for every row."
    assert (len(MIXED), MIXED.n_conditions) == (2, 2)
    assert repr(MIXED) == "<RuleEnsemble: 2 rules for ['a', 'b', 'c']>"


def test_all_intercepts_are_shown():
    names = [f"a-class-{k}" for k in range(40)]
    items = [weighted("x = 1", 2.0, names[0])]
    text = str(RuleEnsemble.of(items, names, [k + 1.5 for k in range(40)]))
    start = " ".join(text.partition("Intercepts: ")[2].partition("\nvotes")[0].split())
    assert start == ", ".join(f"{name} +{k + 1.5:.4g}" for k, name in enumerate(names))
    assert max(map(len, text.splitlines())) <= 100


def test_votes_for_many_classes_are_one_column():
    """The largest first, and only those that fit."""
    names = [f"class number {k}" for k in range(12)]
    votes = [[k - 6.5 for k in range(12)], [0.0] * 11 + [1.0]]
    few = {"support": [3, 3], "coverage": [0.3, 0.3], "precision": [math.nan] * 2}
    rules = (fk.rule("x = 1"), fk.rule(" & ".join(f"column = {k}" for k in range(20))))
    ensemble = RuleEnsemble(rules, votes, names, np.zeros(12), **few)
    lines = str(ensemble).splitlines()[1:]
    listed = "-6.5 class number 0, -5.5 class number 1, …"
    assert lines[0] == f"{'votes':<{len(listed)}}  coverage  rule"
    assert lines[1] == f"{listed}     30.0%  x = 1"
    assert lines[2].startswith("+1.0 class number 11  ")
    assert max(map(len, lines)) <= 100
    assert ensemble.to_latex().splitlines()[1] == r"votes & coverage & rule \\"
    with within(60):
        assert "\n-6.5 class number 0, …  " in str(ensemble)


def test_classes_may_have_the_names_of_columns():
    names = ("rule", "class", "coverage", "weight", "votes")
    ensemble = RuleEnsemble.of([weighted("x = 1", 2.0, "class", "rule")], names)
    head, row = str(ensemble).splitlines()[1:]
    assert head == "rule  class  coverage  weight  votes  coverage  rule"
    assert row == "-2.0   +2.0                              30.0%  x = 1"
    assert ensemble._repr_html_().count("<th ") == 7


@pytest.mark.parametrize("start", [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)])
def test_what_two_classes_are_decided_by(start):
    """The sentence holds of the sums of the rows, which are 0.5, 0 and -0.5."""
    items = [weighted("x = 1", 0.5, "b", "a"), weighted("x = 3", 0.5, "a", "b")]
    ensemble = RuleEnsemble.of(items, ("a", "b"), start)
    first = str(ensemble).splitlines()[0]
    more = first.removeprefix(
        "Add the weights of the rules that hold. Predict b if (for b) - (for a) > "
    ).removesuffix(", else a.")
    for x, total in ((1, 0.5), (2, 0.0), (3, -0.5)):
        assert ensemble.predict({"x": [x]}).tolist() == ["b" if total > float(more) else "a"]


LINEAR = "A linear term from a to b rises from 0 at a to its {} at b, and is constant outside."


def test_linear_terms_say_what_a_step_counts_for():
    age = WeightedRule(LinearTerm("age in years", 20, 75), 1.32, "b", "a", 9, 0.9)
    lines = str(RuleEnsemble.of([age], ("a", "b"))).splitlines()
    assert lines[1:] == [
        "weight  class  coverage  rule",
        "  1.32  b         90.0%  +0.024 per unit of `age in years` (from 20 to 75)",
        LINEAR.format("weight"),
    ]
    against = RuleEnsemble.of([WeightedRule(LinearTerm("size", 0.25, 0.75), -2.0, "b")], "ab")
    assert str(against).splitlines()[1:] == [
        "a     b  rule",
        "   -2.0  size from 0.25 to 0.75",
        LINEAR.format("votes"),
    ]
    number = RuleEnsemble.of([WeightedRule(LinearTerm("income", -5e4, 5e4), -2.0)])
    assert str(number).splitlines()[-2] == (
        "  -2.0  -0.2 per 10000 of income (from -50000 to 50000)"
    )
    assert number.to_latex().splitlines()[3] == (
        r"-2.0 & $\text{income}\text{ from }-50000\text{ to }50000$, -0.2 per 10000 \\"
    )


def test_rules_against_their_precision_are_marked():
    items = [
        weighted("x <= 3", 2.0, "b", "a", 0.3, 0.4),
        weighted("y = 1", 1.0, "a", "b", 0.7, 0.6),
        weighted("z = 1", 0.5, "a", "b", 0.59999, 0.6),
    ]
    ensemble = RuleEnsemble.of(items, "ab")
    mark = (
        "* The precision is below the base rate: the rule corrects other rules that hold for the "
        "same rows."
    )
    assert str(ensemble).splitlines()[1:] == [
        "weight  class  coverage  precision  base rate     rule",
        "   2.0  b         30.0%      30.0%      40.0%  *  x <= 3",
        "   1.0  a         30.0%      70.0%      60.0%     y = 1",
        "   0.5  a         30.0%      60.0%      60.0%     z = 1",
        mark,
    ]
    assert mark in ensemble._repr_html_()
    assert "*" not in ensemble.to_latex() + ensemble.to_json()
    assert "*" not in str(RuleEnsemble.of(items[1:], "ab")) + str(RuleEnsemble.of(items, "abc"))


def inside(words, x):
    """Return True if a number is in a range such as ``above 3 to below 5``."""
    low, found, high = words.rpartition(" to ")
    if not found and not words.startswith(("below", "above", "from")):
        return x == float(words)
    sign, _, start = (low if found else words).rpartition(" ")
    if low == "up" or sign == "below":
        end = float(words.split()[-1])
        return x <= end if low == "up" else x < end
    end = float(high.split()[-1]) if found else math.inf
    return (x > float(start) if sign == "above" else x >= float(start)) and (
        x < end if "below" in high else x <= end
    )


BOUNDS = st.tuples(
    st.sampled_from(["<", "<=", ">", ">=", "="]), st.integers(-3, 3), st.integers(1, 9)
)


@given(st.lists(BOUNDS, min_size=1, max_size=6), st.booleans())
def test_rules_about_one_column_are_added_up(bounds, classes):
    rules = {f"x {sign} {value}": weight for sign, value, weight in bounds}
    names = ("b", "a") if classes else (None, None)
    items = [weighted(text, float(weight), *names) for text, weight in rules.items()]
    items.append(weighted("y = 1", 1.0, *names))
    ensemble = RuleEnsemble.of(items, "ab" if classes else None)
    numbers = np.arange(-4, 4.5, 0.5)
    values = ensemble.values({"x": numbers, "y": np.zeros(len(numbers))})
    with within(100):
        text = " ".join(str(ensemble).split())
    _, found, listed = text.partition(" x: ")
    assert bool(found) == (values.sum(axis=1).max() > 1)
    if found:
        assert ("single column, (for b) - (for a):" if classes else "single column:") in text
        parts = [part.rpartition(": ") for part in listed.split("; ")]
        for x, total in zip(numbers, values @ ensemble.votes[:, -1], strict=True):
            [shown] = [float(number) for words, _, number in parts if inside(words, x)]
            assert shown == total
        assert max(Counter(words for words, _, _ in parts).values()) == 1


def test_which_rules_are_added_up():
    listed = {
        "`a b` >= 0.5": 1.5,
        "`a b` >= 2.5": -0.25,
        "1 <= c <= 4": 1.0,
        "c in {2, 3} & c != 3": 2.0,
        "d <= 3 & e <= 3": 1.0,
        "d <= 2": 1.0,
        "met >= 2020-02-01": 1.0,
        "met >= 2020-03-01": 1.0,
        "month(met) <= 5": 1.0,
        "grade <= low | grade <= 3": 1.0,
        "grade <= 3": 1.0,
    }
    items = [weighted(text, weight) for text, weight in listed.items()]
    items.append(WeightedRule(LinearTerm("c", 1, 4), 1.0))
    text = str(RuleEnsemble.of(items))
    assert text.splitlines()[-4:] == [
        "Sums of the rules about a single column:",
        "  `a b`: below 0.5: 0; 0.5 to below 2.5: +1.50; from 2.5: +1.25",
        "  c (without its linear term): below 1: 0; 1 to below 2: +1.0; 2: +3.0; "
        "above 2 to 4: +1.0;",
        "    above 4: 0",
    ]
    with within(60):
        assert "\n    " in str(RuleEnsemble.of(items)).partition("single column:")[2]


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
    assert [*frame] == [
        "weight", "class", "votes a", "votes b", "votes c", "support", "coverage", "precision",
        "base_rate", "rule",
    ]  # fmt: skip
    assert frame["rule"][0] == "color = red"
    np.testing.assert_array_equal(frame.filter(like="votes"), ENSEMBLE.votes)
    two = RuleEnsemble.of([weighted("x = 1", 2.0, "b", "a")], "ab").to_frame()
    assert [*two] == ["weight", "class", "support", "coverage", "precision", "base_rate", "rule"]
    assert two["class"].tolist() == ["b"]
    assert [*PRICE.to_frame()] == ["weight", "support", "coverage", "rule"]


def test_latex():
    text = ENSEMBLE.to_latex(2)
    assert text.count(r"\\") == 3
    assert r"\text{color}" in text
    assert r"30.0\% & $" in text
    assert MIXED.to_latex().splitlines()[1:4:2] == [
        r"$a$ & $b$ & $c$ & coverage & rule \\",
        r"+1.25 & -3.00 & +2.00 & 30.0\% & $x = 1$ \\",
    ]
