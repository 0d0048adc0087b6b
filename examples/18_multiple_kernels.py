"""Several formulas at once: a weighted sum of their kernels with learned weights
==============================================================================

In a shell::

    python examples/18_multiple_kernels.py            # six tables, ten splits: a minute
    python examples/18_multiple_kernels.py --quick    # one table, one split: seconds

``FormulaMKL`` has twelve formulas over different variables ("distinct").  Some tables have a known
rule (tic-tac-toe, the monk's problems), and two contain sequences (promoters, splice junctions).
There is a proposition for each value of each column; 30 % of the rows are for training (stratified
splits); other parameters have their defaults.  On the same rows the study compares:

* EasyMKL with unscaled cosines, not divided by their variance, and C = 10;
* the plain sum, every weight 1/12;
* one formula, chosen by three folds of the training rows (``FormulaSearch``, C = 10);
* the best of the twelve on the test rows, which is unknown in practice.

It then prints the weights, and the time of a fit with one and with twenty formulas.
"""

import argparse
from time import process_time

import numpy as np
from protocol import Clock, read, show, splits

import formulakern as fk

FORMULAS = (
    "a", "a & b", "a & b & c", "a & b & c & d", "a | b", "a | b | c",
    "a ^ b", "a & ~b", "a -> b", "(a & b) | c", "(a & ~b) | c", "(a & b) | (c & d)",
)  # fmt: skip
MORE = (
    "~a", "~a & ~b", "a <-> b", "a & (b | c)", "a & b & ~c", "(a ^ b) & c", "(a | b) & (c | d)",
    "~a & b & c",
)  # fmt: skip
FILES = {
    "tic-tac-toe": "tic-tac-toe.csv",
    "monks-1": "monks-1-test.csv",
    "monks-2": "monks-2-test.csv",
    "monks-3": "monks-3-test.csv",
    "promoters": "promoters.csv",
    "splice": "splice.csv",
}
MODELS = {
    "EasyMKL": lambda: fk.FormulaMKL(FORMULAS, variables="distinct"),
    "l_p, p = 1": lambda: fk.FormulaMKL(FORMULAS, "lp", "distinct", p=1),
    "l_p, p = 1.5": lambda: fk.FormulaMKL(FORMULAS, "lp", "distinct"),
    "EasyMKL, cosines": lambda: fk.FormulaMKL(
        FORMULAS, variables="distinct", C=10, unit_variance=False
    ),
    "plain sum": lambda: fk.FormulaMKL(FORMULAS, "lp", "distinct", 3 / len(FORMULAS), p=np.inf),
    "chosen formula": lambda: fk.FormulaSearch(
        FORMULAS, "accuracy", "distinct", 10.0, class_weight=None, random_state=0
    ),
}
ENCODER = fk.PropositionEncoder(nominal="all")


def measured(X, y, number):
    """Return accuracies of models and single formulas by split, and the weights of EasyMKL."""
    accuracy, weights = {}, []
    for train, test in splits(y, 0.3, number):
        table = ENCODER.fit(X.iloc[train])
        rows, later = table.transform(X.iloc[train]), table.transform(X.iloc[test])
        models = {name: make() for name, make in MODELS.items()}
        models |= {text: fk.FormulaSVC(text, "distinct") for text in FORMULAS}
        for name, model in models.items():
            right = model.set_params(encoder=None).fit(rows, y[train]).predict(later) == y[test]
            accuracy.setdefault(name, []).append(100 * right.mean())
        weights.append(models["EasyMKL"].weights_)
    return accuracy, np.mean(weights, axis=0)


def shown(values):
    """Return the mean and standard deviation over the splits."""
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def cost(X, y):
    """Return CPU seconds of a fit with one formula and with twenty, the best of three."""
    seconds = []
    for formulas in (("a & b",), FORMULAS + MORE):
        model, taken = fk.FormulaMKL(formulas, "easy", "distinct", encoder=ENCODER), []
        for _ in range(3):
            begin = process_time()
            model.fit(X, y)
            taken.append(process_time() - begin)
        seconds.append(min(taken))
    return seconds


def main():
    """Measure, print the tables, and show the rules of one model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one table, one split")
    quick = parser.parse_args().quick
    clock = Clock()
    names = ["monks-1"] if quick else list(FILES)
    rows, columns = [], []
    for name in names:
        [(X, y)] = read(FILES[name])
        accuracy, weights = measured(X, y, 1 if quick else 10)
        best = max(FORMULAS, key=lambda text: np.mean(accuracy[text]))
        cells = [shown(accuracy[model]) for model in MODELS]
        rows.append([name, *cells, f"{shown(accuracy[best])} (`{best}`)"])
        columns.append(weights)
    show(
        "Accuracy in percent, mean and deviation over the splits",
        ["table", *MODELS, "best formula, in hindsight"],
        rows,
    )
    written = [
        [f"`{text}`", *(f"{weights[r]:.3f}" for weights in columns)]
        for r, text in enumerate(FORMULAS)
    ]
    show("Weights of EasyMKL, mean over the splits", ["formula", *names], written)

    one, twenty = cost(X, y)
    print(
        f"{names[-1]}, {len(y):,} rows: a fit with one formula takes {one:.2f} s of one processor,"
    )
    print(f"with twenty {twenty:.2f} s.\n")

    [(X, y)] = read(FILES[names[0]])
    three = ("a", "a & b", "a & b & c")
    model = fk.FormulaMKL(three, "lp", "distinct", p=1.2, encoder=ENCODER).fit(X, y)
    print(f"{names[0]}, all rows, three formulas:\n\n{model.summary_}\n\n{model.rules(top=8)}\n")
    print(f"{clock} in all")


if __name__ == "__main__":
    main()
