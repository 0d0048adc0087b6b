"""The nodes of scikit-learn's decision trees, of all kinds, in a few arrays.

The nodes of all trees of a model stand one after another.  All leaves climb to their roots at the
same time, one step a round, and note the splits on their way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import IntArray
from formulakern.errors import ParameterError

__all__ = ["Nodes", "category_numbers", "read_nodes"]

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
        """All trees, one after another."""
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
        """The leaves, ascending; at most so many, of the largest weight."""
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
    """The nodes of all trees of a fitted classifier.

    Parameters
    ----------
    model : classifier of scikit-learn

    Returns
    -------
    Nodes
        Leaves of classification trees conclude the class that they predict, those of boosted
        regression trees none.

    Raises
    ------
    ParameterError
        If it has no trees that can be read, or several outputs.
    NotFittedError
    """
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
        threshold=tree.threshold.astype(np.float64),
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
    """The columns in the order in which the trees number them: categorical ones first."""
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_)
    return np.argsort(~model.is_categorical_, kind="stable")


def category_numbers(model: Any) -> dict[int, dict[Any, int]]:
    """For each categorical column, by position, the numbers of its categories in the trees.

    Parameters
    ----------
    model : classifier of scikit-learn

    Returns
    -------
    dict of dict
        Position of a column → category, as it is and as text → number. Empty but for
        histogram-based boosting.
    """
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
