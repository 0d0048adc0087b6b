"""Exported functions of a row, against what rules and models predict for tables of that row."""

import ast
import csv
import datetime
import subprocess
import sys

import numpy as np
import pytest

import formulakern as fk
from formulakern import ClassRule, DataError, Rule, RuleList, Variable, WeightedRule, random_formula
from formulakern.rules.features import LinearTerm, Monomial
from formulakern.syntax.formula import substitute
from tests.sql_tables import random_case

NAMES = ("a", 'say "x"', "it's", "a\nb", "x = 1; import os", "größe", "__import__('os')", "\\")


def made(model):
    """Return the names in the file, which does not import this package or run a user's text."""
    text = model.to_python()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    found = {}
    exec(compile(tree, "exported.py", "exec"), found)
    return found


def rows_of(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def same(a, b):
    return a == b or (a is not None and b is not None and a != a and b != b)


def in_words(columns):
    """Return rows as in a file, with numbers as text."""

    def text(value):
        if value is None or value != value:
            return "?"
        return repr(value) if isinstance(value, (int, float)) else str(value)

    return [{name: text(value) for name, value in row.items()} for row in rows_of(columns)]


def test_generated_tables():
    """Hostile names and words, missing entries, dates, connectives, all kinds of rules."""
    rng = np.random.default_rng(11)
    compared = trees = texts = 0
    for number in range(150):
        case = random_case(rng, "duckdb", dates=number % 2 == 1)
        model, rows = case.model, rows_of(case.columns)
        if not rows:
            continue
        models = [model]
        if isinstance(model, RuleList) and model.rules and number % 3:
            try:
                models.append(model.to_tree())
                trees += 1
            except fk.FormulaKernError:
                pass
        for one in models:
            functions = made(one)
            whole = one(case.columns) if isinstance(one, Rule) else one.predict(case.columns)
            for row, answer in zip(rows, whole.tolist(), strict=True):
                assert same(functions["predict"](row), answer), (one, row)
                compared += 1
        if isinstance(model, fk.RuleEnsemble) and model.levels is None:
            found = np.array([functions["score"](row) for row in rows]).reshape(len(rows), -1)
            np.testing.assert_array_equal(found, model.scores(case.columns))
        if isinstance(model, RuleList):
            made_list = made(model)
            found = [made_list["score"](row) for row in rows]
            np.testing.assert_array_equal(found, model.predict_proba(case.columns))
        plain = {"integer", "number"}
        if (
            case.natural
            and set(case.types.values()) <= plain
            and np.isfinite(
                [v for column in case.columns.values() for v in column if v is not None]
            ).all()
        ):
            for row, answer in zip(in_words(case.columns), whole.tolist(), strict=True):
                assert same(functions["predict"](row, missing=("?",)), answer), (model, row)
                texts += 1
    assert compared > 500
    assert trees > 3
    assert texts > 5


def test_other_scalars():
    """Scalars of NumPy and pandas, times of nanoseconds, NaT and NA."""
    pandas = pytest.importorskip("pandas")
    listed = [
        "day >= 2020-02-01T00:00:00.000000001",
        "day = 2020-02-01",
        "long > 1d",
        "n in {1, x}",
    ]
    decision = RuleList([ClassRule(fk.rule(text), text) for text in listed], [*listed, "-"], "-")
    predict = made(decision)["predict"]
    days = np.array(["2020-02-01T00:00:00.000000001", "2020-02-01", "NaT", "1000-01-01"], "M8[ns]")
    spans = np.array([0, 90_000, "NaT", 1], "m8[s]")
    columns = {"day": days, "long": spans, "n": np.array([1, 1, 0, 1], np.uint8)}
    expected = decision.predict(columns).tolist()
    assert [predict(row) for row in rows_of(columns)] == expected
    frame = pandas.DataFrame(columns)
    frame["n"] = frame["n"].astype("Int64")
    assert [predict(row) for row in frame.to_dict("records")] == expected
    late = {"day": np.datetime64("5000-01-01"), "long": np.timedelta64(1, "D"), "n": pandas.NA}
    assert predict(late) == listed[0]
    zone = datetime.timezone(datetime.timedelta(hours=1))
    instant = fk.rule("at < 2020-01-31T23:30Z").to_python()
    found = {}
    exec(instant, found)
    assert found["predict"]({"at": datetime.datetime(2020, 2, 1, tzinfo=zone)})


def test_what_users_write_is_never_run():
    for name in NAMES:
        for word in NAMES:
            item = ClassRule(Rule(fk.rule("a = b").formula.replaced(column=name, value=word)), word)
            decision = RuleList([item], (word, "other"), "other")
            predict = made(decision)["predict"]
            assert predict({name: word}) == word
            assert predict({name: "no"}) == "other"


def test_large_formulas_and_many_rules():
    """Deep and long formulas, sums of more than 100 rules, and ends of the range of numbers."""
    rng = np.random.default_rng(4)
    names = [f"v{k}" for k in range(12)]
    columns = {name: rng.random(30) < 0.5 for name in names}
    for seed, eta in enumerate((0.7, 0.4, 0.3)):
        drawn = random_formula(0.9, eta, random_state=seed)
        places = {v: Variable(names[k % 12]) for k, v in enumerate(drawn.variables)}
        rule = Rule(substitute(drawn, places))
        predict = made(rule)["predict"]
        assert [predict(row) for row in rows_of(columns)] == rule(columns).tolist()
    chained = fk.rule(" -> ".join(names * 40))
    assert [made(chained)["predict"](row) for row in rows_of(columns)] == chained(columns).tolist()
    weights = rng.standard_normal(250)
    items = [WeightedRule(fk.rule(names[k % 12]), float(w)) for k, w in enumerate(weights)]
    total = fk.RuleEnsemble.of(items, intercept=[0.1])
    predict = made(total)["predict"]
    assert [predict(row) for row in rows_of(columns)] == total.predict(columns).tolist()
    large = [2**53, 2**53 + 1, 2**62, -(2**63), 2**63, 2.0**53, 1e300]
    for relation in ("=", "!=", "<=", ">"):
        for constant in large:
            rule = Rule(fk.rule("n = 1").formula.replaced(relation=relation, value=constant))
            predict = made(rule)["predict"]
            for value in large:
                assert predict({"n": value}) == rule({"n": [value]})[0], (rule, value)


def test_models_and_rows_of_files(tmp_path):
    """A model that read a file predicts rows of csv.DictReader in another process."""
    path = tmp_path / "fruit.csv"
    rng = np.random.default_rng(5)
    lines = ["colour,size,ripe,seen,class"]
    for _ in range(80):
        colour, size = rng.choice(["red", "green", "?", ""]), rng.choice(["1", "2.5", " 3", "?"])
        day = f"2020-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}"
        kind = "apple" if colour == "red" or size == " 3" else "pear"
        lines.append(f"{colour},{size},{rng.integers(2)},{day},{kind}")
    path.write_text("\n".join(lines) + "\n")
    X, y = fk.datasets.read_table(path)
    program = "import csv, exported\n" + (
        f"for row in csv.DictReader(open({str(path)!r})):\n"
        "    print(exported.predict(row, missing=('', '?')))\n"
    )
    for model in (
        fk.PRLClassifier(C=5),
        fk.RuleListClassifier(random_state=0),
        fk.RuleListClassifier("cn2-unordered"),
    ):
        (tmp_path / "exported.py").write_text(model.fit(X, y).to_python(), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.')\n{program}"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.split() == model.predict(X).tolist()


def test_what_cannot_be_compared_is_named():
    predict = made(fk.rule("size >= 3 & ripe & seen > 2020-02-01"))["predict"]
    good = {"size": 4, "ripe": 1, "seen": "2020-03-01"}
    assert predict(good)
    for name, value, said in (
        ("size", "big", "column 'size' holds 'big'; expected a number."),
        ("ripe", "maybe", "column 'ripe' holds 'maybe'; expected a truth value."),
        ("seen", "soon", "column 'seen' holds 'soon'; expected a stamp."),
        ("seen", datetime.time(3), "column 'seen' holds a time; expected a stamp."),
    ):
        with pytest.raises(ValueError, match=said):
            predict(good | {name: value})
    with pytest.raises(KeyError, match="size"):
        predict({})
    items = [WeightedRule(Monomial(("u",)), 1.0), WeightedRule(LinearTerm("v", 0, 3), 1.0)]
    number = made(fk.RuleEnsemble.of(items))["predict"]
    assert number({"u": "2", "v": None}) == 2
    with pytest.raises(ValueError, match="column 'u' has no value"):
        number({"u": None, "v": 1})
    with pytest.raises(DataError, match="order of 'mid'"):
        fk.rule("grade >= mid").to_python()
    with pytest.raises(DataError, match="is a tuple"):
        RuleList([ClassRule(fk.rule("a"), (1, 2))], ((1, 2), 3), 3).to_python()


def test_rows_of_a_reader(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n 3 ,x\n,y\n")
    predict = made(fk.rule("a <= 3 & b != y"))["predict"]
    with path.open() as file:
        assert [predict(row, missing=("",)) for row in csv.DictReader(file)] == [True, False]


@pytest.mark.parametrize("scaling", ["minmax", "rank"])
@pytest.mark.parametrize("monotone", [False, True])
def test_choquet_models(scaling, monotone):
    """Two classes, three classes, and a number; and rows outside the range of training."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    X[:, 3] = 1.0  # constant
    value = np.minimum(X[:, 0], -X[:, 1]) + X[:, 2] / 2
    columns = {f"c {j}": np.append(X[:, j], [9.0, -9.0]) for j in range(4)}
    known = {name: column[:60] for name, column in columns.items()}
    settings = {"scaling": scaling, "enforce_monotone": monotone, "additivity": 2}
    for y in (value > 0, np.digitize(value, [-0.5, 0.3])):
        model = fk.ChoquetSVC(C=10, **settings).fit(known, y)
        functions = made(model)
        rows = rows_of(columns)
        assert [functions["predict"](row) for row in rows] == model.predict(columns).tolist()
        if len(set(y.tolist())) == 2:
            found = [functions["score"](row)[0] for row in rows]
            np.testing.assert_allclose(found, model.decision_function(columns), atol=1e-9)
    model = fk.ChoquetRegressor(C=10, **settings).fit(known, value)
    found = [made(model)["predict"](row) for row in rows_of(columns)[::7]]
    np.testing.assert_allclose(found, model.predict(columns)[::7], atol=1e-9)
    with pytest.raises(fk.FormulaSizeError, match="at most 14 columns"):
        fk.ChoquetRegressor(additivity=1).fit(rng.random((20, 15)), rng.random(20)).to_python()
