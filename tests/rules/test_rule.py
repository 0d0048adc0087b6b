"""Concrete rules: their values on a table, their refusals; they print and parse back."""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import Rule, Variable, datasets, rule
from formulakern.syntax.leaves import ColumnName, Comparison

MUSHROOMS = {
    "odor": ["foul", "foul", "none", None, "foul"],
    "gill_size": [3, 2, 5, 4, None],
    "cap": ["red", "green", "blue", "brown", "grey"],
    "stalk root": ["?", "b", "?", "c", None],
    "ring": [True, False, True, True, False],
    "limit": [3.0, 4.0, 4.5, 4.0, 1.0],
}
NEVER = [False] * 5
GILLS = {  # text → rows of MUSHROOMS
    "gill_size = 3": [0],
    "gill_size = 3.0": [0],
    'gill_size = "3"': [0],
    "gill_size != 3": [1, 2, 3],
    "gill_size < 4": [0, 1],
    "gill_size <= 4": [0, 1, 3],
    "gill_size > 3": [2, 3],
    "gill_size >= 3": [0, 2, 3],
    "gill_size in {2, 5, red}": [1, 2],
    "gill_size not in {2, 5}": [0, 3],
    "gill_size is missing": [4],
    "gill_size is not missing": [0, 1, 2, 3],
    "gill_size = red": [],
    "gill_size = `limit`": [0, 3],
    "gill_size != `limit`": [1, 2],
    "gill_size < `limit`": [1],
    "gill_size <= `limit`": [0, 1, 3],
    "gill_size > `limit`": [2],
    "gill_size in {`limit`, 2}": [0, 1, 3],
    "odor = foul": [0, 1, 4],
    'odor = "foul"': [0, 1, 4],
    "odor != foul": [2],
    "odor in {none, almond}": [2],
    "odor not in {none}": [0, 1, 4],
    "odor is missing": [3],
    '`stalk root` = "?"': [0, 2],
    '`stalk root` != "?"': [1, 3],
    "ring": [0, 2, 3],
    "~ring": [1, 4],
    "ring = 1": [0, 2, 3],
    "ring = true": [0, 2, 3],
    "ring = false": [1, 4],
    "true": [0, 1, 2, 3, 4],
    "false": [],
    "odor = foul & gill_size >= 3": [0],
    "odor = foul -> ring": [0, 2, 3],
    "odor = foul ^ ring": [1, 2, 3, 4],
    "ring <-> gill_size > 2": [0, 1, 2, 3, 4],
    "not (odor = foul or ring)": [],
    # a missing value makes a comparison false, and the negation of that true
    "~(gill_size < 4)": [2, 3, 4],
    "odor = foul & gill_size >= 3 & ~(cap in {red, blue}) | `stalk root` != \"?\"": [1, 3],
}  # fmt: skip


@pytest.mark.parametrize("text", GILLS)
def test_rows_that_satisfy_a_rule(text):
    expected = [row in GILLS[text] for row in range(5)]
    truths = fk.rule(text)(MUSHROOMS)
    assert truths.dtype == np.bool_
    assert truths.tolist() == expected


@pytest.mark.parametrize("text", GILLS)
def test_rules_print_and_parse_back(text):
    made = fk.rule(text)
    assert fk.rule(str(made)) == made
    assert eval(repr(made), {"fk": fk}) == made
    assert hash(fk.rule(str(made))) == hash(made)
    assert pickle.loads(pickle.dumps(made)) == made
    assert fk.rule(str(made))(MUSHROOMS).tolist() == made(MUSHROOMS).tolist()


def test_every_kind_of_table():
    text = 'odor = foul & gill_size >= 3 | `stalk root` = "c"'
    expected = [True, False, False, True, False]
    frames = [
        MUSHROOMS, fk.Table(MUSHROOMS), pd.DataFrame(MUSHROOMS), pl.DataFrame(MUSHROOMS),
    ]  # fmt: skip
    for frame in frames:
        assert fk.rule(text)(frame).tolist() == expected
    array = np.array([[1, 5], [0, 7]])
    assert fk.rule("x0 & x1 < 6")(array).tolist() == [True, False]
    assert fk.rule("odor = foul")(fk.Table(MUSHROOMS)[:0]).shape == (0,)


