"""Named families as kernels: values, algebra, scikit-learn, inputs, messages."""

import copy
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.svm import SVC

import formulakern as fk
from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.kernels import boolean

X = (np.random.default_rng(0).random((12, 6)) < 0.5).astype(int)
Z = (np.random.default_rng(1).random((7, 6)) < 0.3).astype(int)
X[3] = 0
Z[2] = 1

LEAVES = [
    boolean.monotone_conjunctive(2),
    boolean.monotone_disjunctive(2),
    boolean.monotone_dnf(2, 2),
    boolean.monotone_cnf(2, 2),
    boolean.conjunctive(3),
    boolean.disjunctive(3),
    boolean.dnf(3, 2),
    boolean.cnf(3, 2),
    boolean.sadohara_dnf(),
    boolean.sadohara_monotone_dnf(),
    boolean.d_dnf(3),
    boolean.parametric_dnf(0.4),
    boolean.parametric_dnf(0.4, monotone=True),
    boolean.all_subsets(),
    boolean.anova(3),
    boolean.polynomial(3),
    boolean.polynomial(2, constant=0.25),
    boolean.tanimoto(),
    boolean.anova(2, scale="probability"),
    boolean.parametric_dnf(3, monotone=True, scale="probability"),
    boolean.sadohara_dnf(scale="probability"),
]
COMPOSED = [
    boolean.conjunctive(2) + boolean.tanimoto(),
    0.5 * boolean.dnf(2, 2).normalized() + fk.kernel("a & ~b"),
    (boolean.anova(2) + boolean.all_subsets()) * boolean.tanimoto(),
    (boolean.sadohara_dnf() * boolean.cnf(2, 1)).normalized(),
]


@pytest.mark.parametrize("k", LEAVES + COMPOSED, ids=repr)
def test_any_kernel(k):
    K, cross = k(X), k(X, Z)
    assert K.shape == (12, 12)
    assert cross.shape == (12, 7)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, k(X, X.copy()), rtol=1e-13)
    np.testing.assert_allclose(cross, k(Z, X).T, rtol=1e-13)
    np.testing.assert_allclose(k.diagonal(X), np.diag(K), rtol=1e-13)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues.min() >= -1e-12 * eigenvalues.max()
    cosines = k.normalized()(X, Z)
    lengths = np.sqrt(np.outer(k.diagonal(X), k.diagonal(Z)))
    np.testing.assert_allclose(cosines * lengths, cross, rtol=1e-12)
    assert k.dimension({None: 6}) == k.dimension(6) == k.dimension(np.int64(6)) > 0
    for again in (pickle.loads(pickle.dumps(k)), copy.copy(k), copy.deepcopy(k), clone(k)):
        assert again == k
        assert hash(again) == hash(k)
        np.testing.assert_array_equal(again(X, Z), cross)
    assert eval(repr(k), {"fk": fk}) == k
    with pytest.raises(AttributeError, match="immutable"):
        k.weight = 2
    with pytest.raises(AttributeError, match="immutable"):
        setattr(k, next(iter(vars(k)), "family"), None)
    text = str(k.inspect())
    assert repr(k) in text
    assert "closed form" in text
    assert k.inspect()._repr_html_()
    assert k._repr_latex_().startswith("$")


def test_equality_is_by_value():
    kernels = LEAVES + COMPOSED
    assert len(set(kernels)) == len(kernels)
    assert all((one == two) == (one is two) for one in kernels for two in kernels)
    assert boolean.polynomial(3, 1) == boolean.polynomial(3)
    assert boolean.polynomial(3, -0.0) == boolean.polynomial(3, 0)
    assert repr(boolean.polynomial(3, -0.0)) == repr(boolean.polynomial(3, 0))
    assert boolean.conjunctive(np.int8(3)) == boolean.conjunctive(3)
    assert boolean.parametric_dnf(np.float32(0.5)) == boolean.parametric_dnf(0.5)
    assert boolean.parametric_dnf(1) != boolean.sadohara_dnf()
    assert boolean.anova(2) != boolean.anova(2, scale="probability")
    assert boolean.tanimoto() == boolean.tanimoto()


