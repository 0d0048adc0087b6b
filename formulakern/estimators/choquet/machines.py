"""Support vector machines whose decision is a Choquet integral."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    is_integer,
    is_number,
)
from formulakern.display.plots import draw_importance
from formulakern.docstrings import parameters_from
from formulakern.encoding.plan import Degrees, learn_degrees
from formulakern.encoding.strict import RealTable, read_real
from formulakern.errors import DataError, FormulaSizeError, MagnitudeError, ParameterError
from formulakern.estimators.base import TableEstimator
from formulakern.estimators.choquet.monotone import Losses, MonotoneModel, MonotoneProblem
from formulakern.estimators.choquet.set_function import (
    SetFunction,
    monotonicity_degree,
    pair_features,
)
from formulakern.estimators.path_search import numbers_of
from formulakern.estimators.svm.machines import (
    FOLDS,
    FormulaSVC,
    KernelMachine,
    PairwiseMachine,
    RegressionMachine,
    search_penalties,
)
from formulakern.estimators.validation import (
    Split,
    TrainingData,
    random_source,
    read_numbers,
    refused,
    require_target,
    several_classes,
)
from formulakern.files.models import save
from formulakern.kernels.algebra import Kernel, ScaledKernel
from formulakern.kernels.choquet import ChoquetKernel, choquet
from formulakern.learning.kernel_machines import KernelRows
from formulakern.rules.export.json import plain
from formulakern.rules.python.files import PythonFile
from formulakern.tables.column import did_you_mean
from formulakern.tables.read import as_frame, default_names
from formulakern.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The most columns of a set function that is written as Python.
MAX_PYTHON_COLUMNS = 14
#: Attributes that the next fit deletes: those computed on demand, and those that not all fits set.
FORGOTTEN = (
    *("_degrees_of_monotonicity", "shapley_values_", "interaction_indices_"),
    *("cv_results_", "svc_", "dual_coef_", "_pair_weights", "_support_rows"),
)
#: The share of a fit's progress at which the settings are chosen.
SEARCH_SHARE = 0.8
#: The candidates of "cv": C, and the additivity (those below n, and None for all sets).
PENALTIES = tuple(10.0**e for e in range(-2, 5))
ADDITIVITIES = (1, 2, 3, 5)
ADVICE = "Pass a table of finite numbers; code ordered categories as numbers first."


# -- degrees ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AttributeScaling:
    """The degrees of each column (None if it was constant), and its direction."""

    columns: tuple[Degrees | None, ...]
    directions: npt.NDArray[np.int64]

    def degrees(self, values: FloatArray) -> FloatArray:
        """Return degrees in [0, 1], clipped outside the training range; constant columns are 0.

        >>> linear = (Degrees("linear", (0.0, 10.0)), Degrees("linear", (1.0, 3.0)))
        >>> scaling = AttributeScaling(linear, np.array([1, -1]))
        >>> scaling.degrees(np.array([[2.0, 1.5], [20.0, 3.0]]))
        array([[0.2 , 0.75],
               [1.  , 0.  ]])
        """
        found = np.zeros(values.shape)
        for j, column in enumerate(self.columns):
            if column is not None:
                degrees = column.of(values[:, j])
                found[:, j] = degrees if self.directions[j] > 0 else 1.0 - degrees
        return found


def learn_scaling(
    values: FloatArray, target: FloatArray, directions: Any, scaling: str, names: Any
) -> AttributeScaling:
    """Return the scaling of training rows, or raise ParameterError for wrong directions.

    A missing direction is the sign of Spearman's rank correlation with the target, +1 if it is
    zero.
    """
    n = values.shape[1]
    ranks, wanted = rankdata(values, axis=0), rankdata(target)
    covariance = (wanted - wanted.mean()) @ (ranks - ranks.mean(axis=0))
    found = np.where(covariance < -1e-9 * len(ranks), -1, 1)
    given: Mapping[Any, Any] = directions if isinstance(directions, Mapping) else {}
    if not isinstance(directions, Mapping) and str(directions) != "auto":
        signs = np.ravel(np.asarray(directions, dtype=object)).tolist()
        if len(signs) != n:
            raise ParameterError(
                f"directions={directions!r}; expected 'auto', +1 or -1 for each of {n} columns, or "
                "a mapping from names or positions of columns to +1 or -1."
            )
        given = dict(enumerate(signs))
    for column, sign in given.items():
        if not is_number(sign) or sign not in (1, -1):
            raise ParameterError(
                f"the direction of column {column!r} is {sign!r}; expected +1 if larger values "
                "belong to the larger class or number, -1 if smaller ones do."
            )
        found[column_position(column, n, names)] = int(sign)
    columns = tuple(learn_degrees(c, "rank" if scaling == "rank" else "linear") for c in values.T)
    return AttributeScaling(columns, found.astype(np.int64))


def column_position(column: Any, n: int, names: Any) -> int:
    """Return the position of a column that is given by name or position, or raise ParameterError.

    >>> column_position("age", 2, ["sex", "age"]), column_position(-1, 2, None)
    (1, 1)
    """
    known = [] if names is None else list(names)
    if isinstance(column, str) and column in known:
        return known.index(column)
    if is_integer(column) and -n <= column < n:
        return int(column) % n
    hint = f"; {did_you_mean(column, known)}" if isinstance(column, str) and known else "."
    raise ParameterError(
        f"there is no column {column!r} among the {n} of training{hint} Give a name or a position."
    )


def _degree(file: PythonFile, j: int, name: str, column: Degrees | None, direction: int) -> str:
    """Return the Python expression for the degree of an entry."""
    found = file.conditions.read("factor", name)
    if column is None:  # a constant column
        return "0.0"
    if column.scale == "rank":
        file.constants.append(f"KNOWN_{j} = {list(column.values)!r}")
        file.functions.append("rank_degree")
        text = f"rank_degree({found}, KNOWN_{j})"
    else:
        file.functions.append("linear_degree")
        text = f"linear_degree({found}, {column.values[0]!r}, {column.values[1]!r})"
    return text if direction > 0 else f"1.0 - {text}"


# -- the base --------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class ChoquetEstimator(KernelMachine, BaseEstimator):  # type: ignore[misc]
    """The base of :class:`ChoquetSVC` and :class:`ChoquetRegressor`."""

    C: float | str | Sequence[float] = "auto"
    additivity: int | str | Sequence[int | None] | None = None
    directions: Any = "auto"
    _: KW_ONLY
    scaling: Literal["minmax", "rank"] = "minmax"
    cv: Any = "auto"
    enforce_monotone: bool = False
    tol: float = 1e-3
    max_iter: int = -1
    random_state: int | np.random.RandomState | None = 0
    verbose: int = 0
    scaling_: AttributeScaling = field(init=False)
    directions_: npt.NDArray[np.int64] = field(init=False)
    C_: float = field(init=False)
    additivity_: int | None = field(init=False)
    cv_results_: dict[str, npt.NDArray[Any]] = field(init=False)
    n_features_in_: int = field(init=False)
    #: One set function, or one for each pair of classes.
    _functions: tuple[SetFunction, ...] = field(init=False)
    #: Of monotone machines, the weights of columns and pairs: float64 (functions, p).
    _moebius: FloatArray = field(init=False)
    _automatic_C: ClassVar[float] = 1.0

    save = save
    _validated = TableEstimator._validated

    def _fit(
        self,
        values: FloatArray,
        targets: npt.NDArray[Any],
        ranked: FloatArray,
        weights: FloatArray,
        unit: float,
        scoring: str,
    ) -> Self:
        """Scale the rows, choose the parameters, and train.

        ``ranked`` are numbers in the order of the targets; C is chosen from multiples of ``unit``.
        """
        n = values.shape[1]
        additivities, penalties = self._additivities(n), self._penalties(unit)
        for name in FORGOTTEN:
            self.__dict__.pop(name, None)
        names = getattr(self, "feature_names_in_", None)
        self.scaling_ = learn_scaling(values, ranked, self.directions, self.scaling, names)
        self.directions_ = self.scaling_.directions
        rows = RealTable(None, self.scaling_.degrees(values))
        self._seed = int(random_source(self.random_state).randint(2**31 - 1))
        with self._progress_bar() as bar:
            try:
                kernels, best = [self._kernel(rows, k) for k in additivities], 0
                if len(additivities) * len(penalties) > 1:
                    pairs = list(itertools.product(additivities, penalties))
                    best, self.cv_results_ = search_penalties(
                        self,
                        kernels,
                        {"additivity": [k for k, _ in pairs], "C": [C for _, C in pairs]},
                        (rows, targets, weights),
                        self._seed,
                        scoring,
                    )
                k, c = divmod(best, len(penalties))
                self.kernel_, self.additivity_, self.C_ = kernels[k], additivities[k], penalties[c]
                bar.at(SEARCH_SHARE, f"C {self.C_:.3g}, all rows")
                self._train(rows, targets, self.C_ * weights, stacklevel=4)
            except MagnitudeError:
                raise MagnitudeError(
                    f"rows of {n:,} columns have so little in common that the kernel is below "
                    "2.2e-308, the end of float64. Choose a small additivity, such as 2."
                ) from None
            bar.end(f"C {self.C_:.3g}, additivity {self.additivity_}")
        return self

    def _kernel(self, rows: RealTable, k: int | None) -> Kernel:
        """Return the kernel whose mean square length of training rows is 1."""
        kernel = choquet(k, scale="probability")
        mean = float(kernel.diagonal(rows).mean())
        return ScaledKernel(1.0 / mean if mean > 0 else 1.0, kernel)

    def _monotone(
        self, kernel: Any, parts: Sequence[tuple[FloatArray, Losses]], labels: Any = None
    ) -> MonotoneProblem:
        """Return the problem of degrees and losses, one for each pair of classes."""
        n = parts[0][0].shape[1]
        k = min(kernel.kernel.additivity or n, 2)
        return MonotoneProblem(parts, k, kernel.weight / kernel.kernel.dimension(n), labels)

    def _take_over_monotone(self, models: Sequence[MonotoneModel], n: int) -> None:
        self._moebius = np.array([model.moebius for model in models])
        self._functions = tuple(SetFunction.of_pairs(m, n) for m in self._moebius)
        self.intercept_ = np.array([model.intercept for model in models])
        self.gap_ = max(model.gap for model in models)
        self.n_iter_ = max(model.rounds for model in models)
        self.stopped_ = "optimal" if self.gap_ <= self.tol else "stalled"
        self.support_ = np.empty(0, dtype=np.intp)

    def _row_functions(self, coefficients: FloatArray) -> tuple[SetFunction, ...]:
        """Return the set functions of support vectors with some sets of coefficients."""
        kernel, rows = cast(ScaledKernel, self.kernel_), self._support_rows.values
        k = cast(ChoquetKernel, kernel.kernel).additivity or rows.shape[1]
        return tuple(SetFunction(rows, beta * kernel.weight, k) for beta in coefficients)

    def _values(self, rows: Any, weights: FloatArray) -> FloatArray:
        if self.enforce_monotone:
            return np.asarray(pair_features(rows.values) @ self._moebius.T)
        return super()._values(rows, weights)

    # -- the set function -------------------------------------------------------------------------

    def moebius(self, subset: Any) -> Any:
        """Return m(T), the weight of min_T of the degrees in the decision.

        Parameters
        ----------
        subset : str, int or sequence of these
            Columns, by name or position.

        Returns
        -------
        float
            For several classes, an ndarray with one value for each of ``pairs_``.
        """
        return self._of_each(lambda f: f.moebius(self._columns(subset)))

    def measure(self, subset: Any) -> Any:
        """Return μ(A) = Σ m(T) over T ⊆ A, the score without the intercept of a row that is 1 on A.

        Parameters
        ----------
        subset : str, int or sequence of these
            Columns, by name or position.

        Returns
        -------
        float
            For several classes, an ndarray with one value for each of ``pairs_``.
        """
        return self._of_each(lambda f: f.measure(self._columns(subset)))

    @property
    def monotonicity_degree_(self) -> Any:
        """The share of pairs A ⊂ A ∪ {i} with μ(A) ≤ μ(A ∪ {i})."""
        return self._degrees_of_monotonicity[0]

    @property
    def monotonicity_degree_error_(self) -> Any:
        """The standard error of ``monotonicity_degree_``; 0.0 if all pairs were counted."""
        return self._degrees_of_monotonicity[1]

    @cached_property
    def _degrees_of_monotonicity(self) -> tuple[Any, Any]:
        found = self._of_each(lambda f: np.array(monotonicity_degree(f, self._seed)))
        if found.ndim == 1:
            return float(found[0]), float(found[1])
        return found[:, 0], found[:, 1]

    @cached_property
    def shapley_values_(self) -> FloatArray:
        """The Shapley value of each column: (n,), for several classes (pairs, n)."""
        return np.asarray(self._of_each(lambda f: f.shapley()))

    @cached_property
    def interaction_indices_(self) -> FloatArray:
        """The interaction index of every two columns: (n, n), for several classes (pairs, n, n)."""
        return np.asarray(self._of_each(lambda f: f.interactions()))

    def plot_importance(self, ax: Axes | None = None, *, pair: int = 0) -> Axes:
        """Draw a matrix with Shapley values on the diagonal and interaction indices off it.

        Red supports the larger class or number, blue the smaller.  Two columns of positive
        interaction complement each other; two of negative interaction replace each other.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New axes by default.
        pair : int
            The position in ``pairs_``, for several classes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        check_choice("pair", pair, range(len(self._functions)))
        n = self.n_features_in_
        shapley = self.shapley_values_.reshape(-1, n)[pair]
        interactions = self.interaction_indices_.reshape(-1, n, n)[pair]
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(len(shapley))])
        return draw_importance(shapley, interactions, names, ax)

    def _of_each(self, what: Callable[[SetFunction], Any]) -> Any:
        check_is_fitted(self, "scaling_")
        found = [what(function) for function in self._functions]
        return found[0] if len(found) == 1 else np.array(found)

    def _columns(self, subset: Any) -> list[int]:
        listed = [subset] if isinstance(subset, (str, int, np.integer)) else list(subset)
        names = getattr(self, "feature_names_in_", None)
        return sorted({column_position(c, self.n_features_in_, names) for c in listed})

    # -- parameters -----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choice("scaling", self.scaling, ("minmax", "rank"))
        check_flag("enforce_monotone", self.enforce_monotone)
        self._limits()

    def _penalties(self, unit: float) -> list[float]:
        automatic = isinstance(self.C, str) and self.C == "auto"
        given = self._automatic_C if automatic else self.C
        listed = self._listed("C", given, [C * unit for C in PENALTIES])
        return numbers_of("C", listed, 0.0, strict=True, otherwise="'auto', 'cv'")

    def _additivities(self, n: int) -> list[int | None]:
        some: list[int | None] = [k for k in ADDITIVITIES if k < n]
        listed = self._listed("additivity", self.additivity, [*some, None])
        if self.enforce_monotone and self.additivity == "cv":
            listed = [1, 2][:n]
        for k in listed:
            check_integer("additivity", k, 1, "None for all sets, 'cv', or a sequence of these")
            choquet(k).family.check(n)
            if self.enforce_monotone and (n if k is None else k) > 2:
                raise ParameterError(
                    f"enforce_monotone=True with additivity={k}; expected an additivity of at most "
                    "2. Pass additivity=1, 2 or 'cv'."
                )
        return sorted(listed, key=lambda k: n if k is None else k)

    @staticmethod
    def _listed(name: str, given: Any, candidates: list[Any]) -> list[Any]:
        """Return the candidates for "cv", or the given values as a list."""
        if isinstance(given, str):
            check_choice(name, given, ("cv",))
            return candidates
        if isinstance(given, Iterable) and not isinstance(given, Mapping):
            listed = list(given)
            if not listed:
                raise ParameterError(f"{name}={given!r}; expected at least one value.")
            return listed
        return [given]

    # -- for other programs ---------------------------------------------------------------------

    def to_python(self) -> str:
        """Return a Python file with a function that predicts one row.

        It defines ``predict(row, missing=())``, see :meth:`formulakern.RuleEnsemble.to_python`, and
        ``score(row, missing=())``: the number, or the Choquet integral plus intercept of every pair
        of classes.

        Raises
        ------
        FormulaSizeError
            If there are more than 14 columns; the set function of n columns has 2ⁿ values.

        Notes
        -----
        The file sums over sorted degrees, and the model over support vectors, so that scores agree
        up to rounding, a share of about 1e-9.  If a score of the model is that close to 0, the
        predicted class may differ.
        """
        check_is_fitted(self, "scaling_")
        n = self.n_features_in_
        if n > MAX_PYTHON_COLUMNS:
            raise FormulaSizeError(
                f"a set function of {n} columns has {2**n:,} values; to_python() writes at most "
                f"{MAX_PYTHON_COLUMNS} columns. Use save() and formulakern.load."
            )
        file = PythonFile()
        sets = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
        shown = "".join(f"    {f.measures(sets).tolist()!r},\n" for f in self._functions)
        file.constants += [f"MEASURES = [\n{shown}]", f"INTERCEPTS = {self.intercept_.tolist()!r}"]
        names = map(str, getattr(self, "feature_names_in_", default_names(n)))
        reads = zip(names, self.scaling_.columns, self.directions_.tolist(), strict=True)
        degrees = [_degree(file, j, *parts) for j, parts in enumerate(reads)]
        lines = ["degrees = [", *(f"    {degree}," for degree in degrees), "]"]
        of_pairs = "for m, b in zip(MEASURES, INTERCEPTS, strict=True)"
        total = f"[choquet_integral(degrees, m) + b {of_pairs}]"
        file.functions.append("choquet_integral")
        classes = getattr(self, "classes_", None)
        if classes is None:
            lines.append(f"return {total}[0]")
            file.define("predict", "The number that is predicted.", "float", lines, reads=True)
            file.define("score", "The same.", "float", ["return predict(row, missing)"])
            return file.text()
        file.functions.append("winner")
        file.constants.append(f"CLASSES = {[plain(label) for label in classes.tolist()]!r}")
        best = "return CLASSES[winner(score(row, missing), len(CLASSES))]"
        file.define("predict", "The class of a row.", "Any", [best])
        about = "Of every pair of CLASSES the score, which is positive for the second."
        file.define("score", about, "list[float]", [*lines, f"return {total}"], reads=True)
        return file.text()

    # -- tables ---------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        """Return the table as numbers; check its columns against those of training."""
        as_frame(X)  # raises DataError if two columns have one name
        names = None
        if isinstance(X, (Table, Mapping)):
            table = read_real(X)
            X, names = table.values, table.names
        with warnings.catch_warnings():
            if names is not None:  # they are compared below
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
            values = self._validated(X, ADVICE, dtype=np.float64, reset=reset)
        known = getattr(self, "feature_names_in_", None)
        if names is not None and reset:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif names is not None and known is not None and tuple(known) != names:
            raise DataError(
                f"the columns are {', '.join(names)}, but were {', '.join(known)} in training. "
                "Pass the same columns in the same order."
            )
        return np.asarray(values)

    def _read_table(self, X: Any) -> RealTable:
        return X if isinstance(X, RealTable) else RealTable(None, self.degrees(X))

    def degrees(self, X: Any) -> FloatArray:
        """Return the attributes as degrees between 0 and 1, which the kernel reads.

        Parameters
        ----------
        X : table of shape (n_rows, n)

        Returns
        -------
        ndarray of shape (n_rows, n), float64
        """
        check_is_fitted(self, "scaling_")
        return self.scaling_.degrees(self._read(X, reset=False))


