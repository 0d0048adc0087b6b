"""From a formula to a kernel, a Gram matrix, and the features that it counts
==========================================================================

A formula is a template: put a column of a 0/1 table in the place of every variable, and you get one
Boolean feature of a row.  The kernel is the inner product of all these features.
"""

import itertools

import numpy as np

import formulakern as fk

# %%
# Four animals, and five propositions about each of them.
names = ["dog", "bat", "crow", "trout"]
table = np.array(
    [
        # fur  legs  wings  eggs  fins
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 0, 1, 1],
    ]
)

# %%
# The formula ``a & ~b`` has one feature for every pair of columns: "the first is true, the second
# is not".  Its kernel counts the features that are true in both rows.
k = fk.kernel("a & ~b")
print("The kernel", k, "on four animals:\n")
gram = k(table)
print("        " + "".join(f"{name:>7}" for name in names))
for name, row in zip(names, gram, strict=True):
    print(f"{name:>8}" + "".join(f"{value:7g}" for value in row))

# %%
# Count the same number by hand: pairs of columns (a, b) with a true and b false in both animals.
dog, bat = table[0], table[1]
by_hand = sum(
    dog[a] and not dog[b] and bat[a] and not bat[b]
    for a, b in itertools.product(range(5), repeat=2)
)
print(f"\nK(dog, bat) = {gram[0, 1]:g}, counted one pair of columns at a time: {by_hand}")

# %%
# The library enumerates nothing: a kernel is a polynomial in four counts.  s: true in both rows;
# p, q: true in the first, in the second; n: all columns.
print(f"\nClosed form: K = {k.polynomial()}")
print(f"Features: {k.dimension(5)} on 5 columns, {k.dimension(10_000):,} on 10,000 columns")

# %%
# The library parses and rewrites a formula and gives it a meaning; then the formula becomes a
# program.  You can inspect every stage.
print("\nEvery stage of a formula's kernel, from the text to the code:\n")
inspection = fk.kernel("~(a -> b) | c").inspect()
for stage in ("text", "tree", "rewrites", "meaning", "program", "closed form"):
    for number, line in enumerate(inspection[stage].splitlines()):
        print(f"{stage if number == 0 else '':>12} │ {line}")

# %%
# Kernels are values: you can add, multiply, scale, normalise and compare them, and print them as
# Python.
both = 0.5 * fk.kernel("a & b").normalized() + fk.kernel("a ^ b")
print(f"\nA sum of kernels: {both}")
print("its Gram matrix:")
print(np.round(both(table), 2))
assert both == eval(repr(both), {"fk": fk})

# %%
# You can also build formulas from variables.  Python's operators have the meaning of the text.
a, b, c = fk.variables("a b c")
assert fk.parse("(a & ~b) | c") == (a & ~b) | c
print(f"\nIn mathematical signs: {((a & ~b) | c).unicode()}; in LaTeX: {((a & ~b) | c).latex()}")

# %%
# An error shows the place of a mistake.
try:
    fk.kernel("(a & ~b | c")
except fk.FormulaSyntaxError as error:
    print(f"\nA mistake: {error}")
