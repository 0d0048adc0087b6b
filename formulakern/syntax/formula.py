"""Formulas: immutable trees of variables, constants and connectives, compared by value.

``Variable``, ``Constant`` and ``Operation`` are the basic shapes; comparisons over named columns
(:mod:`formulakern.syntax.comparison`) and choices of features (:mod:`formulakern.syntax.choice`)
are two more kinds of leaf.  Chains of an associative
connective are one operation with many arguments, so ``(a & b) & c == a & (b & c)``.  Nothing here
recurses: formulas may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from formulakern.errors import FormulaSizeError, FormulaTypeError, ParameterError
from formulakern.syntax import connectives
from formulakern.syntax.connectives import AND, IMPLIES, NOT, OR, XOR, Connective
from formulakern.syntax.logic.tools import Logic
from formulakern.syntax.names import spell
from formulakern.syntax.notation import ASCII, LATEX, UNICODE, Notation, latex_name, render
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


Operator = Callable[["Formula", object], "Formula"]


def _operators(row: Connective) -> tuple[Operator, Operator]:
    """The Python operator of a connective: for a formula on the left, and on the right."""
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


class Formula(Logic["Formula"]):
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
    #: Why a leaf is no letter, which is true or false by itself; empty if it is one.
    no_letter: ClassVar[str] = ""
    #: The truth value of a constant; else None.
    truth: bool | None = None
    #: The connective at the root, or None for a leaf; its operands.
    connective: Connective | None = None
    arguments: tuple[Formula, ...] = ()
    #: Number of leaves, with repetition (an exact integer, even where subformulas are shared).
    n_leaves: int
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
        """The formula in mathematical signs.

        >>> a, b = variables("a b")
        >>> (~a >> b).unicode()
        '¬a → b'
        """
        return render(self, UNICODE)

    def latex(self) -> str:
        r"""The formula in LaTeX, for use inside math mode.

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
        """How a leaf prints; only leaves have this."""
        raise NotImplementedError


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
        """The name, with the domain behind a colon."""
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
        """The sign or word for the constant."""
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
    """Variables for the names in a text, separated by blanks or commas; always a tuple.

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
    """How many arguments there are when nested chains of ``row`` are merged, and their hash.

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
    """The arguments of nested chains of one connective, in their order."""
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
