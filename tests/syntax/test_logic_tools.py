"""Questions and forms of logic, each against the enumeration of all assignments."""

import itertools
import pickle
import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern import FormulaError, FormulaSizeError, ParameterError, Variable
from formulakern.errors import FormulaTypeError
from formulakern.syntax.connectives import AND, CONNECTIVES, NOT, OR
from formulakern.syntax.formula import (
    FALSE,
    TRUE,
    Constant,
    Operation,
    clauses_of,
    evaluate,
    postorder,
)
from tests.strategies import combined, countable

A, B, C, D = fk.variables("a b c d")
LETTERS = (A, B, C, D)
formulas = combined(st.sampled_from([*LETTERS, Variable("a", "g"), TRUE, FALSE]), 10)


def assignments(letters):
    for values in itertools.product([True, False], repeat=len(letters)):
        yield dict(zip(letters, values, strict=True))


def table(formula, letters):
    return [evaluate(formula, values.__getitem__) for values in assignments(letters)]


def names_of(*some):
    return tuple(dict.fromkeys(v for formula in some for v in formula.variables))


@given(formulas, formulas)
def test_questions(f, g):
    letters = names_of(f, g)
    left, right = table(f, letters), table(g, letters)
    assert f.equivalent(g) == (left == right)
    assert f.implies(g) == all(y or not x for x, y in zip(left, right, strict=True))
    assert f.is_tautology() == f.equivalent(True) == all(left)
    assert f.is_contradiction() == f.equivalent(False) == (not any(left))
    assert f.is_satisfiable() == any(left)
    assert f.count_models(letters) == sum(left)


@given(formulas)
def test_models_and_truth_tables(f):
    values = table(f, f.variables)
    assert f.count_models() == sum(values)
    assert list(f.models()) == [m for m in assignments(f.variables) if evaluate(f, m.__getitem__)]
    shown = f.truth_table()
    assert shown.values == tuple(values)
    rows = [(*m.values(), v) for m, v in zip(assignments(f.variables), values, strict=True)]
    assert list(shown) == rows
    lines = str(shown).splitlines()
    assert [re.findall("[01]", line) for line in lines[1:]] == [
        ["01"[value] for value in row] for row in rows
    ]
    assert shown._repr_html_().count("<tr") == 1 + len(rows)
    assert pickle.loads(pickle.dumps(shown)) == shown


def is_literal(node):
    return not (node.arguments[0] if node.connective is NOT else node).connective


@given(formulas)
def test_negation_normal_form(f):
    found = f.to_nnf()
    assert found.equivalent(f)
    for node in postorder(found):
        assert node.connective in (None, AND, OR) or is_literal(node)
        assert node.connective is not NOT or not isinstance(node.arguments[0], Constant)
    assert found.to_nnf() == found


@given(formulas)
@pytest.mark.parametrize("form", ["dnf", "cnf"])
def test_listed_forms(form, f):
    found = f.to_dnf() if form == "dnf" else f.to_cnf()
    assert found.equivalent(f)
    parts = clauses_of(found, form)
    assert parts is not None
    assert (found is f) == (clauses_of(f, form) is not None)
    if found is not f:  # nothing can be left out
        outer = OR if form == "dnf" else AND
        for k in range(len(found.arguments) if found.connective is outer else 0):
            rest = [*found.arguments[:k], *found.arguments[k + 1 :]]
            shorter = rest[0] if len(rest) == 1 else Operation(outer, rest)
            assert not shorter.equivalent(f)


@settings(max_examples=45)
@given(countable(6, letters="abc"))
def test_definitions_keep_the_number_of_models(f):
    found = f.to_cnf(tseitin=True)
    assert clauses_of(found, "cnf") is not None
    new = [v for v in found.variables if v not in f.variables]
    kept = [v for v in f.variables if v in found.variables]
    over = [*f.variables, *new]
    assert found.count_models(over) == f.count_models()
    for values in assignments(kept):
        settled = found.substitute(values)
        lost = [v for v in f.variables if v not in kept]
        whole = {**values, **dict.fromkeys(lost, True)}
        assert settled.is_satisfiable() == evaluate(f, whole.__getitem__)
    assert len(new) <= 2 * sum(node.connective is not None for node in postorder(f)) + f.n_leaves


