"""Write a logical formula, get a kernel; train on it; read what was learned back as rules.

The folders and modules are a pipeline::

    syntax      text → Formula              rewrite    Formula → Formula
    semantics   Formula → Program           program    arithmetic on joint counts
    backends    Program → compiled code     tables     any table → named columns
    encoding    columns → packed 0/1        partitions rows on a dask cluster
    gram        blocks → Gram matrix        kernels    kernels of formulas and strings
    mining      the heaviest conjunctions   solvers    margins, balls, games
    rules       rules and their ensembles   learning   the learning algorithms
    estimators  scikit-learn estimators     datasets   generators, readers
    display     tables, reports, plots      files      models as JSON
    cli         the command line

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
