"""Formulas: immutable trees of variables, constants and connectives, compared by value.

``Variable``, ``Constant`` and ``Operation`` are the basic shapes; comparisons over named columns
(:mod:`formulakern.syntax.comparison`) and choices of features (:mod:`formulakern.syntax.choice`)
are two more kinds of leaf.  Chains of an associative
connective are one operation with many arguments, so ``(a & b) & c == a & (b & c)``.  Nothing here
recurses: formulas may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NoReturn

from formulakern.checks import check_choice, check_integer
from formulakern.errors import FormulaSizeError, FormulaTypeError, ParameterError
from formulakern.syntax import connectives
from formulakern.syntax.connectives import AND, IMPLIES, NOT, OR, XOR, Connective
from formulakern.syntax.logic import exchange
from formulakern.syntax.logic.diagrams import Diagrams, count_models, models
from formulakern.syntax.logic.forms import (
    Node,
    clauses_with_definitions,
    diagrams_of,
    listed_form,
    nnf,
    substitute,
)
from formulakern.syntax.logic.simplify import MinimalForm, WantedForm, simplified
from formulakern.syntax.logic.truth_table import TruthTable, truth_table
from formulakern.syntax.notation import ASCII, LATEX, UNICODE, Notation, latex_name, render, spell
from formulakern.syntax.traversal import postorder, same

__all__ = [
    "FALSE",
    "MAX_ARGUMENTS",
    "TRUE",
    "Constant",
    "Formula",
    "Leaf",
    "Operation",
    "Variable",
    "variables",
]

#: A longer chain of one connective is refused.
MAX_ARGUMENTS = 2_000_000
#: A form has at most so many terms or clauses by default.
MAX_PARTS = 10_000


Operator = Callable[["Formula", object], "Formula"]


def _operators(row: Connective) -> tuple[Operator, Operator]:
    """Return the Python operator of a connective: for a formula on the left, and on the right."""
    return (
        lambda formula, other: _infix(row, formula, other),
        lambda formula, other: _infix(row, other, formula),
    )


def _infix(row: Connective, left: object, right: object) -> Formula:
    operands = []
    for operand in (left, right):
        if isinstance(operand, bool):
            operand = TRUE if operand else FALSE
        if not isinstance(operand, Formula):
            return NotImplemented  # type: ignore[no-any-return]
        operands.append(operand)
    return Operation(row, operands)


class Formula(Node):
    """A propositional formula; combine with ``&``, ``|``, ``^``, ``~`` and ``>>`` (implies).

    Formulas are values: immutable, hashable, equal when they have the same tree.  (Two different
    trees may be logically equivalent and are still different formulas.)

    Examples
    --------
    >>> a, b, c = variables("a b c")
    >>> (a & ~b) | c
    Formula('a & ~b | c')
    >>> str((a >> b) & c)
    '(a -> b) & c'
    """

    __slots__ = ("_hash", "n_leaves")

    #: Whether the text of a leaf has spaces of its own, so that "not" wants parentheses around it.
    spaced: ClassVar[bool] = False
    arguments: tuple[Formula, ...] = ()
    _hash: int

    # -- how logic builds formulas -----------------------------------------------------------

    def _built(self, row: Connective, arguments: Sequence[Formula]) -> Formula:
        return Operation(row, arguments)

    def _constant(self, value: bool) -> Formula:
        return TRUE if value else FALSE

    def _variable(self, name: str) -> Formula:
        return Variable(name)

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
            "a formula has no truth value of its own, so it cannot be used with "
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

    # -- looking at it -----------------------------------------------------------------------

    def __str__(self) -> str:
        return render(self, ASCII)

    def __repr__(self) -> str:
        return f"Formula({str(self)!r})"

    def unicode(self) -> str:
        """Return the formula in mathematical signs.

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
        """The different variables, in the order in which they first appear in the text."""
        found: dict[Variable, None] = {}
        for leaf in self.leaves:
            if isinstance(leaf, Variable):
                found.setdefault(leaf)
            for formula in leaf.inside:
                found.update(dict.fromkeys(formula.variables))
        return tuple(found)

    @property
    def inside(self) -> tuple[Formula, ...]:
        """Formulas that a leaf holds, with names of their own."""
        return ()

    @property
    def leaves(self) -> tuple[Formula, ...]:
        """The different leaves (variables, constants, comparisons, choices) in order."""
        return tuple(dict.fromkeys(node for node in postorder(self) if node.connective is None))

    def leaf_text(self, notation: Notation) -> str:
        """Return the text of a leaf; operations have none."""
        raise NotImplementedError

    # -- questions of logic: names are true or false, whatever they range over in a kernel ------

    def equivalent(self, other: Formula | bool) -> bool:
        """Return whether two formulas have the same truth value for all values of their names.

        f ≡ g: for every assignment α of true and false to the names of both, α(f) = α(g).

        Parameters
        ----------
        other : Formula or bool

        Returns
        -------
        bool

        Raises
        ------
        FormulaError
            If a leaf is a comparison or a choice, which is not a name.
        FormulaSizeError
            If a decision diagram has more than 200,000 nodes, or needs more than 2 million steps.

        Notes
        -----
        Both formulas become reduced ordered decision diagrams, the names in order of appearance;
        equal functions are the same diagram (Bryant 1986, doi:10.1109/TC.1986.1676819).  The
        cost is the size of the diagrams: small for most formulas that people write, exponential
        for some.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("~(a & b)").equivalent(parse("~a | ~b"))
        True
        """
        _, (one, two) = self._compared(other, "equivalent()")
        return one == two

    def implies(self, other: Formula | bool) -> bool:
        """Return whether another formula is true whenever this one is: f ⊨ g.

        Parameters, errors and cost are those of :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a & b").implies(parse("a")), parse("a").implies(parse("a & b"))
        (True, False)
        """
        diagrams, tops = self._compared(other, "implies()")
        return diagrams.apply("0100", *tops) == 0

    def _compared(self, other: object, question: str) -> tuple[Diagrams, list[int]]:
        if isinstance(other, bool):
            other = self._constant(other)
        if not isinstance(other, Formula):
            raise FormulaTypeError(
                f"{question} compares with a Formula; got {type(other).__name__}. "
                "Parse text first: fk.parse('a & b')."
            )
        diagrams, _, tops = diagrams_of(question, self, other)
        return diagrams, tops

    def is_tautology(self) -> bool:
        """Return whether the formula is true for all values of its names.

        Errors and cost are those of :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("((a -> b) -> a) -> a").is_tautology()
        True
        """
        return diagrams_of("is_tautology()", self)[2] == [1]

    def is_contradiction(self) -> bool:
        """Return whether the formula is false for all values of its names.

        Errors and cost are those of :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a & (a -> b) & ~b").is_contradiction()
        True
        """
        return diagrams_of("is_contradiction()", self)[2] == [0]

    def is_satisfiable(self) -> bool:
        """Return whether the formula is true for some values of its names.

        Errors and cost are those of :meth:`equivalent`.

        Examples
        --------
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
            The names that are assigned: all of the formula and perhaps more.  By default those of
            the formula.

        Returns
        -------
        int
            From 0 to 2ᵏ for k names.

        Raises
        ------
        ParameterError
            If ``over`` leaves out a name of the formula.
        FormulaError, FormulaSizeError
            As for :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a | b | c").count_models()
        7
        >>> parse(" ^ ".join(f"x{i}" for i in range(200))).count_models() == 2**199
        True
        """
        diagrams, letters, (top,) = diagrams_of("count_models()", self)
        found = count_models(diagrams, top, len(letters))
        if over is None:
            return found
        names = set(over)
        for letter in letters:
            if letter not in names:
                raise ParameterError(
                    f"count_models(over=…) leaves out {str(letter)!r}, which the formula has. "
                    "Name all of its variables: formula.variables."
                )
        return found << (len(names) - len(letters))

    def models(self) -> Iterator[dict[Formula, bool]]:
        """Yield the assignments that make the formula true, true before false.

        Errors are those of :meth:`equivalent`; the first model comes after the cost of the
        diagram, and every next one in time linear in the number of names.

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
        """Return the truth value for all values of the names, in the order 11, 10, 01, 00.

        Returns
        -------
        TruthTable
            Prints as a table, as HTML in notebooks; at most 64 rows of it.

        Raises
        ------
        FormulaSizeError
            If there are more than 16 names.
        FormulaError
            As for :meth:`equivalent`.

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
        return truth_table(self)

    def simplify(self, form: WantedForm = "shortest") -> MinimalForm[Formula]:
        """Return an equivalent formula with the fewest terms, and of those the fewest literals.

        Parameters
        ----------
        form : {"shortest", "dnf", "cnf"}
            A disjunction of conjunctions, a conjunction of disjunctions, or the one of both that
            has fewer literals (the formula as it is, if that has still fewer leaves).

        Returns
        -------
        MinimalForm
            ``formula``, and ``exact``: whether it is proved that none is shorter.

        Raises
        ------
        FormulaSizeError
            If a diagram passes its limits, or the form has more than 10,000 terms.
        FormulaError
            As for :meth:`equivalent`.

        Notes
        -----
        The terms are chosen from all prime implicants, by integer programming if more than one
        choice is left (Quine 1952, doi:10.1080/00029890.1952.11988183; McCluskey 1956,
        doi:10.1002/j.1538-7305.1956.tb03835.x).  The result is exact if there are at most 4,000
        prime implicants, at most 16 names in those that are not needed anyway, and the search
        among these ends within its limit.  Else it is a cover by prime implicants, with a proved
        lower bound.

        Examples
        --------
        >>> from formulakern import parse
        >>> short = parse("a & b | ~a & c | b & c").simplify()
        >>> short.formula, short.exact
        (Formula('a & b | ~a & c'), True)
        >>> parse("a & c | a & d | b & c | b & d").simplify().formula
        Formula('(a | b) & (c | d)')
        """
        return simplified(self, form)

    # -- forms -----------------------------------------------------------------------------------

    def to_nnf(self) -> Formula:
        """Return the formula by and, or, and negations of leaves alone (negation normal form).

        Returns
        -------
        Formula
            Its leaves are those of this one; constants stay.

        Raises
        ------
        FormulaSizeError
            If one conjunction or disjunction would have more than 2 million parts.

        Notes
        -----
        Linear: every node becomes a few nodes, which are shared if they are used again.  A
        chain of n exclusive ors is halved again and again, so that written out it has some n²
        literals and not 2ⁿ.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("~(a -> b & c)").to_nnf()
        Formula('a & (~b | ~c)')
        >>> parse(" ^ ".join("abcdefghijkl")).to_nnf().n_leaves
        160
        """
        return nnf(self)

    def to_dnf(self, limit: int = MAX_PARTS) -> Formula:
        """Return the formula as a disjunction of conjunctions, none of which can be left out.

        Parameters
        ----------
        limit : int
            A form with more terms is refused before it is made.

        Returns
        -------
        Formula
            A formula that has the form is returned as it is.  :meth:`simplify` looks for the
            fewest terms.

        Raises
        ------
        FormulaSizeError
            If there are more terms, or a diagram passes its limits.
        FormulaError
            As for :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("(a | b) & ~(c & a)").to_dnf()
        Formula('a & ~c | ~a & b')
        """
        check_integer("limit", limit)
        return listed_form(self, "dnf", limit)

    def to_cnf(self, limit: int = MAX_PARTS, *, tseitin: bool = False) -> Formula:
        """Return the formula as a conjunction of disjunctions of literals.

        Parameters
        ----------
        limit : int
            A form with more clauses is refused before it is made.
        tseitin : bool
            Name every operation by a new variable ``_1``, ``_2``, …: the size is then linear, and
            there are as many models as before, each with values for the new names.

        Returns
        -------
        Formula
            A formula that has the form is returned as it is.

        Raises
        ------
        FormulaSizeError
            If there are more clauses, or a diagram passes its limits.
        FormulaError
            As for :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a & b | c").to_cnf()
        Formula('(a | c) & (b | c)')
        >>> parse("a -> b").to_cnf(tseitin=True)
        Formula('(_1 | ~b) & (_1 | a) & (~_1 | ~a | b) & _1')
        """
        if tseitin:
            return clauses_with_definitions(self)
        check_integer("limit", limit)
        return listed_form(self, "cnf", limit)

    def substitute(self, values: Mapping[Any, Formula | bool]) -> Formula:
        """Return the formula with leaves replaced by formulas, all at once.

        Parameters
        ----------
        values : mapping of leaf, or name of a variable, to Formula or bool
            Keys that are not leaves of the formula change nothing.  Names inside of a choice, such
            as the x of ``all[2](x)``, stay.

        Returns
        -------
        Formula

        Raises
        ------
        ParameterError
            If a key is neither a leaf nor a name, or a value is not a formula.

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
                    f"substitute() replaces leaves, or variables by name; got the key {key!r}. "
                    "Write for example {'a': fk.parse('b | c')}."
                )
            if not isinstance(value, (bool, Formula)):
                raise ParameterError(
                    f"substitute() puts a Formula or a bool for {str(key)!r}; got {value!r}. "
                    "Parse text first: fk.parse('b | c')."
                )
            found[leaf] = self._constant(value) if isinstance(value, bool) else value
        return substitute(self, found)

    def to_sympy(self) -> Any:
        """Return the formula as an expression of :mod:`sympy`, connective by connective.

        Returns
        -------
        sympy.logic.boolalg.Boolean
            Not evaluated by SymPy.  :func:`formulakern.parse` reads it back.

        Raises
        ------
        FormulaError
            If a leaf is a comparison or a choice, or a variable has a domain.

        Examples
        --------
        >>> from formulakern import parse
        >>> parse("a & ~b -> c").to_sympy()
        Implies(a & ~b, c)
        """
        return exchange.sympy_expression(self)

    def to_dimacs(self, limit: int = MAX_PARTS, *, tseitin: bool = True) -> str:
        """Return the clauses of the formula in DIMACS format, for solvers and model counters.

        Parameters
        ----------
        limit, tseitin
            As for :meth:`to_cnf`.

        Returns
        -------
        str
            The names of the formula have the numbers 1, 2, … in order of appearance, which comments
            list; new ones come after them.  :func:`formulakern.from_dimacs` reads it.

        Raises
        ------
        FormulaError, FormulaSizeError
            As for :meth:`to_cnf`.

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
        return exchange.dimacs(self, tseitin, limit)

    def to_dot(self, what: Literal["tree", "diagram"] = "tree") -> str:
        """Return a drawing of the formula, or of its decision diagram, for Graphviz.

        Parameters
        ----------
        what : {"tree", "diagram"}
            In the diagram a full line is taken if the name is true, a dashed one if it is false.

        Returns
        -------
        str
            For example for ``dot -Tsvg``; :class:`graphviz.Source` shows it in a notebook.

        Raises
        ------
        ParameterError
            If ``what`` is something else.
        FormulaError, FormulaSizeError
            For the diagram, as for :meth:`equivalent`.

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
        return exchange.tree_dot(self) if what == "tree" else exchange.diagram_dot(self)


class Leaf(Formula):
    """A formula without operands, given by the values that it is made of."""

    __slots__ = ("_values",)

    _values: tuple[object, ...]

    def _hold(self, n_leaves: int = 1, **fields: object) -> None:
        """Set what the constructor was given, in its order."""
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
    """A propositional variable, ranging over all columns or over one named domain of columns.

    Parameters
    ----------
    name : str
        Any non-empty text; what is not a plain name prints in backquotes.
    domain : str, optional
        Name of the group of columns that the variable ranges over (``a:symptom`` in text).

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
                    f"a variable's {what} is a non-empty str; got {text!r}. "
                    "Write for example fk.Variable('a')."
                )
        self._hold(name=name, domain=domain)

    def leaf_text(self, notation: Notation) -> str:
        """Return the name, with the domain behind a colon."""
        write = latex_name if notation.style == "latex" else spell
        return write(self.name) + (f":{write(self.domain)}" if self.domain else "")


