"""The report of the lines that 16_league.py saves: tables and a picture.

A result is a dictionary: table, share, split, learner, and either the measures or the reason why
there are none (``too_long``: after how many seconds, or ``failed``: the error).  All comparisons
are paired: means are over the tables and splits for which all compared learners have results.
"""

import json
from collections import defaultdict
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from statistics import median

import numpy as np
from protocol import plotting, show
from scipy.stats import friedmanchisquare, rankdata, studentized_range

INK, GREY, TEAL, ROSE = "#22303c", "#5c6770", "#00798c", "#d1495b"
KEYS = ("table", "share", "split", "learner")
#: Learners with this share of the largest number of splits are compared together.
COMPLETE = 0.8
#: The largest number of rules of a small model; a learner is small if most of its models are.
FEW = 30


# -- what is there ------------------------------------------------------------------------------


def saved(path):
    """Return (table, share, split, learner) → the last line; an incomplete line is ignored."""
    found = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with suppress(json.JSONDecodeError):
            line = json.loads(text)
            found[tuple(line[key] for key in KEYS)] = line
    return found


def valid(found, settings, limit):
    """Return the lines of learners with these settings; fits above the limit are too long."""
    return {
        task: line
        for task, line in found.items()
        if line["settings"] == settings.get(task[3]) and line.get("too_long", limit) >= limit
    }


def hopeless(task, late):
    """Return True if the learner took too long on this table with at most as many training rows."""
    table, share, _, name = task
    return any((a, d) == (table, name) and b <= share for a, b, _, d in late)


# -- statistics ---------------------------------------------------------------------------------


def critical_difference(learners, tables, level=0.05):
    """Return the difference of two mean ranks that chance exceeds with probability ``level``.

    Nemenyi's test: q √(k (k + 1) / (6 N)), with q the studentised range of k learners divided by
    √2; Demšar (2006), Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7:1-30.
    """
    q = studentized_range.ppf(1 - level, learners, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(learners * (learners + 1) / (6 * tables)))


def mean_ranks(scores):
    """Return mean ranks of the columns, 1 for the largest score of a row; ties share ranks."""
    return rankdata(-np.round(scores, 12), axis=1).mean(axis=0)


def groups(ranks, difference):
    """Return (first, last) of the longest runs of sorted ranks within a difference."""
    last = [int(np.searchsorted(ranks, rank + difference, side="right")) - 1 for rank in ranks]
    runs = [(i, j) for i, j in enumerate(last) if j > i]
    return [(i, j) for i, j in runs if not any(a < i and j <= b for a, b in runs)]


# -- tables -------------------------------------------------------------------------------------


class Paired:
    """The results at one share of training rows of the learners that have most of them."""

    def __init__(self, lines, learners):
        #: learner → {(table, split): result}
        self.all = {
            name: {
                (line["table"], line["split"]): line
                for line in lines
                if line["learner"] == name and "macro F1" in line
            }
            for name in learners
        }
        most = max((len(found) for found in self.all.values()), default=0)
        self.learners = [
            name for name, found in self.all.items() if found and len(found) >= COMPLETE * most
        ]
        found = [self.all[name].keys() for name in self.learners]
        self.pairs = sorted(set.intersection(*map(set, found))) if found else []
        self.tables = sorted({table for table, _ in self.pairs})
        everywhere = {table for found in self.all.values() for table, _ in found}
        self.missing = sorted(everywhere - set(self.tables))

    def means(self, name, measure, pairs=None):
        """Return table → mean over its splits, without tables that lack the measure."""
        values = defaultdict(list)
        for table, split in self.pairs if pairs is None else pairs:
            values[table].append(self.all[name][table, split].get(measure))
        return {table: float(np.mean(some)) for table, some in values.items() if None not in some}

    def scores(self, measure="macro F1"):
        """Return the scores, a row per table and a column per learner."""
        columns = [self.means(name, measure) for name in self.learners]
        return np.array([[column[table] for column in columns] for table in self.tables])


