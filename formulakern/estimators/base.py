"""From a rule learner's table to its propositions, and from features of these back to rules."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, validate_data

from formulakern.encoding.binary import read_binary
from formulakern.encoding.sources import is_sparse
from formulakern.encoding.table import Table
from formulakern.errors import DataError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.svm.extraction import propositions_of
from formulakern.syntax.comparison import Comparison
from formulakern.syntax.formula import TRUE, Formula, Operation, Variable
from formulakern.syntax.traversal import fold

__all__ = [
    "RELATIONS",
    "Encoding",
    "check_length",
    "check_relations",
    "named_formula",
    "read_classes",
    "row_weights",
]

RELATIONS = ("=", "!=", "<=", ">=")
#: The largest weight of a row, and how many times the smallest positive one it may be.
HEAVIEST, SPREAD = 1e50, 1e15


@dataclass(eq=False)
class Encoding:
    """Reads tables as a learner was fitted to read them.

    Parameters
    ----------
    encoder : transformer or None
        None: tables are 0/1, or real for ``real``.
    kept : ndarray of shape (p,), intp
        Which of the encoder's columns are used.
    leaves : tuple of Formula
        What each of these says; for ``real`` empty.
    groups : ndarray of shape (p,), int64
        Propositions of one group exclude each other; −1 for none.
    names : tuple of str
        The columns of the table itself, for ``real``.
    """

    encoder: Any
    kept: NDArray[np.intp]
    leaves: tuple[Formula, ...]
    groups: NDArray[np.int64]
    names: tuple[str, ...]
    real: bool

    def read(self, estimator: BaseEstimator, X: Any) -> Any:
        """A later table."""
        if self.real:
            return _numbers(estimator, X, reset=False)
        if self.encoder is None:
            encoded = _zero_one(estimator, X, reset=False)
        else:
            encoded = self.encoder.transform(X)
        _refuse_empty(encoded)
        return _select(encoded, self.kept)

    @classmethod
    def fit_real(cls, estimator: BaseEstimator, X: Any) -> tuple[Encoding, NDArray[np.float64]]:
        """For polynomial features: the numbers as they are."""
        numbers = _numbers(estimator, X, reset=True)
        n = numbers.shape[1]
        named = getattr(estimator, "feature_names_in_", None)
        names = tuple(f"x{j}" for j in range(n)) if named is None else tuple(map(str, named))
        return cls(None, np.arange(n), (), np.full(n, -1), names, True), numbers

    @classmethod
    def fit(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        encoder: Any,
        relations: Sequence[str],
        cut_points: int,
    ) -> tuple[Encoding, Any]:
        """Fit the encoder that was asked for, and encode the training table.

        Raises
        ------
        DataError
            If the table cannot be read or no proposition of these relations is left.
        ParameterError
            If the encoder is none.
        """
        made = _encoder(encoder, X, relations, cut_points)
        if made is None:
            encoded = _zero_one(estimator, X, reset=True)
            named = getattr(estimator, "feature_names_in_", None)
            if named is None:
                named = [f"x{j}" for j in range(encoded.shape[1])]
            leaves = propositions_of(named)
        else:
            made.fit(X, y)
            encoded = made.transform(X)
            estimator.__dict__.pop("feature_names_in_", None)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(made, name):
                    setattr(estimator, name, getattr(made, name))
            if isinstance(made, PropositionEncoder):
                leaves = list(made.propositions_)
            else:
                leaves = propositions_of(made.get_feature_names_out())
        kept = np.arange(len(leaves))
        if isinstance(encoder, str):
            kept = np.array([j for j in kept.tolist() if _asked(leaves[j], relations)], np.intp)
            if not len(kept):
                raise DataError(
                    f"no proposition with {', '.join(relations)} in this table. Add relations: "
                    "'=' for columns of text, '<=' and '>=' for numbers."
                )
        groups = _groups(made, len(leaves))
        chosen = tuple(leaves[j] for j in kept.tolist())
        return cls(made, kept, chosen, groups[kept], (), False), _select(encoded, kept)


def check_relations(relations: Any) -> tuple[str, ...]:
    """The relations as a tuple.

    Raises
    ------
    ParameterError
        If one is unknown, or there is none.
    """
    given = (
        (relations,)
        if isinstance(relations, str) or not isinstance(relations, Iterable)
        else (tuple(relations))
    )
    if not given or any(relation not in RELATIONS for relation in given):
        raise ParameterError(
            f"relations={relations!r}; expected some of {', '.join(map(repr, RELATIONS))}."
        )
    return given


def named_formula(feature: Hashable, leaves: Sequence[Formula]) -> Formula:
    """A 0/1 feature in the words of the propositions."""
    if isinstance(feature, tuple):
        formula = TRUE
        for place, j in enumerate(feature):
            formula = leaves[j] if place == 0 else formula & leaves[j]
        return formula
    if not isinstance(feature, Formula):
        raise DataError(f"{feature!r} is no feature over propositions.")

    def build(node: Formula, parts: list[Formula]) -> Formula:
        if isinstance(node, Variable):
            return leaves[int(node.name)]
        return Operation(node.connective, parts) if node.connective is not None else node

    return fold(feature, build)


def read_classes(y: Any, n_rows: int) -> NDArray[Any]:
    """The class of every row.

    Raises
    ------
    DataError
        If there is not one for each row, one is missing, or they are no classes.
    """
    try:
        labels = column_or_1d(y, warn=True)
        check_length(labels, n_rows)
        assert_all_finite(labels, input_name="y")
        if labels.dtype == object:
            missing = [i for i, label in enumerate(labels) if label is None or label != label]
            if missing:
                raise DataError(
                    f"the class of row {missing[0]} is missing ({labels[missing[0]]}). Leave such "
                    "rows out."
                )
            np.unique(labels)  # raises where classes have no order
        check_classification_targets(labels)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{str(error).rstrip('.')}. Pass one class per row: all text, or all numbers or bools."
        ) from None
    return np.asarray(labels)


def check_length(y: NDArray[Any], n_rows: int) -> None:
    """Refuse a y that does not have an entry for every row."""
    if len(y) != n_rows:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}. "
            "Pass one entry of y per row."
        )


def row_weights(labels: NDArray[Any], class_weight: Any, sample_weight: Any) -> NDArray[np.float64]:
    """The weight of every row: its own times that of its class.

    Raises
    ------
    DataError
        If one is negative, not finite, too large, or very much smaller than another, all are
        zero, the length differs, or a class is not among those of ``class_weight``.
    """
    weights = np.ones(len(labels))
    if sample_weight is not None:
        try:
            weights = _check_sample_weight(sample_weight, np.zeros((len(labels), 1)), copy=True)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{str(error).rstrip('.')}. Pass one weight per row, some of them positive."
            ) from None
        if (weights < 0).any():
            raise DataError("sample_weight holds negative numbers; give 0 to leave a row out.")
    classes, codes = np.unique(labels, return_inverse=True)
    try:
        factors = compute_class_weight(class_weight, classes=classes, y=labels)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{str(error).rstrip('.')}. Pass class_weight={{class: weight, ...}}, 'balanced' or "
            "None."
        ) from None
    if not np.isfinite(factors).all():
        raise DataError(f"class_weight={class_weight!r}; expected finite numbers.")
    found: NDArray[np.float64] = weights * factors[codes]
    if (found < 0).any():
        raise DataError("class_weight holds negative numbers; give 0 to leave a class out.")
    some = found[found > 0]
    if len(some) and not (some.max() <= HEAVIEST and some.min() * SPREAD >= some.max()):
        raise DataError(
            f"the weights of rows lie between {some.min():.3g} and {some.max():.3g}; expected at "
            f"most {HEAVIEST:g}, and none {SPREAD:g} times another. Give 0 to leave a row out."
        )
    return found


def _encoder(encoder: Any, X: Any, relations: Sequence[str], cut_points: int) -> Any:
    if encoder is None:
        return None
    if not isinstance(encoder, str):
        if isinstance(encoder, type) or not hasattr(encoder, "transform"):
            raise ParameterError(
                f"encoder={encoder!r} is no transformer; expected 'auto', None or an instance of "
                "one, such as PropositionEncoder()."
            )
        return clone(encoder)
    if encoder != "auto":
        raise ParameterError(
            f"encoder={encoder!r} is unknown; expected 'auto', None or a transformer."
        )
    if is_sparse(X) and _is_zero_one(X):
        return None
    orders = [relation for relation in ("<=", ">=") if relation in relations]
    equal = "=" in relations or "!=" in relations
    nominal: Any = "auto" if equal else []
    return PropositionEncoder(
        negations="!=" in relations,
        numeric="both" if len(orders) != 1 else orders[0],  # type: ignore[arg-type]
        cut_points=cut_points,
        nominal="all" if not orders else nominal,
    )


def _asked(leaf: Formula, relations: Sequence[str]) -> bool:
    if isinstance(leaf, Comparison) and leaf.relation in RELATIONS:
        return leaf.relation in relations or (leaf.relation == "=" and leaf.value == 0)
    return True  # Boolean columns, and those that ask for missing values


def _groups(encoder: Any, p: int) -> NDArray[np.int64]:
    """The values of a nominal column exclude each other."""
    groups = np.full(p, -1, dtype=np.int64)
    if isinstance(encoder, PropositionEncoder):
        first = 0
        for number, plan in enumerate(encoder.plans_):
            for place, leaf in enumerate(plan.propositions):
                if isinstance(leaf, Comparison) and leaf.relation == "=" and plan.values:
                    groups[first + place] = number
            first += len(plan.propositions)
    return groups


def _select(encoded: Any, kept: NDArray[np.intp]) -> Any:
    if not is_sparse(encoded):
        encoded = np.asarray(encoded)
    if len(kept) == encoded.shape[1]:
        return encoded
    return encoded[:, kept]


def _refuse_empty(encoded: Any) -> None:
    if not encoded.shape[0]:
        raise DataError(
            f"Found array with 0 sample(s) (shape={encoded.shape}) while a minimum of 1 is "
            "required. Pass at least one row."
        )


def _is_zero_one(X: Any) -> bool:
    try:
        read_binary(X)
    except DataError:
        return False
    return True


def _zero_one(estimator: Any, X: Any, *, reset: bool) -> Any:
    try:
        encoded = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_min_samples=1
        )
    except ValueError as error:
        raise DataError(f"{error}\nencoder='auto' encodes any table.") from None
    read_binary(encoded)
    return encoded


def _numbers(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.float64]:
    if isinstance(X, Table):
        X = np.asarray(X) if X.shape[1] else np.empty(X.shape)
    try:
        numbers: NDArray[np.float64] = validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=1
        )
    except ValueError as error:
        raise DataError(
            f"{error}\nfeatures='polynomial' multiplies numbers: encode or impute them first."
        ) from None
    return numbers
