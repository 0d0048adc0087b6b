"""Mutually exclusive and exhaustive rules, against all rows of a grid that holds every case."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern import Rule, Table
from formulakern.rules.decision import covers_of
from tests.strategies import ENTRIES, class_rules

ROWS = [*itertools.product(*ENTRIES.values())]
#: Every combination of entries that rules of the strategy can tell apart.
GRID = Table(dict(zip(ENTRIES, zip(*ROWS, strict=True), strict=True)))
WHOLE = GRID[~np.any([GRID.missing(name) for name in GRID], axis=0)]


def row_of(answer):
    """The witness as a table; columns that no rule reads hold anything."""
    return Table({name: [None] for name in ENTRIES} | {n: [v] for n, v in answer.witness.items()})


def check(question, rules, wrong, **options):
    answer = question(rules, **options)
    assert bool(answer) is not wrong
    if wrong:
        fired = covers_of([rule.formula for rule in rules], row_of(answer))[0]
        assert answer.rules == tuple(np.flatnonzero(fired))
        assert len(answer.rules) >= 2 if question is fk.mutually_exclusive else not answer.rules
        assert str(answer).startswith("not ")


@given(st.lists(class_rules(), min_size=1, max_size=5), st.booleans())
def test_logic_agrees_with_enumeration(items, missing):
    rules = [item.rule for item in items]
    covers = covers_of([rule.formula for rule in rules], GRID if missing else WHOLE)
    wrong = bool((covers.sum(axis=1) > 1).any())
    check(fk.mutually_exclusive, rules, wrong, missing=missing)
    check(fk.exhaustive, rules, not covers.any(axis=1).all(), missing=missing)


@given(st.lists(class_rules(), min_size=1, max_size=4), st.integers(0, 2**31))
def test_domains_and_tables(items, seed):
    rules = [item.rule for item in items]
    formulas = [rule.formula for rule in rules]
    rng = np.random.default_rng(seed)
    table = GRID[rng.choice(len(GRID), 4)]
    allowed = {name: list(dict.fromkeys(entries(table, name))) for name in table}
    product = [*itertools.product(*allowed.values())]
    combined = Table(dict(zip(allowed, zip(*product, strict=True), strict=True)))
    covers = covers_of(formulas, combined)
    for domains in (allowed, table, {name: np.array(v, object) for name, v in allowed.items()}):
        wrong = bool((covers.sum(axis=1) > 1).any())
        check(fk.mutually_exclusive, rules, wrong, domains=domains)
        check(fk.exhaustive, rules, not covers.any(axis=1).all(), domains=domains)
    covers = covers_of(formulas, table)
    answer = fk.mutually_exclusive(rules, table)
    assert bool(answer) == (not (covers.sum(axis=1) > 1).any())
    if not answer:
        assert answer.rules == tuple(np.flatnonzero(covers[answer.row]))
        assert all(answer.witness[n] == entries(table, n)[answer.row] for n in answer.witness)
    answer = fk.exhaustive(rules, table)
    assert answer.row == (None if answer else int(np.argmin(covers.any(axis=1))))


def entries(table, name):
    values = zip(table.column(name).tolist(), table.missing(name).tolist(), strict=True)
    return [None if missing else value for value, missing in values]


@pytest.mark.parametrize(
    ("rules", "exclusive"),
    [
        (["x = 3", "x = 4"], True),
        (["x < 3", "x > 3", "x = 3", "x is missing"], True),
        (["x > 1 & x < 2", "x >= 2"], True),
        (["x > 1 & x < 2", "x > 1.9999999999999998"], True),  # there is no number between
        (["x > 1 & x < 2", "x > 1.9999999999999996"], False),
        (["x = a", "x = b"], True),
        (["x = a", "x != b"], False),
        (["x != a", "x is missing"], True),
        (["~(x = a)", "x is missing"], False),
        (['x = "3"', 'x = "3.0"'], False),  # both are the number 3
        (["x = 3", 'x = "3"'], False),
        (['x = "a"', "x = 3"], True),
        (["x", "x = 1"], False),
        (["x", "x = 2"], True),
        (["x", 'x = "TRUE"'], False),
        (["x & x != 1 & x is not missing", "x = yes"], True),
        (["x = 9007199254740993", "x = 9007199254740992"], False),  # in floating point
        (["x > 9007199254740992 & x < 9007199254740994", "x = 9007199254740993"], False),
        (["x < -1.7e308", "x > 1.7e308"], True),
        (["x in {a, b}", "x not in {a, b, c}"], True),
        (["true", "false"], True),
        (["true", "true"], False),
        ([], True),
        (["x = 1 & a = `b`", "x = 2 & a = `b`"], True),
        (["x = 1 & a = `b`", "x = 1 & c = 1"], None),
        (["x = 1 | a = `b`", "x = 1 & c = 1"], False),
    ],
)  # fmt: skip
def test_cases_of_columns(rules, exclusive):
    if exclusive is None:
        with pytest.raises(fk.FormulaError, match=r"a = `b`.*on a table"):
            fk.mutually_exclusive(rules)
        return
    answer = fk.mutually_exclusive(rules)
    assert bool(answer) is exclusive
    if not exclusive and "`" not in "".join(rules):
        table = {name: [value] for name, value in answer.witness.items()} or {"x": [1]}
        assert all(fk.rule(rules[k])(table)[0] for k in answer.rules)


@pytest.mark.parametrize(
    ("rules", "missing", "holds"),
    [
        (["x <= 3", "x > 3"], True, False), (["x <= 3", "x > 3"], False, True),
        (["x <= 3", "~(x <= 3)"], True, True), (["x != a", "x = a"], True, False),
        (["x != a", "x in {a, b}", "x is missing"], True, True),
        (["x = a", "x = b"], False, False), ([], True, False), (["true"], True, True),
        (["x < 2 ^ y > 1", "x < 2 <-> y > 1"], True, True),
        (["a = `b`", "~(a = `b`)"], True, True),
    ],
)  # fmt: skip
def test_exhaustive_cases(rules, missing, holds):
    assert bool(fk.exhaustive(rules, missing=missing)) is holds


def test_two_columns_are_refused_or_asked_of_a_table():
    with pytest.raises(fk.FormulaError, match="exhaustive depends on 'a = `b`'"):
        fk.exhaustive(["a = `b`", "a != `b`"], missing=False)
    assert fk.exhaustive(["a = `b`", "a != `b`"], {"a": [1, 2], "b": [1, 3]})


def test_answers_print():
    assert str(fk.exhaustive([])) == "not exhaustive: no rule is true of every row"
    table = {"x": [1, 5], "y": ["a", None]}
    found = fk.exhaustive("x = 1", table)
    assert (found.row, found.witness) == (1, {"x": 5})
    assert str(found) == "not exhaustive: no rule is true of row 1: x = 5"
    listed = fk.RuleList(
        [fk.ClassRule(fk.rule("x = 1"), 0), fk.ClassRule(fk.rule("y = a"), 1)], (0, 1)
    )
    assert str(fk.mutually_exclusive(listed, table)) == (
        "not mutually exclusive: rules 1 and 2 are true of row 0: x = 1, y = a"
    )


def test_bad_questions():
    with pytest.raises(fk.ParameterError, match='no values are allowed of column "x"'):
        fk.exhaustive(["x = 1"], domains={"x": []})
    with pytest.raises(fk.DataError, match="no order"):
        fk.exhaustive(["x > 1"], domains={"x": ["a"]})
    with pytest.raises(fk.ParameterError, match="a rule is made of"):
        fk.exhaustive([3])
    wide = " & ".join(f"(a{k} = 1 | b{k} = 1)" for k in range(20))
    assert not fk.mutually_exclusive([wide, "c = 1"])
    deep = " & ".join(f"a{k} = 0" for k in range(20))
    with pytest.raises(fk.FormulaSizeError, match=r"nodes.*or compare on a table"):
        fk.mutually_exclusive([f"{deep} | {wide}", "c = 1"])
    assert fk.exhaustive(
        ["~c", wide, "c"], {"c": [1], **{f"{x}{k}": [1] for x in "ab" for k in range(20)}}
    )


def test_pigeons():
    """Six pigeons in five holes: two are in one.  Five pigeons need not be."""
    for pigeons, holds in ((6, True), (5, False)):
        pairs = itertools.combinations(range(pigeons), 2)
        rules = [f"p{i} = {h} & p{j} = {h}" for i, j in pairs for h in range(5)]
        domains = {f"p{i}": range(5) for i in range(pigeons)}
        assert bool(fk.exhaustive(rules, domains=domains)) is holds


def test_many_intervals():
    """Work grows with the pairs of rules, not with the combinations of cases."""
    rules = [Rule(fk.rule(f"x > {k} & x <= {k + 1} & y{k} = 1").formula) for k in range(300)]
    assert fk.mutually_exclusive(rules)
    steps = fk.exhaustive([f"x > {k} & x <= {k + 1}" for k in range(300)] + ["x <= 0", "x > 300"])
    assert steps.witness == {"x": None}