def mean_text(values, tables, form="{:.3f}"):
    """Return the mean over tables, if each has a value."""
    return form.format(np.mean(list(values.values()))) if len(values) == tables else ""


def overview(share, paired):
    """Print every measure, the mean ranks, sizes and seconds."""
    ranks = mean_ranks(paired.scores())
    rows = []
    for k in np.argsort(ranks, kind="stable"):
        name = paired.learners[k]
        sizes = [paired.means(name, what) for what in ("rules", "conditions", "seconds")]
        scores = [
            mean_text(paired.means(name, what), len(paired.tables))
            for what in ("macro F1", "balanced accuracy", "accuracy", "log loss")
        ]
        rows.append(
            [name, *scores, f"{ranks[k]:.2f}"]
            + [f"{median(size.values()):.3g}" if size else "" for size in sizes]
        )
    head = ["learner", "macro F1", "balanced accuracy", "accuracy", "log loss", "mean rank"]
    show(
        f"{share} % training rows: means over {len(paired.tables)} tables "
        f"({len(paired.pairs)} splits), medians of the sizes and of CPU seconds",
        [*head, "rules", "rules × length", "seconds"],
        rows,
    )
    if paired.missing:
        print(f"Tables that some learner lacks: {', '.join(paired.missing)}.")
    print()
    on_fewer_splits(share, paired)
    if len(paired.learners) > 2 and len(paired.tables) > 1:
        chance = friedmanchisquare(*paired.scores().T).pvalue
        difference = critical_difference(len(paired.learners), len(paired.tables))
        print(
            f"Friedman's test: p = {chance:.2g}; critical difference of the mean ranks at 5 % "
            f"(Nemenyi): {difference:.2f}"
        )
    print()


def on_fewer_splits(share, paired):
    """Print learners that lack splits, and the others on the splits that they have."""
    rows = []
    for name in paired.all:
        both = sorted(paired.all[name].keys() & set(paired.pairs))
        if name in paired.learners or not both:
            continue
        means = [paired.means(one, "macro F1", both) for one in (name, *paired.learners)]
        sizes = [paired.means(name, what, both) for what in ("seconds", "rules")]
        rows.append(
            [name, f"{len(both)} of {len(means[0])} tables"]
            + [f"{median(size.values()):.3g}" if size else "" for size in sizes]
            + [f"{np.mean(list(scores.values())):.3f}" for scores in means]
        )
    if rows:
        show(
            f"{share} % training rows, learners that lack splits: means of macro F1 over tables",
            ["learner", "splits", "seconds", "rules", "macro F1", *paired.learners],
            rows,
        )


def small_models(share, paired):
    """Print the ranks among models of few rules."""
    scores = {name: paired.means(name, "macro F1") for name in paired.learners}
    rules = {name: paired.means(name, "rules") for name in paired.learners}
    few = {
        name: {table for table, number in rules[name].items() if number <= FEW}
        for name in paired.learners
    }
    named = [name for name in paired.learners if few[name]]
    if not named:
        return
    within = np.array(
        [[scores[n][t] if t in few[n] else -1.0 for n in named] for t in paired.tables]
    )
    ranks = mean_ranks(within)
    wins = (within == within.max(axis=1, keepdims=True)) & (within >= 0)
    rows = []
    for k in np.argsort(ranks, kind="stable"):
        name = named[k]
        every = list(rules[name].values())
        small = median(every) <= FEW
        f1 = mean_text(scores[name], len(paired.tables)) if small else ""
        counts = (len(few[name]), int(wins[:, k].sum()))
        rows.append([name, f"{ranks[k]:.2f}", *map(str, counts), f"{median(every):.3g}", f1])
    show(
        f"{share} % training rows, models of at most {FEW} rules: mean rank of macro F1 (larger "
        f"models share the last place); F1 of learners whose median model is that small",
        ["learner", "mean rank", "tables with so few", "first on", "median rules", "macro F1"],
        rows,
    )


