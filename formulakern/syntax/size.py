"""The size of a formula in memory: shared subformulas count once, and long chains are expensive."""

from __future__ import annotations

from formulakern.errors import FormulaSizeError
from formulakern.syntax.formula import MAX_ARGUMENTS, Formula, Operation

__all__ = ["MAX_OPERATIONS", "MAX_PLACES", "check_places", "check_size"]

#: A formula with more different subformulas, beside leaves and negations, is not worked on: each
#: takes up to 7 kilobytes and most of a millisecond.
MAX_OPERATIONS = 100_000
#: A formula is not worked on where its different subformulas have more arguments in all.
MAX_PLACES = 5_000_000


def check_size(formula: Formula) -> None:
    """Refuse a formula of more than ``MAX_OPERATIONS`` subformulas, or ``MAX_PLACES`` arguments.

    A chain of one connective is one subformula, and objects that are shared are few; but each
    chain that they are merged into holds all of its arguments.  Nothing is merged to find that out.

    Raises
    ------
    FormulaSizeError
    """
    if formula.n_leaves <= min(MAX_OPERATIONS, MAX_ARGUMENTS):  # cannot have so many
        return
    total = operations = 0
    whole, inside = {id(formula)}, set[int]()  # met as arguments, and as parts of longer chains
    pending = [(formula, False)]
    while pending:
        node, part = pending.pop()
        if not isinstance(node, Operation):
            continue
        if not part:
            total += node.length
            check_places(total)
            operations += node.connective.arity > 1
            if operations > MAX_OPERATIONS:
                raise FormulaSizeError(
                    f"the formula has more than {MAX_OPERATIONS:,} different subformulas, where a "
                    "chain of one connective is one of them. Make kernels of its parts, and "
                    "combine them."
                )
        for below in node.parts:
            merged = below.connective is node.connective and node.connective.chain == "flat"
            seen = inside if merged else whole
            if id(below) not in seen:
                seen.add(id(below))
                pending.append((below, merged))


def check_places(n: int) -> None:
    """Refuse more than ``MAX_PLACES`` arguments.

    Raises
    ------
    FormulaSizeError
    """
    if n > MAX_PLACES:
        raise FormulaSizeError(
            f"the different subformulas of this formula have more than {MAX_PLACES:,} arguments "
            "in all, where chains of one connective are merged. Make kernels of its parts, and "
            "combine them."
        )
