"""The heaviest rules of a support vector machine, found exactly, on two tables
============================================================================

A support vector machine with the kernel all[3](x) votes with one feature per conjunction of three
propositions.  Branch and bound finds the features with the largest weights and proves that no other
one weighs more.  A genetic search, which proves nothing, is run with the same number of evaluated
rules, and with many more.  C = 10 throughout, not tuned.  The script compares the accuracy of the
heaviest rules alone with that of their classifier.  It needs mushroom.csv; --quick takes 2,000 of
its rows.
"""

import sys

import numpy as np
from protocol import OUTPUT, path_of, plotting, split

import formulakern as fk
from formulakern.text import table

QUICK = "--quick" in sys.argv[1:]

# -- tic-tac-toe ------------------------------------------------------------------------------

boards, winner = fk.datasets.tic_tac_toe()
model = fk.FormulaSVC("all[3](x)", variables="distinct", C=10).fit(boards, winner)
result = model.rules(top=10)
print("The ten heaviest of 2,925 conjunctions on tic-tac-toe (x may have won):\n")
print(result)
lines = sum(str(item.rule).count(" = x") == 3 for item in result.ensemble.head(8))
print(f"\nThree x in a row: {lines} of the eight heaviest.")
print(f"Accuracy of the k heaviest rules alone, on the {len(winner)} training rows:\n")
print(fk.simplify_svm(model, boards, winner, top=10))

# -- mushroom ---------------------------------------------------------------------------------

print("\nMushrooms: edible (e) or poisonous (p)?  Conjunctions of at most three propositions.\n")
data = fk.datasets.read_table(path_of("mushroom.csv"))
rows, classes = data.data, np.asarray(data.target)
if QUICK:
    chosen = np.random.default_rng(0).permutation(len(classes))[:2000]
    rows, classes = rows[chosen], classes[chosen]
train, test = split(classes, 0.7)
kernel = sum((fk.boolean.anova(d) for d in (2, 3)), fk.boolean.anova(1))
model = fk.FormulaSVC(kernel, C=10).fit(rows[train], classes[train])
propositions = len(model.propositions_)
conjunctions = kernel.dimension(propositions)
print(f"{len(train):,} training rows, {propositions} propositions,")
print(f"{conjunctions:,} conjunctions, {len(model.support_)} support vectors")
result = model.rules(top=10)
print(f"\n{result}\n")


def genetic_search(columns, weights, budget, generator):
    """Return the conjunctions of at most three columns with the largest |Σ weight|, by evolution.

    This textbook algorithm evaluates ``budget`` different conjunctions.  Parents are chosen by
    tournament, a child takes up to three literals of both, and one literal mutates.  A few random
    conjunctions keep the population diverse, and the best sixty survive.
    """
    n = columns.shape[1]
    known = {}

    def score(clause):
        if clause not in known:
            known[clause] = abs(weights[columns[:, list(clause)].all(axis=1)].sum())
        return known[clause]

    def child(population):
        one, two = (min(generator.integers(len(population), size=2)) for _ in range(2))
        genes = list({*population[one], *population[two]})
        genes = set(generator.permutation(genes)[: generator.integers(1, 4)].tolist())
        if generator.random() < 0.3:
            genes.pop()
            genes.add(int(generator.integers(n)))
        return tuple(sorted(genes))

    def newcomer():
        return tuple(sorted(set(generator.integers(n, size=generator.integers(1, 4)).tolist())))

    population = sorted({newcomer() for _ in range(60)}, key=score, reverse=True)
    while len(known) < budget:
        children = {child(population) for _ in range(50)} | {newcomer() for _ in range(10)}
        population = sorted({*population, *children}, key=score, reverse=True)[:60]
    return sorted(known, key=score, reverse=True)[:10], known


# The same weights and propositions as in the exact search.
columns = model.support_vectors_.astype(bool)
weights = model.dual_coef_[0] / np.sqrt(kernel.diagonal(model.support_vectors_))
exact = [item.weight for item in result.ensemble]
budgets = [times * result.n_evaluated for times in (1, 10)]
if QUICK:
    budgets = budgets[:1]
shown = [["branch and bound", f"{result.n_evaluated:,}", f"{exact[0]:.4f}", "10 of 10", "yes"]]
for budget in budgets:
    found, values = [], []
    for seed in range(3):
        best, known = genetic_search(columns, weights, budget, np.random.default_rng(seed))
        scores = np.array([known[clause] for clause in best])
        found.append(int((scores >= exact[-1] * (1 - 1e-9)).sum()))
        values.append(scores[0])
    shown.append(
        [
            "genetic, 3 seeds",
            f"{budget:,}",
            f"{np.mean(values):.4f}",
            f"{np.mean(found):.1f} of 10 (from {min(found)} to {max(found)})",
            "no",
        ]
    )
print(table(["search", "rules evaluated", "heaviest", "of the true top ten", "proof"], shown))

curve = fk.simplify_svm(model, rows[train], classes[train], rows[test], classes[test], top=50)
print(f"\nAccuracy of the k heaviest rules alone, on {len(test):,} other rows:\n")
print(curve)
print(f"\nThe chosen rules:\n\n{curve.rules}")
plt = plotting()
if plt is not None:
    OUTPUT.mkdir(exist_ok=True)
    axes = curve.plot()
    axes.set_title("mushroom: the heaviest rules alone")
    axes.figure.savefig(OUTPUT / "09_rules_of_an_svm.png", dpi=150)
    print(f"\nSaved {OUTPUT / '09_rules_of_an_svm.png'}")
