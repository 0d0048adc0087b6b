"""Formulas, which are immutable trees compared by value, and their logic.

``Variable``, ``Constant`` and ``Operation`` are the basic nodes; comparisons over named columns and
choices of features (:mod:`formulakern.syntax.leaves`) are two more kinds of leaf.  Chains of an
associative connective are one operation with many arguments, so ``(a & b) & c == a & (b & c)``.
No function recurses: formulas may be as deep as memory allows.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeAlias, TypeVar

import numpy as np

from formulakern.checks import check_choice, check_integer, check_number
from formulakern.errors import (
    FormulaError,
    FormulaSizeError,
    FormulaSyntaxError,
    FormulaTypeError,
    ParameterError,
)
from formulakern.markup import small_table
from formulakern.optional import data_frame
from formulakern.syntax.connectives import (
    AND,
    ARGUMENTS,
    ASCII,
    CONNECTIVES,
    IMPLIES,
    LATEX,
    NOT,
    OR,
    UNICODE,
    XOR,
    Connective,
    Notation,
    latex_name,
    render,
    spell,
)
from formulakern.syntax.connectives import connective as connective_named
from formulakern.syntax.diagrams import (
    ADVICE,
    Cube,
    Diagrams,
    count_models,
    irredundant_cover,
    join_balanced,
    models,
    ordered_cubes,
    smallest_cover,
)
from formulakern.text import aligned, clip, counted

if TYPE_CHECKING:
    import pandas

#: The largest number of arguments of one connective.
MAX_ARGUMENTS = 2_000_000
#: The default limit on the number of terms or clauses of a form.
MAX_PARTS = 10_000
#: The largest numbers of names of a truth table, and of its rows that are printed.
MAX_TABLE_NAMES, SHOWN_ROWS = 16, 64

#: "dnf" is a disjunction of conjunctions of literals, "cnf" a conjunction of disjunctions;
#: "shortest" is the form with fewer literals, or the given formula.
Form: TypeAlias = Literal["dnf", "cnf"]
WantedForm: TypeAlias = Literal["shortest", "dnf", "cnf"]

# -- walks over trees without recursion, and the truth value of a formula


Node = TypeVar("Node")
T = TypeVar("T")
Inside = Callable[[Node], Iterable[Node]]
_arguments = attrgetter("arguments")


def postorder(root: Node, inside: Inside[Node] = _arguments) -> list[Node]:
    """Return all different node objects, each after its operands, in order of appearance.

    ``inside`` returns the operands of a node.  Linear in the number of different objects.
    """
    seen = {id(root)}
    order: list[Node] = []
    stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(inside(root)))]
    while stack:
        node, remaining = stack[-1]
        for argument in remaining:
            if id(argument) in seen:
                continue
            seen.add(id(argument))
            below = inside(argument)
            if below == ():  # a leaf, the most frequent case
                order.append(argument)
                continue
            stack.append((argument, iter(below)))
            break
        else:
            stack.pop()
            order.append(node)
    return order


def fold(
    root: Node, function: Callable[[Node, list[T]], T], inside: Inside[Node] = _arguments
) -> T:
    """Compute ``function(node, values of its operands)`` bottom-up, once per node object."""
    values: dict[int, T] = {}
    for node in postorder(root, inside):
        values[id(node)] = function(node, [values[id(argument)] for argument in inside(node)])
    return values[id(root)]


def same(left: Any, right: Any) -> bool:
    """Return True if two formulas are equal; compare pairs of shared objects once."""
    pending = [(left, right)]
    compared: set[tuple[int, int]] = set()
    while pending:
        one, other = pending.pop()
        if one is other:
            continue
        if type(one) is not type(other) or one._hash != other._hash:
            return False
        if one.connective is None:
            if one.__reduce__() != other.__reduce__():
                return False
            continue
        if one.connective is not other.connective or len(one.arguments) != len(other.arguments):
            return False
        pair = (id(one), id(other))
        if pair not in compared:
            compared.add(pair)
            pending.extend(zip(one.arguments, other.arguments, strict=True))
    return True


def evaluate(root: Any, value_of: Callable[[Any], Any]) -> Any:
    """Return the truth value of a formula, for Python bools or Boolean arrays.

    ``value_of`` returns the value of a leaf that is not a constant.  Values are freed early, and
    larger operands are evaluated first: a formula of n leaves without shared subformulas needs at
    most log₂(n) + 2 values in memory.
    """
    order = postorder(root, _larger_first)
    above: dict[int, list[tuple[Any, int]]] = {id(node): [] for node in order}
    for node in order:
        for place, argument in enumerate(node.arguments):
            above[id(argument)].append((node, place))
    taken: dict[int, dict[int, Any]] = {}  # by id: the values of unfinished nodes' operands
    value: Any = None
    for node in order:
        if node.connective is not None:
            value = taken.pop(id(node))[0]
        else:
            value = value_of(node) if node.truth is None else node.truth
        for parent, place in above.pop(id(node)):
            _take(parent.connective, place, value, taken.setdefault(id(parent), {}))
    return value


def _larger_first(node: Any) -> tuple[Any, ...]:
    """Return the operands, the largest first, so that few values wait for others."""
    return tuple(sorted(node.arguments, key=lambda argument: -argument.n_leaves))


def _take(row: Connective, place: int, value: Any, values: dict[int, Any]) -> None:
    """Add the value of one operand to ``values``; entry 0 is the joined value so far."""
    if row.arity == 1:
        values[0] = value ^ True
    elif row.chain == "flat":
        values[0] = _joined_values(row, values[0], value) if values else value
    else:
        values[place] = value
        if len(values) == 2:
            values[0] = _joined_values(row, values[0], values.pop(1))


def _joined_values(row: Connective, x: Any, z: Any) -> Any:
    """Return ``x ∘ z``, as a disjunction of its true cells, or of its false cells, negated."""
    fewer = "1" if row.truth.count("1") <= 2 else "0"
    cells = [
        (x if one else x ^ True) & (z if two else z ^ True)
        for (one, two), bit in zip(ARGUMENTS, row.truth, strict=True)
        if bit == fewer
    ]
    result = reduce(or_, cells)
    return result if fewer == "1" else result ^ True


# -- formulas


Operator = Callable[["Formula", object], "Formula"]


def _operators(row: Connective) -> tuple[Operator, Operator]:
    """Return the Python operators of a connective, with a formula on the left and on the right."""
    return (
        lambda formula, other: _infix(row, formula, other),
        lambda formula, other: _infix(row, other, formula),
    )


def _infix(row: Connective, left: object, right: object) -> Formula:
    operands = [Constant(part) if isinstance(part, bool) else part for part in (left, right)]
    if not all(isinstance(operand, Formula) for operand in operands):
        return NotImplemented  # type: ignore[no-any-return]
    return Operation(row, operands)  # type: ignore[arg-type]


class Formula:
    """A propositional formula; combine with ``&``, ``|``, ``^``, ``~`` and ``>>`` (implies).

    Formulas are immutable, hashable, and equal if they have the same tree.  (Different trees are
    different formulas, even if they are logically equivalent.)

    Examples
    --------
    >>> a, b, c = variables("a b c")
    >>> (a & ~b) | c
    Formula('a & ~b | c')
    >>> str((a >> b) & c)
    '(a -> b) & c'
    """

    __slots__ = ("_hash", "n_leaves")

    #: The connective at the root, or None for a leaf; its operands.
    connective: Connective | None = None
    arguments: tuple[Formula, ...] = ()
    #: The truth value of a constant; else None.
    truth: bool | None = None
    #: The exact number of leaves, with repetition.
    n_leaves: int
    #: The reason why a leaf is not a name with a truth value; empty if it is one.
    not_a_name_reason: ClassVar[str] = ""
    #: True if the text of a leaf has spaces, so that "not" needs parentheses around it.
    spaced: ClassVar[bool] = False
    _hash: int

    def _set(self, **fields: object) -> None:
        """Set fields; for constructors only."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a formula is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a formula is immutable: cannot delete {name!r}")

    # -- operators ---------------------------------------------------------------------------

    __and__, __rand__ = _operators(AND)
    __or__, __ror__ = _operators(OR)
    __xor__, __rxor__ = _operators(XOR)
    __rshift__, __rrshift__ = _operators(IMPLIES)

    def __invert__(self) -> Formula:
        return Operation(NOT, (self,))

    def __bool__(self) -> NoReturn:
        raise FormulaTypeError(
            "a formula has no truth value, so it cannot be used with "
            "'and', 'or', 'not', 'if' or a chained comparison. "
            "Combine formulas with &, |, ~, ^ and >>."
        )

    # -- value semantics ---------------------------------------------------------------------

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        return same(self, other)

    def __copy__(self) -> Formula:
        return self

    def __deepcopy__(self, memo: object) -> Formula:
        return self

    # -- representations ---------------------------------------------------------------------

    def __str__(self) -> str:
        return render(self, ASCII)

    def __repr__(self) -> str:
        return f"Formula({str(self)!r})"

    def unicode(self) -> str:
        """Return the formula in mathematical symbols.

        >>> a, b = variables("a b")
        >>> (~a >> b).unicode()
        '¬a → b'
        """
        return render(self, UNICODE)

    def latex(self) -> str:
        r"""Return the formula in LaTeX, for use inside math mode.

        >>> a, b = variables("a b")
        >>> print((a & ~b).latex())
        a \land \lnot b
        """
        return render(self, LATEX)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The different variables, in order of appearance."""
        found: dict[Variable, None] = {}
        for leaf in self.leaves:
            if isinstance(leaf, Variable):
                found.setdefault(leaf)
            for formula in leaf.inside:
                found.update(dict.fromkeys(formula.variables))
        return tuple(found)

    @property
    def inside(self) -> tuple[Formula, ...]:
        """The formulas inside a leaf, whose names are local to it."""
        return ()

    @property
    def leaves(self) -> tuple[Formula, ...]:
        """The different leaves (variables, constants, comparisons, choices) in order."""
        return tuple(dict.fromkeys(node for node in postorder(self) if node.connective is None))

    def leaf_text(self, notation: Notation) -> str:
        """Return the text of a leaf."""
        raise NotImplementedError

    def interval_text(self, upper: Formula, notation: Notation) -> str | None:  # noqa: ARG002
        """Return the text of the interval of two comparisons, or None for other formulas."""
        return None

    # -- logic: every name is true or false ------------------------------------------------------

    def equivalent(self, other: Formula | bool) -> bool:
        """Return True if two formulas have the same truth value for all values of their names.

        f ≡ g: for every assignment α of true and false to the names of both, α(f) = α(g).

        Raises
        ------
        FormulaError
            If a leaf is a comparison or a choice, which is not a name.
        FormulaSizeError
            If a decision diagram has more than 200,000 nodes, or needs more than 2 million steps.

        Notes
        -----
        Both formulas become reduced ordered decision diagrams, with the names in order of
        appearance; equal functions have the same diagram (Bryant 1986,
        doi:10.1109/TC.1986.1676819).  The cost is the size of the diagrams: usually small,
        exponential in the worst case.  The other methods of logic have the same errors and cost.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("~(a & b)").equivalent(parse("~a | ~b"))
        True
        """
        _, (one, two) = self._compared(other, "equivalent()")
        return one == two

    def implies(self, other: Formula | bool) -> bool:
        """Return True if another formula is true whenever this one is: f ⊨ g.

        >>> from formulakern import parse
        >>> parse("a & b").implies(parse("a")), parse("a").implies(parse("a & b"))
        (True, False)
        """
        diagrams, tops = self._compared(other, "implies()")
        return diagrams.apply("0100", *tops) == 0

    def _compared(self, other: object, caller: str) -> tuple[Diagrams, list[int]]:
        other = Constant(other) if isinstance(other, bool) else other
        if not isinstance(other, Formula):
            raise FormulaTypeError(
                f"{caller} expects a Formula; got {type(other).__name__}. "
                "Parse text first: fk.parse('a & b')."
            )
        diagrams, _, tops = diagrams_of(caller, self, other)
        return diagrams, tops

    def is_tautology(self) -> bool:
        """Return True if the formula is true for all values of its names.

        >>> from formulakern import parse
        >>> parse("((a -> b) -> a) -> a").is_tautology()
        True
        """
        return diagrams_of("is_tautology()", self)[2] == [1]

    def is_contradiction(self) -> bool:
        """Return True if the formula is false for all values of its names.

        >>> from formulakern import parse
        >>> parse("a & (a -> b) & ~b").is_contradiction()
        True
        """
        return diagrams_of("is_contradiction()", self)[2] == [0]

    def is_satisfiable(self) -> bool:
        """Return True if the formula is true for some values of its names.

        >>> from formulakern import parse
        >>> parse("(a ^ b) & (b ^ c) & (a ^ c)").is_satisfiable()
        False
        """
        return diagrams_of("is_satisfiable()", self)[2] != [0]

    def count_models(self, over: Collection[Formula] | None = None) -> int:
        """Return the exact number of assignments to the names that make the formula true.

        Parameters
        ----------
        over : collection of Variable, optional
            The names that are assigned, at least those of the formula (the default).

        Returns
        -------
        int
            From 0 to 2ᵏ for k names.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a | b | c").count_models()
        7
        >>> parse(" ^ ".join(f"x{i}" for i in range(200))).count_models() == 2**199
        True
        """
        diagrams, letters, (top,) = diagrams_of("count_models()", self)
        names = set(letters if over is None else over)
        for letter in letters:
            if letter not in names:
                raise ParameterError(
                    f"count_models(over=…) lacks {str(letter)!r}, a name of the formula. "
                    "Pass at least formula.variables."
                )
        return count_models(diagrams, top, len(letters)) << (len(names) - len(letters))

    def models(self) -> Iterator[dict[Formula, bool]]:
        """Yield the assignments that make the formula true, true before false.

        The first model costs the diagram, every further one a time linear in the number of names.

        Yields
        ------
        dict of Variable or Choice to bool

        Examples
        --------
        >>> from formulakern import parse
        >>> for model in parse("a -> b & c").models():
        ...     print({str(name): int(value) for name, value in model.items()})
        {'a': 1, 'b': 1, 'c': 1}
        {'a': 0, 'b': 1, 'c': 1}
        {'a': 0, 'b': 1, 'c': 0}
        {'a': 0, 'b': 0, 'c': 1}
        {'a': 0, 'b': 0, 'c': 0}
        """
        diagrams, letters, (top,) = diagrams_of("models()", self)
        for model in models(diagrams, top, len(letters)):
            yield dict(zip(letters, model, strict=True))

    def truth_table(self) -> TruthTable:
        """Return the truth value for all values of at most 16 names, in the order 11, 10, 01, 00.

        Returns
        -------
        TruthTable
            Prints as a table of at most 64 rows, in notebooks as HTML.

        Examples
        --------
        >>> from formulakern import parse
        >>> print(parse("a ^ b").truth_table())
        a  b │ a ^ b
        1  1 │ 0
        1  0 │ 1
        0  1 │ 1
        0  0 │ 0
        """
        diagrams, letters, (top,) = diagrams_of("a truth table", self)
        n = len(letters)
        if n > MAX_TABLE_NAMES:
            raise FormulaSizeError(
                f"the truth table of {n} names has 2^{n} rows; the limit is {MAX_TABLE_NAMES} "
                "names. Use count_models() or simplify() instead."
            )
        values = [False] * 2**n
        for model in models(diagrams, top, n):
            values[sum((not value) << (n - 1 - k) for k, value in enumerate(model))] = True
        return TruthTable(tuple(map(str, letters)), str(self), tuple(values))

    def simplify(self, form: WantedForm = "shortest") -> MinimalForm:
        """Return an equivalent formula with the fewest terms, then the fewest literals.

        Parameters
        ----------
        form : {"shortest", "dnf", "cnf"}
            A disjunction of conjunctions ("dnf"), a conjunction of disjunctions ("cnf"), or the
            form with fewer literals (or the given formula, if that has even fewer leaves).

        Returns
        -------
        MinimalForm
            The ``formula``; ``exact`` is True if it is proved that no form is shorter.

        Raises
        ------
        FormulaSizeError
            If a diagram exceeds its limits, or the form has more than 10,000 terms.

        Notes
        -----
        The terms are chosen from all prime implicants, by integer programming if necessary (Quine
        1952, doi:10.1080/00029890.1952.11988183; McCluskey 1956,
        doi:10.1002/j.1538-7305.1956.tb03835.x).  The result is exact if there are at most 4,000
        prime implicants and the search ends within its limit.  Otherwise it is a cover by prime
        implicants, with a proved lower bound.

        Examples
        --------
        >>> from formulakern import parse
        >>> short = parse("a & b | ~a & c | b & c").simplify()
        >>> short.formula, short.exact
        (Formula('a & b | ~a & c'), True)
        >>> parse("a & c | a & d | b & c | b & d").simplify().formula
        Formula('(a | b) & (c | d)')
        """
        letters = names_of([self], "simplify()")

        def function() -> tuple[Diagrams, int, int]:
            diagrams, _, (top,) = diagrams_of("simplify()", self)
            return diagrams, top, top

        return shortest_form(
            self, form, function, lambda cubes, one: _from_cubes(cubes, letters, one)
        )

    # -- forms -----------------------------------------------------------------------------------

    def to_nnf(self) -> Formula:
        """Return the negation normal form: "and", "or", and negations of leaves only.

        The leaves stay the same, constants included.  The cost is linear: every node becomes a few
        shared nodes.  A chain of n exclusive ors is split into halves recursively, so its text has
        about n² literals, not 2ⁿ.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("~(a -> b & c)").to_nnf()
        Formula('a & (~b | ~c)')
        >>> parse(" ^ ".join("abcdefghijkl")).to_nnf().n_leaves
        160
        """
        return fold(self, _with_negation)[0]

    def to_dnf(self, limit: int = MAX_PARTS) -> Formula:
        """Return the formula as an irredundant disjunction of conjunctions.

        A formula in this form is returned unchanged.  :meth:`simplify` finds the fewest terms.

        Parameters
        ----------
        limit : int
            The largest number of terms; a larger form raises FormulaSizeError before it is built.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("(a | b) & ~(c & a)").to_dnf()
        Formula('a & ~c | ~a & b')
        """
        check_integer("limit", limit)
        return _listed_form(self, "dnf", limit)

    def to_cnf(self, limit: int = MAX_PARTS, *, tseitin: bool = False) -> Formula:
        """Return the formula as a conjunction of disjunctions of literals.

        A formula in this form is returned unchanged.

        Parameters
        ----------
        limit : int
            The largest number of clauses; a larger form raises FormulaSizeError before it is built.
        tseitin : bool
            If True, name every operation by a new variable ``_1``, ``_2``, ….  The size is then
            linear, and every model of the formula extends to exactly one model of the form.

        References
        ----------
        G. S. Tseitin (1968), On the complexity of derivation in propositional calculus,
        doi:10.1007/978-3-642-81955-1_28.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a & b | c").to_cnf()
        Formula('(a | c) & (b | c)')
        >>> parse("a -> b").to_cnf(tseitin=True)
        Formula('(_1 | ~b) & (_1 | a) & (~_1 | ~a | b) & _1')
        """
        if tseitin:
            return _clauses_with_definitions(self)
        check_integer("limit", limit)
        return _listed_form(self, "cnf", limit)

    def substitute(self, values: Mapping[Any, Formula | bool]) -> Formula:
        """Return the formula with leaves replaced simultaneously by formulas.

        Parameters
        ----------
        values : mapping of leaf, or name of a variable, to Formula or bool
            Keys that are not leaves of the formula have no effect.  Names inside a choice, such as
            x in ``all[2](x)``, are not replaced.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a & ~b").substitute({"a": parse("b | c"), "b": parse("a")})
        Formula('(b | c) & ~a')
        """
        found: dict[Any, Formula] = {}
        for key, value in values.items():
            leaf = Variable(key) if isinstance(key, str) else key
            if not isinstance(leaf, Formula) or leaf.connective is not None:
                raise ParameterError(
                    f"substitute() expects leaves or names of variables as keys; got {key!r}. "
                    "Write for example {'a': fk.parse('b | c')}."
                )
            if not isinstance(value, (bool, Formula)):
                raise ParameterError(
                    f"substitute() expects a Formula or a bool for {str(key)!r}; got {value!r}. "
                    "Parse text first: fk.parse('b | c')."
                )
            found[leaf] = Constant(value) if isinstance(value, bool) else value
        return substitute(self, found)

    # -- other tools -----------------------------------------------------------------------------

    def to_sympy(self) -> Any:
        """Return the formula as an unevaluated expression of :mod:`sympy`.

        :func:`formulakern.parse` reads it back.  Raise FormulaError if a leaf is a comparison or a
        choice, or a variable has a domain.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a & ~b -> c").to_sympy()
        Implies(a & ~b, c)
        """
        return _sympy_expression(self)

    def to_dimacs(self, limit: int = MAX_PARTS, *, tseitin: bool = True) -> str:
        """Return the clauses of the formula in DIMACS format, for solvers and model counters.

        The names of the formula have the numbers 1, 2, … in order of appearance, listed in
        comments; new names follow.  :func:`formulakern.from_dimacs` reads the text back.

        Parameters
        ----------
        limit : int
            The largest number of clauses without ``tseitin``.
        tseitin : bool
            If True, name every operation by a new variable, as in :meth:`to_cnf`.

        Examples
        --------
        >>> from formulakern import parse
        >>> print(parse("(a | ~b) & c").to_dimacs(), end="")
        c 1 "a"
        c 2 "b"
        c 3 "c"
        p cnf 3 2
        1 -2 0
        3 0
        """
        check_integer("limit", limit)
        form = self.to_cnf(limit, tseitin=tseitin)
        clauses = clauses_of(form, "cnf") or []
        given = names_of([self], "to_dimacs()")
        number = {leaf: k for k, leaf in enumerate(dict.fromkeys([*given, *form.leaves]), 1)}
        number = {leaf: k for leaf, k in number.items() if leaf.truth is None}
        lines = []
        for leaf in given:
            name = leaf.name if isinstance(leaf, Variable) and not leaf.domain else str(leaf)
            lines.append(f"c {number[leaf]} {json.dumps(name)}")
        lines.append(f"p cnf {len(number)} {len(clauses)}")
        for clause in clauses:
            signed = (str(number[leaf] if sign else -number[leaf]) for leaf, sign in clause)
            lines.append(" ".join([*signed, "0"]))
        return "\n".join(lines) + "\n"

    def to_dot(self, what: Literal["tree", "diagram"] = "tree") -> str:
        """Return a drawing of the formula, or of its decision diagram, for Graphviz.

        Parameters
        ----------
        what : {"tree", "diagram"}
            In the diagram, full lines lead to the case of a true name, dashed lines to false.

        Examples
        --------
        >>> from formulakern import parse
        >>> print(parse("~a").to_dot(), end="")
        digraph formula {
          node [fontname="sans-serif"];
          n0 [label="a", shape=box];
          n1 [label="¬", shape=circle];
          n1 -> n0;
        }
        """
        check_choice("what", what, ("tree", "diagram"))
        return _tree_dot(self) if what == "tree" else _diagram_dot(self)


class Leaf(Formula):
    """A formula without operands, defined by the values of its fields."""

    __slots__ = ("_values",)

    _values: tuple[object, ...]

    def _hold(self, n_leaves: int = 1, **fields: object) -> None:
        """Set the fields, in the order of the constructor's arguments."""
        values = tuple(fields.values())
        put = object.__setattr__
        for name, value in fields.items():
            put(self, name, value)
        put(self, "_values", values)
        put(self, "n_leaves", n_leaves)
        put(self, "_hash", hash((type(self), *values)))

    def __str__(self) -> str:
        return self.leaf_text(ASCII) if self.n_leaves == 1 else super().__str__()

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self._values)


