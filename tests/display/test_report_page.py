"""The page of a report, made of values alone: what is given is text, wherever it stands."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from markup_reader import Page

from formulakern.display.report import (
    Classified,
    ColumnSummary,
    Curve,
    DataSummary,
    Learned,
    ListedColumn,
    ListedTable,
    Reason,
    Reasons,
    Report,
    ScoreSum,
    Step,
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


def report_of(text: str) -> Report:
    line = Curve(text, np.array([0.0, 0.4, 1.0]), np.array([0.0, 0.7, 1.0]), text, about=text)
    table = ListedTable(
        text,
        [
            ListedColumn(text, [text, text], "rule", help=text),
            ListedColumn("w", [1.0, float("nan")], "signed"),
            ListedColumn("s", [0.5, 0.25], "share", marks=[0.1, 0.9]),
            ListedColumn("t", [text, text], texts=[text, text]),
        ],
        7,
        True,
        text,
    )
    steps = [Step(0, "false", text), Step(0, "decides")]
    sums = [ScoreSum(text, 0.5, [(0, 1.0)], 2.5, (3, 1.0))]
    reason = Reason(1, text, text, True, text, [text], sums, steps)
    column = ColumnSummary(text, text, 1, 2, [(1.0, text)], 0.5, 0.1, [3, 1], values=[text, text])
    numbers = ColumnSummary(text, "numeric", None, None, [(1.0, text)], counts=[1], ends=(0.0, 2.0))
    return Report(
        text,
        text,
        [(text, text, text)],
        Learned([text], [table], [(text, text)]),
        Classified([text, "b"], [[1, 0], [0, 0]], [line, line], line, line, 0.5, [text]),
        Reasons([text], [text], [reason], 9, text, text),
        DataSummary([text], [column, numbers], 3, table),
        text,
        text,
    )


def plain(text: str) -> str:
    """Without blanks, of which a page has others."""
    return "".join(text.split())


EXPECTED = {tag for tag, _ in Page(page(report_of("x"))).elements} | {"b", "i"}


@settings(max_examples=40)
@given(texts)
def test_what_is_given_is_text(text):
    found = Page(page(report_of(text)))
    assert len(found.all("script")) == 2
    data = found.json()
    assert data["columns"] == data["terms"] == data["rows"][0]["e"] == [text]
    assert data["rows"][0]["p"] == data["what"] == text
    for inside in ("h1", "title", "caption", "summary"):
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
