"""Rules with votes or classes as columns of values, and as text, HTML and LaTeX tables."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from formulakern.arrays import FloatArray
from formulakern.markup import Barred, small_table
from formulakern.rules.decision import DecisionRules
from formulakern.rules.export.notes import GLUE, below_base_rate, table_notes
from formulakern.rules.features import LinearTerm, Term
from formulakern.rules.rule import Rule
from formulakern.rules.voting import VotingRules
from formulakern.syntax.connectives import latex_name
from formulakern.text import aligned, clip, signed, significant, width

#: Maximum rows of a printed table and characters of a rule; the least width of its lines.
MAX_ROWS, MAX_RULE, MIN_LINE_WIDTH = 60, 400, 20
#: Characters reserved for rules next to votes for several classes.
RULE_WIDTH = 40
#: Left-aligned columns.
LEFT = ("class", "votes", "rule")
#: Signs after which a rule may be split.
BREAKS = ("&", "|", "^", "->")


def columns_of(ensemble: VotingRules) -> dict[str, list[Any]]:
    """Return weight, class, votes, support, coverage, precision, base rate and text of the rules.

    Rules that predict a number have no class, precision and base rate.  Only rules for several
    classes have votes, with a column for each class.
    """
    classes = ensemble.classes
    names = {"weight": "weight", "class": "winner"} if classes else {"weight": "weight"}
    columns = {name: [getattr(item, held) for item in ensemble] for name, held in names.items()}
    if classes and not ensemble.is_pairwise:
        votes = ensemble.votes.T.tolist()
        columns |= {f"votes {name}": own for name, own in zip(classes, votes, strict=True)}
    shares = ("support", "coverage", "precision", "base_rate")[: 4 if classes else 2]
    columns |= {name: getattr(ensemble, name).tolist() for name in shares}
    return columns | {"rule": [str(rule) for rule in ensemble.rules]}


def listed_votes(votes: FloatArray, names: Sequence[str], limit: int) -> list[str]:
    """Return the votes of each rule in one line, in decreasing order, up to a width limit.

    >>> names = ["setosa", "versicolor", "virginica"]
    >>> listed_votes(np.array([[-0.9, 0.0, 1.2], [0.0, -0.5, 0.0]]), names, 30)
    ['+1.2 virginica, -0.9 setosa', '-0.5 versicolor']
    >>> listed_votes(np.array([[-0.9, 0.0, 1.2]]), names, 20)
    ['+1.2 virginica, …']
    """
    lines, texts = [], np.reshape(signed(votes.ravel().tolist()), votes.shape)
    for own, row in zip(texts.tolist(), votes.tolist(), strict=True):
        order = sorted(range(len(row)), key=lambda k: (-abs(row[k]), -row[k]))
        parts = [f"{own[k]} {names[k]}" for k in order if own[k]]
        n = len(parts)
        while n > 1 and len(", ".join(parts[:n])) + 3 * (n < len(parts)) > limit:
            n -= 1
        lines.append(", ".join(parts[:n] + ["…"] * (n < len(parts))))
    return lines


def ensemble_cells(
    ensemble: VotingRules,
    text_of: Callable[[Term, float | None], str],
    name: Callable[[Any], str] = str,
) -> dict[str, list[str]]:
    """Return titled columns of text: weight and class, or votes; shares; the rule.

    Rules for two classes have an unsigned weight and a class.  Rules for several classes have no
    precision, which is about one class.  They have a column of votes for each class if the width
    suffices, otherwise one column.  Columns without known values are left out.
    """
    classes, votes = ensemble.classes, ensemble.votes
    shares = {"coverage": ensemble.coverage}
    if classes is not None and ensemble.is_pairwise:  # otherwise the shares' class is unclear
        shares |= {"precision": ensemble.precision, "base rate": ensemble.base_rate}
    known = {
        title: [title, *("" if math.isnan(x) else f"{x:.1%}" for x in values.tolist())]
        for title, values in shares.items()
        if not np.isnan(values).all()
    }
    if classes is None or ensemble.is_pairwise:
        weights = [item.weight for item in ensemble]
        points = ensemble.AMOUNT == "points"
        amounts = [f"{weight:+.0f}" for weight in weights] if points else significant(weights)
        cells = {ensemble.AMOUNT: [ensemble.AMOUNT, *amounts]}
        if classes is not None:
            cells["class"] = ["class", *(name(item.winner) for item in ensemble)]
        rules = [text_of(*pair) for pair in zip(ensemble.rules, weights, strict=True)]
        return cells | known | {"rule": ["rule", *rules]}
    rules = [text_of(term, None) for term in ensemble.rules]
    texts = np.reshape(signed(votes.ravel().tolist()), votes.shape).T.tolist()
    columns = [[str(label), *own] for label, own in zip(classes, texts, strict=True)]
    room = width() - min(RULE_WIDTH, max(map(len, rules), default=0))
    room -= sum(2 + max(map(len, column)) for column in known.values())
    names = list(map(name, classes))
    if sum(2 + max(map(len, column)) for column in columns) <= room:
        cells = {f"votes {k}": [names[k], *own[1:]] for k, own in enumerate(columns)}
    else:
        cells = {"votes": ["votes", *listed_votes(votes, names, max(room - 2, MIN_LINE_WIDTH))]}
    return cells | known | {"rule": ["rule", *rules]}


def ensemble_text(ensemble: VotingRules, decides: bool = True) -> str:
    """Return the first rules as a table, with lines split after connectives only.

    If ``decides`` is true, the first line explains the weights, as for whole models.
    """
    about = decision_sentences(ensemble) if decides else ""
    lines = _wrapped(about)
    if not len(ensemble) and ensemble.classes is not None:
        return about or "no rules"
    shown = ensemble.head(MAX_ROWS)
    lines += _listed(_marked(shown))
    if (more := len(ensemble) - MAX_ROWS) > 0:
        lines.append(f"… and {more:,} more rules")
    for line in table_notes(shown):
        lines += _wrapped(line)
    return "\n".join(lines)


def _marked(ensemble: VotingRules) -> dict[str, list[str]]:
    """Return the cells of rules, with a mark at each whose precision is below its base rate."""
    cells, marks = ensemble_cells(ensemble, term_text), below_base_rate(ensemble)
    if any(marks):
        rules = cells.pop("rule")
        cells |= {"": ["", *("*" * mark for mark in marks)], "rule": rules}
    return cells


def term_text(term: Term, weight: float | None) -> str:
    """Return a rule; with a weight, a linear term begins with its contribution per step."""
    if weight is None or not isinstance(term, LinearTerm):
        return str(term)
    column, _, ends = str(term).rpartition(" from ")
    return f"{term.effect(weight)} of {column} (from {ends})"


def decision_sentences(ensemble: VotingRules) -> str:
    """Return the meaning of the weights of the rules, in a sentence or two."""
    if not len(ensemble) and (ensemble.levels or ensemble.classes):
        return f"Predict {ensemble.decide(ensemble.intercept[None]).tolist()[0]} for every row."
    if ensemble.levels is not None:
        if ensemble.AMOUNT == "points":
            no, yes = ensemble.levels
            least = int(ensemble.thresholds[0] - ensemble.intercept[0]) + 1
            how = f"Predict {yes} if the total is {least} or more, else {no}."
            return f"Add the points of the rules that hold. {how}"
        return f"{ensemble.target} by the sum of weights: {listed_levels(ensemble)}"
    if ensemble.classes is None:
        return f"{ensemble.target} = {ensemble.intercept[0]:.6g} + Σ weight · rule"
    start, names = ensemble.intercept.tolist(), list(map(str, ensemble.classes))
    if ensemble.is_pairwise:
        first, second = names
        condition = f"(for {second}) - (for {first}) > {(start[0] - start[1]) / 2:.4g}"
        how = f"Predict {second} if {condition}, else {first}."
        return f"Add the weights of the rules that hold. {how}"
    if not any(start):
        return "Add the votes of the rules that hold. Predict the class with the largest sum."
    known = ", ".join(f"{name}{GLUE}{x:+.4g}" for name, x in zip(names, start, strict=True))
    return (
        "Add the votes of the rules that hold to the intercept of each class. Predict the class "
        f"with the largest sum. Intercepts: {known}"
    )


def listed_levels(ensemble: VotingRules, scores: bool = False) -> str:
    """Return the largest sum of weights for each level; levels that never occur are left out.

    With ``scores``, return the largest score, which includes the intercept.
    """
    ends = ensemble.thresholds - (0.0 if scores else ensemble.intercept[0])
    parts, before = [], -math.inf
    for level, end in zip(ensemble.levels or (), [*ends.tolist(), math.inf], strict=True):
        if end > before:
            parts.append(f"{level} up to {end:.4g}" if end < math.inf else f"{level} above")
        before = end
    return ", ".join(parts)


def decision_columns(decision: DecisionRules) -> dict[str, list[Any]]:
    """Return class, covered weight, accuracy and text of each rule, and last of the default.

    Unknown weights and accuracies are nan; the rule of the default is None.
    """
    rules = [(item.label, item.counts, str(item.rule)) for item in decision]
    columns: dict[str, list[Any]] = {"class": [], "covered": [], "accuracy": [], "rule": []}
    for label, counts, rule in [*rules, (decision.default, decision.default_counts, None)]:
        covered = sum(counts) if counts else math.nan
        known = covered > 0 and label in decision.classes
        right = counts[decision.classes.index(label)] / covered if known else math.nan
        for name, value in zip(columns, (label, covered, right, rule), strict=True):
            columns[name].append(value)
    return columns


def decision_cells(
    decision: DecisionRules,
    top: int | None = None,
    rule: Callable[[Rule], str] = str,
    name: Callable[[Any], str] = str,
) -> dict[str, list[str]]:
    """Return the first rules and the default as columns of text with their titles."""
    columns = decision_columns(decision)
    shown = [*range(len(decision))[:top], -1]
    numbers = [columns["covered"][k] for k in shown]
    whole = all(number != number or number == int(number) for number in numbers)
    labels = (columns["class"][k] for k in shown)
    shares = (columns["accuracy"][k] for k in shown)
    cells = {
        "": [*(str(k + 1) for k in shown[:-1]), ""],
        "class": [name(label) if label in decision.classes else "unknown" for label in labels],
        "covered": ["" if x != x else f"{x:,.{0 if whole else 2}f}" for x in numbers],
        "accuracy": ["" if x != x else f"{x:.1%}" for x in shares],
        "rule": [*(rule(item.rule) for item in decision.rules[:top]), "otherwise"],
    }
    kept = (title for title in cells if title in ("class", "rule") or any(cells[title]))
    return {title: [title, *cells[title]] for title in kept}


def decision_text(decision: DecisionRules) -> str:
    """Return the first rules and the default as a table, with lines split after connectives."""
    lines = _listed(decision_cells(decision, MAX_ROWS))
    if len(decision) > MAX_ROWS:
        lines.insert(-1, f"… and {len(decision) - MAX_ROWS:,} more rules")
    return "\n".join(lines)


def _listed(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return lines of aligned cells; the last column has the rules, split after connectives."""
    *names, last = columns
    sides = "".join("<" if name in LEFT else ">" for name in names)
    cells = [*zip(*(columns[name] for name in names), strict=True)]
    lines = []
    for front, rule in zip(aligned(cells, sides), columns[last], strict=True):
        first, *others = _folded(
            clip(rule, MAX_RULE), max(width() - len(front) - 2, MIN_LINE_WIDTH)
        )
        lines += [f"{front}  {first}".rstrip(), *(" " * (len(front) + 2) + part for part in others)]
    return lines


