"""Models on the command line: learned, shown, used on files of any size, exported."""

import csv
import io
import sqlite3
import time
from datetime import date

import numpy as np
import polars
import pytest
from command_line import FRUIT, explained, run
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import sem

import formulakern as fk
from formulakern.cli.learning import learner
from formulakern.cli.scores import plain_learners
from formulakern.datasets import read_table, reader
from formulakern.datasets.reader import open_table
from formulakern.registry import LEARNERS


@pytest.fixture
def fruit(tmp_path):
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT)
    return path


def done(capsys, *arguments):
    """Standard output of a command that ends well."""
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    return out


def learned(capsys, fruit, *more):
    model = fruit.with_name("model.json")
    return done(capsys, "learn", fruit, "--cv", 0, "-o", model, "--force", *more), model


def test_learn_says_scores_and_rules_and_saves(capsys, fruit):
    model = fruit.with_name("model.json")
    out = done(capsys, "learn", fruit, "--model", "prl", "--set", "degree=1", "-o", model)
    assert 'the class is the column "class"' in out
    for name in ("prl ", "largest class", "a tree", "logistic regression"):
        assert f"\n{name}" in out
    assert "colour = red" in out
    assert "formulakern show" in out
    assert fk.load(model).get_params()["degree"] == 1


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_known(name):
    made = learner(name, random_state=3)
    assert type(made).__name__ == LEARNERS[name].estimator
    assert made.get_params().get("random_state", 3) == 3


def test_test_rows_are_scored(capsys, fruit):
    test = fruit.with_name("test.csv")
    test.write_text("class,ripe,size,colour\npear,0,4,green\napple,1,5,red\n")
    out = done(capsys, "learn", fruit, "--model", "rules", "--cv", 0, "--test", test)
    assert "2 test rows" in out
    assert "\nrules                  100.00    100.00  100.00" in out


def test_points_make_the_model_a_card(capsys, fruit):
    out, model = learned(capsys, fruit, "--test", fruit, "--points", 3, "--top", 1)
    assert "Predict pear if the total is" in out
    card = fk.load(model)
    assert isinstance(card.rules_, fk.ScoreCard)
    assert str(card.rules_) in out  # whole, whatever --top
    scores = card.training_["scores"]["36 test rows"]["hkl, score card"]
    assert np.abs(card.rules_.votes).max() <= 3
    predicted = done(capsys, "predict", model, fruit, "--probabilities").splitlines()
    X, y = read_table(fruit)
    assert scores["accuracy"] == [card.score(X, y)]
    chances = [float(row["probability of pear"]) for row in csv.DictReader(predicted)]
    assert chances == card.predict_proba(X)[:, 1].tolist()
    assert fk.ScoreCard.from_json(done(capsys, "export", model, "--json")) == card.rules_
    assert "points, probability of pear" in done(capsys, "explain", model, fruit)
    assert card.rules_.claim() in done(capsys, "show", model)
    status, _, err = run(capsys, "learn", fruit, "--model", "svm", "--points")
    assert status
    assert "--points needs rules for classes, not svm. Use --model hkl." in err


def test_numbers_are_learned(capsys, fruit):
    out, model = learned(capsys, fruit, "--model", "hkl-regression", "--target", "size")
    assert 'the number is the column "size"' in out
    assert fk.load(model).predict(read_table(fruit, "size").data).shape == (36,)
    status, _, err = run(capsys, "learn", fruit, "--model", "svm-regression")
    assert (status, err) == (
        1,
        'formulakern: the column "class" is not numeric. Name another column with --target, or use '
        "a learner for classes.\n",
    )


@pytest.mark.parametrize("value", ["{}", "{}.5"])
def test_a_number_is_no_class(capsys, fruit, value):
    """The regression learner is named at once, whatever the other options are."""
    rows = [f"{k % 7},{value.format(k % 300)}" for k in range(4000)]
    fruit.write_text("\n".join(["x,amount", *rows]))
    for command in (["learn", "--cv", 0], ["learn"], ["compare"]):
        status, out, err = run(capsys, command[0], fruit, *command[1:], "--target", "amount")
        assert (status, out) == (1, "")
        assert err == (
            'formulakern: the column "amount" is numeric, with 300 different values. Predict '
            "it with --model hkl-regression (HKLRegressor in Python), or name a column of classes "
            "with --target.\n"
        )