def what_choosing_gives(panels):
    """Print learners with cross-validated settings next to their defaults."""
    rows = []
    for share, paired in panels.items():
        for name, found in paired.all.items():
            chosen = paired.all.get(f"{name} CV", {})
            both = sorted(found.keys() & chosen.keys())
            if not both:
                continue
            plain, tuned = (paired.means(k, "macro F1", both) for k in (name, f"{name} CV"))
            times = [chosen[pair]["seconds"] / max(found[pair]["seconds"], 1e-3) for pair in both]
            ahead = sum(tuned[table] > plain[table] for table in plain)
            means = [float(np.mean(list(some.values()))) for some in (plain, tuned)]
            scores = [f"{mean:.3f}" for mean in means]
            better = f"{ahead} of {len(plain)}"
            rows.append([name, f"{share} %", *scores, better, f"{median(times):.3g}"])
    if rows:
        show(
            "Cross-validation against the learner's defaults: macro F1, and the median of the "
            "quotients of CPU seconds",
            ["learner", "training rows", "defaults", "CV", "better on", "times the seconds"],
            rows,
        )


def leaders(panels, defaults, ours):
    """Print the largest mean macro F1 of all, of small models, of our defaults, and of boosting."""

    def best(paired, names):
        means = {name: float(paired.scores()[:, paired.learners.index(name)].mean())
                 for name in paired.learners if name in names}  # fmt: skip
        name = max(means, key=means.get, default=None)
        return "" if name is None else f"{name} {means[name]:.3f}"

    rows = []
    for share, paired in panels.items():
        rules = {name: paired.means(name, "rules") for name in paired.learners}
        few = {
            name
            for name, found in rules.items()
            if len(found) == len(paired.tables) and median(found.values()) <= FEW
        }
        sets = (rules, few, set(defaults) & set(ours), {"boosting", "boosting CV"})
        rows.append([f"{share} %", str(len(paired.tables)), *(best(paired, some) for some in sets)])
    head = ["training rows", "tables", "of all", f"median at most {FEW} rules"]
    head += ["our defaults", "boosting"]
    show("The largest mean macro F1", head, rows)


def one_class(lines, defaults, ours):
    """Print where a default predicts a single class, and a default of another package does not."""
    found = defaultdict(dict)
    for line in lines:
        if "one class" in line and line["learner"] in defaults:
            key = (line["share"], line["table"], line["split"])
            found[key][line["learner"]] = line["one class"]
    counts, runs = defaultdict(lambda: defaultdict(int)), defaultdict(int)
    for (share, table, _), single in found.items():
        peers = [name for name in single if name not in ours and not single[name]]
        for name, alone in single.items():
            runs[name] += 1
            if alone and any(peer != name for peer in peers):
                counts[name][share, table] += 1
    rows = []
    for name in defaults:
        if name in runs:
            where = sorted(counts[name].items())
            texts = [f"{table} {share} % ({number})" for (share, table), number in where]
            rows.append([name, f"{sum(counts[name].values())} of {runs[name]}", ", ".join(texts)])
    if not rows:
        return
    show(
        "One class predicted, although another package's default predicts more",
        ["learner", "fits", "tables, training rows (fits)"],
        rows,
    )


def losses(share, paired, ours, others, what="a readable peer", points=1.0):
    """Print the tables on which the best of the others is ahead by more than some points."""
    if ours not in paired.all:
        return
    rows = []
    peers = [name for name in others if paired.all.get(name)]
    for table in sorted({table for table, _ in paired.all[ours]}):
        best = None
        for name in peers:
            both = sorted(
                key for key in paired.all[ours].keys() & paired.all[name].keys() if key[0] == table
            )
            if both:
                mine, other = (paired.means(one, "macro F1", both)[table] for one in (ours, name))
                if best is None or other - mine > best[0]:
                    best = (other - mine, name, mine, other)
        if best and 100 * best[0] > points:
            rows.append([table, f"{best[2]:.3f}", f"{best[3]:.3f}", best[1]])
    if not rows:
        return
    show(
        f"{share} % training rows: {ours} is more than {points:g} % of macro F1 behind {what}",
        ["table", ours, "the best of these", "which"],
        rows,
    )


