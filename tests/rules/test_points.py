"""Score cards: integer points near the best, a bound below all of them, and one card everywhere."""

import re

import numpy as np
import polars
import pytest
from sklearn.linear_model import LogisticRegression

import formulakern as fk
from formulakern import DataError, ParameterError, RuleEnsemble, ScoreCard, Table, WeightedRule
from formulakern.rules.explanation import Explanation
from formulakern.rules.features import LinearTerm, Monomial
from tests.database import answers
from tests.oracle import score_error, smallest_card_loss, smallest_score_error


def problem(seed, n=24, R=3):
    """A table of 0 and 1, classes that depend on it, and an ensemble of its columns."""
    rng = np.random.default_rng(seed)
    covers = rng.random((n, R)) < rng.uniform(0.2, 0.8, R)
    logits = covers @ rng.normal(0, 2, R) + rng.normal()
    second = rng.random(n) < 1 / (1 + np.exp(-logits))
    second[:2] = True, False
    names = [f"x{r}" for r in range(R)]
    table = Table({name: covers[:, r].astype(int) for r, name in enumerate(names)})
    items = [
        WeightedRule(fk.rule(f"{name} = 1"), float(w), "b")
        for name, w in zip(names, rng.normal(size=R), strict=True)
    ]
    y = np.where(second, "b", "a")
    return table, y, RuleEnsemble.of(items, ("a", "b"), [0.3, 0.0]), covers, second


def loss_of(card, table, second, weights=None):
    """The mean log loss of a card, with a quarter of the squares of its real weights."""
    weights = np.ones(len(second)) if weights is None else weights
    chances = card.predict_proba(table)[np.arange(len(second)), second.astype(int)]
    penalty = ((card.votes[:, 0] / card.unit) ** 2).sum() / 4
    return (penalty - weights @ np.log(chances)) / weights.sum()


def least_loss(covers, second, weights=None):
    """The least penalised loss of real weights."""
    weights = np.ones(len(second)) if weights is None else weights
    real = LogisticRegression(C=2.0, tol=1e-8).fit(covers, second, weights)
    chances = real.predict_proba(covers)[np.arange(len(second)), second.astype(int)]
    return ((real.coef_**2).sum() / 4 - weights @ np.log(chances)) / weights.sum()


@pytest.mark.parametrize("largest", [1, 3])
def test_loss_is_between_the_bound_and_the_least_of_all_points(largest):
    equal, number = 0, 8
    for seed in range(number):
        table, y, ensemble, covers, second = problem(seed)
        card = ensemble.to_points(largest, table, y)
        best = smallest_card_loss(covers, second, largest)
        assert card.bound <= best + 1e-9
        assert card.loss >= best - 1e-5
        assert card.loss == pytest.approx(loss_of(card, table, second))
        assert np.abs(card.votes).max(initial=0) <= largest
        equal += card.loss <= best + 1e-5
    assert equal >= 0.9 * number


