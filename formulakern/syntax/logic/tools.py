"""The questions of logic as methods of formulas.

Names are true or false here; what they range over in a kernel does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar, cast

from formulakern.diagrams.counting import count_models, models
from formulakern.errors import FormulaTypeError, ParameterError
from formulakern.syntax.logic.forms import Forms
from formulakern.syntax.logic.functions import Functions
from formulakern.syntax.logic.minimal_form import MinimalForm, WantedForm, simplified
from formulakern.syntax.logic.node import Node
from formulakern.syntax.logic.truth_table import TruthTable, truth_table

__all__ = ["Logic"]

F = TypeVar("F", bound=Node)


class Logic(Forms[F]):
    """What every formula answers about its truth."""

    __slots__ = ()

    def _two(self, other: object, question: str) -> Functions[F]:
        if isinstance(other, bool):
            other = self._self._constant(other)
        if not isinstance(other, Logic):
            raise FormulaTypeError(
                f"{question} compares with a Formula; got {type(other).__name__}. "
                "Parse text first: fk.parse('a & b')."
            )
        return Functions(question, self._self, cast(F, other))

    def _function(self, question: str) -> Functions[F]:
        return Functions(question, self._self)

    def equivalent(self, other: F | bool) -> bool:
        """Whether two formulas have the same truth value whatever their names stand for.

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
            If a leaf is a comparison or a choice, which is no name.
        FormulaSizeError
            If a decision diagram has more than 200,000 nodes, or needs more than 2 million steps.

        Notes
        -----
        Both formulas become reduced ordered decision diagrams, the names in order of appearance;
        equal functions are the same diagram (Bryant 1986, doi:10.1109/TC.1986.1676819).  The
        cost is the size of the diagrams, which is small for most formulas that people write and
        exponential for some.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> parse("~(a & b)").equivalent(parse("~a | ~b"))
        True
        """
        functions = self._two(other, "equivalent()")
        return functions.tops[0] == functions.tops[1]

    def implies(self, other: F | bool) -> bool:
        """Whether another formula is true wherever this one is: f ⊨ g.

        Parameters, errors and cost are those of :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> parse("a & b").implies(parse("a")), parse("a").implies(parse("a & b"))
        (True, False)
        """
        functions = self._two(other, "implies()")
        return functions.diagrams.apply("0100", *functions.tops) == 0

    def is_tautology(self) -> bool:
        """Whether the formula is true for all values of its names.

        Errors and cost are those of :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> parse("((a -> b) -> a) -> a").is_tautology()
        True
        """
        return self._function("is_tautology()").tops[0] == 1

    def is_contradiction(self) -> bool:
        """Whether the formula is false for all values of its names.

        Errors and cost are those of :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> parse("a & (a -> b) & ~b").is_contradiction()
        True
        """
        return self._function("is_contradiction()").tops[0] == 0

    def is_satisfiable(self) -> bool:
        """Whether the formula is true for some values of its names.

        Errors and cost are those of :meth:`equivalent`.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> parse("(a ^ b) & (b ^ c) & (a ^ c)").is_satisfiable()
        False
        """
        return self._function("is_satisfiable()").tops[0] != 0

    def count_models(self, over: Collection[F] | None = None) -> int:
        """How many assignments to the names make the formula true, exactly.

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
        >>> from formulakern.syntax.parser import parse
        >>> parse("a | b | c").count_models()
        7
        >>> parse(" ^ ".join(f"x{i}" for i in range(200))).count_models() == 2**199
        True
        """
        functions = self._function("count_models()")
        n = len(functions.letters)
        found = count_models(functions.diagrams, functions.tops[0], n)
        if over is None:
            return found
        names = set(over)
        for letter in functions.letters:
            if letter not in names:
                raise ParameterError(
                    f"count_models(over=…) leaves out {str(letter)!r}, which the formula has. "
                    "Name all of its variables: formula.variables."
                )
        return found << (len(names) - n)

    def models(self) -> Iterator[dict[F, bool]]:
        """The assignments that make the formula true, one by one, true before false.

        Errors are those of :meth:`equivalent`; the first model comes after the cost of the
        diagram, and every next one in time linear in the number of names.

        Yields
        ------
        dict of Variable or Choice to bool

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> for model in parse("a -> b & c").models():
        ...     print({str(name): int(value) for name, value in model.items()})
        {'a': 1, 'b': 1, 'c': 1}
        {'a': 0, 'b': 1, 'c': 1}
        {'a': 0, 'b': 1, 'c': 0}
        {'a': 0, 'b': 0, 'c': 1}
        {'a': 0, 'b': 0, 'c': 0}
        """
        functions = self._function("models()")
        letters = functions.letters
        for model in models(functions.diagrams, functions.tops[0], len(letters)):
            yield dict(zip(letters, model, strict=True))

    def truth_table(self) -> TruthTable:
        """The truth value for all values of the names, in the order 11, 10, 01, 00.

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
        >>> from formulakern.syntax.parser import parse
        >>> print(parse("a ^ b").truth_table())
        a  b │ a ^ b
        1  1 │ 0
        1  0 │ 1
        0  1 │ 1
        0  0 │ 0
        """
        return truth_table(self._self)

    def simplify(self, form: WantedForm = "shortest") -> MinimalForm[F]:
        """An equivalent formula with the fewest terms, and of those the fewest literals.

        Parameters
        ----------
        form : {"shortest", "dnf", "cnf"}
            A disjunction of conjunctions, a conjunction of disjunctions, or the one of both that
            has fewer literals (the formula as it is, where that has still fewer leaves).

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
        The terms are chosen from all prime implicants, by integer programming where more than one
        choice is left (Quine 1952, doi:10.1080/00029890.1952.11988183; McCluskey 1956,
        doi:10.1002/j.1538-7305.1956.tb03835.x).  The result is exact if there are at most 4,000
        prime implicants, at most 16 names in those that are not needed anyway, and the search
        among these ends within its limit.  Else it is a cover by prime implicants, with a proved
        lower bound.

        Examples
        --------
        >>> from formulakern.syntax.parser import parse
        >>> short = parse("a & b | ~a & c | b & c").simplify()
        >>> short.formula, short.exact
        (Formula('a & b | ~a & c'), True)
        >>> parse("a & c | a & d | b & c | b & d").simplify().formula
        Formula('(a | b) & (c | d)')
        """
        return simplified(self._self, form)
