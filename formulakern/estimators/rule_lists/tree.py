"""Rules from fitted decision trees, forests and boosted trees, as C4.5 makes them.

The nodes of all trees of a model are in a few arrays. All leaves climb to their roots at the same
time, one step a round, and note the splits on their way; these are conditions on ranked columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
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
from formulakern.encoding.bits import Words, n_words, pack_coordinates, pack_rows
from formulakern.encoding.plan import ColumnPlan, plan_boolean, plan_nominal
from formulakern.encoding.ranks import AT_LEAST, AT_MOST, RankedColumn, RankedTable
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.targets import read_classes, read_weights, require_target
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
from formulakern.rules.decision import ClassRule
from formulakern.rules.rule import Rule
from formulakern.rules.rule_list import RuleList
from formulakern.syntax.formula import FALSE, TRUE, Formula, Variable
from formulakern.syntax.leaves import Comparison
from formulakern.tables.column import did_you_mean
from formulakern.tables.read import default_names
from formulakern.tables.table import Table

__all__ = ["rules_from_tree"]

FORESTS = (RandomForestClassifier, ExtraTreesClassifier, AdaBoostClassifier)
KINDS = (
    DecisionTreeClassifier,
    *FORESTS,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
#: Categories that a split of histogram-based boosting can name.
N_CATEGORIES = 256

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of binary trees.

    Parameters
    ----------
    left, right : ndarray of shape (N,), int64
        The children; −1 for a leaf.
    column : ndarray of shape (N,), int64
        The column that a node splits by.
    threshold : ndarray of shape (N,), float64
        Values up to it go to the left.
    missing_left : ndarray of shape (N,), bool
        Where rows go whose value is missing.
    categories : ndarray of shape (N,), int64
        The row of ``sets`` that a node splits by, or −1.
    label, weight : ndarray of shape (N,), int64 and float64
        The class that a leaf concludes, −1 if none; the weight of its training rows.
    sets : ndarray of shape (S, 256), bool
        Categories that go to the left.
    """

    left: IntArray
    right: IntArray
    column: IntArray
    threshold: npt.NDArray[np.float64]
    missing_left: Truths
    categories: IntArray
    label: IntArray
    weight: npt.NDArray[np.float64]
    sets: Truths

    @classmethod
    def joined(cls, trees: Sequence[Nodes]) -> Nodes:
        """Return all trees, one after another."""
        shifted, n_nodes, n_sets = [], 0, 0
        for tree in trees:
            left, right, sets = (
                np.where(field < 0, -1, field + first)
                for field, first in (
                    (tree.left, n_nodes),
                    (tree.right, n_nodes),
                    (tree.categories, n_sets),
                )
            )
            shifted.append(replace(tree, left=left, right=right, categories=sets))
            n_nodes, n_sets = n_nodes + len(tree.left), n_sets + len(tree.sets)
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(tree, name) for tree in shifted]) for name in names))

    def heaviest_leaves(self, most: int) -> npt.NDArray[np.intp]:
        """Return the leaves, ascending; at most so many, of the largest weight."""
        leaves = np.flatnonzero(self.left < 0)
        order = np.argsort(-self.weight[leaves], kind="stable")
        return np.sort(leaves[order[:most]])

    def climbed(
        self, leaves: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Truths]:
        """All splits above leaves: positions in ``leaves``, nodes, and whether they go left."""
        inner = np.flatnonzero(self.left >= 0)
        parent = np.full(len(self.left), -1, dtype=np.intp)
        is_left = np.zeros(len(self.left), dtype=np.bool_)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        is_left[self.left[inner]] = True
        node, path = leaves, np.arange(len(leaves))
        found = []
        while len(node):
            above = parent[node]
            below_root = above >= 0
            path, node, above = path[below_root], node[below_root], above[below_root]
            found.append((path, above, is_left[node]))
            node = above
        paths, nodes, sides = map(np.concatenate, zip(*found, strict=True))
        return paths, nodes, sides


def read_nodes(model: Any) -> Nodes:
    """Return the nodes of all trees of a fitted classifier."""
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
            f"the model predicts {model.n_outputs_} outputs at once; a rule concludes one class. "
            "Fit one model for each output."
        )
    return Nodes.joined(list(_trees(model)))


def _trees(model: Any) -> Iterator[Nodes]:
    if isinstance(model, DecisionTreeClassifier):
        yield _nodes_of_tree(model.tree_, concludes=True)
    elif isinstance(model, FORESTS):
        for part in model.estimators_:
            if not isinstance(part, DecisionTreeClassifier):
                raise ParameterError(
                    f"{type(model).__name__} of {type(part).__name__}; expected one of "
                    "DecisionTreeClassifier, whose paths are rules."
                )
            yield _nodes_of_tree(part.tree_, concludes=True)
    elif isinstance(model, GradientBoostingClassifier):
        for part in model.estimators_.ravel():
            yield _nodes_of_tree(part.tree_, concludes=False)
    else:
        columns = _columns_of_features(model)
        for stage in model._predictors:
            for predictor in stage:
                yield _nodes_of_predictor(predictor, columns)