class Variable(Leaf):
    """A propositional variable over all columns, or over one named domain of columns.

    Parameters
    ----------
    name : str
        Any non-empty text, printed in backquotes if it is not a plain name.
    domain : str, optional
        The name of the domain of columns (``a:symptom`` in text).

    Examples
    --------
    >>> Variable("a"), Variable("a", "symptom"), Variable("two words")
    (Formula('a'), Formula('a:symptom'), Formula('`two words`'))
    """

    __slots__ = ("domain", "name")

    name: str
    domain: str | None

    def __init__(self, name: str, domain: str | None = None) -> None:
        for what, text in (("name", name), ("domain", "all" if domain is None else domain)):
            if not isinstance(text, str) or not text:
                raise ParameterError(
                    f"a variable's {what} must be a non-empty str; got {text!r}. "
                    "Write for example fk.Variable('a')."
                )
        self._hold(name=name, domain=domain)

    def leaf_text(self, notation: Notation) -> str:
        """Return the name, followed by a colon and the domain if there is one."""
        write = latex_name if notation.style == "latex" else spell
        return write(self.name) + (f":{write(self.domain)}" if self.domain else "")


class Constant(Leaf):
    """The constant true or false."""

    __slots__ = ("value",)

    value: bool

    def __init__(self, value: bool) -> None:
        self._hold(value=bool(value))

    @property
    def truth(self) -> bool:  # type: ignore[override]
        """The constant's value."""
        return self.value

    def leaf_text(self, notation: Notation) -> str:
        """Return the symbol or word for the constant."""
        return notation.true if self.value else notation.false


