"""Rules from fitted decision trees, forests and boosted trees, by the method of C4.5.

A few arrays hold the nodes of all trees of a model.  All leaves climb to their roots together, one
step a round, and record the splits on their paths as conditions on ranked columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import IntArray, different_rows
from formulakern.checks import check_flag, check_integer, check_number
from formulakern.encoding.bits import Words, n_words, pack_rows
from formulakern.encoding.plan import ColumnPlan, plan_boolean, plan_nominal
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, RankedColumn, RankedTable
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.validation import read_classes, read_weights, require_target
from formulakern.learning.covering.description_length import theory_bits
from formulakern.learning.covering.tree_rules import (
    LabelledRows,
    covers_of,
    decided,
    default_class,
    generalised,
    ordered,
    shortest_subset,
)
from formulakern.rules.cases import OPPOSITES
from formulakern.rules.class_rules import RuleList
from formulakern.rules.decision import ClassRule, class_positions
from formulakern.rules.rule import Rule
from formulakern.syntax.formula import FALSE, TRUE, Formula, Variable
from formulakern.syntax.leaves import Comparison
from formulakern.tables.column import did_you_mean
from formulakern.tables.read import default_names
from formulakern.tables.table import Table

KINDS = (
    DecisionTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
#: The number of categories that a split of histogram-based boosting can contain.
N_CATEGORIES = 256

Truths = npt.NDArray[np.bool_]


#: A node of a binary tree.  ``left`` and ``right`` are its children, −1 for a leaf.  Values of
#: ``column`` up to ``threshold`` go left, or, if ``categories`` is not −1, the values in that row
#: of the category sets.  Missing values go left if ``missing_left``.  ``label`` is the class of a
#: leaf, −1 for none, and ``weight`` the weight of its training rows.
NODE = np.dtype(
    [(name, np.int64) for name in ("left", "right", "column", "categories", "label")]
    + [("threshold", np.float64), ("missing_left", np.bool_), ("weight", np.float64)]
)


def _climbed(
    nodes: npt.NDArray[Any], leaves: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Truths]:
    """Return all splits above leaves: positions in ``leaves``, nodes, and whether they go left."""
    inner = np.flatnonzero(nodes["left"] >= 0)
    parent = np.full(len(nodes), -1, dtype=np.intp)
    is_left = np.zeros(len(nodes), dtype=np.bool_)
    parent[nodes["left"][inner]] = parent[nodes["right"][inner]] = inner
    is_left[nodes["left"][inner]] = True
    node, path = leaves, np.arange(len(leaves))
    found = []
    while len(node):
        above = parent[node]
        below_root = above >= 0
        path, node, above = path[below_root], node[below_root], above[below_root]
        found.append((path, above, is_left[node]))
        node = above
    paths, splits, sides = map(np.concatenate, zip(*found, strict=True))
    return paths, splits, sides


def read_nodes(model: Any) -> tuple[npt.NDArray[Any], Truths]:
    """Return the nodes of all trees, and the sets of categories that go left, bool (S, 256)."""
    if not isinstance(model, KINDS):
        raise ParameterError(
            f"rules are read from a fitted tree model; got {type(model).__name__}. Expected a "
            "DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, "
            "ExtraTreesClassifier, AdaBoostClassifier of trees, GradientBoostingClassifier, "
            "HistGradientBoostingClassifier, or a Pipeline of a PropositionEncoder and one of "
            "these."
        )
    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise ParameterError(
            f"the model predicts {model.n_outputs_} outputs at once; a rule predicts one class. "
            "Fit one model for each output."
        )
    trees, sets = zip(*_trees(model), strict=True)
    nodes, sizes = np.concatenate(trees), list(map(len, trees))
    n_sets = list(map(len, sets))
    for names, lengths in ((("left", "right"), sizes), (("categories",), n_sets)):
        before = np.repeat(np.cumsum(lengths) - lengths, sizes)
        for name in names:
            nodes[name] += before * (nodes[name] >= 0)
    return nodes, np.concatenate(sets)


def _trees(model: Any) -> Iterator[tuple[npt.NDArray[Any], Truths]]:
    if isinstance(model, HistGradientBoostingClassifier):
        columns = np.arange(model.n_features_in_)
        if model.is_categorical_ is not None:  # categorical columns come first in the trees
            columns = np.argsort(~model.is_categorical_, kind="stable")
        for predictor in chain.from_iterable(model._predictors):
            yield _nodes_of_predictor(predictor, columns)
        return
    boosted = isinstance(model, GradientBoostingClassifier)
    for part in model.estimators_.ravel() if boosted else getattr(model, "estimators_", [model]):
        if not boosted and not isinstance(part, DecisionTreeClassifier):
            raise ParameterError(
                f"{type(model).__name__} of {type(part).__name__}; expected estimators of type "
                "DecisionTreeClassifier, whose paths are rules."
            )
        yield _nodes_of_tree(part.tree_, concludes=not boosted)


def _nodes_of_tree(tree: Any, *, concludes: bool) -> tuple[npt.NDArray[Any], Truths]:
    nodes = np.zeros(tree.node_count, NODE)
    nodes["left"], nodes["right"] = tree.children_left, tree.children_right
    nodes["column"], nodes["weight"] = tree.feature, tree.weighted_n_node_samples
    # scikit-learn before 1.9 may write NaN, and every value goes right: x <= NaN is false
    nodes["threshold"] = np.where(np.isnan(tree.threshold), -np.inf, tree.threshold)
    nodes["missing_left"] = tree.missing_go_to_left
    nodes["categories"] = -1
    nodes["label"] = tree.value[:, 0, :].argmax(axis=1) if concludes else -1
    return nodes, np.zeros((0, N_CATEGORIES), dtype=np.bool_)


def _nodes_of_predictor(predictor: Any, columns: IntArray) -> tuple[npt.NDArray[Any], Truths]:
    own = predictor.nodes
    leaf = own["is_leaf"].astype(np.bool_)
    nodes = np.zeros(len(own), NODE)
    nodes["left"], nodes["right"] = own["left"], own["right"]
    nodes["left"][leaf] = nodes["right"][leaf] = -1
    nodes["column"], nodes["weight"] = columns[own["feature_idx"] * ~leaf], own["count"]
    nodes["threshold"], nodes["missing_left"] = own["num_threshold"], own["missing_go_to_left"]
    plain = leaf | (own["is_categorical"] == 0)
    nodes["categories"], nodes["label"] = np.where(plain, -1, own["bitset_idx"].astype(int)), -1
    octets = predictor.raw_left_cat_bitsets.astype("<u4").view(np.uint8)
    return nodes, np.unpackbits(octets, axis=1, bitorder="little").astype(np.bool_)


def category_numbers(model: Any) -> dict[int, dict[Any, int]]:
    """Return the trees' numbers of the categories of each categorical column, by position."""
    if getattr(model, "is_categorical_", None) is None:
        return {}
    encoder = model._preprocessor.named_transformers_["encoder"]
    return {
        int(place): {
            key: number
            for number, value in enumerate(categories.tolist())
            for key in (value, str(value))
        }
        for place, categories in zip(
            np.flatnonzero(model.is_categorical_), encoder.categories_, strict=True
        )
    }


#: Kinds of conditions: a rank below a bound, at least a bound, any rank, a set of ranks.
BELOW, FROM, PRESENT, MEMBER = range(4)


@dataclass(frozen=True, eq=False)
class Conditions:
    """The distinct conditions on the columns of a table.

    A row of ``keys`` (C, 4) is the column, the kind, the bound or row of ``sets``, and whether a
    missing value satisfies the condition.  ``sets`` (S, largest number of values) are sets of
    ranks.  If ``encoded``, the columns of ``ranked`` are propositions of the table.
    """

    ranked: RankedTable
    table: Table
    encoded: bool
    keys: IntArray
    sets: Truths

    def words(self, conditions: IntArray) -> Words:
        """Return the packed truth of conditions on the rows, uint64 (conditions, words)."""
        words = np.empty((len(conditions), n_words(len(self.table))), dtype=np.uint64)
        ranks, held = np.zeros(0, dtype=np.int32), -1
        for place, (column, kind, bound, missing) in enumerate(self.keys[conditions].tolist()):
            n = len(self.ranked.columns[column].values)
            if column != held:
                ranks, held = self.ranked.ranks[column][self.ranked.row], column
            if kind == MEMBER:
                truths = np.append(self.sets[bound, :n], missing > 0)[ranks]
            else:
                truths = ranks < bound if kind == BELOW else ranks >= bound
                truths[ranks == n] = missing
            words[place] = pack_rows(truths[None])[0]
        return words

    def formula_of(self, condition: int) -> Formula:
        """Return a condition as a formula on the columns of the table."""
        place, kind, bound, missing = self.keys[condition].tolist()
        column = self.ranked.columns[place]
        formula = self._formula_of(column, kind, bound)
        if not missing:
            return formula
        absent = Comparison(column.name, "is missing")
        return absent if formula == FALSE else formula | absent

    def _formula_of(self, column: RankedColumn, kind: int, bound: int) -> Formula:
        n = len(column.values)
        if kind == PRESENT:
            return Comparison(column.name, "is not missing")
        if kind == MEMBER:
            return _in_set(column, self.sets[bound, :n])
        if not 0 < bound < n:  # beyond all values: no row satisfies the condition
            return FALSE
        if column.proposition is not None:
            if kind == FROM:
                return column.proposition
            if self.encoded:
                return negation(column.proposition, self.table)
            return Comparison(column.name, "=", 0)
        if column.order and kind == FROM:
            return column.formula_of(AT_LEAST, bound)
        said = column.formula_of(AT_MOST, bound - 1)
        assert isinstance(said, Comparison)
        return said.replaced(relation=">") if kind == FROM else said


