"""Functions of few variables against enumeration of cubes and of points."""

import itertools
from functools import cache
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import formulakern as fk
from formulakern.syntax import diagrams
from formulakern.syntax.diagrams import (
    Diagrams,
    cheapest_columns,
    count_models,
    cube_function,
    irredundant_cover,
    models,
    models_with_each,
    prime_implicants,
    smallest_cover,
)

N = 3
#: A function of N variables is the set of its points; point p has variable k if bit k is set.
functions = st.integers(0, 2 ** (1 << N) - 1)


def points(function):
    return [p for p in range(1 << N) if function >> p & 1]


def diagram(d, function, n=N):
    def below(level, point):
        if level == n:
            return function >> point & 1
        return d.node(level, below(level + 1, point | 1 << level), below(level + 1, point))

    return below(0, 0)


@cache
def cubes(n=N):
    """Every cube with its points."""
    found = {}
    for signs in itertools.product("10*", repeat=n):
        true = sum(1 << k for k, sign in enumerate(signs) if sign == "1")
        false = sum(1 << k for k, sign in enumerate(signs) if sign == "0")
        inside = [p for p in range(1 << n) if p & true == true and not p & false]
        found[true, false] = sum(1 << p for p in inside)
    return found


def length(cube):
    return sum(cube).bit_count()


def size_of_smallest(lower, upper, n=N):
    """The least (cubes, literals): unions grow by one cube at a time."""
    inside = [(c, length(cube)) for cube, c in cubes(n).items() if not c & ~upper]
    layer = {0: 0}
    for count in range(2**n + 1):
        fits = [literals for union, literals in layer.items() if not lower & ~union]
        if fits:
            return count, min(fits)
        grown = {}
        for union, literals in layer.items():
            for c, more in inside:
                key = union | c
                grown[key] = min(grown.get(key, 99), literals + more)
        layer = grown
    raise AssertionError


@settings(max_examples=38)
@given(functions, functions)
@example(0b01111110, 0b01111110)  # a cycle: each point in two primes
def test_smallest_covers(one, other):
    lower, upper = one & other, one | other
    d = Diagrams()
    found = smallest_cover(d, diagram(d, lower), diagram(d, upper))
    union = 0
    for cube in found.cubes:
        assert not cubes()[cube] & ~upper
        union |= cubes()[cube]
    assert not lower & ~union
    assert found.exact
    assert (len(found.cubes), found.n_literals) == size_of_smallest(lower, upper)
    assert found.least == len(found.cubes)


@settings(max_examples=15)
@given(st.integers(0, 2**16 - 1), st.integers(0, 2**16 - 1))
def test_smallest_covers_of_four_variables(function, free):
    lower, upper = function & ~free, function
    d = Diagrams()
    found = smallest_cover(d, diagram(d, lower, 4), diagram(d, upper, 4))
    assert (len(found.cubes), found.n_literals) == size_of_smallest(lower, upper, 4)


@settings(max_examples=38)
@given(functions, functions)
@pytest.mark.parametrize(
    "limits",
    [("MAX_PRIMES",), ("MAX_POINTS",), ("MAX_SEARCHED_ENTRIES",), ("MAX_POINTS", "MAX_SEARCH")],
)
def test_bounds_hold_where_nothing_is_proved(limits, one, other):
    lower, upper = one & other, one | other
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagrams, "POINTS_PER_ROUND", 1)
        for name in limits:
            patch.setattr(diagrams, name, 1 if name == "MAX_PRIMES" else 0)
        d = Diagrams()
        found = smallest_cover(d, diagram(d, lower), diagram(d, upper))
    count, literals = size_of_smallest(lower, upper)
    assert found.least <= count <= len(found.cubes)
    if found.exact:
        assert (len(found.cubes), found.n_literals) == (count, literals)
    union = 0
    for cube in found.cubes:
        union |= cubes()[cube]
    assert not lower & ~union
    assert not union & ~upper


@settings(max_examples=38)
@given(functions)
def test_primes_are_those_that_no_other_implicant_contains(function):
    d = Diagrams()
    inside = {cube: c for cube, c in cubes().items() if not c & ~function}
    prime = {x for x, c in inside.items() if all(c & ~b or c == b for b in inside.values())}
    assert prime_implicants(d, diagram(d, function), 100) == prime
    if len(prime) > 1:
        assert prime_implicants(d, diagram(d, function), len(prime) - 1) is None


