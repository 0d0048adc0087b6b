"""Figure 4 of the Propositional Kernels paper: the kernel of the formula that made the labels
===========================================================================================

In a shell::

    python examples/07_target_formula.py            # 100 repetitions, 12 sizes, some minutes
    python examples/07_target_formula.py --quick    # 2 repetitions, 3 sizes, seconds

A random formula labels all 1,024 assignments of 10 binary columns, and 30 % of them are held out.
A hard-margin support vector machine learns from 20 to 700 of the others: once with the kernel of
that formula, and once with the kernel of each of 10 other random formulas.  The script prints the
areas under the ROC curve, and saves table and picture to output/07_target_formula.*.

The paper (Polato & Aiolli, Entropy 23(8):1020, 2021, doi:10.3390/e23081020) leaves some choices
open.  They are:

* a target has at most 10 different variables, and the smaller class has at least 10 % of the rows
  (``--minority``); other targets are drawn again.  None of the 10 other formulas has the same
  kernel as the target;
* kernels use the 10 columns (``--literals``: 20, the columns and their negations), each leaf of a
  formula is a variable of its own ("free"), and all kernels are normalised;
* the held-out rows are stratified; each training set contains the smaller ones, and the first 20
  rows contain both classes;
* "hard" is C = 10^4 on the Gram matrix, centred and divided by its mean diagonal, which changes
  neither the classifier nor the separability; libsvm stops after 200,000 steps.
"""

import argparse
import json
from time import perf_counter
from warnings import catch_warnings, simplefilter

import numpy as np
from joblib import Parallel, delayed
from protocol import OUTPUT, plotting
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import formulakern as fk
from formulakern.progress import Progress
from formulakern.text import table

N_COLUMNS = 10
N_OTHERS = 10
SIZES = (20, 40, 60, 80, 100, 150, 200, 300, 400, 500, 600, 700)
QUICK_SIZES = (20, 100, 200)
HELD_OUT = 0.3
HARD = 1e4
MAX_STEPS = 200_000
INK, GREY, ROSE, TEAL = "#22303c", "#5c6770", "#d1495b", "#00798c"


def draw_target(generator, minority):
    """Return a formula, its data set, and the number of rejected formulas."""
    in_vain = 0
    while True:
        formula = fk.random_formula(p=0.4, eta=0.7, random_state=generator)
        if len(formula.variables) <= N_COLUMNS:
            dataset = fk.datasets.make_formula_classification(formula, N_COLUMNS)
            share = dataset.target.mean()
            if min(share, 1 - share) >= minority:
                return formula, dataset, in_vain
        in_vain += 1


def gram_of(formula, columns):
    """Return the normalised kernel on all rows, centred, with mean diagonal 1."""
    kernel = fk.kernel(formula, variables="free", scale="probability")
    gram = kernel.normalized()(columns)
    means = gram.mean(axis=0)
    gram += gram.mean() - means - means[:, None]
    return gram * (len(gram) / np.trace(gram))


def curve(gram, y, train, test, sizes):
    """Yield the AUC, whether all training rows are separated, and whether the fit was stopped."""
    for size in sizes:
        rows = train[:size]
        with catch_warnings():
            simplefilter("ignore", ConvergenceWarning)  # counted below
            svm = SVC(kernel="precomputed", C=HARD, max_iter=MAX_STEPS)
            svm.fit(gram[np.ix_(rows, rows)], y[rows])
        separates = bool((svm.predict(gram[np.ix_(rows, rows)]) == y[rows]).all())
        values = svm.decision_function(gram[np.ix_(test, rows)])
        yield roc_auc_score(y[test], values), separates, svm.fit_status_ != 0


def repetition(seed, sizes, minority, literals):
    """Return the areas of a target formula and its rivals (1 + rivals, sizes), and statistics."""
    generator = np.random.default_rng(seed)
    target, dataset, in_vain = draw_target(generator, minority)
    y = dataset.target
    columns = np.column_stack([dataset.data[name] for name in dataset.feature_names])
    if literals:
        columns = np.hstack([columns, 1 - columns])
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=HELD_OUT,
        stratify=y,
        random_state=int(generator.integers(2**31)),
    )
    while len(np.unique(y[train[: min(sizes)]])) < 2:
        generator.shuffle(train)
    own = gram_of(target, columns)
    curves = [list(curve(own, y, train, test, sizes))]
    while len(curves) < 1 + N_OTHERS:
        other = gram_of(fk.random_formula(p=0.4, eta=0.7, random_state=generator), columns)
        if not np.allclose(other, own, atol=1e-10):
            curves.append(list(curve(other, y, train, test, sizes)))
    areas, separates, stopped = np.moveaxis(np.array(curves), 2, 0)
    return {
        "target": str(target),
        "true": float(y.mean()),
        "in_vain": in_vain,
        "areas": areas.tolist(),
        "separates": separates.tolist(),
        "stopped": int(stopped.sum()),
    }


def summary(areas, sizes):
    """Return the table of Figure 4, in percent, from areas (repetitions, 1 + rivals, sizes)."""
    target, others = 100 * areas[:, 0], 100 * areas[:, 1:]
    series = (target, others.mean(axis=1), others.max(axis=1))
    rows = []
    for place, size in enumerate(sizes):
        cells = [
            f"{values[:, place].mean():.2f} ± {values[:, place].std():.2f}" for values in series
        ]
        behind = target[:, place].mean() - others[:, :, place].mean()
        above = (target[:, place] > 99).mean()
        rows.append([f"{size:>8}", *cells, f"{behind:.2f}", f"{100 * above:.0f} %"])
    head = ["examples", "target", "mean of others", "best of others", "behind", "target > 99"]
    return table(head, rows)