@given(formulas, formulas, formulas)
def test_substitution(f, g, h):
    found = f.substitute({"a": g, B: h, C: True})
    letters = (*LETTERS, Variable("a", "g"))
    for values in assignments(letters):
        inner = {A: evaluate(g, values.__getitem__), B: evaluate(h, values.__getitem__), C: True}
        assert evaluate(found, values.__getitem__) == evaluate(f, {**values, **inner}.__getitem__)
    assert f.substitute({"nothing": g}) == f


@given(formulas)
def test_simplified_formulas(f):
    for form in ("shortest", "dnf", "cnf"):
        found = f.simplify(form)
        assert found.formula.equivalent(f)
        assert found.exact or found.form == "given"
        if form != "shortest":
            assert found.form == form
            parts = clauses_of(found.formula, form)
            assert (len(parts), sum(map(len, parts))) == (found.n_parts, found.n_literals)
        else:
            lengths = [f.simplify(one).n_literals for one in ("dnf", "cnf")]
            assert found.n_literals == min(lengths)
            assert found.formula.n_leaves <= max(min(lengths), 1)
    # a formula that is equivalent has the same size
    assert f.simplify("dnf").n_literals == (~~f.to_nnf()).simplify("dnf").n_literals


@pytest.mark.parametrize("row", CONNECTIVES, ids=lambda row: row.name)
def test_every_connective(row):
    f = Operation(row, LETTERS[: 3 if row.chain == "flat" else row.arity])
    values = table(f, f.variables)
    for found in (f.to_nnf(), f.to_dnf(), f.to_cnf(), f.simplify().formula):
        assert table(found, f.variables) == values
    assert f.to_cnf(tseitin=True).count_models() == f.count_models() == sum(values)
    assert fk.parse(f.to_sympy()).equivalent(f)
    assert f.to_dot().count(row.unicode) == 1


def test_parity_stays_quadratic():
    for n in (12, 100):
        f = Operation("xor", [Variable(f"x{k}") for k in range(n)])
        assert f.to_nnf().n_leaves <= 2 * n * n
        assert len(postorder(f.to_nnf())) <= 12 * n
        assert f.count_models() == 2 ** (n - 1)
        assert f.simplify().form == "given" if n == 12 else True
        assert len(clauses_of(f.to_cnf(tseitin=True), "cnf")) == 4 * (n - 1) + 1
    with pytest.raises(
        FormulaSizeError, match=r"2\^?.* terms|633,825,300,114,114,700,748,351,602,688"
    ):
        f.to_dnf()
    with pytest.raises(FormulaSizeError, match=r"limit is 100.*tseitin=True"):
        Operation("xor", f.variables[:10]).to_cnf(100)
    assert len(clauses_of(Operation("xor", f.variables[:8]).to_cnf(128), "cnf")) == 128


def test_hundreds_of_names():
    pairs = fk.parse(" | ".join(f"(x{i} & ~y{i})" for i in range(300)))
    assert pairs.count_models() == 4**300 - 3**300
    found = pairs.simplify("dnf")
    assert (found.formula, found.exact) == (pairs, True)
    chain = fk.parse(" & ".join(f"(x{i} -> x{i + 1})" for i in range(400)))
    assert chain.count_models() == 402
    assert chain.implies(Variable("x0") >> Variable("x400"))
    assert not chain.implies(Variable("x400") >> Variable("x0"))
    assert chain.simplify().n_parts == 400


def _deep(n):
    """A formula of n rounds, and its value for all values of a, b, c, d."""
    f, values = A, {key: key[0] for key in itertools.product([True, False], repeat=4)}
    for k in range(n):
        f = ~(f & LETTERS[k % 3]) | D
        values = {key: not (value and key[k % 3]) or key[3] for key, value in values.items()}
    return f, values


