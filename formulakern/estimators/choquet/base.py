"""What the Choquet estimators share: degrees, choosing, the set function and its export."""

from __future__ import annotations

import itertools
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from formulakern.arrays import FloatArray
from formulakern.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    is_integer,
    is_number,
)
from formulakern.deadline import UNLIMITED
from formulakern.display.plots.matrices import draw_importance
from formulakern.encoding.degrees import Degrees, DegreeScale, learn_degrees
from formulakern.encoding.real import RealTable, read_real
from formulakern.errors import (
    DataError,
    DataTypeError,
    FormulaSizeError,
    MagnitudeError,
    ParameterError,
)
from formulakern.estimators.choquet.monotone import Losses, MonotoneModel, MonotoneProblem
from formulakern.estimators.choquet.set_function import (
    RowFunction,
    SetFunction,
    monotonicity_degree,
)
from formulakern.estimators.svm.base import KernelMachine
from formulakern.estimators.svm.cross_validation import FOLDS, search_penalties
from formulakern.estimators.targets import Split, random_source
from formulakern.files.model_file import save
from formulakern.kernels.algebra import Kernel, ScaledKernel
from formulakern.kernels.choquet import ChoquetKernel, choquet
from formulakern.partitions.collections import in_memory
from formulakern.partitions.lazy_rows import needs_rows
from formulakern.rules.export.json import plain
from formulakern.rules.python.files import PythonFile
from formulakern.tables.column import did_you_mean
from formulakern.tables.read import as_frame, default_names
from formulakern.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AttributeScaling", "ChoquetEstimator"]

SCALINGS = ("minmax", "rank")
#: A set function of more columns has too many values to be written down.
MOST_COLUMNS = 14
#: What is computed on demand, and what only some fits learn; the next fit forgets both.
LAZY = ("_degrees_of_monotonicity", "shapley_values_", "interaction_indices_")
FORGOTTEN = ("cv_results_", "svc_", "dual_coef_", "_pair_weights", "_support_rows")
#: The share of the progress of a fit at which settings are chosen.
LAST = 0.8
#: What "cv" chooses from: C, and the additivity (those below n; None is all sets).
PENALTIES = tuple(10.0**e for e in range(-2, 5))
ADDITIVITIES = (1, 2, 3, 5)
ADVICE = "Pass a table of finite numbers; code ordered categories as numbers first."


@dataclass(frozen=True, eq=False)
class AttributeScaling:
    """How the values of each attribute become degrees.

    Parameters
    ----------
    columns : tuple of n Degrees, or None for a constant column
    directions : ndarray of shape (n,), int64
        +1 where degrees grow with the values, −1 where they fall.
    """

    columns: tuple[Degrees | None, ...]
    directions: npt.NDArray[np.int64]

    def degrees(self, values: FloatArray) -> FloatArray:
        """Degrees in [0, 1]; what is outside the training range is clipped, constant columns are 0.

        Examples
        --------
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
    """The scaling of training rows.

    Parameters
    ----------
    values : ndarray of shape (rows, n)
    target : ndarray of shape (rows,)
        What degrees shall grow with, for directions that are to be learnt: by the sign of
        Spearman's rank correlation, +1 where that is zero.
    directions : "auto", mapping of columns to +1 or −1, or sequence of n of them
    scaling : {"minmax", "rank"}
    names : sequence of str or None

    Raises
    ------
    ParameterError
        If the directions are wrong.
    """
    ranks, wanted = rankdata(values, axis=0), rankdata(target)
    covariance = (wanted - wanted.mean()) @ (ranks - ranks.mean(axis=0))
    found = np.where(covariance < -1e-9 * len(ranks), -1, 1)
    for column, sign in _given(directions, values.shape[1]):
        if not is_number(sign) or sign not in (1, -1):
            raise ParameterError(
                f"the direction of column {column!r} is {sign!r}; expected +1 where larger values "
                "speak for the larger class or number, -1 where smaller ones do."
            )
        found[column_position(column, values.shape[1], names)] = int(sign)
    kind: DegreeScale = "rank" if scaling == "rank" else "linear"
    columns = tuple(learn_degrees(column, kind) for column in values.T)
    return AttributeScaling(columns, found.astype(np.int64))


def _given(directions: Any, n: int) -> Iterable[tuple[Any, Any]]:
    """The columns whose directions are given, and these."""
    if isinstance(directions, str) and directions == "auto":
        return ()
    if isinstance(directions, Mapping):
        return directions.items()
    wrong = isinstance(directions, (str, bytes)) or not isinstance(directions, Iterable)
    signs = [] if wrong else np.asarray(directions, dtype=object).ravel().tolist()
    if len(signs) != n:
        raise ParameterError(
            f"directions={directions!r}; expected 'auto', one of +1 and -1 for each of the {n} "
            "columns, or a mapping from some columns, by name or position, to these."
        )
    return enumerate(signs)


def column_position(column: Any, n: int, names: Any) -> int:
    """The position of a column that is given by name or position.

    Raises
    ------
    ParameterError
        If there is none.

    Examples
    --------
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


