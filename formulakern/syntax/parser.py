"""Text to formula: Lark builds the tree while it reads, bottom-up and without recursion."""

from __future__ import annotations

import math
import pkgutil
import re
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from formulakern.errors import FormulaSizeError, FormulaSyntaxError, FormulaTypeError
from formulakern.syntax.connectives import CONNECTIVES, Connective
from formulakern.syntax.diagnostics import explain
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable, from_sympy
from formulakern.syntax.leaves import (
    RELATIONS,
    Choice,
    ColumnName,
    Comparison,
    Value,
    degrees_problem,
)
from formulakern.syntax.notation import BARE, RESERVED_WORDS, unquote
from formulakern.syntax.temporal import PARTS, Temporal, part_number, read_temporal

__all__ = ["MAX_CHARACTERS", "grammar", "parse", "parse_rule"]

#: A longer text is refused before it is read.
MAX_CHARACTERS = 1_000_000
#: A number in a rule has at most this many characters.
MAX_DIGITS = 400

#: Spellings of a relation beside its own.
_RELATIONS = {"==": "=", **{unicode: name for name, (_, unicode, _) in RELATIONS.items()}}


def parse(text: Any) -> Formula:
    """Read a template formula, or a Boolean expression of SymPy.

    The language, by precedence, is described in ``grammar/README.md``.

    Parameters
    ----------
    text : str or sympy expression
        For example ``"(a & ~b) | c"``; at most 1,000,000 characters.

    Returns
    -------
    Formula
        ``str`` of it parses back to an equal formula.

    Raises
    ------
    FormulaSyntaxError
        With one sentence, a caret under the place, and what to write instead.
    FormulaSizeError
        If the text is too long.
    FormulaTypeError
        If it is neither.
    FormulaError
        If an expression of SymPy holds something else than symbols and connectives.

    Notes
    -----
    Linear in the length of the text; no recursion, so nesting may be arbitrarily deep.

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
    if type(text).__module__.partition(".")[0] == "sympy":  # which is not loaded to find out
        return from_sympy(text)
    return _read(text, "formula")


def parse_rule(text: str) -> Formula:
    """Read a concrete rule over named columns; its leaves are comparisons and Boolean columns.

    Parameters, errors and cost are those of :func:`parse`.

    Examples
    --------
    >>> parse_rule("odor = foul & gill_size >= 3 & ~(cap in {red, blue})")
    Formula('odor = foul & gill_size >= 3 & ~(cap in {red, blue})')
    """
    return _read(text, "rule")


def _read(text: str, language: str) -> Formula:
    if not isinstance(text, str):
        raise FormulaTypeError(
            f"a {language} is read from a str; got {type(text).__name__}. "
            "Write for example 'a & ~b'."
        )
    if len(text) > MAX_CHARACTERS:
        raise FormulaSizeError(
            f"the text has {len(text):,} characters; a {language} may have at most "
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
    raise problem  # without the parser's own error, which no cluster can send


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
    """Return the error for a value that only the grammar accepts; ``_read`` adds the text."""
    return FormulaSyntaxError(problem, "", token.start_pos or 0, advice, len(token))


# -- the grammar


def grammar(language: str) -> str:
    r"""Return the grammar of a language: signs from the table of connectives, and Lark files.

    >>> [line.strip() for line in grammar("formula").splitlines() if "SIGN_XOR" in line]
    ['| level_5 (SIGN_XOR level_5)+ -> operation', 'SIGN_XOR.1: /xor(?!\\w)|\\^|⊕/i']
    """
    files = [
        pkgutil.get_data("formulakern.grammar", f"{name}.lark") for name in ("shared", language)
    ]
    return "\n".join([*[(text or b"").decode() for text in files], *_ladder(), *_tokens()])


def _terminal(row: Connective) -> str:
    """Return the name of the terminal that reads a connective's spellings."""
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
    """Return a pattern for the spellings, longest first; "android" is a name, not "and"."""
    patterns = []
    for sign in sorted(row.spellings, key=len, reverse=True):
        pattern = re.escape(sign).replace("/", r"\/") + (r"(?!\w)" if sign.isalpha() else "")
        if sign.endswith("-") and sign[:-1] in RELATIONS:  # "x <-1" compares x with -1
            pattern += "(?![0-9.])"
        patterns.append(pattern)
    return "|".join(patterns)


def _priority(row: Connective) -> int:
    """Return a priority above connectives whose sign begins one of this row's: ``~&``, ``~``."""
    begun = [
        other
        for other in CONNECTIVES
        if any(a != b and b.startswith(a) for a in other.spellings for b in row.spellings)
    ]
    return 1 + max((_priority(other) for other in begun if other is not row), default=0)


# -- the tree


class _Builder(Transformer):  # type: ignore[misc]  # lark is not analysed
    """The actions of both grammars, named by the rules and aliases in them."""

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

    def part(self, children: list[Any]) -> tuple[str, str]:
        word, column = children
        return column, word.lower()

    def temporal(self, children: list[Token]) -> Temporal:
        token = children[0]
        value = read_temporal(token)
        if value is None:
            raise _bad_value(
                token,
                "there is no such date, time or duration",
                "Write for example 2020-02-01T10:30, 10:30, or 1d12h.",
            )
        return value

    def number(self, children: list[Token]) -> int | float:
        token = children[0]
        if len(token) > MAX_DIGITS or not math.isfinite(float(token)):
            raise _bad_value(
                token,
                "a number is out of range",
                f"Write one of at most {MAX_DIGITS} characters, below 1.8e308 in size.",
            )
        return int(token) if token.lstrip("+-").isdecimal() else float(token)

    def other_column(self, children: list[Token]) -> ColumnName:
        return ColumnName(_word(children[0]))


_BY_TERMINAL = {_terminal(row): row for row in CONNECTIVES}


def _word(token: Token) -> str:
    """Return a bare word as it is, one in quotes or backquotes without them."""
    return unquote(token) if token[0] in "`\"'" else str(token)


def _part_value(part: str, value: Any, sign: Token) -> Value:
    """Return a number of a part of the calendar, from its number or word."""
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
    """Return a whole number, or the text that is none."""
    word = text.strip()
    digits = word.removeprefix("-")
    return int(word) if digits.isdecimal() and len(digits) <= MAX_DIGITS else word[:20]
