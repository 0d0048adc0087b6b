"""The page of a report: one file of HTML, with its style and its script inside."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from formulakern.display.report.sections import (
    data_section,
    learned_section,
    quality_section,
    reasons_section,
)
from formulakern.display.report.values import Report
from formulakern.markup import Markup, element, joined

__all__ = ["page"]


def page(report: Report) -> str:
    """A report as HTML that needs no other file.

    All text is escaped; nothing is loaded from elsewhere, which the page's own policy forbids.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
    """
    sections = [
        ("learned", "What was learned", learned_section(report.learned)),
        ("quality", "How good it is", quality_section(report.quality)),
        ("why", "Why a row got what it got", reasons_section(report.reasons)),
        ("data", "What the data looked like", data_section(report.data)),
    ]
    links = [element("li", element("a", title, href=f"#{name}")) for name, title, _ in sections]
    tiles = [
        element("div", element("dt", name), element("dd", value, element("small", note)))
        for name, value, note in report.tiles
    ]
    head = element(
        "header",
        element("p", "formulakern", class_="over"),
        element("h1", report.title),
        element("p", report.subtitle, class_="under"),
        element("dl", *tiles, class_="tiles") if tiles else "",
        element("nav", element("ul", *links), aria_label="Parts of this report"),
    )
    body = [
        element("section", element("h2", title, id=f"{name}-title"), shown, id=name,
                aria_labelledby=f"{name}-title")
        for name, title, shown in sections
    ]  # fmt: skip
    made = element("pre", report.parameters, tabindex="0", role="region", aria_label="Parameters")
    foot = element(
        "footer",
        element("details", element("summary", "The model and its parameters"), made),
        element("p", report.made_by),
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    whole = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", report.title),
            element("style", Markup(_part("style.css"))),
        ),
        element(
            "body",
            element("a", "Skip to the rules", href="#learned", class_="skip"),
            element("main", head, *body, foot),
            element("script", Markup(_part("script.js"))),
        ),
        lang="en",
    )
    return str(joined([Markup("<!doctype html>\n"), whole, "\n"]))


@cache
def _part(name: str) -> str:
    return files("formulakern.display.report").joinpath(name).read_text(encoding="utf-8")
