"""FormulaSVC: the same machine for any kind of table; scikit-learn's interface; refusals."""

import copy
import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import formulakern as fk
from formulakern import DataError, FormulaSVC, ParameterError, datasets
from formulakern.learning import kernel_machines
from formulakern.progress import Progress

# One line each, as scikit-learn's own SVC has them.
WEIGHTS = "cut points are quantiles of the unweighted rows, and libsvm stops at a tolerance"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@parametrize_with_checks(
    [FormulaSVC(), FormulaSVC("a", inputs="graded", C=1.0)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def boards():
    X, y = datasets.tic_tac_toe()
    chosen = np.random.default_rng(0).permutation(len(y))[:300]
    return X[chosen[:200]], y[chosen[:200]], X[chosen[200:]]


@pytest.fixture(scope="module")
def binary():
    """A 0/1 table, three classes, and rows to predict."""
    generator = np.random.default_rng(1)
    X = (generator.random((150, 12)) < 0.4).astype(np.uint8)
    y = X[:, 0] + (X[:, 1] & X[:, 2])
    return X[:100], y[:100], X[100:]


# -- tables in ---------------------------------------------------------------------------------


def test_every_kind_of_table_gives_the_same_machine(boards):
    X, y, later = boards
    expected = FormulaSVC("(a & ~b) | c").fit(X, y).decision_function(later)
    for kind in (
        lambda t: t.to_pandas(),
        lambda t: pl.DataFrame({name: t[name].tolist() for name in t.names}),
        lambda t: {name: t[name] for name in t.names},
        np.asarray,
        lambda t: np.asarray(t).tolist(),
    ):
        model = FormulaSVC("(a & ~b) | c").fit(kind(X), y)
        np.testing.assert_array_equal(model.decision_function(kind(later)), expected)


def test_binary_tables_in_every_form(binary):
    X, y, later = binary
    expected = FormulaSVC("a & ~b").fit(X, y).decision_function(later)
    frame = partial(pd.DataFrame, columns=[f"gene {j}" for j in range(12)])
    forms = [
        np.asfortranarray, np.ndarray.tolist, sp.csr_array, sp.csc_matrix, sp.coo_array, frame,
        fk.Table.of, lambda X: X.astype(bool), lambda X: X.astype(float),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: pl.DataFrame(X, schema=[f"gene {j}" for j in range(12)]),
    ]  # fmt: skip
    for form in forms:
        for encoder in ("auto", None):
            model = FormulaSVC("a & ~b", encoder=encoder).fit(form(X), y)
            np.testing.assert_allclose(model.decision_function(form(later)), expected, atol=1e-9)


def test_a_mixed_table_with_gaps_and_news(boards):
    train = fk.Table(
        {
            "odor": ["foul", "none", None, "foul", "none", "foul"] * 5,
            "size": [1.5, 2.5, 3.5, None, 5.5, 6.5] * 5,
            "ring": [True, False, True, False, False, True] * 5,
        }
    )
    y = np.array(["p", "e", "e", "p", "e", "p"] * 5)
    model = FormulaSVC("a & b", C=10).fit(train, y)
    assert model.score(train, y) == 1
    assert model.propositions_[:3] == ("odor = foul", "odor = none", "odor is missing")
    for text in model.propositions_:
        fk.rule(text)(train)
    news = {
        "odor": ["foul", "musty", None],
        "size": [None, 99.0, None],
        "ring": [True, False, True],
    }
    assert set(model.predict(news)) <= {"p", "e"}
    strict = FormulaSVC("a & b", encoder=fk.PropositionEncoder(unknown="error")).fit(train, y)
    with pytest.raises(fk.DataError, match=r"column \"odor\" holds 'musty' \(row 1\)"):
        strict.predict(news)
    careful = FormulaSVC("a & b", encoder=fk.PropositionEncoder(missing="error"))
    with pytest.raises(fk.DataError, match=r'column "odor" has a missing value \(row 2\)'):
        careful.fit(train, y)


def test_a_row_without_any_true_proposition_is_predicted():
    X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 4)
    y = X[:, 0]
    model = FormulaSVC("a & b", encoder=None).fit(X, y)
    np.testing.assert_allclose(model.decision_function(np.zeros((1, 2))), model.intercept_)


# -- classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [["no", "yes", "perhaps"], [3, 1, 2], [2.0, 0.0, -1.0], np.array(["x", "y", "z"], object)],
)
def test_classes_of_every_type(binary, labels):
    X, y, later = binary
    named = np.asarray(labels)[y]
    model = FormulaSVC("a & b", C=100).fit(X, named)
    np.testing.assert_array_equal(model.classes_, np.unique(named))
    assert model.predict(later).dtype == model.classes_.dtype
    assert model.score(X, named) > 0.9