def _folded(text: str, width: int) -> list[str]:
    glued = text.replace(" ", GLUE)
    for sign in BREAKS:
        glued = glued.replace(f"{GLUE}{sign}{GLUE}", f"{GLUE}{sign} ")
    return _wrapped(glued, width) or [""]


def _wrapped(text: str, most: int | None = None) -> list[str]:
    """Return the lines of a text, split at spaces but not at glue."""
    lines = textwrap.wrap(
        text,
        most or width(),
        subsequent_indent="    " if text.startswith(" ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(GLUE, " ") for line in lines]


# -- HTML


def ensemble_html(ensemble: VotingRules, decides: bool = True, foot: str = "") -> str:
    """Return the first rules as a table, with bars for weights and shares."""
    shown = ensemble.head(MAX_ROWS)
    cells = _marked(shown)
    numbers = {f"votes {k}": votes for k, votes in enumerate(shown.votes.T)}
    numbers[shown.AMOUNT] = np.array([item.weight for item in shown])
    numbers = {key: values for key, values in numbers.items() if key in cells}
    everything = np.concatenate([np.zeros(0), *numbers.values()])
    largest = np.abs(everything).max(initial=0.0) or 1.0
    zero = 0.5 if everything.min(initial=0.0) < 0 else 0.0
    bars = {key: zero + (1 - zero) * values / largest for key, values in numbers.items()}
    starts = dict.fromkeys(bars, zero)
    bars |= {"coverage": shown.coverage, "precision": shown.precision}
    if (more := len(ensemble) - len(shown)) > 0:
        foot = f"… and {more:,} more rules. {foot}".rstrip()
    foot = "\n".join(filter(None, [*table_notes(shown), foot]))
    return _html_table(cells, bars, starts, decision_sentences(ensemble) if decides else "", foot)


def decision_html(decision: DecisionRules) -> str:
    """Return the first rules and the default as a table."""
    cells = decision_cells(decision, MAX_ROWS)
    accuracies = decision_columns(decision)["accuracy"]
    bars = {"accuracy": [*accuracies[:-1][:MAX_ROWS], accuracies[-1]]}
    more = len(decision) - MAX_ROWS
    foot = f"… and {more:,} more rules, before the last line" if more > 0 else ""
    return _html_table(cells, bars, {}, "", foot)


def _html_table(
    cells: Mapping[str, Sequence[str]],
    bars: Mapping[str, Sequence[float]],
    starts: Mapping[str, float],
    caption: str,
    foot: str,
) -> str:
    """Return an HTML table of titled columns, some with bars between two numbers."""
    columns: dict[str, Sequence[str | Barred]] = {
        key: [clip(text, MAX_RULE) for text in texts[1:]] for key, texts in cells.items()
    }
    for key in bars.keys() & cells.keys():
        start = starts.get(key, 0.0)
        columns[key] = [
            Barred(text, start, min(end, 1.0)) if text and not math.isnan(end) else text
            for text, end in zip(cells[key][1:], map(float, bars[key]), strict=True)
        ]
    sides = "".join("r" if key == "rule" else "<" if key in LEFT else ">" for key in columns)
    head = [texts[0] for texts in cells.values()]
    return small_table(head, [*zip(*columns.values(), strict=True)], sides, caption, foot)


# -- LaTeX


def ensemble_latex(ensemble: VotingRules) -> str:
    """Return all rules with their weights; see :meth:`formulakern.RuleEnsemble.to_latex`."""
    return tabular(ensemble_cells(ensemble, _latex_term, _latex_class))


def decision_latex(decision: DecisionRules, top: int | None = None) -> str:
    """Return the first rules with their classes; see :meth:`formulakern.RuleList.to_latex`."""
    return tabular(decision_cells(decision, top, lambda rule: f"${rule.latex()}$", _latex_class))


def tabular(cells: Mapping[str, Sequence[str]]) -> str:
    """Return a LaTeX ``tabular`` of titled columns."""
    sides = "".join("l" if name in LEFT else "r" for name in cells)
    columns = (
        texts if name in LEFT else [texts[0], *(text.replace("%", r"\%") for text in texts[1:])]
        for name, texts in cells.items()
    )
    rows = zip(*columns, strict=True)
    head, *lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([rf"\begin{{tabular}}{{{sides}}}", head, r"\hline", *lines, r"\end{tabular}"])


def _latex_term(term: Term, weight: float | None) -> str:
    text = f"${term.latex()}$"
    if weight is None or not isinstance(term, LinearTerm):
        return text
    return f"{text}, {term.effect(weight)}"


def _latex_class(label: Any) -> str:
    return f"${latex_name(str(label) or ' ')}$"