def test_deep_formulas_do_not_recurse():
    f, values = _deep(12_000)
    assert len(postorder(f)) > 35_000
    assert f.count_models(LETTERS) == sum(values.values())
    assert len(postorder(f.to_nnf())) > 10_000
    f, values = _deep(1_500)
    assert f.to_nnf().equivalent(f)
    assert f.simplify().formula.equivalent(f)
    settled = f.substitute({"a": True, "b": True, "c": True, "d": False})
    assert settled.is_tautology() == values[True, True, True, False]
    assert f.to_cnf(tseitin=True).n_leaves > 5_000
    assert len(f.to_dot().splitlines()) > 4_500


def test_shared_subformulas_stay_shared():
    f = A
    for _ in range(60):
        f = (f ^ B) & f
    assert f.n_leaves > 2**60
    assert len(postorder(f.to_nnf())) < 2_000
    assert f.equivalent(A & ~B) == (table(f, (A, B)) == table(A & ~B, (A, B)))
    g = A
    for _ in range(60):
        g = ~(~g & ~g)  # one chain of 2^60 parts, if it were written out
    with pytest.raises(FormulaSizeError, match="the limit is 2,000,000"):
        g.to_nnf()
    assert g.equivalent(A)


def test_refusals():
    choice, rule = fk.parse("all[2](x) & a"), fk.rule("x >= 3").formula
    asked = {
        "equivalent()": A.equivalent,
        "implies()": lambda f: f.implies(A),
        "is_tautology()": lambda f: f.is_tautology(),
        "is_contradiction()": lambda f: f.is_contradiction(),
        "is_satisfiable()": lambda f: f.is_satisfiable(),
        "count_models()": lambda f: f.count_models(),
        "models()": lambda f: next(f.models()),
        "a truth table": lambda f: f.truth_table(),
        "simplify()": lambda f: f.simplify(),
        "to_dnf()": lambda f: (f ^ A).to_dnf(),
        "to_cnf()": lambda f: (f ^ A).to_cnf(tseitin=True),
        "to_sympy()": lambda f: f.to_sympy(),
        "to_dimacs()": lambda f: f.to_dimacs(),
        "to_dot('diagram')": lambda f: f.to_dot("diagram"),
    }
    for words, ask in asked.items():
        with pytest.raises(FormulaError, match="a choice such as") as caught:
            ask(choice)
        assert str(caught.value).startswith(words) or words in ("to_dimacs()",)
        with pytest.raises(FormulaError, match=re.escape("fk.rule(formula)")):
            ask(rule)
    assert str((~choice).to_nnf()) == "~all[2](x) | ~a"
    assert choice.substitute({"x": A, "a": B}) == fk.parse("all[2](x) & b")
    assert "all[2](x)" in choice.to_dot()
    with pytest.raises(FormulaTypeError, match=r"got str.*fk\.parse"):
        A.equivalent("a")
    with pytest.raises(ParameterError, match="lacks 'b'"):
        (A & B).count_models([A])
    with pytest.raises(ParameterError, match="form="):
        A.simplify("nnf")
    with pytest.raises(ParameterError, match="what="):
        A.to_dot("svg")
    for bad in ({3: A}, {A & B: A}, {"a": "b"}, {"a": 1}):
        with pytest.raises(ParameterError, match=r"substitute\(\)"):
            A.substitute(bad)
    wide = fk.parse(" | ".join(f"x{k}" for k in range(17)))
    with pytest.raises(FormulaSizeError, match="17 names has 2\\^17 rows; the limit is 16"):
        wide.truth_table()
    products = fk.parse(" | ".join(f"(x{i} & y{i * 7 % 40})" for i in range(40)))
    names = fk.parse(" & ".join([f"x{i}" for i in range(40)] + [f"y{i}" for i in range(40)]))
    with pytest.raises(FormulaSizeError, match="200,000 nodes") as caught:
        (names ^ products).is_satisfiable()
    assert "variables=" not in str(caught.value)


def test_long_tables_say_what_they_leave_out():
    f = fk.parse("a & b & c & d & e & f & g")
    lines = str(f.truth_table()).splitlines()
    assert len(lines) == 66
    assert lines[-1] == "… 64 more rows, 1 of 128 true"
    frame = f.truth_table().to_frame()
    assert frame.shape == (128, 8)
    assert frame[str(f)].sum() == 1
    assert "&lt;-&gt;" in fk.parse("a <-> b").truth_table()._repr_html_()


