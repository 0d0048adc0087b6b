"""PRLClassifier: large-margin rules from a zero-sum game, with a proof of optimality."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from formulakern.arrays import FloatArray, IntArray
from formulakern.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_no_keyword,
    check_number,
)
from formulakern.deadline import Deadline, check_time_limit
from formulakern.docstrings import parameters_from
from formulakern.encoding.ordered import OrderedTable
from formulakern.encoding.packed import PackedTable
from formulakern.encoding.partitioned import PackedPartitions
from formulakern.errors import ParameterError
from formulakern.estimators.monotone import check_one_score, required_signs
from formulakern.estimators.prl.base import EpochHistory, PreferenceModel, open_share
from formulakern.estimators.row_counts import RowCounts
from formulakern.estimators.rule_path import RulePath, SizedModel
from formulakern.estimators.validation import TrainingData
from formulakern.learning.hkl.rule_selection import opposite
from formulakern.learning.prl.column_generation import (
    MANY_PREFERENCES,
    ZERO_SHARE,
    ColumnGeneration,
    Epoch,
    Outcome,
    best_hypothesis,
    features_of,
)
from formulakern.learning.prl.features import (
    Column,
    ConjunctionFeatures,
    FeatureFamily,
    MonomialFeatures,
    OrderedConjunctions,
    TemplateFeatures,
)
from formulakern.learning.prl.preferences import ABOVE, Preferences, ThresholdStep, read_preferences
from formulakern.learning.prl.restricted_game import RestrictedGame
from formulakern.learning.prl.row_groups import PartitionedConjunctions, RowGroups
from formulakern.learning.selection import rule_limit
from formulakern.rules.features import Conjunction, Feature
from formulakern.rules.voting import WeightedRule
from formulakern.solvers.solution import share_done
from formulakern.syntax.formula import Formula
from formulakern.syntax.parser import parse
from formulakern.tables.table import Table
from formulakern.text import counted

#: The values of ``stopped_`` of a fit that keeps the best hypothesis so far.
STOPPED_EARLY = ("time_limit", "interrupted")
FAMILIES = ("rules", "conjunctions", "polynomial")
#: ``C="auto"`` is this over the square root of the total weight of the preferences: for
#: propositions, and for columns cut at every gap.
AUTO_C, AUTO_C_CUT = 8.0, 4.0
#: The largest depth penalty.
MAX_PENALTY = 1e30
#: The default columns per epoch, those with more than MANY_PREFERENCES, and those if more than
#: ``MAX_DEFAULT_ROWS`` rows stay in partitions: each column may double the number of their groups.
DEFAULT_BUDGET, LARGE_BUDGET, PARTITIONED_BUDGET, MAX_DEFAULT_ROWS = 30, 60, 5, 100_000
#: The end of the error for features that need the rows in memory.
IN_MEMORY = (
    "cannot be used while the packed rows stay in partitions. Use {advice}, or raise "
    "formulakern.gather_limit if the rows fit into memory."
)


class SolvedGame(NamedTuple):
    """The outcomes of a game, the largest first, its rows and their weight, and the target."""

    outcomes: list[Outcome]
    game: RestrictedGame
    rows: RowCounts | RowGroups
    weight: float
    target: str

    @property
    def sizes(self) -> list[int]:
        """The number of features of each outcome."""
        return [
            len(features_of(one, self.game) if one.selected is None else one.selected.features)
            for one in self.outcomes
        ]

    @property
    def path(self) -> RulePath:
        """The number of features, margin and gap of each outcome, the smallest first."""
        sized = zip(self.sizes, self.outcomes, strict=True)
        steps = (SizedModel(n, one.value, open_share(one.value, one.bound)) for n, one in sized)
        return RulePath(tuple(sorted(steps)))


@parameters_from()
@dataclass(eq=False, repr=False)
class PRLClassifier(PreferenceModel):
    r"""Preference and rule learning: a weighted vote of rules with the largest margin.

    A row x of class y prefers y to every other class y'.  A *column* is a feature φ that votes for
    class a against class b.  A hypothesis gives weights q ≥ 0, of sum 1, to the columns.  The
    margin of a preference i is

        (Mq)_i = Σ q·φ(x_i)·⟨e_{y⁺ᵢ} − e_{y⁻ᵢ}, e_a − e_b⟩.

    The largest possible value of the smallest margin is the value V* of a zero-sum game.  The game
    has too many columns to list.  Each epoch finds best responses to the other player's strategy by
    branch and bound over *all* rules up to ``degree``, so

        value ≤ V* ≤ bound

    always holds.  The fit stops when value and bound meet.  The predicted class has the largest
    score Σ q·φ(x)·([class is a] − [class is b]).

    With the soft margin every preference i has an additional column, which pays 1/(C·w_i) in its
    own row and 0 elsewhere.  Then 1/V* is the least Σ|λ| + C Σ w_i ξ_i such that λ has margins of
    at least 1 − ξ_i: the 1-norm support vector machine.  The other player's weight of preference i
    is at most V*·C·w_i, so this is a ν-machine with ν = 1/(V*·C·Σw) (``nu_``): the preferences of
    margin below V* have at most the share ν of the weight.

    *Ordered classes.*  With ``ordinal=True`` there is one score s(x) = Σ q·φ(x), with signed q,
    and thresholds θ_1 ≤ … ≤ θ_{K−1}; class k is predicted if θ_{k−1} < s(x) ≤ θ_k.  A row has one
    preference for each threshold, for a score above or below it.  −θ_1 is the weight of the bias
    rule, and θ_k − θ_{k−1} the weight of a column that votes for "below" from the k-th threshold
    on.  So the bound covers all rules and all thresholds.

    Parameters
    ----------
    features : str, Formula or list of these, default="rules"
        ``"rules"``: conjunctions of one to ``degree`` propositions.  ``"conjunctions"``: of
        exactly ``degree``.  ``"polynomial"``: products of ``degree`` numeric columns (scale them
        first).  Or templates such as ``"a & ~b"``, whose variables stand for different
        propositions.
    degree : int, default=2
        The largest number of conditions, or factors, of a rule.
    max_rules : "auto", int or None, default="auto"
        The limit of rules; ``"auto"``: 15.  If the game has more, a search selects the best rules
        and refits their votes; see Notes.  None: no limit.
    depth_penalty : float, default=2
        a ≥ 1: a rule of l propositions contributes 1/a^(l − 1) of its weight to the margin, which
        favours short rules.  For "rules".
    margin : {"soft", "hard"}, default="soft"
        The hard margin needs data that rules can separate; otherwise its value is 0, and the rules
        are those of the soft margin.
    C : float or "auto", default="auto"
        Penalty parameter of margin errors, for the soft margin; smaller values give fewer rules.
        ``"auto"`` is 8/√(Σw), or 4/√(Σw) if a search cuts numbers, where Σw is the total weight of
        the preferences; it is divided by 4 while its game ends at too many columns; see ``tol``.
    budget : int, optional
        New columns per epoch; by default 30, with more than 20,000 preferences 60, or 5 if more
        than 100,000 rows stay in partitions.
    epochs : int, default=200
        The limit of rounds of solving the game and searching for better columns.
    bias_rule : bool, default=True
        Whether the rule that is always true may vote, in place of all propositions that are true
        on all training rows.  If False, such propositions are ordinary rules.
    tol : float, default=1e-2
        Stop when the gap is at most this share of the bound; five times this share is enough if the
        hypothesis has more rules than ``max_rules``.  If the game has more than 10 columns per rule
        of this limit (150 for fewer than 15 rules), a gap of 1/4 is enough, and at 30 columns per
        rule (fewer for more than 20,000 preferences) the game of a soft margin ends.
    monotone : mapping of column to 1 or −1, optional
        The score (for two classes, the second minus the first) does not fall (1) or does not rise
        (−1) with a numeric or Boolean column, given by name or position.  The game leaves out the
        columns that would violate this: with 1 a rule with x ≥ c may vote only for the second
        class, a rule with x ≤ c only for the first, and a rule with both, x = c or x ≠ c for
        neither.  For rules or conjunctions, with a :class:`PropositionEncoder`.
    ordinal : bool, default=False
        Whether classes are ordered: as NumPy sorts them, or as in a pandas categorical.
    encoder : "auto", None or transformer, default="auto"
        The encoder of the table.  ``"auto"``: a :class:`PropositionEncoder`, for rules with cut
        points at every gap between two values, otherwise with 8 per column.  None: the table must
        be 0/1.  A transformer is cloned and fitted.
    time_limit : float, optional
        Seconds for everything from the table to the rules, including compilation; then the best
        hypothesis so far is kept, with its proven bound and a warning.  If no rule was found in
        time, the model predicts the largest class (for preferences, the label that wins most).

    Attributes
    ----------
    rules_ : RuleEnsemble
        Rules on the columns of the table, largest absolute vote first; the votes of the bias rule
        are its intercept.  For ordered classes the ensemble has signed weights, levels and
        thresholds.
    value_, bound_, gap_ : float
        The largest margin of votes of these rules, an upper bound on the margin of every
        hypothesis, and the difference.  The bound is for any number of rules, so the gap also
        bounds the cost of ``max_rules``.
    C_ : float
        The penalty parameter in use; inf for the hard margin, unless its value is 0.
    nu_ : float
        ν above; 0 for the hard margin.
    certificate_ : str
        The proven statement, with the rules that it covers.
    history_ : EpochHistory
        Value and bound of every epoch.
    stopped_ : str
        The reason for the end of the game without a limit of rules: ``"optimal"``, ``"epochs"``,
        ``"time_limit"``, ``"interrupted"``, ``"max_rules"`` (it has far more columns than rules
        are allowed), ``"columns"`` (no new column improves it) or ``"inseparable"`` (the hard
        margin is 0, and the soft margin for ``C_`` is used).
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the table has names.

    Notes
    -----
    A row of weight 2 counts as two rows.  The hard margin ignores weights, except that weight 0
    removes a row.  Ctrl-C keeps the best hypothesis so far.  :class:`PublishedPRL` is the published
    algorithm, with random columns and fictitious play.

    An interior-point method solves the restricted games: if optimal strategies are not unique,
    central ones price the other columns best.  At the end HiGHS searches for an optimal hypothesis
    of few rules, for about as long as the game took, within ``time_limit``.

    Finding the best k rules is NP-hard.  The search drops the rules of least weight, then exchanges
    single rules while the logistic loss of the rules, with a small penalty, falls.  With a soft
    margin, votes and intercept come from this logistic regression, which is more accurate with few
    rules than the votes of the game.  With a hard margin they come from the game of these rules, if
    its value is positive.  ``value_`` is the exact value of that game; with a soft margin and more
    than 20,000 preferences it is at most 0.1 % less.

    Rows of a dask collection beyond :func:`formulakern.gather_limit` stay in their partitions, and
    the local game has one row for each group of rows that satisfy the same rules.  ``features``
    must then be ``"rules"`` or ``"conjunctions"``.

    References
    ----------
    Polato & Aiolli (2019), Interpretable preference learning: a game theoretic framework for large
    margin on-line feature and rule learning, AAAI 33, doi:10.1609/aaai.v33i01.33014723.
    Zhu, Rosset, Hastie & Tibshirani (2003), 1-norm Support Vector Machines, NIPS 16.
    L. Li, H.-T. Lin (2006), Ordinal regression by extended binary classification, NIPS 19.
    Demiriz, Bennett & Shawe-Taylor (2002), Linear Programming Boosting via Column Generation,
    Machine Learning 46:225-254, doi:10.1023/A:1012470815092.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = PRLClassifier("conjunctions", degree=3, margin="hard").fit(X, y)
    >>> model.score(X, y), model.stopped_, len(model.rules_)
    (1.0, 'optimal', 8)
    >>> {(item.winner, item.precision) for item in model.rules_}
    {('positive', 1.0)}
    >>> str(model.classes_[model.rules_.intercept.argmax()])  # if no rule applies
    'negative'

    The best four rules; their value is at most the bound for any number of rules:

    >>> few = PRLClassifier("conjunctions", degree=3, C=0.1, max_rules=4).fit(X, y)
    >>> len(few.rules_), few.value_ <= few.bound_
    (4, True)
    """

    features: str | Formula | Sequence[str | Formula] = "rules"
    degree: int = 2
    _: KW_ONLY
    max_rules: int | Literal["auto"] | None = "auto"
    depth_penalty: float = 2.0
    margin: Literal["soft", "hard"] = "soft"
    C: float | Literal["auto"] = "auto"
    budget: int | None = None
    epochs: int = 200
    bias_rule: bool = True
    tol: float = 1e-2
    ordinal: bool = False
    _levels: list[Any] | None = field(init=False)  # the ordered classes with rows
    _valued: bool = field(init=False, default=True)  # False in the folds of a cross-validation
    _sizes: Sequence[int] = field(init=False, default=())  # of a path, only in a cross-validation
    learns_in_partitions: ClassVar[bool] = True
    #: Whether epochs continue until the gap is proven to be closed.
    proves: ClassVar[bool] = True

    def fit_preferences(
        self, X: Any, preferences: Sequence[Any], sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Fit the model to explicit preferences (label ranking).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
        preferences : sequence of (row, preferred label, other label)
            A row may have any number of preferences.
        sample_weight : array-like of shape (number of preferences,), optional

        Returns
        -------
        PRLClassifier
            The fitted model; :meth:`predict_ranking` orders the labels of a row.

        Raises
        ------
        DataError
            If the table or the preferences cannot be read.
        ParameterError, FormulaSyntaxError
            If a parameter is out of range.

        Examples
        --------
        >>> X = {"hour": [7, 8, 16, 17]}
        >>> wishes = [(0, "coffee", "tea"), (1, "coffee", "tea")]
        >>> wishes += [(2, "tea", "coffee"), (3, "tea", "coffee"), (3, "tea", "milk")]
        >>> model = PRLClassifier(degree=1, C=10).fit_preferences(X, wishes)
        >>> model.predict({"hour": [6, 18]})
        array(['coffee', 'tea'], dtype='<U6')
        """
        self._check_parameters()
        deadline = Deadline.of(self.time_limit)
        if self.ordinal:
            raise ParameterError("ordinal=True is only for fit; use ordinal=False for preferences.")
        with self._progress_bar():
            encoded = self._fit_table(X, None)
            if isinstance(encoded, PackedPartitions):
                rule = f"preferences on {encoded.n_rows:,} rows"
                raise ParameterError(f"{rule} {IN_MEMORY.format(advice='fit with classes')}")
            read, self.classes_ = read_preferences(preferences, encoded.shape[0], sample_weight)
            rows = RowCounts(np.ones(encoded.shape[0], dtype=np.int64))
            self._solve(encoded, read, rows, deadline=deadline)
            return self

    # -- learning -----------------------------------------------------------------------------

    @property
    def _decides(self) -> bool:
        """True if a rule votes, or the bias rule after a full search."""
        bias = self.stopped_ not in STOPPED_EARLY and self.rules_.intercept.any()
        return len(self.rules_) > 0 or bool(bias)

    def _learn(self, data: TrainingData, deadline: Deadline) -> tuple[bool, str]:
        self._fit_encoded(data, None, deadline)
        ended = self.stopped_ not in STOPPED_EARLY
        gap = open_share(self.value_, self.bound_)
        line = f"gap {gap:.2g}, {len(self.rules_)} rules, {self.stopped_}"
        ended = ended and self._decides
        return ended and isinstance(data.table, (OrderedTable, PackedTable)), line

    def _fit_encoded(
        self,
        data: TrainingData,
        known: Sequence[Column] | None,
        deadline: Deadline,
        stacklevel: int = 5,
    ) -> SolvedGame:
        """Fit to encoded rows, starting from ``known`` columns; return the solved game."""
        preferences, rows = self._of_classes(data)
        encoded = rows if isinstance(rows, RowGroups) else data.table
        return self._solve(
            encoded,
            preferences,
            rows,
            known or (),
            data.name,
            deadline=deadline,
            stacklevel=stacklevel,
        )

    def _check_parameters(self) -> None:
        """Raise an error if a parameter is out of range or a template cannot be read."""
        check_choice("margin", self.margin, ("soft", "hard"))
        check_integer("degree", self.degree)
        check_integer("epochs", self.epochs)
        check_integer("budget", self.budget, otherwise="None for the default")
        rule_limit(self.max_rules)
        if not (isinstance(self.C, str) and self.C == "auto"):
            check_number("C", self.C, 0, above=True, otherwise="'auto'")
        check_number("tol", self.tol, 0)
        check_number("depth_penalty", self.depth_penalty, 1, MAX_PENALTY)
        check_time_limit(self.time_limit)
        check_flag("bias_rule", self.bias_rule)
        check_flag("ordinal", self.ordinal)
        templates, polynomial = self._templates(), self.features == "polynomial"
        if self.ordinal and polynomial:
            raise ParameterError(
                "ordinal=True with features='polynomial'; expected features='rules', "
                "'conjunctions' or templates."
            )
        if self.monotone and (templates or polynomial):
            raise ParameterError(
                f"monotone={self.monotone!r} with features={self.features!r}; expected "
                "features='rules' or 'conjunctions', whose conditions have a direction."
            )

    def _searches(self) -> bool:
        return self.proves and isinstance(self.features, str) and self.features == "rules"

    def _templates(self) -> tuple[Formula, ...]:
        """Return the templates of ``features``, empty for a named family."""
        given: Any = self.features
        if isinstance(given, str) and given in FAMILIES:
            return ()
        listed = [given] if isinstance(given, (str, Formula)) else given
        right = isinstance(listed, (list, tuple)) and len(listed) > 0
        if not right or not all(isinstance(item, (str, Formula)) for item in listed):
            raise ParameterError(
                f"features={given!r}; expected one of {', '.join(map(repr, FAMILIES))}, a formula "
                "such as 'a & ~b', or a list of formulas."
            )
        for item in listed:
            check_no_keyword("features", item, {"features": FAMILIES})
        return tuple(parse(item) if isinstance(item, str) else item for item in listed)

    def _of_classes(self, data: TrainingData) -> tuple[Preferences, RowCounts | RowGroups]:
        """Return the preferences of rows with classes, and the counts of rows; set ``classes_``."""
        self.classes_ = data.classes
        known = data.present if self.ordinal else np.ones(len(data.classes), dtype=np.bool_)
        self._levels = data.classes[known].tolist() if self.ordinal else None
        places, n = np.where(known, np.cumsum(known) - 1, 0), int(known.sum())
        read = Preferences.of_ordered if self.ordinal else Preferences.of_classes
        if data.partitioned:
            if not (isinstance(self.features, str) and self.features in ("rules", "conjunctions")):
                advice = IN_MEMORY.format(advice="features='rules' or 'conjunctions'")
                raise ParameterError(f"features={self.features!r} {advice}")
            factors = np.where(data.present, data.factors, 1.0)[known]
            rows = data.rows(places, with_factors=False)
            groups = RowGroups(rows, n, factors, data.table.n_columns, read)
            return groups.preferences(), groups
        codes = places[data.codes]
        counted = np.where(data.weights > 0, data.sample_weights, 0.0)
        return read(codes, n, data.weights), RowCounts.of_classes(codes, n, counted)

    def _family(self, encoded: Any, preferences: Preferences) -> FeatureFamily:
        """Return the family of features on distinct training rows."""
        bias, degree = bool(self.bias_rule), int(self.degree)
        if not isinstance(encoded, (OrderedTable, PackedTable, RowGroups)):
            return MonomialFeatures(encoded, degree, bias, preferences)
        if templates := self._templates():
            return TemplateFeatures(encoded, bias, templates)
        least, asked = degree if self.features == "conjunctions" else 1, None
        if directions := self._encoding.directions:
            asked = required_signs(self._encoding.leaves, directions)
        penalty = float(self.depth_penalty)
        if isinstance(encoded, OrderedTable):
            number = preferences.n_classes
            return OrderedConjunctions(encoded, bias, number, degree, penalty, asked)
        options = bias, self._exclusive(), least, degree, penalty, asked
        if isinstance(encoded, PackedTable):
            return ConjunctionFeatures(encoded, *options)
        none = np.zeros((encoded.n_propositions, 0), dtype=np.uint64)
        return PartitionedConjunctions(PackedTable.of_columns(none, 0), *options, rows=encoded)

    def _generation(
        self, preferences: Preferences, family: FeatureFamily, C: float | None, *options: Any
    ) -> ColumnGeneration:
        return ColumnGeneration(RestrictedGame(preferences, family, C), *options)

    def _solve(
        self,
        encoded: Any,
        preferences: Preferences,
        rows: RowCounts | RowGroups,
        known: Sequence[Column] = (),
        name: str = "class",
        *,
        deadline: Deadline,
        stacklevel: int = 3,
    ) -> SolvedGame:
        """Solve the game, starting from ``known`` columns, and set the rules."""
        check_one_score(self, len(self.classes_))
        weight = float(preferences.weights.sum())
        given = automatic_C(weight, encoded) if isinstance(self.C, str) else float(self.C)
        C = None if self.margin == "hard" else given
        if isinstance(encoded, (OrderedTable, PackedTable)) and isinstance(rows, RowCounts):
            encoded, kind = encoded.distinct()
            rows = rows.merged(kind, encoded.n_rows)
            preferences = preferences.merged(kind, encoded.n_rows)
        family = self._family(encoded, preferences)
        known = [replace(column, scale=family.scale(column.feature)) for column in known]
        self._bar.at(0.0, "growing")
        many = isinstance(rows, RowGroups) and int(rows.numbers.sum()) > MAX_DEFAULT_ROWS
        large = len(preferences) > MANY_PREFERENCES
        usual = PARTITIONED_BUDGET if many else LARGE_BUDGET if large else DEFAULT_BUDGET
        budget = usual if self.budget is None else self.budget
        options = budget, self.epochs, self.tol, deadline, self._report, known
        generation = self._generation(preferences, family, C, *options)
        most, automatic = rule_limit(self.max_rules), isinstance(self.C, str)
        found = best_hypothesis(
            generation, given, most, self._sizes, self._signs, self.ordinal, automatic, self._valued
        )
        solved = SolvedGame(found, generation.game, rows, weight, name)
        self._take(found[0], solved)
        if advice := self._advice(found[0], preferences, family):
            warnings.warn(*advice, stacklevel=stacklevel)
        return solved

    def _take(self, outcome: Outcome, solved: SolvedGame) -> None:
        """Set the rules of an outcome, its value and certificate."""
        _, game, rows, weight, name = solved
        if isinstance(rows, RowGroups):
            rows.divide(getattr(column.feature, "propositions", ()) for column in outcome.columns)
            rows = RowCounts(rows.numbers, rows.of_class)
        names = None if self.ordinal else self.classes_.tolist()
        products = self.features == "polynomial"
        words = self._encoding.names if products else self._encoding.leaves
        found, start = rules_of(outcome, game, rows, words, names)
        nothing = outcome.reason in STOPPED_EARLY and not found
        if names is None:
            ends = largest_alone(rows) if nothing else start
            shift = [-float(ends[0]) if len(ends) == 1 else 0.0]  # two classes: the sign decides
            self._set_rules(found, None, shift, name, levels=self._levels, thresholds=ends + shift)
        else:
            self._set_rules(found, names, game.preferences.shares() if nothing else start)
        self.C_ = float(outcome.C)
        self.value_, self.bound_ = float(outcome.value), float(outcome.bound)
        self.gap_ = self.bound_ - self.value_
        below = f"{100 * open_share(self.value_, self.bound_):.2g} %"
        scope = game.family.scope
        self.certificate_ = f"The margin is at most {below} below the largest over {scope}."
        self._margin = self.value_ / (sum(outcome.weights) or 1.0)
        if outcome.selected is not None:  # votes are log odds
            self._margin = 1.0
        soft = self.margin == "soft" and self.value_ > 0
        self.nu_ = 1 / (self.value_ * self.C_ * weight) if soft else 0.0
        self.history_, self.stopped_ = EpochHistory(tuple(outcome.history)), outcome.reason
        self.n_iter_ = max(1, len(outcome.history))

    def _fit_sizes(
        self, data: TrainingData, known: Sequence[Column] | None, deadline: Deadline
    ) -> tuple[list[Self], Sequence[Column]]:
        """Return the models of all sizes, and the start of the next setting."""
        solved = self._fit_encoded(data, known, deadline)
        models = [self._limited(size, solved) for size in self._sizes or (None,)]
        return models, solved.game.columns

    def _limited(self, size: int | None, solved: SolvedGame) -> Self:
        """Return the model of at most ``size`` rules on the path of this model."""
        model, most = copy(self), math.inf if size is None else size
        within = [k for k, n in enumerate(solved.sizes) if n <= most]
        model._take(solved.outcomes[within[0] if within else -1], solved)
        return model

    def _signs(self, features: Sequence[Any]) -> IntArray | None:
        """Return the signs that ``monotone`` requires of votes for the second class, or None."""
        if not self._encoding.directions:
            return None
        asked = required_signs(self._encoding.leaves, self._encoding.directions)
        listed = (asked[list(feature.propositions)].tolist() for feature in features)
        return np.array([next(filter(None, own), 0) for own in listed], dtype=np.int64)

    def _advice(
        self, outcome: Outcome, preferences: Preferences, family: FeatureFamily
    ) -> tuple[str, type[Warning]] | None:
        """Return a warning about an open gap or a model without rules, or None."""
        taken = counted(len(outcome.history), "epoch")
        if outcome.reason == "time_limit":
            kept = "" if outcome.columns else " No rule was found: it predicts the largest class."
            return (
                f"stopped by the time limit after {taken}; the gap is "
                f"{open_share(self.value_, self.bound_):.2%} of the bound, above tol={self.tol:g}."
                f"{kept} Allow more time, or a larger tol."
            ), ConvergenceWarning
        clash = preferences.contradictions() if family.binary else 0
        why = f"; {clash:,} preferences contradict others on rows of equal propositions"
        why *= bool(clash) and not isinstance(family, PartitionedConjunctions)
        if self.margin == "hard" and self.value_ <= ZERO_SHARE * family.unit:
            kept = f"the soft margin at C={self.C_:g}" if outcome.softened else "mean strategies"
            few = "the selected rules" if outcome.reason != "inseparable" else "any rules"
            return (
                f"the hard margin's value is {max(self.value_, 0.0):.3g}: no vote of {few} "
                f"separates the classes{why}. The model keeps the rules of {kept}. "
                "Use margin='soft', or a larger degree."
            ), UserWarning
        if not outcome.columns:
            return (
                f"no rule has weight at C={self.C_:g}: every preference is a margin error{why}. "
                f"Use a larger C{', or more columns' * bool(clash)}."
            ), UserWarning
        if self.proves and outcome.reason in ("epochs", "columns"):
            more = "Allow more epochs, or a larger tol."
            if family.full:
                more = (
                    "More rules would divide the rows of the partitions into too many groups "
                    f"(there are {family.full:,}). Use a smaller C, degree or budget, or a "
                    "larger tol."
                )
            gap = 1 - outcome.history[-1].value / outcome.history[-1].bound
            return (
                f"the gap is {gap:.2%} of the bound after {taken}, above tol={self.tol:g}. {more}"
            ), ConvergenceWarning
        return None

    def _report(self, history: Sequence[Epoch]) -> None:
        """Show the progress of the last epoch."""
        epoch = history[-1]
        gap, bounded = open_share(epoch.value, epoch.bound), math.isfinite(epoch.bound)
        most = f", at most {epoch.bound:.6g}" * bounded
        line = (
            f"epoch {len(history)}: margin {epoch.value:.6g}{most}; "
            f"{epoch.columns} columns, {epoch.support} used by the best; {epoch.seconds:.1f} s"
        )
        known = f"gap {gap:.2g}, " * bounded + f"{epoch.support} rules"
        self._bar.at(share_done(1.0, gap, self.tol), "growing", known, line)

    def _new_encoder(self) -> Any:
        return None if self.features == "polynomial" else super()._new_encoder()

    def _read_plain(self, X: Any, *, reset: bool) -> Any:
        if self.features != "polynomial":
            return super()._read_plain(X, reset=reset)
        if isinstance(X, Table):
            X = np.asarray(X) if X.shape[1] else np.empty(X.shape)
        advice = "features='polynomial' multiplies numbers: encode or impute them first."
        return np.asarray(self._validated(X, advice, reset=reset, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.features == "polynomial":
            read = tags.input_tags
            read.sparse = read.allow_nan = read.string = read.categorical = False
        return tags


def automatic_C(total: float, table: Any) -> float:
    """Return the C of ``C="auto"`` for preferences of total weight ``total``."""
    return (AUTO_C_CUT if isinstance(table, OrderedTable) else AUTO_C) / math.sqrt(total)


def rules_of(
    outcome: Outcome,
    game: RestrictedGame,
    rows: RowCounts,
    words: Sequence[Any],
    names: Sequence[Any] | None,
) -> tuple[list[tuple[Feature, WeightedRule]], FloatArray]:
    """Return the features of positive weight as rules, and the start of the scores.

    The start is the vote of the bias rule for each class.  Ordered classes (``names`` is None) have
    one score with signed weights, and thresholds in place of the start.  A proposition that most
    rows satisfy is replaced by its opposite.  ``words`` are the columns of the encoded table.
    """
    ordered = names is None
    if outcome.selected is not None:
        votes, start = (
            [*zip(outcome.selected.features, outcome.selected.votes, strict=True)],
            outcome.selected.start,
        )
    else:
        votes, start = _votes_of(outcome, game, ordered)
    named: dict[Any, FloatArray] = {}
    for feature, own in votes:
        other = _rarer(game, feature, rows, words)
        if other is None:
            named[feature] = named.get(feature, 0.0) + own
        else:
            start = start - own if ordered else start + own
            named[other] = named.get(other, 0.0) - own
    found = []
    for feature, own in named.items():
        if own.any():
            fired = game.family.values(feature) != 0
            found.append(
                (feature, rows.described(feature.named(words), fired, own.tolist(), names))
            )
    return found, start


def _rarer(game: RestrictedGame, feature: Any, rows: RowCounts, words: Sequence[Any]) -> Any:
    """Return the opposite proposition if most rows satisfy ``feature``, or None."""
    if not isinstance(feature, Conjunction) or isinstance(game.family, PartitionedConjunctions):
        return None
    fired = game.family.values(feature)
    if 2 * rows.number[fired].sum() <= rows.number.sum():
        return None
    other = opposite(game.family.table, words, feature.propositions)
    return None if other is None else Conjunction(other)


def _votes_of(
    outcome: Outcome, game: RestrictedGame, ordered: bool
) -> tuple[list[tuple[Any, FloatArray]], FloatArray]:
    """Return the features with their votes, and the start, from the weights of the columns."""
    total, n_classes = sum(outcome.weights) or 1.0, game.preferences.n_classes
    votes: dict[Any, FloatArray] = defaultdict(lambda: np.zeros(n_classes))
    for column, q in zip(outcome.columns, outcome.weights, strict=True):
        votes[column.feature][column.winner] += column.scale * q / total
        votes[column.feature][column.loser] -= column.scale * q / total
    start = np.zeros(game.preferences.n_thresholds if ordered else n_classes)
    bias = votes.pop(game.family.always, np.zeros(n_classes))
    start += -bias[ABOVE] if ordered else bias
    for feature in [one for one in votes if isinstance(one, ThresholdStep)]:
        start[feature.first :] -= votes.pop(feature)[ABOVE]
    return [(feature, own[ABOVE:] if ordered else own) for feature, own in votes.items()], start


def largest_alone(rows: RowCounts) -> FloatArray:
    """Return thresholds that predict the largest ordered class for rows of score 0.

    >>> largest_alone(RowCounts.of_classes(np.array([0, 1, 1, 2]), 3, np.ones(4)))
    array([-1.,  1.])
    """
    assert rows.of_class is not None  # rows have classes
    sizes = rows.of_class.sum(axis=0)
    return np.where(np.arange(len(sizes) - 1) < sizes.argmax(), -1.0, 1.0)
