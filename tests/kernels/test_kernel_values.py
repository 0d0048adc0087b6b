"""Kernels on tables: every backend against the definition, containers, sizes, magnitudes."""

import itertools
import math
import threading
from fractions import Fraction

import numpy as np
import oracle
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import countable, tables

import formulakern as fk
from formulakern.backends.evaluation import BACKENDS
from formulakern.errors import DataError, FormulaSizeError, MagnitudeError, ParameterError

READINGS = ["bound", "free", "distinct"]
SCALES = ["count", "probability"]
EVERY = [*BACKENDS, "auto"]

#: Few, because numba compiles each for every reading and scale.
FORMULAS = [
    "(a & ~b) | c",
    "a & b & ~c",
    "a ^ b ^ c",
    "(a & b) | (b & c) | (c & a)",
    "a:g & b:h | ~c:g",
    "true",
    "a & ~a",
]
WHERE = {"g": [0, 2], "h": [1, 3]}


def data(rows: int, columns: int, seed: int = 0, share: float = 0.5) -> np.ndarray:
    return (np.random.default_rng([rows, columns, seed]).random((rows, columns)) < share).astype(
        int
    )


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("text", FORMULAS)
def test_every_backend_equals_the_definition(text, reading):
    X, Z = data(5, 4), data(3, 4, seed=1)
    formula = fk.parse(text)
    where = {None: range(4), **WHERE}
    expected = oracle.gram(formula, X, Z, reading, where).astype(float)
    size = oracle.dimension(formula, 4, reading, where)
    for scale, backend in itertools.product(SCALES, EVERY):
        k = fk.kernel(text, reading, domains=WHERE, scale=scale, backend=backend)
        K = k(X, Z)
        target = expected if scale == "count" else expected / max(size, 1)
        np.testing.assert_allclose(K, target, rtol=1e-14, atol=0)
        assert K.dtype == np.float64
        assert K.flags.c_contiguous
        if scale == "count":
            np.testing.assert_array_equal(K, expected)
        np.testing.assert_allclose(k(X), k(X, X.copy()), rtol=1e-14)
        np.testing.assert_array_equal(k(X), k(X).T)
        np.testing.assert_allclose(np.diag(k(X)), k.diagonal(X), rtol=1e-14)
        assert k.dimension({None: 4, "g": 2, "h": 2}) == size


@settings(max_examples=45)
@given(
    countable(4, (None, "g")),
    tables(st.integers(0, 4), 4),
    tables(st.integers(0, 4), 4),
    st.sampled_from(READINGS),
    st.sampled_from(SCALES),
    st.sampled_from(["interpreter", "lookup", "auto"]),
)
def test_generated_formulas_equal_the_definition(formula, X, Z, reading, scale, backend):
    where = {None: [2, 3] if reading == "distinct" else range(4), "g": [0, 1]}
    domains = {"g": [0, 1]}
    if reading == "distinct":  # the domain of all columns would overlap with g
        formula = _with_domains(formula, {None: "rest"})
        where["rest"] = where.pop(None)
        domains["rest"] = [2, 3]
    k = fk.kernel(formula, reading, domains=domains, scale=scale, backend=backend)
    expected = oracle.gram(formula, X, Z, reading, where).astype(float)
    if scale == "probability":
        expected /= max(k.dimension({None: 4, "g": 2, "rest": 2}), 1)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-14, atol=0)


def _with_domains(formula, names):
    from formulakern.syntax.formula import Operation, Variable, fold

    def step(node, parts):
        if isinstance(node, Variable):
            return Variable(node.name, names.get(node.domain, node.domain))
        return node if node.connective is None else Operation(node.connective, parts)

    return fold(formula, step)


@pytest.mark.parametrize("shape", [(1, 1), (5, 63), (17, 64), (40, 65), (300, 130)])
def test_backends_agree_on_larger_tables(shape):
    X, Z = data(*shape, share=0.4), data(shape[0] + 3, shape[1], seed=1, share=0.6)
    for text in FORMULAS[:4]:
        reference = fk.kernel(text, backend="interpreter")(X, Z)
        for backend in ("lookup", "numba", "auto"):
            k = fk.kernel(text, backend=backend)
            np.testing.assert_allclose(k(X, Z), reference, rtol=1e-14)
            np.testing.assert_array_equal(k(X, Z) > 0, reference > 0)


