"""Models as files: equal after reading, equal bytes after writing again, refused when damaged."""

import contextlib
import hashlib
import json
import pathlib
import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

import formulakern as fk
from formulakern import DataError
from formulakern.files.models import Writer, canonical, known_names
from formulakern.files.replacing import replacing

X = pd.DataFrame({"a": np.arange(60) % 7, "b": (np.arange(60) * 5 % 11) / 2, "c": list("xyz") * 20})
TWO = np.where((X.a > 3) | (X.c == "x"), "yes", "no")
THREE = np.array(list("uvw"))[X.a % 3]
NUMBERS = X[["a", "b"]].to_numpy(float)
STRINGS = ["ACG", "CGT", "GGA", "ACT"] * 15

MODELS = {
    "HKL, probabilities": (fk.HKLClassifier(), X, THREE),
    "HKL, ordered classes": (fk.HKLClassifier(ordinal=True), X, X.a),
    "HKL, few rules": (fk.HKLClassifier(max_rules=3, linear=True), X, TWO),
    "HKL, regression": (fk.HKLRegressor(), X, X.b),
    "HKL, cross-validated": (
        fk.HKLClassifierCV(Cs=[1.0], cv=StratifiedKFold(2), depth_penalties=[4.0]),
        X,
        TWO,
    ),
    "PRL": (fk.PRLClassifier(), X, THREE),
    "PRL, a formula": (fk.PRLClassifier("a & ~b"), X, TWO),
    "PRL, ordered classes": (fk.PRLClassifier(ordinal=True, degree=1), X, X.a),
    "PRL, published": (fk.PublishedPRL(epochs=2, budget=20, solver_iterations=100), X, TWO),
    "PRL, cross-validated": (fk.PRLClassifierCV(Cs=[1.0], degrees=[1], cv=2), X, TWO),
    "rule list": (fk.RuleListClassifier(), X, THREE),
    "rule list, optimal": (fk.RuleListClassifier(learner="optimal", max_rules=2), X, TWO),
    "search": (fk.FormulaSearch(["a", "a & b"]), X, TWO),
    "SVC": (fk.FormulaSVC(), X, THREE),
    "SVC, graded": (fk.FormulaSVC(inputs="graded"), X, TWO),
    "SVC, a family": (fk.FormulaSVC(fk.boolean.conjunctive(2)), X, TWO),
    "SVC, sparse": (fk.FormulaSVC(), sp.csr_array(np.eye(7, dtype=int)[X.a]), TWO),
    "SVC, cross-validated": (fk.FormulaSVCCV(Cs=[1.0, 10.0], cv=2), X, TWO),
    "SVR": (fk.FormulaSVR(), X, X.b),
    "one class": (fk.FormulaOneClass(), X, None),
    "MKL": (fk.FormulaMKL(["a", "a & b"]), X, TWO),
    "Choquet": (fk.ChoquetSVC(), NUMBERS, THREE),
    "Choquet, pairs": (fk.ChoquetSVC(additivity=2), NUMBERS, TWO),
    "Choquet, regression": (fk.ChoquetRegressor(), NUMBERS, X.b),
    "strings": (fk.StringSVC("mismatch(2, 1)"), STRINGS, TWO),
    "encoder": (fk.PropositionEncoder(), X, None),
    "features": (fk.FormulaFeatures("a & b"), X, None),
}


def outputs(model, table):
    names = ("predict", "decision_function", "predict_proba", "transform")
    found = [getattr(model, name)(table) for name in names if hasattr(model, name)]
    return [one.toarray() if sp.issparse(one) else np.asarray(one) for one in found]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_read_as_it_was_written(name, tmp_path):
    model, table, y = MODELS[name]
    model.fit(table, y)
    before = outputs(model, table)
    path = tmp_path / "model.json"
    model.save(path)
    same = fk.load(path)
    assert type(same) is type(model)
    assert str(same.get_params()) == str(model.get_params())
    assert str(getattr(same, "rules_", "")) == str(getattr(model, "rules_", ""))
    for one, other in zip(before, outputs(same, table), strict=True):
        if name == "SVC, graded" and one.dtype.kind == "f":  # sums in an order of BLAS's
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(other, one)
    for again in (model, same):
        again.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_model_that_is_not_fitted_has_its_parameters(tmp_path):
    fk.HKLClassifier(C=3.5, monotone={"a": 1}).save(tmp_path / "model.json")
    same = fk.load(tmp_path / "model.json")
    assert (same.C, same.monotone) == (3.5, {"a": 1})
    assert not hasattr(same, "rules_")


