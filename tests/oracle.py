"""The slow definitions: brute-force enumeration of feature spaces, one substitution at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from formulakern.program import Program, cell_count, values_of
from formulakern.rules.class_rules import RuleList, RuleSet
from formulakern.rules.ensemble import RuleEnsemble
from formulakern.syntax.formula import Constant, Formula, Variable, evaluate
from formulakern.syntax.leaves import Choice


def _leaves_in_text(formula: Formula) -> list[Formula]:
    if formula.connective is None:
        return [formula]
    return [leaf for argument in formula.arguments for leaf in _leaves_in_text(argument)]


def _value(formula: Formula, leaf_values: dict[int, bool], counter: list[int]) -> bool:
    """Return the truth value if the i-th leaf in the text has leaf_values[i]."""
    if isinstance(formula, Constant):
        counter[0] += 1
        return formula.value
    if formula.connective is None:
        counter[0] += 1
        return leaf_values[counter[0] - 1]
    return formula.connective(*[_value(a, leaf_values, counter) for a in formula.arguments])


def features(
    formula: Formula,
    x: np.ndarray,
    reading: str,
    domains: Mapping[str | None, Sequence[int]],
) -> np.ndarray:
    """The vector of all Boolean features of one row, one per substitution."""
    columns = lambda variable: domains[variable.domain]  # noqa: E731
    if any(isinstance(leaf, Choice) for leaf in formula.leaves):
        return _with_choices(formula, x, reading, domains)
    if reading == "free":
        leaves = _leaves_in_text(formula)
        ranges = [columns(v) if isinstance(v, Variable) else [0] for v in leaves]
        return np.array(
            [
                _value(formula, {i: bool(x[c]) for i, c in enumerate(choice)}, [0])
                for choice in itertools.product(*ranges)
            ],
            dtype=object,
        )
    variables = _support(formula)
    rows = []
    for choice in itertools.product(*[columns(v) for v in variables]):
        if reading == "distinct" and _coincide(variables, choice):
            continue
        rows.append((choice, _bound_value(formula, variables, [bool(x[c]) for c in choice])))
    if reading == "bound":
        return np.array([value for _, value in rows], dtype=object)
    once: dict[tuple, bool] = {}
    for choice, value in rows:
        once[_boolean_function(formula, variables, choice)] = value
    return np.array(list(once.values()), dtype=object)


def _with_choices(
    formula: Formula,
    x: np.ndarray,
    reading: str,
    domains: Mapping[str | None, Sequence[int]],
) -> np.ndarray:
    """Choices are atoms with a feature space of their own; other atoms are columns."""
    if reading == "free":
        atoms = _leaves_in_text(formula)
        evaluated = lambda values: _value(formula, dict(enumerate(values)), [0])  # noqa: E731
    else:
        atoms = _support(formula)
        evaluated = lambda values: _bound_value(formula, atoms, values)  # noqa: E731
    spaces = []
    for atom in atoms:
        if isinstance(atom, Choice):
            spaces.append(choice_features(atom, x, reading, domains))
        elif isinstance(atom, Variable):
            spaces.append([bool(x[column]) for column in domains[atom.domain]])
        else:
            spaces.append([False])
    return np.array([evaluated(values) for values in itertools.product(*spaces)], dtype=object)


def choice_features(
    choice: Choice,
    x: np.ndarray,
    reading: str,
    domains: Mapping[str | None, Sequence[int]],
) -> list[bool]:
    """Every choice of d different features of the space inside, and whether it holds."""
    inner = [bool(value) for value in features(choice.formula, x, reading, domains)]
    chosen = itertools.combinations(inner, choice.degree)
    return [choice.least <= sum(values) <= choice.most for values in chosen]


def _coincide(variables: Sequence[Variable], choice: Sequence[int]) -> bool:
    per_domain: dict[str | None, list[int]] = {}
    for variable, column in zip(variables, choice, strict=True):
        per_domain.setdefault(variable.domain, []).append(column)
    return any(len(set(columns)) < len(columns) for columns in per_domain.values())


def _bound_value(formula: Formula, variables: Sequence[Variable], values: Sequence[bool]) -> bool:
    known = dict(zip(variables, values, strict=True))
    return bool(evaluate(formula, lambda leaf: known.get(leaf, False)))


def _support(formula: Formula) -> list[Variable]:
    """Variables (and choices) on which the function depends, by its truth table."""
    names = [leaf for leaf in formula.leaves if not isinstance(leaf, Constant)]
    depends = []
    for i, variable in enumerate(names):
        for values in itertools.product([False, True], repeat=len(names)):
            flipped = [v ^ (j == i) for j, v in enumerate(values)]
            if _bound_value(formula, names, values) != _bound_value(formula, names, flipped):
                depends.append(variable)
                break
    return depends


def _boolean_function(
    formula: Formula, variables: Sequence[Variable], choice: Sequence[int]
) -> tuple:
    """The feature as a function of the chosen columns, in a canonical form."""
    columns = sorted(set(choice))
    table = tuple(
        _bound_value(formula, variables, [values[columns.index(c)] for c in choice])
        for values in itertools.product([False, True], repeat=len(columns))
    )
    return (tuple(columns), table)


def gram(
    formula: Formula,
    X: np.ndarray,
    Z: np.ndarray,
    reading: str,
    domains: Mapping[str | None, Sequence[int]] | None = None,
) -> np.ndarray:
    """K(x, z) = number of substitutions true in x and in z, as exact integers."""
    if domains is None:
        domains = {None: range(X.shape[1])}
    left = [features(formula, x, reading, domains) for x in X]
    right = [features(formula, z, reading, domains) for z in Z]
    return np.array(
        [[int(np.sum(f.astype(int) * g.astype(int))) for g in right] for f in left], dtype=object
    ).reshape(len(X), len(Z))


def dimension(
    formula: Formula,
    n: int,
    reading: str,
    domains: Mapping[str | None, Sequence[int]] | None = None,
) -> int:
    """The number of substitutions that are counted."""
    if domains is None:
        domains = {None: range(n)}
    return len(features(formula, np.zeros(n, dtype=int), reading, domains))


class PythonIntegers:
    """The algebra of a program at one triple of counts per domain, without NumPy."""

    def __init__(self, s: int, p: int, q: int, n: int) -> None:
        self.counts = (s, p, q, n)

    def count(self, domain: int, cell: str, used: int) -> int:
        return max(cell_count(cell, *self.counts) - used, 0)

    constant = staticmethod(int)

    def sum(self, *operands: int) -> int:
        return sum(operands)

    def product(self, *operands: int) -> int:
        return math.prod(operands)

    def binomial(self, lower: int, operand: int) -> int:
        return math.comb(operand, lower)

    def quotient(self, divisor: int, operand: int) -> int:
        assert operand % divisor == 0
        return operand // divisor


def value_at(program: Program, s: int, p: int, q: int, n: int) -> int:
    """The kernel at these counts, the same in every domain, as an exact integer."""
    algebra = PythonIntegers(s, p, q, n)
    return algebra.quotient(program.divisor, values_of(program, algebra)[0])


def on_all_counts(program: Program, n: int = 4) -> list[int]:
    """The kernel for every possible (s, p, q) over n columns, the same in every domain."""
    return [
        value_at(program, s, p, q, n)
        for p in range(n + 1)
        for q in range(n + 1)
        for s in range(max(0, p + q - n), min(p, q) + 1)
    ]


def joint_counts(formula: Formula, s: int, p: int, q: int, n: int) -> tuple[int, int, int, int]:
    """Count the substitutions in each cell if every occurrence is a variable of its own."""
    if formula.connective is None:
        return s, p - s, q - s, n - p - q + s
    parts = [joint_counts(argument, s, p, q, n) for argument in formula.arguments]
    if formula.connective.arity == 1:
        return parts[0][::-1]
    total, *others = parts
    for part in others:
        cells = [0, 0, 0, 0]
        for (i, left), (j, right) in itertools.product(enumerate(total), enumerate(part)):
            in_x, in_z = formula.connective(i < 2, j < 2), formula.connective(not i % 2, not j % 2)
            cells[2 * (not in_x) + (not in_z)] += left * right
        total = tuple(cells)
    return total


def scores_of(rules: RuleEnsemble, row: dict[str, object]) -> dict[object, float]:
    """The score of each class for a row, by adding the votes of one rule after another."""
    table = {name: [value] for name, value in row.items()}
    scores = dict(zip(rules.classes, rules.intercept.tolist(), strict=True))
    for item in rules:
        value = float(item.rule(table)[0])
        if item.votes:
            for label, vote in zip(rules.classes, item.votes, strict=True):
                scores[label] += vote * value
        else:
            scores[item.winner] += item.weight * value
            if item.loser is not None:
                scores[item.loser] -= item.weight * value
    return scores


def decision_of_list(rules: RuleList, row: dict[str, object]) -> tuple[object, list[float]]:
    """The class and the probabilities of a row, by "if … else if … else"."""
    table = {name: [value] for name, value in row.items()}
    label, counts = rules.default, rules.default_counts
    for item in reversed(rules.rules):
        if item.rule(table)[0]:
            label, counts = item.label, item.counts
    return label, _corrected(counts, label, rules.classes)


def decision_of_set(rules: RuleSet, row: dict[str, object]) -> tuple[object, list[float]]:
    """The class and the probabilities of a row, by adding the votes of one rule after another."""
    table = {name: [value] for name, value in row.items()}
    votes, counts, numbers = dict.fromkeys(rules.classes, 0.0), [0.0] * len(rules.classes), 0
    known = True
    for item in rules:
        if item.rule(table)[0]:
            numbers += 1
            known = known and bool(item.counts)
            counts = [a + b for a, b in zip(counts, item.counts or counts, strict=True)]
            if rules.vote == "counts" and item.counts:
                for label, count in zip(rules.classes, item.counts, strict=True):
                    votes[label] += count
            else:
                votes[item.label] += 1
    most = max(votes.values())
    label = next(c for c in rules.classes if votes[c] == most) if most else rules.default
    if not numbers:
        return label, _corrected(rules.default_counts, rules.default, rules.classes)
    if known:
        return label, _corrected(tuple(counts), label, rules.classes)
    shares = [
        sum(item.label == c and bool(item.rule(table)[0]) for item in rules) for c in rules.classes
    ]
    return label, [share / numbers for share in shares]


def _corrected(
    counts: tuple[float, ...], label: object, classes: tuple[object, ...]
) -> list[float]:
    if counts:
        return [(count + 1) / (sum(counts) + len(classes)) for count in counts]
    if label is None:
        return [1 / len(classes)] * len(classes)
    return [float(label == c) for c in classes]


def graded_gram(binary: Callable[..., Fraction], X: np.ndarray, Z: np.ndarray) -> list:
    """∫∫ K(x≥α, z≥β) dα dβ in fractions: between two neighbouring values nothing changes.

    ``binary`` is K of a row of 0 and 1 of each table.
    """

    def levels(row: np.ndarray) -> list[tuple[Fraction, tuple[int, ...]]]:
        values = [Fraction(value) for value in row.tolist()]
        steps = sorted({*values, Fraction(0), Fraction(1)})
        return [
            (upper - lower, tuple(int(value >= upper) for value in values))
            for lower, upper in itertools.pairwise(steps)
        ]

    return [
        [
            sum(a * b * binary(x, z) for a, x in levels(left) for b, z in levels(right))
            for right in Z
        ]
        for left in X
    ]


def choquet(x: Sequence[float], z: Sequence[float], additivity: int | None = None) -> Fraction:
    """Return Σ min_T x · min_T z over non-empty sets T of at most this many columns, exactly."""
    (x, of_x), (z, of_z) = _integers(x), _integers(z)
    sets = (
        columns
        for size in range(1, (additivity or len(x)) + 1)
        for columns in itertools.combinations(range(len(x)), size)
    )
    total = sum(min(x[i] for i in columns) * min(z[i] for i in columns) for columns in sets)
    return Fraction(total, of_x * of_z)


def choquet_integral(
    x: Sequence[float], z: Sequence[float], additivity: int | None = None
) -> Fraction:
    """∫∫ f(number of columns with x ≥ α and z ≥ β) dα dβ over the grid of levels, exactly."""
    n = len(x)
    values = [0]  # Σ C(s, r) over 1 ≤ r ≤ k, by Pascal's rule
    for s in range(n):
        values.append(2 * values[s] + 1 - math.comb(s, additivity or n))
    levels, widths, divisor = [], [], 1
    for row, of in map(_integers, (x, z)):
        distinct = [0, *sorted({v for v in row if v})]
        widths.append([b - a for a, b in itertools.pairwise(distinct)])
        levels.append([[v >= level for v in row] for level in distinct[1:]])
        divisor *= of
    grid = np.array(levels[0], int).reshape(-1, n) @ np.array(levels[1], int).reshape(-1, n).T
    total = sum(
        wide * sum(high * values[s] for high, s in zip(widths[1], row, strict=True))
        for wide, row in zip(widths[0], grid.tolist(), strict=True)
    )
    return Fraction(total, divisor)


def _integers(row: Sequence[float]) -> tuple[list[int], int]:
    """Integers and what to divide them by."""
    fractions = [Fraction(float(v)) for v in row]
    divisor = max(v.denominator for v in fractions)  # powers of two
    return [int(v * divisor) for v in fractions], divisor


def weighted_degree(x: str, z: str, d: int, S: int = 0) -> Fraction:
    """The weighted degree kernel with shifts, k-mer by k-mer."""
    total = Fraction(0)
    for k, i, j in itertools.product(range(1, d + 1), range(len(x)), range(len(z))):
        inside = i + k <= len(x) and j + k <= len(z) and abs(i - j) <= S
        if inside and x[i : i + k] == z[j : j + k]:
            delta = Fraction(1) if i == j else Fraction(1, 2 * (abs(i - j) + 1))
            total += Fraction(2 * (d - k + 1), d * (d + 1)) * delta
    return total


def spectrum(x: str, z: str, k: int) -> int:
    """The spectrum kernel: pairs of equal k-mers."""
    return sum(
        x[i : i + k] == z[j : j + k]
        for i, j in itertools.product(range(len(x) - k + 1), range(len(z) - k + 1))
    )


def mismatch(x: str, z: str, k: int, m: int, alphabet: str) -> int:
    """The mismatch kernel: every string u of k letters, with the k-mers that are near to it."""

    def near(string: str, u: tuple[str, ...]) -> int:
        k_mers = (string[i : i + k] for i in range(len(string) - k + 1))
        return sum(sum(a != b for a, b in zip(k_mer, u, strict=True)) <= m for k_mer in k_mers)

    return sum(near(x, u) * near(z, u) for u in itertools.product(alphabet, repeat=k))


def informative_cuts(
    values: Sequence[float], classes: Sequence[object], number: int
) -> list[float]:
    """The largest value below each cut by entropy and description length, one row at a time."""

    def bits(rows: Sequence[tuple[float, object]]) -> float:
        shares = [n / len(rows) for n in Counter(label for _, label in rows).values()]
        return -sum(share * math.log2(share) for share in shares)

    def best(rows: list[tuple[float, object]]) -> tuple[float, float, bool]:
        n, found = len(rows), []
        for low in sorted({value for value, _ in rows})[:-1]:
            sides = [row for row in rows if row[0] <= low], [row for row in rows if row[0] > low]
            gain = n * bits(rows) - sum(len(side) * bits(side) for side in sides)
            found.append((-round(gain, 9), low, sides))
        gain, low, sides = min(found, key=lambda entry: entry[:2])
        k, *parts = (len({label for _, label in some}) for some in (rows, *sides))
        change = k * bits(rows) - sum(p * bits(side) for p, side in zip(parts, sides, strict=True))
        needed = math.log2(n - 1) + (math.log2(3**k - 2) if k > 1 else 0) - change
        return gain, low, k > 1 and -gain > needed

    cuts: list[float] = []
    open_parts = [list(zip(values, classes, strict=True))]
    while open_parts and len(cuts) < number:
        listed = [(*best(rows), rows) for rows in open_parts if len({v for v, _ in rows}) > 1]
        listed = [entry for entry in listed if entry[2] or not cuts]
        if not listed:
            break
        _, low, accepted, rows = min(listed, key=lambda entry: entry[:2])
        cuts.append(low)
        open_parts.remove(rows)
        if accepted:
            open_parts += [r for r in rows if r[0] <= low], [r for r in rows if r[0] > low]
    return sorted(cuts)


def smallest_card_loss(covers: np.ndarray, second: np.ndarray, largest: int) -> float:
    """The least mean penalised loss of all integer points, by damped Newton steps for each.

    The multiplier and the shift of points are free, and opposite points have the same loss.
    """
    values = range(-largest, largest + 1)
    every = itertools.product(values, repeat=covers.shape[1])
    points = np.array([p for p in every if p >= tuple(-x for x in p)])
    totals, targets = points @ covers.T, second.astype(float)
    penalties = (points**2).sum(axis=1) / 4 / len(second)
    directions = np.stack([totals, np.ones_like(totals)], axis=1)  # (points, 2, rows)

    def losses(both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits = both[:, :1] * totals + both[:, 1:]
        mean = (np.logaddexp(0, logits) - targets * logits).mean(axis=1)
        return mean + penalties * both[:, 0] ** 2, logits

    both = np.zeros((len(points), 2))
    least, logits = losses(both)
    for _ in range(100):
        chances = 1 / (1 + np.exp(-logits))
        slopes = (directions @ (chances - targets)[:, :, None])[:, :, 0] / len(targets)
        slopes[:, 0] += 2 * penalties * both[:, 0]
        if np.abs(slopes).max() < 1e-8:
            return float(least.min())
        bends = (directions * (chances * (1 - chances))[:, None]) @ directions.transpose(0, 2, 1)
        bends = bends / len(targets) + 1e-9 * np.eye(2)  # equal totals of all rows
        bends[:, 0, 0] += 2 * penalties
        step = np.linalg.solve(bends, slopes[:, :, None])[:, :, 0]
        step *= np.minimum(1, 1 / np.abs(step).max(axis=1, keepdims=True).clip(1e-9))
        better = losses(both - step)[0] <= least
        both -= np.where(better[:, None], step, step / 16)
        least, logits = losses(both)
    raise AssertionError("Newton's method did not converge")


def score_error(weights: Sequence[float], score: float, card: Sequence[float]) -> float:
    """The largest error of a score, over all sets of rules; ``card`` is points, start, unit."""
    *points, start, unit = card
    return max(
        abs(score + np.dot(on, weights) - (np.dot(on, points) - start) / unit)
        for on in itertools.product((0, 1), repeat=len(weights))
    )


def smallest_score_error(weights: Sequence[float], largest: int) -> float:
    """The least of the largest error, for all points, multipliers between them, and best starts."""
    found = []
    for points in itertools.product(range(-largest, largest + 1), repeat=len(weights)):
        pairs = list(zip(weights, points, strict=True))
        for unit in [p / w for w, p in pairs if p and w and p / w > 0]:
            rest = [w - p / unit for w, p in pairs]
            sums = [np.dot(on, rest) for on in itertools.product((0, 1), repeat=len(rest))]
            found.append((max(sums) - min(sums)) / 2)
    return min(found)
