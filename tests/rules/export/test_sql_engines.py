"""Queries of rules in databases, against the predictions of the rules."""

import sqlite3
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import sqlglot
from sqlglot.expressions import Column, Literal

import formulakern as fk
from formulakern import DataError, ParameterError, WeightedRule
from formulakern.rules.sql import DialectName
from formulakern.syntax.connectives import AND
from formulakern.syntax.formula import Operation
from formulakern.syntax.leaves import Comparison, Level
from tests.engines import ENGINES, filled, why_no_postgres
from tests.sql_tables import differing, random_case

WITHOUT = {"postgres": why_no_postgres()}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    """The name of an engine, and a function that executes there."""
    if reason := WITHOUT.get(request.param):
        pytest.skip(reason)
    with ENGINES[request.param]() as execute:
        yield request.param, execute


def test_generated_tables(engine):
    """Every row of every table, for every kind of rules, whatever types are given."""
    name, execute = engine
    rng = np.random.default_rng(0)
    kinds = Counter()
    for _ in range(75):
        case = random_case(rng, name)
        kinds[type(case.model).__name__] += 1
        assert differing(case, name, execute) == []
    assert min(kinds.values()) > 5
    assert len(kinds) == 4


def test_generated_trees(engine):
    """The trees that lists are turned into, some with leaves of an unknown class."""
    name, execute = engine
    rng = np.random.default_rng(6)
    unknown = []
    while len(unknown) < 12:
        case = random_case(rng, name)
        if isinstance(case.model, fk.RuleList) and case.model.rules:
            with suppress(fk.FormulaSizeError):
                tree = case.model.to_tree()
                assert differing(replace(case, model=tree), name, execute) == []
                leaves = [k for k, test in enumerate(tree.tests) if test is None]
                unknown.append(None in [tree.labels[k] for k in leaves])
    assert len({*unknown}) == 2
    with pytest.raises(ParameterError, match="a tree has no scores"):
        tree.to_sql(scores=True)


def test_generated_tables_of_dates(engine):
    """Dates, stamps with a time zone and without, times, durations, and categories in order."""
    name, execute = engine
    rng = np.random.default_rng(2)
    for _ in range(40):
        assert differing(random_case(rng, name, dates=True), name, execute) == []


def test_an_unknown_column_is_an_error(engine):
    """Not the text that its name is, nor something that every table has."""
    name, execute = engine
    filled(execute, name, "data", {"a": [1]}, {"a": "integer"})
    for column in ("b", "rowid", "oid", "ctid", "tableoid", 'a" = 1 OR "a', "_rowid_"):
        for value in ("text", 1):
            rule = fk.Rule(Comparison(column, "=", value))
            if name == "sqlite" and "id" in column:  # NULL, as some builds of SQLite have it
                with suppress(sqlite3.OperationalError):
                    assert execute(rule.to_sql(dialect=name)) == []
                continue
            with pytest.raises(Exception, match=r"(?i)column|binder|exist"):
                execute(rule.to_sql(dialect=name))


def test_classes_and_columns_that_differ_in_case_only(engine):
    """A column of the user is never taken for a score or a result."""
    name, execute = engine
    table = {"x": [1, 2, 3], "score 0": [9, 9, 9], "score_1": [7, 7, 7], "predicted_class": [0] * 3}
    filled(execute, name, "data", table, dict.fromkeys(table, "integer"))
    for classes in (("A", "a", "á"), ("Yes", "yes", "YES"), ("1", " 1", "1 ")):
        items = [
            WeightedRule(fk.rule(f"x = {k + 1} & `score 0` = 9"), 1.0, label)
            for k, label in enumerate(classes)
        ]
        ensemble = fk.RuleEnsemble.of(items, classes)
        query = ensemble.to_sql(dialect=name, types=table, scores=True)
        assert [row[-1] for row in execute(query)] == list(classes)
        assert 'AS "predicted_class_2"' in query
        assert 'AS "score_1_2"' in query


