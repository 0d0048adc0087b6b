"""The worked examples of the chapter on rule-based classifiers of Tan, Steinbach & Kumar."""

import numpy as np
import pytest

import formulakern as fk
from formulakern import ClassRule, RuleList, RuleSet, rule_quality

CLASSES = ("amphibians", "birds", "fishes", "mammals", "reptiles")
NAMES = ("blood type", "give birth", "can fly", "live in water")
#: name: blood type, give birth, can fly, live in water, class
VERTEBRATES = {
    "human": "warm yes no no mammals", "python": "cold no no no reptiles",
    "salmon": "cold no no yes fishes", "whale": "warm yes no yes mammals",
    "frog": "cold no no sometimes amphibians", "komodo": "cold no no no reptiles",
    "bat": "warm yes yes no mammals", "pigeon": "warm no yes no birds",
    "cat": "warm yes no no mammals", "leopard shark": "cold yes no yes fishes",
    "turtle": "cold no no sometimes reptiles", "penguin": "warm no no sometimes birds",
    "porcupine": "warm yes no no mammals", "eel": "cold no no yes fishes",
    "salamander": "cold no no sometimes amphibians", "gila monster": "cold no no no reptiles",
    "platypus": "warm no no no mammals", "owl": "warm no yes no birds",
    "dolphin": "warm yes no yes mammals", "eagle": "warm no yes no birds",
}  # fmt: skip
RULES = tuple(
    ClassRule(fk.rule(text), label)
    for text, label in [
        ("`give birth` = no & `can fly` = yes", "birds"),
        ("`give birth` = no & `live in water` = yes", "fishes"),
        ("`give birth` = yes & `blood type` = warm", "mammals"),
        ("`give birth` = no & `can fly` = no", "reptiles"),
        ("`live in water` = sometimes", "amphibians"),
    ]
)
LISTED, VOTING = RuleList(RULES, CLASSES), RuleSet(RULES, CLASSES)


def animal(*entries):
    return dict(zip(NAMES, entries, strict=True))


LEMUR = animal("warm", "yes", "no", "no")
TURTLE = animal("cold", "no", "no", "sometimes")
DOGFISH = animal("cold", "yes", "no", "yes")


def test_three_animals_under_rank_order():
    table = {name: [row[name] for row in (LEMUR, TURTLE, DOGFISH)] for name in NAMES}
    assert LISTED.predict(table).tolist() == ["mammals", "reptiles", None]
    assert LISTED.first_match(table).tolist() == [2, 3, 5]
    assert "by rule 3" in str(LISTED.explain(LEMUR))
    found = LISTED.explain(TURTLE)
    assert (found.prediction, found.position) == ("reptiles", 3)
    why = str(found).replace("live in water", "water").splitlines()
    assert why == [
        "class reptiles, by rule 4: `give birth` = no & `can fly` = no",
        "  not by rule 1 (birds): `can fly` = yes is false, since can fly is no",
        "  not by rule 2 (fishes): `water` = yes is false, since water is sometimes",
        "  not by rule 3 (mammals): `give birth` = yes is false, since give birth is no",
        "  not by rule 3 (mammals): `blood type` = warm is false, since blood type is cold",
    ]
    assert str(LISTED.explain(DOGFISH)).startswith("class unknown: no rule is satisfied")
    with_default = RuleList(RULES, CLASSES, "fishes")
    assert with_default.predict(table).tolist() == ["mammals", "reptiles", "fishes"]


def test_three_animals_under_votes():
    assert VOTING.explain(LEMUR).fired == (2,)
    found = VOTING.explain(TURTLE)
    assert (found.fired, found.tie) == ((3, 4), ("amphibians", "reptiles"))
    assert str(found).startswith("class amphibians, the first of a tie: amphibians, reptiles")
    assert (VOTING.explain(DOGFISH).prediction, VOTING.explain(DOGFISH).fired) == (None, ())


