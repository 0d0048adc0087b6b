"""The learners of 16_league.py: ours, scikit-learn's, and those of installed other packages.

A learner makes a model for the tables of protocol.py, and may choose its settings from a grid.  Its
size is (rules, conditions) of a fitted model, or (None, None) for a support vector machine.  A rule
with votes for several classes is one rule, and so are the coefficients of a column.
"""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

import numpy as np
from protocol import BASELINES, spread, tuned
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier

import formulakern as fk

# -- sizes: (rules, conditions) of a fitted model -----------------------------------------------


def no_rules(_):
    return None, None


def weighted_rules(model):
    return len(model.rules_), model.rules_.n_conditions


def listed_rules(model):
    return len(model.rules_), model.rules_.n_conditions


def leaves(trees):
    """Return the number of leaves of scikit-learn's trees, and the lengths of their paths."""
    number = total = 0
    for fitted in trees:
        depth = np.zeros(fitted.node_count, dtype=int)
        for node in range(fitted.node_count):
            for child in (fitted.children_left[node], fitted.children_right[node]):
                if child >= 0:
                    depth[child] = depth[node] + 1
        ends = fitted.children_left < 0
        number, total = number + int(ends.sum()), total + int(depth[ends].sum())
    return number, total


def tree(model):
    return leaves([model[-1].tree_])


def forest(model):
    return leaves([one.tree_ for one in model[-1].estimators_])


def boosting(model):
    nodes = [one.nodes for some in model[-1]._predictors for one in some]
    ends = [some[some["is_leaf"] == 1] for some in nodes]
    return sum(map(len, ends)), sum(int(some["depth"].sum()) for some in ends)


def coefficients(model):
    number = int(model[-1].coef_.any(axis=0).sum())
    return number, number


def shapes(model):
    """Return the size of explainable boosting: a step on two columns has two conditions."""
    steps = [int(np.count_nonzero(np.asarray(scores))) for scores in model.term_scores_]
    lengths = [len(columns) for columns in model.term_features_]
    return sum(steps), sum(a * b for a, b in zip(steps, lengths, strict=True))


def rule_fits(model):
    found = set()
    for one in model[-1].estimators_:
        if hasattr(one, "coef"):  # a constant classifier of one against the rest has none
            first = len(one.coef) - len(one.rules_)
            names = [*range(first), *map(str, one.rules_)]
            found |= {name for name, weight in zip(names, one.coef, strict=True) if weight}
    return len(found), sum(1 + str(name).count(" and ") for name in found)


def stumps(model):
    some = [one for each in model[-1].estimators_ for one in getattr(each, "estimators_", ())]
    roots = {(one.tree_.feature[0], one.tree_.threshold[0]) for one in some}
    number = sum(feature >= 0 for feature, _ in roots)
    return int(number), int(number)


def splits_of_trees(model):
    return model[-1].complexity_, model[-1].complexity_


def points(model):
    number = sum(one.size_ for one in model.estimators_ if hasattr(one, "size_"))
    return number, number


# -- learners -----------------------------------------------------------------------------------


class Card(ClassifierMixin, BaseEstimator):
    """The rules of HKL with integer points up to ten."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.model_ = fk.HKLClassifier().fit(X, y).rules_.to_points(10, X, y)
        self.size_ = len(self.model_.rules)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class FasterRisk(ClassifierMixin, BaseEstimator):
    """FasterRisk: at most ten propositions with integer points up to five."""

    def fit(self, X, y):
        from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

        self.classes_ = np.unique(y)
        self.encoder_ = fk.PropositionEncoder(numeric="<=", cut_points=100)
        bits = np.asarray(self.encoder_.fit_transform(X), dtype=np.float64)
        signs = np.where(np.asarray(y) == self.classes_[1], 1, -1)
        search = RiskScoreOptimizer(bits, signs, k=min(10, bits.shape[1]))
        search.optimize()
        self.model_ = RiskScoreClassifier(*search.get_models(0))
        self.size_ = int(np.count_nonzero(self.model_.coefficients))
        return self

    def predict_proba(self, X):
        second = self.model_.predict_prob(np.asarray(self.encoder_.transform(X), dtype=np.float64))
        return np.column_stack([1 - second, second])


class Boomer(ClassifierMixin, BaseEstimator):
    """mlrl-boomer for tables: categories as codes, more than two classes as labels."""

    def _codes(self, X):
        coded = X.apply(lambda c: c.cat.codes.replace(-1, np.nan) if c.dtype == "category" else c)
        return coded.to_numpy(dtype=np.float32)

    def fit(self, X, y):
        from mlrl.boosting import BoomerClassifier

        self.classes_, codes = np.unique(y, return_inverse=True)
        several = len(self.classes_) > 2
        labels = np.eye(len(self.classes_))[codes] if several else codes[:, np.newaxis]
        named = [k for k, c in enumerate(X) if X[c].dtype == "category" and not X[c].cat.ordered]
        self.model_ = BoomerClassifier(random_state=1)  # its smallest seed is 1
        self.model_.fit(self._codes(X), labels.astype(np.uint8), nominal_feature_indices=named)
        return self

    def predict_proba(self, X):
        found = np.asarray(self.model_.predict_proba(self._codes(X)))
        if len(self.classes_) == 2 and found.shape[1] == 1:
            found = np.column_stack([1 - found, found])
        return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-12)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def boomer(model):
    """Return rules and conditions of a model of mlrl-boomer, which needs visitor classes."""
    from mlrl.common.cython.rule_model import RuleModelVisitor

    class Sizes(RuleModelVisitor):
        rules = conditions = 0

        def visit_empty_body(self, _):
            self.rules += 1

        def visit_conjunctive_body(self, body):
            self.rules += 1
            found = [getattr(body, name) for name in dir(body) if name.endswith("_indices")]
            self.conditions += sum(len(some) for some in found if some is not None)

        def visit_complete_head(self, _):
            pass

        def visit_partial_head(self, _):
            pass

    sizes = Sizes()
    model.model_.model_.visit(sizes)
    return sizes.rules, sizes.conditions


def scaled_logistic(**options):
    return make_pipeline(spread(scaled=True), LogisticRegression(max_iter=1000, **options))


def of_imodels(name, wrap=OneVsRestClassifier):
    import imodels

    learner = getattr(imodels, name)(random_state=0)
    return make_pipeline(spread(scaled=True), wrap(learner))


def figs():
    return of_imodels("FIGSClassifier", lambda learner: learner)  # for any number of classes


def explainable():
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=0, n_jobs=1)


def default_boosting():
    """Return the pipeline of protocol.py with its default settings."""
    places = BASELINES["boosting"]()[0][:-1]
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return make_pipeline(*(step for _, step in places.steps), model)


#: The score that chooses settings.
SCORING = "f1_macro"


@dataclass(frozen=True)
class Learner:
    """A model to fit, the grid of its settings, and the function that counts its size."""

    make: Callable[[], BaseEstimator]
    size: Callable
    package: str = "formulakern"
    grid: dict | list | None = None
    readable: bool = False

    @property
    def installed(self):
        return find_spec(PACKAGES.get(self.package, self.package)) is not None

    def fit(self, X, y):
        """Return a fitted model; number columns for scikit-learn are made once, not per fold."""
        model = self.make()
        if self.grid is None:
            return model.fit(X, y)
        if not isinstance(model, Pipeline):
            return tuned(model, self.grid, X, y, SCORING).best_estimator_
        encoder = model[:-1]
        best = tuned(model[-1], self.grid, encoder.fit_transform(X, y), y, SCORING)
        return Pipeline([("encoder", encoder), ("model", best.best_estimator_)])

    @property
    def settings(self):
        """Return a digest of all settings, which identifies outdated results."""
        model = self.make()
        given = (model[-1] if isinstance(model, Pipeline) else model).get_params()
        chosen = self.grid and (self.grid, SCORING)
        return f"{crc32(repr((sorted(given.items(), key=str), chosen)).encode()):08x}"

    @property
    def version(self):
        """Return the package and its version, ours with the commit."""
        try:
            text = f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            text = self.package
        return f"{text} {commit()}" if self.package == "formulakern" else text


#: package → module, if they differ
PACKAGES = {
    "scikit-learn": "sklearn",
    "interpret-core": "interpret",
    "mlrl-boomer": "mlrl",
}


@cache
def commit():
    """Return the commit of this repository, if it is one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


