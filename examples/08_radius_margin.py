"""Figure 6 and Table 5 of the Propositional Kernels paper: choosing a formula without validation
==============================================================================================

In a shell::

    python examples/08_radius_margin.py            # eleven data sets, 15 to 20 minutes on two cores
    python examples/08_radius_margin.py --quick    # four small ones, 300 rows, 3 formulas: seconds
    python examples/08_radius_margin.py --sets spect --others    # and other methods, same folds

For 30 random formulas per data set: does a small squared ratio of radius and margin on the training
rows go with a large area under the ROC curve on the test rows?  The linear kernel and the Boolean
kernels up to degree 5 are compared too.  The script prints the tables, and saves all results to
output/08_radius_margin.json, one line per kernel to .csv, and the scatter plots to .png.

The paper (Polato & Aiolli, Entropy 23(8):1020, 2021, doi:10.3390/e23081020) leaves some choices
open.  They are:

* rows: the 432 robots of the MONK's problems (their training files repeat some of them), both files
  of spect, and a stratified sample of 2,000 rows of larger tables;
* columns: one proposition for every value of every column, also for "missing"; each leaf of a
  formula is a variable of its own ("free"); kernels are normalised.  A random formula is drawn
  again if its Gram matrix equals that of another one up to centre and scale;
* classes: one against the rest, the mean AUC of the classes with 10 rows or more;
* validation: 5 stratified folds.  In each fold and for each class, 5 inner folds of the training
  rows choose the best C, the smallest if several are equal.  The Gram matrix is centred and divided
  by its mean diagonal, which changes only the unit of C = 0.01, 0.1, ..., 1000; libsvm stops after
  100,000 steps;
* ratio: hard margin on the training rows of each fold, mean over folds and classes; infinite if the
  kernel does not separate the classes.  If equal rows have different classes, no kernel separates
  them, and margins are soft (squared hinge loss), C = 100 in the same unit.  The ratio with a
  softer margin, C = 1, which fk.FormulaSearch uses, is given for all sets;
* "chosen" is the AUC of the formula with the smallest ratio on the training rows of each fold; test
  rows are not used.  "best" is the largest of the AUCs in the same table, hence optimistic;
* Pearson's correlation is between the AUC and the logarithm of the ratio, over formulas with a
  finite ratio; Spearman's is over all formulas;
* "others" are logistic regression, a forest and boosting on the same columns, rows and folds; three
  folds within the training rows choose their settings.
"""

import argparse
import csv
import json
import sys
from pathlib import Path
from time import perf_counter
from warnings import catch_warnings, filterwarnings, simplefilter

import numpy as np
from joblib import Parallel, delayed
from protocol import OUTPUT, baseline, path_of
from radius_margin_report import draw, results_table, verdict, which
from scipy.stats import pearsonr, spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

import formulakern as fk
from formulakern import boolean, measures
from formulakern.estimators.svm.evaluation import subsample
from formulakern.progress import Progress
from formulakern.text import clip

#: name → files whose rows are concatenated
FILES = {
    "house-votes-84": ["house-votes-84"],
    "monks-1": ["monks-1-test"],
    "monks-2": ["monks-2-test"],
    "monks-3": ["monks-3-test"],
    "mushroom": ["mushroom"],
    "primary-tumor": ["primary-tumor"],
    "promoters": ["promoters"],
    "soybean": ["soybean"],
    "spect": ["spect-train", "spect-test"],
    "splice": ["splice"],
    "tic-tac-toe": ["tic-tac-toe"],
}
QUICK = ("house-votes-84", "monks-1", "promoters", "spect")
FOLDS = 5
LEAST_ROWS = 10
SOFT, SOFTER = 100.0, 1.0
MAX_STEPS = 100_000


def boolean_kernels(quick):
    """Return conjunctions, disjunctions and their combinations, up to degree 5."""
    one = ("monotone_conjunctive", "monotone_disjunctive", "conjunctive", "disjunctive")
    two = ("monotone_dnf", "monotone_cnf", "dnf", "cnf")
    lengths = (2,) if quick else (2, 3, 4, 5)
    pairs = [(2, 2)] if quick else [(d, c) for d in (2, 5) for c in (2, 5)]
    named = [(name, (d,)) for name in one for d in lengths]
    named += [(name, pair) for name in two for pair in pairs]
    return {
        f"{name}({', '.join(map(str, numbers))})": getattr(boolean, name)(
            *numbers, scale="probability"
        )
        for name, numbers in named
    }


