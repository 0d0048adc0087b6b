"""Hostile tables, targets, weights and parameters: a usable model or a sentence, everywhere.

Each case gives either a fitted model whose predictions are finite and of known classes, or one of
our own errors, which is a ValueError or a TypeError.
"""

import datetime
import decimal
import fractions
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import has_fit_parameter

import formulakern as fk

N = 16
RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (N, 3))
LABELS = np.array(["no", "yes"] * (N // 2))
CODES = np.array([0, 1] * (N // 2))
FRAME = pd.DataFrame(
    {"a": RNG.choice(list("xyz"), N), "b": RNG.normal(size=N), "c": RNG.random(N) < 0.5}
)
HUGE = 10**400
NUMBERS = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["p", "q"])
STRINGS = pd.DataFrame({"s": ["".join(RNG.choice(list("ACGT"), 6)) for _ in range(N)]})
MODELS = {
    "FormulaSVC": fk.FormulaSVC(),
    "FormulaSVC, graded": fk.FormulaSVC(inputs="graded"),
    "FormulaSVCCV": fk.FormulaSVCCV(Cs=[1], cv=2),
    "FormulaSVR": fk.FormulaSVR(),
    "FormulaOneClass": fk.FormulaOneClass(),
    "FormulaMKL": fk.FormulaMKL(("a", "a & b"), max_iter=20),
    "FormulaSearch": fk.FormulaSearch(["a"], cv=2, C=1),
    "FormulaFeatures": fk.FormulaFeatures("a & b"),
    "PropositionEncoder": fk.PropositionEncoder(),
    "PRLClassifier": fk.PRLClassifier(degree=1),
    "PublishedPRL": fk.PublishedPRL(degree=1, epochs=2, budget=5, solver="linprog"),
    "PRLClassifierCV": fk.PRLClassifierCV([1], cv=2, degrees=[1]),
    "HKLClassifier": fk.HKLClassifier(C=1, tol=0.3),
    "HKLRegressor": fk.HKLRegressor(C=1, tol=0.3),
    "HKLClassifierCV": fk.HKLClassifierCV([1], [4], cv=2, tol=0.3),
    "RuleListClassifier": fk.RuleListClassifier(random_state=0),
    "RuleListClassifier, oner": fk.RuleListClassifier("oner"),
    "ChoquetSVC": fk.ChoquetSVC(additivity=1),
    "ChoquetRegressor": fk.ChoquetRegressor(additivity=1),
    "StringSVC": fk.StringSVC("spectrum(2)"),
}
#: Those that do not look at y.
BLIND = ("FormulaOneClass", "FormulaFeatures", "PropositionEncoder")


class Strange:
    """An object that nothing can be made of."""


def rows_of(name):
    """Rows that an estimator can learn from."""
    return NUMBERS if "Choquet" in name else STRINGS if name == "StringSVC" else FRAME


def target_of(name):
    return np.linspace(0, 1, N) if is_regressor(MODELS[name]) else LABELS


def outcome(work):
    """The error that work ends with, if it does: one of ours, and no other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except fk.FormulaKernError as error:
            found = error
    assert isinstance(found, (TypeError, ValueError)), type(found)
    assert len(str(found)) > 20
    return found


def used(model, X):
    """Predictions of a fitted model, which are numbers or classes."""
    if not hasattr(model, "predict"):
        found = model.transform(X)
        found = found.data if sp.issparse(found) else np.asarray(found, dtype=float)
        assert np.isfinite(found).all()
        return found
    found = np.asarray(model.predict(X))
    assert len(found) == (N if not hasattr(X, "shape") or not X.shape else X.shape[0])
    if hasattr(model, "classes_"):
        assert {*found.tolist()} <= {*model.classes_.tolist()}
    else:
        assert np.isfinite(found).all()
    return found


TARGETS = {
    "missing": [None] * N,
    "one missing": [None, *LABELS[1:]],
    "NaN": np.r_[np.nan, CODES[1:]],
    "pd.NA": pd.array([pd.NA, *CODES[1:]], dtype="Int64"),
    "NaT": np.array(["2020", "NaT"] * (N // 2), dtype="datetime64[D]"),
    "masked": np.ma.masked_array(CODES, mask=CODES == 1),
    "a category missing": pd.Categorical([None, *LABELS[1:]]),
    "text and numbers": [1, "a"] * (N // 2),
    "text and numbers in an array": np.array([1, "a"] * (N // 2), dtype=object),
    "bools and text": [True, "a"] * (N // 2),
    "dicts": [{"class": 1}] * N,
    "lists": [[1, 2]] * N,
    "ragged": [[1], [1, 2]] * (N // 2),
    "sets": [{1}] * N,
    "objects": [Strange()] * N,
    "bytes": [b"a", b"b"] * (N // 2),
    "too long": [*LABELS, "no"],
    "too short": LABELS[:5],
    "empty": [],
    "one number": 1,
    "a text": "abc",
    "a dict": {"a": 1},
    "an object": Strange(),
    "two columns": np.stack([CODES, 1 - CODES], axis=1),
    "a frame of two": pd.DataFrame({"t": LABELS, "u": LABELS}),
    "one class": np.zeros(N),
    "complex": CODES * 1j,
    "infinite": np.r_[np.inf, CODES[1:]],
    "huge integers": [HUGE, 0] * (N // 2),
    "decimals": [decimal.Decimal(1), decimal.Decimal(0)] * (N // 2),
    "fractions": [fractions.Fraction(1, 2), fractions.Fraction(1)] * (N // 2),
    "sparse": sp.csr_array(CODES[:, None]),
    "many classes": [f"c{i}" for i in range(N)],
    "digits as text": ["1", "0"] * (N // 2),
    "dates": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"] * (N // 2))),
}
#: What numbers cannot be made of; and what classes can, as the others are refused by classifiers.
NO_NUMBERS = {"NaN", "infinite", "huge integers", "dates", "NaT", "masked", "pd.NA", "complex"}
CLASSES = {"digits as text", "dates", "many classes", "decimals", "fractions", "sparse", "bytes"}


@pytest.mark.parametrize("name", [n for n in MODELS if n not in BLIND and "graded" not in n])
def test_targets(name):
    X = rows_of(name)
    for case, y in TARGETS.items():
        model = clone(MODELS[name])
        found = outcome(lambda model=model, y=y: used(model.fit(X, y), X))
        wrong = case in NO_NUMBERS if is_regressor(model) else case not in CLASSES
        assert not wrong or isinstance(found, Exception), f"{case} is taken"


TABLES = {
    "None": None,
    "a number": 3,
    "a text": "abc",
    "an object": Strange(),
    "a function": len,
    "a set": {1, 2},
    "a list of dicts": [{"a": 1, "b": "x"}] * N,
    "one dimension": np.arange(N),
    "three dimensions": np.zeros((N, 2, 2)),
    "no columns": np.zeros((N, 0)),
    "no rows": np.zeros((0, 3)),
    "a frame without columns": pd.DataFrame(index=range(N)),
    "a frame without rows": FRAME.iloc[:0],
    "one row": FRAME.iloc[:1],
    "equal names": pd.DataFrame(BITS, columns=list("aab")),
    "numbers and text as names": pd.DataFrame(BITS, columns=[1, "a", 2]),
    "NaN as a name": pd.DataFrame(BITS, columns=[np.nan, "a", "b"]),
    "an empty name": pd.DataFrame(BITS, columns=["", "a", "b"]),
    "numbers as names": pd.DataFrame(BITS),
    "a column of lists": pd.DataFrame({"a": [[1, 2]] * N, "b": range(N)}),
    "a column of dicts": pd.DataFrame({"a": [{"q": 1}] * N, "b": range(N)}),
    "polars lists": pl.DataFrame({"a": [[1, 2]] * N}),
    "polars nulls": pl.DataFrame({"a": [None] * N}),
    "a lazy frame": pl.LazyFrame({"a": [1] * N}),
    "ragged": [[1, 2], [1]] * (N // 2),
    "ragged columns": {"a": [1, 2], "b": [1]},
    "a column of one number": {"a": 1},
    "no column at all": {},
    "complex": BITS * (1 + 1j),
    "huge integers": [[HUGE, 1], [0, 1]] * (N // 2),
    "the least and largest integer": np.array([[2**63 - 1, 0], [-(2**63), 1]] * (N // 2)),
    "infinite": np.where(BITS == 1, np.inf, 0.0),
    "NaN": np.where(BITS == 1, np.nan, 0.0),
    "all NaN": np.full((N, 2), np.nan),
    "constant": np.ones((N, 3)),
    "all 0": np.zeros((N, 3)),
    "objects": np.array([[Strange(), 1]] * N, dtype=object),
    "sparse": sp.csr_array(BITS),
    "sparse coordinates": sp.coo_matrix(BITS),
    "sparse halves": sp.csr_array(BITS * 0.5),
    "sparse NaN": sp.csr_array(np.where(BITS == 1, np.nan, 0.0)),
    "sparse negative": sp.csr_array(-BITS),
    "mixed columns": pd.DataFrame({"a": [1, "x", None, 2.5] * (N // 4)}),
    "dates": pd.DataFrame({"a": pd.date_range("2020", periods=N)}),
    "dates as objects": [[datetime.date(2020, 1, 1 + i)] for i in range(N)],
    "periods": pd.DataFrame({"a": pd.period_range("2020", periods=N)}),
    "decimals": [[decimal.Decimal(i), 1] for i in range(N)],
    "bytes": np.array([[b"a"], [b"b"]] * (N // 2)),
    "records": np.zeros(N, dtype=[("a", int), ("b", int)]),
    "masked": np.ma.masked_array(BITS, mask=BITS == 1),
    "tiny": BITS * 1e-320,
    "large": BITS * 1e308,
    "missing integers": pd.DataFrame({"a": pd.array([pd.NA, 1] * (N // 2), dtype="Int64")}),
}
#: What no estimator can read.
REFUSED = set(list(TABLES)[:13]) | {
    "equal names",
    "ragged",
    "ragged columns",
    "a column of one number",
    "no column at all",
    "a column of lists",
    "a column of dicts",
    "complex",
}


@pytest.mark.parametrize("name", MODELS)
def test_tables(name):
    target = target_of(name)
    for case, X in TABLES.items():
        y = target[:1] if case == "one row" else target[:0] if "rows" in case else target
        model = clone(MODELS[name])
        found = outcome(lambda model=model, X=X, y=y: used(model.fit(X, y), X))
        assert case not in REFUSED or isinstance(found, Exception), f"{case} is taken"


@pytest.mark.parametrize("name", MODELS)
def test_later_tables(name):
    """A table other than that of training is refused, or read by the names of columns."""
    X = rows_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(MODELS[name]).fit(X, target_of(name))
    expected = used(model, X)
    for table in TABLES.values():
        outcome(lambda table=table: used(model, table))
    for later in (
        X.iloc[:, :-1],
        X.iloc[:, ::-1],
        X.assign(more=1),
        X.rename(columns={X.columns[0]: "else"}),
    ):
        found = outcome(lambda later=later: used(model, later))
        same = isinstance(found, Exception) or np.array_equal(found, expected)
        assert same, f"{[*later]} was read as {[*X]}"
        assert "\n. " not in str(found)  # scikit-learn's lines, and then a sentence of ours


WEIGHTS = {
    "negative": -np.ones(N),
    "NaN": np.r_[np.nan, np.ones(N - 1)],
    "all 0": np.zeros(N),
    "too short": np.ones(3),
    "infinite": np.r_[np.inf, np.ones(N - 1)],
    "text": ["a"] * N,
    "a text": "balanced",
    "two columns": np.ones((N, 2)),
    "missing": [None] * N,
    "complex": np.ones(N) * 1j,
    "objects": [Strange()] * N,
    "huge integers": [HUGE] * N,
    "one class only": CODES.astype(float),
}


@pytest.mark.parametrize(
    "name", [n for n in MODELS if has_fit_parameter(MODELS[n], "sample_weight")]
)
def test_weights_of_rows(name):
    X, y, model = rows_of(name), target_of(name), clone(MODELS[name])
    for case, weights in WEIGHTS.items():
        found = outcome(lambda weights=weights: model.fit(X, y, sample_weight=weights))
        right = case == "one class only" and (is_regressor(model) or name == "FormulaOneClass")
        assert right or isinstance(found, fk.DataError), f"{case} are taken"


#: Values that no estimator takes for a parameter of this name.
WRONG = {
    "C": [0, -1, np.nan, np.inf, "x", None, HUGE],
    "random_state": ["x", 1.5, -1, np.random.default_rng(0)],
    "class_weight": [
        {"zzz": 2.0},
        "heavy",
        {"no": -1, "yes": 1},
        {"no": np.nan, "yes": 1},
        {"no": 0, "yes": 1},
        {"no": "a", "yes": 1},
        [1, 2],
    ],
    "max_rules": [0, -1, 1.5],
    "tol": [-1, np.nan, "x"],
    "encoder": ["foo", fk.PropositionEncoder, 3],
    "variables": ["bond", None],
    "formula": ["distinct", "bond", "graded", None, 3, "", ["a"], "a &"],
    "features": ["conjunction", "rule", "polynom", None, {}],
    "candidates": [0, -3, [], "a & b", ["distinct"]],
    "formulas": [[], "a & b", 3, ["free"]],
    "normalize": ["no", None],
    "cv": [1, "five", 0, 2.5, [1, 2]],
    "scoring": ["foo", len],
    "time_limit": [-1, "1", np.nan],
    "domains": [["a"], 3],
    "decision_function_shape": ["foo"],
    "degree": [0, 1.5],
    "relations": [("==",), "<", None],
    "monotone": [{"b": 2}, ["b"], {"nope": 1}],
    "linear": ["x"],
}
#: Where such a value has no effect, or a meaning of its own.
UNUSED = {
    ("FormulaSVCCV", "C"),
    *((name, "random_state") for name in ("FormulaSVC", "FormulaSVC, graded", "FormulaMKL")),
    *((name, "random_state") for name in ("HKLClassifier", "StringSVC")),
    ("RuleListClassifier, oner", "random_state"),
    *((name, "cv") for name in ("ChoquetSVC", "ChoquetRegressor", "StringSVC")),
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters(name):
    X, y = rows_of(name), target_of(name)
    for parameter in WRONG.keys() & MODELS[name].get_params(deep=False).keys():
        if (name, parameter) in UNUSED:
            continue
        for value in WRONG[parameter]:
            model = clone(MODELS[name]).set_params(**{parameter: value})
            found = outcome(lambda model=model: model.fit(X, y))
            assert isinstance(found, Exception), f"{parameter}={value!r} is taken"