def test_schemas_and_dots(engine):
    name, execute = engine
    schema = {"sqlite": "main", "duckdb": "main", "postgres": "public"}[name]
    filled(execute, name, '"a.b"', {"x": [1, 5]}, {"x": "integer"})
    rule = fk.rule("x > 3")
    assert execute(rule.to_sql((schema, "a.b"), name)) == [(5,)]
    filled(execute, name, "data", {"x": [1, 5]}, {"x": "integer"})
    assert execute(rule.to_sql(f"{schema}.data", name)) == [(5,)]


def test_a_boolean_column_of_which_nothing_is_known(engine):
    name, execute = engine
    columns = {"flag": [True, False, None], "x": [1, 0, None], "y": [1.0, 0.0, None]}
    types = {"flag": "boolean", "x": "integer", "y": "number"}
    filled(execute, name, "data", columns, types)
    for text in ("flag & x & y", "flag = 0 & x = 0 & y = 0", "flag != 1 & x != 1", "~flag & ~y"):
        found = [row[0] for row in execute(fk.rule(text).to_sql(dialect=name))]
        assert found == [columns["flag"][k] for k in np.flatnonzero(fk.rule(text)(columns))]


def test_missing_entries_of_a_column_of_which_nothing_is_known(engine):
    """NaN is missing if a column has floating point numbers; in a column of text it is a word."""
    name, execute = engine
    nan = [float("nan")] if name != "sqlite" else [None]
    columns = {
        "x": [*nan, None, 1.5, 2.5],
        "word": ["NaN", "nan", None, "a"],
        "k": [1, 2, None, None],
    }
    columns["row"] = [0, 1, 2, 3]
    types = {"x": "number", "word": "text", "k": "integer", "row": "integer"}
    filled(execute, name, "data", columns, types)
    for column in columns:
        for text in (f"{column} is missing", f"~({column} is not missing)"):
            rule = fk.rule(text)
            found = [row[-1] for row in execute(rule.to_sql(dialect=name))]
            assert found == np.flatnonzero(rule(columns)).tolist()


def test_long_sums_and_long_conjunctions(engine):
    """Databases limit how deep an expression may be; sums keep their order."""
    name, execute = engine
    table = {"x": [1, 5, 250]}
    filled(execute, name, "data", table, {"x": "integer"})
    items = [WeightedRule(fk.rule(f"x >= {k % 7}"), 1 / (k + 3)) for k in range(350)]
    price = fk.RuleEnsemble.of(items, intercept=[0.1])
    query = price.to_sql(dialect=name, types=table)
    assert [row[-1] for row in execute(query)] == price.predict(table).tolist()
    long = fk.Rule(Operation(AND, tuple(Comparison("x", "!=", k) for k in range(350))))
    assert execute(long.to_sql(dialect=name, types=table)) == []


@pytest.mark.parametrize("dialect", get_args(DialectName))
def test_another_parser_reads_the_same_names_and_texts(dialect):
    """sqlglot parses dialects without an engine too: no text ends a quotation."""
    texts = ["it's", "\\", "\\'", "a\nb", "'; DROP TABLE data; --", "--", "/*", '"', "`", "%s"]
    names = ["it's", 'say "x"', "a`b", "a\nb", '"; DROP TABLE data; --', "`; SELECT 1; --", "--"]
    reader = {"standard": ""}.get(dialect, dialect)
    for name in names:
        for text in texts:
            rule = fk.Rule(Comparison(name, "=", text))
            query = rule.to_sql("data", dialect, types={name: "text"})
            (tree,) = sqlglot.parse(query, read=reader)
            assert {column.name for column in tree.find_all(Column)} == {name, "*"}
            assert {column.table for column in tree.find_all(Column)} == {"data"}
            if dialect not in ("mysql", "postgres") or "\\" not in text:  # else X'…', E'…'
                assert [node.name for node in tree.find_all(Literal)] == [text]


