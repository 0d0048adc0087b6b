"""Text → Formula: every spelling, Python's precedence, any name, any size."""

import re
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import ODD_NAMES, names
from work import assert_linear

import formulakern as fk
from formulakern import Choice, FormulaKernError, FormulaSizeError, Variable, parse
from formulakern.errors import FormulaTypeError
from formulakern.syntax import connectives as spelling
from formulakern.syntax.connectives import CONNECTIVES
from formulakern.syntax.formula import FALSE, TRUE, Operation
from formulakern.syntax.leaves import ColumnName, Comparison
from formulakern.syntax.parser import MAX_CHARACTERS, _parser, parse_rule

A, B, C, D = fk.variables("a b c d")

SPELLINGS = [(row, sign) for row in CONNECTIVES for sign in row.spellings]


@pytest.mark.parametrize(("row", "sign"), SPELLINGS, ids=lambda value: str(value)[:12])
def test_every_spelling_in_any_case(row, sign):
    words = {sign, sign.upper(), sign.capitalize(), sign.swapcase()} if sign.isalpha() else {sign}
    for word in words:
        if row.arity == 1:
            assert parse(f"{word} a") == parse(f"{word}(a)") == Operation(row, (A,))
        else:
            assert parse(f"a {word} b") == parse(f"(a){word}(b)") == Operation(row, (A, B))
            assert parse_rule(f"a {word} b") == Operation(row, (A, B))


@pytest.mark.parametrize("row", CONNECTIVES, ids=lambda row: row.name)
def test_signs_need_no_blanks(row):
    for sign in row.spellings:
        if not sign.isalpha():
            text = f"{sign}a" if row.arity == 1 else f"a{sign}b"
            assert parse(text).connective is row


def test_issue_lists_exactly_these_spellings():
    listed = {
        "not": "~ ! ¬ not",
        "and": "& && ∧ and",
        "nand": "~& ⊼ ↑ nand",
        "xor": "^ ⊕ xor",
        "or": "| || ∨ or",
        "nor": "~| ⊽ ↓ nor",
        "implies": "-> => → ⇒ implies",
        "converse": "<- ←",
        "nonimplies": "-/> ↛",
        "nonconverse": "</- ↚",
        "iff": "<-> <=> ↔ ⇔ ≡ iff xnor",
    }
    assert {row.name: " ".join(row.spellings) for row in CONNECTIVES} == listed


@pytest.mark.parametrize("word", ["true", "TRUE", "True", "⊤", "1"])
def test_true(word):
    assert parse(word) == TRUE
    assert parse_rule(word) == TRUE


@pytest.mark.parametrize("word", ["false", "FALSE", "False", "⊥", "0"])
def test_false(word):
    assert parse(word) == FALSE
    assert parse_rule(word) == FALSE


PARSED = {
    "all[2](a)": Choice("all", A, 2),
    "~ANY [ 3 ](all[2](a & b)) | all": ~Choice("any", Choice("all", A & B, 2), 3) | Variable("all"),
    "atleast[1,2](a) & exactly[0, 2](b)": Choice("atleast", A, 2, 1) & Choice("exactly", B, 2, 0),
    "a & ~b | c": (A & ~B) | C,
    "a | b ^ c & d": A | (B ^ (C & D)),
    "a ^ b | c": (A ^ B) | C,
    "~a & b": ~A & B,
    "~~a": ~~A,
    "!¬not ~a": ~~~~A,
    "a -> b -> c": A >> (B >> C),
    "a | b -> c": (A | B) >> C,
    "a <- b -> c": Operation("converse", (A, B >> C)),
    "a -/> b": Operation("nonimplies", (A, B)),
    "a </- b": Operation("nonconverse", (A, B)),
    "a -> b <-> c": Operation("iff", (A >> B, C)),
    "a & b ~| c": Operation("nor", (A & B, C)),
    "a ~& b ^ c": Operation("nand", (A, B)) ^ C,
    "a&~b": A & ~B,
    "a |~b": A | ~B,
    "a <-b": Operation("converse", (A, B)),
    "(((a)))": A,
    "\ta\n&\r\n b ": A & B,
    "android & nota | iffy": (Variable("android") & Variable("nota")) | Variable("iffy"),
    "not(a)": ~A,
    "not1": Variable("not1"),
    "a:g & b : `two words`": Variable("a", "g") & Variable("b", "two words"),
    "S & E & N & I & Q": Operation("and", [Variable(n) for n in "SENIQ"]),
    "lambda | None & class": Variable("lambda") | (Variable("None") & Variable("class")),
    "in & is & missing": Variable("in") & Variable("is") & Variable("missing"),
    "`a & b` | `\x00\n`": Variable("a & b") | Variable("\x00\n"),
}


