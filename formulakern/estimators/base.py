"""The base of the estimators: any table comes in, is encoded once, and is packed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from formulakern.encoding.packed import PackedTable
from formulakern.encoding.sources import default_names, is_sparse
from formulakern.encoding.zero_one import read_packed
from formulakern.errors import DataError, FormulaSyntaxError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.targets import read_classes, require_target
from formulakern.syntax.comparison import Comparison
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.parser import parse_rule

__all__ = ["PropositionLearner", "TableEstimator", "propositions_of"]

#: What propositions can say.
RELATIONS = ("=", "!=", "<=", ">=")


@dataclass(eq=False, repr=False)
class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns from the propositions of a table.

    ``encoder`` says how a table becomes 0 and 1: ``"auto"`` fits a :class:`PropositionEncoder`
    (a sparse table of 0 and 1 stays as it is), None takes a table of 0 and 1 as it is, and a
    transformer is cloned and fitted.

    The estimators are data classes: a parameter is a field, written once, of which the
    ``__init__`` that scikit-learn looks at is made.

    Attributes
    ----------
    encoder_ : transformer or None
    propositions_ : tuple of str
        The columns of the encoded table, each a rule that :func:`formulakern.rule` reads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.
    """

    _: KW_ONLY
    encoder: Any = "auto"
    encoder_: Any = field(init=False)
    propositions_: tuple[str, ...] = field(init=False)
    n_features_in_: int = field(init=False)
    _leaves: tuple[Formula, ...] = field(init=False)  # what the propositions say
    _kept: NDArray[np.intp] = field(init=False)  # which of the encoder's columns they are

    def _auto_encoder(self) -> PropositionEncoder:
        """What ``encoder="auto"`` stands for."""
        return PropositionEncoder()

    def _asked(self, leaf: Formula) -> bool:  # noqa: ARG002
        """Whether a proposition of the automatic encoder is one to learn from."""
        return True

    def _fit_table(self, X: Any, y: Any) -> PackedTable:
        """Fit the encoder, and encode the training table.

        Sets ``encoder_``, ``n_features_in_``, ``feature_names_in_`` and ``_leaves``, what each
        column of the result says.

        Raises
        ------
        DataError
            If the table cannot be read, or no proposition is left.
        ParameterError
            If ``encoder`` is none.
        """
        self.__dict__.pop("feature_names_in_", None)
        table: PackedTable | None = None
        encoder = self._new_encoder()
        if encoder is None:
            table = self._read_zero_one(X, reset=True)
        elif isinstance(self.encoder, str) and is_sparse(X):
            try:
                table, encoder = self._read_zero_one(X, reset=True), None
            except DataError:
                table = None
        if table is None:
            if isinstance(encoder, PropositionEncoder):
                table = encoder.fit_packed(X)
            else:
                table = _packed(encoder.fit(X, y).transform(X))
            names: Any = encoder.get_feature_names_out()
            self._copy_from(encoder, ("n_features_in_", "feature_names_in_"))
        else:
            names = getattr(self, "feature_names_in_", default_names(table.n_columns))
        self.encoder_ = encoder
        self.propositions_ = tuple(map(str, names))
        own = isinstance(encoder, PropositionEncoder)
        self._leaves = encoder.propositions_ if own else propositions_of(self.propositions_)
        self._kept = np.arange(len(self._leaves))
        if isinstance(self.encoder, str):
            asked = [j for j, leaf in enumerate(self._leaves) if self._asked(leaf)]
            self._keep(np.array(asked, dtype=np.intp))
        return table.select(self._kept)

    def _read_training(
        self, X: Any, y: Any, what: str = "the class of every row"
    ) -> tuple[PackedTable, NDArray[Any]]:
        """The encoded training table, and the class of every row.

        Raises
        ------
        DataError
            If y is None (``what`` says what to pass), or one of both cannot be read.
        """
        require_target(self, y, what)
        table = self._fit_table(X, y)
        return table, read_classes(y, table.shape[0])

    def _keep(self, positions: NDArray[np.intp]) -> None:
        """Learn from these of the propositions only."""
        self._kept = self._kept[positions]
        self._leaves = tuple(self._leaves[j] for j in positions.tolist())
        self.propositions_ = tuple(self.propositions_[j] for j in positions.tolist())

    def _read_table(self, X: Any) -> PackedTable:
        """Encode a later table; one that is encoded already is taken as it is.

        Raises
        ------
        DataError
            If it cannot be read as in training, or has no rows.
        """
        if isinstance(X, PackedTable):
            return X
        if self.encoder_ is None:
            table = self._read_zero_one(X, reset=False)
        elif isinstance(self.encoder_, PropositionEncoder):
            table = self.encoder_.transform_packed(X)
        else:
            table = _packed(self.encoder_.transform(X))
        if not table.n_rows:
            raise DataError(
                f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is "
                "required. Pass at least one row."
            )
        return table.select(self._kept)

    def _share_encoding(self, other: TableEstimator) -> None:
        """Take over the encoding that another estimator was fitted with."""
        self.__dict__.pop("feature_names_in_", None)
        names = ("encoder_", "propositions_", "_leaves", "_kept")
        self._copy_from(other, (*names, "n_features_in_", "feature_names_in_"))

    def _copy_from(self, other: Any, names: Sequence[str]) -> None:
        for name in names:
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def _new_encoder(self) -> Any:
        if self.encoder is None:
            return None
        if not isinstance(self.encoder, str):
            if isinstance(self.encoder, type) or not hasattr(self.encoder, "transform"):
                raise ParameterError(
                    f"encoder={self.encoder!r} is no transformer; expected 'auto', None or an "
                    "instance of one, such as PropositionEncoder()."
                )
            return clone(self.encoder)
        if self.encoder != "auto":
            raise ParameterError(
                f"encoder={self.encoder!r} is unknown; expected 'auto', None or a transformer."
            )
        return self._auto_encoder()

    def _read_zero_one(self, X: Any, *, reset: bool) -> PackedTable:
        try:
            checked = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_min_samples=1
            )
        except ValueError as error:
            raise DataError(f"{error}\nencoder='auto' encodes any table.") from None
        return read_packed(checked)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.encoder is not None:
            tags.input_tags.allow_nan = True
            tags.input_tags.string = True
            tags.input_tags.categorical = True
        return tags


