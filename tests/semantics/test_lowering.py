"""Formula → Program: the three readings against the definition written out slowly."""

import itertools
import math

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import on_all_counts
from strategies import countable, tables
from work import assert_linear, lines

import formulakern as fk
from formulakern import semantics
from formulakern.program import Program, Stage, dimension, listing, needed, run, upper_bound
from formulakern.rewrite import rewrite
from formulakern.semantics import READINGS, lower
from formulakern.syntax import diagrams
from formulakern.syntax.formula import FALSE, TRUE, evaluate
from formulakern.syntax.parser import parse_rule

readings = st.sampled_from(sorted(READINGS))


def counted(
    program: Program, X: np.ndarray, Z: np.ndarray, domains: dict
) -> tuple[np.ndarray, list[int]]:
    """The kernel by the interpreter, in exact integers, and the sizes of the domains."""
    columns = [list(domains[name]) for name in program.domains]
    s = [(X[:, g] @ Z[:, g].T).astype(object) for g in columns]
    p = [X[:, g].sum(1).astype(object)[:, None] for g in columns]
    q = [Z[:, g].sum(1).astype(object)[None, :] for g in columns]
    sizes = [len(g) for g in columns]
    value = np.broadcast_to(run(program, (s, p, q), sizes, object)[0], (len(X), len(Z)))
    assert (value % program.divisor == 0).all()
    return value // program.divisor, sizes