def _in_set(column: RankedColumn, inside: Truths) -> Formula:
    """Return membership in a set of values, or non-membership in the others if that is shorter."""
    if not inside.any():
        return FALSE
    if inside.all():
        return Comparison(column.name, "is not missing")
    few = inside.sum() <= len(inside) - inside.sum()
    listed = tuple(map(column.value, np.flatnonzero(inside == few).tolist()))
    one, many = ("=", "in") if few else ("!=", "not in")
    if len(listed) == 1:
        return Comparison(column.name, one, listed[0])
    return Comparison(column.name, many, listed)


def negation(leaf: Formula, table: Table) -> Formula:
    """Return the negation of a proposition, which is also true for missing values.

    >>> table = Table({"odor": ["foul", None], "size": [1, 2]})
    >>> negation(Comparison("size", "<=", 1), table), negation(Variable("size"), table)
    (Formula('size > 1'), Formula('size = 0'))
    >>> negation(Comparison("odor", "=", "foul"), table)
    Formula('~(odor = foul)')
    """
    if isinstance(leaf, Comparison):
        asks = leaf.relation.endswith("missing")
        if asks or not table.missing(leaf.column).any():
            return leaf.replaced(relation=OPPOSITES[leaf.relation])
    elif isinstance(leaf, Variable) and not table.missing(leaf.name).any():
        return Comparison(leaf.name, "=", 0)
    return ~leaf