def _nodes_of_tree(tree: Any, *, concludes: bool) -> Nodes:
    n = tree.node_count
    label = tree.value[:, 0, :].argmax(axis=1) if concludes else np.full(n, -1)
    return Nodes(
        left=tree.children_left.astype(np.int64),
        right=tree.children_right.astype(np.int64),
        column=tree.feature.astype(np.int64),
        # scikit-learn before 1.9 may write NaN, and every value goes right: x <= NaN is false
        threshold=np.where(np.isnan(tree.threshold), -np.inf, tree.threshold),
        missing_left=tree.missing_go_to_left.astype(np.bool_),
        categories=np.full(n, -1, dtype=np.int64),
        label=label.astype(np.int64),
        weight=tree.weighted_n_node_samples.astype(np.float64),
        sets=np.zeros((0, N_CATEGORIES), dtype=np.bool_),
    )


def _nodes_of_predictor(predictor: Any, columns: IntArray) -> Nodes:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(np.bool_)
    octets = predictor.raw_left_cat_bitsets.astype("<u4").view(np.uint8)
    return Nodes(
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        column=columns[nodes["feature_idx"] * ~leaf],
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(np.bool_),
        categories=np.where(
            leaf | (nodes["is_categorical"] == 0), -1, nodes["bitset_idx"].astype(np.int64)
        ),
        label=np.full(len(nodes), -1, dtype=np.int64),
        weight=nodes["count"].astype(np.float64),
        sets=np.unpackbits(octets, axis=1, bitorder="little").astype(np.bool_),
    )


def _columns_of_features(model: HistGradientBoostingClassifier) -> IntArray:
    """Return the columns in the order in which the trees number them: categorical ones first."""
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_)
    return np.argsort(~model.is_categorical_, kind="stable")


def category_numbers(model: Any) -> dict[int, dict[Any, int]]:
    """For each categorical column, by position, the numbers of its categories in the trees."""
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
OPPOSITE = {"=": "!=", "<=": ">", ">=": "<", "in": "not in", "is missing": "is not missing"}
OPPOSITE |= {other: relation for relation, other in OPPOSITE.items()}


@dataclass(frozen=True, eq=False)
class Conditions:
    """Different conditions on the columns of a table.

    Parameters
    ----------
    ranked : RankedTable
    table : Table
    encoded : bool
        Whether the columns of ``ranked`` are propositions about the table, not its own.
    keys : ndarray of shape (C, 4), int64
        Column; kind; bound, or row of ``sets``; whether a missing value fulfils the condition.
    sets : ndarray of shape (S, most values), bool
        Sets of ranks.
    """

    ranked: RankedTable
    table: Table
    encoded: bool
    keys: IntArray
    sets: Truths

    def words(self, conditions: IntArray) -> Words:
        """On which rows some of them are true, uint64 of shape (number of them, words)."""
        words = np.empty((len(conditions), n_words(len(self.table))), dtype=np.uint64)
        keys = self.keys[conditions]
        for column in np.unique(keys[:, 0]).tolist():
            own = np.flatnonzero(keys[:, 0] == column)
            words[own] = self._words_of_column(column, *keys[own, 1:].T)
        return words

    def _words_of_column(
        self, column: int, kind: IntArray, bound: IntArray, missing: IntArray
    ) -> Words:
        ranks = self.ranked.ranks[column][self.ranked.row]
        there = ranks < self.ranked.n_values[column]
        present, absent = pack_rows(np.array([there, ~there]))
        words = np.repeat(present[None], len(kind), axis=0)
        # a row is below a bound if it is below the one before, or lies between these two
        bounded = np.flatnonzero(kind <= FROM)
        bounds, place = np.unique(bound[bounded], return_inverse=True)
        first = np.searchsorted(bounds, ranks, side="right")
        order = np.argsort(first, kind="stable")[: int((first < len(bounds)).sum())]
        between = pack_coordinates(first[order], order, (len(bounds), len(ranks)))
        below = np.bitwise_or.accumulate(between, axis=0)[place]
        words[bounded] &= np.where((kind[bounded] == BELOW)[:, None], below, ~below)
        for k in np.flatnonzero(kind == MEMBER).tolist():
            inside = np.append(
                self.sets[bound[k], : len(self.ranked.columns[column].values)], False
            )
            words[k] = pack_rows(inside[ranks][None])[0]
        words[missing > 0] |= absent
        return words

    def said(self, condition: int) -> Formula:
        """One of them in the words of the table."""
        place, kind, bound, missing = self.keys[condition].tolist()
        column = self.ranked.columns[place]
        formula = self._said(column, kind, bound)
        if not missing:
            return formula
        absent = Comparison(column.name, "is missing")
        return absent if formula == FALSE else formula | absent

    def _said(self, column: RankedColumn, kind: int, bound: int) -> Formula:
        n = len(column.values)
        if kind == PRESENT:
            return Comparison(column.name, "is not missing")
        if kind == MEMBER:
            return _in_set(column, self.sets[bound, :n])
        if not 0 < bound < n:  # beyond all values: what no row of this table fulfils
            return FALSE
        if column.proposition is not None:
            if kind == FROM:
                return column.proposition
            if self.encoded:
                return negation(column.proposition, self.table)
            return Comparison(column.name, "=", 0)
        if column.order and kind == FROM:
            return column.said(AT_LEAST, bound)
        said = column.said(AT_MOST, bound - 1)
        assert isinstance(said, Comparison)
        return said.replaced(relation=">") if kind == FROM else said


