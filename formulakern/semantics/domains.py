"""The domains of a formula, and the check that equal names mean one variable."""

from __future__ import annotations

from formulakern.errors import FormulaError
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Constant, Formula, Variable

__all__ = ["domain_positions", "one_domain_each"]


def domain_positions(formula: Formula) -> dict[str | None, int]:
    """Domains in order of first appearance, each with its position.

    A formula without variables is given the domain of all columns.

    Raises
    ------
    FormulaError
        If a leaf is neither a variable nor a constant (a rule is not a template).
    """
    found: dict[str | None, int] = {}
    for leaf in formula.leaves:
        if isinstance(leaf, Variable):
            found.setdefault(leaf.domain, len(found))
        elif isinstance(leaf, Choice):
            for variable in leaf.variables:
                found.setdefault(variable.domain, len(found))
        elif not isinstance(leaf, Constant):
            raise FormulaError(
                f"the leaf {str(leaf)!r} is a comparison; a kernel's formula is a template over "
                "variables. Evaluate rules with fk.rule(...), or write a variable instead."
            )
    return found or {None: 0}


def one_domain_each(formula: Formula) -> None:
    """Refuse one name with two domains, where equal names mean the same variable.

    Raises
    ------
    FormulaError
    """
    domain_of: dict[str, str | None] = {}
    for variable in formula.variables:
        other = domain_of.setdefault(variable.name, variable.domain)
        if other != variable.domain:
            shown = [repr(d) if d else "all columns" for d in (other, variable.domain)]
            raise FormulaError(
                f"variable {variable.name!r} has two domains, {shown[0]} and {shown[1]}; "
                "equal names are the same variable in this reading. "
                "Rename one of them, or use variables='free'."
            )
