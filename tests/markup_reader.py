"""The content of an HTML page, read strictly by Python's own parser."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

#: Elements that hold nothing, in HTML and in SVG.
VOID = {"br", "circle", "col", "hr", "input", "line", "link", "meta", "path", "rect"}


class Page(HTMLParser):
    """A page: every element that is opened is closed, in the right order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []  # (path of elements, text)
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), (tag, attrs)
        self.elements.append((tag, dict(attrs)))
        assert tag not in VOID, f"<{tag}> that is not closed"
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(("/".join(self.open), data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, inside: str = "") -> str:
        """All text in elements whose path ends so, style and scripts apart."""
        return " ".join(
            data
            for path, data in self.texts
            if path.endswith(inside) and not path.endswith(("style", "script"))
        )

    def json(self) -> dict[str, Any]:
        """Return the data that the page contains for its script."""
        whole: dict[str, Any] = json.loads(
            "".join(data for path, data in self.texts if path.endswith("section/script"))
        )
        return whole

    def check(self) -> None:
        """Check every page: names exist, once; nothing comes from elsewhere."""
        ids = [found["id"] for _, found in self.elements if "id" in found]
        assert len(ids) == len(set(ids))
        for tag, found in self.elements:
            for name in ("for", "aria-controls", "aria-labelledby"):
                assert name not in found or found[name] in ids, (tag, found)
            assert found.get("href", "#").startswith("#"), found
            assert tag != "a" or found["href"][1:] in ids
            assert not {"src", "srcset", "background"} & found.keys(), found
            assert not any(name.startswith("on") for name in found), found
            if tag in ("input", "select"):
                assert any(label.get("for") == found["id"] for label in self.all("label"))
            if tag == "svg":
                assert found["role"] == "img"
                assert found["aria-label"]
            if tag == "th":
                assert found["scope"] in ("row", "col")
        names = {tag for tag, _ in self.elements}
        assert not names & {"link", "iframe", "object", "embed", "img", "base", "form"}
        assert names >= {"title", "main", "h1", "h2"}
