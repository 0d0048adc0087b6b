"""Conditions on columns as Boolean functions of their comparisons, of which not all go together.

A comparison is a letter; that ``x >= 5`` without ``x >= 3`` cannot be, is a function of the letters
too: what is possible.  It is built from the cases of every column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from formulakern.errors import FormulaError
from formulakern.rules.cases.assignments import Assignments
from formulakern.syntax.comparison import Comparison
from formulakern.syntax.formula import FALSE, TRUE, Formula, Variable
from formulakern.syntax.logic.covers import Cube
from formulakern.syntax.logic.diagrams import Diagrams
from formulakern.syntax.logic.forms import Form, both, either
from formulakern.syntax.logic.simplify import MinimalForm, WantedForm, shortest_form
from formulakern.syntax.traversal import fold

__all__ = ["ConditionFunctions", "simplified_condition"]

#: Where no entry is missing, the comparison that is true where another is false.
OPPOSITES = {"=": "!=", "<": ">=", ">": "<=", "in": "not in", "is missing": "is not missing"}
OPPOSITES |= {opposite: relation for relation, opposite in OPPOSITES.items()}


class ConditionFunctions:
    """The functions of some conditions, and which truth values are possible together.

    Parameters
    ----------
    formulas : iterable of Formula
    domains, missing
        As for :meth:`formulakern.Rule.simplify`.
    more : iterable of Formula
        Comparisons that get letters too.

    Attributes
    ----------
    possible : int
        The diagram of what is true of some row.
    letters : list of Formula
        Those of one column stand together.
    """

    def __init__(
        self,
        formulas: Iterable[Formula],
        domains: object = None,
        missing: bool = True,
        more: Iterable[Formula] = (),
    ) -> None:
        self.diagrams = Diagrams("Ask about fewer conditions, or split the rule.")
        self.cases = Assignments.of([*formulas, *more], domains, missing)
        columns = list(self.cases.values)
        self.letters = sorted(self.cases.cases, key=lambda x: columns.index(self.cases.cases[x][0]))
        self.level = {letter: k for k, letter in enumerate(self.letters)}
        self.possible_of = {key: self._possible(key) for key in columns}
        self.possible = self.diagrams.both(list(self.possible_of.values()))

    def function(self, formula: Formula) -> int:
        """The diagram of a condition."""

        def build(node: Formula, values: list[int]) -> int:
            if node.connective is not None:
                return self.diagrams.connect(node.connective.truth, values)
            if node.truth is not None:
                return int(node.truth)
            return self.diagrams.variable(self.level[node])

        return fold(formula, build)

    def of_column(self, key: object) -> list[Formula]:
        """The letters of one column."""
        return [letter for letter in self.letters if self.cases.cases[letter][0] == key]

    def _possible(self, key: str | Formula) -> int:
        """The diagram of the truth values that the letters of a column have in some case of it."""
        own = [(self.level[x], self.cases.cases[x][1]) for x in self.of_column(key)]
        cases = []
        for case in range(len(self.cases.values[key])):
            node = 1
            for level, bits in reversed(own):
                node = self.diagrams.node(level, *((node, 0) if bits >> case & 1 else (0, node)))
            cases.append(node)
        return self.diagrams.either(cases)

    def is_somewhere(self, function: int, question: str) -> bool:
        """Whether a function is true of some row.

        Raises
        ------
        FormulaError
            If that depends on a comparison of two columns, or of a date and of its parts, whose
            values are not independent of the others.
        """
        d = self.diagrams
        rows = d.both([function, self.possible])
        if not rows:
            return False
        two = [key for key in self.cases.values if not isinstance(key, str)]
        parts = [key for key in self.cases.bases if self.cases.bases[key] in self.cases.values]
        whole = list(dict.fromkeys(self.cases.bases[key] for key in parts))
        rows = self._whatever(rows, two)
        if any(self._whatever(rows, keys) for keys in (parts, whole)):
            return True
        pair = next((letter for key in [*two, *parts] for letter in self.of_column(key)), None)
        raise FormulaError(
            f"{question} depends on {str(pair)!r} together with other conditions, which logic does "
            "not decide here. Compare the rules on a table: (rule(table) == other(table)).all()."
        )

    def _whatever(self, rows: int, keys: Sequence[str | Formula]) -> int:
        """The rows that are there whatever the entries of some columns are."""
        d = self.diagrams
        levels = {self.level[letter] for key in keys for letter in self.of_column(key)}
        if not levels:
            return rows
        possible = d.both([self.possible_of[key] for key in keys])
        always = d.quantified(d.apply("1011", possible, rows), levels, "1000")
        return d.both([always, self.possible])


def simplified_condition(
    formula: Formula, form: WantedForm, domains: object, missing: bool
) -> MinimalForm[Formula]:
    """What :meth:`formulakern.Rule.simplify` documents."""
    more = list(_tests_of_missing(formula))

    def functions() -> ConditionFunctions:
        return ConditionFunctions([formula], domains, missing, more)

    def between() -> tuple[Diagrams, int, int]:
        own = functions()
        d, top = own.diagrams, own.function(formula)
        return d, d.both([top, own.possible]), d.apply("1101", top, own.possible)

    letters = functions().letters
    opposites = [other for letter in letters if (other := _opposite(letter)) is not None]
    cases = Assignments.of([*letters, *opposites], domains, missing)

    def written(cubes: Sequence[Cube], one: Form) -> Formula:
        parts = []
        for cube in cubes:
            true = cube[one == "cnf"]
            chosen = [
                (letter, bool(true >> k & 1))
                for k, letter in enumerate(letters)
                if sum(cube) >> k & 1
            ]
            parts.append(_said(chosen, cases, one))
        if one == "dnf":
            return either(FALSE, [both(TRUE, part) for part in parts])
        return both(TRUE, [either(FALSE, part) for part in parts])

    return shortest_form(formula, form, between, written)


def _tests_of_missing(formula: Formula) -> Iterator[Formula]:
    """``x is not missing`` for all columns, which may be shorter than what is said of them."""
    for leaf in formula.leaves:
        if isinstance(leaf, Comparison) and leaf.part is None:
            yield Comparison(leaf.column, "is not missing")
        elif isinstance(leaf, Variable) and leaf.domain is None:
            yield Comparison(leaf.name, "is not missing")


def _opposite(letter: Formula) -> Comparison | None:
    """The comparison that is true where another is false, where no entry is missing."""
    if not isinstance(letter, Comparison) or letter.relation not in OPPOSITES:
        return None
    return letter.replaced(relation=OPPOSITES[letter.relation])


def _said(
    literals: Sequence[tuple[Formula, bool]], cases: Assignments, form: Form
) -> list[Formula]:
    """The literals of a term or clause, negated ones as opposite comparisons where that is equal.

    One may differ where another literal of the term is false, or of the clause true.
    """
    said = []
    for letter, sign in literals:
        key, bits = cases.cases[letter]
        said.append((letter, letter, bits) if sign else (~letter, letter, cases.all[key] & ~bits))
    for k, (letter, sign) in enumerate(literals):
        key = cases.cases[letter][0]
        opposite = _opposite(letter)
        if sign or opposite is None or cases.cases[opposite][0] != key:
            continue
        bits = cases.cases[opposite][1]
        differ = bits ^ said[k][2]
        for j, (_, other, allowed) in enumerate(said):
            if j != k and cases.cases[other][0] == key:
                differ &= allowed if form == "dnf" else ~allowed
        if not differ:
            said[k] = opposite, letter, bits
    return [formula for formula, *_ in said]