@pytest.mark.parametrize("text", PARSED)
def test_parsed(text):
    assert parse(text) == PARSED[text]


RULES = {
    "odor = foul": Comparison("odor", "=", "foul"),
    "odor == foul": Comparison("odor", "=", "foul"),
    "x>=3": Comparison("x", ">=", 3),
    "x ≤ -3.5": Comparison("x", "<=", -3.5),
    "x <-3": Comparison("x", "<", -3),
    "x<-.5": Comparison("x", "<", -0.5),
    "x <- y": Operation("converse", (Variable("x"), Variable("y"))),
    "x ≠ 1e3": Comparison("x", "!=", 1000.0),
    "x = 3": Comparison("x", "=", 3),
    'x = "3"': Comparison("x", "=", "3"),
    "x = `3`": Comparison("x", "=", ColumnName("3")),
    "x = 'it''s'": Comparison("x", "=", "it's"),
    "x = true": Comparison("x", "=", "true"),
    "x = and": Comparison("x", "=", "and"),
    "`not` in {a, 'b c', 3, `d`}": Comparison("not", "in", ("a", "b c", 3, ColumnName("d"))),
    "x NOT  IN {1}": Comparison("x", "not in", (1,)),
    "x ∉ {1} & x ∈ {2}": Comparison("x", "not in", (1,)) & Comparison("x", "in", (2,)),
    "x is missing": Comparison("x", "is missing"),
    "x IS NOT\nMISSING": Comparison("x", "is not missing"),
    "in in {in}": Comparison("in", "in", ("in",)),
    "is is missing": Comparison("is", "is missing"),
    "~x = 3": ~Comparison("x", "=", 3),
    "x = 3 -> y": Comparison("x", "=", 3) >> Variable("y"),
    "x = 1 | 1": Comparison("x", "=", 1) | TRUE,
    "x < `y`": Comparison("x", "<", ColumnName("y")),
}


@pytest.mark.parametrize("text", RULES)
def test_rules(text):
    assert parse_rule(text) == RULES[text]


def _python_texts() -> st.SearchStrategy[str]:
    """Texts with ~ & ^ | and parentheses, in places that may or may not matter."""

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        blank = st.sampled_from(["", " "])
        joined = st.builds(
            lambda left, gap, sign, right: f"{left}{gap}{sign}{gap}{right}",
            *(inner, blank, st.sampled_from("&^|"), inner),
        )
        return joined | inner.map("({})".format) | inner.map("~{}".format)

    return st.recursive(st.sampled_from("abcd"), extend, max_leaves=12)


@given(_python_texts().filter(lambda text: not re.search(r"~\s*[&|]", text)))
def test_precedence_is_pythons(text):
    assert parse(text) == eval(text, {"a": A, "b": B, "c": C, "d": D})


@given(names(), st.none() | names())
@example("falſe", None)  # "ſ" is an s to a pattern that ignores case
@example("ıff", "İff")
def test_any_text_is_a_name(name, domain):
    variable = Variable(name, domain)
    assert parse(str(variable)) == variable
    if domain is None:
        assert parse_rule(str(variable)) == variable


@given(names())
def test_terminals_agree_with_names(name):
    """The names that ``names.py`` calls bare are those that the terminal NAME reads."""
    terminals = {terminal.name: terminal for terminal in _parser("rule").terminals}
    flags = {"i": re.IGNORECASE}

    def reads(terminal: str) -> bool:
        pattern = terminals[terminal].pattern
        mode = 0
        for flag in pattern.flags:
            mode |= flags[flag]
        return re.fullmatch(pattern.value, name, mode) is not None

    assert reads("NAME") == spelling.is_bare(name)
    assert reads("WORD") == (spelling.BARE.match(name) is not None)


