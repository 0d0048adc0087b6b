"""The features of a formula's kernel as the columns of a sparse table, for linear models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import check_flag, check_integer, check_number
from formulakern.docstrings import parameters_from
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import PackedPartitions
from formulakern.errors import ParameterError
from formulakern.estimators.base import TableEstimator, propositions_of
from formulakern.estimators.svm.machines import FormulaSVC
from formulakern.estimators.validation import random_source, refused
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.formula import Reading, kernel
from formulakern.learning.feature_spaces import spaces_of
from formulakern.learning.formula_features import choose_features
from formulakern.partitions.collections import is_dask
from formulakern.partitions.lazy_rows import lazy_transform
from formulakern.rules.features import Instance
from formulakern.syntax.formula import Formula

#: The number of rows from which features are drawn, if the table stays in its partitions.
DRAWN_ROWS = 100_000


@lazy_transform
@parameters_from(TableEstimator, FormulaSVC)
@dataclass(eq=False, repr=False)
class FormulaFeatures(TransformerMixin, TableEstimator):  # type: ignore[misc]
    """The features of a formula's kernel as sparse columns, for linear models.

    The kernel of a formula counts the substitutions that are true in both rows (see
    :func:`formulakern.kernel`).  Let φ_f(x) be 1 if feature f is true in x, else 0, and let w_f be
    the number of substitutions that give f.  Then

        K(x, z) = Σ_f w_f·φ_f(x)·φ_f(z),

    and a linear model on the columns √w_f·φ_f is the model with kernel K.  Its time and memory grow
    with the number of rows, not with their square.

    If there are more features than ``n_components``, an unbiased sample is drawn: feature f with a
    probability π_f that grows with its frequency in training, and the factor √(w_f/π_f) in place of
    √w_f.  Then E[φ(x)·φ(z)] = K(x, z) if x or z is a training row; :meth:`error_bound` bounds the
    error.

    Parameters
    ----------
    formula : str, Formula or Kernel, default="a & b"
        A formula, or a kernel: a sum, multiple, cosine or product of formula kernels, or a family
        of conjunctions or disjunctions of :mod:`formulakern.boolean`.  With a kernel, ``variables``
        and ``domains`` have no effect.
    n_components : int or None, default=10_000
        The most features; if there are more, a sample of at most this size is drawn.  None: all
        features, or an error.
    normalize : bool, default=True
        Divide rows by √K(x, x), so that products are cosines K(x, z) / √(K(x, x)·K(z, z)).  If all
        features are used, rows have length 1.
    sparse_output : bool, default=True
        Return a SciPy CSR array instead of a dense array.
    dtype : dtype, default=numpy.float64
        float64 or float32.
    random_state : int, RandomState or None, default=0
        Draws the sample.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel K between encoded rows.
    n_features_out_ : int
        The number of columns.
    weights_ : ndarray of shape (n_features_out,), float64
        w_f, or w_f/π_f; its root is the value of a column if its rule is true, before rows are
        divided by their lengths.
    dimension_ : int
        The number of substitutions that K counts.
    exact_ : bool
        True if all features are used.
    encoder_ : transformer or None
    propositions_ : tuple of str
        The columns of the encoded table, each a rule that :func:`formulakern.rule` reads.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.

    Notes
    -----
    Columns are evaluated 64 rows at a time on packed propositions: F features on m rows cost
    O(F·m/64) word operations, and the output.  Apart from the packed table and the output, memory
    is constant; transform a table that does not fit in parts.

    Dask collections are fitted partition by partition, and transformed lazily.  If their packed
    rows exceed :func:`formulakern.gather_limit`, features are drawn from 100,000 random rows; all
    features need no rows.  A linear model with ``partial_fit`` learns from one block after the
    other, so that only the matrix of one block is in memory::

        features = FormulaFeatures("a & b").fit(frame.drop(columns="y"))
        model = SGDClassifier(loss="log_loss")
        for k in range(frame.npartitions):
            part = frame.partitions[k]
            values = features.transform(part.drop(columns="y")).compute()
            model.partial_fit(values, part["y"].compute(), classes=[0, 1])

    At most about four million substitutions are listed.  A larger space is sampled by drawing
    training rows and substitutions that are true in them.

    References
    ----------
    Polato & Aiolli (2021), Propositional Kernels, Entropy 23(8):1020, doi:10.3390/e23081020.
    Deville & Tillé (1998), Unequal probability sampling without replacement through a splitting
    method, Biometrika 85(1):89–101, doi:10.1093/biomet/85.1.89.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> features = FormulaFeatures("a & b & c", None, "distinct")
    >>> make_pipeline(features, LinearSVC(C=10)).fit(X, y).score(X, y)
    1.0
    >>> fitted = features.fit(X)
    >>> fitted.n_features_out_, fitted.get_feature_names_out()[0]
    (2925, '`top-left-square` = b & `top-left-square` = o & `top-left-square` = x')
    >>> products = fitted.transform(X) @ fitted.transform(X).T
    >>> bool(np.allclose(products.toarray(), fitted.kernel_(fitted.encoder_.transform(X))))
    True
    """

    learns_in_partitions: ClassVar[bool] = True

    formula: str | Formula | Kernel = "a & b"
    n_components: int | None = 10_000
    variables: Reading = "bound"
    _: KW_ONLY
    normalize: bool = True
    domains: Mapping[str, Any] | None = None
    sparse_output: bool = True
    dtype: DTypeLike = np.float64
    random_state: int | np.random.RandomState | None = 0
    kernel_: Kernel = field(init=False)
    n_features_out_: int = field(init=False)
    weights_: FloatArray = field(init=False)
    dimension_: int = field(init=False)
    exact_: bool = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Encode the table, and list or draw the features.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.  A sparse 0/1 table stays sparse.
        y : array-like of shape (n_rows,), optional
            Classes, for encoders whose cut points depend on them.

        Returns
        -------
        FormulaFeatures
            Itself.

        Raises
        ------
        DataError
            If the table cannot be read, or a sample is needed and no feature is true in the table.
        FormulaSyntaxError, FormulaSizeError, ParameterError
            If the formula or a parameter is wrong, or the kernel has no features, features that
            cannot be listed, or too many for ``n_components=None``.
        """
        self._fit_packed(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and transform the same table, which is encoded only once.

        Parameters
        ----------
        X, y : as in :meth:`fit`

        Returns
        -------
        csr_array or ndarray of shape (n_rows, n_features_out)
            Of a dask collection, a dask array as in :meth:`transform`.
        """
        table = self._fit_packed(X, y)
        return self.transform(X) if is_dask(X) else self._features_of(table)

    def transform(self, X: Any) -> Any:
        """Return the features of every row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A table with the columns of training.

        Returns
        -------
        csr_array or ndarray of shape (n_rows, n_features_out), of ``dtype``
            Of a dask frame or array, a dask array with one block for each partition, which is
            computed in the worker of the partition.

        Raises
        ------
        DataError
            If the table cannot be read as in training.
        """
        check_is_fitted(self, "weights_")
        return self._features_of(self._read_table(X))

    def error_bound(self, delta: float = 0.05) -> float:
        """Return a bound on the error of the products that holds with probability at least 1 − δ.

        The error is the root of the mean of (φ(x)·φ(z) − K(x, z))² over all pairs of training rows,
        in units of cosines if ``normalize`` is true.  The bound is 0 if all features are used, and
        at most (1 + √ln(1/δ))/√r for r independent draws from a space of any size.

        Parameters
        ----------
        delta : float, default=0.05
            δ, above 0 and at most 1.

        Returns
        -------
        float

        Raises
        ------
        ParameterError
            If ``delta`` is not between 0 and 1.

        References
        ----------
        McDiarmid (1989), On the method of bounded differences,
        doi:10.1017/CBO9781107359949.008.

        Examples
        --------
        >>> from formulakern import datasets
        >>> X, _ = datasets.tic_tac_toe()
        >>> [round(FormulaFeatures("a & b & c & d & e & f", r).fit(X).error_bound(), 3)
        ...  for r in (1_000, 4_000)]
        [0.086, 0.043]
        """
        check_is_fitted(self, "weights_")
        check_number("delta", delta, 0, 1, above=True)
        return self._chosen.error_bound(float(delta))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Any:
        """Return the columns as rules, which :func:`formulakern.rule` reads.

        Parameters
        ----------
        input_features : array of str of shape (n_features,), optional
            The names of the input columns if training had none; otherwise the same names.

        Returns
        -------
        ndarray of shape (n_features_out,), object

        Raises
        ------
        DataError
            If the names differ from those of the training table, or their number does.
        """
        check_is_fitted(self, "weights_")
        leaves = self._encoding.leaves
        if input_features is not None:
            with refused("Pass the names of the columns of training."):
                names = _check_feature_names_in(self, input_features)
            if self.encoder_ is not None:
                names = self.encoder_.get_feature_names_out(input_features)
            every = propositions_of(names)
            leaves = tuple(every[j] for j in self._encoding.kept.tolist())
        return np.array([str(f.named(leaves)) for f in self._instances()], dtype=object)

    def _instances(self) -> list[Instance]:
        listed = self._chosen.features
        found = []
        for number, columns in zip(listed.function.tolist(), listed.columns.tolist(), strict=True):
            function = listed.functions[number]
            places = tuple(columns[: len(function.arguments)])
            found.append(Instance(function.formula, function.arguments, places))
        return found

    def _fit_packed(self, X: Any, y: Any) -> PackedTable:
        """Fit, and return the encoded table."""
        check_integer("n_components", self.n_components, otherwise="None for all")
        check_flag("normalize", self.normalize)
        check_flag("sparse_output", self.sparse_output)
        if self.dtype not in (np.float64, np.float32, "float64", "float32"):
            raise ParameterError(f"dtype={self.dtype!r}; expected numpy.float64 or numpy.float32.")
        if isinstance(self.formula, Kernel) and self.formula.reads != "tables":
            raise ParameterError(
                f"{self.formula!r} reads {self.formula.reads}; expected a kernel of tables."
            )
        table: PackedTable | PackedPartitions = self._fit_table(X, y)
        seed = random_source(self.random_state).randint(2**31 - 1)
        if isinstance(table, PackedPartitions):
            table = table.sample(DRAWN_ROWS, np.random.default_rng([seed, 1]))
        made = self.formula
        if not isinstance(made, Kernel):
            made = kernel(made, self.variables, domains=self._domains_of(X, self.domains))
        self.kernel_ = made.normalized() if self.normalize else made
        spaces = spaces_of(self.kernel_, table)
        self._chosen = choose_features(
            spaces, table, self.n_components, np.random.default_rng(seed)
        )
        if not len(self._chosen.features):
            raise ParameterError(
                f"{made!r} is false in every row under every substitution. Use another formula."
            )
        self.dimension_ = sum(space.size for space in spaces)
        self.exact_ = self._chosen.complete
        self.weights_ = self._chosen.features.weights
        self.n_features_out_ = len(self.weights_)
        return table

    def _features_of(self, table: PackedTable) -> Any:
        factors = self._chosen.lengths.factors(table)
        matrix = self._chosen.features.matrix(table, factors, np.dtype(self.dtype))
        return matrix if self.sparse_output else matrix.toarray()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
