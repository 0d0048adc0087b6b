"""Tables and scatter plots of the saved results of 08_radius_margin.py.

``results`` is the list in output/08_radius_margin.json, one dictionary per data set.
"""

import numpy as np
from protocol import plotting

from formulakern.text import clip, table

INK, GREY, ROSE, TEAL = "#22303c", "#5c6770", "#d1495b", "#00798c"


def best_of(found, random):
    """Return the line with the largest AUC among the random formulas, or among the families."""
    lines = [line for line in found["kernels"] if line["random"] is random]
    families = [line for line in lines if line["kernel"] != "linear"]
    return max(families, key=lambda line: line["auc"])


def results_table(results):
    """Return the table of AUC in percent and correlations."""
    rows = []
    for found in results:
        drawn = [line["auc"] for line in found["kernels"] if line["random"]]
        numbers = [
            next(line["auc"] for line in found["kernels"] if line["kernel"] == "linear"),
            best_of(found, False)["auc"],
            best_of(found, True)["auc"],
            found["chosen"],
            float(np.mean(drawn)),
        ]
        pairs = [found["correlation"].get(name) for name in ("pearson", "spearman")]
        rows.append(
            [
                found["name"] + "*" * found["soft"],
                f"{found['rows']:,}",
                str(found["propositions"]),
                *(f"{100 * number:.2f}" for number in numbers),
                *("-" if pair is None else f"{pair[0]:+.2f} ({pair[1]:.0e})" for pair in pairs),
            ]
        )
    head = ["data set", "rows", "inputs", "linear", "Boolean", "best", "chosen", "mean"]
    return table([*head, "Pearson (p)", "Spearman (p)"], rows)


def which(results):
    """Return the table of the best kernels, and of the results with the softer margin."""
    rows = [
        [
            found["name"],
            best_of(found, False)["kernel"],
            clip(best_of(found, True)["kernel"], 30),
            f"{100 * found['chosen_softly']:.2f}",
            "-" if pair is None else f"{pair[0]:+.2f} ({pair[1]:.0e})",
        ]
        for found in results
        for pair in [found["soft_correlation"].get("spearman")]
    ]
    head = ["data set", "Boolean", "best random formula", "chosen, C = 1", "Spearman (p)"]
    return table(head, rows)


def verdict(results):
    """Return the published claim, and whether each set reaches it."""
    above = [found["name"] for found in results if best_of(found, True)["auc"] > 0.98]
    below = [found["name"] for found in results if found["name"] not in above]
    significant = {
        name: [
            sum(
                pair is not None and pair[0] * sign > 0 and pair[1] < 0.05
                for found in results
                for pair in [found[name].get("spearman")]
            )
            for sign in (-1, 1)
        ]
        for name in ("correlation", "soft_correlation")
    }
    hard, soft = significant["correlation"], significant["soft_correlation"]
    reached = set(below) <= {"primary-tumor"}
    return (
        f"{'reached' if reached else 'NOT reached':<12}published: the best formula is above 98 % "
        f"AUC in all but primary-tumor\n{'':<12}above: {len(above)} of {len(results)}; not: "
        f"{', '.join(below) or 'none'}\n{'':<12}a smaller ratio goes with a larger AUC on "
        f"{hard[0]} of {len(results)}, with a smaller one on {hard[1]}\n{'':<12}(Spearman, "
        f"p < 0.05); with the softer margin, C = 1, on {soft[0]} and {soft[1]}"
    )


def draw(results, path):
    """Draw a scatter plot per data set: the ratio on the x axis, the AUC on the y axis."""
    plt = plotting()
    if plt is None:
        return
    plt.rcParams.update({"font.size": 8.5, "text.color": INK, "font.family": "DejaVu Sans"})
    n_wide = 2 if len(results) <= 4 else 4
    n_high = -(-len(results) // n_wide)
    figure, grid = plt.subplots(
        n_high, n_wide, figsize=(2.9 * n_wide, 2.5 * n_high), dpi=150, layout="constrained"
    )
    for axis, found in zip(grid.flat, results, strict=False):
        panel(axis, found)
    spare = list(grid.flat)[len(results) :]
    for axis in spare:
        axis.axis("off")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    if spare:
        spare[-1].legend(handles, labels, frameon=False, loc="center left", fontsize=8.5)
    else:
        figure.legend(handles, labels, frameon=False, loc="outside upper center", ncols=2)
    figure.supxlabel("squared ratio of radius and margin, training rows", fontsize=9.5)
    figure.supylabel("AUC in percent, test rows", fontsize=9.5)
    figure.savefig(path)
    plt.close(figure)
    print(f"Saved {path}")


def panel(axis, found):
    """Draw one data set."""
    drawn = [line for line in found["kernels"] if line["random"]]
    areas = 100 * np.array([line["auc"] for line in drawn])
    ratio = np.array([line["ratio"] for line in drawn])
    finite = np.isfinite(ratio)
    axis.set_xscale("log")
    style = {"s": 20, "linewidth": 0, "alpha": 0.75}
    axis.scatter(ratio[finite], areas[finite], color=TEAL, label="random formula", **style)
    linear = next(line["auc"] for line in found["kernels"] if line["kernel"] == "linear")
    best = 100 * best_of(found, False)["auc"]
    axis.axhline(100 * linear, color=GREY, linestyle=":", linewidth=1.2, label="linear kernel")
    axis.axhline(best, color=GREY, linestyle="--", linewidth=1.0, label="best Boolean kernel")
    if finite.any():
        place = ratio.argmin()
        axis.scatter(
            ratio[place],
            areas[place],
            s=70,
            facecolor="none",
            edgecolor=ROSE,
            linewidth=1.6,
            label="smallest ratio",
        )
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    pair = found["correlation"].get("spearman")
    note = (
        "AUC all equal" if pair is None else f"rank correlation {pair[0]:+.2f}, p = {pair[1]:.1g}"
    )
    if found["infinite"]:
        note += f"; {found['infinite']} not separating"
    axis.set_title(f"{found['name']}{' (soft margin)' * found['soft']}\n", fontsize=9.5, color=INK)
    axis.text(0.5, 1.03, note, transform=axis.transAxes, ha="center", fontsize=7.5, color=GREY)
    axis.tick_params(colors=INK, labelsize=7.5)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    heights = [*areas, 100 * linear, best]
    high = max(heights)
    span = max(high - min(heights), 1)  # a range below one point must look small
    axis.set_ylim(high - 1.06 * span, high + 0.06 * span)
    axis.ticklabel_format(axis="y", useOffset=False)
    edge = axis.get_xlim()[1]  # the place of infinite ratios
    apart = areas[~finite]
    if len(apart):
        axis.scatter(
            np.full(len(apart), edge), apart, marker="<", color=TEAL, clip_on=False, **style
        )
    axis.set_xlim(right=edge)