class Constant(Leaf):
    """True or false."""

    __slots__ = ("value",)

    value: bool

    def __init__(self, value: bool) -> None:
        self._hold(value=bool(value))

    @property
    def truth(self) -> bool:  # type: ignore[override]
        """The constant's value."""
        return self.value

    def leaf_text(self, notation: Notation) -> str:
        """Return the sign or word for the constant."""
        return notation.true if self.value else notation.false


TRUE = Constant(True)
FALSE = Constant(False)


class Operation(Formula):
    """A connective applied to formulas.

    Parameters
    ----------
    connective : Connective or str
        A row of :data:`formulakern.syntax.connectives.CONNECTIVES`, or its name.
    arguments : sequence of Formula
        One for ``not``; two for the others; two or more for ``and``, ``or``, ``xor``, where
        arguments with the same connective are merged into one chain.

    Raises
    ------
    ParameterError
        If the number of arguments does not fit the connective.
    FormulaSizeError
        If a chain has more than ``MAX_ARGUMENTS`` arguments.
    """

    __slots__ = ("_arguments", "_chain", "_parts", "connective", "length")

    connective: Connective
    _chain: int
    #: The arguments, or None while a long chain is still held as the parts that it was made of.
    _arguments: tuple[Formula, ...] | None
    _parts: tuple[Formula, ...]
    #: The number of arguments.
    length: int

    def __init__(self, connective: Connective | str, arguments: Sequence[Formula]) -> None:
        row = connectives.connective(connective) if isinstance(connective, str) else connective
        parts = tuple(arguments)
        length, chain = _measured(row, parts)
        fits = length >= 2 if row.chain == "flat" else length == row.arity
        if not fits:
            wanted = {1: "one argument", 2: "two arguments"}[row.arity]
            raise ParameterError(f"{row.name!r} takes {wanted}; got {length}.")
        if length > MAX_ARGUMENTS:
            raise FormulaSizeError(
                f"a chain of one connective has {length:,} arguments; at most {MAX_ARGUMENTS:,} "
                "are accepted. Make kernels of its parts, and combine them."
            )
        put = object.__setattr__
        put(self, "connective", row)
        put(self, "n_leaves", sum(part.n_leaves for part in parts))
        put(self, "_chain", chain)
        put(self, "_hash", hash((row.name, chain)))
        put(self, "length", length)
        put(self, "_parts", parts)
        put(self, "_arguments", parts if length == len(parts) else None)
        if length <= SHORT:
            self.arguments  # noqa: B018  # short chains are merged at once

    @property
    def arguments(self) -> tuple[Formula, ...]:  # type: ignore[override]
        """The operands; those of a chain in one tuple, however it was put together."""
        if self._arguments is None:
            self._set(_arguments=_merged(self))
            self._set(_parts=())
        found = self._arguments
        assert found is not None
        return found

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The arguments, or what a long chain that is not yet merged was made of."""
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
    """Return variables for the names in a text, separated by blanks or commas.

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
        raise ParameterError(f"variables takes one str such as 'a b c'; got {names!r}.")
    parts = [word.partition(":") for word in names.replace(",", " ").split()]
    return tuple(Variable(name, domain if colon else None) for name, colon, domain in parts)


#: Modulus and base of the polynomial that hashes a list of arguments.
_MODULUS, _BASE = (1 << 61) - 1, 0x9E3779B97F4A7C15


#: Longer chains are merged when their arguments are asked for: adding one argument to a chain after
#: the other copies them once, and not every time.
SHORT = 32


def _measured(row: Connective, parts: Sequence[Formula]) -> tuple[int, int]:
    """Return how many arguments there are when nested chains of ``row`` are merged, and their hash.

    The hash of a list is a polynomial in the hashes of its items, so that merging a chain of any
    length visits none of them.
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
    """Return the arguments of nested chains of one connective, in their order."""
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
