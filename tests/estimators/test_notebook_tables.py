"""Notebooks show real tables, one line per row, and no user's text is markup."""

import numpy as np
import pandas as pd
import pytest
from markup_reader import Page

import formulakern as fk

HOSTILE = "<script>alert('x')</script>"
ROWS = pd.DataFrame(
    {
        HOSTILE: ["<i>a</i>", "b", "c", "d"] * 6,
        "size": np.arange(24) % 7,
    }
)
KIND = np.where((ROWS["size"] > 2) & (ROWS[HOSTILE] != "b"), "<b>yes</b>", "no")
THREE = np.where(ROWS["size"] > 4, "much", KIND)
WORDS = ["ACGTAC", "ACGTTT", "TTGTAC", "GGTTAA", "GATTAA", "GGTTCC"]


@pytest.fixture(scope="module")
def shown():
    """Values by name, with the number of lines of their tables, or None."""
    hkl = fk.HKLClassifier(C=100.0).fit(ROWS, KIND)
    three = fk.HKLClassifier(C=100.0).fit(ROWS, THREE)
    number = fk.HKLRegressor(C=100.0).fit(ROWS, ROWS["size"] ** 2.0)
    listed = fk.RuleListClassifier(random_state=0).fit(ROWS, KIND)
    voted = fk.RuleListClassifier("cn2-unordered").fit(ROWS, THREE)
    prl = fk.PRLClassifier(C=10.0, epochs=60).fit(ROWS, KIND)
    svc = fk.FormulaSVC("a & b", "distinct", C=10.0).fit(ROWS, KIND)
    few = fk.simplify_svm(svc, ROWS, KIND, top=4)
    search = fk.FormulaSearch(["a", "a & b", "a | b"], "radius-margin").fit(ROWS, KIND)
    both = fk.FormulaMKL(("a", "a & b")).fit(ROWS, KIND)
    strings = fk.StringSVC("weighted_degree(2)", C=10.0).fit(WORDS, list("pppqqq"))
    return {
        "rules": (hkl.rules_, len(hkl.rules_)),
        "rules of three": (three.rules_, len(three.rules_)),
        "rules of a number": (number.rules_, len(number.rules_)),
        "no rules": (hkl.rules_.head(0), 0),
        "list": (listed.rules_, len(listed.rules_) + 1),
        "set": (voted.rules_, len(voted.rules_) + 1),
        "one row": (hkl.explain(ROWS[:1]), None),
        "one row of three": (three.explain(ROWS[:1]), None),
        "one number": (number.explain(ROWS[:1]), None),
        "all rows": (hkl.explain(ROWS), 24),
        "all rows of a list": (listed.explain(ROWS), 24),
        "one row of a list": (listed.explain(ROWS[1:2]), None),
        "all rows of a set": (voted.explain(ROWS), 24),
        "one row of a set": (voted.explain(ROWS[:1]), None),
        "extraction": (few.extraction, len(few.extraction)),
        "simplification": (few, len(few.ensembles) + 2),  # the chosen rules, and the model
        "search": (search.results_, 3),
        "weights": (both.summary_, 2),
        "positions": (strings.position_weights(5), 5),
        "growth": (hkl.history_, len(hkl.history_)),
        "epochs": (prl.history_, len(prl.history_)),
        "quality": (fk.rule_quality(listed.rules_, ROWS, KIND), len(listed.rules_)),
        "joined": (hkl.rules_.joined(ROWS, 0.1), None),
    }


NAMES = (
    "rules", "rules of three", "rules of a number", "no rules", "list", "set", "one row",
    "one row of three", "one number", "all rows", "all rows of a list", "one row of a list",
    "all rows of a set", "one row of a set", "extraction", "simplification", "search", "weights",
    "positions", "growth", "epochs", "quality", "joined",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_tables(shown, name):
    value, lines = shown[name]
    page = Page(value._repr_html_())
    tags = [tag for tag, _ in page.elements]
    assert tags.count("table") == 1
    assert tags.count("thead") == tags.count("tbody") == 1
    assert "script" not in tags
    assert "pre" not in tags
    assert not {"b", "i"} & set(tags)
    widths = tags.count("th")
    assert tags.count("td") == widths * (tags.count("tr") - 1)
    if lines is not None:
        assert tags.count("tr") - 1 == min(lines, 61)
    assert all(found.get("scope") == "col" for found in page.all("th"))
    assert "\n" not in repr(value)
    assert len(repr(value)) < 300
    assert str(value).count("\n") >= (lines or 1) - 1


def test_entries_are_those_of_the_text(shown):
    """Everything that is printed is in the table, too."""
    rules, _ = shown["rules"]
    text = Page(rules._repr_html_()).text()
    for item in rules:
        words = str(item.rule)
        assert words in text or f" of {words.replace(' from ', ' (from ')})" in text
    one, _ = shown["one row"]
    for line in str(one).splitlines()[1:]:
        assert line.split(None, 1)[1] in Page(one._repr_html_()).text()
    results, _ = shown["search"]
    assert "3 candidates, 3 scored" in Page(results._repr_html_()).text("caption")


def test_many_rules_are_cut():
    items = [fk.WeightedRule(fk.rule(f"x = {k}"), 1.0 + k, "a", "b") for k in range(100)]
    ensemble = fk.RuleEnsemble.of(items, ("a", "b"))
    page = Page(ensemble._repr_html_())
    assert len(page.all("tr")) == 61
    assert "and 40 more rules" in page.text("p")
