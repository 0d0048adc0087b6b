"""How few rules a model can do with: the accuracy of its k heaviest rules alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray
from formulakern.display.plots.style import SMALL, axes_for, colour_of, marker_of, tidy
from formulakern.errors import ParameterError
from formulakern.estimators.svm.classifier import SupportVectorClassifier
from formulakern.estimators.svm.extraction import RuleExtraction
from formulakern.estimators.targets import read_classes
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.rules.features import feature_values
from formulakern.text import aligned

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["Simplification", "simplify_svm"]

#: Rounds over the classes in which their intercepts are chosen.
ROUNDS = 5


@dataclass(frozen=True, eq=False, repr=False)
class Simplification:
    """Accuracy against number of rules.

    Parameters
    ----------
    extraction : RuleExtraction
        The model's rules.
    ensembles : tuple of RuleEnsemble
        The k heaviest rules with the intercepts chosen for them, k = 1, 2, ….
    train_accuracy, test_accuracy : ndarray of shape (number of ensembles,)
        ``test_accuracy`` is empty where no test rows were given.
    model_train_accuracy, model_test_accuracy : float
        Those of the whole model; nan where no test rows were given.

    Examples
    --------
    >>> from formulakern import FormulaSVC, datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = FormulaSVC("a & b & c", "distinct").fit(X, y)
    >>> found = simplify_svm(model, X, y, top=8)
    >>> found.train_accuracy[-1], len(found.ensembles)
    (np.float64(1.0), 8)
    """

    extraction: RuleExtraction
    ensembles: tuple[RuleEnsemble, ...]
    train_accuracy: FloatArray
    test_accuracy: FloatArray
    model_train_accuracy: float
    model_test_accuracy: float

    def to_frame(self) -> pandas.DataFrame:
        """One row per number of rules.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        columns: dict[str, Any] = {"rules": [*range(1, len(self.ensembles) + 1)]}
        return data_frame(columns | {f"{name} accuracy": a for name, a, _ in self._curves()})

    def __str__(self) -> str:
        cells = self._cells()
        return "\n".join(aligned(cells, ">" * len(cells[0])))

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        title = "Accuracy of the heaviest rules alone, and of the whole model"
        return small_table(head, rows, ">" * len(head), title)

    def _cells(self) -> list[tuple[str, ...]]:
        last = len(self.ensembles)  # all numbers of rules up to ten, then every fifth
        shown = [k for k in range(1, last + 1) if k <= 10 or k % 5 == 0 or k == last]
        columns = [["rules", *map(str, shown), "all"]]
        for name, accuracy, whole in self._curves():
            columns.append([name, *(f"{accuracy[k - 1]:.1%}" for k in shown), f"{whole:.1%}"])
        return [*zip(*columns, strict=True)]

    def __repr__(self) -> str:
        rules, train = len(self.ensembles), f"{self.model_train_accuracy:.1%}"
        return f"<Simplification: up to {rules} rules of a model with {train} in training>"

    def _curves(self) -> list[tuple[str, FloatArray, float]]:
        """On which rows, the accuracy of the rules alone, and that of the whole model."""
        train = ("train", self.train_accuracy, self.model_train_accuracy)
        test = ("test", self.test_accuracy, self.model_test_accuracy)
        return [train, test] if len(self.test_accuracy) else [train]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Accuracy against the number of rules, with the whole model as a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        ax = tidy(axes_for(ax), "y")
        k = np.arange(1, len(self.ensembles) + 1)
        for n, (name, accuracy, whole) in enumerate(self._curves()):
            style: dict[str, Any] = {"color": colour_of(n), "marker": marker_of(n), "markersize": 3}
            ax.plot(k, accuracy, label=f"{name}: rules alone", **style)
            ax.axhline(whole, color=colour_of(n), linestyle=":", label=f"{name}: whole model")
        ax.set_xlabel("number of rules")
        ax.set_ylabel("accuracy")
        ax.legend(frameon=False, fontsize=SMALL)
        return ax