def test_monks_are_their_rules():
    for number, text in (
        (1, "a1 = `a2` | a5 = 1"),
        (3, "a5 = 3 & a4 = 1 | a5 != 4 & a2 != 3"),
    ):
        X, y = datasets.monks(number)
        np.testing.assert_array_equal(fk.rule(text)(X), y == 1)


def test_columns_in_order_of_appearance():
    made = fk.rule("b = 1 & (a < `c` | ~d) & b in {`e`, x} & a is missing")
    assert made.columns == ("b", "a", "c", "d", "e")
    assert fk.rule("true").columns == ()


def test_algebra():
    foul, ring = fk.rule("odor = foul"), fk.rule("ring")
    p, q = foul(MUSHROOMS), ring(MUSHROOMS)
    for made, expected, text in (
        (foul & ring, p & q, "odor = foul & ring"),
        (foul | ring, p | q, "odor = foul | ring"),
        (foul ^ ring, p ^ q, "odor = foul ^ ring"),
        (foul >> ring, ~p | q, "odor = foul -> ring"),
        (~foul, ~p, "~(odor = foul)"),
        (~(foul | ring) & ring, NEVER, "~(odor = foul | ring) & ring"),
    ):
        np.testing.assert_array_equal(made(MUSHROOMS), expected)
        assert made == fk.rule(text)
    assert foul != ring
    assert foul != "odor = foul"
    assert len({foul, fk.rule("odor = foul"), ring}) == 2
    with pytest.raises(TypeError, match="truth value"):
        bool(foul)
    with pytest.raises(TypeError):
        foul & "ring"
    with pytest.raises(AttributeError):
        foul.formula = ring.formula


def test_rules_from_formulas():
    made = rule(Comparison("cap", "in", ("red", "blue")) & ~Variable("ring"))
    assert made == fk.rule("cap in {red, blue} & ~ring")
    assert isinstance(made, Rule)


def test_notations():
    made = fk.rule('gill_size >= 3 & cap not in {red, blue} & ~ring | `stalk root` != "?"')
    assert made.unicode() == 'gill_size ≥ 3 ∧ cap ∉ {red, blue} ∧ ¬ring ∨ `stalk root` ≠ "?"'
    assert r"\geq 3" in made.latex()
    assert made._repr_latex_() == f"${made.latex()}$"


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("odour = foul", fk.DataError, 'no column "odour" in the table; did you mean "odor"?'),
        ("Ring", fk.DataError, 'did you mean "ring"?'),
        ("zzz = 1", fk.DataError, 'there are "odor", "gill_size"'),
        ("gill_size = `limmit`", fk.DataError, 'no column "limmit" in the table; did you mean'),
        ("cap < 3", fk.DataError, "column \"cap\" holds 'red' (row 0), which is not a number"),
        ("gill_size < `cap`", fk.DataError, "column \"cap\" holds 'red' (row 0)"),
        ("cap", fk.DataError, "column \"cap\" holds 'red' (row 0); a column without a comparison"),
        ("gill_size", fk.DataError, 'column "gill_size" holds 3.0 (row 0)'),
        ("ring:gene", fk.FormulaKernError, ""),
    ],
)
def test_what_a_table_cannot_answer(text, error, sentence):
    with pytest.raises(error) as info:
        fk.rule(text)(MUSHROOMS)
    assert sentence in str(info.value)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("odor = ", 7),
        ("odor foul", 5),
        ("odor = foul & & ring", 14),
        ("gill_size < 2020-02-30", 12),
        ("cap in {}", 8),
        ("cap in {red,", 12),
        ("(odor = foul", 0),
        ("odor = foul)", 11),
        ("= foul", 0),
        ('odor = "foul', 7),
        ("", 0),
    ],
)
def test_mistakes_are_pointed_at(text, position):
    with pytest.raises(fk.FormulaSyntaxError) as info:
        fk.rule(text)
    assert info.value.position == position
    assert "^" in str(info.value)
    assert info.value.advice.endswith((".", "?", ")"))


