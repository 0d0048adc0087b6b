"""The names of a formula: the domains of its variables, and checks that equal names mean one."""

from __future__ import annotations

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.syntax.choice import Choice
from formulakern.syntax.formula import Constant, Formula, Variable

__all__ = ["HARD", "MAX_LEAVES", "check_names", "domain_positions"]

#: A formula with more leaves is refused by the readings in which names matter.
MAX_LEAVES = 1_000_000

#: What to do where a diagram passes its limits.
HARD = (
    "Counting with repeated names is hard in general: repeat fewer names, split the formula, or "
    "use variables='free'."
)


def domain_positions(formula: Formula) -> dict[str | None, int]:
    """Domains in order of first appearance, each with its position.

    A formula without variables is given the domain of all columns.

    Raises
    ------
    FormulaError
        If a leaf is neither a variable nor a constant (a rule is not a template).
    """
    for leaf in formula.leaves:
        if not isinstance(leaf, Variable | Choice | Constant):
            raise FormulaError(
                f"the leaf {str(leaf)!r} is a comparison; a kernel's formula is a template over "
                "variables. Evaluate rules with fk.rule(...), or write a variable instead."
            )
    found = dict.fromkeys(variable.domain for variable in formula.variables) or {None: None}
    return {domain: position for position, domain in enumerate(found)}


def check_names(formula: Formula) -> None:
    """Refuse what has no meaning, or too much of it, where equal names mean the same variable.

    Raises
    ------
    FormulaError
        If a name stands inside a choice and also outside of it, or has two domains.  (Equal
        choices may share names: they are the same choice.)
    FormulaSizeError
        If the formula has more than ``MAX_LEAVES`` leaves.
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