def simplify_svm(
    model: SupportVectorClassifier,
    X: Any,
    y: npt.ArrayLike,
    X_test: Any = None,
    y_test: npt.ArrayLike | None = None,
    *,
    top: int = 50,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Simplification:
    """The accuracy of the k heaviest rules of a model alone, for k = 1, 2, …, ``top``.

    The rules keep their weights in the model.  One intercept per class is chosen for each k on the
    training rows, so that most of them are right: the model's own intercept is for all features
    together.

    Parameters
    ----------
    model : FormulaSVC
        Fitted.
    X, y : table of shape (rows, n_columns), array-like of shape (rows,)
        Training rows, as the model was given them.
    X_test, y_test : table, array-like, optional
        Other rows.
    top : int, default=50
        The largest number of rules; there may be fewer.
    time_limit, progress :
        For the extraction, see :meth:`FormulaSVC.rules`.

    Returns
    -------
    Simplification
        Prints as a table; ``plot()`` draws it.

    Raises
    ------
    ParameterError, DataError
        If the model is no FormulaSVC, or rows and classes do not fit.

    Notes
    -----
    With m rows and c classes every k costs O(c·m·log m).

    Examples
    --------
    >>> from formulakern import FormulaSVC, datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X, y)
    >>> curve = simplify_svm(model, X, y, top=8)
    >>> curve.train_accuracy[7], str(curve.ensembles[0][0].winner)
    (np.float64(1.0), 'positive')
    """
    if not isinstance(model, SupportVectorClassifier):
        raise ParameterError(
            f"simplify_svm takes a fitted FormulaSVC; got {type(model).__name__}. "
            "Fit fk.FormulaSVC(kernel).fit(X, y) first."
        )
    check_is_fitted(model, "svc_")
    if (X_test is None) != (y_test is None):
        raise ParameterError("X_test and y_test belong together; pass both, or neither.")
    extraction = model.rules(top, time_limit=time_limit, progress=progress)
    whole = extraction.ensemble
    train = _Rows(model, extraction, X, y)
    test = None if X_test is None else _Rows(model, extraction, X_test, y_test)
    ensembles, train_accuracy, test_accuracy = [], [], []
    for k in range(1, min(top, len(whole)) + 1):
        heaviest = whole.head(k)
        scores = heaviest.scores_of(train.covers[:, :k])
        intercept = _intercepts(scores, train.codes)
        ensembles.append(replace(heaviest, intercept=intercept))
        train_accuracy.append(_accuracy(scores + intercept, train.codes))
        if test is not None:
            scores = ensembles[-1].scores_of(test.covers[:, :k])
            test_accuracy.append(_accuracy(scores, test.codes))
    return Simplification(
        extraction,
        tuple(ensembles),
        np.array(train_accuracy),
        np.array(test_accuracy),
        train.accuracy,
        float("nan") if test is None else test.accuracy,
    )


class _Rows:
    """Rows with their classes as positions, and what covers them."""

    def __init__(
        self, model: SupportVectorClassifier, extraction: RuleExtraction, X: Any, y: Any
    ) -> None:
        table = model._read_table(X)
        classes = read_classes(y, table.n_rows)
        position = {name: i for i, name in enumerate(model.classes_.tolist())}
        self.codes = np.array([position.get(name, -1) for name in classes.tolist()])
        self.covers = feature_values(extraction.features, table)
        self.accuracy = float(np.mean(model.predict(table) == classes))


def _accuracy(scores: FloatArray, codes: npt.NDArray[np.int64]) -> float:
    return float(np.mean(scores.argmax(axis=1) == codes))


def _intercepts(scores: FloatArray, codes: npt.NDArray[np.int64]) -> FloatArray:
    """One number per class, chosen in turn so that most rows get their class.

    With the others fixed, accuracy is a step function of one class's intercept: its own rows want
    it above the best other score, rows that are right without it want it below.
    """
    intercept = np.zeros(scores.shape[1])
    best = _accuracy(scores, codes)
    for _ in range(ROUNDS):
        before = best
        for c in range(scores.shape[1]):
            others = scores + intercept
            others[:, c] = -np.inf
            rival = others.argmax(axis=1)
            needed = others.max(axis=1) - scores[:, c]
            gains = np.where(codes == c, 1, np.where(rival == codes, -1, 0))
            levels, level = np.unique(needed, return_inverse=True)
            gained = np.cumsum(np.bincount(level, weights=gains, minlength=len(levels)))
            places = np.concatenate([[levels[0] - 1], (levels[1:] + levels[:-1]) / 2])
            places = np.append(places, levels[-1] + 1)
            totals = np.concatenate([[0.0], gained])
            candidate = intercept.copy()
            candidate[c] = places[int(totals.argmax())]
            reached = _accuracy(scores + candidate, codes)
            if reached > best:
                intercept, best = candidate, reached
        if best == before:
            break
    return intercept
