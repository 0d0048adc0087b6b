"""String kernels as kernels: values, algebra, scikit-learn; what strings may come in."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import formulakern as fk
from formulakern.errors import DataError, ParameterError
from formulakern.kernels.strings import StringPair, Strings, read_strings

GENERATOR = np.random.default_rng(0)
X = ["".join(row) for row in GENERATOR.choice(list("ACGT"), (14, 20))]
Z = ["".join(row) for row in GENERATOR.choice(list("ACG"), (9, 20))]
SIZES = {None: 20, "alphabet": 4}

LEAVES = [
    fk.strings.weighted_degree(3),
    fk.strings.weighted_degree(20),
    fk.strings.weighted_degree_shifts(3, 2),
    fk.strings.spectrum(2),
    fk.strings.mismatch(3, 1),
    fk.strings.mismatch(3, 1, alphabet="ACGTN"),
]
COMPOSED = [
    fk.strings.weighted_degree(3) + 2 * fk.strings.spectrum(3),
    fk.strings.weighted_degree(2).normalized() * fk.strings.mismatch(4, 1).normalized(),
    (0.5 * fk.strings.weighted_degree_shifts(4, 3)).normalized(),
]


@pytest.mark.parametrize("k", LEAVES + COMPOSED, ids=repr)
def test_any_kernel(k):
    K, cross = k(X), k(X, Z)
    assert K.shape == (14, 14)
    assert cross.shape == (14, 9)
    assert k.reads == "strings"
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, k(X, X[:]), rtol=1e-13)
    np.testing.assert_allclose(cross, k(Z, X).T, rtol=1e-13)
    np.testing.assert_allclose(k.diagonal(X), np.diag(K), rtol=1e-13)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]
    lengths = np.sqrt(np.outer(k.diagonal(X), k.diagonal(Z)))
    np.testing.assert_allclose(k.normalized()(X, Z) * lengths, cross, rtol=1e-12)
    assert k.dimension(SIZES) > 0
    for again in (pickle.loads(pickle.dumps(k)), copy.copy(k), copy.deepcopy(k), clone(k)):
        assert again == k
        assert hash(again) == hash(k)
        np.testing.assert_array_equal(again(X, Z), cross)
    assert eval(repr(k), {"fk": fk}) == k
    with pytest.raises(AttributeError, match="immutable"):
        setattr(k, next(iter(vars(k))), 2)
    text = str(k.inspect())
    assert repr(k) in text
    assert "closed form" in text
    assert k.inspect()._repr_html_()
    assert k._repr_latex_().startswith("$")
    assert k(X[:0], Z).shape == (0, 9)
    assert k(X, Z[:0]).shape == (14, 0)
    assert k(X[:0]).shape == (0, 0)


def test_equality_is_by_value():
    kernels = LEAVES + COMPOSED
    assert all((one == two) == (one is two) for one in kernels for two in kernels)
    assert fk.strings.mismatch(3, 1) == fk.strings.mismatch(3, np.int8(1), "TGCA")
    assert len({fk.strings.mismatch(3, 1), fk.strings.mismatch(3, 1, "TGCA")}) == 1


def test_kernels_of_tables_and_strings_do_not_join():
    for join in ("__add__", "__mul__"):
        with pytest.raises(ParameterError, match="expected kernels that read the same kind"):
            getattr(fk.strings.spectrum(2), join)(fk.kernel("a & b"))
    with pytest.raises(DataError, match=r"row 0 of X holds|columns of text"):
        fk.strings.spectrum(2)([[0, 1], [1, 1]])


@pytest.mark.parametrize("k", LEAVES[:1] + COMPOSED[:1], ids=repr)
def test_scikit_learn_takes_lists(k):
    y = np.array([x[:2].count("A") + x[3:5].count("C") > 0 for x in X])
    model = SVC(kernel=k, C=10).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(Z),
        SVC(kernel="precomputed", C=10).fit(k(X), y).decision_function(k(Z, X)),
    )
    assert cross_val_score(SVC(kernel=k), X, y, cv=2).shape == (2,)


# -- strings in ------------------------------------------------------------------------------------

FORMS = {
    "list": list,
    "tuple": tuple,
    "array of str": np.array,
    "array of objects": lambda X: np.array(X, dtype=object),
    "array of one column": lambda X: np.array(X)[:, None],
    "rows of one column": lambda X: [[x] for x in X],
    "pandas Series": pd.Series,
    "pandas strings": lambda X: pd.Series(X, dtype="string", index=range(5, 5 + len(X))),
    "pandas categories": lambda X: pd.Series(X, dtype="category"),
    "polars Series": pl.Series,
    "pandas frame": lambda X: pd.DataFrame({"sequence": X}),
    "polars frame": lambda X: pl.DataFrame({"sequence": X}),
    "mapping": lambda X: {"sequence": X},
    "Table": lambda X: fk.Table({"sequence": X}),
    "frame with numbers": lambda X: pd.DataFrame({"size": range(len(X)), "sequence": X}),
    "Table with numbers": lambda X: fk.Table({"size": [*range(len(X))], "sequence": X}),
    "Strings": Strings.of,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_list(form):
    for k in (fk.strings.weighted_degree(3), fk.strings.spectrum(2)):
        np.testing.assert_array_equal(k(FORMS[form](X), FORMS[form](Z)), k(X, Z))
        np.testing.assert_array_equal(k.diagonal(FORMS[form](X)), k.diagonal(X))


def test_strings_are_values():
    strings = Strings.of(["AC", "\U0001f600", "é\ud800"])
    assert [strings[i] for i in range(3)] == ["AC", "\U0001f600", "é\ud800"]
    assert len(strings) == strings.n_rows == 3
    assert strings.n_columns == 2
    taken = strings.take(np.array([2, 0, 2]))
    assert [taken[i] for i in range(3)] == ["é\ud800", "AC", "é\ud800"]
    pair = StringPair(["AC", "C"], ["TA"])
    assert "".join(map(chr, pair.symbols)) == "ACT"
    assert [codes.tolist() for codes in pair.codes] == [[0, 1, 1], [2, 0]]
    assert pair.rows_of_z().shape == (1, 1)
    assert pair.rows_of_x().shape == (2, 2)


def test_letters_beyond_a_byte_and_many_of_them():
    """Codes of two bytes, nine bit planes."""
    letters = [chr(0x4E00 + i) for i in range(400)]
    many = ["".join(letters), "".join(letters[:200] + letters[:200])]
    for compiled in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "formulakern.compilation.CompiledFunction.pays", lambda *_, yes=compiled: yes
            )
            assert fk.strings.weighted_degree(1)(many).tolist() == [[400, 200], [200, 400]]
            assert fk.strings.spectrum(1)(many).tolist() == [[400, 400], [400, 800]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ACGT", r"X is one str; expected a collection. Write \[X\] for one"),
        (b"ACGT", "X is one bytes"),
        (["ACGT", None], r"row 1 of X is missing \(None\). Leave such rows out"),
        (["ACGT", float("nan")], r"row 1 of X is missing \(nan\)"),
        (pd.Series(["ACGT", pd.NA], dtype="string"), "row 1 of X is missing"),
        (pl.Series(["ACGT", None]), "row 1 of X is missing"),
        (["ACGT", ""], "row 1 of X is an empty string"),
        (["ACGT", 3], r"row 1 of X holds 3 \(int\); expected a str"),
        (["ACGT", b"ACGT"], r"row 1 of X holds bytes; .* value.decode\(\)"),
        (["ACGT", ["A"]], r"row 1 of X holds \['A'\] \(list\)"),
        (np.array([1.5, 2.5]), r"row 0 of X holds 1.5 \(float\)"),
        (pd.DataFrame({"a": [1], "b": [2]}), "X has 0 columns of text; expected one"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), r'X has 2 columns of text \("a", "b"\)'),
        (3, "Expected 2D array, got 0D"),
        (None, "expected a table"),
    ],
    ids=str,
)
def test_what_is_no_list_of_strings(given, said):
    for k in (fk.strings.weighted_degree(1), fk.strings.mismatch(1, 1)):
        with pytest.raises(DataError, match=said):
            k(given)


def test_the_column_that_is_meant():
    frame = pd.DataFrame({"name": ["p", "q"], "sequence": ["ACGT", "AC"]})
    for X in (
        frame,
        pl.DataFrame(frame.to_dict("list")),
        fk.Table.of(frame),
        frame.to_dict("list"),
    ):
        assert read_strings(X, "sequence").lengths.tolist() == [4, 2]
        assert read_strings(X, 0).lengths.tolist() == [1, 1]
    assert read_strings(frame.to_numpy(), -1).lengths.tolist() == [4, 2]
    with pytest.raises(
        DataError, match='no column "sequenc" in the table; did you mean "sequence"'
    ):
        read_strings(frame, "sequenc")
    with pytest.raises(DataError, match="column 2 is out of range"):
        read_strings(frame, 2)


def test_importing_strings_is_light():
    code = (
        "import sys, formulakern as fk; fk.strings.spectrum(2)(['ab', 'ba']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "sympy", "sklearn", "pandas"} & set(done.stdout.split())
