"""Leaves of formulas other than names and constants: comparisons and choices of features.

A comparison such as ``gill_size >= 3`` is a proposition about one row of a table.  The choices
``all[d](F)``, ``any[d](F)``, ``atleast[k,d](F)`` and ``exactly[k,d](F)`` depend on the number of
true features among d different features of F.  The names of F are local to the choice, as under a
quantifier.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.syntax.connectives import (
    Notation,
    backquote,
    is_bare,
    latex_name,
    quote,
    render,
    spell,
)
from formulakern.syntax.formula import Formula, Leaf, Variable
from formulakern.syntax.temporal import PARTS, Temporal, part_text

#: relation → its sign in ASCII, in Unicode, in LaTeX
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
#: The position of a style of notation among the three signs.
STYLES = {"ascii": 0, "unicode": 1, "latex": 2}
ORDERS = frozenset({"<", "<=", ">", ">="})
_FLOAT64_MAX = sys.float_info.max


@dataclass(frozen=True)
class ColumnName:
    """A column on the right side of a comparison (a backquoted name in text)."""

    name: str


class Level(str):
    """A category of an ordered column, such as ``mid`` in ``grade >= mid``.

    ``order`` lists all categories, the least first.  Two levels are equal if their names are.

    >>> Level("mid", ("low", "mid", "high")).passed(">=")
    ('mid', 'high')
    """

    __slots__ = ("order",)

    order: tuple[str, ...]

    def __new__(cls, name: str, order: tuple[str, ...]) -> Self:
        """Return the category of this name, or raise ParameterError if ``order`` lacks it."""
        if name not in order:
            shown = ", ".join(map(repr, order[:8])) + ", …" * (len(order) > 8)
            raise ParameterError(f"{name!r} is not one of the categories {shown}.")
        level = super().__new__(cls, name)
        level.order = order
        return level

    @property
    def name(self) -> str:
        """The name of the category."""
        return str(self)

    def passed(self, relation: str) -> tuple[str, ...]:
        """Return the categories x with ``x relation level``, in order."""
        place = self.order.index(self)
        first = {">=": place, ">": place + 1}.get(relation, 0)
        last = {"<=": place + 1, "<": place}.get(relation, len(self.order))
        return self.order[first:last]

    def __reduce__(self) -> tuple[object, ...]:
        return (Level, (str(self), self.order))


#: A value on the right side of a comparison: a number, a word, a date, time or duration, a
#: category of an ordered column, or another column.
Value = int | float | str | Temporal | Level | ColumnName
_Side = Value | tuple[Value, ...] | None


class Comparison(Leaf):
    """A proposition ``column relation value`` about one row of a table.

    The value is a tuple for ``in`` and ``not in``, and None for ``is missing`` and
    ``is not missing``.  A Level becomes a plain word unless the relation is an order.  ``part`` is
    the compared part of a date, stamp or time of day, such as ``weekday`` (Monday is 1); the values
    are then whole numbers.
    """

    __slots__ = ("column", "part", "relation", "value")

    spaced: ClassVar[bool] = True
    not_a_name_reason: ClassVar[str] = (
        "the truth of a comparison depends on the entries of columns. Use fk.rule(formula) instead."
    )
    column: str
    relation: str
    value: _Side
    part: str | None

    def __init__(
        self, column: str, relation: str, value: _Side = None, part: str | None = None
    ) -> None:
        if not isinstance(column, str) or not column:
            raise ParameterError(f"a column's name must be a non-empty str; got {column!r}.")
        if relation not in RELATIONS:
            raise ParameterError(
                f"unknown relation {relation!r}; expected one of {', '.join(RELATIONS)}."
            )
        value = _checked(relation, value)
        if part is not None:
            _check_part(part, relation, value)
        self._hold(column=column, relation=relation, value=value, part=part)

    @property
    def values(self) -> tuple[Value, ...]:
        """The values on the right side, a tuple; empty for ``is missing`` and its negation."""
        if isinstance(self.value, tuple):
            return self.value
        return () if self.value is None else (self.value,)

    def replaced(self, **fields: object) -> Comparison:
        """Return the comparison with some fields replaced."""
        own = {name: getattr(self, name) for name in ("column", "relation", "value", "part")}
        return Comparison(**{**own, **fields})

    def leaf_text(self, notation: Notation) -> str:
        """Return the text of the comparison; its ASCII parses back."""
        position, latex = STYLES[notation.style], notation.style == "latex"
        name = latex_name(self.column) if latex else spell(self.column)
        if self.part is not None:
            name = rf"\text{{{self.part}}}({name})" if latex else f"{self.part}({name})"
        parts = [name]
        parts.append(RELATIONS[self.relation][position])
        if isinstance(self.value, tuple):
            inside = ", ".join(_value_text(value, latex, self.part) for value in self.value)
            parts.append(rf"\{{{inside}\}}" if latex else f"{{{inside}}}")
        elif self.value is not None:
            parts.append(_value_text(self.value, latex, self.part))
        return " ".join(parts)

    def interval_text(self, upper: Formula, notation: Notation) -> str | None:
        """Return ``3 <= x < 5`` for x >= 3 and the comparison x < 5, or None for other pairs."""
        if (
            not isinstance(upper, Comparison)
            or (self.column, self.part) != (upper.column, upper.part)
            or self.relation not in (">", ">=")
            or upper.relation not in ("<", "<=")
            or any(isinstance(side.value, str | ColumnName) for side in (self, upper))
            or self.part in ("month", "weekday")
        ):
            return None
        sign = RELATIONS[self.relation.replace(">", "<")][STYLES[notation.style]]
        text = _value_text(self.values[0], notation.style == "latex", self.part)
        return f"{text} {sign} {upper.leaf_text(notation)}"


def in_order(leaves: Iterable[Formula]) -> list[Formula]:
    """Return formulas grouped by column, with lower bounds before upper bounds.

    >>> print(*map(str, in_order([Comparison("x", "<=", 5), Comparison("x", ">=", 3)])))
    x >= 3 x <= 5
    """
    parts = list(leaves)
    first: dict[object, int] = {}
    columns = [part.column if isinstance(part, Comparison) else part for part in parts]
    for column in columns:
        first.setdefault(column, len(first))
    upper = [isinstance(part, Comparison) and part.relation[0] == "<" for part in parts]
    order = sorted(range(len(parts)), key=lambda k: (first[columns[k]], upper[k]))
    return [parts[k] for k in order]


def _value_text(value: Value, latex: bool, part: str | None) -> str:
    if isinstance(value, ColumnName):
        return latex_name(value.name) if latex else backquote(value.name)
    if isinstance(value, Temporal) or (part is not None and isinstance(value, int)):
        text = str(value) if isinstance(value, Temporal) else part_text(str(part), value)
        return rf"\text{{{text}}}" if latex and not text.isdecimal() else text
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
    return value if isinstance(value, Level) and relation in ORDERS else _checked_value(value)


def _check_part(part: str, relation: str, value: _Side) -> None:
    if part not in PARTS:
        raise ParameterError(f"part={part!r}; expected one of {', '.join(PARTS)}.")
    if value is None:
        raise ParameterError(
            f"{relation!r} applies to a whole column, not to its {part}. Remove the part."
        )
    least, largest = PARTS[part]
    for item in value if isinstance(value, tuple) else (value,):
        if not isinstance(item, int) or not least <= item <= largest:
            expected = f"from {least} to {largest}" if part != "year" else "of a year"
            raise ParameterError(
                f"a comparison of the {part} expects whole numbers {expected}; got {item!r}."
            )


def _checked_value(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (ColumnName, Temporal)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, float, numbers.Real)):  # numbers of NumPy become plain numbers
        number = int(value) if isinstance(value, (int, numbers.Integral)) else float(value)
        if not -_FLOAT64_MAX <= number <= _FLOAT64_MAX:
            shown = "a larger one" if isinstance(number, int) else repr(number)
            raise ParameterError(f"a comparison needs a number below 1.8e308 in size; got {shown}.")
        return number
    raise ParameterError(
        f"a comparison's value must be a number, str, Temporal or ColumnName; got {value!r} "
        f"({type(value).__name__})."
    )


# -- choices of features

#: kind of choice → its number of degrees
CHOICES = {"all": 1, "any": 1, "atleast": 2, "exactly": 2}
#: The largest degree of a choice.
MAX_DEGREE = 10_000
#: The greatest nesting depth of choices.
MAX_NESTING = 20


class Choice(Leaf):
    """A choice of d different features, true if enough of them are true.

    If the feature space of F has N features, the choice has C(N, d) features, one for each set of
    d features of F.  It is true if all d features of the set are true (``all[d]``), at least one
    (``any[d]``), at least k (``atleast[k,d]``), or exactly k (``exactly[k,d]``).

    Parameters
    ----------
    kind : {"all", "any", "atleast", "exactly"}
        The condition on the number of true features.
    formula : Formula
        The formula F, which may contain choices: ``any[3](all[2](x))``.
    degree : int
        The number d, at least 1 and at most 10,000.
    count : int, optional
        The number k, from 0 to d, for ``atleast`` and ``exactly``.

    Attributes
    ----------
    least, most : int
        The smallest and the largest number of chosen features that are true.

    Raises
    ------
    ParameterError
        If a degree is out of range.
    FormulaSizeError
        If choices are nested more than 20 deep.

    Examples
    --------
    >>> from formulakern.syntax.formula import Variable
    >>> pairs = Choice("all", Variable("x"), 2)
    >>> Choice("any", pairs, 3), Choice("atleast", pairs, 3, 2)
    (Formula('any[3](all[2](x))'), Formula('atleast[2,3](all[2](x))'))
    """

    __slots__ = ("count", "degree", "formula", "kind", "least", "most", "nesting")

    not_a_name_reason: ClassVar[str] = (
        "a choice such as all[2](x) counts features, so the values of names do not determine its "
        "truth value. Replace it by a name: formula.substitute({...})."
    )

    formula: Formula
    kind: str
    degree: int
    count: int | None
    least: int
    most: int
    nesting: int

    def __init__(self, kind: str, formula: Formula, degree: int, count: int | None = None) -> None:
        if kind not in CHOICES:
            raise ParameterError(
                f"expected one of the choices {', '.join(map(repr, CHOICES))}; got {kind!r}."
            )
        if not isinstance(formula, Formula):
            raise ParameterError(
                f"{kind} expects a Formula; got {type(formula).__name__}. "
                "Parse text first: fk.parse('a & b')."
            )
        problem = degrees_problem(kind, (degree,) if count is None else (count, degree))
        if problem:
            raise ParameterError(f"{kind}: {problem[0]}. {problem[1]}")
        degree, count = int(degree), None if count is None else int(count)
        nesting = 1 + max(getattr(leaf, "nesting", 0) for leaf in formula.leaves)
        if nesting > MAX_NESTING:
            raise FormulaSizeError(
                f"choices are nested more than {MAX_NESTING} deep. Nest fewer choices."
            )
        least, most = {
            "all": (degree, degree),
            "any": (1, degree),
            "atleast": (count, degree),
            "exactly": (count, count),
        }[kind]
        self._hold(formula.n_leaves, kind=kind, formula=formula, degree=degree, count=count)
        self._set(least=least, most=most, nesting=nesting)

    @property
    def inside(self) -> tuple[Formula, ...]:
        """The formula whose features are chosen."""
        return (self.formula,)

    def over(self, formula: Formula) -> Choice:
        """Return the same choice of features of another formula."""
        return Choice(self.kind, formula, self.degree, self.count)

    def leaf_text(self, notation: Notation) -> str:
        """Return the kind, the degrees in brackets, and the formula in parentheses."""
        degrees = ",".join(str(d) for d in (self.count, self.degree) if d is not None)
        word = f"{self.kind}[{degrees}]"
        if notation.style == "latex":
            word = rf"\operatorname{{{self.kind}}}_{{{degrees}}}"
        inner = render(self.formula, notation)
        return f"{word}{notation.opening}{inner}{notation.closing}"


def columns_read(formula: Formula) -> int:
    """Return the largest number of different columns that one feature of a formula reads."""
    chosen = [leaf for leaf in formula.leaves if isinstance(leaf, Choice)]
    inside = sum(leaf.degree * columns_read(leaf.formula) for leaf in chosen)  # at most 20 deep
    return inside + sum(isinstance(leaf, Variable) for leaf in formula.leaves)


def degrees_problem(kind: str, degrees: tuple[object, ...]) -> tuple[str, str] | None:
    """Return the problem with the degrees of a choice and advice, or None."""
    example = {1: f"{kind}[2](x)", 2: f"{kind}[2,3](x)"}[CHOICES[kind]]
    advice = f"Write for example {example}."
    if len(degrees) != CHOICES[kind]:
        wanted = {1: "one degree, d", 2: "two degrees, k and d"}[CHOICES[kind]]
        return f"{kind} takes {wanted}; got {len(degrees)}", advice
    for value in degrees:
        if not hasattr(value, "__index__") or isinstance(value, bool):
            return f"a degree must be an integer; got {value!r}", advice
    *least, degree = (int(value) for value in degrees)  # type: ignore[call-overload]
    if not 1 <= degree <= MAX_DEGREE:
        return f"the degree d must be an integer from 1 to {MAX_DEGREE:,}; got {degree}", advice
    if least and not 0 <= least[0] <= degree:
        return (
            f"k must be an integer from 0 to d = {degree}; got {least[0]}",
            f"At most d of d features can be true; write for example {example}.",
        )
    return None
