"""The base of the estimators, which encodes and packs any table once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils.validation import validate_data

from formulakern.checks import check_verbosity
from formulakern.encoding.fitted import Encoding
from formulakern.encoding.ordered import MAX_BYTE_CODES, Leaves, OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import PackedPartitions, n_rows_of
from formulakern.encoding.strict import RealTable, read_packed, read_real
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError, DataTypeError, FormulaSyntaxError, ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.validation import TrainingData, require_target
from formulakern.files.models import save
from formulakern.interrupts import completed
from formulakern.partitions.collections import in_memory, is_dask
from formulakern.partitions.lazy_rows import needs_rows
from formulakern.partitions.partitioned import gathered_bytes
from formulakern.progress import Progress
from formulakern.syntax.connectives import is_bare
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.parser import parse_rule
from formulakern.tables.read import column_positions, default_names, is_sparse

#: The number of cut points of a column on which partitions agree if ``cut_points="auto"``.
AGREED_CUTS = 31
#: The attributes of scikit-learn for the columns of a training table.
FEATURES = ("n_features_in_", "feature_names_in_")


@contextmanager
def progress_bar(self: Any) -> Iterator[Progress]:
    """Show the progress of a fit as ``verbose`` requires; Ctrl-C keeps a complete model."""
    verbose = getattr(self, "verbose", 0)
    check_verbosity(verbose)
    limit = getattr(self, "time_limit", None)
    self.__dict__.pop("training_", None)  # from the model file
    with completed(), Progress(type(self).__name__, verbose, limit) as bar:
        self.__dict__["_progress"] = bar
        try:
            bar.at(0.0, "reading")
            yield bar
        finally:
            del self.__dict__["_progress"]


def bar_of(self: Any) -> Progress:
    """Return the progress of the current fit; within another fit it prints only lines."""
    found = self.__dict__.get("_progress")
    if isinstance(found, Progress):
        return found
    return Progress(type(self).__name__, getattr(self, "verbose", 0))


@dataclass(eq=False, repr=False)
class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns from the propositions of a table.

    Estimators are data classes: each parameter is a field.  Subclasses that have these parameters
    share their texts.

    Parameters
    ----------
    encoder : "auto", None or transformer, default="auto"
        The encoder of tables as 0 and 1.  ``"auto"`` fits ``PropositionEncoder()``, and keeps a
        sparse table of 0 and 1 as it is.  None: the table must be 0/1.  A transformer is cloned and
        fitted.
    class_weight : mapping of class to weight, or "balanced", optional
        Multiplies the weights of the rows of a class.  ``"balanced"``: by a factor that is
        inversely proportional to the number of its rows.
    time_limit : float, optional
        The most seconds for the whole fit, encoding and compilation included.  The best model found
        by then is kept, with its proven gap and a ConvergenceWarning.
    verbose : int, default=0
        1 shows a progress bar on a terminal or in a notebook, and elsewhere writes lines to
        standard error; 2 does both.

    Attributes
    ----------
    encoder_ : transformer or None
    propositions_ : tuple of str
        The columns of the encoded table, each a rule that :func:`formulakern.rule` reads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the table has names.
    """

    #: Whether the estimator refits an encoder that reads classes for each fold.
    encodes_folds: ClassVar[bool] = False
    #: Whether the estimator can learn from rows that stay in their partitions.
    learns_in_partitions: ClassVar[bool] = False

    _: KW_ONLY
    encoder: Any = "auto"
    encoder_: Any = field(init=False)
    propositions_: tuple[str, ...] = field(init=False)
    n_features_in_: int = field(init=False)
    _encoding: Encoding = field(init=False)

    save = save
    _progress_bar = progress_bar
    _bar = property(bar_of)

    def _auto_encoder(self) -> PropositionEncoder:
        """Return the encoder of ``encoder="auto"``."""
        return PropositionEncoder()

    def _graded(self) -> bool:
        """Return True if the estimator learns from degrees of truth from 0 to 1."""
        return False

    def _searches(self) -> bool:
        """Return True if the estimator searches for cut points between all values."""
        return False

    def _searches_partitions(self, n_columns: int, n_rows: int) -> bool:  # noqa: ARG002
        """Return True if the estimator searches for cut points of rows in partitions."""
        return False

    def _next_to(
        self,
        encoder: PropositionEncoder,  # noqa: ARG002
        table: Any,  # noqa: ARG002
        summaries: Mapping[str, Summary],  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return additional fields of the encoding of a training table."""
        return {}

    def _useful(self, encoding: Encoding, table: Any) -> NDArray[np.intp]:  # noqa: ARG002
        """Return the positions of the propositions to learn from; ``table`` has all."""
        return np.arange(len(encoding.names))

    def _fit_table(self, X: Any, y: Any) -> Any:
        """Fit the encoder and return the encoded training table, usually a PackedTable.

        If the packed rows of a dask collection exceed :func:`.gather_limit`, an estimator that
        ``learns_in_partitions`` gets PackedPartitions, and others raise DataError.
        """
        self.__dict__.pop("feature_names_in_", None)
        table: Any = None
        encoder, more = self._new_encoder(), {}
        if isinstance(self.encoder, str) and is_sparse(X):
            with suppress(DataError):
                encoder, table = None, self._read_plain(X, reset=True)
        own = isinstance(encoder, PropositionEncoder)
        searched = own and not self._graded() and self._searches()
        stays = False
        if searched and is_dask(X):  # codes and linear terms take 12 bytes per entry
            size = X.shape[1], n_rows_of(X)
            stays = 12 * size[0] * size[1] > gathered_bytes()
            searched = not stays or self._searches_partitions(*size)
            if stays and searched:
                if isinstance(encoder.cut_points, str):
                    encoder.set_params(cut_points=AGREED_CUTS)
                searched = encoder.strategy != "all" and encoder.cut_points < MAX_BYTE_CODES
        if own and not self._graded():
            read, summaries = encoder.fit_table(X, y, searched)
            searched = searched and any(plan.gaps is not None for plan in encoder.plans_)
            more = self._next_to(encoder, read, summaries)
            coded = partial(PackedPartitions.coded, encoder) if stays else encoder.coded
            table = (coded if searched else encoder.pack)(read, more.get("terms", ()))
        elif encoder is not None:
            table = self._transformed(encoder.fit(X, y), X)
        elif table is None:
            table = self._read_plain(X, reset=True)
        source = self if encoder is None else encoder
        features = {name: getattr(source, name) for name in FEATURES if hasattr(source, name)}
        if searched:
            leaves, every = (table.ordered if stays else table).leaves, np.arange(table.n_columns)
            self._take_encoding(Encoding(encoder, (), leaves, every, features, **more))
            return table
        if encoder is None:
            named = features.get("feature_names_in_", default_names(table.shape[1]))
        else:
            named = encoder.get_feature_names_out()
        names = tuple(map(str, named))
        leaves = encoder.propositions_ if own else propositions_of(names)
        encoding = Encoding(encoder, names, leaves, np.arange(len(names)), features, **more)
        if isinstance(table, PackedPartitions):
            table = self._gathered(table)
        useful = self._useful(encoding, table)
        self._take_encoding(encoding.keep(useful))
        return table if len(useful) == len(names) else table.select(useful)

    def _gathered(self, table: PackedPartitions) -> PackedTable | PackedPartitions:
        """Return the rows in this process if they fit; else in partitions, or raise DataError."""
        most = gathered_bytes()
        if table.nbytes <= most:
            return table.gathered()
        if self.learns_in_partitions:
            return table
        fit = most * table.n_rows // table.nbytes
        raise DataError(
            f"{type(self).__name__} needs all rows in this process. The {table.n_rows:,} rows "
            f"of {table.n_columns:,} propositions take {table.nbytes:,} bytes, above the limit "
            f"of {most:,}, which allows {fit:,} rows. Sample that many rows, raise "
            "formulakern.gather_limit, or use PRLClassifier or HKLClassifier, which leave rows "
            "in their partitions."
        )

    def _take_encoding(self, encoding: Encoding) -> None:
        """Set the encoding to learn from, possibly from another estimator."""
        self.__dict__.pop("feature_names_in_", None)
        self._encoding, self.encoder_ = encoding, encoding.encoder
        self.propositions_ = encoding.names
        for name, value in encoding.features.items():
            setattr(self, name, value)

    def _read_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        class_weight: Any = None,
        ordered: bool = False,
        what: str = "the class of every row",
    ) -> TrainingData:
        """Read the training table, classes and weights; DataError names ``what`` if y is None."""
        require_target(self, y, what)
        table = self._fit_table(X, y)
        return TrainingData.of(table, y, class_weight, sample_weight, ordered, X)

    def _read_table(self, X: Any) -> Any:
        """Encode a later table, or raise DataError; an encoded table is returned unchanged."""
        if isinstance(X, (OrderedTable, PackedTable, RealTable)):
            return X
        encoder, kept = self._encoding.encoder, self._encoding.kept
        if encoder is None:
            table = self._read_plain(X, reset=False)
        elif isinstance(self._encoding.leaves, Leaves):
            return encoder.coded(encoder.read_table(X), self._encoding.terms)
        elif isinstance(encoder, PropositionEncoder) and not self._graded():
            table = encoder.pack(encoder.read_table(X), self._encoding.terms)
        else:
            table = self._transformed(encoder, X)
        if not table.shape[0] and needs_rows():
            raise DataError(
                f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is "
                "required. Pass at least one row."
            )
        return table if len(kept) == table.shape[1] else table.select(kept)

    def _domains_of(self, X: Any, domains: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return domains of columns as domains of encoded columns.

        With a :class:`PropositionEncoder` a domain contains all propositions about its columns.
        """
        if domains is not None and not isinstance(domains, Mapping):
            raise ParameterError(
                f"domains={domains!r}; expected a mapping from the names of domains to columns, "
                'such as {"symptoms": ["fever", "cough"]}.'
            )
        if domains is None or not isinstance(self.encoder_, PropositionEncoder):
            return None if domains is None else dict(domains)
        widths = [len(plan.propositions) for plan in self.encoder_.plans_]
        parts = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])  # of each column
        return {
            name: [i for column in column_positions(X, columns) for i in parts[column].tolist()]
            for name, columns in domains.items()
        }

    def _shared_parameters(self, other: BaseEstimator) -> dict[str, Any]:
        """Return the parameters shared with another estimator, except ``verbose``."""
        own = self.get_params(deep=False)
        return {name: own[name] for name in own.keys() & other.get_params().keys() - {"verbose"}}

    def _copy_from(self, other: Any, names: Sequence[str]) -> None:
        for name in names:
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def _new_encoder(self) -> Any:
        if self.encoder is None:
            return None
        if isinstance(self.encoder, str) and self.encoder == "auto":
            return self._checked(self._auto_encoder())
        if isinstance(self.encoder, (str, type)) or not hasattr(self.encoder, "transform"):
            raise ParameterError(
                f"encoder={self.encoder!r} is not a transformer; expected 'auto', None or an "
                "instance of a transformer, such as PropositionEncoder()."
            )
        return self._checked(clone(self.encoder))

    def _checked(self, encoder: Any) -> Any:
        """Return the encoder, or raise ParameterError if it reads classes but may not."""
        if not isinstance(encoder, PropositionEncoder) or not encoder.reads_classes:
            return encoder
        reason = "learns numbers" if is_regressor(self) else ""
        if hasattr(self, "cv") and not self.encodes_folds:
            reason = "encodes held-out rows together with training rows"
        if reason:
            raise ParameterError(
                f'strategy="{encoder.strategy}" chooses cut points by class, but '
                f'{type(self).__name__} {reason}. Use "quantile", "uniform" or "all".'
            )
        return encoder

    def _strict(self, table: Any) -> Any:
        """Read a table of 0 and 1, or of degrees of truth."""
        return read_real(table) if self._graded() else read_packed(table)

    def _read_plain(self, X: Any, *, reset: bool) -> Any:
        """Read a table that needs no encoder."""
        advice = "encoder='auto' encodes any table."
        return self._strict(self._validated(X, advice, reset=reset, accept_sparse="csr"))

    def _transformed(self, encoder: Any, X: Any) -> Any:
        """Read the output of a fitted transformer, of 0 and 1 or degrees."""
        if not needs_rows() and not self._graded():  # other encoders refuse a table without rows
            n_columns = len(encoder.get_feature_names_out())
            return PackedTable.of_columns(np.empty((n_columns, 0), dtype=np.uint64), 0)
        encoded = encoder.transform(X)
        return self._strict(encoded if is_sparse(encoded) else np.asarray(encoded))

    def _validated(self, X: Any, advice: str, **options: Any) -> Any:
        """Return the table as an array, checked by scikit-learn against the training table."""
        try:
            return validate_data(
                self, in_memory(X), ensure_min_samples=int(needs_rows()), **options
            )
        except (OverflowError, TypeError, ValueError) as error:
            kind = DataTypeError if isinstance(error, TypeError) else DataError
            raise kind(f"{error}\n{advice}") from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        read = tags.input_tags
        read.sparse = True
        read.allow_nan = read.string = read.categorical = self.encoder is not None
        return tags


