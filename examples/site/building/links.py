"""A check that every link between pages leads to an existing file and place."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Return the places of a page, and the targets of its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = {"", "top"}
        self.targets: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value)
            elif name in {"href", "src"}:
                self.targets.add(value)


def broken(folder: Path) -> list[str]:
    """Return a line for every broken link; links to other sites are not followed."""
    files = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    wrong = []
    for path, page in sorted(pages.items()):
        for target in sorted(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if there.is_dir():
                there /= "index.html"
            if not there.exists():
                wrong.append(f"{path.relative_to(folder)}: {target}: no such file")
            elif there in pages and unquote(parts.fragment) not in pages[there].places:
                wrong.append(f"{path.relative_to(folder)}: {target}: no such place")
    return wrong