TRUE = Constant(True)
FALSE = Constant(False)


class Operation(Formula):
    """A connective applied to formulas.

    ``not`` has one argument, ``and``, ``or`` and ``xor`` two or more, the others two.  Arguments
    with the same connective ``and``, ``or`` or ``xor`` are merged into one chain of at most
    ``MAX_ARGUMENTS`` arguments.
    """

    __slots__ = ("_arguments", "_chain", "_parts", "connective", "length")

    connective: Connective
    _chain: int
    #: The arguments, or None for a long chain that is still stored as its parts.
    _arguments: tuple[Formula, ...] | None
    _parts: tuple[Formula, ...]
    #: The number of arguments.
    length: int

    def __init__(self, connective: Connective | str, arguments: Sequence[Formula]) -> None:
        row = connective_named(connective) if isinstance(connective, str) else connective
        parts = tuple(arguments)
        length, chain = _length_and_chain(row, parts)
        fits = length >= 2 if row.chain == "flat" else length == row.arity
        if not fits:
            wanted = {1: "one argument", 2: "two arguments"}[row.arity]
            raise ParameterError(f"{row.name!r} takes {wanted}; got {length}.")
        if length > MAX_ARGUMENTS:
            raise FormulaSizeError(
                f"a chain of one connective has {length:,} arguments; the limit is "
                f"{MAX_ARGUMENTS:,}. Combine kernels of its parts instead."
            )
        put = object.__setattr__
        put(self, "connective", row)
        put(self, "n_leaves", sum(part.n_leaves for part in parts))
        put(self, "_chain", chain)
        put(self, "_hash", hash((row.name, chain)))
        put(self, "length", length)
        put(self, "_parts", parts)
        put(self, "_arguments", parts if length == len(parts) else None)
        if length <= MAX_COPIED_CHAIN:
            self.arguments  # noqa: B018  # short chains are merged at once

    @property
    def arguments(self) -> tuple[Formula, ...]:  # type: ignore[override]
        """The operands; nested chains of one connective are merged."""
        if self._arguments is None:
            self._set(_arguments=_merged(self), _parts=())
        found = self._arguments
        assert found is not None
        return found

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The arguments, or the parts of a long chain that is not merged yet."""
        return self._parts if self._arguments is None else self._arguments

    def __reduce__(self) -> tuple[object, ...]:
        nodes = postorder(self)
        index = {id(node): position for position, node in enumerate(nodes)}
        recipe = [
            node
            if node.connective is None
            else (node.connective.name, [index[id(argument)] for argument in node.arguments])
            for node in nodes
        ]
        return (_assemble, (recipe,))


def variables(names: str) -> tuple[Variable, ...]:
    """Return variables for the names in a text, separated by spaces or commas.

    Parameters
    ----------
    names : str
        For example ``"a b c"`` or ``"a:symptom, b:gene"``.

    Returns
    -------
    tuple of Variable

    Examples
    --------
    >>> a, b, c = variables("a b c")
    >>> str(a & b | c)
    'a & b | c'
    """
    if not isinstance(names, str):
        raise ParameterError(f"variables() expects a str such as 'a b c'; got {names!r}.")
    parts = [word.partition(":") for word in names.replace(",", " ").split()]
    return tuple(Variable(name, domain if colon else None) for name, colon, domain in parts)


#: Modulus and base of the polynomial that hashes a list of arguments.
_MODULUS, _BASE = (1 << 61) - 1, 0x9E3779B97F4A7C15


#: Longer chains are merged at the first use of their arguments: adding arguments to a chain in turn
#: copies them once, not every time.
MAX_COPIED_CHAIN = 32


def _length_and_chain(row: Connective, parts: Sequence[Formula]) -> tuple[int, int]:
    """Return the number of arguments after merging nested chains of ``row``, and their hash.

    The hash of a list is a polynomial in the hashes of its items, so that merging need not visit
    them.
    """
    if row.chain != "flat":
        chain = 0
        for part in parts:
            chain = (chain * _BASE + part._hash) % _MODULUS
        return len(parts), chain
    length = chain = 0
    for part in parts:
        if isinstance(part, Operation) and part.connective is row:
            chain = (chain * pow(_BASE, part.length, _MODULUS) + part._chain) % _MODULUS
            length += part.length
        else:
            chain = (chain * _BASE + part._hash) % _MODULUS
            length += 1
    return length, chain


def _merged(chain: Operation) -> tuple[Formula, ...]:
    """Return the arguments of nested chains of one connective, in order."""
    found: list[Formula] = []
    pending = list(chain._parts[::-1])
    while pending:
        part = pending.pop()
        if isinstance(part, Operation) and part.connective is chain.connective:
            if part._arguments is None:
                pending.extend(part._parts[::-1])
            else:
                found.extend(part._arguments)
        else:
            found.append(part)
    return tuple(found)


def _assemble(recipe: list[Any]) -> Formula:
    nodes: list[Formula] = []
    for item in recipe:
        if not isinstance(item, Formula):
            name, positions = item
            item = Operation(name, [nodes[position] for position in positions])
        nodes.append(item)
    return nodes[-1]


# -- logic -----------------------------------------------------------------------------------------


def both(parts: Iterable[Formula]) -> Formula:
    """Return the conjunction of formulas, or true if there are none."""
    return _chain(AND, parts, TRUE)


def either(parts: Iterable[Formula]) -> Formula:
    """Return the disjunction of formulas, or false if there are none."""
    return _chain(OR, parts, FALSE)


def _chain(row: Connective, parts: Iterable[Formula], empty: Formula) -> Formula:
    found = list(parts)
    return Operation(row, found) if len(found) > 1 else (found or [empty])[0]


def negated(formula: Formula) -> Formula:
    """Return the negation of a formula, without double negation."""
    if formula.connective is NOT:
        return formula.arguments[0]
    return Operation(NOT, [formula]) if formula.truth is None else Constant(not formula.truth)


def literal(formula: Formula) -> tuple[Formula, bool] | None:
    """Return the leaf and the sign of a literal, or None for other formulas."""
    leaf, sign = (formula.arguments[0], False) if formula.connective is NOT else (formula, True)
    return None if leaf.connective or leaf.truth is not None else (leaf, sign)


def names_of(formulas: Iterable[Formula], caller: str) -> list[Formula]:
    """Return the names of formulas, in order of appearance.

    Raise FormulaError, with a message that begins with ``caller``, for a comparison or a choice.
    """
    leaves = itertools.chain.from_iterable(formula.leaves for formula in formulas)
    found = [leaf for leaf in dict.fromkeys(leaves) if leaf.truth is None]
    for leaf in found:
        if leaf.not_a_name_reason:
            raise FormulaError(
                f"{caller} needs names that are true or false: {leaf.not_a_name_reason}"
            )
    return found


def substitute(formula: Formula, leaf: Mapping[Any, Formula]) -> Formula:
    """Return the formula with the leaves in the mapping replaced."""

    def step(node: Formula, values: list[Formula]) -> Formula:
        return Operation(node.connective, values) if node.connective else leaf.get(node, node)

    return fold(formula, step)


def diagrams_of(
    caller: str, *formulas: Formula, advice: str = ADVICE
) -> tuple[Diagrams, list[Formula], list[int]]:
    """Return diagrams, the names (name k is variable k), and the function of every formula.

    Equal functions are equal integers.  Error messages begin with ``caller``, and end with
    ``advice`` if a diagram is too large.
    """
    diagrams = Diagrams(advice)
    letters = names_of(formulas, caller)
    level: dict[Any, int] = {letter: k for k, letter in enumerate(letters)}
    tops = [diagram_of(diagrams, f, lambda leaf: diagrams.variable(level[leaf])) for f in formulas]
    return diagrams, letters, tops


def diagram_of(diagrams: Diagrams, formula: Formula, leaf: Callable[[Formula], int]) -> int:
    """Return the diagram of a formula, given the diagrams of its leaves."""

    def function(node: Formula, values: list[int]) -> int:
        if node.connective is not None:
            return diagrams.connect(node.connective.truth, values)
        return leaf(node) if node.truth is None else int(node.truth)

    return fold(formula, function)


@cache
def _implicants(truth: str, value: bool) -> list[tuple[tuple[int, bool], ...]]:
    """Return the prime implicants of ``∘ = value``, each as pairs (argument, truth value)."""
    cells = [cell for cell, bit in zip(ARGUMENTS, truth, strict=True) if (bit == "1") == value]
    found: list[tuple[tuple[int, bool], ...]] = []
    for p in (True, False):
        found += [((0, p),)] * ((p, True) in cells and (p, False) in cells)
        found += [((1, p),)] * ((True, p) in cells and (False, p) in cells)
    for p, q in cells:
        if (not p, q) not in cells and (p, not q) not in cells:
            found.append(((0, p), (1, q)))
    return found


#: A formula and its negation, both in negation normal form.
_Pair = tuple[Formula, Formula]


def _with_negation(node: Formula, parts: list[_Pair]) -> _Pair:
    """Return the negation normal forms of a node and its negation, given those of its operands."""
    row = node.connective
    if row is None:
        return node, negated(node)
    if row.arity == 1:
        return parts[0][1], parts[0][0]
    if row in (AND, OR):
        true, false = zip(*parts, strict=True)
        return (both(true), either(false)) if row is AND else (either(true), both(false))
    # a balanced tree: quadratic size
    return join_balanced(parts, lambda *two: _joined_pair(row, *two))


def _joined_pair(row: Connective, *operands: _Pair) -> _Pair:
    true, false = (
        either(
            both(operands[i][not value] for i, value in term)
            for term in sorted(_implicants(row.truth, sign), key=lambda term: term[0][0])
        )
        for sign in (True, False)
    )
    return true, false


def _listed_form(root: Formula, form: Form, limit: int) -> Formula:
    """Return the irredundant form of a formula, or raise FormulaSizeError if it is too large."""
    if clauses_of(root, form) is not None:
        return root
    diagrams, letters, (top,) = diagrams_of(f"to_{form}()", root)
    function = top if form == "dnf" else diagrams.negation(top)
    cover = irredundant_cover(diagrams, function, function)
    if cover.n_cubes > limit:
        what, advice = ("terms", "") if form == "dnf" else ("clauses", " Or use tseitin=True.")
        raise FormulaSizeError(
            f"to_{form}() of this formula has {cover.n_cubes:,} {what}; the limit is {limit:,}. "
            f"Pass a larger limit, or convert parts of the formula.{advice}"
        )
    return _from_cubes(ordered_cubes(cover), letters, form)


def _from_cubes(cubes: Iterable[Cube], letters: Sequence[Formula], form: Form) -> Formula:
    """Return the union of cubes for dnf, or its negation, a conjunction of clauses, for cnf."""
    outer, inner = (either, both) if form == "dnf" else (both, either)
    parts = []
    for true, false in cubes:
        used, positive = true | false, true if form == "dnf" else false
        places = [k for k in range(used.bit_length()) if used >> k & 1]
        parts.append(
            inner(letters[k] if positive >> k & 1 else negated(letters[k]) for k in places)
        )
    return outer(parts)


def clauses_of(formula: Formula, form: Form) -> list[list[tuple[Formula, bool]]] | None:
    """Return the terms or clauses as lists of signed leaves, or None if the form is another."""
    outer, inner = (OR, AND) if form == "dnf" else (AND, OR)
    if formula.truth is not None:  # the empty dnf is false, the empty cnf true
        return [] if formula.truth == (form == "cnf") else [[]]
    found = []
    for part in formula.arguments if formula.connective is outer else (formula,):
        parts = part.arguments if part.connective is inner else (part,)
        literals = [literal(leaf) for leaf in parts]
        known = [each for each in literals if each is not None]
        if len(known) < len(literals):
            return None
        found.append(known)
    return found


def _clauses_with_definitions(root: Formula) -> Formula:
    """Return clauses over the names of a formula and a new name for each of its operations.

    The models of the clauses are the models of the formula, each with one choice of new values.
    """
    letters = names_of([root], "to_cnf()")
    if clauses_of(root, "cnf") is not None:
        return root
    taken = {str(getattr(letter, "name", letter)) for letter in letters}
    names = (Variable(name) for k in itertools.count(1) if (name := f"_{k}") not in taken)
    clauses: dict[Formula, None] = {}

    def add(*literals: Formula) -> None:
        """Add a clause without its false literals, unless it is always true."""
        found = dict.fromkeys(part for part in literals if part.truth is not False)
        if not any(part.truth or negated(part) in found for part in found):
            clauses.setdefault(either(found))

    def conjunction(parts: list[Formula]) -> Formula:
        name = next(names)
        for part in parts:
            add(negated(name), part)
        add(name, *map(negated, parts))
        return name

    def operation(truth: str, *parts: Formula) -> Formula:
        name = next(names)
        for value in (True, False):  # a clause for each way to be true, or to be false
            for term in _implicants(truth, value):
                refuted = [negated(parts[i]) if bit else parts[i] for i, bit in term]
                add(name if value else negated(name), *refuted)
        return name

    def step(node: Formula, parts: list[Formula]) -> Formula:
        row = node.connective
        if row is None:
            return node
        if row.arity == 1:
            return negated(parts[0])
        if row is AND:
            return conjunction(parts)
        if row is OR:
            return negated(conjunction([negated(part) for part in parts]))
        return reduce(lambda left, right: operation(row.truth, left, right), parts)

    add(fold(root, step))
    return FALSE if FALSE in clauses else both(clauses)


@dataclass(frozen=True)
class MinimalForm:
    """A short equivalent formula, and the proved bounds on its size.

    Parameters
    ----------
    formula : Formula
        The short formula.
    form : {"dnf", "cnf", "given"}
        A disjunction of conjunctions, a conjunction of disjunctions, or the given formula, if it
        is shorter than both.
    n_parts, n_literals : int
        The numbers of terms (clauses) and of literals; for ``"given"``, of the better form.
    exact : bool
        True if it is proved that no equivalent formula of this form has fewer terms (clauses),
        or the same number of terms and fewer literals.
    least : int
        A proved lower bound on the number of terms (clauses) in this form.

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.parse("a & b | a & ~b | c & a").simplify())
    a
    no shorter dnf: proved (1 term, 1 literal)
    """

    formula: Formula
    form: Literal["dnf", "cnf", "given"]
    n_parts: int
    n_literals: int
    exact: bool
    least: int

    def __str__(self) -> str:
        return f"{self.formula}\n{self.proof}"

    @property
    def proof(self) -> str:
        """The proved statement, as a line of text."""
        if self.form == "given":
            return f"as given: the shortest dnf or cnf found has {self.n_literals} literals"
        part = "term" if self.form == "dnf" else "clause"
        size = f"{counted(self.n_parts, part)}, {counted(self.n_literals, 'literal')}"
        if self.exact:
            return f"no shorter {self.form}: proved ({size})"
        least = counted(self.least, part)
        return f"a short {self.form} ({size}); proved to need at least {least}"


def shortest_form(
    root: Formula,
    form: WantedForm,
    between: Callable[[], tuple[Diagrams, int, int]],
    written: Callable[[Sequence[Cube], Form], Formula],
) -> MinimalForm:
    """Return the shortest form of a formula that may be any function between two others.

    ``between`` returns new diagrams, the lower and the upper function; ``written`` returns the
    formula of cubes in a form.
    """
    check_choice("form", form, ("shortest", "dnf", "cnf"))
    found: list[MinimalForm] = []
    refused: list[FormulaSizeError] = []
    forms: tuple[Form, ...] = ("dnf", "cnf") if form == "shortest" else (form,)
    for one in forms:
        try:
            diagrams, must, may = between()
            if one == "cnf":
                must, may = diagrams.negation(may), diagrams.negation(must)
            cover = smallest_cover(diagrams, must, may)
        except FormulaSizeError as error:
            refused.append(error)
        else:
            size = len(cover.cubes), cover.n_literals
            formula = written(cover.cubes, one)
            found.append(MinimalForm(formula, one, *size, cover.exact, cover.least))
    if not found:
        raise refused[0]
    best = min(found, key=lambda option: option.n_literals)
    given = form == "shortest" and root.n_leaves < best.n_literals
    if given and all(node.truth is None for node in postorder(root)):
        return MinimalForm(root, "given", best.n_parts, best.n_literals, False, best.least)
    return best


@dataclass(frozen=True, repr=False)
class TruthTable:
    """The values of a formula for all values of its names, in the order 11, 10, 01, 00.

    Parameters
    ----------
    names : tuple of str
        The names, in order of appearance.
    formula : str
        The text of the formula.
    values : tuple of bool
        The 2ᵏ values for k names.

    Examples
    --------
    >>> import formulakern as fk
    >>> print(fk.parse("a -> b").truth_table())
    a  b │ a -> b
    1  1 │ 1
    1  0 │ 0
    0  1 │ 1
    0  0 │ 1
    """

    names: tuple[str, ...]
    formula: str
    values: tuple[bool, ...]

    def __iter__(self) -> Iterator[tuple[bool, ...]]:
        """Yield rows: the values of the names, followed by the value of the formula."""
        arguments = itertools.product((True, False), repeat=len(self.names))
        for row, value in zip(arguments, self.values, strict=True):
            yield *row, value

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        head = [*self.names, f"│ {clip(self.formula, 60)}"]
        rows = [[*row[:-1], f"│ {row[-1]}"] for row in self._shown()]
        lines = aligned([head, *rows], "<" * len(head))
        text = "\n".join(line.replace("  │", " │").rstrip() for line in lines)
        return f"{text}\n{self._rest()}" if self._rest() else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = [*self.names, clip(self.formula, 60)]
        return small_table(head, self._shown(), ">" * len(head), foot=self._rest())

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame of bool: a column for each name, and one for the formula."""
        columns = zip(*self, strict=True)
        return data_frame(dict(zip([*self.names, self.formula], columns, strict=True)))

    def _shown(self) -> list[list[str]]:
        return [["01"[value] for value in row] for row in itertools.islice(self, SHOWN_ROWS)]

    def _rest(self) -> str:
        left = len(self) - SHOWN_ROWS
        return f"… {left:,} more rows, {sum(self.values):,} of {len(self):,} true" * (left > 0)