def test_one_hot_rows_and_constant_counts():
    X = np.eye(6, dtype=int)[[0, 1, 2, 2, 5]]
    for text, backend in itertools.product(FORMULAS[:4], EVERY):
        k = fk.kernel(text, backend=backend)
        np.testing.assert_array_equal(k(X), oracle.gram(k.formula, X, X, "bound").astype(float))


# -- containers ------------------------------------------------------------------------------------

BASE = data(7, 5)
NAMES = list("vwxyz")


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


CONTAINERS = {
    **{d: (lambda X, d=d: X.astype(d)) for d in ("bool", "int8", "uint16", "int64", "uint64")},
    **{d: (lambda X, d=d: X.astype(d)) for d in ("float16", "float32", "float64", "object", ">i4")},
    "bools as objects": lambda X: X.astype(bool).astype(object),
    "fortran": np.asfortranarray,
    "every other row and column": lambda X: np.repeat(np.repeat(X, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "lists": lambda X: X.tolist(),
    **{
        f"{kind}_{what}": (lambda X, kind=kind, what=what: getattr(sp, f"{kind}_{what}")(X))
        for kind in ("csr", "csc", "coo")
        for what in ("array", "matrix")
    },
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas bool": lambda X: pd.DataFrame(X.astype(bool), columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int8"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars bool": lambda X: pl.DataFrame(X.astype(bool), schema=NAMES),
    "Table": lambda X: fk.Table(dict(zip(NAMES, X.T.tolist(), strict=True))),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_gram(container):
    k = fk.kernel("(a & ~b) | c")
    expected = k(BASE, BASE[:3])
    wrap = CONTAINERS[container]
    np.testing.assert_array_equal(k(wrap(BASE), wrap(BASE[:3])), expected)
    np.testing.assert_array_equal(k(wrap(BASE), BASE[:3]), expected)
    np.testing.assert_array_equal(k(BASE, wrap(BASE[:3])), expected)
    np.testing.assert_array_equal(k.diagonal(wrap(BASE)), k.diagonal(BASE))
    np.testing.assert_array_equal(k(wrap(BASE)), k(BASE))


BAD = {
    "two": (lambda X: X, 2, r"X: |column 3.*2.*row 4"),
    "minus one": (lambda X: X, -1, r"column 3.*-1.*row 4"),
    "half": (lambda X: X.astype(float), 0.5, r"column 3.*0\.5.*row 4"),
    "NaN": (lambda X: X.astype(float), np.nan, r"column 3.*(nan|missing|NaN).*row 4"),
    "text": (lambda X: X.astype(object), "red", r"column 3.*red.*row 4"),
    "None": (lambda X: X.astype(object), None, r"column 3.*row 4"),
}


@pytest.mark.parametrize("which", BAD)
def test_what_is_not_0_or_1_is_named(which):
    prepare, value, pattern = BAD[which]
    X = prepare(BASE).copy()
    X[4, 3] = value
    k = fk.kernel("a & b")
    for call in (lambda: k(X), lambda: k(BASE, X), lambda: k.diagonal(X)):
        with pytest.raises(DataError, match=f"(?s){pattern}"):
            call()
    frame = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(DataError, match=r'(?s)"y".*row 4'):
        k(frame)


@pytest.mark.parametrize(
    "table",
    [np.zeros((3, 0)), np.zeros(3), np.zeros((2, 2, 2)), "ab", None, 3, [[1, 0], [1]], [[]]],
    ids=lambda table: str(getattr(table, "shape", table)),
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(DataError):
        fk.kernel("a")(table)


def test_different_columns_are_refused():
    k = fk.kernel("a")
    with pytest.raises(DataError, match=r"5.*4|4.*5"):
        k(BASE, BASE[:, :4])
    with pytest.raises(DataError):
        k(pd.DataFrame(BASE, columns=NAMES), pd.DataFrame(BASE, columns=NAMES[::-1]))


@pytest.mark.parametrize("backend", EVERY)
def test_zero_rows(backend):
    none = np.zeros((0, 5))
    for k in (fk.kernel("a & ~b", backend=backend), fk.kernel("a", backend=backend).normalized()):
        assert k(none).shape == (0, 0)
        assert k(none, BASE).shape == (0, 7)
        assert k(BASE, none).shape == (7, 0)
        assert k.diagonal(none).shape == (0,)


# -- domains ---------------------------------------------------------------------------------------


def test_domains_by_name_position_mask_slice_and_range():
    frame = pd.DataFrame(BASE, columns=NAMES)
    specs = [
        {"g": ["v", "w"], "h": ["x", "y", "z"]},
        {"g": [0, 1], "h": [2, 3, 4]},
        {"g": slice(0, 2), "h": slice(2, None)},
        {"g": range(2), "h": range(2, 5)},
        {"g": np.array([1, 1, 0, 0, 0], bool), "h": np.array([0, 0, 1, 1, 1], bool)},
        {"g": np.array([0, 1]), "h": (2, 3, -1)},
    ]
    grams = [fk.kernel("a:g & ~b:h | c:g", domains=spec)(frame) for spec in specs]
    for K in grams[1:]:
        np.testing.assert_array_equal(K, grams[0])
    expected = oracle.gram(
        fk.parse("a:g & ~b:h | c:g"), BASE, BASE, "bound", {"g": [0, 1], "h": [2, 3, 4]}
    )
    np.testing.assert_array_equal(grams[0], expected.astype(float))


def test_domains_may_overlap_except_under_distinct():
    domains = {"g": [0, 1, 2], "h": [2, 3]}
    for reading in ("bound", "free"):
        K = fk.kernel("a:g & b:h", reading, domains=domains)(BASE)
        expected = oracle.gram(fk.parse("a:g & b:h"), BASE, BASE, reading, domains)
        np.testing.assert_array_equal(K, expected.astype(float))
    with pytest.raises(ParameterError, match="column 2 belongs to two domains"):
        fk.kernel("a:g & b:h", "distinct", domains=domains)(BASE)
    with pytest.raises(ParameterError, match="distinct"):
        fk.kernel("a:g & b", "distinct", domains=domains)(BASE)


def test_missing_domains_are_named():
    with pytest.raises(DataError, match=r"'g'.*domains=\{'g'"):
        fk.kernel("a:g")(BASE)
    with pytest.raises(DataError, match="no column"):
        fk.kernel("a:g", domains={"g": ["feve"]})(pd.DataFrame(BASE, columns=NAMES))
    for domains in ([1], "ab", {3: [1]}, {"": [1]}):
        with pytest.raises(ParameterError, match="domains"):
            fk.kernel("a:g", domains=domains)


def test_many_domains_of_many_columns():
    n = 320
    where = {f"d{i}": range(10 * i, 10 * i + 10) for i in range(n)}
    text = " | ".join(f"x{i}:d{i}" for i in range(n))
    k = fk.kernel(text, domains=where, scale="probability")
    np.testing.assert_allclose(k(np.ones((3, 10 * n), int)), 1.0)


# -- magnitudes ------------------------------------------------------------------------------------

SIXTY = {
    "a chain": " | ".join(f"(x{i} & ~y{i} & z{i})" for i in range(20)),
    "nested": "x0" + "".join(f" {'&|'[i % 2]} {'~' * (i % 3 == 0)}x{i})" for i in range(1, 60)),
    "xor": " ^ ".join(f"(x{i} & y{i})" for i in range(30)),
}
SIXTY["nested"] = "(" * 59 + SIXTY["nested"]


@pytest.mark.parametrize("which", SIXTY)
def test_sixty_literals_over_a_hundred_columns(which):
    text, n = SIXTY[which], 100
    X, Z = data(12, n, share=0.45), data(9, n, seed=3, share=0.6)
    X[0], X[1] = 0, 1
    formula = fk.parse(text)
    cells = [
        oracle.joint_counts(formula, *map(int, (x @ z, x.sum(), z.sum())), n)
        for x, z in itertools.product(X, Z)
    ]
    assert max(cell[0] for cell in cells) > 10**100
    for reading, scale, backend in itertools.product(("bound", "free"), SCALES, EVERY):
        K = fk.kernel(text, reading, scale=scale, backend=backend)(X, Z)
        for got, cell in zip(K.ravel(), cells, strict=True):
            value, (above, below) = cell[0], got.as_integer_ratio()
            above *= sum(cell) if scale == "probability" else 1
            assert abs(above - value * below) * 10**12 <= value * below  # integers, not reduced


def test_float_lookup_tables_are_as_accurate():
    """If exact tables would take too long, they are computed in float64."""
    from formulakern.backends import evaluation

    text, n = SIXTY["a chain"], 100
    X = data(40, n, share=0.5)
    for scale in SCALES:
        exact = fk.kernel(text, scale=scale, backend="lookup")(X)
        before, evaluation.MAX_EXACT_OPERATIONS = evaluation.MAX_EXACT_OPERATIONS, 0
        try:
            K = fk.kernel(text, scale=scale, backend="lookup")(X)
        finally:
            evaluation.MAX_EXACT_OPERATIONS = before
        np.testing.assert_allclose(K, exact, rtol=1e-12, atol=0)


@pytest.mark.parametrize("backend", EVERY)
def test_overflow_is_refused_with_the_way_out_which_works(backend):
    text, n = " & ".join(f"x{i}" for i in range(200)), 100
    X = data(6, n, share=0.9)
    X[0] = 1
    k = fk.kernel(text, backend=backend)
    for call in (lambda: k(X), lambda: k.diagonal(X)):
        with pytest.raises(MagnitudeError, match="scale='probability'") as caught:
            call()
        assert isinstance(caught.value, OverflowError)
    K = fk.kernel(text, backend=backend, scale="probability")(X)
    s = X @ X.T
    np.testing.assert_allclose(K, (s / n) ** 200, rtol=1e-12)
    N = k.normalized()(X)
    p = X.sum(1)
    np.testing.assert_allclose(N, (s / np.sqrt(np.outer(p, p))) ** 200, rtol=1e-11)
    assert (np.diag(N) == 1).all()


@pytest.mark.parametrize("backend", EVERY)
def test_normalized_keeps_counts_where_they_fit(backend):
    """Shares of 100^200 would be below float64; the counts themselves are not."""
    X = np.zeros((3, 100), int)
    X[0, :30], X[1, 29:40], X[2, :3] = 1, 1, 1
    K = fk.kernel(" & ".join(f"x{i}" for i in range(200)), backend=backend).normalized()(X)
    np.testing.assert_allclose(K[0, 2], (3 / np.sqrt(90)) ** 200, rtol=1e-11)
    assert (np.diag(K) == 1).all()


@pytest.mark.parametrize("backend", EVERY)
def test_tiny_shares_are_refused(backend):
    X = np.zeros((2, 100), int)
    X[:, 0] = 1
    k = fk.kernel(" & ".join(f"x{i}" for i in range(200)), scale="probability", backend=backend)
    with pytest.raises(MagnitudeError, match="scale='count'"):
        k(X)
    assert (k(np.zeros((2, 100), int)) == 0).all()


@pytest.mark.parametrize("backend", EVERY)
def test_factorials_beyond_float64(backend):
    """Distinct: C(s, 180), whose symmetries alone pass float64; K is moderate."""
    n, degree = 190, 180
    X = np.ones((4, n), int)
    X[1, 0], X[2, :5], X[3, :20] = 0, 0, 0
    text = " & ".join(f"x{i}" for i in range(degree))
    K = fk.kernel(text, "distinct", backend=backend)(X)
    expected = [[math.comb(int(x @ z), degree) for z in X] for x in X]
    np.testing.assert_allclose(K, np.array(expected, dtype=float), rtol=1e-12)
    share = fk.kernel(text, "distinct", backend=backend, scale="probability")(X)
    np.testing.assert_allclose(share, K / math.comb(n, degree), rtol=1e-12)


def test_shares_of_distinct_columns_do_not_underflow():
    """n^k is far above n!/(n−k)!: digits lost before the factor came must be found again.

    One of two patterns holds in x, the other in z: q!⁴/(4q)^(4q) is below 1e-308.
    """
    q = 79

    def pattern(true: set[int]) -> str:
        return " & ".join(("" if i in true else "~") + f"x{i:03}" for i in range(4 * q))

    x, z = {*range(2 * q)}, {*range(q), *range(3 * q, 4 * q)}
    text = f"({pattern(x)}) | ({pattern(z)})"
    X, Z = (np.array([[i in true for i in range(4 * q)]], int) for true in (x, z))
    share = 2 * Fraction(math.factorial(q) ** 4, math.factorial(4 * q))
    compiled, exact = (
        fk.kernel(text, "distinct", backend=backend, scale="probability")
        for backend in ("numba", "interpreter")
    )
    exact.program = compiled.program  # one reading of 632 literals is enough
    for k in (compiled, exact):
        np.testing.assert_allclose(k(X, Z), float(share), rtol=1e-12, atol=0)


def test_probability_of_certain_things():
    for text in ("true", "a | ~a"):
        assert (fk.kernel(text, scale="probability")(BASE) == 1).all()
    assert (fk.kernel("a & ~a", scale="probability")(BASE) == 0).all()
    k = fk.kernel("a & b & c & d & e & f", "distinct", scale="probability")
    assert (k(BASE) == 0).all()  # six different columns of five: no feature at all
    assert k.dimension(5) == 0


# -- selection -------------------------------------------------------------------------------------


def test_auto_says_why(monkeypatch):
    from formulakern.backends.evaluation import loop_of_task
    from formulakern.backends.tables import TablePair
    from formulakern.compilation import CompiledFunction

    k = fk.kernel("(a & ~b) | c")
    hot = np.eye(8, dtype=int)[np.random.default_rng(0).integers(8, size=500)]
    with monkeypatch.context() as patch:  # not compiled, neither here nor on disk
        patch.setattr(CompiledFunction, "is_compiled", False)
        patch.setattr(CompiledFunction, "stored", False)
        patch.setattr(loop_of_task(k.task(TablePair(hot))), "numbers_requested", 0.0)
        assert k.choose(TablePair(hot)).backend.name == "lookup"
        few = k.choose(TablePair(data(20, 50)))
        assert few.backend.name in ("interpreter", "lookup")
        assert few.reason
    fk.kernel("(a & ~b) | c", backend="numba")(data(20, 50))  # compiled, it is the fastest
    wide = k.choose(TablePair(data(3000, 300)))
    assert wide.backend.name == "numba"
    assert "operations per pair" in wide.reason


def test_what_a_backend_cannot_serve_is_said():
    where = {f"g{i}": range(20 * i, 20 * i + 20) for i in range(10)}
    text = " & ".join(f"x{i}:g{i}" for i in range(10))
    X = data(50, 200)
    with pytest.raises(ParameterError, match=r"(?s)lookup.*too many to tabulate.*backend='auto'"):
        fk.kernel(text, domains=where, backend="lookup")(X)
    assert fk.kernel(text, domains=where)(X).shape == (50, 50)
    with pytest.raises(ParameterError, match="'auto', 'interpreter', 'lookup', 'numba'"):
        fk.kernel("a", backend="cuda")


def test_out_of_reach_is_refused(monkeypatch):
    from formulakern.backends import evaluation

    monkeypatch.setattr(evaluation, "MAX_COMPILED_OPERATIONS", 0)
    monkeypatch.setattr(evaluation, "MAX_INTERPRETER_NS", 0.0)
    monkeypatch.setattr(evaluation, "MAX_TABLE_ENTRIES", 1)
    with pytest.raises(FormulaSizeError, match="out of reach"):
        fk.kernel("(a & ~b) | c")(BASE)


def test_threads_agree():
    X = data(150, 40)
    kernels = [fk.kernel(text, backend=backend) for text in FORMULAS[:4] for backend in EVERY]
    expected = [k(X) for k in kernels]
    failures: list[object] = []

    def work(offset: int) -> None:
        try:
            for i in range(len(kernels)):
                j = (i + offset) % len(kernels)
                fresh = fk.kernel(str(kernels[j].formula), backend=kernels[j].backend)
                if not np.array_equal(fresh(X), expected[j]):
                    failures.append(j)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(2 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_source_holds_nothing_of_the_text():
    names = ["secret_name", "import os", "__import__('os')", "{0}", "%s", '"""', "a\nb", "\\"]
    from formulakern.syntax.formula import Operation, Variable

    formula = Operation("or", [Variable(n, n) for n in names])
    for reading, scale in itertools.product(READINGS, SCALES):
        k = fk.kernel(formula, reading, scale=scale, domains={n: [0] for n in names})
        source = k.source
        assert source.isascii()
        for name in ("secret", "__import__", "import os", "{0}", "%s", "a\nb"):
            assert name not in source
        compile(source, "emitted", "exec")
        plain = Operation("or", [Variable(f"v{i}", f"d{i}") for i in range(len(names))])
        domains = {f"d{i}": [0] for i in range(len(names))}
        # canonical order goes by name, but the arithmetic is the same for these
        assert fk.kernel(plain, reading, scale=scale, domains=domains).source == source


def test_progress_is_reported():
    shares: list[float] = []
    fk.kernel("a & b")(data(700, 20), progress=shares.append)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