def class_score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy, weighted if there are weights.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        For a dask collection only predictions and classes are collected, not the rows.
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    float
    """
    from sklearn.metrics import accuracy_score

    return _scored(accuracy_score, self, X, y, sample_weight)


def number_score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return R², 1 minus the unexplained share of the variance of y.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        For a dask collection only predictions and numbers are collected, not the rows.
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    float
    """
    from sklearn.metrics import r2_score

    return _scored(r2_score, self, X, y, sample_weight)


def _scored(score: Any, model: Any, X: Any, y: Any, weights: Any) -> float:
    truth, predicted = in_memory(y), in_memory(model.predict(X))
    return float(score(truth, predicted, sample_weight=in_memory(weights)))


def propositions_of(names: Sequence[str] | NDArray[Any]) -> tuple[Formula, ...]:
    """Return the meaning of encoded columns: names that are rules are parsed, others are variables.

    A column named ``0`` or ``true`` is a variable, not a constant.

    >>> propositions_of(["odor = foul", "0"])
    (Formula('odor = foul'), Formula('`0`'))
    """
    return tuple(map(_proposition_of, map(str, names)))


@lru_cache(maxsize=4096)
def _proposition_of(name: str) -> Formula:
    if is_bare(name):
        return Variable(name)
    try:
        said = parse_rule(name)
    except FormulaSyntaxError:
        return Variable(name)
    return Variable(name) if isinstance(said, Constant) else said
