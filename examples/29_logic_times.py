"""The same questions of logic in formulakern, SymPy and pyeda, in one run
=======================================================================

In a shell::

    python examples/29_logic_times.py            # two minutes
    python examples/29_logic_times.py --quick    # seconds

The table shows CPU seconds next to each result, and "more than" if a library was stopped.
formulakern requires SymPy; pyeda is a separate package (``pip install pyeda``), and its column is
"not installed" without it.  pyeda's shortest forms are Espresso's, which have no proof.
"""

import argparse
import random
import signal
import time

import sympy
from sympy.logic.boolalg import simplify_logic, to_nnf
from sympy.logic.inference import satisfiable

import formulakern as fk

try:
    import pyeda.inter as pyeda
except ImportError:
    pyeda = None


class Stopped(BaseException):
    """Derived from BaseException, so that no library catches it."""


def measured(call, limit):
    """Return CPU seconds and the result, which is None after a stop."""

    def stop(*_):
        raise Stopped

    before = signal.signal(signal.SIGVTALRM, stop)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        answer = call()
    except Stopped:
        return time.process_time() - began, None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - began, answer


def cell(call, limit):
    if call is None:
        return "not installed"
    seconds, answer = measured(call, limit)
    if answer is None:
        return f"more than {limit} s"
    return f"{f'{seconds:.2f}' if seconds >= 0.01 else 'under 0.01'} s, {answer}"


# -- formulas ----------------------------------------------------------------------------------


def terms(n, m, seed):
    """Return a disjunction of m conjunctions of three to five of n variables."""
    drawn = random.Random(seed)
    parts = []
    for _ in range(m):
        chosen = drawn.sample(range(n), drawn.randint(3, 5))
        parts.append(" & ".join(f"{drawn.choice(['', '~'])}x{i}" for i in sorted(chosen)))
    return fk.parse(" | ".join(f"({part})" for part in parts))


def carry(n, ripple):
    """Return the last carry of the sum of two n-bit numbers, in one of two forms."""
    c = fk.Variable("c")
    for i in range(n):
        a, b = fk.variables(f"a{i} b{i}")
        c = a & b | c & ((a ^ b) if ripple else (a | b))
    return c


def parity(n):
    return fk.parse(" ^ ".join(f"x{i}" for i in range(n)))


# -- questions, in three languages ----------------------------------------------------------------


def size(found):
    """Return the numbers of terms and literals of a SymPy form."""
    n_terms = len(found.args) if found.func is sympy.Or else 1
    n_literals = sum(node.is_Symbol for node in sympy.preorder_traversal(found))
    return f"{n_terms} terms, {n_literals} literals"


def shortest(f):
    text, expression = str(f), f.to_sympy()

    def ours():
        found = f.simplify("dnf")
        return f"{found.n_parts} terms, {found.n_literals} literals" + ", proved" * found.exact

    def espresso():
        (found,) = pyeda.espresso_exprs(pyeda.expr(text).to_dnf())
        n_literals = sum(len(getattr(term, "xs", [term])) for term in found.xs)
        return f"{len(found.xs)} terms, {n_literals} literals"

    return (
        ours,
        lambda: size(simplify_logic(expression, form="dnf", force=True, deep=False)),
        pyeda and espresso,
    )


def equal(f, g):
    texts, expressions = (str(f), str(g)), (f.to_sympy(), g.to_sympy())
    return (
        lambda: f.equivalent(g),
        lambda: not satisfiable(sympy.Xor(*expressions, evaluate=False)),
        pyeda and (lambda: pyeda.expr(texts[0]).equivalent(pyeda.expr(texts[1]))),
    )


def over_paths(diagram):
    """Return the number of models of a pyeda diagram, from its list of paths."""
    n = len(diagram.support)
    return sum(2 ** (n - len(path)) for path in diagram.satisfy_all())


def counted(f):
    text, expression = str(f), f.to_sympy()
    return (
        lambda: f"{f.count_models():,}",
        lambda: f"{sum(1 for _ in satisfiable(expression, all_models=True)):,}",
        pyeda and (lambda: f"{over_paths(pyeda.expr2bdd(pyeda.expr(text))):,}"),
    )


def negations_inside(f):
    text, expression = str(f), f.to_sympy()

    def leaves(found):
        return len(str(found).split("x")) - 1

    return (
        lambda: f"{f.to_nnf().n_leaves:,} literals",
        lambda: f"{leaves(to_nnf(expression)):,} literals",
        pyeda and (lambda: f"{leaves(pyeda.expr(text).to_nnf()):,} literals"),
    )


def questions(quick):
    n = 6 if quick else 10
    for seed in range(1 if quick else 3):
        yield "shortest dnf", f"{n} terms of {n} names, seed {seed}", shortest(terms(n, n, seed))
    if not quick:
        yield "shortest dnf", "24 terms of 14 names", shortest(terms(14, 24, 0))
    for n in (2,) if quick else (4, 12, 64):
        yield "equivalent", f"carry of {n} bits in two ways", equal(carry(n, True), carry(n, False))
    for n in (2,) if quick else (4, 12, 64):
        yield "count models", f"carry of {n} bits", counted(carry(n, True))
    n = 6 if quick else 12
    yield "negations inside", f"xor of {n} names", negations_inside(parity(n))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small formulas")
    parser.add_argument("--limit", type=int, default=20, help="CPU seconds of one question")
    options = parser.parse_args()
    (fk.parse("a ^ b & ~c")).simplify()  # libraries are loaded before the clock runs
    covering = "a & b | ~a & ~b | b & c | ~b & ~c | a & ~c | ~a & c"
    fk.parse(covering).simplify()
    if pyeda is None:
        print("pyeda is not installed (pip install pyeda).")
    print("| question | formula | formulakern | SymPy | pyeda |\n|---|---|---|---|---|")
    for question, what, asked in questions(options.quick):
        answers = [cell(call, options.limit) for call in asked]
        print(f"| {question} | {what} | {' | '.join(answers)} |", flush=True)


if __name__ == "__main__":
    main()