@settings(max_examples=38)
@given(functions, functions)
def test_nothing_can_be_left_out_of_an_irredundant_cover(one, other):
    lower, upper = one & other, one | other
    d = Diagrams()
    cover = irredundant_cover(d, diagram(d, lower), diagram(d, upper))
    listed = list(cover)
    assert len(listed) == cover.n_cubes == len(set(listed))
    assert d.either([cube_function(d, cube) for cube in listed]) == cover.function
    for k in range(len(listed)):
        rest = 0
        for cube in listed[:k] + listed[k + 1 :]:
            rest |= cubes()[cube]
        assert lower & ~rest


@settings(max_examples=38)
@given(functions)
def test_models(function):
    d = Diagrams()
    top = diagram(d, function)
    found = [sum(value << k for k, value in enumerate(model)) for model in models(d, top, N)]
    assert sorted(found) == points(function)
    assert list(models(d, top, N)) == sorted(models(d, top, N), reverse=True)
    assert count_models(d, top, N) == len(found)
    assert count_models(d, top, N + 2) == 4 * len(found)
    assert models_with_each(d, top, N) == [sum(p >> k & 1 for p in found) for k in range(N)]


@settings(max_examples=38)
@given(functions, functions, st.sets(st.integers(0, N - 1)))
def test_operations_follow_their_truth_tables(one, other, levels):
    d = Diagrams()
    tops = diagram(d, one), diagram(d, other)
    for bits in itertools.product("01", repeat=4):
        truth = "".join(bits)
        cells = {"11": one & other, "10": one & ~other, "01": other & ~one, "00": ~(one | other)}
        wanted = 0
        for cell, bit in zip(cells.values(), bits, strict=True):
            wanted |= cell if bit == "1" else 0
        assert d.apply(truth, *tops) == diagram(d, wanted & 255)
    for truth, some in (("1110", any), ("1000", all)):
        wanted = 0
        for p in range(8):
            moved = itertools.product(*[{p >> k & 1, *([0, 1] * (k in levels))} for k in range(N)])
            same = (one >> sum(bit << k for k, bit in enumerate(q)) & 1 for q in moved)
            wanted |= some(same) << p
        assert d.quantified(tops[0], levels, truth) == diagram(d, wanted)


@settings(max_examples=38)
@given(
    st.lists(st.integers(1, 63), max_size=8), st.lists(st.integers(0, 3), min_size=6, max_size=6)
)
def test_cheapest_columns(rows, costs):
    fitting = [
        (len(chosen), sum(costs[c] for c in chosen))
        for k in range(7)
        for chosen in itertools.combinations(range(6), k)
        if all(any(row >> c & 1 for c in chosen) for row in rows)
    ]
    found = cheapest_columns(rows, costs, 6)
    assert (len(found.columns), sum(costs[c] for c in found.columns)) == min(fitting)
    assert found.exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagrams, "MAX_SEARCHED_ENTRIES", 0)
        assert cheapest_columns(rows, costs, 6) in (None, found)


def random_function(d, n, seed):
    random = Random(seed)

    def below(level):
        if level == n:
            return int(random.random() < 0.6)
        return d.node(level, below(level + 1), below(level + 1))

    return below(0)


def test_a_search_that_ends_early_says_so(monkeypatch):
    d = Diagrams()
    function = random_function(d, 8, seed=5)
    proved = smallest_cover(d, function, function)
    assert proved.exact
    monkeypatch.setattr(diagrams, "MAX_SEARCH", 0)
    found = smallest_cover(d, function, function)
    assert d.either([cube_function(d, cube) for cube in found.cubes]) == function
    assert not found.exact
    assert found.least <= len(proved.cubes) <= len(found.cubes)


@pytest.mark.parametrize("n", [7, 8])
def test_few_points_at_a_time_prove_the_same(monkeypatch, n):
    d = Diagrams()
    function = random_function(d, n, seed=n)
    whole = smallest_cover(d, function, function)
    monkeypatch.setattr(diagrams, "MAX_POINTS", 0)
    found = smallest_cover(d, function, function)
    assert (len(found.cubes), found.n_literals) == (len(whole.cubes), whole.n_literals)
    assert found.exact == whole.exact is True
    assert found.least == whole.least == len(whole.cubes)
    assert d.either([cube_function(d, cube) for cube in found.cubes]) == function


def test_long_covers_are_refused_before_they_are_listed():
    d = Diagrams()
    parity = d.connect("0110", [d.variable(k) for k in range(40)])
    assert irredundant_cover(d, parity, parity).n_cubes == 2**39
    with pytest.raises(fk.FormulaSizeError, match="549,755,813,888 terms"):
        smallest_cover(d, parity, parity)
    pairs = d.either([d.both([d.variable(2 * k), d.variable(2 * k + 1)]) for k in range(200)])
    found = smallest_cover(d, pairs, pairs)
    assert (len(found.cubes), found.n_literals, found.exact, found.least) == (200, 400, True, 200)
