"""Warnings about fits that succeed but are probably not intended, and keywords as formulas."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import formulakern as fk
from formulakern.estimators.fit_warnings import informative_column, leaking_columns

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "odor": RNG.choice(["foul", "none", "musty"], 60),
        "size": RNG.normal(size=60),
        "ring": RNG.random(60) < 0.5,
    }
)
LABELS = np.where((FRAME["odor"] == "foul") | (FRAME["size"] > 1), "bad", "good")


# -- a kernel that is 0 on a table -------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        fk.FormulaSVC("x & ~x"),
        fk.FormulaSVC("x & ~x", normalize=False),
        fk.FormulaSVC("a & b & c & d & e & f", "distinct"),
        fk.FormulaSVCCV("x & ~x", Cs=[1], cv=2),
        fk.FormulaMKL(("x & ~x",), unit_variance=False),
        fk.FormulaSearch(["x & ~x"], cv=2, C=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_kernel_of_0(model):
    rows = FRAME[["odor"]]
    with pytest.warns(UserWarning, match="is 0 for every pair of rows"):
        model.fit(rows, LABELS)


def test_a_kernel_of_0_without_classes():
    with pytest.warns(UserWarning, match="is 0 for every pair of rows"):
        fk.FormulaSVR("x & ~x").fit(FRAME, np.arange(60.0))
    with pytest.warns(UserWarning, match="is 0 for every pair of rows"):
        fk.FormulaOneClass("x & ~x").fit(FRAME)


def test_one_row_that_is_true_suffices():
    """A kernel is 0 only if its diagonal is 0, however late a row with another value comes."""
    X = np.zeros((3000, 3), dtype=int)
    X[-1] = 1
    y = np.arange(3000) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fk.FormulaSVC("a & b & c", encoder=None).fit(X, y)


# -- variables and columns ---------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["odor & x", "size", "~ring | odor"])
def test_a_variable_called_like_a_column(formula):
    with pytest.warns(UserWarning, match=r"the name of a column.*fk\.rule"):
        fk.FormulaSVC(formula).fit(FRAME, LABELS)
    with pytest.warns(UserWarning, match="the name of a column"):
        fk.FormulaSVR(fk.parse(formula)).fit(FRAME, np.arange(60.0))
    with pytest.warns(UserWarning, match="the name of a column"):
        fk.FormulaMKL(("a", formula)).fit(FRAME, LABELS)


@pytest.mark.parametrize("formula", ["a & x", "b ^ y", "a & ~b", "a"])
def test_short_names_are_those_of_variables(formula):
    frame = FRAME.set_axis(["a", "b", "c"], axis=1)
    fk.FormulaSVC(formula).fit(frame, LABELS)
    fk.FormulaSVC(formula).fit(FRAME, LABELS)
    fk.FormulaSVC(fk.kernel("odor & size")).fit(FRAME, LABELS)  # a kernel may come from elsewhere


# -- one class ---------------------------------------------------------------------------------

TIMID = [
    fk.FormulaSVC(C=1e-6),
    fk.FormulaSVCCV(Cs=[1e-6], cv=2),
    fk.FormulaMKL(("a",), C=1e-6),
    fk.FormulaSearch(["a"], C=1e-6, cv=2, class_weight=None),
    fk.PRLClassifier(degree=1, C=0.02),
    fk.HKLClassifier(C=1e-6, logit_adjustment=0),
    fk.HKLClassifierCV([1e-6], [4], cv=2, logit_adjustment=0),
    fk.RuleListClassifier("optimal", penalty=1),
]


@pytest.mark.parametrize("model", TIMID, ids=lambda model: type(model).__name__)
def test_a_model_of_one_class(model):
    rare = np.where(FRAME["odor"] == "foul", LABELS, "good")
    expected = "'good' for all .*, although odor = foul|no rule has weight"
    with pytest.warns(UserWarning, match=expected):
        model.fit(FRAME[["odor"]], rare)
    assert len({*model.predict(FRAME[["odor"]])}) == 1


@pytest.mark.parametrize("model", TIMID[5:7], ids=lambda model: type(model).__name__)
def test_a_model_of_one_class_where_numbers_are_cut(model):
    X = pd.DataFrame(RNG.random((400, 4)), columns=list("abcd"))
    y = (X["c"] < 0.2).to_numpy()
    with pytest.warns(UserWarning, match="False for all training rows, although c [<>]= .* alone"):
        model.fit(X, y)
    learned = fk.PRLClassifierCV(
        [1.0], [1], tol=0.1, cv=2, encoder=fk.PropositionEncoder(cut_points=3)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned.fit(X, X["b"] + X["c"] < 1)
    assert len({*learned.predict(X)}) == 2


@pytest.mark.parametrize("model", TIMID[:1] + TIMID[5:6], ids=lambda model: type(model).__name__)
def test_one_class_where_columns_say_nothing(model):
    noise = RNG.random((200, 3)) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(noise, np.arange(200) < 20)
    assert not model.predict(noise).any()


def test_columns_that_tell_classes_apart():
    codes = np.repeat([0, 1], [990, 10])
    telltale = np.zeros((1000, 3), dtype=int)
    telltale[991, 0] = 1  # a single row says nothing
    telltale[:, 1] = RNG.random(1000) < 0.5
    assert informative_column(telltale, codes) is None
    telltale[985:999, 2] = 1
    assert informative_column(telltale, codes) == 2
    assert informative_column(np.zeros((1000, 0)), codes) is None


# -- keywords ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word", ["distinct", "bound", "free", "bond", "distnct", "Distinct", "graded"]
)
def test_keywords_are_no_formulas(word):
    for make in (
        lambda: fk.kernel(word),
        lambda: fk.FormulaSVC(word).fit(FRAME, LABELS),
        lambda: fk.FormulaSearch([word]).fit(FRAME, LABELS),
        lambda: fk.FormulaMKL([word]).fit(FRAME, LABELS),
        lambda: fk.FormulaFeatures(word).fit(FRAME),
    ):
        with pytest.raises(fk.ParameterError, match="would be a formula of one variable"):
            make()


@pytest.mark.parametrize(
    ("word", "right"),
    [("conjunction", "conjunctions"), ("rule", "rules"), ("polynomials", "polynomial")],
)
def test_keywords_are_no_templates(word, right):
    for features in (word, [word], ["a & b", word]):
        with pytest.raises(fk.ParameterError, match=f"write features='{right}'"):
            fk.PRLClassifier(features).fit(FRAME, LABELS)


@pytest.mark.parametrize("formula", ["x", "a", "foo", "size", "odor", "x1", "distinct & free"])
def test_other_words_are_formulas(formula):
    assert fk.kernel(formula).dimension(3) > 0


# -- classes of any kind -----------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["0", "1"], ["1.5", "2"], [2.0, 5.0], [True, False]])
def test_weights_of_classes_that_look_like_other_numbers(labels):
    """Text of digits names classes of its own, whatever int() makes of them."""
    y = np.array(labels)[(LABELS == "bad").astype(int)]
    weight = dict(zip(labels, (1.0, 2.0), strict=True))
    plain = fk.FormulaSVC("a", C=1, class_weight={"bad": 2.0, "good": 1.0}).fit(FRAME, LABELS)
    model = fk.FormulaSVC("a", C=1, class_weight=weight).fit(FRAME, y)
    flip = -1 if [*model.classes_].index(labels[1]) != [*plain.classes_].index("bad") else 1
    np.testing.assert_allclose(
        model.decision_function(FRAME), flip * plain.decision_function(FRAME), atol=2e-2
    )
    fk.FormulaSearch(["a"], cv=2, C=1).fit(FRAME, y)
    weighted = fk.StringSVC("spectrum(1)", class_weight=weight)
    weighted.fit(FRAME["odor"].tolist(), y)


# -- columns that give the class away ----------------------------------------------------------


def rights(entries, labels, half):
    """The rows whose class the other half of one column gives, row by row."""
    found = 0
    for row, entry in enumerate(entries):
        others = [k for k in range(len(entries)) if half[k] != half[row]]
        known = sorted({entries[k] for k in others}, key=str if isinstance(entry, str) else None)
        if isinstance(entry, str):
            same = [k for k in others if entries[k] == entry] or others
        else:
            value = max((v for v in known if v <= entry), default=known[0])
            same = [k for k in others if entries[k] == value]
        classes = [labels[k] for k in same]
        found += labels[row] == max(sorted({*classes}), key=classes.count)
    return found


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.booleans(), st.sampled_from([1, 5, 80]))
def test_leaks_are_counted_row_by_row(seed, n_classes, text, n_values):
    random = np.random.default_rng(seed)
    n = 120
    labels = random.integers(0, n_classes, n)
    flipped = np.where(random.random(n) < 0.01, random.integers(0, n_classes, n), labels)
    entries = (n_values * flipped + random.integers(0, n_values, n)).tolist()
    entries = [f"v{entry}" for entry in entries] if text else entries
    table = fk.Table({"size": random.normal(size=n), "flag": [0, 1] * 60, "code": entries})
    half = np.random.default_rng(0).permutation(n) % 2
    share = rights(entries, labels.tolist(), half) / n
    few = n * (1 - share) <= 0.02 * (n - np.bincount(labels).max())
    assert leaking_columns(table, labels) == ({"code": pytest.approx(share)} if few else {})


def test_leaks_of_every_kind():
    """Copies, codes, scores and sorted identifiers leak; good columns and easy classes do not."""
    random = np.random.default_rng(0)
    y = np.sort(random.random(400) < 0.3)
    noise = {f"x{k}": random.normal(size=400) for k in range(6)}
    day = np.datetime64("2020-01-01") + np.arange(400)
    copies = {
        "text": np.where(y, "yes", "no"),
        "truth": ~y,
        "code": np.where(y, 7.5, -2.0),
        "filled": np.where(y, random.normal(size=400), np.nan),
        "score": y + 0.9 * random.random(400),
        "number": np.arange(400),
        "day": day,
    }
    for name, column in copies.items():
        assert [*leaking_columns(fk.Table({**noise, name: column}), y)] == [name]
    harmless = {
        "name": [f"n{k}" for k in range(400)],
        "constant": [1] * 400,
        "good": y ^ (random.random(400) < 0.03),
    }
    assert leaking_columns(fk.Table({**noise, **harmless}), y) == {}
    assert leaking_columns(fk.Table({"a": y, "b": ~y, "x": noise["x0"]}), y) == {}
    few = np.arange(250, 300)  # too few rows to be sure
    table = fk.Table({**noise, "text": copies["text"]})
    assert leaking_columns(table, y) == {"text": 1.0}
    assert leaking_columns(table[few], y[few]) == {}


def test_no_public_table_leaks():
    """The odour of mushrooms is right in 98.5 % of rows, and a good column."""
    folder = Path(os.environ.get("FORMULAKERN_DATA", Path(__file__).parents[3] / "shared" / "data"))
    paths = [path for path in sorted(folder.glob("*.csv*")) if path.name != "cpu-performance.csv"]
    if not paths:
        pytest.skip(f"needs {folder}; set FORMULAKERN_DATA")
    for path in paths:
        if path.stat().st_size > 60_000 and path.name != "mushroom.csv":  # reading takes long
            continue
        dataset = fk.datasets.read_table(path)
        assert leaking_columns(dataset.data, dataset.target) == {}, path.name
        copied = {f"c{k}": dataset.data[name] for k, name in enumerate(dataset.data.names)}
        copied["copy"] = [f"is {label}" for label in dataset.target]
        sizes = np.unique(dataset.target, return_counts=True)[1]
        small = sizes[sizes >= 10].sum() - sizes.max() < 30
        assert [*leaking_columns(fk.Table(copied), dataset.target)] == ["copy"] * (not small), (
            path.name
        )


def test_records_are_refused_with_the_way_out():
    records = [{"a": 1}] * 4
    for work in (
        lambda: fk.kernel("a")(records),
        lambda: fk.Table.of(records),
        lambda: fk.FormulaSVC().fit(records, [0, 1] * 2),
        lambda: fk.PRLClassifier().fit(records, [0, 1] * 2),
    ):
        with pytest.raises(fk.DataError, match=r"list of dicts.*pandas\.DataFrame"):
            work()


def test_mixed_classes_are_named():
    with pytest.raises(fk.DataError, match=r"y mixes text, 'a' \(row 1\), and int, 1 \(row 0\)"):
        fk.FormulaSVC().fit(FRAME[:4], [1, "a", 2, "b"])
    with pytest.raises(fk.DataError, match=r"the class of row 2 is missing \(None\)"):
        fk.HKLClassifier().fit(FRAME[:4], ["a", "b", None, "b"])
