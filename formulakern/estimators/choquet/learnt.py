"""What a fitted Choquet estimator tells of its set functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.checks import check_choice
from formulakern.display.plots.matrices import draw_importance
from formulakern.estimators.choquet.scaling import column_position
from formulakern.estimators.choquet.set_function import SetFunction, monotonicity_degree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LAZY", "LearntFunctions"]

#: What is computed when it is first asked for, and forgotten by the next fit.
LAZY = ("_degrees_of_monotonicity", "shapley_values_", "interaction_indices_")


class LearntFunctions:
    """The Möbius transform m, the set function μ, and what follows from them."""

    n_features_in_: int
    _seed: int

    @property
    def _functions(self) -> tuple[SetFunction, ...]:
        """One set function, or one for each pair of classes."""
        raise NotImplementedError

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
        found = [what(function) for function in self._functions]
        return found[0] if len(found) == 1 else np.array(found)

    def _columns(self, subset: Any) -> list[int]:
        listed = [subset] if isinstance(subset, (str, int, np.integer)) else list(subset)
        names = getattr(self, "feature_names_in_", None)
        return sorted({column_position(c, self.n_features_in_, names) for c in listed})
