"""What the Choquet estimators share: degrees, kernels, choosing, the learnt set function."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice, check_flag, check_integer, check_number
from formulakern.encoding.real import RealTable, read_real
from formulakern.errors import DataError, DataTypeError, MagnitudeError, ParameterError
from formulakern.estimators.choquet.exported import choquet_python
from formulakern.estimators.choquet.learnt import LAZY, LearntFunctions
from formulakern.estimators.choquet.monotone import pair_features
from formulakern.estimators.choquet.scaling import (
    SCALINGS,
    AttributeScaling,
    learn_scaling,
)
from formulakern.estimators.choquet.set_function import (
    PairFunction,
    RowFunction,
    SetFunction,
)
from formulakern.estimators.reporting.report import Reported
from formulakern.estimators.showing import Showing
from formulakern.estimators.svm.prediction import grams_with_training
from formulakern.estimators.targets import Split, random_source, refused
from formulakern.files.model_file import Saved
from formulakern.kernels.algebra import Kernel
from formulakern.kernels.choquet import choquet
from formulakern.partitions.collections import in_memory
from formulakern.partitions.lazy_rows import needs_rows
from formulakern.tables.read import as_frame, default_names
from formulakern.tables.table import Table

__all__ = ["ChoquetEstimator", "Problem", "Solution"]

#: The share of a fit after which settings are chosen.
LAST = 0.8
#: What "cv" chooses from: C, and the additivity (those below n; None is all sets).
PENALTIES = tuple(10.0**e for e in range(-2, 5))
ADDITIVITIES = (1, 2, 3, 5)

ADVICE = "Pass a table of finite numbers; code ordered categories as numbers first."


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows with a kernel.

    Parameters
    ----------
    degrees : ndarray of shape (rows, n)
    kernel : Kernel
        Of degrees: ``weight`` times the Choquet kernel divided by its number of sets.
    gram : ndarray of shape (rows, rows), or None where constraints make it useless
    additivity : int
    weight : float
    """

    degrees: FloatArray
    kernel: Kernel
    gram: FloatArray | None
    additivity: int
    weight: float

    @property
    def squared_feature(self) -> float:
        """What the square of every feature is multiplied by in the kernel."""
        return self.weight / self.kernel.dimension(self.degrees.shape[1])

    def of(self, rows: npt.NDArray[np.intp]) -> Problem:
        """With these training rows only."""
        gram = None if self.gram is None else self.gram[np.ix_(rows, rows)]
        return Problem(self.degrees[rows], self.kernel, gram, self.additivity, self.weight)


@dataclass(frozen=True, eq=False)
class Solution:
    """What was learnt: a set function and an intercept for every pair of classes (or just one).

    Parameters
    ----------
    model : SVC or SVR, or None where there are constraints
    functions : tuple of SetFunction
    intercepts : ndarray of shape (functions,)
    gap : float
        The duality gap relative to the objective, at most ``tol`` as for the solver.
    n_iter : int
    """

    model: Any
    functions: tuple[SetFunction, ...]
    intercepts: FloatArray
    gap: float
    n_iter: Any

    def scores(self, degrees: FloatArray) -> FloatArray:
        """Choquet integrals plus intercepts, of 2-additive functions: (rows, functions)."""
        columns = []
        for function, intercept in zip(self.functions, self.intercepts, strict=True):
            assert isinstance(function, PairFunction)
            i, j = np.triu_indices(function.n, 1)
            m = np.append(function.single, function.pairs[i, j])
            columns.append(pair_features(degrees, 2) @ m + intercept)
        return np.column_stack(columns)