def test_seconds_are_those_of_the_fit(monkeypatch, fruit, capsys):
    usual = fk.PRLClassifier.fit

    def slow(*arguments):
        time.sleep(0.3)
        return usual(*arguments)

    monkeypatch.setattr(fk.PRLClassifier, "fit", slow)
    out = done(capsys, "learn", fruit, "--model", "prl", "--cv", 0, "--test", fruit)
    (line,) = (line for line in out.splitlines() if line.startswith("prl "))
    assert float(line.split()[-1]) >= 0.3


def test_an_input_is_not_written(capsys, fruit, monkeypatch):
    """Under no name, not even with --force; and any other file that exists only with --force."""
    _, model = learned(capsys, fruit, "--model", "rules")
    folder = fruit.parent
    monkeypatch.chdir(folder)
    (folder / "link.csv").symlink_to(fruit)
    (folder / "hard.csv").hardlink_to(fruit)
    (folder / "in").mkdir()
    parquet = folder / "fruit.parquet"
    polars.read_csv(fruit, null_values="?").write_parquet(parquet)
    before = {path: path.read_bytes() for path in (fruit, model, parquet)}
    commands = [
        *(("predict", model, fruit, "-o", name) for name in (fruit, "link.csv", "hard.csv")),
        ("predict", model, fruit, "-o", "in/../fruit.csv"),
        ("predict", model, "link.csv", "-o", "fruit.csv"),
        ("predict", model, fruit, "-o", model),
        ("predict", model, parquet, "-o", parquet),
        ("learn", fruit, "--cv", 0, "-o", "hard.csv"),
        ("learn", parquet, "--cv", 0, "--test", fruit, "-o", "hard.csv"),
        ("compare", fruit, "--picture", fruit),
        ("report", model, fruit, "-o", fruit),
        ("report", model, fruit, "-o", model),
        ("show", model, "--html", model),
        ("export", model, "--json", "-o", model),
        ("gram", "a", fruit, "--out", "link.csv"),
    ]
    for command in commands:
        for more in ((), ("--force",)):
            status, out, err = run(capsys, *command, *more)
            assert (status, out) == (1, ""), command
            assert "this command reads the same file; name another file" in err
    assert before == {path: path.read_bytes() for path in before}
    other = folder / "other.png"
    writing = [
        ("predict", model, fruit, "-o", other),
        ("predict", model, parquet, "-o", folder / "other.parquet"),
        ("learn", fruit, "--model", "rules", "--cv", 0, "-o", other),
        ("compare", fruit, "--models", "rules", "--cv", 2, "--picture", other),
        ("report", model, fruit, "-o", other),
        ("show", model, "--html", other),
        ("export", model, "--json", "-o", other),
        ("gram", "a", fruit, "--out", other),
        ("datasets", "monks-1", "-o", other),
    ]
    for command in writing:
        command[-1].write_text("older")
        status, out, err = run(capsys, *command)
        assert (status, out) == (1, ""), command
        assert err == (
            f"formulakern: cannot write {command[-1]}: the file exists; pass --force to replace "
            "it.\n"
        )
        assert command[-1].read_text() == "older"
        assert run(capsys, *command, "--force")[0] == 0
        assert command[-1].read_bytes() != b"older"
    assert not list(folder.glob(".*"))


def test_columns_are_dropped(capsys, fruit):
    _, model = learned(capsys, fruit, "--drop", "size, ripe")
    assert fk.load(model).feature_names_in_.tolist() == ["colour"]
    assert run(capsys, "learn", fruit, "--drop", "sizes")[2].startswith(
        'formulakern: no column "sizes" to drop; did you mean "size"?'
    )


