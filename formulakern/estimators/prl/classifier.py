"""PRLClassifier: large-margin rules, learned by playing a zero-sum game, proven to be optimal."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from formulakern.errors import DataError
from formulakern.estimators.base import (
    Encoding,
    check_relations,
    read_classes,
    row_weights,
)
from formulakern.estimators.explanation import Explanation, accuracy_by_size, explained
from formulakern.estimators.prl.history import History, teller
from formulakern.estimators.prl.parameters import check_parameters, feature_family
from formulakern.estimators.prl.reading import advice_on, rules_of
from formulakern.learning.prl.column_generation import Played, Player
from formulakern.learning.prl.features import (
    FeatureFamily,
    evaluate_rules,
)
from formulakern.learning.prl.monomials import evaluate_monomials
from formulakern.learning.prl.preferences import Preferences, read_preferences
from formulakern.learning.prl.restricted_game import RestrictedGame, Solver
from formulakern.syntax.formula import Formula

__all__ = ["PRLClassifier"]

#: Columns per epoch ("exact"), or held at a time ("random"), where no budget is given.
BUDGET = {"exact": 30, "random": 1000}


class PRLClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Preference and rule learning: a weighted vote of rules with the largest margin.

    A row x of class y prefers y to every other class y'.  A hypothesis gives weights q ≥ 0, of sum
    1, to columns: a feature φ that votes for class a against class b.  The margin of a preference i
    is

        (Mq)_i = Σ q·φ(x_i)·⟨e_{y⁺ᵢ} − e_{y⁻ᵢ}, e_a − e_b⟩,

    and the smallest one is to be as large as possible: the value V* of a zero-sum game.  There are
    far more columns than can be listed.  Each epoch finds the ones that answer the other player's
    strategy best, by branch and bound over *all* rules up to the degree, so that

        value ≤ V* ≤ bound

    holds throughout, and it stops when they meet.  Prediction: the class with the largest score
    Σ q·φ(x)·([class is a] − [class is b]).

    With the soft margin every preference i has one more column, which pays 1/(C·w_i) in its own
    row and 0 elsewhere.  Then 1/V* is the smallest Σ|λ| + C Σ w_i ξ_i with margins of λ of at
    least 1 − ξ_i: the 1-norm support vector machine.  It gives no preference more than V*·C·w_i of
    the other player's weight, which is the ν-machine with ν = 1/(V*·C·Σw) (``nu_``): at most
    that share of the preferences, by weight, has a margin below V*.

    Parameters
    ----------
    features : str, Formula or list of these, default="rules"
        ``"rules"``: conjunctions of one to ``degree`` propositions.  ``"conjunctions"``: of
        exactly ``degree``.  ``"polynomial"``: products of ``degree`` numeric columns, taken as
        they are (scale them before).  Or templates such as ``"a & ~b"``, whose variables stand for
        different propositions.
    degree : int, default=2
    relations : sequence of {"=", "!=", "<=", ">="}, default=("=", "<=", ">=")
        What propositions say.  With ``=`` and ``!=`` only, numbers are nominal too.
    margin : {"soft", "hard"}, default="soft"
        The hard margin needs data that rules can separate; else its value is 0.
    C : float or "auto", default="auto"
        Price of margin errors, for the soft margin; less gives fewer rules.  ``"auto"`` is
        2/√(Σw), which falls with the number of preferences as the 1-norm penalty should.
    column_selection : {"exact", "random"}, default="exact"
        ``"random"`` is the published algorithm: random columns, those without weight replaced.
    budget : int, optional
        Columns that come in per epoch (exact; default 30), or are held (random; 1000).
    epochs : int, default=200
    solver : {"linprog", "fictitious-play", "multiplicative-weights"}, default="linprog"
        For the restricted games; the published algorithm has fictitious play.
    solver_iterations : int, default=1_000_000
        Rounds of the two iterated solvers.
    bias_rule : bool, default=True
        Whether the rule that is always true may vote.  Without it, propositions that are true on
        all training rows are rules like any other; with it, it stands for them.
    tol : float, default=1e-2
        Stop when the gap is at most this share of the bound.
    encoder : "auto", None or transformer, default="auto"
        As in :class:`FormulaSVC`.  ``relations`` and ``cut_points`` are for ``"auto"``.
    cut_points : int, default=8
        At most so many cuts per numeric column.
    class_weight : mapping or "balanced", optional
        Multiplies the weight of a row, per class.
    time_limit : float, optional
        Seconds; then the best hypothesis so far is kept, with its proven bound.
    random_state : int, RandomState or None
        For random columns.
    verbose : bool, default=False
        Show every epoch on standard error.

    Attributes
    ----------
    rules_ : RuleEnsemble
        Rules in the table's own words, largest weight first.
    value_, bound_, gap_ : float
        The margin, what no hypothesis passes, and the difference.
    C_ : float
        The price that was used; inf for the hard margin.
    nu_ : float
        See above; 0 for the hard margin.
    history_ : History
        Value and bound of every epoch.
    stopped_ : {"optimal", "epochs", "time", "interrupted", "columns"}
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the table has names.

    Notes
    -----
    A row of weight 2 is two rows.  With the hard margin weights are of no effect, except 0, which
    removes a row.  Ctrl-C keeps the best hypothesis so far.  In random selection the bound is
    computed once, at the end.

    ``"linprog"`` plays with an interior-point method: where optimal strategies are not unique, the
    ones in the middle price the other columns best.  At the end HiGHS looks for an optimal
    hypothesis of few rules, for about as long as the game took (not counted in ``time_limit``).

    References
    ----------
    Polato & Aiolli (2019), Interpretable preference learning: a game theoretic framework for large
    margin on-line feature and rule learning, AAAI 33, doi:10.1609/aaai.v33i01.33014723.
    Zhu, Rosset, Hastie & Tibshirani (2003), 1-norm Support Vector Machines, NIPS 16.
    Demiriz, Bennett & Shawe-Taylor (2002), Linear Programming Boosting via Column Generation,
    Machine Learning 46:225-254, doi:10.1023/A:1012470815092.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = PRLClassifier("conjunctions", degree=3, margin="hard").fit(X, y)
    >>> model.score(X, y), model.stopped_, len(model.rules_)
    (1.0, 'optimal', 9)
    >>> {(item.winner, item.precision) for item in model.rules_.head(8)}
    {('positive', 1.0)}
    >>> print(model.rules_[8].rule, model.rules_[8].winner)
    true negative
    """

    def __init__(
        self,
        features: str | Formula | Sequence[str | Formula] = "rules",
        degree: int = 2,
        *,
        relations: Sequence[str] = ("=", "<=", ">="),
        margin: Literal["soft", "hard"] = "soft",
        C: float | Literal["auto"] = "auto",
        column_selection: Literal["exact", "random"] = "exact",
        budget: int | None = None,
        epochs: int = 200,
        solver: Solver = "linprog",
        solver_iterations: int = 1_000_000,
        bias_rule: bool = True,
        tol: float = 1e-2,
        encoder: Any = "auto",
        cut_points: int = 8,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.features = features
        self.degree = degree
        self.relations = relations
        self.margin = margin
        self.C = C
        self.column_selection = column_selection
        self.budget = budget
        self.epochs = epochs
        self.solver = solver
        self.solver_iterations = solver_iterations
        self.bias_rule = bias_rule
        self.tol = tol
        self.encoder = encoder
        self.cut_points = cut_points
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from one class per row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Anything that :class:`formulakern.Table` reads.
        y : array-like of shape (n_rows,)
            Classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Not negative; what the preferences of a row weigh.

        Returns
        -------
        PRLClassifier
            Itself.

        Raises
        ------
        DataError
            If the table or the classes cannot be read, or there is one class only.
        ParameterError, FormulaSyntaxError
            If a parameter is wrong.
        """
        templates = check_parameters(self)
        if y is None:
            raise DataError(
                "PRLClassifier requires y to be passed, but the target y is None. "
                "Pass the class of every row, or use fit_preferences."
            )
        encoded = self._fit_encoding(X, y)
        labels = read_classes(y, encoded.shape[0])
        self.classes_, codes = np.unique(labels, return_inverse=True)
        weights = row_weights(labels, self.class_weight, sample_weight)
        present = np.unique(codes[weights > 0])
        if len(present) < 2:
            raise DataError(
                f"all rows (of positive weight) are of one class, {labels.tolist()[0]!r}; "
                "a classifier needs at least two classes."
            )
        preferences = Preferences.of_classes(codes, len(self.classes_), weights)
        return self._play(encoded, preferences, templates)

    def fit_preferences(
        self, X: Any, preferences: Sequence[Any], sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from explicit preferences (label ranking).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        preferences : sequence of (row, preferred label, other label)
            In any number per row.
        sample_weight : array-like of shape (number of preferences,), optional

        Returns
        -------
        PRLClassifier
            Itself; :meth:`predict_ranking` orders the labels of a row.

        Raises
        ------
        DataError, ParameterError, FormulaSyntaxError
            As :meth:`fit`.

        Examples
        --------
        >>> X = {"hour": [7, 8, 16, 17]}
        >>> wishes = [(0, "coffee", "tea"), (1, "coffee", "tea")]
        >>> wishes += [(2, "tea", "coffee"), (3, "tea", "coffee"), (3, "tea", "milk")]
        >>> model = PRLClassifier(degree=1, C=10).fit_preferences(X, wishes)
        >>> model.predict({"hour": [6, 18]})
        array(['coffee', 'tea'], dtype='<U6')
        """
        templates = check_parameters(self)
        encoded = self._fit_encoding(X, None)
        read, self.classes_ = read_preferences(preferences, encoded.shape[0], sample_weight)
        return self._play(encoded, read, templates)

    # -- prediction ---------------------------------------------------------------------------

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every row; ties go to the class that stands first.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The scores of the classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes: score of the second
        minus that of the first, which is the margin of the row where the second is right
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict_ranking(self, X: Any) -> npt.NDArray[Any]:
        """The classes of every row, best first.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[np.argsort(-scores, axis=1, kind="stable")])

    def explain(self, X: Any) -> Explanation:
        """The rules that one row satisfies, and what they contribute.

        Parameters
        ----------
        X : table of shape (1, n_columns)

        Raises
        ------
        DataError
            If there is not exactly one row.
        """
        values = self._values(X)
        if len(values) != 1:
            raise DataError(f"explain() takes one row; got {len(values)}. Pass X[i : i + 1].")
        return explained(self.rules_, values[0].astype(np.float64))

    def accuracy_curve(
        self, X: Any, y: npt.ArrayLike, max_rules: int | None = None
    ) -> npt.NDArray[np.float64]:
        """The accuracy of the k heaviest rules alone.

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
        return accuracy_by_size(self.rules_, values, np.asarray(y), most)

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        return np.asarray(self._values(X) @ self.rules_.votes())

    def _values(self, X: Any) -> npt.NDArray[Any]:
        """What each rule of ``rules_`` is on each row."""
        check_is_fitted(self, "rules_")
        encoded = self._encoding.read(self, X)
        evaluate = evaluate_monomials if self._encoding.real else evaluate_rules
        return evaluate(self._features, encoded)

    # -- learning -----------------------------------------------------------------------------

    def _play(
        self,
        encoded: Any,
        preferences: Preferences,
        templates: tuple[Formula, ...],
    ) -> Self:
        """Play the game, and read the strategy as rules."""
        generator = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31 - 1, size=4)
        )
        weight = float(preferences.weights.sum())
        given = 2.0 / weight**0.5 if isinstance(self.C, str) else float(self.C)
        self.C_ = np.inf if self.margin == "hard" else given
        family = feature_family(self, self._encoding, encoded, preferences, templates)
        game = RestrictedGame(
            preferences,
            None if self.margin == "hard" else self.C_,
            self.solver,
            max_iter=self.solver_iterations,
            binary=family.binary,
        )
        budget = BUDGET[self.column_selection] if self.budget is None else self.budget
        player = Player(
            game, family, budget, self.epochs, self.tol, self.time_limit, teller(self.verbose)
        )
        exact = self.column_selection == "exact"
        played = player.exact() if exact else player.random(generator)
        self._read(played, preferences, family)
        if (advice := advice_on(self, played, preferences, family)) is not None:
            warnings.warn(advice[0], advice[1], stacklevel=3)
        return self

    def _read(self, played: Played, preferences: Preferences, family: FeatureFamily) -> None:
        """The strategy as rules, those of one feature and one pair of classes joined."""
        names = tuple(self.classes_.tolist())
        self._features, self.rules_ = rules_of(played, preferences, family, self._encoding, names)
        self.value_, self.bound_ = float(played.value), float(played.bound)
        self.gap_ = self.bound_ - self.value_
        soft = self.margin == "soft" and self.value_ > 0
        self.nu_ = 1 / (self.value_ * self.C_ * preferences.weights.sum()) if soft else 0.0
        self.history_, self.stopped_ = History(tuple(played.history)), played.reason
        self.n_iter_ = max(1, len(played.history))

    def _fit_encoding(self, X: Any, y: Any) -> Any:
        if self.features == "polynomial":
            self._encoding, encoded = Encoding.fit_real(self, X)
        else:
            self._encoding, encoded = Encoding.fit(
                self, X, y, self.encoder, check_relations(self.relations), self.cut_points
            )
        return encoded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.features != "polynomial":
            tags.input_tags.sparse = True
            if self.encoder is not None:
                tags.input_tags.allow_nan = True
                tags.input_tags.string = True
                tags.input_tags.categorical = True
        return tags
