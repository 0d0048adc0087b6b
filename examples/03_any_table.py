"""A table with text, numbers, truth values and gaps: to propositions, to rules, to a classifier
=============================================================================================

Nothing has to be prepared by hand.  The same language names the encoder's columns, and asks
questions of the table.
"""

import numpy as np

import formulakern as fk

# %%
# Forty-eight patients; the rule that makes some of them ill is one that we know.
patients = fk.Table(
    {
        "fever": ["none", "high", "mild", "high", None, "none", "mild", "high"] * 6,
        "age": [34, 61, 47, 8, 25, 70, None, 52] * 6,
        "smoker": [False, True, False, False, True, True, False, True] * 6,
        "ward": [1, 2, 2, 1, 1, 2, 1, 2] * 6,
    }
)
ill = np.where(fk.rule("fever = high | age >= 60 & smoker")(patients), "ill", "well")
print(patients, "\n")

# %%
# An encoder writes the table as propositions, which are true or false in every row.
encoder = fk.PropositionEncoder(cut_points=2)
zeros_and_ones = encoder.fit_transform(patients)
names = encoder.get_feature_names_out()
print(f"{len(names)} propositions; the first rows:\n")
for name, column in zip(names, zeros_and_ones[:8].T, strict=True):
    print(f"{name:>18}  {' '.join(map(str, column))}")

# %%
# Every name is a rule, and the rule says of the table what the column does.
for name, column in zip(names, zeros_and_ones.T, strict=True):
    assert np.array_equal(fk.rule(name)(patients), column == 1)
print("\nEvery one of these names is a rule that gives its column back: checked.")

# %%
# Any other question can be asked in the same language; a slip of the pen is told, and corrected.
question = fk.rule("fever in {mild, high} & ~smoker & (age < 50 | age is missing)")
print(f"\n{question!r}\n    holds in rows {np.flatnonzero(question(patients))[:6].tolist()}, …")
print(f"    in signs: {question.unicode()}")
try:
    fk.rule("feaver = high")(patients)
except fk.DataError as error:
    print(f"    and a slip of the pen: {error}")

# %%
# A support vector machine whose features are pairs of propositions, or single ones.
model = fk.FormulaSVC("(a & b) | c", C=100, encoder=encoder).fit(patients, ill)
print(f"\n{model}")
print(f"    accuracy on its own rows: {model.score(patients, ill):.3f}")

# %%
# New rows may hold what training did not: a value never seen, a gap.
new = fk.Table(
    {"fever": ["high", "septic"], "age": [None, 65], "smoker": [False, True], "ward": [2, 1]}
)
print("    new patients:", ", ".join(model.predict(new)))
