"""A report: the rules of a model, its quality, and the reasons of its predictions
===============================================================================

In a shell::

    python examples/26_report.py              # writes examples/output/report.html
    python examples/26_report.py board.html   # writes another file

Half of the boards of tic-tac-toe are for training.  The other half is explained: for one board all
terms of its score with the intercept, for many boards one line each and an array of all terms.  The
script then writes a page that opens in any browser without a network: sortable rules, ROC curve and
calibration, the terms of each board, and the columns of the table.
"""

import sys
from pathlib import Path

import numpy as np
from protocol import OUTPUT

import formulakern as fk

path = OUTPUT / "report.html"
if len(sys.argv) > 1:
    path = Path(sys.argv[1])
path.parent.mkdir(exist_ok=True)

# %%
# Who has won?  The model has rules of up to three squares.
X, y = fk.datasets.tic_tac_toe()
train = np.arange(len(y)) % 2 == 0
model = fk.HKLClassifier(C=1000, depth_penalty=4, max_rules=20).fit(X[train], y[train])
print(model.rules_.head(5))
print(f"\n{model.score(X[~train], y[~train]):.1%} of the other boards are right")

# %%
# One board: the rules that hold add up to its score.
board = X[~train][:1]
print(f"\n{model.explain(board)}")
print(f"decision_function: {model.decision_function(board)[0]:+.4g}")

# %%
# Many boards, and all terms as an array (``to_frame()`` has names): the sums are the scores.
explained = model.explain(X[~train])
print(f"\n{explained[:5]}")
added = explained.added("positive")
sums = explained.intercept[1] + added.sum(axis=1)
same = np.allclose(sums, model.decision_function(X[~train]))
print(f"\n{added.size:,} terms; their sums are the decisions: {same}")

# %%
# Write the page.
model.report(path, X[~train], y[~train], title="Who has won?")
print(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB; the page loads nothing else")
