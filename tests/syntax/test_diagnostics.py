"""Errors of syntax: text → (problem, caret, beginning of the advice), for every kind of mistake."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulakern import FormulaKernError, FormulaSyntaxError, parse
from formulakern.syntax.parser import parse_rule

FORMULAS = {
    "": ("the formula is empty", 0, 'Write for example "a & ~b".'),
    "   ": ("the formula is empty", 0, 'Write for example "a & ~b".'),
    "a &": ('the text ends after "&"', 3, "Write an operand after it."),
    "& a": ('the text begins with "&"', 0, "Write an operand before it."),
    "a & | b": ("two connectives in a row", 4, 'Write an operand between "&" and "|".'),
    "(a": ('"(" is never closed', 0, 'Add the missing ")".'),
    "a)": ('")" has no matching "("', 1, 'Remove it, or add the missing "(".'),
    "()": ("the parentheses are empty", 1, "Write a formula inside."),
    "(a & )": ('"&" right before ")"', 5, "Write an operand between them."),
    "(& a)": ('"&" right after "("', 1, "Write an operand between them."),
    "a b": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "a ~b": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "a not b": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "~": ('the text ends after "~"', 1, "Write an operand after it."),
    "a ~& b ~& c": (
        "a chain with nand needs parentheses",
        7,
        "Tools disagree on the meaning without them;",
    ),
    "a <-> b <-> c": (
        "a chain with iff needs parentheses",
        8,
        "Tools disagree on the meaning without them;",
    ),
    "a & b ~& c": (
        "a chain with nand needs parentheses",
        6,
        "Tools disagree on the meaning without them;",
    ),
    "a ~| b | c": (
        "a chain with nor needs parentheses",
        7,
        "Tools disagree on the meaning without them;",
    ),
    "a + b": ('"+" has no meaning here', 2, '"+" is not a connective; write "|" for'),
    "a * b": ('"*" has no meaning here', 2, '"*" is not a connective; write "&" for'),
    "a >> b": ('">>" has no meaning here', 2, '">>" works on formula objects; in text'),
    "a - b": ('"-" has no meaning here', 2, 'Write "~" for not, "->" for implies.'),
    "a == b": ('"==" is not a connective', 2, "Comparisons over columns belong to"),
    "a = 3": ('"=" is not a connective', 2, "Comparisons over columns belong to"),
    "a < 3": ('"<" is not a connective', 2, "Comparisons over columns belong to"),
    "a >= b": ('">=" is not a connective', 2, "Comparisons over columns belong to"),
    "3": (
        '"3" is neither a name nor one of the constants 0 and 1',
        0,
        "Names begin with a letter or underscore;",
    ),
    "3a": (
        '"3a" is neither a name nor one of the constants 0 and 1',
        0,
        "Names begin with a letter or underscore;",
    ),
    "2 & a": (
        '"2" is neither a name nor one of the constants 0 and 1',
        0,
        "Names begin with a letter or underscore;",
    ),
    "a:": ('the text ends after ":"', 2, "Write the name of a domain after it."),
    "a:&b": ('the domain after ":" has no name', 2, "Write the name of a group of columns, as in"),
    ":g": ('a ":" is not allowed here', 0, "A domain follows its variable, once, as in"),
    "a::g": ('the domain after ":" has no name', 2, "Write the name of a group of columns, as in"),
    "a:g:h": ('a ":" is not allowed here', 3, "A domain follows its variable, once, as in"),
    "`": ("a name has no closing backquote", 0, "Close it with a backquote; a backquote"),
    "``": ("a name in backquotes is empty", 0, "Write a name between them."),
    "`a": ("a name has no closing backquote", 0, "Close it with a backquote; a backquote"),
    "'a'": ('"\'" has no meaning here', 0, "Write a name without quotes, or in"),
    '"a"': ("'\"' has no meaning here", 0, "Write a name without quotes, or in"),
    "a, b": ('"," is not allowed here', 1, "Braces and commas are only for sets of values"),
    "{a}": ('"{" is not allowed here', 0, "Braces and commas are only for sets of values"),
    "[a]": ('"[" has no meaning here', 0, "Group with parentheses."),
    "a.b": (
        'the character "." (U+002E, FULL STOP) has no meaning here',
        1,
        "Names consist of letters, digits and underscores;",
    ),
    "∀x a": ('"∀" has no meaning here', 0, "Formulas are propositional and have no"),
    "a ⊻ b": ('"⊻" has no meaning here', 2, 'Write "^" or "⊕" for exclusive or.'),
    "a\x00b": (
        "the character (U+0000, a control character) has no meaning here",
        1,
        "Names consist of letters, digits and underscores;",
    ),
    "a &\n& b": ("two connectives in a row", 4, 'Write an operand between "&" and "&".'),
    "a\n\nb": ("two operands without a connective", 3, 'Write "&", "|" or another connective'),
    "a & 😀": (
        'the character "😀" (U+1F600, GRINNING FACE) has no meaning here',
        4,
        "Names consist of letters, digits and underscores;",
    ),
    "true false": (
        "two operands without a connective",
        5,
        'Write "&", "|" or another connective',
    ),
    "not": ('the text ends after "not"', 3, "Write an operand after it."),
    "a not": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "and": ('the text begins with "and"', 0, "Write an operand before it."),
    "a -> ": ('the text ends after "->"', 4, "Write an operand after it."),
    "-> a": ('the text begins with "->"', 0, "Write an operand before it."),
    "a !b": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "a != b": ('"!=" is not a connective', 2, "Comparisons over columns belong to"),
    "a = b": ('"=" is not a connective', 2, "Comparisons over columns belong to"),
    "a & (b | c": ('"(" is never closed', 4, 'Add the missing ")".'),
    "((a)": ('"(" is never closed', 0, 'Add the missing ")".'),
    "a))": ('")" has no matching "("', 1, 'Remove it, or add the missing "(".'),
    "a ? b": (
        'the character "?" (U+003F, QUESTION MARK) has no meaning here',
        2,
        "Names consist of letters, digits and underscores;",
    ),
    "a; b": (
        'the character ";" (U+003B, SEMICOLON) has no meaning here',
        1,
        "Names consist of letters, digits and underscores;",
    ),
    "a \\ b": ('"\\" has no meaning here', 2, 'Write "&" for and, "|" for or.'),
    "a / b": ('"/" has no meaning here', 2, 'Write "|" for or.'),
    "a /\\ b": ('"/" has no meaning here', 2, 'Write "|" for or.'),
    "a & b)": ('")" has no matching "("', 5, 'Remove it, or add the missing "(".'),
    "1.5": (
        '"1.5" is neither a name nor one of the constants 0 and 1',
        0,
        "Names begin with a letter or underscore;",
    ),
    "a ~ & b": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "a ~& & b": ("two connectives in a row", 5, 'Write an operand between "~&" and "&".'),
    "S(a)": ("two operands without a connective", 1, 'Write "&", "|" or another connective'),
    "f(x)": ("two operands without a connective", 1, 'Write "&", "|" or another connective'),
    "x^2": (
        '"2" is neither a name nor one of the constants 0 and 1',
        2,
        "Names begin with a letter or underscore;",
    ),
    "2x": (
        '"2x" is neither a name nor one of the constants 0 and 1',
        0,
        "Names begin with a letter or underscore;",
    ),
    "a:1": ('the domain after ":" has no name', 2, "Write the name of a group of columns, as in"),
    "a:`": ("a name has no closing backquote", 2, "Close it with a backquote; a backquote"),
    "$a": (
        'the character "$" (U+0024, DOLLAR SIGN) has no meaning here',
        0,
        "Names consist of letters, digits and underscores;",
    ),
    "a' & b": ('"\'" has no meaning here', 1, "Write a name without quotes, or in"),
    "a\u200bb": (
        "the character (U+200B, ZERO WIDTH SPACE) has no meaning here",
        1,
        "Names consist of letters, digits and underscores;",
    ),
    "a–>b": ('"–" has no meaning here', 1, 'Write "->" for implies.'),
    "a —> b": ('"—" has no meaning here', 2, 'Write "->" for implies.'),
    "a:g b:h": ("two operands without a connective", 4, 'Write "&", "|" or another connective'),
    "lambda x: x": (
        "two operands without a connective",
        7,
        'Write "&", "|" or another connective',
    ),
    "a <=": ('"<=" is not a connective', 2, "Comparisons over columns belong to"),
    "a <= b": ('"<=" is not a connective', 2, "Comparisons over columns belong to"),
    "a => => b": ("two connectives in a row", 5, 'Write an operand between "=>" and "=>".'),
    "if a then b": (
        "two operands without a connective",
        3,
        'Write "&", "|" or another connective',
    ),
    "a↔b↔c": (
        "a chain with iff needs parentheses",
        3,
        "Tools disagree on the meaning without them;",
    ),
    "(a -> b -> ) c": ('"->" right before ")"', 11, "Write an operand between them."),
}

CHOICES = {
    "all[0](x)": (
        "the degree d must be an integer from 1 to 10,000; got 0",
        0,
        "Write for example",
    ),
    "all[-1](x)": ("the degree d must be an integer from 1 to 10,000; got -1", 0, "Write"),
    "any[2.5](x)": ("a degree must be an integer; got '2.5'", 0, "Write for example any[2](x)."),
    "any[d](x)": ("a degree must be an integer; got 'd'", 0, "Write for example any[2](x)."),
    "any[](x)": ("a degree must be an integer; got ''", 0, "Write for example any[2](x)."),
    "all[2,3](x)": ("all takes one degree, d; got 2", 0, "Write for example all[2](x)."),
    "atleast[2](x)": ("atleast takes two degrees, k and d; got 1", 0, "Write for example"),
    "a & atleast[3,2](x)": (
        "k must be an integer from 0 to d = 2; got 3",
        4,
        "At most d of d features",
    ),
    "exactly[1,99999](x)": (
        "the degree d must be an integer from 1 to 10,000; got 99999",
        0,
        "Write",
    ),
    "all[2] x": ('no formula in parentheses follows "all[2]"', 7, "Write the formula to choose"),
    "all[2]": ('no formula in parentheses follows "all[2]"', 6, "Write the formula to choose"),
    "all[2] & y": ('no formula in parentheses follows "all[2]"', 7, "Write the formula to choose"),
    "all[2(x)": ('the brackets after "all" are not closed', 3, "Write the degrees in brackets"),
    "all[2]()": ("the parentheses are empty", 7, "Write a formula inside."),
    "all[2](x": ('"(" is never closed', 6, 'Add the missing ")".'),
}

RULES = {
    "": ("the rule is empty", 0, 'Write for example "odor = foul & gill_size'),
    "x = ": ('the text ends after "="', 4, "Write a number, a word, a quoted value, or"),
    "x =": ('the text ends after "="', 3, "Write a number, a word, a quoted value, or"),
    "x = 3 y = 4": (
        "two operands without a connective",
        6,
        'Write "&", "|" or another connective',
    ),
    "3 <= x": (
        'the interval from "3" has no upper end',
        0,
        "Write an interval as 3 <= x <= 5, one end as x >= 3.",
    ),
    "a & 1 < `x y` | b": (
        'the interval from "1" has no upper end',
        4,
        "Write an interval as 3 <= x <= 5, one end as x >= 3.",
    ),
    "3 >= x >= 1": ('">=" needs a column on its left', 2, "Write column, relation, value, as in"),
    "3": (
        '"3" is neither a name nor one of the constants 0 and 1',
        0,
        "A comparison begins with a column; put a",
    ),
    "x in {": ('"{" is never closed', 5, 'Add the missing "}".'),
    "x in {a": ('"{" is never closed', 5, 'Add the missing "}".'),
    "x in {a,": ('the text ends after ","', 8, "Write another value, and close the set with"),
    "x in {a b}": (
        "a set of values is not finished",
        8,
        "Separate values with commas and close the",
    ),
    "x in {}": ("a set of values is not finished", 6, "Separate values with commas and close the"),
    "x in a": (
        'expected a set of values after "in"',
        5,
        "Write it in braces, as in cap in {red,",
    ),
    "x in (a)": (
        'expected a set of values after "in"',
        5,
        "Write it in braces, as in cap in {red,",
    ),
    "x in": ('the text ends after "in"', 4, "Write a set of values after it, as in cap"),
    "x not in": ('the text ends after "in"', 8, "Write a set of values after it, as in cap"),
    "x not": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "x >= 2020-13-01": (
        "this date, time or duration does not exist",
        5,
        "Write for example 2020-02-01T10:30, 10:30,",
    ),
    "hour(x) = 24": (
        "the hour is compared with a value that it cannot have",
        8,
        "Write a number from 0 to 23.",
    ),
    "month(x) in {june, foo}": (
        "the month is compared with a value that it cannot have",
        19,
        "Write a month such as June or a number from 1 to 12.",
    ),
    'x = "abc': ("a value has no closing quote", 4, 'Close it with ".'),
    "x = 'abc": ("a value has no closing quote", 4, "Close it with '."),
    "= 3": ('"=" needs a column on its left', 0, "Write column, relation, value, as in"),
    "x = = 3": ('no value follows "="', 4, "The relations are =, !=, <, <=, >, >=,"),
    "x == = 3": ('no value follows "=="', 5, "The relations are =, !=, <, <=, >, >=,"),
    "x <= 3 <= 4": ('"<=" needs a column on its left', 7, "Write column, relation, value, as in"),
    "x = foul &": ('the text ends after "&"', 10, "Write an operand after it."),
    "x is": (
        'expected "missing" or "not missing" after "is"',
        2,
        "Compare with a value by = or !=, as in cap",
    ),
    "x is not": (
        'expected "missing" or "not missing" after "is"',
        2,
        "Compare with a value by = or !=, as in cap",
    ),
    "x is foul": (
        'expected "missing" or "not missing" after "is"',
        2,
        "Compare with a value by = or !=, as in cap",
    ),
    "x is not foul": (
        'expected "missing" or "not missing" after "is"',
        2,
        "Compare with a value by = or !=, as in cap",
    ),
    "x = 1e999": ("a number is out of range", 4, "Write at most 400 characters, and a number"),
    "x = a b": ("two operands without a connective", 6, 'Write "&", "|" or another connective'),
    "x = a.b": ('"a" is followed by "."', 5, "Put values that are not plain words or"),
    "x = -": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x = - 3": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x = +": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x = 10-19": ('"10" is followed by "-"', 6, "Put values that are not plain words or"),
    "x = 3a": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x = {a}": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x : 3": (
        'the character ":" (U+003A, COLON) has no meaning here',
        2,
        "Names consist of letters, digits and underscores;",
    ),
    "x := 3": (
        'the character ":" (U+003A, COLON) has no meaning here',
        2,
        "Names consist of letters, digits and underscores;",
    ),
    "'x' = 3": ('"\'" has no meaning here', 0, "Write a name without quotes, or in"),
    "x = 3 = 4": ('"=" needs a column on its left', 6, "Write column, relation, value, as in"),
    "x = (3)": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x <> 3": ('no value follows "<"', 3, "The relations are =, !=, <, <=, >, >=,"),
    "x =< 3": ('no value follows "="', 3, "The relations are =, !=, <, <=, >, >=,"),
    "x => 3": ('"=>" means "implies"', 5, 'For "at least" write ">=".'),
    "x ! = 3": ("two operands without a connective", 2, 'Write "&", "|" or another connective'),
    "x & = 3": ('"=" needs a column on its left', 4, "Write column, relation, value, as in"),
    "x = & y": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x = ~3": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x = `a": ("a name has no closing backquote", 4, "Close it with a backquote; a backquote"),
    "x in {`a}": ("a name has no closing backquote", 6, "Close it with a backquote; a backquote"),
    "x in {'a}": ("a value has no closing quote", 6, "Close it with '."),
    "(x = 3": ('"(" is never closed', 0, 'Add the missing ")".'),
    "x = 3)": ('")" has no matching "("', 5, 'Remove it, or add the missing "(".'),
    "x = 3, y = 4": ('"," is not allowed here', 5, "Braces and commas are only for sets of values"),
    "{x}": ('"{" is not allowed here', 0, "Braces and commas are only for sets of values"),
    "x = a, b": ('"," is not allowed here', 5, "Braces and commas are only for sets of values"),
    "x and 3": (
        '"3" is neither a name nor one of the constants 0 and 1',
        6,
        "A comparison begins with a column; put a",
    ),
    "a:g": ('"a" is followed by ":"', 1, "Put values that are not plain words or"),
    "x in {a;b}": (
        "a set of values is not finished",
        7,
        "Separate values with commas and close the",
    ),
    "x = \x00": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x is missing missing": (
        "two operands without a connective",
        13,
        'Write "&", "|" or another connective',
    ),
    "is missing": (
        "two operands without a connective",
        3,
        'Write "&", "|" or another connective',
    ),
    "not in {a}": ('"{" is not allowed here', 7, "Braces and commas are only for sets of values"),
    "x & in {a}": ('"{" is not allowed here', 7, "Braces and commas are only for sets of values"),
    "x between 3 and 4": (
        "two operands without a connective",
        2,
        'Write "&", "|" or another connective',
    ),
    "x like 'a'": (
        "two operands without a connective",
        2,
        'Write "&", "|" or another connective',
    ),
    "x = 3 or 4": (
        '"4" is neither a name nor one of the constants 0 and 1',
        9,
        "A comparison begins with a column; put a",
    ),
    "x = red | blue & = 3": (
        '"=" needs a column on its left',
        17,
        "Write column, relation, value, as in",
    ),
    "x in {a,,b}": (
        "a set of values is not finished",
        8,
        "Separate values with commas and close the",
    ),
    "x in {,a}": (
        "a set of values is not finished",
        6,
        "Separate values with commas and close the",
    ),
    "x = {": ('no value follows "="', 4, "Write a number, a word, a quoted value, or"),
    "x > = 3": ('no value follows ">"', 4, "The relations are =, !=, <, <=, >, >=,"),
    "x = 3%": ('"3" is followed by "%"', 5, "Put values that are not plain words or"),
}


@pytest.mark.parametrize("text", FORMULAS, ids=repr)
def test_formulas(text):
    _check(parse, text, *FORMULAS[text])


@pytest.mark.parametrize("text", CHOICES, ids=repr)
def test_choices(text):
    _check(parse, text, *CHOICES[text])


@pytest.mark.parametrize("text", RULES, ids=repr)
def test_rules(text):
    _check(parse_rule, text, *RULES[text])


def _check(read, text, problem, position, advice):
    with pytest.raises(FormulaSyntaxError) as caught:
        read(text)
    error = caught.value
    assert (error.problem, error.position) == (problem, position)
    assert error.advice.startswith(advice)
    assert error.advice.endswith(".")
    assert isinstance(error, ValueError)
    first, _, shown, carets, last = str(error).split("\n")
    assert (first, last) == (problem, error.advice)
    assert set(carets.strip()) == {"^"}
    line_start = text.rfind("\n", 0, position) + 1
    assert carets.index("^") == 4 + position - line_start
    if position < len(text) and text[position].isprintable():
        assert shown[carets.index("^")] == text[position]


def test_the_whole_message():
    with pytest.raises(FormulaSyntaxError) as caught:
        parse("(x1 & | x2) -> y")
    assert str(caught.value) == (
        "two connectives in a row\n"
        "\n"
        "    (x1 & | x2) -> y\n"
        "          ^\n"
        'Write an operand between "&" and "|".'
    )


def test_long_lines_are_cut_around_the_caret():
    text = "a & " * 1000 + "| b" + " & c" * 1000
    with pytest.raises(FormulaSyntaxError) as caught:
        parse(text)
    _, _, shown, carets, _ = str(caught.value).split("\n")
    assert len(shown) < 90
    assert shown.strip().startswith("…")
    assert shown.endswith("…")
    assert shown[carets.index("^")] == "|"


def test_errors_copy_and_pickle():
    with pytest.raises(FormulaSyntaxError) as caught:
        parse("a &\n& b")
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(again) == str(caught.value)
        assert again.position == 4


@given(st.text("ab&|~^()<->`':=\"{},.1 in\n", max_size=12) | st.text(max_size=8))
def test_any_text_is_read_or_refused_with_a_sentence(text):
    for read in (parse, parse_rule):
        error = None
        try:
            formula = read(text)
        except FormulaKernError as caught:
            error = caught
        if error is None:
            assert read(str(formula)) == formula
            continue
        assert isinstance(error, FormulaSyntaxError)
        assert 0 <= error.position <= len(text)
        assert error.advice.endswith(".")
        assert len(str(error)) < 800