@given(formulas)
def test_sympy_and_back(f):
    plain = f.substitute({Variable("a", "g"): Variable("e")})
    expression = plain.to_sympy()
    again = fk.parse(expression)
    assert again.equivalent(plain)
    assert fk.parse(again.to_sympy()).equivalent(plain)


def test_expressions_of_sympy():
    from sympy import ITE, Equivalent, Nor, Symbol, symbols
    from sympy.logic.boolalg import Xnor

    a, b, c = symbols("a b c")
    for expression, text in (
        (ITE(a, b, c), "a & b | ~a & c"),
        (Equivalent(a, b, c), "(a <-> b) & (b <-> c)"),
        (Xnor(a, b), "a <-> b"),
        (Nor(a, b, c), "~(a | b | c)"),
        (a & ~a, "false"),
        (Symbol("two words") | b, "`two words` | b"),
    ):
        assert fk.parse(expression).equivalent(fk.parse(text)), expression
    with pytest.raises(FormulaError, match=r"'a < b' is not a formula over names.*Xnor"):
        fk.parse((a < b) & c)
    with pytest.raises(FormulaError, match=r"does not support domains.*substitute"):
        Variable("a", "g").to_sympy()


@given(formulas)
def test_dimacs_and_back(f):
    text = f.to_dimacs()
    again = fk.from_dimacs(text)
    head = re.search(r"^p cnf (\d+) (\d+)$", text, re.MULTILINE)
    names = re.findall(r'^c \d+ "(.*)"$', text, re.MULTILINE)
    assert names == [str(v) for v in f.variables]
    over = {*again.variables, *map(Variable, names)}
    assert len(over) <= int(head[1])
    assert again.count_models(over) << (int(head[1]) - len(over)) == f.count_models()
    direct = fk.from_dimacs(f.to_dimacs(tseitin=False))
    renamed = f.substitute({Variable("a", "g"): Variable("a:g")})
    assert direct.equivalent(renamed)


def test_dimacs_files():
    text = "c by hand\np cnf 3 2\n1 -3\n0 2\n 3 -1 0\n%\n"
    assert str(fk.from_dimacs(text)) == "(x1 | ~x3) & (x2 | x3 | ~x1)"
    assert fk.from_dimacs("p cnf 0 0") == TRUE
    assert fk.from_dimacs("p cnf 0 1\n0") == FALSE
    odd = Variable("it's \\ odd\n") | B
    assert fk.from_dimacs(odd.to_dimacs()) == odd
    for bad, words in (
        ("1 2 0", "the first line is not 'p cnf …'"),
        ("p cnf 2 1\n1 3 0", "a variable from 1 to 2"),
        ("p cnf 2 1\n1 b 0", "a variable from 1 to 2"),
        ("p cnf 2 1\n1 2", "ends before 1 clauses"),
        ("p cnf 2 2\n1 2 0", "ends before 2 clauses"),
        ("", "ends before a line 'p cnf …'"),
    ):
        with pytest.raises(fk.FormulaSyntaxError, match=words):
            fk.from_dimacs(bad)
    with pytest.raises(FormulaTypeError, match="got int"):
        fk.from_dimacs(3)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")
@pytest.mark.parametrize("what", ["tree", "diagram"])
def test_graphviz_draws(what):
    odd = Variable('a "quoted" \\ <b> {c}\n') & B | ~C ^ TRUE
    for f in (odd, TRUE, A & ~A, fk.parse("a <-> b -> c")):
        done = subprocess.run(
            ["dot", "-Tsvg"], input=f.to_dot(what), text=True, capture_output=True, check=True
        )
        assert done.stderr == ""
        assert "</svg>" in done.stdout


def test_diagrams_are_drawn_as_they_are():
    text = fk.parse("a & b").to_dot("diagram")
    assert text.count("style=dashed") == 2
    assert text.count("label=") == 4
    assert fk.parse("a -> a").to_dot("diagram").count("label=") == 1
