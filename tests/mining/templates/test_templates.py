"""Mining instances of templates: against every substitution, written out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import combined, tables

import formulakern as fk
from formulakern.mining.templates.expansion import bit_program, expand
from formulakern.mining.templates.search import mine_templates
from formulakern.syntax.formula import FALSE, TRUE, Constant, evaluate, substitute

WEIGHTS = st.sampled_from([-3.0, -1.0, 0.0, 0.0, 1.0, 2.0]) | st.floats(-5, 5, width=32)


def support(formula):
    """The leaves on which a formula depends."""
    names = [leaf for leaf in formula.leaves if not isinstance(leaf, Constant)]
    rows = [dict(zip(names, v, strict=True)) for v in itertools.product([0, 1], repeat=len(names))]
    value = lambda row: evaluate(formula, lambda leaf: bool(row[leaf]))  # noqa: E731
    return [a for a in names if any(value({**r, a: 0}) != value({**r, a: 1}) for r in rows)]


def space(formula, p, distinct, columns):
    """All features of a formula, as truth tables over all 2^p examples, with repetition.

    Under ``distinct`` a feature is counted once; otherwise once per substitution.
    """
    everything = np.array(list(itertools.product([False, True], repeat=p)))
    atoms = support(formula)
    spaces = []
    for atom in atoms:
        if isinstance(atom, fk.Choice):
            inner = space(atom.formula, p, distinct, columns)
            chosen = itertools.combinations(inner, atom.degree)
            counts = [(None, np.sum([f for _, f in c], axis=0)) for c in chosen]
            spaces.append([(n, (atom.least <= c) & (c <= atom.most)) for n, c in counts])
        else:
            spaces.append([(j, everything[:, j]) for j in columns.get(atom.name, range(p))])
    features = []
    seen = set()
    for values in itertools.product(*spaces):
        positions = [j for j, _ in values if j is not None]
        if distinct and len(set(positions)) < len(positions):
            continue
        of = {a: f for a, (_, f) in zip(atoms, values, strict=True)}
        table = np.broadcast_to(
            evaluate(formula, lambda leaf, of=of: of.get(leaf, np.False_)), len(everything)
        )
        if distinct and table.tobytes() in seen:
            continue
        seen.add(table.tobytes())
        features.append((None, table))
    return features


def naive(formula, X, weights, distinct, columns, score):
    """Boolean function (its truth table) → score of the set of examples on which it is true."""
    p = X.shape[1]
    place = X @ (1 << np.arange(p)[::-1])
    tables_of = {t.tobytes(): t for _, t in space(formula, p, distinct, columns)}
    return {
        name: score([math.fsum(c) for c in (weights * table[place][:, None]).T.tolist()])
        for name, table in tables_of.items()
    }


SCORES = {
    ("absolute", "both"): lambda s: max(map(abs, s)),
    ("absolute", "positive"): max,
    ("absolute", "negative"): lambda s: -min(s),
    ("spread", "both"): lambda s: max(s) - min(s),
}


def function_of(result, rank, p):
    """The truth table of one instance."""
    everything = np.array(list(itertools.product([False, True], repeat=p)))
    said = zip(result.expansion.leaves, result.assignments[rank], strict=True)
    formula = substitute(result.expansion.formula, {s: fk.Variable(f"x{j}") for s, j in said})
    value = evaluate(formula, lambda leaf: everything[:, int(leaf.name[1:])])
    return np.broadcast_to(value, len(everything)).tobytes()


def check(formula, X, weights, distinct, top, kind=("absolute", "both"), columns=None, **options):
    every = naive(formula, X, weights, distinct, columns or {}, SCORES[kind])
    threshold = options.get("threshold", 0.0)
    result = mine_templates(
        formula,
        X,
        weights,
        distinct=distinct,
        top=top,
        objective=kind[0],
        direction=kind[1],
        columns=columns,
        **options,
    )
    close = 1e-9
    assert result.proven
    names = [function_of(result, rank, X.shape[1]) for rank in range(len(result.scores))]
    assert len(set(names)) == len(names)
    for name, value in zip(names, result.scores, strict=True):
        assert value == pytest.approx(every[name], abs=close)
    best = sorted(every.values(), reverse=True)[:top]
    certain = [s for s in best if s > threshold + close]
    assert result.scores[: len(certain)] == pytest.approx(certain, abs=close)
    assert list(result.scores) == sorted(result.scores, reverse=True)
    missing = [s for name, s in every.items() if name not in set(names)]
    assert max(missing, default=-math.inf) <= result.bound + 1e-15
    if top == 100_000:
        assert result.complete
    return result


letters = st.sampled_from("abc").map(fk.Variable)
plain = combined(st.one_of(*[letters] * 4, st.sampled_from((TRUE, FALSE))), max_leaves=5)


@st.composite
def data(draw, largest=4):
    X = draw(tables(st.integers(1, 20), st.integers(1, largest)))
    k = draw(st.integers(1, 3))
    weights = np.array(draw(st.lists(WEIGHTS, min_size=len(X) * k, max_size=len(X) * k)))
    kinds = [kind for kind in SCORES if k > 1 or kind[0] == "absolute"]
    return X, weights.reshape(len(X), k), draw(st.sampled_from(kinds))


@settings(max_examples=60)
@given(
    plain,
    data(),
    st.booleans(),
    st.just(100_000) | st.integers(1, 12),
    st.sampled_from([0.0, -1.0]),
)
def test_equals_enumeration(formula, case, distinct, top, threshold):
    X, weights, kind = case
    check(formula, X, weights, distinct, top, kind, threshold=threshold)


@st.composite
def ordered_data(draw):
    """Both sides of each cut point of numbers, one after the other or alternately."""
    values = np.array(draw(st.lists(st.integers(0, 5), min_size=1, max_size=20)))
    cuts = range(draw(st.integers(1, 4)))
    sides = [[values <= t for t in cuts], [values > t for t in cuts]]
    listed = [*sides[0], *sides[1]] if draw(st.booleans()) else [*itertools.chain(*zip(*sides))]  # noqa: B905
    weights = np.array(draw(st.lists(WEIGHTS, min_size=len(values), max_size=len(values))))
    return np.stack(listed, axis=1).astype(np.int64), weights[:, None]


@settings(max_examples=60)
@given(plain, ordered_data(), st.booleans(), st.just(100_000) | st.integers(1, 6))
def test_nested_propositions_are_divided(formula, case, distinct, top):
    X, weights = case
    check(formula, X, weights, distinct, top)
    result = mine_templates(fk.parse("a & b"), X, weights, distinct=True)
    assert all(assignment == tuple(sorted(assignment)) for assignment in result.assignments)


def test_the_best_box_over_every_cut_point_is_proven():
    rng = np.random.default_rng(0)
    numbers = rng.random((200, 5))
    X = np.concatenate([(c[:, None] <= np.sort(c)[:-1]) for c in numbers.T], axis=1)
    inside = (numbers[:, 0] < 0.4) & (numbers[:, 1] < 0.6) & (numbers[:, 3] < 0.8)
    weights, options = np.where(inside, 1.0, -1.0), {"distinct": True, "direction": "positive"}
    result = mine_templates(fk.parse("a & b & c"), X.astype(np.int64), weights, top=1, **options)
    assert result.proven
    assert result.scores[0] == result.bound == inside.sum()


@settings(max_examples=30)
@given(plain, data(), st.booleans(), st.data())
def test_ranges_of_variables(formula, case, distinct, more):
    X, weights, kind = case
    p = X.shape[1]
    some = st.lists(st.integers(0, p - 1), min_size=1, max_size=p, unique=True)
    columns = {v.name: more.draw(some) for v in formula.variables if more.draw(st.booleans())}
    check(formula, X, weights, distinct, 100_000, kind, columns=columns)


CHOICES = (
    "all[2](x)",
    "any[2](x)",
    "any[3](x)",
    "atleast[2,3](x)",
    "exactly[1,2](x)",
    "exactly[0,2](x)",
    "atleast[0,2](x)",
    "atleast[1,1](x)",
    "~all[2](a & ~b)",
    "all[2](a & b)",
    "any[2](a -> b)",
    "any[2](a & b)",
    "any[2](all[2](x))",
    "all[2](any[2](x))",
    "exactly[1,2](~all[2](x))",
    "all[2](x | ~x)",
    "any[1](x & ~x)",
    "all[5](x)",
)
BESIDE = ("a & all[2](x)", "all[2](x) | ~all[2](x)", "any[2](x) ^ all[2](y)", "a | any[2](b -> a)")


@pytest.mark.parametrize("text", CHOICES)
@settings(max_examples=12)
@given(data(largest=4), st.booleans(), st.just(100_000) | st.integers(1, 6))
def test_choices(text, case, distinct, top):
    X, weights, kind = case
    check(fk.parse(text), X, weights, distinct, top, kind)


@pytest.mark.parametrize("text", BESIDE[:3])
@settings(max_examples=12)
@given(data(largest=3), st.just(100_000) | st.integers(1, 6))
def test_choices_beside_something(text, case, top):
    X, weights, kind = case
    check(fk.parse(text), X, weights, False, top, kind)


def test_a_choice_stands_alone_among_distinct_variables():
    with pytest.raises(fk.FormulaError, match="choice cannot be combined"):
        mine_templates(fk.parse("a & all[2](x)"), [[1, 0]], [1.0], distinct=True)


@pytest.mark.parametrize("text", ["a & b & c", "(a & b) | (c & d)", "a ^ b ^ c", "(a & ~b) | c"])
def test_many_examples(text):
    """Several words of examples; integer weights with ties, and real ones that nearly tie."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 6))
    weights = rng.integers(-2, 3, (300, 1)).astype(float)
    for distinct in (True, False):
        check(fk.parse(text), X, weights, distinct, 25)
        for top in (1, 40):
            check(fk.parse(text), X, rng.normal(size=(300, 1)), distinct, top)


