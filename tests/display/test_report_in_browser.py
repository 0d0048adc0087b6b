"""The page of a report in headless Chromium: tables sort, rows are picked, keys reach all."""

import re

import numpy as np
import pandas as pd
import pytest
from browser import Browser

import formulakern as fk

TAB, ENTER, DOWN, END = "\ue004", "\ue007", "\ue015", "\ue010"
HOSTILE = '"><script>document.title = "gone"</script>'


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "size": rng.integers(0, 9, 80), "odor": rng.choice(["foul", "none", "<i>musk</i>"], 80),
        HOSTILE: rng.choice(["</script>", "b"], 80), "age": rng.normal(size=80),
    })  # fmt: skip
    y = np.where((X["size"] > 4) & (X["odor"] != "foul") | (X["age"] > 1.2), "<b>yes</b>", "no")
    wrong = np.where(rng.random(80) < 0.1, "no", y)
    hkl = fk.HKLClassifier(C=3000.0).fit(X, wrong)
    hkl.report(folder / "hkl.html", X, y, max_rows=50)
    hkl.to_points(X, wrong).report(folder / "card.html", X, y)
    listed = fk.RuleListClassifier(random_state=0).fit(X, y)
    listed.report(folder / "list.html", X, y)
    with Browser(folder) as browser:
        yield folder, browser, (hkl, listed, X, y)


COLUMN = """
const rows = [...document.getElementById(arguments[0]).tBodies[0].rows];
return rows.filter(r => !r.hidden).map(r => r.cells[arguments[1]].dataset.value);
"""
HEAD = "return document.querySelectorAll('#' + arguments[0] + ' th')[arguments[1]].%s"


def test_tables_sort_and_are_searched(pages):
    folder, browser, (hkl, *_) = pages
    browser.open(folder / "hkl.html")
    assert browser.complaints() == []
    assert browser.run("return document.title") == "HKLClassifier"
    weights = browser.run(COLUMN, "learned-0", 2)
    assert [abs(float(w)) for w in weights[:-1]] == [abs(x.weight) for x in hkl.rules_]
    for order, turned in (("descending", True), ("ascending", False)):
        browser.run(HEAD % "querySelector('button').click()", "learned-0", 2)
        assert browser.run(HEAD % "getAttribute('aria-sort')", "learned-0", 2) == order
        found = [float(w) for w in browser.run(COLUMN, "learned-0", 2)]
        assert found == sorted(map(float, weights), reverse=turned)
    browser.run(HEAD % "querySelector('button').click()", "learned-0", 1)
    rules = browser.run(COLUMN, "learned-0", 1)
    assert len(rules) == len(weights)
    assert rules[0] != rules[-1]
    browser.run("const f = document.getElementById('learned-0-find');"
                "f.value = 'ODOR'; f.dispatchEvent(new Event('input'))")  # fmt: skip
    left = browser.run(COLUMN, "learned-0", 1)
    assert left == [text for text in rules if "odor" in text]
    assert browser.run("return document.querySelector('.found').textContent") == (
        f"{len(left)} of {len(rules)}"
    )
    assert browser.complaints() == []


SHOWN = """
const cells = [...document.querySelectorAll('#reason .fall tbody tr')].map(r => r.cells);
return [document.getElementById('verdict').textContent,
        cells.map(c => Number(c[0].textContent.replace('\u2212', '-'))),
        cells.map(c => c[2].textContent), location.hash]
"""


