"""Leaves of formulas with a meaning of their own: comparisons over columns, choices of features.

A comparison such as ``gill_size >= 3`` is a proposition about one row of a table.  The choices
``all[d](F)``, ``any[d](F)``, ``atleast[k,d](F)``, ``exactly[k,d](F)`` are d different features of
the feature space of F, and how many of them hold; what is inside is a formula of its own, whose
names mean nothing outside, as behind a quantifier.
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


class Level(str):
    """A category under an order, such as ``grade >= mid``: a word that knows all categories.

    ``order`` is all categories, the least first.  Two levels are equal if their words are.

    >>> Level("mid", ("low", "mid", "high")).passed(">=")
    ('mid', 'high')
    """

    __slots__ = ("order",)

    order: tuple[str, ...]

    def __new__(cls, name: str, order: tuple[str, ...]) -> Self:
        """Return the category of this name."""
        if name not in order:
            shown = ", ".join(map(repr, order[:8])) + ", …" * (len(order) > 8)
            raise ParameterError(f"{name!r} is not among the categories {shown}.")
        level = super().__new__(cls, name)
        level.order = order
        return level

    @property
    def name(self) -> str:
        """The word."""
        return str(self)

    def passed(self, relation: str) -> tuple[str, ...]:
        """Return the categories x of which ``x relation level`` is true, in their order."""
        place = self.order.index(self)
        first = {">=": place, ">": place + 1}.get(relation, 0)
        last = {"<=": place + 1, "<": place}.get(relation, len(self.order))
        return self.order[first:last]

    def __reduce__(self) -> tuple[object, ...]:
        return (Level, (str(self), self.order))


#: What may stand on the right of a comparison: a number, a word, a date, time or duration, a
#: category that knows the order of all, or another column.
Value = int | float | str | Temporal | Level | ColumnName
_Side = Value | tuple[Value, ...] | None


class Comparison(Leaf):
    """``column relation value``: a proposition about one row of a table.

    The value is a tuple for ``in`` and ``not in``, None for the two about missing values; a Level
    is one under an order only, else a plain word.  ``part`` is the part of a date, stamp or time of
    day that is compared, such as ``weekday`` (Monday is 1); values are then whole numbers.
    """

    __slots__ = ("column", "part", "relation", "value")

    spaced: ClassVar[bool] = True
    no_letter: ClassVar[str] = (
        "what comparisons say depends on the entries of columns. Ask the rule: fk.rule(formula)."
    )
    column: str
    relation: str
    value: _Side
    part: str | None

    def __init__(
        self, column: str, relation: str, value: _Side = None, part: str | None = None
    ) -> None:
        if not isinstance(column, str) or not column:
            raise ParameterError(f"a column's name is a non-empty str; got {column!r}.")
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
        """What stands on the right, as a tuple: none for the two about missing values."""
        if isinstance(self.value, tuple):
            return self.value
        return () if self.value is None else (self.value,)

    def replaced(self, **fields: object) -> Comparison:
        """Return the same comparison with some of its fields replaced."""
        own = {name: getattr(self, name) for name in ("column", "relation", "value", "part")}
        return Comparison(**{**own, **fields})

    def leaf_text(self, notation: Notation) -> str:
        """Return the comparison as it parses back (ASCII), or in mathematical signs."""
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
        """Return ``3 <= x < 5`` for x >= 3 and the comparison x < 5; None for other pairs."""
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
    """Return formulas with those of a column together, lower bounds before upper ones.

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
        raise ParameterError(f"{relation!r} is asked of a column, not of its {part}.")
    least, largest = PARTS[part]
    for item in value if isinstance(value, tuple) else (value,):
        if not isinstance(item, int) or not least <= item <= largest:
            expected = f"from {least} to {largest}" if part != "year" else "of a year"
            raise ParameterError(
                f"a comparison of the {part} takes whole numbers {expected}; got {item!r}."
            )


def _checked_value(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (ColumnName, Temporal)):
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
        f"a comparison's value is a number, a str, a Temporal or a ColumnName; got {value!r} "
        f"({type(value).__name__})."
    )


# -- choices of features

#: word → how many numbers it takes
CHOICES = {"all": 1, "any": 1, "atleast": 2, "exactly": 2}
#: Larger degrees are refused.
MAX_DEGREE = 10_000
#: Choices inside choices, at most.
MAX_NESTING = 20


