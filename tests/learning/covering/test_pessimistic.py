"""Pessimistic errors, generalising, and the choice of rules, against slow definitions."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.encoding.bits import pack_rows
from formulakern.learning.covering import tree_rules
from formulakern.learning.covering.description_length import exception_bits
from formulakern.learning.covering.tree_rules import (
    MAX_EXACT_RULES,
    LabelledRows,
    covers_of,
    decided,
    generalised,
    ordered,
    shortest_subset,
    upper_error,
)


def slow_upper_error(errors, covered, confidence):
    """The root of P(Binomial(covered, p) <= errors) = confidence, by bisection."""
    low, high = 0.0, 1.0
    while errors < covered and high - low > 1e-12:
        p = (low + high) / 2
        below = sum(comb(covered, i) * p**i * (1 - p) ** (covered - i) for i in range(errors + 1))
        low, high = (p, high) if below > confidence else (low, p)
    return high


@settings(max_examples=30)
@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.01, 0.99))
def test_upper_error(errors, right, confidence):
    found = float(upper_error(errors, errors + right, confidence))
    assert found == pytest.approx(slow_upper_error(errors, errors + right, confidence), abs=1e-9)
    assert found >= errors / max(errors + right, 1) or confidence > 0.5


def test_upper_errors_of_the_book():
    # Quinlan (1993), section 4.2: U_25%(0, 6), (0, 9), (0, 1)
    found = upper_error(0, [6, 9, 1], 0.25)
    assert found == pytest.approx([0.206, 0.143, 0.750], abs=5e-4)
    assert upper_error([0, 3], [0, 3], 0.25).tolist() == [1.0, 1.0]


@st.composite
def problems(draw):
    """Conditions, rules with their classes, labelled and weighted rows."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, C, R = draw(st.integers(1, 150)), draw(st.integers(1, 9)), draw(st.integers(1, 14))
    truths = rng.random((C, n)) < rng.uniform(0.2, 0.9, (C, 1))
    K = draw(st.integers(1, 3))
    codes = rng.integers(0, K, n)
    if draw(st.booleans()):  # what two conditions say
        codes = (truths[0] & truths[-1]).astype(int) % K
    kinds = [np.ones(n), rng.integers(0, 2, n) * 1.0, rng.integers(0, 4, n) / 2]
    weights = kinds[draw(st.integers(0, 2))]
    weights[0] = 1.0
    sizes = rng.integers(0, C + 1, R)
    members = np.full((R, C), -1)
    for r, size in enumerate(sizes):
        members[r, :size] = np.sort(rng.permutation(C)[:size])
    return truths, members, sizes, rng.integers(0, K, R), codes, K, weights


def slow_weights(truths, rule, codes, weights, label):
    cover = truths[list(rule)].all(axis=0)
    return weights[cover].sum(), weights[cover & (codes == label)].sum()


def slow_error(truths, rule, codes, weights, label, confidence):
    covered, right = slow_weights(truths, rule, codes, weights, label)
    return float(upper_error(max(covered - right, 0.0), covered, confidence))


@settings(max_examples=30, deadline=None)
@given(problems(), st.sampled_from([0.05, 0.25, 0.5]), st.booleans())
def test_generalising(problem, confidence, small_blocks):
    truths, members, sizes, labels, codes, K, weights = problem
    rows = LabelledRows.of(codes, K, weights)
    words, asked = pack_rows(truths), []

    def words_of(chosen):
        asked.append(len(chosen))
        return words[chosen]

    with pytest.MonkeyPatch.context() as patch:
        if small_blocks:
            patch.setattr(tree_rules, "BLOCK_BYTES", 8 * words.shape[1])
        found, kept, errors = generalised(words_of, members, sizes, labels, rows, confidence)
    assert max(asked) <= len(truths)
    for r, label in enumerate(labels):
        rule = sorted(members[r, : sizes[r]].tolist(), key=lambda c: (truths[c].sum(), c))
        before = error = slow_error(truths, rule, codes, weights, label, confidence)
        while rule:
            shorter = [
                slow_error(truths, rule[:d] + rule[d + 1 :], codes, weights, label, confidence)
                for d in range(len(rule))
            ]
            if min(shorter) > error:
                break
            error = min(shorter)
            del rule[shorter.index(error)]
        own = found[r, : kept[r]].tolist()
        assert own == sorted(own)
        assert (found[r, kept[r] :] == -1).all()
        assert set(own) <= set(members[r, : sizes[r]].tolist())
        assert errors[r] == slow_error(truths, own, codes, weights, label, confidence) <= before
        assert own == sorted(rule)


