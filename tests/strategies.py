"""Hypothesis strategies: names, formulas, rules, and tables of 0 and 1."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from formulakern.rules.decision import ClassRule
from formulakern.rules.rule import Rule
from formulakern.syntax.connectives import CONNECTIVES
from formulakern.syntax.formula import FALSE, TRUE, Formula, Operation, Variable, both, fold
from formulakern.syntax.leaves import CHOICES, ORDERS, RELATIONS, Choice, ColumnName, Comparison

#: Names that look like something else: Python, keywords, format strings, SymPy's own, text tricks.
ODD_NAMES = (
    *"SENIQO_",
    "lambda",
    "None",
    "import os",
    "__import__('os').system('true')",
    "{0}",
    "%s",
    "{{}}",
    "\\n",
    "a\nb",
    "\x00",
    "\t",
    "`",
    "``",
    "a`b",
    "'",
    '"',
    "#",
    "and",
    "NOT",
    "true",
    "False",
    "xnor",
    "İff",
    "ıff",
    "falſe",
    "android",
    "notable",
    "in",
    "is",
    "missing",
    "1",
    "0",
    "0x",
    "3.5",
    "größe",
    "日本",
    "имя",
    "हिन्दी",
    "é",
    "e\u0301",
    "𝔸",
    "\u202eevil",
    "😀",
    "a:b",
    "->",
    "(",
    "\ud800",
    "<script>alert(1)</script>",
    "$x$",
    "x12",
    "x_1",
)


def names() -> st.SearchStrategy[str]:
    """Any non-empty text; often one of the odd ones, often a short plain one."""
    plain = st.text("abcxyz_09", min_size=1, max_size=3)
    return st.sampled_from(ODD_NAMES) | plain | st.text(min_size=1, max_size=6)


def combined(leaves: st.SearchStrategy[Formula], max_leaves: int) -> st.SearchStrategy[Formula]:
    """Formulas over these leaves with every connective, chains of up to four links included."""

    def extend(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        branches = []
        for row in CONNECTIVES:
            longest = 4 if row.chain == "flat" else row.arity
            arguments = st.lists(inner, min_size=row.arity, max_size=longest)
            branches.append(st.builds(Operation, st.just(row), arguments))
        return st.one_of(branches)

    return st.recursive(leaves, extend, max_leaves=max_leaves)


def formulas(max_leaves: int = 12) -> st.SearchStrategy[Formula]:
    """Template formulas with any names and domains: for reading and printing."""
    leaves = st.one_of(
        st.sampled_from("abc").map(Variable),
        st.builds(Variable, names(), st.none() | names()),
        st.sampled_from((TRUE, FALSE)),
    )
    return combined(leaves, max_leaves)


def countable(
    max_leaves: int = 5, domains: tuple[str | None, ...] = (None,), letters: str = "abcd"
) -> st.SearchStrategy[Formula]:
    """Formulas of few variables, often repeated, each with one of the domains: for counting."""
    names = [Variable(name) for name in letters]
    plain = combined(
        st.one_of(*[st.sampled_from(names)] * 4, st.sampled_from((TRUE, FALSE))), max_leaves
    )
    if domains == (None,):
        return plain
    placed = {v: st.sampled_from(domains).map(partial(Variable, v.name)) for v in names}
    return st.builds(_replaced, plain, st.fixed_dictionaries(placed))


def _replaced(formula: Formula, leaf: dict[Formula, Formula]) -> Formula:
    """The formula with other leaves (strategies that are built while drawing are slow)."""
    return fold(
        formula,
        lambda node, parts: (
            leaf.get(node, node) if node.connective is None else Operation(node.connective, parts)
        ),
    )


def choices(inner: st.SearchStrategy[Formula], max_degree: int = 3) -> st.SearchStrategy[Choice]:
    """Choices of every kind from the feature spaces of these formulas."""

    def of(parts: tuple[str, Formula, int, int]) -> Choice:
        kind, formula, degree, count = parts
        return Choice(kind, formula, degree, count if CHOICES[kind] == 2 else None)

    degrees = st.integers(1, max_degree).flatmap(
        lambda degree: st.tuples(st.just(degree), st.integers(0, degree))
    )
    return st.tuples(st.sampled_from(sorted(CHOICES)), inner, degrees).map(
        lambda parts: of((parts[0], parts[1], *parts[2]))
    )


def choosing(max_leaves: int = 2) -> st.SearchStrategy[Formula]:
    """Formulas with variables and choices, no name both inside and outside of a choice."""
    letters = ("ab", "cd", "ef")

    def inside(names: str) -> st.SearchStrategy[Formula]:
        return countable(max_leaves, letters=names)

    first, second = Variable("first"), Variable("second")
    places = st.sampled_from((first, first, first, second))
    return st.builds(
        _replaced,
        combined(places | st.sampled_from(letters[2]).map(Variable), 3),
        st.fixed_dictionaries(
            {
                first: choices(inside(letters[0])),
                second: choices(inside(letters[1]), max_degree=2),
            }
        ),
    )


def values() -> st.SearchStrategy[object]:
    """Return the texts that are allowed on the right of ``=``."""
    return st.one_of(
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        names(),
        st.just(""),
        names().map(ColumnName),
    )


def comparisons() -> st.SearchStrategy[Comparison]:
    """Comparisons of every relation."""

    def of(relation: str) -> st.SearchStrategy[Comparison]:
        if relation.endswith("missing"):
            value: st.SearchStrategy[object] = st.none()
        elif relation.endswith("in"):
            value = st.lists(values(), min_size=1, max_size=4).map(tuple)
        elif relation in ("=", "!="):
            value = values()
        else:
            value = values().filter(lambda v: not isinstance(v, str))
        return st.builds(Comparison, names(), st.just(relation), value)

    return st.sampled_from(sorted(RELATIONS)).flatmap(of)


def intervals() -> st.SearchStrategy[Formula]:
    """Two comparisons of one column, the ends of an interval or not."""

    def of(column: str, ends: list[tuple[str, object]]) -> Formula:
        first, second = (Comparison(column, relation, value) for relation, value in ends)
        return first & second

    end = st.tuples(
        st.sampled_from(sorted(ORDERS)), values().filter(lambda v: not isinstance(v, str))
    )
    return st.builds(of, names(), st.lists(end, min_size=2, max_size=2))


def rules(max_leaves: int = 8) -> st.SearchStrategy[Formula]:
    """Concrete rules: comparisons, intervals, Boolean columns and constants."""
    leaves = comparisons() | intervals() | names().map(Variable) | st.sampled_from((TRUE, FALSE))
    return combined(leaves, max_leaves)


def tables(
    rows: st.SearchStrategy[int] | int, columns: st.SearchStrategy[int] | int
) -> st.SearchStrategy[np.ndarray]:
    """0/1 tables, int64."""
    sizes = [s if isinstance(s, st.SearchStrategy) else st.just(s) for s in (rows, columns)]
    return st.tuples(*sizes).flatmap(
        lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(0, 1))
    )


#: Columns of the rules below, with entries of every case that these rules tell apart.
ENTRIES: dict[str, list[object]] = {
    "p": [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, None],
    "the q": [0.0, 1.0, 1.5, 2.0, 3.0, None],
    "r's": ["a", 'b"', "it's", "other", None],
    "t": [1, 0, None],
}


def class_rules(
    labels: tuple[object, ...] = ("x", "y", "z"), max_leaves: int = 4
) -> st.SearchStrategy[ClassRule]:
    """Rules over ``ENTRIES`` that conclude a class; most are conjunctions."""
    orders = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    words = st.sampled_from(["a", 'b"', "it's"])
    leaves = st.one_of(
        st.builds(Comparison, st.just("p"), orders, st.sampled_from([-1, 0, 1, 2.5])),
        st.builds(Comparison, st.just("the q"), orders, st.sampled_from([1, 2])),
        st.builds(Comparison, st.just("r's"), st.sampled_from(["=", "!="]), words),
        st.builds(
            Comparison,
            st.just("r's"),
            st.sampled_from(["in", "not in"]),
            st.lists(words, min_size=1, max_size=2).map(tuple),
        ),
        st.builds(
            Comparison,
            st.sampled_from(["p", "r's"]),
            st.sampled_from(["is missing", "is not missing"]),
        ),
        st.just(Variable("t")),
    )
    conjunctions = st.lists(leaves, min_size=1, max_size=max_leaves).map(both)
    formulas = conjunctions | conjunctions | combined(leaves, max_leaves)
    return st.builds(ClassRule, formulas.map(Rule), st.sampled_from(labels))
