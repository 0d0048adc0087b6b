"""A report: what a model learned, how good it is, and why a row got its class
============================================================================

In a shell::

    python examples/26_report.py              # writes examples/output/report.html
    python examples/26_report.py board.html   # writes another file

Half of the boards of tic-tac-toe train a vote of rules.  The other half is explained: of one board
all that adds up to its score, the intercept included; of many a line each, and an array of all
terms.  Then a page is written that opens in any browser without a network: rules that sort, ROC
curve and calibration, the sum behind the score of each board, the columns of the table.
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
# Who has won?  Rules of up to three squares decide.
X, y = fk.datasets.tic_tac_toe()
train = np.arange(len(y)) % 2 == 0
model = fk.HKLClassifier(C=1000, depth_penalty=4, max_rules=20).fit(X[train], y[train])
print(model.rules_.head(5))
print(f"\n{model.score(X[~train], y[~train]):.1%} of the other boards are right")

# %%
# One board.  What it satisfies adds up to its score.
board = X[~train][:1]
print(f"\n{model.explain(board)}")
print(f"decision_function: {model.decision_function(board)[0]:+.4g}")

# %%
# Many boards, and all terms as an array (``to_frame()`` has names): their sums are the scores.
explained = model.explain(X[~train])
print(f"\n{explained[:5]}")
added = explained.added("positive")
sums = explained.intercept[1] + added.sum(axis=1)
same = np.allclose(sums, model.decision_function(X[~train]))
print(f"\n{added.size:,} terms; their sums are the decisions: {same}")

# %%
# The page.
model.report(path, X[~train], y[~train], title="Who has won?")
print(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB, and nothing is loaded from elsewhere")
