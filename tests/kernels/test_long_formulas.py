"""Long formulas, whose values run from 0 past the end of float64, against exact integers."""

import itertools
from fractions import Fraction

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulakern as fk

#: The end of float64, its smallest normal number, and the error of some hundred operations.
LARGEST, TINY, ERROR = Fraction(np.finfo(float).max), Fraction(2.0**-1022), Fraction(1, 10**12)
EVERY = ["interpreter", "lookup", "numba", "auto"]
SYMBOLS = ["&", "|", "^", "->", "<-", "<->", "nand", "nor", "-/>", "</-"]


def chain(symbol: str, n: int) -> str:
    return f" {symbol} ".join(f"x{i}" for i in range(n))


def pairs(inner: str, outer: str, n: int) -> str:
    return f" {outer} ".join(f"(x{i} {inner} x{i + 1})" for i in range(0, n, 2))


@st.composite
def read_once(draw) -> str:
    """2 to 120 names, each once, joined by any connectives in any order."""
    parts = [("" if draw(st.booleans()) else "~") + f"x{i}" for i in range(draw(LENGTHS))]
    symbols = draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, max_size=4))
    at = draw(st.sampled_from([0, -2]))  # a balanced tree, or a comb
    for symbol in itertools.islice(itertools.cycle(symbols), len(parts) - 1):
        left, right = parts.pop(at), parts.pop(at if at == 0 else -1)
        parts.append(f"({left} {symbol} {right})")
    return parts[0]


LENGTHS = st.integers(2, 120)


@st.composite
def rows(draw) -> np.ndarray:
    """Three rows of 1 to 2,000 columns, from empty to full."""
    n, seed = draw(st.integers(1, 2000)), draw(st.integers(0, 2**32))
    shares = draw(st.lists(st.sampled_from([0, 0.01, 0.3, 0.5, 0.9, 1]), min_size=3, max_size=3))
    return (np.random.default_rng(seed).random((3, n)) < np.array(shares)[:, None]).astype(int)


def counts(X: np.ndarray) -> dict[tuple[int, int], tuple[int, int, int, int]]:
    """s, p, q, n of every pair of rows."""
    return {
        (i, j): (int(X[i] @ X[j]), int(X[i].sum()), int(X[j].sum()), X.shape[1])
        for i, j in itertools.product(range(len(X)), repeat=2)
    }


def check(k: fk.Kernel, X: np.ndarray, exact: dict, squared: bool = False) -> int:
    """Compare every value, alone and in its matrix, or expect the error; return how many fit."""

    def right(value: float, target: Fraction) -> bool:
        found = Fraction(float(value)) ** (2 if squared else 1)
        return abs(found - target) <= ERROR * target

    fitting = {pair for pair, v in exact.items() if v == 0 or squared or TINY <= v <= LARGEST}
    whole = len(fitting) == len(exact)
    for i, j in list(exact)[1:2] if whole else exact:
        if (i, j) in fitting:
            assert right(k(X[[i]], X[[j]])[0, 0], exact[i, j]), (i, j)
        else:
            with pytest.raises(fk.errors.MagnitudeError):
                k(X[[i]], X[[j]])
    if whole:
        K = k(X)
        assert all(right(K[pair], exact[pair]) for pair in exact)
    else:
        with pytest.raises(fk.errors.MagnitudeError):
            k(X)
    return len(fitting)


@settings(max_examples=7)
@given(read_once(), rows(), st.sampled_from(["bound", "free"]))
def test_formulas_that_name_every_variable_once(text, X, reading):
    formula = fk.parse(text)
    cells = {pair: oracle.joint_counts(formula, *at) for pair, at in counts(X).items()}
    for backend in ("interpreter", "lookup", "auto"):
        exact = {pair: Fraction(cell[0]) for pair, cell in cells.items()}
        check(fk.kernel(formula, reading, backend=backend), X, exact)
        shares = {pair: Fraction(cell[0], sum(cell)) for pair, cell in cells.items()}
        check(fk.kernel(formula, reading, backend=backend, scale="probability"), X, shares)