def _in_set(column: RankedColumn, inside: Truths) -> Formula:
    """That the value is one of some, or none of the others, whichever is shorter."""
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
    """What is true where a proposition is not, missing values included.

    Examples
    --------
    >>> table = Table({"odor": ["foul", None], "size": [1, 2]})
    >>> negation(Comparison("size", "<=", 1), table), negation(Variable("size"), table)
    (Formula('size > 1'), Formula('size = 0'))
    >>> negation(Comparison("odor", "=", "foul"), table)
    Formula('~(odor = foul)')
    """
    if isinstance(leaf, Comparison):
        asks = leaf.relation.endswith("missing")
        if asks or not table.missing(leaf.column).any():
            return leaf.replaced(relation=OPPOSITE[leaf.relation])
    elif isinstance(leaf, Variable) and not table.missing(leaf.name).any():
        return Comparison(leaf.name, "=", 0)
    return ~leaf


def conditions_of(
    nodes: Nodes,
    leaves: npt.NDArray[np.intp],
    ranked: RankedTable,
    table: Table,
    encoded: bool,
    cast: type[np.floating[Any]],
    codes: dict[int, IntArray],
) -> tuple[Conditions, IntArray, IntArray]:
    """Return the conditions on the way to some leaves; of each column only the tightest bounds."""
    paths, splits, is_left = nodes.climbed(leaves)
    n_columns = len(ranked.columns)
    column = nodes.column[splits]
    passes = nodes.missing_left[splits] == is_left
    groups, group = np.unique(paths * n_columns + column, return_inverse=True)
    group_path, group_column = np.divmod(groups, n_columns)
    n_values = ranked.n_values[group_column]
    # the bounds of every column on every path, and whether missing values come through
    below, begin = n_values.copy(), np.zeros(len(groups), dtype=np.int64)
    has_missing = np.array([c.missing for c in ranked.columns], dtype=np.bool_)[group_column]
    through = has_missing.copy()
    np.logical_and.at(through, group, passes)
    gaps = _gaps(nodes, ranked, cast)[splits]
    numeric = nodes.categories[splits] < 0
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
            chosen = nodes.sets[nodes.categories[splits[steps]]][:, known] == is_left[steps, None]
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


def _gaps(nodes: Nodes, ranked: RankedTable, cast: type[np.floating[Any]]) -> IntArray:
    """Return how many values of its column each node sends to the left."""
    gaps = np.zeros(len(nodes.left), dtype=np.int64)
    numeric = (nodes.left >= 0) & (nodes.categories < 0)
    for j, column in enumerate(ranked.columns):
        own = np.flatnonzero(numeric & (nodes.column == j))
        if len(own):
            with np.errstate(over="ignore"):
                values = column.values.astype(cast).astype(np.float64)
            gaps[own] = np.searchsorted(values, nodes.threshold[own], side="right")
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
    r"""Return the decision list that C4.5 makes of a tree, for the tree models of scikit-learn.

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
    """Return the rules of the finished list in their order, and its default class."""
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
    """How many conditions a rule may have: two for every cut of a number, or value of a word."""
    return sum(
        2 * (len(column.values) - (column.numeric or column.proposition is not None))
        + 2 * column.missing
        for column in ranked.columns
    )


def _parts(model: Any) -> tuple[PropositionEncoder | None, Any]:
    """Return the encoder before the trees, if there is one, and the model that has them."""
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
    """Return the training rows, with the columns that the encoder or the model was fitted on."""
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
    weights = read_weights(sample_weight, len(labels))
    if not weights.any():
        raise DataError("all rows have weight 0; rules need some of positive weight.")
    return LabelledRows.of(codes, len(classes), weights)


def _ranked(trees: Any, table: Table) -> tuple[RankedTable, dict[int, IntArray]]:
    """The columns as ranks, and for nominal ones the trees' number of the category of each rank."""
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