def conditions_of(
    nodes: npt.NDArray[Any],
    categories: Truths,
    leaves: npt.NDArray[np.intp],
    ranked: RankedTable,
    table: Table,
    encoded: bool,
    cast: type[np.floating[Any]],
    codes: dict[int, IntArray],
) -> tuple[Conditions, IntArray, IntArray]:
    """Return the conditions on the paths to leaves, with only the tightest bounds per column."""
    paths, splits, is_left = _climbed(nodes, leaves)
    n_columns, node = len(ranked.columns), nodes[splits]
    column, passes = node["column"], node["missing_left"] == is_left
    groups, group = np.unique(paths * n_columns + column, return_inverse=True)
    group_path, group_column = np.divmod(groups, n_columns)
    n_values = ranked.n_values[group_column]
    # the bounds of every column on every path, and whether missing values take the path
    below, begin = n_values.copy(), np.zeros(len(groups), dtype=np.int64)
    has_missing = np.array([c.missing for c in ranked.columns], dtype=np.bool_)[group_column]
    through = has_missing.copy()
    np.logical_and.at(through, group, passes)
    gaps = _gaps(nodes, ranked, cast)[splits]
    numeric = node["categories"] < 0
    lefts, rights = numeric & is_left, numeric & ~is_left
    np.minimum.at(below, group[lefts], gaps[lefts])
    np.maximum.at(begin, group[rights], gaps[rights])
    # and the sets of categories
    sets, place = np.zeros((0, 1), dtype=np.bool_), np.zeros(len(groups), dtype=np.int64)
    full = np.ones(len(groups), dtype=np.bool_)
    if codes:
        nominal = np.flatnonzero(np.isin(group_column, list(codes)))
        place[nominal] = np.arange(len(nominal))
        sets = np.ones((len(nominal), max(map(len, codes.values()))), dtype=np.bool_)
        for j, known in codes.items():
            steps = np.flatnonzero(column == j)
            chosen = categories[node["categories"][steps]][:, known] == is_left[steps, None]
            chosen[:, known < 0] = passes[steps, None]
            np.logical_and.at(sets[:, : len(known)], place[group[steps]], chosen)
        full[nominal] = sets.all(axis=1)
        sets, number = np.unique(sets, axis=0, return_inverse=True)
        place[nominal] = number.reshape(-1)
    stopped = has_missing & ~through
    found = [
        (BELOW, below < n_values, below),
        (FROM, begin > 0, begin),
        (PRESENT, stopped & (below == n_values) & (begin == 0) & full, np.zeros_like(below)),
        (MEMBER, ~full, place),
    ]
    keys = np.concatenate(
        [
            np.column_stack(
                [group_column[chosen], np.full(chosen.sum(), kind), bound[chosen], through[chosen]]
            )
            for kind, chosen, bound in found
        ]
    )
    owner = np.concatenate([group_path[chosen] for _, chosen, _ in found])
    keys, condition = np.unique(keys, axis=0, return_inverse=True)
    order = np.lexsort((condition.reshape(-1), owner))
    sizes = np.bincount(owner, minlength=len(leaves)).astype(np.int64)
    members = np.full((len(leaves), max(1, int(sizes.max(initial=0)))), -1, dtype=np.int64)
    members[np.arange(members.shape[1]) < sizes[:, None]] = condition.reshape(-1)[order]
    return Conditions(ranked, table, encoded, keys, sets), members, sizes


