"""The states of the recursions on pairs of functions are counted before they are unrolled."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import countable

import formulakern as fk
from formulakern import semantics
from formulakern.semantics import count_states, lower, reach


def lowered_and_counted(formula, reading):
    """The numbers of states of every recursion: unrolled, and counted beforehand."""
    found = []

    def both(root, split, limit, refusal, diagrams, domains=None):
        branches = reach(root, split, limit, refusal, diagrams, domains)
        found.append((len(branches), count_states(diagrams, root[0], root[1], limit, domains)))
        return branches

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(semantics, "reach", both)
        lower(formula, reading)
    return found


@settings(max_examples=30)
@given(
    st.one_of(*[countable(9, domains) for domains in ((None,), ("g", "h"), (None, "g"))]),
    st.sampled_from(["bound", "distinct"]),
)
def test_counts_are_those_of_the_recursion(formula, reading):
    try:
        found = lowered_and_counted(formula, reading)
    except fk.FormulaError:  # two domains for a name, or what stands beside a choice
        return
    for unrolled, counted in found:
        assert unrolled == counted


#: Long enough for thousands of states, with variables that the functions pass over.
LONG = [
    ("distinct", " ^ ".join(f"x{i}" for i in range(20))),
    ("distinct", " | ".join(f"x{i}:g & x{(3 * i + 5) % 7}:g & ~y{i % 3}:h" for i in range(7))),
    ("distinct", "atleast[2,3](a & b | c & ~d | e & ~a)"),
    ("bound", " | ".join(f"x{i} & x{(5 * i + 3) % 13} & ~x{(i + 4) % 13}" for i in range(13))),
]


@pytest.mark.parametrize(("reading", "text"), LONG)
def test_counts_of_long_formulas(reading, text):
    found = lowered_and_counted(fk.parse(text), reading)
    assert found
    for unrolled, counted in found:
        assert unrolled == counted


def test_a_count_stops_where_it_passes_the_limit():
    formula = fk.parse(LONG[0][1])
    whole = lowered_and_counted(formula, "distinct")[0][0]
    space = semantics._Space(formula, {None: 0}, None)
    count = count_states(space.diagrams, space.top, space.top, 500, space.domain_of)
    assert 500 < count < whole


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        ("distinct", " ^ ".join(f"x{i}" for i in range(60))),
        (
            "bound",
            "("
            + " & ".join(f"x{i}" for i in range(22))
            + ")"
            + "".join(f" | x{i} & x{i + 11}" for i in range(11)),
        ),
    ],
)
def test_too_many_states_are_refused_before_they_are_unrolled(monkeypatch, reading, text):
    """Unrolled states take more than a kilobyte each."""
    limit = 30_000
    monkeypatch.setattr(semantics, "MAX_PAIRS", limit)
    monkeypatch.setattr(semantics, "MAX_STATES", limit)
    monkeypatch.setattr(semantics, "MAX_UNCOUNTED_STATES", 500)
    formula = fk.parse(text)
    tracemalloc.start()
    try:
        with pytest.raises(fk.FormulaSizeError, match=f"more than {limit:,}"):
            lower(formula, reading)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < 500 * limit
