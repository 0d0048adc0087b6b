"""Rules from fitted decision trees, forests and boosted trees, as C4.5 makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import IntArray, different_rows
from formulakern.checks import check_flag, check_integer, check_number
from formulakern.encoding.bits import Words
from formulakern.encoding.column_plan import ColumnPlan, is_boolean, plan_boolean, plan_nominal
from formulakern.encoding.columns import did_you_mean
from formulakern.encoding.ranks import RankedTable
from formulakern.encoding.sources import default_names
from formulakern.encoding.table import Table
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.rule_lists.nodes import category_numbers, read_nodes
from formulakern.estimators.rule_lists.paths import Conditions, conditions_of
from formulakern.estimators.targets import read_classes, require_target, row_weights
from formulakern.learning.covering.description_length import theory_bits
from formulakern.learning.covering.pessimistic import LabelledRows, covers_of, generalised
from formulakern.learning.covering.rule_subset import (
    decided,
    default_class,
    ordered,
    shortest_subset,
)
from formulakern.rules.decision import ClassRule
from formulakern.rules.rule import Rule
from formulakern.rules.rule_list import RuleList
from formulakern.syntax.formula import TRUE, Formula

__all__ = ["rules_from_tree"]


def rules_from_tree(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    confidence: float = 0.25,
    prune: bool = True,
    max_rules: int = 10_000,
) -> RuleList:
    r"""The decision list that C4.5 makes of a tree, for the tree models of scikit-learn.

    1. Every path from a root to a leaf is a rule, the conjunction of its splits, of which only the
       tightest bounds on each column stay.  Its class is the one that the leaf predicts; a leaf of
       boosted trees predicts none, so its rule gets the class of most of its training rows.
    2. Every rule is generalised: as long as its *pessimistic error* does not rise, the condition
       is dropped without which that is lowest.  The pessimistic error of a rule with E errors
       among N rows is the upper confidence limit :math:`U_{CF}(E, N)` of the binomial
       distribution.  Rules that have become equal are merged; those without conditions go.
    3. Of the rules for each class the subset stays whose description length is least: that of the
       rules, and of the exceptions to them.
    4. The classes are ordered by their false positives, fewest first.  The default class is the
       most frequent one among the rows that no rule covers.  Rules are removed without which the
       list errs less on the training rows.

    Parameters
    ----------
    model : fitted classifier of scikit-learn
        A DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier,
        ExtraTreesClassifier, AdaBoostClassifier of trees, GradientBoostingClassifier,
        HistGradientBoostingClassifier; or a Pipeline of a :class:`formulakern.PropositionEncoder`
        and one of these, whose rules are in the words of the table before the encoder.
    X : table of shape (n_rows, n_columns)
        The training rows.  A threshold is printed as the shortest number in the gap between two
        neighbouring values of this table.
    y : array-like of shape (n_rows,)
        Their classes.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of rows, as if rows were repeated; 0 leaves a row out.
    confidence : float in (0, 1), default=0.25
        CF; the smaller, the more is generalised.
    prune : bool, default=True
        False stops after the first step: one rule for each leaf.  For a single tree this list
        predicts what the tree does, for all rows whose values occur in X.
    max_rules : int, default=10,000
        Only so many leaves are looked at, those of the largest weight of training rows (as the
        model counts it).  Forests have some hundred thousand leaves, most of them of single rows.

    Returns
    -------
    RuleList
        With the weight of training rows of each class that every rule decides.

    Raises
    ------
    ParameterError
        If the model is none of these, has several outputs, or a parameter is outside its range.
    DataError
        If X or y does not fit the model.

    Notes
    -----
    *Missing values.*  A comparison with a missing value is false, while a tree sends it to one
    side of each split.  Where a column has missing values in X, a rule whose path they take says
    ``x <= 3 | x is missing``, so that the list before pruning predicts as the tree does; where it
    has none, a missing value in later rows satisfies no condition on the column.

    *Cost.*  O(R·k²·n / 64) for R rules of k conditions on n rows, and R·n / 8 bytes: two to five
    seconds for the 6,000 leaves of a tree on 32,561 rows, or for a forest of 100 such trees.

    References
    ----------
    Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann, chapter 5.

    Examples
    --------
    >>> import formulakern as fk
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = fk.datasets.tic_tac_toe()
    >>> tree = make_pipeline(fk.PropositionEncoder(), DecisionTreeClassifier(random_state=0))
    >>> rules = fk.rules_from_tree(tree.fit(X, y), X, y)
    >>> bool(len(rules) < tree[-1].get_n_leaves()), bool((rules.predict(X) == y).mean() > 0.98)
    (True, True)
    """
    below_one = float(np.nextafter(1.0, 0.0))
    expected = "a number above 0 and below 1"
    check_number("confidence", confidence, 0, below_one, above=True, expected=expected)
    check_flag("prune", prune)
    check_integer("max_rules", max_rules)
    encoder, trees = _parts(model)
    nodes = read_nodes(trees)
    table = _read_table(encoder or trees, X)
    classes = trees.classes_.tolist()
    require_target(model, y)
    rows = _labelled(read_classes(y, len(table)), classes, sample_weight)
    if encoder is None:
        ranked, codes = _ranked(trees, table)
    else:
        packed = encoder.transform_packed(table)
        ranked, codes = RankedTable.of_packed(packed, encoder.propositions_), {}
    leaves = nodes.heaviest_leaves(max_rules)
    cast = np.float64 if isinstance(trees, HistGradientBoostingClassifier) else np.float32
    conditions, members, sizes = conditions_of(
        nodes, leaves, ranked, table, encoder is not None, cast, codes
    )
    paths = _Paths(members, sizes, nodes.label[leaves])
    if (paths.labels < 0).any():
        weights = rows.by_class(paths.covers(conditions, rows))
        paths = replace(paths, labels=weights.argmax(axis=1))
    if prune:
        paths, default = _pruned(paths, conditions, rows, confidence)
        counts = decided(paths.covers(conditions, rows), rows)
    else:
        counts = decided(paths.covers(conditions, rows), rows)
        default = default_class(counts[-1], rows)
    listed = (
        ClassRule(Rule(formula), classes[label], tuple(weights))
        for formula, label, weights in zip(
            paths.said(conditions), paths.labels.tolist(), counts[:-1].tolist(), strict=True
        )
    )
    return RuleList(tuple(listed), tuple(classes), classes[default], tuple(counts[-1].tolist()))


@dataclass(frozen=True, eq=False)
class _Paths:
    """Rules as conjunctions of conditions: members (R, k), sizes (R,) and classes (R,), int64."""

    members: IntArray
    sizes: IntArray
    labels: IntArray

    def take(self, chosen: npt.NDArray[Any]) -> _Paths:
        return _Paths(self.members[chosen], self.sizes[chosen], self.labels[chosen])

    def covers(self, conditions: Conditions, rows: LabelledRows) -> Words:
        return covers_of(conditions.words, self.members, self.sizes, rows)

    def said(self, conditions: Conditions) -> Iterator[Formula]:
        known = {c: conditions.said(c) for c in np.unique(self.members).tolist() if c >= 0}
        for members, size in zip(self.members.tolist(), self.sizes.tolist(), strict=True):
            yield reduce(and_, (known[c] for c in members[:size])) if size else TRUE


def _pruned(
    paths: _Paths, conditions: Conditions, rows: LabelledRows, confidence: float
) -> tuple[_Paths, int]:
    """The rules of the finished list in their order, and its default class."""
    members, sizes, errors = generalised(
        conditions.words, paths.members, paths.sizes, paths.labels, rows, confidence
    )
    some = sizes > 0
    first, _ = different_rows(np.column_stack([paths.labels, members])[some])
    kept = np.flatnonzero(some)[np.sort(first)]
    paths, errors = _Paths(members[kept], sizes[kept], paths.labels[kept]), errors[kept]
    covers = paths.covers(conditions, rows)
    bits = theory_bits(max(_n_conditions(conditions.ranked), paths.members.shape[1]), paths.sizes)
    chosen = np.concatenate(
        [
            own[shortest_subset(covers[own], bits[own], rows, label)]
            for label in range(rows.n_classes)
            for own in [np.flatnonzero(paths.labels == label)]
        ]
    )
    found = ordered(covers[chosen], paths.labels[chosen], errors[chosen], rows)
    return paths.take(chosen[found.order]), found.default


def _n_conditions(ranked: RankedTable) -> int:
    """How many conditions a rule may have: two for every cut of a number, or value of a word."""
    return sum(
        2 * (len(column.values) - (column.numeric or column.proposition is not None))
        + 2 * column.missing
        for column in ranked.columns
    )


def _parts(model: Any) -> tuple[PropositionEncoder | None, Any]:
    """The encoder before the trees, if there is one, and the model that has them."""
    if not isinstance(model, Pipeline):
        return None, model
    *before, (_, trees) = [(n, s) for n, s in model.steps if s is not None and s != "passthrough"]
    if not before:
        return None, trees
    if len(before) == 1 and isinstance(before[0][1], PropositionEncoder):
        check_is_fitted(before[0][1])
        return before[0][1], trees
    name, step = next((n, s) for n, s in before if not isinstance(s, PropositionEncoder))
    raise ParameterError(
        f"step {name!r} of the pipeline, {type(step).__name__}, changes the columns that the tree "
        "reads; rules are read through a PropositionEncoder only. Write rules_from_tree("
        "pipeline[-1], pipeline[:-1].transform(X), y) for rules on the changed columns."
    )


def _read_table(source: Any, X: Any) -> Table:
    """The training rows, with the columns that the encoder or the model was fitted on."""
    table = X if isinstance(X, Table) else Table.of(X)
    n_columns, known = table.shape[1], list(map(str, getattr(source, "feature_names_in_", ())))
    if not len(table):
        raise DataError("the table has no rows. Pass those that the model was trained on.")
    absent = [name for name in known if name not in table]
    if known and not absent:
        return table.select(known)
    if n_columns != source.n_features_in_:
        raise DataError(
            f"the table has {n_columns} columns, and the model was trained on "
            f"{source.n_features_in_}. Pass the table that it was trained on."
        )
    if absent and table.names != tuple(default_names(n_columns)):
        raise DataError(
            f'the model was trained on a column "{absent[0]}", which is not in the table; '
            f"{did_you_mean(absent[0], table.names)} Pass the table that it was trained on."
        )
    if isinstance(source, PropositionEncoder):
        known = [plan.name for plan in source.plans_]
    return Table.of(table, names=known) if known else table


def _labelled(labels: npt.NDArray[Any], classes: Sequence[Any], sample_weight: Any) -> LabelledRows:
    """Classes and weights of the training rows."""
    place = {label: k for k, label in enumerate(classes)}
    codes = np.array([place.get(label, -1) for label in labels.tolist()])
    if (codes < 0).any():
        row = int(codes.argmin())
        raise DataError(
            f"row {row} is of class {labels.tolist()[row]!r}, and the model knows "
            f"{list(classes)!r}. Pass the classes that it was trained on."
        )
    weights = row_weights(labels, None, sample_weight)
    if not weights.any():
        raise DataError("all rows have weight 0; rules need some of positive weight.")
    return LabelledRows.of(codes, len(classes), weights)


def _ranked(trees: Any, table: Table) -> tuple[RankedTable, dict[int, IntArray]]:
    """The columns as ranks, and for nominal ones the trees' number of the category of each rank."""
    numbers = category_numbers(trees)
    plans = []
    for j, name in enumerate(table.names):
        if j in numbers:
            plans.append(plan_nominal(table, name, negations=False))
        elif not table.is_numeric(name):
            raise DataError(
                f'column "{name}" holds text, and the trees compare it with numbers. Pass the '
                "table that the model was trained on."
            )
        elif is_boolean(table, name):
            plans.append(plan_boolean(name, negations=False))
        else:
            plans.append(ColumnPlan(name, "numeric", (), ()))
    ranked = RankedTable.of(table, plans)
    codes = {
        j: np.array([known.get(value, -1) for value in ranked.columns[j].values.tolist()], np.int64)
        for j, known in numbers.items()
    }
    return ranked, codes
