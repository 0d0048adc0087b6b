"""``formulakern show``: what a saved model has learned."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from formulakern.cli.learners import learned_text, saved_model
from formulakern.cli.options import add_command, add_output, model_options
from formulakern.cli.output import opened_output
from formulakern.errors import ParameterError
from formulakern.markup import rendered
from formulakern.text import blocks, clip

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    show = add_command(
        commands,
        "show",
        "show what a model has learned",
        ["model.json --top 5", "model.json --html rules.html"],
        model_options(),
    )
    show.add_argument("--top", type=int, metavar="N", help="only the N heaviest rules")
    add_output(show, "--html", metavar="FILE", help="write a page instead")
    show.set_defaults(run=_show)


def _show(options: argparse.Namespace) -> None:
    model = saved_model(options)
    if options.top is not None and options.top < 1:
        raise ParameterError(f"--top is a number of at least 1; got {options.top}.")
    if options.html is not None:
        with opened_output(options.html, options.force, options.model) as file:
            file.write(_page(model, options.model))
        return
    about = [("model", clip(" ".join(repr(model).split()), 300))]
    for name, attribute in (("columns", "feature_names_in_"), ("classes", "classes_")):
        values = getattr(model, attribute, None)
        if values is not None:
            about.append((name, clip(", ".join(map(str, values)), 300)))
    gap = getattr(model, "gap_", None)
    if gap is not None:
        about.append(("gap", f"{float(np.max(gap)):.2g}: how far the optimum may be away"))
    path = shlex.quote(str(options.model))
    after = [f"formulakern explain {path} FILE --row 1"] * hasattr(model, "explain")
    after += [f"formulakern report {path} FILE"] * hasattr(model, "report")
    after += [f"formulakern predict {path} FILE -o predicted.csv"]
    following = blocks([("next", "\n".join(after))])
    print(f"{blocks(about)}\n\n{learned_text(model, options.top)}\n\n{following}")


def _page(model: Any, name: str) -> str:
    rules: Any = getattr(model, "rules_", None)
    return rendered(
        "model.html",
        title=f"{type(model).__name__} of {Path(name).name}",
        model=" ".join(repr(model).split()),
        rules=rules._repr_html_() if hasattr(rules, "_repr_html_") else "",
        text=learned_text(model, None),
    )
