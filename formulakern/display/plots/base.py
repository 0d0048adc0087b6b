"""What pictures share: a display that remembers its axes, and the values of a fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from formulakern.checks import check_integer
from formulakern.errors import ParameterError
from formulakern.rules.decision import DecisionRules
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules

__all__ = [
    "Display",
    "class_names",
    "conditions_of",
    "fitted",
    "rules_of",
    "shown_number",
    "takes_numbers",
]

#: As many different numbers as this are no classes.
CLASSES = 20


@dataclass(eq=False, repr=False)
class Display(ABC):
    """A picture as a value, drawn by ``plot(ax=None)``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
    """

    ax_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def plot(self, ax: Any = None) -> Self:
        """Draw it, on new axes by default.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        Display
            Itself.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> Any:
        """Draw it; the axes it was drawn on."""


def fitted(model: Any, name: str, expected: str) -> Any:
    """An attribute of a fitted model, or the value itself where it is no model.

    Raises
    ------
    NotFittedError
        If the model was not fitted.
    ParameterError
        If it is fitted and has no such attribute.
    """
    if hasattr(model, name):
        return getattr(model, name)
    if not hasattr(model, "fit"):
        return model
    kind = type(model).__name__
    if not any(key.endswith("_") and not key.startswith("_") for key in vars(model)):
        raise NotFittedError(f"this {kind} is not fitted; call fit(X, y) before it is drawn.")
    advice = " Pass model.rules()." if name == "rules_" and hasattr(model, "rules") else ""
    raise ParameterError(f"{kind} has no {name}; expected {expected}.{advice}")


def rules_of(model: Any) -> Any:
    """The rules of a model, or rules themselves.

    Parameters
    ----------
    model : estimator with ``rules_``, RuleExtraction, RuleEnsemble, RuleList or RuleSet

    Raises
    ------
    NotFittedError
        If the model was not fitted.
    ParameterError
        If there are no rules, or it is something else.
    """
    expected = "a learner of rules that is fitted, a RuleEnsemble, a RuleList or a RuleSet"
    rules = fitted(model, "rules_", expected)
    rules = getattr(rules, "ensemble", rules)
    if not isinstance(rules, (VotingRules, DecisionRules)):
        raise ParameterError(f"this is {type(rules).__name__}; expected {expected}.")
    if not len(rules):
        raise ParameterError("the model has no rules, so there is nothing to draw.")
    return rules


def conditions_of(model: Any) -> Any:
    """The rules of a model that a row satisfies or not: without linear terms and monomials.

    Raises
    ------
    NotFittedError, ParameterError
        As :func:`rules_of`.
    """
    rules = rules_of(model)
    if isinstance(rules, DecisionRules):
        return rules
    kept = [r for r, term in enumerate(rules.rules) if isinstance(term, Rule)]
    if not kept:
        raise ParameterError("all terms of the model are numbers; expected a rule at least.")
    return rules.take(kept)


def shown_number(name: str, number: Any, available: int) -> int:
    """How many of so many are drawn; all where None is asked.

    Raises
    ------
    ParameterError
        If it is no positive integer.
    """
    if number is None:
        return available
    check_integer(name, number)
    return min(int(number), available)


def class_names(y: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The classes in order, and the place of each row's.

    >>> class_names(np.array(["b", "a", "b"]))
    (['a', 'b'], array([1, 0, 1]))
    """
    try:
        names, places = np.unique(y, return_inverse=True)
    except TypeError:
        names, places = np.unique([str(value) for value in y], return_inverse=True)
    return names.tolist(), places


def takes_numbers(y: NDArray[Any]) -> bool:
    """Whether targets are numbers rather than classes.

    >>> takes_numbers(np.array([1.5, 2.0])), takes_numbers(np.array([0, 1, 1]))
    (True, False)
    """
    if y.dtype.kind not in "iuf":
        return False
    whole = y.dtype.kind != "f" or bool(np.all(y == np.round(y)))
    return not whole or len(np.unique(y)) > CLASSES
