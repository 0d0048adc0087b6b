"""What preference learners share: how they predict, and the features that they learn from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_no_keyword,
    check_number,
)
from formulakern.deadline import check_time_limit
from formulakern.display.history import History
from formulakern.display.plots.fits import draw_bounds
from formulakern.encoding.packed import PackedTable
from formulakern.errors import ParameterError
from formulakern.estimators.encoder import PropositionEncoder
from formulakern.estimators.monotone import asked_of
from formulakern.estimators.rule_model import RuleClassifier
from formulakern.learning.prl.column_generation import Epoch
from formulakern.learning.prl.features import ConjunctionFeatures, FeatureFamily, TemplateFeatures
from formulakern.learning.prl.monomials import MonomialFeatures
from formulakern.learning.prl.ordered import OrderedFeatures
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.row_groups import PiecedConjunctions, RowGroups
from formulakern.partitions.lazy_rows import lazily
from formulakern.syntax.formula import Formula
from formulakern.syntax.parser import parse

__all__ = [
    "FAMILIES",
    "EpochHistory",
    "PreferenceModel",
    "automatic_C",
    "check_parameters",
    "epoch_line",
    "feature_family",
    "open_share",
]

FAMILIES = ("rules", "conjunctions", "polynomial")
#: C="auto" is this over the root of the weight of all preferences.
AUTO_C = 8.0
#: Of a condition more.
MOST_PENALTY = 1e30


@dataclass(eq=False, repr=False)
class PreferenceModel(RuleClassifier):
    """The base of :class:`PRLClassifier` and :class:`PRLClassifierCV`."""

    _margin: float = field(init=False)  # what the votes of ``rules_`` secure, with their slack

    def _auto_encoder(self) -> PropositionEncoder:
        return PropositionEncoder(cut_points=8)

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


def check_parameters(estimator: Any) -> tuple[Formula, ...]:
    """Refuse what is out of range; the templates, if the features are such.

    Raises
    ------
    ParameterError
    FormulaSyntaxError
        If a template cannot be read.
    """
    check_choice("margin", estimator.margin, ("soft", "hard"))
    check_integer("degree", estimator.degree)
    check_integer("epochs", estimator.epochs)
    check_integer("budget", estimator.budget, otherwise="None for the default")
    check_integer("max_rules", estimator.max_rules, otherwise="None for no limit")
    if not (isinstance(estimator.C, str) and estimator.C == "auto"):
        check_number("C", estimator.C, 0, above=True, otherwise="'auto'")
    check_number("tol", estimator.tol, 0)
    check_number("depth_penalty", estimator.depth_penalty, 1, MOST_PENALTY)
    check_time_limit(estimator.time_limit)
    check_flag("bias_rule", estimator.bias_rule)
    check_flag("ordinal", estimator.ordinal)
    templates = _templates(estimator.features)
    if estimator.ordinal and estimator.features == "polynomial":
        raise ParameterError(
            "ordinal=True with features='polynomial'; expected features='rules', 'conjunctions' "
            "or templates."
        )
    if estimator.monotone and (templates or estimator.features == "polynomial"):
        raise ParameterError(
            f"monotone={estimator.monotone!r} with features={estimator.features!r}; expected "
            "features='rules' or 'conjunctions', whose conditions have a direction."
        )
    return templates


def automatic_C(preferences: Preferences) -> float:
    """The penalty parameter that ``"auto"`` stands for."""
    return AUTO_C / math.sqrt(preferences.weights.sum())


def feature_family(
    estimator: Any, encoded: Any, preferences: Preferences, templates: tuple[Formula, ...]
) -> FeatureFamily:
    """The features that an estimator's parameters ask for, on its different training rows.

    Parameters
    ----------
    estimator : PRLClassifier
    encoded : PackedTable, RowGroups, or for monomials float64 (m, n)
    preferences : Preferences
        On the rows of ``encoded``, or of ordered classes on these with every threshold.
    templates : tuple of Formula
    """
    if estimator.ordinal:
        family = _rows_family(estimator, encoded, preferences, templates)
        return OrderedFeatures(family, preferences.n_rows // encoded.n_rows)
    return _rows_family(estimator, encoded, preferences, templates)


def _rows_family(
    estimator: Any, encoded: Any, preferences: Preferences, templates: tuple[Formula, ...]
) -> FeatureFamily:
    """The features on rows, whatever the order of classes."""
    bias, degree = bool(estimator.bias_rule), int(estimator.degree)
    if not isinstance(encoded, (PackedTable, RowGroups)):
        return MonomialFeatures(encoded, degree, bias, preferences)
    if templates and isinstance(encoded, PackedTable):
        return TemplateFeatures(encoded, bias, templates)
    least = degree if estimator.features == "conjunctions" else 1
    a, asked = float(estimator.depth_penalty), None
    if directions := estimator._directions:
        asked = np.array([asked_of(leaf, directions) for leaf in estimator._leaves], dtype=np.int64)
    groups = estimator._exclusive()
    if isinstance(encoded, RowGroups):
        p = encoded.n_propositions
        none = PackedTable.of_columns(np.zeros((p, 0), dtype=np.uint64), 0)
        return PiecedConjunctions(none, bias, groups, least, degree, a, asked, rows=encoded)
    return ConjunctionFeatures(encoded, bias, groups, least, degree, a, asked)


def _templates(given: Any) -> tuple[Formula, ...]:
    if isinstance(given, str) and given in FAMILIES:
        return ()
    listed = [given] if isinstance(given, (str, Formula)) else given
    if (
        not isinstance(listed, (list, tuple))
        or not listed
        or not all(isinstance(item, (str, Formula)) for item in listed)
    ):
        raise ParameterError(
            f"features={given!r}; expected one of {', '.join(map(repr, FAMILIES))}, a formula "
            "such as 'a & ~b', or a list of formulas."
        )
    for item in listed:
        check_no_keyword("features", item, {"features": FAMILIES})
    return tuple(parse(item) if isinstance(item, str) else item for item in listed)


class EpochHistory(History):
    """Value and bound of every epoch; a sequence of :class:`Epoch`."""

    STEP = "epoch"
    COLUMNS = (
        ("value", "value", ".6g"),
        ("bound", "bound", ".6g"),
        ("columns", "columns", "d"),
        ("support", "used", "d"),
        ("seconds", "seconds", ".2f"),
    )

    def plot(self, ax: Any = None) -> Any:
        """Value and bound against epochs: the optimum lies between the two lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure by default.
        """

        number = np.arange(1, len(self) + 1)
        labels = self.STEP, "margin", "margin secured (value)", "best possible (bound)"
        return draw_bounds(ax, number, self.values("value"), self.values("bound"), labels)


def open_share(value: float, bound: float) -> float:
    """The gap as a share of the bound.

    >>> open_share(0.9, 1.0), open_share(-1.0, np.inf), open_share(0.0, 0.0)
    (0.09999999999999998, 1.0, 0.0)
    """
    return 1 - max(value, 0.0) / bound if bound > 0 else 0.0


def epoch_line(number: int, epoch: Epoch) -> str:
    """One epoch, as ``verbose`` shows it."""
    return (
        f"epoch {number}: margin {epoch.value:.6g}, at most {epoch.bound:.6g}; "
        f"{epoch.support} of {epoch.columns} columns used; {epoch.seconds:.1f} s"
    )