def test_held_out_scores_are_kept(capsys, fruit):
    """In the file, by show, and first in a report, which recognises the rows of training."""
    model, test, page = (fruit.with_name(name) for name in ("m.json", "test.csv", "report.html"))
    lines = fruit.read_text().splitlines()
    test.write_text("\n".join([lines[0], *lines[:0:-1]]))
    words = ("--model", "rules", "--cv", 3, "--test", test, "-o", model)
    printed = done(capsys, "learn", fruit, *words)
    training = fk.load(model).training_
    assert (training["data"], training["rows"], training["columns"]) == ("fruit.csv", 36, 3)
    assert date.fromisoformat(training["date"]) <= date.today()
    assert training["digest"] == read_table(fruit).data.digest
    assert [*training["scores"]] == ["3 folds", "36 test rows"]
    learners = ["rules", "largest class", "a tree", "logistic regression"]
    assert all([*scores] == learners for scores in training["scores"].values())
    assert training["scores"]["36 test rows"]["largest class"]["accuracy"] == [24 / 36]
    folds = training["scores"]["3 folds"]["largest class"]["macro F1"]
    mean, error = 100 * np.mean(folds), 100 * sem(folds)
    assert f"{mean:.2f} ± {error:.2f}" in printed
    shown = " ".join(done(capsys, "show", model).replace("│", "").split())
    assert (
        f"trained {training['date']}, on fruit.csv: 36 rows, 3 columns held out accuracy" in shown
    )
    assert "in 3 folds; largest class 66.67 ± 0.00; a tree" in shown
    for rows, same in ((fruit, True), (test, False)):
        done(capsys, "report", model, rows, "-o", page, "--force")
        header = page.read_text(encoding="utf-8").partition("</header>")[0]
        assert ("that the model was trained on" in header) == same
        assert f"{mean:.2f} ± {error:.2f}" in header.partition("Accuracy")[0]
    fitted = fk.load(model).fit(*read_table(fruit))
    assert not hasattr(fitted, "training_")


