"""Did x win?  A formula's support vector machine on the 958 end positions of tic-tac-toe
======================================================================================

A win is three squares in a line, so the natural feature space is "three different things hold at
once": ``a & b & c`` with distinct variables has one feature per triple of propositions.  The script
compares the three readings of a formula's names with the linear kernel (``a``).  In a shell,
--quick takes three folds instead of ten.
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
# FormulaSVC takes the table unchanged, and encodes `top-left-square` = x and so on itself.
model = fk.FormulaSVC("a & b & c", variables="distinct", C=10).fit(boards, winner)
print(f"{len(model.propositions_)} propositions: {', '.join(model.propositions_[:3])}, …")
n_features = model.kernel_.dimension(len(model.propositions_))
print(f"{n_features:,} features, not computed; {len(model.support_)} support vectors\n")

# %%
# What do the names in a formula mean?  Compare the three readings in ten folds.
READINGS = {
    "bound": "equal names are one column; different names may be the same column",
    "free": "every occurrence is an independent column",
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
# ``a & (a | b) & c`` means the same as ``a & c``.  Two of the readings give the same kernel.
print("\nThe readings:")
for reading, meaning in READINGS.items():
    print(f"{reading:>9}: {meaning}")
print(
    "\na & (a | b) & c means the same as a & c.  Bound and distinct give both the same kernel;\n"
    "free gives another one, because each a may be another column."
)
for reading in ("bound", "distinct"):
    assert (
        fk.kernel("a & (a | b) & c", reading).polynomial()
        == fk.kernel("a & c", reading).polynomial()
    )