def test_what_is_barely_better_is_found():
    """The best instance comes late and beats an early one by half a per cent."""
    X = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    result = mine_templates(fk.parse("a & b & c"), X, [10.0, -9.0, -9.0, 14.95, -5.0], top=1)
    assert [set(assignment) for assignment in result.assignments] == [{0, 1}]


def test_a_feature_is_returned_once():
    X = np.random.default_rng(0).integers(0, 2, (50, 6))
    weights = np.random.default_rng(1).normal(size=50)
    result = mine_templates(fk.parse("a & b"), X, weights, top=100_000, threshold=-1.0)
    assert len(result.assignments) == 6 + 15  # x itself, and pairs
    result = mine_templates(
        fk.parse("a & b"), X, weights, top=100_000, threshold=-1.0, distinct=True
    )
    assert len(result.assignments) == 15


def test_equal_covers_are_different_features():
    X = np.array([[1, 1, 1], [0, 0, 0]])
    result = mine_templates(fk.parse("a & b"), X, [1.0, -1.0], distinct=True)
    assert result.assignments == [(0, 1), (0, 2), (1, 2)]


def test_slots_say_which_copy_they_are_in():
    result = mine_templates(fk.parse("any[2](all[2](x))"), np.eye(4, dtype=int), np.ones(4))
    assert [slot.copy for slot in result.expansion.slots] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.data())