# -- other tools -----------------------------------------------------------------------------------


def _sympy_expression(formula: Formula) -> Any:
    from sympy import And, Equivalent, Implies, Nand, Nor, Not, Or, Symbol, Xor, false, true

    for letter in names_of([formula], "to_sympy()"):
        if getattr(letter, "domain", None):
            raise FormulaError(
                f"to_sympy() does not support domains, but {str(letter)!r} has one. Replace it by "
                "a variable without a domain: formula.substitute({...})."
            )
    by_truth = {"01": Not, "1000": And, "1110": Or, "0110": Xor}
    by_truth |= {"0111": Nand, "0001": Nor, "1011": Implies, "1001": Equivalent}
    by_truth["1101"] = lambda a, b, **options: Implies(b, a, **options)

    def step(node: Any, parts: list[Any]) -> Any:
        if node.truth is not None:
            return true if node.truth else false
        if node.connective is None:
            return Symbol(node.name)
        truth = node.connective.truth
        if truth == "1001" and len(parts) > 2:  # SymPy's Equivalent means that all are equal
            return Xor(*parts, len(parts) % 2 == 0, evaluate=False)
        if truth in by_truth:
            return by_truth[truth](*parts, evaluate=False)
        a, b = ((part, Not(part, evaluate=False)) for part in parts)
        cells = [And(p, q, evaluate=False) for p, q in itertools.product(a, b)]
        true_cells = [cell for cell, bit in zip(cells, truth, strict=True) if bit == "1"]
        return Or(*true_cells, evaluate=False) if len(true_cells) > 1 else true_cells[0]

    return fold(formula, step)