def test_shapes_of_decisions(binary):
    X, y, later = binary
    assert FormulaSVC().fit(X, y > 0).decision_function(later).shape == (50,)
    assert FormulaSVC().fit(X, y).decision_function(later).shape == (50, 3)
    four = np.where(X[:, 5] == 1, 3, y)
    pairs = FormulaSVC(decision_function_shape="ovo").fit(X, four)
    assert pairs.decision_function(later).shape == (50, 6)
    assert pairs.dual_coef_.shape == (3, len(pairs.support_))
    assert pairs.intercept_.shape == (6,)
    assert pairs.n_support_.shape == (4,)
    assert pairs.n_iter_.shape == (6,)
    for encoder in ("auto", None):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):  # as scikit-learn has it
            FormulaSVC(encoder=encoder).fit(X, y).predict(later[:0])


def test_sign_of_the_decision_is_the_class(binary):
    X, y, later = binary
    model = FormulaSVC("a | b").fit(X, np.where(y > 0, "up", "down"))
    np.testing.assert_array_equal(
        model.predict(later), np.where(model.decision_function(later) > 0, "up", "down")
    )


def test_the_machine_is_that_of_scikit_learn(binary):
    X, y, later = binary
    k = fk.kernel("(a & ~b) | c", "distinct").normalized()
    theirs = SVC(kernel=k, C=3, tol=1e-8).fit(X, y)
    ours = FormulaSVC("(a & ~b) | c", "distinct", C=3, encoder=None, tol=1e-12).fit(X, y)
    assert ours.kernel_ == k
    expected = theirs.decision_function(later)
    np.testing.assert_allclose(ours.decision_function(later), expected, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(later), theirs.predict(later))
    for one, other in ((ours, theirs), (theirs, ours)):
        heavy = np.abs(one.dual_coef_).max(axis=0) > 1e-4
        assert set(one.support_[heavy]) <= set(other.support_)
    # what it solved: K on the support vectors, weighted, plus the constant
    two = FormulaSVC("(a & ~b) | c", "distinct", C=3, encoder=None).fit(X, y > 0)
    by_hand = k(later, X[two.support_]) @ two.dual_coef_[0] + two.intercept_
    np.testing.assert_allclose(two.decision_function(later), by_hand, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the model predicts .* for all training rows")
def test_weights_of_classes_and_rows(binary):
    X, y, _ = binary
    noisy = (y > 0) ^ (np.random.default_rng(0).random(100) < 0.2)
    n_true = {
        name: FormulaSVC("a & b", class_weight=weight).fit(X, noisy).predict(X).sum()
        for name, weight in (("low", {True: 0.05}), ("none", None), ("high", {True: 20.0}))
    }
    assert n_true["low"] < n_true["none"] < n_true["high"]
    balanced = FormulaSVC("a & b", class_weight="balanced").fit(X, noisy)
    counts = np.bincount(noisy)
    by_hand = {False: 100 / (2 * counts[0]), True: 100 / (2 * counts[1])}
    same = FormulaSVC("a & b", class_weight=by_hand).fit(X, noisy)
    np.testing.assert_allclose(balanced.decision_function(X), same.decision_function(X))
    weight = np.where(noisy, 20.0, 1.0)
    exact = {"C": 0.1, "tol": 1e-8}
    weighted = FormulaSVC("a & b", **exact).fit(X, noisy, sample_weight=weight)
    by_class = FormulaSVC("a & b", class_weight={True: 20.0}, **exact).fit(X, noisy)
    np.testing.assert_allclose(weighted.decision_function(X), by_class.decision_function(X))
    svc = SVC(kernel=by_class.kernel_, class_weight={True: 20.0}, **exact).fit(X, noisy)
    np.testing.assert_allclose(by_class.decision_function(X), svc.decision_function(X), atol=1e-2)
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\)"):
        FormulaSVC().fit(X, noisy, sample_weight=np.ones(3))


