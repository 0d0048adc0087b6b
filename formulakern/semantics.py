"""Formula → Program: the readings of a formula's variables, and the counting of substitutions.

For two rows x and z, F11 is the number of substitutions under which the formula F is true in both,
F10 in x only, F01 in z only, F00 in neither.  A star sums over both values: F1* = F11 + F10, and
F** is the number of all substitutions.  These nine numbers are the *cells*.

In the reading ``free`` every occurrence of a variable is substituted independently, and no two
leaves share anything.

* ``not F`` has the cells of F with 1 and 0 exchanged, without arithmetic.
* ``F ∘ G``, if F and G share no variable, has (F ∘ G)uv = Σ Fij · Gkl over i ∘ k = u, j ∘ l = v.
* A choice takes i, j, l, m of the F11, F10, F01, F00 features of its feature space, so that i + j
  are true in x and i + l in z: C(F11, i)·C(F10, j)·C(F01, l)·C(F00, m).  If the number in one row
  is free, Vandermonde's identity folds the sums into a binomial of a marginal such as F0*.

All terms are non-negative, so nothing cancels.  Polato & Aiolli (2021), doi:10.3390/e23081020, and
Polato, Lauriola & Aiolli (2018), doi:10.3390/e20060444, write the same kernels with subtractions.
A formula becomes a list of *steps*, each on earlier ones.  A backward pass finds the cells that are
needed of each step, and a forward pass emits them.

In the reading ``bound`` equal names are the same variable, and different names may coincide.  The
kernel depends only on the Boolean function; variables on which the function does not depend are not
substituted.  A *module* is a subformula whose variables occur nowhere else in the formula: modules
combine as in ``free``.  If names repeat, the subformulas that share them become a decision diagram
over modules (a disjoint-support decomposition), and pairs of its nodes are counted.  Let g(F, G) be
the number of substitutions under which F is true in x and G is true in z, so that the kernel is
g(F, F).  Splitting on a variable, with F₁ and F₀ the cofactors of F,

    g(F, G) = n11·g(F₁, G₁) + n10·g(F₁, G₀) + n01·g(F₀, G₁) + n00·g(F₀, G₀),

where n11 columns are 1 in both rows, n10 in x only, and so on.  Computed once for every pair of
nodes of a decision diagram, this is polynomial in the size of the diagram.

In the reading ``distinct`` different names are different columns, and equal features count once.
The same recursion counts the all-different (injective) substitutions, with each joint count reduced
by the columns of its cell that are already used.  Permutations of the variables that leave the
function unchanged act freely on these substitutions and give the same feature.  Dividing by the
number of such symmetries is exact, and counts every feature once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, islice, product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from formulakern.checks import check_choice
from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.program import Builder, Program, check_nodes, repeated
from formulakern.syntax.connectives import Connective
from formulakern.syntax.diagrams import Diagrams, join_balanced, models_with_each
from formulakern.syntax.formula import Constant, Formula, Variable, diagrams_of, evaluate, fold
from formulakern.syntax.leaves import Choice

# -- steps, and the reading "free"

#: The largest number of steps of a formula.
MAX_STEPS = 400_000
#: The largest number of terms of a choice for one count.
MAX_TERMS = 20_000

#: A placeholder for the formula of a choice, which is a step of its own.
_ANY = Variable("x")

#: The position of a step, or for its negation the complement ``~position``.
Reference = int
#: Returns the position in the program of a cell of an earlier step.
Value = Callable[[Reference, str], int]
#: Appends ``left ∘ right``.
Join = Callable[[Connective, Reference, Reference], Reference]
#: A product of binomials: pairs of cells to sum, and the number of features to choose from them.
_Term = tuple[tuple[tuple[str, ...], int], ...]


def _lower_free(formula: Formula, domains: dict[str | None, int]) -> Program:
    """Return the program of a formula in the reading ``free``, in time linear in its nodes."""
    steps = Steps(domains)

    def read(part: Formula) -> Reference:
        return fold(part, step)

    def step(node: Formula, arguments: list[Reference]) -> Reference:
        row = node.connective
        if row is None:
            return steps.leaf(node, read)
        return ~arguments[0] if row.arity == 1 else steps.chain(row, arguments, steps.binary)

    return steps.program(read(formula))


def opposite(cell: str) -> str:
    """Return the cell with 1 and 0 exchanged."""
    return cell.translate(_EXCHANGED)


_EXCHANGED = str.maketrans("10", "01")


class Step:
    """A formula of earlier steps (its arguments), which share no variable."""

    __slots__ = ()

    arguments: tuple[Reference, ...] = ()

    def reads(self, cell: str) -> Iterable[tuple[Reference, str]]:  # noqa: ARG002
        """Return the arguments and their cells from which one cell is computed."""
        return ()

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Emit the arithmetic of one cell from the values of the cells that it reads."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Leaf(Step):
    """A variable, ranging over the columns of one domain."""

    domain: int

    def emit(self, cell: str, builder: Builder, value: Value) -> int:  # noqa: ARG002
        """Return the count of columns."""
        return builder.count(self.domain, cell)


@dataclass(frozen=True, slots=True)
class ConstantStep(Step):
    """True or false, with one (empty) substitution."""

    value: bool

    def emit(self, cell: str, builder: Builder, value: Value) -> int:  # noqa: ARG002
        """Emit 1 or 0."""
        return builder.constant(int("01"[not self.value] not in cell))


@dataclass(frozen=True, slots=True)
class Binary(Step):
    """A connective with two arguments."""

    connective: Connective
    arguments: tuple[Reference, Reference]

    def reads(self, cell: str) -> Iterator[tuple[Reference, str]]:
        """Yield the cells in the products."""
        for cells in _products(self.connective, cell):
            yield from zip(self.arguments, cells, strict=True)

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Return the sum of the products."""
        left, right = self.arguments
        return builder.sum(
            builder.product((value(left, i), value(right, k)))
            for i, k in _products(self.connective, cell)
        )


@dataclass(frozen=True)
class ChoiceStep(Step):
    """d different features of an earlier step's feature space."""

    choice: Choice
    arguments: tuple[Reference]

    def reads(self, cell: str) -> Iterator[tuple[Reference, str]]:
        """Return the cells in the binomials."""
        return ((self.arguments[0], read) for read in cells_of_choice(self.choice, cell))

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Emit sums of products of binomials."""
        inside = self.arguments[0]
        return emit_choice(self.choice, cell, builder, lambda read: value(inside, read))


class Steps(list[Step]):
    """The steps of a formula, each on earlier ones; equal steps are stored once."""

    def __init__(self, domains: dict[str | None, int]) -> None:
        super().__init__()
        self.domains = domains
        self._position: dict[Step, int] = {}

    def add(self, step: Step) -> Reference:
        """Append a step unless there is an equal one; return its position."""
        position = self._position.setdefault(step, len(self))
        if position == len(self):
            if position >= MAX_STEPS:
                raise FormulaSizeError(
                    f"the formula has more than {MAX_STEPS:,} subformulas of different shapes. "
                    "Split it into smaller formulas, or write chains of one connective, whose "
                    "length does not matter."
                )
            self.append(step)
        return position

    def constant(self, reference: Reference) -> bool | None:
        """Return the value of a constant, or None for other steps."""
        step = self[max(reference, ~reference)]
        return step.value ^ (reference < 0) if isinstance(step, ConstantStep) else None

    def leaf(self, leaf: Formula, read: Callable[[Formula], Reference]) -> Reference:
        """Append a leaf; ``read`` appends the steps of the formula of a choice."""
        if isinstance(leaf, Constant):
            return self.add(ConstantStep(leaf.value))
        if isinstance(leaf, Choice):
            return self.add(ChoiceStep(leaf.over(_ANY), (read(leaf.formula),)))
        assert isinstance(leaf, Variable)
        return self.add(Leaf(self.domains[leaf.domain]))

    def chain(self, row: Connective, parts: Iterable[Reference], join: Join) -> Reference:
        """Join steps by a connective; two are joined in order if it is not associative.

        Otherwise the order is free.  n equal parts are joined by repeated squaring, in about
        2·log₂(n) steps, and different ones in pairs, so that exact intermediate numbers stay short.
        """
        if row.chain != "flat":
            left, right = parts
            return join(row, left, right)

        def both(left: Reference, right: Reference) -> Reference:
            return join(row, left, right)

        counted = sorted(Counter(parts).items())
        return join_balanced([repeated(part, times, both) for part, times in counted], both)

    def binary(self, row: Connective, left: Reference, right: Reference) -> Reference:
        """Append ``left ∘ right`` without simplification."""
        return self.add(Binary(row, (left, right)))

    def fuse(self, row: Connective, left: Reference, right: Reference) -> Reference:
        """Append ``left ∘ right`` without constants, if only the Boolean function matters."""
        for one, other, first in ((left, right, True), (right, left, False)):
            value = self.constant(one)
            if value is not None:
                when_true, when_false = (
                    row(value, bit) if first else row(bit, value) for bit in (True, False)
                )
                if when_true != when_false:
                    return other if when_true else ~other
                return self.add(ConstantStep(when_true))
        return self.binary(row, left, right)

    def program(self, root: Reference) -> Program:
        """Return the program of a step: its cell 11 is the kernel, its cell ** the dimension.

        The time is linear in the number of steps, because each needs at most nine cells.  The
        length of the program is checked before any of it is emitted.
        """
        # for each step: the needed cells, and their positions once they are emitted
        cells: list[dict[str, int]] = [{} for _ in self]
        last = max(root, ~root)
        kernel = "11" if root >= 0 else "00"
        chosen = any(isinstance(step, ChoiceStep) for step in self)
        cells[last] = dict.fromkeys((kernel, "**") if chosen else (kernel,), -1)
        times = [0] * len(self)  # the number of occurrences of each step in the formula
        times[last] = 1
        last_use = [0] * len(self)
        degrees = [0] * len(self.domains)
        operations = 0
        for position in range(last, -1, -1):
            step = self[position]
            for cell in cells[position]:
                for other, read in step.reads(cell):
                    if other >= 0:
                        cells[other][read] = -1
                    else:
                        cells[~other][opposite(read)] = -1
                if isinstance(step, Binary):
                    operations += 1 + len(_products(step.connective, cell))
                elif isinstance(step, ChoiceStep):
                    operations += len(choice_terms(step.choice, cell))
                check_nodes(operations)
            for argument in step.arguments:
                argument = max(argument, ~argument)
                times[argument] += times[position]
                last_use[argument] = last_use[argument] or position
            if isinstance(step, Leaf):
                degrees[step.domain] += times[position]
        builder = Builder(self.domains)

        def value(reference: Reference, cell: str) -> int:
            if reference >= 0:
                return cells[reference][cell]
            return cells[~reference][opposite(cell)]

        for position, step in enumerate(self[: last + 1]):
            found = cells[position]
            for cell in found:
                found[cell] = step.emit(cell, builder, value)
            for argument in step.arguments:
                argument = max(argument, ~argument)
                if last_use[argument] == position:
                    cells[argument] = {}
        # without choices, every literal takes any of its columns
        dimension = (
            cells[last].get("**")
            if chosen
            else builder.product(
                builder.power(builder.count(domain, "**"), degree)
                for domain, degree in enumerate(degrees)
            )
        )
        assert dimension is not None
        return builder.finish(cells[last][kernel], dimension, degrees)


@cache
def _products(row: Connective, cell: str) -> tuple[tuple[str, str], ...]:
    """Return the cells (of left, of right) whose products sum to ``cell`` of ``left ∘ right``."""
    x, z = _sides(row, cell[0]), _sides(row, cell[1])
    return tuple((i + j, k + m) for i, k in x for j, m in z)


@cache
def _sides(row: Connective, wanted: str) -> tuple[tuple[str, str], ...]:
    """Return pairs (left value, right value or star) that give a truth value in one row."""
    if wanted == "*":
        return (("*", "*"),)
    found: dict[str, str] = {}
    for left in "10":
        rights = [right for right in "10" if row(left == "1", right == "1") == (wanted == "1")]
        if rights:
            found[left] = "*" if len(rights) == 2 else rights[0]
    if len(found) == 2 and len(set(found.values())) == 1:
        return (("*", found["1"]),)
    return tuple(found.items())


# -- choices of d different features


def cells_of_choice(choice: Choice, cell: str) -> Iterable[str]:
    """Return the cells of the feature space that are needed, with ** to check the degree."""
    terms = choice_terms(choice, cell)
    return dict.fromkeys(["**", *(read for term in terms for cells, _ in term for read in cells)])


def emit_choice(choice: Choice, cell: str, builder: Builder, count: Callable[[str], int]) -> int:
    """Emit a cell of a choice from the positions of the cells that it reads."""
    builder.choose(count("**"), choice.degree)
    return builder.sum(
        builder.product(
            builder.binomial(builder.sum(map(count, cells)), lower) for cells, lower in term
        )
        for term in choice_terms(choice, cell)
    )


def choice_terms(choice: Choice, cell: str) -> tuple[_Term, ...]:
    """Return a cell of a choice as a sum of products, of at most ``MAX_TERMS`` terms."""
    terms = _terms(choice.degree, choice.least, choice.most, cell)
    if len(terms) > MAX_TERMS:
        raise FormulaSizeError(
            f"counting {choice.kind!r} with degree {choice.degree:,} needs more than "
            f"{MAX_TERMS:,} terms. Choose fewer features; all[d] as a whole formula has no such "
            "limit."
        )
    return terms


@lru_cache(maxsize=32)
def _terms(degree: int, least: int, most: int, cell: str) -> tuple[_Term, ...]:
    """Return the terms of a cell for ``least`` to ``most`` of ``degree``, at most MAX_TERMS + 1."""
    return tuple(islice(_each(degree, least, most, cell), MAX_TERMS + 1))


def _each(d: int, least: int, most: int, cell: str) -> Iterator[Any]:
    wanted = {
        "1": [range(least, most + 1)],
        "0": [part for part in (range(least), range(most + 1, d + 1)) if part],
        "*": [range(d + 1)],
    }
    if (least, most) == (0, d):  # always true
        cell = cell.replace("1", "*")
    x, z = wanted[cell[0]], wanted[cell[1]]
    if cell == "**":
        yield ((("**",), d),)
        return
    if "*" in cell:  # some of the features that are true in one row, the rest of the others
        true = cell.replace("0", "1")
        for count in chain(*(z if cell[0] == "*" else x)):
            yield (((true,), count), ((opposite(true),), d - count))
        return
    if not x or not z:
        return
    free_x, free_z = _free_from(x, d), _free_from(z, d)
    for i in range(max(x[0][0] + z[0][0] - d, 0), d + 1):
        rest = d - i
        both = (("11",), i)
        if i >= free_x and i >= free_z:
            yield both, (("10", "0*"), rest)
        elif i >= free_x:
            for k in chain(*_beyond(z, i)):
                yield both, (("01",), k), (("*0",), rest - k)
        elif i >= free_z:
            for j in chain(*_beyond(x, i)):
                yield both, (("10",), j), (("0*",), rest - j)
        else:
            in_z = _beyond(z, i)
            for j in chain(*_beyond(x, i)):
                if not in_z or j + in_z[0][0] > rest:
                    break
                for k in chain(*in_z):
                    if j + k > rest:
                        break
                    yield both, (("10",), j), (("01",), k), (("00",), rest - j - k)


def _free_from(wanted: list[range], degree: int) -> int:
    """Return the smallest number such that it and all larger ones up to the degree are wanted."""
    return wanted[-1][0] if wanted[-1][-1] == degree else degree + 1


def _beyond(wanted: list[range], start: int) -> list[range]:
    """Return the wanted numbers from ``start`` on, minus ``start``."""
    beyond = (range(max(part[0] - start, 0), part[-1] + 1 - start) for part in wanted)
    return [part for part in beyond if part]


# -- recursions on pairs of functions
#
# The number of states is counted before the recursion is unrolled: level by level, as arrays of
# the functions of x and of z, and a hash of the columns in use.  The hash is a sum of random odd
# 64-bit numbers, one for every column that is used in a cell.  If different columns in use have the
# same hash, states are missed; no state is counted twice.  The count is therefore a lower bound,
# and is too small with a probability of less than one in a million.

#: The number of states after which all states are counted.
MAX_UNCOUNTED_STATES = 5_000
#: The advice if a diagram exceeds its limits.
REPEATED_NAMES_ADVICE = (
    "Counting with repeated names is hard in general: repeat fewer names, split the formula, or "
    "use variables='free'."
)

#: A function of x, a function of z, and possibly more.
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T")
#: The states from which a state is computed, each with its factor.
Branches = Sequence[tuple[T, S]]


def reach(
    root: S,
    split: Callable[[S], Branches[T, S]],
    limit: int,
    refusal: str,
    diagrams: Diagrams,
    domains: Sequence[int] | None = None,
) -> dict[S, Branches[T, S]]:
    """Return all states that are reached from a state by splitting, each with its branches.

    Raise FormulaSizeError with the message ``refusal`` above ``limit`` states; :func:`count_states`
    detects most such cases early, on ``diagrams``.
    """
    branches: dict[S, Branches[T, S]] = {}
    pending = [root]
    while pending:
        state = pending.pop()
        if state not in branches:
            too_many = len(branches) >= limit
            if len(branches) == MAX_UNCOUNTED_STATES and not too_many:
                too_many = count_states(diagrams, root[0], root[1], limit, domains) > limit
            if too_many:
                raise FormulaSizeError(refusal)
            branches[state] = split(state)
            pending.extend(after for _, after in branches[state])
    return branches


def sum_up(
    builder: Builder,
    branches: Mapping[S, Branches[Any, S]],
    level: Callable[[S], int],
    factors: Callable[[Any], Iterable[int]],
    end: Callable[[S], int | None],
) -> dict[S, int]:
    """Emit the value of every state: the sum of products over its branches.

    ``level`` grows from a state to those from which it is computed.  ``factors`` returns the
    positions of a term's factors, and ``end`` that of the value of a state without branches.
    """
    values: dict[S, int] = {}
    for state in sorted(branches, key=level, reverse=True):
        value = end(state)
        if value is None:
            value = builder.sum(
                builder.product((*factors(term), values[after])) for term, after in branches[state]
            )
        values[state] = value
    return values


Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]
#: Functions of x and of z (1 if that row is not read), and hashes of the columns in use by their
#: cells in both rows, by their values in x, and by their values in z.
_States = tuple[Any, ...]


def count_states(
    diagrams: Diagrams, f: int, g: int, limit: int, domains: Sequence[int] | None = None
) -> int:
    """Return the number of states that are reached from a pair of functions, up to a limit.

    ``f`` and ``g`` are the functions of x and of z, not the constant 0.  ``domains`` holds for
    every level the domain whose columns it uses, or is None if none are used.  Counting a state
    takes about a thirtieth of the time of unrolling it.
    """
    kept = [0, 1, *sorted({*diagrams.reachable(f), *diagrams.reachable(g)})]
    place = {node: i for i, node in enumerate(kept)}
    after = {
        bit: np.array([place[successors[node]] for node in kept])
        for bit, successors in ((1, diagrams.high), (0, diagrams.low))
    }
    levels = sorted({diagrams.level[node] for node in kept})
    order = {level: i for i, level in enumerate(levels)}  # the constants come last
    level = np.array([order[diagrams.level[node]] for node in kept])
    # the first row is for the functions themselves
    n_rows = 2 if domains is None else 2 + max(domains, default=0)
    # odd numbers: per row for the cells 11, 10, 01, 00 and the values 1, 0 of a row of a table
    random = 2 * np.random.default_rng(0).integers(2**63, size=(n_rows, 6), dtype=np.uint64) + 1
    zero = np.zeros(1, dtype=np.uint64)
    root: _States = (np.array([place[f]]), np.array([place[g]]), zero, zero, zero)
    pending: list[list[_States]] = [[] for _ in levels]
    pending[min(level[place[f]], level[place[g]])].append(root)
    total = 0
    for here, found in enumerate(pending):
        if not found:
            continue
        states = _different(found, random[0])
        total += len(states[0])
        if total > limit or here == len(levels) - 1:
            break
        found.clear()
        numbers = random[0] * 0 if domains is None else random[1 + domains[levels[here]]]
        for bits in ((1, 1), (1, 0), (0, 1), (0, 0)):
            new = _split(states, bits, level == here, after, numbers)
            at = np.minimum(level[new[0]], level[new[1]])
            for next_level in np.unique(at).tolist():
                pending[next_level].append(tuple(part[at == next_level] for part in new))
    return total


def _different(found: list[_States], numbers: Numbers) -> _States:
    """Return the distinct states."""
    states = [np.concatenate(arrays) for arrays in zip(*found, strict=True)]
    f, g, both = states[:3]
    key = f.astype(np.uint64) * numbers[0] + g.astype(np.uint64) * numbers[1] + both
    once = np.unique(key, return_index=True)[1]
    return tuple(part[once] for part in states)


def _split(
    states: _States,
    bits: tuple[int, int],
    tested: npt.NDArray[np.bool_],
    after: dict[int, Integers],
    numbers: Numbers,
) -> _States:
    """Return the states after a column with these values in x and z.

    ``tested`` marks the functions that test the column, and ``after`` holds their successors.
    """
    f, g, both, of_x, of_z = states
    bit_x, bit_z = bits
    new_f, new_g = (
        np.where(tested[function], after[bit][function], function)
        for function, bit in ((f, bit_x), (g, bit_z))
    )
    reads_x, reads_z = f != 1, g != 1
    # a row that is not read has no values: one branch represents both
    some = (new_f != 0) & (new_g != 0) & (reads_x | (bit_x == 1)) & (reads_z | (bit_z == 1))
    value_x, value_z, cell = numbers[5 - bit_x], numbers[5 - bit_z], numbers[3 - 2 * bit_x - bit_z]
    both = both + np.where(reads_x, np.where(reads_z, cell, value_x), value_z)
    of_x, of_z = of_x + value_x, of_z + value_z
    # when only one row is read, only the values in that row count
    turns = reads_x & reads_z & ((new_f == 1) != (new_g == 1))
    both = np.where(turns, np.where(new_g == 1, of_x, of_z), both)
    return tuple(part[some] for part in (new_f, new_g, both, of_x, of_z))


# -- the reading "bound"

#: The largest number of pairs of diagram nodes to count on.
MAX_PAIRS = 400_000
#: Leaves with the same meaning if they are equal.
ATOMS = (Variable, Choice)


def _lower_bound(formula: Formula, domains: dict[str | None, int]) -> Program:
    """Return the program in the reading ``bound``; the time is linear if no names repeat."""
    steps = Steps(domains)
    return steps.program(_Reader(formula, steps).read())


@dataclass(slots=True)
class _Occurrence:
    """One occurrence of a subformula, with the positions of the occurrences of its operands."""

    formula: Formula
    children: tuple[int, ...]
    module: bool = False


def _occurrences(formula: Formula) -> list[_Occurrence]:
    """Return all occurrences of subformulas, operands first, with modules marked.

    The time is linear.  An occurrence covers an interval of leaves.  It is a module if the interval
    contains the first and the last occurrence of every variable inside.
    """
    places: list[_Occurrence] = []
    stack: list[tuple[Formula, list[int]]] = [(formula, [])]
    while stack:  # a shared object has one occurrence for each of its places
        node, done = stack[-1]
        if len(done) < len(node.arguments):
            stack.append((node.arguments[len(done)], []))
            continue
        stack.pop()
        places.append(_Occurrence(node, tuple(done)))
        if stack:
            stack[-1][1].append(len(places) - 1)
    leaves = list(enumerate(place.formula for place in places if not place.children))
    first = {leaf: index for index, leaf in reversed(leaves)}
    last = {leaf: index for index, leaf in leaves}
    bounds: list[tuple[int, int, int, int]] = []  # the leaves covered, and those a module needs
    next_leaf = 0
    for place in places:
        if place.children:
            inside = [bounds[child] for child in place.children]
            begin, end = inside[0][0], inside[-1][1]
            low = min(entry[2] for entry in inside)
            high = max(entry[3] for entry in inside)
        else:
            begin = end = low = high = next_leaf
            if isinstance(place.formula, ATOMS):
                low, high = first[place.formula], last[place.formula]
            next_leaf += 1
        bounds.append((begin, end, low, high))
        place.module = begin <= low and high <= end
    return places


def _groups(sets: Sequence[Collection[Formula]]) -> list[list[int]]:
    """Return the positions of the sets, grouped so that sets with a common element are together."""
    parent = list(range(len(sets)))

    def find(position: int) -> int:
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    owner: dict[Formula, int] = {}
    for position, elements in enumerate(sets):
        for element in elements:
            parent[find(position)] = find(owner.setdefault(element, position))
    grouped: dict[int, list[int]] = {}
    for position in range(len(sets)):
        grouped.setdefault(find(position), []).append(position)
    return list(grouped.values())


class _Reader:
    """Turns the occurrences in a formula into steps, modules first."""

    def __init__(self, formula: Formula, steps: Steps) -> None:
        self.places = _occurrences(formula)
        # shared, so that its limits are limits of the formula
        self.diagrams = Diagrams(REPEATED_NAMES_ADVICE)
        self.steps = steps
        self.step_of: dict[int, Reference] = {}  # of every module

    def read(self) -> Reference:
        """Append the steps and return the reference of the whole formula."""
        for position, place in enumerate(self.places):
            if place.module:
                self.step_of[position] = self._module(place)
        return self.step_of[len(self.places) - 1]

    def _module(self, place: _Occurrence) -> Reference:
        row = place.formula.connective
        if row is None:
            return self._leaf(place.formula)
        if row.arity == 1:
            return ~self.step_of[place.children[0]]
        sharing = [child for child in place.children if not self.places[child].module]
        if sharing and row.chain != "flat":  # not associative: the order of arguments is fixed
            return self._diagram(row, list(place.children))
        parts = [self.step_of[child] for child in place.children if self.places[child].module]
        atoms = [
            {f for at in self._inside(child) if isinstance(f := self.places[at].formula, ATOMS)}
            for child in sharing
        ]
        parts += [self._diagram(row, [sharing[i] for i in group]) for group in _groups(atoms)]
        return self.steps.chain(row, parts, self.steps.fuse)

    def _leaf(self, leaf: Formula) -> Reference:
        return self.steps.leaf(leaf, lambda inside: _Reader(inside, self.steps).read())

    def _inside(self, root: int) -> list[int]:
        """Return the occurrences from ``root`` down to the modules, without the modules."""
        order: list[int] = []
        pending = [root]
        while pending:
            position = pending.pop()
            if not self.places[position].module:
                order.append(position)
                pending.extend(self.places[position].children)
        return order[::-1]

    def _diagram(self, row: Connective, roots: list[int]) -> Reference:
        """Return the step of ``row`` applied to occurrences that share variables."""
        diagrams = self.diagrams
        atoms: list[Reference] = []  # by level
        level_of: dict[Formula, int] = {}
        functions: dict[int, int] = {}

        def atom(step: Reference) -> int:
            constant = self.steps.constant(step)
            if constant is not None:
                return int(constant)
            atoms.append(step)
            return diagrams.variable(len(atoms) - 1)

        def function(place: _Occurrence) -> int:
            inner = place.formula.connective
            if inner is None:
                if place.formula not in level_of:
                    level_of[place.formula] = len(atoms)
                    atoms.append(self._leaf(place.formula))
                return diagrams.variable(level_of[place.formula])
            if inner.chain != "flat":
                values = [
                    functions[child] if child in functions else atom(self.step_of[child])
                    for child in place.children
                ]
            else:
                values = [functions[child] for child in place.children if child in functions]
                modules = [self.step_of[c] for c in place.children if self.places[c].module]
                if modules:  # all modules together are one atom
                    values.append(atom(self.steps.chain(inner, modules, self.steps.fuse)))
            return diagrams.connect(inner.truth, values)

        for root in roots:
            for position in self._inside(root):
                functions[position] = function(self.places[position])
        top = diagrams.connect(row.truth, [functions[root] for root in roots])
        if top < 2:
            return self.steps.add(ConstantStep(bool(top)))
        top, support = diagrams.compact(top)
        return self.steps.add(DiagramStep(diagrams, top, tuple(atoms[old] for old in support)))


#: The functions that are true in x and in z.
Pair = tuple[int, int]
#: The factor of a pair of cofactors: the level and the cell of the atom that is split on, and the
#: levels in between, whose atoms are not tested and may have any value.
DiagramTerm = tuple[int, str, range]


class DiagramStep(Step):
    """A function of earlier steps (its arguments), which share no variable."""

    def __init__(self, diagrams: Diagrams, top: int, arguments: tuple[Reference, ...]) -> None:
        self.diagrams = diagrams
        self.top = top
        self.arguments = arguments
        self._reached: dict[str, tuple[Pair, dict[Pair, Branches[DiagramTerm, Pair]]]] = {}

    def reads(self, cell: str) -> Iterator[tuple[Reference, str]]:
        """Yield the cells of the arguments that the recursion splits on or skips."""
        side = {"1": self.top, "0": self.diagrams.negation(self.top), "*": 1}
        root = side[cell[0]], side[cell[1]]
        before = self.diagrams.pairs
        branches = reach(
            root,
            self._split,
            MAX_PAIRS - before,
            f"counting this formula needs more than {MAX_PAIRS:,} pairs of diagram nodes. "
            "Repeat fewer names, split the formula, or use variables='free'.",
            self.diagrams,
        )
        self.diagrams.pairs = before + len(branches)
        self._reached[cell] = root, branches
        skips = self._level(root) > 0
        for level, atom_cell, skipped in (term for found in branches.values() for term, _ in found):
            yield self.arguments[level], atom_cell
            skips = skips or bool(skipped)
        if skips:
            yield from ((argument, "**") for argument in self.arguments)

    def emit(self, cell: str, builder: Builder, value: Value) -> int:
        """Emit g for every pair, deepest level first."""
        one = builder.constant(1)
        known: dict[int, list[int]] = {}  # by start: products of one, two, … totals from there on

        def totals(skipped: range) -> int:
            products = known.setdefault(skipped.start, [one])
            while len(products) <= len(skipped):
                total = value(self.arguments[skipped.start + len(products) - 1], "**")
                products.append(builder.product((products[-1], total)))
            return products[len(skipped)]

        root, branches = self._reached[cell]
        g = sum_up(
            builder,
            branches,
            self._level,
            lambda term: (value(self.arguments[term[0]], term[1]), totals(term[2])),
            lambda pair: one if pair == (1, 1) else None,
        )
        return builder.product((g[root], totals(range(self._level(root)))))

    def _level(self, pair: Pair) -> int:
        level = self.diagrams.level
        return min(level[pair[0]], level[pair[1]], len(self.arguments))

    def _split(self, pair: Pair) -> list[tuple[DiagramTerm, Pair]]:
        if pair == (1, 1):
            return []
        diagrams = self.diagrams
        level = self._level(pair)
        sides = [
            zip("10", diagrams.cofactors(function, level), strict=True)
            if diagrams.level[function] == level
            else [("*", function)]
            for function in pair
        ]
        return [
            ((level, x + z, range(level + 1, self._level((f, g)))), (f, g))
            for (x, f), (z, g) in product(*sides)
            if f and g
        ]


# -- the reading "distinct"

#: The largest number of states (pairs of diagram nodes, columns in use per cell) to count with.
MAX_STATES = 300_000

#: The largest number of comparisons of variables in the search for symmetries.
MAX_SEARCH_STEPS = 10_000_000

#: The largest number of different names.
MAX_VARIABLES = 4_000

#: Columns in use, per domain, in the cells 11, 10, 01, 00; if only one row is still read, those
#: that are true and false in that row.
Used = tuple[tuple[int, ...], ...]
#: A state of the counting: a function of x, a function of z, and the columns in use.
State = tuple[int, int, Used]
#: The factor of a state: the columns of a domain in a cell, minus those in use.
ColumnTerm = tuple[int, str, int]


def _lower_distinct(formula: Formula, domains: dict[str | None, int]) -> Program:
    """Return the program of a formula in the reading ``distinct``.

    In the worst case, the number of states is the number of pairs of diagram nodes times the third
    power of the number of variables.
    """
    builder = Builder(domains)
    if any(isinstance(leaf, Choice) for leaf in formula.leaves):
        counts = _counts(builder, formula, domains, ("11", "**"))
        return builder.finish(counts["11"], counts["**"], None)
    space = _Space(formula, domains, builder)
    return builder.finish(space.emit("11"), space.emit("**"), space.degrees, space.symmetries)


def _counts(
    builder: Builder, formula: Formula, domains: dict[str | None, int], cells: Iterable[str]
) -> dict[str, int]:
    """Return cells of the feature space of a formula; choices are at most MAX_NESTING deep.

    A choice must be the whole formula, or negated: it does not use single columns, so a variable
    cannot be "different from them".
    """
    atoms = [leaf for leaf in formula.leaves if not isinstance(leaf, Constant)]
    choice = next((leaf for leaf in atoms if isinstance(leaf, Choice)), None)
    if choice is None:
        space = _Space(formula, domains, builder)
        return {cell: builder.quotient(space.emit(cell), space.symmetries) for cell in cells}
    if len(atoms) > 1:
        raise FormulaError(
            f"in the reading 'distinct' a choice must be the whole formula, or negated; "
            f"{str(formula)!r} has other parts. Use variables='bound', or multiply two kernels: "
            "k1 * k2."
        )
    atom: Formula = choice
    when_true, when_false = (evaluate(formula, {atom: value}.get) for value in (True, False))
    if when_true == when_false:
        return {cell: builder.constant(int("01"[not when_true] not in cell)) for cell in cells}
    own = {cell: opposite(cell) if when_false else cell for cell in cells}
    needed = dict.fromkeys(read for cell in own for read in cells_of_choice(choice, own[cell]))
    counts = _counts(builder, choice.formula, domains, needed)
    return {cell: emit_choice(choice, own[cell], builder, counts.__getitem__) for cell in own}


class _Space:
    """The all-different substitutions of a formula without choices, counted in one program."""

    def __init__(self, formula: Formula, domains: dict[str | None, int], builder: Builder) -> None:
        self.builder = builder
        names = formula.variables
        if len(names) > MAX_VARIABLES:
            raise FormulaSizeError(
                f"the formula has {len(names):,} different names; in the reading 'distinct' at "
                f"most {MAX_VARIABLES:,} are accepted. Use fewer variables, or variables='bound'."
            )
        self.diagrams, _, (top,) = diagrams_of("a kernel", formula, advice=REPEATED_NAMES_ADVICE)
        self.top, support = self.diagrams.compact(top)
        self.domain_of = [domains[names[old].domain] for old in support]
        self.degrees = [self.domain_of.count(g) for g in range(len(domains))]
        self.symmetries = _Symmetries(self.diagrams, self.top, self.domain_of).order()

    def emit(self, cell: str) -> int:
        """Return the position of the number of substitutions in a cell."""
        side = {"1": self.top, "0": self.diagrams.negation(self.top), "*": 1}
        first, second = side[cell[0]], side[cell[1]]
        if not first or not second:
            return self.builder.constant(0)
        root: State = (first, second, tuple((0, 0, 0, 0) for _ in self.degrees))
        branches = reach(
            root,
            self._split,
            MAX_STATES,
            f"counting different columns for this formula needs more than {MAX_STATES:,} "
            "states. Use fewer variables, or variables='bound'.",
            self.diagrams,
            self.domain_of,
        )
        values = sum_up(
            self.builder,
            branches,
            self._level,
            lambda term: (self.builder.count(*term),),
            lambda state: self._rest(state[2]) if state[:2] == (1, 1) else None,
        )
        return values[root]

    def _level(self, state: State) -> int:
        levels = self.diagrams.level
        return min(levels[state[0]], levels[state[1]])

    def _split(self, state: State) -> list[tuple[ColumnTerm, State]]:
        f, g, used = state
        if f == g == 1:
            return []
        level = self._level(state)
        domain = self.domain_of[level]
        x, z = (
            [("*", 1)]
            if h == 1
            else list(zip("10", self.diagrams.cofactors(h, level), strict=True))
            for h in (f, g)
        )
        branches = []
        for index, ((bit_x, new_f), (bit_z, new_g)) in enumerate(product(x, z)):
            if new_f and new_g:
                cells = list(used[domain])
                cells[index] += 1
                after = (*used[:domain], tuple(cells), *used[domain + 1 :])
                if f != 1 and g != 1 and (new_f == 1) != (new_g == 1):
                    after = _marginal(after, keep_x=new_g == 1)
                term = (domain, bit_x + bit_z, used[domain][index])
                branches.append((term, (new_f, new_g, after)))
        return branches

    def _rest(self, used: Used) -> int:
        """Return the number of ways in which untested variables take the columns that are left."""
        return self.builder.product(
            self.builder.count(domain, "**", taken)
            for domain, degree in enumerate(self.degrees)
            for taken in range(sum(used[domain]), degree)
        )


def _marginal(used: Used, keep_x: bool) -> Used:
    """Return the used columns by their value in the one row that is still read."""
    return tuple((a + b, c + d) if keep_x else (a + c, b + d) for a, b, c, d in used)


# -- symmetries


class _Symmetries:
    """The permutations of the variables 0 … k−1, all tested, that leave a function unchanged.

    Their number is the product of orbit lengths along a chain of stabilisers: the number of
    variables to which the first one can be moved, then the second with the first fixed, and so on.
    A backtracking search compares model counts of cofactors first and whole diagrams last.
    Exchanges of two variables of one class (domain) are tried first, and decide most formulas.
    """

    def __init__(self, diagrams: Diagrams, top: int, classes: list[int]) -> None:
        self.diagrams, self.top, self.classes = diagrams, top, classes
        self.n = len(classes)
        self.steps = 0
        self.single = models_with_each(diagrams, top, self.n)
        self._pairs: dict[int, list[int]] = {}
        #: For every variable, the smallest variable with which it can be exchanged.
        self.exchangeable = list(range(self.n))
        for j in range(self.n):
            for i in range(j):
                if self.exchangeable[i] == i and self._compatible({}, i, j) and self._swaps(i, j):
                    self.exchangeable[j] = i
                    break

    def order(self) -> int:
        """Return the number of symmetries."""
        order = 1
        for first in range(self.n):
            fixed = {i: i for i in range(first)}
            goals = self.exchangeable[first + 1 :]  # of exchangeable variables, all or none
            order *= 1 + sum(
                times
                for kind, times in Counter(goals).items()
                if self._can_move(fixed, first, first + 1 + goals.index(kind))
            )
        return order

    def _swaps(self, i: int, j: int) -> bool:
        """Return True if the function stays the same when two variables are exchanged."""
        one, other = (
            self.diagrams.restrict(self.top, {i: value, j: not value}) for value in (True, False)
        )
        return one == other

    def _both(self, i: int) -> list[int]:
        """Return, for every variable, the number of models in which it and variable i are true."""
        if i not in self._pairs:
            cofactor = self.diagrams.restrict(self.top, {i: True})
            self._pairs[i] = models_with_each(self.diagrams, cofactor, self.n)
        return self._pairs[i]

    def _can_move(self, fixed: dict[int, int], first: int, to: int) -> bool:
        """Return True if a symmetry keeps the fixed variables and moves one variable to another."""
        if self.exchangeable[first] == self.exchangeable[to]:
            return True
        if not self._compatible(fixed, first, to):
            return False
        pending = [{**fixed, first: to}]
        while pending:
            trail = pending.pop()
            variable = next((i for i in range(self.n) if i not in trail), None)
            if variable is not None:
                images = reversed(self._candidates(trail, variable))
                pending += [{**trail, variable: image} for image in images]
            elif self._keeps(trail):
                return True
        return False

    def _candidates(self, trail: dict[int, int], variable: int) -> list[int]:
        """Return the images to try: the variable itself, then one of every exchangeable class."""
        taken, seen = set(trail.values()), set[int]()
        found = []
        for to in sorted(range(self.n), key=lambda j: (j != variable, j)):
            kind = self.exchangeable[to]
            if to not in taken and kind not in seen and self._compatible(trail, variable, to):
                seen.add(kind)
                found.append(to)
        return found

    def _compatible(self, trail: dict[int, int], variable: int, to: int) -> bool:
        self.steps += 1 + len(trail)
        if self.steps > MAX_SEARCH_STEPS:
            raise FormulaSizeError(
                f"counting the symmetries of this formula takes more than {MAX_SEARCH_STEPS:,} "
                "comparisons. Use fewer variables, or variables='bound'."
            )
        if self.classes[variable] != self.classes[to] or self.single[variable] != self.single[to]:
            return False
        if to in trail.values():
            return False
        if not trail:
            return True
        before, after = self._both(variable), self._both(to)
        return all(before[other] == after[image] for other, image in trail.items())

    def _keeps(self, image: dict[int, int]) -> bool:
        """Return True if renaming the variables gives the same function."""
        d = self.diagrams

        def make(level: int, high: int, low: int) -> int:
            test = d.variable(image.get(level, level))
            return d.either([d.both([test, high]), d.both([d.negation(test), low])])

        return d.rebuild(self.top, make) == self.top


# -- the readings

#: The largest number of leaves in the readings in which names matter.
MAX_LEAVES = 1_000_000


class Reading(NamedTuple):
    """A reading: the function that lowers a formula to a program, and the meaning of names."""

    lower: Callable[[Formula, dict[str | None, int]], Program]
    meaning: str


READINGS = {
    "bound": Reading(_lower_bound, "equal names are the same column; different names may coincide"),
    "free": Reading(
        _lower_free, "every occurrence of a variable ranges over the columns by itself"
    ),
    "distinct": Reading(
        _lower_distinct, "different names are different columns; equal features count once"
    ),
}


def check_reading(variables: str) -> str:
    """Return the reading if its name is valid; otherwise raise ParameterError."""
    check_choice("variables", variables, tuple(READINGS))
    return variables


def lower(formula: Formula, variables: str = "bound") -> Program:
    """Return the program that counts a formula's substitutions in a reading of its variables.

    Raise FormulaError for comparisons, and unless names are free, for a name with two domains or
    one both inside and outside a choice.  Raise FormulaSizeError above a size limit.
    """
    reading = READINGS[check_reading(variables)]
    for leaf in formula.leaves:
        if not isinstance(leaf, Variable | Choice | Constant):
            raise FormulaError(
                f"the leaf {str(leaf)!r} is a comparison; a kernel's formula is a template over "
                "variables. Evaluate rules with fk.rule(...), or write a variable instead."
            )
    domains = dict.fromkeys(variable.domain for variable in formula.variables) or {None: None}
    if variables != "free":
        _check_names(formula)
    return reading.lower(formula, {domain: place for place, domain in enumerate(domains)})


def _check_names(formula: Formula) -> None:
    """Raise an error if equal names cannot mean the same variable, or for too many leaves."""
    owner: dict[str, Formula | None] = {}
    pending: list[tuple[Formula, Choice | None]] = [(formula, None)]
    seen: set[Choice] = set()
    while pending:
        part, inside = pending.pop()
        for leaf in part.leaves:
            if isinstance(leaf, Variable):
                other = owner.setdefault(leaf.name, inside)
                if other is not inside and other != inside:
                    shown = other if inside is None else inside
                    raise FormulaError(
                        f"the name {leaf.name!r} occurs both inside and outside {str(shown)!r}, "
                        "but names inside a choice are local to it, as with a quantifier. "
                        "Rename one of them, or use variables='free'."
                    )
            elif isinstance(leaf, Choice) and leaf not in seen:
                seen.add(leaf)
                pending.append((leaf.formula, leaf))
    domain_of: dict[str, str | None] = {}
    for variable in formula.variables:
        domain = domain_of.setdefault(variable.name, variable.domain)
        if domain != variable.domain:
            names = [repr(d) if d else "all columns" for d in (domain, variable.domain)]
            raise FormulaError(
                f"variable {variable.name!r} has two domains, {names[0]} and {names[1]}; "
                "equal names are the same variable in this reading. "
                "Rename one of them, or use variables='free'."
            )
    if formula.n_leaves > MAX_LEAVES:
        raise FormulaSizeError(
            f"the formula has {formula.n_leaves:,} leaves; at most {MAX_LEAVES:,} are accepted "
            "if equal names mean one variable. Use variables='free', or a smaller formula."
        )
