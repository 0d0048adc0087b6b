"""The shared base of preference learners: predictions and the history of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.checks import check_integer
from formulakern.display.history import History
from formulakern.display.plots import draw_bounds
from formulakern.errors import ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.rule_model import RuleClassifier
from formulakern.partitions.lazy_rows import lazily


@dataclass(eq=False, repr=False)
class PreferenceModel(RuleClassifier):
    """The base of :class:`PRLClassifier` and :class:`PRLClassifierCV`."""

    _margin: float = field(init=False)  # the margin of the votes of ``rules_``, with their slack

    def _searches(self) -> bool:
        return True

    def _auto_encoder(self) -> PropositionEncoder:
        return PropositionEncoder(cut_points="auto" if self._searches() else 8)

    @lazily
    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the scores of the classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two or for ordered classes.  For two
        classes it is the score of the second minus the score of the first.
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return scores[:, 0]
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    @lazily
    def predict_ranking(self, X: Any) -> npt.NDArray[Any]:
        """Return the classes of every row, best first.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Raises
        ------
        ParameterError
            If classes are ordered.
        """
        scores = self._scores(X)
        if self.rules_.levels is not None:
            raise ParameterError(
                "with ordinal=True there is one score and no ranking of all classes. Use predict, "
                "or fit with ordinal=False."
            )
        return np.asarray(self.classes_[np.argsort(-scores, axis=1, kind="stable")])

    def accuracy_curve(
        self, X: Any, y: npt.ArrayLike, max_rules: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Return the accuracy of the k heaviest rules with their present weights, for each k.

        To fit the best k rules with new weights, use ``max_rules=k``.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        max_rules : int, optional
            All by default.

        Returns
        -------
        ndarray of shape (number of rules + 1,)
            For k = 0, 1, 2, ….
        """
        check_integer("max_rules", max_rules, 0, otherwise="None for all")
        values = self._values(X)
        most = len(self.rules_) if max_rules is None else max_rules
        decided = islice(self.rules_.growing(values), most + 1)
        return np.array([np.mean(found == np.asarray(y)) for found in decided])


class EpochHistory(History):
    """The value and bound of every epoch, a sequence of :class:`Epoch`."""

    STEP = "epoch"
    COLUMNS = (
        ("value", "value", ".6g"),
        ("bound", "bound", ".6g"),
        ("columns", "columns", "d"),
        ("support", "used", "d"),
        ("seconds", "seconds", ".2f"),
    )

    def plot(self, ax: Any = None) -> Any:
        """Draw value and bound against epochs; the optimum is between the two lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """

        number = np.arange(1, len(self) + 1)
        labels = self.STEP, "margin", "margin secured (value)", "best possible (bound)"
        return draw_bounds(ax, number, self.values("value"), self.values("bound"), labels)


def open_share(value: float, bound: float) -> float:
    """Return the gap as a share of the bound.

    >>> open_share(0.9, 1.0), open_share(-1.0, np.inf), open_share(0.0, 0.0)
    (0.09999999999999998, 1.0, 0.0)
    """
    return 1 - max(value, 0.0) / bound if bound > 0 else 0.0