def verdict(areas, sizes):
    """Return the published figures, and whether this run reaches them."""
    n_repetitions = len(areas)
    target = areas[:, 0]
    at_100, at_200 = (target[:, sizes.index(size)] for size in (100, 200))
    behind = 100 * (areas[:, :1] - areas[:, 1:]).mean(axis=(1, 2))

    def mean(values, digits):
        error = values.std(ddof=1) / np.sqrt(n_repetitions)
        return f"{values.mean():.{digits}f} (standard error {error:.{digits}f})"

    statements = (
        ("target above 0.99 at 100 examples", mean(at_100, 4), at_100.mean() > 0.99),
        ("target about 1 (0.995) at 200", mean(at_200, 4), at_200.mean() >= 0.995),
        ("others about 3 (2 to 4) points behind", mean(behind, 2), 2 <= behind.mean() <= 4),
    )
    return "\n".join(
        f"{'reached' if reached else 'NOT reached':<12}published: {claim}; this run: {here}"
        for claim, here, reached in statements
    )


def by_variables(results, areas, sizes):
    """Return the target's AUC at 100 examples by its number of variables."""
    counts = np.array([len(fk.parse(result["target"]).variables) for result in results])
    at_100 = 100 * areas[:, 0, sizes.index(100)]
    rows = [
        [str(count), str((counts == count).sum()), f"{at_100[counts == count].mean():.2f}"]
        for count in np.unique(counts)
    ]
    return table(["variables of the target", "targets", "target's AUC at 100"], rows)


def draw(areas, sizes, title, path):
    """Draw mean curves; the bands contain the middle half of the repetitions."""
    plt = plotting()
    if plt is None:
        return
    plt.rcParams.update({"font.size": 10, "text.color": INK, "font.family": "DejaVu Sans"})
    figure, axis = plt.subplots(figsize=(6.4, 4), dpi=150, layout="constrained")
    others = areas[:, 1:]
    series = (
        ("kernel of the target formula", areas[:, 0], TEAL, "-"),
        ("10 random formulas, best", others.max(axis=1), GREY, "--"),
        ("10 random formulas, mean", others.mean(axis=1), ROSE, "-"),
    )
    for name, values, colour, style in series:
        low, high = np.percentile(values, (25, 75), axis=0)
        if style == "-":
            axis.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
        axis.plot(sizes, values.mean(axis=0), style, color=colour, label=name, linewidth=1.8)
    axis.set(xlabel="training examples", ylabel="area under the ROC curve", xlim=(0, max(sizes)))
    axis.set_title(title, fontsize=10.5, color=INK, loc="left")
    axis.tick_params(colors=INK)
    axis.grid(color="#e6e9ec", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.legend(frameon=False, loc="lower right")
    figure.savefig(path)
    plt.close(figure)
    print(f"Saved {path}")


def main():
    """Repeat, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 repetitions, 3 sizes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minority", type=float, default=0.1, help="smallest share of a class")
    parser.add_argument("--literals", action="store_true", help="use negated columns too")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    chosen = parser.parse_args()
    if not 0 < chosen.minority <= 0.25:
        parser.error("--minority must be above 0 and at most 0.25")
    sizes, n_repetitions = (QUICK_SIZES, 2) if chosen.quick else (SIZES, 100)
    begin = perf_counter()
    seeds = np.random.SeedSequence(chosen.seed).spawn(n_repetitions)
    pool = Parallel(n_jobs=1 if chosen.quick else chosen.jobs, return_as="generator")
    work = (delayed(repetition)(seed, sizes, chosen.minority, chosen.literals) for seed in seeds)
    results = []
    with Progress() as progress:
        for result in pool(work):
            results.append(result)
            progress.at(len(results) / n_repetitions, f"after {result['target']}"[:60])

    areas = np.array([result["areas"] for result in results])  # repetitions, 1 + others, sizes
    separates = np.array([result["separates"] for result in results])
    reading = "20 literals" if chosen.literals else "10 columns"
    title = f"Labels by a random formula: {n_repetitions} repetitions, {reading}"
    print(f"{title}. AUC in percent, mean ± standard deviation.\n")
    print(summary(areas, sizes), "\n")
    print(verdict(areas, sizes), "\n")
    print(by_variables(results, areas, sizes), "\n")
    print(
        f"Targets drawn again because they are nearly constant or too wide: "
        f"{sum(result['in_vain'] for result in results)}.\nThe training rows are separated in "
        f"{100 * separates[:, 0].mean():.1f} % of the fits with the target's kernel,\n"
        f"in {100 * separates[:, 1:].mean():.1f} % with others; stopped after {MAX_STEPS:,} steps: "
        f"{sum(result['stopped'] for result in results)} of {separates.size:,}."
    )
    OUTPUT.mkdir(exist_ok=True)
    name = "07_target_formula" + "_literals" * chosen.literals + "_quick" * chosen.quick
    settings = vars(chosen) | {"sizes": sizes, "repetitions": results}
    (OUTPUT / f"{name}.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    draw(areas, sizes, title, OUTPUT / f"{name}.png")
    print(f"Saved {OUTPUT / name}.json\n{perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
