"""Kernels of formulas, of named families and of strings, and their sums and products."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["boolean", "strings"])
