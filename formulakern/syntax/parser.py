"""The parser of formulas and rules: Lark builds the tree bottom-up, without recursion.

The message of a syntax error names the problem and the text to write instead.  It depends on the
place at which the parser stopped, and on the pieces of text before and after that place.
"""

from __future__ import annotations

import math
import pkgutil
import re
import unicodedata
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from formulakern.errors import FormulaSizeError, FormulaSyntaxError, FormulaTypeError
from formulakern.syntax.connectives import (
    BARE,
    CONNECTIVES,
    RESERVED_WORDS,
    Connective,
    unquote,
)
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable, from_sympy
from formulakern.syntax.leaves import (
    CHOICES,
    RELATIONS,
    Choice,
    ColumnName,
    Comparison,
    Value,
    degrees_problem,
)
from formulakern.syntax.temporal import PARTS, Temporal, part_number, read_temporal
from formulakern.text import clip

#: The largest number of characters of a text.
MAX_CHARACTERS = 1_000_000
#: The largest number of characters of a number in a rule.
MAX_DIGITS = 400

#: Alternative spellings of relations.
_RELATIONS = {"==": "=", **{unicode: name for name, (_, unicode, _) in RELATIONS.items()}}


def parse(text: Any) -> Formula:
    """Return the formula of a text, or of a Boolean expression of SymPy.

    ``grammar/README.md`` describes the language.

    Parameters
    ----------
    text : str or sympy expression
        For example ``"(a & ~b) | c"``; at most 1,000,000 characters.

    Returns
    -------
    Formula
        Its ``str`` parses back to an equal formula.

    Raises
    ------
    FormulaSyntaxError
        If the text is not a formula; a caret marks the place, and the message suggests a remedy.
    FormulaSizeError
        If the text is too long.
    FormulaTypeError
        If ``text`` is neither a str nor an expression of SymPy.
    FormulaError
        If an expression of SymPy contains anything except symbols and connectives.

    Notes
    -----
    The time is linear in the length of the text.  Nesting may be arbitrarily deep.

    Examples
    --------
    >>> parse("(a and not b) ∨ c")
    Formula('a & ~b | c')
    >>> parse("a & | b")
    Traceback (most recent call last):
    formulakern.errors.FormulaSyntaxError: two connectives in a row
    <BLANKLINE>
        a & | b
            ^
    Write an operand between "&" and "|".
    """
    if type(text).__module__.partition(".")[0] == "sympy":  # without importing SymPy
        return from_sympy(text)
    return _read(text, "formula")


def parse_rule(text: str) -> Formula:
    """Return the formula of a rule, whose leaves are comparisons and Boolean columns.

    Parameters, errors and cost are as for :func:`parse`.
    """
    return _read(text, "rule")


def _read(text: str, language: str) -> Formula:
    if not isinstance(text, str):
        raise FormulaTypeError(
            f"expected a {language} as a str; got {type(text).__name__}. "
            "Write for example 'a & ~b'."
        )
    if len(text) > MAX_CHARACTERS:
        raise FormulaSizeError(
            f"the text has {len(text):,} characters; the limit for a {language} is "
            f"{MAX_CHARACTERS:,}. Build it from parts with &, | and ~ instead."
        )
    try:
        formula: Formula = _parser(language).parse(text)
        return formula
    except UnexpectedInput as error:
        problem = explain(error, text, language)
    except FormulaSyntaxError as error:
        error.text = text
        raise
    raise problem  # without the parser's own error, which cannot be pickled


@cache
def _parser(language: str) -> Lark:
    return Lark(
        grammar(language),
        parser="lalr",
        transformer=_Builder(),
        propagate_positions=False,
        maybe_placeholders=False,
    )


def _bad_value(token: Token, problem: str, advice: str) -> FormulaSyntaxError:
    """Return the error for an invalid value that the grammar accepts; ``_read`` adds the text."""
    return FormulaSyntaxError(problem, "", token.start_pos or 0, advice, len(token))


# -- the grammar


def grammar(language: str) -> str:
    r"""Return the grammar of a language, from the table of connectives and Lark files."""
    files = [
        pkgutil.get_data("formulakern.grammar", f"{name}.lark") for name in ("shared", language)
    ]
    return "\n".join([*[(text or b"").decode() for text in files], *_ladder(), *_tokens()])


def _terminal(row: Connective) -> str:
    """Return the name of the terminal for a connective's spellings."""
    return f"SIGN_{row.name.upper()}"


