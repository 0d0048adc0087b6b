"""Draw picture.png, the picture of the front page: two kernels on the robots of monks-1.

A robot has six attributes; its class is ``a1 = a2 or a5 = 1``.  Each small field is one of the 432
robots.  Blocks are ordered by a1 from left to right and by a2 from bottom to top; a block is
ordered by a5.  The colour is the decision value of a support vector machine that was trained
without the robot (10 folds).  A linear kernel adds attributes and cannot represent "a1 = a2".
Features such as "a1 = 2 and a2 = 2", the substitutions of ``a & b``, can.
"""

import sys
from pathlib import Path

import numpy as np
from protocol import plotting
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import formulakern as fk

INK, GREY, PAPER = "#22303c", "#5c6770", "#ffffff"
ROSE, TEAL = "#d1495b", "#00798c"


def places(robots):
    """Return the left and lower edge of each robot's field: blocks of 12 x 12, 2 apart."""
    a = {name: np.asarray(robots[name]) - 1 for name in robots.names}
    within = (a["a3"] * 3 + a["a4"]) * 2 + a["a6"]
    return a["a1"] * 14 + a["a5"] * 3, a["a2"] * 14 + within


def main():
    """Cross-validate both kernels, draw and save."""
    plt = plotting()
    if plt is None:
        return
    from matplotlib.colors import LinearSegmentedColormap

    robots, y = fk.datasets.monks(1)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    encoder = fk.PropositionEncoder(nominal="all")
    panels = [("the class", "a1 = a2  or  a5 = 1", np.where(y == 1, 1.0, -1.0))]
    for formula, title in (("a", "linear kernel"), ("a & b", "formula a & b")):
        svm = fk.FormulaSVC(formula, C=100, encoder=encoder)
        values = cross_val_predict(svm, robots, y, cv=folds, method="decision_function")
        right = 100 * np.mean((values > 0) == (y == 1))
        panels.append((title, f"{right:.0f} % of unseen robots right", values))

    colours = LinearSegmentedColormap.from_list("classes", [ROSE, "#f6f1eb", TEAL])
    plt.rcParams.update({"font.size": 10, "text.color": INK, "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(1, 3, figsize=(8, 3.6), dpi=180, facecolor=PAPER)
    figure.subplots_adjust(left=0.05, right=0.985, top=0.83, bottom=0.165, wspace=0.16)
    left, bottom = places(robots)
    for axis, (title, subtitle, values) in zip(axes, panels, strict=True):
        shades = colours(np.clip((values + 1) / 2, 0, 1))
        axis.bar(left, 0.86, 2.86, bottom, align="edge", color=shades)
        axis.set(xlim=(0, 40), ylim=(0, 40))
        axis.set_title(f"{title}\n", fontsize=12, fontweight="bold", color=INK, pad=3)
        axis.text(0.5, 1.04, subtitle, transform=axis.transAxes, ha="center", fontsize=9.5)
        axis.set_xticks([6, 20, 34], ["a1 = 1", "a1 = 2", "a1 = 3"])
        axis.set_yticks([6, 20, 34], ["1", "2", "3"] if axis is axes[0] else [""] * 3)
        axis.tick_params(length=0, colors=INK, labelsize=9)
        axis.set_box_aspect(1)
        for spine in axis.spines.values():
            spine.set_visible(False)
    axes[0].set_yticks([6, 20, 34], ["a2 = 1", "a2 = 2", "a2 = 3"], rotation=90, va="center")
    figure.text(
        0.5,
        0.055,
        "The 432 robots of monks-1, ordered by a1, a2 and, within a block, a5. Colour: the "
        "decision of\na support vector machine for a robot outside its training rows, from class 0 "
        "(red) to class 1 (blue).",
        ha="center",
        va="center",
        fontsize=8.5,
        color=GREY,
    )
    path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("picture.png"))
    figure.savefig(path, facecolor=PAPER)
    for title, subtitle, _ in panels:
        print(f"{title:>15}  {subtitle}")
    print(f"Saved {path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
