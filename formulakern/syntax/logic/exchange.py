"""Formulas for other tools: SymPy expressions, DIMACS files, Graphviz drawings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from formulakern.errors import FormulaError
from formulakern.syntax.logic.forms import (
    clauses_of,
    clauses_with_definitions,
    diagrams_of,
    letters_of,
    listed_form,
)
from formulakern.syntax.notation import UNICODE
from formulakern.syntax.traversal import fold, postorder

__all__ = ["diagram_dot", "dimacs", "sympy_expression", "tree_dot"]


def sympy_expression(formula: Any) -> Any:
    """Return what :meth:`formulakern.Formula.to_sympy` documents."""
    from sympy import And, Equivalent, Implies, Nand, Nor, Not, Or, Symbol, Xor, false, true

    for letter in letters_of([formula], "to_sympy()"):
        if getattr(letter, "domain", None):
            raise FormulaError(
                f"to_sympy() has no domains, which {str(letter)!r} has. Replace it first by a "
                "variable without one: formula.substitute({...})."
            )
    by_truth: dict[str, Callable[..., Any]] = {
        "01": lambda a: Not(a, evaluate=False),
        "1000": lambda *parts: And(*parts, evaluate=False),
        "1110": lambda *parts: Or(*parts, evaluate=False),
        "0110": lambda *parts: Xor(*parts, evaluate=False),
        "0111": lambda a, b: Nand(a, b, evaluate=False),
        "0001": lambda a, b: Nor(a, b, evaluate=False),
        "1011": lambda a, b: Implies(a, b, evaluate=False),
        "1101": lambda a, b: Implies(b, a, evaluate=False),
        "0100": lambda a, b: And(a, Not(b, evaluate=False), evaluate=False),
        "0010": lambda a, b: And(Not(a, evaluate=False), b, evaluate=False),
        "1001": lambda *parts: _equal(parts, Equivalent, Xor),
        "1100": lambda a, _: a,
        "1010": lambda _, b: b,
        "0011": lambda a, _: Not(a, evaluate=False),
        "0101": lambda _, b: Not(b, evaluate=False),
    }

    def step(node: Any, parts: list[Any]) -> Any:
        if node.connective is not None:
            return by_truth[node.connective.truth](*parts)
        if node.truth is not None:
            return true if node.truth else false
        return Symbol(node.name)

    return fold(formula, step)


def _equal(parts: tuple[Any, ...], equivalent: Any, xor: Any) -> Any:
    """Two equal ones; SymPy's Equivalent of more says that all are, a chain counts the false."""
    if len(parts) == 2:
        return equivalent(*parts, evaluate=False)
    return xor(*parts, len(parts) % 2 == 0, evaluate=False)


def dimacs(formula: Any, tseitin: bool, limit: int) -> str:
    """Return what :meth:`formulakern.Formula.to_dimacs` documents."""
    form = clauses_with_definitions(formula) if tseitin else listed_form(formula, "cnf", limit)
    clauses = clauses_of(form, "cnf")
    assert clauses is not None
    given = letters_of([formula], "to_dimacs()")
    number = {leaf: k for k, leaf in enumerate(dict.fromkeys([*given, *form.leaves]), 1)}
    number = {leaf: k for leaf, k in number.items() if leaf.truth is None}
    lines = [f"c {number[leaf]} {_name(leaf)}" for leaf in given]
    lines.append(f"p cnf {len(number)} {len(clauses)}")
    for clause in clauses:
        signed = (str(number[leaf] if sign else -number[leaf]) for leaf, sign in clause)
        lines.append(" ".join([*signed, "0"]))
    return "\n".join(lines) + "\n"


def _name(leaf: Any) -> str:
    return json.dumps(str(leaf) if leaf.domain else leaf.name)


def tree_dot(formula: Any) -> str:
    """Return what :meth:`formulakern.Formula.to_dot` documents, for the tree."""
    number: dict[int, int] = {}
    lines = ["digraph formula {", '  node [fontname="sans-serif"];']
    for k, node in enumerate(postorder(formula)):
        number[id(node)] = k
        if node.connective is None:
            text = ("⊥", "⊤")[node.truth] if node.truth is not None else node.leaf_text(UNICODE)
            lines.append(f"  n{k} [label={_quoted(text)}, shape=box];")
        else:
            lines.append(f"  n{k} [label={_quoted(node.connective.unicode)}, shape=circle];")
        lines += [f"  n{k} -> n{number[id(argument)]};" for argument in node.arguments]
    return "\n".join([*lines, "}"]) + "\n"


def diagram_dot(formula: Any) -> str:
    """Return what :meth:`formulakern.Formula.to_dot` documents, for the decision diagram."""
    d, letters, (top,) = diagrams_of("to_dot('diagram')", formula)
    lines = ["digraph diagram {", '  node [fontname="sans-serif"];']
    nodes = d.reachable(top)
    ends = {top} | {branch for node in nodes for branch in (d.high[node], d.low[node])}
    lines += [f'  n{end} [label="{end}", shape=box];' for end in (1, 0) if end in ends]
    for level, name in enumerate(letters):
        text = _quoted(name.leaf_text(UNICODE))
        at_level = [f"n{node} [label={text}]" for node in nodes if d.level[node] == level]
        if at_level:
            lines.append(f"  {{ rank=same; {'; '.join(at_level)}; }}")
    for node in nodes:  # a full line if the variable is true, a dashed one if it is false
        lines.append(f"  n{node} -> n{d.high[node]};")
        lines.append(f"  n{node} -> n{d.low[node]} [style=dashed];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
