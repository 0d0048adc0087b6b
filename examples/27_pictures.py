"""Every picture of ``fk.plot``, on real data
==========================================

In a shell::

    python examples/27_pictures.py           # all of them: twenty seconds
    python examples/27_pictures.py --dark    # for dark pages
    python examples/27_pictures.py --quick   # one of each kind, on fewer rows: seconds

Each picture is one line: a function takes a fitted model, or a kernel with a table, draws on ``ax``
or on a new figure, and returns the axes.  Pictures go to output/.  Half of the rows of
bank-marketing (who subscribes to a deposit), breast cancer and the speed of computers are for
training; pictures of held-out rows use the other half.
"""

import argparse
from functools import partial

import numpy as np
from protocol import OUTPUT, plotting, read, split

import formulakern as fk


def models(quick):
    """Return fitted models, and the halves of the tables."""
    found = {}
    [(bank, y)] = read("bank-marketing-4521.csv")
    bank = bank.drop(columns="duration")  # the length of the call is known only after the call
    train, test = split(y, 300 if quick else 2260)
    found["bank"] = (bank.iloc[train], y[train], bank.iloc[test], y[test])
    C = {"Cs": [30.0, 300.0], "depth_penalties": [4.0], "cv": 2} if quick else {}
    found["hkl_cv"] = fk.HKLClassifierCV(**C, class_weight="balanced").fit(
        bank.iloc[train], y[train]
    )
    found["prl"] = fk.PRLClassifier(class_weight="balanced").fit(bank.iloc[train], y[train])
    found["list"] = fk.RuleListClassifier("ripper").fit(bank.iloc[train], y[train])
    [(cpu, speed)] = read("cpu-performance.csv")
    cpu = cpu.drop(columns=["vendor", "model"])
    train, test = split(np.zeros(len(speed)), 100)
    found["cpu"] = (cpu.iloc[train], speed[train], cpu.iloc[test], speed[test])
    found["regressor"] = fk.HKLRegressor().fit(cpu.iloc[train], np.log2(speed[train]))
    [(cells, y)] = read("breast-cancer-wisconsin.csv")
    y = np.where(y == 2, "benign", "malignant")
    train, test = split(y, 100 if quick else 340)
    found["cells"] = (cells.iloc[train], y[train], cells.iloc[test], y[test])
    found["svm"] = fk.FormulaSVC("a & b & c").fit(cells.iloc[train], y[train])
    [(cars, y)] = read("car.csv")
    train, test = split(y, 200 if quick else 860)
    found["cars"] = (cars.iloc[train], y[train], cars.iloc[test], y[test])
    found["car list"] = fk.RuleListClassifier("cn2").fit(cars.iloc[train], y[train])
    found["several"] = fk.HKLClassifier().fit(cars.iloc[train], y[train])
    [(boards, y)] = read("tic-tac-toe.csv")
    train, _ = split(y, 100 if quick else 300)
    candidates = ["a", "a & b", "a | b", "a & b & c", "a & ~b", "a ^ b", "(a & b) | c", "a -> b"]
    search = fk.FormulaSearch(candidates[: 4 if quick else 8], "radius-margin", compare=True)
    found["search"] = search.fit(boards.iloc[train], y[train])
    return found


def pictures(m):
    """Return name → a function of axes."""
    plot = fk.plot
    _, _, later, t = m["bank"]
    cells, kinds = (part[:300] for part in m["cells"][2:])
    computer, car = m["cpu"][0][:1], m["cars"][0][:1]
    yes = int(np.flatnonzero(m["hkl_cv"].predict(later) == "yes")[0])
    learners = {"HKL": m["hkl_cv"], "PRL": m["prl"], "RIPPER": m["list"]}
    return {
        "gram": partial(plot.gram, m["svm"], cells, kinds),
        "kernel_pca": partial(plot.kernel_pca, m["svm"], cells, kinds),
        "rule_weights": partial(plot.rule_weights, m["hkl_cv"], top=10),
        "rule_weights_classes": partial(plot.rule_weights, m["several"], top=10),
        "rule_weights_number": partial(plot.rule_weights, m["regressor"], top=10),
        "rule_counts": partial(plot.rule_counts, m["car list"], top=10),
        "waterfall": partial(plot.waterfall, m["hkl_cv"], later[yes : yes + 1], top=8),
        "waterfall_number": partial(plot.waterfall, m["regressor"], computer, top=8),
        "waterfall_classes": partial(plot.waterfall, m["several"], car, top=8),
        "rule_curves": partial(plot.rule_curves, learners, later, t),
        "history": partial(plot.history, m["prl"]),
        "history_gaps": partial(plot.history, m["several"]),
        "cv_results": partial(plot.cv_results, m["hkl_cv"]),
        "cv_results_rules": partial(plot.cv_results, m["hkl_cv"], x="mean_rules"),
        "rule_overlap": partial(plot.rule_overlap, m["several"], m["cars"][2], top=10),
        "coverage_precision": partial(plot.coverage_precision, m["several"], *m["cars"][2:]),
        "coverage_precision_list": partial(plot.coverage_precision, m["car list"], named=3),
        "search_results": partial(plot.search_results, m["search"]),
    }


def story(plt):
    """Draw a formula, its kernel matrix and the rules of its machine: three axes of a figure."""
    robots, y = fk.datasets.monks(1)
    y = np.where(y == 1, "class 1", "class 0")
    encoder = fk.PropositionEncoder(nominal="all")
    svm = fk.FormulaSVC("a & b", C=100, encoder=encoder).fit(robots, y)
    figure = plt.figure(figsize=(9, 3.25), layout="constrained")
    text, matrix, bars = figure.subplots(1, 3, width_ratios=[0.75, 1.25, 1.45])
    fk.plot.gram(svm, robots, y, ax=matrix)
    fk.plot.rule_weights(svm.rules(top=10), ax=bars)
    text.axis("off")
    middle = {"ha": "center", "va": "center", "transform": text.transAxes}
    text.text(0.5, 0.68, "a & b", fontsize=24, family="monospace", **middle)
    told = "432 robots of monks-1\n\ntheir class is 1 if\na1 = a2  or  a5 = 1"
    text.text(0.5, 0.32, told, fontsize=9.5, **middle)
    titles = ("a formula", "its kernel matrix", "the rules of the machine")
    for ax, title in zip((text, matrix, bars), titles, strict=True):
        ax.set_title(title, fontweight="bold", loc="center")
    return text


def main():
    """Fit, draw and save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one of each kind, fewer rows")
    parser.add_argument("--dark", action="store_true", help="light text on a dark ground")
    parser.add_argument("--only", nargs="*", default=(), help="names of pictures")
    options = parser.parse_args()
    plt = plotting()
    if plt is None:
        return
    if options.dark:
        plt.style.use("dark_background")
    OUTPUT.mkdir(exist_ok=True)
    end = "-quick" * options.quick + "-dark" * options.dark
    drawings = {"story": partial(story, plt)} | pictures(models(options.quick))
    drawn = set()
    for name, draw in drawings.items():
        if options.only and name not in options.only:
            continue
        if options.quick and draw.func in drawn:
            continue
        drawn.add(draw.func)
        ax = draw()
        path = OUTPUT / f"27_{name}{end}.png"
        ax.figure.savefig(path, dpi=110)
        plt.close(ax.figure)
        print(draw.func.__doc__.split("\n", 1)[0])
        print(f"Saved {path}")


if __name__ == "__main__":
    main()