@settings(max_examples=30)
@given(problems())
def test_covers_and_what_rules_decide(problem):
    truths, members, sizes, _, codes, K, weights = problem
    rows = LabelledRows.of(codes, K, weights)
    covers = covers_of(pack_rows(truths).__getitem__, members, sizes, rows)
    slow = np.array([truths[m[:s]].all(axis=0) for m, s in zip(members, sizes, strict=True)])
    assert np.array_equal(covers, pack_rows(slow & (weights > 0)))
    first = np.vstack([slow, np.ones(len(codes), dtype=bool)]).argmax(axis=0)
    counts = [
        [weights[(first == r) & (codes == k)].sum() for k in range(K)] for r in range(len(slow) + 1)
    ]
    assert decided(covers, rows) == pytest.approx(np.array(counts))


def slow_length(slow, chosen, bits, codes, weights, label):
    cover = slow[list(chosen)].any(axis=0) if chosen else np.zeros(len(codes), dtype=bool)
    own = codes == label
    sums = [weights[part].sum() for part in (cover, ~cover, cover & ~own, ~cover & own)]
    return float(exception_bits(0.5, *sums)) + sum(bits[r] for r in chosen)


@settings(max_examples=30, deadline=None)
@given(problems(), st.floats(0, 8))
def test_subsets(problem, bits_each):
    truths, members, sizes, _, codes, K, weights = problem
    rows = LabelledRows.of(codes, K, weights)
    covers = covers_of(pack_rows(truths).__getitem__, members, sizes, rows)
    slow = np.array([truths[m[:s]].all(axis=0) for m, s in zip(members, sizes, strict=True)])
    bits = bits_each * (1.0 + sizes)
    for label in range(K):
        chosen = shortest_subset(covers, bits, rows, label).tolist()
        length = slow_length(slow, chosen, bits, codes, weights, label)
        if len(slow) <= MAX_EXACT_RULES:  # no subset is shorter
            rivals = [
                c for k in range(len(slow) + 1) for c in itertools.combinations(range(len(slow)), k)
            ]
            rivals = rivals[:: max(1, len(rivals) // 50)]
        else:  # no other single rule is worth adding or removing
            rivals = [tuple({*chosen} ^ {r}) for r in range(len(slow))] + [()]
        for rival in rivals:
            assert length <= slow_length(slow, rival, bits, codes, weights, label) + 1e-6


@settings(max_examples=30, deadline=None)
@given(problems())
def test_order(problem):
    truths, members, sizes, labels, codes, K, weights = problem
    rows = LabelledRows.of(codes, K, weights)
    covers = covers_of(pack_rows(truths).__getitem__, members, sizes, rows)
    slow = np.array([truths[m[:s]].all(axis=0) for m, s in zip(members, sizes, strict=True)])
    ranked, default = ordered(covers, labels, sizes.astype(float), rows)
    blocks = [label for label, _ in itertools.groupby(labels[ranked].tolist())]
    assert len(blocks) == len({*blocks})  # class by class

    def errors(order):
        first = np.vstack([slow[order], np.ones(len(codes), dtype=bool)]).argmax(axis=0)
        predicted = np.append(labels[order], default)[first]
        return weights[predicted != codes].sum()

    for place in range(len(ranked)):  # no rule does harm
        assert errors(np.delete(ranked, place)) >= errors(ranked) - 1e-9


def test_the_class_with_the_fewest_false_positives_comes_first():
    codes = np.array([0, 0, 0, 1, 1, 1, 1])
    slow = np.array([[1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]], dtype=bool)
    rows = LabelledRows.of(codes, 2, np.ones(7))
    order, default = ordered(pack_rows(slow), np.array([0, 1]), np.zeros(2), rows)
    assert order.tolist() == [1, 0]
    # what no rule covers decides the default; here nothing, so the most frequent class
    assert default == 1