# -- encoders ----------------------------------------------------------------------------------


def test_without_encoder_only_zeros_and_ones(binary):
    X, y, _ = binary
    wrong = X.astype(float)
    wrong[17, 3] = 3
    with pytest.raises(fk.DataError, match=r"3.*\(row 17\)"):
        FormulaSVC(encoder=None).fit(wrong, y)
    for words in (np.full((100, 2), "x"), np.full((100, 2), np.nan), [["x", 1]] * 100):
        with pytest.raises(ValueError, match=r"NaN|string|float"):
            FormulaSVC(encoder=None).fit(words, y)
    model = FormulaSVC(encoder=None).fit(X, y)
    assert model.encoder_ is None
    assert model.propositions_ == tuple(f"x{j}" for j in range(12))
    with pytest.raises(fk.DataError, match=r"3.*\(row 17\)"):
        model.predict(wrong)


def test_encoders_of_ones_own(boards, binary):
    X, y, later = boards
    frame, frame_later = X.to_pandas(), later.to_pandas()
    expected = FormulaSVC("a & b").fit(X, y).decision_function(later)
    for sparse in (True, False):
        encoder = OneHotEncoder(sparse_output=sparse, handle_unknown="ignore")
        model = FormulaSVC("a & b", encoder=encoder).fit(frame, y)
        np.testing.assert_allclose(model.decision_function(frame_later), expected)
        assert not hasattr(encoder, "categories_")  # cloned, not touched
        assert model.propositions_[0] == "top-left-square_b"
        assert model.feature_names_in_.tolist() == list(X.names)
    framed = fk.PropositionEncoder().set_output(transform="pandas")
    model = FormulaSVC("a & b", encoder=framed).fit(X, y)
    np.testing.assert_allclose(model.decision_function(later), expected)
    numbers = np.random.default_rng(0).integers(1, 4, size=(60, 3))
    coded = FormulaSVC("a & b", encoder=fk.PropositionEncoder(nominal="all"))
    assert len(coded.fit(numbers, numbers[:, 0]).propositions_) == 9


def test_domains_by_the_names_of_input_columns(boards):
    X, y, later = boards
    rows = {"row": list(X.names[:3]), "rest": list(X.names[3:])}
    model = FormulaSVC("a:row & b:row & c:rest", domains=rows, normalize=False).fit(X, y)
    encoded = fk.PropositionEncoder().fit(X)
    columns = {"row": range(9), "rest": range(9, 27)}
    k = fk.kernel("a:row & b:row & c:rest", domains=columns)
    np.testing.assert_array_equal(model.kernel_(encoded.transform(X)), k(encoded.transform(X)))
    by_place = FormulaSVC(
        "a:row & b:row & c:rest",
        domains={"row": [0, 1, 2], "rest": slice(3, None)},
        normalize=False,
    ).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(later), by_place.decision_function(later))
    with pytest.raises(fk.DataError, match='did you mean "top-left-square"'):
        FormulaSVC("a:x", domains={"x": ["top-left-sqare"]}).fit(X, y)
    with pytest.raises(fk.DataError, match="names the domain 'y'"):
        FormulaSVC("a:y", domains={"x": [0]}).fit(X, y)