def _gaps(nodes: npt.NDArray[Any], ranked: RankedTable, cast: type[np.floating[Any]]) -> IntArray:
    """Return the number of values of its column that each node sends left."""
    gaps = np.zeros(len(nodes), dtype=np.int64)
    numeric = (nodes["left"] >= 0) & (nodes["categories"] < 0)
    for j in np.unique(nodes["column"][numeric]).tolist():
        own = np.flatnonzero(numeric & (nodes["column"] == j))
        with np.errstate(over="ignore"):
            values = ranked.columns[j].values.astype(cast).astype(np.float64)
        gaps[own] = np.searchsorted(values, nodes["threshold"][own], side="right")
    return gaps


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
    r"""Return a decision list from a tree model of scikit-learn, by the method of C4.5.

    1. Every path from a root to a leaf is a rule, the conjunction of its splits with only the
       tightest bounds on each column.  Its class is the prediction of the leaf; a leaf of boosted
       trees has none, so its rule gets the class of most of its training rows.
    2. Every rule is generalised: as long as its *pessimistic error* does not rise, the condition
       whose removal gives the lowest error is dropped.  The pessimistic error of a rule with E
       errors among N rows is the upper confidence limit :math:`U_{CF}(E, N)` of the binomial
       distribution.  Equal rules are merged, and rules without conditions are removed.
    3. For each class the subset of rules with the least description length, of the rules and their
       exceptions, is kept.
    4. The classes are ordered by their false positives, fewest first.  The default class is the
       most frequent class of the rows that no rule covers.  Rules whose removal lowers the errors
       of the list on the training rows are removed.

    Parameters
    ----------
    model : fitted classifier of scikit-learn
        A DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier,
        ExtraTreesClassifier, AdaBoostClassifier of trees, GradientBoostingClassifier,
        HistGradientBoostingClassifier; or a Pipeline of a :class:`formulakern.PropositionEncoder`
        and one of these, for rules on the columns before the encoder.
    X : table of shape (n_rows, n_columns)
        The training rows.  A threshold is printed as the shortest number in the gap between two
        neighbouring values of this table.
    y : array-like of shape (n_rows,)
        The classes of the rows.
    sample_weight : array-like of shape (n_rows,), optional
        Weights that act as repetitions of rows; 0 leaves a row out.
    confidence : float in (0, 1), default=0.25
        CF; smaller values generalise more.
    prune : bool, default=True
        False stops after the first step: one rule for each leaf.  For a single tree this list has
        the predictions of the tree for all rows whose values occur in X.
    max_rules : int, default=10,000
        The limit of leaves to read, those of the largest weight of training rows in the model.
        Forests may have some hundred thousand leaves, most of them of single rows.

    Returns
    -------
    RuleList
        Each rule has the weight by class of the training rows that it decides.

    Raises
    ------
    ParameterError
        If the model is not supported, has several outputs, or a parameter is out of range.
    DataError
        If X or y does not match the model.

    Notes
    -----
    *Missing values.*  A comparison with a missing value is false, but a tree sends the value to one
    side of each split.  If a column has missing values in X, a rule on their path has a condition
    such as ``x <= 3 | x is missing``.  So the list before pruning predicts as the tree does.  If
    the column has none, a missing value in later rows satisfies no condition on it.

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
    nodes, sets = read_nodes(trees)
    table = _read_table(encoder or trees, X)
    classes = trees.classes_.tolist()
    require_target(model, y)
    labels = read_classes(y, len(table))
    codes = class_positions(labels, tuple(classes), len(table))
    weights = read_weights(sample_weight, len(table))
    rows = LabelledRows.of(codes, len(classes), weights)
    if encoder is None:
        ranked, numbers = _ranked(trees, table)
    else:
        packed = encoder.transform_packed(table)
        ranked, numbers = RankedTable.of_packed(packed, encoder.propositions_), {}
    leaves = np.flatnonzero(nodes["left"] < 0)
    heaviest = np.argsort(-nodes["weight"][leaves], kind="stable")[:max_rules]
    leaves = leaves[np.sort(heaviest)]
    cast = np.float64 if isinstance(trees, HistGradientBoostingClassifier) else np.float32
    conditions, members, sizes = conditions_of(
        nodes, sets, leaves, ranked, table, encoder is not None, cast, numbers
    )
    paths = _Paths(members, sizes, nodes["label"][leaves])
    if (paths.labels < 0).any():
        weights = rows.by_class(paths.covers(conditions, rows))
        paths = replace(paths, labels=weights.argmax(axis=1))
    if prune:
        paths, default = _pruned(paths, conditions, rows, confidence)
    counts = decided(paths.covers(conditions, rows), rows)
    if not prune:
        default = default_class(counts[-1], rows)
    listed = (
        ClassRule(Rule(formula), classes[label], tuple(weights))
        for formula, label, weights in zip(
            paths.formula_of(conditions), paths.labels.tolist(), counts[:-1].tolist(), strict=True
        )
    )
    return RuleList(tuple(listed), tuple(classes), classes[default], tuple(counts[-1].tolist()))


@dataclass(frozen=True, eq=False)
class _Paths:
    """The rules as conjunctions of conditions: members (R, k), sizes (R,), classes (R,), int64."""

    members: IntArray
    sizes: IntArray
    labels: IntArray

    def take(self, chosen: npt.NDArray[Any]) -> _Paths:
        return _Paths(self.members[chosen], self.sizes[chosen], self.labels[chosen])

    def covers(self, conditions: Conditions, rows: LabelledRows) -> Words:
        return covers_of(conditions.words, self.members, self.sizes, rows)

    def formula_of(self, conditions: Conditions) -> Iterator[Formula]:
        known = {c: conditions.formula_of(c) for c in np.unique(self.members).tolist() if c >= 0}
        for members, size in zip(self.members.tolist(), self.sizes.tolist(), strict=True):
            yield reduce(and_, (known[c] for c in members[:size])) if size else TRUE


def _pruned(
    paths: _Paths, conditions: Conditions, rows: LabelledRows, confidence: float
) -> tuple[_Paths, int]:
    """Return the ordered rules of the final list, and its default class."""
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
    order, default = ordered(covers[chosen], paths.labels[chosen], errors[chosen], rows)
    return paths.take(chosen[order]), default


def _n_conditions(ranked: RankedTable) -> int:
    """Return the number of possible conditions: two for every cut, nominal value or missing."""
    return sum(
        2 * (len(column.values) - (column.numeric or column.proposition is not None))
        + 2 * column.missing
        for column in ranked.columns
    )


def _parts(model: Any) -> tuple[PropositionEncoder | None, Any]:
    """Return the encoder of a pipeline or None, and the tree model."""
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
        "reads; expected only a PropositionEncoder. For rules on the changed columns write "
        "rules_from_tree(pipeline[-1], pipeline[:-1].transform(X), y)."
    )


def _read_table(source: Any, X: Any) -> Table:
    """Return the rows with the columns that the encoder or the model was fitted on."""
    table = X if isinstance(X, Table) else Table.of(X)
    n_columns, known = table.shape[1], list(map(str, getattr(source, "feature_names_in_", ())))
    if not len(table):
        raise DataError("the table has no rows. Pass the rows that the model was trained on.")
    absent = [name for name in known if name not in table]
    if known and not absent:
        return table.select(known)
    if n_columns != source.n_features_in_:
        raise DataError(
            f"the table has {n_columns} columns, but the model was trained on "
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


def _ranked(trees: Any, table: Table) -> tuple[RankedTable, dict[int, IntArray]]:
    """Return the columns as ranks, and the trees' category number of each rank if nominal."""
    numbers = category_numbers(trees)
    plans = []
    for j, name in enumerate(table.names):
        if j in numbers:
            plans.append(plan_nominal(Summary.of(table, name), negations=False))
        elif not table.is_numeric(name):
            raise DataError(
                f'column "{name}" holds text, and the trees compare it with numbers. Pass the '
                "table that the model was trained on."
            )
        elif Summary.of(table, name).is_boolean:
            plans.append(plan_boolean(name, negations=False))
        else:
            plans.append(ColumnPlan(name, "numeric", (), ()))
    ranked = RankedTable.of(table, plans)
    codes = {
        j: np.array([known.get(value, -1) for value in ranked.columns[j].values.tolist()], np.int64)
        for j, known in numbers.items()
    }
    return ranked, codes