def test_no_model_is_saved_before_there_is_one(capsys, fruit, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    model = fruit.with_name("m.json")
    monkeypatch.setattr(fk.RuleListClassifier, "fit", interrupted)
    status, _, err = run(capsys, "learn", fruit, "--model", "rules", "-o", model)
    sentence = f"interrupted: no model was found yet; {model} was not written."
    assert (status, err) == (130, f"\nformulakern: {sentence}\n")
    assert not model.exists()


def test_models_without_an_origin_are_shown(capsys, fruit):
    model, page = fruit.with_name("m.json"), fruit.with_name("report.html")
    fk.RuleListClassifier().fit(*read_table(fruit)).save(model)
    assert "held out" not in done(capsys, "show", model)
    done(capsys, "report", model, fruit, "-o", page)
    assert "Trained on" not in page.read_text(encoding="utf-8")


def test_a_column_that_gives_the_class_away_is_named(capsys, fruit):
    header, *lines = fruit.read_text().splitlines()
    fruit.write_text("\n".join([header, *lines * 3]))
    words = ("learn", fruit, "--model", "rules", "--cv", 0, "--drop", "size")
    said = " ".join(done(capsys, *words).replace("│", "").split())
    assert (
        'warning: "colour" alone predicts 100 % of the held-out rows correctly, like a copy of the '
        "class; leave it out with --drop size,colour unless it is known before the class"
    ) in said
    assert "warning" not in done(capsys, *words[:-1], "size,colour")
    assert "--drop colour" in done(capsys, "compare", fruit, "--models", "rules", "--cv", 2)


def test_show(capsys, fruit):
    _, model = learned(capsys, fruit)
    out = done(capsys, "show", model)
    assert "HKLClassifier" in out
    assert str(fk.load(model).rules_) in out
    page = fruit.with_name("page.html")
    done(capsys, "show", model, "--html", page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "colour = red" in text
    assert "http" not in text


@pytest.mark.parametrize("name", ["hkl", "prl", "rules", "svm"])
def test_predictions_are_those_of_the_model(capsys, fruit, name, monkeypatch):
    monkeypatch.setattr(reader, "PARTITION_ROWS", 7)
    _, model = learned(capsys, fruit, "--model", name)
    out = done(capsys, "predict", model, fruit)
    rows = list(csv.reader(io.StringIO(out)))
    assert rows[0] == ["colour", "size", "ripe", "class", "prediction"]
    found = fk.load(model).predict(read_table(fruit).data)
    assert [row[-1] for row in rows[1:]] == found.tolist()
    assert [",".join(row[:-1]) for row in rows] == FRUIT.split()


def test_predictions_are_added_to_parquet(capsys, fruit, monkeypatch):
    """Partition by partition; every column keeps its type, and nothing else is left behind."""
    monkeypatch.setattr(reader, "PARTITION_ROWS", 7)
    _, model = learned(capsys, fruit, "--model", "rules")
    frame = polars.read_csv(fruit, null_values="?").with_columns(
        day=polars.date(2020, 1, polars.col("size")),
        level=polars.lit("low", polars.Enum(["low", "high"])),
    )
    known = fruit.with_name("rows.parquet")
    frame.write_parquet(known)
    before = {path.name for path in fruit.parent.iterdir()}
    done(capsys, "predict", model, known, "-o", fruit.with_name("out.parquet"))
    found = polars.read_parquet(fruit.with_name("out.parquet"))
    assert found.drop("prediction").equals(frame)
    assert found.schema == frame.schema | {"prediction": polars.String}
    assert found["prediction"].to_list() == fk.load(model).predict(read_table(fruit).data).tolist()
    assert {path.name for path in fruit.parent.iterdir()} == before | {"out.parquet"}
    frame.head(0).write_parquet(known)
    assert "has no rows" in run(capsys, "predict", model, known, "-o", "x.parquet")[2]


@pytest.mark.parametrize("name", ["hkl", "prl", "svm"])
def test_probabilities_and_names_that_are_there(capsys, fruit, name):
    _, model = learned(capsys, fruit, "--model", name, "--probabilities")
    path = fruit.with_name("more.csv")
    path.write_text("prediction,colour,size,ripe\nold,red,3,1\nold,green,2,0\n")
    predicted = fruit.with_name("predicted.csv")
    done(capsys, "predict", model, path, "--probabilities", "-o", predicted)
    with predicted.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == ["old", "old"]
    assert [row["prediction 2"] for row in rows] == ["apple", "pear"]
    shares = [float(row[f"probability of {name}"]) for name in ("apple", "pear") for row in rows]
    np.testing.assert_allclose(np.reshape(shares, (2, 2)).sum(axis=0), 1)
    assert str(fk.load(model).predict(read_table(fruit).data)[0]) in ("apple", "pear")
    done(capsys, "show", model)
    done(capsys, "report", model, fruit, "-o", fruit.with_name("page.html"))
    if name != "svm":
        assert "apple" in done(capsys, "explain", model, fruit, "--row", 1)
        assert "SELECT" in done(capsys, "export", model, "--sql", "sqlite")
    _, model = learned(capsys, fruit, "--model", "svm")
    err = run(capsys, "predict", model, path, "--probabilities")[2]
    assert "Learn it with --probabilities" in err
    err = run(capsys, "learn", fruit, "--model", "hkl-regression", "--probabilities")[2]
    assert "needs a model that predicts classes" in err


def test_explain(capsys, fruit):
    _, model = learned(capsys, fruit)
    table = read_table(fruit).data
    out = done(capsys, "explain", model, fruit, "--row", 2)
    assert out == explained(fk.load(model), table[[1]]) + "\n"
    _, _, err = run(capsys, "explain", model, fruit, "--row", 37)
    assert err == "formulakern: fruit.csv has 36 rows; there is no row 37.\n"


def test_export(capsys, fruit):
    _, model = learned(capsys, fruit)
    saved, (X, _) = fk.load(model), read_table(fruit)
    query = done(capsys, "export", model, "--sql", "sqlite", "--table", "fruit")
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE fruit (colour TEXT, size INTEGER, ripe INTEGER)")
        rows = zip(*(X[name].tolist() for name in X.names), strict=True)
        database.executemany("INSERT INTO fruit VALUES (?, ?, ?)", rows)
        assert [row[-1] for row in database.execute(query)] == saved.predict(X).tolist()
    database.close()
    assert fk.RuleEnsemble.from_json(done(capsys, "export", model, "--json")) == saved.rules_
    assert done(capsys, "export", model, "--latex").startswith("\\begin{tabular}")
    _, model = learned(capsys, fruit, "--model", "svm")
    assert "FormulaSVC is not a list of rules" in run(capsys, "export", model, "--json")[2]


def test_compare(capsys, fruit):
    picture = fruit.with_name("scores.png")
    out = done(capsys, "compare", fruit, "--models", "prl, rules", "--cv", 2, "--picture", picture)
    for name in ("prl", "rules", "largest class"):
        assert f"\n{name} " in out
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["learn", "FRUIT", "--model", "hkll"],
            'no learner "hkll"; did you mean "hkl" or "hkl-cv"?\n',
        ),
        (["learn", "FRUIT", "--set", "c=1"], 'HKLClassifier has no parameter "c"'),
        (["learn", "FRUIT", "--set", "C"], '--set "C" is not name=value'),
        (["learn", "FRUIT", "--cv", "40"], "40 folds need two classes with 40 rows"),
        (["learn", "FRUIT", "-o", "FRUIT/x/model.json"], "there is no folder"),
        (["learn", "FRUIT", "--set", "C=-1"], "C"),
        (["show", "FRUIT"], "is not JSON, or damaged"),
        (["show", "none.json"], "cannot open none.json"),
        (["compare", "FRUIT", "--models", "hkl,svm-regression"], "Name one kind"),
    ],
)
def test_errors_are_one_sentence(capsys, fruit, arguments, said):
    given = [argument.replace("FRUIT", str(fruit)) for argument in arguments]
    status, _, err = run(capsys, *given)
    assert status == 1
    assert said in err
    assert "Traceback" not in err