def test_the_rules_are_neither_exclusive_nor_exhaustive():
    exclusive = fk.mutually_exclusive(LISTED)
    assert not exclusive
    assert set(exclusive.rules) <= set(
        LISTED.covers({n: [exclusive.witness.get(n)] for n in NAMES})[0].nonzero()[0]
    )
    both = ["yes", "no"]
    entries = (["warm", "cold"], both, both, ["yes", "no", "sometimes"])
    domains = dict(zip(NAMES, entries, strict=True))
    answer = fk.exhaustive(RULES, domains=domains)
    assert (answer.witness["blood type"], answer.witness["give birth"]) == ("cold", "yes")
    assert fk.mutually_exclusive(LISTED.to_rule_set())


def test_the_table_of_vertebrates():
    rows = [text.split() for text in VERTEBRATES.values()]
    table = {name: [row[k] for row in rows] for k, name in enumerate(NAMES)}
    labels = [row[-1] for row in rows]
    predicted = dict(zip(VERTEBRATES, LISTED.predict(table), strict=True))
    wrong = {
        name for name, label in zip(VERTEBRATES, labels, strict=True) if predicted[name] != label
    }
    assert wrong == {"frog", "leopard shark", "penguin", "salamander", "platypus"}
    counted = LISTED.with_counts(table, labels)
    assert [sum(item.counts) for item in counted] == [3, 2, 6, 8, 0]
    assert counted.default_counts == (0, 0, 1, 0, 0)
    assert counted.predict_proba(LEMUR | {n: [v] for n, v in LEMUR.items()}).round(3).tolist() == [
        [round(1 / 11, 3)] * 3 + [round(7 / 11, 3), round(1 / 11, 3)]
    ]
    for same in (LISTED.to_rule_set(), LISTED.to_tree(), LISTED.simplified()):
        assert same.predict(table).tolist() == LISTED.predict(table).tolist()


LOANS = {
    "Refund": ["Yes", "No", "No", "Yes", "No", "No", "Yes", "No", "No", "No"],
    "Marital Status": ["Single", "Married"] * 2
    + ["Divorced", "Married"]
    + ["Divorced", "Single"]
    + ["Married", "Single"],
    "Taxable Income": [125, 100, 70, 120, 95, 60, 220, 85, 75, 90],
}
CHEAT = ["No", "No", "No", "No", "Yes", "No", "No", "Yes", "No", "Yes"]


def test_coverage_and_accuracy_on_the_loan_table():
    single = ClassRule(fk.rule("`Marital Status` = Single"), "No")
    found = rule_quality(single, LOANS, CHEAT)
    assert (found.coverage.tolist(), found.accuracy.tolist()) == ([4 / 10], [2 / 4])


def test_a_rule_of_many_rows_against_a_rule_of_two():
    """60 positives and 100 negatives; r1 covers 50 and 5 of them, r2 covers 2 and none."""
    x = [1] * 50 + [2] * 2 + [0] * 8 + [1] * 5 + [0] * 95
    found = rule_quality(["x = 1", "x = 2"], {"x": x}, ["+"] * 60 + ["-"] * 100, labels="+")
    np.testing.assert_allclose(found.accuracy, [50 / 55, 1], rtol=1e-15)
    np.testing.assert_allclose(found.laplace, [51 / 57, 3 / 4], rtol=1e-15)
    np.testing.assert_allclose(found.likelihood_ratio / np.log(2), [99.9, 5.66], atol=0.05)
    np.testing.assert_allclose(found.foil_gain, [63.87, 2.83], atol=0.01)
    assert [f"{share:.1%}" for share in found.accuracy] == ["90.9%", "100.0%"]
    as_laplace = rule_quality(["x = 1"], {"x": x}, ["+"] * 60 + ["-"] * 100, labels="+", m=2)
    np.testing.assert_allclose(as_laplace.m_estimate, (50 + 2 * 60 / 160) / 57, rtol=1e-15)


def test_the_textbook_rules_on_data_frames():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rows = {name: [row[name] for row in (LEMUR, TURTLE, DOGFISH)] for name in NAMES}
    for decision in (LISTED, VOTING):
        expected = decision.predict(rows).tolist()
        found = decision.to_pandas()(pandas.DataFrame(rows)).astype(object)
        assert found.where(found.notna(), None).tolist() == expected
        found = polars.DataFrame(rows).select(decision.to_polars()).to_series()
        assert found.to_list() == expected
