"""Formulas as MathML, which browsers draw themselves, so that pages need no external script."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def drawn(node, *, block):
    """Return the MathML of a formula; an unreadable formula is a warning, so the build fails."""
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        LOGGER.warning("%s: %s", error, node.astext(), location=node)
        return node.astext()


def inline(self, node):
    """Write a formula inside a sentence."""
    self.body.append(drawn(node, block=False))
    raise nodes.SkipNode


def displayed(self, node):
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="math">{drawn(node, block=True)}</div>')
    raise nodes.SkipNode


def register(app):
    """Register this builder in Sphinx under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