def test_columns_that_are_missing_are_named(capsys, fruit):
    _, model = learned(capsys, fruit)
    other = fruit.with_name("other.csv")
    other.write_text("color,size,ripe\nred,1,1\n")
    status, _, err = run(capsys, "predict", model, other)
    assert (status, err) == (
        1,
        'formulakern: the file has no column "colour"; did you mean "color"?\n',
    )


def test_plain_learners_read_any_table():
    table = fk.Table({"a": [1.0, None, 3.0, 4.0] * 5, "b": ["x", None, "y", "x"] * 5})
    classes = np.array(["p", "q"] * 10)
    for made in plain_learners(False).values():
        assert made.fit(table, classes).predict(table).shape == (20,)
    for made in plain_learners(True).values():
        assert made.fit(table, np.arange(20.0)).predict(table).shape == (20,)


# -- files in blocks -------------------------------------------------------------------------------

cell = st.sampled_from(
    ["", "?", "1", "2.5", "-3", "red", "2020-01-31", "2020-02-01T10:30", "09:30"]
)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(cell, cell), min_size=1, max_size=9), size=st.integers(1, 4))
def test_blocks_are_the_whole_table(rows, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks") / "table.csv"
    lines = [",".join([*row, "c"]) for row in rows]
    path.write_text("\n".join(["a,b,class", *lines]) + "\n")
    whole = read_table(path).data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "PARTITION_ROWS", size)
        parts = list(open_table(path))
    found = [",".join(row) for _, frame in parts for row in frame.rows()]
    assert found == lines
    for name in whole.names:
        found = [value for table, _ in parts for value in table[name].tolist()]
        missing = [gone for table, _ in parts for gone in table.missing(name).tolist()]
        assert missing == whole.missing(name).tolist()
        known = zip(found, whole[name].tolist(), missing, strict=True)
        assert all(one == other for one, other, gone in known if not gone)


def test_report(capsys, fruit, tmp_path):
    """The class is the last column, or the only one that was not learned from, or none."""
    table, (_, model) = fruit, learned(capsys, fruit)
    page = tmp_path / "report.html"
    status, out, err = run(capsys, "report", model, table, "-o", page, "--rows", 3)
    assert (status, err) == (0, "")
    assert 'the class is the column "class"' in out
    first = page.read_text(encoding="utf-8")
    assert "The page contains the first 3 of" in first
    header, *lines = table.read_text().splitlines()
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(",".join(line.split(",")[::-1]) for line in [header, *lines]))
    assert run(capsys, "report", model, turned, "-o", page, "--rows", 3, "--force")[0] == 0
    assert page.read_text(encoding="utf-8").count("<tr>") == first.count("<tr>")
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(line.rpartition(",")[0] for line in [header, *lines]) + "\n")
    status, out, _ = run(capsys, "report", model, bare, "-o", page, "--force", "--title", "<Fruit>")
    assert status == 0
    assert "so the page has no scores" in " ".join(out.split())
    assert "<h1>&lt;Fruit&gt;</h1>" in page.read_text(encoding="utf-8")
    more = tmp_path / "more.csv"
    more.write_text("\n".join(f"a,b,{line.rpartition(',')[0]}" for line in [header, *lines]) + "\n")
    status, _, err = run(capsys, "report", model, more, "-o", page, "--force")
    assert status == 1
    assert "Name the class with --target" in err
    assert run(capsys, "report", model, table, "-o", tmp_path)[0] == 1
