"""From any table to 0 and 1: the encoder whose output columns are propositions that rules can use.

A nominal column becomes ``odor = foul``, …; a numeric one ``gill_size <= 3``, …; a Boolean one
stays what it is.  The rule language reads the names of the output columns back.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    _check_n_features,
    check_is_fitted,
)

from formulakern.encoding.bits import unpack_rows
from formulakern.encoding.cut_points import Strategy
from formulakern.encoding.fitted import FittedPlans
from formulakern.encoding.ordered import Leaves, OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import PackedPartitions, PartitionedTable, coded_rows
from formulakern.encoding.plan import (
    ColumnPlan,
    Scales,
    check_options,
    planner,
    refuse_missing,
    unseen_shares,
    warn_of_identifiers,
    warn_of_unseen,
)
from formulakern.encoding.summary import Summary
from formulakern.errors import DataError
from formulakern.estimators.targets import read_codes, refused, require_target
from formulakern.files.models import save
from formulakern.partitions.collections import in_memory, is_dask
from formulakern.partitions.lazy_rows import head_of, lazy_transform
from formulakern.rules.conditions import ColumnType, type_of
from formulakern.syntax.formula import Formula
from formulakern.tables.read import check_columns, is_pandas, is_sparse
from formulakern.tables.table import Table


@lazy_transform
@dataclass(eq=False, repr=False)
class PropositionEncoder(TransformerMixin, FittedPlans, BaseEstimator):  # type: ignore[misc]
    """Encode any table as 0/1 columns, each of which is a proposition about a row.

    * A *Boolean* column (bool, or numbers that are all 0 and 1) is one proposition, named as the
      column, and is never dropped. A table that is already 0/1 so goes through unchanged.
    * A *nominal* column (text, categories) becomes ``x = v`` for every value v that training shows.
      A column with a declared order (an ordered categorical of pandas, an ``Enum`` of polars) also
      becomes ``x <= v`` and ``x >= v`` in that order, cut as numbers are, with ``nominal="auto"``.
      A value outside of the order is neither.
    * A *numeric* column becomes ``x <= c`` and ``x >= c`` at cut points between its values. A cut
      separates some training rows from others; c is the shortest number in the gap.  Where the two
      values differ by the unit of the column, c is the value itself: ``x <= 3`` and ``x >= 4`` of
      whole numbers, ``x <= 1.6`` and ``x >= 1.7`` of tenths.
    * A column of *dates, time stamps, times of day or durations* is cut as numbers are, exactly in
      its unit; c is the roundest one in the gap: ``x >= 2020-02-01``, ``x >= 10:30``,
      ``x >= 3d4h``; ``x >= 2020-02-01T10:30Z`` where there is a time zone.

    Parameters
    ----------
    negations : bool, default=False
        Also ``x != v`` for nominal and ``x = 0`` for Boolean columns.
    numeric : {"both", "<=", ">="}, default="both"
        The relations for columns of numbers, dates and times, and for ordered categories; of
        degrees, ``x`` for ">=" and ``~x`` for "<=".
    cut_points : int or "auto", default="auto"
        At most so many cuts per column of numbers, dates or times, or of an ordered category.
        ``"auto"``: 4, or inside a learner that searches for cut points those that its rules use,
        among the gaps between all values.
    strategy : {"quantile", "uniform", "mdlp", "all"}, default="quantile"
        Cuts that split the rows evenly; at equal distances between smallest and largest value;
        where they tell most about the classes, as many as the minimum description length principle
        accepts, but at least one; or between all values, whatever ``cut_points`` is.
    nominal : "auto", "all", or list of names or positions, default="auto"
        ``"auto"``: columns of text and categories, and numeric columns with two to ``max_nominal``
        different whole values. ``"all"``: every column that is not Boolean. A list: these columns
        (also Boolean ones), and those of text.
    max_nominal : int, default=2
        For ``nominal="auto"``: numeric columns with at most so many whole values are nominal. Raise
        it for tables that code categories as small integers.
    min_frequency : int or float, default=1
        Values of a nominal column with fewer training rows (or a smaller share of them) have one
        proposition together, ``x not in {…}``, which lists the others; it holds for values that
        training did not show, too.  Columns with an order are left as they are.
    missing : {"value", "false", "error"}, default="value"
        ``"value"``: a column with missing entries in training gets the proposition ``x is missing``
        (with ``negations`` also ``x is not missing``). ``"false"``: no proposition for it. In both
        cases all other propositions of a missing entry are false. ``"error"``: refuse.
    unknown : {"false", "error"}, default="false"
        A value of a nominal or Boolean column that training did not show: ``x = v`` is false for
        every v (and ``x != v``, if asked for, true), or refuse.
    graded : bool, "linear", "rank" or mapping, default=False
        Numeric columns become degrees of truth from 0 to 1 in place of cut points, for kernels with
        graded inputs: ``x`` for large values, and ``~x``, 1 less that.  ``"linear"``, or True: from
        the smallest to the largest training value.  ``"rank"``: the share of the training values
        below, and half of the equal ones.  A mapping from names to these is for its columns; other
        numeric ones keep cut points, as dates and times do.  Degrees of missing entries are 0.
    calendar : list of str, default=()
        Of columns of dates and times also ``month(x) = June``, … for every value that training
        shows; of "year", "quarter", "month", "day", "weekday", "hour" and "minute".  They are
        those of the local time: of a column with a time zone take that off first.
    sparse_output : bool, default=False
        Return a SciPy CSR array instead of a dense one.
    dtype : dtype, default=numpy.uint8
        Of the output; float64 where that has degrees and ``dtype`` holds none.

    Attributes
    ----------
    propositions_ : tuple of Formula
        One per output column; a Variable for a Boolean column, it or its negation for degrees.
    plans_ : tuple of ColumnPlan
        One per input column.
    column_types_ : dict
        What each column holds, as :meth:`formulakern.RuleEnsemble.to_sql` has it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), object
        If the training table had names.

    Notes
    -----
    ``transform`` agrees with evaluating ``propositions_[j]`` on the table, for every j. Fitting
    sorts each numeric column; transforming costs one pass per column and the output.

    Examples
    --------
    >>> odor, size, ring = ["foul", "none", "foul"], [1.5, 2.5, None], [0, 1, 1]
    >>> table = Table({"odor": odor, "size": size, "ring": ring})
    >>> encoder = PropositionEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['odor = foul', 'odor = none', 'size <= 2', 'size >= 2', 'size is missing', 'ring']
    >>> encoder.transform(table)
    array([[1, 0, 1, 0, 0, 0],
           [0, 1, 0, 1, 0, 1],
           [1, 0, 0, 0, 1, 1]], dtype=uint8)
    """

    _: KW_ONLY
    negations: bool = False
    numeric: Literal["both", "<=", ">="] = "both"
    cut_points: int | Literal["auto"] = "auto"
    strategy: Strategy = "quantile"
    nominal: Literal["auto", "all"] | Sequence[str | int] = "auto"
    max_nominal: int = 2
    min_frequency: float = 1
    missing: Literal["value", "false", "error"] = "value"
    unknown: Literal["false", "error"] = "false"
    graded: Scales = False
    calendar: Sequence[str] = ()
    sparse_output: bool = False
    dtype: DTypeLike = np.uint8
    propositions_: tuple[Formula, ...] = field(init=False)
    plans_: tuple[ColumnPlan, ...] = field(init=False)
    column_types_: dict[str, ColumnType] = field(init=False)
    n_features_in_: int = field(init=False)

    save = save

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the propositions of every column.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Whatever :meth:`formulakern.Table.of` reads, or a frame or array of dask, of which one
            partition is read at a time: the propositions are the same.
        y : array-like of shape (n_rows,), optional
            The class of every row, for ``strategy="mdlp"``; else it is not read.

        Returns
        -------
        PropositionEncoder
            Itself.

        Raises
        ------
        DataError
            If X is no table, is empty, has a missing entry under ``missing="error"``, if no
            column distinguishes any two rows, or if classes are needed and y has none.
        ParameterError
            If a parameter is outside its range.
        """
        self.fit_table(X, y)
        return self

    def fit_table(
        self, X: Any, y: Any = None, searched: bool = False
    ) -> tuple[Table | PartitionedTable, dict[str, Summary]]:
        """Find the propositions, and return the table and the summaries of its columns.

        If ``searched`` for cut points, those of numbers and times follow by :meth:`choose`.
        """
        check_options(self)
        table = self._read(X, reset=True)
        summaries = self.learn(table, y, searched)
        warn_of_identifiers(summaries, self.plans_)
        return table, {one.name: one for one in summaries}

    def read_table(self, X: Any) -> Table:
        """Read a later table, whose columns must be those of training; see :meth:`transform`."""
        table = self._later(X)
        warn_of_unseen(table, self.plans_)
        return table

    def unseen(self, X: Any) -> dict[str, float]:
        """The share of the entries of each nominal column whose values training did not show.

        Missing ones do not count.  Methods that read later tables warn of 10 such entries or
        more, above 10 % and twice the share of training entries whose value was there once.

        Parameters
        ----------
        X : as in :meth:`transform`

        Examples
        --------
        >>> encoder = PropositionEncoder().fit({"odor": ["foul", "none"]})
        >>> encoder.unseen({"odor": ["foul", "musty", None, "Foul", "none"]})
        {'odor': 0.5}
        """
        return unseen_shares(self._later(X), self.plans_)

    def transform_packed(self, X: Any) -> PackedTable:
        """Evaluate the propositions, 64 rows to a word; see :meth:`transform`."""
        packed = self.pack(self.read_table(X))
        assert isinstance(packed, PackedTable)
        return packed

    def transform(self, X: Any) -> Any:
        """Evaluate the propositions.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            With the columns of the training table.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_propositions), of ``dtype``
            1 where the proposition is true in the row. (A frame, if ``set_output`` asks for it.)

        Raises
        ------
        DataError
            If the columns are others than in training, or hold what the parameters refuse.
        """
        table = self.read_table(X)
        shape = (len(table), len(self.propositions_))
        dtype = np.dtype(self.dtype)
        if self._gives_degrees() and dtype.kind not in "fO":
            dtype = np.dtype(np.float64)
        dense, parts = None if self.sparse_output else np.zeros(shape, dtype=dtype), []
        for first, plan in self._checked_plans(table):
            bits: NDArray[Any] = unpack_rows(plan.packed(table), len(table))
            for place, degrees in plan.graded(table):
                bits = bits.astype(dtype, copy=False)
                bits[place] = degrees
            if dense is not None:
                dense[:, first : first + len(bits)] = bits.T
            else:
                parts.append(csr_array(bits.T, dtype=dtype))
        return hstack(parts, format="csr") if dense is None else dense

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Any:
        """The propositions as text, which the rule language reads back.

        Parameters
        ----------
        input_features : array of str of shape (n_features,), optional
            The names of the input columns, if training had none; else they must be the same.

        Returns
        -------
        ndarray of shape (n_propositions,), object

        Raises
        ------
        DataError
            If the names are not those of the training table, or not as many.
        """
        check_is_fitted(self)
        leaves = self.propositions_
        if input_features is not None:
            with refused("Pass the names of the columns of training."):
                names = map(str, _check_feature_names_in(self, input_features))
            pairs = zip(self.plans_, names, strict=True)
            leaves = tuple(leaf for plan, name in pairs for leaf in plan.renamed(name))
        return np.array([str(leaf) for leaf in leaves], dtype=object)

    def learn(
        self, table: Table | PartitionedTable, y: Any = None, searched: bool = False
    ) -> list[Summary]:
        """Find the propositions of a table that was read, and return its summaries."""
        if self.reads_classes:
            require_target(self, y)
        codes = read_codes(y, len(table))[1].astype(np.intp) if self.reads_classes else None
        if isinstance(table, Table) and self.missing == "error":
            for name in table.names:
                refuse_missing(table.typed(name), name)
        plan = planner(self, tuple(table.names), searched)
        plans: dict[str, ColumnPlan] = {}
        types: dict[str, ColumnType | None] = {}

        def planned(one: Summary) -> Summary:
            if not one.n_rows:
                return one
            plans[one.name], types[one.name] = plan(one), type_of(one.column)
            return one.without_many() if plans[one.name].kind == "numeric" else one

        if isinstance(table, Table):
            summaries = [planned(Summary.of(table, name, codes)) for name in table.names]
        else:
            summaries = table.summaries(codes, planned)
        if len(table) == 0:
            raise DataError(
                f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is "
                "required: an encoder learns the values of the columns from rows."
            )
        if not any(plan.propositions or plan.gaps for plan in plans.values()):
            rows = "1 sample (n_samples=1)" if len(table) == 1 else f"{len(table)} rows"
            raise DataError(
                f"no proposition in {rows}: every column is numeric and constant, so it tells no "
                'two rows apart. Pass more rows, or nominal="all" to keep the constant values.'
            )
        self._set_plans(tuple(plans[name] for name in table.names))
        self.column_types_ = {name: kind for name, kind in types.items() if kind is not None}
        return summaries

    def _set_plans(self, plans: tuple[ColumnPlan, ...]) -> None:
        self.plans_ = plans
        self.propositions_ = tuple(leaf for plan in plans for leaf in plan.propositions)

    def coded(self, table: Table | PartitionedTable, terms: Sequence[Any] = ()) -> OrderedTable:
        """Return the propositions of a table that was read as codes, and linear terms."""
        if isinstance(table, PartitionedTable):
            return coded_rows(table, self, terms)
        columns = [one for _, plan in self._checked_plans(table) for one in plan.coded(table)]
        degrees = np.empty((len(table), len(terms)))
        for j, term in enumerate(terms):
            degrees[:, j] = term(table)
        return OrderedTable(columns, len(table), degrees)

    def keep_order(self, names: Container[str]) -> None:
        """Write x <= 0 and not x = 0 of gaps of these columns."""
        self._set_plans(
            tuple(
                replace(plan, gaps=replace(plan.gaps, counts=False))
                if plan.gaps is not None and plan.name in names
                else plan
                for plan in self.plans_
            )
        )

    def choose(self, leaves: Leaves, used: Iterable[int]) -> dict[int, int]:
        """Make propositions of the gaps that were used; return the new places of all.

        ``used`` are places in the ``leaves`` of a table that :meth:`coded` returned.
        """
        chosen = sorted(used)
        places: dict[int, int] = {}
        plans, column, size = [], 0, 0
        for plan in self.plans_:
            listed = plan.propositions
            if plan.gaps is not None:
                first, last = leaves.starts[column : column + 2].tolist()
                some = [place for place in chosen if first <= place < last]
                places |= {place: size + k for k, place in enumerate(some)}
                listed = (*(plan.gaps[place - first] for place in some), *listed)
                column, size = column + 1, size + len(some)
            n_values, others = len(plan.values), len(plan.propositions) - len(plan.values)
            first = int(leaves.starts[column])
            places |= {first + k: size + k for k in range(len(plan.propositions))}
            column, size = column + bool(n_values) + others, size + len(plan.propositions)
            plans.append(replace(plan, propositions=listed, gaps=None))
        self._set_plans(tuple(plans))
        return places

    @property
    def reads_classes(self) -> bool:
        """Whether propositions depend on y, so that every part of a table has its own."""
        return self.strategy == "mdlp"

    def pack(self, table: Any, terms: Sequence[Any] = ()) -> Any:
        """Evaluate the propositions, and linear terms, on a table that was read.

        Of a partitioned table nothing is read yet.
        """
        if isinstance(table, PartitionedTable):
            return PackedPartitions.of(table, self, terms)
        return super().pack(table, terms)

    def _later(self, X: Any) -> Table:
        check_is_fitted(self)
        table = self._read(in_memory(X), reset=False)
        assert isinstance(table, Table)
        return table

    def _read(self, X: Any, *, reset: bool) -> Table | PartitionedTable:
        """Read a table, and check its columns against training, or remember them.

        Raises DataError if it is no table, has no columns, or others than in training.
        """
        if is_dask(X):
            head = self._read(head_of(X), reset=reset)
            return PartitionedTable.of(X, tuple(head.names))
        table = X if isinstance(X, Table) else Table.of(X)
        check_columns(table.shape, "X")
        self._check_columns(X, table, reset)
        return table if reset else Table.of(table, [plan.name for plan in self.plans_])

    def _check_columns(self, X: Any, table: Table, reset: bool) -> None:
        """Compare names and number of columns with training, as scikit-learn does for frames."""
        own = isinstance(X, Table) or (isinstance(X, Mapping) and not is_sparse(X))
        labels = list(table.names) if own else X.columns.tolist() if is_pandas(X) else []
        known = list(getattr(self, "feature_names_in_", labels * own))
        source = X if hasattr(X, "shape") else table
        with refused("Pass the columns of training, by their names."):
            if reset and {*map(type, labels)} == {str}:
                self.feature_names_in_ = np.array(labels, dtype=object)
            elif not own and (labels != known or not labels):
                _check_feature_names(self, source, reset=reset)
            _check_n_features(self, source, reset=reset)
        if own and not reset and labels != known:
            place = next(j for j, name in enumerate(labels) if name != known[j])
            raise DataError(
                f'column {place} is "{labels[place]}" and was "{known[place]}" in training. '
                f"Pass the columns of training in their order: table.select(names)."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        read = tags.input_tags
        read.sparse = read.allow_nan = read.string = read.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags
