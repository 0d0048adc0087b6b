"""A table with text, numbers, truth values and missing values: propositions, rules, a classifier
==============================================================================================

The table needs no preparation.  The columns of the encoder are named by rules, and rules also
query the table.
"""

import numpy as np

import formulakern as fk

# %%
# Forty-eight patients.  A known rule determines which of them are ill.
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
# An encoder converts the table to propositions, which are true or false for every row.
encoder = fk.PropositionEncoder(cut_points=2)
zeros_and_ones = encoder.fit_transform(patients)
names = encoder.get_feature_names_out()
print(f"{len(names)} propositions; the first rows:\n")
for name, column in zip(names, zeros_and_ones[:8].T, strict=True):
    print(f"{name:>18}  {' '.join(map(str, column))}")

# %%
# Every name is a rule that returns the values of its column.
for name, column in zip(names, zeros_and_ones.T, strict=True):
    assert np.array_equal(fk.rule(name)(patients), column == 1)
print("\nChecked: each of these names is a rule that returns its column.")

# %%
# The same language expresses other queries.  The error suggests the right name if one is misspelt.
question = fk.rule("fever in {mild, high} & ~smoker & (age < 50 | age is missing)")
print(f"\n{question!r}\n    holds in rows {np.flatnonzero(question(patients))[:6].tolist()}, …")
print(f"    in signs: {question.unicode()}")
try:
    fk.rule("feaver = high")(patients)
except fk.DataError as error:
    print(f"    a misspelt name: {error}")

# %%
# A support vector machine whose features are pairs of propositions, or single ones.
model = fk.FormulaSVC("(a & b) | c", C=100, encoder=encoder).fit(patients, ill)
print(f"\n{model}")
print(f"    accuracy on its own rows: {model.score(patients, ill):.3f}")

# %%
# New rows may have values that are not in the training rows, and missing values.
new = fk.Table(
    {"fever": ["high", "septic"], "age": [None, 65], "smoker": [False, True], "ward": [2, 1]}
)
print("    new patients:", ", ".join(model.predict(new)))
