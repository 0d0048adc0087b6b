"""Write a logical formula, get a kernel; train on it; read what was learned back as rules.

The folders are the pipeline::

    syntax      text → Formula              rewrite    Formula → Formula
    semantics   Formula → Program           program    arithmetic on joint counts
    backends    Program → compiled code     encoding   data → packed 0/1 columns
    gram        blocks → Gram matrix        kernels    what users hold
    mining      the heaviest conjunctions   solvers    margins, balls, games
    rules       rules and their ensembles   estimators scikit-learn estimators
    datasets    generators, readers        display    tables, reports, plots
    files       models as JSON              cli        the command line
    diagrams    Boolean functions, counted and simplified

Names load when they are first used: importing formulakern loads neither numba, SymPy nor
scikit-learn.
"""

from __future__ import annotations

from importlib import import_module

import lazy_loader

from formulakern import registry

# The stub file has all other public names, and the learners as type checkers read them.
_of_stub, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    module = registry.module_of(name)
    return _of_stub(name) if module is None else getattr(import_module(module), name)