# -- the estimators ------------------------------------------------------------------------------


@parameters_from(FormulaSVC)
@dataclass(eq=False, repr=False)
class ChoquetSVC(PairwiseMachine, ClassifierMixin, ChoquetEstimator):  # type: ignore[misc]
    """Support vector classification by a Choquet integral of the attributes.

    Every attribute becomes a degree x_i in [0, 1] that grows with the class.  The decision is

        f(x) = Σ m(T)·min_T x + b = Σᵢ (x₍ᵢ₎ − x₍ᵢ₊₁₎)·μ(the columns of the i largest) + b,

    a sum over non-empty sets T of at most k columns: the Choquet integral with the set function
    μ(A) = Σ m(T) over T ⊆ A.  The weights m maximise the margin.  The Choquet kernel
    (:func:`formulakern.choquet`) finds them without building the features.

    Parameters
    ----------
    C : "auto", float, "cv" or sequence of float, default="auto"
        Penalty parameter of margin errors; ``"auto"`` is 1.  A sequence: the best value in
        cross-validation.  ``"cv"``: the best of 10⁻², 10⁻¹, …, 10⁴.  The kernel is divided by its
        mean K(x, x) on the training rows, so that one C suits every number of columns and every k.
    additivity : int, None, "cv" or sequence, default=None
        k, the most columns in a set; None for all sets.  A sequence: the best value in
        cross-validation.  ``"cv"``: the best of 1, 2, 3, 5 and None.
    directions : "auto", mapping or sequence, default="auto"
        +1 if larger values of a column support the larger class, −1 if smaller ones do: one for
        each column, or a mapping from names or positions.  A missing direction is the sign of
        Spearman's rank correlation with the class.  Classes have the order of ``classes_``.
    scaling : {"minmax", "rank"}, default="minmax"
        ``"minmax"`` scales from the smallest to the largest training value.  A degree of ``"rank"``
        is the share of smaller training values; equal ones count half.  Later values outside this
        range are clipped.
    cv : "auto", int or splitter, default="auto"
        The folds; an integer is their number, stratified and shuffled.  ``"auto"`` is 5.  The
        scaling is learned from all training rows.
    enforce_monotone : bool, default=False
        Constrain μ to be monotone, so that f never falls when a degree rises.  Only for an
        ``additivity`` of at most 2.
    random_state : int, RandomState or None, default=0
        Draws the folds, and the pairs of sets for ``monotonicity_degree_``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    pairs_ : list of (class, class)
        The two classes of each set function, the larger one second.
    directions_ : ndarray of shape (n_features,), int64
    C_, additivity_
        The values that were given or chosen.
    cv_results_ : dict of str to ndarray
        ``additivity``, ``C``, ``mean_score``, ``std_score``, ``gap``, ``split0_score``, …; scores
        are accuracies.  Only if something was chosen.
    monotonicity_degree_ : float
        The share of the pairs A ⊂ A ∪ {i} with μ(A) ≤ μ(A ∪ {i}); exact for up to 20 columns,
        otherwise estimated from up to 10,000 random pairs.  Computed at the first access.
    monotonicity_degree_error_ : float
        Its standard error; 0.0 if it is exact.
    shapley_values_ : ndarray of shape (n_features,)
        Σ m(T) / size(T) over the sets that contain a column; their sum is μ of all columns.
    interaction_indices_ : ndarray of shape (n_features, n_features)
        Σ m(T) / (size(T) − 1) over the sets that contain both columns; zero on the diagonal.
    kernel_ : Kernel
        The kernel of degrees.
    svc_ : PairwiseModel
        The solved model; not with ``enforce_monotone``.
    support_ : ndarray of int
    intercept_ : ndarray of shape (pairs,)
        b of every pair, positive for the larger class.
    gap_ : float
        The largest relative duality gap of all pairs of classes.
    n_iter_ : int or ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.

    Notes
    -----
    For more than two classes, the attributes of a pair have one more axis at the front.  A Gram
    matrix costs O(n log n) per pair of rows, or O(n²) for k < n.

    References
    ----------
    Tehrani, Strickert & Hüllermeier (2014), The Choquet kernel for monotone data, ESANN 2014,
    337–342.  Grabisch (1997), k-order additive discrete fuzzy measures and their representation,
    Fuzzy Sets and Systems 92(2):167–189, doi:10.1016/S0165-0114(97)00168-1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3))
    >>> y = np.where(np.minimum(X[:, 0], 1 - X[:, 1]) > 0.4, "good", "bad")
    >>> model = ChoquetSVC(C=100, additivity=2).fit(X, y == "good")
    >>> model.directions_[:2]
    array([ 1, -1])
    >>> model.score(X, y == "good") > 0.95
    True
    >>> int(np.argmax(model.interaction_indices_))  # of columns 0 and 1
    1
    """

    _: KW_ONLY
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    pairs_: list[tuple[Any, Any]] = field(init=False)
    decision_function_shape: ClassVar[Literal["ovr"]] = "ovr"  # type: ignore[misc]

    def fit(self, X: Any, y: npt.ArrayLike) -> Self:
        """Learn directions and scaling, choose C and additivity, and train.

        Parameters
        ----------
        X : table of shape (n_rows, n)
            Finite numbers: an array, a frame or a :class:`formulakern.Table`.
        y : array-like of shape (n_rows,)
            Classes, of any type that has an order.

        Returns
        -------
        ChoquetSVC
            Itself.

        Raises
        ------
        DataError
            If the table or the classes cannot be read.
        ParameterError
            If a parameter is wrong.

        Warns
        -----
        ConvergenceWarning
            If ``enforce_monotone`` leaves a duality gap above ``tol``.
        """
        require_target(self, y)
        self._check_parameters()
        values = self._read(X, reset=True)
        data = TrainingData.of(values, y, self.class_weight)
        self.pairs_ = list(itertools.combinations(data.classes.tolist(), 2))
        codes = data.codes.astype(np.float64)
        return self._fit(values, data.labels, codes, data.weights, 1.0, "accuracy")

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        if not self.enforce_monotone:
            return super()._problem(rows, targets, boxes)
        labels, parts = several_classes(targets, boxes), []
        for first, second in itertools.combinations(labels, 2):
            some = np.flatnonzero((targets == first) | (targets == second))
            sign = np.where(targets[some] == second, 1.0, -1.0)
            losses = Losses(np.arange(len(some)), sign, np.ones(len(some)), boxes[some])
            parts.append((rows.rows.values[some], losses))
        return self._monotone(rows.kernel, parts, labels)

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:
        if self.enforce_monotone:
            self.classes_, models = solved
            self._pair_weights = np.empty((len(models), 0))
            self._take_over_monotone(models, rows.n_columns)
            return
        super()._take_over(solved, solution, rows)
        if len(self.classes_) > 2:  # make it positive for the second class of a pair
            self._pair_weights, self.intercept_ = -self._pair_weights, -self.intercept_
        self._functions = self._row_functions(self._pair_weights)

    def _decided(self, X: Any) -> FloatArray:
        values = super()._decided(X)
        return values if len(self.classes_) == 2 else -values


