"""Which names stand bare in a formula and which need backquotes."""

from __future__ import annotations

import re
from functools import lru_cache

from formulakern.syntax.connectives import CONNECTIVES

__all__ = ["RESERVED_WORDS", "backquote", "is_bare", "quote", "spell", "unquote"]

#: Combining marks that may follow the first letter of a bare name (accents, vowel signs);
#: Python's ``\w`` covers letters, digits and the underscore of every script, but not these.
MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963"
    r"\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0ece\u1dc0-\u1dff"
)

#: A bare name, as the terminal NAME of ``grammar/names.lark`` has it.
BARE = re.compile(rf"[^\W\d][\w{MARKS}]*\Z")

#: Words with a meaning of their own, in lower case; a name that equals one needs backquotes.
RESERVED_WORDS = frozenset(
    {"true", "false"}
    | {spelling for row in CONNECTIVES for spelling in row.spellings if spelling.isalpha()}
)
#: The same, in any case as the grammar's ``/…/i`` understands case (``ſ`` counts as an s).
_RESERVED = re.compile("|".join(sorted(RESERVED_WORDS)), re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_bare(name: str) -> bool:
    """Return whether a name may be written without quotes.

    >>> is_bare("stalk_root"), is_bare("stalk root"), is_bare("AND"), is_bare("größe")
    (True, False, False, True)
    """
    return BARE.match(name) is not None and _RESERVED.fullmatch(name) is None


def backquote(name: str) -> str:
    """Return the name in backquotes, a backquote inside doubled."""
    return "`" + name.replace("`", "``") + "`"


def quote(word: str) -> str:
    """Return the word in double quotes, a double quote inside doubled."""
    return '"' + word.replace('"', '""') + '"'


def unquote(token: str) -> str:
    """Take the quotes off: the first character is the quote, and inside it stands doubled."""
    mark = token[0]
    return token[1:-1].replace(mark * 2, mark)


def spell(name: str) -> str:
    """Return the name as it stands in a formula: bare where it can be, else in backquotes.

    >>> spell("odor"), spell("stalk root"), spell("not")
    ('odor', '`stalk root`', '`not`')
    """
    return name if is_bare(name) else backquote(name)
