"""Formulas are values: equality, hash, copies, pickles, immutability."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from strategies import formulas, rules

import formulakern as fk
from formulakern import ParameterError, Variable, parse, variables
from formulakern.errors import FormulaTypeError
from formulakern.syntax.connectives import CONNECTIVES, connective
from formulakern.syntax.formula import FALSE, TRUE, Constant, Operation, evaluate, postorder
from formulakern.syntax.leaves import ColumnName, Comparison

A, B, C = variables("a b c")


@given(formulas() | rules())
def test_copies_and_pickles_are_equal(formula):
    for again in (
        pickle.loads(pickle.dumps(formula)),
        copy.copy(formula),
        copy.deepcopy(formula),
    ):
        assert again == formula
        assert hash(again) == hash(formula)
        assert str(again) == str(formula)


@given(formulas(), formulas())
def test_equal_means_equal_text(one, other):
    assert (one == other) == (str(one) == str(other))


def test_chains_are_flat_whatever_the_grouping():
    assert (A & B) & C == A & (B & C) == Operation("and", (A, B, C))
    assert hash((A & B) & C) == hash(A & (B & C))
    assert Operation("and", (A, B, B, C)) == (A & B) & (B & C)
    assert len({(A ^ B) ^ C, A ^ (B ^ C)}) == 1


def test_look_alikes_stay_different():
    different = [
        *(A, B, Variable("a", "g"), A & B, B & A, A | B, ~A, ~~A, A & A, A >> B, B >> A),
        *(TRUE, FALSE, Variable("true"), (A >> B) >> C, A >> (B >> C)),
        *(
            Comparison("a", "=", 3),
            Comparison("a", "=", "3"),
            Comparison("a", "=", ColumnName("3")),
        ),
        *(Comparison("a", "in", (3,)), Comparison("a", "!=", 3), Variable("a = 3")),
    ]
    for one, other in itertools.combinations(different, 2):
        assert one != other
    assert len(set(different)) == len(different)


def test_numbers_in_comparisons_compare_as_numbers():
    """1, 1.0 and NumPy's are one value, equal and of equal hash; true is the word."""
    ones = [Comparison("a", "=", v) for v in (1, 1.0, np.int64(1), np.float32(1), np.uint8(1))]
    assert len(set(ones)) == 1
    sets = [Comparison("a", "in", (v, 2)) for v in (1, 1.0)]
    assert sets[0] == sets[1]
    assert hash(sets[0]) == hash(sets[1])
    assert hash(~sets[0]) == hash(~sets[1])
    assert ~sets[0] == ~sets[1]
    true = Comparison("a", "=", True)
    assert true == Comparison("a", "=", "true")
    assert true != ones[0]
    assert str(Comparison("a", "<=", np.float64(2.5))) == "a <= 2.5"
    assert str(Comparison("a", "=", np.str_("b"))) == "a = b"


@pytest.mark.parametrize(
    ("relation", "value"),
    [
        ("=", None),
        ("=", float("nan")),
        ("<", float("inf")),
        ("=", 10**400),
        ("<", None),
        ("in", ()),
        ("in", 3),
        ("is missing", 3),
        ("=", (1, 2)),
        ("~", 3),
        ("=", 1j),
    ],
)
def test_bad_comparisons_are_refused(relation, value):
    with pytest.raises(ParameterError):
        Comparison("a", relation, value)


def test_constants_from_bool():
    assert A & True == A & TRUE
    assert False | A == FALSE | A
    assert True ^ A == TRUE ^ A
    assert True >> A == TRUE >> A
    assert Constant(1) == TRUE


@pytest.mark.parametrize("other", [3, "b", None, [A]])
def test_other_operands_are_refused(other):
    with pytest.raises(TypeError):
        A & other
    with pytest.raises(TypeError):
        other | A


def test_no_truth_value():
    for use in (lambda: bool(A), lambda: A and B, lambda: not A, lambda: 1 if A | B else 0):
        with pytest.raises(FormulaTypeError, match="Combine formulas with &"):
            use()


@pytest.mark.parametrize("formula", [A, TRUE, A & B, Comparison("a", "=", 3)])
def test_immutable(formula):
    for name in ("name", "arguments", "connective", "anything", "_hash"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(formula, name, 1)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(formula, name)


@pytest.mark.parametrize(
    ("row", "arguments"), [("not", (A, B)), ("and", (A,)), ("iff", (A, B, C)), ("implies", ())]
)
def test_wrong_number_of_arguments(row, arguments):
    with pytest.raises(ParameterError, match="takes"):
        Operation(row, arguments)


def test_bad_names():
    for name in ("", None, 3):
        with pytest.raises(ParameterError, match="non-empty"):
            Variable(name)
    with pytest.raises(ParameterError, match="domain"):
        Variable("a", "")
    with pytest.raises(ParameterError, match="expects a str"):
        variables(["a"])


def test_variables_reads_domains():
    assert variables("a:g, b c") == (Variable("a", "g"), B, C)
    assert variables("") == ()


@pytest.mark.parametrize("row", CONNECTIVES, ids=lambda row: row.name)
def test_evaluation_follows_the_truth_table(row):
    pairs = list(itertools.product([True, False], repeat=row.arity))
    for bit, values in zip(row.truth, pairs, strict=True):
        formula = Operation(row, [A, B][: row.arity])
        known = dict(zip([A, B], values, strict=False))
        assert evaluate(formula, known.__getitem__) == (bit == "1") == row(*values)
    arrays = [np.array(column) for column in zip(*pairs, strict=True)]
    whole = evaluate(formula, dict(zip([A, B], arrays, strict=False)).__getitem__)
    assert "".join("01"[int(v)] for v in whole) == row.truth
    assert pickle.loads(pickle.dumps(row)) is connective(row.name) is row


def test_truth_tables():
    assert {row.name: row.truth for row in CONNECTIVES} == {
        **{"not": "01", "and": "1000", "nand": "0111", "xor": "0110", "or": "1110"},
        **{"nor": "0001", "implies": "1011", "converse": "1101", "nonimplies": "0100"},
        **{"nonconverse": "0010", "iff": "1001"},
    }


def test_leaves_and_variables_in_order_of_appearance():
    formula = parse("b & a | ~b & 1 | c:g")
    assert [str(leaf) for leaf in formula.leaves] == ["b", "a", "true", "c:g"]
    assert [str(leaf) for leaf in formula.variables] == ["b", "a", "c:g"]
    assert formula.n_leaves == 5
    assert len(postorder(formula)) == len({id(node) for node in postorder(formula)})


def test_deep_formulas_do_not_recurse():
    formula = A
    for _ in range(10_000):
        formula = ~(formula & B) | C
    assert formula.n_leaves == 20_001
    again = pickle.loads(pickle.dumps(formula))
    assert again == formula
    assert hash(again) == hash(formula)
    assert evaluate(formula, {A: True, B: True, C: False}.__getitem__) is True
    assert fk.parse("a") != formula
