"""Ordered classes as preferences: one score, and thresholds that are columns of the game.

Of K classes in order let row i be above threshold k, 1 ≤ k < K, where its class is higher than the
k-th, z_ik = 1, else z_ik = −1.  Preference (i, k) asks that the score lies on its side,

    z_ik (s(x_i) − θ_k) ≥ margin,    θ_k = −b + Σ_{1 < j ≤ k} δ_j,    δ_j ≥ 0,

which is the game of two classes, *above* against *below*, on rows (i, k): a rule has the same value
for all k, b is the feature that is always true, and δ_j a :class:`Step`, which is 1 where k ≥ j and
may only speak for *below*.  So thresholds are in order by construction, and cost what they span.

Reduction to two classes: L. Li, H.-T. Lin, "Ordinal regression by extended binary classification",
NIPS 19, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulakern.arrays import FloatArray
from formulakern.deadline import UNLIMITED, Deadline
from formulakern.learning.prl.features import Drawn, FeatureFamily, Priced
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.restricted_game import Column, RestrictedGame

__all__ = ["ABOVE", "OrderedFeatures", "Step", "ordered_preferences"]

BELOW, ABOVE = 0, 1


@dataclass(frozen=True)
class Step:
    """1 for the thresholds from number ``first`` on, which is 2 at least."""

    first: int


def ordered_preferences(
    codes: NDArray[np.intp], n_classes: int, weights: FloatArray
) -> Preferences:
    """Whether rows are above each threshold; row (i, k) has the number i (K − 1) + k − 1.

    Parameters
    ----------
    codes : intp (m,)
        The class of each row, 0 to K − 1; in order.
    n_classes : int
        K.
    weights : float64 (m,)
        Rows of weight 0 are left out.

    Examples
    --------
    >>> wishes = ordered_preferences(np.array([0, 1, 2]), 3, np.ones(3))
    >>> wishes.winners.reshape(3, 2)  # 1 is above
    array([[0, 0],
           [1, 0],
           [1, 1]])
    """
    above = (codes[:, None] > np.arange(n_classes - 1)).astype(np.intp).ravel()
    return Preferences.of_classes(above, 2, np.repeat(weights, n_classes - 1))


@dataclass(eq=False)
class OrderedFeatures(FeatureFamily):
    """The features of a family on rows (i, k), and a :class:`Step` for every threshold above one.

    Parameters
    ----------
    family : FeatureFamily
        Of two classes, on the m rows.
    n_thresholds : int
        K − 1.
    """

    family: FeatureFamily
    n_thresholds: int
    bias: bool = field(init=False)

    def __post_init__(self) -> None:
        self.table, self.bias = self.family.table, self.family.bias
        self.always = self.family.always

    def price(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline = UNLIMITED
    ) -> Priced:
        """Those of the family, and the steps that pay more than the threshold."""
        n = self.n_thresholds
        of_rows = weights.reshape(-1, n, 2).sum(axis=1)
        priced = self.family.price(of_rows, threshold, top, deadline)
        steps = {c: pays for c, pays in self._steps(weights).items() if pays > threshold}
        best = max([priced.best, *(pays + 1e-12 for pays in steps.values())])
        return Priced([*steps, *priced.columns], best, priced.proven)

    def first(
        self, weights: FloatArray, threshold: float, top: int, deadline: Deadline
    ) -> list[Column]:
        """Those of the family, and the steps that pay."""
        of_rows = weights.reshape(-1, self.n_thresholds, 2).sum(axis=1)
        steps = [column for column, pays in self._steps(weights).items() if pays > threshold]
        return [*steps, *self.family.first(of_rows, threshold, top, deadline)]

    def _steps(self, weights: FloatArray) -> dict[Column, float]:
        """The columns of the steps, and what they pay."""
        below, above = weights.reshape(-1, self.n_thresholds, 2).sum(axis=0).T
        pays = np.cumsum((below - above)[::-1])[::-1].tolist()
        steps: list[Any] = [Step(j) for j in range(2, self.n_thresholds + 1)]
        return {Column(step, BELOW, ABOVE): pays[step.first - 1] for step in steps}

    def best_free(self, weights: FloatArray) -> tuple[Column, float] | None:
        """The bias of the family, or a step."""
        free = [*self._steps(weights).items()]
        bias = self.family.best_free(weights)
        return max([*free, *([bias] if bias else [])], key=lambda pair: pair[1], default=None)

    def free(self, column: Column) -> bool:
        """Whether the column is part of a threshold."""
        return isinstance(column.feature, Step) or self.family.free(column)

    def admits(self, feature: Any) -> bool:
        """Whether it is a step, or a feature of the family."""
        return isinstance(feature, Step) or self.family.admits(feature)

    def scale(self, feature: Any) -> float:
        """As in the family; 1 for a step."""
        return 1.0 if isinstance(feature, Step) else self.family.scale(feature)

    @property
    def n_rows(self) -> int:
        """The number of rows (i, k)."""
        return self.family.n_rows * self.n_thresholds

    @property
    def full(self) -> bool:  # type: ignore[override]
        """As of the family."""
        return self.family.full

    @property
    def crowded(self) -> bool:
        """As of the family."""
        return self.family.crowded

    def prepare(
        self, game: RestrictedGame, features: Sequence[Any], deadline: Deadline = UNLIMITED
    ) -> None:
        """As the family does, for those that are no steps."""
        self.family.prepare(game, [f for f in features if not isinstance(f, Step)], deadline)

    def settle(self, game: RestrictedGame, p: FloatArray) -> FloatArray:
        """As the family does."""
        return self.family.settle(game, p)

    def knows(self, feature: Any) -> bool:
        """As the family does; steps are known."""
        return isinstance(feature, Step) or self.family.knows(feature)

    def values(self, feature: Any) -> NDArray[Any]:
        """The feature on the rows (i, k)."""
        n = self.n_thresholds
        if isinstance(feature, Step):
            return np.tile(np.arange(1, n + 1) >= feature.first, self.family.n_rows)
        return np.repeat(self.family.values(feature), n)

    def drawn(self, generator: np.random.Generator, size: int) -> Drawn:
        """Those of the family; steps are not drawn."""
        feature_of, values_on = self.family.drawn(generator, size)
        return feature_of, lambda rows: values_on(rows // self.n_thresholds)
