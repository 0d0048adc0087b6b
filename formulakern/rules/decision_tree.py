"""DecisionTree: a tree of comparisons that ends in classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.encoding.propositions import evaluate_formula
from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.cases import Assignments, Box
from formulakern.rules.export.languages import ExportMixin, OrderedRules
from formulakern.rules.rule import Rule
from formulakern.rules.voting import class_array
from formulakern.syntax.formula import Constant, Formula, both, fold
from formulakern.tables.table import Table
from formulakern.text import preformatted

#: Maximum number of nodes of a tree made from a list.
MAX_NODES = 20_000


@dataclass(frozen=True, repr=False)
class DecisionTree(ExportMixin):
    """A decision tree: each inner node tests a rule, each leaf is a class.

    Nodes are numbered from the root, 0; each node comes before those below it.

    Parameters
    ----------
    tests : tuple of N (Rule or None)
        The rule of each inner node; None for a leaf.
    yes, no : tuple of N int
        The next node if a row satisfies the rule, and if not; the node itself for a leaf.
    labels : tuple of N
        The class of a leaf, None if it is unknown; None for an inner node.
    classes : tuple of K
        All classes.

    Raises
    ------
    ParameterError
        If the lengths differ, or a node does not come before those below it.

    Examples
    --------
    >>> from formulakern.rules.rule import rule
    >>> tree = DecisionTree((rule("x <= 3"), None, None), (1, 1, 2), (2, 1, 2),
    ...                     (None, "a", "b"), ("a", "b"))
    >>> print(tree)
    x <= 3?
    ├─ yes: a
    └─ no: b
    >>> tree.predict({"x": [2, 5, None]})
    array(['a', 'b', 'b'], dtype='<U1')
    >>> tree.n_leaves, tree.depth
    (2, 1)
    """

    tests: tuple[Rule | None, ...]
    yes: tuple[int, ...]
    no: tuple[int, ...]
    labels: tuple[Any, ...]
    classes: tuple[Any, ...]

    def __post_init__(self) -> None:
        n = len(self.tests)
        right = n > 0 and n == len(self.yes) == len(self.no) == len(self.labels)
        for node, (test, *ways) in enumerate(zip(self.tests, self.yes, self.no, strict=False)):
            least = node if test is None else node + 1
            right = right and all(least <= way < (node + 1 if test is None else n) for way in ways)
        if not right:
            raise ParameterError(
                f"tests, yes, no and labels have {n}, {len(self.yes)}, {len(self.no)} and "
                f"{len(self.labels)} entries; expected one of each per node, at least one node, "
                "and each node before those below it."
            )

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return self.tests.count(None)

    @property
    def depth(self) -> int:
        """The largest number of tests on a path."""
        depths = [0] * len(self.tests)
        for node, test in enumerate(self.tests):
            if test is not None:
                for way in (self.yes[node], self.no[node]):
                    depths[way] = max(depths[way], depths[node] + 1)
        return max(depths)

    @lazily
    def predict(self, table: Any) -> npt.NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        table : DataFrame, mapping of columns, array-like or Table of n rows

        Returns
        -------
        ndarray of shape (n,)
            The dtype is that of the classes, or object if a leaf has an unknown class.

        Raises
        ------
        DataError
            If a column is absent, or its entries cannot be compared.
        """
        rows = Table.of(table)
        at = np.zeros(len(rows), dtype=np.intp)
        known: dict[Formula, npt.NDArray[np.bool_]] = {}
        for node, test in enumerate(self.tests):
            if test is not None:
                here, true = at == node, evaluate_formula(test.formula, rows, known)
                at[here] = np.where(true[here], self.yes[node], self.no[node])
        unknown = self._has_unknown()
        places = {label: place for place, label in enumerate(self.classes)}
        answers = class_array([*self.classes, None] if unknown else self.classes)
        of_node = np.array([places.get(label, len(places)) for label in self.labels], dtype=np.intp)
        return answers[np.minimum(of_node[at], len(answers) - 1)]

    # -- for other programs ---------------------------------------------------------------------

    def _exported(self) -> OrderedRules:
        """Return the leaves as an ordered list of rules, and the default.

        Leaves reached by "yes" come first, so rules need not negate earlier tests.  If a class is
        unknown, only the default can have it, and every rule lists all its tests.
        """
        unknown = self._has_unknown()
        rules: list[Rule] = []
        labels: list[Any] = []
        pending: list[tuple[int, tuple[Formula, ...]]] = [(0, ())]
        while pending:
            node, path = pending.pop()
            test = self.tests[node]
            if test is not None:
                refused = (*path, ~test.formula) if unknown else path
                pending += [(self.no[node], refused), (self.yes[node], (*path, test.formula))]
            elif self.labels[node] in self.classes:
                labels.append(self.labels[node])
                rules.append(Rule(both(path)))
            if len(rules) > MAX_NODES:
                raise FormulaSizeError(
                    f"the tree has more than {MAX_NODES:,} paths to its leaves, too many to write. "
                    "Simplify the rules first."
                )
        if unknown:
            labels.append(None)
        else:
            rules.pop()  # the last one covers all other rows
        return OrderedRules(rules, labels, "a tree")

    def _has_unknown(self) -> bool:
        leaves = {self.labels[node] for node, test in enumerate(self.tests) if test is None}
        return not leaves <= set(self.classes)

    def __repr__(self) -> str:
        return f"<DecisionTree: {self.n_leaves} leaves for {list(self.classes)!r}>"

    def __str__(self) -> str:
        lines = []
        pending = [(0, "", "")]
        while pending:
            node, front, below = pending.pop()
            test = self.tests[node]
            if test is None:
                unknown = self.labels[node] is None and None not in self.classes
                lines.append(f"{front}{'unknown' if unknown else self.labels[node]}")
                continue
            lines.append(f"{front}{test}?")
            pending.append((self.no[node], f"{below}└─ no: ", f"{below}   "))
            pending.append((self.yes[node], f"{below}├─ yes: ", f"{below}│  "))
        return "\n".join(lines)

    _repr_html_ = preformatted