def from_sympy(expression: Any) -> Formula:
    """Return the formula of a Boolean expression of SymPy, or raise FormulaError for others."""

    def step(node: Any, parts: list[Formula]) -> Formula:
        word = type(node).__name__
        if node.is_Symbol:
            return Variable(node.name)
        if word in ("BooleanTrue", "BooleanFalse"):
            return TRUE if word == "BooleanTrue" else FALSE
        if word not in _FROM_SYMPY:
            raise FormulaError(
                f"{str(node)[:60]!r} is not a formula over names. Use only symbols, true, false, "
                f"{', '.join(sorted(_FROM_SYMPY))} of SymPy."
            )
        return _FROM_SYMPY[word](parts)

    def inside(node: Any) -> Sequence[Any]:
        known = type(node).__name__ in _FROM_SYMPY
        return list(node.args) if known else []

    return fold(expression, step, inside)


_FROM_SYMPY: dict[str, Callable[[list[Formula]], Formula]] = {
    "Not": lambda parts: ~parts[0],
    "And": both,
    "Or": either,
    "Xor": lambda parts: _chain(XOR, parts, FALSE),
    "Nand": lambda parts: ~both(parts),
    "Nor": lambda parts: ~either(parts),
    "Xnor": lambda parts: ~_chain(XOR, parts, FALSE),
    "Implies": lambda parts: Operation(IMPLIES, parts),
    "Equivalent": lambda parts: both(
        Operation(connective_named("iff"), pair) for pair in itertools.pairwise(parts)
    ),
    "ITE": lambda parts: parts[0] & parts[1] | ~parts[0] & parts[2],
}