#: Names that occur often, choices of features, and readings of distinct columns.
OTHERS = {
    "or of one name": lambda n: (" | ".join("a" * n), "free"),
    "and of one name": lambda n: (" & ".join("a" * n), "free"),
    "a ring": lambda n: (" | ".join(f"x{i} & x{(i + 1) % n}" for i in range(n)), "free"),
    "a path": lambda n: (" | ".join(f"x{i} & x{i + 1}" for i in range(n // 2)), "bound"),
    "distinct and": lambda n: (chain("&", n), "distinct"),
    "distinct or": lambda n: (chain("|", n), "distinct"),
    "all": lambda n: (f"all[{n}](a & b)", "bound"),
    "any": lambda n: (f"any[{n // 4}](a | b)", "bound"),
    "at least": lambda n: (f"atleast[{n // 8},{n // 4}](a)", "bound"),
    "exactly": lambda n: (f"exactly[{n // 8},{n // 4}](a) | b", "bound"),
    "choices of choices": lambda n: (f"any[{n // 4}](all[{1 + n % 7}](a))", "bound"),
}


@pytest.mark.parametrize("which", OTHERS)
@settings(max_examples=3)
@given(st.integers(8, 90), rows())
def test_repeated_names_choices_and_distinct_columns(which, n, X):
    k = fk.kernel(*OTHERS[which](n))
    try:
        k(X[:0])
    except fk.errors.ParameterError:  # more features are chosen than there are
        return
    values = {pair: oracle.value_at(k.program, *at) for pair, at in counts(X).items()}
    total = max(k.dimension(X.shape[1]), 1)
    for backend in ("interpreter", "lookup", "auto"):
        for scale, divide in (("count", 1), ("probability", total)):
            exact = {pair: Fraction(value, divide) for pair, value in values.items()}
            check(fk.kernel(k.formula, k.variables, backend=backend, scale=scale), X, exact)


#: A row of 300 columns that are true makes all these values large; the third is beyond float64.
LONG = [chain("|", 102), pairs("&", "|", 112), pairs("|", "&", 200), pairs("->", "^", 60)]


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:16])
@pytest.mark.parametrize("backend", EVERY)
def test_compiled_code_too(text, backend):
    X = np.zeros((4, 300), int)
    X[0], X[1, :150], X[2, 100:] = 1, 1, 1
    formula = fk.parse(text)
    exact = {pair: Fraction(oracle.joint_counts(formula, *at)[0]) for pair, at in counts(X).items()}
    fitting = check(fk.kernel(text, backend=backend), X, exact)
    assert (fitting < len(exact)) == (text == LONG[2])


@pytest.mark.parametrize("backend", EVERY)
def test_the_last_values_that_fit_and_the_first_that_do_not(backend):
    for text, reading, n, fits in (
        (chain("|", 102), "bound", 1000, True),  # 1e306
        (chain("|", 103), "bound", 1000, False),
        (" | ".join("a" * 88), "free", 3000, True),
        (" | ".join("a" * 90), "free", 3000, False),
    ):
        X = np.ones((2, n), int)
        literals = fk.parse(text).n_leaves
        exact = dict.fromkeys(counts(X), Fraction(n**literals))
        assert (check(fk.kernel(text, reading, backend=backend), X, exact) > 0) == fits


@pytest.mark.parametrize("scale", ["count", "probability"])
def test_symmetries_beyond_float64_inside_of_a_choice(scale, monkeypatch):
    """180! divides the inner count, in tables that are too long for exact integers too."""
    X = np.ones((3, 190), int)
    X[1, 0], X[2, :5] = 0, 0
    text = f"all[2]({chain('&', 180)})"
    exact = fk.kernel(text, "distinct", scale=scale, backend="interpreter")(X)
    monkeypatch.setattr("formulakern.backends.evaluation.MAX_EXACT_OPERATIONS", 0)
    for backend in ("lookup", "numba"):
        K = fk.kernel(text, "distinct", scale=scale, backend=backend)(X)
        np.testing.assert_allclose(K, exact, rtol=1e-11, atol=0)


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:16])
def test_composed_kernels(text):
    """Cosines exist wherever rows have features; sums and products while they fit."""
    X = np.zeros((4, 300), int)
    X[0], X[1, :150], X[2, 100:], X[3, ::2] = 1, 1, 1, 1
    formula, at = fk.parse(text), counts(X)
    exact = {pair: Fraction(oracle.joint_counts(formula, *at[pair])[0]) for pair in at}
    shared = {pair: Fraction(s**2) for pair, (s, _, _, _) in at.items()}
    cosines = {(i, j): exact[i, j] ** 2 / (exact[i, i] * exact[j, j] or 1) for i, j in at}
    for backend in ("interpreter", "lookup"):
        k, few = fk.kernel(text, backend=backend), fk.kernel("a & b")
        check(k.normalized(), X, cosines, squared=True)
        check((k * k).normalized(), X, {pair: v**2 for pair, v in cosines.items()}, squared=True)
        check(2.5 * k + few, X, {pair: Fraction(2.5) * exact[pair] + shared[pair] for pair in at})
        check(k * few, X, {pair: exact[pair] * shared[pair] for pair in at})
        check(k * k, X, {pair: exact[pair] ** 2 for pair in at})


def test_cosines_of_a_short_row_with_long_ones():
    """K(x, z) fits into float64, K(z, z) does not: cosines of x and z still do."""
    X = np.zeros((2, 300), int)
    X[0, :30], X[1] = 1, 1
    k = fk.kernel(chain("&", 200))
    found = k.normalized()(X[:1], X[1:])[0, 0]
    assert found == pytest.approx((30 / np.sqrt(30 * 300)) ** 200, rel=1e-11)
    assert found == pytest.approx(k.normalized()(X)[0, 1], rel=1e-11)


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:16])
def test_gram_matrices_are_positive_semidefinite(text):
    X = (np.random.default_rng(0).random((30, 200)) < 0.6).astype(int)
    for backend in ("interpreter", "lookup"):
        K = fk.kernel(text, backend=backend, scale="probability")(X)
        scale = np.sqrt(np.diag(K))
        assert np.linalg.eigvalsh(K / np.outer(scale, scale)).min() > -1e-12