@dataclass(eq=False, repr=False)
class PropositionLearner(TableEstimator):
    """An estimator whose automatic encoder makes propositions of given relations."""

    _: KW_ONLY
    relations: Sequence[str] = RELATIONS
    cut_points: int = 4

    def _auto_encoder(self) -> PropositionEncoder:
        relations = self._checked_relations()
        orders = [relation for relation in ("<=", ">=") if relation in relations]
        equal = "=" in relations or "!=" in relations
        nominal: Any = "auto" if equal else []
        return PropositionEncoder(
            negations="!=" in relations,
            numeric="both" if len(orders) != 1 else orders[0],
            cut_points=self.cut_points,
            nominal="all" if not orders else nominal,
        )

    def _asked(self, leaf: Formula) -> bool:
        if isinstance(leaf, Comparison) and leaf.relation in RELATIONS:
            return leaf.relation in self._checked_relations() or (
                leaf.relation == "=" and leaf.value == 0
            )
        return True  # Boolean columns, and those that ask for missing values

    def _fit_table(self, X: Any, y: Any) -> PackedTable:
        table = super()._fit_table(X, y)
        if not table.n_columns:
            raise DataError(
                f"no proposition with {', '.join(self.relations)} in this table. Add relations: "
                "'=' for columns of text, '<=' and '>=' for numbers."
            )
        return table

    def _checked_relations(self) -> tuple[str, ...]:
        """The relations as a tuple.

        Raises
        ------
        ParameterError
            If one is unknown, or there is none.
        """
        given: Any = self.relations
        if isinstance(given, str) or not isinstance(given, Iterable):
            given = (given,)
        given = tuple(given)
        if not given or any(relation not in RELATIONS for relation in given):
            raise ParameterError(
                f"relations={self.relations!r}; expected some of {', '.join(map(repr, RELATIONS))}."
            )
        return tuple(given)

    def _exclusive(self) -> NDArray[np.int64]:
        """Groups of propositions that exclude each other: the values of one nominal column.

        int64 of shape (number of propositions,), −1 for none.
        """
        groups = np.full(len(self._leaves), -1, dtype=np.int64)
        if isinstance(self.encoder_, PropositionEncoder):
            number_of = {plan.name: k for k, plan in enumerate(self.encoder_.plans_) if plan.values}
            for place, leaf in enumerate(self._leaves):
                if isinstance(leaf, Comparison) and leaf.relation == "=":
                    groups[place] = number_of.get(leaf.column, -1)
        return groups


def propositions_of(names: Sequence[str] | NDArray[Any]) -> tuple[Formula, ...]:
    """What the columns of an encoded table say: the rules that their names are, or the names.

    A column that is called ``0`` or ``true`` is a column, not a constant.

    >>> propositions_of(["odor = foul", "0"])
    (Formula('odor = foul'), Formula('`0`'))
    """
    leaves: list[Formula] = []
    for name in map(str, names):
        try:
            said = parse_rule(name)
        except FormulaSyntaxError:
            said = Variable(name)
        leaves.append(Variable(name) if isinstance(said, Constant) else said)
    return tuple(leaves)


def _packed(encoded: Any) -> PackedTable:
    """The output of a transformer, whatever it was set to."""
    return read_packed(encoded if is_sparse(encoded) else np.asarray(encoded))