@parameters_from(ChoquetSVC)
@dataclass(eq=False, repr=False)
class ChoquetRegressor(RegressionMachine, ChoquetEstimator):
    """Support vector regression by a Choquet integral of the attributes.

    The prediction is f(x) = Σ m(T)·min_T x + b over non-empty sets T of at most k columns of
    degrees x_i in [0, 1], as in :class:`ChoquetSVC`.  Errors up to ``epsilon`` cost nothing.

    Parameters
    ----------
    C : "auto", float, "cv" or sequence of float, default="auto"
        Penalty parameter of errors; ``"auto"`` is 10.  A sequence: the best value in
        cross-validation.  ``"cv"``: the best of 10⁻², …, 10⁴ times the standard deviation of y.
    directions : "auto", mapping or sequence, default="auto"
        +1 if y rises with a column, −1 if it falls: one for each column, or a mapping from names or
        positions.  A missing direction is the sign of Spearman's rank correlation with y.
    cv : "auto", int or splitter, default="auto"
        The folds, scored by R²; an integer is their number, shuffled.  ``"auto"`` is 5.  The
        scaling is learned from all training rows.
    epsilon : float, default=0.1
        Errors up to this cost nothing, in the unit of y.

    Attributes
    ----------
    directions_, C_, additivity_, cv_results_, kernel_, support_, intercept_, gap_, n_iter_
        See :class:`ChoquetSVC`.
    monotonicity_degree_, monotonicity_degree_error_, shapley_values_, interaction_indices_
        See :class:`ChoquetSVC`; there is one set function.
    dual_coef_ : ndarray of shape (1, n_support)
        Not with ``enforce_monotone``.
    n_features_in_, feature_names_in_
        See scikit-learn.

    References
    ----------
    Tehrani, Strickert & Hüllermeier (2014), The Choquet kernel for monotone data, ESANN 2014,
    337–342.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3))
    >>> y = 10 * np.minimum(X[:, 0], X[:, 1])
    >>> model = ChoquetRegressor(C=100, additivity=2).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    >>> float(round(model.measure([0, 1]) - model.measure([0]) - model.measure([1]), 1))
    9.4
    """

    C: float | str | Sequence[float] = "auto"
    _: KW_ONLY
    epsilon: float = 0.1
    _automatic_C: ClassVar[float] = 10.0

    def fit(self, X: Any, y: npt.ArrayLike) -> Self:
        """Learn directions and scaling, choose C and additivity, and train.

        Parameters
        ----------
        X : table of shape (n_rows, n)
            Finite numbers: an array, a frame or a :class:`formulakern.Table`.
        y : array-like of shape (n_rows,)

        Returns
        -------
        ChoquetRegressor
            Itself.

        Raises
        ------
        DataError
            If the table or y cannot be read.
        ParameterError
            If a parameter is wrong.

        Warns
        -----
        ConvergenceWarning
            If ``enforce_monotone`` leaves a duality gap above ``tol``.
        """
        require_target(self, y, "a number for every row")
        check_number("epsilon", self.epsilon, 0)
        self._check_parameters()
        values = self._read(X, reset=True)
        target = read_numbers(y, len(values))
        unit = float(target.std()) or 1.0
        return self._fit(values, target, target, np.ones(len(target)), unit, "r2")

    def _splits(self, targets: npt.NDArray[Any], seed: int) -> list[Split]:
        folds = FOLDS if isinstance(self.cv, str) and self.cv == "auto" else self.cv
        if is_integer(folds):
            folds = KFold(int(folds), shuffle=True, random_state=seed)
        with refused("Pass a smaller cv, or more rows."):
            return list(check_cv(folds).split(targets))

    def _problem(self, rows: KernelRows, targets: npt.NDArray[Any], boxes: FloatArray) -> Any:
        if not self.enforce_monotone:
            return super()._problem(rows, targets, boxes)
        n = len(targets)
        every, signs = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
        losses = Losses(every, signs, signs * targets[every] - self.epsilon, boxes[every])
        return self._monotone(rows.kernel, [(rows.rows.values, losses)])

    def _take_over(self, solved: Any, solution: Any, rows: Any) -> None:
        if self.enforce_monotone:
            self.dual_coef_ = np.empty((1, 0))
            self._take_over_monotone(solved[1], rows.n_columns)
            return
        super()._take_over(solved, solution, rows)
        self._functions = self._row_functions(self.dual_coef_)
