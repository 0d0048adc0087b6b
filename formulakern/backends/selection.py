"""Which backend serves a task: the one that was asked for, or the one that should be fastest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulakern.backends.base import Backend, Task
from formulakern.backends.interpreter import InterpreterBackend, exact_dtype
from formulakern.backends.lookup import LookupBackend, count_entries
from formulakern.backends.numba_cpu import NumbaBackend
from formulakern.checks import check_choice
from formulakern.errors import FormulaSizeError, ParameterError
from formulakern.program.staging import stages

__all__ = ["BACKENDS", "Choice", "check_backend", "choose"]

#: name → backend, in the order of the house
BACKENDS: dict[str, Backend] = {
    backend.name: backend for backend in (InterpreterBackend(), LookupBackend(), NumbaBackend())
}

#: Tables of at most this many entries stay in a processor's second-level cache.
SMALL_TABLE = 1 << 15
#: Fewer operations than this on all pairs together are not worth compiling for.
FEW_OPERATIONS = 20_000_000
#: How many operations in int64 one in Python's integers is worth.
PYTHON_INTEGERS = 10


@dataclass(frozen=True)
class Choice:
    """The backend for a task, and why."""

    backend: Backend
    reason: str


def check_backend(name: str) -> str:
    """The name, if there is such a backend (or it is "auto").

    Raises
    ------
    ParameterError
    """
    check_choice("backend", name, ("auto", *BACKENDS))
    return name


def choose(name: str, task: Task) -> Choice:
    """The backend for a task.

    Parameters
    ----------
    name : str
        ``"auto"``: lookup tables where they are small against the result, the interpreter where
        there is little to do, compiled loops elsewhere; or a backend's name.
    task : Task

    Returns
    -------
    Choice
        The same for the same formula, tables' shapes and numbers of ones: nothing depends on what
        was compiled before.

    Raises
    ------
    ParameterError
        If the backend that was asked for cannot serve the task.
    FormulaSizeError
        If none can within reason.
    """
    if name != "auto":
        backend = BACKENDS[check_backend(name)]
        support = backend.supports(task)
        if not support.ok:
            raise ParameterError(
                f"backend={name!r} cannot serve this: {support.reason}. Use backend='auto'."
            )
        return Choice(backend, support.reason)
    lookup, compiled = BACKENDS["lookup"], BACKENDS["numba"]
    tabulated, fused = lookup.supports(task), compiled.supports(task)
    entries = count_entries(task.tables)
    if tabulated.ok and entries <= SMALL_TABLE and entries * 4 <= max(task.n_pairs, 4096):
        return Choice(lookup, tabulated.reason)
    operations = task.n_pairs * max(1, len(stages(task.program).pair))
    slower = 1 if exact_dtype(task) is np.int64 else PYTHON_INTEGERS
    if operations * slower <= FEW_OPERATIONS:
        return Choice(
            BACKENDS["interpreter"],
            f"{operations:,} operations in all are fewer than compiling is worth",
        )
    if fused.ok:
        return Choice(compiled, fused.reason)
    if tabulated.ok:
        return Choice(lookup, f"{tabulated.reason}, and {fused.reason}")
    raise FormulaSizeError(
        f"this formula on these tables is out of reach: {fused.reason}, and {tabulated.reason}. "
        "Use a shorter formula, fewer rows, or one-hot coded columns."
    )
