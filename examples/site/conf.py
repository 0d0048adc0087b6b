"""The configuration of Sphinx; ``python examples/site`` builds the site."""

import shutil
import sys
from pathlib import Path

from numpydoc import xref

import formulakern

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from building import commands, reference, rendering, studies  # noqa: E402

project = "formulakern"
author = "the formulakern authors"
copyright = f"2026, {author}"
version = release = formulakern.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["README.md"]
nitpicky = True
#: External documentation; the site is built without a network.
nitpick_ignore_regex = [
    ("py:.*", r"(?!formulakern)\w+(\.\w+)+"),
    ("py:mod", r"(?!formulakern)\w+"),
]
suppress_warnings = ["config.cache"]  # functions in the gallery's settings
smartquotes = False
toc_object_entries = False

# Pages in Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# Pages of public objects
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
highlight_language = "default"
autodoc_preserve_defaults = True
add_module_names = False
numpydoc_show_class_members = False
xref.DEFAULT_LINKS.clear()  # the site has no pages for types of Python and NumPy
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {name: f"formulakern.{name}" for name in formulakern.__all__}

#: Examples that run while the site is built, and files that are not examples.
RUN = r"(00|01|02|03|04|06|26)_\w+\.py$"
SHARED = r"(protocol|league_\w+|radius_margin_report|picture)\.py$"
# Examples: the first ones run, with their output and pictures; the studies are only shown
sphinx_gallery_conf = {
    "examples_dirs": "..",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": RUN,
    "ignore_pattern": SHARED,
    "within_subsection_order": "FileNameSortKey",
    "nested_sections": False,
    "copyfile_regex": "",
    "default_thumb_file": str(HERE / "study.svg"),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
}

# Appearance
html_theme = "pydata_sphinx_theme"
html_title = f"formulakern {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_sidebars = {path.stem: [] for path in HERE.glob("*.md")} | {
    "generated/studies": [],
    "generated/command_line": [],
}
html_theme_options = {
    "logo": {"text": "formulakern"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def report(app, error):
    """Copy the report that an example wrote next to the pages."""
    if error is None and app.builder.name == "html":
        shutil.copy(HERE.parent / "output" / "00_report.html", Path(app.outdir, "report.html"))


def setup(app):
    """Write the pages of public objects, and formulas as MathML."""
    app.connect("build-finished", report)
    app.connect("autodoc-process-docstring", reference.group_parameters, priority=400)
    generated = HERE / "generated"
    pages = {f"reference/{name}": text for name, text in reference.pages().items()}
    pages |= {"command_line.md": commands.text(), "studies.md": studies.text()}
    reference.write(generated, pages)
    rendering.register(app)
