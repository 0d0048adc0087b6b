"""Time limits are kept between small pieces of work, and Ctrl-C keeps the best so far."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import formulakern as fk
from formulakern import FormulaSVC
from formulakern.compilation import CompiledFunction
from formulakern.deadline import UNLIMITED, Deadline, TimeIsOver
from formulakern.estimators.path_search import setting_deadline
from formulakern.estimators.search import estimator as scoring
from formulakern.estimators.svm import machines as cross_validation
from formulakern.learning.prl import column_generation
from formulakern.mining.search import CompiledSearch
from formulakern.solvers import capped_lp
from formulakern.solvers.hierarchical import newton

MODELS = {
    "PRL": lambda **more: fk.PRLClassifier(degree=3, C=5, tol=1e-6, **more),
    "PRL, few rules": lambda **more: fk.PRLClassifier(C=5, max_rules=3, tol=1e-6, **more),
    "PRL, cross-validated": lambda **more: fk.PRLClassifierCV(tol=1e-6, **more),
    "HKL": lambda **more: fk.HKLClassifier(C=300, tol=1e-6, **more),
    "HKL, few rules": lambda **more: fk.HKLClassifier(C=300, max_rules=3, tol=1e-6, **more),
    "HKL, hinge": lambda **more: fk.HKLClassifier(
        C=300, loss="hinge", tol=1e-6, max_rules=None, **more
    ),
    "HKL, cross-validated": lambda **more: fk.HKLClassifierCV(tol=1e-6, **more),
    "search": lambda **more: fk.FormulaSearch(4, random_state=0, **more),
}
#: What may be interrupted by its reports, and where these are called.
TOLD = [name for name in MODELS if name.startswith(("PRL", "HKL"))]


def table(classes=2, m=450, p=14):
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (m, p))
    score = 2 * X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + random.normal(0, 0.5, m)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


class SlowClock:
    """A watch that shows how much was computed: work, not time, moves it on."""

    def __init__(self, monkeypatch):
        self.seconds = 0.0
        monkeypatch.setattr(Deadline, "clock", staticmethod(self.read))
        self.spends(monkeypatch, CompiledFunction, "__call__", 0.005)
        self.spends(monkeypatch, newton, "_target", 0.02)
        self.spends(monkeypatch, newton, "_joint_target", 0.02)
        self.spends(monkeypatch, capped_lp._State, "step", 0.02)
        self.spends(monkeypatch, scoring.Scoring, "score", 0.2)
        advance = CompiledSearch.advance

        def slowly(search, work):
            self.seconds += 1e-7 * work
            return advance(search, max(1, work // 20_000))

        monkeypatch.setattr(CompiledSearch, "advance", slowly)

    def read(self):
        self.seconds += 1e-6
        return self.seconds

    def spends(self, monkeypatch, owner, name, seconds):
        usual = getattr(owner, name)

        def spending(*args, **options):
            self.seconds += seconds
            return usual(*args, **options)

        monkeypatch.setattr(owner, name, spending)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_limit_is_kept_between_small_pieces_of_work(monkeypatch, name, classes):
    X, y = table(classes)
    clock = SlowClock(monkeypatch)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MODELS[name](time_limit=1.5).fit(X, y)
    assert clock.seconds <= 2.0
    best = getattr(model, "best_estimator_", model)
    said = " ".join(str(one.message) for one in told if one.category is ConvergenceWarning)
    # where machine code is in this process already, a fit may come to its other limits in time
    asked = {"time_limit": "the time limit", "optimal": "time limit"}
    path = getattr(best, "path_", ())
    gap = path[-1].gap if len(path) else getattr(best, "gap_", np.inf)  # without a limit of rules
    reached = gap <= getattr(best, "tol", 0.0)  # as the time ended
    assert reached or asked.get(best.stopped_, "gap") in said
    if name != "search":
        assert len(best.rules_) > 0
    assert model.score(X, y) > np.bincount(y).max() / len(y)


#: What holds a rule only if there was time for one.
OTHERS = {
    "PRL, hard margin": lambda **more: fk.PRLClassifier(margin="hard", **more),
    "PRL, random columns": lambda **more: fk.PublishedPRL(solver="linprog", **more),
    "PRL, ordered": lambda **more: fk.PRLClassifier(ordinal=True, **more),
    "PRL, no bias rule": lambda **more: fk.PRLClassifier(bias_rule=False, **more),
    "HKL, ordered": lambda **more: fk.HKLClassifier(ordinal=True, **more),
}


@pytest.mark.parametrize("name", [*TOLD, *OTHERS])
@pytest.mark.parametrize("classes", [2, 3])
def test_without_time_the_largest_class_is_predicted_at_least(monkeypatch, name, classes):
    X, y = table(classes, m=300)
    y[np.arange(300) % 10 < 6] = classes - 1
    SlowClock(monkeypatch)
    make = (MODELS | OTHERS)[name]
    for limit in (0, 1e-9):
        model = make(time_limit=limit)
        with pytest.warns(ConvergenceWarning) as told:
            model.fit(X, y)
        assert model.score(X, y) >= np.bincount(y).max() / len(y) - 0.02
        assert not any("nan" in str(one.message) for one in told)


SHARES = {2: [0.3, 0.7], 3: [0.2, 0.6, 0.2]}


@pytest.mark.parametrize("tau", [0.5, 3.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_ordered_classes_are_told_apart_in_any_time(monkeypatch, classes, tau):
    random = np.random.default_rng(1)
    X, y = random.integers(0, 2, (90, 8)), random.choice(classes, 90, p=SHARES[classes])
    clock = SlowClock(monkeypatch)
    for limit in (0, 0.05, 0.2, 0.5):
        clock.seconds = 0.0
        model = fk.HKLClassifier(
            ordinal=True, C=0.3, tol=1e-9, logit_adjustment=tau, time_limit=limit
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        if model.stopped_ != "time_limit":
            assert limit > 0
            break
        predicted = model.predict(X)
        assert np.mean(predicted == y) >= np.bincount(y).max() / len(y)
        assert (predicted == model.rules_.predict(X)).all()
        decided = np.log(model.predict_proba(X)) - model.adjustment_
        assert (predicted == decided.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("name", "n_settings", "place", "chosen"),
    [
        ("HKLClassifierCV", 3, 20, {"depth_penalty_": 2.0}),
        ("PRLClassifierCV", 2, 13, {"degree_": 2}),
    ],
)
def test_settings_are_not_compared_where_encoding_took_that_time(
    monkeypatch, name, n_settings, place, chosen
):
    X, y = table(3)
    clock = SlowClock(monkeypatch)
    clock.spends(monkeypatch, fk.PropositionEncoder, "fit_table", 1.0)
    search = getattr(fk, name)(time_limit=4.0, encoder=fk.PropositionEncoder())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        search.fit(X, y)
    said = f"stopped by the time limit after 0 of {n_settings} settings: a middle setting"
    assert said in " ".join(str(one.message) for one in told)
    assert clock.seconds <= 5.0
    assert vars(search).items() >= (chosen | {"temperature_": 1.0, "best_index_": place}).items()
    assert search.cv_results_["C"][place] == search.C_
    assert np.isnan(search.cv_results_["mean_score"]).all()
    assert len(search.rules_) > 0
    assert search.score(X, y) > np.bincount(y).max() / len(y)
    if name == "PRLClassifierCV":
        assert np.allclose(search.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("m", [300, 900])
@pytest.mark.parametrize("limit", [0, 1e-9, 3.5])
def test_a_search_without_time_keeps_the_model_of_a_sample(monkeypatch, m, limit):
    X, y = table(3, m=m)
    clock = SlowClock(monkeypatch)
    usual = FormulaSVC._train

    def slowly(model, rows, classes, boxes, deadline, **options):
        if deadline.limited:  # the time is over before the solver begins
            clock.seconds += 10
        return usual(model, rows, classes, boxes, deadline, **options)

    monkeypatch.setattr(FormulaSVC, "_train", slowly)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MODELS["search"](time_limit=limit).fit(X, y)
    assert len(model.best_estimator_.support_) > 0
    assert 0 <= model.best_estimator_.gap_ < 1e-2  # of the problem of the sample
    assert model.score(X, y) > 0.5
    assert not any("nan" in str(one.message) for one in told)


def test_all_values_of_C_are_within_one_limit(monkeypatch):
    X, y = table(m=200)
    clock = SlowClock(monkeypatch)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = fk.FormulaSVCCV(Cs=[0.1, 2.0, 30.0], time_limit=0).fit(X, y)
    said = " ".join(str(one.message) for one in told)
    assert "time limit after 0 of 3 values of C: the one nearest" in said
    assert "the time limit was reached" in said  # by the last fit
    assert model.C_ == 2.0
    assert np.isnan(model.cv_results_["mean_score"]).all()
    clock.seconds = 0.0
    clock.spends(monkeypatch, cross_validation._Folds, "solve", 0.3)
    with pytest.warns(ConvergenceWarning, match="time limit after 1 of 3 values of C: the best of"):
        model = fk.FormulaSVCCV(Cs=[0.1, 2.0, 30.0], cv=2, time_limit=1).fit(X, y)
    assert clock.seconds <= 1.2
    assert model.C_ == 0.1
    assert model.score(X, y) > 0.8


def test_parts_of_a_deadline(monkeypatch):
    now = [10.0]
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: now[0]))
    deadline = Deadline.of(8)
    assert (deadline.left(), deadline.part(0.25).end, deadline.over(7.9)) == (8.0, 12.0, False)
    now[0] = 17.0
    assert (deadline.taken(), deadline.over(), deadline.over(1.0)) == (7.0, False, True)
    now[0] = 30.0
    assert (deadline.left(), deadline.part(0.5).over()) == (0.0, True)
    with pytest.raises(TimeIsOver):
        deadline.check()
    UNLIMITED.check()
    assert UNLIMITED.part(0.0) is UNLIMITED
    now[0] = 10.0
    assert setting_deadline(deadline, 2).left() == 4.0
    assert setting_deadline(deadline, 100).left() == 2.0  # a quarter of all at least
    now[0] = 17.0
    assert setting_deadline(deadline, 100).left() == 1.0
    now[0] = 18.0
    assert setting_deadline(deadline, 100).over()


def test_machine_code_is_waited_for_no_longer_than_there_is_time():
    from formulakern.compilation import compiled

    @compiled("int64(int64)")
    def third(x):
        return x // 3

    assert not third.ready(Deadline.of(0.0))
    assert third.ready(Deadline.of(0.0), wait=False) is False
    assert third.ready(Deadline.of(100.0))
    assert third(7) == 2
    assert third.ready(Deadline.of(0.0))


@pytest.mark.parametrize("name", TOLD)
def test_an_interrupt_at_a_report_keeps_the_best_so_far(monkeypatch, name):
    X, y = table(m=200)
    called = []
    hkl = name.startswith("HKL")
    owner = fk.HKLClassifier if hkl else column_generation.ColumnGeneration
    usual = getattr(owner, "_report" if hkl else "_end_epoch")

    def report(*args):
        usual(*args)
        called.append(args)
        if len(called) == 3 * (7 if "cross" in name else 1):
            raise KeyboardInterrupt

    monkeypatch.setattr(owner, usual.__name__, report)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MODELS[name]().fit(X, y)
    best = getattr(model, "best_estimator_", model)
    assert len(best.rules_) > 0
    assert model.score(X, y) > np.bincount(y).max() / len(y)
    if "cross" in name:
        assert any("interrupted after" in str(one.message) for one in told)
    else:
        assert best.stopped_ == "interrupted"
    assert not any("Use a larger C" in str(one.message) for one in told)