def test_a_file_is_replaced_when_complete(tmp_path):
    """Links stay, permissions stay, and an error leaves the old file and nothing else."""
    path, link = tmp_path / "model.json", tmp_path / "link.json"
    path.write_text("older")
    path.chmod(0o640)
    link.symlink_to(path)
    with contextlib.suppress(UnicodeEncodeError), replacing(link) as new:
        new.write_text("half", encoding="utf-8")
        new.write_text("\ud800", encoding="utf-8")
    assert path.read_text() == "older"
    fk.PropositionEncoder().fit({"a": ["x", "y"]}).save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert fk.load(path).get_feature_names_out().tolist() == ["a = x", "a = y"]
    assert {file.name for file in tmp_path.iterdir()} == {"model.json", "link.json"}
    with replacing("/dev/null") as new:
        new.write_text("nothing")
    assert not pathlib.Path("/dev/null").is_file()


def test_another_process_predicts_the_same(tmp_path):
    model = fk.FormulaSVC(C=1.5).fit(X, TWO)
    model.save(tmp_path / "model.json")
    X.to_csv(tmp_path / "X.csv", index=False)
    code = (
        "import formulakern as fk, pandas as pd\n"
        f"model = fk.load({str(tmp_path / 'model.json')!r})\n"
        f"values = model.decision_function(pd.read_csv({str(tmp_path / 'X.csv')!r}))\n"
        "print(*[value.hex() for value in values.tolist()])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [value.hex() for value in model.decision_function(X).tolist()]


# -- damage and malice -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "model.json"
    fk.PRLClassifier(degree=1).fit(X, TWO).save(path)
    return path.read_bytes()


@settings(max_examples=45, deadline=None)
@given(data=st.data())
def test_damage_is_told(written, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / "model.json"
    place = data.draw(st.integers(0, len(written) - 1))
    if data.draw(st.booleans()):
        damaged = written[:place]
    else:
        damaged = bytearray(written)
        damaged[place] = data.draw(st.integers(0, 255).filter(lambda b: b != written[place]))
    path.write_bytes(damaged)
    body = json.loads(written)["model"]
    with contextlib.suppress(DataError):  # else a blank, or the name that is there for readers
        assert canonical(Writer(known_names())(fk.load(path))) == canonical(body)


def forged(tmp_path, body, **header):
    path = tmp_path / "model.json"
    text = canonical(body)
    digest = hashlib.sha256(text.encode()).hexdigest()
    whole = {"format": "formulakern/model/1", "class": "", "digest": digest, "model": body}
    path.write_text(json.dumps(whole | header), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "body",
    [
        {"object": ["os:system", [], {}]},
        {"object": ["system()", ["true"]]},
        {"object": ["HKLClassifier", [], {"__class__": 3}]},
        {"object": ["_assemble()", [[["and", [0, 1]]]]]},
        {"object": ["Rule", []]},
        {"object": []},
        {"read_object": 1},
        {"array": ["|O8", [1], [{"object": ["open()", ["x"]]}]]},
        {"again": 0},
        {"tuple": 3},
        {"rule": "a & "},
        {"unknown": 1, "two": 2},
        ["model"],
        None,
    ],
    ids=str,
)
def test_nothing_else_is_made(tmp_path, body):
    with pytest.raises(DataError, match=r"is damaged\. Save the model again"):
        fk.load(forged(tmp_path, body))


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.json"
    for text in ("", "no", "[1, 2]", '{"format": "other"}', "[" * 100_000):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="Give a file that save wrote"):
            fk.load(path)
    with pytest.raises(DataError, match=r"this version reads formulakern/model/1"):
        fk.load(forged(tmp_path, None, format="formulakern/model/99"))
    with pytest.raises(FileNotFoundError):
        fk.load(tmp_path / "none.json")


def test_what_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    fk.HKLClassifier().save(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"in encoder: .* cannot hold sklearn.*OneHotEncoder"):
        fk.HKLClassifier(encoder=OneHotEncoder()).save(path)
    circle: list = []
    circle.append(circle)
    with pytest.raises(DataError, match="contains itself"):
        fk.RuleListClassifier(relations=circle).save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model.json"]


def test_names_are_of_classes_that_exist():
    names = known_names()
    for place in names.values():
        module, _, inside = place.partition(":")
        assert getattr(import_module(module), inside).__qualname__ == inside
    assert len(names) == len({*names.values()})