def test_domains_without_encoder(binary):
    X, y, later = binary
    halves = {"left": slice(0, 6), "right": slice(6, 12)}
    model = FormulaSVC("a:left & b:right", encoder=None, domains=halves).fit(X, y)
    k = fk.kernel("a:left & b:right", domains=halves).normalized()
    np.testing.assert_array_equal(model.kernel_(X), k(X))
    assert model.predict(later).shape == (50,)


# -- parameters and manners --------------------------------------------------------------------


def test_a_formula_in_three_forms(binary):
    X, y, later = binary
    a, b = fk.variables("a b")
    expected = FormulaSVC("a & ~b", normalize=False).fit(X, y).decision_function(later)
    for formula in (a & ~b, fk.kernel("a & ~b")):
        model = FormulaSVC(formula, normalize=False).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(later), expected)
    made = fk.kernel("a & b") + 0.5 * fk.kernel("a ^ b").normalized()
    model = FormulaSVC(made).fit(X, y)
    assert model.kernel_ == made.normalized()


def test_a_kernel_of_large_values():
    X, y = datasets.monks(1)
    formula = " & ".join(f"(a{i} | ~b{i})" for i in range(200))
    cosine = FormulaSVC(formula, encoder=fk.PropositionEncoder(nominal="all")).fit(X, y)
    assert np.isfinite(cosine.decision_function(X)).all()
    with pytest.raises(fk.MagnitudeError, match="scale='probability'"):
        FormulaSVC(formula, normalize=False).fit(X, y)
    FormulaSVC(fk.kernel(formula, scale="probability"), normalize=False).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"formula": "a & | b"}, fk.FormulaSyntaxError, "two connectives in a row"),
        ({"formula": 3}, fk.ParameterError, "expected a str or a Formula; got int"),
        ({"variables": "loose"}, fk.ParameterError, "'bound', 'free', 'distinct'"),
        ({"encoder": "onehot"}, fk.ParameterError, "'auto', None or an instance of a transformer"),
        ({"C": -1.0}, fk.ParameterError, "C=-1.0"),
        ({"tol": 0}, fk.ParameterError, "tol=0"),
        ({"time_limit": -1}, fk.ParameterError, "time_limit"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, error, sentence, binary):
    X, y, _ = binary
    model = FormulaSVC(**parameters)
    with pytest.raises(error, match=sentence):
        model.fit(X, y)