def _ladder() -> list[str]:
    """Return a rule for every precedence, loosest first, each built from the next tighter one."""
    levels = sorted({row.precedence for row in CONNECTIVES})
    rules = ["formula", *[f"level_{level}" for level in levels[1:]], "atom"]
    lines = []
    for level, rule, tighter in zip(levels, rules, rules[1:], strict=False):
        lines.append(f"?{rule}: {tighter}")
        for row in CONNECTIVES:
            sign = _terminal(row)
            operation = {
                "prefix": f"{sign} {rule}",
                "flat": f"{tighter} ({sign} {tighter})+",
                "right": f"{tighter} {sign} {rule}",
                "refused": f"{tighter} {sign} {tighter}",
            }["prefix" if row.arity == 1 else row.chain]
            if row.precedence == level:
                lines.append(f"    | {operation} -> operation")
    return lines


def _tokens() -> list[str]:
    """Return the terminals of the connectives and of bare names."""
    reserved, bare = "|".join(sorted(RESERVED_WORDS)), BARE.pattern.removesuffix(r"\Z")
    return [
        *[f"{_terminal(row)}.{_priority(row)}: /{_spellings(row)}/i" for row in CONNECTIVES],
        rf"NAME: /(?!(?:{reserved})(?!\w)){bare}/i",
        f"WORD: /{bare}/",
    ]


def _spellings(row: Connective) -> str:
    """Return a pattern for the spellings, longest first, that ends at word boundaries."""
    patterns = []
    for sign in sorted(row.spellings, key=len, reverse=True):
        pattern = re.escape(sign).replace("/", r"\/") + (r"(?!\w)" if sign.isalpha() else "")
        if sign.endswith("-") and sign[:-1] in RELATIONS:  # "x <-1" compares x with -1
            pattern += "(?![0-9.])"
        patterns.append(pattern)
    return "|".join(patterns)


def _priority(row: Connective) -> int:
    """Return a priority above that of connectives whose sign begins a sign of this row."""
    begun = [
        other
        for other in CONNECTIVES
        if any(a != b and b.startswith(a) for a in other.spellings for b in row.spellings)
    ]
    return 1 + max((_priority(other) for other in begun if other is not row), default=0)


# -- the tree


class _Builder(Transformer):  # type: ignore[misc]  # lark is not analysed
    """The actions of both grammars, named by their rules and aliases."""

    def operation(self, children: list[Any]) -> Formula:
        sign = next(child for child in children if isinstance(child, Token))
        return Operation(_BY_TERMINAL[sign.type], [c for c in children if isinstance(c, Formula)])

    def true(self, _: list[Any]) -> Formula:
        return TRUE

    def false(self, _: list[Any]) -> Formula:
        return FALSE

    def name(self, children: list[Token]) -> str:
        return _word(children[0])

    def variable(self, names: list[str]) -> Formula:
        return Variable(*names)

    def choice(self, children: list[Any]) -> Formula:
        token, formula = children
        kind, _, brackets = token[:-1].partition("[")
        kind = kind.strip().lower()
        degrees = tuple(_degree(text) for text in brackets.split(","))
        problem = degrees_problem(kind, degrees)
        if problem:
            raise _bad_value(token, *problem)
        return Choice(kind, formula, degrees[-1], *degrees[:-1])  # type: ignore[arg-type]

    def comparison(self, children: list[Any]) -> Formula:
        left, sign, *values = children
        column, part = left if isinstance(left, tuple) else (left, None)
        relation = " ".join(sign.lower().split())
        relation = _RELATIONS.get(relation, relation)
        if part is not None:
            values = [_part_value(part, value, sign) for value in values]
        plain = tuple(_word(value) if isinstance(value, Token) else value for value in values)
        several = relation.endswith("in")
        value = plain if several else next(iter(plain), None)
        return Comparison(column, relation, value, part)

    def interval(self, children: list[Any]) -> Formula:
        least, below, left, sign, most = children
        above = Token(below.type, ">=" if below in ("<=", "≤") else ">")
        return self.comparison([left, above, least]) & self.comparison([left, sign, most])

    def part(self, children: list[Any]) -> tuple[str, str]:
        word, column = children
        return column, word.lower()

    def temporal(self, children: list[Token]) -> Temporal:
        token = children[0]
        value = read_temporal(token)
        if value is None:
            raise _bad_value(
                token,
                "this date, time or duration does not exist",
                "Write for example 2020-02-01T10:30, 10:30, or 1d12h.",
            )
        return value

    def number(self, children: list[Token]) -> int | float:
        token = children[0]
        if len(token) > MAX_DIGITS or not math.isfinite(float(token)):
            raise _bad_value(
                token,
                "a number is out of range",
                f"Write at most {MAX_DIGITS} characters, and a number below 1.8e308 in size.",
            )
        return int(token) if token.lstrip("+-").isdecimal() else float(token)

    def other_column(self, children: list[Token]) -> ColumnName:
        return ColumnName(_word(children[0]))