def choquet_python(
    names: Sequence[str],
    scaling: AttributeScaling,
    functions: Sequence[SetFunction],
    intercepts: Sequence[float],
    classes: Sequence[Any] | None,
) -> str:
    """Return what ``to_python`` of the estimators documents; ``classes`` is None for numbers."""
    n = len(names)
    if n > MOST_COLUMNS:
        raise FormulaSizeError(
            f"a set function of {n} columns has {2**n:,} values; at most {MOST_COLUMNS} columns "
            "are written as Python. Use save() and formulakern.load."
        )
    file = PythonFile()
    sets = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
    measures = [function.measures(sets).tolist() for function in functions]
    shown = "".join(f"    {measure!r},\n" for measure in measures)
    file.constants += [f"MEASURES = [\n{shown}]", f"INTERCEPTS = {list(map(float, intercepts))!r}"]
    reads = list(zip(names, scaling.columns, scaling.directions.tolist(), strict=True))
    degrees = [_degree(file, j, *parts) for j, parts in enumerate(reads)]
    lines = ["degrees = [", *(f"    {degree}," for degree in degrees), "]"]
    total = "[choquet_integral(degrees, m) + b for m, b in zip(MEASURES, INTERCEPTS, strict=True)]"
    file.functions.append("choquet_integral")
    if classes is None:
        lines.append(f"return {total}[0]")
        file.define("predict", "The number that is predicted.", "float", lines, reads=True)
        file.define("score", "The same.", "float", ["return predict(row, missing)"])
        return file.text()
    file.functions.append("winner")
    file.constants.append(f"CLASSES = {[plain(label) for label in classes]!r}")
    best = "return CLASSES[winner(score(row, missing), len(CLASSES))]"
    file.define("predict", "The class of a row.", "Any", [best])
    about = "Of every pair of CLASSES the score, which is positive for the second."
    file.define("score", about, "list[float]", [*lines, f"return {total}"], reads=True)
    return file.text()