def from_dimacs(text: str) -> Formula:
    """Return the formula of a text in DIMACS format: a conjunction of clauses.

    Parameters
    ----------
    text : str
        Comments such as ``c 1 "rain"``, which :meth:`Formula.to_dimacs` writes, name variables;
        others are named ``x1``, ``x2``, ….

    Returns
    -------
    Formula

    Raises
    ------
    FormulaSyntaxError
        If the text is not in this format; a caret marks the place.
    FormulaTypeError
        If it is not a ``str``.

    Examples
    --------
    >>> from_dimacs("p cnf 3 2\\n1 -3 0\\n2 3 -1 0")
    Formula('(x1 | ~x3) & (x2 | x3 | ~x1)')
    """
    if not isinstance(text, str):
        raise FormulaTypeError(f"from_dimacs() expects a str; got {type(text).__name__}.")

    def wrong(place: int, width: int, problem: str) -> FormulaSyntaxError:
        advice = (
            "Write 'p cnf 3 2' for 3 variables and 2 clauses, then the literals of each and a 0."
        )
        return FormulaSyntaxError(problem, text, place, advice, width)

    names: dict[int, str] = {}
    for named in re.finditer(r'(?m)^\s*c\s+(\d{1,9})\s+(".+")\s*$', text):
        try:
            names[int(named[1])] = str(json.loads(named[2]))
        except ValueError:  # a comment that only looks like a name
            continue
    # comments become blanks, so that positions do not change
    body = re.sub(r"(?m)^[^\S\n]*(c(?!\S)|%).*$", lambda comment: " " * len(comment[0]), text)
    head = re.match(r"\s*p[^\S\n]+cnf[^\S\n]+(\d{1,9})[^\S\n]+(\d{1,9})[^\S\n]*(?!.)", body)
    first = re.search(r"[^\n]*\S[^\n]*", body)
    if head is None and first is not None:
        raise wrong(first.start(), len(first[0]), "the first line is not 'p cnf …'")
    n_names, n_clauses = (int(head[1]), int(head[2])) if head else (0, 0)
    clauses: list[Formula] = []
    clause: list[Formula] = []
    for word in re.compile(r"\S+").finditer(body, head.end() if head else 0):
        number = int(word[0]) if re.fullmatch(r"-?\d{1,9}", word[0]) else None
        if number is None or abs(number) > n_names:
            what = f"expected 0 or a variable from 1 to {n_names}"
            raise wrong(word.start(), len(word[0]), what)
        if number:
            variable = Variable(names.get(abs(number)) or f"x{abs(number)}")
            clause.append(variable if number > 0 else ~variable)
        else:
            clauses.append(either(clause))
            clause = []
    if head is None or clause or len(clauses) != n_clauses:
        expected = "a line 'p cnf …'" if head is None else f"{n_clauses} clauses that end in 0"
        raise wrong(len(text), 1, f"the text ends before {expected}")
    return both(clauses)


