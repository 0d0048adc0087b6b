"""A readable model: learn it, read it, explain a row, make it smaller, save and share it
======================================================================================

The table contains the end positions of tic-tac-toe in nine columns of words.  The class is
"positive" if x has won.  The model does not get the rules of the game.  Any other table works in
the same way.
"""

from protocol import OUTPUT, plotting
from sklearn.model_selection import train_test_split

import formulakern as fk

boards, winner = fk.datasets.tic_tac_toe()
split = train_test_split(boards, winner, test_size=0.3, random_state=0, stratify=winner)
X, X_held_out, y, y_held_out = split
print(X.select(X.names[:4]))

# %%
# One line fits the model.  Each rule has a weight and a class; the weights of all rules that hold
# for a board are added.
model = fk.PRLClassifier("conjunctions", degree=3, margin="hard").fit(X, y)
print(f"{100 * model.score(X_held_out, y_held_out):.1f} % of the held-out boards are right\n")
print(model.rules_)

# %%
# The rules are the eight ways to win.  The margin is the smallest lead of the right class.  No vote
# of conjunctions of three has a margin above the bound.
print(f"margin {model.value_:.4f}, bound {model.bound_:.4f}")

# %%
# One line draws the same as a picture.
plt = plotting()
if plt is not None:
    fk.plot.rule_weights(model)

# %%
# Why does the model predict a win?  The rules that hold for this board add up to its score.
first = list(y_held_out).index("positive")
board = X_held_out[first : first + 1]
print(model.explain(board))
if plt is not None:
    fk.plot.waterfall(model, board)

# %%
# Another learner adds single squares instead of lines.  How good are the heaviest 1, 2, 3, … rules
# of each learner, if their weights are refitted?
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
# Save the model: a file for ``fk.load``, a page for people, and a query for a database.
OUTPUT.mkdir(exist_ok=True)
model.save(OUTPUT / "00_model.json")
model.report(OUTPUT / "00_report.html", X_held_out, y_held_out, title="Who has won?")
query = model.rules_.to_sql("games", "duckdb")
print(f"{query[:14]} … : a query of {len(query.splitlines())} lines")
