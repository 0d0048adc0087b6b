"""Syntax errors in one sentence: what stood before the place, what came there, what to write.

The parser tells where it stopped; the words are chosen from the piece of text before that place
(an operand, a connective, an opening parenthesis, the start) and the piece that came.
"""

from __future__ import annotations

import re
import unicodedata

from lark import Token
from lark.exceptions import UnexpectedInput

from formulakern.errors import FormulaSyntaxError
from formulakern.syntax.connectives import CONNECTIVES, Connective

__all__ = ["explain"]

_SPELLINGS: dict[str, Connective] = {
    spelling: row for row in CONNECTIVES for spelling in row.spellings
}
_SIGNS = sorted((s for s in _SPELLINGS if not s.isalpha()), key=len, reverse=True)
_RELATIONS = ("==", "!=", "<=", ">=", "=", "<", ">", "≠", "≤", "≥", "∈", "∉")

#: A sign from elsewhere, and what it is here.
_ELSEWHERE = {
    "+": '"+" is not a connective here; write "|" for or, "^" for exclusive or.',
    "*": '"*" is not a connective here; write "&" for and.',
    ">>": '">>" works on formula objects; in text write "->" for implies.',
    "·": 'Write "&" for and.',
    "-": 'Write "~" for not, "->" for implies.',
    "−": 'Write "~" for not, "->" for implies.',
    "‐": 'Write "->" for implies.',
    "–": 'Write "->" for implies.',
    "—": 'Write "->" for implies.',
    "\\": 'Write "&" for and, "|" for or.',
    "/": 'Write "|" for or.',
    "⊃": 'Write "->" for implies.',
    "⋀": 'Write "&" or "∧" for and.',
    "⋁": 'Write "|" or "∨" for or.',
    "⊻": 'Write "^" or "⊕" for exclusive or.',
    "∼": 'Write "~" or "¬" for not.',
    "˜": 'Write "~" or "¬" for not.',
    "[": "Group with parentheses.",
    "]": "Group with parentheses.",
    "'": "Write a name without quotes, or in backquotes.",
    '"': "Write a name without quotes, or in backquotes.",
    "∀": "Formulas are propositional: there are no quantifiers.",
    "∃": "Formulas are propositional: there are no quantifiers.",
}
_COMPARISON_ADVICE = (
    "Comparisons over columns belong to fk.rule(...); in a template formula write names, "
    'and "<->" for "has the same truth value".'
)


def explain(error: UnexpectedInput, text: str, language: str) -> FormulaSyntaxError:
    """Turn the parser's complaint into a :class:`FormulaSyntaxError` in the user's words."""
    token = getattr(error, "token", None)
    if isinstance(token, Token) and token.type != "$END":
        position, came = token.start_pos or 0, str(token)
    elif isinstance(token, Token) or error.pos_in_stream is None or error.pos_in_stream < 0:
        position, came = len(text), ""
    else:
        position = error.pos_in_stream
        came = _piece(text, position)
    if not text.strip():
        return FormulaSyntaxError(
            f"the {language} is empty", text, 0, "Write for example " + _EXAMPLE[language] + "."
        )
    before = text[:position].rstrip()
    problem, advice, start = _classify(text, position, before, came, language)
    width = len(came) if start == position else 1
    return FormulaSyntaxError(problem, text, start, advice, width)


_EXAMPLE = {"formula": '"a & ~b"', "rule": '"odor = foul & gill_size >= 3"'}