@settings(max_examples=90)
@given(
    st.one_of(
        *[
            st.tuples(st.just(domains), countable(5, domains))
            for domains in ((None,), ("g", "h"), (None, "g"))
        ]
    ),
    tables(st.integers(1, 3), 4),
    tables(st.integers(1, 3), 4),
    readings,
    st.booleans(),
)
def test_programs_equal_the_definition(formula_of, X, Z, reading, rewritten):
    domains, formula = formula_of
    n = X.shape[1]
    where = {None: range(n), "g": range(n // 2), "h": range(n // 2, n)}
    if reading == "distinct" and domains == (None, "g"):
        where = {None: range(n // 2, n), "g": range(n // 2)}  # different columns are meant
    if rewritten:
        lowered = lower(rewrite(formula, reading).formula, reading)
    else:
        lowered = lower(formula, reading)
    value, sizes = counted(lowered, X, Z, where)
    assert (value == oracle.gram(formula, X, Z, reading, where)).all()
    assert dimension(lowered, sizes) == oracle.dimension(formula, n, reading, where)
    transposed, _ = counted(lowered, Z, X, where)
    assert (value == transposed.T).all()


def _absorbed(f: fk.Formula, g: fk.Formula) -> list[fk.Formula]:
    """Formulas equivalent to f."""
    return [
        f & f,
        ~~f,
        f & (f | g),
        f | (f & g),
        f & (g | ~g),
        f ^ (g & ~g),
        (f & g) | (f & ~g),
        (f | g) & (f | ~g),
        (g >> f) & (~g >> f),
        f & TRUE | FALSE,
        f ^ g ^ g,
    ]


@settings(max_examples=45)
@given(countable(4, (None, "g")), countable(3, (None, "g")), st.integers(0, 10))
def test_equivalent_formulas_have_equal_kernels(f, g, which):
    merged = {}  # one domain for each name in both
    for variable in (*f.variables, *g.variables):
        merged.setdefault(variable.name, variable.domain)
    assume(all(merged[v.name] == v.domain for v in (*f.variables, *g.variables)))
    other = _absorbed(f, g)[which]
    for reading in ("bound", "distinct"):
        one, two = lower(f, reading), lower(other, reading)
        n = 4
        by_name_one = dict(zip(one.domains, one.degrees, strict=True))
        by_name_two = dict(zip(two.domains, two.degrees, strict=True))
        assert {k: v for k, v in by_name_one.items() if v} == {
            k: v for k, v in by_name_two.items() if v
        }
        assert one.divisor == two.divisor
        assert on_all_counts(one, n) == on_all_counts(two, n)
        sizes = {None: 5, "g": 3}
        assert dimension(one, [sizes[d] for d in one.domains]) == dimension(
            two, [sizes[d] for d in two.domains]
        )


@pytest.mark.parametrize("text", ["a & a", "a & (a | b)", "a & ~a", "a & (b | ~b)", "a ^ a"])
def test_free_does_not_see_equivalence(text):
    """The contrary: in the free reading each of these keeps all of its occurrences."""
    formula = fk.parse(text)
    assert lower(formula, "free").degrees == (formula.n_leaves,)
    assert lower(formula, "bound").degrees[0] < formula.n_leaves


def test_dropped_variables_and_tautologies():
    for reading in ("bound", "distinct"):
        assert on_all_counts(lower(fk.parse("a & (b | ~b)"), reading)) == on_all_counts(
            lower(fk.parse("a"), reading)
        )
        for text, value in (("a | ~a", 1), ("a & ~a", 0), ("true", 1), ("false", 0)):
            program = lower(fk.parse(text), reading)
            assert set(on_all_counts(program)) == {value}
            assert dimension(program, [7]) == 1


def test_degree_two_conjunction_is_a_binomial():
    program = lower(fk.parse("a & b"), "distinct")
    X = np.tril(np.ones((6, 6), dtype=int))
    value, _ = counted(program, X, X, {None: range(6)})
    assert value.tolist() == [[math.comb(min(i, j), 2) for j in range(1, 7)] for i in range(1, 7)]
    assert dimension(program, [6]) == 15


# -- symmetries ------------------------------------------------------------------------------------


def _symmetries(formula: fk.Formula) -> int:
    """|Aut| over all permutations of the variables that the function depends on."""
    variables = oracle._support(formula)
    k = len(variables)
    rest = dict.fromkeys(formula.variables, False)

    def table(order: tuple[int, ...]) -> tuple[bool, ...]:
        return tuple(
            bool(
                evaluate(
                    formula,
                    {**rest, **{variables[i]: bits[order[i]] for i in range(k)}}.__getitem__,
                )
            )
            for bits in itertools.product([False, True], repeat=k)
        )

    identity = table(tuple(range(k)))
    return sum(
        table(order) == identity
        for order in itertools.permutations(range(k))
        if all(variables[i].domain == variables[order[i]].domain for i in range(k))
    )


@settings(max_examples=45)
@given(countable(10, (None, "g"), letters="abcde"))
def test_divisor_is_the_number_of_symmetries(formula):
    assert lower(formula, "distinct").divisor == _symmetries(formula)


SYMMETRIES = {
    " & ".join(f"x{i}" for i in range(60)): math.factorial(60),
    " | ".join(f"x{i} & y{i}" for i in range(10)): 2**10 * math.factorial(10),
    " | ".join(f"x{i} & ~y{i}" for i in range(8)): math.factorial(8),
    " | ".join(f"x{i} & x{(i + 1) % 7}" for i in range(7)): 14,  # a ring
    " | ".join(f"x{i} & ~x{(i + 1) % 7}" for i in range(7)): None,  # "not all equal": all of them
    " ^ ".join(f"x{i}" for i in range(20)): math.factorial(20),
    "(a -> b) & (b -> c) & (c -> a)": 6,
    "(a & b | c & d) ^ e": 8,
    "a & b:g & c & d:g": 4,
}


@pytest.mark.parametrize("text", SYMMETRIES, ids=lambda text: text[:30])
def test_large_symmetry_groups(text):
    expected = SYMMETRIES[text] or math.factorial(7)
    assert lower(fk.parse(text), "distinct").divisor == expected


# -- refusals: bounded work ------------------------------------------------------------------------


def _pairs_in_bad_order(n: int) -> str:
    """Pairs x & y, and all x before all y: the diagram remembers every x."""
    pairs = " | ".join(f"(x{i:03} & y{i:03})" for i in range(n))
    return f"({pairs}) ^ (" + " & ".join(f"x{i:03}" for i in range(n)) + ")"


def _hidden_weighted_bit(n: int) -> str:
    """Like x_w with w the number of ones, by prefix sums kept as thresholds."""
    at_least = {(0, 0): "true"}
    for i in range(1, n + 1):
        for w in range(i + 1):
            parts = [f"({at_least[i - 1, w]})"] if (i - 1, w) in at_least else []
            if w and (i - 1, w - 1) in at_least:
                parts.append(f"x{i} & ({at_least[i - 1, w - 1]})")
            at_least[i, w] = " | ".join(parts) if w else "true"
    return " | ".join(
        f"x{w} & ({at_least[n, w]}) & ~({at_least.get((n, w + 1), 'false')})"
        for w in range(1, n + 1)
    )


def _product_bits(n: int) -> str:
    """Sums of partial products of two n-bit numbers, without carries, for every column."""
    columns = []
    for c in range(2 * n - 1):
        terms = [f"x{i} & y{c - i}" for i in range(n) if 0 <= c - i < n]
        columns.append("(" + " ^ ".join(f"({t})" for t in terms) + ")")
    return " | ".join(columns)


def _random_clauses(n: int, prefix: str = "v") -> str:
    random = np.random.default_rng(n)
    clauses = []
    for _ in range(5 * n):
        literals = [
            ("~" if random.random() < 0.5 else "") + f"{prefix}{random.integers(n)}"
            for _ in range(5)
        ]
        clauses.append("(" + " & ".join(literals) + ")")
    return "(" + " | ".join(clauses) + ")"


HARD = {
    "bad order": _pairs_in_bad_order(40),
    "bad order, barely": _pairs_in_bad_order(13),
    "multiplication": _product_bits(24),
    "random clauses": _random_clauses(100),
    "many regions": " & ".join(_random_clauses(22, f"r{i}v") for i in range(12)),
}


@pytest.mark.parametrize(
    ("which", "reading", "limit"),
    [
        ("bad order", "bound", "more than 200,000 nodes"),
        ("bad order, barely", "bound", "more than 400,000 pairs"),
        ("bad order, barely", "distinct", "more than 2,000,000 steps"),
    ],
)
def test_hard_formulas_are_refused(which, reading, limit):
    """A formula that reaches each of the stated sizes."""
    with pytest.raises(fk.FormulaSizeError, match=f"{limit}.*variables="):
        lower(rewrite(fk.parse(HARD[which]), reading).formula, reading)


@pytest.mark.parametrize("reading", ["bound", "distinct"])
@pytest.mark.parametrize("which", HARD)
def test_work_stops_where_the_limits_say(which, reading, monkeypatch):
    """A hundredth of the stated sizes; a few lines of work for each of their units."""
    formula = rewrite(fk.parse(HARD[which]), reading).formula
    units = 0
    for module, name in (
        (diagrams, "MAX_DIAGRAM_NODES"),
        (diagrams, "MAX_DIAGRAM_STEPS"),
        (semantics, "MAX_PAIRS"),
        (semantics, "MAX_STATES"),
        (semantics, "MAX_SEARCH_STEPS"),
    ):
        limit = getattr(module, name) // 100
        monkeypatch.setattr(module, name, limit)
        units += limit

    def refused() -> None:
        with pytest.raises(fk.FormulaSizeError, match="variables=") as caught:
            lower(formula, reading)
        assert len(str(caught.value)) < 300

    assert lines(refused) < 10 * units + 500 * formula.n_leaves


@pytest.mark.parametrize("which", ["bad order", "multiplication", "random clauses"])
def test_hard_formulas_are_easy_in_the_free_reading(which):
    formula = fk.parse(HARD[which])
    assert lower(rewrite(formula, "free").formula, "free").degrees == (formula.n_leaves,)


def test_weighted_bit_is_counted_while_it_is_small():
    program = lower(rewrite(fk.parse(_hidden_weighted_bit(7))).formula)
    assert program.degrees == (7,)
    assert dimension(program, [3]) == 3**7


def _disjunction(n: int) -> fk.Formula:
    return fk.parse(" | ".join(f"(x{i} & ~y{i})" for i in range(n // 2)))


@pytest.mark.parametrize("reading", sorted(READINGS))
@pytest.mark.parametrize("n", [20, 1_200])
def test_long_formulas_without_repetition(reading, n):
    """A result or a sentence."""
    formula = _disjunction(n)
    if reading == "distinct" and n > 60:
        with pytest.raises(fk.FormulaSizeError, match="variables='"):
            lower(rewrite(formula, reading).formula, reading)
    else:
        assert lower(rewrite(formula, reading).formula, reading).degrees == (n,)


@pytest.mark.parametrize("reading", ["bound", "free"])
def test_lowering_costs_work_in_proportion(reading):
    assert_linear(lambda formula: lower(formula, reading), _disjunction, 400)


def test_shared_subformulas_are_refused_where_names_matter():
    formula: fk.Formula = fk.Variable("a")
    for _ in range(60):
        formula = formula & formula | ~formula
    for reading in ("bound", "distinct"):
        with pytest.raises(fk.FormulaSizeError, match="leaves"):
            lower(formula, reading)
    assert lower(formula, "free").degrees == (3**60,)


def test_one_name_with_two_domains():
    formula = fk.parse("a:g & b | a:h")
    for reading in ("bound", "distinct"):
        with pytest.raises(fk.FormulaError, match=r"two domains, 'g' and 'h'.*variables='free'"):
            lower(formula, reading)
    with pytest.raises(fk.FormulaError, match="'g' and all columns"):
        lower(fk.parse("a:g & a"), "bound")
    assert lower(formula, "free").domains == ("g", None, "h")


def test_comparisons_are_no_templates():
    for reading in READINGS:
        with pytest.raises(fk.FormulaError, match=r"fk\.rule"):
            lower(rewrite(parse_rule("a = 3 & b"), reading).formula, reading)
        with pytest.raises(fk.FormulaError, match="comparison"):
            _ = fk.kernel(parse_rule("a = 3 & b"), reading).program


def test_unknown_reading():
    with pytest.raises(fk.ParameterError, match="'bound', 'free', 'distinct'"):
        lower(fk.parse("a"), "loose")


# -- programs --------------------------------------------------------------------------------------


@given(countable(6, (None, "g")), readings)
def test_programs_are_well_formed(formula, reading):
    program = lower(rewrite(formula, reading).formula, reading)
    assert len(set(program.nodes)) == len(program.nodes)
    for position, node in enumerate(program.nodes):
        if node.kind == "count":
            domain, _, used = node.data
            assert 0 <= used <= max(program.degrees)
            assert 0 <= domain < len(program.domains)
        elif node.kind == "constant":
            assert node.data[0] >= 0
        else:
            assert len(node.operands) >= 2
            assert all(0 <= operand < position for operand in node.operands)
    used = needed(program.nodes, [program.output, program.dimension])
    assert used == tuple(range(len(program.nodes)))
    stage = program.stages
    assert set(stage.pair) == {i for i in program.kernel_nodes if stage.of[i] == Stage.PAIR}
    assert listing(program).endswith(
        f"K = r{program.output}" + (f" / {program.divisor}" if program.divisor > 1 else "")
    )


@given(countable(6), readings, st.lists(st.integers(0, 5), min_size=2, max_size=2))
def test_upper_bound_bounds(formula, reading, most):
    program = lower(formula, reading)
    n = 5
    bound = upper_bound(program, [n], most[:1], most[1:])
    for p in range(most[0] + 1):
        for q in range(most[1] + 1):
            for s in range(max(0, p + q - n), min(p, q) + 1):
                counts = [[np.array([c], dtype=object)] for c in (s, p, q)]
                values = run(program, counts, [n], object, outputs=program.kernel_nodes)
                assert max(int(v.max()) for v in values) <= bound


def test_equal_numbers_are_shared_in_the_program():
    """Two occurrences of a subformula stay two, but the arithmetic is done once."""
    once = lower(fk.parse("a & ~b | c"), "free")
    twice = lower(fk.parse("(a & ~b | c) & (d & ~e | f)"), "free")
    assert twice.degrees == (6,)
    assert len(twice.kernel_nodes) == len(once.kernel_nodes) + 1


def test_listing_is_cut():
    program = lower(fk.parse(" | ".join(f"(x{i} & ~y{i})" for i in range(200))))
    text = listing(program, limit=20)
    assert len(text.splitlines()) == 22
    assert "more)" in text