def test_rows_are_picked_by_address_and_by_keys(pages):
    folder, browser, (hkl, _, X, y) = pages
    browser.open(folder / "list.html")
    browser.open(folder / "hkl.html", "#row=7")
    scores = hkl.decision_function(X)
    predicted = hkl.predict(X)

    def check(row):
        verdict, amounts, texts, _ = browser.run(SHOWN)
        right = predicted[row] == y[row]
        said = "✓ right" if right else f"✗ wrong, it is {y[row]}"
        assert verdict == f"Row {row + 1}: {predicted[row]} {said}"
        assert texts[-1] == "score"
        assert amounts[-1] == pytest.approx(scores[row], abs=5e-4)
        assert sum(amounts[:-1]) == pytest.approx(amounts[-1], abs=6e-4 * len(amounts))
        satisfied = [str(item.rule) for item in hkl.explain(X[row : row + 1]).rules]
        assert set(texts[1:-1]) == set(satisfied) or len(satisfied) + 2 == len(texts)

    check(6)
    browser.run("document.getElementById('row-pick').focus()")
    browser.keys(DOWN)
    check(7)
    assert browser.run("return location.hash") == "#row=8"
    browser.keys(TAB + ENTER)  # the button for the next row
    check(8)
    browser.run("const s = document.getElementById('row-show');"
                "s.value = 'wrong'; s.dispatchEvent(new Event('change'))")  # fmt: skip
    wrong = np.flatnonzero((predicted != y)[:50])
    assert browser.run("return document.getElementById('row-pick').options.length") == len(wrong)
    if len(wrong):
        check(int(wrong[0]))
    assert browser.complaints() == []


def test_a_card_is_first_and_adds_whole_points(pages):
    folder, browser, _ = pages
    browser.open(folder / "card.html", "#row=3")
    assert browser.complaints() == []
    tops = browser.run("return ['learned-0', 'learned-1', 'quality'].map(name =>"
                       "document.getElementById(name).getBoundingClientRect().top)")  # fmt: skip
    assert tops == sorted(tops)
    assert browser.run("return [...document.querySelectorAll('.card .scroll')]"
                       ".every(part => part.scrollWidth <= part.clientWidth)")  # fmt: skip
    texts = browser.run("return [...document.querySelectorAll('#reason .fall td.number')]"
                        ".map(cell => cell.textContent)")  # fmt: skip
    assert all(re.fullmatch("[+\N{MINUS SIGN}][0-9]+", text) for text in texts)
    *points, total = (int(text.replace("\N{MINUS SIGN}", "-")) for text in texts)
    assert sum(points) == total


def test_lists_say_what_was_asked(pages):
    folder, browser, (_, listed, X, _y) = pages
    browser.open(folder / "list.html", "#row=3")
    assert browser.complaints() == []
    rows = browser.run("return [...document.querySelectorAll('#reason .steps tr')]"
                       ".map(r => [r.className, r.textContent])")  # fmt: skip
    at = int(listed.rules_.first_match(X[2:3])[0])
    assert [name for name, _ in rows] == ["false"] * at + ["decides"]
    # what stands in a column of the user's is text there, too
    names = "return [...document.querySelectorAll('#reason dt')].map(e => e.textContent)"
    entries = browser.run(names)
    assert entries == list(X.columns)
    assert browser.run("return document.querySelectorAll('#reason i, #reason script').length") == 0


def test_all_that_acts_is_reached_by_tab_and_has_a_name(pages):
    folder, browser, _ = pages
    browser.open(folder / "hkl.html")
    seen = []
    for _ in range(60):
        browser.keys(TAB)
        where = browser.run(
            "const e = document.activeElement;"
            "return e === document.body ? null : [e.tagName, e.id, (e.textContent || '') +"
            "(e.getAttribute('aria-label') || '') + [...(e.labels || [])].map(l => l.textContent)]"
        )
        if where is None or where in seen:
            break
        seen.append(where)
    assert all(name.strip() for _, _, name in seen)
    ids = [one for _, one, _ in seen]
    order = ["learned-0-find", "row-show", "row-before", "row-pick", "row-after"]
    assert [one for one in ids if one in order] == order
    tags = [tag for tag, _, _ in seen]
    assert tags[:5] == ["A"] * 5  # skip, and the parts
    assert {"BUTTON", "INPUT", "SELECT", "SUMMARY", "DIV"} <= set(tags)