def _classify(
    text: str, position: int, before: str, came: str, language: str
) -> tuple[str, str, int]:
    """The problem, the advice, and where the caret goes."""
    unclosed = _unclosed(text[:position])
    last = _last_piece(before)
    after_operand = _ends_operand(before, last)
    row = _SPELLINGS.get(came.lower())
    if came == "`":
        if text.startswith("``", position):
            return "a name in backquotes is empty", "Write a name between them.", position
        return (
            "a name in backquotes does not end",
            "Close it with a backquote; a backquote inside a name is doubled.",
            position,
        )
    if came in ('"', "'") and language == "rule":
        return (
            ("a quoted value does not end", f"Close it with {came}.", position)
            if last in _RELATIONS or last in (",", "{")
            else (
                "a quoted word is a value, and no comparison stands before it",
                "Write a column and a relation before it; quote columns with backquotes.",
                position,
            )
        )
    if language == "formula":
        choice = _unfinished_choice(text, position, before, came)
        if choice is not None:
            return choice
    if last in _RELATIONS and not after_operand and language == "rule":
        return (
            f'no value stands after "{last}"' if came else f'the text ends after "{last}"',
            "The relations are =, !=, <, <=, >, >=, written without blanks inside."
            if came and came[0] in "=<>!"
            else "Write a number, a word, a quoted value, or a column in backquotes.",
            position,
        )
    if not came:
        return _ended_early(text, before, last, after_operand, unclosed, language)
    if came in _RELATIONS or (came == "!" and text.startswith("!=", position)):
        if language == "formula":
            sign = "!=" if came == "!" else came
            return f'"{sign}" is not a connective', _COMPARISON_ADVICE, position
        return _misplaced_relation(came, position)
    if last == ":" and language == "formula":
        return (
            'the domain after ":" has no name',
            "Write the name of a group of columns, as in a:symptom.",
            position,
        )
    if unclosed is not None and text[unclosed] == "{":
        return (
            "a set of values is not finished",
            'Separate values with commas and close the set with "}".',
            position,
        )
    if row is not None and row.arity == 2:
        return _misplaced_connective(row, came, last, after_operand, position)
    if came == ")":
        return _misplaced_closing(last, after_operand, unclosed, position)
    if came == ":" and language == "formula":
        return (
            'a ":" has no place here',
            "A domain follows its variable, once, as in a:symptom.",
            position,
        )
    if came[0] in "{}" or came == ",":
        return (
            f'"{came[0]}" has no place here',
            "Braces and commas only write sets of values in a rule, as in cap in {red, blue}.",
            position,
        )
    if came[0].isdigit() or (came[0] == "." and came[1:2].isdigit()):
        if after_operand:
            return _two_operands(position)
        if last == "=>" and language == "rule":
            return '"=>" means "implies"', 'For "at least" write ">=".', position
        return (
            f'"{_clip(came)}" is neither a name nor one of the constants 0 and 1',
            f"Names begin with a letter or underscore; put others in backquotes: `{_clip(came)}`."
            if language == "formula"
            else "A comparison begins with a column; put a column's name in backquotes.",
            position,
        )
    if _looks_like_operand(came) or came == "(" or row is not None:
        if after_operand and came.lower() == "is" and language == "rule":
            return (
                f'after "{came}" stands "missing" or "not missing"',
                "Compare with a value by = or !=, as in cap = red.",
                position,
            )
        if after_operand and last.lower() == "in" and language == "rule":
            return (
                f'a set of values is expected after "{last}"',
                "Write it in braces, as in cap in {red, blue}.",
                position,
            )
        if after_operand:
            return _two_operands(position)
        if unclosed is not None and last not in ("(", "") and came != "(":
            return "an operand is not expected here", "Check the signs before it.", position
    if language == "rule" and after_operand and not text[position - 1].isspace():
        return (
            f'"{_clip(last)}" goes on with {_shown(came[0])}',
            "Put values that are not plain words or numbers in quotes, columns in backquotes.",
            position,
        )
    for sign in (came[:2], came[0]):
        if sign in _ELSEWHERE:
            return f"{_shown(sign)} has no meaning here", _ELSEWHERE[sign], position
    return _unknown_character(came[0], position)


_CHOICE_WORD = re.compile(r"\b(all|any|atleast|exactly)\s*\Z", re.IGNORECASE)
_CHOICE_HEAD = re.compile(r"\b(all|any|atleast|exactly)\s*\[[^\[\]()]*\]\Z", re.IGNORECASE)


def _unfinished_choice(
    text: str, position: int, before: str, came: str
) -> tuple[str, str, int] | None:
    """A choice such as ``all[2](x)`` that lacks its closing bracket or its formula."""
    tail = before[-200:]
    head = _CHOICE_HEAD.search(tail)
    if head and came != "(":
        return (
            f'no formula in parentheses follows "{_clip(head.group())}"',
            "Write the formula to choose from in parentheses, as in all[2](x).",
            position if came else len(before),
        )
    word = _CHOICE_WORD.search(tail)
    if word and text.startswith("[", position):
        return (
            f'the brackets after "{word.group(1)}" do not end',
            "Write the degrees in brackets, then the formula, as in all[2](x) or atleast[2,3](x).",
            position,
        )
    return None


