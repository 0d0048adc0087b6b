"""PublishedPRL: the published algorithm of preference and rule learning."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from formulakern.checks import check_choice, check_integer
from formulakern.docstrings import parameters_from
from formulakern.errors import ParameterError
from formulakern.estimators.prl.classifier import PRLClassifier
from formulakern.estimators.validation import random_source
from formulakern.learning.prl.column_generation import ColumnGeneration
from formulakern.learning.prl.features import FeatureFamily
from formulakern.learning.prl.preferences import Preferences
from formulakern.learning.prl.published import IteratedGame, RandomColumns
from formulakern.learning.prl.restricted_game import RestrictedGame


@parameters_from(PRLClassifier)
@dataclass(eq=False, repr=False)
class PublishedPRL(PRLClassifier):
    """The published algorithm of preference and rule learning: random columns, fictitious play.

    Each epoch draws a fixed number of random columns, solves the game of these columns, and
    replaces columns without weight.  The best hypothesis of all epochs is kept.
    :class:`PRLClassifier` solves the same game over all columns, faster, and proves its margin.

    Parameters
    ----------
    encoder : "auto", None or transformer, default="auto"
        The encoder of the table.  ``"auto"``: numbers are cut at 8 points of a column.  None:
        the table must be 0/1.  A transformer is cloned and fitted.
    solver : {"fictitious-play", "multiplicative-weights", "linprog"}, default="fictitious-play"
        The solver of the games of drawn columns.
    solver_iterations : int, default=1_000_000
        Rounds of fictitious play or multiplicative weights.
    budget : int, default=1000
        Columns of each game.
    epochs : int, default=200
        Rounds of drawing columns and solving the game.
    tol : float, default=1e-2
        Ignored.
    max_rules : int, "auto" or None, default=None
        The limit of rules; ``"auto"``: 15, None: no limit.
    ordinal : bool, default=False
        Only False; ordered classes are not supported.
    random_state : int, RandomState or None, default=0
        For the columns.

    Attributes
    ----------
    rules_, value_, bound_, gap_, C_, nu_, history_, stopped_, n_iter_, classes_
        Rules, margin and history, described in :class:`PRLClassifier`.  The bound is computed once,
        at the end.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the table has names.

    References
    ----------
    Polato & Aiolli (2019), Interpretable preference learning: a game theoretic framework for large
    margin on-line feature and rule learning, AAAI 33, doi:10.1609/aaai.v33i01.33014723.

    Examples
    --------
    >>> from formulakern import datasets
    >>> X, y = datasets.tic_tac_toe()
    >>> model = PublishedPRL("conjunctions", degree=3, epochs=5, solver_iterations=2000).fit(X, y)
    >>> model.value_ <= model.bound_
    True
    """

    _: KW_ONLY
    solver: Literal["fictitious-play", "multiplicative-weights", "linprog"] = "fictitious-play"
    solver_iterations: int = 1_000_000
    budget: int = 1000
    max_rules: int | Literal["auto"] | None = None
    random_state: int | np.random.RandomState | None = 0
    learns_in_partitions: ClassVar[bool] = False
    proves: ClassVar[bool] = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(
            "solver", self.solver, ("fictitious-play", "multiplicative-weights", "linprog")
        )
        check_integer("solver_iterations", self.solver_iterations)
        check_integer("budget", self.budget)
        if self.ordinal:
            raise ParameterError(
                "ordinal=True; PublishedPRL supports only classes without an order. Use "
                "PRLClassifier."
            )

    def _generation(
        self, preferences: Preferences, family: FeatureFamily, C: float | None, *options: Any
    ) -> ColumnGeneration:
        game = RestrictedGame(preferences, family, C)
        if self.solver != "linprog":
            rounds = self.solver_iterations
            game = IteratedGame(preferences, family, C, solver=self.solver, max_iter=rounds)
        seeds = random_source(self.random_state).randint(2**31 - 1, size=4)
        return RandomColumns(game, *options, generator=np.random.default_rng(seeds))