def tree_of(
    formulas: Sequence[Formula], labels: Sequence[Any], classes: tuple[Any, ...]
) -> DecisionTree:
    """Implement :meth:`formulakern.RuleList.to_tree` for R formulas and R + 1 labels."""
    logic = Assignments.of(formulas)
    nodes: list[tuple[Formula | None, Any]] = []  # a test and its sides, or None and a label
    ways: list[list[int]] = []
    pending: list[tuple[int, int, Box, int]] = [(-1, 0, {}, 0)]  # above, side, rows, first rule
    while pending:
        above, side, space, first = pending.pop()
        if above >= 0:
            ways[above][side] = len(nodes)
        test, first = _next(formulas, first, logic, space)
        nodes.append((test, labels[first] if test is None else None))
        ways.append([len(nodes) - 1] * 2)
        if len(nodes) > MAX_NODES:
            raise FormulaSizeError(
                f"the tree has more than {MAX_NODES:,} nodes. Keep the list, or simplify it first."
            )
        if test is not None:
            key, bits = logic.cases[test]
            now = space.get(key, logic.all[key])
            for way, part in ((1, now & ~bits), (0, now & bits)):
                pending.append((len(nodes) - 1, way, {**space, key: part}, first))
    trees: dict[int, tuple[tuple[Any, ...], ...]] = {}  # with the offsets of their subtrees
    for node in reversed(range(len(nodes))):
        test, label = nodes[node]
        if test is None:
            trees[node] = ((None, 0, 0, label),)
            continue
        yes, no = map(trees.pop, ways[node])
        trees[node] = yes if yes == no else ((Rule(test), 1, 1 + len(yes), None), *yes, *no)
    columns: Any = [*zip(*trees[0], strict=True)]  # tests, offsets of yes and of no, labels
    columns[1:3] = (tuple(map(sum, enumerate(side))) for side in columns[1:3])
    return DecisionTree(columns[0], columns[1], columns[2], columns[3], classes)


def _next(
    formulas: Sequence[Formula], first: int, logic: Assignments, space: Box
) -> tuple[Formula | None, int]:
    """Return the next test for the rows of a box, and the first rule that may cover some of them.

    Without a test, this rule covers all of these rows.
    """
    for position in range(first, len(formulas)):
        value = _under(formulas[position], logic, space)
        if isinstance(value, Formula):
            return value, position
        if value:
            return None, position
    return None, len(formulas)


def _under(formula: Formula, logic: Assignments, space: Box) -> bool | Formula:
    """Return the value of a formula on all rows of a box, or a leaf that it may depend on."""

    def build(node: Formula, parts: list[tuple[set[bool], Formula]]) -> tuple[set[bool], Formula]:
        if isinstance(node, Constant):
            return {node.value}, node
        if node.connective is None:
            key, bits = logic.cases[node]
            now = space.get(key, logic.all[key])
            return {value for value in (True, False) if now & (bits if value else ~bits)}, node
        values = parts[0][0]
        if node.connective.arity == 1:
            values = {not value for value in values}
        for other, _ in parts[1:]:
            values = {node.connective(a, b) for a in values for b in other}
        return values, next((leaf for value, leaf in parts if len(value) > 1), node)

    values, leaf = fold(formula, build)
    return leaf if len(values) > 1 else True in values
