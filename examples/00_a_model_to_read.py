"""A model that can be read: learn it, look at it, ask why, make it smaller, hand it on
====================================================================================

The table: the end positions of tic-tac-toe, nine columns of words.  The class says whether x has
won.  Nobody tells the model what winning is.  Any other table is learned from in the same way.
"""

from protocol import OUTPUT, plotting
from sklearn.model_selection import train_test_split

import formulakern as fk

boards, winner = fk.datasets.tic_tac_toe()
split = train_test_split(boards, winner, test_size=0.3, random_state=0, stratify=winner)
X, X_held_out, y, y_held_out = split
print(X.select(X.names[:4]))

# %%
# One line learns.  A rule has a weight and a class; the weights of all rules that are true of a
# board are added up.
model = fk.PRLClassifier("conjunctions", degree=3, margin="hard").fit(X, y)
print(f"{100 * model.score(X_held_out, y_held_out):.1f} % of the boards held out are right\n")
print(model.rules_)

# %%
# The rules are the eight ways of winning.  The margin is by how much the right class is ahead, at
# least: no vote of conjunctions of three has a larger one than the bound.
print(f"margin {model.value_:.4f}, bound {model.bound_:.4f}")

# %%
# The same as a picture, which one line draws.
plt = plotting()
if plt is not None:
    fk.plot.rule_weights(model)

# %%
# Why is a board said to be won?  What is true of it adds up to its score.
first = list(y_held_out).index("positive")
board = X_held_out[first : first + 1]
print(model.explain(board))
if plt is not None:
    fk.plot.waterfall(model, board)

# %%
# Another learner adds up squares in place of lines.  How good are the heaviest one, two, three, …
# rules of each, with weights that are learned for so many?
others = {
    "PRL": model,
    "HKL": fk.HKLClassifier().fit(X, y),
    "RIPPER": fk.RuleListClassifier("ripper", random_state=0).fit(X, y),
}
for name, other in others.items():
    right = 100 * other.score(X_held_out, y_held_out)
    print(f"{name:>6}: {len(other.rules_):2} rules, {right:.1f} % right")
if plt is not None:
    OUTPUT.mkdir(exist_ok=True)
    axes = fk.plot.rule_curves(others, X_held_out, y_held_out, refit=(X, y))
    axes.figure.savefig(OUTPUT / "00_a_model_to_read.png", dpi=120)
    print(f"\nSaved {OUTPUT / '00_a_model_to_read.png'}")

# %%
# To hand on: a file that ``fk.load`` reads, a page for people, a query for a database.
OUTPUT.mkdir(exist_ok=True)
model.save(OUTPUT / "00_model.json")
model.report(OUTPUT / "00_report.html", X_held_out, y_held_out, title="Who has won?")
query = model.rules_.to_sql("games", "duckdb")
print(f"{query[:14]} … : a query of {len(query.splitlines())} lines")
