"""A concrete rule over named columns; it parses from text, applies to tables, and prints."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formulakern.docstrings import parameters_from
from formulakern.encoding.propositions import evaluate_formula
from formulakern.errors import ParameterError
from formulakern.partitions.lazy_rows import lazily
from formulakern.rules.cases import RowFunctions, simplified_condition
from formulakern.rules.conditions import inferred_types, read_types
from formulakern.rules.python.files import PythonFile
from formulakern.rules.sql import DialectName, Query, TableName
from formulakern.syntax.formula import Constant, Formula, MinimalForm, Variable, WantedForm, fold
from formulakern.syntax.leaves import ColumnName, Comparison
from formulakern.syntax.parser import parse_rule
from formulakern.tables.table import Table


def rule(condition: str | Formula) -> Rule:
    """Return the rule with this condition.

    Parameters
    ----------
    condition : str or Formula
        Comparisons of columns, joined like formulas:
        ``odor = foul & gill_size >= 3 & ~(cap in {red, blue}) | `stalk root` != "?"``.  On the
        right of a comparison, a bare or quoted word is a value, and a name in backquotes is another
        column.  A name alone is a Boolean column.

    Returns
    -------
    Rule
        A function of a table.

    Raises
    ------
    FormulaSyntaxError
        If the text is not a condition; the message marks the position with a caret.

    Examples
    --------
    >>> monks_1 = rule("a1 = `a2` | a5 = 1")
    >>> monks_1({"a1": [1, 2, 3], "a2": [1, 3, 1], "a5": [4, 1, 2]})
    array([ True,  True, False])
    >>> monks_1
    fk.rule('a1 = `a2` | a5 = 1')
    """
    if isinstance(condition, str):
        return Rule(parse_rule(condition))
    if isinstance(condition, Formula):
        return Rule(condition)
    raise ParameterError(
        f"a rule is made of a str or a Formula; got {type(condition).__name__}. "
        "Write, for example, fk.rule('odor = foul & gill_size >= 3')."
    )


def _joins(join: Callable[[Formula, Formula], Formula]) -> Callable[[Rule, object], Rule]:
    """Return an operator of rules from an operator of formulas."""

    def joined(left: Rule, right: object) -> Rule:
        if not isinstance(right, Rule):
            return NotImplemented  # type: ignore[no-any-return]
        return Rule(join(left.formula, right.formula))

    return joined


@dataclass(frozen=True, repr=False)
class Rule:
    """A condition on the rows of a table; build it with :func:`rule`.

    Rules combine like formulas (``&``, ``|``, ``^``, ``~``, ``>>``) and compare by value.  The
    ``str`` of a rule parses back to it.

    Parameters
    ----------
    formula : Formula
        A formula of comparisons, Boolean columns and constants.

    Examples
    --------
    >>> foul = rule("odor = foul") & ~rule("size >= 3")
    >>> foul({"odor": ["foul", "foul", "none"], "size": [2, 5, 1]})
    array([ True, False, False])
    >>> print(foul)
    odor = foul & ~(size >= 3)
    """

    formula: Formula

    @lazily
    def __call__(self, table: Any) -> npt.NDArray[np.bool_]:
        """Return True for each row that satisfies the rule.

        Parameters
        ----------
        table : pandas or polars DataFrame, mapping of columns, array-like or Table

        Returns
        -------
        ndarray of shape (rows,), bool
            Comparisons with a missing entry are false.

        Raises
        ------
        DataError
            If a column is absent (the message names the nearest) or cannot be compared.
        """
        return evaluate_formula(self.formula, Table.of(table))

    def to_sql(
        self, table: TableName = "data", dialect: DialectName = "standard", *, types: Any = None
    ) -> str:
        """Return an SQL query that selects the rows of a table that satisfy the rule.

        Parameters
        ----------
        table : str, or sequence of str
            The name of the table.  Dots separate a schema from its table, unless the parts are
            given: ``("schema", "my.table")``.
        dialect : {"standard", "sqlite", "duckdb", "postgres", "mysql", "bigquery", "spark"}
            The dialect of SQL.
        types : mapping of column to type, or a table, optional
            The types of columns, as for :meth:`formulakern.RuleEnsemble.to_sql`.

        Returns
        -------
        str
            The query; in it, a comparison with NULL or NaN is false.

        Raises
        ------
        DataError
            If a condition cannot be written in SQL, or a name cannot be written in this dialect.
        ParameterError
            If the dialect, a type or the table is not valid.

        Examples
        --------
        >>> print(rule("odor = foul & ~(size >= 3)").to_sql("mushrooms"))
        SELECT "mushrooms".*
        FROM "mushrooms"
        WHERE ("mushrooms"."odor" = 'foul' AND ("mushrooms"."size" >= 3) IS NOT TRUE)
        """
        known = inferred_types([self.formula]) | read_types(types)
        query = Query(table, dialect, self.columns, known)
        return query.rows(query.writer.expression(self.formula))

    def to_python(self) -> str:
        """Return a Python file with a function that decides if one row satisfies the rule.

        Returns
        -------
        str
            It defines ``predict(row, missing=())``; see :meth:`formulakern.RuleEnsemble.to_python`.

        Raises
        ------
        DataError
            If the rule does not read named columns.

        Examples
        --------
        >>> made = {}
        >>> exec(rule("odor = foul & ~(size >= 3)").to_python(), made)
        >>> made["predict"]({"odor": "foul", "size": 2})
        True
        """
        file = PythonFile()
        found = file.conditions.condition(self.formula).text
        about = "Return True if a row satisfies the rule."
        file.define("predict", about, "bool", [f"return {found}"], reads=True)
        return file.text()

    def simplify(
        self, form: WantedForm = "shortest", *, domains: Any = None, missing: bool = True
    ) -> MinimalRule:
        """Return an equivalent rule with the fewest conditions in the fewest terms.

        Parameters
        ----------
        form : {"shortest", "dnf", "cnf"}
            The form, as for :meth:`formulakern.Formula.simplify`.
        domains : mapping of column to allowed values or ``int``, or table, optional
            The possible entries: None for missing, ``int`` for whole numbers; any entry by default.
        missing : bool
            True if entries of columns without allowed values may be missing.  Comparisons with a
            missing entry are false, so ``x <= 3 | x > 3`` means that x is not missing.

        Returns
        -------
        MinimalRule
            The ``rule``.  ``exact`` is True if it is proved that no rule of this form is shorter,
            among rules made of the same comparisons, their negations and ``is not missing``.

        Raises
        ------
        FormulaError
            If text is compared by an order that is not known.
        FormulaSizeError
            If a decision diagram exceeds its limits.

        Examples
        --------
        >>> print(rule("x >= 3 & x >= 5").simplify().rule)
        x >= 5
        >>> print(rule("x = a & (y > 2 | y <= 2) | x = b & x = c").simplify(missing=False).rule)
        x = a
        >>> print(rule("x <= 3 | x > 3").simplify().rule)
        x is not missing
        """
        return MinimalRule(**vars(simplified_condition(self.formula, form, domains, missing)))

    def equivalent(self, other: Rule | str, *, domains: Any = None, missing: bool = True) -> bool:
        """Return True if two rules are true of the same rows, among all possible rows.

        Parameters
        ----------
        other : Rule or str
        domains, missing
            The possible entries, as for :meth:`simplify`.

        Raises
        ------
        FormulaError
            If the result depends on a comparison of two columns, or on an unknown order.
        FormulaSizeError
            If a decision diagram exceeds its limits.

        Examples
        --------
        >>> equal = rule("~(x > 3)").equivalent
        >>> equal(rule("x <= 3")), equal(rule("x <= 3"), missing=False)
        (False, True)
        """
        return not self._somewhere(self ^ _as_rule(other), "equivalent()", domains, missing)

    def implies(self, other: Rule | str, *, domains: Any = None, missing: bool = True) -> bool:
        """Return True if this rule implies another one; parameters as for :meth:`equivalent`.

        >>> rule("x >= 5 & y = red").implies(rule("x > 3"))
        True
        """
        return not self._somewhere(self & ~_as_rule(other), "implies()", domains, missing)

    def is_tautology(self, *, domains: Any = None, missing: bool = True) -> bool:
        """Return True if every possible row satisfies the rule; parameters as for :meth:`simplify`.

        >>> split = rule("x <= 3 | x > 3")
        >>> split.is_tautology(), split.is_tautology(missing=False)
        (False, True)
        """
        return not self._somewhere(~self, "is_tautology()", domains, missing)

    def is_satisfiable(self, *, domains: Any = None, missing: bool = True) -> bool:
        """Return True if a possible row satisfies the rule; parameters as for :meth:`simplify`.

        >>> rule("x = a & x = b").is_satisfiable()
        False
        """
        return self._somewhere(self, "is_satisfiable()", domains, missing)

    def is_contradiction(self, *, domains: Any = None, missing: bool = True) -> bool:
        """Return True if no possible row satisfies the rule; parameters as for :meth:`simplify`.

        >>> rule("x >= 5 & x < 3").is_contradiction()
        True
        """
        return not self._somewhere(self, "is_contradiction()", domains, missing)

    def _somewhere(self, asked: Rule, property_name: str, domains: Any, missing: bool) -> bool:
        functions = RowFunctions([asked.formula], domains, missing)
        return bool(functions.rows(functions.of(asked.formula), property_name))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule reads, in order of appearance."""
        found: dict[str, None] = {}
        for leaf in self.formula.leaves:
            if isinstance(leaf, Variable):
                found.setdefault(leaf.name)
            elif isinstance(leaf, Comparison):
                found.setdefault(leaf.column)
                others = (v.name for v in leaf.values if isinstance(v, ColumnName))
                found.update(dict.fromkeys(others))
        return tuple(found)

    @property
    def n_conditions(self) -> int:
        """The number of comparisons and Boolean columns in the rule, with repetition.

        >>> rule("odor = foul & size >= 3 | odor = foul & ring").n_conditions
        4
        """

        def count(node: Formula, parts: list[int]) -> int:
            return sum(parts) if parts else int(not isinstance(node, Constant))

        return fold(self.formula, count)

    __and__, __or__ = _joins(operator.and_), _joins(operator.or_)
    __xor__, __rshift__ = _joins(operator.xor), _joins(operator.rshift)

    def __invert__(self) -> Rule:
        return Rule(~self.formula)

    def __bool__(self) -> bool:
        return bool(self.formula)  # raises an error with advice

    def __str__(self) -> str:
        return str(self.formula)

    def __repr__(self) -> str:
        return f"fk.rule({str(self)!r})"

    def unicode(self) -> str:
        """Return the rule in mathematical notation."""
        return self.formula.unicode()

    def latex(self) -> str:
        """Return the rule in LaTeX, for use inside math mode."""
        return self.formula.latex()

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def _as_rule(other: Rule | str) -> Rule:
    return other if isinstance(other, Rule) else rule(other)


@parameters_from()
@dataclass(frozen=True)
class MinimalRule(MinimalForm):
    """A short rule that is true of the same rows, with a proof if it is the shortest.

    The proof covers rules made of the same comparisons, their negations and ``is not missing``.

    Examples
    --------
    >>> short = rule("x >= 3 & x >= 5").simplify()
    >>> short.rule, short.exact
    (fk.rule('x >= 5'), True)
    """

    @property
    def rule(self) -> Rule:
        """The formula as a rule."""
        return Rule(self.formula)
