"""The choice of a backend: the one that was asked for, or the one that should be the fastest."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from formulakern.backends.base import Backend, InterpreterBackend, Task
from formulakern.backends.compiled import NumbaBackend, loop_of_task
from formulakern.backends.lookup import LAYING_OUT, LookupBackend
from formulakern.checks import check_choice
from formulakern.errors import FormulaSizeError, ParameterError

__all__ = ["BACKENDS", "Choice", "check_backend", "choose"]

#: name → backend, in the order of the house
BACKENDS: dict[str, Backend] = {
    backend.name: backend for backend in (InterpreterBackend(), LookupBackend(), NumbaBackend())
}

#: Nanoseconds to compile a formula or to import numba, and to read a compiled formula from disk.
COMPILING, READING = 4e8, 1.2e7
#: The interpreter is out of reach if it takes more nanoseconds.
PATIENCE = 6e10


@dataclass(frozen=True)
class Choice:
    """The backend for a task, and why."""

    backend: Backend
    reason: str


def check_backend(name: str) -> str:
    """Return the name if there is such a backend, or if it is "auto"; else raise ParameterError."""
    check_choice("backend", name, ("auto", *BACKENDS))
    return name


def choose(name: str, task: Task) -> Choice:
    """Return the backend of this name for a task; ``"auto"`` is the one of the smallest ``size``.

    If all backends give the same values to the last bit, the choice depends on whether the formula
    is compiled: it is tabulated or interpreted at first, and compiled when that has taken as long
    as compiling.  Otherwise it depends on the formula, the shapes of the tables and the numbers of
    ones alone.  A backend that cannot serve the task, or within reason, is refused.
    """
    if name != "auto":
        backend = BACKENDS[check_backend(name)]
        support = backend.supports(task)
        if not support.ok:
            raise ParameterError(
                f"backend={name!r} cannot serve this: {support.reason}. Use backend='auto'."
            )
        return Choice(backend, support.reason)
    sizes = {"interpreter": BACKENDS["interpreter"].size(task)}
    fused = BACKENDS["numba"].supports(task)
    compiling = _compiling(task) if fused.ok else 0.0
    if fused.ok and not compiling:
        sizes["numba"] = BACKENDS["numba"].size(task)
        if sizes["numba"] <= min(sizes["interpreter"], LAYING_OUT + task.counting):
            return Choice(BACKENDS["numba"], fused.reason)  # without a look at the numbers of ones
    tabulated = BACKENDS["lookup"].supports(task)
    if tabulated.ok:
        sizes["lookup"] = BACKENDS["lookup"].size(task)
    found = min(sizes, key=sizes.__getitem__)
    if compiling:
        lost = max(sizes[found] - BACKENDS["numba"].size(task), 0.0)
        if task.exact_everywhere:
            loop = loop_of_task(task)
            lost = loop.asked = loop.asked + lost
        if lost > compiling:
            found = "numba"
    if found == "interpreter" and sizes[found] > PATIENCE:
        raise FormulaSizeError(
            f"this formula on these tables is out of reach: {fused.reason}, and "
            f"{tabulated.reason}. Use a shorter formula, fewer rows, or one-hot coded columns."
        )
    reasons = {
        "interpreter": f"{1e-9 * sizes['interpreter']:.2g} s in all are less than compiling takes",
        "lookup": tabulated.reason,
        "numba": fused.reason,
    }
    return Choice(BACKENDS[found], reasons[found])


def _compiling(task: Task) -> float:
    """Return the nanoseconds until the formula is compiled.

    If values may differ between backends, it is the time as if nothing were compiled.
    """
    loop = loop_of_task(task)
    if task.exact_everywhere and loop.made:
        return 0.0
    stored = task.exact_everywhere and "numba" in sys.modules and loop.stored
    return READING if stored else COMPILING