def _tree_dot(formula: Formula) -> str:
    number: dict[int, int] = {}
    lines = []
    for k, node in enumerate(postorder(formula)):
        number[id(node)] = k
        if node.connective is None:
            text = ("⊥", "⊤")[node.truth] if node.truth is not None else node.leaf_text(UNICODE)
            lines.append(f"  n{k} [label={_quoted(text)}, shape=box];")
        else:
            lines.append(f"  n{k} [label={_quoted(node.connective.unicode)}, shape=circle];")
        lines += [f"  n{k} -> n{number[id(argument)]};" for argument in node.arguments]
    return _dot("formula", lines)


def _diagram_dot(formula: Formula) -> str:
    d, letters, (top,) = diagrams_of("to_dot('diagram')", formula)
    nodes = d.reachable(top)
    ends = {top} | {branch for node in nodes for branch in (d.high[node], d.low[node])}
    lines = [f'  n{end} [label="{end}", shape=box];' for end in (1, 0) if end in ends]
    for level, name in enumerate(letters):
        text = _quoted(name.leaf_text(UNICODE))
        at_level = [f"n{node} [label={text}]" for node in nodes if d.level[node] == level]
        if at_level:
            lines.append(f"  {{ rank=same; {'; '.join(at_level)}; }}")
    for node in nodes:  # a full line if the variable is true, a dashed one if it is false
        lines.append(f"  n{node} -> n{d.high[node]};")
        lines.append(f"  n{node} -> n{d.low[node]} [style=dashed];")
    return _dot("diagram", lines)