def test_refusals(boards, binary):
    X, y, later = boards
    with pytest.raises(NotFittedError):
        FormulaSVC().predict(later)
    model = FormulaSVC().fit(X, y)
    assert model.n_features_in_ == 9
    assert model.feature_names_in_.tolist() == list(X.names)
    with pytest.raises(
        fk.DataError, match="X has 2 features, but PropositionEncoder is expecting 9"
    ):
        model.predict(later.select(X.names[:2]))
    with pytest.raises(fk.DataError, match='column 0 is "bottom-right-square" but was "top-left'):
        model.predict(later.select(X.names[::-1]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(later.to_pandas().rename(columns={"top-left-square": "corner"}))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FormulaSVC().fit(X, y[:-1])
    with pytest.raises(ValueError, match="all rows are of one class"):
        FormulaSVC().fit(X, np.ones(len(y)))
    with pytest.raises(fk.DataError, match="Pass the class of every row"):
        FormulaSVC().fit(X, None)
    with pytest.raises(ValueError, match="Unknown label type"):
        FormulaSVC().fit(X, np.linspace(0, 1, len(y)))
    A, b, _ = binary
    with pytest.raises(ValueError, match="X has 11 features, but FormulaSVC is expecting 12"):
        FormulaSVC(encoder=None).fit(A, b).predict(A[:, 1:])
    names = [f"gene {j}" for j in range(12)]
    plain = FormulaSVC(encoder=None).fit(pd.DataFrame(A, columns=names), b)
    assert plain.propositions_ == tuple(names)
    with pytest.raises(ValueError, match="feature names should match"):
        plain.predict(pd.DataFrame(A, columns=names[::-1]))
    with pytest.raises(ValueError, match="feature names should match"):
        plain.predict(pd.DataFrame(A[:, 1:], columns=names[1:]))


def test_refitting_forgets(boards, binary):
    X, y, _ = boards
    A, b, later = binary
    model = FormulaSVC().fit(X, y).fit(A, b)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 12
    np.testing.assert_array_equal(model.predict(later), FormulaSVC().fit(A, b).predict(later))


def test_a_value_like_others(boards):
    X, y, later = boards
    model = FormulaSVC("a ^ b", "distinct", C=5, encoder=fk.PropositionEncoder(negations=True))
    copied = clone(model)
    assert copied.get_params().keys() == model.get_params().keys()
    assert repr(copied) == repr(model)
    copied.set_params(formula="a & b", encoder__negations=False)
    assert (copied.formula, copied.encoder.negations) == ("a & b", False)
    assert (model.formula, model.encoder.negations) == ("a ^ b", True)
    model.fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(
            again.decision_function(later), model.decision_function(later)
        )
    kernel_inside = FormulaSVC(fk.kernel("a & b").normalized())
    assert clone(kernel_inside).formula == kernel_inside.formula


def test_html_of_the_estimator(boards):
    X, y, _ = boards
    for model in (FormulaSVC("a & <i>"), FormulaSVC("a & b").fit(X, y)):
        page = model._repr_html_()
        assert "FormulaSVC" in page
        assert "<i>" not in page


def test_a_search_over_formulas(boards):
    X, y, later = boards
    grid = {
        "formula": ["a", "a & b & c", fk.parse("a -> b"), fk.kernel("a ^ b")],
        "variables": ["bound", "distinct"],
    }
    search = GridSearchCV(FormulaSVC(C=10), grid, cv=3).fit(X, y)
    assert search.predict(later).shape == (100,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.8
    pipeline = make_pipeline(fk.PropositionEncoder(), FormulaSVC("a & b", encoder=None))
    np.testing.assert_allclose(
        cross_val_score(pipeline, X, y, cv=3), cross_val_score(FormulaSVC("a & b"), X, y, cv=3)
    )


def test_predicting_in_blocks_changes_nothing(boards, binary, monkeypatch):
    X, y, later = boards
    A, b, A_later = binary
    models = [(FormulaSVC("a & b").fit(X, y), later), (FormulaSVC("a & b").fit(A, b), A_later)]
    whole = [(m.predict(table), m.decision_function(table)) for m, table in models]
    for height, width in ((1, 1), (7, 3)):
        monkeypatch.setattr(kernel_machines, "TILE_ROWS", height)
        monkeypatch.setattr(kernel_machines, "TILE_COLUMNS", width)
        for (model, table), (classes, decisions) in zip(models, whole, strict=True):
            np.testing.assert_array_equal(model.predict(table), classes)
            np.testing.assert_allclose(model.decision_function(table), decisions)


def test_sparse_tables_stay_sparse():
    generator = np.random.default_rng(0)
    X = sp.random_array((60, 50_000), density=0.001, rng=generator, format="csr")
    X.data[:] = 1
    y = (X[:, :25_000].sum(axis=1) > X[:, 25_000:].sum(axis=1)).astype(int)
    model = FormulaSVC("a & b").fit(X, y)
    assert model.encoder_ is None
    assert sp.issparse(model.support_vectors_)
    assert model.predict(X).shape == (60,)


def test_verbose_says_how_far_it_is(boards, capsys):
    X, y, _ = boards
    model = FormulaSVC("a & b", verbose=True).fit(X, y)
    said = capsys.readouterr()
    assert said.err.startswith(f"{len(model.support_)} support vectors, duality gap ")
    assert said.out == ""
    assert said.err.count("\n") == 1
    FormulaSVC("a & b").fit(X, y)
    assert capsys.readouterr().err == ""


def test_one_class_is_refused_in_our_words():
    X, _ = fk.datasets.tic_tac_toe()
    with pytest.raises(fk.DataError, match="all rows are of one class, 'won'"):
        fk.FormulaSVC().fit(X[:5], ["won"] * 5)


# -- graded inputs ---------------------------------------------------------------------------------


def test_graded_inputs_are_degrees_of_the_table():
    """A linear function of the degrees, by the kernel of one variable."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(80) * 50, rng.random(80) - 3, rng.integers(0, 2, 80)])
    y = X[:, 0] / 50 + X[:, 2] > 0.8
    exact = {"C": 100, "tol": 1e-12}  # decisions are known to the root of that
    model = FormulaSVC("a | b", inputs="graded", **exact).fit(X, y)
    assert model.propositions_ == ("~x0", "x0", "~x1", "x1", "x2")
    degrees = model.encoder_.transform(X)
    assert degrees.min() == 0
    assert degrees.max() == 1
    k = fk.kernel("a | b", inputs="graded").normalized()
    same = SVC(kernel=k, C=100, tol=1e-9).fit(degrees, y)
    expected = model.decision_function(X)
    np.testing.assert_allclose(expected, same.decision_function(degrees), atol=1e-4)
    assert (model.support_vectors_ == degrees[model.support_]).all()
    assert model.score(X, y) > 0.9
    plain = FormulaSVC("a | b", inputs="graded", encoder=None, **exact).fit(degrees, y)
    np.testing.assert_allclose(plain.decision_function(degrees), expected, atol=1e-4)
    kernel = FormulaSVC(fk.kernel("a | b", inputs="graded"), **exact).fit(X, y)
    np.testing.assert_allclose(kernel.decision_function(X), expected, atol=1e-4)
    for one in (plain, kernel):
        np.testing.assert_array_equal(one.kernel_(degrees), model.kernel_(degrees))
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()


def test_graded_inputs_that_are_0_and_1_change_nothing(boards):
    X, y, Z = boards
    one, other = (
        FormulaSVC("a & b", inputs=kind, tol=1e-10).fit(X, y) for kind in ("binary", "graded")
    )
    rows = one.encoder_.transform(X)
    np.testing.assert_allclose(one.kernel_(rows), other.kernel_(rows), rtol=1e-12)
    np.testing.assert_allclose(one.decision_function(Z), other.decision_function(Z), atol=1e-3)


def test_graded_inputs_have_no_rules():
    X, y = np.random.default_rng(0).random((30, 3)), np.arange(30) % 2
    model = FormulaSVC(inputs="graded").fit(X, y)
    with pytest.raises(ParameterError, match="graded"):
        model.rules(3)
    with pytest.raises(ParameterError, match="inputs='fuzzy'"):
        FormulaSVC(inputs="fuzzy").fit(X, y)
    with pytest.raises(ParameterError, match="strings, but FormulaSVC needs a kernel of tables"):
        FormulaSVC(fk.strings.spectrum(2)).fit(["AC", "CA"], [0, 1])
    with pytest.raises(DataError, match="from 0 to 1"):
        FormulaSVC(inputs="graded", encoder=None).fit(2 * X, y)


def test_an_interrupt_keeps_the_coefficients(boards, monkeypatch):
    def interrupted(self, share, what, *_):
        if what == "solving":
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "at", interrupted)
    X, y, Z = boards
    message = "it was interrupted. The best coefficients so far are kept"
    with pytest.warns(ConvergenceWarning, match=message) as told:
        model = FormulaSVC("a & b").fit(X, y)
    assert model.stopped_ == "interrupted"
    assert told[0].filename == __file__
    assert model.predict(Z).shape == (100,)
