"""Every stage of a kernel, from the text to the code, as text, HTML and LaTeX."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from formulakern.program.program import Program, listing
from formulakern.rewrite import Rewriting
from formulakern.semantics import READINGS
from formulakern.syntax.formula import Constant, Formula, Variable
from formulakern.syntax.leaves import Choice
from formulakern.syntax.notation import UNICODE
from formulakern.text import clip

if TYPE_CHECKING:
    import sympy

__all__ = ["Inspection", "Section", "clip_lines", "equation", "stages"]

#: Steps of a rewriting pass, and lines of a tree, that are shown.
MAX_STEPS, MAX_TREE_LINES = 12, 40
#: Formulas are shown up to this many characters.
MAX_TEXT = 400
#: Long equations are folded at this width.
WIDTH = 84


class Section(NamedTuple):
    """One stage: a title, and its text in a monospaced layout."""

    title: str
    text: str


@dataclass(frozen=True)
class Inspection:
    """The stages of a kernel; ``print`` it, or let a notebook show it."""

    title: str
    sections: tuple[Section, ...]
    latex: str

    def __getitem__(self, title: str) -> str:
        """The text of one stage, by its title."""
        for section in self.sections:
            if section.title == title:
                return section.text
        raise KeyError(f"{title!r}; stages: {', '.join(s.title for s in self.sections)}")

    def __str__(self) -> str:
        width = max(len(section.title) for section in self.sections)
        blocks = [self.title, ""]
        for section in self.sections:
            first, *rest = section.text.splitlines() or [""]
            blocks.append(f"{section.title:>{width}} │ {first}")
            blocks += [f"{'':>{width}} │ {line}".rstrip() for line in rest]
            blocks.append(f"{'':>{width}} │")
        return "\n".join(blocks[:-1])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr><th style='text-align:right;vertical-align:top'>"
            f"{html.escape(section.title)}</th><td style='text-align:left'>"
            f"<pre style='margin:0'>{html.escape(section.text)}</pre></td></tr>"
            for section in self.sections
        )
        latex = html.escape(self.latex)  # names of variables are in it
        return (
            f"<p><code>{html.escape(self.title)}</code></p><p>$\\displaystyle {latex}$</p>"
            f"<table>{rows}</table>"
        )

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"


def stages(rewriting: Rewriting, variables: str, program: Program) -> list[Section]:
    """What becomes of a formula before it is compiled."""
    return [
        Section("text", clip(str(rewriting.original), MAX_TEXT)),
        Section("tree", _tree(rewriting.original)),
        Section("rewrites", _rewrites(rewriting)),
        Section("meaning", _meaning(rewriting.original, variables, program)),
        Section("program", listing(program)),
    ]


def _tree(formula: Formula) -> str:
    """A formula as an indented tree, at most ``MAX_TREE_LINES`` lines of it."""
    lines: list[str] = []
    pending: list[tuple[Formula, str, str]] = [(formula, "", "")]
    while pending and len(lines) <= MAX_TREE_LINES:
        node, first, rest = pending.pop()
        below = node.inside or node.arguments
        if isinstance(node, Choice):
            lines.append(f"{first}{_choice(node)}")
        elif node.connective is None:
            kind = "constant" if isinstance(node, Constant) else "variable"
            lines.append(f"{first}{node.leaf_text(UNICODE)}  ({kind})")
        else:
            row = node.connective
            lines.append(f"{first}{row.unicode}  {row.name}, truth table {row.truth}")
        branches = [("├─ ", "│  ")] * (len(below) - 1) + [("└─ ", "   ")] * bool(below)
        for argument, (branch, under) in zip(below[::-1], branches[::-1], strict=True):
            pending.append((argument, rest + branch, rest + under))
    if len(lines) > MAX_TREE_LINES:
        lines[MAX_TREE_LINES:] = [f"… ({formula.n_leaves:,} leaves in all)"]
    return "\n".join(lines)


def _choice(choice: Choice) -> str:
    """The head of a choice, in words."""
    how_many = {
        "all": "all",
        "any": "at least one",
        "atleast": f"at least {choice.least:,}",
        "exactly": f"exactly {choice.least:,}",
    }[choice.kind]
    return f"{choice.kind}  {how_many} of {choice.degree:,} different features"


def _rewrites(rewriting: Rewriting) -> str:
    """The passes, each with its result and at most ``MAX_STEPS`` of its steps."""
    lines = []
    for result in rewriting.passes:
        lines.append(f"{result.name}: {clip(str(result.formula), MAX_TEXT)}")
        lines += [
            f"    {clip(str(step.before), 60)}  ⟹  {clip(str(step.after), 60)}   ({step.rule})"
            for step in result.steps[:MAX_STEPS]
        ]
        if len(result.steps) > MAX_STEPS:
            lines.append(f"    … and {len(result.steps) - MAX_STEPS:,} more steps")
    return "\n".join(lines) or "none needed"


def _meaning(formula: Formula, variables: str, program: Program) -> str:
    """The reading in words, and what its variables range over."""
    lines = [f"variables={variables!r}: {READINGS[variables].meaning}"]
    if program.degrees is None:
        lines.append(
            "a choice takes different features of the formula inside; names inside are its own"
        )
    elif any(isinstance(leaf, Variable) for leaf in formula.leaves):
        for name, degree in zip(program.domains, program.degrees, strict=True):
            where = f"domain {name!r}" if name else "all columns"
            what = "variable ranges" if degree == 1 else "variables range"
            lines.append(f"{degree} {what} over {where}")
    if program.divisor > 1:
        lines.append(f"{program.divisor:,} symmetries: every feature is counted that often")
    return "\n".join(lines)


def equation(form: sympy.Expr) -> str:
    """The closed form, folded at spaces."""
    return textwrap.fill(
        f"K(x, z) = {clip(str(form), MAX_TEXT)}",
        WIDTH,
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def clip_lines(text: str, limit: int) -> str:
    """At most so many lines, and how many are left out."""
    lines = text.splitlines()
    if len(lines) <= limit:
        return text
    return "\n".join([*lines[:limit], f"… ({len(lines) - limit:,} more lines)"])
