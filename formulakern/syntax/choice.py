"""Choices: d different features of a formula's feature space, and how many of them hold.

``all[d](F)``, ``any[d](F)``, ``atleast[k,d](F)``, ``exactly[k,d](F)`` are leaves: what is inside
is a formula of its own, whose names mean nothing outside, as behind a quantifier.
"""

from __future__ import annotations

from typing import ClassVar

from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.syntax.formula import Formula, Leaf, Variable
from formulakern.syntax.notation import Notation, render

__all__ = ["KINDS", "MAX_DEGREE", "MAX_NESTING", "Choice", "columns_read", "degrees_problem"]

#: word → how many numbers it takes
KINDS = {"all": 1, "any": 1, "atleast": 2, "exactly": 2}
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
        if kind not in KINDS:
            raise ParameterError(f"a choice is one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
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
    """Return how many different columns one feature of a formula reads at most.

    >>> from formulakern.syntax.formula import Variable
    >>> columns_read(Choice("any", Choice("all", Variable("x"), 2), 3))
    6
    """
    chosen = [leaf for leaf in formula.leaves if isinstance(leaf, Choice)]
    inside = sum(leaf.degree * columns_read(leaf.formula) for leaf in chosen)  # few deep
    return inside + sum(isinstance(leaf, Variable) for leaf in formula.leaves)


def degrees_problem(kind: str, degrees: tuple[object, ...]) -> tuple[str, str] | None:
    """Return the problem with the numbers in the brackets and advice, or None."""
    example = {1: f"{kind}[2](x)", 2: f"{kind}[2,3](x)"}[KINDS[kind]]
    advice = f"Write for example {example}."
    if len(degrees) != KINDS[kind]:
        wanted = {1: "one degree, d", 2: "two degrees, k and d"}[KINDS[kind]]
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
