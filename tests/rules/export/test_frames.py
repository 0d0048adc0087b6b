"""Rules as expressions of polars and of pandas, against their predictions."""

import numpy as np
import pytest

import formulakern as fk
from formulakern import ClassRule, DataError, Rule, RuleList, WeightedRule
from formulakern.rules.features import Monomial
from tests.sql_tables import random_case

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

POLARS = {
    "boolean": polars.Boolean, "integer": polars.Int64, "number": polars.Float64,
    "text": polars.String, "date": polars.Date, "stamp": polars.Datetime("us"),
    "instant": polars.Datetime("us", "UTC"), "time": polars.Time,
    "duration": polars.Duration("us"),
}  # fmt: skip
PANDAS = {
    "boolean": "boolean", "integer": "Int64", "number": "float64", "text": "string",
    "date": "datetime64[us]", "stamp": "datetime64[us]", "duration": "timedelta64[us]",
    "time": "object",
}  # fmt: skip


def by_polars(model, columns, kinds, types):
    frame = polars.LazyFrame(
        {name: polars.Series(name, v, dtype=POLARS[kinds[name]]) for name, v in columns.items()}
    )
    made = model.to_polars(types).alias("the answer")
    return frame.with_columns(made).collect()["the answer"].to_list()


def pandas_series(entries, kind):
    series = pandas.Series(entries, dtype=object)
    return (
        pandas.to_datetime(series, utc=True) if kind == "instant" else series.astype(PANDAS[kind])
    )


def by_pandas(model, columns, kinds, types):
    frame = pandas.DataFrame({n: pandas_series(v, kinds[n]) for n, v in columns.items()})
    frame.index += 3
    found = model.to_pandas()(frame)
    assert found.index.equals(frame.index)
    found = found.astype(object)
    return found.where(found.notna(), None).tolist()


@pytest.mark.parametrize("answer", [by_polars, by_pandas])
def test_generated_tables(answer):
    """Hostile names and words, NULL and NaN, dates and times, connectives, all kinds of rules."""
    rng = np.random.default_rng(3)
    compared = 0
    for number in range(60):
        case = random_case(rng, "duckdb", dates=number % 2 == 1)
        if isinstance(case.model, Rule):
            continue
        types = {n: "stamp" if kind == "date" else kind for n, kind in case.types.items()}
        found = answer(case.model, case.columns, case.types, types)
        if not case.columns or not found:
            continue
        compared += 1
        for a, b in zip(case.expected(), found, strict=True):
            assert a == b or (a != a and (b is None or b != b)), case
    assert compared > 25


def test_what_the_rules_suggest():
    """Without types NaN is missing, also if only missing entries are tested."""
    listed = [("when >= 2020-02-01", "late"), ("x is missing", "no x"), ("word = NaN", "word")]
    decision = RuleList([ClassRule(fk.rule(t), label) for t, label in listed],
                        ("late", "no x", "word", "rest"), "rest")  # fmt: skip
    day = np.array(["2020-03-01", "2020-01-01", "NaT", "NaT"], "M8[us]")
    columns = {"when": day, "x": [1.0, float("nan"), 2.0, 1.0], "word": ["a", "a", "NaN", None]}
    expected = decision.predict(columns).tolist()
    assert expected == ["late", "no x", "word", "rest"]
    with pytest.raises(DataError, match="compares it with the number 5"):
        RuleList([ClassRule(fk.rule("word = 5"), 1)], (1, 2), 2).to_polars({"word": "text"})
    frame = polars.DataFrame(columns)
    assert frame.with_columns(decision.to_polars())["predicted_class"].to_list() == expected
    assert decision.to_pandas()(pandas.DataFrame(columns)).tolist() == expected


def test_a_missing_factor_has_no_class():
    items = [WeightedRule(Monomial(("u",)), 1.0, "a", "b")]
    model = fk.RuleEnsemble.of(items, ("a", "b"), [0.0, 0.5])
    frame = polars.DataFrame({"u": [1.0, -1.0, None, float("nan")]})
    found = frame.with_columns(model.to_polars())["predicted_class"].to_list()
    assert found == ["a", "b", None, None]


def test_models_and_what_has_no_expression():
    columns = {"odor": ["foul", "none", "foul", None] * 5, "size": [1.5, 2.5, None, 4.0] * 5}
    model = fk.PRLClassifier(C=5).fit(columns, ["p", "e", "p", "e"] * 5)
    expected = model.predict(columns).tolist()
    frame = polars.DataFrame(columns)
    assert frame.with_columns(model.to_polars())["predicted_class"].to_list() == expected
    assert model.to_pandas()(pandas.DataFrame(columns)).tolist() == expected
    for text, types in (
        ("month(z) = June", {"z": "instant"}),
        ("w > 2020-02-01", {"w": "text"}),
        ("grade >= mid", {}),
    ):
        decision = RuleList([ClassRule(fk.rule(text), 1)], (1, 2), 2)
        with pytest.raises(DataError):
            decision.to_polars(types)


def test_half_of_a_surrogate_pair_is_in_no_frame():
    """Texts that a library would read as another text, or reject."""
    listed = [ClassRule(fk.rule('word = "\ud800"'), "a"), ClassRule(fk.rule('word = "b"'), "b")]
    decision = RuleList(listed, ("a", "b", "c"), "c")
    frame = polars.DataFrame({"word": ["\ufffd\ufffd\ufffd", "b", None]})
    assert frame.select(decision.to_polars()).to_series().to_list() == ["c", "b", "c"]
    frame = pandas.DataFrame({"word": frame["word"].to_list()})
    assert decision.to_pandas()(frame).tolist() == ["c", "b", "c"]
    with pytest.raises(DataError, match=r"class '.ud800' holds half of a surrogate pair"):
        RuleList(listed[:1], ("a", "\ud800"), "\ud800").to_polars()
