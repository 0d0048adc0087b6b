"""Did x win?  A formula's support vector machine on the 958 end positions of tic-tac-toe
======================================================================================

A win is three squares in a line, so "three different things hold at once", ``a & b & c`` with
distinct variables, is the feature space to look at: one feature per triple of propositions.
The script compares the three readings of a formula's names, beside the linear kernel (``a``).  In a
shell, --quick takes three folds in place of ten.
"""

import sys

from sklearn.model_selection import StratifiedKFold, cross_val_score

import formulakern as fk
from formulakern.text import table

# %%
# The boards are a table of nine columns of words: ``x``, ``o``, or ``b`` for a blank square.
boards, winner = fk.datasets.tic_tac_toe()
print(boards.select(boards.names[:3]))
print(f"and six more squares; x won {(winner == 'positive').sum()} times\n")

# %%
# FormulaSVC takes the table as it is; it encodes `top-left-square` = x, and so on, by itself.
model = fk.FormulaSVC("a & b & c", variables="distinct", C=10).fit(boards, winner)
print(f"{len(model.propositions_)} propositions: {', '.join(model.propositions_[:3])}, …")
n_features = model.kernel_.dimension(len(model.propositions_))
print(f"{n_features:,} features, never built; {len(model.support_)} support vectors\n")

# %%
# What do the names in a formula mean?  Ten folds for each of the three readings.
READINGS = {
    "bound": "equal names are one column; different names may coincide",
    "free": "every occurrence ranges by itself",
    "distinct": "different names are different columns",
}
trials = [("a", "bound")]
trials += [("a & b & c", reading) for reading in READINGS]
trials += [("a & (a | b) & c", reading) for reading in READINGS]

folds = StratifiedKFold(3 if "--quick" in sys.argv else 10, shuffle=True, random_state=0)
rows = []
for formula, reading in trials:
    svm = fk.FormulaSVC(formula, variables=reading, C=10)
    scores = cross_val_score(svm, boards, winner, cv=folds)
    form = fk.kernel(formula, reading).polynomial()
    rows.append(
        [
            f"{formula:<15}  {reading:<8}  {form}",
            f"{100 * scores.mean():.2f} ± {100 * scores.std():.2f}",
        ]
    )
print(table(["formula          reading   kernel", "accuracy"], rows))

# %%
# ``a & (a | b) & c`` says no more than ``a & c``.  Two of the readings see that.
print("\nThe readings:")
for reading, meaning in READINGS.items():
    print(f"{reading:>9}: {meaning}")
print(
    "\na & (a | b) & c says no more than a & c.  Bound and distinct see that, and give its very\n"
    "kernel; free, where the two a's are columns of their own, gives another one."
)
for reading in ("bound", "distinct"):
    assert (
        fk.kernel("a & (a | b) & c", reading).polynomial()
        == fk.kernel("a & c", reading).polynomial()
    )