def _dot(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"digraph {name} {{", '  node [fontname="sans-serif"];', *lines, "}", ""])


def _quoted(text: str) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- random formulas

#: The largest number of leaves of a random formula.
MAX_RANDOM_LEAVES = 10_000

_OPERATIONS = (*(row for row in CONNECTIVES if row.arity == 2), NOT)


def random_formula(
    p: float = 0.4,
    eta: float = 0.7,
    random_state: int | np.random.Generator | None = None,
) -> Formula:
    """Draw a random formula whose leaves are different variables.

    At depth t the growth stops with probability 1 − p^(η·t) in a literal, negated with probability
    1/2; otherwise one of the binary connectives or "not" is drawn uniformly and its operands are
    drawn at depth t + 1.  The root (t = 0) is always a connective.

    Parameters
    ----------
    p : float in [0, 1), default=0.4
        The base of the probability of growth; larger values give larger formulas.
    eta : float > 0, default=0.7
        The decay of growth with depth; larger values give smaller formulas.
    random_state : int, numpy.random.Generator or None
        The source of randomness; equal integers give equal formulas.

    Returns
    -------
    Formula
        A formula over the variables x1, x2, … in the order of the text.

    Raises
    ------
    ParameterError
        If p or eta is out of range.
    FormulaSizeError
        If the formula exceeds 10,000 leaves (p close to 1 with a small eta).

    References
    ----------
    Polato & Aiolli (2021), Propositional Kernels, Algorithm 2, doi:10.3390/e23081020.

    Examples
    --------
    >>> random_formula(random_state=4) == random_formula(random_state=4)
    True
    >>> random_formula(random_state=4).n_leaves >= 1
    True
    """
    check_number("p", p, 0, math.nextafter(1, 0), expected="a number from 0 to below 1")
    check_number("eta", eta, 0, above=True)
    generator = np.random.default_rng(random_state)
    # Depth-first from the left, so that leaves are numbered in the order of the text: a connective
    # waits until its operands are complete.
    waiting: list[tuple[int, list[Formula]]] = []
    n_leaves = 0
    while True:
        if generator.random() < p ** (eta * len(waiting)):
            waiting.append((int(generator.integers(len(_OPERATIONS))), []))
            continue
        n_leaves += 1
        if n_leaves > MAX_RANDOM_LEAVES:
            raise FormulaSizeError(
                f"a random formula with p={p} and eta={eta} exceeds {MAX_RANDOM_LEAVES:,} leaves. "
                "Use a smaller p or a larger eta."
            )
        done: Formula = Variable(f"x{n_leaves}")
        if generator.random() < 0.5:
            done = ~done
        while waiting:
            row = _OPERATIONS[waiting[-1][0]]
            operands = waiting[-1][1]
            operands.append(done)
            if len(operands) < row.arity:
                break
            done = Operation(row, operands)
            waiting.pop()
        if not waiting:
            return done
