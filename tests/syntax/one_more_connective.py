"""Run with rows as arguments: the table of connectives gets these lines, and all else follows.

Parser, printer, messages, rewriting, the three readings, rules over columns and their SQL, and
random formulas are compared with the truth table and with the enumeration in ``tests/oracle.py``.
"""

import importlib.util
import itertools
import sqlite3
import sys
from collections.abc import Callable


def add(*lines: str) -> None:
    """Import the module of the table from a source that has more lines."""
    spec = importlib.util.find_spec("formulakern.syntax.connectives")
    head = "CONNECTIVES: tuple[Connective, ...] = (\n"
    source = spec.loader.get_source(spec.name)
    assert source.count(head) == 1
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    more = "".join(f"    {line},\n" for line in lines)
    exec(compile(source.replace(head, head + more), spec.origin, "exec"), vars(module))


add(*sys.argv[1:])

import numpy as np  # noqa: E402
import oracle  # noqa: E402
import pytest  # noqa: E402
from hypothesis import Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from strategies import countable  # noqa: E402

import formulakern as fk  # noqa: E402
from formulakern.rewrite import rewrite, rules  # noqa: E402
from formulakern.semantics import READINGS  # noqa: E402
from formulakern.syntax.connectives import (  # noqa: E402
    CONNECTIVES,
    is_bare,
    spell,
)
from formulakern.syntax.formula import (  # noqa: E402
    Formula,
    Operation,
    postorder,
)
from formulakern.syntax.parser import parse_rule  # noqa: E402

A, B, C = fk.variables("a b c")
X = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]])


def uses(formula: Formula) -> bool:
    return any(node.connective is ROW for node in postorder(formula))


def refused(text: str) -> str:
    """The message with which a text is refused."""
    with pytest.raises(fk.FormulaSyntaxError) as caught:
        fk.parse(text)
    return str(caught.value)


def reads_and_prints() -> None:
    for sign in ROW.spellings:
        for text in (f"a {sign} b", f"a {sign.upper()} b", f"(a){sign}(b)"):
            assert fk.parse(text) == parse_rule(text) == Operation(ROW, (A, B)), text
        assert is_bare(sign) is False
        assert fk.parse(f"{spell(sign)} & a").variables[0].name == sign
    assert ROW.name in fk.kernel(Operation(ROW, (A, B))).inspect()["tree"]
    assert ROW.latex in Operation(ROW, (A, B)).latex()
    chain = f"a {ROW.sign} b {ROW.sign} c"
    if ROW.chain == "refused":
        assert ROW.name in refused(chain)
        assert "parentheses" in refused(chain)
    elif ROW.chain == "flat":
        assert fk.parse(chain).arguments == (A, B, C)
    else:
        assert fk.parse(chain) == Operation(ROW, (A, Operation(ROW, (B, C))))
    for text in (f"a {ROW.sign} | b", f"{ROW.sign} a", f"a {ROW.sign}"):
        assert f'"{ROW.sign}"' in refused(text)


AROUND = (lambda f: f, lambda f: ~f, lambda f: f & C, lambda f: C >> f, lambda f: _new(f, B))


def _new(*arguments: Formula) -> Formula:
    return Operation(ROW, arguments)


PART = countable(2, letters="abc")


@settings(max_examples=20, deadline=None, database=None, phases=[Phase.generate])
@given(PART, PART, st.sampled_from(AROUND))
def counts_what_the_definition_counts(
    left: Formula, right: Formula, around: Callable[[Formula], Formula]
) -> None:
    formula = around(_new(left, right))
    assert fk.parse(str(formula)) == fk.parse(formula.unicode()) == formula
    for reading in READINGS:
        kernel = fk.kernel(formula, reading, backend="interpreter")
        assert (kernel(X) == oracle.gram(formula, X, X, reading).astype(float)).all()
        assert kernel.dimension(3) == oracle.dimension(formula, 3, reading)
        after = kernel.rewriting.formula
        # a rule for two arguments leaves longer chains and, in "free", dropped arguments alone
        kept = [node for node in postorder(after) if node.connective is ROW]
        assert all(len(node.arguments) > 2 for node in kept) or reading == "free"
        assert rewrite(after, reading).passes == ()


def is_rewritten_soundly() -> None:
    (rule,) = [r for r in rules("definitions") if r.left.connective is ROW]
    keeps_both = set(rule.left.variables) == set(rule.right.variables)
    assert ("free" in rule.sound_for) == keeps_both
    for reading in rule.sound_for:
        expected = oracle.gram(rule.left, X, X, reading)
        assert (oracle.gram(rule.right, X, X, reading) == expected).all()


def holds_in_rules() -> None:
    table = {"x": [1, 1, 0, 0], "y": ["u", "v", "u", "v"]}
    rule = fk.rule(f"x = 1 {ROW.sign} y = u")
    assert "".join("01"[int(value)] for value in rule(table)) == ROW.truth
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (x, y)")
    database.executemany("INSERT INTO t VALUES (?, ?)", zip(*table.values(), strict=True))
    found = set(database.execute(rule.to_sql("t", "sqlite")))
    rows = zip(*table.values(), strict=True)
    assert "".join("01"[row in found] for row in rows) == ROW.truth


def is_asked_questions_of_logic() -> None:
    formula = _new(*fk.variables("a b c")[: 3 if ROW.chain == "flat" else 2])
    table = formula.truth_table()
    assert all(value == ROW(*arguments) for *arguments, value in table)
    forms = (formula.to_nnf(), formula.to_dnf(), formula.to_cnf(), formula.simplify().formula)
    for found in (*forms, fk.parse(formula.to_sympy())):
        assert not uses(found) or found == formula == forms[3]
        assert found.equivalent(formula)
    named = formula.to_cnf(tseitin=True)
    everywhere = {*formula.variables, *named.variables}
    assert named.count_models(everywhere) == sum(table.values)


def is_drawn_at_random() -> None:
    drawn = (fk.random_formula(random_state=seed) for seed in itertools.count())
    assert any(map(uses, itertools.islice(drawn, 200)))


if __name__ == "__main__":
    for ROW in CONNECTIVES[: len(sys.argv) - 1]:  # noqa: B007 (all functions read it)
        reads_and_prints()
        counts_what_the_definition_counts()
        is_rewritten_soundly()
        holds_in_rules()
        is_asked_questions_of_logic()
        is_drawn_at_random()
