"""The heaviest features of a support vector machine, as rules.

The model f(x) = Σ_i α_i y_i K(x_i, x) + b is a weighted vote of all features φ of its kernel,
f(x) = Σ_φ w_φ φ(x) + b with w_φ = Σ_i α_i y_i φ(x_i).  The features are too many to list.  Branch
and bound over the covers of the support vectors finds the largest |w_φ|, and proves that no other
feature weighs more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from formulakern.arrays import FloatArray, different_rows
from formulakern.checks import check_integer
from formulakern.deadline import Deadline, check_time_limit
from formulakern.display.plots import SMALL_FONT_SIZE, axes_for, colour_of, marker_of, tidy
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.strict import RealTable, read_packed
from formulakern.errors import ParameterError
from formulakern.estimators.base import propositions_of
from formulakern.estimators.row_counts import RowCounts
from formulakern.estimators.validation import read_classes
from formulakern.kernels.algebra import Kernel
from formulakern.learning.feature_spaces import parts_of
from formulakern.learning.kernel_machines import pair_weights
from formulakern.learning.prl.vote_selection import select_votes_of_classes
from formulakern.learning.selection import rule_limit
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.rewrite import without_repeats
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.rules.export.tables import ensemble_html, ensemble_text
from formulakern.rules.features import Instance, feature_values
from formulakern.rules.rule import Rule
from formulakern.rules.voting import WeightedRule
from formulakern.solvers.hierarchical.newton import Columns
from formulakern.solvers.solution import part_of
from formulakern.syntax.formula import Formula
from formulakern.text import aligned

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

#: Tolerance of the optimality conditions, as a share of the largest margin or of 1.
SLACK = 1e-2
#: The most rounds over the classes when intercepts are chosen.
MAX_INTERCEPT_ROUNDS = 5


@dataclass(frozen=True, eq=False, repr=False)
class RuleExtraction:
    """The heaviest rules of a support vector machine, with a proven bound on all others.

    It is a sequence of :class:`formulakern.WeightedRule`, and prints as a table.

    Parameters
    ----------
    ensemble : RuleEnsemble
        The rules, largest weight first, for every pair of classes.
    features : tuple of Instance
        The same rules, on the columns of the encoded table.
    proven : bool
        Whether the search ran to the end.
    bounds : dict
        (class, other class) → the largest absolute weight that an unlisted feature of this pair
        may have.
    n_evaluated : int
        The number of whole and partial features whose weights or bounds were computed.
    seconds : float
        The duration of the search.

    Examples
    --------
    >>> from formulakern import FormulaSVC, datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> found = FormulaSVC("a & b & c", "distinct").fit(X, y).rules(top=8)
    >>> found.proven, {item.winner for item in found}
    (True, {'positive'})
    """

    ensemble: RuleEnsemble
    features: tuple[Instance, ...]
    proven: bool
    bounds: dict[tuple[Any, Any], float]
    n_evaluated: int
    seconds: float

    def __len__(self) -> int:
        return len(self.ensemble)

    def __iter__(self) -> Any:
        return iter(self.ensemble)

    def __getitem__(self, position: int) -> WeightedRule:
        return self.ensemble[position]

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per rule, see :meth:`RuleEnsemble.to_frame`."""
        return self.ensemble.to_frame()

    def __repr__(self) -> str:
        return f"<RuleExtraction: {len(self)} rules. {self._claim()}>"

    def __str__(self) -> str:
        return f"{ensemble_text(self.ensemble, decides=False)}\n\n{self._claim()}"

    def _repr_html_(self) -> str:
        return ensemble_html(self.ensemble, decides=False, foot=self._claim())

    def _claim(self) -> str:
        bound = max(self.bounds.values(), default=0.0)
        effort = f"{self.n_evaluated:,} features evaluated in {self.seconds:.2f} s"
        claim = "Stopped by the time limit: features that were not reached weigh at most"
        if self.proven:
            claim = "Proven: no other feature weighs more than"
        return f"{claim} {bound:.4g}; {effort}."


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A fitted support vector machine with its kernel, training rows and their classes."""

    svc: Any
    kernel: Kernel
    rows: PackedTable
    classes: npt.NDArray[Any]

    def rules(
        self,
        leaves: Sequence[Formula],
        top: int,
        time_limit: float | None,
        progress: Callable[[float], None] | None,
    ) -> RuleExtraction:
        """Return the heaviest rules, see :func:`extract_rules`; ``leaves[j]`` is column j."""
        check_integer("top", top)
        check_time_limit(time_limit)
        deadline = Deadline.of(time_limit)
        columns = self.rows.take(self.svc.support_)
        parts, pairs = parts_of(self.kernel, columns), pair_weights(self.svc)
        labels = self.svc.classes_.tolist()
        right = [self.classes == label for label in self.svc.classes_]  # works for dates too
        counts = RowCounts(
            np.ones(len(self.classes), dtype=np.int64), np.stack(right, axis=1).astype(np.float64)
        )
        listed: list[tuple[Instance, WeightedRule]] = []
        bounds: dict[tuple[Any, Any], float] = {}
        proven, n_evaluated, searched = True, 0, 0
        for winner, loser, weights in pairs:
            found: list[tuple[float, Instance]] = []
            bound = 0.0
            for search, factor in parts:
                step = part_of(progress, searched, len(pairs) * len(parts))
                heaviest, outcome = search.run(
                    columns, weights * factor, top=int(top), time_limit=deadline, progress=step
                )
                found += [(weight, feature) for feature, weight in heaviest]
                bound = max(bound, outcome.bound)
                proven &= outcome.proven
                n_evaluated += outcome.n_evaluated
                searched += 1
            found.sort(key=lambda item: -abs(item[0]))
            bounds[winner, loser] = max(bound, *(abs(w) for w, _ in found[top:]), 0.0)
            signs = np.array([float(label == winner) - (label == loser) for label in labels])
            for weight, feature in found[:top]:
                votes = weight * signs
                rule = Rule(without_repeats(feature.named(leaves).formula))
                cover = feature.values(self.rows)
                listed.append((feature, counts.described(rule, cover, votes.tolist(), labels)))
        listed.sort(key=lambda pair: -abs(pair[1].weight))
        if progress is not None:
            progress(1.0)
        ensemble = RuleEnsemble.of((item for _, item in listed), labels)
        features = tuple(feature for feature, _ in listed)
        return RuleExtraction(ensemble, features, proven, bounds, n_evaluated, deadline.taken())

    def check(self) -> None:
        """Raise ParameterError if the model is not the optimum of this kernel on these rows.

        At the optimum, support vectors have y·f(x) ≤ 1, and other rows y·f(x) ≥ 1, up to the
        tolerance of the solver.
        """
        svc, kernel, rows, classes = self.svc, self.kernel, self.rows, self.classes
        if isinstance(svc.kernel, Kernel) and svc.kernel != kernel:
            raise ParameterError(
                f"the model was trained with {svc.kernel!r}, but the given kernel is {kernel!r}. "
                "Pass the kernel that it was trained with."
            )
        if svc.shape_fit_[0] != rows.n_rows:
            raise ParameterError(
                f"the model was trained on {svc.shape_fit_[0]:,} rows, but X has {rows.n_rows:,}. "
                "Pass the rows that it was trained on."
            )
        unknown = sorted(set(np.unique(classes).tolist()) ^ set(svc.classes_.tolist()), key=str)
        if unknown:
            raise ParameterError(
                f"the model's classes are {svc.classes_.tolist()}, but y differs in {unknown}. "
                "Pass the classes that it was trained on."
            )
        gram = kernel(rows.take(svc.support_), rows)
        intercepts = np.asarray(svc.intercept_)
        slack = max(SLACK, 10 * svc.tol)
        for (winner, loser, weights), intercept in zip(pair_weights(svc), intercepts, strict=True):
            signs = (classes == winner).astype(float) - (classes == loser)
            used = np.zeros(rows.n_rows, dtype=np.bool_)
            used[svc.support_[weights != 0]] = True
            values = signs * (weights @ gram + intercept)
            scale = slack * max(1.0, float(np.abs(values).max()))
            outside = (signs != 0) & ~used & (values < 1 - scale)
            inside = used & (values > 1 + scale)
            if outside.any() or inside.any():
                row = int(np.flatnonzero(outside | inside)[0])
                raise ParameterError(
                    f"this model is not an optimum for {kernel!r} on these rows: row {row} has a "
                    f"margin of {values[row]:.4g}; expected "
                    f"{'at least' if outside[row] else 'at most'} 1. "
                    "Pass the kernel, the rows and the classes that it was trained with, without "
                    "rows of sample weight 0, and let it converge."
                )


def extract_rules(
    svc: SVC,
    kernel: Kernel,
    X: Any,
    y: npt.ArrayLike,
    *,
    top: int = 10,
    names: Sequence[str] | None = None,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> RuleExtraction:
    """Return the heaviest features of a fitted support vector machine, as rules.

    Parameters
    ----------
    svc : sklearn.svm.SVC
        Fitted with this kernel: ``SVC(kernel=kernel)``, or on the precomputed ``kernel(X)``.
    kernel : Kernel
        A formula kernel (also with choices), a family of :mod:`formulakern.boolean` whose features
        are conjunctions or disjunctions, or a sum, multiple, cosine or product of these.
    X : table of 0 and 1 of shape (rows, n)
        The training rows.
    y : array-like of shape (rows,)
        Their classes.
    top : int
        The number of rules for each pair of classes.
    names : sequence of str, optional
        The columns, each as a rule such as ``"odor = foul"``, or a name. By default the table's
        column names, otherwise x0, x1, ….
    time_limit : float, optional
        The most seconds.  The best rules found by then have a proven bound on all others.
    progress : callable, optional
        Called with the share of the search that is done.

    Returns
    -------
    RuleExtraction
        Prints as a table with weight, classes, coverage and precision on the training rows.

    Raises
    ------
    ParameterError
        If the features of the kernel cannot be listed, inputs are graded (degrees are not rules),
        or the model was not trained with this kernel on these rows.

    Examples
    --------
    >>> import formulakern as fk
    >>> X, y = fk.datasets.tic_tac_toe()
    >>> encoder = fk.PropositionEncoder().fit(X)
    >>> table, names = encoder.transform(X), encoder.get_feature_names_out()
    >>> three = fk.kernel("all[3](x)", variables="distinct")
    >>> svc = SVC(kernel=three, C=10).fit(table, y)
    >>> result = fk.extract_rules(svc, three, table, y, names=names, top=8)
    >>> result.proven, {item.winner for item in result}, {item.precision for item in result}
    (True, {'positive'}, {1.0})
    """
    if not isinstance(svc, SVC):
        raise ParameterError(
            f"extract_rules takes a fitted sklearn.svm.SVC; got {type(svc).__name__}. "
            "For a FormulaSVC call its method rules()."
        )
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"kernel must be a kernel of this library; got {type(kernel).__name__}. "
            "Write for example fk.kernel('all[3](x)')."
        )
    check_is_fitted(svc)
    table = read_packed(X)
    classes = read_classes(y, table.n_rows)
    model = TrainedModel(svc, kernel, table, classes)
    model.check()
    if names is None:
        names = table.names or [f"x{j}" for j in range(table.n_columns)]
    if len(names) != table.n_columns:
        raise ParameterError(
            f"{len(names):,} names for {table.n_columns:,} columns; give one per column."
        )
    return model.rules(propositions_of(names), top, time_limit, progress)


def rules(
    self: Any,
    top: int = 10,
    *,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> RuleExtraction:
    """Return the heaviest features of the model, as rules on the columns of the table.

    The model is a weighted vote of all features φ of its kernel.  Branch and bound finds those of
    the largest absolute weights Σ_i α_i y_i φ(x_i), and proves that no others are larger.

    Parameters
    ----------
    top : int, default=10
        The number of rules for each pair of classes.
    time_limit : float, optional
        The most seconds.  The best rules found by then have a proven bound on all others.
    progress : callable, optional
        Called with the share of the search that is done.

    Returns
    -------
    RuleExtraction
        Prints as a table with weight, classes, coverage and precision on the training rows.  A
        rule that occurs in several terms of a sum of kernels is listed for each.

    Raises
    ------
    ParameterError
        If the kernel's features cannot be listed (see :func:`formulakern.extract_rules`), or
        inputs are graded: degrees are not rules.

    Examples
    --------
    >>> from formulakern import FormulaSVC, datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X, y)
    >>> result = model.rules(top=8)  # three in a row
    >>> result.proven, {(item.winner, item.precision) for item in result}
    (True, {('positive', 1.0)})
    """
    check_is_fitted(self, "svc_")
    if isinstance(self._support_rows, RealTable):
        raise ParameterError(
            "a model of graded inputs votes by degrees, which are not rules. Fit a model with "
            'inputs="binary" to read its rules.'
        )
    extraction: RuleExtraction = self._trained.rules(
        self._encoding.leaves, top, time_limit, progress
    )
    return extraction


# -- few rules -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Simplification:
    """Few rules that replace a model, and the accuracy of its k heaviest rules.

    Parameters
    ----------
    extraction : RuleExtraction
        The model's rules.
    ensembles : tuple of RuleEnsemble
        The k heaviest rules with the intercepts chosen for them, k = 1, 2, ….
    train_accuracy, test_accuracy : ndarray of shape (number of ensembles,)
        The accuracies of ``ensembles``; without test rows, ``test_accuracy`` is empty.
    model_train_accuracy, model_test_accuracy : float
        The accuracies of the whole model; nan without test rows.
    rules : RuleEnsemble
        At most ``max_rules`` of the model's rules, with weights of their own; the last of
        ``ensembles`` if there is no limit.
    rules_train_accuracy, rules_test_accuracy : float
        The accuracies of ``rules``; nan without test rows.

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
    rules: RuleEnsemble
    rules_train_accuracy: float
    rules_test_accuracy: float

    def to_frame(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per number of rules."""
        columns: dict[str, Any] = {"rules": [*range(1, len(self.ensembles) + 1)]}
        return data_frame(columns | {f"{name} accuracy": a for name, a, _ in self._curves()})

    def __str__(self) -> str:
        cells = self._cells()
        return "\n".join(aligned(cells, ">" * len(cells[0])))

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        title = "Accuracy of rules alone, and of the whole model"
        return small_table(head, rows, ">" * len(head), title)

    def _cells(self) -> list[tuple[str, ...]]:
        last = len(self.ensembles)  # up to ten rules all, then every fifth
        shown = [k for k in range(1, last + 1) if k <= 10 or k % 5 == 0 or k == last]
        whole = bool(self.ensembles) and self.rules is self.ensembles[-1]
        chosen = [] if whole else [f"{len(self.rules)} chosen"]
        columns = [["rules", *map(str, shown), *chosen, "all"]]
        for name, accuracy, model in self._curves():
            own = self.rules_train_accuracy if name == "train" else self.rules_test_accuracy
            reached = [*(accuracy[k - 1] for k in shown), *[own] * len(chosen), model]
            columns.append([name, *(f"{share:.1%}" for share in reached)])
        return [*zip(*columns, strict=True)]

    def __repr__(self) -> str:
        rules, train = len(self.ensembles), f"{self.model_train_accuracy:.1%}"
        return f"<Simplification: up to {rules} rules of a model with {train} in training>"

    def _curves(self) -> list[tuple[str, FloatArray, float]]:
        """Return the name of the rows, the accuracies of the rules, and the model's accuracy."""
        train = ("train", self.train_accuracy, self.model_train_accuracy)
        test = ("test", self.test_accuracy, self.model_test_accuracy)
        return [train, test] if len(self.test_accuracy) else [train]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw accuracy against the number of rules, with the whole model as a line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New axes by default.
        """
        ax = tidy(axes_for(ax), "y")
        k = np.arange(1, len(self.ensembles) + 1)
        for n, (name, accuracy, whole) in enumerate(self._curves()):
            style: dict[str, Any] = {"color": colour_of(n), "marker": marker_of(n), "markersize": 3}
            ax.plot(k, accuracy, label=f"{name}: rules alone", **style)
            ax.axhline(whole, color=colour_of(n), linestyle=":", label=f"{name}: whole model")
        ax.set_xlabel("number of rules")
        ax.set_ylabel("accuracy")
        ax.legend(frameon=False, fontsize=SMALL_FONT_SIZE)
        return ax


def simplify_svm(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    X_test: Any = None,
    y_test: npt.ArrayLike | None = None,
    *,
    top: int = 50,
    max_rules: int | Literal["auto"] | None = "auto",
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Simplification:
    """Return few rules that replace a model, and the accuracy of its k heaviest rules alone.

    Of the ``top`` heaviest rules for each pair of classes, at most ``max_rules`` are chosen, with
    votes of their own, by logistic regression on the training rows.

    The k heaviest rules, k = 1, 2, …, ``top``, keep their weights in the model.  For each k, one
    intercept per class is chosen for the best accuracy on the training rows, because the model's
    own intercept suits all features together.

    Parameters
    ----------
    model : FormulaSVC
        A fitted model.
    X, y : table of shape (rows, n_columns), array-like of shape (rows,)
        Its training rows and their classes.
    X_test, y_test : table, array-like, optional
        Other rows and their classes.
    top : int, default=50
        The most heaviest rules for each pair of classes.
    max_rules : "auto", int or None, default="auto"
        The most rules to choose; ``"auto"``: 15.  Fewer are chosen if they are nearly as good.
        With None, ``rules`` are the ``top`` heaviest with their weights in the model.
    time_limit : float, optional
        The most seconds for the search for the heaviest rules.
    progress : callable, optional
        Called with the share of the search that is done.

    Returns
    -------
    Simplification
        Prints as a table; ``plot()`` draws it.

    Raises
    ------
    ParameterError, DataError
        If the model is not a FormulaSVC, or rows and classes do not fit.

    Examples
    --------
    >>> from formulakern import FormulaSVC, datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = FormulaSVC("all[3](x)", variables="distinct", C=100).fit(X, y)
    >>> curve = simplify_svm(model, X, y, top=8)
    >>> curve.train_accuracy[7], str(curve.ensembles[0][0].winner)
    (np.float64(1.0), 'positive')
    >>> len(curve.rules), curve.rules_train_accuracy
    (8, 1.0)
    """
    if not hasattr(model, "rules"):
        raise ParameterError(
            f"simplify_svm takes a fitted FormulaSVC; got {type(model).__name__}. "
            "Fit fk.FormulaSVC(kernel).fit(X, y) first."
        )
    check_is_fitted(model, "svc_")
    check_time_limit(time_limit)
    limit, deadline = rule_limit(max_rules), Deadline.of(time_limit)
    if (X_test is None) != (y_test is None):
        raise ParameterError("X_test and y_test belong together. Pass both, or neither.")
    extraction = model.rules(top, time_limit=time_limit, progress=progress)
    position = {name: i for i, name in enumerate(model.classes_.tolist())}
    given = [(X, y)] if X_test is None else [(X, y), (X_test, y_test)]
    rows, whole = [], []  # codes of classes and covers of rules; accuracies of the model
    for table, truth in given:
        encoded = model._read_table(table)
        classes = read_classes(truth, encoded.n_rows)
        codes = np.array([position.get(name, -1) for name in classes.tolist()])
        rows.append((codes, feature_values(extraction.features, encoded)))
        whole.append(float(np.mean(model.predict(encoded) == classes)))
    ensembles: list[RuleEnsemble] = []
    reached: list[list[float]] = [[], []]
    for k in range(1, min(top, len(extraction)) + 1):
        heaviest, (codes, covers) = extraction.ensemble.head(k), rows[0]
        intercept = _intercepts(heaviest.scores_of(covers[:, :k]), codes)
        ensembles.append(replace(heaviest, intercept=intercept))
        for accuracy, (codes, covers) in zip(reached, rows, strict=False):
            accuracy.append(_accuracy(ensembles[-1].scores_of(covers[:, :k]), codes))
    found = None if limit is None else _selected_rules(extraction, *rows[0], limit, deadline)
    last = len(ensembles)
    if found is None:
        found = ensembles[-1] if last else extraction.ensemble, np.arange(last)
    few, which = found
    own = [_accuracy(few.scores_of(covers[:, which]), codes) for codes, covers in rows]
    train, test = map(np.array, reached)
    (model_train, model_test), (few_train, few_test) = (
        (*some, np.nan)[:2] for some in (whole, own)
    )
    return Simplification(
        extraction,
        tuple(ensembles),
        train,
        test,
        model_train,
        model_test,
        few,
        few_train,
        few_test,
    )


def _selected_rules(
    extraction: RuleExtraction,
    codes: npt.NDArray[np.int64],
    covers: npt.NDArray[np.bool_],
    most: int,
    deadline: Deadline,
) -> tuple[RuleEnsemble, npt.NDArray[np.intp]] | None:
    """Return at most ``most`` rules with votes of their own, and their positions; None without any.

    Of several rules with the same cover only the heaviest is a candidate.
    """
    known = codes >= 0
    codes, covers = codes[known], covers[known]
    if not covers.size:
        return None
    places = np.sort(different_rows(np.packbits(covers, axis=0).T.copy())[0])
    columns = Columns(covers.T[places].astype(np.uint8), np.zeros((0, len(codes))))
    labels = list(extraction.ensemble.classes or ())
    weights = np.ones(len(codes))
    found, _ = select_votes_of_classes(
        columns, codes, len(labels), weights, [most], deadline=deadline
    )
    if not found:
        return None
    votes = found[-1]
    which, counts = places[votes.features], RowCounts.of_classes(codes, len(labels), weights)
    items = [
        counts.described(extraction.ensemble.rules[k], covers[:, k], own, labels)
        for k, own in zip(which, votes.votes.tolist(), strict=True)
    ]
    return RuleEnsemble.of(items, labels, votes.start), which


def _accuracy(scores: FloatArray, codes: npt.NDArray[np.int64]) -> float:
    return float(np.mean(scores.argmax(axis=1) == codes))


def _intercepts(scores: FloatArray, codes: npt.NDArray[np.int64]) -> FloatArray:
    """Return one intercept per class, chosen in turn for the best accuracy.

    With the others fixed, the accuracy is a step function of the intercept of one class.  It rises
    where rows of the class win, and falls where rows of another class are lost.
    """
    intercept = np.zeros(scores.shape[1])
    best = _accuracy(scores, codes)
    for _ in range(MAX_INTERCEPT_ROUNDS):
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