@dataclass(eq=False, repr=False)
class ChoquetEstimator(Reported, LearntFunctions, Showing, Saved, BaseEstimator):  # type: ignore[misc]
    """The base of :class:`ChoquetSVC` and :class:`ChoquetRegressor`."""

    C: float | str | Sequence[float] = 1.0
    additivity: int | str | Sequence[int | None] | None = None
    directions: Any = "auto"
    _: KW_ONLY
    scaling: Literal["minmax", "rank"] = "minmax"
    cv: Any = 5
    enforce_monotone: bool = False
    tol: float = 1e-3
    max_iter: int = -1
    random_state: int | np.random.RandomState | None = 0
    verbose: bool = False
    kernel_: Kernel = field(init=False)
    scaling_: AttributeScaling = field(init=False)
    directions_: npt.NDArray[np.int64] = field(init=False)
    C_: float = field(init=False)
    additivity_: int | None = field(init=False)
    cv_results_: dict[str, npt.NDArray[Any]] = field(init=False)
    gap_: float = field(init=False)
    n_features_in_: int = field(init=False)
    support_: npt.NDArray[np.intp] = field(init=False)
    _solution: Solution = field(init=False)
    #: Where the model of scikit-learn stands.
    _solver: ClassVar[str]

    @abstractmethod
    def _solve(self, problem: Problem, target: npt.NDArray[Any], C: float) -> Solution:
        """Train on all rows of a problem."""

    @abstractmethod
    def _predicted(
        self, solution: Solution, degrees: FloatArray, gram: FloatArray | None
    ) -> npt.NDArray[Any]:
        """Predictions, from the kernel with the training rows or from 2-additive functions."""

    @abstractmethod
    def _score(self, truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float:
        """What cross-validation maximises."""

    @property
    def _functions(self) -> tuple[SetFunction, ...]:
        check_is_fitted(self, "scaling_")
        return self._solution.functions

    # -- training -------------------------------------------------------------------------------

    def _fit(
        self,
        values: FloatArray,
        target: npt.NDArray[Any],
        ranked: FloatArray,
        unit: float,
        folds: Callable[[int], list[Split]],
    ) -> None:
        """Scale, choose, train.

        Parameters
        ----------
        values : ndarray of shape (rows, n)
        target : ndarray of shape (rows,)
        ranked : ndarray of shape (rows,)
            Numbers in the order of the target.
        unit : float
            What the values of C to choose from are multiplied by.
        folds : callable
            From a seed to the splits of the cross-validation.
        """
        n = values.shape[1]
        self._check_parameters()
        additivities = self._additivities(n)
        penalties = self._penalties(unit)
        for name in (*LAZY, "cv_results_", "gap_", "support_", self._solver):
            self.__dict__.pop(name, None)
        names = getattr(self, "feature_names_in_", None)
        self.scaling_ = learn_scaling(values, ranked, self.directions, self.scaling, names)
        self.directions_ = self.scaling_.directions
        degrees = self.scaling_.degrees(values)
        self._seed = int(random_source(self.random_state).randint(2**31 - 1))
        best: tuple[Any, ...] = (None, additivities[0], penalties[0])
        if len(additivities) * len(penalties) > 1:
            with refused("Pass a smaller cv, or more rows."):
                made = folds(self._seed)
            best = self._chosen(degrees, target, additivities, penalties, made)
        _, self.additivity_, self.C_ = best
        self._bar.at(LAST, f"C {self.C_:.3g}, all rows")
        problem = self._problem(degrees, self.additivity_)
        self.kernel_ = problem.kernel
        self._solution = self._solve(problem, target, self.C_)
        self.intercept_ = self._solution.intercepts
        self.n_iter_ = self._solution.n_iter
        if self._solution.model is not None:
            setattr(self, self._solver, self._solution.model)
            self.support_ = self._solution.model.support_
            return
        self.gap_ = self._solution.gap
        if self.gap_ > self.tol:
            warnings.warn(
                f"the relative duality gap is {self.gap_:.2g}, above tol={self.tol:g}. Choose a "
                "smaller C.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _chosen(
        self,
        degrees: FloatArray,
        target: npt.NDArray[Any],
        additivities: Sequence[int | None],
        penalties: Sequence[float],
        folds: list[Split],
    ) -> tuple[float, int | None, float]:
        """The best mean score, of equals with the fewest sets and the smallest C."""
        pairs = [(k, C) for k in additivities for C in penalties]
        scores = np.empty((len(pairs), len(folds)))
        for start, k in enumerate(additivities):
            problem = self._problem(degrees, k)
            for number, (train, test) in enumerate(folds):
                part = problem.of(train)
                across = None if problem.gram is None else problem.gram[np.ix_(test, train)]
                for place, C in enumerate(penalties):
                    done = (start * len(folds) + number) * len(penalties) + place
                    what = f"C {C:.3g}, fold {number + 1} of {len(folds)}"
                    self._bar.at(LAST * done / scores.size, what)
                    with refused("Pass a smaller cv, or more rows of each class."):
                        solution = self._solve(part, target[train], C)
                    found = self._predicted(solution, degrees[test], across)
                    scores[start * len(penalties) + place, number] = self._score(
                        target[test], found
                    )
        mean = scores.mean(axis=1)
        best = int(np.flatnonzero(mean >= mean.max() - 1e-12)[0])
        self.cv_results_ = {
            "additivity": np.array([k for k, _ in pairs], dtype=object),
            "C": np.array([C for _, C in pairs]),
            "mean_score": mean,
            "std_score": scores.std(axis=1),
            **{f"split{i}_score": scores[:, i] for i in range(len(folds))},
        }
        said = f"additivity={pairs[best][0]}, C={pairs[best][1]:g}: mean score {mean[best]:.4f}"
        self._bar.at(LAST, "all rows", line=said)
        return float(mean[best]), *pairs[best]

    def _problem(self, degrees: FloatArray, k: int | None) -> Problem:
        """The kernel whose mean square length of training rows is 1, and its matrix."""
        kernel = choquet(k, scale="probability")
        try:
            mean = float(kernel.diagonal(degrees).mean())
            weight = 1.0 / mean if mean > 0 else 1.0
            gram = None if self.enforce_monotone else (weight * kernel)(degrees)
        except MagnitudeError:
            raise MagnitudeError(
                f"rows of {degrees.shape[1]:,} columns have so little in common that {kernel!r} is "
                "below 2.2e-308, the end of float64. Choose a small additivity, such as 2."
            ) from None
        return Problem(degrees, weight * kernel, gram, k or degrees.shape[1], weight)

    # -- parameters -----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choice("scaling", self.scaling, SCALINGS)
        check_flag("enforce_monotone", self.enforce_monotone)
        check_number("tol", self.tol, 0, above=True)
        check_integer("max_iter", self.max_iter, -1)

    def _penalties(self, unit: float) -> list[float]:
        listed = self._listed("C", self.C, [C * unit for C in PENALTIES])
        for C in listed:
            check_number("C", C, 0, above=True, otherwise="'cv', or a sequence of such numbers")
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
        functions = self._functions
        classes = getattr(self, "classes_", None)
        names = getattr(self, "feature_names_in_", default_names(self.n_features_in_))
        return choquet_python(
            list(map(str, names)),
            self.scaling_,
            functions,
            self._solution.intercepts.tolist(),
            None if classes is None else classes.tolist(),
            self.enforce_monotone,
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

    def _grams(self, degrees: FloatArray) -> Iterable[FloatArray]:
        """K between rows and the training rows, some rows at a time; only support vectors count."""
        model, function = self._solution.model, self._solution.functions[0]
        assert isinstance(function, RowFunction)
        rows, support = RealTable(None, degrees), RealTable(None, function.rows)
        return grams_with_training(model, self.kernel_, rows, support)

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