def test_families_that_are_each_other():
    same = [
        (boolean.anova(2), boolean.monotone_conjunctive(2)),
        (boolean.anova(2), fk.kernel("a & b", "distinct")),
        (boolean.conjunctive(1), boolean.disjunctive(1)),
        (boolean.dnf(1, 3), boolean.conjunctive(3)),
        (boolean.cnf(1, 3), boolean.disjunctive(3)),
        (boolean.dnf(2, 1), boolean.dnf(2, 1)),
        (boolean.d_dnf(6), boolean.sadohara_dnf()),
        (boolean.d_dnf(600), boolean.sadohara_dnf()),
        (boolean.parametric_dnf(1), boolean.sadohara_dnf()),
        (boolean.parametric_dnf(1, True), boolean.sadohara_monotone_dnf()),
        (boolean.d_dnf(2), boolean.conjunctive(1) + boolean.conjunctive(2)),
        (boolean.sadohara_monotone_dnf() + fk.kernel("true"), boolean.all_subsets()),
        (boolean.polynomial(1, 0), fk.kernel("a")),
        (boolean.polynomial(2, 0), fk.kernel("a & b")),
        (boolean.monotone_dnf(1, 2), boolean.monotone_conjunctive(2)),
        (boolean.monotone_cnf(1, 2), boolean.monotone_disjunctive(2)),
    ]
    for one, two in same:
        np.testing.assert_array_equal(one(X, Z), two(X, Z))
        np.testing.assert_array_equal(one(X), two(X))


def test_tanimoto_is_shared_over_either():
    both = (X[:, None] & Z[None]).sum(axis=2)
    either = (X[:, None] | Z[None]).sum(axis=2)
    expected = np.divide(both, either, out=np.ones(both.shape), where=either > 0)
    np.testing.assert_array_equal(boolean.tanimoto()(X, Z), expected)
    assert boolean.tanimoto()(X)[3, 3] == 1
    assert (np.delete(boolean.tanimoto()(X)[3], 3) == 0).all()
    np.testing.assert_array_equal(boolean.tanimoto().diagonal(X), np.ones(12))
    form = boolean.tanimoto().polynomial()
    of = {symbol.name: symbol for symbol in form.free_symbols}
    assert float(form.subs({of["s"]: 1, of["p"]: 2, of["q"]: 3})) == 0.25
    assert form.subs({of["s"]: 0, of["p"]: 0, of["q"]: 0}) == 1


@pytest.mark.parametrize("n", [1, 3, 6])
def test_dimension_of_tanimoto_is_the_rank_on_all_rows(n):
    rows = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    k = boolean.tanimoto()
    assert np.linalg.matrix_rank(k(rows)) == k.dimension(n) == 2**n


def test_every_kind_of_table():
    k = boolean.conjunctive(2) + boolean.tanimoto() + boolean.anova(2)
    expected = k(X, Z)
    names = list("abcdef")
    frames = pd.DataFrame(X, columns=names), pd.DataFrame(Z, columns=names)
    tables = fk.Table.of(frames[0]), fk.Table.of(frames[1])
    for x, z in (
        (csr_array(X), csr_array(Z)),
        (X.astype(bool), csr_array(Z)),
        (X.astype(float), Z.tolist()),
        frames,
        tables,
    ):
        np.testing.assert_array_equal(k(x, z), expected)
    with pytest.raises(DataError, match="different order"):
        k(frames[0], frames[1][names[::-1]])
    assert k(X[:0], Z).shape == (0, 7)
    assert k(X, Z[:0]).shape == (12, 0)
    assert k(X[:0]).shape == (0, 0)
    assert k.diagonal(X[:0]).shape == (0,)


@pytest.mark.parametrize("k", [boolean.conjunctive(3), boolean.tanimoto(), COMPOSED[1]], ids=repr)
def test_in_a_support_vector_machine(k):
    rng = np.random.default_rng(2)
    rows = (rng.random((80, 9)) < 0.5).astype(int)
    y = rows[:, 0] & rows[:, 1] & (1 - rows[:, 2])
    own = SVC(kernel=k).fit(rows, y)
    given = SVC(kernel="precomputed").fit(k(rows), y)
    np.testing.assert_allclose(own.decision_function(rows), given.decision_function(k(rows)))
    assert fk.FormulaSVC(k, C=100, encoder=None).fit(rows, y).score(rows, y) == 1