_BY_TERMINAL = {_terminal(row): row for row in CONNECTIVES}


def _word(token: Token) -> str:
    """Return a word without its quotes or backquotes."""
    return unquote(token) if token[0] in "`\"'" else str(token)


def _part_value(part: str, value: Any, sign: Token) -> Value:
    """Return the number of a part of a date, given as a number or word."""
    number = part_number(part, _word(value)) if isinstance(value, Token) else value
    least, largest = PARTS[part]
    if isinstance(number, int) and least <= number <= largest:
        return number
    token = value if isinstance(value, Token) else sign
    example = {"month": "a month such as June", "weekday": "a weekday such as Monday"}
    numbers = "the number of a year" if part == "year" else f"a number from {least} to {largest}"
    raise _bad_value(
        token,
        f"the {part} is compared with a value that it cannot have",
        f"Write {' or '.join([*filter(None, [example.get(part)]), numbers])}.",
    )


def _degree(text: str) -> int | str:
    """Return the whole number in a text, or the text if it is not a whole number."""
    word = text.strip()
    digits = word.removeprefix("-")
    return int(word) if digits.isdecimal() and len(digits) <= MAX_DIGITS else word[:20]


# -- syntax errors

_ROW_OF = {spelling: row for row in CONNECTIVES for spelling in row.spellings}
#: Signs of comparisons; "in" and the others are words.
_COMPARING = ("==", "!=", "<=", ">=", "=", "<", ">", "≠", "≤", "≥", "∈", "∉")

_SIGNS = "|".join(
    re.escape(sign)
    for sign in sorted({">>", *_COMPARING, *_ROW_OF}, key=len, reverse=True)
    if not sign.isalpha()
)
#: The sign, word or single character at a place, and the last one of a text.
_TOKEN = re.compile(rf"[\w.]+|{_SIGNS}|.", re.DOTALL)
_LAST_TOKEN = re.compile(rf"(?:\w+|{_SIGNS}|.)\Z", re.DOTALL)
#: A number, date or time at the end, perhaps followed by an order sign and a column.
_HALF_INTERVAL = re.compile(
    r"(?<![\w.])([+-]?\d[\w.:+-]*)(\s*(?:<=|<|≤)\s*(?:\w+|`[^`]+`|\w+\s*\([^()]*\)))?\Z"
)
#: The signs that a value follows.
_VALUES_FOLLOW = (*_COMPARING, "{", ",")
#: The beginning of a choice such as ``all[2](x)``: the word, and the word with its brackets.
_CHOICE_WORD = re.compile(rf"\b({'|'.join(CHOICES)})\s*\Z", re.IGNORECASE)
_CHOICE_HEAD = re.compile(rf"\b({'|'.join(CHOICES)})\s*\[[^\[\]()]*\]\Z", re.IGNORECASE)
#: The number of characters that are read before the place, and of a word that are shown.
_LOOK_BACK, _SHOWN = 200, 21

#: Advice for signs of other languages.
_ELSEWHERE = {
    "+": '"+" is not a connective; write "|" for or, "^" for exclusive or.',
    "*": '"*" is not a connective; write "&" for and.',
    ">>": '">>" works on formula objects; in text write "->" for implies.',
    "·": 'Write "&" for and.',
    "\\": 'Write "&" for and, "|" for or.',
    "/": 'Write "|" for or.',
    "⋀": 'Write "&" or "∧" for and.',
    "⋁": 'Write "|" or "∨" for or.',
    "⊻": 'Write "^" or "⊕" for exclusive or.',
    **dict.fromkeys("-−", 'Write "~" for not, "->" for implies.'),
    **dict.fromkeys("‐–—⊃", 'Write "->" for implies.'),
    **dict.fromkeys("∼˜", 'Write "~" or "¬" for not.'),
    **dict.fromkeys("[]", "Group with parentheses."),
    **dict.fromkeys("'\"", "Write a name without quotes, or in backquotes."),
    **dict.fromkeys("∀∃", "Formulas are propositional and have no quantifiers."),
}
_EXAMPLE = {"formula": '"a & ~b"', "rule": '"odor = foul & gill_size >= 3"'}


