"""``formulakern show``: what a saved model has learned."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from formulakern.cli.learners import learned_text, uncalibrated
from formulakern.cli.options import add_command, add_output, model_options
from formulakern.cli.output import opened_output
from formulakern.errors import ParameterError
from formulakern.files.model_file import load
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
    model = uncalibrated(load(options.model))
    if options.top is not None and options.top < 1:
        raise ParameterError(f"--top is a number of at least 1; got {options.top}.")
    if options.html is not None:
        with opened_output(options.html, options.force, options.model) as file:
            file.write(_page(model, options.model))
        return
    about = [("model", clip(" ".join(repr(model).split()), 300))]
    columns = getattr(model, "feature_names_in_", None)
    if columns is not None:
        about.append(("columns", clip(", ".join(map(str, columns)), 300)))
    if getattr(model, "classes_", None) is not None:
        about.append(("classes", clip(", ".join(map(str, model.classes_)), 300)))
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
    """A page of HTML without scripts or further files."""
    import html

    shown: Any = getattr(model, "rules_", None)
    rules = shown._repr_html_() if hasattr(shown, "_repr_html_") else ""
    rules = rules or f"<pre>{html.escape(learned_text(model, None))}</pre>"
    title = html.escape(f"{type(model).__name__} of {Path(name).name}")
    style = (
        "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em;"
        "color-scheme:light dark}pre{overflow-x:auto}"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style></head>\n<body><h1>{title}</h1>\n"
        f"<p><code>{html.escape(' '.join(repr(model).split()))}</code></p>\n{rules}\n"
        "</body></html>\n"
    )
