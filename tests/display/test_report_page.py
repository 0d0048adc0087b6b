"""The page of a report, made of values alone: all given values are text, in every place."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from markup_reader import Page

from formulakern.display.report import (
    Learned,
    ListedColumn,
    ListedTable,
    page,
    rule_parts,
    ticks,
)

PIECES = [
    "<",
    ">",
    "&",
    '"',
    "'",
    "`",
    "</script>",
    "<!--",
    "]]>",
    "&lt;",
    " = ",
    "\u2028",
    "a",
    "~",
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=8).map("".join)


def report_of(text: str, numbers: bool = False) -> str:
    points, unit = np.array([[0.0, 0.0], [0.4, 0.7], [1.0, 1.0]]), (0.0, 1.0)
    quality = {
        "missing": [text], "confusion": None, "target": text, "rules": (text, points, text),
        "heights": unit, "majority": None, "points": points, "ends": unit, "r2": 0.5,
        "counts": np.array([9, 1]), "edges": (-1.0, 1.0), "absolute": unit, "square": unit,
    }  # fmt: skip
    if not numbers:
        quality = {
            "missing": [text], "confusion": ([text, "b"], [[1, 0], [0, 0]]),
            "rules": (text, points, text), "heights": unit, "majority": 0.5, "largest": text,
            "accuracy": (0.5, 0.1, 0.9), "recall": 0.5, "n_present": 2,
            "roc": [(text, points)] * 2, "area": 0.5, "second": text, "loss": unit,
            "calibration": (text, 0.5, points, points),
        }  # fmt: skip
    table = ListedTable(
        text,
        [
            ListedColumn(text, [text, text], "rule", help=text),
            ListedColumn("w", [1.0, float("nan")], "signed"),
            ListedColumn("s", [0.5, 0.25], "share", marks=[0.1, 0.9]),
            ListedColumn("t", [text, text]),
        ],
        7,
        True,
        text,
    )
    row = {"n": 1, "p": text, "t": text, "ok": True, "s": text, "e": [text]}
    row["steps"] = [(0, "false", text), (0, "decides", "")]
    row["sums"] = [{"c": text, "b": 0.5, "x": [(0, 1.0)], "v": 2.5, "o": (3, 1.0)}]
    data = {"columns": [text], "terms": [text], "what": text, "rows": [row]}
    column = {
        "name": text, "kind": text, "n_propositions": 1, "n_rules": 2, "cuts": [(1.0, text)],
        "known": [text], "n_known": 2, "missing": 0.5, "unseen": 0.1, "counts": [3, 1],
        "values": [text, text],
    }  # fmt: skip
    binned = column | {"unseen": np.nan, "counts": [1], "values": [], "ends": (0.0, 2.0)}
    columns = [column, binned | {"n_propositions": None, "n_rules": None}]
    return page(
        title=text,
        novelty=False,
        classes=[text, text],
        target=text,
        size=(1, 2),
        learned=Learned([text], [table], [(text, text)]),
        training={
            "date": text, "data": text, "rows": 2, "columns": 1, "tables": [table], "same": numbers
        },
        gap=0.5,
        certificate=None,
        quality=quality,
        reasons={"how": text, "total": 9, "data": data},
        data={
            "missing": 0.5, "new": [text], "planned": True, "columns": columns, "total": 3,
            "knows_unseen": True, "target": table,
        },
        parameters=text,
    )  # fmt: skip


def plain(text: str) -> str:
    """Return the text without blanks, because a page has others."""
    return "".join(text.split())


EXPECTED = {tag for tag, _ in Page(report_of("x")).elements} | {"b", "i"}


@settings(max_examples=30)
@given(texts, st.booleans())
def test_what_is_given_is_text(text, numbers):
    found = Page(report_of(text, numbers))
    assert len(found.all("script")) == 2
    data = found.json()
    assert data["columns"] == data["terms"] == data["rows"][0]["e"] == [text]
    assert data["rows"][0]["p"] == data["what"] == text
    for inside in ("h1", "title", "caption", "summary", "figcaption"):
        assert plain(text) in plain(found.text(inside))
    assert {tag for tag, _ in found.elements} <= EXPECTED
    assert all(not a for tag, a in found.elements if tag in ("b", "i"))


@given(texts)
def test_rules_are_set_as_they_are_written(text):
    assert "".join(part for _, part in rule_parts(text)) == text


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e9))
def test_ticks_are_few_round_and_inside(low, span):
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 12 or low + span == low
    if len(found) > 1:
        room = 1e-6 * span + 1e-9 * abs(low)
        assert low - room <= found[0] < found[-1] <= low + span + room
        steps = np.diff(found)
        assert np.allclose(steps, steps[0], rtol=1e-6, atol=1e-9 * max(map(abs, found)))