def read(name, max_rows, seed):
    """Return the 0/1 columns, the class of each row, and the number of rows of a data set."""
    parts = [fk.datasets.read_table(path_of(f"{file}.csv")) for file in FILES[name]]
    values = {
        column: np.concatenate([part.data[column] for part in parts])
        for column in parts[0].feature_names
    }
    classes = np.concatenate([part.target for part in parts])
    encoder = fk.PropositionEncoder(nominal=list(values))
    columns = encoder.fit_transform(fk.Table(values))
    rows = subsample(classes, max_rows, seed)
    columns = columns[rows]
    return columns[:, columns.any(axis=0)], classes[rows], len(classes)


def contradicts(columns, classes):
    """Return True if two equal rows have different classes."""
    labelled = np.column_stack([columns, np.unique(classes, return_inverse=True)[1]])
    return len(np.unique(labelled, axis=0)) > len(np.unique(columns, axis=0))


def gram_of(kernel, columns):
    """Return the normalised kernel on all rows, centred, with mean diagonal 1."""
    gram = kernel.normalized()(columns)
    means = gram.mean(axis=0)
    gram += gram.mean() - means - means[:, None]
    return gram * (len(gram) / np.trace(gram))


def draw_formulas(columns, n_formulas, generator):
    """Return formulas whose Gram matrices differ on these rows, and the number drawn again."""
    rows = columns[generator.permutation(len(columns))[:100]]
    formulas, grams, again = [], [], 0
    while len(formulas) < n_formulas:
        formula = fk.random_formula(p=0.4, eta=0.7, random_state=generator)
        gram = gram_of(formula_kernel(formula), rows)
        if any(np.allclose(gram, other, atol=1e-8) for other in grams):
            again += 1
            continue
        formulas.append(formula)
        grams.append(gram)
    return formulas, again


def formula_kernel(formula):
    """Return the paper's kernel: every leaf is a variable of its own."""
    return fk.kernel(formula, variables="free", scale="probability")