def _degree(file: PythonFile, j: int, name: str, column: Degrees | None, direction: int) -> str:
    """An entry as a degree."""
    found = file.conditions.read("factor", name)
    if column is None:  # of a column that was constant
        return "0.0"
    if column.scale == "rank":
        file.constants.append(f"KNOWN_{j} = {list(column.values)!r}")
        file.functions.append("rank_degree")
        text = f"rank_degree({found}, KNOWN_{j})"
    else:
        file.functions.append("linear_degree")
        text = f"linear_degree({found}, {column.values[0]!r}, {column.values[1]!r})"
    return text if direction > 0 else f"1.0 - {text}"


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
    kernel_: Kernel = field(init=False)
    scaling_: AttributeScaling = field(init=False)
    directions_: npt.NDArray[np.int64] = field(init=False)
    C_: float = field(init=False)
    additivity_: int | None = field(init=False)
    cv_results_: dict[str, npt.NDArray[Any]] = field(init=False)
    n_features_in_: int = field(init=False)
    #: One set function, or one for each pair of classes.
    _functions: tuple[SetFunction, ...] = field(init=False)
    _automatic_C: ClassVar[float] = 1.0

    save = save

    # -- training -------------------------------------------------------------------------------

    def _fit(
        self,
        values: FloatArray,
        targets: npt.NDArray[Any],
        ranked: FloatArray,
        weights: FloatArray,
        unit: float,
        scoring: str,
    ) -> None:
        """Scale, choose, train.

        ``ranked`` are numbers in the order of the targets; C is chosen from multiples of ``unit``.
        """
        additivities, penalties = self._additivities(values.shape[1]), self._penalties(unit)
        for name in (*LAZY, *FORGOTTEN):
            self.__dict__.pop(name, None)
        names = getattr(self, "feature_names_in_", None)
        self.scaling_ = learn_scaling(values, ranked, self.directions, self.scaling, names)
        self.directions_ = self.scaling_.directions
        rows = RealTable(None, self.scaling_.degrees(values))
        self._seed = int(random_source(self.random_state).randint(2**31 - 1))
        with self._showing() as bar, self._in_range(values.shape[1]):
            kernels, best = [self._kernel(rows, k) for k in additivities], 0
            if len(additivities) * len(penalties) > 1:
                pairs = list(itertools.product(additivities, penalties))
                best, self.cv_results_ = search_penalties(
                    self,
                    kernels,
                    {"additivity": [k for k, _ in pairs], "C": [C for _, C in pairs]},
                    (rows, targets, weights),
                    self._splits(targets),
                    scoring,
                    self._limits(),
                    UNLIMITED,
                )
            k, c = divmod(best, len(penalties))
            self.kernel_, self.additivity_, self.C_ = kernels[k], additivities[k], penalties[c]
            bar.at(LAST, f"C {self.C_:.3g}, all rows")
            self._train(rows, targets, self.C_ * weights, stacklevel=5)
            bar.end(f"C {self.C_:.3g}, additivity {self.additivity_}")

    @abstractmethod
    def _splits(self, targets: npt.NDArray[Any]) -> list[Split]:
        """Return the folds of the cross-validation."""

    @property
    def _n_folds(self) -> Any:
        return FOLDS if isinstance(self.cv, str) and self.cv == "auto" else self.cv

    def _kernel(self, rows: RealTable, k: int | None) -> Kernel:
        """Return the kernel whose mean square length of training rows is 1."""
        kernel = choquet(k, scale="probability")
        mean = float(kernel.diagonal(rows).mean())
        return ScaledKernel(1.0 / mean if mean > 0 else 1.0, kernel)

    @contextmanager
    def _in_range(self, n: int) -> Iterator[None]:
        try:
            yield
        except MagnitudeError:
            raise MagnitudeError(
                f"rows of {n:,} columns have so little in common that the kernel is below "
                "2.2e-308, the end of float64. Choose a small additivity, such as 2."
            ) from None

    def _monotone(
        self, kernel: Any, parts: Sequence[tuple[FloatArray, Losses]], labels: Any = None
    ) -> MonotoneProblem:
        """Return the problem of degrees and losses, one for each pair of classes."""
        n = parts[0][0].shape[1]
        k = min(kernel.kernel.additivity or n, 2)
        return MonotoneProblem(parts, k, kernel.weight / kernel.kernel.dimension(n), labels)

    def _take_over_monotone(self, models: Sequence[MonotoneModel]) -> None:
        self._functions = tuple(model.function for model in models)
        self.intercept_ = np.array([model.intercept for model in models])
        self.gap_ = max(model.gap for model in models)
        self.n_iter_ = max(model.rounds for model in models)
        self.stopped_ = "optimal" if self.gap_ <= self.tol else "stalled"
        self.support_ = np.empty(0, dtype=np.intp)

    def _row_functions(self, coefficients: FloatArray) -> tuple[SetFunction, ...]:
        """Return the set functions of support vectors with some sets of coefficients."""
        kernel, rows = self.kernel_, self._support_rows.values
        assert isinstance(kernel, ScaledKernel)
        k = cast(ChoquetKernel, kernel.kernel).additivity or rows.shape[1]
        return tuple(RowFunction(rows, beta * kernel.weight, k) for beta in coefficients)

    def _values(self, rows: Any, weights: FloatArray) -> FloatArray:
        if not self.enforce_monotone:
            return super()._values(rows, weights)
        functions: Any = self._functions  # of pairs
        return np.column_stack([function.integrals(rows.values) for function in functions])

    # -- what is learned --------------------------------------------------------------------------

    def moebius(self, subset: Any) -> Any:
        """m(T), the weight of min_T of the degrees in the decision.

        Parameters
        ----------
        subset : str, int or sequence of these
            Columns, by name or position.

        Returns
        -------
        float
            For several classes an ndarray with one for each of ``pairs_``.
        """
        return self._of_each(lambda f: f.moebius(self._columns(subset)))

    def measure(self, subset: Any) -> Any:
        """μ(A) = Σ m(T) over T ⊆ A: the score, less the intercept, where A are 1 and the others 0.

        Parameters
        ----------
        subset : str, int or sequence of these
            Columns, by name or position.

        Returns
        -------
        float
            For several classes an ndarray with one for each of ``pairs_``.
        """
        return self._of_each(lambda f: f.measure(self._columns(subset)))

    @property
    def monotonicity_degree_(self) -> Any:
        """The share of pairs A ⊂ A ∪ {i} with μ(A) ≤ μ(A ∪ {i})."""
        return self._degrees_of_monotonicity[0]

    @property
    def monotonicity_degree_error_(self) -> Any:
        """Its standard error; 0.0 where all pairs were counted."""
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
        """Shapley values on the diagonal of a matrix, interaction indices beside it.

        Red speaks for the larger class or number, blue for the smaller; two columns of positive
        interaction complement each other, of negative interaction replace each other.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        pair : int
            Which of ``pairs_``, for several classes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        single = len(self._functions) == 1
        check_choice("pair", pair, range(len(self._functions)))
        shapley = self.shapley_values_ if single else self.shapley_values_[pair]
        interactions = self.interaction_indices_ if single else self.interaction_indices_[pair]
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
        check_choice("scaling", self.scaling, SCALINGS)
        check_flag("enforce_monotone", self.enforce_monotone)
        self._limits()

    def _penalties(self, unit: float) -> list[float]:
        automatic = isinstance(self.C, str) and self.C == "auto"
        given = self._automatic_C if automatic else self.C
        listed = self._listed("C", given, [C * unit for C in PENALTIES])
        for C in listed:
            check_number(
                "C", C, 0, above=True, otherwise="'auto', 'cv', or a sequence of such numbers"
            )
        return sorted(map(float, listed))

    def _additivities(self, n: int) -> list[int | None]:
        some: list[int | None] = [k for k in ADDITIVITIES if k < n]
        listed = self._listed("additivity", self.additivity, [*some, None])
        if self.enforce_monotone and self.additivity == "cv":
            listed = [1, 2][:n]
        for k in listed:
            check_integer("additivity", k, 1, "None for all sets, 'cv', or a sequence of these")
            if k is not None and k > n:
                raise ParameterError(
                    f"additivity={k}; expected at most the number of columns, {n}, or None for all "
                    "sets of columns."
                )
            if self.enforce_monotone and (n if k is None else k) > 2:
                raise ParameterError(
                    f"enforce_monotone=True with additivity={k}; a monotone set function is learnt "
                    "for sets of at most two columns. Pass additivity=1, 2 or 'cv'."
                )
        return sorted(listed, key=lambda k: n if k is None else k)

    @staticmethod
    def _listed(name: str, given: Any, candidates: list[Any]) -> list[Any]:
        """The candidates for "cv", else what is given as a list."""
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
        """A file of Python with a function that gives one row what :meth:`predict` says.

        It defines ``predict(row, missing=())``, as :meth:`formulakern.RuleEnsemble.to_python`
        describes it, and ``score(row, missing=())``: the number, or of every pair of classes the
        Choquet integral plus intercept.

        Raises
        ------
        FormulaSizeError
            If there are more than 14 columns, whose set function has 2ⁿ values.

        Notes
        -----
        The integral is summed over the sorted degrees, and here over support vectors: scores agree
        up to rounding, a share of 1e-9 or so.  Where the model's own score is that near to 0, the
        class may be the other one of the pair.
        """
        check_is_fitted(self, "scaling_")
        classes = getattr(self, "classes_", None)
        names = getattr(self, "feature_names_in_", default_names(self.n_features_in_))
        return choquet_python(
            list(map(str, names)),
            self.scaling_,
            self._functions,
            self.intercept_.tolist(),
            None if classes is None else classes.tolist(),
        )

    # -- tables ---------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        """The table as numbers, checked against that of training."""
        names = None
        as_frame(X)  # raises DataError if two columns have one name
        if isinstance(X, (Table, Mapping)):
            table = read_real(X)
            X, names = table.values, table.names
        try:
            with warnings.catch_warnings():
                if names is not None:  # they are compared below
                    warnings.filterwarnings("ignore", message="X does not have valid feature names")
                least = int(needs_rows())
                values = validate_data(
                    self, in_memory(X), dtype=np.float64, reset=reset, ensure_min_samples=least
                )
        except (OverflowError, TypeError, ValueError) as error:
            kind = DataTypeError if isinstance(error, TypeError) else DataError
            raise kind(f"{error}\n{ADVICE}") from None
        if names is not None:
            known = getattr(self, "feature_names_in_", None)
            if reset:
                self.feature_names_in_ = np.array(names, dtype=object)
            elif known is not None and tuple(known) != names:
                raise DataError(
                    f"the columns are {', '.join(names)}, and were {', '.join(known)} in training. "
                    "Pass the same columns in the same order."
                )
        return np.asarray(values)

    def _read_table(self, X: Any) -> RealTable:
        return X if isinstance(X, RealTable) else RealTable(None, self.degrees(X))

    def degrees(self, X: Any) -> FloatArray:
        """The attributes as the kernel reads them, between 0 and 1.

        Parameters
        ----------
        X : table of shape (n_rows, n)

        Returns
        -------
        ndarray of shape (n_rows, n), float64
        """
        check_is_fitted(self, "scaling_")
        return self.scaling_.degrees(self._read(X, reset=False))
