"""Comparisons over named columns: the leaves of a concrete rule such as ``gill_size >= 3``."""

from __future__ import annotations

import numbers
import sys
from dataclasses import dataclass
from typing import ClassVar

from formulakern.errors import ParameterError
from formulakern.syntax.formula import Leaf
from formulakern.syntax.names import backquote, is_bare, quote, spell
from formulakern.syntax.notation import Notation, latex_name

__all__ = ["RELATIONS", "ColumnName", "Comparison", "Value"]

#: relation → (sign in ASCII, in Unicode, in LaTeX)
RELATIONS: dict[str, tuple[str, str, str]] = {
    "=": ("=", "=", "="),
    "!=": ("!=", "≠", r"\neq"),
    "<": ("<", "<", "<"),
    "<=": ("<=", "≤", r"\leq"),
    ">": (">", ">", ">"),
    ">=": (">=", "≥", r"\geq"),
    "in": ("in", "∈", r"\in"),
    "not in": ("not in", "∉", r"\notin"),
    "is missing": ("is missing", "is missing", r"\text{ is missing}"),
    "is not missing": ("is not missing", "is not missing", r"\text{ is not missing}"),
}
#: Which of the three signs a style of notation takes.
STYLES = {"ascii": 0, "unicode": 1, "latex": 2}
ORDERS = frozenset({"<", "<=", ">", ">="})
_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class ColumnName:
    """Another column on the right of a comparison (a backquoted name in text)."""

    name: str


#: What may stand on the right of a comparison: a number, a word, or another column.
Value = int | float | str | ColumnName
_Side = Value | tuple[Value, ...] | None


class Comparison(Leaf):
    """``column relation value``: a proposition about one row of a table.

    Parameters
    ----------
    column : str
        Name of the column on the left.
    relation : str
        One of ``= != < <= > >= in "not in" "is missing" "is not missing"``.
    value : int, float, str, ColumnName, tuple of these, or None
        The right side: a tuple for ``in`` and ``not in``, None for the two about missing values.

    Raises
    ------
    ParameterError
        If the relation is unknown or the value does not fit it.

    Examples
    --------
    >>> Comparison("stalk root", "!=", "?")
    Formula('`stalk root` != "?"')
    >>> Comparison("cap", "in", ("red", 3)), Comparison("a1", "=", ColumnName("a2"))
    (Formula('cap in {red, 3}'), Formula('a1 = `a2`'))
    """

    __slots__ = ("column", "relation", "value")

    spaced: ClassVar[bool] = True
    column: str
    relation: str
    value: _Side

    def __init__(self, column: str, relation: str, value: _Side = None) -> None:
        if not isinstance(column, str) or not column:
            raise ParameterError(f"a column's name is a non-empty str; got {column!r}.")
        if relation not in RELATIONS:
            raise ParameterError(
                f"unknown relation {relation!r}; expected one of {', '.join(RELATIONS)}."
            )
        value = _checked(relation, value)
        self._hold(column=column, relation=relation, value=value)

    def leaf_text(self, notation: Notation) -> str:
        """The comparison as it parses back (ASCII), or in mathematical signs."""
        position, latex = STYLES[notation.style], notation.style == "latex"
        parts = [latex_name(self.column) if latex else spell(self.column)]
        parts.append(RELATIONS[self.relation][position])
        if isinstance(self.value, tuple):
            inside = ", ".join(_value_text(value, latex) for value in self.value)
            parts.append(rf"\{{{inside}\}}" if latex else f"{{{inside}}}")
        elif self.value is not None:
            parts.append(_value_text(self.value, latex))
        return " ".join(parts)


def _value_text(value: Value, latex: bool) -> str:
    if isinstance(value, ColumnName):
        return latex_name(value.name) if latex else backquote(value.name)
    if isinstance(value, str):
        if latex:
            return latex_name(value) if value else r"\text{``''}"
        return value if is_bare(value) else quote(value)
    return repr(value)


def _checked(relation: str, value: _Side) -> _Side:
    if relation in ("is missing", "is not missing"):
        if value is not None:
            raise ParameterError(f"{relation!r} takes no value; got {value!r}.")
        return None
    if relation in ("in", "not in"):
        if not isinstance(value, tuple) or not value:
            raise ParameterError(f"{relation!r} takes a non-empty tuple of values; got {value!r}.")
        return tuple(_checked_value(item) for item in value)
    if value is None or isinstance(value, tuple):
        raise ParameterError(f"{relation!r} takes one value; got {value!r}.")
    value = _checked_value(value)
    if relation in ORDERS and isinstance(value, str):
        raise ParameterError(f"{relation!r} compares with a number or a column; got {value!r}.")
    return value


def _checked_value(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, ColumnName):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, float, numbers.Real)):  # NumPy's too, as plain numbers
        number = int(value) if isinstance(value, (int, numbers.Integral)) else float(value)
        if not -_LARGEST <= number <= _LARGEST:
            shown = "a longer one" if isinstance(number, int) else repr(number)
            raise ParameterError(f"a comparison needs a number below 1.8e308 in size; got {shown}.")
        return number
    raise ParameterError(
        f"a comparison's value is a number, a str or a ColumnName; got {value!r} "
        f"({type(value).__name__})."
    )