def _ended_early(
    text: str, before: str, last: str, after_operand: bool, unclosed: int | None, language: str
) -> tuple[str, str, int]:
    if language == "rule" and last.lower() == "in":
        advice = "Write a set of values after it, as in cap in {red, blue}."
        return f'the text ends after "{last}"', advice, len(before)
    if language == "rule" and last == "," and unclosed is not None:
        advice = 'Write another value, and close the set with "}".'
        return 'the text ends after ","', advice, len(before)
    if not after_operand and last not in ("(", "{"):
        if last == ":":
            return 'the text ends after ":"', "Write the name of a domain after it.", len(before)
        return (
            f'the text ends after "{last}"',
            "Write an operand after it.",
            len(before),
        )
    if unclosed is not None:
        sign, closing = text[unclosed], {"(": ")", "{": "}"}[text[unclosed]]
        return f'"{sign}" is never closed', f'Add the missing "{closing}".', unclosed
    return "the text ends too early", "Complete it.", len(before)


def _misplaced_connective(
    row: Connective, came: str, last: str, after_operand: bool, position: int
) -> tuple[str, str, int]:
    if after_operand:
        level = [
            other.name
            for other in CONNECTIVES
            if other.precedence == row.precedence and other.chain == "refused"
        ]
        return (
            f"a chain with {' or '.join(level)} needs parentheses",
            "Tools disagree on what it means without; put what stands before "
            f'"{came}", or what stands after it, in parentheses.',
            position,
        )
    if not last:
        return f'the text begins with "{came}"', "Write an operand before it.", position
    if last == "(":
        return f'"{came}" right after "("', "Write an operand between them.", position
    return "two connectives in a row", f'Write an operand between "{last}" and "{came}".', position


def _misplaced_closing(
    last: str, after_operand: bool, unclosed: int | None, position: int
) -> tuple[str, str, int]:
    if unclosed is None:
        return '")" closes nothing', 'Remove it, or add the missing "(".', position
    if last == "(":
        return "nothing stands between the parentheses", "Write a formula inside.", position
    if not after_operand:
        return f'"{last}" right before ")"', "Write an operand between them.", position
    return '")" is not expected here', "Check the parentheses.", position


def _misplaced_relation(came: str, position: int) -> tuple[str, str, int]:
    return (
        f'"{came}" needs a column on its left',
        "Write column, relation, value, as in gill_size >= 3; join two comparisons with &: "
        "x >= 3 & x <= 5.",
        position,
    )


def _two_operands(position: int) -> tuple[str, str, int]:
    return "two operands without a connective", 'Write "&", "|" or another between them.', position


def _unknown_character(character: str, position: int) -> tuple[str, str, int]:
    name = unicodedata.name(character, "a control character")
    shown = f"{_shown(character)} " if character.isprintable() else ""
    return (
        f"the character {shown}(U+{ord(character):04X}, {name}) has no meaning here",
        "Names hold letters, digits and underscores; put others in backquotes.",
        position,
    )


_WORD = re.compile(r"[\w.]+")


def _piece(text: str, position: int) -> str:
    """The sign, word or single character that begins at ``position``."""
    word = _WORD.match(text, position)
    if word:
        return word.group()
    for sign in (">>", *_SIGNS, *_RELATIONS):
        if text.startswith(sign, position):
            return sign
    return text[position : position + 1]


def _last_piece(before: str) -> str:
    """The sign or word that ends ``before`` (its last 200 characters are looked at)."""
    tail = before[-200:]
    word = re.search(r"\w+\Z", tail)
    if word:
        return word.group()
    for sign in (*_SIGNS, *_RELATIONS):
        if tail.endswith(sign):
            return sign
    return tail[-1:]


def _ends_operand(before: str, last: str) -> bool:
    if not before or last.lower() in _SPELLINGS:
        return False
    return (
        last in (")", "`", "}", '"', "'", "⊤", "⊥")
        or last[-1].isalnum()
        or last[-1] == "_"
        or (unicodedata.category(last[-1]).startswith("M"))
    )


def _looks_like_operand(came: str) -> bool:
    return came[0].isalpha() or came[0] in "_`⊤⊥" or came in _SPELLINGS


def _shown(sign: str) -> str:
    """A sign in quotes that are not the sign itself."""
    if not sign.isprintable():
        return f"U+{ord(sign[0]):04X}"
    return f"'{sign}'" if sign == '"' else f'"{sign}"'


def _clip(piece: str) -> str:
    return piece if len(piece) <= 20 else piece[:20] + "…"


def _unclosed(before: str) -> int | None:
    """Position of the innermost bracket that is open at the end of ``before``."""
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
