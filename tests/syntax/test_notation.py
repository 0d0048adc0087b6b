"""Printing: parses back, fewest parentheses, Unicode, LaTeX."""

import pytest
from hypothesis import given
from strategies import formulas, rules

import formulakern as fk
from formulakern import Formula, FormulaSizeError, FormulaSyntaxError, Variable, parse
from formulakern.syntax.connectives import ASCII, IMPLIES, Notation, latex_name, render
from formulakern.syntax.formula import Operation, fold
from formulakern.syntax.parser import parse_rule


@given(formulas())
def test_formulas_print_and_parse_back(formula):
    assert parse(str(formula)) == formula
    assert parse(formula.unicode()) == formula
    assert repr(formula) == f"Formula({str(formula)!r})"


@given(rules())
def test_rules_print_and_parse_back(formula):
    assert parse_rule(str(formula)) == formula
    assert parse_rule(formula.unicode()) == formula
    assert hash(parse_rule(str(formula))) == hash(formula)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x >= 3 & x <= 5", "3 <= x <= 5"),
        ("a & x > -0.5 & x < 1 & b", "a & -0.5 < x < 1 & b"),
        ("0 ≤ x < 1 | 1 ≤ x < 2", "0 <= x < 1 | 1 <= x < 2"),
        ("x <= 5 & x >= 3", "x <= 5 & x >= 3"),
        ("~3 <= x <= 5", "~(3 <= x <= 5)"),
        ("x >= 3 & x <= 5 & x <= 4", "3 <= x <= 5 & x <= 4"),
        ("x >= 3 & x <= `b`", "x >= 3 & x <= `b`"),
        ("when > 2020-01-31 & when <= 2020-02-28", "2020-01-31 < when <= 2020-02-28"),
        ("hour(when) >= 8 & hour(when) <= 17", "8 <= hour(when) <= 17"),
        ("6 <= month(when) <= 8", "month(when) >= June & month(when) <= August"),
        ("1 <- a", "true <- a"),
        ("0 <=> a", "false <-> a"),
    ],
)
def test_the_two_ends_of_an_interval_print_as_one(text, printed):
    assert str(parse_rule(text)) == printed
    assert parse_rule(printed) == parse_rule(text)


@given(formulas() | rules())
def test_latex_braces_balance(formula):
    text = formula.latex().replace(r"\{", "").replace(r"\}", "")
    assert text.count("{") == text.count("}")
    assert text.count(r"\left(") == text.count(r"\right)")


OPEN, CLOSE = "\ue000", "\ue001"
MARKED = Notation("ascii", ASCII.sign, ASCII.true, ASCII.false, OPEN, CLOSE)


def _without_each_pair(text: str) -> list[str]:
    """The text once for every pair of parentheses, without that pair."""
    found, stack = [], []
    for position, character in enumerate(text):
        if character == OPEN:
            stack.append(position)
        elif character == CLOSE:
            found.append((stack.pop(), position))
    plain = text.replace(OPEN, "(").replace(CLOSE, ")")
    return [plain[:i] + " " + plain[i + 1 : j] + " " + plain[j + 1 :] for i, j in found]


def _named_a(formula: Formula) -> Formula:
    """The same shape over the variable a, so that names hold no signs."""
    return fold(
        formula,
        lambda node, parts: (
            Variable("a") if node.connective is None else Operation(node.connective, parts)
        ),
    )


@given(formulas())
def test_fewest_parentheses(formula):
    """Every pair is needed, except that an arrow which is an operand always has its own."""
    formula = _named_a(formula)
    changed = 0
    texts = _without_each_pair(render(formula, MARKED))
    for text in texts:
        try:
            changed += parse(text) != formula
        except FormulaSyntaxError:
            changed += 1
    kept = len(texts) - changed
    places = sum(
        argument.connective is not None and argument.connective.precedence == IMPLIES.precedence
        for node in _places(formula)
        for argument in node.arguments
    )
    assert kept <= places


def _places(formula: Formula) -> list[Formula]:
    found, pending = [], [formula]
    while pending:
        node = pending.pop()
        found.append(node)
        pending.extend(node.arguments)
    return found


PRINTED = {
    "a&b&c": ("a & b & c", "a ∧ b ∧ c", r"a \land b \land c"),
    "(a&b)&c": ("a & b & c", "a ∧ b ∧ c", r"a \land b \land c"),
    "(a|b)&c": ("(a | b) & c", "(a ∨ b) ∧ c", r"\left(a \lor b\right) \land c"),
    "a -> b -> c": ("a -> (b -> c)", "a → (b → c)", r"a \rightarrow \left(b \rightarrow c\right)"),
    "(a -> b) <-> c": (
        "(a -> b) <-> c",
        "(a → b) ↔ c",
        r"\left(a \rightarrow b\right) \leftrightarrow c",
    ),
    "not (not a)": ("~~a", "¬¬a", r"\lnot \lnot a"),
    "~(a and b)": ("~(a & b)", "¬(a ∧ b)", r"\lnot \left(a \land b\right)"),
    "(a ~& b) & c": ("(a ~& b) & c", "(a ↑ b) ∧ c", r"\left(a \uparrow b\right) \land c"),
    "(a ^ b) | (c & d)": ("a ^ b | c & d", "a ⊕ b ∨ c ∧ d", r"a \oplus b \lor c \land d"),
    "x12 | stalk_root": (
        "x12 | stalk_root",
        "x12 ∨ stalk_root",
        r"\text{x12} \lor \text{stalk}\_\text{root}",
    ),
    "a:g": ("a:g", "a:g", "a:g"),
    "1 & 0": ("true & false", "⊤ ∧ ⊥", r"\top \land \bot"),
}


@pytest.mark.parametrize("text", PRINTED)
def test_printed(text):
    formula = parse(text)
    assert (str(formula), formula.unicode(), formula.latex()) == PRINTED[text]


def test_rule_signs():
    rule = parse_rule("x >= 3 & y != `z` | c not in {red, 'a b'} & d is missing")
    assert str(rule) == 'x >= 3 & y != `z` | c not in {red, "a b"} & d is missing'
    assert rule.unicode() == 'x ≥ 3 ∧ y ≠ `z` ∨ c ∉ {red, "a b"} ∧ d is missing'
    assert r"\notin" in rule.latex()


def test_names_in_latex():
    assert latex_name("A14") == r"\text{A14}"
    assert latex_name("top-left square") == r"\text{top-left square}"
    assert latex_name("a\\b<c~d^e|f") == (
        r"\text{a}{\backslash}\text{b}{<}\text{c}\text{\textasciitilde}"
        r"\text{d}\text{\textasciicircum}\text{e}{|}\text{f}"
    )
    assert latex_name("two words") == r"\text{two words}"
    assert latex_name("50%_{}") == r"\text{50}\%\_\{\}"
    assert fk.Variable("a")._repr_latex_() == "$a$"


def test_shared_subformulas_are_not_printed_out():
    formula = fk.Variable("a")
    for _ in range(60):
        formula = formula & formula | ~formula
    assert formula.n_leaves == 3**60
    with pytest.raises(FormulaSizeError, match="cannot be printed"):
        str(formula)
    assert parse("b") != formula