class Choice(Leaf):
    """True when enough of ``degree`` different features, chosen from a feature space, are true.

    With N features in the space of F, there are C(N, d) choices of d of them, and each is one
    feature of the choice.  Of the chosen ones, ``all[d]`` asks for d, ``any[d]`` for at least
    one, ``atleast[k,d]`` for at least k, ``exactly[k,d]`` for exactly k.

    Parameters
    ----------
    kind : {"all", "any", "atleast", "exactly"}
        How many of the chosen features must be true.
    formula : Formula
        F; may hold choices itself: ``any[3](all[2](x))``.
    degree : int
        d, at least 1 and at most ``MAX_DEGREE``.
    count : int, optional
        k, from 0 to d; for ``atleast`` and ``exactly`` only.

    Attributes
    ----------
    least, most : int
        How many of the chosen features must be true, and may be.

    Raises
    ------
    ParameterError
        If the degrees do not fit.
    FormulaSizeError
        If choices are nested more than ``MAX_NESTING`` deep.

    Examples
    --------
    >>> from formulakern.syntax.formula import Variable
    >>> pairs = Choice("all", Variable("x"), 2)
    >>> Choice("any", pairs, 3), Choice("atleast", pairs, 3, 2)
    (Formula('any[3](all[2](x))'), Formula('atleast[2,3](all[2](x))'))
    """

    __slots__ = ("count", "degree", "formula", "kind", "least", "most", "nesting")

    no_letter: ClassVar[str] = (
        "a choice such as all[2](x) counts chosen features, and has no truth value for values of "
        "names. Replace it by a name: formula.substitute({...})."
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
                f"a choice is one of {', '.join(map(repr, CHOICES))}; got {kind!r}."
            )
        if not isinstance(formula, Formula):
            raise ParameterError(
                f"{kind} chooses features of a Formula; got {type(formula).__name__}. "
                "Parse text first: fk.parse('a & b')."
            )
        problem = degrees_problem(kind, (degree,) if count is None else (count, degree))
        if problem:
            raise ParameterError(f"{kind}: {problem[0]}. {problem[1]}")
        degree, count = int(degree), None if count is None else int(count)
        nesting = 1 + max(getattr(leaf, "nesting", 0) for leaf in formula.leaves)
        if nesting > MAX_NESTING:
            raise FormulaSizeError(
                f"choices are nested more than {MAX_NESTING} deep. Nest fewer of them."
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
        """The formula that is chosen from."""
        return (self.formula,)

    def over(self, formula: Formula) -> Choice:
        """Return the same choice from another feature space."""
        return Choice(self.kind, formula, self.degree, self.count)

    def leaf_text(self, notation: Notation) -> str:
        """Return the word, the degrees in brackets, and the formula in parentheses."""
        degrees = ",".join(str(d) for d in (self.count, self.degree) if d is not None)
        word = f"{self.kind}[{degrees}]"
        if notation.style == "latex":
            word = rf"\operatorname{{{self.kind}}}_{{{degrees}}}"
        inner = render(self.formula, notation)
        return f"{word}{notation.opening}{inner}{notation.closing}"


def columns_read(formula: Formula) -> int:
    """Return how many different columns one feature of a formula reads at most."""
    chosen = [leaf for leaf in formula.leaves if isinstance(leaf, Choice)]
    inside = sum(leaf.degree * columns_read(leaf.formula) for leaf in chosen)  # few deep
    return inside + sum(isinstance(leaf, Variable) for leaf in formula.leaves)


def degrees_problem(kind: str, degrees: tuple[object, ...]) -> tuple[str, str] | None:
    """Return the problem with the numbers in the brackets and advice, or None."""
    example = {1: f"{kind}[2](x)", 2: f"{kind}[2,3](x)"}[CHOICES[kind]]
    advice = f"Write for example {example}."
    if len(degrees) != CHOICES[kind]:
        wanted = {1: "one degree, d", 2: "two degrees, k and d"}[CHOICES[kind]]
        return f"{kind} takes {wanted}; got {len(degrees)}", advice
    for value in degrees:
        if not hasattr(value, "__index__") or isinstance(value, bool):
            return f"a degree is an integer; got {value!r}", advice
    *least, degree = (int(value) for value in degrees)  # type: ignore[call-overload]
    if not 1 <= degree <= MAX_DEGREE:
        return f"the degree d is an integer from 1 to {MAX_DEGREE:,}; got {degree}", advice
    if least and not 0 <= least[0] <= degree:
        return (
            f"k is an integer from 0 to d = {degree}; got {least[0]}",
            f"Of d chosen features at most d can be true; write for example {example}.",
        )
    return None
