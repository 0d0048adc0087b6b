"""Build the site: ``python examples/site`` writes it to ``examples/output/site/``.

A warning is an error, and so is a link to a missing page or place.
"""

import sys
from pathlib import Path

from building.links import broken
from sphinx.cmd.build import build_main

SITE = Path(__file__).parent
OUTPUT = SITE.parent / "output"


def main() -> int:
    """Build the site, check the links, and print its place."""
    pages = OUTPUT / "site"
    options = ["-W", "--keep-going", "-q", "-d", str(OUTPUT / "site-cache"), *sys.argv[1:]]
    if build_main([*options, "-b", "html", str(SITE), str(pages)]) != 0:
        return 1
    wrong = broken(pages)
    print("\n".join(wrong) or f"{pages / 'index.html'}: no warning, no broken link")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
