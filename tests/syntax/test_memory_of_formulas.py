"""Memory in proportion to the length of a formula, for chains of every connective.

The tests count the memory that Python allocates (tracemalloc), which is the same on every machine.
"""

import copy
import math
import pickle
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

import formulakern as fk
from formulakern import Formula, FormulaKernError, Table, Variable
from formulakern.encoding.propositions import evaluate_formula
from formulakern.program import dimension
from formulakern.rewrite import rewrite
from formulakern.semantics import lower
from formulakern.syntax.connectives import AND, CONNECTIVES, NOT, OR
from formulakern.syntax.formula import Operation, evaluate


def peak(function, *arguments):
    """Return the peak memory that a call allocated, and whether it was refused."""
    tracemalloc.start()
    try:
        result = function(*arguments)
        return tracemalloc.get_traced_memory()[1], result
    except FormulaKernError as refusal:
        return tracemalloc.get_traced_memory()[1], refusal
    finally:
        tracemalloc.stop()


def assert_linear_memory(function, make, n):
    """Twice the length takes little more than twice the memory."""
    function(make(n // 4))  # what is imported or kept once is there
    small, large = peak(function, make(n))[0], peak(function, make(2 * n))[0]
    assert large <= 2.5 * small + 100_000, f"{small:,} bytes for {n:,}, {large:,} for {2 * n:,}"


def literals(n: int, names: str) -> list[Formula]:
    variables = [Variable("x" if names == "same" else f"x{i}") for i in range(n)]
    return [~v if i % 3 == 2 else v for i, v in enumerate(variables)]


def chain(row, n: int, shape: str, names: str = "different") -> Formula:
    """n literals joined by one connective: side by side, nested to the right, or to the left."""
    parts = literals(n, names)
    if row is NOT:
        whole = parts[0]
        for _ in range(n):
            whole = Operation(NOT, (whole,))
        return whole
    if shape == "flat":
        return Operation(row, parts)
    whole = parts[0]
    for part in parts[1:]:
        whole = Operation(row, (part, whole) if shape == "right" else (whole, part))
    return whole


SHAPES = [
    (row.name, shape)
    for row in CONNECTIVES
    for shape in ("flat", "right", "left")
    if (shape != "flat" or row.chain == "flat") and not (row is NOT and shape == "left")
]
BY_NAME = {row.name: row for row in CONNECTIVES}
X = (np.random.default_rng(0).random((3, 20)) < 0.5).astype(np.uint8)


def use_formula(formula: Formula) -> None:
    """All that is done with formulas themselves."""
    again = pickle.loads(pickle.dumps(formula))
    assert again == formula
    assert hash(again) == hash(formula)
    assert copy.deepcopy(formula) is formula
    assert repr(formula)
    assert formula.latex()
    assert fk.parse(str(formula)) == formula
    evaluate(formula, lambda _: True)


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_formulas(name, shape):
    assert_linear_memory(use_formula, lambda n: chain(BY_NAME[name], n, shape), 50)


@pytest.mark.parametrize("reading", ["bound", "free"])
@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_programs(name, shape, reading):
    """A chain of an associative connective costs nothing but its rewriting, the others linear."""

    def use(formula: Formula) -> None:
        lower(rewrite(formula, reading).formula, reading)

    assert_linear_memory(use, lambda n: chain(BY_NAME[name], n, shape), 30)
    row = BY_NAME[name]
    if shape == "flat":
        long = lower(rewrite(chain(row, 1_000, shape), reading).formula, reading)
        assert len(long.nodes) < 1_000
        assert long.degrees == (1_000,)


#: Values of a disjunction of n literals are not held as n numbers of n digits.
@pytest.mark.parametrize("scale", ["count", "probability"])
@pytest.mark.parametrize("backend", ["interpreter", "lookup"])
@pytest.mark.parametrize("name", ["or", "xor"])
def test_values(name, backend, scale):
    def use(kernel: fk.FormulaKernel) -> None:
        with suppress(fk.MagnitudeError):  # which says what to do
            kernel(X)

    def make(n: int) -> fk.FormulaKernel:
        made = fk.kernel(chain(BY_NAME[name], n, "flat"), backend=backend, scale=scale)
        assert made.program
        return made

    assert_linear_memory(use, make, 60)


@pytest.mark.parametrize("shape", ["right", "left"])
def test_rules_on_a_table(shape):
    """The truth values of only a few operands are kept."""
    rows = 1_000
    table = Table({f"x{i}": np.arange(rows) % 2 == i % 2 for i in range(2)})

    def rule(n: int) -> Formula:
        whole: Formula = Variable("x0")
        for i in range(1, n):
            part = Variable(f"x{i % 2}")
            row = AND if i % 2 else OR
            whole = Operation(row, (part, whole) if shape == "right" else (whole, part))
        return whole

    uses = {}
    for n in (50, 200):
        uses[n], truth = peak(evaluate_formula, rule(n), table)
        assert truth.shape == (rows,)
    assert uses[200] - uses[50] < 150 * 600  # bytes for each part, which are fewer than the rows


def test_one_argument_after_the_other():
    """Chains that grow by one argument at a time copy their arguments once, not every time."""
    whole: Formula = Variable("x")
    used = 0
    for i in range(1_000):
        used += peak(lambda whole=whole, i=i: whole | Variable(f"x{i}"))[0] if i % 100 == 99 else 0
        whole = whole | Variable(f"x{i}")
    assert used / 10 < 3_000
    assert len(whole.arguments) == 1_001
    assert whole == Operation(OR, [Variable("x"), *(Variable(f"x{i}") for i in range(1_000))])


# -- refused before the work -----------------------------------------------------------------------


def _shared(depth: int) -> Formula:
    """3^depth leaves in few objects."""
    formula: Formula = Variable("a")
    for _ in range(depth):
        formula = formula & formula | ~formula
    return formula


def _doubled(join, depth: int = 60):
    """Formulas joined with themselves again and again, from few objects."""
    whole = Variable("a")
    for _ in range(depth):
        whole = join(whole)
    return whole


def _nested_kernels(n: int) -> fk.Kernel:
    kernel: fk.Kernel = fk.kernel("a & b")
    for _ in range(n):
        kernel = (0.5 * kernel).normalized()
    return kernel


def _doubled_kernels(join, depth: int = 60) -> fk.Kernel:
    kernel: fk.Kernel = fk.kernel("a & b")
    for _ in range(depth):
        kernel = join(kernel)
    return kernel


REFUSED = {
    "chain": lambda: _doubled(lambda f: f | f),
    "terms": lambda: lower(fk.parse("all[400](" * 3 + "x" + ")" * 3)),
    "bits": lambda: fk.kernel(_shared(60), "free", scale="probability")(X),
    "sum of kernels": lambda: _doubled_kernels(lambda k: k + k),
    "product of kernels": lambda: _doubled_kernels(lambda k: k * k),
    "cosines of products": lambda: _doubled_kernels(lambda k: (k * k).normalized()),
    "nested kernels": lambda: _nested_kernels(3_000),
    "long text": lambda: fk.parse("a|" * 600_000 + "a"),
    "rule of a long text": lambda: fk.rule("a = 1 & " * 200_000 + "a = 1"),
    "dimension": lambda: dimension(lower(_shared(60), "free"), [10]),
    "names": lambda: lower(chain(AND, 4_001, "flat"), "distinct"),
    "leaves": lambda: lower(_shared(60), "bound"),
    "printing": lambda: str(_shared(60)),
}


def test_closed_forms_are_measured_before_they_are_written():
    """A number that is used twice is written twice, which is exponential for "xor"."""
    with pytest.raises(fk.FormulaSizeError, match="operations; the limit is"):
        fk.kernel(chain(BY_NAME["xor"], 60, "flat")).polynomial()


@pytest.mark.parametrize("which", REFUSED)
def test_refused_with_a_sentence(which):
    used, refusal = peak(REFUSED[which])
    assert isinstance(refusal, FormulaKernError), refusal
    assert len(str(refusal)) < 400
    assert used < 16_000_000


@pytest.mark.parametrize("reading", ["bound", "free"])
@pytest.mark.parametrize("n_places", ["merged by rewriting", "merged before"])
def test_shared_chains_are_measured_before_they_are_merged(monkeypatch, reading, n_places):
    from formulakern import rewrite as rewriting

    monkeypatch.setattr(rewriting, "MAX_PLACES", 2_000)
    if n_places == "merged before":
        monkeypatch.setattr(rewriting, "MAX_ARGUMENTS", 100)
        long = chain(OR, 100, "flat")
        formula = Operation(AND, [long | Variable(f"y{i}") for i in range(30)])
    else:
        formula = _doubled(lambda f: ~(~f | ~f))
    used, refusal = peak(rewrite, formula, reading)
    assert "more than 2,000 arguments in all" in str(refusal)
    assert used < 2_000_000


@pytest.mark.parametrize("reading", ["bound", "free", "distinct"])
@pytest.mark.parametrize(("name", "shape"), [("iff", "right"), ("nand", "left"), ("or", "terms")])
def test_too_many_subformulas_are_refused_before_they_are_rewritten(
    monkeypatch, reading, name, shape
):
    from formulakern import rewrite as rewriting

    if shape == "terms":
        formula = Operation(OR, [chain(AND, 3, "flat") & Variable(f"y{i}") for i in range(301)])
    else:
        formula = chain(BY_NAME[name], 302, shape)
    assert rewrite(formula, reading)
    monkeypatch.setattr(rewriting, "MAX_OPERATIONS", 300)
    used, refusal = peak(rewrite, formula, reading)
    assert "more than 300 different subformulas" in str(refusal)
    assert used < 250 * formula.n_leaves


def test_chains_are_one_subformula(monkeypatch):
    from formulakern import rewrite as rewriting

    monkeypatch.setattr(rewriting, "MAX_OPERATIONS", 1)
    for names in ("same", "different"):
        for row in (AND, OR):
            assert rewrite(chain(row, 500, "flat", names))
            assert rewrite(chain(row, 500, "left", names))
    assert rewrite(chain(NOT, 500, "flat"))


#: Large degrees, many of them, and choices inside choices.
CHOICES = [
    "all[10000](x)",
    "atleast[0,10000](x)",
    "exactly[40,80](x)",
    "any[30](all[2](x))",
    "any[10000](x)",
    "any[30](any[30](x))",
    "atleast[2,5](x) ^ any[9](y) ^ exactly[3,7](z)",
    "any[3](" * 20 + "x" + ")" * 20,
    "any[3](" * 21 + "x" + ")" * 21,
]


@pytest.mark.parametrize("text", CHOICES, ids=lambda text: text[:24])
def test_choices_are_inspected_in_little_room(text):
    """A page or a sentence, whatever the degrees are."""
    import sympy  # noqa: F401  # which takes more room than any of them

    used, shown = peak(lambda: str(fk.kernel(text).inspect()))
    assert used < 40_000_000
    assert len(str(shown)) < (400 if isinstance(shown, FormulaKernError) else 30_000)


def test_evaluating_a_program_holds_few_numbers():
    """Numbers that nothing needs any more are dropped, however long the program is."""
    formula = chain(BY_NAME["iff"], 400, "right")
    for backend in ("interpreter", "lookup"):
        kernel = fk.kernel(formula, "free", scale="probability", backend=backend)
        kernel(X)
        used = peak(kernel, X)[0]
        assert used < 100 * len(kernel.program.nodes)


@pytest.mark.parametrize("join", [lambda f: f & f | ~f, lambda f: ~(f & ~f), lambda f: ~f ^ f])
def test_shared_subformulas_stay_shared_when_they_are_rewritten(join):
    """A subformula that is negated in many places is rewritten once."""

    steps = {}
    for depth in (30, 60):
        trace = rewrite(_doubled(join, depth), "free")
        steps[depth] = sum(len(result.steps) for result in trace.passes)
    assert steps[60] < 2.2 * steps[30]
    assert len(lower(trace.formula, "free").nodes) < 200 * 60


def test_equal_choices_from_different_names_are_counted_once():
    one, many = (
        lower(rewrite(fk.parse(" & ".join(f"any[9](x{i})" for i in range(n)))).formula)
        for n in (1, 64)
    )
    assert len(many.nodes) < len(one.nodes) + 200


def test_programs_are_refused_before_they_are_emitted(monkeypatch):
    from formulakern import program

    formula = rewrite(chain(BY_NAME["iff"], 300, "left"), "free").formula
    full = peak(lower, formula, "free")[0]
    monkeypatch.setattr(program, "MAX_NODES", 1_000)
    used, refusal = peak(lower, formula, "free")
    assert "more than 1,000 operations" in str(refusal)
    assert used < full / 2


def test_long_probabilities_are_those_of_exact_integers(monkeypatch):
    """Exponents of any size give what integers give, to the stated error."""
    from formulakern.backends import evaluation

    for name in ("or", "and", "xor"):
        formula = chain(BY_NAME[name], 60, "flat")
        exact = fk.kernel(formula, scale="probability", backend="interpreter")(X)
        monkeypatch.setattr(evaluation, "MAX_EXACT_BITS", 1)
        extended = fk.kernel(formula, scale="probability", backend="interpreter")(X)
        monkeypatch.undo()
        np.testing.assert_allclose(extended, exact, rtol=60 * 2**-52, atol=0)


@pytest.mark.parametrize("n", [0, 5, 100, 12_345, 2**52 - 1, 2**70, 2**1_100 + 12_345])
def test_binomials_with_exponents_of_any_size(n):
    """Binomials continue from known ones of the same number, in any order."""
    from formulakern.program import Extended, _Numbers

    numbers = _Numbers([], [], False)
    of_n = Extended.of_integer(n)
    for lower_index in (2, 65, 16, 64, 3, 300, 128, 17, 299):
        exact = math.comb(n, lower_index)
        value = numbers.binomial(lower_index, of_n)
        if exact:
            ratio = value / Extended.of_integer(exact)
            np.testing.assert_allclose(ratio.to_float(), 1.0, rtol=4 * lower_index * 2**-52)
        else:
            assert value.m == 0
