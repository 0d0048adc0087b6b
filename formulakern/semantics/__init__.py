"""Formula → Program: what the variables of a formula mean, and how substitutions are counted.

One module per reading: :mod:`free`, :mod:`bound`, :mod:`distinct`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from formulakern.checks import check_choice
from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.program.program import Program
from formulakern.semantics import bound, distinct, free
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.leaves import Choice

__all__ = ["READINGS", "Reading", "check_reading", "lower"]

#: A formula with more leaves is refused by the readings in which names matter.
MAX_LEAVES = 1_000_000


class Reading(NamedTuple):
    """A reading: the function that lowers a formula to a program, and what names mean."""

    lower: Callable[[Formula, dict[str | None, int]], Program]
    meaning: str


READINGS = {
    "bound": Reading(bound.lower, "equal names are the same column; different names may coincide"),
    "free": Reading(free.lower, "every occurrence of a variable ranges over the columns by itself"),
    "distinct": Reading(
        distinct.lower, "different names are different columns; equal features count once"
    ),
}


def check_reading(variables: str) -> str:
    """Return the reading, if there is one of this name; otherwise raise ParameterError."""
    check_choice("variables", variables, tuple(READINGS))
    return variables


def lower(formula: Formula, variables: str = "bound") -> Program:
    """Return the program that counts a formula's substitutions in a reading of its variables.

    Comparisons are refused; unless names are free, so are names with two domains or inside a choice
    and outside of it.  A formula, a diagram, or counting that passes a stated size is refused.
    """
    reading = READINGS[check_reading(variables)]
    for leaf in formula.leaves:
        if not isinstance(leaf, Variable | Choice | Constant):
            raise FormulaError(
                f"the leaf {str(leaf)!r} is a comparison; a kernel's formula is a template over "
                "variables. Evaluate rules with fk.rule(...), or write a variable instead."
            )
    domains = dict.fromkeys(variable.domain for variable in formula.variables) or {None: None}
    if variables != "free":
        _check_names(formula)
    return reading.lower(formula, {domain: place for place, domain in enumerate(domains)})


def _check_names(formula: Formula) -> None:
    """Refuse what has no meaning, or too much of it, if equal names mean the same variable.

    Equal choices may share names: they are the same choice.
    """
    owner: dict[str, Formula | None] = {}
    pending: list[tuple[Formula, Choice | None]] = [(formula, None)]
    seen: set[Choice] = set()
    while pending:
        part, inside = pending.pop()
        for leaf in part.leaves:
            if isinstance(leaf, Variable):
                other = owner.setdefault(leaf.name, inside)
                if other is not inside and other != inside:
                    shown = other if inside is None else inside
                    raise FormulaError(
                        f"the name {leaf.name!r} stands inside {str(shown)!r} and outside of it; a "
                        "choice's names are its own, as behind a quantifier. "
                        "Rename one of them, or use variables='free'."
                    )
            elif isinstance(leaf, Choice) and leaf not in seen:
                seen.add(leaf)
                pending.append((leaf.formula, leaf))
    domain_of: dict[str, str | None] = {}
    for variable in formula.variables:
        domain = domain_of.setdefault(variable.name, variable.domain)
        if domain != variable.domain:
            names = [repr(d) if d else "all columns" for d in (domain, variable.domain)]
            raise FormulaError(
                f"variable {variable.name!r} has two domains, {names[0]} and {names[1]}; "
                "equal names are the same variable in this reading. "
                "Rename one of them, or use variables='free'."
            )
    if formula.n_leaves > MAX_LEAVES:
        raise FormulaSizeError(
            f"the formula has {formula.n_leaves:,} leaves; at most {MAX_LEAVES:,} are accepted "
            "where equal names mean one variable. Use variables='free', or a smaller formula."
        )
