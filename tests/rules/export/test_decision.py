"""Lists and sets as SQL, expressions of data frames, JSON and text, against their predictions."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern import ClassRule, Rule, RuleList, RuleSet
from tests.database import answers
from tests.rules.test_properties import GRID
from tests.rules.test_rule_list import listed, rule_lists
from tests.rules.test_rule_set import rule_sets
from tests.strategies import ENTRIES, names, rules

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

FEW = GRID[np.random.default_rng(0).choice(len(GRID), 40, replace=False)]
FEW_COLUMNS = {
    name: [None if entry != entry else entry for entry in FEW.column(name).tolist()] for name in FEW
}


def by_pandas(decision, columns, **kinds):
    frame = pandas.DataFrame(
        {name: pandas.Series(entries, dtype=kinds.get(name)) for name, entries in columns.items()}
    )
    found = decision.to_pandas()(frame).astype(object)
    return found.where(found.notna(), None).tolist()


def by_polars(decision, columns):
    return (
        polars.DataFrame(columns, strict=False)
        .with_columns(decision.to_polars(columns))["predicted_class"]
        .to_list()
    )


@settings(max_examples=14)
@given(rule_lists | rule_sets)
def test_expressions_and_queries_agree_with_predict(decision):
    expected = decision.predict(FEW).tolist()
    assert answers(decision, FEW) == expected
    assert by_pandas(decision, FEW_COLUMNS) == expected
    nullable = {"p": "Float64", "the q": "Float64", "r's": "string", "t": "Int64"}
    assert by_pandas(decision, FEW_COLUMNS, **nullable) == expected
    assert by_pandas(decision, FEW_COLUMNS, **{"r's": "category", "t": "boolean"}) == expected
    assert by_polars(decision, FEW_COLUMNS) == expected
    nan = {
        n: [np.nan if v is None and n in ("p", "the q") else v for v in FEW_COLUMNS[n]]
        for n in ENTRIES
    }
    assert by_polars(decision, nan) == expected


@pytest.mark.parametrize(
    "text",
    [
        "p < `q`", "p >= `q`", "p = `q`", "p != `q`", "~(p != `q`)", "w = `v`", "w in {a, `v`}",
        "w not in {b, `v`}", "p in {1, 2.5}", "p not in {1, `q`}", "true", "false", "~flag",
        "flag <-> p > 1", "(w = a) ~| (p > 1)", "flag ^ p > 1 ^ w = a", "w is not missing -> p = 1",
        "big >= 9007199254740993", "flag = 1", "flag >= 0.5",
    ],
)  # fmt: skip
def test_every_kind_of_condition(text):
    columns = {
        "p": [1.0, 2.5, None, None, 3.0, 1.0], "q": [1.0, 2.0, 2.0, None, None, 2.0],
        "w": ["a", "b", None, "a", "c", "c"], "v": ["a", "a", "a", None, "d", "c"],
        "flag": [True, False, True, True, False, True],
        "big": [2**53, 2**53 + 1, 2**53 + 2, 0, 1, 2],
    }  # fmt: skip
    for made in (RuleList, RuleSet):
        decision = made([ClassRule(fk.rule(text), 2)], (1, 2), 1)
        expected = decision.predict(columns).tolist()
        assert by_pandas(decision, columns) == expected
        assert by_polars(decision, columns) == expected
        assert answers(decision, columns) == expected


def test_words_that_are_numbers_fit_columns_of_both_kinds():
    decision = listed(("b = true", "x"), ("c = true", "y"), ('d = "3"', "z"), default="x")
    columns = {
        "b": [True, False, False, False],
        "c": ["true", "1", "true", "x"],
        "d": [3.0, 3.0, 1.0, 2.0],
    }
    assert (
        by_pandas(decision, columns) == decision.predict(columns).tolist() == ["x", "z", "y", "x"]
    )


@given(names(), names(), names(), names())
def test_names_and_texts_never_become_code(column, word, one, other):
    """Whatever a column, an entry or a class is called."""
    if one == other or any("\ud800" <= c <= "\udfff" for c in column + word + one + other):
        return  # polars holds no surrogates
    if one.endswith("\0") or other.endswith("\0"):
        return  # NumPy's texts end where only NUL follows
    columns = {column: [word, None, "something else"]}
    formula = fk.rule("x = y").formula
    item = ClassRule(Rule(type(formula)(column, "=", word)), one)
    decision = RuleList([item], (one, other), other)
    expected = [one, other, one if word == "something else" else other]
    assert decision.predict(columns).tolist() == expected
    assert by_pandas(decision, columns, **{column: object}) == expected
    assert by_polars(decision, columns) == expected


def test_classes_that_no_column_holds():
    mixed = RuleList([ClassRule(fk.rule("p = 1"), 1)], (1, "1"), "1")
    assert by_pandas(mixed, {"p": [1, 2]}) == [1, "1"]
    with pytest.raises(fk.DataError, match="several types"):
        mixed.to_polars()
    for classes in ((1.0, float("inf")), ((1,), (2,))):
        odd = RuleList([ClassRule(fk.rule("p = 1"), classes[0])], classes, classes[1])
        for write in (odd.to_polars, odd.to_json):
            with pytest.raises(fk.DataError, match="JSON"):
                write()


def test_no_rules():
    for decision in (
        RuleList((), (1, 2), 2),
        RuleSet((), (1, 2), 2),
        RuleList((), (1, 2)),
        RuleSet((), (1, 2)),
    ):
        columns = {"p": [1, 2, 3]}
        expected = [decision.default] * 3
        assert decision.predict(columns).tolist() == expected
        assert by_pandas(decision, columns) == expected
        assert by_polars(decision, columns) == expected
        assert answers(decision, columns) == expected
        assert len(str(decision).splitlines()) == 2


scalars = names() | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)


counts = st.floats(0, 1e300)
classes = st.lists(scalars, min_size=3, max_size=3, unique=True).map(tuple)
labelled = st.tuples(rules().map(Rule), st.integers(0, 2), st.tuples(counts, counts, counts))


def decision(kind, classes, labelled, default, known, **settings):
    items = [ClassRule(r, classes[label], c if known else ()) for r, label, c in labelled]
    return kind(items, classes, (None, *classes)[default], (1, 2, 3) if known else (), **settings)


drawn = (classes, st.lists(labelled, max_size=4), st.integers(0, 3), st.booleans())
decisions = st.builds(decision, st.just(RuleList), *drawn) | st.builds(
    decision, st.just(RuleSet), *drawn, vote=st.sampled_from(["counts", "rules"])
)


@given(decisions)
def test_round_trip(decision):
    again = type(decision).from_json(decision.to_json())
    assert again == decision
    assert hash(again) == hash(decision)
    assert list(map(type, again.classes)) == list(map(type, decision.classes))
    other = RuleSet if isinstance(decision, RuleList) else RuleList
    with pytest.raises(fk.DataError, match=f"as {other.__name__}.to_json"):
        other.from_json(decision.to_json())


def changed(**change):
    decision = RuleSet([ClassRule(fk.rule("p = 1"), "a", (1, 2))], ("a", "b"))
    whole = json.loads(decision.to_json())
    for name in {"rule", "label", "counts"} & change.keys():
        whole["rules"][0][name] = change.pop(name)
    return json.dumps(whole | change)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "nonsense", None, 3, "[" * 100_000,
        changed(rules=[3]), changed(rules=["p ="]), changed(rules=["p = 1"]), changed(label="c"),
        changed(rule="p ="), changed(rule=3), changed(label=[]), changed(label={}),
        changed(rules=[{}]), changed(rules=3), changed(rules=[["p"]]), changed(classes=3),
        changed(counts=3), changed(counts=[1]), changed(counts=["a", "b"]),
        changed(counts=None), changed(other=1), changed(classes=["a"]),
        changed(classes=[["a"], ["b"]]),
        changed(default="c"), changed(default_counts=[1]), changed(vote="most"), changed(vote=3),
        changed(format="formulakern/rule-set/3"), changed(format="formulakern/rule-list/2"),
    ],
)  # fmt: skip
def test_what_is_no_set_is_refused(text):
    with pytest.raises(fk.DataError, match=r"(?s)not a rule set.*'formulakern/rule-set/2'"):
        RuleSet.from_json(text)


def test_text_frames_and_latex():
    items = [
        ClassRule(fk.rule("color = red"), "a", (1500, 500)),
        ClassRule(fk.rule("size < 2"), "b_1", (0, 0)),
    ]
    decision = RuleList(items, ("a", "b_1"), "b_1", (0, 0.5))
    assert str(decision).splitlines() == [
        "   class   covered  accuracy  rule",
        "1  a      2,000.00     75.0%  color = red",
        "2  b_1        0.00            size < 2",
        "   b_1        0.50    100.0%  otherwise",
    ]
    assert decision._repr_html_().startswith("<table ")
    assert "size &lt; 2" in decision._repr_html_()
    frame = decision.to_frame()
    assert frame["class"].tolist() == ["a", "b_1", "b_1"]
    assert frame["covered"].tolist() == [2000, 0, 0.5]
    np.testing.assert_array_equal(frame["accuracy"], [0.75, np.nan, 1])
    assert frame["rule"].isna().tolist() == [False, False, True]
    lines = decision.to_latex(1).splitlines()
    assert lines[0] == r"\begin{tabular}{rlrrl}"
    assert lines[3] == r"1 & $a$ & 2,000.00 & 75.0\% & $\text{color} = \text{red}$ \\"
    assert lines[4].endswith(r"& 0.50 & 100.0\% & otherwise \\")
    unknown = RuleSet(items, ("a", "b_1"))
    assert unknown.to_latex().splitlines()[-2] == r" & unknown &  &  & otherwise \\"
    assert str(unknown).splitlines()[-1].split() == ["unknown", "otherwise"]
    assert unknown.to_frame()["class"].tolist()[:2] == ["a", "b_1"]
    many = listed(*((f"p = {k}", "x") for k in range(70)))
    assert str(many).splitlines()[-2:] == ["… and 10 more rules", "    unknown  otherwise"]
    long = listed((" & ".join(f"`column number {k}` = value" for k in range(8)), "x"))
    assert max(map(len, str(long).splitlines())) <= 100


def test_classes_that_sql_takes_for_one():
    for classes in (("a", "A"), ("1", 1), (None, "None"), (True, False), ("it's", 'a "b"')):
        for made in (RuleList, RuleSet):
            decision = made([ClassRule(fk.rule("p = 1"), classes[1])], classes, classes[0])
            assert answers(decision, {"p": [1, 2]}) == [classes[1], classes[0]]