def test_blocks_agree_with_whole_matrices():
    rng = np.random.default_rng(4)
    rows = (rng.random((700, 130)) < rng.random((700, 1))).astype(int)
    rows[:, 100] = 1
    S = rows @ rows.T
    p = np.diag(S)
    M = 130 - p[:, None] - p[None, :] + 2 * S
    np.testing.assert_array_equal(boolean.conjunctive(2)(rows), M * (M - 1) / 2)
    np.testing.assert_array_equal(boolean.anova(2)(rows), S * (S - 1) / 2)
    np.testing.assert_array_equal(
        boolean.tanimoto()(rows, rows[:300]), (S / (p[:, None] + p - S))[:, :300]
    )


BAD_CALLS = [
    (lambda: boolean.conjunctive(0), "d=0; expected an integer, at least 1"),
    (lambda: boolean.conjunctive(-2), "d=-2; expected an integer"),
    (lambda: boolean.conjunctive(2.0), "d=2.0; expected an integer"),
    (lambda: boolean.conjunctive(True), "d=True; expected an integer"),
    (lambda: boolean.conjunctive("2"), "d='2'; expected an integer"),
    (lambda: boolean.conjunctive(None), "d=None; expected an integer"),
    (lambda: boolean.conjunctive(10**30), "below 2,147,483,648"),
    (lambda: boolean.disjunctive(0), "d=0; expected an integer"),
    (lambda: boolean.dnf(2, 0), "c=0; expected an integer"),
    (lambda: boolean.cnf(0, 2), "d=0; expected an integer"),
    (lambda: boolean.d_dnf(0), "d=0; expected an integer"),
    (lambda: boolean.anova(0), "d=0; expected an integer"),
    (lambda: boolean.polynomial(0), "d=0; expected an integer"),
    (lambda: boolean.polynomial(2, -1), "constant=-1; expected a finite number of at least 0"),
    (lambda: boolean.polynomial(2, np.inf), "constant=inf; expected a finite"),
    (lambda: boolean.polynomial(2, np.nan), "constant=nan; expected a finite"),
    (lambda: boolean.polynomial(2, "1"), "constant='1'; expected a finite number"),
    (lambda: boolean.polynomial(2, 10**400), "constant is beyond 1.8e308"),
    (lambda: boolean.parametric_dnf(0), "sigma=0; expected a positive finite number"),
    (lambda: boolean.parametric_dnf(-0.5), "sigma=-0.5; expected a positive"),
    (lambda: boolean.parametric_dnf(np.nan), "sigma=nan; expected a positive"),
    (lambda: boolean.parametric_dnf(np.inf), "sigma=inf; expected a positive"),
    (lambda: boolean.parametric_dnf(True), "sigma=True; expected a positive"),
    (lambda: boolean.parametric_dnf(0.5, monotone="yes"), "monotone='yes'; expected True or False"),
    (lambda: boolean.anova(2, scale="share"), "expected one of 'count', 'probability'"),
    (lambda: boolean.monotone_conjunctive(0), "d=0; expected an integer"),
    (lambda: boolean.monotone_disjunctive(1.5), "d=1.5; expected an integer"),
    (lambda: boolean.monotone_dnf(2, 0), "c=0; expected an integer"),
    (lambda: boolean.monotone_cnf(2, -1), "c=-1; expected an integer"),
    # with six columns
    (
        lambda: boolean.conjunctive(7)(X),
        "a clause needs d=7 different columns, but the table has 6",
    ),
    (lambda: boolean.conjunctive(7).diagonal(X), "the table has 6"),
    (lambda: boolean.conjunctive(7).normalized()(X), "the table has 6"),
    (lambda: boolean.conjunctive(7).dimension(6), "the table has 6"),
    (lambda: boolean.disjunctive(7)(X), "d=7"),
    (lambda: boolean.anova(7)(X), "d=7"),
    (lambda: boolean.anova(7)(X / 2), "d=7"),
    (lambda: boolean.anova(7).diagonal(X / 2), "d=7"),
    (lambda: boolean.dnf(2, 7)(X), "c=7 different columns"),
    (lambda: boolean.dnf(13, 1)(X), r"d=13 .* = 12 clauses of 1 literals. Choose d of at most 12"),
    (lambda: boolean.cnf(241, 3).dimension(6), "161 clauses|160 clauses"),
    (lambda: boolean.monotone_conjunctive(7)(X), "7"),
    (lambda: boolean.conjunctive(2).dimension(-1), "columns=-1; expected an integer, at least 0"),
    (
        lambda: boolean.conjunctive(2).dimension({"g": 3}),
        "columns=None; expected an integer, at least 0",
    ),
    (lambda: boolean.conjunctive(2).dimension(2.0), "columns=2.0; expected an integer, at least 0"),
    # numbers that nobody could use
    (lambda: boolean.dnf(10**6, 4)(np.ones((2, 60))), "binary digits; the limit is 200,000"),
    (lambda: boolean.cnf(10**6, 4)(np.ones((2, 60))), "binary digits"),
    (lambda: boolean.polynomial(10**8)(X), "binary digits"),
    (lambda: boolean.polynomial(10**4, 1e-300)(X), "binary digits"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_bad_parameters(call, message):
    with pytest.raises(ParameterError, match=f"(?s){message}"):
        call()


def test_largest_degrees_still_work():
    all_clauses = boolean.dnf(12, 1)
    np.testing.assert_array_equal(all_clauses(X), np.ones((12, 12)))
    assert all_clauses.dimension(6) == 1
    assert boolean.conjunctive(6)(X)[0, 0] == 1
    assert boolean.cnf(160, 3)(X).max() == 0


def test_inspection_tells_features_and_form():
    inspection = boolean.parametric_dnf(0.5).inspect()
    assert "literals of different columns" in inspection["feature space"]
    assert "weighted by 0.5^(k/2)" in inspection["feature space"]
    assert inspection["closed form"] == "K(x, z) = (3/2)**(n - p - q + 2*s) - 1"
    assert inspection["sum of squared weights"] == "2**n - 1"
    assert boolean.conjunctive(3).inspect()["dimension"] == "8*binomial(n, 3)"
    whole = str((boolean.anova(2) + boolean.tanimoto()).inspect())
    assert "conjunctions of 2 different columns" in whole
    assert re.search("closed form of the whole", whole)


def test_feature_spaces_are_values():
    space = boolean.polynomial(4, 0.5).features
    assert pickle.loads(pickle.dumps(space)) == space == boolean.polynomial(4, 0.5).features
    assert space != boolean.polynomial(4, 0.25).features
    assert boolean.anova(2).features == boolean.anova(2, scale="probability").features
    assert boolean.dnf(2, 2).features is boolean.tanimoto().features is None
    assert boolean.parametric_dnf(4.0).features.weight(10) == 2.0**10
    for far in (boolean.parametric_dnf(1e200), boolean.polynomial(300)):
        with pytest.raises(MagnitudeError, match="literals is beyond"):
            far.features.weight(200)


def test_balanced_blocks_agree_with_the_formula():
    rng = np.random.default_rng(6)
    rows = (rng.random((300, 2000)) < rng.random((300, 1))).astype(int)
    S = rows @ rows.T
    p = np.diag(S)
    assert p.max() > 1100
    expected = np.exp2(S - (p[:, None] + p[None, :]) / 2)
    cosines = boolean.all_subsets().normalized()
    np.testing.assert_allclose(cosines(rows), expected, rtol=1e-14)
    np.testing.assert_allclose(cosines(rows[:80], rows), expected[:80], rtol=1e-14)


def test_matrices_need_no_computer_algebra():
    code = """
import sys
from formulakern.kernels import boolean
k = boolean.conjunctive(2) + boolean.tanimoto()
k.normalized()([[1, 0], [1, 1]]), boolean.anova(2)([[0.5, 1], [1, 1]])
print({"sympy", "sklearn", "scipy", "pandas"} & {name.split(".")[0] for name in sys.modules})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sympy" not in done.stdout
    assert "sklearn" not in done.stdout
