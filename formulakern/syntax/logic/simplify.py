"""The shortest disjunction of conjunctions, or conjunction of disjunctions, of a formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from formulakern.checks import check_choice
from formulakern.errors import FormulaSizeError
from formulakern.syntax.logic.covers import smallest_cover
from formulakern.syntax.logic.diagrams import Diagrams
from formulakern.syntax.logic.forms import Form, Node, diagrams_of, from_cubes, letters_of
from formulakern.syntax.traversal import postorder

__all__ = ["FORMS", "MinimalForm", "WantedForm", "shortest_form", "simplified"]

N = TypeVar("N", bound=Node)
#: "shortest" is the one of the two with fewer literals, or the formula as it was given.
WantedForm: TypeAlias = Literal["shortest", "dnf", "cnf"]
FORMS = ("shortest", "dnf", "cnf")
#: What the parts of each form are called.
PARTS = {"dnf": "term", "cnf": "clause"}


@dataclass(frozen=True)
class MinimalForm(Generic[N]):
    """An equivalent formula that is short, and what is proved of it.

    Parameters
    ----------
    formula : Formula
        The short form.
    form : {"dnf", "cnf", "given"}
        Whether it is a disjunction of conjunctions, a conjunction of disjunctions, or the formula
        as it was given, which is shorter than both.
    n_parts, n_literals : int
        Terms (clauses) of the form, and literals in all of them together; for ``"given"`` those
        of the better one of the two.
    exact : bool
        Whether it is proved that no equivalent formula of this form has fewer terms (clauses),
        and none with as many has fewer literals.
    least : int
        No equivalent formula of this form has fewer terms (clauses).

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.parse("a & b | a & ~b | c & a").simplify())
    a
    no shorter dnf: proved (1 term, 1 literal)
    """

    formula: N
    form: Literal["dnf", "cnf", "given"]
    n_parts: int
    n_literals: int
    exact: bool
    least: int

    def __str__(self) -> str:
        return f"{self.formula}\n{self.proof}"

    @property
    def proof(self) -> str:
        """What is proved, as a line of text."""
        if self.form == "given":
            return (
                f"as given: the shortest dnf or cnf that was found has {self.n_literals} literals"
            )
        size = f"{_counted(self.n_parts, PARTS[self.form])}, {_counted(self.n_literals, 'literal')}"
        if self.exact:
            return f"no shorter {self.form}: proved ({size})"
        least = _counted(self.least, PARTS[self.form])
        return f"a short {self.form} ({size}); that it has at least {least} is proved"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def simplified(root: N, form: WantedForm) -> MinimalForm[N]:
    """Return what :meth:`formulakern.Formula.simplify` documents."""

    def function() -> tuple[Diagrams, int, int]:
        diagrams, _, (top,) = diagrams_of("simplify()", root)
        return diagrams, top, top

    letters = letters_of([root], "simplify()")
    return shortest_form(
        root, form, function, lambda cubes, one: from_cubes(root, cubes, letters, one)
    )


def shortest_form(
    root: N,
    form: WantedForm,
    between: Callable[[], tuple[Diagrams, int, int]],
    written: Callable[[Sequence[tuple[int, int]], Form], N],
) -> MinimalForm[N]:
    """Return the shortest form of a formula that may be any function between two.

    Parameters
    ----------
    root : Formula
    form : {"shortest", "dnf", "cnf"}
    between : callable
        Returns new diagrams for each form, where it must be true, and where it may be.
    written : callable
        Returns the formula of some cubes in a form.
    """
    check_choice("form", form, FORMS)
    found: list[MinimalForm[N]] = []
    refused: list[FormulaSizeError] = []
    asked: tuple[Form, ...] = ("dnf", "cnf") if form == "shortest" else (form,)
    for one in asked:
        try:
            diagrams, must, may = between()
            if one == "cnf":
                must, may = diagrams.negation(may), diagrams.negation(must)
            cover = smallest_cover(diagrams, must, may)
        except FormulaSizeError as error:
            refused.append(error)
        else:
            size = len(cover.cubes), cover.n_literals
            formula = written(cover.cubes, one)
            found.append(MinimalForm(formula, one, *size, cover.exact, cover.least))
    if not found:
        raise refused[0]
    best = min(found, key=lambda option: option.n_literals)
    given = form == "shortest" and root.n_leaves < best.n_literals
    if given and all(node.truth is None for node in postorder(root)):
        return MinimalForm(root, "given", best.n_parts, best.n_literals, False, best.least)
    return best
