"""What a preference learner reports: how the gap closed, and why a row was classified as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulakern.estimators.prl_play import Epoch
from formulakern.rules.ensemble import RuleEnsemble, WeightedRule
from formulakern.rules.extras import data_frame, new_axes

if TYPE_CHECKING:
    import pandas

__all__ = ["Explanation", "History", "accuracy_by_size", "explained", "teller"]


@dataclass(frozen=True, eq=False)
class History:
    """Value and bound of every epoch; a sequence of :class:`Epoch`.

    Parameters
    ----------
    epochs : tuple of Epoch
    """

    epochs: tuple[Epoch, ...]

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __getitem__(self, position: int) -> Epoch:
        return self.epochs[position]

    def to_frame(self) -> pandas.DataFrame:
        """One row per epoch: value, bound, columns, support, seconds (needs pandas)."""
        names = ("value", "bound", "columns", "support", "seconds")
        return data_frame({name: [getattr(e, name) for e in self.epochs] for name in names})

    def plot(self, ax: Any = None) -> Any:
        """Value and bound against epochs: the optimum lies between the two lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """
        ax = new_axes() if ax is None else ax
        number = np.arange(1, len(self.epochs) + 1)
        value = np.array([epoch.value for epoch in self.epochs])
        bound = np.array([epoch.bound for epoch in self.epochs])
        ax.plot(number, value, label="margin secured (value)")
        finite = np.isfinite(bound)
        ax.plot(number[finite], bound[finite], label="best possible (bound)")
        ax.set_xlabel("epoch")
        ax.set_ylabel("margin")
        ax.legend()
        return ax

    def __str__(self) -> str:
        lines = [
            f"{'epoch':>5}  {'value':>11}  {'bound':>11}  {'columns':>7}  {'used':>5}  seconds"
        ]
        for number, e in enumerate(self.epochs, 1):
            lines.append(
                f"{number:>5}  {e.value:>11.6g}  {e.bound:>11.6g}  {e.columns:>7}  "
                f"{e.support:>5}  {e.seconds:>7.2f}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Explanation:
    """The rules that a row satisfies, and what they add up to.

    Parameters
    ----------
    prediction : object
        The class of the largest score.
    scores : dict
        Class → score.
    rules : RuleEnsemble
        Those that the row satisfies, largest contribution first.
    contributions : tuple of float
        What each of them gives to its class and takes from the other one; negative where a
        monomial is.
    """

    prediction: Any
    scores: dict[Any, float]
    rules: RuleEnsemble
    contributions: tuple[float, ...]

    def __str__(self) -> str:
        scores = ", ".join(f"{name}: {score:+.4g}" for name, score in self.scores.items())
        lines = [f"class {self.prediction} ({scores})"]
        for given, item in zip(self.contributions, self.rules, strict=True):
            lines.append(f"{given:+10.4f}  for {item.winner} against {item.loser}:  {item.rule}")
        if not self.contributions:
            lines.append("no rule is satisfied")
        return "\n".join(lines)


def explained(ensemble: RuleEnsemble, values: NDArray[np.float64]) -> Explanation:
    """The explanation of a row on which the rules have these values, shape (rules,)."""
    given = values * np.array([item.weight for item in ensemble.rules])
    order = [r for r in np.argsort(-np.abs(given), kind="stable").tolist() if given[r] != 0]
    scores = values @ ensemble.votes() + np.array(ensemble.intercept)
    fired: tuple[WeightedRule, ...] = tuple(ensemble.rules[r] for r in order)
    return Explanation(
        ensemble.classes[int(scores.argmax())],
        dict(zip(ensemble.classes, scores.tolist(), strict=True)),
        RuleEnsemble(fired, ensemble.classes, ensemble.intercept),
        tuple(given[order].tolist()),
    )


def accuracy_by_size(
    ensemble: RuleEnsemble,
    values: NDArray[Any],
    truth: Sequence[Any] | NDArray[Any],
    most: int,
) -> NDArray[np.float64]:
    """The accuracy of the k rules of largest weight alone, k = 0 … most; shape (most + 1,)."""
    scores = np.tile(np.array(ensemble.intercept), (len(values), 1))
    classes, votes = np.asarray(ensemble.classes), ensemble.votes()
    accuracy = np.empty(most + 1)
    for k in range(most + 1):
        if k:
            scores += np.outer(values[:, k - 1], votes[k - 1])
        accuracy[k] = np.mean(classes[scores.argmax(axis=1)] == np.asarray(truth))
    return accuracy


def teller(verbose: bool) -> Callable[[Epoch], None]:
    """A function that writes a line for every epoch to standard error, or does nothing."""
    number = 0

    def tell(epoch: Epoch) -> None:
        nonlocal number
        number += 1
        if verbose:
            print(
                f"epoch {number}: margin {epoch.value:.6g}, at most {epoch.bound:.6g}; "
                f"{epoch.support} of {epoch.columns} columns used; {epoch.seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )

    return tell
