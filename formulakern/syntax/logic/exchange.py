"""Formulas for other tools: SymPy expressions, DIMACS files, Graphviz drawings."""

from __future__ import annotations

import itertools
import json
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
    by_truth = {"01": Not, "1000": And, "1110": Or, "0110": Xor}
    by_truth |= {"0111": Nand, "0001": Nor, "1011": Implies, "1001": Equivalent}
    by_truth["1101"] = lambda a, b, **options: Implies(b, a, **options)

    def step(node: Any, parts: list[Any]) -> Any:
        if node.truth is not None:
            return true if node.truth else false
        if node.connective is None:
            return Symbol(node.name)
        truth = node.connective.truth
        if truth == "1001" and len(parts) > 2:  # SymPy's Equivalent means that all are equal
            return Xor(*parts, len(parts) % 2 == 0, evaluate=False)
        if truth in by_truth:
            return by_truth[truth](*parts, evaluate=False)
        a, b = ((part, Not(part, evaluate=False)) for part in parts)
        cells = [And(p, q, evaluate=False) for p, q in itertools.product(a, b)]
        true_cells = [cell for cell, bit in zip(cells, truth, strict=True) if bit == "1"]
        return Or(*true_cells, evaluate=False) if len(true_cells) > 1 else true_cells[0]

    return fold(formula, step)


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
