"""Questions of logic: the meaning of a formula, its shortest form, and rules over columns
=======================================================================================

Formulas have methods of their own, which need no kernel.
"""

import textwrap

import formulakern as fk

# %%
# A truth table in the order 11, 10, 01, 00.  Counting its true rows does not need the table.
f = fk.parse("(a -> b) & (b -> c)")
print(f.truth_table())
chain = fk.parse(" & ".join(f"(x{i} -> x{i + 1})" for i in range(300)))
print(f"\n{chain.count_models()} of 2^301 assignments make a chain of 300 implications true")

# %%
# Questions about all assignments at once; every answer is exact.
a, b, c = fk.variables("a b c")
print("\nDe Morgan:              ", (~(a & b)).equivalent(~a | ~b))
print("a and b imply a xor b:  ", (a & b).implies(a ^ b))
print("Peirce's law:           ", fk.parse("((a -> b) -> a) -> a").is_tautology())
print("three different truths: ", ((a ^ b) & (b ^ c) & (a ^ c)).is_satisfiable())

# %%
# The shortest form, and whether it is proven that no shorter form exists.
print("\nShorter:")
for text in ("a & b | ~a & c | b & c", "a & c | a & d | b & c | b & d", "a ^ b ^ c"):
    print(f"\n{text}\n= {fk.parse(text).simplify()}")

# %%
# Normal forms: negations at the leaves, terms, clauses.  Clauses with a new name for every
# operation remain few.
parity = fk.parse(" ^ ".join("abcdefghijkl"))
print(f"\nnegations inside:  {fk.parse('~(a -> b & c)').to_nnf()}")
print(f"terms:             {f.to_dnf()}")
print(f"clauses:           {fk.parse('a & b | c').to_cnf()}")
print(f"xor of 12 names:   {parity.to_nnf().n_leaves} literals with negations inside,")
print(f"                   {len(parity.to_cnf(tseitin=True).arguments)} clauses with new names")
try:
    fk.parse(" ^ ".join(f"x{i}" for i in range(40))).to_dnf()
except fk.FormulaSizeError as refused:
    print(textwrap.fill(f"xor of 40 names:   {refused}", 100))

# %%
# Other tools: SymPy there and back, a file for solvers, a drawing for Graphviz.
print(f"\nSymPy:   {f.to_sympy()}")
print(f"back:    {fk.parse(f.to_sympy())}")
print("DIMACS: ", " / ".join(fk.parse("(a | ~b) & c").to_dimacs().splitlines()[-3:]))
print(f"drawing: {len(f.to_dot('diagram').splitlines())} lines for dot -Tsvg")

# %%
# Rules use the order of comparisons of one column.  A comparison with a missing entry is false, so
# "x <= 3 or x > 3" is true exactly if x is not missing.
print("\nRules:")
for text in (
    "x >= 3 & x >= 5",
    "color = red & color = blue",
    "x >= 0 & x < 1 | x >= 1 & x < 2 | x >= 2 & x < 3",
    "x <= 3 | x > 3",
):
    print(f"{text:>48}  =  {fk.rule(text).simplify().rule}")
rule = fk.rule("x <= 3 | x > 3")
print(f"always true: {rule.is_tautology()}; if no entry is missing: ", end="")
print(rule.is_tautology(missing=False))
adult, tall = fk.rule("age >= 18 & height > 170"), fk.rule("age > 12")
print(f"{adult}  implies  {tall}: {adult.implies(tall)}")