def test_the_bound_is_the_least_loss_of_real_weights():
    table, y, ensemble, covers, second = problem(3, n=400, R=6)
    card = ensemble.to_points(10, table, y)
    least = least_loss(covers, second)
    assert least - 1e-6 <= card.bound <= least + 1e-9
    assert card.bound <= card.loss
    assert 0 <= card.gap < 0.02
    losses = [ensemble.to_points(k, table, y).loss for k in (1, 10, 1000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] - card.bound < 1e-4


@pytest.mark.parametrize("seed", range(2))
def test_integer_weights_are_repeated_rows(seed):
    table, y, ensemble, covers, second = problem(seed, n=60, R=4)
    weights = np.random.default_rng(seed).integers(0, 4, len(y))
    weights[:2] = 1
    rows = np.repeat(np.arange(len(y)), weights)
    card = ensemble.to_points(3, table, y, weights)
    again = ensemble.to_points(3, table[rows], y[rows])
    assert card.loss == pytest.approx(again.loss, abs=1e-9)
    assert card.bound == pytest.approx(again.bound, abs=1e-9)
    assert card.bound <= smallest_card_loss(covers[rows], second[rows], 3) + 1e-9
    np.testing.assert_allclose(card.predict_proba(table), again.predict_proba(table), atol=1e-6)
    assert card.loss == pytest.approx(loss_of(card, table[rows], second[rows]))
    kept = {str(rule): int(n) for rule, n in zip(card.rules, card.support, strict=True)}
    some = weights > 0
    assert kept == {rule: int(table[some][rule[:2]].sum()) for rule in kept}


def test_the_bound_of_weighted_rows_is_the_least_loss_of_real_weights():
    table, y, ensemble, covers, second = problem(5, n=400, R=6)
    weights = np.random.default_rng(0).exponential(size=len(y))
    for scale in (1.0, 100.0):
        least = least_loss(covers, second, scale * weights)
        card = ensemble.to_points(10, table, y, scale * weights)
        assert least - 1e-6 <= card.bound <= least + 1e-9
        assert card.bound <= card.loss


def test_separable_classes_have_a_finite_card():
    table = {"x": [0, 0, 0, 1, 1, 1], "z": [0, 1, 0, 1, 0, 1]}
    items = [WeightedRule(fk.rule(text), 1.0, "b", "a") for text in ("x = 1", "z = 1")]
    card = RuleEnsemble.of(items, "ab").to_points(3, table, [*"aaabbb"])
    assert card.predict(table).tolist() == [*"aaabbb"]
    assert card.loss == pytest.approx(loss_of(card, table, np.array([0, 0, 0, 1, 1, 1]) > 0))
    assert (np.abs(card.predict_proba(table)[:, 1] - 0.5) < 0.45).all()
    assert 0 <= card.bound <= card.loss
    assert str(card.rules[0]) == "x = 1"


@pytest.mark.parametrize("seed", range(10))
def test_rounding_without_rows_has_the_least_largest_error(seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, 2, 3).round(2) + 0.001
    items = [WeightedRule(fk.rule(f"x{r}"), float(w), "b") for r, w in enumerate(weights)]
    ensemble = RuleEnsemble.of(items, "ab", [0.5, 0.0])
    for largest in (1, 3):
        card = ensemble.to_points(largest)
        points = dict(zip(map(str, card.rules), card.votes[:, 0].tolist(), strict=True))
        found = [*(points.get(f"x{r}", 0) for r in range(3)), card.start, card.unit]
        least = smallest_score_error(weights, largest)
        assert score_error(weights, -0.5, found) == pytest.approx(least)
        assert card.loss is card.bound is None


def test_points_have_no_common_divisor():
    items = [WeightedRule(fk.rule(text), w, "b") for text, w in (("x", 4.0), ("z", -2.0))]
    card = RuleEnsemble.of(items, "ab").to_points(10)
    assert card.votes[:, 0].tolist() == [2, -1]
    assert card.unit == 0.5


@pytest.fixture(scope="module")
def ward():
    rng = np.random.default_rng(0)
    n = 300
    table = Table(
        {
            "age": rng.integers(18, 90, n),
            "smoker": rng.choice(["yes", "no"], n),
            "weight": np.where(rng.random(n) < 0.1, np.nan, rng.normal(75, 12, n).round(1)),
        }
    )
    logit = (table["age"] - 60) / 8 + 2 * (table["smoker"] == "yes")
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "ill", "well")
    items = [
        WeightedRule(LinearTerm("age", 18, 90), 5.0, "ill"),
        WeightedRule(fk.rule("smoker = yes"), 2.0, "ill"),
        WeightedRule(fk.rule("weight <= 70"), 0.5, "well"),
    ]
    return table, y, RuleEnsemble.of(items, ("well", "ill"), [3.0, 0.0], "illness")


def test_linear_terms_become_steps(ward):
    table, y, ensemble = ward
    for card in (ensemble.to_points(), ensemble.to_points(5, table, y)):
        texts = [str(rule) for rule in card.rules]
        steps = [text for text in texts if text.startswith("age >= ")]
        assert 1 <= len(steps) <= 3
        assert set(texts) - {*steps} <= {"smoker = yes", "weight <= 70"}
    known = dict(zip(texts, card.support.tolist(), strict=True))
    assert known["smoker = yes"] == (table["smoker"] == "yes").sum()


