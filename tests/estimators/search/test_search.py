"""FormulaSearch: the best of many, honestly ranked; scikit-learn's manners; what goes wrong."""

import _thread
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import (
    DataError,
    FormulaSearch,
    FormulaSVC,
    FormulaSyntaxError,
    ParameterError,
    datasets,
)
from formulakern.errors import MissingDependencyError
from formulakern.estimators.search import estimator as search_run
from formulakern.estimators.search.candidates import draw_candidates, equal_kernels
from formulakern.estimators.search.estimator import (
    CandidateScore,
    SearchResults,
    log_scores,
    quick_splits,
    ratio_of,
)
from formulakern.measures import radius_margin_ratio
from formulakern.syntax import formula as formulas


@parametrize_with_checks([FormulaSearch(2, C=10, compare=True, cv=2)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def boards():
    X, y = datasets.tic_tac_toe()
    chosen = np.random.default_rng(0).permutation(len(y))[:300]
    return X[chosen[:200]], y[chosen[:200]], X[chosen[200:]]


@pytest.fixture(scope="module")
def truth_table():
    """All assignments of six columns, labelled by a rule of three."""
    return datasets.make_formula_classification("(a & ~b) | c", n=6)


GIVEN = ["a", "a & b", "a & b & c", "a | b", "a -> b"]


# -- drawing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variables", ["bound", "free", "distinct"])
def test_drawn_formulas_have_different_kernels(variables):
    drawn = draw_candidates(40, variables, 0.4, 0.7, np.random.default_rng(0))
    assert len(drawn) == 40
    X = np.random.default_rng(1).integers(0, 2, (25, 15))
    grams = [fk.kernel(formula, variables)(X).tobytes() for formula in drawn]
    assert len(set(grams)) == 40


def test_few_kernels_end_the_drawing(boards):
    X, y, _ = boards
    with pytest.warns(UserWarning, match=r"only \d+ formulas with different kernels"):
        search = FormulaSearch(60, "radius-margin", p=0.0, random_state=0).fit(X, y)
    kernels = {FormulaSVC(f)._make_kernel(X).polynomial() for f in search.results_["formula"]}
    assert len(kernels) == len(search.results_["formula"]) < 60


def test_reproducible_whatever_the_jobs(boards):
    X, y, later = boards
    runs = [
        FormulaSearch(6, compare=True, C=[1, 10], random_state=3, n_jobs=jobs).fit(X, y)
        for jobs in (None, 2, 3)
    ]
    for other in runs[1:]:
        assert other.results_["formula"] == runs[0].results_["formula"]
        for name in ("rank", "ratio", "radius", "margin", "mean_score", "std_score"):
            np.testing.assert_array_equal(other.results_[name], runs[0].results_[name])
        np.testing.assert_array_equal(
            other.decision_function(later), runs[0].decision_function(later)
        )
    different = FormulaSearch(6, "radius-margin", random_state=4).fit(X, y)
    assert different.results_["formula"] != runs[0].results_["formula"]


# -- what is computed --------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("margin_C", [None, 1.0, 50.0])
def test_ratios_are_those_of_the_measures(boards, margin_C, normalize):
    X, y, _ = boards
    search = FormulaSearch(GIVEN, "radius-margin", margin_C=margin_C, normalize=normalize).fit(X, y)
    encoded = fk.PropositionEncoder().fit_transform(X)
    for i, text in enumerate(GIVEN):
        k = fk.kernel(text)
        gram = (k.normalized() if normalize else k)(encoded)
        expected = radius_margin_ratio(gram, y, C=margin_C, normalize=False)
        assert search.results_["ratio"][i] == pytest.approx(expected, rel=1e-6)
        if np.isfinite(expected):
            both = search.results_["radius"][i] / (2 * search.results_["margin"][i])
            assert both**2 == pytest.approx(expected, rel=1e-6)
    best = search.best_index_
    assert search.results_["ratio"][best] == pytest.approx(np.nanmin(search.results_["ratio"]))
    assert search.best_formula_ == fk.parse(GIVEN[best])
    assert search.results_["rank"][best] == 1


def test_several_classes_are_compared_one_against_the_rest():
    X, y = datasets.balance_scale()
    chosen = np.random.default_rng(0).permutation(len(y))[:150]
    gram = fk.kernel("a & b").normalized()(fk.PropositionEncoder().fit_transform(X[chosen]))
    before = gram.copy()
    radius, margin, ratio = ratio_of(gram, y[chosen], 1.0)
    np.testing.assert_array_equal(gram, before)
    assert ratio == pytest.approx(radius_margin_ratio(gram, y[chosen], C=1.0), rel=1e-6)
    assert (radius / margin / 2) ** 2 == pytest.approx(ratio)
    search = FormulaSearch(3, "roc_auc", compare=True, random_state=0).fit(X[chosen], y[chosen])
    assert len(search.classes_) == 3
    assert search.decision_function(X[chosen]).shape == (150, 3)
    assert np.isfinite(search.results_["ratio"]).all()


@pytest.mark.parametrize("criterion", ["accuracy", "roc_auc", "f1_macro"])
def test_scores_are_those_of_cross_validation(boards, criterion):
    X, y, _ = boards
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    search = FormulaSearch(GIVEN, criterion, C=3, cv=folds, class_weight=None).fit(X, y)
    encoded = fk.PropositionEncoder().fit_transform(X)
    for i, text in enumerate(GIVEN):
        machine = SVC(kernel=fk.kernel(text).normalized(), C=3)
        scores = cross_val_score(machine, encoded, y, cv=folds, scoring=criterion)
        assert search.results_["mean_score"][i] == pytest.approx(scores.mean(), abs=1e-9)
        assert search.results_["std_score"][i] == pytest.approx(scores.std(), abs=1e-9)
    means = search.results_["mean_score"]
    assert means[search.best_index_] == pytest.approx(means.max(), abs=1e-12)


def test_a_scorer_of_ones_own(boards):
    X, y, _ = boards

    def few_vectors(machine, gram, classes):
        return -float(len(machine.support_))

    search = FormulaSearch(GIVEN, few_vectors).fit(X, y)
    assert (search.results_["mean_score"] < -10).all()


def test_the_best_is_fitted_as_usual(boards):
    X, y, later = boards
    search = FormulaSearch(6, C=[2, 5], random_state=0, class_weight="balanced").fit(X, y)
    alone = FormulaSVC(search.best_formula_, C=search.C_, class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(search.decision_function(later), alone.decision_function(later))
    np.testing.assert_array_equal(search.predict(later), alone.predict(later))
    assert search.best_estimator_.kernel_ == alone.kernel_
    assert search.n_features_in_ == 9
    assert list(search.feature_names_in_) == list(X.names)


def test_the_rule_behind_the_data_is_preferred(truth_table):
    X, y = truth_table
    others = ["a & b", "a | b", "a <-> b", "(a | b) & c", "a -> (b -> c)"]
    search = FormulaSearch(
        [*others, "(a & ~b) | c"], "radius-margin", "distinct", margin_C=None, encoder=None
    ).fit(np.asarray(X), y)
    assert str(search.best_formula_) == "a & ~b | c"


def test_kernels_are_candidates_too(boards):
    X, y, later = boards
    k = fk.kernel("a & b") + 0.5 * fk.kernel("a -> b").normalized()
    search = FormulaSearch([k, "a"], normalize=False).fit(X, y)
    assert search.results_["formula"][0] is k
    assert search.best_formula_ in (k, fk.parse("a"))
    assert len(search.predict(later)) == 100


def test_domains(boards):
    X, y, _ = boards
    domains = {"corner": [X.names[0], X.names[8]], "middle": [X.names[4]]}
    texts = ["a:corner & b:middle", "a:corner & b:corner"]
    search = FormulaSearch(texts, domains=domains).fit(X, y)
    assert search.best_estimator_.kernel_(np.eye(27)).shape == (27, 27)
    assert search.results_["status"] == ["ok", "ok"]


def test_log_loss_is_that_of_calibrated_decisions(boards):
    """Against scikit-learn, one fold and candidate at a time."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import RepeatedStratifiedKFold

    X, y, _ = boards
    X, y = X[np.arange(80)], y[:80]
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=1)
    search = FormulaSearch(["a", "a & b"], C=3, cv=folds, class_weight=None).fit(X, y)
    encoded = fk.PropositionEncoder().fit_transform(X)
    means = []
    for text in ("a", "a & b"):
        gram = fk.kernel(text).normalized()(encoded)
        rows, decisions = [], []
        for train, test in folds.split(encoded, y):
            model = SVC(C=3, kernel="precomputed").fit(gram[np.ix_(train, train)], y[train])
            rows.extend(test)
            decisions.extend(model.decision_function(gram[np.ix_(test, train)]))
        d = np.array(decisions)[:, None] / np.std(decisions)
        platt = LogisticRegression(C=1000, tol=1e-10).fit(d, y[rows])
        right = platt.predict_log_proba(d)[np.arange(len(d)), (y[rows] == "positive").astype(int)]
        means.append([right[np.array(rows) == row].mean() for row in range(80)])
    np.testing.assert_allclose(search.results_["mean_score"], np.mean(means, axis=1), atol=1e-6)
    best = search.best_index_
    difference = np.subtract(means[best], means[1 - best])
    assert search.results_["behind"][1 - best] == pytest.approx(difference.mean(), abs=1e-6)
    error = difference.std(ddof=1) / 80**0.5
    assert search.results_["error"][1 - best] == pytest.approx(error, abs=1e-6)
    assert search.results_["behind"][best] == search.results_["error"][best] == 0


def test_probabilities_of_several_classes():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    good = np.eye(3)[codes] + rng.normal(0, 0.5, (300, 3))
    chance = log_scores(rng.normal(0, 1, (300, 3)), codes).mean()
    shares = np.bincount(codes) / 300
    assert chance == pytest.approx((shares * np.log(shares)).sum(), abs=0.02)
    assert log_scores(good, codes).mean() > -0.5
    np.testing.assert_allclose(log_scores(7 * good + 2, codes), log_scores(good, codes))
    turned = log_scores(-good, codes)  # worse than none is none
    np.testing.assert_allclose(turned, np.log(shares)[codes], atol=1e-3)


def test_the_majority_class_is_no_good_choice():
    """Four of five rows have the majority class; a product of two columns separates the others."""
    X, _ = datasets.make_formula_classification("a", n=7)
    X = np.asarray(X)
    y = np.where(X[:, 0] & X[:, 1] & (X[:, 2] | X[:, 3]), "rare", "common")
    assert np.mean(y == "common") > 0.8
    search = FormulaSearch(5, random_state=0).fit(X, y)
    assert set(search.predict(X)) == {"rare", "common"}
    assert search.best_estimator_.score(X, y) > 0.95
    assert str(search.best_formula_) != "x1"


def test_every_C_is_tried_for_the_best(boards):
    X, y, _ = boards
    X, y = X[np.arange(0, 200, 2)], y[::2]
    search = FormulaSearch(GIVEN, C=[0.01, 1, 30], cv=2, random_state=0).fit(X, y)
    results = search.results_
    for place, (text, C) in enumerate(zip(results["formula"], results["C"], strict=True)):
        found = {
            c: FormulaSearch([text], C=c, cv=2, random_state=0).fit(X, y).results_["mean_score"][0]
            for c in (0.01, 1.0, 30.0)
        }
        assert results["mean_score"][place] == pytest.approx(found[C])
        if place == search.best_index_:
            assert found[C] == pytest.approx(max(found.values()))
    assert search.C_ == search.best_estimator_.C == results["C"][search.best_index_]
    assert "C" in str(results).splitlines()[1]


def test_a_quick_comparison_finds_those_that_are_scored_on_all_folds(boards):
    X, y, _ = boards
    seed = np.random.RandomState(0).randint(2**31 - 1, size=5)[4]
    for rows in (200, 100):
        few = np.arange(rows)
        search = FormulaSearch(GIVEN, C=[1, 10, 100], random_state=0).fit(X[few], y[:rows])
        results, scored = search.results_, []
        for place, text in enumerate(GIVEN):
            alone = FormulaSearch([text], C=results["C"][place], random_state=0)
            quick = quick_splits(alone._splits(y[:rows], seed))
            scored.append(results["status"][place] == "ok")
            if not scored[-1]:
                assert results["status"][place] == "left out at first"
                assert results["C"][place] == 10
                alone.set_params(cv=quick)
            expected = alone.fit(X[few], y[:rows]).results_["mean_score"][0]
            assert results["mean_score"][place] == pytest.approx(expected)
        assert sum(scored) == 2
        assert results["rank"][scored].max() == 2
        assert np.isfinite(results["behind"]).all()
    every = FormulaSearch(GIVEN, cv=3, random_state=0).fit(X, y)
    assert every.results_["status"] == ["ok"] * 5
    accuracy = FormulaSearch(GIVEN, "accuracy", random_state=0).fit(X, y).results_
    assert np.isfinite(accuracy["behind"]).all()
    np.testing.assert_array_equal(np.isnan(accuracy["error"]), accuracy["rank"] > 2)  # of one fold


def test_scores_that_fail_on_all_folds(boards):
    """A scorer that fails where many rows train; the quick comparison is left."""
    X, y, _ = boards

    def few_rows(machine, gram, classes):
        return np.nan if gram.shape[1] > 100 else float(len(machine.support_))

    search = FormulaSearch(GIVEN, few_rows, random_state=0).fit(X, y)
    status = search.results_["status"]
    assert status.count("the score is not a finite number") == 2
    assert status.count("left out at first") == 3
    assert status[search.best_index_] == "left out at first"


def test_quick_splits_train_on_few_rows(boards):
    _, y, _ = boards
    search = FormulaSearch(["a"])
    folds = search._splits(y, 0)
    ((train, test),) = quick_splits(folds)
    np.testing.assert_array_equal(train, folds[0][1])
    np.testing.assert_array_equal(test, folds[0][0])
    assert len(quick_splits(search._splits(y[:100], 0))) == 2
    assert len(quick_splits(search._splits(y[:60], 0))) == 3


def test_equal_candidates_are_scored_once_and_ties_go_to_the_simpler(boards):
    X, y, _ = boards
    texts = ["~~a & b", "b & c", "a | b", "~(~a & ~b)", "~~x"]
    for criterion in ("radius-margin", "log_loss"):
        search = FormulaSearch(texts, criterion, cv=2, C=10).fit(X, y)
        status = search.results_["status"]
        assert status == ["the kernel of b & c", "ok", "ok", "the kernel of a | b", "ok"]
        assert list(search.results_["rank"][[0, 3]]) == [4, 4]
    formulas = [fk.parse(text) for text in ("a & ~~b & c", "a & b & c", "a & ~b", "c & ~d", "~a")]
    same = [CandidateScore(mean_score=0.1 + 1e-16 * k) for k in range(5)]
    results = SearchResults(formulas, same, "mean_score")
    assert list(results["rank"]) == [5, 4, 2, 3, 1]


@pytest.mark.parametrize("variables", ["bound", "free", "distinct"])
def test_drawn_formulas_are_reduced(variables):
    drawn = draw_candidates(30, variables, 0.4, 0.7, np.random.default_rng(5))
    assert [str(formula) for formula in drawn[:2]] == ["x1 & x2", "x1"]
    assert not any("~~" in str(formula) for formula in drawn)
    assert equal_kernels(drawn, variables) == [None] * 30
    for formula in drawn:
        names = [f"x{k}" for k in range(1, formula.n_leaves + 1)]
        assert [variable.name for variable in formula.variables] == names


def test_class_weights():
    y = np.array(["a"] * 16 + ["b"] * 4)
    weights = FormulaSearch()._class_weight(y)
    assert weights == pytest.approx({"a": 20 / 24, "b": 40 / 24})
    assert 16 * weights["a"] + 4 * weights["b"] == pytest.approx(20)
    assert FormulaSearch(class_weight="balanced")._class_weight(y) == "balanced"
    X = np.arange(40).reshape(20, 2) % 7
    best = FormulaSearch(["a"], random_state=0).fit(X, y).best_estimator_
    assert best.class_weight == weights
    given = FormulaSearch(["a"], random_state=0, class_weight={"a": 1, "b": 2}).fit(X, y)
    assert given.best_estimator_.class_weight == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match="class_weight"):
        FormulaSearch(["a"], class_weight="even").fit(X, y)


def test_candidates_of_one_class_rank_behind_others():
    formulas = [fk.parse(text) for text in ("a", "a & b", "a | b")]
    scores = [
        CandidateScore(mean_score=-0.1, one_class=True),
        CandidateScore(mean_score=-0.5),
        CandidateScore(status="stopped"),
    ]
    results = SearchResults(formulas, scores, "mean_score")
    assert list(results["rank"]) == [2, 1, 3]
    assert results.best_index == 1
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 4)), np.where(np.arange(60) % 6, "often", "rarely")
    found = FormulaSearch(["a", "a & b"], C=1e-6, random_state=0).fit(X, y).results_
    assert found["status"] == ["one class for all rows held out"] * 2
    assert found.best_index is not None


def test_folds_are_repeated_where_rows_are_few(boards):
    X, y, _ = boards
    for rows, splits in ((60, 9), (61, 6), (150, 6), (151, 3)):
        search = FormulaSearch(["a"])
        assert len(search._splits(y[:rows], 0)) == splits
    few = np.array(["x"] * 20 + ["o"] * 2)
    assert len(FormulaSearch(["a"])._splits(few, 0)) == 6
    with pytest.raises(DataError, match="fewer than two have two rows"):
        FormulaSearch(["a"]).fit(X[np.arange(21)], few[:21])


# -- what goes wrong ---------------------------------------------------------------------------


def test_candidates_that_fail_are_told_and_rank_last(boards):
    X, y, _ = boards
    huge = " & ".join(f"(a{i} | ~b{i})" for i in range(130))
    texts = ["true", huge, "all[40](x)", "a & b"]
    search = FormulaSearch(texts, "radius-margin", normalize=False).fit(X, y)
    statuses = search.results_["status"]
    assert "equal feature vectors" in statuses[0]
    assert statuses[1].startswith("MagnitudeError")
    assert statuses[2].startswith("ParameterError: 'all[40](x)' chooses 40")
    assert statuses[3] == "ok"
    assert list(search.results_["rank"]) == [2, 2, 2, 1]
    assert search.best_index_ == 3
    text = str(search.results_)
    assert "4 candidates, 1 scored" in text
    assert "MagnitudeError" in text


def test_all_candidates_failing_is_an_error(boards):
    X, y, _ = boards
    with pytest.raises(DataError, match=r"none of the 2 candidates.*equal feature vectors"):
        FormulaSearch(["true", "false"], "radius-margin").fit(X, y)
    mixed = np.where(np.arange(200) % 2, "x", "o")
    same = X[np.arange(200) // 2]
    with pytest.raises(DataError, match=r"no candidate separates.*margin_C=1"):
        FormulaSearch(["a", "~~a", "a & b"], "radius-margin", margin_C=None).fit(same, mixed)
    assert FormulaSearch(["a", "a & b"], "radius-margin").fit(same, mixed).results_.n_scored == 2


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"candidates": 0}, ParameterError, "at least 1"),
        ({"candidates": []}, ParameterError, r"candidates=\[\]; expected a list of formulas"),
        ({"candidates": "a & b"}, ParameterError, "a list of formulas"),
        ({"candidates": 2.5}, ParameterError, "how many formulas"),
        ({"candidates": ["a", 3]}, ParameterError, "candidate 1 is 3"),
        ({"candidates": ["a &"]}, FormulaSyntaxError, "&"),
        ({"criterion": "radius"}, ParameterError, "criterion='radius'"),
        ({"criterion": None}, ParameterError, "criterion=None"),
        ({"criterion": "r2", "candidates": 2}, DataError, "criterion='r2' fails"),
        ({"criterion": "neg_log_loss", "candidates": 2}, DataError, "predict_proba"),
        ({"C": 0}, ParameterError, "C=0; expected finite numbers above 0"),
        ({"C": [1, -1]}, ParameterError, r"C=\[1, -1\]; expected finite numbers above 0"),
        ({"C": None}, ParameterError, r"C=None; expected finite numbers above 0, or 'auto'"),
        ({"C": []}, ParameterError, r"C=\[\]; expected finite numbers above 0"),
        ({"C": "some"}, ParameterError, "C='some'"),
        ({"C": [1, 2], "criterion": "radius-margin"}, ParameterError, "for criterion='radius-m"),
        ({"n_jobs": 0}, ParameterError, "n_jobs=0"),
        ({"n_jobs": "two"}, ParameterError, "n_jobs='two'"),
        ({"verbose": "yes"}, ParameterError, "verbose='yes'"),
        ({"eta": "fast"}, ParameterError, "eta='fast'; expected a finite number above 0"),
        ({"p": "large"}, ParameterError, "p='large'; expected a number from 0 to below 1"),
        ({"p": 0.99, "eta": 0.01}, ParameterError, "too large"),
        ({"margin_C": -1}, ParameterError, "margin_C=-1"),
        ({"margin_C": np.inf}, ParameterError, "margin_C=inf"),
        ({"p": 1.0}, ParameterError, "p=1.0; expected a number from 0 to below 1"),
        ({"variables": "some"}, ParameterError, "some"),
        ({"encoder": "some"}, ParameterError, "encoder='some'"),
        ({"criterion": "accuracy", "cv": 1}, ParameterError, "expected an integer, at least 2"),
        ({"criterion": "accuracy", "cv": 150}, DataError, "150 folds"),
    ],
)
def test_wrong_parameters(boards, parameters, error, message, monkeypatch):
    monkeypatch.setattr(formulas, "MAX_RANDOM_LEAVES", 500)  # twenty times as many take seconds
    X, y, _ = boards
    with pytest.raises(error, match=message):
        FormulaSearch(**parameters).fit(X, y)


def test_wrong_data(boards):
    X, y, _ = boards
    with pytest.raises(DataError, match="target y is None"):
        FormulaSearch().fit(X, None)
    with pytest.raises(DataError, match="one class, 'x'"):
        FormulaSearch().fit(X, np.repeat("x", 200))
    with pytest.raises(ValueError, match="inconsistent"):
        FormulaSearch().fit(X, y[:100])


def test_ctrl_c_fits_the_best_so_far(boards, monkeypatch):
    X, y, later = boards

    def interrupt(number, formula, score):
        if number == 2:
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr(search_run, "_line", interrupt)
    with pytest.warns(UserWarning, match="interrupted after 3 of 6"):
        search = FormulaSearch(6, random_state=0).fit(X, y)  # and no other C is tried
    assert search.results_["status"] == ["ok"] * 3 + ["interrupted"] * 3
    assert search.best_index_ in range(3)
    assert len(search.predict(later)) == 100

    def at_once(number, formula, score):
        raise KeyboardInterrupt

    monkeypatch.setattr(search_run, "_line", at_once)
    with pytest.raises(KeyboardInterrupt):
        FormulaSearch(["true", "false"], "radius-margin").fit(X, y)


def test_ctrl_c_while_threads_work(boards):
    X, y, _ = boards
    before = {*threading.enumerate()}
    calls = []

    def scorer(machine, gram, classes):
        calls.append(machine)
        if len(calls) == 20:
            _thread.interrupt_main()
        return float(np.mean(machine.predict(gram) == classes))

    with pytest.warns(UserWarning, match=r"interrupted after \d+ of 60"):
        search = FormulaSearch(60, scorer, n_jobs=2, random_state=0).fit(X, y)
    scored = len(calls)
    assert 0 < search.results_.n_scored < 60
    for thread in {*threading.enumerate()} - before:  # on a busy machine they are still ending
        thread.join(60)
    assert {*threading.enumerate()} <= before
    assert len(calls) == scored


# -- manners -----------------------------------------------------------------------------------


def test_any_table(boards):
    X, y, _ = boards
    encoded = fk.PropositionEncoder().fit_transform(X)
    tables = (X, X.to_pandas(), encoded, sp.csr_array(encoded), pd.DataFrame(encoded))
    ratios = [
        FormulaSearch(GIVEN, "radius-margin").fit(table, y).results_["ratio"] for table in tables
    ]
    for other in ratios[1:]:
        np.testing.assert_allclose(other, ratios[0], rtol=1e-9)
    gaps = X.to_pandas()
    gaps.iloc[3, 2] = None
    assert FormulaSearch(2, random_state=0).fit(gaps, y).predict(gaps).shape == (200,)


def test_clone_pickle_and_grid_search(boards):
    X, y, later = boards
    search = FormulaSearch(GIVEN, "radius-margin", random_state=0)
    assert clone(search).get_params() == search.get_params()
    fitted = pickle.loads(pickle.dumps(search.fit(X, y)))
    np.testing.assert_array_equal(fitted.predict(later), search.predict(later))
    assert str(fitted.results_) == str(search.results_)
    grid = GridSearchCV(search, {"C": [1, 10]}, cv=2).fit(X, y)
    alone = clone(search).set_params(**grid.best_params_).fit(X, y)
    assert grid.best_estimator_.best_formula_ == alone.best_formula_


def test_results_as_a_frame(boards):
    X, y, _ = boards
    search = FormulaSearch(GIVEN, "radius-margin", compare=True).fit(X, y)
    frame = search.results_.to_frame()
    assert list(frame["rank"]) == [1, 2, 3, 4, 5]
    assert frame.index[0] == search.best_index_
    assert set(frame.columns) == set(search.results_)
    assert pd.DataFrame(dict(search.results_)).shape == (5, 12)
    assert frame["seconds"].gt(0).all()
    lines = str(search.results_).splitlines()
    assert len(lines) == 7
    assert lines[2].split()[0] == "1"


@pytest.mark.parametrize(
    "form",
    [np.int32, np.ndarray.tolist, lambda rows: np.isin(np.arange(200), rows), lambda r: r - 200],
    ids=["int32", "list", "mask", "from the end"],
)
def test_rows_of_folds_in_any_form(boards, form):
    X, y, _ = boards
    train, test = np.arange(0, 200, 2), np.arange(1, 200, 2)
    usual, other = [(train, test)], [(form(train), form(test))]
    found = [FormulaSearch(GIVEN, C=3, cv=cv).fit(X, y).results_ for cv in (usual, other)]
    np.testing.assert_array_equal(found[0]["mean_score"], found[1]["mean_score"])


def test_rows_of_folds_that_do_not_exist(boards):
    X, y, _ = boards
    with pytest.raises(ParameterError, match="pairs of training and test rows"):
        FormulaSearch(GIVEN, C=3, cv=[(np.arange(200), np.array([10**6]))]).fit(X, y)


def test_progress(boards, capsys):
    X, y, _ = boards
    FormulaSearch(GIVEN, "radius-margin").fit(X, y)
    assert capsys.readouterr() == ("", "")
    FormulaSearch(GIVEN, "radius-margin", verbose=1).fit(X, y)  # lines, as there is no terminal
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("candidate ") == 5
    assert "candidate 1: a & b, C 10, ratio " in err


def test_plot(boards, monkeypatch):
    X, y, _ = boards
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    for criterion, title in (("radius-margin", "radius-margin ratio"), ("log_loss", "log_loss")):
        search = FormulaSearch(GIVEN, criterion, cv=2).fit(X, y)
        ax = search.plot()
        assert title in ax.get_ylabel()
        assert ax.get_xlabel() == "rank"
        ranks, values = ax.collections[0].get_offsets().T
        name = "ratio" if criterion == "radius-margin" else "mean_score"
        scored = np.isfinite(search.results_[name])
        np.testing.assert_array_equal(ranks, search.results_["rank"][scored])
        np.testing.assert_array_equal(values, search.results_[name][scored])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ax = FormulaSearch(GIVEN, "radius-margin", compare=True).fit(X, y).plot()
    points, chosen = ax.collections
    assert points.get_offsets().shape == (5, 2)
    assert chosen.get_offsets().shape == (1, 2)
    assert ax.get_ylabel() == "cross-validated roc_auc"
    matplotlib.pyplot.close("all")


def test_plot_without_matplotlib(boards, monkeypatch):
    X, y, _ = boards
    search = FormulaSearch(GIVEN, "radius-margin", compare=True).fit(X, y)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"formulakern\[plot\]"):
        search.plot()