def test_reserved_words_are_those_of_the_signs():
    for word in spelling.RESERVED_WORDS:
        for text in (word, word.upper(), word.capitalize()):
            assert not spelling.is_bare(text)
            assert parse(spelling.spell(text)) == Variable(text)


@pytest.mark.parametrize("name", ODD_NAMES, ids=repr)
def test_odd_names(name):
    formula = (Variable(name) & Variable("a", name)) | ~Variable(name, name)
    assert parse(str(formula)) == parse(formula.unicode()) == formula
    assert formula.latex()


# -- sizes: a result or a clear error, with work in proportion to the text -------------------------

#: Size in full (Python recurses a thousand times), the text of a size, the leaves of a size.
LARGE = {
    "parentheses": (20_000, lambda n: "(" * n + "a" + ")" * n, lambda n: 1),
    "literals": (5_000, lambda n: " & ".join(f"~x{i}" for i in range(n)), lambda n: n),
    "negations": (5_000, lambda n: "~" * n + "a", lambda n: 1),
    "arrows": (5_000, lambda n: "a->" * n + "a", lambda n: n + 1),
    "alternating": (5_000, lambda n: "(a & (b | " * n + "a" + "))" * n, lambda n: 2 * n + 1),
    "spelled out": (5_000, lambda n: " and ".join(["a", "not b"] * n), lambda n: 2 * n),
}


@pytest.mark.parametrize("which", LARGE)
def test_large_texts_are_read(which):
    n, text_of, leaves_of = LARGE[which]
    assert parse(text_of(n)).n_leaves == leaves_of(n)
    formula = parse(text_of(n // 5))
    assert parse(str(formula)) == formula
    assert hash(parse(formula.unicode())) == hash(formula)
    assert_linear(parse, text_of, 300)
    assert_linear(str, lambda n: parse(text_of(n)), 300)


#: Where everything is refused at its beginning the text is as long as a text may be: work in
#: proportion to the square of the length would never end.
FULL = MAX_CHARACTERS - 10
REFUSED = {
    "10 MB": (2_500_000, lambda n: "a & " * n + "a", FormulaSizeError),
    "open parentheses": (100_000, lambda n: "(" * n, FormulaKernError),
    "closed parentheses": (FULL, lambda n: "a" + ")" * n, FormulaKernError),
    "NUL": (FULL, lambda n: "\x00" * n, FormulaKernError),
    "NUL inside": (1, lambda n: "a & \x00b" * n, FormulaKernError),
    "open backquote": (FULL, lambda n: "`" + "a" * n, FormulaKernError),
    "many backquotes": (FULL - 1, lambda n: "`" * (n | 1), FormulaKernError),
    "signs": (FULL, lambda n: "&" * n, FormulaKernError),
    "numbers": (FULL, lambda n: "9" * n, FormulaKernError),
    "surrogate": (1, lambda n: "a & \ud800" * n, FormulaKernError),
}


@pytest.mark.parametrize("which", REFUSED)
def test_large_and_odd_texts_are_refused(which):
    n, text_of, kind = REFUSED[which]
    for read in (parse, parse_rule):
        with pytest.raises(kind) as caught:
            read(text_of(n))
        message = str(caught.value)
        assert 0 < len(message) < 600
        assert "\x00" not in message
        if n > 1:
            assert_linear(partial(_refused, read), text_of, 300)


def _refused(read, text):
    with suppress(FormulaKernError):
        read(text)


def test_limit_is_stated():
    with pytest.raises(FormulaSizeError, match="1,000,000"):
        parse("a" * (MAX_CHARACTERS + 1))
    assert parse("a" * MAX_CHARACTERS).n_leaves == 1


@pytest.mark.parametrize("value", [None, 3, b"a", ["a"], A])
def test_only_str_is_read(value):
    with pytest.raises(FormulaTypeError, match="as a str; got"):
        parse(value)
    with pytest.raises(TypeError):
        parse_rule(value)
