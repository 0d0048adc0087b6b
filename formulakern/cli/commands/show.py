"""``formulakern show``: what a saved model has learned."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from formulakern.cli.learners import learned_text, saved_model
from formulakern.cli.options import MODEL, Command, check_at_least_one, option, output
from formulakern.cli.output import opened_output
from formulakern.markup import rendered
from formulakern.text import blocks, clip

__all__ = ["COMMAND"]


def _show(options: argparse.Namespace) -> None:
    model = saved_model(options)
    check_at_least_one("--top", options.top)
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


COMMAND = Command(
    "show",
    "show what a model has learned",
    ["model.json --top 5", "model.json --html rules.html"],
    [
        MODEL,
        option("--top N", "only the N heaviest rules", type=int),
        *output("--html FILE", "write a page instead"),
    ],
    _show,
)
