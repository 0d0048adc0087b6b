"""The forms into which a formula can be brought, as methods of formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar, cast

from formulakern.checks import check_choice, check_integer
from formulakern.errors import ParameterError
from formulakern.syntax.logic import exchange
from formulakern.syntax.logic.definitions import with_definitions
from formulakern.syntax.logic.node import Node
from formulakern.syntax.logic.normal_forms import listed_form, nnf
from formulakern.syntax.logic.substitution import substitute

__all__ = ["Forms"]

F = TypeVar("F", bound=Node)

#: Terms or clauses that a form may have unless more are asked for.
MAX_PARTS = 10_000


class Forms(Generic[F]):
    """What every formula can be turned into."""

    __slots__ = ()

    @property
    def _self(self) -> F:
        return cast(F, self)

    def to_nnf(self) -> F:
        """The formula by and, or, and negations of leaves alone (negation normal form).

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
        Linear: every node becomes a few nodes, which are shared where they are used again.  A
        chain of n exclusive ors is halved again and again, so that written out it has some n²
        literals and not 2ⁿ.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> parse("~(a -> b & c)").to_nnf()
        Formula('a & (~b | ~c)')
        >>> parse(" ^ ".join("abcdefghijkl")).to_nnf().n_leaves
        160
        """
        return nnf(self._self)

    def to_dnf(self, limit: int = MAX_PARTS) -> F:
        """The formula as a disjunction of conjunctions of literals, none of which can be left out.

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
        >>> from formulakern.syntax.parser import parse
        >>> parse("(a | b) & ~(c & a)").to_dnf()
        Formula('a & ~c | ~a & b')
        """
        check_integer("limit", limit)
        return listed_form(self._self, "dnf", limit)

    def to_cnf(self, limit: int = MAX_PARTS, *, tseitin: bool = False) -> F:
        """The formula as a conjunction of disjunctions of literals.

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
        >>> from formulakern.syntax.parser import parse
        >>> parse("a & b | c").to_cnf()
        Formula('(a | c) & (b | c)')
        >>> parse("a -> b").to_cnf(tseitin=True)
        Formula('(_1 | ~b) & (_1 | a) & (~_1 | ~a | b) & _1')
        """
        if tseitin:
            return with_definitions(self._self)
        check_integer("limit", limit)
        return listed_form(self._self, "cnf", limit)

    def substitute(self, values: Mapping[Any, F | bool]) -> F:
        """The formula with leaves replaced by formulas, all at once.

        Parameters
        ----------
        values : mapping of leaf, or name of a variable, to Formula or bool
            Leaves that it does not have change nothing.  What stands inside of a choice, such as
            the x of ``all[2](x)``, is its own and stays.

        Returns
        -------
        Formula

        Raises
        ------
        ParameterError
            If a key is no leaf and no name, or a value is no formula.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> parse("a & ~b").substitute({"a": parse("b | c"), "b": parse("a")})
        Formula('(b | c) & ~a')
        """
        found: dict[Any, F] = {}
        for key, value in values.items():
            leaf = self._self._variable(key) if isinstance(key, str) else key
            if not isinstance(leaf, Forms) or self._of(leaf).connective is not None:
                raise ParameterError(
                    f"substitute() replaces leaves, or variables by name; got the key {key!r}. "
                    "Write for example {'a': fk.parse('b | c')}."
                )
            if not isinstance(value, (bool, Forms)):
                raise ParameterError(
                    f"substitute() puts a Formula or a bool for {str(key)!r}; got {value!r}. "
                    "Parse text first: fk.parse('b | c')."
                )
            found[leaf] = self._self._constant(value) if isinstance(value, bool) else value
        return substitute(self._self, found)

    @staticmethod
    def _of(leaf: Any) -> Node:
        node: Node = leaf
        return node

    def to_sympy(self) -> Any:
        """The formula as an expression of :mod:`sympy`, connective by connective.

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
        >>> from formulakern.syntax.parser import parse
        >>> parse("a & ~b -> c").to_sympy()
        Implies(a & ~b, c)
        """
        return exchange.sympy_expression(self._self)

    def to_dimacs(self, limit: int = MAX_PARTS, *, tseitin: bool = True) -> str:
        """The clauses of the formula in DIMACS format, which solvers and model counters read.

        Parameters
        ----------
        limit, tseitin
            As for :meth:`to_cnf`.

        Returns
        -------
        str
            The names of the formula have the numbers 1, 2, … in order of appearance, as comments
            say; new ones come after them.  :func:`formulakern.from_dimacs` reads it.

        Raises
        ------
        FormulaError, FormulaSizeError
            As for :meth:`to_cnf`.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> print(parse("(a | ~b) & c").to_dimacs(), end="")
        c 1 "a"
        c 2 "b"
        c 3 "c"
        p cnf 3 2
        1 -2 0
        3 0
        """
        check_integer("limit", limit)
        return exchange.dimacs(self._self, tseitin, limit)

    def to_dot(self, what: Literal["tree", "diagram"] = "tree") -> str:
        """A drawing in the language of Graphviz: of the formula, or of its decision diagram.

        Parameters
        ----------
        what : {"tree", "diagram"}
            In the diagram a full line is taken where the name is true, a dashed one where it is
            false.

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
        >>> from formulakern.syntax.parser import parse
        >>> print(parse("~a").to_dot(), end="")
        digraph formula {
          node [fontname="sans-serif"];
          n0 [label="a", shape=box];
          n1 [label="¬", shape=circle];
          n1 -> n0;
        }
        """
        check_choice("what", what, ("tree", "diagram"))
        draw = exchange.tree_dot if what == "tree" else exchange.diagram_dot
        return draw(self._self)
