"""Syntax errors in one sentence: what stood before the place, what came there, what to write.

The parser tells where it stopped; the words are chosen from the piece of text before that place
(an operand, a connective, an opening parenthesis, the start) and the piece that came.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedInput

from formulakern.errors import FormulaSyntaxError
from formulakern.syntax.connectives import CONNECTIVES
from formulakern.syntax.leaves import CHOICES
from formulakern.text import clip

__all__ = ["explain"]

_ROW_OF = {spelling: row for row in CONNECTIVES for spelling in row.spellings}
_RELATIONS = ("==", "!=", "<=", ">=", "=", "<", ">", "≠", "≤", "≥", "∈", "∉")

_SIGNS = "|".join(
    re.escape(sign)
    for sign in sorted({">>", *_RELATIONS, *_ROW_OF}, key=len, reverse=True)
    if not sign.isalpha()
)
#: The sign, word or single character at a place; and the one that ends a text.
_PIECE = re.compile(rf"[\w.]+|{_SIGNS}|.", re.DOTALL)
_LAST_PIECE = re.compile(rf"(?:\w+|{_SIGNS}|.)\Z", re.DOTALL)
#: The beginning of a choice such as ``all[2](x)``: the word, and the word with its brackets.
_CHOICE_WORD = re.compile(rf"\b({'|'.join(CHOICES)})\s*\Z", re.IGNORECASE)
_CHOICE_HEAD = re.compile(rf"\b({'|'.join(CHOICES)})\s*\[[^\[\]()]*\]\Z", re.IGNORECASE)
#: How many characters before the place are looked at, and how many of a word are shown.
_LOOK_BACK, _SHOWN = 200, 21

#: A sign from elsewhere, and what it is here.
_ELSEWHERE = {
    "+": '"+" is not a connective here; write "|" for or, "^" for exclusive or.',
    "*": '"*" is not a connective here; write "&" for and.',
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
    **dict.fromkeys("∀∃", "Formulas are propositional: there are no quantifiers."),
}
_EXAMPLE = {"formula": '"a & ~b"', "rule": '"odor = foul & gill_size >= 3"'}


def explain(error: UnexpectedInput, text: str, language: str) -> FormulaSyntaxError:
    """Turn the parser's complaint into a :class:`FormulaSyntaxError` in the user's words."""
    token = getattr(error, "token", None)
    position, came = error.pos_in_stream, ""
    if isinstance(token, Token):
        position, came = (None, "") if token.type == "$END" else (token.start_pos, str(token))
    if position is None or position < 0:
        position = len(text)
    piece = _PIECE.match(text, position)
    if piece and (not came or piece.group() == "!="):  # which is no negation
        came = piece.group()
    problem, advice, start = (*_message(text, position, came, language), position)[:3]
    width = len(came) if start == position else 1
    return FormulaSyntaxError(problem, text, start, advice, width)


def _message(text: str, position: int, came: str, language: str) -> tuple[Any, ...]:
    """Return the problem, the advice, and where the caret goes if that is not ``position``.

    The first case that applies counts.

    Parameters
    ----------
    text : str
    position : int
        Where the parser stopped.
    came : str
        The piece of text at this place; empty at the end.
    language : {"formula", "rule"}
    """
    rule, template = language == "rule", language == "formula"
    before = text[:position].rstrip()
    end, tail = len(before), before[-_LOOK_BACK:]
    last = _LAST_PIECE.search(tail).group() if tail else ""  # type: ignore[union-attr]
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
        return "a name in backquotes does not end", advice
    if rule and came in ('"', "'"):
        if last in (*_RELATIONS, ",", "{"):
            return "a quoted value does not end", f"Close it with {came}."
        advice = "Write a column and a relation before it; quote columns with backquotes."
        return "a quoted word is a value, and no comparison stands before it", advice

    head, word = _CHOICE_HEAD.search(tail), _CHOICE_WORD.search(tail)
    if template and head and came != "(":
        problem = f'no formula in parentheses follows "{clip(head.group(), _SHOWN)}"'
        advice = "Write the formula to choose from in parentheses, as in all[2](x)."
        return problem, advice, position if came else end
    if template and word and came == "[":
        advice = "Write the degrees in brackets, then the formula, as in all[2](x) or "
        advice += "atleast[2,3](x)."
        return f'the brackets after "{word.group(1)}" do not end', advice
    ended = f'the text ends after "{last}"'
    if rule and last in _RELATIONS:
        problem = f'no value stands after "{last}"' if came else ended
        if came and came[0] in "=<>!":
            return problem, "The relations are =, !=, <, <=, >, >=, written without blanks inside."
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

    if template and came in _RELATIONS:
        advice = "Comparisons over columns belong to fk.rule(...); in a template formula write "
        advice += 'names, and "<->" for "has the same truth value".'
        return f'"{came}" is not a connective', advice
    if came in _RELATIONS:
        advice = "Write column, relation, value, as in gill_size >= 3; join two comparisons with "
        advice += "&: x >= 3 & x <= 5."
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
            advice = "Tools disagree on what it means without; put what stands before "
            advice += f'"{came}", or what stands after it, in parentheses.'
            return f"a chain with {' or '.join(level)} needs parentheses", advice
        if not last:
            return f'the text begins with "{came}"', "Write an operand before it."
        if last == "(":
            return f'"{came}" right after "("', "Write an operand between them."
        return "two connectives in a row", f'Write an operand between "{last}" and "{came}".'

    if came == ")":
        if opened is None:
            return '")" closes nothing', 'Remove it, or add the missing "(".'
        if last == "(":
            return "nothing stands between the parentheses", "Write a formula inside."
        if not operand:
            return f'"{last}" right before ")"', "Write an operand between them."
        return '")" is not expected here', "Check the parentheses."

    if template and came == ":":
        advice = "A domain follows its variable, once, as in a:symptom."
        return 'a ":" has no place here', advice
    if came[0] in "{},":
        advice = "Braces and commas only write sets of values in a rule, as in cap in {red, blue}."
        return f'"{came[0]}" has no place here', advice

    number = came[0].isdigit() or (came[0] == "." and came[1:2].isdigit())
    begins = number or came[0].isalpha() or came[0] in "_`⊤⊥(" or row is not None
    if rule and operand and came.lower() == "is":
        problem = f'after "{came}" stands "missing" or "not missing"'
        return problem, "Compare with a value by = or !=, as in cap = red."
    if rule and operand and begins and not number and last.lower() == "in":
        problem = f'a set of values is expected after "{last}"'
        return problem, "Write it in braces, as in cap in {red, blue}."
    if begins and operand:
        advice = 'Write "&", "|" or another between them.'
        return "two operands without a connective", advice
    if rule and number and last == "=>":
        return '"=>" means "implies"', 'For "at least" write ">=".'
    if number:
        shown = clip(came, _SHOWN)
        advice = "A comparison begins with a column; put a column's name in backquotes."
        if template:
            advice = "Names begin with a letter or underscore; put others in backquotes: "
            advice += f"`{shown}`."
        return f'"{shown}" is neither a name nor one of the constants 0 and 1', advice
    if begins and bracket and last not in ("(", "") and came != "(":
        return "an operand is not expected here", "Check the signs before it."
    if rule and operand and not text[position - 1].isspace():
        advice = "Put values that are not plain words or numbers in quotes, columns in backquotes."
        return f'"{clip(last, _SHOWN)}" goes on with {_quoted(came[0])}', advice
    for sign in (came[:2], came[0]):
        if sign in _ELSEWHERE:
            return f"{_quoted(sign)} has no meaning here", _ELSEWHERE[sign]
    name = unicodedata.name(came[0], "a control character")
    sign = f"{_quoted(came[0])} " if came[0].isprintable() else ""
    return (
        f"the character {sign}(U+{ord(came[0]):04X}, {name}) has no meaning here",
        "Names hold letters, digits and underscores; put others in backquotes.",
    )


def _ends_operand(last: str) -> bool:
    """Return whether the last piece before the place is the end of an operand."""
    if not last or last.lower() in _ROW_OF:
        return False
    mark = last[-1]
    return mark in ")`}\"'⊤⊥_" or mark.isalnum() or unicodedata.category(mark).startswith("M")


def _quoted(sign: str) -> str:
    """Return a sign in quotes that are not the sign itself."""
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