def test_what_has_no_sql_is_refused():
    def query(text, dialect="postgres", table="data", **types):
        return fk.rule(text).to_sql(table, dialect, types=types)

    for text, dialect, types, message in (
        ("zip = 123", "sqlite", {"zip": "text"}, 'write zip = "123"'),
        ("zip > 123", "sqlite", {"zip": "text"}, "Make it a column of numbers"),
        ("`a` = `b`", "duckdb", {"a": "text", "b": "number"}, "columns of one type"),
        ("A & a", "duckdb", {}, "differ in case only"),
        ("a", "postgres", {"a": "text"}, "Compare it with a value"),
    ):
        with pytest.raises(DataError, match=message):
            query(text, dialect, **types)
    for name in ("ä" * 32, "a\0b", "\ud800"):
        with pytest.raises(DataError, match="Rename it"):
            fk.Rule(Comparison(name, "=", 1)).to_sql(dialect="postgres")
    with pytest.raises(ParameterError, match="expected one of 'standard', 'sqlite'"):
        query("a", "oracle")
    with pytest.raises(ParameterError, match="expected a name"):
        query("a", table="a..b")
    with pytest.raises(ParameterError, match="expected one of 'boolean'"):
        query("a", a="float")
    mixed = fk.RuleList([fk.ClassRule(fk.rule("a"), "1")], ("1", 2), 2)
    with pytest.raises(DataError, match="several types"):
        mixed.to_sql(dialect="postgres")


def test_which_dates_have_no_sql():
    for text, dialect, types, message in (
        ("d > 3d", "mysql", {}, "no columns of durations"),
        ("t > 10:30", "spark", {}, "no columns of times of day"),
        ("weekday(w) = Monday", "standard", {}, "no weekday of a date; choose another dialect"),
        ("month(z) = June", "duckdb", {"z": "instant"}, "depends on a time zone"),
        ("month(t) = June", "duckdb", {"t": "time"}, "which have no month"),
        ("w > 12345-01-01", "duckdb", {}, "years of SQL"),
        ("w > 2020-02-01", "sqlite", {"w": "text"}, r"give its type in types: \{'w': 'stamp'\}"),
        ("w = foul", "sqlite", {"w": "stamp"}, "it is compared with 'foul'"),
        ("w = `z`", "duckdb", {"w": "stamp", "z": "instant"}, "differ in kind"),
        ("w", "duckdb", {"w": "stamp"}, "not a truth value"),
        ("grade >= mid", "duckdb", {}, "the order of 'mid'"),
    ):
        with pytest.raises(DataError, match=message):
            fk.rule(text).to_sql("data", dialect, types=types)
    ranked = fk.Rule(Comparison("grade", ">=", Level("mid", ("low", "mid", "high"))))
    assert ranked.to_sql(dialect="spark").endswith("IN ('mid', 'high')")
    with pytest.raises(DataError, match="compares it with ordered categories"):
        ranked.to_sql(types={"grade": "number"})


@pytest.mark.parametrize("dialect", get_args(DialectName))
def test_another_parser_reads_dates(dialect):
    texts = ["w < 2020-02-01T10:30:15.25", "z >= 2020-02-01T10:30Z", "w = 2020-02-01", "t = 10:30"]
    texts += ["d > -3d4h", "weekday(w) = Monday", "hour(w) < 3", "quarter(w) in {1, 2}"]
    for text in texts:
        with suppress(DataError):
            query = fk.rule(text).to_sql("data", dialect, types={"w": "stamp", "z": "instant"})
            assert len(sqlglot.parse(query, read={"standard": ""}.get(dialect, dialect))) == 1


def test_models_say_the_types_of_training(engine):
    """A column of truth values next to one of 1 and 0, and numbers that are NaN."""
    name, execute = engine
    rng = np.random.default_rng(1)
    columns = {
        "ring": (rng.random(60) < 0.5).tolist(),
        "tail": (rng.random(60) < 0.5).astype(int).tolist(),
        "size": rng.normal(size=60).tolist(),
        "odor": rng.choice(["foul", "Foul", "it's"], 60).tolist(),
    }
    if name != "sqlite":
        columns["size"][:5] = [float("nan")] * 5
    types = {"ring": "boolean", "tail": "integer", "size": "number", "odor": "text"}
    filled(execute, name, "data", columns, types)
    y = [
        "A" if ring and odor != "it's" else "a" if size > 0 else "b"
        for ring, size, odor in zip(columns["ring"], columns["size"], columns["odor"], strict=True)
    ]
    for model in (fk.PRLClassifier(C=5), fk.RuleListClassifier(), fk.HKLClassifier(C=5)):
        model.fit(columns, y)
        found = [row[-1] for row in execute(model.to_sql(dialect=name))]
        assert found == model.predict(columns).tolist()
