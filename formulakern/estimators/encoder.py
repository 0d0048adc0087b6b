"""The encoder of any table as 0/1 columns, which are propositions for rules.

A nominal column becomes ``odor = foul``, …; a numeric column ``gill_size <= 3``, …; a Boolean
column is unchanged.  The rule language can read the names of the output columns.
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
from formulakern.encoding.ordered import OrderedTable
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

    * A *Boolean* column (bool, or only numbers 0 and 1) is one proposition with the name of the
      column, and is never dropped.  So a 0/1 table is unchanged.
    * A *nominal* column (text, categories) becomes ``x = v`` for every value v in training.  An
      *ordered* column (an ordered categorical of pandas, an ``Enum`` of polars) also becomes
      ``x <= v`` and ``x >= v``, with ``nominal="auto"``.  Its order is cut like numbers, and both
      propositions are false for a value outside the order.
    * A *numeric* column becomes ``x <= c`` and ``x >= c`` at cut points between its values.  A cut
      separates some training rows from others; c is the shortest number in the gap.  If the two
      values differ by the unit of the column, c is the value itself: ``x <= 3`` and ``x >= 4`` for
      whole numbers, ``x <= 1.6`` and ``x >= 1.7`` for tenths.
    * A column of *dates, time stamps, times of day or durations* is cut like numbers, exactly in
      its unit; c is the roundest value in the gap: ``x >= 2020-02-01``, ``x >= 10:30``,
      ``x >= 3d4h``, or ``x >= 2020-02-01T10:30Z`` with a time zone.

    Parameters
    ----------
    negations : bool, default=False
        Also ``x != v`` for nominal and ``x = 0`` for Boolean columns.
    numeric : {"both", "<=", ">="}, default="both"
        The relations for columns of numbers, dates and times, and for ordered categories.  For
        degrees of truth, ">=" gives ``x`` and "<=" gives ``~x``.
    cut_points : int or "auto", default="auto"
        The largest number of cuts per column of numbers, dates or times, or ordered categories.
        ``"auto"``: 4.  Inside a learner that searches for cut points, ``"auto"`` means all gaps
        between values, or 31 quantiles if the rows stay in partitions, and the encoder keeps the
        cut points that rules use.
    strategy : {"quantile", "uniform", "mdlp", "all"}, default="quantile"
        ``"quantile"``: cuts that split the rows evenly.  ``"uniform"``: at equal distances between
        the smallest and largest value.  ``"mdlp"``: cuts that are most informative about the
        classes, as many as the minimum description length principle accepts, but at least one.
        ``"all"``: between all values, regardless of ``cut_points``.
    nominal : "auto", "all", or list of names or positions, default="auto"
        ``"auto"``: columns of text and categories, and numeric columns with two to ``max_nominal``
        different whole values.  ``"all"``: every column that is not Boolean.  A list: these columns
        (Boolean ones too), and columns of text.
    max_nominal : int, default=2
        For ``nominal="auto"``: the largest number of whole values of a nominal numeric column.
        Raise it for tables that code categories as small integers.
    min_frequency : int or float, default=1
        Values of a nominal column with fewer training rows (or a smaller share of them) share one
        proposition ``x not in {…}``, which lists the other values.  It is also true for values not
        seen in training.  Columns with an order are unchanged.
    missing : {"value", "false", "error"}, default="value"
        ``"value"``: a column with missing entries in training gets the proposition ``x is missing``
        (with ``negations`` also ``x is not missing``).  ``"false"``: no such proposition.  All
        other propositions are false for a missing entry.  ``"error"``: raise DataError.
    unknown : {"false", "error"}, default="false"
        For a value of a nominal or Boolean column not seen in training: ``"false"`` makes ``x = v``
        false for every v (and ``x != v`` true), ``"error"`` raises DataError.
    graded : bool, "linear", "rank" or mapping, default=False
        Encode numeric columns as degrees of truth from 0 to 1 instead of cut points, for kernels
        with graded inputs: ``x`` for large values, and ``~x`` = 1 − x.  ``"linear"``, or True: from
        the smallest to the largest training value.  ``"rank"``: the share of smaller training
        values, plus half of the equal ones.  A mapping from names to scales applies to these
        columns; others keep cut points, as dates and times do.  Missing entries have degree 0.
    calendar : list of str, default=()
        For columns of dates and times, add ``month(x) = June``, … for every value in training: any
        of "year", "quarter", "month", "day", "weekday", "hour" and "minute", in local time.  Remove
        the time zone of a column first.
    sparse_output : bool, default=False
        Return a SciPy CSR array instead of a dense one.
    dtype : dtype, default=numpy.uint8
        The dtype of the output; float64 if the output has degrees that ``dtype`` cannot hold.

    Attributes
    ----------
    propositions_ : tuple of Formula
        One per output column; a Variable for a Boolean column, or a Variable or its negation for
        degrees.
    plans_ : tuple of ColumnPlan
        One per input column.
    column_types_ : dict
        The type of each column, for :meth:`formulakern.RuleEnsemble.to_sql`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), object
        Only if the training table has names.

    Notes
    -----
    ``transform`` gives the values of ``propositions_[j]`` on the table, for every j.  Fitting sorts
    each numeric column; transforming costs one pass per column and the output.

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
            Anything that :meth:`formulakern.Table.of` reads, or a dask frame or array, which is
            read one partition at a time; the propositions are the same.
        y : array-like of shape (n_rows,), optional
            The class of every row, for ``strategy="mdlp"``; otherwise ignored.

        Returns
        -------
        PropositionEncoder
            The fitted encoder.

        Raises
        ------
        DataError
            If X is not a table, is empty, has a missing entry with ``missing="error"``, if no
            column distinguishes any two rows, or if classes are needed but y has none.
        ParameterError
            If a parameter is out of range.
        """
        self.fit_table(X, y)
        return self

    def fit_table(
        self, X: Any, y: Any = None, searched: bool = False
    ) -> tuple[Table | PartitionedTable, dict[str, Summary]]:
        """Find the propositions, and return the table and the summaries of its columns.

        If a search is to find cut points (``searched``), :meth:`choose` sets them later.
        """
        check_options(self)
        table = self._read(X, reset=True)
        summaries = self.learn(table, y, searched)
        warn_of_identifiers(summaries, self.plans_)
        return table, {one.name: one for one in summaries}

    def read_table(self, X: Any) -> Table:
        """Read a later table with the columns of training; see :meth:`transform`."""
        table = self._later(X)
        warn_of_unseen(table, self.plans_)
        return table

    def unseen(self, X: Any) -> dict[str, float]:
        """Return the share of entries of each nominal column with values not seen in training.

        Missing entries do not count.  Methods that read later tables warn if at least 10 entries
        are unseen and their share is large.  The limit is 10 % plus twice the share of training
        entries with a unique value.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)

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
            A table with the columns of training.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_propositions), of ``dtype``
            1 if the proposition is true in the row, else 0.  (A frame after ``set_output``.)

        Raises
        ------
        DataError
            If the columns differ from training, or hold values that the parameters refuse.
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
        """Return the propositions as text, which the rule language can read.

        Parameters
        ----------
        input_features : array of str of shape (n_features,), optional
            The names of the input columns; if training had names, they must be equal.

        Returns
        -------
        ndarray of shape (n_propositions,), object

        Raises
        ------
        DataError
            If the names or their number differ from training.
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
        """Find the propositions of a table, and return the summaries of its columns."""
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
                f"no proposition in {rows}: every column is numeric and constant. Pass rows that "
                'differ, or nominal="all" to keep the constant values.'
            )
        self._set_plans(tuple(plans[name] for name in table.names))
        self.column_types_ = {name: kind for name, kind in types.items() if kind is not None}
        return summaries

    def _set_plans(self, plans: tuple[ColumnPlan, ...]) -> None:
        self.plans_ = plans
        self.propositions_ = tuple(leaf for plan in plans for leaf in plan.propositions)

    def coded(self, table: Table | PartitionedTable, terms: Sequence[Any] = ()) -> OrderedTable:
        """Return a table as codes of its propositions, with linear terms."""
        if isinstance(table, PartitionedTable):
            return coded_rows(table, self, terms)
        columns = [one for _, plan in self._checked_plans(table) for one in plan.coded(table)]
        degrees = np.empty((len(table), len(terms)))
        for j, term in enumerate(terms):
            degrees[:, j] = term(table)
        return OrderedTable(columns, len(table), degrees)

    def keep_order(self, names: Container[str]) -> None:
        """Use x <= 0 instead of x = 0 for gaps of these columns."""
        self._set_plans(
            tuple(
                replace(plan, gaps=replace(plan.gaps, counts=False))
                if plan.gaps is not None and plan.name in names
                else plan
                for plan in self.plans_
            )
        )

    def choose(self, used: Iterable[int]) -> dict[int, int]:
        """Keep only the propositions of gaps in use, and return the new places of all propositions.

        ``used`` are places in the leaves of a table from :meth:`coded`.
        """
        chosen = sorted(used)
        places: dict[int, int] = {}
        plans, first, size = [], 0, 0
        for plan in self.plans_:
            listed = plan.propositions
            if plan.gaps is not None:
                last = first + len(plan.gaps)
                some = [place for place in chosen if first <= place < last]
                places |= {place: size + k for k, place in enumerate(some)}
                listed = (*(plan.gaps[place - first] for place in some), *listed)
                first, size = last, size + len(some)
            n = len(plan.propositions)
            places |= {first + k: size + k for k in range(n)}
            first, size = first + n, size + n
            plans.append(replace(plan, propositions=listed, gaps=None))
        self._set_plans(tuple(plans))
        return places

    @property
    def reads_classes(self) -> bool:
        """True if propositions depend on y."""
        return self.strategy == "mdlp"

    def pack(self, table: Any, terms: Sequence[Any] = ()) -> Any:
        """Evaluate the propositions, and linear terms, on a table; lazily on a partitioned one."""
        if isinstance(table, PartitionedTable):
            return PackedPartitions.of(table, self, terms)
        return super().pack(table, terms)

    def _later(self, X: Any) -> Table:
        check_is_fitted(self)
        table = self._read(in_memory(X), reset=False)
        assert isinstance(table, Table)
        return table

    def _read(self, X: Any, *, reset: bool) -> Table | PartitionedTable:
        """Read a table, and check its columns against training, or store them with ``reset``."""
        if is_dask(X):
            head = self._read(head_of(X), reset=reset)
            return PartitionedTable.of(X, tuple(head.names))
        table = X if isinstance(X, Table) else Table.of(X)
        check_columns(table.shape, "X")
        self._check_columns(X, table, reset)
        return table if reset else Table.of(table, [plan.name for plan in self.plans_])

    def _check_columns(self, X: Any, table: Table, reset: bool) -> None:
        """Compare the names and number of columns with training."""
        own = isinstance(X, Table) or (isinstance(X, Mapping) and not is_sparse(X))
        labels = list(table.names) if own else X.columns.tolist() if is_pandas(X) else []
        known = list(getattr(self, "feature_names_in_", labels * own))
        source = X if hasattr(X, "shape") else table
        with refused("Pass the columns of training by name."):
            if reset and {*map(type, labels)} == {str}:
                self.feature_names_in_ = np.array(labels, dtype=object)
            elif not own and (labels != known or not labels):
                _check_feature_names(self, source, reset=reset)
            _check_n_features(self, source, reset=reset)
        if own and not reset and labels != known:
            place = next(j for j, name in enumerate(labels) if name != known[j])
            raise DataError(
                f'column {place} is "{labels[place]}" but was "{known[place]}" in training. '
                f"Pass the columns of training in their order: table.select(names)."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        read = tags.input_tags
        read.sparse = read.allow_nan = read.string = read.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags
