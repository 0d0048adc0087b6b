"""Templates prepared for a search: choices written out as copies, and a program over bit words.

A template's variables become *slots*, each to be filled by one proposition.  A choice of d features
of F becomes d copies of F, each with its own slots.  Copies are interchangeable, so they are kept
in strict lexicographic order; it is strict because the features differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulakern.errors import FormulaError, FormulaSizeError
from formulakern.syntax.connectives import AND, OR, Connective
from formulakern.syntax.formula import (
    FALSE,
    TRUE,
    Constant,
    Formula,
    Operation,
    Variable,
    evaluate,
    fold,
    postorder,
    substitute,
)
from formulakern.syntax.leaves import Choice

#: The largest number of slots of a template; truth tables have 2 to this power rows.
MAX_SLOTS = 20
#: The largest number of variables whose permutations are all tested as symmetries.
MAX_PERMUTED = 6


@dataclass(frozen=True)
class Slot:
    """A place for one proposition: a variable in one copy of each choice, outermost first."""

    variable: Variable
    copy: tuple[int, ...]


@dataclass(frozen=True)
class Order:
    """A lexicographic order: the positions in slots ``left`` come before those in ``right``."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    strict: bool


@dataclass(frozen=True, eq=False)
class Expansion:
    """A template without choices, over the variables ``leaves``, one for each slot.

    ``all_different`` are groups of slots that hold different propositions.  ``orders`` exclude
    repeated instances of one feature, and sets of features that are not different.  An ``empty``
    expansion chooses two or more features from a space of one feature, so it has no instance.
    """

    formula: Formula
    leaves: tuple[Variable, ...]
    slots: tuple[Slot, ...]
    all_different: tuple[tuple[int, ...], ...]
    orders: tuple[Order, ...]
    empty: bool


@dataclass(frozen=True, eq=False)
class BitProgram:
    """AND and XOR of signed registers, for three-valued evaluation word by word.

    A reference 2·r + s is register r, negated if s = 1.  Registers 0 … S − 1 are the slots,
    register S is true, register S + 1 + i is the result of step i.

    Parameters
    ----------
    steps : ndarray of shape (n, 3), int64
        0 for AND or 1 for XOR, and two references.
    output : int
        The reference of the whole formula.
    """

    steps: NDArray[np.int64]
    output: int


def expand(
    formula: Formula,
    distinct: bool,
    kind_of: Callable[[Variable], Hashable] = lambda _: None,
    *,
    every_substitution: bool = False,
    every_variable: bool = False,
) -> Expansion:
    """Write out the choices of a template, and find its symmetries.

    ``distinct`` variables of one formula hold different propositions; ``kind_of`` is equal for
    variables that range over the same propositions, and only these are exchanged.  Instances that
    differ only in the order of equal places are kept if ``every_substitution``, and slots that do
    not affect the truth value if ``every_variable``.

    >>> from formulakern.syntax.parser import parse
    >>> expand(parse("all[2](a & ~b)"), True).formula
    Formula('s0 & ~s1 & s2 & ~s3')
    """
    writer = _Writer(distinct, kind_of, every_substitution, every_variable)
    written, _ = writer.instance(formula, (), inside=False)
    return Expansion(
        formula=written,
        leaves=tuple(writer.leaves),
        slots=tuple(writer.slots),
        all_different=tuple(writer.all_different),
        orders=tuple(writer.orders),
        empty=writer.empty,
    )


@dataclass
class _Writer:
    distinct: bool
    kind_of: Callable[[Variable], Hashable]
    every_substitution: bool
    every_variable: bool
    slots: list[Slot] = field(default_factory=list)
    leaves: list[Variable] = field(default_factory=list)
    all_different: list[tuple[int, ...]] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    empty: bool = False

    def instance(
        self, formula: Formula, copy: tuple[int, ...], inside: bool
    ) -> tuple[Formula, tuple[int, ...]]:
        """Return one feature of the space of a formula, and its slots."""
        atoms = atoms_of(formula)
        table = truth_table(formula, {atom: i for i, atom in enumerate(atoms)})
        needed = [i for i in range(len(atoms)) if self.every_variable or depends(table, i)]
        if self.distinct and len(needed) > 1 and any(isinstance(a, Choice) for a in atoms):
            raise FormulaError(
                f"with distinct=True, a choice cannot be combined with other terms; it may only be "
                f"negated. The formula is {str(formula)!r}. Use distinct=False."
            )
        first = len(self.slots)
        written: dict[Formula, Formula] = dict.fromkeys(atoms, FALSE)
        slot_of: dict[int, int] = {}
        for i in needed:
            atom = atoms[i]
            if isinstance(atom, Choice):
                written[atom] = self._choice(atom, copy)
            elif isinstance(atom, Variable):
                slot_of[i] = len(self.slots)
                written[atom] = self._slot(atom, copy)
        if self.distinct and len(slot_of) > 1:
            self.all_different.append(tuple(slot_of.values()))
        # in a choice, the features of one set differ
        if self.distinct or not (inside or self.every_substitution):
            kinds = [
                (a.domain, self.kind_of(a)) if isinstance(a, Variable) else None for a in atoms
            ]
            for i, j in _exchanges(table, list(slot_of), kinds):
                self.orders.append(Order((slot_of[i],), (slot_of[j],), self.distinct))
        return substitute(formula, written), tuple(range(first, len(self.slots)))

    def _slot(self, variable: Variable, copy: tuple[int, ...]) -> Variable:
        if len(self.slots) == MAX_SLOTS:
            raise FormulaSizeError(
                f"the template has more than {MAX_SLOTS} variables, including copies in choices. "
                "Use a smaller template, or mine conjunctions with mine_conjunctions."
            )
        self.leaves.append(Variable(f"s{len(self.slots)}"))
        self.slots.append(Slot(variable, copy))
        return self.leaves[-1]

    def _choice(self, choice: Choice, copy: tuple[int, ...]) -> Formula:
        copies: list[Formula] = []
        before: tuple[int, ...] = ()
        for number in range(choice.degree):
            written, slots = self.instance(choice.formula, (*copy, number), inside=True)
            if number and not slots:
                self.empty = True
                return FALSE
            if number:
                self.orders.append(Order(before, slots, strict=True))
            copies.append(written)
            before = slots
        return _between(copies, choice.least, choice.most)


def bit_program(formula: Formula, leaves: Sequence[Variable]) -> BitProgram:
    """Compile a formula without choices to AND and XOR of signed registers.

    >>> from formulakern.syntax.formula import variables
    >>> a, b = variables("a b")
    >>> program = bit_program(~(a >> b), (a, b))
    >>> program.steps.tolist(), program.output
    ([[0, 0, 3]], 6)
    """
    slot_of = {leaf: slot for slot, leaf in enumerate(leaves)}
    first = len(leaves) + 1
    steps: dict[tuple[int, int, int], int] = {}

    def emit(row: Connective, left: int, right: int) -> int:
        """Return the reference of one connective, read from its truth table (11, 10, 01, 00)."""
        cells = [cell for cell, bit in enumerate(row.truth) if bit == "1"]
        if len(cells) == 2:
            step = (1, left, right)
            negated = row.truth == "1001"
            if row.truth not in ("0110", "1001"):
                return {"1100": left, "0011": left ^ 1, "1010": right, "0101": right ^ 1}[row.truth]
        else:
            negated = len(cells) == 3
            cell = row.truth.index("0" if negated else "1")
            step = (0, left ^ (cell >> 1), right ^ (cell & 1))
        register = steps.setdefault(step, first + len(steps))
        return 2 * register + negated

    def reference(node: Formula, values: list[int]) -> int:
        if isinstance(node, Constant):
            return 2 * len(leaves) + (not node.value)
        if isinstance(node, Variable):
            return 2 * slot_of[node]
        row = node.connective
        assert row is not None
        if row.arity == 1:
            return values[0] ^ 1
        result = values[0]
        for value in values[1:]:
            result = emit(row, result, value)
        return result

    output = fold(formula, reference)
    table = np.array(list(steps), dtype=np.int64).reshape(len(steps), 3)
    return BitProgram(table, output)


def _between(parts: Sequence[Formula], least: int, most: int) -> Formula:
    """Return a formula that is true if at least ``least`` and at most ``most`` parts are true."""
    n = len(parts)
    if (least, most) == (n, n):
        return Operation(AND, parts) if n > 1 else parts[0]
    if (least, most) == (1, n):
        return Operation(OR, parts)
    # counts[t]: at least t of the parts so far
    counts: list[Formula] = [TRUE, *[FALSE] * (n + 1)]
    for seen, part in enumerate(parts, start=1):
        for t in range(seen, 0, -1):
            counts[t] = _disjunction(counts[t], _conjunction(counts[t - 1], part))
    return _conjunction(counts[least], TRUE if most >= n else ~counts[most + 1])


def _conjunction(left: Formula, right: Formula) -> Formula:
    if left == FALSE or right == FALSE:
        return FALSE
    return right if left == TRUE else left if right == TRUE else left & right


def _disjunction(left: Formula, right: Formula) -> Formula:
    return right if left == FALSE else left if right == FALSE else left | right


def atoms_of(formula: Formula) -> list[Formula]:
    """Return the variables and choices of a formula, those nearest the root first."""
    depth = {id(formula): 0}
    for node in reversed(postorder(formula)):
        for argument in node.arguments:
            below = depth[id(node)] + 1
            depth[id(argument)] = min(depth.get(id(argument), below), below)
    shallowest: dict[Formula, int] = {}
    for node in postorder(formula):
        if isinstance(node, Constant) or node.connective is not None:
            continue
        if not isinstance(node, (Variable, Choice)):
            raise FormulaError(
                f"{str(node)!r} is a comparison of one column; a template consists of variables, "
                "which are replaced by propositions. Write for example 'a & ~b'."
            )
        shallowest[node] = min(shallowest.get(node, depth[id(node)]), depth[id(node)])
    if len(shallowest) > MAX_SLOTS:
        raise FormulaSizeError(
            f"the template has {len(shallowest)} variables; at most {MAX_SLOTS} are supported."
        )
    return sorted(shallowest, key=shallowest.__getitem__)


def truth_table(formula: Formula, axis_of: Mapping[Formula, int]) -> NDArray[np.bool_]:
    """Return a truth table with an axis of length 2, false first, for each number of an atom."""
    shape = (2,) * len(set(axis_of.values()))
    axes = np.indices(shape, dtype=np.bool_, sparse=True)
    value = evaluate(formula, lambda atom: axes[axis_of[atom]])
    return np.asarray(np.broadcast_to(value, shape), dtype=np.bool_)


def depends(table: NDArray[np.bool_], axis: int) -> bool:
    """Return True if the two halves of a truth table along an axis differ."""
    return not np.array_equal(table.take(0, axis), table.take(1, axis))


def symmetries(
    table: NDArray[np.bool_], axes: Sequence[int], kinds: Sequence[Hashable]
) -> list[tuple[int, ...]]:
    """Return the permutations of some axes that keep a truth table and the kinds of the axes.

    Each lists the images of all axes.  For more than six axes only exchanges of two are tested.
    """
    still = range(table.ndim)
    if len(axes) <= MAX_PERMUTED:
        every = (dict(zip(axes, to, strict=True)) for to in itertools.permutations(axes))
    else:
        every = ({i: j, j: i} for i, j in itertools.combinations(axes, 2))
    found = (tuple(image.get(i, i) for i in still) for image in every)
    return [
        g
        for g in found
        if all(kinds[i] == kinds[g[i]] for i in still) and np.array_equal(table, table.transpose(g))
    ]


def _exchanges(
    table: NDArray[np.bool_], axes: Sequence[int], kinds: Sequence[Hashable]
) -> list[tuple[int, int]]:
    """Return pairs (i, j) such that each set of symmetric instances has one with all i before j.

    The pairs come from a chain of stabilisers: a permutation that keeps the table and the axes
    before i moves i to j.  With all permutations available, and different propositions, exactly one
    instance of each set remains (J.-F. Puget, *Breaking symmetries in all different problems*,
    IJCAI 2005).
    """
    group = symmetries(table, axes, kinds)
    pairs: list[tuple[int, int]] = []
    for place, i in enumerate(axes):
        still = axes[:place]
        moves = {g[i] for g in group if all(g[h] == h for h in still)}
        pairs += [(i, j) for j in axes if j in moves and j != i]
    return pairs