@pytest.mark.parametrize("what", [None, 3, ["odor = foul"], b"odor = foul"])
def test_rules_are_made_of_text_or_formulas(what):
    with pytest.raises(fk.ParameterError, match="a rule is made of a str or a Formula; got"):
        fk.rule(what)


# -- generated ---------------------------------------------------------------------------------

name = st.text(min_size=1, max_size=6).filter(lambda text: "\0" not in text)
number = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
value = st.one_of(number, st.text(max_size=6), name.map(ColumnName))
comparison = st.one_of(
    st.builds(Comparison, name, st.sampled_from(["=", "!="]), value),
    st.builds(Comparison, name, st.sampled_from(["<", "<=", ">", ">="]), number),
    st.builds(
        Comparison, name, st.sampled_from(["in", "not in"]),
        st.lists(value, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Comparison, name, st.sampled_from(["is missing", "is not missing"])),
    st.builds(Variable, name),
)  # fmt: skip
rules = st.recursive(
    comparison.map(Rule),
    lambda inner: st.one_of(
        inner.map(lambda r: ~r),
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] ^ pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] >> pair[1]),
    ),
    max_leaves=6,
)


@given(rules)
def test_generated_rules_print_and_parse_back(made):
    again = fk.rule(str(made))
    assert again == made
    assert str(again) == str(made)


COLUMNS = {"p": [0, 1, 2, None, 3], "q": [2.5, None, 2, -1, 3], "r": ["a", "b", None, "a", "2"]}


def truth(leaf, row):
    """Return a comparison in one row, from its definition (None if not defined for text)."""
    left, right = COLUMNS[leaf.column][row], leaf.value
    if leaf.relation.endswith("missing"):
        return (left is None) == (leaf.relation == "is missing")
    items = right if isinstance(right, tuple) else (right,)
    items = [COLUMNS[v.name][row] if isinstance(v, ColumnName) else v for v in items]
    if left is None or None in items:
        # a missing entry on the right cannot make "in" true, and spoils "not in"
        return leaf.relation == "in" and left is not None and any(same(left, v) for v in items)
    if leaf.relation in ("=", "in"):
        return any(same(left, v) for v in items)
    if leaf.relation in ("!=", "not in"):
        return not any(same(left, v) for v in items)
    (v,) = items
    return {"<": left < v, "<=": left <= v, ">": left > v, ">=": left >= v}[leaf.relation]


def same(left, right):
    """Numbers as numbers, else by spelling."""
    if right is None:
        return False
    return str(left) == str(right) or left == right


small = st.one_of(
    st.sampled_from([-1, 0, 1, 2, 2.5, 3]), st.sampled_from(["p", "q"]).map(ColumnName)
)
order = st.builds(
    Comparison,
    st.sampled_from(["p", "q"]),
    st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
    small,
)
words = st.lists(st.sampled_from(["a", "b", "2", "c"]), min_size=1, max_size=3).map(tuple)
member = st.one_of(
    st.builds(Comparison, st.just("r"), st.sampled_from(["in", "not in"]), words),
    st.builds(
        Comparison, st.sampled_from(["p", "q"]), st.sampled_from(["in", "not in"]),
        st.lists(small, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(
        Comparison, st.sampled_from("pqr"), st.sampled_from(["is missing", "is not missing"])
    ),
)  # fmt: skip


@given(st.one_of(order, member))
def test_generated_comparisons_mean_what_they_say(leaf):
    expected = [truth(leaf, row) for row in range(5)]
    assert Rule(leaf)(COLUMNS).tolist() == expected


def test_numbers_of_any_size():
    column = {"x": [0.1, 1e300, -1e300, math.pi]}
    assert fk.rule("x < " + "9" * 305)(column).all()
    assert fk.rule("x > -" + "9" * 305)(column).all()
    assert fk.rule("x = 0.1")(column).tolist() == [True, False, False, False]
