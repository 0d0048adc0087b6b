"""Curves of a score against the number of rules."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import formulakern as fk
from formulakern.display.plots import separated

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(autouse=True)
def no_figures_stay_open():
    yield
    matplotlib.pyplot.close("all")


def drawn(axes):
    return {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}


def test_several_curves_on_given_axes():
    from matplotlib import pyplot

    axes = pyplot.figure().subplots()
    curves = {"a": ([4, 1, 2], [0.9, 0.5, np.nan]), "b": (np.arange(3), np.array([0.1, 0.2, 0.2]))}
    assert fk.plot.rule_curves(curves, ylabel="macro F1", ax=axes) is axes
    assert drawn(axes) == {"a": [[1, 0.5], [4, 0.9]], "b": [[0, 0.1], [1, 0.2], [2, 0.2]]}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("number of rules", "macro F1")
    assert [text.get_text() for text in axes.texts] == ["a", "b"]
    assert fk.plot.rule_curves({"none": ([], [])}).get_lines() == []


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_learners_of_every_kind():
    X, y = fk.datasets.tic_tac_toe()
    X, y, later, t = X[::8], y[::8], X[1::8], y[1::8]
    listed = fk.RuleListClassifier("cn2").fit(X, y)
    prl = fk.PRLClassifier().fit(X, y)
    texts = ("`middle-middle-square` = x", "`top-left-square` = x")
    items = [fk.WeightedRule(fk.rule(text), 1.0, "positive") for text in texts]
    items.append(fk.WeightedRule(fk.rule(texts[0]), 0.5, "negative"))
    votes = fk.RuleEnsemble.of(items, ("negative", "positive"))

    class Other:
        def accuracy_curve(self, X, y, max_rules):
            assert max_rules is None or max_rules == 2
            return [0.25, 0.5, 0.75]

    learners = {"list": listed, "PRL": prl, "votes": votes, "other": Other(), "given": ([3], [0.5])}
    lines = drawn(fk.plot.rule_curves(learners, later, t))
    assert lines["list"] == [[k, a] for k, a in enumerate(listed.rules_.accuracy_curve(later, t))]
    assert lines["PRL"] == [[k, a] for k, a in enumerate(prl.rules_.accuracy_curve(later, t))]
    np.testing.assert_allclose(prl.rules_.accuracy_curve(later, t), prl.accuracy_curve(later, t))
    expected = votes.accuracy_curve(later, t)
    assert lines["votes"] == [[k, a] for k, a in enumerate(expected)]
    assert lines["other"] == [[0, 0.25], [1, 0.5], [2, 0.75]]
    assert lines["given"] == [[3, 0.5]]
    del learners["other"]
    refitted = drawn(fk.plot.rule_curves(learners, later, t, refit=(X, y), max_rules=2))
    for name, rules in (("list", listed.rules_), ("PRL", prl.rules_), ("votes", votes)):
        scores = rules.accuracy_curve(later, t, 2, refit=(X, y))
        assert refitted[name] == [[k, a] for k, a in enumerate(scores)]


@pytest.mark.parametrize("last", [8, 300])
def test_names_do_not_overlap(last):
    ends = (0.9, 0.9, 0.901, 0.5, 0.899)
    curves = {f"learner {k}": ([0, last - k], [0.3, end]) for k, end in enumerate(ends)}
    axes = fk.plot.rule_curves(curves)
    assert axes.get_xscale() == ("linear" if last == 8 else "symlog")
    axes.figure.canvas.draw()
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in axes.texts]  # no arrows
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    picture = axes.figure.get_tightbbox().transformed(axes.figure.dpi_scale_trans)
    assert all(axes.bbox.x1 <= box.x0 and box.x1 <= picture.x1 + 1 for box in boxes)


@pytest.mark.parametrize("seed", range(5))
def test_places_are_spread_as_little_as_possible(seed):
    from scipy.optimize import minimize

    places = np.random.default_rng(seed).random(5).round(1)
    found = separated(places, 0.15)
    order = np.argsort(places, kind="stable")
    apart = {"type": "ineq", "fun": lambda x: np.diff(x[order]) - 0.15}
    best = minimize(lambda x: ((x - places) ** 2).sum(), places, constraints=[apart], tol=1e-12)
    np.testing.assert_allclose(found, best.x, atol=1e-5)


@pytest.mark.parametrize("curve", [([1, 2], [0.5]), (3, 4), ([[1]], [[2]]), ([1], [2], [3])])
def test_what_is_no_curve_is_refused(curve):
    with pytest.raises(fk.ParameterError, match=r"curve 'a' .* expected two lists of equal length"):
        fk.plot.rule_curves({"a": curve})


def test_what_is_no_learner_is_refused():
    with pytest.raises(NotFittedError, match=r"this HKLClassifier is not fitted\. Call fit"):
        fk.plot.rule_curves({"a": fk.HKLClassifier()}, [[1]], [1])
    with pytest.raises(fk.ParameterError, match="'a' is Variable; expected a learner"):
        fk.plot.rule_curves({"a": fk.parse("a")}, [[1]], [1])
    rules = fk.RuleEnsemble.of([], (0, 1))
    with pytest.raises(fk.ParameterError, match="Pass X and y"):
        fk.plot.rule_curves({"a": rules}, [[1]])