def test_the_program_is_the_formula(seed, more):
    formula = fk.random_formula(random_state=seed)
    names = formula.variables
    if len(names) > 20:
        return
    program = bit_program(formula, names)
    values = more.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    registers = [*values, True]
    read = lambda r: registers[r >> 1] ^ bool(r & 1)  # noqa: E731
    for kind, a, b in program.steps.tolist():
        registers.append(read(a) ^ read(b) if kind else read(a) and read(b))
    assert read(program.output) == evaluate(
        formula, dict(zip(names, values, strict=True)).__getitem__
    )


def test_a_time_limit_leaves_a_bound():
    rng = np.random.default_rng(0)
    X, weights = rng.integers(0, 2, (2_000, 60)), rng.normal(size=2_000)
    template = fk.parse("(a & ~b) | (c & d)")
    result = mine_templates(template, X, weights, time_limit=0.0, top=3)
    longer = mine_templates(template, X, weights, time_limit=0.2, top=3)
    assert not result.proven
    assert not result.complete
    assert longer.scores[0] <= result.bound
    assert result.bound >= longer.bound


def test_progress_and_interrupt():
    rng = np.random.default_rng(0)
    X, weights = rng.integers(0, 2, (2_000, 40)), rng.normal(size=2_000)
    shares: list[float] = []
    mine_templates(fk.parse("(a & ~b) | c"), X, weights, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine_templates(fk.parse("(a & ~b) | (c & d)"), X, weights, progress=interrupt)


X2, W2 = [[1, 0], [1, 1]], [1.0, -1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all[30](x)", "more than 20"),
        (" & ".join(f"x{i}" for i in range(30)), "30 variables"),
    ],
)
def test_templates_that_are_too_large(text, message):
    with pytest.raises(fk.FormulaSizeError, match=message):
        mine_templates(fk.parse(text), X2, W2)


def test_a_comparison_is_no_template():
    from formulakern.syntax.leaves import Comparison

    with pytest.raises(fk.FormulaError, match="comparison"):
        mine_templates(Comparison("age", "<", 3), X2, W2)


def test_constants_have_one_instance():
    result = mine_templates(fk.parse("true"), X2, [1.0, 2.0])
    assert (result.assignments, result.scores.tolist()) == ([()], [3.0])
    assert mine_templates(fk.parse("a & ~a"), X2, [1.0, 2.0]).assignments == []


def test_symmetries_are_left_out_by_orders():
    """Pairs in order, and pairs of pairs; no order if nothing can be exchanged."""
    assert len(expand(fk.parse("a & ~b"), True).orders) == 0
    square = expand(fk.parse("(a & b) | (c & d)"), True)
    pairs = {(order.left, order.right) for order in square.orders}
    assert pairs == {((0,), (1,)), ((0,), (2,)), ((0,), (3,)), ((2,), (3,))}
