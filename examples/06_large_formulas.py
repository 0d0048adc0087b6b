"""Formulas with sixty literals: values beyond 1e100, and beyond float64
=====================================================================

Counts of substitutions grow like n to the power of the number of variables.  They are computed
without cancellation, so they are accurate to the last digits.  If they exceed float64, use the
share of substitutions or the cosine instead.
"""

import textwrap

import numpy as np

import formulakern as fk

# %%
# Four hundred rows of a hundred columns.
generator = np.random.default_rng(0)
X = (generator.random((400, 100)) < 0.5).astype(np.uint8)

# %%
# Thirty conditions of two literals, all of which must hold: 60 literals in all.
formula = " & ".join(f"(a{i} | ~b{i})" for i in range(30))
k = fk.kernel(formula)
print(f"{formula[:50]} … : {k.formula.n_leaves} literals")
print(f"features on 100 columns: {float(k.dimension(100)):.3g}")

gram = k(X)
print(f"kernel values: {gram.min():.6e} to {gram.max():.6e}")

# %%
# The conditions share no variable, so the exact value is the 30th power of an integer.
pair = fk.kernel("a | ~b", backend="interpreter")(X[:3])
exact = [[int(value) ** 30 for value in row] for row in pair]
error = max(abs(int(gram[i, j]) - exact[i][j]) / exact[i][j] for i in range(3) for j in range(3))
print(f"largest relative error against exact integers: {error:.1e}\n")

# %%
# Ten times as many literals: the counts exceed float64, and the library raises an error.
formula = " & ".join(f"(a{i} | ~b{i})" for i in range(300))
large = fk.kernel(formula)
print(f"{large.formula.n_leaves} literals, {len(str(large.dimension(100))):,}-digit dimension:")
try:
    large(X)
except fk.MagnitudeError as refusal:
    print(textwrap.fill(str(refusal), 96, initial_indent="    ", subsequent_indent="    "), "\n")

# %%
# The share of substitutions, and the cosine, stay within float64.
share = fk.kernel(formula, scale="probability")
values = share(X)
print(f"shares of true substitutions: {values.min():.3e} to {values.max():.3e}")

cosine = large.normalized()
values = cosine(X)
off = values[~np.eye(len(X), dtype=bool)]
print(f"cosines: {off.min():.3e} to {off.max():.3e} off the diagonal, 1 on it")
print(f"both scales give the same cosines: {np.allclose(share.normalized()(X), values, rtol=1e-9)}")

# %%
# The parser reads long formulas too.
many = fk.parse(" | ".join(f"(x{i} & ~y{i})" for i in range(2_000)))
print(f"\nAnother formula has {many.n_leaves:,} literals in {len(str(many)):,} characters.")
