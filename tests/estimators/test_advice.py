"""What is said of fits that succeed and are hardly what was meant, and of keywords as formulas."""

import warnings

import numpy as np
import pandas as pd
import pytest

import formulakern as fk
from formulakern.estimators.advice import telling

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
    """A kernel is 0 only where its diagonal is, however late a row with another value comes."""
    X = np.zeros((3000, 3), dtype=int)
    X[-1] = 1
    y = np.arange(3000) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fk.FormulaSVC("a & b & c", encoder=None).fit(X, y)


# -- variables and columns ---------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["odor & x", "size", "~ring | odor"])
def test_a_variable_called_like_a_column(formula):
    with pytest.warns(UserWarning, match=r"called like a column.*fk\.rule"):
        fk.FormulaSVC(formula).fit(FRAME, LABELS)
    with pytest.warns(UserWarning, match="called like a column"):
        fk.FormulaSVR(fk.parse(formula)).fit(FRAME, np.arange(60.0))
    with pytest.warns(UserWarning, match="called like a column"):
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
    with pytest.warns(UserWarning, match="one class, 'good', though odor = foul|worth its weight"):
        model.fit(FRAME[["odor"]], rare)
    assert len({*model.predict(FRAME[["odor"]])}) == 1


@pytest.mark.parametrize("model", TIMID[5:7], ids=lambda model: type(model).__name__)
def test_a_model_of_one_class_where_numbers_are_cut(model):
    X = pd.DataFrame(RNG.random((400, 4)), columns=list("abcd"))
    y = (X["c"] < 0.2).to_numpy()
    with pytest.warns(UserWarning, match="one class, False, though c [<>]= .* alone says more"):
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
    assert telling(telltale, codes) is None
    telltale[985:999, 2] = 1
    assert telling(telltale, codes) == 2
    assert telling(np.zeros((1000, 0)), codes) is None


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