def explain(error: UnexpectedInput, text: str, language: str) -> FormulaSyntaxError:
    """Return the :class:`FormulaSyntaxError` for an error of the parser."""
    token = getattr(error, "token", None)
    position, came = error.pos_in_stream, ""
    if isinstance(token, Token):
        position, came = (None, "") if token.type == "$END" else (token.start_pos, str(token))
    if position is None or position < 0:
        position = len(text)
    piece = _TOKEN.match(text, position)
    if piece and (not came or piece.group() == "!="):  # the parser reads its "!" as "not"
        came = piece.group()
    problem, advice, start = (*_message(text, position, came, language), position)[:3]
    width = len(came) if start == position else 1
    return FormulaSyntaxError(problem, text, start, advice, width)


def _message(text: str, position: int, came: str, language: str) -> tuple[Any, ...]:
    """Return the problem, the advice, and the place of the caret if it is not ``position``.

    The parser stopped at ``position``, at the piece of text ``came`` (empty at the end).
    """
    rule, template = language == "rule", language == "formula"
    before = text[:position].rstrip()
    end, tail = len(before), before[-_LOOK_BACK:]
    last = _LAST_TOKEN.search(tail).group() if tail else ""  # type: ignore[union-attr]
    operand = _ends_operand(last)
    row = _ROW_OF.get(came.lower())
    opened = _unclosed(text[:position])
    bracket = "" if opened is None else text[opened]

    if not text.strip():
        return f"the {language} is empty", f"Write for example {_EXAMPLE[language]}.", 0
    if came == "`" and text.startswith("``", position):
        return "a name in backquotes is empty", "Write a name between them."
    if came == "`":
        advice = "Close it with a backquote; a backquote inside a name is doubled."
        return "a name has no closing backquote", advice
    if rule and came in ('"', "'"):
        if last in (*_COMPARING, ",", "{"):
            return "a value has no closing quote", f"Close it with {came}."
        advice = "Write a column and a relation before it; quote columns with backquotes."
        return "a quoted word is a value, but no comparison precedes it", advice

    head, word = _CHOICE_HEAD.search(tail), _CHOICE_WORD.search(tail)
    if template and head and came != "(":
        problem = f'no formula in parentheses follows "{clip(head.group(), _SHOWN)}"'
        advice = "Write the formula to choose from in parentheses, as in all[2](x)."
        return problem, advice, position if came else end
    if template and word and came == "[":
        advice = "Write the degrees in brackets, then the formula, as in all[2](x) or "
        advice += "atleast[2,3](x)."
        return f'the brackets after "{word.group(1)}" are not closed', advice
    ended = f'the text ends after "{last}"'
    half = _HALF_INTERVAL.search(before) if rule and came not in _COMPARING else None
    ahead = before[: half.start()].rstrip() if half else ""
    if half is not None and ahead.endswith("=>"):
        return '"=>" means "implies"', 'For "at least" write ">=".', half.start()
    if half is not None and not ahead.endswith(_VALUES_FOLLOW):
        shown = clip(half.group(1), _SHOWN)
        if half.group(2):
            advice = "Write an interval as 3 <= x <= 5, one end as x >= 3."
            return f'the interval from "{shown}" has no upper end', advice, half.start()
        advice = "A comparison begins with a column; put a column's name in backquotes."
        problem = f'"{shown}" is neither a name nor one of the constants 0 and 1'
        return problem, advice, half.start()
    if rule and last in _COMPARING:
        problem = f'no value follows "{last}"' if came else ended
        if came and came[0] in "=<>!":
            return problem, "The relations are =, !=, <, <=, >, >=, written without inner spaces."
        return problem, "Write a number, a word, a quoted value, or a column in backquotes."

    if not came:
        if rule and last.lower() == "in":
            return ended, "Write a set of values after it, as in cap in {red, blue}.", end
        if rule and last == "," and bracket:
            return ended, 'Write another value, and close the set with "}".', end
        if last == ":":
            return ended, "Write the name of a domain after it.", end
        if not operand and last not in "({":
            return ended, "Write an operand after it.", end
        closing = {"(": ")", "{": "}"}.get(bracket)
        if closing:
            return f'"{bracket}" is never closed', f'Add the missing "{closing}".', opened
        return "the text ends too early", "Complete it.", end

    if template and came in _COMPARING:
        advice = "Comparisons over columns belong to fk.rule(...); in a template formula write "
        advice += 'names, and "<->" for "has the same truth value".'
        return f'"{came}" is not a connective', advice
    if came in _COMPARING:
        advice = "Write column, relation, value, as in gill_size >= 3; write an interval as "
        advice += "3 <= x <= 5."
        return f'"{came}" needs a column on its left', advice
    if template and last == ":":
        advice = "Write the name of a group of columns, as in a:symptom."
        return 'the domain after ":" has no name', advice
    if bracket == "{":
        advice = 'Separate values with commas and close the set with "}".'
        return "a set of values is not finished", advice

    if row is not None and row.arity == 2:
        if operand:
            level = [
                other.name
                for other in CONNECTIVES
                if other.precedence == row.precedence and other.chain == "refused"
            ]
            advice = "Tools disagree on the meaning without them; put the part before "
            advice += f'"{came}", or the part after it, in parentheses.'
            return f"a chain with {' or '.join(level)} needs parentheses", advice
        if not last:
            return f'the text begins with "{came}"', "Write an operand before it."
        if last == "(":
            return f'"{came}" right after "("', "Write an operand between them."
        return "two connectives in a row", f'Write an operand between "{last}" and "{came}".'

    if came == ")":
        if opened is None:
            return '")" has no matching "("', 'Remove it, or add the missing "(".'
        if last == "(":
            return "the parentheses are empty", "Write a formula inside."
        if not operand:
            return f'"{last}" right before ")"', "Write an operand between them."
        return '")" is not expected here', "Check the parentheses."

    if template and came == ":":
        advice = "A domain follows its variable, once, as in a:symptom."
        return 'a ":" is not allowed here', advice
    if came[0] in "{},":
        advice = "Braces and commas are only for sets of values in a rule: cap in {red, blue}."
        return f'"{came[0]}" is not allowed here', advice

    number = came[0].isdigit() or (came[0] == "." and came[1:2].isdigit())
    begins = number or came[0].isalpha() or came[0] in "_`⊤⊥(" or row is not None
    if rule and operand and came.lower() == "is":
        problem = f'expected "missing" or "not missing" after "{came}"'
        return problem, "Compare with a value by = or !=, as in cap = red."
    if rule and operand and begins and not number and last.lower() == "in":
        problem = f'expected a set of values after "{last}"'
        return problem, "Write it in braces, as in cap in {red, blue}."
    if begins and operand:
        advice = 'Write "&", "|" or another connective between them.'
        return "two operands without a connective", advice
    if template and number:
        shown = clip(came, _SHOWN)
        advice = "Names begin with a letter or underscore; put others in backquotes: "
        advice += f"`{shown}`."
        return f'"{shown}" is neither a name nor one of the constants 0 and 1', advice
    if begins and bracket and last not in ("(", "") and came != "(":
        return "an operand is not expected here", "Check the signs before it."
    if rule and operand and not text[position - 1].isspace():
        advice = "Put values that are not plain words or numbers in quotes, columns in backquotes."
        return f'"{clip(last, _SHOWN)}" is followed by {_quoted(came[0])}', advice
    for sign in (came[:2], came[0]):
        if sign in _ELSEWHERE:
            return f"{_quoted(sign)} has no meaning here", _ELSEWHERE[sign]
    name = unicodedata.name(came[0], "a control character")
    sign = f"{_quoted(came[0])} " if came[0].isprintable() else ""
    return (
        f"the character {sign}(U+{ord(came[0]):04X}, {name}) has no meaning here",
        "Names consist of letters, digits and underscores; put others in backquotes.",
    )


def _ends_operand(last: str) -> bool:
    """Return True if the last piece before the place is the end of an operand."""
    if not last or last.lower() in _ROW_OF:
        return False
    mark = last[-1]
    return mark in ")`}\"'⊤⊥_" or mark.isalnum() or unicodedata.category(mark).startswith("M")


def _quoted(sign: str) -> str:
    """Return a sign in quotes that differ from the sign."""
    if not sign.isprintable():
        return f"U+{ord(sign[0]):04X}"
    return f"'{sign}'" if sign == '"' else f'"{sign}"'


def _unclosed(before: str) -> int | None:
    """Return the position of the innermost bracket that is open at the end of ``before``."""
    open_brackets: list[int] = []
    quote = ""
    for position, character in enumerate(before):
        if quote:
            quote = "" if character == quote else quote
        elif character in "`\"'":
            quote = character
        elif character in "({":
            open_brackets.append(position)
        elif character in ")}" and open_brackets:
            open_brackets.pop()
    return open_brackets[-1] if open_brackets else None
