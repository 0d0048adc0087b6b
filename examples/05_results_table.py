"""Kernels of formulas, the linear and the polynomial kernel on six data sets
==========================================================================

In a shell::

    python examples/05_results_table.py            # 10 folds, six data sets, some minutes
    python examples/05_results_table.py --quick    # 2 folds of two small sets, seconds

Every kernel uses the same 0/1 propositions (fitted on the training rows of each fold), is
normalised to a cosine and has the same C.  The polynomial kernel is (⟨x,z⟩ + 1)^d, with d the
number of literals of the formula next to it.  The script prints Markdown and writes it to
output/05_results_table.md; progress goes to standard error.
"""

import argparse
from time import perf_counter
from warnings import filterwarnings

import numpy as np
from protocol import OUTPUT, markdown, path_of

import formulakern as fk
from formulakern.cli.scores import fold_scores

#: Formula → its number of literals.
FORMULAS = {"a & b": 2, "(a & ~b) | c": 3}
SETS = (
    *("promoters.csv", "house-votes-84.csv", "soybean.csv"),
    *("splice.csv", "mushroom.csv", "adult-train.csv.gz"),
)
QUICK = ("promoters.csv", "balance-scale.csv")
C = 10.0
SEED = 0


def measure(dataset, n_folds):
    """Return kernel name → scores, in the order of the table."""
    models = {"linear": fk.FormulaSVC(fk.boolean.polynomial(1, 0.0), C=C)}
    for formula, degree in FORMULAS.items():
        models[f"polynomial, degree {degree}"] = fk.FormulaSVC(fk.boolean.polynomial(degree), C=C)
        models[f"`{formula}`"] = fk.FormulaSVC(formula, C=C)
    scores = fold_scores(models, {}, dataset, n_folds=n_folds, max_rows=len(dataset), seed=SEED)
    return {score.name: score.values for score in scores}


def spread(values):
    """Return the mean and standard deviation of shares, in percent."""
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values):.2f}"


def table_rows(dataset, columns):
    """Yield two rows of the table: accuracy and AUC."""
    classes = len(np.unique(dataset.target))
    size = f"{len(dataset):,} rows" + (f", {classes} classes" if classes > 2 else "")
    yield [dataset.name.removesuffix("-train"), "accuracy"] + [
        spread(values["accuracy"]) for values in columns.values()
    ]
    yield [size, "AUC"] + [spread(values["AUC"]) for values in columns.values()]


def main():
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 folds of two small sets")
    quick = parser.parse_args().quick
    n_folds = 2 if quick else 10
    filterwarnings("ignore", message="The least populated class")  # herbicide-injury: 8 rows

    paths = [path_of(name) for name in (QUICK if quick else SETS)]
    begin = perf_counter()
    rows = []
    for path in paths:
        dataset = fk.datasets.read_table(path)
        columns = measure(dataset, n_folds)
        rows += table_rows(dataset, columns)
    text = markdown(["data set", "", *columns], rows)
    text += (
        f"\n\n{n_folds}-fold stratified cross-validation (mean ± standard deviation over folds, in "
        f"percent); support vector machine, C = {C:g}, all kernels normalised; classes one against "
        "rest in the AUC."
    )
    print(text)
    OUTPUT.mkdir(exist_ok=True)
    name = "05_results_table_quick.md" if quick else "05_results_table.md"
    (OUTPUT / name).write_text(text + "\n", encoding="utf-8")
    print(f"\nSaved {OUTPUT / name}\n{perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