def test_card_is_the_same_everywhere(ward):
    table, y, ensemble = ward
    for card in (ensemble.to_points(), ensemble.to_points(10, table, y)):
        predicted = card.predict(table)
        totals = card.scores(table)[:, 0]
        assert (totals == totals.round()).all()
        np.testing.assert_array_equal(predicted == "ill", totals > card.start)
        np.testing.assert_array_equal(predicted == "ill", card.predict_proba(table)[:, 1] > 0.5)
        again = ScoreCard.from_json(card.to_json())
        assert again == card
        assert hash(again) == hash(card)
        assert again != ScoreCard.from_json(card.to_json().replace('"start": ', '"start": 1'))
        assert answers(card, table) == predicted.tolist()
        made = {}
        exec(card.to_python(), made)
        rows = [{name: table.entry(name, i) for name in table.names} for i in range(len(table))]
        assert [made["predict"](row) for row in rows] == predicted.tolist()
        assert [made["score"](row) for row in rows] == totals.tolist()
        frame = polars.DataFrame({name: table[name] for name in table.names})
        shown = frame.with_columns(card.to_polars())["predicted_class"].to_list()
        assert shown == predicted.tolist()


def test_sql_has_integers_only(ward):
    _, _, ensemble = ward
    query = ensemble.to_points(10).to_sql(dialect="duckdb")
    assert not re.search(r"\d\.\d|\de\d", query)
    assert re.search(r"THEN -?\d+ ELSE 0 END", query)


def test_explanation_adds_points(ward):
    table, y, ensemble = ward
    card = ensemble.to_points(10, table, y)
    explained = Explanation.of(card, card.values(table[:5]))
    title, *lines = str(explained[0]).splitlines()
    total = int(card.scores(table[:1])[0, 0])
    assert title.startswith(f"class {card.predict(table[:1])[0]}: {total:+d} points, probability ")
    assert sum(int(line.split()[0]) for line in lines if "no rule" not in line) == total


def test_printed_card(ward):
    table, y, ensemble = ward
    card = ensemble.to_points(10, table, y)
    first, head, *lines = str(card).splitlines()
    least = int(card.thresholds[0]) + 1
    how = f"Predict ill if the total is {least} or more, else well."
    assert first == f"Add the points of the rules that hold. {how}"
    assert head.split() == ["points", "coverage", "rule"]
    assert [int(line.split()[0]) for line in lines[: len(card)]] == card.votes[:, 0].tolist()
    sums, end = lines[len(card) : lines.index("")], lines.index("")
    assert sums[0] == "Sums of the rules about a single column:"
    assert all(re.fullmatch(r"\S.*: (\+\d+|-\d+|0)", part.strip()) for part in sums[1].split(";"))
    claim = (
        "The penalised log loss on training rows is (.*); no card with these rules is below (.*)"
    )
    loss, bound = re.fullmatch(claim, lines[-1].removesuffix(".")).groups()
    assert float(bound) <= card.bound <= card.loss <= float(loss)
    totals = [line.split() for line in lines[end + 2 : -1]]
    assert len(totals) <= 16
    numbers = [int(words[0]) for words in totals]
    assert numbers == sorted(numbers)
    assert [words[-1] == "ill" for words in totals] == [k > card.start for k in numbers]
    assert card.claim() in card._repr_html_()
    assert "probability of ill" in card._repr_html_()
    assert card.to_latex(1).count("tabular") == 4


@pytest.mark.parametrize(("weights", "left_out"), [((1, 2, 4), False), ((1, 2, 4, 8, 16), True)])
def test_totals_that_are_left_out_have_a_sentence(weights, left_out):
    items = [WeightedRule(fk.rule(f"x{w}"), w / 4, "b") for w in weights]
    card = RuleEnsemble.of(items, ("a", "b"), [2.0, 0.0]).to_points(16)
    assert card.votes[:, 0].tolist() == sorted(weights, reverse=True)
    for text in (str(card), card._repr_html_()):
        assert ("A total between two lines has a probability between theirs." in text) == left_out


def test_fewer_rules_have_no_known_loss(ward):
    table, y, ensemble = ward
    card = ensemble.to_points(10, table, y)
    assert card.head(1).loss is None
    assert card.head(len(card)) == card
    joined = card.joined(table, tolerance=20).rules
    assert joined.loss is None
    shorter = card.simplified()
    np.testing.assert_array_equal(shorter.predict(table), card.predict(table))
    np.testing.assert_allclose(shorter.predict_proba(table), card.predict_proba(table))


