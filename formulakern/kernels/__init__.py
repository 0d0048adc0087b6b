"""Kernels as users hold them: of one formula, of named families, and sums and products of these."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["boolean", "strings"])