C_GRID = {"C": [10.0**k for k in range(-3, 4)]}
SVC_GRID = {"formula": ("a", "a & b", "(a & ~b) | c"), "C": [0.1, 1.0, 10.0, 100.0]}
OURS = {
    "HKL": Learner(fk.HKLClassifier, weighted_rules),
    "HKL CV": Learner(fk.HKLClassifierCV, weighted_rules),
    "PRL": Learner(fk.PRLClassifier, weighted_rules),
    "PRL CV": Learner(fk.PRLClassifierCV, weighted_rules),
    "RIPPER": Learner(lambda: fk.RuleListClassifier(random_state=0), listed_rules),
    "CN2": Learner(lambda: fk.RuleListClassifier("cn2"), listed_rules),
    "optimal list": Learner(lambda: fk.RuleListClassifier("optimal", time_limit=10), listed_rules),
    "formula SVC": Learner(fk.FormulaSVC, no_rules),
    "formula SVC CV": Learner(fk.FormulaSVC, no_rules, grid=SVC_GRID),
    "formula search": Learner(lambda: fk.FormulaSearch(random_state=0), no_rules),
    "points": Learner(lambda: OneVsRestClassifier(Card()), points),
}
SKLEARN = {
    "logistic": (scaled_logistic, coefficients, None),
    "logistic CV": (scaled_logistic, coefficients, C_GRID),
    "logistic balanced CV": (
        lambda: scaled_logistic(class_weight="balanced"), coefficients, C_GRID
    ),
    "tree": (
        lambda: make_pipeline(spread(), DecisionTreeClassifier(random_state=0)), tree, None
    ),
    "tree CV": (lambda: BASELINES["tree"]()[0], tree, BASELINES["tree"]()[1]),
    "forest": (
        lambda: make_pipeline(spread(), RandomForestClassifier(random_state=0)), forest, None
    ),
    "forest CV": (lambda: BASELINES["forest"]()[0], forest, BASELINES["forest"]()[1]),
    "boosting": (default_boosting, boosting, None),
    "boosting CV": (lambda: BASELINES["boosting"]()[0], boosting, BASELINES["boosting"]()[1]),
}  # fmt: skip
LEARNERS = OURS | {
    name: Learner(make, size, "scikit-learn", grid, not name.startswith(("forest", "boosting")))
    for name, (make, size, grid) in SKLEARN.items()
} | {
    "EBM": Learner(explainable, shapes, "interpret-core", readable=True),
    "boomer": Learner(Boomer, boomer, "mlrl-boomer"),
    "RuleFit": Learner(
        lambda: of_imodels("RuleFitClassifier"), rule_fits, "imodels", readable=True
    ),
    "FIGS": Learner(figs, splits_of_trees, "imodels", readable=True),
    "FasterRisk": Learner(
        lambda: OneVsRestClassifier(FasterRisk()), points, "fasterrisk", readable=True
    ),
    "boosted rules": Learner(
        lambda: of_imodels("BoostedRulesClassifier"), stumps, "imodels", readable=True
    ),
}  # fmt: skip