def unfinished(lines):
    """Print what took too long, and what failed."""
    texts = defaultdict(list)
    for line in lines:
        reason = "too long" if "too_long" in line else line.get("failed")
        if reason:
            texts[line["learner"], reason].append(f"{line['table']} {line['share']} %")
    rows = [
        [name, reason, ", ".join(dict.fromkeys(places))]
        for (name, reason), places in sorted(texts.items())
    ]
    if rows:
        show("Without a result", ["learner", "why", "tables, training rows"], rows)


# -- the picture --------------------------------------------------------------------------------


def picture(panels, path, ours):
    """Draw critical-difference diagrams, one per share: learners by mean rank, equals joined."""
    plt = plotting()
    if plt is None or not panels:
        return
    most = max(len(paired.learners) for paired in panels.values())
    rows = (most + 1) // 2
    figure, axes = plt.subplots(
        len(panels), figsize=(9, len(panels) * (1.3 + 0.23 * rows)), squeeze=False
    )
    for (share, paired), axis in zip(panels.items(), axes[:, 0], strict=True):
        diagram(axis, paired, ours)
        axis.set_title(
            f"{share} % training rows, {len(paired.tables)} tables: mean rank of macro F1",
            fontsize=10, color=INK, loc="left",
        )  # fmt: skip
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"Saved {path}")


def diagram(axis, paired, ours):
    """Draw one diagram: the better half of the learners on the left, the others on the right."""
    ranks = mean_ranks(paired.scores())
    order = np.argsort(ranks, kind="stable")
    ranks, names = ranks[order], [paired.learners[k] for k in order]
    number = len(names)
    difference = critical_difference(number, len(paired.tables))
    joined = groups(ranks, difference)
    half = (number + 1) // 2
    top = 0.55 * len(joined) + 0.6
    low, high = 1.0, float(number)
    room = 0.34 * (high - low)
    axis.plot([low, high], [0, 0], color=INK, lw=1)
    for tick in range(1, number + 1):
        axis.plot([tick, tick], [0, 0.35], color=INK, lw=1)
        axis.text(tick, 0.5, str(tick), ha="center", va="bottom", fontsize=7, color=GREY)
    for k, (rank, name) in enumerate(zip(ranks, names, strict=True)):
        left = k < half
        height = -top - (k if left else number - 1 - k)
        end = low - 0.02 * room if left else high + 0.02 * room
        axis.plot([rank, rank, end], [0, height, height], color=GREY, lw=0.7)
        axis.text(
            end, height, f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}",
            ha="right" if left else "left", va="center", fontsize=8,
            color=TEAL if name in ours else INK,
        )  # fmt: skip
    for level, (i, j) in enumerate(joined):
        height = -0.45 - 0.55 * level
        axis.plot([ranks[i] - 0.04, ranks[j] + 0.04], [height, height], color=ROSE, lw=2.6)
    axis.plot([low, low + difference], [2.3, 2.3], color=ROSE, lw=2.6)
    axis.text(
        low + difference, 2.3, f"  critical difference {difference:.2f}",
        va="center", fontsize=8, color=ROSE,
    )  # fmt: skip
    axis.set_xlim(low - room, high + room)
    axis.set_ylim(-top - half, 3)
    axis.axis("off")


def report(lines, learners, path, *, defaults, ours, hkl, readable):
    """Print all tables, and draw the picture."""
    panels = {}
    shares = groupby(sorted(lines, key=itemgetter("share")), itemgetter("share"))
    for share, some in shares:
        paired = Paired(list(some), learners)
        if paired.tables:
            panels[share] = paired
            overview(share, paired)
            small_models(share, paired)
            for name in hkl:
                losses(share, paired, name, readable)
                losses(share, paired, name, ("boosting",), "boosting", 3.0)
    what_choosing_gives(panels)
    one_class(lines, defaults, ours)
    unfinished(lines)
    leaders(panels, defaults, ours)
    several = {share: paired for share, paired in panels.items() if len(paired.learners) > 1}
    picture(several, path, ours)