def test_rules_without_effect_leave_the_base_rate():
    table, y = {"x": [0, 1] * 8}, [*"aaab" * 4]
    card = RuleEnsemble.of([WeightedRule(fk.rule("x = 2"), 1.0, "b")], "ab").to_points(5, table, y)
    assert len(card) == 0
    np.testing.assert_allclose(card.predict_proba(table)[:, 1], 0.25, atol=1e-5)
    assert str(card).startswith("Predict a for every row.")


def test_refused():
    two, three = ("a", "b"), ("a", "b", "c")
    item = WeightedRule(fk.rule("x"), 1.0, "b")
    table = {"x": [0, 1]}
    with pytest.raises(ParameterError, match=r"has 3\. Learn one class against the rest"):
        RuleEnsemble.of([item], three).to_points()
    with pytest.raises(ParameterError, match="predicts a number"):
        RuleEnsemble.of([WeightedRule(fk.rule("x"), 1.0)]).to_points()
    card = RuleEnsemble.of([item], two).to_points()
    with pytest.raises(ParameterError, match="ordered classes"):
        card.to_points()
    with pytest.raises(ParameterError, match="product of numbers"):
        RuleEnsemble.of([WeightedRule(Monomial(("x", "z")), 1.0, "b")], two).to_points()
    with pytest.raises(ParameterError, match="both a table and y"):
        RuleEnsemble.of([item], two).to_points(5, table)
    with pytest.raises(ParameterError, match="both a table and y"):
        RuleEnsemble.of([item], two).to_points(5, sample_weight=[1, 1])
    with pytest.raises(DataError, match="2 finite numbers of at least 0"):
        RuleEnsemble.of([item], two).to_points(5, table, ["a", "b"], [1, -1])
    with pytest.raises(DataError, match="both classes"):
        RuleEnsemble.of([item], two).to_points(5, table, ["a", "b"], [1, 0])
    with pytest.raises(ParameterError, match="largest"):
        RuleEnsemble.of([item], two).to_points(0)
    with pytest.raises(DataError, match="both classes"):
        RuleEnsemble.of([item], two).to_points(5, table, ["a", "a"])
    with pytest.raises(ParameterError, match="expected integers"):
        ScoreCard.of([WeightedRule(fk.rule("x"), 0.5)], levels=two)
    with pytest.raises(ParameterError, match="expected two levels"):
        ScoreCard.of([], levels=three)


@pytest.mark.parametrize("learner", ["HKLClassifier", "PRLClassifier"])
def test_models_predict_by_their_card(ward, tmp_path, learner):
    table, y, _ = ward
    model = getattr(fk, learner)().fit(table, y)
    card = model.to_points(table, y, 5)
    assert isinstance(card.rules_, ScoreCard)
    assert not isinstance(model.rules_, ScoreCard)
    predicted = card.predict(table)
    np.testing.assert_array_equal(predicted, card.rules_.predict(table))
    np.testing.assert_allclose(card.predict_proba(table), card.rules_.predict_proba(table))
    assert card.explain(table[:3]).predictions.tolist() == predicted[:3].tolist()
    assert card.certificate_ == card.rules_.claim()
    assert card.gap_ == card.rules_.gap
    weights = np.where(y == card.classes_[1], 2.0, 1.0)
    heavier = model.to_points(table, y, 5, weights)
    assert heavier.rules_ == model.rules_.to_points(5, table, y, weights)
    assert heavier.predict_proba(table)[:, 1].mean() > card.predict_proba(table)[:, 1].mean()
    card.save(tmp_path / "card.json")
    again = fk.load(tmp_path / "card.json")
    assert again.rules_ == card.rules_
    np.testing.assert_array_equal(again.predict(table), predicted)
    card.report(tmp_path / "card.html", table, y)
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert "probability of" in page
    assert "<h1>Score card</h1>" in page
    assert "Add the points of the rules that hold." in page
    assert "Coverage is the share of the training rows" in page
    assert "recision" not in page
    assert page.index('id="learned"') < page.index("Area under ROC")


def test_models_of_other_columns_make_no_card():
    X, y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5), [0, 1, 1, 0] * 5
    model = fk.HKLClassifier(encoder=None).fit(X, y)
    with pytest.raises(ParameterError, match="make a card of rules_"):
        model.to_points(X, y)