def folds_of(strata, seed):
    """Return training and test rows of the folds; every stratum has a row for each fold."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(strata)), strata))


def strata_of(classes):
    """Return the class number of each row; small classes, which are no tasks, share a number."""
    labels, numbers, counts = np.unique(classes, return_inverse=True, return_counts=True)
    numbers = np.where(counts[numbers] >= LEAST_ROWS, numbers, len(labels))
    tasks = [number for number in np.unique(numbers) if number < len(labels)]
    return numbers, tasks[1:] if len(tasks) == len(labels) == 2 else tasks


def area(blocks, fit, check, C):
    """Return the AUC of one SVM; ``fit`` and ``check`` mark the rows of the class."""
    square, oblong = blocks
    svm = SVC(kernel="precomputed", C=C, max_iter=MAX_STEPS, cache_size=500)
    return roc_auc_score(check, svm.fit(square, fit).decision_function(oblong))


def blocks_of(gram, train, test):
    """Return the parts of a Gram matrix for training and testing."""
    return gram[np.ix_(train, train)], gram[np.ix_(test, train)]


def best_penalty(inner, y, penalties):
    """Return the C with the largest mean AUC over inner folds, the smallest of equals."""
    best, chosen = -1.0, penalties[0]
    for C in penalties:
        scores = [area(blocks, y[fit], y[check], C) for blocks, fit, check in inner]
        score = round(float(np.mean(scores)), 9)
        if score > best:
            best, chosen = score, C
        if best == 1:  # no larger C can be better
            break
    return chosen


def nested(gram, numbers, tasks, penalties, seed):
    """Return the mean AUC over tasks of each outer fold, with C from its inner folds."""
    found = np.empty((FOLDS, len(tasks)))
    for fold, (train, test) in enumerate(folds_of(numbers, seed)):
        inner = [
            (blocks_of(gram, train[fit], train[check]), train[fit], train[check])
            for fit, check in folds_of(numbers[train], seed)
        ]
        outer = blocks_of(gram, train, test)
        for place, task in enumerate(tasks):
            y = numbers == task
            C = best_penalty(inner, y, penalties)
            found[fold, place] = area(outer, y[train], y[test], C)
    return found.mean(axis=1).tolist()


def ratios(gram, classes, numbers, C, seed):
    """Return the squared ratio of radius and margin on the training rows of each fold."""
    return [
        measures.radius_margin_ratio(
            np.ascontiguousarray(gram[np.ix_(train, train)]),
            classes[train],
            C=C,
            normalize=False,
            tol=1e-2,
            check=False,
        )
        for train, _ in folds_of(numbers, seed)
    ]


def measure(kernel, with_ratio, columns, classes, soft, penalties, seed):
    """Return AUCs by fold, ratios by fold or None, and seconds, of a kernel on a data set."""
    begin = perf_counter()
    numbers, tasks = strata_of(classes)
    gram = gram_of(kernel, columns)
    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # large C on noise: MAX_STEPS
        filterwarnings("ignore", message="The least populated class")  # small classes together
        areas = nested(gram, numbers, tasks, penalties, seed)
        penalties = (SOFT if soft else None, SOFTER) if with_ratio else ()
        found = [ratios(gram, classes, numbers, C, seed) for C in penalties]
    return areas, found or None, perf_counter() - begin


def correlations(areas, ratio):
    """Return Pearson's (logarithm and ratio) and Spearman's correlation, with p-values."""
    finite = np.isfinite(ratio)
    pairs = {}
    if finite.sum() >= 3 and np.ptp(areas[finite]) > 0:
        pairs["pearson"] = pearsonr(areas[finite], np.log10(ratio[finite]))
        pairs["pearson, not the logarithm"] = pearsonr(areas[finite], ratio[finite])
    if len(areas) >= 3 and np.ptp(areas) > 0:
        pairs["spearman"] = spearmanr(areas, np.where(finite, ratio, np.finfo(float).max))
    return {name: (float(pair.statistic), float(pair.pvalue)) for name, pair in pairs.items()}


def study(name, chosen, pool, progress):
    """Return all results of one data set, as a dictionary."""
    begin = perf_counter()
    seed = [chosen.seed, list(FILES).index(name)]
    columns, classes, n_rows = read(name, chosen.rows, chosen.seed)
    soft = contradicts(columns, classes)
    formulas, again = draw_formulas(columns, chosen.formulas, np.random.default_rng(seed))
    kernels = {"linear": fk.kernel("x")} | boolean_kernels(chosen.quick)
    jobs = [(label, kernel, False) for label, kernel in kernels.items()]
    jobs += [(str(formula), formula_kernel(formula), True) for formula in formulas]
    data = (columns, classes, soft, chosen.penalties, chosen.seed)
    lines = []
    for (label, _, with_ratio), (areas, ratio, seconds) in zip(
        jobs, pool(delayed(measure)(kernel, flag, *data) for _, kernel, flag in jobs), strict=True
    ):
        done = (chosen.sets.index(name) + len(lines) / len(jobs)) / len(chosen.sets)
        progress.at(done, f"{name}: {clip(label, 40)}")
        lines.append(
            {
                "kernel": label,
                "random": with_ratio,
                "auc": float(np.mean(areas)),
                "ratio": float(np.mean(ratio[0])) if with_ratio else None,
                "soft_ratio": float(np.mean(ratio[1])) if with_ratio else None,
                "auc_of_folds": areas,
                "ratio_of_folds": ratio,
                "seconds": seconds,
            }
        )
    drawn = [line for line in lines if line["random"]]
    areas = np.array([line["auc_of_folds"] for line in drawn])
    both = np.array([line["ratio_of_folds"] for line in drawn])  # formulas, hard and soft, folds
    ratio = both[:, 0]
    picks = ratio.argmin(axis=0)  # of each fold
    softly = [float(areas[pick, fold]) for fold, pick in enumerate(both[:, 1].argmin(axis=0))]
    return {
        "name": name,
        "rows": len(columns),
        "of": n_rows,
        "propositions": columns.shape[1],
        "classes": len(np.unique(classes)),
        "tasks": len(strata_of(classes)[1]),
        "soft": soft,
        "drawn_again": again,
        "chosen": float(np.mean([areas[pick, fold] for fold, pick in enumerate(picks)])),
        "chosen_softly": float(np.mean(softly)),
        "chosen_formulas": [drawn[pick]["kernel"] for pick in picks],
        "infinite": int(np.isinf(ratio.mean(axis=1)).sum()),
        "correlation": correlations(areas.mean(axis=1), ratio.mean(axis=1)),
        "soft_correlation": correlations(areas.mean(axis=1), both[:, 1].mean(axis=1)),
        "seconds": perf_counter() - begin,
        "kernels": lines,
    }


def others(name, chosen):
    """Return the results of other methods on one data set: method → AUC, mean over all."""
    import pandas as pd

    columns, classes, _ = read(name, chosen.rows, chosen.seed)
    numbers, tasks = strata_of(classes)
    frame = pd.DataFrame(columns, columns=[f"x{j}" for j in range(columns.shape[1])])
    found = {method: [] for method in ("logistic", "forest", "boosting")}
    for train, test in folds_of(numbers, chosen.seed):
        for task in tasks:
            y = numbers == task
            for method, areas in found.items():
                model = baseline(method, frame.iloc[train], y[train], "roc_auc")
                areas.append(roc_auc_score(y[test], model.predict_proba(frame.iloc[test])[:, 1]))
    return {method: float(np.mean(areas)) for method, areas in found.items()}


def save(results, chosen, stem):
    """Save all numbers as JSON, and one line per kernel as CSV."""
    document = {"settings": vars(chosen), "results": results}
    Path(f"{stem}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    with open(f"{stem}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["data set", "kernel", "random", "auc", "ratio", "soft ratio", "seconds"])
        for found in results:
            for line in found["kernels"]:
                fields = ("kernel", "random", "auc", "ratio", "soft_ratio", "seconds")
                writer.writerow([found["name"], *(line[field] for field in fields)])


def arguments():
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="four small sets, 3 formulas, 300 rows"
    )
    parser.add_argument("--report", action="store_true", help="only print and draw saved results")
    parser.add_argument("--others", action="store_true", help="other methods on the same folds")
    parser.add_argument("--sets", nargs="+", choices=FILES, metavar="SET", help="these sets only")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    chosen.stem = "08_radius_margin" + "_quick" * chosen.quick + "_some" * bool(chosen.sets)
    chosen.sets = chosen.sets or list(QUICK if chosen.quick else FILES)
    chosen.formulas, chosen.rows = (3, 300) if chosen.quick else (30, 2000)
    chosen.penalties = [10.0] if chosen.quick else [10.0**k for k in range(-2, 4)]
    chosen.jobs = 1 if chosen.quick else chosen.jobs
    return chosen


def measure_all(chosen, stem):
    """Study one data set after the other, save each, and print progress in a full run."""
    begin = perf_counter()
    for name in chosen.sets:
        for file in FILES[name]:
            path_of(f"{file}.csv")  # exits now, not after an hour, if a file is missing
    pool = Parallel(n_jobs=chosen.jobs, return_as="generator")
    results = []
    with Progress() as progress:
        for name in chosen.sets:
            results.append(study(name, chosen, pool, progress))
            save(results, chosen, stem)
            if not chosen.quick:
                print(f"{perf_counter() - begin:6.0f} s  {name} done", flush=True)
    return results


def main():
    """Measure or read, print and draw."""
    chosen = arguments()
    begin = perf_counter()
    OUTPUT.mkdir(exist_ok=True)
    stem = OUTPUT / chosen.stem
    if chosen.report:
        saved = Path(f"{stem}.json")
        if not saved.exists():
            sys.exit(f"{saved} does not exist; run without --report first.")
        results = json.loads(saved.read_text(encoding="utf-8"))["results"]
    else:
        results = measure_all(chosen, stem)
    n_formulas = sum(line["random"] for line in results[0]["kernels"])
    print(f"AUC in percent, {FOLDS} folds; {n_formulas} random formulas per data set.")
    print("* equal rows have different classes: soft margin.\n")
    print(results_table(results), "\n")
    print(which(results), "\n")
    print(verdict(results), "\n")
    for name in chosen.sets if chosen.others else ():
        areas = ", ".join(f"{k} {100 * v:.2f}" for k, v in others(name, chosen).items())
        print(f"AUC of other methods on {name}: {areas}\n")
    draw(results, f"{stem}.png")
    print(f"Saved {stem}.json and .csv\n{perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
