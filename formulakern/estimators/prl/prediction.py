"""What preference learners share: monotone constraints on their tables, and how they predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.errors import DataError, ParameterError
from formulakern.estimators.base import TableEstimator, encoded_rows
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.hkl.monotone import asked_of, read_directions
from formulakern.estimators.rule_model import RuleClassifier
from formulakern.partitions.lazy_rows import lazily

__all__ = ["PreferenceModel"]


@dataclass(eq=False, repr=False)
class PreferenceModel(RuleClassifier):
    """The base of :class:`PRLClassifier` and :class:`PRLClassifierCV`."""

    _: KW_ONLY
    monotone: Mapping[str, int] | None = None
    _directions: dict[str, int] = field(init=False)  # of the columns of ``monotone``
    _margin: float = field(init=False)  # what the votes of ``rules_`` secure, with their slack

    # -- tables ------------------------------------------------------------------------------------

    def _encode(self, encoder: Any, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        if not (reset and self.monotone and isinstance(encoder, PropositionEncoder)):
            return super()._encode(encoder, X, y, reset=reset)
        table = encoder.fit_table(X, y)
        automatic = isinstance(self.encoder, str)
        self._directions = read_directions(self.monotone, encoder, table, automatic)
        return encoded_rows(encoder, table)

    def _share_encoding(self, other: TableEstimator) -> None:
        super()._share_encoding(other)
        self._copy_from(other, ("_directions",))

    def _fit_table(self, X: Any, y: Any) -> Any:
        """The encoded training rows, without the propositions that ``monotone`` leaves out."""
        self._directions = {}
        table = super()._fit_table(X, y)
        if not self.monotone:
            return table
        if not isinstance(self.encoder_, PropositionEncoder):
            raise ParameterError(
                f"monotone={self.monotone!r} with encoder={self.encoder!r} on this table: the "
                "propositions of its columns are not known. Write encoder='auto' and pass a dense "
                "table, or give a PropositionEncoder."
            )
        asked = [asked_of(leaf, self._directions) for leaf in self._leaves]
        kept = np.array([j for j, sign in enumerate(asked) if sign is not None], dtype=np.intp)
        if not len(kept):
            raise DataError(
                "no proposition with <= or >= in this table, and the others get no weight under "
                f"monotone={self.monotone!r}. Add relations, or pass rows that differ."
            )
        self._keep(kept)
        return table.select(kept)

    # -- prediction --------------------------------------------------------------------------------

    @lazily
    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The scores of the classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes: score of the second
        minus that of the first, which is the margin of the row where the second is right; and for
        ordered classes, which have one score
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return scores[:, 0]
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    @lazily
    def predict_ranking(self, X: Any) -> npt.NDArray[Any]:
        """The classes of every row, best first.

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
                "ordinal=True has one score, and no ranking of all classes. Use predict, or fit "
                "with ordinal=False."
            )
        return np.asarray(self.classes_[np.argsort(-scores, axis=1, kind="stable")])

    def accuracy_curve(
        self, X: Any, y: npt.ArrayLike, max_rules: int | None = None
    ) -> npt.NDArray[np.float64]:
        """The accuracy of the k heaviest rules alone, with the weights that they have.

        The best k rules, with weights of their own, are those of ``max_rules=k``.

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
        values = self._values(X)
        most = len(self.rules_) if max_rules is None else min(max_rules, len(self.rules_))
        scores = np.tile(self.rules_.intercept, (len(values), 1))
        accuracy = np.empty(most + 1)
        for k in range(most + 1):
            if k:
                scores += np.outer(values[:, k - 1], self.rules_.votes[k - 1])
            accuracy[k] = np.mean(self.rules_.decide(scores) == np.asarray(y))
        return accuracy
